/* Multiplication by a fixed operand after Shoup: for a constant w < p precompute
 * w' = floor(w * 2^256 / p); then q = floor(a w' / 2^256) misses floor(a w / p) by at most one and
 * r = a w - q p, computed mod 2^256, is below 2p. Two half products replace the full Montgomery
 * product. F is a field of 8 words; values are below 2p, which needs 2p < 2^256.
 *
 * The columns of a*w' below the sixth word are dropped: they change q only when the fraction is
 * below 2^-29, so r < 2p holds for every a < 2^256 (1 - 2^-29), thus for every a < 2p. */
#ifndef CUZK_BACKEND_CUDA_SHOUP_CUH
#define CUZK_BACKEND_CUDA_SHOUP_CUH

#include "backend/cuda/mont32.cuh"

namespace cuzk_gpu {

/* A fixed operand: w then w', 8 words each, 64 bytes in memory. */
struct alignas(16) shoup_pair {
    uint32_t w[8], wp[8];
};

/* (x, y) += a * b * 2^(32 i), mod 2^256; x takes the products that start at even words. */
CUZK_GPU_HD void low_row(uint32_t *x, uint32_t *y, const uint32_t *a, uint32_t b, int i) {
    CUZK_UNROLL for (int lane = 0; lane < 2; lane++) {
        uint32_t *acc = ((i + lane) & 1) ? y : x;
        bool first = true;
        CUZK_UNROLL for (int j = lane; i + j < 8; j += 2) {
            const int k = i + j;
            if (k == 7) {
                if (first)
                    acc[k] += a[j] * b;
                else
                    madc_lo(acc[k], a[j], b, acc[k]);
            } else {
                if (first)
                    mad_lo_cc(acc[k], a[j], b, acc[k]);
                else
                    madc_lo_cc(acc[k], a[j], b, acc[k]);
                madc_hi_cc(acc[k + 1], a[j], b, acc[k + 1]);
            }
            first = false;
        }
    }
}

/* q = words 8..15 of a * b, from the columns 6 and up. */
CUZK_GPU_HD void high_product(uint32_t *q, const uint32_t *a, const uint32_t *b) {
    uint32_t x[18], y[18];
    CUZK_UNROLL for (int i = 0; i < 18; i++) x[i] = y[i] = 0;
    CUZK_UNROLL for (int i = 0; i < 8; i++) {
        CUZK_UNROLL for (int lane = 0; lane < 2; lane++) {
            uint32_t *acc = ((i + lane) & 1) ? y : x;
            int top = -1;
            CUZK_UNROLL for (int j = lane; j < 8; j += 2) {
                const int k = i + j;
                if (k < 6) continue;
                if (top < 0)
                    mad_lo_cc(acc[k], a[j], b[i], acc[k]);
                else
                    madc_lo_cc(acc[k], a[j], b[i], acc[k]);
                madc_hi_cc(acc[k + 1], a[j], b[i], acc[k + 1]);
                top = k + 2;
            }
            if (top > 0) addc(acc[top], 0);
        }
    }
    uint32_t c = x[7];
    add_cc(c, y[7]);
    CUZK_UNROLL for (int i = 8; i < 15; i++) {
        q[i - 8] = x[i];
        addc_cc(q[i - 8], y[i]);
    }
    q[7] = x[15];
    addc(q[7], y[15]);
}

/* Lowest word in which -p differs from -1 + 2^32 mod 2^256, when p = 1 - 2^32 + 2^64 (...) as for
 * BLS12-381: the first two words of q * (-p) then cost no multiplication. */
template <class F> struct shoup_low { static constexpr bool special = false; };
template <> struct shoup_low<bls12_381_fr> { static constexpr bool special = true; };

/* r = a w - q p mod 2^256 for the q of high_product. */
template <class F>
CUZK_GPU_HD void shoup_finish(uint32_t *r, const uint32_t *a, const uint32_t *w,
                              const uint32_t *q) {
    constexpr bool special = shoup_low<F>::special;
    uint32_t x[8], y[8];
    CUZK_UNROLL for (int i = 0; i < 8; i++) x[i] = y[i] = 0;
    CUZK_UNROLL for (int i = 0; i < 8; i++) low_row(x, y, a, w[i], i);
    CUZK_UNROLL for (int i = special ? 2 : 0; i < 8; i++) low_row(x, y, q, F::neg_p(i), i);
    add_cc(x[1], y[1]);
    CUZK_UNROLL for (int i = 2; i < 7; i++) addc_cc(x[i], y[i]);
    addc(x[7], y[7]);
    if (special) { /* words 0 and 1 of -p are those of 2^32 - 1 */
        sub_cc(x[0], q[0]);
        CUZK_UNROLL for (int i = 1; i < 7; i++) subc_cc(x[i], q[i]);
        subc(x[7], q[7]);
        add_cc(x[1], q[0]);
        CUZK_UNROLL for (int i = 2; i < 7; i++) addc_cc(x[i], q[i - 1]);
        addc(x[7], q[6]);
    }
    copy_words<8>(r, x);
}

/* r = a w mod p, bound 2p, for any a < 2p. */
template <class F>
CUZK_GPU_HD void shoup_mul(uint32_t *r, const uint32_t *a, const uint32_t *w, const uint32_t *wp) {
    uint32_t q[8];
    high_product(q, a, wp);
    shoup_finish<F>(r, a, w, q);
}

/* The pair of a constant given in Montgomery form (canonical). w' follows from
 * w 2^256 mod p, which is that Montgomery form itself: w' p = w 2^256 - rem, so
 * w' = -rem / p mod 2^256. */
template <class F> CUZK_GPU_HD void shoup_make(shoup_pair *out, const uint32_t *w_mont) {
    uint32_t one[8] = {1, 0, 0, 0, 0, 0, 0, 0};
    mont_mul<F>(out->w, one, w_mont);
    reduce_exact<F, 1>(out->w);
    uint32_t t[8] = {0, 0, 0, 0, 0, 0, 0, 0};
    for (int i = 0; i < 8; i++) {
        uint64_t c = 0;
        for (int j = 0; i + j < 8; j++) {
            c += (uint64_t)w_mont[i] * F::neg_inv(j) + t[i + j];
            t[i + j] = (uint32_t)c;
            c >>= 32;
        }
    }
    copy_words<8>(out->wp, t);
}

/* Exact sum and difference mod 2p on [0, 2p). */
template <class F> CUZK_GPU_HD void add_mod2p(uint32_t *r, const uint32_t *a, const uint32_t *b) {
    uint32_t s[8], t[8], over = 0;
    copy_words<8>(s, a);
    add_cc(s[0], b[0]);
    CUZK_UNROLL for (int i = 1; i < 8; i++) addc_cc(s[i], b[i]);
    addc(over, 0);
    copy_words<8>(t, s);
    sub_cc(t[0], F::kp(2, 0));
    CUZK_UNROLL for (int i = 1; i < 8; i++) subc_cc(t[i], F::kp(2, i));
    subc(over, 0); /* all ones when s < 2p */
    CUZK_UNROLL for (int i = 0; i < 8; i++) r[i] = over ? s[i] : t[i];
}

/* Whether 4p is below 2^256 - 2^228. */
template <class F> constexpr bool loose_fits() {
    return 4 * (F::top + 1ull) < 0xfffffff0u;
}

/* A sum of values below 2p that is only to be multiplied: below 2^256 - 2^228. */
template <class F> CUZK_GPU_HD void add_loose(uint32_t *r, const uint32_t *a, const uint32_t *b) {
    constexpr bool fits = loose_fits<F>();
    uint32_t s[8], over = 0;
    copy_words<8>(s, a);
    add_cc(s[0], b[0]);
    CUZK_UNROLL for (int i = 1; i < 7; i++) addc_cc(s[i], b[i]);
    if (fits) {
        addc(s[7], b[7]);
    } else {
        addc_cc(s[7], b[7]);
        addc(over, 0);
        if (over || s[7] >= 0xfffffff0u) { /* 2p is smaller */
            sub_cc(s[0], F::kp(2, 0));
            CUZK_UNROLL for (int i = 1; i < 7; i++) subc_cc(s[i], F::kp(2, i));
            subc(s[7], F::kp(2, 7));
        }
    }
    copy_words<8>(r, s);
}

template <class F> CUZK_GPU_HD void sub_mod2p(uint32_t *r, const uint32_t *a, const uint32_t *b) {
    uint32_t t[8], borrow = 0;
    copy_words<8>(t, a);
    sub_cc(t[0], b[0]);
    CUZK_UNROLL for (int i = 1; i < 8; i++) subc_cc(t[i], b[i]);
    subc(borrow, 0);
    if (borrow) {
        add_cc(t[0], F::kp(2, 0));
        CUZK_UNROLL for (int i = 1; i < 7; i++) addc_cc(t[i], F::kp(2, i));
        addc(t[7], F::kp(2, 7));
    }
    copy_words<8>(r, t);
}

/* And a difference. */
template <class F> CUZK_GPU_HD void sub_loose(uint32_t *r, const uint32_t *a, const uint32_t *b) {
    if constexpr (loose_fits<F>())
        sub_plus_kp<F, 2>(r, a, b);
    else
        sub_mod2p<F>(r, a, b);
}

} // namespace cuzk_gpu

#endif
