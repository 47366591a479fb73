/* See msm_lists.cuh. */
#include "backend/cuda/msm_lists.cuh"

#include <cub/device/device_radix_sort.cuh>
#include <cub/device/device_scan.cuh>

namespace {

struct scalar_args {
    cuzk_u256 r, half; /* modulus, r/2 rounded down */
    uint64_t bias[5];  /* sum of 2^(window-1) at each window */
    const cuzk_u256 *scalars;
    uint64_t *out;
    uint32_t *flips;
    size_t n;
};

__device__ __forceinline__ bool below(const cuzk_u256 &a, const cuzk_u256 &b) {
    uint64_t borrow = 0, d;
    for (int i = 0; i < 4; i++)
        borrow = cuzk_subb(&d, a.l[i], b.l[i], borrow);
    return borrow != 0;
}

/* Signed digits without carries from window to window: s + sum_w 2^(c-1) 2^(cw) has unsigned
 * digits that are the signed ones plus 2^(c-1). They lie in [-2^(c-1), 2^(c-1)); no carry leaves
 * the top window, as s <= r/2 < 2^(c windows - 1). Words go to planes, so that a window's digits
 * are read as whole lines. */
__global__ void bias_scalars(const __grid_constant__ scalar_args a) {
    const size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x;
    bool flip = false;
    if (i < a.n) {
        cuzk_u256 s = a.scalars[i];
        flip = below(a.half, s);
        if (flip) {
            uint64_t borrow = 0;
            for (int k = 0; k < 4; k++)
                borrow = cuzk_subb(&s.l[k], a.r.l[k], s.l[k], borrow);
        }
        uint64_t carry = 0, w;
        for (int k = 0; k < 4; k++) {
            carry = cuzk_addc(&w, s.l[k], a.bias[k], carry);
            a.out[(size_t)k * a.n + i] = w;
        }
        if (a.bias[4] | carry) a.out[4 * a.n + i] = a.bias[4] + carry;
    }
    const uint32_t flips = __ballot_sync(0xffffffffu, flip);
    if ((threadIdx.x & 31) == 0 && i < a.n) a.flips[i / 32] = flips;
}

enum { MOST_WINDOWS = 64 };

struct digit_args {
    const uint64_t *bias;
    const uint32_t *flips, *map;
    uint32_t *keys, *values;
    size_t n;
    int window;
    uint32_t none; /* key of a zero digit: behind all buckets */
    struct {
        uint16_t bit, set; /* of the batch */
        uint32_t base;     /* of the base numbers: multiple * stride */
    } of[MOST_WINDOWS];
};

/* Row y of the grid: one window's digits. */
__global__ void digits(const __grid_constant__ digit_args a) {
    const size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x;
    if (i >= a.n) return;
    const int bit = a.of[blockIdx.y].bit, shift = bit % 64;
    const uint64_t *w = a.bias + (size_t)(bit / 64) * a.n + i;
    uint64_t v = w[0] >> shift;
    if (shift + a.window > 64) v |= w[a.n] << (64 - shift);
    const bool flip = a.flips[i / 32] >> (i % 32) & 1;
    const int32_t d = (int32_t)(v & (((uint64_t)1 << a.window) - 1)) - (1 << (a.window - 1));
    const size_t at = blockIdx.y * a.n + i;
    const uint32_t bucket0 = (uint32_t)a.of[blockIdx.y].set << (a.window - 1);
    a.keys[at] = d == 0 ? a.none : bucket0 + (uint32_t)(d < 0 ? -d : d) - 1;
    const uint32_t point = a.map ? a.map[i] : (uint32_t)i;
    a.values[at] = (a.of[blockIdx.y].base + point) | ((d < 0) != flip ? 0x80000000u : 0);
}

/* first[b] = origin + number of keys below b. */
__global__ void find_buckets(const uint32_t *keys, uint32_t count, uint32_t buckets,
                             uint32_t origin, uint32_t *first) {
    const uint32_t b = blockIdx.x * blockDim.x + threadIdx.x;
    if (b > buckets) return;
    uint32_t low = 0, high = count;
    while (low < high) {
        const uint32_t mid = low + (high - low) / 2;
        if (keys[mid] < b)
            low = mid + 1;
        else
            high = mid;
    }
    first[b] = origin + low;
}

/* Where bucket b of all begins and ends. */
__device__ __forceinline__ uint2 bucket_range(const uint32_t *first, uint32_t per_batch,
                                              uint32_t b) {
    const uint32_t at = b + b / per_batch;
    return make_uint2(first[at], first[at + 1]);
}

/* Lists of bucket b. */
__global__ void count_lists(const uint32_t *first, uint32_t per_batch, uint32_t buckets,
                            uint32_t cap, uint32_t *count) {
    const uint32_t b = blockIdx.x * blockDim.x + threadIdx.x;
    uint32_t k = 0;
    if (b < buckets) {
        const uint2 r = bucket_range(first, per_batch, b);
        k = (r.y - r.x + cap - 1) / cap;
    }
    if (b <= buckets) count[b] = k;
}

/* The range of list v: an even share of its bucket, which is found by search. */
__device__ __forceinline__ uint2 list_range(const uint32_t *first, uint32_t per_batch,
                                            const uint32_t *offset, uint32_t buckets, uint32_t v) {
    uint32_t low = 0, high = buckets; /* offset[low] <= v < offset[high] */
    while (high - low > 1) {
        const uint32_t mid = low + (high - low) / 2;
        if (offset[mid] <= v)
            low = mid;
        else
            high = mid;
    }
    const uint2 r = bucket_range(first, per_batch, low);
    const uint64_t len = r.y - r.x, parts = offset[low + 1] - offset[low], k = v - offset[low];
    return make_uint2(r.x + (uint32_t)(len * k / parts), r.x + (uint32_t)(len * (k + 1) / parts));
}

/* Threads beyond the last list make empty ones, which sorting moves to the end. */
__global__ void list_lengths(const uint32_t *first, uint32_t per_batch, const uint32_t *offset,
                             uint32_t buckets, uint32_t bound, uint32_t *key, uint32_t *slot,
                             uint2 *unordered) {
    const uint32_t v = blockIdx.x * blockDim.x + threadIdx.x;
    if (v >= bound) return;
    uint2 r = make_uint2(0, 0);
    if (v < offset[buckets]) r = list_range(first, per_batch, offset, buckets, v);
    key[v] = r.y - r.x;
    slot[v] = v;
    unordered[v] = r;
}

__global__ void rank_lists(const uint2 *unordered, const uint32_t *slot, uint32_t bound,
                           uint2 *ranges) {
    const uint32_t k = blockIdx.x * blockDim.x + threadIdx.x;
    if (k < bound) ranges[k] = unordered[slot[k]];
}

enum { PLAN_THREADS = 1024, PLAN_UNITS = 8192 };

struct plan_args {
    const uint2 *ranges;
    const uint32_t *lists; /* their number */
    uint32_t unit;         /* threads of a block */
    uint32_t count, most;
    uint4 *chunks;
};

/* Exclusive prefix sum over the block; *total: the sum of all. */
__device__ uint32_t prefix_sum(uint32_t v, uint32_t *warps, uint32_t *total) {
    const uint32_t lane = threadIdx.x & 31;
    uint32_t sum = v, before = 0, all = 0;
    for (int d = 1; d < 32; d <<= 1) {
        const uint32_t up = __shfl_up_sync(0xffffffffu, sum, d);
        if (lane >= (uint32_t)d) sum += up;
    }
    if (lane == 31) warps[threadIdx.x >> 5] = sum;
    __syncthreads();
    for (uint32_t w = 0; w < PLAN_THREADS / 32; w++) {
        if (w < threadIdx.x >> 5) before += warps[w];
        all += warps[w];
    }
    __syncthreads();
    *total = all;
    return before + sum - v;
}

/* Lists for each thread of the chunk that begins with unit u, which takes `bound` of work: rounds
 * times lists, and an inversion a round, which takes as long as one and a half additions. */
__device__ __forceinline__ uint32_t chunk_lists(float bound, float inverse, uint32_t most,
                                                uint32_t left) {
    const float m = bound * inverse - 1.5f;
    const uint32_t k = m < 1 ? 1 : m > (float)most ? most : (uint32_t)m;
    return k < left ? k : left;
}

/* One block: chunks of equal work. Each thread tries a bound of a chunk's work; the least one is
 * taken with which `count` chunks suffice. */
__global__ __launch_bounds__(PLAN_THREADS) void plan_chunks(const __grid_constant__ plan_args a) {
    __shared__ float inverse[PLAN_UNITS]; /* 1 / length of the list at each 2^lg units */
    __shared__ float work;
    __shared__ uint32_t warps[PLAN_THREADS / 32], best, used;
    const uint32_t t = threadIdx.x, lists = *a.lists;
    const uint32_t units = (lists + a.unit - 1) / a.unit;
    int lg = 0;
    while (units && (units - 1) >> lg >= PLAN_UNITS)
        lg++;
    if (t == 0) {
        work = 0;
        used = 0;
        best = PLAN_THREADS - 1;
    }
    __syncthreads();
    float sum = 0;
    for (uint32_t u = t << lg; u < units; u += PLAN_THREADS << lg) {
        const uint2 r = a.ranges[(size_t)u * a.unit];
        const float length = (float)(r.y - r.x);
        inverse[u >> lg] = 1.0f / length;
        sum += length;
    }
    for (int d = 16; d; d >>= 1)
        sum += __shfl_xor_sync(0xffffffffu, sum, d);
    if ((t & 31) == 0) atomicAdd(&work, sum);
    __syncthreads();
    if (units) {
        const float low = work * (float)(1 << lg) / (float)a.count;
        const float high = fmaxf(2 * low, (float)(a.most + 2) / inverse[0]);
        const float bound = low * exp2f(log2f(high / low) * (float)t / (PLAN_THREADS - 1));
        uint32_t u = 0;
        for (uint32_t c = 0; c < a.count && u < units; c++)
            u += chunk_lists(bound, inverse[u >> lg], a.most, units - u);
        if (u >= units) atomicMin(&best, t);
        __syncthreads();
        if (t == best) {
            uint32_t c = 0;
            for (u = 0; c < a.count && u < units; c++) {
                const uint32_t m = chunk_lists(bound, inverse[u >> lg], a.most, units - u);
                a.chunks[c] = make_uint4(0, 0, u * a.unit, m);
                u += m;
            }
            used = c;
        }
    }
    __syncthreads();
    uint32_t begin = 0;
    for (uint32_t c0 = 0; c0 <= a.count; c0 += PLAN_THREADS) {
        const uint32_t c = c0 + t;
        uint4 chunk = make_uint4(lists, 0, units * a.unit, 0);
        if (c < used) {
            chunk = a.chunks[c];
            const uint2 r = a.ranges[chunk.z];
            chunk.y = r.y - r.x;
        }
        uint32_t total;
        const uint32_t before = prefix_sum(chunk.y * chunk.w * a.unit, warps, &total);
        if (c < used) chunk.x = begin + before;
        if (c <= a.count) a.chunks[c] = chunk;
        begin += total;
    }
}

/* Thread k: the list of rank k, behind the last list an empty one. */
__global__ void turn_lists(const uint32_t *index, const uint2 *ranges, uint32_t unit,
                           uint32_t count, const uint4 *chunks, uint32_t *words) {
    const uint32_t k = blockIdx.x * blockDim.x + threadIdx.x;
    uint32_t low = 0, high = count; /* chunk low begins at or before k, chunk high behind it */
    while (high - low > 1) {
        const uint32_t mid = low + (high - low) / 2;
        if (chunks[mid].z <= k)
            low = mid;
        else
            high = mid;
    }
    const uint4 chunk = chunks[low];
    const uint32_t width = chunk.w * unit;
    if (k - chunk.z >= width) return;
    const uint2 r = k < chunks[count].x ? ranges[k] : make_uint2(0, 0);
    uint32_t *out = words + chunk.x + (k - chunk.z);
#pragma unroll 4
    for (uint32_t q = 0; q < chunk.y; q++) {
        uint32_t e = r.x + q;
        e = e >= r.y ? CUZK__NO_ELEMENT : __ldg(index + e);
        out[(size_t)q * width] = e;
    }
}

int bits_of(uint32_t v) {
    int b = 0;
    while (v >> b)
        b++;
    return b;
}

unsigned blocks_for(size_t threads) {
    return (unsigned)((threads + 255) / 256);
}

} // namespace

