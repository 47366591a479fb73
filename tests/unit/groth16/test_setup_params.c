/* The .params that setup writes are those of the reference implementation, byte for byte, for the
 * secrets of the vectors (tests/vectors/porep/README.md) and the two tiny circuits. The real
 * circuits are compared in tests/unit/keys and on the command line. */
#include "support.h"

#include "bellperson.h"

#include "base/file.h"
#include "base/hash.h"
#include "groth16/setup.h"

#include <unistd.h>

/* The first 31 bytes of SHA-256("cuzk test NAME"), little-endian. */
static void secret(const cuzk_curve *c, const char *name, cuzk_u256 *out) {
    char text[32];
    uint8_t hash[32];
    const int n = snprintf(text, sizeof text, "cuzk test %s", name);
    cuzk_hash *h;
    assert_int_equal(cuzk_hash_new(&h, CUZK_HASH_SHA256), CUZK_OK);
    cuzk_hash_update(h, text, (size_t)n);
    assert_int_equal(cuzk_hash_final(h, hash), CUZK_OK);
    hash[31] = 0;
    memcpy(out, hash, sizeof *out);
    c->fr->to_mont(out, out);
}

static void expect_key(void (*make)(sector *s), const char *vector, unsigned threads) {
    const cuzk_curve *c = cuzk_curve_get(CUZK_BLS12_381);
    char path[] = "/tmp/cuzk_params_XXXXXX", want_path[256];
    sector s;
    cuzk_toxic toxic;
    cuzk_pool *pool;
    cuzk_out out;
    cuzk_params_vk vk;
    cuzk_map got, want;
    uint8_t hash[64];
    cuzk_err err = {0};
    secret(c, "alpha", &toxic.alpha);
    secret(c, "beta", &toxic.beta);
    secret(c, "gamma", &toxic.gamma);
    secret(c, "delta", &toxic.delta);
    secret(c, "tau", &toxic.tau);
    const int fd = mkstemp(path);
    assert_true(fd >= 0);
    close(fd);
    assert_int_equal(cuzk_pool_new(&pool, threads), CUZK_OK);
    make(&s);
    cuzk_status st = cuzk_out_open(&out, path, &err);
    if (st == CUZK_OK)
        st = cuzk_groth16_setup_params(s.r, &s.density, &toxic, vector, &out, &vk, hash,
                                       &(cuzk_setup_opts){.pool = pool}, &err);
    if (st == CUZK_OK) st = cuzk_out_commit(&out, &err);
    if (st != CUZK_OK) fail_msg("%s", err.msg);
    snprintf(want_path, sizeof want_path, "%s/porep/keys/%s.params", CUZK_TEST_VECTORS, vector);
    if (cuzk_map_file(&want, want_path, &err) || cuzk_map_file(&got, path, &err))
        fail_msg("%s", err.msg);
    assert_int_equal(got.len, want.len);
    assert_memory_equal(got.data, want.data, want.len);
    cuzk_map_close(&got);
    cuzk_map_close(&want);
    cuzk_params_vk_free(&vk);
    sector_free(&s);
    cuzk_pool_free(pool);
    unlink(path);
}

static void reference_keys(void **state) {
    (void)state;
    expect_key(cubic_sector, "cubic", 1);
    expect_key(poseidon_sector, "poseidon-preimage", 1);
    expect_key(poseidon_sector, "poseidon-preimage", 3);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(reference_keys)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
