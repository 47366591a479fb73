#include "trace.h"

#include "base/mem.h"

#include <stdio.h>
#include <stdlib.h>

cuzk_status cuzk_trace_add(cuzk_trace *t, const cuzk_trace_item *item) {
    if (t->n == t->cap) {
        const size_t cap = t->cap ? 2 * t->cap : 256;
        CUZK_TRY(cuzk_realloc((void **)&t->items, cap, sizeof *t->items));
        t->cap = cap;
    }
    t->items[t->n++] = *item;
    return CUZK_OK;
}

void cuzk_trace_free(cuzk_trace *t) {
    for (size_t i = 0; i < t->n_names; i++)
        cuzk_free(t->names[i]);
    cuzk_free(t->names);
    cuzk_free(t->index);
    cuzk_free(t->items);
    *t = (cuzk_trace){0};
}

const char *cuzk_trace_job(const cuzk_trace *t, uint64_t job, char buf[32]) {
    if (t->names && job < t->n_names) return t->names[job];
    snprintf(buf, 32, "job-%llu", (unsigned long long)job);
    return buf;
}

/* By time; at one time as a partition goes through events, ends of others first. */
static int in_order(const void *a, const void *b) {
    const cuzk_trace_item *x = a, *y = b;
    if (x->ns != y->ns) return x->ns < y->ns ? -1 : 1;
    if (x->job != y->job) return x->job < y->job ? -1 : 1;
    if (x->partition != y->partition) return x->partition < y->partition ? -1 : 1;
    return x->event < y->event ? -1 : x->event > y->event;
}

void cuzk_trace_sort(cuzk_trace *t) {
    if (t->n > 1) qsort(t->items, t->n, sizeof *t->items, in_order);
}
