/* DESIGN: nghttp2 does HTTP/2; this file moves bytes between it and the socket while a call runs,
 * sleeping in poll in slices short enough to see a signal handler's flag. */
#include "net/address.h"
#include "net/grpc_client_internal.h"

#include "base/bytes.h"
#include "base/clock.h"
#include "base/mem.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>

enum { READ = 65536, SLICE_MS = 200 };

/* ---- bytes ---- */

static cuzk_status lost(cuzk_err *err) {
    return cuzk_err_set(err, CUZK_STATUS_IO, "the connection to the server was lost");
}

/* Sleeps for what the socket is to be asked for; until_ns at most. */
static void wait_for(cuzk_grpc_client *c, short events, int64_t until_ns) {
    struct pollfd p = {.fd = c->io.fd, .events = events};
    const int64_t left = (until_ns - cuzk_now_ns()) / 1000000 + 1;
    poll(&p, 1, left > SLICE_MS ? SLICE_MS : left < 0 ? 0 : (int)left);
}

/* Writes all it can. *blocked: the socket takes no more now. */
static cuzk_status write_some(cuzk_grpc_client *c, bool *blocked, cuzk_err *err) {
    *blocked = false;
    for (;;) {
        if (!c->unsent_len) {
            const ssize_t n = nghttp2_session_mem_send(c->session, &c->unsent);
            if (n < 0)
                return cuzk_err_set(err, CUZK_STATUS_IO, "HTTP/2: %s", nghttp2_strerror((int)n));
            if (n == 0) return CUZK_OK;
            c->unsent_len = (size_t)n;
        }
        const ssize_t n = cuzk__io_write(&c->io, c->unsent, c->unsent_len);
        if (n == CUZK__IO_WAIT) {
            *blocked = true;
            return CUZK_OK;
        }
        if (n <= 0) return lost(err);
        c->unsent += n;
        c->unsent_len -= (size_t)n;
    }
}

/* Reads what is there. */
static cuzk_status read_some(cuzk_grpc_client *c, cuzk_err *err) {
    for (;;) {
        const ssize_t n = cuzk__io_read(&c->io, c->scratch, READ);
        if (n == CUZK__IO_WAIT) return CUZK_OK;
        if (n <= 0) return lost(err);
        const ssize_t took = nghttp2_session_mem_recv(c->session, c->scratch, (size_t)n);
        if (took < 0)
            return cuzk_err_set(err, CUZK_STATUS_IO, "this is no gRPC server: %s",
                                nghttp2_strerror((int)took));
        if (c->closed) return CUZK_OK;
    }
}

/* One round of a call. */
static cuzk_status pump(cuzk_grpc_client *c, int64_t until_ns, cuzk_err *err) {
    bool blocked;
    /* what a broken connection still brought is read before it is given up */
    const cuzk_status wrote = write_some(c, &blocked, err);
    CUZK_TRY(read_some(c, err));
    if (c->closed) return CUZK_OK;
    CUZK_TRY(wrote);
    if (nghttp2_session_want_write(c->session) && !blocked) return CUZK_OK;
    wait_for(c, (short)(blocked ? POLLIN | POLLOUT : POLLIN), until_ns);
    return CUZK_OK;
}

/* ---- connecting ---- */

static cuzk_status shake(cuzk_grpc_client *c, int64_t until_ns, cuzk_err *err) {
    for (;;) {
        const int done = cuzk__io_shake(&c->io, err);
        if (done == 1) return CUZK_OK;
        if (done == CUZK__IO_BROKEN) return CUZK_STATUS_IO;
        if (cuzk_now_ns() >= until_ns || (c->stop && *c->stop))
            return cuzk_err_set(err, CUZK_STATUS_IO, "TLS: the server does not answer");
        wait_for(c, c->io.wants == EPOLLOUT ? POLLOUT : POLLIN, until_ns);
    }
}

static cuzk_status set_token(cuzk_grpc_client *c, const char *token, cuzk_err *err) {
    if (!token) return CUZK_OK;
    const size_t len = strlen(token);
    for (size_t i = 0; i < len; i++)
        if (token[i] <= ' ' || token[i] >= 127)
            return cuzk_err_set(err, CUZK_STATUS_BAD_INPUT,
                                "a token is of visible ASCII characters; byte %zu is none", i);
    if (!len) return cuzk_err_set(err, CUZK_STATUS_BAD_INPUT, "the token is empty");
    const size_t n = len + sizeof "Bearer ";
    CUZK_TRY(cuzk_alloc((void **)&c->authorization, n, 1));
    snprintf(c->authorization, n, "Bearer %s", token);
    return CUZK_OK;
}

