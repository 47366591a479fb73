/* Batches over Fp2 = Fp[u]/(u^2 + 1) from batches over Fp: include-template with the names of
 * vec_scalar.inl.h that point arithmetic uses, for any number of lanes.
 *
 * Parameters (undefined again at the end): FV2 (prefix to generate), FV2_BASE (prefix of the
 * batches over Fp), FV2_FE (prefix of Fp2). Product: Karatsuba, 3 base products; square: 2. */

#define FV2_CAT2(a, b) a##_##b
#define FV2_CAT(a, b) FV2_CAT2(a, b)
#define FV2_(name) FV2_CAT(FV2, name)
#define B_(name) FV2_CAT(FV2_BASE, name)
#define FE2_(name) FV2_CAT(FV2_FE, name)

enum { FV2_(LANES) = B_(LANES), FV2_(IS_FILE) = B_(IS_FILE) };
typedef struct FV2_(t) {
    B_(t) c0, c1;
} FV2_(t);
typedef struct FV2_(st_t) {
    B_(st_t) c0, c1;
} FV2_(st_t);

static inline void FV2_(gather_any)(FV2_(t) * r, const void *const p[FV2_(LANES)]) {
    const void *q[FV2_(LANES)];
    for (int i = 0; i < FV2_(LANES); i++)
        q[i] = (const uint8_t *)p[i] + sizeof(B_(st_t));
    B_(gather_any)(&r->c0, p);
    B_(gather_any)(&r->c1, q);
}
static inline void FV2_(scatter)(FV2_(st_t) *const p[FV2_(LANES)], const FV2_(t) * a) {
    B_(st_t) * q0[FV2_(LANES)], *q1[FV2_(LANES)];
    for (int i = 0; i < FV2_(LANES); i++) {
        q0[i] = &p[i]->c0;
        q1[i] = &p[i]->c1;
    }
    B_(scatter)(q0, &a->c0);
    B_(scatter)(q1, &a->c1);
}
static inline void FV2_(add)(FV2_(t) * r, const FV2_(t) * a, const FV2_(t) * b) {
    B_(add)(&r->c0, &a->c0, &b->c0);
    B_(add)(&r->c1, &a->c1, &b->c1);
}
static inline void FV2_(sub)(FV2_(t) * r, const FV2_(t) * a, const FV2_(t) * b) {
    B_(sub)(&r->c0, &a->c0, &b->c0);
    B_(sub)(&r->c1, &a->c1, &b->c1);
}
static inline void FV2_(cneg)(FV2_(t) * r, const FV2_(t) * a, unsigned mask) {
    B_(cneg)(&r->c0, &a->c0, mask);
    B_(cneg)(&r->c1, &a->c1, mask);
}
static inline void FV2_(mul)(FV2_(t) * r, const FV2_(t) * a, const FV2_(t) * b) {
    B_(t) v0, v1, s, t;
    B_(mul)(&v0, &a->c0, &b->c0);
    B_(mul)(&v1, &a->c1, &b->c1);
    B_(add)(&s, &a->c0, &a->c1);
    B_(add)(&t, &b->c0, &b->c1);
    B_(mul)(&s, &s, &t);
    B_(sub)(&s, &s, &v0);
    B_(sub)(&r->c0, &v0, &v1);
    B_(sub)(&r->c1, &s, &v1);
}
static inline void FV2_(sqr)(FV2_(t) * r, const FV2_(t) * a) {
    B_(t) s, d, m;
    B_(add)(&s, &a->c0, &a->c1);
    B_(sub)(&d, &a->c0, &a->c1);
    B_(add)(&m, &a->c0, &a->c0);
    B_(mul)(&r->c1, &m, &a->c1);
    B_(mul)(&r->c0, &s, &d);
}
static inline unsigned FV2_(zero_mask)(const FV2_(t) * a) {
    return B_(zero_mask)(&a->c0) & B_(zero_mask)(&a->c1);
}
/* 1 / (c0 + c1 u) = (c0 - c1 u) / (c0^2 + c1^2) */
static inline void FV2_(inv)(FV2_(t) * r, const FV2_(t) * a) {
    B_(t) n, t;
    B_(sqr)(&n, &a->c0);
    B_(sqr)(&t, &a->c1);
    B_(add)(&n, &n, &t);
    B_(inv)(&n, &n);
    B_(mul)(&r->c0, &a->c0, &n);
    B_(mul)(&t, &a->c1, &n);
    B_(neg)(&r->c1, &t);
}
static inline void FV2_(from_mont)(FV2_(st_t) * r, const void *mont) {
    B_(from_mont)(&r->c0, mont);
    B_(from_mont)(&r->c1, (const uint8_t *)mont + sizeof(FE2_(t)) / 2);
}
static inline void FV2_(to_mont)(void *mont, const FV2_(st_t) * a) {
    B_(to_mont)(mont, &a->c0);
    B_(to_mont)((uint8_t *)mont + sizeof(FE2_(t)) / 2, &a->c1);
}

#undef FV2_
#undef B_
#undef FE2_
#undef FV2_CAT
#undef FV2_CAT2
#undef FV2
#undef FV2_BASE
#undef FV2_FE
