/* cuzk.v1.ProvingEngine, but for the calls that wait for a job (waiting.c). */
#include "rpc/replies.h"

#include "base/mem.h"

#include <string.h>

static void submit_any(cuzk_rpc *r, cuzk_grpc_call *call,
                       cuzk_status (*read)(cuzk__rpc_submission *, const uint8_t *, size_t,
                                           cuzk_err *)) {
    const uint8_t *msg = NULL;
    size_t n = 0;
    cuzk_err err = {0};
    cuzk__rpc_submission s;
    cuzk_engine_accepted accepted = {0};
    cuzk_engine_refusal refusal = {0};
    char assigned[96];
    (void)cuzk_grpc_call_request(call, &msg, &n);
    const char *who = cuzk_grpc_call_identity(call);
    cuzk__rpc_submission_init(&s, who ? who : cuzk_grpc_call_peer(call));
    cuzk_status st = read(&s, msg, n, &err);
    if (st != CUZK_OK) {
        (void)cuzk__rpc_fail(call, st, &err, NULL);
    } else if ((st = cuzk_engine_submit(r->engine, &s.request, &accepted, &refusal, &err)) !=
               CUZK_OK) {
        (void)cuzk__rpc_fail(call, st, &err, &refusal);
    } else {
        Cuzk__V1__SubmitProofResponse m;
        cuzk__v1__submit_proof_response__init(&m);
        cuzk__rpc_assigned(r, s.request.payload.kind, assigned);
        m.job_id = accepted.job_id;
        m.queue_position = accepted.position;
        m.assigned_gpu = assigned;
        m.queue_depth = accepted.depth;
        m.existed = accepted.existed;
        (void)cuzk__rpc_reply(call, &m);
    }
    cuzk__rpc_submission_free(&s);
}

static cuzk_status read_submit(cuzk__rpc_submission *s, const uint8_t *msg, size_t n,
                               cuzk_err *err) {
    return cuzk__rpc_read_submit(s, msg, n, false, err);
}

static void submit_proof(cuzk_rpc *r, cuzk_grpc_call *call) {
    submit_any(r, call, read_submit);
}

static void submit_circom(cuzk_rpc *r, cuzk_grpc_call *call) {
    submit_any(r, call, cuzk__rpc_read_circom);
}

static void cancel_proof(cuzk_rpc *r, cuzk_grpc_call *call) {
    cuzk_err err = {0};
    bool running = false;
    Cuzk__V1__CancelProofRequest *req =
        cuzk__rpc_request(call, &cuzk__v1__cancel_proof_request__descriptor);
    if (!req) return;
    const cuzk_status st = cuzk_engine_cancel(r->engine, req->job_id, &running, &err);
    if (st == CUZK_OK) {
        Cuzk__V1__CancelProofResponse m;
        cuzk__v1__cancel_proof_response__init(&m);
        m.was_running = running;
        (void)cuzk__rpc_reply(call, &m);
    } else {
        (void)cuzk__rpc_fail(call, st, &err, NULL);
    }
    cuzk__rpc_unpacked_free(req);
}

static void get_status(cuzk_rpc *r, cuzk_grpc_call *call) {
    cuzk_err err = {0};
    cuzk_engine_status *s = NULL;
    cuzk__rpc_status_message m;
    cuzk_status st = cuzk_engine_snapshot(r->engine, &s, &err);
    if (st == CUZK_OK) st = cuzk__rpc_make_status(&m, s, r->config.version);
    if (st == CUZK_OK) {
        (void)cuzk__rpc_reply(call, &m.m);
        cuzk__rpc_free_status(&m);
    } else {
        (void)cuzk__rpc_fail(call, st, &err, NULL);
    }
    cuzk_free(s);
}

static void get_metrics(cuzk_rpc *r, cuzk_grpc_call *call) {
    cuzk_err err = {0};
    cuzk_buf text = CUZK_BUF_INIT;
    const cuzk_status st = cuzk__rpc_metrics(r, &text, &err);
    if (st == CUZK_OK) {
        Cuzk__V1__GetMetricsResponse m;
        cuzk__v1__get_metrics_response__init(&m);
        m.prometheus_text = text.data;
        (void)cuzk__rpc_reply(call, &m);
    } else {
        (void)cuzk__rpc_fail(call, st, &err, NULL);
    }
    cuzk_buf_free(&text);
}

static void preload(cuzk_rpc *r, cuzk_grpc_call *call) {
    cuzk_err err = {0};
    bool already = false;
    int64_t took = 0;
    Cuzk__V1__PreloadSrsRequest *req =
        cuzk__rpc_request(call, &cuzk__v1__preload_srs_request__descriptor);
    if (!req) return;
    const cuzk_status st = cuzk_engine_preload(r->engine, req->circuit_id, &already, &took, &err);
    if (st == CUZK_OK) {
        Cuzk__V1__PreloadSrsResponse m;
        cuzk__v1__preload_srs_response__init(&m);
        m.already_loaded = already;
        m.load_time_ms = already ? 0 : (uint64_t)took / 1000000;
        (void)cuzk__rpc_reply(call, &m);
    } else {
        (void)cuzk__rpc_fail(call, st, &err, NULL);
    }
    cuzk__rpc_unpacked_free(req);
}

static void evict(cuzk_rpc *r, cuzk_grpc_call *call) {
    cuzk_err err = {0};
    bool was_loaded = false;
    uint64_t freed = 0;
    Cuzk__V1__EvictSrsRequest *req =
        cuzk__rpc_request(call, &cuzk__v1__evict_srs_request__descriptor);
    if (!req) return;
    const cuzk_status st = cuzk_engine_evict(r->engine, req->circuit_id, &was_loaded, &freed, &err);
    if (st == CUZK_OK) {
        Cuzk__V1__EvictSrsResponse m;
        cuzk__v1__evict_srs_response__init(&m);
        m.was_loaded = was_loaded;
        m.freed_bytes = freed;
        (void)cuzk__rpc_reply(call, &m);
    } else if (st == CUZK_STATUS_BUSY) {
        cuzk_grpc_fail(call, CUZK_GRPC_FAILED_PRECONDITION, "%s; wait for its jobs, or cancel them",
                       err.msg);
    } else {
        (void)cuzk__rpc_fail(call, st, &err, NULL);
    }
    cuzk__rpc_unpacked_free(req);
}

void cuzk__rpc_proving_methods(cuzk_rpc *r) {
#define CUZK__PATH "/cuzk.v1.ProvingEngine/"
    cuzk__rpc_add_method(r, CUZK__PATH "SubmitProof", CUZK_GRPC_UNARY, submit_proof, false, NULL);
    cuzk__rpc_add_method(r, CUZK__PATH "CancelProof", CUZK_GRPC_UNARY, cancel_proof, false, NULL);
    cuzk__rpc_add_method(r, CUZK__PATH "GetStatus", CUZK_GRPC_UNARY, get_status, false, NULL);
    cuzk__rpc_add_method(r, CUZK__PATH "GetMetrics", CUZK_GRPC_UNARY, get_metrics, false, NULL);
    cuzk__rpc_add_method(r, CUZK__PATH "PreloadSRS", CUZK_GRPC_UNARY, preload, true, NULL);
    cuzk__rpc_add_method(r, CUZK__PATH "EvictSRS", CUZK_GRPC_UNARY, evict, true, NULL);
#undef CUZK__PATH
    cuzk__rpc_add_method(r, "/cuzk.v1.Engine/SubmitCircom", CUZK_GRPC_UNARY, submit_circom, false,
                         NULL);
}
