/* The engine's parts, inside engine/shell only. docs/engine.md, "The shell", tells how they work
 * together.
 *
 * One thread, the owner, has the scheduler. Others tell it things by notes: small records that live
 * in whatever they tell of, so that telling needs no memory. It handles a note with the engine's
 * lock held, which everybody else takes to look at tables, and never waits for anything but that.
 *
 * Locks, in the order in which they may be taken:
 *   watch_lock, lock, {a job's open_lock alone}, device, worker, loader, reaper, calls, notes */
#ifndef CUZK_ENGINE_SHELL_STATE_H
#define CUZK_ENGINE_SHELL_STATE_H

#include "engine.h"

#include "base/log.h"
#include "engine/journal/journal.h"

#include <pthread.h>
#include <stdatomic.h>

#define NONE CUZK_SCHED_NONE

enum {
    SHELL_KEYS = 64,         /* known to the scheduler at a time */
    SHELL_BUCKETS = 1024,    /* of the tables of jobs */
    SHELL_RECENT = 256,      /* ended jobs that are still shown */
    SHELL_LOADERS = 2,       /* threads that load keys on the host */
    SHELL_OPENERS = 2,       /* payloads parsed at a time for their plans */
    SHELL_KEY_PATIENCE = 10, /* loading a key may take so many times hang_ns */
    SHELL_MAX_RESULTS = 64,  /* of a shell_dev */
    SHELL_RECENT_SECONDS = 60,
};

typedef struct job job;
typedef struct shell_dev shell_dev;
typedef struct worker worker;

/* To the owner; handled in order. */
typedef struct note note;
struct note {
    note *next;
    void (*handle)(cuzk_engine *e, note *n);
    void (*drop)(note *n); /* when it will not be handled; NULL: nothing to do */
};

/* In the reaper's queue: one of the two. */
typedef struct reaped {
    struct reaped *next;
    struct witness *witness;
    job *job;
} reaped;

/* A witness with those who use it: its partition, a call that stages it. */
typedef struct witness {
    reaped reaped;
    atomic_uint refs;
    cuzk_engine_witness w;
} witness;

/* The owner writes, under the engine's lock; cancel is read by the worker. */
typedef struct part {
    witness *witness;
    uint8_t *bytes; /* what the device gave; until verified */
    uint8_t *proof;
    uint32_t n_bytes, n_proof;
    uint32_t device; /* of its last stage there */
    uint32_t result; /* its number on the device, or NONE */
    uint8_t stage;   /* cuzk_sched_stage; QUEUE: waits; CUZK_STAGES: done */
    bool running;    /* a worker has it */
    bool on_device;  /* lost with it */
    bool faulted;    /* its next start is a retry */
    bool failed;
    atomic_bool cancel;
    uint32_t witness_ms, compute_ms;
    cuzk_engine_moved moved;
} part;

struct job {
    atomic_uint refs; /* of this record */
    atomic_uint work; /* of the provider's object and the payload: the scheduler, running work */
    job *prev, *next; /* engine.jobs, in the order of acceptance */
    job *next_number, *next_request; /* tables */
    job *next_changed, *next_retry;
    reaped reaped;
    cuzk_engine_watch *watches; /* watch_lock */

    /* engine's lock */
    cuzk_engine_job view;     /* id "": not yet in the journal */
    uint64_t ref, number;     /* the scheduler's, the journal's */
    int64_t submitted, ended; /* monotonic */
    bool durable;             /* its acceptance is on the medium: work may begin */
    bool end_waits;           /* for it to be durable */
    bool aborted;             /* never told to anybody, or another's twin: ends in silence */
    bool over;                /* the scheduler ended it */
    bool told;                /* its end is durable */
    bool changed, listed;
    cuzk_sched_outcome outcome;
    cuzk_sched_stage end_stage;
    char fault[sizeof((cuzk_err *)0)->msg]; /* the last one */
    uint64_t key_host_ms, key_device_ms;    /* the parts of view.times.key_load */
    char end_message[CUZK_ENGINE_MESSAGE];
    cuzk_buf result;
    note accept_note, end_note;
    cuzk_status end_status;

    cuzk_engine_plan plan;
    struct shell_key *key;
    uint32_t n_payload_parts;

