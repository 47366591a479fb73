/* The scheduler: who may use which worker, device and memory when. A state machine without
 * threads, clocks, allocation or I/O: events go in with the time at which they happened, decisions
 * come out. The daemon and the simulator link this same object, so what a simulation shows is what
 * the daemon does, and a recorded list of events replays.
 *
 * A job is cut into partitions. A partition passes through
 *
 *   queued -> WITNESS -> ready -> STAGE -> (gate) -> COMPUTE -> FINISH -> VERIFY -> done
 *
 * and when all of a job's partitions are done, ASSEMBLE ends the job. Every wait is a queue in the
 * order (priority, deadline, order of submission, partition). docs/engine.md has the rules.
 *
 * How a caller uses it:
 *
 *   mem = whatever(cuzk_sched_bytes(&config));
 *   s = cuzk_sched_init(mem, &config);
 *   n = cuzk_sched_step(s, &event, now, &actions);   carry out actions[0 .. n), report what came
 *   ...                                               of each by a later event
 *   at cuzk_sched_next_timer(s): step with CUZK_EV_TICK
 *
 * Nothing here is thread-safe: one thread owns a scheduler. */
#ifndef CUZK_ENGINE_CORE_SCHED_H
#define CUZK_ENGINE_CORE_SCHED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CUZK_SCHED_NEVER INT64_MAX /* no deadline, no timer */
#define CUZK_SCHED_NONE UINT32_MAX /* no key, no device, no worker */
#define CUZK_SCHED_HOST UINT32_MAX /* as a key's place: the host, not a device */

enum {
    CUZK_SCHED_MAX_PARTITIONS = 64, /* of one job */
    CUZK_SCHED_MAX_DEVICES = 32,
    CUZK_SCHED_MAX_KINDS = 32,
    CUZK_SCHED_FORGIVEN_AFTER = 4,
};

/* name, text */
#define CUZK_SCHED_STAGES(X)                                                                       \
    X(WITNESS, "witness")   /* values of every wire, on a witness worker */                        \
    X(STAGE, "stage")       /* the witness to a slot of a device */                                \
    X(COMPUTE, "compute")   /* the kernels: one at a time on a device, the gate */                 \
    X(FINISH, "finish")     /* the sums from the device, the proof from the sums */                \
    X(VERIFY, "verify")     /* the partition's proof */                                            \
    X(ASSEMBLE, "assemble") /* the job's answer, of all partitions */                              \
    X(KEY, "key")           /* loading a key; only in reports */                                   \
    X(QUEUE, "queue")       /* waiting; only in reports */

typedef enum cuzk_sched_stage {
#define CUZK__STAGE(name, text) CUZK_STAGE_##name,
    CUZK_SCHED_STAGES(CUZK__STAGE)
#undef CUZK__STAGE
        CUZK_STAGES
} cuzk_sched_stage;

/* What came of a piece of work. */
typedef enum cuzk_sched_fault {
    CUZK_FAULT_NONE,
    CUZK_FAULT_ERROR, /* an error that may not come again: tried again */
    CUZK_FAULT_WRONG, /* the result does not verify: tried again */
    CUZK_FAULT_INPUT, /* the job's own fault: never tried again */
} cuzk_sched_fault;

typedef enum cuzk_sched_outcome {
    CUZK_OUTCOME_DONE,
    CUZK_OUTCOME_FAILED,
    CUZK_OUTCOME_CANCELLED,
    CUZK_OUTCOME_DEADLINE,
} cuzk_sched_outcome;

/* Why a job or a request is refused, or failed. */
typedef enum cuzk_sched_reason {
    CUZK_REASON_NONE,
    CUZK_REASON_INVALID,    /* no such key or kind, no or too many partitions */
    CUZK_REASON_QUEUE_FULL, /* try again after retry_after */
    CUZK_REASON_DRAINING,
    CUZK_REASON_LATE,      /* the deadline is past */
    CUZK_REASON_HOST,      /* needs more host memory than there will ever be: need, limit */
    CUZK_REASON_PINNED,    /* the same of pinned memory */
    CUZK_REASON_DEVICE,    /* the same of every device that may take the job */
    CUZK_REASON_NO_DEVICE, /* none takes the kind, or all that do are set aside or failed to load
                              the key; a new job has them try the key again after a minute */
    CUZK_REASON_IN_USE,    /* the key is in use */
    CUZK_REASON_FAULT,     /* the stage failed as often as it may */
} cuzk_sched_reason;

/* Host memory: `host` pageable and `pinned` bytes; both count against the host's limit, pinned
 * ones also against their own. */
typedef struct cuzk_sched_mem {
    uint64_t host, pinned;
} cuzk_sched_mem;

typedef struct cuzk_sched_device {
    uint64_t memory; /* bytes */
    uint32_t kinds;  /* bit k: takes jobs of kind k */
} cuzk_sched_device;

