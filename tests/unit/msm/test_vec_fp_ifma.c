/* Base fields and their extensions in eight lanes of AVX-512 IFMA, at the ends of the ranges that
 * point arithmetic uses, against GMP: results congruent and below the bounds that
 * field/vec_fp_ifma.inl.h states. Exit code 77 (skipped) where the processor has no IFMA. */
#include "support.h"

#include "base/cpu.h"
#include "vec_fp_ifma_ops.h"

#include <gmp.h>

enum { LANES = 8 };

typedef struct value {
    mpz_t c[2];
} value;

typedef struct numbers {
    const fp_ops *ops;
    mpz_t p, radix_inv;      /* 2^-(52 limbs) */
    mpz_t near, wide, six_p; /* bounds: near; (near + 3p) 2^shift; 6p */
    value a[LANES], b[LANES], c[LANES], got, want;
    mpz_t t;
} numbers;

static void value_init(value *v) {
    mpz_inits(v->c[0], v->c[1], NULL);
}
static void value_clear(value *v) {
    mpz_clears(v->c[0], v->c[1], NULL);
}

static void numbers_init(numbers *n, const fp_ops *ops) {
    n->ops = ops;
    mpz_inits(n->p, n->radix_inv, n->near, n->wide, n->six_p, n->t, NULL);
    mpz_import(n->p, ops->words, -1, 8, 0, 0, ops->p);
    mpz_setbit(n->radix_inv, 52 * ops->limbs);
    mpz_invert(n->radix_inv, n->radix_inv, n->p);
    mpz_fdiv_q_2exp(n->near, n->p, 8);
    mpz_add(n->near, n->near, n->p);
    mpz_setbit(n->t, ops->bits);
    mpz_add(n->near, n->near, n->t);
    mpz_mul_ui(n->wide, n->p, 3);
    mpz_add(n->wide, n->wide, n->near);
    mpz_mul_2exp(n->wide, n->wide, ops->shift);
    mpz_mul_ui(n->six_p, n->p, 6);
    for (int i = 0; i < LANES; i++) {
        value_init(&n->a[i]);
        value_init(&n->b[i]);
        value_init(&n->c[i]);
    }
    value_init(&n->got);
    value_init(&n->want);
}

static void numbers_clear(numbers *n) {
    mpz_clears(n->p, n->radix_inv, n->near, n->wide, n->six_p, n->t, NULL);
    for (int i = 0; i < LANES; i++) {
        value_clear(&n->a[i]);
        value_clear(&n->b[i]);
        value_clear(&n->c[i]);
    }
    value_clear(&n->got);
    value_clear(&n->want);
}

/* Below bound: uniform, small, just below the bound, around a multiple of p, limbs of ones and
 * zeros. */
static void pick(const numbers *n, mpz_t out, const mpz_t bound) {
    const unsigned how = (unsigned)(test_rng() % 5), small = (unsigned)(test_rng() % 3);
    uint64_t l[8];
    for (unsigned i = 0; i < n->ops->limbs; i++)
        l[i] = how == 1 ? (test_rng() & 1 ? UINT64_MAX >> 12 : 0) : test_rng() >> 12;
    mpz_import(out, n->ops->limbs, -1, 8, 0, 12, l);
    if (how == 2) mpz_set_ui(out, small);
    if (how == 3) mpz_sub_ui(out, bound, small + 1);
    if (how == 4) {
        mpz_mul_ui(out, n->p, (unsigned long)(test_rng() % 6));
        mpz_add_ui(out, out, small);
        if (mpz_sgn(out)) mpz_sub_ui(out, out, 1);
    }
    mpz_mod(out, out, bound);
}

static void put(const numbers *n, fp_batch *b, unsigned lane, const value *v) {
    for (unsigned k = 0; k < n->ops->degree; k++) {
        uint64_t l[8] = {0};
        mpz_export(l, NULL, -1, 8, 0, 12, v->c[k]);
        for (unsigned j = 0; j < n->ops->limbs; j++)
            b->l[k][j][lane] = l[j];
    }
}

