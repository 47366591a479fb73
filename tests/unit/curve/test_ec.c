/* The formulas of ec.inl.h and the batches of batch_affine.inl.h: exhaustively on toy curves over
 * F_61 and F_49, and on multiples of the generators of the real groups.
 * CMake compiles this file twice: with the assembly and with CUZK_FIELD_PORTABLE. */
#include "support.h"

#include "curve/groups.h"

enum { CUZK__BATCH = 48 };

/* Fields of one limb; p < 2^32. */
#define TOY_R(p) ((UINT64_MAX % (p) + 1) % (p))
#define TOY_MONT(v, p) ((v)*TOY_R(p) % (p))
/* -p^-1 mod 2^64, by Newton's iteration from p itself (right to 3 bits) */
#define TOY_INV1(p) ((p) * (2 - (p) * (p)))
#define TOY_INV2(p) (TOY_INV1(p) * (2 - (p)*TOY_INV1(p)))
#define TOY_INV3(p) (TOY_INV2(p) * (2 - (p)*TOY_INV2(p)))
#define TOY_INV4(p) (TOY_INV3(p) * (2 - (p)*TOY_INV3(p)))
#define TOY_INV5(p) (TOY_INV4(p) * (2 - (p)*TOY_INV4(p)))
#define TOY_N0(p) ((uint64_t)0 - TOY_INV5((uint64_t)(p)))

typedef struct {
    uint64_t l[1];
} toy_limb;

#define FE f61
#define FE_LIMBS 1
#define FE_TYPE toy_limb
#define FE_MODULUS                                                                                 \
    { 61 }
#define FE_ONE                                                                                     \
    { TOY_R(61) }
#define FE_R2                                                                                      \
    { TOY_MONT(TOY_R(61), 61) }
#define FE_N0 TOY_N0(61)
#include "field/fe_mont.inl.h"

#define FE f7
#define FE_LIMBS 1
#define FE_TYPE toy_limb
#define FE_MODULUS                                                                                 \
    { 7 }
#define FE_ONE                                                                                     \
    { TOY_R(7) }
#define FE_R2                                                                                      \
    { TOY_MONT(TOY_R(7), 7) }
#define FE_N0 TOY_N0(7)
#include "field/fe_mont.inl.h"

#define FE2 f49
#define FE2_BASE f7
#include "field/fe_ext2.inl.h"

/* y^2 = x^3 + 8 over F_61, with points of order 2 */
#define EC toy61
#define EC_F f61
#define EC_B                                                                                       \
    {                                                                                              \
        { TOY_MONT(8, 61) }                                                                        \
    }
#include "curve/ec.inl.h"

/* y^2 = x^3 + 1 + u over F_49 */
#define EC toy49
#define EC_F f49
#define EC_B                                                                                       \
    {                                                                                              \
        {{TOY_MONT(1, 7)}}, {                                                                      \
            { TOY_MONT(1, 7) }                                                                     \
        }                                                                                          \
    }
#include "curve/ec.inl.h"

#define BA toy61_batch
#define BA_EC toy61
#define BA_F f61
#include "curve/batch_affine.inl.h"
#define TC toy61
#define TC_EC toy61
#define TC_F f61
#define TC_BA toy61_batch
#include "ec_cases.inl.h"

#define BA toy49_batch
#define BA_EC toy49
#define BA_F f49
#include "curve/batch_affine.inl.h"
#define TC toy49
#define TC_EC toy49
#define TC_F f49
#define TC_BA toy49_batch
#include "ec_cases.inl.h"

#define BA bn254_g1_batch
#define BA_EC cuzk_bn254_g1
#define BA_F cuzk_bn254_fp
#include "curve/batch_affine.inl.h"
#define TC bn254_g1
#define TC_EC cuzk_bn254_g1
#define TC_F cuzk_bn254_fp
#define TC_BA bn254_g1_batch
#include "ec_cases.inl.h"

#define BA bn254_g2_batch
#define BA_EC cuzk_bn254_g2
#define BA_F cuzk_bn254_fp2
#include "curve/batch_affine.inl.h"
#define TC bn254_g2
#define TC_EC cuzk_bn254_g2
#define TC_F cuzk_bn254_fp2
#define TC_BA bn254_g2_batch
#include "ec_cases.inl.h"

#define BA bls12_381_g1_batch
#define BA_EC cuzk_bls12_381_g1
#define BA_F cuzk_bls12_381_fp
#include "curve/batch_affine.inl.h"
#define TC bls12_381_g1
#define TC_EC cuzk_bls12_381_g1
#define TC_F cuzk_bls12_381_fp
#define TC_BA bls12_381_g1_batch
#include "ec_cases.inl.h"

#define BA bls12_381_g2_batch
#define BA_EC cuzk_bls12_381_g2
#define BA_F cuzk_bls12_381_fp2
#include "curve/batch_affine.inl.h"
#define TC bls12_381_g2
#define TC_EC cuzk_bls12_381_g2
#define TC_F cuzk_bls12_381_fp2
#define TC_BA bls12_381_g2_batch
#include "ec_cases.inl.h"

