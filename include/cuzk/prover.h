/* Making proofs. cuzk.h has an example and what is said of threads. */
#ifndef CUZK_PROVER_H
#define CUZK_PROVER_H

#include "cuzk/status.h"

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A proving key, checked and ready. */
typedef struct cuzk_prover cuzk_prover;

/* How much of a key is examined when it is opened. Whatever is chosen, no index of the file leads
 * outside it, and every proof is verified before it is given out. */
typedef enum cuzk_key_check {
    /* Every point on its curve and in its subgroup: the default, for keys that stay. */
    CUZK_KEY_CHECK_FULL = 0,
    /* Every point on its curve. */
    CUZK_KEY_CHECK_CURVE = 1,
    /* Header, sizes, coefficients and verifying key. Bad points elsewhere show up as a proof that
     * does not verify, and are named then: for a key that makes a single proof. */
    CUZK_KEY_CHECK_SHAPE = 2
} cuzk_key_check;

/* Begin with CUZK_PROVER_OPTIONS_INIT and change what you need. */
typedef struct cuzk_prover_options {
    size_t size; /* sizeof(cuzk_prover_options): tells versions of this struct apart */
    /* 0: the pool shared by all such handles, one thread per core. n: n threads of this handle's
     * own, the calling thread counted (4096 at most). */
    unsigned threads;
    cuzk_key_check check;
    /* Where proofs are computed: NULL or "cpu"; "cuda" or "cuda:N" for a CUDA device, on which the
     * key stays, with tables, until the handle is freed. Nothing falls back to another place. On a
     * device two proofs are under way at a time, if its memory has room for them; further threads
     * wait. The child of a fork cannot use it. The proof is checked on the CPU. */
    const char *device;
} cuzk_prover_options;

#define CUZK_PROVER_OPTIONS_INIT                                                                   \
    { sizeof(cuzk_prover_options), 0u, CUZK_KEY_CHECK_FULL, NULL }

/* Opens circom's proving key (.zkey, groth16), as snarkjs 0.7 writes it.
 *
 * The file is mapped, not read into memory, and stays mapped until cuzk_prover_free: replace a key
 * by renaming a new file over it. Changing or truncating the file in place meanwhile is an error
 * that cannot be caught.
 *
 * out: the handle, NULL on failure; the caller frees it. options: NULL for the defaults.
 * Errors: IO; BAD_INPUT with section, offset, expected and actual; NO_MEMORY, also when the key or
 * one proof does not fit the device; NO_DEVICE without such a device, a driver, or CUDA in this
 * build; USAGE for options this version does not know; BUG when the device fails. */
CUZK_API cuzk_status cuzk_prover_open(cuzk_prover **out, const char *zkey_path,
                                      const cuzk_prover_options *options,
                                      cuzk_err *err) CUZK_MUST_CHECK;

/* The same from the zkey_len bytes of a .zkey in memory. They are copied: the caller may free or
 * change them as soon as the function returns. */
CUZK_API cuzk_status cuzk_prover_open_memory(cuzk_prover **out, const void *zkey, size_t zkey_len,
                                             const cuzk_prover_options *options,
                                             cuzk_err *err) CUZK_MUST_CHECK;

/* Frees the key and everything else the handle owns. No other thread may be using it. NULL is
 * ignored. */
CUZK_API void cuzk_prover_free(cuzk_prover *prover);

typedef struct cuzk_key_info {
    size_t size;          /* in: sizeof(cuzk_key_info) */
    const char *curve;    /* "bn128" or "bls12381", constant */
    uint32_t wires;       /* values of a witness, the constant 1 counted */
    uint32_t signals;     /* public signals */
    uint64_t domain_size; /* a power of two, above constraints + signals */
    uint64_t coefficients;
    uint64_t key_bytes; /* size of the .zkey */
    const char *device; /* "cpu", "cuda:0"; as long as the handle */
} cuzk_key_info;

#define CUZK_KEY_INFO_INIT                                                                         \
    { sizeof(cuzk_key_info), NULL, 0, 0, 0, 0, 0, NULL }

/* Fills info, which must begin as CUZK_KEY_INFO_INIT. USAGE when it does not. Thread-safe. */
CUZK_API cuzk_status cuzk_prover_info(const cuzk_prover *prover,
                                      cuzk_key_info *info) CUZK_MUST_CHECK;

/* How proofs and public signals are written. Both are JSON that snarkjs and rapidsnark read. */
typedef enum cuzk_json_form {
    CUZK_JSON_FORM_COMPACT = 0, /* one line, keys sorted, as rapidsnark does, plus "curve" */
    CUZK_JSON_FORM_SNARKJS = 1  /* byte for byte what snarkjs writes */
} cuzk_json_form;

/* Begin with CUZK_PROVE_OPTIONS_INIT. */
typedef struct cuzk_prove_options {
    size_t size; /* sizeof(cuzk_prove_options) */
    cuzk_json_form form;
    /* NULL, or takes a JSON text, the caller's to free with cuzk_string_free (NULL on failure):
     * where and how long (milliseconds) each stage ran. {"device":"cuda:0","device_name":…,
     * "stages":{"eval":…,…},"stage_devices":{"eval":"cuda:0",…,"verify":"cpu"},"sums_on":"cuda:0",
     * "device_ms":{"upload":…,…,"all":…},"bytes_to_device":…,"bytes_from_device":…}; on the CPU
     * without the members that a device brings. */
    char **report;
} cuzk_prove_options;

#define CUZK_PROVE_OPTIONS_INIT                                                                    \
    { sizeof(cuzk_prove_options), CUZK_JSON_FORM_COMPACT, NULL }

/* Makes a proof from the wtns_len bytes of a witness (.wtns version 2), which stay the caller's
 * and are not copied; the library wipes what it derives from them.
 *
 * The proof is verified before it is given out. Blinding is fresh and uniform each time, so two
 * proofs of one witness differ.
 *
 * proof, signals: NUL-terminated JSON texts, the caller's to free with cuzk_string_free; both NULL
 * on failure. Either argument may be NULL when the text is not wanted. options: NULL for the
 * defaults.
 * Errors: BAD_INPUT when the witness is malformed, for another curve, or has another number of
 * values than the circuit has wires; FALSE when it does not satisfy the circuit; NO_MEMORY; BUG
 * when two computations of one proof differ or a device fails, after which its handles have to be
 * freed and opened anew, in another process when that does not help; USAGE in the child of a fork,
 * for a handle on a device. */
CUZK_API cuzk_status cuzk_prover_prove(const cuzk_prover *prover, const void *wtns, size_t wtns_len,
                                       const cuzk_prove_options *options, char **proof,
                                       char **signals, cuzk_err *err) CUZK_MUST_CHECK;

/* The same from a file, which is mapped while the proof is made: the witness does not enter the
 * heap. Also IO. */
CUZK_API cuzk_status cuzk_prover_prove_file(const cuzk_prover *prover, const char *wtns_path,
                                            const cuzk_prove_options *options, char **proof,
                                            char **signals, cuzk_err *err) CUZK_MUST_CHECK;

/* The verification key inside the proving key, as the JSON that `snarkjs zkey export
 * verificationkey` writes. *json is the caller's to free with cuzk_string_free. */
CUZK_API cuzk_status cuzk_prover_verification_key(const cuzk_prover *prover, char **json,
                                                  cuzk_err *err) CUZK_MUST_CHECK;

/* Frees a text that this library gave out. NULL is ignored. */
CUZK_API void cuzk_string_free(char *text);

#ifdef __cplusplus
}
#endif

#endif
