/* DESIGN. The optimal ate pairing of BN254 (Vercauteren, "Optimal pairings", eprint 2008/096):
 *
 *   f = f_{6x+2,Q}(P) * l_{[6x+2]Q, psi Q}(P) * l_{..., -psi^2 Q}(P),  e = f^((p^12 - 1)/r * m)
 *
 * Points of the twist stay in homogeneous projective coordinates and give lines with three
 * coefficients (Costello, Lange, Naehrig, "Faster pairing computations on curves with high-degree
 * twists", eprint 2009/615); all pairs of a product share the squarings and the exponentiation.
 * The hard part of the exponent follows Fuentes-Castaneda, Knapp, Rodriguez-Henriquez, "Faster
 * hashing to G2", SAC 2011: it costs three powers by x and comes with the factor
 * m = 2x(6x^2 + 3x + 1), prime to r. libff and snarkjs compute the same power, so that
 * vk_alphabeta_12 of their keys is this pairing without any conversion.
 */
#include "curve/groups.h"
#include "curve/internal.h"

#include <string.h>

typedef cuzk_bn254_fp_t fp;
typedef cuzk_bn254_fp2_t fp2;
typedef cuzk_bn254_g1_affine_t g1;
typedef cuzk_bn254_g2_affine_t g2;

/* r = (9 + u) a. */
static inline void mul_xi(fp2 *r, const fp2 *a) {
    fp2 t;
    cuzk_bn254_fp2_dbl(&t, a);
    cuzk_bn254_fp2_dbl(&t, &t);
    cuzk_bn254_fp2_dbl(&t, &t);
    cuzk_bn254_fp2_add(&t, &t, a);
    fp c0 = a->c0;
    cuzk_bn254_fp_sub(&r->c0, &t.c0, &a->c1);
    cuzk_bn254_fp_add(&r->c1, &t.c1, &c0);
}

#define TW cuzk_bn254
#define TW_F cuzk_bn254_fp2
#define TW_MUL_XI mul_xi
#include "field/fe_tower.inl.h"

typedef cuzk_bn254_fp12_t fp12;

#define ADD cuzk_bn254_fp2_add
#define SUB cuzk_bn254_fp2_sub
#define MUL cuzk_bn254_fp2_mul
#define SQR cuzk_bn254_fp2_sqr
#define DBL cuzk_bn254_fp2_dbl

/* A point of the twist as (X/Z, Y/Z). */
typedef struct {
    fp2 x, y, z;
} proj;

/* f *= line: l0 yP + l1 xP w + l3 w^3. */
static void mul_line(fp12 *f, fp2 *l0, fp2 *l1, const fp2 *l3, const g1 *p) {
    cuzk_bn254_fp2_mul_base(l0, l0, &p->y);
    cuzk_bn254_fp2_mul_base(l1, l1, &p->x);
    cuzk_bn254_fp12_mul_013(f, f, l0, l1, l3);
}

/* T = 2T, f *= tangent: 2YZ yP - 3X^2 xP w + (Y^2 - 3b'Z^2) w^3. With B = Y^2 and E = 3b'Z^2, 2T
 * is (2XY(B - 3E), (B + 3E)^2 - 12E^2, 8B YZ). */
static void dbl_step(fp12 *f, proj *t, const g1 *p) {
    const fp2 twist_b = CUZK_BN254_G2_B;
    fp2 a, b, c, e, g, h, j, l3, u;
    MUL(&a, &t->x, &t->y);
    DBL(&a, &a);
    SQR(&b, &t->y);
    SQR(&c, &t->z);
    DBL(&u, &c);
    ADD(&u, &u, &c);
    MUL(&e, &u, &twist_b); /* 3b'Z^2 */
    ADD(&h, &t->y, &t->z);
    SQR(&h, &h);
    SUB(&h, &h, &b);
    SUB(&h, &h, &c); /* 2YZ */
    SQR(&j, &t->x);
    DBL(&u, &j);
    ADD(&j, &j, &u);
    cuzk_bn254_fp2_neg(&j, &j);
    SUB(&l3, &b, &e);
    DBL(&u, &e);
    ADD(&u, &u, &e); /* 9b'Z^2 */
    SUB(&g, &b, &u);
    MUL(&t->x, &a, &g);
    ADD(&g, &b, &u);
    SQR(&g, &g);
    SQR(&e, &e);
    DBL(&u, &e);
    ADD(&e, &e, &u);
    DBL(&e, &e);
    DBL(&e, &e);
    SUB(&t->y, &g, &e);
    MUL(&t->z, &b, &h);
    DBL(&t->z, &t->z);
    DBL(&t->z, &t->z);
    mul_line(f, &h, &j, &l3, p);
}

