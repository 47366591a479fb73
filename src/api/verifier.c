#include "cuzk/verifier.h"

#include "api/handle.h"
#include "base/mem.h"
#include "groth16/groth16.h"

#include <string.h>

static cuzk_status new_verifier(cuzk_verifier **out, cuzk_err *err) {
    void *mem;
    *out = NULL;
    if (cuzk_alloc(&mem, 1, sizeof **out) != CUZK_OK)
        return cuzk_err_set(err, CUZK_STATUS_NO_MEMORY, "out of memory");
    *out = mem;
    return CUZK_OK;
}

static cuzk_status finish(cuzk_status st, cuzk_verifier **out) {
    if (st == CUZK_OK) return CUZK_OK;
    cuzk_free(*out);
    *out = NULL;
    return st;
}

cuzk_status cuzk_verifier_open_json(cuzk_verifier **out, const char *vkey, size_t vkey_len,
                                    cuzk_err *err) {
    if (!out) return cuzk_err_set(err, CUZK_STATUS_USAGE, "out is NULL");
    *out = NULL;
    if (!vkey) return cuzk_err_set(err, CUZK_STATUS_USAGE, "vkey is NULL");
    CUZK_TRY(new_verifier(out, err));
    return finish(cuzk_vk_from_json(&(*out)->vk, vkey, vkey_len, "the verification key", err), out);
}

cuzk_status cuzk_verifier_from_prover(cuzk_verifier **out, const struct cuzk_prover *prover,
                                      cuzk_err *err) {
    if (!out) return cuzk_err_set(err, CUZK_STATUS_USAGE, "out is NULL");
    *out = NULL;
    if (!prover) return cuzk_err_set(err, CUZK_STATUS_USAGE, "prover is NULL");
    CUZK_TRY(new_verifier(out, err));
    return finish(cuzk_zkey_vk(prover->key->zkey, &(*out)->vk, err), out);
}

void cuzk_verifier_free(cuzk_verifier *verifier) {
    if (!verifier) return;
    cuzk_vk_free(&verifier->vk);
    cuzk_free(verifier);
}

cuzk_status cuzk_verifier_verify(const cuzk_verifier *verifier, const char *signals,
                                 size_t signals_len, const char *proof, size_t proof_len,
                                 cuzk_err *err) {
    if (!verifier || !signals || !proof)
        return cuzk_err_set(err, CUZK_STATUS_USAGE, "verifier, signals or proof is NULL");
    const cuzk_vk *vk = &verifier->vk;
    cuzk_u256 *values;
    size_t n;
    cuzk_proof points;
    CUZK_TRY(cuzk_public_from_json(&values, &n, vk->curve, signals, signals_len,
                                   "the public signals", err));
    cuzk_status st = cuzk_proof_from_json(&points, vk->curve, proof, proof_len, "the proof", err);
    if (st == CUZK_OK) st = cuzk_groth16_verify(vk, values, n, &points, err);
    cuzk_free(values);
    return st;
}

cuzk_status cuzk_verify(const char *vkey, size_t vkey_len, const char *signals, size_t signals_len,
                        const char *proof, size_t proof_len, cuzk_err *err) {
    cuzk_verifier *v;
    CUZK_TRY(cuzk_verifier_open_json(&v, vkey, vkey_len, err));
    cuzk_status st = cuzk_verifier_verify(v, signals, signals_len, proof, proof_len, err);
    cuzk_verifier_free(v);
    return st;
}
