/* DESIGN. A backend turns the witness into five sums; a proof is assembled from them here.
 *
 * Every proof is verified before anybody sees it. A failed check has three possible causes, told
 * apart in this order: a bad point in the key (the key is re-examined), a witness that does not
 * satisfy the circuit (the CPU's portable path gives the same points), a fault of the machine or
 * of the fast path (it gives others).
 */
#include "groth16/assemble.h"
#include "groth16/groth16.h"

#include "backend/cpu/cpu.h"
#include "base/clock.h"
#include "base/mem.h"
#include "base/rand.h"

#include <string.h>

const char *cuzk_prove_stage_name(cuzk_prove_stage stage) {
    static const char *const names[CUZK_STAGE_COUNT] = {
        "eval", "ntt", "msm_a", "msm_b1", "msm_b2", "msm_c", "msm_h", "verify",
    };
    return stage < CUZK_STAGE_COUNT ? names[stage] : "unknown";
}

/* One attempt: everything that stays the same when a proof is repeated with another arithmetic. */
typedef struct {
    const cuzk_proving_key *key;
    const cuzk_wires *wires; /* or NULL, and then: */
    const cuzk_u256 *frees, *publics;
    size_t n_frees;
    const cuzk_vk *vk;
    const cuzk_prove_opts *opts; /* not NULL */
    cuzk_u256 r, s;              /* plain */
    cuzk_prove_stats *stats;     /* not NULL */
    bool again;                  /* to see why the first one was wrong */
} attempt;

/* ---- the proof from the sums ---- */

/* r += k * p */
static void add_multiple(const cuzk_group_ops *g, cuzk_point *r, const void *p,
                         const cuzk_u256 *k) {
    cuzk_point t;
    g->mul(&t, p, k);
    g->add(r, r, &t);
    cuzk_wipe(&t, sizeof t);
}

/* What hides the witness: multiples that depend on the key and on r and s alone, so that they can
 * be worked out while a device computes the sums. */
typedef struct {
    cuzk_point r1, s1, rs1; /* of delta1 by r, s and -r s */
    cuzk_point s2;          /* of delta2 by s */
} blinding;

static void blind(blinding *b, const cuzk_proving_key *key, const cuzk_u256 *r,
                  const cuzk_u256 *s) {
    const cuzk_group_ops *g1 = &key->curve->g1, *g2 = &key->curve->g2;
    const cuzk_fr_ops *fr = key->curve->fr;
    cuzk_u256 rs;
    fr->to_mont(&rs, s);
    fr->mul(&rs, r, &rs);
    g1->mul(&b->r1, key->delta1, r);
    g1->mul(&b->s1, key->delta1, s);
    g1->mul(&b->rs1, key->delta1, &rs);
    g1->neg(&b->rs1, &b->rs1);
    g2->mul(&b->s2, key->delta2, s);
    cuzk_wipe(&rs, sizeof rs);
}

static void assemble(const cuzk_proving_key *key, const cuzk_groth16_sums *sums, const blinding *b,
                     const cuzk_u256 *r, const cuzk_u256 *s, cuzk_proof *out) {
    const cuzk_group_ops *g1 = &key->curve->g1, *g2 = &key->curve->g2;
    cuzk_point b1;
    memset(out, 0, sizeof *out);
    out->curve = key->curve;
    g1->add(&out->a, &sums->a, key->alpha1);
    g1->add(&out->a, &out->a, &b->r1);
    g2->add(&out->b, &sums->b2, key->beta2);
    g2->add(&out->b, &out->b, &b->s2);
    g1->add(&b1, &sums->b1, key->beta1);
    g1->add(&b1, &b1, &b->s1);

    /* l + h + s A + r B1 - r s delta */
    g1->add(&out->c, &sums->l, &sums->h);
    g1->add(&out->c, &out->c, &b->rs1);
    add_multiple(g1, &out->c, &out->a, s);
    add_multiple(g1, &out->c, &b1, r);
    cuzk_wipe(&b1, sizeof b1);
}

void cuzk_groth16_assemble(const cuzk_proving_key *key, const cuzk_groth16_sums *sums,
                           const cuzk_u256 *r, const cuzk_u256 *s, cuzk_proof *out) {
    blinding b;
    blind(&b, key, r, s);
    assemble(key, sums, &b, r, s, out);
    cuzk_wipe(&b, sizeof b);
}

