#include "circuit/record_impl.h"

static cuzk_recorder *rec_of(cuzk_cs *cs) {
    return (cuzk_recorder *)cs;
}

/* ---- blocks ---- */

static void begin_block(cuzk_recorder *r) {
    r->aux0 = r->cs.n_aux;
    r->input0 = r->cs.n_inputs;
    r->row0 = r->cs.n_rows;
    r->seg_terms.n = r->seg_rows.n = r->seg_ops.n = r->seg_scopes.n = r->open_scopes.n = 0;
    r->own_aux.n = r->own_inputs.n = 0;
    r->bits_left = 0;
}

/* An instance of `shape` at the place where the open block began, with the sorted ports. */
static void add_instance(cuzk_recorder *r, uint32_t shape) {
    const cuzk_r1cs_shape *s = &CUZK__AT(cuzk_r1cs_shape, r->shapes, shape);
    const cuzk_r1cs_inst inst = {
        .shape = shape,
        .row0 = r->row0,
        .aux0 = r->aux0,
        .input0 = r->input0,
        .bit0 = (r->view.n_bits + 63) & ~63u,
        .full0 = r->view.n_full,
        .free0 = r->view.n_free,
        .arg0 = (uint32_t)r->args.n,
        .path = r->path,
    };
    void *args = cuzk_vec_grow(&r->args, r->run_args.n);
    if ((r->run_args.n && !args) || !cuzk_vec_push(&r->insts, &inst)) {
        cuzk__rec_oom(r);
        return;
    }
    if (r->run_args.n) memcpy(args, r->run_args.data, r->run_args.n * r->args.size);
    r->view.n_bits = inst.bit0 + s->n_bits;
    r->view.n_full += s->n_full;
    r->view.n_free += s->n_free;
    r->cs.n_aux = r->aux0 + s->n_aux;
    r->cs.n_inputs = r->input0 + s->n_inputs;
    r->cs.n_rows = r->row0 + s->n_rows;
    if (r->cs.n_aux >= CUZK_NOT)
        cuzk_cs_fail(&r->cs, CUZK_STATUS_USAGE, "the circuit has more than 2^30 wires");
}

static void note_port(cuzk_recorder *r, cuzk_wire w) {
    const uint32_t i = w & ~CUZK_WIRE_AUX;
    if (w == CUZK_WIRE_ONE || (w & CUZK_WIRE_AUX ? i >= r->aux0 : i >= r->input0)) return;
    if (!cuzk_vec_push(&r->port_wires, &w)) cuzk__rec_oom(r);
}

/* Closes the rows between calls: a shape if there is none with the same content, an instance. */
static void close_loose(cuzk_recorder *r) {
    uint8_t key[32];
    if (r->in_call || r->cs.status != CUZK_OK) return;
    if (r->cs.n_aux == r->aux0 && r->cs.n_inputs == r->input0 && r->seg_rows.n == 0) return;
    r->port_wires.n = 0;
    for (size_t i = 0; i < r->seg_terms.n; i++)
        note_port(r, CUZK__AT(cuzk_flat_term, r->seg_terms, i).wire);
    cuzk__rec_sort_ports(r);
    if (r->cs.status != CUZK_OK) return;
    uint32_t shape = cuzk__rec_make_shape(r, CUZK_R1CS_NONE);
    if (r->cs.status != CUZK_OK) return;
    cuzk__rec_shape_key(r, shape, key);
    cuzk__known *known = cuzk__rec_find(r, key);
    if (!known) return;
    if (known->used) {
        cuzk__rec_drop_shape(r, shape);
        shape = known->shape;
    } else {
        memcpy(known->key, key, sizeof key);
        known->shape = shape;
        known->used = 1;
        r->n_known++;
    }
    add_instance(r, shape);
    begin_block(r);
}

/* ---- what gadgets call ---- */

static cuzk_wire rec_alloc(cuzk_cs *cs, cuzk_alloc_kind kind, unsigned cls) {
    cuzk_recorder *r = rec_of(cs);
    cuzk__own own = {CUZK__PENDING, (cls & CUZK_CLASS_BIT) != 0};
    if (cls & CUZK_CLASS_FREE) own.state = CUZK__GIVEN;
    if (kind == CUZK_ALLOC_INPUT) {
        if (!cuzk_vec_push(&r->own_inputs, &own)) cuzk__rec_oom(r);
        return cs->n_inputs++;
    }
    if (r->bits_left) {
        r->bits_left--;
        own.state = CUZK__DEFINED;
    }
    if (!cuzk_vec_push(&r->own_aux, &own)) cuzk__rec_oom(r);
    return CUZK_WIRE_AUX | cs->n_aux++;
}

