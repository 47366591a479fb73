/* Devices in processes of their own: this program is its own worker (`test_remote worker`), whose
 * device adds up the bytes of a witness, and its own daemon (`test_remote daemon`), which is killed
 * to see that its worker goes too. */
#include "support.h"

#include "engine/remote/remote.h"
#include "engine/remote/serve.h"

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* ---- the worker ---- */

enum { SLOTS = 64 };

static struct toy {
    const uint8_t *witness[SLOTS];
    size_t len[SLOTS];
    uint64_t result[SLOTS];
} toy;

static cuzk_status toy_open(void *self, uint32_t n, cuzk_engine_device_info *out, cuzk_err *err) {
    (void)self;
    (void)n;
    (void)err;
    memset(out, 0, sizeof *out);
    snprintf(out->name, sizeof out->name, "a toy");
    out->memory_total = 77;
    return CUZK_OK;
}

static void toy_close(void *self, uint32_t n) {
    (void)self;
    (void)n;
}

static cuzk_status toy_key(void *self, uint32_t n, const char *key, cuzk_err *err) {
    (void)self;
    (void)n;
    if (strcmp(key, "none") == 0)
        return cuzk_err_set(err, CUZK_STATUS_NOT_FOUND, "no key called none");
    return CUZK_OK;
}

static cuzk_status toy_stage(void *self, uint32_t n, uint32_t slot, const char *key,
                             const cuzk_engine_witness *w, cuzk_err *err) {
    (void)self;
    (void)n;
    (void)err;
    if (strcmp(key, "nap") == 0) usleep(20000);
    toy.witness[slot] = w->data;
    toy.len[slot] = w->len;
    return CUZK_OK;
}

static cuzk_status toy_compute(void *self, uint32_t n, uint32_t slot, uint32_t result,
                               cuzk_engine_moved *moved, cuzk_err *err) {
    (void)self;
    (void)n;
    (void)err;
    uint64_t sum = 0;
    for (size_t i = 0; i < toy.len[slot]; i++)
        sum += toy.witness[slot][i];
    toy.result[result] = sum;
    moved->in_pageable = toy.len[slot];
    return CUZK_OK;
}

static cuzk_status toy_finish(void *self, uint32_t n, uint32_t result, void *out, size_t *len,
                              cuzk_err *err) {
    (void)self;
    (void)n;
    (void)err;
    memcpy(out, &toy.result[result], *len = 8);
    return CUZK_OK;
}

static int worker(const char *inject) {
    static const cuzk_device_ops ops = {.open = toy_open,
                                        .close = toy_close,
                                        .key_load = toy_key,
                                        .key_free = toy_key,
                                        .stage = toy_stage,
                                        .compute = toy_compute,
                                        .finish = toy_finish};
    const cuzk_serve_config config = {.fd = 3, .ops = &ops, .inject = inject};
    cuzk_err err = {0};
    bool orderly;
    const cuzk_status st = cuzk_serve(&config, &orderly, &err);
    if (!orderly) _exit(70);
    return st == CUZK_OK ? 0 : 70;
}

/* ---- the daemon's side ---- */

static const char *self_worker[] = {"/proc/self/exe", "worker", NULL};
static const char *const *commands[] = {self_worker, self_worker};

typedef struct losses {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    int n;
    uint32_t last;
} losses;

static void lost(void *ctx, uint32_t device, const char *why) {
    assert_true(why && why[0]);
    losses *l = ctx;
    pthread_mutex_lock(&l->lock);
    l->n++;
    l->last = device;
    pthread_cond_broadcast(&l->changed);
    pthread_mutex_unlock(&l->lock);
}

static void wait_for_loss(losses *l, int n) {
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += 60;
    pthread_mutex_lock(&l->lock);
    while (l->n < n)
        assert_int_equal(pthread_cond_timedwait(&l->changed, &l->lock, &until), 0);
    pthread_mutex_unlock(&l->lock);
}