    pthread_mutex_t open_lock;
    void *object; /* the provider's; NULL: not open */
    cuzk_payload *payload;
    cuzk_journal_job record; /* its meta, while open */
    cuzk_engine_bytes *payload_parts;

    part parts[];
};

/* A key at one place, being loaded or evicted: one at a time. */
typedef struct key_work {
    note note;
    struct key_work *next; /* in a loader's list */
    struct shell_key *key;
    shell_dev *device; /* NULL: the host */
    bool load;         /* else evict */
    cuzk_sched_fault fault;
    int64_t took;
} key_work;

typedef struct shell_key {
    char name[CUZK_ENGINE_KEY_NAME]; /* "": free */
    uint32_t index;                  /* the scheduler's */
    uint32_t pins;                   /* jobs and requests that name it */
    bool defined, dirty;             /* known to the scheduler; asked holds what it does not know */
    bool keep;
    bool ready;                       /* on the host */
    uint32_t busy;                    /* loads and evictions under way */
    cuzk_engine_key_plan plan, asked; /* the scheduler's, the last request's */
    int64_t last_used, load_ns;
    char trouble[CUZK_ENGINE_MESSAGE];
    cuzk_log_limit log;
    struct call *calls;                          /* that wait for it to load or to go */
    key_work works[CUZK_ENGINE_MAX_DEVICES + 1]; /* [0] the host */
} shell_key;

typedef struct loader {
    cuzk_engine *e;
    pthread_t threads[SHELL_LOADERS];
    uint32_t n_threads;
    pthread_mutex_t lock;
    pthread_cond_t wake;
    key_work *head, *tail;
    bool quit;
} loader;

/* A call to a device under way, so that its supervisor sees one that hangs. */
typedef struct device_call {
    struct device_call *prev, *next;
    int64_t since, limit; /* ns; limit 0: none */
    const char *what;
} device_call;

struct shell_dev {
    cuzk_engine *e;
    uint32_t index;
    pthread_t supervisor;
    bool supervised;
    worker *slots;
    loader keys;
    note up_note, down_note, unlend_note;
    uint64_t unlend; /* bytes that were lent to nobody */

    pthread_mutex_t lock;
    pthread_cond_t wake;
    bool tried; /* to open, at least once */
    bool up, acked, quit;
    uint32_t served;  /* calls since it was opened */
    uint32_t pending; /* pieces of work handed out for it and not returned */
    device_call *calls;
    cuzk_engine_device_info info;
    char trouble[CUZK_ENGINE_MESSAGE];
    uint32_t restarts;
    bool aside; /* in quarantine; the supervisor logs it, since the owner waits for nobody */
    struct {
        cuzk_log_limit lost, up, aside, back, key;
    } log;

    /* engine's lock */
    uint64_t results; /* numbers in use */
    int64_t busy_ns;
    cuzk_engine_moved moved;
    job *gate; /* what computes now; a reference */
    uint32_t gate_partition;
    struct call *lend;
};

/* One piece of work, with a use of the job's data (job.work). */
typedef struct item {
    job *job; /* NULL: none */
    uint32_t partition, run;
    cuzk_sched_stage stage;
    shell_dev *device; /* NULL: the host's */
    uint32_t slot, result;
    witness *witness;
    uint64_t ticket; /* the reaper's */
    const uint8_t *bytes;
    uint32_t n_bytes;
    char key[CUZK_ENGINE_KEY_NAME];
} item;

/* What came of it: the worker writes, then the owner reads. */
typedef struct report {
    cuzk_sched_fault fault;
    cuzk_err err;
    int64_t took, key_wait; /* ns */
    cuzk_engine_moved moved;
    witness *witness;
    cuzk_buf answer;
    uint8_t bytes[CUZK_ENGINE_RESULT_MAX];
    size_t n_bytes;
} report;

typedef enum worker_kind {
    WORKER_WITNESS,
    WORKER_SLOT,
    WORKER_FINISHER,
    WORKER_VERIFIER
} worker_kind;

struct worker {
    note note; /* work has ended */
    cuzk_engine *e;
    worker_kind kind;
    uint32_t index;
    pthread_t thread;
    bool started;
    item it;
    report report;
    device_call call;
    pthread_mutex_t lock;
    pthread_cond_t wake;
    item next;
    bool quit;
};

