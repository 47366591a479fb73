/* The whole engine at one time. Memory is sized and got without the engine's lock; under it things
 * are copied, and sorted afterwards. */
#include "state.h"

#include "base/clock.h"
#include "base/mem.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static uint64_t resident(void) {
    unsigned long long pages = 0, rss = 0;
    FILE *f = fopen("/proc/self/statm", "re");
    if (!f) return 0;
    if (fscanf(f, "%llu %llu", &pages, &rss) != 2) rss = 0;
    fclose(f);
    return rss * (uint64_t)sysconf(_SC_PAGESIZE);
}

/* ---- keys ---- */

typedef struct key_list {
    cuzk_engine_status *s;
    size_t room;
    bool more; /* than there is room for */
} key_list;

static void put_key(void *ctx, const char *name, const char *file, bool present) {
    key_list *l = ctx;
    (void)file;
    if (l->s->n_keys == l->room) {
        l->more = true;
        return;
    }
    cuzk_engine_key_status *k = &l->s->keys[l->s->n_keys++];
    snprintf(k->name, sizeof k->name, "%s", name);
    k->present = present;
}

/* lock held */
static void fill_key(cuzk_engine *e, const shell_key *k, cuzk_engine_key_status *out) {
    uint32_t users = 0;
    snprintf(out->name, sizeof out->name, "%s", k->name);
    out->size = k->defined ? k->plan.size : k->asked.size;
    out->host_bytes = k->ready ? k->plan.host : 0;
    out->last_used_ns = k->last_used;
    out->load_ns = k->load_ns;
    if (!k->defined) return;
    const cuzk_sched_key_state host =
        cuzk_sched_get_key(e->sched, k->index, CUZK_SCHED_HOST, &users);
    out->loaded = k->ready;
    out->loading = host == CUZK_KEY_LOADING;
    out->users = users;
    for (uint32_t d = 0; d < e->n_devices; d++)
        if (cuzk_sched_get_key(e->sched, k->index, d, NULL) == CUZK_KEY_READY)
            out->device_mask |= UINT32_C(1) << d;
}

static void fill_keys(cuzk_engine *e, cuzk_engine_status *s, size_t room) {
    for (uint32_t i = 0; i < SHELL_KEYS; i++) {
        const shell_key *k = &e->keys[i];
        if (!k->name[0]) continue;
        size_t at = 0;
        while (at < s->n_keys && strcmp(s->keys[at].name, k->name) != 0)
            at++;
        if (at == room) continue;
        if (at == s->n_keys) s->n_keys++;
        fill_key(e, k, &s->keys[at]);
    }
}

/* ---- devices and jobs ---- */

static void fill_devices(cuzk_engine *e, cuzk_engine_status *s) {
    for (uint32_t i = 0; i < e->n_devices; i++) {
        shell_dev *d = &e->devices[i];
        cuzk_engine_device_status *out = &s->devices[i];
        pthread_mutex_lock(&d->lock);
        out->info = d->info;
        out->restarts = d->restarts;
        memcpy(out->trouble, d->trouble, sizeof out->trouble);
        pthread_mutex_unlock(&d->lock);
        out->sched = e->device_stats[i];
        out->kinds = e->config.device_kinds[i];
        out->busy_ns = d->busy_ns;
        out->moved = d->moved;
        if (!d->gate) continue;
        memcpy(out->job_id, d->gate->view.id, sizeof out->job_id);
        out->kind = d->gate->view.kind;
        out->partition = d->gate_partition;
    }
}

static void fill_job(const job *j, cuzk_engine_live_job *out) {
    out->job = j->view;
    for (uint32_t i = 0; i < j->plan.n_partitions; i++) {
        const part *p = &j->parts[i];
        out->partitions[i] = (cuzk_engine_partition_status){.stage = p->stage,
                                                            .failed = p->failed,
                                                            .device = p->device,
                                                            .witness_ms = p->witness_ms,
                                                            .compute_ms = p->compute_ms,
                                                            .moved = p->moved};
    }
}

static void fill_jobs(cuzk_engine *e, cuzk_engine_status *s, size_t room) {
    for (const job *j = e->jobs; j && s->n_jobs < room; j = j->next) {
        if (!j->view.id[0]) continue;
        fill_job(j, &s->jobs[s->n_jobs++]);
        if (j->view.state == CUZK_ENGINE_QUEUED) s->pending[j->view.kind]++;
        if (j->view.state == CUZK_ENGINE_RUNNING) s->running[j->view.kind]++;
    }
}

