#include "cli.h"
#include "verbs.h"

#include "base/bytes.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/progress.h"
#include "circuit/circuits.h"
#include "filecoin/sector.h"

#include <stdio.h>
#include <string.h>

static const char help[] =
    "usage: cuzk sector NAME --seed HEX [options] OUT\n"
    "\n"
    "Makes something for Filecoin's circuits to prove: seals a sector and writes what a prover is\n"
    "given. NAME is a circuit (`cuzk circuit list`):\n"
    "\n"
    "  porep-SIZE     OUT is a C1 output, as Lotus and rust-fil-proofs write it\n"
    "  wpost-SIZE     OUT is a request for a WindowPoSt of one partition: JSON with the field\n"
    "  winning-SIZE   names of SubmitProofRequest, vanilla proofs as base64; the same for a\n"
    "  snap-SIZE      WinningPoSt, and for an update of the sector (SnapDeals)\n"
    "\n"
    "Up to 8 MiB the sector is real: its labels and trees are all there, and equal what the\n"
    "network's software makes of the same data (8 MiB takes some ten seconds). Larger sectors are\n"
    "synthetic: only what the proof opens exists, every constraint and every check of a verifier\n"
    "holds, and no disk is filled. Neither is worth anything on a network.\n"
    "\n"
    "What is not given follows from the seed; the same seed gives the same bytes.\n"
    "\n"
    "  --seed HEX             1 to 64 bytes\n"
    "  --data FILE            the piece of a real porep, or the new data of a snap: up to 127/128\n"
    "                         of the sector's size (2032 bytes for 2k); zeros follow it\n"
    "  --miner N              1000 by default\n"
    "  --sector N             the sector's number, 1 by default\n"
    "  --registered-proof P   number or name, as StackedDrg2KiBV1_1 (`cuzk sector --list` has "
    "all)\n"
    "  --format F             of a C1: json (default), lotus (wrapped as lotus-bench and Curio "
    "do),\n"
    "                         bincode\n"
    "  --porep-id X           64 hexadecimal digits, or a number: a registered proof's\n"
    "  --ticket HEX           32 bytes\n"
    "  --challenge-seed HEX   32 bytes: the randomness of the interactive challenges\n"
    "  --randomness HEX       32 bytes, of a PoSt\n"
    "  --sectors N            of a wpost, with ascending numbers (default: 2)\n"
    "  --partition N          of a wpost: its index in the deadline (default: 0)\n"
    "  --synthetic            a synthetic sector also where a real one is possible\n"
    "  --list                 print the registered proofs and their circuits\n"
    "  --threads N            threads to use; 0 (default): one per core\n"
    "\n"
    "example: cuzk sector porep-2k --seed 00 c1.json\n"
    "example: cuzk sector porep-32g --seed 01 --sector 77 --format lotus c1.json\n"
    "example: cuzk sector wpost-32g --seed 01 --sectors 2349 window.json\n";

enum { SEED_MAX = 64 };

typedef struct {
    const char *name, *data, *out, *registered;
    uint8_t seed[SEED_MAX];
    size_t seed_len;
    uint64_t miner, sector, sectors, partition;
    cuzk_c1_format format;
    bool has_format, has_sectors, synthetic, list;
    bool has_porep_id, has_ticket, has_challenge_seed, has_randomness;
    uint8_t porep_id[32], ticket[32], challenge_seed[32], randomness[32];
    unsigned threads;
} options;

/* ---- the command line ---- */

static int hex_digit(char c) {
    if (c >= '0' && c <= '9') return c - '0';
    if (c >= 'a' && c <= 'f') return c - 'a' + 10;
    if (c >= 'A' && c <= 'F') return c - 'A' + 10;
    return -1;
}

/* Bytes from text, at most max; false when it is no such text or empty. */
static bool parse_hex(const char *text, uint8_t *out, size_t max, size_t *len) {
    const size_t n = strlen(text);
    if (n == 0 || n % 2 || n / 2 > max) return false;
    for (size_t i = 0; i < n; i += 2) {
        const int hi = hex_digit(text[i]), lo = hex_digit(text[i + 1]);
        if (hi < 0 || lo < 0) return false;
        out[i / 2] = (uint8_t)(hi << 4 | lo);
    }
    *len = n / 2;
    return true;
}

static bool parse_value(const char *text, uint8_t out[32], bool *has) {
    size_t n = 0;
    *has = true;
    return parse_hex(text, out, 32, &n) && n == 32;
}

static bool parse_porep_id(const char *text, options *o) {
    uint64_t number;
    if (parse_value(text, o->porep_id, &o->has_porep_id)) return true;
    if (!cuzk_cli_number(text, 0, UINT64_MAX, &number)) return false;
    memset(o->porep_id, 0, sizeof o->porep_id);
    cuzk_st_u64le(o->porep_id, number);
    return true;
}

