/* The fields' scalar assembly, for processors that lack what instances_adx.c needs. */
#include "curve/groups.h"
#include "msm/kernel.h"

#include <string.h>

#if CUZK__MSM_HAVE_ASM

#include "msm/batches_scalar.inl.h"

#define MSM_IMPL asm
#include "msm/instances.inl.h"

#endif
