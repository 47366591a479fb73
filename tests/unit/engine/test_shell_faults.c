/* What goes wrong, on the real engine with mock providers: retries, quarantine, devices that are
 * lost, hang or do not open, keys that do not load. */
#include "shell_world.h"

#include "base/log.h"

#include <fcntl.h>

static uint64_t retries(void) {
    cuzk_engine_status *s = status();
    const uint64_t n = s->retries;
    cuzk_free(s);
    return n;
}

static void a_failure_is_retried_at_each_stage(void **state) {
    static const char *const stages[] = {"witness", "stage",  "compute",
                                         "finish",  "verify", "assemble"};
    (void)state;
    w.config.quarantine_after = 0;
    world_open();
    for (int i = 0; i < 6; i++) {
        char meta[200];
        world_job j;
        snprintf(meta, sizeof meta,
                 "{\"partitions\": 2, \"faults\": [{\"stage\": \"%s\", \"fault\": \"error\"}]}",
                 stages[i]);
        submit(&j, meta);
        await_done(&j);
    }
    assert_int_equal(retries(), 5); /* of partitions; assembling is none's */
}

static void a_lasting_failure_names_its_stage(void **state) {
    static const char *const stages[] = {"witness", "stage", "compute", "finish", "verify"};
    (void)state;
    w.config.quarantine_after = 0;
    w.mock_config.devices = 2;
    world_open();
    for (int i = 0; i < 5; i++) {
        char meta[200];
        world_job j;
        snprintf(meta, sizeof meta,
                 "{\"partitions\": 3, \"faults\": [{\"stage\": \"%s\", \"fault\": \"error\", "
                 "\"partition\": 1, \"times\": 0}]}",
                 stages[i]);
        submit(&j, meta);
        char text[64];
        snprintf(text, sizeof text, "%s: ", stages[i]);
        await_failed(&j, text);
        await_failed(&j, "an error was asked for");
    }
    cuzk_engine_status *s = status();
    assert_int_equal(s->failed[CUZK_ENGINE_CIRCOM], 5);
    assert_true(s->devices[0].trouble[0] && s->devices[1].trouble[0]);
    cuzk_free(s);
}

static void a_wrong_result_is_made_again(void **state) {
    world_job j, never;
    (void)state;
    w.mock_config.devices = 2;
    world_open();
    submit(&j, "{\"partitions\": 4, \"faults\": [{\"stage\": \"compute\", \"fault\": \"wrong\", "
               "\"partition\": 2}]}");
    await_done(&j);
    assert_int_equal(retries(), 1);
    assert_int_equal(mock_stats().witness_calls, 4); /* the witness was kept */
    submit(&never, "{\"faults\": [{\"stage\": \"finish\", \"fault\": \"wrong\", \"times\": 0}]}");
    await_failed(&never, "verify: the proof does not verify");
    assert_int_equal(retries(), 1 + 2);
}

static void a_witness_that_was_dropped_is_made_again(void **state) {
    world_job j;
    (void)state;
    w.config.witness_until = CUZK_STAGE_STAGE;
    world_open();
    submit(&j, "{\"partitions\": 4, \"faults\": [{\"stage\": \"compute\", \"fault\": \"wrong\", "
               "\"partition\": 2}]}");
    await_done(&j);
    assert_int_equal(mock_stats().witness_calls, 5);
}

static void bad_input_is_not_retried(void **state) {
    world_job j;
    (void)state;
    world_open();
    submit(&j, "{\"partitions\": 6, \"faults\": [{\"stage\": \"witness\", \"fault\": \"input\", "
               "\"partition\": 4, \"times\": 0}]}");
    await_failed(&j, "the job is at fault");
    assert_int_equal(retries(), 0);
    WAIT_FOR(mock_stats().jobs_open == 0);
}

/* ---- devices ---- */

