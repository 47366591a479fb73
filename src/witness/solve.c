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

/* One level of parts being solved. DESIGN: parts of the same shapes (challenges, sectors) are
 * walked side by side, so that fillers can take several instances at a time: as many as there are
 * once every thread has some. */
struct run {
    cuzk_witness *w;
    const cuzk_witness_plan *plan;
    const cuzk__witness_ops *ops;
    const cuzk_u256 *frees;
    const cuzk__part *parts;
    const uint32_t *groups; /* group g: parts groups[g] to groups[g + 1] */
    struct result {
        cuzk_status st;
        uint32_t row;      /* the row at fault, or NONE */
        uint32_t bad_free; /* the free value at fault */
    } * results;
};

/* Its slots and free values. */
static bool begin_inst(const struct run *run, const cuzk_r1cs_inst *inst, uint32_t *slots,
                       struct result *res) {
    const cuzk_r1cs *r = run->plan->r;
    const cuzk_r1cs_shape *s = &r->shapes[inst->shape];
    uint32_t bad = 0;
    if (run->plan->filler[inst->shape] && s->n_free == 0)
        cuzk_r1cs_inst_port_slots(r, inst, slots);
    else
        cuzk_r1cs_inst_slots(r, inst, slots);
    if (run->ops->load_free(run->w, s, run->frees ? run->frees + inst->free0 : NULL, slots, &bad))
        return true;
    *res = (struct result){CUZK_STATUS_BAD_INPUT, CUZK_R1CS_NONE, inst->free0 + bad};
    return false;
}

static bool solve_inst(const struct run *run, const cuzk_r1cs_inst *inst, uint32_t *slots,
                       struct result *res) {
    const cuzk_r1cs_shape *s = &run->plan->r->shapes[inst->shape];
    const cuzk_filler *filler = run->plan->filler[inst->shape];
    if (!begin_inst(run, inst, slots, res)) return false;
    if (filler) {
        filler->fill(run->plan->state[inst->shape], run->w, inst, slots);
        return true;
    }
    const uint32_t row = run->ops->solve_rows(run->w, s, slots);
    if (row == CUZK_R1CS_NONE) return true;
    *res = (struct result){CUZK_STATUS_BAD_INPUT, inst->row0 + row, 0};
    return false;
}

/* Instances of one shape with a filler that takes many. */
static bool fill_side_by_side(const struct run *run, const cuzk__part *parts, uint32_t n,
                              uint32_t at, uint32_t *slots, struct result *results) {
    const cuzk_r1cs *r = run->plan->r;
    const uint32_t shape = r->insts[parts[0].inst0 + at].shape;
    const cuzk_r1cs_inst *inst[CUZK_FILL_MANY];
    const uint32_t *of[CUZK_FILL_MANY];
    for (uint32_t k = 0; k < n; k++) {
        uint32_t *to = slots + (size_t)k * run->plan->max_cols;
        inst[k] = &r->insts[parts[k].inst0 + at];
        of[k] = to;
        if (!begin_inst(run, inst[k], to, &results[k])) return false;
    }
    run->plan->filler[shape]->fill_many(run->plan->state[shape], run->w, inst, of, n);
    return true;
}

/* False: results[k] of one of the parts says why. */
static bool solve_step(const struct run *run, const cuzk__part *parts, uint32_t n, uint32_t at,
                       uint32_t *slots, struct result *results) {
    const cuzk_r1cs *r = run->plan->r;
    const uint32_t shape = r->insts[parts[0].inst0 + at].shape;
    const cuzk_filler *filler = run->plan->filler[shape];
    if (n > 1 && filler && filler->fill_many)
        return fill_side_by_side(run, parts, n, at, slots, results);
    for (uint32_t k = 0; k < n; k++)
        if (!solve_inst(run, &r->insts[parts[k].inst0 + at], slots, &results[k])) return false;
    return true;
}

static void solve_group(void *ctx, size_t g) {
    const struct run *run = ctx;
    const uint32_t first = run->groups[g], n = run->groups[g + 1] - first;
    const cuzk__part *parts = run->parts + first;
    uint32_t *slots = NULL;
    run->results[first].st =
        cuzk_alloc((void **)&slots, (size_t)n * run->plan->max_cols, sizeof *slots);
    if (run->results[first].st != CUZK_OK) return;
    for (uint32_t i = 0; i < parts[0].inst1 - parts[0].inst0; i++)
        if (!solve_step(run, parts, n, i, slots, run->results + first)) break;
    cuzk_free(slots);
}

/* Cuts n parts of a level into groups of like parts; returns how many. */
static uint32_t make_groups(uint32_t *groups, const cuzk__part *parts, uint32_t n,
                            unsigned threads) {
    const uint32_t rounds = (n + threads * CUZK_FILL_MANY - 1) / (threads * CUZK_FILL_MANY);
    const uint32_t width = rounds ? (n + rounds * threads - 1) / (rounds * threads) : 1;
    uint32_t n_groups = 0;
    for (uint32_t k = 0; k < n; k++)
        if (k == 0 || !parts[k].like_last || k - groups[n_groups - 1] == width)
            groups[n_groups++] = k;
    groups[n_groups] = n;
    return n_groups;
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
    uint32_t *groups = NULL;
    struct run run = {.w = w,
                      .plan = plan,
                      .ops = cuzk__witness_ops_of(r->fr),
                      .frees = frees,
                      .parts = plan->parts};
    if (plan->r != r)
        return cuzk_err_set(err, CUZK_STATUS_USAGE, "the plan is of another constraint system");
    if (n_frees != r->n_free)
        return cuzk_err_set(err, CUZK_STATUS_USAGE, "the circuit takes %u free values, not %zu",
                            r->n_free, n_frees);
    CUZK_TRY(cuzk_alloc((void **)&run.results, plan->n_parts, sizeof *run.results));
    st = cuzk_alloc((void **)&groups, (size_t)plan->n_parts + 1, sizeof *groups);
    run.groups = groups;
    uint32_t at = 0;
    for (uint32_t level = 0; level < plan->n_levels && st == CUZK_OK; level++) {
        uint32_t n = 0;
        while (at + n < plan->n_parts && plan->parts[at + n].level == level)
            n++;
        run.parts = plan->parts + at;
        cuzk_pool_run(pool, make_groups(groups, run.parts, n, cuzk_pool_threads(pool)), solve_group,
                      &run);
        for (uint32_t k = 0; k < n && st == CUZK_OK; k++)
            if (run.results[k].st != CUZK_OK) st = report(&run, &run.results[k], err);
        memset(run.results, 0, n * sizeof *run.results);
        at += n;
    }
    cuzk_free(groups);
    cuzk_free(run.results);
    return st;
}
