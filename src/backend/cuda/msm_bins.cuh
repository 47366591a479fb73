/* The first half of a sort: from scalars to digits by bins (msm_sort.cuh). */
#ifndef CUZK_BACKEND_CUDA_MSM_BINS_CUH
#define CUZK_BACKEND_CUDA_MSM_BINS_CUH

#include "backend/cuda/msm_sort.cuh"

namespace cuzk_gpu {

enum {
    MOST_LG_BINS = 11,  /* of a set */
    COUNT_ASIDE = 1024, /* bytes of shared memory that counts leave */
    WIDE_THREADS = 1024,
    THIN_THREADS = 512 /* where a block has less shared memory */
};

/* Bytes of shared memory that count the digits of so many bins, and those of 0. */
constexpr size_t count_bytes(size_t bins) {
    return (bins + 1) * 4;
}

} // namespace cuzk_gpu

static inline int lg_buckets(const cuzk__msm_shape *s) {
    return s->window - 1;
}

/* How digits go to bins, of which there are sorter->lg_bins, by blocks of sorter->threads. */
cuzk_status cuzk__msm_plan_bins(const cuzk_cuda *dev, const cuzk__msm_shape *shape,
                                cuzk__msm_sorter *sorter, cuzk_err *err) CUZK_MUST_CHECK;

/* A batch's digits to their bins: sorter->values and low. */
cuzk_status cuzk__msm_to_bins(const cuzk_cuda *dev, const cuzk__msm_shape *shape,
                              const cuzk_u256 *modulus, const void *scalars, int first_set,
                              int count, const cuzk__msm_sorter *sorter,
                              cuzk_err *err) CUZK_MUST_CHECK;

#endif
