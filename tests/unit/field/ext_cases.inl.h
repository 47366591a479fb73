/* Tests of one instance of fe_ext2.inl.h against the base field, which has its own tests:
 * include-template. Parameters: XC (prefix), XC_F (prefix of the extension), XC_B (prefix of the
 * base field), XC_VALUE (makes value number i of the base field), XC_BOUNDARIES. */

#define XC_CAT2(a, b) a##_##b
#define XC_CAT(a, b) XC_CAT2(a, b)
#define XC_(name) XC_CAT(XC, name)
#define F_(name) XC_CAT(XC_F, name)
#define B_(name) XC_CAT(XC_B, name)

static void XC_(value)(F_(t) * r) {
    const unsigned n = XC_BOUNDARIES + 40;
    XC_VALUE(&r->c0, (unsigned)(test_rng() % n));
    XC_VALUE(&r->c1, (unsigned)(test_rng() % n));
}

/* (a0 + a1 u)(b0 + b1 u) by four products. */
static void XC_(product)(F_(t) * r, const F_(t) * a, const F_(t) * b) {
    B_(t) s, t, c0;
    B_(mul_portable)(&s, &a->c0, &b->c0);
    B_(mul_portable)(&t, &a->c1, &b->c1);
    B_(sub)(&c0, &s, &t);
    B_(mul_portable)(&s, &a->c0, &b->c1);
    B_(mul_portable)(&t, &a->c1, &b->c0);
    B_(add)(&r->c1, &s, &t);
    r->c0 = c0;
}

static void XC_(arithmetic)(void **state) {
    (void)state;
    for (int i = 0; i < 4000; i++) {
        F_(t) a, b, r, w, t;
        XC_(value)(&a);
        XC_(value)(&b);
        if (i % 7 == 0) b = a;
        XC_(product)(&w, &a, &b);
        F_(mul)(&r, &a, &b);
        assert_true(F_(eq)(&r, &w));
        r = a;
        F_(mul)(&r, &r, &b);
        assert_true(F_(eq)(&r, &w));
        r = b;
        F_(mul)(&r, &a, &r);
        assert_true(F_(eq)(&r, &w));
        assert_true(F_(is_canonical)(&r));
        XC_(product)(&w, &a, &a);
        F_(sqr)(&r, &a);
        assert_true(F_(eq)(&r, &w));
        r = a;
        F_(sqr)(&r, &r);
        assert_true(F_(eq)(&r, &w));
        r = a;
        F_(mul)(&r, &r, &r);
        assert_true(F_(eq)(&r, &w));

        F_(add)(&r, &a, &b);
        F_(sub)(&t, &r, &b);
        assert_true(F_(eq)(&t, &a));
        F_(neg)(&t, &b);
        F_(sub)(&w, &a, &t);
        assert_true(F_(eq)(&w, &r));
        F_(dbl)(&t, &a);
        F_(add)(&w, &a, &a);
        assert_true(F_(eq)(&t, &w));

        /* a conj(a) is the norm; times 1/norm it is the inverse */
        F_(conj)(&t, &a);
        F_(mul)(&t, &t, &a);
        assert_true(B_(is_zero)(&t.c1));
        F_(inv)(&w, &a);
        F_(mul)(&t, &w, &a);
        F_(set_one)(&r);
        if (F_(is_zero)(&a)) F_(set_zero)(&r);
        assert_true(F_(eq)(&t, &r));
        w = a;
        F_(inv)(&w, &w);
        F_(mul)(&t, &w, &a);
        assert_true(F_(eq)(&t, &r));

        F_(set_zero)(&w);
        w.c0 = b.c1;
        XC_(product)(&w, &w, &a);
        r = a;
        F_(mul_base)(&r, &r, &b.c1);
        assert_true(F_(eq)(&r, &w));
        r = a; /* the factor may lie inside the result */
        F_(mul_base)(&r, &r, &r.c1);
        F_(set_zero)(&w);
        w.c0 = a.c1;
        XC_(product)(&w, &w, &a);
        assert_true(F_(eq)(&r, &w));
    }
    F_(t) a, x, r;
    const uint64_t e[2] = {5, 1}; /* 2^64 + 5 */
    XC_(value)(&a);
    F_(pow)(&r, &a, e, 2);
    x = a;
    for (int i = 0; i < 64; i++)
        F_(sqr)(&x, &x);
    for (int i = 0; i < 5; i++)
        F_(mul)(&x, &x, &a);
    assert_true(F_(eq)(&r, &x));
}

#undef XC_CAT2
#undef XC_CAT
#undef XC_
#undef F_
#undef B_
#undef XC
#undef XC_F
#undef XC_B
#undef XC_VALUE
#undef XC_BOUNDARIES
