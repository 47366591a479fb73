/* Every instance of the transforms, also those that the dispatch would not choose on this machine,
 * and one whose batches have four lanes, against the portable one. */
#include "support.h"

#include "base/mem.h"
#include "ntt/ntt_internal.h"

#include "lanes4.h"

extern const cuzk__ntt_kernels cuzk__ntt_test_lanes4;

#define NT lanes4_ntt
#define NT_FV lanes4
#define NT_FE cuzk_bn254_fr
#define NT_LEAF 9
#define NT_IN_PLACE 0
#define NT_TABLE cuzk__ntt_test_lanes4
#include "ntt/ntt_pass.inl.h"

typedef struct instance {
    const char *name;
    cuzk_curve_id curve;
    const cuzk__ntt_kernels *kernels;
    unsigned min_log2n;
} instance;

static size_t instances(instance out[8]) {
    size_t n = 0;
    out[n++] = (instance){"bn254 asm", CUZK_BN254, &cuzk__ntt_bn254_asm, 0};
    out[n++] = (instance){"bls12_381 asm", CUZK_BLS12_381, &cuzk__ntt_bls12_381_asm, 0};
    out[n++] = (instance){"bn254 four lanes", CUZK_BN254, &cuzk__ntt_test_lanes4, 5};
#if CUZK__NTT_ADX
    if (cuzk_cpu_has_adx()) {
        out[n++] = (instance){"bn254 adx", CUZK_BN254, &cuzk__ntt_bn254_adx, 0};
        out[n++] = (instance){"bls12_381 adx", CUZK_BLS12_381, &cuzk__ntt_bls12_381_adx, 0};
    }
#endif
#if CUZK__NTT_IFMA
    if (cuzk_cpu_has_avx512_ifma()) {
        const unsigned least = CUZK__NTT_IFMA_MIN_LOG2;
        out[n++] = (instance){"bn254 ifma", CUZK_BN254, &cuzk__ntt_bn254_ifma, least};
        out[n++] = (instance){"bls12_381 ifma", CUZK_BLS12_381, &cuzk__ntt_bls12_381_ifma, least};
    }
#endif
    return n;
}

/* Uniform elements and runs of r - 1, the largest, so that lazy sums come near their bounds. */
static void fill(const cuzk_fr_ops *fr, cuzk_u256 *x, size_t n) {
    const cuzk_u256 zero = {{0}};
    cuzk_u256 most = fr->modulus; /* r - 1 as limbs, whatever it stands for */
    most.l[0] -= 1;
    bool run = false;
    for (size_t i = 0; i < n; i++) {
        uint8_t wide[64];
        test_rng_bytes(wide, sizeof wide);
        if (test_rng() % 8 == 0) run = !run;
        fr->from_wide(&x[i], wide);
        if (run) x[i] = test_rng() % 4 ? most : zero;
    }
}

static void apply(const cuzk_ntt_plan *plan, unsigned op, cuzk_u256 *x, cuzk_pool *pool) {
    const cuzk_fr_ops *fr = plan->fr;
    cuzk_u256 g;
    cuzk_fr_root(fr, &g, 7, plan->log2n + 1);
    switch (op) {
    case 0:
        cuzk_ntt_forward_nr(plan, x, pool);
        break;
    case 1:
        cuzk_ntt_forward_rn(plan, x, pool);
        break;
    case 2:
        cuzk_ntt_inverse_nr(plan, x, pool);
        break;
    case 3:
        cuzk_ntt_inverse_rn(plan, x, pool);
        break;
    case 4:
        cuzk_ntt_to_coset(plan, x, &g, pool);
        break;
    default:
        assert_int_equal(cuzk_ntt_from_coset(plan, x, &g, pool), CUZK_OK);
    }
}

static void compare(const instance *inst, unsigned log2n, cuzk_pool *pool) {
    const bool bn = inst->curve == CUZK_BN254;
    const size_t bytes = sizeof(cuzk_u256) << log2n;
    cuzk_ntt_plan *ours, *ref;
    assert_int_equal(cuzk__ntt_plan_with(&ours, inst->curve, log2n, 5, inst->kernels, pool),
                     CUZK_OK);
    assert_int_equal(
        cuzk__ntt_plan_with(&ref, inst->curve, log2n, 5,
                            bn ? &cuzk__ntt_bn254_portable : &cuzk__ntt_bls12_381_portable, NULL),
        CUZK_OK);
    void *a, *b;
    assert_int_equal(cuzk_alloc(&a, 1, bytes), CUZK_OK);
    assert_int_equal(cuzk_alloc(&b, 1, bytes), CUZK_OK);
    for (unsigned op = 0; op < 6; op++) {
        fill(ours->fr, a, (size_t)1 << log2n);
        memcpy(b, a, bytes);
        apply(ours, op, a, pool);
        apply(ref, op, b, NULL);
        if (memcmp(a, b, bytes) != 0)
            fail_msg("%s, 2^%u, operation %u differs", inst->name, log2n, op);
    }
    cuzk_free(a);
    cuzk_free(b);
    cuzk_ntt_plan_free(ours);
    cuzk_ntt_plan_free(ref);
}

static void test_instances(void **state) {
    (void)state;
    instance inst[8];
    const size_t n = instances(inst);
    cuzk_pool *pool;
    assert_int_equal(cuzk_pool_new(&pool, 2), CUZK_OK);
    for (size_t i = 0; i < n; i++)
        for (unsigned log2n = inst[i].min_log2n; log2n <= 13; log2n++)
            compare(&inst[i], log2n, log2n & 1 ? NULL : pool);
    cuzk_pool_free(pool);
}

/* The walk covers every level once, for every size and number of threads. */
static void test_split(void **state) {
    (void)state;
    for (unsigned log2n = 1; log2n <= CUZK__NTT_MAX_LOG2; log2n++) {
        for (unsigned threads = 1; threads <= 4096; threads = threads * 3 + 1) {
            cuzk__ntt_split s;
            cuzk__ntt_split_for(&s, log2n, 12, threads);
            unsigned sum = s.leaf;
            assert_true(s.passes <= CUZK__NTT_MAX_PASSES);
            for (unsigned p = 0; p < s.passes; p++) {
                assert_in_range(s.levels[p], 1, CUZK__NTT_PASS_LOG2);
                sum += s.levels[p];
            }
            assert_int_equal(sum, log2n);
            assert_true(s.passes == 0 || s.leaf >= 8);
        }
    }
}

int main(void) {
    test_rng_start();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_instances),
        cmocka_unit_test(test_split),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
