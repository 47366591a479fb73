/* A prime field in Montgomery form: include-template.
 *
 * Parameters (all undefined again at the end):
 *   FE          prefix of every generated name, e.g. cuzk_bn254_fp
 *   FE_LIMBS    1, 4 or 6
 *   FE_TYPE     struct with a member uint64_t l[FE_LIMBS]
 *   FE_MODULUS  brace list of limbs of the prime p; needs p < 2^(64*FE_LIMBS - 1)
 *   FE_ONE      brace list, R mod p with R = 2^(64*FE_LIMBS)
 *   FE_R2       brace list, R^2 mod p
 *   FE_N0       -p^-1 mod 2^64
 *   FE_MUL_HOOK, FE_SQR_HOOK (optional) names of functions (FE_TYPE *r, const FE_TYPE *a[, *b])
 *               that replace the portable product; same result, canonical
 *   FE_ADD_HOOK, FE_SUB_HOOK (optional) the same for sums and differences
 *
 * Generates FE_t and the functions below. Every input must be canonical (< p) and every output
 * is; r may alias any input. Time depends on the values in inv and pow only.
 *
 * The body compiles as C17 and as CUDA C++17. Product: CIOS, Koc, Acar, Kaliski 1996; the carry
 * out of the top limb never occurs because p leaves the top bit free. */

#define FE_CAT2(a, b) a##_##b
#define FE_CAT(a, b) FE_CAT2(a, b)
#define FE_(name) FE_CAT(FE, name)

typedef FE_TYPE FE_(t);

static CUZK_HD void FE_(set_zero)(FE_TYPE *r) {
    for (int i = 0; i < FE_LIMBS; i++)
        r->l[i] = 0;
}

/* r = 1 (in Montgomery form). */
static CUZK_HD void FE_(set_one)(FE_TYPE *r) {
    const FE_TYPE one = {FE_ONE};
    *r = one;
}

static CUZK_HD bool FE_(is_zero)(const FE_TYPE *a) {
    uint64_t x = 0;
    for (int i = 0; i < FE_LIMBS; i++)
        x |= a->l[i];
    return x == 0;
}

static CUZK_HD bool FE_(eq)(const FE_TYPE *a, const FE_TYPE *b) {
    uint64_t x = 0;
    for (int i = 0; i < FE_LIMBS; i++)
        x |= a->l[i] ^ b->l[i];
    return x == 0;
}

/* True when the limbs, read as an integer, are below p. The one function for values that are
 * not known to be canonical. */
static CUZK_HD bool FE_(is_canonical)(const FE_TYPE *a) {
    const uint64_t p[FE_LIMBS] = FE_MODULUS;
    uint64_t borrow = 0, d;
    for (int i = 0; i < FE_LIMBS; i++)
        borrow = cuzk_subb(&d, a->l[i], p[i], borrow);
    return borrow != 0;
}

/* r = a - p when a >= p (a < 2p). */
static CUZK_HD void FE_(reduce_once)(FE_TYPE *r, const FE_TYPE *a) {
    const uint64_t p[FE_LIMBS] = FE_MODULUS;
    FE_TYPE d;
    uint64_t borrow = 0;
    for (int i = 0; i < FE_LIMBS; i++)
        borrow = cuzk_subb(&d.l[i], a->l[i], p[i], borrow);
    const uint64_t keep = (uint64_t)0 - borrow; /* all ones when a < p */
    for (int i = 0; i < FE_LIMBS; i++)
        r->l[i] = (a->l[i] & keep) | (d.l[i] & ~keep);
}

static CUZK_HD void FE_(add)(FE_TYPE *r, const FE_TYPE *a, const FE_TYPE *b) {
#ifdef FE_ADD_HOOK
    FE_ADD_HOOK(r, a, b);
#else
    FE_TYPE s;
    uint64_t carry = 0;
    for (int i = 0; i < FE_LIMBS; i++)
        carry = cuzk_addc(&s.l[i], a->l[i], b->l[i], carry);
    FE_(reduce_once)(r, &s);
#endif
}

static CUZK_HD void FE_(dbl)(FE_TYPE *r, const FE_TYPE *a) {
    FE_(add)(r, a, a);
}

static CUZK_HD void FE_(sub)(FE_TYPE *r, const FE_TYPE *a, const FE_TYPE *b) {
#ifdef FE_SUB_HOOK
    FE_SUB_HOOK(r, a, b);
#else
    const uint64_t p[FE_LIMBS] = FE_MODULUS;
    FE_TYPE d;
    uint64_t borrow = 0, carry = 0;
    for (int i = 0; i < FE_LIMBS; i++)
        borrow = cuzk_subb(&d.l[i], a->l[i], b->l[i], borrow);
    const uint64_t mask = (uint64_t)0 - borrow;
    for (int i = 0; i < FE_LIMBS; i++)
        carry = cuzk_addc(&r->l[i], d.l[i], p[i] & mask, carry);
#endif
}

