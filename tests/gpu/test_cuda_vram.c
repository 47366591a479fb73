/* Limits on device memory: what is planned is what is taken, the driver counts no more than the
 * limit and what it holds for itself, and with too little the error names what would do. */
#include "support.h"

#include "device_key.h"

#include "backend/cpu/cpu.h"
#include "backend/cuda/open.h"

#include <cuda_runtime_api.h>

/* What the driver may hold beside the limit; some of it, the context, is there before `before`. */
static const size_t MARGIN = (size_t)512 << 20, CONTEXT = (size_t)64 << 20;
static size_t before; /* bytes free when the program began */

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

static cuzk_status forecast(cuzk_cuda_forecast *f, const cuzk_proving_key *key, size_t vram,
                            bool tables, unsigned share, cuzk_err *err) {
    const cuzk_cuda_options like = {.vram = vram, .tables = tables, .share = share};
    return cuzk_cuda_forecast_key(f, key, &like, share > 1 ? 1e9 : 0, err);
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
    assert_int_equal(forecast(&f, key, 1 << 20, false, 1, &err), CUZK_STATUS_NO_MEMORY);
    const size_t least = number_after(err.msg, "at least ");
    assert_int_equal(forecast(&f, key, least, false, 1, &err), CUZK_OK);
    assert_true(f.device <= least);
    assert_int_equal(forecast(&f, key, least - (64 << 10), false, 1, &err), CUZK_STATUS_NO_MEMORY);
    return least;
}

