#include "rapidsnark/prover.h"

#include "api/pool.h"
#include "base/mem.h"
#include "compat/key_cache.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

typedef unsigned long long ull;

enum {
    /* Enough for a proof on either curve; rapidsnark says 810, too little for BLS12-381. */
    PROOF_SIZE = 1200,
    /* The names, brackets and quotes of a proof alone. */
    PROOF_FRAME_MIN = 100,
    PROOF_FRAME_MAX = 128,
};

/* Where a function's message goes. */
typedef struct {
    char *msg;
    ull size;
} sink;

static void tell(const sink *to, const char *fmt, ...) CUZK_PRINTF(2, 3);

static void tell(const sink *to, const char *fmt, ...) {
    if (!to->msg || to->size == 0) return;
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(to->msg, (size_t)to->size, fmt, ap);
    va_end(ap);
}

static int fail(const sink *to, cuzk_status st, const cuzk_err *err) {
    tell(to, "%s", err->msg[0] ? err->msg : cuzk_status_text(st));
    return PROVER_ERROR;
}

static int fail_null(const sink *to, const char *what) {
    tell(to, "Null %s", what);
    return PROVER_ERROR;
}

/* A buffer of the caller's, with its size in and out. */
typedef struct {
    char *to;
    ull *size;
} text_out;

static bool short_buffers(const text_out *proof, const text_out *signals, size_t proof_needs,
                          size_t signals_need) {
    return *proof->size < proof_needs || *signals->size < signals_need;
}

/* Reports sizes that will do for every proof of this witness. Exact ones would not: the next proof
 * is another, and its decimals may be longer. */
static int fail_short(const cuzk_zkey *zkey, const text_out *proof, const text_out *signals,
                      size_t signals_need, const sink *to) {
    ull had_proof = *proof->size, had_signals = *signals->size;
    size_t bits = (size_t)zkey->curve->fp_limbs * 64;
    *proof->size = PROOF_FRAME_MAX + 8 * (bits * 30103 / 100000 + 1) + 1;
    *signals->size = signals_need;
    tell(to,
         "Buffer insufficient for generated proof. Required - proof: %llu (provided: %llu), "
         "public: %llu (provided: %llu)",
         *proof->size, had_proof, *signals->size, had_signals);
    return PROVER_ERROR_SHORT_BUFFER;
}

static void copy_out(const text_out *out, const cuzk_buf *text) {
    memcpy(out->to, text->data, text->len + 1);
    *out->size = text->len;
}

static int prove_fitting(const cuzk_key *key, const cuzk_wtns *wtns, const text_out *proof,
                         const text_out *signals, const sink *to) {
    const cuzk_zkey *zkey = key->zkey;
    cuzk_buf text[2] = {CUZK_BUF_INIT, CUZK_BUF_INIT};
    cuzk_err err = {0};
    cuzk_pool *pool = NULL;
    int rc = PROVER_OK;
    /* The signals are part of the witness, so that most short buffers are found for free. */
    cuzk_public_to_json(wtns->values + sizeof(cuzk_u256), zkey->n_public, CUZK_JSON_COMPACT,
                        &text[1]);
    cuzk_status st = cuzk_buf_status(&text[1]);
    if (st == CUZK_OK && short_buffers(proof, signals, PROOF_FRAME_MIN, text[1].len + 1)) {
        rc = fail_short(zkey, proof, signals, text[1].len + 1, to);
        goto out;
    }
    if (st == CUZK_OK) st = cuzk__shared_pool_current(&pool);
    if (st == CUZK_OK)
        st = cuzk__key_prove(key, wtns, NULL, pool, CUZK_JSON_COMPACT, &text[0], NULL, NULL, &err);
    if (st != CUZK_OK) {
        rc = fail(to, st, &err);
    } else if (short_buffers(proof, signals, text[0].len + 1, text[1].len + 1)) {
        rc = fail_short(zkey, proof, signals, text[1].len + 1, to);
    } else {
        copy_out(proof, &text[0]);
        copy_out(signals, &text[1]);
    }
out:
    cuzk_buf_free(&text[0]);
    cuzk_buf_free(&text[1]);
    return rc;
}

static int prove(const cuzk_key *key, const void *wtns_buffer, ull wtns_size, const text_out *proof,
                 const text_out *signals, const sink *to) {
    const cuzk_zkey *zkey = key->zkey;
    cuzk_err err = {0};
    cuzk_wtns *wtns;
    cuzk_status st =
        cuzk_wtns_from_memory(&wtns, wtns_buffer, (size_t)wtns_size, "the witness", &err);
    if (st != CUZK_OK) return fail(to, st, &err);
    int rc;
    if (wtns->n != zkey->n_vars) {
        tell(to, "Invalid witness length. Circuit: %" PRIu32 ", witness: %" PRIu32, zkey->n_vars,
             wtns->n);
        rc = PROVER_INVALID_WITNESS_LENGTH;
    } else if (wtns->curve != zkey->curve) {
        tell(to, "different wtns curve");
        rc = PROVER_ERROR;
    } else {
        rc = prove_fitting(key, wtns, proof, signals, to);
    }
    cuzk_wtns_free(wtns);
    return rc;
}

/* The 82 bytes a signal are rapidsnark's: 77 digits, quotes, a comma. */
static int public_size_of(cuzk_status st, cuzk_zkey *zkey, ull *public_size, const cuzk_err *err,
                          const sink *to) {
    if (st != CUZK_OK) return fail(to, st, err);
    *public_size = 82 * (ull)zkey->n_public + 4;
    cuzk_zkey_free(zkey);
    return PROVER_OK;
}

