#include "cli.h"
#include "verbs.h"

#include "base/file.h"
#include "format/json_docs.h"
#include "format/zkey.h"

#include <stdio.h>

static const char help[] =
    "usage: cuzk export-vk ZKEY VKEY\n"
    "\n"
    "Writes the verification key inside a proving key as JSON, byte for byte as\n"
    "`snarkjs zkey export verificationkey` does. Both curves are recognised from the key, whose\n"
    "points that go into VKEY are checked: on their curve and in their subgroup.\n"
    "\n"
    "example: cuzk export-vk circuit_final.zkey verification_key.json\n";

static cuzk_status export_vk(const char *zkey, const char *path, cuzk_err *err) {
    cuzk_zkey *key;
    cuzk_vk vk = {0};
    cuzk_buf text = CUZK_BUF_INIT;
    CUZK_TRY(cuzk_zkey_open(&key, zkey, CUZK_ZKEY_CHECK_SHAPE, NULL, err));
    cuzk_status st = cuzk_zkey_vk(key, &vk, err);
    if (st == CUZK_OK) {
        cuzk_vk_to_json(&vk, &text);
        st = cuzk_buf_status(&text);
        if (st != CUZK_OK) cuzk_err_set(err, st, "not enough memory for %s", path);
    }
    if (st == CUZK_OK) st = cuzk_write_file(path, text.data, text.len, err);
    cuzk_buf_free(&text);
    cuzk_vk_free(&vk);
    cuzk_zkey_free(key);
    return st;
}

int cuzk_cmd_export_vk(int argc, char **argv) {
    static const struct option longs[] = {{"help", no_argument, NULL, 'h'}, {NULL, 0, NULL, 0}};
    int c;
    opterr = 0;
    while ((c = getopt_long(argc, argv, ":h", longs, NULL)) != -1) {
        if (c == 'h') return cuzk_cli_help("export-vk", help);
        return cuzk_cli_bad_option("export-vk", c, argv);
    }
    if (argc - optind != 2)
        return cuzk_cli_usage("export-vk", "wants ZKEY VKEY, got %d arguments", argc - optind);
    cuzk_err err = {0};
    const char *const in[] = {argv[optind]}, *const out[] = {argv[optind + 1]};
    if (cuzk_cli_distinct("export-vk", in, 1, out, 1) != 0) return 2;
    cuzk_status st = export_vk(argv[optind], argv[optind + 1], &err);
    return st == CUZK_OK ? 0 : cuzk_cli_fail("export-vk", st, &err);
}
