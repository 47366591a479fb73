#include "witness_solve.h"

#include "circuit/circuits.h"
#include "circuit/fillers.h"
#include "circuit/record.h"
#include "witness/witness.h"

#include <stdlib.h>

typedef struct inside {
    cuzk_poseidon_set set;
    cuzk_r1cs *r;
    cuzk_witness_plan *plan;
    cuzk_witness *w;
    cuzk_pool *pool;
} inside;

static bool finish(test_solved *s, inside *in, cuzk_witness_program **program) {
    cuzk_err err = {0};
    if (!in->r || cuzk_circuit_plan(&in->plan, in->r, &in->set) != CUZK_OK) return false;
    if (cuzk_witness_program_new(program, in->plan, &err) != CUZK_OK) return false;
    s->bits_bytes = cuzk_witness_bits_bytes(in->r);
    s->full_bytes = cuzk_witness_full_bytes(in->r);
    s->items = (*program)->n_items;
    s->steps = (*program)->n_steps;
    return true;
}

static inside *begin(test_solved *s) {
    *s = (test_solved){.inside = calloc(1, sizeof(inside))};
    inside *in = s->inside;
    const bool ok =
        in && cuzk_poseidon_set_init(&in->set) == CUZK_OK && cuzk_pool_new(&in->pool, 0) == CUZK_OK;
    return ok ? in : NULL;
}

bool test_solved_open(test_solved *s, cuzk_witness_program **program, const char *circuit) {
    const cuzk_circuit *c = cuzk_circuit_find(circuit);
    cuzk_err err = {0};
    inside *in = begin(s);
    if (!in || !c || cuzk_circuit_compact(&in->r, c, &err) != CUZK_OK) return false;
    return finish(s, in, program);
}

bool test_solved_open_bit_row(test_solved *s, cuzk_witness_program **program) {
    cuzk_recorder *rec;
    cuzk_err err = {0};
    inside *in = begin(s);
    if (!in || cuzk_recorder_new(&rec, &in->set) != CUZK_OK) return false;
    cuzk_cs *cs = cuzk_recorder_cs(rec);
    const cuzk_wire n = cuzk_cs_alloc(cs, CUZK_CLASS_FULL | CUZK_CLASS_FREE);
    const cuzk_wire bit = cuzk_cs_alloc(cs, CUZK_CLASS_BIT);
    const cuzk_flat_term a = {n, CUZK_COEF_ONE}, one = {CUZK_WIRE_ONE, CUZK_COEF_ONE};
    const cuzk_flat_term c = {bit, CUZK_COEF_ONE};
    cuzk_cs_row(cs, &one, 1, &one, 1, &one, 1); /* so that the row at fault is not the first */
    cuzk_cs_row(cs, &a, 1, &one, 1, &c, 1);
    const bool ok = cuzk_recorder_finish(rec, &in->r, &err) == CUZK_OK;
    cuzk_recorder_free(rec);
    s->row = 1;
    return ok && finish(s, in, program);
}

void test_solved_close(test_solved *s) {
    inside *in = s->inside;
    cuzk_witness_free(in->w);
    cuzk_witness_plan_free(in->plan);
    cuzk_r1cs_free(in->r);
    cuzk_poseidon_set_fini(&in->set);
    cuzk_pool_free(in->pool);
    free(in);
}

bool test_solved_solve(test_solved *s, const uint64_t *frees) {
    inside *in = s->inside;
    cuzk_err err = {0};
    cuzk_witness_free(in->w);
    in->w = NULL;
    if (cuzk_witness_new(&in->w, in->r) != CUZK_OK) return false;
    const cuzk_status st = cuzk_witness_solve(in->w, in->plan, (const cuzk_u256 *)frees,
                                              in->r->n_free, in->pool, &err);
    s->bits = in->w->bits;
    s->full = in->w->full;
    return st == CUZK_OK;
}
