/* Part of kernel.inl.h: sums in XYZZ form, and Pippenger with XYZZ buckets for inputs too small
 * for batches to pay. */

typedef EC_(affine_t) M_(affine_t);
typedef EC_(xyzz_t) M_(xyzz_t);

/* cuzk__msm_acc is bytes to the outside; it is aligned for, and only ever holds, this type. */
static void M_(acc_get)(M_(xyzz_t) * r, const cuzk__msm_acc *acc) {
    memcpy(r, acc->b, sizeof *r);
}
static void M_(acc_put)(cuzk__msm_acc *acc, const M_(xyzz_t) * a) {
    memcpy(acc->b, a, sizeof *a);
}

static void M_(acc_zero)(cuzk__msm_acc *acc) {
    M_(xyzz_t) z;
    EC_(xyzz_set_infinity)(&z);
    M_(acc_put)(acc, &z);
}

static void M_(acc_add)(cuzk__msm_acc *acc, const cuzk__msm_acc *a) {
    M_(xyzz_t) r, s;
    M_(acc_get)(&r, acc);
    M_(acc_get)(&s, a);
    EC_(xyzz_add)(&r, &r, &s);
    M_(acc_put)(acc, &r);
}

static void M_(acc_dbl)(cuzk__msm_acc *acc, unsigned times) {
    M_(xyzz_t) r;
    M_(acc_get)(&r, acc);
    while (times--)
        EC_(xyzz_dbl)(&r, &r);
    M_(acc_put)(acc, &r);
}

static void M_(acc_to_affine)(void *out, const cuzk__msm_acc *acc) {
    M_(xyzz_t) r;
    M_(affine_t) a;
    M_(acc_get)(&r, acc);
    EC_(xyzz_to_affine)(&a, &r);
    memcpy(out, &a, sizeof a);
}

static void M_(few_window)(M_(xyzz_t) * sum, const cuzk__digits *d, unsigned x,
                           const uint8_t *bases, const uint8_t *scalars, size_t n,
                           cuzk__msm_acc *buckets) {
    const uint32_t m = (uint32_t)1 << (cuzk__digits_width(d, x) - 1);
    M_(xyzz_t) b, run;
    for (uint32_t i = 0; i < m; i++)
        M_(acc_zero)(&buckets[i]);
    for (size_t i = 0; i < n; i++) {
        cuzk__recoded k;
        M_(affine_t) p;
        bool neg = cuzk__recode(&k, d, scalars + 32 * i);
        int32_t digit = cuzk__digit(d, &k, x);
        if (digit == 0) continue;
        memcpy(&p, bases + i * sizeof p, sizeof p);
        if (neg != (digit < 0)) EC_(affine_neg)(&p, &p);
        cuzk__msm_acc *slot = &buckets[(digit < 0 ? -digit : digit) - 1];
        M_(acc_get)(&b, slot);
        EC_(xyzz_add_affine)(&b, &b, &p);
        M_(acc_put)(slot, &b);
    }
    EC_(xyzz_set_infinity)(&run);
    EC_(xyzz_set_infinity)(sum);
    for (uint32_t i = m; i-- > 0;) {
        M_(acc_get)(&b, &buckets[i]);
        EC_(xyzz_add)(&run, &run, &b);
        EC_(xyzz_add)(sum, sum, &run);
    }
}

static void M_(few)(cuzk__msm_acc *acc, const cuzk__digits *d, const uint8_t *bases,
                    const uint8_t *scalars, size_t n, cuzk__msm_acc *buckets) {
    M_(xyzz_t) r, sum;
    EC_(xyzz_set_infinity)(&r);
    for (unsigned x = d->windows; x-- > 0;) {
        for (unsigned i = 0; i < cuzk__digits_width(d, x); i++)
            EC_(xyzz_dbl)(&r, &r);
        M_(few_window)(&sum, d, x, bases, scalars, n, buckets);
        EC_(xyzz_add)(&r, &r, &sum);
    }
    M_(acc_put)(acc, &r);
}
