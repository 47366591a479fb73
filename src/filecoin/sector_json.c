/* The JSON forms of C1 outputs and requests. */
#include "base/mem.h"
#include "filecoin/c1.h"
#include "filecoin/sector_internal.h"

#include <stdio.h>

void cuzk__put_base64(cuzk_buf *b, const void *data, size_t n) {
    static const char digit[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    const uint8_t *p = data;
    char text[4 * 256];
    size_t len = 0;
    for (size_t i = 0; i < n; i += 3) {
        const size_t left = n - i;
        const uint32_t v = (uint32_t)p[i] << 16 | (left > 1 ? (uint32_t)p[i + 1] << 8 : 0) |
                           (left > 2 ? p[i + 2] : 0);
        text[len++] = digit[v >> 18];
        text[len++] = digit[v >> 12 & 63];
        text[len++] = left > 1 ? digit[v >> 6 & 63] : '=';
        text[len++] = left > 2 ? digit[v & 63] : '=';
        if (len == sizeof text || left <= 3) {
            cuzk_buf_append(b, text, len);
            len = 0;
        }
    }
}

/* ---- C1 ---- */

/* 32 bytes as a list of numbers. */
static void put_hash(cuzk_buf *b, const uint8_t h[32]) {
    char text[2 + 32 * 4];
    size_t n = 0;
    for (int i = 0; i < 32; i++) {
        const unsigned v = h[i];
        text[n++] = i ? ',' : '[';
        if (v >= 100) text[n++] = (char)('0' + v / 100);
        if (v >= 10) text[n++] = (char)('0' + v / 10 % 10);
        text[n++] = (char)('0' + v % 10);
    }
    text[n++] = ']';
    cuzk_buf_append(b, text, n);
}

static void put_member(cuzk_buf *b, const char *name, const uint8_t h[32]) {
    cuzk_buf_printf(b, "\"%s\":", name);
    put_hash(b, h);
}

static void put_hashes(cuzk_buf *b, const uint8_t *h, size_t n) {
    cuzk_buf_puts(b, "[");
    for (size_t i = 0; i < n; i++) {
        if (i) cuzk_buf_puts(b, ",");
        put_hash(b, h + 32 * i);
    }
    cuzk_buf_puts(b, "]");
}

static void put_path(cuzk_buf *b, const char *name, const cuzk_path_values *p,
                     const cuzk_tree_shape *t, uint32_t begin, uint32_t end) {
    cuzk_buf_printf(b, "\"%s\":{\"path\":[", name);
    for (uint32_t l = begin; l < end; l++) {
        cuzk_buf_puts(b, l > begin ? ",{\"hashes\":" : "{\"hashes\":");
        put_hashes(b, p->siblings[l], cuzk_tree_arity(t, l) - 1);
        cuzk_buf_printf(b, ",\"index\":%u}", p->index[l]);
    }
    cuzk_buf_puts(b, "]}");
}

static void put_proof(cuzk_buf *b, const char *name, const cuzk_merkle_proof *p,
                      const cuzk_tree_shape *t) {
    static const char *const tags[] = {"Single", "Sub", "Top"};
    const uint32_t tag = cuzk__tree_tag(t), base = t->base;
    cuzk_buf_printf(b, "\"%s\":{\"data\":{\"%s\":{", name, tags[tag]);
    if (tag > 0) {
        put_path(b, "base_proof", &p->path, t, 0, base);
        cuzk_buf_puts(b, ",");
        put_path(b, "sub_proof", &p->path, t, base, base + 1);
        cuzk_buf_puts(b, ",");
    }
    if (tag > 1) {
        put_path(b, "top_proof", &p->path, t, base + 1, base + 2);
        cuzk_buf_puts(b, ",");
    }
    put_member(b, "root", p->root);
    cuzk_buf_puts(b, ",");
    put_member(b, "leaf", p->leaf);
    if (tag == 0) {
        cuzk_buf_puts(b, ",");
        put_path(b, "path", &p->path, t, 0, cuzk_tree_levels(t));
    }
    cuzk_buf_puts(b, "}}}");
}

static void put_column(cuzk_buf *b, const cuzk_c1_column *c, const cuzk_porep_circuit *circuit) {
    cuzk_buf_printf(b, "{\"column\":{\"index\":%u,\"rows\":", c->index);
    put_hashes(b, c->rows, circuit->layers);
    cuzk_buf_puts(b, ",\"_h\":null},");
    put_proof(b, "inclusion_proof", &c->inclusion, &circuit->tree);
    cuzk_buf_puts(b, "}");
}

static void put_columns(cuzk_buf *b, const char *name, const cuzk_c1_column *c, int n,
                        const cuzk_porep_circuit *circuit) {
    cuzk_buf_printf(b, ",\"%s\":[", name);
    for (int i = 0; i < n; i++) {
        if (i) cuzk_buf_puts(b, ",");
        put_column(b, &c[i], circuit);
    }
    cuzk_buf_puts(b, "]");
}

static void put_label(cuzk_buf *b, const cuzk_c1_label *l) {
    cuzk_buf_puts(b, "{\"parents\":");
    put_hashes(b, l->parents, CUZK_C1_LABEL_PARENTS);
    cuzk_buf_printf(b, ",\"layer_index\":%u,\"node\":%llu}", l->layer, (unsigned long long)l->node);
}

static void put_challenge(cuzk_buf *b, const cuzk_c1_challenge *x, const cuzk_porep_circuit *c) {
    const cuzk_tree_shape d = cuzk__tree_d_shape(c->log2_nodes);
    cuzk_buf_puts(b, "{");
    put_proof(b, "comm_d_proofs", &x->data, &d);
    cuzk_buf_puts(b, ",");
    put_proof(b, "comm_r_last_proof", &x->replica, &c->tree);
    cuzk_buf_puts(b, ",\"replica_column_proofs\":{\"c_x\":");
    put_column(b, &x->own, c);
    put_columns(b, "drg_parents", x->parents, CUZK_POREP_DRG_PARENTS, c);
    put_columns(b, "exp_parents", x->parents + CUZK_POREP_DRG_PARENTS, CUZK_POREP_EXP_PARENTS, c);
    cuzk_buf_puts(b, "},\"labeling_proofs\":[");
    for (uint32_t l = 0; l < c->layers; l++) {
        if (l) cuzk_buf_puts(b, ",");
        put_label(b, &x->labels[l]);
    }
    cuzk_buf_puts(b, "],\"encoding_proof\":");
    put_label(b, &x->encoding);
    cuzk_buf_puts(b, "}");
}

cuzk_status cuzk__c1_to_json(cuzk_buf *out, const cuzk_buf *bincode, const cuzk_seal_type *seal,
                             cuzk_err *err) {
    cuzk_c1 *c1;
    cuzk_c1_challenge x;
    CUZK_TRY(cuzk_c1_from_memory(&c1, (const uint8_t *)bincode->data, bincode->len, "C1", err));
    const cuzk_porep_circuit *c = &c1->circuit->u.porep;
    cuzk_buf_printf(out, "{\"registered_proof\":\"%s\",\"vanilla_proofs\":{\"%s\":[", seal->name,
                    seal->tag);
    for (uint32_t k = 0; k < c1->partitions; k++) {
        cuzk_buf_puts(out, k ? ",[" : "[");
        for (uint32_t i = 0; i < c->challenges; i++) {
            if (i) cuzk_buf_puts(out, ",");
            cuzk_c1_challenge_at(c1, k, i, &x);
            put_challenge(out, &x, c);
        }
        cuzk_buf_puts(out, "]");
    }
    cuzk_buf_puts(out, "]},");
    const char *const names[] = {"comm_r", "comm_d", "replica_id", "seed", "ticket"};
    const uint8_t *const values[] = {c1->comm_r, c1->comm_d, c1->replica_id, c1->seed, c1->ticket};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        if (i) cuzk_buf_puts(out, ",");
        put_member(out, names[i], values[i]);
    }
    cuzk_buf_puts(out, "}");
    cuzk_c1_free(c1);
    return cuzk_buf_status(out);
}

