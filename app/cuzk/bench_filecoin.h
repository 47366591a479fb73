/* One partition of a Filecoin proof, for the operations of `cuzk bench` that work on one. */
#ifndef CUZK_BENCH_FILECOIN_H
#define CUZK_BENCH_FILECOIN_H

#include "bench.h"
#include "circuit/poseidon.h"
#include "filecoin/vanilla.h"
#include "witness/witness.h"

typedef struct cuzk_bench_partition {
    cuzk_vanilla *v;
    cuzk_poseidon_set set;
    cuzk_r1cs *r1cs;
    cuzk_witness_plan *plan;
    cuzk_u256 *frees;
    cuzk_witness *w;
    int64_t open_ns, check_ns, compact_ns, plan_ns, values_ns; /* CPU time */
} cuzk_bench_partition;

/* Everything up to the witness; the vanilla proof of this partition is checked. *p is zeroed
 * before, and unloaded after, whatever comes out. */
cuzk_status cuzk_bench_partition_load(cuzk_bench_partition *p, const cuzk_bench *b,
                                      cuzk_err *err) CUZK_MUST_CHECK;
/* A fresh witness in p->w. */
cuzk_status cuzk_bench_partition_solve(cuzk_bench_partition *p, const cuzk_bench *b,
                                       cuzk_err *err) CUZK_MUST_CHECK;
void cuzk_bench_partition_unload(cuzk_bench_partition *p);

#endif
