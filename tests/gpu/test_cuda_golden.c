/* Proofs made on the device equal the golden ones (tests/vectors/circom, made with snarkjs and
 * fixed blinding) for every key there, with tables, without, and with the key streamed in
 * many chunks. */
#include "support.h"

#include "backend/cuda/open.h"
#include "base/buf.h"
#include "format/decimal.h"
#include "format/json_docs.h"
#include "format/wtns.h"
#include "format/zkey.h"
#include "groth16/groth16.h"

#include <jansson.h>

enum { DEVICES = 3, CHUNK = 100 };
static cuzk_backend *cuda[DEVICES];

static void read_scalar(json_t *golden, const char *name, cuzk_u256 *out) {
    const char *text = json_string_value(json_object_get(golden, name));
    assert_non_null(text);
    assert_int_equal(cuzk_decimal_to_limbs(out->l, 4, text, strlen(text)), CUZK_DECIMAL_OK);
}

static void prove_one(json_t *golden, cuzk_backend *backend) {
    const char *curve = json_string_value(json_object_get(golden, "curve"));
    const char *circuit = json_string_value(json_object_get(golden, "circuit"));
    char path[2][512];
    const char *const files[2] = {"circuit_final.zkey", "witness.wtns"};
    for (int i = 0; i < 2; i++)
        snprintf(path[i], sizeof path[i], "%s/circom/%s/%s/%s", CUZK_TEST_VECTORS, curve, circuit,
                 files[i]);
    cuzk_err err = {0};
    cuzk_zkey *key = NULL;
    cuzk_wtns *wtns = NULL;
    cuzk_u256 r, s;
    cuzk_proof proof;
    cuzk_prove_stats stats;
    read_scalar(golden, "r", &r);
    read_scalar(golden, "s", &s);
    cuzk_status st = cuzk_zkey_open(&key, path[0], CUZK_ZKEY_CHECK_SHAPE, NULL, &err);
    if (st == CUZK_OK) st = cuzk_wtns_open(&wtns, path[1], &err);
    const cuzk_prove_opts opts = {.r = &r, .s = &s, .backend = backend};
    if (st == CUZK_OK) st = cuzk_groth16_prove(key, wtns->values, &opts, &proof, &stats, &err);
    if (st != CUZK_OK) fail_msg("%s %s: %s", curve, circuit, err.msg);
    if (backend == cuda[2]) /* and the bases */
        assert_true(stats.sums.bytes_in > (uint64_t)(32 + 96) * key->n_vars);
    else
        assert_int_equal(stats.sums.bytes_in, (uint64_t)32 * key->n_vars);
    assert_true(stats.sums.bytes_out > 0);

    cuzk_buf text = CUZK_BUF_INIT;
    cuzk_proof_to_json(&proof, CUZK_JSON_SNARKJS, &text);
    assert_int_equal(cuzk_buf_status(&text), CUZK_OK);
    json_t *got = json_loadb(text.data, text.len, 0, NULL);
    if (!json_equal(got, json_object_get(golden, "proof")))
        fail_msg("%s %s: another proof than the golden one: %s", curve, circuit, text.data);
    json_decref(got);
    cuzk_buf_free(&text);
    cuzk_wtns_free(wtns);
    cuzk_zkey_free(key);
}

static void golden_proofs(void **state) {
    (void)state;
    json_t *all = json_load_file(CUZK_TEST_VECTORS "/circom/golden_fixed_rs.json", 0, NULL);
    assert_true(json_array_size(all) >= 8);
    for (size_t i = 0; i < json_array_size(all); i++)
        for (int t = 0; t < DEVICES; t++)
            prove_one(json_array_get(all, i), cuda[t]);
    json_decref(all);
}

/* A witness that does not satisfy the circuit is told from a fault of the device. */
static void wrong_witness(void **state) {
    (void)state;
    cuzk_err err = {0};
    cuzk_zkey *key;
    cuzk_wtns *wtns;
    cuzk_proof proof;
    assert_int_equal(cuzk_zkey_open(&key,
                                    CUZK_TEST_VECTORS "/circom/bn128/poseidon2/circuit_final.zkey",
                                    CUZK_ZKEY_CHECK_SHAPE, NULL, &err),
                     CUZK_OK);
    assert_int_equal(
        cuzk_wtns_open(&wtns, CUZK_TEST_VECTORS "/circom/bn128/poseidon2/witness.wtns", &err),
        CUZK_OK);
    uint8_t *values = malloc((size_t)wtns->n * 32);
    assert_non_null(values);
    memcpy(values, wtns->values, (size_t)wtns->n * 32);
    values[32 * (wtns->n / 2)] ^= 1;
    const cuzk_prove_opts opts = {.backend = cuda[0]};
    assert_int_equal(cuzk_groth16_prove(key, values, &opts, &proof, NULL, &err), CUZK_STATUS_FALSE);
    free(values);
    cuzk_wtns_free(wtns);
    cuzk_zkey_free(key);
}

int main(void) {
    if (cuzk_cuda_device_count() == 0) {
        fputs("test_cuda_golden: no CUDA device: skipped\n", stderr);
        return 77;
    }
    cuzk_err err = {0};
    for (int t = 0; t < DEVICES; t++) {
        const cuzk_cuda_options options = {
            .ordinal = 0, .threads = 2, .tables = t == 1, .chunk = t == 2 ? CHUNK : 0};
        if (cuzk_cuda_backend_open(&cuda[t], &options, &err) == CUZK_OK) continue;
        fprintf(stderr, "test_cuda_golden: %s\n", err.msg);
        return 1;
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(golden_proofs),
        cmocka_unit_test(wrong_witness),
    };
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    for (int t = 0; t < DEVICES; t++)
        cuda[t]->ops->close(cuda[t]);
    return failed;
}
