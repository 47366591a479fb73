/* Points of keys from known secrets: multiples of the generators, made by a backend in batches. */
#ifndef CUZK_GROTH16_POINTS_H
#define CUZK_GROTH16_POINTS_H

#include "backend/backend.h"
#include "base/thread.h"

typedef struct cuzk__points {
    const cuzk_curve *curve;
    cuzk_pool *pool;
    cuzk_backend *backend, *own; /* own: the CPU, opened here */
    cuzk_multiples *of[2];       /* G1, G2 */
} cuzk__points;

enum { CUZK__POINTS_BATCH = 1 << 17 };

/* backend NULL: the CPU. n1, n2: how many points of each group will be made at most; a group with
 * none takes no memory. Freed with _close, also after an error. */
cuzk_status cuzk__points_open(cuzk__points *p, const cuzk_curve *curve, cuzk_backend *backend,
                              uint64_t n1, uint64_t n2, cuzk_pool *pool,
                              cuzk_err *err) CUZK_MUST_CHECK;
void cuzk__points_close(cuzk__points *p);
/* Of all batches so far. */
cuzk_multiples_stats cuzk__points_stats(const cuzk__points *p);

typedef struct cuzk__points_job {
    /* The plain scalars first .. first+n-1 into out; called by several threads at once. */
    void (*fill)(void *ctx, cuzk_u256 *out, size_t first, size_t n);
    /* Their points in order, batch after batch. */
    cuzk_status (*put)(void *ctx, const void *points, size_t n, cuzk_err *err);
    void *ctx;
} cuzk__points_job;

/* n points of a group. What the host does with one batch and the backend with the next overlap. */
cuzk_status cuzk__points_run(cuzk__points *p, cuzk_group group, size_t n,
                             const cuzk__points_job *job, cuzk_err *err) CUZK_MUST_CHECK;

#endif
