/* The columns of a compact system's matrices, at a point. Internal to groth16. */
#ifndef CUZK_GROTH16_COLUMNS_H
#define CUZK_GROTH16_COLUMNS_H

#include "base/thread.h"
#include "r1cs/r1cs.h"

/* col[m][w] += sum over rows i of M_iw weight[i], for A, B and C (m = 0, 1, 2): flat wires w,
 * inputs first, n_inputs + n_aux of them; weight has n_rows elements; Montgomery forms. Neither the
 * input rows that Groth16 adds nor their weights count. Wipes what it knew besides. pool may be
 * NULL. NO_MEMORY: col holds nothing of use. */
cuzk_status cuzk__columns(const cuzk_r1cs *r, const cuzk_u256 *weight, cuzk_u256 *const col[3],
                          cuzk_pool *pool) CUZK_MUST_CHECK;

#endif
