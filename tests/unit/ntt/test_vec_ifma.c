/* Eight lanes of AVX-512 IFMA at the ends of their ranges, against GMP: results congruent and below
 * the bounds that vec_ifma.inl.h states. Exit code 77 (skipped) where the processor has no IFMA. */
#include "support.h"

#include "base/cpu.h"
#include "vec_ifma_ops.h"

#include <gmp.h>

typedef struct numbers {
    const ifma_ops *ops;
    mpz_t p, radix, radix_inv, file_inv; /* 2^260, 2^-260, 2^-256 */
    mpz_t loose, reduced, product;       /* bounds, see vec_ifma.inl.h */
    mpz_t x[8], y[8], w, got, want;
} numbers;

static void set_bound(mpz_t out, const mpz_t p, unsigned k, unsigned excess_log2) {
    mpz_set_ui(out, 0);
    mpz_setbit(out, excess_log2);
    mpz_addmul_ui(out, p, k);
}

static void numbers_init(numbers *n, const ifma_ops *ops) {
    n->ops = ops;
    mpz_inits(n->p, n->radix, n->radix_inv, n->file_inv, n->loose, n->reduced, n->product, n->w,
              n->got, n->want, NULL);
    for (int i = 0; i < 8; i++)
        mpz_inits(n->x[i], n->y[i], NULL);
    mpz_import(n->p, 4, -1, 8, 0, 0, ops->modulus.l);
    mpz_setbit(n->radix, 260);
    mpz_invert(n->radix_inv, n->radix, n->p);
    mpz_setbit(n->file_inv, 256);
    mpz_invert(n->file_inv, n->file_inv, n->p);
    set_bound(n->loose, n->p, 12, 212);
    set_bound(n->reduced, n->p, 6, 245);
    set_bound(n->product, n->p, 6, 0);
}

static void numbers_clear(numbers *n) {
    mpz_clears(n->p, n->radix, n->radix_inv, n->file_inv, n->loose, n->reduced, n->product, n->w,
               n->got, n->want, NULL);
    for (int i = 0; i < 8; i++)
        mpz_clears(n->x[i], n->y[i], NULL);
}

/* Below bound: uniform, near 0, near the bound, next to a multiple of p, or limbs of all ones and
 * zeros. */
static void pick(const numbers *n, mpz_t out, const mpz_t bound) {
    mpz_t small;
    mpz_init(small);
    uint64_t l[5];
    const unsigned how = (unsigned)(test_rng() % 5);
    for (int i = 0; i < 5; i++) {
        l[i] = test_rng() >> 12;
        if (how == 1) l[i] = test_rng() & 1 ? UINT64_MAX >> 12 : 0;
    }
    mpz_import(out, 5, -1, 8, 0, 12, l);
    mpz_set_ui(small, (unsigned long)(test_rng() % 3));
    if (how == 2) mpz_set(out, small);
    if (how == 3) {
        mpz_sub(out, bound, small);
        mpz_sub_ui(out, out, 1);
    }
    if (how == 4) {
        mpz_mul_ui(out, n->p, (unsigned long)(test_rng() % 36));
        mpz_add(out, out, small);
        if (mpz_sgn(out)) mpz_sub_ui(out, out, 1);
    }
    mpz_mod(out, out, bound);
    mpz_clear(small);
}

static void put(ifma_batch *b, unsigned lane, const mpz_t v) {
    uint64_t l[5] = {0};
    mpz_export(l, NULL, -1, 8, 0, 12, v);
    for (int j = 0; j < 5; j++)
        b->l[j][lane] = l[j];
}

static void get(mpz_t out, const ifma_batch *b, unsigned lane) {
    uint64_t l[5];
    for (int j = 0; j < 5; j++) {
        l[j] = b->l[j][lane];
        assert_true(l[j] >> 52 == 0);
    }
    mpz_import(out, 5, -1, 8, 0, 12, l);
}

