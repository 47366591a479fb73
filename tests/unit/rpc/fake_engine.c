#include "fake_engine.h"

#include "base/mem.h"

#include <stdio.h>
#include <string.h>

void fake_engine_init(cuzk_engine *e) {
    memset(e, 0, sizeof *e);
    pthread_mutex_init(&e->lock, NULL);
    e->message = "told so by the test";
}

static cuzk_status say(const cuzk_engine *e, cuzk_status st, cuzk_err *err) {
    return st == CUZK_OK ? st : cuzk_err_set(err, st, "%s", e->message);
}

const char *cuzk_engine_state_name(cuzk_engine_state s) {
    static const char *const names[] = {"queued", "running",   "done",
                                        "failed", "cancelled", "deadline"};
    return names[s];
}

const char *cuzk_engine_kind_name(cuzk_engine_kind kind) {
    static const char *const names[] = {
#define CUZK__NAME(name, text) text,
        CUZK_ENGINE_KINDS(CUZK__NAME)
#undef CUZK__NAME
    };
    return names[kind];
}

static cuzk_engine_job *find(cuzk_engine *e, const char *id) {
    for (size_t i = 0; i < e->n_jobs; i++) {
        if (strcmp(e->jobs[i].id, id) == 0 || (id[0] && strcmp(e->jobs[i].request_id, id) == 0))
            return &e->jobs[i];
    }
    return NULL;
}

static void keep(cuzk_engine *e, const cuzk_engine_request *r) {
    const cuzk_engine_payload *p = &r->payload;
    e->kind = p->kind;
    snprintf(e->meta, sizeof e->meta, "%.*s", (int)p->meta.len, (const char *)p->meta.data);
    e->n_parts = p->n_parts;
    for (size_t i = 0; i < p->n_parts && i < 8; i++) {
        e->part_len[i] = p->parts[i].len;
        e->part_sum[i] = 0;
        for (size_t k = 0; k < p->parts[i].len; k++)
            e->part_sum[i] += ((const uint8_t *)p->parts[i].data)[k];
    }
    e->priority = r->priority;
    e->deadline_ns = r->deadline_ns;
}

cuzk_status cuzk_engine_submit(cuzk_engine *e, const cuzk_engine_request *request,
                               cuzk_engine_accepted *accepted, cuzk_engine_refusal *refusal,
                               cuzk_err *err) {
    pthread_mutex_lock(&e->lock);
    e->submits++;
    keep(e, request);
    *refusal = e->refusal;
    if (e->submit_status == CUZK_OK) {
        const char *rid = request->request_id ? request->request_id : "";
        cuzk_engine_job *job = rid[0] ? find(e, rid) : NULL;
        accepted->existed = job != NULL;
        if (!job && e->n_jobs < FAKE_JOBS) {
            job = &e->jobs[e->n_jobs++];
            snprintf(job->id, sizeof job->id, "fake-%zu", e->n_jobs);
            snprintf(job->request_id, sizeof job->request_id, "%s", rid);
            snprintf(job->client, sizeof job->client, "%s", request->client);
            job->kind = request->payload.kind;
            job->n_partitions = 2;
            job->submitted_ns = 1700000000000000000;
            job->deadline_ns = request->deadline_ns;
        }
        snprintf(accepted->job_id, sizeof accepted->job_id, "%s", job ? job->id : "");
        accepted->position = 3;
        accepted->depth = 4;
    }
    pthread_mutex_unlock(&e->lock);
    return say(e, e->submit_status, err);
}

cuzk_status cuzk_engine_get(cuzk_engine *e, const char *id, cuzk_engine_job *out, cuzk_err *err) {
    pthread_mutex_lock(&e->lock);
    const cuzk_engine_job *job = find(e, id);
    if (job) *out = *job;
    pthread_mutex_unlock(&e->lock);
    return job ? CUZK_OK : cuzk_err_set(err, CUZK_STATUS_NOT_FOUND, "no job %s", id);
}

cuzk_status cuzk_engine_result(cuzk_engine *e, const char *id, bool fetched, cuzk_buf *out,
                               cuzk_err *err) {
    pthread_mutex_lock(&e->lock);
    const cuzk_engine_job *job = find(e, id);
    if (job) cuzk_buf_puts(out, e->proofs[job - e->jobs]);
    if (fetched) e->fetches++;
    pthread_mutex_unlock(&e->lock);
    return job ? CUZK_OK : cuzk_err_set(err, CUZK_STATUS_NOT_FOUND, "no job %s", id);
}

