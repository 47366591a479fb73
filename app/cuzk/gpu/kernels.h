/* The CUDA kernels, each result checked and timed: behind `cuzk bench OPERATION --device cuda` and
 * the tests of the kernels. */
#ifndef CUZK_GPU_KERNELS_H
#define CUZK_GPU_KERNELS_H

#ifdef __cplusplus
extern "C" {
#endif

#include "backend/cuda/cuda.h"

typedef struct cuzk_kernels_options {
    cuzk_curve_id curve;       /* 0: both */
    cuzk_group group;          /* 0: both */
    unsigned log2_lo, log2_hi; /* sizes, 2^log2_lo to 2^log2_hi */
    unsigned step;             /* from one to the next; 0: 1 */
    unsigned runs;             /* after one that does not count; 0: 1 */
    bool quick;                /* checks: few timings, and sizes that are no powers of two */
    const char *pattern;       /* msm, bits: of scalars and bases; NULL: the usual one. ntt: the
                                  passes of the only size, as in 8+7+7; NULL: the plan's */
    bool patterns;             /* every pattern */
    unsigned factor;           /* msm: multiples in the table of the second variant; 1: no second
                                  variant; 0: as many as help */
    unsigned window;           /* msm: bits of a digit; 0: the cost model's */
    const char *circuit;       /* eval: the circuit, NULL: the small ones. bits: "porep-32g", the
                                  ones of its partition, or NULL */
} cuzk_kernels_options;

/* One result. Strings and times are borrowed. */
typedef struct cuzk_kernels_row {
    const char *op, *curve, *group;
    unsigned log2n;
    const char *variant;
    bool verified;
    const float *ms; /* one per run, sorted */
    unsigned runs;
    double floor_ms;   /* at the device's multiply-adds or its memory's rate; 0: none is known */
    double bytes;      /* of device memory that have to be read or written at least */
    const char *extra; /* more JSON members: each after a comma */
} cuzk_kernels_row;

typedef struct cuzk_kernels_sink {
    void (*row)(void *ctx, const cuzk_kernels_row *row);
    void *ctx;
} cuzk_kernels_sink;

/* The operations: "field", "ntt", "msm", "bits" and "eval"; NULL behind the last. */
extern const char *const cuzk_kernels_operations[];

/* Runs one on a device, whose handle nobody else uses meanwhile. *wrong is added to for every
 * result that is not what it should be; what a row does not tell goes to stderr. USAGE for an
 * operation, pattern or circuit that does not exist. */
cuzk_status cuzk_kernels_run(cuzk_cuda *dev, const char *operation, const cuzk_kernels_options *o,
                             const cuzk_kernels_sink *sink, unsigned *wrong,
                             cuzk_err *err) CUZK_MUST_CHECK;

#ifdef __cplusplus
}
#endif

#endif
