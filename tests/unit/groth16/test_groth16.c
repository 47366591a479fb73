/* Golden proofs: for fixed r and s the proof is unique, and snarkjs has checked these
 * (tests/vectors/circom/golden_fixed_rs.json). Every thread count and arithmetic must give them. */
#include "support.h"

#include "base/buf.h"
#include "base/mem.h"
#include "format/json_docs.h"
#include "format/wtns.h"
#include "groth16/groth16.h"

#include <jansson.h>

#define VECTORS CUZK_TEST_VECTORS "/circom"

static void decimal(cuzk_u256 *out, const char *text) {
    memset(out, 0, sizeof *out);
    for (; *text; text++) {
        unsigned __int128 carry = (unsigned)(*text - '0');
        for (int k = 0; k < 4; k++) {
            carry += (unsigned __int128)out->l[k] * 10;
            out->l[k] = (uint64_t)carry;
            carry >>= 64;
        }
    }
}

static const char *text_of(json_t *doc, const char *key) {
    return json_string_value(json_object_get(doc, key));
}

typedef struct {
    cuzk_zkey *key;
    cuzk_wtns *wtns;
} circuit;

static void open_circuit(circuit *c, const char *curve, const char *name) {
    char path[512];
    cuzk_err err = {0};
    snprintf(path, sizeof path, "%s/%s/%s/circuit_final.zkey", VECTORS, curve, name);
    if (cuzk_zkey_open(&c->key, path, CUZK_ZKEY_CHECK_FULL, NULL, &err)) fail_msg("%s", err.msg);
    snprintf(path, sizeof path, "%s/%s/%s/witness.wtns", VECTORS, curve, name);
    if (cuzk_wtns_open(&c->wtns, path, &err)) fail_msg("%s", err.msg);
}

static void close_circuit(circuit *c) {
    cuzk_wtns_free(c->wtns);
    cuzk_zkey_free(c->key);
}

static void expect_points(json_t *want, const cuzk_proof *got) {
    cuzk_buf b = CUZK_BUF_INIT;
    json_error_t je;
    cuzk_proof_to_json(got, CUZK_JSON_COMPACT, &b);
    assert_int_equal(cuzk_buf_status(&b), CUZK_OK);
    json_t *mine = json_loadb(b.data, b.len, 0, &je);
    assert_non_null(mine);
    static const char *const parts[] = {"pi_a", "pi_b", "pi_c"};
    for (int i = 0; i < 3; i++)
        assert_true(json_equal(json_object_get(mine, parts[i]), json_object_get(want, parts[i])));
    json_decref(mine);
    cuzk_buf_free(&b);
}

static void prove_one(const circuit *c, json_t *entry, unsigned threads, cuzk_cpu_impl impl) {
    cuzk_u256 r, s;
    decimal(&r, text_of(entry, "r"));
    decimal(&s, text_of(entry, "s"));
    cuzk_pool *pool;
    assert_int_equal(cuzk_pool_new(&pool, threads), CUZK_OK);
    cuzk_prove_opts opts = {.r = &r, .s = &s, .impl = impl, .pool = pool};
    cuzk_proof proof;
    cuzk_err err = {0};
    cuzk_status st = cuzk_groth16_prove(c->key, c->wtns->values, &opts, &proof, NULL, &err);
    if (st != CUZK_OK) fail_msg("%s: %s", c->key->name, err.msg);
    expect_points(json_object_get(entry, "proof"), &proof);
    cuzk_pool_free(pool);
}

static void golden_proofs_are_reproduced(void **state) {
    (void)state;
    json_error_t je;
    json_t *all = json_load_file(VECTORS "/golden_fixed_rs.json", 0, &je);
    assert_non_null(all);
    assert_int_equal(json_array_size(all), 16);
    size_t i, seen = 0;
    json_t *e;
    json_array_foreach(all, i, e) {
        circuit c;
        open_circuit(&c, text_of(e, "curve"), text_of(e, "circuit"));
        bool small = c.key->log2_domain <= 8;
        prove_one(&c, e, 1, CUZK_CPU_AUTO);
        prove_one(&c, e, 2, CUZK_CPU_AUTO);
        prove_one(&c, e, 7, CUZK_CPU_AUTO);
        if (small) prove_one(&c, e, 2, CUZK_CPU_PORTABLE);
        close_circuit(&c);
        seen++;
    }
    assert_int_equal(seen, 16);
    json_decref(all);
}

static const struct {
    const char *curve, *name;
} circuits[] = {
    {"bn128", "mul3"},    {"bn128", "nopub"},    {"bn128", "poseidon2"},
    {"bls12381", "mul3"}, {"bls12381", "nopub"}, {"bls12381", "poseidon2"},
};

