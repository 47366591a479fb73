#include "inspect.h"

#include "cli.h"
#include "verbs.h"

#include "format/binfile.h"
#include "format/json_docs.h"

#include <stdio.h>

static const char help[] =
    "usage: cuzk inspect FILE [OPTIONS]\n"
    "\n"
    "Explains a file of circom or snarkjs: .zkey, .wtns, .r1cs, .ptau, or a proof, verification\n"
    "key or list of public signals in JSON; or of Filecoin: .params, .vk, .meta, .insecure, a "
    "proof\n"
    "of 192 bytes a partition, a C1 output (JSON, wrapped JSON, bincode), a request. The kind is\n"
    "told from the contents, of Filecoin's keys from the name first. Sections with their offsets,\n"
    "sizes, curve, counts; shares of points at infinity in a key, of zeros and ones in a witness;\n"
    "the contributions to a key; a Filecoin key's circuit, its digest and whether it is the\n"
    "published one. The file is checked on the way: what is readable of a broken one is shown,\n"
    "followed by the error.\n"
    "\n"
    "  --full         also check that every point of a .zkey or .params is in its subgroup, and\n"
    "                 compute the digest of a key over 1 GiB\n"
    "  --json         one JSON object instead of text\n"
    "  --threads N    threads to use; 0 (default): one per core\n"
    "\n"
    "examples: cuzk inspect circuit_final.zkey --full\n"
    "          cuzk inspect c1.json\n";

static cuzk_status inspect(cuzk_inspect *in, cuzk_err *err) {
    static const struct {
        const cuzk_binfile_format *format;
        cuzk_status (*explain)(cuzk_inspect *in, cuzk_err *err);
    } kinds[] = {{&cuzk_binfile_zkey, cuzk_inspect_zkey},
                 {&cuzk_binfile_wtns, cuzk_inspect_wtns},
                 {&cuzk_binfile_r1cs, cuzk_inspect_r1cs},
                 {&cuzk_binfile_ptau, cuzk_inspect_ptau}};
    cuzk_report_str(&in->report, "file", in->path);
    cuzk_report_u64(&in->report, "bytes", in->map.len);
    const cuzk_binfile_format *format = cuzk_binfile_format_of(in->map.data, in->map.len);
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        if (kinds[i].format == format) return kinds[i].explain(in, err);
    }
    cuzk_status st;
    if (cuzk_json_kind_of((const char *)in->map.data, in->map.len) == CUZK_JSON_UNKNOWN &&
        cuzk_inspect_filecoin(in, &st, err))
        return st;
    return cuzk_inspect_json(in, err);
}

static int run(const char *path, bool full, bool json, unsigned threads) {
    cuzk_err err = {0}, write_err = {0};
    cuzk_inspect in = {.path = path, .full = full};
    cuzk_status st = cuzk_map_file(&in.map, path, &err);
    if (st == CUZK_OK) {
        st = cuzk_pool_new(&in.pool, threads);
        if (st != CUZK_OK) cuzk_err_set(&err, st, "cannot start %u threads", threads);
    }
    if (st != CUZK_OK) {
        cuzk_map_close(&in.map);
        return cuzk_cli_fail("inspect", st, &err);
    }
    cuzk_report_init(&in.report, json);
    st = inspect(&in, &err);
    cuzk_report_str(&in.report, "status", st == CUZK_OK ? "ok" : err.msg);
    cuzk_status written = cuzk_report_finish(&in.report, &write_err);
    cuzk_pool_free(in.pool);
    cuzk_map_close(&in.map);
    if (st != CUZK_OK) return cuzk_cli_fail("inspect", st, &err);
    return written == CUZK_OK ? 0 : cuzk_cli_fail("inspect", written, &write_err);
}

int cuzk_cmd_inspect(int argc, char **argv) {
    static const struct option longs[] = {{"full", no_argument, NULL, 'f'},
                                          {"json", no_argument, NULL, 'j'},
                                          {"threads", required_argument, NULL, 't'},
                                          {"help", no_argument, NULL, 'h'},
                                          {NULL, 0, NULL, 0}};
    bool full = false, json = false;
    unsigned threads = 0;
    int c;
    opterr = 0;
    while ((c = getopt_long(argc, argv, ":h", longs, NULL)) != -1) {
        if (c == 'h') return cuzk_cli_help("inspect", help);
        if (c == 'f')
            full = true;
        else if (c == 'j')
            json = true;
        else if (c != 't')
            return cuzk_cli_bad_option("inspect", c, argv);
        else if (!cuzk_cli_threads(optarg, &threads))
            return cuzk_cli_usage("inspect", "--threads %s: not a number up to 4096", optarg);
    }
    if (argc - optind != 1)
        return cuzk_cli_usage("inspect", "wants FILE, got %d arguments", argc - optind);
    return run(argv[optind], full, json, threads);
}
