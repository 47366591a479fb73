/* From witness values to lists of points (prover.cuh). Each thread looks at one base; a block finds
 * room for its entries with a scan and one addition to the list's counter, so the order within a
 * list changes from run to run, and its sum does not. */
#include "backend/cuda/digits.cuh"
#include "backend/cuda/prover.cuh"

using namespace cuzk_gpu;

namespace {

enum { CHOOSE_THREADS = 256 };

/* Exclusive sum over the block of v, whose total goes to *total. Two halves of v of 16 bits may be
 * two sums. shared: one word a warp. */
__device__ __forceinline__ uint32_t block_scan(uint32_t v, uint32_t *shared, uint32_t *total) {
    const unsigned all = 0xffffffffu;
    const int lane = (int)threadIdx.x & 31, warp = (int)threadIdx.x >> 5;
    uint32_t sum = v;
    for (int d = 1; d < 32; d <<= 1) {
        const uint32_t up = __shfl_up_sync(all, sum, d);
        if (lane >= d) sum += up;
    }
    if (lane == 31) shared[warp] = sum;
    __syncthreads();
    uint32_t before = 0, end = 0;
    for (int k = 0; k < CHOOSE_THREADS / 32; k++) {
        const uint32_t s = shared[k];
        if (k < warp) before += s;
        end += s;
    }
    *total = end;
    return before + sum - v;
}

__device__ __forceinline__ bool is_small(const value &v) {
    return (v.w[1] | v.w[2] | v.w[3] | v.w[4] | v.w[5] | v.w[6] | v.w[7]) == 0;
}

/* Of a base that has no full value: whether it counts. */
__device__ __forceinline__ bool chosen(const cuzk__choice &c, uint32_t i) {
    const uint32_t slot = c.slots[i];
    if (slot == CUZK__SLOT_ONE) return true;
    const uint32_t bit = slot & ~CUZK__SLOT_BIT;
    return c.bits[bit / 32] >> (bit % 32) & 1;
}

__global__
__launch_bounds__(CHOOSE_THREADS) void choose_digits(const __grid_constant__ cuzk__choice c,
                                                     int window, int windows) {
    __shared__ uint32_t shared[CHOOSE_THREADS / 32], base;
    const uint32_t i = blockIdx.x * CHOOSE_THREADS + threadIdx.x;
    const bool full = i < c.n_full;
    const uint32_t plane = (uint32_t)windows * c.n_full;
    value v = {};
    uint32_t count = 0;
    if (full) {
        v = load_value(c.full, c.slots ? c.slots[i] : i);
        value t = v;
        int carry = 0;
        if (is_small(t) && t.w[0] <= 1)
            count = t.w[0];
        else
            for (int w = 0; w < windows; w++)
                count += take_digit(t, window, carry) != 0;
    } else if (i < c.n) {
        count = chosen(c, i);
    }
    uint32_t total;
    const uint32_t before = block_scan(count, shared, &total);
    if (threadIdx.x == 0) base = total ? atomicAdd(c.counts, total) : 0;
    __syncthreads();
    if (count == 0) return;
    uint32_t *out = c.list + base + before;
    if (!full) {
        *out = (plane << (window - 1)) + (i - c.n_full);
    } else if (is_small(v) && v.w[0] == 1) {
        *out = i;
    } else {
        int carry = 0;
        for (int w = 0; w < windows; w++) {
            const int d = take_digit(v, window, carry);
            if (d == 0) continue;
            const uint32_t m = (uint32_t)(d < 0 ? -d : d) - 1;
            *out++ = (m * plane + (uint32_t)w * c.n_full + i) | (d < 0 ? 0x80000000u : 0);
        }
    }
}

__global__
__launch_bounds__(CHOOSE_THREADS) void choose_ones(const __grid_constant__ cuzk__choice c,
                                                   uint4 *rest, uint32_t *map) {
    __shared__ uint32_t shared[CHOOSE_THREADS / 32], base[2];
    const uint32_t i = blockIdx.x * CHOOSE_THREADS + threadIdx.x;
    value v = {};
    bool one = false, other = false;
    if (i < c.n_full) {
        v = load_value(c.full, c.slots ? c.slots[i] : i);
        const bool small = is_small(v);
        one = small && v.w[0] == 1;
        other = !small || v.w[0] > 1;
    } else if (i < c.n) {
        one = chosen(c, i);
    }
    uint32_t total;
    const uint32_t before = block_scan((uint32_t)one | (uint32_t)other << 16, shared, &total);
    if (threadIdx.x < 2) {
        const uint32_t mine = threadIdx.x ? total >> 16 : total & 0xffff;
        base[threadIdx.x] = mine ? atomicAdd(c.counts + threadIdx.x, mine) : 0;
    }
    __syncthreads();
    if (one) c.list[base[0] + (before & 0xffff)] = i;
    if (other) {
        const uint32_t at = base[1] + (before >> 16);
        map[at] = i;
        rest[2 * (size_t)at] = make_uint4(v.w[0], v.w[1], v.w[2], v.w[3]);
        rest[2 * (size_t)at + 1] = make_uint4(v.w[4], v.w[5], v.w[6], v.w[7]);
    }
}

unsigned blocks_for(uint32_t n) {
    return (n + CHOOSE_THREADS - 1) / CHOOSE_THREADS;
}

} // namespace

cuzk_status cuzk__choose_digits(const cuzk_cuda *dev, const cuzk__choice *c, unsigned window,
                                unsigned windows, cuzk_err *err) {
    choose_digits<<<blocks_for(c->n), CHOOSE_THREADS, 0, dev->stream>>>(*c, (int)window,
                                                                        (int)windows);
    CUZK_CUDA_LAUNCHED();
    return CUZK_OK;
}

cuzk_status cuzk__choose_ones(const cuzk_cuda *dev, const cuzk__choice *c, uint4 *rest,
                              uint32_t *map, cuzk_err *err) {
    choose_ones<<<blocks_for(c->n), CHOOSE_THREADS, 0, dev->stream>>>(*c, rest, map);
    CUZK_CUDA_LAUNCHED();
    return CUZK_OK;
}
