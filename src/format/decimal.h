/* Decimal text of 256- and 384-bit numbers. */
#ifndef CUZK_FORMAT_DECIMAL_H
#define CUZK_FORMAT_DECIMAL_H

#include <stddef.h>
#include <stdint.h>

enum {
    CUZK_DECIMAL_LIMBS = 6, /* the most limbs below */
    CUZK_DECIMAL_MAX = 117, /* room for 384 bits and a NUL */
};

/* n <= 6 limbs, least significant first, as digits without leading zeros; NUL-terminated. Returns
 * the length. Constant time it is not: public values only. */
size_t cuzk_decimal_from_limbs(char out[CUZK_DECIMAL_MAX], const uint64_t *limbs, unsigned n);

typedef enum cuzk_decimal_result {
    CUZK_DECIMAL_OK,
    CUZK_DECIMAL_MALFORMED, /* empty, another character than a digit, or a leading zero */
    CUZK_DECIMAL_TOO_LARGE, /* does not fit n limbs */
} cuzk_decimal_result;

/* The other way. text need not end in a NUL. limbs are defined after OK only. */
cuzk_decimal_result cuzk_decimal_to_limbs(uint64_t *limbs, unsigned n, const char *text,
                                          size_t len);

#endif
