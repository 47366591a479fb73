/* Scalar assembly for the products of the base fields, where there is any. */
#define MSM_IMPL asm
#ifdef CUZK_FIELD_ASM
#include "msm/instances.inl.h"
#else
typedef int cuzk__msm_no_assembly; /* a translation unit may not be empty */
#endif
