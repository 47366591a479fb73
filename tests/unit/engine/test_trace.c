/* The timeline: its ring under many writers, its lines there and back, its sums by hand. */
#include "support.h"

#include "base/thread.h"
#include "engine/trace/trace.h"

#include <math.h>
#include <stdatomic.h>

static cuzk_trace list;
static cuzk_trace_summary sum;

static void read_log(const char *text) {
    list = (cuzk_trace){0};
    assert_int_equal(cuzk_trace_read(&list, text, strlen(text)), CUZK_OK);
}

static void sum_log(const char *text) {
    cuzk_err err = {0};
    read_log(text);
    if (cuzk_trace_sum(&sum, &list, &err) != CUZK_OK) fail_msg("%s", err.msg);
    cuzk_trace_free(&list);
}

static void expect_near(double value, double wanted) {
    if (fabs(value - wanted) > 1e-9) fail_msg("%g, not %g", value, wanted);
}

/* ---- ring ---- */

enum { WRITERS = 4, EACH = 20000 };

static cuzk_trace_item made_by(uint64_t writer, uint64_t n) {
    /* every field follows from two numbers, so that a mixed event shows */
    return (cuzk_trace_item){.ns = (int64_t)(n * 1000 + writer),
                             .took = (int64_t)(n * 7 + writer),
                             .job = n << 8 | writer,
                             .event = (cuzk_trace_event)((n + writer) % CUZK_TRACE_EVENT_COUNT),
                             .partition = (uint32_t)(n ^ writer),
                             .worker = (uint32_t)(n + writer),
                             .device = (uint32_t)writer};
}

static bool same(const cuzk_trace_item *a, const cuzk_trace_item *b) {
    return a->ns == b->ns && a->took == b->took && a->job == b->job && a->event == b->event &&
           a->partition == b->partition && a->worker == b->worker && a->device == b->device;
}

static void expect_whole(const cuzk_trace *t) {
    for (size_t i = 0; i < t->n; i++) {
        const cuzk_trace_item want = made_by(t->items[i].job & 0xff, t->items[i].job >> 8);
        assert_true(same(&t->items[i], &want));
        if (i) assert_true(t->items[i - 1].ns <= t->items[i].ns);
    }
}

static cuzk_trace_ring *ring;
static _Atomic int failures;

static void write_or_read(void *ctx, size_t who) {
    (void)ctx;
    if (who < WRITERS) {
        for (uint64_t n = 0; n < EACH; n++) {
            const cuzk_trace_item item = made_by(who, n);
            cuzk_trace_ring_put(ring, &item);
        }
        return;
    }
    for (int i = 0; i < 50; i++) {
        cuzk_trace t = {0};
        if (cuzk_trace_ring_snapshot(ring, &t, NULL) != CUZK_OK) failures++;
        for (size_t k = 0; k < t.n; k++) {
            const cuzk_trace_item want = made_by(t.items[k].job & 0xff, t.items[k].job >> 8);
            if (!same(&t.items[k], &want)) failures++;
        }
        cuzk_trace_free(&t);
    }
}

static void the_ring_keeps_the_last_whole(void **state) {
    (void)state;
    cuzk_pool *pool;
    cuzk_trace t = {0};
    uint64_t lost;
    assert_int_equal(cuzk_trace_ring_new(&ring, 1000), CUZK_OK);
    for (uint64_t n = 0; n < 500; n++) {
        const cuzk_trace_item item = made_by(1, n);
        cuzk_trace_ring_put(ring, &item);
    }
    assert_int_equal(cuzk_trace_ring_snapshot(ring, &t, &lost), CUZK_OK);
    assert_int_equal(t.n, 500);
    assert_int_equal(lost, 0);
    expect_whole(&t);
    cuzk_trace_free(&t);
    assert_int_equal(cuzk_pool_new(&pool, WRITERS + 1), CUZK_OK);
    cuzk_pool_run(pool, WRITERS + 1, write_or_read, NULL);
    cuzk_pool_free(pool);
    assert_int_equal(failures, 0);
    assert_int_equal(cuzk_trace_ring_snapshot(ring, &t, &lost), CUZK_OK);
    assert_true(t.n <= 1024 && t.n > 1000); /* writers in each other's way drop few */
    assert_int_equal(lost, 500 + WRITERS * EACH - t.n);
    expect_whole(&t);
    cuzk_trace_free(&t);
    cuzk_trace_ring_free(ring);
}

