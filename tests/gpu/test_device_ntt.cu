/* The transforms' arithmetic in its host form (ptx.cuh emulates the carry chains), against GMP:
 * products by split factors at the ends of their ranges, DFTs in registers for every turn, and
 * whole passes, thread by thread, against the definition. Needs no GPU. Seed: CUZK_TEST_SEED;
 * products of each kind: CUZK_TEST_ROUNDS. */
#include "backend/cuda/ntt_kernels.cuh"
#include "backend/cuda/ntt_roots.cuh"

#include "host_check.h"

#include <gmp.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <vector>

using namespace cuzk_gpu;

static unsigned long rounds = 100000;

static void load(mpz_t out, const uint32_t *words) {
    mpz_import(out, 8, -1, 4, 0, 0, words);
}

/* of a value below 2^256 */
static void store(uint32_t *words, const mpz_t v) {
    size_t n;
    memset(words, 0, 32);
    mpz_export(words, &n, -1, 4, 0, 0, v);
}

struct number {
    mpz_t v;
    number() { mpz_init(v); }
    number(const number &b) { mpz_init_set(v, b.v); }
    number &operator=(const number &) = delete;
    ~number() { mpz_clear(v); }
};

template <class F> struct field_numbers {
    number p, bound, down; /* the modulus; of split products; 2^-64 */
    field_numbers() {
        load(p.v, F::host.kp[1]);
        mpz_mul_ui(bound.v, p.v, 9);
        mpz_cdiv_q_2exp(bound.v, bound.v, 32);
        mpz_add(bound.v, bound.v, p.v);
        mpz_setbit(down.v, 64);
        mpz_invert(down.v, down.v, p.v);
    }
};

/* Below `bound` (at most 2^256): uniform, words of all ones and zeros, next to 0, to the bound, to
 * a power of two. */
static void pick(uint32_t *words, const mpz_t bound) {
    number t;
    const unsigned how = (unsigned)(next_random() % 5), far = (unsigned)(next_random() % 3);
    for (int k = 0; k < 8; k++) {
        words[k] = (uint32_t)next_random();
        if (how == 1 && next_random() % 3) words[k] = next_random() & 1 ? UINT32_MAX : 0;
    }
    load(t.v, words);
    if (how == 2) mpz_set_ui(t.v, far);
    if (how == 3) mpz_sub_ui(t.v, bound, 1 + far);
    if (how == 4) {
        mpz_set_ui(t.v, 0);
        mpz_setbit(t.v, 1 + next_random() % 255);
        mpz_sub_ui(t.v, t.v, far);
    }
    mpz_mod(t.v, t.v, bound);
    store(words, t.v);
}

/* r = sum of x_i w_i 2^-64 modulo p, below the bound, whatever the w_i < p. */
template <class F> static void check_split(const uint32_t *x, const split_factor &f) {
    static const field_numbers<F> n;
    static number t, w;
    uint32_t r[8];
    split_mul<F>(r, x, f);
    mpz_set_ui(t.v, 0);
    for (int i = 0; i < 8; i++) {
        load(w.v, f.w[i]);
        mpz_addmul_ui(t.v, w.v, x[i]);
    }
    mpz_mul(t.v, t.v, n.down.v);
    load(w.v, r);
    expect(mpz_congruent_p(t.v, w.v, n.p.v) != 0, "split product");
    expect(mpz_cmp(w.v, n.bound.v) < 0, "bound of a split product");
}

template <class F> static void split_products() {
    const field_numbers<F> n;
    static const split_factor known[] = {dft_factor<F>(NTT_W4), dft_factor<F>(NTT_W8_SUM),
                                         dft_factor<F>(NTT_W8_DIFFERENCE)};
    number top;
    mpz_setbit(top.v, 256);
    uint32_t x[8];
    split_factor f;
    for (unsigned long i = 0; i < rounds; i++) {
        pick(x, top.v);
        check_split<F>(x, known[i % 3]);
        for (int k = 0; k < 8; k++) {
            pick(f.w[k], n.p.v);
            if (i % 16 == 0) store(f.w[k], n.p.v), f.w[k][0]--; /* p - 1 */
            if (i % 16 == 1) f.w[k][0] = 0;                     /* no quotient */
        }
        if (i % 32 == 0) memset(x, 0xff, sizeof x); /* the largest sum */
        check_split<F>(x, f);
        memcpy(f.w, known[i % 3].w, sizeof f.w);
    }
}

