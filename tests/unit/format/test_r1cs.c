#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "support.h"

#include "base/buf.h"
#include "base/bytes.h"
#include "format/r1cs.h"
#include "format/r1cs_check.h"

#include <stdio.h>
#include <string.h>

static cuzk_status parse(blob b, cuzk_err *err) {
    cuzk_circom_r1cs *r;
    *err = (cuzk_err){0};
    cuzk_status st = cuzk_circom_r1cs_from_memory(&r, b.p, b.n, "c.r1cs", err);
    if (st != CUZK_OK) assert_null(r);
    cuzk_circom_r1cs_free(r);
    return st;
}

static void expect_bad(blob b, const char *part1, const char *part2) {
    cuzk_err err;
    cuzk_status st = parse(b, &err);
    assert_bad_input(st, &err, part1, part2);
    assert_has(err.msg, "c.r1cs: ");
    assert_has(err.msg, "offset");
}

static void reads_vectors(void **state) {
    (void)state;
    static const struct {
        const char *file, *curve;
        uint32_t constraints, wires, out, in, prv;
        uint64_t labels, terms[3];
    } v[] = {
        {"bn128/mul3/mul3.r1cs", "bn128", 2, 6, 1, 0, 3, 6, {2, 2, 2}},
        {"bn128/nopub/nopub.r1cs", "bn128", 2, 4, 0, 0, 2, 4, {2, 2, 2}},
        {"bn128/poseidon2/poseidon2.r1cs", "bn128", 240, 243, 1, 0, 2, 771, {398, 556, 2086}},
        {"bls12381/mul3/mul3.r1cs", "bls12381", 2, 6, 1, 0, 3, 6, {2, 2, 2}},
        {"bls12381/poseidon2/poseidon2.r1cs", "bls12381", 240, 243, 1, 0, 2, 771, {398, 556, 2086}},
    };
    for (size_t i = 0; i < sizeof v / sizeof v[0]; i++) {
        char path[512];
        snprintf(path, sizeof path, "%s/circom/%s", CUZK_TEST_VECTORS, v[i].file);
        cuzk_circom_r1cs *r;
        cuzk_err err = {0};
        cuzk_status st = cuzk_circom_r1cs_open(&r, path, &err);
        if (st != CUZK_OK) fail_msg("%s", err.msg);
        assert_string_equal(r->curve->circom, v[i].curve);
        assert_int_equal(r->n_constraints, v[i].constraints);
        assert_int_equal(r->n_wires, v[i].wires);
        assert_int_equal(r->n_pub_out, v[i].out);
        assert_int_equal(r->n_pub_in, v[i].in);
        assert_int_equal(r->n_prv_in, v[i].prv);
        assert_int_equal(r->n_labels, v[i].labels);
        cuzk_circom_r1cs_iter it;
        cuzk_circom_r1cs_row row;
        uint64_t terms[3] = {0}, rows = 0;
        cuzk_circom_r1cs_iter_init(&it, r);
        for (; cuzk_circom_r1cs_next(&it, &row); rows++) {
            for (int k = 0; k < 3; k++)
                terms[k] += row.lc[k].n;
        }
        assert_int_equal(rows, v[i].constraints);
        assert_int_equal(it.off, r->constraints_len);
        for (int k = 0; k < 3; k++) {
            assert_int_equal(terms[k], r->n_terms[k]);
            assert_int_equal(terms[k], v[i].terms[k]);
        }
        assert_non_null(r->labels);
        cuzk_circom_r1cs_free(r);
    }
}

static void truncation_at_every_offset(void **state) {
    (void)state;
    static const char *const files[] = {"bn128/mul3/mul3.r1cs", "bls12381/mul3/mul3.r1cs"};
    for (size_t k = 0; k < 2; k++) {
        blob whole = vector_read(files[k]);
        for (size_t n = 0; n < whole.n; n++) {
            blob b = blob_copy(whole.p, n);
            expect_bad(b, n < 12 ? "file header" : "section", "truncated");
            blob_free(&b);
        }
        blob_free(&whole);
    }
}

