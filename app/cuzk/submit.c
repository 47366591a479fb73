/* `cuzk submit`, `cuzk await`. */
#include "cli.h"
#include "remote_job.h"
#include "verbs.h"

#include "base/units.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static const char submit_usage[] =
    "usage: cuzk submit [OPTIONS] porep|wpost|winning|snap FILE\n"
    "       cuzk submit [OPTIONS] circom KEY WITNESS.wtns\n"
    "\n"
    "Gives a job to a running cuzkd and prints its id, as soon as the daemon has it on disk: from\n"
    "then on it is proved whatever happens. `cuzk await` fetches the proof.\n"
    "FILE is what `cuzk porep prove` and the like take; KEY is a name of the daemon's zkey\n"
    "directory.\n"
    "\n"
    "  --miner N, --sector N, --registered-proof N   what a C1 output does not say\n"
    "  --json              {\"job_id\", \"queue_position\", \"queue_depth\", \"existed\", "
    "\"device\"}\n";

static const char submit_example[] =
    "\nexample: job=$(cuzk submit porep c1.json --priority high) && cuzk await $job proof.bin\n";

static const char await_usage[] =
    "usage: cuzk await [OPTIONS] JOB [OUT]\n"
    "\n"
    "Waits until a job ends, and writes its proof to OUT: 192 bytes a partition, or of circom a "
    "JSON\n"
    "object with proof and public signals. JOB is its id or the request id. A daemon that "
    "restarts\n"
    "meanwhile is waited for. Waiting can be interrupted and begun again.\n"
    "\n"
    "  --timeout TIME      wait so long at most (exit code 6)\n"
    "  --json              the job's state and times on stdout\n";

static const char await_example[] = "\nexample: cuzk await 3f2a-17 proof.bin --timeout 10m\n";

enum { OPT_MINER = CUZK_OPT_VERB, OPT_SECTOR, OPT_TYPE };

/* ---- submit ---- */

static int fact(int c, const char *value, cuzk_porep_facts *facts) {
    uint64_t n;
    switch (c) {
    case OPT_MINER:
        facts->has_miner = cuzk_cli_number(value, 0, UINT64_MAX, &facts->miner);
        return facts->has_miner ? -1 : cuzk_cli_usage("submit", "--miner %s: not a number", value);
    case OPT_SECTOR:
        facts->has_sector = cuzk_cli_number(value, 0, UINT64_MAX, &facts->sector);
        return facts->has_sector ? -1
                                 : cuzk_cli_usage("submit", "--sector %s: not a number", value);
    case OPT_TYPE:
        facts->type = cuzk_cli_number(value, 0, CUZK_SEAL_TYPES - 1, &n)
                          ? cuzk_seal_type_at(n)
                          : cuzk_seal_type_find(value, strlen(value));
        return facts->type ? -1
                           : cuzk_cli_usage("submit",
                                            "--registered-proof %s: a number from 0 to 19 or a "
                                            "name such as StackedDrg32GiBV1_1",
                                            value);
    default:
        return -2;
    }
}

static void put_submitted(cuzk_buf *out, const cuzk_rpc_submitted *s, bool json) {
    if (!json) {
        cuzk_buf_printf(out, "%s\n", s->job_id);
        return;
    }
    cuzk_buf_puts(out, "{\"job_id\":");
    cuzk_buf_json_str(out, s->job_id);
    cuzk_buf_printf(out, ",\"queue_position\":%" PRIu32 ",\"queue_depth\":%" PRIu32, s->position,
                    s->depth);
    cuzk_buf_printf(out, ",\"existed\":%s,\"device\":", s->existed ? "true" : "false");
    cuzk_buf_json_str(out, s->device);
    cuzk_buf_puts(out, "}\n");
}

static int submit(cuzk_remote *r, char **words, int n, const cuzk_submit_opts *o,
                  const cuzk_porep_facts *facts) {
    cuzk_engine_kind kind;
    cuzk_job_input in;
    cuzk_rpc_submitted done;
    cuzk_err err = {0};
    cuzk_buf out = CUZK_BUF_INIT;
    if (n < 2 || !cuzk_job_kind_parse(words[0], &kind))
        return cuzk_cli_usage("submit", "wants a kind (porep, wpost, winning, snap, circom) and a "
                                        "file");
    const bool circom = kind == CUZK_ENGINE_CIRCOM;
    if (n != (circom ? 3 : 2))
        return cuzk_cli_usage("submit",
                              circom ? "circom wants KEY WITNESS.wtns" : "takes one file");
    cuzk_status st =
        cuzk_job_input_open(&in, kind, circom ? words[1] : NULL, words[n - 1], facts, &err);
    if (st == CUZK_OK) st = cuzk_remote_submit(r, &in, o, &done, &err);
    cuzk_job_input_close(&in);
    if (st == CUZK_OK) put_submitted(&out, &done, r->json);
    return cuzk_remote_finish(r, st, &out, &err);
}