typedef struct cuzk_sched_config {
    uint32_t max_jobs;       /* live at a time, queued ones counted */
    uint32_t max_partitions; /* of all live jobs; a job of n takes n + 1 */
    uint32_t max_keys;
    uint32_t n_devices;
    const cuzk_sched_device *devices;  /* copied */
    uint32_t witness_workers;          /* for every job */
    uint32_t reserved_witness_workers; /* for reserved jobs alone */
    uint32_t max_ready; /* witnesses that may wait for a device beside one held by each worker: a
                           worker pauses while witnesses that are ready and those being made are
                           witness_workers + max_ready. A partition that ranks before the waiting
                           ones may exceed that by max_ready */
    uint32_t slots_per_device;
    uint32_t reserved_slots;     /* more of them on each device, for reserved jobs alone */
    uint32_t results_per_device; /* results that may wait for or be with a finisher */
    uint32_t finishers;
    uint32_t verifiers;             /* verify and assemble */
    cuzk_sched_stage slot_until;    /* the slot is free after COMPUTE, FINISH or VERIFY */
    cuzk_sched_stage witness_until; /* the witness's memory is free after STAGE, COMPUTE, FINISH or
                                       VERIFY; before VERIFY a retry makes it again */
    uint64_t host_memory, pinned_memory;
    cuzk_sched_mem reserved;   /* of these, for reserved jobs alone */
    uint64_t reserved_device;  /* of each device's memory */
    uint32_t quarantine_after; /* faults of different jobs or crashes; CUZK_SCHED_FORGIVEN_AFTER
                                  verified partitions in a row make one good. 0: never */
    int64_t quarantine_ns;     /* how long; 0: until CUZK_EV_DEVICE_RESTORE */
} cuzk_sched_config;

typedef struct cuzk_sched_key_spec {
    cuzk_sched_mem host;
    uint64_t device; /* bytes on each device that uses it; 0: none is loaded there */
    bool keep;       /* loaded at once and never evicted */
} cuzk_sched_key_spec;

typedef struct cuzk_sched_job_spec {
    uint64_t cookie;  /* the caller's; repeated in every action */
    uint32_t kind;    /* below CUZK_SCHED_MAX_KINDS, for devices' affinity */
    uint32_t key;     /* CUZK_SCHED_NONE: none */
    int priority;     /* higher first */
    int64_t deadline; /* CUZK_SCHED_NEVER: none */
    bool reserved;    /* may use the reserved workers, slots and memory */
    uint32_t n_partitions;
    uint64_t done;          /* partitions that are proved already: bit p */
    cuzk_sched_mem shared;  /* from its first witness to its end */
    cuzk_sched_mem witness; /* of each partition, from its witness's start to witness_until */
    cuzk_sched_mem scratch; /* of each partition, while its witness is made */
    uint64_t slot;          /* device bytes of a slot */
} cuzk_sched_job_spec;

typedef enum cuzk_sched_event_type {
    CUZK_EV_TICK,        /* time passed */
    CUZK_EV_SUBMIT,      /* spec -> ACCEPTED or REFUSED */
    CUZK_EV_CANCEL,      /* job */
    CUZK_EV_DONE,        /* job, partition, run: the started stage ended with fault */
    CUZK_EV_KEY_DEFINE,  /* key, key_spec: before jobs use it; again only while absent */
    CUZK_EV_KEY_PRELOAD, /* key, to the host, then once to the devices that have room -> KEY_LOAD,
                            KEY_REFUSED or nothing (is there) */
    CUZK_EV_KEY_EVICT,   /* key, everywhere -> KEY_EVICT, KEY_REFUSED or nothing (is absent, or goes
                            when loads on devices that no job waits for have ended). As with
                            DEFINE and PRELOAD, devices that could not load it may try again */
    CUZK_EV_KEY_LOADED,  /* key, device: KEY_LOAD ended with fault */
    CUZK_EV_KEY_EVICTED, /* key, device: KEY_EVICT ended */
    CUZK_EV_DEVICE_UP,   /* device: its worker runs, nothing is loaded. All begin down. bytes: how
                            much memory it has; 0: as before */
    CUZK_EV_DEVICE_DOWN, /* device: its worker is gone, and with it all work and keys there. What
                            was under way there must not be reported afterwards */
    CUZK_EV_DEVICE_RESTORE, /* device: ends its quarantine; it tries again to load any key */
    CUZK_EV_LEND,           /* device, bytes: give up memory to another program -> LENT, once it is
                               free (idle keys go, running work ends first), or LEND_REFUSED */
    CUZK_EV_TAKE_BACK,      /* device, bytes of what was lent; more than that takes back all, and a
                               request that still waits ends */
    CUZK_EV_DRAIN,          /* refuse new jobs; checkpoint: start no witness either -> DRAINED */
    CUZK_EV_RESUME,         /* after DRAIN */
} cuzk_sched_event_type;

typedef struct cuzk_sched_event {
    cuzk_sched_event_type type;
    uint64_t job; /* as in ACCEPTED; one that has ended is ignored */
    uint32_t partition, run;
    cuzk_sched_fault fault;
    uint32_t key, device;
    uint64_t bytes;
    bool checkpoint;
    const cuzk_sched_job_spec *spec;
    const cuzk_sched_key_spec *key_spec;
} cuzk_sched_event;

