/* See msm_bins.cuh. */
#include "backend/cuda/msm_bins.cuh"

#include "backend/cuda/cub_room.h"
#include "backend/cuda/msm_tile.cuh"

namespace {

using namespace cuzk_gpu;

enum {
    MOST_WINDOWS = 64,
    COUNT_THREADS = 1024,
    SCAN_THREADS = 1024,
    SCAN_EACH = 8,
    AGAIN_LEAST = 3 /* windows of a set: digits are made from scalars again from so many on */
};

/* What the digits of a tile have in common: one window, or the windows of a set. */
struct row_of {
    uint32_t bit, end; /* where the first window begins and the last one ends */
    uint8_t width, set, windows;
    uint32_t base;    /* of the base numbers */
    uint32_t inverse; /* 2^32 / windows, rounded up */
};

struct count_args {
    scalar_source from;
    uint32_t *planes, *flips;
    uint32_t *counts;
    int lg_bins, lg_low;
    uint32_t bins, rows, period; /* bins of all sets */
    row_of of[MOST_WINDOWS + 1];
};

struct part_args {
    scalar_source from;
    bin_args to;
    const uint32_t *planes, *flips, *map;
    uint32_t tile;           /* scalars */
    uint32_t period, stride; /* from one window of a set to the next: bits, base numbers */
    row_of of[MOST_WINDOWS];
};

/* The words of scalar i as digits; of one beyond the last, digits of 0. */
__device__ __forceinline__ void read_scalar(uint32_t (&v)[DIGIT_WORDS + 1], const scalar_source &a,
                                            uint32_t i, bool *flip) {
    uint4 low = make_uint4(0, 0, 0, 0), high = low;
    if (i < a.n) {
        low = a.scalars[(size_t)2 * i];
        high = a.scalars[(size_t)2 * i + 1];
    }
    const uint32_t s[8] = {low.x, low.y, low.z, low.w, high.x, high.y, high.z, high.w};
    split_scalar(v, a, s, i, flip);
}

/* Counts the scalars' digits by bins, those of 0 behind the last, and writes words to planes where
 * they are wanted. */
template <bool AGAIN>
__global__ __launch_bounds__(COUNT_THREADS, THIS_CHIP.threads / COUNT_THREADS) void count_digits(
    const __grid_constant__ count_args a) {
    extern __shared__ uint32_t counts[];
    for (uint32_t k = threadIdx.x; k < a.bins; k += COUNT_THREADS)
        counts[k] = 0;
    __syncthreads();
    const uint32_t n = (uint32_t)a.from.n;
    for (uint32_t i0 = blockIdx.x * COUNT_THREADS; i0 < n; i0 += gridDim.x * COUNT_THREADS) {
        const uint32_t i = i0 + threadIdx.x;
        uint32_t v[DIGIT_WORDS + 1];
        bool flip, negative;
        read_scalar(v, a.from, i, &flip);
        const auto count = [&](const row_of &of, uint32_t bits) {
            const uint32_t b = bucket_of(bits, of.width, &negative);
            const uint32_t bin = ((uint32_t)of.set << a.lg_bins) + (b >> a.lg_low);
            atomicAdd(counts + (b == NOTHING ? a.bins : bin), 1u);
        };
        if (AGAIN) {
            for (uint32_t k = 0; k < a.rows; k++)
                each_window(v, a.of[k].bit, a.of[k].end, a.period,
                            [&](uint32_t bits) { count(a.of[k], bits); });
            continue;
        }
        const uint32_t flips = __ballot_sync(0xffffffffu, flip);
        if ((threadIdx.x & 31) == 0 && i < n) a.flips[i / 32] = flips;
#pragma unroll
        for (int j = 0; j < DIGIT_WORDS; j++)
            if (i < n && (j < 8 || a.from.bias[8])) a.planes[j * a.from.n + i] = v[j];
        uint32_t k = 0;
#pragma unroll
        for (uint32_t j = 0; j < DIGIT_WORDS; j++)
            for (; a.of[k].bit < 32 * (j + 1); k++)
                count(a.of[k], bits_from(v[j], v[j + 1], a.of[k].bit));
    }
    __syncthreads();
    for (uint32_t k = threadIdx.x; k < a.bins; k += COUNT_THREADS)
        if (counts[k]) atomicAdd(a.counts + k, counts[k]);
}

/* One block: start and cursor of each bin from its count, which is in cursor. start[bins + 1]: how
 * many have more than `most`. */
__global__ __launch_bounds__(SCAN_THREADS) void place_bins(uint32_t *cursor, uint32_t bins,
                                                           uint32_t *start, uint32_t most) {
    enum { ROUND = SCAN_THREADS * SCAN_EACH };
    __shared__ uint32_t warps[SCAN_THREADS / 32], c[ROUND + 1];
    uint32_t origin = 0, large = 0;
    for (uint32_t b0 = 0; b0 < bins; b0 += ROUND) {
        const uint32_t now = bins - b0 < ROUND ? bins - b0 : ROUND;
        for (uint32_t k = threadIdx.x; k < now; k += SCAN_THREADS) {
            c[k] = cursor[b0 + k];
            large += c[k] > most;
        }
        __syncthreads();
        exclusive_scan<SCAN_THREADS>(c, now, warps);
        for (uint32_t k = threadIdx.x; k < now; k += SCAN_THREADS)
            start[b0 + k] = cursor[b0 + k] = origin + c[k];
        origin += c[now];
        __syncthreads();
    }
    uint32_t all;
    (void)prefix_sum<SCAN_THREADS>(large, warps, &all);
    if (threadIdx.x != 0) return;
    start[bins] = origin;
    start[bins + 1] = all;
}

/* A window's digits, out of planes. */
struct plane_digits {
    const uint32_t *words, *flips;
    uint32_t n, last;
    int bit, width;
    bool straddles;

