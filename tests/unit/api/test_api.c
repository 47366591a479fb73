/* The installed interface: what each function gives, refuses and leaves alone. */
#include "support.h"

#include "api/handle.h"
#include "cuzk/cuzk.h"
#include "unit/api/vectors.h"
#include "unit/format/outside_points.h"

#include <sys/wait.h>
#include <unistd.h>

static cuzk_err err;

static int reset(void **state) {
    (void)state;
    memset(&err, 0, sizeof err);
    return 0;
}

static cuzk_prover *open_key(const char *path) {
    cuzk_prover *p;
    if (cuzk_prover_open(&p, path, NULL, &err) != CUZK_OK) fail_msg("%s", err.msg);
    assert_non_null(p);
    return p;
}

static void prove_file(const cuzk_prover *p, const char *wtns, char **proof, char **signals) {
    if (cuzk_prover_prove_file(p, wtns, NULL, proof, signals, &err) != CUZK_OK)
        fail_msg("%s", err.msg);
}

static cuzk_status verify(const cuzk_verifier *v, const char *signals, const char *proof) {
    return cuzk_verifier_verify(v, signals, strlen(signals), proof, strlen(proof), &err);
}

typedef struct {
    const char *zkey, *wtns, *vkey, *curve;
    uint32_t wires, signals;
    uint64_t domain;
} circuit;

static const circuit circuits[] = {
    {ZKEY("bn128/mul3"), WTNS("bn128/mul3"), VKEY("bn128/mul3"), "bn128", 6, 1, 4},
    {ZKEY("bn128/nopub"), WTNS("bn128/nopub"), VKEY("bn128/nopub"), "bn128", 4, 0, 4},
    {ZKEY("bn128/poseidon2"), WTNS("bn128/poseidon2"), VKEY("bn128/poseidon2"), "bn128", 243, 1,
     256},
    {ZKEY("bls12381/mul3"), WTNS("bls12381/mul3"), VKEY("bls12381/mul3"), "bls12381", 6, 1, 4},
    {ZKEY("bls12381/poseidon2"), WTNS("bls12381/poseidon2"), VKEY("bls12381/poseidon2"), "bls12381",
     243, 1, 256},
};
enum { CIRCUITS = sizeof circuits / sizeof circuits[0] };

static void check_info(const cuzk_prover *p, const circuit *c) {
    cuzk_key_info info = CUZK_KEY_INFO_INIT;
    assert_int_equal(cuzk_prover_info(p, &info), CUZK_OK);
    assert_string_equal(info.curve, c->curve);
    assert_int_equal(info.wires, c->wires);
    assert_int_equal(info.signals, c->signals);
    assert_int_equal(info.domain_size, c->domain);
    assert_true(info.coefficients > 0);
    bytes file = read_file(c->zkey);
    assert_int_equal(info.key_bytes, file.n);
    assert_string_equal(info.device, "cpu");
    info.size--;
    assert_int_equal(cuzk_prover_info(p, &info), CUZK_STATUS_USAGE);
    /* as the first version had it */
    cuzk_key_info old = {.size = offsetof(cuzk_key_info, device), .device = "untouched"};
    assert_int_equal(cuzk_prover_info(p, &old), CUZK_OK);
    assert_int_equal(old.key_bytes, file.n);
    assert_string_equal(old.device, "untouched");
    free_bytes(&file);
}

