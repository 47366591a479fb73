/* One test for each of the scheduler's rules (docs/engine.md) on failures, devices and keys. */
#include "steady.h"

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

/* Device 0 fails every n-th partition. */
static unsigned every, turn;
static cuzk_sched_fault now_and_then(world *world_, const cuzk_sched_action *a) {
    (void)world_;
    if (a->stage != CUZK_STAGE_COMPUTE || a->device != 0) return CUZK_FAULT_NONE;
    return ++turn % every == 0 ? CUZK_FAULT_ERROR : CUZK_FAULT_NONE;
}

static void a_flaky_device_is_set_aside_a_rare_fault_is_forgiven(void **state) {
    (void)state;
    for (every = 2; every <= 50; every *= 5) {
        setup(NULL);
        turn = 0;
        w.config.n_devices = 2;
        w.fault = now_and_then;
        world_begin(&w);
        for (int i = 0; i < 80; i++)
            submit(plain(4));
        world_run(&w);
        for (uint32_t i = 0; i < w.n_jobs; i++)
            assert_int_equal(w.jobs[i].outcome, CUZK_OUTCOME_DONE);
        assert_int_equal(w.quarantines, every == 2);
        world_end(&w);
    }
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

/* The device with room for the job, or on which its key loads, is not to be had: accepted, the job
 * would wait for ever. */
static void a_job_for_a_device_set_aside_is_refused(void **state) {
    (void)state;
    cuzk_sched_job_spec big = plain(1);
    big.slot = 60;
    for (int64_t ns = 0; ns <= 50000; ns += 50000) {
        setup(NULL);
        w.config.n_devices = 2;
        w.config.quarantine_ns = ns;
        w.devices[1].memory = 50;
        plan_fault(CUZK_STAGE_COMPUTE, CUZK_FAULT_ERROR, UINT32_MAX, 0);
        world_begin(&w);
        for (int i = 0; i < 10; i++)
            submit(plain(4));
        world_run_until(&w, 30000);
        assert_int_equal(w.quarantines, 1);
        bad_times = 0;
        big.slot = 101;
        expect_refused(big, CUZK_REASON_DEVICE, 101, 100);
        big.slot = 60;
        if (ns == 0) {
            expect_refused(big, CUZK_REASON_NO_DEVICE, 0, 0);
            assert_int_equal(w.last_refusal.need, 0);
            assert_non_null(submit(plain(1))); /* fits the other one */
            world_send(&w, &(cuzk_sched_event){.type = CUZK_EV_DEVICE_RESTORE, .device = 0});
        }
        const world_job *j = submit(big);
        assert_non_null(j);
        world_run(&w);
        assert_int_equal(j->outcome, CUZK_OUTCOME_DONE);
        world_end(&w);
    }
}

static void preload_key(uint32_t k) {
    world_send(
        &w, &(cuzk_sched_event){.type = CUZK_EV_KEY_PRELOAD, .key = k, .device = CUZK_SCHED_HOST});
    world_run(&w);
}

static void key_cannot_load_on_the_device(void) {
    setup(NULL);
    w.config.quarantine_after++; /* the device goes down once more than the tests are about */
    plan_fault(CUZK_STAGE_COMPUTE, CUZK_FAULT_NONE, 0, CUZK_SCHED_NONE);
    world_begin(&w);
    world_define_key(&w, 0, (cuzk_sched_key_spec){{1, 0}, 10, false});
    world_send(&w, &(cuzk_sched_event){.type = CUZK_EV_DEVICE_DOWN, .device = 0});
    preload_key(0);
    world_send(&w, &(cuzk_sched_event){.type = CUZK_EV_DEVICE_UP, .device = 0});
    assert_int_equal(cuzk_sched_get_key(w.s, 0, 0, NULL), CUZK_KEY_ABSENT);
    w.fault_permille = 1000; /* of the loads on the device */
    cuzk_sched_job_spec spec = plain(2);
    spec.key = 0;
    const world_job *j = submit(spec);
    world_run(&w);
    assert_int_equal(j->outcome, CUZK_OUTCOME_FAILED);
    assert_int_equal(j->reason, CUZK_REASON_NO_DEVICE);
    expect_refused(spec, CUZK_REASON_NO_DEVICE, 0, 0);
    w.fault_permille = 0;
}

static void a_job_with_the_key_ends_well(void) {
    cuzk_sched_job_spec spec = plain(2);
    spec.key = 0;
    const world_job *j = submit(spec);
    assert_non_null(j);
    world_run(&w);
    assert_int_equal(j->outcome, CUZK_OUTCOME_DONE);
    world_end(&w);
}

static void a_job_whose_key_no_device_loads_is_refused(void **state) {
    (void)state;
    key_cannot_load_on_the_device();
    world_send(&w, &(cuzk_sched_event){.type = CUZK_EV_DEVICE_DOWN, .device = 0});
    world_send(&w, &(cuzk_sched_event){.type = CUZK_EV_DEVICE_UP, .device = 0});
    a_job_with_the_key_ends_well();
}

static void a_key_that_did_not_load_is_tried_again_when_asked(void **state) {
    (void)state;
    static const cuzk_sched_event_type remedies[] = {CUZK_EV_KEY_EVICT, CUZK_EV_KEY_PRELOAD,
                                                     CUZK_EV_DEVICE_RESTORE};
    for (size_t i = 0; i < sizeof remedies / sizeof *remedies; i++) {
        key_cannot_load_on_the_device();
        const bool restore = remedies[i] == CUZK_EV_DEVICE_RESTORE;
        world_send(&w, &(cuzk_sched_event){
                           .type = remedies[i], .key = 0, .device = restore ? 0 : CUZK_SCHED_HOST});
        world_run(&w);
        a_job_with_the_key_ends_well();
    }
}

static void a_key_that_did_not_load_is_tried_again_after_a_minute(void **state) {
    (void)state;
    key_cannot_load_on_the_device();
    cuzk_sched_job_spec spec = plain(2);
    spec.key = 0;
    world_run_until(&w, w.now + INT64_C(50000000000));
    expect_refused(spec, CUZK_REASON_NO_DEVICE, 0, 0);
    world_run_until(&w, w.now + INT64_C(10000000000));
    a_job_with_the_key_ends_well();
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

static void a_checkpoint_does_not_wait_for_a_lost_device(void **state) {
    (void)state;
    world_begin(&w);
    const world_job *j = submit(plain(6));
    world_run_until(&w, 900);
    world_send(&w, &(cuzk_sched_event){.type = CUZK_EV_DEVICE_DOWN, .device = 0});
    world_run_until(&w, 20000); /* all witnesses that may wait are made */
    world_send(&w, &(cuzk_sched_event){.type = CUZK_EV_DRAIN, .checkpoint = true});
    assert_int_equal(w.drained, 1);
    assert_false(j->ended);
    world_send(&w, &(cuzk_sched_event){.type = CUZK_EV_RESUME});
    world_send(&w, &(cuzk_sched_event){.type = CUZK_EV_DEVICE_UP, .device = 0});
    world_run(&w);
    assert_int_equal(j->outcome, CUZK_OUTCOME_DONE);
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

/* Asked for, a key goes to every device that has room, once: what is there stays, and a device that
 * evicts it later does not load it again by itself. */
static void a_preloaded_key_is_on_the_devices_too(void **state) {
    (void)state;
    setup(NULL);
    plan_fault(CUZK_STAGE_COMPUTE, CUZK_FAULT_NONE, 0, CUZK_SCHED_NONE);
    world_begin(&w);
    world_define_key(&w, 0, (cuzk_sched_key_spec){{1, 0}, 60, false});
    world_define_key(&w, 1, (cuzk_sched_key_spec){{1, 0}, 60, false});
    preload_key(0);
    assert_int_equal(cuzk_sched_get_key(w.s, 0, 0, NULL), CUZK_KEY_READY);
    preload_key(1); /* no room beside it */
    assert_int_equal(cuzk_sched_get_key(w.s, 1, CUZK_SCHED_HOST, NULL), CUZK_KEY_READY);
    assert_int_equal(cuzk_sched_get_key(w.s, 1, 0, NULL), CUZK_KEY_ABSENT);
    assert_int_equal(cuzk_sched_get_key(w.s, 0, 0, NULL), CUZK_KEY_READY);
    cuzk_sched_job_spec spec = plain(1);
    spec.key = 1;
    const world_job *j = submit(spec);
    world_run(&w);
    assert_int_equal(j->outcome, CUZK_OUTCOME_DONE);
    assert_int_equal(cuzk_sched_get_key(w.s, 1, 0, NULL), CUZK_KEY_READY);
    assert_int_equal(cuzk_sched_get_key(w.s, 0, 0, NULL), CUZK_KEY_ABSENT);
    preload_key(0);
    assert_int_equal(cuzk_sched_get_key(w.s, 0, 0, NULL), CUZK_KEY_ABSENT);
    world_end(&w);
}

/* Loads on devices that no job waits for do not keep a key: it goes when they have ended, also when
 * the device is lost in the middle; asked for again meanwhile it stays. */
static void a_key_leaves_when_devices_have_loaded_it(void **state) {
    (void)state;
    const cuzk_sched_event preload = {.type = CUZK_EV_KEY_PRELOAD,
                                      .key = 0,
                                      .device = CUZK_SCHED_HOST},
                           evict_it = {
                               .type = CUZK_EV_KEY_EVICT, .key = 0, .device = CUZK_SCHED_HOST};
    enum { LOADED, LOST, ASKED_AGAIN, WAYS };
    for (int way = 0; way < WAYS; way++) {
        setup(NULL);
        plan_fault(CUZK_STAGE_COMPUTE, CUZK_FAULT_NONE, 0, CUZK_SCHED_NONE);
        world_begin(&w);
        world_define_key(&w, 0, (cuzk_sched_key_spec){{1, 0}, 60, false});
        world_send(&w, &preload);
        while (cuzk_sched_get_key(w.s, 0, 0, NULL) != CUZK_KEY_LOADING) {
            assert_true(w.n_pending > 0);
            world_run_until(&w, w.now + 1);
        }
        world_send(&w, &evict_it);
        assert_true(cuzk_sched_key_leaves(w.s, 0));
        assert_int_equal(cuzk_sched_get_key(w.s, 0, CUZK_SCHED_HOST, NULL), CUZK_KEY_READY);
        if (way == LOST)
            world_send(&w, &(cuzk_sched_event){.type = CUZK_EV_DEVICE_DOWN, .device = 0});
        if (way == ASKED_AGAIN) world_send(&w, &preload);
        world_run(&w);
        assert_false(cuzk_sched_key_leaves(w.s, 0));
        const cuzk_sched_key_state want = way == ASKED_AGAIN ? CUZK_KEY_READY : CUZK_KEY_ABSENT;
        assert_int_equal(cuzk_sched_get_key(w.s, 0, CUZK_SCHED_HOST, NULL), want);
        assert_int_equal(cuzk_sched_get_key(w.s, 0, 0, NULL), want);
        world_end(&w);
    }
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

int main(void) {
#define RULE(f) cmocka_unit_test_setup(f, setup)
    const struct CMUnitTest tests[] = {
        RULE(a_failure_is_retried_here_then_elsewhere),
        RULE(a_lost_witness_is_made_again),
        RULE(bad_input_fails_at_once),
        RULE(host_work_is_tried_twice),
        RULE(a_bad_device_is_set_aside),
        RULE(a_flaky_device_is_set_aside_a_rare_fault_is_forgiven),
        RULE(without_a_device_jobs_fail),
        RULE(a_job_for_a_device_set_aside_is_refused),
        RULE(a_job_whose_key_no_device_loads_is_refused),
        RULE(a_key_that_did_not_load_is_tried_again_when_asked),
        RULE(a_key_that_did_not_load_is_tried_again_after_a_minute),
        RULE(a_crash_costs_a_retry),
        RULE(a_checkpoint_does_not_wait_for_a_lost_device),
        RULE(kinds_stay_on_their_devices),
        RULE(a_key_loads_once_and_the_oldest_goes),
        RULE(a_kept_key_stays),
        RULE(preload_and_evict),
        RULE(a_preloaded_key_is_on_the_devices_too),
        RULE(a_key_leaves_when_devices_have_loaded_it),
        RULE(a_key_that_does_not_load_fails_its_jobs),
        RULE(memory_is_lent_and_taken_back),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
