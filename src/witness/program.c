#include "witness/program.h"

#include "base/mem.h"
#include "field/fields.h"
#include "r1cs/vec.h"
#include "witness/plan.h"

#include <stdlib.h>
#include <string.h>

/* Constants that stand in the table already. */
typedef struct {
    uint32_t at, n;
} known_consts;

struct cuzk_work_builder {
    const cuzk_r1cs *r;
    const cuzk_witness_plan *plan;
    const cuzk_r1cs_shape *shape; /* that is being described */
    cuzk_vec works, inputs, consts, ops, rows, terms, items, args, steps;
    cuzk_vec known;     /* of known_consts */
    uint32_t *work_of;  /* by shape: its work, or NONE */
    uint8_t *own_free;  /* by entry of r->slots: whether the wire is free */
    uint32_t *level_of; /* by instance; 0: it computes nothing */
    uint8_t *lane_of;   /* by instance */
    uint32_t *step_of;  /* by instance */
    uint32_t *free_slots;
};

/* ---- describing shapes ---- */

static cuzk_status unfit(cuzk_work_builder *b, const char *what, cuzk_err *err) {
    const cuzk_r1cs_shape *s = b->shape;
    return cuzk_err_set(err, CUZK_STATUS_USAGE, "a device cannot make this witness: %s of block %s",
                        what,
                        s->name == CUZK_R1CS_NONE ? "" : b->r->names + b->r->name_offs[s->name]);
}

/* False: the column does not fit into an operand. */
static bool operand_of(const cuzk_work_builder *b, uint32_t col, cuzk_operand *out) {
    const cuzk_r1cs *r = b->r;
    const cuzk_r1cs_shape *s = b->shape;
    const uint32_t own_in = cuzk_r1cs_first_input_col(s), own_aux = cuzk_r1cs_first_aux_col(s);
    *out = CUZK_OPERAND_ONE << CUZK_OPERAND_WHAT;
    if (col == 0) return true;
    if (col >= own_aux || (col >= own_in && col < own_in + s->n_inputs)) {
        const uint32_t k = col >= own_aux ? s->n_inputs + (col - own_aux) : col - own_in;
        const uint32_t slot = r->slots[s->slot0 + k], at = slot & ~CUZK_SLOT_BIT;
        const uint32_t what = slot & CUZK_SLOT_BIT ? CUZK_OPERAND_OWN_BIT : CUZK_OPERAND_OWN_FULL;
        *out = what << CUZK_OPERAND_WHAT | at;
        return at <= CUZK_OPERAND_OWN_MOST;
    }
    uint32_t first = 1, run = 0;
    for (;; run++) {
        if (first == own_in) first += s->n_inputs;
        if (col < first + r->ports[s->port0 + run].len) break;
        first += r->ports[s->port0 + run].len;
    }
    const uint32_t what =
        r->ports[s->port0 + run].bit ? CUZK_OPERAND_PORT_BIT : CUZK_OPERAND_PORT_FULL;
    *out = what << CUZK_OPERAND_WHAT | run << CUZK_OPERAND_RUN | (col - first);
    return run <= CUZK_OPERAND_RUNS_MOST && col - first <= CUZK_OPERAND_PLACE_MOST;
}

cuzk_status cuzk_work_add_inputs(cuzk_work_builder *b, cuzk_work *work, const uint32_t *columns,
                                 uint32_t n) {
    cuzk_operand *to = cuzk_vec_grow(&b->inputs, n);
    if (!to) return CUZK_STATUS_NO_MEMORY;
    for (uint32_t i = 0; i < n; i++) {
        if (!operand_of(b, columns[i] & ~CUZK_CALL_NOT, &to[i])) return CUZK_STATUS_USAGE;
        if (columns[i] & CUZK_CALL_NOT) to[i] |= CUZK_OPERAND_NOT;
    }
    work->n_in += n;
    return CUZK_OK;
}