static void a_bad_device_is_set_aside(void **state) {
    world_job j[3], more;
    (void)state;
    w.mock_config.devices = 2;
    w.config.quarantine_after = 3;
    world_open();
    cuzk_mock_trouble(w.mock, 0, CUZK_STAGE_COMPUTE, CUZK_MOCK_ERROR, 1000);
    for (int i = 0; i < 3; i++)
        submit(&j[i], "{\"partitions\": 8}");
    for (int i = 0; i < 3; i++)
        await_done(&j[i]);
    while (!device_stats(0).quarantined) { /* it may have been too slow to have a share of those */
        submit(&more, "{\"partitions\": 8}");
        await_done(&more);
    }
    assert_false(device_stats(1).quarantined);
    const uint64_t n = mock_stats().compute_calls;
    submit(&more, "{\"partitions\": 4}");
    await_done(&more);
    assert_int_equal(mock_stats().compute_calls, n + 4);
    cuzk_mock_trouble(w.mock, 0, CUZK_STAGE_COMPUTE, CUZK_MOCK_OK, 0);
    assert_int_equal(cuzk_engine_restore(w.e, 0, &w.err), CUZK_OK);
    assert_false(device_stats(0).quarantined);
    assert_int_equal(cuzk_engine_restore(w.e, 2, &w.err), CUZK_STATUS_NOT_FOUND);
}

static void without_a_good_device_jobs_end(void **state) {
    world_job j[4], more;
    (void)state;
    w.config.quarantine_after = 2;
    world_open();
    cuzk_mock_trouble(w.mock, 0, CUZK_STAGE_COMPUTE, CUZK_MOCK_ERROR, 1000);
    hold(CUZK_STAGE_WITNESS); /* none fails before all are accepted */
    for (int i = 0; i < 4; i++)
        submit(&j[i], "{\"partitions\": 2}");
    let_go(CUZK_STAGE_WITNESS);
    for (int i = 0; i < 4; i++)
        assert_int_equal(await(&j[i]).state, CUZK_ENGINE_FAILED);
    assert_int_equal(try_submit(&more, CUZK_ENGINE_CIRCOM, "{}", (world_options){NULL, 0, 0}),
                     CUZK_STATUS_NO_DEVICE);
    assert_int_equal(more.refusal.reason, CUZK_REASON_NO_DEVICE);
}

static void a_lost_device_costs_a_retry(void **state) {
    world_job j;
    (void)state;
    world_open();
    submit(&j, "{\"partitions\": 6, \"faults\": [{\"stage\": \"compute\", \"fault\": \"crash\", "
               "\"partition\": 3}]}");
    await_done(&j);
    cuzk_engine_status *s = status();
    assert_true(s->retries >= 1);
    assert_true(s->devices[0].restarts >= 1);
    assert_true(s->devices[0].sched.up);
    cuzk_free(s);
    assert_int_equal(mock_stats().device_opens, 2);
    assert_true(mock_stats().device_key_loads >= 2); /* the key went with it */
}

static void a_device_dies_at_any_moment(void **state) {
    world_job j[4];
    (void)state;
    w.mock_config.devices = 2;
    w.config.quarantine_after = 0;
    world_open();
    for (int i = 0; i < 4; i++)
        submit(&j[i], "{\"partitions\": 6}");
    for (int i = 0; i < 4; i++) {
        nap(10 + (int)(test_rng() % 40));
        cuzk_mock_crash(w.mock, (uint32_t)(test_rng() % 2));
    }
    for (int i = 0; i < 4; i++) {
        const cuzk_engine_job v = await(&j[i]);
        /* Three crashes may meet the same partition. */
        assert_true(v.state == CUZK_ENGINE_DONE || strstr(v.message, "worker"));
    }
}

static void a_hanging_device_is_ended(void **state) {
    static const char *const stages[] = {"stage", "compute", "finish"};
    (void)state;
    w.config.hang_ns = INT64_C(1000) * 1000000;
    w.config.quarantine_after = 0;
    w.mock_config.devices = 2;
    world_open();
    for (int i = 0; i < 3; i++) {
        char meta[200];
        world_job j;
        snprintf(meta, sizeof meta,
                 "{\"partitions\": 3, \"faults\": [{\"stage\": \"%s\", \"fault\": \"hang\", "
                 "\"partition\": 1}]}",
                 stages[i]);
        submit(&j, meta);
        await_done(&j);
    }
    cuzk_engine_status *s = status();
    assert_true(strstr(s->devices[0].trouble, "hangs") || strstr(s->devices[1].trouble, "hangs"));
    cuzk_free(s);
}