/* A proof's sums with at most `vram` bytes equal the CPU's. */
static void prove_within(const test_key *k, const test_wires *w, const cuzk_groth16_sums *want,
                         size_t vram, bool logs) {
    test_device d = {.backend = open_limited(vram)};
    cuzk_cuda_forecast f;
    cuzk_cuda_key_bytes b;
    cuzk_cuda_stream s;
    cuzk_groth16_sums got;
    cuzk_sums_stats stats;
    cuzk_err err = {0};
    test_device_load(&d, logs ? &k->log_key : &k->key);
    cuzk_cuda_backend_key_bytes(d.key, &b);
    cuzk_cuda_backend_key_stream(d.key, &s);
    const cuzk_cuda_options like = {.vram = vram};
    if (cuzk_cuda_forecast_key(&f, &k->key, &like, s.link, &err) != CUZK_OK)
        fail_msg("%s", err.msg);
    assert_true(b.points + b.tables + b.rows + b.transforms + b.work + b.slot <= vram);
    /* Infinities are left out, so that sums of small keys take another shape, mostly of less memory
     * (fewer but wider windows may take a bit more), and CUB wants less than forecasts count: where
     * little memory decides, another size of chunks may be chosen. */
    if (memcmp(s.chunk_bases, f.stream.chunk_bases, sizeof s.chunk_bases) == 0) {
        assert_in_range(b.work, f.bytes.work / 2, f.bytes.work + f.bytes.work / 16);
        assert_in_range(b.points + b.streamed, (f.bytes.points + f.bytes.streamed) / 2,
                        f.bytes.points + f.bytes.streamed);
    }
    for (int i = 0; i < 2; i++) {
        test_device_run(&d, &w->wires, &got, &stats);
        assert_memory_equal(&got, want, sizeof got);
        assert_true(stats.bytes_in >= b.streamed + k->key.n_full * 32);
        const size_t taken = before - bytes_free();
        if (taken + CONTEXT > vram + MARGIN) fail_msg("%zu bytes taken of %zu", taken, vram);
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

/* Of a domain whose small tables of transforms take more than the others. */
static void least_of_small_domains(void **state) {
    (void)state;
    static const test_key_shape shape = {CUZK_BN254, 13, 900, 0, CUZK_H_COSET_VALUES, false};
    test_key k;
    test_key_make(&k, &shape);
    (void)least_of(&k.key);
    test_key_free(&k);
}

/* What forecasts say of themselves; no device is needed. */
static void forecasts(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
        test_key k;
        cuzk_cuda_forecast f;
        cuzk_err err = {0};
        test_key_make(&k, &shapes[i]);
        const size_t least = least_of(&k.key);
        size_t streamed = SIZE_MAX;
        for (unsigned log2 = 16; log2 <= 33; log2++) {
            const size_t vram = least + ((size_t)1 << log2);
            assert_int_equal(forecast(&f, &k.key, vram, log2 % 2, 1 + log2 % 5, &err), CUZK_OK);
            assert_true(f.device <= vram);
            assert_int_equal(f.device, f.bytes.points + f.bytes.tables + f.bytes.rows +
                                           f.bytes.transforms + f.vectors + f.scratch + f.buffers +
                                           f.slots * f.bytes.slot);
            assert_true(f.streamed == (f.bytes.streamed > 0) && f.ms > 0 && f.ms_slow >= f.ms);
            streamed = f.bytes.streamed;
        }
        assert_int_equal(streamed, 0); /* with memory enough */
        test_key_free(&k);
    }
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

/* ---- proofs that share a pass ---- */

enum { SHARE = 3 };

typedef struct group {
    test_device d; /* the first slot is its own */
    cuzk_slot *slot[SHARE];
    test_wires w[SHARE];
    cuzk_groth16_sums want[SHARE];
} group;

static void begin(group *g, int i) {
    cuzk_err err = {0};
    const cuzk_backend_ops *ops = g->d.backend->ops;
    if (ops->stage(g->slot[i], &g->w[i].wires, &err) != CUZK_OK) fail_msg("%s", err.msg);
    if (ops->compute(g->slot[i], &err) != CUZK_OK) fail_msg("%s", err.msg);
}

static uint64_t end(group *g, int i) {
    cuzk_groth16_sums got;
    cuzk_sums_stats stats;
    cuzk_err err = {0};
    memset(&got, 0, sizeof got);
    if (g->d.backend->ops->finish(g->slot[i], &got, &stats, &err) != CUZK_OK)
        fail_msg("%s", err.msg);
    assert_memory_equal(&got, &g->want[i], sizeof got);
    return stats.bytes_in;
}

/* Full groups, groups that are finished early, in any order; a slot that is given up. */
static void shared(void **state) {
    (void)state;
    for (size_t s = 0; s < sizeof shapes / sizeof *shapes; s++) {
        group g = {0};
        test_key k;
        cuzk_err err = {0};
        cuzk_pool *pool;
        const cuzk_cuda_options options = {.threads = 2, .chunk = 1500, .share = SHARE};
        test_device cpu = {0};
        test_key_make(&k, &shapes[s]);
        assert_int_equal(cuzk_pool_new(&pool, 0), CUZK_OK);
        assert_int_equal(cuzk_cpu_backend_open(&cpu.backend, CUZK_CPU_AUTO, pool, &err), CUZK_OK);
        assert_int_equal(cuzk_cuda_backend_open(&g.d.backend, &options, &err), CUZK_OK);
        test_device_load(&cpu, &k.key);
        test_device_load(&g.d, &k.key);
        const cuzk_backend_ops *ops = g.d.backend->ops;
        g.slot[0] = g.d.slot;
        for (int i = 0; i < SHARE; i++) {
            test_wires_make(&g.w[i], &k.key, i ? TEST_UNIFORM : TEST_WITNESS, i == 1);
            test_device_run(&cpu, &g.w[i].wires, &g.want[i], NULL);
            if (i) assert_int_equal(ops->slot_new(g.d.key, &g.slot[i], &err), CUZK_OK);
        }
        begin(&g, 0); /* alone */
        const uint64_t alone = end(&g, 0);
        for (int i = 0; i < SHARE; i++)
            begin(&g, i);
        for (int i = SHARE - 1; i >= 0; i--)
            assert_true(end(&g, i) < alone);
        begin(&g, 2);
        begin(&g, 1);
        (void)end(&g, 1); /* the other one's pass too */
        begin(&g, 0);
        (void)end(&g, 2);
        begin(&g, 2);
        ops->slot_free(g.slot[2]); /* while it waits */
        begin(&g, 1);
        (void)end(&g, 0);
        (void)end(&g, 1);
        ops->slot_free(g.slot[1]);
        test_device_unload(&g.d);
        test_device_unload(&cpu);
        g.d.backend->ops->close(g.d.backend);
        cpu.backend->ops->close(cpu.backend);
        cuzk_pool_free(pool);
        for (int i = 0; i < SHARE; i++)
            test_wires_free(&g.w[i]);
        test_key_free(&k);
    }
}

int main(void) {
    const struct CMUnitTest without[] = {cmocka_unit_test(forecasts),
                                         cmocka_unit_test(least_of_small_domains)};
    test_rng_start();
    const int failed = cmocka_run_group_tests(without, NULL, NULL);
    if (failed) return failed;
    if (cuzk_cuda_device_count() == 0) {
        fputs("test_cuda_vram: no CUDA device: skipped\n", stderr);
        return 77;
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(limits),
        cmocka_unit_test(too_little),
        cmocka_unit_test(shared),
    };
    before = bytes_free();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