static void proofs_verify(void **state) {
    (void)state;
    for (int i = 0; i < CIRCUITS; i++) {
        const circuit *c = &circuits[i];
        cuzk_prover *p = open_key(c->zkey);
        check_info(p, c);
        char *proof, *signals, *again;
        prove_file(p, c->wtns, &proof, &signals);
        prove_file(p, c->wtns, &again, NULL);
        assert_string_not_equal(proof, again);
        assert_null(strchr(proof, '\n'));
        assert_ptr_equal(strstr(proof, "{\"curve\":\""), proof);

        cuzk_verifier *mine, *theirs;
        bytes vkey = read_file(c->vkey);
        assert_int_equal(cuzk_verifier_from_prover(&mine, p, &err), CUZK_OK);
        assert_int_equal(cuzk_verifier_open_json(&theirs, (char *)vkey.p, vkey.n, &err), CUZK_OK);
        cuzk_prover_free(p);
        assert_int_equal(verify(mine, signals, proof), CUZK_OK);
        assert_int_equal(verify(theirs, signals, again), CUZK_OK);
        assert_int_equal(cuzk_verify((char *)vkey.p, vkey.n, signals, strlen(signals), proof,
                                     strlen(proof), &err),
                         CUZK_OK);
        assert_int_equal(err.msg[0], 0);
        free_bytes(&vkey);
        cuzk_verifier_free(mine);
        cuzk_verifier_free(theirs);
        cuzk_string_free(proof);
        cuzk_string_free(signals);
        cuzk_string_free(again);
    }
}

/* The form for files: byte for byte that of snarkjs, as the vectors' public.json shows it. */
static void snarkjs_form(void **state) {
    (void)state;
    cuzk_prover *p = open_key(ZKEY("bls12381/poseidon2"));
    cuzk_prove_options o = CUZK_PROVE_OPTIONS_INIT;
    o.form = CUZK_JSON_FORM_SNARKJS;
    char *proof, *signals, *vkey;
    assert_int_equal(
        cuzk_prover_prove_file(p, WTNS("bls12381/poseidon2"), &o, &proof, &signals, &err), CUZK_OK);
    bytes want = read_file(VECTORS "bls12381/poseidon2/public.json");
    assert_string_equal(signals, (char *)want.p);
    assert_ptr_equal(strstr(proof, "{\n \"pi_a\": [\n"), proof);
    free_bytes(&want);
    assert_int_equal(cuzk_prover_verification_key(p, &vkey, &err), CUZK_OK);
    want = read_file(VKEY("bls12381/poseidon2"));
    assert_string_equal(vkey, (char *)want.p);
    free_bytes(&want);
    o.form = (cuzk_json_form)7;
    cuzk_string_free(proof);
    cuzk_string_free(signals);
    cuzk_string_free(vkey);
    assert_int_equal(
        cuzk_prover_prove_file(p, WTNS("bls12381/poseidon2"), &o, &proof, &signals, &err),
        CUZK_STATUS_USAGE);
    assert_null(proof);
    assert_null(signals);
    cuzk_prover_free(p);
}

/* A key from memory owns a copy; a witness from memory stays the caller's. */
static void memory_is_owned(void **state) {
    (void)state;
    bytes key = read_file(ZKEY("bn128/poseidon2")), wtns = read_file(WTNS("bn128/poseidon2"));
    bytes before = read_file(WTNS("bn128/poseidon2"));
    cuzk_prover *p;
    assert_int_equal(cuzk_prover_open_memory(&p, key.p, key.n, NULL, &err), CUZK_OK);
    memset(key.p, 0xff, key.n);
    free_bytes(&key);
    char *proof, *signals;
    cuzk_verifier *v;
    assert_int_equal(cuzk_prover_prove(p, wtns.p, wtns.n, NULL, &proof, &signals, &err), CUZK_OK);
    assert_memory_equal(wtns.p, before.p, wtns.n);
    assert_int_equal(cuzk_verifier_from_prover(&v, p, &err), CUZK_OK);
    assert_int_equal(verify(v, signals, proof), CUZK_OK);
    cuzk_verifier_free(v);
    cuzk_string_free(proof);
    cuzk_string_free(signals);
    cuzk_prover_free(p);
    free_bytes(&wtns);
    free_bytes(&before);
}

static void expect_open(const char *path, const cuzk_prover_options *o, cuzk_status st,
                        const char *part) {
    cuzk_prover *p = (cuzk_prover *)&err;
    memset(&err, 0, sizeof err);
    assert_int_equal(cuzk_prover_open(&p, path, o, &err), st);
    assert_null(p);
    if (!strstr(err.msg, part)) fail_msg("\"%s\" has no \"%s\"", err.msg, part);
    assert_int_equal(cuzk_prover_open(&p, path, o, NULL), st);
}