static void a_device_that_opens_later_helps(void **state) {
    world_job j;
    (void)state;
    w.mock_config.devices = 2;
    w.config.device_kinds[0] = 1 << CUZK_ENGINE_CIRCOM;
    w.config.device_kinds[1] = 1 << CUZK_ENGINE_SNAP;
    assert_int_equal(cuzk_mock_new(&w.mock, &w.mock_config), CUZK_OK);
    cuzk_mock_fail_open(w.mock, 1, 3);
    world_start();
    WAIT_FOR(device_stats(1).up);
    submit_with(&j, CUZK_ENGINE_SNAP, "{\"partitions\": 3}", (world_options){NULL, 0, 0});
    await_done(&j);
    assert_int_equal(device_stats(1).memory_limit, w.mock_config.device_memory);
}

static void no_device_at_all(void **state) {
    cuzk_engine *e;
    (void)state;
    assert_int_equal(cuzk_mock_new(&w.mock, &w.mock_config), CUZK_OK);
    cuzk_mock_fail_open(w.mock, 0, 1000);
    const cuzk_engine_providers p = cuzk_mock_providers(w.mock);
    assert_int_equal(cuzk_engine_open(&e, &w.config, &p, &w.err), CUZK_STATUS_NO_DEVICE);
    assert_null(e);
    assert_non_null(strstr(w.err.msg, "cannot be opened"));
}

static void kinds_stay_on_their_devices(void **state) {
    world_job win[3], load[3];
    (void)state;
    w.mock_config.devices = 2;
    w.config.device_kinds[0] = 1 << CUZK_ENGINE_WINNING;
    w.config.device_kinds[1] = 1 << CUZK_ENGINE_CIRCOM;
    world_open();
    for (int i = 0; i < 3; i++) {
        submit_with(&win[i], CUZK_ENGINE_WINNING, "{}", (world_options){NULL, 0, 0});
        submit(&load[i], "{\"partitions\": 3}");
    }
    for (int i = 0; i < 3; i++) {
        await_done(&win[i]);
        await_done(&load[i]);
    }
    cuzk_engine_status *s = status();
    for (size_t i = 0; i < s->n_jobs; i++)
        for (uint32_t p = 0; p < s->jobs[i].job.n_partitions; p++)
            assert_int_equal(s->jobs[i].partitions[p].device,
                             s->jobs[i].job.kind == CUZK_ENGINE_WINNING ? 0 : 1);
    cuzk_free(s);
    world_job none;
    assert_int_equal(try_submit(&none, CUZK_ENGINE_SNAP, "{}", (world_options){NULL, 0, 0}),
                     CUZK_STATUS_NO_DEVICE);
}

static void memory_is_lent_and_taken_back(void **state) {
    const uint64_t gib = UINT64_C(1) << 30;
    world_job j;
    (void)state;
    world_open();
    hold(CUZK_STAGE_COMPUTE);
    submit(&j, "{\"slot\": 10737418240}");
    WAIT_FOR(device_stats(0).slots_busy > 0);
    assert_int_equal(cuzk_engine_lend(w.e, 0, 8 * gib, 1, &w.err), CUZK_STATUS_BUSY);
    let_go(CUZK_STAGE_COMPUTE);
    await_done(&j);
    /* What nobody waits for any more is given back as it comes. */
    WAIT_FOR(device_stats(0).lent == 0);
    WAIT_FOR(cuzk_engine_lend(w.e, 0, 12 * gib, 0, &w.err) == CUZK_OK);
    assert_int_equal(device_stats(0).lent, 12 * gib);
    assert_int_equal(cuzk_engine_lend(w.e, 0, 5 * gib, 0, &w.err), CUZK_STATUS_NO_MEMORY);
    assert_int_equal(cuzk_engine_lend(w.e, 1, gib, 0, &w.err), CUZK_STATUS_NOT_FOUND);
    submit(&j, "{}");
    nap(50);
    assert_false(ended(&j)); /* its key and slot take 5 GiB, and 4 are there */
    assert_int_equal(cuzk_engine_take_back(w.e, 0, 2 * gib, &w.err), CUZK_OK);
    assert_int_equal(device_stats(0).lent, 10 * gib);
    assert_int_equal(cuzk_engine_take_back(w.e, 0, 0, &w.err), CUZK_OK);
    await_done(&j);
    assert_int_equal(device_stats(0).lent, 0);
}

