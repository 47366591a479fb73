#include "filecoin/vanilla.h"

#include "base/json_pull.h"
#include "base/mem.h"

#include <string.h>

/* ---- C1 or request ---- */

/* What a member of the outermost object tells: 1 a C1, -1 a request, 0 nothing. */
static int tells(const char *key, int value) {
    static const char *const wrapper[] = {"SectorNum", "SectorSize", "Phase1Out"};
    static const char *const hashes[] = {"comm_r", "comm_d", "replica_id", "seed", "ticket"};
    for (int i = 0; i < 3; i++)
        if (strcmp(key, wrapper[i]) == 0) return 1;
    for (int i = 0; i < 5; i++)
        if (strcmp(key, hashes[i]) == 0) return value == '[' ? 1 : -1;
    if (strcmp(key, "vanilla_proofs") == 0) return value == '{' ? 1 : -1;
    if (strcmp(key, "registered_proof") == 0) return 0;
    return cuzk_request_field_of(key) < CUZK_REQ_FIELDS ? -1 : 0;
}

bool cuzk_vanilla_is_request(const uint8_t *data, size_t n) {
    cuzk_pull j;
    const char *key;
    cuzk_pull_init(&j, data, n, "", NULL);
    if (cuzk_pull_peek(&j) != '{' || cuzk_pull_object(&j) != CUZK_OK) return false;
    while (cuzk_pull_key(&j, &key) == CUZK_OK && key) {
        const int told = tells(key, cuzk_pull_peek(&j));
        if (told) return told < 0;
        if (cuzk_pull_skip(&j) != CUZK_OK) return false;
    }
    return false;
}

static cuzk_status looks_like_request(bool *out, const char *path, cuzk_err *err) {
    cuzk_map map;
    CUZK_TRY(cuzk_map_file(&map, path, err));
    *out = cuzk_vanilla_is_request(map.data, map.len);
    cuzk_map_close(&map);
    return CUZK_OK;
}

/* ---- vanilla proofs ---- */

static cuzk_status use_c1(cuzk_vanilla *v, const cuzk_porep_facts *facts, cuzk_err *err) {
    v->circuit = v->c1->circuit;
    v->partitions = v->c1->partitions;
    return cuzk_porep_statement_of_c1(&v->porep, v->c1, facts, err);
}

/* A request whose vanilla_proof is a C1. */
static cuzk_status use_porep_request(cuzk_vanilla *v, const cuzk_porep_facts *facts,
                                     cuzk_err *err) {
    const cuzk_request *r = v->request;
    cuzk_porep_facts f = *facts;
    CUZK_TRY(cuzk__porep_facts_of_request(&f, r, err));
    CUZK_TRY(
        cuzk_c1_from_memory(&v->c1, r->vanilla_proof.data, r->vanilla_proof.len, r->name, err));
    const cuzk_c1 *c = v->c1;
    CUZK_TRY(cuzk_request_sized(r, (uint64_t)32 << c->circuit->u.porep.log2_nodes, c->circuit->name,
                                err));
    CUZK_TRY(cuzk_request_agrees(r, CUZK_REQ_COMM_R, c->comm_r, err));
    CUZK_TRY(cuzk_request_agrees(r, CUZK_REQ_COMM_D, c->comm_d, err));
    CUZK_TRY(cuzk_request_agrees(r, CUZK_REQ_REPLICA_ID, c->replica_id, err));
    CUZK_TRY(cuzk_request_agrees(r, CUZK_REQ_SEED, c->seed, err));
    CUZK_TRY(cuzk_request_agrees(r, CUZK_REQ_TICKET, c->ticket, err));
    return use_c1(v, &f, err);
}

