/* The algorithms on four lanes and a stored form that is not the files': the tables
 * cuzk__msm_*_four. */
#include "support.h"

#include "curve/groups.h"
#include "msm/kernel.h"

#define FV msm_bn254_fv
#define FV_FE cuzk_bn254_fp
#define FV_LIMBS 4
#include "unit/msm/vec_four.inl.h"

#define FV msm_bls12_381_fv
#define FV_FE cuzk_bls12_381_fp
#define FV_LIMBS 6
#include "unit/msm/vec_four.inl.h"

#define FV2 msm_bn254_fv2
#define FV2_BASE msm_bn254_fv
#define FV2_FE cuzk_bn254_fp2
#include "field/vec_ext2.inl.h"

#define FV2 msm_bls12_381_fv2
#define FV2_BASE msm_bls12_381_fv
#define FV2_FE cuzk_bls12_381_fp2
#include "field/vec_ext2.inl.h"

CUZK__MSM_KERNELS(four);

#define MSM_IMPL four
#include "msm/instances.inl.h"