static void to_u256(cuzk_u256 *out, const mpz_t v) {
    memset(out, 0, sizeof *out);
    mpz_export(out->l, NULL, -1, 8, 0, 0, v);
}

/* got is below the bound and congruent to want. */
static void expect(numbers *n, const mpz_t bound) {
    if (mpz_cmp(n->got, bound) >= 0) fail_msg("result above its bound");
    mpz_sub(n->got, n->got, n->want);
    assert_true(mpz_divisible_p(n->got, n->p));
}

static void pick_batch(numbers *n, ifma_batch *b, mpz_t v[8], const mpz_t bound) {
    for (unsigned i = 0; i < 8; i++) {
        pick(n, v[i], bound);
        put(b, i, v[i]);
    }
}

/* A factor in the files' form; n->w what it stands for. */
static void pick_factor(numbers *n, cuzk_u256 *w) {
    pick(n, n->w, n->p);
    to_u256(w, n->w);
    mpz_mul(n->w, n->w, n->file_inv);
}

static void check_products(numbers *n) {
    ifma_batch a, b;
    cuzk_u256 w, h;
    mpz_t wh;
    mpz_init(wh);
    pick_batch(n, &a, n->x, n->radix);
    pick_factor(n, &w);
    mpz_set(wh, n->w);
    const bool scaled = test_rng() & 1;
    if (scaled) {
        pick_factor(n, &h);
        mpz_mul(wh, wh, n->w);
    }
    n->ops->mul_tw(&a, &w, scaled ? &h : NULL);
    for (unsigned i = 0; i < 8; i++) {
        get(n->got, &a, i);
        mpz_mul(n->want, n->x[i], wh);
        expect(n, n->product);
    }
    pick_batch(n, &a, n->x, n->radix);
    pick_batch(n, &b, n->y, n->p);
    n->ops->mul(&a, &b);
    for (unsigned i = 0; i < 8; i++) {
        get(n->got, &a, i);
        mpz_mul(n->want, n->x[i], n->y[i]);
        mpz_mul(n->want, n->want, n->radix_inv);
        expect(n, n->product);
    }
    const unsigned k = 7 + (unsigned)(test_rng() % 45);
    pick_batch(n, &b, n->y, n->radix);
    n->ops->halve(&b, k);
    mpz_fdiv_q_2exp(wh, n->radix, k);
    mpz_add(wh, wh, n->p);
    for (unsigned i = 0; i < 8; i++) {
        get(n->got, &b, i);
        if (mpz_cmp(n->got, wh) > 0) fail_msg("a quotient above its bound");
        mpz_mul_2exp(n->got, n->got, k);
        mpz_sub(n->got, n->got, n->y[i]);
        assert_true(mpz_divisible_p(n->got, n->p));
    }
    mpz_clear(wh);
}

static void check_butterfly(numbers *n, ifma_butterfly kind) {
    const bool ct = kind < IFMA_GS;
    const bool minus = kind == IFMA_CT_MINUS || kind == IFMA_GS_MINUS ||
                       kind == IFMA_CT_EACH_MINUS || kind == IFMA_GS_EACH_MINUS;
    const bool one = kind == IFMA_CT_ONE || kind == IFMA_GS_ONE;
    const bool each = kind == IFMA_CT_EACH || kind == IFMA_GS_EACH || kind == IFMA_CT_EACH_MINUS ||
                      kind == IFMA_GS_EACH_MINUS;
    ifma_batch x, y, e;
    cuzk_u256 w;
    mpz_t f[8];
    for (int i = 0; i < 8; i++)
        mpz_init(f[i]);
    pick_batch(n, &x, n->x, ct ? n->loose : n->reduced);
    pick_batch(n, &y, n->y, ct ? n->loose : n->reduced);
    pick_batch(n, &e, f, n->p);
    pick_factor(n, &w);
    n->ops->butterfly(kind, &x, &y, &w, &e);
    /* gs doubles an excess over 6p; see the bound there */
    mpz_t after;
    mpz_init(after);
    set_bound(after, n->p, 6, 246);
    for (unsigned i = 0; i < 8; i++) {
        if (each) mpz_mul(f[i], f[i], n->radix_inv);
        if (!each) mpz_set(f[i], n->w);
        if (minus) mpz_neg(f[i], f[i]);
        if (one) mpz_set_ui(f[i], 1);
        if (ct) mpz_mul(n->y[i], n->y[i], f[i]);
        get(n->got, &x, i);
        mpz_add(n->want, n->x[i], n->y[i]);
        expect(n, ct ? n->loose : after);
        get(n->got, &y, i);
        mpz_sub(n->want, n->x[i], n->y[i]);
        if (!ct) mpz_mul(n->want, n->want, f[i]);
        expect(n, ct ? n->loose : n->product);
        mpz_clear(f[i]);
    }
    mpz_clear(after);
}

