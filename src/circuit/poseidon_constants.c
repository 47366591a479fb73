/* Poseidon's constants from nothing but its parameters.
 *
 * DESIGN. Compression moves every key behind the S-box it precedes: a key row k added before a
 * round equals k·M⁻¹ added before the previous matrix. In partial rounds only element 0 meets an
 * S-box, so the rest of a key can be folded into the round before; folding from the last partial
 * round to the first leaves one scalar a round. The matrix of a partial round is then factored
 * into diag(1, hat) and a sparse matrix, and diag is pushed into the round before. */
#include "circuit/poseidon.h"

#include "base/cpu.h"
#include "base/mem.h"
#include "circuit/poseidon_lanes.h"
#include "field/fields.h"

#include <string.h>

#define T_MAX (CUZK_POSEIDON_MAX_ARITY + 1)

/* ---- Grain LFSR ---- */

struct grain {
    uint8_t s[80]; /* ring: s[at] is the oldest bit */
    unsigned at;
};

static unsigned grain_step(struct grain *g) {
#define TAP(i) g->s[(g->at + (i)) % 80]
    const uint8_t b = TAP(62) ^ TAP(51) ^ TAP(38) ^ TAP(23) ^ TAP(13) ^ TAP(0);
#undef TAP
    g->s[g->at] = b;
    g->at = (g->at + 1) % 80;
    return b;
}

static void grain_put(struct grain *g, uint32_t value, unsigned bits) {
    for (unsigned i = bits; i-- > 0;)
        g->s[g->at++] = (uint8_t)(value >> i & 1);
}

static void grain_init(struct grain *g, uint32_t t, uint32_t n_partial) {
    g->at = 0;
    grain_put(g, 1, 2); /* prime field */
    grain_put(g, 1, 4); /* S-box x^5 */
    grain_put(g, 255, 12);
    grain_put(g, t, 12);
    grain_put(g, CUZK_POSEIDON_FULL, 10);
    grain_put(g, n_partial, 10);
    grain_put(g, 0x3fffffff, 30);
    g->at = 0;
    for (int i = 0; i < 160; i++)
        grain_step(g);
}

/* One output bit: of each pair of LFSR bits, the second if the first is 1. */
static unsigned grain_bit(struct grain *g) {
    for (;;) {
        const unsigned keep = grain_step(g), bit = grain_step(g);
        if (keep) return bit;
    }
}

static void grain_element(struct grain *g, cuzk_u256 *out) {
    cuzk_u256 x;
    do {
        memset(&x, 0, sizeof x);
        for (int i = 254; i >= 0; i--)
            x.l[i / 64] |= (uint64_t)grain_bit(g) << (i % 64);
    } while (!cuzk_bls12_381_fr_is_canonical(&x));
    cuzk_bls12_381_fr_to_mont(out, &x);
}

/* ---- small linear algebra ---- */

static void mul_add(cuzk_u256 *acc, const cuzk_u256 *a, const cuzk_u256 *b) {
    cuzk_u256 x;
    cuzk_bls12_381_fr_mul(&x, a, b);
    cuzk_bls12_381_fr_add(acc, acc, &x);
}

/* out = v * M, row vector times t x t matrix. out must not alias v. */
static void row_times(cuzk_u256 *out, const cuzk_u256 *v, const cuzk_u256 *m, uint32_t t) {
    for (uint32_t j = 0; j < t; j++) {
        cuzk_bls12_381_fr_set_zero(&out[j]);
        for (uint32_t i = 0; i < t; i++)
            mul_add(&out[j], &v[i], &m[i * t + j]);
    }
}

/* Solves A X = B by Gauss-Jordan elimination; A is n x n and is destroyed, B is n x k and becomes
 * X. False when A is singular. */
