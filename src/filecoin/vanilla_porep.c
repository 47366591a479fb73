/* Checks of a C1, challenge by challenge. */
#include "filecoin/vanilla_check.h"

#include "base/mem.h"
#include "filecoin/fr.h"
#include "filecoin/labels.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum {
    DRG = CUZK_POREP_DRG_PARENTS,
    EXP = CUZK_POREP_EXP_PARENTS,
    PARENTS = DRG + EXP,
};

struct porep {
    const cuzk_c1 *c;
    const cuzk_porep_statement *s;
    const cuzk_poseidon_set *set;
    uint32_t first;                      /* partition */
    uint64_t *challenges;                /* of all partitions, from first on */
    const uint8_t *comm_c, *comm_r_last; /* as the first proof has them */
};

/* What the label of `layer` (from 1) hashes, from the opened columns. */
static void label_inputs(uint8_t out[32 * CUZK_LABEL_HASHED], const cuzk_c1_challenge *x,
                         uint32_t layer) {
    const uint8_t *parents[PARENTS] = {0};
    for (int p = 0; p < (layer == 1 ? DRG : PARENTS); p++)
        parents[p] = x->parents[p].rows + 32 * (size_t)(p < DRG ? layer - 1 : layer - 2);
    cuzk_label_inputs(out, layer, parents);
}

/* That a labeling proof is that of layer and node, and its parents those of the columns. */
static cuzk_status check_label(const cuzk__check *k, const cuzk_c1_label *l, uint32_t layer,
                               const uint8_t *parents, const char *what) {
    if (l->node != k->node)
        return cuzk__check_fail(k, CUZK_STATUS_FALSE,
                                "%s: expected node %" PRIu64 " that replica_id and seed lead to, "
                                "actual %" PRIu64,
                                what, k->node, l->node);
    if (l->layer != layer)
        return cuzk__check_fail(k, CUZK_STATUS_FALSE, "%s: expected layer_index %u, actual %u",
                                what, layer, l->layer);
    for (int i = 0; i < CUZK_C1_LABEL_PARENTS; i++)
        if (memcmp(l->parents + 32 * i, parents + 32 * i, 32) != 0)
            return cuzk__check_fail(k, CUZK_STATUS_FALSE,
                                    "%s: expected parent %d to be the label in its column, actual "
                                    "another",
                                    what, i);
    return CUZK_OK;
}

/* Labels of the challenged node, layer by layer, into rows. */
static cuzk_status check_labels(const cuzk__check *k, const struct porep *p,
                                const cuzk_c1_challenge *x, uint8_t *rows) {
    uint8_t inputs[32 * CUZK_LABEL_HASHED];
    char what[32];
    const uint32_t layers = p->c->circuit->u.porep.layers;
    for (uint32_t layer = 1; layer <= layers; layer++) {
        snprintf(what, sizeof what, "labeling_proofs %u", layer - 1);
        label_inputs(inputs, x, layer);
        CUZK_TRY(check_label(k, &x->labels[layer - 1], layer, inputs, what));
        CUZK_TRY(
            cuzk_label(rows + 32 * (size_t)(layer - 1), p->s->replica_id, layer, k->node, inputs));
    }
    return check_label(k, &x->encoding, layers, inputs, "encoding_proof");
}

static cuzk_status check_column(const cuzk__check *k, const struct porep *p,
                                const cuzk_c1_column *col, uint64_t node, const char *what) {
    const uint32_t layers = p->c->circuit->u.porep.layers;
    cuzk_u256 in[CUZK_POREP_MAX_LAYERS], h;
    uint8_t leaf[32];
    char rows[64], path[64];
    if (col->index != node)
        return cuzk__check_fail(k, CUZK_STATUS_FALSE,
                                "%s: expected the column of node %" PRIu64 " of the graph, actual "
                                "of node %u: another registered proof or porep_id?",
                                what, node, col->index);
    snprintf(rows, sizeof rows, "%s: rows", what);
    for (uint32_t i = 0; i < layers; i++)
        CUZK_TRY(cuzk__check_fr(k, &in[i], col->rows + 32 * (size_t)i, rows));
    cuzk_poseidon_hash(&h, k->set->arity[layers], cuzk_poseidon_tree_tag(layers), in);
    cuzk__fr_write(leaf, &h);
    snprintf(path, sizeof path, "%s: leaf of tree C (hash of the column)", what);
    CUZK_TRY(cuzk__check_same(k, col->inclusion.leaf, leaf, path));
    snprintf(path, sizeof path, "%s: tree C", what);
    return cuzk__check_poseidon_path(k, &col->inclusion, &p->c->circuit->u.porep.tree, p->comm_c,
                                     node, path);
}

