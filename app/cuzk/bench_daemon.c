/* `cuzk bench daemon`: load on a running daemon, from several clients at a time. */
#include "bench_daemon.h"

#include "base/clock.h"
#include "base/mem.h"
#include "base/progress.h"
#include "base/units.h"
#include "bench.h"
#include "bench_daemon_check.h"
#include "cli.h"
#include "remote_job.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static const char usage[] =
    "usage: cuzk bench daemon [OPTIONS] --kind KIND FILE\n"
    "       cuzk bench daemon [OPTIONS] --kind circom KEY WITNESS.wtns\n"
    "       cuzk bench daemon [OPTIONS] --mix KIND:FILE[:WEIGHT] --mix "
    "circom:KEY:FILE[:WEIGHT]...\n"
    "\n"
    "Submits the same jobs again and again to a running cuzkd, several at a time, waits for each\n"
    "proof, verifies it, and tells how long jobs took and how many were proved an hour. The first\n"
    "ones warm up and are not counted. KIND and FILE are those of `cuzk submit`.\n"
    "\n"
    "  -c, --count N       jobs that are counted (10)\n"
    "  -j, --concurrency N jobs at a time (2)\n"
    "  --warm-up N         jobs before (as many as --concurrency)\n"
    "  --priority P        low, normal, high or critical; default by kind\n"
    "  --timeout TIME      of one job (1h)\n"
    "  --params DIR, --allow-insecure-keys   verifying keys of Filecoin\n"
    "  --vk FILE           verifying key of circom, as snarkjs writes it\n"
    "  --no-verify         take what comes (a daemon with --mock)\n"
    "  --spawn             start a cuzkd for this run, in a directory of its own\n"
    "  --set NAME=VALUE    of that daemon, may be repeated: gpus.gpu_workers_per_device,\n"
    "                      synthesis.workers, synthesis.threads, gpus.gpu_threads, ...\n"
    "  --mock FILE         of that daemon\n"
    "  --json              machine, commit and results as JSON; a table otherwise\n";
static const char example[] =
    "\nexample: cuzk bench daemon --kind porep c1.json -c 20 -j 3 --params keys\n"
    "         cuzk bench daemon --spawn --mock default --no-verify --mix porep:c1.json:1 \\\n"
    "             --mix winning:request.json:4 -c 50 -j 8 --set gpus.gpu_workers_per_device=1\n";

enum {
    OPT_KIND = CUZK_OPT_VERB,
    OPT_WARM_UP,
    OPT_PARAMS,
    OPT_INSECURE,
    OPT_VK,
    OPT_NO_VERIFY,
    OPT_MIX,
    OPT_SPAWN,
    OPT_SET,
    OPT_MOCK,
    MAX_MIX = 16,
    MAX_CLIENTS = 256,
    MAX_WORDS = 64,
};

typedef struct spec {
    char text[1024];
    cuzk_engine_kind kind;
    const char *key, *file;
    uint64_t weight;
    cuzk_job_input in;
    cuzk_load_check *check;
} spec;

typedef struct sample {
    uint32_t spec;
    bool counted, ok;
    int64_t begin_ns, end_ns;
    cuzk_engine_times times;
} sample;

typedef struct load {
    cuzk_remote remote; /* options of every client */
    cuzk_submit_opts submit;
    cuzk_load_keys keys;
    bool verify, spawn;
    uint64_t count, clients, warm_up, timeout_ns;
    spec mix[MAX_MIX];
    uint32_t n_mix;
    uint64_t weights;
    char *words[MAX_WORDS]; /* of the daemon of our own */
    int n_words;
    cuzk_load_daemon own;
    sample *samples;
    atomic_uint_fast64_t next;
    atomic_uint busy, wrong, failed;
    atomic_bool over;
    uint64_t peak_budget, peak_resident;
    pthread_mutex_t lock; /* of first */
    cuzk_err first;       /* the first thing that went wrong */
    cuzk_progress progress;
} load;

/* ---- one client ---- */

/* Job number i is of the kind in whose share of the weights it falls: the mix comes in turns. */
static uint32_t choose(const load *l, uint64_t i) {
    uint64_t at = i % l->weights;
    uint32_t s = 0;
    while (at >= l->mix[s].weight)
        at -= l->mix[s++].weight;
    return s;
}

