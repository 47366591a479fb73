#include "base/bytes.h"
#include "base/hash.h"
#include "base/mem.h"
#include "filecoin/sector_internal.h"

#include <stdarg.h>
#include <stdio.h>

enum { TEXT_MAX = 96 };

static cuzk_status hash_text(uint8_t out[32], const cuzk_sector_spec *s, const char *fmt,
                             va_list args) {
    char text[TEXT_MAX];
    cuzk_hash *h;
    text[0] = ' ';
    const int n = vsnprintf(text + 1, sizeof text - 1, fmt, args);
    if (n < 0 || (size_t)n >= sizeof text - 1) return CUZK_STATUS_BUG;
    CUZK_TRY(cuzk_hash_new(&h, CUZK_HASH_SHA256));
    cuzk_hash_update(h, s->seed, s->seed_len);
    cuzk_hash_update(h, text, (size_t)n + 1);
    return cuzk_hash_final(h, out);
}

cuzk_status cuzk__derive(uint8_t out[32], const cuzk_sector_spec *s, const char *fmt, ...) {
    va_list args;
    va_start(args, fmt);
    const cuzk_status st = hash_text(out, s, fmt, args);
    va_end(args);
    return st;
}

cuzk_status cuzk__derive_31(uint8_t out[32], const cuzk_sector_spec *s, const char *fmt, ...) {
    va_list args;
    va_start(args, fmt);
    const cuzk_status st = hash_text(out, s, fmt, args);
    va_end(args);
    out[31] = 0;
    return st;
}

/* n bytes of the derived piece. */
static cuzk_status derived_piece(uint8_t *out, size_t n, const cuzk_sector_spec *s, uint64_t number,
                                 const char *what) {
    char text[TEXT_MAX];
    uint8_t block[32];
    const int len = snprintf(text, sizeof text, " %s %llu", what, (unsigned long long)number);
    if (len < 0 || (size_t)len >= sizeof text) return CUZK_STATUS_BUG;
    for (uint64_t i = 0; 32 * i < n; i++) {
        cuzk_hash *h;
        CUZK_TRY(cuzk_hash_new(&h, CUZK_HASH_SHA256));
        cuzk_hash_update(h, s->seed, s->seed_len);
        cuzk_hash_update(h, text, (size_t)len);
        cuzk_hash_update(h, &i, sizeof i);
        CUZK_TRY(cuzk_hash_final(h, block));
        const size_t left = n - 32 * (size_t)i;
        memcpy(out + 32 * i, block, left < 32 ? left : 32);
    }
    return CUZK_OK;
}

/* 127 bytes become four elements of 254 bits; in has one byte more, which is 0. */
static void pad_group(uint8_t out[128], const uint8_t in[128]) {
    for (uint32_t e = 0; e < 4; e++) {
        const uint32_t byte = 254 * e / 8, shift = 254 * e % 8;
        for (uint32_t k = 0; k < 32; k++) {
            const uint32_t high = byte + k + 1 < 128 ? in[byte + k + 1] : 0;
            out[32 * e + k] = (uint8_t)((in[byte + k] | high << 8) >> shift);
        }
        out[32 * e + 31] &= 0x3f;
    }
}

cuzk_status cuzk__data_nodes(uint8_t **out, const cuzk_sector_spec *s, uint32_t log2_nodes,
                             uint64_t number, const char *what, bool given) {
    const size_t groups = ((size_t)32 << log2_nodes) / 128, n = 127 * groups;
    cuzk_status st;
    uint8_t *piece = NULL, *nodes = NULL;
    *out = NULL;
    CUZK_TRY(cuzk_alloc((void **)&piece, n, 1));
    CUZK_TRY_GOTO(cuzk_alloc((void **)&nodes, groups, 128), out);
    if (given && s->data) {
        memcpy(piece, s->data, s->data_len < n ? s->data_len : n);
    } else {
        CUZK_TRY_GOTO(derived_piece(piece, n, s, number, what), out);
    }
    for (size_t i = 0; i < groups; i++) {
        uint8_t group[128] = {0};
        memcpy(group, piece + 127 * i, 127);
        pad_group(nodes + 128 * i, group);
    }
    *out = nodes;
    nodes = NULL;
out:
    cuzk_free(piece);
    cuzk_free(nodes);
    return st;
}
