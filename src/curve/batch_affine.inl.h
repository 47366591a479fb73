/* Many independent affine additions with one inversion: include-template over a group.
 *
 * Parameters (undefined again at the end): BA (prefix to generate), BA_EC (prefix of the group),
 * BA_F (prefix of its field).
 * Where curve/batch_ifma.h is included before, groups named there use its vectors.
 *
 * Generates BA_scratch_t, room for CUZK__BATCH additions, BA_add and BA_add_at. An addition costs
 * 5M + 1S and its share of one inversion (Montgomery's trick: 3M of these). */

#ifndef CUZK__CURVE_IFMA
#define CUZK__CURVE_IFMA 0
#endif
#define BA_CAT2(a, b) a##_##b
#define BA_CAT(a, b) BA_CAT2(a, b)
#define BA_(name) BA_CAT(BA, name)
#define EC_(name) BA_CAT(BA_EC, name)
#define F_(name) BA_CAT(BA_F, name)

typedef struct BA_(scratch_t) {
    EC_(affine_t) a[CUZK__BATCH], b[CUZK__BATCH]; /* for the caller */
    F_(t) den[CUZK__BATCH], before[CUZK__BATCH];
#if CUZK__CURVE_IFMA
    uint8_t vectors[CUZK__BATCH_IFMA_SCRATCH(CUZK__BATCH, sizeof(EC_(affine_t)))];
#endif
} BA_(scratch_t);

enum { BA_(ENOUGH) = 24 }; /* additions, for an inversion of eight lanes to pay */

/* The denominator of the slope of a + b, or 1 where the sum needs no slope. */
static inline void BA_(denominator)(F_(t) * d, const EC_(affine_t) * a, const EC_(affine_t) * b) {
    F_(sub)(d, &b->x, &a->x);
    if (EC_(affine_is_infinity)(a) || EC_(affine_is_infinity)(b)) {
        F_(set_one)(d);
    } else if (F_(is_zero)(d)) {
        F_(add)(d, &a->y, &b->y); /* 2y when equal, 0 when opposite */
        if (F_(is_zero)(d)) F_(set_one)(d);
    }
}

/* a += b, with inv the inverse of BA_denominator. */
static inline void BA_(finish)(EC_(affine_t) * a, const EC_(affine_t) * b, const F_(t) * inv) {
    F_(t) s, t, x;
    if (EC_(affine_is_infinity)(b)) return;
    if (EC_(affine_is_infinity)(a)) {
        *a = *b;
        return;
    }
    if (F_(eq)(&a->x, &b->x)) {
        F_(add)(&t, &a->y, &b->y);
        if (F_(is_zero)(&t)) {
            F_(set_zero)(&a->x);
            F_(set_zero)(&a->y);
            return;
        }
        F_(sqr)(&t, &a->x);
        F_(dbl)(&s, &t);
        F_(add)(&s, &s, &t);
    } else {
        F_(sub)(&s, &b->y, &a->y);
    }
    F_(mul)(&s, &s, inv);
    F_(sqr)(&x, &s);
    F_(sub)(&x, &x, &a->x);
    F_(sub)(&x, &x, &b->x);
    F_(sub)(&t, &a->x, &x);
    F_(mul)(&t, &t, &s);
    F_(sub)(&a->y, &t, &a->y);
    a->x = x;
}

/* BA is the group's name in batch_ifma.h, too. */
#define BA_IFMA2(group) cuzk__batch_ifma_##group
#define BA_IFMA(group) BA_IFMA2(group)

/* a[i] += b[i] for i < n <= CUZK__BATCH; every case is handled. a and b may be s->a and s->b,
 * but must not overlap one another. */
static void BA_(add)(EC_(affine_t) * a, const EC_(affine_t) * b, size_t n, BA_(scratch_t) * s) {
    F_(t) run, inv;
    if (n == 0) return;
#if CUZK__CURVE_IFMA
    if (n >= BA_(ENOUGH) && cuzk_cpu_has_avx512_ifma() &&
        BA_IFMA(BA)(a, NULL, b, NULL, n, s->vectors))
        return;
#endif
    F_(set_one)(&run);
    for (size_t i = 0; i < n; i++) {
        BA_(denominator)(&s->den[i], &a[i], &b[i]);
        s->before[i] = run;
        F_(mul)(&run, &run, &s->den[i]);
    }
    F_(inv)(&run, &run);
    for (size_t i = n; i-- > 0;) {
        F_(mul)(&inv, &run, &s->before[i]);
        F_(mul)(&run, &run, &s->den[i]);
        BA_(finish)(&a[i], &b[i], &inv);
    }
}

/* a[at[i]] += b[from[i] >> 1], or -= where from[i] is odd, for i < n <= CUZK__BATCH; at[i] all
 * different. Uses s->a and s->b. */
static __attribute__((unused)) void BA_(add_at)(EC_(affine_t) * a, const uint32_t *at,
                                                const EC_(affine_t) * b, const uint32_t *from,
                                                size_t n, BA_(scratch_t) * s) {
#if CUZK__CURVE_IFMA
    if (n >= BA_(ENOUGH) && cuzk_cpu_has_avx512_ifma() &&
        BA_IFMA(BA)(a, at, b, from, n, s->vectors))
        return;
#endif
    for (size_t i = 0; i < n; i++) {
        s->a[i] = a[at[i]];
        s->b[i] = b[from[i] >> 1];
        if (from[i] & 1) EC_(affine_neg)(&s->b[i], &s->b[i]);
    }
    BA_(add)(s->a, s->b, n, s);
    for (size_t i = 0; i < n; i++)
        a[at[i]] = s->a[i];
}

#undef BA_IFMA
#undef BA_IFMA2
#undef BA_
#undef EC_
#undef F_
#undef BA_CAT
#undef BA_CAT2
#undef BA
#undef BA_EC
#undef BA_F
