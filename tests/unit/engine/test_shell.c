/* The engine's threads on mock providers: one rule of accepting, ordering and ending a test. */
#include "shell_world.h"

static void a_job_becomes_a_proof(void **state) {
    world_job j;
    (void)state;
    world_open();
    submit(&j, "{\"partitions\": 10}");
    const cuzk_engine_job v = await_done(&j);
    assert_int_equal(v.partitions_done, 10);
    assert_string_equal(v.key, "mock-a");
    assert_string_equal(v.client, "test");
    assert_true(v.times.witness >= 10 * 8 && v.times.compute >= 10 * 5);
    assert_int_equal(mock_stats().key_loads, 1);
    assert_int_equal(mock_stats().witness_calls, 10);
}

/* Parts are read back from the journal, when the job begins. */
static void a_payload_of_parts(void **state) {
    static uint8_t big[3 << 20];
    const cuzk_engine_bytes parts[] = {{"{\"partitions\": 3}", 17}, {big, sizeof big}, {"", 0}};
    const cuzk_engine_request r = {
        .payload = {CUZK_ENGINE_SNAP, {"{\"x\": [1, -2.5]}", 16}, parts, 3}};
    cuzk_engine_accepted a;
    cuzk_engine_refusal refusal;
    cuzk_engine_job v;
    cuzk_buf proof = CUZK_BUF_INIT;
    (void)state;
    world_open();
    test_rng_bytes(big, sizeof big);
    if (cuzk_engine_submit(w.e, &r, &a, &refusal, &w.err) != CUZK_OK)
        fail_msg("submit: %s", w.err.msg);
    WAIT_FOR(cuzk_engine_get(w.e, a.job_id, &v, NULL) == CUZK_OK && v.state == CUZK_ENGINE_DONE);
    assert_int_equal(cuzk_engine_result(w.e, a.job_id, false, &proof, &w.err), CUZK_OK);
    assert_true(cuzk_mock_check(&r.payload, 3, proof.data, proof.len));
    cuzk_buf_free(&proof);
}

/* When its first witness was begun. */
static int64_t begun(const cuzk_trace *t, const world_job *j) {
    int64_t first = INT64_MAX;
    for (size_t i = 0; i < t->n; i++) {
        const cuzk_trace_item *it = &t->items[i];
        if (it->event == CUZK_TRACE_SYNTH_START && !strcmp(t->names[it->job], j->id) &&
            it->ns < first)
            first = it->ns;
    }
    assert_true(first < INT64_MAX);
    return first;
}

static void priority_and_deadline_order_jobs(void **state) {
    world_job first, low, late, soon, high;
    cuzk_trace t = {0};
    (void)state;
    w.config.witness_workers = 1;
    w.config.max_ready = 0;
    world_open();
    const char *meta = "{\"partitions\": 2, \"compute_ms\": 20}";
    const int64_t hour = INT64_C(3600) * 1000000000;
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    const int64_t at = (int64_t)now.tv_sec * 1000000000;
    hold(CUZK_STAGE_WITNESS);
    submit(&first, "{\"partitions\": 2}");
    WAIT_FOR(mock_stats().witness_calls == 1);
    submit_with(&low, CUZK_ENGINE_CIRCOM, meta, (world_options){.priority = 1});
    submit_with(&late, CUZK_ENGINE_CIRCOM, meta, (world_options){.deadline_ns = at + 2 * hour});
    submit_with(&soon, CUZK_ENGINE_CIRCOM, meta, (world_options){.deadline_ns = at + hour});
    submit_with(&high, CUZK_ENGINE_CIRCOM, meta, (world_options){.priority = 4});
    assert_int_equal(low.accepted.depth, 2);
    assert_int_equal(high.accepted.position, 0);
    let_go(CUZK_STAGE_WITNESS);
    const world_job *const order[] = {&first, &high, &soon, &late, &low};
    for (int i = 0; i < 5; i++)
        await_done(order[i]);
    assert_int_equal(cuzk_engine_trace(w.e, &t), CUZK_OK);
    for (int i = 1; i < 5; i++)
        assert_true(begun(&t, order[i - 1]) < begun(&t, order[i]));
    cuzk_trace_free(&t);
}

