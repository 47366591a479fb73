#include "backend/cuda/r1cs_pack.h"

#include "base/mem.h"

/* Ports are numbered without the shape's own inputs, which lie between the two kinds. */
static uint32_t port_of(const cuzk_r1cs_shape *s, uint32_t col) {
    return col - 1 - (col > s->n_port_inputs ? s->n_inputs : 0);
}

static bool is_port(const cuzk_r1cs_shape *s, uint32_t col) {
    const uint32_t own_in = cuzk_r1cs_first_input_col(s), own_aux = cuzk_r1cs_first_aux_col(s);
    return col < own_in || (col >= own_in + s->n_inputs && col < own_aux);
}

/* The slot of a column of the shape's own, from the instance's bases. */
static uint32_t own_slot(const cuzk_r1cs *r, const cuzk_r1cs_shape *s, uint32_t col) {
    const uint32_t own_in = cuzk_r1cs_first_input_col(s), own_aux = cuzk_r1cs_first_aux_col(s);
    return r->slots[s->slot0 + (col >= own_aux ? s->n_inputs + (col - own_aux) : col - own_in)];
}

static bool pack_small_term(const cuzk_r1cs *r, const cuzk_r1cs_shape *s, const cuzk_r1cs_term *t,
                            bool of_b, uint32_t *out) {
    uint32_t what, at = 0;
    if (t->coef > CUZK_COEF_MINUS_TWO || t->len > 1) return false;
    if (t->col == 0) {
        what = CUZK__PACK_ONE;
    } else if (is_port(s, t->col)) {
        what = CUZK__PACK_PORT;
        at = port_of(s, t->col);
    } else {
        const uint32_t slot = own_slot(r, s, t->col);
        if (!(slot & CUZK_SLOT_BIT)) return false;
        what = CUZK__PACK_OWN;
        at = slot & ~CUZK_SLOT_BIT;
    }
    if (at > CUZK__PACK_AT) return false;
    *out = (uint32_t)t->coef << 30 | what << 28 | (of_b ? CUZK__PACK_OF_B : 0) | at;
    return true;
}

/* False when the row is no small row of at most four terms. */
static bool pack_small(const cuzk_r1cs *r, const cuzk_r1cs_shape *s, const cuzk_r1cs_row *w,
                       uint32_t out[4]) {
    const cuzk_r1cs_term *t = r->terms + s->term0;
    for (uint32_t k = 0; k < 4; k++)
        out[k] = 0;
    if (!(w->solve & CUZK_ROW_SMALL) || w->c - w->a > 4) return false;
    for (uint32_t i = w->a; i < w->c; i++)
        if (!pack_small_term(r, s, &t[i], i >= w->b, &out[i - w->a])) return false;
    return true;
}

static cuzk__pack_term pack_term(const cuzk_r1cs *r, const cuzk_r1cs_shape *s,
                                 const cuzk_r1cs_term *t) {
    uint32_t what = CUZK__TERM_ONE, at = 0;
    if (t->col != 0 && is_port(s, t->col)) {
        what = cuzk_r1cs_col_is_bit(r, s, t->col) ? CUZK__TERM_PORT_BIT : CUZK__TERM_PORT_FULL;
        at = port_of(s, t->col);
    } else if (t->col != 0) {
        const uint32_t slot = own_slot(r, s, t->col);
        what = slot & CUZK_SLOT_BIT ? CUZK__TERM_OWN_BIT : CUZK__TERM_OWN_FULL;
        at = slot & ~CUZK_SLOT_BIT;
    }
    return (cuzk__pack_term){what << CUZK__TERM_SHIFT | at, t->coef | (uint32_t)t->len << 16};
}

