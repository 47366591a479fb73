/* Worker threads: one piece of work at a time, handed over by the owner, answered by a note. */
#include "state.h"

#include "base/clock.h"
#include "base/mem.h"

#include <stdio.h>

cuzk_sched_fault cuzk__shell_fault_of(cuzk_status st) {
    if (st == CUZK_OK) return CUZK_FAULT_NONE;
    return st == CUZK_STATUS_BAD_INPUT || st == CUZK_STATUS_FALSE ? CUZK_FAULT_INPUT
                                                                  : CUZK_FAULT_ERROR;
}

/* Drops what a piece of work holds and that nobody will report. */
static void forget(cuzk_engine *e, item *it) {
    cuzk__shell_witness_drop(e, it->witness);
    cuzk__shell_job_unuse(e, it->job);
    it->job = NULL;
}

void cuzk__shell_give(worker *w, const item *it) {
    item stale = {.job = NULL};
    pthread_mutex_lock(&w->lock);
    /* What is still there was for a device that went down: the scheduler knows no more of it. */
    stale = w->next;
    w->next = *it;
    pthread_cond_signal(&w->wake);
    pthread_mutex_unlock(&w->lock);
    if (!stale.job) return;
    if (stale.device) cuzk__shell_device_skip(stale.device);
    forget(w->e, &stale);
}

static void note_event(cuzk_engine *e, const item *it, cuzk_trace_event event, int64_t at,
                       int64_t took) {
    const bool device = event >= CUZK_TRACE_GPU_PICKUP;
    const cuzk_trace_item t = {.ns = at - e->start_ns,
                               .took = took,
                               .job = it->job->number,
                               .event = event,
                               .partition = it->partition,
                               .worker = device ? it->slot : CUZK_TRACE_NONE,
                               .device = device ? it->device->index : CUZK_TRACE_NONE};
    if (e->ring) cuzk_trace_ring_put(e->ring, &t);
}

/* ---- witness ---- */

/* Waits until the job is in the journal, and then until its key is there; false: not wanted any
 * more. */
static bool wait_for(cuzk_engine *e, const item *it, bool for_key) {
    const part *p = &it->job->parts[it->partition];
    pthread_mutex_lock(&e->lock);
    while (!e->halted && !atomic_load(&p->cancel) &&
           !(for_key ? !it->job->key || it->job->key->ready : it->job->durable))
        pthread_cond_wait(&e->moved_on, &e->lock);
    const bool wanted = !e->halted && !atomic_load(&p->cancel);
    pthread_mutex_unlock(&e->lock);
    return wanted;
}

static cuzk_status make_witness(worker *w) {
    cuzk_engine *e = w->e;
    const item *it = &w->it;
    report *r = &w->report;
    job *j = it->job;
    cuzk__shell_reaped(e, it->ticket);
    if (!wait_for(e, it, false)) return cuzk_err_set(&r->err, CUZK_STATUS_FAILED, "stopped");
    CUZK_TRY(cuzk__shell_job_open(e, j, &r->err));
    const int64_t asked = cuzk_now_ns();
    if (!wait_for(e, it, true)) return cuzk_err_set(&r->err, CUZK_STATUS_FAILED, "stopped");
    const int64_t begin = cuzk_now_ns();
    r->key_wait = begin - asked;
    if (cuzk_alloc((void **)&r->witness, 1, sizeof *r->witness) != CUZK_OK)
        return cuzk_err_set(&r->err, CUZK_STATUS_NO_MEMORY, "not enough memory for a witness");
    atomic_init(&r->witness->refs, 1);
    r->witness->w.fd = -1;
    note_event(e, it, CUZK_TRACE_SYNTH_START, begin, -1);
    const cuzk_status st =
        e->work->witness(e->work_self, j->object, it->partition, &j->parts[it->partition].cancel,
                         &r->witness->w, &r->err);
    const int64_t end = cuzk_now_ns();
    r->took = end - begin;
    note_event(e, it, CUZK_TRACE_SYNTH_END, end, r->took);
    if (st == CUZK_OK) {
        note_event(e, it, CUZK_TRACE_GPU_QUEUE, end, -1);
        return CUZK_OK;
    }
    cuzk_free(r->witness);
    r->witness = NULL;
    return st;
}

/* ---- the device ---- */

