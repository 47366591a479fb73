/* The daemon's scheduler on a virtual clock: how long a load takes on a machine that is described
 * by how long each stage of a partition takes. docs/engine.md explains the model and the format of
 * its files.
 *
 *   cuzk_sim_read(&set, text, len, err)      scenarios from a file
 *   cuzk_sim_run(&result, &set.items[i], &trace_or_NULL, err)
 */
#ifndef CUZK_ENGINE_SIM_SIM_H
#define CUZK_ENGINE_SIM_SIM_H

#include "base/status.h"
#include "engine/trace/trace.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { CUZK_SIM_MAX_KINDS = 8, CUZK_SIM_NAME = 32, CUZK_SIM_CITE = 256 };

/* The pieces of work of a partition (name of the key in files, text). Copy and preparation run
 * side by side; the gate covers kernels and tail. */
#define CUZK_SIM_WORKS(X)                                                                          \
    X(WITNESS, "witness")   /* one partition's witness, alone on the host */                       \
    X(COPY, "copy")         /* host to device, before the gate */                                  \
    X(PREPARE, "prepare")   /* host work beside the copy */                                        \
    X(KERNELS, "kernels")   /* device work inside the gate */                                      \
    X(TAIL, "tail")         /* more of it, which needs the preparation's result */                 \
    X(FINISH, "finish")     /* after the gate */                                                   \
    X(VERIFY, "verify")     /* the partition's proof */                                            \
    X(ASSEMBLE, "assemble") /* the job's answer */

typedef enum cuzk_sim_work_id {
#define CUZK__SIM_WORK(name, text) CUZK_SIM_##name,
    CUZK_SIM_WORKS(CUZK__SIM_WORK)
#undef CUZK__SIM_WORK
        CUZK_SIM_WORK_COUNT
} cuzk_sim_work_id;

/* Work takes `seconds` when it runs alone. It moves `bandwidth` GB/s of host memory and keeps
 * `cores` busy. Others' traffic slows it down by sensitivity * (their bandwidth / the host's); when
 * all together ask for more than the host has, everything is scaled down; so with cores. */
typedef struct cuzk_sim_work {
    double seconds, bandwidth, sensitivity, cores;
} cuzk_sim_work;

typedef struct cuzk_sim_kind {
    char name[CUZK_SIM_NAME];
    uint32_t partitions;
    int priority;
    bool reserved;
    cuzk_sim_work work[CUZK_SIM_WORK_COUNT];
    bool gate_waits; /* the preparation's result is needed at TAIL, inside the gate; else before
                        the gate */
    bool exclusive;  /* from copy to the gate's end a partition has the device for itself, since
                        it calls what waits for the whole device */
    double stall;    /* seconds of calls before the copy that wait for running kernels and hold up
                        others' */
    double shared, memory, scratch, pinned; /* GiB on the host: of a job, of a partition (pageable,
                            while its witness is made, pinned) */
    double slot;                            /* GiB on the device */
    double key_host, key_device;            /* GiB */
    double key_seconds, key_device_seconds; /* to load it */
    bool key_kept;
    /* the load */
    uint32_t count;       /* jobs */
    uint32_t concurrency; /* so many at a time; 0: all at once */
    double interval;      /* seconds between submissions; 0: as concurrency says */
    double deadline;      /* seconds after submission; 0: none */
} cuzk_sim_kind;

typedef struct cuzk_sim_scenario {
    char name[CUZK_SIM_NAME];
    char cite[CUZK_SIM_CITE]; /* where the figures come from */
    /* host */
    double cores, bandwidth, memory, pinned; /* count, GB/s, GiB, GiB */
    double base_memory;                      /* GiB that are always in use */
    /* devices, all alike */
    uint32_t devices;
    double device_memory; /* GiB */
    /* scheduler: as in engine/core/sched.h */
    uint32_t witness_workers, reserved_witness_workers, max_ready, slots, reserved_slots, results;
    uint32_t finishers, verifiers;
    uint32_t slot_until, witness_until; /* cuzk_sched_stage */
    uint32_t n_kinds;
    cuzk_sim_kind kinds[CUZK_SIM_MAX_KINDS];
    /* published figures to compare with; 0: none */
    struct {
        double seconds_per_proof; /* the whole run by its jobs */
        double steady;            /* seconds per proof in the middle of the run */
        double device_seconds;    /* of one job, from its first copy to its end */
        double efficiency;        /* kernels and tail by the wall time, percent */
        double gate_busy;         /* gate from the first kernel to the last, percent */
        double peak_memory;       /* GiB of the host */
    } expect;
} cuzk_sim_scenario;

typedef struct cuzk_sim_set {
    cuzk_sim_scenario *items;
    size_t n;
} cuzk_sim_set;

/* A scenario with the defaults that docs/engine.md lists. */
void cuzk_sim_defaults(cuzk_sim_scenario *s);

/* Reads scenarios from a file's text. BAD_INPUT names the line. Free with cuzk_sim_free, also after
 * a failure. */
cuzk_status cuzk_sim_read(cuzk_sim_set *out, const char *text, size_t len,
                          cuzk_err *err) CUZK_MUST_CHECK;
void cuzk_sim_free(cuzk_sim_set *set);

/* Changes one value of a scenario: "scheduler.slots=3", "kind.porep.witness.cores=2". BAD_INPUT as
 * cuzk_sim_read, and for a kind that the scenario has not. */
cuzk_status cuzk_sim_change(cuzk_sim_scenario *s, const char *assignment,
                            cuzk_err *err) CUZK_MUST_CHECK;

/* The text of a built-in file: NULL when there is none of that name. names[i] is NULL after the
 * last. */
const char *cuzk_sim_preset(const char *name);
const char *cuzk_sim_preset_name(size_t i);

typedef struct cuzk_sim_kind_result {
    uint32_t done, failed, late, refused;
    double mean, p50, p95, max; /* seconds from submission to end, of those done */
    double first_start;         /* seconds from submission to the first kernel, worst job */
} cuzk_sim_kind_result;

typedef struct cuzk_sim_result {
    double wall; /* from the first submission to the last end */
    uint32_t proofs;
    double seconds_per_proof, steady, device_seconds;
    double efficiency, gate_busy;    /* percent, mean over devices */
    double kernel_span;              /* from the first kernel's start to the last one's end */
    double peak_memory, peak_device; /* GiB */
    double witness_busy;             /* percent of the workers' time */
    double witness_slowdown;         /* mean time of a witness by its time alone */
    double paused;                   /* percent of the wall in which witness workers waited for the
                                        device */
    const char *limit;               /* what bounds the throughput: "device", "witness", "load" */
    cuzk_sim_kind_result kinds[CUZK_SIM_MAX_KINDS];
} cuzk_sim_result;

/* Goes through the published figures of a scenario and what the simulation gives for each: false
 * when there is no i-th. */
bool cuzk_sim_compare(const cuzk_sim_scenario *s, const cuzk_sim_result *r, size_t i,
                      const char **name, double *published, double *here);

/* Runs a scenario. What happens is added to trace (may be NULL), in order of time, with the number
 * of the job in the order of kinds and submission. BAD_INPUT when the scenario makes no sense or a
 * job does not fit; NO_MEMORY. */
cuzk_status cuzk_sim_run(cuzk_sim_result *out, const cuzk_sim_scenario *s, cuzk_trace *trace,
                         cuzk_err *err) CUZK_MUST_CHECK;

#endif
