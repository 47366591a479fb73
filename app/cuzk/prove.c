#include "cli.h"
#include "remote_prove.h"
#include "verbs.h"

#include "api/device.h"
#include "api/key.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/mem.h"
#include "format/json_docs.h"
#include "format/wtns.h"
#include "format/zkey.h"
#include "groth16/groth16.h"

#include <stdio.h>
#include <string.h>

static const char help[] =
    "usage: cuzk prove [OPTIONS] ZKEY WTNS PROOF PUBLIC\n"
    "\n"
    "Makes a Groth16 proof from circom's proving key and witness, checks it against the key, and\n"
    "writes PROOF and PUBLIC as snarkjs does (byte for byte the same form). Both curves, bn128 "
    "and\n"
    "bls12381, are recognised from the key. Nothing is written unless the proof is valid.\n"
    "\n"
    "  --device cpu|cuda[:N]       where to compute; cpu is the default. A device that is not "
    "there\n"
    "                              is an error (exit code 5), never another place\n"
    "  --vram SIZE                 take at most so much of the device's memory (16GiB); a key "
    "that\n"
    "                              does not fit stays on the host and is streamed\n"
    "  --threads N                 threads to use; 0 (default): one per core\n"
    "  --impl auto|ifma|asm|portable  arithmetic to use; the proof is the same\n"
    "  --json                      report stages and sizes as JSON on stdout\n"
    "  --insecure-blinding R,S     fixed blinding (decimal), for tests: such a proof is not\n"
    "                              zero-knowledge\n"
    "  --addr ADDR                 let a running cuzkd prove, which has the key: `cuzk prove "
    "--addr\n"
    "                              ADDR --help`\n"
    "\n"
    "exit codes: 1 when the witness does not satisfy the circuit, 3 for a malformed key or\n"
    "witness; see `cuzk --help`.\n"
    "\n"
    "example: cuzk prove circuit_final.zkey witness.wtns proof.json public.json\n";

typedef struct {
    const char *zkey, *wtns, *proof, *publics, *vram;
    unsigned threads;
    cuzk_cpu_impl impl;
    bool json, fixed;
    cuzk_u256 r, s;
    cuzk_device device;
} options;

static bool parse_blinding(const char *text, options *o) {
    const char *comma = strchr(text, ',');
    if (!comma) return false;
    o->fixed = true;
    return cuzk_cli_scalar(text, (size_t)(comma - text), o->r.l) &&
           cuzk_cli_scalar(comma + 1, strlen(comma + 1), o->s.l);
}

/* -1: go on; otherwise the exit code. */
static int parse(int argc, char **argv, options *o) {
    static const struct option longs[] = {
        {"threads", required_argument, NULL, 't'},
        {"impl", required_argument, NULL, 'i'},
        {"device", required_argument, NULL, 'd'},
        {"vram", required_argument, NULL, 'v'},
        {"json", no_argument, NULL, 'j'},
        {"insecure-blinding", required_argument, NULL, 'b'},
        {"help", no_argument, NULL, 'h'},
        {NULL, 0, NULL, 0},
    };
    int c;
    opterr = 0;
    while ((c = getopt_long(argc, argv, ":h", longs, NULL)) != -1) {
        if (c == 'h') return cuzk_cli_help("prove", help);
        if (c == 'j') {
            o->json = true;
        } else if (c == 't') {
            if (!cuzk_cli_threads(optarg, &o->threads))
                return cuzk_cli_usage("prove", "--threads %s: not a number up to 4096", optarg);
        } else if (c == 'i') {
            if (!cuzk_cli_impl(optarg, &o->impl))
                return cuzk_cli_usage("prove", "--impl %s: auto, ifma, asm or portable", optarg);
        } else if (c == 'd') {
            if (!cuzk_device_parse(optarg, &o->device))
                return cuzk_cli_usage("prove", "--device %s: cpu, cuda or cuda:N", optarg);
        } else if (c == 'v') {
            o->vram = optarg;
        } else if (c == 'b') {
            if (!parse_blinding(optarg, o))
                return cuzk_cli_usage("prove", "--insecure-blinding wants two decimal numbers R,S");
        } else {
            return cuzk_cli_bad_option("prove", c, argv);
        }
    }
    if (cuzk_cli_vram("prove", o->vram, o->device.cuda, &o->device.vram) >= 0) return 2;
    if (argc - optind != 4)
        return cuzk_cli_usage("prove", "wants ZKEY WTNS PROOF PUBLIC, got %d arguments",
                              argc - optind);
    o->zkey = argv[optind];
    o->wtns = argv[optind + 1];
    o->proof = argv[optind + 2];
    o->publics = argv[optind + 3];
    const char *const in[] = {o->zkey, o->wtns}, *const out[] = {o->proof, o->publics};
    if (cuzk_cli_distinct("prove", in, 2, out, 2) != 0) return 2;
    return -1;
}

typedef struct {
    cuzk_out out;
    cuzk_status st;
    cuzk_err err;
} output;

/* One file waits for the medium as long as two. */
static void sync_output(void *ctx, size_t i) {
    output *f = (output *)ctx + i;
    f->st = cuzk_out_sync(&f->out, &f->err);
}

