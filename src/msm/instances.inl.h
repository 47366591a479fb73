/* The four groups in one implementation. MSM_IMPL: suffix of the tables' names. */
#include "curve/groups.h"
#include "msm/kernel.h"

#include <string.h>

#define MSM_NAME2(group, impl) group##_##impl
#define MSM_NAME(group, impl) MSM_NAME2(group, impl)

#define MSM MSM_NAME(bn254_g1, MSM_IMPL)
#define MSM_EC cuzk_bn254_g1
#define MSM_F cuzk_bn254_fp
#include "msm/kernel.inl.h"

#define MSM MSM_NAME(bn254_g2, MSM_IMPL)
#define MSM_EC cuzk_bn254_g2
#define MSM_F cuzk_bn254_fp2
#include "msm/kernel.inl.h"

#define MSM MSM_NAME(bls12_381_g1, MSM_IMPL)
#define MSM_EC cuzk_bls12_381_g1
#define MSM_F cuzk_bls12_381_fp
#include "msm/kernel.inl.h"

#define MSM MSM_NAME(bls12_381_g2, MSM_IMPL)
#define MSM_EC cuzk_bls12_381_g2
#define MSM_F cuzk_bls12_381_fp2
#include "msm/kernel.inl.h"
