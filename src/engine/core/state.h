/* The scheduler's records, inside engine/core only. Everything lives in the caller's block; records
 * refer to one another by index. */
#ifndef CUZK_ENGINE_CORE_STATE_H
#define CUZK_ENGINE_CORE_STATE_H

#include "sched.h"

#define NONE CUZK_SCHED_NONE

typedef enum part_state {
    PART_FREE,
    PART_QUEUED,     /* waits for a witness worker: in queues[Q_WITNESS] */
    PART_WITNESS,    /* runs there */
    PART_READY,      /* waits for a slot: in queues[Q_READY] */
    PART_STAGING,    /* runs */
    PART_STAGED,     /* in a slot, waits for the gate */
    PART_COMPUTING,  /* runs */
    PART_COMPUTED,   /* waits for a finisher: in queues[Q_FINISH] */
    PART_FINISHING,  /* runs */
    PART_FINISHED,   /* waits for a verifier: in queues[Q_VERIFY] */
    PART_VERIFYING,  /* runs */
    PART_DONE,       /* verified */
    PART_ASSEMBLY,   /* the job's last record: waits for its siblings, then in queues[Q_VERIFY] */
    PART_ASSEMBLING, /* runs */
} part_state;

enum { Q_WITNESS, Q_READY, Q_FINISH, Q_VERIFY, QUEUES };

/* Partitions in their order. */
typedef struct queue {
    uint32_t *items;
    uint32_t n;
} queue;

/* Bytes of which a part is kept for reserved jobs; used[0] by others, used[1] by them. */
typedef struct pool {
    uint64_t limit, reserve, used[2];
} pool;

typedef struct part {
    uint32_t job;
    uint32_t index; /* in the job */
    uint32_t run;   /* of the stage that runs; a report of another run is stale */
    part_state state;
    uint32_t device, slot; /* NONE: none */
    uint32_t worker;       /* witness worker, finisher or verifier while it runs */
    uint32_t failed_on;    /* devices, one bit each */
    uint32_t last_device;  /* of the last failure */
    uint8_t device_faults, host_faults;
    cuzk_sched_stage fault_stage; /* of the last failure */
    bool holder;                  /* counts in cuzk_sched.holders */
    bool has_witness, has_scratch, has_host_key, has_device_key, has_slot_memory, has_result;
} part;

typedef struct job {
    cuzk_sched_job_spec spec;
    uint64_t seq;
    uint32_t generation; /* of the record, in the reference */
    uint32_t left;       /* partitions not yet verified */
    uint32_t live;       /* part records not yet free */
    bool used, started, ended;
    uint32_t parts[CUZK_SCHED_MAX_PARTITIONS + 1]; /* NONE: free */
} job;

/* A key at one place. */
typedef struct copy {
    cuzk_sched_key_state state;
    uint32_t users; /* partitions */
    uint32_t faults;
    uint8_t account; /* of the pool */
    int64_t last_used;
} copy;

typedef struct key {
    cuzk_sched_key_spec spec;
    uint32_t jobs; /* live ones that name it */
    bool defined;
    bool preload; /* asked for; evictions make room for it */
    bool warm;    /* asked for; devices that have room load it once it is on the host */
    bool leaves;  /* evicted while devices loaded it for nobody: goes when they have */
} key;

typedef struct device {
    uint32_t kinds;
    bool up, quarantined;
    int64_t until;         /* of the quarantine */
    uint32_t faults, good; /* good: partitions verified since the last fault or forgiveness */
    uint64_t fault_job;    /* sequence number + 1 of the last job that counted as a fault */
    uint32_t gate;         /* partition that computes, or NONE */
    uint32_t results;      /* that wait for or are with a finisher */
    pool memory;
    uint64_t lent, lend; /* to other programs; asked for and not yet free */
} device;

struct cuzk_sched {
    cuzk_sched_config config;
    int64_t now;
    uint64_t next_seq;
    uint32_t next_run;
    int64_t next_deadline; /* not later than the first one */

    job *jobs;
    part *parts;
    key *keys;
    copy *copies; /* [key][place], place 0 the host, 1 + d a device */
    device *devices;
    uint32_t *slots;                           /* [device][slot]: partition or NONE */
    uint32_t *witness, *finishing, *verifying; /* [worker]: partition or NONE */
    queue queues[QUEUES];
    uint32_t n_live, n_started;   /* jobs not ended; jobs with memory of their own */
    uint32_t n_jobs, n_parts;     /* used records */
    uint32_t free_job, free_part; /* where to look for a free one */

