/* The graph of StackedDRG: which nodes a label depends on.
 *
 * Base graph: DRSample (Alwen, Blocki, Harsha: "Practical Graphs for Optimal Side-Channel
 * Resistant Memory-Hard Functions", 2017) of degree 6. Expander: eight parents in the layer
 * before, by a Feistel permutation of 8 * nodes edges that walks until it lands inside. Both
 * depend on the porep_id and on nothing of the sector. */
#ifndef CUZK_FILECOIN_GRAPH_H
#define CUZK_FILECOIN_GRAPH_H

#include "base/status.h"

#include <stdbool.h>
#include <stdint.h>

/* Versions of the network's rules. V1_0 orders drg parents and cuts expander parents differently;
 * V1_1 and V1_2 have the same graph. */
typedef enum cuzk_api_version { CUZK_API_V1_0, CUZK_API_V1_1, CUZK_API_V1_2 } cuzk_api_version;

enum { CUZK_GRAPH_DRG = 6, CUZK_GRAPH_EXP = 8, CUZK_GRAPH_PARENTS = 14 };

typedef struct cuzk_graph {
    uint32_t log2_nodes; /* 1 to 31 */
    cuzk_api_version version;
    uint8_t drg_seed[28];
    uint64_t feistel_key[3];
    unsigned half_bits; /* of a Feistel half */
} cuzk_graph;

/* BUG only when hashing fails. The graph needs no clean-up and may be shared by threads. */
cuzk_status cuzk_graph_init(cuzk_graph *g, uint32_t log2_nodes, const uint8_t porep_id[32],
                            cuzk_api_version version) CUZK_MUST_CHECK;

/* Parents of a node in its own layer, in the order labels hash them. All 0 for nodes 0 and 1.
 * node < 2^log2_nodes. */
void cuzk_graph_drg_parents(const cuzk_graph *g, uint32_t node, uint32_t out[CUZK_GRAPH_DRG]);
/* Parents of a node in the layer before. */
void cuzk_graph_exp_parents(const cuzk_graph *g, uint32_t node, uint32_t out[CUZK_GRAPH_EXP]);
/* Both: the six, then the eight. */
void cuzk_graph_parents(const cuzk_graph *g, uint32_t node, uint32_t out[CUZK_GRAPH_PARENTS]);

#endif
