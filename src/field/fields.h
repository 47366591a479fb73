/* The four prime fields and the two quadratic extensions, as inline functions.
 *
 *   cuzk_bn254_fp_*      cuzk_bn254_fr_*      cuzk_bn254_fp2_*
 *   cuzk_bls12_381_fp_*  cuzk_bls12_381_fr_*  cuzk_bls12_381_fp2_*
 *
 * The functions are described in fe_mont.inl.h and fe_ext2.inl.h. A translation unit compiled
 * with CUZK_FIELD_PORTABLE uses C only; others use blst's assembly where the processor has it
 * (CUZK_FIELD_ASM, set by CMake). Both give the same results, and a test says so.
 *
 * To add a field: its integers to tools/gen_params.py, an instance here, a row in field.c. */
#ifndef CUZK_FIELD_FIELDS_H
#define CUZK_FIELD_FIELDS_H

#include "field/bls12_381_params.h"
#include "field/bn254_params.h"
#include "field/limb.h"
#include "field/modinv.h"

#if defined(CUZK__FIELD_EXTERNAL_HOOKS)
/* The includer (the CUDA backend) has defined cuzk_*_{mul,sqr}_asm itself. */
#define CUZK__FIELD_USE_ASM 1
#elif defined(CUZK_FIELD_ASM) && !defined(CUZK_FIELD_PORTABLE) && !defined(__CUDACC__)
#define CUZK__FIELD_USE_ASM 1
#include "field/blst_asm.h"
#else
#define CUZK__FIELD_USE_ASM 0
#endif

#if CUZK__FIELD_USE_ASM && !defined(CUZK__FIELD_EXTERNAL_HOOKS)
#define CUZK__FIELD_USE_BLST 1
#else
#define CUZK__FIELD_USE_BLST 0
#endif

#if CUZK__FIELD_USE_BLST
#define CUZK__ASM_HOOKS(fe, type, bits, mul_fn, sqr_fn, modulus, n0)                               \
    static CUZK_HD void fe##_add_asm(type *r, const type *a, const type *b) {                      \
        static const type p = {modulus};                                                           \
        add_mod_##bits(r->l, a->l, b->l, p.l);                                                     \
    }                                                                                              \
    static CUZK_HD void fe##_sub_asm(type *r, const type *a, const type *b) {                      \
        static const type p = {modulus};                                                           \
        sub_mod_##bits(r->l, a->l, b->l, p.l);                                                     \
    }                                                                                              \
    static CUZK_HD void fe##_mul_asm(type *r, const type *a, const type *b) {                      \
        static const type p = {modulus};                                                           \
        mul_fn(r->l, a->l, b->l, p.l, n0);                                                         \
    }                                                                                              \
    static CUZK_HD void fe##_sqr_asm(type *r, const type *a) {                                     \
        static const type p = {modulus};                                                           \
        sqr_fn(r->l, a->l, p.l, n0);                                                               \
    }
CUZK__ASM_HOOKS(cuzk_bn254_fp, cuzk_u256, 256, mul_mont_sparse_256, sqr_mont_sparse_256,
                CUZK_BN254_FP_MODULUS, CUZK_BN254_FP_N0)
CUZK__ASM_HOOKS(cuzk_bn254_fr, cuzk_u256, 256, mul_mont_sparse_256, sqr_mont_sparse_256,
                CUZK_BN254_FR_MODULUS, CUZK_BN254_FR_N0)
CUZK__ASM_HOOKS(cuzk_bls12_381_fp, cuzk_u384, 384, mul_mont_384, sqr_mont_384,
                CUZK_BLS12_381_FP_MODULUS, CUZK_BLS12_381_FP_N0)
CUZK__ASM_HOOKS(cuzk_bls12_381_fr, cuzk_u256, 256, mul_mont_sparse_256, sqr_mont_sparse_256,
                CUZK_BLS12_381_FR_MODULUS, CUZK_BLS12_381_FR_N0)
#endif

