/* Digits add up to the scalar for every width, and the plan hands out every point exactly once. */
#include "support.h"

#include "curve/curve.h"
#include "msm/plan.h"

static const cuzk_curve_id ids[] = {CUZK_BN254, CUZK_BLS12_381};

/* sum of digit x * 2^(at x), as 320 bits two's complement */
static void recompose(const cuzk__digits *d, const cuzk__recoded *k, uint64_t out[5]) {
    memset(out, 0, 5 * sizeof *out);
    for (unsigned x = 0; x < d->windows; x++) {
        int32_t digit = cuzk__digit(d, k, x);
        int32_t most = (int32_t)1 << (cuzk__digits_width(d, x) - 1);
        assert_true(digit >= -most && digit <= most);
        unsigned at = cuzk__digits_at(d, x);
        uint64_t part[6] = {0};
        __int128 shifted = (__int128)digit * ((__int128)1 << (at % 64));
        for (unsigned i = at / 64; i < 5; i++) {
            unsigned j = i - at / 64;
            part[i] = j == 0 ? (uint64_t)shifted : (uint64_t)(shifted >> (j == 1 ? 64 : 127));
        }
        uint64_t carry = 0;
        for (int i = 0; i < 5; i++)
            carry = cuzk_addc(&out[i], out[i], part[i], carry);
    }
}

static void check_scalar(const cuzk_fr_ops *fr, const cuzk_u256 *k, unsigned bits, unsigned c) {
    cuzk__digits d;
    cuzk__recoded rec;
    uint64_t sum[5], want[5] = {k->l[0], k->l[1], k->l[2], k->l[3], 0};
    cuzk__digits_init(&d, &fr->modulus, bits, c);
    assert_true(d.c <= c || d.c == CUZK__WIDTH_MIN);
    if (cuzk__recode(&rec, &d, k)) { /* the sum is r - k */
        uint64_t borrow = 0;
        for (int i = 0; i < 4; i++)
            borrow = cuzk_subb(&want[i], fr->modulus.l[i], k->l[i], borrow);
    }
    recompose(&d, &rec, sum);
    assert_memory_equal(sum, want, sizeof want);
    unsigned length = cuzk__scalar_bits(&d, k);
    unsigned top = 256;
    while (top && !(want[(top - 1) / 64] >> ((top - 1) % 64) & 1))
        top--;
    assert_int_equal(length, top);
    for (unsigned x = 0; x < d.windows; x++) {
        assert_true((length >= cuzk__digits_reach(&d, x)) == cuzk__digits_touches(&d, length, x));
        if (!cuzk__digits_touches(&d, length, x)) assert_int_equal(cuzk__digit(&d, &rec, x), 0);
    }
}

static void test_recompose(void **state) {
    (void)state;
    for (int id = 0; id < 2; id++) {
        const cuzk_fr_ops *fr = cuzk_curve_get(ids[id])->fr;
        const unsigned all = cuzk__digits_bits(&fr->modulus);
        for (unsigned c = CUZK__WIDTH_MIN; c <= CUZK__WIDTH_MAX; c++)
            for (unsigned bits = 1; bits <= all; bits++)
                for (int edge = 0; edge < 4; edge++) {
                    /* 2^bits - 1, 2^(bits-1), a random one, and the first with its sign turned */
                    cuzk_u256 k = {{0}};
                    for (unsigned i = 0; i < bits; i++) {
                        bool set = edge == 1 ? i + 1 == bits : edge == 2 ? test_rng() & 1 : true;
                        if (set) k.l[i / 64] |= (uint64_t)1 << (i % 64);
                    }
                    if (bits == all) { /* r / 2 is the largest */
                        for (int i = 0; i < 4; i++)
                            k.l[i] =
                                fr->modulus.l[i] >> 1 | (i < 3 ? fr->modulus.l[i + 1] << 63 : 0);
                        k.l[0] -= (uint64_t)edge / 2;
                    }
                    if (edge == 3) {
                        uint64_t borrow = 0;
                        for (int i = 0; i < 4; i++)
                            borrow = cuzk_subb(&k.l[i], fr->modulus.l[i], k.l[i], borrow);
                    }
                    check_scalar(fr, &k, bits, c);
                }
    }
}

