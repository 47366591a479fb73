#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "support.h"

#include "base/bytes.h"
#include "format/wtns.h"

#include <stdio.h>
#include <string.h>

static cuzk_status parse(blob b, cuzk_err *err) {
    cuzk_wtns *w;
    *err = (cuzk_err){0};
    cuzk_status st = cuzk_wtns_from_memory(&w, b.p, b.n, "w.wtns", err);
    if (st != CUZK_OK) assert_null(w);
    cuzk_wtns_free(w);
    return st;
}

static void expect_bad(blob b, const char *part1, const char *part2) {
    cuzk_err err;
    cuzk_status st = parse(b, &err);
    assert_bad_input(st, &err, part1, part2);
    assert_has(err.msg, "w.wtns: ");
    assert_has(err.msg, "offset");
}

static void reads_vectors(void **state) {
    (void)state;
    static const struct {
        const char *dir;
        const char *curve;
        uint32_t n;
    } v[] = {
        {"bn128/mul3", "bn128", 6},        {"bn128/nopub", "bn128", 4},
        {"bn128/poseidon2", "bn128", 243}, {"bn128/semaphore20", "bn128", 6454},
        {"bn128/manypub", "bn128", 4097},  {"bls12381/mul3", "bls12381", 6},
        {"bls12381/nopub", "bls12381", 4}, {"bls12381/poseidon2", "bls12381", 243},
    };
    for (size_t i = 0; i < sizeof v / sizeof v[0]; i++) {
        char path[512];
        snprintf(path, sizeof path, "%s/circom/%s/witness.wtns", CUZK_TEST_VECTORS, v[i].dir);
        cuzk_wtns *w;
        cuzk_err err = {0};
        assert_int_equal(cuzk_wtns_open(&w, path, &err), CUZK_OK);
        assert_string_equal(w->curve->circom, v[i].curve);
        assert_int_equal(w->n, v[i].n);
        assert_int_equal(w->values - w->map.data, 76);
        assert_int_equal(cuzk_ld_u64le(w->values), 1);
        cuzk_wtns_free(w);
    }
}

static void truncation_at_every_offset(void **state) {
    (void)state;
    static const char *const files[] = {"bn128/mul3/witness.wtns", "bls12381/mul3/witness.wtns"};
    for (size_t k = 0; k < 2; k++) {
        blob whole = vector_read(files[k]);
        span s2 = section_of(whole, 2);
        for (size_t n = 0; n < whole.n; n++) {
            blob b = blob_copy(whole.p, n);
            const char *part = n < 12              ? "file header"
                               : n < 16            ? "section"
                               : n < s2.header     ? "section 1"
                               : n < s2.header + 4 ? "section"
                                                   : "section 2";
            expect_bad(b, part, NULL);
            blob_free(&b);
        }
        blob_free(&whole);
    }
}

static void header_fields(void **state) {
    (void)state;
    blob b = vector_read("bn128/mul3/witness.wtns");
    cuzk_err err;
    size_t h = section_of(b, 1).off;
    static const uint32_t bad_n8[] = {0, 1, 31, 33, 48, 64, UINT32_MAX};
    for (size_t i = 0; i < sizeof bad_n8 / sizeof bad_n8[0]; i++) {
        cuzk_st_u32le(b.p + h, bad_n8[i]);
        expect_bad(b, "section 1", "32 bytes");
    }
    cuzk_st_u32le(b.p + h, 32);
    for (size_t i = 0; i < 32; i++) {
        b.p[h + 4 + i] ^= 0x10;
        expect_bad(b, "section 1 (header) at offset 28", "another curve");
        b.p[h + 4 + i] ^= 0x10;
    }
    static const uint32_t bad_n[] = {0, 1, 5, 7, 0x7fffffff, UINT32_MAX};
    for (size_t i = 0; i < sizeof bad_n / sizeof bad_n[0]; i++) {
        cuzk_st_u32le(b.p + h + 36, bad_n[i]);
        expect_bad(b, bad_n[i] ? "section 2" : "section 1", NULL);
    }
    cuzk_st_u32le(b.p + h + 36, 6);
    static const uint32_t bad_version[] = {0, 1, 3, UINT32_MAX};
    for (size_t i = 0; i < sizeof bad_version / sizeof bad_version[0]; i++) {
        cuzk_st_u32le(b.p + 4, bad_version[i]);
        expect_bad(b, "file header", "version");
    }
    cuzk_st_u32le(b.p + 4, 2);
    assert_int_equal(parse(b, &err), CUZK_OK);
    blob_free(&b);
}

static void section_lengths(void **state) {
    (void)state;
    blob b = vector_read("bn128/mul3/witness.wtns");
    for (uint32_t type = 1; type <= 2; type++) {
        span s = section_of(b, type);
        char part[16];
        snprintf(part, sizeof part, "section %u", type);
        const uint64_t bad[] = {0, s.len - 32, s.len - 1, s.len + 1, UINT64_MAX};
        for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
            cuzk_st_u64le(b.p + s.header + 4, bad[i]);
            cuzk_err err;
            cuzk_status st = parse(b, &err);
            /* A wrong length of section 1 may surface as garbage where section 2 should begin. */
            assert_bad_input(st, &err, type == 2 ? part : "section", NULL);
        }
        cuzk_st_u64le(b.p + s.header + 4, s.len);
    }
    blob_free(&b);
}

