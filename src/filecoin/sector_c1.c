/* C1 outputs in bincode. */
#include "filecoin/fr.h"
#include "filecoin/sector_internal.h"

static void put_column(cuzk_buf *b, const cuzk__sector *x, uint64_t node) {
    uint8_t column[CUZK_POREP_MAX_LAYERS * 32];
    cuzk__sector_column(column, x, node);
    cuzk__put_u32(b, (uint32_t)node);
    cuzk__put_u64(b, x->c->layers);
    cuzk_buf_append(b, column, 32 * (size_t)x->c->layers);
    cuzk__tree_open(&x->columns, node, b);
}

static void put_columns(cuzk_buf *b, const cuzk__sector *x, const uint32_t *nodes, size_t n) {
    cuzk__put_u64(b, n);
    for (size_t i = 0; i < n; i++)
        put_column(b, x, nodes[i]);
}

static void put_label(cuzk_buf *b, const cuzk__sector *x, uint32_t layer, uint64_t node,
                      const uint32_t parents[CUZK_GRAPH_PARENTS]) {
    const uint8_t *from[CUZK_GRAPH_PARENTS];
    uint8_t inputs[CUZK_LABEL_HASHED * 32];
    const int used = layer == 1 ? CUZK_GRAPH_DRG : CUZK_GRAPH_PARENTS;
    for (int k = 0; k < used; k++)
        from[k] = cuzk__sector_label(x, k < CUZK_GRAPH_DRG ? layer : layer - 1, parents[k]);
    cuzk_label_inputs(inputs, layer, from);
    cuzk__put_u64(b, CUZK_LABEL_HASHED);
    cuzk_buf_append(b, inputs, sizeof inputs);
    cuzk__put_u32(b, layer);
    cuzk__put_u64(b, node);
}

static void put_challenge(cuzk_buf *b, const cuzk__sector *x, uint64_t node) {
    uint32_t parents[CUZK_GRAPH_PARENTS];
    cuzk_graph_parents(&x->graph, (uint32_t)node, parents);
    cuzk__tree_open(&x->d, node, b);
    cuzk__tree_open(&x->replica, node, b);
    put_column(b, x, node);
    put_columns(b, x, parents, CUZK_GRAPH_DRG);
    put_columns(b, x, parents + CUZK_GRAPH_DRG, CUZK_GRAPH_EXP);
    cuzk__put_u64(b, x->c->layers);
    for (uint32_t l = 1; l <= x->c->layers; l++)
        put_label(b, x, l, node, parents);
    put_label(b, x, x->c->layers, node, parents); /* encoding_proof */
}

static void put_c1(cuzk_buf *b, const cuzk__sector *x) {
    cuzk__put_u64(b, x->partitions);
    for (uint32_t k = 0; k < x->partitions; k++) {
        cuzk__put_u64(b, x->c->challenges);
        for (uint32_t i = 0; i < x->c->challenges; i++)
            put_challenge(b, x, x->challenges[(size_t)k * x->c->challenges + i]);
    }
    cuzk__put_hash(b, x->comm_r);
    cuzk__put_hash(b, x->comm_d);
    cuzk__put_hash(b, x->replica_id);
    cuzk__put_hash(b, x->seed);
    cuzk__put_hash(b, x->ticket);
}

/* From bincode to the form that was asked for. */
static cuzk_status translate(cuzk_buf *out, const cuzk_buf *bin, const cuzk_sector_spec *s,
                             cuzk_c1_format format, cuzk_err *err) {
    if (format == CUZK_C1_JSON) return cuzk__c1_to_json(out, bin, s->seal, err);
    cuzk_buf json = CUZK_BUF_INIT;
    cuzk_status st = cuzk__c1_to_json(&json, bin, s->seal, err);
    if (st == CUZK_OK) {
        cuzk_buf_printf(out, "{\"SectorNum\":%llu,\"Phase1Out\":\"", (unsigned long long)s->sector);
        cuzk__put_base64(out, json.data, json.len);
        cuzk_buf_printf(out, "\",\"SectorSize\":%llu}", (unsigned long long)s->seal->sector_size);
        st = cuzk_buf_status(out);
    }
    cuzk_buf_free(&json);
    return st;
}

cuzk_status cuzk__make_c1(cuzk_buf *out, const cuzk_sector_spec *s, const cuzk__tree_maker *m,
                          cuzk_c1_format format, cuzk_err *err) {
    const cuzk_porep_circuit *c = &s->circuit->u.porep;
    cuzk__sector x = {0};
    cuzk_buf bin = CUZK_BUF_INIT;
    cuzk_status st;
    if (s->synthetic) {
        CUZK_TRY_GOTO(cuzk__sector_sparse(&x, s, m), out);
    } else {
        CUZK_TRY_GOTO(cuzk__sector_seal(&x, s, c, s->seal, s->sector, true, m), out);
        CUZK_TRY_GOTO(cuzk__sector_challenges(&x, s->seal), out);
    }
    cuzk_buf *b = format == CUZK_C1_BINCODE ? out : &bin;
    put_c1(b, &x);
    CUZK_TRY_GOTO(cuzk_buf_status(b), out);
    if (format != CUZK_C1_BINCODE) st = translate(out, &bin, s, format, err);
out:
    cuzk_buf_free(&bin);
    cuzk__sector_free(&x);
    return st;
}
