/* Carries out what the scheduler decides. The engine's lock is held throughout. */
#include "state.h"

#include "base/clock.h"
#include "base/mem.h"

#include <stdio.h>
#include <string.h>

static job *job_of(const cuzk_sched_action *a) {
    return (job *)(uintptr_t)a->cookie;
}

static worker *worker_of(cuzk_engine *e, const cuzk_sched_action *a) {
    switch (a->stage) {
    case CUZK_STAGE_WITNESS:
        return &e->witness[a->worker];
    case CUZK_STAGE_STAGE:
    case CUZK_STAGE_COMPUTE:
        return &e->devices[a->device].slots[a->worker];
    case CUZK_STAGE_FINISH:
        return &e->finishers[a->worker];
    default:
        return &e->verifiers[a->worker];
    }
}

static uint32_t take_result(shell_dev *d) {
    uint32_t r = 0;
    while (d->results >> r & 1)
        r++;
    d->results |= UINT64_C(1) << r;
    return r;
}

static void set_gate(shell_dev *d, job *j, uint32_t partition) {
    if (d->gate) cuzk__shell_job_drop(d->gate);
    if (j) atomic_fetch_add(&j->refs, 1);
    d->gate = j;
    d->gate_partition = partition;
}

/* What a stage of a partition takes with it. */
static void prepare(cuzk_engine *e, const cuzk_sched_action *a, job *j, item *it) {
    part *p = &j->parts[a->partition];
    shell_dev *d = a->stage >= CUZK_STAGE_STAGE && a->stage <= CUZK_STAGE_FINISH
                       ? &e->devices[a->device]
                       : NULL;
    it->device = d;
    p->running = true;
    p->stage = (uint8_t)a->stage;
    if (p->faulted) e->retries++;
    p->faulted = false;
    switch (a->stage) {
    case CUZK_STAGE_WITNESS:
        atomic_store(&p->cancel, false);
        it->ticket = cuzk__shell_ticket(e);
        break;
    case CUZK_STAGE_STAGE:
        p->device = a->device;
        p->on_device = true;
        it->witness = p->witness;
        if (p->witness) atomic_fetch_add(&p->witness->refs, 1);
        break;
    case CUZK_STAGE_COMPUTE:
        p->result = take_result(d);
        set_gate(d, j, a->partition);
        break;
    case CUZK_STAGE_VERIFY:
        it->bytes = p->bytes;
        it->n_bytes = p->n_bytes;
        break;
    default:
        break;
    }
    it->result = p->result;
}

static void act_start(cuzk_engine *e, const cuzk_sched_action *a) {
    job *j = job_of(a);
    item it = {.job = j,
               .partition = a->partition,
               .run = a->run,
               .stage = a->stage,
               .slot = a->worker,
               .result = NONE};
    if (j->view.state == CUZK_ENGINE_QUEUED) {
        j->view.state = CUZK_ENGINE_RUNNING;
        j->view.times.queue_wait = (uint64_t)(cuzk_now_ns() - j->submitted) / 1000000;
        cuzk__shell_changed(e, j);
    }
    memcpy(it.key, j->plan.key, sizeof it.key);
    if (a->stage != CUZK_STAGE_ASSEMBLE) prepare(e, a, j, &it);
    if (it.device) {
        pthread_mutex_lock(&it.device->lock);
        it.device->pending++;
        pthread_mutex_unlock(&it.device->lock);
    }
    atomic_fetch_add(&j->work, 1);
    cuzk__shell_give(worker_of(e, a), &it);
}

static void act_stop(cuzk_engine *e, const cuzk_sched_action *a) {
    job *j = job_of(a);
    if (a->partition >= j->plan.n_partitions) return;
    atomic_store(&j->parts[a->partition].cancel, true);
    pthread_cond_broadcast(&e->moved_on);
}

