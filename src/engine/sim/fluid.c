#include "fluid.h"

#include "base/mem.h"

#include <math.h>

/* Less than a nanosecond of work is none. */
static const double NOTHING = 1e-9;

static void set_rates(fluid *f) {
    double traffic = 0, cores = 0;
    for (size_t i = 0; i < f->n; i++) {
        traffic += f->items[i].work.bandwidth;
        cores += f->items[i].work.cores;
    }
    for (size_t i = 0; i < f->n; i++) {
        flow *w = &f->items[i];
        double slow = 1;
        if (f->bandwidth > 0) {
            slow += w->work.sensitivity * (traffic - w->work.bandwidth) / f->bandwidth;
            const double share = traffic / f->bandwidth;
            if (w->work.bandwidth > 0 && share > slow) slow = share;
        }
        if (f->cores > 0 && w->work.cores > 0 && cores > f->cores) slow *= cores / f->cores;
        w->rate = 1 / fmin(slow, 1e9); /* finite, whatever was asked for */
    }
}

cuzk_status fluid_add(fluid *f, const cuzk_sim_work *work, uint64_t tag) {
    if (f->n == f->cap) {
        const size_t cap = f->cap ? 2 * f->cap : 64;
        CUZK_TRY(cuzk_realloc((void **)&f->items, cap, sizeof *f->items));
        f->cap = cap;
    }
    f->items[f->n++] = (flow){.work = *work, .left = work->seconds, .tag = tag};
    set_rates(f);
    return CUZK_OK;
}

double fluid_next(const fluid *f) {
    double t = INFINITY;
    for (size_t i = 0; i < f->n; i++) {
        const double end = f->now + fmax(f->items[i].left, 0) / f->items[i].rate;
        if (end < t) t = end;
    }
    return t;
}

void fluid_advance(fluid *f, double t) {
    for (size_t i = 0; i < f->n; i++)
        f->items[i].left -= (t - f->now) * f->items[i].rate;
    f->now = t;
}

bool fluid_take(fluid *f, uint64_t *tag) {
    for (size_t i = 0; i < f->n; i++) {
        if (f->items[i].left > NOTHING) continue;
        *tag = f->items[i].tag;
        for (size_t k = i + 1; k < f->n; k++) /* the order of beginning is kept: runs repeat */
            f->items[k - 1] = f->items[k];
        f->n--;
        set_rates(f);
        return true;
    }
    return false;
}

void fluid_free(fluid *f) {
    cuzk_free(f->items);
    *f = (fluid){0};
}
