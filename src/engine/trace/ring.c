/* DESIGN. A writer takes the next number, and with it a place in the ring, by one addition. It
 * marks the place as being written (an odd sequence number), writes, and marks it whole (even).
 * Whoever finds a place still being written by somebody a lap behind drops its own event instead of
 * waiting. A reader copies a place and keeps the copy if the mark was the same whole one before and
 * after. */
#include "trace.h"

#include "base/mem.h"

#include <stdatomic.h>
#include <stdlib.h>

enum { WORDS = 5 };

typedef struct place {
    _Atomic uint64_t mark; /* 2 n + 1: event n is being written; 2 n + 2: it is whole */
    _Atomic uint64_t words[WORDS];
} place;

struct cuzk_trace_ring {
    place *places;
    uint64_t mask;
    _Atomic uint64_t next, dropped;
};

cuzk_status cuzk_trace_ring_new(cuzk_trace_ring **out, size_t capacity) {
    size_t cap = 16;
    while (cap < capacity && cap < SIZE_MAX / 2)
        cap *= 2;
    CUZK_TRY(cuzk_alloc((void **)out, 1, sizeof **out));
    const cuzk_status st = cuzk_alloc((void **)&(*out)->places, cap, sizeof *(*out)->places);
    if (st != CUZK_OK) {
        cuzk_free(*out);
        *out = NULL;
        return st;
    }
    (*out)->mask = cap - 1;
    return CUZK_OK;
}

void cuzk_trace_ring_free(cuzk_trace_ring *r) {
    if (!r) return;
    cuzk_free(r->places);
    cuzk_free(r);
}

void cuzk_trace_ring_put(cuzk_trace_ring *r, const cuzk_trace_item *i) {
    const uint64_t n = atomic_fetch_add_explicit(&r->next, 1, memory_order_relaxed);
    place *p = &r->places[n & r->mask];
    uint64_t mark = atomic_load_explicit(&p->mark, memory_order_relaxed);
    if ((mark & 1) || mark > 2 * n ||
        !atomic_compare_exchange_strong_explicit(&p->mark, &mark, 2 * n + 1, memory_order_acquire,
                                                 memory_order_relaxed)) {
        atomic_fetch_add_explicit(&r->dropped, 1, memory_order_relaxed);
        return;
    }
    const uint64_t words[WORDS] = {(uint64_t)i->ns, (uint64_t)i->took, i->job,
                                   (uint64_t)i->event << 32 | i->partition,
                                   (uint64_t)i->worker << 32 | i->device};
    /* A reader that sees one of the words sees the odd mark too. */
    for (int k = 0; k < WORDS; k++)
        atomic_store_explicit(&p->words[k], words[k], memory_order_release);
    atomic_store_explicit(&p->mark, 2 * n + 2, memory_order_release);
}

static bool read_place(place *p, uint64_t n, cuzk_trace_item *i) {
    uint64_t words[WORDS];
    if (atomic_load_explicit(&p->mark, memory_order_acquire) != 2 * n + 2) return false;
    for (int k = 0; k < WORDS; k++)
        words[k] = atomic_load_explicit(&p->words[k], memory_order_acquire);
    if (atomic_load_explicit(&p->mark, memory_order_relaxed) != 2 * n + 2) return false;
    *i = (cuzk_trace_item){.ns = (int64_t)words[0],
                           .took = (int64_t)words[1],
                           .job = words[2],
                           .event = (cuzk_trace_event)(words[3] >> 32),
                           .partition = (uint32_t)words[3],
                           .worker = (uint32_t)(words[4] >> 32),
                           .device = (uint32_t)words[4]};
    return true;
}

cuzk_status cuzk_trace_ring_snapshot(cuzk_trace_ring *r, cuzk_trace *out, uint64_t *lost) {
    const uint64_t end = atomic_load_explicit(&r->next, memory_order_acquire);
    const uint64_t begin = end > r->mask + 1 ? end - (r->mask + 1) : 0;
    const size_t before = out->n;
    for (uint64_t n = begin; n < end; n++) {
        cuzk_trace_item item;
        if (read_place(&r->places[n & r->mask], n, &item)) CUZK_TRY(cuzk_trace_add(out, &item));
    }
    if (lost) *lost = end - (out->n - before);
    cuzk_trace_sort(out);
    return CUZK_OK;
}
