/* Keys and proofs of the reference implementation, byte for byte. */
#include "support.h"

#include "bellperson.h"

#define KEYS CUZK_TEST_VECTORS "/porep/keys/"

static void expect_proof(void (*make)(sector *s), const char *name, unsigned threads,
                         cuzk_cpu_impl impl) {
    sector s;
    cuzk_params *file;
    cuzk_params_key *key;
    cuzk_pool *pool;
    cuzk_err err = {0};
    char path[512];
    snprintf(path, sizeof path, KEYS "%s.params", name);
    assert_int_equal(cuzk_pool_new(&pool, threads), CUZK_OK);
    make(&s);
    if (cuzk_params_open(&file, path, &s.counts, name, pool, &err)) fail_msg("%s", err.msg);
    if (cuzk_params_check_points(file, pool, NULL, &err)) fail_msg("%s", err.msg);
    if (cuzk_params_key_new(&key, file, s.r, &s.density, pool, NULL, &err)) fail_msg("%s", err.msg);
    cuzk_params_free(file);
    expect_vector(&s, key, name, pool, impl);
    cuzk_params_key_free(key);
    sector_free(&s);
    cuzk_pool_free(pool);
}

static void reference_proofs(void **state) {
    (void)state;
    expect_proof(cubic_sector, "cubic", 1, CUZK_CPU_AUTO);
    expect_proof(cubic_sector, "cubic", 2, CUZK_CPU_PORTABLE);
    expect_proof(poseidon_sector, "poseidon-preimage", 2, CUZK_CPU_AUTO);
    expect_proof(poseidon_sector, "poseidon-preimage", 3, CUZK_CPU_PORTABLE);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(reference_proofs)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
