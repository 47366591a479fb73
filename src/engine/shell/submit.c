/* From a request to an accepted job: figures, scheduler, journal, in this order, on the caller's
 * thread. Work begins when the acceptance is durable; a job that cannot be written is taken back
 * and was never there. */
#include "state.h"

#include "base/clock.h"
#include "base/mem.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

static const int64_t SECOND = 1000000000;

/* ---- refusals ---- */

cuzk_status cuzk__shell_refuse(const cuzk_sched_action *a, const char *key, uint32_t depth,
                               cuzk_err *err) {
    const unsigned long long need = a->need, limit = a->limit;
    switch (a->reason) {
    case CUZK_REASON_QUEUE_FULL:
        if (a->need)
            return cuzk_err_set(err, CUZK_STATUS_BUSY,
                                "too many partitions are accepted: this job takes %llu places (one "
                                "a partition, and one), and of the %llu that scheduler.max_jobs "
                                "gives (17 a job) fewer are free; %u jobs are accepted",
                                need, limit, depth);
        return cuzk_err_set(err, CUZK_STATUS_BUSY, "the queue is full: %u jobs are accepted",
                            depth);
    case CUZK_REASON_DRAINING:
        return cuzk_err_set(err, CUZK_STATUS_BUSY, "the engine is draining and takes no new jobs");
    case CUZK_REASON_LATE:
        return cuzk_err_set(err, CUZK_STATUS_FAILED, "the deadline is past");
    case CUZK_REASON_HOST:
        return cuzk_err_set(err, CUZK_STATUS_NO_MEMORY,
                            "a partition with key %s needs %llu bytes of host memory, and at most "
                            "%llu will ever be free",
                            key, need, limit);
    case CUZK_REASON_PINNED:
        return cuzk_err_set(
            err, CUZK_STATUS_NO_MEMORY,
            "a partition with key %s needs %llu bytes of pinned memory, and at most "
            "%llu will ever be free",
            key, need, limit);
    case CUZK_REASON_DEVICE:
        return cuzk_err_set(
            err, CUZK_STATUS_NO_MEMORY,
            "a partition with key %s needs %llu bytes of a device's memory, and the "
            "largest that takes its kind has %llu",
            key, need, limit);
    case CUZK_REASON_NO_DEVICE:
        return cuzk_err_set(err, CUZK_STATUS_NO_DEVICE,
                            "no device takes this kind of job with key %s: they are in quarantine, "
                            "could not load the key or are reserved for another kind "
                            "(gpus.reserve); `cuzk status` says why, and "
                            "`cuzk evict %s` has them try again at once, a new job after a minute",
                            key, key);
    default:
        if (a->need)
            return cuzk_err_set(err, CUZK_STATUS_BAD_INPUT,
                                "the job has %llu partitions; at most %llu can be accepted",
                                need - 1, limit - 1);
        return cuzk_err_set(err, CUZK_STATUS_BAD_INPUT,
                            "the job has no partition, more than %d, or figures that make no sense",
                            CUZK_SCHED_MAX_PARTITIONS);
    }
}

static int64_t hint(const cuzk_engine *e) {
    const int64_t ns = e->interval * 10;
    return ns < SECOND ? SECOND : ns > 600 * SECOND ? 600 * SECOND : ns;
}

static cuzk_status refused(cuzk_engine *e, const cuzk_sched_action *a, const char *key,
                           cuzk_engine_refusal *refusal, cuzk_err *err) {
    pthread_mutex_lock(&e->lock);
    *refusal = (cuzk_engine_refusal){.reason = a->reason,
                                     .need = a->need,
                                     .limit = a->limit,
                                     .retry_after_ns = a->retry_after,
                                     .depth = e->n_live};
    if (a->reason == CUZK_REASON_QUEUE_FULL && refusal->retry_after_ns == 0)
        refusal->retry_after_ns = hint(e);
    pthread_mutex_unlock(&e->lock);
    return cuzk__shell_refuse(a, key, refusal->depth, err);
}

/* What would be refused anyway is, before its payload is read. */
static cuzk_status precheck(cuzk_engine *e, cuzk_engine_refusal *refusal, cuzk_err *err) {
    cuzk_sched_action a = {.reason = CUZK_REASON_NONE};
    pthread_mutex_lock(&e->lock);
    if (e->stats.draining)
        a.reason = CUZK_REASON_DRAINING;
    else if (e->n_live >= e->config.max_jobs)
        a.reason = CUZK_REASON_QUEUE_FULL;
    if (a.reason != CUZK_REASON_NONE) e->refused++;
    pthread_mutex_unlock(&e->lock);
    return a.reason == CUZK_REASON_NONE ? CUZK_OK : refused(e, &a, "", refusal, err);
}

/* ---- figures ---- */

