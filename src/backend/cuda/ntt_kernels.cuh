/* NTT kernels. DESIGN
 *
 * A transform of 2^L points is cut into passes over the data of 9, 8, 6 or (rarely) other bits.
 * NR (natural in, bit-reversed out) is decimation in frequency: pass k sees blocks of 2^m
 * consecutive elements as a matrix of LEN = 2^g rows and S = 2^(m-g) columns, transforms the
 * columns (rows come out bit-reversed), and multiplies entry (row, col) by
 * w_{2^m}^(col * rev(row)), the boundary twist; the next pass takes the rows as its blocks. The
 * last pass has S = 1. RN is the transpose of that network, pass by pass and butterfly by
 * butterfly, decimation in time. The twists between two passes are then the first pass's outputs'
 * too, at the same positions: both orders multiply by the same tables just before they store (the
 * loads hide behind the butterflies), and no permutation is ever applied.
 *
 * Within a pass a thread holds R = 4 or 8 elements in registers; between its radix-R stages the
 * elements are exchanged through shared memory. Every multiplication is by a fixed operand
 * (shoup.cuh): the roots of order 8 come from the kernel's parameters (constant bank), the twists
 * inside a pass from shared memory, the boundary twists from a table laid out like the data.
 * Values stay in [0, 2p). Tiles of LEN rows by C columns are taken from a counter, which measured
 * 4 % faster than a static split. */
#ifndef CUZK_BACKEND_CUDA_NTT_KERNELS_CUH
#define CUZK_BACKEND_CUDA_NTT_KERNELS_CUH

#include "backend/cuda/shoup.cuh"

