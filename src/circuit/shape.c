/* Closing a block of the recorder: from flat wires to columns. */
#include "circuit/record_impl.h"

#include "base/hash.h"

#include <stdlib.h>

void cuzk__rec_oom(cuzk_recorder *r) {
    cuzk_cs_fail(&r->cs, CUZK_STATUS_NO_MEMORY, "not enough memory to record the circuit");
}

/* ---- ports ---- */

static int by_value(const void *x, const void *y) {
    const cuzk_wire a = *(const cuzk_wire *)x, b = *(const cuzk_wire *)y;
    return (a > b) - (a < b);
}

static void sort_wires(cuzk_vec *v) {
    cuzk_wire *w = v->data;
    size_t i = 1, n = 0;
    while (i < v->n && w[i - 1] <= w[i])
        i++;
    if (i < v->n) qsort(w, v->n, sizeof *w, by_value);
    for (i = 0; i < v->n; i++)
        if (i == 0 || w[i] != w[n - 1]) w[n++] = w[i];
    v->n = n;
}

/* The look-ups of cuzk_r1cs work on the finished instances. */
static void refresh_view(cuzk_recorder *r) {
    r->view.shapes = r->shapes.data;
    r->view.slots = r->slots.data;
    r->view.insts = r->insts.data;
    r->view.n_insts = (uint32_t)r->insts.n;
    r->view.n_aux = r->aux0;
    r->view.n_inputs = r->input0;
}

void cuzk__rec_sort_ports(cuzk_recorder *r) {
    sort_wires(&r->port_wires);
    refresh_view(r);
    r->port_runs.n = r->run_args.n = r->run_lens.n = 0;
    const size_t n = r->port_wires.n;
    uint32_t *run = cuzk_vec_grow(&r->port_runs, n);
    cuzk_r1cs_arg *args = cuzk_vec_grow(&r->run_args, n);
    cuzk_r1cs_port *lens = cuzk_vec_grow(&r->run_lens, n);
    if (n && (!run || !args || !lens)) {
        cuzk__rec_oom(r);
        return;
    }
    uint32_t k = 0, last = 0;
    for (size_t i = 0; i < n; i++) {
        const cuzk_wire w = CUZK__AT(cuzk_wire, r->port_wires, i);
        uint32_t slot = 0;
        if (!cuzk_r1cs_wire_slot(&r->view, w, &slot)) {
            cuzk_cs_fail(&r->cs, CUZK_STATUS_BUG, "an argument is no wire of the circuit");
            return;
        }
        if (i > 0 && w == CUZK__AT(cuzk_wire, r->port_wires, i - 1) + 1 && slot == last + 1) {
            lens[k - 1].len++;
        } else {
            lens[k] = (cuzk_r1cs_port){1, (slot & CUZK_SLOT_BIT) != 0};
            args[k++] = (cuzk_r1cs_arg){w, slot};
        }
        run[i] = k - 1;
        last = slot;
    }
    r->run_args.n = r->run_lens.n = k;
}

/* ---- columns ---- */

struct layout {
    uint32_t n_port_inputs, n_inputs, n_port_aux, n_aux;
};

static struct layout layout_of(const cuzk_recorder *r) {
    struct layout l = {0, r->cs.n_inputs - r->input0, 0, r->cs.n_aux - r->aux0};
    const cuzk_wire *w = r->port_wires.data;
    size_t lo = 0, hi = r->port_wires.n;
    while (lo < hi) {
        const size_t mid = (lo + hi) / 2;
        if (w[mid] & CUZK_WIRE_AUX)
            hi = mid;
        else
            lo = mid + 1;
    }
    l.n_port_inputs = (uint32_t)lo;
    l.n_port_aux = (uint32_t)(r->port_wires.n - lo);
    return l;
}

bool cuzk__rec_col(const cuzk_recorder *r, cuzk_wire w, uint32_t *col) {
    const struct layout l = layout_of(r);
    const bool aux = (w & CUZK_WIRE_AUX) != 0;
    const uint32_t i = w & ~CUZK_WIRE_AUX;
    *col = 0;
    if (w == CUZK_WIRE_ONE) return true;
    if (aux && i >= r->aux0) {
        *col = 1 + l.n_port_inputs + l.n_inputs + l.n_port_aux + (i - r->aux0);
        return i < r->cs.n_aux;
    }
    if (!aux && i >= r->input0) {
        *col = 1 + l.n_port_inputs + (i - r->input0);
        return i < r->cs.n_inputs;
    }
    const cuzk_wire *p = bsearch(&w, r->port_wires.data, r->port_wires.n, sizeof w, by_value);
    if (!p) return false;
    *col = 1 + (uint32_t)(p - (const cuzk_wire *)r->port_wires.data) + (aux ? l.n_inputs : 0);
    return true;
}

