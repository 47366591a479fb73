/* Coordinates of points inside the batch-affine kernel (accumulate.cuh): the operations it needs,
 * for G1 (lazy residues of Fp) and G2 (canonical Fp2). Each type E has
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

/* A product as a call: G2's formulas would otherwise not fit the instruction cache. */
template <class F> struct words_of { uint32_t w[F::N]; };
template <class F>
static __device__ __noinline__ words_of<F> mul_call(words_of<F> a, words_of<F> b) {
    words_of<F> r;
    mont_mul<F>(r.w, a.w, b.w);
    return r;
}

template <class F_> struct coord_fp2 {
    typedef F_ F;
    static constexpr int H = F::N, N = 2 * H; /* c0 then c1 */

    CUZK_GPU_D void base_mul(uint32_t *r, const uint32_t *a, const uint32_t *b) {
        words_of<F> x, y;
        copy_words<H>(x.w, a);
        copy_words<H>(y.w, b);
        x = mul_call<F>(x, y);
        copy_words<H>(r, x.w);
    }
    CUZK_GPU_D void sub(uint32_t *r, const uint32_t *a, const uint32_t *b) {
        sub_mod<F>(r, a, b);
        sub_mod<F>(r + H, a + H, b + H);
    }
    CUZK_GPU_D void diff(uint32_t *r, const uint32_t *p, const uint32_t *a) { sub(r, p, a); }
    CUZK_GPU_D bool maybe_zero(const uint32_t *d) { return (d[0] | d[H]) == 0; }
    /* Karatsuba: the sums are below 2p, their product below 4p^2/R + p < 2p, as are v0 and v1 once
     * reduced below p; m + 2p - v0 - v1 is below 4p. */
    CUZK_GPU_D void mul(uint32_t *r, const uint32_t *a, const uint32_t *b) {
        uint32_t v0[H], v1[H], sa[H], sb[H];
        add_words<H>(sa, a, a + H);
        add_words<H>(sb, b, b + H);
        base_mul(sa, sa, sb);
        base_mul(v0, a, b);
        base_mul(v1, a + H, b + H);
        reduce_exact<F, 1>(v0);
        reduce_exact<F, 1>(v1);
        sub_plus_kp<F, 2>(sa, sa, v0);
        sub_words<H>(sa, sa, v1);
        sub_mod<F>(r, v0, v1);
        reduce_exact<F, 2>(sa);
        reduce_exact<F, 1>(sa);
        copy_words<H>(r + H, sa);
    }
    CUZK_GPU_D void sqr(uint32_t *r, const uint32_t *a) {
        uint32_t s[H], d[H], m[H];
        add_words<H>(s, a, a + H);
        sub_mod<F>(d, a, a + H);
        base_mul(m, a, a + H);
        base_mul(s, s, d);
        reduce_exact<F, 1>(s);
        reduce_exact<F, 1>(m);
        copy_words<H>(r, s);
        add_mod<F>(r + H, m, m);
    }
    CUZK_GPU_D void settle(uint32_t *) {}
    CUZK_GPU_D void x3(uint32_t *x, const uint32_t *ax, const uint32_t *px) {
        sub(x, x, ax);
        sub(x, x, px);
    }
    CUZK_GPU_D void fall(uint32_t *r, const uint32_t *ax, const uint32_t *x3) { sub(r, ax, x3); }
    CUZK_GPU_D void y3(uint32_t *y, const uint32_t *ay) { sub(y, y, ay); }
    CUZK_GPU_D void neg(uint32_t *r, const uint32_t *y) {
        uint32_t zero[N];
        CUZK_UNROLL for (int i = 0; i < N; i++) zero[i] = 0;
        sub(r, zero, y);
    }
    CUZK_GPU_D void canon(uint32_t *) {}
    CUZK_GPU_D void twice(uint32_t *r, const uint32_t *a) {
        add_mod<F>(r, a, a);
        add_mod<F>(r + H, a + H, a + H);
    }
    CUZK_GPU_D void thrice(uint32_t *r, const uint32_t *a) {
        uint32_t t[N];
        twice(t, a);
        add_mod<F>(r, t, a);
        add_mod<F>(r + H, t + H, a + H);
    }
    CUZK_GPU_D void one(uint32_t *r) {
        CUZK_UNROLL for (int i = 0; i < H; i++) {
            r[i] = F::one(i);
            r[H + i] = 0;
        }
    }
    /* (c0 - c1 u) / (c0^2 + c1^2) */
    CUZK_GPU_D void invert(uint32_t *x, uint32_t scratch) {
        uint32_t n[H], t[H];
        base_mul(n, x, x);
        base_mul(t, x + H, x + H);
        add_words<H>(n, n, t);
        reduce_exact<F, 2>(n);
        warp_invert<F>(n, scratch);
        reduce_exact<F, 1>(n);
        base_mul(x, x, n);
        base_mul(t, x + H, n);
        reduce_exact<F, 1>(x);
        reduce_exact<F, 1>(t);
        CUZK_UNROLL for (int i = 0; i < H; i++) n[i] = 0;
        sub_mod<F>(x + H, n, t);
    }
};
#endif

} // namespace cuzk_gpu

#endif
