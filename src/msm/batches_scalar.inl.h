/* Batches of one element by the fields' own functions, under the names of instances.inl.h. */

#define FV msm_bn254_fv
#define FV_FE cuzk_bn254_fp
#include "field/vec_scalar.inl.h"

#define FV msm_bn254_fv2
#define FV_FE cuzk_bn254_fp2
#include "field/vec_scalar.inl.h"

#define FV msm_bls12_381_fv
#define FV_FE cuzk_bls12_381_fp
#include "field/vec_scalar.inl.h"

#define FV msm_bls12_381_fv2
#define FV_FE cuzk_bls12_381_fp2
#include "field/vec_scalar.inl.h"
