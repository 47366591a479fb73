#include "support.h"

#include "base/mem.h"
#include "ntt/ntt.h"

#include <blst.h>

static const cuzk_curve_id curves[] = {CUZK_BN254, CUZK_BLS12_381};
static const unsigned families[] = {5, 7};
static const cuzk_cpu_impl impls[] = {CUZK_CPU_PORTABLE, CUZK_CPU_ASM, CUZK_CPU_IFMA};

enum { IMPLS = sizeof impls / sizeof *impls };

typedef void transform_fn(const cuzk_ntt_plan *, cuzk_u256 *, cuzk_pool *);

static size_t reverse(size_t v, unsigned bits) {
    size_t r = 0;
    for (unsigned b = 0; b < bits; b++)
        r |= (v >> b & 1) << (bits - 1 - b);
    return r;
}

static cuzk_u256 *new_vector(size_t n) {
    void *p;
    assert_int_equal(cuzk_alloc(&p, n, sizeof(cuzk_u256)), CUZK_OK);
    return p;
}

/* Uniform, with the edge values 0, 1, -1 mixed in. */
static void random_vector(const cuzk_fr_ops *fr, cuzk_u256 *x, size_t n) {
    const cuzk_u256 zero = {{0}};
    for (size_t i = 0; i < n; i++) {
        uint8_t wide[64];
        test_rng_bytes(wide, sizeof wide);
        const unsigned kind = (unsigned)(test_rng() % 16);
        if (kind == 0)
            x[i] = zero;
        else if (kind == 1)
            x[i] = fr->one;
        else if (kind == 2)
            fr->sub(&x[i], &zero, &fr->one);
        else
            fr->from_wide(&x[i], wide);
    }
}

/* Value at `at` of the polynomial with coefficients c. */
static cuzk_u256 evaluate(const cuzk_fr_ops *fr, const cuzk_u256 *c, size_t n,
                          const cuzk_u256 *at) {
    cuzk_u256 acc = {{0}};
    for (size_t i = n; i-- > 0;) {
        fr->mul(&acc, &acc, at);
        fr->add(&acc, &acc, &c[i]);
    }
    return acc;
}

static cuzk_u256 power(const cuzk_fr_ops *fr, const cuzk_u256 *a, uint64_t e) {
    cuzk_u256 r;
    fr->pow(&r, a, &e, 1);
    return r;
}

/* y[i] = sum_j c[j] (shift w^i)^j, the definition. */
static void naive(const cuzk_fr_ops *fr, cuzk_u256 *y, const cuzk_u256 *c, unsigned log2n,
                  unsigned family, const cuzk_u256 *shift) {
    cuzk_u256 w, at = *shift;
    cuzk_fr_root(fr, &w, family, log2n);
    for (size_t i = 0; i < (size_t)1 << log2n; i++) {
        y[i] = evaluate(fr, c, (size_t)1 << log2n, &at);
        fr->mul(&at, &at, &w);
    }
}

static cuzk_ntt_plan *new_plan(cuzk_curve_id curve, unsigned log2n, unsigned family,
                               cuzk_cpu_impl impl, cuzk_pool *pool) {
    cuzk_ntt_plan *plan;
    assert_int_equal(cuzk_ntt_plan_new(&plan, curve, log2n, family, impl, pool), CUZK_OK);
    return plan;
}

/* x, either order of input and output, transformed and compared with want (natural order). */
static void expect(const cuzk_ntt_plan *plan, transform_fn *fn, const cuzk_u256 *in,
                   const cuzk_u256 *want, unsigned log2n, bool in_reversed, bool out_reversed,
                   cuzk_pool *pool) {
    const size_t n = (size_t)1 << log2n;
    cuzk_u256 *x = new_vector(n);
    for (size_t i = 0; i < n; i++)
        x[in_reversed ? reverse(i, log2n) : i] = in[i];
    fn(plan, x, pool);
    for (size_t i = 0; i < n; i++)
        assert_memory_equal(&x[out_reversed ? reverse(i, log2n) : i], &want[i], sizeof want[i]);
    cuzk_free(x);
}

