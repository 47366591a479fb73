/* One thread's share of a sum. */
#ifndef CUZK_MSM_WORK_H
#define CUZK_MSM_WORK_H

#include "base/status.h"
#include "msm/kernel.h"
#include "msm/plan.h"
#include "msm/share.h"

/* What all threads read. */
typedef struct cuzk__work {
    const cuzk__msm_kernel *kernel;
    cuzk__digits digits;
    cuzk__plan plan;
    cuzk__shares shares; /* of whole windows, cuzk__work_whole for each thread at first */
    const cuzk__scan *scan;
    size_t n_bits;
    const uint8_t *bases;     /* stored form */
    const uint8_t *scalars;   /* 32 bytes each */
    const uint8_t *bit_bases; /* stored form; those chosen by bits */
    const uint64_t *bits;
} cuzk__work;

/* The whole windows of stretch t. */
cuzk__portion cuzk__work_whole(const cuzk__plan *p, unsigned t);

/* Bytes of memory a thread takes. */
size_t cuzk__work_bytes(const cuzk__msm_kernel *k, const cuzk__plan *p);

/* Does stretch t of the plan, and of the whole windows what falls to it: window x goes to sums[x],
 * points of weight 1 to sums[0]. sums has digits.windows entries, infinity before. memory:
 * cuzk__work_bytes, aligned to 64, whatever is in it; what told digits is wiped. Returns how many
 * batch-affine additions it took. */
uint64_t cuzk__work_run(const cuzk__work *w, unsigned t, cuzk__msm_acc *sums, void *memory);

#endif
