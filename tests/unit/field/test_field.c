/* The fields' inline functions against GMP and, for BLS12-381, blst. CMake compiles this file
 * twice: with the assembly and with CUZK_FIELD_PORTABLE. */
#include "support.h"

#include "gmp_limbs.h"

#include "field/fields.h"

#include <blst.h>

#define PC bn254_fp
#define PC_F cuzk_bn254_fp
#define PC_LIMBS 4
#define PC_MODULUS CUZK_BN254_FP_MODULUS
#include "prime_cases.inl.h"

#define PC bn254_fr
#define PC_F cuzk_bn254_fr
#define PC_LIMBS 4
#define PC_MODULUS CUZK_BN254_FR_MODULUS
#include "prime_cases.inl.h"

#define PC bls12_381_fp
#define PC_F cuzk_bls12_381_fp
#define PC_LIMBS 6
#define PC_MODULUS CUZK_BLS12_381_FP_MODULUS
#include "prime_cases.inl.h"

#define PC bls12_381_fr
#define PC_F cuzk_bls12_381_fr
#define PC_LIMBS 4
#define PC_MODULUS CUZK_BLS12_381_FR_MODULUS
#include "prime_cases.inl.h"

#define XC bn254_fp2
#define XC_F cuzk_bn254_fp2
#define XC_B cuzk_bn254_fp
#define XC_VALUE bn254_fp_value
#define XC_BOUNDARIES bn254_fp_boundaries
#include "ext_cases.inl.h"

#define XC bls12_381_fp2
#define XC_F cuzk_bls12_381_fp2
#define XC_B cuzk_bls12_381_fp
#define XC_VALUE bls12_381_fp_value
#define XC_BOUNDARIES bls12_381_fp_boundaries
#include "ext_cases.inl.h"

static void moduli_are_those_of_the_standards(void **state) {
    (void)state;
    /* BN254 from its parameter, EIP-197; BLS12-381 from its own */
    mpz_t x, p, r, t, want;
    mpz_inits(x, p, r, t, want, NULL);
    mpz_set_str(x, "4965661367192848881", 10);
    /* p = 36x^4 + 36x^3 + 24x^2 + 6x + 1, r = p - 6x^2 */
    mpz_mul_ui(p, x, 36);
    mpz_add_ui(p, p, 36);
    mpz_mul(p, p, x);
    mpz_add_ui(p, p, 24);
    mpz_mul(p, p, x);
    mpz_add_ui(p, p, 6);
    mpz_mul(p, p, x);
    mpz_add_ui(p, p, 1);
    mpz_mul(t, x, x);
    mpz_mul_ui(t, t, 6);
    mpz_sub(r, p, t);
    limbs_get(want, bn254_fp_p, 4);
    assert_int_equal(mpz_cmp(want, p), 0);
    limbs_get(want, bn254_fr_p, 4);
    assert_int_equal(mpz_cmp(want, r), 0);
    assert_int_equal(mpz_sizeinbase(p, 2), CUZK_BN254_FP_BITS);
    assert_int_equal(mpz_sizeinbase(r, 2), CUZK_BN254_FR_BITS);
    /* r = x^4 - x^2 + 1, p = (x - 1)^2 r / 3 + x */
    mpz_set_str(x, "-d201000000010000", 16);
    mpz_mul(t, x, x);
    mpz_mul(r, t, t);
    mpz_sub(r, r, t);
    mpz_add_ui(r, r, 1);
    mpz_sub_ui(t, x, 1);
    mpz_mul(t, t, t);
    mpz_mul(p, t, r);
    mpz_divexact_ui(p, p, 3);
    mpz_add(p, p, x);
    limbs_get(want, bls12_381_fp_p, 6);
    assert_int_equal(mpz_cmp(want, p), 0);
    limbs_get(want, bls12_381_fr_p, 4);
    assert_int_equal(mpz_cmp(want, r), 0);
    assert_int_equal(mpz_sizeinbase(p, 2), CUZK_BLS12_381_FP_BITS);
    assert_int_equal(mpz_sizeinbase(r, 2), CUZK_BLS12_381_FR_BITS);
    mpz_clears(x, p, r, t, want, NULL);
}

/* blst keeps its elements in the same Montgomery form. */
static void bls12_381_agrees_with_blst(void **state) {
    (void)state;
    for (unsigned i = 0; i < 3000; i++) {
        cuzk_bls12_381_fp_t a, b, r;
        blst_fp x, y, w;
        bls12_381_fp_value(&a, i % 60);
        bls12_381_fp_value(&b, (unsigned)(test_rng() % 60));
        memcpy(&x, &a, sizeof x);
        memcpy(&y, &b, sizeof y);
        cuzk_bls12_381_fp_mul(&r, &a, &b);
        blst_fp_mul(&w, &x, &y);
        assert_memory_equal(&r, &w, sizeof r);
        cuzk_bls12_381_fp_sqr(&r, &a);
        blst_fp_sqr(&w, &x);
        assert_memory_equal(&r, &w, sizeof r);
        cuzk_bls12_381_fp_add(&r, &a, &b);
        blst_fp_add(&w, &x, &y);
        assert_memory_equal(&r, &w, sizeof r);
        cuzk_bls12_381_fp_sub(&r, &a, &b);
        blst_fp_sub(&w, &x, &y);
        assert_memory_equal(&r, &w, sizeof r);
        cuzk_bls12_381_fp_inv(&r, &a);
        blst_fp_inverse(&w, &x);
        assert_memory_equal(&r, &w, sizeof r);

        cuzk_bls12_381_fr_t c, d, s;
        blst_fr u, v, z;
        bls12_381_fr_value(&c, i % 60);
        bls12_381_fr_value(&d, (unsigned)(test_rng() % 60));
        memcpy(&u, &c, sizeof u);
        memcpy(&v, &d, sizeof v);
        cuzk_bls12_381_fr_mul(&s, &c, &d);
        blst_fr_mul(&z, &u, &v);
        assert_memory_equal(&s, &z, sizeof s);
        cuzk_bls12_381_fr_inv(&s, &c);
        blst_fr_inverse(&z, &u);
        assert_memory_equal(&s, &z, sizeof s);
        blst_uint64_from_fr(z.l, &u);
        cuzk_bls12_381_fr_from_mont(&s, &c);
        assert_memory_equal(&s, &z, sizeof s);

        cuzk_bls12_381_fp2_t e = {a, b}, f = {b, r}, g;
        blst_fp2 h, k, l;
        memcpy(&h, &e, sizeof h);
        memcpy(&k, &f, sizeof k);
        cuzk_bls12_381_fp2_mul(&g, &e, &f);
        blst_fp2_mul(&l, &h, &k);
        assert_memory_equal(&g, &l, sizeof g);
        cuzk_bls12_381_fp2_inv(&g, &e);
        blst_fp2_inverse(&l, &h);
        assert_memory_equal(&g, &l, sizeof g);
    }
}

#define PRIME_TESTS(f)                                                                             \
    cmocka_unit_test(f##_canonical), cmocka_unit_test(f##_singles), cmocka_unit_test(f##_powers),  \
        cmocka_unit_test(f##_pairs)

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(moduli_are_those_of_the_standards),
        PRIME_TESTS(bn254_fp),
        PRIME_TESTS(bn254_fr),
        PRIME_TESTS(bls12_381_fp),
        PRIME_TESTS(bls12_381_fr),
        cmocka_unit_test(bn254_fp2_arithmetic),
        cmocka_unit_test(bls12_381_fp2_arithmetic),
        cmocka_unit_test(bls12_381_agrees_with_blst),
    };
    test_rng_start();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
