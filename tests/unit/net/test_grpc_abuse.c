/* Clients that are slow, broken, many, or mean: the server keeps nothing of theirs, and others are
 * served. */
#include "grpc_fixture.h"

#include "base/bytes.h"
#include "base/mem.h"
#include "base/process.h"
#include "net/address.h"

#include <nghttp2/nghttp2.h>
#include <poll.h>
#include <pthread.h>
#include <sys/resource.h>
#include <sys/socket.h>

static const char preface[] = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
                              "\0\0\0\4\0\0\0\0\0"; /* and empty SETTINGS */
enum { PREFACE = sizeof preface - 1 };

static int raw_dial(const fixture *f) {
    cuzk__address a;
    cuzk_err err = {0};
    int fd;
    check_ok(cuzk__address_parse(&a, f->address, &err), &err);
    check_ok(cuzk__address_connect(&fd, &a, 20 * SECOND, &err), &err);
    return fd;
}

/* False when the other side has closed. */
static bool say(int fd, const void *data, size_t n) {
    const uint8_t *p = data;
    while (n) {
        struct pollfd pfd = {.fd = fd, .events = POLLOUT};
        if (poll(&pfd, 1, 20000) != 1) return false;
        const ssize_t k = send(fd, p, n, MSG_NOSIGNAL | MSG_DONTWAIT);
        if (k < 0) return false;
        p += k;
        n -= (size_t)k;
    }
    return true;
}

/* Whether the other side closes within wait_ms; *heard: how many bytes it sent before (NULL: no
 * matter). */
static bool closes_after(int fd, int wait_ms, size_t *heard) {
    const int64_t until = cuzk_now_ns() + (int64_t)wait_ms * 1000000;
    char buf[4096];
    if (heard) *heard = 0;
    while (cuzk_now_ns() < until) {
        struct pollfd pfd = {.fd = fd, .events = POLLIN};
        if (poll(&pfd, 1, 50) != 1) continue;
        const ssize_t n = recv(fd, buf, sizeof buf, 0);
        if (n <= 0) return true;
        if (heard) *heard += (size_t)n;
    }
    return false;
}

static bool closes(int fd, int wait_ms) {
    return closes_after(fd, wait_ms, NULL);
}

static void frame_head(uint8_t out[9], size_t len, uint8_t type, uint8_t flags, uint32_t stream) {
    out[0] = (uint8_t)(len >> 16);
    out[1] = (uint8_t)(len >> 8);
    out[2] = (uint8_t)len;
    out[3] = type;
    out[4] = flags;
    cuzk_st_u32be(out + 5, stream);
}

/* Into a buffer, so that what a short limit of time is for goes out in one piece. */
static void put_frame(cuzk_buf *b, uint8_t type, uint8_t flags, uint32_t stream, const void *data,
                      size_t n) {
    uint8_t head[9];
    frame_head(head, n, type, flags, stream);
    cuzk_buf_append(b, head, sizeof head);
    cuzk_buf_append(b, data, n);
}

/* Says and empties it. */
static bool say_all(int fd, cuzk_buf *b) {
    assert_false(b->failed);
    const bool said = say(fd, b->data, b->len);
    cuzk_buf_free(b);
    return said;
}

static bool say_frame(int fd, uint8_t type, uint8_t flags, uint32_t stream, const void *data,
                      size_t n) {
    uint8_t head[9];
    frame_head(head, n, type, flags, stream);
    return say(fd, head, sizeof head) && say(fd, data, n);
}

/* A request's headers, uncompressed but for HPACK's static table. */
static size_t request_block(uint8_t *out, size_t cap, const char *path) {
    nghttp2_hd_deflater *d;
    const char *const text[] = {":method", "POST",     ":scheme",      "http",
                                ":path",   path,       ":authority",   "h",
                                "te",      "trailers", "content-type", "application/grpc"};
    nghttp2_nv nv[6];
    for (int i = 0; i < 6; i++)
        nv[i] = (nghttp2_nv){.name = (uint8_t *)(uintptr_t)text[2 * i],
                             .value = (uint8_t *)(uintptr_t)text[2 * i + 1],
                             .namelen = strlen(text[2 * i]),
                             .valuelen = strlen(text[2 * i + 1]),
                             .flags = NGHTTP2_NV_FLAG_NO_INDEX};
    assert_int_equal(nghttp2_hd_deflate_new(&d, 0), 0);
    const ssize_t n = nghttp2_hd_deflate_hd(d, out, cap, nv, 6);
    assert_true(n > 0);
    nghttp2_hd_deflate_del(d);
    return (size_t)n;
}

