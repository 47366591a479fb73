/* The client: calls in general, and those about jobs. */
#include "rpc/client.h"

#include "base/mem.h"
#include "rpc/client_internal.h"

#include <stdio.h>
#include <string.h>

/* ---- connection ---- */

cuzk_status cuzk_rpc_client_new(cuzk_rpc_client **out, const char *address,
                                const cuzk_grpc_client_options *options, cuzk_err *err) {
    cuzk_rpc_client *c;
    if (cuzk_alloc((void **)&c, 1, sizeof *c) != CUZK_OK)
        return cuzk_err_set(err, CUZK_STATUS_NO_MEMORY, "not enough memory");
    c->retry_ns = -1;
    cuzk_status st = cuzk_net_address_check(address, err);
    if (st == CUZK_OK) {
        st = cuzk_grpc_client_new(&c->grpc, address, options, err);
        if (st == CUZK_STATUS_IO && err) err->status = CUZK_STATUS_BUSY;
        if (st == CUZK_STATUS_IO) st = CUZK_STATUS_BUSY;
    }
    if (st != CUZK_OK) {
        cuzk_free(c);
        return st;
    }
    *out = c;
    return CUZK_OK;
}

void cuzk_rpc_client_free(cuzk_rpc_client *c) {
    if (!c) return;
    cuzk_grpc_client_free(c->grpc);
    cuzk_free(c);
}

int64_t cuzk_rpc_client_retry_ns(const cuzk_rpc_client *c) {
    return c->retry_ns;
}

bool cuzk_rpc_client_lost(const cuzk_rpc_client *c) {
    return c->lost;
}

/* ---- calls ---- */

/* FAILED_PRECONDITION says by the call what is not as it must be: the daemon's memory, devices and
 * keys for a job; that nobody uses a key; the state of a job. */
static cuzk_status precondition_of(const char *path) {
    if (strstr(path, "/Submit")) return CUZK_STATUS_NO_MEMORY;
    return strstr(path, "/EvictSRS") ? CUZK_STATUS_BUSY : CUZK_STATUS_FAILED;
}

static cuzk_status status_of(int code, int64_t retry_ns, const char *path) {
    switch (code) {
    case CUZK_GRPC_OK:
        return CUZK_OK;
    case CUZK_GRPC_INVALID_ARGUMENT:
    case CUZK_GRPC_OUT_OF_RANGE:
        return CUZK_STATUS_BAD_INPUT;
    case CUZK_GRPC_NOT_FOUND:
        return CUZK_STATUS_NOT_FOUND;
    case CUZK_GRPC_ALREADY_EXISTS:
        return CUZK_STATUS_CONFLICT;
    case CUZK_GRPC_UNAVAILABLE:
        return CUZK_STATUS_BUSY;
    case CUZK_GRPC_RESOURCE_EXHAUSTED:
        return retry_ns >= 0 ? CUZK_STATUS_BUSY : CUZK_STATUS_NO_MEMORY;
    case CUZK_GRPC_DEADLINE_EXCEEDED:
    case CUZK_GRPC_CANCELLED:
    case CUZK_GRPC_ABORTED:
        return CUZK_STATUS_FAILED;
    case CUZK_GRPC_FAILED_PRECONDITION:
        return precondition_of(path);
    default: /* UNAUTHENTICATED, PERMISSION_DENIED, UNIMPLEMENTED, INTERNAL, ... */
        return CUZK_STATUS_IO;
    }
}

/* What a call that was made came to; st is what making it gave. */
static cuzk_status ended(cuzk_rpc_client *c, const char *path, cuzk_status st,
                         const cuzk_grpc_result *r, cuzk_err *err) {
    c->retry_ns = r->retry_ns;
    if (st == CUZK_STATUS_IO) {
        c->lost = true;
        if (err) err->status = CUZK_STATUS_BUSY;
        return CUZK_STATUS_BUSY;
    }
    if (st != CUZK_OK || r->code == CUZK_GRPC_OK) return st;
    st = status_of(r->code, r->retry_ns, path);
    return cuzk_err_set(err, st, "%s (%s)", *r->message ? r->message : "the daemon says no more",
                        cuzk_grpc_code_name(r->code));
}