cuzk_status cuzk_engine_list(cuzk_engine *e, int64_t before, cuzk_engine_job *out, size_t *n,
                             cuzk_err *err) {
    (void)err;
    (void)before;
    pthread_mutex_lock(&e->lock);
    if (*n > e->n_jobs) *n = e->n_jobs;
    for (size_t i = 0; i < *n; i++)
        out[i] = e->jobs[e->n_jobs - 1 - i];
    pthread_mutex_unlock(&e->lock);
    return CUZK_OK;
}

static void tell(cuzk_engine *e, const cuzk_engine_job *job) {
    for (size_t i = 0; i < FAKE_WATCHES; i++) {
        cuzk_engine_watch *w = e->watches[i];
        if (w && (!w->id[0] || strcmp(w->id, job->id) == 0)) w->changed(w->ctx, job);
    }
}

void fake_engine_end(cuzk_engine *e, const char *id, cuzk_engine_state state, const char *text) {
    pthread_mutex_lock(&e->lock);
    cuzk_engine_job *job = find(e, id);
    if (job) {
        job->state = state;
        job->ended_ns = job->submitted_ns + 5000000000;
        job->times = (cuzk_engine_times){1, 2, 3, 4, 5000};
        if (state == CUZK_ENGINE_DONE) {
            job->partitions_done = job->n_partitions;
            snprintf(e->proofs[job - e->jobs], sizeof e->proofs[0], "%s", text);
        } else {
            snprintf(job->message, sizeof job->message, "%s", text);
        }
        tell(e, job);
    }
    pthread_mutex_unlock(&e->lock);
}

cuzk_status cuzk_engine_cancel(cuzk_engine *e, const char *id, bool *running, cuzk_err *err) {
    cuzk_engine_job job;
    CUZK_TRY(cuzk_engine_get(e, id, &job, err));
    *running = job.state == CUZK_ENGINE_RUNNING;
    pthread_mutex_lock(&e->lock);
    e->cancels++;
    pthread_mutex_unlock(&e->lock);
    if (job.state == CUZK_ENGINE_QUEUED || job.state == CUZK_ENGINE_RUNNING)
        fake_engine_end(e, job.id, CUZK_ENGINE_CANCELLED, "");
    return say(e, e->cancel_status, err);
}

cuzk_status cuzk_engine_watch_new(cuzk_engine *e, const char *id,
                                  void (*changed)(void *ctx, const cuzk_engine_job *job), void *ctx,
                                  cuzk_engine_watch **out, cuzk_err *err) {
    cuzk_engine_watch *w = NULL;
    *out = NULL;
    pthread_mutex_lock(&e->lock);
    const cuzk_engine_job *job = id[0] ? find(e, id) : NULL;
    size_t at = 0;
    while (at < FAKE_WATCHES && e->watches[at])
        at++;
    cuzk_status st = id[0] && !job ? CUZK_STATUS_NOT_FOUND : CUZK_OK;
    if (st == CUZK_OK)
        st = at < FAKE_WATCHES ? cuzk_alloc((void **)&w, 1, sizeof *w) : CUZK_STATUS_BUSY;
    if (st == CUZK_OK) {
        w->engine = e;
        w->changed = changed;
        w->ctx = ctx;
        if (job) snprintf(w->id, sizeof w->id, "%s", job->id);
        e->watches[at] = w;
        *out = w;
        for (size_t i = 0; i < e->n_jobs; i++) {
            if (!id[0] || &e->jobs[i] == job) changed(ctx, &e->jobs[i]);
        }
    }
    pthread_mutex_unlock(&e->lock);
    return st == CUZK_OK ? st : cuzk_err_set(err, st, "no job %s", id);
}

void cuzk_engine_unwatch(cuzk_engine_watch *w) {
    cuzk_engine *e = w->engine;
    pthread_mutex_lock(&e->lock);
    for (size_t i = 0; i < FAKE_WATCHES; i++) {
        if (e->watches[i] == w) e->watches[i] = NULL;
    }
    pthread_mutex_unlock(&e->lock);
    cuzk_free(w);
}

unsigned fake_engine_watches(cuzk_engine *e) {
    unsigned n = 0;
    pthread_mutex_lock(&e->lock);
    for (size_t i = 0; i < FAKE_WATCHES; i++)
        n += e->watches[i] != NULL;
    pthread_mutex_unlock(&e->lock);
    return n;
}