static bool parse_format(const char *text, options *o) {
    static const char *const names[] = {"json", "bincode", "lotus"};
    static const cuzk_c1_format values[] = {CUZK_C1_JSON, CUZK_C1_BINCODE, CUZK_C1_LOTUS};
    o->has_format = true;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        if (strcmp(text, names[i]) != 0) continue;
        o->format = values[i];
        return true;
    }
    return false;
}

enum {
    OPT_SEED = 256,
    OPT_DATA,
    OPT_MINER,
    OPT_SECTOR,
    OPT_REGISTERED,
    OPT_FORMAT,
    OPT_POREP_ID,
    OPT_TICKET,
    OPT_CHALLENGE_SEED,
    OPT_RANDOMNESS,
    OPT_SECTORS,
    OPT_PARTITION,
    OPT_SYNTHETIC,
    OPT_LIST,
    OPT_THREADS
};

static const struct option longs[] = {
    {"seed", required_argument, NULL, OPT_SEED},
    {"data", required_argument, NULL, OPT_DATA},
    {"miner", required_argument, NULL, OPT_MINER},
    {"sector", required_argument, NULL, OPT_SECTOR},
    {"registered-proof", required_argument, NULL, OPT_REGISTERED},
    {"format", required_argument, NULL, OPT_FORMAT},
    {"porep-id", required_argument, NULL, OPT_POREP_ID},
    {"ticket", required_argument, NULL, OPT_TICKET},
    {"challenge-seed", required_argument, NULL, OPT_CHALLENGE_SEED},
    {"randomness", required_argument, NULL, OPT_RANDOMNESS},
    {"sectors", required_argument, NULL, OPT_SECTORS},
    {"partition", required_argument, NULL, OPT_PARTITION},
    {"synthetic", no_argument, NULL, OPT_SYNTHETIC},
    {"list", no_argument, NULL, OPT_LIST},
    {"threads", required_argument, NULL, OPT_THREADS},
    {"help", no_argument, NULL, 'h'},
    {NULL, 0, NULL, 0},
};

/* Takes one option; what it wants, when it got something else. */
static const char *take(int c, options *o) {
    static const char bytes32[] = "64 hexadecimal digits";
    static const char number[] = "a number below 2^63";
    const uint64_t max = INT64_MAX;
    switch (c) {
    case OPT_SEED:
        return parse_hex(optarg, o->seed, SEED_MAX, &o->seed_len)
                   ? NULL
                   : "an even number of hexadecimal digits, up to 128";
    case OPT_DATA:
        o->data = optarg;
        return NULL;
    case OPT_MINER:
        return cuzk_cli_number(optarg, 0, max, &o->miner) ? NULL : number;
    case OPT_SECTOR:
        return cuzk_cli_number(optarg, 0, max, &o->sector) ? NULL : number;
    case OPT_REGISTERED:
        o->registered = optarg;
        return NULL;
    case OPT_FORMAT:
        return parse_format(optarg, o) ? NULL : "json, lotus or bincode";
    case OPT_POREP_ID:
        return parse_porep_id(optarg, o) ? NULL : "64 hexadecimal digits or a number";
    case OPT_TICKET:
        return parse_value(optarg, o->ticket, &o->has_ticket) ? NULL : bytes32;
    case OPT_CHALLENGE_SEED:
        return parse_value(optarg, o->challenge_seed, &o->has_challenge_seed) ? NULL : bytes32;
    case OPT_RANDOMNESS:
        return parse_value(optarg, o->randomness, &o->has_randomness) ? NULL : bytes32;
    case OPT_SECTORS:
        o->has_sectors = true;
        return cuzk_cli_number(optarg, 1, UINT32_MAX, &o->sectors) ? NULL : "a number from 1";
    case OPT_PARTITION:
        return cuzk_cli_number(optarg, 0, UINT32_MAX, &o->partition) ? NULL : "a number";
    case OPT_THREADS:
        return cuzk_cli_threads(optarg, &o->threads) ? NULL : "a number up to 4096";
    case OPT_SYNTHETIC:
        o->synthetic = true;
        return NULL;
    default: /* OPT_LIST */
        o->list = true;
        return NULL;
    }
}

static const char *name_of(int c) {
    for (const struct option *l = longs; l->name; l++)
        if (l->val == c) return l->name;
    return "";
}

