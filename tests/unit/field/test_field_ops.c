/* The run-time tables of the scalar fields. */
#include "support.h"

#include "gmp_limbs.h"

#include "field/field.h"

static const cuzk_fr_ops *const fields[] = {&cuzk_bn254_fr_ops, &cuzk_bls12_381_fr_ops};

static void random_mont(const cuzk_fr_ops *fr, cuzk_u256 *r) {
    uint8_t wide[64];
    test_rng_bytes(wide, sizeof wide);
    fr->from_wide(r, wide);
}

static void expect_plain(const cuzk_fr_ops *fr, const cuzk_u256 *mont, const mpz_t want) {
    cuzk_u256 plain;
    mpz_t z;
    mpz_init(z);
    assert_true(fr->is_canonical(mont));
    fr->from_mont(&plain, mont);
    limbs_get(z, plain.l, 4);
    if (mpz_cmp(z, want) != 0) {
        gmp_fprintf(stderr, "got %Zx, expected %Zx\n", z, want);
        fail();
    }
    mpz_clear(z);
}

static void from_wide_reduces_every_value(void **state) {
    (void)state;
    mpz_t p, w;
    mpz_inits(p, w, NULL);
    for (size_t f = 0; f < 2; f++) {
        const cuzk_fr_ops *fr = fields[f];
        limbs_get(p, fr->modulus.l, 4);
        for (int i = 0; i < 3000; i++) {
            uint8_t wide[64];
            test_rng_bytes(wide, sizeof wide);
            /* halves of ones, of zeros and close to multiples of p too */
            if (i % 5 == 1) memset(wide, 0xff, 32);
            if (i % 7 == 1) memset(wide + 32, 0xff, 32);
            if (i % 5 == 2) memset(wide, 0, 32);
            if (i % 7 == 2) memset(wide + 32, 0, 32);
            if (i % 5 == 3 || i % 7 == 3) {
                cuzk_u256 m = fr->modulus;
                m.l[0] += (uint64_t)(i % 11) - 5;
                memcpy(wide + (i % 5 == 3 ? 0 : 32), &m, 32);
            }
            mpz_import(w, 64, -1, 1, 0, 0, wide);
            mpz_mod(w, w, p);
            cuzk_u256 r;
            fr->from_wide(&r, wide);
            expect_plain(fr, &r, w);
        }
    }
    mpz_clears(p, w, NULL);
}

static void table_is_a_field(void **state) {
    (void)state;
    mpz_t p, x, y, w;
    mpz_inits(p, x, y, w, NULL);
    for (size_t f = 0; f < 2; f++) {
        const cuzk_fr_ops *fr = fields[f];
        limbs_get(p, fr->modulus.l, 4);
        assert_int_equal(mpz_sizeinbase(p, 2), fr->bits);
        mpz_set_ui(w, 1);
        expect_plain(fr, &fr->one, w);
        assert_false(fr->is_canonical(&fr->modulus));
        for (int i = 0; i < 300; i++) {
            cuzk_u256 a, b, r, pa, pb;
            random_mont(fr, &a);
            random_mont(fr, &b);
            fr->from_mont(&pa, &a);
            fr->from_mont(&pb, &b);
            limbs_get(x, pa.l, 4);
            limbs_get(y, pb.l, 4);
            fr->to_mont(&r, &pa);
            assert_memory_equal(&r, &a, sizeof r);
            fr->add(&r, &a, &b);
            mpz_add(w, x, y);
            mpz_mod(w, w, p);
            expect_plain(fr, &r, w);
            fr->sub(&r, &a, &b);
            mpz_sub(w, x, y);
            mpz_mod(w, w, p);
            expect_plain(fr, &r, w);
            fr->mul(&r, &a, &b);
            mpz_mul(w, x, y);
            mpz_mod(w, w, p);
            expect_plain(fr, &r, w);
            fr->inv(&r, &a);
            assert_true(mpz_invert(w, x, p));
            expect_plain(fr, &r, w);
            fr->pow(&r, &a, pb.l, 4);
            mpz_powm(w, x, y, p);
            expect_plain(fr, &r, w);
        }
        cuzk_u256 zero = {{0}}, r;
        fr->inv(&r, &zero);
        assert_memory_equal(&r, &zero, sizeof r);
    }
    mpz_clears(p, x, y, w, NULL);
}

/* The constants are those of snarkjs (family 5) and of bellman (family 7). */
static void roots_of_unity(void **state) {
    (void)state;
    static const struct {
        unsigned adicity;
        const char *root[2]; /* families 5 and 7 */
    } want[] = {
        {28,
         {"2a3c09f0a58a7e8500e0a7eb8ef62abc402d111e41112ed49bd61b6e725b19f0",
          "3ddb9f5166d18b798865ea93dd31f743215cf6dd39329c8d34f1ed960c37c9c"}},
        {32,
         {"212d79e5b416b6f0fd56dc8d168d6c0c4024ff270b3e0941b788f500b912f1f",
          "16a2a19edfe81f20d09b681922c813b4b63683508c2280b93829971f439f0d2b"}},
    };
    mpz_t w, p, e;
    mpz_inits(w, p, e, NULL);
    for (size_t f = 0; f < 2; f++) {
        const cuzk_fr_ops *fr = fields[f];
        assert_int_equal(fr->adicity, want[f].adicity);
        limbs_get(p, fr->modulus.l, 4);
        mpz_sub_ui(e, p, 1);
        assert_int_equal(mpz_scan1(e, 0), fr->adicity);
        for (unsigned family = 5; family <= 7; family += 2) {
            cuzk_u256 root;
            mpz_set_str(w, want[f].root[family == 7], 16);
            expect_plain(fr, family == 7 ? &fr->root_7 : &fr->root_5, w);
            mpz_t t;
            mpz_init_set_ui(t, family);
            mpz_fdiv_q_2exp(e, p, fr->adicity);
            mpz_powm(t, t, e, p);
            assert_int_equal(mpz_cmp(t, w), 0);
            mpz_clear(t);
            for (unsigned k = 0; k <= fr->adicity; k++) {
                /* order exactly 2^k: its 2^(k-1)-th power is -1 */
                cuzk_fr_root(fr, &root, family, k);
                for (unsigned i = 1; i < k; i++)
                    fr->mul(&root, &root, &root);
                mpz_set_ui(w, 1);
                if (k > 0) mpz_sub_ui(w, p, 1);
                expect_plain(fr, &root, w);
            }
        }
    }
    mpz_clears(w, p, e, NULL);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(from_wide_reduces_every_value),
        cmocka_unit_test(table_is_a_field),
        cmocka_unit_test(roots_of_unity),
    };
    test_rng_start();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
