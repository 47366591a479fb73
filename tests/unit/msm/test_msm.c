/* cuzk_msm on bases with known logarithms: the sum is then one multiplication of the generator
 * by an inner product in the scalar field. Every pattern runs on all implementations and on 1, 2
 * and 7 threads; blst's own sums are a second oracle. */
#include "support.h"

#include "base/thread.h"
#include "msm/kernel.h"
#include "msm/msm.h"

#include <blst.h>

CUZK__MSM_KERNELS(four);

enum { MOST = 3000, POOLS = 3 };

static cuzk_pool *pools[POOLS];

typedef struct {
    const cuzk_curve *curve;
    cuzk_group group;
    const cuzk_group_ops *ops;
    size_t size;
    uint8_t *bases;  /* MOST points, then room for one byte of misalignment */
    cuzk_u256 *logs; /* Montgomery form */
} fixture;

static fixture fixtures[4];

static void random_scalar(const cuzk_fr_ops *fr, cuzk_u256 *plain) {
    uint8_t wide[64];
    test_rng_bytes(wide, sizeof wide);
    fr->from_wide(plain, wide);
    fr->from_mont(plain, plain);
}

/* a G, (a + d) G, (a + 2d) G, …: partial sums of such points meet often, which is the point. */
static void make_fixture(fixture *f, cuzk_curve_id id, cuzk_group group) {
    f->curve = cuzk_curve_get(id);
    f->group = group;
    f->ops = cuzk_curve_group(f->curve, group);
    f->size = f->ops->point_size;
    f->bases = malloc(MOST * f->size + 1);
    f->logs = malloc(MOST * sizeof *f->logs);
    const cuzk_fr_ops *fr = f->curve->fr;
    cuzk_u256 a, d;
    cuzk_point step;
    random_scalar(fr, &a);
    random_scalar(fr, &d);
    f->ops->mul(f->bases, f->ops->generator, &a);
    f->ops->mul(&step, f->ops->generator, &d);
    fr->to_mont(&f->logs[0], &a);
    fr->to_mont(&d, &d);
    for (size_t i = 1; i < MOST; i++) {
        f->ops->add(f->bases + i * f->size, f->bases + (i - 1) * f->size, &step);
        fr->add(&f->logs[i], &f->logs[i - 1], &d);
    }
}

static int setup(void **state) {
    (void)state;
    static const unsigned threads[POOLS] = {1, 2, 7};
    test_rng_start();
    for (int i = 0; i < POOLS; i++)
        if (cuzk_pool_new(&pools[i], threads[i]) != CUZK_OK) return 1;
    make_fixture(&fixtures[0], CUZK_BN254, CUZK_G1);
    make_fixture(&fixtures[1], CUZK_BN254, CUZK_G2);
    make_fixture(&fixtures[2], CUZK_BLS12_381, CUZK_G1);
    make_fixture(&fixtures[3], CUZK_BLS12_381, CUZK_G2);
    return 0;
}

static int teardown(void **state) {
    (void)state;
    for (int i = 0; i < POOLS; i++)
        cuzk_pool_free(pools[i]);
    for (int i = 0; i < 4; i++) {
        free(fixtures[i].bases);
        free(fixtures[i].logs);
    }
    return 0;
}

/* One input: bases and logs copied from a fixture and then changed, scalars plain. */
typedef struct {
    const fixture *f;
    size_t n;
    uint8_t *bases;
    cuzk_u256 *logs, *scalars;
} input;

static void input_new(input *in, const fixture *f, size_t n) {
    in->f = f;
    in->n = n;
    in->bases = malloc(n * f->size + 1);
    in->logs = malloc(n * sizeof *in->logs + 1);
    in->scalars = malloc(n * sizeof *in->scalars + 1);
    memcpy(in->bases, f->bases, n * f->size);
    memcpy(in->logs, f->logs, n * sizeof *in->logs);
    for (size_t i = 0; i < n; i++)
        random_scalar(f->curve->fr, &in->scalars[i]);
}

static void input_free(input *in) {
    free(in->bases);
    free(in->logs);
    free(in->scalars);
}

static void set_small(cuzk_u256 *k, uint64_t v) {
    memset(k, 0, sizeof *k);
    k->l[0] = v;
}

