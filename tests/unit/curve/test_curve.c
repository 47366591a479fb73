/* The tables of the two curves: group operations, checks of points, lookups. */
#include "support.h"

#include "multiples.h"
#include "points.h"

#include "field/fields.h"

#include <blst.h>

#define FOR_EACH_GROUP(c, g, ops)                                                                  \
    for (int i_ = 0; i_ < 4; i_++)                                                                 \
        for (const cuzk_curve *c = cuzk_curve_get(both_curves[i_ / 2]); c; c = NULL)               \
            for (cuzk_group g = both_groups[i_ % 2]; g; g = (cuzk_group)0)                         \
                for (const cuzk_group_ops *ops = cuzk_curve_group(c, g); ops; ops = NULL)

static const cuzk_point infinity;

static void lookups(void **state) {
    (void)state;
    const cuzk_curve *bn = cuzk_curve_get(CUZK_BN254), *bls = cuzk_curve_get(CUZK_BLS12_381);
    assert_non_null(bn);
    assert_non_null(bls);
    assert_int_equal(bn->id, CUZK_BN254);
    assert_int_equal(bls->id, CUZK_BLS12_381);
    assert_null(cuzk_curve_get((cuzk_curve_id)0));
    assert_null(cuzk_curve_get((cuzk_curve_id)3));
    assert_ptr_equal(cuzk_curve_by_name("bn254"), bn);
    assert_ptr_equal(cuzk_curve_by_name("bn128"), bn);
    assert_ptr_equal(cuzk_curve_by_name("bls12_381"), bls);
    assert_ptr_equal(cuzk_curve_by_name("bls12381"), bls);
    assert_null(cuzk_curve_by_name(""));
    assert_null(cuzk_curve_by_name("bn256"));
    uint8_t q[56] = {0};
    memcpy(q, bn->fp_modulus, 32);
    assert_ptr_equal(cuzk_curve_by_modulus(q, 32), bn);
    assert_null(cuzk_curve_by_modulus(q, 48));
    q[31] ^= 1;
    assert_null(cuzk_curve_by_modulus(q, 32));
    memcpy(q, bls->fp_modulus, 48);
    assert_ptr_equal(cuzk_curve_by_modulus(q, 48), bls);
    assert_null(cuzk_curve_by_modulus(q, 47));
    assert_null(cuzk_curve_by_modulus(q, 49));
    assert_null(cuzk_curve_by_modulus(q, 0));
    assert_int_equal(bn->g1.point_size, 64);
    assert_int_equal(bn->g2.point_size, 128);
    assert_int_equal(bls->g1.point_size, 96);
    assert_int_equal(bls->g2.point_size, 192);
}

static void base_field(void **state) {
    (void)state;
    for (int i = 0; i < 2; i++) {
        const cuzk_curve *c = cuzk_curve_get(both_curves[i]);
        const size_t bytes = 8 * (size_t)c->fp_limbs;
        uint8_t buf[97], *odd = buf + 1;
        uint64_t plain[6] = {0}, back[6] = {0};
        mpz_t p, z, w;
        mpz_inits(p, z, w, NULL);
        fp_modulus(p, c);
        for (int k = 0; k < 100; k++) {
            test_rng_bytes(plain, bytes);
            mpz_import(z, c->fp_limbs, -1, 8, 0, 0, plain);
            assert_int_equal(c->fp_is_canonical(plain), mpz_cmp(z, p) < 0);
            mpz_mod(z, z, p);
            memset(plain, 0, sizeof plain);
            mpz_export(plain, NULL, -1, 8, 0, 0, z);
            memcpy(odd, plain, bytes);
            c->fp_to_mont(odd, odd);
            mpz_mul_2exp(w, z, 64 * c->fp_limbs);
            mpz_mod(w, w, p);
            mpz_import(z, bytes, -1, 1, 0, 0, odd);
            assert_int_equal(mpz_cmp(z, w), 0);
            c->fp_from_mont(odd, odd);
            memcpy(back, odd, bytes);
            assert_memory_equal(back, plain, bytes);
        }
        assert_false(c->fp_is_canonical(c->fp_modulus));
        mpz_clears(p, z, w, NULL);
    }
}

