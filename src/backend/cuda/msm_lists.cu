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

struct digit_args {
    const uint64_t *bias;
    const uint32_t *flips, *map;
    uint32_t *keys, *values;
    size_t n;
    int bit, window;
    uint32_t base;          /* of the base numbers: multiple * n */
    uint32_t bucket0, none; /* number of the set's first bucket; key of a zero digit: behind all */
};

/* One window's digits. */
__global__ void digits(const __grid_constant__ digit_args a) {
    const size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x;
    if (i >= a.n) return;
    const int shift = a.bit % 64;
    const uint64_t *w = a.bias + (size_t)(a.bit / 64) * a.n + i;
    uint64_t v = w[0] >> shift;
    if (shift + a.window > 64) v |= w[a.n] << (64 - shift);
    const bool flip = a.flips[i / 32] >> (i % 32) & 1;
    const int32_t d = (int32_t)(v & (((uint64_t)1 << a.window) - 1)) - (1 << (a.window - 1));
    a.keys[i] = d == 0 ? a.none : a.bucket0 + (uint32_t)(d < 0 ? -d : d) - 1;
    const uint32_t point = a.map ? a.map[i] : (uint32_t)i;
    a.values[i] = (a.base + point) | ((d < 0) != flip ? 0x80000000u : 0);
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

/* Lists of bucket b, and the largest such number. */
__global__ void count_lists(const uint32_t *first, uint32_t per_batch, uint32_t buckets,
                            uint32_t cap, uint32_t least, uint32_t *count, unsigned *most) {
    const uint32_t b = blockIdx.x * blockDim.x + threadIdx.x;
    uint32_t k = 0;
    if (b < buckets) {
        const uint2 r = bucket_range(first, per_batch, b);
        k = r.y - r.x < least ? 0 : (r.y - r.x + cap - 1) / cap;
    }
    if (b <= buckets) count[b] = k;
    const uint32_t top = __reduce_max_sync(0xffffffffu, k);
    if ((threadIdx.x & 31) == 0 && top > 1) atomicMax(most, top);
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

__global__ void list_lengths(const uint32_t *first, uint32_t per_batch, const uint32_t *offset,
                             uint32_t buckets, uint32_t lists, uint32_t *key, uint32_t *slot,
                             uint2 *unordered) {
    const uint32_t v = blockIdx.x * blockDim.x + threadIdx.x;
    if (v >= lists) return;
    const uint2 r = list_range(first, per_batch, offset, buckets, v);
    key[v] = r.y - r.x;
    slot[v] = v;
    unordered[v] = r;
}

__global__ void rank_lists(const uint2 *unordered, const uint32_t *slot, uint32_t lists,
                           uint2 *ranges) {
    const uint32_t k = blockIdx.x * blockDim.x + threadIdx.x;
    if (k < lists) ranges[k] = unordered[slot[k]];
}

/* One block: chunks[c] for all chunks, whose words are laid one behind another. */
__global__ __launch_bounds__(1024) void place_chunks(const uint2 *ranges, uint32_t count,
                                                     uint32_t per_chunk, uint2 *chunks) {
    __shared__ uint32_t warps[32];
    __shared__ uint32_t before;
    const uint32_t t = threadIdx.x, lane = t & 31;
    if (t == 0) before = 0;
    for (uint32_t c0 = 0; c0 < count; c0 += 1024) {
        const uint32_t c = c0 + t;
        uint32_t rounds = 0;
        if (c < count) {
            const uint2 r = ranges[(size_t)c * per_chunk];
            rounds = r.y - r.x;
        }
        uint32_t sum = rounds;
        for (int d = 1; d < 32; d <<= 1) {
            const uint32_t up = __shfl_up_sync(0xffffffffu, sum, d);
            if (lane >= (uint32_t)d) sum += up;
        }
        if (lane == 31) warps[t >> 5] = sum;
        __syncthreads();
        uint32_t start = before;
        for (uint32_t w = 0; w < t >> 5; w++)
            start += warps[w];
        if (c < count) chunks[c] = make_uint2((start + sum - rounds) * per_chunk, rounds);
        __syncthreads();
        if (t == 1023) before = start + sum;
        __syncthreads();
    }
}

/* Thread k: the list of rank k, behind the last list an empty one. */
__global__ void turn_lists(const uint32_t *index, const uint2 *ranges, uint32_t lists,
                           uint32_t per_chunk, const uint2 *chunks, uint32_t *words) {
    const uint32_t k = blockIdx.x * blockDim.x + threadIdx.x, c = k / per_chunk;
    if ((size_t)c * per_chunk >= lists) return;
    const uint2 r = k < lists ? ranges[k] : make_uint2(0, 0), place = chunks[c];
    uint32_t *out = words + place.x + (k - c * per_chunk);
#pragma unroll 4
    for (uint32_t q = 0; q < place.y; q++) {
        uint32_t e = r.x + q;
        e = e >= r.y ? CUZK__NO_ELEMENT : index ? __ldg(index + e) : e;
        out[(size_t)q * per_chunk] = e;
    }
}

__global__ void settle(uint4 *to, const uint32_t *to_offset, const uint4 *from,
                       const uint32_t *from_offset, uint32_t buckets, int words) {
    const uint32_t b = blockIdx.x * blockDim.x + threadIdx.x;
    if (b >= buckets) return;
    const uint32_t v = from_offset[b];
    if (from_offset[b + 1] - v != 1) return;
    for (int k = 0; k < words; k++)
        to[(size_t)to_offset[b] * words + k] = from[(size_t)v * words + k];
}

/* Element t of all lists; buckets are numbered through the sets. */
__global__ void fold_elements(const uint32_t *offset, uint32_t buckets, int lg_per_set,
                              int fold_bits, uint32_t nothing, uint32_t *index, uint2 *ranges,
                              uint32_t *slot) {
    const uint32_t t = blockIdx.x * blockDim.x + threadIdx.x;
    if (t >= 2 * buckets) return;
    uint32_t b = t;
    if (t >= buckets) { /* columns: [set][low bits][high bits] */
        const uint32_t u = t - buckets, set = u >> lg_per_set;
        const uint32_t in = u & ((1u << lg_per_set) - 1), high_bits = lg_per_set - fold_bits;
        const uint32_t low = in >> high_bits, high = in & ((1u << high_bits) - 1);
        b = set << lg_per_set | high << fold_bits | low;
    }
    const uint32_t v = offset[b];
    index[t] = offset[b + 1] > v ? v : nothing;
    if ((t & ((1u << fold_bits) - 1)) == 0) {
        ranges[t >> fold_bits] = make_uint2(t, t + (1u << fold_bits));
        slot[t >> fold_bits] = t >> fold_bits;
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
    size_t done = 0;
    for (int k = 0; k < count; k++) {
        for (int m = 0; m < windows_of(shape, first_set + k); m++) {
            digit_args a = {};
            a.bias = sorter->bias;
            a.flips = sorter->flips;
            a.map = shape->map;
            a.keys = sorter->keys[0] + done;
            a.values = sorter->values + done;
            a.n = shape->n;
            a.bit = (m * shape->sets + first_set + k) * shape->window;
            a.window = shape->window;
            a.base = (uint32_t)((size_t)m * shape->stride);
            a.bucket0 = (uint32_t)k * shape->buckets;
            a.none = buckets;
            digits<<<blocks_for(a.n), 256, 0, dev->stream>>>(a);
            CUZK_CUDA_LAUNCHED();
            done += shape->n;
        }
    }
    size_t temp = sorter->temp_bytes;
    CUZK_CUDA(cub::DeviceRadixSort::SortPairs(sorter->temp, temp, sorter->keys[0], sorter->keys[1],
                                              sorter->values, index + origin, (int64_t)done, 0,
                                              bits_of(buckets), dev->stream));
    find_buckets<<<blocks_for((size_t)buckets + 1), 256, 0, dev->stream>>>(
        sorter->keys[1], (uint32_t)done, buckets, origin, first);
    CUZK_CUDA_LAUNCHED();
    return CUZK_OK;
}

cuzk_status cuzk__msm_fold_lists(const cuzk_cuda *dev, const uint32_t *offset, uint32_t buckets,
                                 int lg_per_set, int fold_bits, uint32_t nothing, uint32_t *index,
                                 const cuzk__msm_lists *l, cuzk_err *err) {
    fold_elements<<<blocks_for((size_t)buckets * 2), 256, 0, dev->stream>>>(
        offset, buckets, lg_per_set, fold_bits, nothing, index, l->ranges, l->slot[1]);
    CUZK_CUDA_LAUNCHED();
    return CUZK_OK;
}

cuzk_status cuzk__msm_turn_lists(const cuzk_cuda *dev, const uint32_t *index, const uint2 *ranges,
                                 uint32_t lists, uint32_t per_chunk, uint32_t *words, uint2 *chunks,
                                 cuzk_err *err) {
    const uint32_t count = (lists + per_chunk - 1) / per_chunk;
    place_chunks<<<1, 1024, 0, dev->stream>>>(ranges, count, per_chunk, chunks);
    CUZK_CUDA_LAUNCHED();
    turn_lists<<<blocks_for((size_t)count * per_chunk), 256, 0, dev->stream>>>(
        index, ranges, lists, per_chunk, chunks, words);
    CUZK_CUDA_LAUNCHED();
    return CUZK_OK;
}

cuzk_status cuzk__msm_settle(const cuzk_cuda *dev, void *to, const uint32_t *to_offset,
                             const void *from, const uint32_t *from_offset, uint32_t buckets,
                             size_t point_bytes, cuzk_err *err) {
    settle<<<blocks_for(buckets), 256, 0, dev->stream>>>(
        (uint4 *)to, to_offset, (const uint4 *)from, from_offset, buckets, (int)(point_bytes / 16));
    CUZK_CUDA_LAUNCHED();
    return CUZK_OK;
}

cuzk_status cuzk__msm_make_lists(const cuzk_cuda *dev, const uint32_t *first, uint32_t per_batch,
                                 uint32_t buckets, uint32_t cap, uint32_t least,
                                 const cuzk__msm_lists *l, const cuzk__msm_sorter *sorter,
                                 uint32_t *lists, uint32_t *most, cuzk_err *err) {
    unsigned *top = dev->counters + CUZK__CUDA_COUNTERS - 1;
    uint32_t *host = (uint32_t *)dev->pinned;
    CUZK_CUDA(cudaMemsetAsync(top, 0, sizeof *top, dev->stream));
    count_lists<<<blocks_for((size_t)buckets + 1), 256, 0, dev->stream>>>(
        first, per_batch, buckets, cap, least, l->offset, top);
    CUZK_CUDA_LAUNCHED();
    size_t temp = sorter->temp_bytes;
    CUZK_CUDA(cub::DeviceScan::ExclusiveSum(sorter->temp, temp, l->offset, l->offset,
                                            (int64_t)buckets + 1, dev->stream));
    CUZK_CUDA(cudaMemcpyAsync(host, l->offset + buckets, 4, cudaMemcpyDeviceToHost, dev->stream));
    CUZK_CUDA(cudaMemcpyAsync(host + 1, top, 4, cudaMemcpyDeviceToHost, dev->stream));
    CUZK_CUDA(cudaStreamSynchronize(dev->stream));
    *lists = host[0];
    *most = host[1];
    if (*lists == 0) return CUZK_OK;
    if (*lists > l->max_lists)
        return cuzk_err_set(err, CUZK_STATUS_BUG, "%u lists, room for %zu", *lists, l->max_lists);
    list_lengths<<<blocks_for(*lists), 256, 0, dev->stream>>>(
        first, per_batch, l->offset, buckets, *lists, l->key[0], l->slot[0], l->unordered);
    CUZK_CUDA_LAUNCHED();
    temp = sorter->temp_bytes;
    CUZK_CUDA(cub::DeviceRadixSort::SortPairsDescending(sorter->temp, temp, l->key[0], l->key[1],
                                                        l->slot[0], l->slot[1], (int64_t)*lists, 0,
                                                        bits_of(cap), dev->stream));
    rank_lists<<<blocks_for(*lists), 256, 0, dev->stream>>>(l->unordered, l->slot[1], *lists,
                                                            l->ranges);
    CUZK_CUDA_LAUNCHED();
    return CUZK_OK;
}
