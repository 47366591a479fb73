/* The two curves at run time.
 *
 * Points at module borders are affine, coordinates in Montgomery form, x then y (in G2 each c0
 * then c1), limbs least significant first: the layout of circom's .zkey, so that a key is used
 * straight from its mapping. Infinity is all zero bytes. `point_size` bytes each: 64 and 128 for
 * BN254, 96 and 192 for BLS12-381. Pointers to points may have any alignment.
 */
#ifndef CUZK_CURVE_CURVE_H
#define CUZK_CURVE_CURVE_H

#include "base/status.h"
#include "base/thread.h"
#include "field/field.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum cuzk_curve_id { CUZK_BN254 = 1, CUZK_BLS12_381 = 2 } cuzk_curve_id;
typedef enum cuzk_group { CUZK_G1 = 1, CUZK_G2 = 2 } cuzk_group;

enum { CUZK_POINT_MAX = 192 };

/* Room for one affine point of any curve and group. */
typedef struct cuzk_point {
    _Alignas(16) uint8_t b[CUZK_POINT_MAX];
} cuzk_point;

/* One group. All functions take and give affine points as described above, accept any alignment
 * and aliasing, and take variable time. Inputs must be canonical and on the curve except where
 * the function is the one that checks it. */
typedef struct cuzk_group_ops {
    size_t point_size;
    const void *generator;
    bool (*is_infinity)(const void *a);
    bool (*eq)(const void *a, const void *b);
    void (*add)(void *r, const void *a, const void *b);
    void (*neg)(void *r, const void *a);
    /* r = k * a for any plain k. */
    void (*mul)(void *r, const void *a, const cuzk_u256 *k);
    /* Every coordinate below p. */
    bool (*is_canonical)(const void *a);
    /* Canonical and on the curve; infinity counts. */
    bool (*on_curve)(const void *a);
    /* on_curve and of order r. */
    bool (*in_subgroup)(const void *a);
} cuzk_group_ops;

typedef struct cuzk_curve {
    cuzk_curve_id id;
    const char *name;   /* "bn254", "bls12_381": command line and figures */
    const char *circom; /* "bn128", "bls12381": snarkjs's JSON */
    const cuzk_fr_ops *fr;
    unsigned fp_limbs;          /* 4 or 6 */
    const uint64_t *fp_modulus; /* plain, fp_limbs limbs */
    /* Base-field elements between Montgomery and plain form, fp_limbs limbs each, any alignment. */
    void (*fp_to_mont)(void *r, const void *plain);
    void (*fp_from_mont)(void *plain, const void *a);
    bool (*fp_is_canonical)(const void *plain);
    cuzk_group_ops g1, g2;
    /* True when the product of e(p[i], q[i]) over i < n is 1. Points must be in the subgroups;
     * pairs with infinity contribute 1. */
    bool (*pairing_product_is_one)(const void *const *p, const void *const *q, size_t n);
    /* The 2x3x2 coefficients of e(p, q) in snarkjs's order (vk_alphabeta_12): out[i][j][k] holds
     * plain limbs, coefficient of w^i v^j u^k for the tower Fp2 -> Fp6 = Fp2[v] -> Fp12 = Fp6[w];
     * fp_limbs limbs each, 12 elements in all. */
    void (*pairing)(uint64_t *out, const void *p, const void *q);
} cuzk_curve;

/* NULL for an unknown id. */
const cuzk_curve *cuzk_curve_get(cuzk_curve_id id);
/* By either name; NULL when unknown. */
const cuzk_curve *cuzk_curve_by_name(const char *name);
/* By the plain little-endian bytes of the base field's modulus; NULL when unknown. */
const cuzk_curve *cuzk_curve_by_modulus(const uint8_t *q, size_t n);

static inline const cuzk_group_ops *cuzk_curve_group(const cuzk_curve *c, cuzk_group g) {
    return g == CUZK_G1 ? &c->g1 : &c->g2;
}

/* Checks n points, strided by point_size: canonical and on the curve, and with `subgroup` of
 * order r as well (many points by sums of random subsets, which overlook one with a probability
 * of 2^-64; see check.c). Returns n when all are good, else the index of the first bad one. pool
 * may be NULL. */
size_t cuzk_points_first_bad(const cuzk_curve *c, cuzk_group g, const void *points, size_t n,
                             bool subgroup, cuzk_pool *pool);

/* out[i] = scalars[i] * base for n scalars (plain, 32 bytes each), by a window table of the base:
 * for making keys; see fixed_base.c. out is strided by point_size, must not overlap the scalars;
 * any alignment. Scalars must be below the order r. base may be infinity. pool may be NULL.
 * Variable time, and the table is not wiped: not for secrets that outlive the making of a key.
 * Fails with NO_MEMORY only; the table takes at most 16 windows of 2^15 points. */
cuzk_status cuzk_fixed_base_mul(const cuzk_curve *c, cuzk_group g, void *out, const void *base,
                                const void *scalars, size_t n, cuzk_pool *pool) CUZK_MUST_CHECK;

/* The same with a table that is made once and used for many calls: for n_total scalars in all.
 * Immutable, so thread-safe. The table of a large n takes 50 MiB in BLS12-381's G1, 100 in G2. */
typedef struct cuzk_fixed_base cuzk_fixed_base;
cuzk_status cuzk_fixed_base_new(cuzk_fixed_base **out, const cuzk_curve *c, cuzk_group g,
                                const void *base, size_t n_total, cuzk_pool *pool) CUZK_MUST_CHECK;
cuzk_status cuzk_fixed_base_run(const cuzk_fixed_base *f, void *out, const void *scalars, size_t n,
                                cuzk_pool *pool) CUZK_MUST_CHECK;
void cuzk_fixed_base_free(cuzk_fixed_base *f);

#endif
