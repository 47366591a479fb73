/* Every circuit's figures and digest against the reference implementation, and the compact form
 * against the flat stream of the same gadgets.
 *
 * In CI the circuits up to 3 million rows, and digests of those up to 400,000 and of porep-2k.
 * CUZK_TEST_LARGE=1 does all: some minutes a circuit, see docs/circuits.md. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "circuit/circuits.h"
#include "circuit/flat.h"
#include "hex.h"
#include "r1cs/figures.h"

static bool large(void) {
    return getenv("CUZK_TEST_LARGE") != NULL;
}

struct line {
    char name[64];
    unsigned long long f[12]; /* as many as the file has */
    char digest[80];
};

/* Reads a table of tests/vectors/porep; calls fn for each circuit. */
static void each_line(const char *file, int figures, void (*fn)(const struct line *l)) {
    char path[512], text[1024];
    snprintf(path, sizeof path, "%s/porep/%s", CUZK_TEST_VECTORS, file);
    FILE *in = fopen(path, "r");
    assert_non_null(in);
    int n = 0;
    while (fgets(text, sizeof text, in)) {
        struct line l = {.name = ""};
        int at = 0, k = 0;
        if (text[0] == '#') continue;
        assert_int_equal(sscanf(text, "%63s%n", l.name, &at), 1);
        for (int i = 0; i < figures; i++, at += k)
            assert_int_equal(sscanf(text + at, "%llu%n", &l.f[i], &k), 1);
        if (sscanf(text + at, "%79s", l.digest) != 1) l.digest[0] = '\0';
        fn(&l);
        n++;
    }
    fclose(in);
    assert_true(n > 20);
}

static cuzk_r1cs *compact(const char *name) {
    cuzk_err err = {0};
    cuzk_r1cs *r;
    const cuzk_circuit *c = cuzk_circuit_find(name);
    if (!c) fail_msg("no circuit %s", name);
    if (cuzk_circuit_compact(&r, c, &err) != CUZK_OK) fail_msg("%s: %s", name, err.msg);
    return r;
}

static void check_figures(const struct line *l, const cuzk_r1cs_figures *f, bool sizes) {
    const uint64_t got[12] = {f->constraints, f->inputs,      f->aux,          f->nnz[0],
                              f->nnz[1],      f->nnz[2],      f->a_aux,        f->b_input,
                              f->b_aux,       f->log2_domain, f->params_bytes, f->vk_bytes};
    for (int i = 0; i < (sizes ? 12 : 9); i++)
        if (got[i] != l->f[i])
            fail_msg("%s: figure %d is %llu, not %llu", l->name, i, (unsigned long long)got[i],
                     l->f[i]);
}

static void figures_of(const struct line *l) {
    cuzk_r1cs_figures f;
    if (l->f[0] > 3000000 && !large()) return;
    cuzk_r1cs *r = compact(l->name);
    assert_int_equal(cuzk_r1cs_count(&f, r), CUZK_OK);
    check_figures(l, &f, true);
    cuzk_r1cs_free(r);
}

static void figures(void **state) {
    (void)state;
    each_line("figures.tsv", 12, figures_of);
}

static void digest_of(const struct line *l) {
    cuzk_r1cs_figures f;
    uint8_t d[32];
    char hex[65];
    if (l->f[0] > 400000 && strcmp(l->name, "porep-2k") != 0 && !large()) return;
    cuzk_r1cs *r = compact(l->name);
    assert_int_equal(cuzk_r1cs_count(&f, r), CUZK_OK);
    check_figures(l, &f, false);
    assert_int_equal(cuzk_r1cs_digest(d, r, NULL), CUZK_OK);
    if (strcmp(hex32(d, hex), l->digest) != 0) fail_msg("%s: digest %s", l->name, hex);
    if (large()) print_message("%s %s\n", l->name, hex);
    cuzk_r1cs_free(r);
}

static void digests(void **state) {
    (void)state;
    each_line("circuits.tsv", 9, digest_of);
}

static void expect_path(const cuzk_r1cs *r, uint32_t row, const char *path) {
    cuzk_buf b = CUZK_BUF_INIT;
    cuzk_r1cs_row_path(r, row, &b);
    assert_int_equal(cuzk_buf_status(&b), CUZK_OK);
    assert_string_equal(b.data, path);
    cuzk_buf_free(&b);
}

/* The 32 GiB partition: figures, and the size of the compact form. */
static void porep_32g(void **state) {
    cuzk_r1cs_figures f;
    (void)state;
    cuzk_r1cs *r = compact("porep-32g");
    assert_true(cuzk_r1cs_bytes(r) <= 64u << 20);
    assert_int_equal(r->n_rows, 130278541);
    assert_int_equal(r->n_inputs, 328);
    assert_int_equal(r->n_aux, 130169893);
    assert_int_equal(cuzk_r1cs_count(&f, r), CUZK_OK);
    assert_int_equal(f.nnz[0], 309404723);
    assert_int_equal(f.nnz[1], 130327340);
    assert_int_equal(f.nnz[2], 282656500);
    assert_int_equal(f.a_aux, 129753292);
    assert_int_equal(f.b_aux, 33112281);
    assert_int_equal(f.params_bytes, 47373928632);
    expect_path(r, 100000000, "challenge 13/label 9/sha256 block 9/sha256 compression/round 52");
    cuzk_r1cs_free(r);
}