/* Whatever is queued, a reserved one has a worker, a slot and memory of its own. */
static void a_reserved_job_waits_for_nobody(void **state) {
    world_job load[4], win;
    (void)state;
    world_open();
    for (int i = 0; i < 4; i++)
        submit(&load[i], "{\"partitions\": 64, \"witness_ms\": 60, \"compute_ms\": 200}");
    submit_with(&win, CUZK_ENGINE_WINNING, "{\"witness_ms\": 5}", (world_options){NULL, 0, 0});
    const cuzk_engine_job v = await_done(&win);
    assert_int_equal(v.priority, 4);
    for (int i = 0; i < 4; i++)
        assert_false(ended(&load[i]));
    for (int i = 0; i < 4; i++)
        assert_int_equal(cuzk_engine_cancel(w.e, load[i].id, &(bool){false}, &w.err), CUZK_OK);
    for (int i = 0; i < 4; i++)
        assert_int_equal(await(&load[i]).state, CUZK_ENGINE_CANCELLED);
}

/* ---- refusals ---- */

static void expect_refused(const char *meta, cuzk_status status_, cuzk_sched_reason reason,
                           uint64_t need, uint64_t limit) {
    world_job j;
    assert_int_equal(try_submit(&j, CUZK_ENGINE_CIRCOM, meta, (world_options){NULL, 0, 0}),
                     status_);
    assert_int_equal(j.refusal.reason, reason);
    assert_true(w.err.msg[0]);
    if (need == 0) return;
    assert_int_equal(j.refusal.need, need);
    assert_int_equal(j.refusal.limit, limit);
}

static void what_never_fits_is_refused_with_figures(void **state) {
    const uint64_t gib = UINT64_C(1) << 30;
    (void)state;
    world_open();
    /* 20 GiB, the other figures of the mock, and the key's 1 GiB */
    expect_refused("{\"witness\": 21474836480}", CUZK_STATUS_NO_MEMORY, CUZK_REASON_HOST,
                   20 * gib + (1 << 20) + (32 << 20) + gib, 16 * gib);
    expect_refused("{\"pinned\": 10737418240}", CUZK_STATUS_NO_MEMORY, CUZK_REASON_PINNED, 10 * gib,
                   8 * gib);
    expect_refused("{\"slot\": 21474836480}", CUZK_STATUS_NO_MEMORY, CUZK_REASON_DEVICE, 24 * gib,
                   16 * gib);
    cuzk_engine_status *s = status();
    assert_int_equal(s->refused, 3);
    assert_int_equal(s->n_jobs, 0);
    cuzk_free(s);
}

static void bad_input_is_refused(void **state) {
    world_job j;
    (void)state;
    world_open();
    expect_refused("{\"partitions\": 65}", CUZK_STATUS_BAD_INPUT, CUZK_REASON_NONE, 0, 0);
    expect_refused("{\"invalid\": 1}", CUZK_STATUS_BAD_INPUT, CUZK_REASON_NONE, 0, 0);
    expect_refused("{\"key\": \"no-such-key\"}", CUZK_STATUS_NOT_FOUND, CUZK_REASON_NONE, 0, 0);
    assert_non_null(strstr(w.err.msg, "no-such-key"));
    assert_int_equal(try_submit(&j, CUZK_ENGINE_UNSPECIFIED, "{}", (world_options){NULL, 0, 0}),
                     CUZK_STATUS_BAD_INPUT);
    assert_int_equal(try_submit(&j, CUZK_ENGINE_CIRCOM, "{}", (world_options){.deadline_ns = 1}),
                     CUZK_STATUS_FAILED);
    assert_int_equal(j.refusal.reason, CUZK_REASON_LATE);
}

static void a_full_queue_says_when_to_come_again(void **state) {
    world_job a, b;
    (void)state;
    w.config.max_jobs = 2;
    world_open();
    submit(&a, "{\"witness_ms\": 600000}");
    submit(&b, "{\"witness_ms\": 600000}");
    world_job c;
    assert_int_equal(try_submit(&c, CUZK_ENGINE_CIRCOM, "{}", (world_options){NULL, 0, 0}),
                     CUZK_STATUS_BUSY);
    assert_int_equal(c.refusal.reason, CUZK_REASON_QUEUE_FULL);
    assert_int_equal(c.refusal.depth, 2);
    assert_true(c.refusal.retry_after_ns >= 1000000000);
    bool running;
    assert_int_equal(cuzk_engine_cancel(w.e, a.id, &running, &w.err), CUZK_OK);
    await(&a);
    /* Its place is free when the witness under way has noticed. */
    while (try_submit(&c, CUZK_ENGINE_CIRCOM, "{}", (world_options){NULL, 0, 0}) ==
           CUZK_STATUS_BUSY)
        usleep(1000);
    await_done(&c);
}