static void known_multiples_of_the_generators(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof multiples / sizeof *multiples; i++) {
        const cuzk_curve *c = cuzk_curve_get(multiples[i].curve);
        const cuzk_group g = multiples[i].group;
        const cuzk_group_ops *ops = cuzk_curve_group(c, g);
        mpz_t k, want[4];
        mpz_inits(k, want[0], want[1], want[2], want[3], NULL);
        mpz_set_str(k, multiples[i].k, 16);
        for (int j = 0; j < coords(g); j++)
            assert_int_equal(mpz_set_str(want[j], multiples[i].xy[j], 16), 0);
        cuzk_u256 scalar;
        cuzk_point p, q;
        u256_set(&scalar, k);
        ops->mul(&p, ops->generator, &scalar);
        point_set(c, g, &q, want);
        assert_memory_equal(&p, &q, ops->point_size);
        mul_any(ops, &p, ops->generator, k);
        assert_true(ops->eq(&p, &q));
        assert_true(ops->in_subgroup(&p));
        mpz_clears(k, want[0], want[1], want[2], want[3], NULL);
    }
}

static void sums_and_products(void **state) {
    (void)state;
    FOR_EACH_GROUP(c, g, ops) {
        mpz_t x, y, r;
        mpz_inits(x, y, r, NULL);
        fr_modulus(r, c);
        for (int i = 0; i < 15; i++) {
            cuzk_u256 a, b, s;
            cuzk_point pa, pb, sum, want;
            random_scalar(c, &a);
            random_scalar(c, &b);
            if (i % 3 == 1) a = (cuzk_u256){{(uint64_t)i}}; /* short, and down from 2^256 */
            if (i % 3 == 2) memset(&b, 0xff, sizeof b), b.l[0] -= (uint64_t)i;
            ops->mul(&pa, ops->generator, &a);
            ops->mul(&pb, ops->generator, &b);
            mpz_import(x, 4, -1, 8, 0, 0, a.l);
            mpz_import(y, 4, -1, 8, 0, 0, b.l);
            mpz_add(x, x, y);
            mpz_mod(x, x, r);
            u256_set(&s, x);
            ops->mul(&want, ops->generator, &s);
            ops->add(&sum, &pa, &pb);
            assert_memory_equal(&sum, &want, ops->point_size);
            assert_true(ops->on_curve(&sum));
            /* b (a G) = a (b G) */
            ops->mul(&sum, &pa, &b);
            ops->mul(&want, &pb, &a);
            assert_true(ops->eq(&sum, &want));
        }
        mpz_clears(x, y, r, NULL);
    }
}

static void special_cases(void **state) {
    (void)state;
    FOR_EACH_GROUP(c, g, ops) {
        const cuzk_u256 zero = {{0}}, one = {{1}}, two = {{2}};
        cuzk_u256 k = c->fr->modulus;
        cuzk_point p, minus, r, w;
        random_subgroup_point(c, g, &p);
        ops->neg(&minus, &p);
        assert_false(ops->eq(&p, &minus));
        assert_false(ops->is_infinity(&p));
        assert_true(ops->is_infinity(&infinity));
        assert_true(ops->on_curve(&infinity));
        assert_true(ops->in_subgroup(&infinity));
        ops->neg(&r, &infinity);
        assert_true(ops->is_infinity(&r));
        ops->add(&r, &p, &infinity);
        assert_true(ops->eq(&r, &p));
        ops->add(&r, &infinity, &p);
        assert_true(ops->eq(&r, &p));
        ops->add(&r, &infinity, &infinity);
        assert_true(ops->is_infinity(&r));
        ops->add(&r, &p, &minus);
        assert_true(ops->is_infinity(&r));
        ops->mul(&w, &p, &two);
        ops->add(&r, &p, &p);
        assert_true(ops->eq(&r, &w));
        r = p;
        ops->add(&r, &r, &r);
        assert_true(ops->eq(&r, &w));
        ops->mul(&r, &p, &zero);
        assert_true(ops->is_infinity(&r));
        ops->mul(&r, &p, &one);
        assert_true(ops->eq(&r, &p));
        ops->mul(&r, &infinity, &c->fr->modulus);
        assert_true(ops->is_infinity(&r));
        ops->mul(&r, &p, &k); /* r p */
        assert_true(ops->is_infinity(&r));
        k.l[0]--;
        r = p;
        ops->mul(&r, &r, &k);
        assert_true(ops->eq(&r, &minus));
        ops->neg(&r, &r);
        assert_true(ops->eq(&r, &p));
        /* any alignment, also with overlap of result and argument */
        uint8_t buf[3 * CUZK_POINT_MAX + 8];
        for (size_t shift = 0; shift < 8; shift++) {
            uint8_t *a = buf + shift, *b = a + ops->point_size, *s = b + ops->point_size;
            memcpy(a, &p, ops->point_size);
            memcpy(b, &w, ops->point_size); /* 2p */
            ops->add(s, a, b);
            ops->neg(a, a);
            ops->add(s, s, a);
            ops->add(s, s, a);
            assert_true(ops->eq(s, &p));
            ops->mul(b, a, &two);
            ops->add(b, b, &w);
            assert_true(ops->is_infinity(b));
            assert_true(ops->on_curve(a) && ops->in_subgroup(a) && ops->is_canonical(a));
        }
    }
}

