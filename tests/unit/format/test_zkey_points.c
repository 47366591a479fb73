/* The points of a zkey: canonical, on the curve, in the subgroup, at which check level. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "support.h"

#include "base/bytes.h"
#include "base/thread.h"
#include "format/zkey.h"
#include "outside_points.h"

#include <stdio.h>
#include <string.h>

static const char *const MUL3[] = {"bn128/mul3/circuit_final.zkey",
                                   "bls12381/mul3/circuit_final.zkey"};
static const char *const POSEIDON[] = {"bn128/poseidon2/circuit_final.zkey",
                                       "bls12381/poseidon2/circuit_final.zkey"};
static cuzk_pool *pool;

static const cuzk_curve *curve_of(size_t k) {
    return cuzk_curve_get(k ? CUZK_BLS12_381 : CUZK_BN254);
}

static cuzk_status parse(blob b, cuzk_zkey_check check, cuzk_err *err) {
    cuzk_zkey *zk;
    *err = (cuzk_err){0};
    cuzk_status st = cuzk_zkey_from_memory(&zk, b.p, b.n, "k.zkey", check, pool, err);
    cuzk_zkey_free(zk);
    return st;
}

static void expect_bad(blob b, cuzk_zkey_check check, const char *part1, const char *part2) {
    cuzk_err err;
    cuzk_status st = parse(b, check, &err);
    assert_bad_input(st, &err, part1, part2);
    assert_has(err.msg, "k.zkey: ");
    assert_has(err.msg, "offset");
}

static void expect_ok(blob b, cuzk_zkey_check check) {
    cuzk_err err;
    cuzk_status st = parse(b, check, &err);
    if (st != CUZK_OK) fail_msg("%s", err.msg);
}

/* Puts p, outside the subgroup of a group, into out in Montgomery form; false where the group is
 * the whole curve. */
static bool outside_point(const cuzk_curve *c, cuzk_group g, uint8_t *out) {
    if (g == CUZK_G1 && c->id == CUZK_BN254) return false;
    size_t n = 8 * (size_t)c->fp_limbs, coords = g == CUZK_G1 ? 2 : 4;
    const uint64_t *plain = g == CUZK_G1          ? outside_bls12_381_g1
                            : c->id == CUZK_BN254 ? outside_bn254_g2
                                                  : outside_bls12_381_g2;
    for (size_t i = 0; i < coords; i++)
        c->fp_to_mont(out + i * n, plain + i * c->fp_limbs);
    assert_true(cuzk_curve_group(c, g)->on_curve(out));
    assert_false(cuzk_curve_group(c, g)->in_subgroup(out));
    return true;
}

/* Bad points one after the other at `at`; `shape`: the level SHAPE already sees them. */
static void try_point(blob b, const cuzk_curve *c, cuzk_group g, size_t at, const char *part,
                      bool on_curve_at_shape, bool subgroup_at_shape) {
    size_t n = cuzk_curve_group(c, g)->point_size, fp = 8 * (size_t)c->fp_limbs;
    uint8_t save[CUZK_POINT_MAX];
    memcpy(save, b.p + at, n);
    char where[96];
    snprintf(where, sizeof where, "at offset %zu", at);
    for (int kind = 0; kind < 4; kind++) {
        memcpy(b.p + at, save, n);
        if (kind == 0) { /* y + 1 or so, and (x, 0) for infinity */
            b.p[at + n - fp] ^= 1;
        } else if (kind == 1) { /* x = q */
            memcpy(b.p + at, c->fp_modulus, fp);
        } else if (kind == 2) {
            memset(b.p + at + n - fp, 0xff, fp);
        } else if (!outside_point(c, g, b.p + at)) {
            break;
        }
        static const char *const why[] = {"not on the curve", "not below q", "not below q",
                                          "outside"};
        bool at_shape = kind == 3 ? subgroup_at_shape : on_curve_at_shape;
        bool at_curve = kind == 3 ? subgroup_at_shape : true;
        if (at_shape)
            expect_bad(b, CUZK_ZKEY_CHECK_SHAPE, part, why[kind]);
        else
            expect_ok(b, CUZK_ZKEY_CHECK_SHAPE);
        if (at_curve)
            expect_bad(b, CUZK_ZKEY_CHECK_CURVE, part, why[kind]);
        else
            expect_ok(b, CUZK_ZKEY_CHECK_CURVE);
        expect_bad(b, CUZK_ZKEY_CHECK_FULL, where, part);
    }
    memcpy(b.p + at, save, n);
}

