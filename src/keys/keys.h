/* Keys of Filecoin's circuits: the parameter directory, and proving with a key from it.
 *
 * How a verb proves and verifies:
 *
 *   const cuzk_circuit *c = cuzk_circuit_find("porep-2k");
 *   cuzk_circuit_compact(&r1cs, c, err);                     circuit/circuits.h
 *   cuzk_circuit_key_open(&key, c, r1cs, &opts, err);        .params, digest checked, loaded
 *   cuzk_circuit_key_prove(key, witness, NULL, &proof[i], NULL, err);   once for each partition;
 *                                                            the proof is verified before it is
 *                                                            given out
 *   cuzk_groth16_verify_batch(cuzk_circuit_key_vk(key), publics, proof, n, pool, err);
 *   cuzk_proof_to_bytes(out + 192 * i, &proof[i]);           format/proof_bytes.h
 *
 * and to verify: cuzk_circuit_vk_open (the .vk alone), cuzk_proof_from_bytes,
 * cuzk_groth16_verify or cuzk_groth16_verify_batch (groth16/groth16.h). Public inputs are plain
 * integers without ONE, in the order of the circuit's inputs. */
#ifndef CUZK_KEYS_KEYS_H
#define CUZK_KEYS_KEYS_H

#include "base/file.h"
#include "base/status.h"
#include "base/thread.h"
#include "circuit/circuits.h"
#include "filecoin/params.h"
#include "format/params.h"
#include "groth16/groth16.h"
#include "groth16/setup.h"
#include "witness/witness.h"

#include <stdbool.h>
#include <stdio.h>

typedef struct cuzk_keys_opts {
    const char *dir;     /* NULL: cuzk_keys_default_dir() */
    bool allow_insecure; /* take a key that is not the official one but has a sidecar NAME.insecure:
                            `--allow-insecure-keys` */
    cuzk_pool *pool;     /* may be NULL; must outlive the key */
    FILE *progress;      /* bars of long steps; NULL: silent */
    const char *seed;    /* hexadecimal; NULL: files. No file is read: the key is made from this
                            seed (groth16/setup.h), which anybody can do who knows it. Wants
                            allow_insecure; a proving key also data_only: it holds logarithms for a
                            device (cuzk_proving_key.logs) */
    bool data_only;      /* for another backend: nothing is made ready on the CPU, and
                            cuzk_circuit_key_prove means nothing */
    const cuzk_witness_plan *plan; /* of r1cs: slots of other backends take free values
                                      (cuzk_circuit_key_prove_inputs) and no witness; NULL: not.
                                      Must outlive the key */
} cuzk_keys_opts;

/* The directory that FIL_PROOFS_PARAMETER_CACHE names, or Filecoin's default. Not to be freed. */
const char *cuzk_keys_default_dir(void);

/* A proving key, loaded. Immutable: several threads may prove with it at a time. */
typedef struct cuzk_circuit_key cuzk_circuit_key;

/* Loads NAME.params of the circuit from the directory. r1cs: the circuit's compact form, which
 * must outlive the key. Takes about the file's size in memory. IO; BAD_INPUT when the file is
 * malformed, belongs to another circuit, or is not the official one and no sidecar and
 * allow_insecure excuse it (the message names both digests). */
cuzk_status cuzk_circuit_key_open(cuzk_circuit_key **out, const cuzk_circuit *circuit,
                                  const cuzk_r1cs *r1cs, const cuzk_keys_opts *opts,
                                  cuzk_err *err) CUZK_MUST_CHECK;
void cuzk_circuit_key_free(cuzk_circuit_key *key);

/* Borrowed from the key. */
const cuzk_vk *cuzk_circuit_key_vk(const cuzk_circuit_key *key);
const cuzk_proving_key *cuzk_circuit_key_data(const cuzk_circuit_key *key);
/* Of a key with data_only, once a backend with memory of its own has loaded it: its points are not
 * needed in this process any more. */
void cuzk_circuit_key_drop_bases(cuzk_circuit_key *key);
/* Whether the key is a development key: programs warn. */
bool cuzk_circuit_key_is_insecure(const cuzk_circuit_key *key);

/* Proves one partition on the CPU from a witness of the key's r1cs, and verifies the proof. opts
 * (r, s, impl, sums) and stats may be NULL; the pool is the key's. FALSE when the witness does not
 * satisfy the circuit. */
cuzk_status cuzk_circuit_key_prove(const cuzk_circuit_key *key, const cuzk_witness *w,
                                   const cuzk_prove_opts *opts, cuzk_proof *out,
                                   cuzk_prove_stats *stats, cuzk_err *err) CUZK_MUST_CHECK;

/* The same from free values on a slot of any backend that has loaded cuzk_circuit_key_data(key), of
 * a key that was opened with a plan: cuzk_groth16_prove_inputs. opts->backend and impl mean nothing
 * here. */
