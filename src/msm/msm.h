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

/* Memory that sums leave to the next one: for some thousands of points, to get it from the system
 * and give it back takes as long as a good part of the sum. Sums of one pool may use a room at the
 * same time; they take the largest cuzk_msm_scratch of them, and for each that runs beside it a
 * byte a point and CUZK_MSM_BESIDE. Nothing that tells digits is left when they have ended.
 * NO_MEMORY. */
enum { CUZK_MSM_BESIDE = 512 << 10 };
typedef struct cuzk_msm_room cuzk_msm_room;
cuzk_status cuzk_msm_room_new(cuzk_msm_room **out) CUZK_MUST_CHECK;
void cuzk_msm_room_free(cuzk_msm_room *room); /* NULL is ignored */

/* Set everything that is not used to zero. */
typedef struct cuzk_msm_args {
    cuzk_curve_id curve;
    cuzk_group group;
    size_t n;
    /* n affine points as in curve/curve.h, infinities allowed (they are skipped), any alignment. */
    const void *bases;
    /* n plain little-endian scalars of 32 bytes, each below r, any alignment. */
    const void *scalars;
    /* Bases whose scalar is known to be 0 or 1, beside those above and added to the same sum: bit i
     * of `bits` (least significant first) chooses base i of `bit_bases`, n_bits of them. Infinities
     * and any alignment are allowed for bit_bases. */
    size_t n_bits;
    const void *bit_bases;
    const uint64_t *bits;
    cuzk_cpu_impl impl;
    unsigned window;     /* bits of a window; 0 lets the cost model choose */
    cuzk_pool *pool;     /* may be NULL: one thread */
    cuzk_msm_room *room; /* may be NULL: the sum takes and returns its memory */
    /* NULL, or where the number of batch-affine additions is put: what the time of a large sum is
     * made of. */
    uint64_t *additions;
} cuzk_msm_args;

/* *out: the sum, affine (infinity: zeros). NO_MEMORY, or BAD_INPUT when a scalar is not below r;
 * *out is then undefined. Scratch that held digits of scalars is wiped. Thread-safe: nothing is
 * shared but the pool. The same sum comes out whatever impl, window and pool are. */
cuzk_status cuzk_msm(const cuzk_msm_args *args, cuzk_point *out) CUZK_MUST_CHECK;

/* Bytes of memory cuzk_msm takes at its peak for these args, whatever the scalars are: an upper
 * bound. Reads curve, group, n, n_bits, impl, window and pool only. */
size_t cuzk_msm_scratch(const cuzk_msm_args *args);

#endif