static void act_accepted(cuzk_engine *e, const cuzk_sched_action *a) {
    job *j = job_of(a);
    j->ref = a->job;
    cuzk__shell_job_list(e, j);
    if (e->submitting) e->submitting->action = *a;
}

static void act_refused(cuzk_engine *e, const cuzk_sched_action *a) {
    e->refused++;
    if (e->submitting) e->submitting->action = *a;
}

static void note_interval(cuzk_engine *e) {
    const int64_t now = cuzk_now_ns();
    if (e->last_done) e->interval += (now - e->last_done - e->interval) / (e->interval ? 8 : 1);
    e->last_done = now;
}

static void act_partition_done(cuzk_engine *e, const cuzk_sched_action *a) {
    job *j = job_of(a);
    part *p = &j->parts[a->partition];
    char text[256];
    p->stage = CUZK_STAGES;
    cuzk__shell_part_release(e, p);
    j->view.partitions_done++;
    e->partitions_done++;
    note_interval(e);
    cuzk__shell_changed(e, j);
    const int n = snprintf(text, sizeof text,
                           "{\"witness_ms\":%u,\"compute_ms\":%u,\"device\":%u,"
                           "\"in\":%llu,\"out\":%llu,\"in_gate\":%llu}",
                           p->witness_ms, p->compute_ms, p->device,
                           (unsigned long long)(p->moved.in_pinned + p->moved.in_pageable),
                           (unsigned long long)(p->moved.out_pinned + p->moved.out_pageable),
                           (unsigned long long)p->moved.in_gate);
    if (j->aborted) return;
    /* When it cannot be written, the partition is proved again after a crash, and only then. */
    if (cuzk_journal_partition_done(
            e->journal, j->number, a->partition, (cuzk_journal_part){p->proof, p->n_proof},
            (cuzk_journal_part){text, (size_t)n}, NULL, NULL, NULL) != CUZK_OK)
        return;
}

static void act_job_free(cuzk_engine *e, const cuzk_sched_action *a) {
    job *j = job_of(a);
    if (j->key) cuzk__shell_key_unpin(e, j->key);
    j->key = NULL;
    j->ref = 0;
    if (j->aborted) cuzk__shell_job_unlist(e, j);
    cuzk__shell_job_unuse(e, j);
}

static void act_lend(cuzk_engine *e, const cuzk_sched_action *a) {
    shell_dev *d = &e->devices[a->device];
    call *c = d->lend;
    d->lend = NULL;
    if (c && a->type == CUZK_ACT_LENT) {
        if (cuzk__shell_answer(e, c, CUZK_OK, "lent")) return;
        /* The scheduler is in the middle of a step: later. */
        d->unlend = a->need;
        d->unlend_note.handle = cuzk__shell_unlend;
        cuzk__shell_post(e, &d->unlend_note);
    } else if (c && a->limit == 0) {
        cuzk__shell_answer(e, c, CUZK_STATUS_BUSY,
                           "device %u: another request for its memory waits", a->device);
    } else if (c) {
        cuzk__shell_answer(e, c, CUZK_STATUS_NO_MEMORY,
                           "device %u: %llu bytes are asked for, at most %llu can be lent",
                           a->device, (unsigned long long)a->need, (unsigned long long)a->limit);
    }
}

static void act_drained(cuzk_engine *e) {
    e->drained = true;
    cuzk__shell_answer_drains(e);
}

