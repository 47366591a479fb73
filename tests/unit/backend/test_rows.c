/* Rows of a key in any order, on any number of threads, against a plain loop. */
#include "support.h"

#include "backend/backend.h"
#include "backend/cpu/rows.h"
#include "base/bytes.h"

enum { N_COEFS = 40000, N_WIRES = 500, ROWS = 4096 };

static uint8_t coefs[N_COEFS * CUZK_COEF_RECORD_SIZE];
static uint8_t witness[N_WIRES * 32];
static cuzk_u256 want[2][ROWS], got[2][ROWS];

static void random_fr(const cuzk_fr_ops *fr, cuzk_u256 *x) {
    uint8_t wide[64];
    test_rng_bytes(wide, sizeof wide);
    fr->from_wide(x, wide);
}

static void fill(const cuzk_fr_ops *fr, bool sorted) {
    for (size_t i = 0; i < N_WIRES; i++) {
        cuzk_u256 w = {{test_rng() % 2, 0, 0, 0}};
        if (i % 3 == 0) random_fr(fr, &w);
        memcpy(witness + 32 * i, &w, 32);
    }
    for (size_t i = 0; i < N_COEFS; i++) {
        uint8_t *rec = coefs + i * CUZK_COEF_RECORD_SIZE;
        cuzk_u256 v;
        random_fr(fr, &v);
        cuzk_st_u32le(rec, (uint32_t)(test_rng() % 2));
        cuzk_st_u32le(rec + 4, (uint32_t)(sorted ? i * ROWS / N_COEFS : test_rng() % ROWS));
        cuzk_st_u32le(rec + 8, (uint32_t)(test_rng() % N_WIRES));
        memcpy(rec + 12, &v, 32);
    }
}

static void reference(const cuzk_fr_ops *fr) {
    memset(want, 0, sizeof want);
    for (size_t i = 0; i < N_COEFS; i++) {
        const uint8_t *rec = coefs + i * CUZK_COEF_RECORD_SIZE;
        cuzk_u256 *to = &want[cuzk_ld_u32le(rec)][cuzk_ld_u32le(rec + 4)], v, w;
        memcpy(&v, rec + 12, 32);
        memcpy(&w, witness + 32 * cuzk_ld_u32le(rec + 8), 32);
        fr->mul(&v, &v, &w);
        fr->add(to, to, &v);
    }
}

static void check(cuzk_curve_id id, bool sorted) {
    const cuzk_fr_ops *fr = cuzk_curve_get(id)->fr;
    fill(fr, sorted);
    reference(fr);
    for (unsigned threads = 1; threads <= 7; threads += 3) {
        for (int impl = CUZK_CPU_AUTO; impl <= CUZK_CPU_ASM; impl++) {
            cuzk_pool *pool;
            assert_int_equal(cuzk_pool_new(&pool, threads), CUZK_OK);
            memset(got, 0xee, sizeof got);
            cuzk_rows_eval e = {coefs, N_COEFS, witness, got[0], got[1]};
            cuzk__rows_eval(cuzk__rows_ops(id, (cuzk_cpu_impl)impl), &e, ROWS, pool);
            assert_memory_equal(got, want, sizeof want);
            cuzk_pool_free(pool);
        }
    }
}

static void sorted_rows(void **state) {
    (void)state;
    check(CUZK_BN254, true);
    check(CUZK_BLS12_381, true);
}

static void rows_in_any_order(void **state) {
    (void)state;
    check(CUZK_BN254, false);
    check(CUZK_BLS12_381, false);
}

/* One descending pair is enough to leave the fast path, wherever it lies. */
static void one_row_out_of_place(void **state) {
    (void)state;
    const cuzk_fr_ops *fr = cuzk_curve_get(CUZK_BN254)->fr;
    for (int round = 0; round < 40; round++) {
        fill(fr, true);
        size_t i = test_rng() % N_COEFS;
        cuzk_st_u32le(coefs + i * CUZK_COEF_RECORD_SIZE + 4, (uint32_t)(test_rng() % ROWS));
        reference(fr);
        cuzk_pool *pool;
        assert_int_equal(cuzk_pool_new(&pool, 3), CUZK_OK);
        cuzk_rows_eval e = {coefs, N_COEFS, witness, got[0], got[1]};
        cuzk__rows_eval(cuzk__rows_ops(CUZK_BN254, CUZK_CPU_AUTO), &e, ROWS, pool);
        assert_memory_equal(got, want, sizeof want);
        cuzk_pool_free(pool);
    }
}

int main(void) {
    test_rng_start();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sorted_rows),
        cmocka_unit_test(rows_in_any_order),
        cmocka_unit_test(one_row_out_of_place),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
