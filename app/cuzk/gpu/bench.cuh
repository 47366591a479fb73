/* Shared by the operations of kernels.h: rows, times, floors, random values. */
#ifndef CUZK_GPU_BENCH_CUH
#define CUZK_GPU_BENCH_CUH

#include "backend/cuda/cuda_internal.h"
#include "kernels.h"

#include <stdio.h>
#include <string.h>
#include <string>
#include <time.h>
#include <vector>

typedef cuzk_kernels_options bench_options;

/* Where the rows of one operation go. */
struct bench_report {
    const cuzk_kernels_sink *sink;
    unsigned failures;
    /* extra is JSON text such as "\"window\":16"; floor_ms and bytes as in kernels.h. */
    void row(const char *op, const char *curve, const char *group, unsigned log2n,
             const char *variant, bool verified, std::vector<float> ms, double floor_ms,
             double bytes, const std::string &extra);
};

/* Milliseconds of so many wide multiply-adds (32 x 32 + 64 bits) at 32 a clock and multiprocessor,
 * or of so many bytes at the rate at which memory is copied. */
double bench_wides_ms(const cuzk_cuda *dev, double wides);
double bench_bytes_ms(const cuzk_cuda *dev, double bytes);

/* Wide multiply-adds of a product by a fixed operand: Shoup's, in the scalar fields. */
static inline double bench_shoup_wides(bool bn254) {
    return bn254 ? 111 : 100;
}

/* Wide multiply-adds of operations in a group: an addition in affine coordinates that shares its
 * inversion, and one of two points in XYZZ coordinates. */
struct bench_group_cost {
    double affine, xyzz;
};
bench_group_cost bench_cost(cuzk_curve_id curve, cuzk_group group);

/* Times `body` reps times after one untimed run; milliseconds of device time. */
template <class Body>
static cuzk_status bench_time(cuzk_cuda *dev, unsigned reps, std::vector<float> *ms, cuzk_err *err,
                              Body body) {
    ms->clear();
    for (unsigned i = 0; i <= reps; i++) {
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
cuzk_status bench_eval(cuzk_cuda *dev, const bench_options &o, bench_report *rep, cuzk_err *err);

/* USAGE unless name is NULL or that of one of the patterns. */
template <class P, size_t N>
static cuzk_status bench_find_pattern(const char *name, const P (&patterns)[N], cuzk_err *err) {
    std::string all;
    for (const P &p : patterns) {
        if (!name || strcmp(name, p.name) == 0) return CUZK_OK;
        all += std::string(" ") + p.name;
    }
    return cuzk_err_set(err, CUZK_STATUS_USAGE, "no pattern %s; there are%s", name, all.c_str());
}

/* one(dev, o, curve, group, log2n, rep, err) for each curve, group and size that o asks for. */
template <class One>
static cuzk_status bench_sizes(cuzk_cuda *dev, const bench_options &o, bench_report *rep, One one,
                               cuzk_err *err) {
    for (int k = 0; k < 4; k++) {
        const cuzk_curve_id curve = k & 1 ? CUZK_BN254 : CUZK_BLS12_381;
        const cuzk_group group = k & 2 ? CUZK_G2 : CUZK_G1;
        if ((o.curve && o.curve != curve) || (o.group && o.group != group)) continue;
        for (unsigned log2n = o.log2_lo; log2n <= o.log2_hi; log2n += o.step)
            CUZK_TRY(one(dev, o, curve, group, log2n, rep, err));
    }
    return CUZK_OK;
}

/* out[j] = (s + j) G for j < n (device), by doubling; *ok is cleared when one of some points that
 * the host computes too is wrong. */
cuzk_status bench_table(cuzk_cuda *dev, cuzk_curve_id curve, cuzk_group group, size_t n,
                        const cuzk_u256 *s, void *out, bool *ok, cuzk_err *err);

#endif
