/* Tests of one instance of fe_mont.inl.h against GMP: include-template.
 * Parameters: PC (prefix of the generated test functions), PC_F (prefix of the field), PC_LIMBS,
 * PC_MODULUS. Undefined again at the end. */

#define PC_CAT2(a, b) a##_##b
#define PC_CAT(a, b) PC_CAT2(a, b)
#define PC_(name) PC_CAT(PC, name)
#define F_(name) PC_CAT(PC_F, name)

static const uint64_t PC_(p)[PC_LIMBS] = PC_MODULUS;

/* Value number i: boundaries first, then random ones, half of them with long runs of equal bits.
 * All below p. */
enum { PC_(boundaries) = 12 + 2 * PC_LIMBS };

static void PC_(value)(F_(t) * r, unsigned i) {
    mpz_t z, p;
    mpz_inits(z, p, NULL);
    limbs_get(p, PC_(p), PC_LIMBS);
    if (i < 4) {
        mpz_set_ui(z, i);
    } else if (i < 8) {
        mpz_sub_ui(z, p, i - 3);
    } else if (i < 10) { /* (p - 1)/2, (p + 1)/2 */
        mpz_fdiv_q_2exp(z, p, 1);
        mpz_add_ui(z, z, i - 8);
    } else if (i < 12) { /* R and R^2 */
        mpz_setbit(z, 64 * PC_LIMBS * (i - 9));
    } else if (i < 12 + PC_LIMBS) { /* one limb of ones */
        mpz_set_ui(z, UINT64_MAX);
        mpz_mul_2exp(z, z, 64 * (i - 12));
    } else if (i < PC_(boundaries)) { /* ones up to a limb */
        mpz_setbit(z, 64 * (i - 12 - PC_LIMBS) + 63);
        mpz_sub_ui(z, z, 1);
    } else if (i & 1) {
        for (int k = 0; k < PC_LIMBS + 1; k++) {
            mpz_mul_2exp(z, z, 64);
            mpz_add_ui(z, z, test_rng());
        }
    } else {
        for (int left = 64 * PC_LIMBS; left > 0;) {
            const unsigned run = 1 + (unsigned)(test_rng() % 70);
            mpz_mul_2exp(z, z, run);
            if (test_rng() & 1) {
                mpz_t ones;
                mpz_init(ones);
                mpz_setbit(ones, run);
                mpz_sub_ui(ones, ones, 1);
                mpz_ior(z, z, ones);
                mpz_clear(ones);
            }
            left -= (int)run;
        }
    }
    mpz_mod(z, z, p);
    limbs_set(r->l, PC_LIMBS, z);
    mpz_clears(z, p, NULL);
}

static void PC_(expect)(const F_(t) * got, const mpz_t want, const char *what) {
    mpz_t z;
    mpz_init(z);
    limbs_get(z, got->l, PC_LIMBS);
    if (mpz_cmp(z, want) != 0) {
        gmp_fprintf(stderr, "%s: got %Zx, expected %Zx\n", what, z, want);
        fail();
    }
    mpz_clear(z);
}

/* r = op(a, b) with every aliasing. */
static void PC_(binary)(void (*op)(F_(t) *, const F_(t) *, const F_(t) *), const F_(t) * a,
                        const F_(t) * b, const mpz_t want, const char *what) {
    F_(t) r, x = *a, y = *b;
    op(&r, a, b);
    PC_(expect)(&r, want, what);
    op(&x, &x, b);
    PC_(expect)(&x, want, what);
    op(&y, a, &y);
    PC_(expect)(&y, want, what);
    if (memcmp(a, b, sizeof *a) == 0) {
        x = *a;
        op(&x, &x, &x);
        PC_(expect)(&x, want, what);
    }
}

static void PC_(unary)(void (*op)(F_(t) *, const F_(t) *), const F_(t) * a, const mpz_t want,
                       const char *what) {
    F_(t) r, x = *a;
    op(&r, a);
    PC_(expect)(&r, want, what);
    op(&x, &x);
    PC_(expect)(&x, want, what);
}

/* Out-of-line copies: the functions under test are always inlined. */
#define PC_OUT2(name)                                                                              \
    static void PC_(out_##name)(F_(t) * r, const F_(t) * a, const F_(t) * b) {                     \
        F_(name)(r, a, b);                                                                         \
    }
#define PC_OUT1(name)                                                                              \
    static void PC_(out_##name)(F_(t) * r, const F_(t) * a) {                                      \
        F_(name)(r, a);                                                                            \
    }
PC_OUT2(add)
PC_OUT2(sub)
PC_OUT2(mul)
PC_OUT2(mul_portable)
PC_OUT1(dbl)
PC_OUT1(neg)
PC_OUT1(sqr)
PC_OUT1(inv)
PC_OUT1(to_mont)
PC_OUT1(from_mont)
#undef PC_OUT1
#undef PC_OUT2

static void PC_(pairs)(void **state) {
    (void)state;
    mpz_t a, b, p, rinv, w;
    mpz_inits(a, b, p, rinv, w, NULL);
    limbs_get(p, PC_(p), PC_LIMBS);
    mpz_setbit(rinv, 64 * PC_LIMBS);
    assert_true(mpz_invert(rinv, rinv, p));
    for (unsigned i = 0; i < PC_(boundaries) + 40; i++) {
        for (unsigned j = 0; j < PC_(boundaries) + 40; j++) {
            F_(t) x, y;
            PC_(value)(&x, i);
            PC_(value)(&y, j);
            limbs_get(a, x.l, PC_LIMBS);
            limbs_get(b, y.l, PC_LIMBS);
            mpz_add(w, a, b);
            mpz_mod(w, w, p);
            PC_(binary)(PC_(out_add), &x, &y, w, "add");
            mpz_sub(w, a, b);
            mpz_mod(w, w, p);
            PC_(binary)(PC_(out_sub), &x, &y, w, "sub");
            mpz_mul(w, a, b);
            mpz_mul(w, w, rinv);
            mpz_mod(w, w, p);
            PC_(binary)(PC_(out_mul), &x, &y, w, "mul");
            PC_(binary)(PC_(out_mul_portable), &x, &y, w, "mul_portable");
            assert_int_equal(F_(eq)(&x, &y), mpz_cmp(a, b) == 0);
        }
    }
    mpz_clears(a, b, p, rinv, w, NULL);
}