/* encoding: leaf of tree R = last label + data. */
static cuzk_status check_replica(const cuzk__check *k, const struct porep *p,
                                 const cuzk_c1_challenge *x, const uint8_t *last_label) {
    cuzk_u256 key, data;
    uint8_t leaf[32];
    CUZK_TRY(cuzk__check_fr(k, &key, last_label, "label"));
    CUZK_TRY(cuzk__check_fr(k, &data, x->data.leaf, "data"));
    cuzk_bls12_381_fr_add(&key, &key, &data);
    cuzk__fr_write(leaf, &key);
    CUZK_TRY(cuzk__check_same(k, x->replica.leaf, leaf,
                              "comm_r_last_proof: leaf of tree R (label + data)"));
    return cuzk__check_poseidon_path(k, &x->replica, &p->c->circuit->u.porep.tree, p->comm_r_last,
                                     k->node, "comm_r_last_proof (tree R)");
}

static cuzk_status check_challenge(void *ctx, size_t i, cuzk_err *err) {
    const struct porep *p = ctx;
    const cuzk_porep_circuit *circuit = &p->c->circuit->u.porep;
    const uint32_t partition = p->first + (uint32_t)(i / circuit->challenges);
    const cuzk__check k = {.set = p->set,
                           .name = p->c->name,
                           .err = err,
                           .unit = "partition",
                           .unit_index = partition,
                           .challenge = (uint32_t)(i % circuit->challenges),
                           .node = p->challenges[i]};
    const cuzk_tree_shape d = {2, circuit->log2_nodes, 0, 0};
    cuzk_c1_challenge x = {0};
    uint32_t parents[PARENTS];
    uint8_t rows[32 * CUZK_POREP_MAX_LAYERS];
    char what[32];
    cuzk_c1_challenge_at(p->c, partition, k.challenge, &x);
    /* before anything that depends on it: is it the right node? */
    if (x.labels[0].node != k.node)
        return cuzk__check_fail(&k, CUZK_STATUS_FALSE,
                                "expected the proof of this node, to which replica_id and seed "
                                "lead, actual of node %" PRIu64,
                                x.labels[0].node);
    CUZK_TRY(cuzk__check_sha_path(&k, &x.data, &d, p->s->comm_d, k.node, "comm_d_proofs (tree D)"));
    cuzk_graph_parents(&p->s->graph, (uint32_t)k.node, parents);
    for (int q = 0; q < PARENTS; q++) {
        snprintf(what, sizeof what, "%s_parents %d", q < DRG ? "drg" : "exp",
                 q < DRG ? q : q - DRG);
        CUZK_TRY(check_column(&k, p, &x.parents[q], parents[q], what));
    }
    CUZK_TRY(check_labels(&k, p, &x, rows));
    for (uint32_t l = 0; l < circuit->layers; l++) {
        snprintf(what, sizeof what, "c_x: label of layer %u", l + 1);
        CUZK_TRY(cuzk__check_same(&k, x.own.rows + 32 * (size_t)l, rows + 32 * (size_t)l, what));
    }
    CUZK_TRY(check_column(&k, p, &x.own, k.node, "c_x"));
    return check_replica(&k, p, &x, rows + 32 * (size_t)(circuit->layers - 1));
}

cuzk_status cuzk_porep_check(const cuzk_c1 *c, const cuzk_porep_statement *s, uint32_t first,
                             uint32_t n, const cuzk_poseidon_set *set, cuzk_pool *pool,
                             cuzk_progress *progress, cuzk_err *err) {
    const uint32_t each = c->circuit->u.porep.challenges;
    const size_t all = (size_t)n * each;
    struct porep p = {.c = c, .s = s, .set = set, .first = first};
    cuzk_c1_challenge x = {0};
    cuzk_c1_challenge_at(c, first, 0, &x);
    p.comm_c = x.own.inclusion.root;
    p.comm_r_last = x.replica.root;
    cuzk_status st = cuzk_alloc((void **)&p.challenges, all, sizeof *p.challenges);
    if (st != CUZK_OK) return cuzk_err_set(err, st, "%s: not enough memory", c->name);
    for (uint32_t i = 0; st == CUZK_OK && i < n; i++)
        st = cuzk_porep_partition_challenges(p.challenges + (size_t)i * each, s, first + i);
    if (st != CUZK_OK) {
        cuzk_err_set(err, st, "%s: cannot derive the challenges", c->name);
    } else {
        const cuzk__check k = {.set = set,
                               .name = c->name,
                               .err = err,
                               .unit = "partition",
                               .unit_index = first,
                               .node = p.challenges[0]};
        st = cuzk__check_comm_r(&k, s->comm_r, p.comm_c, p.comm_r_last, "comm_r");
    }
    if (st == CUZK_OK) st = cuzk__check_all(all, check_challenge, &p, pool, progress, err);
    cuzk_free(p.challenges);
    return st;
}
