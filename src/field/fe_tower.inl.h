/* Fp6 = Fp2[v]/(v^3 - xi) and Fp12 = Fp6[w]/(w^2 - v): include-template over an instance of
 * fe_ext2.inl.h.
 *
 * Parameters: TW (prefix: TW_fp6_*, TW_fp12_*), TW_F (prefix of Fp2), TW_MUL_XI (a function
 * (Fp2 *r, const Fp2 *a), r = xi * a, aliasing allowed).
 *
 * Generates TW_fp6_t {c[3]} and TW_fp12_t {c[2]}, lowest power first: the coefficient of w^i is
 * c[i % 2].c[i / 2]. Canonical in and out; r may alias any input. Costs in products (M) and
 * squares (S) of Fp2; host only. */

#define TW_CAT2(a, b) a##_##b
#define TW_CAT(a, b) TW_CAT2(a, b)
#define T6(name) TW_CAT(TW, fp6_##name)
#define T12(name) TW_CAT(TW, fp12_##name)
#define F_(name) TW_CAT(TW_F, name)

typedef struct T6(t) {
    F_(t) c[3];
} T6(t);

typedef struct T12(t) {
    T6(t) c[2];
} T12(t);

static inline void T6(add)(T6(t) * r, const T6(t) * a, const T6(t) * b) {
    for (int i = 0; i < 3; i++)
        F_(add)(&r->c[i], &a->c[i], &b->c[i]);
}

static inline void T6(sub)(T6(t) * r, const T6(t) * a, const T6(t) * b) {
    for (int i = 0; i < 3; i++)
        F_(sub)(&r->c[i], &a->c[i], &b->c[i]);
}

static inline void T6(neg)(T6(t) * r, const T6(t) * a) {
    for (int i = 0; i < 3; i++)
        F_(neg)(&r->c[i], &a->c[i]);
}

/* r = v * a. */
static inline void T6(mul_v)(T6(t) * r, const T6(t) * a) {
    F_(t) top;
    TW_MUL_XI(&top, &a->c[2]);
    r->c[2] = a->c[1];
    r->c[1] = a->c[0];
    r->c[0] = top;
}

/* r = k * a with k in Fp2: 3M. */
static inline void T6(mul_fp2)(T6(t) * r, const T6(t) * a, const F_(t) * k) {
    F_(t) kk = *k;
    for (int i = 0; i < 3; i++)
        F_(mul)(&r->c[i], &a->c[i], &kk);
}

/* 6M, Karatsuba. */
static void T6(mul)(T6(t) * r, const T6(t) * a, const T6(t) * b) {
    F_(t) v0, v1, v2, s, t, x, y, z;
    F_(mul)(&v0, &a->c[0], &b->c[0]);
    F_(mul)(&v1, &a->c[1], &b->c[1]);
    F_(mul)(&v2, &a->c[2], &b->c[2]);
    F_(add)(&s, &a->c[1], &a->c[2]);
    F_(add)(&t, &b->c[1], &b->c[2]);
    F_(mul)(&x, &s, &t);
    F_(sub)(&x, &x, &v1);
    F_(sub)(&x, &x, &v2); /* a1 b2 + a2 b1 */
    F_(add)(&s, &a->c[0], &a->c[1]);
    F_(add)(&t, &b->c[0], &b->c[1]);
    F_(mul)(&y, &s, &t);
    F_(sub)(&y, &y, &v0);
    F_(sub)(&y, &y, &v1); /* a0 b1 + a1 b0 */
    F_(add)(&s, &a->c[0], &a->c[2]);
    F_(add)(&t, &b->c[0], &b->c[2]);
    F_(mul)(&z, &s, &t);
    F_(sub)(&z, &z, &v0);
    F_(sub)(&z, &z, &v2); /* a0 b2 + a2 b0 */
    TW_MUL_XI(&x, &x);
    F_(add)(&r->c[0], &v0, &x);
    TW_MUL_XI(&v2, &v2);
    F_(add)(&r->c[1], &y, &v2);
    F_(add)(&r->c[2], &z, &v1);
}

