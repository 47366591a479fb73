#include "bench.h"

#include "base/buf.h"
#ifdef CUZK_HAVE_RPC
#include "bench_daemon.h"
#endif
#include "cli.h"
#include "verbs.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

static const char help[] =
    "usage: cuzk bench ntt [OPTIONS]\n"
    "       cuzk bench msm [OPTIONS]\n"
    "       cuzk bench field|ntt|msm|bits|eval --device cuda[:N] [OPTIONS]\n"
    "       cuzk bench prove [OPTIONS] ZKEY WTNS\n"
    "       cuzk bench witness|eval [--partition N] [OPTIONS] IN\n"
    "       cuzk bench partition [--partition N] [OPTIONS] IN DIR\n"
    "       cuzk bench daemon ...       a running cuzkd: `cuzk bench daemon --help`\n"
    "\n"
    "Times the arithmetic of this program and prints one JSON object: machine, commit, command "
    "and\n"
    "results, each with the least, the median and the greatest time in milliseconds. Every timed\n"
    "result is checked (transforms against direct evaluation, sums against known discrete\n"
    "logarithms, proofs with the verifier); a wrong one is reported with \"verified\":false and "
    "the\n"
    "exit code is 70.\n"
    "\n"
    "  --curve bn254|bls12_381     for ntt and msm; default bn254\n"
    "  --log2 N[..M]               sizes 2^N to 2^M, 1 to 28; default 16\n"
    "  --group g1|g2               for msm; default g1\n"
    "  --pattern uniform|01|equal|half01|u64\n"
    "                              what the scalars of msm are; default uniform\n"
    "  --all                       msm of both curves: G1 uniform at every size; every pattern and "
    "G2\n"
    "                              at even sizes up to 2^18; on one thread, on --threads, and by\n"
    "                              blst, in turns; with their ratios and the share of the port "
    "bound\n"
    "                              (blst runs less often where that takes seconds)\n"
    "  --threads N                 threads to use; 0 (default): one per core\n"
    "  --runs R                    times each result is computed, 1 to 1000; default 5\n"
    "  --impl auto|ifma|asm|portable  arithmetic to use\n"
    "  --device cpu|cuda[:N]       where; default cpu\n"
    "  --vram SIZE[,SIZE...]       at most so much of the device's memory (16GiB); a key that does "
    "not\n"
    "                              fit stays on the host and is streamed. partition takes several\n"
    "                              sizes, one after another\n"
    "  --slow-link N               partition: what is streamed is copied N times, as over a link\n"
    "                              so much slower\n"
    "  --vs blst                   blst beside ours in the same run (bls12_381): msm by its\n"
    "                              Pippenger on one thread, and products of its scalar field, "
    "timed\n"
    "                              in turns with the transforms, whose butterflies are then\n"
    "                              counted in them\n"
    "  --table                     a line a result on stderr also where it is no terminal\n"
    "\n"
    "witness times the witness of one partition of a Filecoin proof: IN is a C1 output or a "
    "request\n"
    "with vanilla proofs (docs/filecoin.md), which is checked first; the row tells core-seconds,\n"
    "bytes and the witness's BLAKE2s digest, and every row of the circuit is checked; on a CUDA\n"
    "device the time from free values that are there, and the digest must be the CPU's. eval "
    "times\n"
    "A w and B w of all its rows (once) and gives the digests of A w, B w and C w.\n"
    "partition times whole proofs of it on the CPU, witness, sums and check, with the circuit's "
    "key\n"
    "from DIR loaded (development keys are taken), and relates their core-seconds to one sum by\n"
    "blst's Pippenger over 2^16 points on one thread in the same run: \"r\".\n"
    "  --partition N               which partition, from 0\n"
    "  --insecure-seed HEX         partition on a CUDA device: no DIR; the key is made there from "
    "the\n"
    "                              secrets that follow from the seed, and never leaves it\n"
    "  --fold-c                    that key has C's part of the quotient in the bases of L: four\n"
    "                              transforms instead of six, the same proofs\n"
    "  --in-turn                   prove and partition on a CUDA device: transforms, then one sum\n"
    "                              after another, so that each stage's time is its own\n"
    "\n"
    "On a CUDA device field, ntt, msm, bits (sums of the bases whose bit is 1) and eval (rows of "
    "a\n"
    "compact system, every one compared with the CPU's) time single kernels, everything in the\n"
    "device's memory; rows tell the driver, clocks and power, bytes moved, and which share of the\n"
    "floor they reach: the multiply-adds that the operation needs at the device's rate, or for "
    "eval\n"
    "its bytes. Without --curve and --group: both.\n"
    "  --step N                    from one size to the next: 2^N to 2^M in steps\n"
    "  --pattern NAME              of msm and bits; a wrong name is answered by their list. ntt: "
    "the\n"
    "                              bits of the passes of one size, as in 8+7+7\n"
    "  --all                       msm, bits: every pattern\n"
    "  --factor N, --window N      msm: multiples in the table of its second variant (1: no such\n"
    "                              variant), 64 at most, and bits of a digit, 4 to 24; 0 "
    "(default):\n"
    "                              chosen\n"
    "  --circuit NAME              eval: whose rows; default: the 2 KiB circuits. bits: "
    "porep-32g,\n"
    "                              the ones of one of its partitions\n"
    "\n"
    "prove times `cold` (key and witness opened anew for each proof) and `warm` (both kept).\n"
    "On a CUDA device `cold` opens and loads both without tables of multiples, `warm` goes from "
    "the\n"
    "witness (partition: its free values) in host memory to the proof's points with the key\n"
    "resident, and `warm_verified` is\n"
    "the same with the check of the proof.\n"
    "Compare ratios of one run; figures of a busy machine are only good for that.\n"
    "\n"
    "example: cuzk bench msm --curve bls12_381 --log2 12..16 --threads 1 --vs blst > a.json\n"
    "         bench/compare.py before.json after.json\n";

