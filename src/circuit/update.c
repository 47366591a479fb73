#include "circuit/circuits.h"

#include "field/fields.h"

enum { H_CHOICES = 6, MAX_BITS = 64, MAX_APEX = 128 };

/* The wires of a partition that every challenge uses. */
struct common {
    cuzk_wire comm_d_new, root_r_old, root_r_new, phi;
    cuzk_wire apex[MAX_APEX];
    cuzk_bit k[MAX_BITS], h[H_CHOICES];
};

static cuzk_wire alloc_free(cuzk_cs *cs) {
    return cuzk_cs_alloc(cs, CUZK_CLASS_FULL | CUZK_CLASS_FREE);
}

static cuzk_wire public_value(cuzk_cs *cs) {
    const cuzk_wire w = alloc_free(cs);
    cuzk_gadget_inputize(cs, w);
    return w;
}

/* Poseidon of two with the custom tag 1. */
static cuzk_wire tagged_hash(cuzk_cs *cs, cuzk_wire a, cuzk_wire b) {
    const cuzk_wire in[2] = {a, b};
    return cuzk_gadget_poseidon(cs, 2, CUZK_POSEIDON_TAG_CUSTOM_1, in);
}

static void check_comm_r(cuzk_cs *cs, cuzk_wire comm_c, cuzk_wire root_r, cuzk_wire comm_r) {
    const cuzk_wire in[2] = {comm_c, root_r};
    cuzk_gadget_equal(cs, cuzk_gadget_poseidon(cs, 2, cuzk_poseidon_tree_tag(2), in), comm_r);
}

/* n bits of a number with (sum 2^i b_i) ONE = number. */
static void bits_of(cuzk_cs *cs, cuzk_wire w, cuzk_bit *bits, uint32_t n) {
    cuzk_flat_term t[255];
    const cuzk_flat_term one = {CUZK_WIRE_ONE, CUZK_COEF_ONE}, c = {w, CUZK_COEF_ONE};
    cuzk_cs_bits_of(cs, n, &c, 1);
    for (uint32_t i = 0; i < n; i++) {
        bits[i] = cuzk_gadget_alloc_bit(cs, 0);
        t[i] = (cuzk_flat_term){bits[i], CUZK_COEF_POW2(i)};
    }
    cuzk_cs_row(cs, t, n, &one, 1, &c, 1);
}

static uint32_t small_coef(cuzk_cs *cs, uint64_t v) {
    cuzk_u256 x;
    uint32_t id = 0;
    cuzk_bls12_381_fr_from_u64(&x, v);
    if (cuzk_coefs_id(&cs->coefs, &x, &id) != CUZK_OK)
        cuzk_cs_fail(cs, CUZK_STATUS_NO_MEMORY, "coefficient dictionary");
    return id;
}

/* The apex leaves belong to comm_d_new: up their tree, then by the partition's path. */
static void check_apex(cuzk_cs *cs, const cuzk_update_circuit *c, const struct common *m,
                       const cuzk_wire *siblings) {
    cuzk_wire row[MAX_APEX];
    memcpy(row, m->apex, sizeof row);
    cuzk_cs_push(cs, "apex tree", CUZK_R1CS_NONE);
    for (uint32_t n = 1u << c->log2_apex; n > 1; n /= 2)
        for (uint32_t i = 0; i < n / 2; i++)
            row[i] = cuzk_gadget_sha_node(cs, row[2 * i], row[2 * i + 1]);
    cuzk_cs_pop(cs);
    cuzk_cs_push(cs, "partition path", CUZK_R1CS_NONE);
    cuzk_wire cur = row[0];
    for (uint32_t l = 0; l < c->log2_partitions; l++) {
        cuzk_wire children[2];
        cuzk_gadget_insert(cs, 2, cur, &siblings[l], &m->k[l], children);
        cur = cuzk_gadget_sha_node(cs, children[0], children[1]);
    }
    cuzk_gadget_equal(cs, cur, m->comm_d_new);
    cuzk_cs_pop(cs);
}

