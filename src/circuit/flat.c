#include "circuit/flat.h"

static cuzk_wire flat_alloc(cuzk_cs *cs, cuzk_alloc_kind kind, unsigned cls) {
    (void)cls;
    return kind == CUZK_ALLOC_INPUT ? cs->n_inputs++ : CUZK_WIRE_AUX | cs->n_aux++;
}

static void flat_row(cuzk_cs *cs, const cuzk_flat_term *t, const uint32_t n[3]) {
    const cuzk_cs_flat *f = (const cuzk_cs_flat *)cs;
    if (!f->sink.row) return;
    const cuzk_status st = f->sink.row(f->sink.ctx, t, n, cs->coefs.v);
    if (st != CUZK_OK) cuzk_cs_fail(cs, st, "row sink");
}

static void flat_bits(cuzk_cs *cs, uint32_t n_bits, const cuzk_flat_term *t, uint32_t n) {
    (void)cs, (void)n_bits, (void)t, (void)n;
}

static void flat_call(cuzk_cs *cs, const cuzk_gadget *g, const void *params, size_t params_len,
                      const uint32_t *in, uint32_t n_in, uint32_t *out, uint32_t n_out) {
    (void)params_len, (void)n_in, (void)n_out;
    g->body(cs, params, in, out);
}

static void flat_push(cuzk_cs *cs, const char *name, uint32_t index) {
    (void)cs, (void)name, (void)index;
}

static void flat_pop(cuzk_cs *cs) {
    (void)cs;
}

static const cuzk_cs_ops flat_ops = {flat_alloc, flat_row,  flat_bits,
                                     flat_call,  flat_push, flat_pop};

cuzk_status cuzk_cs_flat_init(cuzk_cs_flat *f, const cuzk_row_sink *sink) {
    f->sink = sink ? *sink : (cuzk_row_sink){0};
    return cuzk_cs_init(&f->cs, &flat_ops);
}

void cuzk_cs_flat_fini(cuzk_cs_flat *f) {
    cuzk_cs_fini(&f->cs);
}
