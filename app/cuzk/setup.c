#include "cli.h"
#include "verbs.h"

#include "api/device.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/mem.h"
#include "circuit/circuits.h"
#include "format/r1cs.h"
#include "groth16/setup.h"
#include "keys/keys.h"

#include <stdio.h>
#include <string.h>

static const char help[] =
    "usage: cuzk setup [OPTIONS] R1CS ZKEY --insecure-seed HEX\n"
    "       cuzk setup [OPTIONS] --circuit NAME --insecure-seed HEX [DIR]\n"
    "       cuzk setup [OPTIONS] --circuit NAME --insecure-toxic ALPHA,BETA,GAMMA,DELTA,TAU [DIR]\n"
    "\n"
    "Makes Groth16 keys for development and tests: the secrets of the setup follow from the seed,\n"
    "so whoever knows the seed can forge proofs. Use a ceremony (snarkjs `groth16 setup`, `zkey\n"
    "contribute`) for keys that protect anything. The same seed gives the same files.\n"
    "\n"
    "R1CS is a circuit compiled by circom, ZKEY the key that is written; snarkjs and rapidsnark\n"
    "prove with it too. A ZKEY that is there is replaced when this verb made it; no other file "
    "is.\n"
    "\n"
    "With --circuit, for a circuit of Filecoin (`cuzk circuit list`): writes the .params, .vk and\n"
    ".meta under the published names, and beside them a file .insecure, without which no program\n"
    "takes them (and with it only when told --allow-insecure-keys). Published keys are never\n"
    "overwritten. DIR is made when missing; left out: FIL_PROOFS_PARAMETER_CACHE, or Filecoin's\n"
    "default. porep-2k takes a minute on two cores and 1.1 GB.\n"
    "\n"
    "  --insecure-seed HEX   an even number of hexadecimal digits, up to 128\n"
    "  --insecure-toxic A,B,G,D,T\n"
    "                        the secrets themselves, decimal\n"
    "  --device cpu|cuda[:N] where points are multiplied out; cpu is the default. The files are\n"
    "                        the same; a device that is not there is an error (exit code 5)\n"
    "  --threads N           threads to use; 0 (default): one per core\n"
    "  --json                report points, times and bytes moved as JSON on stdout\n"
    "\n"
    "example: cuzk setup circuit.r1cs circuit.zkey --insecure-seed 00\n"
    "example: cuzk setup --circuit porep-2k --insecure-seed 00 ./params\n";

enum { SEED_MAX = 64 };

typedef struct {
    const char *r1cs, *zkey;
    const char *circuit, *dir;
    unsigned threads;
    bool json;
    cuzk_device device;
    uint8_t seed[SEED_MAX];
    size_t seed_len;
    bool has_toxic;
    cuzk_u256 toxic[5]; /* plain: alpha, beta, gamma, delta, tau */
} options;

static int hex_digit(char c) {
    if (c >= '0' && c <= '9') return c - '0';
    if (c >= 'a' && c <= 'f') return c - 'a' + 10;
    if (c >= 'A' && c <= 'F') return c - 'A' + 10;
    return -1;
}

static bool parse_seed(const char *text, options *o) {
    size_t n = strlen(text);
    if (n == 0 || n % 2 || n > 2 * SEED_MAX) return false;
    for (size_t i = 0; i < n; i += 2) {
        int hi = hex_digit(text[i]), lo = hex_digit(text[i + 1]);
        if (hi < 0 || lo < 0) return false;
        o->seed[i / 2] = (uint8_t)(hi << 4 | lo);
    }
    o->seed_len = n / 2;
    return true;
}

static bool parse_toxic(const char *text, options *o) {
    o->has_toxic = true;
    for (int i = 0; i < 5; i++) {
        const size_t n = strcspn(text, ",");
        if (!cuzk_cli_scalar(text, n, o->toxic[i].l)) return false;
        text += n;
        if (i < 4 && *text++ != ',') return false;
    }
    return *text == 0;
}