cuzk_status cuzk_engine_preload(cuzk_engine *e, const char *key, bool *already, int64_t *took_ns,
                                cuzk_err *err) {
    e->preloads++;
    *already = strcmp(key, "loaded") == 0;
    *took_ns = 7000000;
    return say(e, e->preload_status, err);
}

cuzk_status cuzk_engine_evict(cuzk_engine *e, const char *key, bool *was_loaded, uint64_t *freed,
                              cuzk_err *err) {
    e->evicts++;
    *was_loaded = strcmp(key, "loaded") == 0;
    *freed = 4096;
    return say(e, e->evict_status, err);
}

cuzk_status cuzk_engine_lend(cuzk_engine *e, uint32_t device, uint64_t bytes, int64_t timeout_ns,
                             cuzk_err *err) {
    (void)device;
    (void)bytes;
    (void)timeout_ns;
    e->lends++;
    return say(e, e->lend_status, err);
}

cuzk_status cuzk_engine_take_back(cuzk_engine *e, uint32_t device, uint64_t bytes, cuzk_err *err) {
    (void)device;
    (void)bytes;
    (void)err;
    e->take_backs++;
    return CUZK_OK;
}

cuzk_status cuzk_engine_restore(cuzk_engine *e, uint32_t device, cuzk_err *err) {
    e->restores++;
    return device < 2 ? CUZK_OK : cuzk_err_set(err, CUZK_STATUS_NOT_FOUND, "no device %u", device);
}

cuzk_status cuzk_engine_drain(cuzk_engine *e, bool checkpoint, int64_t timeout_ns, cuzk_err *err) {
    (void)timeout_ns;
    e->drains++;
    e->checkpoint = checkpoint;
    e->draining = true;
    return say(e, e->drain_status, err);
}

cuzk_status cuzk_engine_resume(cuzk_engine *e, cuzk_err *err) {
    (void)err;
    e->resumes++;
    e->draining = false;
    return CUZK_OK;
}

cuzk_status cuzk_engine_trace(cuzk_engine *e, cuzk_trace *out) {
    static const cuzk_trace_item items[] = {
        {1000000, -1, 1, CUZK_TRACE_SYNTH_START, 0, CUZK_TRACE_NONE, CUZK_TRACE_NONE},
        {301000000, 300000000, 1, CUZK_TRACE_SYNTH_END, 0, CUZK_TRACE_NONE, CUZK_TRACE_NONE},
        {301000000, -1, 1, CUZK_TRACE_GPU_QUEUE, 0, CUZK_TRACE_NONE, CUZK_TRACE_NONE},
        {302000000, -1, 1, CUZK_TRACE_GPU_PICKUP, 0, 0, 0},
        {342000000, -1, 1, CUZK_TRACE_GPU_START, 0, 0, 0},
        {442000000, 100000000, 1, CUZK_TRACE_GPU_END, 0, 0, 0},
    };
    (void)e;
    for (size_t i = 0; i < sizeof items / sizeof items[0]; i++)
        CUZK_TRY(cuzk_trace_add(out, &items[i]));
    return CUZK_OK;
}

/* ---- a snapshot ---- */

static void put_job(cuzk_engine_live_job *l, const char *id, cuzk_engine_kind kind,
                    cuzk_engine_state state, uint32_t partitions) {
    snprintf(l->job.id, sizeof l->job.id, "%s", id);
    snprintf(l->job.client, sizeof l->job.client, "127.0.0.1:4711");
    l->job.kind = kind;
    l->job.state = state;
    l->job.priority = 2;
    l->job.n_partitions = partitions;
    l->job.submitted_ns = 1700000000000000000;
    for (uint32_t p = 0; p < partitions; p++)
        l->partitions[p] =
            (cuzk_engine_partition_status){.stage = CUZK_STAGE_QUEUE, .device = CUZK_SCHED_NONE};
}

static void put_jobs(cuzk_engine_live_job *j) {
    put_job(&j[0], "job-1", CUZK_ENGINE_POREP, CUZK_ENGINE_RUNNING, 10);
    cuzk_engine_partition_status *p = j[0].partitions;
    p[0].stage = CUZK_STAGES;
    p[0].device = 0;
    p[0].witness_ms = 300;
    p[0].compute_ms = 100;
    p[0].moved.in_pinned = 21;
    p[0].moved.out_pageable = 22;
    p[1].stage = CUZK_STAGE_COMPUTE;
    p[1].device = 0;
    p[1].witness_ms = 300;
    p[2].stage = CUZK_STAGE_WITNESS;
    p[3].witness_ms = 310;
    j[0].job.moved.in_pinned = 21;
    put_job(&j[1], "job-2", CUZK_ENGINE_CIRCOM, CUZK_ENGINE_FAILED, 1);
    snprintf(j[1].job.request_id, sizeof j[1].job.request_id, "odd \"id\" \xc3\xa9 \xff\n");
    snprintf(j[1].job.message, sizeof j[1].job.message, "verify: the proof is wrong");
    j[1].partitions[0].failed = true;
    j[1].job.ended_ns = 1700000001000000000;
}

