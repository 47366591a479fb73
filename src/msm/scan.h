/* A first look at scalars and bases: what can be skipped, and how the work is spread. */
#ifndef CUZK_MSM_SCAN_H
#define CUZK_MSM_SCAN_H

#include "base/status.h"
#include "base/thread.h"
#include "msm/digits.h"

#include <stddef.h>
#include <stdint.h>

enum {
    CUZK__SCAN_BLOCKS = 256,
    CUZK__SCAN_STEP =
        512, /* points of a block at least: fewer would count little beside its counts */
    CUZK__SCAN_BITS = 257
};

/* For one block of consecutive points: how many have |k| of each bit length. */
typedef struct cuzk__scan_block {
    uint32_t count[CUZK__SCAN_BITS];
} cuzk__scan_block;

/* bits[i] is 0 when point i contributes nothing (scalar 0 or base infinity), else the bit length
 * of |k|, the smaller of k and r - k. Block j covers [j * step, (j + 1) * step), cut at n. */
typedef struct cuzk__scan {
    size_t n, step, blocks;
    uint8_t *bits;
    cuzk__scan_block block[CUZK__SCAN_BLOCKS];
    cuzk__scan_block all;
} cuzk__scan;

/* Sets n, step and blocks. */
void cuzk__scan_shape(cuzk__scan *s, size_t n);

/* Fills the rest; bits is the caller's, n bytes. bases are point_size apart, infinity is zeros.
 * BAD_INPUT when a scalar is not below the order. */
cuzk_status cuzk__scan_run(cuzk__scan *s, const cuzk__digits *d, const uint8_t *bases,
                           size_t point_size, const uint8_t *scalars, cuzk_pool *pool);

/* Overwrites what a run left, but for bits. */
void cuzk__scan_wipe(cuzk__scan *s);

/* True when the point_size bytes (a multiple of 8) at p are zero. */
static inline bool cuzk__all_zero(const uint8_t *p, size_t point_size) {
    uint64_t w;
    for (size_t i = 0; i < point_size; i += 8) {
        memcpy(&w, p + i, 8);
        if (w) return false; /* with the first word, nearly always */
    }
    return true;
}

#endif
