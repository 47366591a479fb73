/* Rows of flat systems in any order, of any length, on any number of threads, against plain loops.
 */
#include "support.h"

#include "base/bytes.h"
#include "r1cs/flat.h"

enum { N = 24000, N_WIRES = 500, ROWS = 4096, REC = CUZK_FLAT_RECORD_SIZE };

static uint8_t records[N * REC];
static uint8_t witness[N_WIRES * 32 + 1]; /* used from its second byte: unaligned */
static cuzk_u256 want[2][ROWS], got[2][ROWS];

static void random_fr(const cuzk_fr_ops *fr, cuzk_u256 *x) {
    uint8_t wide[64];
    test_rng_bytes(wide, sizeof wide);
    fr->from_wide(x, wide);
}

/* Values: a third each of 0, of 1, and any. */
static void fill_witness(const cuzk_fr_ops *fr) {
    for (size_t i = 0; i < N_WIRES; i++) {
        cuzk_u256 w = {{i % 3 == 1, 0, 0, 0}};
        if (i % 3 == 0) random_fr(fr, &w);
        memcpy(witness + 1 + 32 * i, &w, 32);
    }
}

static void put(size_t i, uint32_t matrix, uint32_t row, uint32_t wire, const cuzk_u256 *v) {
    uint8_t *rec = records + i * REC;
    cuzk_st_u32le(rec, matrix);
    cuzk_st_u32le(rec + 4, row);
    cuzk_st_u32le(rec + 8, wire);
    memcpy(rec + 12, v, 32);
}

/* distinct: how many coefficients there are; more than a dictionary holds, or few. */
static void fill(const cuzk_fr_ops *fr, bool sorted, size_t distinct) {
    static cuzk_u256 some[N];
    fill_witness(fr);
    for (size_t i = 0; i < distinct; i++)
        random_fr(fr, &some[i]);
    for (size_t i = 0; i < N; i++)
        put(i, (uint32_t)(test_rng() % 2), (uint32_t)(sorted ? i * ROWS / N : test_rng() % ROWS),
            (uint32_t)(test_rng() % N_WIRES), &some[test_rng() % distinct]);
}

static void reference(const cuzk_fr_ops *fr) {
    memset(want, 0, sizeof want);
    for (size_t i = 0; i < N; i++) {
        const uint8_t *rec = records + i * REC;
        cuzk_u256 *to = &want[cuzk_ld_u32le(rec)][cuzk_ld_u32le(rec + 4)], v, w;
        memcpy(&v, rec + 12, 32);
        memcpy(&w, witness + 1 + 32 * cuzk_ld_u32le(rec + 8), 32);
        fr->mul(&v, &v, &w);
        fr->add(to, to, &v);
    }
}

static void compare(const cuzk_fr_ops *fr) {
    const cuzk_flat_records f = {fr, records, N, ROWS};
    reference(fr);
    for (unsigned threads = 1; threads <= 7; threads += 3) {
        for (int impl = CUZK_CPU_AUTO; impl <= CUZK_CPU_ASM; impl++) {
            cuzk_pool *pool;
            assert_int_equal(cuzk_pool_new(&pool, threads), CUZK_OK);
            memset(got, 0xee, sizeof got);
            assert_int_equal(
                cuzk_flat_eval(&f, witness + 1, got[0], got[1], (cuzk_cpu_impl)impl, pool),
                CUZK_OK);
            assert_memory_equal(got, want, sizeof want);
            cuzk_pool_free(pool);
        }
    }
}

static const cuzk_fr_ops *const fields[2] = {&cuzk_bn254_fr_ops, &cuzk_bls12_381_fr_ops};

static void rows_in_order(void **state) {
    (void)state;
    for (int k = 0; k < 2; k++) {
        fill(fields[k], true, 5);
        compare(fields[k]);
        fill(fields[k], true, N);
        compare(fields[k]);
    }
}

static void rows_in_any_order(void **state) {
    (void)state;
    for (int k = 0; k < 2; k++) {
        fill(fields[k], false, k ? 3000 : N);
        compare(fields[k]);
    }
}

/* One descending pair is enough to leave the fast path, wherever it lies. */
static void one_row_out_of_place(void **state) {
    (void)state;
    const cuzk_fr_ops *fr = fields[0];
    for (int round = 0; round < 4; round++) {
        fill(fr, true, 100);
        cuzk_st_u32le(records + test_rng() % N * REC + 4, (uint32_t)(test_rng() % ROWS));
        compare(fr);
    }
}

