/* Bounds of a compact system that came from a file: after this no routine reads or writes outside
 * a table, a witness or its scratch. */
#include "r1cs/file.h"

#include "base/mem.h"

static bool inside(uint64_t at, uint64_t n, uint64_t size) {
    return at + n <= size;
}

static bool own_col(const cuzk_r1cs_shape *s, uint64_t col, uint64_t n) {
    const uint64_t in = cuzk_r1cs_first_input_col(s), aux = cuzk_r1cs_first_aux_col(s);
    return (col >= in && col + n <= in + s->n_inputs) || (col >= aux && col + n <= aux + s->n_aux);
}

static uint32_t own_slot(const cuzk_r1cs *r, const cuzk_r1cs_shape *s, uint32_t col) {
    const uint32_t in = cuzk_r1cs_first_input_col(s), aux = cuzk_r1cs_first_aux_col(s);
    return r->slots[s->slot0 + (col >= aux ? s->n_inputs + (col - aux) : col - in)];
}

/* Terms [a, b) of a shape. Runs need bits with consecutive slots and a chain of doublings. bit:
 * classes of the columns. */
static bool lc_ok(const cuzk_r1cs *r, const cuzk_r1cs_shape *s, uint32_t a, uint32_t b, bool small,
                  const uint8_t *bit) {
    const uint32_t cols = cuzk_r1cs_shape_cols(s);
    uint64_t n = 0;
    if (a > b || b > s->n_terms) return false;
    for (uint32_t i = a; i < b; i++) {
        const cuzk_r1cs_term *t = &r->terms[s->term0 + i];
        if (t->coef >= r->n_coefs || t->len == 0 || t->len > CUZK_RUN_MAX) return false;
        if (!inside(t->col, t->len, cols)) return false;
        if (small && (t->len != 1 || t->coef > CUZK_COEF_MINUS_TWO || (t->col && !bit[t->col])))
            return false;
        uint32_t coef = t->coef;
        for (uint32_t j = 1; j < t->len; j++) {
            coef = r->coef_next[coef];
            if (coef >= r->n_coefs || t->col == 0 || !bit[t->col + j - 1] || !bit[t->col + j])
                return false;
        }
        n += t->len;
    }
    return n <= s->max_terms || s->n_rows == 0;
}

static bool rows_ok(const cuzk_r1cs *r, const cuzk_r1cs_shape *s, const uint8_t *bit) {
    for (uint32_t k = 0; k < s->n_rows; k++) {
        const cuzk_r1cs_row *w = &r->rows[s->row0 + k];
        const bool small = (w->solve & CUZK_ROW_SMALL) != 0;
        const uint32_t col = w->solve & CUZK_ROW_COL;
        if (!lc_ok(r, s, w->a, w->b, small, bit) || !lc_ok(r, s, w->b, w->c, small, bit) ||
            !lc_ok(r, s, w->c, w[1].a, small, bit))
            return false;
        if (col && (!own_col(s, col, 1) || (small && !bit[col]))) return false;
    }
    return true;
}

static bool ops_ok(const cuzk_r1cs *r, const cuzk_r1cs_shape *s, const uint8_t *bit) {
    cuzk_r1cs_shape any = *s;
    any.max_terms = UINT32_MAX; /* never written out flat */
    for (uint32_t i = 0; i < s->n_ops; i++) {
        const cuzk_r1cs_op *op = &r->ops[s->op0 + i];
        if (op->n == 0 || op->n > 256 || !own_col(s, op->col, op->n)) return false;
        if (!inside(op->term, op->n_terms, s->n_terms)) return false;
        if (!lc_ok(r, &any, op->term, op->term + op->n_terms, false, bit)) return false;
        for (uint32_t j = 0; j < op->n; j++)
            if (!bit[op->col + j] || own_slot(r, s, op->col + j) != own_slot(r, s, op->col) + j)
                return false;
    }
    return true;
}

