/* The C API of cuzk: Groth16 proofs for circom circuits, on bn128 (BN254) and bls12381.
 *
 *     cuzk_prover *prover;
 *     cuzk_err err = {0};
 *     char *proof, *signals;
 *     if (cuzk_prover_open(&prover, "circuit_final.zkey", NULL, &err) != CUZK_OK) …
 *     if (cuzk_prover_prove_file(prover, "witness.wtns", NULL, &proof, &signals, &err) != …
 *     …
 *     cuzk_string_free(proof);
 *     cuzk_string_free(signals);
 *     cuzk_prover_free(prover);
 *
 * Link with `pkg-config --cflags --libs libcuzk`. examples/ holds programs in C, Go, Rust and
 * for Node.
 *
 * Threads. Every function may be called from any thread, and any number of threads may use one
 * handle at a time; only *_free wants the handle to itself. Handles without a thread count of
 * their own share one pool of worker threads, one per core, which starts with the first such
 * handle and ends with the last. Proofs that run at once share the cores, so together they take as
 * long as one after the other; each needs its own working memory, some 130 bytes for every row of
 * the key's domain. A calling thread needs 128 KiB of stack: proofs are made on stacks of their
 * own.
 *
 * Processes. After fork() a child may go on using handles that no other thread was using at the
 * moment of the fork.
 */
#ifndef CUZK_CUZK_H
#define CUZK_CUZK_H

#include "cuzk/prover.h"
#include "cuzk/status.h"
#include "cuzk/verifier.h"

#ifdef __cplusplus
extern "C" {
#endif

#define CUZK_VERSION_MAJOR 0
#define CUZK_VERSION_MINOR 1
#define CUZK_VERSION_PATCH 0

/* "MAJOR.MINOR.PATCH" of the library that is linked, constant. Thread-safe. */
CUZK_API const char *cuzk_version(void);

#ifdef __cplusplus
}
#endif

#endif