/* k = r - v */
static void set_negative(const cuzk_fr_ops *fr, cuzk_u256 *k, uint64_t v) {
    uint64_t borrow = cuzk_subb(&k->l[0], fr->modulus.l[0], v, 0);
    for (int i = 1; i < 4; i++)
        borrow = cuzk_subb(&k->l[i], fr->modulus.l[i], 0, borrow);
}

static void set_infinity(input *in, size_t i) {
    memset(in->bases + i * in->f->size, 0, in->f->size);
    memset(&in->logs[i], 0, sizeof in->logs[i]);
}

/* base i becomes base j, or its negative */
static void set_copy(input *in, size_t i, size_t j, bool negative) {
    uint8_t *p = in->bases + i * in->f->size;
    memcpy(p, in->bases + j * in->f->size, in->f->size);
    in->logs[i] = in->logs[j];
    if (!negative) return;
    cuzk_u256 zero = {{0}};
    in->f->ops->neg(p, p);
    in->f->curve->fr->sub(&in->logs[i], &zero, &in->logs[i]);
}

static void expect(const input *in, cuzk_point *out) {
    const cuzk_fr_ops *fr = in->f->curve->fr;
    cuzk_u256 sum = {{0}}, t;
    for (size_t i = 0; i < in->n; i++) {
        fr->to_mont(&t, &in->scalars[i]);
        fr->mul(&t, &t, &in->logs[i]);
        fr->add(&sum, &sum, &t);
    }
    fr->from_mont(&sum, &sum);
    memset(out, 0, sizeof *out);
    in->f->ops->mul(out, in->f->ops->generator, &sum);
}

static cuzk_msm_args args_of(const input *in) {
    return (cuzk_msm_args){
        .curve = in->f->curve->id,
        .group = in->f->group,
        .n = in->n,
        .bases = in->bases,
        .scalars = in->scalars,
    };
}

static void compare(const input *in, const cuzk_point *got, const cuzk_point *want,
                    const char *what, unsigned detail) {
    if (memcmp(got, want, sizeof *got) != 0)
        fail_msg("%s g%d n=%zu %s %u: wrong sum", in->f->curve->name, in->f->group, in->n, what,
                 detail);
}

static void check_with(const input *in, const cuzk_point *want, cuzk_pool *pool, cuzk_cpu_impl impl,
                       unsigned window) {
    cuzk_msm_args args = args_of(in);
    args.impl = impl;
    args.window = window;
    args.pool = pool;
    cuzk_point got;
    assert_int_equal(cuzk_msm(&args, &got), CUZK_OK);
    compare(in, &got, want, impl == CUZK_CPU_PORTABLE ? "portable" : "auto",
            cuzk_pool_threads(pool));
}

#define KERNELS(impl)                                                                              \
    {                                                                                              \
        &cuzk__msm_bn254_g1_##impl, &cuzk__msm_bn254_g2_##impl, &cuzk__msm_bls12_381_g1_##impl,    \
            &cuzk__msm_bls12_381_g2_##impl                                                         \
    }

static void check_kernel(const input *in, const cuzk_point *want, const char *name,
                         const cuzk__msm_kernel *const kernels[4]) {
    cuzk_msm_args args = args_of(in);
    cuzk_point got;
    args.pool = pools[1];
    assert_int_equal(cuzk__msm_run(kernels[in->f - fixtures], &args, &got), CUZK_OK);
    compare(in, &got, want, name, 2);
}

/* The implementations that cuzk_msm may not choose here. */
static void check_kernels(const input *in, const cuzk_point *want) {
    static const cuzk__msm_kernel *const four[4] = KERNELS(four);
    check_kernel(in, want, "four lanes", four);
#if CUZK__MSM_HAVE_ASM
    static const cuzk__msm_kernel *const assembly[4] = KERNELS(asm);
    check_kernel(in, want, "asm", assembly);
#endif
#if CUZK__MSM_HAVE_ADX
    static const cuzk__msm_kernel *const adx[4] = KERNELS(adx);
    if (cuzk_cpu_has_adx()) check_kernel(in, want, "adx", adx);
#endif
#if CUZK__MSM_HAVE_IFMA
    static const cuzk__msm_kernel *const ifma[4] = KERNELS(ifma);
    if (cuzk_cpu_has_avx512_ifma()) check_kernel(in, want, "ifma", ifma);
#endif
}

