/* One test for each of the scheduler's rules (docs/engine.md), in a world where a witness takes
 * 300, staging 40 + 40, kernels 100, finishing 20, verifying 10 and assembling 1. */
#include "support.h"

#include "world.h"

static world w;
static int64_t busy[4];                         /* of each device's gate */
static int64_t first_kernel[4], last_kernel[4]; /* its start, its end */

static int64_t steady(world *world_, const cuzk_sched_action *a) {
    static const int64_t ns[] = {300, 80, 100, 20, 10, 1};
    (void)world_;
    return ns[a->stage];
}

static void measure(world *world_, const cuzk_sched_action *a) {
    if (a->type != CUZK_ACT_START || a->stage != CUZK_STAGE_COMPUTE) return;
    if (busy[a->device] == 0) first_kernel[a->device] = world_->now;
    busy[a->device] += 100;
    last_kernel[a->device] = world_->now + 100;
}

static int setup(void **state) {
    (void)state;
    memset(&w, 0, sizeof w);
    memset(busy, 0, sizeof busy);
    w.config = (cuzk_sched_config){.max_jobs = 100,
                                   .max_partitions = 1100,
                                   .max_keys = WORLD_KEYS,
                                   .n_devices = 1,
                                   .witness_workers = 4,
                                   .reserved_witness_workers = 1,
                                   .max_ready = 4,
                                   .slots_per_device = 2,
                                   .reserved_slots = 1,
                                   .results_per_device = 4,
                                   .finishers = 1,
                                   .verifiers = 1,
                                   .slot_until = CUZK_STAGE_COMPUTE,
                                   .witness_until = CUZK_STAGE_VERIFY,
                                   .host_memory = 1000,
                                   .pinned_memory = 1000,
                                   .quarantine_after = 3};
    for (int d = 0; d < 4; d++)
        w.devices[d] = (cuzk_sched_device){100, UINT32_MAX};
    w.duration = steady;
    w.watch = measure;
    return 0;
}

static cuzk_sched_job_spec plain(uint32_t partitions) {
    return (cuzk_sched_job_spec){.key = CUZK_SCHED_NONE,
                                 .deadline = CUZK_SCHED_NEVER,
                                 .n_partitions = partitions,
                                 .witness = {1, 0},
                                 .slot = 1};
}

static world_job *submit(cuzk_sched_job_spec spec) {
    return world_submit(&w, &spec);
}

static void expect_refused(cuzk_sched_job_spec spec, cuzk_sched_reason reason, uint64_t need,
                           uint64_t limit) {
    assert_null(submit(spec));
    assert_int_equal(w.last_refusal.reason, reason);
    if (need == 0) return;
    assert_int_equal(w.last_refusal.need, need);
    assert_int_equal(w.last_refusal.limit, limit);
}

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

/* ---- failures ---- */

static cuzk_sched_stage bad_stage;
static cuzk_sched_fault bad_fault;
static unsigned bad_times;
static uint32_t bad_device, seen_on[8];
static unsigned n_seen;

static cuzk_sched_fault planned_fault(world *world_, const cuzk_sched_action *a) {
    (void)world_;
    if (a->stage != bad_stage || bad_times == 0) return CUZK_FAULT_NONE;
    if (bad_device != CUZK_SCHED_NONE && a->device != bad_device) return CUZK_FAULT_NONE;
    bad_times--;
    return bad_fault;
}

static void note_device(world *world_, const cuzk_sched_action *a) {
    (void)world_;
    if (a->type == CUZK_ACT_START && a->stage == CUZK_STAGE_COMPUTE && n_seen < 8)
        seen_on[n_seen++] = a->device;
}

static void plan_fault(cuzk_sched_stage stage, cuzk_sched_fault fault, unsigned times,
                       uint32_t device) {
    bad_stage = stage;
    bad_fault = fault;
    bad_times = times;
    bad_device = device;
    w.fault = planned_fault;
    w.watch = note_device;
    n_seen = 0;
}

static void a_failure_is_retried_here_then_elsewhere(void **state) {
    (void)state;
    static const cuzk_sched_stage stages[] = {CUZK_STAGE_COMPUTE, CUZK_STAGE_FINISH,
                                              CUZK_STAGE_VERIFY};
    for (size_t i = 0; i < 3; i++) {
        for (unsigned times = 1; times <= 3; times++) {
            setup(NULL);
            w.config.n_devices = 2;
            plan_fault(stages[i],
                       stages[i] == CUZK_STAGE_VERIFY ? CUZK_FAULT_WRONG : CUZK_FAULT_ERROR, times,
                       CUZK_SCHED_NONE);
            world_begin(&w);
            const world_job *j = submit(plain(1));
            world_run(&w);
            assert_int_equal(n_seen, times == 3 ? 3 : times + 1);
            assert_int_equal(seen_on[0], seen_on[1]);
            if (times >= 2) assert_int_not_equal(seen_on[0], seen_on[2]);
            assert_int_equal(j->outcome, times == 3 ? CUZK_OUTCOME_FAILED : CUZK_OUTCOME_DONE);
            if (times == 3) assert_int_equal(j->stage, stages[i]);
            assert_int_equal(j->parts[0].tries[CUZK_STAGE_WITNESS], 1);
            world_end(&w);
        }
    }
}