/* A request of some thread that waits for its answer. */
typedef struct call call;
struct call {
    note note;
    cuzk_engine *e;
    call *next_all, *prev_all; /* engine.calls */
    call *next;                /* in the list of what it waits for */
    atomic_uint refs;
    pthread_cond_t wake;
    bool done, left; /* answered; nobody waits any more */
    cuzk_status status;
    cuzk_err err;
    /* asked */
    job *job;
    shell_key *key;
    shell_dev *device;
    uint64_t bytes;
    bool flag; /* checkpoint; load, not evict */
    /* answered */
    cuzk_sched_action action;
    bool yes;
    uint64_t freed;
};

struct cuzk_engine_watch {
    cuzk_engine *e;
    cuzk_engine_watch *prev, *next;
    bool all;
    job *job; /* NULL: all, or one that had ended long before */
    void (*changed)(void *ctx, const cuzk_engine_job *job);
    void *ctx;
};

/* Frees what may take long to free. */
typedef struct reaper {
    pthread_t thread;
    bool started;
    pthread_mutex_t lock;
    pthread_cond_t wake, reaped;
    reaped *head, *tail;
    uint64_t taken, done; /* tickets */
    bool quit;
} reaper;

struct cuzk_engine {
    cuzk_engine_config config; /* its strings are copies */
    const cuzk_work_ops *work;
    void *work_self;
    const cuzk_device_ops *device_ops;
    void *device_self;
    cuzk_journal *journal;
    cuzk_trace_ring *ring;
    int64_t start_ns;

    /* the owner's alone */
    pthread_t owner;
    bool owner_started;
    void *sched_mem;
    cuzk_sched *sched;
    cuzk_sched_action refusal; /* the last KEY_REFUSED */
    call *submitting, *drains;
    bool drained;      /* as the scheduler says */
    uint32_t n_untold; /* jobs that ended and whose ends are not yet durable */
    job *retry;        /* whose ends could not be written */
    int64_t retry_at, sweep_at;
    job *changed; /* to be told to watches */

    pthread_mutex_t notes_lock;
    pthread_cond_t notes_wake;
    note *notes, *notes_last;
    bool stop;

    pthread_mutex_t lock;
    pthread_cond_t moved_on; /* a job is durable, a key is ready, something is cancelled */
    bool closing;            /* no new calls */
    bool halted;             /* the owner has stopped: what work comes to is nobody's any more */
    job *jobs, *jobs_last;
    uint32_t n_jobs, n_live, n_recent;
    job *by_number[SHELL_BUCKETS], *by_request[SHELL_BUCKETS];
    shell_key keys[SHELL_KEYS];
    cuzk_sched_stats stats; /* as of the last note */
    cuzk_sched_device_stats device_stats[CUZK_ENGINE_MAX_DEVICES];
    uint64_t completed[CUZK_ENGINE_KIND_COUNT], failed[CUZK_ENGINE_KIND_COUNT],
        cancelled[CUZK_ENGINE_KIND_COUNT];
    double seconds_sum[CUZK_ENGINE_KIND_COUNT];
    uint64_t seconds_count[CUZK_ENGINE_KIND_COUNT];
    uint64_t partitions_done, retries, refused;
    int64_t last_done, interval; /* of partitions, for hints */
    uint32_t opening;            /* payloads being parsed for their plans */
    pthread_cond_t opened;

    pthread_mutex_t watch_lock;
    cuzk_engine_watch *watches; /* of all jobs */
    atomic_uint n_watches;

    pthread_mutex_t calls_lock;
    call *calls;
    bool calls_ended;
    uint32_t inside; /* calls of the interface under way */
    pthread_cond_t outside;

    uint32_t n_devices;
    shell_dev devices[CUZK_ENGINE_MAX_DEVICES];
    worker *witness, *finishers, *verifiers;
    uint32_t n_witness, n_slots;
    loader loader;
    reaper reaper;
    pthread_t janitor;
    bool janitor_started, janitor_quit;
    pthread_mutex_t janitor_lock;
    pthread_cond_t janitor_wake;
};

