/* Deep work on a stack of its own. */
#ifndef CUZK_BASE_APART_H
#define CUZK_BASE_APART_H

#include "base/status.h"

/* Calls fn(ctx) on a fresh thread whose stack holds 2 MiB above a guard, whatever stack the caller
 * has left and whatever the limit on stacks is, and waits for it. All memory is taken before fn
 * begins, so that a later shortage is an error of an allocation and not a signal. The stack is
 * wiped before it is given back. A caller that runs on such a stack itself goes on on it: what it
 * leaves there is wiped with it. NO_MEMORY when there is no room for it or for a thread; fn has
 * then not been called. */
cuzk_status cuzk_run_apart(void (*fn)(void *ctx), void *ctx) CUZK_MUST_CHECK;

#endif