static cuzk__own *own_of(cuzk_recorder *r, cuzk_wire w) {
    const uint32_t i = w & ~CUZK_WIRE_AUX;
    if (w & CUZK_WIRE_AUX)
        return i >= r->aux0 ? &CUZK__AT(cuzk__own, r->own_aux, i - r->aux0) : NULL;
    return i >= r->input0 ? &CUZK__AT(cuzk__own, r->own_inputs, i - r->input0) : NULL;
}

/* Finds the wire this row defines: an undefined one in C, with coefficient ±1, or the whole of A
 * against ONE. */
static void find_solved(cuzk_recorder *r, cuzk__seg_row *row, const cuzk_flat_term *t) {
    const cuzk_flat_term *b = t + row->n[0], *c = b + row->n[1];
    for (uint32_t i = 0; i < row->n[2]; i++) {
        cuzk__own *own = own_of(r, c[i].wire);
        if (!own || own->state != CUZK__PENDING || c[i].coef > CUZK_COEF_MINUS_ONE) continue;
        own->state = CUZK__DEFINED;
        row->solve = c[i].wire;
        row->flags = c[i].coef == CUZK_COEF_MINUS_ONE ? CUZK_ROW_NEG : 0;
        return;
    }
    if (row->n[0] == 1 && row->n[1] == 1 && t->coef == CUZK_COEF_ONE && b->coef == CUZK_COEF_ONE &&
        b->wire == CUZK_WIRE_ONE) {
        cuzk__own *own = own_of(r, t->wire);
        if (!own || own->state != CUZK__PENDING) return;
        own->state = CUZK__DEFINED;
        row->solve = t->wire;
        row->flags = CUZK_ROW_IN_A;
    }
}

static void rec_row(cuzk_cs *cs, const cuzk_flat_term *t, const uint32_t n[3]) {
    cuzk_recorder *r = rec_of(cs);
    const uint32_t all = n[0] + n[1] + n[2];
    cuzk__seg_row row = {(uint32_t)r->seg_terms.n, {n[0], n[1], n[2]}, CUZK_WIRE_ONE, 0};
    cuzk_flat_term *out = cuzk_vec_grow(&r->seg_terms, all);
    if (all && !out) {
        cuzk__rec_oom(r);
        return;
    }
    if (all) {
        memcpy(out, t, all * sizeof *t);
        find_solved(r, &row, out);
    }
    if (!cuzk_vec_push(&r->seg_rows, &row)) cuzk__rec_oom(r);
}

static void rec_bits(cuzk_cs *cs, uint32_t n_bits, const cuzk_flat_term *t, uint32_t n) {
    cuzk_recorder *r = rec_of(cs);
    const cuzk__seg_op op = {(uint32_t)r->seg_rows.n, CUZK_WIRE_AUX | cs->n_aux, n_bits,
                             (uint32_t)r->seg_terms.n, n};
    cuzk_flat_term *out = cuzk_vec_grow(&r->seg_terms, n);
    if ((n && !out) || !cuzk_vec_push(&r->seg_ops, &op)) {
        cuzk__rec_oom(r);
        return;
    }
    if (n) memcpy(out, t, n * sizeof *t);
    r->bits_left = n_bits;
}

static void rec_push(cuzk_cs *cs, const char *name, uint32_t index) {
    cuzk_recorder *r = rec_of(cs);
    const uint32_t id = cuzk__rec_name(r, name);
    if (r->in_call) {
        const uint32_t at = (uint32_t)r->seg_scopes.n;
        const cuzk_r1cs_scope s = {(uint32_t)r->seg_rows.n, UINT32_MAX, id, index};
        if (!cuzk_vec_push(&r->seg_scopes, &s) || !cuzk_vec_push(&r->open_scopes, &at))
            cuzk__rec_oom(r);
        return;
    }
    close_loose(r);
    const cuzk_r1cs_path p = {r->path, id, index};
    if (!cuzk_vec_push(&r->paths, &p)) {
        cuzk__rec_oom(r);
        return;
    }
    r->path = (uint32_t)r->paths.n - 1;
}