static void toy_field(void **state) {
    (void)state;
    for (uint64_t i = 0; i < 61; i++) {
        for (uint64_t j = 0; j < 61; j++) {
            f61_t a, b, r;
            f61_from_u64(&a, i);
            f61_from_u64(&b, j);
            f61_mul(&r, &a, &b);
            f61_from_mont(&r, &r);
            assert_int_equal(r.l[0], i * j % 61);
            f61_add(&r, &a, &b);
            f61_from_mont(&r, &r);
            assert_int_equal(r.l[0], (i + j) % 61);
            f61_sub(&r, &a, &b);
            f61_from_mont(&r, &r);
            assert_int_equal(r.l[0], (61 + i - j) % 61);
            f61_inv(&r, &b);
            f61_mul(&r, &r, &b);
            f61_from_mont(&r, &r);
            assert_int_equal(r.l[0], j != 0);
        }
    }
}

static void toy_curve_over_a_prime_field(void **state) {
    (void)state;
    static toy61_affine_t pt[130];
    f61_t z[60];
    size_t n = 1, order2 = 0; /* pt[0] is infinity */
    for (uint64_t i = 0; i < 61 * 61; i++) {
        f61_from_u64(&pt[n].x, i / 61);
        f61_from_u64(&pt[n].y, i % 61);
        if (toy61_affine_is_infinity(&pt[n]) || !toy61_affine_on_curve(&pt[n])) continue;
        order2 += f61_is_zero(&pt[n].y);
        assert_in_range(++n, 1, 129);
    }
    memset(&pt[n], 0, sizeof pt[n]);
    assert_true(order2 > 0); /* so that a tangent is vertical */
    for (uint64_t i = 0; i < 60; i++)
        f61_from_u64(&z[i], i + 1);
    toy61_associativity(pt, n);
    toy61_laws(pt, n, z, 60);
}

static void toy_curve_over_an_extension(void **state) {
    (void)state;
    static toy49_affine_t pt[130];
    f49_t z[48];
    size_t n = 1;
    for (uint64_t i = 0; i < 49 * 49; i++) {
        f7_from_u64(&pt[n].x.c0, i % 7);
        f7_from_u64(&pt[n].x.c1, i / 7 % 7);
        f7_from_u64(&pt[n].y.c0, i / 49 % 7);
        f7_from_u64(&pt[n].y.c1, i / 343);
        if (toy49_affine_is_infinity(&pt[n]) || !toy49_affine_on_curve(&pt[n])) continue;
        assert_in_range(++n, 1, 129);
    }
    assert_in_range(n, 36, 64); /* Hasse */
    for (uint64_t i = 0; i < 48; i++) {
        f7_from_u64(&z[i].c0, (i + 1) % 7);
        f7_from_u64(&z[i].c1, (i + 1) / 7);
    }
    toy49_associativity(pt, n);
    toy49_laws(pt, n, z, 48);
}

/* 0, ±1, ±2, … times the generator, so that equal and opposite summands come up. */
#define REAL_GROUP(name, field, generator_list)                                                    \
    static void name(void **state) {                                                               \
        (void)state;                                                                               \
        static const cuzk_##name##_affine_t g = generator_list;                                    \
        cuzk_##name##_affine_t pt[21];                                                             \
        cuzk_##field##_t z[7];                                                                     \
        memset(&pt[0], 0, sizeof pt[0]);                                                           \
        pt[1] = g;                                                                                 \
        for (int i = 2; i <= 10; i++)                                                              \
            name##_sum(&pt[i], &pt[i - 1], &g);                                                    \
        for (int i = 1; i <= 10; i++)                                                              \
            cuzk_##name##_affine_neg(&pt[10 + i], &pt[i]);                                         \
        z[0] = pt[3].x;                                                                            \
        for (int i = 1; i < 7; i++)                                                                \
            cuzk_##field##_mul(&z[i], &z[i - 1], &pt[i].y);                                        \
        name##_associativity(pt, 12);                                                              \
        name##_laws(pt, 21, z, 7);                                                                 \
    }
REAL_GROUP(bn254_g1, bn254_fp, CUZK_BN254_G1_GEN)
REAL_GROUP(bn254_g2, bn254_fp2, CUZK_BN254_G2_GEN)
REAL_GROUP(bls12_381_g1, bls12_381_fp, CUZK_BLS12_381_G1_GEN)
REAL_GROUP(bls12_381_g2, bls12_381_fp2, CUZK_BLS12_381_G2_GEN)

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(toy_field),
        cmocka_unit_test(toy_curve_over_a_prime_field),
        cmocka_unit_test(toy_curve_over_an_extension),
        cmocka_unit_test(bn254_g1),
        cmocka_unit_test(bn254_g2),
        cmocka_unit_test(bls12_381_g1),
        cmocka_unit_test(bls12_381_g2),
    };
    test_rng_start();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