static void PC_(singles)(void **state) {
    (void)state;
    mpz_t a, p, r, rinv, w;
    mpz_inits(a, p, r, rinv, w, NULL);
    limbs_get(p, PC_(p), PC_LIMBS);
    mpz_setbit(r, 64 * PC_LIMBS);
    assert_true(mpz_invert(rinv, r, p));
    for (unsigned i = 0; i < PC_(boundaries) + 2000; i++) {
        F_(t) x;
        PC_(value)(&x, i);
        limbs_get(a, x.l, PC_LIMBS);
        assert_true(F_(is_canonical)(&x));
        assert_int_equal(F_(is_zero)(&x), mpz_sgn(a) == 0);
        mpz_mul_2exp(w, a, 1);
        mpz_mod(w, w, p);
        PC_(unary)(PC_(out_dbl), &x, w, "dbl");
        mpz_neg(w, a);
        mpz_mod(w, w, p);
        PC_(unary)(PC_(out_neg), &x, w, "neg");
        mpz_mul(w, a, a);
        mpz_mul(w, w, rinv);
        mpz_mod(w, w, p);
        PC_(unary)(PC_(out_sqr), &x, w, "sqr");
        mpz_mul(w, a, r);
        mpz_mod(w, w, p);
        PC_(unary)(PC_(out_to_mont), &x, w, "to_mont");
        mpz_mul(w, a, rinv);
        mpz_mod(w, w, p);
        PC_(unary)(PC_(out_from_mont), &x, w, "from_mont");
        /* the inverse of aR is a^-1 R */
        if (mpz_invert(w, a, p)) {
            mpz_mul(w, w, r);
            mpz_mul(w, w, r);
            mpz_mod(w, w, p);
        } else {
            mpz_set_ui(w, 0);
        }
        PC_(unary)(PC_(out_inv), &x, w, "inv");
        const uint64_t v = test_rng() >> (i % 64);
        F_(t) u;
        F_(from_u64)(&u, v);
        mpz_set_ui(w, v);
        mpz_mul(w, w, r);
        mpz_mod(w, w, p);
        PC_(expect)(&u, w, "from_u64");
    }
    mpz_clears(a, p, r, rinv, w, NULL);
}

static void PC_(powers)(void **state) {
    (void)state;
    mpz_t a, e, p, r, w;
    mpz_inits(a, e, p, r, w, NULL);
    limbs_get(p, PC_(p), PC_LIMBS);
    mpz_setbit(r, 64 * PC_LIMBS);
    for (unsigned i = 0; i < PC_(boundaries) + 10; i++) {
        F_(t) x, m, exp;
        PC_(value)(&x, i);
        PC_(value)(&exp, PC_(boundaries) + 9 - i);
        F_(to_mont)(&m, &x);
        F_(pow)(&m, &m, exp.l, PC_LIMBS);
        limbs_get(a, x.l, PC_LIMBS);
        limbs_get(e, exp.l, PC_LIMBS);
        mpz_powm(w, a, e, p);
        mpz_mul(w, w, r);
        mpz_mod(w, w, p);
        PC_(expect)(&m, w, "pow");
    }
    mpz_clears(a, e, p, r, w, NULL);
}

/* Everything below p is canonical, p and above is not. */
static void PC_(canonical)(void **state) {
    (void)state;
    mpz_t z;
    mpz_init(z);
    for (int d = -3; d <= 3; d++) {
        F_(t) x;
        limbs_get(z, PC_(p), PC_LIMBS);
        if (d < 0)
            mpz_sub_ui(z, z, (unsigned)-d);
        else
            mpz_add_ui(z, z, (unsigned)d);
        limbs_set(x.l, PC_LIMBS, z);
        assert_int_equal(F_(is_canonical)(&x), d < 0);
    }
    for (int i = 0; i < PC_LIMBS; i++) {
        F_(t) x;
        memcpy(x.l, PC_(p), sizeof x.l);
        if (x.l[i] < UINT64_MAX) {
            x.l[i]++; /* greater in one limb only */
            assert_false(F_(is_canonical)(&x));
            memset(x.l, 0xff, 8 * (size_t)i); /* and less, whatever is below */
            x.l[i] -= 2;
            assert_true(F_(is_canonical)(&x));
        }
    }
    F_(t) ones, one, zero;
    memset(&ones, 0xff, sizeof ones);
    assert_false(F_(is_canonical)(&ones));
    F_(set_zero)(&zero);
    assert_true(F_(is_canonical)(&zero) && F_(is_zero)(&zero));
    F_(set_one)(&one);
    mpz_set_ui(z, 1);
    F_(from_mont)(&one, &one);
    PC_(expect)(&one, z, "one");
    mpz_clear(z);
}

#undef PC_CAT2
#undef PC_CAT
#undef PC_
#undef F_
#undef PC
#undef PC_F
#undef PC_LIMBS
#undef PC_MODULUS