    __device__ __forceinline__ plane_digits(const part_args &a, const row_of &of, uint32_t last_)
        : words(a.planes + (size_t)(of.bit / 32) * a.from.n), flips(a.flips), n((uint32_t)a.from.n),
          last(last_), bit((int)of.bit), width(of.width), straddles(of.bit % 32 + of.width > 32) {}
    /* Scalar i's bucket, top bit: negate. NOTHING for 0, and from `last` on. */
    __device__ __forceinline__ uint32_t at(uint32_t i) const {
        if (i >= last) return NOTHING;
        bool negative;
        const uint32_t high = straddles ? words[n + i] : 0;
        const uint32_t b = bucket_of(bits_from(words[i], high, bit), width, &negative);
        const bool flip = flips[i / 32] >> (i % 32) & 1;
        return b == NOTHING || negative == flip ? b : b | 0x80000000u;
    }
};

/* Row y of the grid: the digits of one window to their bins, out of planes. The second pass reads
 * them again: kept in registers they would spill. */
template <int NT>
__global__ __launch_bounds__(NT,
                             THIS_CHIP.threads /
                                 NT) void partition_planes(const __grid_constant__ part_args a) {
    extern __shared__ uint32_t shared[];
    __shared__ uint32_t warps[NT / 32], edge[(1 << LG_PARTS) + 1];
    const row_of &of = a.of[blockIdx.y];
    const uint32_t n = (uint32_t)a.from.n, i0 = blockIdx.x * a.tile, end = i0 + a.tile;
    const plane_digits digits(a, of, end < n ? end : n);
    bin_tile<NT> tile(a.to, shared, edge);
#pragma unroll 4
    for (uint32_t i = i0 + threadIdx.x; i < end; i += NT)
        tile.note(digits.at(i) & 0x7fffffffu);
    tile.take_room(of.set, warps);
#pragma unroll 4
    for (uint32_t i = i0 + threadIdx.x; i < end; i += NT) {
        const uint32_t d = digits.at(i);
        tile.put(d & 0x7fffffffu, (i - i0) | d >> 31 << 15);
    }
    tile.write([&](uint32_t id) {
        const uint32_t i = i0 + (id & TILE_ID);
        return (of.base + (a.map ? a.map[i] : i)) | id >> 15 << 31;
    });
}

/* Row y of the grid: the digits of a set's windows to their bins, out of scalars. Threads without a
 * scalar have one of no digits, so that all loops are the block's. */
template <int NT>
__global__ __launch_bounds__(NT,
                             THIS_CHIP.threads /
                                 NT) void partition_scalars(const __grid_constant__ part_args a) {
    extern __shared__ uint32_t shared[];
    __shared__ uint32_t warps[NT / 32], edge[(1 << LG_PARTS) + 1];
    const row_of &of = a.of[blockIdx.y];
    const uint32_t n = (uint32_t)a.from.n, i0 = blockIdx.x * a.tile;
    const uint32_t last = n - i0 < a.tile ? n : i0 + a.tile;
    uint32_t v[DIGIT_WORDS + 1];
    bool flip, negative;
    bin_tile<NT> tile(a.to, shared, edge);
    for (uint32_t j = i0; j < last; j += NT) {
        const uint32_t i = j + threadIdx.x;
        read_scalar(v, a.from, i < last ? i : NOTHING, &flip);
        each_window(v, of.bit, of.end, a.period,
                    [&](uint32_t bits) { tile.note(bucket_of(bits, of.width, &negative)); });
    }
    tile.take_room(of.set, warps);
    for (uint32_t j = i0; j < last; j += NT) {
        const uint32_t i = j + threadIdx.x;
        uint32_t id = (i - i0) * of.windows;
        read_scalar(v, a.from, i < last ? i : NOTHING, &flip);
        each_window(v, of.bit, of.end, a.period, [&](uint32_t bits) {
            const uint32_t b = bucket_of(bits, of.width, &negative);
            tile.put(b, id++ | (negative != flip ? 1u << 15 : 0));
        });
    }
    tile.write([&](uint32_t id) {
        const uint32_t k = id & TILE_ID, local = __umulhi(k, of.inverse), i = i0 + local;
        return ((a.map ? a.map[i] : i) + (k - local * of.windows) * a.stride) | id >> 15 << 31;
    });
}

size_t tile_shared(const cuzk__msm_shape *s, const cuzk__msm_sorter *sorter) {
    return tile_bytes_of((size_t)sorter->tile * (sorter->again ? s->factor : 1), sorter->lg_bins);
}

template <int NT>
cuzk_status partition(const cuzk_cuda *dev, const part_args &a, unsigned rows, size_t shared,
                      cuzk_err *err) {
    const dim3 grid((unsigned)((a.from.n + a.tile - 1) / a.tile), rows);
    if (a.planes)
        partition_planes<NT><<<grid, NT, shared, dev->stream>>>(a);
    else
        partition_scalars<NT><<<grid, NT, shared, dev->stream>>>(a);
    CUZK_CUDA_LAUNCHED();
    return CUZK_OK;
}

template <int NT> cuzk_status allow_shared(size_t bytes, cuzk_err *err) {
    const cudaFuncAttribute attr = cudaFuncAttributeMaxDynamicSharedMemorySize;
    CUZK_CUDA(cudaFuncSetAttribute(partition_planes<NT>, attr, (int)bytes));
    CUZK_CUDA(cudaFuncSetAttribute(partition_scalars<NT>, attr, (int)bytes));
    return CUZK_OK;
}

/* The rows of a batch: its windows, or its sets. set: counted from the batch's first. */
unsigned rows_of(const cuzk__msm_shape *shape, int first_set, int count, bool again, row_of *of) {
    unsigned rows = 0;
    for (int w = 0; w < (again ? shape->sets : shape->windows); w++) {
        const window_of at = window_at(shape, w);
        const int set = at.set - first_set;
        if (set < 0 || set >= count) continue;
        const int windows = again ? windows_of(shape, w) : 1;
        of[rows++] = {at.bit,
                      at.bit + (uint32_t)((windows - 1) * shape->period) + at.width,
                      at.width,
                      (uint8_t)set,
                      (uint8_t)windows,
                      at.base,
                      UINT32_MAX / (uint32_t)windows + 1};
    }
    return rows;
}

} // namespace

