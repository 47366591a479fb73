/* The client's calls about the daemon as a whole. */
#include "base/mem.h"
#include "rpc/client_internal.h"

#include <stdio.h>
#include <string.h>

static char *text_of(const char *text) {
    char *p;
    memcpy(&p, &text, sizeof p);
    return p;
}

/* ---- status ---- */

static void take_device(cuzk_rpc_device *d, const Cuzk__V1__GPUStatus *m) {
    d->ordinal = m->ordinal;
    d->restarts = m->restarts;
    CUZK__TAKE_TEXT(d->name, m->name);
    CUZK__TAKE_TEXT(d->uuid, m->uuid);
    CUZK__TAKE_TEXT(d->job_id, m->current_job_id);
    CUZK__TAKE_TEXT(d->kind, m->current_proof_kind);
    CUZK__TAKE_TEXT(d->trouble, m->trouble);
    d->total = m->vram_total_bytes;
    d->free = m->vram_free_bytes;
    d->lent = m->lent_bytes;
    d->busy_ms = m->busy_ms;
    d->up = m->up;
    d->quarantined = m->quarantined;
}

#define LEAST(a, b) ((a) < (b) ? (a) : (b))
#define ROOM(array) (sizeof(array) / sizeof *(array))

static void take_status(cuzk_rpc_status *s, const Cuzk__V1__GetStatusResponse *m) {
    memset(s, 0, sizeof *s);
    CUZK__TAKE_TEXT(s->version, m->version);
    s->completed = m->total_proofs_completed;
    s->failed = m->total_proofs_failed;
    s->uptime_s = m->uptime_seconds;
    s->pinned = m->pinned_memory_bytes;
    s->pinned_limit = m->pinned_memory_limit_bytes;
    s->host = m->host_memory_bytes;
    s->host_limit = m->host_memory_limit_bytes;
    s->depth = m->queue_depth;
    s->draining = m->draining;
    s->n_devices = LEAST(m->n_gpus, ROOM(s->devices));
    s->n_keys = LEAST(m->n_loaded_srs, ROOM(s->keys));
    s->n_queues = LEAST(m->n_queues, ROOM(s->queues));
    for (size_t i = 0; i < s->n_devices; i++)
        take_device(&s->devices[i], m->gpus[i]);
    for (size_t i = 0; i < s->n_keys; i++) {
        CUZK__TAKE_TEXT(s->keys[i].name, m->loaded_srs[i]->circuit_id);
        s->keys[i].tier = (int)m->loaded_srs[i]->tier;
        s->keys[i].size = m->loaded_srs[i]->size_bytes;
        s->keys[i].users = m->loaded_srs[i]->ref_count;
    }
    for (size_t i = 0; i < s->n_queues; i++) {
        CUZK__TAKE_TEXT(s->queues[i].kind, m->queues[i]->proof_kind);
        s->queues[i].pending = m->queues[i]->pending;
        s->queues[i].running = m->queues[i]->in_progress;
    }
}

cuzk_status cuzk_rpc_get_status(cuzk_rpc_client *c, cuzk_rpc_status *out, cuzk_err *err) {
    Cuzk__V1__GetStatusRequest req;
    cuzk__v1__get_status_request__init(&req);
    Cuzk__V1__GetStatusResponse *m;
    CUZK_TRY(cuzk__client_call(c, CUZK__PROVING "GetStatus", &req,
                               &cuzk__v1__get_status_response__descriptor, 0, &m, err));
    take_status(out, m);
    cuzk__rpc_unpacked_free(m);
    return CUZK_OK;
}

typedef struct watching {
    bool (*fn)(void *ctx, const cuzk_engine_job *job, const cuzk_rpc_status *status);
    void *ctx;
    cuzk_engine_job job;
    cuzk_rpc_status status;
} watching;

static bool take_event(void *ctx, const void *msg) {
    const Cuzk__V1__EngineEvent *m = msg;
    watching *w = ctx;
    switch (m->event_case) {
    case CUZK__V1__ENGINE_EVENT__EVENT_JOB:
        cuzk__client_job(&w->job, m->job);
        return w->fn(w->ctx, &w->job, NULL);
    case CUZK__V1__ENGINE_EVENT__EVENT_STATUS:
        take_status(&w->status, m->status);
        return w->fn(w->ctx, NULL, &w->status);
    default: /* of a newer daemon */
        return true;
    }
}

cuzk_status cuzk_rpc_watch_all(cuzk_rpc_client *c, uint32_t interval_ms,
                               bool (*fn)(void *ctx, const cuzk_engine_job *job,
                                          const cuzk_rpc_status *status),
                               void *ctx, cuzk_err *err) {
    Cuzk__V1__WatchEngineRequest req;
    cuzk__v1__watch_engine_request__init(&req);
    watching *w;
    if (cuzk_alloc((void **)&w, 1, sizeof *w) != CUZK_OK)
        return cuzk_err_set(err, CUZK_STATUS_NO_MEMORY, "not enough memory");
    w->fn = fn;
    w->ctx = ctx;
    req.interval_ms = interval_ms;
    const cuzk_status st =
        cuzk__client_stream(c, CUZK__ENGINE "WatchEngine", &req,
                            &cuzk__v1__engine_event__descriptor, 0, take_event, w, err);
    cuzk_free(w);
    return st;
}

