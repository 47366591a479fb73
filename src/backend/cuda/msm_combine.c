/* The last steps of an MSM, on the host, where a chain of doublings takes microseconds each instead
 * of the ten that a single thread of the device needs. */
#include "backend/cuda/msm_combine.h"

#include "curve/groups.h"

#include <string.h>

/* sum_b (b + 1) B_b = mode_0 + sum_k 2^k mode_(k+1), and a set is a digit of 2^window, or
 * 2^(window-1): one chain of doublings through all bits of all sets. */
#define COMBINE(name)                                                                              \
    void cuzk__cuda_combine_##name(const void *result, uint32_t sets, int window, uint32_t narrow, \
                                   cuzk_point *out) {                                              \
        const cuzk_##name##_xyzz_t *modes = result;                                                \
        cuzk_##name##_xyzz_t r;                                                                    \
        cuzk_##name##_affine_t a;                                                                  \
        cuzk_##name##_xyzz_set_infinity(&r);                                                       \
        for (uint32_t set = sets; set-- > 0;) {                                                    \
            const cuzk_##name##_xyzz_t *mode = modes + (size_t)set * (size_t)window;               \
            const int width = window - (set < narrow);                                             \
            for (int k = width; k > 0; k--) {                                                      \
                cuzk_##name##_xyzz_dbl(&r, &r);                                                    \
                if (k < width) cuzk_##name##_xyzz_add(&r, &r, &mode[k]);                           \
            }                                                                                      \
            cuzk_##name##_xyzz_add(&r, &r, &mode[0]);                                              \
        }                                                                                          \
        cuzk_##name##_xyzz_to_affine(&a, &r);                                                      \
        memset(out, 0, sizeof *out);                                                               \
        memcpy(out->b, &a, sizeof a);                                                              \
    }
COMBINE(bn254_g1)
COMBINE(bn254_g2)
COMBINE(bls12_381_g1)
COMBINE(bls12_381_g2)
