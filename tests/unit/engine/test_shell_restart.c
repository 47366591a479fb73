/* What survives the end of the engine, and what drain, watch and the views say. */
#include "shell_world.h"

#include <signal.h>
#include <sys/resource.h>

static void finished_partitions_are_not_proved_again(void **state) {
    world_job j[2];
    (void)state;
    w.config.witness_workers = 2;
    world_open();
    cuzk_mock_let(w.mock, CUZK_STAGE_COMPUTE, 5);
    for (int i = 0; i < 2; i++)
        submit(&j[i], "{\"partitions\": 8}");
    WAIT_FOR(view(&j[0]).partitions_done + view(&j[1]).partitions_done == 5);
    world_stop();
    assert_int_equal(mock_stats().verify_calls, 5);
    let_go(CUZK_STAGE_COMPUTE);
    world_start();
    for (int i = 0; i < 2; i++) {
        const cuzk_engine_job v = view(&j[i]);
        assert_string_equal(v.client, "test");
        assert_string_equal(v.key, "mock-a");
        await_done(&j[i]);
    }
    assert_int_equal(mock_stats().verify_calls, 16);
}

/* Several times, at random moments, under load: no job is lost, and none ends twice. */
static void restarts_at_random_moments(void **state) {
    enum { N = 12 };
    world_job j[N];
    (void)state;
    w.mock_config.devices = 2;
    world_open();
    int n = 0;
    for (int round = 0; round < 6; round++) {
        for (int i = 0; i < 2; i++, n++)
            submit(&j[n], "{\"partitions\": 5, \"compute_ms\": 8}");
        nap((int)(test_rng() % 60));
        world_restart();
    }
    for (int i = 0; i < N; i++)
        await_done(&j[i]);
    cuzk_engine_status *s = status();
    assert_int_equal(s->completed[CUZK_ENGINE_CIRCOM], N);
    cuzk_free(s);
}

static void results_names_and_counters_survive(void **state) {
    const world_options o = {.request_id = "once"};
    world_job a, b, failed, again;
    (void)state;
    world_open();
    submit_with(&a, CUZK_ENGINE_CIRCOM, "{\"partitions\": 2, \"message\": \"to \\\"know\\\"\"}", o);
    submit_with(&b, CUZK_ENGINE_SNAP, "{\"witness_ms\": 600000}", (world_options){NULL, 0, 0});
    submit(&failed, "{\"faults\": [{\"stage\": \"witness\", \"fault\": \"input\"}]}");
    assert_string_equal(view(&a).message, "to \"know\"");
    const cuzk_engine_job before = await_done(&a);
    assert_string_equal(before.message, "to \"know\"");
    assert_int_equal(cuzk_engine_cancel(w.e, b.id, &(bool){false}, &w.err), CUZK_OK);
    await(&b);
    await_failed(&failed, "at fault");
    world_restart();
    const cuzk_engine_job after = await_done(&a);
    assert_string_equal(after.message, "to \"know\"");
    assert_int_equal(after.times.total, before.times.total);
    assert_int_equal(after.times.witness, before.times.witness);
    assert_true(after.ended_ns >= before.ended_ns); /* then it was written */
    assert_int_equal(after.partitions_done, 2);
    assert_string_equal(after.request_id, "once");
    await_failed(&failed, "at fault");
    submit_with(&again, CUZK_ENGINE_CIRCOM, a.meta, o);
    assert_true(again.accepted.existed);
    assert_string_equal(again.id, a.id);
    cuzk_engine_status *s = status();
    assert_int_equal(s->completed[CUZK_ENGINE_CIRCOM], 1);
    assert_int_equal(s->failed[CUZK_ENGINE_CIRCOM], 1);
    assert_int_equal(s->cancelled[CUZK_ENGINE_SNAP], 1);
    cuzk_free(s);
    cuzk_engine_job list[8];
    size_t n = 8;
    assert_int_equal(cuzk_engine_list(w.e, 0, list, &n, &w.err), CUZK_OK);
    assert_int_equal(n, 3);
    assert_string_equal(list[2].id, a.id);
    n = 8;
    assert_int_equal(cuzk_engine_list(w.e, list[1].submitted_ns, list, &n, &w.err), CUZK_OK);
    assert_int_equal(n, 1);
    assert_string_equal(list[0].id, a.id);
    assert_int_equal(list[0].state, CUZK_ENGINE_DONE);
    assert_string_equal(list[0].key, "mock-a");
    assert_int_equal(list[0].times.witness, before.times.witness);
}

