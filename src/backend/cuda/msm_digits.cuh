/* Scalars as signed digits that can be read without carries from window to window. DESIGN
 *
 * A scalar s plus 2^(c-1) at each window of c bits has unsigned digits that are the signed ones
 * plus 2^(c-1). They lie in [-2^(c-1), 2^(c-1)); no carry leaves the top window, as s is below half
 * of what all windows hold. For that, r - s stands for s above r/2, to within 2^224, and the signs
 * of its digits are reversed.
 *
 * What is split is s + k r, with another k for each scalar's number. It is the same modulo r, but
 * where windows have bits to spare its top digit is as random as the others: of few bits, it would
 * put very many points in each of few buckets. Small values stay small, and 0 has no digits. */
#ifndef CUZK_BACKEND_CUDA_MSM_DIGITS_CUH
#define CUZK_BACKEND_CUDA_MSM_DIGITS_CUH

#include "backend/cuda/msm_sort.cuh"
#include "backend/cuda/ptx.cuh"

namespace cuzk_gpu {

enum { DIGIT_WORDS = 9 /* of a scalar as digits */ };
constexpr uint32_t NOTHING = 0xffffffffu;

/* A window's digits. */
struct window_of {
    uint16_t bit;
    uint8_t width, set;
    uint32_t base; /* of the base numbers: multiple * stride */
};

/* Windows of a set: set, set + sets, ... */
static inline int windows_of(const cuzk__msm_shape *s, int set) {
    return (s->windows - set + s->sets - 1) / s->sets;
}

static inline window_of window_at(const cuzk__msm_shape *s, int w) {
    const int set = w % s->sets, multiple = w / s->sets;
    return {(uint16_t)(multiple * s->period + cuzk__msm_first_bit(s, set)),
            (uint8_t)cuzk__msm_width(s, set), (uint8_t)set,
            (uint32_t)((size_t)multiple * s->stride)};
}

struct scalar_source {
    uint32_t r[8], bias[DIGIT_WORDS]; /* the modulus; the sum of 2^(c-1) at each window */
    uint32_t half;                    /* top word of r/2 */
    uint32_t multiples;               /* of r that s + k r may have, k among them 0 */
    const uint4 *scalars;             /* two for each */
    size_t n;
};

/* As many k as keep s + k r below half of what the windows hold, for s <= r/2. */
static inline uint32_t multiples_of(const cuzk__msm_shape *s, const cuzk_u256 *r) {
    const window_of top = window_at(s, s->windows - 1);
    double room = 0.999 / ((double)r->l[3] + 1); /* of 2^(bits-1), in r */
    for (int bit = 192; bit < top.bit + top.width - 1; bit++)
        room *= 2;
    return room < 2 ? 1 : room > 1 << 24 ? 1 << 24 : (uint32_t)room;
}

/* scalars: on the device, shape->n of them. */
static inline scalar_source source_of(const cuzk__msm_shape *shape, const cuzk_u256 *r,
                                      const void *scalars) {
    scalar_source s = {};
    for (int w = 0; w < shape->windows; w++) {
        const window_of of = window_at(shape, w);
        const int bit = of.bit + of.width - 1;
        s.bias[bit / 32] |= 1u << (bit % 32);
    }
    for (int i = 0; i < 8; i++)
        s.r[i] = (uint32_t)(r->l[i / 2] >> (i % 2 * 32));
    s.half = s.r[7] >> 1;
    s.multiples = multiples_of(shape, r);
    s.scalars = (const uint4 *)scalars;
    s.n = shape->n;
    return s;
}

/* v: the words of scalar number i, s, as digits, with one word behind them. *flip: whether their
 * signs are reversed. -s is ~s + 1, of all words, and r - s one r more. */
CUZK_GPU_HD void split_scalar(uint32_t (&v)[DIGIT_WORDS + 1], const scalar_source &a,
                              const uint32_t (&s)[8], uint32_t i, bool *flip) {
    *flip = s[7] > a.half;
    const uint32_t size = *flip ? a.r[7] - s[7] : s[7], ones = *flip ? 0xffffffffu : 0;
    uint32_t k = *flip, carry = ones;
    if (a.multiples > 1 && size >> 16)
        k += (uint32_t)((uint64_t)(i * 0x9e3779b1u) * a.multiples >> 32);
    add_cc(carry, ones);
    CUZK_UNROLL
    for (int j = 0; j < DIGIT_WORDS; j++) {
        v[j] = (j < 8 ? s[j & 7] : 0) ^ ones;
        addc_cc(v[j], a.bias[j]);
    }
    v[DIGIT_WORDS] = 0;
    CUZK_UNROLL
    for (int odd = 0; odd < 2; odd++) {
        CUZK_UNROLL
        for (int j = odd; j < 8; j += 2) {
            if (j == odd)
                mad_lo_cc(v[j], k, a.r[j], v[j]);
            else
                madc_lo_cc(v[j], k, a.r[j], v[j]);
            madc_hi_cc(v[j + 1], k, a.r[j], v[j + 1]);
        }
        if (!odd) addc(v[8], 0);
    }
}

/* The digit in the low `width` bits of v: its bucket, or NOTHING for 0. *negative: its sign. */
CUZK_GPU_HD uint32_t bucket_of(uint32_t v, int width, bool *negative) {
    const int32_t d = (int32_t)(v & ((1u << width) - 1)) - (1 << (width - 1));
    *negative = d < 0;
    return (uint32_t)(d < 0 ? -d : d) - 1;
}

/* 32 bits from bit `bit` % 32 on. */
CUZK_GPU_HD uint32_t bits_from(uint32_t low, uint32_t high, uint32_t bit) {
#ifdef __CUDA_ARCH__
    return __funnelshift_r(low, high, bit);
#else
    return (uint32_t)(((uint64_t)high << 32 | low) >> (bit & 31));
#endif
}

/* f(bits) for each window of a set, in turn: of those at `bit`, bit + period, ... below `end`. No
 * index into v is a variable, so that it stays in registers. */
#pragma nv_exec_check_disable
template <class F>
CUZK_GPU_HD void each_window(const uint32_t (&v)[DIGIT_WORDS + 1], uint32_t bit, uint32_t end,
                             uint32_t period, F f) {
    CUZK_UNROLL
    for (uint32_t k = 0; k < DIGIT_WORDS; k++)
        for (; bit < (32 * (k + 1) < end ? 32 * (k + 1) : end); bit += period)
            f(bits_from(v[k], v[k + 1], bit));
}

} // namespace cuzk_gpu

#endif
