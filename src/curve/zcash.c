/* Uncompressed points by the millions go through our own field; the square roots of compressed
 * ones, of which a proof has three, through blst. */
#include "curve/zcash.h"

#include "base/bytes.h"
#include "curve/internal.h"
#include "field/fields.h"

#include <blst.h>
#include <string.h>

enum { COMPRESSED = 0x80, INFINITE = 0x40, SIGN = 0x20, FLAGS = 0xe0, FP = 48 };

const char *cuzk_zcash_expected(cuzk_zcash_result r) {
    switch (r) {
    case CUZK_ZCASH_FLAGS:
        return "the flags of this encoding";
    case CUZK_ZCASH_COORD:
        return "a coordinate below p";
    case CUZK_ZCASH_INFINITY:
        return "a point other than infinity";
    case CUZK_ZCASH_OFF_CURVE:
        return "a point on the curve";
    case CUZK_ZCASH_OK:
        break;
    }
    return "a point";
}

static bool read_fp(uint8_t *out, const uint8_t *in) {
    cuzk_bls12_381_fp_t a;
    for (int i = 0; i < 6; i++)
        a.l[i] = cuzk_ld_u64be(in + 8 * (5 - i));
    if (!cuzk_bls12_381_fp_is_canonical(&a)) return false;
    cuzk_bls12_381_fp_to_mont(&a, &a);
    memcpy(out, &a, sizeof a);
    return true;
}

static void write_fp(uint8_t *out, const uint8_t *in) {
    cuzk_bls12_381_fp_t a;
    memcpy(&a, in, sizeof a);
    cuzk_bls12_381_fp_from_mont(&a, &a);
    for (int i = 0; i < 6; i++)
        cuzk_st_u64be(out + 8 * (5 - i), a.l[i]);
}

static bool all_zero(const uint8_t *p, size_t n) {
    uint8_t any = 0;
    for (size_t i = 0; i < n; i++)
        any |= p[i];
    return any == 0;
}

/* Where coordinate k of the encoding stands among ours: G2 has c1 first. */
static size_t place(cuzk_group g, unsigned k) {
    return g == CUZK_G1 ? k : k ^ 1u;
}

static cuzk_zcash_result read_one(cuzk_group g, uint8_t *out, const uint8_t *in, size_t size) {
    uint8_t point[CUZK_POINT_MAX];
    if (in[0] & INFINITE)
        return (in[0] & ~INFINITE) == 0 && all_zero(in + 1, size - 1) ? CUZK_ZCASH_INFINITY
                                                                      : CUZK_ZCASH_FLAGS;
    if (in[0] & FLAGS) return CUZK_ZCASH_FLAGS;
    for (unsigned k = 0; k < size / FP; k++)
        if (!read_fp(point + FP * place(g, k), in + FP * k)) return CUZK_ZCASH_COORD;
    memcpy(out, point, size);
    /* (0, 0) is on neither curve, and our infinity. */
    return all_zero(point, size) ? CUZK_ZCASH_OFF_CURVE : CUZK_ZCASH_OK;
}

size_t cuzk_zcash_read(cuzk_group g, void *out, const uint8_t *in, size_t n,
                       cuzk_zcash_result *why) {
    const size_t size = cuzk_zcash_size(g);
    *why = CUZK_ZCASH_OK;
    for (size_t i = 0; i < n; i++) {
        *why = read_one(g, (uint8_t *)out + i * size, in + i * size, size);
        if (*why != CUZK_ZCASH_OK) return i;
    }
    return n;
}

void cuzk_zcash_write(cuzk_group g, uint8_t *out, const void *in, size_t n) {
    const size_t size = cuzk_zcash_size(g);
    for (size_t i = 0; i < n; i++, out += size) {
        uint8_t point[CUZK_POINT_MAX];
        memcpy(point, (const uint8_t *)in + i * size, size);
        if (all_zero(point, size)) {
            memset(out, 0, size);
            out[0] = INFINITE;
            continue;
        }
        for (unsigned k = 0; k < size / FP; k++)
            write_fp(out + FP * k, point + FP * place(g, k));
    }
}

static cuzk_zcash_result result_of(BLST_ERROR e) {
    switch (e) {
    case BLST_SUCCESS:
        return CUZK_ZCASH_OK;
    case BLST_POINT_NOT_ON_CURVE:
        return CUZK_ZCASH_OFF_CURVE;
    default:
        return CUZK_ZCASH_COORD;
    }
}

cuzk_zcash_result cuzk_zcash_decompress(cuzk_group g, cuzk_point *out, const uint8_t *in) {
    const size_t size = cuzk_zcash_size(g) / 2;
    memset(out, 0, sizeof *out);
    if (!(in[0] & COMPRESSED)) return CUZK_ZCASH_FLAGS;
    if (in[0] & INFINITE)
        return (in[0] & SIGN) == 0 && (in[0] & 0x1f) == 0 && all_zero(in + 1, size - 1)
                   ? CUZK_ZCASH_INFINITY
                   : CUZK_ZCASH_FLAGS;
    blst_p1_affine p;
    blst_p2_affine q;
    cuzk_zcash_result r =
        result_of(g == CUZK_G1 ? blst_p1_uncompress(&p, in) : blst_p2_uncompress(&q, in));
    if (r == CUZK_ZCASH_OK) memcpy(out->b, g == CUZK_G1 ? (void *)&p : (void *)&q, 2 * size);
    return r;
}

void cuzk_zcash_compress(cuzk_group g, uint8_t *out, const void *point) {
    blst_p1_affine p;
    blst_p2_affine q;
    if (g == CUZK_G1) {
        memcpy(&p, point, sizeof p);
        blst_p1_affine_compress(out, &p);
    } else {
        memcpy(&q, point, sizeof q);
        blst_p2_affine_compress(out, &q);
    }
}
