/* The wires of eight Poseidon hashes at a time, with AVX-512 IFMA. Internal. */
#ifndef CUZK_CIRCUIT_POSEIDON_LANES_H
#define CUZK_CIRCUIT_POSEIDON_LANES_H

#include "circuit/poseidon.h"

enum { CUZK__LANES = 8 };

#if defined(__x86_64__) && !defined(CUZK_FIELD_PORTABLE)
#define CUZK__POSEIDON_LANES 1
#else
#define CUZK__POSEIDON_LANES 0
#endif

/* Constants in the form that lanes want. Where CUZK__POSEIDON_LANES and cuzk_cpu_has_avx512_ifma()
 * only. Free with cuzk_free. */
cuzk_status cuzk__poseidon_lanes_new(void **out, const cuzk_poseidon *p) CUZK_MUST_CHECK;

/* All wires of n hashes (1 to 8) of one kind: those of hash k from out[k] on, in the order of the
 * circuit. in[8 i + k]: input i of hash k; of k >= n any valid pointer. p->lanes is not NULL. */
void cuzk__poseidon_lanes_fill(const cuzk_poseidon *p, uint64_t tag, cuzk_u256 *const *out,
                               const cuzk_u256 *const *in, unsigned n);

#endif
