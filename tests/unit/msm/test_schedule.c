/* The scheduler with integers for points: a slot is a sum modulo 2^64, infinity is 0. Its adder
 * checks every rule that cuzk__adder states. */
#include "support.h"

#include "msm/schedule.h"

#define BUCKETS 4096u

enum { BASES = 1 << 16 };

static uint64_t bases[BASES], slots[BUCKETS + CUZK__TEMPS];
static uint32_t stamp[BUCKETS + CUZK__TEMPS];
static uint32_t arrays[4][CUZK__QUEUE_MAX];
static cuzk__batch batch;
static size_t additions, batches;

static uint64_t value(const cuzk__points *p, uint32_t src) {
    uint32_t index = (src & ~CUZK__SRC_SLOT) >> 1;
    if (src & CUZK__SRC_SLOT) assert_int_not_equal(p->stamp[index], 0);
    uint64_t v = src & CUZK__SRC_SLOT ? slots[index] : bases[index];
    return src & 1 ? 0 - v : v;
}

static void run(cuzk__points *p, cuzk__batch *b) {
    static uint32_t used[BUCKETS + CUZK__TEMPS], round;
    round++;
    assert_in_range(b->n, 1, CUZK__BATCH_MAX);
    additions += b->n;
    batches++;
    for (uint32_t i = b->n; i-- > 0;) {
        uint32_t dst = b->dst[i];
        assert_true(used[dst] != round); /* all different */
        used[dst] = round;
        assert_int_not_equal(p->stamp[dst], 0);
        slots[dst] += value(p, b->src[i]);
        if (slots[dst] == 0) p->stamp[dst] = 0;
    }
}

static void copy(cuzk__points *p, uint32_t slot, uint32_t src) {
    assert_int_equal(p->stamp[slot], 0);
    slots[slot] = value(p, src);
}

static const cuzk__adder adder = {.run = run, .copy = copy};

static void start(cuzk__sched *s, uint32_t buckets, uint32_t limit) {
    memset(s, 0, sizeof *s);
    memset(slots, 0xee, sizeof slots);
    memset(stamp, 0xee, sizeof stamp);
    s->pts.stamp = stamp;
    s->adder = &adder;
    s->batch = &batch;
    s->queue_dst = arrays[0];
    s->queue_src = arrays[1];
    s->sort_dst = arrays[2];
    s->sort_src = arrays[3];
    cuzk__sched_start(s, buckets, limit);
    additions = batches = 0;
}

static uint64_t slot_value(uint32_t i) {
    return stamp[i] ? slots[i] : 0;
}

/* kind 0: uniform; 1: one bucket; 2: few buckets; 3: mostly one; 4: runs of a bucket */
static uint32_t pick(int kind, uint32_t buckets, size_t i) {
    switch (kind) {
    case 1:
        return 3 % buckets;
    case 2:
        return (uint32_t)(test_rng() % 5) % buckets;
    case 3:
        return test_rng() % 10 ? 1 % buckets : (uint32_t)(test_rng() % buckets);
    case 4:
        return (uint32_t)(i / 700) % buckets;
    default:
        return (uint32_t)(test_rng() % buckets);
    }
}

static void check_sums(int kind, int values, uint32_t buckets, uint32_t limit, size_t n) {
    static uint64_t want[BUCKETS];
    cuzk__sched s;
    memset(want, 0, sizeof want);
    start(&s, buckets, limit);
    for (size_t i = 0; i < n; i++) {
        /* few different values: equal and opposite points, and sums that are infinity */
        bases[i] = values ? test_rng() % 3 + 1 : test_rng() | 1;
        uint32_t neg = test_rng() & 1, b = pick(kind, buckets, i);
        want[b] += neg ? 0 - bases[i] : bases[i];
        cuzk__sched_put(&s, b, (uint32_t)i << 1 | neg);
    }
    cuzk__sched_finish(&s);
    for (uint32_t b = 0; b < buckets; b++)
        assert_int_equal(slot_value(b), want[b]);
    assert_true(additions <= n);
    /* the reduction's batches are as good as full, whatever the distribution */
    if (kind == 1 && n > 20000) assert_true(batches < 4 * n / limit + 64);
}

