/* The witness through the rows. DESIGN: a row that defines a wire is solved for it while the wire
 * is still zero, so that C's value is the rest of C; the order of rows is an order of evaluation,
 * because gadgets define wires before using them. */
#include "witness/solve_impl.h"

#include "base/mem.h"
#include "field/fields.h"
#include "r1cs/eval.h"

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

cuzk_status cuzk_witness_solve(cuzk_witness *w, const cuzk_u256 *frees, size_t n_frees,
                               cuzk_err *err) {
    const cuzk_r1cs *r = w->r1cs;
    const cuzk__witness_ops *ops = cuzk__witness_ops_of(r->fr);
    cuzk_status st = CUZK_OK;
    uint32_t *slots = NULL, bad = 0;
    if (n_frees != r->n_free)
        return cuzk_err_set(err, CUZK_STATUS_USAGE, "the circuit takes %u free values, not %zu",
                            r->n_free, n_frees);
    CUZK_TRY_GOTO(cuzk_alloc((void **)&slots, cuzk_r1cs_max_cols(r), sizeof *slots), out);
    for (uint32_t i = 0; i < r->n_insts; i++) {
        const cuzk_r1cs_inst *inst = &r->insts[i];
        const cuzk_r1cs_shape *s = &r->shapes[inst->shape];
        cuzk_r1cs_inst_slots(r, inst, slots);
        if (!ops->load_free(w, s, frees + inst->free0, slots, &bad)) {
            st = cuzk_err_set(err, CUZK_STATUS_BAD_INPUT,
                              "free value %u is no field element, or no bit where one is needed",
                              inst->free0 + bad);
            goto out;
        }
        const uint32_t row = ops->solve_rows(w, s, slots);
        if (row != CUZK_R1CS_NONE) {
            st = row_error(r, inst->row0 + row, err);
            goto out;
        }
    }
out:
    cuzk_free(slots);
    return st;
}