static void random_proofs_verify_and_differ(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof circuits / sizeof *circuits; i++) {
        circuit c;
        open_circuit(&c, circuits[i].curve, circuits[i].name);
        cuzk_proof p[2];
        cuzk_err err = {0};
        cuzk_vk vk;
        assert_int_equal(cuzk_zkey_vk(c.key, &vk, &err), CUZK_OK);
        void *pub;
        assert_int_equal(cuzk_alloc(&pub, c.key->n_public, 32), CUZK_OK);
        memcpy(pub, c.wtns->values + 32, c.key->n_public * 32u);
        for (int k = 0; k < 2; k++) {
            assert_int_equal(cuzk_groth16_prove(c.key, c.wtns->values, NULL, &p[k], NULL, &err), 0);
            assert_int_equal(cuzk_groth16_verify(&vk, pub, c.key->n_public, &p[k], &err), CUZK_OK);
        }
        assert_true(memcmp(&p[0].a, &p[1].a, sizeof p[0].a) != 0);
        /* A part of one proof in the other, and a changed signal, are rejected. */
        cuzk_proof mixed = p[0];
        mixed.c = p[1].c;
        assert_int_equal(cuzk_groth16_verify(&vk, pub, c.key->n_public, &mixed, &err),
                         CUZK_STATUS_FALSE);
        for (uint32_t k = 0; k < c.key->n_public; k++) {
            ((cuzk_u256 *)pub)[k].l[0] ^= 1;
            assert_int_equal(cuzk_groth16_verify(&vk, pub, c.key->n_public, &p[0], &err),
                             CUZK_STATUS_FALSE);
            ((cuzk_u256 *)pub)[k].l[0] ^= 1;
        }
        assert_int_equal(cuzk_groth16_verify(&vk, pub, c.key->n_public + 1u, &p[0], &err),
                         CUZK_STATUS_FALSE);
        cuzk_free(pub);
        cuzk_vk_free(&vk);
        close_circuit(&c);
    }
}

static void public_signals_must_be_canonical(void **state) {
    (void)state;
    circuit c;
    open_circuit(&c, "bn128", "mul3");
    cuzk_proof proof;
    cuzk_vk vk;
    cuzk_err err = {0};
    assert_int_equal(cuzk_groth16_prove(c.key, c.wtns->values, NULL, &proof, NULL, &err), CUZK_OK);
    assert_int_equal(cuzk_zkey_vk(c.key, &vk, &err), CUZK_OK);
    cuzk_u256 pub;
    memcpy(&pub, c.wtns->values + 32, 32);
    assert_int_equal(cuzk_groth16_verify(&vk, &pub, 1, &proof, &err), CUZK_OK);
    uint64_t carry = 0;
    for (int i = 0; i < 4; i++)
        carry = cuzk_addc(&pub.l[i], pub.l[i], vk.curve->fr->modulus.l[i], carry);
    assert_int_equal(cuzk_groth16_verify(&vk, &pub, 1, &proof, &err), CUZK_STATUS_FALSE);
    assert_non_null(strstr(err.msg, "not below r"));
    cuzk_vk_free(&vk);
    close_circuit(&c);
}

static void an_unsatisfied_witness_is_told_from_a_fault(void **state) {
    (void)state;
    circuit c;
    open_circuit(&c, "bn128", "poseidon2");
    size_t bytes = c.wtns->n * 32u;
    void *w;
    assert_int_equal(cuzk_alloc(&w, bytes, 1), CUZK_OK);
    cuzk_proof proof;
    for (int round = 0; round < 8; round++) {
        memcpy(w, c.wtns->values, bytes);
        size_t wire = 1 + test_rng() % (c.wtns->n - 1);
        ((uint8_t *)w)[32 * wire] ^= 1;
        cuzk_err err = {0};
        assert_int_equal(cuzk_groth16_prove(c.key, w, NULL, &proof, NULL, &err), CUZK_STATUS_FALSE);
        assert_non_null(strstr(err.msg, "witness"));
        static const cuzk_proof none;
        assert_memory_equal(&proof.a, &none.a, sizeof none.a);
    }
    cuzk_free(w);
    close_circuit(&c);
}

static void blinding_must_be_canonical(void **state) {
    (void)state;
    circuit c;
    open_circuit(&c, "bn128", "mul3");
    cuzk_u256 r = c.key->curve->fr->modulus, s = {{1, 0, 0, 0}};
    cuzk_prove_opts opts = {.r = &r, .s = &s};
    cuzk_proof proof;
    cuzk_err err = {0};
    assert_int_equal(cuzk_groth16_prove(c.key, c.wtns->values, &opts, &proof, NULL, &err),
                     CUZK_STATUS_USAGE);
    close_circuit(&c);
}

int main(void) {
    test_rng_start();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(golden_proofs_are_reproduced),
        cmocka_unit_test(random_proofs_verify_and_differ),
        cmocka_unit_test(public_signals_must_be_canonical),
        cmocka_unit_test(an_unsatisfied_witness_is_told_from_a_fault),
        cmocka_unit_test(blinding_must_be_canonical),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
