/* Keys whose points a device multiplied out are those of the CPU, byte for byte: multiples of the
 * generators, .zkey files, and a .params of a real circuit. */
#include "support.h"

#include "backend/cpu/cpu.h"
#include "backend/cuda/open.h"
#include "base/file.h"
#include "circuit/circuits.h"
#include "groth16/setup.h"

#include <unistd.h>

static cuzk_backend *cpu, *cuda;
static cuzk_pool *pool;

/* ---- multiples ---- */

/* 0, 1, just below the order, and any. */
static void scalar(const cuzk_fr_ops *fr, size_t i, cuzk_u256 *out) {
    static const cuzk_u256 zero;
    cuzk_u256 v = {{i % 5 < 2 ? i % 5 : test_rng(), 0, 0, 0}};
    fr->to_mont(&v, &v);
    for (int k = 0; k < 5 && i % 5 > 2; k++)
        fr->mul(&v, &v, &v);
    if (i % 5 == 2) fr->sub(&v, &zero, i == 7 ? &fr->one : &v); /* r - 1, r - k */
    fr->from_mont(out, &v);
}

static void same_multiples(const cuzk_curve *curve, cuzk_group group, size_t batch) {
    enum { BATCHES = 5 };
    cuzk_backend *const backend[2] = {cpu, cuda};
    cuzk_multiples *m[2];
    const size_t size = cuzk_curve_group(curve, group)->point_size;
    const void *points[2];
    size_t under_way[BATCHES], first = 0;
    cuzk_err err = {0};
    for (int d = 0; d < 2; d++)
        if (backend[d]->ops->multiples_new(backend[d], &m[d], curve, group, batch, batch * BATCHES,
                                           &err))
            fail_msg("%s", err.msg);
    assert_int_equal(cuda->ops->multiples_queue(m[1], batch + 1, &err), CUZK_STATUS_BUG);
    assert_int_equal(cuda->ops->multiples_take(m[1], &points[1], &err), CUZK_STATUS_BUG);
    char *want = malloc(BATCHES * batch * size);
    assert_non_null(want);
    for (int b = 0; b < BATCHES; b++) { /* the last is smaller */
        const size_t n = under_way[b] = b == BATCHES - 1 ? batch / 2 + 1 : batch;
        cuzk_u256 *s = cpu->ops->multiples_room(m[0]);
        for (size_t i = 0; i < n; i++)
            scalar(curve->fr, first + i, &s[i]);
        memcpy(cuda->ops->multiples_room(m[1]), s, n * sizeof *s);
        if (cuda->ops->multiples_queue(m[1], n, &err)) fail_msg("%s", err.msg);
        if (cpu->ops->multiples_queue(m[0], n, &err)) fail_msg("%s", err.msg);
        if (cpu->ops->multiples_take(m[0], &points[0], &err)) fail_msg("%s", err.msg);
        memcpy(want + (size_t)b * batch * size, points[0], n * size);
        first += n;
        if (b == 0) continue; /* two are under way from now on */
        if (cuda->ops->multiples_take(m[1], &points[1], &err)) fail_msg("%s", err.msg);
        assert_memory_equal(points[1], want + (size_t)(b - 1) * batch * size,
                            under_way[b - 1] * size);
    }
    assert_int_equal(cuda->ops->multiples_take(m[1], &points[1], &err), CUZK_OK);
    assert_memory_equal(points[1], want + (BATCHES - 1) * batch * size,
                        under_way[BATCHES - 1] * size);
    assert_true(m[1]->stats.device_ns > 0);
    assert_int_equal(m[1]->stats.bytes_in, first * 32);
    assert_int_equal(m[1]->stats.bytes_out, first * size);
    free(want);
    cpu->ops->multiples_free(m[0]);
    cuda->ops->multiples_free(m[1]);
}

static void multiples(void **state) {
    static const cuzk_curve_id curves[] = {CUZK_BN254, CUZK_BLS12_381};
    static const size_t batches[] = {1, 2, 127, 1000};
    (void)state;
    for (int c = 0; c < 2; c++)
        for (int g = 0; g < 2; g++)
            for (size_t i = 0; i < sizeof batches / sizeof *batches; i++)
                same_multiples(cuzk_curve_get(curves[c]), g ? CUZK_G2 : CUZK_G1, batches[i]);
}

/* ---- files ---- */

static void temporary(char path[32]) {
    snprintf(path, 32, "/tmp/cuzk_setup_XXXXXX");
    const int fd = mkstemp(path);
    assert_true(fd >= 0);
    close(fd);
}