cuzk_status cuzk_work_add_own(cuzk_work_builder *b, cuzk_work *work, bool bits, uint32_t n) {
    const uint32_t what = bits ? CUZK_OPERAND_OWN_BIT : CUZK_OPERAND_OWN_FULL;
    uint32_t *first = bits ? &work->out_bit : &work->out_full;
    cuzk_operand *to = cuzk_vec_grow(&b->inputs, n);
    if (!to) return CUZK_STATUS_NO_MEMORY;
    for (uint32_t i = 0; i < n; i++)
        to[i] = what << CUZK_OPERAND_WHAT | (*first + i);
    *first += n;
    work->n_in += n;
    return CUZK_OK;
}

cuzk_status cuzk_work_add_consts(cuzk_work_builder *b, uint32_t *at, const cuzk_u256 *const *from,
                                 const uint32_t *n, uint32_t n_parts) {
    known_consts now = {(uint32_t)b->consts.n, 0};
    for (uint32_t i = 0; i < n_parts; i++) {
        cuzk_u256 *to = cuzk_vec_grow(&b->consts, n[i]);
        if (!to) return CUZK_STATUS_NO_MEMORY;
        memcpy(to, from[i], n[i] * sizeof *to);
        now.n += n[i];
    }
    *at = now.at;
    const cuzk_u256 *all = b->consts.data;
    const known_consts *k = b->known.data;
    for (size_t i = 0; i < b->known.n; i++) {
        if (k[i].n != now.n || memcmp(all + k[i].at, all + now.at, now.n * sizeof *all) != 0)
            continue;
        b->consts.n = now.at;
        *at = k[i].at;
        return CUZK_OK;
    }
    return cuzk_vec_push(&b->known, &now) ? CUZK_OK : CUZK_STATUS_NO_MEMORY;
}

cuzk_sha256_op *cuzk_work_add_sha256(cuzk_work_builder *b, cuzk_work *work) {
    work->op0 = (uint32_t)b->ops.n;
    return cuzk_vec_grow(&b->ops, CUZK_SHA256_OPS);
}

/* but: a column that is left out, or 0. */
static cuzk_status add_terms(cuzk_work_builder *b, uint32_t from, uint32_t to, uint32_t but) {
    const cuzk_r1cs_term *t = b->r->terms + b->shape->term0;
    for (uint32_t i = from; i < to; i++) {
        if (but && t[i].col == but) continue;
        cuzk_work_term term = {.coef = t[i].coef, .len = t[i].len};
        if (!operand_of(b, t[i].col, &term.at)) return CUZK_STATUS_USAGE;
        if (!cuzk_vec_push(&b->terms, &term)) return CUZK_STATUS_NO_MEMORY;
    }
    return CUZK_OK;
}

static cuzk_status add_row(cuzk_work_builder *b, const cuzk_r1cs_row *row, uint32_t k) {
    cuzk_work_row out = {.a = (uint32_t)b->terms.n, .row = k};
    if (row->solve & CUZK_ROW_NEG) out.flags |= CUZK_WORK_NEG;
    if (row->solve & CUZK_ROW_IN_A) out.flags |= CUZK_WORK_IN_A;
    if (!operand_of(b, row->solve & CUZK_ROW_COL, &out.to)) return CUZK_STATUS_USAGE;
    CUZK_TRY(add_terms(b, row->a, row->b, 0));
    out.b = (uint32_t)b->terms.n;
    CUZK_TRY(add_terms(b, row->b, row->c, 0));
    out.c = (uint32_t)b->terms.n;
    CUZK_TRY(add_terms(b, row->c, row[1].a, row->solve & CUZK_ROW_COL));
    out.end = (uint32_t)b->terms.n;
    return cuzk_vec_push(&b->rows, &out) ? CUZK_OK : CUZK_STATUS_NO_MEMORY;
}

static cuzk_status add_decomposition(cuzk_work_builder *b, const cuzk_r1cs_op *op) {
    cuzk_work_row out = {
        .a = (uint32_t)b->terms.n, .flags = CUZK_WORK_DECOMPOSE | op->n, .row = op->row};
    if (op->n > 255 || !operand_of(b, op->col, &out.to)) return CUZK_STATUS_USAGE;
    CUZK_TRY(add_terms(b, op->term, op->term + op->n_terms, 0));
    out.b = out.c = out.end = (uint32_t)b->terms.n;
    return cuzk_vec_push(&b->rows, &out) ? CUZK_OK : CUZK_STATUS_NO_MEMORY;
}