static cuzk_status stage(worker *w) {
    cuzk_engine *e = w->e;
    item *it = &w->it;
    if (!it->witness)
        return cuzk_err_set(&w->report.err, CUZK_STATUS_BUG, "a partition without its witness");
    note_event(e, it, CUZK_TRACE_GPU_PICKUP, cuzk_now_ns(), -1);
    const cuzk_status st = e->device_ops->stage(e->device_self, it->device->index, it->slot,
                                                it->key, &it->witness->w, &w->report.err);
    cuzk__shell_witness_drop(e, it->witness);
    it->witness = NULL;
    return st;
}

static cuzk_status compute(worker *w) {
    cuzk_engine *e = w->e;
    const item *it = &w->it;
    const int64_t begin = cuzk_now_ns();
    note_event(e, it, CUZK_TRACE_GPU_START, begin, -1);
    const cuzk_status st = e->device_ops->compute(e->device_self, it->device->index, it->slot,
                                                  it->result, &w->report.moved, &w->report.err);
    const int64_t end = cuzk_now_ns();
    w->report.took = end - begin;
    note_event(e, it, CUZK_TRACE_GPU_END, end, w->report.took);
    return st;
}

static void on_device(worker *w) {
    cuzk_engine *e = w->e;
    item *it = &w->it;
    shell_dev *d = it->device;
    cuzk_status st;
    if (!cuzk__shell_device_enter(d, &w->call, e->config.hang_ns,
                                  cuzk_sched_stage_name(it->stage))) {
        forget(e, it);
        return;
    }
    if (it->stage == CUZK_STAGE_STAGE)
        st = stage(w);
    else if (it->stage == CUZK_STAGE_COMPUTE)
        st = compute(w);
    else
        st = e->device_ops->finish(e->device_self, d->index, it->result, w->report.bytes,
                                   &w->report.n_bytes, &w->report.err);
    w->report.fault = cuzk__shell_fault_of(st);
    if (st == CUZK_STATUS_NO_DEVICE) cuzk__shell_device_lost(d, w->report.err.msg);
    if (!cuzk__shell_device_leave(d, &w->call, &w->note)) forget(e, it);
}

/* ---- the host ---- */

static void verify(worker *w) {
    cuzk_engine *e = w->e;
    report *r = &w->report;
    const item *it = &w->it;
    cuzk_status st = cuzk__shell_job_open(e, it->job, &r->err);
    if (st == CUZK_OK)
        st = e->work->verify(e->work_self, it->job->object, it->partition, it->bytes, it->n_bytes,
                             r->bytes, &r->n_bytes, &r->err);
    r->fault = st == CUZK_STATUS_FALSE ? CUZK_FAULT_WRONG : cuzk__shell_fault_of(st);
}

static void assemble(worker *w) {
    cuzk_engine *e = w->e;
    report *r = &w->report;
    job *j = w->it.job;
    cuzk_engine_bytes proofs[CUZK_SCHED_MAX_PARTITIONS];
    for (uint32_t i = 0; i < j->plan.n_partitions; i++)
        proofs[i] = (cuzk_engine_bytes){j->parts[i].proof, j->parts[i].n_proof};
    cuzk_status st = cuzk__shell_job_open(e, j, &r->err);
    if (st == CUZK_OK) st = e->work->assemble(e->work_self, j->object, proofs, &r->answer, &r->err);
    if (st == CUZK_OK) st = cuzk_buf_status(&r->answer);
    r->fault = cuzk__shell_fault_of(st);
    if (st != CUZK_OK) cuzk_buf_free(&r->answer);
}

static void work(worker *w) {
    report *r = &w->report;
    r->err = (cuzk_err){CUZK_OK, ""};
    r->took = r->key_wait = 0;
    r->moved = (cuzk_engine_moved){0};
    r->n_bytes = 0;
    switch (w->it.stage) {
    case CUZK_STAGE_WITNESS:
        r->fault = cuzk__shell_fault_of(make_witness(w));
        break;
    case CUZK_STAGE_VERIFY:
        verify(w);
        break;
    case CUZK_STAGE_ASSEMBLE:
        assemble(w);
        break;
    default:
        on_device(w);
        return;
    }
    cuzk__shell_post(w->e, &w->note);
}