/* What was asked for is used, or the key is not opened. */
static void devices(void **state) {
    static const char *const wrong[] = {"",        "gpu",   "CUDA",    "cuda:",      "cuda:x",
                                        "cuda:1x", "cuda0", "cuda:-1", "cuda:10000", "cpu:0"};
    cuzk_prover_options o = CUZK_PROVER_OPTIONS_INIT;
    cuzk_prover *p;
    (void)state;
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        o.device = wrong[i];
        expect_open(ZKEY("bn128/mul3"), &o, CUZK_STATUS_USAGE, "cpu, cuda or cuda:N");
    }
    o.device = "cuda:9999"; /* nobody has so many */
    expect_open(ZKEY("bn128/mul3"), &o, CUZK_STATUS_NO_DEVICE, "cuda");
    o.device = "cpu";
    assert_int_equal(cuzk_prover_open(&p, ZKEY("bn128/mul3"), &o, &err), CUZK_OK);
    cuzk_prover_free(p);
    o.device = "cuda:9999"; /* not looked at: as the first version had it */
    o.size = offsetof(cuzk_prover_options, device);
    assert_int_equal(cuzk_prover_open(&p, ZKEY("bn128/mul3"), &o, &err), CUZK_OK);
    cuzk_prover_free(p);
}

static void reports(void **state) {
    cuzk_prover *p = open_key(ZKEY("bn128/mul3"));
    char *report = NULL, *proof;
    cuzk_prove_options o = CUZK_PROVE_OPTIONS_INIT;
    (void)state;
    o.report = &report;
    assert_int_equal(cuzk_prover_prove_file(p, WTNS("bn128/mul3"), &o, &proof, NULL, &err),
                     CUZK_OK);
    assert_non_null(strstr(report, "{\"device\":\"cpu\",\"stages\":{\"eval\":"));
    assert_non_null(strstr(report, "\"msm_h\":\"cpu\",\"verify\":\"cpu\"},\"sums_on\":\"cpu\"}"));
    cuzk_string_free(proof);
    cuzk_string_free(report);
    report = (char *)&o;
    assert_int_equal(cuzk_prover_prove_file(p, VECTORS "none.wtns", &o, &proof, NULL, &err),
                     CUZK_STATUS_IO);
    assert_null(report);
    report = (char *)&o; /* as the first version had it */
    o.size = offsetof(cuzk_prove_options, report);
    assert_int_equal(cuzk_prover_prove_file(p, WTNS("bn128/mul3"), &o, &proof, NULL, &err),
                     CUZK_OK);
    assert_ptr_equal(report, &o);
    cuzk_string_free(proof);
    cuzk_prover_free(p);
}