static const cuzk_device_ops *const ops = &cuzk_remote_devices;

static cuzk_remote *new_remote(uint32_t n, const char *inject, losses *l) {
    cuzk_err err = {0};
    cuzk_remote *r;
    const cuzk_remote_config config = {.n_devices = n,
                                       .commands = commands,
                                       .grace_ns = 200000000,
                                       .inject = inject,
                                       .inject_starts = 1};
    if (cuzk_remote_new(&r, &config, &err)) fail_msg("%s", err.msg);
    if (l) {
        *l = (losses){PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, 0, 0};
        ops->on_lost(r, lost, l);
    }
    return r;
}

static int open_one(cuzk_remote *r, uint32_t device) {
    cuzk_err err = {0};
    cuzk_engine_device_info info;
    if (ops->open(r, device, &info, &err)) fail_msg("%s", err.msg);
    assert_string_equal(info.name, "a toy");
    assert_int_equal(info.memory_total, 77);
    assert_true(info.pid > 1 && kill(info.pid, 0) == 0);
    /* what a terminal sends to the daemon's group does not reach it */
    assert_int_equal(getpgid(info.pid), info.pid);
    return info.pid;
}

static cuzk_engine_witness make_witness(size_t len, int seals) {
    cuzk_engine_witness w = {.len = len, .fd = memfd_create("test", MFD_ALLOW_SEALING)};
    assert_true(w.fd >= 0);
    assert_int_equal(ftruncate(w.fd, (off_t)len), 0);
    assert_int_equal(fcntl(w.fd, F_ADD_SEALS, seals), 0);
    w.data = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_SHARED, w.fd, 0);
    assert_true(w.data != MAP_FAILED);
    memset(w.data, (int)(len % 251), len);
    return w;
}

static void free_witness(cuzk_engine_witness *w) {
    munmap(w->data, w->len);
    close(w->fd);
}

static void prove(cuzk_remote *r, uint32_t device, uint32_t slot, const char *key) {
    cuzk_err err = {0};
    cuzk_engine_moved moved;
    cuzk_engine_witness w = make_witness(10000 + slot, F_SEAL_SHRINK);
    uint64_t want = 0, got = 0;
    uint8_t out[CUZK_ENGINE_RESULT_MAX];
    size_t len;
    for (size_t i = 0; i < w.len; i++)
        want += ((uint8_t *)w.data)[i];
    if (ops->stage(r, device, slot, key, &w, &err)) fail_msg("%s", err.msg);
    if (ops->compute(r, device, slot, slot, &moved, &err)) fail_msg("%s", err.msg);
    assert_int_equal(moved.in_pageable, w.len);
    if (ops->finish(r, device, slot, out, &len, &err)) fail_msg("%s", err.msg);
    assert_int_equal(len, 8);
    memcpy(&got, out, 8);
    assert_int_equal(got, want);
    free_witness(&w);
}

static void a_worker_works(void **state) {
    cuzk_err err = {0};
    cuzk_remote *r = new_remote(2, NULL, NULL);
    (void)state;
    assert_int_equal(ops->count(r), 2);
    assert_int_equal(ops->key_load(r, 0, "a", &err), CUZK_STATUS_NO_DEVICE);
    const int a = open_one(r, 0), b = open_one(r, 1);
    assert_int_not_equal(a, b);
    cuzk_engine_device_info info;
    assert_int_equal(ops->open(r, 0, &info, &err), CUZK_STATUS_USAGE);
    if (ops->key_load(r, 0, "a", &err)) fail_msg("%s", err.msg);
    assert_int_equal(ops->key_load(r, 0, "none", &err), CUZK_STATUS_NOT_FOUND);
    assert_string_equal(err.msg, "no key called none");
    if (ops->key_free(r, 0, "a", &err)) fail_msg("%s", err.msg);
    prove(r, 0, 0, "a");
    prove(r, 1, 63, "a");
    /* a worker that is closed is gone when close returns */
    ops->close(r, 0);
    assert_int_equal(kill(a, 0), -1);
    assert_int_equal(ops->key_load(r, 0, "a", &err), CUZK_STATUS_NO_DEVICE);
    open_one(r, 0);
    prove(r, 0, 1, "a");
    cuzk_remote_free(r);
}

