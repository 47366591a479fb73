/* The field-specific routines of the witness module, picked by the curve of the system. */
#ifndef CUZK_WITNESS_SOLVE_IMPL_H
#define CUZK_WITNESS_SOLVE_IMPL_H

#include "witness/witness.h"

typedef struct cuzk__witness_ops {
    bool (*load_free)(cuzk_witness *w, const cuzk_r1cs_shape *s, const cuzk_u256 *frees,
                      const uint32_t *slots, uint32_t *bad);
    uint32_t (*solve_rows)(cuzk_witness *w, const cuzk_r1cs_shape *s, const uint32_t *slots);
    uint32_t (*check_rows)(const cuzk_witness *w, const cuzk_r1cs_shape *s, const uint32_t *slots,
                           cuzk_u256 v[3]);
} cuzk__witness_ops;

const cuzk__witness_ops *cuzk__witness_ops_of(const cuzk_fr_ops *fr);

#endif
