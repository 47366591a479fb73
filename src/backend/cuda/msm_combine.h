/* Internal: the host's part of an MSM, one function a group. */
#ifndef CUZK_BACKEND_CUDA_MSM_COMBINE_H
#define CUZK_BACKEND_CUDA_MSM_COMBINE_H

#include "curve/curve.h"

/* result: for each of `sets` bucket sets, `window` XYZZ sums: of all its buckets, and of those
 * whose number has bit 0, 1, ..., window - 2; the first `narrow` of them are digits of one bit
 * less. out: the MSM's affine result. Variable time. */
void cuzk__cuda_combine_bn254_g1(const void *result, uint32_t sets, int window, uint32_t narrow,
                                 cuzk_point *out);
void cuzk__cuda_combine_bn254_g2(const void *result, uint32_t sets, int window, uint32_t narrow,
                                 cuzk_point *out);
void cuzk__cuda_combine_bls12_381_g1(const void *result, uint32_t sets, int window, uint32_t narrow,
                                     cuzk_point *out);
void cuzk__cuda_combine_bls12_381_g2(const void *result, uint32_t sets, int window, uint32_t narrow,
                                     cuzk_point *out);

#endif
