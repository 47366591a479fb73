#include "filecoin/c1.h"

enum { LABEL_BYTES = 8 + 32 * CUZK_C1_LABEL_PARENTS + 4 + 8 };

void cuzk__c1_layout_of(cuzk__c1_layout *l, const cuzk_porep_circuit *c) {
    *l = (cuzk__c1_layout){.c = c, .d = {2, c->log2_nodes, 0, 0}};
    l->proof_d = cuzk__bin_proof_bytes(&l->d);
    l->proof_t = cuzk__bin_proof_bytes(&c->tree);
    l->column = 4 + 8 + 32 * (size_t)c->layers + l->proof_t;
    l->label = LABEL_BYTES;
    l->replica = l->proof_d;
    l->own = l->replica + l->proof_t;
    l->drg = l->own + l->column;
    l->exp = l->drg + 8 + CUZK_POREP_DRG_PARENTS * l->column;
    l->labels = l->exp + 8 + CUZK_POREP_EXP_PARENTS * l->column;
    l->encoding = l->labels + 8 + c->layers * l->label;
    l->proof = l->encoding + l->label;
}

size_t cuzk__c1_bytes(const cuzk__c1_layout *l, uint32_t partitions) {
    return 8 + partitions * (8 + l->c->challenges * l->proof) + (size_t)5 * 32;
}

static cuzk_status read_column(cuzk__bin *b, const cuzk__c1_layout *l, cuzk_c1_column *out,
                               const char *what, int64_t index) {
    cuzk__bin_enter(b, what, index);
    CUZK_TRY(cuzk__bin_u32(b, &out->index, "a column's index"));
    CUZK_TRY(cuzk__bin_count(b, l->c->layers, "rows of a column"));
    CUZK_TRY(cuzk__bin_hashes(b, &out->rows, l->c->layers, "a column's rows"));
    CUZK_TRY(cuzk__bin_proof(b, &out->inclusion, &l->c->tree, "inclusion_proof"));
    cuzk__bin_leave(b);
    return CUZK_OK;
}

static cuzk_status read_label(cuzk__bin *b, cuzk_c1_label *out, const char *what, int64_t index) {
    cuzk__bin_enter(b, what, index);
    CUZK_TRY(cuzk__bin_count(b, CUZK_C1_LABEL_PARENTS, "parents of a label"));
    CUZK_TRY(cuzk__bin_hashes(b, &out->parents, CUZK_C1_LABEL_PARENTS, "a label's parents"));
    CUZK_TRY(cuzk__bin_u32(b, &out->layer, "a layer_index"));
    CUZK_TRY(cuzk__bin_u64(b, &out->node, "a node"));
    cuzk__bin_leave(b);
    return CUZK_OK;
}

cuzk_status cuzk__c1_read_challenge(cuzk__bin *b, const cuzk__c1_layout *l,
                                    cuzk_c1_challenge *out) {
    CUZK_TRY(cuzk__bin_proof(b, &out->data, &l->d, "comm_d_proofs"));
    CUZK_TRY(cuzk__bin_proof(b, &out->replica, &l->c->tree, "comm_r_last_proof"));
    CUZK_TRY(read_column(b, l, &out->own, "c_x", -1));
    CUZK_TRY(cuzk__bin_count(b, CUZK_POREP_DRG_PARENTS, "drg_parents"));
    for (int i = 0; i < CUZK_POREP_DRG_PARENTS; i++)
        CUZK_TRY(read_column(b, l, &out->parents[i], "drg_parents", i));
    CUZK_TRY(cuzk__bin_count(b, CUZK_POREP_EXP_PARENTS, "exp_parents"));
    for (int i = 0; i < CUZK_POREP_EXP_PARENTS; i++)
        CUZK_TRY(read_column(b, l, &out->parents[CUZK_POREP_DRG_PARENTS + i], "exp_parents", i));
    CUZK_TRY(cuzk__bin_count(b, l->c->layers, "labeling_proofs"));
    for (uint32_t i = 0; i < l->c->layers; i++)
        CUZK_TRY(read_label(b, &out->labels[i], "labeling_proofs", i));
    return read_label(b, &out->encoding, "encoding_proof", -1);
}

