/* Coordinates of points inside the batch-affine kernel (accumulate.cuh): the operations it needs,
 * for G1 (lazy residues of Fp), G2 (lazy Fp2, one component in each of two lanes of a warp) and
 * kernels of one thread a point of G2 (canonical Fp2). Each type E has
 *
 *   LANES        neighbouring threads that hold a coordinate
 *   N            words of a coordinate that a thread holds
 *   diff         r = p - a, p canonical, a an accumulator's coordinate
 *   maybe_zero   false only if d (from diff) is not 0 mod p
 *   mul, sqr     products, by all lanes of a warp
 *   mul_apart    a product by the lanes of the element alone
 *   all          true when it is so in all lanes of the element, which call it together
 *   any_for_all  true when the first or the second is so in all lanes of the element; the whole
 *                warp calls it
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
    static constexpr int LANES = 1, N = F::N;
    static constexpr bool wide = N == 12; /* BLS12-381 */
    static constexpr int OFFSET = wide ? 4 : 3;

    CUZK_GPU_HD bool all(bool is) { return is; }
    CUZK_GPU_HD bool any_for_all(bool first, bool second) { return first || second; }

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
    CUZK_GPU_HD void mul_apart(uint32_t *r, const uint32_t *a, const uint32_t *b) { mul(r, a, b); }
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
    static constexpr int LANES = 1;
    static constexpr int H = F::N, N = 2 * H; /* c0 then c1 */

    CUZK_GPU_D bool all(bool is) { return is; }
    CUZK_GPU_D bool any_for_all(bool first, bool second) { return first || second; }
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
    CUZK_GPU_D void mul_apart(uint32_t *r, const uint32_t *a, const uint32_t *b) { mul(r, a, b); }
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

/* An element of Fp2 in two neighbouring lanes, c0 in the even one, c1 in the odd one: what each
 * does. A thread keeps half the words, and both compute the same instructions. A product is
 * Karatsuba's three wide products, of which a lane computes one and a half, and a reduction: 372
 * multiply-adds a lane for 12 words, 168 for 8, where two products and a reduction would be 444 and
 * 200.
 *
 * Bounds, in units of p. OPERAND: operands of products are at most 3 (BLS12-381, R = 9.84) or 2
 * (BN254, R = 5.29), and so are products. ACC: accumulators are at most 4 or 2. Each step says what
 * it leaves; e is reduce_loose's slop. */
