#include "inspect.h"

#include "cli.h"
#include "verbs.h"

#include "format/binfile.h"

#include <stdio.h>

static const char help[] =
    "usage: cuzk inspect FILE [OPTIONS]\n"
    "\n"
    "Explains a file of circom or snarkjs: .zkey, .wtns, .r1cs, .ptau, or a proof, verification\n"
    "key or list of public signals in JSON. The kind is told from the contents. Sections with\n"
    "their offsets, sizes, curve, counts; shares of points at infinity in a key, of zeros and "
    "ones\n"
    "in a witness; the contributions to a key. The file is checked on the way: what is readable\n"
    "of a broken one is shown, followed by the error.\n"
    "\n"
    "  --full         also check that every point of a .zkey is in its subgroup\n"
    "  --json         one JSON object instead of text\n"
    "  --threads N    threads to use; 0 (default): one per core\n"
    "\n"
    "example: cuzk inspect circuit_final.zkey --full\n";

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
