/* The CUDA backend against the CPU: the same five sums for made-up keys of both curves and both
 * forms of H, sizes from the smallest up, with and without tables, random and adversarial values.
 */
#include "support.h"

#include "device_key.h"

#include "backend/cpu/cpu.h"
#include "backend/cuda/open.h"

#include <pthread.h>

/* without and with tables; sums in turn; keys that are streamed in chunks, small and large ones */
enum { BACKENDS = 5, STREAMED = 3 };
static const uint32_t chunk[BACKENDS] = {[STREAMED] = 48, [STREAMED + 1] = 1500};
static cuzk_backend *cpu, *cuda[BACKENDS];

static void same_point(const cuzk_group_ops *g, const cuzk_point *want, const cuzk_point *got,
                       const char *sum, const char *what) {
    if (memcmp(want->b, got->b, g->point_size) != 0) fail_msg("%s: the sum %s differs", what, sum);
}

static void same_sums(const cuzk_curve *c, const cuzk_groth16_sums *want,
                      const cuzk_groth16_sums *got, const char *what) {
    same_point(&c->g1, &want->a, &got->a, "a", what);
    same_point(&c->g1, &want->b1, &got->b1, "b1", what);
    same_point(&c->g2, &want->b2, &got->b2, "b2", what);
    same_point(&c->g1, &want->l, &got->l, "l", what);
    same_point(&c->g1, &want->h, &got->h, "h", what);
}

static void compare(const test_key_shape *shape, unsigned patterns) {
    test_key k;
    test_key_make(&k, shape);
    static const char *const names[] = {
        "", "", ", tables", ", in turn", ", logarithms", ", streamed", ", streamed logarithms"};
    enum { DEVICES = 7 };
    cuzk_backend *streamed = cuda[STREAMED + (shape->log2_domain > 7)];
    test_device ours[DEVICES] = {{.backend = cpu},     {.backend = cuda[0]}, {.backend = cuda[1]},
                                 {.backend = cuda[2]}, {.backend = cuda[1]}, {.backend = streamed},
                                 {.backend = streamed}};
    for (int d = 0; d < DEVICES; d++)
        test_device_load(&ours[d], d == 4 || d == 6 ? &k.log_key : &k.key);
    for (int p = 0; p < TEST_PATTERNS; p++) {
        if (!(patterns >> p & 1)) continue;
        test_wires w;
        test_wires_make(&w, &k.key, (test_pattern)p, p % 2 == 1);
        cuzk_groth16_sums want, got;
        test_device_run(&ours[0], &w.wires, &want, NULL);
        for (int d = 1; d < DEVICES; d++) {
            char what[128];
            cuzk_sums_stats stats;
            snprintf(what, sizeof what, "%s, 2^%u, %zu values, %zu bits, %s, form %d%s%s",
                     k.key.curve->name, shape->log2_domain, shape->n_full, shape->n_bits,
                     test_pattern_name((test_pattern)p), (int)shape->h_form,
                     shape->five_bases ? ", five bases" : "", names[d]);
            test_device_run(&ours[d], &w.wires, &got, &stats);
            same_sums(k.key.curve, &want, &got, what);
            assert_true(stats.bytes_in >= shape->n_full * 32);
            test_device_run(&ours[d], &w.wires, &got, NULL); /* nothing is left of the first */
            same_sums(k.key.curve, &want, &got, what);
        }
        test_wires_free(&w);
    }
    for (int d = 0; d < DEVICES; d++)
        test_device_unload(&ours[d]);
    test_key_free(&k);
}

enum { ALL = (1 << TEST_PATTERNS) - 1, SOME = 1 << TEST_UNIFORM | 1 << TEST_WITNESS };

static void sums_of(cuzk_curve_id curve) {
    static const struct {
        unsigned log2_domain;
        size_t n_full, n_bits;
        bool five;
        unsigned patterns;
    } sizes[] = {
        {1, 1, 0, false, ALL},         {2, 3, 1, false, ALL},     {5, 33, 70, true, ALL},
        {7, 129, 0, false, ALL},       {9, 500, 999, false, ALL}, {11, 2047, 100, true, ALL},
        {13, 6000, 3000, false, SOME},
    };
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        for (int form = 0; form < 3; form++) {
            if (form != CUZK_H_COSET_VALUES && curve == CUZK_BN254) continue; /* Filecoin's only */
            const test_key_shape shape = {curve,           sizes[i].log2_domain, sizes[i].n_full,
                                          sizes[i].n_bits, (cuzk_h_form)form,    sizes[i].five};
            compare(&shape, sizes[i].patterns);
        }
    }
}