/* r = a * (b0 + b1 v): 5M. */
static void T6(mul_01)(T6(t) * r, const T6(t) * a, const F_(t) * b0, const F_(t) * b1) {
    F_(t) v0, v1, s, t, x, y, z;
    F_(mul)(&v0, &a->c[0], b0);
    F_(mul)(&v1, &a->c[1], b1);
    F_(mul)(&x, &a->c[2], b1);
    F_(mul)(&z, &a->c[2], b0);
    F_(add)(&s, &a->c[0], &a->c[1]);
    F_(add)(&t, b0, b1);
    F_(mul)(&y, &s, &t);
    F_(sub)(&y, &y, &v0);
    F_(sub)(&r->c[1], &y, &v1);
    TW_MUL_XI(&x, &x);
    F_(add)(&r->c[0], &v0, &x);
    F_(add)(&r->c[2], &z, &v1);
}

/* r = a^-1, 0 gives 0. One inversion in Fp2, 9M + 3S. */
static void T6(inv)(T6(t) * r, const T6(t) * a) {
    F_(t) A, B, C, t, n;
    F_(sqr)(&A, &a->c[0]);
    F_(mul)(&t, &a->c[1], &a->c[2]);
    TW_MUL_XI(&t, &t);
    F_(sub)(&A, &A, &t); /* a0^2 - xi a1 a2 */
    F_(sqr)(&B, &a->c[2]);
    TW_MUL_XI(&B, &B);
    F_(mul)(&t, &a->c[0], &a->c[1]);
    F_(sub)(&B, &B, &t); /* xi a2^2 - a0 a1 */
    F_(sqr)(&C, &a->c[1]);
    F_(mul)(&t, &a->c[0], &a->c[2]);
    F_(sub)(&C, &C, &t); /* a1^2 - a0 a2 */
    F_(mul)(&n, &a->c[1], &C);
    F_(mul)(&t, &a->c[2], &B);
    F_(add)(&n, &n, &t);
    TW_MUL_XI(&n, &n);
    F_(mul)(&t, &a->c[0], &A);
    F_(add)(&n, &n, &t);
    F_(inv)(&n, &n);
    F_(mul)(&r->c[0], &A, &n);
    F_(mul)(&r->c[1], &B, &n);
    F_(mul)(&r->c[2], &C, &n);
}

static inline void T12(set_one)(T12(t) * r) {
    for (int i = 0; i < 6; i++)
        F_(set_zero)(&r->c[i % 2].c[i / 2]);
    F_(set_one)(&r->c[0].c[0]);
}

static inline bool T12(is_one)(const T12(t) * a) {
    F_(t) one;
    F_(set_one)(&one);
    bool ok = F_(eq)(&a->c[0].c[0], &one);
    for (int i = 1; i < 6; i++)
        ok = ok && F_(is_zero)(&a->c[i % 2].c[i / 2]);
    return ok;
}

/* r = a^(p^6), which inverts the elements of norm 1 over Fp6. */
static inline void T12(conj)(T12(t) * r, const T12(t) * a) {
    r->c[0] = a->c[0];
    T6(neg)(&r->c[1], &a->c[1]);
}

/* 18M. */
static void T12(mul)(T12(t) * r, const T12(t) * a, const T12(t) * b) {
    T6(t) v0, v1, s, t;
    T6(mul)(&v0, &a->c[0], &b->c[0]);
    T6(mul)(&v1, &a->c[1], &b->c[1]);
    T6(add)(&s, &a->c[0], &a->c[1]);
    T6(add)(&t, &b->c[0], &b->c[1]);
    T6(mul)(&s, &s, &t);
    T6(sub)(&s, &s, &v0);
    T6(sub)(&r->c[1], &s, &v1);
    T6(mul_v)(&v1, &v1);
    T6(add)(&r->c[0], &v0, &v1);
}

/* 12M, by the complex method. */
static void T12(sqr)(T12(t) * r, const T12(t) * a) {
    T6(t) m, s, t;
    T6(mul)(&m, &a->c[0], &a->c[1]);
    T6(add)(&s, &a->c[0], &a->c[1]);
    T6(mul_v)(&t, &a->c[1]);
    T6(add)(&t, &t, &a->c[0]);
    T6(mul)(&s, &s, &t);
    T6(sub)(&s, &s, &m);
    T6(mul_v)(&t, &m);
    T6(sub)(&r->c[0], &s, &t);
    T6(add)(&r->c[1], &m, &m);
}