static void note(load *l, const cuzk_err *err) {
    pthread_mutex_lock(&l->lock);
    if (!*l->first.msg) l->first = *err;
    pthread_mutex_unlock(&l->lock);
}

/* Submits until it is accepted: a full queue is part of the load. */
static cuzk_status submit(load *l, cuzk_rpc_client *c, const cuzk_rpc_job *job,
                          cuzk_rpc_submitted *out, cuzk_err *err) {
    for (;;) {
        const cuzk_status st = cuzk_rpc_submit(c, job, out, err);
        const int64_t retry = cuzk_rpc_client_retry_ns(c);
        if (st != CUZK_STATUS_BUSY || retry < 0 || cuzk_remote_stopped()) return st;
        const struct timespec pause = {retry / 1000000000, retry % 1000000000};
        atomic_fetch_add(&l->busy, 1);
        nanosleep(&pause, NULL);
    }
}

static cuzk_status run_one(load *l, cuzk_rpc_client *c, uint64_t i, sample *s, cuzk_err *err) {
    const spec *sp = &l->mix[s->spec];
    cuzk_rpc_job job = sp->in.job;
    cuzk_rpc_submitted submitted;
    cuzk_engine_state state;
    cuzk_buf proof = CUZK_BUF_INIT;
    char id[64];
    snprintf(id, sizeof id, "bench-%d-%" PRId64 "-%" PRIu64, (int)getpid(), s->begin_ns, i);
    job.request_id = id;
    job.priority = l->submit.priority;
    cuzk_status st = submit(l, c, &job, &submitted, err);
    if (st == CUZK_OK)
        st = cuzk_rpc_await(c, submitted.job_id, l->timeout_ns / 1000000, &state, &s->times, &proof,
                            err);
    s->end_ns = cuzk_now_ns();
    s->ok = st == CUZK_OK;
    if (st == CUZK_OK && sp->check) {
        st = cuzk_load_check_proof(sp->check, &proof, err);
        if (st != CUZK_OK) atomic_fetch_add(&l->wrong, 1);
    }
    cuzk_buf_free(&proof);
    return st;
}

static void *run_client(void *arg) {
    load *l = arg;
    cuzk_err err = {0};
    cuzk_rpc_client *c = NULL;
    cuzk_status st = cuzk_rpc_client_new(&c, l->remote.addr, &l->remote.options, &err);
    while (st == CUZK_OK && !cuzk_remote_stopped()) {
        const uint64_t i = atomic_fetch_add(&l->next, 1);
        if (i >= l->warm_up + l->count) break;
        sample *s = &l->samples[i];
        s->spec = choose(l, i);
        s->counted = i >= l->warm_up;
        s->begin_ns = cuzk_now_ns();
        st = run_one(l, c, i, s, &err);
        cuzk_progress_add(&l->progress, 1);
        if (st == CUZK_OK) continue;
        atomic_fetch_add(&l->failed, 1);
        note(l, &err);
        if (!cuzk_rpc_client_lost(c)) st = CUZK_OK; /* a job failed; the others go on */
    }
    if (!c) note(l, &err);
    if (!c) atomic_fetch_add(&l->failed, 1);
    cuzk_rpc_client_free(c);
    return NULL;
}

/* ---- memory ---- */

static uint64_t metric(const char *text, const char *name) {
    const size_t n = strlen(name);
    for (const char *p = text; (p = strstr(p, name)) != NULL; p += n)
        if ((p == text || p[-1] == '\n') && p[n] == ' ') return (uint64_t)strtod(p + n, NULL);
    return 0;
}

static void *run_sampler(void *arg) {
    load *l = arg;
    const struct timespec pause = {0, 200000000};
    cuzk_rpc_status *s = NULL;
    cuzk_rpc_client *c = NULL;
    if (cuzk_alloc((void **)&s, 1, sizeof *s) != CUZK_OK ||
        cuzk_rpc_client_new(&c, l->remote.addr, &l->remote.options, NULL) != CUZK_OK)
        c = NULL;
    while (c && !atomic_load(&l->over)) {
        cuzk_buf text = CUZK_BUF_INIT;
        uint64_t resident = 0;
        if (cuzk_rpc_get_status(c, s, NULL) == CUZK_OK && s->host > l->peak_budget)
            l->peak_budget = s->host;
        if (cuzk_rpc_metrics(c, &text, NULL) == CUZK_OK && text.data)
            resident = metric(text.data, "cuzk_resident_memory_bytes");
        if (!resident) resident = cuzk_load_daemon_memory(&l->own);
        if (resident > l->peak_resident) l->peak_resident = resident;
        cuzk_buf_free(&text);
        nanosleep(&pause, NULL);
    }
    cuzk_rpc_client_free(c);
    cuzk_free(s);
    return NULL;
}

