/* An engine for tests of the interfaces: every function of engine/shell/engine.h, answered from
 * what the test put here. Linked before the real one, so that none of it is. */
#ifndef CUZK_TESTS_FAKE_ENGINE_H
#define CUZK_TESTS_FAKE_ENGINE_H

#include "engine/shell/engine.h"

#include <pthread.h>
#include <stdatomic.h>

enum { FAKE_JOBS = 16, FAKE_WATCHES = 16 };

struct cuzk_engine_watch {
    struct cuzk_engine *engine;
    char id[CUZK_ENGINE_JOB_ID];
    void (*changed)(void *ctx, const cuzk_engine_job *job);
    void *ctx;
};

struct cuzk_engine {
    pthread_mutex_t lock;
    /* What the calls answer. */
    cuzk_status submit_status, cancel_status, preload_status, evict_status, lend_status,
        drain_status, snapshot_status;
    const char *message;                         /* of these */
    atomic_bool draining, no_device, no_journal; /* of snapshots */
    cuzk_engine_refusal refusal;
    /* What came. */
    cuzk_engine_kind kind;
    char meta[1024];
    size_t n_parts, part_len[8];
    uint64_t part_sum[8]; /* of bytes */
    int priority;
    int64_t deadline_ns;
    unsigned submits, cancels, preloads, evicts, drains, resumes, lends, take_backs, restores,
        fetches;
    bool checkpoint;
    /* Jobs and who watches them. */
    cuzk_engine_job jobs[FAKE_JOBS];
    char proofs[FAKE_JOBS][64];
    size_t n_jobs;
    cuzk_engine_watch *watches[FAKE_WATCHES];
};

void fake_engine_init(cuzk_engine *e);
/* Changes a job, tells watchers. */
void fake_engine_end(cuzk_engine *e, const char *id, cuzk_engine_state state, const char *text);
unsigned fake_engine_watches(cuzk_engine *e);
/* A snapshot with something of everything; free with cuzk_free. */
cuzk_engine_status *fake_status(void);

#endif
