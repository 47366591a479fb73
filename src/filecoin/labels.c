#include "filecoin/labels.h"

#include "base/bytes.h"
#include "base/hash.h"
#include "base/mem.h"

enum { HEAD = 64, HASHED = CUZK_LABEL_HASHED };

void cuzk_label_inputs(uint8_t out[HASHED * 32], uint32_t layer,
                       const uint8_t *const parents[CUZK_GRAPH_PARENTS]) {
    const uint32_t n = layer == 1 ? CUZK_GRAPH_DRG : CUZK_GRAPH_PARENTS;
    for (uint32_t i = 0; i < HASHED; i++)
        memcpy(out + 32 * (size_t)i, parents[i % n], 32);
}

/* msg: the head, then what cuzk_label_inputs wrote. */
static cuzk_status hash_label(uint8_t out[32], uint8_t *msg, const uint8_t replica_id[32],
                              uint32_t layer, uint64_t node) {
    memset(msg, 0, HEAD);
    memcpy(msg, replica_id, 32);
    cuzk_st_u32be(msg + 32, layer);
    cuzk_st_u64be(msg + 36, node);
    const size_t n = node == 0 ? HEAD : HEAD + 32 * HASHED;
    CUZK_TRY(cuzk_hash_once(CUZK_HASH_SHA256, msg, n, out));
    out[31] &= 0x3f;
    return CUZK_OK;
}

cuzk_status cuzk_label(uint8_t out[32], const uint8_t replica_id[32], uint32_t layer, uint64_t node,
                       const uint8_t *inputs) {
    uint8_t msg[HEAD + 32 * HASHED];
    if (node != 0) memcpy(msg + HEAD, inputs, 32 * HASHED);
    return hash_label(out, msg, replica_id, layer, node);
}

struct parents_job {
    const cuzk_graph *g;
    uint32_t *out;
    cuzk_progress *progress;
};

static void parents_range(void *ctx, size_t begin, size_t end) {
    const struct parents_job *j = ctx;
    for (size_t i = begin; i < end; i++)
        cuzk_graph_parents(j->g, (uint32_t)i, j->out + CUZK_GRAPH_PARENTS * i);
    if (j->progress) cuzk_progress_add(j->progress, end - begin);
}

static cuzk_status make_layer(cuzk_labels *l, uint32_t layer, const uint8_t replica_id[32],
                              cuzk_progress *progress) {
    enum { STEP = 4096 };
    const size_t nodes = (size_t)1 << l->log2_nodes;
    uint8_t *own = l->data + 32 * nodes * (layer - 1);
    const uint8_t *before = layer == 1 ? own : own - 32 * nodes;
    uint8_t msg[HEAD + 32 * HASHED];
    const uint8_t *from[CUZK_GRAPH_PARENTS];
    for (size_t i = 0; i < nodes; i++) {
        const uint32_t *p = l->parents + CUZK_GRAPH_PARENTS * i;
        for (int k = 0; k < CUZK_GRAPH_PARENTS; k++)
            from[k] = (k < CUZK_GRAPH_DRG ? own : before) + 32 * (size_t)p[k];
        cuzk_label_inputs(msg + HEAD, layer, from);
        CUZK_TRY(hash_label(own + 32 * i, msg, replica_id, layer, i));
        if (progress && i % STEP == STEP - 1) cuzk_progress_add(progress, STEP);
    }
    return CUZK_OK;
}

cuzk_status cuzk_labels_make(cuzk_labels *l, const cuzk_graph *g, uint32_t layers,
                             const uint8_t replica_id[32], cuzk_pool *pool,
                             cuzk_progress *progress) {
    const size_t nodes = (size_t)1 << g->log2_nodes;
    *l = (cuzk_labels){.log2_nodes = g->log2_nodes, .layers = layers};
    CUZK_TRY(cuzk_alloc((void **)&l->data, nodes * layers, 32));
    CUZK_TRY(cuzk_alloc((void **)&l->parents, nodes * CUZK_GRAPH_PARENTS, sizeof *l->parents));
    struct parents_job j = {g, l->parents, progress};
    cuzk_pool_run_ranges(pool, nodes, 256, 16, parents_range, &j);
    for (uint32_t layer = 1; layer <= layers; layer++)
        CUZK_TRY(make_layer(l, layer, replica_id, progress));
    return CUZK_OK;
}

void cuzk_labels_free(cuzk_labels *l) {
    cuzk_free(l->data);
    cuzk_free(l->parents);
    *l = (cuzk_labels){0};
}
