#include "cli.h"
#include "verbs.h"

#include "base/buf.h"
#include "base/file.h"
#include "engine/sim/sim.h"

#include <stdio.h>
#include <string.h>

static const char help[] =
    "usage: cuzk simulate FILE [--run NAME] [--set KEY=VALUE]... [--json] [--timeline OUT]\n"
    "       cuzk simulate --preset NAME ...\n"
    "       cuzk simulate --preset NAME --print\n"
    "\n"
    "Runs a load through the daemon's own scheduler on a virtual clock, on a machine that is\n"
    "described by how long each piece of a partition's work takes, and says what comes out:\n"
    "seconds a proof, how busy the device and the witness workers are, peak memory, what bounds\n"
    "it all, and how long jobs wait. Use it before buying a GPU, or to choose workers and slots.\n"
    "\n"
    "  --preset NAME      a built-in file instead of FILE:\n"
    "                       mix     an example of several kinds of jobs, to copy and change\n"
    "                       daemon  the daemon's acceptance load\n"
    "                       curio   the published history of Curio's engine, and how close the\n"
    "                               model comes to it\n"
    "  --print            print the preset instead of running it\n"
    "  --run NAME         only this [run]\n"
    "  --set KEY=VALUE    change a value of every run: scheduler.slots=3, host.memory=128,\n"
    "                     kind.porep.witness=12.5\n"
    "  --timeline OUT     of the run (the file's only one, or --run's): a picture when OUT ends\n"
    "                     in .svg, else lines TIMELINE,<ms>,<event>,<job>,<detail>\n"
    "  --json             one JSON object with an array `runs`\n"
    "\n"
    "A file is sections of `key = value`; `#` begins a comment; times are seconds, memory is GiB,\n"
    "bandwidth GB/s. The least that is useful:\n"
    "\n"
    "  [scheduler]\n"
    "  witness_workers = 4\n"
    "  [kind sector]\n"
    "  partitions = 10\n"
    "  witness = 20       # seconds on a worker\n"
    "  copy = 0.1         # host to device, while another partition computes\n"
    "  kernels = 1.5      # on the device, one partition at a time\n"
    "  finish = 0.05\n"
    "  count = 20         # jobs\n"
    "\n"
    "docs/engine.md lists every key.\n"
    "\n"
    "example: cuzk simulate --preset mix --set kind.porep.interval=30\n";

enum { JSON_OPT = 256, PRESET_OPT, PRINT_OPT, RUN_OPT, SET_OPT, TIMELINE_OPT };
enum { MOST_CHANGES = 64 };

typedef struct options {
    const char *file, *preset, *run, *timeline;
    const char *changes[MOST_CHANGES];
    size_t n_changes;
    bool json, print;
} options;

static void put_comparison(cuzk_buf *out, const cuzk_sim_scenario *s, const cuzk_sim_result *r,
                           bool json) {
    const char *name;
    double published, here;
    for (size_t i = 0; cuzk_sim_compare(s, r, i, &name, &published, &here); i++) {
        const double percent = 100 * (here / published - 1);
        if (json)
            cuzk_buf_printf(out,
                            "%s{\"figure\":\"%s\",\"published\":%.6g,\"here\":%.6g,"
                            "\"percent\":%.2f}",
                            i ? "," : "", name, published, here, percent);
        else
            cuzk_buf_printf(out, "  published        %s %.1f, here %.1f (%+.1f %%)\n", name,
                            published, here, percent);
    }
}

static void put_json(cuzk_buf *out, const cuzk_sim_scenario *s, const cuzk_sim_result *r) {
    cuzk_buf_printf(out, "{\"run\":\"%s\",\"cite\":", s->name);
    cuzk_buf_json_str(out, s->cite);
    cuzk_buf_printf(out,
                    ",\"wall\":%.6f,\"proofs\":%u,\"seconds_per_proof\":%.6f,\"steady\":%.6f,"
                    "\"device_seconds\":%.6f,\"efficiency\":%.3f,\"gate_busy\":%.3f,"
                    "\"witness_busy\":%.3f,\"witness_slowdown\":%.4f,\"paused\":%.3f,"
                    "\"peak_memory\":%.3f,\"peak_device\":%.3f,\"limit\":\"%s\",\"kinds\":[",
                    r->wall, r->proofs, r->seconds_per_proof, r->steady, r->device_seconds,
                    r->efficiency, r->gate_busy, r->witness_busy, r->witness_slowdown, r->paused,
                    r->peak_memory, r->peak_device, r->limit);
    for (uint32_t i = 0; i < s->n_kinds; i++) {
        const cuzk_sim_kind_result *k = &r->kinds[i];
        cuzk_buf_printf(out,
                        "%s{\"kind\":\"%s\",\"done\":%u,\"late\":%u,\"failed\":%u,\"mean\":%.6f,"
                        "\"p50\":%.6f,\"p95\":%.6f,\"max\":%.6f,\"first_kernel\":%.6f}",
                        i ? "," : "", s->kinds[i].name, k->done, k->late, k->failed, k->mean,
                        k->p50, k->p95, k->max, k->first_start);
    }
    cuzk_buf_puts(out, "],\"published\":[");
    put_comparison(out, s, r, true);
    cuzk_buf_puts(out, "]}");
}