/* r = a * (l0 + l1 w + l3 w^3), the shape of a line through points of a D-type twist: 13M. */
static void T12(mul_013)(T12(t) * r, const T12(t) * a, const F_(t) * l0, const F_(t) * l1,
                         const F_(t) * l3) {
    T6(t) v0, v1, s;
    F_(t) k;
    T6(mul_fp2)(&v0, &a->c[0], l0);
    T6(mul_01)(&v1, &a->c[1], l1, l3);
    T6(add)(&s, &a->c[0], &a->c[1]);
    F_(add)(&k, l0, l1);
    T6(mul_01)(&s, &s, &k, l3);
    T6(sub)(&s, &s, &v0);
    T6(sub)(&r->c[1], &s, &v1);
    T6(mul_v)(&v1, &v1);
    T6(add)(&r->c[0], &v0, &v1);
}

/* r = a^-1; 0 gives 0. */
static void T12(inv)(T12(t) * r, const T12(t) * a) {
    T6(t) n, t;
    T6(mul)(&n, &a->c[0], &a->c[0]);
    T6(mul)(&t, &a->c[1], &a->c[1]);
    T6(mul_v)(&t, &t);
    T6(sub)(&n, &n, &t);
    T6(inv)(&n, &n);
    T6(mul)(&r->c[0], &a->c[0], &n);
    T6(neg)(&n, &n);
    T6(mul)(&r->c[1], &a->c[1], &n);
}

/* (x, y) = (a + b s)^2 with s^2 = xi: 2S + 1M in the end by 2ab = (a + b)^2 - a^2 - b^2: 3S. */
static inline void TW_CAT(TW, fp4_sqr)(F_(t) * x, F_(t) * y, const F_(t) * a, const F_(t) * b) {
    F_(t) aa, bb, s;
    F_(sqr)(&aa, a);
    F_(sqr)(&bb, b);
    F_(add)(&s, a, b);
    F_(sqr)(&s, &s);
    F_(sub)(&s, &s, &aa);
    F_(sub)(y, &s, &bb);
    TW_MUL_XI(&bb, &bb);
    F_(add)(x, &aa, &bb);
}

/* r = 3t - 2a (sign < 0) or 3t + 2a. */
static inline void TW_CAT(TW, fp2_3t2a)(F_(t) * r, const F_(t) * t, const F_(t) * a, int sign) {
    F_(t) s;
    if (sign < 0)
        F_(sub)(&s, t, a);
    else
        F_(add)(&s, t, a);
    F_(dbl)(&s, &s);
    F_(add)(r, &s, t);
}

/* r = a^2 for a in the cyclotomic subgroup (order dividing p^4 - p^2 + 1): 9S. Granger, Scott,
 * "Faster squaring in the cyclotomic subgroup of sixth degree extensions", PKC 2010. */
static void T12(cyclo_sqr)(T12(t) * r, const T12(t) * a) {
    F_(t) x, y, z;
    T12(t) t = *a;
    TW_CAT(TW, fp4_sqr)(&x, &y, &t.c[0].c[0], &t.c[1].c[1]);
    TW_CAT(TW, fp2_3t2a)(&r->c[0].c[0], &x, &t.c[0].c[0], -1);
    TW_CAT(TW, fp2_3t2a)(&r->c[1].c[1], &y, &t.c[1].c[1], 1);
    TW_CAT(TW, fp4_sqr)(&x, &y, &t.c[1].c[0], &t.c[0].c[2]);
    TW_CAT(TW, fp2_3t2a)(&r->c[0].c[1], &x, &t.c[0].c[1], -1);
    TW_CAT(TW, fp2_3t2a)(&r->c[1].c[2], &y, &t.c[1].c[2], 1);
    TW_CAT(TW, fp4_sqr)(&x, &z, &t.c[0].c[1], &t.c[1].c[2]);
    TW_CAT(TW, fp2_3t2a)(&r->c[0].c[2], &x, &t.c[0].c[2], -1);
    TW_MUL_XI(&z, &z);
    TW_CAT(TW, fp2_3t2a)(&r->c[1].c[0], &z, &t.c[1].c[0], 1);
}

#undef T6
#undef T12
#undef F_
#undef TW_CAT
#undef TW_CAT2
#undef TW
#undef TW_F
#undef TW_MUL_XI
