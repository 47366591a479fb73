/* GET /metrics and GetMetrics: Prometheus' text format. The first block has the names of Curio's
 * engine, and what it means by them. */
#include "base/mem.h"
#include "rpc/internal.h"

#include <string.h>

typedef unsigned long long ull;

static const char *const kind_names[CUZK_ENGINE_KIND_COUNT] = {
#define CUZK__NAME(name, text) text,
    CUZK_ENGINE_KINDS(CUZK__NAME)
#undef CUZK__NAME
};

static void family(cuzk_buf *b, const char *name, const char *type, const char *help) {
    cuzk_buf_printf(b, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, type);
}

static void number(cuzk_buf *b, const char *name, const char *type, const char *help, uint64_t v) {
    family(b, name, type, help);
    cuzk_buf_printf(b, "%s %llu\n", name, (ull)v);
}

static void seconds(cuzk_buf *b, const char *name, const char *type, const char *help, int64_t ns) {
    family(b, name, type, help);
    cuzk_buf_printf(b, "%s %.3f\n", name, (double)ns / 1e9);
}

static void by_kind(cuzk_buf *b, const char *name, const char *type, const char *help,
                    const uint64_t *v) {
    family(b, name, type, help);
    for (int k = 1; k < CUZK_ENGINE_KIND_COUNT; k++)
        cuzk_buf_printf(b, "%s{proof_kind=\"%s\"} %llu\n", name, kind_names[k], (ull)v[k]);
}

/* A label's value: backslash, quote and newline are escaped, other control characters and what is
 * no UTF-8 become '?'. */
static void label(cuzk_buf *b, const char *text) {
    const bool good = cuzk__rpc_is_utf8((const uint8_t *)text, strlen(text));
    for (const char *p = text; *p; p++) {
        if (*p == '\\' || *p == '"')
            cuzk_buf_printf(b, "\\%c", *p);
        else if (*p == '\n')
            cuzk_buf_puts(b, "\\n");
        else if ((unsigned char)*p < 0x20 || (!good && (unsigned char)*p >= 0x80))
            cuzk_buf_puts(b, "?");
        else
            cuzk_buf_append(b, p, 1);
    }
}

static uint64_t sum(const uint64_t *v) {
    uint64_t n = 0;
    for (int k = 0; k < CUZK_ENGINE_KIND_COUNT; k++)
        n += v[k];
    return n;
}

static void known_names(cuzk_buf *b, const cuzk_engine_status *s) {
    double total = 0;
    number(b, "cuzk_proofs_completed_total", "counter", "Jobs that ended with a verified proof.",
           sum(s->completed));
    number(b, "cuzk_proofs_failed_total", "counter", "Jobs that failed or passed their deadline.",
           sum(s->failed));
    seconds(b, "cuzk_uptime_seconds", "gauge", "Since the engine started.",
            s->now_ns - s->start_ns);
    number(b, "cuzk_queue_depth", "gauge", "Jobs accepted that have not begun.", sum(s->pending));
    by_kind(b, "cuzk_proofs_completed", "gauge", "Jobs with a verified proof, by kind.",
            s->completed);
    by_kind(b, "cuzk_proofs_failed", "gauge", "Jobs that failed, by kind.", s->failed);
    for (int k = 0; k < CUZK_ENGINE_KIND_COUNT; k++)
        total += s->seconds_sum[k];
    family(b, "cuzk_proof_duration_seconds", "summary",
           "From submission to proof, of jobs since the start.");
    cuzk_buf_printf(b, "cuzk_proof_duration_seconds_sum %.3f\n", total);
    cuzk_buf_printf(b, "cuzk_proof_duration_seconds_count %llu\n", (ull)sum(s->seconds_count));
    number(b, "cuzk_running_jobs", "gauge", "Jobs that have begun and not ended.", sum(s->running));
    number(b, "cuzk_gpu_workers", "gauge", "Workers of all devices.",
           (uint64_t)s->n_devices * s->workers_per_device);
}

