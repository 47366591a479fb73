/* The three ways to keep a tree give the same tree, and the Merkle proofs lead to its root. */
#include "support.h"

#include "base/mem.h"
#include "filecoin/bincode.h"
#include "filecoin/trees.h"

static cuzk_poseidon_set set;
static cuzk_pool *pool;

static const cuzk_tree_shape shapes[] = {
    {8, 2, 0, 0}, {8, 2, 2, 0}, {8, 1, 8, 0}, {8, 1, 8, 2},
    {8, 1, 4, 2}, {4, 3, 0, 0}, {2, 7, 0, 0},
};

static uint32_t log2_leaves(const cuzk_tree_shape *s) {
    uint32_t n = 0;
    for (uint32_t l = 0; l < cuzk_tree_levels(s); l++)
        n += (uint32_t)__builtin_ctz(cuzk_tree_arity(s, l));
    return n;
}

static uint8_t *values(size_t n) {
    uint8_t *v;
    assert_int_equal(cuzk_alloc((void **)&v, n, 32), CUZK_OK);
    test_rng_bytes(v, 32 * n);
    for (size_t i = 0; i < n; i++)
        v[32 * i + 31] &= 0x3f;
    return v;
}

/* Every node of a equals that of b, and so do the proofs of some leaves. */
static void same_trees(const cuzk__tree *a, const cuzk__tree *b) {
    assert_int_equal(a->levels, b->levels);
    for (uint32_t l = 0; l <= a->levels; l++) {
        for (uint64_t i = 0; i < a->level[l].count; i++)
            assert_memory_equal(cuzk__tree_get(a, l, i), cuzk__tree_get(b, l, i), 32);
    }
    for (int k = 0; k < 8; k++) {
        cuzk_buf x = CUZK_BUF_INIT, y = CUZK_BUF_INIT;
        const uint64_t leaf = test_rng() % a->level[0].count;
        cuzk__tree_open(a, leaf, &x);
        cuzk__tree_open(b, leaf, &y);
        assert_int_equal(x.len, y.len);
        assert_memory_equal(x.data, y.data, x.len);
        cuzk_buf_free(&x);
        cuzk_buf_free(&y);
    }
}

/* Reads a leaf's proof as a prover does and walks it up. */
static void check_proof(const cuzk__tree *t, bool sha, uint64_t leaf) {
    cuzk_buf b = CUZK_BUF_INIT;
    cuzk_err err = {0};
    cuzk_merkle_proof p;
    uint8_t cur[32], children[32 * 8];
    cuzk__tree_open(t, leaf, &b);
    assert_int_equal(b.len, cuzk__bin_proof_bytes(&t->shape));
    cuzk__bin bin = cuzk__bin_init((const uint8_t *)b.data, b.len, "test", &err);
    if (cuzk__bin_proof(&bin, &p, &t->shape, "proof") != CUZK_OK) fail_msg("%s", err.msg);
    assert_int_equal(cuzk__bin_end(&bin), CUZK_OK);
    assert_int_equal(cuzk_path_index(&p.path, &t->shape), leaf);
    assert_memory_equal(p.leaf, cuzk__tree_get(t, 0, leaf), 32);
    memcpy(cur, p.leaf, 32);
    for (uint32_t l = 0; l < t->levels; l++) {
        const uint32_t arity = cuzk_tree_arity(&t->shape, l);
        const uint8_t *sibling = p.path.siblings[l];
        for (uint32_t k = 0; k < arity; k++) {
            const bool own = k == p.path.index[l];
            memcpy(children + 32 * k, own ? cur : sibling, 32);
            if (!own) sibling += 32;
        }
        assert_int_equal(cuzk__tree_node(cur, sha ? NULL : &set, arity, children), CUZK_OK);
    }
    assert_memory_equal(cur, p.root, 32);
    assert_memory_equal(cur, cuzk__tree_root(t), 32);
    cuzk_buf_free(&b);
}

