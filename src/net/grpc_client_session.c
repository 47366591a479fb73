/* What the client makes of the frames that come. */
#include "net/grpc_client_internal.h"

#include "base/mem.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { STREAM_WINDOW = 4 << 20, CONNECTION_WINDOW = 16 << 20 };

void cuzk__client_give_up(cuzk_grpc_client *c, int code, const char *why) {
    if (c->own_code || c->closed) return;
    c->own_code = code;
    snprintf(c->result->message, sizeof c->result->message, "%s", why);
    nghttp2_submit_rst_stream(c->session, NGHTTP2_FLAG_NONE, c->stream_id, NGHTTP2_CANCEL);
}

static void on_message(cuzk_grpc_client *c) {
    const cuzk__grpc_frames *f = &c->frames;
    c->replies++;
    if (c->fn) {
        static const uint8_t nothing;
        if (!c->fn(c->fn_ctx, f->body ? f->body : &nothing, f->len))
            cuzk__client_give_up(c, CUZK_GRPC_CANCELLED, "no more was wanted");
        return;
    }
    if (c->replies > 1)
        cuzk__client_give_up(c, CUZK_GRPC_INTERNAL, "the server sent more than one message");
    if (c->reply) cuzk_buf_append(c->reply, f->body ? (const void *)f->body : "", f->len);
}

static void make_room(cuzk_grpc_client *c) {
    cuzk__grpc_frames *f = &c->frames;
    if (f->len > c->max_message)
        cuzk__client_give_up(c, CUZK_GRPC_RESOURCE_EXHAUSTED,
                             "the answer is larger than allowed here");
    else if (cuzk_realloc((void **)&f->body, f->len, 1) != CUZK_OK)
        cuzk__client_give_up(c, CUZK_GRPC_RESOURCE_EXHAUSTED, "no memory for the answer");
    f->room = f->len;
}

void cuzk__client_free_body(cuzk_grpc_client *c) {
    cuzk_free(c->frames.body);
    cuzk__grpc_frames_next(&c->frames);
}

static int on_data(nghttp2_session *session, uint8_t flags, int32_t stream_id, const uint8_t *data,
                   size_t len, void *user) {
    cuzk_grpc_client *c = user;
    const uint8_t *end = data + len;
    (void)session;
    (void)flags;
    if (stream_id != c->stream_id) return 0;
    while (!c->own_code) {
        const cuzk__grpc_event ev = cuzk__grpc_frames_feed(&c->frames, &data, end);
        if (ev == CUZK__GRPC_MORE) break;
        if (ev == CUZK__GRPC_ROOM) make_room(c);
        if (ev == CUZK__GRPC_FLAGGED)
            cuzk__client_give_up(c, CUZK_GRPC_INTERNAL,
                                 "the server sent a compressed or broken message");
        if (ev != CUZK__GRPC_MESSAGE) continue;
        on_message(c);
        cuzk__client_free_body(c);
        if (data == end) break;
    }
    return 0;
}

static void on_details(cuzk_grpc_client *c, const char *value, size_t n) {
    cuzk_buf details = CUZK_BUF_INIT;
    if (cuzk__grpc_unbase64(&details, value, n)) {
        const int64_t ns = cuzk__grpc_retry_of(details.data, details.len);
        if (ns >= 0) c->result->retry_ns = ns;
    }
    cuzk_buf_free(&details);
}

static int on_header(nghttp2_session *session, const nghttp2_frame *frame, const uint8_t *name_p,
                     size_t name_len, const uint8_t *value_p, size_t n, uint8_t flags, void *user) {
    cuzk_grpc_client *c = user;
    const char *name = (const char *)name_p, *value = (const char *)value_p; /* NUL follows */
    (void)session;
    (void)flags;
    (void)name_len;
    if (frame->hd.stream_id != c->stream_id || c->own_code) return 0;
    if (!strcmp(name, ":status")) {
        c->http_status = (int)strtol(value, NULL, 10);
    } else if (!strcmp(name, "grpc-status")) {
        const long code = strtol(value, NULL, 10);
        c->code = code >= 0 && code <= 16 ? (int)code : CUZK_GRPC_UNKNOWN;
    } else if (!strcmp(name, "grpc-message")) {
        cuzk__grpc_percent_decode(c->result->message, sizeof c->result->message, value, n);
    } else if (!strcmp(name, "grpc-status-details-bin")) {
        on_details(c, value, n);
    } else if (!strcmp(name, "grpc-retry-pushback-ms") && c->result->retry_ns < 0) {
        const long long ms = strtoll(value, NULL, 10);
        if (ms >= 0 && ms < INT64_MAX / 1000000) c->result->retry_ns = ms * 1000000;
    }
    return 0;
}

static int on_frame(nghttp2_session *session, const nghttp2_frame *frame, void *user) {
    cuzk_grpc_client *c = user;
    (void)session;
    if (frame->hd.type == NGHTTP2_GOAWAY)
        snprintf(c->goaway, sizeof c->goaway, "%.*s", (int)frame->goaway.opaque_data_len,
                 frame->goaway.opaque_data_len ? (const char *)frame->goaway.opaque_data : "");
    return 0;
}

static int on_stream_close(nghttp2_session *session, int32_t stream_id, uint32_t error,
                           void *user) {
    cuzk_grpc_client *c = user;
    (void)session;
    if (stream_id != c->stream_id) return 0;
    c->closed = true;
    c->reset = error;
    return 0;
}

ssize_t cuzk__client_read_request(nghttp2_session *session, int32_t stream_id, uint8_t *buf,
                                  size_t length, uint32_t *flags, nghttp2_data_source *source,
                                  void *user) {
    cuzk_grpc_client *c = user;
    size_t n = 0;
    (void)session;
    (void)stream_id;
    (void)source;
    for (; n < length && c->sent < sizeof c->head; n++)
        buf[n] = c->head[c->sent++];
    const size_t left = c->request_len - (c->sent - sizeof c->head);
    if (n < length && left) {
        const size_t some = left < length - n ? left : length - n;
        memcpy(buf + n, c->request + (c->request_len - left), some);
        c->sent += some;
        n += some;
    }
    if (c->sent == sizeof c->head + c->request_len) *flags |= NGHTTP2_DATA_FLAG_EOF;
    return (ssize_t)n;
}

cuzk_status cuzk__client_open_session(cuzk_grpc_client *c, cuzk_err *err) {
    const nghttp2_settings_entry settings[] = {
        {NGHTTP2_SETTINGS_ENABLE_PUSH, 0},
        {NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, STREAM_WINDOW},
    };
    nghttp2_session_callbacks *callbacks;
    if (nghttp2_session_callbacks_new(&callbacks) != 0) return CUZK_STATUS_NO_MEMORY;
    nghttp2_session_callbacks_set_on_header_callback(callbacks, on_header);
    nghttp2_session_callbacks_set_on_frame_recv_callback(callbacks, on_frame);
    nghttp2_session_callbacks_set_on_data_chunk_recv_callback(callbacks, on_data);
    nghttp2_session_callbacks_set_on_stream_close_callback(callbacks, on_stream_close);
    const int failed = nghttp2_session_client_new(&c->session, callbacks, c);
    nghttp2_session_callbacks_del(callbacks);
    if (failed || nghttp2_submit_settings(c->session, NGHTTP2_FLAG_NONE, settings, 2) != 0 ||
        nghttp2_session_set_local_window_size(c->session, NGHTTP2_FLAG_NONE, 0,
                                              CONNECTION_WINDOW) != 0)
        return cuzk_err_set(err, CUZK_STATUS_NO_MEMORY, "no memory for a connection");
    return CUZK_OK;
}
