/* Multi-scalar multiplication on the CPU: sum of scalars[i] * bases[i].
 *
 * Signed-digit Pippenger with batch-affine buckets; docs/msm.md says how windows are chosen.
 * Time depends on the scalars (zeros, ones and small values are cheap): see docs/security.md.
 */
#ifndef CUZK_MSM_MSM_H
#define CUZK_MSM_MSM_H

#include "base/cpu.h"
#include "base/status.h"
#include "base/thread.h"
#include "curve/curve.h"

#include <stddef.h>
#include <stdint.h>

typedef struct cuzk_msm_args {
    cuzk_curve_id curve;
    cuzk_group group;
    size_t n;
    /* n affine points as in curve/curve.h, infinities allowed (they are skipped), any alignment. */
    const void *bases;
    /* n plain little-endian scalars of 32 bytes, each below r, any alignment. */
    const void *scalars;
    cuzk_cpu_impl impl;
    unsigned window; /* bits of a window; 0 lets the cost model choose */
    cuzk_pool *pool; /* may be NULL: one thread */
} cuzk_msm_args;

/* *out: the sum, affine (infinity: zeros). Fails only for lack of memory. Scratch that held
 * scalar digits is wiped. Thread-safe: nothing is shared but the pool. */
cuzk_status cuzk_msm(const cuzk_msm_args *args, cuzk_point *out) CUZK_MUST_CHECK;

/* Bytes of scratch memory cuzk_msm takes at its peak for these args (an upper bound). */
size_t cuzk_msm_scratch(const cuzk_msm_args *args);

#endif
