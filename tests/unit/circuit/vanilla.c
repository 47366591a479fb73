#include "vanilla.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/bytes.h"

uint8_t *vanilla_read(const char *name, size_t *n) {
    char path[512];
    snprintf(path, sizeof path, "%s/porep/%s", CUZK_TEST_VECTORS, name);
    FILE *f = fopen(path, "rb");
    assert_non_null(f);
    uint8_t *b = malloc(1 << 20);
    assert_non_null(b);
    *n = fread(b, 1, 1 << 20, f);
    assert_true(*n > 0 && *n < 1 << 20);
    fclose(f);
    return b;
}

static uint64_t u64(cuzk_cursor *c) {
    uint64_t v = 0;
    assert_true(cuzk_rd_u64le(c, &v));
    return v;
}

static uint32_t u32(cuzk_cursor *c) {
    uint32_t v = 0;
    assert_true(cuzk_rd_u32le(c, &v));
    return v;
}

static const uint8_t *bytes32(cuzk_cursor *c, uint64_t k) {
    const uint8_t *p = NULL;
    assert_true(cuzk_rd_bytes(c, 32 * k, &p));
    return p;
}

static void path(cuzk_cursor *c, cuzk_path_values *p) {
    for (uint64_t n = u64(c); n > 0; n--) {
        assert_true(p->levels < CUZK_PATH_MAX);
        p->siblings[p->levels] = bytes32(c, u64(c));
        p->index[p->levels++] = (uint32_t)u64(c);
    }
}

struct proof {
    const uint8_t *root, *leaf;
    cuzk_path_values path;
};

static struct proof merkle_proof(cuzk_cursor *c) {
    struct proof p = {0};
    const uint32_t tag = u32(c); /* Single, Sub, Top */
    assert_true(tag <= 2);
    if (tag == 0) {
        p.root = bytes32(c, 1);
        p.leaf = bytes32(c, 1);
        path(c, &p.path);
        return p;
    }
    for (uint32_t i = 0; i <= tag; i++)
        path(c, &p.path);
    p.root = bytes32(c, 1);
    p.leaf = bytes32(c, 1);
    return p;
}

/* Returns the column's labels. */
static const uint8_t *column_proof(cuzk_cursor *c, uint32_t layers, struct proof *p) {
    u32(c);
    assert_int_equal(u64(c), layers);
    const uint8_t *rows = bytes32(c, layers);
    *p = merkle_proof(c);
    return rows;
}

static uint64_t labeling_proof(cuzk_cursor *c) {
    bytes32(c, u64(c));
    u32(c);
    return u64(c);
}

static void porep_challenge(cuzk_cursor *c, uint32_t layers, cuzk_porep_challenge_values *x,
                            cuzk_porep_values *v) {
    struct proof p = merkle_proof(c);
    x->data_leaf = p.leaf;
    x->data = p.path;
    p = merkle_proof(c);
    v->comm_r_last = p.root;
    x->replica = p.path;
    column_proof(c, layers, &p);
    v->comm_c = p.root;
    x->own_column = p.path;
    for (int group = 0, i = 0; group < 2; group++) {
        const uint64_t n = u64(c);
        assert_int_equal(n, group ? CUZK_POREP_EXP_PARENTS : CUZK_POREP_DRG_PARENTS);
        for (uint64_t k = 0; k < n; k++, i++) {
            x->column[i] = column_proof(c, layers, &p);
            x->parent[i] = p.path;
        }
    }
    const uint64_t n = u64(c);
    assert_int_equal(n, layers);
    for (uint64_t k = 0; k < n; k++)
        x->challenge = labeling_proof(c);
    labeling_proof(c); /* encoding_proof */
}

