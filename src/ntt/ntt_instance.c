/* The transforms of both scalar fields. Compiled twice: with assembly, and with
 * CUZK_FIELD_PORTABLE in C only. */
#include "field/fields.h"
#include "ntt/ntt_internal.h"

#if defined(CUZK_FIELD_PORTABLE)
#define CUZK__NTT_NAME2(name) name##_portable
#else
#define CUZK__NTT_NAME2(name) name##_asm
#endif
#define CUZK__NTT_NAME(name) CUZK__NTT_NAME2(name)

#define FV bn254_v
#define FV_FE cuzk_bn254_fr
#include "field/vec_scalar.inl.h"

#define FV bls12_381_v
#define FV_FE cuzk_bls12_381_fr
#include "field/vec_scalar.inl.h"

#define NT bn254_ntt
#define NT_FV bn254_v
#define NT_FE cuzk_bn254_fr
#define NT_LEAF 12
#define NT_IN_PLACE 1
#define NT_TABLE CUZK__NTT_NAME(cuzk__ntt_bn254)
#include "ntt/ntt_pass.inl.h"

#define NT bls12_381_ntt
#define NT_FV bls12_381_v
#define NT_FE cuzk_bls12_381_fr
#define NT_LEAF 12
#define NT_IN_PLACE 1
#define NT_TABLE CUZK__NTT_NAME(cuzk__ntt_bls12_381)
#include "ntt/ntt_pass.inl.h"
