/* The one place that names blst's internal assembly entry points (third_party/package.json pins
 * the version). They take the modulus as an argument, so the 256-bit ones serve BN254 as well;
 * on x86-64 they choose MULX/ADX code at run time. Results are canonical. */
#ifndef CUZK_FIELD_BLST_ASM_H
#define CUZK_FIELD_BLST_ASM_H

#include <stdint.h>

void mul_mont_sparse_256(uint64_t r[4], const uint64_t a[4], const uint64_t b[4],
                         const uint64_t p[4], uint64_t n0);
void sqr_mont_sparse_256(uint64_t r[4], const uint64_t a[4], const uint64_t p[4], uint64_t n0);
void mul_mont_384(uint64_t r[6], const uint64_t a[6], const uint64_t b[6], const uint64_t p[6],
                  uint64_t n0);
void sqr_mont_384(uint64_t r[6], const uint64_t a[6], const uint64_t p[6], uint64_t n0);

/* Sums and differences: compilers make setc and addb of a carry chain, several times slower. */
void add_mod_256(uint64_t r[4], const uint64_t a[4], const uint64_t b[4], const uint64_t p[4]);
void sub_mod_256(uint64_t r[4], const uint64_t a[4], const uint64_t b[4], const uint64_t p[4]);
void add_mod_384(uint64_t r[6], const uint64_t a[6], const uint64_t b[6], const uint64_t p[6]);
void sub_mod_384(uint64_t r[6], const uint64_t a[6], const uint64_t b[6], const uint64_t p[6]);

/* Products over Fp[u]/(u^2 + 1): two times six limbs, each coordinate reduced once. */
void mul_mont_384x(uint64_t *r, const uint64_t *a, const uint64_t *b, const uint64_t p[6],
                   uint64_t n0);
void sqr_mont_384x(uint64_t *r, const uint64_t *a, const uint64_t p[6], uint64_t n0);

#endif
