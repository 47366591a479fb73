/* The server: its methods, listeners, budget, and its end. */
#include "net/grpc_internal.h"

#include "base/clock.h"
#include "base/mem.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

/* ---- shared ---- */

static void serve_waiters_task(void *ctx) {
    cuzk__grpc_shared *sh = ctx;
    atomic_store(&sh->waking, false);
    if (sh->server) cuzk__grpc_serve_waiters(sh->server);
    cuzk__grpc_shared_unref(sh);
}

cuzk__grpc_shared *cuzk__grpc_shared_ref(cuzk__grpc_shared *sh) {
    atomic_fetch_add_explicit(&sh->refs, 1, memory_order_relaxed);
    return sh;
}

void cuzk__grpc_shared_unref(cuzk__grpc_shared *sh) {
    if (sh && atomic_fetch_sub_explicit(&sh->refs, 1, memory_order_acq_rel) == 1) cuzk_free(sh);
}

bool cuzk__grpc_budget_take(cuzk__grpc_shared *sh, uint64_t n, uint64_t most) {
    uint64_t used = atomic_load(&sh->used);
    do {
        if (used > most || n > most - used) return false;
    } while (!atomic_compare_exchange_weak(&sh->used, &used, used + n));
    return true;
}

void cuzk__grpc_budget_give(cuzk__grpc_shared *sh, uint64_t n) {
    if (!n) return;
    atomic_fetch_sub(&sh->used, n);
    if (!atomic_load(&sh->waiting) || atomic_exchange(&sh->waking, true)) return;
    cuzk__grpc_shared_ref(sh);
    cuzk__loop_post_task(sh->loop, &sh->wake);
}

void cuzk__grpc_serve_waiters(cuzk_grpc_server *s) {
    while (s->waiters) {
        cuzk_grpc_call *call = s->waiters;
        const uint64_t rest = call->frames.len - CUZK__SMALL;
        /* a quarter stays for those who wait, and what the others of them hold does not count */
        const uint64_t most =
            s->shared->budget - s->shared->budget / 4 + s->waiting_bytes - CUZK__SMALL;
        if (!cuzk__grpc_budget_take(s->shared, rest, most)) return;
        atomic_fetch_add(&call->charged, rest);
        cuzk_grpc_call_ref(call);
        cuzk__call_granted(call);
        if (call->conn && !call->conn->in_session) cuzk__conn_flush(call->conn);
        cuzk_grpc_call_unref(call);
    }
}

/* ---- methods ---- */

static int by_path(const void *a, const void *b) {
    const cuzk_grpc_method *const *x = a, *const *y = b;
    return strcmp((*x)->path, (*y)->path);
}

const cuzk_grpc_method *cuzk__grpc_find(const cuzk_grpc_server *s, const char *path) {
    const cuzk_grpc_method key = {.path = path}, *p = &key;
    const cuzk_grpc_method **found =
        bsearch(&p, s->methods, s->n_methods, sizeof *s->methods, by_path);
    return found ? *found : NULL;
}

cuzk_status cuzk__grpc_add_methods(cuzk_grpc_server *s, const cuzk_grpc_method *methods, size_t n,
                                   cuzk_err *err) {
    CUZK_TRY(cuzk_realloc((void **)&s->methods, s->n_methods + n + 1, sizeof *s->methods));
    for (size_t i = 0; i < n; i++) {
        if (methods[i].path[0] != '/' || !methods[i].handler)
            return cuzk_err_set(err, CUZK_STATUS_USAGE, "a method is no method: \"%s\"",
                                methods[i].path);
        s->methods[s->n_methods++] = &methods[i];
    }
    qsort(s->methods, s->n_methods, sizeof *s->methods, by_path);
    for (size_t i = 1; i < s->n_methods; i++)
        if (!strcmp(s->methods[i - 1]->path, s->methods[i]->path))
            return cuzk_err_set(err, CUZK_STATUS_USAGE, "the method %s is there twice",
                                s->methods[i]->path);
    return CUZK_OK;
}

/* ---- limits ---- */

static void default_u64(uint64_t *v, uint64_t preset) {
    if (!*v) *v = preset;
}
static void default_u32(uint32_t *v, uint32_t preset) {
    if (!*v) *v = preset;
}
static void default_ns(int64_t *v, int64_t seconds) {
    if (*v <= 0) *v = seconds * 1000000000;
}

