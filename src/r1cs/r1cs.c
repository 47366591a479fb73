#include "r1cs/r1cs.h"

#include "base/mem.h"

void cuzk_r1cs_free(cuzk_r1cs *r) {
    if (!r) return;
    void *all[] = {r->coefs, r->coef_next, r->terms, r->rows,     r->ops,   r->scopes,
                   r->paths, r->shapes,    r->ports, r->slots,    r->frees, r->calls,
                   r->insts, r->args,      r->names, r->name_offs};
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)
        cuzk_free(all[i]);
    cuzk_free(r);
}

uint64_t cuzk_r1cs_bytes(const cuzk_r1cs *r) {
    uint64_t b = sizeof *r;
    b += (uint64_t)r->n_coefs * (sizeof *r->coefs + sizeof *r->coef_next) +
         (uint64_t)r->n_terms * sizeof *r->terms;
    b += (uint64_t)r->n_shape_rows * sizeof *r->rows + (uint64_t)r->n_ops * sizeof *r->ops;
    b += (uint64_t)r->n_scopes * sizeof *r->scopes + (uint64_t)r->n_paths * sizeof *r->paths;
    b += (uint64_t)r->n_shapes * sizeof *r->shapes + (uint64_t)r->n_ports * sizeof *r->ports;
    b += (uint64_t)r->n_slots * sizeof *r->slots + (uint64_t)r->n_frees * sizeof *r->frees;
    b += (uint64_t)r->n_calls * sizeof *r->calls;
    b += (uint64_t)r->n_insts * sizeof *r->insts + (uint64_t)r->n_args * sizeof *r->args;
    return b + r->n_names_bytes + (uint64_t)r->n_names * sizeof *r->name_offs;
}

/* Ports of inputs come before those of aux wires, so one walk fills both column ranges: the walk
 * skips the shape's own inputs, which lie between. */
void cuzk_r1cs_inst_wires(const cuzk_r1cs *r, const cuzk_r1cs_inst *inst, cuzk_wire *out) {
    const cuzk_r1cs_shape *s = &r->shapes[inst->shape];
    const uint32_t own_in = cuzk_r1cs_first_input_col(s), own_aux = cuzk_r1cs_first_aux_col(s);
    uint32_t col = 1;
    out[0] = CUZK_WIRE_ONE;
    for (uint32_t p = 0; p < s->n_ports; p++) {
        const uint32_t len = r->ports[s->port0 + p].len;
        const cuzk_wire w = r->args[inst->arg0 + p].wire;
        if (col == own_in) col += s->n_inputs;
        for (uint32_t i = 0; i < len; i++)
            out[col++] = w + i;
    }
    for (uint32_t i = 0; i < s->n_inputs; i++)
        out[own_in + i] = inst->input0 + i;
    for (uint32_t i = 0; i < s->n_aux; i++)
        out[own_aux + i] = (CUZK_WIRE_AUX | inst->aux0) + i;
}

bool cuzk_r1cs_col_is_bit(const cuzk_r1cs *r, const cuzk_r1cs_shape *s, uint32_t col) {
    const uint32_t own_in = cuzk_r1cs_first_input_col(s), own_aux = cuzk_r1cs_first_aux_col(s);
    if (col >= own_aux)
        return (r->slots[s->slot0 + s->n_inputs + (col - own_aux)] & CUZK_SLOT_BIT) != 0;
    if (col >= own_in && col < own_in + s->n_inputs)
        return (r->slots[s->slot0 + (col - own_in)] & CUZK_SLOT_BIT) != 0;
    uint32_t first = 1;
    for (uint32_t p = 0; p < s->n_ports; p++) {
        if (first == own_in) first += s->n_inputs;
        if (col < first + r->ports[s->port0 + p].len) return r->ports[s->port0 + p].bit;
        first += r->ports[s->port0 + p].len;
    }
    return false;
}