static void put_request(cuzk_buf *b, uint32_t stream, const char *path) {
    uint8_t block[256];
    const size_t n = request_block(block, sizeof block, path);
    put_frame(b, NGHTTP2_HEADERS, NGHTTP2_FLAG_END_HEADERS, stream, block, n);
}

static bool say_request(int fd, uint32_t stream, const char *path, uint8_t flags) {
    uint8_t block[256];
    const size_t n = request_block(block, sizeof block, path);
    return say_frame(fd, NGHTTP2_HEADERS, (uint8_t)(NGHTTP2_FLAG_END_HEADERS | flags), stream,
                     block, n);
}

/* A client that was held up for longer than a hasty server waits tries again. */
static void still_serves(const fixture *f) {
    bool served = false;
    for (int tries = 0; tries < 50 && !served; tries++) {
        cuzk_grpc_client *c = dial(f, NULL);
        served = replies(c, ECHO("Echo"), "still here", "still here");
        cuzk_grpc_client_free(c);
    }
    assert_true(served);
}

/* ---- slow ones ---- */

/* Only what a test is about has a short limit: a machine that stands still for a second is late
 * with everything. */
static const cuzk_grpc_limits hasty_handshake = {.handshake_ns = 200000000};
static const cuzk_grpc_limits hasty_stall = {.stall_ns = 300000000};

static void test_silent(void **state) {
    fixture f;
    (void)state;
    start(&f, &(setup){.limits = hasty_handshake});
    int fd = raw_dial(&f);
    assert_true(closes(fd, 20000));
    close(fd);
    fd = raw_dial(&f); /* a byte now and then does not help */
    bool open = true;
    for (size_t i = 0; i < PREFACE - 1 && open; i++) {
        open = say(fd, preface + i, 1);
        usleep(20000);
    }
    assert_true(!open || closes(fd, 20000));
    close(fd);
    still_serves(&f);
    stop(&f);
}

static void test_slow_headers(void **state) {
    fixture f;
    uint8_t block[256];
    size_t heard = 0;
    (void)state;
    const size_t n = request_block(block, sizeof block, ECHO("Echo"));
    start(&f, &(setup){.limits = hasty_handshake});
    for (int tries = 0; tries < 50 && !heard; tries++) { /* until the preface was in time */
        cuzk_buf b = CUZK_BUF_INIT;
        const int fd = raw_dial(&f);
        cuzk_buf_append(&b, preface, PREFACE);
        put_frame(&b, NGHTTP2_HEADERS, 0, 1, block, n / 2); /* CONTINUATION should follow */
        (void)say_all(fd, &b);
        assert_true(closes_after(fd, 20000, &heard));
        close(fd);
    }
    assert_true(heard > 0); /* SETTINGS */
    still_serves(&f);
    UNTIL(stats_of(&f).calls == 0);
    stop(&f);
}

typedef struct standstill {
    atomic_bool begun, over;
} standstill;

static void stand_still(void *ctx) {
    standstill *s = ctx;
    atomic_store(&s->begun, true);
    while (!atomic_load(&s->over))
        usleep(1000);
}

