/* What travels between a device and the engine, as bytes: little-endian u32 of the curve
 * (curve.h), then points as of curve.h, one after another. */
#ifndef CUZK_JOBS_POINTS_H
#define CUZK_JOBS_POINTS_H

#include "backend/backend.h"
#include "format/groth16_data.h"

/* a, b1, l, h in G1, b2 in G2. */
enum { CUZK_SUMS_BYTES_MAX = 4 + 4 * 96 + 192 };
size_t cuzk_sums_to_bytes(uint8_t out[CUZK_SUMS_BYTES_MAX], const cuzk_curve *curve,
                          const cuzk_groth16_sums *sums);
/* FALSE when they are not the sums of this curve, or a point is not on it. */
cuzk_status cuzk_sums_from_bytes(cuzk_groth16_sums *out, const cuzk_curve *curve, const void *bytes,
                                 size_t len, cuzk_err *err) CUZK_MUST_CHECK;

/* A and C in G1, B in G2: a partition's proof of a circom key. */
enum { CUZK_RAW_PROOF_BYTES_MAX = 4 + 2 * 96 + 192 };
size_t cuzk_raw_proof_to_bytes(uint8_t out[CUZK_RAW_PROOF_BYTES_MAX], const cuzk_proof *proof);
/* FALSE when a point is not in its subgroup. */
cuzk_status cuzk_raw_proof_from_bytes(cuzk_proof *out, const cuzk_curve *curve, const void *bytes,
                                      size_t len, cuzk_err *err) CUZK_MUST_CHECK;

#endif
