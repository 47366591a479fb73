/* What the backend's translation units share; CUDA types, so only for .cu files. */
#ifndef CUZK_BACKEND_CUDA_INTERNAL_H
#define CUZK_BACKEND_CUDA_INTERNAL_H

#include "backend/cuda/cuda.h"

#include <cuda_runtime.h>

enum { CUZK__CUDA_MARKS = 4, CUZK__CUDA_COUNTERS = 64 };

struct cuzk_cuda {
    int ordinal;
    cuzk_cuda_info info;
    cudaStream_t stream;
    cudaEvent_t marks[CUZK__CUDA_MARKS];
    unsigned *counters; /* device: work counters, zeroed before each operation */
    void *pinned;       /* host, 4 KiB: small results */
};

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
    /* Sets the kernels' shared-memory limits on the current device. */
    cuzk_status (*prepare)(cuzk_err *err);
    cuzk_status (*make_tables)(cuzk_cuda_ntt *plan, cuzk_ntt_dir dir, cuzk_err *err);
    cuzk_status (*make_scale)(const cuzk_cuda_ntt *plan, cuzk_cuda_ntt_scale *scale,
                              const cuzk_u256 *h, cuzk_err *err);
    cuzk_status (*run)(const cuzk_cuda_ntt *plan, void *device, cuzk_ntt_dir dir,
                       cuzk_ntt_order order, const cuzk_cuda_ntt_scale *scale, cuzk_err *err);
};
extern const cuzk__cuda_ntt_ops cuzk__cuda_ntt_bn254, cuzk__cuda_ntt_bls12_381;

enum { CUZK__NTT_MAX_PASSES = 4, CUZK__NTT_MAX_LOG = 28 };

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
    uint32_t w8[2][3][16];         /* roots of order 8: pairs */
};

/* Cuts log2n into passes; returns their number. */
int cuzk__cuda_ntt_split(unsigned log2n, int len[CUZK__NTT_MAX_PASSES]);

#endif