/* What had come in time counts when the server was held up: it looks before it judges. */
static void test_server_is_late(void **state) {
    fixture f;
    bool in_time = false;
    (void)state;
    start(&f, &(setup){.limits = hasty_handshake});
    for (int tries = 0; tries < 50 && !in_time; tries++) {
        static const uint8_t empty[5];
        standstill still = {false, false};
        cuzk_buf b = CUZK_BUF_INIT;
        char buf[4096];
        const int64_t late = cuzk_now_ns() + hasty_handshake.handshake_ns;
        const uint64_t before = stats_of(&f).connections_total;
        const int fd = raw_dial(&f);
        UNTIL(stats_of(&f).connections_total > before);
        assert_int_equal(cuzk_net_post(f.loop, stand_still, &still), CUZK_OK);
        UNTIL(atomic_load(&still.begun));
        cuzk_buf_append(&b, preface, PREFACE);
        put_request(&b, 1, ECHO("Forever"));
        put_frame(&b, NGHTTP2_DATA, NGHTTP2_FLAG_END_STREAM, 1, empty, 5);
        (void)say_all(fd, &b);
        in_time = cuzk_now_ns() < late; /* else it is our fault */
        while (cuzk_now_ns() < late + 300000000)
            usleep(1000);
        atomic_store(&still.over, true);
        if (in_time) {
            UNTIL(atomic_load(&echo_hanging) == 1);
            struct pollfd pfd = {.fd = fd, .events = POLLIN};
            assert_int_equal(poll(&pfd, 1, 20000), 1);
            assert_true(recv(fd, buf, sizeof buf, 0) > 0);
        }
        close(fd);
        UNTIL(stats_of(&f).connections == 0);
    }
    assert_true(in_time);
    stop(&f);
}

/* An upload that stops: its call ends and gives its memory back; the connection stays. */
static void test_slow_upload(void **state) {
    enum { TRIES = 20 };
    fixture f;
    static const uint8_t part[5] = {0, 0, 0, 0xff, 0xff};
    bool held = false;
    unsigned calls = 0;
    (void)state;
    start(&f, &(setup){.limits = hasty_stall});
    const int fd = raw_dial(&f);
    assert_true(say(fd, preface, PREFACE));
    for (; calls < TRIES && !held; calls++) { /* until we are in time to see what it holds */
        const uint32_t stream = 2 * calls + 1;
        cuzk_buf b = CUZK_BUF_INIT;
        put_request(&b, stream, ECHO("Echo"));
        put_frame(&b, NGHTTP2_DATA, 0, stream, part, 5);
        assert_true(say_all(fd, &b));
        UNTIL((held = stats_of(&f).request_bytes == 65535) || stats_of(&f).calls_failed > calls);
        for (int i = 0; i < 100 && stats_of(&f).calls; i++) { /* a byte now and then */
            assert_true(say_frame(fd, NGHTTP2_DATA, 0, stream, part, 1));
            usleep(50000);
        }
        UNTIL(stats_of(&f).request_bytes == 0 && stats_of(&f).calls == 0);
    }
    assert_true(held);
    assert_int_equal(stats_of(&f).connections, 1);
    assert_int_equal(stats_of(&f).calls_failed, calls);
    close(fd);
    still_serves(&f);
    stop(&f);
}

enum { SLOW = 3 };
static int slow_fd[SLOW];
static atomic_bool slow_enough;

/* A byte now and then. */
static void *trickle(void *ctx) {
    (void)ctx;
    while (!atomic_load(&slow_enough)) {
        for (int i = 0; i < SLOW; i++)
            (void)say_frame(slow_fd[i], NGHTTP2_DATA, 0, 1, "", 1);
        usleep(50000);
    }
    return NULL;
}

/* Uploads that trickle after a fast beginning hold all memory for large messages: the one that
 * waits for it outlasts them. */
static void test_slow_uploads_and_another(void **state) {
    enum { LONG = 1 << 20 };
    fixture f;
    const cuzk_grpc_limits limits = {
        .stall_ns = 8 * SECOND, .request_budget = 4 << 20, .max_message = LONG};
    static uint8_t part[60000] = {0, 0, 0x0f, 0xff, 0xfb};
    pthread_t trickler;
    (void)state;
    start(&f, &(setup){.limits = limits});
    for (int i = 0; i < SLOW; i++) {
        const int fd = slow_fd[i] = raw_dial(&f);
        assert_true(say(fd, preface, PREFACE) && say_request(fd, 1, ECHO("Echo"), 0));
        for (size_t at = 0; at < sizeof part; at += 10000)
            assert_true(say_frame(fd, NGHTTP2_DATA, 0, 1, part + at, 10000));
    }
    atomic_store(&slow_enough, false);
    assert_int_equal(pthread_create(&trickler, NULL, trickle, NULL), 0);
    UNTIL(stats_of(&f).request_bytes >= SLOW * (uint64_t)(LONG - 5));
    cuzk_grpc_client *c = dial(&f, NULL);
    char *text;
    assert_int_equal(cuzk_alloc((void **)&text, LONG, 1), CUZK_OK);
    memset(text, 't', LONG - 6);
    expect_reply(c, ECHO("Echo"), "small", "small");
    expect_reply(c, ECHO("Echo"), text, text);
    cuzk_free(text);
    cuzk_grpc_client_free(c);
    UNTIL(stats_of(&f).request_bytes == 0 && stats_of(&f).calls == 0);
    assert_int_equal(stats_of(&f).calls_failed, SLOW);
    atomic_store(&slow_enough, true);
    pthread_join(trickler, NULL);
    for (int i = 0; i < SLOW; i++)
        close(slow_fd[i]);
    stop(&f);
}

