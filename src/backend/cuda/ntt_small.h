/* Transform plans with small tables (cuda.h), where memory is short: ntt_small.cu. */
#ifndef CUZK_BACKEND_CUDA_NTT_SMALL_H
#define CUZK_BACKEND_CUDA_NTT_SMALL_H

#include <stdbool.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* In `dirs` of a plan: tables of at most some megabytes instead of 64 bytes a point and direction;
 * each transform takes about a third longer. */
enum { CUZK_NTT_SMALL_TABLES = 4 };

/* `dirs` for plans of 2^log2n points on a device whose blocks have so many bytes of shared memory:
 * with small tables, whose kernels need none, where the passes of the others would not be launched.
 */
unsigned cuzk__cuda_ntt_dirs(unsigned log2n, unsigned dirs, size_t block_shared);

/* Device bytes of cuzk_cuda_ntt_scale_new. */
size_t cuzk__cuda_ntt_scale_bytes(unsigned log2n, unsigned dirs);

#ifdef __cplusplus
}
#endif

/* What the backend's own files need. */
#ifdef __cplusplus
#include "backend/cuda/cuda_internal.h"

enum { CUZK__NTT_SMALL_BITS = 13 }; /* of an exponent, in the first of two tables */

extern const cuzk__cuda_ntt_ops cuzk__cuda_ntt_small_bn254, cuzk__cuda_ntt_small_bls12_381;
#endif

#endif
