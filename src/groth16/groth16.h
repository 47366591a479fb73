/* Groth16 (eprint 2016/260) on a loaded key: prove, verify. Format-neutral. */
#ifndef CUZK_GROTH16_GROTH16_H
#define CUZK_GROTH16_GROTH16_H

#include "backend/backend.h"
#include "base/cpu.h"
#include "base/status.h"
#include "base/thread.h"
#include "format/groth16_data.h"
#include "format/zkey.h"

#include <stdbool.h>
#include <stdint.h>

typedef enum cuzk_prove_stage {
    CUZK_STAGE_EVAL, /* a = A w, b = B w, c = a b */
    CUZK_STAGE_NTT,  /* to the odd coset, h */
    CUZK_STAGE_MSM_A,
    CUZK_STAGE_MSM_B1,
    CUZK_STAGE_MSM_B2,
    CUZK_STAGE_MSM_C, /* L of a key in Filecoin's form */
    CUZK_STAGE_MSM_H,
    CUZK_STAGE_VERIFY,
    CUZK_STAGE_COUNT
} cuzk_prove_stage;

/* "eval", "ntt", "msm_a", … for reports. */
const char *cuzk_prove_stage_name(cuzk_prove_stage stage);

typedef struct cuzk_prove_opts {
    const cuzk_u256 *r, *s; /* plain blinding; NULL: fresh from getrandom, uniform */
    cuzk_backend *backend;  /* where cuzk_groth16_prove computes; NULL: on a CPU backend that it
                               opens itself */
    cuzk_cpu_impl impl;     /* of that one */
    cuzk_pool *pool;
    cuzk_groth16_sums *sums; /* takes the sums before blinding, for tests: they tell about the
                                witness; NULL: not wanted */
    /* Looks for a bad point in the key when a proof does not verify: BAD_INPUT names it. NULL:
     * the key's points are known to be good. */
    cuzk_status (*check_key)(const void *ctx, cuzk_pool *pool, cuzk_err *err);
    const void *check_ctx;
    const char *hint; /* ends the message about an unsatisfied circuit; may be NULL */
    /* Called, where it is not NULL, when a device has the work and before its result is waited for:
     * to queue another proof on another slot, which may share a pass over a key that is streamed.
     */
    cuzk_status (*queued)(void *ctx, cuzk_err *err);
    void *queued_ctx;
} cuzk_prove_opts;

typedef struct cuzk_prove_stats {
    int64_t ns[CUZK_STAGE_COUNT]; /* wall time by stage */
    cuzk_sums_stats sums;         /* of the backend, whose upload counts to EVAL above */
} cuzk_prove_stats;

/* Proves and checks the proof with the key's own verifying key before giving it out. witness:
 * n_vars plain scalars below r, witness[0] = 1, any alignment. When the check fails the proof is
 * made again with the same r and s on the portable path: equal points mean that the witness does
 * not satisfy the circuit (FALSE), others a fault of the machine or of this program (BUG).
 * opts and stats may be NULL. Scratch that held the witness, r or s is wiped. */
cuzk_status cuzk_groth16_prove(const cuzk_zkey *key, const void *witness,
                               const cuzk_prove_opts *opts, cuzk_proof *out,
                               cuzk_prove_stats *stats, cuzk_err *err) CUZK_MUST_CHECK;

/* The same with a slot of any backend, for a key in any form: stages, computes, finishes, and
 * checks the proof with vk (the key's) before giving it out. */
cuzk_status cuzk_groth16_prove_slot(cuzk_slot *slot, const cuzk_wires *wires, const cuzk_vk *vk,
                                    const cuzk_prove_opts *opts, cuzk_proof *out,
                                    cuzk_prove_stats *stats, cuzk_err *err) CUZK_MUST_CHECK;

/* The same from free values, on a slot of a key with a plan (backend/backend.h, stage_inputs).
 * publics: the n_inputs - 1 public inputs, plain, as whoever verifies the proof will know them;
 * FALSE also when the witness has others. */
cuzk_status cuzk_groth16_prove_inputs(cuzk_slot *slot, const cuzk_u256 *frees, size_t n_frees,
                                      const cuzk_u256 *publics, const cuzk_vk *vk,
                                      const cuzk_prove_opts *opts, cuzk_proof *out,
                                      cuzk_prove_stats *stats, cuzk_err *err) CUZK_MUST_CHECK;

/* cuzk_groth16_prove with a slot of any backend that holds the key of zk (cuzk_zkey_proving_key),
 * whose verifying key is vk. */
cuzk_status cuzk_groth16_prove_resident(cuzk_slot *slot, const cuzk_zkey *zk, const cuzk_vk *vk,
                                        const void *witness, const cuzk_prove_opts *opts,
                                        cuzk_proof *out, cuzk_prove_stats *stats,
                                        cuzk_err *err) CUZK_MUST_CHECK;

/* OK when the proof is valid for the public signals (plain, n of them), FALSE when it is not or
 * when n or a value does not fit the key. Points of proof and vk must be in their subgroups (the
 * readers check). */
cuzk_status cuzk_groth16_verify(const cuzk_vk *vk, const cuzk_u256 *publics, size_t n,
                                const cuzk_proof *proof, cuzk_err *err) CUZK_MUST_CHECK;

/* OK when all n proofs of one key are valid; publics: `each` of them for each proof, one proof's
 * after another's; FALSE when the key has another number. One product of pairings over random
 * multiples (128 bits) of the proofs: a batch with an invalid proof passes with a probability of
 * 2^-127. On failure every proof is verified by itself and the message names the first bad one. */
cuzk_status cuzk_groth16_verify_batch(const cuzk_vk *vk, const cuzk_u256 *publics, size_t each,
                                      const cuzk_proof *proofs, size_t n, cuzk_pool *pool,
                                      cuzk_err *err) CUZK_MUST_CHECK;

#endif