static void truncation_at_boundaries(void **state) {
    (void)state;
    blob whole = vector_read("bn128/poseidon2/poseidon2.r1cs");
    for (uint32_t i = 0; i < section_count(whole); i++) {
        uint32_t type;
        span s = section_at(whole, i, &type);
        const size_t at[] = {s.header, s.off, s.off + s.len / 2, s.off + s.len};
        for (size_t j = 0; j < 4; j++) {
            for (size_t n = at[j] - 1; n <= at[j] + 1 && n < whole.n; n++) {
                blob b = blob_copy(whole.p, n);
                expect_bad(b, n < 12 ? "file header" : "section", "truncated");
                blob_free(&b);
            }
        }
    }
    blob_free(&whole);
}

static void try_u32(blob b, size_t at, const uint32_t *values, size_t n, const char *part1,
                    const char *part2) {
    uint32_t save = cuzk_ld_u32le(b.p + at);
    for (size_t i = 0; i < n; i++) {
        if (values[i] == save) continue;
        cuzk_st_u32le(b.p + at, values[i]);
        expect_bad(b, part1, part2);
    }
    cuzk_st_u32le(b.p + at, save);
}
#define TRY_U32(b, at, part1, part2, ...)                                                          \
    try_u32(b, at, (const uint32_t[]){__VA_ARGS__},                                                \
            sizeof((const uint32_t[]){__VA_ARGS__}) / sizeof(uint32_t), part1, part2)

static void header_fields(void **state) {
    (void)state;
    blob b = vector_read("bn128/mul3/mul3.r1cs");
    cuzk_err err;
    size_t h = section_of(b, 1).off;
    TRY_U32(b, 4, "file header", "version", 0, 2, UINT32_MAX);
    TRY_U32(b, h, "section 1", "32 bytes", 0, 31, 33, 48, UINT32_MAX);
    for (size_t i = 0; i < 32; i++) {
        b.p[h + 4 + i] ^= 2;
        expect_bad(b, "section 1", "another curve");
        b.p[h + 4 + i] ^= 2;
    }
    TRY_U32(b, h + 36, "section", NULL, 0, 1, 2, 5, 7, UINT32_MAX);      /* wires */
    TRY_U32(b, h + 40, "section 1", "6", 6, 7, 0x7fffffff, UINT32_MAX);  /* outputs */
    TRY_U32(b, h + 44, "section 1", "6", 5, 6, 0x80000000u, UINT32_MAX); /* public inputs */
    TRY_U32(b, h + 60, "section 2", "constraint", 0, 1, 3, 0x7fffffff, UINT32_MAX);
    assert_int_equal(parse(b, &err), CUZK_OK);
    blob_free(&b);
}

static void constraint_fields(void **state) {
    (void)state;
    for (size_t k = 0; k < 2; k++) {
        blob b = vector_read(k ? "bls12381/mul3/mul3.r1cs" : "bn128/mul3/mul3.r1cs");
        const cuzk_fr_ops *fr = cuzk_curve_get(k ? CUZK_BLS12_381 : CUZK_BN254)->fr;
        cuzk_err err;
        span s = section_of(b, 2);
        size_t at = s.off;
        for (int lc = 0; lc < 6; lc++) {
            char where[64];
            assert_int_equal(cuzk_ld_u32le(b.p + at), 1);
            /* 2 terms would read as another, well-formed system */
            TRY_U32(b, at, "section 2", "constraint", 7, 0x7fffffff, UINT32_MAX);
            snprintf(where, sizeof where, "at offset %zu: constraint %d, %c, term 0", at + 4,
                     lc / 3, "ABC"[lc % 3]);
            TRY_U32(b, at + 4, where, "below 6", 6, 7, 0x7fffffff, UINT32_MAX);
            uint8_t save[32], *v = b.p + at + 8;
            snprintf(where, sizeof where, "at offset %zu: constraint %d, %c, term 0", at + 8,
                     lc / 3, "ABC"[lc % 3]);
            memcpy(save, v, 32);
            memcpy(v, fr->modulus.l, 32);
            expect_bad(b, where, "below r");
            memset(v, 0xff, 32);
            expect_bad(b, where, "below r");
            memcpy(v, fr->modulus.l, 32);
            v[0]--;
            assert_int_equal(parse(b, &err), CUZK_OK);
            memcpy(v, save, 32);
            at += 40;
        }
        assert_int_equal(at, s.off + s.len);
        blob_free(&b);
    }
}

