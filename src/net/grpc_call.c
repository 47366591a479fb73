/* A call from its first header to its last reference. */
#include "net/grpc_internal.h"
#include "net/grpc_text.h"

#include "base/clock.h"
#include "base/mem.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* ---- life ---- */

cuzk_grpc_call *cuzk__call_new(cuzk__grpc_conn *conn, int32_t stream_id) {
    cuzk_grpc_call *call;
    if (cuzk_alloc((void **)&call, 1, sizeof *call) != CUZK_OK) return NULL;
    if (cuzk_strdup(&call->peer, conn->peer) != CUZK_OK ||
        cuzk_strdup(&call->identity, conn->identity[0] ? conn->identity : NULL) != CUZK_OK) {
        cuzk_free(call->peer);
        cuzk_free(call);
        return NULL;
    }
    atomic_init(&call->refs, 1);
    call->shared = cuzk__grpc_shared_ref(conn->server->shared);
    pthread_mutex_init(&call->lock, NULL);
    call->out_last = &call->out;
    call->deadline_ns = INT64_MAX;
    call->retry_ns = -1;
    call->task = (cuzk__task){.fn = cuzk__call_task, .ctx = call};
    call->conn = conn;
    call->stream_id = stream_id;
    call->begun_ns = call->progress_ns = cuzk_now_ns();
    call->link = &conn->calls;
    call->next = conn->calls;
    if (call->next) call->next->link = &call->next;
    conn->calls = call;
    if (!conn->n_calls++) cuzk__conn_requeue(conn);
    atomic_fetch_add(&call->shared->calls, 1);
    atomic_fetch_add(&call->shared->calls_total, 1);
    return call;
}

cuzk_grpc_call *cuzk_grpc_call_ref(cuzk_grpc_call *call) {
    atomic_fetch_add_explicit(&call->refs, 1, memory_order_relaxed);
    return call;
}

void cuzk_grpc_call_unref(cuzk_grpc_call *call) {
    if (!call || atomic_fetch_sub_explicit(&call->refs, 1, memory_order_acq_rel) != 1) return;
    cuzk_grpc_call_drop_request(call);
    cuzk__call_drop_out(call);
    pthread_mutex_destroy(&call->lock);
    cuzk_buf_free(&call->headers);
    cuzk_buf_free(&call->message);
    cuzk_buf_free(&call->details);
    cuzk_free(call->peer);
    cuzk_free(call->identity);
    cuzk__grpc_shared_unref(call->shared);
    cuzk_free(call);
}

void cuzk_grpc_call_drop_request(cuzk_grpc_call *call) {
    cuzk_free(call->body);
    call->body = NULL;
    call->body_len = 0;
    cuzk__grpc_budget_give(call->shared, atomic_exchange(&call->charged, 0));
}

/* ---- what came ---- */

bool cuzk_grpc_call_request(const cuzk_grpc_call *call, const uint8_t **data, size_t *len) {
    static const uint8_t nothing;
    *data = call->body ? call->body : &nothing;
    *len = call->body_len;
    return call->have_body;
}

int64_t cuzk_grpc_call_deadline_ns(const cuzk_grpc_call *call) {
    return call->deadline_ns;
}

const char *cuzk_grpc_call_metadata(const cuzk_grpc_call *call, const char *name) {
    const char *p = call->headers.data;
    if (!p) return NULL;
    const char *end = p + call->headers.len;
    while (p < end) {
        const char *value = p + strlen(p) + 1;
        if (!strcmp(p, name)) return value;
        p = value + strlen(value) + 1;
    }
    return NULL;
}

const char *cuzk_grpc_call_peer(const cuzk_grpc_call *call) {
    return call->peer;
}

const char *cuzk_grpc_call_identity(const cuzk_grpc_call *call) {
    return call->identity;
}

void cuzk_grpc_call_set_data(cuzk_grpc_call *call, void *data) {
    call->data = data;
}

void *cuzk_grpc_call_data(const cuzk_grpc_call *call) {
    return call->data;
}

void cuzk_grpc_call_on_cancel(cuzk_grpc_call *call, void (*fn)(void *ctx, cuzk_grpc_call *call),
                              void *ctx) {
    call->on_cancel = fn;
    call->on_cancel_ctx = ctx;
}

bool cuzk_grpc_call_over(const cuzk_grpc_call *const_call) {
    cuzk_grpc_call *call = cuzk_grpc_call_ref((cuzk_grpc_call *)(uintptr_t)const_call);
    pthread_mutex_lock(&call->lock);
    const bool over = call->ended;
    pthread_mutex_unlock(&call->lock);
    cuzk_grpc_call_unref(call);
    return over;
}

