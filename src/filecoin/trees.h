/* Merkle trees of sectors, whole or sparse: tree D (SHA-256 of pairs, top two bits cleared) and
 * trees C and R (Poseidon).
 *
 * A tree keeps, of every level, only as many values as differ in kind: all of them, one for each
 * run of 2^shift equal neighbours, or some nodes by index among others that all have the same
 * value. So the trees of a sector of 64 GiB in which few nodes are opened take kilobytes.
 * Read-only after building, and then shareable by threads. Internal. */
#ifndef CUZK_FILECOIN_TREES_H
#define CUZK_FILECOIN_TREES_H

#include "base/buf.h"
#include "base/progress.h"
#include "base/thread.h"
#include "circuit/values.h"

typedef struct cuzk__tree_level {
    uint64_t count;   /* nodes of the level */
    uint32_t shift;   /* whole: log2 of the nodes that share a value */
    size_t n;         /* values */
    uint64_t *index;  /* sparse: of each value, ascending; NULL: whole */
    uint8_t *value;   /* n times 32 bytes */
    uint8_t fill[32]; /* sparse: the value of all other nodes */
} cuzk__tree_level;

typedef struct cuzk__tree {
    cuzk_tree_shape shape;
    uint32_t levels; /* of hashing; level 0 holds the leaves, level `levels` the root */
    cuzk__tree_level level[CUZK_PATH_MAX + 1];
} cuzk__tree;

/* How trees are made: pool and progress may be NULL; progress counts about one unit a leaf. */
typedef struct cuzk__tree_maker {
    const cuzk_poseidon_set *poseidon;
    cuzk_pool *pool;
    cuzk_progress *progress;
} cuzk__tree_maker;

static inline cuzk_tree_shape cuzk__tree_d_shape(uint32_t log2_nodes) {
    return (cuzk_tree_shape){2, log2_nodes, 0, 0};
}

/* A node of `arity` children. poseidon NULL: tree D. BAD_INPUT when a Poseidon child is no field
 * element. */
cuzk_status cuzk__tree_node(uint8_t out[32], const cuzk_poseidon_set *poseidon, uint32_t arity,
                            const uint8_t *children) CUZK_MUST_CHECK;

/* Builds all levels above the leaves: count of them, a value for each run of 2^shift. The tree
 * takes values (cuzk_alloc'ed), also when it fails; it is freed with cuzk__tree_free either way.
 * sha: tree D. */
cuzk_status cuzk__tree_whole(cuzk__tree *t, const cuzk__tree_maker *m, const cuzk_tree_shape *s,
                             bool sha, uint8_t *values, uint32_t shift) CUZK_MUST_CHECK;
/* The same with n leaves by index (ascending, no two equal), all others fill. Takes both arrays. */
cuzk_status cuzk__tree_sparse(cuzk__tree *t, const cuzk__tree_maker *m, const cuzk_tree_shape *s,
                              uint64_t *index, uint8_t *values, size_t n,
                              const uint8_t fill[32]) CUZK_MUST_CHECK;
void cuzk__tree_free(cuzk__tree *t);

/* A node's value. */
const uint8_t *cuzk__tree_get(const cuzk__tree *t, uint32_t level, uint64_t i);
static inline const uint8_t *cuzk__tree_root(const cuzk__tree *t) {
    return cuzk__tree_get(t, t->levels, 0);
}

/* Appends the Merkle proof of a leaf in bincode (bincode.h). */
void cuzk__tree_open(const cuzk__tree *t, uint64_t leaf, cuzk_buf *out);

/* ---- bincode writing ---- */

static inline void cuzk__put_u32(cuzk_buf *b, uint32_t v) {
    cuzk_buf_append(b, &v, sizeof v);
}
static inline void cuzk__put_u64(cuzk_buf *b, uint64_t v) {
    cuzk_buf_append(b, &v, sizeof v);
}
static inline void cuzk__put_hash(cuzk_buf *b, const uint8_t h[32]) {
    cuzk_buf_append(b, h, 32);
}

#endif