static void bad_points_are_rejected(void **state) {
    (void)state;
    FOR_EACH_GROUP(c, g, ops) {
        const size_t bytes = 8 * (size_t)c->fp_limbs;
        cuzk_point p, q;
        for (size_t bit = 0; bit < 8 * ops->point_size; bit += 1 + bit % 5) {
            random_subgroup_point(c, g, &p);
            q = p;
            q.b[bit / 8] ^= (uint8_t)(1 << bit % 8);
            assert_false(ops->on_curve(&q));
            assert_false(ops->in_subgroup(&q));
        }
        for (int i = 0; i < coords(g); i++) {
            /* the same coordinate plus p, where it fits: congruent, not canonical */
            random_subgroup_point(c, g, &p);
            uint64_t l[6], carry = 0;
            memcpy(l, p.b + bytes * (size_t)i, bytes);
            for (unsigned k = 0; k < c->fp_limbs; k++)
                carry = cuzk_addc(&l[k], l[k], c->fp_modulus[k], carry);
            assert_int_equal(carry, 0); /* both moduli leave a bit free */
            q = p;
            memcpy(q.b + bytes * (size_t)i, l, bytes);
            assert_true(ops->is_canonical(&p));
            assert_false(ops->is_canonical(&q));
            assert_false(ops->on_curve(&q));
            assert_false(ops->in_subgroup(&q));
            /* p itself for a zero of infinity */
            memset(&q, 0, sizeof q);
            memcpy(q.b + bytes * (size_t)i, c->fp_modulus, bytes);
            assert_false(ops->on_curve(&q));
        }
        memset(&q, 0xff, sizeof q);
        assert_false(ops->is_canonical(&q) || ops->on_curve(&q) || ops->in_subgroup(&q));
    }
}

static void subgroup_test_is_multiplication_by_the_order(void **state) {
    (void)state;
    /* primes that divide the cofactors, with their exponents */
    static const struct {
        int curve, group;
        unsigned long prime, exponent;
    } factors[] = {
        {CUZK_BLS12_381, CUZK_G1, 3, 1},     {CUZK_BLS12_381, CUZK_G1, 11, 2},
        {CUZK_BLS12_381, CUZK_G1, 10177, 2}, {CUZK_BLS12_381, CUZK_G2, 13, 2},
        {CUZK_BLS12_381, CUZK_G2, 23, 2},    {CUZK_BLS12_381, CUZK_G2, 2713, 1},
        {CUZK_BN254, CUZK_G2, 10069, 1},     {CUZK_BN254, CUZK_G2, 5864401, 1},
    };
    FOR_EACH_GROUP(c, g, ops) {
        mpz_t h, r, t;
        mpz_inits(h, r, t, NULL);
        cofactor(h, c, g);
        fr_modulus(r, c);
        for (int i = 0; i < 8; i++) {
            cuzk_point q, in, s;
            random_curve_point(c, g, &q);
            assert_true(ops->on_curve(&q));
            mul_any(ops, &s, &q, r);
            assert_int_equal(ops->in_subgroup(&q), ops->is_infinity(&s));
            assert_int_equal(ops->in_subgroup(&s), ops->is_infinity(&s)); /* order divides h */
            assert_int_equal(ops->is_infinity(&s), mpz_cmp_ui(h, 1) == 0);
            mul_any(ops, &in, &q, h);
            assert_true(ops->in_subgroup(&in));
            mul_any(ops, &in, &in, r);
            assert_true(ops->is_infinity(&in));
        }
        for (size_t f = 0; f < sizeof factors / sizeof *factors; f++) {
            if (factors[f].curve != (int)c->id || factors[f].group != (int)g) continue;
            mpz_t part;
            mpz_init(part);
            mpz_ui_pow_ui(part, factors[f].prime, factors[f].exponent);
            mpz_mul(t, h, r);
            assert_true(mpz_divisible_p(t, part));
            mpz_divexact(t, t, part);
            int seen = 0;
            for (int i = 0; i < 5 || seen == 0; i++) {
                cuzk_point q, in, s;
                random_curve_point(c, g, &q);
                mul_any(ops, &s, &q, t); /* order a power of the prime */
                mul_any(ops, &q, &s, part);
                assert_true(ops->is_infinity(&q));
                if (ops->is_infinity(&s)) continue;
                seen++;
                assert_true(ops->on_curve(&s));
                assert_false(ops->in_subgroup(&s));
                random_subgroup_point(c, g, &in);
                ops->add(&s, &s, &in);
                assert_false(ops->in_subgroup(&s));
            }
            mpz_clear(part);
        }
        mpz_clears(h, r, t, NULL);
    }
    /* a point of order 3 in sight: (0, 2) on y^2 = x^3 + 4 */
    const cuzk_curve *bls = cuzk_curve_get(CUZK_BLS12_381);
    uint64_t xy[12] = {0};
    xy[6] = 2;
    bls->fp_to_mont(xy + 6, xy + 6);
    assert_true(bls->g1.on_curve(xy));
    assert_false(bls->g1.in_subgroup(xy));
}