static void a_lost_witness_is_made_again(void **state) {
    (void)state;
    w.config.witness_until = CUZK_STAGE_STAGE;
    plan_fault(CUZK_STAGE_VERIFY, CUZK_FAULT_WRONG, 1, CUZK_SCHED_NONE);
    world_begin(&w);
    const world_job *j = submit(plain(1));
    world_run(&w);
    assert_int_equal(j->outcome, CUZK_OUTCOME_DONE);
    assert_int_equal(j->parts[0].tries[CUZK_STAGE_WITNESS], 2);
    world_end(&w);
}

static void bad_input_fails_at_once(void **state) {
    (void)state;
    for (cuzk_sched_stage stage = CUZK_STAGE_WITNESS; stage <= CUZK_STAGE_ASSEMBLE; stage++) {
        setup(NULL);
        plan_fault(stage, CUZK_FAULT_INPUT, 1, CUZK_SCHED_NONE);
        world_begin(&w);
        const world_job *j = submit(plain(3)), *next = submit(plain(1));
        world_run(&w);
        assert_int_equal(j->outcome, CUZK_OUTCOME_FAILED);
        assert_int_equal(j->stage, stage);
        assert_int_equal(j->reason, CUZK_REASON_FAULT);
        assert_int_equal(next->outcome, CUZK_OUTCOME_DONE);
        assert_int_equal(w.quarantines, 0);
        world_end(&w);
    }
}

static void host_work_is_tried_twice(void **state) {
    (void)state;
    static const cuzk_sched_stage stages[] = {CUZK_STAGE_WITNESS, CUZK_STAGE_ASSEMBLE};
    for (size_t i = 0; i < 2; i++) {
        for (unsigned times = 1; times <= 2; times++) {
            setup(NULL);
            plan_fault(stages[i], CUZK_FAULT_ERROR, times, CUZK_SCHED_NONE);
            world_begin(&w);
            const world_job *j = submit(plain(1));
            world_run(&w);
            assert_int_equal(j->outcome, times == 2 ? CUZK_OUTCOME_FAILED : CUZK_OUTCOME_DONE);
            world_end(&w);
        }
    }
}

static void a_bad_device_is_set_aside(void **state) {
    (void)state;
    cuzk_sched_device_stats dev;
    w.config.n_devices = 2;
    w.config.quarantine_ns = 100000;
    plan_fault(CUZK_STAGE_COMPUTE, CUZK_FAULT_ERROR, UINT32_MAX, 0);
    world_begin(&w);
    for (int i = 0; i < 10; i++)
        submit(plain(4));
    world_run_until(&w, 50000);
    for (uint32_t i = 0; i < w.n_jobs; i++)
        assert_int_equal(w.jobs[i].outcome, CUZK_OUTCOME_DONE);
    assert_int_equal(w.quarantines, 1);
    cuzk_sched_get_device(w.s, 0, &dev);
    assert_true(dev.quarantined && dev.up && dev.faults == 3);
    world_run(&w); /* its time passes */
    cuzk_sched_get_device(w.s, 0, &dev);
    assert_false(dev.quarantined);
    world_end(&w);
}

static void without_a_device_jobs_fail(void **state) {
    (void)state;
    plan_fault(CUZK_STAGE_COMPUTE, CUZK_FAULT_ERROR, UINT32_MAX, CUZK_SCHED_NONE);
    world_begin(&w);
    for (int i = 0; i < 10; i++)
        submit(plain(4));
    world_run(&w);
    assert_int_equal(w.quarantines, 1);
    assert_int_equal(w.jobs[9].outcome, CUZK_OUTCOME_FAILED);
    assert_int_equal(w.jobs[9].reason, CUZK_REASON_NO_DEVICE);
    expect_refused(plain(1), CUZK_REASON_NO_DEVICE, 0, 0);
    bad_times = 0;
    world_send(&w, &(cuzk_sched_event){.type = CUZK_EV_DEVICE_RESTORE, .device = 0});
    const world_job *j = submit(plain(1));
    world_run(&w);
    assert_int_equal(j->outcome, CUZK_OUTCOME_DONE);
    world_end(&w);
}