    pool host, pinned;
    uint32_t holders;         /* partitions with host memory or a key */
    uint32_t queued_reserved; /* of queues[Q_WITNESS] */

    bool draining, checkpoint, drained;
    bool recheck;        /* a device or key became unusable: some job may have no device left */
    bool witness_paused; /* found by the last dispatch */
    int64_t last_done, done_interval; /* of partitions, for retry hints */

    cuzk_sched_action *actions;
    size_t n_actions, max_actions;
    bool overflow; /* a bound on the actions of one step was wrong */
};

static inline job *job_of(const cuzk_sched *s, const part *p) {
    return &s->jobs[p->job];
}
static inline uint32_t part_id(const cuzk_sched *s, const part *p) {
    return (uint32_t)(p - s->parts);
}
static inline copy *copy_at(const cuzk_sched *s, uint32_t k, uint32_t place) {
    return &s->copies[(size_t)k * (s->config.n_devices + 1) + place];
}
static inline uint32_t slots_of(const cuzk_sched *s) {
    return s->config.slots_per_device + s->config.reserved_slots;
}
static inline uint32_t *slot_at(const cuzk_sched *s, uint32_t d, uint32_t slot) {
    return &s->slots[(size_t)d * slots_of(s) + slot];
}
static inline uint64_t job_ref(const cuzk_sched *s, const job *j) {
    return (uint64_t)j->generation << 32 | (uint64_t)(j - s->jobs);
}
static inline cuzk_sched_mem mem_add(cuzk_sched_mem a, cuzk_sched_mem b) {
    return (cuzk_sched_mem){a.host + b.host, a.pinned + b.pinned};
}

/* Figures whose sums cannot overflow. */
static inline bool mem_sane(cuzk_sched_mem m) {
    return m.host >> 56 == 0 && m.pinned >> 56 == 0;
}

/* queue.c: order and queues. */
/* Negative when a comes before b. */
int cuzk__sched_compare(const cuzk_sched *s, uint32_t a, uint32_t b);
void cuzk__sched_push(cuzk_sched *s, int q, uint32_t p);
void cuzk__sched_remove(cuzk_sched *s, int q, uint32_t p);
/* How many of the queue come before p. */
uint32_t cuzk__sched_before(const cuzk_sched *s, int q, uint32_t p);

/* budget.c: pools. account: 0 general, 1 reserved. */
bool cuzk__pool_fits(const pool *p, uint64_t need, int account);
bool cuzk__sched_host_fits(const cuzk_sched *s, cuzk_sched_mem need, int account);
void cuzk__sched_host_take(cuzk_sched *s, cuzk_sched_mem need, int account);
void cuzk__sched_host_give(cuzk_sched *s, cuzk_sched_mem need, int account);
/* Whether the job may begin: whatever other begun jobs hold, each of them and this one could still
 * get its key and a witness when nothing else runs. */
bool cuzk__sched_may_begin(const cuzk_sched *s, const job *j);
/* The same of the begun jobs, after a key became one that is kept. */
bool cuzk__sched_may_keep(const cuzk_sched *s);
/* The reason why a job with these needs can never run, or NONE. */
cuzk_sched_reason cuzk__sched_never_fits(const cuzk_sched *s, const cuzk_sched_job_spec *spec,
                                         uint64_t *need, uint64_t *limit);
/* Whether the device, when nothing else runs there, has room for the job. */
/* Bytes of kept keys on every device, but of one (or NONE). */
uint64_t cuzk__sched_kept_on_device(const cuzk_sched *s, uint32_t but);
bool cuzk__sched_device_fits(const cuzk_sched *s, const cuzk_sched_job_spec *spec, uint32_t d);

/* keys.c */
typedef enum got { GOT_IT, GOT_LATER, GOT_NO } got;
/* A partition's witness memory and its key on the host, together or not at all: GOT_NO: must wait
 * for memory. */
bool cuzk__sched_take_host(cuzk_sched *s, part *p);
/* A partition's key and slot memory on a device: GOT_IT; GOT_LATER: its key is on the way, others
 * may go first; GOT_NO: must wait for memory. */
got cuzk__sched_take_device(cuzk_sched *s, part *p, uint32_t d);
void cuzk__sched_drop_key(cuzk_sched *s, part *p, bool host);
/* Whether the key could not be loaded on the device. */
bool cuzk__sched_key_bad(const cuzk_sched *s, uint32_t k, uint32_t d);
/* A load on the device that failed may be tried again: of every key, at once; of a key that a new
 * job names, when a minute has passed. */