/* Both are complete on disk before the first appears. */
static cuzk_status write_outputs(const options *o, const cuzk_proof *proof, const cuzk_zkey *key,
                                 const cuzk_wtns *w, cuzk_pool *pool, cuzk_err *err) {
    cuzk_buf text[2] = {CUZK_BUF_INIT, CUZK_BUF_INIT};
    output f[2] = {{.out.fd = -1}, {.out.fd = -1}};
    const char *path[2] = {o->proof, o->publics};
    cuzk_proof_to_json(proof, CUZK_JSON_SNARKJS, &text[0]);
    cuzk_public_to_json(w->values + 32, key->n_public, CUZK_JSON_SNARKJS, &text[1]);
    cuzk_status st = CUZK_OK;
    for (int i = 0; i < 2 && st == CUZK_OK; i++) {
        st = cuzk_buf_status(&text[i]);
        if (st != CUZK_OK) cuzk_err_set(err, st, "not enough memory for %s", path[i]);
        if (st == CUZK_OK) st = cuzk_out_open(&f[i].out, path[i], err);
        if (st == CUZK_OK) st = cuzk_out_write(&f[i].out, text[i].data, text[i].len, err);
    }
    if (st == CUZK_OK) cuzk_pool_run(pool, 2, sync_output, f);
    for (int i = 0; i < 2 && st == CUZK_OK; i++) {
        st = f[i].st;
        if (st != CUZK_OK) *err = f[i].err;
    }
    for (int i = 0; i < 2; i++) {
        if (st == CUZK_OK)
            st = cuzk_out_commit(&f[i].out, err);
        else
            cuzk_out_abort(&f[i].out);
        cuzk_buf_free(&text[i]);
    }
    return st;
}

static void report(const options *o, const cuzk_key *loaded, const cuzk_prove_stats *stats,
                   int64_t total_ns, unsigned threads) {
    const cuzk_zkey *key = loaded->zkey;
    const cuzk_device *device = cuzk__key_device(loaded);
    cuzk_buf b = CUZK_BUF_INIT;
    if (!device) device = &o->device;
    cuzk_buf_puts(&b, "{\"zkey\":");
    cuzk_buf_json_str(&b, o->zkey);
    cuzk_buf_printf(&b,
                    ",\"curve\":\"%s\",\"wires\":%u,\"public\":%u,\"log2_domain\":%u,"
                    "\"coefficients\":%llu,",
                    key->curve->circom, key->n_vars, key->n_public, key->log2_domain,
                    (unsigned long long)key->n_coefs);
    cuzk_device_json(device, &b);
    cuzk_buf_printf(&b, ",\"threads\":%u,\"verified\":true,\"ms\":%.3f,", threads,
                    (double)total_ns * 1e-6);
    cuzk_device_stages_json(device, stats, &b);
    cuzk_buf_puts(&b, "}\n");
    if (cuzk_buf_status(&b) == CUZK_OK) fputs(b.data, stdout);
    cuzk_buf_free(&b);
}

static cuzk_status run(options *o, cuzk_err *err) {
    int64_t start = cuzk_now_ns();
    cuzk_pool *pool = NULL;
    cuzk_key *key = NULL;
    cuzk_wtns *w = NULL;
    cuzk_proof proof;
    cuzk_prove_stats stats;
    cuzk_status st = cuzk_pool_new(&pool, o->threads);
    if (st != CUZK_OK) cuzk_err_set(err, st, "cannot start %u threads", o->threads);
    /* Bad points are found by the check of the proof, and named then. */
    if (st == CUZK_OK) st = cuzk__key_open(&key, o->zkey, CUZK_ZKEY_CHECK_SHAPE, pool, err);
    if (st == CUZK_OK) st = cuzk_wtns_open(&w, o->wtns, err);
    if (st == CUZK_OK) st = cuzk__key_fits(key->zkey, w, err);
    if (st == CUZK_OK) st = cuzk__key_to_device(key, &o->device, o->threads, false, err);
    if (st == CUZK_OK) {
        cuzk_prove_opts opts = {.impl = o->impl, .pool = pool};
        if (o->fixed) {
            opts.r = &o->r;
            opts.s = &o->s;
        }
        st = cuzk__key_prove_points(key, w, &opts, &proof, &stats, err);
    }
    if (st == CUZK_OK) st = write_outputs(o, &proof, key->zkey, w, pool, err);
    if (st == CUZK_OK && o->json)
        report(o, key, &stats, cuzk_now_ns() - start, cuzk_pool_threads(pool));
    cuzk_wtns_free(w);
    cuzk__key_free(key);
    cuzk_pool_free(pool);
    return st;
}

int cuzk_cmd_prove(int argc, char **argv) {
    options o = {0};
#if defined(CUZK_HAVE_RPC) && !defined(CUZK_HANDS_ON)
    if (cuzk_cli_addr_given(argc, argv)) return cuzk_remote_prove("prove", argc, argv);
#endif
    (void)cuzk_device_parse(NULL, &o.device);
    int code = parse(argc, argv, &o);
    if (code >= 0) return code;
    if (o.fixed)
        fputs("cuzk prove: warning: fixed blinding: this proof does not hide the witness\n",
              stderr);
    cuzk_err err = {0};
    cuzk_status st = run(&o, &err);
    cuzk_wipe(&o.r, sizeof o.r);
    cuzk_wipe(&o.s, sizeof o.s);
    if (st != CUZK_OK) return cuzk_cli_fail("prove", st, &err);
    return cuzk_cli_flush("prove", 0);
}
