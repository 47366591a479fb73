/* The answer's side of a call: from any thread into the session. */
#include "net/grpc_internal.h"
#include "net/grpc_text.h"

#include "base/bytes.h"
#include "base/mem.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* ---- any thread ---- */

void cuzk__call_drop_out(cuzk_grpc_call *call) {
    while (call->out) {
        cuzk__grpc_out *o = call->out;
        call->out = o->next;
        cuzk_free(o);
    }
    call->out_last = &call->out;
    call->unsent = 0;
}

/* The loop is told, and holds the call until it has heard. */
static void tell_loop(cuzk_grpc_call *call) {
    cuzk_grpc_call_ref(call);
    pthread_mutex_lock(&call->lock);
    const bool told = call->told;
    call->told = true;
    pthread_mutex_unlock(&call->lock);
    if (told)
        cuzk_grpc_call_unref(call);
    else
        cuzk__loop_post_task(call->shared->loop, &call->task);
}

void cuzk__call_task(void *ctx) {
    cuzk_grpc_call *call = ctx;
    pthread_mutex_lock(&call->lock);
    call->told = false;
    const bool overflow = call->overflow;
    pthread_mutex_unlock(&call->lock);
    if (overflow && call->conn)
        cuzk__call_abort(call, CUZK_GRPC_RESOURCE_EXHAUSTED,
                         "the answers are not read, or too large to keep");
    else
        cuzk__call_push(call);
    cuzk_grpc_call_unref(call);
}

/* Under lock: one more message into the queue. */
static cuzk_status enqueue(cuzk_grpc_call *call, const void *data, size_t len) {
    cuzk__grpc_out *o;
    if (call->ended || call->overflow) return CUZK_STATUS_FALSE;
    if (len > UINT32_MAX || call->unsent + len > call->shared->max_send_queue) {
        call->overflow = true;
        return CUZK_STATUS_FALSE;
    }
    if (cuzk_alloc((void **)&o, 1, sizeof *o + 5 + len) != CUZK_OK) {
        call->overflow = true;
        return CUZK_STATUS_NO_MEMORY;
    }
    o->len = 5 + len;
    cuzk_st_u32be(o->bytes + 1, (uint32_t)len);
    if (len) memcpy(o->bytes + 5, data, len);
    *call->out_last = o;
    call->out_last = &o->next;
    call->unsent += o->len;
    return CUZK_OK;
}

cuzk_status cuzk_grpc_send(cuzk_grpc_call *call, const void *data, size_t len) {
    pthread_mutex_lock(&call->lock);
    const cuzk_status st = enqueue(call, data, len);
    const bool tell = st == CUZK_OK || call->overflow;
    pthread_mutex_unlock(&call->lock);
    if (tell) tell_loop(call);
    return st;
}

size_t cuzk_grpc_call_unsent(const cuzk_grpc_call *const_call) {
    cuzk_grpc_call *call = (cuzk_grpc_call *)(uintptr_t)const_call; /* for its lock */
    pthread_mutex_lock(&call->lock);
    const size_t n = call->unsent;
    pthread_mutex_unlock(&call->lock);
    return n;
}

cuzk_status cuzk_grpc_reply(cuzk_grpc_call *call, const void *data, size_t len) {
    pthread_mutex_lock(&call->lock);
    const cuzk_status st = enqueue(call, data, len);
    if (st == CUZK_OK) call->ended = true;
    const bool tell = st == CUZK_OK || call->overflow;
    pthread_mutex_unlock(&call->lock);
    if (tell) tell_loop(call);
    return st;
}

static cuzk_status end_with(cuzk_grpc_call *call, int code, const char *message,
                            const void *details, size_t details_len, int64_t retry_ns) {
    pthread_mutex_lock(&call->lock);
    const bool ended = call->ended;
    if (!ended) {
        call->ended = true;
        call->code = code >= 0 && code <= 16 ? code : CUZK_GRPC_UNKNOWN;
        call->retry_ns = retry_ns;
        if (message) cuzk__grpc_percent_encode(&call->message, message);
        if (details) cuzk__grpc_base64(&call->details, details, details_len);
    }
    pthread_mutex_unlock(&call->lock);
    if (ended) return CUZK_STATUS_FALSE;
    tell_loop(call);
    return CUZK_OK;
}

cuzk_status cuzk_grpc_end(cuzk_grpc_call *call, int code, const char *message, const void *details,
                          size_t details_len) {
    return end_with(call, code, message, details, details_len, -1);
}

cuzk_status cuzk_grpc_fail(cuzk_grpc_call *call, int code, const char *fmt, ...) {
    char text[1024];
    va_list args;
    va_start(args, fmt);
    vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    return end_with(call, code, text, NULL, 0, -1);
}

cuzk_status cuzk_grpc_fail_retry(cuzk_grpc_call *call, int code, int64_t retry_ns, const char *fmt,
                                 ...) {
    char text[1024];
    cuzk_buf details = CUZK_BUF_INIT;
    va_list args;
    va_start(args, fmt);
    vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    if (retry_ns < 0) retry_ns = 0;
    cuzk__grpc_retry_details(&details, code, text, retry_ns);
    const cuzk_status st =
        end_with(call, code, text, details.failed ? NULL : details.data, details.len, retry_ns);
    cuzk_buf_free(&details);
    return st;
}

/* ---- loop thread ---- */

enum { MOST_HEADERS = 8 };

typedef struct headers {
    nghttp2_nv nv[MOST_HEADERS];
    size_t n;
} headers;

static void add(headers *h, const char *name, const char *value) {
    /* nghttp2 copies; its structure is shared with readers that change nothing either */
    h->nv[h->n++] = (nghttp2_nv){.name = (uint8_t *)(uintptr_t)name,
                                 .value = (uint8_t *)(uintptr_t)value,
                                 .namelen = strlen(name),
                                 .valuelen = strlen(value)};
}