static void section_sizes(void **state) {
    (void)state;
    blob whole = vector_read("bn128/mul3/mul3.r1cs");
    for (uint32_t type = 1; type <= 3; type++) {
        char part[16];
        snprintf(part, sizeof part, "section %u", type);
        span s = section_of(whole, type);
        static const uint8_t zeros[16];
        for (size_t more = 1; more <= 16; more++) {
            blob b = blob_splice(whole, s.off + s.len, 0, zeros, more);
            cuzk_st_u64le(b.p + s.header + 4, s.len + more);
            expect_bad(b, part, NULL);
            blob_free(&b);
        }
        for (size_t less = 1; less <= s.len; less++) {
            blob b = blob_splice(whole, s.off + s.len - less, less, NULL, 0);
            cuzk_st_u64le(b.p + s.header + 4, s.len - less);
            expect_bad(b, part, NULL);
            blob_free(&b);
        }
    }
    blob_free(&whole);
}

static void sections_in_other_orders(void **state) {
    (void)state;
    blob whole = vector_read("bn128/poseidon2/poseidon2.r1cs");
    static const uint32_t order[][4] = {{1, 2, 3, 0}, {3, 2, 1, 0}, {2, 1, 0}};
    for (size_t i = 0; i < 3; i++) {
        for (size_t odd = 0; odd < 4; odd++) {
            blob b = container_rebuild(whole, order[i], odd);
            cuzk_circom_r1cs *r;
            cuzk_err err = {0};
            assert_int_equal(cuzk_circom_r1cs_from_memory(&r, b.p, b.n, "c", &err), CUZK_OK);
            assert_int_equal(r->n_constraints, 240);
            if (i == 2) assert_null(r->labels);
            cuzk_circom_r1cs_free(r);
            blob_free(&b);
        }
    }
    static const uint32_t only[][3] = {{1, 3, 0}, {2, 3, 0}};
    for (size_t i = 0; i < 2; i++) {
        blob b = container_rebuild(whole, only[i], 0);
        expect_bad(b, i ? "section 1" : "section 2", "none");
        blob_free(&b);
    }
    blob_free(&whole);
}

static void custom_gates_are_refused(void **state) {
    (void)state;
    blob whole = vector_read("bn128/mul3/mul3.r1cs");
    cuzk_err err;
    for (uint32_t type = 4; type <= 5; type++) {
        for (uint32_t n = 0; n < 2; n++) {
            uint8_t s[16];
            cuzk_st_u32le(s, type);
            cuzk_st_u64le(s + 4, 4);
            cuzk_st_u32le(s + 12, n);
            blob b = blob_splice(whole, whole.n, 0, s, sizeof s);
            cuzk_st_u32le(b.p + 8, 4);
            char part[16];
            snprintf(part, sizeof part, "section %u", type);
            if (n)
                expect_bad(b, part, "custom gates");
            else
                assert_int_equal(parse(b, &err), CUZK_OK);
            blob_free(&b);
        }
    }
    blob_free(&whole);
}

static cuzk_status check(blob rb, blob wb, cuzk_circom_r1cs_failure *f, cuzk_err *err) {
    cuzk_circom_r1cs *r;
    cuzk_wtns *w;
    *err = (cuzk_err){0};
    assert_int_equal(cuzk_circom_r1cs_from_memory(&r, rb.p, rb.n, "c.r1cs", err), CUZK_OK);
    assert_int_equal(cuzk_wtns_from_memory(&w, wb.p, wb.n, "w.wtns", err), CUZK_OK);
    cuzk_status st = cuzk_circom_r1cs_check(r, w, NULL, f, err);
    cuzk_wtns_free(w);
    cuzk_circom_r1cs_free(r);
    return st;
}