/* T = T + Q, f *= line: with theta = Y - yQ Z and lambda = X - xQ Z,
 * lambda yP - theta xP w + (theta xQ - lambda yQ) w^3. */
static void add_step(fp12 *f, proj *t, const g2 *q, const g1 *p) {
    fp2 theta, lambda, c, d, e, g, h, u, l3;
    MUL(&u, &q->y, &t->z);
    SUB(&theta, &t->y, &u);
    MUL(&u, &q->x, &t->z);
    SUB(&lambda, &t->x, &u);
    SQR(&c, &theta);
    SQR(&d, &lambda);
    MUL(&e, &d, &lambda);
    MUL(&c, &c, &t->z);
    MUL(&g, &t->x, &d);
    ADD(&h, &e, &c);
    SUB(&h, &h, &g);
    SUB(&h, &h, &g);
    MUL(&t->x, &lambda, &h);
    SUB(&g, &g, &h);
    MUL(&g, &g, &theta);
    MUL(&u, &e, &t->y);
    SUB(&t->y, &g, &u);
    MUL(&t->z, &t->z, &e);
    MUL(&l3, &theta, &q->x);
    MUL(&u, &lambda, &q->y);
    SUB(&l3, &l3, &u);
    cuzk_bn254_fp2_neg(&theta, &theta);
    mul_line(f, &lambda, &theta, &l3, p);
}

static void psi(g2 *r, const g2 *a) {
    const fp2 cx = CUZK_BN254_PSI_X, cy = CUZK_BN254_PSI_Y;
    cuzk_bn254_fp2_conj(&r->x, &a->x);
    MUL(&r->x, &r->x, &cx);
    cuzk_bn254_fp2_conj(&r->y, &a->y);
    MUL(&r->y, &r->y, &cy);
}

enum { MAX_PAIRS = 16 };

/* f *= the Miller functions of n <= MAX_PAIRS pairs without infinity. */
static void miller(fp12 *f, const g1 *p, const g2 *q, size_t n) {
    proj t[MAX_PAIRS];
    fp12 acc;
    g2 minus[MAX_PAIRS];
    /* Non-adjacent form of 6x + 2 = s: digit i is bit i+1 of 3s minus bit i+1 of s. */
    const cuzk_u128 s = (cuzk_u128)CUZK_BN254_X * 6 + 2, s3 = 3 * s;
    int top = 127;
    while (!(s3 >> top & 1))
        top--;
    for (size_t k = 0; k < n; k++) {
        cuzk_bn254_g2_affine_neg(&minus[k], &q[k]);
        t[k].x = q[k].x;
        t[k].y = q[k].y;
        cuzk_bn254_fp2_set_one(&t[k].z);
    }
    cuzk_bn254_fp12_set_one(&acc);
    for (int i = top - 1; i >= 1; i--) {
        const int digit = (int)(s3 >> i & 1) - (int)(s >> i & 1);
        cuzk_bn254_fp12_sqr(&acc, &acc);
        for (size_t k = 0; k < n; k++) {
            dbl_step(&acc, &t[k], &p[k]);
            if (digit) add_step(&acc, &t[k], digit > 0 ? &q[k] : &minus[k], &p[k]);
        }
    }
    for (size_t k = 0; k < n; k++) {
        g2 q1, q2;
        psi(&q1, &q[k]);
        psi(&q2, &q1);
        cuzk_bn254_g2_affine_neg(&q2, &q2);
        add_step(&acc, &t[k], &q1, &p[k]);
        add_step(&acc, &t[k], &q2, &p[k]);
    }
    cuzk_bn254_fp12_mul(f, f, &acc);
}

/* r = a^(p^k), k = 1, 2, 3. */
static void frobenius(fp12 *r, const fp12 *a, int k) {
    static const fp2 g1st[5] = CUZK_BN254_FROB1, g3rd[5] = CUZK_BN254_FROB3;
    static const fp g2nd[5] = CUZK_BN254_FROB2;
    for (int i = 0; i < 6; i++) {
        const fp2 *from = &a->c[i % 2].c[i / 2];
        fp2 *to = &r->c[i % 2].c[i / 2];
        if (k == 2) {
            *to = *from;
            if (i > 0) cuzk_bn254_fp2_mul_base(to, to, &g2nd[i - 1]);
        } else {
            cuzk_bn254_fp2_conj(to, from);
            if (i > 0) MUL(to, to, k == 1 ? &g1st[i - 1] : &g3rd[i - 1]);
        }
    }
}