static cuzk_status add_rows(cuzk_work_builder *b, cuzk_work *work) {
    const cuzk_r1cs *r = b->r;
    const cuzk_r1cs_shape *s = b->shape;
    uint32_t op = 0;
    work->kind = CUZK_WORK_ROWS;
    work->row0 = (uint32_t)b->rows.n;
    for (uint32_t k = 0; k < s->n_rows; k++) {
        for (; op < s->n_ops && r->ops[s->op0 + op].row == k; op++)
            CUZK_TRY(add_decomposition(b, &r->ops[s->op0 + op]));
        const cuzk_r1cs_row *row = r->rows + s->row0 + k;
        if (row->solve & CUZK_ROW_COL) CUZK_TRY(add_row(b, row, k));
    }
    work->n_rows = (uint32_t)b->rows.n - work->row0;
    return CUZK_OK;
}

static cuzk_status describe_shape(cuzk_work_builder *b, uint32_t i, cuzk_err *err) {
    const cuzk_filler *filler = b->plan->filler[i];
    cuzk_work work = {.in0 = (uint32_t)b->inputs.n};
    b->shape = &b->r->shapes[i];
    b->work_of[i] = CUZK_R1CS_NONE;
    work.n_bits = b->shape->n_bits;
    const cuzk_status st = filler && filler->describe
                               ? filler->describe(b->plan->state[i], b, &work)
                               : add_rows(b, &work);
    if (st == CUZK_STATUS_USAGE) return unfit(b, "a column or a run", err);
    if (st != CUZK_OK) return st;
    if (work.kind == CUZK_WORK_ROWS && work.n_rows == 0) return CUZK_OK;
    b->work_of[i] = (uint32_t)b->works.n;
    return cuzk_vec_push(&b->works, &work) ? CUZK_OK : CUZK_STATUS_NO_MEMORY;
}

/* ---- order ---- */

/* The instance that owns a wire: the last one whose own wires begin at or before it. */
static uint32_t owner(const cuzk_r1cs *r, cuzk_wire w) {
    const uint32_t i = w & ~CUZK_WIRE_AUX;
    uint32_t lo = 0, hi = r->n_insts;
    while (hi - lo > 1) {
        const uint32_t mid = lo + (hi - lo) / 2;
        if ((w & CUZK_WIRE_AUX ? r->insts[mid].aux0 : r->insts[mid].input0) <= i)
            lo = mid;
        else
            hi = mid;
    }
    return lo;
}

/* The instances that compute wires of a run, one after another. */
typedef struct {
    cuzk_wire wire;
    uint32_t len, done; /* of the run's wires */
    uint32_t next;      /* the instance that owns wire `done` */
} sources;

static sources sources_of(const cuzk_work_builder *b, cuzk_wire w, uint32_t len) {
    return (sources){w, len, 0, owner(b->r, w)};
}

/* False behind the last. Free wires have no source. */
static bool next_source(const cuzk_work_builder *b, sources *o, uint32_t *inst) {
    const cuzk_r1cs *r = b->r;
    while (o->done < o->len) {
        const cuzk_r1cs_inst *from = &r->insts[ *inst = o->next++];
        const cuzk_r1cs_shape *s = &r->shapes[from->shape];
        const bool aux = (o->wire & CUZK_WIRE_AUX) != 0;
        const uint32_t n = aux ? s->n_aux : s->n_inputs;
        uint32_t i = (o->wire & ~CUZK_WIRE_AUX) + o->done - (aux ? from->aux0 : from->input0);
        const uint8_t *is_free = b->own_free + s->slot0 + (aux ? s->n_inputs : 0);
        bool computed = false;
        for (; i < n && o->done < o->len; i++, o->done++)
            computed = computed || !is_free[i];
        if (computed) return true;
    }
    return false;
}

static void find_free_wires(cuzk_work_builder *b) {
    const cuzk_r1cs *r = b->r;
    for (uint32_t i = 0; i < r->n_shapes; i++) {
        const cuzk_r1cs_shape *s = &r->shapes[i];
        const uint32_t own_in = cuzk_r1cs_first_input_col(s), own_aux = cuzk_r1cs_first_aux_col(s);
        for (uint32_t k = 0; k < s->n_free; k++) {
            const uint32_t col = r->frees[s->free0 + k];
            b->own_free[s->slot0 +
                        (col >= own_aux ? s->n_inputs + (col - own_aux) : col - own_in)] = 1;
        }
    }
}

