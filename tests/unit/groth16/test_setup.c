/* Keys made from a seed: deterministic, well formed, and good for proofs of the shared circuits. */
#include "support.h"

#include "base/mem.h"
#include "format/r1cs.h"
#include "format/wtns.h"
#include "groth16/groth16.h"
#include "groth16/setup.h"

#include <unistd.h>

#define VECTORS CUZK_TEST_VECTORS "/circom"

static char dir[] = "/tmp/cuzk-test-setup-XXXXXX";

static int make_dir(void **state) {
    (void)state;
    return mkdtemp(dir) ? 0 : -1;
}

static int remove_dir(void **state) {
    (void)state;
    return rmdir(dir);
}

static cuzk_status try_key(const char *curve, const char *name, const char *seed, const char *out,
                           cuzk_err *why) {
    char path[512];
    cuzk_err err = {0};
    cuzk_circom_r1cs *r1cs;
    cuzk_toxic toxic;
    cuzk_pool *pool;
    snprintf(path, sizeof path, "%s/%s/%s/%s.r1cs", VECTORS, curve, name, name);
    if (cuzk_circom_r1cs_open(&r1cs, path, &err)) fail_msg("%s", err.msg);
    assert_int_equal(cuzk_pool_new(&pool, 2), CUZK_OK);
    assert_int_equal(cuzk_toxic_from_seed(&toxic, r1cs->curve, seed, strlen(seed), &err), CUZK_OK);
    const cuzk_status st =
        cuzk_groth16_setup_zkey(r1cs, &toxic, out, &(cuzk_setup_opts){.pool = pool}, why);
    cuzk_pool_free(pool);
    cuzk_circom_r1cs_free(r1cs);
    return st;
}

static void make_key(const char *curve, const char *name, const char *seed, const char *out) {
    cuzk_err err = {0};
    if (try_key(curve, name, seed, out, &err) != CUZK_OK) fail_msg("%s", err.msg);
}

static void keys_prove_and_repeat(void **state) {
    (void)state;
    static const char *const names[][2] = {
        {"bn128", "mul3"},    {"bn128", "nopub"},    {"bn128", "poseidon2"},
        {"bls12381", "mul3"}, {"bls12381", "nopub"}, {"bls12381", "poseidon2"},
    };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        char path[3][64], file[512];
        for (int k = 0; k < 3; k++) {
            snprintf(path[k], sizeof path[k], "%s/%d.zkey", dir, k);
            make_key(names[i][0], names[i][1], k < 2 ? "seed" : "other", path[k]);
        }
        cuzk_err err = {0};
        cuzk_map m[3];
        for (int k = 0; k < 3; k++)
            assert_int_equal(cuzk_map_file(&m[k], path[k], &err), CUZK_OK);
        assert_int_equal(m[0].len, m[1].len);
        assert_memory_equal(m[0].data, m[1].data, m[0].len);
        assert_int_equal(m[0].len, m[2].len);
        assert_true(memcmp(m[0].data, m[2].data, m[0].len) != 0);
        for (int k = 0; k < 3; k++)
            cuzk_map_close(&m[k]);
        cuzk_zkey *key;
        cuzk_wtns *w;
        cuzk_proof proof;
        if (cuzk_zkey_open(&key, path[0], CUZK_ZKEY_CHECK_FULL, NULL, &err))
            fail_msg("%s", err.msg);
        snprintf(file, sizeof file, "%s/%s/%s/witness.wtns", VECTORS, names[i][0], names[i][1]);
        assert_int_equal(cuzk_wtns_open(&w, file, &err), CUZK_OK);
        if (cuzk_groth16_prove(key, w->values, NULL, &proof, NULL, &err)) fail_msg("%s", err.msg);
        cuzk_wtns_free(w);
        cuzk_zkey_free(key);
        for (int k = 0; k < 3; k++)
            unlink(path[k]);
    }
}

static void expect_kept(const char *path, const void *data, size_t n) {
    cuzk_map m;
    cuzk_err err = {0};
    assert_int_equal(cuzk_write_file(path, data, n, &err), CUZK_OK);
    assert_int_equal(try_key("bn128", "mul3", "seed", path, &err), CUZK_STATUS_USAGE);
    assert_non_null(strstr(err.msg, "no development key: not overwritten"));
    assert_int_equal(cuzk_map_file(&m, path, &err), CUZK_OK);
    assert_int_equal(m.len, n);
    assert_memory_equal(m.data, data, n);
    cuzk_map_close(&m);
}

/* Only keys of this kind are replaced. */
static void other_files_stay(void **state) {
    (void)state;
    char path[64];
    cuzk_map ceremony, ours;
    cuzk_err err = {0};
    snprintf(path, sizeof path, "%s/key.zkey", dir);
    assert_int_equal(cuzk_map_file(&ceremony, VECTORS "/bn128/mul3/circuit_final.zkey", &err),
                     CUZK_OK);
    expect_kept(path, ceremony.data, ceremony.len);
    expect_kept(path, ceremony.data, ceremony.len / 2);
    expect_kept(path, "{}\n", 3);
    assert_int_equal(cuzk_write_file(path, "", 0, &err), CUZK_OK);
    make_key("bn128", "mul3", "seed", path);
    make_key("bls12381", "nopub", "seed", path);
    assert_int_equal(cuzk_map_file(&ours, path, &err), CUZK_OK);
    expect_kept(path, ours.data, ours.len - 1);
    cuzk_map_close(&ours);
    cuzk_map_close(&ceremony);
    unlink(path);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(keys_prove_and_repeat),
        cmocka_unit_test(other_files_stay),
    };
    return cmocka_run_group_tests(tests, make_dir, remove_dir);
}