static cuzk_status set_limits(cuzk_grpc_limits *l, cuzk_err *err) {
    struct rlimit files;
    default_u64(&l->max_message, 256 << 20);
    default_u64(&l->request_budget, 1u << 30);
    default_u64(&l->max_send_queue, 64 << 20);
    default_u32(&l->max_connections, 4096);
    default_u32(&l->max_streams, 1024);
    default_u32(&l->max_calls, 16384);
    default_u32(&l->max_header_bytes, 16384);
    default_ns(&l->handshake_ns, 10);
    default_ns(&l->stall_ns, 60);
    default_ns(&l->idle_ns, 600);
    default_ns(&l->ping_ns, 60);
    default_ns(&l->ping_wait_ns, 20);
    if (l->max_message > UINT32_MAX) l->max_message = UINT32_MAX;
    /* A quarter may be held by requests that wait; the largest must fit beside them. */
    if (l->request_budget < 4 * CUZK__SMALL)
        return cuzk_err_set(err, CUZK_STATUS_USAGE, "a request budget of less than 256 KiB");
    if (l->max_message > l->request_budget - l->request_budget / 4)
        return cuzk_err_set(err, CUZK_STATUS_USAGE,
                            "a message of %llu bytes does not fit a request budget of %llu, of "
                            "which a quarter is for those who wait",
                            (unsigned long long)l->max_message,
                            (unsigned long long)l->request_budget);
    /* Other files need descriptors too. */
    if (getrlimit(RLIMIT_NOFILE, &files) == 0 && files.rlim_cur != RLIM_INFINITY &&
        files.rlim_cur / 4 * 3 < l->max_connections)
        l->max_connections = (uint32_t)(files.rlim_cur / 4 * 3);
    return CUZK_OK;
}

/* ---- life ---- */

cuzk_status cuzk_grpc_server_new(cuzk_grpc_server **out, cuzk_net_loop *loop,
                                 const cuzk_grpc_method *methods, size_t n,
                                 const cuzk_grpc_limits *limits, cuzk_err *err) {
    cuzk_grpc_server *s;
    cuzk_status st;
    *out = NULL;
    CUZK_TRY(cuzk_alloc((void **)&s, 1, sizeof *s));
    s->loop = loop;
    s->waiters_last = &s->waiters;
    if (limits) s->limits = *limits;
    CUZK_TRY_GOTO(cuzk_alloc((void **)&s->shared, 1, sizeof *s->shared), out);
    atomic_init(&s->shared->refs, 1);
    CUZK_TRY_GOTO(set_limits(&s->limits, err), out);
    s->shared->loop = loop;
    s->shared->server = s;
    s->shared->budget = s->limits.request_budget;
    s->shared->max_message = s->limits.max_message;
    s->shared->max_send_queue = s->limits.max_send_queue;
    s->shared->wake = (cuzk__task){.fn = serve_waiters_task, .ctx = s->shared};
    CUZK_TRY_GOTO(cuzk_alloc((void **)&s->scratch, CUZK__READ, 1), out);
    CUZK_TRY_GOTO(cuzk__grpc_add_methods(s, methods, n, err), out);
    CUZK_TRY_GOTO(cuzk__conn_callbacks(&s->callbacks), out);
    if (nghttp2_option_new(&s->options) != 0) {
        st = CUZK_STATUS_NO_MEMORY;
        goto out;
    }
    nghttp2_option_set_no_auto_window_update(s->options, 1);
    nghttp2_option_set_no_closed_streams(s->options, 1);
    *out = s;
    return CUZK_OK;
out:
    cuzk_grpc_server_free(s);
    return st;
}

static void close_listeners(cuzk_grpc_server *s) {
    while (s->listeners) {
        cuzk__grpc_listener *l = s->listeners;
        s->listeners = l->next;
        cuzk__loop_unwatch(s->loop, &l->watch);
        cuzk_net_timer_clear(s->loop, &l->pause);
        cuzk__listener_close(&l->at);
        cuzk_free(l);
    }
}