typedef struct words {
    const char *curve, *group, *log2, *pattern, *threads, *runs, *impl, *vs, *device, *partition;
    const char *seed, *step, *factor, *window, *circuit, *vram, *slow;
    bool table, all, fold, in_turn;
} words;

/* -1: go on; otherwise the exit code. */
static int read_options(int argc, char **argv, words *w) {
    static const struct option longs[] = {
        {"curve", required_argument, NULL, 'c'},
        {"group", required_argument, NULL, 'g'},
        {"log2", required_argument, NULL, 'n'},
        {"pattern", required_argument, NULL, 'p'},
        {"threads", required_argument, NULL, 't'},
        {"runs", required_argument, NULL, 'r'},
        {"impl", required_argument, NULL, 'i'},
        {"vs", required_argument, NULL, 'v'},
        {"device", required_argument, NULL, 'd'},
        {"table", no_argument, NULL, 'T'},
        {"all", no_argument, NULL, 'A'},
        {"help", no_argument, NULL, 'h'},
        {"partition", required_argument, NULL, 'P'},
        {"insecure-seed", required_argument, NULL, 'S'},
        {"fold-c", no_argument, NULL, 'F'},
        {"in-turn", no_argument, NULL, 'I'},
        {"step", required_argument, NULL, 's'},
        {"factor", required_argument, NULL, 'f'},
        {"window", required_argument, NULL, 'w'},
        {"circuit", required_argument, NULL, 'C'},
        {"vram", required_argument, NULL, 'm'},
        {"slow-link", required_argument, NULL, 'l'},
        {NULL, 0, NULL, 0},
    };
    static const char letters[] = "cgnptrivdPSsfwCml";
    const char **const values[] = {&w->curve, &w->group, &w->log2,   &w->pattern, &w->threads,
                                   &w->runs,  &w->impl,  &w->vs,     &w->device,  &w->partition,
                                   &w->seed,  &w->step,  &w->factor, &w->window,  &w->circuit,
                                   &w->vram,  &w->slow};
    int c;
    opterr = 0;
    while ((c = getopt_long(argc, argv, ":h", longs, NULL)) != -1) {
        const char *letter = strchr(letters, c);
        if (c == 'h') return cuzk_cli_help("bench", help);
        if (c == 'T')
            w->table = true;
        else if (c == 'A')
            w->all = true;
        else if (c == 'F')
            w->fold = true;
        else if (c == 'I')
            w->in_turn = true;
        else if (letter)
            *values[letter - letters] = optarg;
        else
            return cuzk_cli_bad_option("bench", c, argv);
    }
    return -1;
}

/* "N" or "N..M", copied so that the parts end. */
static bool parse_log2(const char *text, unsigned *lo, unsigned *hi) {
    char first[8] = "", *dots;
    uint64_t a, z;
    if (strlen(text) >= sizeof first) return false;
    memcpy(first, text, strlen(text) + 1);
    dots = strstr(first, "..");
    if (dots) *dots = '\0';
    if (!cuzk_cli_number(first, 1, 28, &a)) return false;
    if (!cuzk_cli_number(dots ? dots + 2 : first, a, 28, &z)) return false;
    *lo = (unsigned)a;
    *hi = (unsigned)z;
    return true;
}

