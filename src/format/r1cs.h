/* circom's constraint system, .r1cs version 1: a mapped view. */
#ifndef CUZK_FORMAT_R1CS_H
#define CUZK_FORMAT_R1CS_H

#include "base/file.h"
#include "base/status.h"
#include "curve/curve.h"

#include <stdbool.h>
#include <stdint.h>

enum { CUZK_R1CS_TERM_SIZE = 36 };

typedef struct cuzk_circom_r1cs {
    char *name;
    cuzk_map map;
    const cuzk_curve *curve; /* by the prime in the header */
    uint32_t n_wires;        /* wire 0 counted */
    uint32_t n_pub_out, n_pub_in, n_prv_in;
    uint64_t n_labels;
    uint32_t n_constraints;
    uint64_t n_terms[3];        /* of A, B, C over all constraints */
    const uint8_t *constraints; /* section 2 */
    size_t constraints_len;
    const uint8_t *labels; /* n_wires u64, or NULL when the file has no section 3 */
} cuzk_circom_r1cs;

/* One linear combination: n records of 36 bytes: u32 wire, plain 32-byte coefficient. */
typedef struct cuzk_circom_r1cs_lc {
    uint32_t n;
    const uint8_t *terms;
} cuzk_circom_r1cs_lc;

typedef struct cuzk_circom_r1cs_row {
    cuzk_circom_r1cs_lc lc[3]; /* A, B, C: A w * B w = C w */
} cuzk_circom_r1cs_row;

/* Walks the constraints in file order. `index` is the number of the next one. */
typedef struct cuzk_circom_r1cs_iter {
    const cuzk_circom_r1cs *r1cs;
    size_t off;
    uint32_t index;
} cuzk_circom_r1cs_iter;

/* Opens and checks the whole file: header, every wire index, every coefficient below r, sizes. */
cuzk_status cuzk_circom_r1cs_open(cuzk_circom_r1cs **out, const char *path,
                                  cuzk_err *err) CUZK_MUST_CHECK;
cuzk_status cuzk_circom_r1cs_from_memory(cuzk_circom_r1cs **out, const void *data, size_t len,
                                         const char *name, cuzk_err *err) CUZK_MUST_CHECK;
void cuzk_circom_r1cs_free(cuzk_circom_r1cs *r);

void cuzk_circom_r1cs_iter_init(cuzk_circom_r1cs_iter *it, const cuzk_circom_r1cs *r);
/* False after the last constraint. Cannot fail: opening has checked every length. */
bool cuzk_circom_r1cs_next(cuzk_circom_r1cs_iter *it, cuzk_circom_r1cs_row *row);

#endif