#define FE cuzk_bn254_fp
#define FE_LIMBS 4
#define FE_TYPE cuzk_u256
#define FE_MODULUS CUZK_BN254_FP_MODULUS
#define FE_ONE CUZK_BN254_FP_ONE
#define FE_R2 CUZK_BN254_FP_R2
#define FE_N0 CUZK_BN254_FP_N0
#if CUZK__FIELD_USE_ASM
#define FE_MUL_HOOK cuzk_bn254_fp_mul_asm
#define FE_SQR_HOOK cuzk_bn254_fp_sqr_asm
#endif
#if CUZK__FIELD_USE_BLST
#define FE_ADD_HOOK cuzk_bn254_fp_add_asm
#define FE_SUB_HOOK cuzk_bn254_fp_sub_asm
#endif
#include "field/fe_mont.inl.h"

#define FE cuzk_bn254_fr
#define FE_LIMBS 4
#define FE_TYPE cuzk_u256
#define FE_MODULUS CUZK_BN254_FR_MODULUS
#define FE_ONE CUZK_BN254_FR_ONE
#define FE_R2 CUZK_BN254_FR_R2
#define FE_N0 CUZK_BN254_FR_N0
#if CUZK__FIELD_USE_ASM
#define FE_MUL_HOOK cuzk_bn254_fr_mul_asm
#define FE_SQR_HOOK cuzk_bn254_fr_sqr_asm
#endif
#if CUZK__FIELD_USE_BLST
#define FE_ADD_HOOK cuzk_bn254_fr_add_asm
#define FE_SUB_HOOK cuzk_bn254_fr_sub_asm
#endif
#include "field/fe_mont.inl.h"

#define FE cuzk_bls12_381_fp
#define FE_LIMBS 6
#define FE_TYPE cuzk_u384
#define FE_MODULUS CUZK_BLS12_381_FP_MODULUS
#define FE_ONE CUZK_BLS12_381_FP_ONE
#define FE_R2 CUZK_BLS12_381_FP_R2
#define FE_N0 CUZK_BLS12_381_FP_N0
#if CUZK__FIELD_USE_ASM
#define FE_MUL_HOOK cuzk_bls12_381_fp_mul_asm
#define FE_SQR_HOOK cuzk_bls12_381_fp_sqr_asm
#endif
#if CUZK__FIELD_USE_BLST
#define FE_ADD_HOOK cuzk_bls12_381_fp_add_asm
#define FE_SUB_HOOK cuzk_bls12_381_fp_sub_asm
#endif
#include "field/fe_mont.inl.h"

#define FE cuzk_bls12_381_fr
#define FE_LIMBS 4
#define FE_TYPE cuzk_u256
#define FE_MODULUS CUZK_BLS12_381_FR_MODULUS
#define FE_ONE CUZK_BLS12_381_FR_ONE
#define FE_R2 CUZK_BLS12_381_FR_R2
#define FE_N0 CUZK_BLS12_381_FR_N0
#if CUZK__FIELD_USE_ASM
#define FE_MUL_HOOK cuzk_bls12_381_fr_mul_asm
#define FE_SQR_HOOK cuzk_bls12_381_fr_sqr_asm
#endif
#if CUZK__FIELD_USE_BLST
#define FE_ADD_HOOK cuzk_bls12_381_fr_add_asm
#define FE_SUB_HOOK cuzk_bls12_381_fr_sub_asm
#endif
#include "field/fe_mont.inl.h"

#define FE2 cuzk_bn254_fp2
#define FE2_BASE cuzk_bn254_fp
#include "field/fe_ext2.inl.h"

#define FE2 cuzk_bls12_381_fp2
#define FE2_BASE cuzk_bls12_381_fp
#if CUZK__FIELD_USE_BLST
#define FE2_MUL_HOOK(r, a, b)                                                                      \
    do {                                                                                           \
        static const cuzk_u384 fe2_p = {CUZK_BLS12_381_FP_MODULUS};                                \
        mul_mont_384x((uint64_t *)(r), (const uint64_t *)(a), (const uint64_t *)(b), fe2_p.l,      \
                      CUZK_BLS12_381_FP_N0);                                                       \
    } while (0)
#define FE2_SQR_HOOK(r, a)                                                                         \
    do {                                                                                           \
        static const cuzk_u384 fe2_p = {CUZK_BLS12_381_FP_MODULUS};                                \
        sqr_mont_384x((uint64_t *)(r), (const uint64_t *)(a), fe2_p.l, CUZK_BLS12_381_FP_N0);      \
    } while (0)
#endif
#include "field/fe_ext2.inl.h"

#endif