/* ---- keys ---- */

static void a_key_that_does_not_load_fails_its_jobs(void **state) {
    world_job j;
    bool already;
    int64_t took;
    (void)state;
    world_open();
    cuzk_mock_fail_key(w.mock, "mock-b", CUZK_SCHED_HOST, 2);
    submit(&j, "{\"key\": \"mock-b\"}");
    await_failed(&j, "key: mock-b could not be loaded: key mock-b: cannot be read");
    cuzk_mock_fail_key(w.mock, "mock-b", CUZK_SCHED_HOST, 2);
    assert_int_equal(cuzk_engine_preload(w.e, "mock-b", &already, &took, &w.err), CUZK_STATUS_IO);
    cuzk_mock_fail_key(w.mock, "mock-b", CUZK_SCHED_HOST, 1);
    submit(&j, "{\"key\": \"mock-b\"}"); /* the second try is good */
    await_done(&j);
}

static void a_key_that_vanishes(void **state) {
    world_job j, other;
    (void)state;
    w.config.witness_workers = 1;
    w.config.reserved_witness_workers = 0;
    world_open();
    hold(CUZK_STAGE_WITNESS);
    submit(&other, "{}");
    WAIT_FOR(mock_stats().witness_calls == 1);
    submit(&j, "{\"key\": \"mock-c\"}");
    cuzk_mock_key_present(w.mock, "mock-c", false);
    let_go(CUZK_STAGE_WITNESS);
    await_failed(&j, "its file is not there");
    assert_int_equal(
        try_submit(&j, CUZK_ENGINE_CIRCOM, "{\"key\": \"mock-c\"}", (world_options){NULL, 0, 0}),
        CUZK_STATUS_NOT_FOUND);
    cuzk_mock_key_present(w.mock, "mock-c", true);
    submit(&j, "{\"key\": \"mock-c\"}");
    await_done(&j);
    await_done(&other);
}

/* A file that was replaced is loaded for the next job, once, on host and device; a job that uses
 * what was loaded ends well. */
static void a_key_that_is_replaced_is_loaded_again(void **state) {
    world_job j, long_one;
    (void)state;
    world_open();
    submit(&j, "{}");
    await_done(&j);
    for (uint32_t round = 2; round < 5; round++) {
        cuzk_mock_key_changed(w.mock, "mock-a");
        for (int i = 0; i < 3; i++) {
            submit(&j, "{\"partitions\": 2}");
            await_done(&j);
        }
        assert_int_equal(mock_stats().key_loads, round);
        assert_int_equal(mock_stats().device_key_loads, round);
    }
    submit(&long_one, "{\"partitions\": 4, \"compute_ms\": 50}");
    WAIT_FOR(view(&long_one).partitions_done > 0);
    cuzk_mock_key_changed(w.mock, "mock-a");
    submit(&j, "{}");
    await_done(&long_one);
    await_done(&j);
    submit(&j, "{}");
    await_done(&j);
    assert_int_equal(mock_stats().key_loads, 5);
}

static void a_key_that_one_device_cannot_load(void **state) {
    world_job j;
    (void)state;
    w.mock_config.devices = 2;
    world_open();
    cuzk_mock_fail_key(w.mock, "mock-a", 0, 1000);
    submit(&j, "{\"partitions\": 6}");
    await_done(&j);
    cuzk_engine_status *s = status();
    for (uint32_t p = 0; p < 6; p++)
        assert_int_equal(s->jobs[0].partitions[p].device, 1);
    assert_non_null(strstr(s->devices[0].trouble, "mock-a"));
    cuzk_free(s);
}

