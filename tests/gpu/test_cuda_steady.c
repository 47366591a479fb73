/* Once a key and its slots exist, a proof takes and returns no memory of the device or pinned
 * memory, and copies none that is pageable: such calls stall the other threads of a device. The
 * linker hands every call of them to the counters below (-Wl,--wrap). */
#include "support.h"

#include "device_key.h"

#include "backend/cuda/open.h"

#include <cuda_runtime_api.h>

static unsigned long allocations, pageable, copies;

#define COUNTED(name, params, args)                                                                \
    cudaError_t __real_##name params;                                                              \
    cudaError_t __wrap_##name params;                                                              \
    cudaError_t __wrap_##name params {                                                             \
        __atomic_add_fetch(&allocations, 1, __ATOMIC_RELAXED);                                     \
        return __real_##name args;                                                                 \
    }
COUNTED(cudaMalloc, (void **p, size_t n), (p, n))
COUNTED(cudaFree, (void *p), (p))
COUNTED(cudaMallocHost, (void **p, size_t n), (p, n))
COUNTED(cudaFreeHost, (void *p), (p))
COUNTED(cudaHostAlloc, (void **p, size_t n, unsigned f), (p, n, f))
COUNTED(cudaHostRegister, (void *p, size_t n, unsigned f), (p, n, f))
COUNTED(cudaHostUnregister, (void *p), (p))

static void look_at(const void *p) {
    struct cudaPointerAttributes a;
    if (cudaPointerGetAttributes(&a, p) != cudaSuccess || a.type == cudaMemoryTypeUnregistered)
        __atomic_add_fetch(&pageable, 1, __ATOMIC_RELAXED);
}

cudaError_t __real_cudaMemcpyAsync(void *to, const void *from, size_t n, enum cudaMemcpyKind kind,
                                   cudaStream_t stream);
cudaError_t __wrap_cudaMemcpyAsync(void *to, const void *from, size_t n, enum cudaMemcpyKind kind,
                                   cudaStream_t stream);
cudaError_t __wrap_cudaMemcpyAsync(void *to, const void *from, size_t n, enum cudaMemcpyKind kind,
                                   cudaStream_t stream) {
    __atomic_add_fetch(&copies, 1, __ATOMIC_RELAXED);
    look_at(to);
    look_at(from);
    return __real_cudaMemcpyAsync(to, from, n, kind, stream);
}

/* A copy that is not asynchronous is one too many whatever it copies. */
cudaError_t __real_cudaMemcpy(void *to, const void *from, size_t n, enum cudaMemcpyKind kind);
cudaError_t __wrap_cudaMemcpy(void *to, const void *from, size_t n, enum cudaMemcpyKind kind);
cudaError_t __wrap_cudaMemcpy(void *to, const void *from, size_t n, enum cudaMemcpyKind kind) {
    __atomic_add_fetch(&pageable, 1, __ATOMIC_RELAXED);
    return __real_cudaMemcpy(to, from, n, kind);
}

static size_t bytes_free(void) {
    size_t free = 0, total;
    assert_int_equal(cudaMemGetInfo(&free, &total), cudaSuccess);
    return free;
}

static void prove_often(unsigned log2_domain, size_t n_full, bool tables, uint32_t chunk) {
    enum { RUNS = 20 };
    const test_key_shape shape = {CUZK_BN254, log2_domain, n_full, 0, CUZK_H_COSET_VALUES, false};
    const cuzk_cuda_options options = {
        .ordinal = 0, .threads = 4, .tables = tables, .chunk = chunk, .share = 2};
    cuzk_err err = {0};
    test_device d = {0};
    test_key k;
    test_wires w[2];
    cuzk_groth16_sums first, sums;
    test_key_make(&k, &shape);
    test_wires_make(&w[0], &k.key, TEST_WITNESS, false);
    test_wires_make(&w[1], &k.key, TEST_UNIFORM, false);
    if (cuzk_cuda_backend_open(&d.backend, &options, &err) != CUZK_OK) fail_msg("%s", err.msg);
    test_device_load(&d, &k.key);
    test_device second = d; /* a slot more, and proofs that are queued one behind another */
    if (d.backend->ops->slot_new(d.key, &second.slot, &err) != CUZK_OK) fail_msg("%s", err.msg);
    test_device_run(&d, &w[0].wires, &first, NULL);
    const size_t before = bytes_free();
    allocations = pageable = copies = 0;
    for (int i = 0; i < RUNS; i++)
        test_device_run(&d, &w[i % 2].wires, &sums, NULL);
    for (int i = 0; i < RUNS; i++) {
        const cuzk_backend_ops *ops = d.backend->ops;
        cuzk_slot *slot[2] = {d.slot, second.slot};
        for (int j = 0; j < 2; j++)
            if (ops->stage(slot[j], &w[j].wires, &err) || ops->compute(slot[j], &err))
                fail_msg("%s", err.msg);
        for (int j = 0; j < 2; j++)
            if (ops->finish(slot[j], &sums, NULL, &err)) fail_msg("%s", err.msg);
    }
    assert_int_equal(allocations, 0);
    assert_int_equal(pageable, 0);
    assert_true(copies >= RUNS);
    assert_int_equal(bytes_free(), before);
    test_device_run(&d, &w[0].wires, &sums, NULL);
    assert_memory_equal(&first, &sums, sizeof sums);
    d.backend->ops->slot_free(second.slot);
    test_device_unload(&d);
    d.backend->ops->close(d.backend);
    assert_true(allocations > 0); /* the counters do count */
    test_wires_free(&w[0]);
    test_wires_free(&w[1]);
    test_key_free(&k);
}

static void combs(void **state) {
    (void)state;
    prove_often(10, 1000, true, 0);
}

static void sorted(void **state) {
    (void)state;
    prove_often(12, 4000, false, 0);
}

static void streamed(void **state) {
    (void)state;
    prove_often(12, 4000, false, 1000);
}

int main(void) {
    if (cuzk_cuda_device_count() == 0) {
        fputs("test_cuda_steady: no CUDA device: skipped\n", stderr);
        return 77;
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(combs),
        cmocka_unit_test(sorted),
        cmocka_unit_test(streamed),
    };
    test_rng_start();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