/* What a run of terms may be made of: bits with consecutive slots inside one port run, or of the
 * block itself. */
struct place {
    uint32_t run; /* UINT32_MAX - 1: own; UINT32_MAX: not a bit */
    uint32_t slot;
};

static struct place place_of(const cuzk_recorder *r, const cuzk_r1cs_shape *s, cuzk_wire w) {
    const struct place none = {UINT32_MAX, 0};
    const uint32_t i = w & ~CUZK_WIRE_AUX;
    if (w == CUZK_WIRE_ONE) return none;
    if (w & CUZK_WIRE_AUX ? i >= r->aux0 : i >= r->input0) {
        const uint32_t at = w & CUZK_WIRE_AUX ? s->n_inputs + i - r->aux0 : i - r->input0;
        const uint32_t slot = CUZK__AT(uint32_t, r->slots, s->slot0 + at);
        return slot & CUZK_SLOT_BIT ? (struct place){UINT32_MAX - 1, slot} : none;
    }
    const cuzk_wire *p = bsearch(&w, r->port_wires.data, r->port_wires.n, sizeof w, by_value);
    if (!p) return none;
    const uint32_t run =
        CUZK__AT(uint32_t, r->port_runs, p - (const cuzk_wire *)r->port_wires.data);
    const cuzk_r1cs_arg *arg = &CUZK__AT(cuzk_r1cs_arg, r->run_args, run);
    return arg->slot & CUZK_SLOT_BIT ? (struct place){run, arg->slot + (w - arg->wire)} : none;
}

static void put_slots(cuzk_recorder *r, cuzk_r1cs_shape *s) {
    uint32_t *out = cuzk_vec_grow(&r->slots, (size_t)s->n_inputs + s->n_aux);
    if (s->n_inputs + s->n_aux && !out) {
        cuzk__rec_oom(r);
        return;
    }
    for (uint32_t i = 0; i < s->n_inputs; i++)
        *out++ = s->n_full++;
    for (uint32_t i = 0; i < s->n_aux; i++) {
        const bool bit = CUZK__AT(cuzk__own, r->own_aux, i).bit;
        *out++ = bit ? CUZK_SLOT_BIT | s->n_bits++ : s->n_full++;
    }
}

/* ---- rows ---- */

/* Writes a linear combination with runs; returns whether it is small (see CUZK_ROW_SMALL). */
static bool put_lc(cuzk_recorder *r, const cuzk_r1cs_shape *s, const cuzk_flat_term *t,
                   uint32_t n) {
    bool small = true;
    cuzk_r1cs_term *last = NULL;
    struct place prev = {UINT32_MAX, 0};
    uint32_t prev_coef = 0, twice;
    for (uint32_t i = 0; i < n; i++) {
        uint32_t col;
        const struct place at = place_of(r, s, t[i].wire);
        if (!cuzk__rec_col(r, t[i].wire, &col)) {
            cuzk_cs_fail(&r->cs, CUZK_STATUS_BUG, "a gadget uses a wire that is no argument");
            return false;
        }
        if (t[i].coef > UINT16_MAX) {
            cuzk_cs_fail(&r->cs, CUZK_STATUS_BUG, "more than 65,536 different coefficients");
            return false;
        }
        if (last && at.run != UINT32_MAX && at.run == prev.run && at.slot == prev.slot + 1 &&
            last->len < CUZK_RUN_MAX && col == last->col + last->len &&
            cuzk_coefs_double(&r->cs.coefs, prev_coef, &twice) && t[i].coef == twice) {
            last->len++;
            small = false;
        } else {
            const cuzk_r1cs_term term = {col, (uint16_t)t[i].coef, 1};
            if (!cuzk_vec_push(&r->terms, &term)) {
                cuzk__rec_oom(r);
                return false;
            }
            last = &CUZK__AT(cuzk_r1cs_term, r->terms, r->terms.n - 1);
        }
        small = small && t[i].coef <= CUZK_COEF_MINUS_TWO &&
                (t[i].wire == CUZK_WIRE_ONE || at.run != UINT32_MAX);
        prev = at;
        prev_coef = t[i].coef;
    }
    return small;
}

