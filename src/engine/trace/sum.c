/* How busy devices were, why not more, and what the last result waited for. */
#include "visits.h"

#include "base/mem.h"

#include <string.h>

static double seconds(int64_t ns) {
    return (double)ns / 1e9;
}

const char *cuzk_trace_cause_name(cuzk_trace_cause cause) {
    static const char *const names[] = {"no work", "witness", "queued", "staging"};
    return cause < CUZK_TRACE_CAUSES ? names[cause] : "?";
}

static int64_t overlap(int64_t a, int64_t b, int64_t from, int64_t to) {
    const int64_t lo = a > from ? a : from, hi = b < to ? b : to;
    return hi > lo ? hi - lo : 0;
}

/* Splits the gap [a, b) before v's kernels by what v was doing. */
static void blame(cuzk_trace_device *d, const visit *v, int64_t a, int64_t b) {
    const int64_t pickup = v->pickup >= 0 ? v->pickup : v->start;
    const int64_t ready = v->synth_end >= 0 && v->synth_end < pickup ? v->synth_end : pickup;
    const int64_t begun = v->synth_start >= 0 && v->synth_start < ready ? v->synth_start : ready;
    d->gaps[CUZK_TRACE_NO_WORK] += seconds(overlap(a, b, INT64_MIN, begun));
    d->gaps[CUZK_TRACE_WITNESS] += seconds(overlap(a, b, begun, ready));
    d->gaps[CUZK_TRACE_QUEUED] += seconds(overlap(a, b, ready, pickup));
    d->gaps[CUZK_TRACE_STAGING] += seconds(overlap(a, b, pickup, v->start));
}

static void sum_device(cuzk_trace_device *d, const visits *v, uint32_t device) {
    int64_t first = -1, free = -1; /* free: when all kernels so far have ended */
    int64_t busy = 0;
    for (size_t i = 0; i < v->n; i++) {
        const visit *it = &v->items[i];
        if (it->device != device) continue;
        d->partitions++;
        if (first < 0) first = free = it->start;
        if (it->start > free) blame(d, it, free, it->start);
        busy += overlap(it->start, it->end, free, INT64_MAX);
        if (it->end > free) free = it->end;
    }
    d->span = seconds(free - first);
    d->busy = seconds(busy);
}

/* The kernels before v's on its device, if they ran until v's began (within the lines' precision of
 * a millisecond). */
static const visit *held_up_by(const visits *all, const visit *v) {
    for (const visit *w = v; w-- > all->items;)
        if (w->device == v->device) return w->end + 1500000 >= v->start ? w : NULL;
    return NULL;
}

static void sum_path(cuzk_trace_summary *out, const visits *all, int64_t begin) {
    const visit *v = NULL;
    for (size_t i = 0; i < all->n; i++)
        if (!v || all->items[i].end > v->end) v = &all->items[i];
    if (!v) return;
    int64_t t = v->end;
    const visit *before;
    for (;; v = before) {
        if (v->start < t) {
            out->path_kernels += seconds(t - v->start);
            t = v->start;
        }
        before = held_up_by(all, v);
        if (!before) break;
    }
    cuzk_trace_device parts = {0};
    blame(&parts, v, begin, t);
    out->path_before = parts.gaps[CUZK_TRACE_NO_WORK];
    out->path_witness = parts.gaps[CUZK_TRACE_WITNESS];
    out->path_queued = parts.gaps[CUZK_TRACE_QUEUED];
    out->path_staging = parts.gaps[CUZK_TRACE_STAGING];
}

static cuzk_status count_jobs(const cuzk_trace *t, uint32_t *out) {
    /* Jobs read from text are numbered; others are counted by their numbers' highest. */
    uint64_t most = 0;
    uint8_t *seen;
    for (size_t i = 0; i < t->n; i++)
        if (t->items[i].job > most) most = t->items[i].job;
    if (most >= UINT64_C(1) << 28) { /* no small numbers: each stands for itself */
        *out = 0;
        return CUZK_OK;
    }
    CUZK_TRY(cuzk_alloc((void **)&seen, (size_t)most + 1, 1));
    *out = 0;
    for (size_t i = 0; i < t->n; i++) {
        *out += !seen[t->items[i].job];
        seen[t->items[i].job] = 1;
    }
    cuzk_free(seen);
    return CUZK_OK;
}

static void sum_all(cuzk_trace_summary *out, const cuzk_trace *t, const visits *v) {
    const int64_t begin = t->items[0].ns, end = t->items[t->n - 1].ns;
    double witness = 0, kernels = 0;
    out->wall = seconds(end - begin);
    out->partitions = (uint32_t)v->n;
    out->unfinished = (uint32_t)v->unfinished;
    for (size_t i = 0; i < v->n_synths; i++)
        witness += seconds(v->synths[i].synth_end - v->synths[i].synth_start);
    for (size_t i = 0; i < v->n; i++) {
        kernels += seconds(v->items[i].end - v->items[i].start);
        if (v->items[i].device >= out->n_devices) out->n_devices = v->items[i].device + 1;
    }
    out->witness_mean = v->n_synths ? witness / (double)v->n_synths : 0;
    out->kernels_mean = v->n ? kernels / (double)v->n : 0;
    out->witnesses_at_a_time = out->wall > 0 ? witness / out->wall : 0;
    for (uint32_t d = 0; d < out->n_devices; d++) {
        sum_device(&out->devices[d], v, d);
        if (out->wall > 0) out->devices[d].efficiency = 100 * out->devices[d].busy / out->wall;
    }
    sum_path(out, v, begin);
}

cuzk_status cuzk_trace_sum(cuzk_trace_summary *out, const cuzk_trace *t, cuzk_err *err) {
    visits v;
    *out = (cuzk_trace_summary){0};
    if (t->n == 0)
        return cuzk_err_set(err, CUZK_STATUS_BAD_INPUT,
                            "there is no TIMELINE line that can be read");
    cuzk_status st = cuzk__trace_visits(&v, t);
    if (st == CUZK_OK) st = count_jobs(t, &out->jobs);
    if (st == CUZK_OK)
        sum_all(out, t, &v);
    else
        (void)cuzk_err_set(err, st, "not enough memory for the timeline");
    cuzk__trace_visits_free(&v);
    return st;
}
