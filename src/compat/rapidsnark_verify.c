#include "rapidsnark/verifier.h"

#include "base/status.h"
#include "cuzk/verifier.h"

#include <stdio.h>
#include <string.h>

int groth16_verify(const char *proof, const char *inputs, const char *verification_key,
                   char *error_msg, unsigned long error_msg_maxsize) {
    cuzk_err err = {0};
    cuzk_status st;
    if (proof && inputs && verification_key)
        st = cuzk_verify(verification_key, strlen(verification_key), inputs, strlen(inputs), proof,
                         strlen(proof), &err);
    else
        st = cuzk_err_set(&err, CUZK_STATUS_USAGE, "%s is NULL",
                          !proof    ? "the proof"
                          : !inputs ? "the document of inputs"
                                    : "the verification key");
    if (st == CUZK_OK) return VERIFIER_VALID_PROOF;
    if (error_msg && error_msg_maxsize > 0)
        snprintf(error_msg, error_msg_maxsize, "%s", err.msg[0] ? err.msg : cuzk_status_text(st));
    return st == CUZK_STATUS_FALSE ? VERIFIER_INVALID_PROOF : VERIFIER_ERROR;
}
