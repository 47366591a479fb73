#include "rpc/replies.h"

#include "base/mem.h"

#include <stdio.h>
#include <string.h>

/* The engine's own numbers are the wire's. */
#define CUZK__SAME(a, b) _Static_assert((int)(a) == (int)(b), #a)
CUZK__SAME(CUZK_ENGINE_POREP, CUZK__V1__PROOF_KIND__POREP_SEAL_COMMIT);
CUZK__SAME(CUZK_ENGINE_SNAP, CUZK__V1__PROOF_KIND__SNAP_DEALS_UPDATE);
CUZK__SAME(CUZK_ENGINE_WINDOW, CUZK__V1__PROOF_KIND__WINDOW_POST_PARTITION);
CUZK__SAME(CUZK_ENGINE_WINNING, CUZK__V1__PROOF_KIND__WINNING_POST);
CUZK__SAME(CUZK_ENGINE_QUEUED, CUZK__V1__JOB_STATE__QUEUED);
CUZK__SAME(CUZK_ENGINE_RUNNING, CUZK__V1__JOB_STATE__RUNNING);
CUZK__SAME(CUZK_ENGINE_DONE, CUZK__V1__JOB_STATE__DONE);
CUZK__SAME(CUZK_ENGINE_FAILED, CUZK__V1__JOB_STATE__JOB_FAILED);
CUZK__SAME(CUZK_ENGINE_CANCELLED, CUZK__V1__JOB_STATE__JOB_CANCELLED);
CUZK__SAME(CUZK_ENGINE_DEADLINE, CUZK__V1__JOB_STATE__DEADLINE_PASSED);
#undef CUZK__SAME

/* Names of kinds are constants, and protobuf-c's strings are not const; nobody writes there. */
static char *text(const char *constant) {
    char *p;
    memcpy(&p, &constant, sizeof p);
    return p;
}

static char *kind_name(cuzk_engine_kind kind) {
    static const char *const names[CUZK_ENGINE_KIND_COUNT] = {
#define CUZK__NAME(name, text) text,
        CUZK_ENGINE_KINDS(CUZK__NAME)
#undef CUZK__NAME
    };
    return text(names[kind < CUZK_ENGINE_KIND_COUNT ? kind : CUZK_ENGINE_UNSPECIFIED]);
}

static uint64_t ms(int64_t ns) {
    return ns > 0 ? (uint64_t)ns / 1000000 : 0;
}

void cuzk__rpc_job_message(Cuzk__V1__Job *out, cuzk_engine_job *job) {
    cuzk__v1__job__init(out);
    out->job_id = job->id;
    out->request_id = job->request_id;
    out->key = job->key;
    out->client = job->client;
    out->proof_kind = kind_name(job->kind);
    out->state = (Cuzk__V1__JobState)job->state;
    out->priority = (Cuzk__V1__Priority)job->priority;
    out->submitted_unix_ms = ms(job->submitted_ns);
    out->ended_unix_ms = ms(job->ended_ns);
    out->deadline_unix_ms = ms(job->deadline_ns);
    out->partitions = job->n_partitions;
    out->partitions_done = job->partitions_done;
    out->queue_wait_ms = job->times.queue_wait;
    out->srs_load_ms = job->times.key_load;
    out->synthesis_ms = job->times.witness;
    out->gpu_compute_ms = job->times.compute;
    out->total_ms = job->times.total;
    out->message = job->message;
}

void cuzk__rpc_await_message(Cuzk__V1__AwaitProofResponse *out, cuzk_engine_job *job,
                             const cuzk_buf *proof) {
    cuzk__v1__await_proof_response__init(out);
    out->job_id = job->id;
    out->error_message = job->message;
    out->queue_wait_ms = job->times.queue_wait;
    out->srs_load_ms = job->times.key_load;
    out->synthesis_ms = job->times.witness;
    out->gpu_compute_ms = job->times.compute;
    out->total_ms = job->times.total;
    switch (job->state) {
    case CUZK_ENGINE_DONE:
        out->status = CUZK__V1__AWAIT_PROOF_RESPONSE__STATUS__COMPLETED;
        if (proof) {
            out->proof.data = (uint8_t *)proof->data;
            out->proof.len = proof->len;
        }
        break;
    case CUZK_ENGINE_FAILED:
        out->status = CUZK__V1__AWAIT_PROOF_RESPONSE__STATUS__FAILED;
        break;
    case CUZK_ENGINE_CANCELLED:
        out->status = CUZK__V1__AWAIT_PROOF_RESPONSE__STATUS__CANCELLED;
        break;
    case CUZK_ENGINE_DEADLINE:
        out->status = CUZK__V1__AWAIT_PROOF_RESPONSE__STATUS__FAILED;
        out->deadline_passed = true;
        if (!job->message[0])
            out->error_message = text("the job's deadline passed before it was proved; submit it "
                                      "earlier, with a higher priority or a later deadline");
        break;
    default:
        out->status = CUZK__V1__AWAIT_PROOF_RESPONSE__STATUS__TIMEOUT;
        out->error_message = text("timeout_ms is over and the job goes on: call AwaitProof again, "
                                  "or CancelProof");
    }
}

