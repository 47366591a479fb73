/* rapidsnark's interface: return codes, sizes and messages that its callers rely on. */
#include "support.h"

#include "compat/key_cache.h"
#include "rapidsnark/prover.h"
#include "rapidsnark/verifier.h"
#include "unit/api/vectors.h"

#include <pthread.h>

typedef unsigned long long ull;

enum { PROOF = 1200, PUBLIC = 400000 };

static struct {
    char proof[PROOF], public[PUBLIC], msg[256];
    ull proof_size, public_size;
} io;

static void fresh_io(void) {
    memset(&io, 0, sizeof io);
    io.proof_size = PROOF;
    io.public_size = PUBLIC;
}

static int drop_keys(void **state) {
    (void)state;
    cuzk__key_cache_trim(0, 0);
    fresh_io();
    return 0;
}

static int prove(void *prover, bytes wtns) {
    return groth16_prover_prove(prover, wtns.p, wtns.n, io.proof, &io.proof_size, io.public,
                                &io.public_size, io.msg, sizeof io.msg);
}

static int prove_file(const char *zkey, bytes wtns) {
    return groth16_prover_zkey_file(zkey, wtns.p, wtns.n, io.proof, &io.proof_size, io.public,
                                    &io.public_size, io.msg, sizeof io.msg);
}

static void expect_valid(const char *vkey_path) {
    char msg[256] = "";
    assert_int_equal(io.proof_size, strlen(io.proof));
    assert_int_equal(io.public_size, strlen(io.public));
    if (!vkey_path) return;
    bytes vkey = read_file(vkey_path);
    int rc = groth16_verify(io.proof, io.public, (char *)vkey.p, msg, sizeof msg);
    if (rc != VERIFIER_VALID_PROOF) fail_msg("%s: %d: %s", vkey_path, rc, msg);
    free_bytes(&vkey);
}

typedef struct {
    const char *zkey, *wtns, *vkey;
    unsigned signals;
} circuit;

static const circuit circuits[] = {
    {ZKEY("bn128/mul3"), WTNS("bn128/mul3"), VKEY("bn128/mul3"), 1},
    {ZKEY("bn128/nopub"), WTNS("bn128/nopub"), VKEY("bn128/nopub"), 0},
    {ZKEY("bn128/semaphore20"), WTNS("bn128/semaphore20"), VKEY("bn128/semaphore20"), 4},
    {ZKEY("bn128/manypub"), WTNS("bn128/manypub"), NULL, 4096},
    {ZKEY("bls12381/poseidon2"), WTNS("bls12381/poseidon2"), VKEY("bls12381/poseidon2"), 1},
};

static void all_ways_prove(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof circuits / sizeof circuits[0]; i++) {
        const circuit *c = &circuits[i];
        bytes key = read_file(c->zkey), wtns = read_file(c->wtns);
        ull size = 0, proof_size = 0;
        assert_int_equal(
            groth16_public_size_for_zkey_buf(key.p, key.n, &size, io.msg, sizeof io.msg),
            PROVER_OK);
        assert_int_equal(size, 82 * c->signals + 4);
        size = 0;
        assert_int_equal(groth16_public_size_for_zkey_file(c->zkey, &size, NULL, 0), PROVER_OK);
        assert_int_equal(size, 82 * c->signals + 4);
        groth16_proof_size(&proof_size);
        assert_int_equal(proof_size, PROOF);

        void *from_file = NULL, *from_buffer = NULL;
        assert_int_equal(
            groth16_prover_create_zkey_file(&from_file, c->zkey, io.msg, sizeof io.msg), PROVER_OK);
        assert_int_equal(groth16_prover_create(&from_buffer, key.p, key.n, io.msg, sizeof io.msg),
                         PROVER_OK);
        fresh_io();
        assert_int_equal(groth16_prover(key.p, key.n, wtns.p, wtns.n, io.proof, &io.proof_size,
                                        io.public, &io.public_size, io.msg, sizeof io.msg),
                         PROVER_OK);
        expect_valid(c->vkey);
        memset(key.p, 0, key.n); /* the key is ours by now */
        free_bytes(&key);
        void *provers[2] = {from_file, from_buffer};
        for (int k = 0; k < 2; k++) {
            fresh_io();
            io.public_size = size;
            if (prove(provers[k], wtns) != PROVER_OK) fail_msg("%s", io.msg);
            expect_valid(c->vkey);
            groth16_prover_destroy(provers[k]);
        }
        fresh_io();
        assert_int_equal(prove_file(c->zkey, wtns), PROVER_OK);
        expect_valid(c->vkey);
        assert_string_equal(io.msg, "");
        free_bytes(&wtns);
    }
}

