/* See msm_sort.cuh. */
#include "backend/cuda/msm_sort.cuh"

#include "backend/cuda/block_scan.cuh"
#include "backend/cuda/cub_room.h"
#include "backend/cuda/msm_bins.cuh"
#include "backend/cuda/msm_digits.cuh"

namespace {

using namespace cuzk_gpu;

enum {
    MOST_LG_LOW = 12,   /* buckets of a bin */
    ITEMS = 8,          /* of a thread in a tile */
    LG_BIN_TARGET = 14, /* digits of a bin: at most so many, where bins suffice */
    MOST_CLUSTER = 8,   /* blocks, on every chip that has clusters */
    ROUNDS = 4,         /* of blocks that take several tasks */
    MOST_UNEVEN = 4     /* times the average: a larger bin is moved by tiles */
};

/* Adds 1 to c[k] and returns what was there; NOTHING for k: leaves it. */
__device__ __forceinline__ uint32_t claim_one(uint32_t *c, uint32_t k) {
    return k == NOTHING ? 0 : atomicAdd(c + k, 1u);
}

/* The same, in order of lanes where a warp's k are all the same. Every lane of the warp calls it.
 */
__device__ __forceinline__ uint32_t claim(uint32_t *c, uint32_t k) {
    const uint32_t k0 = __shfl_sync(0xffffffffu, k, 0), lane = threadIdx.x & 31;
    if (__all_sync(0xffffffffu, k == k0)) {
        if (k0 == NOTHING) return 0;
        uint32_t before = 0;
        if (lane == 0) before = atomicAdd(c + k0, 32u);
        return __shfl_sync(0xffffffffu, before, 0) + lane;
    }
    return claim_one(c, k);
}

struct move_args {
    const uint32_t *start; /* of the batch's first bin */
    uint32_t *next;
    uint32_t *values, *index, *first;
    const uint32_t *large; /* bins of all sets that have more than `most` digits */
    uint32_t whole, most, share, cluster;
    uint16_t *low;
    int lg_bins, lg_low;
    uint32_t bins; /* of the batch */
};

/* What a tile needs of shared memory: offsets and places of `kinds`, and words of `each` bytes. */
__host__ __device__ constexpr size_t tile_bytes(int threads, uint32_t kinds, size_t each) {
    return ((size_t)2 * kinds + 1) * 4 + (size_t)threads * ITEMS * each;
}

/* Room for the tile's elements of each kind: off are their counts, and become offsets in the tile;
 * place[k] plus such an offset is where they go. */
template <int NT>
__device__ __forceinline__ void take_room(uint32_t *off, uint32_t *place, uint32_t kinds,
                                          uint32_t *cursor, uint32_t *warps) {
    exclusive_scan<NT>(off, kinds, warps);
    for (uint32_t k = threadIdx.x; k < kinds; k += NT) {
        const uint32_t count = off[k + 1] - off[k];
        if (count) place[k] = atomicAdd(cursor + k, count) - off[k];
    }
    __syncthreads();
}

template <int NT> __device__ __forceinline__ void clear(uint32_t *count, uint32_t kinds) {
    for (uint32_t k = threadIdx.x; k < kinds; k += NT)
        count[k] = 0;
    __syncthreads();
}

/* count[k] += the digits with low bits k. LARGE: of a bin so large that a warp's are hardly ever
 * all the same. */
template <int NT, int AHEAD, bool LARGE>
__device__ __forceinline__ void count_lows(const uint16_t *low, uint32_t digits, uint32_t *count) {
    for (uint32_t q0 = 0; q0 < digits; q0 += AHEAD * NT) {
        uint32_t kind[AHEAD];
#pragma unroll
        for (int k = 0; k < AHEAD; k++) {
            const uint32_t q = q0 + k * NT + threadIdx.x;
            kind[k] = q < digits ? low[q] : NOTHING;
        }
#pragma unroll
        for (int k = 0; k < AHEAD; k++)
            (void)(LARGE ? claim_one(count, kind[k]) : claim(count, kind[k]));
    }
}

/* The digits' values in order of their low bits: off[k], where those of k begin, becomes where they
 * end. They are read for the last time. */
template <int NT, int AHEAD, bool LARGE>
__device__ __forceinline__ void put_values(const uint16_t *low, const uint32_t *values,
                                           uint32_t digits, uint32_t *off, uint32_t *value) {
    for (uint32_t q0 = 0; q0 < digits; q0 += AHEAD * NT) {
        uint32_t kind[AHEAD], v[AHEAD];
#pragma unroll
        for (int k = 0; k < AHEAD; k++) {
            const uint32_t q = q0 + k * NT + threadIdx.x;
            kind[k] = q < digits ? __ldcs(low + q) : NOTHING;
            v[k] = q < digits ? __ldcs(values + q) : 0;
        }
#pragma unroll
        for (int k = 0; k < AHEAD; k++) {
            const uint32_t at = LARGE ? claim_one(off, kind[k]) : claim(off, kind[k]);
            if (kind[k] != NOTHING) value[at] = v[k];
        }
    }
}

/* The digits of bins b, b + blocks, ... to their buckets, and where these begin, if they are not
 * too many: one block's. Where tiles will move them, counters of buckets become 0. */
template <int NT>
__global__ __launch_bounds__(NT, THIS_CHIP.threads /
                                     NT) void place_bin(const __grid_constant__ move_args a) {
    enum { AHEAD = 4 };
    extern __shared__ uint32_t shared[];
    __shared__ uint32_t warps[NT / 32];
    const uint32_t lows = 1u << a.lg_low;
    uint32_t *off = shared, *value = off + lows + 1;
    for (uint32_t bin = blockIdx.x; bin < a.bins; bin += gridDim.x) {
        const uint32_t start = a.start[bin], count = a.start[bin + 1] - start;
        const uint32_t from = start - a.start[0];
        if (count > a.whole) {
            if (count > a.most) clear<NT>(a.next + ((size_t)bin << a.lg_low), lows);
            continue;
        }
        uint32_t *first = a.first + ((size_t)bin << a.lg_low);
        if (count == 0) { /* half of those of a narrow set */
            for (uint32_t k = threadIdx.x; k < lows; k += NT)
                first[k] = start;
            continue;
        }
        clear<NT>(off, lows);
        count_lows<NT, AHEAD, false>(a.low + from, count, off);
        __syncthreads();
        exclusive_scan<NT>(off, lows, warps);
        for (uint32_t k = threadIdx.x; k < lows; k += NT)
            first[k] = start + off[k];
        __syncthreads();
        put_values<NT, AHEAD, false>(a.low + from, a.values + from, count, off, value);
        __syncthreads();
        for (uint32_t q = threadIdx.x; q < count; q += NT)
            a.index[start + q] = value[q];
    }
    if (blockIdx.x == 0 && threadIdx.x == 0) a.first[(size_t)a.bins << a.lg_low] = a.start[a.bins];
}

/* Shared memory of block j of the cluster, at the place that `own` has in this one's. Chips without
 * clusters: a block is a cluster. */
__device__ __forceinline__ uint32_t load_of(const uint32_t *own, uint32_t j) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
    uint32_t v;
    asm volatile("{\n\t.reg .u32 at;\n\t"
                 "mapa.shared::cluster.u32 at, %1, %2;\n\t"
                 "ld.shared::cluster.u32 %0, [at];\n\t}"
                 : "=r"(v)
                 : "r"((uint32_t)__cvta_generic_to_shared(own)), "r"(j)
                 : "memory");
    return v;
#else
    (void)j;
    return *own;
#endif
}
__device__ __forceinline__ void store_to(uint32_t *own, uint32_t j, uint32_t v) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
    asm volatile(
        "{\n\t.reg .u32 at;\n\t"
        "mapa.shared::cluster.u32 at, %0, %1;\n\t"
        "st.shared::cluster.u32 [at], %2;\n\t}" ::"r"((uint32_t)__cvta_generic_to_shared(own)),
        "r"(j), "r"(v)
        : "memory");