/* -1: go on; otherwise the exit code. */
static int parse(int argc, char **argv, options *o) {
    int c;
    opterr = 0;
    while ((c = getopt_long(argc, argv, ":h", longs, NULL)) != -1) {
        if (c == 'h') return cuzk_cli_help("sector", help);
        if (c == '?' || c == ':') return cuzk_cli_bad_option("sector", c, argv);
        const char *want = take(c, o);
        if (want) return cuzk_cli_usage("sector", "--%s %s: wants %s", name_of(c), optarg, want);
    }
    if (o->list) return -1;
    if (argc - optind != 2)
        return cuzk_cli_usage("sector", "wants NAME OUT, got %d arguments", argc - optind);
    if (o->seed_len == 0)
        return cuzk_cli_usage("sector", "--seed HEX is required: everything that is not given "
                                        "follows from it");
    o->name = argv[optind];
    o->out = argv[optind + 1];
    return cuzk_cli_distinct("sector", &o->data, o->data ? 1 : 0, &o->out, 1) ? 2 : -1;
}

/* ---- registered proofs ---- */

static int list(void) {
    printf("%-44s %-7s %s\n", "registered proof", "number", "circuit");
    for (uint64_t i = 0; i < CUZK_SEAL_TYPES; i++)
        printf("%-44s %-7llu %s\n", cuzk_seal_type_at(i)->name, (unsigned long long)i,
               cuzk_seal_type_at(i)->circuit);
    for (uint64_t i = 0; i < CUZK_POST_TYPES; i++)
        printf("%-44s %-7llu %s\n", cuzk_post_type_at(i)->name, (unsigned long long)i,
               cuzk_post_type_at(i)->circuit);
    for (uint64_t i = 0; i < CUZK_UPDATE_TYPES; i++)
        printf("%-44s %-7llu %s\n", cuzk_update_type_at(i)->name, (unsigned long long)i,
               cuzk_update_type_at(i)->circuit);
    return cuzk_cli_flush("sector", 0);
}

/* The type asked for, or the one in use today: seal version 1.1 (interactive), Window V1_2. */
static const cuzk_seal_type *seal_type(const options *o, const char *circuit) {
    uint64_t number;
    if (o->registered && cuzk_cli_number(o->registered, 0, CUZK_SEAL_TYPES - 1, &number))
        return cuzk_seal_type_at(number);
    if (o->registered) return cuzk_seal_type_find(o->registered, strlen(o->registered));
    for (uint64_t i = 5; i < CUZK_SEAL_TYPES; i++)
        if (strcmp(cuzk_seal_type_at(i)->circuit, circuit) == 0) return cuzk_seal_type_at(i);
    return NULL;
}

static const cuzk_post_type *post_type(const options *o, const char *circuit) {
    uint64_t number;
    if (o->registered && cuzk_cli_number(o->registered, 0, CUZK_POST_TYPES - 1, &number))
        return cuzk_post_type_at(number);
    if (o->registered) return cuzk_post_type_find(o->registered, strlen(o->registered));
    for (uint64_t i = CUZK_POST_TYPES; i-- > 0;)
        if (strcmp(cuzk_post_type_at(i)->circuit, circuit) == 0) return cuzk_post_type_at(i);
    return NULL;
}

static const cuzk_update_type *update_type(const options *o, const char *circuit) {
    uint64_t number;
    if (o->registered && cuzk_cli_number(o->registered, 0, CUZK_UPDATE_TYPES - 1, &number))
        return cuzk_update_type_at(number);
    if (o->registered) return cuzk_update_type_find(o->registered, strlen(o->registered));
    for (uint64_t i = 0; i < CUZK_UPDATE_TYPES; i++)
        if (strcmp(cuzk_update_type_at(i)->circuit, circuit) == 0) return cuzk_update_type_at(i);
    return NULL;
}

/* How the sector of a PoSt or update was sealed. */
static const cuzk_seal_type *seal_of_size(uint32_t log2_nodes) {
    for (uint64_t i = 5; i < CUZK_SEAL_TYPES; i++)
        if (cuzk_seal_type_at(i)->log2_nodes == log2_nodes) return cuzk_seal_type_at(i);
    return NULL;
}

/* Finds the registered proof. -1, or the exit code. */
static int resolve(const options *o, cuzk_sector_spec *s) {
    const char *name = o->name, *of = name;
    uint32_t log2_nodes = 0;
    switch (s->circuit->kind) {
    case CUZK_CIRCUIT_POREP:
        s->seal = seal_type(o, name);
        if (s->seal) of = s->seal->circuit;
        log2_nodes = s->circuit->u.porep.log2_nodes;
        break;
    case CUZK_CIRCUIT_POST:
        s->post = post_type(o, name);
        if (s->post) of = s->post->circuit;
        log2_nodes = s->post ? s->post->log2_nodes : 0;
        s->seal = seal_of_size(log2_nodes);
        break;
    case CUZK_CIRCUIT_UPDATE:
        s->update = update_type(o, name);
        if (s->update) of = s->update->circuit;
        log2_nodes = s->circuit->u.update.log2_nodes;
        s->seal = seal_of_size(log2_nodes);
        break;
    }
    const cuzk_post_type *chain =
        o->registered ? cuzk_post_type_of_chain(o->registered, strlen(o->registered)) : NULL;
    if (chain)
        return cuzk_cli_usage("sector", "--registered-proof %s: what the chain calls so is %s here",
                              o->registered, chain->name);
    if (o->registered && (strcmp(of, name) != 0 || (!s->seal && !s->post && !s->update)))
        return cuzk_cli_usage("sector", "--registered-proof %s is none of %s; `cuzk sector --list`",
                              o->registered, name);
    s->synthetic = o->synthetic || log2_nodes > CUZK_SECTOR_REAL_LOG2_NODES;
    return -1;
}