namespace cuzk_gpu {

enum { NTT_ROOT_BITS = 11 }; /* the table of roots inside a pass: w_2048^e */

struct ntt_args {
    uint4 *data;                /* two per element */
    const shoup_pair *roots;    /* w_{2^NTT_ROOT_BITS}^e */
    const shoup_pair *boundary; /* twists of this pass's outputs, by position in a block of
                                   2^lg_boundary; NULL after a transform's last pass */
    const shoup_pair *row_scale, *block_scale; /* contiguous passes: NULL or factors of element
                                                  (block, row): row_scale[row] block_scale[block] */
    unsigned *counter; /* zero at launch: tiles taken beyond the first grid */
    uint32_t tiles;
    int lg_stride, lg_block; /* log2 of S and of the block the pass works in */
    int lg_boundary;
    int lg_len, lg_cols; /* any-length kernel only */
    shoup_pair w8[3];    /* w_8^1, w_8^2, w_8^3 */
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

template <class F> static __device__ __forceinline__ void butterfly(uint32_t *a, uint32_t *b) {
    uint32_t s[8];
    add_mod2p<F>(s, a, b);
    sub_mod2p<F>(b, a, b);
    copy_words<8>(a, s);
}

template <class F>
static __device__ __forceinline__ void times_w8(uint32_t *x, const ntt_args &a, int k) {
    shoup_mul<F>(x, x, a.w8[k - 1].w, a.w8[k - 1].wp);
}

/* DFT of R elements: natural in, register j holds frequency rev(j). */
template <class F, int R>
static __device__ __forceinline__ void dft_dif(uint32_t (&x)[R][8], const ntt_args &a) {
    if constexpr (R == 8) {
        CUZK_UNROLL for (int j = 0; j < 4; j++) {
            butterfly<F>(x[j], x[j + 4]);
            if (j) times_w8<F>(x[j + 4], a, j);
        }
    }
    CUZK_UNROLL for (int h = 0; h < R; h += 4) {
        butterfly<F>(x[h], x[h + 2]);
        butterfly<F>(x[h + 1], x[h + 3]);
        times_w8<F>(x[h + 3], a, 2);
        butterfly<F>(x[h], x[h + 1]);
        butterfly<F>(x[h + 2], x[h + 3]);
    }
}

/* Its transpose: register j holds coefficient rev(j), natural out. */
template <class F, int R>
static __device__ __forceinline__ void dft_dit(uint32_t (&x)[R][8], const ntt_args &a) {
    CUZK_UNROLL for (int h = 0; h < R; h += 4) {
        butterfly<F>(x[h], x[h + 1]);
        butterfly<F>(x[h + 2], x[h + 3]);
        times_w8<F>(x[h + 3], a, 2);
        butterfly<F>(x[h], x[h + 2]);
        butterfly<F>(x[h + 1], x[h + 3]);
    }
    if constexpr (R == 8) {
        CUZK_UNROLL for (int j = 0; j < 4; j++) {
            if (j) times_w8<F>(x[j + 4], a, j);
            butterfly<F>(x[j], x[j + 4]);
        }
    }
}

template <int R> CUZK_GPU_HD int rev_radix(int j) {
    return R == 8 ? ((j & 1) << 2) | (j & 2) | (j >> 2) : ((j & 1) << 1) | (j >> 1);
}

/* Sizes of a pass: radix 2^LR, K stages, C columns, MINB resident blocks. */
template <int LR_, int K_, int C_, int MINB_> struct ntt_shape {
    static constexpr int LR = LR_, K = K_, C = C_, MINB = MINB_;
    static constexpr int R = 1 << LR, LG = LR * K, LEN = 1 << LG;
    static constexpr int THREADS_PER_COLUMN = LEN / R, THREADS = THREADS_PER_COLUMN * C;
    static constexpr int DATA = LEN * C + LEN * C / 8 + 4; /* one padded plane, in uint4 */
    static constexpr int ROOTS = LEN + LEN / 8;
    static constexpr int SHARED = (2 * DATA + 4 * ROOTS) * 16;
};

/* Shared-memory view of one tile. Slot: row of a column; both planes padded against conflicts. */
template <class S, bool CONTIG> struct ntt_tile {
    uint4 *lo, *hi;
    int col;
    __device__ __forceinline__ int index(int slot) const {
        if (CONTIG) {
            const int k = col * S::LEN + slot;
            return k + (k >> 3);
        }
        const int k = slot * S::C + col;
        return S::C == 4 ? k + ((k >> 5) << 2) : k;
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

/* One pass. RN: transposed. CONTIG: S = 1 (no boundary twist). */
template <class F, class S, bool RN, bool CONTIG>
__global__ __launch_bounds__(S::THREADS,
                             S::MINB) void ntt_pass(const __grid_constant__ ntt_args a) {
    constexpr int R = S::R, K = S::K, LEN = S::LEN, TPC = S::THREADS_PER_COLUMN, NT = S::THREADS;
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
    const int t = CONTIG ? tid % TPC : tid / S::C;
    const ntt_tile<S, CONTIG> sh = {lo, hi, CONTIG ? tid / TPC : tid % S::C};
    /* stage s: the thread owns slots first(s) + v * gap(s), v < R */
    auto gap = [](int s) { return LEN >> (S::LR * (s + 1)); };
    auto first = [&](int s) { return (t / gap(s)) * (gap(s) * R) + (t & (gap(s) - 1)); };
    auto twist = [&](uint32_t *x, int s, int j) {
        int e = ((t & (gap(s) - 1)) * rev_radix<R>(j)) << (S::LR * s);
        e += e >> 3;
        shoup_mul_shared<F>(x, root_addr + (uint32_t)e * 16, S::ROOTS * 16);
    };
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
        auto boundary = [&](uint32_t *x, size_t at) {
            shoup_mul_global<F>(x, a.boundary + (at & (((size_t)1 << a.lg_boundary) - 1)));
        };
        uint32_t x[R][8];
        if (!RN) {
            CUZK_UNROLL for (int v = 0; v < R; v++) {
                const uint4 *g = a.data + 2 * position(t + TPC * v);
                set_words(x[v], __ldcs(g), __ldcs(g + 1));
            }
            CUZK_UNROLL for (int s = 0; s < K; s++) {
                if (s) {
                    CUZK_UNROLL for (int v = 0; v < R; v++) sh.get(x[v], first(s) + v * gap(s));
                }
                dft_dif<F, R>(x, a);
                if (s < K - 1) {
                    CUZK_UNROLL for (int j = 0; j < R; j++) {
                        if (j) twist(x[j], s, j);
                        sh.put(first(s) + j * gap(s), x[j]);
                    }
                    __syncthreads();
                }
            }
            CUZK_UNROLL for (int j = 0; j < R; j++) {
                const int row = first(K - 1) + j;
                if (CONTIG) {
                    reduce_exact<F, 1>(x[j]);
                    sh.put(row, x[j]);
                } else {
                    const size_t at = position(row);
                    boundary(x[j], at);
                    uint4 *g = a.data + 2 * at;
                    __stcs(g, low_half(x[j]));
                    __stcs(g + 1, high_half(x[j]));
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
                CUZK_UNROLL for (int j = 0; j < R; j++) {
                    const int row = first(K - 1) + j;
                    const uint4 *g = a.data + 2 * position(row);
                    set_words(x[j], __ldcs(g), __ldcs(g + 1));
                }
            }
            CUZK_UNROLL for (int s = K - 1; s >= 0; s--) {
                if (s < K - 1 || CONTIG) {
                    CUZK_UNROLL for (int j = 0; j < R; j++) {
                        sh.get(x[j], first(s) + j * gap(s));
                        if (j && s < K - 1) twist(x[j], s, j);
                    }
                }
                dft_dit<F, R>(x, a);
                if (s) {
                    CUZK_UNROLL for (int v = 0; v < R; v++) sh.put(first(s) + v * gap(s), x[v]);
                    __syncthreads();
                }
            }
            CUZK_UNROLL for (int v = 0; v < R; v++) {
                const size_t at = position(t + TPC * v);
                uint4 *g = a.data + 2 * at;
                if (a.boundary)
                    boundary(x[v], at);
                else
                    reduce_exact<F, 1>(x[v]);
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