static void get(const numbers *n, value *v, const fp_batch *b, unsigned lane) {
    for (unsigned k = 0; k < n->ops->degree; k++) {
        uint64_t l[8];
        for (unsigned j = 0; j < n->ops->limbs; j++) {
            l[j] = b->l[k][j][lane];
            assert_true(l[j] >> 52 == 0);
        }
        mpz_import(v->c[k], n->ops->limbs, -1, 8, 0, 12, l);
    }
}

static void pick_batch(numbers *n, fp_batch *b, value *v, const mpz_t bound) {
    for (unsigned i = 0; i < LANES; i++) {
        for (unsigned k = 0; k < n->ops->degree; k++)
            pick(n, v[i].c[k], bound);
        put(n, b, i, &v[i]);
    }
}

/* r = a b / R; r is another value. */
static void product(numbers *n, value *r, const value *a, const value *b) {
    mpz_mul(r->c[0], a->c[0], b->c[0]);
    if (n->ops->degree == 2) {
        mpz_submul(r->c[0], a->c[1], b->c[1]);
        mpz_mul(r->c[1], a->c[0], b->c[1]);
        mpz_addmul(r->c[1], a->c[1], b->c[0]);
        mpz_mul(r->c[1], r->c[1], n->radix_inv);
    }
    mpz_mul(r->c[0], r->c[0], n->radix_inv);
}

/* Lane i of b is n->want and below the bound. */
static void expect(numbers *n, const fp_batch *b, unsigned i, const mpz_t bound) {
    get(n, &n->got, b, i);
    for (unsigned k = 0; k < n->ops->degree; k++) {
        if (mpz_cmp(n->got.c[k], bound) >= 0) fail_msg("%s: above its bound", n->ops->name);
        mpz_sub(n->t, n->got.c[k], n->want.c[k]);
        if (!mpz_divisible_p(n->t, n->p)) fail_msg("%s: wrong", n->ops->name);
    }
}

/* near values stand for slopes too: products of one component are below 2.7p instead. */
static void check_products(numbers *n) {
    fp_batch a, b, c, r;
    mpz_t bound;
    mpz_init(bound);
    mpz_mul_ui(bound, n->p, 27);
    mpz_fdiv_q_ui(bound, bound, 10);
    const bool near = n->ops->degree == 2;
    pick_batch(n, &a, n->a, near ? n->near : bound);
    pick_batch(n, &b, n->b, n->wide);
    pick_batch(n, &c, n->c, n->near);
    n->ops->mul(&r, &a, &b);
    for (unsigned i = 0; i < LANES; i++) {
        product(n, &n->want, &n->a[i], &n->b[i]);
        expect(n, &r, i, near ? n->near : bound);
    }
    n->ops->mul_sub(&r, &a, &b, &c);
    for (unsigned i = 0; i < LANES; i++) {
        product(n, &n->want, &n->a[i], &n->b[i]);
        for (unsigned k = 0; k < n->ops->degree; k++)
            mpz_sub(n->want.c[k], n->want.c[k], n->c[i].c[k]);
        expect(n, &r, i, n->near);
    }
    /* b = x - c + 3p */
    pick_batch(n, &b, n->b, n->near);
    n->ops->sub(&b, &b, &c);
    n->ops->sqr_sub2(&r, &a, &b, &c);
    for (unsigned i = 0; i < LANES; i++) {
        product(n, &n->want, &n->a[i], &n->a[i]);
        for (unsigned k = 0; k < n->ops->degree; k++) {
            mpz_sub(n->want.c[k], n->want.c[k], n->b[i].c[k]);
            mpz_sub(n->want.c[k], n->want.c[k], n->c[i].c[k]);
        }
        expect(n, &r, i, n->near);
    }
    mpz_clear(bound);
}

