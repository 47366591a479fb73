/* DESIGN. The algorithm of snarkjs and rapidsnark for a .zkey (docs/formats.md, "Proving with a
 * zkey"): c is a * b, the quotient appears as values of A B - C on the odd coset, and the H bases
 * are the matching Lagrange points, so no division takes place.
 *
 * Every proof is verified before anybody sees it. A failed check has three possible causes, told
 * apart in this order: a bad point in the key (the key is re-examined), a witness that does not
 * satisfy the circuit (the portable path gives the same points), a fault of the machine or of the
 * fast path (it gives others).
 */
#include "groth16/groth16.h"

#include "base/clock.h"
#include "base/fault.h"
#include "base/mem.h"
#include "base/rand.h"
#include "groth16/rows.h"
#include "msm/msm.h"
#include "ntt/ntt.h"

#include <string.h>

const char *cuzk_prove_stage_name(cuzk_prove_stage stage) {
    static const char *const names[CUZK_STAGE_COUNT] = {
        "eval", "ntt", "msm_a", "msm_b1", "msm_b2", "msm_c", "msm_h", "verify",
    };
    return stage < CUZK_STAGE_COUNT ? names[stage] : "unknown";
}

/* One attempt: everything that stays the same when a proof is repeated with another arithmetic. */
typedef struct {
    const cuzk_zkey *key;
    const uint8_t *witness;
    cuzk_u256 r, s; /* plain */
    cuzk_cpu_impl impl;
    cuzk_pool *pool;
    cuzk_prove_stats *stats; /* not NULL */
} attempt;

static void add_time(const attempt *at, cuzk_prove_stage stage, int64_t since) {
    at->stats->ns[stage] += cuzk_now_ns() - since;
}

static cuzk_status out_of_memory(cuzk_err *err, const char *what, size_t bytes) {
    return cuzk_err_set(err, CUZK_STATUS_NO_MEMORY, "not enough memory for %s (%zu bytes)", what,
                        bytes);
}

typedef struct {
    const cuzk_rows_ops *ops;
    cuzk_u256 *a, *b, *c;
} vectors;

static void product_range(void *ctx, size_t begin, size_t end) {
    const vectors *v = ctx;
    v->ops->product(v->c, v->a, v->b, begin, end);
}

static void quotient_range(void *ctx, size_t begin, size_t end) {
    const vectors *v = ctx;
    v->ops->quotient_values(v->a, v->a, v->b, v->c, begin, end);
}

/* Leaves the plain H scalars in v->a. */
static cuzk_status h_scalars(const attempt *at, const vectors *v, size_t n, cuzk_err *err) {
    enum { MIN_LEN = 1024 };
    const cuzk_zkey *key = at->key;
    const cuzk_fr_ops *fr = key->curve->fr;
    int64_t t = cuzk_now_ns();
    cuzk_rows_eval e = {key->coefs, key->n_coefs, at->witness, v->a, v->b};
    cuzk__rows_eval(v->ops, &e, n, at->pool);
    cuzk_pool_run_ranges(at->pool, n, MIN_LEN, 4, product_range, (void *)(uintptr_t)v);
    add_time(at, CUZK_STAGE_EVAL, t);

    t = cuzk_now_ns();
    cuzk_ntt_plan *plan;
    cuzk_status st =
        cuzk_ntt_plan_new(&plan, key->curve->id, key->log2_domain, 5, at->impl, at->pool);
    if (st != CUZK_OK)
        return cuzk_err_set(err, st, "cannot plan a transform of 2^%u", key->log2_domain);
    /* The shift is the next root, w[k+1]; at the field's last power snarkjs takes nqr^2 = 25. */
    cuzk_u256 shift;
    if (key->log2_domain < fr->adicity) {
        cuzk_fr_root(fr, &shift, 5, key->log2_domain + 1);
    } else {
        shift = (cuzk_u256){{25, 0, 0, 0}};
        fr->to_mont(&shift, &shift);
    }
    cuzk_ntt_to_coset(plan, v->a, &shift, at->pool);
    cuzk_ntt_to_coset(plan, v->b, &shift, at->pool);
    cuzk_ntt_to_coset(plan, v->c, &shift, at->pool);
    cuzk_ntt_plan_free(plan);
    cuzk_pool_run_ranges(at->pool, n, MIN_LEN, 4, quotient_range, (void *)(uintptr_t)v);
    add_time(at, CUZK_STAGE_NTT, t);
    return CUZK_OK;
}