static cuzk_status dial(cuzk_grpc_client *c, const char *address, const cuzk_grpc_client_options *o,
                        cuzk_err *err) {
    const int64_t patience = o->connect_ns > 0 ? o->connect_ns : (int64_t)10000000000;
    const int64_t until = cuzk_now_ns() + patience;
    cuzk__address a;
    int fd;
    CUZK_TRY(cuzk__address_parse(&a, address, err));
    const char *host = a.is_unix || !a.host[0] ? "localhost" : a.host;
    if (a.is_unix)
        snprintf(c->authority, sizeof c->authority, "localhost");
    else
        snprintf(c->authority, sizeof c->authority, strchr(host, ':') ? "[%s]:%s" : "%s:%s", host,
                 a.port);
    const bool tls = o->tls || o->ca_file || o->cert_file;
    if (tls) CUZK_TRY(cuzk__tls_client(&c->tls, o->ca_file, o->cert_file, o->key_file, err));
    CUZK_TRY(cuzk__address_connect(&fd, &a, patience, err));
    const cuzk_status st =
        cuzk__io_init(&c->io, fd, c->tls, o->server_name ? o->server_name : host, err);
    if (st != CUZK_OK) {
        c->io = (cuzk__io){.fd = fd}; /* closed with the client */
        return st;
    }
    CUZK_TRY(shake(c, until, err));
    return cuzk__client_open_session(c, err);
}

static cuzk_status new_client(cuzk_grpc_client **out, const cuzk_grpc_client_options *o,
                              cuzk_err *err) {
    CUZK_TRY(cuzk_alloc((void **)out, 1, sizeof **out));
    cuzk_grpc_client *c = *out;
    c->io.fd = -1;
    c->stop = o->stop;
    c->max_message = o->max_message ? o->max_message : 256 << 20;
    CUZK_TRY(cuzk_alloc((void **)&c->scratch, READ, 1));
    return set_token(c, o->token, err);
}

cuzk_status cuzk_grpc_client_new(cuzk_grpc_client **out, const char *address,
                                 const cuzk_grpc_client_options *options, cuzk_err *err) {
    static const cuzk_grpc_client_options plain;
    const cuzk_grpc_client_options *o = options ? options : &plain;
    cuzk_grpc_client *c = NULL;
    cuzk_status st = new_client(&c, o, err);
    if (st == CUZK_OK) st = dial(c, address, o, err);
    if (st != CUZK_OK) {
        cuzk_grpc_client_free(c);
        c = NULL;
    }
    *out = c;
    return st;
}

cuzk_status cuzk__grpc_client_adopt(cuzk_grpc_client **out, int fd, uint64_t max_message) {
    const cuzk_grpc_client_options plain = {.max_message = max_message};
    cuzk_grpc_client *c = NULL;
    cuzk_status st = new_client(&c, &plain, NULL);
    if (st == CUZK_OK) st = cuzk__io_init(&c->io, fd, NULL, NULL, NULL);
    if (st == CUZK_OK) st = cuzk__client_open_session(c, NULL);
    *out = c;
    return st;
}

void cuzk_grpc_client_free(cuzk_grpc_client *c) {
    if (!c) return;
    nghttp2_session_del(c->session);
    cuzk__io_close(&c->io);
    cuzk__tls_free(c->tls);
    if (c->authorization) cuzk_wipe(c->authorization, strlen(c->authorization));
    cuzk_free(c->authorization);
    cuzk_free(c->scratch);
    cuzk_free(c);
}

/* ---- calls ---- */

static nghttp2_nv header(const char *name, const char *value) {
    /* nghttp2 copies, and changes nothing through these pointers */
    return (nghttp2_nv){.name = (uint8_t *)(uintptr_t)name,
                        .value = (uint8_t *)(uintptr_t)value,
                        .namelen = strlen(name),
                        .valuelen = strlen(value)};
}

static cuzk_status submit(cuzk_grpc_client *c, const char *path, int64_t timeout_ns,
                          cuzk_err *err) {
    const nghttp2_data_provider provider = {.read_callback = cuzk__client_read_request};
    char timeout[16];
    nghttp2_nv nv[10];
    size_t n = 0;
    nv[n++] = header(":method", "POST");
    nv[n++] = header(":scheme", c->tls ? "https" : "http");
    nv[n++] = header(":path", path);
    nv[n++] = header(":authority", c->authority);
    nv[n++] = header("te", "trailers");
    nv[n++] = header("content-type", "application/grpc");
    nv[n++] = header("user-agent", "cuzk");
    if (timeout_ns > 0) {
        cuzk__grpc_timeout_format(timeout, sizeof timeout, timeout_ns);
        nv[n++] = header("grpc-timeout", timeout);
    }
    if (c->authorization) {
        nv[n] = header("authorization", c->authorization);
        nv[n++].flags = NGHTTP2_NV_FLAG_NO_INDEX;
    }
    c->stream_id = nghttp2_submit_request(c->session, NULL, nv, n, &provider, NULL);
    if (c->stream_id < 0)
        return cuzk_err_set(err, CUZK_STATUS_IO, "the server takes no more calls here: %s",
                            c->goaway[0] ? c->goaway : nghttp2_strerror(c->stream_id));
    return CUZK_OK;
}

