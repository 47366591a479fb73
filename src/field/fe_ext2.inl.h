/* Fp2 = Fp[u]/(u^2 + 1): include-template over an instance of fe_mont.inl.h.
 *
 * Parameters: FE2 (prefix to generate), FE2_BASE (prefix of the base field), and optionally
 * FE2_MUL_HOOK(r, a, b) and FE2_SQR_HOOK(r, a), same results as the text below. Generates
 * FE2_t = { c0, c1 } meaning c0 + c1*u, the coordinate order of circom's files. Canonical in and
 * out; r may alias any input. Product: Karatsuba, 3 base products; square: 2. */

#define FE2_CAT2(a, b) a##_##b
#define FE2_CAT(a, b) FE2_CAT2(a, b)
#define FE2_(name) FE2_CAT(FE2, name)
#define FB_(name) FE2_CAT(FE2_BASE, name)

typedef struct FE2_(t) {
    FB_(t) c0, c1;
} FE2_(t);

static CUZK_HD void FE2_(set_zero)(FE2_(t) * r) {
    FB_(set_zero)(&r->c0);
    FB_(set_zero)(&r->c1);
}

static CUZK_HD void FE2_(set_one)(FE2_(t) * r) {
    FB_(set_one)(&r->c0);
    FB_(set_zero)(&r->c1);
}

static CUZK_HD bool FE2_(is_zero)(const FE2_(t) * a) {
    return FB_(is_zero)(&a->c0) && FB_(is_zero)(&a->c1);
}

static CUZK_HD bool FE2_(eq)(const FE2_(t) * a, const FE2_(t) * b) {
    return FB_(eq)(&a->c0, &b->c0) && FB_(eq)(&a->c1, &b->c1);
}

static CUZK_HD bool FE2_(is_canonical)(const FE2_(t) * a) {
    return FB_(is_canonical)(&a->c0) && FB_(is_canonical)(&a->c1);
}

static CUZK_HD void FE2_(add)(FE2_(t) * r, const FE2_(t) * a, const FE2_(t) * b) {
    FB_(add)(&r->c0, &a->c0, &b->c0);
    FB_(add)(&r->c1, &a->c1, &b->c1);
}

static CUZK_HD void FE2_(dbl)(FE2_(t) * r, const FE2_(t) * a) {
    FE2_(add)(r, a, a);
}

static CUZK_HD void FE2_(sub)(FE2_(t) * r, const FE2_(t) * a, const FE2_(t) * b) {
    FB_(sub)(&r->c0, &a->c0, &b->c0);
    FB_(sub)(&r->c1, &a->c1, &b->c1);
}

static CUZK_HD void FE2_(neg)(FE2_(t) * r, const FE2_(t) * a) {
    FB_(neg)(&r->c0, &a->c0);
    FB_(neg)(&r->c1, &a->c1);
}

/* r = c0 - c1*u, which is also the p-power Frobenius. */
static CUZK_HD void FE2_(conj)(FE2_(t) * r, const FE2_(t) * a) {
    r->c0 = a->c0;
    FB_(neg)(&r->c1, &a->c1);
}

static CUZK_HD_FN void FE2_(mul)(FE2_(t) * r, const FE2_(t) * a, const FE2_(t) * b) {
#ifdef FE2_MUL_HOOK
    FE2_MUL_HOOK(r, a, b);
#else
    FB_(t) v0, v1, sa, sb;
    FB_(mul)(&v0, &a->c0, &b->c0);
    FB_(mul)(&v1, &a->c1, &b->c1);
    FB_(add)(&sa, &a->c0, &a->c1);
    FB_(add)(&sb, &b->c0, &b->c1);
    FB_(mul)(&sa, &sa, &sb);
    FB_(sub)(&r->c0, &v0, &v1);
    FB_(sub)(&sa, &sa, &v0);
    FB_(sub)(&r->c1, &sa, &v1);
#endif
}

static CUZK_HD_FN void FE2_(sqr)(FE2_(t) * r, const FE2_(t) * a) {
#ifdef FE2_SQR_HOOK
    FE2_SQR_HOOK(r, a);
#else
    FB_(t) s, d, m;
    FB_(add)(&s, &a->c0, &a->c1);
    FB_(sub)(&d, &a->c0, &a->c1);
    FB_(mul)(&m, &a->c0, &a->c1);
    FB_(mul)(&r->c0, &s, &d);
    FB_(dbl)(&r->c1, &m);
#endif
}

/* r = a * k with k in the base field. */
static CUZK_HD void FE2_(mul_base)(FE2_(t) * r, const FE2_(t) * a, const FB_(t) * k) {
    FB_(t) kk = *k;
    FB_(mul)(&r->c0, &a->c0, &kk);
    FB_(mul)(&r->c1, &a->c1, &kk);
}

/* r = a^-1; 0 gives 0. */
static CUZK_HD_FN void FE2_(inv)(FE2_(t) * r, const FE2_(t) * a) {
    FB_(t) n, t;
    FB_(sqr)(&n, &a->c0);
    FB_(sqr)(&t, &a->c1);
    FB_(add)(&n, &n, &t);
    FB_(inv)(&n, &n);
    FB_(mul)(&r->c0, &a->c0, &n);
    FB_(mul)(&t, &a->c1, &n);
    FB_(neg)(&r->c1, &t);
}

/* r = a^e, e plain with n limbs, least significant first. Variable time in e. */
static CUZK_HD_FN void FE2_(pow)(FE2_(t) * r, const FE2_(t) * a, const uint64_t *e, int n) {
    FE2_(t) acc, base = *a;
    FE2_(set_one)(&acc);
    for (int i = 64 * n - 1; i >= 0; i--) {
        FE2_(sqr)(&acc, &acc);
        if (e[i / 64] >> (i % 64) & 1) FE2_(mul)(&acc, &acc, &base);
    }
    *r = acc;
}

#undef FE2_
#undef FB_
#undef FE2_CAT
#undef FE2_CAT2
#undef FE2
#undef FE2_BASE
#undef FE2_MUL_HOOK
#undef FE2_SQR_HOOK
