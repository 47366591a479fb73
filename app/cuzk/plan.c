/* `cuzk plan`: what a key takes on a device, and how long a proof takes there. */
#include "cli.h"
#include "verbs.h"

#include "base/buf.h"
#include "base/file.h"
#include "base/units.h"
#include "circuit/circuits.h"
#include "format/zkey.h"
#include "groth16/assemble.h"
#include "groth16/params_key.h"
#include "keys/keys.h"

#ifdef CUZK_HAVE_CUDA
#include "backend/cuda/open.h"
#endif

#include <stdio.h>
#include <string.h>

static const char help[] =
    "usage: cuzk plan [OPTIONS] --circuit NAME\n"
    "       cuzk plan [OPTIONS] KEY\n"
    "\n"
    "What a key takes on a CUDA device and in pinned memory of the host, to the byte, whether its\n"
    "bases stay on the device or come with every proof, and a prediction of a proof's time, also\n"
    "for a link a tenth as fast. KEY is a .zkey, or a .params under its official name. No device\n"
    "is needed: speed and multiprocessors are those of an H200, memory is what --vram says. Bases\n"
    "at infinity are counted; loading leaves them out. Half of all bits are taken to be 1, and no\n"
    "other wire 0 or 1: the bits of a .zkey are not known, so its time is the longest.\n"
    "\n"
    "  --vram SIZE                 memory of the device; default 139GiB\n"
    "  --partitions N              so many proofs are made one after another, and may share a "
    "pass\n"
    "                              over a key that is streamed; default 1\n"
    "  --link SIZE                 bytes a second from the host (12GB); default 54GB\n"
    "  --once                      without tables of multiples, as the verbs that prove once load\n"
    "  --json                      as JSON on stdout\n"
    "\n"
    "exit codes: 5 when the memory does not suffice (the message names the least that does), or "
    "in\n"
    "a build without CUDA.\n"
    "\n"
    "example: cuzk plan --circuit porep-32g --vram 16GiB\n";

enum { LINK_GB = 54 }; /* of an H200's host */

typedef struct options {
    const char *circuit, *path;
    uint64_t vram, partitions, link;
    bool once, json;
} options;

#ifdef CUZK_HAVE_CUDA

/* The figures, and what they are borrowed from. */
typedef struct figures {
    cuzk_r1cs *r1cs;
    cuzk_zkey *zkey;
    cuzk_proving_key key;
} figures;

static cuzk_status of_circuit(figures *f, const cuzk_circuit *c, cuzk_err *err) {
    cuzk_r1cs_density density;
    CUZK_TRY(cuzk_circuit_compact(&f->r1cs, c, err));
    cuzk_status st = cuzk_r1cs_density_of(&density, f->r1cs);
    if (st != CUZK_OK) return cuzk_err_set(err, st, "not enough memory for %s", c->name);
    st = cuzk_params_key_shape(&f->key, f->r1cs, &density, err);
    f->key.name = c->name;
    cuzk_r1cs_density_free(&density);
    return st;
}

static cuzk_status read_figures(figures *f, const options *o, cuzk_err *err) {
    if (o->circuit) {
        const cuzk_circuit *c = cuzk_circuit_find(o->circuit);
        if (!c)
            return cuzk_err_set(err, CUZK_STATUS_USAGE, "no circuit %s: see `cuzk circuit list`",
                                o->circuit);
        return of_circuit(f, c, err);
    }
    const cuzk_circuit *c = cuzk_keys_circuit_of(o->path, NULL);
    if (c) {
        cuzk_map file; /* its name says all, but it has to be there */
        CUZK_TRY(cuzk_map_file(&file, o->path, err));
        cuzk_map_close(&file);
        return of_circuit(f, c, err);
    }
    CUZK_TRY(cuzk_zkey_open(&f->zkey, o->path, CUZK_ZKEY_CHECK_SHAPE, NULL, err));
    cuzk_zkey_proving_key(f->zkey, &f->key);
    return CUZK_OK;
}

static const char *form(const cuzk_cuda_forecast *f) {
    if (f->streamed) return f->bytes.points ? "streamed in part" : "streamed";
    return f->bytes.tables ? "resident with tables" : "resident";
}

typedef struct item {
    const char *key, *text;
    uint64_t bytes;
} item;

static void print_items(const item *items, size_t n, bool json, cuzk_buf *out) {
    for (size_t i = 0; i < n; i++) {
        if (json)
            cuzk_buf_printf(out, "%s\"%s\":%llu", i ? "," : "", items[i].key,
                            (unsigned long long)items[i].bytes);
        else
            cuzk_buf_printf(out, "  %-34s %16llu\n", items[i].text,
                            (unsigned long long)items[i].bytes);
    }
}

