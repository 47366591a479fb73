#include "circuit/circuits.h"

static cuzk_wire alloc_free(cuzk_cs *cs) {
    return cuzk_cs_alloc(cs, CUZK_CLASS_FULL | CUZK_CLASS_FREE);
}

static void sector(cuzk_cs *cs, const cuzk_post_circuit *c) {
    cuzk_wire roots[2];
    const cuzk_wire comm_r_last = alloc_free(cs);
    const cuzk_wire comm_c = alloc_free(cs);
    const cuzk_wire comm_r = alloc_free(cs);
    cuzk_gadget_inputize(cs, comm_r);
    roots[0] = comm_c;
    roots[1] = comm_r_last;
    cuzk_gadget_equal(cs, comm_r, cuzk_gadget_poseidon(cs, 2, cuzk_poseidon_tree_tag(2), roots));
    for (uint32_t i = 0; i < c->challenges; i++) {
        cuzk_cs_push(cs, "challenge", i);
        cuzk_gadget_por_poseidon(cs, &c->tree, alloc_free(cs), comm_r_last);
        cuzk_cs_pop(cs);
    }
}

void cuzk_post_build(cuzk_cs *cs, const cuzk_post_circuit *c) {
    for (uint32_t i = 0; i < c->sectors; i++) {
        cuzk_cs_push(cs, "sector", i);
        sector(cs, c);
        cuzk_cs_pop(cs);
    }
}
