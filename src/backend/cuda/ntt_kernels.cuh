/* NTT kernels. DESIGN
 *
 * A transform of 2^L points is cut into passes over the data of 9 to 6 bits, small ones excepted.
 * NR (natural in, bit-reversed out) is decimation in frequency: pass k sees blocks of 2^m
 * consecutive elements as a matrix of LEN = 2^g rows and S = 2^(m-g) columns, transforms the
 * columns (rows come out bit-reversed), and multiplies entry (row, col) by
 * w_{2^m}^(col * rev(row)), the boundary twist; the next pass takes the rows as its blocks. The
 * last pass has S = 1. RN is the transpose of that network, pass by pass and butterfly by
 * butterfly, decimation in time. The twists between two passes are then the first pass's outputs'
 * too, at the same positions: both orders multiply by the same tables just before they store (the
 * loads hide behind the butterflies), and no permutation is ever applied.
 *
 * Within a pass a thread holds R = 8 elements in registers; between its stages of radix 8 or 4 the
 * elements are exchanged through shared memory. Every multiplication is by a fixed operand: the
 * factors of the DFTs are in the instructions (dft_factors.cuh), the twists inside a pass in shared
 * memory, the boundary twists in a table laid out like the data (both shoup.cuh). Values stay in
 * [0, 2p), but for those that are multiplied next (add_loose). Tiles of LEN rows by C columns are
 * taken from a counter, which measured 4 % faster than a static split. */
#ifndef CUZK_BACKEND_CUDA_NTT_KERNELS_CUH
#define CUZK_BACKEND_CUDA_NTT_KERNELS_CUH

#include "backend/cuda/dft_factors.cuh"
#include "backend/cuda/limits.cuh"
#include "backend/cuda/shoup.cuh"

