/* circom's witness, .wtns version 2: a mapped view. */
#ifndef CUZK_FORMAT_WTNS_H
#define CUZK_FORMAT_WTNS_H

#include "base/file.h"
#include "base/status.h"
#include "curve/curve.h"

#include <stdint.h>

typedef struct cuzk_wtns {
    char *name;
    cuzk_map map;
    const cuzk_curve *curve; /* by the prime in the header */
    uint32_t n;
    const uint8_t *values; /* n plain little-endian scalars of 32 bytes, any alignment */
} cuzk_wtns;

/* Checks sections, prime, every value below r and wire 0 equal to 1. The file stays mapped: the
 * values never enter anonymous memory. */
cuzk_status cuzk_wtns_open(cuzk_wtns **out, const char *path, cuzk_err *err) CUZK_MUST_CHECK;
cuzk_status cuzk_wtns_from_memory(cuzk_wtns **out, const void *data, size_t len, const char *name,
                                  cuzk_err *err) CUZK_MUST_CHECK;
void cuzk_wtns_free(cuzk_wtns *w);

#endif
