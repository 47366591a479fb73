/* Limits on device memory: what is planned is what is taken, the driver counts no more than the
 * limit and what it holds for itself, and with too little the error names what would do. */
#include "support.h"

#include "device_key.h"

#include "backend/cpu/cpu.h"
#include "backend/cuda/open.h"

#include <cuda_runtime_api.h>

static const size_t MARGIN = (size_t)512 << 20; /* of the driver: context, code, streams */

static const test_key_shape shapes[] = {
    {CUZK_BN254, 10, 900, 0, CUZK_H_COSET_VALUES, false},
    {CUZK_BLS12_381, 9, 500, 999, CUZK_H_COEFFICIENTS, true},
    {CUZK_BLS12_381, 17, 20000, 100000, CUZK_H_COEFFICIENTS, false},
};

static size_t bytes_free(void) {
    size_t free = 0, total;
    assert_int_equal(cudaMemGetInfo(&free, &total), cudaSuccess);
    return free;
}

static cuzk_backend *open_limited(size_t vram) {
    const cuzk_cuda_options options = {.ordinal = 0, .threads = 4, .tables = false, .vram = vram};
    cuzk_backend *b;
    cuzk_err err = {0};
    if (cuzk_cuda_backend_open(&b, &options, &err) != CUZK_OK) fail_msg("%s", err.msg);
    return b;
}

static size_t number_after(const char *text, const char *word) {
    const char *at = strstr(text, word);
    if (!at) fail_msg("`%s` is not in: %s", word, text);
    return strtoull(at + strlen(word), NULL, 10);
}

/* The least that would do, as the error says. */
static size_t least_of(const cuzk_proving_key *key) {
    cuzk_cuda_forecast f;
    cuzk_err err = {0};
    assert_int_equal(cuzk_cuda_forecast_key(&f, key, 1 << 20, false, &err), CUZK_STATUS_NO_MEMORY);
    const size_t least = number_after(err.msg, "at least ");
    assert_int_equal(cuzk_cuda_forecast_key(&f, key, least, false, &err), CUZK_OK);
    assert_true(f.device <= least);
    assert_int_equal(cuzk_cuda_forecast_key(&f, key, least - (64 << 10), false, &err),
                     CUZK_STATUS_NO_MEMORY);
    return least;
}

/* A proof's sums with at most `vram` bytes equal the CPU's. */
static void prove_within(const test_key *k, const test_wires *w, const cuzk_groth16_sums *want,
                         size_t vram, bool logs) {
    const size_t before = bytes_free();
    test_device d = {.backend = open_limited(vram)};
    cuzk_cuda_forecast f;
    cuzk_cuda_key_bytes b;
    cuzk_groth16_sums got;
    cuzk_sums_stats stats;
    cuzk_err err = {0};
    test_device_load(&d, logs ? &k->log_key : &k->key);
    cuzk_cuda_backend_key_bytes(d.key, &b);
    if (cuzk_cuda_forecast_key(&f, &k->key, vram, false, &err) != CUZK_OK) fail_msg("%s", err.msg);
    /* infinities are left out, and little may stay in their place */
    assert_in_range(b.work, f.bytes.work / 10 * 9, f.bytes.work);
    assert_in_range(b.transforms, f.bytes.transforms, f.bytes.transforms);
    assert_in_range(b.points + b.streamed, (f.bytes.points + f.bytes.streamed) / 10 * 9,
                    f.bytes.points + f.bytes.streamed);
    for (int i = 0; i < 2; i++) {
        test_device_run(&d, &w->wires, &got, &stats);
        assert_memory_equal(&got, want, sizeof got);
        assert_true(stats.bytes_in >= b.streamed + k->key.n_full * 32);
        const size_t taken = before - bytes_free();
        if (taken > vram + MARGIN) fail_msg("%zu bytes taken of %zu", taken, vram);
    }
    test_device_unload(&d);
    d.backend->ops->close(d.backend);
}

static void limits(void **state) {
    (void)state;
    cuzk_pool *pool;
    cuzk_err err = {0};
    assert_int_equal(cuzk_pool_new(&pool, 0), CUZK_OK);
    test_device cpu = {0};
    assert_int_equal(cuzk_cpu_backend_open(&cpu.backend, CUZK_CPU_AUTO, pool, &err), CUZK_OK);
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
        test_key k;
        test_wires w;
        cuzk_groth16_sums want;
        test_key_make(&k, &shapes[i]);
        test_wires_make(&w, &k.key, TEST_WITNESS, true);
        test_device_load(&cpu, &k.key);
        test_device_run(&cpu, &w.wires, &want, NULL);
        test_device_unload(&cpu);
        const size_t least = least_of(&k.key);
        const size_t more[] = {0, 1 << 20, 8 << 20, 64 << 20, (size_t)1 << 30};
        for (size_t j = 0; j < sizeof more / sizeof *more; j++)
            prove_within(&k, &w, &want, least + more[j], j == 0);
        test_wires_free(&w);
        test_key_free(&k);
    }
    cpu.backend->ops->close(cpu.backend);
    cuzk_pool_free(pool);
}

/* Nothing is launched: the same backend then takes a key that fits. */
static void too_little(void **state) {
    (void)state;
    test_key k, small;
    test_wires w;
    cuzk_err err = {0};
    test_key_make(&k, &shapes[2]);
    test_key_make(&small, &shapes[0]);
    test_wires_make(&w, &small.key, TEST_UNIFORM, false);
    const size_t room = least_of(&small.key);
    assert_true(room < least_of(&k.key));
    test_device d = {.backend = open_limited(room)};
    const cuzk_backend_ops *ops = d.backend->ops;
    assert_int_equal(ops->key_load(d.backend, &d.key, &k.key, &err), CUZK_STATUS_NO_MEMORY);
    const size_t rows = 64 << 20; /* may be said to be too many instead */
    assert_true(strstr(err.msg, "rows") ||
                number_after(err.msg, "at least ") <= least_of(&k.key) + rows);
    assert_null(d.key);
    cuzk_groth16_sums sums;
    test_device_load(&d, &small.key);
    test_device_run(&d, &w.wires, &sums, NULL);
    test_device_unload(&d);
    ops->close(d.backend);
    test_wires_free(&w);
    test_key_free(&k);
    test_key_free(&small);
}

int main(void) {
    if (cuzk_cuda_device_count() == 0) {
        fputs("test_cuda_vram: no CUDA device: skipped\n", stderr);
        return 77;
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(limits),
        cmocka_unit_test(too_little),
    };
    test_rng_start();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
