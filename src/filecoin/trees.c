#include "filecoin/trees.h"

#include "base/hash.h"
#include "base/mem.h"
#include "filecoin/bincode.h"
#include "filecoin/fr.h"

#include <stdatomic.h>

enum { MAX_ARITY = CUZK_POSEIDON_MAX_ARITY };

cuzk_status cuzk__tree_node(uint8_t out[32], const cuzk_poseidon_set *poseidon, uint32_t arity,
                            const uint8_t *children) {
    cuzk_u256 in[MAX_ARITY], h;
    if (!poseidon) {
        CUZK_TRY(cuzk_hash_once(CUZK_HASH_SHA256, children, 32 * (size_t)arity, out));
        out[31] &= 0x3f;
        return CUZK_OK;
    }
    for (uint32_t i = 0; i < arity; i++)
        if (!cuzk__fr_read(&in[i], children + 32 * (size_t)i)) return CUZK_STATUS_BAD_INPUT;
    cuzk_poseidon_hash(&h, poseidon->arity[arity], cuzk_poseidon_tree_tag(arity), in);
    cuzk__fr_write(out, &h);
    return CUZK_OK;
}

/* ---- reading ---- */

const uint8_t *cuzk__tree_get(const cuzk__tree *t, uint32_t level, uint64_t i) {
    const cuzk__tree_level *l = &t->level[level];
    if (!l->index) return l->value + 32 * (i >> l->shift);
    size_t lo = 0, hi = l->n;
    while (lo < hi) {
        const size_t mid = lo + (hi - lo) / 2;
        if (l->index[mid] < i)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo < l->n && l->index[lo] == i ? l->value + 32 * lo : l->fill;
}

static void put_levels(const cuzk__tree *t, uint32_t begin, uint32_t end, uint64_t *i,
                       cuzk_buf *out) {
    cuzk__put_u64(out, end - begin);
    for (uint32_t l = begin; l < end; l++) {
        const uint32_t arity = cuzk_tree_arity(&t->shape, l);
        const uint64_t own = *i % arity, first = *i - own;
        cuzk__put_u64(out, arity - 1);
        for (uint32_t k = 0; k < arity; k++)
            if (k != own) cuzk__put_hash(out, cuzk__tree_get(t, l, first + k));
        cuzk__put_u64(out, own);
        *i /= arity;
    }
}

void cuzk__tree_open(const cuzk__tree *t, uint64_t leaf, cuzk_buf *out) {
    const uint32_t tag = cuzk__tree_tag(&t->shape);
    uint64_t i = leaf;
    cuzk__put_u32(out, tag);
    if (tag > 0) {
        put_levels(t, 0, t->shape.base, &i, out);
        for (uint32_t l = t->shape.base; l < t->levels; l++)
            put_levels(t, l, l + 1, &i, out);
    }
    cuzk__put_hash(out, cuzk__tree_root(t));
    cuzk__put_hash(out, cuzk__tree_get(t, 0, leaf));
    if (tag == 0) put_levels(t, 0, t->levels, &i, out);
}

/* ---- building ---- */

struct job {
    cuzk__tree *t;
    const cuzk__tree_maker *m;
    const cuzk_poseidon_set *poseidon; /* NULL: tree D */
    uint32_t level;                    /* the one to fill */
    _Atomic int status;
};

static cuzk_status fill_one(const struct job *j, uint64_t node, uint8_t out[32]) {
    const uint32_t arity = cuzk_tree_arity(&j->t->shape, j->level - 1);
    uint8_t children[32 * MAX_ARITY];
    for (uint32_t k = 0; k < arity; k++)
        memcpy(children + 32 * (size_t)k, cuzk__tree_get(j->t, j->level - 1, node * arity + k), 32);
    return cuzk__tree_node(out, j->poseidon, arity, children);
}

static void fill_range(void *ctx, size_t begin, size_t end) {
    struct job *j = ctx;
    cuzk__tree_level *l = &j->t->level[j->level];
    for (size_t i = begin; i < end; i++) {
        const uint64_t node = l->index ? l->index[i] : (uint64_t)i << l->shift;
        const cuzk_status st = fill_one(j, node, l->value + 32 * i);
        if (st != CUZK_OK) atomic_store(&j->status, (int)st);
    }
    if (j->m->progress)
        cuzk_progress_add(j->m->progress,
                          (end - begin) * (cuzk_tree_arity(&j->t->shape, j->level - 1) - 1));
}

/* The indices of the parents of a sparse level's nodes, each once. */
static cuzk_status parents_of(cuzk__tree_level *up, const cuzk__tree_level *low, uint32_t arity) {
    CUZK_TRY(cuzk_alloc((void **)&up->index, low->n, sizeof *up->index));
    for (size_t i = 0; i < low->n; i++) {
        const uint64_t p = low->index[i] / arity;
        if (up->n == 0 || up->index[up->n - 1] != p) up->index[up->n++] = p;
    }
    return CUZK_OK;
}

static cuzk_status build_level(struct job *j) {
    const cuzk__tree_level *low = &j->t->level[j->level - 1];
    cuzk__tree_level *up = &j->t->level[j->level];
    const uint32_t arity = cuzk_tree_arity(&j->t->shape, j->level - 1);
    const uint32_t log2_arity = (uint32_t)__builtin_ctz(arity);
    up->count = low->count / arity;
    if (low->index) {
        uint8_t children[32 * MAX_ARITY];
        for (uint32_t k = 0; k < arity; k++)
            memcpy(children + 32 * (size_t)k, low->fill, 32);
        CUZK_TRY(cuzk__tree_node(up->fill, j->poseidon, arity, children));
        CUZK_TRY(parents_of(up, low, arity));
    } else {
        up->shift = low->shift > log2_arity ? low->shift - log2_arity : 0;
        up->n = up->count >> up->shift;
    }
    CUZK_TRY(cuzk_alloc((void **)&up->value, up->n, 32));
    cuzk_pool_run_ranges(j->m->pool, up->n, 16, 8, fill_range, j);
    return (cuzk_status)atomic_load(&j->status);
}

static cuzk_status build(cuzk__tree *t, const cuzk__tree_maker *m, bool sha) {
    struct job j = {.t = t, .m = m, .poseidon = sha ? NULL : m->poseidon};
    for (j.level = 1; j.level <= t->levels; j.level++)
        CUZK_TRY(build_level(&j));
    return CUZK_OK;
}

static void begin(cuzk__tree *t, const cuzk_tree_shape *s, uint8_t *values) {
    memset(t, 0, sizeof *t);
    t->shape = *s;
    t->levels = cuzk_tree_levels(s);
    t->level[0].value = values;
    t->level[0].count = 1;
    for (uint32_t l = 0; l < t->levels; l++)
        t->level[0].count *= cuzk_tree_arity(s, l);
}

cuzk_status cuzk__tree_whole(cuzk__tree *t, const cuzk__tree_maker *m, const cuzk_tree_shape *s,
                             bool sha, uint8_t *values, uint32_t shift) {
    begin(t, s, values);
    t->level[0].shift = shift;
    t->level[0].n = t->level[0].count >> shift;
    return build(t, m, sha);
}

cuzk_status cuzk__tree_sparse(cuzk__tree *t, const cuzk__tree_maker *m, const cuzk_tree_shape *s,
                              uint64_t *index, uint8_t *values, size_t n, const uint8_t fill[32]) {
    begin(t, s, values);
    t->level[0].index = index;
    t->level[0].n = n;
    memcpy(t->level[0].fill, fill, 32);
    return build(t, m, false);
}

void cuzk__tree_free(cuzk__tree *t) {
    for (uint32_t l = 0; l <= CUZK_PATH_MAX; l++) {
        cuzk_free(t->level[l].index);
        cuzk_free(t->level[l].value);
    }
    memset(t, 0, sizeof *t);
}