/* Everything before the challenges; returns comm_r_new and the partition's number. */
static void prologue(cuzk_cs *cs, const cuzk_update_circuit *c, struct common *m,
                     cuzk_wire *comm_r_new, cuzk_wire *partition) {
    cuzk_bit kh[MAX_BITS];
    cuzk_wire siblings[MAX_BITS];
    const uint32_t k_bits = c->log2_partitions;
    const cuzk_wire k_and_h = public_value(cs);
    bits_of(cs, k_and_h, kh, k_bits + H_CHOICES);
    memcpy(m->k, kh, k_bits * sizeof *kh);
    memcpy(m->h, kh + k_bits, sizeof m->h);
    if (!c->poseidon) *partition = cuzk_gadget_pack(cs, m->k, k_bits);
    const cuzk_wire comm_r_old = public_value(cs);
    m->comm_d_new = public_value(cs);
    *comm_r_new = public_value(cs);
    m->phi = tagged_hash(cs, m->comm_d_new, comm_r_old);
    const cuzk_wire comm_c = alloc_free(cs);
    m->root_r_old = alloc_free(cs);
    m->root_r_new = alloc_free(cs);
    if (!c->poseidon) {
        for (uint32_t i = 0; i < 1u << c->log2_apex; i++)
            m->apex[i] = alloc_free(cs);
        for (uint32_t i = 0; i < k_bits; i++)
            siblings[i] = alloc_free(cs);
    }
    check_comm_r(cs, comm_c, m->root_r_old, comm_r_old);
    check_comm_r(cs, comm_c, m->root_r_new, *comm_r_new);
    if (c->poseidon)
        *partition = alloc_free(cs);
    else
        check_apex(cs, c, m, siblings);
}

/* The leaf is in a tree of the given shape; siblings are allocated here, all before the rows. */
static void poseidon_path(cuzk_cs *cs, const cuzk_tree_shape *t, cuzk_wire leaf,
                          const cuzk_bit *bits, cuzk_wire root) {
    cuzk_wire siblings[16 * 7];
    uint32_t n = 0;
    for (uint32_t l = 0; l < cuzk_tree_levels(t); l++)
        for (uint32_t i = 1; i < cuzk_tree_arity(t, l); i++)
            siblings[n++] = alloc_free(cs);
    n = 0;
    for (uint32_t l = 0; l < cuzk_tree_levels(t); l++) {
        const uint32_t arity = cuzk_tree_arity(t, l);
        cuzk_cs_push(cs, "level", l);
        leaf = cuzk_gadget_level_with(cs, arity, leaf, bits, siblings + n);
        cuzk_cs_pop(cs);
        n += arity - 1;
        bits += __builtin_ctz(arity);
    }
    cuzk_gadget_equal(cs, leaf, root);
}

/* The new data leaf is below its apex leaf, which the bits under the partition's select. */
static void apex_path(cuzk_cs *cs, const cuzk_update_circuit *c, const struct common *m,
                      cuzk_wire leaf, const cuzk_bit *bits) {
    cuzk_wire pool[MAX_APEX], siblings[MAX_BITS];
    const uint32_t lower = c->log2_nodes - c->log2_partitions - c->log2_apex;
    memcpy(pool, m->apex, sizeof pool);
    for (uint32_t b = c->log2_apex; b-- > 0;)
        for (uint32_t j = 0; j < 1u << b; j++)
            pool[j] = cuzk_gadget_pick(cs, bits[lower + b], pool[(1u << b) + j], pool[j]);
    for (uint32_t l = 0; l < lower; l++)
        siblings[l] = alloc_free(cs);
    for (uint32_t l = 0; l < lower; l++) {
        cuzk_wire children[2];
        cuzk_cs_push(cs, "level", l);
        cuzk_gadget_insert(cs, 2, leaf, &siblings[l], &bits[l], children);
        leaf = cuzk_gadget_sha_node(cs, children[0], children[1]);
        cuzk_cs_pop(cs);
    }
    cuzk_gadget_equal(cs, leaf, pool[0]);
}

/* The number made of the h top bits, for the h that was selected. */
static cuzk_wire high_bits(cuzk_cs *cs, const cuzk_update_circuit *c, const struct common *m,
                           const cuzk_bit *bits) {
    cuzk_flat_term z[H_CHOICES];
    for (uint32_t i = 0; i < H_CHOICES; i++) {
        const cuzk_wire high = cuzk_gadget_pack(cs, bits + c->log2_nodes - c->h[i], c->h[i]);
        z[i] = (cuzk_flat_term){cuzk_gadget_mul(cs, high, m->h[i]), CUZK_COEF_ONE};
    }
    const cuzk_flat_term one = {CUZK_WIRE_ONE, CUZK_COEF_ONE};
    const cuzk_flat_term sum = {cuzk_cs_alloc(cs, CUZK_CLASS_FULL), CUZK_COEF_ONE};
    cuzk_cs_row(cs, z, H_CHOICES, &one, 1, &sum, 1);
    return sum.wire;
}

