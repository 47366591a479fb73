/* `cuzk porep|wpost|winning|snap`: options, and verify. */
#include "filecoin.h"

#include "base/file.h"
#include "base/mem.h"
#include "cli.h"
#include "format/proof_bytes.h"
#include "keys/keys.h"
#include "remote_prove.h"
#include "verbs.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static const char usage[] = "usage: cuzk %s prove [OPTIONS] IN OUT\n"
                            "       cuzk %s verify [OPTIONS] IN PROOF\n"
                            "\n";

static const char text[] =
    "prove checks the vanilla proof in IN (every Merkle path, label and commitment), makes the\n"
    "witness and the proof of every partition, verifies each against IN and all together, and\n"
    "writes OUT: 192 bytes a partition, as the chain takes them. Nothing is written otherwise.\n"
    "verify needs only the .vk and IN; it says \"valid\" and exits with 0, or says why not and\n"
    "exits with 1.\n";

static const char porep_text[] =
    "IN is a C1 output: JSON as filecoin-ffi writes it, the wrapper of lotus-bench and Curio, or\n"
    "bincode; verify also takes a JSON object of the public values (docs/filecoin.md).\n";
static const char other_text[] =
    "IN is a JSON object with the field names of SubmitProofRequest, bytes as base64; verify also\n"
    "takes one without vanilla proofs (docs/filecoin.md).\n";

static const char options_text[] =
    "\n"
    "  --params DIR                the parameter directory; default FIL_PROOFS_PARAMETER_CACHE,\n"
    "                              then /var/tmp/filecoin-proof-parameters\n"
    "  --allow-insecure-keys       take development keys (cuzk setup --circuit NAME)\n"
    "  --partition N               this partition alone, from 0\n"
    "  --device cpu|cuda[:N]       where prove computes; cpu is the default. A device that is not\n"
    "                              there is an error (exit code 5), never another place\n"
    "  --vram SIZE                 take at most so much of the device's memory (16GiB); a key "
    "that\n"
    "                              does not fit stays on the host and is streamed\n"
    "  --threads N                 threads to use; 0 (default): one per core\n"
    "  --json                      report as JSON on stdout\n"
    "  --insecure-blinding R,S     fixed blinding (decimal), for tests: such a proof is not\n"
    "                              zero-knowledge\n"
    "  --addr ADDR                 let a running cuzkd prove, which has the key: `cuzk %s prove\n"
    "                              --addr ADDR --help`\n";
static const char porep_options[] =
    "  --miner N, --sector N       what a C1 does not say: replica_id is then checked against\n"
    "                              them; without, a warning is given\n"
    "  --registered-proof NAME|N   when bincode does not say it and it is not the newest of its\n"
    "                              size, such as StackedDrg32GiBV1_1 or 8\n"
    "  --porep-id HEX              when it is not the registered proof's own\n";

static const cuzk_filecoin_kind kinds[] = {
    {"porep", "a proof of replication", CUZK_CIRCUIT_POREP, false},
    {"wpost", "a WindowPoSt", CUZK_CIRCUIT_POST, false},
    {"winning", "a WinningPoSt", CUZK_CIRCUIT_POST, true},
    {"snap", "a sector update (SnapDeals)", CUZK_CIRCUIT_UPDATE, false},
};

static int help(const cuzk_filecoin_kind *k) {
    const bool porep = k->circuit == CUZK_CIRCUIT_POREP;
    printf(usage, k->verb, k->verb);
    fputs(text, stdout);
    fputs(porep ? porep_text : other_text, stdout);
    printf(options_text, k->verb);
    if (porep) fputs(porep_options, stdout);
    printf("\nexit codes: 1 when the vanilla proof or the proof is false, 3 when IN is malformed;\n"
           "see `cuzk --help`.\n\n"
           "example: cuzk %s prove %s proof.bin --params keys --allow-insecure-keys\n",
           k->verb, porep ? "c1.json" : "request.json");
    return cuzk_cli_flush(k->verb, 0);
}