void cuzk_r1cs_inst_port_slots(const cuzk_r1cs *r, const cuzk_r1cs_inst *inst, uint32_t *out) {
    const cuzk_r1cs_shape *s = &r->shapes[inst->shape];
    const uint32_t own_in = cuzk_r1cs_first_input_col(s);
    uint32_t col = 1;
    for (uint32_t p = 0; p < s->n_ports; p++) {
        const uint32_t len = r->ports[s->port0 + p].len;
        const uint32_t slot = r->args[inst->arg0 + p].slot;
        if (col == own_in) col += s->n_inputs;
        for (uint32_t i = 0; i < len; i++)
            out[col++] = slot + i;
    }
}

void cuzk_r1cs_inst_slots(const cuzk_r1cs *r, const cuzk_r1cs_inst *inst, uint32_t *out) {
    const cuzk_r1cs_shape *s = &r->shapes[inst->shape];
    const uint32_t own_in = cuzk_r1cs_first_input_col(s), own_aux = cuzk_r1cs_first_aux_col(s);
    const uint32_t *own = r->slots + s->slot0;
    out[0] = 0;
    cuzk_r1cs_inst_port_slots(r, inst, out);
    for (uint32_t i = 0; i < s->n_inputs; i++)
        out[own_in + i] = own[i] + (own[i] & CUZK_SLOT_BIT ? inst->bit0 : inst->full0);
    own += s->n_inputs;
    for (uint32_t i = 0; i < s->n_aux; i++)
        out[own_aux + i] = own[i] + (own[i] & CUZK_SLOT_BIT ? inst->bit0 : inst->full0);
}

uint32_t cuzk_r1cs_max_cols(const cuzk_r1cs *r) {
    uint32_t m = 1;
    for (uint32_t i = 0; i < r->n_shapes; i++) {
        const uint32_t c = cuzk_r1cs_shape_cols(&r->shapes[i]);
        if (c > m) m = c;
    }
    return m;
}

/* Largest i with key(i) <= v, where key(0) <= v; instances without own wires share the key of
 * their successor, and the last of equals is the one that has them. */
#define FIND_LAST(field, v)                                                                        \
    uint32_t lo = 0, hi = r->n_insts;                                                              \
    while (hi - lo > 1) {                                                                          \
        const uint32_t mid = lo + (hi - lo) / 2;                                                   \
        if (r->insts[mid].field <= (v))                                                            \
            lo = mid;                                                                              \
        else                                                                                       \
            hi = mid;                                                                              \
    }

uint32_t cuzk_r1cs_find_row(const cuzk_r1cs *r, uint32_t row) {
    FIND_LAST(row0, row)
    return lo;
}

static uint32_t find_aux(const cuzk_r1cs *r, uint32_t i) {
    FIND_LAST(aux0, i)
    return lo;
}

static uint32_t find_input(const cuzk_r1cs *r, uint32_t i) {
    FIND_LAST(input0, i)
    return lo;
}

bool cuzk_r1cs_wire_slot(const cuzk_r1cs *r, cuzk_wire w, uint32_t *slot) {
    const bool aux = (w & CUZK_WIRE_AUX) != 0;
    const uint32_t i = w & ~CUZK_WIRE_AUX;
    if (r->n_insts == 0 || i >= (aux ? r->n_aux : r->n_inputs) || w == CUZK_WIRE_ONE) return false;
    const cuzk_r1cs_inst *inst = &r->insts[aux ? find_aux(r, i) : find_input(r, i)];
    const cuzk_r1cs_shape *s = &r->shapes[inst->shape];
    const uint32_t at = aux ? s->n_inputs + (i - inst->aux0) : i - inst->input0;
    const uint32_t own = r->slots[s->slot0 + at];
    *slot = own + (own & CUZK_SLOT_BIT ? inst->bit0 : inst->full0);
    return true;
}

static void put_step(const cuzk_r1cs *r, cuzk_buf *out, uint32_t name, uint32_t index) {
    if (out->len) cuzk_buf_puts(out, "/");
    cuzk_buf_puts(out, r->names + r->name_offs[name]);
    if (index != CUZK_R1CS_NONE) cuzk_buf_printf(out, " %u", index);
}

