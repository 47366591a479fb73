/* Inversion against GMP: all of a small field, and for the large ones values that stretch the
 * algorithm: long runs of equal bits, close to 0 and to p, quotients of neighbours. */
#include "support.h"

#include "gmp_limbs.h"

#include "field/bls12_381_params.h"
#include "field/bn254_params.h"
#include "field/modinv.h"

typedef struct {
    const char *name;
    int limbs;
    uint64_t p[6];
} modulus;

static const modulus moduli[] = {
    {"bn254 fp", 4, CUZK_BN254_FP_MODULUS},
    {"bn254 fr", 4, CUZK_BN254_FR_MODULUS},
    {"bls12_381 fp", 6, CUZK_BLS12_381_FP_MODULUS},
    {"bls12_381 fr", 4, CUZK_BLS12_381_FR_MODULUS},
    {"secp256k1, no free bit", 4, {0xfffffffefffffc2f, UINT64_MAX, UINT64_MAX, UINT64_MAX}},
    {"2^255 - 19", 4, {(uint64_t)-19, UINT64_MAX, UINT64_MAX, UINT64_MAX >> 1}},
    {"2^256 - 189", 4, {(uint64_t)-189, UINT64_MAX, UINT64_MAX, UINT64_MAX}},
    {"2^255 + 95", 4, {95, 0, 0, (uint64_t)1 << 63}},
    {"2^384 - 317",
     6,
     {(uint64_t)-317, UINT64_MAX, UINT64_MAX, UINT64_MAX, UINT64_MAX, UINT64_MAX}},
    {"2^64 - 59", 1, {(uint64_t)-59}},
    {"2^61 - 1", 1, {((uint64_t)1 << 61) - 1}},
    {"65521", 1, {65521}},
    {"3", 1, {3}},
};

/* -p^-1 mod 2^64 by Newton's iteration. */
static uint64_t n0_of(uint64_t p) {
    uint64_t x = 1;
    for (int i = 0; i < 6; i++)
        x *= 2 - p * x;
    return (uint64_t)0 - x;
}

static void check(const modulus *m, const mpz_t p, const mpz_t a) {
    uint64_t in[6] = {0}, out[6] = {0};
    mpz_t got, want;
    mpz_inits(got, want, NULL);
    limbs_set(in, m->limbs, a);
    memcpy(out, in, sizeof in); /* result in place of the argument */
    if (m->limbs == 1)
        cuzk__modinv_1(out, out, m->p, n0_of(m->p[0]));
    else if (m->limbs == 4)
        cuzk__modinv_4(out, out, m->p, n0_of(m->p[0]));
    else
        cuzk__modinv_6(out, out, m->p, n0_of(m->p[0]));
    limbs_get(got, out, m->limbs);
    if (!mpz_invert(want, a, p)) mpz_set_ui(want, 0);
    if (mpz_cmp(got, want) != 0) {
        gmp_fprintf(stderr, "%s: 1/%Zx is %Zx, got %Zx\n", m->name, a, want, got);
        fail();
    }
    mpz_clears(got, want, NULL);
}

static void inverses(void **state) {
    (void)state;
    gmp_randstate_t rs;
    gmp_randinit_default(rs);
    gmp_randseed_ui(rs, test_rng());
    mpz_t p, a, b;
    mpz_inits(p, a, b, NULL);
    for (size_t k = 0; k < sizeof moduli / sizeof *moduli; k++) {
        const modulus *m = &moduli[k];
        limbs_get(p, m->p, m->limbs);
        assert_true(mpz_probab_prime_p(p, 20) > 0);
        const uint64_t small = mpz_cmp_ui(p, 70000) < 0 ? mpz_get_ui(p) : 300;
        for (uint64_t i = 0; i < small; i++) {
            mpz_set_ui(a, i);
            check(m, p, a);
            mpz_sub_ui(a, p, i + 1);
            check(m, p, a);
        }
        for (int i = 0; i < 3000; i++) {
            mpz_urandomm(a, rs, p);
            check(m, p, a);
            mpz_rrandomb(a, rs, 64 * (unsigned)m->limbs);
            mpz_mod(a, a, p);
            check(m, p, a);
            mpz_urandomb(b, rs, 1 + (unsigned)i % (64 * (unsigned)m->limbs));
            mpz_setbit(b, 0);
            mpz_fdiv_q(a, p, b); /* nearly p/b: a long first quotient */
            mpz_mod(a, a, p);
            check(m, p, a);
        }
        for (unsigned i = 0; i < 64 * (unsigned)m->limbs; i++) {
            mpz_set_ui(a, 1);
            mpz_mul_2exp(a, a, i);
            mpz_mod(a, a, p);
            check(m, p, a);
        }
    }
    mpz_clears(p, a, b, NULL);
    gmp_randclear(rs);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(inverses)};
    test_rng_start();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
