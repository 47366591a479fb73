/* How a job ends: in the scheduler, then in the journal, then for those who ask. A client hears of
 * an end only when it is durable, so that nobody is told what a crash would undo. The engine's
 * lock is held. */
#include "state.h"

#include "base/clock.h"
#include "base/mem.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

static const int64_t SECOND = 1000000000;

const char *cuzk__shell_device_name(shell_dev *d, char out[128]) {
    pthread_mutex_lock(&d->lock);
    snprintf(out, 128, "%u (%s)", d->index, d->info.name);
    pthread_mutex_unlock(&d->lock);
    return out;
}

void cuzk__shell_answer_drains(cuzk_engine *e) {
    if (!e->drained || e->n_untold > 0) return;
    while (e->drains) {
        call *c = e->drains;
        e->drains = c->next;
        cuzk__shell_answer(e, c, CUZK_OK, "drained");
    }
}

/* The first partition that has not passed, for messages. */
static void fault_message(const job *j, const cuzk_sched_action *a, char *out, size_t n) {
    const char *stage = cuzk_sched_stage_name(a->stage);
    const char *fault = j->fault[0] ? j->fault : "no reason is known";
    if (a->stage == CUZK_STAGE_KEY)
        snprintf(out, n, "key: %s could not be loaded: %s", j->plan.key,
                 j->key && j->key->trouble[0] ? j->key->trouble : fault);
    else
        snprintf(out, n, "%s: %s", stage, fault);
}

static void no_device_message(cuzk_engine *e, const job *j, char *out, size_t n) {
    for (uint32_t d = 0; d < e->n_devices; d++) {
        char trouble[CUZK_ENGINE_MESSAGE];
        pthread_mutex_lock(&e->devices[d].lock);
        memcpy(trouble, e->devices[d].trouble, sizeof trouble);
        pthread_mutex_unlock(&e->devices[d].lock);
        if (!e->device_stats[d].quarantined && e->device_stats[d].up && !trouble[0]) continue;
        snprintf(out, n, "queue: device %u: %.640s; no device takes %s jobs with key %s any more",
                 d, trouble[0] ? trouble : "in quarantine", cuzk_engine_kind_name(j->view.kind),
                 j->plan.key);
        return;
    }
    snprintf(out, n, "queue: no device takes this job with key %s any more", j->plan.key);
}

static void message_of(cuzk_engine *e, job *j, const cuzk_sched_action *a) {
    char *out = j->end_message;
    const size_t n = sizeof j->end_message;
    out[0] = '\0';
    switch (a->outcome) {
    case CUZK_OUTCOME_DONE: /* what there was to know from the start */
        snprintf(out, n, "%s", j->plan.message);
        break;
    case CUZK_OUTCOME_CANCELLED:
        snprintf(out, n, "cancelled");
        break;
    case CUZK_OUTCOME_DEADLINE:
        snprintf(out, n, "%s: the deadline passed with %u of %u partitions proved%s%s",
                 cuzk_sched_stage_name(a->stage), j->view.partitions_done, j->plan.n_partitions,
                 j->fault[0] ? "; last fault: " : "", j->fault);
        break;
    case CUZK_OUTCOME_FAILED:
        if (a->reason == CUZK_REASON_NO_DEVICE)
            no_device_message(e, j, out, n);
        else
            fault_message(j, a, out, n);
        break;
    }
}

static cuzk_journal_outcome journal_outcome(cuzk_sched_outcome o) {
    switch (o) {
    case CUZK_OUTCOME_DONE:
        return CUZK_JOURNAL_DONE;
    case CUZK_OUTCOME_CANCELLED:
        return CUZK_JOURNAL_CANCELLED;
    case CUZK_OUTCOME_DEADLINE:
        return CUZK_JOURNAL_DEADLINE;
    case CUZK_OUTCOME_FAILED:
        break;
    }
    return CUZK_JOURNAL_FAILED;
}

static cuzk_engine_state engine_state(cuzk_sched_outcome o) {
    switch (o) {
    case CUZK_OUTCOME_DONE:
        return CUZK_ENGINE_DONE;
    case CUZK_OUTCOME_CANCELLED:
        return CUZK_ENGINE_CANCELLED;
    case CUZK_OUTCOME_DEADLINE:
        return CUZK_ENGINE_DEADLINE;
    case CUZK_OUTCOME_FAILED:
        break;
    }
    return CUZK_ENGINE_FAILED;
}

/* ---- the journal's part ---- */

static void written(void *ctx, cuzk_status st, const cuzk_err *err);
static void on_written(cuzk_engine *e, note *n);

static void put_off(cuzk_engine *e, job *j) {
    j->next_retry = e->retry;
    e->retry = j;
    e->retry_at = cuzk_now_ns() + SECOND;
}

/* A job with a reference for the journal's answer. */
typedef struct end_request {
    cuzk_engine *e;
    job *j;
} end_request;

