/* Submitting a job and waiting for it, for every verb that does. */
#ifndef CUZK_REMOTE_JOB_H
#define CUZK_REMOTE_JOB_H

#include "job_input.h"
#include "remote.h"

/* Options of a submission, rows and text. */
enum {
    CUZK_OPT_PRIORITY = CUZK_OPT_OWN,
    CUZK_OPT_DEADLINE,
    CUZK_OPT_ID,
    CUZK_OPT_RETRY,
    CUZK_OPT_TIMEOUT,
    CUZK_OPT_VERB
};
#define CUZK_SUBMIT_LONGS                                                                          \
    {"priority", required_argument, NULL, CUZK_OPT_PRIORITY},                                      \
        {"deadline", required_argument, NULL, CUZK_OPT_DEADLINE},                                  \
        {"request-id", required_argument, NULL, CUZK_OPT_ID}, {                                    \
        "retry", required_argument, NULL, CUZK_OPT_RETRY                                           \
    }
extern const char cuzk_submit_help[];

typedef struct cuzk_submit_opts {
    int priority;
    uint64_t deadline_ns, retry_ns; /* from now; 0: none */
    const char *request_id;
} cuzk_submit_opts;

/* -1: taken; -2: another option; else an exit code. */
int cuzk_submit_option(cuzk_submit_opts *o, const char *verb, int c, const char *value);

/* Connects and submits; while the daemon is busy or unreachable, again until retry_ns is over. A
 * job without a request id gets one, so that nothing is accepted twice. */
cuzk_status cuzk_remote_submit(cuzk_remote *r, cuzk_job_input *in, const cuzk_submit_opts *o,
                               cuzk_rpc_submitted *out, cuzk_err *err) CUZK_MUST_CHECK;

/* Waits for the end of a job, with progress on stderr, and appends its proof. A connection that is
 * lost is made again for a minute, since the daemon may be restarting: the job goes on then.
 * FAILED: failed, cancelled, timeout_ns (0: none) passed, or a signal. */
cuzk_status cuzk_remote_wait(cuzk_remote *r, const char *job_id, int64_t timeout_ns,
                             cuzk_engine_job *last, cuzk_buf *proof, cuzk_err *err) CUZK_MUST_CHECK;

#endif
