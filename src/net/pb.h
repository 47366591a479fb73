/* As much of protobuf's wire format as health, reflection and status details need. */
#ifndef CUZK_NET_PB_H
#define CUZK_NET_PB_H

#include "base/buf.h"
#include "base/bytes.h"

typedef struct cuzk__pb_field {
    uint32_t tag;
    unsigned wire; /* 0 varint, 1 and 5 fixed, 2 bytes */
    uint64_t value;
    const uint8_t *data; /* of wire 2 */
    size_t len;
} cuzk__pb_field;

static inline bool cuzk__pb_varint(cuzk_cursor *c, uint64_t *out) {
    uint64_t v = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
        const uint8_t *b;
        if (!cuzk_rd_bytes(c, 1, &b)) return false;
        v |= (uint64_t)(*b & 0x7f) << shift;
        if (*b < 0x80) {
            *out = v;
            return true;
        }
    }
    return false;
}

/* The next field; false at the end and when the bytes are wrong, which cuzk_cursor_left tells
 * apart. Groups are wrong. */
static inline bool cuzk__pb_next(cuzk_cursor *c, cuzk__pb_field *f) {
    const size_t start = c->off;
    uint64_t key;
    *f = (cuzk__pb_field){0};
    if (!cuzk_cursor_left(c)) return false;
    if (!cuzk__pb_varint(c, &key) || key >> 3 == 0 || key >> 32) goto wrong;
    f->tag = (uint32_t)(key >> 3);
    f->wire = (unsigned)(key & 7);
    switch (f->wire) {
    case 0:
        if (!cuzk__pb_varint(c, &f->value)) goto wrong;
        return true;
    case 1:
        if (!cuzk_rd_u64le(c, &f->value)) goto wrong;
        return true;
    case 2:
        if (!cuzk__pb_varint(c, &f->value) || f->value > cuzk_cursor_left(c)) goto wrong;
        f->len = (size_t)f->value;
        if (!cuzk_rd_bytes(c, f->len, &f->data)) goto wrong;
        return true;
    case 5: {
        uint32_t v;
        if (!cuzk_rd_u32le(c, &v)) goto wrong;
        f->value = v;
        return true;
    }
    default:
        goto wrong;
    }
wrong:
    c->off = start;
    return false;
}

static inline void cuzk__pb_put_varint(cuzk_buf *b, uint64_t v) {
    uint8_t bytes[10];
    size_t n = 0;
    for (; v >= 0x80; v >>= 7)
        bytes[n++] = (uint8_t)(v | 0x80);
    bytes[n++] = (uint8_t)v;
    cuzk_buf_append(b, bytes, n);
}

static inline void cuzk__pb_put_int(cuzk_buf *b, uint32_t tag, uint64_t v) {
    cuzk__pb_put_varint(b, (uint64_t)tag << 3);
    cuzk__pb_put_varint(b, v);
}

static inline void cuzk__pb_put_bytes(cuzk_buf *b, uint32_t tag, const void *p, size_t n) {
    cuzk__pb_put_varint(b, (uint64_t)tag << 3 | 2);
    cuzk__pb_put_varint(b, n);
    cuzk_buf_append(b, p, n);
}

static inline void cuzk__pb_put_str(cuzk_buf *b, uint32_t tag, const char *s) {
    cuzk__pb_put_bytes(b, tag, s, strlen(s));
}

#endif
