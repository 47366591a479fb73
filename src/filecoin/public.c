#include "filecoin/public.h"

#include "base/mem.h"
#include "filecoin/fr.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void put(cuzk_u256 *out, const uint8_t le[32]) {
    memcpy(out, le, sizeof *out);
}

static void put_u64(cuzk_u256 *out, uint64_t v) {
    *out = (cuzk_u256){{v, 0, 0, 0}};
}

static bool is_fr(const uint8_t le[32]) {
    cuzk_u256 x;
    return cuzk__fr_read(&x, le);
}

static cuzk_status no_fr(const char *name, const char *field, cuzk_err *err) {
    return cuzk_err_set(err, CUZK_STATUS_BAD_INPUT,
                        "%s: %s: expected a field element (32 bytes, little-endian, below r), "
                        "actual a greater number",
                        name, field);
}

static cuzk_status hashing(cuzk_err *err, cuzk_status st) {
    return st == CUZK_OK ? st : cuzk_err_set(err, st, "cannot derive the challenges");
}

static cuzk_status wants(size_t have, size_t want, cuzk_err *err) {
    if (have == want) return CUZK_OK;
    return cuzk_err_set(err, CUZK_STATUS_BUG, "room for %zu public inputs of %zu", have, want);
}

size_t cuzk_circuit_public(const cuzk_circuit *c) {
    switch (c->kind) {
    case CUZK_CIRCUIT_POREP:
        return 3 + (size_t)18 * c->u.porep.challenges;
    case CUZK_CIRCUIT_POST:
        return c->u.post.sectors * ((size_t)1 + c->u.post.challenges);
    case CUZK_CIRCUIT_UPDATE:
        break;
    }
    return 4;
}

/* ---- PoRep ---- */

/* circuit, partitions, type, and what is known: the rest. */
static cuzk_status finish_porep(cuzk_porep_statement *s, const cuzk_porep_facts *f,
                                const char *name, cuzk_err *err) {
    static const uint8_t zero[32];
    const cuzk_api_version version = s->type ? s->type->version : CUZK_API_V1_1;
    s->rule = s->type ? s->type->rule : CUZK_POREP_INTERACTIVE;
    if (f->porep_id)
        memcpy(s->porep_id, f->porep_id, 32);
    else
        cuzk_seal_type_porep_id(s->type ? s->type->number : 5, s->porep_id);
    if (s->rule == CUZK_POREP_NON_INTERACTIVE && memcmp(s->seed, zero, 32) == 0)
        return cuzk_err_set(err, CUZK_STATUS_BAD_INPUT,
                            "%s: seed: expected any value but zero, actual zero", name);
    const cuzk_status st =
        cuzk_graph_init(&s->graph, s->circuit->u.porep.log2_nodes, s->porep_id, version);
    return st == CUZK_OK ? st : cuzk_err_set(err, st, "cannot hash");
}

static cuzk_status derive_replica_id(uint8_t out[32], const cuzk_porep_statement *s, uint64_t miner,
                                     uint64_t sector, cuzk_err *err) {
    uint8_t prover[32];
    cuzk_prover_id(prover, miner);
    return hashing(err, cuzk_replica_id(out, prover, sector, s->ticket, s->comm_d, s->porep_id));
}

/* FALSE unless replica_id is that of miner and sector. */
static cuzk_status check_replica_id(cuzk_porep_statement *s, uint64_t miner, uint64_t sector,
                                    const char *name, cuzk_err *err) {
    uint8_t want[32];
    CUZK_TRY(derive_replica_id(want, s, miner, sector, err));
    if (memcmp(want, s->replica_id, 32) != 0)
        return cuzk_err_set(err, CUZK_STATUS_FALSE,
                            "%s: replica_id: expected that of miner %" PRIu64 ", sector %" PRIu64
                            ", its ticket, comm_d and porep_id, actual another: check --miner, "
                            "--sector and --registered-proof",
                            name, miner, sector);
    s->replica_id_checked = true;
    return CUZK_OK;
}

