#include "rpc/wire.h"

#include "base/mem.h"

#include <string.h>

static void *take(void *data, size_t size) {
    void *p = NULL;
    (void)data;
    return cuzk_alloc(&p, size, 1) == CUZK_OK ? p : NULL;
}

static void give(void *data, void *p) {
    (void)data;
    cuzk_free(p);
}

ProtobufCAllocator cuzk__rpc_allocator = {take, give, NULL};

void *cuzk__rpc_unpack(const ProtobufCMessageDescriptor *type, const uint8_t *data, size_t n) {
    static const uint8_t none[1];
    return protobuf_c_message_unpack(type, &cuzk__rpc_allocator, n, n ? data : none);
}

void cuzk__rpc_unpacked_free(void *msg) {
    if (msg) protobuf_c_message_free_unpacked(msg, &cuzk__rpc_allocator);
}

void *cuzk__rpc_request(cuzk_grpc_call *call, const ProtobufCMessageDescriptor *type) {
    const uint8_t *data = NULL;
    size_t n = 0;
    void *msg = NULL;
    const bool there = cuzk_grpc_call_request(call, &data, &n);
    /* protobuf-c keeps every field it does not know, at many times its size. */
    if (n > CUZK__RPC_SMALL) {
        cuzk_grpc_fail(call, CUZK_GRPC_INVALID_ARGUMENT, "a %s of %zu bytes; at most %d are taken",
                       type->name, n, CUZK__RPC_SMALL);
        return NULL;
    }
    if (there) msg = cuzk__rpc_unpack(type, data, n);
    if (!msg)
        cuzk_grpc_fail(call, CUZK_GRPC_INVALID_ARGUMENT,
                       "the request is no %s: its %zu bytes do not decode. Generate the client "
                       "from the server's own .proto files (reflection lists them)",
                       type->name, n);
    return msg;
}

/* Serialised, in memory of cuzk_alloc; NULL when there is none. */
static uint8_t *packed(const ProtobufCMessage *m, size_t *n) {
    void *bytes = NULL;
    *n = protobuf_c_message_get_packed_size(m);
    if (cuzk_alloc(&bytes, *n, 1) != CUZK_OK) return NULL;
    protobuf_c_message_pack(m, bytes);
    return bytes;
}

cuzk_status cuzk__rpc_reply(cuzk_grpc_call *call, const void *msg) {
    size_t n;
    uint8_t *bytes = packed(msg, &n);
    const cuzk_status st = bytes ? cuzk_grpc_reply(call, bytes, n)
                                 : cuzk_grpc_fail(call, CUZK_GRPC_RESOURCE_EXHAUSTED,
                                                  "not enough memory for the answer");
    cuzk_free(bytes);
    return st;
}

cuzk_status cuzk__rpc_send(cuzk_grpc_call *call, const void *msg) {
    size_t n;
    uint8_t *bytes = packed(msg, &n);
    if (!bytes) return CUZK_STATUS_NO_MEMORY;
    const cuzk_status st = cuzk_grpc_send(call, bytes, n);
    cuzk_free(bytes);
    return st;
}

static bool varint(cuzk__rpc_fields *f, uint64_t *out) {
    uint64_t v = 0;
    for (unsigned shift = 0; shift < 70 && f->p < f->end; shift += 7) {
        const uint8_t b = *f->p++;
        if (shift < 63)
            v |= (uint64_t)(b & 0x7f) << shift;
        else if (shift == 63)
            v |= (uint64_t)(b & 1) << 63;
        if (!(b & 0x80)) {
            *out = v;
            return true;
        }
    }
    return false;
}

bool cuzk__rpc_next_field(cuzk__rpc_fields *f) {
    uint64_t tag, v;
    if (f->bad || f->p >= f->end) return false;
    f->begin = f->p;
    f->bad = true;
    if (!varint(f, &tag) || tag > UINT32_MAX || tag >> 3 == 0) return false;
    f->number = (uint32_t)(tag >> 3);
    f->wire = tag & 7;
    f->data = NULL;
    f->len = 0;
    const size_t left = (size_t)(f->end - f->p);
    switch (f->wire) {
    case 0:
        if (!varint(f, &v)) return false;
        break;
    case 1:
        if (left < 8) return false;
        f->p += 8;
        break;
    case 2:
        if (!varint(f, &v) || v > (uint64_t)(f->end - f->p)) return false;
        f->data = f->p;
        f->len = (size_t)v;
        f->p += v;
        break;
    case 5:
        if (left < 4) return false;
        f->p += 4;
        break;
    default:
        return false; /* groups: not of proto3 */
    }
    f->bad = false;
    return true;
}