/* Points of random bit lengths, drawn so that windows and blocks differ. */
static void make_scan(cuzk__scan *s, size_t n, int kind) {
    cuzk__scan_shape(s, n);
    memset(s->block, 0, sizeof s->block);
    memset(&s->all, 0, sizeof s->all);
    s->bits = malloc(n + 1);
    for (size_t i = 0; i < n; i++) {
        unsigned bits = kind == 0   ? 253
                        : kind == 1 ? (unsigned)(test_rng() & 1)
                        : kind == 2 ? (i < n / 3 ? 250 : (unsigned)(test_rng() % 2))
                        : kind == 3 ? (unsigned)(test_rng() % 254)
                                    : 0;
        s->bits[i] = (uint8_t)bits;
        s->block[i / s->step].count[bits]++;
        s->all.count[bits]++;
    }
}

/* Points of [begin, end) that the segment adds; half of them, about, for bits. */
static double additions(const cuzk__scan *s, const cuzk__digits *d, unsigned seg, size_t begin,
                        size_t end) {
    double n = 0;
    if (seg == CUZK__SEG_BITS) return 0.5 * (double)(end - begin);
    for (size_t i = begin; i < end; i++) {
        unsigned bits = s->bits[i];
        if (seg == CUZK__SEG_ONES)
            n += bits == 1;
        else
            n += bits > 1 && cuzk__digits_touches(d, bits, seg - CUZK__SEG_WINDOWS);
    }
    return n;
}

/* What thread t adds, sums of buckets included (1.4 additions each, as in the plan); checks that
 * its stretch lies inside the segments and behind the last. */
static double stretch(const cuzk__plan *p, const cuzk__digits *d, const cuzk__scan *s,
                      const cuzk__bit_scan *b, unsigned t) {
    double mine = 0;
    unsigned first = p->cut[t].seg, last = p->cut[t + 1].seg;
    assert_true(first < last || (first == last && p->cut[t].pos <= p->cut[t + 1].pos));
    for (unsigned seg = first; seg <= last && seg < p->segments; seg++) {
        size_t n = seg == CUZK__SEG_BITS ? b->n : s->n;
        size_t begin = seg == first ? p->cut[t].pos : 0;
        size_t end = seg == last ? p->cut[t + 1].pos : n;
        assert_true(begin <= n && end <= n);
        mine += additions(s, d, seg, begin, end);
        if (begin < end && seg >= CUZK__SEG_WINDOWS)
            mine += 1.4 * (double)cuzk__digits_buckets(d, seg - CUZK__SEG_WINDOWS,
                                                       seg - CUZK__SEG_WINDOWS + 1);
    }
    return mine;
}

static void check_plan(const cuzk__scan *s, const cuzk__bit_scan *b, unsigned threads) {
    const cuzk__costs costs = {.slot_size = 64};
    cuzk__plan p;
    cuzk__digits d;
    double total = 0, slowest = 0;
    cuzk__plan_make(&p, &d, s, b, &cuzk_bn254_fr_ops.modulus, &costs, 0, threads);
    cuzk__plan most = cuzk__plan_bounds(s->n, &costs, 0, threads);
    assert_in_range(p.threads, 1, threads);
    if (s->all.count[253] > 50000 && threads < 8) assert_int_equal(p.threads, threads);
    assert_true(p.group_buckets <= most.group_buckets && p.lane_buckets <= most.lane_buckets);
    /* stretches follow one another, so nothing is left out or done twice */
    assert_true(p.cut[0].seg == 0 && p.cut[0].pos == 0);
    assert_true(p.cut[p.threads].seg == p.segments && p.cut[p.threads].pos == 0);
    for (unsigned t = 0; t < p.threads; t++) {
        double mine = stretch(&p, &d, s, b, t);
        total += mine;
        if (mine > slowest) slowest = mine;
    }
    if (total > 100000) assert_true(slowest < 1.25 * total / p.threads);
}

static void test_plan(void **state) {
    (void)state;
    static const size_t sizes[] = {0, 1, 100, 5000, 60000};
    static const unsigned threads[] = {1, 2, 3, 7, 64};
    for (int kind = 0; kind < 5; kind++)
        for (int n = 0; n < 5; n++)
            for (int t = 0; t < 5; t++)
                for (int bits = 0; bits < 2; bits++) {
                    static uint64_t mask[1000];
                    cuzk__scan s;
                    cuzk__bit_scan b;
                    test_rng_bytes(mask, sizeof mask);
                    make_scan(&s, sizes[n], kind);
                    cuzk__bit_scan_run(&b, mask, bits ? sizeof mask * 8 - 17 : 0);
                    check_plan(&s, &b, threads[t]);
                    free(s.bits);
                }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_recompose),
        cmocka_unit_test(test_plan),
    };
    test_rng_start();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