cuzk_status cuzk_porep_statement_of_c1(cuzk_porep_statement *s, const cuzk_c1 *c,
                                       const cuzk_porep_facts *f, cuzk_err *err) {
    *s =
        (cuzk_porep_statement){.circuit = c->circuit, .partitions = c->partitions, .type = c->type};
    if (f->type) {
        CUZK_TRY(cuzk_c1_fits(c, f->type, err));
        s->type = f->type;
    }
    for (uint64_t i = 5; !s->type && i < CUZK_SEAL_TYPES; i++) { /* V1_1 before the others */
        const cuzk_seal_type *t = cuzk_seal_type_at(i);
        if (strcmp(t->circuit, c->circuit->name) == 0 && t->partitions == c->partitions)
            s->type = t;
    }
    memcpy(s->comm_r, c->comm_r, 32);
    memcpy(s->comm_d, c->comm_d, 32);
    memcpy(s->replica_id, c->replica_id, 32);
    memcpy(s->seed, c->seed, 32);
    memcpy(s->ticket, c->ticket, 32);
    CUZK_TRY(finish_porep(s, f, c->name, err));
    if (f->has_sector && c->has_sector && f->sector != c->sector)
        return cuzk_err_set(err, CUZK_STATUS_BAD_INPUT,
                            "%s: SectorNum: expected %" PRIu64 " as asked for, actual %" PRIu64,
                            c->name, f->sector, c->sector);
    if (!f->has_miner || !(f->has_sector || c->has_sector)) return CUZK_OK;
    return check_replica_id(s, f->miner, f->has_sector ? f->sector : c->sector, c->name, err);
}

static cuzk_status seal_type_of(const cuzk_seal_type **out, const cuzk_request *r, cuzk_err *err) {
    *out = r->registered_name[0]
               ? cuzk_seal_type_find(r->registered_name, strlen(r->registered_name))
               : cuzk_seal_type_at(r->registered_proof);
    if (*out && cuzk_request_has(r, CUZK_REQ_REGISTERED_PROOF)) return CUZK_OK;
    return cuzk_err_set(err, CUZK_STATUS_BAD_INPUT,
                        "%s: registered_proof: expected a seal type, 0 to 19 or a name such as "
                        "StackedDrg32GiBV1_1, actual none that is known",
                        r->name);
}

/* What was asked for and the request's own must be the same. */
static cuzk_status take_number(bool *has, uint64_t *fact, const cuzk_request *r,
                               cuzk_request_field field, uint64_t v, const char *name,
                               cuzk_err *err) {
    if (!cuzk_request_has(r, field)) return CUZK_OK;
    if (*has && *fact != v)
        return cuzk_err_set(err, CUZK_STATUS_BAD_INPUT,
                            "%s: %s: expected %" PRIu64 " as asked for, actual %" PRIu64, r->name,
                            name, *fact, v);
    *has = true;
    *fact = v;
    return CUZK_OK;
}

cuzk_status cuzk__porep_facts_of_request(cuzk_porep_facts *f, const cuzk_request *r,
                                         cuzk_err *err) {
    CUZK_TRY(cuzk_request_fits(r, CUZK_KIND_POREP, err));
    CUZK_TRY(
        take_number(&f->has_miner, &f->miner, r, CUZK_REQ_MINER_ID, r->miner_id, "miner_id", err));
    CUZK_TRY(take_number(&f->has_sector, &f->sector, r, CUZK_REQ_SECTOR_NUMBER, r->sector_number,
                         "sector_number", err));
    if (cuzk_request_has(r, CUZK_REQ_REGISTERED_PROOF)) {
        const cuzk_seal_type *type;
        CUZK_TRY(seal_type_of(&type, r, err));
        if (f->type && f->type != type)
            return cuzk_err_set(err, CUZK_STATUS_BAD_INPUT,
                                "%s: registered_proof: expected %s as asked for, actual %s",
                                r->name, f->type->name, type->name);
        f->type = type;
    }
    if (cuzk_request_has(r, CUZK_REQ_POREP_ID)) {
        if (f->porep_id && memcmp(f->porep_id, r->value[CUZK_REQ_POREP_ID], 32) != 0)
            return cuzk_err_set(err, CUZK_STATUS_BAD_INPUT,
                                "%s: porep_id: expected that of --porep-id, actual another",
                                r->name);
        f->porep_id = r->value[CUZK_REQ_POREP_ID];
    }
    return CUZK_OK;
}