static bool parse_pattern(const char *text, cuzk_bench_pattern *out) {
    for (int p = CUZK_BENCH_UNIFORM; p <= CUZK_BENCH_U64; p++) {
        if (strcmp(text, cuzk_bench_pattern_name((cuzk_bench_pattern)p)) != 0) continue;
        *out = (cuzk_bench_pattern)p;
        return true;
    }
    return false;
}

/* What is computed. -1: go on; otherwise the exit code. */
static int interpret_what(const words *w, cuzk_bench *b) {
    const bool g2 = w->group && strcmp(w->group, "g2") == 0;
    if (!cuzk_device_parse(w->device, &b->device))
        return cuzk_cli_usage("bench", "--device %s: cpu, cuda or cuda:N", w->device);
    b->curve = cuzk_curve_by_name(w->curve ? w->curve : "bn254");
    if (!b->curve) return cuzk_cli_usage("bench", "--curve %s: bn254 or bls12_381", w->curve);
    if (w->group && !g2 && strcmp(w->group, "g1") != 0)
        return cuzk_cli_usage("bench", "--group %s: g1 or g2", w->group);
    b->group = g2 ? CUZK_G2 : CUZK_G1;
    if (!parse_log2(w->log2 ? w->log2 : "16", &b->log2_lo, &b->log2_hi))
        return cuzk_cli_usage("bench", "--log2 %s: N or N..M, from 1 to 28", w->log2);
    /* the kernels of a device have patterns of their own */
    if (w->pattern && !b->device.cuda && !parse_pattern(w->pattern, &b->pattern))
        return cuzk_cli_usage("bench", "--pattern %s: uniform, 01, equal, half01 or u64",
                              w->pattern);
    return -1;
}

/* Sizes between commas; a message and false when one of them is none. */
static bool parse_vram(const char *text, cuzk_bench *b) {
    char word[32];
    for (const char *at = text, *end; at; at = *end ? end + 1 : NULL) {
        end = strchr(at, ',');
        if (!end) end = at + strlen(at);
        const size_t len = (size_t)(end - at);
        if (len >= sizeof word || b->n_vram == CUZK_BENCH_MAX_VRAM) {
            (void)cuzk_cli_usage("bench", "--vram: at most %d sizes", CUZK_BENCH_MAX_VRAM);
            return false;
        }
        memcpy(word, at, len);
        word[len] = '\0';
        if (cuzk_cli_vram("bench", word, b->device.cuda, &b->vram[b->n_vram++]) >= 0) return false;
    }
    b->device.vram = b->n_vram ? b->vram[0] : 0;
    return true;
}

/* How. -1: go on; otherwise the exit code. */
static int interpret_how(const words *w, cuzk_bench *b) {
    uint64_t runs, partition = 0, copies = 1;
    if (w->threads && !cuzk_cli_threads(w->threads, &b->threads))
        return cuzk_cli_usage("bench", "--threads %s: not a number up to 4096", w->threads);
    if (!cuzk_cli_number(w->runs ? w->runs : "5", 1, CUZK_BENCH_MAX_RUNS, &runs))
        return cuzk_cli_usage("bench", "--runs %s: from 1 to %d", w->runs, CUZK_BENCH_MAX_RUNS);
    b->runs = (unsigned)runs;
    if (w->impl && !cuzk_cli_impl(w->impl, &b->impl))
        return cuzk_cli_usage("bench", "--impl %s: auto, ifma, asm or portable", w->impl);
    if (w->vs && strcmp(w->vs, "blst") != 0)
        return cuzk_cli_usage("bench", "--vs %s: only blst is here to compare with", w->vs);
    if (w->vs && b->curve->id != CUZK_BLS12_381)
        return cuzk_cli_usage("bench", "--vs blst wants --curve bls12_381, the only one it has");
    if (!parse_vram(w->vram, b)) return 2;
    if (w->slow && (!b->device.cuda || !cuzk_cli_number(w->slow, 1, 1000, &copies)))
        return cuzk_cli_usage("bench", "--slow-link %s: 1 to 1000, with --device cuda", w->slow);
    b->device.link_copies = (unsigned)copies;
    if (w->partition && !cuzk_cli_number(w->partition, 0, UINT16_MAX, &partition))
        return cuzk_cli_usage("bench", "--partition %s: not a number from 0", w->partition);
    b->partition = (unsigned)partition;
    b->vs_blst = w->vs != NULL;
    b->all = w->all;
    b->table = w->table || isatty(STDERR_FILENO);
    return -1;
}

