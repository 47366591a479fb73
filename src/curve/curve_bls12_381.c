#include "curve/groups.h"
#include "curve/internal.h"

#include <string.h>

#define GO bls12_381_g1
#define GO_EC cuzk_bls12_381_g1
#define GO_F cuzk_bls12_381_fp
#define GO_GENERATOR CUZK_BLS12_381_G1_GEN
#include "curve/group_ops.inl.h"

#define GO bls12_381_g2
#define GO_EC cuzk_bls12_381_g2
#define GO_F cuzk_bls12_381_fp2
#define GO_GENERATOR CUZK_BLS12_381_G2_GEN
#include "curve/group_ops.inl.h"

static const uint64_t fp_modulus[6] = CUZK_BLS12_381_FP_MODULUS;

static void fp_to_mont(void *r, const void *plain) {
    cuzk_bls12_381_fp_t a;
    memcpy(&a, plain, sizeof a);
    cuzk_bls12_381_fp_to_mont(&a, &a);
    memcpy(r, &a, sizeof a);
}

static void fp_from_mont(void *plain, const void *a) {
    cuzk_bls12_381_fp_t t;
    memcpy(&t, a, sizeof t);
    cuzk_bls12_381_fp_from_mont(&t, &t);
    memcpy(plain, &t, sizeof t);
}

static bool fp_is_canonical(const void *plain) {
    cuzk_bls12_381_fp_t t;
    memcpy(&t, plain, sizeof t);
    return cuzk_bls12_381_fp_is_canonical(&t);
}

/* phi(P) = [-x^2]P with phi(x, y) = (BETA x, y): Scott, "A note on group membership tests for G1,
 * G2 and GT on BLS pairing-friendly curves", eprint 2021/1130. That only points of order r
 * satisfy it, and the equation in G2 below, is checked in tools/gen_params.py. */
static bool bls12_381_g1_in_subgroup(const void *a) {
    if (!bls12_381_g1_on_curve(a)) return false;
    const cuzk_bls12_381_fp_t beta = {CUZK_BLS12_381_G1_BETA};
    cuzk_bls12_381_g1_affine_t p;
    cuzk_bls12_381_g1_xyzz_t t, x1;
    bls12_381_g1_load(&p, a);
    bls12_381_g1_mul_u64(&x1, &p, CUZK_BLS12_381_X);
    t = x1; /* [x^2]P = [|x|]([|x|]P) */
    for (int i = 62; i >= 0; i--) {
        cuzk_bls12_381_g1_xyzz_dbl(&t, &t);
        if (CUZK_BLS12_381_X >> i & 1) cuzk_bls12_381_g1_xyzz_add(&t, &t, &x1);
    }
    cuzk_bls12_381_fp_mul(&p.x, &p.x, &beta);
    cuzk_bls12_381_g1_xyzz_add_affine(&t, &t, &p);
    return cuzk_bls12_381_g1_xyzz_is_infinity(&t);
}

/* psi(P) = [x]P; x is negative. */
static bool bls12_381_g2_in_subgroup(const void *a) {
    if (!bls12_381_g2_on_curve(a)) return false;
    const cuzk_bls12_381_fp2_t cx = CUZK_BLS12_381_PSI_X, cy = CUZK_BLS12_381_PSI_Y;
    cuzk_bls12_381_g2_affine_t p, q;
    cuzk_bls12_381_g2_xyzz_t t;
    bls12_381_g2_load(&p, a);
    bls12_381_g2_mul_u64(&t, &p, CUZK_BLS12_381_X);
    cuzk_bls12_381_fp2_conj(&q.x, &p.x);
    cuzk_bls12_381_fp2_mul(&q.x, &q.x, &cx);
    cuzk_bls12_381_fp2_conj(&q.y, &p.y);
    cuzk_bls12_381_fp2_mul(&q.y, &q.y, &cy);
    cuzk_bls12_381_g2_xyzz_add_affine(&t, &t, &q);
    return cuzk_bls12_381_g2_xyzz_is_infinity(&t);
}

const cuzk_curve cuzk__curve_bls12_381 = {
    .id = CUZK_BLS12_381,
    .name = "bls12_381",
    .circom = "bls12381",
    .fr = &cuzk_bls12_381_fr_ops,
    .fp_limbs = 6,
    .fp_modulus = fp_modulus,
    .fp_to_mont = fp_to_mont,
    .fp_from_mont = fp_from_mont,
    .fp_is_canonical = fp_is_canonical,
    .g1 = CUZK__GROUP_OPS(bls12_381_g1),
    .g2 = CUZK__GROUP_OPS(bls12_381_g2),
    .pairing_product_is_one = cuzk__bls12_381_pairing_product_is_one,
    .pairing = cuzk__bls12_381_pairing,
};
