/* Sums in two steps, for callers that hold several results: queued up to their copy to the host,
 * and combined there later. Handles as in cuda.h. */
#ifndef CUZK_BACKEND_CUDA_TWO_STEPS_CUH
#define CUZK_BACKEND_CUDA_TWO_STEPS_CUH

#include "backend/cuda/cuda_internal.h"

/* How a sum takes its turn beside others: events, or NULL. */
struct cuzk__msm_turn {
    cudaEvent_t made;  /* recorded when its lists are made */
    cudaEvent_t after; /* what summing them waits for */
};

/* Lists are summed by `share` of CUZK__MSM_SHARES of the blocks that a device holds: sums side by
 * side, each with more lists a thread, cost fewer inversions than one after another. Of plans that
 * are forked off from now on; without a call, all. */
enum { CUZK__MSM_SHARES = 24 };
void cuzk__cuda_msm_set_share(cuzk_cuda_msm *m, unsigned share);

/* Pinned bytes that a run of this plan leaves. */
size_t cuzk__cuda_msm_result_bytes(const cuzk_cuda_msm *m);
/* cuzk_cuda_msm_run_some up to the last kernel and the copy to `result`, pinned memory of
 * cuzk__cuda_msm_result_bytes: waits for nothing. *any: whether result will hold anything; else the
 * sum is infinity. read: NULL, or recorded once the scalars have been read. turn may be NULL.
 */
cuzk_status cuzk__cuda_msm_queue(cuzk_cuda_msm *m, const void *scalars, const uint32_t *map,
                                 size_t n, cudaEvent_t read, const cuzk__msm_turn *turn,
                                 void *result, bool *any, cuzk_err *err) CUZK_MUST_CHECK;
/* Host: the sum, once the stream has come there. m: any plan that shares the table. */
void cuzk__cuda_msm_combine(const cuzk_cuda_msm *m, const void *result, cuzk_point *out);

/* The bases of runs from now on, as many as the plan was made for, where it has no table. */
void cuzk__cuda_msm_set_bases(cuzk_cuda_msm *m, const void *bases);

/* cuzk_cuda_bits_queue_list into `result`, pinned memory of one sum in XYZZ. */
cuzk_status cuzk__cuda_bits_queue_list(cuzk_cuda_bits *p, const uint32_t *index,
                                       const uint32_t *count, void *result,
                                       cuzk_err *err) CUZK_MUST_CHECK;
void cuzk__cuda_bits_set_bases(cuzk_cuda_bits *p, const void *bases);
void cuzk__cuda_bits_combine(const cuzk__cuda_group_ops *g, const void *result, cuzk_point *out);

#endif