static void a_crash_costs_a_retry(void **state) {
    (void)state;
    world_begin(&w);
    world_define_key(&w, 0, (cuzk_sched_key_spec){{1, 0}, 10, false});
    cuzk_sched_job_spec spec = plain(6);
    spec.key = 0;
    const world_job *j = submit(spec);
    world_run_until(&w, 900);
    world_send(&w, &(cuzk_sched_event){.type = CUZK_EV_DEVICE_DOWN, .device = 0});
    assert_int_equal(cuzk_sched_get_key(w.s, 0, 0, NULL), CUZK_KEY_ABSENT);
    world_run_until(&w, 20000);
    assert_false(j->ended); /* waits for its only device */
    world_send(&w, &(cuzk_sched_event){.type = CUZK_EV_DEVICE_UP, .device = 0});
    world_run(&w);
    assert_int_equal(j->outcome, CUZK_OUTCOME_DONE);
    assert_int_equal(w.key_loads, 3); /* host, device, device again */
    world_end(&w);
}

static void kinds_stay_on_their_devices(void **state) {
    (void)state;
    w.config.n_devices = 2;
    w.devices[0].kinds = 1;
    w.devices[1].kinds = 2;
    w.watch = note_device;
    n_seen = 0;
    world_begin(&w);
    cuzk_sched_job_spec spec = plain(4);
    spec.kind = 1;
    submit(spec);
    world_run(&w);
    for (unsigned i = 0; i < n_seen; i++)
        assert_int_equal(seen_on[i], 1);
    assert_int_equal(n_seen, 4);
    spec.kind = 2;
    expect_refused(spec, CUZK_REASON_NO_DEVICE, 0, 0);
    world_end(&w);
}

/* ---- keys ---- */

static void a_key_loads_once_and_the_oldest_goes(void **state) {
    (void)state;
    w.config.host_memory = 100;
    world_begin(&w);
    for (uint32_t k = 0; k < 3; k++)
        world_define_key(&w, k, (cuzk_sched_key_spec){{40, 0}, 0, false});
    cuzk_sched_job_spec spec = plain(5);
    static const uint32_t order[] = {0, 1, 0, 2, 0};
    for (size_t i = 0; i < 5; i++) {
        spec.key = order[i];
        submit(spec);
        submit(spec);
        world_run(&w);
    }
    assert_int_equal(w.key_loads, 3);
    assert_int_equal(w.key_evicts, 1);
    assert_int_equal(cuzk_sched_get_key(w.s, 1, CUZK_SCHED_HOST, NULL), CUZK_KEY_ABSENT);
    assert_int_equal(cuzk_sched_get_key(w.s, 0, CUZK_SCHED_HOST, NULL), CUZK_KEY_READY);
    world_end(&w);
}

static void a_kept_key_stays(void **state) {
    (void)state;
    w.config.host_memory = 100;
    world_begin(&w);
    world_define_key(&w, 0, (cuzk_sched_key_spec){{30, 0}, 20, true});
    world_define_key(&w, 1, (cuzk_sched_key_spec){{60, 0}, 70, false});
    world_define_key(&w, 2, (cuzk_sched_key_spec){{60, 0}, 70, false});
    world_define_key(&w, 3, (cuzk_sched_key_spec){{71, 0}, 0, true}); /* does not fit beside it */
    assert_int_equal(w.key_refusals, 1);
    world_run(&w);
    assert_int_equal(cuzk_sched_get_key(w.s, 0, 0, NULL), CUZK_KEY_READY); /* on the device too */
    for (int i = 0; i < 4; i++) {
        cuzk_sched_job_spec spec = plain(3);
        spec.key = 1 + (uint32_t)i % 2;
        submit(spec);
        world_run(&w);
    }
    assert_int_equal(cuzk_sched_get_key(w.s, 0, CUZK_SCHED_HOST, NULL), CUZK_KEY_READY);
    assert_int_equal(w.key_evicts, 6);
    world_end(&w);
}