int cuzk_cmd_submit(int argc, char **argv) {
    static const struct option longs[] = {CUZK_REMOTE_LONGS,
                                          CUZK_COMMON_LONGS,
                                          CUZK_SUBMIT_LONGS,
                                          {"miner", required_argument, NULL, OPT_MINER},
                                          {"sector", required_argument, NULL, OPT_SECTOR},
                                          {"registered-proof", required_argument, NULL, OPT_TYPE},
                                          {NULL, 0, NULL, 0}};
    cuzk_remote r = {.verb = "submit"};
    cuzk_submit_opts o = {0};
    cuzk_porep_facts facts = {0};
    int c;
    opterr = 0;
    while ((c = getopt_long(argc, argv, ":h", longs, NULL)) != -1) {
        if (c == 'h' || c == CUZK_OPT_HELP) {
            fputs(submit_usage, stdout);
            fputs(cuzk_submit_help, stdout);
            fputs(cuzk_remote_help, stdout);
            return cuzk_cli_help("submit", submit_example);
        }
        if (cuzk_remote_option(&r, c, optarg)) continue;
        int code = cuzk_submit_option(&o, "submit", c, optarg);
        if (code == -2) code = fact(c, optarg, &facts);
        if (code == -2) return cuzk_cli_bad_option("submit", c, argv);
        if (code >= 0) return code;
    }
    return submit(&r, argv + optind, argc - optind, &o, &facts);
}

/* ---- await ---- */

static int await_job(cuzk_remote *r, const char *id, const char *file, uint64_t timeout_ns) {
    cuzk_engine_job job;
    cuzk_err err = {0};
    cuzk_buf proof = CUZK_BUF_INIT, out = CUZK_BUF_INIT;
    cuzk_status st = cuzk_remote_open(r, &err);
    if (st == CUZK_OK) st = cuzk_remote_wait(r, id, (int64_t)timeout_ns, &job, &proof, &err);
    if (st == CUZK_OK && file) st = cuzk_write_file(file, proof.data, proof.len, &err);
    cuzk_buf_free(&proof);
    if (st == CUZK_OK && r->json) {
        cuzk_rpc_job_json(&out, &job);
        cuzk_buf_puts(&out, "\n");
    } else if (st == CUZK_OK) {
        cuzk_remote_put_job(&out, &job);
    }
    return cuzk_remote_finish(r, st, &out, &err);
}

int cuzk_cmd_await(int argc, char **argv) {
    static const struct option longs[] = {CUZK_REMOTE_LONGS,
                                          CUZK_COMMON_LONGS,
                                          {"timeout", required_argument, NULL, CUZK_OPT_TIMEOUT},
                                          {NULL, 0, NULL, 0}};
    cuzk_remote r = {.verb = "await"};
    uint64_t timeout = 0;
    int c;
    opterr = 0;
    while ((c = getopt_long(argc, argv, ":h", longs, NULL)) != -1) {
        if (c == 'h' || c == CUZK_OPT_HELP) {
            fputs(await_usage, stdout);
            fputs(cuzk_remote_help, stdout);
            return cuzk_cli_help("await", await_example);
        }
        if (cuzk_remote_option(&r, c, optarg)) continue;
        if (c != CUZK_OPT_TIMEOUT) return cuzk_cli_bad_option("await", c, argv);
        if (!cuzk_parse_duration(optarg, &timeout) || timeout > INT64_MAX)
            return cuzk_cli_usage("await", "--timeout %s: a time such as 10m", optarg);
    }
    if (argc - optind < 1 || argc - optind > 2)
        return cuzk_cli_usage("await", "wants JOB and perhaps OUT");
    return await_job(&r, argv[optind], argc - optind == 2 ? argv[optind + 1] : NULL, timeout);
}
