#include "cli.h"
#include "verbs.h"

#include "base/mem.h"
#include "format/r1cs.h"
#include "groth16/setup.h"

#include <stdio.h>
#include <string.h>

static const char help[] =
    "usage: cuzk setup R1CS ZKEY --insecure-seed HEX [--threads N]\n"
    "\n"
    "Makes a Groth16 proving key for a circuit compiled by circom, for development and tests: the\n"
    "secrets of the setup follow from the seed, so whoever knows the seed can forge proofs. Use a\n"
    "ceremony (snarkjs `groth16 setup`, `zkey contribute`) for keys that protect anything. The "
    "same\n"
    "seed gives the same file. snarkjs and rapidsnark prove with the key too.\n"
    "\n"
    "  --insecure-seed HEX   an even number of hexadecimal digits, up to 128\n"
    "  --threads N           threads to use; 0 (default): one per core\n"
    "\n"
    "example: cuzk setup circuit.r1cs circuit.zkey --insecure-seed 00\n";

enum { SEED_MAX = 64 };

typedef struct {
    const char *r1cs, *zkey;
    unsigned threads;
    uint8_t seed[SEED_MAX];
    size_t seed_len;
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

/* -1: go on; otherwise the exit code. */
static int parse(int argc, char **argv, options *o) {
    static const struct option longs[] = {
        {"insecure-seed", required_argument, NULL, 's'},
        {"threads", required_argument, NULL, 't'},
        {"help", no_argument, NULL, 'h'},
        {NULL, 0, NULL, 0},
    };
    int c;
    opterr = 0;
    while ((c = getopt_long(argc, argv, ":h", longs, NULL)) != -1) {
        if (c == 'h') return fputs(help, stdout) < 0 || fflush(stdout) != 0 ? 4 : 0;
        if (c == 's') {
            if (!parse_seed(optarg, o))
                return cuzk_cli_usage("setup", "--insecure-seed wants an even number of "
                                               "hexadecimal digits, up to 128");
        } else if (c == 't') {
            if (!cuzk_cli_threads(optarg, &o->threads))
                return cuzk_cli_usage("setup", "--threads %s: not a number up to 4096", optarg);
        } else {
            return cuzk_cli_bad_option("setup", c, argv);
        }
    }
    if (argc - optind != 2)
        return cuzk_cli_usage("setup", "wants R1CS ZKEY, got %d arguments", argc - optind);
    if (o->seed_len == 0)
        return cuzk_cli_usage("setup", "--insecure-seed HEX is required: this verb makes "
                                       "development keys only");
    o->r1cs = argv[optind];
    o->zkey = argv[optind + 1];
    return -1;
}

int cuzk_cmd_setup(int argc, char **argv) {
    options o = {0};
    int code = parse(argc, argv, &o);
    if (code >= 0) return code;
    fputs("cuzk setup: warning: a development key: whoever knows the seed can forge proofs\n",
          stderr);
    cuzk_err err = {0};
    cuzk_pool *pool = NULL;
    cuzk_circom_r1cs *r1cs = NULL;
    cuzk_toxic toxic;
    cuzk_status st = cuzk_pool_new(&pool, o.threads);
    if (st != CUZK_OK) cuzk_err_set(&err, st, "cannot start %u threads", o.threads);
    if (st == CUZK_OK) st = cuzk_circom_r1cs_open(&r1cs, o.r1cs, &err);
    if (st == CUZK_OK) st = cuzk_toxic_from_seed(&toxic, r1cs->curve, o.seed, o.seed_len, &err);
    if (st == CUZK_OK) st = cuzk_groth16_setup_zkey(r1cs, &toxic, o.zkey, pool, stderr, &err);
    cuzk_wipe(&toxic, sizeof toxic);
    cuzk_wipe(&o, sizeof o);
    cuzk_circom_r1cs_free(r1cs);
    cuzk_pool_free(pool);
    return st == CUZK_OK ? 0 : cuzk_cli_fail("setup", st, &err);
}