/* ---- making ---- */

static int specify(const options *o, cuzk_sector_spec *s) {
    const cuzk_circuit *c = cuzk_circuit_find(o->name);
    if (!c || strncmp(o->name, "test-", 5) == 0 || strncmp(o->name, "snap-poseidon", 13) == 0)
        return cuzk_cli_usage("sector",
                              "no sector for %s: wants porep-, wpost-, winning- or snap-SIZE as "
                              "`cuzk circuit list` has them",
                              o->name);
    *s = (cuzk_sector_spec){
        .circuit = c,
        .seed = o->seed,
        .seed_len = o->seed_len,
        .miner = o->miner,
        .sector = o->sector,
        .partition = (uint32_t)o->partition,
        .porep_id = o->has_porep_id ? o->porep_id : NULL,
        .ticket = o->has_ticket ? o->ticket : NULL,
        .challenge_seed = o->has_challenge_seed ? o->challenge_seed : NULL,
        .randomness = o->has_randomness ? o->randomness : NULL,
    };
    const int code = resolve(o, s);
    if (code >= 0) return code;
    const bool window = s->post && !s->post->winning;
    if (o->has_sectors && !window)
        return cuzk_cli_usage("sector", "--sectors goes with wpost- only");
    if (o->partition && !window)
        return cuzk_cli_usage("sector", "--partition goes with wpost- only");
    if (o->has_format && c->kind != CUZK_CIRCUIT_POREP)
        return cuzk_cli_usage("sector", "--format goes with porep- only: the others are requests, "
                                        "in JSON");
    s->sectors = o->has_sectors ? (uint32_t)o->sectors : window ? 2 : 1;
    return -1;
}

static void report(const options *o, const cuzk_sector_spec *s, size_t bytes) {
    const char *type = s->circuit->kind == CUZK_CIRCUIT_UPDATE ? s->update->name
                       : s->post                               ? s->post->name
                       : s->seal                               ? s->seal->name
                                                               : "no registered proof";
    printf("%s: %s, %s sector %llu", o->out, type, s->synthetic ? "synthetic" : "real",
           (unsigned long long)s->sector);
    if (s->post && s->sectors > 1)
        printf(" to %llu", (unsigned long long)(s->sector + s->sectors - 1));
    printf(" of miner %llu, %zu bytes\n", (unsigned long long)s->miner, bytes);
}

static cuzk_status make(const options *o, cuzk_sector_spec *s, cuzk_err *err) {
    cuzk_buf out = CUZK_BUF_INIT;
    cuzk_map data = {0};
    cuzk_progress progress;
    cuzk_status st;
    if (o->data) {
        CUZK_TRY(cuzk_map_file(&data, o->data, err));
        s->data = data.data;
        s->data_len = data.len;
    }
    st = cuzk_pool_new(&s->pool, o->threads);
    if (st != CUZK_OK) {
        cuzk_err_set(err, st, "cannot start %u threads", o->threads);
    } else {
        cuzk_progress_begin(&progress, stderr, "sealing", cuzk_sector_work(s));
        s->progress = &progress;
        st = cuzk_sector_make(&out, s, o->format, err);
        cuzk_progress_end(&progress);
    }
    if (st == CUZK_OK) st = cuzk_write_file(o->out, out.data, out.len, err);
    if (st == CUZK_OK) report(o, s, out.len);
    cuzk_buf_free(&out);
    cuzk_pool_free(s->pool);
    if (o->data) cuzk_map_close(&data);
    return st;
}

int cuzk_cmd_sector(int argc, char **argv) {
    options o = {.miner = 1000, .sector = 1, .format = CUZK_C1_JSON};
    cuzk_sector_spec s;
    cuzk_err err = {0};
    int code = parse(argc, argv, &o);
    if (code >= 0) return code;
    if (o.list) return list();
    code = specify(&o, &s);
    if (code >= 0) return code;
    const cuzk_status st = make(&o, &s, &err);
    if (st != CUZK_OK) return cuzk_cli_fail("sector", st, &err);
    return cuzk_cli_flush("sector", 0);
}