/* owner.c */
void cuzk__shell_post(cuzk_engine *e, note *n);
/* One event to the scheduler and what it decides; lock held. */
void cuzk__shell_step(cuzk_engine *e, const cuzk_sched_event *event);
void *cuzk__shell_owner(void *engine);
/* Watches will be told of it; lock held. */
void cuzk__shell_changed(cuzk_engine *e, job *j);

/* act.c: carries out one action; lock held. */
void cuzk__shell_act(cuzk_engine *e, const cuzk_sched_action *a);
/* A worker's report. */
void cuzk__shell_done(cuzk_engine *e, note *n);
/* Takes from the job's partitions on the device what is lost with it. */
void cuzk__shell_lose_parts(cuzk_engine *e, shell_dev *d, const char *why);

/* end.c */
void cuzk__shell_job_end(cuzk_engine *e, job *j, const cuzk_sched_action *a);
void cuzk__shell_write_end(cuzk_engine *e, job *j);
/* Writes ends again that could not be written. */
void cuzk__shell_retry_ends(cuzk_engine *e, int64_t now);
/* Forgets jobs that ended a while ago. */
void cuzk__shell_sweep(cuzk_engine *e, int64_t now);
/* Jobs ended as far as the scheduler knows: answers drains when all ends are durable too. */
void cuzk__shell_answer_drains(cuzk_engine *e);
const char *cuzk__shell_device_name(shell_dev *d, char out[128]);

/* job.c */
cuzk_status cuzk__shell_job_new(cuzk_engine *e, job **out, const cuzk_engine_plan *plan,
                                cuzk_engine_kind kind, int priority, int64_t deadline,
                                cuzk_err *err) CUZK_MUST_CHECK;
void cuzk__shell_job_drop(job *j);
/* When no work uses them any more. */
void cuzk__shell_job_free_proofs(job *j);
void cuzk__shell_job_spec(const job *j, cuzk_sched_job_spec *out);
/* Into and out of the engine's tables; lock held. */
void cuzk__shell_job_list(cuzk_engine *e, job *j);
void cuzk__shell_job_unlist(cuzk_engine *e, job *j);
void cuzk__shell_job_register(cuzk_engine *e, job *j);
job *cuzk__shell_job_find(cuzk_engine *e, const char *id);
/* Opens the job's payload, once; from a worker. */
cuzk_status cuzk__shell_job_open(cuzk_engine *e, job *j, cuzk_err *err) CUZK_MUST_CHECK;
/* A use of its data less; the last one's end closes it, elsewhere. */
void cuzk__shell_job_unuse(cuzk_engine *e, job *j);
void cuzk__shell_job_close(cuzk_engine *e, job *j);
void cuzk__shell_part_release(cuzk_engine *e, part *p);
void cuzk__shell_witness_drop(cuzk_engine *e, witness *w);
/* At the end of the engine, whoever uses it. */
void cuzk__shell_part_free_witness(cuzk_engine *e, part *p);
/* The figures as they are kept in the journal before the job's meta. */
void cuzk__shell_plan_write(cuzk_buf *out, const cuzk_engine_plan *plan, uint32_t n_parts);
cuzk_status cuzk__shell_plan_read(cuzk_engine_plan *plan, uint32_t *n_parts, size_t *skip,
                                  cuzk_journal_part meta, cuzk_err *err) CUZK_MUST_CHECK;

/* keys.c */
/* Looks the key's figures up and keeps its record from being used for another. NOT_FOUND, BUSY. */
cuzk_status cuzk__shell_key_pin(cuzk_engine *e, shell_key **out, const char *name,
                                cuzk_err *err) CUZK_MUST_CHECK;
void cuzk__shell_key_unpin(cuzk_engine *e, shell_key *k); /* lock held */
/* Tells the scheduler its figures; lock held. */
void cuzk__shell_key_define(cuzk_engine *e, shell_key *k);
void cuzk__shell_key_work(cuzk_engine *e, const cuzk_sched_action *a);
void cuzk__shell_key_refused(cuzk_engine *e, const cuzk_sched_action *a);
/* A device is down, and its copies with it; lock held. */
void cuzk__shell_keys_lost(cuzk_engine *e);
cuzk_status cuzk__shell_loader_start(cuzk_engine *e, loader *l, uint32_t threads) CUZK_MUST_CHECK;
void cuzk__shell_loader_stop(loader *l);
cuzk_status cuzk__shell_preload_kept(cuzk_engine *e, cuzk_err *err) CUZK_MUST_CHECK;