int groth16_public_size_for_zkey_buf(const void *zkey_buffer, ull zkey_size, ull *public_size,
                                     char *error_msg, ull error_msg_maxsize) {
    const sink to = {error_msg, error_msg_maxsize};
    cuzk_err err = {0};
    cuzk_zkey *zkey = NULL;
    if (!zkey_buffer) return fail_null(&to, "zkey buffer");
    if (!public_size) return fail_null(&to, "public size");
    cuzk_status st = cuzk_zkey_from_memory(&zkey, zkey_buffer, (size_t)zkey_size, "the proving key",
                                           CUZK_ZKEY_CHECK_SIZES, NULL, &err);
    return public_size_of(st, zkey, public_size, &err, &to);
}

int groth16_public_size_for_zkey_file(const char *zkey_fname, ull *public_size, char *error_msg,
                                      ull error_msg_maxsize) {
    const sink to = {error_msg, error_msg_maxsize};
    cuzk_err err = {0};
    cuzk_zkey *zkey = NULL;
    if (!zkey_fname) return fail_null(&to, "zkey file path");
    if (!public_size) return fail_null(&to, "public size");
    cuzk_status st = cuzk_zkey_open(&zkey, zkey_fname, CUZK_ZKEY_CHECK_SIZES, NULL, &err);
    return public_size_of(st, zkey, public_size, &err, &to);
}

void groth16_proof_size(ull *proof_size) {
    if (proof_size) *proof_size = PROOF_SIZE;
}

/* A prover object is a key in use. */
int groth16_prover_create(void **prover_object, const void *zkey_buffer, ull zkey_size,
                          char *error_msg, ull error_msg_maxsize) {
    const sink to = {error_msg, error_msg_maxsize};
    cuzk_err err = {0};
    cuzk_cached_key *key;
    if (!prover_object) return fail_null(&to, "prover object");
    if (!zkey_buffer) return fail_null(&to, "zkey buffer");
    cuzk_status st = cuzk__key_cache_buffer(&key, zkey_buffer, (size_t)zkey_size, &err);
    if (st != CUZK_OK) return fail(&to, st, &err);
    *prover_object = key;
    return PROVER_OK;
}

int groth16_prover_create_zkey_file(void **prover_object, const char *zkey_file_path,
                                    char *error_msg, ull error_msg_maxsize) {
    const sink to = {error_msg, error_msg_maxsize};
    cuzk_err err = {0};
    cuzk_cached_key *key;
    if (!prover_object) return fail_null(&to, "prover object");
    if (!zkey_file_path) return fail_null(&to, "zkey file path");
    cuzk_status st = cuzk__key_cache_file(&key, zkey_file_path, &err);
    if (st != CUZK_OK) return fail(&to, st, &err);
    *prover_object = key;
    return PROVER_OK;
}

int groth16_prover_prove(void *prover_object, const void *wtns_buffer, ull wtns_size,
                         char *proof_buffer, ull *proof_size, char *public_buffer, ull *public_size,
                         char *error_msg, ull error_msg_maxsize) {
    const sink to = {error_msg, error_msg_maxsize};
    if (!prover_object) return fail_null(&to, "prover object");
    if (!wtns_buffer) return fail_null(&to, "witness buffer");
    if (!proof_buffer) return fail_null(&to, "proof buffer");
    if (!proof_size) return fail_null(&to, "proof size");
    if (!public_buffer) return fail_null(&to, "public buffer");
    if (!public_size) return fail_null(&to, "public size");
    const text_out proof = {proof_buffer, proof_size}, signals = {public_buffer, public_size};
    return prove(cuzk__key_cache_key(prover_object), wtns_buffer, wtns_size, &proof, &signals, &to);
}

void groth16_prover_destroy(void *prover_object) {
    cuzk__key_cache_release(prover_object);
}

int groth16_prover(const void *zkey_buffer, ull zkey_size, const void *wtns_buffer, ull wtns_size,
                   char *proof_buffer, ull *proof_size, char *public_buffer, ull *public_size,
                   char *error_msg, ull error_msg_maxsize) {
    void *prover = NULL;
    int rc = groth16_prover_create(&prover, zkey_buffer, zkey_size, error_msg, error_msg_maxsize);
    if (rc != PROVER_OK) return rc;
    rc = groth16_prover_prove(prover, wtns_buffer, wtns_size, proof_buffer, proof_size,
                              public_buffer, public_size, error_msg, error_msg_maxsize);
    groth16_prover_destroy(prover);
    return rc;
}

int groth16_prover_zkey_file(const char *zkey_file_path, const void *wtns_buffer, ull wtns_size,
                             char *proof_buffer, ull *proof_size, char *public_buffer,
                             ull *public_size, char *error_msg, ull error_msg_maxsize) {
    void *prover = NULL;
    int rc = groth16_prover_create_zkey_file(&prover, zkey_file_path, error_msg, error_msg_maxsize);
    if (rc != PROVER_OK) return rc;
    rc = groth16_prover_prove(prover, wtns_buffer, wtns_size, proof_buffer, proof_size,
                              public_buffer, public_size, error_msg, error_msg_maxsize);
    groth16_prover_destroy(prover);
    return rc;
}
