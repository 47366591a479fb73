/* Randomness from the operating system. */
#ifndef CUZK_BASE_RAND_H
#define CUZK_BASE_RAND_H

#include "base/status.h"

#include <stddef.h>

/* n bytes from getrandom(2), blocking until the system's pool is seeded once. IO on failure. */
cuzk_status cuzk_random(void *out, size_t n, cuzk_err *err) CUZK_MUST_CHECK;

#endif
