/* Group laws of one instance of ec.inl.h and batch_affine.inl.h on a list of points:
 * include-template. Parameters: TC (prefix of the generated functions), TC_EC (prefix of the
 * group), TC_F (prefix of its field), TC_BA (prefix of its batch_affine.inl.h).
 *
 * The reference is the textbook's chord and tangent, TC_sum, on affine points. */

#define TC_CAT2(a, b) a##_##b
#define TC_CAT(a, b) TC_CAT2(a, b)
#define TC_(name) TC_CAT(TC, name)
#define EC_(name) TC_CAT(TC_EC, name)
#define F_(name) TC_CAT(TC_F, name)
#define B_(name) TC_CAT(TC_BA, name)

static void TC_(sum)(EC_(affine_t) * r, const EC_(affine_t) * a, const EC_(affine_t) * b) {
    F_(t) n, d, s, x, y;
    if (EC_(affine_is_infinity)(a) || EC_(affine_is_infinity)(b)) {
        *r = EC_(affine_is_infinity)(a) ? *b : *a;
        return;
    }
    if (F_(eq)(&a->x, &b->x)) {
        F_(add)(&d, &a->y, &b->y);
        if (F_(is_zero)(&d)) {
            memset(r, 0, sizeof *r);
            return;
        }
        F_(sqr)(&s, &a->x);
        F_(add)(&n, &s, &s);
        F_(add)(&n, &n, &s);
    } else {
        F_(sub)(&n, &b->y, &a->y);
        F_(sub)(&d, &b->x, &a->x);
    }
    F_(inv)(&d, &d);
    F_(mul)(&s, &n, &d);
    F_(sqr)(&x, &s);
    F_(sub)(&x, &x, &a->x);
    F_(sub)(&x, &x, &b->x);
    F_(sub)(&y, &a->x, &x);
    F_(mul)(&y, &y, &s);
    F_(sub)(&y, &y, &a->y);
    r->x = x;
    r->y = y;
}

static void TC_(same)(const EC_(xyzz_t) * got, const EC_(affine_t) * want) {
    EC_(affine_t) p;
    EC_(xyzz_to_affine)(&p, got);
    assert_true(EC_(affine_eq)(&p, want));
    assert_int_equal(EC_(xyzz_is_infinity)(got), EC_(affine_is_infinity)(want));
}

/* (x, y) written with zz = z^2, zzz = z^3. z must not be 0. */
static void TC_(scaled)(EC_(xyzz_t) * r, const EC_(affine_t) * a, const F_(t) * z) {
    EC_(xyzz_from_affine)(r, a);
    if (EC_(xyzz_is_infinity)(r)) {
        r->x = *z; /* infinity is any x, y with zz = zzz = 0 */
        r->y = *z;
        return;
    }
    F_(sqr)(&r->zz, z);
    F_(mul)(&r->zzz, &r->zz, z);
    F_(mul)(&r->x, &a->x, &r->zz);
    F_(mul)(&r->y, &a->y, &r->zzz);
}

static void TC_(pair)(const EC_(affine_t) * a, const EC_(affine_t) * b, const F_(t) * za,
                      const F_(t) * zb) {
    EC_(affine_t) want, minus;
    EC_(xyzz_t) p, q, r;
    TC_(sum)(&want, a, b);
    assert_true(EC_(affine_on_curve)(&want));
    TC_(scaled)(&p, a, za);
    TC_(scaled)(&q, b, zb);
    TC_(same)(&p, a);
    EC_(xyzz_add)(&r, &p, &q);
    TC_(same)(&r, &want);
    r = p;
    EC_(xyzz_add)(&r, &r, &q);
    TC_(same)(&r, &want);
    r = q;
    EC_(xyzz_add)(&r, &p, &r);
    TC_(same)(&r, &want);
    EC_(xyzz_add_affine)(&r, &p, b);
    TC_(same)(&r, &want);
    r = p;
    EC_(xyzz_add_affine)(&r, &r, b);
    TC_(same)(&r, &want);
    EC_(affine_neg)(&minus, b);
    assert_true(EC_(affine_on_curve)(&minus));
    TC_(sum)(&want, &want, &minus);
    assert_true(EC_(affine_eq)(&want, a)); /* (a + b) - b = a */
    EC_(xyzz_neg)(&q, &q);
    TC_(same)(&q, &minus);
}

static void TC_(single)(const EC_(affine_t) * a, const F_(t) * z) {
    EC_(affine_t) want;
    EC_(xyzz_t) p, r;
    TC_(sum)(&want, a, a);
    TC_(scaled)(&p, a, z);
    EC_(xyzz_dbl)(&r, &p);
    TC_(same)(&r, &want);
    r = p;
    EC_(xyzz_dbl)(&r, &r);
    TC_(same)(&r, &want);
    r = p;
    EC_(xyzz_add)(&r, &r, &r);
    TC_(same)(&r, &want);
    EC_(xyzz_dbl_affine)(&r, a);
    TC_(same)(&r, &want);
}

/* All pairs of the n points, with z running through a list. */
static void TC_(laws)(const EC_(affine_t) * pt, size_t n, const F_(t) * z, size_t nz) {
    for (size_t i = 0; i < n; i++) {
        assert_true(EC_(affine_on_curve)(&pt[i]));
        for (size_t k = 0; k < nz; k++)
            TC_(single)(&pt[i], &z[k]);
        for (size_t j = 0; j < n; j++)
            TC_(pair)(&pt[i], &pt[j], &z[(i + j) % nz], &z[j % nz]);
    }
    /* the same sums in batches of every length that comes up */
    B_(scratch_t) *s = calloc(1, sizeof *s);
    assert_non_null(s);
    size_t len = 0;
    EC_(affine_t) want[CUZK__BATCH];
    for (size_t i = 0; i < n * n; i++) {
        s->a[len] = pt[i / n];
        s->b[len] = pt[i % n];
        TC_(sum)(&want[len], &s->a[len], &s->b[len]);
        if (++len < CUZK__BATCH && i + 1 < n * n && test_rng() % 64 != 0) continue;
        B_(add)(s->a, s->b, len, s);
        for (size_t k = 0; k < len; k++)
            assert_true(EC_(affine_eq)(&s->a[k], &want[k]));
        len = 0;
    }
    free(s);
}

static void TC_(associativity)(const EC_(affine_t) * pt, size_t n) {
    for (size_t i = 0; i < n * n * n; i++) {
        EC_(affine_t) l, r;
        const EC_(affine_t) *a = &pt[i % n], *b = &pt[i / n % n], *c = &pt[i / n / n];
        TC_(sum)(&l, a, b);
        TC_(sum)(&l, &l, c);
        TC_(sum)(&r, b, c);
        TC_(sum)(&r, a, &r);
        assert_true(EC_(affine_eq)(&l, &r));
    }
}

#undef TC_CAT2
#undef TC_CAT
#undef TC_
#undef EC_
#undef F_
#undef B_
#undef TC
#undef TC_EC
#undef TC_F
#undef TC_BA