static void prove_challenge(cuzk_cs *cs, const cuzk_update_circuit *c, const struct common *m,
                            const cuzk_bit *bits) {
    cuzk_cs_push(cs, "encoding", CUZK_R1CS_NONE);
    const cuzk_wire rho = tagged_hash(cs, m->phi, high_bits(cs, c, m, bits));
    const cuzk_wire leaf_old = alloc_free(cs);
    const cuzk_wire leaf_d = alloc_free(cs);
    const cuzk_wire product = cuzk_gadget_mul(cs, leaf_d, rho);
    const cuzk_wire leaf_new = cuzk_gadget_add(cs, leaf_old, product);
    cuzk_cs_pop(cs);
    cuzk_cs_push(cs, "tree R old", CUZK_R1CS_NONE);
    poseidon_path(cs, &c->tree, leaf_old, bits, m->root_r_old);
    cuzk_cs_pop(cs);
    cuzk_cs_push(cs, "tree R new", CUZK_R1CS_NONE);
    poseidon_path(cs, &c->tree, leaf_new, bits, m->root_r_new);
    cuzk_cs_pop(cs);
    cuzk_cs_push(cs, "tree D", CUZK_R1CS_NONE);
    if (c->poseidon)
        poseidon_path(cs, &c->tree, leaf_d, bits, m->comm_d_new);
    else
        apex_path(cs, c, m, leaf_d, bits);
    cuzk_cs_pop(cs);
}

/* Digest j of the partition: 255 bits of H(comm_r_new, D partition + j). */
static void challenge_digest(cuzk_cs *cs, cuzk_wire comm_r_new, cuzk_wire partition,
                             uint32_t n_digests, uint32_t j, cuzk_bit bits[255]) {
    cuzk_flat_term t[2] = {{partition, small_coef(cs, n_digests)}};
    if (j) t[1] = (cuzk_flat_term){CUZK_WIRE_ONE, small_coef(cs, j)};
    const cuzk_flat_term one = {CUZK_WIRE_ONE, CUZK_COEF_ONE};
    const cuzk_flat_term index = {cuzk_cs_alloc(cs, CUZK_CLASS_FULL), CUZK_COEF_ONE};
    cuzk_cs_row(cs, t, j ? 2 : 1, &one, 1, &index, 1);
    bits_of(cs, tagged_hash(cs, comm_r_new, index.wire), bits, 255);
}

void cuzk_update_build(cuzk_cs *cs, const cuzk_update_circuit *c) {
    struct common m;
    cuzk_wire comm_r_new = CUZK_WIRE_ONE, partition = CUZK_WIRE_ONE;
    cuzk_vec bits;
    const uint32_t per_challenge = c->log2_nodes - c->log2_partitions;
    const uint32_t per_digest = 254 / per_challenge;
    const uint32_t n_digests = (c->challenges + per_digest - 1) / per_digest;
    memset(&m, 0, sizeof m);
    cuzk_vec_init(&bits, sizeof(cuzk_bit));
    cuzk_bit *all = cuzk_vec_grow(&bits, 255 * (size_t)n_digests);
    if (!all) {
        cuzk_cs_fail(cs, CUZK_STATUS_NO_MEMORY, "challenge bits");
        return;
    }
    cuzk_cs_push(cs, "public values", CUZK_R1CS_NONE);
    prologue(cs, c, &m, &comm_r_new, &partition);
    cuzk_cs_pop(cs);
    for (uint32_t j = 0; j < n_digests; j++) {
        cuzk_cs_push(cs, "challenge digest", j);
        challenge_digest(cs, comm_r_new, partition, n_digests, j, all + 255 * (size_t)j);
        cuzk_cs_pop(cs);
    }
    for (uint32_t i = 0; i < c->challenges; i++) {
        cuzk_bit one[MAX_BITS];
        memcpy(one, all + 255 * (size_t)(i / per_digest) + (i % per_digest) * per_challenge,
               per_challenge * sizeof *one);
        memcpy(one + per_challenge, m.k, c->log2_partitions * sizeof *one);
        cuzk_cs_push(cs, "challenge", i);
        prove_challenge(cs, c, &m, one);
        cuzk_cs_pop(cs);
    }
    cuzk_vec_free(&bits);
}