static void a_request_id_is_one_job(void **state) {
    const world_options o = {.request_id = "the-request"};
    world_job a, b, c;
    (void)state;
    world_open();
    submit_with(&a, CUZK_ENGINE_CIRCOM, "{\"partitions\": 2}", o);
    submit_with(&b, CUZK_ENGINE_CIRCOM, "{\"partitions\": 2}", o);
    assert_string_equal(a.id, b.id);
    assert_false(a.accepted.existed);
    assert_true(b.accepted.existed);
    assert_int_equal(try_submit(&c, CUZK_ENGINE_CIRCOM, "{\"partitions\": 3}", o),
                     CUZK_STATUS_CONFLICT);
    await_done(&a);
    submit_with(&b, CUZK_ENGINE_CIRCOM, "{\"partitions\": 2}", o);
    assert_string_equal(a.id, b.id);
    assert_int_equal(mock_stats().witness_calls, 2);
    cuzk_engine_job v;
    assert_int_equal(cuzk_engine_get(w.e, "the-request", &v, &w.err), CUZK_OK);
    assert_string_equal(v.id, a.id);
}

enum { TWINS = 8 };

static void *submit_twin(void *job) {
    cuzk_err err;
    world_job *j = job;
    const cuzk_engine_request r = {.request_id = "twins", .payload = payload_of(j)};
    if (cuzk_engine_submit(w.e, &r, &j->accepted, &j->refusal, &err) != CUZK_OK) j->id[0] = '!';
    return NULL;
}

static void simultaneous_requests_are_one_job(void **state) {
    static world_job j[TWINS];
    pthread_t threads[TWINS];
    (void)state;
    world_open();
    for (int i = 0; i < TWINS; i++) {
        j[i] = (world_job){.kind = CUZK_ENGINE_CIRCOM, .meta = "{\"partitions\": 3}"};
        assert_int_equal(pthread_create(&threads[i], NULL, submit_twin, &j[i]), 0);
    }
    for (int i = 0; i < TWINS; i++)
        pthread_join(threads[i], NULL);
    for (int i = 0; i < TWINS; i++) {
        assert_int_equal(j[i].id[0], 0);
        assert_string_equal(j[i].accepted.job_id, j[0].accepted.job_id);
    }
    memcpy(j[0].id, j[0].accepted.job_id, sizeof j[0].id);
    await_done(&j[0]);
    cuzk_engine_status *s = status();
    assert_int_equal(s->completed[CUZK_ENGINE_CIRCOM], 1);
    assert_int_equal(s->cancelled[CUZK_ENGINE_CIRCOM], 0);
    cuzk_free(s);
}

/* ---- memory of the queue ---- */

static void queued_jobs_hold_no_payload(void **state) {
    enum { N = 60 };
    static world_job j[N];
    (void)state;
    w.config.witness_workers = 1;
    w.config.reserved_witness_workers = 0;
    world_open();
    for (int i = 0; i < N; i++)
        submit(&j[i], "{\"partitions\": 4, \"witness_ms\": 600000}");
    WAIT_FOR(mock_stats().jobs_open == 1);
    assert_true(mock_stats().jobs_open_peak <= 3);
    for (int i = 0; i < N; i++)
        assert_int_equal(cuzk_engine_cancel(w.e, j[i].id, &(bool){false}, &w.err), CUZK_OK);
    for (int i = 0; i < N; i++)
        await(&j[i]);
    WAIT_FOR(mock_stats().jobs_open == 0);
    cuzk_engine_status *s = status();
    assert_int_equal(s->sched.host_used, UINT64_C(1) << 30); /* the key */
    assert_int_equal(s->cancelled[CUZK_ENGINE_CIRCOM], N);
    cuzk_free(s);
}

/* ---- ends ---- */

