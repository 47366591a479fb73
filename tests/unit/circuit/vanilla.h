/* Free values of the vanilla proofs of tests/vectors/porep (bincode), by the readers of filecoin.
 * Anything unexpected is an assertion failure. */
#ifndef CUZK_TESTS_CIRCUIT_VANILLA_H
#define CUZK_TESTS_CIRCUIT_VANILLA_H

#include "circuit/values.h"

#include <stddef.h>

/* A whole file; free with free(). */
uint8_t *vanilla_read(const char *name, size_t *n);

/* Free values of the first partition; n_frees of them, free with free(). */
cuzk_u256 *vanilla_porep(const cuzk_porep_circuit *c, const uint8_t *bytes, size_t len,
                         size_t n_frees);
cuzk_u256 *vanilla_post(const cuzk_post_circuit *c, const uint8_t *bytes, size_t len,
                        size_t n_frees);
cuzk_u256 *vanilla_update(const cuzk_update_circuit *c, const uint8_t *bytes, size_t len,
                          size_t n_frees);

#endif