static void put_text(cuzk_buf *out, const cuzk_sim_scenario *s, const cuzk_sim_result *r) {
    cuzk_buf_printf(out, "%s%s%s\n", s->name, s->cite[0] ? ": " : "", s->cite);
    cuzk_buf_printf(out,
                    "  time             %.1f s for %u proofs: %.2f s a proof, %.2f s in the "
                    "middle of the run\n",
                    r->wall, r->proofs, r->seconds_per_proof, r->steady);
    cuzk_buf_printf(out,
                    "  device           kernels run %.1f %% of the time; gate busy %.1f %% from "
                    "first kernel to last\n",
                    r->efficiency, r->gate_busy);
    cuzk_buf_printf(out,
                    "  witness workers  %.0f %% busy; a witness takes %.2f times its time alone; "
                    "paused %.0f %%\n",
                    r->witness_busy, r->witness_slowdown, r->paused);
    cuzk_buf_printf(out, "  memory           at most %.1f GiB on the host, %.1f GiB on a device\n",
                    r->peak_memory, r->peak_device);
    cuzk_buf_printf(out, "  bound by         %s\n", r->limit);
    cuzk_buf_printf(out, "  %-16s %5s %5s %6s %9s %9s %9s %9s %13s\n", "seconds a job", "done",
                    "late", "failed", "mean", "p50", "p95", "max", "first kernel");
    for (uint32_t i = 0; i < s->n_kinds; i++) {
        const cuzk_sim_kind_result *k = &r->kinds[i];
        cuzk_buf_printf(out, "  %-16s %5u %5u %6u %9.2f %9.2f %9.2f %9.2f %13.2f\n",
                        s->kinds[i].name, k->done, k->late, k->failed, k->mean, k->p50, k->p95,
                        k->max, k->first_start);
    }
    put_comparison(out, s, r, false);
}

static cuzk_status write_timeline(const char *path, const cuzk_trace *t, cuzk_err *err) {
    cuzk_buf text = CUZK_BUF_INIT;
    const size_t n = strlen(path);
    cuzk_status st = CUZK_OK;
    if (n > 4 && strcmp(path + n - 4, ".svg") == 0)
        st = cuzk_trace_svg(&text, t);
    else
        cuzk_trace_write(&text, t);
    if (st == CUZK_OK) st = cuzk_buf_status(&text);
    if (st == CUZK_OK)
        st = cuzk_write_file(path, text.data, text.len, err);
    else
        (void)cuzk_err_set(err, st, "not enough memory for the timeline");
    cuzk_buf_free(&text);
    return st;
}

static cuzk_status run_one(cuzk_sim_scenario *s, const options *o, cuzk_buf *out, bool first,
                           cuzk_err *err) {
    cuzk_trace timeline = {0};
    cuzk_sim_result r;
    for (size_t i = 0; i < o->n_changes; i++)
        CUZK_TRY(cuzk_sim_change(s, o->changes[i], err));
    cuzk_status st = cuzk_sim_run(&r, s, o->timeline ? &timeline : NULL, err);
    if (st == CUZK_OK && o->timeline) st = write_timeline(o->timeline, &timeline, err);
    cuzk_trace_free(&timeline);
    CUZK_TRY(st);
    if (!first) cuzk_buf_puts(out, o->json ? ",\n" : "\n");
    if (o->json)
        put_json(out, s, &r);
    else
        put_text(out, s, &r);
    return CUZK_OK;
}