static void bn254(void **state) {
    (void)state;
    sums_of(CUZK_BN254);
}

static void bls12_381(void **state) {
    (void)state;
    sums_of(CUZK_BLS12_381);
}

/* ---- two threads, two slots of one key ---- */

enum { ROUNDS = 20 };

typedef struct {
    test_device d; /* a slot of its own */
    const cuzk_wires *wires[2];
    cuzk_groth16_sums want[2];
    int wrong; /* cmocka's assertions belong to the main thread */
    pthread_t thread;
} slot_user;

static void *use_slot(void *ctx) {
    slot_user *u = ctx;
    const cuzk_backend_ops *ops = u->d.backend->ops;
    for (int i = 0; i < ROUNDS; i++) {
        cuzk_groth16_sums got;
        cuzk_err err = {0};
        memset(&got, 0, sizeof got);
        cuzk_status st = ops->stage(u->d.slot, u->wires[i % 2], &err);
        if (st == CUZK_OK) st = ops->compute(u->d.slot, &err);
        if (st == CUZK_OK) st = ops->finish(u->d.slot, &got, NULL, &err);
        u->wrong += st != CUZK_OK || memcmp(&got, &u->want[i % 2], sizeof got) != 0;
    }
    return NULL;
}

static void two_slots(void **state) {
    (void)state;
    for (int t = 0; t < BACKENDS; t++) { /* sorted sums, combs, in turn, streamed */
        const test_key_shape shape = {CUZK_BLS12_381, 11, 2000, 500, CUZK_H_COEFFICIENTS, false};
        test_key k;
        test_wires w[2];
        slot_user u[2] = {{.wrong = 0}, {.wrong = 0}};
        cuzk_err err = {0};
        test_key_make(&k, &shape);
        for (int i = 0; i < 2; i++)
            test_wires_make(&w[i], &k.key, i ? TEST_WITNESS : TEST_UNIFORM, true);
        u[0].d.backend = u[1].d.backend = cuda[t];
        test_device_load(&u[0].d, &k.key);
        u[1].d.key = u[0].d.key;
        assert_int_equal(cuda[t]->ops->slot_new(u[1].d.key, &u[1].d.slot, &err), CUZK_OK);
        for (int i = 0; i < 2; i++) {
            u[0].wires[i] = u[1].wires[1 - i] = &w[i].wires;
            test_device_run(&u[0].d, &w[i].wires, &u[0].want[i], NULL);
            u[1].want[1 - i] = u[0].want[i];
        }
        for (int i = 0; i < 2; i++)
            assert_int_equal(pthread_create(&u[i].thread, NULL, use_slot, &u[i]), 0);
        for (int i = 0; i < 2; i++) {
            pthread_join(u[i].thread, NULL);
            assert_int_equal(u[i].wrong, 0);
        }
        cuda[t]->ops->slot_free(u[1].d.slot);
        test_device_unload(&u[0].d);
        test_wires_free(&w[0]);
        test_wires_free(&w[1]);
        test_key_free(&k);
    }
}

/* ---- one thread, several proofs queued at once, keys that share the work memory ---- */

enum { QUEUED = 3 };

typedef struct {
    test_key k;
    test_device d; /* the key, and the first slot */
    cuzk_slot *slots[QUEUED];
    test_wires w[QUEUED];
    cuzk_groth16_sums want[QUEUED];
} queued_key;

static void open_queued(queued_key *q, cuzk_backend *b, const test_key_shape *shape) {
    cuzk_err err = {0};
    q->d.backend = b;
    test_key_make(&q->k, shape);
    test_device_load(&q->d, &q->k.key);
    for (int i = 0; i < QUEUED; i++) {
        const test_pattern p = i == 0 ? TEST_UNIFORM : i == 1 ? TEST_WITNESS : TEST_ONES;
        test_wires_make(&q->w[i], &q->k.key, p, i % 2 == 0);
        q->slots[i] = q->d.slot;
        if (i && b->ops->slot_new(q->d.key, &q->slots[i], &err)) fail_msg("%s", err.msg);
    }
    test_device cpu_device = {.backend = cpu};
    test_device_load(&cpu_device, &q->k.key);
    for (int i = 0; i < QUEUED; i++)
        test_device_run(&cpu_device, &q->w[i].wires, &q->want[i], NULL);
    test_device_unload(&cpu_device);
}

static void close_queued(queued_key *q) {
    for (int i = 1; i < QUEUED; i++)
        q->d.backend->ops->slot_free(q->slots[i]);
    test_device_unload(&q->d);
    for (int i = 0; i < QUEUED; i++)
        test_wires_free(&q->w[i]);
    test_key_free(&q->k);
}

