/* Pieces of work that run at the same time and slow one another through the host's memory
 * bandwidth and cores. Between two changes each runs at a constant rate. */
#ifndef CUZK_ENGINE_SIM_FLUID_H
#define CUZK_ENGINE_SIM_FLUID_H

#include "sim.h"

typedef struct flow {
    cuzk_sim_work work;
    double left;  /* seconds of work, as if alone */
    double rate;  /* of them per second */
    uint64_t tag; /* the owner's */
} flow;

typedef struct fluid {
    double bandwidth, cores; /* 0: unlimited */
    double now;
    flow *items;
    size_t n, cap;
} fluid;

cuzk_status fluid_add(fluid *f, const cuzk_sim_work *work, uint64_t tag) CUZK_MUST_CHECK;
/* When the next piece ends; INFINITY when nothing runs. */
double fluid_next(const fluid *f);
/* Moves time forward, not beyond fluid_next. */
void fluid_advance(fluid *f, double t);
/* Takes out a piece that has ended; false when there is none. */
bool fluid_take(fluid *f, uint64_t *tag);
void fluid_free(fluid *f);

#endif
