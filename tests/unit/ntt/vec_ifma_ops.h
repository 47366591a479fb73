/* field/vec_ifma.inl.h behind plain functions, so that a program that asks the processor first can
 * be compiled without AVX-512. */
#ifndef CUZK_TESTS_NTT_VEC_IFMA_OPS_H
#define CUZK_TESTS_NTT_VEC_IFMA_OPS_H

#include "field/fields.h"

/* A batch: [limb][lane]. */
typedef struct ifma_batch {
    _Alignas(64) uint64_t l[5][8];
} ifma_batch;

typedef enum ifma_butterfly {
    IFMA_CT,
    IFMA_CT_MINUS,
    IFMA_CT_ONE,
    IFMA_CT_EACH,
    IFMA_CT_EACH_MINUS,
    IFMA_GS,
    IFMA_GS_MINUS,
    IFMA_GS_ONE,
    IFMA_GS_EACH,
    IFMA_GS_EACH_MINUS,
    IFMA_BUTTERFLIES
} ifma_butterfly;

typedef struct ifma_ops {
    cuzk_u256 modulus;
    /* In place. w: in the files' Montgomery form; h: NULL or a factor for scale_tw. */
    void (*mul_tw)(ifma_batch *y, const cuzk_u256 *w, const cuzk_u256 *h);
    void (*mul)(ifma_batch *a, const ifma_batch *b);
    void (*halve)(ifma_batch *a, unsigned k); /* a / 2^k */
    /* each: the factors of the _each kinds */
    void (*butterfly)(ifma_butterfly kind, ifma_batch *x, ifma_batch *y, const cuzk_u256 *w,
                      const ifma_batch *each);
    void (*load_lin)(ifma_batch *r, const cuzk_u256 mem[8]);
    void (*store_lin)(cuzk_u256 mem[8], const ifma_batch *a);
    void (*store_raw)(cuzk_u256 mem[8], const ifma_batch *a);
    /* from_mont of each, then gather in reverse order */
    void (*gather)(ifma_batch *r, const cuzk_u256 mont[8]);
    void (*transpose)(ifma_batch v[8]);
} ifma_ops;

extern const ifma_ops ifma_ops_bn254, ifma_ops_bls12_381;

#endif