cuzk_status cuzk__msm_temp_bytes(size_t pairs, int key_bits, size_t lists, size_t buckets,
                                 size_t *bytes, cuzk_err *err) {
    uint32_t *none = NULL;
    size_t a = 0, b = 0, c = 0;
    CUZK_CUDA(cub::DeviceRadixSort::SortPairs(NULL, a, none, none, none, none, (int64_t)pairs, 0,
                                              key_bits));
    CUZK_CUDA(cub::DeviceRadixSort::SortPairsDescending(NULL, b, none, none, none, none,
                                                        (int64_t)lists, 0, 32));
    CUZK_CUDA(cub::DeviceScan::ExclusiveSum(NULL, c, none, none, (int64_t)buckets + 1));
    *bytes = a > b ? (a > c ? a : c) : (b > c ? b : c);
    return CUZK_OK;
}

cuzk_status cuzk__msm_prepare_scalars(const cuzk_cuda *dev, const cuzk__msm_shape *shape,
                                      const cuzk_u256 *modulus, const void *scalars,
                                      const cuzk__msm_sorter *sorter, cuzk_err *err) {
    scalar_args a = {};
    a.r = *modulus;
    for (int i = 0; i < 4; i++)
        a.half.l[i] = modulus->l[i] >> 1 | (i < 3 ? modulus->l[i + 1] << 63 : 0);
    for (int w = 0; w < shape->windows; w++) {
        const int bit = w * shape->window + shape->window - 1;
        a.bias[bit / 64] |= (uint64_t)1 << (bit % 64);
    }
    a.scalars = (const cuzk_u256 *)scalars;
    a.out = sorter->bias;
    a.flips = sorter->flips;
    a.n = shape->n;
    bias_scalars<<<blocks_for(a.n), 256, 0, dev->stream>>>(a);
    CUZK_CUDA_LAUNCHED();
    return CUZK_OK;
}

