#include "format/r1cs_check.h"

#include "base/bytes.h"

#include <inttypes.h>
#include <string.h>

/* Montgomery products of two plain numbers: the sum comes out divided by R = 2^256. */
static void eval(const cuzk_fr_ops *fr, const cuzk_circom_r1cs_lc *lc, const uint8_t *witness,
                 cuzk_u256 *sum) {
    const uint8_t *t = lc->terms;
    memset(sum, 0, sizeof *sum);
    for (uint32_t i = 0; i < lc->n; i++, t += CUZK_R1CS_TERM_SIZE) {
        cuzk_u256 coef, value;
        memcpy(&coef, t + 4, sizeof coef);
        memcpy(&value, witness + (size_t)cuzk_ld_u32le(t) * sizeof value, sizeof value);
        fr->mul(&coef, &coef, &value);
        fr->add(sum, sum, &coef);
    }
}

static bool holds(const cuzk_fr_ops *fr, const cuzk_u256 sum[3]) {
    cuzk_u256 ab, c;
    fr->mul(&ab, &sum[0], &sum[1]); /* a b / R^3 */
    fr->from_mont(&c, &sum[2]);
    fr->from_mont(&c, &c); /* c / R^3 */
    return memcmp(&ab, &c, sizeof c) == 0;
}

cuzk_status cuzk_circom_r1cs_check(const cuzk_circom_r1cs *r, const cuzk_wtns *w,
                                   cuzk_circom_r1cs_failure *failure, cuzk_err *err) {
    if (r->curve != w->curve)
        return cuzk_err_set(err, CUZK_STATUS_BAD_INPUT,
                            "%s: section 1 (header): expected the prime of %s, as %s has it, "
                            "actual that of %s",
                            w->name, r->curve->circom, r->name, w->curve->circom);
    if (r->n_wires != w->n)
        return cuzk_err_set(err, CUZK_STATUS_BAD_INPUT,
                            "%s: section 1 (header): expected %" PRIu32
                            " wires, as %s has, actual %" PRIu32
                            ": are both from one compilation of the circuit?",
                            w->name, r->n_wires, r->name, w->n);
    const cuzk_fr_ops *fr = r->curve->fr;
    cuzk_circom_r1cs_iter it;
    cuzk_circom_r1cs_row row;
    cuzk_circom_r1cs_iter_init(&it, r);
    while (cuzk_circom_r1cs_next(&it, &row)) {
        cuzk_u256 sum[3];
        for (int k = 0; k < 3; k++)
            eval(fr, &row.lc[k], w->values, &sum[k]);
        if (holds(fr, sum)) continue;
        failure->index = it.index - 1;
        failure->row = row;
        for (int k = 0; k < 3; k++)
            fr->to_mont(&failure->value[k], &sum[k]);
        return cuzk_err_set(err, CUZK_STATUS_FALSE,
                            "%s does not satisfy constraint %" PRIu32 " of the %" PRIu32 " of %s",
                            w->name, failure->index, r->n_constraints, r->name);
    }
    return CUZK_OK;
}
