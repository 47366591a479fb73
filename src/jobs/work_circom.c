/* circom's jobs. */
#include "jobs/internal.h"

#include "base/json_pull.h"
#include "base/mem.h"
#include "format/json_docs.h"
#include "groth16/groth16.h"
#include "jobs/points.h"

#include <stdio.h>
#include <string.h>

/* {"key": NAME}; what the engine itself reads may stand beside it. */
static cuzk_status read_meta(char name[CUZK_ENGINE_KEY_NAME], const cuzk_engine_bytes *meta,
                             cuzk_err *err) {
    cuzk_pull j;
    const char *key;
    name[0] = '\0';
    cuzk_pull_init(&j, meta->data, meta->len, "request", err);
    CUZK_TRY(cuzk_pull_object(&j));
    for (;;) {
        CUZK_TRY(cuzk_pull_key(&j, &key));
        if (!key) break;
        if (strcmp(key, "key") == 0)
            CUZK_TRY(cuzk_pull_string(&j, name, CUZK_ENGINE_KEY_NAME));
        else if (strcmp(key, "request_id") == 0 || strcmp(key, "priority") == 0)
            CUZK_TRY(cuzk_pull_skip(&j));
        else
            return cuzk_pull_fail(&j, "`key`, the name of a key", "another field");
    }
    CUZK_TRY(cuzk_pull_end(&j));
    if (name[0]) return CUZK_OK;
    return cuzk_err_set(err, CUZK_STATUS_BAD_INPUT,
                        "request: expected a field `key` (the name or the digest of a .zkey), "
                        "actual a request without it");
}

static cuzk_status fits(const cuzk_curve *curve, uint32_t wires, const cuzk_wtns *w,
                        const char *name, cuzk_err *err) {
    if (w->curve != curve)
        return cuzk_err_set(err, CUZK_STATUS_BAD_INPUT,
                            "wtns: section 1: the witness is for %s, the key %s for %s",
                            w->curve->circom, name, curve->circom);
    if (w->n != wires)
        return cuzk_err_set(err, CUZK_STATUS_BAD_INPUT,
                            "wtns: section 2: %u values, but the circuit of the key %s has %u "
                            "wires (are both from the same compilation?)",
                            w->n, name, wires);
    return CUZK_OK;
}

static cuzk_status use_key(cuzk_jobs *j, cuzk__job *job, const cuzk__where *w,
                           cuzk_engine_plan *plan, cuzk_err *err) {
    cuzk__figures f;
    cuzk_zkey *zk;
    CUZK_TRY(cuzk_zkey_open(&zk, w->path, CUZK_ZKEY_CHECK_SIZES, NULL, err));
    cuzk_status st = fits(zk->curve, zk->n_vars, job->wtns, w->name, err);
    if (st == CUZK_OK) st = cuzk__jobs_zkey_figures(j, w->name, zk, &f, err);
    if (st == CUZK_OK) {
        job->n_public = zk->n_public;
        plan->witness_host = f.witness;
        plan->slot_device = f.slot;
    }
    cuzk_zkey_free(zk);
    return st;
}

cuzk_status cuzk__job_open_circom(cuzk_jobs *j, cuzk__job *job, const cuzk_engine_payload *p,
                                  cuzk_engine_plan *plan, cuzk_err *err) {
    char name[CUZK_ENGINE_KEY_NAME];
    cuzk__where w;
    CUZK_TRY(read_meta(name, &p->meta, err));
    if (p->n_parts != 1)
        return cuzk_err_set(err, CUZK_STATUS_BAD_INPUT,
                            "wtns: expected one part, the witness, actual %zu", p->n_parts);
    CUZK_TRY(cuzk__jobs_where(&w, &j->config.keys, name, err));
    cuzk_status st = CUZK_OK;
    if (w.circuit)
        st = cuzk_err_set(err, CUZK_STATUS_BAD_INPUT,
                          "key: expected the name of a .zkey, actual that of Filecoin's circuit %s",
                          name);
    if (st == CUZK_OK)
        st = cuzk_wtns_from_memory(&job->wtns, p->parts[0].data, p->parts[0].len, "wtns", err);
    if (st == CUZK_OK) st = use_key(j, job, &w, plan, err);
    cuzk_free(w.path);
    if (st != CUZK_OK) return st;
    memcpy(job->key, w.name, sizeof job->key);
    job->partitions = 1;
    plan->shared_host = sizeof *job->wtns;
    return CUZK_OK;
}

cuzk_status cuzk__job_witness_circom(const cuzk__job *job, const cuzk__jobs_key *k,
                                     cuzk_engine_witness *out, cuzk_err *err) {
    const size_t bytes = (size_t)job->wtns->n * sizeof(cuzk_u256);
    /* the file may be another than when the job was opened */
    CUZK_TRY(fits(k->points.curve, k->zkey_wires, job->wtns, k->name, err));
    CUZK_TRY(cuzk__witness_open(out, bytes, err));
    memcpy(out->data, job->wtns->values, bytes);
    return CUZK_OK;
}

cuzk_status cuzk__job_answer_circom(const cuzk__job *job, const cuzk__jobs_key *k,
                                    const cuzk_engine_bytes *proofs, cuzk_buf *out, cuzk_err *err) {
    cuzk_u256 *publics;
    cuzk_proof proof;
    CUZK_TRY(cuzk_raw_proof_from_bytes(&proof, k->vk->curve, proofs[0].data, proofs[0].len, err));
    CUZK_TRY(cuzk__job_publics(&publics, job, 0, 1, err));
    const cuzk_status st = cuzk_groth16_verify(k->vk, publics, job->n_public, &proof, err);
    if (st == CUZK_OK) {
        cuzk_buf_puts(out, "{\"proof\":");
        cuzk_proof_to_json(&proof, CUZK_JSON_SNARKJS, out);
        cuzk_buf_puts(out, ",\"public\":");
        cuzk_public_to_json(publics, job->n_public, CUZK_JSON_SNARKJS, out);
        cuzk_buf_puts(out, "}");
    }
    cuzk_free(publics);
    return st;
}
