/* Limb arrays to and from GMP. */
#ifndef CUZK_TESTS_GMP_LIMBS_H
#define CUZK_TESTS_GMP_LIMBS_H

#include <gmp.h>
#include <stdint.h>
#include <string.h>

static inline void limbs_get(mpz_t z, const uint64_t *l, int n) {
    mpz_import(z, (size_t)n, -1, 8, 0, 0, l);
}

/* z must be below 2^(64 n) and not negative. */
static inline void limbs_set(uint64_t *l, int n, const mpz_t z) {
    memset(l, 0, 8 * (size_t)n);
    mpz_export(l, NULL, -1, 8, 0, 0, z);
}

#endif
