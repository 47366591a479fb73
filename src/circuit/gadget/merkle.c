#include "circuit/gadgets.h"

static cuzk_wire pick(cuzk_cs *cs, cuzk_bit cond, cuzk_wire a, cuzk_wire b) {
    return cuzk_gadget_pick(cs, cond, a, b);
}

static void insert4(cuzk_cs *cs, cuzk_wire a, const cuzk_wire *sib, const cuzk_bit *bit,
                    cuzk_wire *out) {
    const cuzk_wire b = sib[0], c = sib[1], d = sib[2];
    out[0] = pick(cs, bit[1], b, pick(cs, bit[0], b, a));
    out[1] = pick(cs, bit[1], c, pick(cs, bit[0], a, b));
    out[2] = pick(cs, bit[1], pick(cs, bit[0], d, a), c);
    out[3] = pick(cs, bit[1], pick(cs, bit[0], a, d), d);
}

static void insert8(cuzk_cs *cs, cuzk_wire a, const cuzk_wire *sib, const cuzk_bit *bit,
                    cuzk_wire *out) {
    const cuzk_wire b = sib[0], c = sib[1], d = sib[2], e = sib[3], f = sib[4], g = sib[5],
                    h = sib[6];
    const cuzk_bit b0 = bit[0], b1 = bit[1], b2 = bit[2];
    const cuzk_bit nor = cuzk_gadget_and(cs, cuzk_bit_not(b0), cuzk_bit_not(b1));
    const cuzk_bit and = cuzk_gadget_and(cs, b0, b1);
    out[0] = pick(cs, b2, b, pick(cs, nor, a, b));
    out[1] = pick(cs, b2, c, pick(cs, b1, c, pick(cs, b0, a, b)));
    out[2] = pick(cs, b2, d, pick(cs, b1, pick(cs, b0, d, a), c));
    out[3] = pick(cs, b2, e, pick(cs, and, a, d));
    out[4] = pick(cs, b2, pick(cs, nor, a, f), e);
    out[5] = pick(cs, b2, pick(cs, b1, g, pick(cs, b0, a, f)), f);
    out[6] = pick(cs, b2, pick(cs, b1, pick(cs, b0, h, a), g), g);
    out[7] = pick(cs, b2, pick(cs, and, a, h), h);
}

void cuzk_gadget_insert(cuzk_cs *cs, uint32_t arity, cuzk_wire cur, const cuzk_wire *siblings,
                        const cuzk_bit *bits, cuzk_wire *out) {
    if (arity == 2) {
        out[0] = pick(cs, bits[0], siblings[0], cur);
        out[1] = pick(cs, bits[0], cur, siblings[0]);
    } else if (arity == 4) {
        insert4(cs, cur, siblings, bits, out);
    } else {
        insert8(cs, cur, siblings, bits, out);
    }
}

cuzk_wire cuzk_gadget_sha_node(cuzk_cs *cs, cuzk_wire left, cuzk_wire right) {
    cuzk_bit msg[512], digest[256];
    cuzk_gadget_to_bits(cs, left, msg);
    msg[255] = CUZK_BIT_FALSE;
    cuzk_gadget_to_bits(cs, right, msg + 256);
    msg[511] = CUZK_BIT_FALSE;
    cuzk_gadget_reverse_bytes(msg, msg, 512);
    cuzk_gadget_sha256(cs, msg, 512, digest);
    cuzk_gadget_reverse_bytes(digest, digest, 256);
    return cuzk_gadget_pack(cs, digest, 254);
}

static uint32_t log2_arity(uint32_t arity) {
    return (uint32_t)__builtin_ctz(arity);
}

static cuzk_wire insert_and_hash(cuzk_cs *cs, uint32_t arity, cuzk_wire cur, const cuzk_bit *bits,
                                 const cuzk_wire *siblings) {
    cuzk_wire children[8];
    cuzk_cs_push(cs, "insert", CUZK_R1CS_NONE);
    cuzk_gadget_insert(cs, arity, cur, siblings, bits, children);
    cuzk_cs_pop(cs);
    cuzk_cs_push(cs, "hash", CUZK_R1CS_NONE);
    cur = cuzk_gadget_poseidon(cs, arity, cuzk_poseidon_tree_tag(arity), children);
    cuzk_cs_pop(cs);
    return cur;
}

