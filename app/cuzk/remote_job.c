#include "remote_job.h"

#include "base/clock.h"
#include "base/progress.h"
#include "base/rand.h"
#include "base/units.h"
#include "cli.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

static const int64_t SECOND = 1000000000, RECONNECT = 60 * INT64_C(1000000000);

const char cuzk_submit_help[] =
    "  --priority P        low, normal, high or critical; default by kind\n"
    "  --deadline TIME     give the job up after that time, such as 30m\n"
    "  --request-id ID     idempotency key: the same id and payload is the same job, also after "
    "an\n"
    "                      unanswered attempt\n"
    "  --retry TIME        while the daemon is busy or unreachable, try again for so long\n";

int cuzk_submit_option(cuzk_submit_opts *o, const char *verb, int c, const char *value) {
    switch (c) {
    case CUZK_OPT_PRIORITY:
        if (cuzk_job_priority_parse(value, &o->priority)) return -1;
        return cuzk_cli_usage(verb, "--priority %s: low, normal, high or critical", value);
    case CUZK_OPT_DEADLINE:
        if (cuzk_parse_duration(value, &o->deadline_ns) && o->deadline_ns) return -1;
        return cuzk_cli_usage(verb, "--deadline %s: a time such as 30m", value);
    case CUZK_OPT_RETRY:
        if (cuzk_parse_duration(value, &o->retry_ns)) return -1;
        return cuzk_cli_usage(verb, "--retry %s: a time such as 2m", value);
    case CUZK_OPT_ID:
        if (*value && strlen(value) < CUZK_ENGINE_REQUEST_ID) {
            o->request_id = value;
            return -1;
        }
        return cuzk_cli_usage(verb, "--request-id wants 1 to %d characters",
                              CUZK_ENGINE_REQUEST_ID - 1);
    default:
        return -2;
    }
}

/* ---- patience ---- */

/* Sleeps; false when a signal came. */
static bool pause_for(int64_t ns) {
    const struct timespec t = {ns / SECOND, ns % SECOND};
    nanosleep(&t, NULL);
    return !cuzk_remote_stopped();
}

/* Whether to try again, after a wait that grows; as the daemon asks when it does. */
static bool again(cuzk_remote *r, cuzk_status st, int64_t until, int64_t *wait) {
    const int64_t asked = r->client ? cuzk_rpc_client_retry_ns(r->client) : -1;
    const int64_t now = cuzk_now_ns();
    if (st != CUZK_STATUS_BUSY || cuzk_remote_stopped() || now >= until) return false;
    int64_t pause = asked > 0 ? asked : *wait;
    if (pause > until - now) pause = until - now;
    if (*wait < 2 * SECOND) *wait *= 2;
    return pause_for(pause);
}

static bool connected(const cuzk_remote *r) {
    return r->client && !cuzk_rpc_client_lost(r->client);
}

/* ---- submit ---- */

static cuzk_status make_id(cuzk_job_input *in, cuzk_err *err) {
    uint8_t random[12];
    CUZK_TRY(cuzk_random(random, sizeof random, err));
    int n = snprintf(in->request_id, sizeof in->request_id, "cli-");
    for (size_t i = 0; i < sizeof random; i++)
        n += snprintf(in->request_id + n, sizeof in->request_id - (size_t)n, "%02x", random[i]);
    in->job.request_id = in->request_id;
    return CUZK_OK;
}

static uint64_t wall_ms(void) {
    struct timespec t;
    clock_gettime(CLOCK_REALTIME, &t);
    return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
}

cuzk_status cuzk_remote_submit(cuzk_remote *r, cuzk_job_input *in, const cuzk_submit_opts *o,
                               cuzk_rpc_submitted *out, cuzk_err *err) {
    const int64_t until = cuzk_now_ns() + (int64_t)o->retry_ns;
    int64_t wait = SECOND / 5;
    cuzk_status st;
    in->job.priority = o->priority;
    if (o->request_id) in->job.request_id = o->request_id;
    if (o->deadline_ns) in->job.deadline_unix_ms = wall_ms() + o->deadline_ns / 1000000;
    if (!in->job.request_id) CUZK_TRY(make_id(in, err));
    do {
        st = connected(r) ? CUZK_OK : cuzk_remote_open(r, err);
        if (st == CUZK_OK) st = cuzk_rpc_submit(r->client, &in->job, out, err);
    } while (again(r, st, until, &wait));
    return st;
}