static void good_keys_pass_everything(void **state) {
    (void)state;
    for (size_t k = 0; k < 2; k++) {
        blob b = vector_read(POSEIDON[k]);
        expect_ok(b, CUZK_ZKEY_CHECK_FULL);
        blob_free(&b);
    }
}

static void header_points(void **state) {
    (void)state;
    static const char *const name[] = {"alpha1", "beta1", "beta2", "gamma2", "delta1", "delta2"};
    static const int g2[] = {0, 0, 1, 1, 0, 1};
    for (size_t k = 0; k < 2; k++) {
        const cuzk_curve *c = curve_of(k);
        blob b =
            vector_read(k ? "bls12381/mul3/circuit_final.zkey" : "bn128/mul3/circuit_final.zkey");
        size_t at = section_of(b, 2).off + (k ? 100 : 84);
        for (size_t i = 0; i < 6; i++) {
            cuzk_group g = g2[i] ? CUZK_G2 : CUZK_G1;
            size_t n = cuzk_curve_group(c, g)->point_size;
            try_point(b, c, g, at, name[i], true, true);
            uint8_t save[CUZK_POINT_MAX];
            memcpy(save, b.p + at, n);
            memset(b.p + at, 0, n);
            expect_bad(b, CUZK_ZKEY_CHECK_SHAPE, "section 2", "infinity");
            memcpy(b.p + at, save, n);
            at += n;
        }
        blob_free(&b);
    }
}

static void section_points(void **state) {
    (void)state;
    uint64_t rng = test_seed();
    for (size_t k = 0; k < 2; k++) {
        const cuzk_curve *c = curve_of(k);
        blob b = vector_read(MUL3[k]);
        for (uint32_t type = 3; type <= 9; type++) {
            if (type == 4) continue;
            cuzk_group g = type == 7 ? CUZK_G2 : CUZK_G1;
            size_t size = cuzk_curve_group(c, g)->point_size;
            span s = section_of(b, type);
            size_t n = s.len / size, pick[] = {0, n - 1, test_random(&rng) % n};
            char part[64];
            for (size_t i = 0; i < 3; i++) {
                snprintf(part, sizeof part, "point %zu:", pick[i]);
                try_point(b, c, g, s.off + pick[i] * size, part, type == 3, type == 3);
            }
        }
        expect_ok(b, CUZK_ZKEY_CHECK_FULL);
        blob_free(&b);
    }
}

/* Two bad points: the first is named. And a check on request gives the same answer as one at
 * open. */
static void check_on_request(void **state) {
    (void)state;
    for (size_t k = 0; k < 2; k++) {
        const cuzk_curve *c = curve_of(k);
        blob b = vector_read(POSEIDON[k]);
        span s = section_of(b, 9);
        b.p[s.off + 200 * c->g1.point_size] ^= 1;
        b.p[s.off + 100 * c->g1.point_size] ^= 1;
        cuzk_zkey *zk;
        cuzk_err err = {0};
        assert_int_equal(
            cuzk_zkey_from_memory(&zk, b.p, b.n, "k", CUZK_ZKEY_CHECK_SHAPE, pool, &err), CUZK_OK);
        for (int full = 0; full < 2; full++) {
            assert_bad_input(cuzk_zkey_check_points(zk, full, pool, &err), &err, "section 9 (H)",
                             "point 100:");
            assert_bad_input(cuzk_zkey_check_points(zk, full, NULL, &err), &err, "section 9 (H)",
                             "point 100:");
        }
        cuzk_zkey_free(zk);
        blob_free(&b);
    }
}

static void manifest(void **state) {
    (void)state;
    blob b = vector_read("malformed/pointA_off_curve.zkey");
    expect_ok(b, CUZK_ZKEY_CHECK_SHAPE); /* found by check_points once the proof does not verify */
    expect_bad(b, CUZK_ZKEY_CHECK_CURVE, "section 5 (A)", "point 1:");
    blob_free(&b);
}

static int setup(void **state) {
    (void)state;
    return cuzk_pool_new(&pool, 2) == CUZK_OK ? 0 : -1;
}

static int teardown(void **state) {
    (void)state;
    cuzk_pool_free(pool);
    return 0;
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(good_keys_pass_everything),
        cmocka_unit_test(header_points),
        cmocka_unit_test(section_points),
        cmocka_unit_test(check_on_request),
        cmocka_unit_test(manifest),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
