/* Jobs through cuzk-worker: keys are loaded there, witnesses cross as memfds, results come back;
 * and what happens when the process goes wrong. */
#include "fixture.h"

#include "engine/remote/remote.h"

#include <pthread.h>
#include <time.h>

static cuzk_jobs *jobs;

static int begin(void **state) {
    if (fixture_begin(state)) return -1;
    jobs = fixture_jobs();
    return 0;
}

static int end(void **state) {
    cuzk_jobs_free(jobs);
    return fixture_end(state);
}

static const cuzk_device_ops *const ops = &cuzk_remote_devices;
static atomic_uint lost_times;

static void lost(void *ctx, uint32_t device, const char *why) {
    assert_true(why && why[0]);
    (void)ctx;
    (void)device;
    atomic_fetch_add(&lost_times, 1);
}

static cuzk_remote *open_worker(const char *inject) {
    static const char *command[10];
    static const char *const *const commands[] = {command};
    const char *const words[] = {CUZK_WORKER, "--device",  "cpu",     "--threads", "2",
                                 "--params",  fixture_dir, "--zkeys", fixture_dir, NULL};
    cuzk_err err = {0};
    cuzk_engine_device_info info;
    cuzk_remote *r;
    const cuzk_remote_config config = {
        .n_devices = 1, .commands = commands, .inject = inject, .inject_starts = 1};
    memcpy(command, words, sizeof words);
    if (cuzk_remote_new(&r, &config, &err)) fail_msg("%s", err.msg);
    atomic_store(&lost_times, 0);
    ops->on_lost(r, lost, NULL);
    if (ops->open(r, 0, &info, &err)) fail_msg("%s", err.msg);
    assert_string_equal(info.name, "CPU, 2 threads");
    assert_int_not_equal(info.pid, 0);
    return r;
}

static void load(cuzk_remote *r, const char *key) {
    cuzk_err err = {0};
    if (ops->key_load(r, 0, key, &err)) fail_msg("%s", err.msg);
}

static void prove_mul3(cuzk_remote *r) {
    payload p;
    cuzk_buf answer = CUZK_BUF_INIT;
    payload_mul3(&p, "bn128");
    prove_on(jobs, ops, r, &p, &answer);
    expect_mul3("bn128", &answer);
    cuzk_buf_free(&answer);
    payload_free(&p);
}

/* The worker's figures and the daemon's own of a CPU device are the same. */
static void plans_of_a_worker(void **state) {
    static const char *const keys[] = {"mul3-bn128", "wpost-2k"};
    cuzk_remote *r = open_worker(NULL);
    cuzk_err err = {0};
    cuzk_device_plan plan;
    (void)state;
    for (int i = 0; i < 2; i++) {
        cuzk_engine_key_plan own;
        if (cuzk_remote_plan(r, 0, keys[i], &plan, &err)) fail_msg("%s", err.msg);
        if (cuzk_jobs_work.key_plan(jobs, keys[i], &own, &err)) fail_msg("%s", err.msg);
        assert_int_equal(plan.key, own.device);
        assert_true(plan.slot > 0);
    }
    assert_int_equal(cuzk_remote_plan(r, 0, "nothing", &plan, &err), CUZK_STATUS_NOT_FOUND);
    cuzk_remote_free(r);
}

static void proofs_of_a_worker(void **state) {
    cuzk_remote *r = open_worker(NULL);
    cuzk_err err = {0};
    payload p;
    cuzk_buf answer = CUZK_BUF_INIT;
    (void)state;
    load(r, "mul3-bn128");
    prove_mul3(r);
    prove_mul3(r);
    assert_int_equal(ops->key_load(r, 0, "winning-2k", &err), CUZK_STATUS_IO);
    assert_non_null(strstr(err.msg, "cuzk setup --circuit winning-2k"));
    /* the worker was not told to take development keys */
    assert_int_equal(ops->key_load(r, 0, "wpost-2k", &err), CUZK_STATUS_BAD_INPUT);
    assert_non_null(strstr(err.msg, "--allow-insecure-keys"));
    if (ops->key_free(r, 0, "mul3-bn128", &err)) fail_msg("%s", err.msg);
    assert_int_equal(ops->key_free(r, 0, "mul3-bn128", &err), CUZK_STATUS_NOT_FOUND);
    cuzk_remote_free(r);

    payload_wpost(&p, "");
    const char *command[] = {
        CUZK_WORKER, "--device", "cpu", "--params", fixture_dir, "--allow-insecure-keys", NULL};
    const char *const *commands[] = {command};
    const cuzk_remote_config config = {.n_devices = 1, .commands = commands};
    cuzk_engine_device_info info;
    if (cuzk_remote_new(&r, &config, &err)) fail_msg("%s", err.msg);
    if (ops->open(r, 0, &info, &err)) fail_msg("%s", err.msg);
    load(r, "wpost-2k");
    prove_on(jobs, ops, r, &p, &answer);
    expect_wpost(&p, &answer);
    cuzk_remote_free(r);
    cuzk_buf_free(&answer);
    payload_free(&p);
}

