#include "cli.h"
#include "verbs.h"

#include "base/file.h"
#include "format/json_docs.h"
#include "format/solidity.h"

#include <stdio.h>

static const char help[] =
    "usage: cuzk export-verifier VKEY OUT.sol\n"
    "\n"
    "Writes a Solidity contract that verifies proofs of one circuit on Ethereum, from the\n"
    "circuit's verification key (JSON as snarkjs and `cuzk export-vk` write it). On bn128 callers\n"
    "use it like the contract of snarkjs: verifyProof(a, b, c, signals), see `cuzk calldata`; on\n"
    "bls12381 it needs the precompiles of EIP-2537, and coordinates take two words each.\n"
    "\n"
    "example: cuzk export-verifier verification_key.json verifier.sol\n";

static cuzk_status write_contract(const char *vkey, const char *path, cuzk_err *err) {
    cuzk_map map;
    cuzk_vk vk = {0};
    cuzk_buf text = CUZK_BUF_INIT;
    CUZK_TRY(cuzk_map_file(&map, vkey, err));
    cuzk_status st = cuzk_vk_from_json(&vk, (const char *)map.data, map.len, vkey, err);
    if (st == CUZK_OK) {
        cuzk_solidity_verifier(&vk, &text);
        st = cuzk_buf_status(&text);
        if (st != CUZK_OK) cuzk_err_set(err, st, "not enough memory for %s", path);
    }
    if (st == CUZK_OK) st = cuzk_write_file(path, text.data, text.len, err);
    if (st == CUZK_OK && vk.n_public > cuzk_solidity_max_signals(vk.curve))
        fprintf(stderr,
                "cuzk export-verifier: warning: %u public signals make a contract that is larger "
                "than the 24,576 bytes Ethereum accepts; hash the signals into one\n",
                vk.n_public);
    cuzk_buf_free(&text);
    cuzk_vk_free(&vk);
    cuzk_map_close(&map);
    return st;
}

int cuzk_cmd_export_verifier(int argc, char **argv) {
    static const struct option longs[] = {{"help", no_argument, NULL, 'h'}, {NULL, 0, NULL, 0}};
    int c;
    opterr = 0;
    while ((c = getopt_long(argc, argv, ":h", longs, NULL)) != -1) {
        if (c == 'h') return cuzk_cli_help("export-verifier", help);
        return cuzk_cli_bad_option("export-verifier", c, argv);
    }
    if (argc - optind != 2)
        return cuzk_cli_usage("export-verifier", "wants VKEY OUT.sol, got %d arguments",
                              argc - optind);
    cuzk_err err = {0};
    const char *const in[] = {argv[optind]}, *const out[] = {argv[optind + 1]};
    if (cuzk_cli_distinct("export-verifier", in, 1, out, 1) != 0) return 2;
    cuzk_status st = write_contract(argv[optind], argv[optind + 1], &err);
    return st == CUZK_OK ? 0 : cuzk_cli_fail("export-verifier", st, &err);
}
