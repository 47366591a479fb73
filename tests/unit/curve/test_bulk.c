/* Operations on many points: fixed-base products and checks. */
#include "support.h"

#include "points.h"

#include "base/mem.h"

static void *take(size_t bytes) {
    void *p;
    assert_int_equal(cuzk_alloc(&p, bytes, 1), CUZK_OK);
    return p;
}

/* Scalar i of a list that begins with the special ones. */
static void pick_scalar(const cuzk_curve *c, cuzk_u256 *k, size_t i) {
    memset(k, 0, sizeof *k);
    if (i < 4) {
        k->l[0] = i;
    } else if (i < 8) {
        *k = c->fr->modulus;
        k->l[0] -= i - 3;
    } else if (i < 8 + c->fr->bits - 1) {
        k->l[(i - 8) / 64] = (uint64_t)1 << (i - 8) % 64; /* each window's first and last bit */
    } else if (i % 4 == 0) {
        k->l[test_rng() % 4] = test_rng();
        k->l[3] >>= 4;
    } else {
        random_scalar(c, k);
    }
}

static void fixed_base_is_mul(void **state) {
    (void)state;
    static const size_t sizes[] = {0, 1, 2, 5, 270, 700};
    cuzk_pool *pools[2] = {NULL, NULL};
    assert_int_equal(cuzk_pool_new(&pools[1], 3), CUZK_OK);
    for (int i = 0; i < 4; i++) {
        const cuzk_curve *c = cuzk_curve_get(both_curves[i / 2]);
        const cuzk_group g = both_groups[i % 2];
        const cuzk_group_ops *ops = cuzk_curve_group(c, g);
        for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
            const size_t n = sizes[s], size = ops->point_size;
            uint8_t *scalars = take(32 * n + 1), *out = take(size * n + 2);
            cuzk_u256 k;
            cuzk_point base, want;
            random_subgroup_point(c, g, &base);
            if (n == 2) memset(&base, 0, sizeof base);
            memset(out, 0xa5, size * n + 2);
            for (size_t j = 0; j < n; j++) {
                pick_scalar(c, &k, n < 100 ? (size_t)test_rng() : j);
                memcpy(scalars + 1 + 32 * j, &k, 32);
            }
            assert_int_equal(
                cuzk_fixed_base_mul(c, g, out + 1, &base, scalars + 1, n, pools[s % 2]), CUZK_OK);
            for (size_t j = 0; j < n; j++) {
                if (n > 300 && j % 7) continue;
                memcpy(&k, scalars + 1 + 32 * j, 32);
                ops->mul(&want, &base, &k);
                assert_true(ops->eq(out + 1 + size * j, &want));
            }
            assert_int_equal(out[0], 0xa5);
            assert_int_equal(out[1 + size * n], 0xa5);
            cuzk_free(scalars);
            cuzk_free(out);
        }
    }
    cuzk_pool_free(pools[1]);
}

enum { OFF_CURVE, NOT_CANONICAL, OUTSIDE, KINDS };

static void spoil(const cuzk_curve *c, cuzk_group g, uint8_t *a, int kind) {
    const size_t size = cuzk_curve_group(c, g)->point_size;
    cuzk_point p;
    if (kind == OFF_CURVE)
        a[0] ^= 1;
    else if (kind == NOT_CANONICAL)
        memset(a + size / 2, 0xff, size / 2);
    else {
        random_curve_point(c, g, &p);
        memcpy(a, &p, size);
    }
}