static cuzk_status one_msm(const attempt *at, cuzk_prove_stage stage, cuzk_group group,
                           const void *bases, const void *scalars, size_t n, cuzk_point *out,
                           cuzk_err *err) {
    int64_t t = cuzk_now_ns();
    cuzk_msm_args args = {
        .curve = at->key->curve->id,
        .group = group,
        .n = n,
        .bases = bases,
        .scalars = scalars,
        .impl = at->impl,
        .pool = at->pool,
    };
    cuzk_status st = cuzk_msm(&args, out);
    if (st != CUZK_OK)
        return cuzk_err_set(err, st, "%s over %zu points: %s", cuzk_prove_stage_name(stage), n,
                            cuzk_status_text(st));
    if (cuzk_fault(cuzk_prove_stage_name(stage))) out->b[0] ^= 1;
    add_time(at, stage, t);
    return CUZK_OK;
}

static cuzk_status h_msm(const attempt *at, cuzk_point *out, cuzk_err *err) {
    size_t n = (size_t)1 << at->key->log2_domain, bytes = n * sizeof(cuzk_u256);
    void *mem[3] = {NULL, NULL, NULL};
    cuzk_status st = CUZK_OK;
    for (int i = 0; i < 3 && st == CUZK_OK; i++) {
        st = cuzk_big_alloc(&mem[i], bytes);
        if (st != CUZK_OK) st = out_of_memory(err, "a, b and c", 3 * bytes);
    }
    if (st == CUZK_OK) {
        vectors v = {cuzk__rows_ops(at->key->curve->id, at->impl), mem[0], mem[1], mem[2]};
        st = h_scalars(at, &v, n, err);
        for (int i = 1; i < 3; i++) {
            cuzk_wipe(mem[i], bytes);
            cuzk_big_free(mem[i], bytes);
            mem[i] = NULL;
        }
        if (st == CUZK_OK)
            st = one_msm(at, CUZK_STAGE_MSM_H, CUZK_G1, at->key->h, v.a, n, out, err);
    }
    for (int i = 0; i < 3; i++) {
        if (!mem[i]) continue;
        cuzk_wipe(mem[i], bytes);
        cuzk_big_free(mem[i], bytes);
    }
    return st;
}

/* r += k * p */
static void add_multiple(const cuzk_group_ops *g, cuzk_point *r, const void *p,
                         const cuzk_u256 *k) {
    cuzk_point t;
    g->mul(&t, p, k);
    g->add(r, r, &t);
    cuzk_wipe(&t, sizeof t);
}

static cuzk_status make_points(const attempt *at, cuzk_proof *out, cuzk_err *err) {
    const cuzk_zkey *key = at->key;
    const cuzk_group_ops *g1 = &key->curve->g1, *g2 = &key->curve->g2;
    const cuzk_fr_ops *fr = key->curve->fr;
    const uint8_t *w = at->witness;
    size_t n = key->n_vars, skip = (size_t)key->n_public + 1;
    cuzk_point b1, h;
    CUZK_TRY(h_msm(at, &h, err));
    CUZK_TRY(one_msm(at, CUZK_STAGE_MSM_A, CUZK_G1, key->a, w, n, &out->a, err));
    CUZK_TRY(one_msm(at, CUZK_STAGE_MSM_B1, CUZK_G1, key->b1, w, n, &b1, err));
    CUZK_TRY(one_msm(at, CUZK_STAGE_MSM_B2, CUZK_G2, key->b2, w, n, &out->b, err));
    CUZK_TRY(one_msm(at, CUZK_STAGE_MSM_C, CUZK_G1, key->c, w + 32 * skip, n - skip, &out->c, err));

    out->curve = key->curve;
    g1->add(&out->a, &out->a, key->alpha1);
    add_multiple(g1, &out->a, key->delta1, &at->r);
    g2->add(&out->b, &out->b, key->beta2);
    add_multiple(g2, &out->b, key->delta2, &at->s);
    g1->add(&b1, &b1, key->beta1);
    add_multiple(g1, &b1, key->delta1, &at->s);

    /* c + h + s A + r B1 - r s delta */
    cuzk_u256 rs, s_mont;
    cuzk_point t;
    fr->to_mont(&s_mont, &at->s);
    fr->mul(&rs, &at->r, &s_mont);
    g1->add(&out->c, &out->c, &h);
    add_multiple(g1, &out->c, &out->a, &at->s);
    add_multiple(g1, &out->c, &b1, &at->r);
    g1->neg(&t, key->delta1);
    add_multiple(g1, &out->c, &t, &rs);
    cuzk_wipe(&rs, sizeof rs);
    cuzk_wipe(&s_mont, sizeof s_mont);
    cuzk_wipe(&b1, sizeof b1);
    cuzk_wipe(&h, sizeof h);
    return CUZK_OK;
}

