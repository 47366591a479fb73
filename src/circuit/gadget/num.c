#include "circuit/gadgets.h"

/* sum 2^i b_i as terms (at most 2 n). */
static uint32_t weighted(cuzk_flat_term *t, const cuzk_bit *bits, uint32_t n) {
    uint32_t k = 0;
    for (uint32_t i = 0; i < n; i++)
        k += cuzk_bit_terms(t + k, bits[i], CUZK_COEF_POW2(i));
    return k;
}

static void to_bits_body(cuzk_cs *cs, const void *params, const uint32_t *in, uint32_t *out) {
    cuzk_flat_term t[256];
    const cuzk_flat_term n = {in[0], CUZK_COEF_ONE};
    (void)params;
    cuzk_cs_bits_of(cs, 255, &n, 1);
    for (uint32_t i = 0; i < 255; i++)
        out[i] = cuzk_gadget_alloc_bit(cs, 0);
    weighted(t, out, 255);
    t[255] = (cuzk_flat_term){in[0], CUZK_COEF_MINUS_ONE};
    cuzk_cs_row(cs, NULL, 0, NULL, 0, t, 256);
}

void cuzk_gadget_to_bits(cuzk_cs *cs, cuzk_wire n, cuzk_bit bits[255]) {
    static const cuzk_gadget g = {"bits", to_bits_body};
    cuzk_cs_call(cs, &g, NULL, 0, &n, 1, bits, 255);
}

cuzk_wire cuzk_gadget_pack(cuzk_cs *cs, const cuzk_bit *bits, uint32_t n) {
    cuzk_flat_term t[2 * 254];
    const cuzk_wire v = cuzk_cs_alloc(cs, CUZK_CLASS_FULL);
    const cuzk_flat_term one = {CUZK_WIRE_ONE, CUZK_COEF_ONE}, c = {v, CUZK_COEF_ONE};
    cuzk_cs_row(cs, t, weighted(t, bits, n < 254 ? n : 254), &one, 1, &c, 1);
    return v;
}

void cuzk_gadget_pack_inputs(cuzk_cs *cs, const cuzk_bit *bits, uint32_t n) {
    for (uint32_t at = 0; at < n; at += 254) {
        cuzk_flat_term t[2 * 254];
        const uint32_t k = weighted(t, bits + at, n - at < 254 ? n - at : 254);
        const cuzk_wire i = cuzk_cs_alloc_input(cs);
        const cuzk_flat_term one = {CUZK_WIRE_ONE, CUZK_COEF_ONE}, c = {i, CUZK_COEF_ONE};
        cuzk_cs_row(cs, t, k, &one, 1, &c, 1);
    }
}

void cuzk_gadget_inputize(cuzk_cs *cs, cuzk_wire n) {
    const cuzk_wire i = cuzk_cs_alloc_input(cs);
    cuzk_gadget_equal(cs, i, n);
}

void cuzk_gadget_equal(cuzk_cs *cs, cuzk_wire a, cuzk_wire b) {
    const cuzk_flat_term ta = {a, CUZK_COEF_ONE}, one = {CUZK_WIRE_ONE, CUZK_COEF_ONE};
    const cuzk_flat_term tc = {b, CUZK_COEF_ONE};
    cuzk_cs_row(cs, &ta, 1, &one, 1, &tc, 1);
}

cuzk_wire cuzk_gadget_add(cuzk_cs *cs, cuzk_wire a, cuzk_wire b) {
    const cuzk_wire v = cuzk_cs_alloc(cs, CUZK_CLASS_FULL);
    const cuzk_flat_term ta[] = {{a, CUZK_COEF_ONE}, {b, CUZK_COEF_ONE}};
    const cuzk_flat_term one = {CUZK_WIRE_ONE, CUZK_COEF_ONE}, c = {v, CUZK_COEF_ONE};
    cuzk_cs_row(cs, ta, 2, &one, 1, &c, 1);
    return v;
}

cuzk_wire cuzk_gadget_mul(cuzk_cs *cs, cuzk_wire a, cuzk_wire b) {
    const cuzk_wire v = cuzk_cs_alloc(cs, CUZK_CLASS_FULL);
    const cuzk_flat_term ta = {a, CUZK_COEF_ONE}, tb = {b, CUZK_COEF_ONE}, c = {v, CUZK_COEF_ONE};
    cuzk_cs_row(cs, &ta, 1, &tb, 1, &c, 1);
    return v;
}

cuzk_wire cuzk_gadget_pick(cuzk_cs *cs, cuzk_bit cond, cuzk_wire a, cuzk_wire b) {
    const cuzk_wire v = cuzk_cs_alloc(cs, CUZK_CLASS_FULL);
    cuzk_flat_term tb[2];
    const uint32_t nb = cuzk_bit_terms(tb, cond, CUZK_COEF_ONE);
    const cuzk_flat_term ta[] = {{b, CUZK_COEF_ONE}, {a, CUZK_COEF_MINUS_ONE}};
    const cuzk_flat_term tc[] = {{b, CUZK_COEF_ONE}, {v, CUZK_COEF_MINUS_ONE}};
    cuzk_cs_row(cs, ta, 2, tb, nb, tc, 2);
    return v;
}

void cuzk_gadget_reverse_bytes(cuzk_bit *out, const cuzk_bit *in, uint32_t n) {
    for (uint32_t at = 0; at < n; at += 8) {
        for (uint32_t i = 0; i < 4; i++) {
            const cuzk_bit lo = in[at + i], hi = in[at + 7 - i];
            out[at + i] = hi;
            out[at + 7 - i] = lo;
        }
    }
}