static int wants(const options *o, int argc, char **argv) {
    const int n = argc - optind;
    if (o->has_toxic && o->seed_len)
        return cuzk_cli_usage("setup", "--insecure-seed and --insecure-toxic exclude one another");
    if (o->has_toxic && !o->circuit)
        return cuzk_cli_usage("setup", "--insecure-toxic goes with --circuit");
    if (!o->has_toxic && o->seed_len == 0)
        return cuzk_cli_usage("setup", "--insecure-seed HEX is required: this verb makes "
                                       "development keys only");
    if (o->circuit && n > 1)
        return cuzk_cli_usage("setup", "wants one DIR with --circuit, got %d arguments", n);
    if (!o->circuit && n != 2)
        return cuzk_cli_usage("setup", "wants R1CS ZKEY, got %d arguments", n);
    if (o->circuit && !cuzk_circuit_find(o->circuit))
        return cuzk_cli_usage("setup", "no circuit %s: `cuzk circuit list` names them", o->circuit);
    (void)argv;
    return -1;
}

/* -1: go on; otherwise the exit code. */
static int parse(int argc, char **argv, options *o) {
    static const struct option longs[] = {
        {"circuit", required_argument, NULL, 'c'},
        {"insecure-seed", required_argument, NULL, 's'},
        {"insecure-toxic", required_argument, NULL, 'x'},
        {"threads", required_argument, NULL, 't'},
        {"device", required_argument, NULL, 'd'},
        {"json", no_argument, NULL, 'j'},
        {"help", no_argument, NULL, 'h'},
        {NULL, 0, NULL, 0},
    };
    int c;
    opterr = 0;
    while ((c = getopt_long(argc, argv, ":h", longs, NULL)) != -1) {
        if (c == 'h') return cuzk_cli_help("setup", help);
        if (c == 's') {
            if (!parse_seed(optarg, o))
                return cuzk_cli_usage("setup", "--insecure-seed wants an even number of "
                                               "hexadecimal digits, up to 128");
        } else if (c == 'x') {
            if (!parse_toxic(optarg, o))
                return cuzk_cli_usage("setup", "--insecure-toxic wants five decimal numbers "
                                               "ALPHA,BETA,GAMMA,DELTA,TAU");
        } else if (c == 't') {
            if (!cuzk_cli_threads(optarg, &o->threads))
                return cuzk_cli_usage("setup", "--threads %s: not a number up to 4096", optarg);
        } else if (c == 'd') {
            if (!cuzk_device_parse(optarg, &o->device))
                return cuzk_cli_usage("setup", "--device %s: cpu, cuda or cuda:N", optarg);
        } else if (c == 'j') {
            o->json = true;
        } else if (c == 'c') {
            o->circuit = optarg;
        } else {
            return cuzk_cli_bad_option("setup", c, argv);
        }
    }
    const int code = wants(o, argc, argv);
    if (code >= 0) return code;
    if (o->circuit) {
        o->dir = optind < argc ? argv[optind] : cuzk_keys_default_dir();
    } else {
        o->r1cs = argv[optind];
        o->zkey = argv[optind + 1];
        const char *const in[] = {o->r1cs}, *const out[] = {o->zkey};
        if (cuzk_cli_distinct("setup", in, 1, out, 1) != 0) return 2;
    }
    return -1;
}

static cuzk_status given_toxic(const options *o, const cuzk_curve *curve, cuzk_toxic *out,
                               cuzk_err *err) {
    static const cuzk_u256 zero;
    static const char *const names[5] = {"ALPHA", "BETA", "GAMMA", "DELTA", "TAU"};
    cuzk_u256 *to[5] = {&out->alpha, &out->beta, &out->gamma, &out->delta, &out->tau};
    for (int i = 0; i < 5; i++) {
        if (!curve->fr->is_canonical(&o->toxic[i]) || memcmp(&o->toxic[i], &zero, 32) == 0)
            return cuzk_err_set(err, CUZK_STATUS_USAGE,
                                "--insecure-toxic: %s must be above 0 and below r", names[i]);
        curve->fr->to_mont(to[i], &o->toxic[i]);
    }
    return CUZK_OK;
}

/* path: of the key's first or only file. */
static void report(const options *o, const char *path, const cuzk_setup_stats *stats,
                   int64_t total_ns, unsigned threads) {
    const cuzk_multiples_stats *m = &stats->made;
    cuzk_buf b = CUZK_BUF_INIT;
    cuzk_buf_puts(&b, "{\"key\":");
    cuzk_buf_json_str(&b, path);
    cuzk_buf_puts(&b, ",");
    cuzk_device_json(&o->device, &b);
    cuzk_buf_printf(&b,
                    ",\"threads\":%u,\"points_g1\":%llu,\"points_g2\":%llu,\"ms\":%.3f,"
                    "\"points_on\":\"%s\"",
                    threads, (unsigned long long)stats->points[0],
                    (unsigned long long)stats->points[1], (double)total_ns * 1e-6, o->device.word);
    if (o->device.cuda)
        cuzk_buf_printf(&b,
                        ",\"device_ms\":%.3f,\"bytes_to_device\":%llu,"
                        "\"bytes_from_device\":%llu",
                        (double)m->device_ns * 1e-6, (unsigned long long)m->bytes_in,
                        (unsigned long long)m->bytes_out);
    cuzk_buf_puts(&b, "}\n");
    if (cuzk_buf_status(&b) == CUZK_OK) fputs(b.data, stdout);
    cuzk_buf_free(&b);
}