cuzk_status cuzk_circuit_key_prove_inputs(const cuzk_circuit_key *key, cuzk_slot *slot,
                                          const cuzk_u256 *frees, const cuzk_u256 *publics,
                                          const cuzk_prove_opts *opts, cuzk_proof *out,
                                          cuzk_prove_stats *stats, cuzk_err *err) CUZK_MUST_CHECK;

/* Reads NAME.vk alone, under the same rules. *insecure (may be NULL): a development key. Free with
 * cuzk_vk_free. */
cuzk_status cuzk_circuit_vk_open(cuzk_vk *out, bool *insecure, const cuzk_circuit *circuit,
                                 const cuzk_keys_opts *opts, cuzk_err *err) CUZK_MUST_CHECK;

/* The same with the two points that only a prover needs: enough to assemble proofs from a device's
 * sums. BAD_INPUT also when NAME.params begins otherwise than NAME.vk: keys of two makings. The
 * other points of NAME.params are not looked at. Free with cuzk_params_vk_free. */
cuzk_status cuzk_circuit_prover_vk_open(cuzk_params_vk *out, bool *insecure,
                                        const cuzk_circuit *circuit, const cuzk_keys_opts *opts,
                                        cuzk_err *err) CUZK_MUST_CHECK;

/* The public inputs of a witness: n_inputs - 1 plain integers. */
cuzk_status cuzk_witness_publics(cuzk_u256 *out, const cuzk_witness *w) CUZK_MUST_CHECK;

/* ---- making keys ---- */

/* Makes NAME.params, NAME.vk, NAME.meta and NAME.insecure in dir (made when missing) from known
 * secrets. None of them appears before all are complete. A set of files without NAME.insecure is
 * taken for official and never overwritten, nor is a file with the published digest: USAGE. name
 * (may be NULL) takes the stem. */
cuzk_status cuzk_keys_setup(const cuzk_circuit *circuit, const cuzk_r1cs *r1cs,
                            const cuzk_toxic *toxic, const char *dir, const cuzk_setup_opts *opts,
                            cuzk_params_name *name, cuzk_err *err) CUZK_MUST_CHECK;

/* *own: whether path is, or would be, a file of a circuit's key in dir (NULL: the default): what a
 * proof must not be written to. */
cuzk_status cuzk_keys_own(bool *own, const char *dir, const char *path,
                          cuzk_err *err) CUZK_MUST_CHECK;

/* ---- looking at files ---- */

/* The circuit whose key's file would have this name (a path or not), with any of the endings
 * .params, .vk, .meta, .insecure; NULL when none would. *name (may be NULL) takes its facts. */
const cuzk_circuit *cuzk_keys_circuit_of(const char *path, cuzk_params_name *name);
/* How many points a circuit's key has. Takes the time of cuzk_circuit_compact. */
cuzk_status cuzk_keys_counts(cuzk_params_counts *out, const cuzk_circuit *circuit,
                             cuzk_err *err) CUZK_MUST_CHECK;
/* The digest by which published files are known, of a file mapped from path: 32 hexadecimal digits
 * and a NUL. Of large files it is remembered. */
cuzk_status cuzk_keys_digest(char out[CUZK_PARAMS_DIGEST_HEX + 1], const cuzk_map *map,
                             const char *path, FILE *progress, cuzk_err *err) CUZK_MUST_CHECK;
/* Whether NAME.insecure stands beside the file of a key. */
bool cuzk_keys_sidecar_beside(const char *path);

typedef enum cuzk_key_state {
    CUZK_KEY_OFFICIAL,    /* the published file */
    CUZK_KEY_DEVELOPMENT, /* another, well formed, with a sidecar */
    CUZK_KEY_DIFFERS,     /* another, well formed, without one */
    CUZK_KEY_BAD,         /* malformed, of another circuit, or unreadable: see err */
    CUZK_KEY_STRAY,       /* looks like a key's file, and no program takes it; or is not there and
                             should be: see err */
} cuzk_key_state;

typedef struct cuzk_key_report {
    const char *circuit, *file; /* file: without the directory; circuit: NULL when unknown */
    uint64_t bytes;
    cuzk_key_state state;
    char digest[33];
    const char *official; /* NULL: none published */
    cuzk_err err;
} cuzk_key_report;

/* Reports on every .params and .vk of a circuit we know that is in dir, in the order of
 * cuzk_circuit_at, then on strays. A file that is not the official one is checked point by point.
 * *n: how many. Errors are those of the machine; bad files are reports. */
cuzk_status cuzk_keys_check(const char *dir, cuzk_pool *pool, FILE *progress,
                            void (*put)(void *ctx, const cuzk_key_report *report), void *ctx,
                            size_t *n, cuzk_err *err) CUZK_MUST_CHECK;

#endif
