#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "support.h"

#include "base/bytes.h"
#include "format/ptau.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { POWER = 3 };

/* A file of that power whose points are all at infinity; the sizes are what counts here. */
static blob make(const cuzk_curve *c, bool prepared) {
    size_t g1 = c->g1.point_size, g2 = c->g2.point_size, n = 1 << POWER, q = 8 * c->fp_limbs;
    const struct {
        uint32_t type;
        size_t len;
    } part[] = {
        {1, 4 + q + 8},
        {2, (2 * n - 1) * g1},
        {3, n * g2},
        {4, n * g1},
        {5, n * g1},
        {6, g2},
        {7, 4},
        {12, (4 * n - 1) * g1},
        {13, (2 * n - 1) * g2},
        {14, (2 * n - 1) * g1},
        {15, (2 * n - 1) * g1},
    };
    size_t parts = prepared ? 11 : 7, total = 12;
    for (size_t i = 0; i < parts; i++)
        total += 12 + part[i].len;
    blob b = {calloc(1, total), total};
    assert_non_null(b.p);
    memcpy(b.p, "ptau", 4);
    cuzk_st_u32le(b.p + 4, 1);
    cuzk_st_u32le(b.p + 8, (uint32_t)parts);
    size_t at = 12;
    for (size_t i = 0; i < parts; i++) {
        cuzk_st_u32le(b.p + at, part[i].type);
        cuzk_st_u64le(b.p + at + 4, part[i].len);
        at += 12 + part[i].len;
    }
    size_t h = section_of(b, 1).off;
    cuzk_st_u32le(b.p + h, (uint32_t)q);
    memcpy(b.p + h + 4, c->fp_modulus, q);
    cuzk_st_u32le(b.p + h + 4 + q, POWER);
    cuzk_st_u32le(b.p + h + 8 + q, POWER + 1);
    return b;
}

static cuzk_status parse(blob b, cuzk_ptau_header *h, cuzk_err *err) {
    *err = (cuzk_err){0};
    return cuzk_ptau_read(h, b.p, b.n, "p.ptau", err);
}

static void expect_bad(blob b, const char *part1, const char *part2) {
    cuzk_ptau_header h;
    cuzk_err err;
    assert_bad_input(parse(b, &h, &err), &err, part1, part2);
    assert_has(err.msg, "p.ptau: ");
    assert_has(err.msg, "offset");
}

static void headers(void **state) {
    (void)state;
    for (int k = 0; k < 4; k++) {
        const cuzk_curve *c = cuzk_curve_get(k & 1 ? CUZK_BLS12_381 : CUZK_BN254);
        blob b = make(c, k & 2);
        cuzk_ptau_header h;
        cuzk_err err;
        cuzk_status st = parse(b, &h, &err);
        if (st != CUZK_OK) fail_msg("%s", err.msg);
        assert_ptr_equal(h.curve, c);
        assert_int_equal(h.power, POWER);
        assert_int_equal(h.ceremony_power, POWER + 1);
        assert_int_equal(h.prepared, (k & 2) != 0);
        size_t at = section_of(b, 1).off + 4 + 8 * c->fp_limbs;
        static const uint32_t bad[] = {0, 1, 2, 4, 5, 29, 33, UINT32_MAX};
        for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
            cuzk_st_u32le(b.p + at, bad[i]);
            expect_bad(b, "section", NULL);
        }
        cuzk_st_u32le(b.p + at, POWER);
        cuzk_st_u32le(b.p + at + 4, POWER - 1);
        expect_bad(b, "section 1", "ceremony");
        cuzk_st_u32le(b.p + at + 4, POWER);
        b.p[at - 1] ^= 1;
        expect_bad(b, "section 1", "another curve");
        blob_free(&b);
    }
}

static void truncation_and_sizes(void **state) {
    (void)state;
    blob b = make(cuzk_curve_get(CUZK_BN254), true);
    for (size_t n = 0; n < b.n; n++) {
        blob cut = blob_copy(b.p, n);
        expect_bad(cut, n < 12 ? "file header" : "section", "truncated");
        blob_free(&cut);
    }
    for (uint32_t i = 0; i < section_count(b); i++) {
        uint32_t type;
        span s = section_at(b, i, &type);
        if (type == 7) continue; /* the contributions are not read */
        char part[16];
        snprintf(part, sizeof part, "section %u", type);
        blob shorter = blob_splice(b, s.off + s.len - 1, 1, NULL, 0);
        cuzk_st_u64le(shorter.p + s.header + 4, s.len - 1);
        expect_bad(shorter, part, NULL);
        blob_free(&shorter);
        blob longer = blob_splice(b, s.off, 0, "", 1);
        cuzk_st_u64le(longer.p + s.header + 4, s.len + 1);
        expect_bad(longer, part, NULL);
        blob_free(&longer);
        if (type == 12) continue; /* its absence means: not prepared */
        cuzk_st_u32le(b.p + s.header, 99);
        expect_bad(b, part, "none");
        cuzk_st_u32le(b.p + s.header, type);
    }
    blob_free(&b);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(headers),
        cmocka_unit_test(truncation_and_sizes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