static void test_sums(void **state) {
    (void)state;
    static const uint32_t buckets[] = {1, 2, 37, 1024, BUCKETS};
    static const uint32_t limits[] = {64, 256, CUZK__BATCH_MAX};
    static const size_t sizes[] = {0, 1, 2, 1000, 30000};
    for (int kind = 0; kind < 5; kind++)
        for (int values = 0; values < 2; values++)
            for (size_t b = 0; b < 5; b++)
                for (size_t l = 0; l < 3; l++)
                    for (size_t n = 0; n < 5; n++)
                        check_sums(kind, values, buckets[b], limits[l], sizes[n]);
}

/* Buckets filled directly: `fill` in 100 are not empty, with values from a small set if asked. */
static void fill(cuzk__sched *s, uint32_t buckets, unsigned percent, bool small) {
    start(s, buckets, CUZK__BATCH_MAX);
    for (uint32_t b = 0; b < buckets; b++) {
        if (test_rng() % 100 >= percent) continue;
        stamp[b] = 1;
        slots[b] = small ? (test_rng() & 1 ? 1 : (uint64_t)-1) : test_rng() | 1;
    }
}

static void test_rows(void **state) {
    (void)state;
    static const unsigned percents[] = {0, 2, 50, 100};
    for (unsigned log_len = 0; log_len < 8; log_len++)
        for (uint32_t rows = 1; rows <= BUCKETS >> log_len && rows <= CUZK__BATCH_MAX / 2;
             rows *= 3)
            for (int p = 0; p < 4; p++)
                for (int small = 0; small < 2; small++) {
                    cuzk__sched s;
                    fill(&s, rows << log_len, percents[p], small);
                    cuzk__sched_reduce_rows(&s, rows, log_len);
                    for (uint32_t r = 0; r < rows; r++) {
                        uint64_t run_sum = 0, weighted = 0;
                        for (uint32_t i = 0; i < 1u << log_len; i++) {
                            run_sum += slot_value((r << log_len) + i);
                            weighted += (i + 1) * slot_value((r << log_len) + i);
                        }
                        assert_int_equal(slot_value(s.buckets + r), run_sum);
                        assert_int_equal(slot_value(s.buckets + rows + r), weighted);
                    }
                }
}

static void check_fold(uint32_t rows, unsigned log_len, unsigned log_fold, unsigned percent,
                       bool small) {
    cuzk__sched s;
    const uint32_t m = rows >> log_fold;
    fill(&s, rows << log_len, percent, small);
    cuzk__sched_reduce_rows(&s, rows, log_len);
    cuzk__sched_fold_rows(&s, rows, log_fold);
    for (uint32_t j = 0; j < m; j++) {
        uint64_t all = 0, places = 0, weighted = 0;
        for (uint32_t i = 0; i < 1u << log_fold; i++) {
            const uint32_t row = (j << log_fold) + i;
            all += slot_value(s.buckets + row);
            places += i * slot_value(s.buckets + row);
            weighted += slot_value(s.buckets + rows + row);
        }
        assert_int_equal(slot_value(s.buckets + 2 * rows + j), all);
        assert_int_equal(slot_value(s.buckets + 2 * rows + m + j), places);
        assert_int_equal(slot_value(s.buckets + 2 * rows + 2 * m + j), weighted);
    }
}

static void test_fold(void **state) {
    (void)state;
    static const unsigned percents[] = {0, 2, 50, 100};
    for (unsigned log_len = 0; log_len < 4; log_len++)
        for (unsigned log_fold = 1; log_fold < 4; log_fold++)
            for (uint32_t rows = 1u << log_fold; rows <= CUZK__BATCH_MAX / 2; rows *= 4)
                for (int p = 0; p < 4; p++)
                    for (int small = 0; small < 2; small++)
                        check_fold(rows, log_len, log_fold, percents[p], small);
}

static void test_halve(void **state) {
    (void)state;
    for (uint32_t n = 1; n <= BUCKETS; n *= 2)
        for (int small = 0; small < 2; small++) {
            cuzk__sched s;
            uint64_t want = 0, got = 0;
            fill(&s, n, 60, small);
            for (uint32_t i = 0; i < n; i++)
                want += slot_value(i);
            uint32_t left = cuzk__sched_halve(&s, n, 8);
            assert_true(left <= 8);
            for (uint32_t i = 0; i < left; i++)
                got += slot_value(i);
            assert_int_equal(got, want);
        }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sums),
        cmocka_unit_test(test_rows),
        cmocka_unit_test(test_fold),
        cmocka_unit_test(test_halve),
    };
    test_rng_start();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
