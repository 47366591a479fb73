/* A bit flipped in the result of an MSM: the proof is not given out, and the second computation
 * on the portable path tells a fault from an unsatisfied witness. Each case runs in a process of
 * its own, as the fault hook reads its environment once. */
#include "support.h"

#include "format/wtns.h"
#include "groth16/groth16.h"

#include <sys/wait.h>
#include <unistd.h>

#define CIRCUIT CUZK_TEST_VECTORS "/circom/bls12381/poseidon2"

static int prove_with_fault(const char *fault) {
    pid_t pid = fork();
    if (pid == 0) {
        setenv("CUZK_FAULT", fault, 1);
        cuzk_zkey *key;
        cuzk_wtns *w;
        cuzk_proof proof;
        cuzk_err err = {0};
        if (cuzk_zkey_open(&key, CIRCUIT "/circuit_final.zkey", CUZK_ZKEY_CHECK_SHAPE, NULL, &err))
            _exit(100);
        if (cuzk_wtns_open(&w, CIRCUIT "/witness.wtns", &err)) _exit(101);
        cuzk_status st = cuzk_groth16_prove(key, w->values, NULL, &proof, NULL, &err);
        static const cuzk_proof none;
        if (st != CUZK_OK && memcmp(&proof.a, &none.a, sizeof none.a) != 0) _exit(102);
        cuzk_wtns_free(w);
        cuzk_zkey_free(key);
        _exit(cuzk_status_exit_code(st));
    }
    int status = 0;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status));
    return WEXITSTATUS(status);
}

static void one_wrong_result_is_a_fault(void **state) {
    (void)state;
    assert_int_equal(prove_with_fault("none"), 0);
    static const char *const stages[] = {"msm_a:1", "msm_b1:1", "msm_b2:1", "msm_c:1", "msm_h:1"};
    for (size_t i = 0; i < sizeof stages / sizeof *stages; i++)
        assert_int_equal(prove_with_fault(stages[i]), 70);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(one_wrong_result_is_a_fault)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
