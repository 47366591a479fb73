/* Opening and closing. */
#include "state.h"

#include "base/clock.h"
#include "base/cpu.h"
#include "base/mem.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static const int64_t SECOND = 1000000000;

void cuzk_engine_config_init(cuzk_engine_config *c) {
    *c = (cuzk_engine_config){.reserved_witness_workers = 1,
                              .max_ready = 4,
                              .workers_per_device = 2,
                              .reserved_slots = 1,
                              .finishers = 2,
                              .verifiers = 2,
                              .max_jobs = 1000,
                              .quarantine_after = 3,
                              .hang_ns = 600 * SECOND,
                              .eviction_idle_ns = 300 * SECOND,
                              .retention_ns = 7 * 86400 * SECOND,
                              .retention_jobs = 100000,
                              .trace_events = 1 << 16,
                              .slot_until = CUZK_STAGE_COMPUTE,
                              .witness_until = CUZK_STAGE_VERIFY,
                              .results_per_device = 4};
}

/* ---- configuration ---- */

static cuzk_status copy_strings(cuzk_engine *e, const cuzk_engine_config *from) {
    char **preload;
    char *dir;
    e->config.state_dir = NULL;
    e->config.preload = NULL;
    e->config.n_preload = 0;
    CUZK_TRY(cuzk_strdup(&dir, from->state_dir));
    e->config.state_dir = dir;
    CUZK_TRY(cuzk_alloc((void **)&preload, from->n_preload, sizeof *preload));
    e->config.preload = (const char *const *)preload;
    for (; e->config.n_preload < from->n_preload; e->config.n_preload++)
        CUZK_TRY(cuzk_strdup(&preload[e->config.n_preload], from->preload[e->config.n_preload]));
    return CUZK_OK;
}

static void free_strings(cuzk_engine *e) {
    for (uint32_t i = 0; i < e->config.n_preload; i++)
        cuzk_free((void *)(uintptr_t)e->config.preload[i]);
    cuzk_free((void *)(uintptr_t)e->config.preload);
    cuzk_free((void *)(uintptr_t)e->config.state_dir);
}

static void fill_in(cuzk_engine_config *c) {
    const uint64_t memory =
        (uint64_t)sysconf(_SC_PHYS_PAGES) * (uint64_t)sysconf(_SC_PAGESIZE) / 10 * 9;
    if (c->witness_workers == 0) c->witness_workers = cuzk_cpu_count();
    if (c->host_memory == 0) c->host_memory = memory;
    if (c->pinned_memory == 0) c->pinned_memory = c->host_memory / 2;
    if (c->pinned_memory > c->host_memory) c->pinned_memory = c->host_memory;
    for (uint32_t d = 0; d < CUZK_ENGINE_MAX_DEVICES; d++)
        if (c->device_kinds[d] == 0) c->device_kinds[d] = UINT32_MAX;
}

static cuzk_status check(const cuzk_engine_config *c, const cuzk_engine_providers *p,
                         cuzk_err *err) {
    if (!c->state_dir || !c->state_dir[0])
        return cuzk_err_set(err, CUZK_STATUS_USAGE, "the engine needs a state directory");
    if (c->workers_per_device == 0 || c->finishers == 0 || c->verifiers == 0 || c->max_jobs == 0)
        return cuzk_err_set(err, CUZK_STATUS_USAGE,
                            "workers per device, finishers, verifiers and jobs: at least 1 each");
    if (c->results_per_device == 0 || c->results_per_device > SHELL_MAX_RESULTS)
        return cuzk_err_set(err, CUZK_STATUS_USAGE, "results per device: 1 to %d",
                            SHELL_MAX_RESULTS);
    const uint32_t n = p->devices->count(p->devices_self);
    if (n == 0 || n > CUZK_ENGINE_MAX_DEVICES)
        return cuzk_err_set(err, CUZK_STATUS_NO_DEVICE, "%u devices; the engine needs 1 to %d", n,
                            CUZK_ENGINE_MAX_DEVICES);
    return CUZK_OK;
}

