/* What is behind the handles of include/cuzk. */
#ifndef CUZK_API_HANDLE_H
#define CUZK_API_HANDLE_H

#include "api/key.h"
#include "cuzk/prover.h"
#include "format/groth16_data.h"

#include <sys/types.h>

struct cuzk_prover {
    cuzk_key *key;
    cuzk_pool *pool; /* the handle's own; NULL: it holds the shared one */
    pid_t owner;     /* the process in which the pool's threads live */
};

struct cuzk_verifier {
    cuzk_vk vk;
};

/* cuzk_prover_prove with fixed blinding (plain scalars below r), for tests. */
cuzk_status cuzk__prover_prove_fixed(const cuzk_prover *prover, const char *wtns_path,
                                     const cuzk_u256 *r, const cuzk_u256 *s, char **proof,
                                     char **signals, cuzk_err *err) CUZK_MUST_CHECK;

#endif