static cuzk_status kept(const cuzk_buf *out, cuzk_err *err) {
    if (cuzk_buf_status(out) == CUZK_OK) return CUZK_OK;
    return cuzk_err_set(err, CUZK_STATUS_NO_MEMORY, "not enough memory for the answer");
}

cuzk_status cuzk_rpc_metrics(cuzk_rpc_client *c, cuzk_buf *out, cuzk_err *err) {
    Cuzk__V1__GetMetricsRequest req;
    cuzk__v1__get_metrics_request__init(&req);
    Cuzk__V1__GetMetricsResponse *m;
    CUZK_TRY(cuzk__client_call(c, CUZK__PROVING "GetMetrics", &req,
                               &cuzk__v1__get_metrics_response__descriptor, 0, &m, err));
    cuzk_buf_puts(out, m->prometheus_text);
    cuzk__rpc_unpacked_free(m);
    return kept(out, err);
}

cuzk_status cuzk_rpc_trace(cuzk_rpc_client *c, cuzk_rpc_trace_format format, cuzk_buf *out,
                           cuzk_err *err) {
    Cuzk__V1__GetTraceRequest req;
    cuzk__v1__get_trace_request__init(&req);
    Cuzk__V1__GetTraceResponse *m;
    req.format = (Cuzk__V1__GetTraceRequest__Format)format;
    CUZK_TRY(cuzk__client_call(c, CUZK__ENGINE "GetTrace", &req,
                               &cuzk__v1__get_trace_response__descriptor, 0, &m, err));
    cuzk_buf_append(out, m->text.data, m->text.len);
    cuzk__rpc_unpacked_free(m);
    return kept(out, err);
}

/* ---- operating it ---- */

cuzk_status cuzk_rpc_preload(cuzk_rpc_client *c, const char *key, bool *already, uint64_t *took_ms,
                             cuzk_err *err) {
    Cuzk__V1__PreloadSrsRequest req;
    cuzk__v1__preload_srs_request__init(&req);
    Cuzk__V1__PreloadSrsResponse *m;
    req.circuit_id = text_of(key);
    CUZK_TRY(cuzk__client_call(c, CUZK__PROVING "PreloadSRS", &req,
                               &cuzk__v1__preload_srs_response__descriptor, 0, &m, err));
    *already = m->already_loaded;
    *took_ms = m->load_time_ms;
    cuzk__rpc_unpacked_free(m);
    return CUZK_OK;
}

cuzk_status cuzk_rpc_evict(cuzk_rpc_client *c, const char *key, bool *was_loaded, uint64_t *freed,
                           cuzk_err *err) {
    Cuzk__V1__EvictSrsRequest req;
    cuzk__v1__evict_srs_request__init(&req);
    Cuzk__V1__EvictSrsResponse *m;
    req.circuit_id = text_of(key);
    CUZK_TRY(cuzk__client_call(c, CUZK__PROVING "EvictSRS", &req,
                               &cuzk__v1__evict_srs_response__descriptor, 0, &m, err));
    *was_loaded = m->was_loaded;
    *freed = m->freed_bytes;
    cuzk__rpc_unpacked_free(m);
    return CUZK_OK;
}

cuzk_status cuzk_rpc_drain_engine(cuzk_rpc_client *c, bool checkpoint, uint64_t timeout_ms,
                                  cuzk_err *err) {
    Cuzk__V1__DrainRequest req;
    cuzk__v1__drain_request__init(&req);
    req.checkpoint = checkpoint;
    req.timeout_ms = timeout_ms;
    return cuzk__client_tell(c, CUZK__ENGINE "Drain", &req, &cuzk__v1__drain_response__descriptor,
                             0, err);
}

cuzk_status cuzk_rpc_resume(cuzk_rpc_client *c, cuzk_err *err) {
    Cuzk__V1__ResumeRequest req;
    cuzk__v1__resume_request__init(&req);
    return cuzk__client_tell(c, CUZK__ENGINE "Resume", &req, &cuzk__v1__resume_response__descriptor,
                             0, err);
}

cuzk_status cuzk_rpc_lend(cuzk_rpc_client *c, uint32_t device, uint64_t bytes, uint64_t timeout_ms,
                          cuzk_err *err) {
    Cuzk__V1__LendMemoryRequest req;
    cuzk__v1__lend_memory_request__init(&req);
    req.device = device;
    req.bytes = bytes;
    req.timeout_ms = timeout_ms;
    return cuzk__client_tell(c, CUZK__ENGINE "LendMemory", &req,
                             &cuzk__v1__lend_memory_response__descriptor, 0, err);
}

cuzk_status cuzk_rpc_take_back(cuzk_rpc_client *c, uint32_t device, uint64_t bytes, cuzk_err *err) {
    Cuzk__V1__TakeBackMemoryRequest req;
    cuzk__v1__take_back_memory_request__init(&req);
    req.device = device;
    req.bytes = bytes;
    return cuzk__client_tell(c, CUZK__ENGINE "TakeBackMemory", &req,
                             &cuzk__v1__take_back_memory_response__descriptor, 0, err);
}

cuzk_status cuzk_rpc_restore(cuzk_rpc_client *c, uint32_t device, cuzk_err *err) {
    Cuzk__V1__RestoreDeviceRequest req;
    cuzk__v1__restore_device_request__init(&req);
    req.device = device;
    return cuzk__client_tell(c, CUZK__ENGINE "RestoreDevice", &req,
                             &cuzk__v1__restore_device_response__descriptor, 0, err);
}
