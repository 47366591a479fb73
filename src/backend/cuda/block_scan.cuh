/* Prefix sums within a block of NT threads. */
#ifndef CUZK_BACKEND_CUDA_BLOCK_SCAN_CUH
#define CUZK_BACKEND_CUDA_BLOCK_SCAN_CUH

#include <stdint.h>

namespace cuzk_gpu {

#ifdef __CUDACC__
/* Sum of v over the threads before; *total: over all. warps: NT / 32 words of shared memory. */
template <int NT>
static __device__ uint32_t prefix_sum(uint32_t v, uint32_t *warps, uint32_t *total) {
    const uint32_t lane = threadIdx.x & 31;
    uint32_t sum = v;
    for (int d = 1; d < 32; d <<= 1) {
        const uint32_t up = __shfl_up_sync(0xffffffffu, sum, d);
        if (lane >= (uint32_t)d) sum += up;
    }
    if (lane == 31) warps[threadIdx.x >> 5] = sum;
    __syncthreads();
    uint32_t all = lane < NT / 32 ? warps[lane] : 0;
    for (int d = 1; d < NT / 32; d <<= 1) {
        const uint32_t up = __shfl_up_sync(0xffffffffu, all, d);
        if (lane >= (uint32_t)d) all += up;
    }
    const uint32_t before = __shfl_sync(0xffffffffu, all, (int)(threadIdx.x >> 5) - 1);
    *total = __shfl_sync(0xffffffffu, all, NT / 32 - 1);
    __syncthreads();
    return (threadIdx.x < 32 ? 0 : before) + sum - v;
}

/* c[k] = c[0] + ... + c[k-1], in shared memory, for k <= count: c[count] becomes the sum of all. */
template <int NT>
static __device__ void exclusive_scan(uint32_t *c, uint32_t count, uint32_t *warps) {
    const uint32_t each = (count + NT - 1) / NT, from = threadIdx.x * each;
    const uint32_t to = from + each < count ? from + each : count;
    uint32_t sum = 0, total;
    for (uint32_t k = from; k < to; k++)
        sum += c[k];
    uint32_t before = prefix_sum<NT>(sum, warps, &total);
    for (uint32_t k = from; k < to; k++) {
        const uint32_t own = c[k];
        c[k] = before;
        before += own;
    }
    if (threadIdx.x == 0) c[count] = total;
    __syncthreads();
}
#endif

} // namespace cuzk_gpu

#endif
