/* Checks of the vanilla proofs of WindowPoSt, WinningPoSt and EmptySectorUpdate. */
#include "filecoin/vanilla_check.h"

#include "base/mem.h"
#include "filecoin/fr.h"

#include <inttypes.h>
#include <string.h>

/* ---- PoSt ---- */

struct post {
    const cuzk_post *p;
    const cuzk_poseidon_set *set;
};

static cuzk_status check_inclusion(void *ctx, size_t i, cuzk_err *err) {
    const struct post *c = ctx;
    const cuzk_post_statement *s = &c->p->statement;
    const size_t at = i / s->type->challenges;
    const cuzk_post_sector *sector = &c->p->sectors[at];
    cuzk__check k = {.set = c->set,
                     .name = c->p->name,
                     .err = err,
                     .unit = "sector",
                     .unit_index = sector->number,
                     .challenge = (uint32_t)(i % s->type->challenges)};
    cuzk_merkle_proof m = {0};
    CUZK_TRY(cuzk_post_leaf(&k.node, s, at, k.challenge));
    if (k.challenge == 0)
        CUZK_TRY(
            cuzk__check_comm_r(&k, sector->comm_r, sector->comm_c, sector->comm_r_last, "comm_r"));
    cuzk_post_proof_at(c->p, at, k.challenge, &m);
    return cuzk__check_poseidon_path(&k, &m, &s->circuit->u.post.tree, sector->comm_r_last, k.node,
                                     "inclusion_proof (tree R)");
}

cuzk_status cuzk_post_check(const cuzk_post *p, const cuzk_poseidon_set *set, cuzk_pool *pool,
                            cuzk_progress *progress, cuzk_err *err) {
    struct post c = {p, set};
    return cuzk__check_all(p->statement.n_sectors * p->statement.type->challenges, check_inclusion,
                           &c, pool, progress, err);
}

/* ---- EmptySectorUpdate ---- */

struct update {
    const cuzk_update *u;
    const cuzk_poseidon_set *set;
    uint32_t first;
    cuzk_u256 phi;
    uint64_t *challenges;
};

/* leaf_r_new = leaf_r_old + leaf_d_new * rho(high bits of the node). */
static cuzk_status check_encoding(const cuzk__check *k, const struct update *c,
                                  const cuzk_update_challenge *x) {
    const cuzk_update_statement *s = &c->u->statement;
    cuzk_u256 rho, old, data;
    uint8_t leaf[32];
    cuzk_update_rho(&rho, c->set->arity[2], &c->phi, k->node >> (s->type->log2_nodes - s->h));
    CUZK_TRY(cuzk__check_fr(k, &old, x->r_old.leaf, "proof_r_old: leaf"));
    CUZK_TRY(cuzk__check_fr(k, &data, x->d_new.leaf, "proof_d_new: leaf"));
    cuzk_bls12_381_fr_mul(&data, &data, &rho);
    cuzk_bls12_381_fr_add(&old, &old, &data);
    cuzk__fr_write(leaf, &old);
    return cuzk__check_same(k, x->r_new.leaf, leaf,
                            "proof_r_new: leaf (old + data * rho, h the default)");
}

/* The node of tree D at the apex above the challenge, and the partition's path above the apex, as
 * the proof of this challenge has them. */
static cuzk_status check_apex(const cuzk__check *k, const struct update *c, uint32_t partition,
                              const cuzk_update_challenge *x) {
    const cuzk_update_circuit *circuit = &c->u->statement.circuit->u.update;
    const uint32_t below = circuit->log2_nodes - circuit->log2_partitions - circuit->log2_apex;
    const cuzk_path_values *path = &x->d_new.path;
    uint8_t cur[32];
    memcpy(cur, x->d_new.leaf, 32);
    for (uint32_t l = 0; l < below; l++) {
        const bool right = path->index[l];
        CUZK_TRY(
            cuzk__sha_node(cur, right ? path->siblings[l] : cur, right ? cur : path->siblings[l]));
    }
    const uint64_t at = k->node >> below & (((uint64_t)1 << circuit->log2_apex) - 1);
    return cuzk__check_same(k, c->u->parts[partition].apex + 32 * at, cur,
                            "apex leaf above the challenge");
}

