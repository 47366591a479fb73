/* See msm_lists.cuh. */
#include "backend/cuda/msm_lists.cuh"

#include "backend/cuda/block_scan.cuh"

#include <cub/device/device_radix_sort.cuh>
#include <cub/device/device_scan.cuh>

namespace {

/* Lists of bucket b; the counters become what msm_lists.cuh says. */
__global__ void count_lists(const uint32_t *first, uint32_t buckets, uint32_t cap, uint32_t *count,
                            unsigned *counters) {
    const uint32_t b = blockIdx.x * blockDim.x + threadIdx.x;
    const uint32_t n = b < buckets ? (first[b + 1] - first[b] + cap - 1) / cap : 0;
    if (b <= buckets) count[b] = n;
    if (n > 1) counters[CUZK__LISTS_CUT] = 1;
    const int empty = __syncthreads_count(b < buckets && n == 0);
    if (threadIdx.x == 0 && empty) atomicAdd(counters + CUZK__BUCKETS_EMPTY, (unsigned)empty);
}

/* List k of the n of a bucket, an even share of its elements. */
__device__ __forceinline__ void put_list(uint32_t v, uint32_t k, uint32_t n, uint2 elements,
                                         uint32_t *key, uint32_t *slot, uint2 *unordered) {
    const uint64_t len = elements.y - elements.x;
    const uint32_t from = elements.x + (uint32_t)(n == 1 ? 0 : len * k / n);
    const uint32_t to = elements.x + (uint32_t)(n == 1 ? len : len * (k + 1) / n);
    key[v + k] = to - from;
    slot[v + k] = v + k;
    unordered[v + k] = make_uint2(from, to);
}

enum { LENGTHS_THREADS = 256, LENGTHS_OF_WARP = 128 };

/* A thread for each bucket: its list, or with its warp its lists, or with its block if they are
 * many. Behind the last list empty ones are made up to `bound`, which sorting leaves at the end. */
__global__ void list_lengths(const uint32_t *first, const uint32_t *offset, uint32_t buckets,
                             uint32_t bound, uint32_t *key, uint32_t *slot, uint2 *unordered) {
    __shared__ uint4 all[LENGTHS_THREADS]; /* first list, lists, elements */
    const uint32_t b = blockIdx.x * LENGTHS_THREADS + threadIdx.x, lane = threadIdx.x & 31;
    uint32_t v = 0, n = 0;
    uint2 elements = make_uint2(0, 0);
    if (b < buckets) {
        v = offset[b];
        n = offset[b + 1] - v;
        elements = make_uint2(first[b], first[b + 1]);
    }
    if (n == 1) put_list(v, 0, 1, elements, key, slot, unordered);
    const bool some = n > 1 && n <= LENGTHS_OF_WARP;
    for (uint32_t many = __ballot_sync(0xffffffffu, some); many; many &= many - 1) {
        const int of = __ffs((int)many) - 1;
        const uint32_t v0 = __shfl_sync(0xffffffffu, v, of), n0 = __shfl_sync(0xffffffffu, n, of);
        const uint2 own = make_uint2(__shfl_sync(0xffffffffu, elements.x, of),
                                     __shfl_sync(0xffffffffu, elements.y, of));
        for (uint32_t k = lane; k < n0; k += 32)
            put_list(v0, k, n0, own, key, slot, unordered);
    }
    all[threadIdx.x] = make_uint4(v, n, elements.x, elements.y);
    if (__syncthreads_or(n > LENGTHS_OF_WARP))
        for (uint32_t t = 0; t < LENGTHS_THREADS; t++)
            for (uint32_t k = threadIdx.x; all[t].y > LENGTHS_OF_WARP && k < all[t].y;
                 k += LENGTHS_THREADS)
                put_list(all[t].x, k, all[t].y, make_uint2(all[t].z, all[t].w), key, slot,
                         unordered);
    const uint32_t spare = offset[buckets] + b;
    if (spare < bound) put_list(spare, 0, 1, make_uint2(0, 0), key, slot, unordered);
}

__global__ void rank_lists(const uint2 *unordered, const uint32_t *slot, uint32_t bound,
                           uint2 *ranges) {
    const uint32_t k = blockIdx.x * blockDim.x + threadIdx.x;
    if (k < bound) ranges[k] = unordered[slot[k]];
}

enum { PLAN_THREADS = 1024, PLAN_EACH = 4, PLAN_UNITS = PLAN_THREADS * PLAN_EACH };

struct plan_args {
    const uint2 *ranges;
    const uint32_t *lists; /* their number */
    uint32_t unit, grain;  /* threads of a block, of a warp */
    uint32_t count, most;
    int lg_parts;
    uint4 *chunks;
};

/* Grains of a chunk, which takes `bound` of work: rounds times lists of a thread, and an inversion
 * a round, which takes as long as `round` additions. A thread's lists are `warps` grains. */
__device__ __forceinline__ uint32_t chunk_grains(float bound, float inverse, float round,
                                                 uint32_t most, uint32_t warps) {
    const float m = bound * inverse - round;
    return m < 1 ? warps : m > (float)most ? most * warps : (uint32_t)(m * (float)warps);
}

/* Lists of one length, of which there are few: samples up to `end`. */
struct plan_runs {
    float inverse[PLAN_UNITS]; /* 1 / length */
    uint16_t end[PLAN_UNITS];
    uint32_t count;
};

/* From 1 / length of each sample, which are in `inverse`, to the runs. */
__device__ __forceinline__ void find_runs(plan_runs *r, uint32_t samples, uint32_t *warps) {
    float own[PLAN_EACH + 1];
    uint32_t ends = 0, total;
#pragma unroll
    for (uint32_t k = 0; k <= PLAN_EACH; k++) {
        const uint32_t s = threadIdx.x * PLAN_EACH + k;
        own[k] = s < samples ? r->inverse[s] : 0; /* which no length has */
    }
#pragma unroll
    for (uint32_t k = 0; k < PLAN_EACH; k++)
        ends += own[k] != own[k + 1];
    uint32_t at = cuzk_gpu::prefix_sum<PLAN_THREADS>(ends, warps, &total);
#pragma unroll
    for (uint32_t k = 0; k < PLAN_EACH; k++) {
        if (own[k] == own[k + 1]) continue;
        r->inverse[at] = own[k];
        r->end[at++] = (uint16_t)(threadIdx.x * PLAN_EACH + k + 1);
    }
    if (threadIdx.x == 0) r->count = total;
    __syncthreads();
}

/* One block: chunks of equal work. Each thread tries a bound of a chunk's work; the least one is
 * taken with which `count` chunks suffice. */
__global__ __launch_bounds__(PLAN_THREADS) void plan_chunks(const __grid_constant__ plan_args a) {
    __shared__ plan_runs runs; /* of the lists at each 2^lg units */
    __shared__ float work;
    __shared__ uint32_t warps[PLAN_THREADS / 32], best, used;
    const uint32_t t = threadIdx.x, lists = *a.lists;
    const uint32_t units = (lists + a.unit - 1) / a.unit, of_unit = a.unit / a.grain;
    const uint32_t grains = (lists + a.grain - 1) / a.grain;
    const float round = 1.5f / (float)(1 << a.lg_parts);
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
        runs.inverse[u >> lg] = 1.0f / length;
        sum += length;
    }
    for (int d = 16; d; d >>= 1)
        sum += __shfl_xor_sync(0xffffffffu, sum, d);
    if ((t & 31) == 0) atomicAdd(&work, sum);
    __syncthreads();
    find_runs(&runs, (units + (1u << lg) - 1) >> lg, warps);
    if (units) {
        const float low = work * (float)(1 << lg) / (float)a.count;
        const float high = fmaxf(2 * low, (float)(a.most + 2) / runs.inverse[0]);
        const float bound = low * exp2f(log2f(high / low) * (float)t / (PLAN_THREADS - 1));
        uint32_t u = 0, c = 0;
        for (uint32_t j = 0; j < runs.count && c <= a.count; j++) {
            const uint32_t end = min(((uint32_t)runs.end[j] << lg) * of_unit, grains);
            if (u >= end) continue;
            const uint32_t m = chunk_grains(bound, runs.inverse[j], round, a.most, of_unit);
            const uint32_t chunks = (end - u + m - 1) / m;
            c += chunks;
            u += chunks * m;
        }
        if (u >= grains && c <= a.count) atomicMin(&best, t);
        __syncthreads();
        if (t == best) {
            c = 0;
            u = 0;
            for (uint32_t j = 0; j < runs.count && c < a.count; j++) {
                const uint32_t end = min(((uint32_t)runs.end[j] << lg) * of_unit, grains);
                const uint32_t m = chunk_grains(bound, runs.inverse[j], round, a.most, of_unit);
                for (; u < end && c < a.count; u += m)
                    a.chunks[c++] =
                        make_uint4(0, 0, u * a.grain, max(min(m, grains - u), of_unit) * a.grain);
            }
            used = c;
        }
    }
    __syncthreads();
    uint32_t begin = 0;
    for (uint32_t c0 = 0; c0 <= a.count; c0 += PLAN_THREADS) {
        const uint32_t c = c0 + t;
        uint4 chunk = make_uint4(lists, 0, UINT32_MAX, 0);
        if (c < used) {
            chunk = a.chunks[c];
            const uint2 r = a.ranges[chunk.z];
            chunk.y = r.y - r.x;
        }
        uint32_t total;
        const uint32_t before =
            cuzk_gpu::prefix_sum<PLAN_THREADS>(chunk.y * chunk.w, warps, &total);
        if (c < used) chunk.x = begin + before;
        if (c <= a.count) a.chunks[c] = chunk;
        begin += total;
    }
}