static void add_response(headers *h, const char *status) {
    add(h, ":status", status);
    add(h, "content-type", "application/grpc");
    add(h, "grpc-accept-encoding", "identity");
}

typedef struct trailer_text {
    char code[8], retry[24];
} trailer_text;

/* Under lock, once ended. */
static void add_trailers(headers *h, trailer_text *text, const cuzk_grpc_call *call) {
    snprintf(text->code, sizeof text->code, "%d", call->code);
    add(h, "grpc-status", text->code);
    if (call->message.len && !call->message.failed) add(h, "grpc-message", call->message.data);
    if (call->details.len && !call->details.failed)
        add(h, "grpc-status-details-bin", call->details.data);
    if (call->retry_ns >= 0) {
        snprintf(text->retry, sizeof text->retry, "%lld", (long long)(call->retry_ns / 1000000));
        add(h, "grpc-retry-pushback-ms", text->retry);
    }
}

/* Under lock: bytes of the queue. */
static size_t take_out(cuzk_grpc_call *call, uint8_t *buf, size_t cap) {
    size_t n = 0;
    while (call->out && n < cap) {
        cuzk__grpc_out *o = call->out;
        const size_t left = o->len - o->off;
        const size_t some = left < cap - n ? left : cap - n;
        memcpy(buf + n, o->bytes + o->off, some);
        n += some;
        o->off += some;
        call->unsent -= some;
        if (o->off < o->len) break;
        call->out = o->next;
        if (!call->out) call->out_last = &call->out;
        cuzk_free(o);
    }
    return n;
}

static ssize_t read_out(nghttp2_session *session, int32_t stream_id, uint8_t *buf, size_t length,
                        uint32_t *flags, nghttp2_data_source *source, void *user) {
    cuzk_grpc_call *call = source->ptr;
    headers h = {.n = 0};
    trailer_text text;
    (void)user;
    pthread_mutex_lock(&call->lock);
    const size_t n = take_out(call, buf, length);
    const bool last = !call->out && call->ended;
    if (last) add_trailers(&h, &text, call);
    if (last) call->trailers = true;
    const bool nothing = !n && !call->out && !call->ended;
    pthread_mutex_unlock(&call->lock);
    if (nothing) return NGHTTP2_ERR_DEFERRED;
    if (!last) return (ssize_t)n;
    *flags |= NGHTTP2_DATA_FLAG_EOF | NGHTTP2_DATA_FLAG_NO_END_STREAM;
    if (nghttp2_submit_trailer(session, stream_id, h.nv, h.n) != 0)
        return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
    return (ssize_t)n;
}

static void submit_failed(cuzk_grpc_call *call) {
    nghttp2_submit_rst_stream(call->conn->session, NGHTTP2_FLAG_NONE, call->stream_id,
                              NGHTTP2_INTERNAL_ERROR);
}

/* An end before any message: headers that are trailers too. */
static void push_trailers_only(cuzk_grpc_call *call) {
    headers h = {.n = 0};
    trailer_text text;
    add_response(&h, "200");
    pthread_mutex_lock(&call->lock);
    add_trailers(&h, &text, call);
    pthread_mutex_unlock(&call->lock);
    call->responded = call->trailers = true;
    if (nghttp2_submit_response(call->conn->session, call->stream_id, h.nv, h.n, NULL) != 0)
        submit_failed(call);
}

static void push_response(cuzk_grpc_call *call) {
    headers h = {.n = 0};
    const nghttp2_data_provider provider = {.source.ptr = call, .read_callback = read_out};
    add_response(&h, "200");
    call->responded = true;
    if (nghttp2_submit_response(call->conn->session, call->stream_id, h.nv, h.n, &provider) != 0)
        submit_failed(call);
}

/* The end of a response that has begun. Where the client's window is shut, trailers would wait for
 * it behind data that is not there any more: the stream is reset instead. */
static void push_more(cuzk_grpc_call *call, bool ended_empty) {
    nghttp2_session *session = call->conn->session;
    if (ended_empty && call->code != CUZK_GRPC_OK &&
        (nghttp2_session_get_stream_remote_window_size(session, call->stream_id) <= 0 ||
         nghttp2_session_get_remote_window_size(session) <= 0))
        nghttp2_submit_rst_stream(session, NGHTTP2_FLAG_NONE, call->stream_id, NGHTTP2_CANCEL);
    else
        nghttp2_session_resume_data(session, call->stream_id);
}

void cuzk__call_push(cuzk_grpc_call *call) {
    cuzk__grpc_conn *conn = call->conn;
    if (!conn || call->trailers) return;
    pthread_mutex_lock(&call->lock);
    const bool any = call->out != NULL, ended = call->ended;
    pthread_mutex_unlock(&call->lock);
    if (call->responded)
        push_more(call, ended && !any);
    else if (any)
        push_response(call);
    else if (ended)
        push_trailers_only(call);
    if (!conn->in_session) cuzk__conn_flush(conn);
}

void cuzk__call_refuse_http(cuzk_grpc_call *call, const char *status) {
    headers h = {.n = 0};
    pthread_mutex_lock(&call->lock);
    call->ended = true;
    call->code = CUZK_GRPC_UNKNOWN;
    pthread_mutex_unlock(&call->lock);
    call->responded = call->trailers = true;
    call->upload = CUZK__UPLOAD_DONE;
    add(&h, ":status", status);
    add(&h, "content-type", "application/grpc");
    if (nghttp2_submit_response(call->conn->session, call->stream_id, h.nv, h.n, NULL) != 0)
        submit_failed(call);
}
