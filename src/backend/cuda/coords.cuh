/* Coordinates of points inside the batch-affine kernel (accumulate.cuh): the operations it needs,
 * for G1 and G2 (lazy residues of Fp and Fp2). Each type E has
 *
 *   N            words of a coordinate
 *   diff         r = p - a, p canonical, a an accumulator's coordinate
 *   maybe_zero   false only if d (from diff) is not 0 mod p
 *   mul, sqr     products
 *   settle       bounds an inverse before its use
 *   x3, y3       the last steps of the addition: x3 = l^2 - ax - px, y3 = prod - ay
 *   fall         r = ax - x3
 *   neg          r = -y for canonical y
 *   canon        canonical form of any accumulator coordinate
 *   twice, thrice  2a, 3a for canonical a, with the bounds of a difference
 *   invert       by a whole warp, the same value in every lane
 *
 * Bounds for G1 of BLS12-381 (R/p = 9.84): accumulators < 3.3p, differences are offset by 4p
 * or 5p and never negative, products < 2.6p. For BN254 (R/p = 5.29): accumulators < 2.01p,
 * offsets 3p and 2p, a few more reductions; the first operand of a product stays below R - p.
 * reduce_loose leaves a slop of 2^-28, which these margins absorb: the arithmetic is exact. */
#ifndef CUZK_BACKEND_CUDA_COORDS_CUH
#define CUZK_BACKEND_CUDA_COORDS_CUH

#include "backend/cuda/coinv.cuh"

