#include "witness/plan.h"

#include "base/mem.h"

#include <stdlib.h>
#include <string.h>

static uint32_t top_of(const cuzk_r1cs *r, uint32_t path) {
    while (path != CUZK_R1CS_NONE && r->paths[path].parent != CUZK_R1CS_NONE)
        path = r->paths[path].parent;
    return path;
}

/* Cuts the instances where the top step changes. */
static void cut(cuzk_witness_plan *p) {
    uint32_t last = 0;
    for (uint32_t i = 0; i < p->r->n_insts; i++) {
        const uint32_t top = top_of(p->r, p->r->insts[i].path);
        if (i == 0 || top != last) {
            p->parts[p->n_parts++] = (cuzk__part){i, i, 0, false};
            last = top;
        }
        p->parts[p->n_parts - 1].inst1 = i + 1;
    }
}

/* The part that owns a wire: the last one whose first instance begins at or before it. */
static uint32_t owner(const cuzk_witness_plan *p, cuzk_wire w) {
    const uint32_t i = w & ~CUZK_WIRE_AUX;
    uint32_t lo = 0, hi = p->n_parts;
    while (hi - lo > 1) {
        const uint32_t mid = lo + (hi - lo) / 2;
        const cuzk_r1cs_inst *inst = &p->r->insts[p->parts[mid].inst0];
        if ((w & CUZK_WIRE_AUX ? inst->aux0 : inst->input0) <= i)
            lo = mid;
        else
            hi = mid;
    }
    return lo;
}

static void set_levels(cuzk_witness_plan *p) {
    for (uint32_t k = 0; k < p->n_parts; k++) {
        for (uint32_t i = p->parts[k].inst0; i < p->parts[k].inst1; i++) {
            const cuzk_r1cs_inst *inst = &p->r->insts[i];
            const uint32_t n = p->r->shapes[inst->shape].n_ports;
            for (uint32_t a = 0; a < n; a++) {
                const uint32_t from = owner(p, p->r->args[inst->arg0 + a].wire);
                if (from != k && p->parts[from].level >= p->parts[k].level)
                    p->parts[k].level = p->parts[from].level + 1;
            }
        }
        if (p->parts[k].level >= p->n_levels) p->n_levels = p->parts[k].level + 1;
    }
}

static int by_level(const void *x, const void *y) {
    const cuzk__part *a = x, *b = y;
    if (a->level != b->level) return a->level < b->level ? -1 : 1;
    return (a->inst0 > b->inst0) - (a->inst0 < b->inst0);
}

/* Such parts can be walked side by side. */
static void find_equals(cuzk_witness_plan *p) {
    for (uint32_t k = 1; k < p->n_parts; k++) {
        const cuzk__part *a = &p->parts[k - 1];
        cuzk__part *b = &p->parts[k];
        const uint32_t n = a->inst1 - a->inst0;
        b->like_last = a->level == b->level && b->inst1 - b->inst0 == n;
        for (uint32_t i = 0; i < n && b->like_last; i++)
            b->like_last = p->r->insts[a->inst0 + i].shape == p->r->insts[b->inst0 + i].shape;
    }
}

static cuzk_status pick_fillers(cuzk_witness_plan *p, const cuzk_filler *const *fillers, size_t n,
                                const void *shared) {
    const cuzk_r1cs *r = p->r;
    for (uint32_t i = 0; i < r->n_shapes; i++) {
        const cuzk_r1cs_shape *s = &r->shapes[i];
        if (s->name == CUZK_R1CS_NONE) continue;
        for (size_t k = 0; k < n && !p->filler[i]; k++)
            if (strcmp(fillers[k]->gadget, r->names + r->name_offs[s->name]) == 0)
                p->filler[i] = fillers[k];
        if (p->filler[i] && p->filler[i]->prepare)
            CUZK_TRY(p->filler[i]->prepare(&p->state[i], r, s, shared));
    }
    return CUZK_OK;
}

cuzk_status cuzk_witness_plan_new(cuzk_witness_plan **out, const cuzk_r1cs *r,
                                  const cuzk_filler *const *fillers, size_t n_fillers,
                                  const void *shared) {
    cuzk_status st;
    cuzk_witness_plan *p = NULL;
    *out = NULL;
    CUZK_TRY(cuzk_alloc((void **)&p, 1, sizeof *p));
    p->r = r;
    p->max_cols = cuzk_r1cs_max_cols(r);
    CUZK_TRY_GOTO(cuzk_alloc((void **)&p->filler, r->n_shapes, sizeof *p->filler), fail);
    CUZK_TRY_GOTO(cuzk_alloc((void **)&p->state, r->n_shapes, sizeof *p->state), fail);
    CUZK_TRY_GOTO(cuzk_alloc((void **)&p->parts, r->n_insts, sizeof *p->parts), fail);
    CUZK_TRY_GOTO(pick_fillers(p, fillers, n_fillers, shared), fail);
    cut(p);
    set_levels(p);
    qsort(p->parts, p->n_parts, sizeof *p->parts, by_level);
    find_equals(p);
    *out = p;
    return CUZK_OK;
fail:
    cuzk_witness_plan_free(p);
    return st;
}

uint64_t cuzk_witness_plan_bytes(const cuzk_r1cs *r) {
    return sizeof(cuzk_witness_plan) + (uint64_t)r->n_insts * sizeof(cuzk__part) +
           (uint64_t)r->n_shapes * (sizeof(cuzk_filler *) + sizeof(void *));
}

void cuzk_witness_plan_free(cuzk_witness_plan *p) {
    if (!p) return;
    for (uint32_t i = 0; p->state && i < p->r->n_shapes; i++)
        if (p->filler[i] && p->filler[i]->release) p->filler[i]->release(p->state[i]);
    cuzk_free(p->filler);
    cuzk_free(p->state);
    cuzk_free(p->parts);
    cuzk_free(p);
}
