/* From witness values to lists of points (prover.cuh). Each thread looks at one base; a block finds
 * room for its entries with a scan and one addition to the list's counter, so the order within a
 * list changes from run to run, and its sum does not. */
#include "backend/cuda/digits.cuh"
#include "backend/cuda/prover.cuh"
#include "backend/cuda/ptx.cuh"

using namespace cuzk_gpu;

namespace {

enum {
    CHOOSE_THREADS = 256,
    ONES_EACH = 8 /* bases of a thread, side by side: fewer blocks take turns at the counters */
};

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

/* Of the thread's bases, first and up: a bit of *one for each whose value is 1, of *other for each
 * with another that is not 0. */
__device__ __forceinline__ void look(const cuzk__choice &c, uint32_t first, uint32_t *one,
                                     uint32_t *other) {
    *one = *other = 0;
    if (first >= c.n_full && first + ONES_EACH <= c.n) { /* nearly always: loads at once */
        uint32_t word[ONES_EACH], slot[ONES_EACH];
        CUZK_UNROLL for (int k = 0; k < ONES_EACH; k += 4) {
            const uint4 s = *(const uint4 *)(c.slots + first + k);
            slot[k] = s.x, slot[k + 1] = s.y, slot[k + 2] = s.z, slot[k + 3] = s.w;
        }
        CUZK_UNROLL for (int k = 0; k < ONES_EACH; k++) word[k] =
            slot[k] == CUZK__SLOT_ONE ? ~0u : c.bits[(slot[k] & ~CUZK__SLOT_BIT) / 32];
        CUZK_UNROLL for (int k = 0; k < ONES_EACH; k++) *one |= (word[k] >> slot[k] % 32 & 1) << k;
        return;
    }
    for (uint32_t k = 0; k < ONES_EACH && first + k < c.n; k++) {
        const uint32_t i = first + k;
        if (i >= c.n_full) {
            *one |= (uint32_t)chosen(c, i) << k;
            continue;
        }
        const value v = load_value(c.full, c.slots ? c.slots[i] : i);
        const bool small = is_small(v);
        *one |= (uint32_t)(small && v.w[0] == 1) << k;
        *other |= (uint32_t)(!small || v.w[0] > 1) << k;
    }
}

__global__
__launch_bounds__(CHOOSE_THREADS) void choose_ones(const __grid_constant__ cuzk__choice c,
                                                   uint4 *rest, uint32_t *map) {
    __shared__ uint32_t shared[CHOOSE_THREADS / 32], base[2];
    const uint32_t first = (blockIdx.x * CHOOSE_THREADS + threadIdx.x) * ONES_EACH;
    uint32_t one, other, total;
    look(c, first, &one, &other);
    const uint32_t before =
        block_scan((uint32_t)__popc(one) | (uint32_t)__popc(other) << 16, shared, &total);
    if (threadIdx.x < 2) {
        const uint32_t mine = threadIdx.x ? total >> 16 : total & 0xffff;
        base[threadIdx.x] = mine ? atomicAdd(c.counts + threadIdx.x, mine) : 0;
    }
    __syncthreads();
    uint32_t at = base[0] + (before & 0xffff);
    for (; one; one &= one - 1)
        c.list[at++] = first + (uint32_t)__ffs((int)one) - 1;
    at = base[1] + (before >> 16);
    for (; other; other &= other - 1, at++) {
        const uint32_t i = first + (uint32_t)__ffs((int)other) - 1;
        const value v = load_value(c.full, c.slots ? c.slots[i] : i);
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
    choose_ones<<<blocks_for((c->n + ONES_EACH - 1) / ONES_EACH), CHOOSE_THREADS, 0, dev->stream>>>(
        *c, rest, map);
    CUZK_CUDA_LAUNCHED();
    return CUZK_OK;
}
