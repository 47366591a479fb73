/* A sector of which only the opened nodes exist. */
#include "base/mem.h"
#include "filecoin/fr.h"
#include "filecoin/sector_internal.h"

#include <stdlib.h>

static int by_value(const void *x, const void *y) {
    const uint64_t a = *(const uint64_t *)x, b = *(const uint64_t *)y;
    return (a > b) - (a < b);
}

static size_t sort_unique(uint64_t *v, size_t n) {
    size_t k = 0;
    qsort(v, n, sizeof *v, by_value);
    for (size_t i = 0; i < n; i++)
        if (k == 0 || v[k - 1] != v[i]) v[k++] = v[i];
    return k;
}

/* Tree D: all data nodes are equal. */
static cuzk_status equal_data(cuzk__sector *x, const cuzk_sector_spec *s,
                              const cuzk__tree_maker *m) {
    const cuzk_tree_shape shape = cuzk__tree_d_shape(x->c->log2_nodes);
    uint8_t *leaf;
    CUZK_TRY(cuzk_alloc((void **)&leaf, 1, 32));
    const cuzk_status st = cuzk__derive_31(leaf, s, "data %llu", (unsigned long long)x->number);
    if (st != CUZK_OK) {
        cuzk_free(leaf);
        return st;
    }
    CUZK_TRY(cuzk__tree_whole(&x->d, m, &shape, true, leaf, x->c->log2_nodes));
    memcpy(x->comm_d, cuzk__tree_root(&x->d), 32);
    return CUZK_OK;
}

/* The nodes that the proof opens, with pseudorandom columns. */
static cuzk_status open_nodes(cuzk__sector *x, const cuzk_sector_spec *s,
                              const uint64_t *challenged, size_t n) {
    CUZK_TRY(cuzk_alloc((void **)&x->opened, n * (1 + CUZK_GRAPH_PARENTS), sizeof *x->opened));
    for (size_t i = 0; i < n; i++) {
        uint32_t parents[CUZK_GRAPH_PARENTS];
        cuzk_graph_parents(&x->graph, (uint32_t)challenged[i], parents);
        x->opened[x->n_opened++] = challenged[i];
        for (int k = 0; k < CUZK_GRAPH_PARENTS; k++)
            x->opened[x->n_opened++] = parents[k];
    }
    x->n_opened = sort_unique(x->opened, x->n_opened);
    const uint32_t layers = x->c->layers;
    CUZK_TRY(cuzk_alloc((void **)&x->column, x->n_opened * layers, 32));
    for (size_t i = 0; i < x->n_opened; i++)
        for (uint32_t l = 0; l < layers; l++)
            CUZK_TRY(cuzk__derive_31(x->column + 32 * (i * layers + l), s, "label %llu %llu %u",
                                     (unsigned long long)x->number,
                                     (unsigned long long)x->opened[i], l + 1));
    return CUZK_OK;
}

/* The labels of the challenged nodes, as sealing computes them. A layer at a time and by ascending
 * node, because one challenge may be another's parent. */
static cuzk_status challenged_labels(cuzk__sector *x, const uint64_t *challenged, size_t n) {
    const uint8_t *from[CUZK_GRAPH_PARENTS];
    uint8_t inputs[CUZK_LABEL_HASHED * 32], label[32];
    for (uint32_t layer = 1; layer <= x->c->layers; layer++) {
        for (size_t i = 0; i < n; i++) {
            uint32_t parents[CUZK_GRAPH_PARENTS];
            cuzk_graph_parents(&x->graph, (uint32_t)challenged[i], parents);
            const int used = layer == 1 ? CUZK_GRAPH_DRG : CUZK_GRAPH_PARENTS;
            for (int k = 0; k < used; k++)
                from[k] = cuzk__sector_label(x, k < CUZK_GRAPH_DRG ? layer : layer - 1, parents[k]);
            cuzk_label_inputs(inputs, layer, from);
            CUZK_TRY(cuzk_label(label, x->replica_id, layer, challenged[i], inputs));
            memcpy(x->column + (cuzk__sector_label(x, layer, challenged[i]) - x->column), label,
                   32);
        }
    }
    return CUZK_OK;
}