static void check_memory(numbers *n) {
    ifma_batch a, b;
    cuzk_u256 mem[8];
    mpz_t bound;
    mpz_init(bound);
    pick_batch(n, &a, n->x, n->loose);
    n->ops->store_lin(mem, &a);
    for (unsigned i = 0; i < 8; i++) {
        mpz_import(n->got, 4, -1, 8, 0, 0, mem[i].l);
        mpz_set(n->want, n->x[i]);
        expect(n, n->p);
    }
    n->ops->store_raw(mem, &a);
    n->ops->load_lin(&b, mem);
    set_bound(bound, n->p, 1, 214);
    for (unsigned i = 0; i < 8; i++) {
        get(n->got, &b, i);
        mpz_set(n->want, n->x[i]);
        expect(n, bound);
    }
    for (unsigned i = 0; i < 8; i++) {
        pick(n, n->x[i], n->p);
        to_u256(&mem[i], n->x[i]);
    }
    n->ops->gather(&a, mem);
    for (unsigned i = 0; i < 8; i++) {
        get(n->got, &a, 7 - i);
        mpz_mul_ui(n->want, n->x[i], 16);
        expect(n, n->p);
    }
    mpz_clear(bound);
}

static void test_ranges(void **state) {
    numbers n;
    numbers_init(&n, *state);
    for (int round = 0; round < 1000; round++) {
        check_products(&n);
        for (unsigned kind = 0; kind < IFMA_BUTTERFLIES; kind++)
            check_butterfly(&n, (ifma_butterfly)kind);
        check_memory(&n);
    }
    numbers_clear(&n);
}

static void test_transpose(void **state) {
    const ifma_ops *ops = *state;
    ifma_batch v[8];
    for (unsigned k = 0; k < 8; k++)
        for (unsigned j = 0; j < 5; j++)
            for (unsigned l = 0; l < 8; l++)
                v[k].l[j][l] = 100 * k + 10 * j + l;
    ops->transpose(v);
    for (unsigned k = 0; k < 8; k++)
        for (unsigned j = 0; j < 5; j++)
            for (unsigned l = 0; l < 8; l++)
                assert_int_equal(v[k].l[j][l], 100 * l + 10 * j + k);
}

int main(void) {
    if (!cuzk_cpu_has_avx512_ifma()) {
        printf("skipped: this processor has no AVX-512 IFMA\n");
        return 77;
    }
    test_rng_start();
    const struct CMUnitTest tests[] = {
        {"bn254 ranges", test_ranges, NULL, NULL, (void *)(uintptr_t)&ifma_ops_bn254},
        {"bls12_381 ranges", test_ranges, NULL, NULL, (void *)(uintptr_t)&ifma_ops_bls12_381},
        {"bn254 transpose", test_transpose, NULL, NULL, (void *)(uintptr_t)&ifma_ops_bn254},
        {"bls12_381 transpose", test_transpose, NULL, NULL, (void *)(uintptr_t)&ifma_ops_bls12_381},
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