static void queues(cuzk_buf *b, const cuzk_engine_status *s) {
    by_kind(b, "cuzk_jobs_pending", "gauge", "Jobs that have not begun, by kind.", s->pending);
    by_kind(b, "cuzk_jobs_running", "gauge", "Jobs under way, by kind.", s->running);
    by_kind(b, "cuzk_jobs_cancelled_total", "counter", "Jobs that were cancelled.", s->cancelled);
    family(b, "cuzk_job_duration_seconds", "summary", "From submission to proof, by kind.");
    for (int k = 1; k < CUZK_ENGINE_KIND_COUNT; k++) {
        cuzk_buf_printf(b, "cuzk_job_duration_seconds_sum{proof_kind=\"%s\"} %.3f\n", kind_names[k],
                        s->seconds_sum[k]);
        cuzk_buf_printf(b, "cuzk_job_duration_seconds_count{proof_kind=\"%s\"} %llu\n",
                        kind_names[k], (ull)s->seconds_count[k]);
    }
    number(b, "cuzk_jobs_limit", "gauge", "Jobs that may be accepted at a time; 0: not told.",
           s->max_jobs);
    number(b, "cuzk_jobs_refused_total", "counter", "Submissions that were refused.", s->refused);
    number(b, "cuzk_draining", "gauge", "1 while no new jobs are taken.", s->sched.draining);
    number(b, "cuzk_partitions_completed_total", "counter", "Partitions proved and verified.",
           s->partitions_done);
    number(b, "cuzk_partition_retries_total", "counter", "Stages that were tried again.",
           s->retries);
    number(b, "cuzk_partitions_queued", "gauge", "Partitions that wait for a witness worker.",
           s->sched.queued);
    number(b, "cuzk_partitions_ready", "gauge", "Witnesses that wait for a device.",
           s->sched.ready);
    family(b, "cuzk_partitions_running", "gauge", "Partitions in each stage.");
    for (int i = CUZK_STAGE_WITNESS; i <= CUZK_STAGE_ASSEMBLE; i++)
        cuzk_buf_printf(b, "cuzk_partitions_running{stage=\"%s\"} %u\n",
                        cuzk_sched_stage_name((cuzk_sched_stage)i), s->sched.running[i]);
    number(b, "cuzk_witness_workers", "gauge", "Threads that make witnesses.", s->witness_workers);
    number(b, "cuzk_witness_workers_busy", "gauge", "Of them, those that are at it.",
           s->sched.running[CUZK_STAGE_WITNESS]);
    number(b, "cuzk_witness_paused", "gauge",
           "1 while witness workers wait for the ready queue to drain.", s->sched.witness_paused);
}

static void memory(cuzk_buf *b, const cuzk_engine_status *s) {
    family(b, "cuzk_memory_used_bytes", "gauge", "Reserved from the budget, by kind of memory.");
    cuzk_buf_printf(b, "cuzk_memory_used_bytes{kind=\"host\"} %llu\n", (ull)s->sched.host_used);
    cuzk_buf_printf(b, "cuzk_memory_used_bytes{kind=\"pinned\"} %llu\n", (ull)s->sched.pinned_used);
    family(b, "cuzk_memory_limit_bytes", "gauge", "The budget.");
    cuzk_buf_printf(b, "cuzk_memory_limit_bytes{kind=\"host\"} %llu\n", (ull)s->sched.host_limit);
    cuzk_buf_printf(b, "cuzk_memory_limit_bytes{kind=\"pinned\"} %llu\n",
                    (ull)s->sched.pinned_limit);
    number(b, "cuzk_resident_memory_bytes", "gauge", "Resident size of the engine's process.",
           s->rss);
    number(b, "cuzk_journal_spool_bytes", "gauge", "Payloads and results on disk.", s->spool_used);
}

/* One gauge or counter of every device. */
typedef struct device_family {
    const char *name, *type, *help;
    uint64_t (*value)(const cuzk_engine_device_status *d);
} device_family;