#else
    (void)j;
    *own = v;
#endif
}
__device__ __forceinline__ void wait_for_cluster() {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
    asm volatile("barrier.cluster.arrive.release.aligned;\n\t"
                 "barrier.cluster.wait.acquire.aligned;" ::
                     : "memory");
#else
    __syncthreads();
#endif
}

/* From the blocks' counts of their digits by bucket: where the buckets begin, which are first, and
 * where in each of them a block's digits go, which is its cursor. A block does it for a range of
 * the buckets and for all blocks. room: words for that range, and one. */
template <int NT>
__device__ __forceinline__ void divide_buckets(const move_args &a, uint32_t rank, uint32_t start,
                                               uint32_t *first, const uint32_t *count,
                                               uint32_t *cursor, uint32_t *room) {
    __shared__ uint32_t warps[NT / 32], sum;
    const uint32_t lows = 1u << a.lg_low, each = (lows + a.cluster - 1) / a.cluster;
    const uint32_t from = rank * each < lows ? rank * each : lows;
    const uint32_t kinds = from + each < lows ? each : lows - from;
    wait_for_cluster(); /* until all have counted */
    for (uint32_t k = threadIdx.x; k < kinds; k += NT) {
        uint32_t total = 0;
#pragma unroll 4
        for (uint32_t j = 0; j < a.cluster; j++)
            total += load_of(count + from + k, j);
        room[k] = total;
    }
    __syncthreads();
    exclusive_scan<NT>(room, kinds, warps);
    if (threadIdx.x == 0) sum = room[kinds];
    wait_for_cluster(); /* until all have added */
    uint32_t begin = start;
    for (uint32_t j = 0; j < rank; j++)
        begin += load_of(&sum, j);
    for (uint32_t k = threadIdx.x; k < kinds; k += NT) {
        uint32_t at = begin + room[k];
        first[from + k] = at;
#pragma unroll 4
        for (uint32_t j = 0; j < a.cluster; j++) {
            store_to(cursor + from + k, j, at);
            at += load_of(count + from + k, j);
        }
    }
    wait_for_cluster(); /* until all have read this one's counts and written its cursor */
}

