/* The transforms of both scalar fields with AVX-512 IFMA. Compiled for that instruction set (see
 * CMakeLists.txt); nothing here may run before cuzk_cpu_has_avx512_ifma() has been asked. */
#include "field/fields.h"
#include "ntt/ntt_internal.h"

#if CUZK__NTT_IFMA
#include "field/ifma.h"

#define FV bn254_v
#define FV_FE cuzk_bn254_fr
#define FV_CONSTS CUZK_BN254_FR_IFMA
#include "field/vec_ifma.inl.h"

#define FV bls12_381_v
#define FV_FE cuzk_bls12_381_fr
#define FV_CONSTS CUZK_BLS12_381_FR_IFMA
#include "field/vec_ifma.inl.h"

#define NT bn254_ntt
#define NT_FV bn254_v
#define NT_FE cuzk_bn254_fr
#define NT_LEAF 13
#define NT_IN_PLACE 0
#define NT_VECTOR 1
#define NT_TABLE cuzk__ntt_bn254_ifma
#include "ntt/ntt_pass.inl.h"

#define NT bls12_381_ntt
#define NT_FV bls12_381_v
#define NT_FE cuzk_bls12_381_fr
#define NT_LEAF 13
#define NT_IN_PLACE 0
#define NT_VECTOR 1
#define NT_TABLE cuzk__ntt_bls12_381_ifma
#include "ntt/ntt_pass.inl.h"

#endif
