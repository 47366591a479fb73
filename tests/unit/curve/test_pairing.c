/* Pairings: the values that snarkjs writes into its verification keys, and the laws. */
#include "support.h"

#include "points.h"

static const cuzk_point infinity;

/* Reads the n decimal strings that follow `"key":` into out. */
static void read_numbers(const char *json, const char *key, mpz_t *out, int n) {
    char quoted[64];
    snprintf(quoted, sizeof quoted, "\"%s\"", key);
    const char *s = strstr(json, quoted);
    assert_non_null(s);
    s += strlen(quoted);
    for (int i = 0; i < n; i++) {
        char digits[160];
        s = strchr(s, '"');
        assert_non_null(s);
        const size_t len = strspn(++s, "0123456789");
        assert_in_range(len, 1, sizeof digits - 1);
        memcpy(digits, s, len);
        digits[len] = '\0';
        assert_int_equal(s[len], '"');
        assert_int_equal(mpz_set_str(out[i], digits, 10), 0);
        s += len + 1;
    }
}

static void verification_keys_of_snarkjs(void **state) {
    (void)state;
    static const char *const keys[] = {"bn128/mul3",        "bn128/nopub",   "bn128/poseidon2",
                                       "bn128/semaphore20", "bls12381/mul3", "bls12381/nopub",
                                       "bls12381/poseidon2"};
    for (size_t k = 0; k < sizeof keys / sizeof *keys; k++) {
        char path[512];
        snprintf(path, sizeof path, "%s/circom/%s/verification_key.json", CUZK_TEST_VECTORS,
                 keys[k]);
        FILE *f = fopen(path, "rb");
        if (!f) fail_msg("%s", path);
        static char json[1 << 16]; /* the values come first, IC after them */
        json[fread(json, 1, sizeof json - 1, f)] = '\0';
        fclose(f);
        const cuzk_curve *c =
            cuzk_curve_get(strncmp(keys[k], "bn", 2) ? CUZK_BLS12_381 : CUZK_BN254);
        mpz_t v[12], z;
        mpz_init(z);
        for (int i = 0; i < 12; i++)
            mpz_init(v[i]);
        cuzk_point alpha, beta;
        read_numbers(json, "vk_alpha_1", v, 2);
        point_set(c, CUZK_G1, &alpha, v);
        read_numbers(json, "vk_beta_2", v, 4);
        point_set(c, CUZK_G2, &beta, v);
        assert_true(c->g1.in_subgroup(&alpha) && c->g2.in_subgroup(&beta));
        uint64_t out[12 * 6];
        c->pairing(out, &alpha, &beta);
        read_numbers(json, "vk_alphabeta_12", v, 12);
        for (int i = 0; i < 12; i++) {
            mpz_import(z, c->fp_limbs, -1, 8, 0, 0, out + c->fp_limbs * (unsigned)i);
            assert_int_equal(mpz_cmp(z, v[i]), 0);
        }
        for (int i = 0; i < 12; i++)
            mpz_clear(v[i]);
        mpz_clear(z);
    }
}

static bool product(const cuzk_curve *c, const cuzk_point *p, const cuzk_point *q, size_t n) {
    const void *ps[40], *qs[40];
    assert_in_range(n, 0, 40);
    for (size_t i = 0; i < n; i++) {
        ps[i] = &p[i];
        qs[i] = &q[i];
    }
    return c->pairing_product_is_one(ps, qs, n);
}

static void bilinear(void **state) {
    (void)state;
    for (int id = 0; id < 2; id++) {
        const cuzk_curve *c = cuzk_curve_get(both_curves[id]);
        for (int i = 0; i < 4; i++) {
            cuzk_u256 a, b, ab;
            cuzk_point p[3], q[3], x, y;
            random_scalar(c, &a);
            random_scalar(c, &b);
            c->fr->to_mont(&ab, &a);
            c->fr->mul(&ab, &ab, &b); /* plain times Montgomery form: plain */
            random_subgroup_point(c, CUZK_G1, &x);
            random_subgroup_point(c, CUZK_G2, &y);
            /* e(a x, b y) e(-ab x, y) = 1 */
            c->g1.mul(&p[0], &x, &a);
            c->g2.mul(&q[0], &y, &b);
            c->g1.mul(&p[1], &x, &ab);
            c->g1.neg(&p[1], &p[1]);
            q[1] = y;
            assert_true(product(c, p, q, 2));
            assert_false(product(c, p, q, 1));
            c->g1.add(&p[1], &p[1], &x);
            assert_false(product(c, p, q, 2));
            /* the rest of it to the right side: e(-x, y) */
            c->g1.neg(&p[2], &x);
            q[2] = y;
            assert_true(product(c, p, q, 3));
            /* e(x + a x, y) = e(x, y) e(x, a y), with the sign in G2 */
            c->g1.mul(&p[0], &x, &a);
            c->g1.add(&p[0], &p[0], &x);
            q[0] = y;
            p[1] = p[2] = x;
            c->g2.neg(&q[1], &y);
            c->g2.mul(&q[2], &q[1], &a);
            assert_true(product(c, p, q, 3));
        }
    }
}