/* device.c */
void *cuzk__shell_supervise(void *arg);
void cuzk__shell_unlend(cuzk_engine *e, note *n);
/* It is gone, as somebody noticed. */
void cuzk__shell_device_lost(shell_dev *d, const char *why);
void cuzk__shell_on_lost(void *engine, uint32_t device, const char *why);
/* It was set aside, or is taken again: to be logged. Lock held. */
void cuzk__shell_device_aside(shell_dev *d, bool aside);
/* Before and after a call to the device: false: it is gone, do not call. */
bool cuzk__shell_device_enter(shell_dev *d, device_call *c, int64_t limit, const char *what);
/* Work that was handed out for it will not be done. */
void cuzk__shell_device_skip(shell_dev *d);
/* The note goes to the owner if the device is still there: true. */
bool cuzk__shell_device_leave(shell_dev *d, device_call *c, note *n);

/* work.c */
cuzk_status cuzk__shell_workers_start(cuzk_engine *e, cuzk_err *err) CUZK_MUST_CHECK;
void cuzk__shell_workers_stop(cuzk_engine *e);
void cuzk__shell_workers_free(cuzk_engine *e);
void cuzk__shell_give(worker *w, const item *it);
cuzk_sched_fault cuzk__shell_fault_of(cuzk_status st);

/* reaper.c */
cuzk_status cuzk__shell_reaper_start(cuzk_engine *e) CUZK_MUST_CHECK;
void cuzk__shell_reaper_stop(cuzk_engine *e);
void cuzk__shell_reap_witness(cuzk_engine *e, witness *w);
void cuzk__shell_reap_job(cuzk_engine *e, job *j);
uint64_t cuzk__shell_ticket(cuzk_engine *e);
/* Waits until what was to be freed before the ticket is. */
void cuzk__shell_reaped(cuzk_engine *e, uint64_t ticket);

/* call.c */
/* Counts a thread inside the interface; BUSY when the engine closes. */
cuzk_status cuzk__shell_enter(cuzk_engine *e, cuzk_err *err) CUZK_MUST_CHECK;
void cuzk__shell_leave(cuzk_engine *e);
cuzk_status cuzk__shell_call_new(cuzk_engine *e, call **out,
                                 void (*handle)(cuzk_engine *e, note *n),
                                 cuzk_err *err) CUZK_MUST_CHECK;
/* Waits for the answer; BUSY when it did not come in time (timeout 0: none). Then drop. */
cuzk_status cuzk__shell_call_wait(cuzk_engine *e, call *c, int64_t timeout, const char *what,
                                  cuzk_err *err) CUZK_MUST_CHECK;
void cuzk__shell_call_drop(call *c);
/* The owner's answer; drops the owner's reference. False: nobody waited any more. */
bool cuzk__shell_answer(cuzk_engine *e, call *c, cuzk_status st, const char *fmt, ...)
    CUZK_PRINTF(4, 5);
void cuzk__shell_calls_end(cuzk_engine *e);

/* submit.c */
cuzk_status cuzk__shell_refuse(const cuzk_sched_action *a, const char *key, uint32_t depth,
                               cuzk_err *err);

/* takeup.c: unfinished jobs of the journal, before the owner starts. */
typedef struct takeup {
    job **jobs;
    size_t n, cap;
    uint32_t partitions;
} takeup;
cuzk_status cuzk__shell_takeup_read(cuzk_engine *e, takeup *t, cuzk_err *err) CUZK_MUST_CHECK;
void cuzk__shell_takeup_submit(cuzk_engine *e, takeup *t);
void cuzk__shell_takeup_free(takeup *t);

/* watch.c */
void cuzk__shell_tell(cuzk_engine *e, job *j);

/* text.c: what is kept in the journal, and back. */
void cuzk__shell_times_write(char out[256], const cuzk_engine_times *t);
cuzk_engine_kind cuzk__shell_kind_of(const char *text);
void cuzk__shell_view_of(cuzk_engine_job *out, const cuzk_journal_job *j);

#endif
