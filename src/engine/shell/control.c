/* Requests about jobs and devices that the scheduler decides. */
#include "state.h"

#include "base/mem.h"

#include <string.h>

/* ---- cancel ---- */

typedef struct cancellation {
    note note;
    job *job;
} cancellation;

static void drop_cancellation(note *n) {
    cancellation *c = (cancellation *)n;
    cuzk__shell_job_drop(c->job);
    cuzk_free(c);
}

static void on_cancel(cuzk_engine *e, note *n) {
    cancellation *c = (cancellation *)n;
    if (!c->job->over)
        cuzk__shell_step(e, &(cuzk_sched_event){.type = CUZK_EV_CANCEL, .job = c->job->ref});
    drop_cancellation(n);
}

static cuzk_status cancel(cuzk_engine *e, const char *id, bool *running, cuzk_err *err) {
    cancellation *c = NULL;
    cuzk_engine_job view;
    *running = false;
    if (cuzk_alloc((void **)&c, 1, sizeof *c) != CUZK_OK)
        return cuzk_err_set(err, CUZK_STATUS_NO_MEMORY, "not enough memory to cancel");
    pthread_mutex_lock(&e->lock);
    job *j = cuzk__shell_job_find(e, id);
    const bool live = j && !j->over;
    if (live) {
        *running = j->view.state == CUZK_ENGINE_RUNNING;
        atomic_fetch_add(&j->refs, 1);
    }
    pthread_mutex_unlock(&e->lock);
    if (live) {
        *c = (cancellation){{NULL, on_cancel, drop_cancellation}, j};
        cuzk__shell_post(e, &c->note);
        return CUZK_OK;
    }
    cuzk_free(c);
    return j ? CUZK_OK : cuzk_engine_get(e, id, &view, err);
}

cuzk_status cuzk_engine_cancel(cuzk_engine *e, const char *id, bool *running, cuzk_err *err) {
    CUZK_TRY(cuzk__shell_enter(e, err));
    const cuzk_status st = cancel(e, id, running, err);
    cuzk__shell_leave(e);
    return st;
}

/* ---- devices ---- */

static cuzk_status ask(cuzk_engine *e, uint32_t device, uint64_t bytes, int64_t timeout,
                       const char *what, void (*handle)(cuzk_engine *e, note *n), cuzk_err *err) {
    call *c;
    if (device >= e->n_devices)
        return cuzk_err_set(err, CUZK_STATUS_NOT_FOUND, "device %u: there are %u", device,
                            e->n_devices);
    CUZK_TRY(cuzk__shell_enter(e, err));
    cuzk_status st = cuzk__shell_call_new(e, &c, handle, err);
    if (st == CUZK_OK) {
        c->device = &e->devices[device];
        c->bytes = bytes;
        cuzk__shell_post(e, &c->note);
        st = cuzk__shell_call_wait(e, c, timeout, what, err);
        cuzk__shell_call_drop(c);
    }
    cuzk__shell_leave(e);
    return st;
}

/* A request whose caller waits no longer still holds the scheduler's place: what it gets is given
 * back at once. */
void cuzk__shell_unlend(cuzk_engine *e, note *n) {
    shell_dev *d = (shell_dev *)((char *)n - offsetof(shell_dev, unlend_note));
    cuzk__shell_step(
        e, &(cuzk_sched_event){.type = CUZK_EV_TAKE_BACK, .device = d->index, .bytes = d->unlend});
}

static void on_lend(cuzk_engine *e, note *n) {
    call *c = (call *)n;
    shell_dev *d = c->device;
    if (d->lend) {
        cuzk__shell_answer(e, c, CUZK_STATUS_BUSY,
                           "device %u: another request for its memory waits", d->index);
        return;
    }
    d->lend = c;
    cuzk__shell_step(
        e, &(cuzk_sched_event){.type = CUZK_EV_LEND, .device = d->index, .bytes = c->bytes});
}

