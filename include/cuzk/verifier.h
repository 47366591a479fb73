/* Checking proofs. Texts are JSON as snarkjs and rapidsnark write them. */
#ifndef CUZK_VERIFIER_H
#define CUZK_VERIFIER_H

#include "cuzk/status.h"

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

struct cuzk_prover;

/* A verification key, checked. Read-only after it is made: any number of threads may use one. */
typedef struct cuzk_verifier cuzk_verifier;

/* Reads verification_key.json: vkey_len bytes, a NUL at the end is not needed. All its points are
 * checked. out: the handle, NULL on failure; the caller frees it. Errors: BAD_INPUT, NO_MEMORY. */
CUZK_API cuzk_status cuzk_verifier_open_json(cuzk_verifier **out, const char *vkey, size_t vkey_len,
                                             cuzk_err *err) CUZK_MUST_CHECK;

/* The verification key inside a proving key. The verifier does not need the prover afterwards. */
CUZK_API cuzk_status cuzk_verifier_from_prover(cuzk_verifier **out,
                                               const struct cuzk_prover *prover,
                                               cuzk_err *err) CUZK_MUST_CHECK;

/* NULL is ignored. */
CUZK_API void cuzk_verifier_free(cuzk_verifier *verifier);

/* CUZK_OK: the proof is valid for these public signals.
 *
 * FALSE: it is not, and err says why. That includes well-formed documents with a signal that is
 * not below r (x and x + r would otherwise pass for the same), a wrong number of signals, a
 * coordinate not below p, a point off its curve or outside its subgroup.
 * BAD_INPUT: a document is not the JSON it should be. NO_MEMORY.
 * Nothing but CUZK_OK may be taken for "valid". */
CUZK_API cuzk_status cuzk_verifier_verify(const cuzk_verifier *verifier, const char *signals,
                                          size_t signals_len, const char *proof, size_t proof_len,
                                          cuzk_err *err) CUZK_MUST_CHECK;

/* All in one call, for a single proof. A bad key is BAD_INPUT. */
CUZK_API cuzk_status cuzk_verify(const char *vkey, size_t vkey_len, const char *signals,
                                 size_t signals_len, const char *proof, size_t proof_len,
                                 cuzk_err *err) CUZK_MUST_CHECK;

#ifdef __cplusplus
}
#endif

#endif