cuzk_status cuzk_porep_statement_of_request(cuzk_porep_statement *s, const cuzk_request *r,
                                            const cuzk_porep_facts *f, cuzk_err *err) {
    const uint8_t *v;
    cuzk_porep_facts facts = *f;
    CUZK_TRY(cuzk__porep_facts_of_request(&facts, r, err));
    *s = (cuzk_porep_statement){.type = facts.type};
    if (!s->type) CUZK_TRY(seal_type_of(&s->type, r, err));
    CUZK_TRY(cuzk_request_sized(r, s->type->sector_size, s->type->name, err));
    s->circuit = cuzk_circuit_find(s->type->circuit);
    s->partitions = s->type->partitions;
    CUZK_TRY(cuzk_request_need(r, CUZK_REQ_COMM_R, &v, err));
    memcpy(s->comm_r, v, 32);
    CUZK_TRY(cuzk_request_need(r, CUZK_REQ_COMM_D, &v, err));
    memcpy(s->comm_d, v, 32);
    if (s->type->rule != CUZK_POREP_NON_INTERACTIVE)
        CUZK_TRY(cuzk_request_need(r, CUZK_REQ_SEED, &v, err));
    memcpy(s->seed, r->value[CUZK_REQ_SEED], 32);
    if (s->type->rule == CUZK_POREP_NON_INTERACTIVE && !cuzk_request_has(r, CUZK_REQ_SEED))
        s->seed[0] = 1; /* not used; zero is refused where it is given */
    CUZK_TRY(finish_porep(s, &facts, r->name, err));
    if (!is_fr(s->comm_r)) return no_fr(r->name, "comm_r", err);
    if (!is_fr(s->comm_d)) return no_fr(r->name, "comm_d", err);
    const bool known = cuzk_request_has(r, CUZK_REQ_TICKET) && facts.has_miner && facts.has_sector;
    memcpy(s->ticket, r->value[CUZK_REQ_TICKET], 32);
    if (known && !cuzk_request_has(r, CUZK_REQ_REPLICA_ID)) {
        s->replica_id_checked = true;
        return derive_replica_id(s->replica_id, s, facts.miner, facts.sector, err);
    }
    if (!cuzk_request_has(r, CUZK_REQ_REPLICA_ID))
        return cuzk_err_set(err, CUZK_STATUS_BAD_INPUT,
                            "%s: expected `replica_id`, or `miner_id`, `sector_number` and "
                            "`ticket` that it follows from, actual neither",
                            r->name);
    memcpy(s->replica_id, r->value[CUZK_REQ_REPLICA_ID], 32);
    if (!is_fr(s->replica_id)) return no_fr(r->name, "replica_id", err);
    return known ? check_replica_id(s, facts.miner, facts.sector, r->name, err) : CUZK_OK;
}

cuzk_status cuzk_porep_partition_challenges(uint64_t *out, const cuzk_porep_statement *s,
                                            uint32_t partition) {
    const cuzk_porep_circuit *c = &s->circuit->u.porep;
    return cuzk_porep_challenges(out, partition * c->challenges, c->challenges, s->rule,
                                 c->log2_nodes, s->replica_id, s->comm_r, s->seed);
}

enum { MAX_CHALLENGES = 18 };