/* What only kernels of a device have. -1: go on; otherwise the exit code. */
static int interpret_kernels(const words *w, cuzk_bench *b) {
    cuzk_bench_kernels *k = &b->kernels;
    uint64_t step = 1, factor = 0, window = 0;
    if (w->step && !cuzk_cli_number(w->step, 1, 28, &step))
        return cuzk_cli_usage("bench", "--step %s: 1 to 28", w->step);
    if (w->factor && !cuzk_cli_number(w->factor, 0, 64, &factor))
        return cuzk_cli_usage("bench", "--factor %s: 1 to 64, or 0", w->factor);
    if (w->window && (!cuzk_cli_number(w->window, 0, 24, &window) || (window && window < 4)))
        return cuzk_cli_usage("bench", "--window %s: 4 to 24, or 0", w->window);
    *k = (cuzk_bench_kernels){.pattern = w->pattern,
                              .circuit = w->circuit,
                              .both_curves = !w->curve,
                              .both_groups = !w->group,
                              .step = (unsigned)step,
                              .factor = (unsigned)factor,
                              .window = (unsigned)window};
    return -1;
}

typedef cuzk_status operation_fn(cuzk_bench *, cuzk_err *);

typedef struct operation {
    const char *name;
    int n_files; /* of the CPU; size and curve come from them, when there are any */
    bool one_partition;
    operation_fn *cpu, *cuda;
} operation;

/* A kernel of the device takes no files. */
static bool is_kernel(const operation *op, const cuzk_bench *b) {
    return b->device.cuda && op->cuda == cuzk_bench_kernels_run;
}

static const operation operations[] = {
    {"ntt", 0, false, cuzk_bench_ntt, cuzk_bench_kernels_run},
    {"msm", 0, false, cuzk_bench_msm, cuzk_bench_kernels_run},
    {"field", 0, false, NULL, cuzk_bench_kernels_run},
    {"bits", 0, false, NULL, cuzk_bench_kernels_run},
    {"prove", 2, false, cuzk_bench_prove, cuzk_bench_prove_device},
    {"witness", 1, true, cuzk_bench_witness, cuzk_bench_witness_device},
    {"eval", 1, true, cuzk_bench_eval, cuzk_bench_kernels_run},
    {"partition", 2, true, cuzk_bench_partition_proof, cuzk_bench_partition_device},
};

static const operation *find_operation(const char *name) {
    for (size_t i = 0; i < sizeof operations / sizeof *operations; i++)
        if (strcmp(name, operations[i].name) == 0) return &operations[i];
    return NULL;
}

/* Whether a single sum or transform is described. */
static bool names_a_kind(const words *w) {
    return w->curve || w->group || w->pattern || w->vs;
}

/* Whether what is said of a device's memory and of the order of sums goes with the operation. -1,
 * or the exit code. */
static int proof_fits(const operation *op, const words *w, const cuzk_bench *b) {
    const bool partition = op->cuda == cuzk_bench_partition_device;
    const bool whole = partition || op->cuda == cuzk_bench_prove_device;
    if (b->n_vram > 1 && !partition)
        return cuzk_cli_usage("bench", "several sizes after --vram are for partition");
    if (w->slow && !partition) return cuzk_cli_usage("bench", "--slow-link is for partition");
    if (w->in_turn && (!whole || !b->device.cuda || w->vram))
        return cuzk_cli_usage("bench", "--in-turn is for prove and partition on a CUDA device, "
                                       "without --vram");
    if (w->vram && !whole) return cuzk_cli_usage("bench", "--vram is for prove and partition");
    return -1;
}

/* Whether the operation computes where it is told to. -1, or the exit code. */
static int device_fits(const operation *op, const words *w, const cuzk_bench *b) {
    const int code = proof_fits(op, w, b);
    if (code >= 0) return code;
    const bool kernel = is_kernel(op, b);
    if (!b->device.cuda && !op->cpu)
        return cuzk_cli_usage("bench", "%s is for --device cuda", op->name);
    if ((w->step || w->factor || w->window || w->circuit) && !kernel)
        return cuzk_cli_usage("bench", "--step, --factor, --window and --circuit are for field, "
                                       "ntt, msm, bits and eval --device cuda");
    if (kernel && (w->impl || w->vs || w->partition))
        return cuzk_cli_usage(
            "bench", "--impl, --vs and --partition do not go with %s --device cuda", op->name);
    if (strcmp(op->name, "ntt") == 0 && (w->group || (w->pattern && !kernel)))
        return cuzk_cli_usage("bench", "--group and --pattern are for msm");
    return -1;
}