static const cuzk_engine_key_status *key_in(const cuzk_engine_status *s, const char *name) {
    for (size_t i = 0; i < s->n_keys; i++)
        if (strcmp(s->keys[i].name, name) == 0) return &s->keys[i];
    fail_msg("no key %s", name);
    return NULL;
}

static void preload_and_evict(void **state) {
    world_job j;
    bool already, was;
    int64_t took;
    uint64_t freed;
    (void)state;
    world_open();
    assert_int_equal(cuzk_engine_preload(w.e, "mock-a", &already, &took, &w.err), CUZK_OK);
    assert_false(already);
    assert_true(took >= 2000000);
    assert_int_equal(cuzk_engine_preload(w.e, "mock-a", &already, &took, &w.err), CUZK_OK);
    assert_true(already);
    assert_int_equal(cuzk_engine_preload(w.e, "nothing", &already, &took, &w.err),
                     CUZK_STATUS_NOT_FOUND);
    hold(CUZK_STAGE_WITNESS);
    submit(&j, "{}");
    WAIT_FOR(mock_stats().witness_calls == 1);
    assert_int_equal(cuzk_engine_evict(w.e, "mock-a", &was, &freed, &w.err), CUZK_STATUS_BUSY);
    let_go(CUZK_STAGE_WITNESS);
    await_done(&j);
    cuzk_engine_status *s = status();
    const cuzk_engine_key_status *k = key_in(s, "mock-a");
    assert_true(k->loaded && k->present && k->device_mask == 1 && k->users == 0);
    assert_int_equal(k->host_bytes, UINT64_C(1) << 30);
    assert_false(key_in(s, "mock-d")->loaded);
    cuzk_free(s);
    assert_int_equal(cuzk_engine_evict(w.e, "mock-a", &was, &freed, &w.err), CUZK_OK);
    assert_true(was);
    assert_int_equal(freed, UINT64_C(5) << 30);
    assert_int_equal(cuzk_engine_evict(w.e, "mock-a", &was, &freed, &w.err), CUZK_OK);
    assert_false(was);
    assert_int_equal(cuzk_engine_evict(w.e, "nothing", &was, &freed, &w.err),
                     CUZK_STATUS_NOT_FOUND);
    s = status();
    assert_int_equal(s->sched.host_used, 0);
    assert_int_equal(s->devices[0].sched.memory_used, 0);
    cuzk_free(s);
    assert_int_equal(mock_stats().key_frees, 1);
    assert_int_equal(mock_stats().device_key_frees, 1);
}

typedef struct eviction {
    pthread_t thread;
    cuzk_status status;
    uint64_t freed;
} eviction;

static void *evict_key(void *arg) {
    eviction *v = arg;
    bool was;
    cuzk_err err = {0};
    v->status = cuzk_engine_evict(w.e, "mock-a", &was, &v->freed, &err);
    return NULL;
}

/* Loads the key everywhere and begins to evict it; the device has not freed its copy yet. */
static void begin_eviction(eviction *v) {
    world_job j;
    world_open();
    hold(CUZK_STAGE_KEY);
    submit(&j, "{}");
    await_done(&j);
    assert_int_equal(pthread_create(&v->thread, NULL, evict_key, v), 0);
    WAIT_FOR(mock_stats().device_key_frees == 1);
}

static void end_eviction(eviction *v) {
    pthread_join(v->thread, NULL);
    assert_int_equal(v->status, CUZK_OK);
    assert_int_equal(v->freed, UINT64_C(5) << 30);
}

static void a_key_that_is_used_again_was_evicted(void **state) {
    world_job j;
    eviction v;
    (void)state;
    begin_eviction(&v);
    submit(&j, "{}");
    WAIT_FOR(mock_stats().key_loads == 2); /* on the host, before it is gone from the device */
    assert_int_equal(mock_stats().device_key_loads, 1);
    let_go(CUZK_STAGE_KEY);
    end_eviction(&v);
    await_done(&j);
}