/* Sizes in, sizes out; and what a short buffer is told is enough for ever. */
static void short_buffers(void **state) {
    (void)state;
    bytes wtns = read_file(WTNS("bn128/mul3"));
    void *prover;
    assert_int_equal(groth16_prover_create_zkey_file(&prover, ZKEY("bn128/mul3"), NULL, 0),
                     PROVER_OK);
    for (ull size = 0; size < 900; size += size < 680 ? 170 : 5) {
        fresh_io();
        io.proof_size = size;
        memset(io.proof, 'x', PROOF);
        int rc = prove(prover, wtns);
        if (rc == PROVER_OK) {
            assert_true(io.proof_size < size);
            assert_int_equal(io.proof[io.proof_size], 0);
        } else {
            assert_int_equal(rc, PROVER_ERROR_SHORT_BUFFER);
            assert_true(io.proof_size > size && io.proof_size <= PROOF);
            assert_int_equal(io.proof[0], 'x');
            assert_non_null(strstr(io.msg, "Buffer insufficient"));
        }
        assert_int_equal(io.proof[size], 'x');
        if (rc == PROVER_OK && size > 760) break;
    }
    ull need = 0;
    for (ull size = 0; size < 12; size++) {
        fresh_io();
        io.public_size = size;
        memset(io.public, 'x', 16);
        int rc = prove(prover, wtns);
        if (rc == PROVER_ERROR_SHORT_BUFFER) {
            need = io.public_size;
            assert_true(need > size);
            assert_true(io.proof_size > 700);
        } else {
            assert_int_equal(rc, PROVER_OK);
            assert_int_equal(size, need);
            assert_int_equal(io.public_size, need - 1);
            break;
        }
        assert_int_equal(io.public[size], 'x');
    }
    assert_true(need > 3);
    groth16_prover_destroy(prover);
    /* The sizes of a refusal do, with every later proof: they are bounds, not this proof's. */
    fresh_io();
    io.proof_size = io.public_size = 0;
    assert_int_equal(prove_file(ZKEY("bn128/mul3"), wtns), PROVER_ERROR_SHORT_BUFFER);
    ull proof_bound = io.proof_size, public_bound = io.public_size;
    for (int i = 0; i < 5; i++) {
        io.proof_size = proof_bound;
        io.public_size = public_bound;
        assert_int_equal(prove_file(ZKEY("bn128/mul3"), wtns), PROVER_OK);
        assert_true(io.proof_size < proof_bound && io.proof_size > proof_bound - 60);
    }
    free_bytes(&wtns);
}

static void no_signals_are_an_empty_list(void **state) {
    (void)state;
    bytes wtns = read_file(WTNS("bn128/nopub")), vkey = read_file(VKEY("bn128/nopub"));
    io.public_size = 3;
    assert_int_equal(prove_file(ZKEY("bn128/nopub"), wtns), PROVER_OK);
    assert_string_equal(io.public, "[]");
    assert_int_equal(io.public_size, 2);
    assert_int_equal(groth16_verify(io.proof, "[]", (char *)vkey.p, NULL, 0), VERIFIER_VALID_PROOF);
    assert_int_equal(groth16_verify(io.proof, "[\"1\"]", (char *)vkey.p, NULL, 0),
                     VERIFIER_INVALID_PROOF);
    free_bytes(&wtns);
    free_bytes(&vkey);
}

static void refuses(const char *zkey, const char *wtns_path, int rc, const char *part) {
    bytes wtns = read_file(wtns_path);
    fresh_io();
    memset(io.proof, 'x', PROOF);
    assert_int_equal(prove_file(zkey, wtns), rc);
    if (!strstr(io.msg, part)) fail_msg("\"%s\" has no \"%s\"", io.msg, part);
    assert_int_equal(io.proof[0], 'x');
    assert_int_equal(io.proof_size, PROOF);
    assert_int_equal(io.public_size, PUBLIC);
    free_bytes(&wtns);
}