static bool in_stage(const world_job *j, uint8_t stage) {
    cuzk_engine_status *s = status();
    bool found = false;
    for (size_t i = 0; i < s->n_jobs; i++)
        if (strcmp(s->jobs[i].job.id, j->id) == 0) found = s->jobs[i].partitions[0].stage == stage;
    cuzk_free(s);
    return found;
}

static void cancel_at_any_stage(void **state) {
    (void)state;
    world_open();
    for (uint8_t stage = CUZK_STAGE_WITNESS; stage <= CUZK_STAGE_ASSEMBLE; stage++) {
        world_job j;
        bool running = false;
        hold(stage);
        submit(&j, "{}");
        if (stage == CUZK_STAGE_ASSEMBLE)
            WAIT_FOR(mock_stats().assemble_calls == 1);
        else
            WAIT_FOR(in_stage(&j, stage));
        assert_int_equal(cuzk_engine_cancel(w.e, j.id, &running, &w.err), CUZK_OK);
        assert_true(running);
        let_go(stage);
        assert_int_equal(await(&j).state, CUZK_ENGINE_CANCELLED);
        assert_int_equal(cuzk_engine_cancel(w.e, j.id, &running, &w.err), CUZK_OK);
        assert_false(running);
        cuzk_buf out = CUZK_BUF_INIT;
        assert_int_equal(cuzk_engine_result(w.e, j.id, false, &out, &w.err), CUZK_STATUS_FAILED);
    }
    WAIT_FOR(mock_stats().jobs_open == 0 && mock_stats().witnesses == 0);
    bool running;
    assert_int_equal(cuzk_engine_cancel(w.e, "j-77-nobody", &running, &w.err),
                     CUZK_STATUS_NOT_FOUND);
}

static void a_deadline_ends_a_job(void **state) {
    world_job j;
    (void)state;
    world_open();
    submit_due_soon(&j, "{\"partitions\": 3, \"witness_ms\": 600000}", 300);
    const cuzk_engine_job v = await(&j);
    assert_int_equal(v.state, CUZK_ENGINE_DEADLINE);
    assert_non_null(strstr(v.message, "deadline"));
    WAIT_FOR(mock_stats().jobs_open == 0);
    cuzk_engine_status *s = status();
    assert_int_equal(s->failed[CUZK_ENGINE_CIRCOM], 1);
    cuzk_free(s);
}

static void unknown_and_unfinished_jobs(void **state) {
    world_job j;
    cuzk_engine_job v;
    cuzk_buf out = CUZK_BUF_INIT;
    (void)state;
    world_open();
    assert_int_equal(cuzk_engine_get(w.e, "j-1-0", &v, &w.err), CUZK_STATUS_NOT_FOUND);
    assert_int_equal(cuzk_engine_get(w.e, "", &v, &w.err), CUZK_STATUS_NOT_FOUND);
    assert_int_equal(cuzk_engine_result(w.e, "nobody", true, &out, &w.err), CUZK_STATUS_NOT_FOUND);
    hold(CUZK_STAGE_WITNESS);
    submit(&j, "{}");
    assert_int_equal(cuzk_engine_result(w.e, j.id, true, &out, &w.err), CUZK_STATUS_BUSY);
    let_go(CUZK_STAGE_WITNESS);
    await_done(&j);
}

/* Stops at once, with work under way and callers who wait. */
static void close_waits_for_nothing(void **state) {
    world_job j[3];
    pthread_t thread;
    cuzk_status st = CUZK_OK;
    (void)state;
    w.mock_config.key_load_ms = 300;
    world_open();
    for (int i = 0; i < 3; i++)
        submit(&j[i], "{\"partitions\": 10, \"witness_ms\": 600000}");
    assert_int_equal(pthread_create(&thread, NULL, world_ask_for_b, &st), 0);
    WAIT_FOR(mock_stats().key_loads_begun == 2);
    const int64_t begin = cuzk_now_ns();
    world_stop();
    assert_true(cuzk_now_ns() - begin < INT64_C(100) * 1000000000);
    pthread_join(thread, NULL);
    assert_true(st == CUZK_STATUS_BUSY || st == CUZK_OK);
}