static void witnesses_satisfy(void **state) {
    (void)state;
    static const char *const circuit[] = {"mul3", "nopub", "poseidon2"};
    for (size_t k = 0; k < 2; k++) {
        for (size_t i = 0; i < 3; i++) {
            char path[128];
            cuzk_circom_r1cs_failure f;
            cuzk_err err;
            const char *curve = k ? "bls12381" : "bn128";
            snprintf(path, sizeof path, "%s/%s/%s.r1cs", curve, circuit[i], circuit[i]);
            blob r = vector_read(path);
            snprintf(path, sizeof path, "%s/%s/witness.wtns", curve, circuit[i]);
            blob w = vector_read(path);
            assert_int_equal(check(r, w, &f, &err), CUZK_OK);
            blob_free(&r);
            blob_free(&w);
        }
    }
}

/* Whatever single wire of a witness is changed, some constraint that uses it fails first. */
static void every_wire_is_bound(void **state) {
    (void)state;
    for (size_t k = 0; k < 2; k++) {
        blob r =
            vector_read(k ? "bls12381/poseidon2/poseidon2.r1cs" : "bn128/poseidon2/poseidon2.r1cs");
        blob w =
            vector_read(k ? "bls12381/poseidon2/witness.wtns" : "bn128/poseidon2/witness.wtns");
        for (uint32_t wire = 1; wire < 243; wire++) {
            uint8_t *v = w.p + 76 + 32 * (size_t)wire;
            cuzk_circom_r1cs_failure f;
            cuzk_err err;
            v[0] ^= 1;
            assert_int_equal(check(r, w, &f, &err), CUZK_STATUS_FALSE);
            assert_has(err.msg, "of the 240 of c.r1cs");
            bool used = false;
            for (int j = 0; j < 3; j++) {
                for (uint32_t t = 0; t < f.row.lc[j].n; t++)
                    used |= cuzk_ld_u32le(f.row.lc[j].terms + 36 * (size_t)t) == wire;
            }
            assert_true(used);
            v[0] ^= 1;
        }
        blob_free(&r);
        blob_free(&w);
    }
}

/* ---- many constraints, made here ---- */

static void put_lc(cuzk_buf *b, uint32_t terms, uint32_t wire, uint64_t coef) {
    const uint8_t zeros[24] = {0};
    cuzk_buf_append(b, &terms, 4);
    for (uint32_t i = 0; i < terms; i++) {
        cuzk_buf_append(b, &wire, 4);
        cuzk_buf_append(b, &coef, 8);
        cuzk_buf_append(b, zeros, sizeof zeros);
    }
}

/* The first constraint that fails is named, whichever thread comes first, and so is one whose terms
 * fill several ranges (r1cs/flat.h). Wires are all 1; row 3 is a sum of 5000 terms. */
static void the_first_of_many(void **state) {
    (void)state;
    enum { ROWS = 20000, LONG = 3, TERMS = 5000 };
    const cuzk_curve *curve = cuzk_curve_get(CUZK_BN254);
    static uint8_t values[3 * 32];
    values[0] = values[32] = values[64] = 1;
    const cuzk_wtns w = {.name = (char[]){"w"}, .curve = curve, .n = 3, .values = values};
    cuzk_pool *pool;
    assert_int_equal(cuzk_pool_new(&pool, 3), CUZK_OK);
    static const uint32_t wrong[][3] = {{ROWS, ROWS, ROWS},    {9000, 5000, 19999},
                                        {19999, 12288, 12287}, {LONG, 4, 8192},
                                        {0, 1, LONG},          {4095, 4096, 8191}};
    for (size_t k = 0; k < sizeof wrong / sizeof wrong[0]; k++) {
        cuzk_buf b = CUZK_BUF_INIT;
        uint32_t first = ROWS;
        for (int i = 0; i < 3; i++)
            if (wrong[k][i] < first) first = wrong[k][i];
        for (uint32_t row = 0; row < ROWS; row++) {
            const bool bad = row == wrong[k][0] || row == wrong[k][1] || row == wrong[k][2];
            const uint32_t terms = row == LONG ? TERMS : 1;
            put_lc(&b, terms, 1, 1);
            put_lc(&b, 1, 2, 1);
            put_lc(&b, 1, 0, terms + (bad ? 1 : 0));
        }
        assert_int_equal(cuzk_buf_status(&b), CUZK_OK);
        cuzk_circom_r1cs r = {.name = (char[]){"r"},
                              .curve = curve,
                              .n_wires = 3,
                              .n_constraints = ROWS,
                              .constraints = (const uint8_t *)b.data,
                              .constraints_len = b.len};
        for (int threads = 0; threads < 2; threads++) {
            cuzk_circom_r1cs_failure f;
            cuzk_err err = {0};
            const cuzk_status st = cuzk_circom_r1cs_check(&r, &w, threads ? pool : NULL, &f, &err);
            assert_int_equal(st, first == ROWS ? CUZK_OK : CUZK_STATUS_FALSE);
            if (st == CUZK_OK) continue;
            assert_int_equal(f.index, first);
            assert_int_equal(f.value[0].l[0], first == LONG ? TERMS : 1);
            assert_int_equal(f.value[2].l[0], (first == LONG ? TERMS : 1) + 1);
            assert_int_equal(f.row.lc[0].n, first == LONG ? TERMS : 1);
        }
        cuzk_buf_free(&b);
    }
    cuzk_pool_free(pool);
}