/* Two tiles share a multiprocessor. A tile of more scalars than threads has rounds of all threads.
 */
cuzk_status cuzk__msm_plan_bins(const cuzk_cuda *dev, const cuzk__msm_shape *shape,
                                cuzk__msm_sorter *sorter, cuzk_err *err) {
    const size_t most = dev->info.block_shared - COUNT_ASIDE, threads = (size_t)sorter->threads;
    const size_t half = dev->info.sm_shared / 2 - BLOCK_ASIDE, room = half < most ? half : most;
    sorter->again = shape->factor >= AGAIN_LEAST;
    const size_t digits = tile_digits_of(room, sorter->lg_bins);
    const size_t tile = sorter->again ? digits / (size_t)shape->factor : digits;
    sorter->tile = (uint32_t)(tile - tile % (tile > threads ? threads : 32));
    if (dev->ordinal == CUZK__NO_DEVICE) return CUZK_OK;
    const cudaFuncAttribute attr = cudaFuncAttributeMaxDynamicSharedMemorySize;
    CUZK_CUDA(cudaFuncSetAttribute(count_digits<false>, attr, (int)most));
    CUZK_CUDA(cudaFuncSetAttribute(count_digits<true>, attr, (int)most));
    return threads == WIDE_THREADS ? allow_shared<WIDE_THREADS>(room, err)
                                   : allow_shared<THIN_THREADS>(room, err);
}