static void start_proof(const queued_key *q, int slot, int wires) {
    const cuzk_backend_ops *ops = q->d.backend->ops;
    cuzk_err err = {0};
    if (ops->stage(q->slots[slot], &q->w[wires].wires, &err) || ops->compute(q->slots[slot], &err))
        fail_msg("%s", err.msg);
}

static void end_proof(const queued_key *q, int slot, int wires, const char *what) {
    cuzk_groth16_sums got;
    cuzk_sums_stats stats;
    cuzk_err err = {0};
    memset(&got, 0xff, sizeof got);
    if (q->d.backend->ops->finish(q->slots[slot], &got, &stats, &err)) fail_msg("%s", err.msg);
    same_sums(q->k.key.curve, &q->want[wires], &got, what);
    assert_true(stats.device_ns > 0);
}

static void queue_proofs(bool tables, unsigned log2_domain) {
    const test_key_shape shapes[2] = {
        {CUZK_BLS12_381, log2_domain, ((size_t)1 << log2_domain) - 60, 500, CUZK_H_COEFFICIENTS,
         false},
        {CUZK_BN254, log2_domain - 2, 700, 0, CUZK_H_COSET_VALUES, false},
    };
    queued_key q[2] = {{.d = {.backend = NULL}}, {.d = {.backend = NULL}}};
    open_queued(&q[1], cuda[tables], &shapes[1]);
    /* slots of one key, each queued before the one before is finished */
    for (int round = 0; round < 4; round++) {
        for (int i = 0; i < QUEUED; i++)
            start_proof(&q[1], i, (i + round) % QUEUED);
        for (int i = 0; i < QUEUED; i++)
            end_proof(&q[1], i, (i + round) % QUEUED, "one key");
    }
    /* a larger key comes while a proof of the smaller is not finished: the memory moves */
    start_proof(&q[1], 0, 1);
    open_queued(&q[0], cuda[tables], &shapes[0]);
    end_proof(&q[1], 0, 1, "before the larger key");
    /* two keys take turns, in order and finished in another order */
    for (int round = 0; round < 4; round++) {
        for (int i = 0; i < QUEUED; i++)
            for (int k = 0; k < 2; k++)
                start_proof(&q[(k + round) % 2], i, (i + round) % QUEUED);
        for (int i = QUEUED; i-- > 0;)
            for (int k = 0; k < 2; k++)
                end_proof(&q[k], i, (i + round) % QUEUED, k ? "small of two" : "large of two");
    }
    /* the larger goes while a proof of the smaller is not finished */
    start_proof(&q[1], 2, 0);
    close_queued(&q[0]);
    end_proof(&q[1], 2, 0, "after the larger key");
    start_proof(&q[1], 2, 1);
    end_proof(&q[1], 2, 1, "alone again");
    close_queued(&q[1]);
}

static void queued_combs(void **state) {
    (void)state;
    queue_proofs(true, 11);
}

static void queued_sorted(void **state) {
    (void)state;
    queue_proofs(false, 13);
}

/* Two threads, each with a key and a slot of its own on one device. */
static void two_keys(void **state) {
    (void)state;
    for (int t = 0; t < 2; t++) {
        static const test_key_shape shapes[2] = {
            {CUZK_BLS12_381, 10, 900, 500, CUZK_H_COEFFICIENTS, false},
            {CUZK_BN254, 12, 4000, 0, CUZK_H_COSET_VALUES, false}};
        test_key k[2];
        test_wires w[2][2];
        slot_user u[2] = {{.wrong = 0}, {.wrong = 0}};
        for (int i = 0; i < 2; i++) {
            test_key_make(&k[i], &shapes[i]);
            u[i].d.backend = cuda[t];
            test_device_load(&u[i].d, &k[i].key);
            for (int p = 0; p < 2; p++) {
                test_wires_make(&w[i][p], &k[i].key, p ? TEST_WITNESS : TEST_UNIFORM, true);
                u[i].wires[p] = &w[i][p].wires;
                test_device_run(&u[i].d, &w[i][p].wires, &u[i].want[p], NULL);
            }
        }
        for (int i = 0; i < 2; i++)
            assert_int_equal(pthread_create(&u[i].thread, NULL, use_slot, &u[i]), 0);
        for (int i = 0; i < 2; i++) {
            pthread_join(u[i].thread, NULL);
            assert_int_equal(u[i].wrong, 0);
        }
        for (int i = 0; i < 2; i++) {
            test_device_unload(&u[i].d);
            for (int p = 0; p < 2; p++)
                test_wires_free(&w[i][p]);
            test_key_free(&k[i]);
        }
    }
}