/* Parses the payload for its figures and lets go of it: a queued job keeps none of it in memory.
 * Few at a time, so that a crowd of clients does not hold a crowd of parsed payloads. */
static cuzk_status make_plan(cuzk_engine *e, const cuzk_engine_payload *payload,
                             cuzk_engine_plan *plan, cuzk_err *err) {
    void *object = NULL;
    pthread_mutex_lock(&e->lock);
    while (e->opening >= SHELL_OPENERS)
        pthread_cond_wait(&e->opened, &e->lock);
    e->opening++;
    pthread_mutex_unlock(&e->lock);
    cuzk_status st = e->work->job_open(e->work_self, payload, &object, plan, err);
    if (st == CUZK_OK) e->work->job_free(e->work_self, object);
    pthread_mutex_lock(&e->lock);
    e->opening--;
    pthread_cond_signal(&e->opened);
    pthread_mutex_unlock(&e->lock);
    if (st == CUZK_STATUS_FALSE) st = CUZK_STATUS_BAD_INPUT;
    if (st == CUZK_OK &&
        (plan->n_partitions == 0 || plan->n_partitions > CUZK_SCHED_MAX_PARTITIONS))
        st = cuzk_err_set(err, CUZK_STATUS_BAD_INPUT, "%u partitions; 1 to %u can be done",
                          plan->n_partitions, CUZK_SCHED_MAX_PARTITIONS);
    return st;
}

/* ---- the owner's part ---- */

static void on_submit(cuzk_engine *e, note *n) {
    call *c = (call *)n;
    job *j = c->job;
    cuzk_sched_job_spec spec;
    cuzk__shell_key_define(e, j->key);
    cuzk__shell_job_spec(j, &spec);
    c->action = (cuzk_sched_action){.reason = CUZK_REASON_INVALID};
    e->submitting = c;
    cuzk__shell_step(e, &(cuzk_sched_event){.type = CUZK_EV_SUBMIT, .spec = &spec});
    e->submitting = NULL;
    c->yes = j->listed;
    cuzk__shell_answer(e, c, CUZK_OK, "submitted");
}

static void on_abort(cuzk_engine *e, note *n) {
    call *c = (call *)n;
    job *j = c->job;
    j->aborted = true;
    if (j->end_waits) e->n_untold--; /* it ended before it could be accepted */
    j->end_waits = false;
    if (!j->over) cuzk__shell_step(e, &(cuzk_sched_event){.type = CUZK_EV_CANCEL, .job = j->ref});
    if (j->ref == 0) cuzk__shell_job_unlist(e, j);
    cuzk__shell_answer(e, c, CUZK_OK, "aborted");
}

/* It was registered by the thread that asked: for watches. */
static void on_accepted(cuzk_engine *e, note *n) {
    job *j = (job *)((char *)n - offsetof(job, accept_note));
    cuzk__shell_changed(e, j);
    if (j->end_waits) cuzk__shell_write_end(e, j);
    j->end_waits = false;
    cuzk__shell_job_drop(j);
}

static void drop_accepted(note *n) {
    cuzk__shell_job_drop((job *)((char *)n - offsetof(job, accept_note)));
}

static void abort_job(cuzk_engine *e, job *j) {
    call *c;
    if (cuzk__shell_call_new(e, &c, on_abort, NULL) != CUZK_OK) return;
    c->job = j;
    cuzk__shell_post(e, &c->note);
    if (cuzk__shell_call_wait(e, c, 0, "abort", NULL) != CUZK_OK) { /* the engine is stopping */
    }
    cuzk__shell_call_drop(c);
}

/* ---- the journal's part ---- */

typedef struct submission {
    const cuzk_engine_request *request;
    cuzk_engine_plan plan;
    cuzk_payload *payload;
    cuzk_buf meta;
    int64_t submitted_ns;
} submission;

/* On the journal's thread. */
static void durable(void *ctx, cuzk_status st, const cuzk_err *err) {
    call *c = ctx;
    cuzk__shell_answer(c->e, c, st, "%s", err && st != CUZK_OK ? err->msg : "");
}

/* Returns when the acceptance is durable. */
static cuzk_status journal_accept(cuzk_engine *e, const submission *s, int priority,
                                  cuzk_journal_accepted *out, cuzk_err *err) {
    const cuzk_engine_request *r = s->request;
    call *c;
    const cuzk_journal_spec spec = {.request_id = r->request_id,
                                    .client = r->client,
                                    .kind = cuzk_engine_kind_name(r->payload.kind),
                                    .priority = priority,
                                    .deadline_ns = r->deadline_ns,
                                    .submitted_ns = s->submitted_ns,
                                    .n_partitions = s->plan.n_partitions,
                                    .meta = {s->meta.data, s->meta.len},
                                    .same = {r->payload.meta.data, r->payload.meta.len},
                                    .payload = s->payload};
    CUZK_TRY(cuzk__shell_call_new(e, &c, NULL, err));
    cuzk_status st = cuzk_journal_accept(e->journal, out, &spec, durable, c, err);
    if (st != CUZK_OK) cuzk__shell_answer(e, c, st, "%s", err ? err->msg : "not accepted");
    st = cuzk__shell_call_wait(e, c, 0, "accept", err);
    cuzk__shell_call_drop(c);
    return st;
}

