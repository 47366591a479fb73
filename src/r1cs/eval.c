/* Row values of a compact system. DESIGN: instances are independent, so the pool takes them in
 * ranges; eval.inl.h evaluates each as a block. */
#include "r1cs/eval.h"

#include "base/mem.h"

extern const cuzk__eval_ops cuzk__eval_bls_asm, cuzk__eval_bls_portable;
extern const cuzk__eval_ops cuzk__eval_bn_asm, cuzk__eval_bn_portable;

const cuzk__eval_ops *cuzk__eval_ops_of(const cuzk_fr_ops *fr, cuzk_cpu_impl impl) {
    const bool portable = impl == CUZK_CPU_PORTABLE;
    if (fr == &cuzk_bn254_fr_ops) return portable ? &cuzk__eval_bn_portable : &cuzk__eval_bn_asm;
    return portable ? &cuzk__eval_bls_portable : &cuzk__eval_bls_asm;
}

struct eval {
    const cuzk_r1cs *r;
    const cuzk__eval_ops *ops;
    const uint64_t *bits;
    const cuzk_u256 *full;
    uint32_t row0, row1, inst0;
    uint32_t max_cols;
    cuzk_u256 *out[3];
    cuzk_u256 small[2 * CUZK__SMALL_MAX + 1];
    _Atomic int failed;
};

static void eval_inst(const struct eval *e, const cuzk_r1cs_inst *inst, uint32_t *slots) {
    const cuzk_r1cs *r = e->r;
    const cuzk_r1cs_shape *s = &r->shapes[inst->shape];
    const uint32_t from = e->row0 > inst->row0 ? e->row0 - inst->row0 : 0;
    const uint32_t to = e->row1 - inst->row0 < s->n_rows ? e->row1 - inst->row0 : s->n_rows;
    if (from >= to) return;
    cuzk_r1cs_inst_slots(r, inst, slots);
    const cuzk__block b = {.rows = r->rows + s->row0,
                           .terms = r->terms + s->term0,
                           .coefs = r->coefs,
                           .slots = slots,
                           .bits = e->bits,
                           .full = e->full};
    const size_t at = (size_t)inst->row0 + from - e->row0;
    cuzk_u256 *out[3];
    for (int m = 0; m < 3; m++)
        out[m] = e->out[m] ? e->out[m] + at : NULL;
    e->ops->rows(&b, from, to, out, e->small);
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

cuzk_status cuzk_r1cs_eval_with(const cuzk_r1cs *r, const uint64_t *bits, const cuzk_u256 *full,
                                uint32_t row0, uint32_t row1, cuzk_u256 *a, cuzk_u256 *b,
                                cuzk_u256 *c, cuzk_cpu_impl impl, cuzk_pool *pool) {
    struct eval *e = NULL;
    if (row0 > row1 || row1 > r->n_rows) return CUZK_STATUS_USAGE;
    if (row0 == row1) return CUZK_OK;
    CUZK_TRY(cuzk_alloc((void **)&e, 1, sizeof *e));
    e->r = r;
    e->ops = cuzk__eval_ops_of(r->fr, impl);
    e->bits = bits;
    e->full = full;
    e->row0 = row0;
    e->row1 = row1;
    e->inst0 = cuzk_r1cs_find_row(r, row0);
    e->max_cols = cuzk_r1cs_max_cols(r);
    e->out[0] = a;
    e->out[1] = b;
    e->out[2] = c;
    cuzk_u256 *zero = &e->small[CUZK__SMALL_MAX];
    for (int v = 1; v <= CUZK__SMALL_MAX; v++) {
        r->fr->add(&zero[v], &zero[v - 1], &r->fr->one);
        r->fr->sub(&zero[-v], &zero[-v + 1], &r->fr->one);
    }
    cuzk_pool_run_ranges(pool, cuzk_r1cs_find_row(r, row1 - 1) + 1 - e->inst0, 16, 8, eval_range,
                         e);
    const cuzk_status st = e->failed ? CUZK_STATUS_NO_MEMORY : CUZK_OK;
    cuzk_free(e);
    return st;
}

cuzk_status cuzk_r1cs_eval(const cuzk_r1cs *r, const uint64_t *bits, const cuzk_u256 *full,
                           uint32_t row0, uint32_t row1, cuzk_u256 *a, cuzk_u256 *b, cuzk_u256 *c,
                           cuzk_pool *pool) {
    return cuzk_r1cs_eval_with(r, bits, full, row0, row1, a, b, c, CUZK_CPU_AUTO, pool);
}