static void first_bad_point_is_found(void **state) {
    (void)state;
    cuzk_pool *pools[2] = {NULL, NULL};
    assert_int_equal(cuzk_pool_new(&pools[1], 3), CUZK_OK);
    for (int i = 0; i < 4; i++) {
        const cuzk_curve *c = cuzk_curve_get(both_curves[i / 2]);
        const cuzk_group g = both_groups[i % 2];
        const cuzk_group_ops *ops = cuzk_curve_group(c, g);
        const size_t n = 300, size = ops->point_size;
        uint8_t *good = take(size * n + 1), *pts = take(size * n + 1);
        uint8_t *scalars = take(32 * n);
        cuzk_u256 k;
        for (size_t j = 0; j < n; j++) {
            random_scalar(c, &k);
            if (j % 10 == 7) memset(&k, 0, sizeof k); /* infinity is good */
            if (j % 10 == 8) k = (cuzk_u256){{5}};    /* equal points */
            memcpy(scalars + 32 * j, &k, 32);
        }
        assert_int_equal(cuzk_fixed_base_mul(c, g, good + 1, ops->generator, scalars, n, NULL),
                         CUZK_OK);
        for (int subgroup = 0; subgroup < 2; subgroup++) {
            assert_int_equal(cuzk_points_first_bad(c, g, good + 1, 0, subgroup, NULL), 0);
            assert_int_equal(cuzk_points_first_bad(c, g, good + 1, 1, subgroup, NULL), 1);
            for (int p = 0; p < 2; p++)
                assert_int_equal(cuzk_points_first_bad(c, g, good + 1, n, subgroup, pools[p]), n);
        }
        for (int kind = 0; kind < KINDS; kind++) {
            if (kind == OUTSIDE && c->id == CUZK_BN254 && g == CUZK_G1) continue;
            for (int round = 0; round < 4; round++) {
                size_t at = (size_t)test_rng() % n;
                if (round == 0) at = 0;
                if (round == 1) at = n - 1;
                memcpy(pts, good, size * n + 1);
                spoil(c, g, pts + 1 + size * at, kind);
                if (round == 3) { /* more of them further on, of any kind that is bad for both */
                    for (int more = 0; more < 3; more++) {
                        const size_t next = at + (size_t)test_rng() % (n - at);
                        if (next != at) spoil(c, g, pts + 1 + size * next, more % 2);
                    }
                }
                const size_t got = cuzk_points_first_bad(c, g, pts + 1, n, true, pools[round % 2]);
                assert_int_equal(got, at);
                if (kind != OUTSIDE || round < 3)
                    assert_int_equal(
                        cuzk_points_first_bad(c, g, pts + 1, n, false, pools[round % 2]),
                        kind == OUTSIDE ? n : at);
            }
        }
        cuzk_free(good);
        cuzk_free(pts);
        cuzk_free(scalars);
    }
    cuzk_pool_free(pools[1]);
}

/* Points outside the subgroup whose errors cancel in the sum of all. */
static void errors_that_cancel_are_found(void **state) {
    (void)state;
    for (int i = 1; i < 4; i++) {
        const cuzk_curve *c = cuzk_curve_get(both_curves[i / 2]);
        const cuzk_group g = both_groups[i % 2];
        const cuzk_group_ops *ops = cuzk_curve_group(c, g);
        const size_t n = 300, size = ops->point_size;
        uint8_t *pts = take(size * n);
        cuzk_point r, t, minus;
        mpz_t order;
        mpz_init(order);
        fr_modulus(order, c);
        for (int round = 0; round < 4; round++) {
            for (size_t j = 0; j < n; j++)
                memcpy(pts + size * j, ops->generator, size);
            random_curve_point(c, g, &r);
            mul_any(ops, &t, &r, order);
            if (c->id == CUZK_BLS12_381 && g == CUZK_G1 && round % 2) {
                /* order 3: (0, 2) */
                memset(&t, 0, sizeof t);
                t.b[48] = 2;
                c->fp_to_mont(t.b + 48, t.b + 48);
            }
            ops->neg(&minus, &t);
            const size_t at = (size_t)test_rng() % (n / 2), pairs = 1 + (size_t)test_rng() % 20;
            for (size_t j = 0; j < 2 * pairs; j++) {
                uint8_t *a = pts + size * (at + j * (n / 2 / 40));
                ops->add(a, a, j % 2 ? &minus : &t);
            }
            assert_int_equal(cuzk_points_first_bad(c, g, pts, n, true, NULL), at);
            assert_int_equal(cuzk_points_first_bad(c, g, pts, n, false, NULL), n);
        }
        mpz_clear(order);
        cuzk_free(pts);
    }
}

/* More points than are added up together, and a bad one among the last. */
static void many_points(void **state) {
    (void)state;
    const cuzk_curve *c = cuzk_curve_get(CUZK_BLS12_381);
    const size_t n = 40000, size = c->g1.point_size;
    uint8_t *pts = take(size * n);
    uint8_t *scalars = take(32 * 500);
    cuzk_pool *pool;
    assert_int_equal(cuzk_pool_new(&pool, 2), CUZK_OK);
    test_rng_bytes(scalars, 32 * 500);
    for (size_t i = 0; i < 500; i++)
        scalars[32 * i + 31] = 0;
    assert_int_equal(cuzk_fixed_base_mul(c, CUZK_G1, pts, c->g1.generator, scalars, 500, pool),
                     CUZK_OK);
    for (size_t i = 500; i < n; i++)
        memcpy(pts + size * i, pts + size * (i - 500), size);
    assert_int_equal(cuzk_points_first_bad(c, CUZK_G1, pts, n, true, pool), n);
    random_curve_point(c, CUZK_G1, pts + size * 38765);
    assert_int_equal(cuzk_points_first_bad(c, CUZK_G1, pts, n, true, pool), 38765);
    cuzk_pool_free(pool);
    cuzk_free(pts);
    cuzk_free(scalars);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(fixed_base_is_mul),
        cmocka_unit_test(first_bad_point_is_found),
        cmocka_unit_test(errors_that_cancel_are_found),
        cmocka_unit_test(many_points),
    };
    test_rng_start();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
