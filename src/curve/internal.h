/* What the files of this module share. */
#ifndef CUZK_CURVE_INTERNAL_H
#define CUZK_CURVE_INTERNAL_H

#include "curve/curve.h"

extern const cuzk_curve cuzk__curve_bn254;
extern const cuzk_curve cuzk__curve_bls12_381;

/* The table of one instance of group_ops.inl.h. */
#define CUZK__GROUP_OPS(name)                                                                      \
    {                                                                                              \
        .point_size = sizeof name##_generator, .generator = &name##_generator,                     \
        .is_infinity = name##_is_infinity, .eq = name##_eq, .add = name##_add, .neg = name##_neg,  \
        .mul = name##_mul, .is_canonical = name##_is_canonical, .on_curve = name##_on_curve,       \
        .in_subgroup = name##_in_subgroup                                                          \
    }

/* The pairing members of cuzk_curve; see there. */
bool cuzk__bn254_pairing_product_is_one(const void *const *p, const void *const *q, size_t n);
void cuzk__bn254_pairing(uint64_t *out, const void *p, const void *q);
bool cuzk__bls12_381_pairing_product_is_one(const void *const *p, const void *const *q, size_t n);
void cuzk__bls12_381_pairing(uint64_t *out, const void *p, const void *q);

#endif
