/* From the parts of a vanilla proof to a circuit's free values.
 *
 * Everything is given by pointers to 32-byte little-endian field elements, which may lie in a
 * mapped file; nothing is checked here but the shape (the solver rejects what is no field element,
 * the row check what does not fit together). out holds as many values as the compact form says
 * (n_free). Functions return BAD_INPUT with the step at fault. Thread-safe. */
#ifndef CUZK_CIRCUIT_VALUES_H
#define CUZK_CIRCUIT_VALUES_H

#include "circuit/circuits.h"

enum { CUZK_PATH_MAX = 40 };

/* A Merkle path from leaf to root. siblings[l]: arity - 1 elements, one after another. */
typedef struct cuzk_path_values {
    uint32_t levels;
    uint32_t index[CUZK_PATH_MAX];
    const uint8_t *siblings[CUZK_PATH_MAX];
} cuzk_path_values;

typedef struct cuzk_porep_challenge_values {
    const uint8_t *data_leaf;
    cuzk_path_values data; /* tree D */
    /* six drg parents, then eight exp parents: `layers` labels, layer 1 first, and tree C path */
    const uint8_t *column[CUZK_POREP_DRG_PARENTS + CUZK_POREP_EXP_PARENTS];
    cuzk_path_values parent[CUZK_POREP_DRG_PARENTS + CUZK_POREP_EXP_PARENTS];
    uint64_t challenge;
    cuzk_path_values replica;    /* tree R */
    cuzk_path_values own_column; /* tree C */
} cuzk_porep_challenge_values;

typedef struct cuzk_porep_values {
    const uint8_t *replica_id, *comm_d, *comm_r, *comm_r_last, *comm_c;
    const cuzk_porep_challenge_values *challenges; /* as many as the circuit has */
} cuzk_porep_values;

cuzk_status cuzk_porep_frees(cuzk_u256 *out, size_t n, const cuzk_porep_circuit *c,
                             const cuzk_porep_values *v, cuzk_err *err) CUZK_MUST_CHECK;

typedef struct cuzk_post_challenge_values {
    const uint8_t *leaf;
    cuzk_path_values path;
} cuzk_post_challenge_values;

typedef struct cuzk_post_sector_values {
    const uint8_t *comm_r_last, *comm_c, *comm_r;
    const cuzk_post_challenge_values *challenges;
} cuzk_post_sector_values;

cuzk_status cuzk_post_frees(cuzk_u256 *out, size_t n, const cuzk_post_circuit *c,
                            const cuzk_post_sector_values *sectors, cuzk_err *err) CUZK_MUST_CHECK;

typedef struct cuzk_update_challenge_values {
    const uint8_t *leaf_r_old, *leaf_d_new;
    cuzk_path_values r_old, r_new,
        d_new; /* whole paths; of d_new the part below the apex is used */
} cuzk_update_challenge_values;

typedef struct cuzk_update_values {
    uint64_t k_and_h_select;
    const uint8_t *comm_r_old, *comm_d_new, *comm_r_new, *comm_c, *root_r_old, *root_r_new;
    const uint8_t *apex_leaves; /* 2^log2_apex elements; unused by the Poseidon variant */
    const cuzk_update_challenge_values *challenges;
} cuzk_update_values;

/* The siblings of the partition's path are the top of the first challenge's d_new. */
cuzk_status cuzk_update_frees(cuzk_u256 *out, size_t n, const cuzk_update_circuit *c,
                              const cuzk_update_values *v, cuzk_err *err) CUZK_MUST_CHECK;

#endif