/* ---- report ---- */

static int by_value(const void *a, const void *b) {
    const double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

/* The least value that at least the share of all do not exceed. */
static double percentile(const double *sorted, size_t n, double share) {
    size_t i = (size_t)(share * (double)n + 0.999999);
    if (i > n) i = n;
    return n ? sorted[i ? i - 1 : 0] : 0;
}

static void distribution(cuzk_buf *json, const char *name, double *v, size_t n) {
    double sum = 0;
    qsort(v, n, sizeof *v, by_value);
    for (size_t i = 0; i < n; i++)
        sum += v[i];
    cuzk_buf_printf(json,
                    "\"%s\":{\"min\":%.4f,\"mean\":%.4f,\"p50\":%.4f,\"p90\":%.4f,\"p99\":%.4f,"
                    "\"max\":%.4f}",
                    name, n ? v[0] : 0, n ? sum / (double)n : 0, percentile(v, n, 0.5),
                    percentile(v, n, 0.9), percentile(v, n, 0.99), n ? v[n - 1] : 0);
}

typedef struct totals {
    int64_t begin_ns, end_ns; /* of what is counted */
    uint64_t ok, failed;
} totals;

static totals count_all(const load *l) {
    totals t = {INT64_MAX, 0, 0, 0};
    for (uint64_t i = l->warm_up; i < l->warm_up + l->count; i++) {
        const sample *s = &l->samples[i];
        if (!s->end_ns) continue;
        if (s->begin_ns < t.begin_ns) t.begin_ns = s->begin_ns;
        if (s->end_ns > t.end_ns) t.end_ns = s->end_ns;
        if (s->ok)
            t.ok++;
        else
            t.failed++;
    }
    return t;
}

/* One row of the results: a kind of job, or all (spec NULL). v has room for all samples. */
static void put_row(const load *l, const spec *sp, double *v, cuzk_buf *json, cuzk_buf *table) {
    static const char *const names[] = {"seconds", "queue_wait", "witness", "compute"};
    const totals t = count_all(l);
    const double wall = t.end_ns > t.begin_ns ? (double)(t.end_ns - t.begin_ns) * 1e-9 : 0;
    size_t n = 0;
    double p[3] = {0, 0, 0}, most = 0;
    cuzk_buf_puts(json, json->len ? ",\n{\"kind\":" : "\n{\"kind\":");
    cuzk_buf_json_str(json, sp ? cuzk_remote_kind_name(sp->kind) : "all");
    for (int what = 0; what < 4; what++) {
        n = 0;
        for (uint64_t i = l->warm_up; i < l->warm_up + l->count; i++) {
            const sample *s = &l->samples[i];
            if (!s->ok || (sp && &l->mix[s->spec] != sp)) continue;
            const double seconds[] = {
                (double)(s->end_ns - s->begin_ns) * 1e-9, (double)s->times.queue_wait * 1e-3,
                (double)s->times.witness * 1e-3, (double)s->times.compute * 1e-3};
            v[n++] = seconds[what];
        }
        cuzk_buf_puts(json, ",");
        distribution(json, names[what], v, n);
        if (what) continue;
        p[0] = percentile(v, n, 0.5);
        p[1] = percentile(v, n, 0.9);
        p[2] = percentile(v, n, 0.99);
        most = n ? v[n - 1] : 0;
    }
    const double rate = wall > 0 ? (double)n / wall : 0;
    cuzk_buf_printf(json,
                    ",\"count\":%zu,\"wall\":%.4f,\"proofs_per_minute\":%.3f,"
                    "\"seconds_per_proof\":%.4f}",
                    n, wall, rate * 60, rate > 0 ? 1 / rate : 0);
    cuzk_buf_printf(table, "%-14s %7zu %9.3f %9.3f %9.3f %9.3f %12.2f %10.3f\n",
                    sp ? cuzk_remote_kind_name(sp->kind) : "all", n, p[0], p[1], p[2], most,
                    rate * 60, rate > 0 ? 1 / rate : 0);
}

static cuzk_status report(load *l, const char *command, cuzk_err *err) {
    cuzk_bench b = {.command = command};
    cuzk_buf table = CUZK_BUF_INIT;
    double *v;
    if (cuzk_alloc((void **)&v, l->count, sizeof *v) != CUZK_OK)
        return cuzk_err_set(err, CUZK_STATUS_NO_MEMORY, "not enough memory");
    cuzk_buf_puts(&table, "kind              jobs       p50       p90       p99       max   "
                          "proofs/min    s/proof\n");
    if (l->n_mix > 1)
        for (uint32_t i = 0; i < l->n_mix; i++)
            put_row(l, &l->mix[i], v, &b.rows, &table);
    put_row(l, l->n_mix > 1 ? NULL : &l->mix[0], v, &b.rows, &table);
    cuzk_free(v);
    cuzk_buf_printf(&b.rows,
                    ",\n{\"kind\":\"run\",\"concurrency\":%" PRIu64 ",\"warm_up\":%" PRIu64
                    ",\"failed\":%u,\"wrong\":%u,\"verified\":%s,\"busy_answers\":%u,"
                    "\"peak_budget_bytes\":%" PRIu64 ",\"peak_resident_bytes\":%" PRIu64 "}",
                    l->clients, l->warm_up, atomic_load(&l->failed), atomic_load(&l->wrong),
                    l->verify && !atomic_load(&l->wrong) ? "true" : "false", atomic_load(&l->busy),
                    l->peak_budget, l->peak_resident);
    cuzk_buf_printf(&table, "%u failed, %u wrong, %s; memory: ", atomic_load(&l->failed),
                    atomic_load(&l->wrong), l->verify ? "every proof verified" : "not verified");
    cuzk_remote_put_bytes(&table, l->peak_budget);
    cuzk_buf_puts(&table, " of the budget at most, ");
    cuzk_remote_put_bytes(&table, l->peak_resident);
    cuzk_buf_puts(&table, " resident\n");
    cuzk_status st = cuzk_buf_status(&table);
    if (st == CUZK_OK) fputs(table.data, l->remote.json ? stderr : stdout);
    if (st == CUZK_OK && l->remote.json) st = cuzk_bench_print(&b, err);
    cuzk_buf_free(&table);
    cuzk_buf_free(&b.rows);
    return st;
}

/* ---- the run ---- */

static cuzk_status open_inputs(load *l, cuzk_err *err) {
    for (uint32_t i = 0; i < l->n_mix; i++) {
        spec *s = &l->mix[i];
        CUZK_TRY(cuzk_job_input_open(&s->in, s->kind, s->key, s->file, NULL, err));
        if (l->verify) CUZK_TRY(cuzk_load_check_new(&s->check, s->kind, s->file, &l->keys, err));
        l->weights += s->weight;
    }
    if (cuzk_alloc((void **)&l->samples, l->warm_up + l->count, sizeof *l->samples) != CUZK_OK)
        return cuzk_err_set(err, CUZK_STATUS_NO_MEMORY, "not enough memory");
    return CUZK_OK;
}

static cuzk_status run_load(load *l, cuzk_err *err) {
    pthread_t clients[MAX_CLIENTS], sampler;
    uint64_t n = 0;
    cuzk_progress_begin(&l->progress, stderr, "jobs", l->warm_up + l->count);
    const bool sampling = pthread_create(&sampler, NULL, run_sampler, l) == 0;
    while (n < l->clients && pthread_create(&clients[n], NULL, run_client, l) == 0)
        n++;
    for (uint64_t i = 0; i < n; i++)
        pthread_join(clients[i], NULL);
    atomic_store(&l->over, true);
    if (sampling) pthread_join(sampler, NULL);
    cuzk_progress_end(&l->progress);
    if (cuzk_remote_stopped()) return cuzk_err_set(err, CUZK_STATUS_FAILED, "interrupted");
    if (n == 0) return cuzk_err_set(err, CUZK_STATUS_NO_MEMORY, "cannot start a thread");
    return CUZK_OK;
}

static cuzk_status run(load *l, const char *command, cuzk_err *err) {
    CUZK_TRY(open_inputs(l, err));
    if (l->spawn) {
        CUZK_TRY(cuzk_load_daemon_start(&l->own, l->words, err));
        l->remote.addr = l->own.addr;
    }
    CUZK_TRY(cuzk_remote_open(&l->remote, err)); /* also says early that nobody is there */
    CUZK_TRY(run_load(l, err));
    CUZK_TRY(report(l, command, err));
    if (atomic_load(&l->wrong))
        return cuzk_err_set(err, CUZK_STATUS_BUG, "a proof is wrong: %s", l->first.msg);
    if (atomic_load(&l->failed)) return cuzk_err_set(err, CUZK_STATUS_FAILED, "%s", l->first.msg);
    return CUZK_OK;
}

static void close_all(load *l) {
    for (uint32_t i = 0; i < l->n_mix; i++) {
        cuzk_job_input_close(&l->mix[i].in);
        cuzk_load_check_free(l->mix[i].check);
    }
    cuzk_free(l->samples);
    pthread_mutex_destroy(&l->lock);
}

/* ---- words ---- */

/* KIND:FILE[:WEIGHT], circom:KEY:FILE[:WEIGHT] */
static int add_mix(load *l, const char *text) {
    char *part[4], *save = NULL;
    int n = 0;
    if (l->n_mix == MAX_MIX) return cuzk_cli_usage("bench", "more than %d of --mix", MAX_MIX);
    spec *s = &l->mix[l->n_mix];
    snprintf(s->text, sizeof s->text, "%s", text);
    for (char *p = strtok_r(s->text, ":", &save); p && n < 4; p = strtok_r(NULL, ":", &save))
        part[n++] = p;
    if (n < 2 || !cuzk_job_kind_parse(part[0], &s->kind))
        return cuzk_cli_usage("bench", "--mix %s: KIND:FILE[:WEIGHT]", text);
    const int files = s->kind == CUZK_ENGINE_CIRCOM ? 2 : 1;
    s->weight = 1;
    if (n < 1 + files || n > 2 + files ||
        (n == 2 + files && !cuzk_cli_number(part[1 + files], 1, 1000, &s->weight)))
        return cuzk_cli_usage("bench", "--mix %s: KIND:FILE[:WEIGHT], circom:KEY:FILE[:WEIGHT]",
                              text);
    s->key = files == 2 ? part[1] : NULL;
    s->file = part[files];
    l->n_mix++;
    return -1;
}

static int add_word(load *l, bool is_set, char *value) {
    static char set[] = "--set", mock[] = "--mock";
    if (l->n_words + 3 > MAX_WORDS) return cuzk_cli_usage("bench", "too many --set");
    l->words[l->n_words++] = is_set ? set : mock;
    l->words[l->n_words++] = value;
    return -1;
}

static int number(const char *name, const char *text, uint64_t lo, uint64_t hi, uint64_t *out) {
    if (cuzk_cli_number(text, lo, hi, out)) return -1;
    return cuzk_cli_usage("bench", "%s %s: a number from %" PRIu64 " to %" PRIu64, name, text, lo,
                          hi);
}

static int option(load *l, int c, char **argv, const char **kind) {
    switch (c) {
    case OPT_KIND:
        *kind = optarg;
        return -1;
    case 'c':
        return number("--count", optarg, 1, 1000000, &l->count);
    case 'j':
        return number("--concurrency", optarg, 1, MAX_CLIENTS, &l->clients);
    case OPT_WARM_UP:
        return number("--warm-up", optarg, 0, 100000, &l->warm_up);
    case OPT_PARAMS:
        l->keys.params = optarg;
        return -1;
    case OPT_INSECURE:
        l->keys.allow_insecure = true;
        return -1;
    case OPT_VK:
        l->keys.vk = optarg;
        return -1;
    case OPT_NO_VERIFY:
        l->verify = false;
        return -1;
    case OPT_MIX:
        return add_mix(l, optarg);
    case OPT_SPAWN:
        l->spawn = true;
        return -1;
    case OPT_SET:
        return add_word(l, true, optarg);
    case OPT_MOCK:
        return add_word(l, false, optarg);
    case CUZK_OPT_TIMEOUT:
        if (cuzk_parse_duration(optarg, &l->timeout_ns)) return -1;
        return cuzk_cli_usage("bench", "--timeout %s: a time such as 1h", optarg);
    default:
        return cuzk_cli_bad_option("bench", c, argv);
    }
}

/* What --kind and the words say is one more of the mix. */
static int words(load *l, const char *kind, int n, char **w) {
    if (!kind && n) return cuzk_cli_usage("bench", "files want --kind, or --mix");
    if (kind) {
        const bool circom = strcmp(kind, "circom") == 0;
        if (n != (circom ? 2 : 1))
            return cuzk_cli_usage("bench", circom ? "circom wants KEY WITNESS.wtns"
                                                  : "--kind wants one FILE");
        spec *s = &l->mix[l->n_mix];
        if (l->n_mix == MAX_MIX || !cuzk_job_kind_parse(kind, &s->kind))
            return cuzk_cli_usage("bench", "--kind %s: porep, wpost, winning, snap or circom",
                                  kind);
        s->weight = 1;
        s->key = circom ? w[0] : NULL;
        s->file = w[n - 1];
        l->n_mix++;
    }
    if (!l->n_mix) return cuzk_cli_usage("bench", "daemon wants --kind or --mix");
    if (!l->spawn && l->n_words) return cuzk_cli_usage("bench", "--set and --mock want --spawn");
    return -1;
}

int cuzk_bench_daemon(int argc, char **argv) {
    static const struct option longs[] = {CUZK_REMOTE_LONGS,
                                          CUZK_COMMON_LONGS,
                                          {"kind", required_argument, NULL, OPT_KIND},
                                          {"type", required_argument, NULL, OPT_KIND},
                                          {"count", required_argument, NULL, 'c'},
                                          {"concurrency", required_argument, NULL, 'j'},
                                          {"warm-up", required_argument, NULL, OPT_WARM_UP},
                                          {"priority", required_argument, NULL, CUZK_OPT_PRIORITY},
                                          {"timeout", required_argument, NULL, CUZK_OPT_TIMEOUT},
                                          {"params", required_argument, NULL, OPT_PARAMS},
                                          {"allow-insecure-keys", no_argument, NULL, OPT_INSECURE},
                                          {"vk", required_argument, NULL, OPT_VK},
                                          {"no-verify", no_argument, NULL, OPT_NO_VERIFY},
                                          {"mix", required_argument, NULL, OPT_MIX},
                                          {"spawn", no_argument, NULL, OPT_SPAWN},
                                          {"set", required_argument, NULL, OPT_SET},
                                          {"mock", required_argument, NULL, OPT_MOCK},
                                          {NULL, 0, NULL, 0}};
    static load l;
    const char *kind = NULL;
    cuzk_err err = {0};
    cuzk_buf command = CUZK_BUF_INIT;
    int c;
    cuzk_buf_puts(&command, "cuzk bench");
    for (int i = 0; i < argc; i++)
        cuzk_buf_printf(&command, " %s", argv[i]);
    l = (load){.remote = {.verb = "bench"},
               .verify = true,
               .count = 10,
               .clients = 2,
               .warm_up = UINT64_MAX,
               .timeout_ns = UINT64_C(3600000000000)};
    pthread_mutex_init(&l.lock, NULL);
    opterr = 0;
    int code = -1;
    while (code < 0 && (c = getopt_long(argc, argv, ":hc:j:", longs, NULL)) != -1) {
        if (c == 'h' || c == CUZK_OPT_HELP) {
            cuzk_buf_free(&command);
            fputs(usage, stdout);
            fputs(cuzk_remote_help, stdout);
            return cuzk_cli_help("bench", example);
        }
        if (cuzk_remote_option(&l.remote, c, optarg)) continue;
        code = cuzk_submit_option(&l.submit, "bench", c, optarg);
        if (code == -2) code = option(&l, c, argv, &kind);
    }
    if (code < 0) code = words(&l, kind, argc - optind, argv + optind);
    if (l.warm_up == UINT64_MAX) l.warm_up = l.clients;
    if (code < 0) {
        cuzk_status st = run(&l, command.data ? command.data : "", &err);
        cuzk_err end = {0};
        const cuzk_status ended = cuzk_load_daemon_stop(&l.own, &end);
        code = cuzk_remote_finish(&l.remote, st == CUZK_OK ? ended : st, NULL,
                                  st == CUZK_OK ? &end : &err);
    }
    close_all(&l);
    cuzk_buf_free(&command);
    return code;
}