/* A witness that could shrink, or of another size, is not mapped. */
static void witnesses_are_sealed(void **state) {
    cuzk_err err = {0};
    cuzk_remote *r = new_remote(1, NULL, NULL);
    (void)state;
    open_one(r, 0);
    cuzk_engine_witness w = make_witness(4096, F_SEAL_GROW);
    assert_int_equal(ops->stage(r, 0, 0, "a", &w, &err), CUZK_STATUS_BUG);
    free_witness(&w);
    w = make_witness(4096, F_SEAL_SHRINK);
    w.len = 8192;
    assert_int_equal(ops->stage(r, 0, 0, "a", &w, &err), CUZK_STATUS_BUG);
    w.len = 4096;
    assert_int_equal(ops->stage(r, 0, 64, "a", &w, &err), CUZK_STATUS_BUG);
    if (ops->stage(r, 0, 0, "a", &w, &err)) fail_msg("%s", err.msg);
    free_witness(&w);
    w = (cuzk_engine_witness){.fd = -1, .len = 8};
    assert_int_equal(ops->stage(r, 0, 0, "a", &w, &err), CUZK_STATUS_USAGE);
    cuzk_remote_free(r);
}

typedef struct lane {
    cuzk_remote *r;
    uint32_t slot;
} lane;

static void *run_lane(void *arg) {
    const lane *l = arg;
    for (int i = 0; i < 5; i++)
        prove(l->r, 0, l->slot, "nap");
    return NULL;
}

static void slots_are_served_side_by_side(void **state) {
    enum { LANES = 8 };
    cuzk_remote *r = new_remote(1, NULL, NULL);
    pthread_t threads[LANES];
    lane lanes[LANES];
    (void)state;
    open_one(r, 0);
    for (uint32_t i = 0; i < LANES; i++) {
        lanes[i] = (lane){r, i};
        assert_int_equal(pthread_create(&threads[i], NULL, run_lane, &lanes[i]), 0);
    }
    for (int i = 0; i < LANES; i++)
        pthread_join(threads[i], NULL);
    cuzk_remote_free(r);
}

/* ---- trouble ---- */

typedef struct waiter {
    cuzk_remote *r;
    cuzk_status st;
    cuzk_err err;
} waiter;

static void *compute_one(void *arg) {
    waiter *w = arg;
    cuzk_engine_moved moved;
    cuzk_engine_witness mem = make_witness(100, F_SEAL_SHRINK);
    w->st = ops->stage(w->r, 0, 0, "a", &mem, &w->err);
    if (w->st == CUZK_OK) w->st = ops->compute(w->r, 0, 0, 0, &moved, &w->err);
    free_witness(&mem);
    return NULL;
}

static void a_crash_is_noticed_at_once(void **state) {
    losses l;
    cuzk_remote *r = new_remote(2, "crash:compute:1", &l);
    waiter w = {.r = r};
    (void)state;
    open_one(r, 0);
    compute_one(&w);
    assert_int_equal(w.st, CUZK_STATUS_NO_DEVICE);
    assert_non_null(strstr(w.err.msg, "signal 9"));
    wait_for_loss(&l, 1);
    assert_int_equal(l.last, 0);
    compute_one(&w); /* until it is closed */
    assert_int_equal(w.st, CUZK_STATUS_NO_DEVICE);
    ops->close(r, 0);
    open_one(r, 0);
    prove(r, 0, 0, "a");
    assert_int_equal(l.n, 1);
    cuzk_remote_free(r);
    assert_int_equal(l.n, 1); /* closing is no loss */
}

