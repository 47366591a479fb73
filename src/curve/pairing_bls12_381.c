/* The pairing of BLS12-381 by blst. Its points and field elements have our layout. Its final
 * exponentiation includes the factor 3 that snarkjs's has too, so that vk_alphabeta_12 needs no
 * conversion. */
#include "curve/internal.h"
#include "field/fields.h"

#include <blst.h>
#include <string.h>

_Static_assert(sizeof(blst_p1_affine) == 96 && sizeof(blst_p2_affine) == 192, "layout");

enum { MAX_PAIRS = 16 };

/* f *= the Miller functions of n <= MAX_PAIRS pairs without infinity. */
static void miller(blst_fp12 *f, const blst_p1_affine *p, const blst_p2_affine *q, size_t n) {
    const blst_p1_affine *ps[MAX_PAIRS];
    const blst_p2_affine *qs[MAX_PAIRS];
    blst_fp12 t;
    for (size_t i = 0; i < n; i++) {
        ps[i] = &p[i];
        qs[i] = &q[i];
    }
    blst_miller_loop_n(&t, qs, ps, n);
    blst_fp12_mul(f, f, &t);
}

bool cuzk__bls12_381_pairing_product_is_one(const void *const *p, const void *const *q, size_t n) {
    blst_p1_affine a[MAX_PAIRS];
    blst_p2_affine b[MAX_PAIRS];
    blst_fp12 f = *blst_fp12_one();
    size_t used = 0;
    for (size_t i = 0; i < n; i++) {
        memcpy(&a[used], p[i], sizeof a[0]);
        memcpy(&b[used], q[i], sizeof b[0]);
        if (blst_p1_affine_is_inf(&a[used]) || blst_p2_affine_is_inf(&b[used])) continue;
        if (++used == MAX_PAIRS) {
            miller(&f, a, b, used);
            used = 0;
        }
    }
    if (used) miller(&f, a, b, used);
    blst_final_exp(&f, &f);
    return blst_fp12_is_one(&f);
}

void cuzk__bls12_381_pairing(uint64_t *out, const void *p, const void *q) {
    blst_p1_affine a;
    blst_p2_affine b;
    blst_fp12 f = *blst_fp12_one();
    memcpy(&a, p, sizeof a);
    memcpy(&b, q, sizeof b);
    if (!blst_p1_affine_is_inf(&a) && !blst_p2_affine_is_inf(&b)) miller(&f, &a, &b, 1);
    blst_final_exp(&f, &f);
    for (int i = 0; i < 12; i++) {
        cuzk_bls12_381_fp_t t;
        memcpy(&t, &f.fp6[i / 6].fp2[i / 2 % 3].fp[i % 2], sizeof t);
        cuzk_bls12_381_fp_from_mont(&t, &t);
        memcpy(out + 6 * i, t.l, sizeof t.l);
    }
}
