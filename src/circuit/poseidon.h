/* Poseidon over BLS12-381 Fr as Filecoin uses it: standard strength, x^5, R_F = 8.
 *
 * The round constants come from the Grain LFSR of the Poseidon paper (Grassi et al., USENIX
 * Security 2021, appendix E), the compressed constants and sparse matrices from its appendix B;
 * both are generated at start, not stored. Elements are in Montgomery form. */
#ifndef CUZK_CIRCUIT_POSEIDON_H
#define CUZK_CIRCUIT_POSEIDON_H

#include "base/status.h"
#include "field/limb.h"

enum { CUZK_POSEIDON_MAX_ARITY = 11, CUZK_POSEIDON_FULL = 8 };

/* t = arity + 1. Matrices by rows; the state is a row vector, new = state * M. Immutable, so
 * thread-safe. */
typedef struct cuzk_poseidon {
    uint32_t arity, t;
    uint32_t n_partial;
    cuzk_u256 *round;  /* (8 + n_partial) * t round keys */
    cuzk_u256 *crc;    /* 8 t + n_partial compressed round keys, in the order they are used */
    cuzk_u256 *mds;    /* t * t */
    cuzk_u256 *pre;    /* t * t, the pre-sparse matrix */
    cuzk_u256 *sparse; /* per partial round: w_hat (t), then v_rest (t - 1) */
    void *lanes;       /* of poseidon_lanes.h; NULL: the processor has no IFMA */
} cuzk_poseidon;

/* arity: 2, 4, 8 or 11. Free with cuzk_poseidon_free. Takes some milliseconds. */
cuzk_status cuzk_poseidon_new(cuzk_poseidon **out, uint32_t arity) CUZK_MUST_CHECK;
void cuzk_poseidon_free(cuzk_poseidon *p);

/* Domain tags: of Merkle nodes (2^arity - 1), and the custom tag 1 of SnapDeals. */
static inline uint64_t cuzk_poseidon_tree_tag(uint32_t arity) {
    return ((uint64_t)1 << arity) - 1;
}
#define CUZK_POSEIDON_TAG_CUSTOM_1 ((uint64_t)1 << 40)

/* The hash of arity elements. */
void cuzk_poseidon_hash(cuzk_u256 *out, const cuzk_poseidon *p, uint64_t tag, const cuzk_u256 *in);

/* The constants of all four arities. */
typedef struct cuzk_poseidon_set {
    cuzk_poseidon *arity[CUZK_POSEIDON_MAX_ARITY + 1]; /* [2], [4], [8], [11] */
} cuzk_poseidon_set;
cuzk_status cuzk_poseidon_set_init(cuzk_poseidon_set *s) CUZK_MUST_CHECK;
void cuzk_poseidon_set_fini(cuzk_poseidon_set *s);

#endif
