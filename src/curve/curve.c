#include "curve/curve.h"

#include "curve/internal.h"

#include <string.h>

static const cuzk_curve *const curves[] = {&cuzk__curve_bn254, &cuzk__curve_bls12_381};

enum { N_CURVES = sizeof curves / sizeof curves[0] };

const cuzk_curve *cuzk_curve_get(cuzk_curve_id id) {
    for (size_t i = 0; i < N_CURVES; i++)
        if (curves[i]->id == id) return curves[i];
    return NULL;
}

const cuzk_curve *cuzk_curve_by_name(const char *name) {
    for (size_t i = 0; i < N_CURVES; i++)
        if (strcmp(name, curves[i]->name) == 0 || strcmp(name, curves[i]->circom) == 0)
            return curves[i];
    return NULL;
}

const cuzk_curve *cuzk_curve_by_modulus(const uint8_t *q, size_t n) {
    for (size_t i = 0; i < N_CURVES; i++) {
        const size_t bytes = 8 * (size_t)curves[i]->fp_limbs;
        if (n == bytes && memcmp(q, curves[i]->fp_modulus, bytes) == 0) return curves[i];
    }
    return NULL;
}