/* Values in order of their buckets to where those of each bucket go: its cursor. end: where each
 * ends in value. A warp has up to 32 buckets, one for each lane, and writes their values one behind
 * another: a lane finds its value's bucket among the lanes. */
template <int NT>
__device__ __forceinline__ void write_runs(const uint32_t *value, const uint32_t *end,
                                           uint32_t kinds, const uint32_t *cursor,
                                           uint32_t *index) {
    const uint32_t all = 0xffffffffu, lane = threadIdx.x & 31;
    const uint32_t some = (kinds + NT / 32 - 1) / (NT / 32), each = some < 32 ? some : 32;
    for (uint32_t k0 = (threadIdx.x >> 5) * each; k0 < kinds; k0 += NT / 32 * each) {
        const uint32_t k = k0 + lane;
        const bool mine = lane < each && k < kinds;
        const uint32_t to = mine ? end[k] : all, from = mine && k ? end[k - 1] : 0;
        const uint32_t shift = mine ? cursor[k] - from : 0;
        const uint32_t last = end[(k0 + each < kinds ? k0 + each : kinds) - 1];
#pragma unroll 2
        for (uint32_t p = __shfl_sync(all, from, 0); p < last; p += 32) {
            const uint32_t q = p + lane;
            uint32_t before = 0; /* buckets that end up to q */
#pragma unroll
            for (uint32_t step = 16; step; step >>= 1)
                if (__shfl_sync(all, to, before + step - 1) <= q) before += step;
            const uint32_t at = q + __shfl_sync(all, shift, before);
            if (q < last) index[at] = value[q];
        }
    }
}

/* A block's digits of a bin, whose buckets they go to at its cursor, by shares. off: their counts.
 */
