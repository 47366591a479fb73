/* `prover`: rapidsnark's command line, for scripts written for it. Four arguments, nothing on
 * stdout, errors on stderr, exit code 0 or 1. */
#include "base/file.h"
#include "base/process.h"
#include "base/status.h"
#include "cuzk/prover.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Both are complete on disk before the first appears. */
static cuzk_status write_both(char **path, char **text, cuzk_err *err) {
    cuzk_out out[2] = {{.fd = -1}, {.fd = -1}};
    cuzk_status st = CUZK_OK;
    for (int i = 0; i < 2 && st == CUZK_OK; i++) {
        st = cuzk_out_open(&out[i], path[i], err);
        if (st == CUZK_OK) st = cuzk_out_write(&out[i], text[i], strlen(text[i]), err);
        if (st == CUZK_OK) st = cuzk_out_sync(&out[i], err);
    }
    for (int i = 0; i < 2; i++) {
        if (st == CUZK_OK)
            st = cuzk_out_commit(&out[i], err);
        else
            cuzk_out_abort(&out[i]);
    }
    return st;
}

/* Neither document may replace the other, the key or the witness. */
static cuzk_status check_distinct(char **path, cuzk_err *err) {
    for (int out = 2; out < 4; out++) {
        for (int i = 0; i < out; i++) {
            if (cuzk_same_file(path[i], path[out]))
                return cuzk_err_set(err, CUZK_STATUS_USAGE, "%s and %s are the same file", path[i],
                                    path[out]);
        }
    }
    return CUZK_OK;
}

/* One proof: bad points of the key would be found by its verification, and named then. */
static cuzk_status run(char **argv, cuzk_err *err) {
    cuzk_prover_options options = CUZK_PROVER_OPTIONS_INIT;
    cuzk_prover *prover;
    char *text[2];
    const char *device = getenv("CUZK_DEVICE"); /* as librapidsnark */
    options.device = device && *device ? device : NULL;
    options.check = CUZK_KEY_CHECK_SHAPE;
    CUZK_TRY(cuzk_process_env(err));
    CUZK_TRY(check_distinct(argv + 1, err));
    cuzk_status st = cuzk_prover_open(&prover, argv[1], &options, err);
    if (st == CUZK_STATUS_USAGE && options.device) return cuzk_err_prefix(err, st, "CUZK_DEVICE");
    if (st != CUZK_OK) return st;
    st = cuzk_prover_prove_file(prover, argv[2], NULL, &text[0], &text[1], err);
    cuzk_prover_free(prover);
    if (st != CUZK_OK) return st;
    st = write_both(argv + 3, text, err);
    cuzk_string_free(text[0]);
    cuzk_string_free(text[1]);
    return st;
}

int main(int argc, char **argv) {
    cuzk_process_init();
    if (argc != 5) {
        fputs("Invalid number of parameters:\n"
              "Usage: prover <circuit.zkey> <witness.wtns> <proof.json> <public.json>\n",
              stderr);
        return 1;
    }
    cuzk_err err = {0};
    cuzk_status st = run(argv, &err);
    if (st == CUZK_OK) return 0;
    fprintf(stderr, "Error: %s\n", err.msg[0] ? err.msg : cuzk_status_text(st));
    return 1;
}