enum { LANE_OTHERS, LANE_POSEIDON };

/* What computes little goes where its latest source is, so that neither lane waits for it. */
static uint8_t lane_for(uint32_t kind, uint8_t source_lane) {
    if (kind == CUZK_WORK_HASH || kind == CUZK_WORK_LEVEL) return LANE_POSEIDON;
    return kind == CUZK_WORK_SHA256 ? LANE_OTHERS : source_lane;
}

/* Levels: one more than that of the latest source, so that an item's sources are in earlier steps.
 */
static void set_levels(cuzk_work_builder *b) {
    const cuzk_r1cs *r = b->r;
    const cuzk_work *works = b->works.data;
    for (uint32_t i = 0; i < r->n_insts; i++) {
        const cuzk_r1cs_inst *inst = &r->insts[i];
        const cuzk_r1cs_shape *s = &r->shapes[inst->shape];
        uint32_t level = 0, from;
        uint8_t lane = LANE_OTHERS;
        if (b->work_of[inst->shape] == CUZK_R1CS_NONE) continue;
        for (uint32_t p = 0; p < s->n_ports; p++) {
            sources o = sources_of(b, r->args[inst->arg0 + p].wire, r->ports[s->port0 + p].len);
            while (next_source(b, &o, &from)) {
                if (b->level_of[from] <= level) continue;
                level = b->level_of[from];
                lane = b->lane_of[from];
            }
        }
        b->level_of[i] = level + 1;
        b->lane_of[i] = lane_for(works[b->work_of[inst->shape]].kind, lane);
    }
}

/* An instance with work, and what puts it in order. */
typedef struct {
    uint32_t level, lane, kind, work, inst;
} place;

static int by_place(const void *x, const void *y) {
    const place *a = x, *b = y;
    if (a->level != b->level) return a->level < b->level ? -1 : 1;
    if (a->lane != b->lane) return a->lane < b->lane ? -1 : 1;
    if (a->kind != b->kind) return a->kind < b->kind ? -1 : 1;
    if (a->work != b->work) return a->work < b->work ? -1 : 1;
    return (a->inst > b->inst) - (a->inst < b->inst);
}

static bool same_step(const place *a, const place *b) {
    return a->level == b->level && a->lane == b->lane && a->kind == b->kind;
}

static cuzk_status add_item(cuzk_work_builder *b, const place *p) {
    const cuzk_r1cs *r = b->r;
    const cuzk_r1cs_inst *inst = &r->insts[p->inst];
    const cuzk_r1cs_shape *s = &r->shapes[inst->shape];
    const cuzk_work_item item = {p->work, inst->bit0, inst->full0, (uint32_t)b->args.n, inst->row0};
    uint32_t *to = cuzk_vec_grow(&b->args, s->n_ports);
    if (!to || !cuzk_vec_push(&b->items, &item)) return CUZK_STATUS_NO_MEMORY;
    for (uint32_t i = 0; i < s->n_ports; i++)
        to[i] = r->args[inst->arg0 + i].slot & ~CUZK_SLOT_BIT;
    return CUZK_OK;
}

static cuzk_status add_items(cuzk_work_builder *b, const place *places, uint32_t n) {
    for (uint32_t i = 0; i < n; i++) {
        if (i > 0 && same_step(&places[i], &places[i - 1])) {
            ((cuzk_work_step *)b->steps.data)[b->steps.n - 1].n_items++;
        } else {
            const cuzk_work_step step = {.kind = places[i].kind,
                                         .item0 = i,
                                         .n_items = 1,
                                         .lane = places[i].lane,
                                         .after = CUZK_WORK_NO_STEP};
            if (!cuzk_vec_push(&b->steps, &step)) return CUZK_STATUS_NO_MEMORY;
        }
        b->step_of[places[i].inst] = (uint32_t)b->steps.n - 1;
        CUZK_TRY(add_item(b, &places[i]));
    }
    return CUZK_OK;
}

