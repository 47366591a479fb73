/* Modular inversion of plain integers. */
#ifndef CUZK_FIELD_MODINV_H
#define CUZK_FIELD_MODINV_H

#include <stdint.h>

/* r = a^-1 mod p, and 0 for a = 0. p odd, a < p, limbs least significant first; n0 is
 * -p^-1 mod 2^64. r may be a. Variable time: not for secrets that must not leak through timing. */
void cuzk__modinv_1(uint64_t r[1], const uint64_t a[1], const uint64_t p[1], uint64_t n0);
void cuzk__modinv_4(uint64_t r[4], const uint64_t a[4], const uint64_t p[4], uint64_t n0);
void cuzk__modinv_6(uint64_t r[6], const uint64_t a[6], const uint64_t p[6], uint64_t n0);

#endif