static void put_rows(cuzk_recorder *r, cuzk_r1cs_shape *s) {
    cuzk_r1cs_row *out = cuzk_vec_grow(&r->rows, r->seg_rows.n + 1);
    if (!out) {
        cuzk__rec_oom(r);
        return;
    }
    const uint32_t term0 = s->term0;
    for (size_t i = 0; i < r->seg_rows.n && r->cs.status == CUZK_OK; i++) {
        const cuzk__seg_row *in = &CUZK__AT(cuzk__seg_row, r->seg_rows, i);
        const cuzk_flat_term *t = &CUZK__AT(cuzk_flat_term, r->seg_terms, in->term0);
        uint32_t solve = 0;
        cuzk__rec_col(r, in->solve, &solve);
        out->a = (uint32_t)r->terms.n - term0;
        bool small = put_lc(r, s, t, in->n[0]);
        out->b = (uint32_t)r->terms.n - term0;
        small &= put_lc(r, s, t + in->n[0], in->n[1]);
        out->c = (uint32_t)r->terms.n - term0;
        small &= put_lc(r, s, t + in->n[0] + in->n[1], in->n[2]);
        out->solve = solve | in->flags | (small ? CUZK_ROW_SMALL : 0);
        for (int m = 0; m < 3; m++) {
            s->nnz[m] += in->n[m];
            if (in->n[m] > s->max_terms) s->max_terms = in->n[m];
        }
        out++;
    }
    out->a = out->b = out->c = (uint32_t)r->terms.n - term0;
    out->solve = 0;
}

static void put_ops(cuzk_recorder *r, const cuzk_r1cs_shape *s) {
    for (size_t i = 0; i < r->seg_ops.n && r->cs.status == CUZK_OK; i++) {
        const cuzk__seg_op *in = &CUZK__AT(cuzk__seg_op, r->seg_ops, i);
        cuzk_r1cs_op op = {.row = in->row, .n = in->n_bits};
        cuzk__rec_col(r, in->wire, &op.col);
        op.term = (uint32_t)r->terms.n - s->term0;
        put_lc(r, s, &CUZK__AT(cuzk_flat_term, r->seg_terms, in->term0), in->n_terms);
        op.n_terms = (uint32_t)r->terms.n - s->term0 - op.term;
        if (!cuzk_vec_push(&r->ops, &op)) cuzk__rec_oom(r);
    }
}

static void put_frees(cuzk_recorder *r, const cuzk_r1cs_shape *s) {
    const uint32_t first = cuzk_r1cs_first_aux_col(s);
    for (uint32_t i = 0; i < s->n_aux; i++) {
        const cuzk__own *own = &CUZK__AT(cuzk__own, r->own_aux, i);
        const uint32_t col = first + i;
        if (own->state == CUZK__PENDING)
            cuzk_cs_fail(&r->cs, CUZK_STATUS_BUG, "a wire has no definition");
        if (own->state == CUZK__GIVEN && !cuzk_vec_push(&r->frees, &col)) cuzk__rec_oom(r);
    }
    for (uint32_t i = 0; i < s->n_inputs; i++)
        if (CUZK__AT(cuzk__own, r->own_inputs, i).state != CUZK__DEFINED)
            cuzk_cs_fail(&r->cs, CUZK_STATUS_BUG, "a public input has no definition");
}

uint32_t cuzk__rec_make_shape(cuzk_recorder *r, uint32_t name) {
    const struct layout l = layout_of(r);
    cuzk_r1cs_shape s = {
        .name = name,
        .row0 = (uint32_t)r->rows.n,
        .n_rows = (uint32_t)r->seg_rows.n,
        .term0 = (uint32_t)r->terms.n,
        .n_port_inputs = l.n_port_inputs,
        .n_inputs = l.n_inputs,
        .n_port_aux = l.n_port_aux,
        .n_aux = l.n_aux,
        .port0 = (uint32_t)r->ports.n,
        .n_ports = (uint32_t)r->run_lens.n,
        .slot0 = (uint32_t)r->slots.n,
        .free0 = (uint32_t)r->frees.n,
        .op0 = (uint32_t)r->ops.n,
        .scope0 = (uint32_t)r->scopes.n,
        .n_scopes = (uint32_t)r->seg_scopes.n,
    };
    put_slots(r, &s);
    put_rows(r, &s);
    put_ops(r, &s);
    put_frees(r, &s);
    s.n_terms = (uint32_t)r->terms.n - s.term0;
    s.n_ops = (uint32_t)r->ops.n - s.op0;
    s.n_free = (uint32_t)r->frees.n - s.free0;
    void *ports = cuzk_vec_grow(&r->ports, s.n_ports);
    void *scopes = cuzk_vec_grow(&r->scopes, s.n_scopes);
    if ((s.n_ports && !ports) || (s.n_scopes && !scopes) || !cuzk_vec_push(&r->shapes, &s)) {
        cuzk__rec_oom(r);
        return 0;
    }
    if (s.n_ports) memcpy(ports, r->run_lens.data, s.n_ports * r->ports.size);
    if (s.n_scopes) memcpy(scopes, r->seg_scopes.data, s.n_scopes * r->scopes.size);
    return (uint32_t)r->shapes.n - 1;
}

