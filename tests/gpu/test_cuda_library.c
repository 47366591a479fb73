/* libcuzk on a device: its proofs are those of the CPU for fixed blinding, from any threads, and
 * what a handle took it gives back. */
#include "support.h"

#include "api/handle.h"
#include "backend/cuda/cuda.h"
#include "cuzk/cuzk.h"
#include "unit/api/vectors.h"

#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

static const char *const names[][2] = {
    {ZKEY("bn128/mul3"), WTNS("bn128/mul3")},
    {ZKEY("bn128/poseidon2"), WTNS("bn128/poseidon2")},
    {ZKEY("bls12381/mul3"), WTNS("bls12381/mul3")},
    {ZKEY("bls12381/poseidon2"), WTNS("bls12381/poseidon2")},
};
enum { KEYS = sizeof names / sizeof *names };

static cuzk_prover *open_on(const char *zkey, const char *device) {
    cuzk_prover_options o = CUZK_PROVER_OPTIONS_INIT;
    cuzk_prover *p;
    cuzk_err err = {0};
    o.device = device;
    if (cuzk_prover_open(&p, zkey, &o, &err)) fail_msg("%s: %s", device, err.msg);
    return p;
}

static void equal_proofs(void **state) {
    const cuzk_u256 r = {{123, 0, 0, 0}}, s = {{456, 0, 0, 0}};
    static const char *const device[] = {"cpu", "cuda", "cuda:0"};
    (void)state;
    for (int k = 0; k < KEYS; k++) {
        char *proof[3], *signals[3];
        for (int d = 0; d < 3; d++) {
            cuzk_prover *p = open_on(names[k][0], device[d]);
            cuzk_key_info info = CUZK_KEY_INFO_INIT;
            cuzk_err err = {0};
            assert_int_equal(cuzk_prover_info(p, &info), CUZK_OK);
            assert_string_equal(info.device, d ? "cuda:0" : "cpu");
            if (cuzk__prover_prove_fixed(p, names[k][1], &r, &s, &proof[d], &signals[d], &err))
                fail_msg("%s", err.msg);
            cuzk_prover_free(p);
        }
        for (int d = 1; d < 3; d++) {
            assert_string_equal(proof[0], proof[d]);
            assert_string_equal(signals[0], signals[d]);
        }
        for (int d = 0; d < 3; d++) {
            cuzk_string_free(proof[d]);
            cuzk_string_free(signals[d]);
        }
    }
}

static void report(void **state) {
    cuzk_prover *p = open_on(names[1][0], "cuda");
    char *text, *proof;
    cuzk_prove_options o = CUZK_PROVE_OPTIONS_INIT;
    cuzk_err err = {0};
    (void)state;
    o.report = &text;
    if (cuzk_prover_prove_file(p, names[1][1], &o, &proof, NULL, &err)) fail_msg("%s", err.msg);
    assert_non_null(strstr(text, "\"device\":\"cuda:0\",\"device_name\":\""));
    assert_non_null(
        strstr(text, "\"msm_h\":\"cuda:0\",\"verify\":\"cpu\"},\"sums_on\":\"cuda:0\","));
    assert_non_null(strstr(text, "\"device_ms\":{\"upload\":"));
    assert_non_null(strstr(text, "\"bytes_to_device\":7776,")); /* 243 wires */
    cuzk_string_free(text);
    cuzk_string_free(proof);
    cuzk_prover_free(p);
}

/* ---- many threads, few slots ---- */

enum { THREADS = 5, PROOFS = 12 };

typedef struct {
    cuzk_prover *prover;
    cuzk_verifier *verifier;
    const char *wtns;
    int wrong;
    pthread_t thread;
} user;

static void *prove_many(void *arg) {
    user *u = arg;
    for (int i = 0; i < PROOFS; i++) {
        char *proof = NULL, *signals = NULL;
        cuzk_status st = cuzk_prover_prove_file(u->prover, u->wtns, NULL, &proof, &signals, NULL);
        if (st == CUZK_OK)
            st = cuzk_verifier_verify(u->verifier, signals, strlen(signals), proof, strlen(proof),
                                      NULL);
        u->wrong += st != CUZK_OK;
        cuzk_string_free(proof);
        cuzk_string_free(signals);
    }
    return NULL;
}

static void threads(void **state) {
    user u[THREADS];
    cuzk_prover *p[2];
    cuzk_verifier *v[2];
    cuzk_err err = {0};
    (void)state;
    for (int k = 0; k < 2; k++) {
        p[k] = open_on(names[k + 1][0], "cuda");
        if (cuzk_verifier_from_prover(&v[k], p[k], &err)) fail_msg("%s", err.msg);
    }
    for (int i = 0; i < THREADS; i++) {
        u[i] = (user){.prover = p[i % 2], .verifier = v[i % 2], .wtns = names[i % 2 + 1][1]};
        assert_int_equal(pthread_create(&u[i].thread, NULL, prove_many, &u[i]), 0);
    }
    for (int i = 0; i < THREADS; i++) {
        pthread_join(u[i].thread, NULL);
        assert_int_equal(u[i].wrong, 0);
    }
    for (int k = 0; k < 2; k++) {
        cuzk_verifier_free(v[k]);
        cuzk_prover_free(p[k]);
    }
}

/* ---- memory ---- */

static size_t bytes_free(void) {
    cuzk_cuda *dev;
    cuzk_cuda_info info;
    cuzk_err err = {0};
    if (cuzk_cuda_open(&dev, 0, &err) || cuzk_cuda_get_info(dev, &info, &err))
        fail_msg("%s", err.msg);
    cuzk_cuda_close(dev);
    return info.bytes_free;
}

static void memory_comes_back(void **state) {
    size_t before = 0;
    (void)state;
    for (int i = 0; i < 4; i++) {
        cuzk_prover_free(open_on(names[i % KEYS][0], "cuda"));
        if (i == 1) before = bytes_free(); /* the runtime has what it keeps */
    }
    assert_int_equal(bytes_free(), before);
}

/* The device belongs to the process that opened it; the child may free the handle. */
static void after_a_fork(void **state) {
    cuzk_prover *p = open_on(names[0][0], "cuda");
    char *proof = NULL;
    int status;
    (void)state;
    const pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        const cuzk_status st = cuzk_prover_prove_file(p, names[0][1], NULL, &proof, NULL, NULL);
        cuzk_prover_free(p);
        _exit(st == CUZK_STATUS_USAGE && !proof ? 0 : 1);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
    assert_int_equal(cuzk_prover_prove_file(p, names[0][1], NULL, &proof, NULL, NULL), CUZK_OK);
    cuzk_string_free(proof);
    cuzk_prover_free(p);
}

int main(void) {
    if (cuzk_cuda_device_count() == 0) {
        fputs("test_cuda_library: no CUDA device: skipped\n", stderr);
        return 77;
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(equal_proofs), cmocka_unit_test(report),
        cmocka_unit_test(threads),      cmocka_unit_test(memory_comes_back),
        cmocka_unit_test(after_a_fork),
    };
    test_rng_start();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