static uint64_t dev_up(const cuzk_engine_device_status *d) {
    return d->sched.up && !d->sched.quarantined;
}
static uint64_t dev_quarantined(const cuzk_engine_device_status *d) {
    return d->sched.quarantined;
}
static uint64_t dev_faults(const cuzk_engine_device_status *d) {
    return d->sched.faults;
}
static uint64_t dev_restarts(const cuzk_engine_device_status *d) {
    return d->restarts;
}
static uint64_t dev_slots(const cuzk_engine_device_status *d) {
    return d->sched.slots_busy;
}
static uint64_t dev_computing(const cuzk_engine_device_status *d) {
    return d->job_id[0] != '\0';
}
static uint64_t dev_used(const cuzk_engine_device_status *d) {
    return d->sched.memory_used;
}
static uint64_t dev_limit(const cuzk_engine_device_status *d) {
    return d->sched.memory_limit;
}
static uint64_t dev_lent(const cuzk_engine_device_status *d) {
    return d->sched.lent;
}

static const device_family device_families[] = {
    {"cuzk_device_up", "gauge", "1 when the device takes work.", dev_up},
    {"cuzk_device_quarantined", "gauge", "1 when it is set aside after faults.", dev_quarantined},
    {"cuzk_device_faults", "gauge", "Faults not yet made good.", dev_faults},
    {"cuzk_device_worker_restarts_total", "counter", "Times its worker process was started again.",
     dev_restarts},
    {"cuzk_device_slots_busy", "gauge", "Partitions that are staged or compute there.", dev_slots},
    {"cuzk_device_computing", "gauge", "1 while its gate is held.", dev_computing},
    {"cuzk_device_memory_used_bytes", "gauge", "Reserved of its memory.", dev_used},
    {"cuzk_device_memory_limit_bytes", "gauge", "Its memory for proving.", dev_limit},
    {"cuzk_device_memory_lent_bytes", "gauge", "Lent to other programs.", dev_lent},
};

static void device_labels(cuzk_buf *b, const char *name, size_t i,
                          const cuzk_engine_device_status *d) {
    cuzk_buf_printf(b, "%s{device=\"%zu\",uuid=\"", name, i);
    label(b, d->info.uuid);
    cuzk_buf_puts(b, "\"");
}

static void ledger_row(cuzk_buf *b, size_t i, const cuzk_engine_device_status *d, const char *way,
                       const char *pinned, uint64_t bytes) {
    device_labels(b, "cuzk_transfer_bytes_total", i, d);
    cuzk_buf_printf(b, ",direction=\"%s\",memory=\"%s\"} %llu\n", way, pinned, (ull)bytes);
}

static void devices(cuzk_buf *b, const cuzk_engine_status *s) {
    if (s->n_devices == 0) return;
    for (size_t f = 0; f < sizeof device_families / sizeof device_families[0]; f++) {
        const device_family *d = &device_families[f];
        family(b, d->name, d->type, d->help);
        for (size_t i = 0; i < s->n_devices; i++) {
            device_labels(b, d->name, i, &s->devices[i]);
            cuzk_buf_printf(b, "} %llu\n", (ull)d->value(&s->devices[i]));
        }
    }
    family(b, "cuzk_device_busy_seconds_total", "counter", "Time that its gate was held.");
    for (size_t i = 0; i < s->n_devices; i++) {
        device_labels(b, "cuzk_device_busy_seconds_total", i, &s->devices[i]);
        cuzk_buf_printf(b, "} %.3f\n", (double)s->devices[i].busy_ns / 1e9);
    }
    family(b, "cuzk_device_kernel_seconds_total", "counter",
           "Time that kernels ran, as the device says.");
    for (size_t i = 0; i < s->n_devices; i++) {
        device_labels(b, "cuzk_device_kernel_seconds_total", i, &s->devices[i]);
        cuzk_buf_printf(b, "} %.3f\n", (double)s->devices[i].moved.device_ns / 1e9);
    }
    family(b, "cuzk_transfer_bytes_total", "counter",
           "Bytes moved between host and device, by kind of host memory.");
    for (size_t i = 0; i < s->n_devices; i++) {
        const cuzk_engine_device_status *d = &s->devices[i];
        ledger_row(b, i, d, "to_device", "pinned", d->moved.in_pinned);
        ledger_row(b, i, d, "to_device", "pageable", d->moved.in_pageable);
        ledger_row(b, i, d, "to_host", "pinned", d->moved.out_pinned);
        ledger_row(b, i, d, "to_host", "pageable", d->moved.out_pageable);
    }
    family(b, "cuzk_transfer_in_gate_bytes_total", "counter",
           "Of them, those moved while the gate was held.");
    for (size_t i = 0; i < s->n_devices; i++) {
        device_labels(b, "cuzk_transfer_in_gate_bytes_total", i, &s->devices[i]);
        cuzk_buf_printf(b, "} %llu\n", (ull)s->devices[i].moved.in_gate);
    }
}