/* Windows of a set: set, set + sets, ... */
static int windows_of(const cuzk__msm_shape *s, int set) {
    return (s->windows - set + s->sets - 1) / s->sets;
}

size_t cuzk__msm_digits_of(const cuzk__msm_shape *shape, int first_set, int count) {
    size_t digits = 0;
    for (int k = 0; k < count; k++)
        digits += shape->n * (size_t)windows_of(shape, first_set + k);
    return digits;
}

cuzk_status cuzk__msm_sort_sets(const cuzk_cuda *dev, const cuzk__msm_shape *shape, int first_set,
                                int count, const cuzk__msm_sorter *sorter, uint32_t *index,
                                uint32_t origin, uint32_t *first, cuzk_err *err) {
    const uint32_t buckets = shape->buckets * (uint32_t)count;
    digit_args a = {};
    a.bias = sorter->bias;
    a.flips = sorter->flips;
    a.map = shape->map;
    a.keys = sorter->keys[0];
    a.values = sorter->values;
    a.n = shape->n;
    a.window = shape->window;
    a.none = buckets;
    unsigned rows = 0;
    for (int k = 0; k < count; k++) {
        for (int m = 0; m < windows_of(shape, first_set + k); m++) {
            a.of[rows].bit = (uint16_t)((m * shape->sets + first_set + k) * shape->window);
            a.of[rows].set = (uint16_t)k;
            a.of[rows++].base = (uint32_t)((size_t)m * shape->stride);
        }
    }
    digits<<<dim3(blocks_for(a.n), rows), 256, 0, dev->stream>>>(a);
    CUZK_CUDA_LAUNCHED();
    const size_t done = rows * shape->n;
    size_t temp = sorter->temp_bytes;
    CUZK_CUDA(cub::DeviceRadixSort::SortPairs(sorter->temp, temp, sorter->keys[0], sorter->keys[1],
                                              sorter->values, index + origin, (int64_t)done, 0,
                                              bits_of(buckets), dev->stream));
    find_buckets<<<blocks_for((size_t)buckets + 1), 256, 0, dev->stream>>>(
        sorter->keys[1], (uint32_t)done, buckets, origin, first);
    CUZK_CUDA_LAUNCHED();
    return CUZK_OK;
}