static cuzk_status pack(const void *req, uint8_t **bytes, size_t *n, cuzk_err *err) {
    const ProtobufCMessage *m = req;
    *n = protobuf_c_message_get_packed_size(m);
    if (cuzk_alloc((void **)bytes, *n, 1) != CUZK_OK)
        return cuzk_err_set(err, CUZK_STATUS_NO_MEMORY, "not enough memory for %zu bytes", *n);
    protobuf_c_message_pack(m, *bytes);
    return CUZK_OK;
}

cuzk_status cuzk__client_call(cuzk_rpc_client *c, const char *path, const void *req,
                              const ProtobufCMessageDescriptor *type, int64_t timeout_ns,
                              void *reply, cuzk_err *err) {
    cuzk_grpc_result result = {.retry_ns = -1};
    cuzk_buf answer = CUZK_BUF_INIT;
    uint8_t *bytes;
    size_t n;
    void *msg;
    CUZK_TRY(pack(req, &bytes, &n, err));
    cuzk_status st =
        cuzk_grpc_client_call(c->grpc, path, bytes, n, timeout_ns, &answer, &result, err);
    cuzk_free(bytes);
    st = ended(c, path, st, &result, err);
    if (st == CUZK_OK) {
        msg = cuzk__rpc_unpack(type, (const uint8_t *)answer.data, answer.len);
        if (!msg)
            st = cuzk_err_set(err, CUZK_STATUS_IO, "%s answered what is no %s", path, type->name);
        memcpy(reply, &msg, sizeof msg);
    }
    cuzk_buf_free(&answer);
    return st;
}

cuzk_status cuzk__client_tell(cuzk_rpc_client *c, const char *path, const void *req,
                              const ProtobufCMessageDescriptor *type, int64_t timeout_ns,
                              cuzk_err *err) {
    void *reply;
    CUZK_TRY(cuzk__client_call(c, path, req, type, timeout_ns, &reply, err));
    cuzk__rpc_unpacked_free(reply);
    return CUZK_OK;
}

typedef struct streaming {
    const ProtobufCMessageDescriptor *type;
    bool (*fn)(void *ctx, const void *msg);
    void *ctx;
    bool enough, bad;
} streaming;

static bool take_message(void *ctx, const uint8_t *data, size_t n) {
    streaming *s = ctx;
    void *msg = cuzk__rpc_unpack(s->type, data, n);
    s->bad = !msg;
    s->enough = msg && !s->fn(s->ctx, msg);
    cuzk__rpc_unpacked_free(msg);
    return !s->bad && !s->enough;
}

cuzk_status cuzk__client_stream(cuzk_rpc_client *c, const char *path, const void *req,
                                const ProtobufCMessageDescriptor *type, int64_t timeout_ns,
                                bool (*fn)(void *ctx, const void *msg), void *ctx, cuzk_err *err) {
    streaming s = {type, fn, ctx, false, false};
    cuzk_grpc_result result = {.retry_ns = -1};
    uint8_t *bytes;
    size_t n;
    CUZK_TRY(pack(req, &bytes, &n, err));
    cuzk_status st = cuzk_grpc_client_stream(c->grpc, path, bytes, n, timeout_ns, take_message, &s,
                                             &result, err);
    cuzk_free(bytes);
    if (s.bad) return cuzk_err_set(err, CUZK_STATUS_IO, "%s sent what is no %s", path, type->name);
    st = ended(c, path, st, &result, err);
    return s.enough ? CUZK_OK : st;
}

void cuzk__client_text(char *to, size_t room, const char *from) {
    snprintf(to, room, "%s", from);
}

/* ---- jobs ---- */