/* mul3: wire 5 = wire 2 * wire 3, wire 1 = wire 5 * wire 4 (3 * 5 * 7). */
static void failures_are_explained(void **state) {
    (void)state;
    blob r = vector_read("bn128/mul3/mul3.r1cs"), w = vector_read("bn128/mul3/witness.wtns");
    const cuzk_u256 *mod = &cuzk_curve_get(CUZK_BN254)->fr->modulus;
    cuzk_circom_r1cs_failure f;
    cuzk_err err;
    assert_int_equal(cuzk_ld_u64le(w.p + 76 + 32), 105);
    w.p[76 + 32] = 104; /* wire 1 */
    assert_int_equal(check(r, w, &f, &err), CUZK_STATUS_FALSE);
    assert_has(err.msg, "constraint");
    const uint64_t *a = f.value[0].l, *b = f.value[1].l, *c = f.value[2].l;
    /* circom negates one side: (-x) * y = -z, so A and C are near r. */
    cuzk_u256 neg_a, neg_c;
    const cuzk_fr_ops *fr = cuzk_curve_get(CUZK_BN254)->fr;
    const cuzk_u256 zero = {{0}};
    fr->sub(&neg_a, &zero, &f.value[0]);
    fr->sub(&neg_c, &zero, &f.value[2]);
    bool negated = a[3] >> 32 == mod->l[3] >> 32;
    const uint64_t *pa = negated ? neg_a.l : a, *pc = negated ? neg_c.l : c;
    assert_int_equal(pa[0] * b[0], 105);
    assert_int_equal(pc[0], 104);
    assert_true((pa[1] | pa[2] | pa[3] | b[1] | b[2] | b[3] | pc[1] | pc[2] | pc[3]) == 0);
    blob_free(&r);
    blob_free(&w);
}

static void files_that_do_not_belong_together(void **state) {
    (void)state;
    cuzk_circom_r1cs_failure f;
    cuzk_err err;
    blob r = vector_read("bn128/mul3/mul3.r1cs"), w = vector_read("bls12381/mul3/witness.wtns"),
         w2 = vector_read("bn128/nopub/witness.wtns"),
         r3 = vector_read("bn128/poseidon2/poseidon2.r1cs"),
         w3 = vector_read("malformed/unsatisfied.wtns");
    assert_bad_input(check(r, w, &f, &err), &err, "w.wtns: section 1", "bls12381");
    assert_bad_input(check(r, w2, &f, &err), &err, "w.wtns: section 1", "4");
    assert_int_equal(check(r3, w3, &f, &err), CUZK_STATUS_FALSE);
    blob_free(&r);
    blob_free(&w);
    blob_free(&w2);
    blob_free(&r3);
    blob_free(&w3);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_vectors),
        cmocka_unit_test(truncation_at_every_offset),
        cmocka_unit_test(truncation_at_boundaries),
        cmocka_unit_test(header_fields),
        cmocka_unit_test(constraint_fields),
        cmocka_unit_test(section_sizes),
        cmocka_unit_test(sections_in_other_orders),
        cmocka_unit_test(custom_gates_are_refused),
        cmocka_unit_test(witnesses_satisfy),
        cmocka_unit_test(every_wire_is_bound),
        cmocka_unit_test(the_first_of_many),
        cmocka_unit_test(failures_are_explained),
        cmocka_unit_test(files_that_do_not_belong_together),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
