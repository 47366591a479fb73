/* Sums of which the result is known, for `cuzk bench msm`. */
#ifndef CUZK_BENCH_MSM_H
#define CUZK_BENCH_MSM_H

#include "bench.h"

#include "msm/msm.h"

/* The bases are (first + i) G, so that every sum is known: (sum k_i (first + i)) G. */
typedef struct cuzk_bench_sum {
    const cuzk_curve *curve;
    cuzk_group group;
    const cuzk_group_ops *ops;
    size_t most;         /* points of bases, and room for scalars */
    cuzk_u256 first;     /* Montgomery */
    void *bases;         /* as in curve/curve.h */
    cuzk_u256 *scalars;  /* plain */
    cuzk_msm_room *room; /* left from sum to sum, as in a prover */
} cuzk_bench_sum;

/* Bases and room for scalars, `most` of each; freed by cuzk_bench_sum_free, also after an error. */
cuzk_status cuzk_bench_sum_new(cuzk_bench_sum *s, const cuzk_curve *curve, cuzk_group group,
                               size_t most, cuzk_pool *pool) CUZK_MUST_CHECK;
void cuzk_bench_sum_free(cuzk_bench_sum *s);

/* Sets n scalars and returns their sum, from the discrete logarithms. */
cuzk_point cuzk_bench_sum_fill(cuzk_bench_sum *s, cuzk_bench_pattern pattern, size_t n);

/* One sum, checked against `want`: *right is cleared when it differs. Wall and processor time in
 * nanoseconds; additions may be NULL (msm/msm.h). */
typedef struct cuzk_bench_time {
    int64_t wall, cpu;
} cuzk_bench_time;
cuzk_status cuzk_bench_sum_ours(const cuzk_bench_sum *s, size_t n, cuzk_cpu_impl impl,
                                cuzk_pool *pool, const cuzk_point *want, bool *right,
                                cuzk_bench_time *time, uint64_t *additions) CUZK_MUST_CHECK;
cuzk_status cuzk_bench_sum_blst(const cuzk_bench_sum *s, size_t n, const cuzk_point *want,
                                bool *right, cuzk_bench_time *time) CUZK_MUST_CHECK;

/* `msm --all`: bench_msm_all.c. */
cuzk_status cuzk_bench_msm_all(cuzk_bench *b, cuzk_err *err) CUZK_MUST_CHECK;

/* Nanoseconds of one multiply-add of eight lanes when the vector unit does nothing else, 0 where
 * this was compiled without AVX-512 IFMA; only where cuzk_cpu_has_avx512_ifma(). A few
 * milliseconds. bench_port.c. */
double cuzk_bench_madd_ns(void);

#endif
