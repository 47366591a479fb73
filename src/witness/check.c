#include "witness/solve_impl.h"

#include "base/mem.h"

static cuzk_status row_fails(const cuzk_r1cs *r, uint32_t row, const cuzk_u256 v[3],
                             cuzk_err *err) {
    cuzk_buf path = CUZK_BUF_INIT;
    cuzk_r1cs_row_path(r, row, &path);
    cuzk_buf_printf(&path, ": A * B = C does not hold:");
    for (int m = 0; m < 3; m++) {
        cuzk_u256 x;
        r->fr->from_mont(&x, &v[m]);
        cuzk_buf_printf(&path, " %c = 0x%016llx%016llx%016llx%016llx", "ABC"[m],
                        (unsigned long long)x.l[3], (unsigned long long)x.l[2],
                        (unsigned long long)x.l[1], (unsigned long long)x.l[0]);
    }
    cuzk_err_set(err, CUZK_STATUS_FALSE, "row %u: %s", row, path.data ? path.data : "");
    cuzk_buf_free(&path);
    return CUZK_STATUS_FALSE;
}

cuzk_status cuzk_witness_check(const cuzk_witness *w, cuzk_progress *progress, cuzk_err *err) {
    const cuzk_r1cs *r = w->r1cs;
    const cuzk__witness_ops *ops = cuzk__witness_ops_of(r->fr);
    cuzk_status st = CUZK_OK;
    uint32_t *slots = NULL;
    CUZK_TRY(cuzk_alloc((void **)&slots, cuzk_r1cs_max_cols(r), sizeof *slots));
    for (uint32_t i = 0; i < r->n_insts && st == CUZK_OK; i++) {
        const cuzk_r1cs_inst *inst = &r->insts[i];
        const cuzk_r1cs_shape *s = &r->shapes[inst->shape];
        cuzk_u256 v[3];
        cuzk_r1cs_inst_slots(r, inst, slots);
        const uint32_t row = ops->check_rows(w, s, slots, v);
        if (row != CUZK_R1CS_NONE) st = row_fails(r, inst->row0 + row, v, err);
        if (progress) cuzk_progress_add(progress, s->n_rows);
    }
    cuzk_free(slots);
    return st;
}
