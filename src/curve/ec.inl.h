/* Short Weierstrass points y^2 = x^3 + b (a = 0), affine and XYZZ: include-template over a field
 * or its quadratic extension, one text for G1 and G2 of both curves, host and device.
 *
 * Parameters: EC (prefix to generate), EC_F (field prefix: cuzk_bn254_fp, cuzk_bn254_fp2, …),
 * EC_B (brace list of the constant b in Montgomery form).
 *
 * Generates EC_affine_t {x, y}, infinity is (0, 0), which is on neither curve as b != 0;
 * EC_xyzz_t {x, y, zz, zzz} with x/zz, y/zzz the affine coordinates and zz^3 = zzz^2, infinity is
 * zz = 0. All functions handle every case (infinity, equal, opposite) and allow aliasing.
 * Costs: M and S are products and squares of the field.
 *
 * Formulas: add-2008-s, madd-2008-s, dbl-2008-s-1 and mdbl-2008-s-1 for "xyzz" coordinates in the
 * Explicit-Formulas Database (Bernstein, Lange). */

#define EC_CAT2(a, b) a##_##b
#define EC_CAT(a, b) EC_CAT2(a, b)
#define EC_(name) EC_CAT(EC, name)
#define F_(name) EC_CAT(EC_F, name)

typedef struct EC_(affine_t) {
    F_(t) x, y;
} EC_(affine_t);

typedef struct EC_(xyzz_t) {
    F_(t) x, y, zz, zzz;
} EC_(xyzz_t);

static CUZK_HD bool EC_(affine_is_infinity)(const EC_(affine_t) * a) {
    return F_(is_zero)(&a->x) && F_(is_zero)(&a->y);
}

static CUZK_HD void EC_(affine_neg)(EC_(affine_t) * r, const EC_(affine_t) * a) {
    r->x = a->x;
    F_(neg)(&r->y, &a->y); /* -0 = 0 keeps infinity */
}

static CUZK_HD bool EC_(affine_eq)(const EC_(affine_t) * a, const EC_(affine_t) * b) {
    return F_(eq)(&a->x, &b->x) && F_(eq)(&a->y, &b->y);
}

/* Coordinates must be canonical. Infinity counts as on the curve. 1M + 2S. */
static CUZK_HD_FN bool EC_(affine_on_curve)(const EC_(affine_t) * a) {
    const F_(t) b = EC_B;
    F_(t) l, r;
    if (EC_(affine_is_infinity)(a)) return true;
    F_(sqr)(&l, &a->y);
    F_(sqr)(&r, &a->x);
    F_(mul)(&r, &r, &a->x);
    F_(add)(&r, &r, &b);
    return F_(eq)(&l, &r);
}

static CUZK_HD void EC_(xyzz_set_infinity)(EC_(xyzz_t) * r) {
    F_(set_zero)(&r->x);
    F_(set_zero)(&r->y);
    F_(set_zero)(&r->zz);
    F_(set_zero)(&r->zzz);
}

static CUZK_HD bool EC_(xyzz_is_infinity)(const EC_(xyzz_t) * a) {
    return F_(is_zero)(&a->zz);
}

static CUZK_HD void EC_(xyzz_from_affine)(EC_(xyzz_t) * r, const EC_(affine_t) * a) {
    if (EC_(affine_is_infinity)(a)) {
        EC_(xyzz_set_infinity)(r);
        return;
    }
    r->x = a->x;
    r->y = a->y;
    F_(set_one)(&r->zz);
    F_(set_one)(&r->zzz);
}

static CUZK_HD void EC_(xyzz_neg)(EC_(xyzz_t) * r, const EC_(xyzz_t) * a) {
    *r = *a;
    F_(neg)(&r->y, &a->y);
}

/* r = 2a: 6M + 3S (with two additions for 3x^2). */
static CUZK_HD_FN void EC_(xyzz_dbl)(EC_(xyzz_t) * r, const EC_(xyzz_t) * a) {
    F_(t) u, v, w, s, m, t;
    if (EC_(xyzz_is_infinity)(a)) {
        EC_(xyzz_set_infinity)(r);
        return;
    }
    F_(dbl)(&u, &a->y);
    F_(sqr)(&v, &u);
    F_(mul)(&w, &u, &v);
    F_(mul)(&s, &a->x, &v);
    F_(sqr)(&t, &a->x);
    F_(dbl)(&m, &t);
    F_(add)(&m, &m, &t);
    F_(mul)(&u, &w, &a->y);
    F_(sqr)(&r->x, &m);
    F_(sub)(&r->x, &r->x, &s);
    F_(sub)(&r->x, &r->x, &s);
    F_(sub)(&s, &s, &r->x);
    F_(mul)(&s, &m, &s);
    F_(sub)(&r->y, &s, &u);
    F_(mul)(&r->zz, &v, &a->zz);
    F_(mul)(&r->zzz, &w, &a->zzz);
}

