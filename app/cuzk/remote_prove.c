#include "remote_prove.h"

#include "base/json_pull.h"
#include "base/units.h"
#include "cli.h"
#include "remote_job.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static const char circom_usage[] = "usage: cuzk prove --addr ADDR [OPTIONS] KEY WTNS PROOF PUBLIC\n"
                                   "\n"
                                   "Has a running cuzkd prove a witness. KEY is the name of a key "
                                   "in the daemon's zkey directory, or\n"
                                   "its digest. PROOF and PUBLIC are written as snarkjs does.\n\n";
static const char filecoin_usage[] = "usage: cuzk %s prove --addr ADDR [OPTIONS] IN OUT\n"
                                     "\n"
                                     "Has a running cuzkd prove IN and writes OUT, which the "
                                     "daemon verified: 192 bytes a partition.\n"
                                     "IN is what `cuzk %s prove` takes.\n\n";
static const char usage[] =
    "  --timeout TIME      wait so long at most (exit code 6); the job goes on\n"
    "  --json              the job's state and times on stdout\n";
static const char facts_usage[] =
    "  --miner N, --sector N, --registered-proof N   what a C1 output does not say\n";

enum { OPT_MINER = CUZK_OPT_VERB, OPT_SECTOR, OPT_TYPE };

typedef struct proving {
    cuzk_remote remote;
    cuzk_submit_opts submit;
    cuzk_porep_facts facts;
    cuzk_engine_kind kind;
    uint64_t timeout_ns;
    const char *key, *in, *out, *publics;
} proving;

/* ---- outputs ---- */

/* The text of a member of a flat walk over {"proof": …, "public": …}. */
static cuzk_status member(const cuzk_buf *answer, const char *name, const char **text, size_t *n,
                          cuzk_err *err) {
    cuzk_pull j;
    const char *key;
    cuzk_pull_init(&j, (const uint8_t *)answer->data, answer->len, "the daemon's answer", err);
    CUZK_TRY(cuzk_pull_object(&j));
    for (;;) {
        CUZK_TRY(cuzk_pull_key(&j, &key));
        if (!key) return cuzk_err_set(err, CUZK_STATUS_IO, "the daemon's answer has no `%s`", name);
        const bool found = strcmp(key, name) == 0;
        (void)cuzk_pull_peek(&j);
        const uint8_t *begin = j.p;
        CUZK_TRY(cuzk_pull_skip(&j));
        if (!found) continue;
        *text = (const char *)begin;
        *n = (size_t)(j.p - begin);
        return CUZK_OK;
    }
}

/* Both are complete on disk before the first appears. */
static cuzk_status write_circom(const proving *p, const cuzk_buf *answer, cuzk_err *err) {
    static const char *const names[] = {"proof", "public"};
    const char *paths[] = {p->out, p->publics}, *text[2];
    size_t n[2];
    cuzk_out out[2] = {{.fd = -1}, {.fd = -1}};
    cuzk_status st = CUZK_OK;
    for (int i = 0; i < 2 && st == CUZK_OK; i++)
        st = member(answer, names[i], &text[i], &n[i], err);
    for (int i = 0; i < 2 && st == CUZK_OK; i++) {
        st = cuzk_out_open(&out[i], paths[i], err);
        if (st == CUZK_OK) st = cuzk_out_write(&out[i], text[i], n[i], err);
        if (st == CUZK_OK) st = cuzk_out_sync(&out[i], err);
    }
    for (int i = 0; i < 2; i++) {
        if (st == CUZK_OK)
            st = cuzk_out_commit(&out[i], err);
        else
            cuzk_out_abort(&out[i]);
    }
    return st;
}

/* ---- the whole ---- */

static int prove(proving *p) {
    cuzk_job_input in;
    cuzk_rpc_submitted submitted;
    cuzk_engine_job job;
    cuzk_err err = {0};
    cuzk_buf proof = CUZK_BUF_INIT, report = CUZK_BUF_INIT;
    cuzk_remote *r = &p->remote;
    cuzk_status st = cuzk_job_input_open(&in, p->kind, p->key, p->in, &p->facts, &err);
    if (st == CUZK_OK) st = cuzk_remote_submit(r, &in, &p->submit, &submitted, &err);
    cuzk_job_input_close(&in);
    if (st == CUZK_OK)
        st = cuzk_remote_wait(r, submitted.job_id, (int64_t)p->timeout_ns, &job, &proof, &err);
    if (st == CUZK_OK)
        st = p->kind == CUZK_ENGINE_CIRCOM ? write_circom(p, &proof, &err)
                                           : cuzk_write_file(p->out, proof.data, proof.len, &err);
    cuzk_buf_free(&proof);
    if (st == CUZK_OK && r->json) {
        cuzk_rpc_job_json(&report, &job);
        cuzk_buf_puts(&report, "\n");
    }
    return cuzk_remote_finish(r, st, &report, &err);
}

