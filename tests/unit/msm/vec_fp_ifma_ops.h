/* field/vec_fp_ifma.inl.h and vec_fp2_ifma.inl.h behind plain functions, so that a program that
 * asks the processor first can be compiled without AVX-512. */
#ifndef CUZK_TESTS_MSM_VEC_FP_IFMA_OPS_H
#define CUZK_TESTS_MSM_VEC_FP_IFMA_OPS_H

#include <stddef.h>
#include <stdint.h>

/* A batch: [component][limb][lane]. */
typedef struct fp_batch {
    _Alignas(64) uint64_t l[2][8][8];
} fp_batch;

typedef struct fp_ops {
    const char *name;
    unsigned degree, limbs, words, shift, bits;
    size_t stored; /* bytes of a stored coordinate */
    uint64_t p[6];
    void (*mul)(fp_batch *r, const fp_batch *a, const fp_batch *b);
    void (*sub)(fp_batch *r, const fp_batch *a, const fp_batch *b);
    void (*sub_signed)(fp_batch *r, const fp_batch *a, const fp_batch *b, unsigned minus);
    void (*sub_shift)(fp_batch *r, const fp_batch *a, const fp_batch *b);
    void (*sqr_sub2)(fp_batch *r, const fp_batch *a, const fp_batch *b, const fp_batch *c);
    void (*mul_sub)(fp_batch *r, const fp_batch *a, const fp_batch *b, const fp_batch *c);
    unsigned (*zero_mask)(const fp_batch *a);
    /* points of the files at p[i] */
    void (*load_file)(fp_batch *x, fp_batch *y, const uint8_t *const p[8]);
    /* points in stored form; aligned to 64 bytes */
    void (*load)(fp_batch *x, fp_batch *y, const uint8_t *const p[8]);
    void (*store)(uint8_t *const p[8], const fp_batch *x, const fp_batch *y);
    /* n points to the files' form */
    void (*store_file)(uint8_t *const p[8], unsigned n, const fp_batch *x, const fp_batch *y);
    unsigned (*all_zero)(const fp_batch *a);
    void (*copy)(uint8_t *to, const uint8_t *from, unsigned minus);
    /* a stored coordinate to the files' form; the files' to every lane, by set_inverse */
    void (*to_mont)(uint64_t *r, const uint8_t *stored);
    void (*set_inverse)(fp_batch *r, const uint64_t *mont);
} fp_ops;

extern const fp_ops fp_ops_bn254, fp_ops_bls12_381, fp_ops_bn254_2, fp_ops_bls12_381_2;

#endif