cuzk_status cuzk__msm_turn_lists(const cuzk_cuda *dev, const uint32_t *index,
                                 const cuzk__msm_lists *l, const uint32_t *lists, size_t bound,
                                 const cuzk__msm_cut *cut, uint32_t *words, uint4 *chunks,
                                 cuzk_err *err) {
    const plan_args a = {l->ranges, lists, cut->unit, cut->count, cut->most, chunks};
    plan_chunks<<<1, PLAN_THREADS, 0, dev->stream>>>(a);
    CUZK_CUDA_LAUNCHED();
    turn_lists<<<blocks_for(bound + cut->unit), 256, 0, dev->stream>>>(index, l->ranges, cut->unit,
                                                                       cut->count, chunks, words);
    CUZK_CUDA_LAUNCHED();
    return CUZK_OK;
}

cuzk_status cuzk__msm_make_lists(const cuzk_cuda *dev, const uint32_t *first, uint32_t per_batch,
                                 uint32_t buckets, uint32_t cap, size_t bound,
                                 const cuzk__msm_lists *l, const cuzk__msm_sorter *sorter,
                                 cuzk_err *err) {
    if (bound > l->max_lists)
        return cuzk_err_set(err, CUZK_STATUS_BUG, "%zu lists, room for %zu", bound, l->max_lists);
    count_lists<<<blocks_for((size_t)buckets + 1), 256, 0, dev->stream>>>(first, per_batch, buckets,
                                                                          cap, l->offset);
    CUZK_CUDA_LAUNCHED();
    size_t temp = sorter->temp_bytes;
    CUZK_CUDA(cub::DeviceScan::ExclusiveSum(sorter->temp, temp, l->offset, l->offset,
                                            (int64_t)buckets + 1, dev->stream));
    list_lengths<<<blocks_for(bound), 256, 0, dev->stream>>>(
        first, per_batch, l->offset, buckets, (uint32_t)bound, l->key[0], l->slot[0], l->unordered);
    CUZK_CUDA_LAUNCHED();
    temp = sorter->temp_bytes;
    CUZK_CUDA(cub::DeviceRadixSort::SortPairsDescending(sorter->temp, temp, l->key[0], l->key[1],
                                                        l->slot[0], l->slot[1], (int64_t)bound, 0,
                                                        bits_of(cap), dev->stream));
    rank_lists<<<blocks_for(bound), 256, 0, dev->stream>>>(l->unordered, l->slot[1],
                                                           (uint32_t)bound, l->ranges);
    CUZK_CUDA_LAUNCHED();
    return CUZK_OK;
}