template <int NT, int AHEAD>
__device__ __forceinline__ void move_shares(const move_args &a, uint32_t from, uint32_t digits,
                                            uint32_t *off, uint32_t *cursor, uint32_t *value) {
    __shared__ uint32_t warps[NT / 32];
    const uint32_t lows = 1u << a.lg_low, shares = (digits + a.share - 1) / a.share;
    const uint32_t each = (digits + shares - 1) / shares;
    for (uint32_t q = 0; q < digits; q += each) {
        const uint32_t now = q + each < digits ? each : digits - q;
        if (shares > 1) {
            clear<NT>(off, lows);
            count_lows<NT, AHEAD, true>(a.low + from + q, now, off);
            __syncthreads();
        }
        exclusive_scan<NT>(off, lows, warps);
        put_values<NT, AHEAD, true>(a.low + from + q, a.values + from + q, now, off, value);
        __syncthreads();
        write_runs<NT>(value, off, lows, cursor, a.index);
        __syncthreads();
        if (q + each >= digits) break;
        for (uint32_t k = threadIdx.x; k < lows; k += NT)
            cursor[k] += off[k] - (k ? off[k - 1] : 0);
        __syncthreads();
    }
}

/* Cluster c: the digits of bins c, c + clusters, ... to their buckets, if they are too many for a
 * block. Each block takes as many of them and moves them by shares, as long runs as its shared
 * memory allows: it has a multiprocessor to itself. */
template <int NT>
__global__ __launch_bounds__(NT, 1) void place_large(const __grid_constant__ move_args a) {
    enum { AHEAD = 8 };
    extern __shared__ uint32_t shared[];
    const uint32_t lows = 1u << a.lg_low, rank = blockIdx.x % a.cluster;
    uint32_t *off = shared, *cursor = off + lows + 1, *value = cursor + lows;
    for (uint32_t bin = blockIdx.x / a.cluster; bin < a.bins; bin += gridDim.x / a.cluster) {
        const uint32_t start = a.start[bin], count = a.start[bin + 1] - start;
        if (count <= a.whole || count > a.most) continue;
        const uint32_t own = (uint32_t)((uint64_t)count * rank / a.cluster);
        const uint32_t digits = (uint32_t)((uint64_t)count * (rank + 1) / a.cluster) - own;
        const uint32_t from = start - a.start[0] + own;
        clear<NT>(off, lows);
        count_lows<NT, AHEAD, true>(a.low + from, digits, off);
        divide_buckets<NT>(a, rank, start, a.first + ((size_t)bin << a.lg_low), off, cursor, value);
        move_shares<NT, AHEAD>(a, from, digits, off, cursor, value);
    }
}

/* The part of a tile that lies in one bin. Positions are those of the batch. */
struct bin_part {
    uint32_t bin, from, to;
};

/* The part that begins at position p, which is in the batch. All threads get the same. */
__device__ __forceinline__ bin_part part_at(const move_args &a, uint32_t p, uint32_t end) {
    const uint32_t origin = a.start[0];
    uint32_t low = 0, high = a.bins; /* start[low] <= p < start[high] */
    while (high - low > 1) {
        const uint32_t mid = low + (high - low) / 2;
        if (a.start[mid] - origin <= p)
            low = mid;
        else
            high = mid;
    }
    const uint32_t bin_end = a.start[low + 1] - origin;
    return {low, p, bin_end < end ? bin_end : end};
}

/* Whether place_bin() or place_large() has done it. */
__device__ __forceinline__ bool is_placed(const move_args &a, uint32_t bin) {
    return a.start[bin + 1] - a.start[bin] <= a.most;
}

/* The tile's positions. None if they have done all that there are. */
template <int NT> __device__ __forceinline__ uint2 tile_of(const move_args &a) {
    if (*a.large == 0) return make_uint2(0, 0);
    const uint32_t count = a.start[a.bins] - a.start[0], from = blockIdx.x * (uint32_t)(NT * ITEMS);
    const uint32_t to = from + NT * ITEMS;
    return make_uint2(from, to < count ? to : count);
}

