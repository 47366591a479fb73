/* What the files of jobs share. */
#ifndef CUZK_JOBS_INTERNAL_H
#define CUZK_JOBS_INTERNAL_H

#include "filecoin/vanilla.h"
#include "format/params.h"
#include "format/wtns.h"
#include "format/zkey.h"
#include "jobs/jobs.h"

#include <pthread.h>

/* ---- names ---- */

/* A key's name in its one form, and what it is of: exactly one of circuit and path. */
typedef struct cuzk__where {
    char name[CUZK_ENGINE_KEY_NAME];
    const cuzk_circuit *circuit;
    char *path; /* of a .zkey; owned */
} cuzk__where;

/* NOT_FOUND when there is no such key or file (of a circuit the file is not looked for);
 * BAD_INPUT when it is no name. Free with cuzk_free(out->path). */
cuzk_status cuzk__jobs_where(cuzk__where *out, const cuzk_jobs_keys *keys, const char *name,
                             cuzk_err *err) CUZK_MUST_CHECK;
/* As cuzk_work_ops.keys. */
cuzk_status cuzk__jobs_list(const cuzk_jobs_keys *keys,
                            void (*put)(void *ctx, const char *name, const char *file,
                                        bool present),
                            void *ctx, cuzk_err *err) CUZK_MUST_CHECK;
/* The path of a circuit's .params, allocated, and its size (0: no such file). */
cuzk_status cuzk__jobs_params(char **path, uint64_t *size, const cuzk_jobs_keys *keys,
                              const cuzk_circuit *c, cuzk_err *err) CUZK_MUST_CHECK;

/* ---- figures ---- */

typedef struct cuzk__figures {
    const cuzk_circuit *circuit; /* whose, while they are kept */
    uint64_t host;               /* of the key, in the daemon */
    uint64_t device, slot;       /* of the key and of a slot on the device */
    uint64_t witness, scratch;   /* of one witness, or of the free values it is made from */
    uint32_t n_free;             /* of a circuit */
} cuzk__figures;

/* Of a circuit: worked out once (seconds for the largest), then kept. */
cuzk_status cuzk__jobs_figures(cuzk_jobs *j, const cuzk_circuit *c, cuzk__figures *out,
                               cuzk_err *err) CUZK_MUST_CHECK;
cuzk_status cuzk__jobs_zkey_figures(cuzk_jobs *j, const char *name, const cuzk_zkey *zk,
                                    cuzk__figures *out, cuzk_err *err) CUZK_MUST_CHECK;

/* ---- keys of the daemon ---- */

typedef struct cuzk__jobs_key {
    struct cuzk__jobs_key *next;
    char name[CUZK_ENGINE_KEY_NAME];
    uint32_t loads;              /* key_load without their key_free */
    uint32_t refs;               /* those, and calls that use it */
    const cuzk_circuit *circuit; /* NULL: circom's */
    uint32_t n_free;             /* values that a circuit's witness is made from */
    cuzk_params_vk params_vk;
    char *zkey; /* path of circom's; not mapped, so that nobody can cut it under the daemon */
    uint32_t zkey_wires;
    cuzk_vk zkey_vk;
    cuzk_point zkey_points[6]; /* alpha1, beta1, beta2, gamma2, delta1, delta2 */
    const cuzk_vk *vk;
    cuzk_proving_key points; /* for cuzk_groth16_assemble only */
    bool insecure;
} cuzk__jobs_key;

struct cuzk_jobs {
    cuzk_jobs_config config;
    cuzk_poseidon_set set;
    pthread_mutex_t lock; /* of what follows */
    cuzk__jobs_key *keys;
    cuzk__figures *figures;
    size_t n_figures;
};

cuzk_status cuzk__jobs_key_load(cuzk_jobs *j, const char *name, cuzk_err *err) CUZK_MUST_CHECK;
void cuzk__jobs_key_free(cuzk_jobs *j, const char *name);
/* A loaded key, for the time of a call. BUG when it is not loaded. */
cuzk_status cuzk__jobs_key_use(cuzk_jobs *j, const char *name, cuzk__jobs_key **out,
                               cuzk_err *err) CUZK_MUST_CHECK;
void cuzk__jobs_key_done(cuzk_jobs *j, cuzk__jobs_key *k);

/* ---- jobs ---- */

typedef struct cuzk__job {
    cuzk_engine_kind kind;
    char key[CUZK_ENGINE_KEY_NAME];
    uint32_t partitions;
    /* Filecoin */
    cuzk_vanilla *vanilla;
    cuzk_statement *statement;
    /* circom */
    cuzk_wtns *wtns;
    uint32_t n_public;
} cuzk__job;

/* Fill a fresh job and its plan. */
cuzk_status cuzk__job_open_filecoin(cuzk_jobs *j, cuzk__job *job, const cuzk_engine_payload *p,
                                    cuzk_engine_plan *plan, cuzk_err *err) CUZK_MUST_CHECK;
cuzk_status cuzk__job_open_circom(cuzk_jobs *j, cuzk__job *job, const cuzk_engine_payload *p,
                                  cuzk_engine_plan *plan, cuzk_err *err) CUZK_MUST_CHECK;

/* A memfd of len bytes of zeros, mapped. */
cuzk_status cuzk__witness_open(cuzk_engine_witness *w, size_t len, cuzk_err *err) CUZK_MUST_CHECK;

cuzk_status cuzk__job_witness_filecoin(cuzk_jobs *j, const cuzk__job *job, const cuzk__jobs_key *k,
                                       uint32_t partition, const atomic_bool *cancel,
                                       cuzk_engine_witness *out, cuzk_err *err) CUZK_MUST_CHECK;
cuzk_status cuzk__job_witness_circom(const cuzk__job *job, const cuzk__jobs_key *k,
                                     cuzk_engine_witness *out, cuzk_err *err) CUZK_MUST_CHECK;

/* Public inputs of n partitions from first on, allocated. */
cuzk_status cuzk__job_publics(cuzk_u256 **out, const cuzk__job *job, uint32_t first, uint32_t n,
                              cuzk_err *err) CUZK_MUST_CHECK;

cuzk_status cuzk__job_answer_filecoin(cuzk_jobs *j, const cuzk__job *job, const cuzk__jobs_key *k,
                                      const cuzk_engine_bytes *proofs, cuzk_buf *out,
                                      cuzk_err *err) CUZK_MUST_CHECK;
cuzk_status cuzk__job_answer_circom(const cuzk__job *job, const cuzk__jobs_key *k,
                                    const cuzk_engine_bytes *proofs, cuzk_buf *out,
                                    cuzk_err *err) CUZK_MUST_CHECK;

cuzk_status cuzk__jobs_no_memory(cuzk_err *err);

#endif
