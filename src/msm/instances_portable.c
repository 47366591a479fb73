/* C only: the path that every machine has, and the one that checks the others. */
#define CUZK_FIELD_PORTABLE 1
#include "curve/groups.h"
#include "msm/kernel.h"

#include <string.h>

#include "msm/batches_scalar.inl.h"

#define MSM_IMPL portable
#include "msm/instances.inl.h"
