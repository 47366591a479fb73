/* From the sums of lists to what the host combines: the lists of a bucket are merged, and the
 * buckets of a set summed by the bits of their numbers. */
#ifndef CUZK_BACKEND_CUDA_MSM_REDUCE_CUH
#define CUZK_BACKEND_CUDA_MSM_REDUCE_CUH

#include "backend/cuda/msm_lists.cuh"
#include "backend/cuda/msm_points.cuh"

namespace cuzk_gpu {

enum { REDUCE_THREADS = POINT_THREADS };

/* How the lines of a set's square of buckets are shared out: a block sums 2^lg_rows rows, or
 * 2^lg_columns columns. */
struct lines_cut {
    cuzk__msm_square square;
    int lg_rows, lg_columns;
    __host__ __device__ uint32_t row_blocks() const { return 1u << (square.lg_high - lg_rows); }
    __host__ __device__ uint32_t blocks() const {
        return row_blocks() + (1u << (square.lg_low - lg_columns));
    }
};

/* So that each of a block's 2^lg_threads sums is of 2^lg_each points, of a row or of a column. */
static inline lines_cut cut_lines(const cuzk__msm_square &s, int lg_each, int lg_threads) {
    lines_cut c = {s, lg_threads + lg_each - (s.lg_low - s.lg_fold),
                   lg_threads + lg_each - (s.lg_high - s.lg_fold)};
    for (int *lg : {&c.lg_rows, &c.lg_columns}) {
        const int most = lg == &c.lg_rows ? s.lg_high : s.lg_low;
        *lg = *lg < 0 ? 0 : *lg > lg_threads ? lg_threads : *lg;
        *lg = *lg > most ? most : *lg;
    }
    return c;
}

/* The cut that takes least: rounds of `resident` blocks, in each of which a thread adds its points
 * up, and the block the sums of its threads. Sets are not alike, narrow ones have half of the
 * buckets: few long blocks take half a round more for that; and of folded ones, whose blocks are
 * short, all end half a block apart. */
static inline lines_cut choose_lines(const cuzk__msm_square &s, int lg_threads, uint32_t resident) {
    const int row_points = s.lg_low - s.lg_fold, column_points = s.lg_high - s.lg_fold;
    lines_cut best = cut_lines(s, 0, lg_threads);
    uint64_t least = UINT64_MAX;
    for (int lg = 0; lg <= (row_points > column_points ? row_points : column_points); lg++) {
        const lines_cut c = cut_lines(s, lg, lg_threads);
        const uint64_t rounds = ((uint64_t)c.blocks() * s.sets + resident - 1) / resident;
        const int row = row_points - lg_threads + c.lg_rows;
        const int column = column_points - lg_threads + c.lg_columns;
        const int each = row > column ? row : column;
        const bool uneven = s.sets > 1 && each > 5;
        const uint64_t block =
            ((uint64_t)1 << (each < 0 ? 0 : each)) + (uint64_t)(lg_threads - c.lg_rows);
        const uint64_t busy = (uint64_t)c.blocks() * (2 * s.sets - s.narrow) / 2;
        const uint64_t time =
            s.lg_fold ? (2 * (busy > resident ? busy : resident) + resident) * block / resident
                      : (2 * rounds + uneven) * block;
        if (time < least) {
            least = time;
            best = c;
        }
    }
    return best;
}

/* Blocks of sum_lines() that a multiprocessor's registers hold at least: without a bound, the calls
 * for equal points would decide. */
template <class E> constexpr int LINES_BLOCKS = E::N > 12 ? 2 : E::N > 8 ? 3 : 4;

/* Block (k, set): the sums of some of the set's lines: first the rows, then the columns. */
template <class G>
__global__ __launch_bounds__(REDUCE_THREADS, LINES_BLOCKS<typename G::E>) void sum_lines(
    const typename G::affine *sums, const typename G::affine *folded, const uint32_t *offset,
    const unsigned *empty, const __grid_constant__ lines_cut cut, typename G::xyzz *lines) {
    extern __shared__ uint64_t words[];
    const cuzk__msm_square &s = cut.square;
    const uint32_t rows = 1u << s.lg_high, columns = 1u << s.lg_low, set = blockIdx.y;
    const bool row = blockIdx.x < cut.row_blocks();
    const int lg_lines = row ? cut.lg_rows : cut.lg_columns;
    const uint32_t block = row ? blockIdx.x : blockIdx.x - cut.row_blocks();
    constexpr uint32_t COUNT = running_sum<G, REDUCE_THREADS>::COUNT;
    running_sum<G, REDUCE_THREADS> x;
    const uint32_t number = (uint32_t)x.number();
    const uint32_t line =
        (block << lg_lines) + (number & ((1u << lg_lines) - 1)) + (row ? 0 : rows);
    const bool fold = s.lg_fold && *empty <= s.empty_most();
    const typename G::affine *points = fold ? folded : sums;
    const int lg = fold ? s.lg_fold : 0;
    const uint32_t used = s.rows(set), length = (row ? columns : used) >> lg;
    const uint32_t step = row ? 1 : columns;
    const bool no_row = row && line >= used;
    uint32_t first = row ? line << (s.lg_low - lg) : line - rows;
    first +=
        fold ? s.before(set) + (row ? 0 : used << (s.lg_low - lg)) : set << (s.lg_high + s.lg_low);
    for (uint32_t from = 0; from < length; from += COUNT >> lg_lines) {
        const uint32_t i = from + (number >> lg_lines);
        bool any = i < length && !no_row;
        uint32_t v = first + (any ? i : 0) * step;
        if (!fold) {
            const uint32_t b = v;
            v = offset[b];
            any = any && offset[b + 1] > v;
        }
        x.add_affine(&points[any ? v : 0], any);
    }
    block_sums<G, REDUCE_THREADS>(words, x, 1 << lg_lines);
    if (threadIdx.x >> lg_lines) return;
    typename G::xyzz y;
    get_shared_point<COUNT>(&y, words, (int)threadIdx.x);
    put_point(&lines[set * (rows + columns) + (block << lg_lines) + threadIdx.x + (row ? 0 : rows)],
              &y);
}

/* Block (mode, set): mode 0: the sum of all rows; mode k + 1: of the lines whose buckets have bit k
 * in their number. */
template <class G>
__global__ __launch_bounds__(REDUCE_THREADS) void sum_bits(const typename G::xyzz *lines,
                                                           int lg_high, int lg_low,
                                                           typename G::xyzz *result) {
    extern __shared__ uint64_t words[];
    const uint32_t rows = 1u << lg_high, columns = 1u << lg_low;
    const int mode = (int)blockIdx.x, k = mode - 1, set = (int)blockIdx.y;
    const bool all = mode == 0, column = !all && k < lg_low;
    const int j = column ? k : k - lg_low;
    const typename G::xyzz *in = lines + (size_t)set * (rows + columns) + (column ? rows : 0);
    const uint32_t count = all ? rows : (column ? columns : rows) / 2;
    constexpr uint32_t COUNT = running_sum<G, REDUCE_THREADS>::COUNT;
    running_sum<G, REDUCE_THREADS> x;
    for (uint32_t from = 0; from < count; from += COUNT) {
        const uint32_t i = from + (uint32_t)x.number();
        const uint32_t at = all ? i : (i >> j << (j + 1)) | 1u << j | (i & ((1u << j) - 1));
        x.add(&in[i < count ? at : 0], i < count);
    }
    block_sums<G, REDUCE_THREADS>(words, x, 1);
    if (threadIdx.x) return;
    typename G::xyzz y;
    get_shared_point<COUNT>(&y, words, 0);
    put_point(&result[(size_t)set * gridDim.x + mode], &y);
}

/* *a = the affine form of *p for each thread of a block of REDUCE_THREADS; one inversion. base: the
 * shared address of stage<E, REDUCE_THREADS>::BYTES. */
template <class G>
static __device__ __forceinline__ void block_affine(typename G::affine *a,
                                                    const typename G::xyzz *p, uint32_t base) {
    typedef typename G::E E;
    constexpr int N = E::N;
    uint32_t z[N], t[N], x[N], y[N];
    split_limbs<N>(z, (const uint64_t *)&p->zzz);
    const bool infinite = words_zero<N>(z);
    if (infinite) E::one(z);
    block_inverse<E, REDUCE_THREADS>(z, base, 0);
    /* 1/zz = (zz/zzz)^2 as zz^3 = zzz^2 */
    E::settle(z);
    E::canon(z);
    split_limbs<N>(t, (const uint64_t *)&p->zz);
    E::mul(t, t, z);
    E::canon(t);
    E::sqr(t, t);
    E::canon(t);
    split_limbs<N>(x, (const uint64_t *)&p->x);
    split_limbs<N>(y, (const uint64_t *)&p->y);
    E::mul(x, x, t);
    E::mul(y, y, z);
    E::canon(x);
    E::canon(y);
    if (infinite) {
        CUZK_UNROLL for (int k = 0; k < N; k++) x[k] = y[k] = 0;
    }
    join_words<N>((uint64_t *)&a->x, x);
    join_words<N>((uint64_t *)&a->y, y);
}

enum { MERGE_SERIAL = 16 }; /* lists that one thread adds; more are added by its block */

/* sums[offset[b]] = the sum of sums[offset[b] .. offset[b+1]), a thread for each bucket b, where
 * *cut says that a bucket has more than one. Buckets side by side go to different blocks: those
 * with many lists often are neighbours. */
template <class G>
__global__
__launch_bounds__(REDUCE_THREADS) void merge_lists(typename G::affine *sums, const uint32_t *offset,
                                                   uint32_t buckets, const unsigned *cut) {
    if (*cut == 0) return;
    extern __shared__ uint4 dynamic[];
    __shared__ uint2 range[REDUCE_THREADS];
    uint64_t *words = (uint64_t *)dynamic;
    const uint32_t t = threadIdx.x, b = t * gridDim.x + blockIdx.x;
    uint32_t v = 0, n = 0;
    if (b < buckets) {
        v = offset[b];
        n = offset[b + 1] - v;
    }
    if (!__syncthreads_or(n > 1)) return;
    typename G::xyzz p;
    G::clear(&p);
    if (n > 1 && n <= MERGE_SERIAL)
        for (uint32_t k = 0; k < n; k++)
            G::add_affine(&p, &sums[v + k]);
    range[t] = make_uint2(v, n);
    if (__syncthreads_or(n > MERGE_SERIAL)) {
        for (uint32_t k = 0; k < REDUCE_THREADS; k++) {
            const uint2 r = range[k];
            if (r.y <= MERGE_SERIAL) continue;
            running_sum<G, REDUCE_THREADS> q;
            for (uint32_t from = 0; from < r.y; from += q.COUNT) {
                const uint32_t i = from + (uint32_t)q.number();
                q.add_affine(&sums[r.x + (i < r.y ? i : 0)], i < r.y);
            }
            block_sums<G, REDUCE_THREADS>(words, q, 1);
            if (t == k) get_shared_point<q.COUNT>(&p, words, 0);
            __syncthreads();
        }
    }
    typename G::affine a;
    block_affine<G>(&a, &p, (uint32_t)__cvta_generic_to_shared(dynamic));
    if (n > 1) sums[v] = a;
}

} // namespace cuzk_gpu

#endif
