/* The C interface of rapidsnark's prover, provided by cuzk's librapidsnark: programs written for
 * rapidsnark link with it unchanged.
 *
 * What is different: bls12381 keys work too; the key is copied or mapped, never borrowed; a proof
 * is verified before it is given out; any number of threads may call any function at a time, also
 * with one prover object; keys stay checked in a cache, so that the calls without an object are as
 * fast as those with one. The environment bounds the cache: CUZK_KEY_CACHE_ENTRIES (8) keys, and
 * CUZK_KEY_CACHE_BYTES (a quarter of the memory) for the copies of keys given as buffers; it names
 * the device on which proofs are computed: CUZK_DEVICE (cpu; cuda, cuda:N).
 *
 * error_msg, when not NULL, receives a NUL-terminated message of at most error_msg_maxsize bytes
 * if a function fails. Sizes are in bytes.
 */
#ifndef CUZK_RAPIDSNARK_PROVER_H
#define CUZK_RAPIDSNARK_PROVER_H

#ifdef __cplusplus
extern "C" {
#endif

#define RAPIDSNARK_API __attribute__((visibility("default")))

#define PROVER_OK 0x0
#define PROVER_ERROR 0x1
#define PROVER_ERROR_SHORT_BUFFER 0x2
#define PROVER_INVALID_WITNESS_LENGTH 0x3

/* *public_size: a size that is enough for the public signals of this key, NUL included. Reads the
 * key's header only. PROVER_OK or PROVER_ERROR. */
RAPIDSNARK_API int groth16_public_size_for_zkey_buf(const void *zkey_buffer,
                                                    unsigned long long zkey_size,
                                                    unsigned long long *public_size,
                                                    char *error_msg,
                                                    unsigned long long error_msg_maxsize);

RAPIDSNARK_API int groth16_public_size_for_zkey_file(const char *zkey_fname,
                                                     unsigned long long *public_size,
                                                     char *error_msg,
                                                     unsigned long long error_msg_maxsize);

/* *proof_size: a size that is enough for any proof, NUL included. */
RAPIDSNARK_API void groth16_proof_size(unsigned long long *proof_size);

/* *prover_object: to be freed with groth16_prover_destroy. The buffer may be freed at once. */
RAPIDSNARK_API int groth16_prover_create(void **prover_object, const void *zkey_buffer,
                                         unsigned long long zkey_size, char *error_msg,
                                         unsigned long long error_msg_maxsize);

RAPIDSNARK_API int groth16_prover_create_zkey_file(void **prover_object, const char *zkey_file_path,
                                                   char *error_msg,
                                                   unsigned long long error_msg_maxsize);

/* Proves with the bytes of a .wtns file. proof_buffer and public_buffer receive NUL-terminated
 * JSON; *proof_size and *public_size say their sizes and are set to the lengths of the texts,
 * without the NUL.
 *
 * PROVER_ERROR_SHORT_BUFFER: both sizes are set to what is enough, NUL included, for this and any
 * later proof of the same witness; nothing is written. PROVER_INVALID_WITNESS_LENGTH: the circuit
 * has another number of wires. PROVER_ERROR: anything else, also a witness that does not satisfy
 * the circuit. */
RAPIDSNARK_API int groth16_prover_prove(void *prover_object, const void *wtns_buffer,
                                        unsigned long long wtns_size, char *proof_buffer,
                                        unsigned long long *proof_size, char *public_buffer,
                                        unsigned long long *public_size, char *error_msg,
                                        unsigned long long error_msg_maxsize);

/* NULL is ignored. */
RAPIDSNARK_API void groth16_prover_destroy(void *prover_object);

/* groth16_prover_create, groth16_prover_prove, groth16_prover_destroy in one. */
RAPIDSNARK_API int groth16_prover(const void *zkey_buffer, unsigned long long zkey_size,
                                  const void *wtns_buffer, unsigned long long wtns_size,
                                  char *proof_buffer, unsigned long long *proof_size,
                                  char *public_buffer, unsigned long long *public_size,
                                  char *error_msg, unsigned long long error_msg_maxsize);

RAPIDSNARK_API int groth16_prover_zkey_file(const char *zkey_file_path, const void *wtns_buffer,
                                            unsigned long long wtns_size, char *proof_buffer,
                                            unsigned long long *proof_size, char *public_buffer,
                                            unsigned long long *public_size, char *error_msg,
                                            unsigned long long error_msg_maxsize);

#ifdef __cplusplus
}
#endif

#endif
