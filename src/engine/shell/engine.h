/* The engine: jobs come in, verified proofs come out. It carries out the scheduler's decisions
 * (engine/core) with threads, keeps jobs in the journal (engine/journal), calls its providers for
 * the work, and tells what happens (engine/trace, counters, snapshots).
 *
 * All functions may be called from any thread. Those marked "blocks" wait for the medium or for
 * other work (milliseconds to minutes) and must not be called from an event loop; the others take
 * microseconds. */
#ifndef CUZK_ENGINE_SHELL_ENGINE_H
#define CUZK_ENGINE_SHELL_ENGINE_H

#include "base/buf.h"
#include "base/status.h"
#include "engine/core/sched.h"
#include "engine/shell/provider.h"
#include "engine/trace/trace.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    CUZK_ENGINE_JOB_ID = 64,
    CUZK_ENGINE_REQUEST_ID = 256,
    CUZK_ENGINE_MAX_DEVICES = 32,
    CUZK_ENGINE_MESSAGE =
        768, /* bytes of a failure's sentence: a cuzk_err and what stands before */
};

typedef struct cuzk_engine cuzk_engine;

typedef struct cuzk_engine_config {
    const char *state_dir;
    uint32_t witness_workers, reserved_witness_workers; /* 0 workers: by cores and memory */
    uint32_t max_ready;                                 /* witnesses that wait for a device */
    uint32_t workers_per_device;                        /* slots; default 2 */
    uint32_t reserved_slots;
    uint32_t finishers, verifiers;
    uint32_t max_jobs;                   /* accepted and not ended, queued ones counted */
    uint64_t host_memory, pinned_memory; /* budgets, bytes */
    uint64_t reserved_host, reserved_pinned, reserved_device;
    uint64_t device_memory[CUZK_ENGINE_MAX_DEVICES]; /* 0: what the device says */
    uint32_t device_kinds[CUZK_ENGINE_MAX_DEVICES];  /* bit k: takes kind k; 0: all */
    uint32_t quarantine_after;
    int64_t quarantine_ns;    /* 0: until restored by hand */
    int64_t hang_ns;          /* a device call that takes longer: its worker is ended; 0: never */
    int64_t eviction_idle_ns; /* has no effect: a key goes when its memory is needed and nobody uses
                                 it, the least recently used first, however short ago that was */
    const char *const *preload; /* keys loaded at the start and kept */
    uint32_t n_preload;
    uint64_t spool_bytes;                       /* payloads and results on disk; 0: no limit */
    int64_t retention_ns;                       /* finished jobs are kept so long; 0: for ever */
    uint32_t retention_jobs;                    /* and no more than so many; 0: no limit */
    uint32_t trace_events;                      /* of the timeline's ring */
    bool recover;                               /* set a damaged journal aside and begin anew */
    cuzk_sched_stage slot_until, witness_until; /* see sched.h; COMPUTE, VERIFY */
    uint32_t results_per_device;                /* 4; at most 64 */
} cuzk_engine_config;

/* Defaults; state_dir stays NULL. */
void cuzk_engine_config_init(cuzk_engine_config *c);

/* Blocks. Opens the journal, opens devices, takes up unfinished jobs, starts threads. config and
 * providers' objects must outlive the engine (config's strings are copied). */
cuzk_status cuzk_engine_open(cuzk_engine **out, const cuzk_engine_config *config,
                             const cuzk_engine_providers *providers, cuzk_err *err) CUZK_MUST_CHECK;
/* Blocks. Stops at once: what runs is left (its devices are closed), accepted jobs stay in the
 * journal for the next start. NULL is ignored. */
void cuzk_engine_close(cuzk_engine *e);

/* ---- jobs ---- */

typedef struct cuzk_engine_request {
    const char *request_id; /* idempotency key; NULL or "": none */
    int priority;           /* 1 low to 4 critical; 0: by kind */
    int64_t deadline_ns;    /* CLOCK_REALTIME; 0: none */
    const char *client;     /* who asked, for the status page */
    cuzk_engine_payload payload;
} cuzk_engine_request;

typedef struct cuzk_engine_accepted {
    char job_id[CUZK_ENGINE_JOB_ID];
    uint32_t position; /* jobs that rank before it */
    uint32_t depth;    /* jobs accepted and not ended */
    bool existed;      /* the same request was accepted before */
} cuzk_engine_accepted;

typedef struct cuzk_engine_refusal {
    cuzk_sched_reason reason;
    uint64_t need, limit;   /* bytes */
    int64_t retry_after_ns; /* of QUEUE_FULL */
    uint32_t depth;
} cuzk_engine_refusal;