namespace cuzk_gpu {

#ifdef __CUDACC__
#define CUZK_GPU_D static __device__ __forceinline__

template <class F_> struct coord_fp {
    typedef F_ F;
    static constexpr int N = F::N;
    static constexpr bool wide = N == 12; /* BLS12-381 */
    static constexpr int OFFSET = wide ? 4 : 3;

    CUZK_GPU_HD void diff(uint32_t *r, const uint32_t *p, const uint32_t *a) {
        sub_plus_kp<F, OFFSET>(r, p, a);
    }
    CUZK_GPU_HD bool maybe_zero(const uint32_t *d) {
        return d[0] == F::kp(1, 0) || d[0] == F::kp(2, 0) || d[0] == F::kp(3, 0) ||
               d[0] == F::kp(4, 0);
    }
    CUZK_GPU_HD void mul(uint32_t *r, const uint32_t *a, const uint32_t *b) {
        mont_mul<F>(r, a, b);
    }
    CUZK_GPU_HD void sqr(uint32_t *r, const uint32_t *a) { mont_sqr<F>(r, a); }
    CUZK_GPU_HD void settle(uint32_t *w) {
        if (!wide) reduce_loose<F, 2>(w);
    }
    CUZK_GPU_HD void x3(uint32_t *x, const uint32_t *ax, const uint32_t *px) {
        if constexpr (wide) {
            sub_plus_kp<F, 5>(x, x, ax);
            sub_words<N>(x, x, px);
            reduce_loose<F, 3>(x);
        } else {
            reduce_loose<F, 1>(x);
            sub_plus_kp<F, 3>(x, x, ax);
            reduce_loose<F, 2>(x);
            sub_plus_kp<F, 2>(x, x, px);
            reduce_loose<F, 2>(x);
            reduce_loose<F, 2>(x);
        }
    }
    CUZK_GPU_HD void fall(uint32_t *r, const uint32_t *ax, const uint32_t *x3) {
        sub_plus_kp<F, OFFSET>(r, ax, x3);
    }
    CUZK_GPU_HD void y3(uint32_t *y, const uint32_t *ay) {
        if constexpr (wide) {
            sub_plus_kp<F, 4>(y, y, ay);
            reduce_loose<F, 3>(y);
        } else {
            reduce_loose<F, 2>(y);
            sub_plus_kp<F, 3>(y, y, ay);
            reduce_loose<F, 2>(y);
            reduce_loose<F, 2>(y);
        }
    }
    CUZK_GPU_HD void neg(uint32_t *r, const uint32_t *y) {
        uint32_t p[N];
        CUZK_UNROLL for (int i = 0; i < N; i++) p[i] = F::kp(1, i);
        sub_words<N>(r, p, y);
    }
    CUZK_GPU_HD void canon(uint32_t *a) { cuzk_gpu::canon<F>(a); }
    CUZK_GPU_HD void twice(uint32_t *r, const uint32_t *a) { add_words<N>(r, a, a); }
    CUZK_GPU_HD void thrice(uint32_t *r, const uint32_t *a) {
        uint32_t t[N];
        add_words<N>(t, a, a);
        add_words<N>(r, t, a);
    }
    CUZK_GPU_HD void one(uint32_t *r) { CUZK_UNROLL for (int i = 0; i < N; i++) r[i] = F::one(i); }
    CUZK_GPU_D void invert(uint32_t *x, uint32_t scratch) { warp_invert<F>(x, scratch); }
};

/* An element of Fp2, c0 then c1, each below (BOUND + 0.02)p. */
template <class F> struct pair_of {
    static constexpr int BOUND = F::N == 12 ? 3 : 2;
    uint32_t w[2 * F::N];
};

/* a - b, within the bound again. */
template <class F> CUZK_GPU_HD void sub_lazy(uint32_t *r, const uint32_t *a, const uint32_t *b) {
    constexpr int BOUND = pair_of<F>::BOUND;
    sub_plus_kp<F, 3>(r, a, b);
    reduce_loose<F, BOUND>(r);
    if (BOUND == 2) reduce_loose<F, BOUND>(r); /* up to 5p */
}

/* c0 = a0 b0 - a1 b1, c1 = a0 b1 + a1 b0, each by one reduction: as many multiply-adds as three
 * products, and nothing to add or subtract around them. Before reduce_loose c0 is below 3.15p for
 * BLS12-381 and 2.91p for BN254, c1 below 2.86p and 2.54p. A call: G2's formulas would otherwise
 * not fit the instruction cache. */
template <class F>
static __host__ __device__ __noinline__ pair_of<F> pair_mul(pair_of<F> a, pair_of<F> b) {
    constexpr int H = F::N, BOUND = pair_of<F>::BOUND;
    pair_of<F> r;
    uint32_t minus[H];
    CUZK_UNROLL for (int i = 0; i < H; i++) minus[i] = F::kp(BOUND + 1, i);
    sub_words<H>(minus, minus, b.w + H);
    mont_mul_add<F>(r.w, a.w, b.w, a.w + H, minus);
    mont_mul_add<F>(r.w + H, a.w, b.w + H, a.w + H, b.w);
    reduce_loose<F, BOUND>(r.w);
    if (BOUND == 2) reduce_loose<F, BOUND>(r.w + H);
    return r;
}

/* c0 = (a0 + a1) (a0 - a1), c1 = 2 a0 a1. */
template <class F> static __host__ __device__ __noinline__ pair_of<F> pair_sqr(pair_of<F> a) {
    constexpr int H = F::N, BOUND = pair_of<F>::BOUND;
    pair_of<F> r;
    uint32_t s[H], d[H];
    add_words<H>(s, a.w, a.w + H);
    reduce_loose<F, BOUND>(s);
    sub_lazy<F>(d, a.w, a.w + H);
    mont_mul<F>(r.w, s, d);
    mont_mul<F>(r.w + H, a.w, a.w + H);
    add_words<H>(r.w + H, r.w + H, r.w + H);
    reduce_loose<F, BOUND>(r.w + H);
    return r;
}

template <class F_> struct coord_fp2 {
    typedef F_ F;
    static constexpr int H = F::N, N = 2 * H; /* c0 then c1 */

    CUZK_GPU_HD void sub(uint32_t *r, const uint32_t *a, const uint32_t *b) {
        sub_lazy<F>(r, a, b);
        sub_lazy<F>(r + H, a + H, b + H);
    }
    CUZK_GPU_HD void diff(uint32_t *r, const uint32_t *p, const uint32_t *a) { sub(r, p, a); }
    CUZK_GPU_HD bool half_maybe_zero(uint32_t low) {
        return low == 0 || low == F::kp(1, 0) || low == F::kp(2, 0) || low == F::kp(3, 0);
    }
    CUZK_GPU_HD bool maybe_zero(const uint32_t *d) {
        return half_maybe_zero(d[0]) && half_maybe_zero(d[H]);
    }
    CUZK_GPU_HD void mul(uint32_t *r, const uint32_t *a, const uint32_t *b) {
        pair_of<F> x, y;
        copy_words<N>(x.w, a);
        copy_words<N>(y.w, b);
        x = pair_mul<F>(x, y);
        copy_words<N>(r, x.w);
    }
    CUZK_GPU_HD void sqr(uint32_t *r, const uint32_t *a) {
        pair_of<F> x;
        copy_words<N>(x.w, a);
        x = pair_sqr<F>(x);
        copy_words<N>(r, x.w);
    }
    CUZK_GPU_HD void settle(uint32_t *) {}
    CUZK_GPU_HD void x3(uint32_t *x, const uint32_t *ax, const uint32_t *px) {
        sub(x, x, ax);
        sub(x, x, px);
    }
    CUZK_GPU_HD void fall(uint32_t *r, const uint32_t *ax, const uint32_t *x3) { sub(r, ax, x3); }
    CUZK_GPU_HD void y3(uint32_t *y, const uint32_t *ay) { sub(y, y, ay); }
    CUZK_GPU_HD void neg(uint32_t *r, const uint32_t *y) {
        uint32_t zero[N];
        CUZK_UNROLL for (int i = 0; i < N; i++) zero[i] = 0;
        sub(r, zero, y);
        canon(r);
    }
    /* of a value below 4p */
    CUZK_GPU_HD void canon_half(uint32_t *a) {
        reduce_exact<F, 2>(a);
        reduce_exact<F, 1>(a);
    }
    CUZK_GPU_HD void canon(uint32_t *a) {
        canon_half(a);
        canon_half(a + H);
    }
    CUZK_GPU_HD void twice(uint32_t *r, const uint32_t *a) {
        add_words<H>(r, a, a);
        add_words<H>(r + H, a + H, a + H);
    }
    CUZK_GPU_HD void thrice(uint32_t *r, const uint32_t *a) {
        uint32_t t[N];
        twice(t, a);
        add_words<H>(r, t, a);
        add_words<H>(r + H, t + H, a + H);
        reduce_loose<F, pair_of<F>::BOUND>(r);
        reduce_loose<F, pair_of<F>::BOUND>(r + H);
    }
    CUZK_GPU_HD void one(uint32_t *r) {
        CUZK_UNROLL for (int i = 0; i < H; i++) {
            r[i] = F::one(i);
            r[H + i] = 0;
        }
    }
    /* (c0 - c1 u) / (c0^2 + c1^2) */
    CUZK_GPU_D void invert(uint32_t *x, uint32_t scratch) {
        pair_of<F> a, n;
        copy_words<N>(a.w, x);
        uint32_t minus[H];
        mont_mul_add<F>(n.w, a.w, a.w, a.w + H, a.w + H);
        canon_half(n.w);
        warp_invert<F>(n.w, scratch);
        reduce_exact<F, 1>(n.w);
        CUZK_UNROLL for (int i = 0; i < H; i++) n.w[H + i] = minus[i] = 0;
        a = pair_mul<F>(a, n);
        copy_words<H>(x, a.w);
        sub_lazy<F>(x + H, minus, a.w + H);
    }
};
#endif

} // namespace cuzk_gpu

#endif