static cuzk_status run_all(const char *text, size_t len, const options *o, cuzk_buf *out,
                           cuzk_err *err) {
    cuzk_sim_set set;
    size_t done = 0;
    cuzk_status st = cuzk_sim_read(&set, text, len, err);
    if (st != CUZK_OK && o->file) st = cuzk_err_prefix(err, st, "%s", o->file);
    if (st == CUZK_OK && o->timeline && !o->run && set.n > 1)
        st = cuzk_err_set(err, CUZK_STATUS_USAGE, "--timeline wants --run: there are %zu", set.n);
    if (o->json) cuzk_buf_puts(out, "{\"runs\":[");
    for (size_t i = 0; st == CUZK_OK && i < set.n; i++) {
        if (o->run && strcmp(set.items[i].name, o->run) != 0) continue;
        st = run_one(&set.items[i], o, out, done == 0, err);
        done++;
    }
    if (o->json) cuzk_buf_puts(out, "]}\n");
    if (st == CUZK_OK && done == 0)
        st = cuzk_err_set(err, CUZK_STATUS_USAGE, "there is no [run %s]", o->run);
    cuzk_sim_free(&set);
    return st;
}

static int simulate(const char *text, size_t len, const options *o) {
    cuzk_err err = {0};
    cuzk_buf out = CUZK_BUF_INIT;
    cuzk_status st = run_all(text, len, o, &out, &err);
    if (st == CUZK_OK) st = cuzk_buf_status(&out);
    if (st == CUZK_OK && (fputs(out.data, stdout) < 0 || fflush(stdout) != 0))
        st = cuzk_err_set(&err, CUZK_STATUS_IO, "cannot write the report");
    cuzk_buf_free(&out);
    return st == CUZK_OK ? 0 : cuzk_cli_fail("simulate", st, &err);
}

static int simulate_preset(const options *o) {
    const char *text = cuzk_sim_preset(o->preset);
    if (text && o->print) return fputs(text, stdout) < 0 || fflush(stdout) != 0 ? 4 : 0;
    if (text) return simulate(text, strlen(text), o);
    cuzk_buf names = CUZK_BUF_INIT;
    for (size_t i = 0; cuzk_sim_preset_name(i); i++)
        cuzk_buf_printf(&names, "%s%s", i ? ", " : "", cuzk_sim_preset_name(i));
    const int rc = cuzk_cli_usage("simulate", "no preset is called `%s`; there are %s", o->preset,
                                  names.data ? names.data : "none");
    cuzk_buf_free(&names);
    return rc;
}

static int simulate_file(const options *o) {
    cuzk_err err = {0};
    cuzk_map map;
    const cuzk_status st = cuzk_map_file(&map, o->file, &err);
    if (st != CUZK_OK) return cuzk_cli_fail("simulate", st, &err);
    const int rc = simulate((const char *)map.data, map.len, o);
    cuzk_map_close(&map);
    return rc;
}

int cuzk_cmd_simulate(int argc, char **argv) {
    static const struct option longs[] = {{"help", no_argument, NULL, 'h'},
                                          {"json", no_argument, NULL, JSON_OPT},
                                          {"preset", required_argument, NULL, PRESET_OPT},
                                          {"print", no_argument, NULL, PRINT_OPT},
                                          {"run", required_argument, NULL, RUN_OPT},
                                          {"set", required_argument, NULL, SET_OPT},
                                          {"timeline", required_argument, NULL, TIMELINE_OPT},
                                          {NULL, 0, NULL, 0}};
    options o = {0};
    int c;
    opterr = 0;
    while ((c = getopt_long(argc, argv, ":h", longs, NULL)) != -1) {
        if (c == 'h') return fputs(help, stdout) < 0 || fflush(stdout) != 0 ? 4 : 0;
        if (c == JSON_OPT)
            o.json = true;
        else if (c == PRESET_OPT)
            o.preset = optarg;
        else if (c == PRINT_OPT)
            o.print = true;
        else if (c == RUN_OPT)
            o.run = optarg;
        else if (c == TIMELINE_OPT)
            o.timeline = optarg;
        else if (c == SET_OPT && o.n_changes < MOST_CHANGES)
            o.changes[o.n_changes++] = optarg;
        else if (c == SET_OPT)
            return cuzk_cli_usage("simulate", "more than %d --set", MOST_CHANGES);
        else
            return cuzk_cli_bad_option("simulate", c, argv);
    }
    const int n = argc - optind;
    if (n != (o.preset ? 0 : 1))
        return cuzk_cli_usage("simulate", "wants one FILE or --preset NAME");
    if (o.print && !o.preset) return cuzk_cli_usage("simulate", "--print wants --preset");
    o.file = o.preset ? NULL : argv[optind];
    return o.preset ? simulate_preset(&o) : simulate_file(&o);
}
