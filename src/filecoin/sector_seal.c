/* Sealing for real. */
#include "base/bytes.h"
#include "base/mem.h"
#include "filecoin/fr.h"
#include "filecoin/sector_internal.h"

#include <stdatomic.h>

cuzk_status cuzk__sector_begin(cuzk__sector *x, const cuzk_sector_spec *s,
                               const cuzk_porep_circuit *c, const cuzk_seal_type *seal,
                               uint64_t number) {
    enum { UNREGISTERED_POREP_ID = 5 }; /* of the sizes that have no registered proof */
    memset(x, 0, sizeof *x);
    x->c = c;
    x->number = number;
    x->partitions = seal ? seal->partitions : 1;
    cuzk_seal_type_porep_id(seal ? seal->number : UNREGISTERED_POREP_ID, x->porep_id);
    if (s->porep_id) memcpy(x->porep_id, s->porep_id, 32);
    if (s->ticket)
        memcpy(x->ticket, s->ticket, 32);
    else
        CUZK_TRY(cuzk__derive(x->ticket, s, "ticket %llu", (unsigned long long)number));
    if (s->challenge_seed)
        memcpy(x->seed, s->challenge_seed, 32);
    else
        CUZK_TRY(cuzk__derive(x->seed, s, "seed %llu", (unsigned long long)number));
    return cuzk_graph_init(&x->graph, c->log2_nodes, x->porep_id,
                           seal ? seal->version : CUZK_API_V1_1);
}

cuzk_status cuzk__sector_replica_id(cuzk__sector *x, uint64_t miner) {
    uint8_t prover_id[32];
    cuzk_prover_id(prover_id, miner);
    return cuzk_replica_id(x->replica_id, prover_id, x->number, x->ticket, x->comm_d, x->porep_id);
}

cuzk_status cuzk__sector_challenges(cuzk__sector *x, const cuzk_seal_type *seal) {
    const size_t n = (size_t)x->partitions * x->c->challenges;
    CUZK_TRY(cuzk_alloc((void **)&x->challenges, n, sizeof *x->challenges));
    return cuzk_porep_challenges(x->challenges, 0, n, seal ? seal->rule : CUZK_POREP_INTERACTIVE,
                                 x->c->log2_nodes, x->replica_id, x->comm_r, x->seed);
}

/* ---- leaves of trees C and R ---- */

struct leaves_job {
    const cuzk__sector *x;
    const cuzk__tree_maker *m;
    const uint8_t *data; /* of tree R */
    uint8_t *out;
    _Atomic int status;
};

static void column_range(void *ctx, size_t begin, size_t end) {
    struct leaves_job *j = ctx;
    const uint32_t layers = j->x->c->layers;
    uint8_t column[CUZK_POREP_MAX_LAYERS * 32];
    for (size_t i = begin; i < end; i++) {
        cuzk__sector_column(column, j->x, i);
        const cuzk_status st = cuzk__tree_node(j->out + 32 * i, j->m->poseidon, layers, column);
        if (st != CUZK_OK) atomic_store(&j->status, (int)st);
    }
    if (j->m->progress) cuzk_progress_add(j->m->progress, end - begin);
}

static void encode_range(void *ctx, size_t begin, size_t end) {
    struct leaves_job *j = ctx;
    for (size_t i = begin; i < end; i++) {
        cuzk_u256 key, data;
        if (!cuzk__fr_read(&key, cuzk_labels_at(&j->x->labels, j->x->c->layers, i)) ||
            !cuzk__fr_read(&data, j->data + 32 * i)) {
            atomic_store(&j->status, CUZK_STATUS_BUG);
            return;
        }
        cuzk_bls12_381_fr_add(&key, &key, &data);
        cuzk__fr_write(j->out + 32 * i, &key);
    }
}

static cuzk_status make_leaves(uint8_t **out, struct leaves_job *j,
                               void (*range)(void *ctx, size_t begin, size_t end)) {
    const size_t nodes = (size_t)1 << j->x->c->log2_nodes;
    CUZK_TRY(cuzk_alloc((void **)out, nodes, 32));
    j->out = *out;
    cuzk_pool_run_ranges(j->m->pool, nodes, 64, 16, range, j);
    const cuzk_status st = (cuzk_status)atomic_load(&j->status);
    if (st != CUZK_OK) {
        cuzk_free(*out);
        *out = NULL;
    }
    return st;
}

cuzk_status cuzk__sector_seal(cuzk__sector *x, const cuzk_sector_spec *s,
                              const cuzk_porep_circuit *c, const cuzk_seal_type *seal,
                              uint64_t number, bool piece, const cuzk__tree_maker *m) {
    const cuzk_tree_shape d_shape = cuzk__tree_d_shape(c->log2_nodes);
    uint8_t *leaves;
    CUZK_TRY(cuzk__sector_begin(x, s, c, seal, number));
    CUZK_TRY(cuzk__data_nodes(&leaves, s, c->log2_nodes, number, "data", piece));
    CUZK_TRY(cuzk__tree_whole(&x->d, m, &d_shape, true, leaves, 0));
    memcpy(x->comm_d, cuzk__tree_root(&x->d), 32);
    CUZK_TRY(cuzk__sector_replica_id(x, s->miner));
    CUZK_TRY(
        cuzk_labels_make(&x->labels, &x->graph, c->layers, x->replica_id, m->pool, m->progress));

    struct leaves_job j = {.x = x, .m = m, .data = x->d.level[0].value};
    CUZK_TRY(make_leaves(&leaves, &j, column_range));
    CUZK_TRY(cuzk__tree_whole(&x->columns, m, &c->tree, false, leaves, 0));
    CUZK_TRY(make_leaves(&leaves, &j, encode_range));
    CUZK_TRY(cuzk__tree_whole(&x->replica, m, &c->tree, false, leaves, 0));
    memcpy(x->comm_c, cuzk__tree_root(&x->columns), 32);
    memcpy(x->comm_r_last, cuzk__tree_root(&x->replica), 32);
    return cuzk__comm_r(x->comm_r, m->poseidon, x->comm_c, x->comm_r_last);
}

void cuzk__sector_free(cuzk__sector *x) {
    cuzk__tree_free(&x->d);
    cuzk__tree_free(&x->columns);
    cuzk__tree_free(&x->replica);
    cuzk_labels_free(&x->labels);
    cuzk_free(x->opened);
    cuzk_free(x->column);
    cuzk_free(x->challenges);
    memset(x, 0, sizeof *x);
}

/* ---- opening ---- */

const uint8_t *cuzk__sector_label(const cuzk__sector *x, uint32_t layer, uint64_t node) {
    if (x->labels.data) return cuzk_labels_at(&x->labels, layer, node);
    size_t lo = 0, hi = x->n_opened;
    while (hi - lo > 1) {
        const size_t mid = lo + (hi - lo) / 2;
        if (x->opened[mid] <= node)
            lo = mid;
        else
            hi = mid;
    }
    return x->column + 32 * (lo * x->c->layers + layer - 1);
}

void cuzk__sector_column(uint8_t *out, const cuzk__sector *x, uint64_t node) {
    for (uint32_t l = 1; l <= x->c->layers; l++)
        memcpy(out + 32 * (size_t)(l - 1), cuzk__sector_label(x, l, node), 32);
}
