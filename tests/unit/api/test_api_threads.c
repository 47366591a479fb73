/* Many threads prove at once, on one handle and on several: every proof must be valid. Runs for
 * two seconds; CUZK_TEST_SECONDS makes it longer. */
#include "support.h"

#include "base/clock.h"
#include "cuzk/cuzk.h"
#include "unit/api/vectors.h"

#include <pthread.h>

enum { THREADS = 4, KEYS = 3 };

static struct {
    cuzk_prover *prover[KEYS];
    cuzk_verifier *verifier[KEYS];
    int64_t until_ns;
} shared;

static const char *const zkeys[KEYS] = {ZKEY("bn128/poseidon2"), ZKEY("bls12381/mul3"),
                                        ZKEY("bn128/poseidon2")};
static const char *const wtns[KEYS] = {WTNS("bn128/poseidon2"), WTNS("bls12381/mul3"),
                                       WTNS("bn128/poseidon2")};

typedef struct {
    unsigned id, proofs, wrong;
    char first[700];
} worker;

static void one_proof(worker *w, unsigned k) {
    char *proof, *signals;
    cuzk_err err = {0};
    cuzk_status st =
        cuzk_prover_prove_file(shared.prover[k], wtns[k], NULL, &proof, &signals, &err);
    if (st == CUZK_OK)
        st = cuzk_verifier_verify(shared.verifier[k], signals, strlen(signals), proof,
                                  strlen(proof), &err);
    if (st != CUZK_OK && !w->wrong++) snprintf(w->first, sizeof w->first, "%s", err.msg);
    w->proofs++;
    cuzk_string_free(proof);
    cuzk_string_free(signals);
}

static void *prove_until(void *arg) {
    worker *w = arg;
    for (unsigned i = w->id; w->proofs < 2 || cuzk_now_ns() < shared.until_ns; i++)
        one_proof(w, i % KEYS);
    return NULL;
}

static void every_proof_is_valid(void **state) {
    (void)state;
    const char *seconds = getenv("CUZK_TEST_SECONDS");
    cuzk_prover_options own = CUZK_PROVER_OPTIONS_INIT;
    own.threads = 2;
    for (int k = 0; k < KEYS; k++) {
        cuzk_err err = {0};
        if (cuzk_prover_open(&shared.prover[k], zkeys[k], k == 2 ? &own : NULL, &err) ||
            cuzk_verifier_from_prover(&shared.verifier[k], shared.prover[k], &err))
            fail_msg("%s", err.msg);
    }
    shared.until_ns =
        cuzk_now_ns() + (int64_t)(seconds ? strtoul(seconds, NULL, 10) : 2) * 1000000000;
    pthread_t thread[THREADS];
    worker w[THREADS];
    memset(w, 0, sizeof w);
    for (unsigned i = 0; i < THREADS; i++) {
        w[i].id = i;
        assert_int_equal(pthread_create(&thread[i], NULL, prove_until, &w[i]), 0);
    }
    unsigned proofs = 0;
    for (unsigned i = 0; i < THREADS; i++) {
        pthread_join(thread[i], NULL);
        proofs += w[i].proofs;
    }
    for (unsigned i = 0; i < THREADS; i++) {
        if (w[i].wrong) fail_msg("%u of %u proofs: %s", w[i].wrong, w[i].proofs, w[i].first);
    }
    fprintf(stderr, "%u proofs\n", proofs);
    for (int k = 0; k < KEYS; k++) {
        cuzk_prover_free(shared.prover[k]);
        cuzk_verifier_free(shared.verifier[k]);
    }
}

/* Handles open and close while others prove: the shared threads come and go. */
static void *open_and_close(void *arg) {
    worker *w = arg;
    for (int i = 0; i < 8; i++) {
        cuzk_prover *p;
        char *proof = NULL;
        cuzk_err err = {0};
        cuzk_status st = cuzk_prover_open(&p, ZKEY("bn128/mul3"), NULL, &err);
        if (st == CUZK_OK)
            st = cuzk_prover_prove_file(p, WTNS("bn128/mul3"), NULL, &proof, NULL, &err);
        if (st != CUZK_OK && !w->wrong++) snprintf(w->first, sizeof w->first, "%s", err.msg);
        cuzk_string_free(proof);
        cuzk_prover_free(p);
    }
    return NULL;
}

static void handles_come_and_go(void **state) {
    (void)state;
    pthread_t thread[THREADS];
    worker w[THREADS];
    memset(w, 0, sizeof w);
    for (unsigned i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&thread[i], NULL, open_and_close, &w[i]), 0);
    for (unsigned i = 0; i < THREADS; i++)
        pthread_join(thread[i], NULL);
    for (unsigned i = 0; i < THREADS; i++) {
        if (w[i].wrong) fail_msg("%s", w[i].first);
    }
}

/* What include/cuzk/prover.h promises; sanitizers' frames are several times as large. */
static size_t small_stack(void) {
#ifdef CUZK_TEST_SANITIZED
    return 1 << 20;
#else
    return 128 << 10;
#endif
}

static void *whole_life(void *arg) {
    worker *w = arg;
    for (int k = 0; k < KEYS; k++) {
        cuzk_err err = {0};
        if (cuzk_prover_open(&shared.prover[k], zkeys[k], NULL, &err) ||
            cuzk_verifier_from_prover(&shared.verifier[k], shared.prover[k], &err)) {
            w->wrong++;
            snprintf(w->first, sizeof w->first, "%s", err.msg);
            return NULL;
        }
        one_proof(w, (unsigned)k);
        cuzk_prover_free(shared.prover[k]);
        cuzk_verifier_free(shared.verifier[k]);
    }
    return NULL;
}

static void a_small_stack_is_enough(void **state) {
    (void)state;
    pthread_attr_t attr;
    pthread_t thread;
    worker w = {0};
    assert_int_equal(pthread_attr_init(&attr), 0);
    assert_int_equal(pthread_attr_setstacksize(&attr, small_stack()), 0);
    assert_int_equal(pthread_create(&thread, &attr, whole_life, &w), 0);
    pthread_join(thread, NULL);
    pthread_attr_destroy(&attr);
    if (w.wrong) fail_msg("%s", w.first);
    assert_int_equal(w.proofs, KEYS);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_small_stack_is_enough),
        cmocka_unit_test(every_proof_is_valid),
        cmocka_unit_test(handles_come_and_go),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
