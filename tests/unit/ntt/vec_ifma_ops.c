#include "vec_ifma_ops.h"

#include "field/ifma.h"

#include <string.h>

#define FV bn
#define FV_FE cuzk_bn254_fr
#define FV_CONSTS CUZK_BN254_FR_IFMA
#include "field/vec_ifma.inl.h"

#define FV bls
#define FV_FE cuzk_bls12_381_fr
#define FV_CONSTS CUZK_BLS12_381_FR_IFMA
#include "field/vec_ifma.inl.h"

_Static_assert(sizeof(bn_t) == sizeof(ifma_batch), "a batch is its limbs");

#define OPS(v, name, p)                                                                            \
    static void v##_op_mul_tw(ifma_batch *y, const cuzk_u256 *w, const cuzk_u256 *h) {             \
        v##_t a;                                                                                   \
        v##_tw_t f;                                                                                \
        memcpy(&a, y, sizeof a);                                                                   \
        v##_make_tw(&f, w);                                                                        \
        if (h) v##_scale_tw(&f, &f, h);                                                            \
        v##_mul_tw(&a, &a, &f);                                                                    \
        memcpy(y, &a, sizeof a);                                                                   \
    }                                                                                              \
    static void v##_op_mul(ifma_batch *a, const ifma_batch *b) {                                   \
        v##_t c, d;                                                                                \
        memcpy(&c, a, sizeof c);                                                                   \
        memcpy(&d, b, sizeof d);                                                                   \
        v##_mul(&c, &c, &d);                                                                       \
        memcpy(a, &c, sizeof c);                                                                   \
    }                                                                                              \
    static void v##_op_halve(ifma_batch *a, unsigned k) {                                          \
        v##_t c;                                                                                   \
        memcpy(&c, a, sizeof c);                                                                   \
        v##_halve(&c, &c, k);                                                                      \
        memcpy(a, &c, sizeof c);                                                                   \
    }                                                                                              \
    static void v##_op_butterfly(ifma_butterfly kind, ifma_batch *x, ifma_batch *y,                \
                                 const cuzk_u256 *w, const ifma_batch *each) {                     \
        v##_t a, b, e;                                                                             \
        v##_tw_t f;                                                                                \
        memcpy(&a, x, sizeof a);                                                                   \
        memcpy(&b, y, sizeof b);                                                                   \
        memcpy(&e, each, sizeof e);                                                                \
        v##_make_tw(&f, w);                                                                        \
        if (kind == IFMA_CT) v##_ct(&a, &b, &f);                                                   \
        if (kind == IFMA_CT_MINUS) v##_ct_minus(&a, &b, &f);                                       \
        if (kind == IFMA_CT_ONE) v##_ct_one(&a, &b);                                               \
        if (kind == IFMA_CT_EACH) v##_ct_each(&a, &b, &e);                                         \
        if (kind == IFMA_CT_EACH_MINUS) v##_ct_each_minus(&a, &b, &e);                             \
        if (kind == IFMA_GS) v##_gs(&a, &b, &f);                                                   \
        if (kind == IFMA_GS_MINUS) v##_gs_minus(&a, &b, &f);                                       \
        if (kind == IFMA_GS_ONE) v##_gs_one(&a, &b);                                               \
        if (kind == IFMA_GS_EACH) v##_gs_each(&a, &b, &e);                                         \
        if (kind == IFMA_GS_EACH_MINUS) v##_gs_each_minus(&a, &b, &e);                             \
        memcpy(x, &a, sizeof a);                                                                   \
        memcpy(y, &b, sizeof b);                                                                   \
    }                                                                                              \
    static void v##_op_load_lin(ifma_batch *r, const cuzk_u256 mem[8]) {                           \
        v##_t a;                                                                                   \
        v##_load_lin(&a, mem);                                                                     \
        memcpy(r, &a, sizeof a);                                                                   \
    }                                                                                              \
    static void v##_op_store_lin(cuzk_u256 mem[8], const ifma_batch *a) {                          \
        v##_t b;                                                                                   \
        memcpy(&b, a, sizeof b);                                                                   \
        v##_store_lin(mem, &b);                                                                    \
    }                                                                                              \
    static void v##_op_store_raw(cuzk_u256 mem[8], const ifma_batch *a) {                          \
        v##_t b;                                                                                   \
        memcpy(&b, a, sizeof b);                                                                   \
        v##_store_raw(mem, &b);                                                                    \
    }                                                                                              \
    static void v##_op_gather(ifma_batch *r, const cuzk_u256 mont[8]) {                            \
        v##_st_t st[8];                                                                            \
        const v##_st_t *from[8];                                                                   \
        v##_t a;                                                                                   \
        for (int i = 0; i < 8; i++) {                                                              \
            v##_from_mont(&st[i], &mont[i]);                                                       \
            from[7 - i] = &st[i];                                                                  \
        }                                                                                          \
        v##_gather(&a, from);                                                                      \
        memcpy(r, &a, sizeof a);                                                                   \
    }                                                                                              \
    static void v##_op_transpose(ifma_batch b[8]) {                                                \
        v##_t a[8];                                                                                \
        memcpy(a, b, sizeof a);                                                                    \
        v##_transpose(a);                                                                          \
        memcpy(b, a, sizeof a);                                                                    \
    }                                                                                              \
    const ifma_ops name = {{p},                                                                    \
                           v##_op_mul_tw,                                                          \
                           v##_op_mul,                                                             \
                           v##_op_halve,                                                           \
                           v##_op_butterfly,                                                       \
                           v##_op_load_lin,                                                        \
                           v##_op_store_lin,                                                       \
                           v##_op_store_raw,                                                       \
                           v##_op_gather,                                                          \
                           v##_op_transpose}

OPS(bn, ifma_ops_bn254, CUZK_BN254_FR_MODULUS);
OPS(bls, ifma_ops_bls12_381, CUZK_BLS12_381_FR_MODULUS);
