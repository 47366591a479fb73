/* One HTTP/2 connection: bytes between a socket and an nghttp2 session, and the connection's
 * clocks.
 *
 * DESIGN: whatever nghttp2 calls back may not free the connection under it; such wishes are kept in
 * `dead` and granted when nghttp2 has returned. Nothing is read while the peer leaves our answers
 * unread, so that what waits for it cannot grow. One timer looks at all clocks and sets itself to
 * the earliest. */
#include "net/grpc_internal.h"

#include "base/clock.h"
#include "base/mem.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string.h>
#include <unistd.h>

enum { FILL = 32768, READS = 16 };

/* What a browser or curl is told that knocks with HTTP/1. */
static const char http1_answer[] =
    "HTTP/1.1 505 HTTP Version Not Supported\r\nContent-Type: text/plain\r\nContent-Length: 59\r\n"
    "Connection: close\r\n\r\nThis port speaks gRPC (HTTP/2). The HTTP port is another.\r\n";

/* ---- life ---- */

static void leave_queue(cuzk__grpc_conn *c) {
    if (!c->queue) return;
    *(c->older ? &c->older->newer : &c->queue->oldest) = c->newer;
    *(c->newer ? &c->newer->older : &c->queue->newest) = c->older;
    c->queue = NULL;
}

void cuzk__conn_requeue(cuzk__grpc_conn *c) {
    leave_queue(c);
    if (c->calls) return;
    c->queue = c->used ? &c->server->idle : &c->server->unused;
    c->newer = NULL;
    c->older = c->queue->newest;
    *(c->older ? &c->older->newer : &c->queue->oldest) = c;
    c->queue->newest = c;
}

static void on_event(void *ctx, uint32_t events);
static void on_timer(void *ctx);

void cuzk__conn_look_at(cuzk__grpc_conn *c, int64_t at_ns) {
    if (c->timer.place && c->timer.at_ns <= at_ns) return;
    if (cuzk_net_timer_set(c->server->loop, &c->timer, at_ns, on_timer, c) != CUZK_OK)
        c->dead = true; /* a connection without clocks is not kept */
}

static bool open_session(cuzk__grpc_conn *c) {
    cuzk_grpc_server *s = c->server;
    const nghttp2_settings_entry settings[] = {
        {NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS, s->limits.max_streams},
        {NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, CUZK__STREAM_WINDOW},
        {NGHTTP2_SETTINGS_MAX_HEADER_LIST_SIZE, s->limits.max_header_bytes},
        {NGHTTP2_SETTINGS_ENABLE_PUSH, 0},
    };
    return nghttp2_session_server_new2(&c->session, s->callbacks, c, s->options) == 0 &&
           nghttp2_submit_settings(c->session, NGHTTP2_FLAG_NONE, settings, 3) == 0 &&
           nghttp2_session_set_local_window_size(c->session, NGHTTP2_FLAG_NONE, 0,
                                                 CUZK__CONNECTION_WINDOW) == 0;
}

void cuzk__conn_new(cuzk_grpc_server *s, int fd, cuzk_net_access *access) {
    cuzk__grpc_conn *c;
    const int one = 1;
    if (cuzk_alloc((void **)&c, 1, sizeof *c) != CUZK_OK) {
        close(fd);
        return;
    }
    c->server = s;
    c->access = access;
    c->link = &s->conns;
    c->next = s->conns;
    if (c->next) c->next->link = &c->next;
    s->conns = c;
    cuzk__conn_requeue(c);
    atomic_fetch_add(&s->shared->connections, 1);
    atomic_fetch_add(&s->shared->connections_total, 1);
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one,
               sizeof one); /* fails on Unix sockets; no matter */
    cuzk__address_peer(fd, c->peer, sizeof c->peer);
    if (cuzk__access_io(&c->io, fd, access, NULL) != CUZK_OK) {
        close(fd);
        cuzk__conn_free(c);
        return;
    }
    c->born_ns = c->last_read_ns = c->empty_ns = cuzk_now_ns();
    c->watch = (cuzk__watch){.fd = fd, .fn = on_event, .ctx = c};
    cuzk__conn_look_at(c, c->born_ns + s->limits.handshake_ns);
    /* Our SETTINGS wait for the client's preface: one that speaks HTTP/1 gets words it can read. */
    if (c->dead || !open_session(c) || cuzk__loop_watch(s->loop, &c->watch, EPOLLIN) != CUZK_OK)
        cuzk__conn_free(c);
}

