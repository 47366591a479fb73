/* Groth16 (eprint 2016/260) on a loaded key: prove, verify. Format-neutral. */
#ifndef CUZK_GROTH16_GROTH16_H
#define CUZK_GROTH16_GROTH16_H

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
    CUZK_STAGE_MSM_C,
    CUZK_STAGE_MSM_H,
    CUZK_STAGE_VERIFY,
    CUZK_STAGE_COUNT
} cuzk_prove_stage;

/* "eval", "ntt", "msm_a", … for reports. */
const char *cuzk_prove_stage_name(cuzk_prove_stage stage);

typedef struct cuzk_prove_opts {
    const cuzk_u256 *r, *s; /* plain blinding; NULL: fresh from getrandom, uniform */
    cuzk_cpu_impl impl;
    cuzk_pool *pool;
} cuzk_prove_opts;

typedef struct cuzk_prove_stats {
    int64_t ns[CUZK_STAGE_COUNT]; /* wall time by stage */
} cuzk_prove_stats;

/* Proves and checks the proof with the key's own verifying key before giving it out. witness:
 * n_vars plain scalars below r, witness[0] = 1, any alignment. When the check fails the proof is
 * made again with the same r and s on the portable path: equal points mean that the witness does
 * not satisfy the circuit (FALSE), others a fault of the machine or of this program (BUG).
 * opts and stats may be NULL. Scratch that held the witness, r or s is wiped. */
cuzk_status cuzk_groth16_prove(const cuzk_zkey *key, const void *witness,
                               const cuzk_prove_opts *opts, cuzk_proof *out,
                               cuzk_prove_stats *stats, cuzk_err *err) CUZK_MUST_CHECK;

/* OK when the proof is valid for the public signals (plain, n of them), FALSE when it is not or
 * when n or a value does not fit the key. Points of proof and vk must be in their subgroups (the
 * readers check). */
cuzk_status cuzk_groth16_verify(const cuzk_vk *vk, const cuzk_u256 *publics, size_t n,
                                const cuzk_proof *proof, cuzk_err *err) CUZK_MUST_CHECK;

#endif
