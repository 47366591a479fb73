/* The loops of rows.inl.h for both curves. Compiled twice: with assembly, and with
 * CUZK_FIELD_PORTABLE in C only. */
#include "backend/cpu/rows.h"
#include "field/fields.h"

#if defined(CUZK_FIELD_PORTABLE)
#define CUZK_ROWS_TABLE2(name) name##_ops_portable
#else
#define CUZK_ROWS_TABLE2(name) name##_ops_asm
#endif
#define CUZK_ROWS_TABLE(name) CUZK_ROWS_TABLE2(name)

extern const cuzk_rows_ops CUZK_ROWS_TABLE(cuzk__rows_bn254);
extern const cuzk_rows_ops CUZK_ROWS_TABLE(cuzk__rows_bls12_381);

#define ROWS cuzk__rows_bn254
#define ROWS_FE cuzk_bn254_fr
#include "backend/cpu/rows.inl.h"

#define ROWS cuzk__rows_bls12_381
#define ROWS_FE cuzk_bls12_381_fr
#include "backend/cpu/rows.inl.h"
