/* What the tests of Filecoin's keys share: the two tiny circuits of the vectors, witnesses of the
 * shared sectors, and proofs made by the reference implementation. Include after support.h. */
#ifndef CUZK_TESTS_GROTH16_BELLPERSON_H
#define CUZK_TESTS_GROTH16_BELLPERSON_H

#include "circuit/circuits.h"
#include "groth16/groth16.h"
#include "groth16/params_key.h"
#include "witness/witness.h"

#include <jansson.h>

typedef struct sector {
    cuzk_r1cs *r;
    cuzk_witness *w;
    cuzk_r1cs_density density;
    cuzk_params_counts counts;
} sector;

/* x, x^2, x^3 and y = x^3 + x + 5 with x = 3; the preimage (1, 2) of a Poseidon hash. */
void cubic_sector(sector *s);
void poseidon_sector(sector *s);
/* The first partition of a shared vanilla proof (tests/vectors/porep). */
void vanilla_sector(sector *s, const char *circuit, const char *file);
void sector_free(sector *s);

cuzk_wires wires_of(const sector *s);

/* tests/vectors/porep/proofs/<name>.json; json_decref it. */
json_t *proof_vector(const char *name);
/* A string of hexadecimal digits; returns the number of bytes. */
size_t hex_bytes(json_t *doc, const char *key, uint8_t *out, size_t room);
void hex_scalar(json_t *doc, const char *key, cuzk_u256 *out);
/* Plain; *n of them. Free with free(). */
cuzk_u256 *public_vector(json_t *doc, size_t *n);

/* Proves with r and s of the vector on the CPU and compares witness, row values, quotient, sums and
 * proof with it. */
void expect_vector(const sector *s, const cuzk_params_key *key, const char *vector, cuzk_pool *pool,
                   cuzk_cpu_impl impl);

#endif
