/* What one item of a witness program does (witness/program.h), for the device and, as plain loops,
 * for a host that tests it. DESIGN
 *
 * Work that is long is done by lanes of a warp that share a structure in shared memory: LANES(w, f)
 * runs f for each of w lanes, after which all of them see what the others wrote. Where there are
 * many Poseidon hashes, one takes 16 lanes, one an element; in a partial round every lane computes
 * the S-box, of which there is one, so that nothing waits for a broadcast. Where there are few, one
 * takes 128: a warp computes the S-box, which no other product stands before, another what it is
 * added to, the rest fetch constants; a full round's products are all done at once. */
#ifndef CUZK_BACKEND_CUDA_WITNESS_WORK_CUH
#define CUZK_BACKEND_CUDA_WITNESS_WORK_CUH

#include "backend/cuda/mont32.cuh"

extern "C" {
#include "witness/program.h"
}

namespace cuzk_gpu {

/* Tables of a program, and the witness. Full values are pairs of uint4-sized halves, 8 words. */
struct witness_view {
    const cuzk_work *works;
    const cuzk_operand *inputs;
    const uint32_t *consts, *coefs; /* 8 words each */
    const cuzk_sha256_op *ops;
    const cuzk_work_row *rows;
    const cuzk_work_term *terms;
    const cuzk_work_item *items;
    const uint32_t *args, *free_slots;
    uint32_t *bits;
    uint32_t *full; /* Montgomery form, 8 words each */
    /* The least of the free values that do not fit, and of the rows of the flat system whose wire
     * is no bit; all ones: none. */
    uint32_t *bad_free, *bad_row;
};

/* ---- lanes ---- */

#ifdef __CUDA_ARCH__
/* Where a block is one group of lanes, and several share a multiprocessor, their first warps, which
 * have the most to do, are put on different schedulers. */
template <int W> static __device__ __forceinline__ int lane_number() {
    uint32_t sms = 1;
    if (W > 32) asm("mov.u32 %0, %%nsmid;" : "=r"(sms));
    return (int)((threadIdx.x + (W > 32 ? blockIdx.x / sms * 32 : 0)) % W);
}
#endif

template <int W, class Fn> static __host__ __device__ __forceinline__ void lanes(Fn &&f) {
#ifdef __CUDA_ARCH__
    f(lane_number<W>());
    if (W > 32)
        __syncthreads(); /* the block is those lanes */
    else
        __syncwarp();
#else
    for (int lane = 0; lane < W; lane++)
        f(lane);
#endif
}

CUZK_GPU_HD void or_word(uint32_t *word, uint32_t v) {
#ifdef __CUDA_ARCH__
    atomicOr(word, v);
#else
    *word |= v;
#endif
}

CUZK_GPU_HD void min_word(uint32_t *word, uint32_t v) {
#ifdef __CUDA_ARCH__
    atomicMin(word, v);
#else
    if (v < *word) *word = v;
#endif
}

/* ---- values ---- */

using fr_t = bls12_381_fr;

inline unsigned misaligned; /* on the host: accesses that a device would refuse */

#ifndef __CUDA_ARCH__
CUZK_GPU_HD void check_aligned(const void *p) {
    misaligned += (uintptr_t)p % 16 != 0;
}
#endif

/* p is 16-byte aligned. */
CUZK_GPU_HD void load8(uint32_t *r, const uint32_t *p) {
#ifdef __CUDA_ARCH__
    const uint4 a = ((const uint4 *)p)[0], b = ((const uint4 *)p)[1];
    r[0] = a.x, r[1] = a.y, r[2] = a.z, r[3] = a.w;
    r[4] = b.x, r[5] = b.y, r[6] = b.z, r[7] = b.w;
#else
    check_aligned(p);
    copy_words<8>(r, p);
#endif
}

CUZK_GPU_HD void store8(uint32_t *p, const uint32_t *r) {
#ifdef __CUDA_ARCH__
    ((uint4 *)p)[0] = make_uint4(r[0], r[1], r[2], r[3]);
    ((uint4 *)p)[1] = make_uint4(r[4], r[5], r[6], r[7]);
#else
    check_aligned(p);
    copy_words<8>(p, r);
#endif
}

/* Canonical operands and result. */
CUZK_GPU_HD void mul(uint32_t *r, const uint32_t *a, const uint32_t *b) {
    mont_mul<fr_t>(r, a, b);
    reduce_exact<fr_t, 1>(r);
}

CUZK_GPU_HD void to_mont(uint32_t *r, const uint32_t *plain) {
    uint32_t r2[8];
    CUZK_UNROLL for (int k = 0; k < 8; k++) r2[k] = fr_t::r2(k);
    mul(r, plain, r2);
}

CUZK_GPU_HD void from_mont(uint32_t *plain, const uint32_t *a) {
    uint32_t one[8];
    CUZK_UNROLL for (int k = 0; k < 8; k++) one[k] = k == 0;
    mul(plain, a, one);
}

CUZK_GPU_HD bool is_canonical(const uint32_t *a) {
    uint32_t t[8];
    copy_words<8>(t, a);
    reduce_exact<fr_t, 1>(t);
    bool same = true;
    CUZK_UNROLL for (int k = 0; k < 8; k++) same = same && t[k] == a[k];
    return same;
}

CUZK_GPU_HD uint32_t bit_at(const witness_view &v, uint32_t at) {
    return v.bits[at / 32] >> (at % 32) & 1;
}

/* Bits that are 0 so far, in words of the item's own. */
CUZK_GPU_HD void set_own_bit(const witness_view &v, uint32_t at, uint32_t bit) {
    v.bits[at / 32] |= bit << (at % 32);
}

/* The low n bits of x, likewise. */
CUZK_GPU_HD void set_own_bits(const witness_view &v, uint32_t at, const uint32_t *x, uint32_t n) {
    uint32_t *to = v.bits + at / 32;
    const uint32_t s = at % 32;
    CUZK_UNROLL for (uint32_t k = 0; k < 8; k++) {
        if (32 * k >= n) continue;
        const uint32_t left = n - 32 * k, word = left < 32 ? x[k] & ((1u << left) - 1) : x[k];
        to[k] |= word << s;
        if (s + (left < 32 ? left : 32) > 32) to[k + 1] |= word >> (32 - s);
    }
}

/* The number of an operand's bit or full value. */
CUZK_GPU_HD uint32_t slot_of(const witness_view &v, const cuzk_work_item &item, cuzk_operand op) {
    const uint32_t what = op >> CUZK_OPERAND_WHAT;
    if (what == CUZK_OPERAND_OWN_BIT) return item.bit0 + (op & CUZK_OPERAND_OWN_MOST);
    if (what == CUZK_OPERAND_OWN_FULL) return item.full0 + (op & CUZK_OPERAND_OWN_MOST);
    return v.args[item.arg0 + (op >> CUZK_OPERAND_RUN & CUZK_OPERAND_RUNS_MOST)] +
           (op & CUZK_OPERAND_PLACE_MOST);
}

CUZK_GPU_HD uint32_t *full_of(const witness_view &v, const cuzk_work_item &item, cuzk_operand op) {
    return v.full + 8 * (size_t)slot_of(v, item, op);
}

CUZK_GPU_HD uint32_t bit_of(const witness_view &v, const cuzk_work_item &item, cuzk_operand op) {
    const uint32_t no = (op & CUZK_OPERAND_NOT) != 0;
    if (op >> CUZK_OPERAND_WHAT == CUZK_OPERAND_ONE) return 1 ^ no;
    return bit_at(v, slot_of(v, item, op & ~CUZK_OPERAND_NOT)) ^ no;
}

/* ---- free values ---- */

CUZK_GPU_HD void put_free(const witness_view &v, const uint32_t *frees, uint32_t i) {
    const uint32_t slot = v.free_slots[i];
    uint32_t x[8];
    load8(x, frees + 8 * (size_t)i);
    if (!is_canonical(x)) {
        min_word(v.bad_free, i);
        return;
    }
    if (!(slot & CUZK_SLOT_BIT)) {
        to_mont(x, x);
        store8(v.full + 8 * (size_t)slot, x);
        return;
    }
    const uint32_t rest = x[1] | x[2] | x[3] | x[4] | x[5] | x[6] | x[7],
                   at = slot & ~CUZK_SLOT_BIT;
    if (x[0] > 1 || rest)
        min_word(v.bad_free, i);
    else if (x[0])
        or_word(&v.bits[at / 32], 1u << (at % 32));
}

/* ---- rows ---- */

/* len <= 255 bits from bit `at` on as an integer. */
CUZK_GPU_HD void run_of_bits(uint32_t *x, const witness_view &v, uint32_t at, uint32_t len) {
    const uint32_t *from = v.bits + at / 32;
    const uint32_t s = at % 32;
    CUZK_UNROLL for (uint32_t k = 0; k < 8; k++) {
        x[k] = 0;
        if (32 * k >= len) continue;
        const uint32_t left = len - 32 * k;
        x[k] = from[k] >> s;
        if (s + (left < 32 ? left : 32) > 32) x[k] |= from[k + 1] << (32 - s);
        if (left < 32) x[k] &= (1u << left) - 1;
    }
}

CUZK_GPU_HD void combination(uint32_t *acc, const witness_view &v, const cuzk_work_item &item,
                             uint32_t from, uint32_t to) {
    CUZK_UNROLL for (int k = 0; k < 8; k++) acc[k] = 0;
#ifdef __CUDA_ARCH__
#pragma unroll 1
#endif
    for (uint32_t i = from; i < to; i++) {
        const cuzk_work_term t = v.terms[i];
        const uint32_t what = t.at >> CUZK_OPERAND_WHAT;
        uint32_t x[8], c[8];
        load8(c, v.coefs + 8 * (size_t)t.coef);
        if (what == CUZK_OPERAND_ONE) {
            add_mod<fr_t>(acc, acc, c);
        } else if (what == CUZK_OPERAND_OWN_FULL || what == CUZK_OPERAND_PORT_FULL) {
            load8(x, full_of(v, item, t.at));
            mul(x, x, c);
            add_mod<fr_t>(acc, acc, x);
        } else if (t.len > 1) { /* an integer below 2^255, which is a canonical one at most twice */
            run_of_bits(x, v, slot_of(v, item, t.at), t.len);
            reduce_exact<fr_t, 1>(x);
            to_mont(x, x);
            mul(x, x, c);
            add_mod<fr_t>(acc, acc, x);
        } else if (bit_at(v, slot_of(v, item, t.at))) {
            add_mod<fr_t>(acc, acc, c);
        }
    }
}

/* The wire that a row defines. */
CUZK_GPU_HD void solve_row(const witness_view &v, const cuzk_work_item &item,
                           const cuzk_work_row &row) {
    uint32_t a[8], b[8];
    combination(a, v, item, row.c, row.end);
    if (!(row.flags & CUZK_WORK_IN_A)) {
        uint32_t c[8];
        copy_words<8>(c, a);
        combination(a, v, item, row.a, row.b);
        combination(b, v, item, row.b, row.c);
        mul(a, a, b);
        sub_mod<fr_t>(a, a, c);
    }
    if (row.flags & CUZK_WORK_NEG) {
        CUZK_UNROLL for (int k = 0; k < 8; k++) b[k] = 0;
        sub_mod<fr_t>(a, b, a);
    }
    const uint32_t what = row.to >> CUZK_OPERAND_WHAT, slot = slot_of(v, item, row.to);
    if (what == CUZK_OPERAND_OWN_FULL || what == CUZK_OPERAND_PORT_FULL) {
        store8(v.full + 8 * (size_t)slot, a);
        return;
    }
    from_mont(a, a);
    if (a[0] > 1 || (a[1] | a[2] | a[3] | a[4] | a[5] | a[6] | a[7]))
        min_word(v.bad_row, item.row0 + row.row);
    else
        set_own_bit(v, slot, a[0]);
}

CUZK_GPU_HD void do_rows(const witness_view &v, const cuzk_work_item &item, const cuzk_work &work) {
#ifdef __CUDA_ARCH__
#pragma unroll 1
#endif
    for (uint32_t k = work.row0; k < work.row0 + work.n_rows; k++) {
        const cuzk_work_row row = v.rows[k];
        if (!(row.flags & CUZK_WORK_DECOMPOSE)) {
            solve_row(v, item, row);
            continue;
        }
        uint32_t x[8];
        const uint32_t n = row.flags & 255, at = slot_of(v, item, row.to);
        combination(x, v, item, row.a, row.b);
        from_mont(x, x);
        set_own_bits(v, at, x, n);
    }
}

/* ---- bits of a number ---- */

CUZK_GPU_HD void do_bits(const witness_view &v, const cuzk_work_item &item, const cuzk_work &work) {
    uint32_t x[8];
    load8(x, full_of(v, item, v.inputs[work.in0]));
    from_mont(x, x);
    CUZK_UNROLL for (int k = 0; k < 8; k++) v.bits[item.bit0 / 32 + k] = x[k];
}

/* ---- Poseidon ---- */

enum { HASH_T_MAX = 12 };

struct alignas(16) hash_state {
    uint32_t s[2][HASH_T_MAX][8]; /* of which s[cur] counts */
    uint8_t pick[20], child[8];   /* which input each pick takes */
};

struct narrow_hash : hash_state {
    enum { LANES = 16, SCALED = 0 };
    alignas(16) uint32_t part[2][HASH_T_MAX][8]; /* products whose sum is element 0 */
};

struct wide_hash : hash_state {
    enum { LANES = 128, SCALED = 1, RING = 4 };
    alignas(16) uint32_t part[HASH_T_MAX * HASH_T_MAX][8];
    uint32_t powers[2][4][8], sum[2][8];                   /* of partial rounds: u, u^2, u^4, u^5 */
    uint32_t ring[RING][CUZK_SCALED_ROUND(HASH_T_MAX)][8]; /* a round's constants */
};

struct hash_run {
    const uint32_t *consts; /* of the work */
    uint32_t *out;          /* next wires */
    const uint32_t *key;
    uint32_t t;
    int cur;
};

/* y^2, y^4 and y^5 + key to out; the last is left in y. */
CUZK_GPU_HD void sbox(uint32_t *y, uint32_t *out, bool store, const uint32_t *key) {
    uint32_t x[8], z[8];
    mul(x, y, y);
    if (store) store8(out, x);
    mul(z, x, x);
    if (store) store8(out + 8, z);
    mul(y, y, z);
    if (key) {
        load8(x, key);
        add_mod<fr_t>(y, y, x);
    }
    if (store) store8(out + 16, y);
}

/* The sum of n values. */
CUZK_GPU_HD void add_parts(uint32_t *y, const uint32_t (*part)[8], uint32_t n) {
    uint32_t x[8];
    load8(y, part[0]);
#ifdef __CUDA_ARCH__
#pragma unroll 1
#endif
    for (uint32_t i = 1; i < n; i++) {
        load8(x, part[i]);
        add_mod<fr_t>(y, y, x);
    }
}

/* The sum of n values `step` apart, of two sums side by side: sooner where nothing else is to do.
 */
CUZK_GPU_HD void add_parts_soon(uint32_t *y, const uint32_t (*part)[8], uint32_t n, uint32_t step) {
    uint32_t x[8], z[8];
    load8(y, part[0]);
    if (n == 1) return;
    load8(z, part[step]);
#ifdef __CUDA_ARCH__
#pragma unroll 1
#endif
    for (uint32_t i = 2; i + 1 < n; i += 2) {
        load8(x, part[i * step]);
        add_mod<fr_t>(y, y, x);
        load8(x, part[(i + 1) * step]);
        add_mod<fr_t>(z, z, x);
    }
    if (n % 2) {
        load8(x, part[(n - 1) * step]);
        add_mod<fr_t>(y, y, x);
    }
    add_mod<fr_t>(y, y, z);
}

/* s[cur ^ 1] = s[cur] * m, of which only column `only` when it is not negative. */
static __host__ __device__ __forceinline__ void mix(narrow_hash *h, hash_run *r, const uint32_t *m,
                                                    int only) {
    const uint32_t t = r->t;
    const int cur = r->cur;
    lanes<narrow_hash::LANES>([&](int j) {
        uint32_t acc[8], x[8], y[8];
        if ((uint32_t)j >= t || (only >= 0 && j != only)) return;
        CUZK_UNROLL for (int k = 0; k < 8; k++) acc[k] = 0;
#ifdef __CUDA_ARCH__
#pragma unroll 1
#endif
        for (uint32_t i = 0; i < t; i++) {
            load8(x, h->s[cur][i]);
            load8(y, m + 8 * (size_t)(i * t + (uint32_t)j));
            mul(x, x, y);
            add_mod<fr_t>(acc, acc, x);
        }
        store8(h->s[cur ^ 1][j], acc);
    });
    r->cur ^= 1;
}

static __host__ __device__ __forceinline__ void mix(wide_hash *h, hash_run *r, const uint32_t *m,
                                                    int only) {
    const uint32_t t = r->t;
    const int cur = r->cur;
    lanes<wide_hash::LANES>([&](int j) {
        uint32_t x[8], y[8];
        for (uint32_t i = (uint32_t)j; i < t * t; i += wide_hash::LANES) {
            load8(x, h->s[cur][i / t]);
            load8(y, m + 8 * (size_t)i);
            mul(x, x, y);
            store8(h->part[i], x);
        }
    });
    lanes<wide_hash::LANES>([&](int j) {
        uint32_t acc[8];
        if ((uint32_t)j >= t || (only >= 0 && j != only)) return;
        add_parts_soon(acc, h->part + j, t, t);
        store8(h->s[cur ^ 1][j], acc);
    });
    r->cur ^= 1;
}

/* A full round whose inputs get wires too. */
template <class H>
static __host__ __device__ __forceinline__ void full_round(H *h, hash_run *r, bool with_key) {
    const uint32_t t = r->t;
    lanes<H::LANES>([&](int j) {
        uint32_t y[8];
        if ((uint32_t)j >= t) return;
        load8(y, h->s[r->cur][j]);
        store8(r->out + 32 * (size_t)j, y);
        sbox(y, r->out + 32 * (size_t)j + 8, true, with_key ? r->key + 8 * (size_t)j : nullptr);
        store8(h->s[r->cur][j], y);
    });
    r->out += 32 * (size_t)t;
    r->key += 8 * (size_t)t;
}

static __host__ __device__ __forceinline__ void partial_rounds(narrow_hash *h, hash_run *r,
                                                               uint32_t n, const uint32_t *sparse) {
    const uint32_t t = r->t;
    const int cur = r->cur;
#ifdef __CUDA_ARCH__
#pragma unroll 1
#endif
    for (uint32_t k = 0; k < n; k++, sparse += 8 * (size_t)(2 * t - 1)) {
        lanes<narrow_hash::LANES>([&](int j) {
            uint32_t y[8], x[8], w[8];
            if ((uint32_t)j >= t) return;
            if (k == 0)
                load8(y, h->s[cur][0]);
            else
                add_parts(y, h->part[k % 2 ^ 1], t);
            if (j == 0) store8(r->out, y);
            sbox(y, r->out + 8, j == 0, r->key);
            load8(w, sparse + 8 * (size_t)j);
            if (j == 0) {
                mul(x, y, w);
                store8(h->part[k % 2][0], x);
                return;
            }
            uint32_t s[8];
            load8(s, h->s[cur][j]);
            mul(x, s, w);
            store8(h->part[k % 2][j], x);
            load8(w, sparse + 8 * (size_t)(t + (uint32_t)j - 1));
            mul(x, y, w);
            add_mod<fr_t>(s, s, x);
            store8(h->s[cur][j], s);
        });
        r->out += 32;
        r->key += 8;
    }
    lanes<narrow_hash::LANES>([&](int j) {
        uint32_t y[8];
        if (j != 0) return;
        add_parts(y, h->part[(n - 1) % 2], t);
        store8(h->s[cur][0], y);
    });
}

/* Copies round k's constants to the ring, a lane each. */
CUZK_GPU_HD void fetch_round(wide_hash *h, const uint32_t *scaled, uint32_t t, uint32_t k,
                             uint32_t lane) {
    const uint32_t values = CUZK_SCALED_ROUND(t);
    uint32_t x[8];
    if (lane >= values) return;
    load8(x, scaled + 8 * (size_t)(k * values + lane));
    store8(h->ring[k % wide_hash::RING][lane], x);
}

/* Wire `lane` of a partial round: a power of u times what it is scaled by. */
CUZK_GPU_HD void put_power(const uint32_t (*powers)[8], const uint32_t (*round)[8], uint32_t t,
                           uint32_t lane, uint32_t *out) {
    uint32_t x[8], y[8];
    load8(x, round[2 * t - 1 + lane]);
    load8(y, powers[lane]);
    mul(x, x, y);
    if (lane == 3) {
        load8(y, round[2 * t + 3]);
        add_mod<fr_t>(x, x, y);
    }
    store8(out + 8 * lane, x);
}

/* Element 0 is kept as u, a multiple of it by a constant of the round, chosen so that the next
 * round's u is u^5 plus sums (program.h): three products a round stand one before another. What
 * is added are products of the other elements before they take in u^5, which two lanes add up
 * meanwhile. Two phases a round:
 * lane 0           u = u^5 + sums, u^2, u^4            u^5
 * lanes 32 + b     s_b += u^5 v_b; product s_b w_b     sums, by the first two
 * lanes 64 on      constants of the next round
 * lanes 96 on      the round before's wires */
static __host__ __device__ __forceinline__ void partial_rounds(wide_hash *h, hash_run *r,
                                                               uint32_t n, const uint32_t *scaled) {
    const uint32_t t = r->t, half = 1 + t / 2;
    const int cur = r->cur;
    const uint32_t *last = scaled + 8 * (size_t)(n * CUZK_SCALED_ROUND(t));
    lanes<wide_hash::LANES>([&](int j) {
        if (j >= 64) fetch_round(h, scaled, t, 0, (uint32_t)j - 64);
    });
#ifdef __CUDA_ARCH__
#pragma unroll 1
#endif
    for (uint32_t k = 0; k <= n; k++) { /* the last time only what follows from the round before */
        const uint32_t(*now)[8] = h->ring[k % wide_hash::RING];
        const uint32_t(*before)[8] = h->ring[(k + wide_hash::RING - 1) % wide_hash::RING];
        uint32_t(*u)[8] = h->powers[k % 2];
        const uint32_t(*old)[8] = h->powers[k % 2 ^ 1];
        lanes<wide_hash::LANES>([&](int j) {
            const uint32_t b = (uint32_t)j - 32;
            uint32_t x[8], y[8];
            if (j == 0) {
                if (k == 0) {
                    load8(x, h->s[cur][0]);
                } else {
                    load8(x, old[3]);
                    load8(y, h->sum[0]);
                    add_mod<fr_t>(x, x, y);
                    load8(y, h->sum[1]);
                    add_mod<fr_t>(x, x, y);
                }
                if (k == n) {
                    load8(y, last);
                    mul(x, x, y);
                    store8(h->s[cur][0], x);
                    return;
                }
                store8(u[0], x);
                mul(y, x, x);
                store8(u[1], y);
                mul(x, y, y);
                store8(u[2], x);
            } else if (b > 0 && b < t) {
                load8(x, h->s[cur][b]);
                if (k > 0) {
                    uint32_t v[8];
                    load8(y, old[3]);
                    load8(v, before[t - 1 + b - 1]);
                    mul(y, y, v);
                    add_mod<fr_t>(x, x, y);
                }
                if (k == n) {
                    load8(y, last + 8 * (size_t)b);
                    add_mod<fr_t>(x, x, y);
                }
                store8(h->s[cur][b], x);
                if (k == n) return;
                load8(y, now[b - 1]);
                mul(x, x, y);
                store8(h->part[b], x);
            } else if (j >= 96) {
                if (k > 0 && j < 100) put_power(old, before, t, (uint32_t)j - 96, r->out - 32);
            } else if (j >= 64 && k + 1 < n) {
                fetch_round(h, scaled, t, k + 1, (uint32_t)j - 64);
            }
        });
        if (k == n) break;
        lanes<wide_hash::LANES>([&](int j) {
            uint32_t x[8], y[8];
            if (j == 0) {
                load8(x, u[0]);
                load8(y, u[2]);
                mul(y, x, y);
                store8(u[3], y);
            } else if (j == 32) {
                add_parts_soon(y, h->part + 1, half - 1, 1);
                store8(h->sum[0], y);
            } else if (j == 33) {
                add_parts_soon(y, h->part + half, t - half, 1);
                load8(x, now[2 * t - 2]);
                add_mod<fr_t>(y, y, x);
                store8(h->sum[1], y);
            }
        });
        r->out += 32;
    }
    r->key += 8 * (size_t)n;
}

/* All wires of a hash from out on; h->s[0] holds the inputs at 1 and up. */
template <class H>
static __host__ __device__ __forceinline__ void
do_hash(const witness_view &v, const cuzk_work &work, H *h, uint32_t *out) {
    const uint32_t t = work.t;
    hash_run r = {v.consts + 8 * (size_t)work.consts, out, nullptr, t, 0};
    const uint32_t *mds = r.consts + 8 * (size_t)(8 * t + work.n_partial);
    const uint32_t *pre = mds + 8 * (size_t)(t * t), *sparse = pre + 8 * (size_t)(t * t);
    const uint32_t *scaled = sparse + 8 * (size_t)(work.n_partial * (2 * t - 1));
    lanes<H::LANES>([&](int j) {
        uint32_t y[8], x[8];
        if ((uint32_t)j >= t) return;
        if (j == 0) { /* the tag: a constant without wires */
            load8(y, v.consts + 8 * (size_t)work.first);
        } else {
            load8(y, h->s[0][j]);
            load8(x, r.consts + 8 * (size_t)j);
            add_mod<fr_t>(y, y, x);
            sbox(y, r.out + 24 * (size_t)(j - 1), true, r.consts + 8 * (size_t)(t + (uint32_t)j));
        }
        store8(h->s[0][j], y);
    });
    r.out += 24 * (size_t)(t - 1);
    r.key = r.consts + 16 * (size_t)t;
    mix(h, &r, mds, -1);
#ifdef __CUDA_ARCH__
#pragma unroll 1
#endif
    for (int k = 1; k < 8; k++) { /* three full rounds, the partial ones, four full rounds */
        if (k == 4) partial_rounds(h, &r, work.n_partial, H::SCALED ? scaled : sparse);
        full_round(h, &r, k < 7);
        mix(h, &r, k == 3 ? pre : mds, k < 7 ? -1 : 1);
    }
    lanes<H::LANES>([&](int j) {
        uint32_t y[8];
        if (j != 1) return;
        load8(y, h->s[r.cur][1]);
        store8(r.out, y);
    });
}

template <class H>
static __host__ __device__ __forceinline__ void hash_item(const witness_view &v,
                                                          const cuzk_work_item &item, H *h) {
    const cuzk_work work = v.works[item.work];
    lanes<H::LANES>([&](int j) {
        uint32_t x[8];
        if (j == 0 || (uint32_t)j >= work.t) return;
        load8(x, full_of(v, item, v.inputs[work.in0 + (uint32_t)j - 1]));
        store8(h->s[0][j], x);
    });
    do_hash(v, work, h, v.full + 8 * (size_t)(item.full0 + work.out_full));
}

/* ---- tree levels ---- */

/* The picks of the insert gadget (circuit/gadget/merkle.c) by which input each takes: 0 the node,
 * 1 and up its siblings. */
struct picks {
    hash_state *h;
    uint32_t n;
};

CUZK_GPU_HD uint8_t pick(picks *p, uint32_t cond, uint32_t a, uint32_t b) {
    const uint8_t x = (uint8_t)(cond ? a : b);
    p->h->pick[p->n++] = x;
    return x;
}

/* Returns the number of picks. */
CUZK_GPU_HD uint32_t insert(hash_state *h, uint32_t arity, uint32_t b0, uint32_t b1, uint32_t b2) {
    enum { A, B, C, D, E, F, G, H };
    picks p = {h, 0};
    uint8_t *to = h->child;
    if (arity == 2) {
        to[0] = pick(&p, b0, B, A);
        to[1] = pick(&p, b0, A, B);
    } else if (arity == 4) {
        to[0] = pick(&p, b1, B, pick(&p, b0, B, A));
        to[1] = pick(&p, b1, C, pick(&p, b0, A, B));
        to[2] = pick(&p, b1, pick(&p, b0, D, A), C);
        to[3] = pick(&p, b1, pick(&p, b0, A, D), D);
    } else {
        const uint32_t none = !b0 & !b1, both = b0 & b1;
        to[0] = pick(&p, b2, B, pick(&p, none, A, B));
        to[1] = pick(&p, b2, C, pick(&p, b1, C, pick(&p, b0, A, B)));
        to[2] = pick(&p, b2, D, pick(&p, b1, pick(&p, b0, D, A), C));
        to[3] = pick(&p, b2, E, pick(&p, both, A, D));
        to[4] = pick(&p, b2, pick(&p, none, A, F), E);
        to[5] = pick(&p, b2, pick(&p, b1, G, pick(&p, b0, A, F)), F);
        to[6] = pick(&p, b2, pick(&p, b1, pick(&p, b0, H, A), G), G);
        to[7] = pick(&p, b2, pick(&p, both, A, H), H);
    }
    return p.n;
}

template <class H>
static __host__ __device__ __forceinline__ void level_item(const witness_view &v,
                                                           const cuzk_work_item &item, H *h) {
    const cuzk_work work = v.works[item.work];
    const uint32_t arity = work.t - 1, n_bits = arity == 8 ? 3 : arity / 2;
    const uint32_t n_picks = arity == 8 ? 20 : 2 * arity - (arity == 2 ? 2 : 0);
    const cuzk_operand *in = v.inputs + work.in0, *sib = in + n_bits; /* sib[0] is the last bit */
    uint32_t *out = v.full + 8 * (size_t)(item.full0 + work.out_full);
    lanes<H::LANES>([&](int j) {
        if (j != 0) return;
        uint32_t b[3] = {0, 0, 0};
        for (uint32_t i = 0; i < n_bits; i++)
            b[i] = bit_of(v, item, in[1 + i]);
        (void)insert(h, arity, b[0], b[1], b[2]);
        if (arity != 8) return;
        set_own_bit(v, item.bit0 + work.out_bit, !b[0] & !b[1]);
        set_own_bit(v, item.bit0 + work.out_bit + 1, b[0] & b[1]);
    });
    lanes<H::LANES>([&](int j) {
        uint32_t x[8];
        for (uint32_t i = (uint32_t)j; i < n_picks; i += H::LANES) {
            const uint32_t from = h->pick[i];
            load8(x, full_of(v, item, from ? sib[from] : in[0]));
            store8(out + 8 * (size_t)i, x);
        }
        if ((uint32_t)j >= arity) return;
        const uint32_t from = h->child[j];
        load8(x, full_of(v, item, from ? sib[from] : in[0]));
        store8(h->s[0][j + 1], x);
    });
    do_hash(v, work, h, out + 8 * (size_t)n_picks);
}

} // namespace cuzk_gpu

#endif
