/* The gRPC server and client against each other. */
#include "grpc_fixture.h"

#include "base/mem.h"
#include "base/process.h"

#include <pthread.h>

static void test_unary(void **state) {
    char dir[] = "/tmp/cuzk-grpc-XXXXXX", unix_address[80];
    (void)state;
    assert_non_null(mkdtemp(dir));
    snprintf(unix_address, sizeof unix_address, "unix://%s/s", dir);
    const char *const addresses[] = {"127.0.0.1:0", "[::1]:0", unix_address};
    for (int i = 0; i < 3; i++) {
        fixture f;
        start(&f, &(setup){.address = addresses[i]});
        cuzk_grpc_client *c = dial(&f, NULL);
        for (int k = 0; k < 20; k++) {
            expect_reply(c, ECHO("Echo"), "hello", "hello");
            expect_reply(c, ECHO("Later"), "later", "later");
        }
        expect_reply(c, ECHO("Echo"), "", "");
        cuzk_grpc_client_free(c);
        UNTIL(stats_of(&f).connections == 0);
        assert_int_equal(stats_of(&f).calls_total, 41);
        assert_int_equal(stats_of(&f).calls_failed, 0);
        stop(&f);
    }
    assert_int_equal(rmdir(dir), 0); /* the socket's file is gone */
}

static void test_ends(void **state) {
    fixture f;
    (void)state;
    start(&f, &(setup){0});
    cuzk_grpc_client *c = dial(&f, NULL);
    cuzk_grpc_result r = call(c, ECHO("Fail"), "5 no \xc3\xbc 100 %\n!", 0, NULL);
    assert_int_equal(r.code, CUZK_GRPC_NOT_FOUND);
    assert_string_equal(r.message, "no \xc3\xbc 100 %\n!");
    assert_true(r.retry_ns < 0);
    r = call(c, ECHO("Fail"), "8 busy", 0, NULL);
    assert_int_equal(r.code, CUZK_GRPC_RESOURCE_EXHAUSTED);
    assert_int_equal(r.retry_ns, 1500000000);
    r = call(c, ECHO("Fail"), "99 odd", 0, NULL);
    assert_int_equal(r.code, CUZK_GRPC_UNKNOWN);
    r = call(c, ECHO("None"), "", 0, NULL);
    assert_int_equal(r.code, CUZK_GRPC_UNIMPLEMENTED);
    assert_non_null(strstr(r.message, ECHO("None")));
    r = call(c, "/", "", 0, NULL);
    assert_int_equal(r.code, CUZK_GRPC_UNIMPLEMENTED);
    expect_reply(c, ECHO("Echo"), "still there", "still there");
    cuzk_grpc_client_free(c);
    stop(&f);
}

/* ---- streams ---- */

typedef struct heard {
    unsigned n, most;
    bool wrong;
} heard;

static bool on_count(void *ctx, const uint8_t *msg, size_t len) {
    heard *h = ctx;
    char text[16];
    const int n = snprintf(text, sizeof text, "%u", ++h->n);
    if ((size_t)n != len || memcmp(text, msg, len) != 0) h->wrong = true;
    return h->n < h->most;
}

static cuzk_grpc_result stream(cuzk_grpc_client *c, const char *path, const char *req,
                               int64_t timeout_ns, heard *h) {
    cuzk_grpc_result r;
    cuzk_err err = {0};
    check_ok(cuzk_grpc_client_stream(c, path, req, strlen(req), timeout_ns, on_count, h, &r, &err),
             &err);
    return r;
}