static void level_body(cuzk_cs *cs, const void *params, const uint32_t *in, uint32_t *out) {
    const uint32_t arity = *(const uint32_t *)params, n_bits = log2_arity(arity);
    cuzk_wire siblings[7];
    for (uint32_t i = 0; i < n_bits; i++)
        out[1 + i] = cuzk_gadget_alloc_bit(cs, CUZK_CLASS_FREE);
    for (uint32_t i = 0; i + 1 < arity; i++)
        siblings[i] = cuzk_cs_alloc(cs, CUZK_CLASS_FULL | CUZK_CLASS_FREE);
    out[0] = insert_and_hash(cs, arity, in[0], out + 1, siblings);
}

cuzk_wire cuzk_gadget_level(cuzk_cs *cs, uint32_t arity, cuzk_wire cur, cuzk_bit *bits) {
    static const cuzk_gadget g = {"tree level", level_body};
    const uint32_t n_bits = log2_arity(arity);
    uint32_t out[4];
    cuzk_cs_call(cs, &g, &arity, sizeof arity, &cur, 1, out, 1 + n_bits);
    memcpy(bits, out + 1, n_bits * sizeof *bits);
    return out[0];
}

static void level_with_body(cuzk_cs *cs, const void *params, const uint32_t *in, uint32_t *out) {
    const uint32_t arity = *(const uint32_t *)params;
    out[0] = insert_and_hash(cs, arity, in[0], in + 1, in + 1 + log2_arity(arity));
}

cuzk_wire cuzk_gadget_level_with(cuzk_cs *cs, uint32_t arity, cuzk_wire cur, const cuzk_bit *bits,
                                 const cuzk_wire *siblings) {
    static const cuzk_gadget g = {"tree step", level_with_body};
    const uint32_t n_bits = log2_arity(arity);
    uint32_t in[1 + 3 + 7], out;
    in[0] = cur;
    memcpy(in + 1, bits, n_bits * sizeof *in);
    memcpy(in + 1 + n_bits, siblings, (arity - 1) * sizeof *in);
    cuzk_cs_call(cs, &g, &arity, sizeof arity, in, n_bits + arity, &out, 1);
    return out;
}

uint32_t cuzk_tree_levels(const cuzk_tree_shape *t) {
    return t->base + (t->sub ? 1 : 0) + (t->top ? 1 : 0);
}

uint32_t cuzk_tree_arity(const cuzk_tree_shape *t, uint32_t level) {
    return level < t->base ? t->base_arity : level == t->base ? t->sub : t->top;
}

void cuzk_gadget_por_poseidon(cuzk_cs *cs, const cuzk_tree_shape *t, cuzk_wire leaf,
                              cuzk_wire root) {
    cuzk_bit bits[64];
    uint32_t n = 0;
    cuzk_wire cur = leaf;
    for (uint32_t l = 0; l < cuzk_tree_levels(t); l++) {
        const uint32_t arity = cuzk_tree_arity(t, l);
        cuzk_cs_push(cs, "level", l);
        cur = cuzk_gadget_level(cs, arity, cur, bits + n);
        cuzk_cs_pop(cs);
        n += log2_arity(arity);
    }
    cuzk_gadget_pack_inputs(cs, bits, n);
    cuzk_gadget_equal(cs, cur, root);
}

void cuzk_gadget_por_sha(cuzk_cs *cs, uint32_t levels, cuzk_wire leaf, cuzk_wire root) {
    cuzk_bit bits[64];
    cuzk_wire cur = leaf;
    for (uint32_t l = 0; l < levels; l++) {
        cuzk_wire children[2];
        cuzk_cs_push(cs, "level", l);
        bits[l] = cuzk_gadget_alloc_bit(cs, CUZK_CLASS_FREE);
        const cuzk_wire sibling = cuzk_cs_alloc(cs, CUZK_CLASS_FULL | CUZK_CLASS_FREE);
        cuzk_gadget_insert(cs, 2, cur, &sibling, &bits[l], children);
        cur = cuzk_gadget_sha_node(cs, children[0], children[1]);
        cuzk_cs_pop(cs);
    }
    cuzk_gadget_pack_inputs(cs, bits, levels);
    cuzk_gadget_equal(cs, cur, root);
}