static void a_device_is_lost_while_a_key_is_evicted(void **state) {
    eviction v;
    (void)state;
    begin_eviction(&v);
    cuzk_mock_crash(w.mock, 0);
    end_eviction(&v);
}

static void keys_take_turns_when_memory_is_short(void **state) {
    static const char *const keys[] = {"mock-a", "mock-b", "mock-c", "mock-d", "porep-32g"};
    world_job j[10];
    (void)state;
    w.config.host_memory = UINT64_C(5) << 29; /* two keys and a half */
    w.config.pinned_memory = UINT64_C(1) << 29;
    world_open();
    for (int i = 0; i < 10; i++) {
        char meta[100];
        snprintf(meta, sizeof meta, "{\"key\": \"%s\", \"partitions\": 2}", keys[i % 5]);
        submit(&j[i], meta);
    }
    for (int i = 0; i < 10; i++)
        await_done(&j[i]);
    assert_true(mock_stats().key_frees >= 3);
    bool already;
    int64_t took;
    assert_int_equal(cuzk_engine_preload(w.e, "mock-b", &already, &took, &w.err), CUZK_OK);
}

/* A key that was asked for and loaded can go at once, for a job that waits for its memory: who
 * asked is told that it was loaded. */
static void a_preloaded_key_that_goes_at_once(void **state) {
    world_job j;
    pthread_t thread;
    cuzk_status st = CUZK_STATUS_BUG;
    (void)state;
    w.config.host_memory = UINT64_C(3) << 29; /* a key and a half */
    w.config.pinned_memory = UINT64_C(1) << 29;
    w.mock_config.device_memory = UINT64_C(5) << 30; /* the same there: mock-b is not loaded */
    w.mock_config.key_load_ms = 300;
    world_open();
    submit(&j, "{\"key\": \"mock-a\"}");
    await_done(&j);
    assert_int_equal(pthread_create(&thread, NULL, world_ask_for_b, &st), 0);
    WAIT_FOR(mock_stats().key_frees == 1);
    submit(&j, "{\"key\": \"mock-a\"}"); /* waits until mock-b has been loaded and has gone */
    await_done(&j);
    pthread_join(thread, NULL);
    assert_int_equal(st, CUZK_OK);
    assert_int_equal(mock_stats().key_frees, 2);
}

static void kept_keys_are_loaded_at_the_start(void **state) {
    static const char *const keys[] = {"mock-a", "mock-b"};
    world_job j;
    (void)state;
    w.config.preload = keys;
    w.config.n_preload = 2;
    w.mock_config.device_memory = UINT64_C(10) << 30;
    world_open();
    WAIT_FOR(mock_stats().device_key_loads == 2);
    /* Beside those two, a third has no room on the device. */
    assert_int_equal(
        try_submit(&j, CUZK_ENGINE_CIRCOM, "{\"key\": \"mock-c\"}", (world_options){NULL, 0, 0}),
        CUZK_STATUS_NO_MEMORY);
    submit(&j, "{\"key\": \"mock-b\"}");
    await_done(&j);
    assert_int_equal(mock_stats().key_loads, 2);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, world_setup, world_teardown)

/* ---- the log ---- */

static char log_text[65536];
static int log_ends[2];

static void log_begin(cuzk_log_format format) {
    assert_int_equal(pipe2(log_ends, O_NONBLOCK), 0);
    cuzk_log_setup(log_ends[1], CUZK_LOG_INFO, format);
    log_text[0] = '\0';
}

/* Whether a line with both texts was written since. */
static bool logged(const char *a, const char *b) {
    const size_t had = strlen(log_text);
    const ssize_t n = read(log_ends[0], log_text + had, sizeof log_text - 1 - had);
    if (n > 0) log_text[had + (size_t)n] = '\0';
    for (const char *p = log_text, *end; (end = strchr(p, '\n')) != NULL; p = end + 1) {
        const char *x = strstr(p, a), *y = strstr(p, b);
        if (x && y && x < end && y < end) return true;
    }
    return false;
}