/* ---- lines ---- */

static const char curios_log[] = "2026-02-01T10:00:00Z INFO engine started\n"
                                 "TIMELINE,1000,SYNTH_START,6f0c-a,partition=0\n"
                                 "TIMELINE,1000,SYNTH_START,6f0c-a,partition=1\n"
                                 "CUZK_TIMING: gpu_total_ms=1000\n"
                                 "TIMELINE,5000,GPU_PICKUP,6f0c-a,worker=0,partition=0\r\n"
                                 "TIMELINE,4000,SYNTH_END,6f0c-a,partition=0,synth_ms=3000\n"
                                 "TIMELINE,4000,CHAN_SEND,6f0c-a,partition=0\n"
                                 "TIMELINE,5500,GPU_START,6f0c-a,worker=0,partition=0\n"
                                 "TIMELINE,6500,GPU_END,6f0c-a,worker=0,partition=0,gpu_ms=1000\n"
                                 "TIMELINE,9000,SYNTH_END,6f0c-a,partition=1,synth_ms=8000\n"
                                 "TIMELINE,9000,GPU_QUEUE,6f0c-a,partition=1\n"
                                 "TIMELINE,9250,GPU_PICKUP,6f0c-a,worker=1,partition=1\n"
                                 "TIMELINE,9300,GPU_START,6f0c-a,worker=1,partition=1\n"
                                 "TIMELINE,9000,SYNTH_START,6f0c-b,kind=WinningPost\n"
                                 "TIMELINE,9100,SYNTH_END,6f0c-b,synth_ms=100\n"
                                 "TIMELINE,9100,GPU_QUEUE,6f0c-b,monolithic\n"
                                 "TIMELINE,9900,GPU_PICKUP,6f0c-b,worker=0,partition=0\n"
                                 "TIMELINE,10300,GPU_END,6f0c-a,worker=1,partition=1,gpu_ms=1000\n"
                                 "TIMELINE,10300,GPU_START,6f0c-b,worker=0,partition=0\n"
                                 "TIMELINE,10400,GPU_END,6f0c-b,worker=0,partition=0,gpu_ms=100\n"
                                 "TIMELINE,11000,SYNTH_START,6f0c-c,partition=0\n";

static void a_log_of_curios_engine(void **state) {
    (void)state;
    sum_log(curios_log);
    expect_near(sum.wall, 10);
    assert_int_equal(sum.jobs, 3);
    assert_int_equal(sum.partitions, 3);
    assert_int_equal(sum.unfinished, 1);
    assert_int_equal(sum.n_devices, 1);
    expect_near(sum.witness_mean, (3 + 8 + 0.1) / 3);
    expect_near(sum.kernels_mean, 0.7);
    const cuzk_trace_device *d = &sum.devices[0];
    expect_near(d->span, 4.9);
    expect_near(d->busy, 2.1);
    expect_near(d->efficiency, 21);
    /* between 6.5 and 9.3 partition 1 was made, waited and was staged */
    expect_near(d->gaps[CUZK_TRACE_NO_WORK], 0);
    expect_near(d->gaps[CUZK_TRACE_WITNESS], 2.5);
    expect_near(d->gaps[CUZK_TRACE_QUEUED], 0.25);
    expect_near(d->gaps[CUZK_TRACE_STAGING], 0.05);
    /* the last result waited for partition 1's kernels, and those for its witness */
    expect_near(sum.path_kernels, 1.1);
    expect_near(sum.path_staging, 0.05);
    expect_near(sum.path_queued, 0.25);
    expect_near(sum.path_witness, 8);
    expect_near(sum.path_before, 0);
}

