#include "fuzz.h"

#include "base/bytes.h"
#include "format/r1cs.h"
#include "format/r1cs_check.h"

/* A witness of zeros but for wire 0. */
static void check_zeros(const cuzk_circom_r1cs *r) {
    static uint8_t values[1 << 16] = {1};
    const cuzk_wtns w = {
        .name = (char[]){"zeros"}, .curve = r->curve, .n = r->n_wires, .values = values};
    cuzk_circom_r1cs_failure f;
    cuzk_err err = {0};
    if ((size_t)r->n_wires * 32 > sizeof values) return;
    cuzk_status st = cuzk_circom_r1cs_check(r, &w, NULL, &f, &err);
    FUZZ_CHECK(st == CUZK_OK || st == CUZK_STATUS_FALSE);
    if (st != CUZK_OK) FUZZ_CHECK(f.index < r->n_constraints && err.msg[0]);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    cuzk_circom_r1cs *r;
    cuzk_circom_r1cs_iter it;
    cuzk_circom_r1cs_row row;
    cuzk_err err = {0};
    if (fuzz_refused(cuzk_circom_r1cs_from_memory(&r, data, size, "input", &err), &err)) {
        FUZZ_CHECK(!r);
        return 0;
    }
    uint64_t terms[3] = {0};
    cuzk_circom_r1cs_iter_init(&it, r);
    while (cuzk_circom_r1cs_next(&it, &row)) {
        for (int k = 0; k < 3; k++) {
            terms[k] += row.lc[k].n;
            for (uint32_t i = 0; i < row.lc[k].n; i++) {
                const uint8_t *t = row.lc[k].terms + (size_t)i * CUZK_R1CS_TERM_SIZE;
                cuzk_u256 v;
                memcpy(&v, t + 4, sizeof v);
                FUZZ_CHECK(cuzk_ld_u32le(t) < r->n_wires && r->curve->fr->is_canonical(&v));
            }
        }
    }
    FUZZ_CHECK(it.index == r->n_constraints && it.off == r->constraints_len);
    FUZZ_CHECK(memcmp(terms, r->n_terms, sizeof terms) == 0);
    if (r->labels) fuzz_touch(r->labels, (size_t)r->n_wires * 8);
    check_zeros(r);
    cuzk_circom_r1cs_free(r);
    return 0;
}