/* A hasher that is fed by the flat stream, and one by the expanded compact form. */
static void flat_is_compact(void **state) {
    static const char *const names[] = {"wpost-2k", "winning-2k", "snap-poseidon-1k"};
    cuzk_poseidon_set set;
    (void)state;
    assert_int_equal(cuzk_poseidon_set_init(&set), CUZK_OK);
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        cuzk_r1cs *r = compact(names[i]);
        cuzk_r1cs_hasher *h[2];
        cuzk_row_sink sink[2];
        uint8_t d[2][32];
        cuzk_cs_flat f;
        for (int k = 0; k < 2; k++) {
            assert_int_equal(cuzk_r1cs_hasher_new(&h[k], r->fr, r->n_inputs, r->n_aux, r->n_rows),
                             CUZK_OK);
            sink[k] = cuzk_r1cs_hasher_sink(h[k]);
        }
        assert_int_equal(cuzk_cs_flat_init(&f, &sink[0]), CUZK_OK);
        f.cs.shared = &set;
        cuzk_circuit_build(&f.cs, cuzk_circuit_find(names[i]));
        assert_int_equal(f.cs.status, CUZK_OK);
        assert_int_equal(f.cs.n_rows, r->n_rows);
        assert_int_equal(f.cs.n_aux, r->n_aux);
        assert_int_equal(f.cs.n_inputs, r->n_inputs);
        cuzk_cs_flat_fini(&f);
        /* in two pieces, the second from the middle of an instance */
        const uint32_t cut = r->n_rows / 2 + 1;
        assert_int_equal(cuzk_r1cs_expand(r, 0, cut, &sink[1]), CUZK_OK);
        assert_int_equal(cuzk_r1cs_expand(r, cut, r->n_rows, &sink[1]), CUZK_OK);
        for (int k = 0; k < 2; k++)
            assert_int_equal(cuzk_r1cs_hasher_final(h[k], d[k]), CUZK_OK);
        assert_memory_equal(d[0], d[1], 32);
        cuzk_r1cs_free(r);
    }
    cuzk_poseidon_set_fini(&set);
}

static void paths(void **state) {
    (void)state;
    cuzk_r1cs *r = compact("porep-2k");
    expect_path(r, 0, "public values");
    expect_path(r, 1, "public values/bits");
    expect_path(r, r->n_rows - 1, "challenge 1/own column");
    cuzk_r1cs_free(r);
}

/* Row counts that the reference implementation's tests assert. */
static uint32_t rows_of(void (*build)(cuzk_cs *cs, const void *arg), const void *arg,
                        uint32_t *inputs) {
    cuzk_cs_flat f;
    cuzk_poseidon_set set;
    assert_int_equal(cuzk_poseidon_set_init(&set), CUZK_OK);
    assert_int_equal(cuzk_cs_flat_init(&f, NULL), CUZK_OK);
    f.cs.shared = &set;
    build(&f.cs, arg);
    assert_int_equal(f.cs.status, CUZK_OK);
    const uint32_t rows = f.cs.n_rows;
    *inputs = f.cs.n_inputs;
    cuzk_cs_flat_fini(&f);
    cuzk_poseidon_set_fini(&set);
    return rows;
}

static void build_post(cuzk_cs *cs, const void *arg) {
    cuzk_post_build(cs, arg);
}

/* With a public root. arity 0: SHA-256. */
static void build_por(cuzk_cs *cs, const void *arg) {
    const cuzk_tree_shape *t = arg;
    const cuzk_wire leaf = cuzk_cs_alloc(cs, CUZK_CLASS_FREE);
    const cuzk_wire root = cuzk_cs_alloc(cs, CUZK_CLASS_FREE);
    cuzk_gadget_inputize(cs, root);
    if (t->base_arity == 0)
        cuzk_gadget_por_sha(cs, t->base, leaf, root);
    else
        cuzk_gadget_por_poseidon(cs, t, leaf, root);
}

static void published_rows(void **state) {
    static const struct {
        cuzk_post_circuit c;
        uint32_t rows, inputs;
    } post[] = {{{{8, 2, 0, 0}, 3, 5}, 16869, 19},
                {{{8, 2, 4, 0}, 3, 5}, 22674, 19},
                {{{8, 2, 4, 2}, 3, 5}, 27384, 19},
                {{{8, 2, 0, 0}, 2, 5}, 11246, 13},
                {{{8, 9, 8, 0}, 5, 10}, 266665, 56}};
    static const struct {
        cuzk_tree_shape t;
        uint32_t rows;
    } por[] = {{{0, 6, 0, 0}, 272295}, {{2, 6, 0, 0}, 1887}, {{4, 3, 0, 0}, 1164},
               {{8, 2, 0, 0}, 1063},   {{8, 2, 2, 0}, 1377}, {{8, 2, 8, 0}, 1593},
               {{8, 2, 4, 2}, 1764},   {{8, 2, 8, 2}, 1907}, {{8, 2, 2, 4}, 1764}};
    uint32_t inputs;
    (void)state;
    for (size_t i = 0; i < sizeof post / sizeof post[0]; i++) {
        assert_int_equal(rows_of(build_post, &post[i].c, &inputs), post[i].rows);
        assert_int_equal(inputs, post[i].inputs);
    }
    for (size_t i = 0; i < sizeof por / sizeof por[0]; i++) {
        assert_int_equal(rows_of(build_por, &por[i].t, &inputs), por[i].rows);
        assert_int_equal(inputs, 3);
    }
}

/* Every name finds its circuit. */
static void names(void **state) {
    (void)state;
    size_t n = 0;
    for (; cuzk_circuit_at(n); n++)
        assert_ptr_equal(cuzk_circuit_find(cuzk_circuit_at(n)->name), cuzk_circuit_at(n));
    assert_int_equal(n, 46);
    assert_null(cuzk_circuit_find("porep-3k"));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(figures),         cmocka_unit_test(digests), cmocka_unit_test(porep_32g),
        cmocka_unit_test(flat_is_compact), cmocka_unit_test(paths),   cmocka_unit_test(names),
        cmocka_unit_test(published_rows),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
