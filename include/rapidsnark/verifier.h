/* The C interface of rapidsnark's verifier, provided by cuzk's librapidsnark. */
#ifndef CUZK_RAPIDSNARK_VERIFIER_H
#define CUZK_RAPIDSNARK_VERIFIER_H

#ifdef __cplusplus
extern "C" {
#endif

#define VERIFIER_VALID_PROOF 0x0
#define VERIFIER_INVALID_PROOF 0x1
#define VERIFIER_ERROR 0x2

/* Checks a proof. The three arguments are NUL-terminated JSON texts. VERIFIER_INVALID_PROOF also
 * when a signal is not below r, their number is wrong, a coordinate is not below p, or a point is
 * off its curve or outside the subgroup; VERIFIER_ERROR when a text is not what it should be.
 * error_msg, when not NULL, says why in both cases. Thread-safe. */
__attribute__((visibility("default"))) int groth16_verify(const char *proof, const char *inputs,
                                                          const char *verification_key,
                                                          char *error_msg,
                                                          unsigned long error_msg_maxsize);

#ifdef __cplusplus
}
#endif

#endif
