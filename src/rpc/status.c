/* GET /status: first the members of Curio's engine, then ours. */
#include "rpc/internal.h"

#include <string.h>

typedef unsigned long long ull;

static const char *const kind_names[CUZK_ENGINE_KIND_COUNT] = {
#define CUZK__NAME(name, text) text,
    CUZK_ENGINE_KINDS(CUZK__NAME)
#undef CUZK__NAME
};

/* Writes members and items with commas between them. */
static void comma(cuzk_buf *b) {
    const char last = b->len ? b->data[b->len - 1] : '{';
    if (last != '{' && last != '[') cuzk_buf_puts(b, ",");
}

static void key(cuzk_buf *b, const char *name) {
    comma(b);
    cuzk_buf_printf(b, "\"%s\":", name);
}

static void num(cuzk_buf *b, const char *name, uint64_t v) {
    key(b, name);
    cuzk_buf_printf(b, "%llu", (ull)v);
}

static void secs(cuzk_buf *b, const char *name, int64_t ns) {
    key(b, name);
    cuzk_buf_printf(b, "%.3f", ns > 0 ? (double)ns / 1e9 : 0.0);
}

static void flag(cuzk_buf *b, const char *name, bool v) {
    key(b, name);
    cuzk_buf_puts(b, v ? "true" : "false");
}

static void str(cuzk_buf *b, const char *name, const char *v) {
    key(b, name);
    cuzk__rpc_json(b, v);
}

static void enter(cuzk_buf *b, const char *name, const char *bracket) {
    key(b, name);
    cuzk_buf_puts(b, bracket);
}

static void leave(cuzk_buf *b, const char *bracket) {
    cuzk_buf_puts(b, bracket);
}

static const char *kind_name(cuzk_engine_kind kind) {
    return kind_names[kind < CUZK_ENGINE_KIND_COUNT ? kind : CUZK_ENGINE_UNSPECIFIED];
}

static uint64_t ms(int64_t ns) {
    return ns > 0 ? (uint64_t)ns / 1000000 : 0;
}

/* ---- jobs ---- */

static const char *const priorities[] = {"", "low", "normal", "high", "critical"};

static void moved(cuzk_buf *b, const cuzk_engine_moved *m) {
    enter(b, "moved_bytes", "{");
    num(b, "to_device_pinned", m->in_pinned);
    num(b, "to_device_pageable", m->in_pageable);
    num(b, "to_host_pinned", m->out_pinned);
    num(b, "to_host_pageable", m->out_pageable);
    num(b, "in_gate", m->in_gate);
    leave(b, "}");
}

static bool moved_any(const cuzk_engine_moved *m) {
    return m->in_pinned || m->in_pageable || m->out_pinned || m->out_pageable;
}

static void job_members(cuzk_buf *b, const cuzk_engine_job *j) {
    str(b, "job_id", j->id);
    if (j->request_id[0]) str(b, "request_id", j->request_id);
    str(b, "proof_kind", kind_name(j->kind));
    str(b, "state", cuzk_engine_state_name(j->state));
    str(b, "priority", priorities[j->priority >= 1 && j->priority <= 4 ? j->priority : 0]);
    str(b, "key", j->key);
    str(b, "client", j->client);
    num(b, "total_partitions", j->n_partitions);
    num(b, "partitions_done", j->partitions_done);
    num(b, "submitted_unix_ms", ms(j->submitted_ns));
    if (j->ended_ns) num(b, "ended_unix_ms", ms(j->ended_ns));
    if (j->deadline_ns) num(b, "deadline_unix_ms", ms(j->deadline_ns));
    enter(b, "times_ms", "{");
    num(b, "queue_wait", j->times.queue_wait);
    num(b, "srs_load", j->times.key_load);
    num(b, "synthesis", j->times.witness);
    num(b, "gpu_compute", j->times.compute);
    num(b, "total", j->times.total);
    leave(b, "}");
    if (moved_any(&j->moved)) moved(b, &j->moved);
    if (j->message[0]) str(b, "message", j->message);
}

