#include "groth16/groth16.h"

#include "msm/msm.h"

#include <string.h>

/* IC[0] + sum publics[i] IC[i+1] */
static cuzk_status public_point(const cuzk_vk *vk, const cuzk_u256 *publics, size_t n,
                                cuzk_point *out, cuzk_err *err) {
    size_t size = vk->curve->g1.point_size;
    cuzk_msm_args args = {
        .curve = vk->curve->id,
        .group = CUZK_G1,
        .n = n,
        .bases = vk->ic + size,
        .scalars = publics,
    };
    cuzk_status st = cuzk_msm(&args, out);
    if (st != CUZK_OK)
        return cuzk_err_set(err, st, "public input MSM over %zu points: %s", n,
                            cuzk_status_text(st));
    vk->curve->g1.add(out, out, vk->ic);
    return CUZK_OK;
}

cuzk_status cuzk_groth16_verify(const cuzk_vk *vk, const cuzk_u256 *publics, size_t n,
                                const cuzk_proof *proof, cuzk_err *err) {
    if (proof->curve != vk->curve)
        return cuzk_err_set(err, CUZK_STATUS_FALSE, "the proof is on %s, the key on %s",
                            proof->curve->circom, vk->curve->circom);
    if (n != vk->n_public)
        return cuzk_err_set(err, CUZK_STATUS_FALSE, "%zu public signals, the key has %u", n,
                            vk->n_public);
    for (size_t i = 0; i < n; i++) {
        if (!vk->curve->fr->is_canonical(&publics[i]))
            return cuzk_err_set(err, CUZK_STATUS_FALSE, "public signal %zu is not below r", i);
    }
    cuzk_point ic, minus_a;
    CUZK_TRY(public_point(vk, publics, n, &ic, err));
    vk->curve->g1.neg(&minus_a, &proof->a);
    const void *g1[4] = {&minus_a, &vk->alpha1, &ic, &proof->c};
    const void *g2[4] = {&proof->b, &vk->beta2, &vk->gamma2, &vk->delta2};
    if (vk->curve->pairing_product_is_one(g1, g2, 4)) return CUZK_OK;
    return cuzk_err_set(err, CUZK_STATUS_FALSE, "the proof is not valid for these public signals");
}