static CUZK_HD void FE_(neg)(FE_TYPE *r, const FE_TYPE *a) {
    FE_TYPE zero;
    FE_(set_zero)(&zero);
    FE_(sub)(r, &zero, a);
}

/* r = a * b / R mod p, in C only: the reference for every hook. */
static CUZK_HD_FN void FE_(mul_portable)(FE_TYPE *r, const FE_TYPE *a, const FE_TYPE *b) {
    const uint64_t p[FE_LIMBS] = FE_MODULUS;
    uint64_t t[FE_LIMBS + 1];
    for (int i = 0; i <= FE_LIMBS; i++)
        t[i] = 0;
    for (int i = 0; i < FE_LIMBS; i++) {
        uint64_t carry = 0, low;
        for (int j = 0; j < FE_LIMBS; j++)
            carry = cuzk_muladd(&t[j], t[j], a->l[j], b->l[i], carry);
        t[FE_LIMBS] = carry;
        const uint64_t m = t[0] * (FE_N0);
        carry = cuzk_muladd(&low, t[0], m, p[0], 0);
        for (int j = 1; j < FE_LIMBS; j++)
            carry = cuzk_muladd(&t[j - 1], t[j], m, p[j], carry);
        t[FE_LIMBS - 1] = t[FE_LIMBS] + carry;
    }
    FE_TYPE s;
    for (int i = 0; i < FE_LIMBS; i++)
        s.l[i] = t[i];
    FE_(reduce_once)(r, &s);
}

static CUZK_HD void FE_(mul)(FE_TYPE *r, const FE_TYPE *a, const FE_TYPE *b) {
#ifdef FE_MUL_HOOK
    FE_MUL_HOOK(r, a, b);
#else
    FE_(mul_portable)(r, a, b);
#endif
}

static CUZK_HD void FE_(sqr)(FE_TYPE *r, const FE_TYPE *a) {
#ifdef FE_SQR_HOOK
    FE_SQR_HOOK(r, a);
#else
    FE_(mul)(r, a, a);
#endif
}

/* Plain integer < p to Montgomery form, and back. */
static CUZK_HD void FE_(to_mont)(FE_TYPE *r, const FE_TYPE *plain) {
    const FE_TYPE r2 = {FE_R2};
    FE_(mul)(r, plain, &r2);
}

static CUZK_HD void FE_(from_mont)(FE_TYPE *plain, const FE_TYPE *a) {
    FE_TYPE one;
    FE_(set_zero)(&one);
    one.l[0] = 1;
    FE_(mul)(plain, a, &one);
}

static CUZK_HD void FE_(from_u64)(FE_TYPE *r, uint64_t v) {
    FE_TYPE x;
    FE_(set_zero)(&x);
    x.l[0] = v;
    FE_(to_mont)(r, &x);
}

/* r = a^e, e plain with n limbs, least significant first. Variable time in e. */
static CUZK_HD_FN void FE_(pow)(FE_TYPE *r, const FE_TYPE *a, const uint64_t *e, int n) {
    FE_TYPE acc, base = *a;
    FE_(set_one)(&acc);
    for (int i = 64 * n - 1; i >= 0; i--) {
        FE_(sqr)(&acc, &acc);
        if (e[i / 64] >> (i % 64) & 1) FE_(mul)(&acc, &acc, &base);
    }
    *r = acc;
}

/* r = a^-1; 0 gives 0. Variable time. */
static CUZK_HD_FN void FE_(inv)(FE_TYPE *r, const FE_TYPE *a) {
#ifdef __CUDACC__
    uint64_t e[FE_LIMBS] = FE_MODULUS;
    e[0] -= 2; /* Fermat; no borrow: the low limb of every modulus here is above 1 */
    FE_(pow)(r, a, e, FE_LIMBS);
#else
    static const FE_TYPE p = {FE_MODULUS}, r2 = {FE_R2};
    FE_CAT(cuzk__modinv, FE_LIMBS)(r->l, a->l, p.l, FE_N0); /* (aR)^-1 */
    FE_(mul)(r, r, &r2);
    FE_(mul)(r, r, &r2);
#endif
}

#undef FE_
#undef FE_CAT
#undef FE_CAT2
#undef FE
#undef FE_LIMBS
#undef FE_TYPE
#undef FE_MODULUS
#undef FE_ONE
#undef FE_R2
#undef FE_N0
#undef FE_MUL_HOOK
#undef FE_SQR_HOOK
#undef FE_ADD_HOOK
#undef FE_SUB_HOOK
