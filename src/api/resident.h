/* A circom key that stays on a device between proofs. */
#ifndef CUZK_API_RESIDENT_H
#define CUZK_API_RESIDENT_H

#include "api/device.h"
#include "groth16/groth16.h"

typedef struct cuzk_resident cuzk_resident;

/* Opens the device (of which `where` names one other than the CPU), loads the key, and takes the
 * memory of one proof, of two where they fit. zkey must outlive it. threads: of the host, 0: one
 * per core. tables: multiples that make every proof faster and loading slower. Errors:
 * cuzk_prover_open's of devices. */
cuzk_status cuzk__resident_open(cuzk_resident **out, const cuzk_zkey *zkey,
                                const cuzk_device *where, unsigned threads, bool tables,
                                cuzk_err *err) CUZK_MUST_CHECK;
/* Nobody may be proving. In the child of a fork the device's part, which is the parent's, stays. */
void cuzk__resident_free(cuzk_resident *r);

/* cuzk_groth16_prove with this key. opts->backend is not looked at. Any number of threads: each
 * waits until one of the key's slots is free. USAGE in the child of a fork. */
cuzk_status cuzk__resident_prove(cuzk_resident *r, const void *witness, const cuzk_prove_opts *opts,
                                 cuzk_proof *out, cuzk_prove_stats *stats,
                                 cuzk_err *err) CUZK_MUST_CHECK;

const cuzk_device *cuzk__resident_device(const cuzk_resident *r);

#endif
