/* bellperson's Groth16 keys on BLS12-381, as Filecoin publishes them: .params (proving), .vk
 * (verifying), .meta.
 *
 * A .vk is alpha_g1, beta_g1, beta_g2, gamma_g2, delta_g1, delta_g2, a u32 count and that many
 * points ic. A .params is a .vk, then h, l, a, b_g1 (G1) and b_g2 (G2), each a u32 count and that
 * many points. Counts are big-endian, points uncompressed (curve/zcash.h), never infinity. h has
 * one point less than the domain; a and b have points for the wires that occur in A and B only,
 * inputs before auxiliary ones. docs/formats.md says what the points are. */
#ifndef CUZK_FORMAT_PARAMS_H
#define CUZK_FORMAT_PARAMS_H

#include "base/buf.h"
#include "base/file.h"
#include "base/progress.h"
#include "base/status.h"
#include "base/thread.h"
#include "format/groth16_data.h"

#include <stdint.h>

typedef struct cuzk_params_counts {
    uint32_t ic, h, l, a, b;
} cuzk_params_counts;

/* Bytes of a .vk and of a .params with so many points. */
static inline uint64_t cuzk_params_vk_bytes(uint32_t ic) {
    return 868 + (uint64_t)96 * ic;
}
uint64_t cuzk_params_bytes(const cuzk_params_counts *n);

/* A verifying key with the two points that only a prover needs. */
typedef struct cuzk_params_vk {
    cuzk_vk vk;
    cuzk_point beta1, delta1;
} cuzk_params_vk;
void cuzk_params_vk_free(cuzk_params_vk *vk);

/* A .params: a mapped view, and its verifying key. */
typedef struct cuzk_params {
    char *name; /* for messages; owned */
    cuzk_map map;
    const uint8_t *data; /* the whole file */
    uint64_t len;
    cuzk_params_counts n;
    const uint8_t *h, *l, *a, *b1, *b2; /* points as the file has them */
    cuzk_params_vk vk;
} cuzk_params;

/* Maps and measures path. The verifying key's points are checked in full, its two copies of beta
 * and delta against each other; the points of the five arrays are only measured. want: the counts
 * of the circuit `circuit` (a name, for messages); NULL: any. BAD_INPUT names file, section and
 * offset. */
cuzk_status cuzk_params_open(cuzk_params **out, const char *path, const cuzk_params_counts *want,
                             const char *circuit, cuzk_pool *pool, cuzk_err *err) CUZK_MUST_CHECK;
/* The same from memory, which must stay valid and unchanged. */
cuzk_status cuzk_params_from_memory(cuzk_params **out, const void *data, size_t len,
                                    const char *name, const cuzk_params_counts *want,
                                    const char *circuit, cuzk_pool *pool,
                                    cuzk_err *err) CUZK_MUST_CHECK;
void cuzk_params_free(cuzk_params *p);

/* Checks every point of the five arrays: canonical, on its curve, of order r. BAD_INPUT names the
 * first bad one. Takes about 2 us a point of one core; progress counts points (may be NULL). */
cuzk_status cuzk_params_check_points(const cuzk_params *p, cuzk_pool *pool, cuzk_progress *progress,
                                     cuzk_err *err) CUZK_MUST_CHECK;

/* BAD_INPUT for a bad point, `index` of `section` whose first point is at `points`. */
cuzk_status cuzk_params_bad_point(const cuzk_params *p, const char *section, const uint8_t *points,
                                  size_t point_size, size_t index, const char *expected,
                                  cuzk_err *err);

/* A whole .vk, every point checked. want_ic: points of ic that it must have; 0: any. Free with
 * cuzk_params_vk_free. */
cuzk_status cuzk_params_vk_from_bytes(cuzk_params_vk *out, const void *data, size_t len,
                                      const char *name, uint32_t want_ic, const char *circuit,
                                      cuzk_err *err) CUZK_MUST_CHECK;

/* Appends a .vk; check cuzk_buf_status afterwards. */
void cuzk_params_vk_to_bytes(const cuzk_params_vk *vk, cuzk_buf *out);

/* Appends a .meta. */
void cuzk_params_meta(uint64_t sector_size, cuzk_buf *out);

#endif