/* Rows of one shape; small rows keep their place, general ones are appended. */
static void pack_shape(cuzk__pack *p, const cuzk_r1cs *r, const cuzk_r1cs_shape *s) {
    for (uint32_t k = 0; k < s->n_rows; k++) {
        const cuzk_r1cs_row *w = &r->rows[s->row0 + k];
        uint32_t *small = p->small[s->row0 + k];
        if (pack_small(r, s, w, small)) continue;
        small[0] = CUZK__PACK_GENERAL;
        cuzk__pack_row *g = &p->general[p->n_general++];
        g->row = k;
        g->a = p->n_terms;
        for (uint32_t i = w->a; i < w->c; i++)
            p->terms[p->n_terms++] = pack_term(r, s, &r->terms[s->term0 + i]);
        g->b = g->a + (w->b - w->a);
        g->c = p->n_terms;
    }
}

static void pack_inst(cuzk__pack *p, const cuzk_r1cs *r, const cuzk_r1cs_inst *inst,
                      cuzk__pack_inst *out, uint32_t *cols) {
    const cuzk_r1cs_shape *s = &r->shapes[inst->shape];
    const uint32_t own_in = cuzk_r1cs_first_input_col(s), own_aux = cuzk_r1cs_first_aux_col(s);
    *out = (cuzk__pack_inst){inst->row0, inst->bit0, inst->full0, p->n_port_slots};
    cuzk_r1cs_inst_port_slots(r, inst, cols);
    for (uint32_t c = 1; c < own_in; c++)
        p->port_slots[p->n_port_slots++] = cols[c] & ~CUZK_SLOT_BIT;
    for (uint32_t c = own_in + s->n_inputs; c < own_aux; c++)
        p->port_slots[p->n_port_slots++] = cols[c] & ~CUZK_SLOT_BIT;
}

/* Cuts rows x instances into tiles; counts only when tiles is NULL. */
static uint32_t cut(cuzk__pack_tile *tiles, uint32_t at, uint32_t row0, uint32_t rows,
                    uint32_t inst0, uint32_t insts, uint32_t tile_rows, uint32_t tile_insts) {
    for (uint32_t i = 0; i < insts; i += tile_insts)
        for (uint32_t k = 0; k < rows; k += tile_rows, at++)
            if (tiles)
                tiles[at] =
                    (cuzk__pack_tile){row0 + k, rows - k < tile_rows ? rows - k : tile_rows, k,
                                      inst0 + i, insts - i < tile_insts ? insts - i : tile_insts};
    return at;
}

/* first[s], general0[s]: the shape's instances and general rows, with one entry more. */
static void make_tiles(cuzk__pack *p, const cuzk_r1cs *r, const uint32_t *first,
                       const uint32_t *general0) {
    p->n_small_tiles = p->n_general_tiles = 0;
    for (uint32_t s = 0; s < r->n_shapes; s++) {
        const uint32_t n = first[s + 1] - first[s];
        const uint32_t general = general0[s + 1] - general0[s];
        if (general < r->shapes[s].n_rows)
            p->n_small_tiles =
                cut(p->small_tiles, p->n_small_tiles, r->shapes[s].row0, r->shapes[s].n_rows,
                    first[s], n, CUZK__PACK_TILE_ROWS, CUZK__PACK_TILE_INSTS);
        const bool few = n < CUZK__PACK_FEW;
        p->n_general_tiles = cut(p->general_tiles, p->n_general_tiles, general0[s], general,
                                 first[s], n, CUZK__PACK_WARPS * (few ? 32 : 1), few ? 1 : 32);
    }
}