/* ---- parts ---- */

static void init_loader(loader *l) {
    pthread_mutex_init(&l->lock, NULL);
    pthread_cond_init(&l->wake, NULL);
}

static void init_locks(cuzk_engine *e) {
    pthread_condattr_t attr;
    pthread_condattr_init(&attr);
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    pthread_mutex_init(&e->notes_lock, NULL);
    pthread_cond_init(&e->notes_wake, &attr);
    pthread_mutex_init(&e->lock, NULL);
    pthread_cond_init(&e->moved_on, NULL);
    pthread_cond_init(&e->opened, NULL);
    pthread_mutex_init(&e->watch_lock, NULL);
    pthread_mutex_init(&e->calls_lock, NULL);
    pthread_cond_init(&e->outside, NULL);
    pthread_mutex_init(&e->janitor_lock, NULL);
    pthread_cond_init(&e->janitor_wake, &attr);
    pthread_mutex_init(&e->reaper.lock, NULL);
    pthread_cond_init(&e->reaper.wake, NULL);
    pthread_cond_init(&e->reaper.reaped, NULL);
    init_loader(&e->loader);
    for (uint32_t d = 0; d < CUZK_ENGINE_MAX_DEVICES; d++) {
        shell_dev *dev = &e->devices[d];
        dev->e = e;
        dev->index = d;
        pthread_mutex_init(&dev->lock, NULL);
        pthread_cond_init(&dev->wake, &attr);
        init_loader(&dev->keys);
    }
    for (uint32_t k = 0; k < SHELL_KEYS; k++)
        e->keys[k].index = k;
    pthread_condattr_destroy(&attr);
}

static void destroy_loader(loader *l) {
    pthread_mutex_destroy(&l->lock);
    pthread_cond_destroy(&l->wake);
}

static void destroy_locks(cuzk_engine *e) {
    pthread_mutex_destroy(&e->notes_lock);
    pthread_cond_destroy(&e->notes_wake);
    pthread_mutex_destroy(&e->lock);
    pthread_cond_destroy(&e->moved_on);
    pthread_cond_destroy(&e->opened);
    pthread_mutex_destroy(&e->watch_lock);
    pthread_mutex_destroy(&e->calls_lock);
    pthread_cond_destroy(&e->outside);
    pthread_mutex_destroy(&e->janitor_lock);
    pthread_cond_destroy(&e->janitor_wake);
    pthread_mutex_destroy(&e->reaper.lock);
    pthread_cond_destroy(&e->reaper.wake);
    pthread_cond_destroy(&e->reaper.reaped);
    destroy_loader(&e->loader);
    for (uint32_t d = 0; d < CUZK_ENGINE_MAX_DEVICES; d++) {
        pthread_mutex_destroy(&e->devices[d].lock);
        pthread_cond_destroy(&e->devices[d].wake);
        destroy_loader(&e->devices[d].keys);
    }
}

/* ---- devices ---- */

static cuzk_status open_devices(cuzk_engine *e, cuzk_err *err) {
    e->n_devices = e->device_ops->count(e->device_self);
    e->device_ops->on_lost(e->device_self, cuzk__shell_on_lost, e);
    for (uint32_t d = 0; d < e->n_devices; d++) {
        shell_dev *dev = &e->devices[d];
        if (pthread_create(&dev->supervisor, NULL, cuzk__shell_supervise, dev))
            return cuzk_err_set(err, CUZK_STATUS_NO_MEMORY,
                                "not enough memory for a device's thread");
        dev->supervised = true;
    }
    bool any = false;
    for (uint32_t d = 0; d < e->n_devices; d++) {
        shell_dev *dev = &e->devices[d];
        pthread_mutex_lock(&dev->lock);
        while (!dev->tried)
            pthread_cond_wait(&dev->wake, &dev->lock);
        any |= dev->up;
        pthread_mutex_unlock(&dev->lock);
    }
    if (any) return CUZK_OK;
    return cuzk_err_set(err, CUZK_STATUS_NO_DEVICE, "no device could be opened; device 0: %s",
                        e->devices[0].trouble);
}

