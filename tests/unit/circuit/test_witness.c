/* Witnesses of real sectors: the reference implementation's digest, every row satisfied, and a
 * changed wire noticed with its row named. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "circuit/circuits.h"
#include "circuit/fillers.h"
#include "hex.h"
#include "r1cs/eval.h"
#include "vanilla.h"
#include "witness/witness.h"

static cuzk_poseidon_set set;

/* The same free values through the rows alone, and through fillers on two threads. */
static cuzk_witness *solve_both(const cuzk_r1cs *r, const cuzk_u256 *frees) {
    cuzk_witness *w[2];
    cuzk_witness_plan *plan[2];
    cuzk_pool *pool;
    cuzk_err err = {0};
    assert_int_equal(cuzk_pool_new(&pool, 2), CUZK_OK);
    assert_int_equal(cuzk_witness_plan_new(&plan[0], r, NULL, 0, NULL), CUZK_OK);
    assert_int_equal(cuzk_circuit_plan(&plan[1], r, &set), CUZK_OK);
    for (int k = 0; k < 2; k++) {
        assert_int_equal(cuzk_witness_new(&w[k], r), CUZK_OK);
        if (cuzk_witness_solve(w[k], plan[k], frees, r->n_free, k ? pool : NULL, &err) != CUZK_OK)
            fail_msg("%s", err.msg);
    }
    for (uint32_t i = 0; i < r->n_full; i++)
        if (memcmp(&w[0]->full[i], &w[1]->full[i], 32) != 0) fail_msg("full value %u differs", i);
    for (uint32_t i = 0; i < r->n_bits / 64 + 2; i++)
        if (w[0]->bits[i] != w[1]->bits[i]) fail_msg("bits differ in word %u", i);
    for (int k = 0; k < 2; k++)
        cuzk_witness_plan_free(plan[k]);
    cuzk_witness_free(w[0]);
    cuzk_pool_free(pool);
    return w[1];
}

/* The witness of a shared sector; *r must be freed after it. */
static cuzk_witness *solve(const char *circuit, const char *file, cuzk_r1cs **r) {
    size_t len;
    cuzk_err err = {0};
    cuzk_u256 *frees = NULL;
    const cuzk_circuit *c = cuzk_circuit_find(circuit);
    assert_non_null(c);
    uint8_t *bytes = vanilla_read(file, &len);
    assert_int_equal(cuzk_circuit_compact(r, c, &err), CUZK_OK);
    if (c->kind == CUZK_CIRCUIT_POREP) frees = vanilla_porep(&c->u.porep, bytes, len, (*r)->n_free);
    if (c->kind == CUZK_CIRCUIT_POST) frees = vanilla_post(&c->u.post, bytes, len, (*r)->n_free);
    if (c->kind == CUZK_CIRCUIT_UPDATE)
        frees = vanilla_update(&c->u.update, bytes, len, (*r)->n_free);
    cuzk_witness *w = solve_both(*r, frees);
    free(frees);
    free(bytes);
    return w;
}

static void expect(const char *circuit, const char *file, const char *digest) {
    cuzk_r1cs *r;
    cuzk_err err = {0};
    uint8_t d[32];
    char hex[65];
    cuzk_witness *w = solve(circuit, file, &r);
    if (cuzk_witness_check(w, NULL, &err) != CUZK_OK) fail_msg("%s", err.msg);
    assert_int_equal(cuzk_witness_digest(d, w), CUZK_OK);
    assert_string_equal(hex32(d, hex), digest);
    cuzk_witness_free(w);
    cuzk_r1cs_free(r);
}

static void porep(void **state) {
    (void)state;
    expect("porep-2k", "c1_2kib_bincode.bin",
           "fc10b7b51daae05fd360a3e20f2cd922e9ea800c91206d74c1f28ba1592ea8af");
    expect("porep-2k", "c1_real_2kib_bincode.bin",
           "09b79c325adcb74add01f4a471df1f44d2c50109612b8299418233df29301381");
    expect("porep-16k", "c1_shape_16kib_8_8_0_bincode.bin",
           "4bd21d257abe8659f5cce4f9233abb015b556e0520a8c496f76be8e9b003b637");
}

