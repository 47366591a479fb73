/* One field's transforms: tables and launches, template over the field F. Each ntt_<curve>.cu
 * instantiates it once. */
#ifndef CUZK_BACKEND_CUDA_NTT_FIELD_CUH
#define CUZK_BACKEND_CUDA_NTT_FIELD_CUH

#include "backend/cuda/cuda_internal.h"
#include "backend/cuda/ntt_kernels.cuh"
#include "backend/cuda/ntt_roots.cuh"

#include <string.h>

namespace cuzk_gpu {

/* Powers g^(2^k) in Montgomery form, by value to the kernels below. */
struct power_chain {
    uint32_t sq[CUZK__NTT_MAX_LOG + 1][8];
    uint32_t factor[8]; /* multiplies every entry; Montgomery form */
};

/* r = g^e, canonical. */
template <class F> static __device__ void chain_pow(uint32_t *r, const power_chain &c, uint64_t e) {
    CUZK_UNROLL for (int i = 0; i < 8; i++) r[i] = F::one(i);
    for (int k = 0; e; k++, e >>= 1) {
        if (!(e & 1)) continue;
        uint32_t s[8];
        CUZK_UNROLL for (int i = 0; i < 8; i++) s[i] = c.sq[k][i];
        mont_mul<F>(r, s, r);
        reduce_exact<F, 1>(r);
    }
}

static __device__ __forceinline__ uint32_t reverse_bits(uint32_t v, int bits) {
    return bits ? __brev(v) >> (32 - bits) : 0;
}

/* out[i] = factor * g^(i << shift), or g^(rev(i) << shift) with rev_bits > 0. */
template <class F>
__global__ void ntt_power_table(shoup_pair *out, const __grid_constant__ power_chain c,
                                uint32_t count, int shift, int rev_bits) {
    const uint32_t i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= count) return;
    uint32_t r[8], f[8];
    chain_pow<F>(r, c, (uint64_t)(rev_bits ? reverse_bits(i, rev_bits) : i) << shift);
    CUZK_UNROLL for (int k = 0; k < 8; k++) f[k] = c.factor[k];
    mont_mul<F>(r, f, r);
    reduce_exact<F, 1>(r);
    shoup_pair p;
    shoup_make<F>(&p, r);
    out[i] = p;
}

/* out[(row << lg_stride) + col] = factor * g^(col * rev(row)), one thread a column. */
template <class F>
__global__ void ntt_boundary_table(shoup_pair *out, const __grid_constant__ power_chain c,
                                   int lg_stride, int lg_len) {
    const size_t col = blockIdx.x * (size_t)blockDim.x + threadIdx.x;
    if (col >> lg_stride) return;
    uint32_t step[8], r[8];
    chain_pow<F>(step, c, col);
    CUZK_UNROLL for (int k = 0; k < 8; k++) r[k] = c.factor[k];
    for (uint32_t k = 0; k < 1u << lg_len; k++) {
        shoup_pair p;
        shoup_make<F>(&p, r);
        out[((size_t)reverse_bits(k, lg_len) << lg_stride) + col] = p;
        mont_mul<F>(r, step, r);
        reduce_exact<F, 1>(r);
    }
}