/* next[b] += the tile's digits of bucket b. */
template <int NT>
__global__ __launch_bounds__(NT) void count_buckets(const __grid_constant__ move_args a) {
    extern __shared__ uint32_t shared[];
    const uint32_t lows = 1u << a.lg_low;
    const uint2 tile = tile_of<NT>(a);
    if (tile.x >= tile.y) return;
    clear<NT>(shared, lows);
    for (uint32_t p = tile.x; p < tile.y;) {
        const bin_part part = part_at(a, p, tile.y);
        p = part.to;
        if (is_placed(a, part.bin)) continue;
        __syncthreads();
        for (uint32_t q = part.from; q < part.to; q += NT) {
            const uint32_t at = q + threadIdx.x;
            if (at < part.to) atomicAdd(shared + a.low[at], 1u);
        }
        __syncthreads();
        for (uint32_t k = threadIdx.x; k < lows; k += NT) {
            if (shared[k]) atomicAdd(a.next + ((size_t)part.bin << a.lg_low) + k, shared[k]);
            shared[k] = 0;
        }
    }
}

/* Where the buckets of bins b, b + blocks, ... begin. */
template <int NT>
__global__ __launch_bounds__(NT) void place_buckets(const __grid_constant__ move_args a) {
    extern __shared__ uint32_t shared[];
    __shared__ uint32_t warps[NT / 32];
    const uint32_t lows = 1u << a.lg_low;
    if (*a.large == 0) return;
    for (uint32_t bin = blockIdx.x; bin < a.bins; bin += gridDim.x) {
        const size_t bucket = (size_t)bin << a.lg_low;
        if (is_placed(a, bin)) continue;
        __syncthreads();
        for (uint32_t k = threadIdx.x; k < lows; k += NT)
            shared[k] = a.next[bucket + k];
        __syncthreads();
        exclusive_scan<NT>(shared, lows, warps);
        for (uint32_t k = threadIdx.x; k < lows; k += NT)
            a.first[bucket + k] = a.next[bucket + k] = a.start[bin] + shared[k];
    }
}

/* The tile's digits to their buckets. */
template <int NT>
__global__ __launch_bounds__(NT, THIS_CHIP.threads /
                                     NT) void scatter(const __grid_constant__ move_args a) {
    extern __shared__ uint32_t shared[];
    __shared__ uint32_t warps[NT / 32];
    const uint32_t lows = 1u << a.lg_low;
    const uint2 tile = tile_of<NT>(a);
    uint32_t *off = shared, *place = off + lows + 1, *value = place + lows;
    uint16_t *low = (uint16_t *)(value + NT * ITEMS);
    for (uint32_t p = tile.x; p < tile.y;) {
        const bin_part part = part_at(a, p, tile.y);
        const uint32_t count = part.to - part.from;
        p = part.to;
        if (is_placed(a, part.bin)) continue;
        for (uint32_t k = threadIdx.x; k <= lows; k += NT)
            off[k] = 0;
        uint32_t v[ITEMS], kind[ITEMS]; /* low bits of the bucket, above them the rank */
#pragma unroll
        for (int k = 0; k < ITEMS; k++) {
            const uint32_t q = threadIdx.x + k * NT;
            kind[k] = NOTHING;
            if (q < count) {
                kind[k] = a.low[part.from + q];
                v[k] = a.values[part.from + q];
            }
        }
        __syncthreads();
#pragma unroll
        for (int k = 0; k < ITEMS; k++)
            kind[k] |= claim(off, kind[k]) << 16;
        __syncthreads();
        take_room<NT>(off, place, lows, a.next + ((size_t)part.bin << a.lg_low), warps);
#pragma unroll
        for (int k = 0; k < ITEMS; k++) {
            if (kind[k] == NOTHING) continue;
            const uint32_t at = off[kind[k] & 0xffff] + (kind[k] >> 16);
            value[at] = v[k];
            low[at] = (uint16_t)kind[k];
        }
        __syncthreads();
        for (uint32_t q = threadIdx.x; q < count; q += NT)
            a.index[place[low[q]] + q] = value[q];
        __syncthreads();
    }
}

unsigned blocks_for(size_t items, size_t each) {
    return (unsigned)((items + each - 1) / each);
}

/* Blocks for so many tasks, `resident` of which share a multiprocessor: each takes some tasks one
 * after another, as starting a block costs as much as a task that turns out to be none. */