static void what_cannot_go_on_is_reported(void **state) {
    world_job fits, large, late, lost;
    (void)state;
    world_open();
    submit(&large, "{\"witness\": 8589934592, \"witness_ms\": 600000}");
    submit_due_soon(&late, "{\"witness_ms\": 600000}", 300);
    submit(&lost, "{\"key\": \"mock-d\", \"witness_ms\": 600000}");
    submit(&fits, "{\"partitions\": 2}");
    world_stop();
    nap(350);
    w.config.host_memory = UINT64_C(6) << 30;
    w.config.pinned_memory = UINT64_C(2) << 30;
    cuzk_mock_key_present(w.mock, "mock-d", false);
    world_start();
    await_failed(&large, "bytes of host memory");
    await_failed(&lost, "its file is not there");
    assert_int_equal(await(&late).state, CUZK_ENGINE_DEADLINE);
    await_done(&fits);
}

static void one_engine_a_directory(void **state) {
    cuzk_engine *e;
    (void)state;
    world_open();
    cuzk_mock *other;
    assert_int_equal(cuzk_mock_new(&other, &w.mock_config), CUZK_OK);
    const cuzk_engine_providers p = cuzk_mock_providers(other);
    assert_int_equal(cuzk_engine_open(&e, &w.config, &p, &w.err), CUZK_STATUS_IO);
    assert_null(e);
    cuzk_mock_free(other);
}

static uint64_t completed(cuzk_engine_kind kind) {
    cuzk_engine_status *s = status();
    const uint64_t n = s->completed[kind];
    cuzk_free(s);
    return n;
}

static void old_jobs_go(void **state) {
    world_job j[4];
    cuzk_engine_job list[8];
    size_t n;
    (void)state;
    w.config.retention_jobs = 1;
    w.config.retention_ns = INT64_C(200) * 1000000;
    world_open();
    for (int i = 0; i < 4; i++)
        submit(&j[i], "{}");
    WAIT_FOR(completed(CUZK_ENGINE_CIRCOM) == 4); /* not by looking at them: they go */
    WAIT_FOR((n = 8, cuzk_engine_list(w.e, 0, list, &n, &w.err) == CUZK_OK && n == 0));
}

/* What cannot be written is not told, and is written when there is room again. */
static void a_full_disk_delays_and_refuses(void **state) {
    struct rlimit before, none;
    world_job j, more;
    (void)state;
    world_open();
    hold(CUZK_STAGE_WITNESS);
    submit(&j, "{\"partitions\": 2}");
    signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    none = before;
    none.rlim_cur = 1;
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &none), 0);
    let_go(CUZK_STAGE_WITNESS);
    const cuzk_status st = try_submit(&more, CUZK_ENGINE_CIRCOM, "{}", (world_options){NULL, 0, 0});
    const int64_t end = cuzk_now_ns() + INT64_C(20) * 1000000000;
    while (mock_stats().assemble_calls == 0 && cuzk_now_ns() < end)
        nap(1);
    nap(50);
    const bool told = ended(&j);
    const cuzk_status drained = cuzk_engine_drain(w.e, false, 20000000, &w.err);
    cuzk_engine_status *s = status();
    const cuzk_status journal = s->journal;
    cuzk_free(s);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
    assert_int_equal(st, CUZK_STATUS_IO);
    assert_false(told);
    assert_int_equal(drained, CUZK_STATUS_BUSY);
    assert_int_not_equal(journal, CUZK_OK);
    assert_int_equal(cuzk_engine_drain(w.e, false, 0, &w.err), CUZK_OK);
    assert_true(ended(&j));
    await_done(&j);
    assert_int_equal(cuzk_engine_resume(w.e, &w.err), CUZK_OK);
    submit(&more, "{}");
    await_done(&more);
}

/* ---- drain ---- */

static void drain_finishes_and_refuses(void **state) {
    world_job j, more;
    (void)state;
    world_open();
    hold(CUZK_STAGE_COMPUTE);
    submit(&j, "{\"partitions\": 4}");
    assert_int_equal(cuzk_engine_drain(w.e, false, 1000000, &w.err), CUZK_STATUS_BUSY);
    assert_int_equal(try_submit(&more, CUZK_ENGINE_CIRCOM, "{}", (world_options){NULL, 0, 0}),
                     CUZK_STATUS_BUSY);
    assert_int_equal(more.refusal.reason, CUZK_REASON_DRAINING);
    let_go(CUZK_STAGE_COMPUTE);
    assert_int_equal(cuzk_engine_drain(w.e, false, 0, &w.err), CUZK_OK);
    assert_true(ended(&j));
    await_done(&j);
    assert_int_equal(cuzk_engine_drain(w.e, true, 0, &w.err), CUZK_OK);
    assert_int_equal(cuzk_engine_resume(w.e, &w.err), CUZK_OK);
    submit(&more, "{}");
    await_done(&more);
}

