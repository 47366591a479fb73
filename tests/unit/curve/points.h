/* Points of the curves made with GMP alone, and conversions: what the curve module is tested
 * against. Coordinates are plain integers, two in G1 and four in G2 (x0, x1, y0, y1). */
#ifndef CUZK_TESTS_CURVE_POINTS_H
#define CUZK_TESTS_CURVE_POINTS_H

#include "curve/curve.h"

#include <gmp.h>

static const cuzk_group both_groups[2] = {CUZK_G1, CUZK_G2};
static const cuzk_curve_id both_curves[2] = {CUZK_BN254, CUZK_BLS12_381};

static inline int coords(cuzk_group g) {
    return g == CUZK_G1 ? 2 : 4;
}

static inline void fp_modulus(mpz_t p, const cuzk_curve *c) {
    mpz_import(p, c->fp_limbs, -1, 8, 0, 0, c->fp_modulus);
}

static inline void fr_modulus(mpz_t r, const cuzk_curve *c) {
    mpz_import(r, 4, -1, 8, 0, 0, c->fr->modulus.l);
}

static inline void u256_set(cuzk_u256 *r, const mpz_t z) {
    memset(r, 0, sizeof *r);
    mpz_export(r->l, NULL, -1, 8, 0, 0, z);
}

static inline void point_set(const cuzk_curve *c, cuzk_group g, void *out, mpz_t *xy) {
    const size_t bytes = 8 * (size_t)c->fp_limbs;
    for (int i = 0; i < coords(g); i++) {
        uint64_t l[6] = {0};
        mpz_export(l, NULL, -1, 8, 0, 0, xy[i]);
        c->fp_to_mont((uint8_t *)out + bytes * (size_t)i, l);
    }
}

static inline void point_get(const cuzk_curve *c, cuzk_group g, mpz_t *xy, const void *a) {
    const size_t bytes = 8 * (size_t)c->fp_limbs;
    for (int i = 0; i < coords(g); i++) {
        uint64_t l[6] = {0};
        c->fp_from_mont(l, (const uint8_t *)a + bytes * (size_t)i);
        mpz_import(xy[i], c->fp_limbs, -1, 8, 0, 0, l);
    }
}

/* Fp2 = Fp[u]/(u^2 + 1) as two integers. */
typedef struct {
    mpz_t c[2];
} gmp_fp2;

static inline void gmp_fp2_mul(gmp_fp2 *r, const gmp_fp2 *a, const gmp_fp2 *b, const mpz_t p) {
    mpz_t x, y;
    mpz_inits(x, y, NULL);
    mpz_mul(x, a->c[0], b->c[0]);
    mpz_submul(x, a->c[1], b->c[1]);
    mpz_mul(y, a->c[0], b->c[1]);
    mpz_addmul(y, a->c[1], b->c[0]);
    mpz_mod(r->c[0], x, p);
    mpz_mod(r->c[1], y, p);
    mpz_clears(x, y, NULL);
}

/* A square root mod p = 3 mod 4; false when there is none. */
static inline bool gmp_sqrt(mpz_t r, const mpz_t a, const mpz_t p) {
    mpz_t e, t;
    mpz_inits(e, t, NULL);
    mpz_add_ui(e, p, 1);
    mpz_fdiv_q_2exp(e, e, 2);
    mpz_powm(t, a, e, p);
    mpz_mul(e, t, t);
    mpz_sub(e, e, a);
    mpz_mod(e, e, p);
    const bool ok = mpz_sgn(e) == 0;
    mpz_set(r, t);
    mpz_clears(e, t, NULL);
    return ok;
}

/* x0 + x1 u with square a0 + a1 u: x0^2 = (a0 ± |a|)/2, x1 = a1/(2 x0), |a| the norm's root. */
static inline bool gmp_fp2_sqrt(gmp_fp2 *r, const gmp_fp2 *a, const mpz_t p) {
    mpz_t n, t, half;
    bool ok = false;
    mpz_inits(n, t, half, NULL);
    mpz_add_ui(half, p, 1);
    mpz_fdiv_q_2exp(half, half, 1);
    mpz_mul(n, a->c[0], a->c[0]);
    mpz_addmul(n, a->c[1], a->c[1]);
    mpz_mod(n, n, p);
    if (gmp_sqrt(n, n, p)) {
        for (int sign = 0; sign < 2 && !ok; sign++) {
            if (sign)
                mpz_sub(t, a->c[0], n);
            else
                mpz_add(t, a->c[0], n);
            mpz_mul(t, t, half);
            mpz_mod(t, t, p);
            if (mpz_sgn(t) == 0 || !gmp_sqrt(r->c[0], t, p)) continue;
            mpz_mul_2exp(t, r->c[0], 1);
            mpz_invert(t, t, p);
            mpz_mul(r->c[1], a->c[1], t);
            mpz_mod(r->c[1], r->c[1], p);
            ok = true;
        }
    }
    mpz_clears(n, t, half, NULL);
    return ok;
}

