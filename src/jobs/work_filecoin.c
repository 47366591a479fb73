/* Filecoin's jobs. */
#include "jobs/internal.h"

#include "base/mem.h"
#include "format/proof_bytes.h"
#include "groth16/groth16.h"

#include <stdio.h>
#include <string.h>

static cuzk_proof_kind kind_of(cuzk_engine_kind k) {
    static const cuzk_proof_kind kinds[CUZK_ENGINE_KIND_COUNT] = {
        [CUZK_ENGINE_POREP] = CUZK_KIND_POREP,
        [CUZK_ENGINE_SNAP] = CUZK_KIND_UPDATE,
        [CUZK_ENGINE_WINDOW] = CUZK_KIND_WINDOW,
        [CUZK_ENGINE_WINNING] = CUZK_KIND_WINNING,
    };
    return k < CUZK_ENGINE_KIND_COUNT ? kinds[k] : CUZK_KIND_UNSPECIFIED;
}

static cuzk_status read_request(cuzk_request **out, cuzk_proof_kind kind,
                                const cuzk_engine_payload *p, cuzk_err *err) {
    cuzk_blob *proofs;
    CUZK_TRY(cuzk_request_from_memory(out, p->meta.data, p->meta.len, "request", err));
    cuzk_status st = cuzk_alloc((void **)&proofs, p->n_parts, sizeof *proofs);
    if (st != CUZK_OK) {
        cuzk_request_free(*out);
        return cuzk__jobs_no_memory(err);
    }
    for (size_t i = 0; i < p->n_parts; i++) {
        memcpy(&proofs[i].data, &p->parts[i].data, sizeof proofs[i].data);
        proofs[i].len = p->parts[i].len;
    }
    if ((*out)->kind == CUZK_KIND_UNSPECIFIED) (*out)->kind = kind;
    st = cuzk_request_fits(*out, kind, err);
    if (st == CUZK_OK) st = cuzk_request_attach(*out, kind, proofs, p->n_parts, err);
    cuzk_free(proofs);
    if (st != CUZK_OK) cuzk_request_free(*out);
    return st;
}

static void forget(cuzk_request *r, cuzk_request_field f) {
    r->seen &= ~((uint32_t)1 << f);
}

/* Takes out of a PoRep's request what proto3 cannot tell from a number that was not set. */
static void forget_zeros(cuzk_request *r) {
    const bool miner = cuzk_request_has(r, CUZK_REQ_MINER_ID) && r->miner_id != 0;
    if (!miner) forget(r, CUZK_REQ_MINER_ID);
    if (r->registered_proof == 0 && !r->registered_name[0]) forget(r, CUZK_REQ_REGISTERED_PROOF);
    if (r->sector_number == 0 && !miner) forget(r, CUZK_REQ_SECTOR_NUMBER);
}

/* A sector_number 0 beside a C1 output that says another: it was not set. */
static bool contradicts(const cuzk_request *r, const cuzk_engine_payload *p) {
    cuzk_c1 *c1;
    if (!cuzk_request_has(r, CUZK_REQ_SECTOR_NUMBER) || r->sector_number != 0) return false;
    if (cuzk_c1_from_memory(&c1, p->parts[0].data, p->parts[0].len, "request", NULL) != CUZK_OK)
        return false;
    const bool other = c1->has_sector && c1->sector != 0;
    cuzk_c1_free(c1);
    return other;
}

static void say_unchecked(const cuzk_vanilla *v, cuzk_engine_plan *plan) {
    const bool checked = v->porep.replica_id_checked,
               typed = v->c1->type || v->request->seen >> CUZK_REQ_REGISTERED_PROOF & 1;
    if (checked && typed) return;
    snprintf(plan->message, sizeof plan->message, "%s%s%s",
             checked ? ""
                     : "replica_id is taken as it is: it could not be checked without miner_id and "
                       "sector_number",
             checked || typed ? "" : "; ",
             typed ? ""
                   : "the registered proof is not said: taken for version 1.1 of this sector size");
}

static cuzk_status open_vanilla(cuzk__job *job, const cuzk_engine_payload *p,
                                cuzk_engine_plan *plan, cuzk_err *err) {
    const cuzk_proof_kind kind = kind_of(p->kind);
    cuzk_request *r;
    if (kind == CUZK_KIND_UNSPECIFIED)
        return cuzk_err_set(err, CUZK_STATUS_BAD_INPUT,
                            "proof_kind: expected POREP_SEAL_COMMIT, SNAP_DEALS_UPDATE, "
                            "WINDOW_POST_PARTITION or WINNING_POST, actual none of them");
    CUZK_TRY(read_request(&r, kind, p, err));
    if (kind == CUZK_KIND_POREP) {
        forget_zeros(r);
        if (contradicts(r, p)) forget(r, CUZK_REQ_SECTOR_NUMBER);
    }
    CUZK_TRY(cuzk_vanilla_from_request(&job->vanilla, r, NULL, err));
    if (job->vanilla->c1) say_unchecked(job->vanilla, plan);
    return cuzk_statement_of_vanilla(&job->statement, job->vanilla, err);
}