static void unusable_configurations(void **state) {
    const cuzk_mock_config mock = w.mock_config;
    cuzk_engine *e;
    (void)state;
    assert_int_equal(cuzk_mock_new(&w.mock, &mock), CUZK_OK);
    const cuzk_engine_providers p = cuzk_mock_providers(w.mock);
    cuzk_engine_config c = w.config;
    c.state_dir = NULL;
    assert_int_equal(cuzk_engine_open(&e, &c, &p, &w.err), CUZK_STATUS_USAGE);
    c = w.config;
    c.finishers = 0;
    assert_int_equal(cuzk_engine_open(&e, &c, &p, &w.err), CUZK_STATUS_USAGE);
    c = w.config;
    c.reserved_host = c.host_memory + 1;
    assert_int_equal(cuzk_engine_open(&e, &c, &p, &w.err), CUZK_STATUS_USAGE);
    const char *const keys[] = {"mock-a", "nothing"};
    c = w.config;
    c.preload = keys;
    c.n_preload = 2;
    assert_int_equal(cuzk_engine_open(&e, &c, &p, &w.err), CUZK_STATUS_NOT_FOUND);
    assert_non_null(strstr(w.err.msg, "nothing"));
    c.n_preload = 1;
    c.host_memory = UINT64_C(1) << 29;
    assert_int_equal(cuzk_engine_open(&e, &c, &p, &w.err), CUZK_STATUS_NO_MEMORY);
    assert_null(e);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, world_setup, world_teardown)

/* max_jobs gives 17 places a job: few large jobs can fill them before there are max_jobs. */
static void a_limit_of_partitions_is_named(void **state) {
    static const char large[] = "{\"partitions\": 64, \"witness_ms\": 600000}";
    world_job j[3];
    (void)state;
    w.config.max_jobs = 4;
    world_open();
    submit(&j[0], large);
    submit(&j[1], large);
    assert_int_equal(try_submit(&j[2], CUZK_ENGINE_CIRCOM, large, (world_options){NULL, 0, 0}),
                     CUZK_STATUS_BUSY);
    assert_int_equal(j[2].refusal.reason, CUZK_REASON_QUEUE_FULL);
    assert_true(j[2].refusal.retry_after_ns > 0);
    assert_int_equal(j[2].refusal.need, 65);
    if (!strstr(w.err.msg, "too many partitions") || !strstr(w.err.msg, "takes 65 places") ||
        !strstr(w.err.msg, "of the 132 that scheduler.max_jobs"))
        fail_msg("%s", w.err.msg);
    submit(&j[2], "{\"partitions\": 1, \"witness_ms\": 600000}"); /* for one there is room */
    assert_int_equal(
        try_submit(&j[2], CUZK_ENGINE_CIRCOM, "{\"partitions\": 1}", (world_options){NULL, 0, 0}),
        CUZK_STATUS_BUSY);
    if (!strstr(w.err.msg, "takes 2 places")) fail_msg("%s", w.err.msg);
}

/* What a job waits for its key counts on its device too. */
static void times_of_a_key_hold_its_devices_load(void **state) {
    world_job j;
    (void)state;
    w.mock_config.device_key_load_ms = 80;
    world_open();
    submit(&j, "{\"partitions\": 3}");
    const uint64_t first = await_done(&j).times.key_load;
    if (first < 80) fail_msg("%llu ms", (unsigned long long)first);
    submit(&j, "{\"partitions\": 3}");
    assert_int_equal(await_done(&j).times.key_load, 0);
    world_restart(); /* and it is kept */
    assert_int_equal(view(&j).times.key_load, 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(a_job_becomes_a_proof),
        TEST(a_payload_of_parts),
        TEST(priority_and_deadline_order_jobs),
        TEST(a_reserved_job_waits_for_nobody),
        TEST(what_never_fits_is_refused_with_figures),
        TEST(bad_input_is_refused),
        TEST(a_full_queue_says_when_to_come_again),
        TEST(a_request_id_is_one_job),
        TEST(simultaneous_requests_are_one_job),
        TEST(queued_jobs_hold_no_payload),
        TEST(cancel_at_any_stage),
        TEST(a_deadline_ends_a_job),
        TEST(unknown_and_unfinished_jobs),
        TEST(close_waits_for_nothing),
        TEST(unusable_configurations),
        TEST(a_limit_of_partitions_is_named),
        TEST(times_of_a_key_hold_its_devices_load),
    };
    test_rng_start();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