static void put_device(Cuzk__V1__GPUStatus *g, uint32_t ordinal, cuzk_engine_device_status *d) {
    cuzk__v1__gpustatus__init(g);
    g->ordinal = ordinal;
    g->name = d->info.name;
    g->vram_total_bytes = d->info.memory_total ? d->info.memory_total : d->sched.memory_limit;
    g->vram_free_bytes = d->sched.memory_limit > d->sched.memory_used
                             ? d->sched.memory_limit - d->sched.memory_used
                             : 0;
    g->current_job_id = d->job_id;
    g->current_proof_kind = d->job_id[0] ? kind_name(d->kind) : text("");
    g->uuid = d->info.uuid;
    g->up = d->sched.up;
    g->quarantined = d->sched.quarantined;
    g->lent_bytes = d->sched.lent;
    g->busy_ms = ms(d->busy_ns);
    g->restarts = d->restarts;
    g->trouble = d->trouble;
}

static void put_key(Cuzk__V1__SRSStatus *k, cuzk_engine_key_status *from) {
    cuzk__v1__srsstatus__init(k);
    k->circuit_id = from->name;
    k->tier = from->device_mask ? CUZK__V1__SRSSTATUS__TIER__HOT
              : from->loaded    ? CUZK__V1__SRSSTATUS__TIER__WARM
                                : CUZK__V1__SRSSTATUS__TIER__COLD;
    k->size_bytes = from->size;
    k->ref_count = from->users;
}

static void put_totals(Cuzk__V1__GetStatusResponse *m, const cuzk_engine_status *s) {
    m->uptime_seconds = ms(s->now_ns - s->start_ns) / 1000;
    m->pinned_memory_bytes = s->sched.pinned_used;
    m->pinned_memory_limit_bytes = s->sched.pinned_limit;
    m->host_memory_bytes = s->sched.host_used;
    m->host_memory_limit_bytes = s->sched.host_limit;
    m->queue_depth = s->sched.jobs;
    m->draining = s->sched.draining;
    for (int k = 0; k < CUZK_ENGINE_KIND_COUNT; k++) {
        m->total_proofs_completed += s->completed[k];
        m->total_proofs_failed += s->failed[k];
    }
}

cuzk_status cuzk__rpc_make_status(cuzk__rpc_status_message *out, cuzk_engine_status *s,
                                  const char *version) {
    memset(out, 0, sizeof *out);
    Cuzk__V1__GetStatusResponse *m = &out->m;
    cuzk__v1__get_status_response__init(m);
    if (cuzk_alloc((void **)&out->gpus, s->n_devices, sizeof *out->gpus) != CUZK_OK ||
        cuzk_alloc((void **)&out->gpu_list, s->n_devices, sizeof *out->gpu_list) != CUZK_OK ||
        cuzk_alloc((void **)&out->keys, s->n_keys, sizeof *out->keys) != CUZK_OK ||
        cuzk_alloc((void **)&out->key_list, s->n_keys, sizeof *out->key_list) != CUZK_OK) {
        cuzk__rpc_free_status(out);
        return CUZK_STATUS_NO_MEMORY;
    }
    for (size_t i = 0; i < s->n_devices; i++) {
        put_device(&out->gpus[i], (uint32_t)i, &s->devices[i]);
        out->gpu_list[m->n_gpus++] = &out->gpus[i];
    }
    for (size_t i = 0; i < s->n_keys; i++) {
        if (!s->keys[i].present && !s->keys[i].loaded) continue;
        put_key(&out->keys[i], &s->keys[i]);
        out->key_list[m->n_loaded_srs++] = &out->keys[i];
    }
    for (int k = 1; k < CUZK_ENGINE_KIND_COUNT; k++) {
        Cuzk__V1__QueueStatus *q = &out->queues[k];
        cuzk__v1__queue_status__init(q);
        q->proof_kind = kind_name((cuzk_engine_kind)k);
        q->pending = (uint32_t)s->pending[k];
        q->in_progress = (uint32_t)s->running[k];
        out->queue_list[m->n_queues++] = q;
    }
    snprintf(out->version, sizeof out->version, "%s", version ? version : "");
    m->gpus = out->gpu_list;
    m->loaded_srs = out->key_list;
    m->queues = out->queue_list;
    m->version = out->version;
    put_totals(m, s);
    return CUZK_OK;
}

void cuzk__rpc_free_status(cuzk__rpc_status_message *m) {
    cuzk_free(m->gpus);
    cuzk_free(m->gpu_list);
    cuzk_free(m->keys);
    cuzk_free(m->key_list);
}