static void check(const input *in) {
    cuzk_point want;
    expect(in, &want);
    for (int i = 0; i < POOLS; i++)
        check_with(in, &want, pools[i], CUZK_CPU_AUTO, 0);
    if (in->n > 600) return;
    check_with(in, &want, pools[2], CUZK_CPU_PORTABLE, 0);
    check_kernels(in, &want);
}

static void for_each_group(size_t n, void (*change)(input *)) {
    for (int g = 0; g < 4; g++) {
        input in;
        input_new(&in, &fixtures[g], n);
        if (change) change(&in);
        check(&in);
        input_free(&in);
    }
}

static void test_sizes(void **state) {
    (void)state;
    static const size_t sizes[] = {0, 1, 2, 3, 4, 5, 31, 64, 129, 300, 513, 1000, 2047, 3000};
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++)
        for_each_group(sizes[i], NULL);
}

static void all_zero(input *in) {
    memset(in->scalars, 0, in->n * sizeof in->scalars[0]);
}
static void all_one(input *in) {
    for (size_t i = 0; i < in->n; i++)
        set_small(&in->scalars[i], 1);
}
static void all_minus_one(input *in) {
    for (size_t i = 0; i < in->n; i++)
        set_negative(in->f->curve->fr, &in->scalars[i], 1);
}
static void all_equal(input *in) {
    for (size_t i = 1; i < in->n; i++)
        in->scalars[i] = in->scalars[0];
}
static void bits(input *in) {
    for (size_t i = 0; i < in->n; i++)
        set_small(&in->scalars[i], test_rng() & 1);
}
static void half_bits(input *in) {
    for (size_t i = 0; i < in->n; i++)
        if (test_rng() & 1) set_small(&in->scalars[i], test_rng() & 1);
}
static void small(input *in) {
    for (size_t i = 0; i < in->n; i++) {
        uint64_t v = test_rng() >> (test_rng() & 63);
        if (test_rng() & 1)
            set_small(&in->scalars[i], v);
        else
            set_negative(in->f->curve->fr, &in->scalars[i], v ? v : 1);
    }
}
/* around r/2, where signs turn, and around powers of two, where digits carry */
static void borders(input *in) {
    const cuzk_fr_ops *fr = in->f->curve->fr;
    for (size_t i = 0; i < in->n; i++) {
        cuzk_u256 *k = &in->scalars[i];
        if (i % 3 == 0) {
            for (int j = 0; j < 4; j++)
                k->l[j] = fr->modulus.l[j] >> 1 | (j < 3 ? fr->modulus.l[j + 1] << 63 : 0);
            k->l[0] += test_rng() % 5 - 2;
        } else {
            unsigned bit = (unsigned)(test_rng() % (fr->bits - 1));
            memset(k, 0, sizeof *k);
            k->l[bit / 64] = (uint64_t)1 << (bit % 64);
            if (i % 3 == 1) {
                uint64_t borrow = 1;
                for (int j = 0; j < 4; j++)
                    borrow = cuzk_subb(&k->l[j], k->l[j], 0, borrow);
            }
        }
    }
}
static void infinities(input *in) {
    for (size_t i = 0; i < in->n; i++)
        if (test_rng() % 3) set_infinity(in, i);
    bits(in);
}
static void only_infinities(input *in) {
    for (size_t i = 0; i < in->n; i++)
        set_infinity(in, i);
}
static void one_base(input *in) {
    for (size_t i = 1; i < in->n; i++)
        set_copy(in, i, 0, false);
}
static void one_base_all_equal(input *in) {
    one_base(in);
    all_equal(in);
}
static void opposite_pairs(input *in) {
    for (size_t i = 1; i < in->n; i += 2) {
        set_copy(in, i, i - 1, true);
        in->scalars[i] = in->scalars[i - 1];
    }
}
/* few bases, signs and scalars: sums cancel, double and come back all the time */
static void collisions(input *in) {
    for (size_t i = 4; i < in->n; i++) {
        set_copy(in, i, test_rng() % 4, test_rng() & 1);
        if (test_rng() & 1)
            set_small(&in->scalars[i], test_rng() % 3);
        else
            in->scalars[i] = in->scalars[test_rng() % 4];
    }
}