static void check_against_definition(cuzk_curve_id curve, unsigned log2n, unsigned family,
                                     cuzk_cpu_impl impl, cuzk_pool *pool) {
    const cuzk_fr_ops *fr = cuzk_curve_get(curve)->fr;
    const size_t n = (size_t)1 << log2n;
    cuzk_ntt_plan *plan = new_plan(curve, log2n, family, impl, pool);
    cuzk_u256 *c = new_vector(n), *y = new_vector(n), *z = new_vector(n), *x = new_vector(n);
    random_vector(fr, c, n);
    naive(fr, y, c, log2n, family, &fr->one);
    expect(plan, cuzk_ntt_forward_nr, c, y, log2n, false, true, pool);
    expect(plan, cuzk_ntt_forward_rn, c, y, log2n, true, false, pool);
    expect(plan, cuzk_ntt_inverse_nr, y, c, log2n, false, true, pool);
    expect(plan, cuzk_ntt_inverse_rn, y, c, log2n, true, false, pool);
    cuzk_u256 g;
    do
        random_vector(fr, &g, 1);
    while (!(g.l[0] | g.l[1] | g.l[2] | g.l[3]));
    naive(fr, z, c, log2n, family, &g);
    memcpy(x, y, n * sizeof *x);
    cuzk_ntt_to_coset(plan, x, &g, pool);
    assert_memory_equal(x, z, n * sizeof *x);
    assert_int_equal(cuzk_ntt_from_coset(plan, x, &g, pool), CUZK_OK);
    assert_memory_equal(x, c, n * sizeof *x);
    cuzk_free(c);
    cuzk_free(y);
    cuzk_free(z);
    cuzk_free(x);
    cuzk_ntt_plan_free(plan);
}

static void test_definition(void **state) {
    (void)state;
    cuzk_pool *pool;
    assert_int_equal(cuzk_pool_new(&pool, 3), CUZK_OK);
    for (unsigned log2n = 0; log2n <= 9; log2n++)
        for (unsigned v = 0; v < 4 * IMPLS; v++)
            check_against_definition(curves[v & 1], log2n, families[v >> 1 & 1], impls[v >> 2],
                                     log2n & 1 ? pool : NULL);
    cuzk_pool_free(pool);
}

/* Larger sizes: round trips, the coset at a few points, and every implementation and number of
 * threads giving the same bytes. */
static void check_large(cuzk_curve_id curve, unsigned log2n, unsigned family,
                        cuzk_pool *const *pools, size_t n_pools) {
    const cuzk_fr_ops *fr = cuzk_curve_get(curve)->fr;
    const size_t n = (size_t)1 << log2n, bytes = n * sizeof(cuzk_u256);
    cuzk_u256 *c = new_vector(n), *nr = new_vector(n), *rn = new_vector(n), *x = new_vector(n);
    cuzk_u256 *coset = new_vector(n);
    cuzk_u256 g, w;
    random_vector(fr, c, n);
    cuzk_fr_root(fr, &g, family, log2n + 1);
    cuzk_fr_root(fr, &w, family, log2n);
    for (size_t run = 0; run < IMPLS * n_pools; run++) {
        cuzk_pool *pool = pools[run / IMPLS];
        cuzk_ntt_plan *plan = new_plan(curve, log2n, family, impls[run % IMPLS], pool);
        memcpy(x, c, bytes);
        cuzk_ntt_forward_nr(plan, x, pool);
        if (run == 0) memcpy(nr, x, bytes);
        assert_memory_equal(x, nr, bytes);
        cuzk_ntt_inverse_rn(plan, x, pool);
        assert_memory_equal(x, c, bytes);
        cuzk_ntt_forward_rn(plan, x, pool);
        if (run == 0) memcpy(rn, x, bytes);
        assert_memory_equal(x, rn, bytes);
        cuzk_ntt_inverse_nr(plan, x, pool);
        assert_memory_equal(x, c, bytes);
        for (size_t i = 0; i < n; i++)
            x[i] = nr[reverse(i, log2n)];
        cuzk_ntt_to_coset(plan, x, &g, pool);
        if (run == 0) memcpy(coset, x, bytes);
        assert_memory_equal(x, coset, bytes);
        assert_int_equal(cuzk_ntt_from_coset(plan, x, &g, pool), CUZK_OK);
        assert_memory_equal(x, c, bytes);
        cuzk_ntt_plan_free(plan);
    }
    for (unsigned k = 0; k < 3; k++) {
        const size_t i = test_rng() & (n - 1);
        cuzk_u256 at = power(fr, &w, i);
        cuzk_u256 v = evaluate(fr, c, n, &at);
        assert_memory_equal(&v, &nr[reverse(i, log2n)], sizeof v);
        fr->mul(&at, &at, &g);
        v = evaluate(fr, c, n, &at);
        assert_memory_equal(&v, &coset[i], sizeof v);
        /* rn read c as bit-reversed coefficients. */
        at = power(fr, &w, reverse(i, log2n));
        cuzk_u256 acc = {{0}}, p = fr->one;
        for (size_t j = 0; j < n; j++) {
            cuzk_u256 term;
            fr->mul(&term, &p, &c[reverse(j, log2n)]);
            fr->add(&acc, &acc, &term);
            fr->mul(&p, &p, &at);
        }
        assert_memory_equal(&acc, &rn[reverse(i, log2n)], sizeof acc);
    }
    cuzk_free(c);
    cuzk_free(nr);
    cuzk_free(rn);
    cuzk_free(x);
    cuzk_free(coset);
}

