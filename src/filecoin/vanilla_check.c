/* What the checks of all three proofs share. */
#include "filecoin/vanilla_check.h"

#include "base/hash.h"
#include "filecoin/fr.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

enum { MAX_ARITY = CUZK_POSEIDON_MAX_ARITY };

cuzk_status cuzk__check_fail(const cuzk__check *k, cuzk_status st, const char *fmt, ...) {
    char text[320];
    va_list ap;
    if (!k->err) return st;
    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    return cuzk_err_set(k->err, st, "%s: %s %" PRIu64 ", challenge %u (node %" PRIu64 "): %s",
                        k->name, k->unit, k->unit_index, k->challenge, k->node, text);
}

/* The first bytes of a value, enough to tell two apart. */
static const char *shown(char out[24], const uint8_t *v) {
    snprintf(out, 24, "%02x%02x%02x%02x%02x%02x…", v[0], v[1], v[2], v[3], v[4], v[5]);
    return out;
}

cuzk_status cuzk__check_fr(const cuzk__check *k, cuzk_u256 *out, const uint8_t le[32],
                           const char *what) {
    if (cuzk__fr_read(out, le)) return CUZK_OK;
    return cuzk__check_fail(k, CUZK_STATUS_BAD_INPUT,
                            "%s: expected a field element (32 bytes, little-endian, below r), "
                            "actual a greater number",
                            what);
}

cuzk_status cuzk__check_same(const cuzk__check *k, const uint8_t actual[32],
                             const uint8_t expected[32], const char *what) {
    char a[24], b[24];
    if (memcmp(actual, expected, 32) == 0) return CUZK_OK;
    return cuzk__check_fail(k, CUZK_STATUS_FALSE, "%s: expected %s, actual %s", what,
                            shown(a, expected), shown(b, actual));
}

cuzk_status cuzk__sha_node(uint8_t out[32], const uint8_t left[32], const uint8_t right[32]) {
    uint8_t m[64];
    memcpy(m, left, 32);
    memcpy(m + 32, right, 32);
    CUZK_TRY(cuzk_hash_once(CUZK_HASH_SHA256, m, sizeof m, out));
    out[31] &= 0x3f;
    return CUZK_OK;
}

/* What a path says of itself. */
static cuzk_status check_head(const cuzk__check *k, const cuzk_merkle_proof *p,
                              const cuzk_tree_shape *t, const uint8_t root[32], uint64_t node,
                              const char *what) {
    char a[24], b[24];
    const uint64_t index = cuzk_path_index(&p->path, t);
    if (index != node)
        return cuzk__check_fail(k, CUZK_STATUS_FALSE,
                                "%s: expected the Merkle path of leaf %" PRIu64
                                ", actual of leaf %" PRIu64,
                                what, node, index);
    if (memcmp(p->root, root, 32) == 0) return CUZK_OK;
    return cuzk__check_fail(k, CUZK_STATUS_FALSE, "%s: expected root %s, actual %s", what,
                            shown(a, root), shown(b, p->root));
}

static cuzk_status wrong_path(const cuzk__check *k, const cuzk_merkle_proof *p,
                              const uint8_t got[32], const char *what) {
    char a[24], b[24];
    return cuzk__check_fail(k, CUZK_STATUS_FALSE,
                            "%s: wrong Merkle path: expected to reach root %s, actual %s", what,
                            shown(a, p->root), shown(b, got));
}

cuzk_status cuzk__check_poseidon_path(const cuzk__check *k, const cuzk_merkle_proof *p,
                                      const cuzk_tree_shape *t, const uint8_t root[32],
                                      uint64_t node, const char *what) {
    cuzk_u256 cur, in[MAX_ARITY];
    uint8_t got[32];
    CUZK_TRY(check_head(k, p, t, root, node, what));
    CUZK_TRY(cuzk__check_fr(k, &cur, p->leaf, what));
    for (uint32_t l = 0; l < p->path.levels; l++) {
        const uint32_t arity = cuzk_tree_arity(t, l);
        const uint8_t *sibling = p->path.siblings[l];
        for (uint32_t i = 0; i < arity; i++) {
            if (i == p->path.index[l]) {
                in[i] = cur;
                continue;
            }
            CUZK_TRY(cuzk__check_fr(k, &in[i], sibling, what));
            sibling += 32;
        }
        cuzk_poseidon_hash(&cur, k->set->arity[arity], cuzk_poseidon_tree_tag(arity), in);
    }
    cuzk__fr_write(got, &cur);
    return memcmp(got, p->root, 32) == 0 ? CUZK_OK : wrong_path(k, p, got, what);
}