static cuzk_engine_kind kind_of(const char *text) {
    static const char *const names[] = {
#define CUZK__KIND(name, word) word,
        CUZK_ENGINE_KINDS(CUZK__KIND)
#undef CUZK__KIND
    };
    for (int i = 0; i < CUZK_ENGINE_KIND_COUNT; i++)
        if (strcmp(text, names[i]) == 0) return (cuzk_engine_kind)i;
    return CUZK_ENGINE_UNSPECIFIED;
}

static const int64_t MS = 1000000;

void cuzk__client_job(cuzk_engine_job *out, const Cuzk__V1__Job *m) {
    memset(out, 0, sizeof *out);
    CUZK__TAKE_TEXT(out->id, m->job_id);
    CUZK__TAKE_TEXT(out->request_id, m->request_id);
    CUZK__TAKE_TEXT(out->key, m->key);
    CUZK__TAKE_TEXT(out->client, m->client);
    CUZK__TAKE_TEXT(out->message, m->message);
    out->kind = kind_of(m->proof_kind);
    out->state = (cuzk_engine_state)m->state;
    out->priority = (int)m->priority;
    out->submitted_ns = (int64_t)m->submitted_unix_ms * MS;
    out->ended_ns = (int64_t)m->ended_unix_ms * MS;
    out->deadline_ns = (int64_t)m->deadline_unix_ms * MS;
    out->n_partitions = m->partitions;
    out->partitions_done = m->partitions_done;
    out->times = (cuzk_engine_times){m->queue_wait_ms, m->srs_load_ms, m->synthesis_ms,
                                     m->gpu_compute_ms, m->total_ms};
}

static ProtobufCBinaryData bytes_of(const void *data, size_t n) {
    /* protobuf-c takes no const; packing only reads */
    ProtobufCBinaryData b = {.len = data ? n : 0};
    memcpy(&b.data, &data, sizeof b.data);
    return b;
}

static char *text_of(const char *text) {
    char *p;
    if (!text) text = protobuf_c_empty_string;
    memcpy(&p, &text, sizeof p);
    return p;
}

static cuzk_status submit_circom(cuzk_rpc_client *c, const cuzk_rpc_job *job, void *reply,
                                 cuzk_err *err) {
    Cuzk__V1__SubmitCircomRequest m;
    cuzk__v1__submit_circom_request__init(&m);
    m.request_id = text_of(job->request_id);
    m.key = text_of(job->key);
    m.priority = (Cuzk__V1__Priority)job->priority;
    m.deadline_unix_ms = job->deadline_unix_ms;
    if (job->n_parts) m.wtns = bytes_of(job->parts[0].data, job->parts[0].len);
    return cuzk__client_call(c, CUZK__ENGINE "SubmitCircom", &m,
                             &cuzk__v1__submit_proof_response__descriptor, 0, reply, err);
}

static cuzk_status submit_filecoin(cuzk_rpc_client *c, const cuzk_rpc_job *job, void *reply,
                                   cuzk_err *err) {
    Cuzk__V1__SubmitProofRequest m;
    cuzk__v1__submit_proof_request__init(&m);
    ProtobufCBinaryData *parts = NULL;
    m.request_id = text_of(job->request_id);
    m.proof_kind = (Cuzk__V1__ProofKind)job->kind;
    m.sector_size = job->sector_size;
    m.registered_proof = job->registered_proof;
    m.priority = (Cuzk__V1__Priority)job->priority;
    m.sector_number = job->sector_number;
    m.miner_id = job->miner_id;
    m.randomness = bytes_of(job->randomness, 32);
    m.partition_index = job->partition_index;
    m.comm_r_old = bytes_of(job->comm_r_old, 32);
    m.comm_r_new = bytes_of(job->comm_r_new, 32);
    m.comm_d_new = bytes_of(job->comm_d_new, 32);
    m.deadline_unix_ms = job->deadline_unix_ms;
    if (job->kind == CUZK_ENGINE_POREP && job->n_parts == 1) {
        m.vanilla_proof = bytes_of(job->parts[0].data, job->parts[0].len);
    } else {
        if (cuzk_alloc((void **)&parts, job->n_parts, sizeof *parts) != CUZK_OK)
            return cuzk_err_set(err, CUZK_STATUS_NO_MEMORY, "not enough memory");
        for (size_t i = 0; i < job->n_parts; i++)
            parts[i] = bytes_of(job->parts[i].data, job->parts[i].len);
        m.vanilla_proofs = parts;
        m.n_vanilla_proofs = job->n_parts;
    }
    const cuzk_status st =
        cuzk__client_call(c, CUZK__PROVING "SubmitProof", &m,
                          &cuzk__v1__submit_proof_response__descriptor, 0, reply, err);
    cuzk_free(parts);
    return st;
}

