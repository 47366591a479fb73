/* Everything at once: clients on several threads, faults, crashes, cancellations, deadlines,
 * watches, keys that do not all fit, memory lent, snapshots. Made for the sanitizers; holds that
 * every job ends once and nothing is left. */
#include "shell_world.h"

enum { CLIENTS = 4, JOBS = 24 };

static atomic_uint ends[CLIENTS], refused_jobs;
static uint64_t seeds[CLIENTS];

static uint64_t next(uint64_t *seed) {
    uint64_t z = (*seed += 0x9e3779b97f4a7c15u);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

/* What a thread found wrong. */
static void *said(const char *what) {
    return (void *)(uintptr_t)what;
}

static void count_end(void *ctx, const cuzk_engine_job *job) {
    if (job->state > CUZK_ENGINE_RUNNING) atomic_fetch_add((atomic_uint *)ctx, 1);
}

static void make_meta(uint64_t *seed, char *out, size_t n) {
    static const char *const stages[] = {"witness", "stage", "compute", "finish", "verify"};
    static const char *const faults[] = {"error", "wrong", "slow", "crash", "error"};
    static const char *const keys[] = {"mock-a", "mock-b", "mock-c"};
    const uint64_t r = next(seed);
    const uint32_t fault = r >> 8 & 7;
    const bool crash = fault == 3;
    int at =
        snprintf(out, n, "{\"partitions\": %u, \"key\": \"%s\", \"witness_ms\": %u",
                 1 + (uint32_t)(r & 3), keys[r >> 4 & 1 ? 0 : r % 3], (uint32_t)(r >> 16 & 15));
    if (fault < 5)
        at += snprintf(out + at, n - (size_t)at,
                       ", \"faults\": [{\"stage\": \"%s\", \"fault\": \"%s\"}]",
                       crash ? stages[1 + (r >> 20) % 3] : stages[(r >> 20) % 5], faults[fault]);
    snprintf(out + at, n - (size_t)at, "}");
}

static void *client(void *arg) {
    const size_t me = (size_t)((uint64_t *)arg - seeds);
    static const int kinds[] = {CUZK_ENGINE_CIRCOM, CUZK_ENGINE_SNAP, CUZK_ENGINE_WINNING};
    cuzk_err err;
    unsigned accepted = 0;
    cuzk_engine_watch *watches[JOBS] = {NULL};
    for (int i = 0; i < JOBS; i++) {
        char meta[300];
        const uint64_t r = next(&seeds[me]);
        struct timespec t;
        make_meta(&seeds[me], meta, sizeof meta);
        clock_gettime(CLOCK_REALTIME, &t);
        const int64_t now = (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
        const cuzk_engine_request q = {
            .priority = (int)(r % 5),
            .deadline_ns = r >> 8 & 7 ? 0 : now + 50000000,
            .payload = {(cuzk_engine_kind)kinds[r >> 12 & 1 ? 0 : (r >> 13) % 3],
                        {meta, strlen(meta)},
                        NULL,
                        0}};
        cuzk_engine_accepted a;
        cuzk_engine_refusal refusal;
        if (cuzk_engine_submit(w.e, &q, &a, &refusal, &err) != CUZK_OK) {
            atomic_fetch_add(&refused_jobs, 1);
            nap(2);
            continue;
        }
        accepted++;
        if (cuzk_engine_watch_new(w.e, a.job_id, count_end, &ends[me], &watches[i], &err) !=
            CUZK_OK)
            return said("watch");
        bool running;
        if ((r >> 32 & 3) == 0 && cuzk_engine_cancel(w.e, a.job_id, &running, &err) != CUZK_OK)
            return said("cancel");
        if ((r >> 34 & 3) == 0) nap((int)(r >> 40 & 15));
    }
    const int64_t end = cuzk_now_ns() + PATIENCE_MS * INT64_C(1000000);
    while (atomic_load(&ends[me]) < accepted && cuzk_now_ns() < end)
        nap(2);
    nap(20);
    for (int i = 0; i < JOBS; i++)
        cuzk_engine_unwatch(watches[i]);
    return atomic_load(&ends[me]) == accepted ? NULL : said("each job ends once");
}

static atomic_bool stop;

/* Looks at everything and disturbs it. */
static void *operator_(void *arg) {
    uint64_t *seed = arg;
    cuzk_err err;
    while (!atomic_load(&stop)) {
        const uint64_t r = next(seed);
        bool flag;
        int64_t took;
        uint64_t freed;
        cuzk_engine_status *s;
        cuzk_trace t = {0};
        if (cuzk_engine_snapshot(w.e, &s, &err) != CUZK_OK) return said("snapshot");
        cuzk_free(s);
        if (cuzk_engine_trace(w.e, &t) != CUZK_OK) return said("trace");
        cuzk_trace_free(&t);
        cuzk_status st = CUZK_OK;
        switch (r & 15) {
        case 0:
            cuzk_mock_crash(w.mock, r >> 8 & 1);
            break;
        case 1:
            st = cuzk_engine_lend(w.e, r >> 8 & 1, UINT64_C(6) << 30, 5000000, &err);
            break;
        case 2:
            st = cuzk_engine_take_back(w.e, r >> 8 & 1, 0, &err);
            break;
        case 3:
            st = cuzk_engine_evict(w.e, "mock-b", &flag, &freed, &err);
            break;
        case 4:
            st = cuzk_engine_preload(w.e, "mock-c", &flag, &took, &err);
            break;
        case 5:
            st = cuzk_engine_restore(w.e, r >> 8 & 1, &err);
            break;
        default:
            break;
        }
        if (st == CUZK_STATUS_BUG || st == CUZK_STATUS_USAGE) return said("a request");
        nap((int)(r >> 16 & 15));
    }
    for (uint32_t d = 0; d < 2; d++)
        if (cuzk_engine_take_back(w.e, d, 0, &err) != CUZK_OK) return said("take back");
    return NULL;
}

static void a_mixed_load_ends_well(void **state) {
    pthread_t clients[CLIENTS], op;
    void *wrong;
    uint64_t seed = test_rng();
    (void)state;
    w.mock_config.devices = 2;
    w.mock_config.device_memory = UINT64_C(10) << 30;
    w.config.host_memory = UINT64_C(5) << 29;
    w.config.pinned_memory = UINT64_C(1) << 29;
    w.config.max_jobs = 40;
    w.config.quarantine_after = 4;
    w.config.quarantine_ns = INT64_C(30) * 1000000;
    w.config.retention_jobs = 20;
    w.config.retention_ns = INT64_C(3600) * 1000000000;
    world_open();
    for (int i = 0; i < CLIENTS; i++) {
        seeds[i] = test_rng();
        assert_int_equal(pthread_create(&clients[i], NULL, client, &seeds[i]), 0);
    }
    assert_int_equal(pthread_create(&op, NULL, operator_, &seed), 0);
    const char *first = NULL;
    for (int i = 0; i < CLIENTS; i++) {
        pthread_join(clients[i], &wrong);
        if (!first) first = wrong;
        if (i + 1 < CLIENTS) continue;
        atomic_store(&stop, true);
        pthread_join(op, &wrong);
        if (!first) first = wrong;
    }
    if (first) fail_msg("went wrong: %s", first);
    assert_int_equal(cuzk_engine_drain(w.e, false, 0, &w.err), CUZK_OK);
    cuzk_engine_status *s = status();
    uint64_t n = atomic_load(&refused_jobs);
    for (int k = 0; k < CUZK_ENGINE_KIND_COUNT; k++)
        n += s->completed[k] + s->failed[k] + s->cancelled[k];
    assert_int_equal(n, CLIENTS * JOBS);
    assert_int_equal(s->sched.jobs, 0);
    cuzk_free(s);
    WAIT_FOR(mock_stats().jobs_open == 0 && mock_stats().witnesses == 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_mixed_load_ends_well, world_setup, world_teardown),
    };
    test_rng_start();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