/* The sector size shows in the first path, that of tree D. */
static cuzk_status find_circuit(cuzk_c1 *c, cuzk__bin *b) {
    cuzk__bin at = *b;
    const uint8_t *skipped;
    uint64_t levels;
    uint32_t tag;
    CUZK_TRY(cuzk__bin_u64(&at, &levels, "the number of challenges"));
    CUZK_TRY(cuzk__bin_u32(&at, &tag, "a Merkle proof"));
    CUZK_TRY(cuzk__bin_hashes(&at, &skipped, 2, "root and leaf"));
    const size_t off = at.c.off;
    CUZK_TRY(cuzk__bin_u64(&at, &levels, "a path"));
    c->circuit = levels < 64 ? cuzk_porep_circuit_of((uint32_t)levels) : NULL;
    if (c->circuit) return CUZK_OK;
    return cuzk__bin_fail(b, off,
                          "expected the levels of tree D (6 for 2 KiB, 18, 24, 30 for 32 GiB, 31), "
                          "actual %llu: neither JSON nor a C1 in bincode",
                          (unsigned long long)levels);
}

/* As many partitions as some registered proof of this size has. */
static bool known_partitions(const cuzk_c1 *c, uint64_t partitions) {
    const bool large = c->circuit->u.porep.challenges > 2;
    return partitions == (large ? 10 : 1) || partitions == (large ? 126 : 13);
}

cuzk_status cuzk__c1_from_bincode(cuzk_c1 *c, const uint8_t *data, size_t len, cuzk_err *err) {
    cuzk__bin b = cuzk__bin_init(data, len, c->name, err);
    cuzk__c1_layout l;
    cuzk_c1_challenge x;
    uint64_t partitions;
    CUZK_TRY(cuzk__bin_u64(&b, &partitions, "the number of partitions"));
    CUZK_TRY(find_circuit(c, &b));
    if (!known_partitions(c, partitions))
        return cuzk__bin_fail(&b, 0,
                              "expected the partitions of a registered proof of %s, actual %llu",
                              c->circuit->name, (unsigned long long)partitions);
    c->partitions = (uint32_t)partitions;
    cuzk__c1_layout_of(&l, &c->circuit->u.porep);
    for (uint32_t p = 0; p < c->partitions; p++) {
        cuzk__bin_enter(&b, "partition", p);
        CUZK_TRY(cuzk__bin_count(&b, l.c->challenges, "challenges"));
        for (uint32_t i = 0; i < l.c->challenges; i++) {
            cuzk__bin_enter(&b, "challenge", i);
            CUZK_TRY(cuzk__c1_read_challenge(&b, &l, &x));
            cuzk__bin_leave(&b);
        }
        cuzk__bin_leave(&b);
    }
    const uint8_t *tail;
    CUZK_TRY(cuzk__bin_hashes(&b, &tail, 5, "comm_r, comm_d, replica_id, seed, ticket"));
    CUZK_TRY(cuzk__bin_end(&b));
    c->data = data;
    c->len = len;
    c->proof_bytes = l.proof;
    return cuzk__c1_commitments(c, err);
}

void cuzk_c1_challenge_at(const cuzk_c1 *c, uint32_t partition, uint32_t i,
                          cuzk_c1_challenge *out) {
    cuzk__c1_layout l;
    cuzk__c1_layout_of(&l, &c->circuit->u.porep);
    const size_t off = 8 + partition * (8 + l.c->challenges * l.proof) + 8 + i * l.proof;
    cuzk__bin b = cuzk__bin_init(c->data + off, l.proof, c->name, NULL);
    /* every length was checked when it was opened */
    (void)!cuzk__c1_read_challenge(&b, &l, out);
}
