#include "cli.h"
#ifdef CUZK_HAVE_RPC
#include "remote.h"
#include "remote_prove.h"
#endif
#include "verbs.h"

#include "base/buf.h"
#include "base/file.h"
#include "engine/trace/trace.h"

#include <stdio.h>
#include <string.h>

static const char help[] =
    "usage: cuzk timeline LOG [--svg OUT] [--json]\n"
    "       cuzk timeline --addr ADDR [--svg OUT] [--save LOG] [--json]\n"
    "\n"
    "Reads the TIMELINE lines of an engine's log (of cuzk, of `cuzk simulate --timeline`, of\n"
    "Curio's engine; other lines are passed over) and says how busy each device was, why it was\n"
    "not busier, and what the result that came last waited for.\n"
    "\n"
    "--addr takes the last minutes of a running cuzkd instead of a log (and --token-file, "
    "--tls-ca\n"
    "and so on, as `cuzk status` does).\n"
    "\n"
    "  --save LOG  keep the daemon's lines\n"
    "  --svg OUT   draw it: witnesses, each device's kernels and slots, a colour a job\n"
    "  --json      one JSON object\n"
    "\n"
    "A gap in a device's work is put down to what the partition that ran next was doing: its\n"
    "witness had not begun (no work), was being made, it was ready and had no slot (queued), or\n"
    "it was on its way to the device (staging).\n"
    "\n"
    "example: cuzk simulate --preset daemon --run two-workers --timeline t.csv\n"
    "         cuzk timeline t.csv --svg t.svg\n";

enum { JSON_OPT = 256, SVG_OPT, SAVE_OPT };

static void put_gaps(cuzk_buf *out, const cuzk_trace_device *d, bool json) {
    for (cuzk_trace_cause c = 0; c < CUZK_TRACE_CAUSES; c++)
        cuzk_buf_printf(out, json ? "%s\"%s\":%.6f" : "%s%s %.3f s", c ? (json ? "," : ", ") : "",
                        cuzk_trace_cause_name(c), d->gaps[c]);
}

static void put_json(cuzk_buf *out, const cuzk_trace_summary *s, size_t ignored) {
    cuzk_buf_printf(out,
                    "{\"wall\":%.6f,\"jobs\":%u,\"partitions\":%u,\"unfinished\":%u,"
                    "\"ignored_lines\":%zu,\"witness_mean\":%.6f,\"kernels_mean\":%.6f,"
                    "\"witnesses_at_a_time\":%.4f,\"devices\":[",
                    s->wall, s->jobs, s->partitions, s->unfinished, ignored, s->witness_mean,
                    s->kernels_mean, s->witnesses_at_a_time);
    for (uint32_t d = 0; d < s->n_devices; d++) {
        const cuzk_trace_device *dev = &s->devices[d];
        cuzk_buf_printf(out,
                        "%s{\"device\":%u,\"partitions\":%u,\"span\":%.6f,\"busy\":%.6f,"
                        "\"efficiency\":%.3f,\"gaps\":{",
                        d ? "," : "", d, dev->partitions, dev->span, dev->busy, dev->efficiency);
        put_gaps(out, dev, true);
        cuzk_buf_puts(out, "}}");
    }
    cuzk_buf_printf(out,
                    "],\"critical_path\":{\"before\":%.6f,\"witness\":%.6f,\"queued\":%.6f,"
                    "\"staging\":%.6f,\"kernels\":%.6f}}\n",
                    s->path_before, s->path_witness, s->path_queued, s->path_staging,
                    s->path_kernels);
}

static void put_text(cuzk_buf *out, const cuzk_trace_summary *s, size_t ignored) {
    cuzk_buf_printf(out, "time           %.3f s; %u jobs, %u partitions", s->wall, s->jobs,
                    s->partitions);
    if (s->unfinished) cuzk_buf_printf(out, ", %u unfinished", s->unfinished);
    if (ignored) cuzk_buf_printf(out, "; %zu TIMELINE lines not understood", ignored);
    cuzk_buf_printf(out, "\nwitnesses      %.3f s each, %.1f at a time\n", s->witness_mean,
                    s->witnesses_at_a_time);
    cuzk_buf_printf(out, "kernels        %.3f s a partition\n", s->kernels_mean);
    for (uint32_t d = 0; d < s->n_devices; d++) {
        const cuzk_trace_device *dev = &s->devices[d];
        if (dev->partitions == 0) continue;
        cuzk_buf_printf(
            out,
            "device %-2u      %u partitions; busy %.1f %% of all the time, %.1f %% from "
            "first kernel to last\n",
            d, dev->partitions, dev->efficiency, dev->span > 0 ? 100 * dev->busy / dev->span : 100);
        cuzk_buf_puts(out, "  gaps         ");
        put_gaps(out, dev, false);
        cuzk_buf_puts(out, "\n");
    }
    cuzk_buf_printf(out,
                    "critical path  before %.3f s, witness %.3f s, queued %.3f s, staging %.3f s, "
                    "kernels %.3f s\n",
                    s->path_before, s->path_witness, s->path_queued, s->path_staging,
                    s->path_kernels);
}