/* ---- what prove and verify share ---- */

static const char *verb_of(const cuzk_circuit *c, bool winning) {
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (kinds[i].circuit == c->kind && kinds[i].winning == winning) return kinds[i].verb;
    return "?";
}

cuzk_status cuzk_filecoin_fits(const cuzk_filecoin_opts *o, const cuzk_circuit *c, bool winning,
                               uint32_t partitions, cuzk_err *err) {
    if (c->kind != o->kind->circuit || winning != o->kind->winning)
        return cuzk_err_set(err, CUZK_STATUS_BAD_INPUT,
                            "%s: expected %s, actual one for %s: use `cuzk %s`", o->in,
                            o->kind->what, c->name, verb_of(c, winning));
    if (o->one && o->partition >= partitions)
        return cuzk_err_set(err, CUZK_STATUS_USAGE, "--partition %u: %s has %u", o->partition,
                            o->in, partitions);
    return CUZK_OK;
}

void cuzk_filecoin_warn(const cuzk_filecoin_opts *o, const cuzk_porep_statement *s) {
    if (!s->replica_id_checked)
        fprintf(stderr,
                "cuzk %s: warning: replica_id of %s is taken as it is: --miner and --sector would "
                "check it\n",
                o->kind->verb, o->in);
}

/* ---- verify ---- */

static cuzk_status read_proofs(cuzk_proof **proofs, const cuzk_filecoin_opts *o, uint32_t want,
                               cuzk_err *err) {
    cuzk_map map;
    size_t n = 0;
    CUZK_TRY(cuzk_map_file(&map, o->out, err));
    cuzk_status st = cuzk_proofs_from_bytes(proofs, &n, map.data, map.len, o->out, err);
    cuzk_map_close(&map);
    if (st == CUZK_OK && n != want) {
        st = cuzk_err_set(err, CUZK_STATUS_BAD_INPUT,
                          "%s: expected %u bytes, %u partitions of 192, actual %zu", o->out,
                          192 * want, want, 192 * n);
        cuzk_free(*proofs);
        *proofs = NULL;
    }
    return st;
}

cuzk_status cuzk_filecoin_verify(const cuzk_filecoin_opts *o, cuzk_err *err) {
    cuzk_statement *s = NULL;
    cuzk_pool *pool = NULL;
    cuzk_vk vk = {0};
    cuzk_proof *proofs = NULL;
    cuzk_u256 *publics = NULL;
    bool insecure = false;
    cuzk_status st = cuzk_pool_new(&pool, o->threads);
    if (st != CUZK_OK) return cuzk_err_set(err, st, "cannot start %u threads", o->threads);
    const cuzk_keys_opts keys = {
        .dir = o->params, .allow_insecure = o->allow_insecure, .pool = pool, .progress = stderr};
    st = cuzk_statement_open(&s, o->in, &o->facts, err);
    if (st == CUZK_OK)
        st = cuzk_filecoin_fits(o, s->circuit, s->post.type && s->post.type->winning, s->partitions,
                                err);
    const uint32_t first = o->one ? o->partition : 0;
    const uint32_t n = st == CUZK_OK && !o->one ? s->partitions : 1;
    if (st == CUZK_OK && s->circuit->kind == CUZK_CIRCUIT_POREP) cuzk_filecoin_warn(o, &s->porep);
    if (st == CUZK_OK) st = read_proofs(&proofs, o, n, err);
    if (st == CUZK_OK) st = cuzk_circuit_vk_open(&vk, &insecure, s->circuit, &keys, err);
    if (st == CUZK_OK) st = cuzk_statement_publics(&publics, s, first, n, err);
    if (st == CUZK_OK)
        st = cuzk_groth16_verify_batch(&vk, publics, cuzk_circuit_public(s->circuit), proofs, n,
                                       pool, err);
    if (st == CUZK_OK && insecure)
        fprintf(stderr, "cuzk %s: warning: development key: its maker can forge proofs\n",
                o->kind->verb);
    if (st == CUZK_OK && o->json)
        printf("{\"circuit\":\"%s\",\"partitions\":%u,\"valid\":true,\"insecure_key\":%s}\n",
               s->circuit->name, n, insecure ? "true" : "false");
    else if (st == CUZK_OK)
        puts("valid");
    cuzk_free(publics);
    cuzk_free(proofs);
    cuzk_vk_free(&vk);
    cuzk_statement_free(s);
    cuzk_pool_free(pool);
    return st;
}

