/* Compiled for AVX-512 IFMA (see CMakeLists.txt). */
#include "curve/batch_ifma.h"

#include "curve/groups.h"

#if CUZK__CURVE_IFMA
#include "field/ifma.h"

#define FV batch_bn254_fv
#define FV_FE cuzk_bn254_fp
#define FV_LIMBS 5
#define FV_BITS CUZK_BN254_FP_BITS
#define FV_MODULUS CUZK_BN254_FP_MODULUS
#define FV_CONSTS CUZK_BN254_FP_IFMA
#include "field/vec_fp_ifma.inl.h"

#define FV batch_bls12_381_fv
#define FV_FE cuzk_bls12_381_fp
#define FV_LIMBS 8
#define FV_BITS CUZK_BLS12_381_FP_BITS
#define FV_MODULUS CUZK_BLS12_381_FP_MODULUS
#define FV_CONSTS CUZK_BLS12_381_FP_IFMA
#include "field/vec_fp_ifma.inl.h"

#define FV2 batch_bn254_fv2
#define FV2_BASE batch_bn254_fv
#define FV2_FE cuzk_bn254_fp2
#include "field/vec_fp2_ifma.inl.h"

#define FV2 batch_bls12_381_fv2
#define FV2_BASE batch_bls12_381_fv
#define FV2_FE cuzk_bls12_381_fp2
#include "field/vec_fp2_ifma.inl.h"

#define BI bn254_g1
#define BI_FV batch_bn254_fv
#define BI_F cuzk_bn254_fp
#define BI_SIZE sizeof(cuzk_bn254_g1_affine_t)
#include "curve/batch_ifma.inl.h"

#define BI bn254_g2
#define BI_FV batch_bn254_fv2
#define BI_F cuzk_bn254_fp2
#define BI_SIZE sizeof(cuzk_bn254_g2_affine_t)
#include "curve/batch_ifma.inl.h"

#define BI bls12_381_g1
#define BI_FV batch_bls12_381_fv
#define BI_F cuzk_bls12_381_fp
#define BI_SIZE sizeof(cuzk_bls12_381_g1_affine_t)
#include "curve/batch_ifma.inl.h"

#define BI bls12_381_g2
#define BI_FV batch_bls12_381_fv2
#define BI_F cuzk_bls12_381_fp2
#define BI_SIZE sizeof(cuzk_bls12_381_g2_affine_t)
#include "curve/batch_ifma.inl.h"

#endif
