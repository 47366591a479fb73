/* The coefficient dictionary: field elements (BLS12-381 Fr, Montgomery form) by number. Ids
 * below CUZK_COEF_FIXED are the signed powers of two. Not thread-safe. */
#ifndef CUZK_CIRCUIT_COEFS_H
#define CUZK_CIRCUIT_COEFS_H

#include "base/status.h"
#include "field/limb.h"

typedef struct cuzk_coefs {
    cuzk_u256 *v;
    uint32_t n, cap;
    uint32_t *table; /* open addressing: id + 1, 0 empty */
    uint32_t table_size;
} cuzk_coefs;

cuzk_status cuzk_coefs_init(cuzk_coefs *c) CUZK_MUST_CHECK;
void cuzk_coefs_fini(cuzk_coefs *c);

/* The id of a value, new if it must be. */
cuzk_status cuzk_coefs_id(cuzk_coefs *c, const cuzk_u256 *value, uint32_t *id) CUZK_MUST_CHECK;

/* The id of twice a coefficient, when the dictionary has it. */
bool cuzk_coefs_double(const cuzk_coefs *c, uint32_t a, uint32_t *id);

/* The id of the sum of two coefficients; *zero when they cancel. */
cuzk_status cuzk_coefs_add(cuzk_coefs *c, uint32_t a, uint32_t b, uint32_t *id,
                           bool *zero) CUZK_MUST_CHECK;

#endif
