/* One program with libcuzk.a, librapidsnark.a, a blst and a jansson of its own, and a plugin that
 * brings a third copy of everything: it links, and each works. */
#include "support.h"

#include "cuzk/cuzk.h"
#include "rapidsnark/prover.h"
#include "rapidsnark/verifier.h"
#include "unit/api/vectors.h"

#include <blst.h>
#include <dlfcn.h>

typedef unsigned long long ull;
typedef int prove_fn(const char *, const void *, ull, char *, ull *, char *, ull *);

/* jansson's own, by its prototype: its header is not needed for more. */
char *json_dumps(const void *json, size_t flags);
void *json_true(void);

static void their_own_copies_work(void **state) {
    (void)state;
    blst_p1 twice, sum;
    blst_p1_double(&twice, blst_p1_generator());
    blst_p1_add_or_double(&sum, blst_p1_generator(), blst_p1_generator());
    assert_true(blst_p1_is_equal(&twice, &sum));
    char *text = json_dumps(json_true(), 0x200);
    assert_string_equal(text, "true");
    free(text);
}

static void check(const char *proof, const char *signals) {
    bytes vkey = read_file(VKEY("bls12381/poseidon2"));
    cuzk_err err = {0};
    assert_int_equal(groth16_verify(proof, signals, (char *)vkey.p, NULL, 0), VERIFIER_VALID_PROOF);
    assert_int_equal(
        cuzk_verify((char *)vkey.p, vkey.n, signals, strlen(signals), proof, strlen(proof), &err),
        CUZK_OK);
    free_bytes(&vkey);
}

static void both_libraries_prove(void **state) {
    (void)state;
    cuzk_prover *p;
    cuzk_err err = {0};
    char *proof, *signals;
    assert_int_equal(cuzk_prover_open(&p, ZKEY("bls12381/poseidon2"), NULL, &err), CUZK_OK);
    assert_int_equal(
        cuzk_prover_prove_file(p, WTNS("bls12381/poseidon2"), NULL, &proof, &signals, &err),
        CUZK_OK);
    check(proof, signals);
    cuzk_string_free(proof);
    cuzk_string_free(signals);
    cuzk_prover_free(p);
}

static void prove_with(prove_fn *prove) {
    char proof[1200], signals[1000];
    ull proof_size = sizeof proof, signals_size = sizeof signals;
    bytes wtns = read_file(WTNS("bls12381/poseidon2"));
    assert_int_equal(prove(ZKEY("bls12381/poseidon2"), wtns.p, wtns.n, proof, &proof_size, signals,
                           &signals_size),
                     PROVER_OK);
    check(proof, signals);
    free_bytes(&wtns);
}

static int rapidsnark(const char *zkey, const void *wtns, ull wtns_size, char *proof,
                      ull *proof_size, char *signals, ull *signals_size) {
    return groth16_prover_zkey_file(zkey, wtns, wtns_size, proof, proof_size, signals, signals_size,
                                    NULL, 0);
}

static void rapidsnark_proves(void **state) {
    (void)state;
    prove_with(rapidsnark);
}

static void a_plugin_proves(void **state) {
    (void)state;
    void *handle = dlopen(PLUGIN, RTLD_NOW | RTLD_LOCAL);
    if (!handle) fail_msg("%s", dlerror());
    union {
        void *symbol;
        prove_fn *call;
    } prove = {.symbol = dlsym(handle, "plugin_prove")};
    assert_non_null(prove.symbol);
    prove_with(prove.call);
    assert_null(dlsym(handle, "blst_p1_double"));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(their_own_copies_work),
        cmocka_unit_test(both_libraries_prove),
        cmocka_unit_test(rapidsnark_proves),
        cmocka_unit_test(a_plugin_proves),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