/* Blocks until the job is in the journal. BUSY: refused, try again (*refusal says when and why);
 * NO_MEMORY: never fits (figures in *refusal); CONFLICT: request_id is another payload's;
 * BAD_INPUT: the payload; NOT_FOUND: the key's file is missing; NO_DEVICE; IO: the journal. */
cuzk_status cuzk_engine_submit(cuzk_engine *e, const cuzk_engine_request *request,
                               cuzk_engine_accepted *accepted, cuzk_engine_refusal *refusal,
                               cuzk_err *err) CUZK_MUST_CHECK;

typedef enum cuzk_engine_state {
    CUZK_ENGINE_QUEUED,
    CUZK_ENGINE_RUNNING,
    CUZK_ENGINE_DONE,
    CUZK_ENGINE_FAILED,
    CUZK_ENGINE_CANCELLED,
    CUZK_ENGINE_DEADLINE, /* its deadline passed */
} cuzk_engine_state;
const char *cuzk_engine_state_name(cuzk_engine_state s);  /* "queued", … */
const char *cuzk_engine_kind_name(cuzk_engine_kind kind); /* "porep_c2", … */

typedef struct cuzk_engine_times { /* ms; sums over partitions where several */
    uint64_t queue_wait, key_load, witness, compute, total;
} cuzk_engine_times;

typedef struct cuzk_engine_job {
    char id[CUZK_ENGINE_JOB_ID], request_id[CUZK_ENGINE_REQUEST_ID], key[CUZK_ENGINE_KEY_NAME],
        client[64];
    cuzk_engine_kind kind;
    cuzk_engine_state state;
    int priority;
    int64_t submitted_ns, ended_ns, deadline_ns; /* CLOCK_REALTIME; 0: none */
    uint32_t n_partitions, partitions_done;
    cuzk_engine_times times;
    char message[CUZK_ENGINE_MESSAGE]; /* of a failure: stage, reason, remedy */
    cuzk_engine_moved moved;           /* all partitions; in this run of the engine */
} cuzk_engine_job;

/* A job by its id or request id. NOT_FOUND. */
cuzk_status cuzk_engine_get(cuzk_engine *e, const char *id, cuzk_engine_job *out,
                            cuzk_err *err) CUZK_MUST_CHECK;
/* Blocks (reads the disk). The proof of a job that is DONE; appends to *out. fetched: note that the
 * client has it. */
cuzk_status cuzk_engine_result(cuzk_engine *e, const char *id, bool fetched, cuzk_buf *out,
                               cuzk_err *err) CUZK_MUST_CHECK;
/* Blocks. Newest first, from before `before` (a submitted_ns; 0: now), at most *n; sets *n. */
cuzk_status cuzk_engine_list(cuzk_engine *e, int64_t before, cuzk_engine_job *out, size_t *n,
                             cuzk_err *err) CUZK_MUST_CHECK;
/* *running: it had begun. A job that ended: OK, *running false, stays as it is. */
cuzk_status cuzk_engine_cancel(cuzk_engine *e, const char *id, bool *running,
                               cuzk_err *err) CUZK_MUST_CHECK;

/* Calls changed(ctx, job) with every change of the job (a partition done, an end), the first time
 * at once with its state now; "" watches all jobs. Called from an engine thread, the first
 * time from within cuzk_engine_watch_new: must not block nor call the engine; post it on. After
 * unwatch returns no call comes any more; a lock that `changed` takes must not be held around
 * unwatch. All are to be unwatched before cuzk_engine_close. */
typedef struct cuzk_engine_watch cuzk_engine_watch;
cuzk_status cuzk_engine_watch_new(cuzk_engine *e, const char *id,
                                  void (*changed)(void *ctx, const cuzk_engine_job *job), void *ctx,
                                  cuzk_engine_watch **out, cuzk_err *err) CUZK_MUST_CHECK;
void cuzk_engine_unwatch(cuzk_engine_watch *w);

/* ---- keys, devices, the whole ---- */

/* Blocks until the key is loaded on the host; devices that have room for it load it next. */
cuzk_status cuzk_engine_preload(cuzk_engine *e, const char *key, bool *already, int64_t *took_ns,
                                cuzk_err *err) CUZK_MUST_CHECK;
/* Blocks. BUSY when in use. */
cuzk_status cuzk_engine_evict(cuzk_engine *e, const char *key, bool *was_loaded, uint64_t *freed,
                              cuzk_err *err) CUZK_MUST_CHECK;
