/* A gRPC server over HTTP/2 (nghttp2), on a loop of net/net.h.
 *
 * A method's handler is called on the loop's thread with a call, and must not wait. It answers at
 * once, or keeps the call (cuzk_grpc_call_ref) and answers later FROM ANY THREAD. A call that ended
 * otherwise meanwhile (cancelled, deadline, connection gone) takes late answers without harm.
 *
 *     static void status(void *ctx, cuzk_grpc_call *call) {
 *         const uint8_t *req; size_t n;
 *         cuzk_grpc_call_request(call, &req, &n);
 *         ...
 *         cuzk_grpc_reply(call, bytes, len);
 *     }
 */
#ifndef CUZK_NET_GRPC_H
#define CUZK_NET_GRPC_H

#include "net/net.h"

/* gRPC's status codes. */
typedef enum cuzk_grpc_code {
    CUZK_GRPC_OK = 0,
    CUZK_GRPC_CANCELLED = 1,
    CUZK_GRPC_UNKNOWN = 2,
    CUZK_GRPC_INVALID_ARGUMENT = 3,
    CUZK_GRPC_DEADLINE_EXCEEDED = 4,
    CUZK_GRPC_NOT_FOUND = 5,
    CUZK_GRPC_ALREADY_EXISTS = 6,
    CUZK_GRPC_PERMISSION_DENIED = 7,
    CUZK_GRPC_RESOURCE_EXHAUSTED = 8,
    CUZK_GRPC_FAILED_PRECONDITION = 9,
    CUZK_GRPC_ABORTED = 10,
    CUZK_GRPC_OUT_OF_RANGE = 11,
    CUZK_GRPC_UNIMPLEMENTED = 12,
    CUZK_GRPC_INTERNAL = 13,
    CUZK_GRPC_UNAVAILABLE = 14,
    CUZK_GRPC_DATA_LOSS = 15,
    CUZK_GRPC_UNAUTHENTICATED = 16,
} cuzk_grpc_code;

/* "NOT_FOUND"; "CODE_99" is "UNKNOWN". */
const char *cuzk_grpc_code_name(int code);

/* ---- methods ---- */

typedef struct cuzk_grpc_call cuzk_grpc_call;
typedef void (*cuzk_grpc_handler)(void *ctx, cuzk_grpc_call *call);

enum {
    CUZK_GRPC_UNARY = 0,
    CUZK_GRPC_SERVER_STREAM = 1, /* the handler may send any number of messages */
    CUZK_GRPC_CLIENT_STREAM = 2, /* the handler is called for every message as it arrives, and once
                                    more after the last, when cuzk_grpc_call_request says false */
    CUZK_GRPC_WATCH = 4, /* a stream that ends only when the client wants: a drain ends it at once
                            with UNAVAILABLE instead of waiting for it */
};

typedef struct cuzk_grpc_method {
    const char *path; /* "/cuzk.v1.ProvingEngine/SubmitProof" */
    unsigned flags;
    cuzk_grpc_handler handler;
    void *ctx;
} cuzk_grpc_method;

/* ---- server ---- */

typedef struct cuzk_grpc_server cuzk_grpc_server;

/* docs/net.md explains each. Zero means the default, given here. */
typedef struct cuzk_grpc_limits {
    uint64_t max_message;      /* 256 MiB: RESOURCE_EXHAUSTED above */
    uint64_t request_budget;   /* 1 GiB for requests of all connections, unfinished or not yet
                                  dropped; streams wait by flow control when it is used up */
    uint64_t max_send_queue;   /* 64 MiB unsent on one call: it is ended (RESOURCE_EXHAUSTED) */
    uint32_t max_connections;  /* 4096: a further one takes the place of one without calls, or gets
                                  GOAWAY and is closed */
    uint32_t max_streams;      /* 1024 calls at a time on one connection */
    uint32_t max_calls;        /* 16384 on all of them: RESOURCE_EXHAUSTED above */
    uint32_t max_header_bytes; /* 16 KiB of metadata a call */
    int64_t handshake_ns;      /* 10 s from accept to a complete HTTP/2 preface (and TLS) */
    int64_t stall_ns;     /* 60 s: a message must bring 64 KiB/s in each, or its rest; a quarter
                             of it and 256 KiB/s while others wait for memory */
    int64_t idle_ns;      /* 10 min without a call: GOAWAY and close */
    int64_t ping_ns;      /* 60 s of silence: PING */
    int64_t ping_wait_ns; /* 20 s without its answer: the connection is dead */
} cuzk_grpc_limits;

