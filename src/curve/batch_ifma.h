/* Affine additions in batches with AVX-512 IFMA, for batch_affine.inl.h. Internal. */
#ifndef CUZK_CURVE_BATCH_IFMA_H
#define CUZK_CURVE_BATCH_IFMA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#if defined(CUZK_FIELD_ASM) && defined(__x86_64__)
#define CUZK__CURVE_IFMA 1
#else
#define CUZK__CURVE_IFMA 0
#endif

/* Bytes of scratch for n additions of points of so many bytes; any alignment. */
#define CUZK__BATCH_IFMA_SCRATCH(n, point_size) (((n) + 8) * 7 * (size_t)(point_size))

/* a[at[i]] += b[from[i] >> 1], or -= where from[i] is odd, for n >= 1 points of the files, a and b
 * apart and at[i] all different; NULL for at and from: a[i] += b[i]. False, and nothing done, when
 * some point is infinity or a pair has the same x. Only where cuzk_cpu_has_avx512_ifma(). */
#define CUZK__BATCH_IFMA(group)                                                                    \
    bool cuzk__batch_ifma_##group(void *a, const uint32_t *at, const void *b,                      \
                                  const uint32_t *from, size_t n, void *scratch)
CUZK__BATCH_IFMA(bn254_g1);
CUZK__BATCH_IFMA(bn254_g2);
CUZK__BATCH_IFMA(bls12_381_g1);
CUZK__BATCH_IFMA(bls12_381_g2);

#endif
