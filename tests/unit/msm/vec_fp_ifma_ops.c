#include "vec_fp_ifma_ops.h"

#include "field/fields.h"
#include "field/ifma.h"

#include <string.h>

#define FV bn
#define FV_FE cuzk_bn254_fp
#define FV_LIMBS 5
#define FV_BITS CUZK_BN254_FP_BITS
#define FV_MODULUS CUZK_BN254_FP_MODULUS
#define FV_CONSTS CUZK_BN254_FP_IFMA
#include "field/vec_fp_ifma.inl.h"

#define FV bls
#define FV_FE cuzk_bls12_381_fp
#define FV_LIMBS 8
#define FV_BITS CUZK_BLS12_381_FP_BITS
#define FV_MODULUS CUZK_BLS12_381_FP_MODULUS
#define FV_CONSTS CUZK_BLS12_381_FP_IFMA
#include "field/vec_fp_ifma.inl.h"

#define FV2 bn2
#define FV2_BASE bn
#define FV2_FE cuzk_bn254_fp2
#include "field/vec_fp2_ifma.inl.h"

#define FV2 bls2
#define FV2_BASE bls
#define FV2_FE cuzk_bls12_381_fp2
#include "field/vec_fp2_ifma.inl.h"

#define GLUE(v, base, fe, deg)                                                                     \
    static v##_t v##_in(const fp_batch *a) {                                                       \
        v##_t r;                                                                                   \
        for (int i = 0; i < deg; i++)                                                              \
            memcpy((char *)&r + (size_t)i * sizeof(base##_t), a->l[i], sizeof(base##_t));          \
        return r;                                                                                  \
    }                                                                                              \
    static void v##_out(fp_batch *r, const v##_t *a) {                                             \
        for (int i = 0; i < deg; i++)                                                              \
            memcpy(r->l[i], (const char *)a + (size_t)i * sizeof(base##_t), sizeof(base##_t));     \
    }                                                                                              \
    static void v##_op_mul(fp_batch *r, const fp_batch *a, const fp_batch *b) {                    \
        v##_t x = v##_in(a), y = v##_in(b);                                                        \
        v##_mul(&x, &x, &y);                                                                       \
        v##_out(r, &x);                                                                            \
    }                                                                                              \
    static void v##_op_sub(fp_batch *r, const fp_batch *a, const fp_batch *b) {                    \
        v##_t x = v##_in(a), y = v##_in(b);                                                        \
        v##_sub(&x, &x, &y, 3);                                                                    \
        v##_out(r, &x);                                                                            \
    }                                                                                              \
    static void v##_op_sub_signed(fp_batch *r, const fp_batch *a, const fp_batch *b,               \
                                  unsigned minus) {                                                \
        v##_t x = v##_in(a), y = v##_in(b);                                                        \
        v##_sub_signed(&x, &x, &y, (__mmask8)minus);                                               \
        v##_out(r, &x);                                                                            \
    }                                                                                              \
    static void v##_op_sub_shift(fp_batch *r, const fp_batch *a, const fp_batch *b) {              \
        v##_t x = v##_in(a), y = v##_in(b);                                                        \
        v##_sub_shift(&x, &x, &y);                                                                 \
        v##_out(r, &x);                                                                            \
    }                                                                                              \
    static void v##_op_sqr_sub2(fp_batch *r, const fp_batch *a, const fp_batch *b,                 \
                                const fp_batch *c) {                                               \
        v##_t x = v##_in(a), y = v##_in(b), z = v##_in(c);                                         \
        v##_sqr_sub2(&x, &x, &y, &z);                                                              \
        v##_out(r, &x);                                                                            \
    }                                                                                              \
    static void v##_op_mul_sub(fp_batch *r, const fp_batch *a, const fp_batch *b,                  \
                               const fp_batch *c) {                                                \
        v##_t x = v##_in(a), y = v##_in(b), z = v##_in(c);                                         \
        v##_mul_sub(&x, &x, &y, &z);                                                               \
        v##_out(r, &x);                                                                            \
    }                                                                                              \
    static unsigned v##_op_zero_mask(const fp_batch *a) {                                          \
        v##_t x = v##_in(a);                                                                       \
        return v##_zero_mask(&x);                                                                  \
    }                                                                                              \
    static void v##_op_load_file(fp_batch *x, fp_batch *y, const uint8_t *const p[8]) {            \
        v##_t a, b;                                                                                \
        v##_load_point_file(&a, &b, p);                                                            \
        v##_out(x, &a);                                                                            \
        v##_out(y, &b);                                                                            \
    }                                                                                              \
    static void v##_op_load(fp_batch *x, fp_batch *y, const uint8_t *const p[8]) {                 \
        v##_t a, b;                                                                                \
        v##_load_point(&a, &b, p);                                                                 \
        v##_out(x, &a);                                                                            \
        v##_out(y, &b);                                                                            \
    }                                                                                              \
    static void v##_op_store(uint8_t *const p[8], const fp_batch *x, const fp_batch *y) {          \
        v##_t a = v##_in(x), b = v##_in(y);                                                        \
        v##_store_point(p, &a, &b);                                                                \
    }                                                                                              \
    static void v##_op_store_file(uint8_t *const p[8], unsigned n, const fp_batch *x,              \
                                  const fp_batch *y) {                                             \
        v##_t a = v##_in(x), b = v##_in(y);                                                        \
        v##_store_point_file(p, n, &a, &b);                                                        \
    }                                                                                              \
    static unsigned v##_op_all_zero(const fp_batch *a) {                                           \
        v##_t x = v##_in(a);                                                                       \
        return v##_all_zero(&x);                                                                   \
    }                                                                                              \
    static void v##_op_copy(uint8_t *to, const uint8_t *from, unsigned minus) {                    \
        v##_copy_point(to, from, minus);                                                           \
    }                                                                                              \
    static void v##_op_to_mont(uint64_t *r, const uint8_t *stored) {                               \
        v##_st_t s;                                                                                \
        fe##_t a;                                                                                  \
        memcpy(&s, stored, sizeof s);                                                              \
        v##_to_mont(&a, &s);                                                                       \
        memcpy(r, &a, sizeof a);                                                                   \
    }                                                                                              \
    static void v##_op_set_inverse(fp_batch *r, const uint64_t *mont) {                            \
        fe##_t a;                                                                                  \
        v##_t x;                                                                                   \
        memcpy(&a, mont, sizeof a);                                                                \
        v##_set_inverse(&x, &a);                                                                   \
        v##_out(r, &x);                                                                            \
    }