/* Grows section 1 or 2 together with its length field: the container is whole, the format is not.*/
static void section_contents_too_long_or_short(void **state) {
    (void)state;
    blob b = vector_read("bn128/mul3/witness.wtns");
    for (uint32_t type = 1; type <= 2; type++) {
        char part[16];
        snprintf(part, sizeof part, "section %u", type);
        span s = section_of(b, type);
        blob longer = blob_splice(b, s.off + s.len, 0, "x", 1);
        cuzk_st_u64le(longer.p + s.header + 4, s.len + 1);
        expect_bad(longer, part, NULL);
        blob_free(&longer);
        for (size_t cut = 1; cut <= s.len; cut++) {
            blob shorter = blob_splice(b, s.off + s.len - cut, cut, NULL, 0);
            cuzk_st_u64le(shorter.p + s.header + 4, s.len - cut);
            expect_bad(shorter, part, NULL);
            blob_free(&shorter);
        }
    }
    blob_free(&b);
}

static void values_out_of_range(void **state) {
    (void)state;
    static const char *const files[] = {"bn128/mul3/witness.wtns", "bls12381/mul3/witness.wtns"};
    for (size_t k = 0; k < 2; k++) {
        blob b = vector_read(files[k]);
        span s = section_of(b, 2);
        cuzk_err err;
        const cuzk_u256 *r = &cuzk_curve_get(k ? CUZK_BLS12_381 : CUZK_BN254)->fr->modulus;
        for (uint32_t i = 0; i < s.len / 32; i++) {
            uint8_t save[32], *v = b.p + s.off + 32 * i;
            char part[64];
            memcpy(save, v, 32);
            snprintf(part, sizeof part, "offset %zu: wire %u", s.off + 32 * i, i);
            memcpy(v, r->l, 32);
            expect_bad(b, part, "below r");
            v[0]++; /* r + 1 */
            expect_bad(b, part, "below r");
            memset(v, 0xff, 32);
            expect_bad(b, part, "below r");
            memcpy(v, r->l, 32);
            v[0]--; /* r - 1 */
            if (i == 0)
                expect_bad(b, part, "constant 1");
            else
                assert_int_equal(parse(b, &err), CUZK_OK);
            memcpy(v, save, 32);
        }
        memset(b.p + s.off, 0, 32);
        expect_bad(b, "wire 0", "actual 0");
        blob_free(&b);
    }
}

static void sections_in_other_order_and_odd(void **state) {
    (void)state;
    blob b = vector_read("bls12381/poseidon2/witness.wtns");
    static const uint32_t order[] = {2, 1, 0};
    for (size_t odd = 0; odd < 5; odd++) {
        blob c = container_rebuild(b, order, odd);
        cuzk_wtns *w;
        cuzk_err err = {0};
        assert_int_equal(cuzk_wtns_from_memory(&w, c.p, c.n, "w", &err), CUZK_OK);
        assert_int_equal(w->n, 243);
        assert_memory_equal(w->values, b.p + 76, 243 * 32);
        cuzk_wtns_free(w);
        blob_free(&c);
    }
    static const uint32_t only[2][2] = {{1, 0}, {2, 0}};
    for (size_t i = 0; i < 2; i++) {
        blob c = container_rebuild(b, only[i], 0);
        expect_bad(c, i ? "section 1" : "section 2", "none");
        blob_free(&c);
    }
    blob_free(&b);
}

static void manifest(void **state) {
    (void)state;
    static const struct {
        const char *file, *part1, *part2;
    } row[] = {
        {"malformed/truncated.wtns", "section 2", "truncated"},
        {"malformed/noncanonical_private.wtns", "section 2", "wire 242"},
        {"malformed/wire0_is_2.wtns", "section 2", "actual 2"},
        {"malformed/wrong_prime.wtns", "section 1", "another curve"},
    };
    cuzk_err err;
    for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
        blob b = vector_read(row[i].file);
        expect_bad(b, row[i].part1, row[i].part2);
        blob_free(&b);
    }
    blob b = vector_read("malformed/unsatisfied.wtns"); /* well formed: the proof is false */
    assert_int_equal(parse(b, &err), CUZK_OK);
    blob_free(&b);
}

static void files_that_cannot_be_read(void **state) {
    (void)state;
    cuzk_wtns *w;
    cuzk_err err = {0};
    assert_int_equal(cuzk_wtns_open(&w, "/nonexistent/x.wtns", &err), CUZK_STATUS_IO);
    assert_null(w);
    assert_has(err.msg, "/nonexistent/x.wtns");
    assert_int_equal(cuzk_wtns_open(&w, "/tmp", &err), CUZK_STATUS_IO);
    assert_int_equal(cuzk_wtns_open(&w, "/dev/null", &err), CUZK_STATUS_IO);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_vectors),
        cmocka_unit_test(truncation_at_every_offset),
        cmocka_unit_test(header_fields),
        cmocka_unit_test(section_lengths),
        cmocka_unit_test(section_contents_too_long_or_short),
        cmocka_unit_test(values_out_of_range),
        cmocka_unit_test(sections_in_other_order_and_odd),
        cmocka_unit_test(manifest),
        cmocka_unit_test(files_that_cannot_be_read),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
