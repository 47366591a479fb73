/* Verification of proofs that a daemon gave: `cuzk bench daemon`. */
#ifndef CUZK_BENCH_DAEMON_CHECK_H
#define CUZK_BENCH_DAEMON_CHECK_H

#include "base/buf.h"
#include "engine/shell/provider.h"

typedef struct cuzk_load_check cuzk_load_check;

typedef struct cuzk_load_keys {
    const char *params; /* directory of .vk files; NULL: the default */
    const char *vk;     /* of circom: snarkjs's verification_key.json; NULL: not verified */
    bool allow_insecure;
} cuzk_load_keys;

/* Reads what is needed to verify proofs of one file. Thread-safe from then on. */
cuzk_status cuzk_load_check_new(cuzk_load_check **out, cuzk_engine_kind kind, const char *file,
                                const cuzk_load_keys *keys, cuzk_err *err) CUZK_MUST_CHECK;
void cuzk_load_check_free(cuzk_load_check *c);
/* FALSE: not valid. */
cuzk_status cuzk_load_check_proof(const cuzk_load_check *c, const cuzk_buf *proof,
                                  cuzk_err *err) CUZK_MUST_CHECK;

#endif
