/* Multiplication by a constant w of the kernel: every word x_i of the other operand has a multiple
 * of its own, w_i = w 2^(32 i + 64) mod p, so that T = sum of x_i w_i = 2^64 x w modulo p is only
 * one word longer than p: below 8 2^32 p. Two steps of Montgomery's reduction take the 2^64 away
 * and leave less than p + 9 p / 2^32, for any x < 2^256: 80 multiply-adds, where Shoup's quotient
 * (shoup.cuh) takes 100 to 115. The price is 256 bytes for a constant, which every thread must want
 * at the same time: as immediate operands they are free, loads would not be (dft_factors.cuh).
 *
 * Lanes as in mont32.cuh: e[k] is word k of T, o[k] word k + 1; the carries out of their eight
 * words are counted in e[8] and o[8], and T < 2^320, so words 2 to 9 of their sum are exact. */
#ifndef CUZK_BACKEND_CUDA_SPLIT_CUH
#define CUZK_BACKEND_CUDA_SPLIT_CUH

#include "backend/cuda/mont32.cuh"

namespace cuzk_gpu {

struct alignas(16) split_factor {
    uint32_t w[8][8]; /* [i]: w 2^(32 i + 64) mod p */
};

/* lane += v * (words 0, 2, 4 and 6 of w), IN: and the carry; OUT: the carry is left. */
template <bool IN, bool OUT>
CUZK_GPU_HD void lane_row(uint32_t *lane, uint32_t v, const uint32_t *w) {
    if (IN)
        madc_lo_cc(lane[0], v, w[0], lane[0]);
    else
        mad_lo_cc(lane[0], v, w[0], lane[0]);
    CUZK_UNROLL for (int j = 0; j < 6; j += 2) {
        madc_hi_cc(lane[j + 1], v, w[j], lane[j + 1]);
        madc_lo_cc(lane[j + 2], v, w[j + 2], lane[j + 2]);
    }
    if (OUT)
        madc_hi_cc(lane[7], v, w[6], lane[7]);
    else
        madc_hi(lane[7], v, w[6], lane[7]);
}

/* r = x w mod p, bound p + 2^-28 p, for any x. r may alias x. */
template <class F>
CUZK_GPU_HD void split_mul(uint32_t *r, const uint32_t *x, const split_factor &f) {
    /* so many rows cannot overflow the odd lane, whose top word is p's */
    constexpr int quiet = (int)((1ull << 32) / (F::top + 1ull));
    uint32_t e[10], o[9], p[8];
    CUZK_UNROLL for (int j = 0; j < 8; j++) p[j] = F::kp(1, j);
    CUZK_UNROLL for (int j = 0; j < 8; j += 2) {
        mul_wide(e[j], e[j + 1], x[0], f.w[0][j]);
        mul_wide(o[j], o[j + 1], x[0], f.w[0][j + 1]);
    }
    e[8] = e[9] = o[8] = 0;
    CUZK_UNROLL for (int i = 1; i < 8; i++) {
        lane_row<false, true>(e, x[i], f.w[i]);
        addc(e[8], 0);
        if (i < quiet) {
            lane_row<false, false>(o, x[i], f.w[i] + 1);
        } else {
            lane_row<false, true>(o, x[i], f.w[i] + 1);
            addc(o[8], 0);
        }
    }
    const uint32_t m = mont_quotient<F>(e[0]);
    lane_row<false, true>(e, m, p);
    addc(e[8], 0);
    lane_row<false, true>(o, m, p + 1);
    addc(o[8], 0);
    const uint32_t n = mont_quotient<F>(o[0] + e[1]);
    add_cc(o[0], e[1]);
    lane_row<true, false>(e + 2, n, p + 1);
    lane_row<false, true>(o, n, p);
    addc(o[8], 0);
    add_cc(e[2], o[1]);
    CUZK_UNROLL for (int j = 3; j < 9; j++) addc_cc(e[j], o[j - 1]);
    addc(e[9], o[8]);
    copy_words<8>(r, e + 2);
}

} // namespace cuzk_gpu

#endif