static void close_devices(cuzk_engine *e) {
    for (uint32_t d = 0; d < e->n_devices; d++) {
        shell_dev *dev = &e->devices[d];
        pthread_mutex_lock(&dev->lock);
        dev->quit = true;
        pthread_cond_broadcast(&dev->wake);
        pthread_mutex_unlock(&dev->lock);
    }
    for (uint32_t d = 0; d < e->n_devices; d++) {
        if (e->devices[d].supervised) pthread_join(e->devices[d].supervisor, NULL);
        e->devices[d].supervised = false;
    }
}

/* ---- the scheduler ---- */

static cuzk_status make_scheduler(cuzk_engine *e, const takeup *t, cuzk_err *err) {
    const cuzk_engine_config *c = &e->config;
    cuzk_sched_device devices[CUZK_ENGINE_MAX_DEVICES];
    for (uint32_t d = 0; d < e->n_devices; d++) {
        shell_dev *dev = &e->devices[d];
        pthread_mutex_lock(&dev->lock);
        const uint64_t memory = dev->info.memory_free;
        pthread_mutex_unlock(&dev->lock);
        devices[d] = (cuzk_sched_device){c->device_memory[d] ? c->device_memory[d] : memory,
                                         c->device_kinds[d]};
        /* one that has never been opened says later how much it has */
        if (devices[d].memory < c->reserved_device) devices[d].memory = c->reserved_device;
    }
    const uint32_t jobs = c->max_jobs + (uint32_t)t->n;
    const cuzk_sched_config config = {.max_jobs = jobs,
                                      .max_partitions = c->max_jobs * 17 +
                                                        CUZK_SCHED_MAX_PARTITIONS + t->partitions,
                                      .max_keys = SHELL_KEYS,
                                      .n_devices = e->n_devices,
                                      .devices = devices,
                                      .witness_workers = c->witness_workers,
                                      .reserved_witness_workers = c->reserved_witness_workers,
                                      .max_ready = c->max_ready,
                                      .slots_per_device = c->workers_per_device,
                                      .reserved_slots = c->reserved_slots,
                                      .results_per_device = c->results_per_device,
                                      .finishers = c->finishers,
                                      .verifiers = c->verifiers,
                                      .slot_until = c->slot_until,
                                      .witness_until = c->witness_until,
                                      .host_memory = c->host_memory,
                                      .pinned_memory = c->pinned_memory,
                                      .reserved = {c->reserved_host, c->reserved_pinned},
                                      .reserved_device = c->reserved_device,
                                      .quarantine_after = c->quarantine_after,
                                      .quarantine_ns = c->quarantine_ns};
    const size_t bytes = cuzk_sched_bytes(&config);
    if (bytes == 0)
        return cuzk_err_set(err, CUZK_STATUS_USAGE,
                            "the engine's sizes make no sense: reserved memory above the budget, a "
                            "count out of range, or a device without memory");
    if (cuzk_alloc(&e->sched_mem, bytes, 1) != CUZK_OK)
        return cuzk_err_set(err, CUZK_STATUS_NO_MEMORY, "not enough memory for %u jobs", jobs);
    e->sched = cuzk_sched_init(e->sched_mem, &config);
    cuzk_sched_get_stats(e->sched, &e->stats);
    return CUZK_OK;
}

/* ---- the janitor: retention ---- */

