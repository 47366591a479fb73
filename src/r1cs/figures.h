/* Figures and digest of a constraint system. */
#ifndef CUZK_R1CS_FIGURES_H
#define CUZK_R1CS_FIGURES_H

#include "base/progress.h"
#include "r1cs/r1cs.h"

typedef struct cuzk_r1cs_figures {
    uint64_t constraints; /* without input rows */
    uint64_t inputs;      /* with ONE */
    uint64_t aux;
    uint64_t nnz[3];                 /* non-zero coefficients of A, B, C, without input rows */
    uint64_t a_aux, b_input, b_aux;  /* wires with a non-zero coefficient in A, in B */
    uint64_t bits;                   /* wires known to be 0 or 1 */
    unsigned log2_domain;            /* smallest power of two holding constraints + inputs */
    uint64_t params_bytes, vk_bytes; /* bellperson's files for this circuit on BLS12-381 */
} cuzk_r1cs_figures;

/* Which wires have a non-zero coefficient in A, in B: one bit each (in A every input has one, by
 * the input rows). bellperson's keys hold points for these wires only. */
typedef struct cuzk_r1cs_density {
    uint64_t *a_aux, *b_aux, *b_input; /* bit i of word i / 64; one word more than needed */
    uint32_t n_a_aux, n_b_aux, n_b_input;
} cuzk_r1cs_density;
cuzk_status cuzk_r1cs_density_of(cuzk_r1cs_density *out, const cuzk_r1cs *r) CUZK_MUST_CHECK;
void cuzk_r1cs_density_free(cuzk_r1cs_density *d);

/* Counts everything. Needs n_aux / 4 bytes of memory. */
cuzk_status cuzk_r1cs_count(cuzk_r1cs_figures *out, const cuzk_r1cs *r) CUZK_MUST_CHECK;

/* The digest of the flat system, as bellpepper's TestConstraintSystem::hash: BLAKE2s-256 over
 * inputs, aux, constraints (u64 BE), then per row and matrix the number of terms (u64 BE) and per
 * term 'I' or 'A', index (u64 BE), coefficient (32 bytes BE). progress counts rows; may be NULL. */
cuzk_status cuzk_r1cs_digest(uint8_t out[32], const cuzk_r1cs *r,
                             cuzk_progress *progress) CUZK_MUST_CHECK;

/* The same digest fed row by row, for a flat source. Use: new with the totals, give the sink to
 * the source, final (which frees it). */
typedef struct cuzk_r1cs_hasher cuzk_r1cs_hasher;
cuzk_status cuzk_r1cs_hasher_new(cuzk_r1cs_hasher **out, const cuzk_fr_ops *fr, uint64_t inputs,
                                 uint64_t aux, uint64_t rows) CUZK_MUST_CHECK;
cuzk_row_sink cuzk_r1cs_hasher_sink(cuzk_r1cs_hasher *h);
cuzk_status cuzk_r1cs_hasher_final(cuzk_r1cs_hasher *h, uint8_t out[32]) CUZK_MUST_CHECK;
void cuzk_r1cs_hasher_free(cuzk_r1cs_hasher *h);

#endif