/* The last step of another lane that an instance's sources are in, if it is behind `after`. */
static uint32_t last_foreign_step(const cuzk_work_builder *b, uint32_t i, uint32_t after) {
    const cuzk_r1cs *r = b->r;
    const cuzk_r1cs_inst *inst = &r->insts[i];
    const cuzk_r1cs_shape *s = &r->shapes[inst->shape];
    uint32_t from;
    for (uint32_t p = 0; p < s->n_ports; p++) {
        sources o = sources_of(b, r->args[inst->arg0 + p].wire, r->ports[s->port0 + p].len);
        while (next_source(b, &o, &from)) {
            if (b->level_of[from] == 0 || b->lane_of[from] == b->lane_of[i]) continue;
            if (after == CUZK_WORK_NO_STEP || b->step_of[from] > after) after = b->step_of[from];
        }
    }
    return after;
}

/* Where lanes wait for each other. */
static void set_waits(cuzk_work_builder *b, const place *places, uint32_t n) {
    cuzk_work_step *steps = b->steps.data;
    uint32_t waited[CUZK_WORK_LANES] = {CUZK_WORK_NO_STEP, CUZK_WORK_NO_STEP};
    for (uint32_t i = 0; i < n; i++) {
        cuzk_work_step *step = &steps[b->step_of[places[i].inst]];
        const uint32_t before = waited[step->lane];
        const uint32_t after = last_foreign_step(b, places[i].inst, before);
        if (after == before) continue;
        step->after = waited[step->lane] = after;
    }
    for (size_t i = 0; i < b->steps.n; i++)
        if (steps[i].after != CUZK_WORK_NO_STEP) steps[steps[i].after].awaited = true;
}

static cuzk_status order(cuzk_work_builder *b) {
    const cuzk_r1cs *r = b->r;
    const cuzk_work *works = b->works.data;
    place *places;
    uint32_t n = 0;
    CUZK_TRY(cuzk_alloc((void **)&places, (size_t)r->n_insts + 1, sizeof *places));
    for (uint32_t i = 0; i < r->n_insts; i++) {
        const uint32_t work = b->work_of[r->insts[i].shape];
        if (work != CUZK_R1CS_NONE)
            places[n++] = (place){b->level_of[i], b->lane_of[i], works[work].kind, work, i};
    }
    qsort(places, n, sizeof *places, by_place);
    const cuzk_status st = add_items(b, places, n);
    if (st == CUZK_OK) set_waits(b, places, n);
    cuzk_free(places);
    return st;
}

static void find_free_slots(cuzk_work_builder *b) {
    const cuzk_r1cs *r = b->r;
    for (uint32_t i = 0; i < r->n_insts; i++) {
        const cuzk_r1cs_inst *inst = &r->insts[i];
        const cuzk_r1cs_shape *s = &r->shapes[inst->shape];
        const uint32_t own_in = cuzk_r1cs_first_input_col(s), own_aux = cuzk_r1cs_first_aux_col(s);
        for (uint32_t k = 0; k < s->n_free; k++) {
            const uint32_t col = r->frees[s->free0 + k];
            const uint32_t own = r->slots[s->slot0 + (col >= own_aux ? s->n_inputs + (col - own_aux)
                                                                     : col - own_in)];
            b->free_slots[inst->free0 + k] = own + (own & CUZK_SLOT_BIT ? inst->bit0 : inst->full0);
        }
    }
}

/* ---- the whole ---- */

static cuzk_status build(cuzk_work_builder *b, cuzk_err *err) {
    const cuzk_r1cs *r = b->r;
    CUZK_TRY(cuzk_alloc((void **)&b->work_of, (size_t)r->n_shapes + 1, sizeof *b->work_of));
    CUZK_TRY(cuzk_alloc((void **)&b->own_free, (size_t)r->n_slots + 1, 1));
    CUZK_TRY(cuzk_alloc((void **)&b->level_of, (size_t)r->n_insts + 1, sizeof *b->level_of));
    CUZK_TRY(cuzk_alloc((void **)&b->lane_of, (size_t)r->n_insts + 1, sizeof *b->lane_of));
    CUZK_TRY(cuzk_alloc((void **)&b->step_of, (size_t)r->n_insts + 1, sizeof *b->step_of));
    CUZK_TRY(cuzk_alloc((void **)&b->free_slots, (size_t)r->n_free + 1, sizeof *b->free_slots));
    for (uint32_t i = 0; i < r->n_shapes; i++)
        CUZK_TRY(describe_shape(b, i, err));
    find_free_wires(b);
    set_levels(b);
    find_free_slots(b);
    return order(b);
}