static void test_streams(void **state) {
    fixture f;
    (void)state;
    start(&f, &(setup){0});
    cuzk_grpc_client *c = dial(&f, NULL);
    heard h = {.most = 100000};
    assert_int_equal(stream(c, ECHO("Count"), "20000", 0, &h).code, CUZK_GRPC_OK);
    assert_int_equal(h.n, 20000);
    assert_false(h.wrong);
    h = (heard){.most = 1};
    assert_int_equal(stream(c, ECHO("Count"), "0", 0, &h).code, CUZK_GRPC_OK);
    assert_int_equal(h.n, 0);
    uint64_t before;
    do {
        before = stats_of(&f).calls_total;
        h = (heard){.most = 3}; /* enough is enough */
        assert_int_equal(stream(c, ECHO("Forever"), "", 300000000, &h).code,
                         CUZK_GRPC_DEADLINE_EXCEEDED);
    } while (!was_heard(&f, c, before));
    h = (heard){.most = 1};
    assert_int_equal(stream(c, ECHO("Forever"), "", 0, &h).code, CUZK_GRPC_CANCELLED);
    UNTIL(stats_of(&f).calls == 0);
    assert_int_equal(atomic_load(&echo_cancelled), 2);
    expect_reply(c, ECHO("Chat"), "one", "one");
    cuzk_grpc_client_free(c);
    stop(&f);
}

static bool never(void *ctx, const uint8_t *msg, size_t len) {
    (void)ctx;
    (void)msg;
    (void)len;
    usleep(50);
    return true;
}

/* A client that reads slower than the server writes: the call is ended, nothing grows. */
static void test_flood(void **state) {
    fixture f;
    cuzk_grpc_result r;
    cuzk_err err = {0};
    (void)state;
    start(&f, &(setup){.limits.max_send_queue = 1 << 20});
    cuzk_grpc_client *c = dial(&f, NULL);
    check_ok(cuzk_grpc_client_stream(c, ECHO("Flood"), "", 0, 20 * SECOND, never, NULL, &r, &err),
             &err);
    assert_true(r.code == CUZK_GRPC_RESOURCE_EXHAUSTED || r.code == CUZK_GRPC_CANCELLED);
    UNTIL(atomic_load(&echo_cancelled) == 1);
    expect_reply(c, ECHO("Echo"), "x", "x");
    cuzk_grpc_client_free(c);
    stop(&f);
}

/* ---- deadlines and cancelling ---- */

static void test_deadlines(void **state) {
    fixture f;
    cuzk_buf b = CUZK_BUF_INIT;
    (void)state;
    start(&f, &(setup){0});
    cuzk_grpc_client *c = dial(&f, NULL);
    uint64_t before;
    do {
        before = stats_of(&f).calls_total;
        assert_int_equal(call(c, ECHO("Hang"), "", 100000000, NULL).code,
                         CUZK_GRPC_DEADLINE_EXCEEDED);
    } while (!was_heard(&f, c, before));
    UNTIL(atomic_load(&echo_cancelled) == 1);
    assert_int_equal(call(c, ECHO("Who"), "", 3600 * SECOND, &b).code, CUZK_GRPC_OK);
    long left = 0;
    assert_int_equal(sscanf(b.data, "127.0.0.1:%*d||%ld|", &left), 1);
    assert_true(left > 3000000 && left <= 3600000);
    assert_int_equal(call(c, ECHO("Who"), "", 0, &b).code, CUZK_GRPC_OK);
    assert_non_null(strstr(b.data, "||none|"));
    cuzk_buf_free(&b);
    cuzk_grpc_client_free(c);
    stop(&f);
}

static volatile sig_atomic_t stopped;
static pthread_t caller_thread;

static void on_signal(int signal_number) {
    (void)signal_number;
    stopped = 1;
}

static void *interrupt_later(void *ctx) {
    (void)ctx;
    UNTIL(atomic_load(&echo_hanging));
    pthread_kill(caller_thread, SIGUSR1);
    return NULL;
}