/* Where a shape's entries are in the tables. */
static bool offsets_ok(const cuzk_r1cs *r, const cuzk_r1cs_shape *s) {
    const uint64_t own = (uint64_t)s->n_inputs + s->n_aux;
    return inside(s->row0, (uint64_t)s->n_rows + 1, r->n_shape_rows) &&
           inside(s->term0, s->n_terms, r->n_terms) && inside(s->port0, s->n_ports, r->n_ports) &&
           inside(s->slot0, own, r->n_slots) && inside(s->free0, s->n_free, r->n_frees) &&
           inside(s->op0, s->n_ops, r->n_ops) && inside(s->scope0, s->n_scopes, r->n_scopes) &&
           inside(s->call0, (uint64_t)s->n_params + s->n_args, r->n_calls) &&
           (s->name < r->n_names || s->name == CUZK_R1CS_NONE) && s->max_terms <= 1u << 28;
}

/* Ports and slots of a shape. */
static bool columns_ok(const cuzk_r1cs *r, const cuzk_r1cs_shape *s) {
    const uint64_t own = (uint64_t)s->n_inputs + s->n_aux;
    const uint64_t ports = (uint64_t)s->n_port_inputs + s->n_port_aux;
    uint64_t n = 0;
    if (own + ports + 1 > CUZK_ROW_COL || !offsets_ok(r, s)) return false;
    for (uint32_t p = 0; p < s->n_ports; p++) {
        const cuzk_r1cs_port *port = &r->ports[s->port0 + p];
        if (port->len == 0 || port->bit > 1) return false;
        if (n < s->n_port_inputs && n + port->len > s->n_port_inputs) return false;
        n += port->len;
    }
    if (n != ports) return false;
    for (uint64_t i = 0; i < own; i++) {
        const uint32_t slot = r->slots[s->slot0 + i];
        if ((slot & ~CUZK_SLOT_BIT) >= (slot & CUZK_SLOT_BIT ? s->n_bits : s->n_full)) return false;
    }
    return true;
}

static bool shape_ok(const cuzk_r1cs *r, const cuzk_r1cs_shape *s, uint8_t *bit) {
    const uint32_t cols = cuzk_r1cs_shape_cols(s);
    const uint32_t own_in = cuzk_r1cs_first_input_col(s), own_aux = cuzk_r1cs_first_aux_col(s);
    uint32_t col = 1;
    bit[0] = 0;
    for (uint32_t p = 0; p < s->n_ports; p++) {
        if (col == own_in) col += s->n_inputs;
        for (uint32_t i = 0; i < r->ports[s->port0 + p].len; i++)
            bit[col++] = (uint8_t)r->ports[s->port0 + p].bit;
    }
    for (uint32_t i = 0; i < s->n_inputs + s->n_aux; i++)
        bit[i < s->n_inputs ? own_in + i : own_aux + i - s->n_inputs] =
            (r->slots[s->slot0 + i] & CUZK_SLOT_BIT) != 0;
    for (uint32_t i = 0; i < s->n_free; i++)
        if (!own_col(s, r->frees[s->free0 + i], 1)) return false;
    for (uint32_t i = 0; i < s->n_args; i++)
        if ((r->calls[s->call0 + s->n_params + i] & ~CUZK_CALL_NOT) >= cols) return false;
    for (uint32_t i = 0; i < s->n_scopes; i++)
        if (r->scopes[s->scope0 + i].name >= r->n_names) return false;
    return rows_ok(r, s, bit) && ops_ok(r, s, bit);
}

/* What the instances before have used up. */
struct used {
    uint64_t row, aux, input, bits, full, frees;
};

/* An instance begins where the last one ended (bits: at the next multiple of 64). */
static bool place_ok(const cuzk_r1cs_inst *inst, const struct used *u) {
    return inst->row0 == u->row && inst->aux0 == u->aux && inst->input0 == u->input &&
           inst->bit0 == u->bits && inst->full0 == u->full && inst->free0 == u->frees;
}

