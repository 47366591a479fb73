/* What the backend's translation units share; CUDA types, so only for .cu files. */
#ifndef CUZK_BACKEND_CUDA_CUDA_INTERNAL_H
#define CUZK_BACKEND_CUDA_CUDA_INTERNAL_H

#include "backend/cuda/cuda.h"

#include "backend/cuda/limits.cuh"

#include <cuda_runtime.h>

enum { CUZK__CUDA_MARKS = 4, CUZK__CUDA_COUNTERS = 64, CUZK__SUM_PARTIALS = 512 };
enum { CUZK__NTT_MAX_PASSES = 4, CUZK__NTT_MAX_LOG = 28 };

/* Device memory that is taken once and never returned in parts. Measuring, it only counts: what it
 * gives then must not be touched. */
struct cuzk__arena {
    char *base;
    size_t used, size;
    bool measuring;
};

struct cuzk_cuda {
    int ordinal;
    cuzk_cuda_info info;
    cudaStream_t stream;
    cudaEvent_t marks[CUZK__CUDA_MARKS];
    unsigned *counters; /* device: work counters, zeroed before each operation; behind them
                           transforms' own, CUZK__NTT_MAX_PASSES */
    void *pinned;       /* host, 4 KiB: small results */
    cuzk__arena *arena; /* where cuzk_cuda_alloc takes memory; NULL: from the driver */
};

/* Another stream of the same device, as a handle; high: its kernels go first. */
cuzk_status cuzk__cuda_open_lane(cuzk_cuda **out, const cuzk_cuda *dev, bool high,
                                 cuzk_err *err) CUZK_MUST_CHECK;

/* Shared memory for a block whose operands take so many bytes a coordinate (limits.cuh). */
static inline size_t cuzk__cuda_stage(const cuzk_cuda *dev, size_t coordinate) {
    return cuzk_gpu::stage_bytes(coordinate, dev->info.block_shared);
}
/* NO_DEVICE when that is nothing. */
cuzk_status cuzk__cuda_check_stage(const cuzk_cuda *dev, size_t coordinate,
                                   cuzk_err *err) CUZK_MUST_CHECK;

/* Maps a CUDA error to a status, writes err, clears the runtime's last error. */
cuzk_status cuzk__cuda_status(cudaError_t e, const char *what, const char *file, int line,
                              cuzk_err *err) CUZK_MUST_CHECK;