cuzk_status cuzk_rpc_submit(cuzk_rpc_client *c, const cuzk_rpc_job *job, cuzk_rpc_submitted *out,
                            cuzk_err *err) {
    Cuzk__V1__SubmitProofResponse *m;
    CUZK_TRY(job->kind == CUZK_ENGINE_CIRCOM ? submit_circom(c, job, &m, err)
                                             : submit_filecoin(c, job, &m, err));
    CUZK__TAKE_TEXT(out->job_id, m->job_id);
    CUZK__TAKE_TEXT(out->device, m->assigned_gpu);
    out->position = m->queue_position;
    out->depth = m->queue_depth;
    out->existed = m->existed;
    cuzk__rpc_unpacked_free(m);
    return CUZK_OK;
}

static cuzk_status awaited(const Cuzk__V1__AwaitProofResponse *m, cuzk_engine_state *state,
                           cuzk_buf *proof, cuzk_err *err) {
    switch (m->status) {
    case CUZK__V1__AWAIT_PROOF_RESPONSE__STATUS__COMPLETED:
        *state = CUZK_ENGINE_DONE;
        cuzk_buf_append(proof, m->proof.data, m->proof.len);
        if (cuzk_buf_status(proof) == CUZK_OK) return CUZK_OK;
        return cuzk_err_set(err, CUZK_STATUS_NO_MEMORY, "not enough memory for the proof");
    case CUZK__V1__AWAIT_PROOF_RESPONSE__STATUS__FAILED:
        *state = m->deadline_passed ? CUZK_ENGINE_DEADLINE : CUZK_ENGINE_FAILED;
        return cuzk_err_set(err, CUZK_STATUS_FAILED, "%s", m->error_message);
    case CUZK__V1__AWAIT_PROOF_RESPONSE__STATUS__CANCELLED:
        *state = CUZK_ENGINE_CANCELLED;
        return cuzk_err_set(err, CUZK_STATUS_FAILED, "the job was cancelled");
    case CUZK__V1__AWAIT_PROOF_RESPONSE__STATUS__TIMEOUT:
        *state = CUZK_ENGINE_RUNNING;
        return cuzk_err_set(err, CUZK_STATUS_FAILED, "not done in time; the job goes on");
    default:
        *state = CUZK_ENGINE_RUNNING;
        return cuzk_err_set(err, CUZK_STATUS_NOT_FOUND, "the daemon knows no such job");
    }
}

cuzk_status cuzk_rpc_await(cuzk_rpc_client *c, const char *job_id, uint64_t timeout_ms,
                           cuzk_engine_state *state, cuzk_engine_times *times, cuzk_buf *proof,
                           cuzk_err *err) {
    Cuzk__V1__AwaitProofRequest req;
    cuzk__v1__await_proof_request__init(&req);
    Cuzk__V1__AwaitProofResponse *m;
    *state = CUZK_ENGINE_QUEUED;
    req.job_id = text_of(job_id);
    req.timeout_ms = timeout_ms;
    CUZK_TRY(cuzk__client_call(c, CUZK__PROVING "AwaitProof", &req,
                               &cuzk__v1__await_proof_response__descriptor, 0, &m, err));
    if (times)
        *times = (cuzk_engine_times){m->queue_wait_ms, m->srs_load_ms, m->synthesis_ms,
                                     m->gpu_compute_ms, m->total_ms};
    const cuzk_status st = awaited(m, state, proof, err);
    cuzk__rpc_unpacked_free(m);
    return st;
}