cuzk_status cuzk_porep_public(cuzk_u256 *out, size_t n, const cuzk_porep_statement *s,
                              uint32_t partition, cuzk_err *err) {
    const uint32_t challenges = s->circuit->u.porep.challenges;
    uint64_t c[MAX_CHALLENGES];
    uint32_t parents[CUZK_GRAPH_PARENTS];
    CUZK_TRY(wants(n, cuzk_circuit_public(s->circuit), err));
    if (challenges > MAX_CHALLENGES)
        return cuzk_err_set(err, CUZK_STATUS_BUG, "%u challenges", challenges);
    CUZK_TRY(hashing(err, cuzk_porep_partition_challenges(c, s, partition)));
    put(out++, s->replica_id);
    put(out++, s->comm_d);
    put(out++, s->comm_r);
    for (uint32_t i = 0; i < challenges; i++) {
        put_u64(out++, c[i]);
        cuzk_graph_parents(&s->graph, (uint32_t)c[i], parents);
        for (int p = 0; p < CUZK_GRAPH_PARENTS; p++)
            put_u64(out++, parents[p]);
        for (int k = 0; k < 3; k++)
            put_u64(out++, c[i]);
    }
    return CUZK_OK;
}

/* ---- PoSt ---- */

static const char *chain_hint(char *out, size_t cap, const cuzk_request *r) {
    const char *name = r->registered_name;
    const cuzk_post_type *t = cuzk_post_type_of_chain(name, strlen(name));
    *out = '\0';
    if (t)
        snprintf(out, cap, ": what the chain calls %s is %s in the proof library and here", name,
                 t->name);
    return out;
}

cuzk_status cuzk__post_statement_head(cuzk_post_statement *s, const cuzk_request *r,
                                      cuzk_err *err) {
    const uint8_t *v;
    char hint[192];
    *s = (cuzk_post_statement){0};
    s->type = r->registered_name[0]
                  ? cuzk_post_type_find(r->registered_name, strlen(r->registered_name))
                  : cuzk_post_type_at(r->registered_proof);
    if (!s->type || !cuzk_request_has(r, CUZK_REQ_REGISTERED_PROOF))
        return cuzk_err_set(err, CUZK_STATUS_BAD_INPUT,
                            "%s: registered_proof: expected a PoSt type, 0 to 14 or a name such as "
                            "StackedDrgWindow32GiBV1_2, actual none that is known%s",
                            r->name, chain_hint(hint, sizeof hint, r));
    const cuzk_proof_kind kind = s->type->winning ? CUZK_KIND_WINNING : CUZK_KIND_WINDOW;
    if (r->kind != CUZK_KIND_UNSPECIFIED && r->kind != kind)
        return cuzk_err_set(err, CUZK_STATUS_BAD_INPUT,
                            "%s: proof_kind: expected %s of registered proof %s, actual %s",
                            r->name, cuzk_proof_kind_name(kind), s->type->name,
                            cuzk_proof_kind_name(r->kind));
    CUZK_TRY(cuzk_request_fits(r, kind, err));
    CUZK_TRY(cuzk_request_sized(r, s->type->sector_size, s->type->name, err));
    s->circuit = cuzk_circuit_find(s->type->circuit);
    s->partition = (uint32_t)r->partition_index;
    CUZK_TRY(cuzk_request_need(r, CUZK_REQ_RANDOMNESS, &v, err));
    memcpy(s->randomness, v, 32);
    if (!is_fr(v))
        return cuzk_err_set(err, CUZK_STATUS_BAD_INPUT,
                            "%s: randomness: expected a field element, actual a greater number: "
                            "clear the two top bits of byte 31, as the chain does",
                            r->name);
    return CUZK_OK;
}

static int by_number(const void *a, const void *b) {
    const uint64_t x = ((const cuzk_request_sector *)a)->number,
                   y = ((const cuzk_request_sector *)b)->number;
    return x < y ? -1 : x > y;
}