static void a_checkpoint_stops_between_partitions(void **state) {
    world_job j;
    (void)state;
    w.config.witness_workers = 2;
    world_open();
    cuzk_mock_let(w.mock, CUZK_STAGE_WITNESS, 3);
    submit(&j, "{\"partitions\": 20}");
    WAIT_FOR(view(&j).partitions_done == 3 && mock_stats().witness_calls == 5);
    assert_int_equal(cuzk_engine_drain(w.e, true, 1, &w.err), CUZK_STATUS_BUSY);
    let_go(CUZK_STAGE_WITNESS); /* two are under way and end; none begins */
    assert_int_equal(cuzk_engine_drain(w.e, true, 0, &w.err), CUZK_OK);
    const uint32_t done = view(&j).partitions_done;
    assert_false(ended(&j));
    assert_int_equal(done, 5);
    assert_int_equal(mock_stats().witness_calls, 5);
    assert_int_equal(mock_stats().witnesses, 0);
    world_restart();
    assert_int_equal(view(&j).partitions_done, done);
    await_done(&j);
    assert_int_equal(mock_stats().witness_calls, 20);
}

/* ---- watches ---- */

typedef struct seen {
    pthread_mutex_t lock;
    int n;
    cuzk_engine_job first, last;
    bool backwards;
} seen;

static void look(void *ctx, const cuzk_engine_job *job) {
    seen *s = ctx;
    pthread_mutex_lock(&s->lock);
    if (s->n++ == 0) s->first = *job;
    s->backwards |=
        s->n > 1 && (job->state < s->last.state || job->partitions_done < s->last.partitions_done);
    s->last = *job;
    pthread_mutex_unlock(&s->lock);
}

static bool saw_done(seen *s, uint32_t partitions) {
    pthread_mutex_lock(&s->lock);
    const bool done = s->last.partitions_done >= partitions;
    pthread_mutex_unlock(&s->lock);
    return done;
}

static bool saw_end(seen *s) {
    pthread_mutex_lock(&s->lock);
    const bool end = s->last.state > CUZK_ENGINE_RUNNING;
    pthread_mutex_unlock(&s->lock);
    return end;
}

static void watches_tell_every_change(void **state) {
    world_job j, other;
    static seen one, all, late;
    cuzk_engine_watch *watch_one, *watch_all, *watch_late, *none;
    (void)state;
    one = all = late = (seen){.lock = PTHREAD_MUTEX_INITIALIZER};
    world_open();
    assert_int_equal(cuzk_engine_watch_new(w.e, "", look, &all, &watch_all, &w.err), CUZK_OK);
    hold(CUZK_STAGE_WITNESS);
    submit(&j, "{\"partitions\": 5}");
    assert_int_equal(cuzk_engine_watch_new(w.e, j.id, look, &one, &watch_one, &w.err), CUZK_OK);
    assert_true(one.n >= 1);
    assert_string_equal(one.first.id, j.id);
    for (uint32_t i = 1; i < 5; i++) {
        cuzk_mock_let(w.mock, CUZK_STAGE_WITNESS, 1);
        WAIT_FOR(saw_done(&one, i));
    }
    let_go(CUZK_STAGE_WITNESS);
    WAIT_FOR(saw_end(&one));
    assert_int_equal(one.last.state, CUZK_ENGINE_DONE);
    assert_int_equal(one.last.partitions_done, 5);
    assert_false(one.backwards);
    assert_true(one.n >= 1 + 4 + 1);
    /* Whoever is told of the end can fetch the result. */
    await_done(&j);
    assert_int_equal(cuzk_engine_watch_new(w.e, j.id, look, &late, &watch_late, &w.err), CUZK_OK);
    assert_int_equal(late.n, 1);
    assert_int_equal(late.last.state, CUZK_ENGINE_DONE);
    assert_int_equal(cuzk_engine_watch_new(w.e, "nobody", look, &late, &none, &w.err),
                     CUZK_STATUS_NOT_FOUND);
    assert_null(none);
    cuzk_engine_unwatch(watch_one);
    const int n = one.n;
    WAIT_FOR(all.n > 0 && saw_end(&all));
    cuzk_engine_unwatch(watch_all);
    const int n_all = all.n;
    submit(&other, "{}");
    await_done(&other);
    assert_int_equal(one.n, n);
    assert_int_equal(all.n, n_all);
    cuzk_engine_unwatch(watch_late);
    cuzk_engine_unwatch(NULL);
}

