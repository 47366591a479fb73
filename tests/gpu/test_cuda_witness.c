/* Witnesses made on the device against the CPU's, every bit and every full value, from free values
 * at random and at edges. CUZK_TEST_LARGE=1 adds whole partitions of 32 GiB. Arguments: circuits
 * instead of those. Prints the device's time, the least of some runs. Skipped by exit code 77
 * without a device. */
#include "support.h"

#include "witness_solve.h"

#include "backend/cuda/witness.h"
#include "field/fields.h"

static cuzk_cuda *dev, *side;

typedef struct on_device {
    cuzk_cuda_witness *w;
    void *frees, *full;
    uint64_t *bits;
    cuzk_cuda_witness_fault *fault;
} on_device;

static void need(cuzk_status st, const cuzk_err *err) {
    if (st != CUZK_OK) fail_msg("%s", err->msg);
}

static void *device_memory(size_t bytes) {
    cuzk_err err = {0};
    void *p;
    need(cuzk_cuda_alloc(dev, &p, bytes, &err), &err);
    return p;
}

static void load(on_device *d, const cuzk_witness_program *p, const test_solved *s) {
    cuzk_err err = {0};
    need(cuzk_cuda_witness_new(&d->w, dev, p, &err), &err);
    d->frees = device_memory((size_t)p->n_free * 32 + 32);
    d->bits = device_memory(s->bits_bytes);
    d->full = device_memory(s->full_bytes);
    d->fault = device_memory(sizeof *d->fault);
}

static void unload(on_device *d) {
    cuzk_cuda_witness_free(d->w);
    void *all[] = {d->frees, d->bits, d->full, d->fault};
    for (int i = 0; i < 4; i++)
        cuzk_cuda_free(dev, all[i]);
}

static void make(const on_device *d, cuzk_cuda_witness_fault *fault, float *ms) {
    cuzk_err err = {0};
    need(cuzk_cuda_mark(dev, 0, &err), &err);
    need(cuzk_cuda_witness_make(d->w, dev, side, d->frees, d->bits, d->full, d->fault, &err), &err);
    need(cuzk_cuda_mark(dev, 1, &err), &err);
    need(cuzk_cuda_sync(dev, &err), &err);
    need(cuzk_cuda_elapsed(dev, 0, 1, ms, &err), &err);
    need(cuzk_cuda_download(dev, fault, d->fault, sizeof *fault, &err), &err);
}

static void random_frees(cuzk_u256 *frees, const cuzk_witness_program *p) {
    static const cuzk_u256 r = {CUZK_BLS12_381_FR_MODULUS};
    for (uint32_t i = 0; i < p->n_free; i++) {
        const unsigned edge = (unsigned)(test_rng() % 16);
        frees[i] = (cuzk_u256){{test_rng() & 1, 0, 0, 0}};
        if (p->free_slots[i] & CUZK_SLOT_BIT || edge == 0) continue;
        for (int k = 0; k < 4; k++)
            frees[i].l[k] = test_rng();
        frees[i].l[3] %= r.l[3];
        if (edge == 1) {
            frees[i] = r;
            frees[i].l[0]--;
        }
    }
}

static void compare(const char *name) {
    test_solved s;
    cuzk_witness_program *p;
    cuzk_err err = {0};
    on_device d;
    cuzk_cuda_witness_fault fault;
    cuzk_u256 *frees;
    float ms, least = 1e9f;
    assert_true(test_solved_open(&s, &p, name));
    frees = malloc((size_t)p->n_free * 32 + 32);
    assert_non_null(frees);
    random_frees(frees, p);
    assert_true(test_solved_solve(&s, (const uint64_t *)frees));
    load(&d, p, &s);
    need(cuzk_cuda_upload(dev, d.frees, frees, (size_t)p->n_free * 32, &err), &err);
    for (int i = 0; i < 3; i++) {
        make(&d, &fault, &ms);
        if (ms < least) least = ms;
    }
    assert_true(fault.free_value == UINT32_MAX && fault.row == UINT32_MAX);
    uint8_t *got = malloc(s.full_bytes > s.bits_bytes ? s.full_bytes : s.bits_bytes);
    assert_non_null(got);
    need(cuzk_cuda_download(dev, got, d.bits, s.bits_bytes, &err), &err);
    if (memcmp(got, s.bits, s.bits_bytes) != 0) fail_msg("%s: bits differ", name);
    const size_t full = s.full_bytes - 32; /* the last is only read */
    need(cuzk_cuda_download(dev, got, d.full, full, &err), &err);
    if (memcmp(got, s.full, full) != 0) fail_msg("%s: full values differ", name);
    printf("%s: %.3f ms for %u items in %u steps, %u free values, %zu bytes of tables\n", name,
           (double)least, s.items, s.steps, p->n_free, cuzk_cuda_witness_bytes(d.w));
    /* a value that is none */
    frees[p->n_free - 1] = (cuzk_u256){CUZK_BLS12_381_FR_MODULUS};
    need(cuzk_cuda_upload(dev, d.frees, frees, (size_t)p->n_free * 32, &err), &err);
    make(&d, &fault, &ms);
    assert_int_equal(fault.free_value, p->n_free - 1);
    unload(&d);
    free(got);
    free(frees);
    cuzk_witness_program_free(p);
    test_solved_close(&s);
}

static const char *const *wanted;

static void small(void **state) {
    static const char *const circuits[] = {"winning-2k", "wpost-2k",         "snap-1k",
                                           "snap-2k",    "snap-poseidon-2k", "porep-2k",
                                           "snap-16k",   "test-porep-8-4-2", "winning-32g"};
    (void)state;
    if (*wanted) return;
    for (size_t i = 0; i < sizeof circuits / sizeof circuits[0]; i++)
        compare(circuits[i]);
}

static void large(void **state) {
    static const char *const circuits[] = {"porep-32g", "snap-32g", "wpost-32g", NULL};
    (void)state;
    const char *const *c = getenv("CUZK_TEST_LARGE") ? circuits : circuits + 3;
    for (c = *wanted ? wanted : c; *c; c++)
        compare(*c);
}

int main(int argc, char **argv) {
    cuzk_err err = {0};
    (void)argc;
    wanted = (const char *const *)argv + 1;
    if (cuzk_cuda_open(&dev, 0, &err) != CUZK_OK || cuzk_cuda_open(&side, 0, &err) != CUZK_OK) {
        fprintf(stderr, "skipped: %s\n", err.msg);
        return 77;
    }
    test_rng_start();
    const struct CMUnitTest tests[] = {cmocka_unit_test(small), cmocka_unit_test(large)};
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    cuzk_cuda_close(side);
    cuzk_cuda_close(dev);
    return failed;
}