cuzk_status cuzk__post_statement_sectors(cuzk_post_statement *s, const char *name, cuzk_err *err) {
    if (s->n_sectors == 0 || s->n_sectors > s->type->sectors)
        return cuzk_err_set(err, CUZK_STATUS_BAD_INPUT,
                            "%s: expected 1 to %u sectors in a partition of %s, actual %zu", name,
                            s->type->sectors, s->type->name, s->n_sectors);
    qsort(s->sectors, s->n_sectors, sizeof *s->sectors, by_number);
    for (size_t i = 0; i < s->n_sectors; i++) {
        if (i > 0 && s->sectors[i].number == s->sectors[i - 1].number)
            return cuzk_err_set(err, CUZK_STATUS_BAD_INPUT,
                                "%s: expected each sector once, actual sector %" PRIu64 " twice",
                                name, s->sectors[i].number);
        if (!is_fr(s->sectors[i].comm_r))
            return cuzk_err_set(err, CUZK_STATUS_BAD_INPUT,
                                "%s: sector %" PRIu64 ": comm_r: expected a field element, actual "
                                "a greater number",
                                name, s->sectors[i].number);
    }
    return CUZK_OK;
}

static cuzk_status other_sector(const char *name, uint64_t want, uint64_t got, cuzk_err *err) {
    return cuzk_err_set(err, CUZK_STATUS_FALSE,
                        "%s: sectors: expected sector_number %" PRIu64
                        " of the vanilla proofs, actual %" PRIu64,
                        name, want, got);
}

cuzk_status cuzk__post_statement_agrees(const cuzk_post_statement *s, const cuzk_request *r,
                                        cuzk_err *err) {
    size_t i = 0;
    while (i < s->n_sectors && s->sectors[i].number != r->sector_number)
        i++;
    /* 0: the default of a field that a PoSt does not need */
    if (cuzk_request_has(r, CUZK_REQ_SECTOR_NUMBER) && r->sector_number && i == s->n_sectors)
        return cuzk_err_set(err, CUZK_STATUS_FALSE,
                            "%s: sector_number: expected one of its sectors, the first is %" PRIu64
                            ", actual %" PRIu64,
                            r->name, s->sectors[0].number, r->sector_number);
    if (!cuzk_request_has(r, CUZK_REQ_SECTORS)) return CUZK_OK;
    if (r->n_sectors != s->n_sectors)
        return cuzk_err_set(err, CUZK_STATUS_FALSE,
                            "%s: sectors: expected %zu as in vanilla_proofs, actual %zu", r->name,
                            s->n_sectors, r->n_sectors);
    qsort(r->sectors, r->n_sectors, sizeof *r->sectors, by_number);
    for (i = 0; i < s->n_sectors; i++) {
        char want[65], got[65];
        const cuzk_request_sector *a = &s->sectors[i], *b = &r->sectors[i];
        if (a->number != b->number) return other_sector(r->name, a->number, b->number, err);
        if (memcmp(a->comm_r, b->comm_r, 32) == 0) continue;
        cuzk__hex32(want, a->comm_r);
        cuzk__hex32(got, b->comm_r);
        return cuzk_err_set(err, CUZK_STATUS_FALSE,
                            "%s: sectors: comm_r of sector %" PRIu64
                            ": expected %s of the vanilla proof, actual %s",
                            r->name, a->number, want, got);
    }
    return CUZK_OK;
}

cuzk_status cuzk_post_statement_of_request(cuzk_post_statement *s, const cuzk_request *r,
                                           cuzk_err *err) {
    CUZK_TRY(cuzk__post_statement_head(s, r, err));
    if (cuzk_alloc((void **)&s->sectors, r->n_sectors, sizeof *s->sectors) != CUZK_OK)
        return cuzk_err_set(err, CUZK_STATUS_NO_MEMORY, "not enough memory");
    s->n_sectors = r->n_sectors;
    if (r->n_sectors) memcpy(s->sectors, r->sectors, r->n_sectors * sizeof *s->sectors);
    CUZK_TRY(cuzk__post_statement_sectors(s, r->name, err));
    return cuzk__post_statement_agrees(s, r, err);
}

void cuzk_post_statement_free(cuzk_post_statement *s) {
    cuzk_free(s->sectors);
    s->sectors = NULL;
}