/* The scheduler's order; ended ones behind, newest first. */
static int in_order(const void *a, const void *b) {
    const cuzk_engine_job *x = &((const cuzk_engine_live_job *)a)->job;
    const cuzk_engine_job *y = &((const cuzk_engine_live_job *)b)->job;
    const bool x_over = x->state > CUZK_ENGINE_RUNNING, y_over = y->state > CUZK_ENGINE_RUNNING;
    if (x_over != y_over) return x_over ? 1 : -1;
    if (x_over) return x->ended_ns > y->ended_ns ? -1 : x->ended_ns < y->ended_ns;
    if (x->priority != y->priority) return x->priority > y->priority ? -1 : 1;
    const int64_t dx = x->deadline_ns ? x->deadline_ns : INT64_MAX;
    const int64_t dy = y->deadline_ns ? y->deadline_ns : INT64_MAX;
    if (dx != dy) return dx < dy ? -1 : 1;
    return x->submitted_ns < y->submitted_ns ? -1 : x->submitted_ns > y->submitted_ns;
}

/* ---- all ---- */

/* One piece of memory for all of it. */
static cuzk_status make_room(cuzk_engine_status **out, size_t devices, size_t keys, size_t jobs) {
    cuzk_engine_status *s;
    const size_t at_devices = (sizeof *s + 15) & ~(size_t)15;
    const size_t at_keys = at_devices + devices * sizeof *s->devices;
    const size_t at_jobs = at_keys + keys * sizeof *s->keys;
    CUZK_TRY(cuzk_alloc((void **)&s, at_jobs + jobs * sizeof *s->jobs, 1));
    s->devices = (cuzk_engine_device_status *)((char *)s + at_devices);
    s->keys = (cuzk_engine_key_status *)((char *)s + at_keys);
    s->jobs = (cuzk_engine_live_job *)((char *)s + at_jobs);
    s->n_devices = devices;
    *out = s;
    return CUZK_OK;
}

static void fill_totals(cuzk_engine *e, cuzk_engine_status *s) {
    s->sched = e->stats;
    s->witness_workers = e->config.witness_workers;
    s->workers_per_device = e->config.workers_per_device;
    s->max_jobs = e->config.max_jobs;
    memcpy(s->completed, e->completed, sizeof s->completed);
    memcpy(s->failed, e->failed, sizeof s->failed);
    memcpy(s->cancelled, e->cancelled, sizeof s->cancelled);
    memcpy(s->seconds_sum, e->seconds_sum, sizeof s->seconds_sum);
    memcpy(s->seconds_count, e->seconds_count, sizeof s->seconds_count);
    s->partitions_done = e->partitions_done;
    s->retries = e->retries;
    s->refused = e->refused;
}

static cuzk_status snapshot(cuzk_engine *e, cuzk_engine_status **out, cuzk_err *err) {
    enum { KEYS = 256 };
    cuzk_engine_status *s;
    cuzk_journal_stats journal;
    struct timespec t;
    pthread_mutex_lock(&e->lock);
    const size_t jobs = e->n_jobs + 16;
    pthread_mutex_unlock(&e->lock);
    cuzk_status st = make_room(&s, e->n_devices, KEYS, jobs);
    if (st != CUZK_OK) return cuzk_err_set(err, st, "not enough memory for a status");
    key_list keys = {s, KEYS, false};
    st = e->work->keys(e->work_self, put_key, &keys, err);
    if (st != CUZK_OK) {
        cuzk_free(s);
        return st;
    }
    cuzk_journal_get_stats(e->journal, &journal);
    s->spool_used = journal.stored_bytes;
    s->journal = journal.last_status;
    s->rss = resident();
    s->witness_workers = e->config.witness_workers;
    s->workers_per_device = e->config.workers_per_device;
    s->max_jobs = e->config.max_jobs;
    s->start_ns = e->start_ns;
    pthread_mutex_lock(&e->lock);
    s->now_ns = cuzk_now_ns();
    fill_totals(e, s);
    fill_devices(e, s);
    fill_keys(e, s, KEYS);
    fill_jobs(e, s, jobs);
    pthread_mutex_unlock(&e->lock);
    clock_gettime(CLOCK_REALTIME, &t);
    s->wall_ns = (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
    qsort(s->jobs, s->n_jobs, sizeof *s->jobs, in_order);
    *out = s;
    return CUZK_OK;
}

cuzk_status cuzk_engine_snapshot(cuzk_engine *e, cuzk_engine_status **out, cuzk_err *err) {
    CUZK_TRY(cuzk__shell_enter(e, err));
    const cuzk_status st = snapshot(e, out, err);
    cuzk__shell_leave(e);
    return st;
}