/* One partition of mul3 up to its result. */
static cuzk_status result_of(cuzk_remote *r, uint8_t *result, size_t *len, cuzk_err *err) {
    cuzk_engine_plan plan;
    cuzk_engine_witness w;
    cuzk_engine_moved moved;
    payload p;
    void *job;
    payload_mul3(&p, "bn128");
    memset(err, 0, sizeof *err);
    if (cuzk_jobs_work.job_open(jobs, &p.p, &job, &plan, err)) fail_msg("%s", err->msg);
    if (cuzk_jobs_work.key_load(jobs, plan.key, err)) fail_msg("%s", err->msg);
    atomic_bool cancel = false;
    if (cuzk_jobs_work.witness(jobs, job, 0, &cancel, &w, err)) fail_msg("%s", err->msg);
    cuzk_status st = ops->stage(r, 0, 1, plan.key, &w, err);
    if (st == CUZK_OK) st = ops->compute(r, 0, 1, 0, &moved, err);
    if (st == CUZK_OK) st = ops->finish(r, 0, 0, result, len, err);
    cuzk_jobs_work.witness_free(jobs, &w);
    if (st == CUZK_OK) {
        uint8_t proof[CUZK_ENGINE_PROOF_MAX];
        size_t n;
        st = cuzk_jobs_work.verify(jobs, job, 0, result, *len, proof, &n, err);
    }
    cuzk_jobs_work.key_free(jobs, plan.key);
    cuzk_jobs_work.job_free(jobs, job);
    payload_free(&p);
    return st;
}

static void wait_for_loss(void) {
    for (int i = 0; i < 6000 && atomic_load(&lost_times) == 0; i++) {
        const struct timespec t = {0, 10000000};
        nanosleep(&t, NULL);
    }
    assert_int_equal(atomic_load(&lost_times), 1);
}

static void a_crash_and_a_new_start(void **state) {
    cuzk_remote *r = open_worker("crash:compute");
    uint8_t result[CUZK_ENGINE_RESULT_MAX];
    cuzk_engine_device_info info;
    cuzk_err err = {0};
    size_t n;
    (void)state;
    load(r, "mul3-bn128");
    assert_int_equal(result_of(r, result, &n, &err), CUZK_STATUS_NO_DEVICE);
    wait_for_loss();
    ops->close(r, 0);
    if (ops->open(r, 0, &info, &err)) fail_msg("%s", err.msg);
    /* a new process has no keys */
    assert_int_equal(result_of(r, result, &n, &err), CUZK_STATUS_BUG);
    load(r, "mul3-bn128");
    prove_mul3(r);
    cuzk_remote_free(r);
}

static void a_flipped_bit_does_not_verify(void **state) {
    cuzk_remote *r = open_worker("flip:finish");
    uint8_t result[CUZK_ENGINE_RESULT_MAX];
    cuzk_err err = {0};
    size_t n;
    (void)state;
    load(r, "mul3-bn128");
    assert_int_equal(result_of(r, result, &n, &err), CUZK_STATUS_FALSE);
    assert_int_equal(result_of(r, result, &n, &err), CUZK_OK);
    cuzk_remote_free(r);
}

static void *close_soon(void *arg) {
    const struct timespec t = {0, 100000000};
    nanosleep(&t, NULL);
    ops->close(arg, 0);
    return NULL;
}

static void a_hung_compute_is_ended_by_close(void **state) {
    cuzk_remote *r = open_worker("hang:compute");
    uint8_t result[CUZK_ENGINE_RESULT_MAX];
    cuzk_err err = {0};
    pthread_t t;
    size_t n;
    (void)state;
    load(r, "mul3-bn128");
    assert_int_equal(pthread_create(&t, NULL, close_soon, r), 0);
    assert_int_equal(result_of(r, result, &n, &err), CUZK_STATUS_NO_DEVICE);
    pthread_join(t, NULL);
    assert_int_equal(atomic_load(&lost_times), 0);
    cuzk_remote_free(r);
}

static void devices_that_are_not_there(void **state) {
    static const char *const words[] = {"cuda:GPU-00000000-none", "tpu"};
    (void)state;
    for (int i = 0; i < 2; i++) {
        const char *command[] = {CUZK_WORKER, "--device", words[i], NULL};
        const char *const *commands[] = {command};
        const cuzk_remote_config config = {.n_devices = 1, .commands = commands};
        cuzk_err err = {0};
        cuzk_engine_device_info info;
        cuzk_remote *r;
        if (cuzk_remote_new(&r, &config, &err)) fail_msg("%s", err.msg);
        const cuzk_status st = ops->open(r, 0, &info, &err);
        assert_int_equal(st, i ? CUZK_STATUS_USAGE : CUZK_STATUS_NO_DEVICE);
        assert_true(err.msg[0] != '\0');
        cuzk_remote_free(r);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(plans_of_a_worker),
        cmocka_unit_test(proofs_of_a_worker),
        cmocka_unit_test(a_crash_and_a_new_start),
        cmocka_unit_test(a_flipped_bit_does_not_verify),
        cmocka_unit_test(a_hung_compute_is_ended_by_close),
        cmocka_unit_test(devices_that_are_not_there),
    };
    return cmocka_run_group_tests(tests, begin, end);
}