static void errors(void **state) {
    (void)state;
    const char *zkey = ZKEY("bn128/poseidon2"), *wtns = WTNS("bn128/poseidon2");
    refuses(zkey, WTNS("bn128/mul3"), PROVER_INVALID_WITNESS_LENGTH,
            "Invalid witness length. Circuit: 243, witness: 6");
    refuses(zkey, WTNS("bls12381/poseidon2"), PROVER_ERROR, "different wtns curve");
    refuses(zkey, MALFORMED("unsatisfied.wtns"), PROVER_ERROR, "satisfy");
    refuses(zkey, MALFORMED("truncated.wtns"), PROVER_ERROR, "section 2");
    refuses(zkey, zkey, PROVER_ERROR, "wtns");
    refuses(VECTORS "none.zkey", wtns, PROVER_ERROR, "none.zkey");
    refuses(MALFORMED("pointA_off_curve.zkey"), wtns, PROVER_ERROR, "section 5");
    refuses(MALFORMED("coef_constraint_oob.zkey"), wtns, PROVER_ERROR, "section 4");
    refuses(NULL, wtns, PROVER_ERROR, "Null");
    ull size = 7;
    assert_int_equal(groth16_public_size_for_zkey_file(MALFORMED("truncated.zkey"), &size, io.msg,
                                                       sizeof io.msg),
                     PROVER_ERROR);
    assert_int_equal(size, 7);
    assert_int_equal(groth16_public_size_for_zkey_buf(NULL, 0, &size, NULL, 0), PROVER_ERROR);
    assert_int_equal(groth16_public_size_for_zkey_buf("", 0, &size, NULL, 0), PROVER_ERROR);
    void *prover = NULL;
    assert_int_equal(groth16_prover_create(NULL, "", 0, NULL, 0), PROVER_ERROR);
    assert_int_equal(groth16_prover_create(&prover, NULL, 0, NULL, 0), PROVER_ERROR);
    assert_int_equal(groth16_prover_create(&prover, "zkey", 4, NULL, 0), PROVER_ERROR);
    assert_int_equal(groth16_prover_create_zkey_file(&prover, NULL, NULL, 0), PROVER_ERROR);
    assert_null(prover);
    assert_int_equal(prove(NULL, (bytes){(uint8_t *)&size, 1}), PROVER_ERROR);
    assert_string_equal(io.msg, "Null prover object");
    groth16_prover_destroy(NULL);
}

static void null_arguments_of_prove(void **state) {
    (void)state;
    void *p;
    ull n = 10;
    char b[10], m[64];
    bytes w = read_file(WTNS("bn128/mul3"));
    assert_int_equal(groth16_prover_create_zkey_file(&p, ZKEY("bn128/mul3"), NULL, 0), PROVER_OK);
    assert_int_equal(groth16_prover_prove(p, NULL, 1, b, &n, b, &n, m, sizeof m), PROVER_ERROR);
    assert_string_equal(m, "Null witness buffer");
    assert_int_equal(groth16_prover_prove(p, w.p, w.n, NULL, &n, b, &n, m, sizeof m), PROVER_ERROR);
    assert_string_equal(m, "Null proof buffer");
    assert_int_equal(groth16_prover_prove(p, w.p, w.n, b, NULL, b, &n, m, sizeof m), PROVER_ERROR);
    assert_string_equal(m, "Null proof size");
    assert_int_equal(groth16_prover_prove(p, w.p, w.n, b, &n, NULL, &n, m, sizeof m), PROVER_ERROR);
    assert_string_equal(m, "Null public buffer");
    assert_int_equal(groth16_prover_prove(p, w.p, w.n, b, &n, b, NULL, m, sizeof m), PROVER_ERROR);
    assert_string_equal(m, "Null public size");
    /* A message is cut to its buffer and always ends. */
    memset(m, 'x', sizeof m);
    assert_int_equal(groth16_prover_prove(NULL, w.p, w.n, b, &n, b, &n, m, 5), PROVER_ERROR);
    assert_string_equal(m, "Null");
    assert_int_equal(m[5], 'x');
    groth16_prover_destroy(p);
    free_bytes(&w);
}