static void proofs_lead_to_the_root(void **state) {
    (void)state;
    const cuzk__tree_maker m = {&set, pool, NULL};
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
        const size_t n = (size_t)1 << log2_leaves(&shapes[i]);
        cuzk__tree t;
        const bool sha = shapes[i].base_arity == 2;
        assert_int_equal(cuzk__tree_whole(&t, &m, &shapes[i], sha, values(n), 0), CUZK_OK);
        for (uint64_t leaf = 0; leaf < n; leaf += 1 + test_rng() % 7)
            check_proof(&t, sha, leaf);
        cuzk__tree_free(&t);
    }
}

/* Values that stand for runs of 2^shift leaves, against all leaves written out. */
static void runs_are_leaves(void **state) {
    (void)state;
    const cuzk__tree_maker m = {&set, pool, NULL};
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
        const uint32_t log2_n = log2_leaves(&shapes[i]);
        const bool sha = shapes[i].base_arity == 2;
        for (uint32_t shift = 1; shift <= log2_n; shift++) {
            cuzk__tree whole, runs;
            uint8_t *all = values((size_t)1 << log2_n),
                    *few = values((size_t)1 << (log2_n - shift));
            for (size_t k = 0; k < (size_t)1 << log2_n; k++)
                memcpy(all + 32 * k, few + 32 * (k >> shift), 32);
            assert_int_equal(cuzk__tree_whole(&whole, &m, &shapes[i], sha, all, 0), CUZK_OK);
            assert_int_equal(cuzk__tree_whole(&runs, &m, &shapes[i], sha, few, shift), CUZK_OK);
            same_trees(&whole, &runs);
            cuzk__tree_free(&whole);
            cuzk__tree_free(&runs);
        }
    }
}

/* Some leaves among others that are all equal. */
static void sparse_is_whole(void **state) {
    (void)state;
    const cuzk__tree_maker m = {&set, pool, NULL};
    for (size_t i = 0; i + 1 < sizeof shapes / sizeof *shapes; i++) {
        const size_t n = (size_t)1 << log2_leaves(&shapes[i]);
        for (size_t step = 1; step <= n; step = 3 * step + 1) {
            uint8_t *all = values(n), *some = values(n), fill[32] = {0};
            uint64_t *index;
            size_t k = 0;
            cuzk__tree whole, sparse;
            assert_int_equal(cuzk_alloc((void **)&index, n, sizeof *index), CUZK_OK);
            if (step % 2) memcpy(fill, all, 32);
            for (size_t j = 0; j < n; j++)
                memcpy(all + 32 * j, fill, 32);
            for (size_t j = test_rng() % step; j < n; j += 1 + test_rng() % step) {
                index[k] = j;
                memcpy(all + 32 * j, some + 32 * k++, 32);
            }
            assert_int_equal(cuzk__tree_whole(&whole, &m, &shapes[i], false, all, 0), CUZK_OK);
            assert_int_equal(cuzk__tree_sparse(&sparse, &m, &shapes[i], index, some, k, fill),
                             CUZK_OK);
            same_trees(&whole, &sparse);
            cuzk__tree_free(&whole);
            cuzk__tree_free(&sparse);
        }
    }
}

static void no_field_element(void **state) {
    (void)state;
    const cuzk__tree_maker m = {&set, pool, NULL};
    uint8_t *v = values(64);
    cuzk__tree t;
    memset(v + 32 * 17, 0xff, 32);
    assert_int_equal(cuzk__tree_whole(&t, &m, &shapes[0], false, v, 0), CUZK_STATUS_BAD_INPUT);
    cuzk__tree_free(&t);
}

static int begin(void **state) {
    (void)state;
    test_rng_start();
    return cuzk_poseidon_set_init(&set) == CUZK_OK && cuzk_pool_new(&pool, 2) == CUZK_OK ? 0 : -1;
}

static int end(void **state) {
    (void)state;
    cuzk_poseidon_set_fini(&set);
    cuzk_pool_free(pool);
    return 0;
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(proofs_lead_to_the_root),
        cmocka_unit_test(runs_are_leaves),
        cmocka_unit_test(sparse_is_whole),
        cmocka_unit_test(no_field_element),
    };
    return cmocka_run_group_tests(tests, begin, end);
}