cuzk_status cuzk_engine_lend(cuzk_engine *e, uint32_t device, uint64_t bytes, int64_t timeout_ns,
                             cuzk_err *err) {
    return ask(e, device, bytes, timeout_ns, "lend", on_lend, err);
}

static void on_take_back(cuzk_engine *e, note *n) {
    call *c = (call *)n;
    shell_dev *d = c->device;
    cuzk_sched_device_stats stats;
    cuzk_sched_get_device(e->sched, d->index, &stats);
    if (d->lend && (c->bytes == 0 || c->bytes > stats.lent)) {
        call *waits = d->lend;
        d->lend = NULL;
        cuzk__shell_answer(e, waits, CUZK_STATUS_BUSY, "device %u: its memory was taken back",
                           d->index);
    }
    cuzk__shell_step(e, &(cuzk_sched_event){.type = CUZK_EV_TAKE_BACK,
                                            .device = d->index,
                                            .bytes = c->bytes ? c->bytes : UINT64_MAX});
    cuzk__shell_answer(e, c, CUZK_OK, "taken back");
}

cuzk_status cuzk_engine_take_back(cuzk_engine *e, uint32_t device, uint64_t bytes, cuzk_err *err) {
    return ask(e, device, bytes, 0, "take back", on_take_back, err);
}

static void on_restore(cuzk_engine *e, note *n) {
    call *c = (call *)n;
    cuzk__shell_step(
        e, &(cuzk_sched_event){.type = CUZK_EV_DEVICE_RESTORE, .device = c->device->index});
    cuzk__shell_answer(e, c, CUZK_OK, "restored");
}

cuzk_status cuzk_engine_restore(cuzk_engine *e, uint32_t device, cuzk_err *err) {
    return ask(e, device, 0, 0, "restore", on_restore, err);
}

/* ---- drain ---- */

static void on_drain(cuzk_engine *e, note *n) {
    call *c = (call *)n;
    c->next = e->drains;
    e->drains = c;
    e->drained = false;
    cuzk__shell_step(e, &(cuzk_sched_event){.type = CUZK_EV_DRAIN, .checkpoint = c->flag});
}

cuzk_status cuzk_engine_drain(cuzk_engine *e, bool checkpoint, int64_t timeout_ns, cuzk_err *err) {
    call *c;
    CUZK_TRY(cuzk__shell_enter(e, err));
    cuzk_status st = cuzk__shell_call_new(e, &c, on_drain, err);
    if (st == CUZK_OK) {
        c->flag = checkpoint;
        cuzk__shell_post(e, &c->note);
        st = cuzk__shell_call_wait(e, c, timeout_ns, "drain", err);
        cuzk__shell_call_drop(c);
    }
    if (st == CUZK_OK) cuzk_journal_sync(e->journal); /* partitions of jobs that go on later */
    cuzk__shell_leave(e);
    return st;
}

static void on_resume(cuzk_engine *e, note *n) {
    call *c = (call *)n;
    while (e->drains) {
        call *waits = e->drains;
        e->drains = waits->next;
        cuzk__shell_answer(e, waits, CUZK_STATUS_BUSY, "drain: the engine was resumed");
    }
    e->drained = false;
    cuzk__shell_step(e, &(cuzk_sched_event){.type = CUZK_EV_RESUME});
    cuzk__shell_answer(e, c, CUZK_OK, "resumed");
}

cuzk_status cuzk_engine_resume(cuzk_engine *e, cuzk_err *err) {
    call *c;
    CUZK_TRY(cuzk__shell_enter(e, err));
    cuzk_status st = cuzk__shell_call_new(e, &c, on_resume, err);
    if (st == CUZK_OK) {
        cuzk__shell_post(e, &c->note);
        st = cuzk__shell_call_wait(e, c, 0, "resume", err);
        cuzk__shell_call_drop(c);
    }
    cuzk__shell_leave(e);
    return st;
}
