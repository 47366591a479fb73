/* Groth16's small objects, independent of any file: a proof and a verifying key. */
#ifndef CUZK_FORMAT_GROTH16_DATA_H
#define CUZK_FORMAT_GROTH16_DATA_H

#include "curve/curve.h"

#include <stdint.h>

typedef struct cuzk_proof {
    const cuzk_curve *curve;
    cuzk_point a; /* G1 */
    cuzk_point b; /* G2 */
    cuzk_point c; /* G1 */
} cuzk_proof;

/* Free with cuzk_vk_free. Points are checked by whoever fills it: canonical, on the curve, in the
 * subgroup, unless the reader's documentation says less. */
typedef struct cuzk_vk {
    const cuzk_curve *curve;
    uint32_t n_public; /* without the constant wire */
    cuzk_point alpha1, beta2, gamma2, delta2;
    uint8_t *ic; /* n_public + 1 points of G1, strided by point_size */
} cuzk_vk;

void cuzk_vk_free(cuzk_vk *vk);

#endif
