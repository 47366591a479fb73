/* The gRPC client's two halves: what nghttp2 calls back (grpc_client_session.c), and connecting and
 * calling (grpc_client.c). */
#ifndef CUZK_NET_GRPC_CLIENT_INTERNAL_H
#define CUZK_NET_GRPC_CLIENT_INTERNAL_H

#include "net/grpc_client.h"
#include "net/grpc_frame.h"
#include "net/grpc_text.h"
#include "net/tls.h"

#include <nghttp2/nghttp2.h>

struct cuzk_grpc_client {
    cuzk__io io;
    cuzk__tls *tls;
    nghttp2_session *session;
    char authority[CUZK_NET_ADDRESS + 16];
    char *authorization; /* "Bearer …" or NULL */
    uint64_t max_message;
    const volatile sig_atomic_t *stop;
    uint8_t *scratch;
    const uint8_t *unsent; /* the session's, not written yet */
    size_t unsent_len;
    char goaway[128];

    /* the call at hand */
    int32_t stream_id;
    bool closed;
    uint32_t reset; /* HTTP/2's reason when closed */
    uint8_t head[5];
    const uint8_t *request;
    size_t request_len, sent; /* sent: of head and request */
    cuzk__grpc_frames frames;
    cuzk_buf *reply;
    size_t replies;
    bool (*fn)(void *ctx, const uint8_t *msg, size_t len);
    void *fn_ctx;
    int http_status, code; /* code -1: none came */
    int own_code;          /* not 0: we ended it so */
    cuzk_grpc_result *result;
};

/* A session on a connection that is made. */
cuzk_status cuzk__client_open_session(cuzk_grpc_client *c, cuzk_err *err) CUZK_MUST_CHECK;
/* nghttp2 asks for bytes of the request. */
ssize_t cuzk__client_read_request(nghttp2_session *session, int32_t stream_id, uint8_t *buf,
                                  size_t length, uint32_t *flags, nghttp2_data_source *source,
                                  void *user);
/* We end the call, for a reason of ours. */
void cuzk__client_give_up(cuzk_grpc_client *c, int code, const char *why);
/* Forgets a message that is half read. */
void cuzk__client_free_body(cuzk_grpc_client *c);

#endif
