/* The world of the rules' tests: a witness takes 300, staging 80, kernels 100, finishing 20,
 * verifying 10 and assembling 1. */
#ifndef CUZK_TESTS_ENGINE_STEADY_H
#define CUZK_TESTS_ENGINE_STEADY_H

#include "support.h"

#include "world.h"

static world w;
static int64_t busy[4];                         /* of each device's gate */
static int64_t first_kernel[4], last_kernel[4]; /* its start, its end */

static inline int64_t steady(world *world_, const cuzk_sched_action *a) {
    static const int64_t ns[] = {300, 80, 100, 20, 10, 1};
    (void)world_;
    return ns[a->stage];
}

static inline void measure(world *world_, const cuzk_sched_action *a) {
    if (a->type != CUZK_ACT_START || a->stage != CUZK_STAGE_COMPUTE) return;
    if (busy[a->device] == 0) first_kernel[a->device] = world_->now;
    busy[a->device] += 100;
    last_kernel[a->device] = world_->now + 100;
}

static inline int setup(void **state) {
    (void)state;
    memset(&w, 0, sizeof w);
    memset(busy, 0, sizeof busy);
    w.config = (cuzk_sched_config){.max_jobs = 100,
                                   .max_partitions = 1100,
                                   .max_keys = WORLD_KEYS,
                                   .n_devices = 1,
                                   .witness_workers = 4,
                                   .reserved_witness_workers = 1,
                                   .max_ready = 4,
                                   .slots_per_device = 2,
                                   .reserved_slots = 1,
                                   .results_per_device = 4,
                                   .finishers = 1,
                                   .verifiers = 1,
                                   .slot_until = CUZK_STAGE_COMPUTE,
                                   .witness_until = CUZK_STAGE_VERIFY,
                                   .host_memory = 1000,
                                   .pinned_memory = 1000,
                                   .quarantine_after = 3};
    for (int d = 0; d < 4; d++)
        w.devices[d] = (cuzk_sched_device){100, UINT32_MAX};
    w.duration = steady;
    w.watch = measure;
    return 0;
}

static inline cuzk_sched_job_spec plain(uint32_t partitions) {
    return (cuzk_sched_job_spec){.key = CUZK_SCHED_NONE,
                                 .deadline = CUZK_SCHED_NEVER,
                                 .n_partitions = partitions,
                                 .witness = {1, 0},
                                 .slot = 1};
}

static inline world_job *submit(cuzk_sched_job_spec spec) {
    return world_submit(&w, &spec);
}

static inline void expect_refused(cuzk_sched_job_spec spec, cuzk_sched_reason reason, uint64_t need,
                                  uint64_t limit) {
    assert_null(submit(spec));
    assert_int_equal(w.last_refusal.reason, reason);
    if (need == 0) return;
    assert_int_equal(w.last_refusal.need, need);
    assert_int_equal(w.last_refusal.limit, limit);
}

#endif