static void test_patterns(void **state) {
    (void)state;
    static void (*const patterns[])(input *) = {
        all_zero,       all_one,   all_minus_one, all_equal,       bits,     half_bits,
        small,          borders,   infinities,    only_infinities, one_base, one_base_all_equal,
        opposite_pairs, collisions};
#ifdef CUZK_TEST_SANITIZED
    static const size_t sizes[] = {3, 65, 500};
#else
    static const size_t sizes[] = {3, 65, 500, 2500};
#endif
    for (size_t i = 0; i < sizeof patterns / sizeof patterns[0]; i++)
        for (size_t j = 0; j < sizeof sizes / sizeof sizes[0]; j++)
            for_each_group(sizes[j], patterns[i]);
}

static void test_windows(void **state) {
    (void)state;
    for (int g = 0; g < 4; g += 2) {
        input in;
        cuzk_point want;
        input_new(&in, &fixtures[g], 700);
        expect(&in, &want);
        for (unsigned c = 3; c <= 16; c++)
            check_with(&in, &want, pools[c % POOLS], CUZK_CPU_AUTO, c);
        input_free(&in);
    }
}

static void test_unaligned(void **state) {
    (void)state;
    for (int g = 0; g < 4; g++) {
        input in;
        cuzk_point want, got;
        input_new(&in, &fixtures[g], 900);
        expect(&in, &want);
        uint8_t *scalars = malloc(900 * 32 + 1);
        memmove(in.bases + 1, in.bases, 900 * in.f->size);
        memcpy(scalars + 1, in.scalars, 900 * 32);
        cuzk_msm_args args = {.curve = in.f->curve->id,
                              .group = in.f->group,
                              .n = in.n,
                              .bases = in.bases + 1,
                              .scalars = scalars + 1};
        assert_int_equal(cuzk_msm(&args, &got), CUZK_OK);
        assert_memory_equal(&got, &want, sizeof got);
        free(scalars);
        input_free(&in);
    }
}

/* The points chosen by bits, alone and beside scalars, from any position in the words. */
static void test_bits(void **state) {
    (void)state;
    static const size_t counts[] = {1, 63, 64, 65, 700, MOST};
    for (int g = 0; g < 4; g++)
        for (size_t c = 0; c < 6; c++)
            for (int beside = 0; beside < 2; beside++) {
                input chosen, in;
                cuzk_point want, more, got;
                uint64_t mask[MOST / 64 + 1];
                input_new(&chosen, &fixtures[g], counts[c]);
                input_new(&in, &fixtures[g], beside ? 300 : 0);
                test_rng_bytes(mask, sizeof mask); /* bits behind the end are set too */
                for (size_t i = 0; i < chosen.n; i++) {
                    set_small(&chosen.scalars[i], mask[i / 64] >> (i % 64) & 1);
                    if (test_rng() % 4 == 0)
                        set_infinity(&chosen, i);
                    else if (i && test_rng() % 4 == 0)
                        set_copy(&chosen, i, i - 1, test_rng() & 1);
                }
                expect(&chosen, &want);
                expect(&in, &more);
                in.f->ops->add(&want, &want, &more);
                for (int t = 0; t < POOLS; t++) {
                    cuzk_msm_args args = args_of(&in);
                    args.n_bits = chosen.n;
                    args.bit_bases = chosen.bases;
                    args.bits = mask;
                    args.pool = pools[t];
                    assert_int_equal(cuzk_msm(&args, &got), CUZK_OK);
                    compare(&chosen, &got, &want, "bits, threads", cuzk_pool_threads(pools[t]));
                }
                input_free(&chosen);
                input_free(&in);
            }
}

/* Scalars of r and above are refused wherever they stand. */
static void test_bad_scalar(void **state) {
    (void)state;
    for (int g = 0; g < 4; g++)
        for (size_t n = 10; n <= 1000; n *= 10) {
            input in;
            cuzk_point got;
            input_new(&in, &fixtures[g], n);
            cuzk_msm_args args = args_of(&in);
            size_t at = test_rng() % n;
            cuzk_u256 good = in.scalars[at];
            in.scalars[at] = in.f->curve->fr->modulus;
            assert_int_equal(cuzk_msm(&args, &got), CUZK_STATUS_BAD_INPUT);
            memset(&in.scalars[at], 0xff, sizeof good);
            assert_int_equal(cuzk_msm(&args, &got), CUZK_STATUS_BAD_INPUT);
            in.scalars[at] = good;
            assert_int_equal(cuzk_msm(&args, &got), CUZK_OK);
            input_free(&in);
        }
}