static void test_interrupt_and_loss(void **state) {
    fixture f;
    pthread_t t;
    (void)state;
    start(&f, &(setup){0});
    stopped = 0;
    caller_thread = pthread_self();
    assert_int_equal(sigaction(SIGUSR1, &(struct sigaction){.sa_handler = on_signal}, NULL), 0);
    cuzk_grpc_client *c = dial(&f, &(cuzk_grpc_client_options){.stop = &stopped});
    UNTIL(stats_of(&f).connections == 1);
    assert_int_equal(pthread_create(&t, NULL, interrupt_later, NULL), 0);
    assert_int_equal(call(c, ECHO("Hang"), "", 0, NULL).code, CUZK_GRPC_CANCELLED);
    pthread_join(t, NULL);
    UNTIL(atomic_load(&echo_cancelled) == 1);
    cuzk_grpc_client_free(c);
    /* the server goes away under a client that is connected */
    c = dial(&f, NULL);
    expect_reply(c, ECHO("Echo"), "x", "x");
    stop(&f);
    cuzk_grpc_result r;
    cuzk_err err = {0};
    cuzk_buf b = CUZK_BUF_INIT;
    assert_int_equal(cuzk_grpc_client_call(c, ECHO("Echo"), "x", 1, 0, &b, &r, &err),
                     CUZK_STATUS_IO);
    assert_int_equal(r.code, CUZK_GRPC_UNAVAILABLE);
    cuzk_grpc_client_free(c);
    assert_int_equal(cuzk_grpc_client_new(&c, f.address, NULL, &err), CUZK_STATUS_IO);
    assert_non_null(strstr(err.msg, "is the daemon running"));
}

static void hold_up(int signal_number) {
    const struct timespec t = {0, 600000000};
    (void)signal_number;
    nanosleep(&t, NULL);
}

static void *hold_up_caller(void *ctx) {
    const fixture *f = ctx;
    const uint64_t before = stats_of(f).calls_total;
    atomic_store(&echo_cancelled, 0);
    UNTIL(stats_of(f).calls_total > before);
    pthread_kill(caller_thread, SIGUSR2);
    return NULL;
}

/* What had come in time counts when the client was held up: it looks before it gives up. */
static void test_client_is_late(void **state) {
    const int64_t limit = 300000000;
    fixture f;
    bool late = false;
    (void)state;
    start(&f, &(setup){0});
    caller_thread = pthread_self();
    assert_int_equal(sigaction(SIGUSR2, &(struct sigaction){.sa_handler = hold_up}, NULL), 0);
    cuzk_grpc_client *c = dial(&f, NULL);
    for (int tries = 0; tries < 20 && !late; tries++) { /* until only the client was late */
        pthread_t t;
        atomic_store(&echo_cancelled, 1);
        assert_int_equal(pthread_create(&t, NULL, hold_up_caller, &f), 0);
        UNTIL(atomic_load(&echo_cancelled) == 0);
        const int64_t begun = cuzk_now_ns();
        const int code = call(c, ECHO("Later"), "100", limit, NULL).code;
        late = code == CUZK_GRPC_OK && cuzk_now_ns() - begun > limit;
        pthread_join(t, NULL);
    }
    assert_true(late);
    cuzk_grpc_client_free(c);
    stop(&f);
}

/* ---- sizes and budgets ---- */

static void test_large(void **state) {
    fixture f;
    cuzk_grpc_result r;
    cuzk_err err = {0};
    cuzk_buf b = CUZK_BUF_INIT;
    void *big;
    (void)state;
    const size_t most = 256 << 20; /* the default limit */
#ifdef CUZK_TEST_SANITIZED
    const size_t n = 8 << 20;
#else
    const size_t n = 64 << 20;
#endif
    start(&f, &(setup){0});
    assert_int_equal(cuzk_big_alloc(&big, most + 1),
                     CUZK_OK); /* not touched, so it costs nothing */
    cuzk_grpc_client *c = dial(&f, NULL);
    check_ok(cuzk_grpc_client_call(c, ECHO("Length"), big, n, 0, &b, &r, &err), &err);
    assert_int_equal(r.code, CUZK_GRPC_OK);
    assert_int_equal(strtoul(b.data, NULL, 10), n);
    check_ok(cuzk_grpc_client_call(c, ECHO("Length"), big, most + 1, 0, &b, &r, &err), &err);
    assert_int_equal(r.code, CUZK_GRPC_RESOURCE_EXHAUSTED);
    UNTIL(stats_of(&f).request_bytes == 0);
    /* a large answer */
    check_ok(cuzk_grpc_client_call(c, ECHO("Later"), big, 8 << 20, 0, &b, &r, &err), &err);
    assert_int_equal(r.code, CUZK_GRPC_OK);
    assert_int_equal(b.len, 8 << 20);
    cuzk_buf_free(&b);
    cuzk_big_free(big, most + 1);
    cuzk_grpc_client_free(c);
    stop(&f);
}