static void put_device(cuzk_engine_device_status *d) {
    snprintf(d->info.name, sizeof d->info.name, "Simulated \"A\"");
    snprintf(d->info.uuid, sizeof d->info.uuid, "GPU-0001");
    d->info.memory_total = 16ull << 30;
    d->sched.up = true;
    d->sched.slots_busy = 2;
    d->sched.memory_used = 5ull << 30;
    d->sched.memory_limit = 16ull << 30;
    d->kinds = 1u << CUZK_ENGINE_POREP | 1u << CUZK_ENGINE_CIRCOM;
    snprintf(d->job_id, sizeof d->job_id, "job-1");
    d->kind = CUZK_ENGINE_POREP;
    d->partition = 1;
    d->busy_ns = 123456789000;
    d->moved = (cuzk_engine_moved){11, 12, 13, 14, 15, 16000000000};
    snprintf(d->trouble, sizeof d->trouble, "none \\ any");
}

cuzk_engine_status *fake_status(void) {
    struct whole {
        cuzk_engine_status s;
        cuzk_engine_device_status devices[2];
        cuzk_engine_key_status keys[3];
        cuzk_engine_live_job jobs[2];
    } *w = NULL;
    if (cuzk_alloc((void **)&w, 1, sizeof *w) != CUZK_OK) return NULL;
    cuzk_engine_status *s = &w->s;
    s->now_ns = 61500000000;
    s->start_ns = 1500000000;
    s->wall_ns = 1700000060000000000;
    s->sched.jobs = 5;
    s->sched.queued = 6;
    s->sched.ready = 1;
    s->sched.running[CUZK_STAGE_WITNESS] = 3;
    s->sched.running[CUZK_STAGE_COMPUTE] = 1;
    s->sched.host_used = 3ull << 30;
    s->sched.host_limit = 8ull << 30;
    s->sched.pinned_used = 1ull << 20;
    s->sched.pinned_limit = 1ull << 30;
    s->completed[CUZK_ENGINE_POREP] = 7;
    s->completed[CUZK_ENGINE_WINNING] = 2;
    s->failed[CUZK_ENGINE_CIRCOM] = 1;
    s->pending[CUZK_ENGINE_WINDOW] = 4;
    s->running[CUZK_ENGINE_POREP] = 1;
    s->seconds_sum[CUZK_ENGINE_POREP] = 21;
    s->seconds_count[CUZK_ENGINE_POREP] = 7;
    s->witness_workers = 4;
    s->workers_per_device = 2;
    s->n_devices = 2;
    s->devices = w->devices;
    put_device(&w->devices[0]);
    w->devices[1].sched.quarantined = true;
    s->n_keys = 3;
    s->keys = w->keys;
    snprintf(w->keys[0].name, sizeof w->keys[0].name, "porep-32g");
    w->keys[0].present = w->keys[0].loaded = true;
    w->keys[0].device_mask = 1;
    w->keys[0].users = 2;
    w->keys[0].size = 47373896256;
    w->keys[0].host_bytes = 25ull << 30;
    snprintf(w->keys[1].name, sizeof w->keys[1].name, "mul \"3\"");
    w->keys[1].present = true;
    snprintf(w->keys[2].name, sizeof w->keys[2].name, "missing");
    s->n_jobs = 2;
    s->jobs = w->jobs;
    put_jobs(w->jobs);
    return s;
}

cuzk_status cuzk_engine_snapshot(cuzk_engine *e, cuzk_engine_status **out, cuzk_err *err) {
    *out = e->snapshot_status == CUZK_OK ? fake_status() : NULL;
    if (*out) {
        (*out)->sched.draining = e->draining;
        (*out)->journal = e->no_journal ? CUZK_STATUS_IO : CUZK_OK;
        for (size_t i = 0; i < (*out)->n_devices && e->no_device; i++)
            (*out)->devices[i].sched.up = false;
    }
    return say(e, e->snapshot_status, err);
}