static void test_blst(void **state) {
    (void)state;
    for (size_t n = 1; n <= MOST; n = n * 5 + 1) {
        input in;
        const byte *scalars[2] = {NULL, NULL};
        limb_t *scratch = malloc(blst_p2s_mult_pippenger_scratch_sizeof(n));
        cuzk_point want;
        blst_p1 s1;
        blst_p2 s2;
        memset(&want, 0, sizeof want);
        input_new(&in, &fixtures[2], n);
        const blst_p1_affine *p1[2] = {(const blst_p1_affine *)(const void *)in.bases, NULL};
        scalars[0] = (const byte *)in.scalars;
        blst_p1s_mult_pippenger(&s1, p1, n, scalars, 255, scratch);
        blst_p1_to_affine((blst_p1_affine *)(void *)&want, &s1);
        check_with(&in, &want, pools[1], CUZK_CPU_AUTO, 0);
        input_free(&in);
        input_new(&in, &fixtures[3], n);
        const blst_p2_affine *p2[2] = {(const blst_p2_affine *)(const void *)in.bases, NULL};
        scalars[0] = (const byte *)in.scalars;
        blst_p2s_mult_pippenger(&s2, p2, n, scalars, 255, scratch);
        blst_p2_to_affine((blst_p2_affine *)(void *)&want, &s2);
        check_with(&in, &want, pools[1], CUZK_CPU_AUTO, 0);
        input_free(&in);
        free(scratch);
    }
}

enum { SHARERS = 12 };

typedef struct {
    cuzk_msm_room *room;
    input in[SHARERS];
    cuzk_point got[SHARERS];
    cuzk_status st[SHARERS];
} sharing;

static void share(void *ctx, size_t i) {
    sharing *s = ctx;
    cuzk_msm_args args = args_of(&s->in[i]);
    args.pool = pools[2];
    args.room = s->room;
    s->st[i] = cuzk_msm(&args, &s->got[i]);
}

/* Sums of all groups and several sizes in one room, at the same time and one after the other: what
 * one leaves there disturbs no other. */
static void test_room(void **state) {
    (void)state;
    sharing s;
    assert_int_equal(cuzk_msm_room_new(&s.room), CUZK_OK);
    for (int round = 0; round < 3; round++) {
        for (size_t i = 0; i < SHARERS; i++)
            input_new(&s.in[i], &fixtures[i % 4], 40 + 250 * ((i + (size_t)round) % SHARERS));
        cuzk_pool_run(round == 1 ? NULL : pools[2], SHARERS, share, &s);
        for (size_t i = 0; i < SHARERS; i++) {
            cuzk_point want;
            expect(&s.in[i], &want);
            assert_int_equal(s.st[i], CUZK_OK);
            compare(&s.in[i], &s.got[i], &want, "in a room", (unsigned)round);
            input_free(&s.in[i]);
        }
    }
    cuzk_msm_room_free(s.room);
}

/* The bound grows with what it depends on and is not absurd: the bases are used in place. */
static void test_scratch(void **state) {
    (void)state;
    cuzk_msm_args args = {.curve = CUZK_BN254, .group = CUZK_G1, .n = 1 << 20, .pool = pools[1]};
    size_t two = cuzk_msm_scratch(&args);
    assert_true(two < (size_t)64 << 20);
    args.pool = pools[2];
    assert_true(cuzk_msm_scratch(&args) > two);
    args.n = 1000;
    assert_true(cuzk_msm_scratch(&args) < two);
}

int main(void) {
    if (!cuzk_cpu_has_avx512_ifma())
        printf("skipped: AVX-512 IFMA, which this processor does not have\n");
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sizes),   cmocka_unit_test(test_patterns),
        cmocka_unit_test(test_windows), cmocka_unit_test(test_unaligned),
        cmocka_unit_test(test_bits),    cmocka_unit_test(test_bad_scalar),
        cmocka_unit_test(test_blst),    cmocka_unit_test(test_scratch),
        cmocka_unit_test(test_room),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
