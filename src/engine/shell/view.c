/* What can be seen of the engine: jobs, results, the timeline. The whole at a time: snapshot.c. */
#include "state.h"

#include "base/mem.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A job's record in the journal, by either name. */
static cuzk_status find_journal(cuzk_engine *e, const char *id, cuzk_journal_job *out,
                                cuzk_err *err) {
    cuzk_status st = cuzk_journal_find(e->journal, out, id, err);
    if (st == CUZK_STATUS_NOT_FOUND) st = cuzk_journal_find_request(e->journal, out, id, err);
    if (st == CUZK_STATUS_NOT_FOUND)
        st = cuzk_err_set(err, st, "job %.80s: not known, or no longer kept", id);
    return st;
}

static cuzk_status get(cuzk_engine *e, const char *id, cuzk_engine_job *out, cuzk_err *err) {
    cuzk_journal_job in;
    pthread_mutex_lock(&e->lock);
    const job *j = cuzk__shell_job_find(e, id);
    if (j) *out = j->view;
    pthread_mutex_unlock(&e->lock);
    if (j) return CUZK_OK;
    CUZK_TRY(find_journal(e, id, &in, err));
    cuzk__shell_view_of(out, &in);
    cuzk_journal_job_free(&in);
    return CUZK_OK;
}

cuzk_status cuzk_engine_get(cuzk_engine *e, const char *id, cuzk_engine_job *out, cuzk_err *err) {
    CUZK_TRY(cuzk__shell_enter(e, err));
    const cuzk_status st = get(e, id, out, err);
    cuzk__shell_leave(e);
    return st;
}

static cuzk_status result(cuzk_engine *e, const char *id, bool fetched, cuzk_buf *out,
                          cuzk_err *err) {
    cuzk_journal_job in;
    uint8_t *data;
    size_t n;
    CUZK_TRY(find_journal(e, id, &in, err));
    const uint64_t number = in.job;
    const cuzk_journal_outcome outcome = in.outcome;
    cuzk_status st = CUZK_OK;
    if (outcome == CUZK_JOURNAL_UNFINISHED)
        st = cuzk_err_set(err, CUZK_STATUS_BUSY, "job %s: it has not ended yet", in.id);
    else if (outcome != CUZK_JOURNAL_DONE)
        st = cuzk_err_set(err, CUZK_STATUS_FAILED, "job %s: %.560s", in.id, in.message);
    cuzk_journal_job_free(&in);
    CUZK_TRY(st);
    CUZK_TRY(cuzk_journal_result(e->journal, &data, &n, number, err));
    cuzk_buf_append(out, data, n);
    cuzk_free(data);
    if (cuzk_buf_status(out) != CUZK_OK)
        return cuzk_err_set(err, CUZK_STATUS_NO_MEMORY, "not enough memory for a proof");
    return fetched ? cuzk_journal_fetched(e->journal, number, NULL, NULL, err) : CUZK_OK;
}

cuzk_status cuzk_engine_result(cuzk_engine *e, const char *id, bool fetched, cuzk_buf *out,
                               cuzk_err *err) {
    CUZK_TRY(cuzk__shell_enter(e, err));
    const cuzk_status st = result(e, id, fetched, out, err);
    cuzk__shell_leave(e);
    return st;
}

static cuzk_status list(cuzk_engine *e, int64_t before, cuzk_engine_job *out, size_t *n,
                        cuzk_err *err) {
    const cuzk_journal_filter filter = {.submitted_before_ns = before, .limit = (uint32_t)*n};
    cuzk_journal_job *jobs;
    size_t found;
    CUZK_TRY(cuzk_journal_list(e->journal, &jobs, &found, &filter, err));
    if (found < *n) *n = found;
    for (size_t i = 0; i < *n; i++) {
        cuzk_journal_job whole;
        pthread_mutex_lock(&e->lock);
        const job *live = cuzk__shell_job_find(e, jobs[i].id);
        if (live) out[i] = live->view;
        pthread_mutex_unlock(&e->lock);
        if (live) continue;
        /* Rows of a list lack the key and the times. */
        const bool there = cuzk_journal_get(e->journal, &whole, jobs[i].job, NULL) == CUZK_OK;
        cuzk__shell_view_of(&out[i], there ? &whole : &jobs[i]);
        if (there) cuzk_journal_job_free(&whole);
    }
    cuzk_journal_jobs_free(jobs, found);
    return CUZK_OK;
}

cuzk_status cuzk_engine_list(cuzk_engine *e, int64_t before, cuzk_engine_job *out, size_t *n,
                             cuzk_err *err) {
    if (*n == 0) return CUZK_OK;
    if (*n > 1000) *n = 1000;
    CUZK_TRY(cuzk__shell_enter(e, err));
    const cuzk_status st = list(e, before, out, n, err);
    cuzk__shell_leave(e);
    return st;
}

/* ---- timeline ---- */

/* The id of a job's number: of those in memory, else the journal's. */
static void name_of(cuzk_engine *e, uint64_t number, char out[CUZK_ENGINE_JOB_ID]) {
    cuzk_journal_job in;
    snprintf(out, CUZK_ENGINE_JOB_ID, "job-%llu", (unsigned long long)number);
    pthread_mutex_lock(&e->lock);
    bool found = false;
    for (const job *j = e->jobs; j && !found; j = j->next) {
        found = j->number == number && j->view.id[0];
        if (found) memcpy(out, j->view.id, CUZK_ENGINE_JOB_ID);
    }
    pthread_mutex_unlock(&e->lock);
    if (found || cuzk_journal_get(e->journal, &in, number, NULL) != CUZK_OK) return;
    snprintf(out, CUZK_ENGINE_JOB_ID, "%s", in.id);
    cuzk_journal_job_free(&in);
}

static int by_job(const void *a, const void *b) {
    const cuzk_trace_item *x = *(const cuzk_trace_item *const *)a;
    const cuzk_trace_item *y = *(const cuzk_trace_item *const *)b;
    return x->job < y->job ? -1 : x->job > y->job;
}

/* Numbers of jobs become indices of names. */
static cuzk_status name_jobs(cuzk_engine *e, cuzk_trace *out, size_t from) {
    cuzk_trace_item **items;
    const size_t n = out->n - from;
    char name[CUZK_ENGINE_JOB_ID];
    uint64_t number = 0, index = 0;
    cuzk_status st = cuzk_alloc((void **)&items, n, sizeof *items);
    if (st != CUZK_OK) return st;
    for (size_t i = 0; i < n; i++)
        items[i] = &out->items[from + i];
    qsort(items, n, sizeof *items, by_job);
    for (size_t i = 0; i < n && st == CUZK_OK; i++) {
        if (i == 0 || items[i]->job != number) {
            number = items[i]->job;
            name_of(e, number, name);
            st = cuzk_trace_name(out, name, &index);
        }
        items[i]->job = index;
    }
    cuzk_free(items);
    return st;
}

cuzk_status cuzk_engine_trace(cuzk_engine *e, cuzk_trace *out) {
    const size_t from = out->n;
    CUZK_TRY(cuzk__shell_enter(e, NULL));
    cuzk_status st = cuzk_trace_ring_snapshot(e->ring, out, NULL);
    if (st == CUZK_OK) st = name_jobs(e, out, from);
    cuzk__shell_leave(e);
    return st;
}
