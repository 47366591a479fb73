/* `cuzk bench`: what its operations share. Every timed result is checked before its row counts. */
#ifndef CUZK_BENCH_H
#define CUZK_BENCH_H

#include "api/device.h"
#include "base/buf.h"
#include "base/cpu.h"
#include "base/status.h"
#include "base/thread.h"
#include "curve/curve.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { CUZK_BENCH_MAX_RUNS = 1000 };

typedef enum cuzk_bench_pattern {
    CUZK_BENCH_UNIFORM, /* below r */
    CUZK_BENCH_01,      /* 0 or 1 */
    CUZK_BENCH_EQUAL,   /* one uniform value n times */
    CUZK_BENCH_HALF01,  /* half of them 0 or 1, the rest uniform */
    CUZK_BENCH_U64,     /* below 2^64 */
} cuzk_bench_pattern;

/* Single kernels on a device: what only they have. */
typedef struct cuzk_bench_kernels {
    const char *operation, *pattern, *circuit;
    bool both_curves, both_groups;
    unsigned step, window, factor;
} cuzk_bench_kernels;

/* Sizes after --vram. */
enum { CUZK_BENCH_MAX_VRAM = 8 };

/* One run of the verb. */
typedef struct cuzk_bench {
    const cuzk_curve *curve;
    cuzk_group group;
    unsigned log2_lo, log2_hi;
    unsigned threads; /* of the pool */
    unsigned runs;
    cuzk_bench_pattern pattern;
    cuzk_cpu_impl impl;
    bool vs_blst;
    bool all;                /* msm: every kind, with its measure */
    const char *zkey, *wtns; /* prove; zkey is also what witness, eval and
                                partition read, wtns partition's directory of keys */
    unsigned partition;      /* for witness, eval and partition */
    const char *seed; /* hexadecimal: partition's key is made from it on the device; NULL: read */
    bool fold;        /* partition: the key made so folds C into L */
    cuzk_device device;
    cuzk_bench_kernels kernels;
    uint64_t vram[CUZK_BENCH_MAX_VRAM]; /* what --vram lists; the first is the device's too */
    unsigned n_vram;
    cuzk_pool *pool;
    /* report */
    const char *command; /* as typed */
    bool table;          /* one line a row on stderr as well */
    cuzk_buf rows;       /* the JSON objects so far, comma separated */
    bool wrong;          /* a result was not what it should be */
} cuzk_bench;

/* One line of the results. Strings are borrowed. */
typedef struct cuzk_bench_row {
    const char *op, *group; /* group NULL: not a matter of a group */
    const char *curve;
    unsigned log2n;
    const char *device; /* "cpu", or "blst" for the library beside ours */
    unsigned threads;
    const char *variant;
    bool verified;
    int64_t *ns; /* one per run; sorted by cuzk_bench_add */
    unsigned runs;
    const char *stages; /* JSON object; NULL: {} */
    const char *extra;  /* more members, each after a comma; NULL: none */
    const char *note;   /* for the table, may be NULL */
} cuzk_bench_row;

/* For tests: the fault `bench_result` (base/fault.h) flips a bit of a result before it is checked.
 */
void cuzk_bench_disturb(void *result);

void cuzk_bench_add(cuzk_bench *b, const cuzk_bench_row *row);

/* The whole document with machine and commit on stdout. */
cuzk_status cuzk_bench_print(const cuzk_bench *b, cuzk_err *err) CUZK_MUST_CHECK;

const char *cuzk_bench_pattern_name(cuzk_bench_pattern p);
const char *cuzk_bench_impl_name(cuzk_cpu_impl impl);
const char *cuzk_bench_group_name(cuzk_group g);

/* The same stream of elements in every run of the program. Uniform below r, Montgomery form. */
typedef struct cuzk_bench_rng {
    uint64_t state;
} cuzk_bench_rng;
uint64_t cuzk_bench_random(cuzk_bench_rng *rng);
void cuzk_bench_element(cuzk_bench_rng *rng, const cuzk_fr_ops *fr, cuzk_u256 *out);

/* The operations: rows into b. Errors are of the machine or the input; wrong results are rows. */
cuzk_status cuzk_bench_ntt(cuzk_bench *b, cuzk_err *err) CUZK_MUST_CHECK;
cuzk_status cuzk_bench_msm(cuzk_bench *b, cuzk_err *err) CUZK_MUST_CHECK;
cuzk_status cuzk_bench_prove(cuzk_bench *b, cuzk_err *err) CUZK_MUST_CHECK;
cuzk_status cuzk_bench_witness(cuzk_bench *b, cuzk_err *err) CUZK_MUST_CHECK;
cuzk_status cuzk_bench_eval(cuzk_bench *b, cuzk_err *err) CUZK_MUST_CHECK;
/* Proofs of one partition with the key of its circuit from the directory b->wtns. */
cuzk_status cuzk_bench_partition_proof(cuzk_bench *b, cuzk_err *err) CUZK_MUST_CHECK;
/* The same on a device of its own (b->device), the key resident. */
cuzk_status cuzk_bench_prove_device(cuzk_bench *b, cuzk_err *err) CUZK_MUST_CHECK;
cuzk_status cuzk_bench_witness_device(cuzk_bench *b, cuzk_err *err) CUZK_MUST_CHECK;
cuzk_status cuzk_bench_partition_device(cuzk_bench *b, cuzk_err *err) CUZK_MUST_CHECK;
cuzk_status cuzk_bench_kernels_run(cuzk_bench *b, cuzk_err *err) CUZK_MUST_CHECK;

/* blst beside ours, BLS12-381 only. */

/* Rows fr_mul, 2^14 products of independent operands in the first-level cache, ours and blst's:
 * what transforms are measured by. */
void cuzk_bench_fr_mul(cuzk_bench *b);
/* The same once more, for what is measured between: nanoseconds of one product by blst. */
double cuzk_bench_fr_mul_once(const cuzk_fr_ops *fr);

/* sum scalars[i] * bases[i] by blst's Pippenger, one thread. bases: as in curve/curve.h. */
cuzk_status cuzk_bench_blst_msm(cuzk_group group, const void *bases, const void *scalars, size_t n,
                                cuzk_point *out, int64_t *ns) CUZK_MUST_CHECK;

#endif