/* -1 when the options go with the operation; otherwise the exit code. */
static int options_fit(const operation *op, const words *w, const cuzk_bench *b) {
    const bool kernel = is_kernel(op, b);
    const int code = device_fits(op, w, b);
    if (code >= 0) return code;
    if (op->n_files && !kernel && (w->log2 || names_a_kind(w)))
        return cuzk_cli_usage(
            "bench",
            "%s takes curve and size from its files: only --threads, --runs, --impl and --table go "
            "with it",
            op->name);
    if (w->partition && !op->one_partition)
        return cuzk_cli_usage("bench", "--partition is for witness, eval and partition");
    if (w->seed && !(op->cpu == cuzk_bench_partition_proof && b->device.cuda))
        return cuzk_cli_usage("bench", "--insecure-seed is for partition --device cuda");
    if (w->fold && !w->seed) return cuzk_cli_usage("bench", "--fold-c goes with --insecure-seed");
    if (w->all && !kernel && (op->cpu != cuzk_bench_msm || names_a_kind(w)))
        return cuzk_cli_usage("bench", "--all is for msm, in place of --curve, --group, --pattern "
                                       "and --vs");
    return -1;
}

/* What the operation's word and its files ask for; NULL after a message. */
static operation_fn *choose(int n, char **arg, const words *w, cuzk_bench *b) {
    const operation *op = find_operation(n > 0 ? arg[0] : "");
    if (n > 0 && !op) {
        cuzk_cli_usage("bench",
                       "nothing called `%s`: ntt, msm, prove, witness, eval or partition; field "
                       "and bits on a device",
                       arg[0]);
        return NULL;
    }
    /* a key from a seed needs no directory */
    const bool seeded = w->seed && op && op->one_partition && op->n_files > 1;
    if (!op || n != 1 + (is_kernel(op, b) ? 0 : op->n_files - seeded)) {
        cuzk_cli_usage("bench", "wants `ntt`, `msm`, `prove ZKEY WTNS`, `witness IN`, `eval IN` or "
                                "`partition IN DIR`");
        return NULL;
    }
    if (options_fit(op, w, b) >= 0) return NULL;
    b->seed = w->seed;
    b->fold = w->fold;
    b->device.in_turn = w->in_turn;
    b->kernels.operation = op->name;
    if (n > 1) b->zkey = arg[1];
    if (n > 2) b->wtns = arg[2];
    return b->device.cuda ? op->cuda : op->cpu;
}

int cuzk_cmd_bench(int argc, char **argv) {
    words w = {0};
    cuzk_bench b = {0};
    cuzk_err err = {0};
#ifdef CUZK_HAVE_RPC
    if (argc > 1 && strcmp(argv[1], "daemon") == 0) return cuzk_bench_daemon(argc - 1, argv + 1);
#endif
    cuzk_buf command = CUZK_BUF_INIT; /* now: reading options moves them in front */
    cuzk_buf_puts(&command, "cuzk");
    for (int i = 0; i < argc; i++)
        cuzk_buf_printf(&command, " %s", argv[i]);
    int code = read_options(argc, argv, &w);
    if (code < 0) code = interpret_what(&w, &b);
    if (code < 0) code = interpret_how(&w, &b);
    if (code < 0) code = interpret_kernels(&w, &b);
    operation_fn *run = code < 0 ? choose(argc - optind, argv + optind, &w, &b) : NULL;
    if (!run) {
        cuzk_buf_free(&command);
        return code < 0 ? cuzk_status_exit_code(CUZK_STATUS_USAGE) : code;
    }
    cuzk_status st = cuzk_buf_status(&command);
    b.command = command.data;
    if (st == CUZK_OK) st = cuzk_pool_new(&b.pool, b.threads);
    if (st != CUZK_OK) cuzk_err_set(&err, st, "cannot start %u threads", b.threads);
    b.threads = cuzk_pool_threads(b.pool);
    if (st == CUZK_OK) st = run(&b, &err);
    if (st == CUZK_OK) st = cuzk_bench_print(&b, &err);
    if (st == CUZK_OK && b.wrong)
        st = cuzk_err_set(&err, CUZK_STATUS_BUG, "a result was wrong: see \"verified\":false");
    cuzk_pool_free(b.pool);
    cuzk_buf_free(&b.rows);
    cuzk_buf_free(&command);
    return st == CUZK_OK ? 0 : cuzk_cli_fail("bench", st, &err);
}
