/* A .params in the form that backends take: bases of bit wires apart from the others, each query's
 * in the order of the wires' slots in a compact witness, converted to our affine points. */
#ifndef CUZK_GROTH16_PARAMS_KEY_H
#define CUZK_GROTH16_PARAMS_KEY_H

#include "backend/backend.h"
#include "base/progress.h"
#include "base/thread.h"
#include "format/params.h"
#include "r1cs/figures.h"

typedef struct cuzk_params_key {
    cuzk_proving_key key;
    cuzk_params_vk vk;
    struct {
        void *p;
        size_t bytes;
    } owned[16];
    unsigned n_owned;
} cuzk_params_key;

/* The counts of a circuit's key. */
void cuzk_params_counts_of(cuzk_params_counts *out, const cuzk_r1cs *r,
                           const cuzk_r1cs_density *density);

/* The figures of a circuit's key, for cuzk_backend_ops.plan: no bases, but full_slots and one_base
 * not NULL where a key has them. NO_MEMORY does not occur; BUG when the circuit's slots are not in
 * order. */
cuzk_status cuzk_params_key_shape(cuzk_proving_key *out, const cuzk_r1cs *r1cs,
                                  const cuzk_r1cs_density *density, cuzk_err *err) CUZK_MUST_CHECK;
/* Bytes that a key of these figures takes once it is loaded, without its system. */
uint64_t cuzk_params_key_bytes(const cuzk_proving_key *shape);

/* Converts the whole file, which may be closed afterwards. Its counts must be those of the circuit
 * (cuzk_params_open with want). r1cs must outlive the key; density is read here only. Takes the
 * file's size in memory, and 4 bytes for each point while it works. BAD_INPUT names a point that
 * is malformed; the curve is not checked (cuzk_params_check_points). progress counts points; may
 * be NULL. */
cuzk_status cuzk_params_key_new(cuzk_params_key **out, const cuzk_params *file,
                                const cuzk_r1cs *r1cs, const cuzk_r1cs_density *density,
                                cuzk_pool *pool, cuzk_progress *progress,
                                cuzk_err *err) CUZK_MUST_CHECK;
/* A key of logarithms (cuzk_proving_key.logs): the five arrays of `file` hold plain scalars of 32
 * bytes in place of points. Takes 32 bytes for each. Folded: of CUZK_H_FOLDED, h with one more and
 * l with the inputs in front. */
cuzk_status cuzk_params_key_of_logs(cuzk_params_key **out, const cuzk_params *file, bool folded,
                                    const cuzk_r1cs *r1cs, const cuzk_r1cs_density *density,
                                    cuzk_pool *pool, cuzk_err *err) CUZK_MUST_CHECK;
/* Gives back the bases and their places once a device has a copy of them; the figures stay. */
void cuzk_params_key_drop_bases(cuzk_params_key *k);
void cuzk_params_key_free(cuzk_params_key *k);

#endif
