/* Labels: the SDR encoding of a sector (stacked depth-robust graphs). */
#ifndef CUZK_FILECOIN_LABELS_H
#define CUZK_FILECOIN_LABELS_H

#include "base/progress.h"
#include "base/thread.h"
#include "filecoin/graph.h"

#include <stddef.h>

enum { CUZK_LABEL_HASHED = 37 }; /* parents that a label hashes, with repetitions */

/* The parents' labels in the order a label hashes them: layer 1 repeats the six drg parents, the
 * others these and then the eight expander parents (of the layer before). parents[i] is 32 bytes;
 * layer 1 reads six of them. Writes 37 times 32 bytes. */
void cuzk_label_inputs(uint8_t out[CUZK_LABEL_HASHED * 32], uint32_t layer,
                       const uint8_t *const parents[CUZK_GRAPH_PARENTS]);

/* SHA-256(replica_id, layer, node, inputs), top two bits cleared. Layers count from 1. Node 0 has
 * no parents: inputs is not read. Thread-safe. */
cuzk_status cuzk_label(uint8_t out[32], const uint8_t replica_id[32], uint32_t layer, uint64_t node,
                       const uint8_t *inputs) CUZK_MUST_CHECK;

/* All labels of a sector. */
typedef struct cuzk_labels {
    uint32_t log2_nodes, layers;
    uint8_t *data;     /* layer after layer, 32 bytes a node */
    uint32_t *parents; /* CUZK_GRAPH_PARENTS a node */
} cuzk_labels;

/* Takes 32 * (layers + 2) bytes a node. progress gets layers + 1 units a node; it and pool may be
 * NULL. Free with cuzk_labels_free, also after a failure. */
cuzk_status cuzk_labels_make(cuzk_labels *l, const cuzk_graph *g, uint32_t layers,
                             const uint8_t replica_id[32], cuzk_pool *pool,
                             cuzk_progress *progress) CUZK_MUST_CHECK;
void cuzk_labels_free(cuzk_labels *l);

/* One label; layer counts from 1. */
static inline const uint8_t *cuzk_labels_at(const cuzk_labels *l, uint32_t layer, uint64_t node) {
    return l->data + 32 * (((uint64_t)(layer - 1) << l->log2_nodes) + node);
}

#endif