static void post(void **state) {
    (void)state;
    expect("wpost-2k", "window_2kib.bin",
           "2a71d14d3f2331992ae905206b0973d1276c0ec8e2b31a29adbe014e334a15f6");
    expect("winning-2k", "winning_2kib.bin",
           "5028ac5b4994e90d681b57963e92f08070b7de0c6bcb5b0a3fd06496b354448b");
}

static void update(void **state) {
    (void)state;
    expect("snap-2k", "update_2kib.bin",
           "1128805dcf9dea9a0671d049b3d0ffad0c09311af68ab0543722363a03cfc61b");
}

/* Any wire of the circuit, changed, makes a row fail that the message names. */
static void changed_wire(void **state) {
    cuzk_r1cs *r;
    (void)state;
    cuzk_witness *w = solve("wpost-2k", "window_2kib.bin", &r);
    for (uint32_t i = 0; i < r->n_aux; i += 97) {
        cuzk_u256 v;
        cuzk_err err = {0};
        const cuzk_wire wire = CUZK_WIRE_AUX | i;
        assert_int_equal(cuzk_witness_get(&v, w, wire), CUZK_OK);
        v.l[0] ^= 1;
        assert_int_equal(cuzk_witness_set(w, wire, &v), CUZK_OK);
        assert_int_equal(cuzk_witness_check(w, NULL, &err), CUZK_STATUS_FALSE);
        assert_non_null(strstr(err.msg, "sector "));
        v.l[0] ^= 1;
        assert_int_equal(cuzk_witness_set(w, wire, &v), CUZK_OK);
    }
    cuzk_err err = {0};
    assert_int_equal(cuzk_witness_check(w, NULL, &err), CUZK_OK);
    cuzk_witness_free(w);
    cuzk_r1cs_free(r);
}

/* A bit deep inside a SHA-256 compression. */
static void changed_sha_bit(void **state) {
    cuzk_r1cs *r;
    (void)state;
    cuzk_witness *w = solve("porep-2k", "c1_real_2kib_bincode.bin", &r);
    uint32_t aux = 0;
    for (uint32_t i = 0; i < r->n_insts && !aux; i++)
        if (r->shapes[r->insts[i].shape].n_aux > 20000) aux = r->insts[i].aux0 + 12345;
    assert_true(aux > 0);
    cuzk_u256 v;
    cuzk_err err = {0};
    assert_int_equal(cuzk_witness_get(&v, w, CUZK_WIRE_AUX | aux), CUZK_OK);
    v.l[0] ^= 1;
    assert_int_equal(cuzk_witness_set(w, CUZK_WIRE_AUX | aux, &v), CUZK_OK);
    assert_int_equal(cuzk_witness_check(w, NULL, &err), CUZK_STATUS_FALSE);
    assert_non_null(strstr(err.msg, "challenge 0/tree D/level 0/sha256 block 0/"));
    cuzk_witness_free(w);
    cuzk_r1cs_free(r);
}

/* Row values: against the flat rows and the values of single wires. */
struct row_check {
    const cuzk_witness *w;
    const cuzk_u256 *v[3];
    uint32_t row;
};

static cuzk_status check_row(void *ctx, const cuzk_flat_term *t, const uint32_t n[3],
                             const cuzk_u256 *coefs) {
    struct row_check *c = ctx;
    const cuzk_fr_ops *fr = c->w->r1cs->fr;
    for (int m = 0; m < 3; t += n[m++]) {
        cuzk_u256 acc = {{0}}, x;
        for (uint32_t i = 0; i < n[m]; i++) {
            assert_int_equal(cuzk_witness_get(&x, c->w, t[i].wire), CUZK_OK);
            fr->to_mont(&x, &x);
            fr->mul(&x, &x, &coefs[t[i].coef]);
            fr->add(&acc, &acc, &x);
        }
        if (memcmp(&acc, &c->v[m][c->row], sizeof acc) != 0) fail_msg("row %u differs", c->row);
    }
    c->row++;
    return CUZK_OK;
}

