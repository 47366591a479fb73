/* Points of BLS12-381 as bytes, in the encoding of Zcash's pairing crate (and blst, bellperson,
 * Filecoin's chain): coordinates big-endian, x then y, in G2 c1 before c0. The first byte's upper
 * bits are flags: 0x80 compressed (x alone), 0x40 infinity (all else zero), 0x20, when compressed,
 * that y is the larger of the two roots (in G2 by c1, then c0). */
#ifndef CUZK_CURVE_ZCASH_H
#define CUZK_CURVE_ZCASH_H

#include "curve/curve.h"

enum { CUZK_ZCASH_G1 = 96, CUZK_ZCASH_G2 = 192 }; /* bytes, uncompressed; compressed half of it */

static inline size_t cuzk_zcash_size(cuzk_group g) {
    return g == CUZK_G1 ? CUZK_ZCASH_G1 : CUZK_ZCASH_G2;
}

typedef enum cuzk_zcash_result {
    CUZK_ZCASH_OK,
    CUZK_ZCASH_FLAGS,     /* flags that do not belong there */
    CUZK_ZCASH_COORD,     /* a coordinate is not below p */
    CUZK_ZCASH_INFINITY,  /* where no infinity is allowed */
    CUZK_ZCASH_OFF_CURVE, /* compressed: no point has this x */
} cuzk_zcash_result;

/* "a coordinate below p", … : what was expected, for messages. */
const char *cuzk_zcash_expected(cuzk_zcash_result r);

/* Reads n uncompressed points without a curve check; infinity is refused. out and in may have any
 * alignment, out == in is allowed. Returns n, or the index of the first bad one and why. */
size_t cuzk_zcash_read(cuzk_group g, void *out, const uint8_t *in, size_t n,
                       cuzk_zcash_result *why);

/* Writes n uncompressed points, infinity included. out == in is allowed. */
void cuzk_zcash_write(cuzk_group g, uint8_t *out, const void *in, size_t n);

/* One compressed point (48 or 96 bytes). Reading checks the curve, not the subgroup, and refuses
 * infinity. */
cuzk_zcash_result cuzk_zcash_decompress(cuzk_group g, cuzk_point *out, const uint8_t *in);
void cuzk_zcash_compress(cuzk_group g, uint8_t *out, const void *point);

#endif
