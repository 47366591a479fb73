/* Word-level witness code for the gadgets that make most of a witness: SHA-256 on 32-bit words,
 * Poseidon with the sparse matrices, tree levels, bits of a number. */
#ifndef CUZK_CIRCUIT_FILLERS_H
#define CUZK_CIRCUIT_FILLERS_H

#include "circuit/poseidon.h"
#include "witness/witness.h"

/* A plan that uses them. set must outlive it. */
cuzk_status cuzk_circuit_plan(cuzk_witness_plan **out, const cuzk_r1cs *r,
                              const cuzk_poseidon_set *set) CUZK_MUST_CHECK;

extern const cuzk_filler cuzk__filler_sha256, cuzk__filler_poseidon, cuzk__filler_level,
    cuzk__filler_level_with, cuzk__filler_bits;

#endif
