/* DESIGN. Rows first: a = A w, b = B w, c = a b (a satisfied row's C w). Then the scalars of H.
 *
 * circom's keys: the quotient appears as values of A B - C on the odd coset, and the H bases are
 * the matching Lagrange points, so no division takes place (docs/formats.md).
 *
 * bellperson's keys want coefficients of (A B - C) / Z. On the coset Z is a constant z, and C has
 * no more coefficients than values, so that it need not go to the coset: the coefficients of A B
 * on the coset, minus those of C, over z. Six transforms instead of seven. In folded keys C's part
 * is in L: four.
 *
 * Then one sum after another. Bits never become scalars: those that choose a query's bases are
 * packed, and the sum takes them as a mask.
 *
 * Small circom keys: the quotient and its sum, and the four other sums, are five loops of one loop
 * of the pool. Split among all threads, sums of some thousands of points would be half waiting: for
 * each other, and for what one thread does alone. Threads that find no part left help with what the
 * parts have left. Only small ones, because it takes the memory of all parts.
 */
#include "backend/cpu/internal.h"

#include "base/clock.h"
#include "base/fault.h"
#include "base/mem.h"
#include "msm/msm.h"
#include "r1cs/eval.h"
#include "r1cs/flat.h"

#include <string.h>

enum { MIN_LEN = 1024 };

/* ---- rows and the quotient ---- */

static void product_range(void *ctx, size_t begin, size_t end) {
    const cuzk__cpu_slot *s = ctx;
    s->key->rows->product(s->c, s->a, s->b, begin, end);
}

static void quotient_values_range(void *ctx, size_t begin, size_t end) {
    const cuzk__cpu_slot *s = ctx;
    s->key->rows->quotient_values(s->a, s->a, s->b, s->c, begin, end);
}

static void coset_product_range(void *ctx, size_t begin, size_t end) {
    const cuzk__cpu_slot *s = ctx;
    s->key->rows->product(s->a, s->a, s->b, begin, end);
}

static void quotient_coefs_range(void *ctx, size_t begin, size_t end) {
    const cuzk__cpu_slot *s = ctx;
    s->key->rows->quotient_coefs(s->a, s->a, s->c, &s->key->factor, begin, end);
}

/* The rows of a compact system, then for each input the row that binds it, then zeros. */
static cuzk_status eval_compact(cuzk__cpu_slot *s, cuzk_err *err) {
    const cuzk_proving_key *key = s->base.key->key;
    const cuzk_r1cs *r = key->r1cs;
    const size_t used = (size_t)r->n_rows + r->n_inputs;
    cuzk_status st = cuzk_r1cs_eval_with(r, s->wires.bits, s->mont, 0, r->n_rows, s->a, s->b, NULL,
                                         s->key->cpu->impl, s->key->cpu->pool);
    if (st != CUZK_OK)
        return cuzk_err_set(err, st, "evaluating %u rows: %s", r->n_rows, cuzk_status_text(st));
    memset(s->a + used, 0, (s->n - used) * sizeof *s->a);
    memset(s->b + r->n_rows, 0, (s->n - r->n_rows) * sizeof *s->b);
    s->a[r->n_rows] = r->fr->one;
    for (uint32_t i = 1; i < r->n_inputs; i++) {
        uint32_t slot;
        if (!cuzk_r1cs_wire_slot(r, i, &slot))
            return cuzk_err_set(err, CUZK_STATUS_BUG, "input %u has no value", i);
        if (!(slot & CUZK_SLOT_BIT))
            s->a[r->n_rows + i] = s->mont[slot];
        else if (cuzk__bit_get(s->wires.bits, slot & ~CUZK_SLOT_BIT))
            s->a[r->n_rows + i] = r->fr->one;
        else
            memset(&s->a[r->n_rows + i], 0, sizeof *s->a);
    }
    return CUZK_OK;
}

static cuzk_status eval(cuzk__cpu_slot *s, cuzk_err *err) {
    const cuzk_proving_key *key = s->base.key->key;
    cuzk_pool *pool = s->key->cpu->pool;
    if (key->r1cs) {
        CUZK_TRY(eval_compact(s, err));
    } else {
        const cuzk_flat_records flat = {key->curve->fr, key->coefs, key->n_coefs, s->n};
        const cuzk_status st = cuzk_flat_eval(&flat, s->plain, s->a, s->b, s->key->cpu->impl, pool);
        if (st != CUZK_OK)
            return cuzk_err_set(err, st, "evaluating the rows: %s", cuzk_status_text(st));
    }
    cuzk_pool_run_ranges(pool, s->n, MIN_LEN, 4, product_range, s);
    return CUZK_OK;
}