void cuzk__conn_free(cuzk__grpc_conn *c) {
    cuzk_grpc_server *s = c->server;
    if (c->in_session) {
        c->dead = true;
        return;
    }
    c->in_session = true; /* what the calls' ends bring about waits */
    while (c->calls)
        cuzk__call_stream_closed(c->calls);
    leave_queue(c);
    cuzk__loop_unwatch(s->loop, &c->watch);
    cuzk_net_timer_clear(s->loop, &c->timer);
    nghttp2_session_del(c->session);
    cuzk__io_close(&c->io);
    cuzk_buf_free(&c->out);
    *c->link = c->next;
    if (c->next) c->next->link = c->link;
    atomic_fetch_sub(&s->shared->connections, 1);
    cuzk_free(c);
    cuzk__grpc_conn_gone(s);
}

/* Our side is done: the peer gets what was written, and a second to read it. Closing at once would
 * throw away what it has not read, if bytes of its own are still coming. */
static void linger(cuzk__grpc_conn *c) {
    if (c->lingering) return;
    c->lingering = true;
    shutdown(c->io.fd, SHUT_WR);
    cuzk__conn_look_at(c, cuzk_now_ns() + 1000000000);
    if (c->dead || cuzk__loop_watch(c->server->loop, &c->watch, EPOLLIN) != CUZK_OK)
        cuzk__conn_free(c);
}

void cuzk__conn_leave(cuzk__grpc_conn *c) {
    if (c->leaving) return;
    c->leaving = true;
    nghttp2_submit_goaway(c->session, NGHTTP2_FLAG_NONE,
                          nghttp2_session_get_last_proc_stream_id(c->session), NGHTTP2_NO_ERROR,
                          NULL, 0);
    if (!c->in_session && !c->io.shaking) cuzk__conn_flush(c);
}

/* ---- writing ---- */

/* False: the session is broken. */
static bool fill(cuzk__grpc_conn *c) {
    c->out.len = c->out_off = 0;
    c->in_session = true;
    while (c->out.len < FILL) {
        const uint8_t *p;
        const ssize_t n = nghttp2_session_mem_send(c->session, &p);
        if (n <= 0) {
            c->in_session = false;
            return n == 0;
        }
        cuzk_buf_append(&c->out, p, (size_t)n);
    }
    c->in_session = false;
    return true;
}

/* Everything was written. */
static void all_written(cuzk__grpc_conn *c) {
    c->blocked_ns = 0;
    cuzk_buf_free(&c->out);
    const bool finished =
        !nghttp2_session_want_read(c->session) && !nghttp2_session_want_write(c->session);
    if (finished || (c->leaving && !c->n_calls))
        linger(c);
    else if (cuzk__loop_watch(c->server->loop, &c->watch, EPOLLIN) != CUZK_OK)
        cuzk__conn_free(c);
}

void cuzk__conn_flush(cuzk__grpc_conn *c) {
    if (c->io.shaking || c->lingering) return;
    for (;;) {
        if (c->out_off == c->out.len && (!fill(c) || c->out.failed || c->dead)) break;
        if (!c->out.len) {
            all_written(c);
            return;
        }
        const ssize_t n = cuzk__io_write(&c->io, c->out.data + c->out_off, c->out.len - c->out_off);
        if (n > 0) {
            c->out_off += (size_t)n;
            c->blocked_ns = 0;
            atomic_fetch_add(&c->server->shared->bytes_out, (uint64_t)n);
            continue;
        }
        if (n != CUZK__IO_WAIT) break;
        if (!c->blocked_ns) c->blocked_ns = cuzk_now_ns();
        cuzk__conn_look_at(c, c->blocked_ns + c->server->limits.stall_ns);
        if (c->dead || cuzk__loop_watch(c->server->loop, &c->watch, c->io.wants) != CUZK_OK) break;
        return;
    }
    cuzk__conn_free(c);
}

/* ---- reading ---- */

/* False: the connection is gone, or not to be read on. */
static bool take_bytes(cuzk__grpc_conn *c, const uint8_t *p, size_t n) {
    c->in_session = true;
    const ssize_t took = nghttp2_session_mem_recv(c->session, p, n);
    c->in_session = false;
    if (took >= 0 && !c->dead) return true;
    if (took == NGHTTP2_ERR_BAD_CLIENT_MAGIC) {
        const ssize_t put = cuzk__io_write(&c->io, http1_answer, sizeof http1_answer - 1);
        (void)put;
        linger(c);
        return false;
    }
    if (took < 0 && took != NGHTTP2_ERR_CALLBACK_FAILURE && took != NGHTTP2_ERR_NOMEM) {
        /* a flood, mostly; say so if there is room */
        nghttp2_session_terminate_session(c->session, NGHTTP2_ENHANCE_YOUR_CALM);
        cuzk__conn_flush(c);
        return false;
    }
    cuzk__conn_free(c);
    return false;
}