/* A slot says when its three steps come in another order. */
static void order(void **state) {
    (void)state;
    const test_key_shape shape = {CUZK_BN254, 2, 3, 0, CUZK_H_COSET_VALUES, false};
    test_key k;
    test_device d = {.backend = cuda[0]};
    cuzk_groth16_sums sums;
    cuzk_err err = {0};
    test_key_make(&k, &shape);
    test_device_load(&d, &k.key);
    assert_int_equal(cuda[0]->ops->compute(d.slot, &err), CUZK_STATUS_USAGE);
    assert_int_equal(cuda[0]->ops->finish(d.slot, &sums, NULL, &err), CUZK_STATUS_USAGE);
    test_device_unload(&d);
    test_key_free(&k);
}

/* The CPU says that it does not take logarithms. */
static void logs_on_cpu(void **state) {
    (void)state;
    const test_key_shape shape = {CUZK_BN254, 2, 3, 0, CUZK_H_COSET_VALUES, false};
    test_key k;
    cuzk_device_key *loaded;
    cuzk_err err = {0};
    test_key_make(&k, &shape);
    assert_int_equal(cpu->ops->key_load(cpu, &loaded, &k.log_key, &err), CUZK_STATUS_USAGE);
    test_key_free(&k);
}

/* Above the combs' sizes even with tables. */
static void large(void **state) {
    (void)state;
    const test_key_shape shape = {CUZK_BN254, 17, 140000, 0, CUZK_H_COSET_VALUES, false};
    compare(&shape, 1 << TEST_WITNESS);
}

/* What was planned is what a key and its slot then take, but for infinities, which are not loaded,
 * and the list of long rows. */
static void planned(void **state) {
    static const test_key_shape shapes[] = {
        {CUZK_BN254, 10, 900, 0, CUZK_H_COSET_VALUES, false},
        {CUZK_BLS12_381, 12, 2000, 3000, CUZK_H_COEFFICIENTS, false},
    };
    (void)state;
    for (size_t i = 0; i < 2 * sizeof shapes / sizeof *shapes; i++) {
        const bool tables = i % 2;
        test_key k;
        test_device d = {.backend = cuda[tables]};
        cuzk_backend_plan plan;
        cuzk_cuda_key_bytes b;
        cuzk_err err = {0};
        test_key_make(&k, &shapes[i / 2]);
        if (d.backend->ops->plan(d.backend, &k.key, &plan, &err)) fail_msg("%s", err.msg);
        test_device_load(&d, &k.key);
        cuzk_cuda_backend_key_bytes(d.key, &b);
        assert_true(tables == (b.tables > 0));
        const size_t key = b.points + b.tables + b.rows + b.transforms + b.work;
        /* combs and sums are planned as if no base were infinite; a sum of fewer may be cut so that
         * it takes a bit more */
        assert_in_range(plan.key, key - key / 16, key + key / 4);
        assert_int_equal(plan.slot, b.slot);
        assert_true(plan.slot_pin >= k.key.n_full * 32);
        test_device_unload(&d);
        test_key_free(&k);
    }
}

int main(void) {
    if (cuzk_cuda_device_count() == 0) {
        fputs("test_cuda_backend: no CUDA device: skipped\n", stderr);
        return 77;
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bn254),         cmocka_unit_test(bls12_381),
        cmocka_unit_test(two_slots),     cmocka_unit_test(queued_combs),
        cmocka_unit_test(queued_sorted), cmocka_unit_test(two_keys),
        cmocka_unit_test(order),         cmocka_unit_test(logs_on_cpu),
        cmocka_unit_test(large),         cmocka_unit_test(planned),
    };
    cuzk_err err = {0};
    cuzk_pool *pool = NULL;
    test_rng_start();
    cuzk_status st = cuzk_pool_new(&pool, 0);
    if (st == CUZK_OK) st = cuzk_cpu_backend_open(&cpu, CUZK_CPU_AUTO, pool, &err);
    for (int t = 0; t < BACKENDS && st == CUZK_OK; t++) {
        const cuzk_cuda_options options = {.ordinal = 0,
                                           .threads = 4,
                                           .tables = t == 1,
                                           .in_turn = t == 2,
                                           .chunk = chunk[t],
                                           .share = t > STREAMED ? 2 : 1};
        st = cuzk_cuda_backend_open(&cuda[t], &options, &err);
    }
    if (st != CUZK_OK) {
        fprintf(stderr, "test_cuda_backend: %s\n", err.msg);
        return 1;
    }
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    for (int t = 0; t < BACKENDS; t++)
        cuda[t]->ops->close(cuda[t]);
    cpu->ops->close(cpu);
    cuzk_pool_free(pool);
    return failed;
}