static void bad_keys(void **state) {
    (void)state;
    expect_open(VECTORS "none.zkey", NULL, CUZK_STATUS_IO, "none.zkey");
    expect_open(WTNS("bn128/mul3"), NULL, CUZK_STATUS_BAD_INPUT, "zkey");
    expect_open(MALFORMED("truncated.zkey"), NULL, CUZK_STATUS_BAD_INPUT, "section 7");
    expect_open(MALFORMED("pointA_off_curve.zkey"), NULL, CUZK_STATUS_BAD_INPUT, "section 5");
    expect_open(NULL, NULL, CUZK_STATUS_USAGE, "zkey_path");
    cuzk_prover_options o = CUZK_PROVER_OPTIONS_INIT;
    o.threads = 5000;
    expect_open(ZKEY("bn128/mul3"), &o, CUZK_STATUS_USAGE, "threads");
    o = (cuzk_prover_options)CUZK_PROVER_OPTIONS_INIT;
    o.check = (cuzk_key_check)9;
    expect_open(ZKEY("bn128/mul3"), &o, CUZK_STATUS_USAGE, "cuzk_key_check");
    o = (cuzk_prover_options)CUZK_PROVER_OPTIONS_INIT;
    o.size = 4;
    expect_open(ZKEY("bn128/mul3"), &o, CUZK_STATUS_USAGE, "size");
    o = (cuzk_prover_options)CUZK_PROVER_OPTIONS_INIT;
    o.check = CUZK_KEY_CHECK_CURVE;
    expect_open(MALFORMED("pointA_off_curve.zkey"), &o, CUZK_STATUS_BAD_INPUT, "section 5");
    assert_int_equal(cuzk_prover_open(NULL, ZKEY("bn128/mul3"), NULL, &err), CUZK_STATUS_USAGE);
    cuzk_prover *p;
    assert_int_equal(cuzk_prover_open_memory(&p, NULL, 1, NULL, &err), CUZK_STATUS_USAGE);
    assert_int_equal(cuzk_prover_open_memory(&p, "zkey", 4, NULL, &err), CUZK_STATUS_BAD_INPUT);
}

/* Opened with the lightest check, a bad key is named when its proof does not verify. */
static void a_light_check_is_made_up_for(void **state) {
    (void)state;
    cuzk_prover_options o = CUZK_PROVER_OPTIONS_INIT;
    o.check = CUZK_KEY_CHECK_SHAPE;
    cuzk_prover *p;
    char *proof, *signals;
    assert_int_equal(cuzk_prover_open(&p, MALFORMED("pointA_off_curve.zkey"), &o, &err), CUZK_OK);
    assert_int_equal(
        cuzk_prover_prove_file(p, WTNS("bn128/poseidon2"), NULL, &proof, &signals, &err),
        CUZK_STATUS_BAD_INPUT);
    assert_non_null(strstr(err.msg, "section 5"));
    assert_null(proof);
    assert_null(signals);
    cuzk_prover_free(p);
}

/* B2[5] becomes a point of the twist outside G2: only the full check, the default, sees it. */
static void subgroups_are_checked_by_default(void **state) {
    (void)state;
    bytes key = read_file(ZKEY("bn128/poseidon2"));
    cuzk_prover *p;
    assert_int_equal(cuzk_prover_open_memory(&p, key.p, key.n, NULL, &err), CUZK_OK);
    const cuzk_zkey *zk = p->key->zkey;
    uint8_t *at = key.p + (zk->b2 - zk->data) + 5 * zk->curve->g2.point_size;
    for (size_t i = 0; i < 4; i++)
        zk->curve->fp_to_mont(at + 32 * i, outside_bn254_g2 + 4 * i);
    cuzk_prover_free(p);
    assert_int_equal(cuzk_prover_open_memory(&p, key.p, key.n, NULL, &err), CUZK_STATUS_BAD_INPUT);
    assert_non_null(strstr(err.msg, "section 7"));
    cuzk_prover_options o = CUZK_PROVER_OPTIONS_INIT;
    o.check = CUZK_KEY_CHECK_CURVE;
    assert_int_equal(cuzk_prover_open_memory(&p, key.p, key.n, &o, &err), CUZK_OK);
    cuzk_prover_free(p);
    free_bytes(&key);
}

static void expect_witness(const cuzk_prover *p, const char *path, cuzk_status st,
                           const char *part) {
    char *proof = &err.msg[0], *signals = &err.msg[0];
    memset(&err, 0, sizeof err);
    cuzk_status got = cuzk_prover_prove_file(p, path, NULL, &proof, &signals, &err);
    if (got != st) fail_msg("%s: %d (%s), expected %d", path, (int)got, err.msg, (int)st);
    assert_null(proof);
    assert_null(signals);
    if (!strstr(err.msg, part)) fail_msg("\"%s\" has no \"%s\"", err.msg, part);
    if (st == CUZK_STATUS_IO) return;
    bytes w = read_file(path);
    memset(&err, 0, sizeof err);
    assert_int_equal(cuzk_prover_prove(p, w.p, w.n, NULL, &proof, &signals, &err), st);
    assert_null(proof);
    if (!strstr(err.msg, part)) fail_msg("\"%s\" has no \"%s\"", err.msg, part);
    free_bytes(&w);
}