/* Thread k: the list of rank k, behind the last list an empty one. */
__global__ void turn_lists(const uint32_t *index, const uint2 *ranges, uint32_t count,
                           const uint4 *chunks, uint32_t *words) {
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
    const uint32_t width = chunk.w;
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

/* Thread k: list k, behind the last one an empty one; and chunk k. */
__global__ void fold_lists(const uint32_t *offset, const unsigned *empty,
                           const __grid_constant__ cuzk__msm_square s, uint32_t width,
                           uint32_t *words, uint32_t *slot, uint4 *chunks) {
    const uint32_t k = blockIdx.x * blockDim.x + threadIdx.x, points = s.points();
    const uint32_t count = (points + width - 1) / width, length = 1u << s.lg_fold;
    const bool fold = *empty <= s.empty_most();
    if (k <= count)
        chunks[k] = k < count && fold ? make_uint4(k * width << s.lg_fold, length, k * width, width)
                                      : make_uint4(points, 0, UINT32_MAX, 0);
    const uint32_t chunk = k / width;
    if (!fold || chunk >= count) return;
    uint32_t *out = words + (chunk * width << s.lg_fold) + (k - chunk * width);
    uint32_t bucket = 0, step = 0;
    if (k < points) {
        const uint32_t half = 1u << (s.lg_high + s.lg_low - s.lg_fold); /* of a set's points */
        uint32_t set = k / half;
        set = set < s.narrow ? set : s.narrow + (k - s.before(s.narrow)) / (2 * half);
        uint32_t at = k - s.before(set);
        const uint32_t rows = s.rows(set), places = 1u << (s.lg_low - s.lg_fold);
        bucket = set << (s.lg_high + s.lg_low);
        if (at < rows * places) {
            bucket += (at >> (s.lg_low - s.lg_fold) << s.lg_low) + (at & (places - 1));
            step = places;
        } else {
            bucket += at - rows * places;
            step = rows >> s.lg_fold << s.lg_low;
        }
        slot[k] = k;
    }
    for (uint32_t q = 0; q < length; q++, bucket += step) {
        const uint32_t v = k < points ? offset[bucket] : 0;
        const bool some = k < points && offset[bucket + 1] > v;
        out[(size_t)q * width] = some ? v : CUZK__NO_ELEMENT;
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

cuzk_status cuzk__msm_temp_bytes(size_t lists, size_t buckets, size_t *bytes, cuzk_err *err) {
    uint32_t *none = NULL;
    size_t sort = 0, scan = 0;
    CUZK_CUDA(cub::DeviceRadixSort::SortPairsDescending(NULL, sort, none, none, none, none,
                                                        (int64_t)lists, 0, 32));
    CUZK_CUDA(cub::DeviceScan::ExclusiveSum(NULL, scan, none, none, (int64_t)buckets + 1));
    *bytes = sort > scan ? sort : scan;
    return CUZK_OK;
}

cuzk_status cuzk__msm_turn_lists(const cuzk_cuda *dev, const uint32_t *index,
                                 const cuzk__msm_lists *l, const uint32_t *lists, size_t bound,
                                 const cuzk__msm_cut *cut, uint32_t *words, uint4 *chunks,
                                 cuzk_err *err) {
    const plan_args a = {l->ranges,  lists,     cut->unit,     cut->grain,
                         cut->count, cut->most, cut->lg_parts, chunks};
    plan_chunks<<<1, PLAN_THREADS, 0, dev->stream>>>(a);
    CUZK_CUDA_LAUNCHED();
    turn_lists<<<blocks_for(bound + cut->unit), 256, 0, dev->stream>>>(index, l->ranges, cut->count,
                                                                       chunks, words);
    CUZK_CUDA_LAUNCHED();
    return CUZK_OK;
}

cuzk_status cuzk__msm_fold_lists(const cuzk_cuda *dev, const uint32_t *offset,
                                 const cuzk__msm_square *square, uint32_t width, uint32_t *words,
                                 uint32_t *slot, uint4 *chunks, cuzk_err *err) {
    fold_lists<<<blocks_for((size_t)square->points() + width), 256, 0, dev->stream>>>(
        offset, dev->counters + CUZK__BUCKETS_EMPTY, *square, width, words, slot, chunks);
    CUZK_CUDA_LAUNCHED();
    return CUZK_OK;
}

cuzk_status cuzk__msm_make_lists(const cuzk_cuda *dev, const uint32_t *first, uint32_t buckets,
                                 uint32_t cap, size_t bound, const cuzk__msm_lists *l,
                                 cuzk_err *err) {
    if (bound > l->max_lists)
        return cuzk_err_set(err, CUZK_STATUS_BUG, "%zu lists, room for %zu", bound, l->max_lists);
    count_lists<<<blocks_for((size_t)buckets + 1), 256, 0, dev->stream>>>(first, buckets, cap,
                                                                          l->offset, dev->counters);
    CUZK_CUDA_LAUNCHED();
    size_t temp = l->temp_bytes;
    CUZK_CUDA(cub::DeviceScan::ExclusiveSum(l->temp, temp, l->offset, l->offset,
                                            (int64_t)buckets + 1, dev->stream));
    const size_t threads = bound > buckets ? bound : buckets;
    list_lengths<<<blocks_for(threads), LENGTHS_THREADS, 0, dev->stream>>>(
        first, l->offset, buckets, (uint32_t)bound, l->key[0], l->slot[0], l->unordered);
    CUZK_CUDA_LAUNCHED();
    temp = l->temp_bytes;
    CUZK_CUDA(cub::DeviceRadixSort::SortPairsDescending(l->temp, temp, l->key[0], l->key[1],
                                                        l->slot[0], l->slot[1], (int64_t)bound, 0,
                                                        bits_of(cap), dev->stream));
    rank_lists<<<blocks_for(bound), 256, 0, dev->stream>>>(l->unordered, l->slot[1],
                                                           (uint32_t)bound, l->ranges);
    CUZK_CUDA_LAUNCHED();
    return CUZK_OK;
}