/* The constants are what they are called, and z has order 8. */
template <class F> static void factors(const cuzk_fr_ops *fr) {
    const field_numbers<F> n;
    number z, i, z3, w, got;
    cuzk_u256 root;
    fr->from_mont(&root, &fr->root_5);
    mpz_import(z.v, 4, -1, 8, 0, 0, root.l);
    mpz_setbit(w.v, fr->adicity - 3);
    mpz_powm(z.v, z.v, w.v, n.p.v);
    mpz_powm_ui(i.v, z.v, 4, n.p.v);
    mpz_add_ui(i.v, i.v, 1);
    expect(mpz_cmp(i.v, n.p.v) == 0, "order of a DFT's root");
    mpz_mul(i.v, z.v, z.v);
    mpz_mul(z3.v, i.v, z.v);
    for (int id = 0; id < 3; id++) {
        const split_factor f = dft_factor<F>((dft_factor_id)id);
        if (id == NTT_W4)
            mpz_mul_ui(w.v, i.v, 2);
        else if (id == NTT_W8_SUM)
            mpz_add(w.v, z.v, z3.v);
        else
            mpz_sub(w.v, z.v, z3.v);
        mpz_mul_2exp(w.v, w.v, 63);
        for (int k = 0; k < 8; k++) {
            load(got.v, f.w[k]);
            expect(mpz_congruent_p(got.v, w.v, n.p.v) && mpz_cmp(got.v, n.p.v) < 0, "factor");
            mpz_mul_2exp(w.v, w.v, 32);
        }
    }
}

/* w = z^turn, for both families and directions. */
template <class F> static void turns(const cuzk_fr_ops *fr) {
    const residue<F> z = dft_root<F>();
    for (unsigned k = 0; k < 4; k++) {
        const unsigned family = k & 1 ? 7 : 5;
        const int turn = dft_turn<F>(fr, family, k >> 1);
        cuzk_u256 w, power;
        cuzk_fr_root(fr, &w, family, 3);
        if (k >> 1) fr->inv(&w, &w);
        memcpy(&power, z.l, sizeof power);
        const uint64_t e = (uint64_t)turn;
        fr->pow(&power, &power, &e, 1);
        expect(turn % 2 == 1 && memcmp(&power, &w, sizeof w) == 0, "turn");
    }
}

static unsigned reverse(unsigned v, int bits) {
    unsigned r = 0;
    for (int k = 0; k < bits; k++)
        r |= (v >> k & 1) << (bits - 1 - k);
    return r;
}

typedef std::vector<uint32_t> words; /* eight for each value */

/* Whether a value may stay: below 2p; else it may only be multiplied: below 2^256 - 2^228. */
template <class F> static bool in_range(const uint32_t *x, bool stays) {
    uint32_t t[8];
    copy_words<8>(t, x);
    reduce_exact<F, 2>(t);
    return stays ? memcmp(t, x, sizeof t) == 0 : x[7] < 0xfffffff0u;
}

/* Whether out[place of frequency f] = sum of in[place of j] w^(j f) for all f. NR: frequencies in
 * reversed places, else coefficients. w in Montgomery form. */
template <class F>
static bool is_transform(const cuzk_fr_ops *fr, const words &in, const words &out, int lg, bool rn,
                         const cuzk_u256 &w) {
    const unsigned n = 1u << lg;
    std::vector<cuzk_u256> power(n), x(n);
    power[0] = fr->one;
    for (unsigned k = 1; k < n; k++)
        fr->mul(&power[k], &power[k - 1], &w);
    auto canonical = [&](cuzk_u256 *r, const uint32_t *v) {
        uint32_t t[8];
        copy_words<8>(t, v);
        settle<F>(t);
        memcpy(r, t, sizeof t);
        return fr->is_canonical(r);
    };
    for (unsigned j = 0; j < n; j++)
        canonical(&x[j], &in[8 * (rn ? reverse(j, lg) : j)]);
    for (unsigned f = 0; f < n; f++) {
        cuzk_u256 sum = {}, term, got;
        for (unsigned j = 0; j < n; j++) {
            fr->mul(&term, &x[j], &power[j * f & (n - 1)]);
            fr->add(&sum, &sum, &term);
        }
        if (!canonical(&got, &out[8 * (rn ? f : reverse(f, lg))])) return false;
        if (memcmp(&got, &sum, sizeof got) != 0) return false;
    }
    return true;
}

template <class F> static void pick_values(words *x, unsigned n) {
    static const field_numbers<F> numbers;
    number bound;
    mpz_mul_2exp(bound.v, numbers.p.v, 1);
    x->resize(8 * n);
    for (unsigned k = 0; k < n; k++)
        pick(&(*x)[8 * k], bound.v);
}

static cuzk_u256 root_of(const cuzk_fr_ops *fr, unsigned family, bool inverse, int lg) {
    cuzk_u256 w;
    cuzk_fr_root(fr, &w, family, (unsigned)lg);
    if (inverse) fr->inv(&w, &w);
    return w;
}