cuzk_u256 *vanilla_porep(const cuzk_porep_circuit *c, const uint8_t *bytes, size_t len,
                         size_t n_frees) {
    cuzk_cursor cur = cuzk_cursor_init(bytes, len);
    cuzk_porep_values v = {0};
    cuzk_err err = {0};
    cuzk_porep_challenge_values *x = calloc(c->challenges, sizeof *x);
    cuzk_u256 *out = calloc(n_frees, sizeof *out);
    assert_non_null(x);
    assert_non_null(out);
    assert_true(u64(&cur) >= 1);
    assert_int_equal(u64(&cur), c->challenges);
    for (uint32_t i = 0; i < c->challenges; i++)
        porep_challenge(&cur, c->layers, &x[i], &v);
    const uint8_t *tail = bytes + len - 5 * 32; /* comm_r, comm_d, replica_id, seed, ticket */
    v.comm_r = tail;
    v.comm_d = tail + 32;
    v.replica_id = tail + 64;
    v.challenges = x;
    if (cuzk_porep_frees(out, n_frees, c, &v, &err) != CUZK_OK) fail_msg("%s", err.msg);
    free(x);
    return out;
}

cuzk_u256 *vanilla_post(const cuzk_post_circuit *c, const uint8_t *bytes, size_t len,
                        size_t n_frees) {
    cuzk_cursor cur = cuzk_cursor_init(bytes, len);
    cuzk_err err = {0};
    const size_t all = (size_t)c->sectors * c->challenges;
    cuzk_post_sector_values *s = calloc(c->sectors, sizeof *s);
    cuzk_post_challenge_values *x = calloc(all, sizeof *x);
    cuzk_u256 *out = calloc(n_frees, sizeof *out);
    assert_true(s && x && out);
    /* Winning: one proof with a challenge for each of the circuit's sectors */
    for (size_t done = 0; done < all;) {
        const size_t first = done;
        u64(&cur); /* sector id */
        const uint8_t *comm_r = bytes32(&cur, 1);
        assert_int_equal(u64(&cur), 1);
        for (uint64_t n = u64(&cur); n > 0; n--, done++) {
            assert_true(done < all);
            const struct proof p = merkle_proof(&cur);
            x[done].leaf = p.leaf;
            x[done].path = p.path;
        }
        const uint8_t *comm_c = bytes32(&cur, 1), *comm_r_last = bytes32(&cur, 1);
        for (size_t i = first; i < done; i += c->challenges)
            s[i / c->challenges] = (cuzk_post_sector_values){comm_r_last, comm_c, comm_r, &x[i]};
    }
    if (cuzk_post_frees(out, n_frees, c, s, &err) != CUZK_OK) fail_msg("%s", err.msg);
    free(s);
    free(x);
    return out;
}

cuzk_u256 *vanilla_update(const cuzk_update_circuit *c, const uint8_t *bytes, size_t len,
                          size_t n_frees) {
    cuzk_cursor cur = cuzk_cursor_init(bytes, len);
    cuzk_update_values v = {0};
    cuzk_err err = {0};
    cuzk_update_challenge_values *x = calloc(c->challenges, sizeof *x);
    cuzk_u256 *out = calloc(n_frees, sizeof *out);
    assert_true(x && out);
    v.comm_r_old = bytes32(&cur, 1);
    v.comm_d_new = bytes32(&cur, 1);
    v.comm_r_new = bytes32(&cur, 1);
    v.k_and_h_select = (uint64_t)1 << c->log2_partitions; /* partition 0, first h */
    v.comm_c = bytes32(&cur, 1);
    const uint64_t apex = u64(&cur);
    assert_int_equal(apex, 1u << c->log2_apex);
    v.apex_leaves = bytes32(&cur, apex);
    assert_int_equal(u64(&cur), c->challenges);
    for (uint32_t i = 0; i < c->challenges; i++) {
        struct proof p = merkle_proof(&cur);
        x[i].leaf_r_old = p.leaf;
        x[i].r_old = p.path;
        v.root_r_old = p.root;
        p = merkle_proof(&cur);
        x[i].leaf_d_new = p.leaf;
        x[i].d_new = p.path;
        p = merkle_proof(&cur);
        x[i].r_new = p.path;
        v.root_r_new = p.root;
    }
    v.challenges = x;
    if (cuzk_update_frees(out, n_frees, c, &v, &err) != CUZK_OK) fail_msg("%s", err.msg);
    free(x);
    return out;
}
