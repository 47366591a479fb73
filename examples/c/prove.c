/* Proves and verifies with libcuzk: prove ZKEY WTNS [DEVICE], where DEVICE is cpu (the default),
 * cuda or cuda:N. Prints the proof, the public signals, and where each stage ran.
 *
 *     cc prove.c $(pkg-config --cflags --libs libcuzk) -o prove */
#include <cuzk/cuzk.h>

#include <stdio.h>
#include <string.h>

static int fail(const char *what, const cuzk_err *err) {
    fprintf(stderr, "%s: %s\n", what, err->msg);
    return cuzk_status_exit_code(err->status);
}

int main(int argc, char **argv) {
    if (argc != 3 && argc != 4) {
        fprintf(stderr, "usage: prove ZKEY WTNS [DEVICE]\n");
        return 2;
    }
    cuzk_prover_options where = CUZK_PROVER_OPTIONS_INIT;
    if (argc == 4) where.device = argv[3];
    cuzk_err err = {0};
    cuzk_prover *prover = NULL;
    cuzk_verifier *verifier = NULL;
    char *proof = NULL, *signals = NULL, *report = NULL;
    cuzk_prove_options how = CUZK_PROVE_OPTIONS_INIT;
    how.report = &report;
    int code = 0;

    /* A key is opened once and serves any number of proofs, from any number of threads. */
    if (cuzk_prover_open(&prover, argv[1], &where, &err) != CUZK_OK)
        code = fail(argv[1], &err);
    else if (cuzk_prover_prove_file(prover, argv[2], &how, &proof, &signals, &err) != CUZK_OK)
        code = fail(argv[2], &err);
    else if (cuzk_verifier_from_prover(&verifier, prover, &err) != CUZK_OK ||
             cuzk_verifier_verify(verifier, signals, strlen(signals), proof, strlen(proof), &err) !=
                 CUZK_OK)
        code = fail("verify", &err);
    else
        printf("%s\n%s\n%s\n", proof, signals, report);

    cuzk_string_free(proof);
    cuzk_string_free(signals);
    cuzk_string_free(report);
    cuzk_verifier_free(verifier);
    cuzk_prover_free(prover);
    return code;
}