/* blst takes our points as they are. */
static void bls12_381_agrees_with_blst(void **state) {
    (void)state;
    const cuzk_curve *c = cuzk_curve_get(CUZK_BLS12_381);
    for (int i = 0; i < 20; i++) {
        cuzk_u256 k;
        random_scalar(c, &k);
        blst_p1_affine a1, b1, w1;
        blst_p1 t1, u1;
        random_curve_point(c, CUZK_G1, &a1);
        random_subgroup_point(c, CUZK_G1, &b1);
        blst_p1_from_affine(&t1, &a1);
        blst_p1_add_or_double_affine(&u1, &t1, &b1);
        blst_p1_to_affine(&w1, &u1);
        cuzk_point r;
        c->g1.add(&r, &a1, &b1);
        assert_memory_equal(&r, &w1, sizeof w1);
        blst_p1_from_affine(&t1, &b1);
        blst_p1_mult(&u1, &t1, (const uint8_t *)k.l, 255);
        blst_p1_to_affine(&w1, &u1);
        c->g1.mul(&r, &b1, &k);
        assert_memory_equal(&r, &w1, sizeof w1);
        assert_int_equal(blst_p1_affine_in_g1(&a1), c->g1.in_subgroup(&a1));
        assert_int_equal(blst_p1_affine_in_g1(&b1), c->g1.in_subgroup(&b1));

        blst_p2_affine a2, b2, w2;
        blst_p2 t2, u2;
        random_curve_point(c, CUZK_G2, &a2);
        random_subgroup_point(c, CUZK_G2, &b2);
        blst_p2_from_affine(&t2, &a2);
        blst_p2_add_or_double_affine(&u2, &t2, &b2);
        blst_p2_to_affine(&w2, &u2);
        c->g2.add(&r, &a2, &b2);
        assert_memory_equal(&r, &w2, sizeof w2);
        blst_p2_from_affine(&t2, &b2);
        blst_p2_mult(&u2, &t2, (const uint8_t *)k.l, 255);
        blst_p2_to_affine(&w2, &u2);
        c->g2.mul(&r, &b2, &k);
        assert_memory_equal(&r, &w2, sizeof w2);
        assert_int_equal(blst_p2_affine_in_g2(&a2), c->g2.in_subgroup(&a2));
        assert_int_equal(blst_p2_affine_in_g2(&b2), c->g2.in_subgroup(&b2));
    }
    assert_memory_equal(c->g1.generator, blst_p1_affine_generator(), 96);
    assert_memory_equal(c->g2.generator, blst_p2_affine_generator(), 192);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lookups),
        cmocka_unit_test(base_field),
        cmocka_unit_test(known_multiples_of_the_generators),
        cmocka_unit_test(sums_and_products),
        cmocka_unit_test(special_cases),
        cmocka_unit_test(bad_points_are_rejected),
        cmocka_unit_test(subgroup_test_is_multiplication_by_the_order),
        cmocka_unit_test(bls12_381_agrees_with_blst),
    };
    test_rng_start();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