/* The kind that a request says, or that its fields are of (Window for any PoSt). */
static cuzk_proof_kind kind_of(const cuzk_request *r) {
    const uint32_t update =
        1u << CUZK_REQ_COMM_R_OLD | 1u << CUZK_REQ_COMM_R_NEW | 1u << CUZK_REQ_COMM_D_NEW;
    const uint32_t post =
        1u << CUZK_REQ_RANDOMNESS | 1u << CUZK_REQ_SECTORS | 1u << CUZK_REQ_VANILLA_PROOFS;
    if (r->kind != CUZK_KIND_UNSPECIFIED) return r->kind;
    if (cuzk_request_has(r, CUZK_REQ_VANILLA_PROOF)) return CUZK_KIND_POREP;
    if (r->seen & update) return CUZK_KIND_UPDATE;
    return r->seen & post ? CUZK_KIND_WINDOW : CUZK_KIND_POREP;
}

static cuzk_status no_proofs(const cuzk_request *r, cuzk_err *err) {
    CUZK_TRY(cuzk_request_fits(r, kind_of(r), err));
    return cuzk_err_set(err, CUZK_STATUS_BAD_INPUT,
                        "%s: expected a field `vanilla_proofs` (or `vanilla_proof` with a C1), "
                        "actual a request without it",
                        r->name);
}

static cuzk_status use_request(cuzk_vanilla *v, cuzk_request *r, const cuzk_porep_facts *facts,
                               cuzk_err *err) {
    const cuzk_proof_kind kind = kind_of(r);
    if (kind == CUZK_KIND_POREP) {
        v->request = r;
        if (!cuzk_request_has(r, CUZK_REQ_VANILLA_PROOF)) return no_proofs(r, err);
        return use_porep_request(v, facts, err);
    }
    if (!cuzk_request_has(r, CUZK_REQ_VANILLA_PROOFS)) {
        v->request = r;
        return no_proofs(r, err);
    }
    if (kind == CUZK_KIND_UPDATE) {
        CUZK_TRY(cuzk_update_from_request(&v->update, r, err));
        v->circuit = v->update->statement.circuit;
        v->partitions = v->update->statement.type->partitions;
        return CUZK_OK;
    }
    CUZK_TRY(cuzk_post_from_request(&v->post, r, err));
    v->circuit = v->post->statement.circuit;
    v->partitions = 1;
    return CUZK_OK;
}

static cuzk_status open_request(cuzk_vanilla *v, const char *path, const cuzk_porep_facts *facts,
                                cuzk_err *err) {
    cuzk_request *r;
    CUZK_TRY(cuzk_request_open(&r, path, err));
    return use_request(v, r, facts, err);
}

cuzk_status cuzk_vanilla_from_request(cuzk_vanilla **out, cuzk_request *r,
                                      const cuzk_porep_facts *facts, cuzk_err *err) {
    static const cuzk_porep_facts nothing;
    *out = NULL;
    cuzk_vanilla *v;
    if (cuzk_alloc((void **)&v, 1, sizeof *v) != CUZK_OK) {
        cuzk_request_free(r);
        return cuzk_err_set(err, CUZK_STATUS_NO_MEMORY, "not enough memory");
    }
    const cuzk_status st = use_request(v, r, facts ? facts : &nothing, err);
    if (st == CUZK_OK)
        *out = v;
    else
        cuzk_vanilla_free(v);
    return st;
}

cuzk_status cuzk_vanilla_open(cuzk_vanilla **out, const char *path, const cuzk_porep_facts *facts,
                              cuzk_err *err) {
    static const cuzk_porep_facts nothing;
    bool request = false;
    *out = NULL;
    cuzk_vanilla *v;
    if (cuzk_alloc((void **)&v, 1, sizeof *v) != CUZK_OK)
        return cuzk_err_set(err, CUZK_STATUS_NO_MEMORY, "not enough memory");
    if (!facts) facts = &nothing;
    cuzk_status st = looks_like_request(&request, path, err);
    if (st == CUZK_OK && request) {
        st = open_request(v, path, facts, err);
    } else if (st == CUZK_OK) {
        st = cuzk_c1_open(&v->c1, path, err);
        if (st == CUZK_OK) st = use_c1(v, facts, err);
    }
    if (st == CUZK_OK)
        *out = v;
    else
        cuzk_vanilla_free(v);
    return st;
}