static void rec_pop(cuzk_cs *cs) {
    cuzk_recorder *r = rec_of(cs);
    if (r->in_call) {
        if (r->open_scopes.n == 0) return;
        const uint32_t at = CUZK__AT(uint32_t, r->open_scopes, --r->open_scopes.n);
        CUZK__AT(cuzk_r1cs_scope, r->seg_scopes, at).row1 = (uint32_t)r->seg_rows.n;
        return;
    }
    close_loose(r);
    if (r->path != CUZK_R1CS_NONE) r->path = CUZK__AT(cuzk_r1cs_path, r->paths, r->path).parent;
}

struct call {
    const cuzk_gadget *g;
    const void *params;
    size_t params_len; /* a multiple of 4 */
    const uint32_t *in;
    uint32_t n_in;
};

/* The key of a call: gadget, parameters, and the pattern of the arguments against the sorted
 * ports. */
static void call_key(cuzk_recorder *r, const struct call *c, uint8_t key[32]) {
    r->key.n = 0;
    cuzk__rec_key_put(r, "call", 4);
    cuzk__rec_key_put(r, c->g->name, strlen(c->g->name) + 1);
    cuzk__rec_key_put(r, c->params, c->params_len);
    for (size_t i = 0; i < r->run_lens.n; i++) {
        const cuzk_r1cs_arg *arg = &CUZK__AT(cuzk_r1cs_arg, r->run_args, i);
        const uint32_t run[2] = {CUZK__AT(cuzk_r1cs_port, r->run_lens, i).len,
                                 (uint32_t)((arg->slot & CUZK_SLOT_BIT) != 0) |
                                     (uint32_t)((arg->wire & CUZK_WIRE_AUX) != 0) << 1};
        cuzk__rec_key_put(r, run, sizeof run);
    }
    for (uint32_t i = 0; i < c->n_in; i++) {
        uint32_t col;
        if (!cuzk__rec_col(r, cuzk_bit_wire(c->in[i]), &col))
            cuzk_cs_fail(&r->cs, CUZK_STATUS_BUG, "an argument is no wire of the circuit");
        col |= c->in[i] & CUZK_NOT;
        cuzk__rec_key_put(r, &col, sizeof col);
    }
    cuzk__rec_hash(r, key);
}

/* Notes parameters and arguments of the call that made a shape. */
static void keep_call(cuzk_recorder *r, uint32_t shape, const struct call *c) {
    cuzk_r1cs_shape *s = &CUZK__AT(cuzk_r1cs_shape, r->shapes, shape);
    s->call0 = (uint32_t)r->calls.n;
    s->n_params = (uint32_t)(c->params_len / 4);
    s->n_args = c->n_in;
    uint32_t *out = cuzk_vec_grow(&r->calls, (size_t)s->n_params + s->n_args);
    if (s->n_params + s->n_args && !out) {
        cuzk__rec_oom(r);
        return;
    }
    if (s->n_params) memcpy(out, c->params, 4 * (size_t)s->n_params);
    for (uint32_t i = 0; i < c->n_in; i++) {
        uint32_t *col = &out[s->n_params + i];
        cuzk__rec_col(r, cuzk_bit_wire(c->in[i]), col);
        if (cuzk_bit_is_not(c->in[i])) *col |= CUZK_CALL_NOT;
    }
}

/* Runs a gadget that was not seen before and keeps its shape and results. */
static void record_call(cuzk_recorder *r, const struct call *c, uint32_t *out, uint32_t n_out,
                        const uint8_t key[32]) {
    const cuzk_gadget *g = c->g;
    r->in_call = true;
    g->body(&r->cs, c->params, c->in, out);
    r->in_call = false;
    if (r->cs.status != CUZK_OK) return;
    const uint32_t shape = cuzk__rec_make_shape(r, cuzk__rec_name(r, g->name));
    if (r->cs.status == CUZK_OK) keep_call(r, shape, c);
    cuzk__known *known = cuzk__rec_find(r, key);
    uint32_t *cols = cuzk_vec_grow(&r->outs, n_out);
    if (r->cs.status != CUZK_OK || !known) return;
    if (n_out && !cols) {
        cuzk__rec_oom(r);
        return;
    }
    for (uint32_t i = 0; i < n_out; i++) {
        if (!cuzk__rec_col(r, cuzk_bit_wire(out[i]), &cols[i]))
            cuzk_cs_fail(&r->cs, CUZK_STATUS_BUG, "a result is no wire of the gadget");
        cols[i] |= out[i] & CUZK_NOT;
    }
    memcpy(known->key, key, 32);
    known->shape = shape;
    known->out0 = (uint32_t)(r->outs.n - n_out);
    known->used = 1;
    r->n_known++;
    add_instance(r, shape);
}