static cuzk_status check_update(void *ctx, size_t i, cuzk_err *err) {
    const struct update *c = ctx;
    const cuzk_update_statement *s = &c->u->statement;
    const cuzk_update_circuit *circuit = &s->circuit->u.update;
    const uint32_t partition = c->first + (uint32_t)(i / circuit->challenges);
    const cuzk__check k = {.set = c->set,
                           .name = c->u->name,
                           .err = err,
                           .unit = "partition",
                           .unit_index = partition,
                           .challenge = (uint32_t)(i % circuit->challenges),
                           .node = c->challenges[i]};
    cuzk_update_challenge x = {0}, head = {0};
    cuzk_update_challenge_at(c->u, partition, k.challenge, &x);
    cuzk_update_challenge_at(c->u, partition, 0, &head);
    if (k.challenge == 0) {
        const uint8_t *comm_c = c->u->parts[partition].comm_c;
        CUZK_TRY(cuzk__check_comm_r(&k, s->comm_r_old, comm_c, x.r_old.root, "comm_r_old"));
        CUZK_TRY(cuzk__check_comm_r(&k, s->comm_r_new, comm_c, x.r_new.root, "comm_r_new"));
    }
    CUZK_TRY(cuzk__check_poseidon_path(&k, &x.r_old, &circuit->tree, head.r_old.root, k.node,
                                       "proof_r_old"));
    CUZK_TRY(cuzk__check_sha_path(&k, &x.d_new, &c->u->d, s->comm_d_new, k.node, "proof_d_new"));
    CUZK_TRY(cuzk__check_poseidon_path(&k, &x.r_new, &circuit->tree, head.r_new.root, k.node,
                                       "proof_r_new"));
    CUZK_TRY(check_encoding(&k, c, &x));
    return check_apex(&k, c, partition, &x);
}

/* That a partition's apex leaves lead to comm_d_new by the path of its first challenge. */
static cuzk_status check_apex_tree(const struct update *c, uint32_t partition, cuzk_err *err) {
    enum { MAX_APEX = 128 };
    const cuzk_update_statement *s = &c->u->statement;
    const cuzk_update_circuit *circuit = &s->circuit->u.update;
    const cuzk__check k = {.set = c->set,
                           .name = c->u->name,
                           .err = err,
                           .unit = "partition",
                           .unit_index = partition,
                           .node = c->challenges[(partition - c->first) * circuit->challenges]};
    uint8_t row[32 * MAX_APEX];
    cuzk_u256 unused;
    cuzk_update_challenge x = {0};
    for (uint32_t i = 0; i < 1u << circuit->log2_apex; i++)
        CUZK_TRY(
            cuzk__check_fr(&k, &unused, c->u->parts[partition].apex + 32 * (size_t)i, "apex leaf"));
    memcpy(row, c->u->parts[partition].apex, (size_t)32 << circuit->log2_apex);
    for (uint32_t n = 1u << circuit->log2_apex; n > 1; n /= 2)
        for (uint32_t i = 0; i < n / 2; i++)
            CUZK_TRY(cuzk__sha_node(row + 32 * (size_t)i, row + 64 * (size_t)i,
                                    row + 64 * (size_t)i + 32));
    cuzk_update_challenge_at(c->u, partition, 0, &x);
    for (uint32_t l = circuit->log2_nodes - circuit->log2_partitions; l < circuit->log2_nodes;
         l++) {
        const uint8_t *sibling = x.d_new.path.siblings[l];
        const bool right = x.d_new.path.index[l];
        CUZK_TRY(cuzk__sha_node(row, right ? sibling : row, right ? row : sibling));
    }
    return cuzk__check_same(&k, row, s->comm_d_new, "root above the apex leaves");
}

cuzk_status cuzk_update_check(const cuzk_update *u, uint32_t first, uint32_t n,
                              const cuzk_poseidon_set *set, cuzk_pool *pool,
                              cuzk_progress *progress, cuzk_err *err) {
    const cuzk_update_statement *s = &u->statement;
    const cuzk_update_circuit *circuit = &s->circuit->u.update;
    struct update c = {.u = u, .set = set, .first = first};
    cuzk_status st =
        cuzk_alloc((void **)&c.challenges, (size_t)n * circuit->challenges, sizeof *c.challenges);
    if (st != CUZK_OK) return cuzk_err_set(err, st, "%s: not enough memory", u->name);
    st = cuzk_update_phi(&c.phi, set->arity[2], s->comm_d_new, s->comm_r_old);
    for (uint32_t i = 0; st == CUZK_OK && i < n; i++)
        st = cuzk_update_challenges(c.challenges + (size_t)i * circuit->challenges,
                                    circuit->challenges, set->arity[2], s->comm_r_new, first + i,
                                    circuit->log2_nodes, circuit->log2_partitions);
    if (st != CUZK_OK) cuzk_err_set(err, st, "%s: cannot derive the challenges", u->name);
    if (st == CUZK_OK)
        st =
            cuzk__check_all((size_t)n * circuit->challenges, check_update, &c, pool, progress, err);
    for (uint32_t i = 0; st == CUZK_OK && i < n; i++)
        st = check_apex_tree(&c, first + i, err);
    cuzk_free(c.challenges);
    return st;
}
