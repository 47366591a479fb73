/* A batch of field elements, scalar implementation: include-template.
 *
 * MSM and NTT are written against the operations below and never against a field directly, so
 * that a vector unit can take their place: an implementation with eight lanes and 52-bit limbs
 * generates the same names, and the algorithms are instantiated once more.
 *
 * Parameters: FV (prefix to generate), FV_FE (prefix of a field or of its extension).
 *
 * FV_LANES          elements in a batch (here 1)
 * FV_t              a batch in working form: any operation takes what any other gave
 * FV_st_t           one element in stored form: what arrays, points and buckets hold
 * FV_tw_t           one fixed factor prepared for FV_mul_tw (a twiddle, a constant)
 *
 * load/store        LANES consecutive stored elements
 * gather/scatter    LANES stored elements, each at its own address
 * gather_any        the same from addresses of any alignment
 * bcast             the same element in every lane
 * add sub neg dbl mul sqr
 * cneg              lane i negated where bit i of the mask is set
 * mul_tw            product by a prepared factor, the same in every lane
 * scale_tw          the prepared factor of w times a constant in Montgomery form
 * ct, gs            butterflies in place, (x, y) -> (x + y w, x - y w) and (x + y, (x - y) w);
 *                   *_minus: the same with -w, *_one: with 1. An implementation may reduce lazily:
 *                   what ct gives goes only to ct, mul, mul_tw and store, and gs takes only what
 *                   load, mul, mul_tw and gs give. *_each (LANES > 1 only): one factor per lane
 * zero_mask         bit i is set when lane i is 0
 * inv               every lane inverted; no lane may be 0
 * from_mont/to_mont stored form from and to the Montgomery form of the files (R = 2^(64 limbs)),
 *                   any alignment; FV_IS_FILE is 1 where an element of the files is a stored one as
 *                   it stands, so that a key's points need no copy
 * load_lin/store_lin LANES consecutive elements of the files' form in memory, for linear work:
 *                   between them only butterflies, mul_tw and mul by factors that came from
 *                   elsewhere, since the implementation need not change the Montgomery radix;
 *                   store_lin gives canonical elements, store_raw what only load_lin reads
 * canon             canonical elements in place (LANES 1 only)
 * transpose         lane l of v[k] exchanged with lane k of v[l], LANES batches */

#define FV_CAT2(a, b) a##_##b
#define FV_CAT(a, b) FV_CAT2(a, b)
#define FV_(name) FV_CAT(FV, name)
#define FE_(name) FV_CAT(FV_FE, name)

enum { FV_(LANES) = 1, FV_(IS_FILE) = 1 };
typedef FE_(t) FV_(t);
typedef FE_(t) FV_(st_t);
typedef FE_(t) FV_(tw_t);

static inline void FV_(load)(FV_(t) * r, const FV_(st_t) * p) {
    *r = *p;
}
static inline void FV_(store)(FV_(st_t) * p, const FV_(t) * a) {
    *p = *a;
}
static inline void FV_(gather)(FV_(t) * r, const FV_(st_t) *const p[FV_(LANES)]) {
    *r = *p[0];
}
static inline void FV_(gather_any)(FV_(t) * r, const void *const p[FV_(LANES)]) {
    __builtin_memcpy(r, p[0], sizeof *r);
}
static inline void FV_(scatter)(FV_(st_t) *const p[FV_(LANES)], const FV_(t) * a) {
    *p[0] = *a;
}
static inline void FV_(bcast)(FV_(t) * r, const FV_(st_t) * a) {
    *r = *a;
}

static inline void FV_(add)(FV_(t) * r, const FV_(t) * a, const FV_(t) * b) {
    FE_(add)(r, a, b);
}
static inline void FV_(sub)(FV_(t) * r, const FV_(t) * a, const FV_(t) * b) {
    FE_(sub)(r, a, b);
}
static inline void FV_(neg)(FV_(t) * r, const FV_(t) * a) {
    FE_(neg)(r, a);
}
static inline void FV_(cneg)(FV_(t) * r, const FV_(t) * a, unsigned mask) {
    if (mask & 1)
        FE_(neg)(r, a);
    else
        *r = *a;
}
static inline void FV_(dbl)(FV_(t) * r, const FV_(t) * a) {
    FE_(dbl)(r, a);
}
static inline void FV_(mul)(FV_(t) * r, const FV_(t) * a, const FV_(t) * b) {
    FE_(mul)(r, a, b);
}
static inline void FV_(sqr)(FV_(t) * r, const FV_(t) * a) {
    FE_(sqr)(r, a);
}
static inline void FV_(make_tw)(FV_(tw_t) * w, const FE_(t) * mont) {
    *w = *mont;
}
static inline void FV_(mul_tw)(FV_(t) * r, const FV_(t) * a, const FV_(tw_t) * w) {
    FE_(mul)(r, a, w);
}
static inline void FV_(scale_tw)(FV_(tw_t) * r, const FV_(tw_t) * w, const FE_(t) * mont) {
    FE_(mul)(r, w, mont);
}
static inline void FV_(ct_one)(FV_(t) * x, FV_(t) * y) {
    const FV_(t) a = *x;
    FE_(add)(x, &a, y);
    FE_(sub)(y, &a, y);
}
static inline void FV_(ct)(FV_(t) * x, FV_(t) * y, const FV_(tw_t) * w) {
    FE_(mul)(y, y, w);
    FV_(ct_one)(x, y);
}
static inline void FV_(ct_minus)(FV_(t) * x, FV_(t) * y, const FV_(tw_t) * w) {
    FV_(t) p;
    FE_(mul)(&p, y, w);
    FE_(add)(y, x, &p);
    FE_(sub)(x, x, &p);
}
static inline void FV_(gs_one)(FV_(t) * x, FV_(t) * y) {
    FV_(ct_one)(x, y);
}
static inline void FV_(gs)(FV_(t) * x, FV_(t) * y, const FV_(tw_t) * w) {
    FV_(ct_one)(x, y);
    FE_(mul)(y, y, w);
}
static inline void FV_(gs_minus)(FV_(t) * x, FV_(t) * y, const FV_(tw_t) * w) {
    FV_(t) d;
    FE_(sub)(&d, y, x);
    FE_(add)(x, x, y);
    FE_(mul)(y, &d, w);
}
static inline unsigned FV_(zero_mask)(const FV_(t) * a) {
    return FE_(is_zero)(a);
}
static inline void FV_(inv)(FV_(t) * r, const FV_(t) * a) {
    FE_(inv)(r, a);
}
static inline void FV_(from_mont)(FV_(st_t) * r, const void *mont) {
    __builtin_memcpy(r, mont, sizeof *r);
}
static inline void FV_(to_mont)(void *mont, const FV_(st_t) * a) {
    __builtin_memcpy(mont, a, sizeof *a);
}
static inline void FV_(load_lin)(FV_(t) * r, const void *mem) {
    __builtin_memcpy(r, mem, sizeof *r);
}
static inline void FV_(store_lin)(void *mem, const FV_(t) * a) {
    __builtin_memcpy(mem, a, sizeof *a);
}
static inline void FV_(store_raw)(void *mem, const FV_(t) * a) {
    __builtin_memcpy(mem, a, sizeof *a);
}
static inline void FV_(canon)(FV_(t) * a) {
    (void)a;
}
static inline void FV_(transpose)(FV_(t) v[FV_(LANES)]) {
    (void)v;
}

#undef FV_
#undef FE_
#undef FV_CAT
#undef FV_CAT2
#undef FV
#undef FV_FE
