/* What the engine proves: jobs of Filecoin's four kinds and of circom, as a work provider
 * (engine/shell/provider.h).
 *
 *   kind      payload                                             answer
 *   Filecoin  meta: filecoin/request.h without the proofs; parts: 192 bytes a partition, one after
 *             the C1 output (PoRep), or a vanilla proof each      another
 *   circom    meta: {"key": NAME}; part: the .wtns                {"proof": …, "public": …}, the
 * two documents as snarkjs writes them
 *
 * A circom key is a .zkey of the configured directory, by its file's name (with or without .zkey)
 * or by its digest (the first 32 hexadecimal digits of BLAKE2b-512). Names of Filecoin's circuits
 * are theirs.
 *
 * SubmitProofRequest is of proto3, where a number that was not set is 0. Of a PoRep, miner_id 0 is
 * therefore one that is not known, and so is registered_proof 0, and a sector_number 0 where the
 * C1 output says another or the miner is not known. What was then not checked stands in the plan's
 * message. */
#ifndef CUZK_JOBS_JOBS_H
#define CUZK_JOBS_JOBS_H

#include "backend/backend.h"
#include "base/thread.h"
#include "engine/shell/provider.h"

/* Where keys are. Strings must outlive whatever is made of this. */
typedef struct cuzk_jobs_keys {
    const char *params_dir; /* NULL: keys/keys.h's default */
    const char *zkey_dir;   /* NULL: no circom keys */
    bool allow_insecure;    /* keys/keys.h */
    const char *seed;       /* keys/keys.h: Filecoin's keys are made from it, for GPUs; or NULL */
} cuzk_jobs_keys;

typedef struct cuzk_jobs_config {
    cuzk_jobs_keys keys;
    cuzk_pool *pool; /* that witnesses share; may be NULL; must outlive the jobs */
    /* What a key and a slot take on the devices (a key's own bytes counted where they stay in a
     * worker's memory). NULL: on a CPU with device_threads threads (0: one a core). */
    cuzk_status (*device_plan)(void *ctx, const char *key, cuzk_backend_plan *out, cuzk_err *err);
    void *device_plan_ctx;
    unsigned device_threads;
} cuzk_jobs_config;

typedef struct cuzk_jobs cuzk_jobs;
cuzk_status cuzk_jobs_new(cuzk_jobs **out, const cuzk_jobs_config *config,
                          cuzk_err *err) CUZK_MUST_CHECK;
/* After every job of it is freed. NULL is ignored. */
void cuzk_jobs_free(cuzk_jobs *j);

/* self is a cuzk_jobs. Thread-safe as provider.h asks. key_load counts: each wants its key_free. */
extern const cuzk_work_ops cuzk_jobs_work;

#endif