static void put_path(const cuzk_r1cs *r, cuzk_buf *out, uint32_t node) {
    enum { DEPTH = 32 };
    uint32_t stack[DEPTH], n = 0;
    for (; node != CUZK_R1CS_NONE && n < DEPTH; node = r->paths[node].parent)
        stack[n++] = node;
    while (n-- > 0)
        put_step(r, out, r->paths[stack[n]].name, r->paths[stack[n]].index);
}

void cuzk_r1cs_row_path(const cuzk_r1cs *r, uint32_t row, cuzk_buf *out) {
    const cuzk_r1cs_inst *inst = &r->insts[cuzk_r1cs_find_row(r, row)];
    const cuzk_r1cs_shape *s = &r->shapes[inst->shape];
    const uint32_t local = row - inst->row0;
    put_path(r, out, inst->path);
    if (s->name != CUZK_R1CS_NONE) put_step(r, out, s->name, CUZK_R1CS_NONE);
    for (uint32_t i = 0; i < s->n_scopes; i++) {
        const cuzk_r1cs_scope *c = &r->scopes[s->scope0 + i];
        if (c->row0 <= local && local < c->row1) put_step(r, out, c->name, c->index);
    }
}

static uint32_t write_terms(const cuzk_r1cs *r, cuzk_flat_term *out, const cuzk_r1cs_term *t,
                            uint32_t n, const cuzk_wire *wires) {
    uint32_t k = 0;
    for (uint32_t i = 0; i < n; i++) {
        uint32_t coef = t[i].coef;
        for (uint32_t j = 0; j < t[i].len; j++, coef = r->coef_next[coef])
            out[k++] = (cuzk_flat_term){wires[t[i].col + j], coef};
    }
    return k;
}

cuzk_status cuzk_r1cs_expand(const cuzk_r1cs *r, uint32_t row0, uint32_t row1,
                             const cuzk_row_sink *sink) {
    cuzk_status st = CUZK_OK;
    cuzk_wire *wires = NULL;
    cuzk_flat_term *flat = NULL;
    uint32_t max_terms = 1;
    for (uint32_t i = 0; i < r->n_shapes; i++)
        if (r->shapes[i].max_terms > max_terms) max_terms = r->shapes[i].max_terms;
    CUZK_TRY_GOTO(cuzk_alloc((void **)&wires, cuzk_r1cs_max_cols(r), sizeof *wires), out);
    CUZK_TRY_GOTO(cuzk_alloc((void **)&flat, 3 * (size_t)max_terms, sizeof *flat), out);
    if (row1 > r->n_rows) row1 = r->n_rows;
    if (row0 >= row1) goto out;
    for (uint32_t i = cuzk_r1cs_find_row(r, row0); i < r->n_insts && r->insts[i].row0 < row1; i++) {
        const cuzk_r1cs_inst *inst = &r->insts[i];
        const cuzk_r1cs_shape *s = &r->shapes[inst->shape];
        const cuzk_r1cs_row *rows = r->rows + s->row0;
        const cuzk_r1cs_term *terms = r->terms + s->term0;
        cuzk_r1cs_inst_wires(r, inst, wires);
        for (uint32_t k = row0 > inst->row0 ? row0 - inst->row0 : 0; k < s->n_rows; k++) {
            if (inst->row0 + k >= row1) break;
            const cuzk_r1cs_row *w = &rows[k];
            uint32_t n[3];
            n[0] = write_terms(r, flat, terms + w->a, w->b - w->a, wires);
            n[1] = write_terms(r, flat + n[0], terms + w->b, w->c - w->b, wires);
            n[2] = write_terms(r, flat + n[0] + n[1], terms + w->c, w[1].a - w->c, wires);
            CUZK_TRY_GOTO(sink->row(sink->ctx, flat, n, r->coefs), out);
        }
    }
out:
    cuzk_free(wires);
    cuzk_free(flat);
    return st;
}