/* Both need a `cuzk_err *err` in scope. The _GOTO form sets the local `st`. */
#define CUZK_CUDA(expr) CUZK_TRY(cuzk__cuda_status((expr), #expr, __FILE__, __LINE__, err))
#define CUZK_CUDA_GOTO(expr, label)                                                                \
    CUZK_TRY_GOTO(cuzk__cuda_status((expr), #expr, __FILE__, __LINE__, err), label)
/* After a kernel launch. */
#define CUZK_CUDA_LAUNCHED() CUZK_CUDA(cudaGetLastError())

/* One field's transforms: ntt_<curve>.cu. */
struct cuzk__cuda_ntt_ops {
    const cuzk_fr_ops *fr;
    /* Sets the kernels' shared-memory limits on the device, which is the current one. */
    cuzk_status (*prepare)(const cuzk_cuda *dev, cuzk_err *err);
    cuzk_status (*make_tables)(cuzk_cuda_ntt *plan, cuzk_ntt_dir dir, cuzk_err *err);
    cuzk_status (*make_scale)(const cuzk_cuda_ntt *plan, cuzk_cuda_ntt_scale *scale,
                              const cuzk_u256 *h, cuzk_err *err);
    cuzk_status (*run)(const cuzk_cuda_ntt *plan, void *device, cuzk_ntt_dir dir,
                       cuzk_ntt_order order, const cuzk_cuda_ntt_scale *scale, cuzk_err *err);
};
extern const cuzk__cuda_ntt_ops cuzk__cuda_ntt_bn254, cuzk__cuda_ntt_bls12_381;

struct cuzk_cuda_ntt_scale {
    cuzk_cuda *dev;
    cuzk_ntt_dir dir;
    void *row, *block; /* device: pairs; see ntt_kernels.cuh */
};

struct cuzk_cuda_ntt {
    cuzk_cuda *dev;
    const cuzk__cuda_ntt_ops *ops;
    unsigned log2n, family, dirs;
    int passes;
    int len[CUZK__NTT_MAX_PASSES]; /* log2 of each pass, NR order */
    void *roots[2];                /* per direction */
    void *boundary[2][CUZK__NTT_MAX_PASSES - 1];
    cuzk_cuda_ntt_scale *one_pass; /* 1/n for inverse transforms of a single pass */
    int turn[2];                   /* of DFTs; dft_factors.cuh */
};

/* One group's point kernels: msm_<group>.cu. Sizes in bytes; pointers are device memory. */
struct cuzk__msm_square; /* msm_lists.cuh */

struct cuzk__cuda_group_ops {
    size_t point_bytes, xyzz_bytes;
    int threads; /* of a block of accumulate(), counting as one those that share a list */
    int (*blocks)(const cuzk_cuda *dev); /* of which a multiprocessor holds so many */
    /* Sets the kernels' shared-memory limits on the device, which is the current one. NO_DEVICE
     * when a block may have too little. */
    cuzk_status (*prepare)(const cuzk_cuda *dev, cuzk_err *err);
    /* Sums lists (accumulate.cuh) with `grid` blocks. */
    cuzk_status (*accumulate)(const cuzk_cuda *dev, const void *args, int grid, cuzk_err *err);
    /* One level of sums of chosen points (accumulate_chosen.cuh) with `grid` blocks. */
    cuzk_status (*choose)(const cuzk_cuda *dev, const void *args, int grid, cuzk_err *err);
    /* *result: the XYZZ sum of *count <= most affine points; partial: CUZK__SUM_PARTIALS sums. */
    cuzk_status (*sum_points)(const cuzk_cuda *dev, const void *points, const uint32_t *count,
                              size_t most, void *partial, void *result, cuzk_err *err);
    /* sums[offset[b]] = the sum of sums[offset[b] .. offset[b+1]), for all buckets b that have more
     * than one. */
    cuzk_status (*merge)(const cuzk_cuda *dev, void *sums, const uint32_t *offset, uint32_t buckets,
                         cuzk_err *err);
    /* Of each of a square's sets of 2^(lg_high + lg_low) buckets, the sums that combine wants:
     * result has 1 + lg_high + lg_low a set. The sum of bucket b is sums[offset[b]], or infinity
     * when offset[b+1] is the same. folded: the points of a folded square, which are taken in
     * place of sums unless too many buckets are empty. grid: room for 2^lg_high + 2^lg_low sums a
     * set. */
    cuzk_status (*reduce)(const cuzk_cuda *dev, const void *sums, const void *folded,
                          const uint32_t *offset, const cuzk__msm_square *square, void *grid,
                          void *result, cuzk_err *err);
    /* out[i] = 2^doublings in[i]; may be in place. */
    cuzk_status (*shift)(const cuzk_cuda *dev, const void *in, void *out, size_t n, int doublings,
                         cuzk_err *err);
    /* out[i] = in[i] + q (host point) where no pair is exceptional. */
    cuzk_status (*add_constant)(const cuzk_cuda *dev, const void *in, void *out, size_t n,
                                const void *q, cuzk_err *err);
    /* Host: the result from what reduce left, copied to the host. */
    void (*combine)(const void *result, uint32_t sets, int window, uint32_t narrow,
                    cuzk_point *out);
};
extern const cuzk__cuda_group_ops cuzk__cuda_bn254_g1, cuzk__cuda_bn254_g2, cuzk__cuda_bls12_381_g1,
    cuzk__cuda_bls12_381_g2;
const cuzk__cuda_group_ops *cuzk__cuda_group(cuzk_curve_id curve, cuzk_group group);

/* Cuts log2n into passes; returns their number. */
int cuzk__cuda_ntt_split(unsigned log2n, int len[CUZK__NTT_MAX_PASSES]);
/* For benchmarks, while there is no plan of that size: cuts it otherwise from now on, into two or
 * more passes of 6 to 9 bits (then zeros). False, and nothing changed, for what is no such cut. */
bool cuzk__cuda_ntt_try_split(unsigned log2n, const int len[CUZK__NTT_MAX_PASSES]);

#endif