static void check_differences(numbers *n) {
    fp_batch a, b, r;
    mpz_t bound;
    mpz_init(bound);
    pick_batch(n, &a, n->a, n->near);
    pick_batch(n, &b, n->b, n->near);
    n->ops->sub(&r, &a, &b);
    mpz_fdiv_q_2exp(bound, n->wide, n->ops->shift);
    for (unsigned i = 0; i < LANES; i++) {
        for (unsigned k = 0; k < n->ops->degree; k++)
            mpz_sub(n->want.c[k], n->a[i].c[k], n->b[i].c[k]);
        expect(n, &r, i, bound);
    }
    n->ops->sub_shift(&r, &a, &b);
    for (unsigned i = 0; i < LANES; i++) {
        for (unsigned k = 0; k < n->ops->degree; k++) {
            mpz_sub(n->want.c[k], n->a[i].c[k], n->b[i].c[k]);
            mpz_mul_2exp(n->want.c[k], n->want.c[k], n->ops->shift);
        }
        expect(n, &r, i, n->wide);
    }
    const unsigned minus = (unsigned)(test_rng() & 0xff);
    n->ops->sub_signed(&r, &a, &b, minus);
    mpz_addmul_ui(bound, n->p, 2);
    for (unsigned i = 0; i < LANES; i++) {
        for (unsigned k = 0; k < n->ops->degree; k++) {
            if (minus >> i & 1) mpz_neg(n->a[i].c[k], n->a[i].c[k]);
            mpz_sub(n->want.c[k], n->a[i].c[k], n->b[i].c[k]);
        }
        expect(n, &r, i, bound);
    }
    mpz_clear(bound);
}

static void check_zero(numbers *n) {
    fp_batch a;
    unsigned want = 0;
    pick_batch(n, &a, n->a, n->six_p);
    for (unsigned i = 0; i < LANES; i++) {
        bool zero = true;
        for (unsigned k = 0; k < n->ops->degree; k++)
            zero &= mpz_divisible_p(n->a[i].c[k], n->p) != 0;
        want |= (unsigned)zero << i;
    }
    assert_int_equal(n->ops->zero_mask(&a), want);
}

/* Words of the files of a coordinate. */
static void to_words(const numbers *n, uint64_t *w, const value *v) {
    memset(w, 0, 12 * sizeof *w);
    for (unsigned k = 0; k < n->ops->degree; k++)
        mpz_export(w + k * n->ops->words, NULL, -1, 8, 0, 0, v->c[k]);
}

static void want(numbers *n, const value *v, bool negative) {
    for (unsigned k = 0; k < n->ops->degree; k++) {
        mpz_set(n->want.c[k], v->c[k]);
        if (negative) mpz_neg(n->want.c[k], v->c[k]);
    }
}

/* Stored coordinate against a value that need not be reduced. */
static void check_stored(numbers *n, const uint8_t *stored, const value *v, bool negative) {
    uint64_t got[12], words[12];
    n->ops->to_mont(got, stored);
    want(n, v, negative);
    for (unsigned k = 0; k < n->ops->degree; k++)
        mpz_mod(n->want.c[k], n->want.c[k], n->p);
    to_words(n, words, &n->want);
    assert_memory_equal(got, words, 8 * n->ops->degree * n->ops->words);
}

static _Alignas(64) uint8_t stored[LANES][256];

static void check_slots(numbers *n) {
    fp_batch x, y;
    const uint8_t *from[LANES];
    uint8_t *to[LANES];
    for (unsigned i = 0; i < LANES; i++)
        from[i] = to[i] = stored[i];
    pick_batch(n, &x, n->a, n->near);
    pick_batch(n, &y, n->b, n->near);
    n->ops->store(to, &x, &y);
    n->ops->load(&x, &y, from);
    for (unsigned i = 0; i < LANES; i++) {
        want(n, &n->a[i], false);
        expect(n, &x, i, n->near);
        want(n, &n->b[i], false);
        expect(n, &y, i, n->near);
        check_stored(n, stored[i], &n->a[i], false);
        check_stored(n, stored[i] + n->ops->stored, &n->b[i], false);
    }
}

