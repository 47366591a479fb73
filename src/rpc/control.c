/* cuzk.v1.Engine, but for the calls that wait for a job (waiting.c). */
#include "rpc/replies.h"

#include "base/clock.h"
#include "base/mem.h"

#include <string.h>

static void get_job(cuzk_rpc *r, cuzk_grpc_call *call) {
    cuzk_err err = {0};
    cuzk_engine_job job;
    Cuzk__V1__Job m;
    Cuzk__V1__GetJobRequest *req = cuzk__rpc_request(call, &cuzk__v1__get_job_request__descriptor);
    if (!req) return;
    const cuzk_status st = cuzk_engine_get(r->engine, req->job_id, &job, &err);
    if (st == CUZK_OK) {
        cuzk__rpc_job_message(&m, &job);
        (void)cuzk__rpc_reply(call, &m);
    } else {
        (void)cuzk__rpc_fail(call, st, &err, NULL);
    }
    cuzk__rpc_unpacked_free(req);
}

/* The three arrays of a list of jobs. */
typedef struct job_list {
    cuzk_engine_job *jobs;
    Cuzk__V1__Job *messages, **pointers;
} job_list;

static cuzk_status job_list_new(job_list *l, size_t n) {
    CUZK_TRY(cuzk_alloc((void **)&l->jobs, n, sizeof *l->jobs));
    CUZK_TRY(cuzk_alloc((void **)&l->messages, n, sizeof *l->messages));
    return cuzk_alloc((void **)&l->pointers, n, sizeof(Cuzk__V1__Job *));
}

static void list_jobs(cuzk_rpc *r, cuzk_grpc_call *call) {
    cuzk_err err = {0};
    job_list l = {0};
    Cuzk__V1__ListJobsResponse m;
    Cuzk__V1__ListJobsRequest *req =
        cuzk__rpc_request(call, &cuzk__v1__list_jobs_request__descriptor);
    if (!req) return;
    size_t n = req->limit == 0 ? 100 : req->limit > 1000 ? 1000 : req->limit;
    const int64_t before =
        req->before_unix_ms < INT64_MAX / 1000000 ? (int64_t)req->before_unix_ms * 1000000 : 0;
    cuzk_status st = job_list_new(&l, n);
    if (st == CUZK_OK) st = cuzk_engine_list(r->engine, before, l.jobs, &n, &err);
    if (st == CUZK_OK) {
        cuzk__v1__list_jobs_response__init(&m);
        for (size_t i = 0; i < n; i++) {
            cuzk__rpc_job_message(&l.messages[i], &l.jobs[i]);
            l.pointers[i] = &l.messages[i];
        }
        m.jobs = l.pointers;
        m.n_jobs = n;
        (void)cuzk__rpc_reply(call, &m);
    } else {
        (void)cuzk__rpc_fail(call, st, &err, NULL);
    }
    cuzk_free(l.jobs);
    cuzk_free(l.messages);
    cuzk_free(l.pointers);
    cuzk__rpc_unpacked_free(req);
}

static void get_result(cuzk_rpc *r, cuzk_grpc_call *call) {
    cuzk_err err = {0};
    cuzk_engine_job job;
    cuzk_buf proof = CUZK_BUF_INIT;
    Cuzk__V1__Job jm;
    Cuzk__V1__GetResultResponse m;
    Cuzk__V1__GetResultRequest *req =
        cuzk__rpc_request(call, &cuzk__v1__get_result_request__descriptor);
    if (!req) return;
    cuzk_status st = cuzk_engine_get(r->engine, req->job_id, &job, &err);
    if (st == CUZK_OK && job.state != CUZK_ENGINE_DONE) {
        (void)cuzk_grpc_fail(
            call, CUZK_GRPC_FAILED_PRECONDITION, "job %s has no proof: it is %s%s%s; %s", job.id,
            cuzk_engine_state_name(job.state), job.message[0] ? ": " : "", job.message,
            cuzk__rpc_ended(job.state) ? "submit it again" : "AwaitProof waits for its end");
    } else {
        if (st == CUZK_OK) st = cuzk_engine_result(r->engine, job.id, !req->keep, &proof, &err);
        if (st == CUZK_OK) {
            cuzk__v1__get_result_response__init(&m);
            cuzk__rpc_job_message(&jm, &job);
            m.job = &jm;
            m.proof.data = (uint8_t *)proof.data;
            m.proof.len = proof.len;
            (void)cuzk__rpc_reply(call, &m);
        } else {
            (void)cuzk__rpc_fail(call, st, &err, NULL);
        }
    }
    cuzk_buf_free(&proof);
    cuzk__rpc_unpacked_free(req);
}