/* ---- options ---- */

static bool parse_blinding(const char *word, cuzk_filecoin_opts *o) {
    const char *comma = strchr(word, ',');
    if (!comma) return false;
    o->fixed = true;
    return cuzk_cli_scalar(word, (size_t)(comma - word), o->r.l) &&
           cuzk_cli_scalar(comma + 1, strlen(comma + 1), o->s.l);
}

static bool parse_hex32(const char *word, uint8_t out[32]) {
    unsigned v;
    if (strlen(word) != 64 || strspn(word, "0123456789abcdefABCDEF") != 64) return false;
    for (int i = 0; i < 32; i++) {
        if (sscanf(word + 2 * (size_t)i, "%2x", &v) != 1) return false;
        out[i] = (uint8_t)v;
    }
    return true;
}

static const cuzk_seal_type *parse_type(const char *word) {
    uint64_t n;
    if (cuzk_cli_number(word, 0, CUZK_SEAL_TYPES - 1, &n)) return cuzk_seal_type_at(n);
    return cuzk_seal_type_find(word, strlen(word));
}

/* What only a PoRep takes. -1: go on. */
static int porep_option(int c, const char *word, cuzk_filecoin_opts *o) {
    const char *verb = o->kind->verb;
    if (o->kind->circuit != CUZK_CIRCUIT_POREP)
        return cuzk_cli_usage(verb, "--miner, --sector, --registered-proof and --porep-id are for "
                                    "porep: a request says these itself");
    switch (c) {
    case 'm':
        o->facts.has_miner = cuzk_cli_number(word, 0, UINT64_MAX, &o->facts.miner);
        return o->facts.has_miner ? -1 : cuzk_cli_usage(verb, "--miner %s: not a number", word);
    case 'n':
        o->facts.has_sector = cuzk_cli_number(word, 0, UINT64_MAX, &o->facts.sector);
        return o->facts.has_sector ? -1 : cuzk_cli_usage(verb, "--sector %s: not a number", word);
    case 'g':
        o->facts.type = parse_type(word);
        return o->facts.type ? -1
                             : cuzk_cli_usage(verb,
                                              "--registered-proof %s: a number from 0 to 19 or a "
                                              "name such as StackedDrg32GiBV1_1",
                                              word);
    default:
        o->facts.porep_id = o->porep_id;
        return parse_hex32(word, o->porep_id)
                   ? -1
                   : cuzk_cli_usage(verb, "--porep-id wants 64 hexadecimal digits");
    }
}

static int option(int c, char **argv, cuzk_filecoin_opts *o) {
    uint64_t n;
    const char *verb = o->kind->verb;
    switch (c) {
    case 'h':
        return help(o->kind);
    case 'p':
        o->params = optarg;
        return -1;
    case 'k':
        o->allow_insecure = true;
        return -1;
    case 'j':
        o->json = true;
        return -1;
    case 'P':
        o->one = cuzk_cli_number(optarg, 0, UINT16_MAX, &n);
        if (!o->one) return cuzk_cli_usage(verb, "--partition %s: not a number from 0", optarg);
        o->partition = (uint32_t)n;
        return -1;
    case 't':
        if (cuzk_cli_threads(optarg, &o->threads)) return -1;
        return cuzk_cli_usage(verb, "--threads %s: not a number up to 4096", optarg);
    case 'd':
        if (cuzk_device_parse(optarg, &o->device)) return -1;
        return cuzk_cli_usage(verb, "--device %s: cpu, cuda or cuda:N", optarg);
    case 'v':
        o->vram = optarg;
        return -1;
    case 'b':
        if (parse_blinding(optarg, o)) return -1;
        return cuzk_cli_usage(verb, "--insecure-blinding wants two decimal numbers R,S");
    case 'm':
    case 'n':
    case 'g':
    case 'i':
        return porep_option(c, optarg, o);
    default:
        return cuzk_cli_bad_option(verb, c, argv);
    }
}