static void add_times(cuzk_prove_stats *to, const cuzk_sums_stats *from) {
    static const cuzk_prove_stage stage[CUZK_SUMS_STAGES] = {
        [CUZK_SUMS_UPLOAD] = CUZK_STAGE_EVAL,   [CUZK_SUMS_WITNESS] = CUZK_STAGE_EVAL,
        [CUZK_SUMS_EVAL] = CUZK_STAGE_EVAL,     [CUZK_SUMS_NTT] = CUZK_STAGE_NTT,
        [CUZK_SUMS_MSM_A] = CUZK_STAGE_MSM_A,   [CUZK_SUMS_MSM_B1] = CUZK_STAGE_MSM_B1,
        [CUZK_SUMS_MSM_B2] = CUZK_STAGE_MSM_B2, [CUZK_SUMS_MSM_L] = CUZK_STAGE_MSM_C,
        [CUZK_SUMS_MSM_H] = CUZK_STAGE_MSM_H,
    };
    for (int i = 0; i < CUZK_SUMS_STAGES; i++)
        to->ns[stage[i]] += from->ns[i];
    to->sums = *from;
}

static cuzk_status make_points(const attempt *at, cuzk_slot *slot, cuzk_proof *out, cuzk_err *err) {
    const cuzk_backend_ops *ops = slot->key->backend->ops;
    cuzk_groth16_sums sums;
    cuzk_sums_stats stats;
    blinding b;
    if (at->wires)
        CUZK_TRY(ops->stage(slot, at->wires, err));
    else
        CUZK_TRY(ops->stage_inputs(slot, at->frees, at->n_frees, err));
    CUZK_TRY(ops->compute(slot, err));
    if (at->opts->queued && !at->again) CUZK_TRY(at->opts->queued(at->opts->queued_ctx, err));
    blind(&b, at->key, &at->r, &at->s);
    const cuzk_status st = ops->finish(slot, &sums, &stats, err);
    if (st == CUZK_OK) {
        add_times(at->stats, &stats);
        if (at->opts->sums) *at->opts->sums = sums;
        assemble(at->key, &sums, &b, &at->r, &at->s, out);
        cuzk_wipe(&sums, sizeof sums);
    }
    cuzk_wipe(&b, sizeof b);
    return st;
}

/* ---- checking it ---- */

/* The plain values of the inputs but ONE, n_inputs - 1 of them. */
static cuzk_status read_publics(const attempt *at, cuzk_u256 *out, cuzk_err *err) {
    const cuzk_proving_key *key = at->key;
    const cuzk_wires *w = at->wires;
    for (uint32_t i = 1; i < key->n_inputs; i++, out++) {
        uint32_t slot = i;
        if (key->r1cs && !cuzk_r1cs_wire_slot(key->r1cs, i, &slot))
            return cuzk_err_set(err, CUZK_STATUS_BUG, "input %u has no value", i);
        if (slot & CUZK_SLOT_BIT) {
            slot &= ~CUZK_SLOT_BIT;
            *out = (cuzk_u256){{w->bits[slot / 64] >> (slot % 64) & 1u, 0, 0, 0}};
            continue;
        }
        memcpy(out, (const uint8_t *)w->full + (size_t)32 * slot, sizeof *out);
        if (w->montgomery) key->curve->fr->from_mont(out, out);
    }
    return CUZK_OK;
}

static cuzk_status check_proof(const attempt *at, const cuzk_proof *proof, cuzk_err *err) {
    const int64_t t = cuzk_now_ns();
    const cuzk_vk *vk = at->vk;
    const size_t n = at->key->n_inputs - 1;
    void *publics = NULL;
    cuzk_status st = cuzk_alloc(&publics, n, sizeof(cuzk_u256));
    if (st != CUZK_OK) return cuzk_err_set(err, st, "not enough memory for the public inputs");
    if (at->wires)
        st = read_publics(at, publics, err);
    else
        memcpy(publics, at->publics, n * sizeof(cuzk_u256));
    if (st == CUZK_OK) {
        bool on_curves = vk->curve->g1.on_curve(&proof->a) && vk->curve->g2.on_curve(&proof->b) &&
                         vk->curve->g1.on_curve(&proof->c);
        st = on_curves ? cuzk_groth16_verify(vk, publics, n, proof, err) : CUZK_STATUS_FALSE;
    }
    cuzk_free(publics);
    at->stats->ns[CUZK_STAGE_VERIFY] += cuzk_now_ns() - t;
    return st;
}

