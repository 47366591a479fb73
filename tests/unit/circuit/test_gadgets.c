/* Gadgets by themselves against the reference implementation: rows and digests. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "circuit/flat.h"
#include "circuit/gadgets.h"
#include "hex.h"
#include "r1cs/figures.h"

static cuzk_poseidon_set set;

typedef void (*build_fn)(cuzk_cs *cs, uint32_t arg);

/* Streams a circuit twice: for the totals, then for the digest. */
static void flat_digest(build_fn build, uint32_t arg, uint32_t *rows, char hex[65]) {
    cuzk_cs_flat f;
    cuzk_r1cs_hasher *h;
    uint8_t digest[32];
    assert_int_equal(cuzk_cs_flat_init(&f, NULL), CUZK_OK);
    f.cs.shared = &set;
    build(&f.cs, arg);
    assert_int_equal(f.cs.status, CUZK_OK);
    *rows = f.cs.n_rows;
    assert_int_equal(
        cuzk_r1cs_hasher_new(&h, &cuzk_bls12_381_fr_ops, f.cs.n_inputs, f.cs.n_aux, f.cs.n_rows),
        CUZK_OK);
    cuzk_cs_flat_fini(&f);
    const cuzk_row_sink sink = cuzk_r1cs_hasher_sink(h);
    assert_int_equal(cuzk_cs_flat_init(&f, &sink), CUZK_OK);
    f.cs.shared = &set;
    build(&f.cs, arg);
    assert_int_equal(f.cs.status, CUZK_OK);
    cuzk_cs_flat_fini(&f);
    assert_int_equal(cuzk_r1cs_hasher_final(h, digest), CUZK_OK);
    hex32(digest, hex);
}

static void build_poseidon(cuzk_cs *cs, uint32_t arity) {
    cuzk_wire in[11];
    for (uint32_t i = 0; i < arity; i++)
        in[i] = cuzk_cs_alloc(cs, CUZK_CLASS_FREE);
    cuzk_gadget_poseidon(cs, arity, cuzk_poseidon_tree_tag(arity), in);
}

static void build_sha(cuzk_cs *cs, uint32_t n) {
    cuzk_bit in[512], out[256];
    for (uint32_t i = 0; i < n; i++)
        in[i] = cuzk_gadget_alloc_bit(cs, CUZK_CLASS_FREE);
    cuzk_gadget_sha256(cs, in, n, out);
}

static void build_insert(cuzk_cs *cs, uint32_t arity) {
    cuzk_wire w[8], out[8];
    cuzk_bit bits[3];
    for (uint32_t i = 0; i < arity; i++)
        w[i] = cuzk_cs_alloc(cs, CUZK_CLASS_FREE);
    for (uint32_t i = 0; 1u << i < arity; i++)
        bits[i] = cuzk_gadget_alloc_bit(cs, CUZK_CLASS_FREE);
    cuzk_gadget_insert(cs, arity, w[0], w + 1, bits, out);
}

static void poseidon(void **state) {
    static const struct {
        uint32_t arity, rows;
        const char *digest;
    } want[] = {{2, 311, "658f013f99360e164ad8e7f96290944601cc064f93c153d9ea7ac1275927175f"},
                {4, 377, "2360602a7c4555d454b46891236273f4ae308090bc916fdcef1fb81d00ebbe70"},
                {8, 505, "ab50aeda63344f7125999ef5c4af7777380b9015ec82ad48bac2213e9353b163"},
                {11, 598, "e94a28106cbb9a718e525f0f2593ce3b138350047854ebcc3c83472ed482a6f6"}};
    (void)state;
    for (int i = 0; i < 4; i++) {
        uint32_t rows;
        char hex[65];
        flat_digest(build_poseidon, want[i].arity, &rows, hex);
        assert_int_equal(rows, want[i].rows);
        assert_string_equal(hex, want[i].digest);
    }
}

static void sha256(void **state) {
    uint32_t rows;
    char hex[65];
    (void)state;
    flat_digest(build_sha, 512, &rows, hex);
    assert_int_equal(rows, 512 + 44874);
    assert_string_equal(hex, "39b920088193af138e8d3494179b1d9a20442bb23e28e65028b068c6a9e48771");
}

static void insert(void **state) {
    static const uint32_t arity[3] = {2, 4, 8}, want[3] = {2, 8, 22};
    (void)state;
    for (uint32_t i = 0; i < 3; i++) {
        uint32_t rows;
        char hex[65];
        flat_digest(build_insert, arity[i], &rows, hex);
        assert_int_equal(rows, want[i] + i + 1);
    }
}

static int setup(void **state) {
    (void)state;
    return cuzk_poseidon_set_init(&set) != CUZK_OK;
}

static int teardown(void **state) {
    (void)state;
    cuzk_poseidon_set_fini(&set);
    return 0;
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(poseidon), cmocka_unit_test(sha256),
                                       cmocka_unit_test(insert)};
    return cmocka_run_group_tests(tests, setup, teardown);
}
