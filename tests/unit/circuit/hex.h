/* 32 bytes against 64 hex digits. */
#ifndef CUZK_TESTS_CIRCUIT_HEX_H
#define CUZK_TESTS_CIRCUIT_HEX_H

#include <stdint.h>
#include <stdio.h>

static inline const char *hex32(const uint8_t b[32], char out[65]) {
    for (int i = 0; i < 32; i++)
        snprintf(out + 2 * i, 3, "%02x", b[i]);
    return out;
}

#endif
