/* Fault injection for tests: a named point in the code asks whether it should misbehave.
 *
 * Armed by the environment variable CUZK_FAULT ("name" or "name:k" for the k-th time only, counted
 * from 1), read once per process. Costs one load of a constant when nothing is armed. */
#ifndef CUZK_BASE_FAULT_H
#define CUZK_BASE_FAULT_H

#include <stdbool.h>

/* True when the point `name` must fail this time. Thread-safe. */
bool cuzk_fault(const char *name);

#endif