static void get_trace(cuzk_rpc *r, cuzk_grpc_call *call) {
    cuzk_err err = {0};
    cuzk_buf text = CUZK_BUF_INIT;
    Cuzk__V1__GetTraceResponse m;
    Cuzk__V1__GetTraceRequest *req =
        cuzk__rpc_request(call, &cuzk__v1__get_trace_request__descriptor);
    if (!req) return;
    const cuzk__rpc_trace_format format =
        req->format == CUZK__V1__GET_TRACE_REQUEST__FORMAT__CHROME ? CUZK__RPC_TRACE_CHROME
        : req->format == CUZK__V1__GET_TRACE_REQUEST__FORMAT__SVG  ? CUZK__RPC_TRACE_SVG
                                                                   : CUZK__RPC_TRACE_CSV;
    const cuzk_status st = cuzk__rpc_trace(r, format, 0, &text, &err);
    if (st == CUZK_OK) {
        cuzk__v1__get_trace_response__init(&m);
        m.text.data = (uint8_t *)text.data;
        m.text.len = text.len;
        (void)cuzk__rpc_reply(call, &m);
    } else {
        (void)cuzk__rpc_fail(call, st, &err, NULL);
    }
    cuzk_buf_free(&text);
    cuzk__rpc_unpacked_free(req);
}

/* ---- an operator's calls ---- */

/* How long to wait for one try of something that takes long, so that a call that has ended, or the
 * daemon's end, is noticed. False: the time is over. */
static bool next_slice(int64_t until, int64_t *slice) {
    const int64_t left = until - cuzk_now_ns();
    *slice = left < 500000000 ? left : 500000000;
    return left > 0;
}

static int64_t until(uint64_t timeout_ms) {
    return timeout_ms == 0 || timeout_ms > 1000000000
               ? INT64_MAX
               : cuzk_now_ns() + (int64_t)timeout_ms * 1000000;
}

static void drain(cuzk_rpc *r, cuzk_grpc_call *call) {
    cuzk_err err = {0};
    int64_t slice;
    Cuzk__V1__DrainResponse m;
    Cuzk__V1__DrainRequest *req = cuzk__rpc_request(call, &cuzk__v1__drain_request__descriptor);
    if (!req) return;
    const int64_t end = until(req->timeout_ms);
    cuzk_status st = cuzk_engine_drain(r->engine, req->checkpoint, 1, &err);
    cuzk__rpc_health_refresh(r);
    while (st == CUZK_STATUS_BUSY && next_slice(end, &slice) && !cuzk_grpc_call_over(call) &&
           !atomic_load(&r->stopping))
        st = cuzk_engine_drain(r->engine, req->checkpoint, slice, &err);
    cuzk__rpc_health_refresh(r); /* the first time may have come before the engine heard of it */
    if (st == CUZK_OK) {
        cuzk__v1__drain_response__init(&m);
        (void)cuzk__rpc_reply(call, &m);
    } else if (st == CUZK_STATUS_BUSY) {
        (void)cuzk_grpc_fail(call, CUZK_GRPC_DEADLINE_EXCEEDED,
                             "jobs still run; the engine goes on draining. Call Drain again to "
                             "wait, or Resume to take jobs again");
    } else {
        (void)cuzk__rpc_fail(call, st, &err, NULL);
    }
    cuzk__rpc_unpacked_free(req);
}

/* The answer of calls whose answers are empty. */
static void done(cuzk_grpc_call *call, cuzk_status st, const cuzk_err *err, const void *empty) {
    if (st == CUZK_OK)
        (void)cuzk__rpc_reply(call, empty);
    else
        (void)cuzk__rpc_fail(call, st, err, NULL);
}