/* A random point of the curve; in the subgroup only where that is the whole curve (or by a
 * chance of 1/cofactor). Its equation's b is taken from the generator. */
static inline void random_curve_point(const cuzk_curve *c, cuzk_group g, void *out) {
    const cuzk_group_ops *ops = cuzk_curve_group(c, g);
    mpz_t p, xy[4];
    gmp_fp2 b, x, y, t;
    mpz_inits(p, b.c[0], b.c[1], x.c[0], x.c[1], y.c[0], y.c[1], t.c[0], t.c[1], NULL);
    mpz_inits(xy[0], xy[1], xy[2], xy[3], NULL);
    fp_modulus(p, c);
    point_get(c, g, xy, ops->generator);
    const int half = coords(g) / 2;
    for (int i = 0; i < half; i++) {
        mpz_set(x.c[i], xy[i]);
        mpz_set(y.c[i], xy[half + i]);
    }
    gmp_fp2_mul(&b, &y, &y, p);
    gmp_fp2_mul(&t, &x, &x, p);
    gmp_fp2_mul(&t, &t, &x, p);
    for (int i = 0; i < 2; i++)
        mpz_sub(b.c[i], b.c[i], t.c[i]);
    bool found = false;
    while (!found) {
        for (int i = 0; i < half; i++) {
            uint8_t bytes[64];
            test_rng_bytes(bytes, sizeof bytes);
            mpz_import(x.c[i], sizeof bytes, -1, 1, 0, 0, bytes);
            mpz_mod(x.c[i], x.c[i], p);
        }
        gmp_fp2_mul(&t, &x, &x, p);
        gmp_fp2_mul(&t, &t, &x, p);
        for (int i = 0; i < 2; i++) {
            mpz_add(t.c[i], t.c[i], b.c[i]);
            mpz_mod(t.c[i], t.c[i], p);
        }
        found = g == CUZK_G1 ? gmp_sqrt(y.c[0], t.c[0], p) : gmp_fp2_sqrt(&y, &t, p);
    }
    for (int i = 0; i < half; i++) {
        mpz_set(xy[i], x.c[i]);
        mpz_set(xy[half + i], y.c[i]);
    }
    point_set(c, g, out, xy);
    mpz_clears(p, b.c[0], b.c[1], x.c[0], x.c[1], y.c[0], y.c[1], t.c[0], t.c[1], NULL);
    mpz_clears(xy[0], xy[1], xy[2], xy[3], NULL);
}

static inline void random_scalar(const cuzk_curve *c, cuzk_u256 *plain) {
    uint8_t wide[64];
    test_rng_bytes(wide, sizeof wide);
    c->fr->from_wide(plain, wide);
    c->fr->from_mont(plain, plain);
}

static inline void random_subgroup_point(const cuzk_curve *c, cuzk_group g, void *out) {
    const cuzk_group_ops *ops = cuzk_curve_group(c, g);
    cuzk_u256 k;
    random_scalar(c, &k);
    ops->mul(out, ops->generator, &k);
}

/* out = k * a by doubling and adding, for k of any length. */
static inline void mul_any(const cuzk_group_ops *ops, void *out, const void *a, const mpz_t k) {
    cuzk_point acc, base;
    memset(&acc, 0, sizeof acc);
    memcpy(&base, a, ops->point_size);
    for (size_t i = mpz_sizeinbase(k, 2); i-- > 0;) {
        ops->add(&acc, &acc, &acc);
        if (mpz_tstbit(k, i)) ops->add(&acc, &acc, &base);
    }
    memcpy(out, &acc, ops->point_size);
}

/* Number of points of the curve that holds the group, divided by r. */
static inline void cofactor(mpz_t h, const cuzk_curve *c, cuzk_group g) {
    mpz_t x, p, r;
    mpz_inits(x, p, r, NULL);
    fp_modulus(p, c);
    fr_modulus(r, c);
    if (c->id == CUZK_BN254) {
        mpz_set_ui(h, 1);
        if (g == CUZK_G2) {
            mpz_mul_2exp(h, p, 1);
            mpz_sub(h, h, r);
        }
    } else {
        mpz_set_str(x, "-d201000000010000", 16);
        if (g == CUZK_G1) { /* (x - 1)^2 / 3 */
            mpz_sub_ui(h, x, 1);
            mpz_mul(h, h, h);
            mpz_divexact_ui(h, h, 3);
        } else { /* (x^8 - 4x^7 + 5x^6 - 4x^4 + 6x^3 - 4x^2 - 4x + 13) / 9 */
            static const long coef[9] = {1, -4, 5, 0, -4, 6, -4, -4, 13};
            mpz_set_ui(h, 0);
            for (int i = 0; i < 9; i++) {
                mpz_mul(h, h, x);
                if (coef[i] < 0)
                    mpz_sub_ui(h, h, (unsigned long)-coef[i]);
                else
                    mpz_add_ui(h, h, (unsigned long)coef[i]);
            }
            mpz_divexact_ui(h, h, 9);
        }
    }
    mpz_clears(x, p, r, NULL);
}

#endif