cuzk_status cuzk_post_leaf(uint64_t *out, const cuzk_post_statement *s, size_t i, uint32_t n) {
    uint64_t index = n;
    if (!s->type->winning && s->type->version != CUZK_API_V1_2)
        index += ((uint64_t)s->partition * s->type->sectors + i) * s->type->challenges;
    return cuzk_post_challenge(out, s->randomness, s->sectors[i].number, index,
                               s->type->log2_nodes);
}

cuzk_status cuzk_post_public(cuzk_u256 *out, size_t n, const cuzk_post_statement *s,
                             cuzk_err *err) {
    const cuzk_post_circuit *c = &s->circuit->u.post;
    uint64_t leaf;
    CUZK_TRY(wants(n, cuzk_circuit_public(s->circuit), err));
    for (uint32_t i = 0; i < c->sectors; i++) {
        /* Winning: 66 copies of one sector with a challenge each; Window: the last one fills up */
        const size_t at = s->type->winning ? 0 : i < s->n_sectors ? i : s->n_sectors - 1;
        put(out++, s->sectors[at].comm_r);
        for (uint32_t k = 0; k < c->challenges; k++) {
            CUZK_TRY(hashing(err, cuzk_post_leaf(&leaf, s, at, s->type->winning ? i : k)));
            put_u64(out++, leaf);
        }
    }
    return CUZK_OK;
}

/* ---- EmptySectorUpdate ---- */

cuzk_status cuzk_update_statement_of_request(cuzk_update_statement *s, const cuzk_request *r,
                                             cuzk_err *err) {
    static const struct {
        cuzk_request_field field;
        const char *name;
    } values[] = {{CUZK_REQ_COMM_R_OLD, "comm_r_old"},
                  {CUZK_REQ_COMM_D_NEW, "comm_d_new"},
                  {CUZK_REQ_COMM_R_NEW, "comm_r_new"}};
    uint8_t *const to[] = {s->comm_r_old, s->comm_d_new, s->comm_r_new};
    *s = (cuzk_update_statement){0};
    s->type = r->registered_name[0]
                  ? cuzk_update_type_find(r->registered_name, strlen(r->registered_name))
                  : cuzk_update_type_at(r->registered_proof);
    if (!s->type || !cuzk_request_has(r, CUZK_REQ_REGISTERED_PROOF))
        return cuzk_err_set(err, CUZK_STATUS_BAD_INPUT,
                            "%s: registered_proof: expected an update type, 0 to 4 or a name such "
                            "as StackedDrg32GiBV1, actual none that is known",
                            r->name);
    CUZK_TRY(cuzk_request_fits(r, CUZK_KIND_UPDATE, err));
    CUZK_TRY(cuzk_request_sized(r, s->type->sector_size, s->type->name, err));
    for (int i = 0; i < 3; i++) {
        const uint8_t *v;
        CUZK_TRY(cuzk_request_need(r, values[i].field, &v, err));
        if (!is_fr(v)) return no_fr(r->name, values[i].name, err);
        memcpy(to[i], v, 32);
    }
    s->circuit = cuzk_circuit_find(s->type->circuit);
    const uint32_t *h = s->circuit->u.update.h;
    uint32_t first = 0;
    s->h = h[3];
    while (h[first] != s->h)
        first++;
    s->h_select = 1u << first;
    return CUZK_OK;
}

uint64_t cuzk_update_k_and_h_select(const cuzk_update_statement *s, uint32_t partition) {
    return partition | (uint64_t)s->h_select << s->circuit->u.update.log2_partitions;
}

cuzk_status cuzk_update_public(cuzk_u256 *out, size_t n, const cuzk_update_statement *s,
                               uint32_t partition, cuzk_err *err) {
    CUZK_TRY(wants(n, cuzk_circuit_public(s->circuit), err));
    put_u64(&out[0], cuzk_update_k_and_h_select(s, partition));
    put(&out[1], s->comm_r_old);
    put(&out[2], s->comm_d_new);
    put(&out[3], s->comm_r_new);
    return CUZK_OK;
}
