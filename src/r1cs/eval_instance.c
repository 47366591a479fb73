/* Rows of blocks in both scalar fields. Compiled twice: with assembly, and with
 * CUZK_FIELD_PORTABLE in C only. */
#include "field/fields.h"
#include "r1cs/eval.h"

#include <string.h>

#if defined(CUZK_FIELD_PORTABLE)
#define OPS(field) cuzk__eval_##field##_portable
#else
#define OPS(field) cuzk__eval_##field##_asm
#endif

#define EV bls
#define EV_FR cuzk_bls12_381_fr
#include "r1cs/eval.inl.h"

#define EV bn
#define EV_FR cuzk_bn254_fr
#include "r1cs/eval.inl.h"

/* 98 % of a Filecoin circuit's rows are over bits, with values from -4 to 4: small integers, looked
 * up in a table of field elements. */
#define DEFINE(field, fr)                                                                          \
    static void field##_put(cuzk_u256 *out, const cuzk__block *b, bool is_small,                   \
                            const cuzk_r1cs_term *t, uint32_t n, const cuzk_u256 *small) {         \
        if (is_small && 2 * n <= CUZK__SMALL_MAX)                                                  \
            *out = small[CUZK__SMALL_MAX + cuzk__lc_small(t, n, b->slots, b->bits)];               \
        else                                                                                       \
            field##_lc(out, b, t, n);                                                              \
    }                                                                                              \
    static void field##_rows(const cuzk__block *b, uint32_t from, uint32_t to,                     \
                             cuzk_u256 *const out[3], const cuzk_u256 *small) {                    \
        for (uint32_t k = from; k < to; k++) {                                                     \
            const cuzk_r1cs_row *w = &b->rows[k];                                                  \
            const bool s = (w->solve & CUZK_ROW_SMALL) != 0;                                       \
            const size_t at = k - from;                                                            \
            if (out[0]) field##_put(&out[0][at], b, s, b->terms + w->a, w->b - w->a, small);       \
            if (out[1]) field##_put(&out[1][at], b, s, b->terms + w->b, w->c - w->b, small);       \
            if (out[2]) field##_put(&out[2][at], b, s, b->terms + w->c, w[1].a - w->c, small);     \
        }                                                                                          \
    }                                                                                              \
    static void field##_add(cuzk_u256 *r, const cuzk_u256 *a, const cuzk_u256 *c) {                \
        fr##_add(r, a, c);                                                                         \
    }                                                                                              \
    static void field##_to_mont(cuzk_u256 *r, const cuzk_u256 *plain) {                            \
        fr##_to_mont(r, plain);                                                                    \
    }                                                                                              \
    static void field##_from_mont(cuzk_u256 *plain, const cuzk_u256 *a) {                          \
        fr##_from_mont(plain, a);                                                                  \
    }                                                                                              \
    extern const cuzk__eval_ops OPS(field);                                                        \
    const cuzk__eval_ops OPS(field) = {field##_rows, field##_add, field##_to_mont,                 \
                                       field##_from_mont};

DEFINE(bls, cuzk_bls12_381_fr)
DEFINE(bn, cuzk_bn254_fr)