template <class F, int LR, bool RN, dft_use USE> static void dft_of(const cuzk_fr_ops *fr) {
    constexpr int n = 1 << LR;
    words in, out;
    for (unsigned i = 0; i < 4000; i++) {
        const unsigned family = i & 1 ? 7 : 5;
        const bool inverse = i >> 1 & 1;
        const int turn = dft_turn<F>(fr, family, inverse);
        uint32_t x[n][8];
        pick_values<F>(&in, n);
        for (int v = 0; v < n; v++)
            copy_words<8>(x[v], &in[8 * (RN ? v : turned(v, turn, LR))]);
        dft_any<F, LR, RN, USE>(x);
        for (int v = 0; v < n; v++) {
            const bool stays = USE == DFT_KEPT || (USE == DFT_TWISTED && (RN || v == 0));
            expect(in_range<F>(x[v], stays), "range of a DFT's results");
        }
        out.resize(8 * n);
        for (int v = 0; v < n; v++)
            copy_words<8>(&out[8 * (RN ? turned(v, turn, LR) : v)], x[v]);
        expect(is_transform<F>(fr, in, out, LR, RN, root_of(fr, family, inverse, LR)), "DFT");
    }
}

/* A column of a pass, as its threads compute it one after another: between the stages every thread
 * is done. */
template <class F, class S, bool RN, bool CONTIG>
static void column(words *x, const shoup_pair *roots, int turn) {
    for (int i = 0; i < S::K; i++) {
        const int s = RN ? S::K - 1 - i : i;
        for (int t = 0; t < S::THREADS_PER_COLUMN; t++) {
            const ntt_stage<S> stage = {s, t, turn};
            uint32_t r[S::R][8];
            auto twist = [&](int v) {
                const shoup_pair &w = roots[stage.exponent(v)];
                if (s < S::K - 1 && stage.member(v)) shoup_mul<F>(r[v], r[v], w.w, w.wp);
            };
            for (int v = 0; v < S::R; v++) {
                copy_words<8>(r[v], &(*x)[8 * (size_t)(RN ? stage.slot(v) : stage.natural(v))]);
                if (RN) twist(v);
            }
            stage_dfts<F, S, RN, CONTIG>(r, s);
            for (int v = 0; v < S::R; v++) {
                if (!RN) twist(v);
                expect(in_range<F>(r[v], i < S::K - 1 || (CONTIG && !RN)), "range in a pass");
                copy_words<8>(&(*x)[8 * (size_t)(RN ? stage.natural(v) : stage.slot(v))], r[v]);
            }
        }
    }
}

template <class F, class S, bool RN, bool CONTIG> static void pass(const cuzk_fr_ops *fr) {
    std::vector<shoup_pair> roots(S::LEN);
    for (unsigned k = 0; k < 4; k++) {
        const unsigned family = k & 1 ? 7 : 5;
        const cuzk_u256 w = root_of(fr, family, k >> 1, S::LG);
        cuzk_u256 power = fr->one;
        for (int e = 0; e < S::LEN; e++) {
            shoup_make<F>(&roots[(size_t)e], (const uint32_t *)power.l);
            fr->mul(&power, &power, &w);
        }
        words in, out;
        pick_values<F>(&in, S::LEN);
        out = in;
        column<F, S, RN, CONTIG>(&out, roots.data(), dft_turn<F>(fr, family, k >> 1));
        expect(is_transform<F>(fr, in, out, S::LG, RN, w), RN ? "RN pass" : "NR pass");
    }
}

template <class F, int LR, bool RN> static void dft_size(const cuzk_fr_ops *fr) {
    dft_of<F, LR, RN, DFT_KEPT>(fr);
    dft_of<F, LR, RN, DFT_TWISTED>(fr);
    dft_of<F, LR, RN, DFT_ALL_TWISTED>(fr);
}

template <class F> static void field(const cuzk_fr_ops *fr) {
    split_products<F>();
    factors<F>(fr);
    turns<F>(fr);
    dft_size<F, 3, false>(fr);
    dft_size<F, 3, true>(fr);
}

/* Of passes some: each takes the compiler seconds, and every one runs on the device's tests. */
int main() {
    const char *seed = getenv("CUZK_TEST_SEED"), *env = getenv("CUZK_TEST_ROUNDS");
    state = seed ? strtoull(seed, NULL, 0) : 20261130;
    if (env) rounds = strtoul(env, NULL, 10);
    printf("seed %llu, %lu products of each kind\n", (unsigned long long)state, rounds);
    field<bn254_fr>(&cuzk_bn254_fr_ops);
    field<bls12_381_fr>(&cuzk_bls12_381_fr_ops);
    dft_size<bn254_fr, 2, false>(&cuzk_bn254_fr_ops);
    dft_size<bls12_381_fr, 2, true>(&cuzk_bls12_381_fr_ops);
    pass<bn254_fr, ntt_shape_7, false, false>(&cuzk_bn254_fr_ops);
    pass<bls12_381_fr, ntt_shape_6, false, true>(&cuzk_bls12_381_fr_ops);
    pass<bls12_381_fr, ntt_shape_9, true, true>(&cuzk_bls12_381_fr_ops);
    printf("%d wrong\n", failures);
    return failures != 0;
}
