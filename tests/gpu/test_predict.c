/* What `cuzk plan` says of a proof's time, against what was measured on an H200 (bench/results).
 * Needs no device. */
#include "support.h"

#include "backend/cuda/open.h"
#include "circuit/circuits.h"
#include "groth16/params_key.h"

#include <jansson.h>

static const size_t ALL = (size_t)139 << 30;
static const double LINK = 54e9;

/* Milliseconds: the median of the first warm row of a file. */
static double measured(const char *file, unsigned log2n) {
    char path[512];
    json_error_t why;
    snprintf(path, sizeof path, "%s/%s.json", CUZK_BENCH_RESULTS, file);
    json_t *doc = json_load_file(path, 0, &why);
    if (!doc) fail_msg("%s: %s", path, why.text);
    double ms = 0;
    size_t i;
    json_t *row;
    json_array_foreach(json_object_get(doc, "results"), i, row) {
        const char *variant = json_string_value(json_object_get(row, "variant"));
        const size_t n = variant ? strlen(variant) : 0;
        if (n < 4 || strcmp(variant + n - 4, "warm") != 0) continue;
        assert_int_equal(json_integer_value(json_object_get(row, "log2n")), log2n);
        ms = json_number_value(json_object_get(json_object_get(row, "ms"), "median"));
        break;
    }
    json_decref(doc);
    if (ms <= 0) fail_msg("%s: no proof's time", path);
    return ms;
}

static void near_to(const char *file, const cuzk_proving_key *key) {
    const cuzk_cuda_options like = {.vram = ALL, .tables = true};
    cuzk_cuda_forecast f;
    cuzk_err err = {0};
    if (cuzk_cuda_forecast_key(&f, key, &like, LINK, &err) != CUZK_OK) fail_msg("%s", err.msg);
    const double ms = measured(file, key->log2_domain), ratio = f.ms / ms;
    print_message("%s: %.1f ms predicted, %.1f measured: %+.1f %%\n", file, f.ms, ms,
                  100 * (ratio - 1));
    assert_false(f.streamed);
    assert_true(f.ms_slow >= f.ms);
    if (ratio < 0.85 || ratio > 1.15) fail_msg("%s: %.1f ms, measured %.1f", file, f.ms, ms);
}

static void filecoin(void **state) {
    (void)state;
    static const struct {
        const char *circuit, *file;
        bool folded;
    } rows[] = {
        {"winning-32g", "h200_partition_winning-32g", false},
        {"porep-2k", "h200_partition_porep-2k", false},
        {"porep-512m", "h200_partition_porep-512m", false},
        {"snap-32g", "h200_partition_snap-32g", false},
        {"porep-32g", "h200_partition_porep-32g", false},
        {"porep-32g", "h200_partition_porep-32g_folded", true},
        {"porep-64g", "h200_partition_porep-64g", false},
        {"wpost-32g", "h200_partition_wpost-32g", false},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const cuzk_circuit *c = cuzk_circuit_find(rows[i].circuit);
        cuzk_r1cs *r1cs;
        cuzk_r1cs_density density;
        cuzk_proving_key key;
        cuzk_err err = {0};
        assert_non_null(c);
        if (cuzk_circuit_compact(&r1cs, c, &err) != CUZK_OK) fail_msg("%s", err.msg);
        assert_int_equal(cuzk_r1cs_density_of(&density, r1cs), CUZK_OK);
        if (cuzk_params_key_shape(&key, r1cs, &density, &err) != CUZK_OK) fail_msg("%s", err.msg);
        key.name = c->name;
        if (rows[i].folded) key.h_form = CUZK_H_FOLDED;
        near_to(rows[i].file, &key);
        cuzk_r1cs_density_free(&density);
        cuzk_r1cs_free(r1cs);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(filecoin)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
