/* Between serialised protobuf messages and protobuf-c's structures. */
#ifndef CUZK_RPC_WIRE_H
#define CUZK_RPC_WIRE_H

#include "rpc/internal.h"

#include <protobuf-c/protobuf-c.h>

/* Memory of messages comes from base/mem.h. */
extern ProtobufCAllocator cuzk__rpc_allocator;

/* Bytes of a request, those of a job's proofs not counted; and how many proofs a job may have
 * (a partition of WindowPoSt has 2349 sectors). */
enum { CUZK__RPC_SMALL = 64 << 10, CUZK__RPC_MAX_PARTS = 4096 };

/* NULL when the bytes are none of that message. Free with cuzk__rpc_unpacked_free. */
void *cuzk__rpc_unpack(const ProtobufCMessageDescriptor *type, const uint8_t *data, size_t n);
void cuzk__rpc_unpacked_free(void *msg);

/* The request of a call; when it is malformed the call ends with INVALID_ARGUMENT and NULL comes
 * back. */
void *cuzk__rpc_request(cuzk_grpc_call *call, const ProtobufCMessageDescriptor *type);

/* Serialises and sends: the answer of a unary call; one of several. msg points at a message.
 * Results as of cuzk_grpc_reply and cuzk_grpc_send. */
cuzk_status cuzk__rpc_reply(cuzk_grpc_call *call, const void *msg);
cuzk_status cuzk__rpc_send(cuzk_grpc_call *call, const void *msg);

/* Walks the fields of a message. Returns false at the end or when it is malformed (*bad). */
typedef struct cuzk__rpc_fields {
    const uint8_t *p, *end;
    bool bad;
    /* of the field: */
    uint32_t number;
    unsigned wire;        /* 0 varint, 1 eight bytes, 2 bytes, 5 four bytes */
    const uint8_t *begin; /* with its tag; ends at p */
    const uint8_t *data;  /* wire 2 */
    size_t len;
} cuzk__rpc_fields;
bool cuzk__rpc_next_field(cuzk__rpc_fields *f);

#endif
