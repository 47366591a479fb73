#include "circuit/gadgets.h"

cuzk_bit cuzk_gadget_alloc_bit(cuzk_cs *cs, unsigned cls) {
    const cuzk_wire v = cuzk_cs_alloc(cs, CUZK_CLASS_BIT | cls);
    const cuzk_flat_term a[] = {{CUZK_WIRE_ONE, CUZK_COEF_ONE}, {v, CUZK_COEF_MINUS_ONE}};
    const cuzk_flat_term b = {v, CUZK_COEF_ONE};
    cuzk_cs_row(cs, a, 2, &b, 1, NULL, 0);
    return v;
}

cuzk_bit cuzk_gadget_xor(cuzk_cs *cs, cuzk_bit a, cuzk_bit b) {
    if (cuzk_bit_is_const(a)) return a == CUZK_BIT_FALSE ? b : cuzk_bit_not(b);
    if (cuzk_bit_is_const(b)) return b == CUZK_BIT_FALSE ? a : cuzk_bit_not(a);
    const bool negate = cuzk_bit_is_not(a) != cuzk_bit_is_not(b);
    /* of a mixed pair, the plain operand comes first */
    const cuzk_bit first = negate && cuzk_bit_is_not(a) ? b : a;
    const cuzk_wire x = cuzk_bit_wire(first), y = cuzk_bit_wire(first == a ? b : a);
    const cuzk_wire v = cuzk_cs_alloc(cs, CUZK_CLASS_BIT);
    const cuzk_flat_term ta = {x, CUZK_COEF_TWO}, tb = {y, CUZK_COEF_ONE};
    const cuzk_flat_term tc[] = {{x, CUZK_COEF_ONE}, {y, CUZK_COEF_ONE}, {v, CUZK_COEF_MINUS_ONE}};
    cuzk_cs_row(cs, &ta, 1, &tb, 1, tc, 3);
    return negate ? cuzk_bit_not(v) : v;
}

cuzk_bit cuzk_gadget_and(cuzk_cs *cs, cuzk_bit a, cuzk_bit b) {
    if (a == CUZK_BIT_FALSE || b == CUZK_BIT_FALSE) return CUZK_BIT_FALSE;
    if (a == CUZK_BIT_TRUE) return b;
    if (b == CUZK_BIT_TRUE) return a;
    if (cuzk_bit_is_not(a) && !cuzk_bit_is_not(b)) { /* and_not has the plain operand first */
        const cuzk_bit x = a;
        a = b, b = x;
    }
    const cuzk_wire v = cuzk_cs_alloc(cs, CUZK_CLASS_BIT);
    cuzk_flat_term ta[2], tb[2];
    const uint32_t na = cuzk_bit_terms(ta, a, CUZK_COEF_ONE);
    const uint32_t nb = cuzk_bit_terms(tb, b, CUZK_COEF_ONE);
    const cuzk_flat_term tc = {v, CUZK_COEF_ONE};
    cuzk_cs_row(cs, ta, na, tb, nb, &tc, 1);
    return v;
}

cuzk_bit cuzk_gadget_ch(cuzk_cs *cs, cuzk_bit a, cuzk_bit b, cuzk_bit c) {
    if (cuzk_bit_is_const(a) && cuzk_bit_is_const(b) && cuzk_bit_is_const(c))
        return a == CUZK_BIT_TRUE ? b : c;
    if (a == CUZK_BIT_FALSE) return c;
    if (b == CUZK_BIT_FALSE) return cuzk_gadget_and(cs, cuzk_bit_not(a), c);
    if (c == CUZK_BIT_FALSE) return cuzk_gadget_and(cs, a, b);
    if (c == CUZK_BIT_TRUE) return cuzk_bit_not(cuzk_gadget_and(cs, a, cuzk_bit_not(b)));
    if (b == CUZK_BIT_TRUE)
        return cuzk_bit_not(cuzk_gadget_and(cs, cuzk_bit_not(a), cuzk_bit_not(c)));
    const cuzk_wire v = cuzk_cs_alloc(cs, CUZK_CLASS_BIT);
    cuzk_flat_term ta[4], tb[2], tc[3];
    uint32_t na = cuzk_bit_terms(ta, b, CUZK_COEF_ONE);
    na += cuzk_bit_terms(ta + na, c, CUZK_COEF_MINUS_ONE);
    const uint32_t nb = cuzk_bit_terms(tb, a, CUZK_COEF_ONE);
    tc[0] = (cuzk_flat_term){v, CUZK_COEF_ONE};
    const uint32_t nc = 1 + cuzk_bit_terms(tc + 1, c, CUZK_COEF_MINUS_ONE);
    cuzk_cs_row(cs, ta, na, tb, nb, tc, nc);
    return v;
}

cuzk_bit cuzk_gadget_maj(cuzk_cs *cs, cuzk_bit a, cuzk_bit b, cuzk_bit c) {
    if (cuzk_bit_is_const(a) && cuzk_bit_is_const(b) && cuzk_bit_is_const(c))
        return (a == CUZK_BIT_TRUE) + (b == CUZK_BIT_TRUE) + (c == CUZK_BIT_TRUE) >= 2
                   ? CUZK_BIT_TRUE
                   : CUZK_BIT_FALSE;
    if (a == CUZK_BIT_FALSE) return cuzk_gadget_and(cs, b, c);
    if (b == CUZK_BIT_FALSE) return cuzk_gadget_and(cs, a, c);
    if (c == CUZK_BIT_FALSE) return cuzk_gadget_and(cs, a, b);
    const cuzk_bit na = cuzk_bit_not(a), nb = cuzk_bit_not(b), nc = cuzk_bit_not(c);
    if (c == CUZK_BIT_TRUE) return cuzk_bit_not(cuzk_gadget_and(cs, na, nb));
    if (b == CUZK_BIT_TRUE) return cuzk_bit_not(cuzk_gadget_and(cs, na, nc));
    if (a == CUZK_BIT_TRUE) return cuzk_bit_not(cuzk_gadget_and(cs, nb, nc));
    const cuzk_wire v = cuzk_cs_alloc(cs, CUZK_CLASS_BIT);
    const cuzk_bit bc = cuzk_gadget_and(cs, b, c);
    cuzk_flat_term ta[6], tb[2], tc[3];
    uint32_t n = cuzk_bit_terms(ta, bc, CUZK_COEF_TWO);
    n += cuzk_bit_terms(ta + n, b, CUZK_COEF_MINUS_ONE);
    n += cuzk_bit_terms(ta + n, c, CUZK_COEF_MINUS_ONE);
    const uint32_t n_b = cuzk_bit_terms(tb, a, CUZK_COEF_ONE);
    uint32_t n_c = cuzk_bit_terms(tc, bc, CUZK_COEF_ONE);
    tc[n_c++] = (cuzk_flat_term){v, CUZK_COEF_MINUS_ONE};
    cuzk_cs_row(cs, ta, n, tb, n_b, tc, n_c);
    return v;
}