/* methods, their paths and contexts must outlive the server. limits may be NULL. Before the loop
 * runs or on its thread, like everything on a server that does not say otherwise. */
cuzk_status cuzk_grpc_server_new(cuzk_grpc_server **out, cuzk_net_loop *loop,
                                 const cuzk_grpc_method *methods, size_t n,
                                 const cuzk_grpc_limits *limits, cuzk_err *err) CUZK_MUST_CHECK;

/* Listens on one more address. access: NULL means everybody; else it must outlive the server.
 * A Unix socket's file that nobody answers on is replaced; one in use is an error (IO). bound
 * (CUZK_NET_ADDRESS bytes, or NULL) takes the address with the port that was chosen. */
cuzk_status cuzk_grpc_server_listen(cuzk_grpc_server *s, const char *address,
                                    cuzk_net_access *access, char *bound,
                                    cuzk_err *err) CUZK_MUST_CHECK;

/* No new connections, GOAWAY to all, calls that run may finish for grace_ns, the rest are then
 * ended with UNAVAILABLE; then done(ctx) on the loop's thread. Once; any thread. NO_MEMORY: not
 * begun. */
cuzk_status cuzk_grpc_server_drain(cuzk_grpc_server *s, int64_t grace_ns, void (*done)(void *ctx),
                                   void *ctx) CUZK_MUST_CHECK;

/* Closes everything at once (on_cancel is called for what runs). On the loop's thread (posted, not
 * in a handler), or after the loop has returned. Calls that are still referenced stay valid, and
 * dead; unref them before the loop is freed. NULL is ignored. */
void cuzk_grpc_server_free(cuzk_grpc_server *s);

/* Figures for /metrics. Any thread. */
typedef struct cuzk_grpc_stats {
    uint64_t connections, connections_total, connections_refused;
    uint64_t calls, calls_total, calls_failed; /* failed: ended with a code other than OK */
    uint64_t request_bytes;                    /* of the budget, in use now */
    uint64_t bytes_in, bytes_out;
} cuzk_grpc_stats;
void cuzk_grpc_server_stats(const cuzk_grpc_server *s, cuzk_grpc_stats *out);

/* ---- services that come with it; call before the first listen ---- */

/* grpc.health.v1.Health. The server itself ("") is SERVING from now on until it drains; others are
 * SERVICE_UNKNOWN until set. set: any thread. NO_MEMORY: nothing changed. */
cuzk_status cuzk_grpc_server_health(cuzk_grpc_server *s, cuzk_err *err) CUZK_MUST_CHECK;
cuzk_status cuzk_grpc_health_set(cuzk_grpc_server *s, const char *service,
                                 bool serving) CUZK_MUST_CHECK;

/* grpc.reflection.v1 and v1alpha from a serialised google.protobuf.FileDescriptorSet (protoc
 * --include_imports --descriptor_set_out), which must outlive the server. The services that it
 * describes are listed. BAD_INPUT when it is none. */
cuzk_status cuzk_grpc_server_reflection(cuzk_grpc_server *s, const uint8_t *set, size_t n,
                                        cuzk_err *err) CUZK_MUST_CHECK;

/* ---- a call: what came ---- */

