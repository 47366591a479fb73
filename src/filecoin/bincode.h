/* Reading vanilla proofs in bincode 1.x: integers little-endian, a Vec is its length as u64 and its
 * elements, 32-byte values raw. Everything is zero-copy: what is read points into the bytes.
 * Internal. */
#ifndef CUZK_FILECOIN_BINCODE_H
#define CUZK_FILECOIN_BINCODE_H

#include "base/bytes.h"
#include "base/status.h"
#include "circuit/values.h"

enum { CUZK__BIN_DEPTH = 8 };

/* A cursor that knows which file and which part of the proof it is in, for messages. */
typedef struct cuzk__bin {
    cuzk_cursor c;
    const char *name;
    cuzk_err *err;
    unsigned depth;
    struct {
        const char *what; /* "partition" */
        int64_t index;    /* below 0: none */
    } at[CUZK__BIN_DEPTH];
} cuzk__bin;

/* A Merkle proof: root, leaf, and the path from leaf to root. */
typedef struct cuzk_merkle_proof {
    const uint8_t *root, *leaf;
    cuzk_path_values path;
} cuzk_merkle_proof;

static inline cuzk__bin cuzk__bin_init(const uint8_t *p, size_t n, const char *name,
                                       cuzk_err *err) {
    return (cuzk__bin){.c = cuzk_cursor_init(p, n), .name = name, .err = err};
}

/* Names the part that is read until leave. Deeper than CUZK__BIN_DEPTH is not named. */
static inline void cuzk__bin_enter(cuzk__bin *b, const char *what, int64_t index) {
    if (b->depth < CUZK__BIN_DEPTH) {
        b->at[b->depth].what = what;
        b->at[b->depth].index = index;
    }
    b->depth++;
}
static inline void cuzk__bin_leave(cuzk__bin *b) {
    b->depth--;
}

/* BAD_INPUT "NAME: offset N: partition 0, challenge 3: expected …, actual …". off: where. */
cuzk_status cuzk__bin_fail(cuzk__bin *b, size_t off, const char *fmt, ...) CUZK_PRINTF(3, 4);

/* k 32-byte values; `what` is for the message. */
cuzk_status cuzk__bin_hashes(cuzk__bin *b, const uint8_t **out, uint64_t k,
                             const char *what) CUZK_MUST_CHECK;
cuzk_status cuzk__bin_u32(cuzk__bin *b, uint32_t *out, const char *what) CUZK_MUST_CHECK;
cuzk_status cuzk__bin_u64(cuzk__bin *b, uint64_t *out, const char *what) CUZK_MUST_CHECK;
/* A length that must be want. */
cuzk_status cuzk__bin_count(cuzk__bin *b, uint64_t want, const char *what) CUZK_MUST_CHECK;
/* A Merkle proof in a tree of this shape, every index below its level's arity. */
cuzk_status cuzk__bin_proof(cuzk__bin *b, cuzk_merkle_proof *out, const cuzk_tree_shape *t,
                            const char *what) CUZK_MUST_CHECK;
/* The end. */
cuzk_status cuzk__bin_end(cuzk__bin *b) CUZK_MUST_CHECK;

/* Bytes of such a proof, and of one path of `levels` levels. */
size_t cuzk__bin_path_bytes(uint32_t arity, uint32_t levels);
size_t cuzk__bin_proof_bytes(const cuzk_tree_shape *t);
/* "Single", "Sub" or "Top": how many parts the tree has, 0, 1 or 2 more than one. */
static inline uint32_t cuzk__tree_tag(const cuzk_tree_shape *t) {
    return t->top ? 2 : t->sub ? 1 : 0;
}

/* The leaf that a path belongs to. */
uint64_t cuzk_path_index(const cuzk_path_values *p, const cuzk_tree_shape *t);

#endif