/* The table that a vector became; the vector is empty then. */
static void *take(cuzk_vec *v, uint32_t *n) {
    void *data = v->data;
    *n = (uint32_t)v->n;
    *v = (cuzk_vec){.size = v->size};
    return data;
}

static cuzk_status hand_over(cuzk_witness_program *p, cuzk_work_builder *b) {
    const cuzk_r1cs *r = b->r;
    p->works = take(&b->works, &p->n_works);
    p->inputs = take(&b->inputs, &p->n_inputs);
    p->consts = take(&b->consts, &p->n_consts);
    p->ops = take(&b->ops, &p->n_ops);
    p->rows = take(&b->rows, &p->n_rows);
    p->terms = take(&b->terms, &p->n_terms);
    p->items = take(&b->items, &p->n_items);
    p->args = take(&b->args, &p->n_args);
    p->steps = take(&b->steps, &p->n_steps);
    p->free_slots = b->free_slots;
    p->n_free = r->n_free;
    p->bits_bytes = cuzk_witness_bits_bytes(r);
    b->free_slots = NULL;
    CUZK_TRY(cuzk_alloc((void **)&p->coefs, (size_t)r->n_coefs + 1, sizeof *p->coefs));
    if (r->n_coefs) memcpy(p->coefs, r->coefs, r->n_coefs * sizeof *p->coefs);
    p->n_coefs = r->n_coefs;
    return CUZK_OK;
}

cuzk_status cuzk_witness_program_new(cuzk_witness_program **out, const cuzk_witness_plan *plan,
                                     cuzk_err *err) {
    cuzk_status st;
    cuzk_work_builder b = {.r = plan->r, .plan = plan};
    cuzk_witness_program *p = NULL;
    *out = NULL;
    if (plan->r->fr != &cuzk_bls12_381_fr_ops)
        return cuzk_err_set(err, CUZK_STATUS_USAGE,
                            "a device makes witnesses of BLS12-381 circuits only");
    const struct {
        cuzk_vec *v;
        size_t size;
    } vecs[] = {{&b.works, sizeof(cuzk_work)},      {&b.inputs, sizeof(cuzk_operand)},
                {&b.consts, sizeof(cuzk_u256)},     {&b.ops, sizeof(cuzk_sha256_op)},
                {&b.rows, sizeof(cuzk_work_row)},   {&b.terms, sizeof(cuzk_work_term)},
                {&b.items, sizeof(cuzk_work_item)}, {&b.args, sizeof(uint32_t)},
                {&b.steps, sizeof(cuzk_work_step)}, {&b.known, sizeof(known_consts)}};
    for (size_t i = 0; i < sizeof vecs / sizeof vecs[0]; i++)
        cuzk_vec_init(vecs[i].v, vecs[i].size);
    CUZK_TRY_GOTO(cuzk_alloc((void **)&p, 1, sizeof *p), out);
    CUZK_TRY_GOTO(build(&b, err), out);
    CUZK_TRY_GOTO(hand_over(p, &b), out);
    *out = p;
    p = NULL;
out:
    if (st == CUZK_STATUS_NO_MEMORY)
        (void)cuzk_err_set(err, st, "not enough memory for the witness's program");
    for (size_t i = 0; i < sizeof vecs / sizeof vecs[0]; i++)
        cuzk_vec_free(vecs[i].v);
    cuzk_free(b.work_of);
    cuzk_free(b.own_free);
    cuzk_free(b.level_of);
    cuzk_free(b.lane_of);
    cuzk_free(b.step_of);
    cuzk_free(b.free_slots);
    cuzk_witness_program_free(p);
    return st;
}

void cuzk_witness_program_free(cuzk_witness_program *p) {
    if (!p) return;
    void *all[] = {p->free_slots, p->works, p->inputs, p->consts, p->coefs, p->ops,
                   p->rows,       p->terms, p->items,  p->args,   p->steps};
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)
        cuzk_free(all[i]);
    cuzk_free(p);
}
