/* One test for each of the scheduler's rules (docs/engine.md) on order, bounds and ends;
 * test_sched_faults.c has those on failures, devices and keys. */
#include "steady.h"

/* ---- order ---- */

static void priority_then_deadline_then_sequence(void **state) {
    (void)state;
    w.config.witness_workers = 1;
    world_begin(&w);
    const world_job *running = submit(plain(1));
    cuzk_sched_job_spec spec = plain(1);
    const world_job *low = submit(spec);
    spec.priority = 2;
    const world_job *high = submit(spec);
    spec.priority = 1;
    spec.deadline = 9000;
    const world_job *later = submit(spec);
    spec.deadline = 8000;
    const world_job *sooner = submit(spec);
    const world_job *twin = submit(spec);
    world_run(&w);
    assert_true(running->end < high->end && high->end < sooner->end && sooner->end < twin->end);
    assert_true(twin->end < later->end && later->end < low->end);
    assert_int_equal(low->position, 1);
    assert_int_equal(sooner->position, 1);
    world_end(&w);
}

static void jobs_end_in_order_of_submission(void **state) {
    (void)state;
    world_begin(&w);
    for (int i = 0; i < 20; i++)
        submit(plain(10));
    world_run(&w);
    for (uint32_t i = 1; i < w.n_jobs; i++)
        assert_true(w.jobs[i - 1].end < w.jobs[i].end);
    world_end(&w);
}

static void an_urgent_job_goes_first_at_every_queue(void **state) {
    (void)state;
    w.config.reserved_witness_workers = w.config.reserved_slots = 0;
    world_begin(&w);
    for (int i = 0; i < 10; i++)
        submit(plain(10));
    world_run_until(&w, 3000);
    cuzk_sched_job_spec spec = plain(1);
    spec.priority = 3;
    const world_job *urgent = submit(spec);
    world_run(&w);
    /* a witness under way, its own, the slots' two, its own stage */
    assert_in_range(urgent->first_compute - urgent->submitted, 300, 300 + 300 + 200 + 80);
    world_end(&w);
}

static void a_reserved_job_starts_within_a_partition(void **state) {
    (void)state;
    w.config.host_memory = 12;
    w.config.reserved = (cuzk_sched_mem){2, 0};
    w.config.reserved_device = 1;
    w.devices[0].memory = 3;
    world_begin(&w);
    for (int i = 0; i < 20; i++)
        submit(plain(10));
    for (int i = 0; i < 8; i++) {
        world_run_until(&w, 3000 + i * 1234);
        cuzk_sched_job_spec spec = plain(1);
        spec.reserved = true;
        spec.priority = 3;
        const world_job *winning = submit(spec);
        assert_non_null(winning);
        world_run_until(&w, w.now + 1000);
        /* its own witness and staging at once, then at most the kernels that run */
        assert_in_range(winning->first_compute - winning->submitted, 380, 380 + 100);
    }
    world_run(&w);
    world_end(&w);
}

/* ---- bounds ---- */

static uint64_t peak_host;
static void watch_host(world *world_, const cuzk_sched_action *a) {
    cuzk_sched_stats stats;
    (void)a;
    cuzk_sched_get_stats(world_->s, &stats);
    if (stats.host_used > peak_host) peak_host = stats.host_used;
}

static void memory_does_not_depend_on_the_queue(void **state) {
    (void)state;
    uint64_t peaks[2];
    for (int i = 0; i < 2; i++) {
        setup(NULL);
        peak_host = 0;
        w.watch = watch_host;
        world_begin(&w);
        for (int n = 0; n < (i ? 90 : 5); n++)
            submit(plain(10));
        world_run(&w);
        peaks[i] = peak_host;
        world_end(&w);
    }
    assert_int_equal(peaks[0], peaks[1]);
}

static void witness_workers_pause_when_enough_is_ready(void **state) {
    (void)state;
    w.config.witness_workers = 8;
    world_begin(&w);
    for (int i = 0; i < 10; i++)
        submit(plain(10));
    bool paused = false;
    for (int64_t t = 0; t < 8000; t += 50) {
        cuzk_sched_stats stats;
        world_run_until(&w, t);
        cuzk_sched_get_stats(w.s, &stats);
        paused |= stats.witness_paused;
        assert_true(stats.ready + stats.running[CUZK_STAGE_WITNESS] <= 4 + 8);
    }
    assert_true(paused);
    world_run(&w);
    world_end(&w);
}

