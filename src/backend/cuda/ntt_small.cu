/* Transforms whose tables are small. DESIGN
 *
 * A sweep over the data takes three levels at once: a thread holds eight elements at equal
 * distances, transforms them in registers and multiplies them by the twists. Nothing goes through
 * shared memory, and every twist w^e is the product of two entries of tables, one for the low
 * CUZK__NTT_SMALL_BITS bits of e and one for the others; where the low bits are zero the first is
 * left out. That costs up to two products where the plans of ntt_kernels.cuh have one, and sweeps
 * where they have passes: 2^27 points take nine. Orders and lazy bounds are theirs. Factors of a
 * coset, and 1/n, come from two tables alike, in the sweep that sees the coefficients. */
#include "backend/cuda/ntt_kernels.cuh"
#include "backend/cuda/ntt_roots.cuh"
#include "backend/cuda/ntt_small.h"

#include <string.h>

namespace cuzk_gpu {

/* Powers of a base: of the low bits of an exponent, and of the others. */
struct split_powers {
    const shoup_pair *low, *high;
};

struct sweep_args {
    ntt_args a;                /* data, turn */
    split_powers twist, scale; /* scale.low NULL: none */
    int log2n, lg_block;       /* of the data, and of the blocks that are divided by R */
    int low_bits;
    bool use_low; /* the twists' exponents have low bits */
};

template <class F>
static __device__ __forceinline__ void times_power(uint32_t *x, const split_powers &p, uint32_t e,
                                                   int low_bits, bool use_low) {
    if (use_low) shoup_mul_global<F>(x, p.low + (e & ((1u << low_bits) - 1)));
    shoup_mul_global<F>(x, p.high + (e >> low_bits));
}

template <class F, int R, bool RN>
static __device__ __forceinline__ void small_dft(uint32_t (&x)[R][8]) {
    if constexpr (R == 2)
        butterfly<F>(x[0], x[1]);
    else
        dft_any<F, R == 8 ? 3 : 2, RN, DFT_KEPT>(x);
}

template <int R> static __device__ __forceinline__ int small_rev(int p) {
    return R == 2 ? p : rev_radix(R == 8 ? 3 : 2, p);
}

/* Blocks of 2^lg_block: natural in, R sub-blocks out (NR), or the transpose. The coefficients' side
 * is the inverse NR's last output and the forward RN's first input. */
template <class F, int R, bool RN>
__global__ __launch_bounds__(128) void ntt_sweep(const __grid_constant__ sweep_args s) {
    constexpr int LR = R == 8 ? 3 : R == 4 ? 2 : 1;
    const uint32_t t = blockIdx.x * 128 + threadIdx.x;
    const int lg_sub = s.lg_block - LR;
    if (t >> (s.log2n - LR)) return;
    const uint32_t j = t & ((1u << lg_sub) - 1);
    const uint32_t base = (t >> lg_sub << s.lg_block) + j;
    const bool scaled = s.scale.low != NULL;
    uint32_t x[R][8];
    auto twist = [&](int p) {
        const uint32_t e = (j * (uint32_t)small_rev<R>(p)) << (s.log2n - s.lg_block);
        times_power<F>(x[p], s.twist, e, s.low_bits, s.use_low);
    };
    auto scale = [&](int p, uint32_t at) {
        times_power<F>(x[p], s.scale, __brev(at) >> (32 - s.log2n), s.low_bits, true);
    };
    /* where place p is, on the DFT's natural side or the other */
    auto place = [&](int p, bool natural) {
        return base + ((uint32_t)(natural ? turned(p, s.a.turn, LR) : p) << lg_sub);
    };
    CUZK_UNROLL for (int p = 0; p < R; p++) {
        const uint32_t at = place(p, !RN);
        const uint4 *g = s.a.data + 2 * (size_t)at;
        set_words(x[p], __ldcs(g), __ldcs(g + 1));
        if (RN && scaled) scale(p, at);
        if (RN && p && lg_sub) twist(p);
    }
    small_dft<F, R, RN>(x);
    const bool last = RN ? s.lg_block == s.log2n : lg_sub == 0;
    CUZK_UNROLL for (int p = 0; p < R; p++) {
        const uint32_t at = place(p, RN);
        if (!RN && p && lg_sub) twist(p);
        if (!RN && scaled) scale(p, at);
        if (last) reduce_exact<F, 1>(x[p]);
        uint4 *g = s.a.data + 2 * (size_t)at;
        __stcs(g, low_half(x[p]));
        __stcs(g + 1, high_half(x[p]));
    }
}

/* Powers g^(2^k) in Montgomery form, by value to the kernel below. */
struct small_chain {
    uint32_t sq[CUZK__NTT_MAX_LOG + 1][8];
    uint32_t factor[8]; /* multiplies every entry; Montgomery form */
};

/* out[i] = factor * g^(i << shift) */
template <class F>
__global__ void ntt_small_table(shoup_pair *out, const __grid_constant__ small_chain c,
                                uint32_t count, int shift) {
    const uint32_t i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= count) return;
    uint32_t r[8];
    CUZK_UNROLL for (int k = 0; k < 8; k++) r[k] = c.factor[k];
    for (int k = shift; k <= CUZK__NTT_MAX_LOG && i >> (k - shift); k++) {
        if (!(i >> (k - shift) & 1)) continue;
        uint32_t sq[8];
        CUZK_UNROLL for (int w = 0; w < 8; w++) sq[w] = c.sq[k][w];
        mont_mul<F>(r, sq, r);
        reduce_exact<F, 1>(r);
    }
    shoup_pair p;
    shoup_make<F>(&p, r);
    out[i] = p;
}

