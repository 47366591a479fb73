/* Internal: the host's part of an MSM, one function a group. */
#ifndef CUZK_BACKEND_CUDA_MSM_COMBINE_H
#define CUZK_BACKEND_CUDA_MSM_COMBINE_H

#include "curve/curve.h"

/* result: 2 + lg_slices XYZZ sums for each of `sets` bucket sets, as reduce left them; out: the
 * MSM's affine result. lg_rest < 0: the sets are those of the buckets. Else the buckets were folded
 * by 2^MSM_FOLD_BITS (msm.cu): first all sets of rows, then all sets of columns, each of which
 * holds 2^lg_rest partial sums in turn. Variable time. */
enum { MSM_FOLD_BITS = 4 };
void cuzk__cuda_combine_bn254_g1(const void *result, uint32_t sets, int window, int lg_slices,
                                 int lg_slice_len, int lg_rest, cuzk_point *out);
void cuzk__cuda_combine_bn254_g2(const void *result, uint32_t sets, int window, int lg_slices,
                                 int lg_slice_len, int lg_rest, cuzk_point *out);
void cuzk__cuda_combine_bls12_381_g1(const void *result, uint32_t sets, int window, int lg_slices,
                                     int lg_slice_len, int lg_rest, cuzk_point *out);
void cuzk__cuda_combine_bls12_381_g2(const void *result, uint32_t sets, int window, int lg_slices,
                                     int lg_slice_len, int lg_rest, cuzk_point *out);

#endif