void cuzk_grpc_server_free(cuzk_grpc_server *s) {
    if (!s) return;
    s->drained = NULL;
    close_listeners(s);
    while (s->conns)
        cuzk__conn_free(s->conns);
    cuzk_net_timer_clear(s->loop, &s->grace);
    if (s->shared) s->shared->server = NULL;
    cuzk__grpc_shared_unref(s->shared);
    cuzk__grpc_health_free(s->health);
    cuzk__grpc_reflection_free(s->reflection);
    nghttp2_option_del(s->options);
    nghttp2_session_callbacks_del(s->callbacks);
    cuzk_free(s->methods);
    cuzk_free(s->scratch);
    cuzk_free(s);
}

/* ---- listeners ---- */

/* SETTINGS (empty), then GOAWAY: last stream 0, ENHANCE_YOUR_CALM, a word for the person. */
static const char too_many[] = "\0\0\0\4\0\0\0\0\0"
                               "\0\0\34\7\0\0\0\0\0"
                               "\0\0\0\0\0\0\0\13"
                               "too many connections";

static void refuse(cuzk_grpc_server *s, int fd, cuzk_net_access *access) {
    atomic_fetch_add(&s->shared->connections_refused, 1);
    if (!cuzk__access_has_tls(access)) {
        const ssize_t n = send(fd, too_many, sizeof too_many - 1, MSG_NOSIGNAL | MSG_DONTWAIT);
        (void)n;
        shutdown(fd, SHUT_WR);
        /* what is there already is read, or closing would throw our answer away */
        while (recv(fd, s->scratch, CUZK__READ, MSG_DONTWAIT) > 0) {
        }
    }
    close(fd);
}

/* One more than there may be takes the place of the one that has been longest without a call, those
 * that never made one first: who only connects keeps nobody out. False: all have calls. */
static bool make_room(cuzk_grpc_server *s) {
    if (atomic_load(&s->shared->connections) < s->limits.max_connections) return true;
    cuzk__grpc_conn *c = s->unused.oldest ? s->unused.oldest : s->idle.oldest;
    if (!c) return false;
    cuzk__conn_free(c);
    return true;
}

static void on_pause_over(void *ctx) {
    cuzk__grpc_listener *l = ctx;
    const cuzk_status st = cuzk__loop_watch(l->server->loop, &l->watch, EPOLLIN);
    (void)st; /* it was watched before */
}

