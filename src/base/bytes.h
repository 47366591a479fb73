/* Little- and big-endian loads and stores at any alignment, and a bounds-checked read cursor.
 * Everything that parses a file or a message goes through the cursor. */
#ifndef CUZK_BASE_BYTES_H
#define CUZK_BASE_BYTES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

static inline uint32_t cuzk_ld_u32le(const void *p) {
    uint32_t v;
    memcpy(&v, p, sizeof v);
    return v; /* the project supports little-endian hosts only; CMake checks */
}
static inline uint64_t cuzk_ld_u64le(const void *p) {
    uint64_t v;
    memcpy(&v, p, sizeof v);
    return v;
}
static inline uint32_t cuzk_ld_u32be(const void *p) {
    return __builtin_bswap32(cuzk_ld_u32le(p));
}
static inline uint64_t cuzk_ld_u64be(const void *p) {
    return __builtin_bswap64(cuzk_ld_u64le(p));
}
static inline void cuzk_st_u32le(void *p, uint32_t v) {
    memcpy(p, &v, sizeof v);
}
static inline void cuzk_st_u64le(void *p, uint64_t v) {
    memcpy(p, &v, sizeof v);
}
static inline void cuzk_st_u32be(void *p, uint32_t v) {
    cuzk_st_u32le(p, __builtin_bswap32(v));
}
static inline void cuzk_st_u64be(void *p, uint64_t v) {
    cuzk_st_u64le(p, __builtin_bswap64(v));
}

/* A window on read-only bytes. Reads past the end return false and leave the cursor where it
 * was; `off` is the offset of the next byte, for error messages. */
typedef struct cuzk_cursor {
    const uint8_t *p;
    size_t len;
    size_t off;
} cuzk_cursor;

static inline cuzk_cursor cuzk_cursor_init(const void *p, size_t len) {
    cuzk_cursor c = {(const uint8_t *)p, len, 0};
    return c;
}
static inline size_t cuzk_cursor_left(const cuzk_cursor *c) {
    return c->len - c->off;
}

/* *out points at the next n bytes inside the window. */
static inline bool cuzk_rd_bytes(cuzk_cursor *c, size_t n, const uint8_t **out) {
    if (n > c->len - c->off) return false;
    *out = c->p + c->off;
    c->off += n;
    return true;
}
static inline bool cuzk_rd_u32le(cuzk_cursor *c, uint32_t *out) {
    const uint8_t *b;
    if (!cuzk_rd_bytes(c, 4, &b)) return false;
    *out = cuzk_ld_u32le(b);
    return true;
}
static inline bool cuzk_rd_u64le(cuzk_cursor *c, uint64_t *out) {
    const uint8_t *b;
    if (!cuzk_rd_bytes(c, 8, &b)) return false;
    *out = cuzk_ld_u64le(b);
    return true;
}

#endif
