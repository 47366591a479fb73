/* A pool of worker threads for data-parallel loops.
 *
 * The caller takes part in its own loop, so a pool of n threads starts n - 1 workers, a pool of 1
 * starts none, and a NULL pool means "run here". Any number of threads may run loops on one pool
 * at a time; workers help the oldest unfinished loop first. Loop bodies may run loops of their
 * own on the same pool. Workers block all signals.
 */
#ifndef CUZK_BASE_THREAD_H
#define CUZK_BASE_THREAD_H

#include "base/status.h"

#include <stddef.h>

typedef struct cuzk_pool cuzk_pool;

/* threads == 0 means one per available core (cuzk_cpu_count). */
cuzk_status cuzk_pool_new(cuzk_pool **out, unsigned threads) CUZK_MUST_CHECK;

/* Joins the workers. No loop may be running. NULL is ignored. */
void cuzk_pool_free(cuzk_pool *pool);

/* Number of threads that can take part in a loop, the caller counted; 1 for NULL. */
unsigned cuzk_pool_threads(const cuzk_pool *pool);

/* Calls fn(ctx, i) once for every i in [0, n), in parallel and in no particular order, taken one
 * by one from a shared counter; returns when all are done. Use chunks of at least some
 * microseconds per i. */
void cuzk_pool_run(cuzk_pool *pool, size_t n, void (*fn)(void *ctx, size_t i), void *ctx);

/* Splits [0, n) into ranges of about equal size, at most `per_thread` ranges a thread and none
 * smaller than min_len, and calls fn(ctx, begin, end) for each. */
void cuzk_pool_run_ranges(cuzk_pool *pool, size_t n, size_t min_len, unsigned per_thread,
                          void (*fn)(void *ctx, size_t begin, size_t end), void *ctx);

#endif
