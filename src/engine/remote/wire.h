/* What a daemon and its worker processes say to each other.
 *
 * A socketpair of SOCK_SEQPACKET, one message a packet, all numbers little-endian:
 *
 *   u32 "cuzW", u16 version, u16 type, u64 id, then by type:
 *   request   OPEN       nothing
 *             KEY_LOAD   key
 *             KEY_FREE   key
 *             STAGE      u32 slot, u64 bytes of the witness, key; with the packet travels its memfd
 *             COMPUTE    u32 slot, u32 result
 *             FINISH     u32 result
 *             PLAN       key
 *   reply     the same type and id, with bit 15 of the type set: u32 status, u16 length, a text;
 *             and when the status is OK, of
 *             OPEN       u64 total and free memory, u32 pid, text name, text uuid
 *             COMPUTE    five u64 of bytes moved, i64 nanoseconds (provider.h's order)
 *             FINISH     u16 length, the result
 *             PLAN       three u64: bytes of a key, of a slot, pinned bytes of a slot
 *
 * A key, a text: u16 length, then so many bytes, none of them zero. Several requests may be under
 * way; replies come in any order. A packet that is not exactly this is the end of the connection.
 */
#ifndef CUZK_ENGINE_REMOTE_WIRE_H
#define CUZK_ENGINE_REMOTE_WIRE_H

#include "engine/shell/provider.h"

enum { CUZK_WIRE_VERSION = 1, CUZK_WIRE_MAX = 4096 };

typedef enum cuzk_wire_type {
    CUZK_WIRE_OPEN = 1,
    CUZK_WIRE_KEY_LOAD,
    CUZK_WIRE_KEY_FREE,
    CUZK_WIRE_STAGE,
    CUZK_WIRE_COMPUTE,
    CUZK_WIRE_FINISH,
    CUZK_WIRE_PLAN,
    CUZK_WIRE_TYPES
} cuzk_wire_type;

/* "open", "key_load", … */
const char *cuzk_wire_type_name(cuzk_wire_type t);

/* What a key takes on a device, in bytes. */
typedef struct cuzk_device_plan {
    uint64_t key, slot;
    uint64_t slot_pinned, key_pinned; /* of the host */
} cuzk_device_plan;

typedef struct cuzk_wire_request {
    cuzk_wire_type type;
    uint64_t id;
    uint32_t slot, result;
    uint64_t bytes;
    char key[CUZK_ENGINE_KEY_NAME];
} cuzk_wire_request;

typedef struct cuzk_wire_reply {
    cuzk_wire_type type;
    uint64_t id;
    cuzk_err err; /* its status is the reply's */
    cuzk_engine_device_info info;
    cuzk_engine_moved moved;
    cuzk_device_plan plan;
    size_t result_len;
    uint8_t result[CUZK_ENGINE_RESULT_MAX];
} cuzk_wire_reply;

/* Writes a packet; returns its bytes. What does not belong to the type is not looked at. */
size_t cuzk_wire_put_request(uint8_t out[CUZK_WIRE_MAX], const cuzk_wire_request *r);
size_t cuzk_wire_put_reply(uint8_t out[CUZK_WIRE_MAX], const cuzk_wire_reply *r);
/* false when the packet is not one. What does not belong to the type is zero. */
bool cuzk_wire_get_request(cuzk_wire_request *out, const void *packet, size_t len);
bool cuzk_wire_get_reply(cuzk_wire_reply *out, const void *packet, size_t len);

/* One packet through a socket. send: fd_to_pass -1: none; flags of sendmsg. receive: *fd takes a
 * descriptor that came along, or -1; returns its bytes, 0 at the end or after an error, also of a
 * packet that was cut. */
bool cuzk__wire_send(int socket, const uint8_t *packet, size_t len, int fd_to_pass, int flags);
size_t cuzk__wire_receive(int socket, uint8_t packet[CUZK_WIRE_MAX], int *fd);

#endif