static void keys(cuzk_buf *b, const cuzk_engine_status *s) {
    uint64_t loaded = 0, bytes = 0;
    for (size_t i = 0; i < s->n_keys; i++) {
        loaded += s->keys[i].loaded;
        bytes += s->keys[i].loaded ? s->keys[i].host_bytes : 0;
    }
    number(b, "cuzk_keys_loaded", "gauge", "Keys in host memory.", loaded);
    number(b, "cuzk_keys_host_bytes", "gauge", "What they take of it.", bytes);
    if (s->n_keys == 0) return;
    family(b, "cuzk_key_users", "gauge", "Partitions that use a key.");
    for (size_t i = 0; i < s->n_keys; i++) {
        cuzk_buf_puts(b, "cuzk_key_users{key=\"");
        label(b, s->keys[i].name);
        cuzk_buf_printf(b, "\"} %u\n", s->keys[i].users);
    }
    family(b, "cuzk_key_load_seconds", "gauge", "How long a key took to load; 0: not loaded yet.");
    for (size_t i = 0; i < s->n_keys; i++) {
        cuzk_buf_puts(b, "cuzk_key_load_seconds{key=\"");
        label(b, s->keys[i].name);
        cuzk_buf_printf(b, "\"} %.3f\n", (double)s->keys[i].load_ns / 1e9);
    }
}

static void network(cuzk_buf *b, const cuzk_grpc_stats *g) {
    number(b, "cuzk_grpc_connections", "gauge", "Connections of the gRPC interface.",
           g->connections);
    number(b, "cuzk_grpc_connections_total", "counter", "Connections accepted.",
           g->connections_total);
    number(b, "cuzk_grpc_connections_refused_total", "counter", "Connections refused.",
           g->connections_refused);
    number(b, "cuzk_grpc_calls", "gauge", "Calls that run.", g->calls);
    number(b, "cuzk_grpc_calls_total", "counter", "Calls that began.", g->calls_total);
    number(b, "cuzk_grpc_calls_failed_total", "counter", "Calls that ended with a code but OK.",
           g->calls_failed);
    number(b, "cuzk_grpc_request_bytes", "gauge", "Memory of requests.", g->request_bytes);
    family(b, "cuzk_grpc_bytes_total", "counter", "Bytes received and sent.");
    cuzk_buf_printf(b, "cuzk_grpc_bytes_total{direction=\"in\"} %llu\n", (ull)g->bytes_in);
    cuzk_buf_printf(b, "cuzk_grpc_bytes_total{direction=\"out\"} %llu\n", (ull)g->bytes_out);
}

void cuzk_rpc_metrics_text(cuzk_buf *out, const cuzk_engine_status *s, const cuzk_grpc_stats *grpc,
                           const char *version) {
    known_names(out, s);
    queues(out, s);
    memory(out, s);
    devices(out, s);
    keys(out, s);
    if (grpc) network(out, grpc);
    family(out, "cuzk_build_info", "gauge", "The engine's version; always 1.");
    cuzk_buf_puts(out, "cuzk_build_info{version=\"");
    label(out, version ? version : "");
    cuzk_buf_puts(out, "\"} 1\n");
}

cuzk_status cuzk__rpc_metrics(cuzk_rpc *r, cuzk_buf *out, cuzk_err *err) {
    cuzk_engine_status *s = NULL;
    cuzk_grpc_stats g;
    CUZK_TRY(cuzk_engine_snapshot(r->engine, &s, err));
    cuzk_grpc_server_stats(r->grpc, &g);
    cuzk_rpc_metrics_text(out, s, &g, r->config.version);
    cuzk_free(s);
    if (cuzk_buf_status(out) == CUZK_OK) return CUZK_OK;
    return cuzk_err_set(err, CUZK_STATUS_NO_MEMORY, "not enough memory for the metrics");
}
