#include "remote.h"

#include "base/file.h"
#include "cli.h"

#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static const char default_addr[] = "unix:///run/cuzk/cuzk.sock";

const char cuzk_remote_help[] =
    "\n"
    "where the daemon is:\n"
    "  --addr ADDR         unix:///PATH or HOST:PORT; default CUZK_ADDR, then\n"
    "                      unix:///run/cuzk/cuzk.sock\n"
    "  --token-file FILE   the first line is the bearer token; default CUZK_TOKEN_FILE\n"
    "  --tls               TLS, trusting the system's authorities; implied by the others\n"
    "  --tls-ca FILE       trust these\n"
    "  --tls-cert FILE --tls-key FILE   who we are\n"
    "\n"
    "exit codes: 5 the daemon has not the memory, device or key that the job needs; 6 the job "
    "failed,\n"
    "was cancelled or timed out; 75 busy (also a key in use) or unreachable; and those of `cuzk "
    "--help`.\n";

static volatile sig_atomic_t stopped;

static void stop(int signal) {
    (void)signal;
    stopped = 1;
}

bool cuzk_remote_stopped(void) {
    return stopped != 0;
}

bool cuzk_remote_option(cuzk_remote *r, int c, const char *value) {
    switch (c) {
    case CUZK_OPT_ADDR:
        r->addr = value;
        return true;
    case CUZK_OPT_TOKEN:
        r->token_file = value;
        return true;
    case CUZK_OPT_TLS:
        r->options.tls = true;
        return true;
    case CUZK_OPT_CA:
        r->options.ca_file = value;
        return true;
    case CUZK_OPT_CERT:
        r->options.cert_file = value;
        return true;
    case CUZK_OPT_KEY:
        r->options.key_file = value;
        return true;
    case CUZK_OPT_JSON:
        r->json = true;
        return true;
    default:
        return false;
    }
}

static const char *from_environment(const char *name) {
    const char *value = getenv(name);
    return value && *value ? value : NULL;
}

bool cuzk_remote_wanted(const cuzk_remote *r) {
    return r->addr || from_environment("CUZK_ADDR");
}

/* The first line that is no comment. */
static cuzk_status read_token(cuzk_remote *r, cuzk_err *err) {
    const char *file = r->token_file ? r->token_file : from_environment("CUZK_TOKEN_FILE");
    cuzk_map map;
    if (!file) return CUZK_OK;
    CUZK_TRY(cuzk_map_file(&map, file, err));
    const char *p = (const char *)map.data, *end = p + map.len;
    size_t n = 0;
    while (p < end) {
        const char *line_end = memchr(p, '\n', (size_t)(end - p));
        if (!line_end) line_end = end;
        n = (size_t)(line_end - p);
        while (n && (p[n - 1] == '\r' || p[n - 1] == ' '))
            n--;
        if (n && *p != '#') break;
        n = 0;
        p = line_end + 1;
    }
    const bool fits = n > 0 && n < sizeof r->token;
    if (fits) memcpy(r->token, p, n);
    cuzk_map_close(&map);
    if (!fits) return cuzk_err_set(err, CUZK_STATUS_BAD_INPUT, "%s holds no token", file);
    r->options.token = r->token;
    return CUZK_OK;
}

cuzk_status cuzk_remote_open(cuzk_remote *r, cuzk_err *err) {
    const struct sigaction act = {.sa_handler = stop};
    cuzk_remote_close(r);
    if (!r->addr) r->addr = from_environment("CUZK_ADDR");
    if (!r->addr) r->addr = default_addr;
    CUZK_TRY(read_token(r, err));
    sigaction(SIGINT, &act, NULL);
    sigaction(SIGTERM, &act, NULL);
    r->options.stop = &stopped;
    return cuzk_rpc_client_new(&r->client, r->addr, &r->options, err);
}

void cuzk_remote_close(cuzk_remote *r) {
    cuzk_rpc_client_free(r->client);
    r->client = NULL;
}

int cuzk_remote_end(cuzk_remote *r, cuzk_status st, const cuzk_err *err) {
    const int64_t retry = r->client ? cuzk_rpc_client_retry_ns(r->client) : -1;
    cuzk_remote_close(r);
    if (st == CUZK_OK) return 0;
    const int code = cuzk_cli_fail(r->verb, st, err);
    if (st == CUZK_STATUS_BUSY && retry >= 0)
        fprintf(stderr, "cuzk %s: try again in %.1f s\n", r->verb, (double)retry * 1e-9);
    return code;
}

int cuzk_remote_finish(cuzk_remote *r, cuzk_status st, cuzk_buf *out, const cuzk_err *err) {
    if (out && st == CUZK_OK) st = cuzk_buf_status(out);
    if (out && st == CUZK_OK && out->len) fwrite(out->data, 1, out->len, stdout);
    if (out) cuzk_buf_free(out);
    const int code = cuzk_remote_end(r, st, err);
    return code ? code : cuzk_cli_flush(r->verb, 0);
}

void cuzk_remote_put_bytes(cuzk_buf *out, uint64_t bytes) {
    static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB"};
    double v = (double)bytes;
    size_t i = 0;
    for (; v >= 1024 && i + 1 < sizeof units / sizeof *units; i++)
        v /= 1024;
    cuzk_buf_printf(out, i ? "%.1f %s" : "%.0f %s", v, units[i]);
}

const char *cuzk_remote_kind_name(cuzk_engine_kind kind) {
    static const char *const names[] = {
#define CUZK__KIND(name, text) text,
        CUZK_ENGINE_KINDS(CUZK__KIND)
#undef CUZK__KIND
    };
    return kind < CUZK_ENGINE_KIND_COUNT ? names[kind] : "?";
}

void cuzk_remote_put_job(cuzk_buf *out, const cuzk_engine_job *job) {
    static const char *const states[] = {"queued", "running",   "done",
                                         "failed", "cancelled", "deadline passed"};
    char when[32] = "";
    struct tm t;
    const time_t at = (time_t)(job->submitted_ns / 1000000000);
    gmtime_r(&at, &t);
    strftime(when, sizeof when, "%Y-%m-%d %H:%M:%S", &t);
    cuzk_buf_printf(out, "%-20s %-12s %-16s %s  %u/%u", job->id, cuzk_remote_kind_name(job->kind),
                    (unsigned)job->state < 6 ? states[job->state] : "?", when, job->partitions_done,
                    job->n_partitions);
    if (job->times.total) cuzk_buf_printf(out, "  %.1f s", (double)job->times.total * 1e-3);
    if (*job->message) cuzk_buf_printf(out, "  %s", job->message);
    cuzk_buf_puts(out, "\n");
}
