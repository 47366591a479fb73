/* Whether vanilla proofs are true, before anything is proved: every Merkle path, label, encoding
 * and relation of commitments, at the challenges that the statement leads to. What a proof carries
 * and the circuit does not use is held against what it uses, so that no byte may differ.
 *
 * OK; FALSE when something does not hold; BAD_INPUT when a value is no field element. The message
 * names file, partition or sector, challenge and part. Work is spread over pool (may be NULL);
 * progress counts challenges (may be NULL). */
#ifndef CUZK_FILECOIN_VANILLA_CHECK_H
#define CUZK_FILECOIN_VANILLA_CHECK_H

#include "base/progress.h"
#include "base/thread.h"
#include "filecoin/c1.h"
#include "filecoin/post.h"
#include "filecoin/public.h"
#include "filecoin/update.h"

/* Partitions [first, first + n). */
cuzk_status cuzk_porep_check(const cuzk_c1 *c, const cuzk_porep_statement *s, uint32_t first,
                             uint32_t n, const cuzk_poseidon_set *set, cuzk_pool *pool,
                             cuzk_progress *progress, cuzk_err *err) CUZK_MUST_CHECK;
cuzk_status cuzk_post_check(const cuzk_post *p, const cuzk_poseidon_set *set, cuzk_pool *pool,
                            cuzk_progress *progress, cuzk_err *err) CUZK_MUST_CHECK;
/* Partitions [first, first + n). */
cuzk_status cuzk_update_check(const cuzk_update *u, uint32_t first, uint32_t n,
                              const cuzk_poseidon_set *set, cuzk_pool *pool,
                              cuzk_progress *progress, cuzk_err *err) CUZK_MUST_CHECK;

/* ---- internal ---- */

/* One item (a challenge) under examination. err NULL: only the verdict is wanted. */
typedef struct cuzk__check {
    const cuzk_poseidon_set *set;
    const char *name;
    cuzk_err *err;
    const char *unit; /* "partition" or "sector" */
    uint64_t unit_index;
    uint32_t challenge;
    uint64_t node; /* the challenged one */
} cuzk__check;

/* "NAME: partition 0, challenge 3 (node 45): …"; returns st. */
cuzk_status cuzk__check_fail(const cuzk__check *k, cuzk_status st, const char *fmt, ...)
    CUZK_PRINTF(3, 4);
/* A value in Montgomery form, or BAD_INPUT. */
cuzk_status cuzk__check_fr(const cuzk__check *k, cuzk_u256 *out, const uint8_t le[32],
                           const char *what) CUZK_MUST_CHECK;
/* That two 32-byte values are the same. */
cuzk_status cuzk__check_same(const cuzk__check *k, const uint8_t actual[32],
                             const uint8_t expected[32], const char *what) CUZK_MUST_CHECK;
/* That the path leads from leaf number `node` to root, and the proof's root is root. */
cuzk_status cuzk__check_poseidon_path(const cuzk__check *k, const cuzk_merkle_proof *p,
                                      const cuzk_tree_shape *t, const uint8_t root[32],
                                      uint64_t node, const char *what) CUZK_MUST_CHECK;
cuzk_status cuzk__check_sha_path(const cuzk__check *k, const cuzk_merkle_proof *p,
                                 const cuzk_tree_shape *t, const uint8_t root[32], uint64_t node,
                                 const char *what) CUZK_MUST_CHECK;
/* That comm_r = Poseidon(comm_c, root_r). */
cuzk_status cuzk__check_comm_r(const cuzk__check *k, const uint8_t comm_r[32],
                               const uint8_t comm_c[32], const uint8_t root_r[32],
                               const char *what) CUZK_MUST_CHECK;
/* SHA-256 of two nodes with the two top bits cleared. */
cuzk_status cuzk__sha_node(uint8_t out[32], const uint8_t left[32],
                           const uint8_t right[32]) CUZK_MUST_CHECK;

/* Calls item(ctx, i, NULL) for all i < n on the pool, and once more with err for the first that
 * did not return OK; its status is the result. */
cuzk_status cuzk__check_all(size_t n, cuzk_status (*item)(void *ctx, size_t i, cuzk_err *err),
                            void *ctx, cuzk_pool *pool, cuzk_progress *progress,
                            cuzk_err *err) CUZK_MUST_CHECK;

#endif
