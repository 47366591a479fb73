/* A program made for rapidsnark's library, unchanged: rapidsnark ZKEY WTNS. Prints the proof and
 * the public signals.
 *
 *     cc rapidsnark.c -lrapidsnark -o rapidsnark */
#include <rapidsnark/prover.h>

#include <stdio.h>
#include <stdlib.h>

static void *read_file(const char *path, unsigned long long *size) {
    FILE *file = fopen(path, "rb");
    if (!file) return NULL;
    fseek(file, 0, SEEK_END);
    long length = ftell(file);
    rewind(file);
    void *data = length > 0 ? malloc((size_t)length) : NULL;
    if (data && fread(data, 1, (size_t)length, file) != (size_t)length) {
        free(data);
        data = NULL;
    }
    fclose(file);
    *size = (unsigned long long)length;
    return data;
}

int main(int argc, char **argv) {
    if (argc != 3) {
        fprintf(stderr, "usage: rapidsnark ZKEY WTNS\n");
        return 2;
    }
    char error[256] = "";
    unsigned long long wtns_size = 0, proof_size = 0, public_size = 0;
    void *wtns = read_file(argv[2], &wtns_size);
    groth16_proof_size(&proof_size);
    int rc = groth16_public_size_for_zkey_file(argv[1], &public_size, error, sizeof error);
    char *proof = malloc((size_t)proof_size), *signals = malloc((size_t)public_size + 1);
    if (rc == PROVER_OK && wtns && proof && signals)
        rc = groth16_prover_zkey_file(argv[1], wtns, wtns_size, proof, &proof_size, signals,
                                      &public_size, error, sizeof error);
    else
        rc = PROVER_ERROR;
    if (rc == PROVER_OK)
        printf("%s\n%s\n", proof, signals);
    else
        fprintf(stderr, "error %d: %s\n", rc, error);
    free(wtns);
    free(proof);
    free(signals);
    return rc;
}