template <class F, const cuzk_fr_ops *FR> struct ntt_small {
    static int low_bits(unsigned log2n) {
        return (int)log2n < CUZK__NTT_SMALL_BITS ? (int)log2n : CUZK__NTT_SMALL_BITS;
    }

    static small_chain chain_of(cuzk_u256 g, const cuzk_u256 *factor) {
        small_chain c;
        for (int k = 0; k <= CUZK__NTT_MAX_LOG; k++) {
            memcpy(c.sq[k], &g, 32);
            FR->mul(&g, &g, &g);
        }
        memcpy(c.factor, factor ? factor : &FR->one, 32);
        return c;
    }

    /* Both tables of g's powers; `factor` goes into the second. */
    static cuzk_status tables(cuzk_cuda *dev, void *low, void *high, unsigned log2n,
                              const cuzk_u256 &g, const cuzk_u256 *factor, cuzk_err *err) {
        const uint32_t n[2] = {1u << low_bits(log2n), 1u << (log2n - (unsigned)low_bits(log2n))};
        ntt_small_table<F><<<(n[0] + 127) / 128, 128, 0, dev->stream>>>((shoup_pair *)low,
                                                                        chain_of(g, NULL), n[0], 0);
        CUZK_CUDA_LAUNCHED();
        ntt_small_table<F><<<(n[1] + 127) / 128, 128, 0, dev->stream>>>(
            (shoup_pair *)high, chain_of(g, factor), n[1], low_bits(log2n));
        CUZK_CUDA_LAUNCHED();
        return CUZK_OK;
    }

    static cuzk_status prepare(const cuzk_cuda *dev, cuzk_err *err) {
        (void)dev;
        (void)err;
        return CUZK_OK;
    }

    static cuzk_status make_tables(cuzk_cuda_ntt *plan, cuzk_ntt_dir dir, cuzk_err *err) {
        const unsigned log2n = plan->log2n;
        const size_t low = sizeof(shoup_pair) << low_bits(log2n);
        const size_t high = sizeof(shoup_pair) << (log2n - (unsigned)low_bits(log2n));
        cuzk_u256 w;
        cuzk_fr_root(FR, &w, plan->family, log2n);
        if (dir == CUZK_NTT_INVERSE) FR->inv(&w, &w);
        void **t = &plan->roots[dir];
        CUZK_TRY(cuzk_cuda_alloc(plan->dev, t, low + high, err));
        CUZK_TRY(tables(plan->dev, *t, (char *)*t + low, log2n, w, NULL, err));
        plan->turn[dir] = dft_turn<F>(FR, plan->family, dir == CUZK_NTT_INVERSE);
        return CUZK_OK;
    }

    static cuzk_status make_scale(const cuzk_cuda_ntt *plan, cuzk_cuda_ntt_scale *s,
                                  const cuzk_u256 *h, cuzk_err *err) {
        cuzk_u256 n = FR->one;
        for (unsigned i = 0; i < plan->log2n; i++)
            FR->add(&n, &n, &n);
        FR->inv(&n, &n);
        return tables(plan->dev, s->row, s->block, plan->log2n, *h,
                      s->dir == CUZK_NTT_INVERSE ? &n : NULL, err);
    }

    template <int R>
    static cuzk_status launch(const cuzk_cuda *dev, const sweep_args &s, bool rn, cuzk_err *err) {
        const uint32_t threads = (uint32_t)(((size_t)1 << s.log2n) / R);
        auto kernel = rn ? ntt_sweep<F, R, true> : ntt_sweep<F, R, false>;
        kernel<<<(threads + 127) / 128, 128, 0, dev->stream>>>(s);
        CUZK_CUDA_LAUNCHED();
        return CUZK_OK;
    }

    static cuzk_status run(const cuzk_cuda_ntt *plan, void *device, cuzk_ntt_dir dir,
                           cuzk_ntt_order order, const cuzk_cuda_ntt_scale *scale, cuzk_err *err) {
        const bool rn = order == CUZK_NTT_RN;
        const int log2n = (int)plan->log2n;
        /* whatever is no multiple of three goes where the blocks are largest */
        const int first = log2n % 3 ? log2n % 3 : 3, sweeps = (log2n + 2) / 3;
        if (!scale && dir == CUZK_NTT_INVERSE) scale = plan->one_pass;
        sweep_args s = {};
        s.a.data = (uint4 *)device;
        s.a.turn = plan->turn[dir];
        s.log2n = log2n;
        s.low_bits = low_bits(plan->log2n);
        s.twist.low = (const shoup_pair *)plan->roots[dir];
        s.twist.high = s.twist.low + ((size_t)1 << s.low_bits);
        for (int k = 0; k < sweeps; k++) {
            const int i = rn ? sweeps - 1 - k : k; /* as NR counts them */
            const int bits = i == 0 ? first : 3;
            s.lg_block = i == 0 ? log2n : log2n - first - 3 * (i - 1);
            s.use_low = log2n - s.lg_block < s.low_bits;
            /* NR multiplies what it ends with, RN what it begins with */
            const bool coefficients = i == sweeps - 1;
            s.scale = {};
            if (scale && coefficients) {
                s.scale.low = (const shoup_pair *)scale->row;
                s.scale.high = (const shoup_pair *)scale->block;
            }
            CUZK_TRY(bits == 3   ? launch<8>(plan->dev, s, rn, err)
                     : bits == 2 ? launch<4>(plan->dev, s, rn, err)
                                 : launch<2>(plan->dev, s, rn, err));
        }
        return CUZK_OK;
    }

    static constexpr cuzk__cuda_ntt_ops ops() {
        return {FR, prepare, make_tables, make_scale, run};
    }
};

} // namespace cuzk_gpu

const cuzk__cuda_ntt_ops cuzk__cuda_ntt_small_bn254 =
    cuzk_gpu::ntt_small<cuzk_gpu::bn254_fr, &cuzk_bn254_fr_ops>::ops();
const cuzk__cuda_ntt_ops cuzk__cuda_ntt_small_bls12_381 =
    cuzk_gpu::ntt_small<cuzk_gpu::bls12_381_fr, &cuzk_bls12_381_fr_ops>::ops();