static void test_large(void **state) {
    (void)state;
    cuzk_pool *pools[3] = {NULL};
    assert_int_equal(cuzk_pool_new(&pools[1], 2), CUZK_OK);
    assert_int_equal(cuzk_pool_new(&pools[2], 7), CUZK_OK);
    for (unsigned log2n = 10; log2n <= 16; log2n++)
        check_large(curves[log2n & 1], log2n, families[log2n >> 1 & 1], pools, log2n <= 14 ? 3 : 2);
    for (size_t i = 1; i < 3; i++)
        cuzk_pool_free(pools[i]);
}

/* The same transform with blst's arithmetic from the generator on: a second opinion on the field
 * and the roots. */
static void test_blst_oracle(void **state) {
    (void)state;
    enum { LOG2N = 6, N = 1 << LOG2N };
    for (unsigned f = 0; f < 2; f++) {
        /* w = family^((r - 1) / n) */
        const uint64_t generator[4] = {families[f], 0, 0, 0};
        blst_fr w, base, c[N];
        blst_fr_from_uint64(&base, generator);
        blst_fr_from_uint64(&w, (const uint64_t[4]){1, 0, 0, 0});
        cuzk_u256 e = cuzk_bls12_381_fr_ops.modulus;
        for (int bit = 255; bit >= LOG2N; bit--) {
            blst_fr_sqr(&w, &w);
            if (e.l[bit / 64] >> (bit % 64) & 1) blst_fr_mul(&w, &w, &base);
        }
        cuzk_u256 *x = new_vector(N);
        random_vector(&cuzk_bls12_381_fr_ops, x, N);
        memcpy(c, x, sizeof c);
        cuzk_ntt_plan *plan = new_plan(CUZK_BLS12_381, LOG2N, families[f], CUZK_CPU_AUTO, NULL);
        cuzk_ntt_forward_nr(plan, x, NULL);
        blst_fr at;
        blst_fr_from_uint64(&at, (const uint64_t[4]){1, 0, 0, 0});
        for (size_t i = 0; i < N; i++) {
            blst_fr acc = {{0}};
            for (size_t j = N; j-- > 0;) {
                blst_fr_mul(&acc, &acc, &at);
                blst_fr_add(&acc, &acc, &c[j]);
            }
            assert_memory_equal(&x[reverse(i, LOG2N)], &acc, sizeof acc);
            blst_fr_mul(&at, &at, &w);
        }
        cuzk_free(x);
        cuzk_ntt_plan_free(plan);
    }
}

static void test_bad_arguments(void **state) {
    (void)state;
    cuzk_ntt_plan *plan;
    assert_int_equal(cuzk_ntt_plan_new(&plan, CUZK_BN254, 29, 5, CUZK_CPU_AUTO, NULL),
                     CUZK_STATUS_BAD_INPUT);
    assert_null(plan);
    assert_int_equal(cuzk_ntt_plan_new(&plan, CUZK_BLS12_381, 33, 7, CUZK_CPU_AUTO, NULL),
                     CUZK_STATUS_BAD_INPUT);
    assert_int_equal(cuzk_ntt_plan_new(&plan, CUZK_BN254, 4, 3, CUZK_CPU_AUTO, NULL),
                     CUZK_STATUS_BAD_INPUT);
    assert_int_equal(cuzk_ntt_plan_new(&plan, (cuzk_curve_id)9, 4, 5, CUZK_CPU_AUTO, NULL),
                     CUZK_STATUS_BAD_INPUT);
    cuzk_ntt_plan_free(NULL);
}

int main(void) {
    test_rng_start();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_definition),
        cmocka_unit_test(test_large),
        cmocka_unit_test(test_blst_oracle),
        cmocka_unit_test(test_bad_arguments),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
