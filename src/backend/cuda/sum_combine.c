/* The last few additions of a sum of listed points, on the host. */
#include "backend/cuda/sum_combine.h"

#include "curve/groups.h"

#include <string.h>

#define ADD_UP(name)                                                                               \
    void cuzk__cuda_add_up_##name(const void *sums, unsigned n, cuzk_point *out) {                 \
        const cuzk_##name##_xyzz_t *s = sums;                                                      \
        cuzk_##name##_xyzz_t total;                                                                \
        cuzk_##name##_affine_t a;                                                                  \
        cuzk_##name##_xyzz_set_infinity(&total);                                                   \
        for (unsigned i = 0; i < n; i++)                                                           \
            cuzk_##name##_xyzz_add(&total, &total, &s[i]);                                         \
        cuzk_##name##_xyzz_to_affine(&a, &total);                                                  \
        memset(out, 0, sizeof *out);                                                               \
        memcpy(out->b, &a, sizeof a);                                                              \
    }
ADD_UP(bn254_g1)
ADD_UP(bn254_g2)
ADD_UP(bls12_381_g1)
ADD_UP(bls12_381_g2)