static cuzk_status setup_zkey(const options *o, const cuzk_setup_opts *how, cuzk_toxic *toxic,
                              cuzk_buf *path, cuzk_err *err) {
    cuzk_circom_r1cs *r1cs = NULL;
    cuzk_status st = cuzk_circom_r1cs_open(&r1cs, o->r1cs, err);
    if (st == CUZK_OK) st = cuzk_toxic_from_seed(toxic, r1cs->curve, o->seed, o->seed_len, err);
    if (st == CUZK_OK) st = cuzk_groth16_setup_zkey(r1cs, toxic, o->zkey, how, err);
    cuzk_circom_r1cs_free(r1cs);
    cuzk_buf_puts(path, o->zkey);
    return st;
}

static cuzk_status setup_circuit(const options *o, const cuzk_setup_opts *how, cuzk_toxic *toxic,
                                 cuzk_buf *path, cuzk_err *err) {
    const cuzk_curve *curve = cuzk_curve_get(CUZK_BLS12_381);
    const cuzk_circuit *c = cuzk_circuit_find(o->circuit);
    cuzk_params_name name;
    cuzk_r1cs *r1cs = NULL;
    CUZK_TRY(o->has_toxic ? given_toxic(o, curve, toxic, err)
                          : cuzk_toxic_from_seed(toxic, curve, o->seed, o->seed_len, err));
    CUZK_TRY(cuzk_circuit_compact(&r1cs, c, err));
    const cuzk_status st = cuzk_keys_setup(c, r1cs, toxic, o->dir, how, &name, err);
    if (st == CUZK_OK) cuzk_buf_printf(path, "%s/%s.params", o->dir, name.stem);
    cuzk_r1cs_free(r1cs);
    return st;
}

static cuzk_status make(options *o, cuzk_pool *pool, cuzk_err *err) {
    const int64_t start = cuzk_now_ns();
    cuzk_setup_stats stats = {.points = {0}};
    cuzk_buf path = CUZK_BUF_INIT;
    cuzk_toxic toxic;
    cuzk_status st = cuzk_device_open(&o->device, o->threads, false, err);
    const cuzk_setup_opts how = {
        .pool = pool, .backend = o->device.backend, .progress = stderr, .stats = &stats};
    if (st == CUZK_OK)
        st = o->circuit ? setup_circuit(o, &how, &toxic, &path, err)
                        : setup_zkey(o, &how, &toxic, &path, err);
    cuzk_wipe(&toxic, sizeof toxic);
    if (st == CUZK_OK) st = cuzk_buf_status(&path);
    if (st == CUZK_OK && o->json)
        report(o, path.data, &stats, cuzk_now_ns() - start, cuzk_pool_threads(pool));
    else if (st == CUZK_OK && o->circuit)
        printf("%s\n", path.data);
    cuzk_buf_free(&path);
    cuzk_device_close(&o->device);
    return st;
}

int cuzk_cmd_setup(int argc, char **argv) {
    options o = {0};
    (void)cuzk_device_parse(NULL, &o.device);
    int code = parse(argc, argv, &o);
    if (code >= 0) return code;
    fprintf(stderr,
            "cuzk setup: warning: a development key: whoever knows the %s can forge proofs\n",
            o.has_toxic ? "secrets" : "seed");
    cuzk_err err = {0};
    cuzk_pool *pool = NULL;
    cuzk_status st = cuzk_pool_new(&pool, o.threads);
    if (st != CUZK_OK) cuzk_err_set(&err, st, "cannot start %u threads", o.threads);
    if (st == CUZK_OK) st = make(&o, pool, &err);
    cuzk_wipe(&o, sizeof o);
    cuzk_pool_free(pool);
    if (st != CUZK_OK) return cuzk_cli_fail("setup", st, &err);
    return cuzk_cli_flush("setup", 0);
}
