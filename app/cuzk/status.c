/* `cuzk status`: the daemon, its jobs, one job. */
#include "cli.h"
#include "remote.h"
#include "verbs.h"

#include "base/mem.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static const char usage[] =
    "usage: cuzk status [OPTIONS]          the daemon: devices, keys, queues, memory\n"
    "       cuzk status [OPTIONS] JOB      one job, by its id or request id\n"
    "       cuzk status [OPTIONS] --jobs   the newest jobs\n"
    "       cuzk status [OPTIONS] --metrics   Prometheus' text\n"
    "\n"
    "  --limit N           of --jobs: so many (20)\n"
    "  --json              as JSON\n";
static const char example[] = "\nexample: cuzk status --addr proofs.example:9820 --tls --jobs\n";

enum { OPT_JOBS = CUZK_OPT_OWN, OPT_LIMIT, OPT_METRICS };

/* ---- the daemon ---- */

static const char *const tiers[] = {"on a device", "in memory", "on disk"};

static void put_device(cuzk_buf *out, const cuzk_rpc_device *d) {
    cuzk_buf_printf(out, "device %" PRIu32 ": %s  %s%s, ", d->ordinal, d->name,
                    d->up ? "up" : "down", d->quarantined ? ", in quarantine" : "");
    cuzk_remote_put_bytes(out, d->free);
    cuzk_buf_puts(out, " free of ");
    cuzk_remote_put_bytes(out, d->total);
    if (d->lent) {
        cuzk_buf_puts(out, ", lent ");
        cuzk_remote_put_bytes(out, d->lent);
    }
    if (*d->job_id) cuzk_buf_printf(out, ", %s of job %s", d->kind, d->job_id);
    if (d->restarts) cuzk_buf_printf(out, ", restarted %" PRIu32 " times", d->restarts);
    if (*d->trouble) cuzk_buf_printf(out, "\n          last trouble: %s", d->trouble);
    cuzk_buf_puts(out, "\n");
}

static void put_text(cuzk_buf *out, const cuzk_rpc_status *s) {
    cuzk_buf_printf(out, "cuzkd %s, up %" PRIu64 " s%s\n", s->version, s->uptime_s,
                    s->draining ? ", draining: no new jobs" : "");
    cuzk_buf_printf(out, "jobs: %" PRIu32 " now, %" PRIu64 " done, %" PRIu64 " failed\n", s->depth,
                    s->completed, s->failed);
    for (size_t i = 0; i < s->n_queues; i++)
        if (s->queues[i].pending || s->queues[i].running)
            cuzk_buf_printf(out, "  %s: %" PRIu32 " running, %" PRIu32 " waiting\n",
                            s->queues[i].kind, s->queues[i].running, s->queues[i].pending);
    cuzk_buf_puts(out, "memory: ");
    cuzk_remote_put_bytes(out, s->host);
    cuzk_buf_puts(out, " of ");
    cuzk_remote_put_bytes(out, s->host_limit);
    cuzk_buf_puts(out, ", pinned ");
    cuzk_remote_put_bytes(out, s->pinned);
    cuzk_buf_puts(out, " of ");
    cuzk_remote_put_bytes(out, s->pinned_limit);
    cuzk_buf_puts(out, "\n");
    for (size_t i = 0; i < s->n_devices; i++)
        put_device(out, &s->devices[i]);
    for (size_t i = 0; i < s->n_keys; i++) {
        const cuzk_rpc_key *k = &s->keys[i];
        cuzk_buf_printf(out, "key %s: ", k->name);
        cuzk_remote_put_bytes(out, k->size);
        cuzk_buf_printf(out, ", %s", k->tier >= 0 && k->tier < 3 ? tiers[k->tier] : "?");
        if (k->users) cuzk_buf_printf(out, ", in use by %" PRIu32, k->users);
        cuzk_buf_puts(out, "\n");
    }
}

static void put_member(cuzk_buf *out, const char *name, const char *text) {
    cuzk_buf_printf(out, "\"%s\":", name);
    cuzk_buf_json_str(out, text);
}