static bool same_proof(const cuzk_proof *p, const cuzk_proof *q) {
    const cuzk_curve *c = p->curve;
    return memcmp(&p->a, &q->a, c->g1.point_size) == 0 &&
           memcmp(&p->b, &q->b, c->g2.point_size) == 0 &&
           memcmp(&p->c, &q->c, c->g1.point_size) == 0;
}

/* A device key and a slot for one proof. */
typedef struct {
    cuzk_backend *backend;
    bool borrowed;
    cuzk_device_key *key;
    cuzk_slot *slot;
} device;

static void close_device(device *d) {
    if (!d->backend) return;
    d->backend->ops->slot_free(d->slot);
    d->backend->ops->key_free(d->key);
    if (!d->borrowed) d->backend->ops->close(d->backend);
}

/* On the caller's backend, or on a CPU backend of its own. */
static cuzk_status open_device(device *d, cuzk_backend *given, const cuzk_proving_key *key,
                               cuzk_cpu_impl impl, cuzk_pool *pool, cuzk_err *err) {
    *d = (device){.backend = given, .borrowed = given != NULL};
    if (!given) CUZK_TRY(cuzk_cpu_backend_open(&d->backend, impl, pool, err));
    CUZK_TRY(d->backend->ops->key_load(d->backend, &d->key, key, err));
    return d->backend->ops->slot_new(d->key, &d->slot, err);
}

/* The proof did not verify: finds out why. Never returns OK. */
static cuzk_status explain_failure(const attempt *failed, const cuzk_proof *bad, cuzk_err *err) {
    const cuzk_prove_opts *opts = failed->opts;
    if (opts->check_key) CUZK_TRY(opts->check_key(opts->check_ctx, opts->pool, err));
    attempt at = *failed;
    at.again = true;
    device cpu;
    cuzk_proof again;
    cuzk_status st = open_device(&cpu, NULL, at.key, CUZK_CPU_PORTABLE, opts->pool, err);
    if (st == CUZK_OK) st = make_points(&at, cpu.slot, &again, err);
    close_device(&cpu);
    bool same = st == CUZK_OK && same_proof(bad, &again);
    cuzk_wipe(&at, sizeof at);
    if (st != CUZK_OK) return st;
    if (same)
        return cuzk_err_set(err, CUZK_STATUS_FALSE,
                            "no valid proof exists: the witness does not satisfy the circuit "
                            "of %s, or the key is damaged%s",
                            failed->key->name, opts->hint ? opts->hint : "");
    return cuzk_err_set(err, CUZK_STATUS_BUG,
                        "the proof did not verify and a second computation gave other points: a "
                        "fault of this machine or of cuzk; please report it");
}

/* ---- the whole ---- */

cuzk_status cuzk_groth16_fresh_scalar(const cuzk_fr_ops *fr, cuzk_u256 *plain, cuzk_err *err) {
    uint8_t wide[64];
    CUZK_TRY(cuzk_random(wide, sizeof wide, err));
    fr->from_wide(plain, wide);
    fr->from_mont(plain, plain);
    cuzk_wipe(wide, sizeof wide);
    return CUZK_OK;
}

static cuzk_status choose_blinding(attempt *at, cuzk_err *err) {
    const cuzk_fr_ops *fr = at->key->curve->fr;
    const cuzk_u256 *given[2] = {at->opts->r, at->opts->s};
    cuzk_u256 *to[2] = {&at->r, &at->s};
    for (int i = 0; i < 2; i++) {
        if (!given[i])
            CUZK_TRY(cuzk_groth16_fresh_scalar(fr, to[i], err));
        else if (!fr->is_canonical(given[i]))
            return cuzk_err_set(err, CUZK_STATUS_USAGE,
                                "the blinding value %c is not below the order of the group",
                                "rs"[i]);
        else
            *to[i] = *given[i];
    }
    return CUZK_OK;
}

