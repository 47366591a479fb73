#include "format/decimal.h"

#include <string.h>

/* The largest power of ten in a limb: digits move in groups of 19. */
#define GROUP 19
#define POWER 10000000000000000000u

typedef unsigned __int128 u128;

size_t cuzk_decimal_from_limbs(char out[CUZK_DECIMAL_MAX], const uint64_t *limbs, unsigned n) {
    uint64_t t[CUZK_DECIMAL_LIMBS];
    char digits[CUZK_DECIMAL_MAX + GROUP];
    size_t at = sizeof digits;
    memcpy(t, limbs, n * sizeof *t);
    while (n && t[n - 1] == 0)
        n--;
    while (n) {
        uint64_t rest = 0;
        for (unsigned i = n; i-- > 0;) {
            u128 v = (u128)rest << 64 | t[i];
            t[i] = (uint64_t)(v / POWER);
            rest = (uint64_t)(v % POWER);
        }
        while (n && t[n - 1] == 0)
            n--;
        for (int k = 0; k < GROUP && (n || rest); k++) {
            digits[--at] = (char)('0' + rest % 10);
            rest /= 10;
        }
    }
    if (at == sizeof digits) digits[--at] = '0';
    size_t len = sizeof digits - at;
    memcpy(out, digits + at, len);
    out[len] = '\0';
    return len;
}

cuzk_decimal_result cuzk_decimal_to_limbs(uint64_t *limbs, unsigned n, const char *text,
                                          size_t len) {
    if (len == 0 || (len > 1 && text[0] == '0')) return CUZK_DECIMAL_MALFORMED;
    for (size_t i = 0; i < len; i++) {
        if (text[i] < '0' || text[i] > '9') return CUZK_DECIMAL_MALFORMED;
    }
    memset(limbs, 0, n * sizeof *limbs);
    for (size_t i = 0; i < len;) {
        uint64_t group = 0, scale = 1;
        for (int k = 0; k < GROUP && i < len; k++, i++) {
            group = group * 10 + (uint64_t)(text[i] - '0');
            scale *= 10;
        }
        for (unsigned j = 0; j < n; j++) {
            u128 v = (u128)limbs[j] * scale + group;
            limbs[j] = (uint64_t)v;
            group = (uint64_t)(v >> 64);
        }
        if (group) return CUZK_DECIMAL_TOO_LARGE;
    }
    return CUZK_DECIMAL_OK;
}