/* Its ports are wires of instances before, of the class that the shape says. */
static bool args_ok(const cuzk_r1cs *r, const cuzk_r1cs_inst *inst, const struct used *u) {
    const cuzk_r1cs_shape *s = &r->shapes[inst->shape];
    if (!inside(inst->arg0, s->n_ports, r->n_args)) return false;
    for (uint32_t p = 0; p < s->n_ports; p++) {
        const cuzk_r1cs_arg *arg = &r->args[inst->arg0 + p];
        const cuzk_r1cs_port *port = &r->ports[s->port0 + p];
        const bool is_bit = (arg->slot & CUZK_SLOT_BIT) != 0;
        if (is_bit != port->bit) return false;
        if (!inside(arg->slot & ~CUZK_SLOT_BIT, port->len, is_bit ? u->bits : u->full) ||
            !inside(arg->wire & ~CUZK_WIRE_AUX, port->len,
                    arg->wire & CUZK_WIRE_AUX ? u->aux : u->input))
            return false;
    }
    return true;
}

static bool insts_ok(const cuzk_r1cs *r) {
    struct used u = {.input = 1};
    for (uint32_t i = 0; i < r->n_insts; i++) {
        const cuzk_r1cs_inst *inst = &r->insts[i];
        if (inst->shape >= r->n_shapes) return false;
        if (inst->path != CUZK_R1CS_NONE && inst->path >= r->n_paths) return false;
        const cuzk_r1cs_shape *s = &r->shapes[inst->shape];
        u.bits = (u.bits + 63) & ~(uint64_t)63;
        if (!place_ok(inst, &u) || !args_ok(r, inst, &u)) return false;
        u.row += s->n_rows;
        u.aux += s->n_aux;
        u.input += s->n_inputs;
        u.bits += s->n_bits;
        u.full += s->n_full;
        u.frees += s->n_free;
    }
    return u.row == r->n_rows && u.aux == r->n_aux && u.input == r->n_inputs &&
           u.bits == r->n_bits && u.full == r->n_full && u.frees == r->n_free &&
           u.aux < CUZK_CALL_NOT;
}

static bool names_ok(const cuzk_r1cs *r) {
    if (r->n_names_bytes && r->names[r->n_names_bytes - 1] != '\0') return false;
    for (uint32_t i = 0; i < r->n_names; i++)
        if (r->name_offs[i] >= r->n_names_bytes) return false;
    for (uint32_t i = 0; i < r->n_paths; i++)
        if (r->paths[i].name >= r->n_names ||
            (r->paths[i].parent >= i && r->paths[i].parent != CUZK_R1CS_NONE))
            return false;
    return true;
}

static bool coefs_ok(const cuzk_r1cs *r) {
    if (r->n_coefs < CUZK_COEF_FIXED || r->n_coefs > 1u << 16) return false;
    for (uint32_t i = 0; i < r->n_coefs; i++)
        if (!r->fr->is_canonical(&r->coefs[i]) ||
            (r->coef_next[i] >= r->n_coefs && r->coef_next[i] != CUZK_R1CS_NONE))
            return false;
    return true;
}

cuzk_status cuzk_r1cs_validate(const cuzk_r1cs *r, cuzk_err *err) {
    uint32_t cols = 1;
    uint8_t *bit = NULL;
    const char *bad = !coefs_ok(r) ? "coefficients" : !names_ok(r) ? "names and paths" : NULL;
    for (uint32_t i = 0; i < r->n_shapes && !bad; i++) {
        if (!columns_ok(r, &r->shapes[i]))
            bad = "shapes";
        else if (cuzk_r1cs_shape_cols(&r->shapes[i]) > cols)
            cols = cuzk_r1cs_shape_cols(&r->shapes[i]);
    }
    if (!bad && cuzk_alloc((void **)&bit, cols, 1) != CUZK_OK)
        return cuzk_err_set(err, CUZK_STATUS_NO_MEMORY, "not enough memory");
    for (uint32_t i = 0; i < r->n_shapes && !bad; i++)
        if (!shape_ok(r, &r->shapes[i], bit)) bad = "rows";
    cuzk_free(bit);
    if (!bad && !insts_ok(r)) bad = "instances";
    if (!bad) return CUZK_OK;
    return cuzk_err_set(err, CUZK_STATUS_BAD_INPUT, "the table of %s is inconsistent", bad);
}