static void a_worker_that_is_killed(void **state) {
    losses l;
    cuzk_err err = {0};
    cuzk_remote *r = new_remote(1, NULL, &l);
    (void)state;
    kill(open_one(r, 0), SIGKILL);
    wait_for_loss(&l, 1);
    assert_int_equal(ops->key_load(r, 0, "a", &err), CUZK_STATUS_NO_DEVICE);
    cuzk_remote_free(r);
}

/* One that hangs, and one that is stopped and so deaf to SIGTERM. */
static void a_hung_worker_is_ended(void **state) {
    (void)state;
    for (int stopped = 0; stopped < 2; stopped++) {
        losses l;
        cuzk_remote *r = new_remote(1, "hang:compute", &l);
        waiter w = {.r = r};
        pthread_t t;
        const int pid = open_one(r, 0);
        assert_int_equal(pthread_create(&t, NULL, compute_one, &w), 0);
        usleep(50000);
        if (stopped) kill(pid, SIGSTOP);
        ops->close(r, 0);
        pthread_join(t, NULL);
        assert_int_equal(w.st, CUZK_STATUS_NO_DEVICE);
        assert_int_equal(kill(pid, 0), -1);
        assert_int_equal(l.n, 0);
        open_one(r, 0);
        prove(r, 0, 0, "a");
        cuzk_remote_free(r);
    }
}

static void errors_sticky_and_not(void **state) {
    losses l;
    cuzk_remote *r = new_remote(1, "error:compute:1", &l);
    waiter w = {.r = r};
    (void)state;
    open_one(r, 0);
    compute_one(&w);
    assert_int_equal(w.st, CUZK_STATUS_BUG);
    assert_non_null(strstr(w.err.msg, "injected"));
    prove(r, 0, 0, "a");
    assert_int_equal(l.n, 0);
    cuzk_remote_free(r);

    r = new_remote(1, "sticky:stage:1", &l);
    w.r = r;
    open_one(r, 0);
    compute_one(&w);
    assert_int_equal(w.st, CUZK_STATUS_BUG);
    wait_for_loss(&l, 1); /* such a worker ends by itself */
    ops->close(r, 0);
    open_one(r, 0);
    prove(r, 0, 0, "a");
    cuzk_remote_free(r);
}

static void a_flipped_bit(void **state) {
    cuzk_remote *r = new_remote(1, "flip:finish:1", NULL);
    cuzk_err err = {0};
    waiter w = {.r = r};
    uint8_t a[CUZK_ENGINE_RESULT_MAX], b[CUZK_ENGINE_RESULT_MAX];
    size_t n;
    (void)state;
    open_one(r, 0);
    compute_one(&w);
    assert_int_equal(w.st, CUZK_OK);
    assert_int_equal(ops->finish(r, 0, 0, a, &n, &err), CUZK_OK);
    assert_int_equal(ops->finish(r, 0, 0, b, &n, &err), CUZK_OK);
    int bits = 0;
    for (size_t i = 0; i < n; i++)
        bits += __builtin_popcount((unsigned)(a[i] ^ b[i]));
    assert_int_equal(bits, 1);
    cuzk_remote_free(r);
}

static void workers_that_do_not_open(void **state) {
    static const char *missing[] = {"/nonexistent/worker", NULL}, *other[] = {"/bin/true", NULL},
                      *sleeps[] = {"/bin/sleep", "1000", NULL};
    const char *const *const each[] = {missing, other, sleeps};
    static const char *const words[] = {"/nonexistent/worker", "ended", "ended"};
    (void)state;
    for (int i = 0; i < 3; i++) {
        cuzk_err err = {0};
        cuzk_engine_device_info info;
        cuzk_remote *r;
        losses l = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, 0, 0};
        const cuzk_remote_config config = {
            .n_devices = 1, .commands = &each[i], .grace_ns = 50000000, .open_ns = 100000000000};
        if (cuzk_remote_new(&r, &config, &err)) fail_msg("%s", err.msg);
        ops->on_lost(r, lost, &l);
        assert_int_equal(ops->open(r, 0, &info, &err), CUZK_STATUS_NO_DEVICE);
        if (!strstr(err.msg, words[i])) fail_msg("%s", err.msg);
        cuzk_remote_free(r);
    }
}