static void what_never_fits_is_refused_with_the_figure(void **state) {
    (void)state;
    w.config.host_memory = 100;
    w.config.pinned_memory = 50;
    w.config.reserved = (cuzk_sched_mem){5, 5};
    w.config.reserved_device = 10;
    world_begin(&w);
    world_define_key(&w, 0, (cuzk_sched_key_spec){{40, 0}, 50, false});
    cuzk_sched_job_spec spec = plain(1);
    spec.witness = (cuzk_sched_mem){60, 20};
    spec.shared.host = 11;
    expect_refused(spec, CUZK_REASON_HOST, 91, 90);
    spec.witness = (cuzk_sched_mem){0, 46};
    expect_refused(spec, CUZK_REASON_PINNED, 46, 45);
    spec.witness = (cuzk_sched_mem){0, 0};
    spec.key = 0;
    spec.slot = 41;
    expect_refused(spec, CUZK_REASON_DEVICE, 91, 90);
    spec.reserved = true; /* may use what is kept for it */
    assert_non_null(submit(spec));
    spec = plain(0);
    expect_refused(spec, CUZK_REASON_INVALID, 0, 0);
    spec = plain(65);
    expect_refused(spec, CUZK_REASON_INVALID, 0, 0);
    spec = plain(2);
    spec.done = 4;
    expect_refused(spec, CUZK_REASON_INVALID, 0, 0);
    spec = plain(1);
    spec.key = 3;
    expect_refused(spec, CUZK_REASON_INVALID, 0, 0);
    spec = plain(1);
    spec.witness.host = UINT64_MAX - 3;
    expect_refused(spec, CUZK_REASON_INVALID, 0, 0);
    world_run(&w);
    spec = plain(1);
    spec.deadline = w.now;
    expect_refused(spec, CUZK_REASON_LATE, 0, 0);
    world_end(&w);
}

static void a_full_queue_is_refused_with_a_hint(void **state) {
    (void)state;
    w.config.max_jobs = 5;
    world_begin(&w);
    for (int i = 0; i < 5; i++)
        assert_non_null(submit(plain(10)));
    expect_refused(plain(10), CUZK_REASON_QUEUE_FULL, 0, 0);
    assert_true(w.last_refusal.retry_after >= 1000000000);
    world_run(&w);
    assert_non_null(submit(plain(10)));
    world_run(&w);
    world_end(&w);
}

/* ---- the device is kept busy ---- */

static double busy_share(uint32_t d) {
    return (double)busy[d] / (double)(last_kernel[d] - first_kernel[d]);
}

static void two_slots_keep_a_device_busy(void **state) {
    (void)state;
    w.config.reserved_slots = 0;
    world_begin(&w);
    for (int i = 0; i < 3; i++)
        submit(plain(10));
    world_run(&w);
    assert_true(busy_share(0) >= 0.97);
    world_end(&w);
}

static void one_worker_that_does_all_in_turn_does_not(void **state) {
    (void)state;
    w.config.reserved_slots = 0;
    w.config.slots_per_device = 1;
    w.config.slot_until = CUZK_STAGE_VERIFY;
    world_begin(&w);
    for (int i = 0; i < 3; i++)
        submit(plain(10));
    world_run(&w);
    assert_true(busy_share(0) <= 0.60);
    world_end(&w);
}

static void two_devices_are_twice_one(void **state) {
    (void)state;
    int64_t took[2];
    for (uint32_t n = 1; n <= 2; n++) {
        setup(NULL);
        w.config.n_devices = n;
        w.config.witness_workers = 8;
        w.config.max_ready = 8;
        world_begin(&w);
        for (int i = 0; i < 6; i++)
            submit(plain(10));
        world_run(&w);
        int64_t first = first_kernel[0], last = last_kernel[0];
        if (n == 2 && first_kernel[1] < first) first = first_kernel[1];
        if (n == 2 && last_kernel[1] > last) last = last_kernel[1];
        took[n - 1] = last - first;
        world_end(&w);
    }
    assert_true((double)took[0] / (double)took[1] >= 1.95);
}