void cuzk_rpc_job_json(cuzk_buf *out, const cuzk_engine_job *job) {
    cuzk_buf_puts(out, "{");
    job_members(out, job);
    cuzk_buf_puts(out, "}");
}

/* What Curio's status calls a partition's state, and our stage beside it. */
static void partition(cuzk_buf *b, uint32_t index, const cuzk_engine_partition_status *p) {
    const char *state, *stage;
    switch (p->stage) {
    case CUZK_STAGE_WITNESS:
        state = "synthesizing";
        break;
    case CUZK_STAGE_STAGE:
        state = "synth_done";
        break;
    case CUZK_STAGE_COMPUTE:
    case CUZK_STAGE_FINISH:
    case CUZK_STAGE_VERIFY:
    case CUZK_STAGE_ASSEMBLE:
        state = "gpu";
        break;
    case CUZK_STAGES:
        state = "done";
        break;
    default: /* waits: for a witness worker, or with its witness for a device */
        state = p->witness_ms ? "synth_done" : "pending";
    }
    stage = p->stage < CUZK_STAGES ? cuzk_sched_stage_name((cuzk_sched_stage)p->stage) : "done";
    if (p->stage == CUZK_STAGE_QUEUE) stage = p->witness_ms ? "ready" : "queue";
    comma(b);
    cuzk_buf_puts(b, "{");
    num(b, "index", index);
    str(b, "state", p->failed ? "failed" : state);
    num(b, "synth_ms", p->witness_ms);
    num(b, "gpu_ms", p->compute_ms);
    str(b, "stage", stage);
    if (p->device != CUZK_SCHED_NONE) num(b, "device", p->device);
    if (moved_any(&p->moved)) moved(b, &p->moved);
    leave(b, "}");
}

static void pipelines(cuzk_buf *b, const cuzk_engine_status *s) {
    enter(b, "pipelines", "[");
    for (size_t i = 0; i < s->n_jobs; i++) {
        const cuzk_engine_live_job *l = &s->jobs[i];
        comma(b);
        cuzk_buf_puts(b, "{");
        job_members(b, &l->job);
        secs(b, "started_secs_ago", s->wall_ns - l->job.submitted_ns);
        enter(b, "partitions", "[");
        for (uint32_t p = 0; p < l->job.n_partitions && p < CUZK_SCHED_MAX_PARTITIONS; p++)
            partition(b, p, &l->partitions[p]);
        leave(b, "]}");
    }
    leave(b, "]");
}

/* ---- devices and keys ---- */

/* One row a device: Curio's engine has one a worker, of which at most one computes. */
static void gpu_workers(cuzk_buf *b, const cuzk_engine_status *s) {
    enter(b, "gpu_workers", "[");
    for (size_t i = 0; i < s->n_devices; i++) {
        const cuzk_engine_device_status *d = &s->devices[i];
        comma(b);
        cuzk_buf_puts(b, "{");
        num(b, "worker_id", i);
        num(b, "gpu_ordinal", i);
        str(b, "state", d->job_id[0] ? "proving" : "idle");
        key(b, "current_job");
        if (d->job_id[0])
            cuzk__rpc_json(b, d->job_id);
        else
            cuzk_buf_puts(b, "null");
        key(b, "current_partition");
        if (d->job_id[0])
            cuzk_buf_printf(b, "%u", d->partition);
        else
            cuzk_buf_puts(b, "null");
        secs(b, "busy_secs", d->busy_ns);
        leave(b, "}");
    }
    leave(b, "]");
}