static void lines_come_back_as_they_were(void **state) {
    (void)state;
    cuzk_buf first = CUZK_BUF_INIT, second = CUZK_BUF_INIT;
    test_rng_start();
    cuzk_trace t = {0};
    for (int i = 0; i < 2000; i++) {
        const bool end = i & 1, gpu = test_rng() & 1;
        const cuzk_trace_item item = {
            .ns = (int64_t)(test_rng() % 100000) * 1000000,
            .took = end ? (int64_t)(test_rng() % 5000) * 1000000 : -1,
            .job = (uint64_t)i % 300,
            .event = gpu ? (end ? CUZK_TRACE_GPU_END : CUZK_TRACE_GPU_START)
                         : (end ? CUZK_TRACE_SYNTH_END : CUZK_TRACE_SYNTH_START),
            .partition = (uint32_t)(test_rng() % 16),
            .worker = gpu ? (uint32_t)(test_rng() % 4) : CUZK_TRACE_NONE,
            .device = gpu ? (uint32_t)(test_rng() % CUZK_TRACE_MAX_DEVICES) : CUZK_TRACE_NONE};
        assert_int_equal(cuzk_trace_add(&t, &item), CUZK_OK);
    }
    cuzk_trace_sort(&t);
    cuzk_trace_write(&first, &t);
    cuzk_trace_free(&t);
    read_log(first.data);
    assert_int_equal(list.n, 2000);
    assert_int_equal(list.ignored, 0);
    assert_int_equal(list.n_names, 300);
    /* jobs have other numbers now, so that lines of one time may change places */
    cuzk_trace_write(&second, &list);
    assert_int_equal(first.len, second.len);
    cuzk_trace_free(&list);
    read_log(second.data);
    assert_int_equal(list.n, 2000);
    cuzk_trace_free(&list);
    cuzk_buf_free(&first);
    cuzk_buf_free(&second);
}

static void bad_lines_are_counted_and_left_out(void **state) {
    (void)state;
    static const char *const bad[] = {
        "TIMELINE,",
        "TIMELINE,x,SYNTH_START,j,partition=0",
        "TIMELINE,-1,SYNTH_START,j,partition=0",
        "TIMELINE,1,SYNTH,j,partition=0",
        "TIMELINE,1,SYNTH_START,,partition=0",
        "TIMELINE,1,SYNTH_START,j,partition=",
        "TIMELINE,1,SYNTH_START,j,partition=4294967295",
        "TIMELINE,1,GPU_END,j,worker=0,partition=0,gpu_ms=1x",
        "TIMELINE,1,GPU_END,j,worker=0,partition=0,device=32",
        "TIMELINE,99999999999999999999,SYNTH_START,j,partition=0",
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        read_log(bad[i]);
        if (list.n != 0 || list.ignored > 1) fail_msg("%s", bad[i]);
        if (strlen(bad[i]) > 9) assert_int_equal(list.ignored, 1);
        cuzk_trace_free(&list);
    }
    cuzk_err err = {0};
    read_log("nothing here\n");
    assert_int_equal(cuzk_trace_sum(&sum, &list, &err), CUZK_STATUS_BAD_INPUT);
    cuzk_trace_free(&list);
}

/* ---- pictures ---- */

static void a_picture_of_any_log(void **state) {
    (void)state;
    cuzk_buf svg = CUZK_BUF_INIT;
    read_log(curios_log);
    assert_int_equal(cuzk_trace_svg(&svg, &list), CUZK_OK);
    assert_non_null(strstr(svg.data, "6f0c-b partition 0: kernels 10.300 s to 10.400 s"));
    assert_non_null(strstr(svg.data, ">device 0 slot 1<"));
    assert_non_null(strstr(svg.data, ">witness 1<"));
    cuzk_trace_free(&list);
    cuzk_buf_free(&svg);
    svg = (cuzk_buf)CUZK_BUF_INIT;
    read_log("TIMELINE,5,GPU_START,<j>&,partition=0\nTIMELINE,6,GPU_END,<j>&,partition=0\n");
    assert_int_equal(cuzk_trace_svg(&svg, &list), CUZK_OK);
    assert_non_null(strstr(svg.data, "?j?? partition 0"));
    cuzk_trace_free(&list);
    cuzk_buf_free(&svg);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_ring_keeps_the_last_whole),
        cmocka_unit_test(a_log_of_curios_engine),
        cmocka_unit_test(lines_come_back_as_they_were),
        cmocka_unit_test(bad_lines_are_counted_and_left_out),
        cmocka_unit_test(a_picture_of_any_log),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
