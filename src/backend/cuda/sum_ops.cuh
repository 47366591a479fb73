/* Sums of listed points of one group: what sum_group.cuh gives. */
#ifndef CUZK_BACKEND_CUDA_SUM_OPS_CUH
#define CUZK_BACKEND_CUDA_SUM_OPS_CUH

#include "backend/cuda/cuda_internal.h"

enum {
    CUZK__SUM_LAST = 16,   /* partial sums that are left for the host to add */
    CUZK__SUM_BLOCKS = 16, /* blocks on a multiprocessor, so partial sums: this times sms */
};

struct cuzk__sum_ops {
    size_t point_bytes, xyzz_bytes;
    /* As of cuzk__cuda_group_ops. */
    cuzk_status (*prepare)(const cuzk_cuda *dev, cuzk_err *err);
    /* Adds points[e & 2^31-1], negated where the top bit is set, for the *count entries e of list;
     * leaves CUZK__SUM_LAST sums in last. partial: room for CUZK__SUM_BLOCKS * sms sums. */
    cuzk_status (*sum)(const cuzk_cuda *dev, const void *points, const uint32_t *list,
                       const uint32_t *count, void *partial, void *last, cuzk_err *err);
    /* out[i] = a[i] + b[i] where a[i] = k b[i] for some small k > 1, affine. */
    cuzk_status (*add_multiples)(const cuzk_cuda *dev, const void *a, const void *b, void *out,
                                 size_t n, cuzk_err *err);
    /* out[i] = scalars[i] times the base whose comb `table` is (plain scalars, n_full 1). */
    cuzk_status (*fixed_base)(const cuzk_cuda *dev, const void *table, unsigned window,
                              unsigned windows, const void *scalars, void *out, size_t n,
                              cuzk_err *err);
    /* Host: the affine sum of n sums. */
    void (*add_up)(const void *sums, unsigned n, cuzk_point *out);
};
const cuzk__sum_ops *cuzk__sum_group(cuzk_curve_id curve, cuzk_group group);
extern const cuzk__sum_ops cuzk__sum_bn254_g1, cuzk__sum_bn254_g2, cuzk__sum_bls12_381_g1,
    cuzk__sum_bls12_381_g2;

#endif