namespace cuzk_gpu {

enum { NTT_ROOT_BITS = 11 }; /* the table of roots inside a pass: w_2048^e */
/* To the second-level cache, while a tile's last DFTs are computed: the twists behind them, and the
 * next tile. Worth it where the data are larger than that cache. */
enum { NTT_AHEAD_TWISTS = 1, NTT_AHEAD_TILE = 2 };

struct ntt_args {
    uint4 *data;                /* two per element */
    const shoup_pair *roots;    /* w_{2^NTT_ROOT_BITS}^e */
    const shoup_pair *boundary; /* twists of this pass's outputs, by position in a block of
                                   2^lg_boundary; NULL after a transform's last pass */
    const shoup_pair *row_scale, *block_scale; /* contiguous passes: NULL or factors of element
                                                  (block, row): row_scale[row] block_scale[block] */
    unsigned *counter;      /* zero at launch: tiles taken beyond the first grid */
    unsigned *old_counters; /* of which the pass zeroes n_old_counters */
    int n_old_counters;
    uint32_t tiles;
    int lg_stride, lg_block; /* log2 of S and of the block the pass works in */
    int lg_boundary;
    int ahead;           /* NTT_AHEAD_*: what to fetch before it is needed */
    int turn;            /* dft_factors.cuh */
    int lg_len, lg_cols; /* any-length kernel only */
};

CUZK_GPU_HD void set_words(uint32_t *x, uint4 a, uint4 b) {
    x[0] = a.x, x[1] = a.y, x[2] = a.z, x[3] = a.w;
    x[4] = b.x, x[5] = b.y, x[6] = b.z, x[7] = b.w;
}
CUZK_GPU_HD uint4 low_half(const uint32_t *x) {
    return make_uint4(x[0], x[1], x[2], x[3]);
}
CUZK_GPU_HD uint4 high_half(const uint32_t *x) {
    return make_uint4(x[4], x[5], x[6], x[7]);
}

#ifdef __CUDACC__
static __device__ __forceinline__ void load_shared(uint32_t *r, uint32_t addr) {
    asm volatile("ld.shared.v4.u32 {%0,%1,%2,%3}, [%4];"
                 : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
                 : "r"(addr)
                 : "memory");
}

/* x *= pair at shared address addr, stored as four 16-byte planes `plane` bytes apart. w is read
 * only after the quotient is known: eight registers less. */
template <class F>
static __device__ __forceinline__ void shoup_mul_shared(uint32_t *x, uint32_t addr,
                                                        uint32_t plane) {
    uint32_t q[8], v[8];
    load_shared(v, addr + 2 * plane);
    load_shared(v + 4, addr + 3 * plane);
    high_product(q, x, v);
    load_shared(v, addr);
    load_shared(v + 4, addr + plane);
    shoup_finish<F>(x, x, v, q);
}

template <class F>
static __device__ __forceinline__ void shoup_mul_global(uint32_t *x, const shoup_pair *pair) {
    const uint4 *g = reinterpret_cast<const uint4 *>(pair);
    uint32_t w[8], wp[8];
    set_words(wp, __ldg(g + 2), __ldg(g + 3));
    set_words(w, __ldg(g), __ldg(g + 1));
    shoup_mul<F>(x, x, w, wp);
}

/* (a, b) = (a + b, a - b). SUM, DIFFERENCE: it is only to be multiplied (add_loose). */
template <class F, bool SUM = false, bool DIFFERENCE = SUM>
CUZK_GPU_HD void butterfly(uint32_t *a, uint32_t *b) {
    uint32_t s[8];
    if constexpr (SUM)
        add_loose<F>(s, a, b);
    else
        add_mod2p<F>(s, a, b);
    if constexpr (DIFFERENCE)
        sub_loose<F>(b, a, b);
    else
        sub_mod2p<F>(b, a, b);
    copy_words<8>(a, s);
}

template <class F, dft_factor_id ID> CUZK_GPU_HD void times(uint32_t *x) {
    constexpr split_factor f = dft_factor<F>(ID);
    split_mul<F>(x, x, f);
}

/* Which results of a DFT are only to be multiplied: none, all but x[0], all. */
enum dft_use { DFT_KEPT, DFT_TWISTED, DFT_ALL_TWISTED };

/* DFT of 4 elements: natural in, x_j holds frequency rev(j); and its transpose, which takes
 * coefficient rev(j) in x_j, natural out. */
template <class F, dft_use USE>
CUZK_GPU_HD void dft4_dif(uint32_t *x0, uint32_t *x1, uint32_t *x2, uint32_t *x3) {
    butterfly<F>(x0, x2);
    butterfly<F, false, true>(x1, x3);
    times<F, NTT_W4>(x3);
    butterfly<F, USE == DFT_ALL_TWISTED, USE != DFT_KEPT>(x0, x1);
    butterfly<F, USE != DFT_KEPT>(x2, x3);
}

template <class F, bool LOOSE>
CUZK_GPU_HD void dft4_dit(uint32_t *x0, uint32_t *x1, uint32_t *x2, uint32_t *x3) {
    butterfly<F>(x0, x1);
    butterfly<F, false, true>(x2, x3);
    times<F, NTT_W4>(x3);
    butterfly<F, LOOSE>(x0, x2);
    butterfly<F, LOOSE>(x1, x3);
}

/* The odd frequencies 1, 5, 3, 7 of 8 elements from the differences u_j = x_j - x_(j+4), w = w_8:
 * w u_1 + w^3 u_3 and w^3 u_1 + w u_3 are sum and difference of (w + w^3)/2 (u_1 + u_3) and
 * (w - w^3)/2 (u_1 - u_3), so three products do where the four of radix 2 would be. */
template <class F, dft_use USE>
CUZK_GPU_HD void odd8_dif(uint32_t *u0, uint32_t *u1, uint32_t *u2, uint32_t *u3) {
    butterfly<F, true>(u1, u3);
    times<F, NTT_W8_SUM>(u1);
    times<F, NTT_W8_DIFFERENCE>(u3);
    butterfly<F>(u1, u3);
    times<F, NTT_W4>(u2);
    butterfly<F>(u0, u2);
    /* u0, u1: of frequencies 1 and 5; u2, u3: of 3 and 7 */
    butterfly<F, USE != DFT_KEPT>(u0, u1);
    butterfly<F, USE != DFT_KEPT>(u2, u3);
}

template <class F>
CUZK_GPU_HD void odd8_dit(uint32_t *u0, uint32_t *u1, uint32_t *u2, uint32_t *u3) {
    butterfly<F>(u0, u1);
    butterfly<F>(u2, u3);
    butterfly<F, false, true>(u0, u2);
    times<F, NTT_W4>(u2);
    butterfly<F, true>(u1, u3);
    times<F, NTT_W8_SUM>(u1);
    times<F, NTT_W8_DIFFERENCE>(u3);
    butterfly<F>(u1, u3);
}

/* DFT of 2^LR elements: natural in, x[j] holds frequency rev(j). */
template <class F, int LR, dft_use USE> CUZK_GPU_HD void dft_dif(uint32_t (*x)[8]) {
    if constexpr (LR == 3) {
        butterfly<F>(x[0], x[4]);
        butterfly<F>(x[1], x[5]);
        butterfly<F, false, true>(x[2], x[6]);
        butterfly<F>(x[3], x[7]);
        odd8_dif<F, USE>(x[4], x[5], x[6], x[7]);
    }
    dft4_dif<F, USE>(x[0], x[1], x[2], x[3]);
}

/* Its transpose: x[j] holds coefficient rev(j), natural out. */
template <class F, int LR, bool LOOSE> CUZK_GPU_HD void dft_dit(uint32_t (*x)[8]) {
    dft4_dit<F, LOOSE && LR == 2>(x[0], x[1], x[2], x[3]);
    if constexpr (LR == 3) {
        odd8_dit<F>(x[4], x[5], x[6], x[7]);
        CUZK_UNROLL for (int j = 0; j < 4; j++) butterfly<F, LOOSE>(x[j], x[j + 4]);
    }
}

template <class F, int LR, bool RN, dft_use USE> CUZK_GPU_HD void dft_any(uint32_t (*x)[8]) {
    if constexpr (RN)
        dft_dit<F, LR, USE == DFT_ALL_TWISTED>(x);
    else
        dft_dif<F, LR, USE>(x);
}

static __host__ __device__ constexpr int rev_radix(int lr, int j) {
    return lr == 3 ? ((j & 1) << 2) | (j & 2) | (j >> 2) : ((j & 1) << 1) | (j >> 1);
}

/* Sizes of a pass: 2^LR elements a thread, C columns, MINB resident blocks, and the stages of
 * radix 2^2 or 2^3, the first of decimation in frequency first. Radix 4 belongs there: a stage's
 * twists are one fewer for each of its DFTs. No loops where the compiler is to see constants. */
template <int LR_, int C_, int MINB_, int S0, int S1, int S2 = 0, int S3 = 0> struct ntt_shape {
    static constexpr int C = C_, MINB = MINB_, R = 1 << LR_, K = 2 + (S2 > 0) + (S3 > 0);
    static constexpr int LG = S0 + S1 + S2 + S3, LEN = 1 << LG;
    static constexpr bool LARGE = LG != 7; /* transforms beyond the second-level cache have it */
    static constexpr int THREADS_PER_COLUMN = LEN / R, THREADS = THREADS_PER_COLUMN * C;
    static constexpr int DATA = LEN * C + LEN * C / 8 + 4; /* one padded plane, in uint4 */
    static constexpr int ROOTS = LEN + LEN / 8;
    static constexpr int SHARED = (2 * DATA + 4 * ROOTS) * 16;
    static constexpr int BLOCKS = blocks_held(THIS_CHIP, THREADS, SHARED, MINB);
    /* log2 of a stage's radix, and of all those before it */
    __host__ __device__ static constexpr int radix(int s) {
        return s == 0 ? S0 : s == 1 ? S1 : s == 2 ? S2 : S3;
    }
    __host__ __device__ static constexpr int before(int s) {
        return (s > 0 ? S0 : 0) + (s > 1 ? S1 : 0) + (s > 2 ? S2 : 0);
    }
    __host__ __device__ static constexpr int lg_gap(int s) { return LG - before(s) - radix(s); }
};

using ntt_shape_9 = ntt_shape<3, 4, 2, 3, 3, 3>;
using ntt_shape_8 = ntt_shape<3, 8, 2, 2, 3, 3>;
using ntt_shape_7 = ntt_shape<3, 8, 4, 2, 2, 3>;
using ntt_shape_6 = ntt_shape<3, 16, 4, 3, 3>;
constexpr size_t NTT_ANY_SHARED = (size_t)2 * 16 << NTT_ROOT_BITS; /* ntt_pass_any, at most */

/* A stage: the thread's register v belongs to the DFT number `dft`, as its element `member`; the
 * members are 2^lg_gap slots apart. */
template <class S> struct ntt_stage {
    int s, t; /* t: of the thread in its column */
    int turn; /* ntt_args */
    __host__ __device__ __forceinline__ int member(int v) const {
        return v & ((1 << S::radix(s)) - 1);
    }
    /* place of the DFT in its block */
    __host__ __device__ __forceinline__ int offset(int v) const {
        const int dft = t + (v >> S::radix(s)) * S::THREADS_PER_COLUMN;
        return dft & ((1 << S::lg_gap(s)) - 1);
    }
    __host__ __device__ __forceinline__ int slot_of(int v, int member) const {
        const int dft = t + (v >> S::radix(s)) * S::THREADS_PER_COLUMN;
        return (dft >> S::lg_gap(s) << (S::lg_gap(s) + S::radix(s))) + offset(v) +
               (member << S::lg_gap(s));
    }
    /* behind (NR) or before (RN) the DFT, and on its other side */
    __host__ __device__ __forceinline__ int slot(int v) const { return slot_of(v, member(v)); }
    __host__ __device__ __forceinline__ int natural(int v) const {
        return slot_of(v, turned(member(v), turn, S::radix(s)));
    }
    /* The power of w_LEN that multiplies register v behind (NR) or before (RN) the DFT. */
    __host__ __device__ __forceinline__ int exponent(int v) const {
        return offset(v) * rev_radix(S::radix(s), member(v)) << S::before(s);
    }
};

/* The DFTs of a stage. Results of NR are twisted behind all stages but the last, where the twists
 * between passes follow, if any; those of RN are left for later stages but in the first, where the
 * same twists follow, or settle(). */
template <class F, class S, bool RN, dft_use USE> CUZK_GPU_HD void dfts(uint32_t (*x)[8], int s) {
    if (S::radix(s) == 3)
        dft_any<F, 3, RN, USE>(x);
    else
        CUZK_UNROLL for (int v = 0; v < S::R; v += 4) dft_any<F, 2, RN, USE>(x + v);
}

template <class F, class S, bool RN, bool CONTIG>
CUZK_GPU_HD void stage_dfts(uint32_t (*x)[8], int s) {
    constexpr dft_use last = CONTIG ? DFT_KEPT : DFT_ALL_TWISTED;
    if (RN)
        s ? dfts<F, S, RN, DFT_KEPT>(x, s) : dfts<F, S, RN, DFT_ALL_TWISTED>(x, s);
    else
        s < S::K - 1 ? dfts<F, S, RN, DFT_TWISTED>(x, s) : dfts<F, S, RN, last>(x, s);
}

/* Canonical form of a loose value. */
template <class F> CUZK_GPU_HD void settle(uint32_t *x) {
    reduce_exact<F, 2>(x);
    reduce_exact<F, 1>(x);
}

/* Shared-memory view of one tile. Slot: row of a column; both planes laid out against
 * conflicts. */
template <class S, bool CONTIG> struct ntt_tile {
    uint4 *lo, *hi;
    int col;
    __device__ __forceinline__ int index(int slot) const {
        if (CONTIG) {
            const int k = col * S::LEN + slot;
            return k + (k >> 3);
        }
        const int k = slot * S::C + col;
        return S::C == 4 ? k ^ (((k >> 4 ^ k >> 5) & 1) << 2) : k;
    }
    __device__ __forceinline__ void get(uint32_t *x, int slot) const {
        const int k = index(slot);
        set_words(x, lo[k], hi[k]);
    }
    __device__ __forceinline__ void put(int slot, const uint32_t *x) const {
        const int k = index(slot);
        lo[k] = low_half(x);
        hi[k] = high_half(x);
    }
};

/* Contiguous passes move their tile through shared memory so that global accesses are full lines,
 * and apply the scale there, in a loop of its own that costs nothing when it is off. */
template <class F, class S>
static __device__ __forceinline__ void scale_tile(const ntt_args &a, uint4 *lo, uint4 *hi,
                                                  uint32_t tile) {
#pragma unroll 1
    for (int i = 0; i < S::R; i++) {
        const int e = i * S::THREADS + (int)threadIdx.x, k = e + (e >> 3);
        uint32_t x[8];
        set_words(x, lo[k], hi[k]);
        shoup_mul_global<F>(x, a.row_scale + (e & (S::LEN - 1)));
        shoup_mul_global<F>(x, a.block_scale + (size_t)tile * S::C + (e >> S::LG));
        reduce_exact<F, 1>(x);
        lo[k] = low_half(x);
        hi[k] = high_half(x);
    }
}

static __device__ __forceinline__ void prefetch_l2(const void *p) {
    asm volatile("prefetch.global.L2 [%0];" ::"l"(p));
}

/* The counters that later passes want zero. */
static __device__ __forceinline__ void zero_old_counters(const ntt_args &a) {
    if (blockIdx.x == 0 && (int)threadIdx.x < a.n_old_counters) a.old_counters[threadIdx.x] = 0;
}

/* One pass. RN: transposed. CONTIG: S = 1 (no boundary twist). */
template <class F, class S, bool RN, bool CONTIG>
__global__ __launch_bounds__(S::THREADS,
                             S::BLOCKS) void ntt_pass(const __grid_constant__ ntt_args a) {
    constexpr int R = S::R, K = S::K, LEN = S::LEN, NT = S::THREADS;
    extern __shared__ uint4 shared[];
    __shared__ uint32_t next_tile;
    uint4 *lo = shared, *hi = shared + S::DATA, *roots = shared + 2 * S::DATA;
    const int tid = (int)threadIdx.x;
    for (int i = tid; i < LEN * 4; i += NT) {
        const int e = i >> 2, q = i & 3;
        roots[q * S::ROOTS + e + (e >> 3)] = reinterpret_cast<const uint4 *>(
            a.roots)[((size_t)e << (NTT_ROOT_BITS - S::LG)) * 4 + q];
    }
    const uint32_t root_addr = (uint32_t)__cvta_generic_to_shared(roots);
    const int t = CONTIG ? tid % S::THREADS_PER_COLUMN : tid / S::C;
    const ntt_tile<S, CONTIG> sh = {lo, hi, CONTIG ? tid / S::THREADS_PER_COLUMN : tid % S::C};
    auto stage = [&](int s) { return ntt_stage<S>{s, t, a.turn}; };
    auto twist = [&](uint32_t *x, int s, int v) {
        if (stage(s).member(v) == 0) return;
        const int e = stage(s).exponent(v);
        shoup_mul_shared<F>(x, root_addr + (uint32_t)(e + (e >> 3)) * 16, S::ROOTS * 16);
    };
    zero_old_counters(a);
    __syncthreads();
#pragma unroll 1
    for (uint32_t tile = blockIdx.x; tile < a.tiles;) {
        if (tid == 0) next_tile = gridDim.x + atomicAdd(a.counter, 1);
        size_t base; /* of the thread's column; of the tile when contiguous */
        if (CONTIG) {
            base = (size_t)tile * S::C << S::LG;
        } else {
            const size_t lin = (size_t)tile * S::C + sh.col;
            base = (lin >> a.lg_stride << a.lg_block) + (lin & ((1u << a.lg_stride) - 1));
        }
        auto position = [&](int row) {
            return CONTIG ? base + sh.col * LEN + row : base + ((size_t)row << a.lg_stride);
        };
        auto boundary_at = [&](size_t at) {
            return a.boundary + (at & (((size_t)1 << a.lg_boundary) - 1));
        };
        auto boundary = [&](uint32_t *x, size_t at) { shoup_mul_global<F>(x, boundary_at(at)); };
        auto fetch_ahead = [&](int s) {
            if (!S::LARGE) return;
            if (a.ahead & NTT_AHEAD_TWISTS) {
                if (a.boundary) {
                    CUZK_UNROLL for (int v = 0; v < R; v++)
                        prefetch_l2(boundary_at(position(stage(s).slot(v))));
                }
            }
            if (a.ahead & NTT_AHEAD_TILE) {
                const size_t lin = (size_t)next_tile * S::C + (CONTIG ? 0 : sh.col);
                if (next_tile >= a.tiles) return;
                if (CONTIG) { /* a line of four elements a thread */
                    CUZK_UNROLL for (int v = 0; v < R; v += 4)
                        prefetch_l2(a.data + 2 * ((lin << S::LG) + v * NT + 4 * tid));
                } else {
                    const size_t first =
                        (lin >> a.lg_stride << a.lg_block) + (lin & ((1u << a.lg_stride) - 1));
                    CUZK_UNROLL for (int v = 0; v < R; v++) prefetch_l2(
                        a.data + 2 * (first + ((size_t)stage(s).slot(v) << a.lg_stride)));
                }
            }
        };
        uint32_t x[R][8];
        if (!RN) {
            CUZK_UNROLL for (int v = 0; v < R; v++) {
                const uint4 *g = a.data + 2 * position(stage(0).natural(v));
                set_words(x[v], __ldcs(g), __ldcs(g + 1));
            }
            CUZK_UNROLL for (int s = 0; s < K; s++) {
                if (s) {
                    CUZK_UNROLL for (int v = 0; v < R; v++) sh.get(x[v], stage(s).natural(v));
                }
                if (s == K - 1) fetch_ahead(s);
                stage_dfts<F, S, RN, CONTIG>(x, s);
                if (s < K - 1) {
                    CUZK_UNROLL for (int v = 0; v < R; v++) {
                        twist(x[v], s, v);
                        sh.put(stage(s).slot(v), x[v]);
                    }
                    __syncthreads();
                }
            }
            CUZK_UNROLL for (int v = 0; v < R; v++) {
                const int row = stage(K - 1).slot(v);
                if (CONTIG) {
                    reduce_exact<F, 1>(x[v]);
                    sh.put(row, x[v]);
                } else {
                    const size_t at = position(row);
                    boundary(x[v], at);
                    uint4 *g = a.data + 2 * at;
                    __stcs(g, low_half(x[v]));
                    __stcs(g + 1, high_half(x[v]));
                }
            }
        }
        if (CONTIG) {
            if (RN) {
                CUZK_UNROLL for (int i = 0; i < 2 * R; i++) {
                    const int q = i * NT + tid, e = q >> 1, k = e + (e >> 3);
                    const uint4 v = __ldcs(a.data + 2 * base + q);
                    ((q & 1) ? hi : lo)[k] = v;
                }
            }
            __syncthreads();
            if (a.row_scale) {
                scale_tile<F, S>(a, lo, hi, tile);
                __syncthreads();
            }
            if (!RN) {
                CUZK_UNROLL for (int i = 0; i < 2 * R; i++) {
                    const int q = i * NT + tid, e = q >> 1, k = e + (e >> 3);
                    a.data[2 * base + q] = (q & 1) ? hi[k] : lo[k];
                }
            }
        }
        if (RN) {
            if (!CONTIG) {
                CUZK_UNROLL for (int v = 0; v < R; v++) {
                    const uint4 *g = a.data + 2 * position(stage(K - 1).slot(v));
                    set_words(x[v], __ldcs(g), __ldcs(g + 1));
                }
            }
            CUZK_UNROLL for (int s = K - 1; s >= 0; s--) {
                if (s < K - 1 || CONTIG) {
                    CUZK_UNROLL for (int v = 0; v < R; v++) {
                        sh.get(x[v], stage(s).slot(v));
                        if (s < K - 1) twist(x[v], s, v);
                    }
                }
                if (s == 0) fetch_ahead(s);
                stage_dfts<F, S, RN, CONTIG>(x, s);
                if (s) {
                    CUZK_UNROLL for (int v = 0; v < R; v++) sh.put(stage(s).natural(v), x[v]);
                    __syncthreads();
                }
            }
            CUZK_UNROLL for (int v = 0; v < R; v++) {
                const size_t at = position(stage(0).natural(v));
                uint4 *g = a.data + 2 * at;
                if (a.boundary)
                    boundary(x[v], at);
                else
                    settle<F>(x[v]);
                __stcs(g, low_half(x[v]));
                __stcs(g + 1, high_half(x[v]));
            }
        }
        tile = next_tile;
        __syncthreads();
    }
}

/* One pass of any length 2^lg_len <= 2048, radix 2 in shared memory: for small transforms and the
 * odd bits of others. lg_len + lg_cols <= 11; one tile a block; 256 threads. Contiguous when
 * lg_stride = 0, where columns are consecutive blocks. */
template <class F>
__global__ __launch_bounds__(256) void ntt_pass_any(const __grid_constant__ ntt_args a, bool rn) {
    extern __shared__ uint4 shared[];
    const int lg = a.lg_len, lc = a.lg_cols, len = 1 << lg, total = 1 << (lg + lc);
    uint4 *lo = shared, *hi = shared + total;
    const size_t lin0 = (size_t)blockIdx.x << lc;
    auto address = [&](int e) {
        const int row = a.lg_stride ? e >> lc : e & (len - 1);
        const size_t lin = lin0 + (a.lg_stride ? (size_t)(e & ((1 << lc) - 1)) : (size_t)(e >> lg));
        const size_t col = lin & (((size_t)1 << a.lg_stride) - 1);
        return (lin >> a.lg_stride << a.lg_block) + col + ((size_t)row << a.lg_stride);
    };
    /* shared slot of (row, column c of the tile): row-major when strided, block-major else */
    auto slot = [&](int row, int c) { return a.lg_stride ? (row << lc) + c : (c << lg) + row; };
    auto row_of = [&](size_t at) { return (at >> a.lg_stride) & (size_t)(len - 1); };
    zero_old_counters(a);
    for (int e = (int)threadIdx.x; e < total; e += 256) {
        const size_t at = address(e);
        uint32_t x[8];
        set_words(x, a.data[2 * at], a.data[2 * at + 1]);
        if (rn && a.row_scale) {
            shoup_mul_global<F>(x, a.row_scale + row_of(at));
            shoup_mul_global<F>(x, a.block_scale + (at >> lg));
        }
        lo[e] = low_half(x);
        hi[e] = high_half(x);
    }
    for (int s = 0; s < lg; s++) {
        __syncthreads();
        const int lh = rn ? s : lg - 1 - s; /* log2 of half the butterfly's span */
        for (int b = (int)threadIdx.x; b < total / 2; b += 256) {
            const int c = a.lg_stride ? b & ((1 << lc) - 1) : b >> (lg - 1);
            const int k = a.lg_stride ? b >> lc : b & (len / 2 - 1);
            const int off = k & ((1 << lh) - 1), row = ((k >> lh) << (lh + 1)) + off;
            const int i = slot(row, c), j = slot(row + (1 << lh), c);
            const shoup_pair *w = a.roots + ((size_t)off << (NTT_ROOT_BITS - 1 - lh));
            uint32_t x[8], y[8];
            set_words(x, lo[i], hi[i]);
            set_words(y, lo[j], hi[j]);
            if (rn) shoup_mul_global<F>(y, w);
            butterfly<F>(x, y);
            if (!rn) shoup_mul_global<F>(y, w);
            lo[i] = low_half(x), hi[i] = high_half(x);
            lo[j] = low_half(y), hi[j] = high_half(y);
        }
    }
    __syncthreads();
    for (int e = (int)threadIdx.x; e < total; e += 256) {
        const size_t at = address(e);
        uint32_t x[8];
        set_words(x, lo[e], hi[e]);
        if (!rn && a.row_scale) {
            shoup_mul_global<F>(x, a.row_scale + row_of(at));
            shoup_mul_global<F>(x, a.block_scale + (at >> lg));
        }
        if (a.boundary)
            shoup_mul_global<F>(x, a.boundary + (at & (((size_t)1 << a.lg_boundary) - 1)));
        else
            reduce_exact<F, 1>(x);
        a.data[2 * at] = low_half(x);
        a.data[2 * at + 1] = high_half(x);
    }
}
#endif

} // namespace cuzk_gpu

#endif