static void on_accept(void *ctx, uint32_t events) {
    cuzk__grpc_listener *l = ctx;
    cuzk_grpc_server *s = l->server;
    (void)events;
    for (int i = 0; i < 64; i++) { /* others want their turn */
        const int fd = accept4(l->at.fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
        if (fd >= 0) {
            if (make_room(s))
                cuzk__conn_new(s, fd, l->access);
            else
                refuse(s, fd, l->access);
            continue;
        }
        if (errno == EINTR || errno == ECONNABORTED) continue;
        if (errno == EAGAIN) return;
        /* Out of descriptors or memory: the queue of the socket keeps them a while. */
        cuzk__loop_unwatch(s->loop, &l->watch);
        if (cuzk_net_timer_set(s->loop, &l->pause, cuzk_now_ns() + 100000000, on_pause_over, l) !=
            CUZK_OK)
            on_pause_over(l);
        return;
    }
}

cuzk_status cuzk_grpc_server_listen(cuzk_grpc_server *s, const char *address,
                                    cuzk_net_access *access, char *bound, cuzk_err *err) {
    cuzk__grpc_listener *l;
    cuzk_status st;
    CUZK_TRY(cuzk_alloc((void **)&l, 1, sizeof *l));
    l->server = s;
    l->access = access;
    CUZK_TRY_GOTO(cuzk__listener_open(&l->at, address, cuzk__access_mode(access), err), out);
    l->watch = (cuzk__watch){.fd = l->at.fd, .fn = on_accept, .ctx = l};
    st = cuzk__loop_watch(s->loop, &l->watch, EPOLLIN);
    if (st != CUZK_OK) {
        cuzk__listener_close(&l->at);
        cuzk_err_set(err, st, "listening on %s: no room in epoll", address);
        goto out;
    }
    if (bound) memcpy(bound, l->at.text, sizeof l->at.text);
    l->next = s->listeners;
    s->listeners = l;
    return CUZK_OK;
out:
    cuzk_free(l);
    return st;
}

/* ---- drain ---- */

typedef struct drain_request {
    cuzk__grpc_shared *shared;
    int64_t grace_ns;
    void (*done)(void *ctx);
    void *ctx;
} drain_request;

static void on_drained(void *ctx) {
    cuzk_grpc_server *s = ctx;
    void (*done)(void *) = s->drained;
    s->drained = NULL;
    if (done) done(s->drained_ctx); /* may free s */
}

/* Told from the loop itself, since whoever closed the last connection still uses the server. */
void cuzk__grpc_conn_gone(cuzk_grpc_server *s) {
    if (!s->draining || s->conns || !s->drained) return;
    const cuzk_status st = cuzk_net_timer_set(s->loop, &s->grace, 0, on_drained, s);
    (void)st; /* the place that drain_task took for it is still there */
}

/* Ends the calls that have not ended; `all` or those of methods that a drain does not wait for. */
static void end_calls(cuzk_grpc_server *s, bool all) {
    for (cuzk__grpc_conn *c = s->conns, *next; c; c = next) {
        next = c->next;
        c->in_session = true; /* its calls stay while they are walked */
        for (cuzk_grpc_call *call = c->calls, *after; call; call = after) {
            after = call->next;
            if (all || (call->method && call->method->flags & CUZK_GRPC_WATCH))
                cuzk__call_abort(call, CUZK_GRPC_UNAVAILABLE, "the server is shutting down");
        }
        c->in_session = false;
        if (c->dead)
            cuzk__conn_free(c);
        else
            cuzk__conn_flush(c);
    }
}

static void on_hard_end(void *ctx) {
    cuzk_grpc_server *s = ctx;
    while (s->conns && s->drained)
        cuzk__conn_free(s->conns);
}

static void on_grace_over(void *ctx) {
    cuzk_grpc_server *s = ctx;
    end_calls(s, true);
    /* a second for the last words, to those who read */
    if (!s->conns || !s->drained) return;
    if (cuzk_net_timer_set(s->loop, &s->grace, cuzk_now_ns() + 1000000000, on_hard_end, s) !=
        CUZK_OK)
        on_hard_end(s);
}

static void drain_task(void *ctx) {
    drain_request *r = ctx;
    cuzk_grpc_server *s = r->shared->server;
    if (s && !s->draining) {
        s->draining = true;
        s->drained = r->done;
        s->drained_ctx = r->ctx;
        if (cuzk_net_timer_set(s->loop, &s->grace, cuzk_now_ns() + r->grace_ns, on_grace_over, s) !=
            CUZK_OK)
            s->drained = NULL; /* cannot be: the listeners' and connections' timers made room */
        close_listeners(s);
        if (s->health) cuzk__grpc_health_drain(s->health);
        end_calls(s, false);
        for (cuzk__grpc_conn *c = s->conns, *next; c; c = next) {
            next = c->next;
            if (c->ready)
                cuzk__conn_leave(c);
            else
                cuzk__conn_free(c);
        }
        cuzk__grpc_conn_gone(s); /* if there is none left */
    }
    cuzk__grpc_shared_unref(r->shared);
    cuzk_free(r);
}

cuzk_status cuzk_grpc_server_drain(cuzk_grpc_server *s, int64_t grace_ns, void (*done)(void *ctx),
                                   void *ctx) {
    drain_request *r;
    CUZK_TRY(cuzk_alloc((void **)&r, 1, sizeof *r));
    *r = (drain_request){cuzk__grpc_shared_ref(s->shared), grace_ns, done, ctx};
    const cuzk_status st = cuzk_net_post(s->loop, drain_task, r);
    if (st == CUZK_OK) return CUZK_OK;
    cuzk__grpc_shared_unref(r->shared);
    cuzk_free(r);
    return st;
}

/* ---- figures ---- */

void cuzk_grpc_server_stats(const cuzk_grpc_server *s, cuzk_grpc_stats *out) {
    const cuzk__grpc_shared *sh = s->shared;
    *out = (cuzk_grpc_stats){
        .connections = atomic_load(&sh->connections),
        .connections_total = atomic_load(&sh->connections_total),
        .connections_refused = atomic_load(&sh->connections_refused),
        .calls = atomic_load(&sh->calls),
        .calls_total = atomic_load(&sh->calls_total),
        .calls_failed = atomic_load(&sh->calls_failed),
        .request_bytes = atomic_load(&sh->used),
        .bytes_in = atomic_load(&sh->bytes_in),
        .bytes_out = atomic_load(&sh->bytes_out),
    };
}