static void bad_witnesses(void **state) {
    (void)state;
    cuzk_prover *p = open_key(ZKEY("bn128/poseidon2"));
    expect_witness(p, VECTORS "none.wtns", CUZK_STATUS_IO, "none.wtns");
    expect_witness(p, MALFORMED("truncated.wtns"), CUZK_STATUS_BAD_INPUT, "section 2");
    expect_witness(p, MALFORMED("noncanonical_private.wtns"), CUZK_STATUS_BAD_INPUT, "wire 242");
    expect_witness(p, MALFORMED("wire0_is_2.wtns"), CUZK_STATUS_BAD_INPUT, "wire 0");
    expect_witness(p, MALFORMED("wrong_prime.wtns"), CUZK_STATUS_BAD_INPUT, "section 1");
    expect_witness(p, MALFORMED("unsatisfied.wtns"), CUZK_STATUS_FALSE, "satisfy");
    expect_witness(p, WTNS("bn128/mul3"), CUZK_STATUS_BAD_INPUT, "6 values");
    expect_witness(p, WTNS("bn128/mul3"), CUZK_STATUS_BAD_INPUT, "243 wires");
    expect_witness(p, WTNS("bls12381/poseidon2"), CUZK_STATUS_BAD_INPUT, "bls12381");
    char *proof, *signals;
    assert_int_equal(cuzk_prover_prove(p, NULL, 0, NULL, &proof, &signals, &err),
                     CUZK_STATUS_USAGE);
    assert_int_equal(cuzk_prover_prove(NULL, "", 0, NULL, &proof, &signals, &err),
                     CUZK_STATUS_USAGE);
    assert_int_equal(cuzk_prover_prove_file(p, NULL, NULL, &proof, &signals, &err),
                     CUZK_STATUS_USAGE);
    /* A refusal leaves the handle usable. */
    prove_file(p, WTNS("bn128/poseidon2"), &proof, NULL);
    cuzk_string_free(proof);
    cuzk_prover_free(p);
}

static void false_proofs(void **state) {
    (void)state;
    static const char r[] =
        "21888242871839275222246405745257275088548364400416034343698204186575808495617";
    cuzk_prover *p = open_key(ZKEY("bn128/mul3"));
    char *proof, *signals, *other;
    cuzk_verifier *v;
    prove_file(p, WTNS("bn128/mul3"), &proof, &signals);
    assert_int_equal(cuzk_verifier_from_prover(&v, p, &err), CUZK_OK);
    assert_int_equal(verify(v, "[\"1\"]", proof), CUZK_STATUS_FALSE);
    assert_int_equal(verify(v, "[]", proof), CUZK_STATUS_FALSE);
    assert_int_equal(verify(v, "[\"1\",\"2\"]", proof), CUZK_STATUS_FALSE);
    /* The same signal plus r: its decimal text by hand, the last digits only. */
    char alias[128];
    uint64_t value = strtoull(signals + 2, NULL, 10);
    assert_true(value > 0 && value < 1000);
    snprintf(alias, sizeof alias, "[\"%.*s%llu\"]", (int)strlen(r) - 3, r,
             (unsigned long long)(617 + value));
    assert_int_equal(verify(v, alias, proof), CUZK_STATUS_FALSE);
    assert_non_null(strstr(err.msg, "below"));
    assert_int_equal(verify(v, "{}", proof), CUZK_STATUS_BAD_INPUT);
    assert_int_equal(verify(v, signals, "[1]"), CUZK_STATUS_BAD_INPUT);
    assert_int_equal(verify(v, signals, ""), CUZK_STATUS_BAD_INPUT);
    assert_int_equal(cuzk_verifier_verify(v, NULL, 0, proof, 1, &err), CUZK_STATUS_USAGE);
    /* A digit changed: no point of the curve any more. */
    char *digit = strstr(proof, "\"pi_c\":[\"") + 9;
    *digit = *digit == '1' ? '2' : '1';
    assert_int_equal(verify(v, signals, proof), CUZK_STATUS_FALSE);
    /* A proof of another circuit. */
    cuzk_prover *q = open_key(ZKEY("bn128/poseidon2"));
    prove_file(q, WTNS("bn128/poseidon2"), &other, NULL);
    assert_int_equal(verify(v, signals, other), CUZK_STATUS_FALSE);
    cuzk_prover_free(q);
    cuzk_prover_free(p);
    cuzk_verifier_free(v);
    assert_int_equal(cuzk_verifier_open_json(&v, "{}", 2, &err), CUZK_STATUS_BAD_INPUT);
    assert_null(v);
    assert_int_equal(cuzk_verifier_open_json(&v, NULL, 0, &err), CUZK_STATUS_USAGE);
    assert_int_equal(cuzk_verifier_from_prover(&v, NULL, &err), CUZK_STATUS_USAGE);
    cuzk_string_free(proof);
    cuzk_string_free(signals);
    cuzk_string_free(other);
}

