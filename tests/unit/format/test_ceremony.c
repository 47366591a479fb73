#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "support.h"

#include "base/bytes.h"
#include "format/zkey_ceremony.h"

#include <stdio.h>
#include <string.h>

/* Walks the whole section. */
static cuzk_status walk(blob b, uint32_t *n, cuzk_zkey_contribution *last, cuzk_err *err) {
    cuzk_zkey *zk;
    cuzk_zkey_ceremony c;
    *err = (cuzk_err){0};
    assert_int_equal(
        cuzk_zkey_from_memory(&zk, b.p, b.n, "k.zkey", CUZK_ZKEY_CHECK_SHAPE, NULL, err), CUZK_OK);
    cuzk_status st = cuzk_zkey_ceremony_begin(&c, zk, err);
    *n = 0;
    for (; st == CUZK_OK && *n < c.n; ++*n)
        st = cuzk_zkey_ceremony_next(&c, zk, last, err);
    if (st == CUZK_OK && c.present) {
        assert_int_equal(c.off, c.len); /* the files of snarkjs hold nothing behind the last */
        if (*n) assert_true(zk->curve->g1.eq(last->delta_after, zk->delta1));
        cuzk_zkey_contribution more;
        assert_int_equal(cuzk_zkey_ceremony_next(&c, zk, &more, err), CUZK_STATUS_BUG);
    }
    cuzk_zkey_free(zk);
    return st;
}

static void vectors(void **state) {
    (void)state;
    static const char *const file[] = {
        "bn128/mul3/circuit_final.zkey",     "bn128/poseidon2/circuit_final.zkey",
        "bn128/manypub/circuit_final.zkey",  "bls12381/mul3/circuit_final.zkey",
        "bls12381/nopub/circuit_final.zkey", "tolerated/section_order.zkey",
    };
    for (size_t i = 0; i < sizeof file / sizeof file[0]; i++) {
        blob b = vector_read(file[i]);
        uint32_t n;
        cuzk_zkey_contribution last;
        cuzk_err err;
        cuzk_status st = walk(b, &n, &last, &err);
        if (st != CUZK_OK) fail_msg("%s: %s", file[i], err.msg);
        assert_int_equal(n, cuzk_ld_u32le(b.p + section_of(b, 10).off + 64));
        blob_free(&b);
    }
}

/* A section with a contribution by name and a beacon, as snarkjs lays them out. */
static blob with_ceremony(blob key, const uint8_t *params, size_t n_params, uint32_t count) {
    static uint8_t s[4096];
    size_t n = 0, points = 5 * 64; /* three of G1, one of G2 */
    span h = section_of(key, 2), old = section_of(key, 10);
    memset(s, 7, 64);
    cuzk_st_u32le(s + 64, count);
    n = 68;
    memcpy(s + n, key.p + h.off + 84 + 64 + 64 + 128 + 128, 64); /* delta1 */
    memset(s + n + 64, 0, points - 64);
    n += points;
    memset(s + n, 9, 64);
    n += 64;
    cuzk_st_u32le(s + n, 1);
    cuzk_st_u32le(s + n + 4, (uint32_t)n_params);
    memcpy(s + n + 8, params, n_params);
    n += 8 + n_params;
    blob b = blob_splice(key, old.off, old.len, s, n);
    cuzk_st_u64le(b.p + old.header + 4, n);
    return b;
}

static void parameters(void **state) {
    (void)state;
    static const uint8_t good[] = {1, 3, 'A', 'd', 'a', 2, 10, 3, 2, 0xbe, 0xef};
    blob key = vector_read("bn128/mul3/circuit_final.zkey");
    blob b = with_ceremony(key, good, sizeof good, 1);
    uint32_t n;
    cuzk_zkey_contribution k;
    cuzk_err err = {0};
    cuzk_zkey *zk;
    cuzk_zkey_ceremony c;
    assert_int_equal(cuzk_zkey_from_memory(&zk, b.p, b.n, "k", CUZK_ZKEY_CHECK_SHAPE, NULL, &err),
                     CUZK_OK);
    assert_int_equal(cuzk_zkey_ceremony_begin(&c, zk, &err), CUZK_OK);
    assert_int_equal(c.n, 1);
    assert_int_equal(c.cs_hash[63], 7);
    assert_int_equal(cuzk_zkey_ceremony_next(&c, zk, &k, &err), CUZK_OK);
    assert_int_equal(k.type, 1);
    assert_int_equal(k.contributor_len, 3);
    assert_memory_equal(k.contributor, "Ada", 3);
    assert_true(k.has_iterations && k.iterations_log2 == 10);
    assert_int_equal(k.beacon_len, 2);
    assert_memory_equal(k.beacon, "\xbe\xef", 2);
    assert_int_equal(k.transcript[0], 9);
    cuzk_zkey_free(zk);
    blob_free(&b);
    /* every cut of the parameters, with the lengths kept true */
    for (size_t m = 0; m < sizeof good; m++) {
        b = with_ceremony(key, good, m, 1);
        bool whole = m == 0 || m == 5 || m == 7;
        cuzk_status st = walk(b, &n, &k, &err);
        if (whole)
            assert_int_equal(st, CUZK_OK);
        else
            assert_bad_input(st, &err, "section 10 (contributions)", "parameter");
        blob_free(&b);
    }
    static const uint8_t unknown[] = {4, 0};
    b = with_ceremony(key, unknown, 2, 1);
    assert_bad_input(walk(b, &n, &k, &err), &err, "section 10 (contributions)", "kind 4");
    blob_free(&b);
    blob_free(&key);
}

static void lies(void **state) {
    (void)state;
    blob key = vector_read("bn128/mul3/circuit_final.zkey");
    uint32_t n;
    cuzk_zkey_contribution k;
    cuzk_err err;
    static const uint32_t counts[] = {2, 1000, 0x7fffffff, UINT32_MAX};
    for (size_t i = 0; i < 4; i++) {
        blob b = with_ceremony(key, (const uint8_t *)"", 0, counts[i]);
        assert_bad_input(walk(b, &n, &k, &err), &err, "section 10 (contributions)",
                         "contribution 1");
        blob_free(&b);
    }
    blob b = with_ceremony(key, (const uint8_t *)"", 0, 1);
    span s = section_of(b, 10);
    static const uint32_t lengths[] = {1, 0x7fffffff, UINT32_MAX};
    for (size_t i = 0; i < 3; i++) {
        cuzk_st_u32le(b.p + s.off + s.len - 4, lengths[i]);
        assert_bad_input(walk(b, &n, &k, &err), &err, "section 10 (contributions)",
                         "contribution 0");
    }
    /* the section shorter than its fixed part, at every length */
    for (size_t len = 0; len < s.len; len++) {
        blob cut = blob_splice(b, s.off + len, s.len - len, NULL, 0);
        cuzk_st_u64le(cut.p + s.header + 4, len);
        assert_bad_input(walk(cut, &n, &k, &err), &err, "section 10 (contributions)", NULL);
        blob_free(&cut);
    }
    blob_free(&b);
    static const uint32_t without[] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 0};
    b = container_rebuild(key, without, 0);
    assert_int_equal(walk(b, &n, &k, &err), CUZK_OK);
    assert_int_equal(n, 0);
    blob_free(&b);
    blob_free(&key);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(vectors),
        cmocka_unit_test(parameters),
        cmocka_unit_test(lies),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
