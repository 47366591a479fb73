/* AVX-512 IFMA: eight additions at a time. Compiled for that instruction set (see CMakeLists.txt);
 * nothing here may run before cuzk_cpu_has_avx512_ifma() has been asked. */
#include "curve/groups.h"
#include "msm/kernel.h"

#include <string.h>

#if CUZK__MSM_HAVE_IFMA
#include "field/ifma.h"

#define FV msm_bn254_fv
#define FV_FE cuzk_bn254_fp
#define FV_LIMBS 5
#define FV_BITS CUZK_BN254_FP_BITS
#define FV_MODULUS CUZK_BN254_FP_MODULUS
#define FV_CONSTS CUZK_BN254_FP_IFMA
#include "field/vec_fp_ifma.inl.h"

#define FV msm_bls12_381_fv
#define FV_FE cuzk_bls12_381_fp
#define FV_LIMBS 8
#define FV_BITS CUZK_BLS12_381_FP_BITS
#define FV_MODULUS CUZK_BLS12_381_FP_MODULUS
#define FV_CONSTS CUZK_BLS12_381_FP_IFMA
#include "field/vec_fp_ifma.inl.h"

#define FV2 msm_bn254_fv2
#define FV2_BASE msm_bn254_fv
#define FV2_FE cuzk_bn254_fp2
#include "field/vec_fp2_ifma.inl.h"

#define FV2 msm_bls12_381_fv2
#define FV2_BASE msm_bls12_381_fv
#define FV2_FE cuzk_bls12_381_fp2
#include "field/vec_fp2_ifma.inl.h"

#include "msm/put_ifma.inl.h"

#define MSM_IFMA 1
#define MSM_IMPL ifma
#include "msm/instances.inl.h"
#undef MSM_IFMA

#endif
