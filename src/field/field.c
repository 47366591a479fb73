#include "field/field.h"

#include "field/fields.h"

#include <string.h>

/* hi * 2^256 + lo: each half is below 2^256 < 8r, so a few subtractions make it canonical, and
 * multiplying hi's Montgomery form by R2 supplies the factor 2^256. */
#define CUZK__FR_OPS(name, UP)                                                                     \
    static void name##_reduce(cuzk_u256 *a) {                                                      \
        static const cuzk_u256 p = {CUZK_##UP##_FR_MODULUS};                                       \
        while (!cuzk_##name##_fr_is_canonical(a)) {                                                \
            uint64_t borrow = 0;                                                                   \
            for (int i = 0; i < 4; i++)                                                            \
                borrow = cuzk_subb(&a->l[i], a->l[i], p.l[i], borrow);                             \
        }                                                                                          \
    }                                                                                              \
    static void name##_from_wide(cuzk_u256 *r, const uint8_t bytes[64]) {                          \
        static const cuzk_u256 r2 = {CUZK_##UP##_FR_R2};                                           \
        cuzk_u256 lo, hi;                                                                          \
        memcpy(&lo, bytes, 32);                                                                    \
        memcpy(&hi, bytes + 32, 32);                                                               \
        name##_reduce(&lo);                                                                        \
        name##_reduce(&hi);                                                                        \
        cuzk_##name##_fr_to_mont(&lo, &lo);                                                        \
        cuzk_##name##_fr_to_mont(&hi, &hi);                                                        \
        cuzk_##name##_fr_mul(&hi, &hi, &r2);                                                       \
        cuzk_##name##_fr_add(r, &lo, &hi);                                                         \
    }                                                                                              \
    static bool name##_is_canonical(const cuzk_u256 *a) {                                          \
        return cuzk_##name##_fr_is_canonical(a);                                                   \
    }                                                                                              \
    static void name##_add(cuzk_u256 *r, const cuzk_u256 *a, const cuzk_u256 *b) {                 \
        cuzk_##name##_fr_add(r, a, b);                                                             \
    }                                                                                              \
    static void name##_sub(cuzk_u256 *r, const cuzk_u256 *a, const cuzk_u256 *b) {                 \
        cuzk_##name##_fr_sub(r, a, b);                                                             \
    }                                                                                              \
    static void name##_mul(cuzk_u256 *r, const cuzk_u256 *a, const cuzk_u256 *b) {                 \
        cuzk_##name##_fr_mul(r, a, b);                                                             \
    }                                                                                              \
    static void name##_inv(cuzk_u256 *r, const cuzk_u256 *a) {                                     \
        cuzk_##name##_fr_inv(r, a);                                                                \
    }                                                                                              \
    static void name##_pow(cuzk_u256 *r, const cuzk_u256 *a, const uint64_t *e, int n) {           \
        cuzk_##name##_fr_pow(r, a, e, n);                                                          \
    }                                                                                              \
    static void name##_to_mont(cuzk_u256 *r, const cuzk_u256 *a) {                                 \
        cuzk_##name##_fr_to_mont(r, a);                                                            \
    }                                                                                              \
    static void name##_from_mont(cuzk_u256 *r, const cuzk_u256 *a) {                               \
        cuzk_##name##_fr_from_mont(r, a);                                                          \
    }                                                                                              \
    const cuzk_fr_ops cuzk_##name##_fr_ops = {                                                     \
        .modulus = {CUZK_##UP##_FR_MODULUS},                                                       \
        .one = {CUZK_##UP##_FR_ONE},                                                               \
        .bits = CUZK_##UP##_FR_BITS,                                                               \
        .adicity = CUZK_##UP##_FR_ADICITY,                                                         \
        .root_5 = {CUZK_##UP##_FR_ROOT_5},                                                         \
        .root_7 = {CUZK_##UP##_FR_ROOT_7},                                                         \
        .is_canonical = name##_is_canonical,                                                       \
        .add = name##_add,                                                                         \
        .sub = name##_sub,                                                                         \
        .mul = name##_mul,                                                                         \
        .inv = name##_inv,                                                                         \
        .pow = name##_pow,                                                                         \
        .to_mont = name##_to_mont,                                                                 \
        .from_mont = name##_from_mont,                                                             \
        .from_wide = name##_from_wide,                                                             \
    };

CUZK__FR_OPS(bn254, BN254)
CUZK__FR_OPS(bls12_381, BLS12_381)

void cuzk_fr_root(const cuzk_fr_ops *fr, cuzk_u256 *root, unsigned family, unsigned log2n) {
    *root = family == 7 ? fr->root_7 : fr->root_5;
    for (unsigned k = fr->adicity; k > log2n; k--)
        fr->mul(root, root, root);
}