static bool read_some(cuzk__grpc_conn *c) {
    cuzk_grpc_server *s = c->server;
    for (int i = 0; i < READS; i++) {
        const ssize_t n = cuzk__io_read(&c->io, s->scratch, CUZK__READ);
        if (n == CUZK__IO_WAIT) return true;
        if (n <= 0) {
            cuzk__conn_free(c);
            return false;
        }
        c->last_read_ns = cuzk_now_ns();
        if (c->lingering) continue;
        atomic_fetch_add(&s->shared->bytes_in, (uint64_t)n);
        if (!take_bytes(c, s->scratch, (size_t)n)) return false;
    }
    return true;
}

/* False: not done yet, or the connection is gone. */
static bool shake(cuzk__grpc_conn *c) {
    const int done = cuzk__io_shake(&c->io, NULL);
    if (done == 1) {
        cuzk__io_identity(&c->io, c->identity, sizeof c->identity);
        return true;
    }
    if (done != CUZK__IO_WAIT ||
        cuzk__loop_watch(c->server->loop, &c->watch, c->io.wants) != CUZK_OK)
        cuzk__conn_free(c);
    return false;
}

static void on_event(void *ctx, uint32_t events) {
    cuzk__grpc_conn *c = ctx;
    if (c->io.shaking && !shake(c)) return;
    if (events & (EPOLLIN | EPOLLHUP | EPOLLERR) && !read_some(c)) return;
    cuzk__conn_flush(c);
}

/* ---- clocks ---- */

static void earlier(int64_t *next, int64_t at) {
    if (at < *next) *next = at;
}

/* False: too late for something; the connection is to be closed. */
static bool in_time(cuzk__grpc_conn *c, int64_t now, int64_t *next) {
    const cuzk_grpc_limits *l = &c->server->limits;
    if (c->lingering) return false;
    if (!c->ready) {
        earlier(next, c->born_ns + l->handshake_ns);
        return now < c->born_ns + l->handshake_ns;
    }
    if (c->blocked_ns) {
        if (now >= c->blocked_ns + l->stall_ns) return false;
        earlier(next, c->blocked_ns + l->stall_ns);
    }
    if (c->ping_ns && c->last_read_ns < c->ping_ns) {
        if (now >= c->ping_ns + l->ping_wait_ns) return false;
        earlier(next, c->ping_ns + l->ping_wait_ns);
    } else if (now >= c->last_read_ns + l->ping_ns) {
        c->ping_ns = now;
        nghttp2_submit_ping(c->session, NGHTTP2_FLAG_NONE, NULL);
        earlier(next, now + l->ping_wait_ns);
    } else {
        earlier(next, c->last_read_ns + l->ping_ns);
    }
    for (cuzk_grpc_call *call = c->calls; call; call = call->next) {
        if (call->begun) continue;
        if (now >= call->begun_ns + l->handshake_ns) return false;
        earlier(next, call->begun_ns + l->handshake_ns);
    }
    return true;
}

static void on_timer(void *ctx) {
    cuzk__grpc_conn *c = ctx;
    const cuzk_grpc_limits *l = &c->server->limits;
    const int64_t now = cuzk_now_ns();
    int64_t next = INT64_MAX;
    if (!in_time(c, now, &next)) {
        cuzk__conn_free(c);
        return;
    }
    c->in_session = true; /* the calls must not free what is being walked */
    for (cuzk_grpc_call *call = c->calls, *after; call; call = after) {
        after = call->next;
        if (call->begun) cuzk__call_check(call, now, &next);
    }
    if (c->ready && !c->n_calls && !c->leaving) {
        if (now >= c->empty_ns + l->idle_ns)
            cuzk__conn_leave(c);
        else
            earlier(&next, c->empty_ns + l->idle_ns);
    }
    c->in_session = false;
    if (next < INT64_MAX) cuzk__conn_look_at(c, next);
    if (c->dead)
        cuzk__conn_free(c);
    else
        cuzk__conn_flush(c);
}

/* ---- nghttp2's callbacks ---- */

static cuzk_grpc_call *call_of(nghttp2_session *session, int32_t stream_id) {
    return nghttp2_session_get_stream_user_data(session, stream_id);
}