/* Near coordinates become canonical in the files' form; lanes from n on are left alone. */
static void check_canonical(numbers *n) {
    static uint8_t files[LANES * 192 + 8];
    const size_t size = 8 * n->ops->degree * n->ops->words, skew = test_rng() % 8;
    const unsigned lanes = 1 + (unsigned)(test_rng() % LANES);
    fp_batch x, y;
    uint64_t got[12], words[12];
    uint8_t *to[LANES];
    unsigned zero = 0;
    memset(files, 0xa5, sizeof files);
    pick_batch(n, &x, n->a, n->near);
    pick_batch(n, &y, n->b, n->near);
    for (unsigned i = 0; i < LANES; i++)
        to[i] = files + skew + 2 * size * i;
    n->ops->store_file(to, lanes, &x, &y);
    for (unsigned i = 0; i < LANES; i++) {
        bool none = true;
        for (unsigned half = 0; half < 2; half++) {
            const value *v = half ? &n->b[i] : &n->a[i];
            for (unsigned k = 0; k < n->ops->degree; k++)
                mpz_mod(n->want.c[k], v->c[k], n->p);
            to_words(n, words, &n->want);
            if (i >= lanes) memset(words, 0xa5, sizeof words);
            memcpy(got, to[i] + half * size, size);
            assert_memory_equal(got, words, size);
        }
        for (unsigned k = 0; k < n->ops->degree; k++)
            none &= mpz_sgn(n->a[i].c[k]) == 0;
        zero |= (unsigned)none << i;
    }
    assert_int_equal(n->ops->all_zero(&x), zero);
}

static void check_files(numbers *n) {
    static uint8_t files[LANES * 192 + 8];
    const size_t size = 8 * n->ops->degree * n->ops->words, skew = test_rng() % 8;
    fp_batch x, y;
    uint64_t w[12];
    const uint8_t *from[LANES];
    pick_batch(n, &x, n->a, n->p);
    pick_batch(n, &y, n->b, n->p);
    for (unsigned i = 0; i < LANES; i++) {
        uint8_t *at = files + skew + 2 * size * i;
        from[i] = at;
        to_words(n, w, &n->a[i]);
        memcpy(at, w, size);
        to_words(n, w, &n->b[i]);
        memcpy(at + size, w, size);
    }
    n->ops->load_file(&x, &y, from);
    for (unsigned i = 0; i < LANES; i++) {
        want(n, &n->a[i], false);
        expect(n, &x, i, n->p);
        want(n, &n->b[i], false);
        expect(n, &y, i, n->p);
        for (unsigned minus = 0; minus < 2; minus++) {
            n->ops->copy(stored[i], from[i], minus);
            check_stored(n, stored[i], &n->a[i], false);
            check_stored(n, stored[i] + n->ops->stored, &n->b[i], minus);
        }
    }
    /* in every lane a 2^shift R / F */
    to_words(n, w, &n->a[0]);
    n->ops->set_inverse(&x, w);
    for (unsigned i = 0; i < LANES; i++) {
        for (unsigned k = 0; k < n->ops->degree; k++) {
            mpz_set_ui(n->want.c[k], 0);
            mpz_setbit(n->want.c[k], 52 * n->ops->limbs + n->ops->shift - 64 * n->ops->words);
            mpz_mul(n->want.c[k], n->want.c[k], n->a[0].c[k]);
        }
        expect(n, &x, i, n->p);
    }
}

static void test_ranges(void **state) {
    numbers n;
    numbers_init(&n, *state);
    for (int round = 0; round < 1000; round++) {
        check_products(&n);
        check_differences(&n);
        check_zero(&n);
        check_slots(&n);
        check_files(&n);
        check_canonical(&n);
    }
    numbers_clear(&n);
}

int main(void) {
    if (!cuzk_cpu_has_avx512_ifma()) {
        printf("skipped: this processor has no AVX-512 IFMA\n");
        return 77;
    }
    test_rng_start();
    const struct CMUnitTest tests[] = {
        {"bn254 fp", test_ranges, NULL, NULL, (void *)(uintptr_t)&fp_ops_bn254},
        {"bls12_381 fp", test_ranges, NULL, NULL, (void *)(uintptr_t)&fp_ops_bls12_381},
        {"bn254 fp2", test_ranges, NULL, NULL, (void *)(uintptr_t)&fp_ops_bn254_2},
        {"bls12_381 fp2", test_ranges, NULL, NULL, (void *)(uintptr_t)&fp_ops_bls12_381_2},
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
