/* Internal: the host's part of a sum of listed points, one function a group. */
#ifndef CUZK_BACKEND_CUDA_SUM_COMBINE_H
#define CUZK_BACKEND_CUDA_SUM_COMBINE_H

#include "curve/curve.h"

/* *out: the affine sum of n points in XYZZ. */
void cuzk__cuda_add_up_bn254_g1(const void *sums, unsigned n, cuzk_point *out);
void cuzk__cuda_add_up_bn254_g2(const void *sums, unsigned n, cuzk_point *out);
void cuzk__cuda_add_up_bls12_381_g1(const void *sums, unsigned n, cuzk_point *out);
void cuzk__cuda_add_up_bls12_381_g2(const void *sums, unsigned n, cuzk_point *out);

#endif
