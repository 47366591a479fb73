/* The four groups in one implementation. The includer has made batches of field elements with
 * the prefixes msm_{bn254,bls12_381}_{fv,fv2} and defined MSM_IMPL, the suffix of the tables'
 * names. */

#define MSM_NAME2(group, impl) group##_##impl
#define MSM_NAME(group, impl) MSM_NAME2(group, impl)

#define MSM MSM_NAME(bn254_g1, MSM_IMPL)
#define MSM_EC cuzk_bn254_g1
#define MSM_F cuzk_bn254_fp
#define MSM_FV msm_bn254_fv
#define MSM_GENERATOR CUZK_BN254_G1_GEN
#include "msm/kernel.inl.h"

#define MSM MSM_NAME(bn254_g2, MSM_IMPL)
#define MSM_EC cuzk_bn254_g2
#define MSM_F cuzk_bn254_fp2
#define MSM_FV msm_bn254_fv2
#define MSM_GENERATOR CUZK_BN254_G2_GEN
#include "msm/kernel.inl.h"

#define MSM MSM_NAME(bls12_381_g1, MSM_IMPL)
#define MSM_EC cuzk_bls12_381_g1
#define MSM_F cuzk_bls12_381_fp
#define MSM_FV msm_bls12_381_fv
#define MSM_GENERATOR CUZK_BLS12_381_G1_GEN
#include "msm/kernel.inl.h"

#define MSM MSM_NAME(bls12_381_g2, MSM_IMPL)
#define MSM_EC cuzk_bls12_381_g2
#define MSM_F cuzk_bls12_381_fp2
#define MSM_FV msm_bls12_381_fv2
#define MSM_GENERATOR CUZK_BLS12_381_G2_GEN
#include "msm/kernel.inl.h"

#undef MSM_NAME
#undef MSM_NAME2
#undef MSM_IMPL
