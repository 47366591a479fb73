/* A blocking gRPC client: one connection, one call at a time. For command line programs and tests.
 * Not thread-safe. */
#ifndef CUZK_NET_GRPC_CLIENT_H
#define CUZK_NET_GRPC_CLIENT_H

#include "base/buf.h"
#include "net/grpc.h"

#include <signal.h>

typedef struct cuzk_grpc_client cuzk_grpc_client;

/* Zero and NULL: not wanted, or the default. Strings are used by cuzk_grpc_client_new alone. */
typedef struct cuzk_grpc_client_options {
    bool tls;              /* also when only ca_file or cert_file is given */
    const char *ca_file;   /* whom to trust; NULL: the system's authorities */
    const char *cert_file; /* the client's certificate and key */
    const char *key_file;
    const char *server_name; /* the name that the certificate must have; NULL: the address's host */
    const char *token;       /* sent as "authorization: Bearer …" */
    uint64_t max_message;    /* of replies; 256 MiB */
    int64_t connect_ns;      /* 10 s */
    const volatile sig_atomic_t *stop; /* not 0: what runs is cancelled, as a signal handler says */
} cuzk_grpc_client_options;

/* How a call ended. */
typedef struct cuzk_grpc_result {
    int code; /* cuzk_grpc_code */
    char message[640];
    int64_t retry_ns; /* of a RetryInfo or grpc-retry-pushback-ms; -1: none */
} cuzk_grpc_result;

/* Connects (and shakes hands, with TLS). address as in net/net.h. IO: nobody there; the message
 * says what to do. options may be NULL. */
cuzk_status cuzk_grpc_client_new(cuzk_grpc_client **out, const char *address,
                                 const cuzk_grpc_client_options *options,
                                 cuzk_err *err) CUZK_MUST_CHECK;

/* A unary call. timeout_ns: 0 for none; else it is the call's deadline, sent to the server and kept
 * here too. reply (initialised; what was in it is dropped) has the message when result->code is OK.
 * OK: the call was made, result says how it ended, also DEADLINE_EXCEEDED and (stop) CANCELLED.
 * IO: the connection failed; result->code is UNAVAILABLE. After IO the client is of no more use. */
cuzk_status cuzk_grpc_client_call(cuzk_grpc_client *c, const char *path, const void *req,
                                  size_t len, int64_t timeout_ns, cuzk_buf *reply,
                                  cuzk_grpc_result *result, cuzk_err *err) CUZK_MUST_CHECK;

/* A server-streaming call: fn for every message; when it says false the call is cancelled and ends
 * with CANCELLED. The rest as above. */
cuzk_status cuzk_grpc_client_stream(cuzk_grpc_client *c, const char *path, const void *req,
                                    size_t len, int64_t timeout_ns,
                                    bool (*fn)(void *ctx, const uint8_t *msg, size_t len),
                                    void *ctx, cuzk_grpc_result *result,
                                    cuzk_err *err) CUZK_MUST_CHECK;

void cuzk_grpc_client_free(cuzk_grpc_client *c);

/* For tests: on a socket that is connected, and non-blocking; the client owns it. Free *out also
 * after a failure. */
cuzk_status cuzk__grpc_client_adopt(cuzk_grpc_client **out, int fd,
                                    uint64_t max_message) CUZK_MUST_CHECK;

#endif
