/* What an item of SHA-256 does; see witness_work.cuh. A compression takes 128 lanes: one runs the
 * rounds and keeps the state before each; then all work out what the operations gave and write
 * their bits, whose places are known beforehand. */
#ifndef CUZK_BACKEND_CUDA_WITNESS_SHA256_CUH
#define CUZK_BACKEND_CUDA_WITNESS_SHA256_CUH

#include "backend/cuda/witness_work.cuh"

extern "C" {
#include "witness/sha256_constants.h"
}

namespace cuzk_gpu {

[[maybe_unused]] static __constant__ uint32_t sha_k_dev[64] = {CUZK_SHA256_K};

CUZK_GPU_HD uint32_t sha_constant(int i) {
#ifdef __CUDA_ARCH__
    return sha_k_dev[i];
#else
    return sha_k[i];
#endif
}

enum { SHA_LANES = 128, SHA_OUT_WORDS = 848, SHA_BEFORE = 3 };

struct sha_shared {
    uint32_t in[24], w[64];
    /* The state's words a and e before round r at [SHA_BEFORE + r], after the last at the end: the
     * others are those of the rounds before, and at the beginning the input's. */
    uint32_t a[SHA_BEFORE + 65], e[SHA_BEFORE + 65];
    cuzk_sha256_op ops[CUZK_SHA256_OPS];
    uint32_t out[SHA_OUT_WORDS];
};

CUZK_GPU_HD uint32_t ror32(uint32_t x, uint32_t n) {
    return x >> n | x << (32 - n);
}
CUZK_GPU_HD uint32_t choice(uint32_t e, uint32_t f, uint32_t g) {
    return (e & f) ^ (~e & g);
}
CUZK_GPU_HD uint32_t majority(uint32_t a, uint32_t b, uint32_t c) {
    return (a & (b ^ c)) ^ (b & c);
}
CUZK_GPU_HD uint32_t small_sigma0(uint32_t w) {
    return ror32(w, 7) ^ ror32(w, 18) ^ w >> 3;
}
CUZK_GPU_HD uint32_t small_sigma1(uint32_t w) {
    return ror32(w, 17) ^ ror32(w, 19) ^ w >> 10;
}
CUZK_GPU_HD uint32_t big_sigma0(uint32_t a) {
    return ror32(a, 2) ^ ror32(a, 13) ^ ror32(a, 22);
}
CUZK_GPU_HD uint32_t big_sigma1(uint32_t e) {
    return ror32(e, 6) ^ ror32(e, 11) ^ ror32(e, 25);
}

/* The states of all rounds. */
CUZK_GPU_HD void sha_rounds(sha_shared *h) {
    uint32_t w[16], s[8];
    CUZK_UNROLL for (int i = 0; i < 16; i++) w[i] = h->in[8 + i];
    CUZK_UNROLL for (int i = 0; i < 8; i++) s[i] = h->in[i];
    CUZK_UNROLL for (int i = 0; i <= SHA_BEFORE; i++) {
        h->a[SHA_BEFORE - i] = s[i];
        h->e[SHA_BEFORE - i] = s[4 + i];
    }
#ifdef __CUDA_ARCH__
#pragma unroll 1
#endif
    for (int r = 0; r < 64; r += 16) {
        CUZK_UNROLL for (int i = 0; i < 16; i++) {
            if (r > 0)
                w[i] += small_sigma0(w[(i + 1) % 16]) + w[(i + 9) % 16] +
                        small_sigma1(w[(i + 14) % 16]);
            const uint32_t t1 =
                s[7] + big_sigma1(s[4]) + choice(s[4], s[5], s[6]) + sha_constant(r + i) + w[i];
            const uint32_t t2 = big_sigma0(s[0]) + majority(s[0], s[1], s[2]);
            CUZK_UNROLL for (int j = 7; j > 0; j--) s[j] = s[j - 1];
            s[4] += t1;
            s[0] = t1 + t2;
            h->w[r + i] = w[i];
            h->a[SHA_BEFORE + r + i + 1] = s[0];
            h->e[SHA_BEFORE + r + i + 1] = s[4];
        }
    }
}

/* The sums that become e and a behind round r, before their carries are dropped. */
CUZK_GPU_HD uint64_t sum_of_round(const sha_shared *h, uint32_t r, bool of_a) {
    const uint32_t *a = h->a + SHA_BEFORE + r, *e = h->e + SHA_BEFORE + r;
    const uint64_t t1 = (uint64_t)e[-3] + big_sigma1(e[0]) + choice(e[0], e[-1], e[-2]) +
                        sha_constant((int)r) + h->w[r];
    return of_a ? t1 + big_sigma0(a[0]) + majority(a[0], a[-1], a[-2]) : t1 + a[-3];
}

/* What an operation gave; more: the carry of a sum, of a majority b AND c. */
struct sha_value {
    uint32_t v, more;
};

CUZK_GPU_HD sha_value of_sum(uint64_t sum) {
    return {(uint32_t)sum, (uint32_t)(sum >> 32)};
}

CUZK_GPU_HD sha_value schedule_value(const sha_shared *h, uint32_t k, uint32_t i) {
    const uint32_t x = h->w[i - 15], y = h->w[i - 2];
    switch (k) {
    case 0:
        return {ror32(x, 7) ^ ror32(x, 18), 0};
    case 1:
        return {small_sigma0(x), 0};
    case 2:
        return {ror32(y, 17) ^ ror32(y, 19), 0};
    case 3:
        return {small_sigma1(y), 0};
    default:
        return of_sum((uint64_t)h->w[i - 16] + small_sigma0(x) + h->w[i - 7] + small_sigma1(y));
    }
}

CUZK_GPU_HD sha_value round_value(const sha_shared *h, uint32_t k, uint32_t r) {
    const uint32_t *a = h->a + SHA_BEFORE + r, *e = h->e + SHA_BEFORE + r;
    switch (k) {
    case 0:
    case 4:
        return of_sum(r ? sum_of_round(h, r - 1, k == 4) : 0);
    case 1:
        return {ror32(e[0], 6) ^ ror32(e[0], 11), 0};
    case 2:
        return {big_sigma1(e[0]), 0};
    case 3:
        return {choice(e[0], e[-1], e[-2]), 0};
    case 5:
        return {ror32(a[0], 2) ^ ror32(a[0], 13), 0};
    case 6:
        return {big_sigma0(a[0]), 0};
    default:
        return {majority(a[0], a[-1], a[-2]), a[-1] & a[-2]};
    }
}

CUZK_GPU_HD sha_value final_value(const sha_shared *h, uint32_t j) {
    const uint32_t *last = j < 4 ? h->a : h->e;
    const uint64_t sum = j % 4 == 0 ? sum_of_round(h, 63, j == 0) : last[SHA_BEFORE + 64 - j % 4];
    return of_sum(sum + h->in[j]);
}

/* n <= 64 bits of v to bit `at` of out. */
CUZK_GPU_HD void or_bits(uint32_t *out, uint32_t at, uint64_t v, uint32_t n) {
    if (n == 0) return;
    uint32_t *to = out + at / 32;
    const uint32_t k = at % 32;
    or_word(to, (uint32_t)v << k);
    v >>= 32 - k;
    if (k + n > 32) or_word(to + 1, (uint32_t)v);
    if (k + n > 64) or_word(to + 2, (uint32_t)(v >> 32));
}

CUZK_GPU_HD uint32_t lowest_one(uint32_t x) {
#ifdef __CUDA_ARCH__
    return (uint32_t)__ffs((int)x) - 1;
#else
    return (uint32_t)__builtin_ctz(x);
#endif
}

/* Bit k of x at bit 2 k. */
CUZK_GPU_HD uint64_t spread_bits(uint32_t x) {
    uint64_t v = x;
    v = (v | v << 16) & 0x0000ffff0000ffffu;
    v = (v | v << 8) & 0x00ff00ff00ff00ffu;
    v = (v | v << 4) & 0x0f0f0f0f0f0f0f0fu;
    v = (v | v << 2) & 0x3333333333333333u;
    return (v | v << 1) & 0x5555555555555555u;
}

/* The wires of an operation as an integer; returns how many. Those of one word stand in runs of
 * equal kind, mostly a single one. */
CUZK_GPU_HD uint32_t op_bits(uint64_t *out, const sha_value &value, const cuzk_sha256_op &op,
                             cuzk_sha256_what what, uint32_t sum_bits) {
    *out = value.v | (uint64_t)value.more << 32;
    if (what == CUZK_SHA256_SUM) return op.mask ? sum_bits : 0;
    const uint32_t v = value.v ^ op.neg, two = what == CUZK_SHA256_MAJ ? op.mask : 0;
    const uint32_t one = (op.mask | op.single) & ~two;
    uint32_t n = 0;
    *out = 0;
    for (uint32_t left = one | two; left;) {
        const uint32_t k = lowest_one(left);
        const bool pairs = two >> k & 1;
        const uint32_t ends = ~((pairs ? two : one) >> k);
        const uint32_t mask = ends ? (ends & (0u - ends)) - 1 : ~0u;
        if (pairs)
            *out |= (spread_bits(value.v >> k & mask) | spread_bits(value.more >> k & mask) << 1)
                    << n;
        else
            *out |= (uint64_t)(v >> k & mask) << n;
        const uint32_t len = ends ? lowest_one(ends) : 32;
        n += pairs ? 2 * len : len;
        left &= ~(mask << k);
    }
    return n;
}

CUZK_GPU_HD void write_op(sha_shared *h, uint32_t i, const sha_value &value) {
    uint32_t sum_bits;
    uint64_t bits;
    const cuzk_sha256_what what = cuzk_sha256_op_what(i, &sum_bits);
    const uint32_t n = op_bits(&bits, value, h->ops[i], what, sum_bits);
    or_bits(h->out, h->ops[i].bit, bits, n);
}

/* Operations in warps of one kind: unit u is half of the rounds, or of the words of the schedule,
 * or the last sums; l < 32. */
enum { SHA_UNITS = 2 * (CUZK_SHA256_ROUND_OPS + CUZK_SHA256_SCHEDULE_OPS) + 1 };

CUZK_GPU_HD void write_unit(sha_shared *h, uint32_t u, uint32_t l) {
    const uint32_t r = u % 2 * 32 + l, rounds = 2 * CUZK_SHA256_ROUND_OPS;
    const uint32_t schedule = 48 * CUZK_SHA256_SCHEDULE_OPS;
    if (u < rounds)
        write_op(h, schedule + CUZK_SHA256_ROUND_OPS * r + u / 2, round_value(h, u / 2, r));
    else if (u + 1 == SHA_UNITS && l < CUZK_SHA256_FINAL_OPS)
        write_op(h, CUZK_SHA256_OPS - CUZK_SHA256_FINAL_OPS + l, final_value(h, l));
    else if (u + 1 < SHA_UNITS && r < 48)
        write_op(h, CUZK_SHA256_SCHEDULE_OPS * r + (u - rounds) / 2,
                 schedule_value(h, (u - rounds) / 2, 16 + r));
}

/* Bit l of *word, of a warp that sets all; *word is 0 so far. */
CUZK_GPU_HD void gather_bit(uint32_t *word, uint32_t l, uint32_t bit) {
#ifdef __CUDA_ARCH__
    const uint32_t all = __ballot_sync(0xffffffffu, bit);
    if (l == 0) *word = all;
#else
    *word |= bit << l;
#endif
}

static __host__ __device__ __forceinline__ void
sha_item(const witness_view &v, const cuzk_work_item &item, sha_shared *h) {
    const cuzk_work &work = v.works[item.work];
    const uint32_t words = (work.n_bits + 31) / 32, warps = SHA_LANES / 32;
#ifndef __CUDA_ARCH__
    for (uint32_t &word : h->in)
        word = 0;
#endif
    lanes<SHA_LANES>([&](int j) {
        const uint32_t l = (uint32_t)j % 32;
        for (uint32_t i = (uint32_t)j; i < CUZK_SHA256_OPS; i += SHA_LANES)
            h->ops[i] = v.ops[work.op0 + i];
        for (uint32_t i = (uint32_t)j / 32; i < 24;
             i += warps) /* words of the message: MSB first */
            gather_bit(&h->in[i], l,
                       bit_of(v, item, v.inputs[work.in0 + 32 * i + (i < 8 ? l : 31 - l)]));
        for (uint32_t i = (uint32_t)j; i < SHA_OUT_WORDS; i += SHA_LANES)
            h->out[i] = 0;
    });
    lanes<SHA_LANES>([&](int j) {
        if (j == 0) sha_rounds(h);
    });
    lanes<SHA_LANES>([&](int j) {
        for (uint32_t u = (uint32_t)j / 32; u < SHA_UNITS; u += warps)
            write_unit(h, u, (uint32_t)j % 32);
    });
    lanes<SHA_LANES>([&](int j) {
        for (uint32_t i = (uint32_t)j; i < words; i += SHA_LANES)
            v.bits[item.bit0 / 32 + i] = h->out[i];
    });
}

} // namespace cuzk_gpu

#endif