static void print(const options *o, const cuzk_proving_key *key, const cuzk_cuda_forecast *f,
                  cuzk_buf *out) {
    const item device[] = {
        {"points", "bases, with their places", f->bytes.points},
        {"tables", "tables of multiples", f->bytes.tables},
        {"rows", "rows of A and B", f->bytes.rows},
        {"transforms", "transform tables", f->bytes.transforms},
        {"vectors", "vectors of the quotient", f->vectors},
        {"scratch", "scratch of the sums", f->scratch},
        {"buffers", "buffers of streamed chunks", f->buffers},
        {"slot", "witness of a proof (slot)", f->bytes.slot},
        {"all", "all", f->device},
    };
    const item host[] = {
        {"bases", "bases that are streamed", f->bytes.host},
        {"slot", "staging and results of a slot", f->slot_pinned},
        {"ring", "ring through which keys go", f->ring},
        {"all", "all", f->pinned},
    };
    const size_t n_device = sizeof device / sizeof *device, n_host = sizeof host / sizeof *host;
    const unsigned long long vram = o->vram, streamed = f->bytes.streamed;
    if (o->json) {
        cuzk_buf_puts(out, "{\"key\":");
        cuzk_buf_json_str(out, key->name);
        cuzk_buf_printf(out, ",\"log2_domain\":%u,\"vram\":%llu,\"form\":\"%s\",\"device\":{",
                        key->log2_domain, vram, form(f));
        print_items(device, n_device, true, out);
        cuzk_buf_puts(out, "},\"pinned\":{");
        print_items(host, n_host, true, out);
        cuzk_buf_printf(
            out,
            "},\"slots\":%u,\"streamed_bytes\":%llu,\"chunks\":{\"full\":%u,\"full_bases\":%u,"
            "\"bits\":%u,\"bits_bases\":%u},\"predicted_ms\":%.0f,"
            "\"predicted_ms_slow_link\":%.0f}\n",
            f->slots, streamed, f->stream.chunks[0], f->stream.chunk_bases[0], f->stream.chunks[1],
            f->stream.chunk_bases[1], f->ms, f->ms_slow);
        return;
    }
    cuzk_buf_printf(out, "%s, domain 2^%u, %.1f GiB of device memory: %s\n", key->name,
                    key->log2_domain, (double)o->vram / (double)((uint64_t)1 << 30), form(f));
    cuzk_buf_puts(out, "device memory, bytes\n");
    print_items(device, n_device, false, out);
    cuzk_buf_puts(out, "pinned memory of the host, bytes\n");
    print_items(host, n_host, false, out);
    if (f->streamed)
        cuzk_buf_printf(
            out,
            "%llu bytes of bases come with every pass, for %u of the proofs; %u chunks of "
            "at most %u bases of full values and H, %u of %u of bits\n",
            streamed, f->slots, f->stream.chunks[0], f->stream.chunk_bases[0], f->stream.chunks[1],
            f->stream.chunk_bases[1]);
    const double link = (double)o->link * 1e-9;
    cuzk_buf_printf(out,
                    "a proof: about %.0f ms; with a link of %.1f GB/s instead of %.1f: %.0f ms\n",
                    f->ms, link / 10, link, f->ms_slow);
}

static cuzk_status run(const options *o, cuzk_err *err) {
    const cuzk_cuda_options like = {
        .tables = !o->once, .vram = (size_t)o->vram, .share = (unsigned)o->partitions};
    figures f = {0};
    cuzk_cuda_forecast forecast;
    cuzk_buf out = CUZK_BUF_INIT;
    cuzk_status st = read_figures(&f, o, err);
    if (st == CUZK_OK) st = cuzk_cuda_forecast_key(&forecast, &f.key, &like, (double)o->link, err);
    if (st == CUZK_OK) {
        print(o, &f.key, &forecast, &out);
        st = cuzk_buf_status(&out);
        if (st == CUZK_OK)
            fputs(out.data, stdout);
        else
            (void)cuzk_err_set(err, st, "not enough memory");
    }
    cuzk_buf_free(&out);
    cuzk_r1cs_free(f.r1cs);
    cuzk_zkey_free(f.zkey);
    return st;
}
#endif

/* -1: go on; otherwise the exit code. */
static int parse(int argc, char **argv, options *o) {
    static const struct option longs[] = {
        {"circuit", required_argument, NULL, 'c'}, {"vram", required_argument, NULL, 'v'},
        {"link", required_argument, NULL, 'l'},    {"partitions", required_argument, NULL, 'p'},
        {"once", no_argument, NULL, 'o'},          {"json", no_argument, NULL, 'j'},
        {"help", no_argument, NULL, 'h'},          {NULL, 0, NULL, 0},
    };
    int c;
    opterr = 0;
    while ((c = getopt_long(argc, argv, ":h", longs, NULL)) != -1) {
        if (c == 'h') return cuzk_cli_help("plan", help);
        if (c == 'c') {
            o->circuit = optarg;
        } else if (c == 'v') {
            if (!cuzk_parse_bytes(optarg, &o->vram) || o->vram == 0)
                return cuzk_cli_usage("plan", "--vram %s: a size such as 16GiB", optarg);
        } else if (c == 'l') {
            if (!cuzk_parse_bytes(optarg, &o->link) || o->link == 0)
                return cuzk_cli_usage("plan", "--link %s: bytes a second such as 12GB", optarg);
        } else if (c == 'p') {
            if (!cuzk_cli_number(optarg, 1, UINT16_MAX, &o->partitions))
                return cuzk_cli_usage("plan", "--partitions %s: a number from 1", optarg);
        } else if (c == 'o') {
            o->once = true;
        } else if (c == 'j') {
            o->json = true;
        } else {
            return cuzk_cli_bad_option("plan", c, argv);
        }
    }
    if (argc - optind != (o->circuit ? 0 : 1))
        return cuzk_cli_usage("plan", "wants either --circuit NAME or a KEY");
    o->path = o->circuit ? NULL : argv[optind];
    return -1;
}

int cuzk_cmd_plan(int argc, char **argv) {
    options o = {.vram = (uint64_t)139 << 30, .partitions = 1, .link = LINK_GB * 1000000000ull};
    cuzk_err err = {0};
    const int code = parse(argc, argv, &o);
    if (code >= 0) return code;
#ifdef CUZK_HAVE_CUDA
    const cuzk_status st = run(&o, &err);
#else
    const cuzk_status st = cuzk_err_set(&err, CUZK_STATUS_NO_DEVICE,
                                        "this cuzk was built without CUDA (cmake --preset cuda)");
#endif
    if (st != CUZK_OK) return cuzk_cli_fail("plan", st, &err);
    return cuzk_cli_flush("plan", 0);
}