template <class F_> struct lane_of_fp2 {
    typedef F_ F;
    static constexpr int N = F::N;
    static constexpr bool wide = N == 12;
    static constexpr int OPERAND = wide ? 3 : 2, ACC = wide ? 4 : 2;

    /* The first half of a product: v = a b of the lane's own parts; of (a0 + a1) (b0 + b1), sums
     * below R, the rows of the lower or the upper half of b0 + b1's words: m. */
    CUZK_GPU_HD void products(uint32_t *v, uint32_t *m, const uint32_t *a, const uint32_t *a_other,
                              const uint32_t *b, const uint32_t *b_other, bool odd) {
        uint32_t sa[N], sb[N];
        add_words<N>(sa, a, a_other);
        add_words<N>(sb, b, b_other);
        CUZK_UNROLL for (int i = 0; i < N / 2; i++) sb[i] = odd ? sb[N / 2 + i] : sb[i];
        wide_mul<N, N / 2>(m, sa, sb);
        wide_mul<N, N>(v, a, b);
    }
    /* The second half: c0 = v0 - v1 or c1 = m - v0 - v1 from what the lane and the other have, a
     * reduction. c0 gets R p, as v1 is at most 9 < 9.84 or 4 < 5.29: (9 + 9.84) / 9.84 + 1 = 2.92
     * or (4 + 5.29) / 5.29 + 1 = 2.76, left at most 1.76. c1 is below 18 / 9.84 + 1 = 2.83 or 8
     * / 5.29 + 1 = 2.52. */
    CUZK_GPU_HD void join(uint32_t *r, uint32_t *v, const uint32_t *m, const uint32_t *v_other,
                          const uint32_t *m_other, bool odd) {
        uint32_t t[2 * N];
        if (odd) {
            CUZK_UNROLL for (int i = 0; i < 2 * N; i++) t[i] = i < 3 * N / 2 ? m_other[i] : 0;
            add_cc(t[N / 2], m[0]);
            CUZK_UNROLL for (int i = 1; i < 3 * N / 2 - 1; i++) addc_cc(t[N / 2 + i], m[i]);
            addc(t[2 * N - 1], m[3 * N / 2 - 1]);
            sub_words<2 * N>(t, t, v);
        } else {
            CUZK_UNROLL for (int i = 0; i < 2 * N; i++) t[i] = v[i];
            add_cc(t[N], F::kp(1, 0));
            CUZK_UNROLL for (int i = 1; i < N - 1; i++) addc_cc(t[N + i], F::kp(1, i));
            addc(t[2 * N - 1], F::kp(1, N - 1));
        }
        sub_words<2 * N>(t, t, v_other);
        mont_reduce<F>(r, t);
        if (!wide) reduce_loose<F, 1>(r);
    }
    /* (a0 + a1) (a0 - a1) or (2 a0) a1. The second factor is at most OPERAND + e, hence the square
     * below 6 (3 + e) / 9.84 + 1 = 2.83 or 4 (2 + e) / 5.29 + 1 = 2.52, left at most 1.52. */
    CUZK_GPU_HD void sqr(uint32_t *r, const uint32_t *a, const uint32_t *a_other, bool odd) {
        uint32_t s[N], d[N];
        CUZK_UNROLL for (int i = 0; i < N; i++) s[i] = odd ? a_other[i] : a[i];
        add_words<N>(s, s, a_other);
        sub_plus_kp<F, OPERAND>(d, a, a_other);
        CUZK_UNROLL for (int i = 0; i < N; i++) d[i] = odd ? a[i] : d[i];
        reduce_loose<F, OPERAND>(d);
        mont_mul<F>(r, s, d);
        if (!wide) reduce_loose<F, 1>(r);
    }
    /* Up to 1 + 4 = 5, left at most 5 - 2 = 3; up to 1 + 2 = 3, left at most 2. */
    CUZK_GPU_HD void diff(uint32_t *r, const uint32_t *p, const uint32_t *a) {
        sub_plus_kp<F, ACC>(r, p, a);
        reduce_loose<F, wide ? 2 : 1>(r);
    }
    CUZK_GPU_HD bool maybe_zero(const uint32_t *d) {
        return d[0] == 0 || d[0] == F::kp(1, 0) || d[0] == F::kp(2, 0) ||
               (wide && d[0] == F::kp(3, 0));
    }
    /* x, a square: below 2.83, reduced below 1.83, + 5, below 6.83, left below 3.83; below 1.52,
     * + 3, below 4.52, left below 2.52, then 1.52. */
    CUZK_GPU_HD void x3(uint32_t *x, const uint32_t *ax, const uint32_t *px) {
        if (wide) reduce_loose<F, 1>(x);
        sub_plus_kp<F, ACC + 1>(x, x, ax);
        sub_words<N>(x, x, px);
        reduce_loose<F, wide ? 3 : 2>(x);
        if (!wide) reduce_loose<F, 1>(x);
    }
    /* Up to 8, then 5, then 3; up to 4, then 2 + e, then 1 + e. */
    CUZK_GPU_HD void fall(uint32_t *r, const uint32_t *ax, const uint32_t *x3) {
        sub_plus_kp<F, ACC>(r, ax, x3);
        reduce_loose<F, wide ? 3 : 2>(r);
        reduce_loose<F, wide ? 2 : 1>(r);
    }
    /* y, a product: below 2.92 + 4, left below 3.92; below 1.76 + 2, left 2 + e, then 1 + e. */
    CUZK_GPU_HD void y3(uint32_t *y, const uint32_t *ay) {
        sub_plus_kp<F, ACC>(y, y, ay);
        reduce_loose<F, wide ? 3 : 2>(y);
        if (!wide) reduce_loose<F, 1>(y);
    }
    CUZK_GPU_HD void settle(uint32_t *) {}
    CUZK_GPU_HD void neg(uint32_t *r, const uint32_t *y) { coord_fp<F>::neg(r, y); }
    CUZK_GPU_HD void canon(uint32_t *a) { cuzk_gpu::canon<F>(a); }
    CUZK_GPU_HD void twice(uint32_t *r, const uint32_t *a) { add_words<N>(r, a, a); }
    /* below 3; of values below p, hence below 2 once reduced */
    CUZK_GPU_HD void thrice(uint32_t *r, const uint32_t *a) {
        coord_fp<F>::thrice(r, a);
        if (!wide) reduce_loose<F, 1>(r);
    }
};