static void verify_answers(void **state) {
    (void)state;
    char msg[128] = "";
    bytes vkey = read_file(VKEY("bn128/mul3")), wtns = read_file(WTNS("bn128/mul3"));
    assert_int_equal(prove_file(ZKEY("bn128/mul3"), wtns), PROVER_OK);
    const char *vk = (char *)vkey.p;
    assert_int_equal(groth16_verify(io.proof, io.public, vk, NULL, 0), VERIFIER_VALID_PROOF);
    assert_int_equal(groth16_verify(io.proof, "[\"1\"]", vk, msg, sizeof msg),
                     VERIFIER_INVALID_PROOF);
    assert_int_equal(groth16_verify(io.proof, "[]", vk, msg, sizeof msg), VERIFIER_INVALID_PROOF);
    assert_int_equal(groth16_verify(io.proof, "", vk, msg, sizeof msg), VERIFIER_ERROR);
    assert_true(strlen(msg) > 10);
    assert_int_equal(groth16_verify("{}", io.public, vk, msg, sizeof msg), VERIFIER_ERROR);
    assert_int_equal(groth16_verify(io.proof, io.public, "{}", msg, sizeof msg), VERIFIER_ERROR);
    assert_int_equal(groth16_verify(NULL, io.public, vk, msg, sizeof msg), VERIFIER_ERROR);
    /* A signal plus r. */
    char alias[128];
    snprintf(alias, sizeof alias,
             "[\"21888242871839275222246405745257275088548364400416034343698204186575808495%llu\"]",
             617 + strtoull(io.public + 2, NULL, 10));
    assert_int_equal(groth16_verify(io.proof, alias, vk, msg, sizeof msg), VERIFIER_INVALID_PROOF);
    free_bytes(&vkey);
    free_bytes(&wtns);
}

/* Threads with an object, with a file and with a buffer, all at once. */
typedef struct {
    unsigned id;
    int wrong;
    void *prover;
    bytes key, wtns, vkey;
    char msg[256];
} worker;

static void *prove_some(void *arg) {
    worker *w = arg;
    for (unsigned i = 0; i < 6; i++) {
        char proof[PROOF], public[1000];
        ull ps = sizeof proof, us = sizeof public;
        int rc;
        if ((i + w->id) % 3 == 0)
            rc = groth16_prover_prove(w->prover, w->wtns.p, w->wtns.n, proof, &ps, public, &us,
                                      w->msg, sizeof w->msg);
        else if ((i + w->id) % 3 == 1)
            rc = groth16_prover_zkey_file(ZKEY("bn128/poseidon2"), w->wtns.p, w->wtns.n, proof, &ps,
                                          public, &us, w->msg, sizeof w->msg);
        else
            rc = groth16_prover(w->key.p, w->key.n, w->wtns.p, w->wtns.n, proof, &ps, public, &us,
                                w->msg, sizeof w->msg);
        if (rc == PROVER_OK)
            rc = groth16_verify(proof, public, (char *)w->vkey.p, w->msg, sizeof w->msg);
        w->wrong += rc != 0;
    }
    return NULL;
}

static void threads_prove_at_once(void **state) {
    (void)state;
    enum { THREADS = 4 };
    pthread_t thread[THREADS];
    worker w[THREADS];
    worker common = {.key = read_file(ZKEY("bn128/poseidon2")),
                     .wtns = read_file(WTNS("bn128/poseidon2")),
                     .vkey = read_file(VKEY("bn128/poseidon2"))};
    assert_int_equal(
        groth16_prover_create_zkey_file(&common.prover, ZKEY("bn128/poseidon2"), NULL, 0),
        PROVER_OK);
    for (unsigned i = 0; i < THREADS; i++) {
        w[i] = common;
        w[i].id = i;
        assert_int_equal(pthread_create(&thread[i], NULL, prove_some, &w[i]), 0);
    }
    for (unsigned i = 0; i < THREADS; i++) {
        pthread_join(thread[i], NULL);
        if (w[i].wrong) fail_msg("%d wrong: %s", w[i].wrong, w[i].msg);
    }
    groth16_prover_destroy(common.prover);
    free_bytes(&common.key);
    free_bytes(&common.wtns);
    free_bytes(&common.vkey);
    cuzk_key_cache_stats stats;
    cuzk__key_cache_stats(&stats);
    assert_int_equal(stats.entries, 2);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(all_ways_prove, drop_keys),
        cmocka_unit_test_setup(short_buffers, drop_keys),
        cmocka_unit_test_setup(no_signals_are_an_empty_list, drop_keys),
        cmocka_unit_test_setup(errors, drop_keys),
        cmocka_unit_test_setup(null_arguments_of_prove, drop_keys),
        cmocka_unit_test_setup(verify_answers, drop_keys),
        cmocka_unit_test_setup_teardown(threads_prove_at_once, drop_keys, drop_keys),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
