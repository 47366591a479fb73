/* C only: the path that every machine has, and the one that checks the others. */
#define CUZK_FIELD_PORTABLE 1
#define MSM_IMPL portable
#include "msm/instances.inl.h"