static void device(cuzk_buf *b, size_t i, const cuzk_engine_device_status *d) {
    comma(b);
    cuzk_buf_puts(b, "{");
    num(b, "ordinal", i);
    str(b, "name", d->info.name);
    str(b, "uuid", d->info.uuid);
    flag(b, "up", d->sched.up);
    flag(b, "quarantined", d->sched.quarantined);
    num(b, "faults", d->sched.faults);
    num(b, "restarts", d->restarts);
    str(b, "trouble", d->trouble);
    num(b, "slots_busy", d->sched.slots_busy);
    num(b, "memory_used_bytes", d->sched.memory_used);
    num(b, "memory_limit_bytes", d->sched.memory_limit);
    num(b, "memory_lent_bytes", d->sched.lent);
    num(b, "memory_total_bytes", d->info.memory_total);
    secs(b, "busy_secs", d->busy_ns);
    enter(b, "proof_kinds", "[");
    for (int k = 1; k < CUZK_ENGINE_KIND_COUNT; k++) {
        if (d->kinds && !(d->kinds >> k & 1)) continue;
        comma(b);
        cuzk__rpc_json(b, kind_names[k]);
    }
    leave(b, "]");
    if (d->job_id[0]) {
        enter(b, "current", "{");
        str(b, "job_id", d->job_id);
        str(b, "proof_kind", kind_name(d->kind));
        num(b, "partition", d->partition);
        leave(b, "}");
    }
    moved(b, &d->moved);
    leave(b, "}");
}

static void allocations(cuzk_buf *b, const cuzk_engine_status *s) {
    enter(b, "allocations", "{");
    enter(b, "srs", "[");
    for (size_t i = 0; i < s->n_keys; i++) {
        const cuzk_engine_key_status *k = &s->keys[i];
        if (!k->loaded) continue;
        comma(b);
        cuzk_buf_puts(b, "{");
        str(b, "circuit_id", k->name);
        num(b, "bytes", k->host_bytes);
        secs(b, "last_used_secs_ago", k->last_used_ns ? s->now_ns - k->last_used_ns : 0);
        flag(b, "evictable", k->users == 0);
        leave(b, "}");
    }
    leave(b, "]");
    enter(b, "pce", "[]"); /* constraint systems are part of their keys here */
    leave(b, "}");
}

static void keys(cuzk_buf *b, const cuzk_engine_status *s) {
    enter(b, "keys", "[");
    for (size_t i = 0; i < s->n_keys; i++) {
        const cuzk_engine_key_status *k = &s->keys[i];
        comma(b);
        cuzk_buf_puts(b, "{");
        str(b, "name", k->name);
        str(b, "state",
            k->loading   ? "loading"
            : k->loaded  ? "loaded"
            : k->present ? "on disk"
                         : "missing");
        num(b, "size_bytes", k->size);
        num(b, "host_bytes", k->loaded ? k->host_bytes : 0);
        num(b, "users", k->users);
        secs(b, "load_secs", k->load_ns);
        enter(b, "devices", "[");
        for (unsigned d = 0; d < CUZK_ENGINE_MAX_DEVICES; d++) {
            if (!(k->device_mask >> d & 1)) continue;
            comma(b);
            cuzk_buf_printf(b, "%u", d);
        }
        leave(b, "]}");
    }
    leave(b, "]");
}

/* ---- figures ---- */

static uint64_t sum(const uint64_t *v) {
    uint64_t n = 0;
    for (int k = 0; k < CUZK_ENGINE_KIND_COUNT; k++)
        n += v[k];
    return n;
}

static void by_kind(cuzk_buf *b, const char *name, const uint64_t *v) {
    enter(b, name, "{");
    for (int k = 1; k < CUZK_ENGINE_KIND_COUNT; k++)
        num(b, kind_names[k], v[k]);
    leave(b, "}");
}

static void memory(cuzk_buf *b, const cuzk_sched_stats *s, uint64_t rss) {
    enter(b, "memory", "{");
    num(b, "total_bytes", s->host_limit);
    num(b, "used_bytes", s->host_used);
    num(b, "available_bytes", s->host_limit > s->host_used ? s->host_limit - s->host_used : 0);
    num(b, "pinned_used_bytes", s->pinned_used);
    num(b, "pinned_limit_bytes", s->pinned_limit);
    num(b, "resident_bytes", rss);
    leave(b, "}");
}

