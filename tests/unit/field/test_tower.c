/* Fp6 and Fp12 of BN254 against products of polynomials in w modulo w^6 - (9 + u). */
#include "support.h"

#include "field/fields.h"

typedef cuzk_bn254_fp2_t fp2;

static void mul_xi(fp2 *r, const fp2 *a) {
    fp2 xi;
    cuzk_bn254_fp_from_u64(&xi.c0, 9);
    cuzk_bn254_fp_from_u64(&xi.c1, 1);
    cuzk_bn254_fp2_mul(r, a, &xi);
}

#define TW cuzk_bn254
#define TW_F cuzk_bn254_fp2
#define TW_MUL_XI mul_xi
#include "field/fe_tower.inl.h"

typedef cuzk_bn254_fp12_t fp12;

static void random_fp2(fp2 *r) {
    cuzk_bn254_fp_t *c[2] = {&r->c0, &r->c1};
    for (int i = 0; i < 2; i++) {
        do {
            test_rng_bytes(c[i], sizeof *c[i]);
            c[i]->l[3] &= UINT64_MAX >> 2;
            if (test_rng() % 8 == 0) memset(c[i], 0, sizeof *c[i]);
        } while (!cuzk_bn254_fp_is_canonical(c[i]));
    }
}

static const fp2 *coef(const fp12 *a, int i) {
    return &a->c[i % 2].c[i / 2];
}

static void random_fp12(fp12 *r) {
    for (int i = 0; i < 6; i++)
        random_fp2(&r->c[i % 2].c[i / 2]);
}

static void product(fp12 *r, const fp12 *a, const fp12 *b) {
    fp2 t[11], m;
    memset(t, 0, sizeof t);
    for (int i = 0; i < 6; i++) {
        for (int j = 0; j < 6; j++) {
            cuzk_bn254_fp2_mul(&m, coef(a, i), coef(b, j));
            cuzk_bn254_fp2_add(&t[i + j], &t[i + j], &m);
        }
    }
    for (int i = 10; i >= 6; i--) {
        mul_xi(&m, &t[i]);
        cuzk_bn254_fp2_add(&t[i - 6], &t[i - 6], &m);
    }
    for (int i = 0; i < 6; i++)
        r->c[i % 2].c[i / 2] = t[i];
}

static void assert_same(const fp12 *a, const fp12 *b) {
    assert_memory_equal(a, b, sizeof *a);
}

static void products_and_inverses(void **state) {
    (void)state;
    for (int i = 0; i < 500; i++) {
        fp12 a, b, r, w, line;
        random_fp12(&a);
        random_fp12(&b);
        product(&w, &a, &b);
        cuzk_bn254_fp12_mul(&r, &a, &b);
        assert_same(&r, &w);
        r = a;
        cuzk_bn254_fp12_mul(&r, &r, &b);
        assert_same(&r, &w);
        r = b;
        cuzk_bn254_fp12_mul(&r, &a, &r);
        assert_same(&r, &w);
        product(&w, &a, &a);
        cuzk_bn254_fp12_sqr(&r, &a);
        assert_same(&r, &w);
        r = a;
        cuzk_bn254_fp12_sqr(&r, &r);
        assert_same(&r, &w);

        cuzk_bn254_fp12_set_one(&w);
        assert_true(cuzk_bn254_fp12_is_one(&w));
        assert_false(cuzk_bn254_fp12_is_one(&a));
        cuzk_bn254_fp12_inv(&r, &a);
        cuzk_bn254_fp12_mul(&r, &r, &a);
        assert_same(&r, &w);

        memset(&line, 0, sizeof line);
        line.c[0].c[0] = b.c[0].c[0];
        line.c[1].c[0] = b.c[1].c[0];
        line.c[1].c[1] = b.c[1].c[1];
        product(&w, &a, &line);
        cuzk_bn254_fp12_mul_013(&r, &a, &b.c[0].c[0], &b.c[1].c[0], &b.c[1].c[1]);
        assert_same(&r, &w);
        r = a;
        cuzk_bn254_fp12_mul_013(&r, &r, &b.c[0].c[0], &b.c[1].c[0], &b.c[1].c[1]);
        assert_same(&r, &w);

        for (int k = 0; k < 6; k++) /* w -> -w */
            if (k % 2) cuzk_bn254_fp2_neg(&w.c[1].c[k / 2], coef(&a, k));
        w.c[0] = a.c[0];
        cuzk_bn254_fp12_conj(&r, &a);
        assert_same(&r, &w);
    }
    fp12 zero, r;
    memset(&zero, 0, sizeof zero);
    cuzk_bn254_fp12_inv(&r, &zero);
    assert_same(&r, &zero);
}

