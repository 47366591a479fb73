#include "cli.h"
#include "verbs.h"

#include "base/file.h"
#include "base/mem.h"
#include "format/json_docs.h"
#include "groth16/groth16.h"

#include <stdio.h>

static const char help[] =
    "usage: cuzk verify VKEY PUBLIC PROOF\n"
    "\n"
    "Checks a Groth16 proof. The three files are JSON as snarkjs or rapidsnark write them, in the\n"
    "order of `snarkjs groth16 verify`. Says \"valid\" on stdout and exits with 0, or says why "
    "not\n"
    "on stderr and exits with 1: also when a public signal is not below r, their number is wrong,\n"
    "a coordinate is not below p, or a point is off its curve or outside the subgroup.\n"
    "A document that is no such JSON exits with 3.\n"
    "\n"
    "example: cuzk verify verification_key.json public.json proof.json\n";

static cuzk_status check(char **files, cuzk_err *err) {
    cuzk_map map[3] = {{0}};
    cuzk_vk vk = {0};
    cuzk_u256 *publics = NULL;
    size_t n = 0;
    cuzk_proof proof;
    cuzk_status st = CUZK_OK;
    for (int i = 0; i < 3 && st == CUZK_OK; i++)
        st = cuzk_map_file(&map[i], files[i], err);
    if (st == CUZK_OK)
        st = cuzk_vk_from_json(&vk, (const char *)map[0].data, map[0].len, files[0], err);
    if (st == CUZK_OK)
        st = cuzk_public_from_json(&publics, &n, vk.curve, (const char *)map[1].data, map[1].len,
                                   files[1], err);
    if (st == CUZK_OK)
        st = cuzk_proof_from_json(&proof, vk.curve, (const char *)map[2].data, map[2].len, files[2],
                                  err);
    if (st == CUZK_OK) st = cuzk_groth16_verify(&vk, publics, n, &proof, err);
    cuzk_free(publics);
    cuzk_vk_free(&vk);
    for (int i = 0; i < 3; i++)
        cuzk_map_close(&map[i]);
    return st;
}

int cuzk_cmd_verify(int argc, char **argv) {
    static const struct option longs[] = {{"help", no_argument, NULL, 'h'}, {NULL, 0, NULL, 0}};
    int c;
    opterr = 0;
    while ((c = getopt_long(argc, argv, ":h", longs, NULL)) != -1) {
        if (c == 'h') return cuzk_cli_help("verify", help);
        return cuzk_cli_bad_option("verify", c, argv);
    }
    if (argc - optind != 3)
        return cuzk_cli_usage("verify", "wants VKEY PUBLIC PROOF, got %d arguments", argc - optind);
    cuzk_err err = {0};
    cuzk_status st = check(argv + optind, &err);
    if (st != CUZK_OK) return cuzk_cli_fail("verify", st, &err);
    puts("valid");
    return cuzk_cli_flush("verify", 0);
}