static bool solve(cuzk_u256 *a, cuzk_u256 *b, uint32_t n, uint32_t k) {
    for (uint32_t c = 0; c < n; c++) {
        uint32_t p = c;
        while (p < n && cuzk_bls12_381_fr_is_zero(&a[p * n + c]))
            p++;
        if (p == n) return false;
        for (uint32_t j = 0; p != c && j < n; j++) {
            const cuzk_u256 x = a[p * n + j];
            a[p * n + j] = a[c * n + j], a[c * n + j] = x;
        }
        for (uint32_t j = 0; p != c && j < k; j++) {
            const cuzk_u256 x = b[p * k + j];
            b[p * k + j] = b[c * k + j], b[c * k + j] = x;
        }
        cuzk_u256 inv;
        cuzk_bls12_381_fr_inv(&inv, &a[c * n + c]);
        for (uint32_t j = 0; j < n; j++)
            cuzk_bls12_381_fr_mul(&a[c * n + j], &a[c * n + j], &inv);
        for (uint32_t j = 0; j < k; j++)
            cuzk_bls12_381_fr_mul(&b[c * k + j], &b[c * k + j], &inv);
        for (uint32_t i = 0; i < n; i++) {
            if (i == c) continue;
            cuzk_u256 f;
            cuzk_bls12_381_fr_neg(&f, &a[i * n + c]);
            for (uint32_t j = 0; j < n; j++)
                mul_add(&a[i * n + j], &f, &a[c * n + j]);
            for (uint32_t j = 0; j < k; j++)
                mul_add(&b[i * k + j], &f, &b[c * k + j]);
        }
    }
    return true;
}

/* ---- constants ---- */

/* Cauchy matrix: 1 / (i + j + t). */
static void make_mds(cuzk_poseidon *p) {
    for (uint32_t i = 0; i < p->t; i++) {
        for (uint32_t j = 0; j < p->t; j++) {
            cuzk_u256 x;
            cuzk_bls12_381_fr_from_u64(&x, i + j + p->t);
            cuzk_bls12_381_fr_inv(&p->mds[i * p->t + j], &x);
        }
    }
}

static void compress_keys(cuzk_poseidon *p, const cuzk_u256 *m_inv) {
    const uint32_t t = p->t, half = CUZK_POSEIDON_FULL / 2;
    const cuzk_u256 *k = p->round;
    cuzk_u256 *out = p->crc, acc[T_MAX], v[T_MAX];
    memcpy(out, k, t * sizeof *out);
    for (uint32_t r = 1; r < half; r++)
        row_times(out + r * t, k + r * t, m_inv, t);
    memcpy(acc, k + (half + p->n_partial) * t, t * sizeof *acc);
    cuzk_u256 *scalars = out + (half + 1) * t;
    for (uint32_t r = p->n_partial; r-- > 0;) {
        row_times(v, acc, m_inv, t);
        scalars[r] = v[0];
        cuzk_bls12_381_fr_set_zero(&v[0]);
        for (uint32_t i = 0; i < t; i++)
            cuzk_bls12_381_fr_add(&acc[i], &k[(half + r) * t + i], &v[i]);
    }
    row_times(out + half * t, acc, m_inv, t);
    out = scalars + p->n_partial;
    for (uint32_t r = 1; r < half; r++)
        row_times(out + (r - 1) * t, k + (half + p->n_partial + r) * t, m_inv, t);
}

static bool make_sparse(cuzk_poseidon *p) {
    const uint32_t t = p->t, n = t - 1;
    cuzk_u256 cur[T_MAX * T_MAX], next[T_MAX * T_MAX], hat[T_MAX * T_MAX], w[T_MAX];
    memcpy(cur, p->mds, (size_t)t * t * sizeof *cur);
    for (uint32_t r = p->n_partial; r-- > 0;) {
        cuzk_u256 *w_hat = p->sparse + (size_t)r * (2 * t - 1), *v_rest = w_hat + t;
        for (uint32_t i = 0; i < n; i++) {
            w[i] = cur[(i + 1) * t];
            v_rest[i] = cur[i + 1];
            memcpy(hat + i * n, cur + (i + 1) * t + 1, n * sizeof *hat);
        }
        if (!solve(hat, w, n, 1)) return false;
        w_hat[0] = cur[0];
        memcpy(w_hat + 1, w, n * sizeof *w);
        /* next = M * diag(1, hat) */
        for (uint32_t i = 0; i < t; i++) {
            next[i * t] = p->mds[i * t];
            for (uint32_t j = 1; j < t; j++) {
                cuzk_bls12_381_fr_set_zero(&next[i * t + j]);
                for (uint32_t l = 1; l < t; l++)
                    mul_add(&next[i * t + j], &p->mds[i * t + l], &cur[l * t + j]);
            }
        }
        memcpy(cur, next, (size_t)t * t * sizeof *cur);
    }
    memcpy(p->pre, cur, (size_t)t * t * sizeof *cur);
    return true;
}