void cuzk__rec_drop_shape(cuzk_recorder *r, uint32_t shape) {
    const cuzk_r1cs_shape *s = &CUZK__AT(cuzk_r1cs_shape, r->shapes, shape);
    r->rows.n = s->row0;
    r->terms.n = s->term0;
    r->ports.n = s->port0;
    r->slots.n = s->slot0;
    r->frees.n = s->free0;
    r->ops.n = s->op0;
    r->scopes.n = s->scope0;
    r->shapes.n = shape;
}

/* ---- keys ---- */

void cuzk__rec_key_put(cuzk_recorder *r, const void *data, size_t n) {
    void *at = cuzk_vec_grow(&r->key, n);
    if (n && !at)
        cuzk__rec_oom(r);
    else if (n)
        memcpy(at, data, n);
}

void cuzk__rec_hash(cuzk_recorder *r, uint8_t key[32]) {
    memset(key, 0, 32);
    if (cuzk_hash_once(CUZK_HASH_BLAKE2S_256, r->key.data, r->key.n, key) != CUZK_OK)
        cuzk_cs_fail(&r->cs, CUZK_STATUS_BUG, "BLAKE2s failed");
    r->key.n = 0;
}

void cuzk__rec_shape_key(cuzk_recorder *r, uint32_t shape, uint8_t key[32]) {
    const cuzk_r1cs_shape *s = &CUZK__AT(cuzk_r1cs_shape, r->shapes, shape);
    cuzk_r1cs_shape id = *s; /* what does not depend on where the tables are */
    id.row0 = id.term0 = id.port0 = id.slot0 = id.free0 = id.op0 = id.scope0 = 0;
    r->key.n = 0;
    cuzk__rec_key_put(r, &id, sizeof id);
#define PUT(type, table, at, n)                                                                    \
    if (n) cuzk__rec_key_put(r, &CUZK__AT(type, r->table, at), (size_t)(n) * sizeof(type))
    PUT(cuzk_r1cs_row, rows, s->row0, s->n_rows + 1);
    PUT(cuzk_r1cs_term, terms, s->term0, s->n_terms);
    PUT(cuzk_r1cs_port, ports, s->port0, s->n_ports);
    PUT(uint32_t, slots, s->slot0, s->n_inputs + s->n_aux);
    PUT(uint32_t, frees, s->free0, s->n_free);
    PUT(cuzk_r1cs_op, ops, s->op0, s->n_ops);
    PUT(cuzk_r1cs_scope, scopes, s->scope0, s->n_scopes);
#undef PUT
    cuzk__rec_hash(r, key);
}

static uint32_t key_start(const uint8_t key[32], uint32_t size) {
    uint32_t h;
    memcpy(&h, key, sizeof h);
    return h & (size - 1);
}

static bool grow_known(cuzk_recorder *r) {
    const uint32_t size = r->known_size ? 2 * r->known_size : 256;
    cuzk__known *table = NULL;
    if (cuzk_alloc((void **)&table, size, sizeof *table) != CUZK_OK) return false;
    for (uint32_t i = 0; i < r->known_size; i++) {
        if (!r->known[i].used) continue;
        uint32_t j = key_start(r->known[i].key, size);
        while (table[j].used)
            j = (j + 1) & (size - 1);
        table[j] = r->known[i];
    }
    cuzk_free(r->known);
    r->known = table;
    r->known_size = size;
    return true;
}

cuzk__known *cuzk__rec_find(cuzk_recorder *r, const uint8_t key[32]) {
    if (2 * r->n_known >= r->known_size && !grow_known(r)) {
        cuzk__rec_oom(r);
        return NULL;
    }
    uint32_t i = key_start(key, r->known_size);
    while (r->known[i].used && memcmp(r->known[i].key, key, 32) != 0)
        i = (i + 1) & (r->known_size - 1);
    return &r->known[i];
}

uint32_t cuzk__rec_name(cuzk_recorder *r, const char *name) {
    for (uint32_t i = 0; i < r->name_offs.n; i++)
        if (strcmp((const char *)r->names.data + CUZK__AT(uint32_t, r->name_offs, i), name) == 0)
            return i;
    const uint32_t at = (uint32_t)r->names.n;
    const size_t n = strlen(name) + 1;
    char *out = cuzk_vec_grow(&r->names, n);
    if (!out || !cuzk_vec_push(&r->name_offs, &at)) {
        cuzk__rec_oom(r);
        return 0;
    }
    memcpy(out, name, n);
    return (uint32_t)r->name_offs.n - 1;
}