/* ---- requests ---- */

void cuzk__request_begin(cuzk_buf *b, const cuzk_sector_spec *s, const char *kind,
                         uint64_t sector_size, uint32_t registered_proof) {
    cuzk_buf_puts(b, "{\n \"request_id\": ");
    cuzk_buf_json_str(b, s->circuit->name);
    cuzk_buf_printf(b,
                    ",\n \"proof_kind\": \"%s\",\n \"sector_size\": %llu,\n"
                    " \"registered_proof\": %u,\n \"vanilla_proofs\": [\n",
                    kind, (unsigned long long)sector_size, registered_proof);
}

void cuzk__request_blob(cuzk_buf *b, const cuzk_buf *blob, bool first) {
    cuzk_buf_puts(b, first ? "  \"" : ",\n  \"");
    cuzk__put_base64(b, blob->data, blob->len);
    cuzk_buf_puts(b, "\"");
    if (blob->failed) b->failed = true;
}

void cuzk__request_blobs_end(cuzk_buf *b) {
    cuzk_buf_puts(b, "\n ]");
}

void cuzk__request_value(cuzk_buf *b, const char *name, const uint8_t value[32]) {
    cuzk_buf_printf(b, ",\n \"%s\": \"", name);
    cuzk__put_base64(b, value, 32);
    cuzk_buf_puts(b, "\"");
}

void cuzk__request_number(cuzk_buf *b, const char *name, uint64_t value) {
    cuzk_buf_printf(b, ",\n \"%s\": %llu", name, (unsigned long long)value);
}

void cuzk__request_end(cuzk_buf *b) {
    cuzk_buf_puts(b, "\n}\n");
}
