/* Proofs on a device: what the operations of `cuzk bench` that make some share. */
#ifndef CUZK_BENCH_DEVICE_H
#define CUZK_BENCH_DEVICE_H

#include "bench.h"

typedef struct cuzk_bench_device_series {
    int64_t points_ns[CUZK_BENCH_MAX_RUNS]; /* to the proof's points */
    int64_t wall_ns[CUZK_BENCH_MAX_RUNS];   /* to the end of its check */
    cuzk_sums_stats sums[CUZK_BENCH_MAX_RUNS];
    int64_t load_ns; /* the key to the device, its tables made */
    struct {
        unsigned proofs;
        size_t first, least, most; /* bytes in use after the first, and over all */
    } used;                        /* by the driver's count; proofs 0: not counted */
} cuzk_bench_device_series;

/* Counts the device's memory after a proof. */
void cuzk_bench_device_count(cuzk_bench_device_series *s, const cuzk_device *d);

/* A row of the times ns (one of the two above, or a sum with them), with the device's times by
 * stage of the median run. key may be NULL: what it holds is then not told. */
void cuzk_bench_device_add(cuzk_bench *b, const cuzk_device *d, const cuzk_device_key *key,
                           const cuzk_proving_key *data, const cuzk_bench_device_series *s,
                           const char *op, const char *variant, const int64_t *ns);

#endif
