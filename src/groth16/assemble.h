/* From sums to a proof, and keys as data for a backend. */
#ifndef CUZK_GROTH16_ASSEMBLE_H
#define CUZK_GROTH16_ASSEMBLE_H

#include "backend/backend.h"
#include "format/groth16_data.h"
#include "format/zkey.h"

/* A = alpha + a + r delta, B = beta + b + s delta, C = l + h + s A + r B1 - r s delta. r and s
 * plain, below the order. */
void cuzk_groth16_assemble(const cuzk_proving_key *key, const cuzk_groth16_sums *sums,
                           const cuzk_u256 *r, const cuzk_u256 *s, cuzk_proof *out);

/* A blinding value: uniform, plain, fresh from getrandom. IO. The caller wipes it. */
cuzk_status cuzk_groth16_fresh_scalar(const cuzk_fr_ops *fr, cuzk_u256 *plain,
                                      cuzk_err *err) CUZK_MUST_CHECK;

/* A .zkey as a backend takes it: a view that borrows from zk. A witness of it is n_vars full
 * values. */
void cuzk_zkey_proving_key(const cuzk_zkey *zk, cuzk_proving_key *out);

#endif