/* ---- views ---- */

static void the_status_shows_it_all(void **state) {
    world_job run, queued, done;
    (void)state;
    w.config.witness_workers = 1;
    w.config.reserved_witness_workers = 0;
    world_open();
    submit_with(&done, CUZK_ENGINE_SNAP, "{\"partitions\": 3}", (world_options){NULL, 0, 0});
    await_done(&done);
    hold(CUZK_STAGE_COMPUTE);
    submit(&run, "{}");
    submit_with(&queued, CUZK_ENGINE_POREP, "{\"partitions\": 1}", (world_options){NULL, 1, 0});
    cuzk_engine_status *s = NULL;
    WAIT_FOR((cuzk_free(s), s = status(),
              strcmp(s->devices[0].job_id, run.id) == 0 &&
                  s->jobs[0].partitions[0].stage == CUZK_STAGE_COMPUTE));
    assert_int_equal(s->n_jobs, 3);
    assert_string_equal(s->jobs[0].job.id, run.id);
    assert_string_equal(s->jobs[1].job.id, queued.id);
    assert_string_equal(s->jobs[2].job.id, done.id);
    assert_int_equal(s->jobs[0].partitions[0].stage, CUZK_STAGE_COMPUTE);
    assert_int_equal(s->jobs[2].partitions[2].stage, CUZK_STAGES);
    assert_true(s->jobs[2].partitions[2].compute_ms >= 5);
    assert_int_equal(s->running[CUZK_ENGINE_CIRCOM], 1);
    assert_int_equal(s->completed[CUZK_ENGINE_SNAP], 1);
    assert_int_equal(s->seconds_count[CUZK_ENGINE_SNAP], 1);
    assert_true(s->seconds_sum[CUZK_ENGINE_SNAP] > 0.01);
    assert_int_equal(s->partitions_done, 3);
    assert_true(s->rss > 0 && s->spool_used > 0);
    const cuzk_engine_device_status *d = &s->devices[0];
    assert_string_equal(d->job_id, run.id);
    assert_int_equal(d->kind, CUZK_ENGINE_CIRCOM);
    assert_string_equal(d->info.name, "Mock device 0");
    assert_true(d->busy_ns >= 3 * 5000000);
    /* The byte ledger: of the device, the job and its partitions. */
    assert_int_equal(d->moved.in_pinned, UINT64_C(3) << 30);
    assert_int_equal(s->jobs[2].job.moved.in_pinned, UINT64_C(3) << 30);
    assert_int_equal(s->jobs[2].partitions[1].moved.in_pinned, UINT64_C(1) << 30);
    cuzk_free(s);
    let_go(CUZK_STAGE_COMPUTE);
    await_done(&run);
    await_done(&queued);
}

static void the_timeline_has_every_partition(void **state) {
    world_job a, b;
    cuzk_trace t = {0};
    cuzk_trace_summary sum;
    (void)state;
    world_open();
    submit(&a, "{\"partitions\": 6}");
    submit(&b, "{\"partitions\": 4}");
    await_done(&a);
    await_done(&b);
    assert_int_equal(cuzk_engine_trace(w.e, &t), CUZK_OK);
    assert_int_equal(t.n, 10 * CUZK_TRACE_EVENT_COUNT);
    assert_int_equal(t.n_names, 2);
    assert_string_equal(t.names[0], a.id);
    assert_string_equal(t.names[1], b.id);
    assert_int_equal(cuzk_trace_sum(&sum, &t, &w.err), CUZK_OK);
    assert_int_equal(sum.partitions, 10);
    assert_int_equal(sum.unfinished, 0);
    assert_true(sum.devices[0].busy > 0.05);
    cuzk_trace_free(&t);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, world_setup, world_teardown)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(finished_partitions_are_not_proved_again),
        TEST(restarts_at_random_moments),
        TEST(results_names_and_counters_survive),
        TEST(what_cannot_go_on_is_reported),
        TEST(one_engine_a_directory),
        TEST(old_jobs_go),
        TEST(a_full_disk_delays_and_refuses),
        TEST(drain_finishes_and_refuses),
        TEST(a_checkpoint_stops_between_partitions),
        TEST(watches_tell_every_change),
        TEST(the_status_shows_it_all),
        TEST(the_timeline_has_every_partition),
    };
    test_rng_start();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
