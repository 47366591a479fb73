/* The compact form as a file.
 *
 * Little-endian. "cuzkR1CS", u32 version, u32 field (1 BN254, 2 BLS12-381), the BLAKE2s-256 digest
 * of the flat system (figures.h), the BLAKE2s-256 digest of all that follows it; then six u32
 * totals (rows, inputs, aux, bits, full, free) and for each of the tables of r1cs.h, in the order
 * of file.c, u32 entries and u32 bytes an entry; then the tables themselves, each at a multiple of
 * 64 bytes. Coefficients are in Montgomery form (R = 2^256). */
#ifndef CUZK_R1CS_FILE_H
#define CUZK_R1CS_FILE_H

#include "r1cs/r1cs.h"

#define CUZK_R1CS_FILE_VERSION 1u

/* Writes path (atomically). flat_digest: of the flat system, ties the file to its circuit. */
cuzk_status cuzk_r1cs_save(const cuzk_r1cs *r, const uint8_t flat_digest[32], const char *path,
                           cuzk_err *err) CUZK_MUST_CHECK;

/* Reads n bytes. want_digest: the flat digest that the file must carry, or NULL. Every index is
 * checked, so that the result is safe to use whoever wrote the file; that its rows are those of
 * the digest is only known by computing the digest. */
cuzk_status cuzk_r1cs_load(cuzk_r1cs **out, const uint8_t *data, size_t n, const char *name,
                           const uint8_t want_digest[32], cuzk_err *err) CUZK_MUST_CHECK;

/* Checks every index of a system. BAD_INPUT names the table. */
cuzk_status cuzk_r1cs_validate(const cuzk_r1cs *r, cuzk_err *err) CUZK_MUST_CHECK;

#endif
