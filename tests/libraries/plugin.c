/* A shared object that holds librapidsnark.a: the archive is position-independent. */
#include "rapidsnark/prover.h"

__attribute__((visibility("default"))) int
plugin_prove(const char *zkey, const void *wtns, unsigned long long wtns_size, char *proof,
             unsigned long long *proof_size, char *signals, unsigned long long *signals_size);

int plugin_prove(const char *zkey, const void *wtns, unsigned long long wtns_size, char *proof,
                 unsigned long long *proof_size, char *signals, unsigned long long *signals_size) {
    return groth16_prover_zkey_file(zkey, wtns, wtns_size, proof, proof_size, signals, signals_size,
                                    (char *)0, 0);
}