cuzk_status cuzk__check_sha_path(const cuzk__check *k, const cuzk_merkle_proof *p,
                                 const cuzk_tree_shape *t, const uint8_t root[32], uint64_t node,
                                 const char *what) {
    cuzk_u256 unused;
    uint8_t cur[32];
    CUZK_TRY(check_head(k, p, t, root, node, what));
    CUZK_TRY(cuzk__check_fr(k, &unused, p->leaf, what));
    memcpy(cur, p->leaf, 32);
    for (uint32_t l = 0; l < p->path.levels; l++) {
        const uint8_t *sibling = p->path.siblings[l];
        CUZK_TRY(cuzk__check_fr(k, &unused, sibling, what));
        const bool right = p->path.index[l];
        CUZK_TRY(cuzk__sha_node(cur, right ? sibling : cur, right ? cur : sibling));
    }
    return memcmp(cur, p->root, 32) == 0 ? CUZK_OK : wrong_path(k, p, cur, what);
}

cuzk_status cuzk__check_comm_r(const cuzk__check *k, const uint8_t comm_r[32],
                               const uint8_t comm_c[32], const uint8_t root_r[32],
                               const char *what) {
    cuzk_u256 in[2], h;
    uint8_t got[32];
    char a[24], b[24];
    CUZK_TRY(cuzk__check_fr(k, &in[0], comm_c, "comm_c"));
    CUZK_TRY(cuzk__check_fr(k, &in[1], root_r, "root of tree R"));
    cuzk_poseidon_hash(&h, k->set->arity[2], cuzk_poseidon_tree_tag(2), in);
    cuzk__fr_write(got, &h);
    if (memcmp(got, comm_r, 32) == 0) return CUZK_OK;
    return cuzk__check_fail(
        k, CUZK_STATUS_FALSE,
        "%s: expected the hash %s of the roots of trees C and R in the proof, actual %s", what,
        shown(a, got), shown(b, comm_r));
}

/* ---- all items ---- */

struct all {
    cuzk_status (*item)(void *ctx, size_t i, cuzk_err *err);
    void *ctx;
    cuzk_progress *progress;
    atomic_size_t first_bad;
};

static void run_item(void *ctx, size_t i) {
    struct all *a = ctx;
    if (i < atomic_load(&a->first_bad) && a->item(a->ctx, i, NULL) != CUZK_OK) {
        size_t seen = atomic_load(&a->first_bad);
        while (i < seen && !atomic_compare_exchange_weak(&a->first_bad, &seen, i)) {
        }
    }
    if (a->progress) cuzk_progress_add(a->progress, 1);
}

cuzk_status cuzk__check_all(size_t n, cuzk_status (*item)(void *ctx, size_t i, cuzk_err *err),
                            void *ctx, cuzk_pool *pool, cuzk_progress *progress, cuzk_err *err) {
    struct all a = {item, ctx, progress, SIZE_MAX};
    cuzk_err reason = {0};
    cuzk_pool_run(pool, n, run_item, &a);
    const size_t bad = atomic_load(&a.first_bad);
    if (bad == SIZE_MAX) return CUZK_OK;
    const cuzk_status st = item(ctx, bad, &reason);
    if (st == CUZK_OK) return cuzk_err_set(err, CUZK_STATUS_BUG, "a check gave two answers");
    return cuzk_err_set(err, st, "%s", reason.msg[0] ? reason.msg : cuzk_status_text(st));
}
