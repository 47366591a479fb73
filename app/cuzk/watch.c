/* `cuzk watch`: what happens in a daemon, as it happens. */
#include "cli.h"
#include "remote.h"
#include "verbs.h"

#include "base/units.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static const char usage[] =
    "usage: cuzk watch [OPTIONS]           changes of all jobs, and the daemon's state\n"
    "       cuzk watch [OPTIONS] JOB       one job, until it ends\n"
    "\n"
    "A line for each change, until it is interrupted; on a terminal the last line is the state.\n"
    "\n"
    "  --interval TIME     of the daemon's state (1s)\n"
    "  --json              a JSON object a line\n";
static const char example[] = "\nexample: cuzk watch --json | jq -c 'select(.job)'\n";

enum { OPT_INTERVAL = CUZK_OPT_OWN };

typedef struct watcher {
    const cuzk_remote *remote;
    bool tty, drawn, alone;
} watcher;

/* Writes a line; false when nobody reads it. */
static bool emit(cuzk_buf *line) {
    const bool ok = cuzk_buf_status(line) == CUZK_OK &&
                    fwrite(line->data, 1, line->len, stdout) == line->len && fflush(stdout) == 0;
    cuzk_buf_free(line);
    return ok;
}

static bool show_job(watcher *w, const cuzk_engine_job *job) {
    cuzk_buf b = CUZK_BUF_INIT;
    if (w->remote->json) {
        if (!w->alone) cuzk_buf_puts(&b, "{\"job\":");
        cuzk_rpc_job_json(&b, job);
        cuzk_buf_puts(&b, w->alone ? "\n" : "}\n");
    } else {
        if (w->drawn) cuzk_buf_puts(&b, "\r\033[K");
        w->drawn = false;
        cuzk_remote_put_job(&b, job);
    }
    return emit(&b);
}

static bool show_status(watcher *w, const cuzk_rpc_status *s) {
    cuzk_buf b = CUZK_BUF_INIT;
    if (w->remote->json) {
        cuzk_buf_printf(&b,
                        "{\"status\":{\"queue_depth\":%" PRIu32
                        ",\"total_proofs_completed\":%" PRIu64 ",\"total_proofs_failed\":%" PRIu64
                        ",\"host_memory_bytes\":%" PRIu64 ",\"draining\":%s}}\n",
                        s->depth, s->completed, s->failed, s->host, s->draining ? "true" : "false");
        return emit(&b);
    }
    if (!w->tty) return true;
    cuzk_buf_printf(&b, "\r%" PRIu32 " jobs, %" PRIu64 " done, %" PRIu64 " failed, ", s->depth,
                    s->completed, s->failed);
    cuzk_remote_put_bytes(&b, s->host);
    cuzk_buf_printf(&b, "%s\033[K", s->draining ? ", draining" : "");
    w->drawn = true;
    return emit(&b);
}

static bool on_event(void *ctx, const cuzk_engine_job *job, const cuzk_rpc_status *status) {
    return job ? show_job(ctx, job) : show_status(ctx, status);
}

static bool on_job(void *ctx, const cuzk_engine_job *job) {
    return show_job(ctx, job) &&
           (job->state == CUZK_ENGINE_QUEUED || job->state == CUZK_ENGINE_RUNNING);
}

int cuzk_cmd_watch(int argc, char **argv) {
    static const struct option longs[] = {CUZK_REMOTE_LONGS,
                                          CUZK_COMMON_LONGS,
                                          {"interval", required_argument, NULL, OPT_INTERVAL},
                                          {NULL, 0, NULL, 0}};
    cuzk_remote r = {.verb = "watch"};
    cuzk_err err = {0};
    uint64_t interval = 1000000000;
    int c;
    opterr = 0;
    while ((c = getopt_long(argc, argv, ":h", longs, NULL)) != -1) {
        if (c == 'h' || c == CUZK_OPT_HELP) {
            fputs(usage, stdout);
            fputs(cuzk_remote_help, stdout);
            return cuzk_cli_help("watch", example);
        }
        if (cuzk_remote_option(&r, c, optarg)) continue;
        if (c != OPT_INTERVAL) return cuzk_cli_bad_option("watch", c, argv);
        if (!cuzk_parse_duration(optarg, &interval) || interval < 200000000 ||
            interval > UINT64_C(3600000000000))
            return cuzk_cli_usage("watch", "--interval %s: a time from 200ms to 1h", optarg);
    }
    if (argc - optind > 1) return cuzk_cli_usage("watch", "takes one JOB at most");
    watcher w = {.remote = &r, .tty = isatty(STDOUT_FILENO) != 0, .alone = argc - optind == 1};
    cuzk_status st = cuzk_remote_open(&r, &err);
    if (st == CUZK_OK)
        st = w.alone
                 ? cuzk_rpc_watch(r.client, argv[optind], 0, on_job, &w, &err)
                 : cuzk_rpc_watch_all(r.client, (uint32_t)(interval / 1000000), on_event, &w, &err);
    if (w.drawn) puts("");
    if (cuzk_remote_stopped()) st = CUZK_OK;
    return cuzk_remote_finish(&r, st, NULL, &err);
}
