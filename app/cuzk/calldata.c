#include "cli.h"
#include "verbs.h"

#include "base/file.h"
#include "base/mem.h"
#include "format/json_docs.h"
#include "format/solidity.h"

#include <stdio.h>

static const char help[] =
    "usage: cuzk calldata PROOF PUBLIC\n"
    "\n"
    "Prints the arguments of a verifier contract's verifyProof on stdout: for bn128 the text of\n"
    "`snarkjs zkey export soliditycalldata`, ready to be pasted between the parentheses of a\n"
    "call; for bls12381 that of the contract of `cuzk export-verifier`. A proof without a "
    "\"curve\"\n"
    "is taken for bn128. The proof's points and signals are checked, the proof is not verified.\n"
    "\n"
    "example: cuzk calldata proof.json public.json\n";

static cuzk_status print_calldata(char **files, cuzk_err *err) {
    cuzk_map map[2] = {{0}};
    cuzk_proof proof;
    cuzk_u256 *signals = NULL;
    size_t n = 0;
    cuzk_buf text = CUZK_BUF_INIT;
    cuzk_status st = cuzk_map_file(&map[0], files[0], err);
    if (st == CUZK_OK) st = cuzk_map_file(&map[1], files[1], err);
    if (st == CUZK_OK)
        st = cuzk_proof_from_json(&proof, NULL, (const char *)map[0].data, map[0].len, files[0],
                                  err);
    if (st == CUZK_OK)
        st = cuzk_public_from_json(&signals, &n, proof.curve, (const char *)map[1].data, map[1].len,
                                   files[1], err);
    if (st == CUZK_OK) {
        cuzk_solidity_calldata(&proof, signals, n, &text);
        st = cuzk_buf_status(&text);
        if (st != CUZK_OK) cuzk_err_set(err, st, "not enough memory for the text");
    }
    if (st == CUZK_OK && puts(text.data) < 0)
        st = cuzk_err_set(err, CUZK_STATUS_IO, "cannot write to standard output");
    cuzk_buf_free(&text);
    cuzk_free(signals);
    cuzk_map_close(&map[0]);
    cuzk_map_close(&map[1]);
    return st;
}

int cuzk_cmd_calldata(int argc, char **argv) {
    static const struct option longs[] = {{"help", no_argument, NULL, 'h'}, {NULL, 0, NULL, 0}};
    int c;
    opterr = 0;
    while ((c = getopt_long(argc, argv, ":h", longs, NULL)) != -1) {
        if (c == 'h') return cuzk_cli_help("calldata", help);
        return cuzk_cli_bad_option("calldata", c, argv);
    }
    if (argc - optind != 2)
        return cuzk_cli_usage("calldata", "wants PROOF PUBLIC, got %d arguments", argc - optind);
    cuzk_err err = {0};
    cuzk_status st = print_calldata(argv + optind, &err);
    if (st != CUZK_OK) return cuzk_cli_fail("calldata", st, &err);
    return cuzk_cli_flush("calldata", 0);
}