/* ---- headers ---- */

void cuzk__call_header(cuzk_grpc_call *call, const uint8_t *name, size_t name_len,
                       const uint8_t *value, size_t value_len) {
    if (call->begun || call->headers_too_big) return; /* the client's trailers say nothing to us */
    if (call->headers.len + name_len + value_len + 32 >
        call->conn->server->limits.max_header_bytes) {
        call->headers_too_big = true;
        return;
    }
    cuzk_buf_append(&call->headers, name, name_len);
    cuzk_buf_append(&call->headers, "", 1);
    cuzk_buf_append(&call->headers, value, value_len);
    cuzk_buf_append(&call->headers, "", 1);
}

static void on_deadline(void *ctx) {
    cuzk_grpc_call *call = ctx;
    cuzk__call_abort(call, CUZK_GRPC_DEADLINE_EXCEEDED, "the call's deadline has passed");
}

/* False: refused. */
static bool take_timeout(cuzk_grpc_call *call) {
    const char *timeout = cuzk_grpc_call_metadata(call, "grpc-timeout");
    int64_t ns;
    if (!timeout) return true;
    if (!cuzk__grpc_timeout_parse(timeout, strlen(timeout), &ns)) {
        cuzk__call_abort(call, CUZK_GRPC_INVALID_ARGUMENT, "grpc-timeout \"%.32s\" is none",
                         timeout);
        return false;
    }
    if (!ns) {
        on_deadline(call);
        return false;
    }
    if (__builtin_add_overflow(cuzk_now_ns(), ns, &call->deadline_ns))
        call->deadline_ns = INT64_MAX;
    if (call->deadline_ns == INT64_MAX) return true;
    if (cuzk_net_timer_set(call->shared->loop, &call->timer, call->deadline_ns, on_deadline,
                           call) == CUZK_OK)
        return true;
    cuzk__call_abort(call, CUZK_GRPC_RESOURCE_EXHAUSTED, "the server is out of memory");
    return false;
}

/* What HTTP itself asks for. */
static bool http_fits(cuzk_grpc_call *call) {
    const char *method = cuzk_grpc_call_metadata(call, ":method");
    const char *type = cuzk_grpc_call_metadata(call, "content-type");
    if (!method || strcmp(method, "POST") != 0) {
        cuzk__call_refuse_http(call, "405");
        return false;
    }
    if (!type || !cuzk__grpc_content_type(type)) {
        cuzk__call_refuse_http(call, "415");
        return false;
    }
    return true;
}

static bool may_run(cuzk_grpc_call *call) {
    cuzk_grpc_server *s = call->conn->server;
    const char *encoding = cuzk_grpc_call_metadata(call, "grpc-encoding");
    const char *path = cuzk_grpc_call_metadata(call, ":path");
    if (!cuzk__access_allows(call->conn->access, cuzk_grpc_call_metadata(call, "authorization"))) {
        cuzk__call_abort(call, CUZK_GRPC_UNAUTHENTICATED,
                         "a bearer token is needed: metadata \"authorization: Bearer <token>\"");
        return false;
    }
    if (atomic_load(&s->shared->calls) > s->limits.max_calls) {
        cuzk__call_abort(call, CUZK_GRPC_RESOURCE_EXHAUSTED,
                         "too many calls at a time; try again later");
        return false;
    }
    if (s->draining) {
        cuzk__call_abort(call, CUZK_GRPC_UNAVAILABLE, "the server is shutting down");
        return false;
    }
    if (encoding && strcmp(encoding, "identity") != 0) {
        cuzk__call_abort(call, CUZK_GRPC_UNIMPLEMENTED,
                         "grpc-encoding \"%.32s\" is not supported; send without compression",
                         encoding);
        return false;
    }
    call->method = path ? cuzk__grpc_find(s, path) : NULL;
    if (call->method) call->conn->used = true;
    if (call->method) return take_timeout(call);
    cuzk__call_abort(call, CUZK_GRPC_UNIMPLEMENTED, "unknown method %.200s", path ? path : "");
    return false;
}

