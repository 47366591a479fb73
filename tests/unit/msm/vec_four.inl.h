/* Batches of four base-field elements that are slow on purpose and keep elements in a form of
 * their own: what a vector unit would do to the code above it. Parameters as in
 * field/vec_scalar.inl.h, and FV_LIMBS. */

#define FV_CAT2(a, b) a##_##b
#define FV_CAT(a, b) FV_CAT2(a, b)
#define FV_(name) FV_CAT(FV, name)
#define FE_(name) FV_CAT(FV_FE, name)

enum { FV_(LANES) = 4, FV_(IS_FILE) = 0 };
typedef struct FV_(t) {
    FE_(t) lane[4];
} FV_(t);
/* limbs in the opposite order, complemented, and one more */
typedef struct FV_(st_t) {
    uint64_t l[FV_LIMBS + 1];
} FV_(st_t);

static inline void FV_(from_mont)(FV_(st_t) * r, const void *mont) {
    FE_(t) a;
    memcpy(&a, mont, sizeof a);
    r->l[FV_LIMBS] = 0x5555;
    for (int i = 0; i < FV_LIMBS; i++)
        r->l[i] = ~a.l[FV_LIMBS - 1 - i];
}
static inline void FV_(to_mont)(void *mont, const FV_(st_t) * a) {
    FE_(t) r;
    assert_int_equal(a->l[FV_LIMBS], 0x5555);
    for (int i = 0; i < FV_LIMBS; i++)
        r.l[i] = ~a->l[FV_LIMBS - 1 - i];
    memcpy(mont, &r, sizeof r);
}
static inline void FV_(gather_any)(FV_(t) * r, const void *const p[4]) {
    for (int i = 0; i < 4; i++) {
        FV_(st_t) s;
        memcpy(&s, p[i], sizeof s);
        FV_(to_mont)(&r->lane[i], &s);
    }
}
static inline void FV_(scatter)(FV_(st_t) *const p[4], const FV_(t) * a) {
    for (int i = 0; i < 4; i++)
        FV_(from_mont)(p[i], &a->lane[i]);
}

#define FV_EACH2(name)                                                                             \
    static inline void FV_(name)(FV_(t) * r, const FV_(t) * a, const FV_(t) * b) {                 \
        for (int i = 0; i < 4; i++)                                                                \
            FE_(name)(&r->lane[i], &a->lane[i], &b->lane[i]);                                      \
    }
#define FV_EACH1(name)                                                                             \
    static inline void FV_(name)(FV_(t) * r, const FV_(t) * a) {                                   \
        for (int i = 0; i < 4; i++)                                                                \
            FE_(name)(&r->lane[i], &a->lane[i]);                                                   \
    }
FV_EACH2(add)
FV_EACH2(sub)
FV_EACH2(mul)
FV_EACH1(sqr)
FV_EACH1(neg)
FV_EACH1(inv)
#undef FV_EACH1
#undef FV_EACH2

static inline void FV_(cneg)(FV_(t) * r, const FV_(t) * a, unsigned mask) {
    for (int i = 0; i < 4; i++) {
        r->lane[i] = a->lane[i];
        if (mask >> i & 1) FE_(neg)(&r->lane[i], &r->lane[i]);
    }
}
static inline unsigned FV_(zero_mask)(const FV_(t) * a) {
    unsigned mask = 0;
    for (unsigned i = 0; i < 4; i++)
        mask |= (unsigned)FE_(is_zero)(&a->lane[i]) << i;
    return mask;
}

#undef FV_
#undef FE_
#undef FV_CAT
#undef FV_CAT2
#undef FV
#undef FV_FE
#undef FV_LIMBS