typedef struct sender {
    const fixture *f;
    size_t size;
    unsigned done, refused;
} sender;

static void *send_many(void *ctx) {
    sender *s = ctx;
    void *data;
    cuzk_buf b = CUZK_BUF_INIT;
    cuzk_grpc_client *c = dial(s->f, NULL);
    assert_int_equal(cuzk_alloc(&data, s->size, 1), CUZK_OK);
    for (int i = 0; i < 8; i++) {
        cuzk_grpc_result r;
        cuzk_err err = {0};
        check_ok(cuzk_grpc_client_call(c, ECHO("Later"), data, s->size, 60 * SECOND, &b, &r, &err),
                 &err);
        if (r.code == CUZK_GRPC_OK && b.len == s->size) s->done++;
        if (r.code == CUZK_GRPC_RESOURCE_EXHAUSTED) s->refused++;
    }
    cuzk_buf_free(&b);
    cuzk_free(data);
    cuzk_grpc_client_free(c);
    return NULL;
}

/* Six clients, a budget for one and a bit: each waits for its turn, and all come through. */
static void test_budget(void **state) {
    enum { CLIENTS = 6 };
    fixture f;
    pthread_t t[CLIENTS];
    sender s[CLIENTS];
    (void)state;
    start(&f, &(setup){.limits.max_message = 1 << 20, .limits.request_budget = 2 << 20});
    for (int i = 0; i < CLIENTS; i++) {
        s[i] = (sender){.f = &f, .size = i % 2 ? 1 << 20 : 700000};
        assert_int_equal(pthread_create(&t[i], NULL, send_many, &s[i]), 0);
    }
    for (int i = 0; i < CLIENTS; i++) {
        pthread_join(t[i], NULL);
        assert_int_equal(s[i].done, 8);
    }
    UNTIL(stats_of(&f).connections == 0);
    UNTIL(stats_of(&f).request_bytes == 0);
    stop(&f);
}

static void test_bad_limits(void **state) {
    cuzk_net_loop *loop;
    cuzk_grpc_server *s;
    cuzk_err err = {0};
    (void)state;
    check_ok(cuzk_net_loop_new(&loop, &err), &err);
    const cuzk_grpc_limits limits = {.max_message = 1 << 20, .request_budget = 1 << 20};
    assert_int_equal(cuzk_grpc_server_new(&s, loop, echo_methods, 1, &limits, &err),
                     CUZK_STATUS_USAGE);
    const cuzk_grpc_method twice[] = {echo_methods[0], echo_methods[0]};
    assert_int_equal(cuzk_grpc_server_new(&s, loop, twice, 2, NULL, &err), CUZK_STATUS_USAGE);
    cuzk_net_loop_free(loop);
}

/* ---- connections and the end ---- */

typedef struct caller {
    const fixture *f;
    const char *path;
    cuzk_grpc_result result;
} caller;

static bool any(void *ctx, const uint8_t *msg, size_t len) {
    (void)ctx;
    (void)msg;
    (void)len;
    return true;
}

static void *call_and_wait(void *ctx) {
    caller *w = ctx;
    cuzk_err err = {0};
    cuzk_grpc_client *c = dial(w->f, NULL);
    check_ok(cuzk_grpc_client_stream(c, w->path, "", 0, 30 * SECOND, any, NULL, &w->result, &err),
             &err);
    cuzk_grpc_client_free(c);
    return NULL;
}