/* ---- ends ---- */

static void cancel_answers_at_once_at_any_stage(void **state) {
    (void)state;
    for (int64_t t = 0; t < 1500; t += 37) {
        setup(NULL);
        world_begin(&w);
        const world_job *j = submit(plain(3)), *next = submit(plain(2));
        world_run_until(&w, t);
        const bool was = j->ended;
        world_cancel(&w, j);
        world_cancel(&w, j);
        assert_true(j->ended);
        if (!was) {
            assert_int_equal(j->outcome, CUZK_OUTCOME_CANCELLED);
            assert_int_equal(j->end, t);
        }
        world_run_until(&w, t + 301);
        assert_true(j->freed); /* whatever ran has ended */
        world_run(&w);
        assert_int_equal(next->outcome, CUZK_OUTCOME_DONE);
        world_end(&w);
    }
}

static void a_deadline_ends_a_job_on_time(void **state) {
    (void)state;
    world_begin(&w);
    cuzk_sched_job_spec spec = plain(10);
    spec.deadline = 777;
    const world_job *late = submit(spec);
    spec.deadline = 10000;
    const world_job *good = submit(spec);
    world_run(&w);
    assert_int_equal(late->outcome, CUZK_OUTCOME_DEADLINE);
    assert_int_equal(late->end, 777);
    assert_int_equal(good->outcome, CUZK_OUTCOME_DONE);
    world_end(&w);
}

static void drain_finishes_and_refuses(void **state) {
    (void)state;
    world_begin(&w);
    submit(plain(5));
    world_run_until(&w, 100);
    world_send(&w, &(cuzk_sched_event){.type = CUZK_EV_DRAIN});
    expect_refused(plain(1), CUZK_REASON_DRAINING, 0, 0);
    world_run(&w);
    assert_int_equal(w.drained, 1);
    assert_int_equal(w.jobs[0].outcome, CUZK_OUTCOME_DONE);
    world_send(&w, &(cuzk_sched_event){.type = CUZK_EV_RESUME});
    assert_non_null(submit(plain(1)));
    world_run(&w);
    world_end(&w);
}

static void a_checkpoint_stops_between_partitions(void **state) {
    (void)state;
    world_begin(&w);
    const world_job *j = submit(plain(10));
    world_run_until(&w, 400);
    world_send(&w, &(cuzk_sched_event){.type = CUZK_EV_DRAIN, .checkpoint = true});
    world_run(&w);
    assert_int_equal(w.drained, 1);
    assert_false(j->ended);
    uint64_t done = 0; /* as the journal would know */
    for (uint32_t i = 0; i < 10; i++)
        done |= (uint64_t)(j->parts[i].where == AT_END) << i;
    assert_int_equal(done, 0xff); /* four begun by 0 and four by 300 */
    world_cancel(&w, j);
    world_end(&w);
    setup(NULL); /* after the restart */
    world_begin(&w);
    cuzk_sched_job_spec spec = plain(10);
    spec.done = done;
    j = submit(spec);
    world_run(&w);
    assert_int_equal(j->outcome, CUZK_OUTCOME_DONE);
    for (uint32_t i = 0; i < 10; i++)
        assert_int_equal(j->parts[i].tries[CUZK_STAGE_WITNESS], i >= 8);
    spec.done = 0x3ff; /* all proved: only the answer is missing */
    j = submit(spec);
    world_run(&w);
    assert_int_equal(j->outcome, CUZK_OUTCOME_DONE);
    world_end(&w);
}