/* Rows that are longer than any range, have more coefficients than a dictionary, or no terms. */
static void long_rows(void **state) {
    (void)state;
    const cuzk_fr_ops *fr = fields[0];
    for (int few = 0; few < 2; few++) {
        fill(fr, true, few ? 3 : N);
        for (size_t i = 0; i < N; i++)
            cuzk_st_u32le(records + i * REC + 4, i < N / 3 ? 7 : i < N - 5 ? 4000 : ROWS - 1);
        compare(fr);
        for (size_t i = 0; i < N; i++) /* all of A, then all of B, as in a file */
            cuzk_st_u32le(records + i * REC, i % (N / 3) > N / 5);
        compare(fr);
    }
}

static void no_records(void **state) {
    (void)state;
    static const cuzk_u256 zero[ROWS];
    const cuzk_flat_records f = {fields[1], records, 0, ROWS};
    memset(got, 0xee, sizeof got);
    assert_int_equal(cuzk_flat_eval(&f, witness, got[0], got[1], CUZK_CPU_AUTO, NULL), CUZK_OK);
    assert_memory_equal(got[0], zero, sizeof zero);
    assert_memory_equal(got[1], zero, sizeof zero);
}

/* A range of an .r1cs: plain coefficients, three matrices; parts that did not fit are told. */
static void ranges(void **state) {
    (void)state;
    enum { TERMS = 3000, STRIDE = 36 };
    static uint8_t terms[TERMS * STRIDE];
    static cuzk_u256 value[3][CUZK_FLAT_ROWS];
    cuzk_u256 *const out[3] = {value[0], value[1], value[2]};
    for (int k = 0; k < 2; k++) {
        const cuzk_fr_ops *fr = fields[k];
        cuzk_flat_range *r;
        fill_witness(fr);
        for (size_t i = 0; i < TERMS; i++) {
            cuzk_u256 v = {{test_rng() % 3, 0, 0, 0}};
            if (test_rng() % 2) random_fr(fr, &v);
            cuzk_st_u32le(terms + i * STRIDE, (uint32_t)(test_rng() % N_WIRES));
            memcpy(terms + i * STRIDE + 4, &v, 32);
        }
        assert_int_equal(cuzk_flat_range_new(&r, fr, CUZK_FLAT_PLAIN, witness + 1, CUZK_CPU_AUTO),
                         CUZK_OK);
        for (int round = 0; round < 3; round++) {
            cuzk_u256 sum[3] = {{{0}}}, x, w;
            size_t at = 0, rows = 0;
            for (unsigned m = 0; m < 3; m++) {
                const size_t n = m == 1 ? TERMS / 2 : TERMS / 4;
                for (size_t i = at; i < at + n; i++) {
                    memcpy(&x, terms + i * STRIDE + 4, 32);
                    memcpy(&w, witness + 1 + 32 * cuzk_ld_u32le(terms + i * STRIDE), 32);
                    fr->to_mont(&x, &x);
                    fr->to_mont(&w, &w);
                    fr->mul(&x, &x, &w);
                    fr->add(&sum[m], &sum[m], &x);
                }
                at += n;
            }
            cuzk_u256 total[3] = {{{0}}};
            at = 0;
            assert_true(cuzk_flat_row(r));
            for (unsigned m = 0; m < 3; m++) {
                const size_t end = at + (m == 1 ? TERMS / 2 : TERMS / 4);
                while (at < end) {
                    at += cuzk_flat_put(r, m, terms + at * STRIDE, STRIDE, end - at);
                    if (at == end && m < 2) break;
                    assert_int_equal(cuzk_flat_range_eval(r, out), 1);
                    rows++;
                    for (int i = 0; i < 3; i++)
                        fr->add(&total[i], &total[i], &value[i][0]);
                    assert_true(cuzk_flat_row(r));
                }
            }
            assert_int_equal(cuzk_flat_range_eval(r, out), 1); /* the row just opened is empty */
            for (int i = 0; i < 3; i++)
                fr->add(&total[i], &total[i], &value[i][0]);
            assert_memory_equal(total, sum, sizeof sum);
            assert_true(rows >= 1);
        }
        for (int i = 0; i < CUZK_FLAT_ROWS; i++)
            assert_true(cuzk_flat_row(r));
        assert_false(cuzk_flat_row(r));
        assert_int_equal(cuzk_flat_range_eval(r, out), CUZK_FLAT_ROWS);
        cuzk_flat_range_free(r);
    }
    cuzk_flat_range_free(NULL);
}

int main(void) {
    test_rng_start();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_in_order),        cmocka_unit_test(rows_in_any_order),
        cmocka_unit_test(one_row_out_of_place), cmocka_unit_test(long_rows),
        cmocka_unit_test(no_records),           cmocka_unit_test(ranges),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