static void log_end(void) {
    cuzk_log_setup(STDERR_FILENO, CUZK_LOG_INFO, CUZK_LOG_TEXT);
    close(log_ends[0]);
    close(log_ends[1]);
}

/* What nobody asked for and an operator must know is in the log, with its reason. */
static void trouble_is_logged(cuzk_log_format format) {
    world_job j;
    log_begin(format);
    w.mock_config.devices = 2;
    w.config.quarantine_after = 3;
    world_open();
    submit(&j, "{}");
    await_done(&j);
    cuzk_mock_crash(w.mock, 0);
    WAIT_FOR(logged("warn", "device 0 is lost: its worker crashed, as was asked for; started"));
    WAIT_FOR(logged("info", "device 0 (Mock device 0) is up again"));
    WAIT_FOR(device_stats(0).up);
    cuzk_mock_fail_open(w.mock, 0, 1);
    cuzk_mock_crash(w.mock, 0);
    WAIT_FOR(logged("warn", "device 0: open: "));
    WAIT_FOR(device_stats(0).up);
    cuzk_mock_crash(w.mock, 0);
    WAIT_FOR(logged("error", "device 0 (Mock device 0) is set aside after repeated faults"));
    assert_int_equal(cuzk_engine_restore(w.e, 0, &w.err), CUZK_OK);
    WAIT_FOR(logged("info", "device 0 (Mock device 0) takes work again"));
    cuzk_mock_fail_key(w.mock, "mock-b", CUZK_SCHED_HOST, 2);
    submit(&j, "{\"key\": \"mock-b\"}");
    await_failed(&j, "could not be loaded");
    WAIT_FOR(logged("warn", "key mock-b was not loaded: key mock-b: cannot be read"));
    cuzk_mock_fail_key(w.mock, "mock-c", 1, 1);
    cuzk_mock_fail_key(w.mock, "mock-c", 0, 1);
    submit(&j, "{\"key\": \"mock-c\"}");
    await(&j);
    WAIT_FOR(logged("warn", "key mock-c was not loaded on device "));
    if (format == CUZK_LOG_JSON)
        assert_true(logged("\"component\":\"engine\"", "\"message\":\"device 0 is lost"));
    world_stop();
    log_end();
}

static void trouble_is_logged_as_text(void **state) {
    (void)state;
    trouble_is_logged(CUZK_LOG_TEXT);
}

static void trouble_is_logged_as_json(void **state) {
    (void)state;
    trouble_is_logged(CUZK_LOG_JSON);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(a_failure_is_retried_at_each_stage),
        TEST(a_lasting_failure_names_its_stage),
        TEST(a_wrong_result_is_made_again),
        TEST(a_witness_that_was_dropped_is_made_again),
        TEST(bad_input_is_not_retried),
        TEST(a_bad_device_is_set_aside),
        TEST(without_a_good_device_jobs_end),
        TEST(a_lost_device_costs_a_retry),
        TEST(a_device_dies_at_any_moment),
        TEST(a_hanging_device_is_ended),
        TEST(a_device_that_opens_later_helps),
        TEST(no_device_at_all),
        TEST(kinds_stay_on_their_devices),
        TEST(memory_is_lent_and_taken_back),
        TEST(a_key_that_does_not_load_fails_its_jobs),
        TEST(a_key_that_vanishes),
        TEST(a_key_that_one_device_cannot_load),
        TEST(preload_and_evict),
        TEST(a_preloaded_key_that_goes_at_once),
        TEST(a_key_that_is_used_again_was_evicted),
        TEST(a_device_is_lost_while_a_key_is_evicted),
        TEST(keys_take_turns_when_memory_is_short),
        TEST(kept_keys_are_loaded_at_the_start),
        TEST(trouble_is_logged_as_text),
        TEST(trouble_is_logged_as_json),
        TEST(a_key_that_is_replaced_is_loaded_again),
    };
    test_rng_start();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