void cuzk_vanilla_free(cuzk_vanilla *v) {
    if (!v) return;
    cuzk_c1_free(v->c1);
    cuzk_post_free(v->post);
    cuzk_update_free(v->update);
    cuzk_request_free(v->request);
    cuzk_free(v);
}

cuzk_status cuzk_vanilla_check(const cuzk_vanilla *v, uint32_t first, uint32_t n,
                               const cuzk_poseidon_set *set, cuzk_pool *pool,
                               cuzk_progress *progress, cuzk_err *err) {
    if (v->c1) return cuzk_porep_check(v->c1, &v->porep, first, n, set, pool, progress, err);
    if (v->update) return cuzk_update_check(v->update, first, n, set, pool, progress, err);
    return cuzk_post_check(v->post, set, pool, progress, err);
}

uint64_t cuzk_vanilla_challenges(const cuzk_vanilla *v, uint32_t n) {
    if (v->c1) return (uint64_t)n * v->circuit->u.porep.challenges;
    if (v->update) return (uint64_t)n * v->circuit->u.update.challenges;
    return (uint64_t)v->post->statement.n_sectors * v->post->statement.type->challenges;
}

cuzk_status cuzk_vanilla_free_values(const cuzk_vanilla *v, uint32_t partition, cuzk_u256 *out,
                                     size_t n, cuzk_err *err) {
    if (v->c1) return cuzk_c1_free_values(v->c1, partition, out, n, err);
    if (v->update) return cuzk_update_free_values(v->update, partition, out, n, err);
    return cuzk_post_free_values(v->post, out, n, err);
}

cuzk_status cuzk_vanilla_witness(const cuzk_vanilla *v, uint32_t partition,
                                 const cuzk_witness_plan *plan, cuzk_witness *w, cuzk_pool *pool,
                                 cuzk_err *err) {
    const size_t n = w->r1cs->n_free;
    cuzk_u256 *frees;
    if (cuzk_alloc((void **)&frees, n, sizeof *frees) != CUZK_OK)
        return cuzk_err_set(err, CUZK_STATUS_NO_MEMORY, "not enough memory for the witness");
    cuzk_status st = cuzk_vanilla_free_values(v, partition, frees, n, err);
    if (st == CUZK_OK) st = cuzk_witness_solve(w, plan, frees, n, pool, err);
    cuzk_wipe(frees, n * sizeof *frees);
    cuzk_free(frees);
    return st;
}

/* ---- statements ---- */

cuzk_status cuzk_statement_of_vanilla(cuzk_statement **out, const cuzk_vanilla *v, cuzk_err *err) {
    *out = NULL;
    cuzk_statement *s;
    if (cuzk_alloc((void **)&s, 1, sizeof *s) != CUZK_OK)
        return cuzk_err_set(err, CUZK_STATUS_NO_MEMORY, "not enough memory");
    s->circuit = v->circuit;
    s->partitions = v->partitions;
    if (v->c1) s->porep = v->porep;
    if (v->update) s->update = v->update->statement;
    if (v->post) {
        s->post = v->post->statement;
        s->post.sectors = NULL;
        if (cuzk_alloc((void **)&s->post.sectors, s->post.n_sectors, sizeof *s->post.sectors) !=
            CUZK_OK) {
            cuzk_statement_free(s);
            return cuzk_err_set(err, CUZK_STATUS_NO_MEMORY, "not enough memory");
        }
        memcpy(s->post.sectors, v->post->statement.sectors,
               s->post.n_sectors * sizeof *s->post.sectors);
    }
    *out = s;
    return CUZK_OK;
}