/* What a job keeps beside the parts as they are mapped. */
static uint64_t held_by(const cuzk_vanilla *v) {
    uint64_t bytes = sizeof *v + sizeof(cuzk_statement) + sizeof(cuzk_request);
    if (v->c1) bytes += sizeof *v->c1 + (v->c1->owned ? v->c1->len : 0);
    if (v->post)
        bytes += sizeof *v->post + v->post->statement.n_sectors *
                                       (sizeof(cuzk_post_sector) + 2 * sizeof(cuzk_request_sector) +
                                        sizeof(cuzk_blob));
    if (v->update)
        bytes += sizeof *v->update + v->partitions * (sizeof(cuzk_update_part) + sizeof(cuzk_blob));
    return bytes;
}

cuzk_status cuzk__job_open_filecoin(cuzk_jobs *j, cuzk__job *job, const cuzk_engine_payload *p,
                                    cuzk_engine_plan *plan, cuzk_err *err) {
    cuzk__figures f;
    CUZK_TRY(open_vanilla(job, p, plan, err));
    const cuzk_vanilla *v = job->vanilla;
    CUZK_TRY(cuzk__jobs_figures(j, v->circuit, &f, err));
    snprintf(job->key, sizeof job->key, "%s", v->circuit->name);
    job->partitions = v->partitions;
    plan->shared_host = held_by(v);
    plan->witness_host = f.witness;
    plan->scratch_host = f.scratch;
    plan->slot_device = f.slot;
    return CUZK_OK;
}

static cuzk_status stopped(const atomic_bool *cancel, cuzk_err *err) {
    if (!cancel || !atomic_load(cancel)) return CUZK_OK;
    return cuzk_err_set(err, CUZK_STATUS_FAILED, "cancelled");
}

/* The free values: the device's process makes the witness from them. */
cuzk_status cuzk__job_witness_filecoin(cuzk_jobs *j, const cuzk__job *job, const cuzk__jobs_key *k,
                                       uint32_t partition, const atomic_bool *cancel,
                                       cuzk_engine_witness *out, cuzk_err *err) {
    const size_t n = k->n_free;
    cuzk_pool *pool = j->config.pool;
    CUZK_TRY(stopped(cancel, err));
    CUZK_TRY(cuzk_vanilla_check(job->vanilla, partition, 1, &j->set, pool, NULL, err));
    CUZK_TRY(stopped(cancel, err));
    CUZK_TRY(cuzk__witness_open(out, n * sizeof(cuzk_u256), err));
    return cuzk_vanilla_free_values(job->vanilla, partition, out->data, n, err);
}

cuzk_status cuzk__job_answer_filecoin(cuzk_jobs *j, const cuzk__job *job, const cuzk__jobs_key *k,
                                      const cuzk_engine_bytes *proofs, cuzk_buf *out,
                                      cuzk_err *err) {
    const uint32_t n = job->partitions;
    cuzk_proof *points;
    cuzk_u256 *publics = NULL;
    if (cuzk_alloc((void **)&points, n, sizeof *points) != CUZK_OK)
        return cuzk__jobs_no_memory(err);
    cuzk_status st = CUZK_OK;
    for (uint32_t i = 0; i < n && st == CUZK_OK; i++) {
        if (proofs[i].len != CUZK_PROOF_BYTES)
            st = cuzk_err_set(err, CUZK_STATUS_FALSE, "partition %u: a proof of %zu bytes", i,
                              proofs[i].len);
        else
            st = cuzk_proof_from_bytes(&points[i], proofs[i].data, "the proof",
                                       (size_t)i * CUZK_PROOF_BYTES, err);
    }
    if (st == CUZK_OK) st = cuzk__job_publics(&publics, job, 0, n, err);
    if (st == CUZK_OK)
        st = cuzk_groth16_verify_batch(k->vk, publics, cuzk_circuit_public(job->vanilla->circuit),
                                       points, n, j->config.pool, err);
    for (uint32_t i = 0; i < n && st == CUZK_OK; i++)
        cuzk_buf_append(out, proofs[i].data, proofs[i].len);
    cuzk_free(publics);
    cuzk_free(points);
    return st;
}