static cuzk_status draw(const char *path, const cuzk_trace *t, cuzk_err *err) {
    cuzk_buf svg = CUZK_BUF_INIT;
    cuzk_status st = cuzk_trace_svg(&svg, t);
    if (st == CUZK_OK)
        st = cuzk_write_file(path, svg.data, svg.len, err);
    else
        (void)cuzk_err_set(err, st, "not enough memory for the picture");
    cuzk_buf_free(&svg);
    return st;
}

static cuzk_status timeline(const char *log, const char *text, size_t len, const char *svg,
                            bool json, cuzk_err *err) {
    cuzk_trace t = {0};
    cuzk_trace_summary sum;
    cuzk_buf out = CUZK_BUF_INIT;
    cuzk_status st = cuzk_trace_read(&t, text, len);
    if (st != CUZK_OK) (void)cuzk_err_set(err, st, "not enough memory for the timeline");
    if (st == CUZK_OK) {
        st = cuzk_trace_sum(&sum, &t, err);
        if (st == CUZK_STATUS_BAD_INPUT) st = cuzk_err_prefix(err, st, "%s", log);
    }
    if (st == CUZK_OK && svg) st = draw(svg, &t, err);
    if (st == CUZK_OK) {
        (json ? put_json : put_text)(&out, &sum, t.ignored);
        st = cuzk_buf_status(&out);
    }
    if (st == CUZK_OK && (fputs(out.data, stdout) < 0 || fflush(stdout) != 0))
        st = cuzk_err_set(err, CUZK_STATUS_IO, "cannot write the report");
    cuzk_buf_free(&out);
    cuzk_trace_free(&t);
    return st;
}

static cuzk_status of_file(const char *log, const char *svg, bool json, cuzk_err *err) {
    cuzk_map map;
    CUZK_TRY(cuzk_map_file(&map, log, err));
    const cuzk_status st = timeline(log, (const char *)map.data, map.len, svg, json, err);
    cuzk_map_close(&map);
    return st;
}

#ifdef CUZK_HAVE_RPC
static int of_daemon(cuzk_remote *r, const char *svg, const char *save, cuzk_err *err) {
    cuzk_buf lines = CUZK_BUF_INIT;
    cuzk_status st = cuzk_remote_open(r, err);
    if (st == CUZK_OK) st = cuzk_rpc_trace(r->client, CUZK_RPC_TRACE_CSV, &lines, err);
    const char *text = lines.data ? lines.data : "";
    if (st == CUZK_OK && save) st = cuzk_write_file(save, text, lines.len, err);
    if (st == CUZK_OK) st = timeline(r->addr, text, lines.len, svg, r->json, err);
    cuzk_buf_free(&lines);
    return cuzk_remote_finish(r, st, NULL, err);
}

/* `cuzk timeline --addr`. */
static int remote(int argc, char **argv) {
    static const struct option longs[] = {CUZK_REMOTE_LONGS,
                                          CUZK_COMMON_LONGS,
                                          {"svg", required_argument, NULL, SVG_OPT},
                                          {"save", required_argument, NULL, SAVE_OPT},
                                          {NULL, 0, NULL, 0}};
    cuzk_remote r = {.verb = "timeline"};
    const char *svg = NULL, *save = NULL;
    cuzk_err err = {0};
    int c;
    opterr = 0;
    while ((c = getopt_long(argc, argv, ":h", longs, NULL)) != -1) {
        if (c == 'h' || c == CUZK_OPT_HELP) return cuzk_cli_help("timeline", help);
        if (cuzk_remote_option(&r, c, optarg)) continue;
        if (c == SVG_OPT)
            svg = optarg;
        else if (c == SAVE_OPT)
            save = optarg;
        else
            return cuzk_cli_bad_option("timeline", c, argv);
    }
    if (argc != optind) return cuzk_cli_usage("timeline", "takes no LOG with --addr");
    return of_daemon(&r, svg, save, &err);
}
#endif

int cuzk_cmd_timeline(int argc, char **argv) {
    static const struct option longs[] = {{"help", no_argument, NULL, 'h'},
                                          {"json", no_argument, NULL, JSON_OPT},
                                          {"svg", required_argument, NULL, SVG_OPT},
                                          {NULL, 0, NULL, 0}};
    const char *svg = NULL;
    bool json = false;
    cuzk_err err = {0};
    int c;
#ifdef CUZK_HAVE_RPC
    if (cuzk_cli_addr_given(argc, argv)) return remote(argc, argv);
#endif
    opterr = 0;
    while ((c = getopt_long(argc, argv, ":h", longs, NULL)) != -1) {
        if (c == 'h') return fputs(help, stdout) < 0 || fflush(stdout) != 0 ? 4 : 0;
        if (c == JSON_OPT)
            json = true;
        else if (c == SVG_OPT)
            svg = optarg;
        else
            return cuzk_cli_bad_option("timeline", c, argv);
    }
    if (argc - optind != 1) return cuzk_cli_usage("timeline", "wants one LOG");
    const cuzk_status st = of_file(argv[optind], svg, json, &err);
    return st == CUZK_OK ? 0 : cuzk_cli_fail("timeline", st, &err);
}
