/* A batch of one element of a base field on x86-64 with BMI2 and ADX: include-template with the
 * names of vec_scalar.inl.h that point arithmetic uses, inlined products and values below 2p. An
 * instance may only run where cuzk_cpu_has_adx() is true.
 *
 * Parameters (undefined again at the end): FV, FV_FE (prefixes, as in vec_scalar.inl.h), FV_LIMBS
 * (4 or 6), FV_MODULUS, FV_MODULUS_X2 (brace lists), FV_N0. Needs 4p < 2^(64 limbs).
 *
 * Elements in working and stored form are any representative below 2p; adx_fp.h says why that is
 * closed; those of the files are a case of it. Limbs are stored one by one: a store of eight bytes
 * that a load of sixteen meets too early costs more than the product. */

#include "field/adx_fp.h"

#define FV_CAT2(a, b) a##_##b
#define FV_CAT(a, b) FV_CAT2(a, b)
#define FV_(name) FV_CAT(FV, name)
#define FE_(name) FV_CAT(FV_FE, name)
#define FV_GLUE2(a, b) a##b
#define FV_GLUE(a, b) FV_GLUE2(a, b)

enum { FV_(LANES) = 1, FV_(IS_FILE) = 1 };
typedef FE_(t) FV_(t);
typedef FE_(t) FV_(st_t);

static const uint64_t FV_(p)[FV_LIMBS] = FV_MODULUS, FV_(p2)[FV_LIMBS] = FV_MODULUS_X2,
                      FV_(n0) = FV_N0;

#if FV_LIMBS == 4
static inline void FV_(limbs)(FV_(st_t) * r, const FV_(t) * a) {
    cuzk__adx_store4(r->l, a->l[0], a->l[1], a->l[2], a->l[3]);
}
#else
static inline void FV_(limbs)(FV_(st_t) * r, const FV_(t) * a) {
    cuzk__adx_store6(r->l, a->l[0], a->l[1], a->l[2], a->l[3], a->l[4], a->l[5]);
}
#endif

static inline void FV_(load)(FV_(t) * r, const FV_(st_t) * p) {
    *r = *p;
}
static inline void FV_(store)(FV_(st_t) * p, const FV_(t) * a) {
    FV_(limbs)(p, a);
}
static inline void FV_(gather)(FV_(t) * r, const FV_(st_t) *const p[FV_(LANES)]) {
    *r = *p[0];
}
static inline void FV_(gather_any)(FV_(t) * r, const void *const p[FV_(LANES)]) {
    __builtin_memcpy(r, p[0], sizeof *r);
}
static inline void FV_(scatter)(FV_(st_t) *const p[FV_(LANES)], const FV_(t) * a) {
    FV_(limbs)(p[0], a);
}
static inline void FV_(bcast)(FV_(t) * r, const FV_(st_t) * a) {
    *r = *a;
}

static inline __attribute__((always_inline)) void FV_(mul)(FV_(t) * r, const FV_(t) * a,
                                                           const FV_(t) * b) {
    FV_GLUE(cuzk__adx_mul, FV_LIMBS)(r->l, a->l, b->l, FV_(p), &FV_(n0));
}
static inline __attribute__((always_inline)) void FV_(sqr)(FV_(t) * r, const FV_(t) * a) {
    FV_(mul)(r, a, a);
}
static inline void FV_(sub)(FV_(t) * r, const FV_(t) * a, const FV_(t) * b) {
    FV_GLUE(cuzk__adx_sub, FV_LIMBS)(r->l, a->l, b->l, FV_(p2));
}
static inline void FV_(neg)(FV_(t) * r, const FV_(t) * a) {
    FV_(t) zero;
    FE_(set_zero)(&zero);
    FV_(sub)(r, &zero, a);
}
static inline void FV_(cneg)(FV_(t) * r, const FV_(t) * a, unsigned mask) {
    if (mask & 1)
        FV_(neg)(r, a);
    else
        *r = *a;
}
static inline void FV_(add)(FV_(t) * r, const FV_(t) * a, const FV_(t) * b) {
    FV_GLUE(cuzk__adx_add, FV_LIMBS)(r->l, a->l, b->l, FV_(p2));
}
static inline void FV_(dbl)(FV_(t) * r, const FV_(t) * a) {
    FV_(add)(r, a, a);
}

static inline void FV_(canon)(FE_(t) * r, const FV_(t) * a) {
    static const FE_(t) p = {FV_MODULUS};
    FE_(t) v = *a;
    if (!FE_(is_canonical)(&v)) {
        uint64_t borrow = 0;
        for (int i = 0; i < FV_LIMBS; i++)
            borrow = cuzk_subb(&v.l[i], v.l[i], p.l[i], borrow);
    }
    *r = v;
}
static inline unsigned FV_(zero_mask)(const FV_(t) * a) {
    FE_(t) v;
    FV_(canon)(&v, a);
    return FE_(is_zero)(&v);
}
static inline void FV_(inv)(FV_(t) * r, const FV_(t) * a) {
    FE_(t) v;
    FV_(canon)(&v, a);
    FE_(inv)(r, &v);
}
static inline void FV_(from_mont)(FV_(st_t) * r, const void *mont) {
    __builtin_memcpy(r, mont, sizeof *r);
}
static inline void FV_(to_mont)(void *mont, const FV_(st_t) * a) {
    FE_(t) v;
    FV_(canon)(&v, a);
    __builtin_memcpy(mont, &v, sizeof v);
}

#undef FV_GLUE
#undef FV_GLUE2
#undef FV_
#undef FE_
#undef FV_CAT
#undef FV_CAT2
#undef FV
#undef FV_FE
#undef FV_LIMBS
#undef FV_MODULUS
#undef FV_MODULUS_X2
#undef FV_N0