static void put_device_json(cuzk_buf *out, const cuzk_rpc_device *d) {
    cuzk_buf_printf(out, "{\"ordinal\":%" PRIu32 ",", d->ordinal);
    put_member(out, "name", d->name);
    cuzk_buf_puts(out, ",");
    put_member(out, "uuid", d->uuid);
    cuzk_buf_printf(out,
                    ",\"up\":%s,\"quarantined\":%s,\"vram_total_bytes\":%" PRIu64
                    ",\"vram_free_bytes\":%" PRIu64 ",\"lent_bytes\":%" PRIu64
                    ",\"busy_ms\":%" PRIu64 ",\"restarts\":%" PRIu32 ",",
                    d->up ? "true" : "false", d->quarantined ? "true" : "false", d->total, d->free,
                    d->lent, d->busy_ms, d->restarts);
    put_member(out, "current_job_id", d->job_id);
    cuzk_buf_puts(out, ",");
    put_member(out, "current_proof_kind", d->kind);
    cuzk_buf_puts(out, ",");
    put_member(out, "trouble", d->trouble);
    cuzk_buf_puts(out, "}");
}

static void put_json(cuzk_buf *out, const cuzk_rpc_status *s) {
    cuzk_buf_puts(out, "{");
    put_member(out, "version", s->version);
    cuzk_buf_printf(out,
                    ",\"uptime_seconds\":%" PRIu64 ",\"draining\":%s,\"queue_depth\":%" PRIu32
                    ",\"total_proofs_completed\":%" PRIu64 ",\"total_proofs_failed\":%" PRIu64
                    ",\"host_memory_bytes\":%" PRIu64 ",\"host_memory_limit_bytes\":%" PRIu64
                    ",\"pinned_memory_bytes\":%" PRIu64 ",\"pinned_memory_limit_bytes\":%" PRIu64
                    ",\"gpus\":[",
                    s->uptime_s, s->draining ? "true" : "false", s->depth, s->completed, s->failed,
                    s->host, s->host_limit, s->pinned, s->pinned_limit);
    for (size_t i = 0; i < s->n_devices; i++) {
        if (i) cuzk_buf_puts(out, ",");
        put_device_json(out, &s->devices[i]);
    }
    cuzk_buf_puts(out, "],\"keys\":[");
    for (size_t i = 0; i < s->n_keys; i++) {
        cuzk_buf_puts(out, i ? ",{" : "{");
        put_member(out, "name", s->keys[i].name);
        cuzk_buf_printf(out, ",\"tier\":%d,\"size_bytes\":%" PRIu64 ",\"ref_count\":%" PRIu32 "}",
                        s->keys[i].tier, s->keys[i].size, s->keys[i].users);
    }
    cuzk_buf_puts(out, "],\"queues\":[");
    for (size_t i = 0; i < s->n_queues; i++) {
        cuzk_buf_puts(out, i ? ",{" : "{");
        put_member(out, "proof_kind", s->queues[i].kind);
        cuzk_buf_printf(out, ",\"pending\":%" PRIu32 ",\"in_progress\":%" PRIu32 "}",
                        s->queues[i].pending, s->queues[i].running);
    }
    cuzk_buf_puts(out, "]}\n");
}

static cuzk_status show_daemon(cuzk_remote *r, cuzk_buf *out, cuzk_err *err) {
    cuzk_rpc_status *s;
    if (cuzk_alloc((void **)&s, 1, sizeof *s) != CUZK_OK)
        return cuzk_err_set(err, CUZK_STATUS_NO_MEMORY, "not enough memory");
    const cuzk_status st = cuzk_rpc_get_status(r->client, s, err);
    if (st == CUZK_OK && r->json)
        put_json(out, s);
    else if (st == CUZK_OK)
        put_text(out, s);
    cuzk_free(s);
    return st;
}

/* ---- jobs ---- */

