/* What the files of the client share. */
#ifndef CUZK_RPC_CLIENT_INTERNAL_H
#define CUZK_RPC_CLIENT_INTERNAL_H

#include "rpc/client.h"
#include "rpc/wire.h"

#include <cuzk/v1/engine.pb-c.h>
#include <cuzk/v1/proving.pb-c.h>

#define CUZK__PROVING "/cuzk.v1.ProvingEngine/"
#define CUZK__ENGINE "/cuzk.v1.Engine/"

struct cuzk_rpc_client {
    cuzk_grpc_client *grpc;
    int64_t retry_ns;
    bool lost;
};

/* A unary call. req points at a message; *reply, of the type, is freed with
 * cuzk__rpc_unpacked_free. timeout_ns 0: none. */
cuzk_status cuzk__client_call(cuzk_rpc_client *c, const char *path, const void *req,
                              const ProtobufCMessageDescriptor *type, int64_t timeout_ns,
                              void *reply, cuzk_err *err) CUZK_MUST_CHECK;
/* A call whose answer says nothing. */
cuzk_status cuzk__client_tell(cuzk_rpc_client *c, const char *path, const void *req,
                              const ProtobufCMessageDescriptor *type, int64_t timeout_ns,
                              cuzk_err *err) CUZK_MUST_CHECK;
/* A stream of messages of a type; fn false ends it with OK. */
cuzk_status cuzk__client_stream(cuzk_rpc_client *c, const char *path, const void *req,
                                const ProtobufCMessageDescriptor *type, int64_t timeout_ns,
                                bool (*fn)(void *ctx, const void *msg), void *ctx,
                                cuzk_err *err) CUZK_MUST_CHECK;
/* A message's text into an array. */
#define CUZK__TAKE_TEXT(to, from) cuzk__client_text(to, sizeof to, from)
void cuzk__client_text(char *to, size_t room, const char *from);

void cuzk__client_job(cuzk_engine_job *out, const Cuzk__V1__Job *m);

#endif
