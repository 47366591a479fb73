/* The last steps of an MSM, on the host, where a chain of doublings takes microseconds each instead
 * of the ten that a single thread of the device needs. */
#include "backend/cuda/msm_combine.h"

#include "curve/groups.h"

#include <string.h>

/* weighted: sum_b (b + 1) B_b = mode_0 + 2^lg_slice_len sum_j 2^j mode_(j+2).
 * Folded, b = 2^F hi + lo: 2^F sum_hi hi R_hi + sum_lo (lo + 1) C_lo, where the first sum is
 * weighted(rows) minus their plain sum, and the second is the columns' plain sum plus that by the
 * bits of the slices' numbers from lg_rest - lg_slice_len up, which are the bits of lo. */
#define COMBINE(name)                                                                              \
    static void bits_##name(cuzk_##name##_xyzz_t *r, const cuzk_##name##_xyzz_t *mode, int from,   \
                            int to) {                                                              \
        cuzk_##name##_xyzz_set_infinity(r);                                                        \
        for (int j = to; j-- > from;) {                                                            \
            cuzk_##name##_xyzz_dbl(r, r);                                                          \
            cuzk_##name##_xyzz_add(r, r, &mode[j + 2]);                                            \
        }                                                                                          \
    }                                                                                              \
    static void weighted_##name(cuzk_##name##_xyzz_t *r, const cuzk_##name##_xyzz_t *mode,         \
                                int lg_slices, int lg_slice_len) {                                 \
        bits_##name(r, mode, 0, lg_slices);                                                        \
        for (int i = 0; i < lg_slice_len; i++)                                                     \
            cuzk_##name##_xyzz_dbl(r, r);                                                          \
        cuzk_##name##_xyzz_add(r, r, &mode[0]);                                                    \
    }                                                                                              \
    void cuzk__cuda_combine_##name(const void *result, uint32_t sets, int window, int lg_slices,   \
                                   int lg_slice_len, int lg_rest, cuzk_point *out) {               \
        const size_t modes = (size_t)(2 + lg_slices);                                              \
        const cuzk_##name##_xyzz_t *sums = result;                                                 \
        cuzk_##name##_xyzz_t total, r, t;                                                          \
        cuzk_##name##_affine_t a;                                                                  \
        cuzk_##name##_xyzz_set_infinity(&total);                                                   \
        for (uint32_t set = sets; set-- > 0;) {                                                    \
            const cuzk_##name##_xyzz_t *rows = sums + set * modes;                                 \
            const cuzk_##name##_xyzz_t *columns = sums + (sets + set) * modes;                     \
            for (int i = 0; i < window; i++)                                                       \
                cuzk_##name##_xyzz_dbl(&total, &total);                                            \
            weighted_##name(&r, rows, lg_slices, lg_slice_len);                                    \
            if (lg_rest >= 0) {                                                                    \
                cuzk_##name##_xyzz_neg(&t, &rows[1]);                                              \
                cuzk_##name##_xyzz_add(&r, &r, &t);                                                \
                for (int i = 0; i < MSM_FOLD_BITS; i++)                                            \
                    cuzk_##name##_xyzz_dbl(&r, &r);                                                \
                cuzk_##name##_xyzz_add(&r, &r, &columns[1]);                                       \
                bits_##name(&t, columns, lg_rest - lg_slice_len, lg_slices);                       \
                cuzk_##name##_xyzz_add(&r, &r, &t);                                                \
            }                                                                                      \
            cuzk_##name##_xyzz_add(&total, &total, &r);                                            \
        }                                                                                          \
        cuzk_##name##_xyzz_to_affine(&a, &total);                                                  \
        memset(out, 0, sizeof *out);                                                               \
        memcpy(out->b, &a, sizeof a);                                                              \
    }
COMBINE(bn254_g1)
COMBINE(bn254_g2)
COMBINE(bls12_381_g1)
COMBINE(bls12_381_g2)
