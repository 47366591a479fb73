/* A batch of one element of a 4-limb prime field on x86-64 with BMI2 and ADX: include-template for
 * linear work (the transforms), with the products inlined and reductions left out where the
 * bounds allow. An instance may only run where cuzk_cpu_has_adx() is true.
 *
 * Parameters: FV (prefix to generate), FV_FE (prefix of the field), FV_MODULUS, FV_M (the
 * modulus or twice the modulus, see below), FV_N0 (as in fe_mont.inl.h), FV_LAZY (1 when FV_M is
 * twice the modulus). Generates those names of vec_scalar.inl.h that transforms use.
 *
 * Bounds. R = 2^256, p the modulus; M = 2p needs 4p < R, M = p needs 2p < R. "Reduced" is below
 * M, "loose" below 2M.
 *
 * Product a w / R for any a < R and w < p: rows of CIOS over the limbs of a. A row makes
 * t' = (t + a_i w + m p) / 2^64 with a_i, m < 2^64; from t < w + p follows
 * t' < (w + p + (2^64 - 1)(w + p)) / 2^64 = w + p. So t < 2p < R between rows, and inside a row
 * t + a_i w + m p < 2^64 (w + p) < 2^320 stays in five limbs. The result is below 2p: reduced when
 * M = 2p, and after one conditional subtraction of p when M = p.
 *
 * ct takes loose x and any y: x is brought below M by a conditional subtraction, the product is
 * reduced, so x + y w and x - y w + M are loose. gs takes reduced x, y: their sum is brought below
 * M, and x - y + M < 2M < R is a valid factor. */

#include "field/adx_text.h"

#define FV_CAT2(a, b) a##_##b
#define FV_CAT(a, b) FV_CAT2(a, b)
#define FV_(name) FV_CAT(FV, name)
#define FE_(name) FV_CAT(FV_FE, name)

#if FV_LAZY
#define FV_REDUCE_PRODUCT ""
#else
#define FV_REDUCE_PRODUCT CUZK__ADX_REDUCE_PRODUCT
#endif

enum { FV_(LANES) = 1 };
typedef FE_(t) FV_(t);
typedef FE_(t) FV_(st_t);
typedef FE_(t) FV_(tw_t);

static const cuzk__adx_consts FV_(k) = {FV_MODULUS, FV_M, FV_N0};

static inline void FV_(load)(FV_(t) * r, const FV_(st_t) * p) {
    *r = *p;
}
static inline void FV_(from_mont)(FV_(st_t) * r, const void *mont) {
    __builtin_memcpy(r, mont, sizeof *r);
}
static inline void FV_(load_lin)(FV_(t) * r, const void *mem) {
    __builtin_memcpy(r, mem, sizeof *r);
}
static inline void FV_(store_raw)(void *mem, const FV_(t) * a) {
    __builtin_memcpy(mem, a, sizeof *a);
}
static inline void FV_(make_tw)(FV_(tw_t) * w, const FE_(t) * mont) {
    *w = *mont;
}

/* r = a w: a anything, w canonical, r reduced. */
static inline __attribute__((always_inline)) void FV_(mul)(FV_(t) * r, const FV_(t) * a,
                                                           const FV_(t) * w) {
    uint64_t r0, r1, r2, r3, r4, lo, hi;
    __asm__ volatile(
        CUZK__ADX_MUL FV_REDUCE_PRODUCT CUZK__ADX_STORE("%[d]", "%[r4]", "%[r0]", "%[r1]", "%[r2]")
        : CUZK__ADX_TEMPS
        : [a] "r"(a), [w] "r"(w), [d] "r"(r), [k] "r"(&FV_(k))
        : "rdx", "cc", "memory");
}

static inline void FV_(mul_tw)(FV_(t) * r, const FV_(t) * a, const FV_(tw_t) * w) {
    FV_(mul)(r, a, w);
}

/* From loose to canonical. */
static inline void FV_(canon)(FV_(t) * a) {
#if FV_LAZY
    CUZK__ADX_CSUB_MEM(CUZK__ADX_CSUB_M, a, FV_(k));
#endif
    CUZK__ADX_CSUB_MEM(CUZK__ADX_CSUB_P, a, FV_(k));
}

static inline void FV_(store_lin)(void *mem, const FV_(t) * a) {
    FV_(t) v = *a;
    FV_(canon)(&v);
    __builtin_memcpy(mem, &v, sizeof v);
}

static inline void FV_(scale_tw)(FV_(tw_t) * r, const FV_(tw_t) * w, const FE_(t) * mont) {
    FV_(mul)(r, w, mont);
    FV_(canon)(r);
}

#define FV_CT(s, d)                                                                                \
    do {                                                                                           \
        uint64_t r0, r1, r2, r3, r4, lo, hi;                                                       \
        __asm__ volatile(CUZK__ADX_MUL FV_REDUCE_PRODUCT CUZK__ADX_CT_END(s, d)                    \
                         : CUZK__ADX_TEMPS                                                         \
                         : [x] "r"(x), [a] "r"(y), [w] "r"(w), [k] "r"(&FV_(k))                    \
                         : "rdx", "cc", "memory");                                                 \
    } while (0)

static inline void FV_(ct)(FV_(t) * x, FV_(t) * y, const FV_(tw_t) * w) {
    CUZK__ADX_CSUB_MEM(CUZK__ADX_CSUB_M, x, FV_(k));
    FV_CT("%[x]", "%[a]");
}
static inline void FV_(ct_minus)(FV_(t) * x, FV_(t) * y, const FV_(tw_t) * w) {
    CUZK__ADX_CSUB_MEM(CUZK__ADX_CSUB_M, x, FV_(k));
    FV_CT("%[a]", "%[x]");
}
static inline void FV_(ct_one)(FV_(t) * x, FV_(t) * y) {
    CUZK__ADX_CSUB_MEM(CUZK__ADX_CSUB_M, x, FV_(k));
    CUZK__ADX_CSUB_MEM(CUZK__ADX_CSUB_M, y, FV_(k));
    CUZK__ADX_ADD_SUB(x, y, FV_(k), CUZK__ADX_KEEP, "%[x]", "%[y]");
}

static inline void FV_(gs)(FV_(t) * x, FV_(t) * y, const FV_(tw_t) * w) {
    CUZK__ADX_ADD_SUB(x, y, FV_(k), CUZK__ADX_CSUB_M, "%[x]", "%[y]");
    FV_(mul)(y, y, w);
}
static inline void FV_(gs_minus)(FV_(t) * x, FV_(t) * y, const FV_(tw_t) * w) {
    CUZK__ADX_ADD_SUB(x, y, FV_(k), CUZK__ADX_CSUB_M, "%[y]", "%[x]");
    FV_(mul)(y, y, w);
}
static inline void FV_(gs_one)(FV_(t) * x, FV_(t) * y) {
    CUZK__ADX_ADD_SUB(x, y, FV_(k), CUZK__ADX_CSUB_M, "%[x]", "%[y]");
    CUZK__ADX_CSUB_MEM(CUZK__ADX_CSUB_M, y, FV_(k));
}

#undef FV_CT
#undef FV_REDUCE_PRODUCT
#undef FV_
#undef FE_
#undef FV_CAT
#undef FV_CAT2
#undef FV
#undef FV_FE
#undef FV_MODULUS
#undef FV_M
#undef FV_N0
#undef FV_LAZY