template <class F, const cuzk_fr_ops *FR> struct ntt_field {
    static power_chain chain_of(cuzk_u256 g, const cuzk_u256 *factor) {
        power_chain c;
        for (int k = 0; k <= CUZK__NTT_MAX_LOG; k++) {
            memcpy(c.sq[k], &g, 32);
            FR->mul(&g, &g, &g);
        }
        memcpy(c.factor, factor ? factor : &FR->one, 32);
        return c;
    }

    /* The root of order 2^k of this direction. */
    static cuzk_u256 root(const cuzk_cuda_ntt *plan, cuzk_ntt_dir dir, unsigned k) {
        cuzk_u256 w;
        cuzk_fr_root(FR, &w, plan->family, k);
        if (dir == CUZK_NTT_INVERSE) FR->inv(&w, &w);
        return w;
    }

    static cuzk_u256 one_over_n(unsigned log2n) {
        cuzk_u256 n = FR->one;
        for (unsigned i = 0; i < log2n; i++)
            FR->add(&n, &n, &n);
        FR->inv(&n, &n);
        return n;
    }

    static cuzk_status prepare(const cuzk_cuda *dev, cuzk_err *err) {
        CUZK_TRY(prepare_shape<ntt_shape_9>(dev, err));
        CUZK_TRY(prepare_shape<ntt_shape_8>(dev, err));
        CUZK_TRY(prepare_shape<ntt_shape_7>(dev, err));
        CUZK_TRY(prepare_shape<ntt_shape_6>(dev, err));
        CUZK_CUDA(cudaFuncSetAttribute(ntt_pass_any<F>, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                       (int)NTT_ANY_SHARED));
        return CUZK_OK;
    }

    /* No plan has a shape that a block cannot have (cuzk__cuda_ntt_shared). */
    template <class S> static cuzk_status prepare_shape(const cuzk_cuda *dev, cuzk_err *err) {
        if (S::SHARED + BLOCK_ASIDE > dev->info.block_shared) return CUZK_OK;
        const cudaFuncAttribute attr = cudaFuncAttributeMaxDynamicSharedMemorySize;
        CUZK_CUDA(cudaFuncSetAttribute(ntt_pass<F, S, false, false>, attr, S::SHARED));
        CUZK_CUDA(cudaFuncSetAttribute(ntt_pass<F, S, false, true>, attr, S::SHARED));
        CUZK_CUDA(cudaFuncSetAttribute(ntt_pass<F, S, true, false>, attr, S::SHARED));
        CUZK_CUDA(cudaFuncSetAttribute(ntt_pass<F, S, true, true>, attr, S::SHARED));
        return CUZK_OK;
    }

    static cuzk_status power_table(cuzk_cuda *dev, void *out, const power_chain &c, uint32_t count,
                                   int shift, int rev_bits, cuzk_err *err) {
        ntt_power_table<F><<<(count + 127) / 128, 128, 0, dev->stream>>>((shoup_pair *)out, c,
                                                                         count, shift, rev_bits);
        CUZK_CUDA_LAUNCHED();
        return CUZK_OK;
    }

    static cuzk_status make_tables(cuzk_cuda_ntt *plan, cuzk_ntt_dir dir, cuzk_err *err) {
        cuzk_cuda *dev = plan->dev;
        void **roots = &plan->roots[dir];
        const uint32_t count = 1u << NTT_ROOT_BITS;
        CUZK_TRY(cuzk_cuda_alloc(dev, roots, count * sizeof(shoup_pair), err));
        CUZK_TRY(power_table(dev, *roots, chain_of(root(plan, dir, NTT_ROOT_BITS), NULL), count, 0,
                             0, err));
        plan->turn[dir] = dft_turn<F>(FR, plan->family, dir == CUZK_NTT_INVERSE);
        unsigned rem = plan->log2n;
        for (int i = 0; i + 1 < plan->passes; i++) {
            const unsigned stride = rem - (unsigned)plan->len[i];
            const cuzk_u256 scale = one_over_n(plan->log2n);
            const power_chain c =
                chain_of(root(plan, dir, rem), i == 0 && dir == CUZK_NTT_INVERSE ? &scale : NULL);
            CUZK_TRY(cuzk_cuda_alloc(dev, &plan->boundary[dir][i], sizeof(shoup_pair) << rem, err));
            ntt_boundary_table<F><<<((1u << stride) + 127) / 128, 128, 0, dev->stream>>>(
                (shoup_pair *)plan->boundary[dir][i], c, (int)stride, plan->len[i]);
            CUZK_CUDA_LAUNCHED();
            rem = stride;
        }
        return CUZK_OK;
    }

    /* Element (block, row) of the contiguous pass is coefficient
     * (rev(row) << (log2n - last)) + rev(block). A plan of one pass has no boundary table to hold
     * the 1/n of the inverse, so it goes here. */
    static cuzk_status make_scale(const cuzk_cuda_ntt *plan, cuzk_cuda_ntt_scale *s,
                                  const cuzk_u256 *h, cuzk_err *err) {
        const int last = plan->len[plan->passes - 1], rest = (int)plan->log2n - last;
        const cuzk_u256 inv_n = one_over_n(plan->log2n);
        const bool with_n = s->dir == CUZK_NTT_INVERSE && plan->passes == 1;
        CUZK_TRY(power_table(plan->dev, s->row, chain_of(*h, with_n ? &inv_n : NULL), 1u << last,
                             rest, last, err));
        return power_table(plan->dev, s->block, chain_of(*h, NULL), 1u << rest, 0, rest, err);
    }

    template <class S>
    static void launch(const cuzk_cuda *dev, ntt_args &a, bool rn, unsigned log2n) {
        a.tiles = (uint32_t)(((size_t)1 << log2n) / (S::LEN * S::C));
        const uint32_t most = (uint32_t)(dev->info.sms * S::MINB);
        const uint32_t grid = a.tiles < most ? a.tiles : most;
        const bool contig = a.lg_stride == 0;
        auto kernel = rn ? (contig ? ntt_pass<F, S, true, true> : ntt_pass<F, S, true, false>)
                         : (contig ? ntt_pass<F, S, false, true> : ntt_pass<F, S, false, false>);
        kernel<<<grid, S::THREADS, S::SHARED, dev->stream>>>(a);
    }

    /* False when no shape has the pass's length. */
    template <class S, class... More>
    static bool launch_fast(const cuzk_cuda *dev, ntt_args &a, bool rn, unsigned log2n) {
        if (a.lg_len == S::LG) {
            launch<S>(dev, a, rn, log2n);
            return true;
        }
        if constexpr (sizeof...(More) > 0) return launch_fast<More...>(dev, a, rn, log2n);
        return false;
    }

    static void launch_any(const cuzk_cuda *dev, ntt_args &a, bool rn, unsigned log2n) {
        const int others = (int)log2n - a.lg_len; /* log2 of the number of columns in all */
        const int room = NTT_ROOT_BITS - a.lg_len;
        a.lg_cols = others < room ? others : room;
        if (a.lg_cols > 6) a.lg_cols = 6;
        const uint32_t grid = 1u << (others - a.lg_cols);
        ntt_pass_any<F><<<grid, 256, (size_t)32 << (a.lg_len + a.lg_cols), dev->stream>>>(a, rn);
    }

    static cuzk_status run(const cuzk_cuda_ntt *plan, void *device, cuzk_ntt_dir dir,
                           cuzk_ntt_order order, const cuzk_cuda_ntt_scale *scale, cuzk_err *err) {
        const cuzk_cuda *dev = plan->dev;
        const bool rn = order == CUZK_NTT_RN;
        if (!scale && dir == CUZK_NTT_INVERSE) scale = plan->one_pass;
        for (int k = 0; k < plan->passes; k++) {
            const int i = rn ? plan->passes - 1 - k : k;
            unsigned block = plan->log2n;
            for (int j = 0; j < i; j++)
                block -= (unsigned)plan->len[j];
            ntt_args a = {};
            a.data = (uint4 *)device;
            a.roots = (const shoup_pair *)plan->roots[dir];
            a.lg_len = plan->len[i];
            a.lg_block = (int)block;
            a.lg_stride = (int)block - a.lg_len;
            /* Zero when a transform begins; each pass zeroes that of the pass before it, the first
             * those of the others, one of which the transform before has left. */
            unsigned *counters = dev->counters + CUZK__CUDA_COUNTERS;
            a.counter = counters + k;
            a.old_counters = k ? counters + k - 1 : counters + 1;
            a.n_old_counters = k ? 1 : CUZK__NTT_MAX_PASSES - 1;
            a.ahead = plan->log2n >= 25 ? NTT_AHEAD_TWISTS | NTT_AHEAD_TILE : 0;
            a.turn = plan->turn[dir];
            if (i == plan->passes - 1 && scale) {
                a.row_scale = (const shoup_pair *)scale->row;
                a.block_scale = (const shoup_pair *)scale->block;
            }
            /* the twists between passes b and b + 1 cover blocks of pass b */
            const int b = rn ? i - 1 : i;
            if (b >= 0 && b < plan->passes - 1) {
                a.boundary = (const shoup_pair *)plan->boundary[dir][b];
                a.lg_boundary = (int)block + (rn ? plan->len[b] : 0);
            }
            const bool fast =
                plan->passes > 1 && launch_fast<ntt_shape_9, ntt_shape_8, ntt_shape_7, ntt_shape_6>(
                                        dev, a, rn, plan->log2n);
            if (!fast) launch_any(dev, a, rn, plan->log2n);
            CUZK_CUDA_LAUNCHED();
        }
        return CUZK_OK;
    }
};

} // namespace cuzk_gpu

#endif
