/* Montgomery arithmetic on 32-bit words, F a field of consts.cuh, R = 2^(32 F::N).
 *
 * Values are arrays of F::N words with the laziest bounds that each user can prove; "bound" below
 * is the exclusive upper bound of a value. Only canon() gives canonical values.
 *
 * Multiplication: CIOS with two accumulators, one 32 bits off the other, so that the low and high
 * half of each product fall on adjacent words and ptxas makes one IMAD.WIDE of the pair: 2N^2 + N
 * multiplier instructions for N words. Without the final subtraction, a*b/R + p bounds the
 * result; the first operand must satisfy a + p < R. */
#ifndef CUZK_BACKEND_CUDA_MONT32_CUH
#define CUZK_BACKEND_CUDA_MONT32_CUH

#include "backend/cuda/consts.cuh"

namespace cuzk_gpu {

/* What times p makes a's lowest word 0. A factor of -1 (BLS12-381's scalars) comes from memory:
 * ptxas makes a negation of a known one, and no longer joins the halves of the products by it. */
template <class F> CUZK_GPU_HD uint32_t mont_quotient(uint32_t a) {
    return a * (F::n0 == UINT32_MAX ? F::neg_inv(0) : F::n0);
}

/* The first half of a step of CIOS: (even, odd) += a*b. `first`: the accumulators are empty. */
template <int N>
CUZK_GPU_HD void product_row(uint32_t *even, uint32_t *odd, const uint32_t *a, uint32_t b,
                             bool first) {
    if (first) {
        CUZK_UNROLL for (int j = 0; j < N; j += 2) {
            mul_wide(odd[j], odd[j + 1], a[j + 1], b);
            mul_wide(even[j], even[j + 1], a[j], b);
        }
    } else {
        add_cc(even[0], odd[1]);
        CUZK_UNROLL for (int j = 0; j < N - 2; j += 2) {
            madc_lo_cc(odd[j], a[j + 1], b, odd[j + 2]);
            madc_hi_cc(odd[j + 1], a[j + 1], b, odd[j + 3]);
        }
        madc_lo_cc(odd[N - 2], a[N - 1], b, 0);
        madc_hi(odd[N - 1], a[N - 1], b, 0);
        mad_lo_cc(even[0], a[0], b, even[0]);
        madc_hi_cc(even[1], a[0], b, even[1]);
        CUZK_UNROLL for (int j = 2; j < N; j += 2) {
            madc_lo_cc(even[j], a[j], b, even[j]);
            madc_hi_cc(even[j + 1], a[j], b, even[j + 1]);
        }
        addc(odd[N - 1], 0);
    }
}

/* The second half: (even, odd) += p*m with m that clears even[0]. The caller swaps the two roles
 * afterwards, which is the shift by one word. */
template <class F> CUZK_GPU_HD void reduce_row(uint32_t *even, uint32_t *odd) {
    constexpr int N = F::N;
    const uint32_t m = mont_quotient<F>(even[0]);
    mad_lo_cc(odd[0], F::kp(1, 1), m, odd[0]);
    madc_hi_cc(odd[1], F::kp(1, 1), m, odd[1]);
    CUZK_UNROLL for (int j = 2; j < N; j += 2) {
        madc_lo_cc(odd[j], F::kp(1, j + 1), m, odd[j]);
        madc_hi_cc(odd[j + 1], F::kp(1, j + 1), m, odd[j + 1]);
    }
    mad_lo_cc(even[0], F::kp(1, 0), m, even[0]);
    madc_hi_cc(even[1], F::kp(1, 0), m, even[1]);
    CUZK_UNROLL for (int j = 2; j < N; j += 2) {
        madc_lo_cc(even[j], F::kp(1, j), m, even[j]);
        madc_hi_cc(even[j + 1], F::kp(1, j), m, even[j + 1]);
    }
    addc(odd[N - 1], 0);
}

/* The accumulators after the last step. */
template <int N> CUZK_GPU_HD void fold_rows(uint32_t *r, uint32_t *even, const uint32_t *odd) {
    add_cc(even[0], odd[1]);
    CUZK_UNROLL for (int i = 1; i < N - 1; i++) addc_cc(even[i], odd[i + 1]);
    addc(even[N - 1], 0);
    CUZK_UNROLL for (int i = 0; i < N; i++) r[i] = even[i];
}

/* r = a*b/R, bound a*b/R + p. r may alias a or b. */
template <class F> CUZK_GPU_HD void mont_mul(uint32_t *r, const uint32_t *a, const uint32_t *b) {
    constexpr int N = F::N;
    uint32_t even[N], odd[N];
    CUZK_UNROLL for (int i = 0; i < N; i += 2) {
        product_row<N>(even, odd, a, b[i], i == 0);
        reduce_row<F>(even, odd);
        product_row<N>(odd, even, a, b[i + 1], false);
        reduce_row<F>(odd, even);
    }
    fold_rows<N>(r, even, odd);
}

/* t = a*b for a of N words and b of ROWS, an even number: N + ROWS words. */
template <int N, int ROWS>
CUZK_GPU_HD void wide_mul(uint32_t *t, const uint32_t *a, const uint32_t *b) {
    uint32_t even[N], odd[N];
    CUZK_UNROLL for (int i = 0; i < ROWS; i += 2) {
        product_row<N>(even, odd, a, b[i], i == 0);
        t[i] = even[0];
        product_row<N>(odd, even, a, b[i + 1], false);
        t[i + 1] = odd[0];
    }
    fold_rows<N>(t + ROWS, even, odd);
}

/* r = t/R for a double-length t, bound t/R + p. */
template <class F> CUZK_GPU_HD void mont_reduce(uint32_t *r, const uint32_t *t) {
    constexpr int N = F::N;
    uint32_t acc0[2 * N + 2], acc1[2 * N + 2];
    CUZK_UNROLL for (int i = 0; i < 2 * N + 2; i++) {
        acc0[i] = i < N ? t[i] : 0;
        acc1[i] = 0;
    }
    CUZK_UNROLL for (int i = 0; i < N; i++) {
        uint32_t *x = (i & 1) ? acc1 : acc0, *y = (i & 1) ? acc0 : acc1;
        add_cc(x[i], y[i]);
        const uint32_t m = mont_quotient<F>(x[i]);
        CUZK_UNROLL for (int j = 1; j < N; j += 2) {
            madc_lo_cc(y[i + j], F::kp(1, j), m, y[i + j]);
            madc_hi_cc(y[i + j + 1], F::kp(1, j), m, y[i + j + 1]);
        }
        addc(y[i + N + 1], 0);
        mad_lo_cc(x[i], F::kp(1, 0), m, x[i]);
        madc_hi_cc(x[i + 1], F::kp(1, 0), m, x[i + 1]);
        CUZK_UNROLL for (int j = 2; j < N; j += 2) {
            madc_lo_cc(x[i + j], F::kp(1, j), m, x[i + j]);
            madc_hi_cc(x[i + j + 1], F::kp(1, j), m, x[i + j + 1]);
        }
        addc(x[i + N], 0);
    }
    uint32_t s[N];
    CUZK_UNROLL for (int i = 0; i < N; i++) s[i] = acc0[N + i];
    add_cc(s[0], acc1[N]);
    CUZK_UNROLL for (int i = 1; i < N - 1; i++) addc_cc(s[i], acc1[N + i]);
    addc(s[N - 1], acc1[2 * N - 1]);
    add_cc(s[0], t[N]);
    CUZK_UNROLL for (int i = 1; i < N - 1; i++) addc_cc(s[i], t[N + i]);
    addc(s[N - 1], t[2 * N - 1]);
    CUZK_UNROLL for (int i = 0; i < N; i++) r[i] = s[i];
}

/* t = a*a, double length: the products above the diagonal once, doubled, plus the diagonal. */
template <class F> CUZK_GPU_HD void wide_sqr(uint32_t *t, const uint32_t *a) {
    constexpr int N = F::N;
    uint32_t acc0[2 * N + 2], acc1[2 * N + 2];
    CUZK_UNROLL for (int i = 0; i < 2 * N + 2; i++) acc0[i] = acc1[i] = 0;
    CUZK_UNROLL for (int i = 0; i < N - 1; i++) {
        CUZK_UNROLL for (int s = 1; s <= 2; s++) {
            uint32_t *x = (s & 1) ? acc1 : acc0;
            int top = -1;
            CUZK_UNROLL for (int j = i + s; j < N; j += 2) {
                const int k = i + j;
                if (top < 0)
                    mad_lo_cc(x[k], a[j], a[i], x[k]);
                else
                    madc_lo_cc(x[k], a[j], a[i], x[k]);
                madc_hi_cc(x[k + 1], a[j], a[i], x[k + 1]);
                top = k + 2;
            }
            if (top > 0) addc(x[top], 0);
        }
    }
    t[0] = 0;
    t[1] = acc1[1];
    t[2] = acc0[2];
    add_cc(t[2], acc1[2]);
    CUZK_UNROLL for (int i = 3; i < 2 * N - 1; i++) {
        t[i] = acc0[i];
        addc_cc(t[i], acc1[i]);
    }
    t[2 * N - 1] = acc0[2 * N - 1];
    addc(t[2 * N - 1], acc1[2 * N - 1]);
    CUZK_UNROLL for (int i = 2 * N - 1; i > 0; i--) t[i] = (t[i] << 1) | (t[i - 1] >> 31);
    mad_lo_cc(t[0], a[0], a[0], t[0]);
    madc_hi_cc(t[1], a[0], a[0], t[1]);
    CUZK_UNROLL for (int i = 1; i < N; i++) {
        madc_lo_cc(t[2 * i], a[i], a[i], t[2 * i]);
        madc_hi_cc(t[2 * i + 1], a[i], a[i], t[2 * i + 1]);
    }
}

/* r = a*a/R, bound a*a/R + p. */
template <class F> CUZK_GPU_HD void mont_sqr(uint32_t *r, const uint32_t *a) {
    uint32_t t[2 * F::N];
    wide_sqr<F>(t, a);
    mont_reduce<F>(r, t);
}

template <int N> CUZK_GPU_HD void copy_words(uint32_t *r, const uint32_t *a) {
    CUZK_UNROLL for (int i = 0; i < N; i++) r[i] = a[i];
}

template <int N> CUZK_GPU_HD bool words_zero(const uint32_t *a) {
    uint32_t x = 0;
    CUZK_UNROLL for (int i = 0; i < N; i++) x |= a[i];
    return x == 0;
}

/* r = a + b and r = a - b as integers mod R. */
template <int N> CUZK_GPU_HD void add_words(uint32_t *r, const uint32_t *a, const uint32_t *b) {
    uint32_t t[N];
    copy_words<N>(t, a);
    add_cc(t[0], b[0]);
    CUZK_UNROLL for (int i = 1; i < N - 1; i++) addc_cc(t[i], b[i]);
    addc(t[N - 1], b[N - 1]);
    copy_words<N>(r, t);
}

template <int N> CUZK_GPU_HD void sub_words(uint32_t *r, const uint32_t *a, const uint32_t *b) {
    uint32_t t[N];
    copy_words<N>(t, a);
    sub_cc(t[0], b[0]);
    CUZK_UNROLL for (int i = 1; i < N - 1; i++) subc_cc(t[i], b[i]);
    subc(t[N - 1], b[N - 1]);
    copy_words<N>(r, t);
}

/* r = a - b + k*p; needs b <= a + k*p. */
template <class F, int K>
CUZK_GPU_HD void sub_plus_kp(uint32_t *r, const uint32_t *a, const uint32_t *b) {
    constexpr int N = F::N;
    uint32_t t[N];
    copy_words<N>(t, a);
    add_cc(t[0], F::kp(K, 0));
    CUZK_UNROLL for (int i = 1; i < N - 1; i++) addc_cc(t[i], F::kp(K, i));
    addc(t[N - 1], F::kp(K, N - 1));
    sub_words<N>(r, t, b);
}

/* a -= k*p when the top word of a exceeds that of k*p. Looking at one word only leaves a bound of
 * k*p*(1 + 2^-28) when it does not subtract: callers' bounds have room for it. */
template <class F, int K> CUZK_GPU_HD void reduce_loose(uint32_t *a) {
    constexpr int N = F::N;
    if (a[N - 1] > F::kp(K, N - 1)) {
        sub_cc(a[0], F::kp(K, 0));
        CUZK_UNROLL for (int i = 1; i < N - 1; i++) subc_cc(a[i], F::kp(K, i));
        subc(a[N - 1], F::kp(K, N - 1));
    }
}

/* a -= k*p when a >= k*p, exactly. */
template <class F, int K> CUZK_GPU_HD void reduce_exact(uint32_t *a) {
    constexpr int N = F::N;
    uint32_t t[N], borrow = 0;
    copy_words<N>(t, a);
    sub_cc(t[0], F::kp(K, 0));
    CUZK_UNROLL for (int i = 1; i < N; i++) subc_cc(t[i], F::kp(K, i));
    subc(borrow, 0);
    CUZK_UNROLL for (int i = 0; i < N; i++) a[i] = borrow ? a[i] : t[i];
}

/* Canonical form of a < 8p. */
template <class F> CUZK_GPU_HD void canon(uint32_t *a) {
    reduce_exact<F, 4>(a);
    reduce_exact<F, 2>(a);
    reduce_exact<F, 1>(a);
}

/* Canonical a, b: exact sum and difference mod p. */
template <class F> CUZK_GPU_HD void add_mod(uint32_t *r, const uint32_t *a, const uint32_t *b) {
    uint32_t t[F::N];
    add_words<F::N>(t, a, b);
    reduce_exact<F, 1>(t);
    copy_words<F::N>(r, t);
}

template <class F> CUZK_GPU_HD void sub_mod(uint32_t *r, const uint32_t *a, const uint32_t *b) {
    constexpr int N = F::N;
    uint32_t t[N], borrow = 0;
    copy_words<N>(t, a);
    sub_cc(t[0], b[0]);
    CUZK_UNROLL for (int i = 1; i < N; i++) subc_cc(t[i], b[i]);
    subc(borrow, 0);
    if (borrow) {
        add_cc(t[0], F::kp(1, 0));
        CUZK_UNROLL for (int i = 1; i < N - 1; i++) addc_cc(t[i], F::kp(1, i));
        addc(t[N - 1], F::kp(1, N - 1));
    }
    copy_words<N>(r, t);
}

} // namespace cuzk_gpu

#endif