static int run(const cuzk_filecoin_kind *kind, int argc, char **argv) {
    static const struct option longs[] = {
        {"params", required_argument, NULL, 'p'},
        {"allow-insecure-keys", no_argument, NULL, 'k'},
        {"partition", required_argument, NULL, 'P'},
        {"threads", required_argument, NULL, 't'},
        {"device", required_argument, NULL, 'd'},
        {"vram", required_argument, NULL, 'v'},
        {"json", no_argument, NULL, 'j'},
        {"insecure-blinding", required_argument, NULL, 'b'},
        {"miner", required_argument, NULL, 'm'},
        {"sector", required_argument, NULL, 'n'},
        {"registered-proof", required_argument, NULL, 'g'},
        {"porep-id", required_argument, NULL, 'i'},
        {"help", no_argument, NULL, 'h'},
        {NULL, 0, NULL, 0},
    };
    cuzk_filecoin_opts o = {.kind = kind};
    cuzk_err err = {0};
    int c;
#ifdef CUZK_HAVE_RPC
    if (cuzk_cli_addr_given(argc, argv)) return cuzk_remote_prove(kind->verb, argc, argv);
#endif
    opterr = 0;
    (void)cuzk_device_parse(NULL, &o.device);
    while ((c = getopt_long(argc, argv, ":h", longs, NULL)) != -1) {
        const int code = option(c, argv, &o);
        if (code >= 0) return code;
    }
    const bool prove = argc - optind == 3 && strcmp(argv[optind], "prove") == 0;
    const bool verify = argc - optind == 3 && strcmp(argv[optind], "verify") == 0;
    if (!prove && !verify)
        return cuzk_cli_usage(kind->verb, "wants `prove IN OUT` or `verify IN PROOF`");
    if (cuzk_cli_vram(kind->verb, o.vram, o.device.cuda, &o.device.vram) >= 0) return 2;
    if (verify && o.device.cuda) return cuzk_cli_usage(kind->verb, "--device is for prove");
    if (verify && o.fixed) return cuzk_cli_usage(kind->verb, "--insecure-blinding is for prove");
    o.in = argv[optind + 1];
    o.out = argv[optind + 2];
    if (prove && cuzk_cli_distinct(kind->verb, &o.in, 1, &o.out, 1) != 0) return 2;
    if (o.fixed)
        fprintf(stderr, "cuzk %s: warning: fixed blinding: this proof does not hide the witness\n",
                kind->verb);
    const cuzk_status st = prove ? cuzk_filecoin_prove(&o, &err) : cuzk_filecoin_verify(&o, &err);
    cuzk_wipe(&o.r, sizeof o.r);
    cuzk_wipe(&o.s, sizeof o.s);
    if (st != CUZK_OK) return cuzk_cli_fail(kind->verb, st, &err);
    return cuzk_cli_flush(kind->verb, 0);
}

int cuzk_cmd_porep(int argc, char **argv) {
    return run(&kinds[0], argc, argv);
}

int cuzk_cmd_wpost(int argc, char **argv) {
    return run(&kinds[1], argc, argv);
}

int cuzk_cmd_winning(int argc, char **argv) {
    return run(&kinds[2], argc, argv);
}

int cuzk_cmd_snap(int argc, char **argv) {
    return run(&kinds[3], argc, argv);
}