static void counters(cuzk_buf *b, const cuzk_engine_status *s) {
    enter(b, "counters", "{");
    num(b, "total_completed", sum(s->completed));
    num(b, "total_failed", sum(s->failed));
    by_kind(b, "completed_by_kind", s->completed);
    by_kind(b, "failed_by_kind", s->failed);
    num(b, "queue_depth", sum(s->pending));
    num(b, "live_jobs", s->sched.jobs);
    num(b, "total_cancelled", sum(s->cancelled));
    by_kind(b, "cancelled_by_kind", s->cancelled);
    num(b, "partitions_done", s->partitions_done);
    num(b, "retries", s->retries);
    num(b, "refused", s->refused);
    leave(b, "}");
}

static void queue_rows(cuzk_buf *b, const cuzk_engine_status *s) {
    enter(b, "queues", "[");
    for (int k = 1; k < CUZK_ENGINE_KIND_COUNT; k++) {
        comma(b);
        cuzk_buf_puts(b, "{");
        str(b, "proof_kind", kind_names[k]);
        num(b, "pending", s->pending[k]);
        num(b, "in_progress", s->running[k]);
        num(b, "completed", s->completed[k]);
        num(b, "failed", s->failed[k]);
        key(b, "mean_secs");
        cuzk_buf_printf(b, "%.3f",
                        s->seconds_count[k] ? s->seconds_sum[k] / (double)s->seconds_count[k] : 0);
        leave(b, "}");
    }
    leave(b, "]");
}

/* Curio's counts of what is under way, where they have a meaning here. */
static void buffers(cuzk_buf *b, const cuzk_sched_stats *s) {
    const uint32_t finishing = s->running[CUZK_STAGE_FINISH] + s->running[CUZK_STAGE_VERIFY];
    enter(b, "buffers", "{");
    num(b, "synth_in_flight", s->running[CUZK_STAGE_WITNESS]);
    num(b, "provers_in_flight", s->running[CUZK_STAGE_STAGE] + s->running[CUZK_STAGE_COMPUTE]);
    num(b, "aux_in_flight", s->ready);
    num(b, "shells_in_flight", s->running[CUZK_STAGE_ASSEMBLE]);
    num(b, "pending_handles", finishing);
    leave(b, "}");
}

void cuzk_rpc_status_json(cuzk_buf *out, const cuzk_engine_status *s, const char *version) {
    cuzk_buf *b = out;
    cuzk_buf_puts(b, "{");
    secs(b, "uptime_secs", s->now_ns - s->start_ns);
    memory(b, &s->sched, s->rss);
    enter(b, "synthesis", "{");
    num(b, "max_concurrent", s->witness_workers);
    num(b, "active", s->sched.running[CUZK_STAGE_WITNESS]);
    flag(b, "paused", s->sched.witness_paused);
    leave(b, "}");
    pipelines(b, s);
    gpu_workers(b, s);
    allocations(b, s);
    counters(b, s);
    buffers(b, &s->sched);

    str(b, "version", version ? version : "");
    num(b, "now_unix_ms", ms(s->wall_ns));
    flag(b, "draining", s->sched.draining);
    num(b, "jobs_limit", s->max_jobs);
    num(b, "workers_per_device", s->workers_per_device);
    enter(b, "partitions", "{");
    num(b, "queued", s->sched.queued);
    num(b, "ready", s->sched.ready);
    for (int i = CUZK_STAGE_WITNESS; i <= CUZK_STAGE_ASSEMBLE; i++)
        num(b, cuzk_sched_stage_name((cuzk_sched_stage)i), s->sched.running[i]);
    leave(b, "}");
    queue_rows(b, s);
    enter(b, "devices", "[");
    for (size_t i = 0; i < s->n_devices; i++)
        device(b, i, &s->devices[i]);
    leave(b, "]");
    keys(b, s);
    enter(b, "journal", "{");
    num(b, "spool_bytes", s->spool_used);
    leave(b, "}}");
}
