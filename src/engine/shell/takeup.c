/* Jobs that an earlier run accepted and did not end: with the figures that were kept with them, and
 * without the partitions that are proved. Before the owner starts. */
#include "state.h"

#include "base/mem.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

static cuzk_status add(takeup *t, job *j) {
    if (t->n == t->cap) {
        const size_t cap = t->cap ? 2 * t->cap : 16;
        CUZK_TRY(cuzk_realloc((void **)&t->jobs, cap, sizeof *t->jobs));
        t->cap = cap;
    }
    t->jobs[t->n++] = j;
    t->partitions += j->plan.n_partitions + 1;
    return CUZK_OK;
}

static cuzk_status take_proofs(job *j, const cuzk_journal_job *in) {
    for (uint32_t i = 0; i < in->n_partitions; i++) {
        const cuzk_journal_partition *from = &in->partitions[i];
        part *p = &j->parts[i];
        if (!from->done || from->proof.len == 0 || from->proof.len > CUZK_ENGINE_PROOF_MAX)
            continue;
        CUZK_TRY(cuzk_alloc((void **)&p->proof, from->proof.len, 1));
        memcpy(p->proof, from->proof.data, from->proof.len);
        p->n_proof = (uint32_t)from->proof.len;
        p->stage = CUZK_STAGES;
        j->view.partitions_done++;
    }
    return CUZK_OK;
}

/* A job that cannot be read is reported failed. */
static void give_up(cuzk_engine *e, const cuzk_journal_job *in, const char *why) {
    const cuzk_journal_end_spec end = {
        .outcome = CUZK_JOURNAL_FAILED, .stage = "queue", .message = why};
    if (cuzk_journal_end(e->journal, in->job, &end, NULL, NULL, NULL) != CUZK_OK)
        return; /* the next start tries again */
}

static cuzk_status read_one(cuzk_engine *e, takeup *t, const cuzk_journal_job *in, cuzk_err *err) {
    cuzk_engine_plan plan;
    cuzk_err why = {0};
    uint32_t parts;
    size_t skip;
    job *j;
    cuzk_status st = cuzk__shell_plan_read(&plan, &parts, &skip, in->meta, &why);
    if (st != CUZK_OK || plan.n_partitions != in->n_partitions) {
        give_up(e, in, "the journal does not say what the job needs; submit it again");
        return CUZK_OK;
    }
    CUZK_TRY(cuzk__shell_job_new(e, &j, &plan, cuzk__shell_kind_of(in->kind), in->priority,
                                 in->deadline_ns, err));
    cuzk__shell_view_of(&j->view, in);
    j->view.partitions_done = 0;
    struct timespec wall;
    clock_gettime(CLOCK_REALTIME, &wall);
    const int64_t age = (int64_t)wall.tv_sec * 1000000000 + wall.tv_nsec - in->submitted_ns;
    if (age > 0) j->submitted -= age; /* its time counts from when it was accepted */
    j->number = in->job;
    j->durable = true;
    st = take_proofs(j, in);
    if (st == CUZK_OK) st = add(t, j);
    if (st == CUZK_OK) return CUZK_OK;
    cuzk__shell_job_drop(j);
    cuzk__shell_job_drop(j);
    return cuzk_err_set(err, st, "not enough memory for the jobs of the journal");
}

cuzk_status cuzk__shell_takeup_read(cuzk_engine *e, takeup *t, cuzk_err *err) {
    uint64_t after = 0;
    for (;;) {
        cuzk_journal_job in;
        cuzk_err none = {0};
        cuzk_status st = cuzk_journal_next(e->journal, &in, after, &none);
        if (st == CUZK_STATUS_NOT_FOUND) return CUZK_OK;
        if (st != CUZK_OK) return cuzk_err_set(err, st, "%s", none.msg);
        after = in.job;
        st = read_one(e, t, &in, err);
        cuzk_journal_job_free(&in);
        CUZK_TRY(st);
    }
}

/* The scheduler does not take it (any more): it is reported failed, with the figures. */
static void fail(cuzk_engine *e, job *j, const cuzk_sched_action *refusal, const char *why) {
    cuzk_err err = {0};
    cuzk_sched_action a = {.outcome = CUZK_OUTCOME_FAILED, .stage = CUZK_STAGE_QUEUE};
    if (refusal && refusal->reason == CUZK_REASON_LATE) a.outcome = CUZK_OUTCOME_DEADLINE;
    if (refusal) {
        cuzk_status st = cuzk__shell_refuse(refusal, j->plan.key, e->n_live, &err);
        if (st != CUZK_OK) why = err.msg;
    }
    snprintf(j->fault, sizeof j->fault, "%s", why);
    cuzk__shell_job_list(e, j);
    cuzk__shell_job_register(e, j);
    if (j->key) cuzk__shell_key_unpin(e, j->key);
    j->key = NULL;
    cuzk__shell_job_end(e, j, &a);
    cuzk__shell_job_unuse(e, j);
}

static void submit_one(cuzk_engine *e, job *j) {
    cuzk_sched_job_spec spec;
    cuzk_err err = {0};
    call c = {.yes = false};
    const cuzk_status st = cuzk__shell_key_pin(e, &j->key, j->plan.key, &err);
    pthread_mutex_lock(&e->lock);
    if (st != CUZK_OK) {
        j->key = NULL;
        fail(e, j, NULL, err.msg);
    } else {
        cuzk__shell_key_define(e, j->key);
        cuzk__shell_job_spec(j, &spec);
        e->submitting = &c;
        cuzk__shell_step(e, &(cuzk_sched_event){.type = CUZK_EV_SUBMIT, .spec = &spec});
        e->submitting = NULL;
        if (j->listed)
            cuzk__shell_job_register(e, j);
        else
            fail(e, j, &c.action, "");
    }
    pthread_mutex_unlock(&e->lock);
}

void cuzk__shell_takeup_submit(cuzk_engine *e, takeup *t) {
    for (size_t i = 0; i < t->n; i++) {
        submit_one(e, t->jobs[i]);
        cuzk__shell_job_drop(t->jobs[i]);
    }
    t->n = 0;
}

void cuzk__shell_takeup_free(takeup *t) {
    for (size_t i = 0; i < t->n; i++) {
        cuzk__shell_job_drop(t->jobs[i]);
        cuzk__shell_job_drop(t->jobs[i]);
    }
    cuzk_free(t->jobs);
    *t = (takeup){.n = 0};
}