/* r = 2a from an affine point: 4M + 3S. */
static CUZK_HD_FN void EC_(xyzz_dbl_affine)(EC_(xyzz_t) * r, const EC_(affine_t) * a) {
    EC_(xyzz_t) p;
    EC_(xyzz_from_affine)(&p, a);
    EC_(xyzz_dbl)(r, &p);
}

/* r = a + b, b affine: 8M + 2S. */
static CUZK_HD_FN void EC_(xyzz_add_affine)(EC_(xyzz_t) * r, const EC_(xyzz_t) * a,
                                            const EC_(affine_t) * b) {
    F_(t) p, rr, pp, ppp, q, t;
    if (EC_(affine_is_infinity)(b)) {
        *r = *a;
        return;
    }
    if (EC_(xyzz_is_infinity)(a)) {
        EC_(xyzz_from_affine)(r, b);
        return;
    }
    F_(mul)(&p, &b->x, &a->zz);
    F_(sub)(&p, &p, &a->x);
    F_(mul)(&rr, &b->y, &a->zzz);
    F_(sub)(&rr, &rr, &a->y);
    if (F_(is_zero)(&p)) {
        if (F_(is_zero)(&rr))
            EC_(xyzz_dbl_affine)(r, b);
        else
            EC_(xyzz_set_infinity)(r);
        return;
    }
    F_(sqr)(&pp, &p);
    F_(mul)(&ppp, &p, &pp);
    F_(mul)(&q, &a->x, &pp);
    F_(mul)(&t, &a->y, &ppp);
    F_(sqr)(&r->x, &rr);
    F_(sub)(&r->x, &r->x, &ppp);
    F_(sub)(&r->x, &r->x, &q);
    F_(sub)(&r->x, &r->x, &q);
    F_(sub)(&q, &q, &r->x);
    F_(mul)(&q, &rr, &q);
    F_(sub)(&r->y, &q, &t);
    F_(mul)(&r->zz, &a->zz, &pp);
    F_(mul)(&r->zzz, &a->zzz, &ppp);
}

/* r = a + b: 12M + 2S. */
static CUZK_HD_FN void EC_(xyzz_add)(EC_(xyzz_t) * r, const EC_(xyzz_t) * a,
                                     const EC_(xyzz_t) * b) {
    F_(t) u1, s1, p, rr, pp, ppp, q, zz, zzz;
    if (EC_(xyzz_is_infinity)(b)) {
        *r = *a;
        return;
    }
    if (EC_(xyzz_is_infinity)(a)) {
        *r = *b;
        return;
    }
    F_(mul)(&u1, &a->x, &b->zz);
    F_(mul)(&p, &b->x, &a->zz);
    F_(sub)(&p, &p, &u1);
    F_(mul)(&s1, &a->y, &b->zzz);
    F_(mul)(&rr, &b->y, &a->zzz);
    F_(sub)(&rr, &rr, &s1);
    if (F_(is_zero)(&p)) {
        if (F_(is_zero)(&rr))
            EC_(xyzz_dbl)(r, a);
        else
            EC_(xyzz_set_infinity)(r);
        return;
    }
    F_(mul)(&zz, &a->zz, &b->zz);
    F_(mul)(&zzz, &a->zzz, &b->zzz);
    F_(sqr)(&pp, &p);
    F_(mul)(&ppp, &p, &pp);
    F_(mul)(&q, &u1, &pp);
    F_(mul)(&s1, &s1, &ppp);
    F_(sqr)(&r->x, &rr);
    F_(sub)(&r->x, &r->x, &ppp);
    F_(sub)(&r->x, &r->x, &q);
    F_(sub)(&r->x, &r->x, &q);
    F_(sub)(&q, &q, &r->x);
    F_(mul)(&q, &rr, &q);
    F_(sub)(&r->y, &q, &s1);
    F_(mul)(&r->zz, &zz, &pp);
    F_(mul)(&r->zzz, &zzz, &ppp);
}

/* To affine: one inversion, 4M + 1S. */
static CUZK_HD_FN void EC_(xyzz_to_affine)(EC_(affine_t) * r, const EC_(xyzz_t) * a) {
    F_(t) i, j;
    if (EC_(xyzz_is_infinity)(a)) {
        F_(set_zero)(&r->x);
        F_(set_zero)(&r->y);
        return;
    }
    /* 1/zzz; then 1/zz = (zz/zzz)^2 because zz^3 = zzz^2 */
    F_(inv)(&i, &a->zzz);
    F_(mul)(&j, &a->zz, &i);
    F_(sqr)(&j, &j);
    F_(mul)(&r->x, &a->x, &j);
    F_(mul)(&r->y, &a->y, &i);
}

#undef EC_
#undef F_
#undef EC_CAT
#undef EC_CAT2
#undef EC
#undef EC_F
#undef EC_B
