/* The lazily reduced arithmetic of the x86-64 transforms at the ends of its ranges, against GMP.
 * Built for x86-64 with assembly only; skips inside where the processor has no ADX. */
#include "support.h"

#include "base/cpu.h"
#include "field/fields.h"

#include <gmp.h>

#define FV bn
#define FV_FE cuzk_bn254_fr
#define FV_MODULUS CUZK_BN254_FR_MODULUS
#define FV_M CUZK_BN254_FR_MODULUS_X2
#define FV_N0 CUZK_BN254_FR_N0
#define FV_LAZY 1
#include "field/vec_adx.inl.h"

#define FV bls
#define FV_FE cuzk_bls12_381_fr
#define FV_MODULUS CUZK_BLS12_381_FR_MODULUS
#define FV_M CUZK_BLS12_381_FR_MODULUS
#define FV_N0 CUZK_BLS12_381_FR_N0
#define FV_LAZY 0
#include "field/vec_adx.inl.h"

typedef void mul_fn(cuzk_u256 *, const cuzk_u256 *, const cuzk_u256 *);
typedef void butterfly_fn(cuzk_u256 *, cuzk_u256 *, const cuzk_u256 *);
typedef void canon_fn(cuzk_u256 *);

static void bn_ct_one3(cuzk_u256 *x, cuzk_u256 *y, const cuzk_u256 *w) {
    (void)w;
    bn_ct_one(x, y);
}
static void bn_gs_one3(cuzk_u256 *x, cuzk_u256 *y, const cuzk_u256 *w) {
    (void)w;
    bn_gs_one(x, y);
}
static void bls_ct_one3(cuzk_u256 *x, cuzk_u256 *y, const cuzk_u256 *w) {
    (void)w;
    bls_ct_one(x, y);
}
static void bls_gs_one3(cuzk_u256 *x, cuzk_u256 *y, const cuzk_u256 *w) {
    (void)w;
    bls_gs_one(x, y);
}

typedef struct kind {
    cuzk_u256 p, m;
    mul_fn *mul, *mul_tw, *scale_tw;
    canon_fn *canon;
    /* ct, ct_minus, ct_one, gs, gs_minus, gs_one */
    butterfly_fn *f[6];
} kind;

static const kind kinds[2] = {
    {{CUZK_BN254_FR_MODULUS},
     {CUZK_BN254_FR_MODULUS_X2},
     bn_mul,
     bn_mul_tw,
     bn_scale_tw,
     bn_canon,
     {bn_ct, bn_ct_minus, bn_ct_one3, bn_gs, bn_gs_minus, bn_gs_one3}},
    {{CUZK_BLS12_381_FR_MODULUS},
     {CUZK_BLS12_381_FR_MODULUS},
     bls_mul,
     bls_mul_tw,
     bls_scale_tw,
     bls_canon,
     {bls_ct, bls_ct_minus, bls_ct_one3, bls_gs, bls_gs_minus, bls_gs_one3}},
};

typedef struct numbers {
    mpz_t p, m, r_inv, x, y, w, got, want;
} numbers;

static void to_mpz(mpz_t z, const cuzk_u256 *a) {
    mpz_import(z, 4, -1, 8, 0, 0, a->l);
}

/* Below `bound`: uniform limbs, or near 0, near the bound, or with limbs of all ones and zeros. */
static void pick(cuzk_u256 *out, const mpz_t bound) {
    mpz_t z, small;
    mpz_inits(z, small, NULL);
    for (int i = 0; i < 4; i++)
        out->l[i] = test_rng();
    const unsigned how = (unsigned)(test_rng() % 4);
    for (int i = 0; how == 1 && i < 4; i++)
        out->l[i] = test_rng() & 1 ? UINT64_MAX : 0;
    to_mpz(z, out);
    mpz_set_ui(small, (unsigned long)(test_rng() % 3));
    if (how == 2) mpz_set(z, small);
    if (how == 3) {
        mpz_sub(z, bound, small);
        mpz_sub_ui(z, z, 1);
    }
    mpz_mod(z, z, bound);
    memset(out, 0, sizeof *out);
    mpz_export(out->l, NULL, -1, 8, 0, 0, z);
    mpz_clears(z, small, NULL);
}

/* got is below the bound and congruent to n->want. */
static void expect(numbers *n, const cuzk_u256 *got, const mpz_t bound) {
    to_mpz(n->got, got);
    if (mpz_cmp(n->got, bound) >= 0) fail_msg("result above its bound");
    mpz_sub(n->got, n->got, n->want);
    assert_true(mpz_divisible_p(n->got, n->p));
}

static void check_products(const kind *k, numbers *n) {
    mpz_t all;
    mpz_init(all);
    mpz_setbit(all, 256);
    mul_fn *const fns[3] = {k->mul, k->mul_tw, k->scale_tw};
    for (int i = 0; i < 3; i++) {
        cuzk_u256 a, w, r;
        pick(&a, all);
        pick(&w, n->p);
        fns[i](&r, &a, &w);
        to_mpz(n->x, &a);
        to_mpz(n->w, &w);
        mpz_mul(n->want, n->x, n->w);
        mpz_mul(n->want, n->want, n->r_inv);
        expect(n, &r, i == 2 ? n->p : n->m);
    }
    mpz_clear(all);
}

static void check_butterfly(const kind *k, numbers *n, int which) {
    mpz_t loose;
    mpz_init(loose);
    mpz_mul_ui(loose, n->m, 2);
    const bool ct = which < 3;
    cuzk_u256 x, y, w;
    pick(&x, ct ? loose : n->m);
    pick(&y, ct ? loose : n->m);
    pick(&w, n->p);
    to_mpz(n->x, &x);
    to_mpz(n->y, &y);
    to_mpz(n->w, &w);
    mpz_mul(n->w, n->w, n->r_inv);
    if (which % 3 == 1) mpz_neg(n->w, n->w);
    if (which % 3 == 2) mpz_set_ui(n->w, 1);
    k->f[which](&x, &y, &w);
    if (ct) mpz_mul(n->y, n->y, n->w);
    mpz_add(n->want, n->x, n->y);
    expect(n, &x, ct ? loose : n->m);
    mpz_sub(n->want, n->x, n->y);
    if (!ct) mpz_mul(n->want, n->want, n->w);
    expect(n, &y, ct ? loose : n->m);
    to_mpz(n->want, &y);
    k->canon(&y);
    expect(n, &y, n->p);
    mpz_clear(loose);
}

static void test_ranges(void **state) {
    (void)state;
    if (!cuzk_cpu_has_adx()) skip();
    numbers n;
    mpz_inits(n.p, n.m, n.r_inv, n.x, n.y, n.w, n.got, n.want, NULL);
    for (int i = 0; i < 2; i++) {
        const kind *k = &kinds[i];
        to_mpz(n.p, &k->p);
        to_mpz(n.m, &k->m);
        mpz_set_ui(n.r_inv, 0);
        mpz_setbit(n.r_inv, 256);
        mpz_invert(n.r_inv, n.r_inv, n.p);
        for (int round = 0; round < 4000; round++) {
            check_products(k, &n);
            for (int which = 0; which < 6; which++)
                check_butterfly(k, &n, which);
        }
    }
    mpz_clears(n.p, n.m, n.r_inv, n.x, n.y, n.w, n.got, n.want, NULL);
}

int main(void) {
    test_rng_start();
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_ranges)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