static cuzk_status store_payload(cuzk_engine *e, submission *s, cuzk_err *err) {
    const cuzk_engine_payload *p = &s->request->payload;
    cuzk_journal_part *parts = NULL;
    cuzk__shell_plan_write(&s->meta, &s->plan, (uint32_t)p->n_parts);
    cuzk_buf_append(&s->meta, p->meta.data, p->meta.len);
    if (cuzk_buf_status(&s->meta) != CUZK_OK)
        return cuzk_err_set(err, CUZK_STATUS_NO_MEMORY, "not enough memory for a request");
    if (p->n_parts == 0) return CUZK_OK;
    if (cuzk_alloc((void **)&parts, p->n_parts, sizeof *parts) != CUZK_OK)
        return cuzk_err_set(err, CUZK_STATUS_NO_MEMORY, "not enough memory for a request");
    for (size_t i = 0; i < p->n_parts; i++)
        parts[i] = (cuzk_journal_part){p->parts[i].data, p->parts[i].len};
    const cuzk_status st = cuzk_journal_put(e->journal, &s->payload, parts, p->n_parts, false, err);
    cuzk_free(parts);
    return st;
}

/* ---- all together ---- */

static void answer_existing(cuzk_engine *e, const cuzk_journal_accepted *in,
                            cuzk_engine_accepted *out) {
    snprintf(out->job_id, sizeof out->job_id, "%s", in->id);
    out->existed = true;
    out->position = 0;
    pthread_mutex_lock(&e->lock);
    out->depth = e->n_live;
    const job *mine = cuzk__shell_job_find(e, in->id);
    for (const job *j = e->jobs; mine && !mine->over && j; j = j->next)
        out->position +=
            !j->over && (j->view.priority > mine->view.priority ||
                         (j->view.priority == mine->view.priority && j->number < mine->number));
    pthread_mutex_unlock(&e->lock);
}

/* Its acceptance is durable: it has a name, and its work may begin. */
static void register_job(cuzk_engine *e, job *j, const cuzk_journal_accepted *in,
                         cuzk_engine_accepted *out) {
    pthread_mutex_lock(&e->lock);
    j->number = in->job;
    snprintf(j->view.id, sizeof j->view.id, "%s", in->id);
    j->durable = true;
    if (j->listed) cuzk__shell_job_register(e, j);
    pthread_cond_broadcast(&e->moved_on);
    out->depth = e->n_live;
    pthread_mutex_unlock(&e->lock);
    snprintf(out->job_id, sizeof out->job_id, "%s", in->id);
    out->existed = false;
    atomic_fetch_add(&j->refs, 1);
    j->accept_note.handle = on_accepted;
    j->accept_note.drop = drop_accepted;
    cuzk__shell_post(e, &j->accept_note);
}

static cuzk_status make_job(cuzk_engine *e, const submission *s, job **out, cuzk_err *err) {
    const cuzk_engine_request *r = s->request;
    shell_key *k = NULL;
    job *j;
    CUZK_TRY(cuzk__shell_key_pin(e, &k, s->plan.key, err));
    const cuzk_status st =
        cuzk__shell_job_new(e, &j, &s->plan, r->payload.kind, r->priority, r->deadline_ns, err);
    if (st != CUZK_OK) {
        pthread_mutex_lock(&e->lock);
        cuzk__shell_key_unpin(e, k);
        pthread_mutex_unlock(&e->lock);
        return st;
    }
    j->key = k;
    j->view.submitted_ns = s->submitted_ns;
    snprintf(j->view.request_id, sizeof j->view.request_id, "%s",
             r->request_id ? r->request_id : "");
    snprintf(j->view.client, sizeof j->view.client, "%s", r->client ? r->client : "");
    *out = j;
    return CUZK_OK;
}

/* The scheduler did not take it. */
static void discard(cuzk_engine *e, job *j) {
    pthread_mutex_lock(&e->lock);
    cuzk__shell_key_unpin(e, j->key);
    pthread_mutex_unlock(&e->lock);
    cuzk__shell_job_drop(j);
    cuzk__shell_job_drop(j);
}