void cuzk__sched_keys_retry(cuzk_sched *s, uint32_t d);
void cuzk__sched_key_asked(cuzk_sched *s, uint32_t k);
void cuzk__sched_key_event(cuzk_sched *s, const cuzk_sched_event *e);
/* Loads kept keys, and once those asked for, on devices that lack them and have room; and keys
 * whose preload waits for room. */
void cuzk__sched_keep_warm(cuzk_sched *s);
/* Forgets what was loaded on a device. */
void cuzk__sched_keys_lost(cuzk_sched *s, uint32_t d);

/* Bytes on a device without a partition or key: true when they are free now; else begins to evict
 * idle keys for them. */
bool cuzk__sched_clear_device(cuzk_sched *s, uint32_t d, uint64_t bytes);

/* lend.c */
void cuzk__sched_lend_event(cuzk_sched *s, const cuzk_sched_event *e);
/* Hands out what was asked for and is free by now. */
void cuzk__sched_lend(cuzk_sched *s);

/* job.c */
void cuzk__sched_submit(cuzk_sched *s, const cuzk_sched_job_spec *spec);
/* NULL for a reference that is stale or that never was. */
job *cuzk__sched_find(const cuzk_sched *s, uint64_t ref);
/* Ends a job, once. */
void cuzk__sched_end(cuzk_sched *s, job *j, cuzk_sched_outcome outcome, cuzk_sched_stage stage,
                     cuzk_sched_reason reason);
/* Frees the partition's record, and the job's with its last one. */
void cuzk__sched_free_part(cuzk_sched *s, part *p);
void cuzk__sched_expire(cuzk_sched *s);

/* part.c: what a partition holds, and its steps. */
bool cuzk__sched_runs(const part *p);
/* Between STAGE's start and FINISH's end: lost when the device goes down. */
bool cuzk__sched_on_device(const part *p);
cuzk_sched_stage cuzk__sched_stage_of(part_state state);
/* Gives back everything and leaves every queue, slot and worker; state PART_DONE. */
void cuzk__sched_release(cuzk_sched *s, part *p);
/* The same, but keeps the witness and the host's key. */
void cuzk__sched_release_device(cuzk_sched *s, part *p);
void cuzk__sched_start_partition(cuzk_sched *s, part *p, part_state state, uint32_t worker);
void cuzk__sched_done(cuzk_sched *s, const cuzk_sched_event *e);
uint32_t cuzk__sched_slots_busy(const cuzk_sched *s, uint32_t d);

/* fault.c */
/* The stage of p failed: again here, again elsewhere, or the job fails. p may be gone afterwards.
 * blame: the device is not yet known to be at fault. */
void cuzk__sched_fault(cuzk_sched *s, part *p, cuzk_sched_fault fault, bool blame);
/* Whether the device may take p now. */
bool cuzk__sched_eligible(const cuzk_sched *s, const part *p, uint32_t d);
/* Whether some device takes the kind, today or after its quarantine. */
bool cuzk__sched_kind_possible(const cuzk_sched *s, uint32_t kind);
/* The same of a job not yet accepted, with its key and its memory: what is accepted without such a
 * device would wait for ever. */
bool cuzk__sched_placeable(const cuzk_sched *s, const cuzk_sched_job_spec *spec);
/* Counts a fault of the device; j: the job at which it showed, NULL: the device's own. */
void cuzk__sched_device_fault(cuzk_sched *s, uint32_t d, const job *j);
/* A partition from the device was verified. */
void cuzk__sched_device_good(cuzk_sched *s, uint32_t d);
void cuzk__sched_device_event(cuzk_sched *s, const cuzk_sched_event *e);
void cuzk__sched_quarantine_timers(cuzk_sched *s);
/* Fails the jobs that no device may take any more. */
void cuzk__sched_fail_unplaceable(cuzk_sched *s);

/* dispatch.c: starts whatever may start. */
void cuzk__sched_dispatch(cuzk_sched *s);

/* step.c */
cuzk_sched_action *cuzk__sched_emit(cuzk_sched *s, cuzk_sched_action_type type);
/* The same about a job (may be NULL) and its partition (may be NULL). */
cuzk_sched_action *cuzk__sched_emit_part(cuzk_sched *s, cuzk_sched_action_type type, const job *j,
                                         const part *p);

#endif
