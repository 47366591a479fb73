#include "circuit/values.h"

#include "base/bytes.h"

/* Where the next value goes; counts on past the end so that the error can say how many. */
struct writer {
    cuzk_u256 *out;
    size_t n, cap;
    const char *bad; /* first step whose path does not have the circuit's shape */
};

static void put(struct writer *w, const uint8_t *le) {
    if (w->n < w->cap)
        for (int i = 0; i < 4; i++)
            w->out[w->n].l[i] = cuzk_ld_u64le(le + 8 * i);
    w->n++;
}

static void put_all(struct writer *w, const uint8_t *le, size_t k) {
    for (size_t i = 0; i < k; i++)
        put(w, le + 32 * i);
}

static void put_small(struct writer *w, uint64_t v) {
    if (w->n < w->cap) w->out[w->n] = (cuzk_u256){{v, 0, 0, 0}};
    w->n++;
}

static void put_bits(struct writer *w, uint64_t v, uint32_t bits) {
    for (uint32_t i = 0; i < bits; i++)
        put_small(w, v >> i & 1);
}

static bool fits(struct writer *w, const cuzk_path_values *p, uint32_t levels, const char *what) {
    if (p->levels == levels && levels <= CUZK_PATH_MAX) return true;
    if (!w->bad) w->bad = what;
    return false;
}

/* Index bits and siblings, level by level. */
static void put_path(struct writer *w, const cuzk_tree_shape *t, const cuzk_path_values *p,
                     const char *what) {
    if (!fits(w, p, cuzk_tree_levels(t), what)) return;
    for (uint32_t l = 0; l < p->levels; l++) {
        const uint32_t arity = cuzk_tree_arity(t, l);
        if (p->index[l] >= arity && !w->bad) w->bad = what;
        put_bits(w, p->index[l], (uint32_t)__builtin_ctz(arity));
        put_all(w, p->siblings[l], arity - 1);
    }
}

static void put_siblings(struct writer *w, const cuzk_tree_shape *t, const cuzk_path_values *p,
                         const char *what) {
    if (!fits(w, p, cuzk_tree_levels(t), what)) return;
    for (uint32_t l = 0; l < p->levels; l++)
        put_all(w, p->siblings[l], cuzk_tree_arity(t, l) - 1);
}

static cuzk_status done(const struct writer *w, cuzk_err *err) {
    if (w->bad)
        return cuzk_err_set(err, CUZK_STATUS_BAD_INPUT,
                            "the %s path does not have the levels of this sector size", w->bad);
    if (w->n != w->cap)
        return cuzk_err_set(err, CUZK_STATUS_BUG, "%zu free values for a circuit of %zu", w->n,
                            w->cap);
    return CUZK_OK;
}

cuzk_status cuzk_porep_frees(cuzk_u256 *out, size_t n, const cuzk_porep_circuit *c,
                             const cuzk_porep_values *v, cuzk_err *err) {
    struct writer w = {out, 0, n, NULL};
    const cuzk_tree_shape d = {2, c->log2_nodes, 0, 0};
    const uint8_t *head[] = {v->replica_id, v->comm_d, v->comm_r, v->comm_r_last, v->comm_c};
    for (size_t i = 0; i < sizeof head / sizeof head[0]; i++)
        put(&w, head[i]);
    for (uint32_t i = 0; i < c->challenges; i++) {
        const cuzk_porep_challenge_values *x = &v->challenges[i];
        put(&w, x->data_leaf);
        put_path(&w, &d, &x->data, "tree D");
        for (uint32_t p = 0; p < CUZK_POREP_DRG_PARENTS + CUZK_POREP_EXP_PARENTS; p++) {
            put_all(&w, x->column[p], c->layers);
            put_path(&w, &c->tree, &x->parent[p], "parent's tree C");
        }
        put_bits(&w, x->challenge, 64);
        put_path(&w, &c->tree, &x->replica, "tree R");
        put_path(&w, &c->tree, &x->own_column, "tree C");
    }
    return done(&w, err);
}

cuzk_status cuzk_post_frees(cuzk_u256 *out, size_t n, const cuzk_post_circuit *c,
                            const cuzk_post_sector_values *sectors, cuzk_err *err) {
    struct writer w = {out, 0, n, NULL};
    for (uint32_t s = 0; s < c->sectors; s++) {
        put(&w, sectors[s].comm_r_last);
        put(&w, sectors[s].comm_c);
        put(&w, sectors[s].comm_r);
        for (uint32_t i = 0; i < c->challenges; i++) {
            put(&w, sectors[s].challenges[i].leaf);
            put_path(&w, &c->tree, &sectors[s].challenges[i].path, "tree R");
        }
    }
    return done(&w, err);
}

/* Siblings of tree D on levels [from, to). */
static void put_binary(struct writer *w, const cuzk_update_circuit *c, const cuzk_path_values *p,
                       uint32_t from, uint32_t to) {
    if (!fits(w, p, c->log2_nodes, "tree D")) return;
    for (uint32_t l = from; l < to; l++)
        put(w, p->siblings[l]);
}

cuzk_status cuzk_update_frees(cuzk_u256 *out, size_t n, const cuzk_update_circuit *c,
                              const cuzk_update_values *v, cuzk_err *err) {
    struct writer w = {out, 0, n, NULL};
    const uint8_t *head[] = {v->comm_r_old, v->comm_d_new, v->comm_r_new,
                             v->comm_c,     v->root_r_old, v->root_r_new};
    const uint32_t top = c->log2_nodes - c->log2_partitions;
    put_small(&w, v->k_and_h_select);
    for (size_t i = 0; i < sizeof head / sizeof head[0]; i++)
        put(&w, head[i]);
    if (c->poseidon) {
        put_small(&w, 0);
    } else {
        put_all(&w, v->apex_leaves, (size_t)1 << c->log2_apex);
        put_binary(&w, c, &v->challenges[0].d_new, top, c->log2_nodes);
    }
    for (uint32_t i = 0; i < c->challenges; i++) {
        const cuzk_update_challenge_values *x = &v->challenges[i];
        put(&w, x->leaf_r_old);
        put(&w, x->leaf_d_new);
        put_siblings(&w, &c->tree, &x->r_old, "old tree R");
        put_siblings(&w, &c->tree, &x->r_new, "new tree R");
        if (c->poseidon)
            put_siblings(&w, &c->tree, &x->d_new, "tree D");
        else
            put_binary(&w, c, &x->d_new, 0, top - c->log2_apex);
    }
    return done(&w, err);
}