void cuzk__shell_write_end(cuzk_engine *e, job *j) {
    char times[256];
    end_request *r;
    cuzk__shell_times_write(times, &j->view.times);
    if (cuzk_alloc((void **)&r, 1, sizeof *r) != CUZK_OK) {
        put_off(e, j);
        return;
    }
    *r = (end_request){e, j};
    const bool done = j->outcome == CUZK_OUTCOME_DONE;
    const cuzk_journal_end_spec spec = {.outcome = journal_outcome(j->outcome),
                                        .stage = done ? NULL : cuzk_sched_stage_name(j->end_stage),
                                        .message = j->end_message,
                                        .result = {j->result.data, done ? j->result.len : 0},
                                        .timings = {times, strlen(times)}};
    j->end_note.handle = on_written;
    if (cuzk_journal_end(e->journal, j->number, &spec, written, r, NULL) != CUZK_OK) {
        cuzk_free(r);
        put_off(e, j);
    }
}

/* On the journal's thread. */
static void written(void *ctx, cuzk_status st, const cuzk_err *err) {
    end_request *r = ctx;
    (void)err;
    r->j->end_status = st;
    cuzk__shell_post(r->e, &r->j->end_note);
    cuzk_free(r);
}

static void count_end(cuzk_engine *e, const job *j) {
    const cuzk_engine_kind k = j->view.kind;
    if (j->outcome == CUZK_OUTCOME_DONE) {
        e->completed[k]++;
        e->seconds_sum[k] += (double)(j->ended - j->submitted) * 1e-9;
        e->seconds_count[k]++;
    } else if (j->outcome == CUZK_OUTCOME_CANCELLED) {
        e->cancelled[k]++;
    } else {
        e->failed[k]++;
    }
}

/* It is durable: now it can be told. */
static void tell_end(cuzk_engine *e, job *j) {
    j->told = true;
    j->view.state = engine_state(j->outcome);
    snprintf(j->view.message, sizeof j->view.message, "%s", j->end_message);
    cuzk_buf_free(&j->result);
    count_end(e, j);
    cuzk__shell_changed(e, j);
    e->n_untold--;
    e->n_recent++;
    if (e->n_recent == 1) e->sweep_at = cuzk_now_ns() + 5 * SECOND;
    if (e->n_recent > SHELL_RECENT) cuzk__shell_sweep(e, cuzk_now_ns());
}

/* Its acceptance failed, so nobody knows it. */
static void forget_end(cuzk_engine *e, job *j) {
    e->n_untold--;
    cuzk__shell_job_unlist(e, j);
}

static void on_written(cuzk_engine *e, note *n) {
    job *j = (job *)((char *)n - offsetof(job, end_note));
    /* FALSE: it had ended already, which an earlier try may have brought about. */
    if (j->end_status == CUZK_OK || j->end_status == CUZK_STATUS_FALSE)
        tell_end(e, j);
    else if (j->end_status == CUZK_STATUS_NOT_FOUND)
        forget_end(e, j);
    else
        put_off(e, j);
    cuzk__shell_answer_drains(e);
}

void cuzk__shell_retry_ends(cuzk_engine *e, int64_t now) {
    job *j = e->retry;
    e->retry = NULL;
    (void)now;
    while (j) {
        job *next = j->next_retry;
        cuzk__shell_write_end(e, j);
        j = next;
    }
}

/* ---- the scheduler's part ---- */

void cuzk__shell_job_end(cuzk_engine *e, job *j, const cuzk_sched_action *a) {
    struct timespec t;
    clock_gettime(CLOCK_REALTIME, &t);
    j->over = true;
    j->outcome = a->outcome;
    j->end_stage = a->stage;
    j->ended = cuzk_now_ns();
    j->view.ended_ns = (int64_t)t.tv_sec * SECOND + t.tv_nsec;
    j->view.times.total = (uint64_t)(j->ended - j->submitted) / 1000000;
    message_of(e, j, a);
    for (uint32_t i = 0; i < j->plan.n_partitions; i++) {
        part *p = &j->parts[i];
        p->failed = p->faulted && a->outcome == CUZK_OUTCOME_FAILED;
        if (!p->running) cuzk__shell_part_release(e, p);
    }
    e->n_live--;
    pthread_cond_broadcast(&e->moved_on);
    if (j->aborted) return;
    e->n_untold++;
    j->end_waits = !j->durable;
    if (j->durable) cuzk__shell_write_end(e, j);
}

/* Of those that ended, the oldest go when they have been shown for a while or are too many. */
void cuzk__shell_sweep(cuzk_engine *e, int64_t now) {
    job *next;
    for (job *j = e->jobs; j; j = next) {
        next = j->next;
        if (!j->told || atomic_load(&j->work) > 0) continue;
        if (now - j->ended < SHELL_RECENT_SECONDS * SECOND && e->n_recent <= SHELL_RECENT) continue;
        cuzk__shell_job_unlist(e, j);
        e->n_recent--;
    }
    e->sweep_at = now + 5 * SECOND;
}
