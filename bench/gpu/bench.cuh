/* Shared by the parts of cuzk-gpu-bench: options, JSON rows, small statistics, random values. */
#ifndef CUZK_BENCH_GPU_BENCH_CUH
#define CUZK_BENCH_GPU_BENCH_CUH

#include "backend/cuda/cuda_internal.h"

#include <stdio.h>
#include <string>
#include <time.h>
#include <vector>

struct bench_options {
    cuzk_curve_id curve; /* 0: both */
    unsigned from, to;   /* log2 of the sizes */
    int reps;
    unsigned step;
    bool quick;          /* checks only */
    bool patterns;       /* msm, bits: adversarial scalars and bases too */
    bool partition;      /* bits: the ones of a 32 GiB partition */
    const char *circuit; /* rows: its name */
    unsigned factor;     /* msm: multiples in the table of the second variant */
    unsigned window;     /* msm: bits of a digit; 0: the cost model's */
    cuzk_group group;    /* 0: both */
    uint64_t seed;
};

/* Collects the result rows of one run; written by main. */
struct bench_report {
    std::vector<std::string> rows;
    int failures = 0;
    /* Adds one row: fixed fields, then times; extra is JSON text such as "\"window\":16". */
    void row(const char *op, const char *curve, const char *group, unsigned log2n,
             const char *variant, bool verified, std::vector<float> ms, const std::string &extra);
};

/* Times `body` reps times after one untimed run; milliseconds of device time. */
template <class Body>
static cuzk_status bench_time(cuzk_cuda *dev, int reps, std::vector<float> *ms, cuzk_err *err,
                              Body body) {
    ms->clear();
    for (int i = 0; i <= reps; i++) {
        CUZK_TRY(cuzk_cuda_mark(dev, 0, err));
        CUZK_TRY(body());
        CUZK_TRY(cuzk_cuda_mark(dev, 1, err));
        float t;
        CUZK_TRY(cuzk_cuda_elapsed(dev, 0, 1, &t, err));
        if (i) ms->push_back(t);
    }
    return CUZK_OK;
}

static inline int64_t bench_now_ns(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

/* SplitMix64: a fast stream for test data. */
struct bench_rng {
    uint64_t s;
    uint64_t next() {
        uint64_t z = (s += 0x9e3779b97f4a7c15u);
        z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
        z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
        return z ^ (z >> 31);
    }
};

cuzk_status bench_field(cuzk_cuda *dev, const bench_options &o, bench_report *rep, cuzk_err *err);
cuzk_status bench_ntt(cuzk_cuda *dev, const bench_options &o, bench_report *rep, cuzk_err *err);
cuzk_status bench_msm(cuzk_cuda *dev, const bench_options &o, bench_report *rep, cuzk_err *err);
cuzk_status bench_bits(cuzk_cuda *dev, const bench_options &o, bench_report *rep, cuzk_err *err);
cuzk_status bench_rows(cuzk_cuda *dev, const bench_options &o, bench_report *rep, cuzk_err *err);

/* out[j] = (s + j) G for j < n (device), by doubling; *ok is cleared when one of some points that
 * the host computes too is wrong. */
cuzk_status bench_table(cuzk_cuda *dev, cuzk_curve_id curve, cuzk_group group, size_t n,
                        const cuzk_u256 *s, void *out, bool *ok, cuzk_err *err);

#endif