static void preload_and_evict(void **state) {
    (void)state;
    const cuzk_sched_event load = {
        .type = CUZK_EV_KEY_PRELOAD, .key = 1, .device = CUZK_SCHED_HOST};
    const cuzk_sched_event evict = {.type = CUZK_EV_KEY_EVICT, .key = 0, .device = CUZK_SCHED_HOST};
    uint32_t users;
    w.config.host_memory = 50;
    world_begin(&w);
    for (uint32_t k = 0; k < 2; k++)
        world_define_key(&w, k, (cuzk_sched_key_spec){{40, 0}, 0, false});
    cuzk_sched_job_spec spec = plain(2);
    spec.key = 0;
    submit(spec);
    world_run_until(&w, 350);
    world_send(&w, &evict);
    assert_int_equal(w.key_refusals, 1); /* in use */
    world_send(&w, &load);
    assert_int_equal(w.key_refusals, 2); /* no room beside it */
    assert_int_equal(cuzk_sched_get_key(w.s, 0, CUZK_SCHED_HOST, &users), CUZK_KEY_READY);
    assert_int_equal(users, 2);
    world_run(&w);
    world_send(&w, &load); /* now the idle one makes room */
    world_run(&w);
    assert_int_equal(cuzk_sched_get_key(w.s, 1, CUZK_SCHED_HOST, NULL), CUZK_KEY_READY);
    assert_int_equal(cuzk_sched_get_key(w.s, 0, CUZK_SCHED_HOST, NULL), CUZK_KEY_ABSENT);
    world_send(&w,
               &(cuzk_sched_event){.type = CUZK_EV_KEY_EVICT, .key = 1, .device = CUZK_SCHED_HOST});
    world_run(&w);
    assert_int_equal(cuzk_sched_get_key(w.s, 1, CUZK_SCHED_HOST, NULL), CUZK_KEY_ABSENT);
    assert_int_equal(w.key_refusals, 2);
    world_end(&w);
}

static void a_key_that_does_not_load_fails_its_jobs(void **state) {
    (void)state;
    world_begin(&w);
    world_define_key(&w, 0, (cuzk_sched_key_spec){{40, 0}, 0, false});
    w.fault_permille = 1000; /* of the loads: the stages' faults are planned */
    plan_fault(CUZK_STAGE_WITNESS, CUZK_FAULT_NONE, 0, CUZK_SCHED_NONE);
    cuzk_sched_job_spec spec = plain(2);
    spec.key = 0;
    const world_job *j = submit(spec), *other = submit(plain(2));
    world_run(&w);
    assert_int_equal(j->outcome, CUZK_OUTCOME_FAILED);
    assert_int_equal(j->stage, CUZK_STAGE_KEY);
    assert_int_equal(other->outcome, CUZK_OUTCOME_DONE);
    assert_int_equal(w.key_loads, 2);
    world_end(&w);
}

static void memory_is_lent_and_taken_back(void **state) {
    (void)state;
    cuzk_sched_device_stats dev;
    w.config.reserved_device = 5;
    world_begin(&w);
    world_define_key(&w, 0, (cuzk_sched_key_spec){{1, 0}, 60, false});
    cuzk_sched_job_spec spec = plain(8);
    spec.key = 0;
    spec.slot = 10;
    const world_job *j = submit(spec);
    world_run_until(&w, 1000); /* the key and a slot or two are in use */
    world_send(&w, &(cuzk_sched_event){.type = CUZK_EV_LEND, .device = 0, .bytes = 96});
    assert_int_equal(w.lend_refusals, 1);
    world_send(&w, &(cuzk_sched_event){.type = CUZK_EV_LEND, .device = 0, .bytes = 90});
    world_send(&w, &(cuzk_sched_event){.type = CUZK_EV_LEND, .device = 0, .bytes = 1});
    assert_int_equal(w.lend_refusals, 2);
    assert_int_equal(w.lent, 0);
    world_run_until(&w, 10000); /* running work has ended, the key is gone */
    assert_int_equal(w.lent, 1);
    cuzk_sched_get_device(w.s, 0, &dev);
    assert_true(dev.lent == 90 && dev.memory_used == 90);
    assert_false(j->ended);
    world_send(&w, &(cuzk_sched_event){.type = CUZK_EV_TAKE_BACK, .device = 0, .bytes = 30});
    cuzk_sched_get_device(w.s, 0, &dev);
    assert_int_equal(dev.lent, 60);
    world_send(&w, &(cuzk_sched_event){.type = CUZK_EV_TAKE_BACK, .device = 0, .bytes = 60});
    world_run(&w);
    assert_int_equal(j->outcome, CUZK_OUTCOME_DONE);
    world_end(&w);
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
        RULE(a_failure_is_retried_here_then_elsewhere),
        RULE(a_lost_witness_is_made_again),
        RULE(bad_input_fails_at_once),
        RULE(host_work_is_tried_twice),
        RULE(a_bad_device_is_set_aside),
        RULE(without_a_device_jobs_fail),
        RULE(a_crash_costs_a_retry),
        RULE(kinds_stay_on_their_devices),
        RULE(a_key_loads_once_and_the_oldest_goes),
        RULE(a_kept_key_stays),
        RULE(preload_and_evict),
        RULE(a_key_that_does_not_load_fails_its_jobs),
        RULE(memory_is_lent_and_taken_back),
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