static void *run(void *arg) {
    static const char *const names[] = {"witness", "slot", "finisher", "verifier"};
    worker *w = arg;
    char name[16];
    snprintf(name, sizeof name, "%s %u", names[w->kind], w->index);
    pthread_setname_np(pthread_self(), name);
    pthread_mutex_lock(&w->lock);
    for (;;) {
        while (!w->next.job && !w->quit)
            pthread_cond_wait(&w->wake, &w->lock);
        if (w->quit) break;
        w->it = w->next;
        w->next.job = NULL;
        pthread_mutex_unlock(&w->lock);
        work(w);
        pthread_mutex_lock(&w->lock);
    }
    pthread_mutex_unlock(&w->lock);
    return NULL;
}

/* ---- all of them ---- */

static cuzk_status start(cuzk_engine *e, worker **out, uint32_t n, worker_kind kind) {
    CUZK_TRY(cuzk_alloc((void **)out, n, sizeof **out));
    for (uint32_t i = 0; i < n; i++) {
        worker *w = &(*out)[i];
        w->e = e;
        w->kind = kind;
        w->index = i;
        w->note.handle = cuzk__shell_done;
        pthread_mutex_init(&w->lock, NULL);
        pthread_cond_init(&w->wake, NULL);
    }
    for (uint32_t i = 0; i < n; i++) {
        if (pthread_create(&(*out)[i].thread, NULL, run, &(*out)[i])) return CUZK_STATUS_NO_MEMORY;
        (*out)[i].started = true;
    }
    return CUZK_OK;
}

cuzk_status cuzk__shell_workers_start(cuzk_engine *e, cuzk_err *err) {
    cuzk_status st = start(e, &e->witness, e->n_witness, WORKER_WITNESS);
    if (st == CUZK_OK) st = start(e, &e->finishers, e->config.finishers, WORKER_FINISHER);
    if (st == CUZK_OK) st = start(e, &e->verifiers, e->config.verifiers, WORKER_VERIFIER);
    for (uint32_t d = 0; d < e->n_devices && st == CUZK_OK; d++) {
        st = start(e, &e->devices[d].slots, e->n_slots, WORKER_SLOT);
        if (st == CUZK_OK) st = cuzk__shell_loader_start(e, &e->devices[d].keys, 1);
    }
    if (st == CUZK_OK) st = cuzk__shell_loader_start(e, &e->loader, SHELL_LOADERS);
    if (st == CUZK_OK) st = cuzk__shell_reaper_start(e);
    return st == CUZK_OK ? CUZK_OK
                         : cuzk_err_set(err, st, "not enough memory for the engine's threads");
}

static void stop(cuzk_engine *e, worker **workers, uint32_t n) {
    for (uint32_t i = 0; *workers && i < n; i++) {
        worker *w = &(*workers)[i];
        pthread_mutex_lock(&w->lock);
        w->quit = true;
        pthread_cond_signal(&w->wake);
        pthread_mutex_unlock(&w->lock);
    }
    for (uint32_t i = 0; *workers && i < n; i++) {
        worker *w = &(*workers)[i];
        if (w->started) pthread_join(w->thread, NULL);
        if (w->next.job) forget(e, &w->next);
        w->next.job = NULL;
    }
}

void cuzk__shell_workers_stop(cuzk_engine *e) {
    stop(e, &e->witness, e->n_witness);
    stop(e, &e->finishers, e->config.finishers);
    stop(e, &e->verifiers, e->config.verifiers);
    for (uint32_t d = 0; d < e->n_devices; d++) {
        stop(e, &e->devices[d].slots, e->n_slots);
        cuzk__shell_loader_stop(&e->devices[d].keys);
    }
    cuzk__shell_loader_stop(&e->loader);
}

static void free_workers(cuzk_engine *e, worker **workers, uint32_t n) {
    for (uint32_t i = 0; *workers && i < n; i++) {
        worker *w = &(*workers)[i];
        if (w->report.witness) {
            e->work->witness_free(e->work_self, &w->report.witness->w);
            cuzk_free(w->report.witness);
        }
        cuzk_buf_free(&w->report.answer);
        pthread_mutex_destroy(&w->lock);
        pthread_cond_destroy(&w->wake);
    }
    cuzk_free(*workers);
    *workers = NULL;
}

void cuzk__shell_workers_free(cuzk_engine *e) {
    free_workers(e, &e->witness, e->n_witness);
    free_workers(e, &e->finishers, e->config.finishers);
    free_workers(e, &e->verifiers, e->config.verifiers);
    for (uint32_t d = 0; d < e->n_devices; d++)
        free_workers(e, &e->devices[d].slots, e->n_slots);
}