unsigned some_blocks(const cuzk_cuda *dev, unsigned tasks, unsigned resident) {
    const unsigned most = (unsigned)dev->info.sms * resident * ROUNDS;
    return tasks < most ? tasks : most;
}

/* Words of shared memory that place_large() needs beside a share. */
size_t beside_share(uint32_t lows) {
    return (size_t)2 * lows + 1;
}

template <int NT>
cuzk_status place_larger(const cuzk_cuda *dev, const move_args &a, cuzk_err *err) {
    cudaLaunchAttribute cluster = {};
    cluster.id = cudaLaunchAttributeClusterDimension;
    cluster.val.clusterDim = {a.cluster, 1, 1};
    cudaLaunchConfig_t how = {};
    how.gridDim = dim3(some_blocks(dev, a.bins, 1) * a.cluster);
    how.blockDim = dim3(NT);
    how.dynamicSmemBytes = (beside_share(1u << a.lg_low) + a.share) * 4;
    how.stream = dev->stream;
    how.attrs = &cluster;
    how.numAttrs = a.cluster > 1;
    CUZK_CUDA(cudaLaunchKernelEx(&how, place_large<NT>, a));
    return CUZK_OK;
}

template <int NT>
cuzk_status move_tiles(const cuzk_cuda *dev, const move_args &a, size_t digits, cuzk_err *err) {
    const uint32_t lows = 1u << a.lg_low;
    const unsigned tiles = blocks_for(digits, NT * ITEMS);
    place_bin<NT><<<some_blocks(dev, a.bins, 2), NT, (lows + 1 + a.whole) * 4, dev->stream>>>(a);
    CUZK_CUDA_LAUNCHED();
    if (a.most > a.whole) CUZK_TRY(place_larger<NT>(dev, a, err));
    count_buckets<NT><<<tiles, NT, lows * 4, dev->stream>>>(a);
    CUZK_CUDA_LAUNCHED();
    place_buckets<NT><<<some_blocks(dev, a.bins, 2), NT, (lows + 1) * 4, dev->stream>>>(a);
    CUZK_CUDA_LAUNCHED();
    scatter<NT><<<tiles, NT, tile_bytes(NT, lows, 6), dev->stream>>>(a);
    CUZK_CUDA_LAUNCHED();
    return CUZK_OK;
}

template <int NT> cuzk_status allow_shared(size_t bin_bytes, size_t most_bytes, cuzk_err *err) {
    const cudaFuncAttribute attr = cudaFuncAttributeMaxDynamicSharedMemorySize;
    CUZK_CUDA(cudaFuncSetAttribute(place_bin<NT>, attr, (int)bin_bytes));
    CUZK_CUDA(cudaFuncSetAttribute(place_large<NT>, attr, (int)most_bytes));
    CUZK_CUDA(cudaFuncSetAttribute(scatter<NT>, attr, (int)tile_bytes(NT, 1u << MOST_LG_LOW, 6)));
    return CUZK_OK;
}

} // namespace

static int least_lg_bins(const cuzk__msm_shape *s) {
    return lg_buckets(s) > MOST_LG_LOW ? lg_buckets(s) - MOST_LG_LOW : 0;
}

bool cuzk__msm_bins_fit(const cuzk__msm_shape *shape, size_t block_shared) {
    return count_bytes((size_t)shape->sets << least_lg_bins(shape)) + COUNT_ASIDE <= block_shared;
}

/* Where bins of average size are too large for a block: a cluster has as many blocks as hold one,
 * and a bit more, at once. */