void cuzk__shell_act(cuzk_engine *e, const cuzk_sched_action *a) {
    switch (a->type) {
    case CUZK_ACT_ACCEPTED:
        act_accepted(e, a);
        break;
    case CUZK_ACT_REFUSED:
        act_refused(e, a);
        break;
    case CUZK_ACT_START:
        act_start(e, a);
        break;
    case CUZK_ACT_STOP:
        act_stop(e, a);
        break;
    case CUZK_ACT_PARTITION_DONE:
        act_partition_done(e, a);
        break;
    case CUZK_ACT_JOB_END:
        cuzk__shell_job_end(e, job_of(a), a);
        break;
    case CUZK_ACT_JOB_FREE:
        act_job_free(e, a);
        break;
    case CUZK_ACT_KEY_LOAD:
    case CUZK_ACT_KEY_EVICT:
        cuzk__shell_key_work(e, a);
        break;
    case CUZK_ACT_KEY_REFUSED:
        cuzk__shell_key_refused(e, a);
        break;
    case CUZK_ACT_LENT:
    case CUZK_ACT_LEND_REFUSED:
        act_lend(e, a);
        break;
    case CUZK_ACT_DRAINED:
        act_drained(e);
        break;
    case CUZK_ACT_QUARANTINE:
    case CUZK_ACT_RESTORE:
        cuzk__shell_device_aside(&e->devices[a->device], a->type == CUZK_ACT_QUARANTINE);
        break;
    }
}

/* ---- reports ---- */

static void add_moved(cuzk_engine_moved *sum, const cuzk_engine_moved *m) {
    sum->in_pinned += m->in_pinned;
    sum->in_pageable += m->in_pageable;
    sum->out_pinned += m->out_pinned;
    sum->out_pageable += m->out_pageable;
    sum->in_gate += m->in_gate;
    sum->device_ns += m->device_ns;
}

/* Keeps n bytes of a report; false: no memory for them. */
static bool keep(uint8_t **to, uint32_t *n_to, const report *r) {
    cuzk_free(*to);
    *to = NULL;
    if (cuzk_alloc((void **)to, r->n_bytes, 1) != CUZK_OK) return false;
    memcpy(*to, r->bytes, r->n_bytes);
    *n_to = (uint32_t)r->n_bytes;
    return true;
}

static void note_times(cuzk_engine *e, job *j, part *p, const worker *w) {
    const report *r = &w->report;
    const uint64_t ms = (uint64_t)r->took / 1000000;
    if (w->it.stage == CUZK_STAGE_WITNESS) {
        const uint64_t wait = (uint64_t)r->key_wait / 1000000;
        p->witness_ms = (uint32_t)ms;
        j->view.times.witness += ms;
        if (wait > j->key_host_ms) j->key_host_ms = wait;
        j->view.times.key_load = j->key_host_ms + j->key_device_ms;
    }
    if (w->it.stage == CUZK_STAGE_COMPUTE) {
        p->compute_ms = (uint32_t)ms;
        j->view.times.compute += ms;
        w->it.device->busy_ns += r->took;
        add_moved(&p->moved, &r->moved);
        add_moved(&j->view.moved, &r->moved);
        add_moved(&w->it.device->moved, &r->moved);
    }
    (void)e;
}

/* A stage went well: what it made is the partition's. */
static bool went_well(cuzk_engine *e, job *j, part *p, worker *w) {
    report *r = &w->report;
    const cuzk_sched_stage stage = w->it.stage;
    p->running = false;
    p->stage = CUZK_STAGE_QUEUE;
    if (stage == CUZK_STAGE_WITNESS) {
        p->witness = r->witness;
        r->witness = NULL;
    }
    if (stage == CUZK_STAGE_FINISH) {
        p->on_device = false;
        e->devices[p->device].results &= ~(UINT64_C(1) << p->result);
        p->result = NONE;
        if (!keep(&p->bytes, &p->n_bytes, r)) return false;
    }
    if (stage == CUZK_STAGE_VERIFY) {
        cuzk_free(p->bytes);
        p->bytes = NULL;
        if (!keep(&p->proof, &p->n_proof, r)) return false;
    }
    if (stage >= CUZK_STAGE_STAGE && stage >= e->config.witness_until) {
        cuzk__shell_witness_drop(e, p->witness);
        p->witness = NULL;
    }
    (void)j;
    return true;
}