/* r = a^(p^2), as a power. */
static void frobenius_2(fp12 *r, const fp12 *a) {
    static const uint64_t p[4] = CUZK_BN254_FP_MODULUS;
    fp12 acc = *a, base;
    for (int round = 0; round < 2; round++) {
        base = acc;
        cuzk_bn254_fp12_set_one(&acc);
        for (int i = 255; i >= 0; i--) {
            cuzk_bn254_fp12_sqr(&acc, &acc);
            if (p[i / 64] >> (i % 64) & 1) cuzk_bn254_fp12_mul(&acc, &acc, &base);
        }
    }
    *r = acc;
}

static void cyclotomic_squares(void **state) {
    (void)state;
    for (int i = 0; i < 10; i++) {
        fp12 a, t, r, w;
        random_fp12(&a);
        /* a^((p^6 - 1)(p^2 + 1)) is in the cyclotomic subgroup */
        cuzk_bn254_fp12_inv(&t, &a);
        cuzk_bn254_fp12_conj(&a, &a);
        cuzk_bn254_fp12_mul(&a, &a, &t);
        frobenius_2(&t, &a);
        cuzk_bn254_fp12_mul(&a, &a, &t);
        cuzk_bn254_fp12_sqr(&w, &a);
        cuzk_bn254_fp12_cyclo_sqr(&r, &a);
        assert_same(&r, &w);
        cuzk_bn254_fp12_cyclo_sqr(&a, &a);
        assert_same(&a, &w);
    }
}

/* The Frobenius constants: raising w^i to the p^k-th power multiplies it by them. */
static void frobenius_constants(void **state) {
    (void)state;
    static const fp2 c1[5] = CUZK_BN254_FROB1, c3[5] = CUZK_BN254_FROB3;
    static const cuzk_bn254_fp_t c2[5] = CUZK_BN254_FROB2;
    static const uint64_t p[4] = CUZK_BN254_FP_MODULUS;
    fp12 w, acc, base;
    memset(&w, 0, sizeof w);
    cuzk_bn254_fp2_set_one(&w.c[1].c[0]);
    acc = w;
    fp2 first[3]; /* w^(p^k) = first[k-1] w */
    for (int k = 0; k < 3; k++) {
        base = acc;
        cuzk_bn254_fp12_set_one(&acc);
        for (int i = 255; i >= 0; i--) {
            cuzk_bn254_fp12_sqr(&acc, &acc);
            if (p[i / 64] >> (i % 64) & 1) cuzk_bn254_fp12_mul(&acc, &acc, &base);
        }
        for (int i = 0; i < 6; i++)
            if (i != 1) assert_true(cuzk_bn254_fp2_is_zero(coef(&acc, i)));
        first[k] = acc.c[1].c[0];
    }
    fp2 x, y, z;
    cuzk_bn254_fp2_set_one(&x);
    y = z = x;
    for (int i = 0; i < 5; i++) {
        cuzk_bn254_fp2_mul(&x, &x, &first[0]);
        cuzk_bn254_fp2_mul(&y, &y, &first[1]);
        cuzk_bn254_fp2_mul(&z, &z, &first[2]);
        assert_true(cuzk_bn254_fp2_eq(&x, &c1[i]));
        assert_true(cuzk_bn254_fp_eq(&y.c0, &c2[i]) && cuzk_bn254_fp_is_zero(&y.c1));
        assert_true(cuzk_bn254_fp2_eq(&z, &c3[i]));
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(products_and_inverses),
        cmocka_unit_test(cyclotomic_squares),
        cmocka_unit_test(frobenius_constants),
    };
    test_rng_start();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