static cuzk_status submit_new(cuzk_engine *e, submission *s, cuzk_engine_accepted *out,
                              cuzk_engine_refusal *refusal, cuzk_err *err) {
    job *j;
    call *c;
    cuzk_journal_accepted in;
    CUZK_TRY(make_job(e, s, &j, err));
    cuzk_status st = cuzk__shell_call_new(e, &c, on_submit, err);
    if (st != CUZK_OK) {
        discard(e, j);
        return st;
    }
    c->job = j;
    cuzk__shell_post(e, &c->note);
    st = cuzk__shell_call_wait(e, c, 0, "submit", err);
    const bool taken = st == CUZK_OK && c->yes;
    const cuzk_sched_action action = c->action;
    cuzk__shell_call_drop(c);
    if (st != CUZK_OK && j->listed) { /* the engine is stopping, its owner stands still */
        cuzk__shell_job_drop(j);
        return st;
    }
    if (!taken) {
        if (st == CUZK_OK) st = refused(e, &action, s->plan.key, refusal, err);
        discard(e, j);
        return st;
    }
    st = journal_accept(e, s, j->view.priority, &in, err);
    if (st == CUZK_OK && !in.existing) {
        out->position = action.position;
        register_job(e, j, &in, out);
    } else {
        abort_job(e, j);
        if (st == CUZK_OK) answer_existing(e, &in, out);
    }
    cuzk__shell_job_drop(j);
    return st;
}

/* The request id is known: the same job, or a conflict. */
static cuzk_status submit_known(cuzk_engine *e, submission *s, cuzk_engine_accepted *out,
                                cuzk_err *err) {
    cuzk_journal_accepted in;
    CUZK_TRY(journal_accept(e, s, s->request->priority, &in, err));
    if (in.existing) {
        answer_existing(e, &in, out);
        return CUZK_OK;
    }
    /* It was removed in this very moment. */
    const cuzk_journal_end_spec end = {.outcome = CUZK_JOURNAL_CANCELLED, .message = "taken back"};
    CUZK_TRY(cuzk_journal_end(e->journal, in.job, &end, NULL, NULL, err));
    return cuzk_err_set(err, CUZK_STATUS_BUSY,
                        "the earlier job of this request id went away just "
                        "now; try again");
}

static bool is_known(cuzk_engine *e, submission *s) {
    cuzk_journal_job known;
    const char *id = s->request->request_id;
    if (!id || !id[0]) return false;
    if (cuzk_journal_find_request(e->journal, &known, id, NULL) != CUZK_OK) return false;
    s->plan.n_partitions = known.n_partitions;
    cuzk_journal_job_free(&known);
    return true;
}

static cuzk_status check(const cuzk_engine_request *r, cuzk_err *err) {
    if ((unsigned)r->payload.kind >= CUZK_ENGINE_KIND_COUNT ||
        r->payload.kind == CUZK_ENGINE_UNSPECIFIED)
        return cuzk_err_set(err, CUZK_STATUS_BAD_INPUT, "no such kind of job");
    if (r->request_id && strlen(r->request_id) >= CUZK_ENGINE_REQUEST_ID)
        return cuzk_err_set(err, CUZK_STATUS_BAD_INPUT,
                            "request_id: at most %d bytes are expected, %zu are there",
                            CUZK_ENGINE_REQUEST_ID - 1, strlen(r->request_id));
    if (r->payload.n_parts > 1 << 20)
        return cuzk_err_set(err, CUZK_STATUS_BAD_INPUT, "too many parts");
    return CUZK_OK;
}

static cuzk_status submit(cuzk_engine *e, submission *s, cuzk_engine_accepted *out,
                          cuzk_engine_refusal *refusal, cuzk_err *err) {
    const bool known = is_known(e, s);
    if (!known) {
        CUZK_TRY(precheck(e, refusal, err));
        CUZK_TRY(make_plan(e, &s->request->payload, &s->plan, err));
    }
    CUZK_TRY(store_payload(e, s, err));
    return known ? submit_known(e, s, out, err) : submit_new(e, s, out, refusal, err);
}

cuzk_status cuzk_engine_submit(cuzk_engine *e, const cuzk_engine_request *request,
                               cuzk_engine_accepted *out, cuzk_engine_refusal *refusal,
                               cuzk_err *err) {
    struct timespec t;
    clock_gettime(CLOCK_REALTIME, &t);
    submission s = {.request = request,
                    .meta = CUZK_BUF_INIT,
                    .submitted_ns = (int64_t)t.tv_sec * SECOND + t.tv_nsec};
    memset(out, 0, sizeof *out);
    memset(refusal, 0, sizeof *refusal);
    CUZK_TRY(check(request, err));
    CUZK_TRY(cuzk__shell_enter(e, err));
    const cuzk_status st = submit(e, &s, out, refusal, err);
    cuzk_payload_free(s.payload);
    cuzk_buf_free(&s.meta);
    cuzk__shell_leave(e);
    return st;
}