static void write_fault(cuzk_engine *e, job *j, uint32_t partition, cuzk_sched_stage stage,
                        const char *device, const char *text) {
    snprintf(j->fault, sizeof j->fault, "%s", text);
    if (j->aborted || j->over) return;
    if (cuzk_journal_fault(e->journal, j->number, partition, cuzk_sched_stage_name(stage), device,
                           text, NULL, NULL, NULL) != CUZK_OK)
        return; /* for people to read only */
}

/* A stage failed: what the partition had of the device is gone. */
static void failed(cuzk_engine *e, job *j, part *p, const worker *w) {
    char name[128] = "";
    if (p) {
        witness *kept = p->witness;
        p->witness = NULL;
        cuzk__shell_part_release(e, p);
        p->witness = kept;
        p->running = false;
        p->faulted = true;
        p->stage = CUZK_STAGE_QUEUE;
    }
    if (w->it.stage >= CUZK_STAGE_STAGE && w->it.stage <= CUZK_STAGE_VERIFY && p &&
        p->device != NONE) {
        shell_dev *d = &e->devices[p->device];
        cuzk__shell_device_name(d, name);
        pthread_mutex_lock(&d->lock);
        if (w->report.fault != CUZK_FAULT_INPUT)
            snprintf(d->trouble, sizeof d->trouble, "%s: %s", cuzk_sched_stage_name(w->it.stage),
                     w->report.err.msg);
        pthread_mutex_unlock(&d->lock);
    }
    write_fault(e, j, w->it.partition, w->it.stage, name, w->report.err.msg);
}

static void end_of_gate(const worker *w) {
    shell_dev *d = w->it.device;
    if (w->it.stage == CUZK_STAGE_COMPUTE && d->gate == w->it.job &&
        d->gate_partition == w->it.partition)
        set_gate(d, NULL, 0);
}

void cuzk__shell_done(cuzk_engine *e, note *n) {
    worker *w = (worker *)n;
    job *j = w->it.job;
    part *p = w->it.stage == CUZK_STAGE_ASSEMBLE ? NULL : &j->parts[w->it.partition];
    cuzk_sched_event event = {.type = CUZK_EV_DONE,
                              .job = j->ref,
                              .partition = w->it.partition,
                              .run = w->it.run,
                              .fault = w->report.fault};
    end_of_gate(w);
    if (p) note_times(e, j, p, w);
    if (w->report.fault == CUZK_FAULT_NONE && p && !went_well(e, j, p, w)) {
        event.fault = w->report.fault = CUZK_FAULT_ERROR;
        cuzk_err_set(&w->report.err, CUZK_STATUS_NO_MEMORY, "not enough memory for a proof");
    }
    if (w->report.fault != CUZK_FAULT_NONE) {
        failed(e, j, p, w);
    } else if (!p) {
        cuzk_buf_free(&j->result);
        j->result = w->report.answer;
        w->report.answer = (cuzk_buf)CUZK_BUF_INIT;
    }
    if (j->over && p) {
        p->running = false;
        cuzk__shell_part_release(e, p);
    }
    cuzk__shell_step(e, &event);
    cuzk__shell_job_unuse(e, j);
}

void cuzk__shell_lose_parts(cuzk_engine *e, shell_dev *d, const char *why) {
    char name[128];
    cuzk__shell_device_name(d, name);
    for (job *j = e->jobs; j; j = j->next) {
        for (uint32_t i = 0; i < j->plan.n_partitions; i++) {
            part *p = &j->parts[i];
            if (!p->on_device || p->device != d->index) continue;
            witness *kept = p->witness;
            const cuzk_sched_stage stage =
                p->running ? (cuzk_sched_stage)p->stage : CUZK_STAGE_COMPUTE;
            if (!j->over) p->witness = NULL;
            cuzk__shell_part_release(e, p);
            if (!j->over) p->witness = kept;
            p->running = false;
            p->faulted = true;
            p->stage = CUZK_STAGE_QUEUE;
            write_fault(e, j, i, stage, name, why);
        }
    }
    set_gate(d, NULL, 0);
    d->results = 0;
}
