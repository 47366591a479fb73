/* Thousands of random workloads on a virtual clock, with faults, crashes, cancellations, deadlines
 * and keys that do not all fit. world.c checks every action; here: every job ends once, nothing is
 * left, nothing waits for ever. */
#include "support.h"

#include "world.h"

static unsigned below(unsigned n) {
    return (unsigned)(test_rng() % n);
}

static void random_config(world *w, bool keys) {
    cuzk_sched_config *c = &w->config;
    c->max_jobs = 4 + below(40);
    c->max_partitions = 40 + below(200);
    c->max_keys = WORLD_KEYS;
    c->n_devices = 1 + below(3);
    c->witness_workers = 1 + below(6);
    c->reserved_witness_workers = below(2);
    c->max_ready = below(5);
    c->slots_per_device = 1 + below(3);
    c->reserved_slots = below(2);
    c->results_per_device = 1 + below(3);
    c->finishers = 1 + below(2);
    c->verifiers = 1 + below(2);
    c->slot_until = CUZK_STAGE_COMPUTE + below(3);
    c->witness_until = CUZK_STAGE_STAGE + below(4);
    c->host_memory = 200 + below(400);
    c->pinned_memory = 50 + below(200);
    c->reserved = (cuzk_sched_mem){below(60), below(30)};
    c->reserved_device = below(30);
    c->quarantine_after = below(5);
    c->quarantine_ns = below(2) ? 0 : 1 + below(3000);
    for (uint32_t d = 0; d < c->n_devices; d++) {
        w->devices[d].memory = 100 + below(200);
        w->devices[d].kinds = below(3) ? UINT32_MAX : 1 + below(7);
    }
    (void)keys;
}

static cuzk_sched_job_spec random_job(const world *w, bool keys) {
    cuzk_sched_job_spec j = {.kind = below(3),
                             .key = keys && below(5) ? below(WORLD_KEYS) : CUZK_SCHED_NONE,
                             .priority = (int)below(4),
                             .deadline = CUZK_SCHED_NEVER,
                             .reserved = below(8) == 0,
                             .n_partitions = 1 + (below(3) ? below(4) : below(30))};
    if (below(4) == 0) j.deadline = w->now + below(6000);
    if (below(10) == 0) j.done = test_rng() & ((UINT64_C(1) << j.n_partitions) - 1);
    j.shared = (cuzk_sched_mem){below(60), below(2) * below(20)};
    j.witness = (cuzk_sched_mem){below(80), below(30)};
    j.scratch = (cuzk_sched_mem){below(40), 0};
    j.slot = below(90);
    return j;
}

static void random_extras(world *w, int64_t span) {
    for (unsigned n = below(4); n > 0; n--) { /* crashes, each followed by a restart */
        const uint32_t d = below(w->config.n_devices);
        const int64_t at = below((unsigned)span);
        world_later(w, at, &(cuzk_sched_event){.type = CUZK_EV_DEVICE_DOWN, .device = d});
        world_later(w, at + below(1000),
                    &(cuzk_sched_event){.type = CUZK_EV_DEVICE_UP, .device = d});
    }
    for (unsigned n = below(4); n > 0; n--)
        world_later(w, below((unsigned)span),
                    &(cuzk_sched_event){.type = below(2) ? CUZK_EV_KEY_PRELOAD : CUZK_EV_KEY_EVICT,
                                        .key = below(WORLD_KEYS),
                                        .device = CUZK_SCHED_HOST});
    if (below(3) == 0)
        world_later(w, below((unsigned)span),
                    &(cuzk_sched_event){.type = CUZK_EV_DEVICE_RESTORE,
                                        .device = below(w->config.n_devices)});
    for (unsigned n = below(3); n > 0; n--) { /* lends memory and takes it back */
        const uint32_t d = below(w->config.n_devices);
        const int64_t at = below((unsigned)span);
        const uint64_t bytes = below(150);
        world_later(w, at, &(cuzk_sched_event){.type = CUZK_EV_LEND, .device = d, .bytes = bytes});
        world_later(
            w, at + below(2000),
            &(cuzk_sched_event){.type = CUZK_EV_TAKE_BACK, .device = d, .bytes = UINT64_MAX});
    }
    for (uint32_t d = 0; d < w->config.n_devices; d++) /* in the end all are back */
        world_later(w, span + 20000, &(cuzk_sched_event){.type = CUZK_EV_DEVICE_UP, .device = d});
}

static void random_world(uint64_t seed, bool faults, unsigned totals[4]) {
    static world w;
    memset(&w, 0, sizeof w);
    test_rng_state = w.seed = w.rng = seed;
    const bool keys = below(3) != 0;
    random_config(&w, keys);
    if (faults) {
        w.fault_permille = below(3) ? below(60) : 0;
        w.wrong_permille = below(60);
        w.input_permille = below(10);
    }
    w.strict_ready = !keys && !faults && w.config.n_devices == 1;
    if (w.strict_ready) w.devices[0].kinds = UINT32_MAX;
    world_begin(&w);
    for (uint32_t k = 0; k < WORLD_KEYS; k++)
        world_define_key(&w, k,
                         (cuzk_sched_key_spec){{below(150), below(2) * below(50)},
                                               below(2) * below(80),
                                               below(8) == 0});
    const unsigned jobs = 1 + below(40);
    const unsigned gap = 1 + below(400);
    if (faults) random_extras(&w, (int64_t)jobs * gap + 1);
    for (unsigned i = 0; i < jobs; i++) {
        const cuzk_sched_job_spec spec = random_job(&w, keys);
        world_submit(&w, &spec);
        if (below(8) == 0) {
            const world_job *j = &w.jobs[below(w.n_jobs)];
            if (j->accepted) world_cancel(&w, j);
        }
        world_run_until(&w, w.now + below(gap));
    }
    world_run(&w);
    world_end(&w);
    totals[0] += w.n_jobs;
    totals[1] += w.ends;
    totals[2] += w.quarantines;
    totals[3] += w.key_evicts;
}

static unsigned rounds(unsigned n) {
    const char *env = getenv("CUZK_TEST_ROUNDS");
    return env ? (unsigned)strtoul(env, NULL, 10) : n;
}

static void run_worlds(bool faults) {
    test_rng_start();
    const uint64_t first = test_rng_state;
    unsigned totals[4] = {0};
    const unsigned n = rounds(2000);
    for (unsigned i = 0; i < n; i++)
        random_world(first + i, faults, totals);
    fprintf(stderr, "%u worlds: %u jobs, %u accepted and ended, %u quarantines, %u evictions\n", n,
            totals[0], totals[1], totals[2], totals[3]);
    assert_true(totals[1] > totals[0] / 3);
    if (faults && n >= 1000) assert_true(totals[2] > 0 && totals[3] > 0);
}

static void worlds_without_faults(void **state) {
    (void)state;
    run_worlds(false);
}

static void worlds_with_faults(void **state) {
    (void)state;
    run_worlds(true);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(worlds_without_faults),
        cmocka_unit_test(worlds_with_faults),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
