#include "circuit/cs.h"

#include <stdlib.h>

cuzk_status cuzk_cs_init(cuzk_cs *cs, const cuzk_cs_ops *ops) {
    *cs = (cuzk_cs){.ops = ops, .n_inputs = 1};
    cuzk_vec_init(&cs->scratch, sizeof(cuzk_flat_term));
    return cuzk_coefs_init(&cs->coefs);
}

void cuzk_cs_fini(cuzk_cs *cs) {
    cuzk_coefs_fini(&cs->coefs);
    cuzk_vec_free(&cs->scratch);
}

void cuzk_cs_fail(cuzk_cs *cs, cuzk_status st, const char *what) {
    if (cs->status != CUZK_OK) return;
    cs->status = cuzk_err_set(&cs->err, st, "%s", what);
}

cuzk_wire cuzk_cs_alloc(cuzk_cs *cs, unsigned cls) {
    return cs->status == CUZK_OK ? cs->ops->alloc(cs, CUZK_ALLOC_AUX, cls) : CUZK_WIRE_AUX;
}

cuzk_wire cuzk_cs_alloc_input(cuzk_cs *cs) {
    return cs->status == CUZK_OK ? cs->ops->alloc(cs, CUZK_ALLOC_INPUT, CUZK_CLASS_FULL)
                                 : CUZK_WIRE_ONE;
}

static int by_wire(const void *x, const void *y) {
    const cuzk_wire a = ((const cuzk_flat_term *)x)->wire, b = ((const cuzk_flat_term *)y)->wire;
    return (a > b) - (a < b);
}

static void sort_terms(cuzk_flat_term *t, uint32_t n) {
    if (n > 24) {
        qsort(t, n, sizeof *t, by_wire);
        return;
    }
    for (uint32_t i = 1; i < n; i++) {
        const cuzk_flat_term x = t[i];
        uint32_t j = i;
        for (; j > 0 && t[j - 1].wire > x.wire; j--)
            t[j] = t[j - 1];
        t[j] = x;
    }
}

uint32_t cuzk_cs_normalise(cuzk_cs *cs, cuzk_flat_term *t, uint32_t n) {
    uint32_t out = 0;
    sort_terms(t, n);
    for (uint32_t i = 0; i < n;) {
        cuzk_flat_term x = t[i++];
        bool zero = false;
        for (; i < n && t[i].wire == x.wire; i++) {
            if (zero) {
                x.coef = t[i].coef;
                zero = false;
            } else if (cuzk_coefs_add(&cs->coefs, x.coef, t[i].coef, &x.coef, &zero) != CUZK_OK) {
                cuzk_cs_fail(cs, CUZK_STATUS_NO_MEMORY, "coefficient dictionary");
            }
        }
        if (!zero) t[out++] = x;
    }
    return out;
}

void cuzk_cs_row(cuzk_cs *cs, const cuzk_flat_term *a, uint32_t na, const cuzk_flat_term *b,
                 uint32_t nb, const cuzk_flat_term *c, uint32_t nc) {
    const cuzk_flat_term *src[3] = {a, b, c};
    const uint32_t len[3] = {na, nb, nc};
    uint32_t n[3];
    if (cs->status != CUZK_OK) return;
    cs->scratch.n = 0;
    if (!cuzk_vec_grow(&cs->scratch, (size_t)na + nb + nc)) {
        cuzk_cs_fail(cs, CUZK_STATUS_NO_MEMORY, "row");
        return;
    }
    cuzk_flat_term *t = cs->scratch.data, *at = t;
    for (int m = 0; m < 3; m++) {
        if (len[m]) memcpy(at, src[m], len[m] * sizeof *at);
        n[m] = cuzk_cs_normalise(cs, at, len[m]);
        at += n[m];
    }
    if (cs->status != CUZK_OK) return;
    cs->ops->row(cs, t, n);
    cs->n_rows++;
}

void cuzk_cs_bits_of(cuzk_cs *cs, uint32_t n_bits, const cuzk_flat_term *t, uint32_t n) {
    if (cs->status != CUZK_OK) return;
    cs->scratch.n = 0;
    if (!cuzk_vec_grow(&cs->scratch, n)) {
        cuzk_cs_fail(cs, CUZK_STATUS_NO_MEMORY, "bit decomposition");
        return;
    }
    memcpy(cs->scratch.data, t, n * sizeof *t);
    n = cuzk_cs_normalise(cs, cs->scratch.data, n);
    cs->ops->bits(cs, n_bits, cs->scratch.data, n);
}

void cuzk_cs_call(cuzk_cs *cs, const cuzk_gadget *g, const void *params, size_t params_len,
                  const uint32_t *in, uint32_t n_in, uint32_t *out, uint32_t n_out) {
    if (cs->status != CUZK_OK) {
        memset(out, 0, n_out * sizeof *out);
        return;
    }
    cs->ops->call(cs, g, params, params_len, in, n_in, out, n_out);
}

void cuzk_cs_push(cuzk_cs *cs, const char *name, uint32_t index) {
    if (cs->status == CUZK_OK) cs->ops->push(cs, name, index);
}

void cuzk_cs_pop(cuzk_cs *cs) {
    if (cs->status == CUZK_OK) cs->ops->pop(cs);
}