/* Asks for a stream and never reads it. */
static void test_deaf(void **state) {
    fixture f;
    static const uint8_t window[6] = {0, 4, 0x7f, 0xff, 0xff, 0xff}; /* large, so that TCP blocks */
    static const uint8_t empty[5];
    cuzk_buf b = CUZK_BUF_INIT;
    (void)state;
    start(&f, &(setup){.limits = hasty_stall});
    const int fd = raw_dial(&f);
    cuzk_buf_append(&b, preface, PREFACE);
    put_frame(&b, NGHTTP2_SETTINGS, 0, 0, window, 6);
    put_frame(&b, NGHTTP2_WINDOW_UPDATE, 0, 0, "\x7f\xfe\0\0", 4);
    put_request(&b, 1, ECHO("Flood"));
    put_frame(&b, NGHTTP2_DATA, NGHTTP2_FLAG_END_STREAM, 1, empty, 5);
    assert_true(say_all(fd, &b));
    UNTIL(stats_of(&f).calls_total == 1);
    UNTIL(stats_of(&f).connections == 0);
    assert_int_equal(atomic_load(&echo_cancelled), 1);
    close(fd);
    still_serves(&f);
    stop(&f);
}

/* ---- broken ones ---- */

static void test_reset_in_upload(void **state) {
    fixture f;
    static uint8_t part[16384] = {0, 0x08}; /* 128 MiB to come */
    (void)state;
    start(&f, &(setup){0});
    for (int how = 0; how < 2; how++) {
        const int fd = raw_dial(&f);
        assert_true(say(fd, preface, PREFACE) && say_request(fd, 1, ECHO("Echo"), 0));
        for (int i = 0; i < 3; i++)
            assert_true(say_frame(fd, NGHTTP2_DATA, 0, 1, part, sizeof part));
        UNTIL(stats_of(&f).request_bytes == 128 << 20);
        if (how == 0) assert_true(say_frame(fd, NGHTTP2_RST_STREAM, 0, 1, "\0\0\0\x8", 4));
        if (how == 1) close(fd);
        UNTIL(stats_of(&f).request_bytes == 0 && stats_of(&f).calls == 0);
        if (how == 0) close(fd);
    }
    still_serves(&f);
    stop(&f);
}

static void test_garbage(void **state) {
    fixture f;
    (void)state;
    test_rng_start();
    start(&f, &(setup){.limits = hasty_handshake});
    for (int round = 0; round < 60; round++) {
        uint8_t bytes[512];
        test_rng_bytes(bytes, sizeof bytes);
        const int fd = raw_dial(&f);
        if (round % 3) say(fd, preface, PREFACE);
        if (round % 3 == 2) { /* a frame that is one, with nonsense in it */
            bytes[0] = bytes[1] = 0;
            bytes[3] = (uint8_t)(round % 10);
            bytes[5] = bytes[6] = bytes[7] = 0;
        }
        say(fd, bytes, sizeof bytes);
        if (round % 2) assert_true(closes(fd, 20000));
        close(fd);
    }
    still_serves(&f);
    UNTIL(stats_of(&f).connections == 0);
    stop(&f);
}

