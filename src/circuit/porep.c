#include "circuit/circuits.h"

enum {
    PARENTS = CUZK_POREP_DRG_PARENTS + CUZK_POREP_EXP_PARENTS,
    LABEL_PARENTS = 37, /* parents hashed into a label, with repetitions */
    LABEL_BITS = 512 + 256 * LABEL_PARENTS,
};

/* The wires of one partition that every challenge uses. */
struct common {
    cuzk_wire comm_d, comm_r_last, comm_c;
    cuzk_bit replica_id[256]; /* as SHA-256 reads it */
};

static cuzk_wire alloc_free(cuzk_cs *cs) {
    return cuzk_cs_alloc(cs, CUZK_CLASS_FULL | CUZK_CLASS_FREE);
}

static cuzk_wire public_value(cuzk_cs *cs) {
    const cuzk_wire w = alloc_free(cs);
    cuzk_gadget_inputize(cs, w);
    return w;
}

/* A number's bits as 32 bytes for SHA-256. */
static void hash_bits(cuzk_cs *cs, cuzk_wire n, cuzk_bit out[256]) {
    cuzk_gadget_to_bits(cs, n, out);
    out[255] = CUZK_BIT_FALSE;
    cuzk_gadget_reverse_bytes(out, out, 256);
}

static cuzk_wire column_hash(cuzk_cs *cs, uint32_t layers, const cuzk_wire *column) {
    return cuzk_gadget_poseidon(cs, layers, cuzk_poseidon_tree_tag(layers), column);
}

static void prologue(cuzk_cs *cs, struct common *m) {
    cuzk_cs_push(cs, "public values", CUZK_R1CS_NONE);
    hash_bits(cs, public_value(cs), m->replica_id);
    m->comm_d = public_value(cs);
    const cuzk_wire comm_r = public_value(cs);
    cuzk_wire roots[2];
    m->comm_r_last = alloc_free(cs);
    m->comm_c = alloc_free(cs);
    roots[0] = m->comm_c;
    roots[1] = m->comm_r_last;
    cuzk_gadget_equal(cs, comm_r, cuzk_gadget_poseidon(cs, 2, cuzk_poseidon_tree_tag(2), roots));
    cuzk_cs_pop(cs);
}

/* The column of a parent, all layers, shown to be in tree C. */
static void parent_column(cuzk_cs *cs, const cuzk_porep_circuit *c, const struct common *m,
                          cuzk_wire column[CUZK_POREP_MAX_LAYERS]) {
    cuzk_cs_push(cs, "column", CUZK_R1CS_NONE);
    for (uint32_t l = 0; l < c->layers; l++)
        column[l] = alloc_free(cs);
    const cuzk_wire leaf = column_hash(cs, c->layers, column);
    cuzk_cs_pop(cs);
    cuzk_cs_push(cs, "tree C", CUZK_R1CS_NONE);
    cuzk_gadget_por_poseidon(cs, &c->tree, leaf, m->comm_c);
    cuzk_cs_pop(cs);
}

/* SHA-256(replica_id, layer, challenge, 37 parents) as a number. */
static cuzk_wire create_label(cuzk_cs *cs, const struct common *m, uint32_t layer,
                              const cuzk_bit challenge[64], const cuzk_bit parents[][256],
                              uint32_t n_parents) {
    cuzk_bit msg[LABEL_BITS], digest[256];
    memcpy(msg, m->replica_id, sizeof m->replica_id);
    for (uint32_t i = 0; i < 32; i++)
        msg[256 + i] = cuzk_bit_const(layer >> (31 - i) & 1);
    for (uint32_t i = 0; i < 64; i++)
        msg[288 + i] = challenge[63 - i];
    for (uint32_t i = 352; i < 512; i++)
        msg[i] = CUZK_BIT_FALSE;
    for (uint32_t p = 0; p < LABEL_PARENTS; p++)
        memcpy(msg + 512 + 256 * p, parents[p % n_parents], sizeof parents[0]);
    cuzk_gadget_sha256(cs, msg, LABEL_BITS, digest);
    cuzk_gadget_reverse_bytes(digest, digest, 256);
    return cuzk_gadget_pack(cs, digest, 254);
}

