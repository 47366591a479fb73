/* Evaluating rows: the public call, and what its one inner routine (eval.inl.h) and that routine's
 * users share. */
#ifndef CUZK_R1CS_EVAL_H
#define CUZK_R1CS_EVAL_H

#include "base/cpu.h"
#include "base/thread.h"
#include "r1cs/r1cs.h"

/* A·w, B·w and C·w of rows [row0, row1), Montgomery form, from the values at their slots (bits: one
 * word longer than needed). Any of a, b, c may be NULL; each takes row1 - row0 elements. pool may
 * be NULL. */
cuzk_status cuzk_r1cs_eval(const cuzk_r1cs *r, const uint64_t *bits, const cuzk_u256 *full,
                           uint32_t row0, uint32_t row1, cuzk_u256 *a, cuzk_u256 *b, cuzk_u256 *c,
                           cuzk_pool *pool) CUZK_MUST_CHECK;
/* The same with the arithmetic that impl names. */
cuzk_status cuzk_r1cs_eval_with(const cuzk_r1cs *r, const uint64_t *bits, const cuzk_u256 *full,
                                uint32_t row0, uint32_t row1, cuzk_u256 *a, cuzk_u256 *b,
                                cuzk_u256 *c, cuzk_cpu_impl impl, cuzk_pool *pool) CUZK_MUST_CHECK;

/* ---- internal ---- */

/* Consecutive rows and what their terms mean: a shape at the place of an instance, or a range of a
 * flat system's rows (flat.h). */
typedef struct cuzk__block {
    const cuzk_r1cs_row *rows; /* one more than there are, which closes C */
    const cuzk_r1cs_term *terms;
    const cuzk_u256 *coefs; /* dictionary, Montgomery form */
    const uint32_t *slots;  /* of the columns; NULL: a flat system, the column is the wire and its
                               value is a full one */
    const uint64_t *bits;
    const cuzk_u256 *full; /* Montgomery form */
    /* Of flat systems instead of full: plain values, any alignment, and the dictionary times R once
     * more, whose product with a plain value is a Montgomery form. */
    const uint8_t *plain;
    const cuzk_u256 *coefs_r2;
} cuzk__block;

enum { CUZK__SMALL_MAX = 64 }; /* a small row has few terms: |value| <= 2 * terms */

/* One instance per scalar field and implementation. */
typedef struct cuzk__eval_ops {
    /* A·w, B·w, C·w of rows [from, to) to out[m][0 ..]; out[m] may be NULL. small: the field's
     * elements v at CUZK__SMALL_MAX + v; not needed when no row is small. */
    void (*rows)(const cuzk__block *b, uint32_t from, uint32_t to, cuzk_u256 *const out[3],
                 const cuzk_u256 *small);
    void (*add)(cuzk_u256 *r, const cuzk_u256 *a, const cuzk_u256 *b);
    void (*to_mont)(cuzk_u256 *r, const cuzk_u256 *plain);
    void (*from_mont)(cuzk_u256 *plain, const cuzk_u256 *a);
} cuzk__eval_ops;

const cuzk__eval_ops *cuzk__eval_ops_of(const cuzk_fr_ops *fr, cuzk_cpu_impl impl);

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