cuzk_status cuzk__msm_prepare_scalars(const cuzk_cuda *dev, const cuzk__msm_shape *shape,
                                      const cuzk_u256 *modulus, const void *scalars,
                                      const cuzk__msm_sorter *sorter, cuzk_err *err) {
    count_args a = {};
    a.from = source_of(shape, modulus, scalars);
    a.planes = sorter->planes;
    a.flips = sorter->flips;
    a.counts = sorter->cursor;
    a.lg_bins = sorter->lg_bins;
    a.lg_low = lg_buckets(shape) - sorter->lg_bins;
    a.bins = (uint32_t)shape->sets << sorter->lg_bins;
    a.period = (uint32_t)shape->period;
    a.rows = rows_of(shape, 0, shape->sets, sorter->again, a.of);
    a.of[a.rows].bit = UINT32_MAX;
    const size_t blocks = (shape->n + COUNT_THREADS - 1) / COUNT_THREADS;
    const size_t most = (size_t)dev->info.sms * 2;
    const unsigned grid = (unsigned)(blocks > most ? most : blocks);
    CUZK_CUDA(cudaMemsetAsync(sorter->cursor, 0, (size_t)a.bins * 4, dev->stream));
    if (sorter->again)
        count_digits<true><<<grid, COUNT_THREADS, count_bytes(a.bins), dev->stream>>>(a);
    else
        count_digits<false><<<grid, COUNT_THREADS, count_bytes(a.bins), dev->stream>>>(a);
    CUZK_CUDA_LAUNCHED();
    place_bins<<<1, SCAN_THREADS, 0, dev->stream>>>(sorter->cursor, a.bins, sorter->start,
                                                    sorter->most);
    CUZK_CUDA_LAUNCHED();
    return CUZK_OK;
}

cuzk_status cuzk__msm_to_bins(const cuzk_cuda *dev, const cuzk__msm_shape *shape,
                              const cuzk_u256 *modulus, const void *scalars, int first_set,
                              int count, const cuzk__msm_sorter *sorter, cuzk_err *err) {
    part_args a = {};
    a.from = source_of(shape, modulus, scalars);
    a.to.start = sorter->start + ((size_t)first_set << sorter->lg_bins);
    a.to.cursor = sorter->cursor + ((size_t)first_set << sorter->lg_bins);
    a.to.values = sorter->values;
    a.to.low = sorter->low;
    a.to.lg_bins = sorter->lg_bins;
    a.to.lg_low = lg_buckets(shape) - sorter->lg_bins;
    a.to.lg_part = lg_part_of(lg_buckets(shape), sorter->lg_bins);
    a.planes = sorter->planes;
    a.flips = sorter->flips;
    a.map = shape->map;
    a.tile = sorter->tile;
    a.period = (uint32_t)shape->period;
    a.stride = (uint32_t)shape->stride;
    const unsigned rows = rows_of(shape, first_set, count, sorter->again, a.of);
    const size_t shared = tile_shared(shape, sorter);
    return sorter->threads == WIDE_THREADS ? partition<WIDE_THREADS>(dev, a, rows, shared, err)
                                           : partition<THIN_THREADS>(dev, a, rows, shared, err);
}
