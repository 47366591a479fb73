/* Events put together: one witness, one passage through a device. */
#ifndef CUZK_ENGINE_TRACE_VISITS_H
#define CUZK_ENGINE_TRACE_VISITS_H

#include "trace.h"

typedef struct visit {
    uint64_t job;
    uint32_t partition, worker, device;
    /* ns; -1: not seen. A retried partition has several visits, with its witness's times in each.
     */
    int64_t synth_start, synth_end, pickup, start, end;
    uint32_t lane; /* for drawing */
} visit;

typedef struct visits {
    visit *items; /* with a kernel's start and end, in the order of start */
    size_t n;
    visit *synths; /* witnesses with start and end, in the order of start */
    size_t n_synths;
    size_t unfinished;
} visits;

/* Of a list that is sorted by time. */
cuzk_status cuzk__trace_visits(visits *out, const cuzk_trace *t) CUZK_MUST_CHECK;
void cuzk__trace_visits_free(visits *v);

/* Puts intervals that overlap (witnesses, or passages through one device) into different lanes;
 * returns how many. */
uint32_t cuzk__trace_place(visit *items, size_t n, uint32_t device, bool synths);

#endif