/* The request's message, without its frame. Unary and server-streaming: stays valid, for any
 * thread, until the last reference or cuzk_grpc_call_drop_request. Client-streaming: until the
 * handler returns; false when the client has sent its last message. */
bool cuzk_grpc_call_request(const cuzk_grpc_call *call, const uint8_t **data, size_t *len);

/* Gives the request's memory back to the budget early. Any thread, once. */
void cuzk_grpc_call_drop_request(cuzk_grpc_call *call);

/* Absolute, monotonic (cuzk_now_ns); INT64_MAX when the client named none. Any thread. */
int64_t cuzk_grpc_call_deadline_ns(const cuzk_grpc_call *call);

/* A metadata value by its lower-case name, the first when there are several; NULL: not there.
 * Values of "-bin" names are still base64. Any thread. */
const char *cuzk_grpc_call_metadata(const cuzk_grpc_call *call, const char *name);

/* "127.0.0.1:4711", "unix:pid=12,uid=1000"; the client certificate's subject or NULL. Any thread.
 */
const char *cuzk_grpc_call_peer(const cuzk_grpc_call *call);
const char *cuzk_grpc_call_identity(const cuzk_grpc_call *call);

/* Yours. Loop thread, or as you order it. */
void cuzk_grpc_call_set_data(cuzk_grpc_call *call, void *data);
void *cuzk_grpc_call_data(const cuzk_grpc_call *call);

/* fn(ctx, call) once, on the loop's thread, when the call ends and not by an answer of yours: reset
 * by the client, deadline, connection gone, server freed. To be set in the handler. Whoever sets it
 * may rely on: either fn is called or an end of yours was accepted, never both. */
void cuzk_grpc_call_on_cancel(cuzk_grpc_call *call, void (*fn)(void *ctx, cuzk_grpc_call *call),
                              void *ctx);

/* Whether nothing can be answered any more. Any thread. */
bool cuzk_grpc_call_over(const cuzk_grpc_call *call);

/* A reference lets the call outlive its handler. Any thread. Memory of the call goes with the last
 * one; unref may be called after the server is gone. */
cuzk_grpc_call *cuzk_grpc_call_ref(cuzk_grpc_call *call);
void cuzk_grpc_call_unref(cuzk_grpc_call *call);

/* ---- a call: answers, from any thread ----
 * Bytes are copied. They return OK when the answer was taken (which is not yet: delivered), FALSE
 * when the call is over, NO_MEMORY (the call is then ended with RESOURCE_EXHAUSTED). Nobody needs
 * to look at the result. */

/* One more message of a stream. FALSE also when max_send_queue is reached: the call is then ended.
 * A polite producer looks at cuzk_grpc_call_unsent first. */
cuzk_status cuzk_grpc_send(cuzk_grpc_call *call, const void *data, size_t len);
size_t cuzk_grpc_call_unsent(const cuzk_grpc_call *call);

/* A message and the end with OK. */
cuzk_status cuzk_grpc_reply(cuzk_grpc_call *call, const void *data, size_t len);

/* The end. message (UTF-8, or NULL) is percent-encoded as gRPC wants it; details: a serialised
 * google.rpc.Status, sent as grpc-status-details-bin, or NULL. */
cuzk_status cuzk_grpc_end(cuzk_grpc_call *call, int code, const char *message, const void *details,
                          size_t details_len);

/* The end with a formatted message (at most 1 KiB). */
cuzk_status cuzk_grpc_fail(cuzk_grpc_call *call, int code, const char *fmt, ...) CUZK_PRINTF(3, 4);

/* The end with a google.rpc.RetryInfo that asks to come back after retry_ns; also sent as
 * grpc-retry-pushback-ms, which client libraries obey by themselves. */
cuzk_status cuzk_grpc_fail_retry(cuzk_grpc_call *call, int code, int64_t retry_ns, const char *fmt,
                                 ...) CUZK_PRINTF(4, 5);

#endif
