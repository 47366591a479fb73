/* An HTTP/1.1 server (libmicrohttpd) for pages, metrics and a JSON interface.
 *
 * Routes are fixed when it is made; there are no files, so nothing outside the table can be
 * reached. Handlers run on the server's own threads, several at a time, and should take
 * milliseconds; what takes longer is a stream (cuzk_http_stream_new), which other threads feed. */
#ifndef CUZK_NET_HTTP_H
#define CUZK_NET_HTTP_H

#include "net/net.h"

typedef struct cuzk_http_server cuzk_http_server;
typedef struct cuzk_http_request cuzk_http_request;   /* valid until the handler returns */
typedef struct cuzk_http_response cuzk_http_response; /* the same */

/* Exactly one respond (or stream) call a handler; without one the client gets a 500. */
typedef void (*cuzk_http_handler)(void *ctx, const cuzk_http_request *req, cuzk_http_response *res);

enum {
    CUZK_HTTP_OPEN = 1, /* needs no bearer token even where the listener has tokens: /healthz */
};

typedef struct cuzk_http_route {
    const char *method;  /* "GET" (serves HEAD too), "POST", "PUT", "DELETE" */
    const char *pattern; /* "/api/v1/jobs/{id}": a {name} stands for one segment, not empty */
    cuzk_http_handler handler;
    void *ctx;
    unsigned flags;
    uint64_t max_body; /* bytes; 0: no body allowed; above: 413 */
} cuzk_http_route;

/* Zero means the default, given here. */
typedef struct cuzk_http_limits {
    uint64_t body_budget;     /* 512 MiB for bodies of all requests at once: 503 above; those
                                 above 64 KiB leave a quarter of it to the others */
    uint32_t threads;         /* 2 */
    uint32_t max_connections; /* 1024: a further one takes the place of the oldest that has no
                                 request, or of the oldest; streams take half at most */
    uint32_t max_per_address; /* the same of one IPv4 address or IPv6 network (/64): half of all */
    uint32_t timeout_s;       /* 30 s for headers and between requests; a body must bring 64 KiB/s
                                 in each, or its rest */
    const char *csp; /* Content-Security-Policy; default: own origin only, nothing inline */
} cuzk_http_limits;

/* routes with all they point at must outlive the server. limits may be NULL. */
cuzk_status cuzk_http_server_new(cuzk_http_server **out, const cuzk_http_route *routes, size_t n,
                                 const cuzk_http_limits *limits, cuzk_err *err) CUZK_MUST_CHECK;

/* Listens on one more address, syntax and access as of cuzk_grpc_server_listen; serving begins at
 * once. Not thread-safe. */
cuzk_status cuzk_http_server_listen(cuzk_http_server *s, const char *address,
                                    cuzk_net_access *access, char *bound,
                                    cuzk_err *err) CUZK_MUST_CHECK;

/* After cuzk_net_access_reload: new connections get the certificate, key and authorities as the
 * files hold them now; those there are stay as they are. An error leaves the listeners from the one
 * it names on as they were. Not at the same time as listen. */
cuzk_status cuzk_http_server_reload(cuzk_http_server *s, cuzk_err *err) CUZK_MUST_CHECK;

/* Closes listeners and connections, ends streams, waits for handlers that run. Streams that
 * somebody still holds stay valid, and dead. NULL is ignored. */
void cuzk_http_server_free(cuzk_http_server *s);

/* ---- request ---- */
const char *cuzk_http_request_method(const cuzk_http_request *req);
const char *cuzk_http_request_path(const cuzk_http_request *req); /* without the query */
/* What stood for {name}, percent-decoded; never NULL for a name of the pattern. */
const char *cuzk_http_request_param(const cuzk_http_request *req, const char *name);
/* A query parameter, decoded ("" for "?a"); NULL: not there. */
const char *cuzk_http_request_query(const cuzk_http_request *req, const char *name);
/* A header, any case; NULL: not there. */
const char *cuzk_http_request_header(const cuzk_http_request *req, const char *name);
const uint8_t *cuzk_http_request_body(const cuzk_http_request *req, size_t *len);
const char *cuzk_http_request_peer(const cuzk_http_request *req); /* "127.0.0.1:4711", "unix" */

/* ---- response ---- */

/* Before respond: one more header. name and value are copied; control characters are refused
 * (dropped). Content-Type, Cache-Control (no-store unless set) and the security headers are set by
 * the server. */
void cuzk_http_header(cuzk_http_response *res, const char *name, const char *value);

/* body is copied. */
void cuzk_http_respond(cuzk_http_response *res, unsigned status, const char *content_type,
                       const void *body, size_t len);
/* The same of bytes that outlive the server: an embedded page. */
void cuzk_http_respond_static(cuzk_http_response *res, unsigned status, const char *content_type,
                              const void *body, size_t len);
/* {"error":{"code":"…","message":"…"}} with that status. code: "not_found". */
void cuzk_http_respond_error(cuzk_http_response *res, unsigned status, const char *code,
                             const char *fmt, ...) CUZK_PRINTF(4, 5);

/* ---- streams (chunked; Server-Sent Events with content type "text/event-stream") ---- */

typedef struct cuzk_http_stream cuzk_http_stream;

/* Answers with a stream and returns it with one reference, the caller's; NULL when there is no
 * memory (the client gets a 503). */
cuzk_http_stream *cuzk_http_stream_new(cuzk_http_response *res, unsigned status,
                                       const char *content_type);
/* Appends bytes (copied). Any thread. False when the client is gone, or more than 4 MiB wait
 * unread: the stream is then dead. A client that left is noticed by writing, so write a comment (":
 * \n\n") every few seconds. */
bool cuzk_http_stream_write(cuzk_http_stream *s, const void *data, size_t len);
/* Server-Sent Event with a name (or NULL) and one-line data. */
bool cuzk_http_stream_event(cuzk_http_stream *s, const char *event, const char *data);
/* The end, and gives the reference back. Any thread. NULL is ignored. */
void cuzk_http_stream_close(cuzk_http_stream *s);

#endif