static void null_is_freed(void **state) {
    (void)state;
    cuzk_prover_free(NULL);
    cuzk_verifier_free(NULL);
    cuzk_string_free(NULL);
    assert_string_equal(cuzk_version(), "0.1.0");
    assert_string_equal(cuzk_status_text(CUZK_STATUS_BAD_INPUT), "malformed input");
    assert_string_equal(cuzk_status_text((cuzk_status)-5), "unknown status");
    assert_int_equal(cuzk_status_exit_code(CUZK_STATUS_NO_DEVICE), 5);
    assert_int_equal(cuzk_status_exit_code((cuzk_status)-5), 70);
}

/* The child of a fork goes on with both kinds of handle, although its threads stayed behind. */
static void after_a_fork(void **state) {
    (void)state;
#ifdef CUZK_TEST_NO_FORK
    skip();
#endif
    cuzk_prover_options o = CUZK_PROVER_OPTIONS_INIT;
    o.threads = 3;
    cuzk_prover *shared = open_key(ZKEY("bn128/mul3")), *own;
    assert_int_equal(cuzk_prover_open(&own, ZKEY("bn128/mul3"), &o, &err), CUZK_OK);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        char *a = NULL, *b = NULL;
        alarm(60);
        cuzk_status st = cuzk_prover_prove_file(shared, WTNS("bn128/mul3"), NULL, &a, NULL, NULL);
        if (st == CUZK_OK)
            st = cuzk_prover_prove_file(own, WTNS("bn128/mul3"), NULL, &b, NULL, NULL);
        cuzk_string_free(a);
        cuzk_string_free(b);
        cuzk_prover_free(own);
        cuzk_prover_free(shared);
        _exit(st == CUZK_OK ? 0 : 1);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
    char *proof;
    prove_file(shared, WTNS("bn128/mul3"), &proof, NULL);
    cuzk_string_free(proof);
    cuzk_prover_free(own);
    cuzk_prover_free(shared);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(proofs_verify, reset),
        cmocka_unit_test_setup(snarkjs_form, reset),
        cmocka_unit_test_setup(memory_is_owned, reset),
        cmocka_unit_test_setup(bad_keys, reset),
        cmocka_unit_test_setup(devices, reset),
        cmocka_unit_test_setup(reports, reset),
        cmocka_unit_test_setup(a_light_check_is_made_up_for, reset),
        cmocka_unit_test_setup(subgroups_are_checked_by_default, reset),
        cmocka_unit_test_setup(bad_witnesses, reset),
        cmocka_unit_test_setup(false_proofs, reset),
        cmocka_unit_test_setup(null_is_freed, reset),
        cmocka_unit_test_setup(after_a_fork, reset),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