static void resume(cuzk_rpc *r, cuzk_grpc_call *call) {
    cuzk_err err = {0};
    Cuzk__V1__ResumeResponse m;
    Cuzk__V1__ResumeRequest *req = cuzk__rpc_request(call, &cuzk__v1__resume_request__descriptor);
    if (!req) return;
    cuzk__v1__resume_response__init(&m);
    const cuzk_status st = cuzk_engine_resume(r->engine, &err);
    cuzk__rpc_health_refresh(r);
    done(call, st, &err, &m);
    cuzk__rpc_unpacked_free(req);
}

static void lend(cuzk_rpc *r, cuzk_grpc_call *call) {
    cuzk_err err = {0};
    int64_t slice;
    Cuzk__V1__LendMemoryResponse m;
    Cuzk__V1__LendMemoryRequest *req =
        cuzk__rpc_request(call, &cuzk__v1__lend_memory_request__descriptor);
    if (!req) return;
    const int64_t end = until(req->timeout_ms ? req->timeout_ms : 60000);
    cuzk_status st = CUZK_STATUS_BUSY;
    while (st == CUZK_STATUS_BUSY && next_slice(end, &slice) && !cuzk_grpc_call_over(call) &&
           !atomic_load(&r->stopping))
        st = cuzk_engine_lend(r->engine, req->device, req->bytes, slice, &err);
    cuzk__v1__lend_memory_response__init(&m);
    if (st == CUZK_STATUS_BUSY)
        (void)cuzk_grpc_fail(call, CUZK_GRPC_DEADLINE_EXCEEDED,
                             "the memory of device %u is still in use; try again with a longer "
                             "timeout_ms, or with fewer bytes",
                             req->device);
    else if (st != CUZK_OK)
        (void)cuzk__rpc_fail(call, st, &err, NULL);
    else if (cuzk__rpc_reply(call, &m) != CUZK_OK) /* the client left and cannot use it */
        st = cuzk_engine_take_back(r->engine, req->device, req->bytes, &err);
    cuzk__rpc_unpacked_free(req);
}

static void take_back(cuzk_rpc *r, cuzk_grpc_call *call) {
    cuzk_err err = {0};
    Cuzk__V1__TakeBackMemoryResponse m;
    Cuzk__V1__TakeBackMemoryRequest *req =
        cuzk__rpc_request(call, &cuzk__v1__take_back_memory_request__descriptor);
    if (!req) return;
    cuzk__v1__take_back_memory_response__init(&m);
    done(call, cuzk_engine_take_back(r->engine, req->device, req->bytes, &err), &err, &m);
    cuzk__rpc_unpacked_free(req);
}

static void restore(cuzk_rpc *r, cuzk_grpc_call *call) {
    cuzk_err err = {0};
    Cuzk__V1__RestoreDeviceResponse m;
    Cuzk__V1__RestoreDeviceRequest *req =
        cuzk__rpc_request(call, &cuzk__v1__restore_device_request__descriptor);
    if (!req) return;
    cuzk__v1__restore_device_response__init(&m);
    done(call, cuzk_engine_restore(r->engine, req->device, &err), &err, &m);
    cuzk__rpc_unpacked_free(req);
}

void cuzk__rpc_control_methods(cuzk_rpc *r) {
    static const struct {
        const char *path;
        cuzk__rpc_work work;
        bool slow;
    } methods[] = {
        {"/cuzk.v1.Engine/GetJob", get_job, false},
        {"/cuzk.v1.Engine/ListJobs", list_jobs, false},
        {"/cuzk.v1.Engine/GetResult", get_result, false},
        {"/cuzk.v1.Engine/GetTrace", get_trace, false},
        {"/cuzk.v1.Engine/Drain", drain, true},
        {"/cuzk.v1.Engine/Resume", resume, false},
        {"/cuzk.v1.Engine/LendMemory", lend, true},
        {"/cuzk.v1.Engine/TakeBackMemory", take_back, false},
        {"/cuzk.v1.Engine/RestoreDevice", restore, false},
    };
    for (size_t i = 0; i < sizeof methods / sizeof methods[0]; i++)
        cuzk__rpc_add_method(r, methods[i].path, CUZK_GRPC_UNARY, methods[i].work, methods[i].slow,
                             NULL);
}
