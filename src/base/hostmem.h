/* How much memory this process may use. */
#ifndef CUZK_BASE_HOSTMEM_H
#define CUZK_BASE_HOSTMEM_H

#include "base/status.h"

#include <stdint.h>

enum { CUZK_HOSTMEM_WHY = 320 };

/* The least of what the machine has (MemTotal) and what the process's control group and all groups
 * above it allow (version 1 and 2, also where a container sees only its own part of the tree).
 * why: what set the limit, for a log. root: "/", or a test's directory that holds proc and sys. IO
 * when MemTotal cannot be read. */
cuzk_status cuzk_hostmem_limit(const char *root, uint64_t *bytes, char why[CUZK_HOSTMEM_WHY],
                               cuzk_err *err) CUZK_MUST_CHECK;

#endif