static cuzk_status show_job(cuzk_remote *r, const char *id, cuzk_buf *out, cuzk_err *err) {
    cuzk_engine_job job;
    CUZK_TRY(cuzk_rpc_get(r->client, id, &job, err));
    if (!r->json) {
        cuzk_remote_put_job(out, &job);
        cuzk_buf_printf(out,
                        "  waited %" PRIu64 " ms, key %" PRIu64 " ms, witness %" PRIu64
                        " ms, device %" PRIu64 " ms (sums over partitions)\n",
                        job.times.queue_wait, job.times.key_load, job.times.witness,
                        job.times.compute);
        return CUZK_OK;
    }
    cuzk_rpc_job_json(out, &job);
    cuzk_buf_puts(out, "\n");
    return CUZK_OK;
}

static cuzk_status show_jobs(cuzk_remote *r, size_t limit, cuzk_buf *out, cuzk_err *err) {
    cuzk_engine_job *jobs;
    size_t n = limit;
    if (cuzk_alloc((void **)&jobs, n, sizeof *jobs) != CUZK_OK)
        return cuzk_err_set(err, CUZK_STATUS_NO_MEMORY, "not enough memory");
    const cuzk_status st = cuzk_rpc_list(r->client, jobs, &n, err);
    if (st == CUZK_OK && r->json) {
        cuzk_buf_puts(out, "{\"jobs\":[");
        for (size_t i = 0; i < n; i++) {
            if (i) cuzk_buf_puts(out, ",");
            cuzk_rpc_job_json(out, &jobs[i]);
        }
        cuzk_buf_puts(out, "]}\n");
    } else if (st == CUZK_OK) {
        for (size_t i = 0; i < n; i++)
            cuzk_remote_put_job(out, &jobs[i]);
        if (n == 0) cuzk_buf_puts(out, "no jobs\n");
    }
    cuzk_free(jobs);
    return st;
}

int cuzk_cmd_status(int argc, char **argv) {
    static const struct option longs[] = {CUZK_REMOTE_LONGS,
                                          CUZK_COMMON_LONGS,
                                          {"jobs", no_argument, NULL, OPT_JOBS},
                                          {"metrics", no_argument, NULL, OPT_METRICS},
                                          {"limit", required_argument, NULL, OPT_LIMIT},
                                          {NULL, 0, NULL, 0}};
    cuzk_remote r = {.verb = "status"};
    cuzk_err err = {0};
    cuzk_buf out = CUZK_BUF_INIT;
    bool jobs = false, metrics = false;
    uint64_t limit = 20;
    int c;
    opterr = 0;
    while ((c = getopt_long(argc, argv, ":h", longs, NULL)) != -1) {
        if (c == 'h' || c == CUZK_OPT_HELP) {
            fputs(usage, stdout);
            fputs(cuzk_remote_help, stdout);
            return cuzk_cli_help("status", example);
        }
        if (cuzk_remote_option(&r, c, optarg)) continue;
        if (c == OPT_JOBS)
            jobs = true;
        else if (c == OPT_METRICS)
            metrics = true;
        else if (c != OPT_LIMIT)
            return cuzk_cli_bad_option("status", c, argv);
        else if (!cuzk_cli_number(optarg, 1, 1000, &limit))
            return cuzk_cli_usage("status", "--limit %s: a number from 1 to 1000", optarg);
    }
    const int words = argc - optind;
    if (words + jobs + metrics > 1)
        return cuzk_cli_usage("status", "takes one of JOB, --jobs and --metrics");
    cuzk_status st = cuzk_remote_open(&r, &err);
    if (st == CUZK_OK) {
        if (words)
            st = show_job(&r, argv[optind], &out, &err);
        else if (jobs)
            st = show_jobs(&r, (size_t)limit, &out, &err);
        else if (metrics)
            st = cuzk_rpc_metrics(r.client, &out, &err);
        else
            st = show_daemon(&r, &out, &err);
    }
    return cuzk_remote_finish(&r, st, &out, &err);
}