static void plan_large(const cuzk_cuda *dev, const cuzk__msm_shape *s, size_t digits,
                       cuzk__msm_sorter *sorter) {
    const size_t beside = beside_share(1u << (lg_buckets(s) - sorter->lg_bins));
    const size_t room = (dev->info.block_shared - COUNT_ASIDE) / 4;
    const size_t average = (digits >> sorter->lg_bins) << (s->narrow > 0);
    const size_t usual = average + average / 16, most = MOST_UNEVEN * average;
    sorter->most = sorter->whole;
    sorter->share = 0;
    sorter->cluster = 1;
    if (room < 2 * beside || usual <= sorter->whole) return;
    sorter->most = (uint32_t)(most < UINT32_MAX ? most : UINT32_MAX);
    sorter->share = (uint32_t)(room - beside);
    if (dev->info.cc_major < 9) return;
    const size_t blocks = (usual + sorter->share - 1) / sorter->share;
    sorter->cluster = (uint32_t)(blocks < MOST_CLUSTER ? blocks : (size_t)MOST_CLUSTER);
}

/* Bins of 2^13 to 2^14 digits where there are not too many or too few of them, nor more bins than
 * buckets in each, and where a block can count those of all sets. */
cuzk_status cuzk__msm_plan_sort(const cuzk_cuda *dev, const cuzk__msm_shape *shape,
                                cuzk__msm_sorter *sorter, cuzk_err *err) {
    const size_t digits = shape->n * (size_t)shape->factor;
    const int least = least_lg_bins(shape);
    const size_t shared = dev->info.block_shared;
    int lg = 0;
    while (lg < MOST_LG_BINS && 2 * lg < lg_buckets(shape) + 1 && digits >> (lg + LG_BIN_TARGET))
        lg++;
    while (lg > least && (size_t)shape->sets << lg > shared / 8)
        lg--;
    if (lg < least) lg = least;
    sorter->lg_bins = lg;
    sorter->threads = shared < 96 << 10 ? THIN_THREADS : WIDE_THREADS;
    /* two blocks of place_bin() share a multiprocessor */
    const size_t half = dev->info.sm_shared / 2 - BLOCK_ASIDE;
    const size_t room = half < shared ? half : shared - COUNT_ASIDE;
    sorter->whole = (uint32_t)(room / 4 - ((size_t)1 << (lg_buckets(shape) - lg)) - 1);
    plan_large(dev, shape, digits, sorter);
    CUZK_TRY(cuzk__msm_plan_bins(dev, shape, sorter, err));
    if (dev->ordinal == CUZK__NO_DEVICE) return CUZK_OK;
    const size_t most = shared - COUNT_ASIDE;
    return sorter->threads == WIDE_THREADS ? allow_shared<WIDE_THREADS>(room, most, err)
                                           : allow_shared<THIN_THREADS>(room, most, err);
}

size_t cuzk__msm_digits_of(const cuzk__msm_shape *shape, int first_set, int count) {
    size_t digits = 0;
    for (int k = 0; k < count; k++)
        digits += shape->n * (size_t)windows_of(shape, first_set + k);
    return digits;
}

cuzk_status cuzk__msm_sort_sets(const cuzk_cuda *dev, const cuzk__msm_shape *shape,
                                const cuzk_u256 *modulus, const void *scalars, int first_set,
                                int count, const cuzk__msm_sorter *sorter, uint32_t *index,
                                uint32_t *first, cuzk_err *err) {
    CUZK_TRY(cuzk__msm_to_bins(dev, shape, modulus, scalars, first_set, count, sorter, err));
    move_args a = {};
    a.start = sorter->start + ((size_t)first_set << sorter->lg_bins);
    a.next = sorter->next;
    a.values = sorter->values;
    a.index = index;
    a.first = first + (size_t)first_set * shape->buckets;
    a.low = sorter->low;
    a.large = sorter->start + ((size_t)shape->sets << sorter->lg_bins) + 1;
    a.whole = sorter->whole;
    a.most = sorter->most;
    a.share = sorter->share;
    a.cluster = sorter->cluster;
    a.lg_bins = sorter->lg_bins;
    a.lg_low = lg_buckets(shape) - sorter->lg_bins;
    a.bins = (uint32_t)count << sorter->lg_bins;
    const size_t digits = cuzk__msm_digits_of(shape, first_set, count);
    return sorter->threads == WIDE_THREADS ? move_tiles<WIDE_THREADS>(dev, a, digits, err)
                                           : move_tiles<THIN_THREADS>(dev, a, digits, err);
}
