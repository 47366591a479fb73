/* Whole windows that move between threads: every part is done once, threads of unequal speed end
 * together, and windows that are cut by buckets add up. */
#include "support.h"

#include "msm/kernel.h"
#include "msm/share.h"
#include "msm/work.h"

/* ---- threads that are made up ------------------------------------------------------------------
 */

enum { THREADS = 8, PARTS_MOST = 400 };

typedef struct {
    double speed;   /* parts in a second */
    double since;   /* when its portion began */
    uint32_t parts; /* of this portion */
    uint64_t done;  /* of earlier ones */
    bool ended;
} worker;

typedef struct {
    cuzk__shares s;
    cuzk__share share[THREADS];
    worker w[THREADS];
    unsigned times[PARTS_MOST];
} world;

static double end_of(const worker *w) {
    return w->since + w->parts / w->speed;
}

static void tell_all(world *a, double now) {
    for (unsigned t = 0; t < a->s.threads; t++) {
        const worker *w = &a->w[t];
        double part = w->ended ? 0 : (now - w->since) * w->speed;
        if (part > w->parts) part = w->parts;
        cuzk__share_progress(&a->s, t, w->done + (uint64_t)(part * CUZK__PART_DONE));
    }
}

/* What thread t does next, at `now`. */
static void go_on(world *a, unsigned t, double now) {
    worker *w = &a->w[t];
    w->done += (uint64_t)w->parts * CUZK__PART_DONE;
    w->parts = 0;
    w->since = now;
    tell_all(a, now);
    const int64_t ns = (int64_t)(now * 1e9) + 1;
    cuzk__portion p = cuzk__share_own(&a->s, t, ns);
    if (p.first == p.last) p = cuzk__share_other(&a->s, t, ns);
    assert_true(p.first <= p.last && p.last <= PARTS_MOST && p.last - p.first <= a->s.most);
    if (a->s.whole) assert_true(p.first % CUZK__PARTS == 0 && p.last % CUZK__PARTS == 0);
    for (uint32_t i = p.first; i < p.last; i++)
        a->times[i]++;
    w->parts = p.last - p.first;
    w->ended = w->parts == 0;
}

/* windows[t] windows for thread t at first, of which it does speeds[t] parts in a second. When the
 * last thread is done, of the time that they would take together at best. */
static double simulate(unsigned threads, const unsigned *windows, const double *speeds,
                       uint32_t most, bool whole) {
    world a = {.s = {.threads = threads, .most = most, .whole = whole}};
    a.s.of = a.share;
    uint32_t at = 0;
    double all = 0, now = 0;
    for (unsigned t = 0; t < threads; t++) {
        cuzk__share_init(&a.share[t], at, at + windows[t] * CUZK__PARTS);
        at += windows[t] * CUZK__PARTS;
        a.w[t].speed = speeds[t];
        all += speeds[t];
    }
    for (unsigned t = 0; t < threads; t++)
        go_on(&a, t, 0);
    for (;;) {
        unsigned next = threads;
        for (unsigned t = 0; t < threads; t++)
            if (!a.w[t].ended && (next == threads || end_of(&a.w[t]) < end_of(&a.w[next])))
                next = t;
        if (next == threads) break;
        now = end_of(&a.w[next]);
        go_on(&a, next, now);
    }
    for (uint32_t i = 0; i < PARTS_MOST; i++)
        assert_int_equal(a.times[i], i < at);
    return now / (at / all);
}

static void test_unequal(void **state) {
    (void)state;
    static const unsigned even[] = {10, 10, 10, 10}, none[] = {0, 12, 12, 0};
    static const double speeds[][4] = {
        {1, 1, 1, 1}, {1, 0.95, 1, 1}, {1, 0.8, 1, 0.9}, {0.8, 1, 1, 1}, {1, 0.55, 1, 0.7}};
    for (unsigned i = 0; i < 5; i++) {
        /* half of what a window is of a thread's share, and what telling the speeds misses */
        assert_true(simulate(2, even, speeds[i], 24, false) < 1.04);
        assert_true(simulate(4, even, speeds[i], 24, false) < 1.06);
        assert_true(simulate(2, even, speeds[i], 24, true) < 1.10);
        assert_true(simulate(4, none, speeds[i], 24, false) < 1.6);
    }
    /* nobody gives anything away without a reason */
    assert_true(simulate(2, even, speeds[0], 48, false) == 1);
}

static void test_every_part(void **state) {
    (void)state;
    for (int i = 0; i < 3000; i++) {
        const unsigned threads = 1 + (unsigned)(test_rng() % THREADS);
        const uint32_t most = CUZK__PARTS * (1 + (uint32_t)(test_rng() % 12));
        unsigned windows[THREADS];
        double speeds[THREADS];
        for (unsigned t = 0; t < threads; t++) {
            windows[t] = (unsigned)(test_rng() % 12);
            speeds[t] = 0.01 + (double)(test_rng() % 1000);
        }
        (void)simulate(threads, windows, speeds, most, test_rng() & 1);
    }
}

/* ---- sums -------------------------------------------------------------------------------------
 */

enum { POINTS = 150 };