template <class F>
static __device__ __noinline__ words_of<F> lanes_mul_call(words_of<F> a, words_of<F> b);

/* Its coordinates: the exchanges between the lanes. */
template <class F_> struct coord_fp2_lanes : lane_of_fp2<F_> {
    typedef F_ F;
    typedef lane_of_fp2<F> part;
    static constexpr int LANES = 2, N = F::N;

    CUZK_GPU_D bool odd() { return threadIdx.x & 1; }
    CUZK_GPU_D unsigned own_lanes() { return 3u << (threadIdx.x & 30); }
    CUZK_GPU_D bool all(bool is) { return __shfl_xor_sync(own_lanes(), (int)is, 1) && is; }
    CUZK_GPU_D bool any_for_all(bool first, bool second) {
        const int mine = (first ? 1 : 0) | (second ? 2 : 0);
        return mine & __shfl_xor_sync(WARP_ALL, mine, 1);
    }
    /* K words of the other lane. */
    template <int K> CUZK_GPU_D void exchange(uint32_t *r, const uint32_t *a, unsigned lanes) {
        CUZK_UNROLL for (int i = 0; i < K; i++) r[i] = __shfl_xor_sync(lanes, a[i], 1);
    }
    /* A product by the lanes of one element or of a whole warp. */
    CUZK_GPU_D void mul_by(uint32_t *r, const uint32_t *a, const uint32_t *b, unsigned lanes) {
        uint32_t v[2 * N], m[3 * N / 2], v_other[2 * N], m_other[3 * N / 2];
        {
            uint32_t a_other[N], b_other[N];
            exchange<N>(a_other, a, lanes);
            exchange<N>(b_other, b, lanes);
            part::products(v, m, a, a_other, b, b_other, odd());
        }
        exchange<3 * N / 2>(m_other, m, lanes);
        exchange<2 * N>(v_other, v, lanes);
        part::join(r, v, m, v_other, m_other, odd());
    }
    CUZK_GPU_D void mul(uint32_t *r, const uint32_t *a, const uint32_t *b) {
        words_of<F> x, y;
        copy_words<N>(x.w, a);
        copy_words<N>(y.w, b);
        x = lanes_mul_call<F>(x, y);
        copy_words<N>(r, x.w);
    }
    CUZK_GPU_D void mul_apart(uint32_t *r, const uint32_t *a, const uint32_t *b) {
        mul_by(r, a, b, own_lanes());
    }
    CUZK_GPU_D void sqr(uint32_t *r, const uint32_t *a) {
        uint32_t other[N];
        exchange<N>(other, a, WARP_ALL);
        part::sqr(r, a, other, odd());
    }
    CUZK_GPU_D void one(uint32_t *r) {
        CUZK_UNROLL for (int i = 0; i < N; i++) r[i] = odd() ? 0 : F::one(i);
    }
    /* (c0 - c1 u) / (c0^2 + c1^2). The norm is below 3.84 or 3.52, its inverse below 1.01, the
     * parts below 1.39; the odd one is left between 0.6 and 2. */
    CUZK_GPU_D void invert(uint32_t *x, uint32_t scratch) {
        uint32_t n[N], other[N];
        mont_sqr<F>(n, x);
        exchange<N>(other, n, WARP_ALL);
        add_words<N>(n, n, other);
        warp_invert<F>(n, scratch);
        mont_mul<F>(x, x, n);
        if (odd()) {
            CUZK_UNROLL for (int i = 0; i < N; i++) n[i] = F::kp(2, i);
            sub_words<N>(x, n, x);
        }
    }
};

/* A product as a call: five copies in a loop overflow the instruction cache, which costs what the
 * lanes save. */
template <class F>
static __device__ __noinline__ words_of<F> lanes_mul_call(words_of<F> a, words_of<F> b) {
    words_of<F> r;
    coord_fp2_lanes<F>::mul_by(r.w, a.w, b.w, WARP_ALL);
    return r;
}
#endif

} // namespace cuzk_gpu

#endif
