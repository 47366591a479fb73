/* One group's point operations: launches of the kernels in accumulate.cuh and msm_points.cuh.
 * Each msm_<group>.cu instantiates it once. */
#ifndef CUZK_BACKEND_CUDA_MSM_GROUP_CUH
#define CUZK_BACKEND_CUDA_MSM_GROUP_CUH

#include "backend/cuda/accumulate_lists.cuh"
#include "backend/cuda/cuda_internal.h"
#include "backend/cuda/msm_lists.cuh"
#include "backend/cuda/msm_reduce.cuh"

#include <string.h>

namespace cuzk_gpu {

template <class G, class E, int NT, int MINB> struct msm_group {
    typedef typename G::affine affine;
    typedef typename G::xyzz xyzz;
    static constexpr int SUM_SHARED = block_summer<G>::SHARED;
    static constexpr int REDUCE_COUNT = running_sum<G, REDUCE_THREADS>::COUNT;
    static_assert(NT == 32 * CUZK__MSM_WARPS, "lists are cut for blocks of other sizes");

    static size_t shared(const cuzk_cuda *dev) { return cuzk__cuda_stage(dev, stage<E, NT>::SIZE); }
    static size_t point_shared(const cuzk_cuda *dev) {
        return cuzk__cuda_stage(dev, stage<typename G::E, POINT_THREADS>::SIZE);
    }

    static int blocks(const cuzk_cuda *dev) {
        return blocks_held({dev->info.sm_threads, dev->info.sm_shared}, NT, shared(dev), MINB);
    }

    static cuzk_status prepare(const cuzk_cuda *dev, cuzk_err *err) {
        const cudaFuncAttribute attr = cudaFuncAttributeMaxDynamicSharedMemorySize;
        CUZK_TRY(cuzk__cuda_check_stage(dev, stage<E, NT>::SIZE, err));
        CUZK_TRY(cuzk__cuda_check_stage(dev, stage<typename G::E, POINT_THREADS>::SIZE, err));
        const int bytes = (int)shared(dev), point_bytes = (int)point_shared(dev);
        CUZK_CUDA(cudaFuncSetAttribute(accumulate_lists<E, NT, MINB>, attr, bytes));
        CUZK_CUDA(cudaFuncSetAttribute(choose<E, NT, MINB>, attr, bytes));
        CUZK_CUDA(cudaFuncSetAttribute(shift_points<G>, attr, point_bytes));
        CUZK_CUDA(cudaFuncSetAttribute(add_constant<G>, attr, point_bytes));
        CUZK_CUDA(cudaFuncSetAttribute(merge_lists<G>, attr, point_bytes));
        return CUZK_OK;
    }

    static cuzk_status run_accumulate(const cuzk_cuda *dev, const void *args, int grid,
                                      cuzk_err *err) {
        accumulate_lists<E, NT, MINB>
            <<<grid, NT, shared(dev), dev->stream>>>(*(const list_args *)args);
        CUZK_CUDA_LAUNCHED();
        return CUZK_OK;
    }

    static cuzk_status run_choose(const cuzk_cuda *dev, const void *args, int grid, cuzk_err *err) {
        choose<E, NT, MINB><<<grid, NT, shared(dev), dev->stream>>>(*(const choose_args *)args);
        CUZK_CUDA_LAUNCHED();
        return CUZK_OK;
    }

    static cuzk_status sum_points(const cuzk_cuda *dev, const void *points, const uint32_t *count,
                                  size_t most, void *partial, void *result, cuzk_err *err) {
        const size_t each = block_summer<G>::COUNT * SUM_SERIAL;
        const size_t want = (most + each - 1) / each;
        const size_t room = CUZK__SUM_PARTIALS;
        const unsigned blocks = (unsigned)(want < room ? want : room);
        sum_affine<G><<<blocks, SUM_THREADS, SUM_SHARED, dev->stream>>>((const affine *)points,
                                                                        count, (xyzz *)partial);
        CUZK_CUDA_LAUNCHED();
        sum_partials<G><<<1, SUM_THREADS, SUM_SHARED, dev->stream>>>((const xyzz *)partial, blocks,
                                                                     (xyzz *)result);
        CUZK_CUDA_LAUNCHED();
        return CUZK_OK;
    }

    static cuzk_status merge(const cuzk_cuda *dev, void *sums, const uint32_t *offset,
                             uint32_t buckets, cuzk_err *err) {
        const unsigned grid = (buckets + POINT_THREADS - 1) / POINT_THREADS;
        merge_lists<G><<<grid, POINT_THREADS, point_shared(dev), dev->stream>>>(
            (affine *)sums, offset, buckets, dev->counters + CUZK__LISTS_CUT);
        CUZK_CUDA_LAUNCHED();
        return CUZK_OK;
    }

    static cuzk_status reduce(const cuzk_cuda *dev, const void *sums, const void *folded,
                              const uint32_t *offset, const cuzk__msm_square *s, void *lines,
                              void *result, cuzk_err *err) {
        const int bytes = REDUCE_COUNT * (int)sizeof(xyzz), lg_threads = REDUCE_COUNT < 128 ? 6 : 7;
        int held;
        CUZK_CUDA(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&held, sum_lines<G>, POINT_THREADS,
                                                                (size_t)bytes));
        const lines_cut cut =
            choose_lines(*s, lg_threads, (uint32_t)(dev->info.sms * (held ? held : 1)));
        sum_lines<G><<<dim3(cut.blocks(), s->sets), POINT_THREADS, bytes, dev->stream>>>(
            (const affine *)sums, (const affine *)folded, offset,
            dev->counters + CUZK__BUCKETS_EMPTY, cut, (xyzz *)lines);
        CUZK_CUDA_LAUNCHED();
        sum_bits<G><<<dim3(1 + (unsigned)(s->lg_high + s->lg_low), s->sets), POINT_THREADS, bytes,
                      dev->stream>>>((const xyzz *)lines, s->lg_high, s->lg_low, (xyzz *)result);
        CUZK_CUDA_LAUNCHED();
        return CUZK_OK;
    }

    static cuzk_status shift(const cuzk_cuda *dev, const void *in, void *out, size_t n,
                             int doublings, cuzk_err *err) {
        const unsigned grid = (unsigned)((n + POINT_THREADS - 1) / POINT_THREADS);
        shift_points<G><<<grid, POINT_THREADS, point_shared(dev), dev->stream>>>(
            (const affine *)in, (affine *)out, n, doublings);
        CUZK_CUDA_LAUNCHED();
        return CUZK_OK;
    }

    static cuzk_status plus(const cuzk_cuda *dev, const void *in, void *out, size_t n,
                            const void *q, cuzk_err *err) {
        affine point;
        memcpy(&point, q, sizeof point);
        const unsigned grid = (unsigned)((n + POINT_THREADS - 1) / POINT_THREADS);
        add_constant<G><<<grid, POINT_THREADS, point_shared(dev), dev->stream>>>(
            (const affine *)in, (affine *)out, n, point);
        CUZK_CUDA_LAUNCHED();
        return CUZK_OK;
    }

    static constexpr cuzk__cuda_group_ops ops() {
        return {sizeof(affine), sizeof(xyzz), NT / E::LANES, blocks, prepare,
                run_accumulate, run_choose,   sum_points,    merge,  reduce,
                shift,          plus,         G::combine};
    }
};

} // namespace cuzk_gpu

#endif
