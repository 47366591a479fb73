/* Evaluating rows, and what eval.inl.h and its users share: bits and small rows. */
#ifndef CUZK_R1CS_EVAL_H
#define CUZK_R1CS_EVAL_H

#include "base/thread.h"
#include "r1cs/r1cs.h"

/* A·w, B·w and C·w of rows [row0, row1), Montgomery form, from the values at their slots (bits: one
 * word longer than needed). Any of a, b, c may be NULL; each takes row1 - row0 elements. pool may
 * be NULL. */
cuzk_status cuzk_r1cs_eval(const cuzk_r1cs *r, const uint64_t *bits, const cuzk_u256 *full,
                           uint32_t row0, uint32_t row1, cuzk_u256 *a, cuzk_u256 *b, cuzk_u256 *c,
                           cuzk_pool *pool) CUZK_MUST_CHECK;

static inline unsigned cuzk__bit_get(const uint64_t *bits, uint32_t at) {
    return (unsigned)(bits[at / 64] >> (at % 64)) & 1u;
}

/* n <= 64 bits from bit `at`, which may cross a word. The array has one word more than it needs. */
static inline uint64_t cuzk__bits_get(const uint64_t *bits, uint32_t at, uint32_t n) {
    const uint32_t k = at % 64;
    uint64_t v = bits[at / 64] >> k;
    if (k + n > 64) v |= bits[at / 64 + 1] << (64 - k);
    return n < 64 ? v & (((uint64_t)1 << n) - 1) : v;
}

/* A linear combination of a small row (CUZK_ROW_SMALL). */
static inline int cuzk__lc_small(const cuzk_r1cs_term *t, uint32_t n, const uint32_t *slots,
                                 const uint64_t *bits) {
    static const int8_t coef[4] = {1, -1, 2, -2};
    int v = 0;
    for (uint32_t i = 0; i < n; i++) {
        const int one = t[i].col == 0 || cuzk__bit_get(bits, slots[t[i].col] & ~CUZK_SLOT_BIT);
        v += one * coef[t[i].coef];
    }
    return v;
}

#endif