#define TABLE(v, base, fe, deg, text, modulus, modulus_bits)                                       \
    GLUE(v, base, fe, deg)                                                                         \
    const fp_ops fp_ops_##text = {.name = #text,                                                   \
                                  .degree = deg,                                                   \
                                  .limbs = base##_TOP + 1,                                         \
                                  .words = base##_WORDS,                                           \
                                  .shift = base##_SHIFT,                                           \
                                  .bits = modulus_bits,                                            \
                                  .stored = sizeof(v##_st_t),                                      \
                                  .p = modulus,                                                    \
                                  .mul = v##_op_mul,                                               \
                                  .sub = v##_op_sub,                                               \
                                  .sub_signed = v##_op_sub_signed,                                 \
                                  .sub_shift = v##_op_sub_shift,                                   \
                                  .sqr_sub2 = v##_op_sqr_sub2,                                     \
                                  .mul_sub = v##_op_mul_sub,                                       \
                                  .zero_mask = v##_op_zero_mask,                                   \
                                  .load_file = v##_op_load_file,                                   \
                                  .load = v##_op_load,                                             \
                                  .store = v##_op_store,                                           \
                                  .store_file = v##_op_store_file,                                 \
                                  .all_zero = v##_op_all_zero,                                     \
                                  .copy = v##_op_copy,                                             \
                                  .to_mont = v##_op_to_mont,                                       \
                                  .set_inverse = v##_op_set_inverse}

TABLE(bn, bn, cuzk_bn254_fp, 1, bn254, CUZK_BN254_FP_MODULUS, CUZK_BN254_FP_BITS);
TABLE(bls, bls, cuzk_bls12_381_fp, 1, bls12_381, CUZK_BLS12_381_FP_MODULUS, CUZK_BLS12_381_FP_BITS);
TABLE(bn2, bn, cuzk_bn254_fp2, 2, bn254_2, CUZK_BN254_FP_MODULUS, CUZK_BN254_FP_BITS);
TABLE(bls2, bls, cuzk_bls12_381_fp2, 2, bls12_381_2, CUZK_BLS12_381_FP_MODULUS,
      CUZK_BLS12_381_FP_BITS);