/* One layer's label from the parents' labels. */
static cuzk_wire label(cuzk_cs *cs, const struct common *m, uint32_t layer,
                       const cuzk_bit challenge[64],
                       const cuzk_wire columns[PARENTS][CUZK_POREP_MAX_LAYERS]) {
    cuzk_bit bits[PARENTS][256];
    const uint32_t n = layer == 1 ? CUZK_POREP_DRG_PARENTS : PARENTS;
    for (uint32_t p = 0; p < n; p++) {
        const uint32_t row = p < CUZK_POREP_DRG_PARENTS ? layer - 1 : layer - 2;
        cuzk_cs_push(cs, "parent", p);
        hash_bits(cs, columns[p][row], bits[p]);
        cuzk_cs_pop(cs);
    }
    return create_label(cs, m, layer, challenge, (const cuzk_bit(*)[256])bits, n);
}

static void challenge_paths(cuzk_cs *cs, const cuzk_porep_circuit *c, const struct common *m,
                            cuzk_wire *leaf, cuzk_wire columns[PARENTS][CUZK_POREP_MAX_LAYERS]) {
    *leaf = alloc_free(cs);
    cuzk_cs_push(cs, "tree D", CUZK_R1CS_NONE);
    cuzk_gadget_por_sha(cs, c->log2_nodes, *leaf, m->comm_d);
    cuzk_cs_pop(cs);
    for (uint32_t p = 0; p < PARENTS; p++) {
        const bool drg = p < CUZK_POREP_DRG_PARENTS;
        cuzk_cs_push(cs, drg ? "drg parent" : "exp parent", drg ? p : p - CUZK_POREP_DRG_PARENTS);
        parent_column(cs, c, m, columns[p]);
        cuzk_cs_pop(cs);
    }
}

static void prove_challenge(cuzk_cs *cs, const cuzk_porep_circuit *c, const struct common *m) {
    cuzk_wire leaf, columns[PARENTS][CUZK_POREP_MAX_LAYERS], labels[CUZK_POREP_MAX_LAYERS];
    cuzk_bit challenge[64];
    memset(columns, 0, sizeof columns);
    challenge_paths(cs, c, m, &leaf, columns);
    cuzk_cs_push(cs, "index", CUZK_R1CS_NONE);
    for (int i = 0; i < 64; i++)
        challenge[i] = cuzk_gadget_alloc_bit(cs, CUZK_CLASS_FREE);
    cuzk_gadget_pack_inputs(cs, challenge, 64);
    cuzk_cs_pop(cs);
    for (uint32_t l = 1; l <= c->layers; l++) {
        cuzk_cs_push(cs, "label", l);
        labels[l - 1] =
            label(cs, m, l, challenge, (const cuzk_wire(*)[CUZK_POREP_MAX_LAYERS])columns);
        cuzk_cs_pop(cs);
    }
    cuzk_cs_push(cs, "tree R", CUZK_R1CS_NONE);
    const cuzk_wire encoded = cuzk_gadget_add(cs, labels[c->layers - 1], leaf);
    cuzk_gadget_por_poseidon(cs, &c->tree, encoded, m->comm_r_last);
    cuzk_cs_pop(cs);
    cuzk_cs_push(cs, "own column", CUZK_R1CS_NONE);
    const cuzk_wire column = column_hash(cs, c->layers, labels);
    cuzk_gadget_por_poseidon(cs, &c->tree, column, m->comm_c);
    cuzk_cs_pop(cs);
}

void cuzk_porep_build(cuzk_cs *cs, const cuzk_porep_circuit *c) {
    struct common m;
    prologue(cs, &m);
    for (uint32_t i = 0; i < c->challenges; i++) {
        cuzk_cs_push(cs, "challenge", i);
        prove_challenge(cs, c, &m);
        cuzk_cs_pop(cs);
    }
}