static void a_worker_that_does_not_answer_in_time(void **state) {
    cuzk_err err = {0};
    cuzk_engine_device_info info;
    cuzk_remote *r;
    const cuzk_remote_config config = {.n_devices = 1,
                                       .commands = commands,
                                       .grace_ns = 50000000,
                                       .open_ns = 100000000,
                                       .inject = "hang:open",
                                       .inject_starts = 1};
    (void)state;
    if (cuzk_remote_new(&r, &config, &err)) fail_msg("%s", err.msg);
    assert_int_equal(ops->open(r, 0, &info, &err), CUZK_STATUS_NO_DEVICE);
    assert_non_null(strstr(err.msg, "in time"));
    cuzk_remote_free(r);
}

/* ---- a daemon that is killed ---- */

static int daemon_main(void) {
    cuzk_remote *r = new_remote(1, NULL, NULL);
    printf("%d\n", open_one(r, 0));
    fflush(stdout);
    while (getppid() != 1)
        pause();
    return 0;
}

/* Gone, or a zombie that nobody waits for. */
static bool is_gone(int pid) {
    char path[64], text[256] = {0};
    snprintf(path, sizeof path, "/proc/%d/stat", pid);
    FILE *f = fopen(path, "r");
    if (!f) return true;
    const size_t n = fread(text, 1, sizeof text - 1, f);
    fclose(f);
    const char *end = n ? strrchr(text, ')') : NULL;
    return !end || end[2] == 'Z' || end[2] == 'X';
}

static void a_worker_goes_with_its_daemon(void **state) {
    int out[2], pid = 0;
    char text[32] = {0};
    (void)state;
    assert_int_equal(pipe(out), 0);
    const pid_t child = fork();
    if (child == 0) {
        dup2(out[1], 1);
        execl("/proc/self/exe", "test_remote", "daemon", (char *)NULL);
        _exit(1);
    }
    close(out[1]);
    assert_true(read(out[0], text, sizeof text - 1) > 0);
    close(out[0]);
    pid = (int)strtol(text, NULL, 10);
    assert_true(pid > 1);
    assert_false(is_gone(pid));
    kill(child, SIGKILL);
    assert_int_equal(waitpid(child, NULL, 0), child);
    for (int i = 0; i < 6000 && !is_gone(pid); i++)
        usleep(10000);
    assert_true(is_gone(pid));
}

int main(int argc, char **argv) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_worker_works),
        cmocka_unit_test(witnesses_are_sealed),
        cmocka_unit_test(slots_are_served_side_by_side),
        cmocka_unit_test(a_crash_is_noticed_at_once),
        cmocka_unit_test(a_worker_that_is_killed),
        cmocka_unit_test(a_hung_worker_is_ended),
        cmocka_unit_test(errors_sticky_and_not),
        cmocka_unit_test(a_flipped_bit),
        cmocka_unit_test(workers_that_do_not_open),
        cmocka_unit_test(a_worker_that_does_not_answer_in_time),
        cmocka_unit_test(a_worker_goes_with_its_daemon),
    };
    if (argc > 1 && strcmp(argv[1], "worker") == 0)
        return worker(argc > 5 && strcmp(argv[4], "--inject") == 0 ? argv[5] : NULL);
    if (argc > 1 && strcmp(argv[1], "daemon") == 0) return daemon_main();
    test_rng_start();
    signal(SIGPIPE, SIG_IGN);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
