#include "curve/groups.h"
#include "curve/internal.h"

#include <string.h>

#define GO bn254_g1
#define GO_EC cuzk_bn254_g1
#define GO_F cuzk_bn254_fp
#define GO_GENERATOR CUZK_BN254_G1_GEN
#include "curve/group_ops.inl.h"

#define GO bn254_g2
#define GO_EC cuzk_bn254_g2
#define GO_F cuzk_bn254_fp2
#define GO_GENERATOR CUZK_BN254_G2_GEN
#include "curve/group_ops.inl.h"

static const uint64_t fp_modulus[4] = CUZK_BN254_FP_MODULUS;

static void fp_to_mont(void *r, const void *plain) {
    cuzk_bn254_fp_t a;
    memcpy(&a, plain, sizeof a);
    cuzk_bn254_fp_to_mont(&a, &a);
    memcpy(r, &a, sizeof a);
}

static void fp_from_mont(void *plain, const void *a) {
    cuzk_bn254_fp_t t;
    memcpy(&t, a, sizeof t);
    cuzk_bn254_fp_from_mont(&t, &t);
    memcpy(plain, &t, sizeof t);
}

static bool fp_is_canonical(const void *plain) {
    cuzk_bn254_fp_t t;
    memcpy(&t, plain, sizeof t);
    return cuzk_bn254_fp_is_canonical(&t);
}

/* The cofactor is 1. */
static bool bn254_g1_in_subgroup(const void *a) {
    return bn254_g1_on_curve(a);
}

static void psi(cuzk_bn254_g2_xyzz_t *r, const cuzk_bn254_g2_xyzz_t *a) {
    const cuzk_bn254_fp2_t cx = CUZK_BN254_PSI_X, cy = CUZK_BN254_PSI_Y;
    cuzk_bn254_fp2_conj(&r->x, &a->x);
    cuzk_bn254_fp2_mul(&r->x, &r->x, &cx);
    cuzk_bn254_fp2_conj(&r->y, &a->y);
    cuzk_bn254_fp2_mul(&r->y, &r->y, &cy);
    cuzk_bn254_fp2_conj(&r->zz, &a->zz);
    cuzk_bn254_fp2_conj(&r->zzz, &a->zzz);
}

/* [x+1]P + psi([x]P) + psi^2([x]P) = psi^3([2x]P): Dai, Lin, Zhao, Zhou, "Fast subgroup
 * membership testings for G1, G2 and GT on pairing-friendly curves", eprint 2022/348. That only
 * points of order r satisfy it is checked where the constants are made (tools/gen_params.py). */
static bool bn254_g2_in_subgroup(const void *a) {
    if (!bn254_g2_on_curve(a)) return false;
    cuzk_bn254_g2_affine_t p;
    cuzk_bn254_g2_xyzz_t xp, sum, t;
    bn254_g2_load(&p, a);
    bn254_g2_mul_u64(&xp, &p, CUZK_BN254_X);
    cuzk_bn254_g2_xyzz_add_affine(&sum, &xp, &p);
    psi(&t, &xp);
    cuzk_bn254_g2_xyzz_add(&sum, &sum, &t);
    psi(&t, &t);
    cuzk_bn254_g2_xyzz_add(&sum, &sum, &t);
    psi(&t, &t);
    cuzk_bn254_g2_xyzz_dbl(&t, &t);
    return bn254_g2_xyzz_eq(&sum, &t);
}

const cuzk_curve cuzk__curve_bn254 = {
    .id = CUZK_BN254,
    .name = "bn254",
    .circom = "bn128",
    .fr = &cuzk_bn254_fr_ops,
    .fp_limbs = 4,
    .fp_modulus = fp_modulus,
    .fp_to_mont = fp_to_mont,
    .fp_from_mont = fp_from_mont,
    .fp_is_canonical = fp_is_canonical,
    .g1 = CUZK__GROUP_OPS(bn254_g1),
    .g2 = CUZK__GROUP_OPS(bn254_g2),
    .pairing_product_is_one = cuzk__bn254_pairing_product_is_one,
    .pairing = cuzk__bn254_pairing,
};