/* Blocks until the memory is free. take_back: bytes 0 takes back all. */
cuzk_status cuzk_engine_lend(cuzk_engine *e, uint32_t device, uint64_t bytes, int64_t timeout_ns,
                             cuzk_err *err) CUZK_MUST_CHECK;
cuzk_status cuzk_engine_take_back(cuzk_engine *e, uint32_t device, uint64_t bytes,
                                  cuzk_err *err) CUZK_MUST_CHECK;
cuzk_status cuzk_engine_restore(cuzk_engine *e, uint32_t device, cuzk_err *err) CUZK_MUST_CHECK;
/* Refuses new jobs from now on. Blocks until all ended, or with checkpoint until what runs is at
 * the end of its partition; BUSY when timeout_ns (0: none) passed before. */
cuzk_status cuzk_engine_drain(cuzk_engine *e, bool checkpoint, int64_t timeout_ns,
                              cuzk_err *err) CUZK_MUST_CHECK;
cuzk_status cuzk_engine_resume(cuzk_engine *e, cuzk_err *err) CUZK_MUST_CHECK;

typedef struct cuzk_engine_device_status {
    cuzk_engine_device_info info;
    cuzk_sched_device_stats sched;
    uint32_t restarts; /* of its worker */
    uint32_t kinds;
    /* what its gate holds now, else empty */
    char job_id[CUZK_ENGINE_JOB_ID];
    cuzk_engine_kind kind;
    uint32_t partition;
    int64_t busy_ns;                   /* gate held since the start, sum */
    cuzk_engine_moved moved;           /* sums since the start */
    char trouble[CUZK_ENGINE_MESSAGE]; /* its last error */
} cuzk_engine_device_status;

typedef struct cuzk_engine_key_status {
    char name[CUZK_ENGINE_KEY_NAME];
    bool present, loaded, loading;
    uint32_t device_mask; /* bit d: on device d */
    uint32_t users;
    uint64_t size, host_bytes;
    int64_t last_used_ns, load_ns; /* monotonic; took */
} cuzk_engine_key_status;

typedef struct cuzk_engine_partition_status {
    uint8_t stage; /* cuzk_sched_stage; CUZK_STAGE_QUEUE waits; CUZK_STAGES: done */
    bool failed;
    uint32_t device; /* CUZK_SCHED_NONE */
    uint32_t witness_ms, compute_ms;
    cuzk_engine_moved moved; /* all its tries */
} cuzk_engine_partition_status;

typedef struct cuzk_engine_live_job {
    cuzk_engine_job job;
    cuzk_engine_partition_status partitions[CUZK_SCHED_MAX_PARTITIONS];
} cuzk_engine_live_job;

/* Allocated as one piece; free with cuzk_free. Live jobs in order, then those that ended within
 * the last minute. */
typedef struct cuzk_engine_status {
    int64_t now_ns, start_ns; /* monotonic */
    int64_t wall_ns;          /* CLOCK_REALTIME now */
    cuzk_sched_stats sched;
    uint64_t completed[CUZK_ENGINE_KIND_COUNT], failed[CUZK_ENGINE_KIND_COUNT],
        cancelled[CUZK_ENGINE_KIND_COUNT]; /* over restarts; past deadlines count as failed */
    uint64_t pending[CUZK_ENGINE_KIND_COUNT], running[CUZK_ENGINE_KIND_COUNT]; /* jobs */
    double seconds_sum[CUZK_ENGINE_KIND_COUNT]; /* of jobs that ended well since the start */
    uint64_t seconds_count[CUZK_ENGINE_KIND_COUNT];
    uint64_t partitions_done, retries, refused;
    uint64_t spool_used, rss;
    cuzk_status journal; /* of its last write: not CUZK_OK while it cannot be written */
    uint32_t witness_workers, workers_per_device, max_jobs; /* as configured, or worked out */
    size_t n_devices, n_keys, n_jobs;
    cuzk_engine_device_status *devices;
    cuzk_engine_key_status *keys;
    cuzk_engine_live_job *jobs;
} cuzk_engine_status;

cuzk_status cuzk_engine_snapshot(cuzk_engine *e, cuzk_engine_status **out,
                                 cuzk_err *err) CUZK_MUST_CHECK;

/* Adds the timeline's events to a list. Job names: cuzk_trace_add's numbers are journal sequence
 * numbers; names are filled in. */
cuzk_status cuzk_engine_trace(cuzk_engine *e, cuzk_trace *out) CUZK_MUST_CHECK;

#endif