static void same_files(char path[2][32]) {
    cuzk_map map[2];
    cuzk_err err = {0};
    for (int d = 0; d < 2; d++)
        if (cuzk_map_file(&map[d], path[d], &err)) fail_msg("%s", err.msg);
    assert_int_equal(map[0].len, map[1].len);
    assert_true(map[0].len > 1000);
    assert_memory_equal(map[0].data, map[1].data, map[0].len);
    for (int d = 0; d < 2; d++) {
        cuzk_map_close(&map[d]);
        (void)unlink(path[d]);
    }
}

static void zkeys(void **state) {
    static const char *const circuits[] = {
        "bn128/mul3/mul3",    "bn128/nopub/nopub",    "bn128/poseidon2/poseidon2",
        "bls12381/mul3/mul3", "bls12381/nopub/nopub", "bls12381/poseidon2/poseidon2"};
    (void)state;
    for (size_t i = 0; i < sizeof circuits / sizeof *circuits; i++) {
        char from[512], path[2][32];
        cuzk_circom_r1cs *r1cs;
        cuzk_toxic toxic;
        cuzk_err err = {0};
        snprintf(from, sizeof from, "%s/circom/%s.r1cs", CUZK_TEST_VECTORS, circuits[i]);
        if (cuzk_circom_r1cs_open(&r1cs, from, &err)) fail_msg("%s", err.msg);
        if (cuzk_toxic_from_seed(&toxic, r1cs->curve, "s", 1, &err)) fail_msg("%s", err.msg);
        for (int d = 0; d < 2; d++) {
            cuzk_setup_stats stats = {.points = {0}};
            const cuzk_setup_opts how = {.pool = pool, .backend = d ? cuda : NULL, .stats = &stats};
            temporary(path[d]);
            if (cuzk_groth16_setup_zkey(r1cs, &toxic, path[d], &how, &err))
                fail_msg("%s: %s", circuits[i], err.msg);
            assert_true(stats.points[1] == r1cs->n_wires);
            assert_int_equal(stats.made.bytes_in, d ? 32 * (stats.points[0] + stats.points[1]) : 0);
        }
        cuzk_circom_r1cs_free(r1cs);
        same_files(path);
    }
}

static void params(void **state) {
    const cuzk_circuit *circuit = cuzk_circuit_find("wpost-2k");
    char path[2][32];
    uint8_t hash[2][64];
    cuzk_r1cs *r1cs;
    cuzk_r1cs_density density;
    cuzk_toxic toxic;
    cuzk_err err = {0};
    (void)state;
    if (cuzk_circuit_compact(&r1cs, circuit, &err)) fail_msg("%s", err.msg);
    assert_int_equal(cuzk_r1cs_density_of(&density, r1cs), CUZK_OK);
    if (cuzk_toxic_from_seed(&toxic, cuzk_curve_get(CUZK_BLS12_381), "s", 1, &err))
        fail_msg("%s", err.msg);
    for (int d = 0; d < 2; d++) {
        cuzk_out out;
        cuzk_params_vk vk;
        const cuzk_setup_opts how = {.pool = pool, .backend = d ? cuda : NULL};
        temporary(path[d]);
        cuzk_status st = cuzk_out_open(&out, path[d], &err);
        if (st == CUZK_OK)
            st = cuzk_groth16_setup_params(r1cs, &density, &toxic, "wpost-2k", &out, &vk, hash[d],
                                           &how, &err);
        if (st == CUZK_OK) st = cuzk_out_commit(&out, &err);
        if (st != CUZK_OK) fail_msg("%s", err.msg);
        cuzk_params_vk_free(&vk);
    }
    assert_memory_equal(hash[0], hash[1], sizeof hash[0]);
    same_files(path);
    cuzk_r1cs_density_free(&density);
    cuzk_r1cs_free(r1cs);
}

int main(void) {
    if (cuzk_cuda_device_count() == 0) {
        fputs("test_cuda_setup: no CUDA device: skipped\n", stderr);
        return 77;
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(multiples),
        cmocka_unit_test(zkeys),
        cmocka_unit_test(params),
    };
    const cuzk_cuda_options options = {.ordinal = 0};
    cuzk_err err = {0};
    test_rng_start();
    cuzk_status st = cuzk_pool_new(&pool, 0);
    if (st == CUZK_OK) st = cuzk_cpu_backend_open(&cpu, CUZK_CPU_AUTO, pool, &err);
    if (st == CUZK_OK) st = cuzk_cuda_backend_open(&cuda, &options, &err);
    if (st != CUZK_OK) {
        fprintf(stderr, "test_cuda_setup: %s\n", err.msg);
        return 1;
    }
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    cuda->ops->close(cuda);
    cpu->ops->close(cpu);
    cuzk_pool_free(pool);
    return failed;
}
