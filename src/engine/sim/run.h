/* What the parts of a run share. */
#ifndef CUZK_ENGINE_SIM_RUN_H
#define CUZK_ENGINE_SIM_RUN_H

#include "engine/core/sched.h"
#include "fluid.h"
#include "sim.h"

typedef enum hold {
    HOLD_NONE,
    HOLD_SECTION, /* waits until it has the device for itself */
    HOLD_STALL,   /* waits until no kernels run */
    HOLD_KERNELS, /* waits until nobody holds kernels up */
    HOLD_RESULT,  /* in the gate, waits for its preparation */
} hold;

typedef struct sim_part {
    uint64_t job_ref;
    uint32_t job, index, run, device;
    bool copied, prepared;
    hold hold;
    cuzk_sim_work_id after; /* which of KERNELS and TAIL waits at HOLD_KERNELS */
    double since;           /* the begin of what is being measured */
    double witness_begin, gate_begin;
    uint32_t worker;
} sim_part;

typedef struct sim_job {
    uint32_t kind, first_part;
    double submitted, first_stage, first_kernel, end; /* negative: not yet */
    cuzk_sched_outcome outcome;
    bool refused;
} sim_job;

typedef struct sim_device {
    uint32_t owner;    /* part that has the device for itself, or CUZK_SCHED_NONE */
    uint32_t kernels;  /* pieces of device work that run */
    uint32_t stalls;   /* calls under way that hold kernels up */
    uint32_t *waiting; /* parts with a hold, in the order they came */
    uint32_t n_waiting;
    double gate_time, kernel_time, first, last;
} sim_device;

typedef struct sim {
    const cuzk_sim_scenario *in;
    cuzk_trace *trace;
    cuzk_err *err;
    cuzk_status status;

    cuzk_sched *sched;
    void *block;
    fluid fluid;
    sim_job *jobs;
    sim_part *parts;
    uint32_t n_jobs, n_parts, n_submitted, n_ended;
    uint32_t next_of_kind[CUZK_SIM_MAX_KINDS], live_of_kind[CUZK_SIM_MAX_KINDS];
    uint32_t first_of_kind[CUZK_SIM_MAX_KINDS];
    sim_device devices[CUZK_SCHED_MAX_DEVICES];
    uint32_t *waiting_store;

    double witness_time, witness_alone, paused_time, last_change;
    bool paused;
    uint64_t peak_host, peak_device;
} sim;

/* measure.c */
void cuzk__sim_measure(const sim *s, cuzk_sim_result *out);
#endif