void cuzk__call_begin(cuzk_grpc_call *call) {
    if (call->begun) return;
    call->begun = true;
    call->progress_ns = cuzk_now_ns();
    cuzk__conn_look_at(call->conn, call->progress_ns + call->conn->server->limits.stall_ns);
    if (call->headers_too_big)
        cuzk__call_abort(call, CUZK_GRPC_RESOURCE_EXHAUSTED, "more than %u bytes of metadata",
                         call->conn->server->limits.max_header_bytes);
    else if (call->headers.failed)
        cuzk__call_abort(call, CUZK_GRPC_RESOURCE_EXHAUSTED, "the server is out of memory");
    else if (http_fits(call) && may_run(call))
        return;
    call->upload = CUZK__UPLOAD_DONE;
}

/* ---- ends that are not the handler's ---- */

static void run_on_cancel(cuzk_grpc_call *call) {
    void (*fn)(void *, cuzk_grpc_call *) = call->on_cancel;
    call->on_cancel = NULL;
    if (fn) fn(call->on_cancel_ctx, call);
}

void cuzk__call_abort(cuzk_grpc_call *call, int code, const char *fmt, ...) {
    char text[256];
    va_list args;
    va_start(args, fmt);
    vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    pthread_mutex_lock(&call->lock);
    const bool ended = call->ended;
    if (!ended) {
        call->ended = true;
        call->code = code;
        cuzk__grpc_percent_encode(&call->message, text);
        cuzk__call_drop_out(call);
    }
    pthread_mutex_unlock(&call->lock);
    if (ended) return;
    cuzk_grpc_call_ref(call);
    cuzk__upload_stop(call);
    run_on_cancel(call);
    cuzk__call_push(call);
    cuzk_grpc_call_unref(call);
}

void cuzk__call_stream_closed(cuzk_grpc_call *call) {
    cuzk__grpc_conn *conn = call->conn;
    pthread_mutex_lock(&call->lock);
    const bool ended = call->ended;
    call->ended = true;
    if (!ended) call->code = CUZK_GRPC_CANCELLED;
    cuzk__call_drop_out(call);
    pthread_mutex_unlock(&call->lock);
    cuzk__upload_stop(call);
    cuzk_net_timer_clear(call->shared->loop, &call->timer);
    *call->link = call->next;
    if (call->next) call->next->link = call->link;
    conn->n_calls--;
    if (!conn->n_calls) {
        cuzk__conn_requeue(conn);
        conn->empty_ns = cuzk_now_ns();
        cuzk__conn_look_at(conn, conn->empty_ns + conn->server->limits.idle_ns);
    }
    call->conn = NULL;
    if (call->code) atomic_fetch_add(&call->shared->calls_failed, 1);
    if (!ended) run_on_cancel(call);
    atomic_fetch_sub(&call->shared->calls, 1); /* last: who sees it gone sees all that it did */
    cuzk_grpc_call_unref(call);
}

/* ---- clocks ---- */

static void earlier(int64_t *next, int64_t at) {
    if (at < *next) *next = at;
}

static void check_pace(cuzk_grpc_call *call, int64_t now, int64_t *next) {
    const cuzk_grpc_server *s = call->conn->server;
    const int64_t whole = s->limits.stall_ns, quarter = whole / 4;
    const bool pressed = s->waiters && call->frames.len > CUZK__SMALL;
    if (cuzk__pace_is_slow(&call->pace, now, pressed ? quarter : whole,
                           pressed ? CUZK__PACE_PRESSED : CUZK__PACE_FLOOR))
        cuzk__call_abort(call, CUZK_GRPC_DEADLINE_EXCEEDED, "the request came too slowly");
    else
        earlier(next, now + quarter);
}

void cuzk__call_check(cuzk_grpc_call *call, int64_t now, int64_t *next) {
    const cuzk_grpc_limits *limits = &call->conn->server->limits;
    const int64_t until = call->progress_ns + limits->stall_ns;
    switch (call->upload) {
    case CUZK__UPLOAD_WAITING:
        if (now >= until) {
            cuzk__call_abort(call, CUZK_GRPC_RESOURCE_EXHAUSTED,
                             "no memory for this request became free in time; try again later");
            return;
        }
        break;
    case CUZK__UPLOAD_NONE:
        /* between messages a streaming client may take its time */
        if (!call->method || call->method->flags & CUZK_GRPC_CLIENT_STREAM) return;
        break;
    case CUZK__UPLOAD_GRANTED:
        check_pace(call, now, next);
        return;
    case CUZK__UPLOAD_DONE:
        return;
    }
    if (now >= until)
        cuzk__call_abort(call, CUZK_GRPC_DEADLINE_EXCEEDED, "the request came too slowly");
    else
        earlier(next, until);
}