/* Sizes that bound what the packing appends. */
static cuzk_status take(cuzk__pack *p, const cuzk_r1cs *r) {
    uint64_t ports = 0;
    for (uint32_t i = 0; i < r->n_insts; i++) {
        const cuzk_r1cs_shape *s = &r->shapes[r->insts[i].shape];
        ports += s->n_port_inputs + s->n_port_aux;
    }
    CUZK_TRY(cuzk_alloc((void **)&p->small, r->n_shape_rows + 1, sizeof *p->small));
    CUZK_TRY(cuzk_alloc((void **)&p->general, r->n_shape_rows + 1, sizeof *p->general));
    CUZK_TRY(cuzk_alloc((void **)&p->terms, (size_t)r->n_terms + 1, sizeof *p->terms));
    CUZK_TRY(cuzk_alloc((void **)&p->insts, (size_t)r->n_insts + 1, sizeof *p->insts));
    CUZK_TRY(cuzk_alloc((void **)&p->port_slots, (size_t)ports + 1, sizeof *p->port_slots));
    return cuzk_alloc((void **)&p->input_slots, (size_t)r->n_inputs + 1, sizeof *p->input_slots);
}

static cuzk_status fill(cuzk__pack *p, const cuzk_r1cs *r, uint32_t *first, uint32_t *general0,
                        uint32_t *cols) {
    for (uint32_t i = 0; i < r->n_insts; i++)
        first[r->insts[i].shape + 1]++;
    for (uint32_t s = 0; s < r->n_shapes; s++) {
        first[s + 1] += first[s];
        general0[s] = p->n_general;
        pack_shape(p, r, &r->shapes[s]);
    }
    general0[r->n_shapes] = p->n_general;
    p->n_small = r->n_shape_rows;
    p->n_insts = r->n_insts;
    uint32_t *next = first; /* moves each shape's beginning to its end, and back below */
    for (uint32_t i = 0; i < r->n_insts; i++)
        pack_inst(p, r, &r->insts[i], &p->insts[next[r->insts[i].shape]++], cols);
    for (uint32_t s = r->n_shapes; s > 0; s--)
        first[s] = first[s - 1];
    first[0] = 0;
    p->n_inputs = r->n_inputs;
    for (uint32_t i = 1; i < r->n_inputs; i++)
        if (!cuzk_r1cs_wire_slot(r, i, &p->input_slots[i])) return CUZK_STATUS_BUG;
    make_tiles(p, r, first, general0);
    CUZK_TRY(
        cuzk_alloc((void **)&p->small_tiles, (size_t)p->n_small_tiles + 1, sizeof *p->small_tiles));
    CUZK_TRY(cuzk_alloc((void **)&p->general_tiles, (size_t)p->n_general_tiles + 1,
                        sizeof *p->general_tiles));
    make_tiles(p, r, first, general0);
    return CUZK_OK;
}

cuzk_status cuzk__pack_new(cuzk__pack **out, const cuzk_r1cs *r, cuzk_err *err) {
    cuzk__pack *p = NULL;
    uint32_t *first = NULL, *general0 = NULL, *cols = NULL;
    cuzk_status st;
    *out = NULL;
    CUZK_TRY_GOTO(cuzk_alloc((void **)&p, 1, sizeof *p), out);
    CUZK_TRY_GOTO(cuzk_alloc((void **)&first, (size_t)r->n_shapes + 2, sizeof *first), out);
    CUZK_TRY_GOTO(cuzk_alloc((void **)&general0, (size_t)r->n_shapes + 1, sizeof *first), out);
    CUZK_TRY_GOTO(cuzk_alloc((void **)&cols, cuzk_r1cs_max_cols(r), sizeof *cols), out);
    CUZK_TRY_GOTO(take(p, r), out);
    CUZK_TRY_GOTO(fill(p, r, first, general0, cols), out);
    *out = p;
    p = NULL;
out:
    cuzk__pack_free(p);
    cuzk_free(first);
    cuzk_free(general0);
    cuzk_free(cols);
    if (st != CUZK_OK && err && !err->msg[0])
        return cuzk_err_set(err, st, "rows for the device: %s", cuzk_status_text(st));
    return st;
}

void cuzk__pack_free(cuzk__pack *p) {
    if (!p) return;
    void *all[] = {p->small,      p->general,     p->terms,         p->insts,
                   p->port_slots, p->small_tiles, p->general_tiles, p->input_slots};
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)
        cuzk_free(all[i]);
    cuzk_free(p);
}
