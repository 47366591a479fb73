/* snarkjs's powers of tau, .ptau version 1: the header and the sizes that follow from it. No point
 * is read: cuzk makes keys without one, this explains the file. */
#ifndef CUZK_FORMAT_PTAU_H
#define CUZK_FORMAT_PTAU_H

#include "base/status.h"
#include "curve/curve.h"

#include <stdbool.h>
#include <stdint.h>

typedef struct cuzk_ptau_header {
    const cuzk_curve *curve;
    uint32_t power;          /* powers of tau up to 2^(power + 1) - 2 in G1 */
    uint32_t ceremony_power; /* before `powersoftau truncate` */
    bool prepared;           /* has the Lagrange sections 12 to 15 */
} cuzk_ptau_header;

/* BAD_INPUT when a section is missing or has another length than the power gives. */
cuzk_status cuzk_ptau_read(cuzk_ptau_header *out, const void *data, uint64_t len, const char *name,
                           cuzk_err *err) CUZK_MUST_CHECK;

#endif