/* The same of a call whose connection may be lost. */
static void *call_and_lose(void *ctx) {
    caller *w = ctx;
    cuzk_err err = {0};
    cuzk_grpc_client *c = dial(w->f, NULL);
    const cuzk_status st =
        cuzk_grpc_client_stream(c, w->path, "", 0, 30 * SECOND, any, NULL, &w->result, &err);
    assert_true(st == CUZK_OK || st == CUZK_STATUS_IO);
    cuzk_grpc_client_free(c);
    return NULL;
}

/* Waits for an answer that never comes, beside others that do the same. */
static void test_too_many_calls(void **state) {
    fixture f;
    pthread_t t[3];
    (void)state;
    start(&f, &(setup){.limits.max_calls = 3});
    caller w[3] = {{&f, ECHO("Forever"), {0}}, {&f, ECHO("Forever"), {0}}, {&f, ECHO("Hang"), {0}}};
    for (int i = 0; i < 3; i++)
        assert_int_equal(pthread_create(&t[i], NULL, call_and_lose, &w[i]), 0);
    UNTIL(atomic_load(&echo_hanging) == 3);
    cuzk_grpc_client *c = dial(&f, NULL);
    const cuzk_grpc_result r = call(c, ECHO("Echo"), "x", 0, NULL);
    assert_int_equal(r.code, CUZK_GRPC_RESOURCE_EXHAUSTED);
    assert_non_null(strstr(r.message, "too many calls"));
    cuzk_grpc_client_free(c);
    stop(&f);
    for (int i = 0; i < 3; i++)
        pthread_join(t[i], NULL);
}

/* One too many takes the place of one without a call; when all have calls it is refused. */
static void test_too_many_connections(void **state) {
    fixture f;
    cuzk_grpc_result r;
    cuzk_err err = {0};
    cuzk_buf b = CUZK_BUF_INIT;
    pthread_t t[2];
    (void)state;
    start(&f, &(setup){.limits.max_connections = 2});
    caller w[2] = {{&f, ECHO("Forever"), {0}}, {&f, ECHO("Hang"), {0}}};
    assert_int_equal(pthread_create(&t[0], NULL, call_and_lose, &w[0]), 0);
    UNTIL(atomic_load(&echo_hanging) == 1);
    cuzk_grpc_client *c = dial(&f, NULL), *next;
    for (int i = 0; i < 5; i++) {
        expect_reply(c, ECHO("Echo"), "x", "x");
        next = dial(&f, NULL);
        expect_reply(next, ECHO("Echo"), "x", "x");
        assert_int_equal(stats_of(&f).connections, 2);
        const cuzk_status lost = cuzk_grpc_client_call(c, ECHO("Echo"), "x", 1, 0, &b, &r, &err);
        assert_true(lost == CUZK_STATUS_IO || r.code == CUZK_GRPC_UNAVAILABLE);
        cuzk_grpc_client_free(c);
        c = next;
    }
    assert_int_equal(stats_of(&f).connections_refused, 0);
    assert_int_equal(pthread_create(&t[1], NULL, call_and_lose, &w[1]), 0);
    UNTIL(atomic_load(&echo_hanging) == 2);
    cuzk_grpc_client_free(c);
    c = dial(&f, NULL);
    const cuzk_status st = cuzk_grpc_client_call(c, ECHO("Echo"), "x", 1, 0, &b, &r, &err);
    assert_true(st == CUZK_OK || st == CUZK_STATUS_IO);
    assert_int_equal(r.code, CUZK_GRPC_UNAVAILABLE);
    assert_non_null(strstr(r.message, "too many connections"));
    assert_int_equal(stats_of(&f).connections_refused, 1);
    cuzk_grpc_client_free(c);
    cuzk_buf_free(&b);
    stop(&f);
    for (int i = 0; i < 2; i++)
        pthread_join(t[i], NULL);
}

