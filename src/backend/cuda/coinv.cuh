/* Inversion of one value by a whole warp. DESIGN
 *
 * Divsteps (Bernstein, Yang 2019) in the variable-time form that takes several zero bits and up to
 * six odd steps at once, in batches of 28: a batch works on the low words of f and g only and
 * yields a 2x2 matrix, which is then applied to f, g and to the cofactors d, e. Numbers are signed
 * 28-bit limbs, limb l in lane l, so applying the matrix is a few multiply-adds and two shuffles
 * for the carries; the batch itself is computed by every lane alike. d starts at 0 and e at R^2,
 * which makes the result a^-1 R^2 / R... in Montgomery form without a further product:
 * for the Montgomery form aR of a it is a^-1 R. About 29 batches for 381 bits, 35,000 clocks,
 * against 550,000 for Fermat's power. */
#ifndef CUZK_BACKEND_CUDA_COINV_CUH
#define CUZK_BACKEND_CUDA_COINV_CUH

#include "backend/cuda/mont32.cuh"

namespace cuzk_gpu {

#ifdef __CUDACC__
constexpr unsigned WARP_ALL = 0xffffffffu;

/* Renormalises limbs given as 64-bit sums: two steps of carries leave limbs within 29 bits. The
 * lowest limb of the sum is a multiple of 2^28 and is dropped: a shift by one limb. */
template <int L> static __device__ __forceinline__ int32_t shift_carry(int64_t c, int lane) {
    constexpr int32_t M = (1 << 28) - 1;
    const int32_t low = (int32_t)c & M, high = (int32_t)(c >> 28);
    int32_t v = __shfl_down_sync(WARP_ALL, low, 1) + high;
    const int32_t carry = lane < L - 1 ? v >> 28 : 0;
    if (lane < L - 1) v &= M;
    const int32_t up = __shfl_up_sync(WARP_ALL, carry, 1);
    return lane ? v + up : v;
}

/* True when the number spread over the lanes is zero, carries included. */
template <int L> static __device__ __forceinline__ bool limbs_zero(int32_t v, int lane) {
    for (int k = 0; k < L; k++) {
        const int32_t carry = lane < L - 1 ? v >> 28 : 0;
        if (lane < L - 1) v &= (1 << 28) - 1;
        const int32_t up = __shfl_up_sync(WARP_ALL, carry, 1);
        if (lane) v += up;
    }
    return !__any_sync(WARP_ALL, v != 0);
}

struct divstep_matrix {
    int32_t u, v, q, r;
};

/* 28 divsteps on the low words. */
static __device__ __forceinline__ divstep_matrix divsteps28(int32_t f, int32_t g, int &eta) {
    divstep_matrix m = {1, 0, 0, 1};
    int left = 28;
#pragma unroll 1
    while (true) {
        const int z = __ffs((int)((uint32_t)g | (0xffffffffu << left))) - 1;
        g >>= z;
        m.u <<= z;
        m.v <<= z;
        eta -= z;
        left -= z;
        if (left == 0) return m;
        if (eta < 0) {
            eta = -eta;
            int32_t t = f;
            f = g, g = -t;
            t = m.u, m.u = m.q, m.q = -t;
            t = m.v, m.v = m.r, m.r = -t;
        }
        int bits = eta + 1 < left ? eta + 1 : left;
        bits = bits < 6 ? bits : 6;
        /* w = -g/f mod 2^bits: f (f^2 - 2) = -1/f mod 2^6 for odd f */
        const int32_t w = (g * f * (f * f - 2)) & ((1 << bits) - 1);
        g += f * w;
        m.q += m.u * w;
        m.r += m.v * w;
    }
}

/* x = x^-1 in Montgomery form, x < 8p of the same residue in every lane of a full warp; 0 gives 0.
 * Result below 1.01 p, the same words in every lane. scratch: shared address of F::N words for this
 * warp. */
template <class F>
static __device__ __forceinline__ void warp_invert(uint32_t *x, uint32_t scratch) {
    constexpr int N = F::N, L = limbs28(N);
    constexpr int32_t M = (1 << 28) - 1;
    const int lane = (int)(threadIdx.x & 31);
    reduce_loose<F, 4>(x);
    reduce_loose<F, 2>(x);
    reduce_loose<F, 1>(x);
    if (lane == 0) {
        CUZK_UNROLL for (int i = 0; i < N; i++) asm volatile(
            "st.shared.u32 [%0], %1;" ::"r"(scratch + 4 * i), "r"(x[i]) : "memory");
    }
    __syncwarp();
    int32_t f = 0, g = 0, d = 0, e = 0, p = 0;
    if (lane < L) {
        const int word = (28 * lane) >> 5, shift = (28 * lane) & 31;
        uint32_t w0, w1 = 0;
        asm volatile("ld.shared.u32 %0, [%1];" : "=r"(w0) : "r"(scratch + 4 * word) : "memory");
        if (word + 1 < N)
            asm volatile("ld.shared.u32 %0, [%1];"
                         : "=r"(w1)
                         : "r"(scratch + 4 * word + 4)
                         : "memory");
        g = (int32_t)(__funnelshift_r(w0, w1, shift) & M);
        p = F::p28(lane);
        f = p;
        e = F::r2_28(lane);
    }
    __syncwarp();
    int eta = -1;
    int32_t f0;
#pragma unroll 1
    for (int it = 0; it < 64; it++) {
        f0 = __shfl_sync(WARP_ALL, f, 0) + (__shfl_sync(WARP_ALL, f, 1) << 28);
        const int32_t g0 = __shfl_sync(WARP_ALL, g, 0) + (__shfl_sync(WARP_ALL, g, 1) << 28);
        if (g0 == 0 && limbs_zero<L>(g, lane)) break;
        const divstep_matrix m = divsteps28(f0, g0, eta);
        const int32_t sd = __shfl_sync(WARP_ALL, d, L - 1) >> 31;
        const int32_t se = __shfl_sync(WARP_ALL, e, L - 1) >> 31;
        const int32_t d0 = __shfl_sync(WARP_ALL, d, 0), e0 = __shfl_sync(WARP_ALL, e, 0);
        /* multiples of p that make the low limbs of the new d and e vanish */
        int32_t md = (m.u & sd) + (m.v & se), me = (m.q & sd) + (m.r & se);
        md -= (int32_t)((F::inv28 * (uint32_t)(m.u * d0 + m.v * e0) + (uint32_t)md) & (uint32_t)M);
        me -= (int32_t)((F::inv28 * (uint32_t)(m.q * d0 + m.r * e0) + (uint32_t)me) & (uint32_t)M);
        const int64_t cd = (int64_t)m.u * d + (int64_t)m.v * e + (int64_t)p * md;
        const int64_t ce = (int64_t)m.q * d + (int64_t)m.r * e + (int64_t)p * me;
        const int64_t cf = (int64_t)m.u * f + (int64_t)m.v * g;
        const int64_t cg = (int64_t)m.q * f + (int64_t)m.r * g;
        d = shift_carry<L>(cd, lane);
        e = shift_carry<L>(ce, lane);
        f = shift_carry<L>(cf, lane);
        g = shift_carry<L>(cg, lane);
    }
    /* d * sign(f) is the inverse, in (-3p, 3p): collect the limbs in every lane, make it
     * non-negative, back to words */
    int32_t D[L + 2];
    D[L] = D[L + 1] = 0;
    int32_t carry = 0;
    CUZK_UNROLL for (int k = 0; k < L; k++) {
        int32_t t = __shfl_sync(WARP_ALL, d, k);
        t = (f0 < 0 ? -t : t) + carry;
        D[k] = k < L - 1 ? t & M : t;
        carry = t >> 28;
    }
#pragma unroll 1
    for (int k = 0; k < 4 && D[L - 1] < 0; k++) {
        carry = 0;
        CUZK_UNROLL for (int j = 0; j < L; j++) {
            const int32_t t = D[j] + F::p28(j) + carry;
            D[j] = j < L - 1 ? t & M : t;
            carry = t >> 28;
        }
    }
    CUZK_UNROLL for (int w = 0; w < N; w++) {
        const int i = (32 * w) / 28, s = 32 * w - 28 * i;
        uint32_t v = (uint32_t)D[i] >> s;
        v |= (uint32_t)D[i + 1] << (28 - s);
        if (56 - s < 32) v |= (uint32_t)D[i + 2] << (56 - s);
        x[w] = v;
    }
    reduce_loose<F, 2>(x);
    reduce_loose<F, 1>(x);
}
#endif

} // namespace cuzk_gpu

#endif