static void not_degenerate(void **state) {
    (void)state;
    for (int id = 0; id < 2; id++) {
        const cuzk_curve *c = cuzk_curve_get(both_curves[id]);
        uint64_t one[72], e[72];
        c->pairing(one, &infinity, c->g2.generator);
        for (unsigned i = 0; i < 12 * c->fp_limbs; i++)
            assert_int_equal(one[i], i == 0);
        c->pairing(one, c->g1.generator, &infinity);
        for (unsigned i = 0; i < 12 * c->fp_limbs; i++)
            assert_int_equal(one[i], i == 0);
        c->pairing(e, c->g1.generator, c->g2.generator);
        assert_memory_not_equal(e, one, 8 * 12 * (size_t)c->fp_limbs);
        /* equal values for equal products, also through the other group */
        cuzk_u256 k;
        cuzk_point p, q;
        uint64_t l[72], r[72];
        random_scalar(c, &k);
        c->g1.mul(&p, c->g1.generator, &k);
        c->g2.mul(&q, c->g2.generator, &k);
        c->pairing(l, &p, c->g2.generator);
        c->pairing(r, c->g1.generator, &q);
        assert_memory_equal(l, r, 8 * 12 * (size_t)c->fp_limbs);
        assert_memory_not_equal(l, e, 8 * 12 * (size_t)c->fp_limbs);
    }
}

/* Pairs with infinity count as 1; any number of pairs; any alignment. */
static void products_of_many(void **state) {
    (void)state;
    static const size_t sizes[] = {0, 1, 2, 3, 15, 16, 17, 31, 32, 33, 40};
    for (int id = 0; id < 2; id++) {
        const cuzk_curve *c = cuzk_curve_get(both_curves[id]);
        for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
            const size_t n = sizes[s];
            static cuzk_point p[40], q[40];
            cuzk_u256 sum = {{0}};
            for (size_t i = 0; i < n; i++) {
                /* a_i G1, b_i G2 with a running sum of products; the last pair closes it */
                cuzk_u256 a = {{test_rng()}}, b = {{test_rng()}}, t;
                if (i % 7 == 3) memset(&a, 0, sizeof a);
                if (i % 5 == 4) memset(&b, 0, sizeof b);
                if (i + 1 == n) {
                    const cuzk_u256 zero = {{0}};
                    c->fr->sub(&a, &zero, &sum);
                    b = (cuzk_u256){{1}};
                }
                c->g1.mul(&p[i], c->g1.generator, &a);
                c->g2.mul(&q[i], c->g2.generator, &b);
                c->fr->to_mont(&t, &a);
                c->fr->mul(&t, &t, &b);
                c->fr->add(&sum, &sum, &t);
            }
            assert_true(product(c, p, q, n));
            if (n == 0) continue;
            c->g1.add(&p[n - 1], &p[n - 1], c->g1.generator);
            assert_false(product(c, p, q, n));
            q[n - 1] = infinity;
            assert_int_equal(product(c, p, q, n), n == 1 || (n == 2 && c->g1.is_infinity(&p[0])));
        }
        uint8_t buf[2 * CUZK_POINT_MAX + 3], *p = buf + 1, *q = p + c->g1.point_size;
        cuzk_point minus;
        memcpy(p, c->g1.generator, c->g1.point_size);
        memcpy(q, c->g2.generator, c->g2.point_size);
        c->g1.neg(&minus, p);
        assert_true(
            c->pairing_product_is_one((const void *[]){p, &minus}, (const void *[]){q, q}, 2));
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(verification_keys_of_snarkjs),
        cmocka_unit_test(bilinear),
        cmocka_unit_test(not_degenerate),
        cmocka_unit_test(products_of_many),
    };
    test_rng_start();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