static cuzk_status h_scalars(cuzk__cpu_slot *s) {
    const cuzk__cpu_key *k = s->key;
    cuzk_pool *pool = k->cpu->pool;
    cuzk_ntt_to_coset(k->plan, s->a, &k->shift, pool);
    cuzk_ntt_to_coset(k->plan, s->b, &k->shift, pool);
    if (s->base.key->key->h_form == CUZK_H_COSET_VALUES) {
        cuzk_ntt_to_coset(k->plan, s->c, &k->shift, pool);
        cuzk_pool_run_ranges(pool, s->n, MIN_LEN, 4, quotient_values_range, s);
        return CUZK_OK;
    }
    cuzk_pool_run_ranges(pool, s->n, MIN_LEN, 4, coset_product_range, s);
    CUZK_TRY(cuzk_ntt_from_coset(k->plan, s->a, &k->shift, pool));
    if (s->base.key->key->h_form == CUZK_H_FOLDED)
        memset(s->c, 0, s->n * sizeof *s->c);
    else
        CUZK_TRY(cuzk_ntt_from_coset(k->plan, s->c, &s->base.key->key->curve->fr->one, pool));
    cuzk_pool_run_ranges(pool, s->n, MIN_LEN, 4, quotient_coefs_range, s);
    return CUZK_OK;
}

static cuzk_status quotient(cuzk__cpu_slot *s, cuzk_err *err) {
    const int64_t t0 = cuzk_now_ns();
    s->used_bc = true;
    CUZK_TRY(eval(s, err));
    const int64_t t1 = cuzk_now_ns();
    const cuzk_status st = h_scalars(s);
    if (st != CUZK_OK) return cuzk_err_set(err, st, "the quotient: %s", cuzk_status_text(st));
    s->stats.ns[CUZK_SUMS_EVAL] = t1 - t0;
    s->stats.ns[CUZK_SUMS_NTT] = cuzk_now_ns() - t1;
    return CUZK_OK;
}

/* The sums need room of their own. What is small would cost more to get again than it is worth. */
static void give_back_bc(cuzk__cpu_slot *s) {
    enum { SMALL = 4 << 20 };
    const size_t bytes = 2 * s->n * sizeof(cuzk_u256);
    if (bytes < SMALL) return;
    cuzk_big_discard(s->b, bytes);
    s->used_bc = false;
}

/* ---- sums ---- */

static const char *const names[CUZK_SUMS_STAGES] = {
    [CUZK_SUMS_MSM_A] = "msm_a", [CUZK_SUMS_MSM_B1] = "msm_b1", [CUZK_SUMS_MSM_B2] = "msm_b2",
    [CUZK_SUMS_MSM_L] = "msm_c", [CUZK_SUMS_MSM_H] = "msm_h",
};

typedef struct {
    const cuzk_query *q;
    const uint8_t *plain;
    const uint64_t *bits;
    cuzk_u256 *scalars;
    uint64_t *packed;
} gather;

static void gather_full(void *ctx, size_t begin, size_t end) {
    const gather *g = ctx;
    for (size_t i = begin; i < end; i++)
        memcpy(&g->scalars[i], g->plain + (size_t)32 * g->q->full_slots[i], sizeof *g->scalars);
}

/* Slots ascend, so that 64 of them are neighbours when the ends are 63 apart. */
static void gather_words(void *ctx, size_t begin, size_t end) {
    const gather *g = ctx;
    for (size_t w = begin; w < end; w++) {
        const uint32_t *slot = g->q->bit_slots + 64 * w;
        const size_t n = g->q->n_bits - 64 * w < 64 ? g->q->n_bits - 64 * w : 64;
        uint64_t word = 0;
        if (n == 64 && slot[63] - slot[0] == 63) {
            word = cuzk__bits_get(g->bits, slot[0], 64);
        } else {
            for (size_t i = 0; i < n; i++)
                word |= (uint64_t)cuzk__bit_get(g->bits, slot[i]) << i;
        }
        g->packed[w] = word;
    }
}

static cuzk_status sum(cuzk__cpu_slot *s, cuzk_sums_stage stage, cuzk_msm_args *args,
                       cuzk_point *out, cuzk_err *err) {
    args->curve = s->base.key->key->curve->id;
    args->impl = s->key->cpu->impl;
    args->pool = s->key->cpu->pool;
    args->room = s->room;
    const cuzk_status st = cuzk_msm(args, out);
    if (st != CUZK_OK)
        return cuzk_err_set(err, st, "%s over %zu points: %s", names[stage], args->n + args->n_bits,
                            cuzk_status_text(st));
    if (cuzk_fault(names[stage])) out->b[0] ^= 1;
    return CUZK_OK;
}