/* A wire of an instance from its column. */
static cuzk_wire wire_of_col(const cuzk_recorder *r, const cuzk_r1cs_shape *s, uint32_t col) {
    const uint32_t own_in = cuzk_r1cs_first_input_col(s), own_aux = cuzk_r1cs_first_aux_col(s);
    if (col == 0) return CUZK_WIRE_ONE;
    if (col >= own_aux) return CUZK_WIRE_AUX | (r->aux0 + (col - own_aux));
    if (col < own_in) return CUZK__AT(cuzk_wire, r->port_wires, col - 1);
    if (col < own_in + s->n_inputs) return r->input0 + (col - own_in);
    return CUZK__AT(cuzk_wire, r->port_wires, col - 1 - s->n_inputs);
}

static void rec_call(cuzk_cs *cs, const cuzk_gadget *g, const void *params, size_t params_len,
                     const uint32_t *in, uint32_t n_in, uint32_t *out, uint32_t n_out) {
    cuzk_recorder *r = rec_of(cs);
    const struct call c = {g, params, params_len, in, n_in};
    uint8_t key[32];
    if (r->in_call) {
        rec_push(cs, g->name, CUZK_R1CS_NONE);
        g->body(cs, params, in, out);
        rec_pop(cs);
        return;
    }
    close_loose(r);
    begin_block(r);
    r->port_wires.n = 0;
    for (uint32_t i = 0; i < n_in; i++)
        note_port(r, cuzk_bit_wire(in[i]));
    cuzk__rec_sort_ports(r);
    if (cs->status == CUZK_OK) call_key(r, &c, key);
    const cuzk__known *known = cs->status == CUZK_OK ? cuzk__rec_find(r, key) : NULL;
    if (known && known->used) {
        const cuzk_r1cs_shape *s = &CUZK__AT(cuzk_r1cs_shape, r->shapes, known->shape);
        for (uint32_t i = 0; i < n_out; i++) {
            const uint32_t col = CUZK__AT(uint32_t, r->outs, known->out0 + i);
            out[i] = wire_of_col(r, s, col & ~CUZK_NOT) | (col & CUZK_NOT);
        }
        add_instance(r, known->shape);
    } else if (known) {
        record_call(r, &c, out, n_out, key);
    }
    begin_block(r);
}

static const cuzk_cs_ops rec_ops = {rec_alloc, rec_row, rec_bits, rec_call, rec_push, rec_pop};

/* ---- life ---- */

cuzk_status cuzk_recorder_new(cuzk_recorder **out, const void *shared) {
    cuzk_recorder *r = NULL;
    *out = NULL;
    CUZK_TRY(cuzk_alloc((void **)&r, 1, sizeof *r));
    const cuzk_status st = cuzk_cs_init(&r->cs, &rec_ops);
    if (st != CUZK_OK) {
        cuzk_recorder_free(r);
        return st;
    }
    r->cs.shared = shared;
    r->path = CUZK_R1CS_NONE;
    cuzk_vec_init(&r->terms, sizeof(cuzk_r1cs_term));
    cuzk_vec_init(&r->rows, sizeof(cuzk_r1cs_row));
    cuzk_vec_init(&r->ops, sizeof(cuzk_r1cs_op));
    cuzk_vec_init(&r->scopes, sizeof(cuzk_r1cs_scope));
    cuzk_vec_init(&r->paths, sizeof(cuzk_r1cs_path));
    cuzk_vec_init(&r->shapes, sizeof(cuzk_r1cs_shape));
    cuzk_vec_init(&r->ports, sizeof(cuzk_r1cs_port));
    cuzk_vec_init(&r->slots, sizeof(uint32_t));
    cuzk_vec_init(&r->frees, sizeof(uint32_t));
    cuzk_vec_init(&r->calls, sizeof(uint32_t));
    cuzk_vec_init(&r->insts, sizeof(cuzk_r1cs_inst));
    cuzk_vec_init(&r->args, sizeof(cuzk_r1cs_arg));
    cuzk_vec_init(&r->names, 1);
    cuzk_vec_init(&r->name_offs, sizeof(uint32_t));
    cuzk_vec_init(&r->seg_terms, sizeof(cuzk_flat_term));
    cuzk_vec_init(&r->seg_rows, sizeof(cuzk__seg_row));
    cuzk_vec_init(&r->seg_ops, sizeof(cuzk__seg_op));
    cuzk_vec_init(&r->seg_scopes, sizeof(cuzk_r1cs_scope));
    cuzk_vec_init(&r->open_scopes, sizeof(uint32_t));
    cuzk_vec_init(&r->own_aux, sizeof(cuzk__own));
    cuzk_vec_init(&r->own_inputs, sizeof(cuzk__own));
    cuzk_vec_init(&r->port_wires, sizeof(cuzk_wire));
    cuzk_vec_init(&r->port_runs, sizeof(uint32_t));
    cuzk_vec_init(&r->run_args, sizeof(cuzk_r1cs_arg));
    cuzk_vec_init(&r->run_lens, sizeof(cuzk_r1cs_port));
    cuzk_vec_init(&r->outs, sizeof(uint32_t));
    cuzk_vec_init(&r->key, 1);
    begin_block(r);
    *out = r;
    return CUZK_OK;
}