static void test_idle(void **state) {
    fixture f;
    (void)state;
    /* the second never answers a PING: this client does not read between calls */
    const cuzk_grpc_limits limits[] = {{.idle_ns = 100000000},
                                       {.ping_ns = 50000000, .ping_wait_ns = 50000000}};
    for (int i = 0; i < 2; i++) {
        cuzk_grpc_client *c;
        start(&f, &(setup){.limits = limits[i]});
        while (c = dial(&f, NULL), !replies(c, ECHO("Echo"), "x", "x"))
            cuzk_grpc_client_free(c); /* it was held up, and so idle already */
        UNTIL(stats_of(&f).connections == 0);
        cuzk_grpc_client_free(c);
        stop(&f);
    }
}

static _Atomic bool drained;

static void on_drained(void *ctx) {
    (void)ctx;
    atomic_store(&drained, true);
}

static void test_drain(void **state) {
    fixture f;
    pthread_t t[3];
    cuzk_err err = {0};
    cuzk_grpc_client *none;
    (void)state;
    start(&f, &(setup){0});
    caller w[3] = {{&f, ECHO("Hang"), {0}},
                   {&f, ECHO("Forever"), {0}},
                   {&f, "/grpc.health.v1.Health/Watch", {0}}};
    for (int i = 0; i < 3; i++)
        assert_int_equal(pthread_create(&t[i], NULL, call_and_wait, &w[i]), 0);
    UNTIL(stats_of(&f).calls == 3 && atomic_load(&echo_hanging) == 2);
    atomic_store(&drained, false);
    const int64_t begun = cuzk_now_ns();
    assert_int_equal(cuzk_grpc_server_drain(f.server, SECOND / 2, on_drained, NULL), CUZK_OK);
    pthread_join(t[1], NULL); /* watches are not waited for */
    pthread_join(t[2], NULL);
    assert_int_equal(w[1].result.code, CUZK_GRPC_UNAVAILABLE);
    assert_int_equal(w[2].result.code, CUZK_GRPC_UNAVAILABLE);
    assert_int_equal(cuzk_grpc_client_new(&none, f.address, NULL, &err), CUZK_STATUS_IO);
    pthread_join(t[0], NULL); /* calls are, as long as was said */
    assert_int_equal(w[0].result.code, CUZK_GRPC_UNAVAILABLE);
    assert_true(cuzk_now_ns() - begun >= SECOND / 2);
    UNTIL(atomic_load(&drained));
    assert_int_equal(atomic_load(&echo_hanging), 0);
    stop(&f);

    /* nobody there: at once */
    start(&f, &(setup){0});
    atomic_store(&drained, false);
    assert_int_equal(cuzk_grpc_server_drain(f.server, 3600 * SECOND, on_drained, NULL), CUZK_OK);
    UNTIL(atomic_load(&drained));
    stop(&f);
}

/* The server is freed under calls that threads still answer. */
static void test_free_under_load(void **state) {
    (void)state;
    for (int round = 0; round < 10; round++) {
        fixture f;
        pthread_t t[2];
        start(&f, &(setup){.limits.max_send_queue = 1 << 20});
        caller w[2] = {{&f, ECHO("Flood"), {0}}, {&f, ECHO("Hang"), {0}}};
        for (int i = 0; i < 2; i++)
            assert_int_equal(pthread_create(&t[i], NULL, call_and_lose, &w[i]), 0);
        UNTIL(stats_of(&f).calls_total == 2);
        usleep((useconds_t)(round * 1000));
        stop(&f);
        for (int i = 0; i < 2; i++)
            pthread_join(t[i], NULL);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_unary),
        cmocka_unit_test(test_ends),
        cmocka_unit_test(test_streams),
        cmocka_unit_test(test_flood),
        cmocka_unit_test(test_deadlines),
        cmocka_unit_test(test_client_is_late),
        cmocka_unit_test(test_interrupt_and_loss),
        cmocka_unit_test(test_large),
        cmocka_unit_test(test_budget),
        cmocka_unit_test(test_bad_limits),
        cmocka_unit_test(test_too_many_connections),
        cmocka_unit_test(test_too_many_calls),
        cmocka_unit_test(test_idle),
        cmocka_unit_test(test_drain),
        cmocka_unit_test(test_free_under_load),
    };
    cuzk_process_init();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