static int on_begin_headers(nghttp2_session *session, const nghttp2_frame *frame, void *user) {
    cuzk__grpc_conn *c = user;
    if (frame->hd.type != NGHTTP2_HEADERS || frame->headers.cat != NGHTTP2_HCAT_REQUEST) return 0;
    /* twice as many as are served may be refused with a word; more are reset */
    cuzk_grpc_call *call = NULL;
    if (atomic_load(&c->server->shared->calls) < 2 * (uint64_t)c->server->limits.max_calls)
        call = cuzk__call_new(c, frame->hd.stream_id);
    if (!call) return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE; /* RST_STREAM */
    cuzk__conn_look_at(c, call->begun_ns + c->server->limits.handshake_ns);
    nghttp2_session_set_stream_user_data(session, frame->hd.stream_id, call);
    return 0;
}

static int on_header(nghttp2_session *session, const nghttp2_frame *frame, const uint8_t *name,
                     size_t name_len, const uint8_t *value, size_t value_len, uint8_t flags,
                     void *user) {
    (void)flags;
    (void)user;
    cuzk_grpc_call *call = call_of(session, frame->hd.stream_id);
    if (call) cuzk__call_header(call, name, name_len, value, value_len);
    return 0;
}

static int on_frame(nghttp2_session *session, const nghttp2_frame *frame, void *user) {
    cuzk__grpc_conn *c = user;
    if (frame->hd.type == NGHTTP2_SETTINGS) {
        const cuzk_grpc_limits *l = &c->server->limits;
        const int64_t soon = l->ping_ns < l->idle_ns ? l->ping_ns : l->idle_ns;
        if (!c->ready) cuzk__conn_look_at(c, cuzk_now_ns() + soon);
        c->ready = true;
    }
    if (frame->hd.type != NGHTTP2_HEADERS && frame->hd.type != NGHTTP2_DATA) return 0;
    cuzk_grpc_call *call = call_of(session, frame->hd.stream_id);
    if (!call) return 0;
    cuzk_grpc_call_ref(call);
    if (frame->hd.type == NGHTTP2_HEADERS) cuzk__call_begin(call);
    if (frame->hd.flags & NGHTTP2_FLAG_END_STREAM) cuzk__call_half_close(call);
    cuzk_grpc_call_unref(call);
    return 0;
}

static int on_data(nghttp2_session *session, uint8_t flags, int32_t stream_id, const uint8_t *data,
                   size_t len, void *user) {
    (void)flags;
    (void)user;
    cuzk_grpc_call *call = call_of(session, stream_id);
    nghttp2_session_consume_connection(session, len);
    if (call)
        cuzk__call_bytes(call, data, len);
    else
        nghttp2_session_consume_stream(session, stream_id, len);
    return 0;
}

static int on_stream_close(nghttp2_session *session, int32_t stream_id, uint32_t error,
                           void *user) {
    (void)error;
    (void)user;
    cuzk_grpc_call *call = call_of(session, stream_id);
    if (!call) return 0;
    nghttp2_session_set_stream_user_data(session, stream_id, NULL);
    cuzk__call_stream_closed(call);
    return 0;
}

/* An answer that is complete while the client still sends: it is asked to stop. */
static int on_frame_sent(nghttp2_session *session, const nghttp2_frame *frame, void *user) {
    (void)user;
    if (frame->hd.type != NGHTTP2_HEADERS || !(frame->hd.flags & NGHTTP2_FLAG_END_STREAM)) return 0;
    if (nghttp2_session_get_stream_remote_close(session, frame->hd.stream_id) == 0)
        nghttp2_submit_rst_stream(session, NGHTTP2_FLAG_NONE, frame->hd.stream_id,
                                  NGHTTP2_NO_ERROR);
    return 0;
}

cuzk_status cuzk__conn_callbacks(nghttp2_session_callbacks **out) {
    if (nghttp2_session_callbacks_new(out) != 0) return CUZK_STATUS_NO_MEMORY;
    nghttp2_session_callbacks_set_on_begin_headers_callback(*out, on_begin_headers);
    nghttp2_session_callbacks_set_on_header_callback(*out, on_header);
    nghttp2_session_callbacks_set_on_frame_recv_callback(*out, on_frame);
    nghttp2_session_callbacks_set_on_data_chunk_recv_callback(*out, on_data);
    nghttp2_session_callbacks_set_on_stream_close_callback(*out, on_stream_close);
    nghttp2_session_callbacks_set_on_frame_send_callback(*out, on_frame_sent);
    return CUZK_OK;
}