static cuzk_status query_sum(cuzk__cpu_slot *s, cuzk_sums_stage stage, cuzk_group group,
                             const cuzk_query *q, cuzk_point *out, cuzk_err *err) {
    cuzk_pool *pool = s->key->cpu->pool;
    const int64_t t = cuzk_now_ns();
    gather g = {q, s->plain, s->wires.bits, s->scalars, s->packed_bits};
    cuzk_msm_args args = {.group = group,
                          .n = q->n_full,
                          .bases = q->full_bases,
                          .scalars = q->n_full ? s->plain + 32 * q->first_full : NULL,
                          .n_bits = q->n_bits,
                          .bit_bases = q->bit_bases,
                          .bits = s->packed_bits};
    if (q->full_slots) {
        cuzk_pool_run_ranges(pool, q->n_full, MIN_LEN, 4, gather_full, &g);
        args.scalars = s->scalars;
    }
    cuzk_pool_run_ranges(pool, (q->n_bits + 63) / 64, MIN_LEN, 4, gather_words, &g);
    CUZK_TRY(sum(s, stage, &args, out, err));
    if (q->one_base) cuzk_curve_group(s->base.key->key->curve, group)->add(out, out, q->one_base);
    s->stats.ns[stage] = cuzk_now_ns() - t;
    return CUZK_OK;
}

static cuzk_status h_sum(cuzk__cpu_slot *s, cuzk_err *err) {
    const cuzk_proving_key *key = s->base.key->key;
    const int64_t t = cuzk_now_ns();
    cuzk_msm_args args = {.group = CUZK_G1,
                          .n = key->h_form == CUZK_H_COEFFICIENTS ? s->n - 1 : s->n,
                          .bases = key->h,
                          .scalars = s->a};
    CUZK_TRY(sum(s, CUZK_SUMS_MSM_H, &args, &s->sums.h, err));
    s->stats.ns[CUZK_SUMS_MSM_H] = cuzk_now_ns() - t;
    return CUZK_OK;
}

/* ---- in turns, or at the same time ---- */

/* The sum in G2 takes the most memory: last, so that the others leave it what it can use. */
static cuzk_status in_turns(cuzk__cpu_slot *s, cuzk_err *err) {
    const cuzk_proving_key *key = s->base.key->key;
    cuzk_groth16_sums *to = &s->sums;
    CUZK_TRY(quotient(s, err));
    give_back_bc(s);
    CUZK_TRY(h_sum(s, err));
    CUZK_TRY(query_sum(s, CUZK_SUMS_MSM_A, CUZK_G1, &key->a, &to->a, err));
    CUZK_TRY(query_sum(s, CUZK_SUMS_MSM_B1, CUZK_G1, &key->b1, &to->b1, err));
    CUZK_TRY(query_sum(s, CUZK_SUMS_MSM_L, CUZK_G1, &key->l, &to->l, err));
    return query_sum(s, CUZK_SUMS_MSM_B2, CUZK_G2, &key->b2, &to->b2, err);
}

enum { PARTS = 5 };

typedef struct {
    cuzk__cpu_slot *s;
    cuzk_status st[PARTS];
    cuzk_err err[PARTS];
} parts;

static cuzk_status one_part(cuzk__cpu_slot *s, size_t i, cuzk_err *err) {
    const cuzk_proving_key *key = s->base.key->key;
    cuzk_groth16_sums *to = &s->sums;
    switch (i) { /* the longest first */
    case 0:
        CUZK_TRY(quotient(s, err));
        return h_sum(s, err);
    case 1:
        return query_sum(s, CUZK_SUMS_MSM_B2, CUZK_G2, &key->b2, &to->b2, err);
    case 2:
        return query_sum(s, CUZK_SUMS_MSM_A, CUZK_G1, &key->a, &to->a, err);
    case 3:
        return query_sum(s, CUZK_SUMS_MSM_L, CUZK_G1, &key->l, &to->l, err);
    default:
        return query_sum(s, CUZK_SUMS_MSM_B1, CUZK_G1, &key->b1, &to->b1, err);
    }
}

static void run_part(void *ctx, size_t i) {
    parts *p = ctx;
    p->st[i] = one_part(p->s, i, &p->err[i]);
}

static cuzk_status at_once(cuzk__cpu_slot *s, cuzk_err *err) {
    parts p = {.s = s};
    cuzk_pool_run(s->key->cpu->pool, PARTS, run_part, &p);
    for (int i = 0; i < PARTS; i++) {
        if (p.st[i] == CUZK_OK) continue;
        *err = p.err[i];
        return p.st[i];
    }
    return CUZK_OK;
}

bool cuzk__cpu_at_once(const cuzk__cpu_backend *cpu, const cuzk_proving_key *key) {
    enum { LARGEST_LOG2 = 17 };
    const cuzk_query *q[] = {&key->a, &key->b1, &key->b2, &key->l};
    for (int i = 0; i < 4; i++)
        if (q[i]->full_slots || q[i]->n_bits) return false;
    return key->log2_domain <= LARGEST_LOG2 && cuzk_pool_threads(cpu->pool) > 1;
}

cuzk_status cuzk__cpu_compute(cuzk__cpu_slot *s, cuzk_err *err) {
    if (cuzk_msm_room_new(&s->room) != CUZK_OK)
        return cuzk_err_set(err, CUZK_STATUS_NO_MEMORY, "not enough memory for the sums");
    const cuzk_status st =
        cuzk__cpu_at_once(s->key->cpu, s->base.key->key) ? at_once(s, err) : in_turns(s, err);
    cuzk_msm_room_free(s->room);
    s->room = NULL;
    return st;
}
