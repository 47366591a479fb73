/* field/vec_fp_adx.inl.h against the fields themselves, on every representative it allows: values
 * below 2p, with those at the borders of 0, p and 2p among them. Exits 77 where the processor
 * lacks ADX. */
#include "support.h"

#include "base/cpu.h"
#include "field/fields.h"

#define FV bn
#define FV_FE cuzk_bn254_fp
#define FV_LIMBS 4
#define FV_MODULUS CUZK_BN254_FP_MODULUS
#define FV_MODULUS_X2 CUZK_BN254_FP_MODULUS_X2
#define FV_N0 CUZK_BN254_FP_N0
#include "field/vec_fp_adx.inl.h"

#define FV bls
#define FV_FE cuzk_bls12_381_fp
#define FV_LIMBS 6
#define FV_MODULUS CUZK_BLS12_381_FP_MODULUS
#define FV_MODULUS_X2 CUZK_BLS12_381_FP_MODULUS_X2
#define FV_N0 CUZK_BLS12_381_FP_N0
#include "field/vec_fp_adx.inl.h"

#define FV2 bn2
#define FV2_BASE bn
#define FV2_FE cuzk_bn254_fp2
#include "field/vec_ext2.inl.h"

#define FV2 bls2
#define FV2_BASE bls
#define FV2_FE cuzk_bls12_381_fp2
#include "field/vec_ext2.inl.h"

static void add_limbs(uint64_t *r, const uint64_t *a, const uint64_t *b, int n) {
    uint64_t carry = 0;
    for (int i = 0; i < n; i++)
        carry = cuzk_addc(&r[i], a[i], b[i], carry);
}

/* *x below 2p and *canonical the same element below p: small ones, p less a small one, anything,
 * and each of them with p added. */
static void draw(uint64_t *x, uint64_t *canonical, const uint64_t *p, int n) {
    uint64_t top = p[n - 1], small[6] = {test_rng() % 3};
    for (int i = 0; i < n; i++)
        canonical[i] = test_rng();
    canonical[n - 1] %= top;
    switch (test_rng() % 4) {
    case 0:
        memcpy(canonical, small, (size_t)n * 8);
        break;
    case 1:
        small[0]++;
        memcpy(canonical, p, (size_t)n * 8);
        canonical[0] -= small[0]; /* p's low limb is large */
        break;
    default:
        break;
    }
    memcpy(x, canonical, (size_t)n * 8);
    if (test_rng() & 1) add_limbs(x, x, p, n);
}

#define CHECK(v, fe, op, ...)                                                                      \
    do {                                                                                           \
        v##_##op(&got, __VA_ARGS__);                                                               \
        for (size_t i = 0; i < sizeof got.l / 8; i++)                                              \
            below[i] = v##_p2[i];                                                                  \
        assert_true(is_below(got.l, below, (int)(sizeof got.l / 8)));                              \
        v##_to_mont(&got, &got);                                                                   \
        assert_memory_equal(&got, &want, sizeof want);                                             \
    } while (0)

static bool is_below(const uint64_t *a, const uint64_t *b, int n) {
    uint64_t t, borrow = 0;
    for (int i = 0; i < n; i++)
        borrow = cuzk_subb(&t, a[i], b[i], borrow);
    return borrow != 0;
}

#define FIELD_TEST(v, fe)                                                                          \
    static void test_##v(void **state) {                                                           \
        (void)state;                                                                               \
        for (int round = 0; round < 20000; round++) {                                              \
            fe##_t a, b, ca, cb, got, want;                                                        \
            uint64_t below[6];                                                                     \
            draw(a.l, ca.l, v##_p, (int)(sizeof a.l / 8));                                         \
            draw(b.l, cb.l, v##_p, (int)(sizeof b.l / 8));                                         \
            fe##_mul(&want, &ca, &cb);                                                             \
            CHECK(v, fe, mul, &a, &b);                                                             \
            fe##_sqr(&want, &ca);                                                                  \
            CHECK(v, fe, sqr, &a);                                                                 \
            fe##_add(&want, &ca, &cb);                                                             \
            CHECK(v, fe, add, &a, &b);                                                             \
            fe##_sub(&want, &ca, &cb);                                                             \
            CHECK(v, fe, sub, &a, &b);                                                             \
            fe##_neg(&want, &ca);                                                                  \
            CHECK(v, fe, neg, &a);                                                                 \
            CHECK(v, fe, cneg, &a, 1);                                                             \
            want = ca;                                                                             \
            CHECK(v, fe, cneg, &a, 0);                                                             \
            assert_int_equal(v##_zero_mask(&a), fe##_is_zero(&ca));                                \
            if (round % 100 == 0 && !fe##_is_zero(&ca)) {                                          \
                fe##_inv(&want, &ca);                                                              \
                CHECK(v, fe, inv, &a);                                                             \
            }                                                                                      \
        }                                                                                          \
    }
FIELD_TEST(bn, cuzk_bn254_fp)
FIELD_TEST(bls, cuzk_bls12_381_fp)

#define CHECK2(v2, fe2, op, ...)                                                                   \
    do {                                                                                           \
        v2##_t r;                                                                                  \
        v2##_st_t st;                                                                              \
        v2##_st_t *to[1] = {&st};                                                                  \
        v2##_##op(&r, __VA_ARGS__);                                                                \
        v2##_scatter(to, &r);                                                                      \
        v2##_to_mont(&got, &st);                                                                   \
        assert_memory_equal(&got, &want, sizeof want);                                             \
    } while (0)

#define EXT_TEST(v, v2, fe2)                                                                       \
    static void test_##v2(void **state) {                                                          \
        (void)state;                                                                               \
        for (int round = 0; round < 10000; round++) {                                              \
            v2##_t a, b;                                                                           \
            fe2##_t ca, cb, got, want;                                                             \
            const int n = (int)(sizeof a.c0.l / 8);                                                \
            draw(a.c0.l, ca.c0.l, v##_p, n);                                                       \
            draw(a.c1.l, ca.c1.l, v##_p, n);                                                       \
            draw(b.c0.l, cb.c0.l, v##_p, n);                                                       \
            draw(b.c1.l, cb.c1.l, v##_p, n);                                                       \
            fe2##_mul(&want, &ca, &cb);                                                            \
            CHECK2(v2, fe2, mul, &a, &b);                                                          \
            fe2##_sqr(&want, &ca);                                                                 \
            CHECK2(v2, fe2, sqr, &a);                                                              \
            fe2##_add(&want, &ca, &cb);                                                            \
            CHECK2(v2, fe2, add, &a, &b);                                                          \
            fe2##_sub(&want, &ca, &cb);                                                            \
            CHECK2(v2, fe2, sub, &a, &b);                                                          \
            fe2##_neg(&want, &ca);                                                                 \
            CHECK2(v2, fe2, cneg, &a, 1);                                                          \
            assert_int_equal(v2##_zero_mask(&a), fe2##_is_zero(&ca));                              \
            if (round % 100 == 0 && !fe2##_is_zero(&ca)) {                                         \
                fe2##_inv(&want, &ca);                                                             \
                CHECK2(v2, fe2, inv, &a);                                                          \
            }                                                                                      \
        }                                                                                          \
    }
EXT_TEST(bn, bn2, cuzk_bn254_fp2)
EXT_TEST(bls, bls2, cuzk_bls12_381_fp2)

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_bn),
        cmocka_unit_test(test_bls),
        cmocka_unit_test(test_bn2),
        cmocka_unit_test(test_bls2),
    };
    if (!cuzk_cpu_has_adx()) return 77;
    test_rng_start();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