static void stale_reports_change_nothing(void **state) {
    (void)state;
    world_begin(&w);
    const world_job *j = submit(plain(1));
    const cuzk_sched_action *a;
    const cuzk_sched_event stale[] = {
        {.type = CUZK_EV_DONE, .job = j->ref, .partition = 0, .run = 77},
        {.type = CUZK_EV_DONE, .job = j->ref, .partition = 64, .run = 1},
        {.type = CUZK_EV_DONE, .job = j->ref + (UINT64_C(1) << 32), .partition = 0, .run = 1},
        {.type = CUZK_EV_DONE, .job = UINT64_MAX, .partition = 0, .run = 1},
        {.type = CUZK_EV_CANCEL, .job = 12345},
        {.type = CUZK_EV_KEY_LOADED, .key = 9, .device = CUZK_SCHED_HOST},
        {.type = CUZK_EV_KEY_EVICT, .key = 1, .device = CUZK_SCHED_HOST},
        {.type = CUZK_EV_DEVICE_DOWN, .device = 9},
    };
    for (size_t i = 0; i < sizeof stale / sizeof *stale; i++)
        assert_int_equal(cuzk_sched_step(w.s, &stale[i], w.now, &a), 0);
    world_run(&w);
    assert_int_equal(j->outcome, CUZK_OUTCOME_DONE);
    world_end(&w);
}

static void senseless_configurations_are_refused(void **state) {
    (void)state;
    w.config.devices = w.devices;
    assert_true(cuzk_sched_bytes(&w.config) > 0);
#define REFUSED(change)                                                                            \
    do {                                                                                           \
        cuzk_sched_config c = w.config;                                                            \
        change;                                                                                    \
        assert_int_equal(cuzk_sched_bytes(&c), 0);                                                 \
    } while (0)
    REFUSED(c.max_jobs = 0);
    REFUSED(c.n_devices = 0);
    REFUSED(c.n_devices = 33);
    REFUSED(c.witness_workers = 0);
    REFUSED(c.slots_per_device = 0);
    REFUSED(c.results_per_device = 0);
    REFUSED(c.finishers = 0);
    REFUSED(c.verifiers = 0);
    REFUSED(c.slot_until = CUZK_STAGE_STAGE);
    REFUSED(c.witness_until = CUZK_STAGE_WITNESS);
    REFUSED(c.reserved.host = 1001);
    REFUSED(c.reserved_device = 101);
    REFUSED(c.quarantine_ns = -1);
#undef REFUSED
}

/* The same events give the same actions. */
static uint64_t trace;
static void hash_actions(world *world_, const cuzk_sched_action *a) {
    const uint64_t fields[] = {(uint64_t)world_->now,
                               a->type,
                               a->stage,
                               a->job,
                               a->partition,
                               a->run,
                               a->worker,
                               a->device,
                               a->key};
    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++)
        trace = (trace ^ fields[i]) * 0x100000001b3u;
}

static void a_history_replays(void **state) {
    (void)state;
    uint64_t traces[2];
    for (int i = 0; i < 2; i++) {
        setup(NULL);
        w.config.n_devices = 2;
        w.duration = NULL;
        w.watch = hash_actions;
        w.rng = 42;
        w.fault_permille = 50;
        trace = 0;
        world_begin(&w);
        for (int n = 0; n < 30; n++)
            submit(plain(10));
        world_run(&w);
        traces[i] = trace;
        world_end(&w);
    }
    assert_int_equal(traces[0], traces[1]);
    assert_int_not_equal(traces[0], 0);
}

int main(void) {
#define RULE(f) cmocka_unit_test_setup(f, setup)
    const struct CMUnitTest tests[] = {
        RULE(priority_then_deadline_then_sequence),
        RULE(jobs_end_in_order_of_submission),
        RULE(an_urgent_job_goes_first_at_every_queue),
        RULE(a_reserved_job_starts_within_a_partition),
        RULE(memory_does_not_depend_on_the_queue),
        RULE(witness_workers_pause_when_enough_is_ready),
        RULE(what_never_fits_is_refused_with_the_figure),
        RULE(a_full_queue_is_refused_with_a_hint),
        RULE(two_slots_keep_a_device_busy),
        RULE(one_worker_that_does_all_in_turn_does_not),
        RULE(two_devices_are_twice_one),
        RULE(cancel_answers_at_once_at_any_stage),
        RULE(a_deadline_ends_a_job_on_time),
        RULE(drain_finishes_and_refuses),
        RULE(a_checkpoint_stops_between_partitions),
        RULE(stale_reports_change_nothing),
        RULE(senseless_configurations_are_refused),
        RULE(a_history_replays),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
