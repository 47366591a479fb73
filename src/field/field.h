/* Scalar fields at run time: one table per curve for code that is written once for both.
 * Hot loops are instances of templates instead (ntt, msm, field/vec). */
#ifndef CUZK_FIELD_FIELD_H
#define CUZK_FIELD_FIELD_H

#include "field/limb.h"

#include <stdbool.h>
#include <stdint.h>

/* Elements are in Montgomery form (R = 2^256) unless "plain" is said. Aliasing is allowed. */
typedef struct cuzk_fr_ops {
    cuzk_u256 modulus; /* plain */
    cuzk_u256 one;
    unsigned bits;    /* of the modulus */
    unsigned adicity; /* 2^adicity divides r - 1 */
    cuzk_u256 root_5; /* 5^((r-1)/2^adicity): snarkjs's family of roots of unity */
    cuzk_u256 root_7; /* 7^((r-1)/2^adicity): bellman's and Filecoin's family (BLS12-381) */
    bool (*is_canonical)(const cuzk_u256 *plain);
    void (*add)(cuzk_u256 *r, const cuzk_u256 *a, const cuzk_u256 *b);
    void (*sub)(cuzk_u256 *r, const cuzk_u256 *a, const cuzk_u256 *b);
    void (*mul)(cuzk_u256 *r, const cuzk_u256 *a, const cuzk_u256 *b);
    void (*inv)(cuzk_u256 *r, const cuzk_u256 *a);
    void (*pow)(cuzk_u256 *r, const cuzk_u256 *a, const uint64_t *e, int limbs);
    void (*to_mont)(cuzk_u256 *r, const cuzk_u256 *plain);
    void (*from_mont)(cuzk_u256 *plain, const cuzk_u256 *a);
    /* 64 bytes read as a little-endian integer, reduced mod r, to Montgomery form: uniform
     * scalars from uniform bytes. */
    void (*from_wide)(cuzk_u256 *r, const uint8_t bytes[64]);
} cuzk_fr_ops;

extern const cuzk_fr_ops cuzk_bn254_fr_ops;
extern const cuzk_fr_ops cuzk_bls12_381_fr_ops;

/* A primitive 2^log2n-th root of unity of the family 5 or 7. log2n <= adicity. */
void cuzk_fr_root(const cuzk_fr_ops *fr, cuzk_u256 *root, unsigned family, unsigned log2n);

#endif
