/* x86-64 with BMI2 and ADX: inlined products that are not fully reduced. Chosen at run time. */
#include "curve/groups.h"
#include "msm/kernel.h"

#include <string.h>

#if CUZK__MSM_HAVE_ADX

#define FV msm_bn254_fv
#define FV_FE cuzk_bn254_fp
#define FV_LIMBS 4
#define FV_MODULUS CUZK_BN254_FP_MODULUS
#define FV_MODULUS_X2 CUZK_BN254_FP_MODULUS_X2
#define FV_N0 CUZK_BN254_FP_N0
#include "field/vec_fp_adx.inl.h"

#define FV msm_bls12_381_fv
#define FV_FE cuzk_bls12_381_fp
#define FV_LIMBS 6
#define FV_MODULUS CUZK_BLS12_381_FP_MODULUS
#define FV_MODULUS_X2 CUZK_BLS12_381_FP_MODULUS_X2
#define FV_N0 CUZK_BLS12_381_FP_N0
#include "field/vec_fp_adx.inl.h"

#define FV2 msm_bn254_fv2
#define FV2_BASE msm_bn254_fv
#define FV2_FE cuzk_bn254_fp2
#include "field/vec_ext2.inl.h"

#define FV2 msm_bls12_381_fv2
#define FV2_BASE msm_bls12_381_fv
#define FV2_FE cuzk_bls12_381_fp2
#include "field/vec_ext2.inl.h"

#define MSM_IMPL adx
#include "msm/instances.inl.h"

#endif
