#include "visits.h"

#include "base/mem.h"

#include <stdlib.h>

/* Partitions under way: a hash table from (job, partition) to what is known of it. */
typedef struct open_parts {
    visit *slots;
    bool *used;
    size_t cap;
} open_parts;

static visit *find(open_parts *o, const cuzk_trace_item *i) {
    const uint64_t h = (i->job * 0x9e3779b97f4a7c15u) ^ (i->partition * 0xbf58476d1ce4e5b9u);
    size_t at = (size_t)(h ^ h >> 29) & (o->cap - 1);
    while (o->used[at] && (o->slots[at].job != i->job || o->slots[at].partition != i->partition))
        at = (at + 1) & (o->cap - 1);
    visit *v = &o->slots[at];
    if (!o->used[at])
        *v = (visit){.job = i->job,
                     .partition = i->partition,
                     .worker = CUZK_TRACE_NONE,
                     .synth_start = -1,
                     .synth_end = -1,
                     .pickup = -1,
                     .start = -1,
                     .end = -1};
    o->used[at] = true;
    return v;
}

static void note(visits *out, visit *v, const cuzk_trace_item *i) {
    switch (i->event) {
    case CUZK_TRACE_SYNTH_START:
        v->synth_start = i->ns;
        v->synth_end = -1;
        break;
    case CUZK_TRACE_SYNTH_END:
        if (v->synth_start < 0 && i->took >= 0) v->synth_start = i->ns - i->took;
        v->synth_end = i->ns;
        if (v->synth_start >= 0) out->synths[out->n_synths++] = *v;
        break;
    case CUZK_TRACE_GPU_QUEUE:
        break;
    case CUZK_TRACE_GPU_PICKUP:
        v->pickup = i->ns;
        v->start = -1;
        break;
    case CUZK_TRACE_GPU_START:
        v->start = i->ns;
        break;
    default:
        if (v->start < 0 && i->took >= 0) v->start = i->ns - i->took;
        v->end = i->ns;
        if (v->start >= 0) out->items[out->n++] = *v;
        v->pickup = v->start = v->end = -1;
    }
    if (i->event < CUZK_TRACE_GPU_PICKUP) return;
    v->device = i->device == CUZK_TRACE_NONE ? 0 : i->device;
    if (i->worker != CUZK_TRACE_NONE) v->worker = i->worker;
}

static int by_start(const void *a, const void *b) {
    const visit *x = a, *y = b;
    if (x->start != y->start) return x->start < y->start ? -1 : 1;
    return x->end < y->end ? -1 : x->end > y->end;
}

static int by_synth(const void *a, const void *b) {
    const visit *x = a, *y = b;
    return x->synth_start < y->synth_start ? -1 : x->synth_start > y->synth_start;
}

cuzk_status cuzk__trace_visits(visits *out, const cuzk_trace *t) {
    *out = (visits){0};
    open_parts o = {.cap = 64};
    while (o.cap < 2 * t->n)
        o.cap *= 2;
    cuzk_status st;
    CUZK_TRY_GOTO(cuzk_alloc((void **)&o.slots, o.cap, sizeof *o.slots), out);
    CUZK_TRY_GOTO(cuzk_alloc((void **)&o.used, o.cap, sizeof *o.used), out);
    CUZK_TRY_GOTO(cuzk_alloc((void **)&out->items, t->n, sizeof *out->items), out);
    CUZK_TRY_GOTO(cuzk_alloc((void **)&out->synths, t->n, sizeof *out->synths), out);
    for (size_t i = 0; i < t->n; i++) {
        visit *v = find(&o, &t->items[i]);
        note(out, v, &t->items[i]);
    }
    for (size_t i = 0; i < o.cap; i++)
        out->unfinished += o.used[i] && (o.slots[i].start >= 0 || o.slots[i].pickup >= 0 ||
                                         (o.slots[i].synth_start >= 0 && o.slots[i].synth_end < 0));
    qsort(out->items, out->n, sizeof *out->items, by_start);
    qsort(out->synths, out->n_synths, sizeof *out->synths, by_synth);
out:
    cuzk_free(o.slots);
    cuzk_free(o.used);
    if (st != CUZK_OK) cuzk__trace_visits_free(out);
    return st;
}

void cuzk__trace_visits_free(visits *v) {
    cuzk_free(v->items);
    cuzk_free(v->synths);
    *v = (visits){0};
}

enum { MOST_LANES = 512 };

uint32_t cuzk__trace_place(visit *items, size_t n, uint32_t device, bool synths) {
    static const size_t most = MOST_LANES;
    int64_t free_at[MOST_LANES];
    uint32_t lanes = 0;
    for (size_t i = 0; i < n; i++) {
        visit *v = &items[i];
        if (!synths && v->device != device) continue;
        const int64_t from = synths ? v->synth_start : v->pickup >= 0 ? v->pickup : v->start;
        const int64_t to = synths ? v->synth_end : v->end;
        uint32_t lane = 0;
        while (lane < lanes && free_at[lane] > from)
            lane++;
        if (lane == most) lane = (uint32_t)most - 1;
        if (lane == lanes) lanes++;
        free_at[lane] = to;
        v->lane = lane;
    }
    return lanes;
}
