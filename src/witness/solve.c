/* The witness through the rows. DESIGN: a row that defines a wire is solved for it while the wire
 * is still zero, so that C's value is the rest of C; the order of rows is an order of evaluation,
 * because gadgets define wires before using them. */
#include "witness/plan.h"
#include "witness/solve_impl.h"

#include "base/mem.h"
#include "field/fields.h"
#include "r1cs/eval.h"

#include <string.h>

static void set_bit(uint64_t *bits, uint32_t at, uint64_t v) {
    bits[at / 64] |= v << (at % 64);
}

/* The low n <= 64 bits of v to bits that are still zero. */
static void put_bits(uint64_t *bits, uint32_t at, uint64_t v, uint32_t n) {
    const uint32_t k = at % 64;
    if (n < 64) v &= ((uint64_t)1 << n) - 1;
    bits[at / 64] |= v << k;
    if (k + n > 64) bits[at / 64 + 1] |= v >> (64 - k);
}

static cuzk__block block_of(const cuzk_witness *w, const cuzk_r1cs_shape *s,
                            const uint32_t *slots) {
    const cuzk_r1cs *r = w->r1cs;
    return (cuzk__block){.rows = r->rows + s->row0,
                         .terms = r->terms + s->term0,
                         .coefs = r->coefs,
                         .slots = slots,
                         .bits = w->bits,
                         .full = w->full};
}

#define EV bls
#define EV_FR cuzk_bls12_381_fr
#include "r1cs/eval.inl.h"
#define SV bls
#define SV_FR cuzk_bls12_381_fr
#include "witness/solve.inl.h"

#define EV bn
#define EV_FR cuzk_bn254_fr
#include "r1cs/eval.inl.h"
#define SV bn
#define SV_FR cuzk_bn254_fr
#include "witness/solve.inl.h"

const cuzk__witness_ops *cuzk__witness_ops_of(const cuzk_fr_ops *fr) {
    static const cuzk__witness_ops ops[2] = {{bls_load_free, bls_solve_rows, bls_check_rows},
                                             {bn_load_free, bn_solve_rows, bn_check_rows}};
    return &ops[fr == &cuzk_bn254_fr_ops];
}

static cuzk_status row_error(const cuzk_r1cs *r, uint32_t row, cuzk_err *err) {
    cuzk_buf path = CUZK_BUF_INIT;
    cuzk_r1cs_row_path(r, row, &path);
    cuzk_err_set(err, CUZK_STATUS_BAD_INPUT, "row %u (%s): a wire that must be 0 or 1 is neither",
                 row, path.len ? path.data : "");
    cuzk_buf_free(&path);
    return CUZK_STATUS_BAD_INPUT;
}

/* One level of parts being solved. */
struct run {
    cuzk_witness *w;
    const cuzk_witness_plan *plan;
    const cuzk__witness_ops *ops;
    const cuzk_u256 *frees;
    const cuzk__part *parts;
    struct result {
        cuzk_status st;
        uint32_t row;      /* the row at fault, or NONE */
        uint32_t bad_free; /* the free value at fault */
    } * results;
};

static bool solve_inst(const struct run *run, const cuzk_r1cs_inst *inst, uint32_t *slots,
                       struct result *res) {
    const cuzk_r1cs *r = run->plan->r;
    const cuzk_r1cs_shape *s = &r->shapes[inst->shape];
    const cuzk_filler *filler = run->plan->filler[inst->shape];
    uint32_t bad = 0;
    if (filler && s->n_free == 0)
        cuzk_r1cs_inst_port_slots(r, inst, slots);
    else
        cuzk_r1cs_inst_slots(r, inst, slots);
    if (!run->ops->load_free(run->w, s, run->frees ? run->frees + inst->free0 : NULL, slots,
                             &bad)) {
        *res = (struct result){CUZK_STATUS_BAD_INPUT, CUZK_R1CS_NONE, inst->free0 + bad};
        return false;
    }
    if (filler) {
        filler->fill(run->plan->state[inst->shape], run->w, inst, slots);
        return true;
    }
    const uint32_t row = run->ops->solve_rows(run->w, s, slots);
    if (row == CUZK_R1CS_NONE) return true;
    *res = (struct result){CUZK_STATUS_BAD_INPUT, inst->row0 + row, 0};
    return false;
}

static void solve_part(void *ctx, size_t k) {
    const struct run *run = ctx;
    uint32_t *slots = NULL;
    struct result *res = &run->results[k];
    res->st = cuzk_alloc((void **)&slots, run->plan->max_cols, sizeof *slots);
    if (res->st != CUZK_OK) return;
    for (uint32_t i = run->parts[k].inst0; i < run->parts[k].inst1; i++)
        if (!solve_inst(run, &run->plan->r->insts[i], slots, res)) break;
    cuzk_free(slots);
}

static cuzk_status report(const struct run *run, const struct result *res, cuzk_err *err) {
    if (res->st != CUZK_STATUS_BAD_INPUT)
        return cuzk_err_set(err, res->st, "cannot compute the witness: %s",
                            cuzk_status_text(res->st));
    if (res->row != CUZK_R1CS_NONE) return row_error(run->plan->r, res->row, err);
    return cuzk_err_set(err, CUZK_STATUS_BAD_INPUT,
                        "free value %u is no field element, or no bit where one is needed",
                        res->bad_free);
}

cuzk_status cuzk_witness_solve(cuzk_witness *w, const cuzk_witness_plan *plan,
                               const cuzk_u256 *frees, size_t n_frees, cuzk_pool *pool,
                               cuzk_err *err) {
    const cuzk_r1cs *r = w->r1cs;
    cuzk_status st = CUZK_OK;
    struct run run = {w, plan, cuzk__witness_ops_of(r->fr), frees, plan->parts, NULL};
    if (plan->r != r)
        return cuzk_err_set(err, CUZK_STATUS_USAGE, "the plan is of another constraint system");
    if (n_frees != r->n_free)
        return cuzk_err_set(err, CUZK_STATUS_USAGE, "the circuit takes %u free values, not %zu",
                            r->n_free, n_frees);
    CUZK_TRY(cuzk_alloc((void **)&run.results, plan->n_parts, sizeof *run.results));
    uint32_t at = 0;
    for (uint32_t level = 0; level < plan->n_levels && st == CUZK_OK; level++) {
        uint32_t n = 0;
        while (at + n < plan->n_parts && plan->parts[at + n].level == level)
            n++;
        run.parts = plan->parts + at;
        cuzk_pool_run(pool, n, solve_part, &run);
        for (uint32_t k = 0; k < n && st == CUZK_OK; k++)
            if (run.results[k].st != CUZK_OK) st = report(&run, &run.results[k], err);
        memset(run.results, 0, n * sizeof *run.results);
        at += n;
    }
    cuzk_free(run.results);
    return st;
}