typedef enum cuzk_sched_action_type {
    CUZK_ACT_ACCEPTED, /* job, position: jobs that rank before it */
    CUZK_ACT_REFUSED,  /* reason, need, limit, retry_after */
    CUZK_ACT_START,    /* stage of job's partition, run; worker, device. Always answered by
                          one CUZK_EV_DONE, unless the device went down */
    CUZK_ACT_STOP,     /* the same, whose result is not wanted any more: DONE may come early */
    CUZK_ACT_PARTITION_DONE, /* job, partition, device: verified; for the journal */
    CUZK_ACT_JOB_END,        /* outcome, stage, reason: once for every accepted job */
    CUZK_ACT_JOB_FREE,       /* nothing uses the job's data any more; after JOB_END */
    CUZK_ACT_KEY_LOAD,       /* key, device (or CUZK_SCHED_HOST) */
    CUZK_ACT_KEY_EVICT,      /* key, device (or CUZK_SCHED_HOST) */
    CUZK_ACT_KEY_REFUSED,    /* key, reason, need, limit */
    CUZK_ACT_LENT,           /* device, need: so many bytes are free for it */
    CUZK_ACT_LEND_REFUSED,   /* device, need, limit: never free, or another request waits */
    CUZK_ACT_QUARANTINE,     /* device */
    CUZK_ACT_RESTORE,        /* device: its quarantine ended */
    CUZK_ACT_DRAINED,        /* no job is left, or with checkpoint no work */
} cuzk_sched_action_type;

typedef struct cuzk_sched_action {
    cuzk_sched_action_type type;
    cuzk_sched_stage stage;
    uint64_t job, cookie;
    uint32_t partition, run; /* of ASSEMBLE the partition is the number of partitions */
    uint32_t worker;         /* witness worker, slot, finisher or verifier */
    uint32_t device, key;
    uint32_t position;
    cuzk_sched_outcome outcome;
    cuzk_sched_reason reason;
    uint64_t need, limit; /* bytes */
    int64_t retry_after;  /* ns */
} cuzk_sched_action;

typedef struct cuzk_sched cuzk_sched;

/* Bytes that a scheduler with this configuration needs; 0 when the configuration is none (a size
 * is zero that may not be, reserves exceed limits, too many devices). */
size_t cuzk_sched_bytes(const cuzk_sched_config *config);

/* Makes a scheduler in mem, which has cuzk_sched_bytes(config) bytes, is aligned as malloc aligns,
 * and stays the caller's. NULL where cuzk_sched_bytes gives 0. */
cuzk_sched *cuzk_sched_init(void *mem, const cuzk_sched_config *config);

/* Takes one event. now may not be less than before. Returns the number of actions and sets
 * *actions to them; they stay valid until the next step. */
size_t cuzk_sched_step(cuzk_sched *s, const cuzk_sched_event *event, int64_t now,
                       const cuzk_sched_action **actions);

/* When the next CUZK_EV_TICK is due; CUZK_SCHED_NEVER: not until something else happens. */
int64_t cuzk_sched_next_timer(const cuzk_sched *s);

/* "witness", "stage", ... */
const char *cuzk_sched_stage_name(cuzk_sched_stage stage);

/* What a status page shows. */
typedef struct cuzk_sched_stats {
    uint32_t jobs, started_jobs;   /* accepted and not ended; of those with memory of their own */
    uint32_t queued, ready;        /* partitions that wait for a witness worker, for a device */
    uint32_t running[CUZK_STAGES]; /* partitions in each stage */
    uint64_t host_used, host_limit, pinned_used, pinned_limit;
    bool draining;
    bool witness_paused; /* idle witness workers wait for the ready queue to drain */
} cuzk_sched_stats;

typedef struct cuzk_sched_device_stats {
    bool up, quarantined;
    uint32_t faults; /* not yet made good */
    uint32_t slots_busy;
    uint64_t memory_used, memory_limit, lent; /* memory_used counts what is lent */
} cuzk_sched_device_stats;

typedef enum cuzk_sched_key_state {
    CUZK_KEY_ABSENT,
    CUZK_KEY_LOADING,
    CUZK_KEY_READY,
    CUZK_KEY_EVICTING,
} cuzk_sched_key_state;

void cuzk_sched_get_stats(const cuzk_sched *s, cuzk_sched_stats *out);
void cuzk_sched_get_device(const cuzk_sched *s, uint32_t device, cuzk_sched_device_stats *out);
/* State of a key at a device or CUZK_SCHED_HOST, and how many partitions use it there. */
cuzk_sched_key_state cuzk_sched_get_key(const cuzk_sched *s, uint32_t key, uint32_t place,
                                        uint32_t *users);
/* Whether it was evicted while devices loaded it for no job, and goes when they have. */
bool cuzk_sched_key_leaves(const cuzk_sched *s, uint32_t key);

/* NULL, or which of the scheduler's own books does not add up. For tests; takes long. */
const char *cuzk_sched_check(const cuzk_sched *s);

#endif
