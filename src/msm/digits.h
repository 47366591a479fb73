/* Signed digits of a scalar, without carries between digits.
 *
 * A scalar k < r is first made small: from (r + 1) / 2 up it is replaced by r - k with the
 * opposite sign, which saves a bit and makes -1, -2, … cheap. Then, for W windows of c bits, the
 * constant sum over x < W - 1 of 2^(c - 1 + c x) is added once; digit x is the c-bit field at
 * c x minus 2^(c - 1), and the top one is its field as it stands. So every digit is a shift, a
 * mask and a subtraction, in any order, and lies in [-2^(c-1), 2^(c-1)].
 */
#ifndef CUZK_MSM_DIGITS_H
#define CUZK_MSM_DIGITS_H

#include "field/limb.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

enum { CUZK__MSM_WINDOW_MIN = 2, CUZK__MSM_WINDOW_MAX = 22 };

typedef struct cuzk__digits {
    uint64_t order[4];
    uint64_t half[4]; /* (r + 1) / 2 */
    uint64_t offset[4];
    unsigned c, windows;
    uint32_t top; /* the largest digit of the last window */
} cuzk__digits;

/* A scalar ready for cuzk__digit: |k| + offset, and a zero limb for the last field to run into. */
typedef struct cuzk__recoded {
    uint64_t l[5];
} cuzk__recoded;

/* For scalars whose |k| has at most `bits` bits. c in [WINDOW_MIN, WINDOW_MAX]. */
void cuzk__digits_init(cuzk__digits *d, const cuzk_u256 *order, unsigned bits, unsigned c);

/* The windows that init would set, by itself for cost models. */
unsigned cuzk__digits_windows(const cuzk_u256 *order, unsigned bits, unsigned c);

/* out = |k| for the 32 bytes at `scalar` (any alignment); true when the sign is negative. */
static inline bool cuzk__scalar_abs(uint64_t out[4], const cuzk__digits *d, const void *scalar) {
    uint64_t k[4], m[4], t, borrow = 0;
    memcpy(k, scalar, sizeof k);
    for (int i = 0; i < 4; i++)
        borrow = cuzk_subb(&t, k[i], d->half[i], borrow);
    const uint64_t neg = borrow - 1; /* all ones when k >= half */
    borrow = 0;
    for (int i = 0; i < 4; i++)
        borrow = cuzk_subb(&m[i], d->order[i], k[i], borrow);
    for (int i = 0; i < 4; i++)
        out[i] = (m[i] & neg) | (k[i] & ~neg);
    return neg != 0;
}

/* Recodes the 32 bytes at `scalar` (any alignment); true when the sign is negative. */
static inline bool cuzk__recode(cuzk__recoded *out, const cuzk__digits *d, const void *scalar) {
    bool neg = cuzk__scalar_abs(out->l, d, scalar);
    uint64_t carry = 0;
    for (int i = 0; i < 4; i++)
        carry = cuzk_addc(&out->l[i], out->l[i], d->offset[i], carry);
    out->l[4] = 0;
    return neg;
}

/* Digit x of a recoded scalar of positive sign. */
static inline int32_t cuzk__digit(const cuzk__digits *d, const cuzk__recoded *k, unsigned x) {
    unsigned bit = d->c * x, q = bit / 64, s = bit % 64;
    uint64_t v = (uint64_t)(((cuzk_u128)k->l[q + 1] << 64 | k->l[q]) >> s);
    v &= ((uint64_t)1 << d->c) - 1;
    return (int32_t)v - (x + 1 < d->windows ? (int32_t)1 << (d->c - 1) : 0);
}

#endif