static void eval_rows(const char *circuit, const char *file, uint32_t row0, uint32_t n) {
    cuzk_r1cs *r;
    cuzk_pool *pool;
    cuzk_u256 *v[3];
    cuzk_witness *w = solve(circuit, file, &r);
    assert_int_equal(cuzk_pool_new(&pool, 2), CUZK_OK);
    for (int m = 0; m < 3; m++) {
        v[m] = calloc(n, sizeof *v[m]);
        assert_non_null(v[m]);
    }
    assert_int_equal(cuzk_r1cs_eval(r, w->bits, w->full, row0, row0 + n, v[0], v[1], v[2], pool),
                     CUZK_OK);
    struct row_check c = {w, {v[0], v[1], v[2]}, 0};
    const cuzk_row_sink sink = {check_row, &c};
    assert_int_equal(cuzk_r1cs_expand(r, row0, row0 + n, &sink), CUZK_OK);
    assert_int_equal(c.row, n);
    assert_int_equal(cuzk_r1cs_eval(r, w->bits, w->full, 0, r->n_rows + 1, v[0], NULL, NULL, NULL),
                     CUZK_STATUS_USAGE);
    for (int m = 0; m < 3; m++)
        free(v[m]);
    cuzk_pool_free(pool);
    cuzk_witness_free(w);
    cuzk_r1cs_free(r);
}

static void row_values(void **state) {
    (void)state;
    eval_rows("wpost-2k", "window_2kib.bin", 0, 21866);
    eval_rows("porep-2k", "c1_real_2kib_bincode.bin", 100001, 60007);
}

/* Free values that are no field elements or no bits are refused. */
static void bad_free_values(void **state) {
    cuzk_r1cs *r;
    cuzk_witness *w;
    cuzk_witness_plan *plan;
    cuzk_err err = {0};
    (void)state;
    assert_int_equal(cuzk_circuit_compact(&r, cuzk_circuit_find("wpost-2k"), &err), CUZK_OK);
    cuzk_u256 *frees = calloc(r->n_free, sizeof *frees);
    assert_non_null(frees);
    assert_int_equal(cuzk_circuit_plan(&plan, r, &set), CUZK_OK);
    assert_int_equal(cuzk_witness_new(&w, r), CUZK_OK);
    assert_int_equal(cuzk_witness_solve(w, plan, frees, r->n_free - 1, NULL, &err),
                     CUZK_STATUS_USAGE);
    frees[1] = (cuzk_u256){{UINT64_MAX, UINT64_MAX, UINT64_MAX, UINT64_MAX}};
    assert_int_equal(cuzk_witness_solve(w, plan, frees, r->n_free, NULL, &err),
                     CUZK_STATUS_BAD_INPUT);
    assert_non_null(strstr(err.msg, "free value 1 "));
    cuzk_witness_free(w);
    assert_int_equal(cuzk_witness_new(&w, r), CUZK_OK);
    frees[1] = (cuzk_u256){{0}};
    frees[4] = (cuzk_u256){{2, 0, 0, 0}}; /* the first index bit */
    assert_int_equal(cuzk_witness_solve(w, plan, frees, r->n_free, NULL, &err),
                     CUZK_STATUS_BAD_INPUT);
    assert_non_null(strstr(err.msg, "free value 4 "));
    cuzk_witness_free(w);
    cuzk_witness_plan_free(plan);
    cuzk_r1cs_free(r);
    free(frees);
}

static int setup(void **state) {
    (void)state;
    return cuzk_poseidon_set_init(&set) != CUZK_OK;
}

static int teardown(void **state) {
    (void)state;
    cuzk_poseidon_set_fini(&set);
    return 0;
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(porep),           cmocka_unit_test(post),
        cmocka_unit_test(update),          cmocka_unit_test(changed_wire),
        cmocka_unit_test(changed_sha_bit), cmocka_unit_test(bad_free_values),
        cmocka_unit_test(row_values),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