/* r = a^x for a in the cyclotomic subgroup, by the non-adjacent form of x. */
static void pow_x(fp12 *r, const fp12 *a) {
    const cuzk_u128 x = CUZK_BN254_X, x3 = 3 * x;
    fp12 acc = *a, inverse;
    cuzk_bn254_fp12_conj(&inverse, a);
    int top = 127;
    while (!(x3 >> top & 1))
        top--;
    for (int i = top - 1; i >= 1; i--) {
        const int digit = (int)(x3 >> i & 1) - (int)(x >> i & 1);
        cuzk_bn254_fp12_cyclo_sqr(&acc, &acc);
        if (digit) cuzk_bn254_fp12_mul(&acc, &acc, digit > 0 ? a : &inverse);
    }
    *r = acc;
}

static void final_exp(fp12 *f) {
    fp12 t, u, a, b, f2x, f6x2;
    /* easy part: (p^6 - 1)(p^2 + 1) */
    cuzk_bn254_fp12_inv(&t, f);
    cuzk_bn254_fp12_conj(f, f);
    cuzk_bn254_fp12_mul(f, f, &t);
    frobenius(&t, f, 2);
    cuzk_bn254_fp12_mul(f, f, &t);
    /* hard part: f^(l0 + l1 p + l2 p^2 + l3 p^3) with
     * l0 = 1 + 6x + 12x^2 + 12x^3, l1 = 4x + 6x^2 + 12x^3, l2 = l1 + 2x, l3 = l1 - 1 */
    pow_x(&t, f);
    cuzk_bn254_fp12_cyclo_sqr(&f2x, &t);
    cuzk_bn254_fp12_cyclo_sqr(&t, &f2x);
    cuzk_bn254_fp12_mul(&a, &t, &f2x); /* 6x */
    pow_x(&f6x2, &a);
    cuzk_bn254_fp12_cyclo_sqr(&t, &f6x2);
    pow_x(&t, &t); /* 12x^3 */
    cuzk_bn254_fp12_mul(&a, &a, &t);
    cuzk_bn254_fp12_mul(&a, &a, &f6x2); /* l2 */
    cuzk_bn254_fp12_conj(&t, &f2x);
    cuzk_bn254_fp12_mul(&b, &a, &t); /* l1 */
    cuzk_bn254_fp12_mul(&t, &a, &f6x2);
    cuzk_bn254_fp12_mul(&t, &t, f); /* l0 */
    cuzk_bn254_fp12_conj(&u, f);
    cuzk_bn254_fp12_mul(&u, &u, &b); /* l3 */
    frobenius(&u, &u, 3);
    frobenius(&a, &a, 2);
    frobenius(&b, &b, 1);
    cuzk_bn254_fp12_mul(f, &t, &u);
    cuzk_bn254_fp12_mul(f, f, &a);
    cuzk_bn254_fp12_mul(f, f, &b);
}

bool cuzk__bn254_pairing_product_is_one(const void *const *p, const void *const *q, size_t n) {
    g1 a[MAX_PAIRS];
    g2 b[MAX_PAIRS];
    fp12 f;
    size_t used = 0;
    cuzk_bn254_fp12_set_one(&f);
    for (size_t i = 0; i < n; i++) {
        memcpy(&a[used], p[i], sizeof a[0]);
        memcpy(&b[used], q[i], sizeof b[0]);
        if (cuzk_bn254_g1_affine_is_infinity(&a[used]) ||
            cuzk_bn254_g2_affine_is_infinity(&b[used]))
            continue;
        if (++used == MAX_PAIRS) {
            miller(&f, a, b, used);
            used = 0;
        }
    }
    if (used) miller(&f, a, b, used);
    final_exp(&f);
    return cuzk_bn254_fp12_is_one(&f);
}

void cuzk__bn254_pairing(uint64_t *out, const void *p, const void *q) {
    g1 a;
    g2 b;
    fp12 f;
    memcpy(&a, p, sizeof a);
    memcpy(&b, q, sizeof b);
    cuzk_bn254_fp12_set_one(&f);
    if (!cuzk_bn254_g1_affine_is_infinity(&a) && !cuzk_bn254_g2_affine_is_infinity(&b))
        miller(&f, &a, &b, 1);
    final_exp(&f);
    for (int i = 0; i < 2; i++) {
        for (int j = 0; j < 3; j++) {
            fp plain;
            cuzk_bn254_fp_from_mont(&plain, &f.c[i].c[j].c0);
            memcpy(out, plain.l, sizeof plain.l);
            cuzk_bn254_fp_from_mont(&plain, &f.c[i].c[j].c1);
            memcpy(out + 4, plain.l, sizeof plain.l);
            out += 8;
        }
    }
}
