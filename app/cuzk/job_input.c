#include "job_input.h"

#include "base/mem.h"
#include "filecoin/ids.h"
#include "filecoin/vanilla.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define BAD(err, ...) cuzk_err_set(err, CUZK_STATUS_BAD_INPUT, __VA_ARGS__)

bool cuzk_job_kind_parse(const char *word, cuzk_engine_kind *out) {
    static const struct {
        const char *word;
        cuzk_engine_kind kind;
    } kinds[] = {{"porep", CUZK_ENGINE_POREP},
                 {"wpost", CUZK_ENGINE_WINDOW},
                 {"winning", CUZK_ENGINE_WINNING},
                 {"snap", CUZK_ENGINE_SNAP},
                 {"circom", CUZK_ENGINE_CIRCOM}};
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        if (strcmp(word, kinds[i].word) != 0) continue;
        *out = kinds[i].kind;
        return true;
    }
    return false;
}

bool cuzk_job_priority_parse(const char *word, int *out) {
    static const char *const names[] = {"low", "normal", "high", "critical"};
    for (int i = 0; i < 4; i++) {
        if (strcmp(word, names[i]) != 0) continue;
        *out = i + 1;
        return true;
    }
    return false;
}

static cuzk_proof_kind proof_kind(cuzk_engine_kind kind) {
    static const cuzk_proof_kind kinds[] = {[CUZK_ENGINE_UNSPECIFIED] = CUZK_KIND_UNSPECIFIED,
                                            [CUZK_ENGINE_POREP] = CUZK_KIND_POREP,
                                            [CUZK_ENGINE_SNAP] = CUZK_KIND_UPDATE,
                                            [CUZK_ENGINE_WINDOW] = CUZK_KIND_WINDOW,
                                            [CUZK_ENGINE_WINNING] = CUZK_KIND_WINNING,
                                            [CUZK_ENGINE_CIRCOM] = 0};
    return kinds[kind];
}

/* The chain's number of a registered proof that a request names. */
static cuzk_status number_of_name(const cuzk_request *r, cuzk_engine_kind kind, uint64_t *out,
                                  cuzk_err *err) {
    const char *name = r->registered_name;
    const size_t n = strlen(name);
    if (kind == CUZK_ENGINE_POREP) {
        const cuzk_seal_type *t = cuzk_seal_type_find(name, n);
        if (t) *out = t->number;
        if (t) return CUZK_OK;
    } else if (kind == CUZK_ENGINE_SNAP) {
        const cuzk_update_type *t = cuzk_update_type_find(name, n);
        if (t) *out = t->number;
        if (t) return CUZK_OK;
    } else {
        const cuzk_post_type *t = cuzk_post_type_find(name, n);
        if (t) *out = t->number;
        if (t) return CUZK_OK;
    }
    return BAD(err, "%s: registered_proof: no %s is called `%s`", r->name,
               kind == CUZK_ENGINE_POREP ? "seal proof" : "such proof", name);
}

static const uint8_t *given(const cuzk_request *r, cuzk_request_field f) {
    return cuzk_request_has(r, f) ? r->value[f] : NULL;
}

/* A PoRep has its one proof in vanilla_proof, the others theirs in vanilla_proofs. */
static cuzk_status take_proofs(cuzk_job_input *in, cuzk_err *err) {
    const cuzk_request *r = in->request;
    if (in->job.kind == CUZK_ENGINE_POREP) {
        in->one = (cuzk_engine_bytes){r->vanilla_proof.data, r->vanilla_proof.len};
        in->job.parts = &in->one;
        in->job.n_parts = 1;
        if (r->vanilla_proof.len) return CUZK_OK;
        return BAD(err, "%s: expected a field `vanilla_proof`, actual none", r->name);
    }
    if (!r->n_vanilla)
        return BAD(err, "%s: expected a field `vanilla_proofs`, actual none", r->name);
    if (cuzk_alloc((void **)&in->parts, r->n_vanilla, sizeof *in->parts) != CUZK_OK)
        return cuzk_err_set(err, CUZK_STATUS_NO_MEMORY, "not enough memory");
    for (size_t i = 0; i < r->n_vanilla; i++)
        in->parts[i] = (cuzk_engine_bytes){r->vanilla_proofs[i].data, r->vanilla_proofs[i].len};
    in->job.parts = in->parts;
    in->job.n_parts = r->n_vanilla;
    return CUZK_OK;
}

static cuzk_status take_request(cuzk_job_input *in, const char *file, cuzk_err *err) {
    cuzk_rpc_job *job = &in->job;
    CUZK_TRY(cuzk_request_from_memory(&in->request, in->file.data, in->file.len, file, err));
    const cuzk_request *r = in->request;
    CUZK_TRY(cuzk_request_fits(r, proof_kind(job->kind), err));
    if (*r->request_id) {
        snprintf(in->request_id, sizeof in->request_id, "%s", r->request_id);
        job->request_id = in->request_id;
    }
    job->sector_size = r->sector_size;
    job->registered_proof = r->registered_proof;
    if (*r->registered_name) CUZK_TRY(number_of_name(r, job->kind, &job->registered_proof, err));
    job->sector_number = r->sector_number;
    job->miner_id = r->miner_id;
    if (r->partition_index > UINT32_MAX)
        return BAD(err, "%s: partition_index is too large", r->name);
    job->partition_index = (uint32_t)r->partition_index;
    job->randomness = given(r, CUZK_REQ_RANDOMNESS);
    job->comm_r_old = given(r, CUZK_REQ_COMM_R_OLD);
    job->comm_r_new = given(r, CUZK_REQ_COMM_R_NEW);
    job->comm_d_new = given(r, CUZK_REQ_COMM_D_NEW);
    return take_proofs(in, err);
}

static void take_facts(cuzk_rpc_job *job, const cuzk_porep_facts *facts) {
    if (facts->has_miner) job->miner_id = facts->miner;
    if (facts->has_sector) job->sector_number = facts->sector;
    if (facts->type) job->registered_proof = facts->type->number;
}

cuzk_status cuzk_job_input_open(cuzk_job_input *in, cuzk_engine_kind kind, const char *key,
                                const char *file, const cuzk_porep_facts *facts, cuzk_err *err) {
    memset(in, 0, sizeof *in);
    in->job.kind = kind;
    in->job.key = key;
    CUZK_TRY(cuzk_map_file(&in->file, file, err));
    const bool whole =
        kind == CUZK_ENGINE_CIRCOM ||
        (kind == CUZK_ENGINE_POREP && !cuzk_vanilla_is_request(in->file.data, in->file.len));
    if (!whole) {
        CUZK_TRY(take_request(in, file, err));
    } else {
        in->one = (cuzk_engine_bytes){in->file.data, in->file.len};
        in->job.parts = &in->one;
        in->job.n_parts = 1;
    }
    if (kind == CUZK_ENGINE_POREP && facts) take_facts(&in->job, facts);
    return CUZK_OK;
}

void cuzk_job_input_close(cuzk_job_input *in) {
    cuzk_request_free(in->request);
    cuzk_free(in->parts);
    if (in->file.data) cuzk_map_close(&in->file);
    memset(in, 0, sizeof *in);
}
