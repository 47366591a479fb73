/* The transforms of both scalar fields with inlined x86-64 assembly; chosen at run time where the
 * processor has BMI2 and ADX. */
#include "field/fields.h"
#include "ntt/ntt_internal.h"

#if CUZK__NTT_ADX

#define FV bn254_v
#define FV_FE cuzk_bn254_fr
#define FV_MODULUS CUZK_BN254_FR_MODULUS
#define FV_M CUZK_BN254_FR_MODULUS_X2
#define FV_N0 CUZK_BN254_FR_N0
#define FV_LAZY 1
#include "field/vec_adx.inl.h"

#define FV bls12_381_v
#define FV_FE cuzk_bls12_381_fr
#define FV_MODULUS CUZK_BLS12_381_FR_MODULUS
#define FV_M CUZK_BLS12_381_FR_MODULUS
#define FV_N0 CUZK_BLS12_381_FR_N0
#define FV_LAZY 0
#include "field/vec_adx.inl.h"

#define NT bn254_ntt
#define NT_FV bn254_v
#define NT_FE cuzk_bn254_fr
#define NT_LEAF 12
#define NT_IN_PLACE 1
#define NT_TABLE cuzk__ntt_bn254_adx
#include "ntt/ntt_pass.inl.h"

#define NT bls12_381_ntt
#define NT_FV bls12_381_v
#define NT_FE cuzk_bls12_381_fr
#define NT_LEAF 12
#define NT_IN_PLACE 1
#define NT_TABLE cuzk__ntt_bls12_381_adx
#include "ntt/ntt_pass.inl.h"

#endif
