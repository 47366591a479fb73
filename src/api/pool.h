/* The worker threads that handles share. */
#ifndef CUZK_API_POOL_H
#define CUZK_API_POOL_H

#include "base/status.h"
#include "base/thread.h"

/* *out: the process's pool of one thread per core, started for the first holder. Give it back with
 * cuzk__shared_pool_put; the last holder ends its threads. Thread-safe. A child made by fork()
 * gets a pool of its own: threads do not survive a fork. */
cuzk_status cuzk__shared_pool_get(cuzk_pool **out) CUZK_MUST_CHECK;

/* The pool to use now on behalf of a holder: the same, or after a fork the child's own, which then
 * takes the place of `held`. Thread-safe. */
cuzk_status cuzk__shared_pool_current(cuzk_pool **out) CUZK_MUST_CHECK;

/* Gives back one hold. */
void cuzk__shared_pool_put(void);

#endif