/* What HTTP's own end of a call means, when gRPC's is missing. */
static int code_of_http(const cuzk_grpc_client *c) {
    switch (c->http_status) {
    case 0:
    case 200:
        break;
    case 400:
        return CUZK_GRPC_INTERNAL;
    case 401:
        return CUZK_GRPC_UNAUTHENTICATED;
    case 403:
        return CUZK_GRPC_PERMISSION_DENIED;
    case 404:
        return CUZK_GRPC_UNIMPLEMENTED;
    case 429:
    case 502:
    case 503:
    case 504:
        return CUZK_GRPC_UNAVAILABLE;
    default:
        return CUZK_GRPC_UNKNOWN;
    }
    switch (c->reset) {
    case NGHTTP2_REFUSED_STREAM:
        return CUZK_GRPC_UNAVAILABLE;
    case NGHTTP2_CANCEL:
        return CUZK_GRPC_CANCELLED;
    case NGHTTP2_ENHANCE_YOUR_CALM:
        return CUZK_GRPC_RESOURCE_EXHAUSTED;
    default:
        return CUZK_GRPC_INTERNAL;
    }
}

static void conclude(cuzk_grpc_client *c) {
    cuzk_grpc_result *r = c->result;
    r->code = c->own_code ? c->own_code : c->code >= 0 ? c->code : code_of_http(c);
    if (!c->own_code && c->code < 0 && !r->message[0])
        snprintf(r->message, sizeof r->message, "%s%sHTTP status %d, HTTP/2 %s", c->goaway,
                 c->goaway[0] ? ": " : "", c->http_status, nghttp2_http2_strerror(c->reset));
    if (r->code == CUZK_GRPC_OK && !c->fn && c->replies != 1) {
        r->code = CUZK_GRPC_INTERNAL;
        snprintf(r->message, sizeof r->message, "the server sent no message");
    }
}

/* Until the stream is closed, or it is time to end it; then what tells the server is sent. */
static cuzk_status run(cuzk_grpc_client *c, int64_t until_ns, cuzk_err *err) {
    bool blocked;
    while (!c->closed && !c->own_code) {
        const bool late = cuzk_now_ns() >= until_ns;
        if (c->stop && *c->stop) {
            cuzk__client_give_up(c, CUZK_GRPC_CANCELLED, "interrupted");
            break;
        }
        CUZK_TRY(pump(c, until_ns, err)); /* also then: an answer may have come in time */
        if (late && !c->closed)
            cuzk__client_give_up(c, CUZK_GRPC_DEADLINE_EXCEEDED, "no answer in time");
    }
    const cuzk_status st = c->own_code ? write_some(c, &blocked, NULL) : CUZK_OK;
    (void)st; /* the call is over either way */
    return CUZK_OK;
}

static cuzk_status call(cuzk_grpc_client *c, const char *path, int64_t timeout_ns, cuzk_err *err) {
    int64_t until = INT64_MAX;
    if (timeout_ns > 0 && __builtin_add_overflow(cuzk_now_ns(), timeout_ns, &until))
        until = INT64_MAX;
    *c->result = (cuzk_grpc_result){.code = CUZK_GRPC_UNAVAILABLE, .retry_ns = -1};
    c->closed = false;
    c->reset = 0;
    c->sent = c->replies = 0;
    c->http_status = c->own_code = 0;
    c->code = -1;
    c->stream_id = 0;
    c->frames = (cuzk__grpc_frames){0};
    if (c->request_len > UINT32_MAX)
        return cuzk_err_set(err, CUZK_STATUS_USAGE, "a message has at most 4 GiB");
    cuzk_st_u32be(c->head + 1, (uint32_t)c->request_len);
    cuzk_status st = submit(c, path, timeout_ns, err);
    if (st == CUZK_OK) st = run(c, until, err);
    cuzk__client_free_body(c);
    if (st == CUZK_OK)
        conclude(c);
    else
        snprintf(c->result->message, sizeof c->result->message, "%s",
                 c->goaway[0] ? c->goaway : "the connection failed");
    c->stream_id = 0;
    return st;
}

cuzk_status cuzk_grpc_client_call(cuzk_grpc_client *c, const char *path, const void *req,
                                  size_t len, int64_t timeout_ns, cuzk_buf *reply,
                                  cuzk_grpc_result *result, cuzk_err *err) {
    c->request = req;
    c->request_len = len;
    c->fn = NULL;
    c->reply = reply;
    c->result = result;
    reply->len = 0;
    CUZK_TRY(call(c, path, timeout_ns, err));
    return cuzk_buf_status(reply);
}

cuzk_status cuzk_grpc_client_stream(cuzk_grpc_client *c, const char *path, const void *req,
                                    size_t len, int64_t timeout_ns,
                                    bool (*fn)(void *ctx, const uint8_t *msg, size_t len),
                                    void *ctx, cuzk_grpc_result *result, cuzk_err *err) {
    c->request = req;
    c->request_len = len;
    c->fn = fn;
    c->fn_ctx = ctx;
    c->reply = NULL;
    c->result = result;
    return call(c, path, timeout_ns, err);
}