static cuzk_status check_proof(const attempt *at, const cuzk_proof *proof, cuzk_err *err) {
    int64_t t = cuzk_now_ns();
    cuzk_vk vk;
    CUZK_TRY(cuzk_zkey_vk(at->key, &vk, err));
    void *publics = NULL;
    size_t n = at->key->n_public;
    cuzk_status st = cuzk_alloc(&publics, n, sizeof(cuzk_u256));
    if (st == CUZK_OK) {
        if (n) memcpy(publics, at->witness + 32, n * 32);
        bool on_curves = vk.curve->g1.on_curve(&proof->a) && vk.curve->g2.on_curve(&proof->b) &&
                         vk.curve->g1.on_curve(&proof->c);
        st = on_curves ? cuzk_groth16_verify(&vk, publics, n, proof, err) : CUZK_STATUS_FALSE;
    }
    cuzk_free(publics);
    cuzk_vk_free(&vk);
    add_time(at, CUZK_STAGE_VERIFY, t);
    return st;
}

static bool same_proof(const cuzk_proof *p, const cuzk_proof *q) {
    const cuzk_curve *c = p->curve;
    return memcmp(&p->a, &q->a, c->g1.point_size) == 0 &&
           memcmp(&p->b, &q->b, c->g2.point_size) == 0 &&
           memcmp(&p->c, &q->c, c->g1.point_size) == 0;
}

/* The proof did not verify: finds out why. Never returns OK. */
static cuzk_status explain_failure(const attempt *failed, const cuzk_proof *bad, cuzk_err *err) {
    CUZK_TRY(cuzk_zkey_check_points(failed->key, true, failed->pool, err));
    attempt at = *failed;
    at.impl = CUZK_CPU_PORTABLE;
    cuzk_proof again;
    cuzk_status st = make_points(&at, &again, err);
    bool same = st == CUZK_OK && same_proof(bad, &again);
    cuzk_wipe(&at, sizeof at);
    if (st != CUZK_OK) return st;
    if (same)
        return cuzk_err_set(err, CUZK_STATUS_FALSE,
                            "the witness does not satisfy the circuit of %s: no valid proof exists "
                            "(`cuzk wtns check` names the failing constraint)",
                            failed->key->name);
    return cuzk_err_set(err, CUZK_STATUS_BUG,
                        "the proof did not verify and a second computation gave other points: a "
                        "fault of this machine or of cuzk; please report it");
}

static cuzk_status fresh_scalar(const cuzk_fr_ops *fr, cuzk_u256 *plain, cuzk_err *err) {
    uint8_t wide[64];
    CUZK_TRY(cuzk_random(wide, sizeof wide, err));
    fr->from_wide(plain, wide);
    fr->from_mont(plain, plain);
    cuzk_wipe(wide, sizeof wide);
    return CUZK_OK;
}

static cuzk_status choose_blinding(attempt *at, const cuzk_prove_opts *opts, cuzk_err *err) {
    const cuzk_fr_ops *fr = at->key->curve->fr;
    const cuzk_u256 *given[2] = {opts ? opts->r : NULL, opts ? opts->s : NULL};
    cuzk_u256 *to[2] = {&at->r, &at->s};
    for (int i = 0; i < 2; i++) {
        if (!given[i])
            CUZK_TRY(fresh_scalar(fr, to[i], err));
        else if (!fr->is_canonical(given[i]))
            return cuzk_err_set(err, CUZK_STATUS_USAGE, "the blinding value %c is not below r",
                                "rs"[i]);
        else
            *to[i] = *given[i];
    }
    return CUZK_OK;
}

cuzk_status cuzk_groth16_prove(const cuzk_zkey *key, const void *witness,
                               const cuzk_prove_opts *opts, cuzk_proof *out,
                               cuzk_prove_stats *stats, cuzk_err *err) {
    cuzk_prove_stats unused;
    attempt at = {.key = key, .witness = witness, .stats = stats ? stats : &unused};
    at.impl = opts ? opts->impl : CUZK_CPU_AUTO;
    at.pool = opts ? opts->pool : NULL;
    memset(at.stats, 0, sizeof *at.stats);
    memset(out, 0, sizeof *out);
    cuzk_proof proof;
    memset(&proof, 0, sizeof proof);
    cuzk_status st = choose_blinding(&at, opts, err);
    if (st == CUZK_OK) st = make_points(&at, &proof, err);
    if (st == CUZK_OK) {
        st = check_proof(&at, &proof, err);
        if (st == CUZK_STATUS_FALSE) st = explain_failure(&at, &proof, err);
    }
    if (st == CUZK_OK) *out = proof;
    cuzk_wipe(&proof, sizeof proof);
    cuzk_wipe(&at, sizeof at);
    cuzk_wipe_stack();
    return st;
}
