/* Inside of a witness plan, shared by plan.c and solve.c. */
#ifndef CUZK_WITNESS_PLAN_H
#define CUZK_WITNESS_PLAN_H

#include "witness/witness.h"

/* Instances [inst0, inst1): one step at the top of the circuit's path. Needs only parts of lower
 * levels. */
typedef struct cuzk__part {
    uint32_t inst0, inst1;
    uint32_t level;
    bool like_last; /* the shapes of the part before it, in the same order, and the same level */
} cuzk__part;

struct cuzk_witness_plan {
    const cuzk_r1cs *r;
    const cuzk_filler **filler; /* of each shape, or NULL */
    void **state;               /* of each shape */
    cuzk__part *parts;          /* by level, then by place */
    uint32_t n_parts;
    uint32_t n_levels;
    uint32_t max_cols;
};

#endif
