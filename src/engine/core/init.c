/* The layout of a scheduler in the caller's block. */
#include "state.h"

#include <string.h>

static bool counts_are_sensible(const cuzk_sched_config *c) {
    const struct {
        uint32_t value, least, most;
    } rows[] = {
        {c->max_jobs, 1, UINT32_C(1) << 24},
        {c->max_partitions, 1, UINT32_C(1) << 24},
        {c->max_keys, 0, UINT32_C(1) << 16},
        {c->n_devices, 1, CUZK_SCHED_MAX_DEVICES},
        {c->witness_workers, 1, 65536},
        {c->reserved_witness_workers, 0, 65536},
        {c->max_ready, 0, UINT32_C(1) << 24},
        {c->slots_per_device, 1, 64},
        {c->reserved_slots, 0, 64},
        {c->results_per_device, 1, 65536},
        {c->finishers, 1, 65536},
        {c->verifiers, 1, 65536},
        {c->slot_until, CUZK_STAGE_COMPUTE, CUZK_STAGE_VERIFY},
        {c->witness_until, CUZK_STAGE_STAGE, CUZK_STAGE_VERIFY},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (rows[i].value < rows[i].least || rows[i].value > rows[i].most) return false;
    return true;
}

static bool memory_is_sensible(const cuzk_sched_config *c) {
    if (c->host_memory >> 56 || c->pinned_memory >> 56) return false;
    if (c->reserved.pinned > c->pinned_memory || c->reserved.host > c->host_memory) return false;
    if (c->reserved.pinned > c->host_memory - c->reserved.host) return false;
    for (uint32_t d = 0; d < c->n_devices; d++)
        if (c->devices[d].memory < c->reserved_device || c->devices[d].memory >> 56) return false;
    return true;
}

static bool sensible(const cuzk_sched_config *c) {
    return c->devices && counts_are_sensible(c) && memory_is_sensible(c) && c->quarantine_ns >= 0;
}

/* Most actions of one step: everything running stops, as many start, every job ends, and every key
 * is loaded, evicted or refused everywhere. */
static size_t most_actions(const cuzk_sched_config *c) {
    const size_t slots = (size_t)c->n_devices * (c->slots_per_device + c->reserved_slots);
    const size_t workers = (size_t)c->witness_workers + c->reserved_witness_workers + 2 * slots +
                           c->finishers + c->verifiers;
    return 2 * workers + 2 * (size_t)c->max_jobs + 2 * (size_t)c->max_keys * (c->n_devices + 1) +
           2 * (size_t)c->n_devices + 8;
}

/* Hands out parts of the block; with base NULL it only measures. */
typedef struct layout {
    char *base;
    size_t used;
} layout;

static void *take(layout *l, size_t n, size_t size) {
    l->used = (l->used + 15) & ~(size_t)15;
    void *p = l->base ? l->base + l->used : NULL;
    l->used += n * size;
    return p;
}

static void place(cuzk_sched *s, layout *l, const cuzk_sched_config *c) {
    const size_t slots = (size_t)c->n_devices * (c->slots_per_device + c->reserved_slots);
    s->jobs = take(l, c->max_jobs, sizeof *s->jobs);
    s->parts = take(l, c->max_partitions, sizeof *s->parts);
    s->keys = take(l, c->max_keys, sizeof *s->keys);
    s->copies = take(l, (size_t)c->max_keys * (c->n_devices + 1), sizeof *s->copies);
    s->devices = take(l, c->n_devices, sizeof *s->devices);
    s->slots = take(l, slots, sizeof *s->slots);
    s->witness =
        take(l, (size_t)c->witness_workers + c->reserved_witness_workers, sizeof *s->witness);
    s->finishing = take(l, c->finishers, sizeof *s->finishing);
    s->verifying = take(l, c->verifiers, sizeof *s->verifying);
    for (int q = 0; q < QUEUES; q++)
        s->queues[q].items = take(l, c->max_partitions, sizeof *s->queues[q].items);
    s->max_actions = most_actions(c);
    s->actions = take(l, s->max_actions, sizeof *s->actions);
}

size_t cuzk_sched_bytes(const cuzk_sched_config *config) {
    if (!sensible(config)) return 0;
    cuzk_sched s = {0};
    layout l = {NULL, sizeof s};
    place(&s, &l, config);
    return l.used;
}

static void fill(uint32_t *p, size_t n) {
    for (size_t i = 0; i < n; i++)
        p[i] = NONE;
}

cuzk_sched *cuzk_sched_init(void *mem, const cuzk_sched_config *config) {
    const size_t bytes = cuzk_sched_bytes(config);
    if (bytes == 0) return NULL;
    memset(mem, 0, bytes);
    cuzk_sched *s = mem;
    layout l = {mem, sizeof *s};
    place(s, &l, config);
    s->config = *config;
    s->config.devices = NULL;
    s->next_deadline = CUZK_SCHED_NEVER;
    s->last_done = -1;
    const cuzk_sched_mem r = config->reserved;
    s->host = (pool){config->host_memory, r.host + r.pinned, {0, 0}};
    s->pinned = (pool){config->pinned_memory, r.pinned, {0, 0}};
    for (uint32_t d = 0; d < config->n_devices; d++) {
        s->devices[d].kinds = config->devices[d].kinds;
        s->devices[d].gate = NONE;
        s->devices[d].until = CUZK_SCHED_NEVER;
        s->devices[d].memory = (pool){config->devices[d].memory, config->reserved_device, {0, 0}};
    }
    fill(s->slots, (size_t)config->n_devices * slots_of(s));
    fill(s->witness, (size_t)config->witness_workers + config->reserved_witness_workers);
    fill(s->finishing, config->finishers);
    fill(s->verifying, config->verifiers);
    return s;
}
