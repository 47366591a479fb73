/* An engine on mock providers in a directory of its own, for the shell's tests. */
#ifndef CUZK_TESTS_ENGINE_SHELL_WORLD_H
#define CUZK_TESTS_ENGINE_SHELL_WORLD_H

#include "support.h"

#include "base/clock.h"
#include "base/mem.h"
#include "engine/mock/mock.h"
#include "engine/shell/engine.h"

#include <ftw.h>
#include <pthread.h>
#include <time.h>
#include <unistd.h>

typedef struct shell_world {
    char dir[256];
    cuzk_mock_config mock_config;
    cuzk_engine_config config;
    cuzk_mock *mock;
    cuzk_engine *e;
    cuzk_err err;
} shell_world;

static shell_world w;

static inline int remove_one(const char *path, const struct stat *s, int type, struct FTW *f) {
    (void)s, (void)type, (void)f;
    return remove(path);
}

static inline void remove_tree(const char *dir) {
    nftw(dir, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

static inline int world_setup(void **state) {
    const char *tmp = getenv("TMPDIR");
    (void)state;
    memset(&w, 0, sizeof w);
    snprintf(w.dir, sizeof w.dir, "%s/cuzk-shell-XXXXXX", tmp && tmp[0] ? tmp : "/tmp");
    assert_non_null(mkdtemp(w.dir));
    cuzk_mock_config_init(&w.mock_config);
    w.mock_config.times = (cuzk_mock_times){8, 3, 5, 2, 1, 1};
    w.mock_config.key_load_ms = w.mock_config.device_key_load_ms = 2;
    cuzk_engine_config_init(&w.config);
    w.config.state_dir = w.dir;
    w.config.witness_workers = 4;
    w.config.host_memory = UINT64_C(16) << 30;
    w.config.pinned_memory = UINT64_C(8) << 30;
    return 0;
}

static inline void world_start(void) {
    const cuzk_engine_providers p = cuzk_mock_providers(w.mock);
    const cuzk_status st = cuzk_engine_open(&w.e, &w.config, &p, &w.err);
    if (st != CUZK_OK) fail_msg("open: %s", w.err.msg);
}

static inline void world_open(void) {
    assert_int_equal(cuzk_mock_new(&w.mock, &w.mock_config), CUZK_OK);
    world_start();
}

static inline void world_stop(void) {
    cuzk_engine_close(w.e);
    w.e = NULL;
}

/* Closed and opened on the same directory, as after a restart; the mock stays. */
static inline void world_restart(void) {
    world_stop();
    world_start();
}

/* Calls of a stage wait from now on, until cuzk_mock_let lets them. */
static inline void hold(cuzk_sched_stage stage) {
    cuzk_mock_let(w.mock, stage, 0);
}

static inline void let_go(cuzk_sched_stage stage) {
    cuzk_mock_let(w.mock, stage, CUZK_MOCK_ANY);
}

static inline int world_teardown(void **state) {
    (void)state;
    for (int s = 0; w.mock && s < CUZK_STAGES; s++)
        let_go((cuzk_sched_stage)s);
    world_stop();
    if (w.mock) {
        cuzk_mock_stats s;
        cuzk_mock_get_stats(w.mock, &s);
        assert_int_equal(s.jobs_open, 0);
        assert_int_equal(s.witnesses, 0);
    }
    cuzk_mock_free(w.mock);
    remove_tree(w.dir);
    return 0;
}

/* ---- jobs ---- */

typedef struct world_job {
    char id[CUZK_ENGINE_JOB_ID];
    char meta[600];
    cuzk_engine_kind kind;
    cuzk_engine_accepted accepted;
    cuzk_engine_refusal refusal;
} world_job;

static inline cuzk_engine_payload payload_of(const world_job *j) {
    return (cuzk_engine_payload){.kind = j->kind, .meta = {j->meta, strlen(j->meta)}};
}

/* Fields of a request that most tests leave alone. */
typedef struct world_options {
    const char *request_id;
    int priority;
    int64_t deadline_ns;
} world_options;

static inline cuzk_status try_submit(world_job *j, cuzk_engine_kind kind, const char *meta,
                                     world_options o) {
    memset(j, 0, sizeof *j);
    j->kind = kind;
    snprintf(j->meta, sizeof j->meta, "%s", meta);
    const cuzk_engine_request r = {.request_id = o.request_id,
                                   .priority = o.priority,
                                   .deadline_ns = o.deadline_ns,
                                   .client = "test",
                                   .payload = payload_of(j)};
    const cuzk_status st = cuzk_engine_submit(w.e, &r, &j->accepted, &j->refusal, &w.err);
    memcpy(j->id, j->accepted.job_id, sizeof j->id);
    return st;
}

static inline void submit_with(world_job *j, cuzk_engine_kind kind, const char *meta,
                               world_options o) {
    const cuzk_status st = try_submit(j, kind, meta, o);
    if (st != CUZK_OK) fail_msg("submit: %s", w.err.msg);
}

static inline void submit(world_job *j, const char *meta) {
    submit_with(j, CUZK_ENGINE_CIRCOM, meta, (world_options){NULL, 0, 0});
}

/* With a deadline in a moment; again when it was past before the engine looked. */
static inline void submit_due_soon(world_job *j, const char *meta, int ms) {
    cuzk_status st;
    do {
        struct timespec t;
        clock_gettime(CLOCK_REALTIME, &t);
        const int64_t at = (int64_t)t.tv_sec * 1000000000 + t.tv_nsec + (int64_t)ms * 1000000;
        st = try_submit(j, CUZK_ENGINE_CIRCOM, meta, (world_options){.deadline_ns = at});
    } while (st != CUZK_OK && j->refusal.reason == CUZK_REASON_LATE);
    if (st != CUZK_OK) fail_msg("submit: %s", w.err.msg);
}

/* A thread that asks for the key mock-b; arg: where it puts the answer, a cuzk_status. */
static inline void *world_ask_for_b(void *arg) {
    bool already;
    int64_t took;
    cuzk_err err;
    *(cuzk_status *)arg = cuzk_engine_preload(w.e, "mock-b", &already, &took, &err);
    return NULL;
}

static inline cuzk_engine_job view(const world_job *j) {
    cuzk_engine_job v;
    const cuzk_status st = cuzk_engine_get(w.e, j->id, &v, &w.err);
    if (st != CUZK_OK) fail_msg("get %s: %s", j->id, w.err.msg);
    return v;
}

static inline void nap(int ms) {
    const struct timespec t = {ms / 1000, ms % 1000 * 1000000L};
    nanosleep(&t, NULL);
}

enum { PATIENCE_MS = 60000 };

/* Waits until cond holds, and fails the test when it never does. */
#define WAIT_FOR(cond)                                                                             \
    do {                                                                                           \
        const int64_t world__end = cuzk_now_ns() + PATIENCE_MS * INT64_C(1000000);                 \
        while (!(cond)) {                                                                          \
            if (cuzk_now_ns() > world__end) fail_msg("never: %s", #cond);                          \
            nap(1);                                                                                \
        }                                                                                          \
    } while (0)

static inline bool ended(const world_job *j) {
    return view(j).state > CUZK_ENGINE_RUNNING;
}

static inline cuzk_engine_job await(const world_job *j) {
    WAIT_FOR(ended(j));
    return view(j);
}

/* Waits for a good end and checks the proof. */
static inline cuzk_engine_job await_done(const world_job *j) {
    const cuzk_engine_job v = await(j);
    const cuzk_engine_payload p = payload_of(j);
    cuzk_buf proof = CUZK_BUF_INIT;
    if (v.state != CUZK_ENGINE_DONE)
        fail_msg("%s is %s: %s", j->id, cuzk_engine_state_name(v.state), v.message);
    const cuzk_status st = cuzk_engine_result(w.e, j->id, true, &proof, &w.err);
    if (st != CUZK_OK) fail_msg("result: %s", w.err.msg);
    assert_true(cuzk_mock_check(&p, v.n_partitions, proof.data, proof.len));
    cuzk_buf_free(&proof);
    return v;
}

static inline cuzk_engine_job await_failed(const world_job *j, const char *text) {
    const cuzk_engine_job v = await(j);
    assert_int_equal(v.state, CUZK_ENGINE_FAILED);
    if (!strstr(v.message, text)) fail_msg("'%s' is not in '%s'", text, v.message);
    return v;
}

static inline cuzk_engine_status *status(void) {
    cuzk_engine_status *s;
    const cuzk_status st = cuzk_engine_snapshot(w.e, &s, &w.err);
    if (st != CUZK_OK) fail_msg("snapshot: %s", w.err.msg);
    return s;
}

static inline cuzk_sched_device_stats device_stats(uint32_t d) {
    cuzk_engine_status *s = status();
    const cuzk_sched_device_stats out = s->devices[d].sched;
    cuzk_free(s);
    return out;
}

static inline cuzk_mock_stats mock_stats(void) {
    cuzk_mock_stats s;
    cuzk_mock_get_stats(w.mock, &s);
    return s;
}

#endif