static cuzk_status make_constants(cuzk_poseidon *p) {
    struct grain g;
    const uint32_t t = p->t;
    cuzk_u256 a[T_MAX * T_MAX], inv[T_MAX * T_MAX];
    grain_init(&g, t, p->n_partial);
    for (uint32_t i = 0; i < (CUZK_POSEIDON_FULL + p->n_partial) * t; i++)
        grain_element(&g, &p->round[i]);
    make_mds(p);
    memcpy(a, p->mds, (size_t)t * t * sizeof *a);
    memset(inv, 0, sizeof inv);
    for (uint32_t i = 0; i < t; i++)
        cuzk_bls12_381_fr_set_one(&inv[i * t + i]);
    if (!solve(a, inv, t, t)) return CUZK_STATUS_BUG;
    compress_keys(p, inv);
    return make_sparse(p) ? CUZK_OK : CUZK_STATUS_BUG;
}

cuzk_status cuzk_poseidon_new(cuzk_poseidon **out, uint32_t arity) {
    cuzk_status st;
    cuzk_poseidon *p = NULL;
    *out = NULL;
    if (arity != 2 && arity != 4 && arity != 8 && arity != 11) return CUZK_STATUS_USAGE;
    CUZK_TRY(cuzk_alloc((void **)&p, 1, sizeof *p));
    p->arity = arity;
    const uint32_t t = p->t = arity + 1;
    const uint32_t n_partial = p->n_partial = arity == 2 ? 55 : arity == 4 ? 56 : 57;
    const size_t e = sizeof(cuzk_u256);
    CUZK_TRY_GOTO(cuzk_alloc((void **)&p->round, (CUZK_POSEIDON_FULL + n_partial) * (size_t)t, e),
                  fail);
    CUZK_TRY_GOTO(cuzk_alloc((void **)&p->crc, CUZK_POSEIDON_FULL * (size_t)t + n_partial, e),
                  fail);
    CUZK_TRY_GOTO(cuzk_alloc((void **)&p->mds, (size_t)t * t, e), fail);
    CUZK_TRY_GOTO(cuzk_alloc((void **)&p->pre, (size_t)t * t, e), fail);
    CUZK_TRY_GOTO(cuzk_alloc((void **)&p->sparse, n_partial * (size_t)(2 * t - 1), e), fail);
    CUZK_TRY_GOTO(make_constants(p), fail);
#if CUZK__POSEIDON_LANES
    if (cuzk_cpu_has_avx512_ifma()) CUZK_TRY_GOTO(cuzk__poseidon_lanes_new(&p->lanes, p), fail);
#endif
    *out = p;
    return CUZK_OK;
fail:
    cuzk_poseidon_free(p);
    return st;
}

void cuzk_poseidon_free(cuzk_poseidon *p) {
    if (!p) return;
    cuzk_free(p->round);
    cuzk_free(p->crc);
    cuzk_free(p->mds);
    cuzk_free(p->pre);
    cuzk_free(p->sparse);
    cuzk_free(p->lanes);
    cuzk_free(p);
}

cuzk_status cuzk_poseidon_set_init(cuzk_poseidon_set *s) {
    static const uint32_t arities[] = {2, 4, 8, 11};
    cuzk_status st;
    memset(s, 0, sizeof *s);
    for (size_t i = 0; i < sizeof arities / sizeof arities[0]; i++)
        CUZK_TRY_GOTO(cuzk_poseidon_new(&s->arity[arities[i]], arities[i]), fail);
    return CUZK_OK;
fail:
    cuzk_poseidon_set_fini(s);
    return st;
}

void cuzk_poseidon_set_fini(cuzk_poseidon_set *s) {
    for (size_t i = 0; i <= CUZK_POSEIDON_MAX_ARITY; i++)
        cuzk_poseidon_free(s->arity[i]);
    memset(s, 0, sizeof *s);
}