static cuzk_status state(cuzk_statement *s, const cuzk_request *r, const cuzk_porep_facts *facts,
                         cuzk_err *err) {
    const cuzk_proof_kind kind = kind_of(r);
    s->partitions = 1;
    if (kind == CUZK_KIND_UPDATE) {
        CUZK_TRY(cuzk_update_statement_of_request(&s->update, r, err));
        s->circuit = s->update.circuit;
        s->partitions = s->update.type->partitions;
    } else if (kind != CUZK_KIND_POREP) {
        CUZK_TRY(cuzk_post_statement_of_request(&s->post, r, err));
        s->circuit = s->post.circuit;
    } else {
        CUZK_TRY(cuzk_porep_statement_of_request(&s->porep, r, facts, err));
        s->circuit = s->porep.circuit;
        s->partitions = s->porep.partitions;
    }
    return CUZK_OK;
}

/* A request without vanilla proofs, or NULL. */
static cuzk_status public_request(cuzk_request **out, const char *path, cuzk_err *err) {
    const uint32_t proofs = 1u << CUZK_REQ_VANILLA_PROOF | 1u << CUZK_REQ_VANILLA_PROOFS;
    bool request = false;
    *out = NULL;
    CUZK_TRY(looks_like_request(&request, path, err));
    if (!request) return CUZK_OK;
    CUZK_TRY(cuzk_request_open(out, path, err));
    if ((*out)->seen & proofs) {
        cuzk_request_free(*out);
        *out = NULL;
    }
    return CUZK_OK;
}

cuzk_status cuzk_statement_open(cuzk_statement **out, const char *path,
                                const cuzk_porep_facts *facts, cuzk_err *err) {
    static const cuzk_porep_facts nothing;
    cuzk_request *r;
    cuzk_vanilla *v;
    *out = NULL;
    if (!facts) facts = &nothing;
    CUZK_TRY(public_request(&r, path, err));
    if (!r) {
        CUZK_TRY(cuzk_vanilla_open(&v, path, facts, err));
        const cuzk_status st = cuzk_statement_of_vanilla(out, v, err);
        cuzk_vanilla_free(v);
        return st;
    }
    cuzk_statement *s = NULL;
    cuzk_status st = cuzk_alloc((void **)&s, 1, sizeof *s);
    if (st != CUZK_OK) cuzk_err_set(err, st, "not enough memory");
    if (st == CUZK_OK) st = state(s, r, facts, err);
    cuzk_request_free(r);
    if (st == CUZK_OK)
        *out = s;
    else
        cuzk_statement_free(s);
    return st;
}

void cuzk_statement_free(cuzk_statement *s) {
    if (!s) return;
    cuzk_post_statement_free(&s->post);
    cuzk_free(s);
}

cuzk_status cuzk_statement_public(cuzk_u256 *out, size_t n, const cuzk_statement *s,
                                  uint32_t partition, cuzk_err *err) {
    switch (s->circuit->kind) {
    case CUZK_CIRCUIT_POREP:
        return cuzk_porep_public(out, n, &s->porep, partition, err);
    case CUZK_CIRCUIT_POST:
        return cuzk_post_public(out, n, &s->post, err);
    case CUZK_CIRCUIT_UPDATE:
        break;
    }
    return cuzk_update_public(out, n, &s->update, partition, err);
}

cuzk_status cuzk_statement_publics(cuzk_u256 **out, const cuzk_statement *s, uint32_t first,
                                   uint32_t n, cuzk_err *err) {
    const size_t each = cuzk_circuit_public(s->circuit);
    cuzk_status st = cuzk_alloc((void **)out, n * each, sizeof **out);
    if (st != CUZK_OK) return cuzk_err_set(err, st, "not enough memory");
    for (uint32_t i = 0; i < n && st == CUZK_OK; i++)
        st = cuzk_statement_public(*out + i * each, each, s, first + i, err);
    if (st == CUZK_OK) return CUZK_OK;
    cuzk_free(*out);
    *out = NULL;
    return st;
}