/* Tree C: the opened columns among columns of zeros. */
static cuzk_status tree_c(cuzk__sector *x, const cuzk__tree_maker *m) {
    const uint8_t zeros[CUZK_POREP_MAX_LAYERS * 32] = {0};
    const uint32_t layers = x->c->layers;
    uint64_t *index = NULL;
    uint8_t *leaves = NULL, fill[32];
    cuzk_status st;
    CUZK_TRY(cuzk__tree_node(fill, m->poseidon, layers, zeros));
    CUZK_TRY_GOTO(cuzk_alloc((void **)&index, x->n_opened, sizeof *index), fail);
    CUZK_TRY_GOTO(cuzk_alloc((void **)&leaves, x->n_opened, 32), fail);
    memcpy(index, x->opened, x->n_opened * sizeof *index);
    for (size_t i = 0; i < x->n_opened; i++)
        CUZK_TRY_GOTO(
            cuzk__tree_node(leaves + 32 * i, m->poseidon, layers, x->column + 32 * i * layers),
            fail);
    return cuzk__tree_sparse(&x->columns, m, &x->c->tree, index, leaves, x->n_opened, fill);
fail:
    cuzk_free(index);
    cuzk_free(leaves);
    return st;
}

/* Tree R: the challenged nodes, encoded, among zeros. */
static cuzk_status tree_r(cuzk__sector *x, const cuzk__tree_maker *m, const uint64_t *challenged,
                          size_t n) {
    const uint8_t zero[32] = {0};
    uint64_t *index = NULL;
    uint8_t *leaves = NULL;
    cuzk_u256 data, key;
    cuzk_status st;
    CUZK_TRY_GOTO(cuzk_alloc((void **)&index, n, sizeof *index), fail);
    CUZK_TRY_GOTO(cuzk_alloc((void **)&leaves, n, 32), fail);
    memcpy(index, challenged, n * sizeof *index);
    st = CUZK_STATUS_BUG;
    if (!cuzk__fr_read(&data, cuzk__tree_get(&x->d, 0, 0))) goto fail;
    for (size_t i = 0; i < n; i++) {
        if (!cuzk__fr_read(&key, cuzk__sector_label(x, x->c->layers, challenged[i]))) goto fail;
        cuzk_bls12_381_fr_add(&key, &key, &data);
        cuzk__fr_write(leaves + 32 * i, &key);
    }
    return cuzk__tree_sparse(&x->replica, m, &x->c->tree, index, leaves, n, zero);
fail:
    cuzk_free(index);
    cuzk_free(leaves);
    return st;
}

cuzk_status cuzk__sector_sparse(cuzk__sector *x, const cuzk_sector_spec *s,
                                const cuzk__tree_maker *m) {
    uint64_t *challenged = NULL;
    cuzk_status st;
    CUZK_TRY(cuzk__sector_begin(x, s, &s->circuit->u.porep, s->seal, s->sector));
    CUZK_TRY(equal_data(x, s, m));
    CUZK_TRY(cuzk__sector_replica_id(x, s->miner));
    CUZK_TRY(cuzk__sector_challenges(x, s->seal));
    size_t n = (size_t)x->partitions * x->c->challenges;
    CUZK_TRY(cuzk_alloc((void **)&challenged, n, sizeof *challenged));
    memcpy(challenged, x->challenges, n * sizeof *challenged);
    n = sort_unique(challenged, n);
    CUZK_TRY_GOTO(open_nodes(x, s, challenged, n), out);
    CUZK_TRY_GOTO(challenged_labels(x, challenged, n), out);
    CUZK_TRY_GOTO(tree_c(x, m), out);
    CUZK_TRY_GOTO(tree_r(x, m, challenged, n), out);
    memcpy(x->comm_c, cuzk__tree_root(&x->columns), 32);
    memcpy(x->comm_r_last, cuzk__tree_root(&x->replica), 32);
    st = cuzk__comm_r(x->comm_r, m->poseidon, x->comm_c, x->comm_r_last);
out:
    cuzk_free(challenged);
    return st;
}