cuzk_cs *cuzk_recorder_cs(cuzk_recorder *r) {
    return &r->cs;
}

/* Moves a table out of its vector, cut to size. */
static void *take(cuzk_vec *v, uint32_t *n) {
    void *data = v->data;
    *n = (uint32_t)v->n;
    if (data && v->n && cuzk_realloc(&data, v->n, v->size) != CUZK_OK) data = v->data;
    v->data = NULL;
    v->n = v->cap = 0;
    return data;
}

cuzk_status cuzk_recorder_finish(cuzk_recorder *r, cuzk_r1cs **out, cuzk_err *err) {
    cuzk_r1cs *c = NULL;
    *out = NULL;
    close_loose(r);
    if (r->cs.status != CUZK_OK) return cuzk_err_set(err, r->cs.status, "%s", r->cs.err.msg);
    CUZK_TRY(cuzk_alloc((void **)&c, 1, sizeof *c));
    c->fr = &cuzk_bls12_381_fr_ops;
    c->n_rows = r->cs.n_rows;
    c->n_inputs = r->cs.n_inputs;
    c->n_aux = r->cs.n_aux;
    c->n_bits = r->view.n_bits;
    c->n_full = r->view.n_full;
    c->n_free = r->view.n_free;
    if (cuzk_alloc((void **)&c->coef_next, r->cs.coefs.n, sizeof *c->coef_next) != CUZK_OK) {
        cuzk_free(c);
        return CUZK_STATUS_NO_MEMORY;
    }
    for (uint32_t i = 0; i < r->cs.coefs.n; i++)
        if (!cuzk_coefs_double(&r->cs.coefs, i, &c->coef_next[i])) c->coef_next[i] = CUZK_R1CS_NONE;
    c->coefs = r->cs.coefs.v;
    c->n_coefs = r->cs.coefs.n;
    r->cs.coefs.v = NULL;
    c->terms = take(&r->terms, &c->n_terms);
    c->rows = take(&r->rows, &c->n_shape_rows);
    c->ops = take(&r->ops, &c->n_ops);
    c->scopes = take(&r->scopes, &c->n_scopes);
    c->paths = take(&r->paths, &c->n_paths);
    c->shapes = take(&r->shapes, &c->n_shapes);
    c->ports = take(&r->ports, &c->n_ports);
    c->slots = take(&r->slots, &c->n_slots);
    c->frees = take(&r->frees, &c->n_frees);
    c->calls = take(&r->calls, &c->n_calls);
    c->insts = take(&r->insts, &c->n_insts);
    c->args = take(&r->args, &c->n_args);
    c->names = take(&r->names, &c->n_names_bytes);
    c->name_offs = take(&r->name_offs, &c->n_names);
    *out = c;
    return CUZK_OK;
}

void cuzk_recorder_free(cuzk_recorder *r) {
    if (!r) return;
    cuzk_vec *all[] = {&r->terms,      &r->rows,       &r->ops,         &r->scopes,
                       &r->paths,      &r->shapes,     &r->ports,       &r->slots,
                       &r->frees,      &r->calls,      &r->insts,       &r->args,
                       &r->names,      &r->name_offs,  &r->seg_terms,   &r->seg_rows,
                       &r->seg_ops,    &r->seg_scopes, &r->open_scopes, &r->own_aux,
                       &r->own_inputs, &r->port_wires, &r->port_runs,   &r->run_args,
                       &r->run_lens,   &r->outs,       &r->key};
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)
        cuzk_vec_free(all[i]);
    cuzk_free(r->known);
    cuzk_cs_fini(&r->cs);
    cuzk_free(r);
}