static int help(const proving *p) {
    const bool circom = p->kind == CUZK_ENGINE_CIRCOM;
    if (circom)
        fputs(circom_usage, stdout);
    else
        printf(filecoin_usage, p->remote.verb, p->remote.verb);
    fputs(usage, stdout);
    if (p->kind == CUZK_ENGINE_POREP) fputs(facts_usage, stdout);
    fputs(cuzk_submit_help, stdout);
    return cuzk_cli_help(p->remote.verb, cuzk_remote_help);
}

/* Of what a C1 output does not say. -1: taken; -2: another option. */
static int fact(proving *p, int c, const char *value) {
    uint64_t n;
    if (c < OPT_MINER || c > OPT_TYPE) return -2;
    if (p->kind != CUZK_ENGINE_POREP)
        return cuzk_cli_usage(p->remote.verb, "--miner, --sector and --registered-proof are for "
                                              "porep: a request says these itself");
    if (c == OPT_MINER)
        p->facts.has_miner = cuzk_cli_number(value, 0, UINT64_MAX, &p->facts.miner);
    else if (c == OPT_SECTOR)
        p->facts.has_sector = cuzk_cli_number(value, 0, UINT64_MAX, &p->facts.sector);
    else
        p->facts.type = cuzk_cli_number(value, 0, CUZK_SEAL_TYPES - 1, &n)
                            ? cuzk_seal_type_at(n)
                            : cuzk_seal_type_find(value, strlen(value));
    const bool ok = c == OPT_MINER    ? p->facts.has_miner
                    : c == OPT_SECTOR ? p->facts.has_sector
                                      : p->facts.type != NULL;
    return ok ? -1 : cuzk_cli_usage(p->remote.verb, "%s: not a value of that option", value);
}

static int words(proving *p, int n, char **w) {
    if (p->kind == CUZK_ENGINE_CIRCOM) {
        if (n != 4)
            return cuzk_cli_usage("prove", "wants KEY WTNS PROOF PUBLIC, got %d arguments", n);
        p->key = w[0];
        p->in = w[1];
        p->out = w[2];
        p->publics = w[3];
    } else {
        if (n != 3 || strcmp(w[0], "prove") != 0)
            return cuzk_cli_usage(p->remote.verb, "--addr wants `prove IN OUT`");
        p->in = w[1];
        p->out = w[2];
    }
    const char *outs[] = {p->out, p->publics};
    return cuzk_cli_distinct(p->remote.verb, (const char *const *)&p->in, 1,
                             (const char *const *)outs, p->publics ? 2 : 1);
}

int cuzk_remote_prove(const char *verb, int argc, char **argv) {
    static const struct option longs[] = {CUZK_REMOTE_LONGS,
                                          CUZK_COMMON_LONGS,
                                          CUZK_SUBMIT_LONGS,
                                          {"timeout", required_argument, NULL, CUZK_OPT_TIMEOUT},
                                          {"miner", required_argument, NULL, OPT_MINER},
                                          {"sector", required_argument, NULL, OPT_SECTOR},
                                          {"registered-proof", required_argument, NULL, OPT_TYPE},
                                          {NULL, 0, NULL, 0}};
    proving p = {.remote = {.verb = verb}, .kind = CUZK_ENGINE_CIRCOM};
    int c;
    (void)cuzk_job_kind_parse(verb, &p.kind);
    opterr = 0;
    while ((c = getopt_long(argc, argv, ":h", longs, NULL)) != -1) {
        if (c == 'h' || c == CUZK_OPT_HELP) return help(&p);
        if (cuzk_remote_option(&p.remote, c, optarg)) continue;
        int code = cuzk_submit_option(&p.submit, verb, c, optarg);
        if (code == -2) code = fact(&p, c, optarg);
        if (code == -2 && c == CUZK_OPT_TIMEOUT) {
            code = -1;
            if (!cuzk_parse_duration(optarg, &p.timeout_ns) || p.timeout_ns > INT64_MAX)
                code = cuzk_cli_usage(verb, "--timeout %s: a time such as 10m", optarg);
        }
        if (code == -2) return cuzk_cli_bad_option(verb, c, argv);
        if (code >= 0) return code;
    }
    const int code = words(&p, argc - optind, argv + optind);
    return code ? code : prove(&p);
}
