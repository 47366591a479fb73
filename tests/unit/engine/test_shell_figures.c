/* How busy a device is kept, in real time on mock devices: a witness takes 300 ms, staging 40 and
 * preparing on the host 40, kernels 100, finishing 20, verifying 10; three jobs of ten partitions.
 * Figures come from the timeline. A machine that does other things meanwhile can only make them
 * worse, so the best of a few runs counts. */
#include "shell_world.h"

enum { RUNS = 4, NEEDED_97 = 97, NEEDED_60 = 60 };

typedef struct figures {
    double
        share; /* of the time from the first kernel to the last, that device 0 was busy; percent */
    double span; /* seconds from the first kernel's start on any device to the last one's end */
} figures;

static void measure(figures *out) {
    cuzk_trace t = {0};
    cuzk_trace_summary sum;
    int64_t first = INT64_MAX, last = 0;
    assert_int_equal(cuzk_engine_trace(w.e, &t), CUZK_OK);
    assert_int_equal(cuzk_trace_sum(&sum, &t, &w.err), CUZK_OK);
    assert_int_equal(sum.partitions, 30);
    assert_int_equal(sum.unfinished, 0);
    for (size_t i = 0; i < t.n; i++) {
        if (t.items[i].event == CUZK_TRACE_GPU_START && t.items[i].ns < first)
            first = t.items[i].ns;
        if (t.items[i].event == CUZK_TRACE_GPU_END && t.items[i].ns > last) last = t.items[i].ns;
    }
    out->share = 100 * sum.devices[0].busy / sum.devices[0].span;
    out->span = (double)(last - first) * 1e-9;
    cuzk_trace_free(&t);
}

static figures run(uint32_t devices, uint32_t witness_workers, bool in_turn) {
    figures out;
    world_job j[3];
    void *state = NULL;
    world_setup(&state);
    w.mock_config.times = (cuzk_mock_times){300, 40 + 40, 100, 20, 10, 1};
    w.mock_config.devices = devices;
    w.config.witness_workers = witness_workers;
    if (in_turn) {
        w.config.workers_per_device = 1;
        w.config.slot_until = CUZK_STAGE_VERIFY;
    }
    world_open();
    for (int i = 0; i < 3; i++)
        submit(&j[i], "{\"partitions\": 10}");
    for (int i = 0; i < 3; i++)
        await_done(&j[i]);
    measure(&out);
    world_teardown(&state);
    return out;
}

static void two_workers_keep_a_device_busy(void **state) {
    double best = 0;
    (void)state;
    for (int i = 0; i < RUNS && best < NEEDED_97; i++) {
        const figures f = run(1, 4, false);
        printf("two workers, four witness workers: busy %.1f %%\n", f.share);
        if (f.share > best) best = f.share;
    }
    assert_true(best >= NEEDED_97);
}

static void one_worker_in_turn_does_not(void **state) {
    (void)state;
    const figures f = run(1, 4, true);
    printf("one worker that does everything in turn: busy %.1f %%\n", f.share);
    assert_true(f.share <= NEEDED_60);
}

static void two_devices_are_twice_one(void **state) {
    double best = 0;
    (void)state;
    for (int i = 0; i < RUNS && best < 1.95; i++) {
        const figures one = run(1, 8, false), two = run(2, 8, false);
        printf("eight witness workers: one device %.3f s, two %.3f s: %.3f times\n", one.span,
               two.span, one.span / two.span);
        if (one.span / two.span > best) best = one.span / two.span;
    }
    assert_true(best >= 1.95);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(two_workers_keep_a_device_busy),
        cmocka_unit_test(one_worker_in_turn_does_not),
        cmocka_unit_test(two_devices_are_twice_one),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