/* ---- wait ---- */

typedef struct waiting {
    cuzk_engine_job *last;
    cuzk_progress progress;
    bool begun;
    uint32_t shown;
    int64_t alive_ns; /* when the daemon was last there */
} waiting;

static bool has_ended(const cuzk_engine_job *job) {
    return job->state != CUZK_ENGINE_QUEUED && job->state != CUZK_ENGINE_RUNNING;
}

static bool changed(void *ctx, const cuzk_engine_job *job) {
    waiting *w = ctx;
    *w->last = *job;
    if (!w->begun && job->n_partitions) {
        cuzk_progress_begin(&w->progress, stderr, "partitions", job->n_partitions);
        w->begun = true;
    }
    if (w->begun && job->partitions_done > w->shown) {
        cuzk_progress_add(&w->progress, job->partitions_done - w->shown);
        w->shown = job->partitions_done;
    }
    return !has_ended(job);
}

static cuzk_status verdict(const cuzk_engine_job *job, cuzk_err *err) {
    switch (job->state) {
    case CUZK_ENGINE_DONE:
        return CUZK_OK;
    case CUZK_ENGINE_CANCELLED:
        return cuzk_err_set(err, CUZK_STATUS_FAILED, "job %s was cancelled", job->id);
    case CUZK_ENGINE_DEADLINE:
        return cuzk_err_set(err, CUZK_STATUS_FAILED, "job %s: its deadline passed", job->id);
    default:
        return cuzk_err_set(err, CUZK_STATUS_FAILED, "job %s failed: %s", job->id, job->message);
    }
}

static cuzk_status interrupted(const char *job_id, cuzk_err *err) {
    return cuzk_err_set(err, CUZK_STATUS_FAILED,
                        "interrupted; the job goes on: `cuzk await %s` waits for it, `cuzk cancel "
                        "%s` ends it",
                        job_id, job_id);
}

/* One attempt: until the job's end and its proof. */
static cuzk_status attempt(cuzk_remote *r, const char *job_id, int64_t until, waiting *w,
                           cuzk_buf *proof, cuzk_err *err) {
    const int64_t left = until == INT64_MAX ? 0 : until - cuzk_now_ns();
    if (!connected(r)) CUZK_TRY(cuzk_remote_open(r, err));
    if (until != INT64_MAX && left <= 0)
        return cuzk_err_set(err, CUZK_STATUS_FAILED, "not done in time; the job goes on");
    if (!has_ended(w->last)) {
        const cuzk_status st = cuzk_rpc_watch(r->client, job_id, left, changed, w, err);
        w->alive_ns = cuzk_now_ns();
        CUZK_TRY(st);
        if (!has_ended(w->last))
            return cuzk_err_set(err, CUZK_STATUS_BUSY, "the daemon ends its calls");
    }
    CUZK_TRY(verdict(w->last, err));
    return cuzk_rpc_result(r->client, job_id, proof, err);
}

cuzk_status cuzk_remote_wait(cuzk_remote *r, const char *job_id, int64_t timeout_ns,
                             cuzk_engine_job *last, cuzk_buf *proof, cuzk_err *err) {
    const int64_t until = timeout_ns ? cuzk_now_ns() + timeout_ns : INT64_MAX;
    waiting w = {.last = last, .alive_ns = cuzk_now_ns()};
    int64_t wait = SECOND / 5, patience;
    cuzk_status st;
    memset(last, 0, sizeof *last);
    do {
        const int64_t alive = w.alive_ns;
        st = attempt(r, job_id, until, &w, proof, err);
        if (w.alive_ns != alive) wait = SECOND / 5;
        patience = w.alive_ns + RECONNECT < until ? w.alive_ns + RECONNECT : until;
    } while (again(r, st, patience, &wait));
    if (w.begun) cuzk_progress_end(&w.progress);
    if (st != CUZK_OK && cuzk_remote_stopped()) return interrupted(job_id, err);
    return st;
}