/* What a browser gets. */
static void test_http1(void **state) {
    fixture f;
    char answer[512];
    size_t n = 0;
    (void)state;
    start(&f, &(setup){0});
    const int fd = raw_dial(&f);
    static const char request[] = "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n";
    assert_true(say(fd, request, sizeof request - 1));
    for (ssize_t k = 1; k > 0 && n<sizeof answer - 1; n += k> 0 ? (size_t)k : 0) {
        struct pollfd pfd = {.fd = fd, .events = POLLIN};
        assert_int_equal(poll(&pfd, 1, 20000), 1);
        k = recv(fd, answer + n, sizeof answer - 1 - n, 0);
    }
    answer[n] = 0;
    assert_non_null(strstr(answer, "HTTP/1.1 505 "));
    assert_non_null(strstr(answer, "speaks gRPC"));
    close(fd);
    stop(&f);
}

/* Opens and resets streams as fast as it can (CVE-2023-44487). */
static void test_rapid_reset(void **state) {
    fixture f;
    (void)state;
    start(&f, &(setup){0});
    const int fd = raw_dial(&f);
    bool open = say(fd, preface, PREFACE);
    for (uint32_t i = 0; i < 20000 && open; i++)
        open = say_request(fd, 2 * i + 1, ECHO("Hang"), 0) &&
               say_frame(fd, NGHTTP2_RST_STREAM, 0, 2 * i + 1, "\0\0\0\x8", 4);
    assert_true(!open || closes(fd, 20000)); /* it is sent away */
    close(fd);
    UNTIL(stats_of(&f).calls == 0);
    assert_true(stats_of(&f).calls_total < 20000);
    still_serves(&f);
    stop(&f);
}

/* ---- many ---- */

static void test_many_connections(void **state) {
#ifdef CUZK_TEST_SANITIZED
    enum { MANY = 1500, SERVED = 500 };
#else
    enum { MANY = 10000, SERVED = 3000 };
#endif
    fixture f;
    struct rlimit files;
    (void)state;
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &files), 0);
    files.rlim_cur = files.rlim_max;
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &files), 0);
    /* those not served lie closed in their client's hands, which costs a descriptor as well */
    const size_t room = files.rlim_cur > 100000 ? 100000 : (size_t)files.rlim_cur;
    const size_t many = room > MANY + SERVED + 200 ? MANY : room / 2 - 100;
    start(&f, &(setup){.limits.max_connections = SERVED});
    cuzk_grpc_client *early = dial(&f, NULL);
    expect_reply(early, ECHO("Echo"), "first", "first");
    int *fd;
    assert_int_equal(cuzk_alloc((void **)&fd, many, sizeof *fd), CUZK_OK);
    const int64_t begun = cuzk_now_ns();
    for (size_t i = 0; i < many; i++) {
        fd[i] = raw_dial(&f);
        say(fd[i], preface, PREFACE);
    }
    expect_reply(early, ECHO("Echo"), "among many", "among many");
    UNTIL(stats_of(&f).connections_total + stats_of(&f).connections_refused == many + 1);
    assert_true(stats_of(&f).connections <= SERVED);
    still_serves(&f); /* one that comes last is served, before those that only connected */
    fprintf(stderr, "%zu connections: %lld served, %lld refused, %.1f s\n", many,
            (long long)stats_of(&f).connections, (long long)stats_of(&f).connections_refused,
            (double)(cuzk_now_ns() - begun) / 1e9);
    for (size_t i = 0; i < many; i++)
        close(fd[i]);
    cuzk_free(fd);
    UNTIL(stats_of(&f).connections == 1);
    expect_reply(early, ECHO("Echo"), "after", "after");
    cuzk_grpc_client_free(early);
    still_serves(&f);
    stop(&f);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_silent),
        cmocka_unit_test(test_slow_headers),
        cmocka_unit_test(test_slow_upload),
        cmocka_unit_test(test_slow_uploads_and_another),
        cmocka_unit_test(test_deaf),
        cmocka_unit_test(test_reset_in_upload),
        cmocka_unit_test(test_server_is_late),
        cmocka_unit_test(test_garbage),
        cmocka_unit_test(test_http1),
        cmocka_unit_test(test_rapid_reset),
        cmocka_unit_test(test_many_connections),
    };
    cuzk_process_init();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