cuzk_status cuzk_rpc_get(cuzk_rpc_client *c, const char *job_id, cuzk_engine_job *out,
                         cuzk_err *err) {
    Cuzk__V1__GetJobRequest req;
    cuzk__v1__get_job_request__init(&req);
    Cuzk__V1__Job *m;
    req.job_id = text_of(job_id);
    CUZK_TRY(
        cuzk__client_call(c, CUZK__ENGINE "GetJob", &req, &cuzk__v1__job__descriptor, 0, &m, err));
    cuzk__client_job(out, m);
    cuzk__rpc_unpacked_free(m);
    return CUZK_OK;
}

cuzk_status cuzk_rpc_list(cuzk_rpc_client *c, cuzk_engine_job *out, size_t *n, cuzk_err *err) {
    Cuzk__V1__ListJobsRequest req;
    cuzk__v1__list_jobs_request__init(&req);
    Cuzk__V1__ListJobsResponse *m;
    req.limit = (uint32_t)*n;
    CUZK_TRY(cuzk__client_call(c, CUZK__ENGINE "ListJobs", &req,
                               &cuzk__v1__list_jobs_response__descriptor, 0, &m, err));
    if (m->n_jobs < *n) *n = m->n_jobs;
    for (size_t i = 0; i < *n; i++)
        cuzk__client_job(&out[i], m->jobs[i]);
    cuzk__rpc_unpacked_free(m);
    return CUZK_OK;
}

cuzk_status cuzk_rpc_result(cuzk_rpc_client *c, const char *job_id, cuzk_buf *proof,
                            cuzk_err *err) {
    Cuzk__V1__GetResultRequest req;
    cuzk__v1__get_result_request__init(&req);
    Cuzk__V1__GetResultResponse *m;
    req.job_id = text_of(job_id);
    CUZK_TRY(cuzk__client_call(c, CUZK__ENGINE "GetResult", &req,
                               &cuzk__v1__get_result_response__descriptor, 0, &m, err));
    cuzk_buf_append(proof, m->proof.data, m->proof.len);
    cuzk__rpc_unpacked_free(m);
    if (cuzk_buf_status(proof) == CUZK_OK) return CUZK_OK;
    return cuzk_err_set(err, CUZK_STATUS_NO_MEMORY, "not enough memory for the proof");
}

cuzk_status cuzk_rpc_cancel(cuzk_rpc_client *c, const char *job_id, bool *was_running,
                            cuzk_err *err) {
    Cuzk__V1__CancelProofRequest req;
    cuzk__v1__cancel_proof_request__init(&req);
    Cuzk__V1__CancelProofResponse *m;
    req.job_id = text_of(job_id);
    CUZK_TRY(cuzk__client_call(c, CUZK__PROVING "CancelProof", &req,
                               &cuzk__v1__cancel_proof_response__descriptor, 0, &m, err));
    *was_running = m->was_running;
    cuzk__rpc_unpacked_free(m);
    return CUZK_OK;
}

typedef struct watching {
    bool (*fn)(void *ctx, const cuzk_engine_job *job);
    void *ctx;
    cuzk_engine_job job;
} watching;

static bool take_job(void *ctx, const void *msg) {
    watching *w = ctx;
    cuzk__client_job(&w->job, msg);
    return w->fn(w->ctx, &w->job);
}

cuzk_status cuzk_rpc_watch(cuzk_rpc_client *c, const char *job_id, int64_t timeout_ns,
                           bool (*fn)(void *ctx, const cuzk_engine_job *job), void *ctx,
                           cuzk_err *err) {
    Cuzk__V1__WatchJobRequest req;
    cuzk__v1__watch_job_request__init(&req);
    watching w = {.fn = fn, .ctx = ctx};
    req.job_id = text_of(job_id);
    return cuzk__client_stream(c, CUZK__ENGINE "WatchJob", &req, &cuzk__v1__job__descriptor,
                               timeout_ns, take_job, &w, err);
}
