/* Does a witness satisfy a constraint system? */
#ifndef CUZK_FORMAT_R1CS_CHECK_H
#define CUZK_FORMAT_R1CS_CHECK_H

#include "base/thread.h"
#include "format/r1cs.h"
#include "format/wtns.h"

/* The first constraint that does not hold: its number, its terms, and the plain values of its
 * three linear combinations, for which a * b != c. */
typedef struct cuzk_circom_r1cs_failure {
    uint32_t index;
    cuzk_circom_r1cs_row row;
    cuzk_u256 value[3];
} cuzk_circom_r1cs_failure;

/* OK; FALSE with *failure filled and a sentence in err; BAD_INPUT when curve or number of wires
 * differ. Constraints are evaluated in ranges (r1cs/flat.h) spread over pool (may be NULL); a term
 * whose wire is 0 or 1 costs no product. */
cuzk_status cuzk_circom_r1cs_check(const cuzk_circom_r1cs *r, const cuzk_wtns *w, cuzk_pool *pool,
                                   cuzk_circom_r1cs_failure *failure,
                                   cuzk_err *err) CUZK_MUST_CHECK;

#endif
