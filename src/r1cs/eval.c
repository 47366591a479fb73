/* Row values. DESIGN: 98 % of a Filecoin circuit's rows are over bits, with values from -4 to 4;
 * those are small integers looked up in a table of field elements. Instances are independent, so
 * the pool takes them in ranges. */
#include "r1cs/eval.h"

#include "base/mem.h"
#include "field/fields.h"

enum { SMALL_MAX = 64 }; /* a small row has few terms: |value| <= 2 * terms */

#define EV bls
#define EV_FR cuzk_bls12_381_fr
#include "r1cs/eval.inl.h"

#define EV bn
#define EV_FR cuzk_bn254_fr
#include "r1cs/eval.inl.h"

typedef void (*lc_fn)(cuzk_u256 *out, const cuzk_r1cs *r, const cuzk_r1cs_term *t, uint32_t n,
                      const uint32_t *slots, const uint64_t *bits, const cuzk_u256 *full);

struct eval {
    const cuzk_r1cs *r;
    const uint64_t *bits;
    const cuzk_u256 *full;
    uint32_t row0, row1, inst0;
    uint32_t max_cols;
    cuzk_u256 *out[3];
    lc_fn lc;
    cuzk_u256 small[2 * SMALL_MAX + 1]; /* v at SMALL_MAX + v */
    _Atomic int failed;
};

static void put_lc(const struct eval *e, cuzk_u256 *out, bool small, const cuzk_r1cs_term *t,
                   uint32_t n, const uint32_t *slots) {
    if (small && 2 * n <= SMALL_MAX)
        *out = e->small[SMALL_MAX + cuzk__lc_small(t, n, slots, e->bits)];
    else
        e->lc(out, e->r, t, n, slots, e->bits, e->full);
}

static void eval_inst(const struct eval *e, const cuzk_r1cs_inst *inst, uint32_t *slots) {
    const cuzk_r1cs *r = e->r;
    const cuzk_r1cs_shape *s = &r->shapes[inst->shape];
    const cuzk_r1cs_term *terms = r->terms + s->term0;
    const uint32_t from = e->row0 > inst->row0 ? e->row0 - inst->row0 : 0;
    const uint32_t to = e->row1 - inst->row0 < s->n_rows ? e->row1 - inst->row0 : s->n_rows;
    if (from >= to) return;
    cuzk_r1cs_inst_slots(r, inst, slots);
    for (uint32_t k = from; k < to; k++) {
        const cuzk_r1cs_row *w = &r->rows[s->row0 + k];
        const size_t at = (size_t)inst->row0 + k - e->row0;
        const bool small = (w->solve & CUZK_ROW_SMALL) != 0;
        if (e->out[0]) put_lc(e, &e->out[0][at], small, terms + w->a, w->b - w->a, slots);
        if (e->out[1]) put_lc(e, &e->out[1][at], small, terms + w->b, w->c - w->b, slots);
        if (e->out[2]) put_lc(e, &e->out[2][at], small, terms + w->c, w[1].a - w->c, slots);
    }
}

static void eval_range(void *ctx, size_t begin, size_t end) {
    struct eval *e = ctx;
    uint32_t *slots = NULL;
    if (cuzk_alloc((void **)&slots, e->max_cols, sizeof *slots) != CUZK_OK) {
        e->failed = 1;
        return;
    }
    for (size_t i = begin; i < end; i++)
        eval_inst(e, &e->r->insts[e->inst0 + i], slots);
    cuzk_free(slots);
}

cuzk_status cuzk_r1cs_eval(const cuzk_r1cs *r, const uint64_t *bits, const cuzk_u256 *full,
                           uint32_t row0, uint32_t row1, cuzk_u256 *a, cuzk_u256 *b, cuzk_u256 *c,
                           cuzk_pool *pool) {
    struct eval *e = NULL;
    if (row0 > row1 || row1 > r->n_rows) return CUZK_STATUS_USAGE;
    if (row0 == row1) return CUZK_OK;
    CUZK_TRY(cuzk_alloc((void **)&e, 1, sizeof *e));
    e->r = r;
    e->bits = bits;
    e->full = full;
    e->row0 = row0;
    e->row1 = row1;
    e->inst0 = cuzk_r1cs_find_row(r, row0);
    e->max_cols = cuzk_r1cs_max_cols(r);
    e->out[0] = a;
    e->out[1] = b;
    e->out[2] = c;
    e->lc = r->fr == &cuzk_bn254_fr_ops ? bn_lc : bls_lc;
    for (int v = 1; v <= SMALL_MAX; v++) {
        r->fr->add(&e->small[SMALL_MAX + v], &e->small[SMALL_MAX + v - 1], &r->fr->one);
        r->fr->sub(&e->small[SMALL_MAX - v], &e->small[SMALL_MAX - v + 1], &r->fr->one);
    }
    cuzk_pool_run_ranges(pool, cuzk_r1cs_find_row(r, row1 - 1) + 1 - e->inst0, 16, 8, eval_range,
                         e);
    const cuzk_status st = e->failed ? CUZK_STATUS_NO_MEMORY : CUZK_OK;
    cuzk_free(e);
    return st;
}