static void *tidy(void *engine) {
    cuzk_engine *e = engine;
    const cuzk_engine_config *c = &e->config;
    const cuzk_journal_retention rules = {0, c->retention_ns, c->retention_jobs};
    int64_t pause = 60 * SECOND;
    if (c->retention_ns > 0 && c->retention_ns / 4 < pause) pause = c->retention_ns / 4;
    if (pause < SECOND / 20) pause = SECOND / 20;
    pthread_mutex_lock(&e->janitor_lock);
    while (!e->janitor_quit) {
        const int64_t end = cuzk_now_ns() + pause;
        const struct timespec t = {end / SECOND, end % SECOND};
        pthread_mutex_unlock(&e->janitor_lock);
        uint64_t removed;
        cuzk_err err;
        if (cuzk_journal_retain(e->journal, &removed, &rules, &err) != CUZK_OK) {
            /* the next round tries again */
        }
        pthread_mutex_lock(&e->janitor_lock);
        while (!e->janitor_quit && cuzk_now_ns() < end)
            pthread_cond_timedwait(&e->janitor_wake, &e->janitor_lock, &t);
    }
    pthread_mutex_unlock(&e->janitor_lock);
    return NULL;
}

static void stop_janitor(cuzk_engine *e) {
    pthread_mutex_lock(&e->janitor_lock);
    e->janitor_quit = true;
    pthread_cond_signal(&e->janitor_wake);
    pthread_mutex_unlock(&e->janitor_lock);
    if (e->janitor_started) pthread_join(e->janitor, NULL);
    e->janitor_started = false;
}

/* ---- open ---- */

static cuzk_status read_totals(cuzk_engine *e, cuzk_err *err) {
    cuzk_journal_total *rows;
    size_t n;
    CUZK_TRY(cuzk_journal_totals(e->journal, &rows, &n, err));
    for (size_t i = 0; i < n; i++) {
        const cuzk_engine_kind k = cuzk__shell_kind_of(rows[i].kind);
        if (rows[i].outcome == CUZK_JOURNAL_DONE) e->completed[k] += rows[i].jobs;
        if (rows[i].outcome == CUZK_JOURNAL_CANCELLED) e->cancelled[k] += rows[i].jobs;
        if (rows[i].outcome == CUZK_JOURNAL_FAILED || rows[i].outcome == CUZK_JOURNAL_DEADLINE)
            e->failed[k] += rows[i].jobs;
    }
    cuzk_free(rows);
    return CUZK_OK;
}

static cuzk_status open_journal(cuzk_engine *e, cuzk_err *err) {
    cuzk_journal_options o;
    cuzk_journal_options_init(&o);
    o.recover = e->config.recover;
    o.max_bytes = e->config.spool_bytes;
    CUZK_TRY(cuzk_journal_open(&e->journal, e->config.state_dir, &o, err));
    return read_totals(e, err);
}

static cuzk_status start_threads(cuzk_engine *e, takeup *t, cuzk_err *err) {
    CUZK_TRY(open_journal(e, err));
    CUZK_TRY(cuzk__shell_takeup_read(e, t, err));
    CUZK_TRY(open_devices(e, err));
    CUZK_TRY(make_scheduler(e, t, err));
    e->n_witness = e->config.witness_workers + e->config.reserved_witness_workers;
    e->n_slots = e->config.workers_per_device + e->config.reserved_slots;
    CUZK_TRY(cuzk__shell_workers_start(e, err));
    cuzk__shell_takeup_submit(e, t);
    if (pthread_create(&e->owner, NULL, cuzk__shell_owner, e))
        return cuzk_err_set(err, CUZK_STATUS_NO_MEMORY, "not enough memory for a thread");
    e->owner_started = true;
    if (pthread_create(&e->janitor, NULL, tidy, e))
        return cuzk_err_set(err, CUZK_STATUS_NO_MEMORY, "not enough memory for a thread");
    e->janitor_started = true;
    return cuzk__shell_preload_kept(e, err);
}

/* The engine's threads take no signals: those are the program's. */
static cuzk_status start(cuzk_engine *e, takeup *t, cuzk_err *err) {
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    const cuzk_status st = start_threads(e, t, err);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return st;
}

