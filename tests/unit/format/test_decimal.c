#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "support.h"

#include "format/decimal.h"

#include <gmp.h>
#include <string.h>

static void matches_gmp(void **state) {
    (void)state;
    uint64_t rng = test_seed();
    for (int round = 0; round < 3000; round++) {
        uint64_t limbs[6], back[6];
        unsigned n = (unsigned)(test_random(&rng) % 6) + 1;
        for (unsigned i = 0; i < n; i++) {
            uint64_t kind = test_random(&rng) % 4;
            limbs[i] = kind == 0   ? 0
                       : kind == 1 ? UINT64_MAX
                       : kind == 2 ? test_random(&rng) % 100
                                   : test_random(&rng);
        }
        if (round == 0) memset(limbs, 0, sizeof limbs);
        mpz_t z;
        char want[128], got[CUZK_DECIMAL_MAX];
        mpz_init(z);
        mpz_import(z, n, -1, 8, 0, 0, limbs);
        mpz_get_str(want, 10, z);
        size_t len = cuzk_decimal_from_limbs(got, limbs, n);
        assert_string_equal(got, want);
        assert_int_equal(len, strlen(want));
        assert_int_equal(cuzk_decimal_to_limbs(back, n, got, len), CUZK_DECIMAL_OK);
        assert_memory_equal(back, limbs, 8 * n);
        /* One more than the largest number of n limbs does not fit. */
        mpz_set_ui(z, 1);
        mpz_mul_2exp(z, z, 64 * n);
        mpz_get_str(want, 10, z);
        assert_int_equal(cuzk_decimal_to_limbs(back, n, want, strlen(want)),
                         CUZK_DECIMAL_TOO_LARGE);
        mpz_sub_ui(z, z, 1);
        mpz_get_str(want, 10, z);
        assert_int_equal(cuzk_decimal_to_limbs(back, n, want, strlen(want)), CUZK_DECIMAL_OK);
        for (unsigned i = 0; i < n; i++)
            assert_true(back[i] == UINT64_MAX);
        mpz_clear(z);
    }
}

static void refuses_other_texts(void **state) {
    (void)state;
    static const char *const text[] = {"",   "00", "01",  "-1", "+1",  " 1",  "1 ",
                                       "1a", "a",  "0x1", "1.", "1e3", "1\n", "\xd9\xa1"};
    uint64_t limbs[4];
    for (size_t i = 0; i < sizeof text / sizeof text[0]; i++)
        assert_int_equal(cuzk_decimal_to_limbs(limbs, 4, text[i], strlen(text[i])),
                         CUZK_DECIMAL_MALFORMED);
    assert_int_equal(cuzk_decimal_to_limbs(limbs, 4, "1\0", 2), CUZK_DECIMAL_MALFORMED);
    assert_int_equal(cuzk_decimal_to_limbs(limbs, 4, "0", 1), CUZK_DECIMAL_OK);
    assert_true((limbs[0] | limbs[1] | limbs[2] | limbs[3]) == 0);
    /* length counts, not a NUL */
    assert_int_equal(cuzk_decimal_to_limbs(limbs, 4, "1234", 2), CUZK_DECIMAL_OK);
    assert_true(limbs[0] == 12);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(matches_gmp),
        cmocka_unit_test(refuses_other_texts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