/* Proves what `given` says; its options and stats may be NULL. */
static cuzk_status prove(cuzk_slot *slot, const attempt *given, cuzk_proof *out, cuzk_err *err) {
    static const cuzk_prove_opts defaults;
    cuzk_prove_stats unused;
    attempt at = *given;
    at.key = slot->key->key;
    if (!at.opts) at.opts = &defaults;
    if (!at.stats) at.stats = &unused;
    memset(at.stats, 0, sizeof *at.stats);
    memset(out, 0, sizeof *out);
    cuzk_proof proof;
    memset(&proof, 0, sizeof proof);
    cuzk_status st = choose_blinding(&at, err);
    if (st == CUZK_OK) st = make_points(&at, slot, &proof, err);
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

cuzk_status cuzk_groth16_prove_slot(cuzk_slot *slot, const cuzk_wires *wires, const cuzk_vk *vk,
                                    const cuzk_prove_opts *opts, cuzk_proof *out,
                                    cuzk_prove_stats *stats, cuzk_err *err) {
    const attempt at = {.wires = wires, .vk = vk, .opts = opts, .stats = stats};
    return prove(slot, &at, out, err);
}

cuzk_status cuzk_groth16_prove_inputs(cuzk_slot *slot, const cuzk_u256 *frees, size_t n_frees,
                                      const cuzk_u256 *publics, const cuzk_vk *vk,
                                      const cuzk_prove_opts *opts, cuzk_proof *out,
                                      cuzk_prove_stats *stats, cuzk_err *err) {
    const attempt at = {.frees = frees,
                        .n_frees = n_frees,
                        .publics = publics,
                        .vk = vk,
                        .opts = opts,
                        .stats = stats};
    return prove(slot, &at, out, err);
}

/* ---- circom's keys ---- */

void cuzk_zkey_proving_key(const cuzk_zkey *zk, cuzk_proving_key *out) {
    const size_t inputs = (size_t)zk->n_public + 1;
    *out = (cuzk_proving_key){
        .curve = zk->curve,
        .name = zk->name,
        .log2_domain = zk->log2_domain,
        .n_inputs = zk->n_public + 1,
        .n_full = zk->n_vars,
        .coefs = zk->coefs,
        .n_coefs = zk->n_coefs,
        .h_form = CUZK_H_COSET_VALUES,
        .h = zk->h,
        .a = {.n_full = zk->n_vars, .full_bases = zk->a},
        .b1 = {.n_full = zk->n_vars, .full_bases = zk->b1},
        .b2 = {.n_full = zk->n_vars, .full_bases = zk->b2},
        .l = {.n_full = zk->n_vars - inputs, .full_bases = zk->c, .first_full = inputs},
        .alpha1 = zk->alpha1,
        .beta1 = zk->beta1,
        .beta2 = zk->beta2,
        .gamma2 = zk->gamma2,
        .delta1 = zk->delta1,
        .delta2 = zk->delta2,
        .ic = zk->ic,
    };
}

static cuzk_status check_zkey(const void *ctx, cuzk_pool *pool, cuzk_err *err) {
    return cuzk_zkey_check_points(ctx, true, pool, err);
}

cuzk_status cuzk_groth16_prove_resident(cuzk_slot *slot, const cuzk_zkey *zk, const cuzk_vk *vk,
                                        const void *witness, const cuzk_prove_opts *given,
                                        cuzk_proof *out, cuzk_prove_stats *stats, cuzk_err *err) {
    cuzk_prove_opts opts = {.impl = CUZK_CPU_AUTO};
    if (given) opts = *given;
    opts.check_key = check_zkey;
    opts.check_ctx = zk;
    opts.hint = " or of another circuit (`cuzk wtns check` says whether it is the witness)";
    const cuzk_wires wires = {.full = witness};
    const cuzk_status st = cuzk_groth16_prove_slot(slot, &wires, vk, &opts, out, stats, err);
    cuzk_wipe(&opts, sizeof opts);
    return st;
}

cuzk_status cuzk_groth16_prove(const cuzk_zkey *zk, const void *witness,
                               const cuzk_prove_opts *opts, cuzk_proof *out,
                               cuzk_prove_stats *stats, cuzk_err *err) {
    static const cuzk_prove_opts defaults = {.impl = CUZK_CPU_AUTO};
    const cuzk_prove_opts *o = opts ? opts : &defaults;
    cuzk_proving_key key;
    cuzk_vk vk = {0};
    device dev;
    memset(out, 0, sizeof *out);
    cuzk_zkey_proving_key(zk, &key);
    cuzk_status st = open_device(&dev, o->backend, &key, o->impl, o->pool, err);
    if (st == CUZK_OK) st = cuzk_zkey_vk(zk, &vk, err);
    if (st == CUZK_OK)
        st = cuzk_groth16_prove_resident(dev.slot, zk, &vk, witness, o, out, stats, err);
    close_device(&dev);
    cuzk_vk_free(&vk);
    return st;
}