typedef struct {
    const cuzk_curve *curve;
    const cuzk_group_ops *ops;
    uint8_t *bases; /* 1 G, 2 G, ... */
    uint8_t scalars[POINTS][32];
    uint8_t bits[POINTS];
    cuzk_point want;
} input;

static void make_input(input *in, cuzk_curve_id id, cuzk_group group) {
    *in = (input){.curve = cuzk_curve_get(id)};
    in->ops = cuzk_curve_group(in->curve, group);
    in->bases = malloc(POINTS * in->ops->point_size);
    const cuzk_fr_ops *fr = in->curve->fr;
    cuzk_u256 k, log = fr->one, sum = {{0}};
    memcpy(in->bases, in->ops->generator, in->ops->point_size);
    for (size_t i = 0; i < POINTS; i++) {
        uint8_t wide[64], *at = in->bases + i * in->ops->point_size;
        if (i) in->ops->add(at, at - in->ops->point_size, in->ops->generator);
        test_rng_bytes(wide, sizeof wide);
        fr->from_wide(&k, wide); /* of the plain scalar, times one factor for all */
        memcpy(in->scalars[i], &k, 32);
        fr->to_mont(&k, &k);
        fr->mul(&k, &k, &log);
        fr->add(&sum, &sum, &k);
        fr->add(&log, &log, &fr->one);
    }
    fr->from_mont(&sum, &sum);
    in->ops->mul(in->want.b, in->ops->generator, &sum);
}

/* The whole list in parts that begin and end anywhere, all done by thread 0. */
static void share_anyhow(cuzk__shares *s, unsigned windows) {
    uint32_t at = 0;
    const uint32_t end = windows * CUZK__PARTS;
    for (unsigned t = 0; t < s->threads; t++) {
        uint32_t n = (uint32_t)(test_rng() % (2 * end / s->threads));
        if (t + 1 == s->threads || n > end - at) n = end - at;
        cuzk__share_init(&s->of[t], at, at + n);
        at += n;
    }
}

static void check_parts(input *in, const cuzk__msm_kernel *k, unsigned width) {
    const cuzk_u256 *order = &in->curve->fr->modulus;
    static cuzk__scan scan;
    static cuzk__bit_scan no_bits;
    cuzk__share share[THREADS];
    cuzk__msm_acc sums[CUZK__WINDOWS_MAX], acc;
    cuzk_point got = {{0}};
    cuzk__work w = {.kernel = k,
                    .scan = &scan,
                    .bases = in->bases,
                    .scalars = in->scalars[0],
                    .shares = {.of = share, .threads = THREADS}};
    const cuzk__costs costs = {.slot_size = k->slot_size, .group_bytes = k->group_bytes};
    cuzk__digits_init(&w.digits, order, cuzk__digits_bits(order), CUZK__WIDTH_MAX);
    scan.bits = in->bits;
    cuzk__scan_shape(&scan, POINTS);
    assert_int_equal(
        cuzk__scan_run(&scan, &w.digits, in->bases, k->point_size, in->scalars[0], NULL), CUZK_OK);
    cuzk__plan_make(&w.plan, &w.digits, &scan, &no_bits, order, &costs, width, 1);
    w.shares.most = w.plan.group * CUZK__PARTS;
    share_anyhow(&w.shares, w.digits.windows);
    for (unsigned x = 0; x < w.digits.windows; x++)
        k->acc_zero(&sums[x]);
    void *memory = aligned_alloc(64, cuzk__work_bytes(k, &w.plan));
    assert_true(cuzk__work_run(&w, 0, sums, memory) > 0);
    free(memory);
    k->acc_zero(&acc);
    for (unsigned x = w.digits.windows; x-- > 0;) {
        k->acc_dbl(&acc, cuzk__digits_width(&w.digits, x));
        k->acc_add(&acc, &sums[x]);
    }
    k->acc_to_affine(&got, &acc);
    assert_memory_equal(&got, &in->want, in->ops->point_size);
}

static void check_kernels(const cuzk__msm_kernel *const kernels[4]) {
    static const cuzk_curve_id ids[2] = {CUZK_BN254, CUZK_BLS12_381};
    for (int i = 0; i < 4; i++) {
        input in;
        make_input(&in, ids[i / 2], i % 2 ? CUZK_G2 : CUZK_G1);
        for (unsigned width = 9; width <= 12; width++)
            for (int round = 0; round < 3; round++)
                check_parts(&in, kernels[i], width);
        free(in.bases);
    }
}

#define KERNELS(impl)                                                                              \
    (const cuzk__msm_kernel *const[4]) {                                                           \
        &cuzk__msm_bn254_g1_##impl, &cuzk__msm_bn254_g2_##impl, &cuzk__msm_bls12_381_g1_##impl,    \
            &cuzk__msm_bls12_381_g2_##impl                                                         \
    }

static void test_parts(void **state) {
    (void)state;
    check_kernels(KERNELS(portable));
#if CUZK__MSM_HAVE_IFMA
    if (cuzk_cpu_has_avx512_ifma())
        check_kernels(KERNELS(ifma));
    else
        printf("skipped: AVX-512 IFMA, which this processor does not have\n");
#endif
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_unequal),
        cmocka_unit_test(test_every_part),
        cmocka_unit_test(test_parts),
    };
    test_rng_start();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