cuzk_status cuzk_engine_open(cuzk_engine **out, const cuzk_engine_config *config,
                             const cuzk_engine_providers *providers, cuzk_err *err) {
    cuzk_engine *e;
    takeup t = {.n = 0};
    *out = NULL;
    CUZK_TRY(check(config, providers, err));
    if (cuzk_alloc((void **)&e, 1, sizeof *e) != CUZK_OK)
        return cuzk_err_set(err, CUZK_STATUS_NO_MEMORY, "not enough memory for an engine");
    e->config = *config;
    e->work = providers->work;
    e->work_self = providers->work_self;
    e->device_ops = providers->devices;
    e->device_self = providers->devices_self;
    e->start_ns = cuzk_now_ns();
    init_locks(e);
    cuzk_status st = copy_strings(e, config);
    if (st == CUZK_OK)
        st = cuzk_trace_ring_new(&e->ring, config->trace_events ? config->trace_events : 1024);
    if (st != CUZK_OK) st = cuzk_err_set(err, st, "not enough memory for an engine");
    fill_in(&e->config);
    if (st == CUZK_OK) st = start(e, &t, err);
    cuzk__shell_takeup_free(&t);
    if (st == CUZK_OK)
        *out = e;
    else
        cuzk_engine_close(e);
    return st;
}

/* ---- close ---- */

static void stop_owner(cuzk_engine *e) {
    pthread_mutex_lock(&e->notes_lock);
    e->stop = true;
    pthread_cond_signal(&e->notes_wake);
    pthread_mutex_unlock(&e->notes_lock);
    if (e->owner_started) pthread_join(e->owner, NULL);
}

/* After the owner: it would take work that was stopped for work that failed, and end its job. */
static void stop_work(cuzk_engine *e) {
    pthread_mutex_lock(&e->lock);
    e->halted = true;
    for (job *j = e->jobs; j; j = j->next)
        for (uint32_t i = 0; i < j->plan.n_partitions; i++)
            atomic_store(&j->parts[i].cancel, true);
    pthread_cond_broadcast(&e->moved_on);
    pthread_mutex_unlock(&e->lock);
}

static void drop_calls(call *c) {
    while (c) {
        call *next = c->next;
        cuzk__shell_call_drop(c);
        c = next;
    }
}

/* Requests that nobody will answer: those that wait for something, and those that never began. */
static void drop_requests(cuzk_engine *e) {
    for (note *n = e->notes; n;) {
        note *next = n->next;
        if (n->drop) n->drop(n);
        n = next;
    }
    drop_calls(e->drains);
    for (uint32_t d = 0; d < e->n_devices; d++) {
        if (e->devices[d].lend) cuzk__shell_call_drop(e->devices[d].lend);
        if (e->devices[d].gate) cuzk__shell_job_drop(e->devices[d].gate);
    }
    for (uint32_t k = 0; k < SHELL_KEYS; k++)
        drop_calls(e->keys[k].calls);
}

/* All threads are gone: what jobs still have is freed here. */
static void free_jobs(cuzk_engine *e) {
    while (e->jobs) {
        job *j = e->jobs;
        for (uint32_t i = 0; i < j->plan.n_partitions; i++)
            cuzk__shell_part_free_witness(e, &j->parts[i]);
        cuzk__shell_job_close(e, j);
        if (atomic_load(&j->work) > 0) cuzk__shell_job_drop(j);
        cuzk__shell_job_unlist(e, j);
    }
}

void cuzk_engine_close(cuzk_engine *e) {
    if (!e) return;
    pthread_mutex_lock(&e->lock);
    e->closing = true;
    pthread_cond_broadcast(&e->opened);
    pthread_mutex_unlock(&e->lock);
    stop_owner(e);
    cuzk__shell_calls_end(e);
    stop_janitor(e);
    stop_work(e);
    close_devices(e);
    cuzk__shell_workers_stop(e);
    cuzk__shell_reaper_stop(e);
    cuzk_journal_close(e->journal);
    drop_requests(e);
    cuzk__shell_workers_free(e);
    free_jobs(e);
    for (uint32_t k = 0; k < SHELL_KEYS; k++)
        if (e->keys[k].ready) e->work->key_free(e->work_self, e->keys[k].name);
    cuzk_free(e->sched_mem);
    cuzk_trace_ring_free(e->ring);
    free_strings(e);
    destroy_locks(e);
    cuzk_free(e);
}
