/* A world around a scheduler for tests: it carries out actions on a virtual clock, injects faults,
 * and holds every action against rules it keeps by itself. A broken rule fails the test with the
 * world's seed. */
#ifndef CUZK_TESTS_ENGINE_WORLD_H
#define CUZK_TESTS_ENGINE_WORLD_H

#include "engine/core/sched.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { WORLD_JOBS = 256, WORLD_PENDING = 4096, WORLD_KEYS = 4, WORLD_WORKERS = 64 };

/* Where a partition is, as the actions and reports tell. */
typedef enum world_where {
    AT_NOTHING,
    AT_WITNESS_QUEUE,
    AT_READY_QUEUE,
    AT_GATE,
    AT_FINISH_QUEUE,
    AT_VERIFY_QUEUE,
    AT_WORK, /* a stage runs */
    AT_END,
} world_where;

typedef struct world_part {
    world_where where;
    cuzk_sched_stage stage; /* that runs or ran last */
    uint32_t run, device, slot, worker;
    unsigned tries[CUZK_STAGES]; /* starts of each stage */
    bool retried;
} world_part;

typedef struct world_job {
    cuzk_sched_job_spec spec;
    uint64_t ref, seq;
    bool accepted, ended, freed, started;
    cuzk_sched_outcome outcome;
    cuzk_sched_stage stage;
    cuzk_sched_reason reason;
    int64_t submitted, first_compute, end;
    uint32_t position;
    world_part parts[CUZK_SCHED_MAX_PARTITIONS + 1];
} world_job;

typedef struct world_event {
    int64_t at;
    uint64_t order; /* among events of one time */
    cuzk_sched_event e;
    uint32_t epoch; /* of the device, where work there is reported: stale after it went down */
} world_event;

typedef struct world {
    cuzk_sched *s;
    void *block;
    cuzk_sched_config config;
    cuzk_sched_device devices[CUZK_SCHED_MAX_DEVICES];
    uint64_t seed, rng; /* rng: set to the seed before the world begins */
    int64_t now;

    world_job jobs[WORLD_JOBS];
    uint32_t n_jobs;
    cuzk_sched_job_spec submitting;
    world_event pending[WORLD_PENDING];
    size_t n_pending;
    uint64_t next_order;

    bool up[CUZK_SCHED_MAX_DEVICES], quarantined[CUZK_SCHED_MAX_DEVICES];
    uint32_t epoch[CUZK_SCHED_MAX_DEVICES];
    cuzk_sched_key_state keys[WORLD_KEYS][CUZK_SCHED_MAX_DEVICES + 1];
    uint32_t running[CUZK_STAGES]; /* of the whole world */
    bool worker_busy[CUZK_STAGES][CUZK_SCHED_MAX_DEVICES][WORLD_WORKERS];

    /* What happens: permille of work that fails, and with what. */
    unsigned fault_permille, wrong_permille, input_permille;
    bool strict_ready; /* nothing excuses a partition that overtakes another at the slots */
    int64_t (*duration)(struct world *w, const cuzk_sched_action *a);       /* NULL: random */
    cuzk_sched_fault (*fault)(struct world *w, const cuzk_sched_action *a); /* NULL: random */
    void (*watch)(struct world *w, const cuzk_sched_action *a);             /* NULL: nobody */

    /* What was seen. */
    cuzk_sched_action last_refusal;
    unsigned refusals, ends, quarantines, key_loads, key_evicts, key_refusals, stops, drained, lent,
        lend_refusals;
    unsigned most_ready;
} world;

/* config.devices is set to w->devices by the world; fill both first. All devices come up at 0. */
void world_begin(world *w);
void world_end(world *w);

/* Delivers an event now. */
void world_send(world *w, const cuzk_sched_event *e);
/* Puts an event into the future. */
void world_later(world *w, int64_t at, const cuzk_sched_event *e);
/* Delivers what is pending up to a time, or everything. */
void world_run_until(world *w, int64_t t);
void world_run(world *w);

/* The world's own random numbers. */
uint64_t world_rng(world *w);

/* NULL when it was refused. */
world_job *world_submit(world *w, const cuzk_sched_job_spec *spec);
void world_cancel(world *w, const world_job *j);
void world_define_key(world *w, uint32_t key, cuzk_sched_key_spec spec);

/* Fails the test, naming the seed and the time. */
void world_fail(const world *w, const char *rule);

#endif
