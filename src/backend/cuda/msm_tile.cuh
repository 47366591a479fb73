/* A tile of digits on its way to bins, in the shared memory of a block. DESIGN
 *
 * Two passes over the tile's digits: note() counts them by bins, put() lays each where its bin's
 * next one goes; between them take_room() takes as much room in the bins of the batch, and how much
 * others had taken before is not looked at until write(), so that the second pass hides the wait. A
 * digit is a word in shared memory, so that tiles are large and what they write into a bin is a
 * run: its number in the tile and its sign above 16 bits of its bucket. The bits above these are
 * those of its part, the bins that differ in lower bits only: write() gives warps whole parts.
 * Parts of very many digits are left to all warps together.
 *
 * Digits of 0 have a bin of their own, the last, which stays: nothing is done under a condition,
 * and the loops over a scalar's windows are a dozen and twenty instructions. */
#ifndef CUZK_BACKEND_CUDA_MSM_TILE_CUH
#define CUZK_BACKEND_CUDA_MSM_TILE_CUH

#include "backend/cuda/block_scan.cuh"
#include "backend/cuda/msm_bins.cuh"
#include "backend/cuda/msm_digits.cuh"

namespace cuzk_gpu {

enum { LG_PARTS = 7 };
constexpr size_t TILE_MOST = 1 << 15;       /* digits */
constexpr uint32_t TILE_ID = TILE_MOST - 1; /* a digit's number */

/* Bytes of shared memory of a tile, and its digits. Two words behind the bins: those of 0, and what
 * keeps digits where they can be. */
constexpr size_t tile_bytes_of(size_t digits, int lg_bins) {
    return (digits + ((size_t)1 << lg_bins) + 1) * 4;
}
constexpr size_t tile_digits_of(size_t bytes, int lg_bins) {
    const size_t fit = bytes / 4 - ((size_t)1 << lg_bins) - 1;
    return fit < TILE_MOST ? fit : TILE_MOST;
}

/* Bits of a bucket's number within its part. */
constexpr int lg_part_of(int lg_buckets, int lg_bins) {
    const int low = lg_buckets - lg_bins, part = lg_buckets - LG_PARTS;
    return part < low ? low : part < 16 ? part : 16;
}

/* Where a tile's digits go. */
struct bin_args {
    const uint32_t *start; /* of the batch's first bin */
    uint32_t *cursor;      /* likewise */
    uint32_t *values;
    uint16_t *low;
    int lg_bins, lg_low, lg_part; /* bins of a set, buckets of a bin and of a part */
};

#ifdef __CUDACC__
/* off: of each bin, what it has in the tile, then where that begins in the tile's digits, then
 * where its next digit goes, and in the end what is added to a digit's place in the tile for its
 * place in the batch. edge: where parts begin. */
template <int NT> struct bin_tile {
    enum { EACH = (1 << MOST_LG_BINS) / NT };
    const bin_args &to;
    const uint32_t bins;
    uint32_t *off, *digits, *edge;
    uint32_t count;                       /* digits that are not 0 */
    uint32_t begin[EACH / 2], room[EACH]; /* of the thread's bins; begin: two in a word */

    /* shared: tile_bytes_of(); edge_: 2^LG_PARTS + 1 words of it. */
    __device__ __forceinline__ bin_tile(const bin_args &to_, uint32_t *shared, uint32_t *edge_)
        : to(to_), bins(1u << to_.lg_bins), off(shared), digits(shared + bins + 1), edge(edge_) {
        for (uint32_t k = threadIdx.x; k <= bins; k += NT)
            off[k] = 0;
        __syncthreads();
    }

    /* The bin of a bucket, or of NOTHING, with or without its top bit. */
    __device__ __forceinline__ uint32_t bin_of(uint32_t b) const {
        return min(b >> to.lg_low, bins);
    }

    __device__ __forceinline__ void note(uint32_t b) { atomicAdd(off + bin_of(b), 1u); }

    /* set: of the batch; warps: NT / 32 words of shared memory. */
    __device__ __forceinline__ void take_room(uint32_t set, uint32_t *warps) {
        uint32_t own[EACH], sum = 0;
        const int lg_apart = to.lg_part - to.lg_low; /* bins of a part */
        __syncthreads();
#pragma unroll
        for (uint32_t e = 0; e < EACH; e++) {
            const uint32_t k = threadIdx.x * EACH + e;
            own[e] = k < bins ? off[k] : 0;
            sum += own[e];
        }
        uint32_t at = prefix_sum<NT>(sum, warps, &count);
#pragma unroll
        for (uint32_t e = 0; e < EACH; e++) {
            const uint32_t k = threadIdx.x * EACH + e;
            begin[e / 2] = e % 2 ? begin[e / 2] | at << 16 : at;
            if (k < bins) off[k] = at;
            if (k < bins && k % (1u << lg_apart) == 0) edge[k >> lg_apart] = at;
            at += own[e];
            room[e] = own[e] ? atomicAdd(to.cursor + (set << to.lg_bins) + k, own[e]) : 0;
        }
        if (threadIdx.x == 0) off[bins] = edge[bins >> lg_apart] = count;
        __syncthreads();
    }

    /* id: the digit's number in the tile, bit 15: negate. */
    __device__ __forceinline__ void put(uint32_t b, uint32_t id) {
        digits[atomicAdd(off + bin_of(b), 1u)] = id << 16 | (b & ((1u << to.lg_part) - 1));
    }

    /* word(id): the digit's index word. */
    template <class F> __device__ __forceinline__ void write(F word) {
        const uint32_t origin = to.start[0], most = count / 8;
        const uint32_t parts = bins >> (to.lg_part - to.lg_low);
        bool left = false;
        __syncthreads();
#pragma unroll
        for (uint32_t e = 0; e < EACH; e++) {
            const uint32_t k = threadIdx.x * EACH + e;
            if (k < bins) off[k] = room[e] - (begin[e / 2] >> (e % 2 * 16) & 0xffff) - origin;
        }
        __syncthreads();
        for (uint32_t k = threadIdx.x / 32; k < parts; k += NT / 32) {
            const bool large = edge[k + 1] - edge[k] > most;
            left = left || large;
            if (!large) write_part<32>(k, threadIdx.x & 31, word);
        }
        if (!__syncthreads_or(left)) return;
        for (uint32_t k = 0; k < parts; k++)
            if (edge[k + 1] - edge[k] > most) write_part<NT>(k, threadIdx.x, word);
    }

  private:
    template <int STEP, class F>
    __device__ __forceinline__ void write_part(uint32_t part, uint32_t from, F word) {
        const uint32_t end = edge[part + 1];
#pragma unroll 2
        for (uint32_t p = edge[part] + from; p < end; p += STEP) {
            const uint32_t d = digits[p];
            const uint32_t b = part << to.lg_part | (d & ((1u << to.lg_part) - 1));
            const uint32_t at = off[b >> to.lg_low] + p;
            to.values[at] = word(d >> 16);
            to.low[at] = (uint16_t)(b & ((1u << to.lg_low) - 1));
        }
    }
};
#endif

} // namespace cuzk_gpu

#endif
