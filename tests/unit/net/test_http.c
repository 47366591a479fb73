/* The HTTP server over real sockets. */
#include "support.h"

#include "base/buf.h"
#include "base/clock.h"
#include "base/file.h"
#include "net/address.h"
#include "net/http.h"

#include <arpa/inet.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- what is served ---- */

static cuzk_http_stream *_Atomic open_stream;

static void show(void *ctx, const cuzk_http_request *req, cuzk_http_response *res) {
    char text[1024];
    size_t n;
    const uint8_t *body = cuzk_http_request_body(req, &n);
    const char *q = cuzk_http_request_query(req, "q");
    const char *x = cuzk_http_request_header(req, "X-Test");
    (void)ctx;
    const int len = snprintf(text, sizeof text, "%s %s id=%s q=%s x=%s body=%.*s n=%zu",
                             cuzk_http_request_method(req), cuzk_http_request_path(req),
                             cuzk_http_request_param(req, "id"), q ? q : "-", x ? x : "-",
                             n < 64 ? (int)n : 0, (const char *)body, n);
    cuzk_http_header(res, "X-Reply", "yes");
    cuzk_http_header(res, "X-Split", "a\r\nInjected: 1");
    cuzk_http_respond(res, 200, "text/plain", text, (size_t)len);
}

static void nothing(void *ctx, const cuzk_http_request *req, cuzk_http_response *res) {
    (void)ctx;
    (void)req;
    (void)res;
}

static void page(void *ctx, const cuzk_http_request *req, cuzk_http_response *res) {
    static const char html[] = "<!doctype html>";
    (void)ctx;
    (void)req;
    cuzk_http_respond_static(res, 200, "text/html; charset=utf-8", html, sizeof html - 1);
}

static void events(void *ctx, const cuzk_http_request *req, cuzk_http_response *res) {
    (void)ctx;
    (void)req;
    atomic_store(&open_stream, cuzk_http_stream_new(res, 200, "text/event-stream"));
}

static const cuzk_http_route routes[] = {
    {"GET", "/", page, NULL, 0, 0},
    {"GET", "/healthz", show, NULL, CUZK_HTTP_OPEN, 0},
    {"GET", "/jobs/{id}", show, NULL, 0, 0},
    {"POST", "/jobs/{id}", show, NULL, 0, 1 << 20},
    {"DELETE", "/jobs/{id}", show, NULL, 0, 0},
    {"GET", "/nothing", nothing, NULL, 0, 0},
    {"GET", "/events", events, NULL, 0, 0},
};

typedef struct fixture {
    cuzk_http_server *server;
    cuzk_net_access *access;
    char address[CUZK_NET_ADDRESS];
} fixture;

static void start(fixture *f, const char *address, const cuzk_net_security *security,
                  const cuzk_http_limits *limits) {
    cuzk_err err = {0};
    *f = (fixture){0};
    assert_int_equal(
        cuzk_http_server_new(&f->server, routes, sizeof routes / sizeof routes[0], limits, &err),
        CUZK_OK);
    assert_int_equal(cuzk_net_access_new(&f->access, security, &err), CUZK_OK);
    if (cuzk_http_server_listen(f->server, address, f->access, f->address, &err) != CUZK_OK)
        fail_msg("%s", err.msg);
}

static void stop(fixture *f) {
    cuzk_http_server_free(f->server);
    cuzk_net_access_free(f->access);
}

/* ---- a client ---- */

static int dial(const fixture *f) {
    cuzk__address a;
    cuzk_err err = {0};
    int fd;
    assert_int_equal(cuzk__address_parse(&a, f->address, &err), CUZK_OK);
    if (cuzk__address_connect(&fd, &a, 10000000000, &err) != CUZK_OK) fail_msg("%s", err.msg);
    return fd;
}

static void say(int fd, const char *p, size_t n) {
    while (n) {
        struct pollfd pfd = {.fd = fd, .events = POLLOUT};
        assert_int_equal(poll(&pfd, 1, 20000), 1);
        const ssize_t k = send(fd, p, n, MSG_NOSIGNAL);
        if (k < 0) return; /* the server has seen enough */
        p += k;
        n -= (size_t)k;
    }
}

/* Reads until the text is there, or to the end (NULL). False at the end of the connection. */
static bool hear(int fd, cuzk_buf *out, const char *until) {
    char buf[4096];
    while (!until || !out->data || !strstr(out->data, until)) {
        struct pollfd pfd = {.fd = fd, .events = POLLIN};
        assert_int_equal(poll(&pfd, 1, 20000), 1);
        const ssize_t n = recv(fd, buf, sizeof buf, 0);
        if (n <= 0) return false;
        cuzk_buf_append(out, buf, (size_t)n);
    }
    return true;
}

/* One request on a connection of its own; the whole answer. */
static cuzk_buf ask(const fixture *f, const char *request) {
    cuzk_buf out = CUZK_BUF_INIT;
    const int fd = dial(f);
    say(fd, request, strlen(request));
    hear(fd, &out, NULL);
    close(fd);
    assert_non_null(out.data);
    return out;
}

/* For a server with a short time-out: whoever was held up for longer is cut off, and asks again. */
static cuzk_buf ask_until_answered(const fixture *f, const char *request) {
    cuzk_buf out = CUZK_BUF_INIT;
    for (int tries = 0; tries < 50 && !out.len; tries++) {
        const int fd = dial(f);
        say(fd, request, strlen(request));
        if (hear(fd, &out, "\r\n\r\n"))
            hear(fd, &out, NULL);
        else
            cuzk_buf_free(&out);
        close(fd);
    }
    assert_true(out.len > 0);
    return out;
}

static void check_answer(cuzk_buf out, const char *request, const char *first, const char *part) {
    if (strncmp(out.data, first, strlen(first)) != 0 || (part && !strstr(out.data, part)))
        fail_msg("expected \"%s\" and \"%s\" for\n%s\ngot\n%s", first, part ? part : "", request,
                 out.data);
    cuzk_buf_free(&out);
}

static void expect(const fixture *f, const char *request, const char *first, const char *part) {
    check_answer(ask(f, request), request, first, part);
}

static void expect_of_hasty(const fixture *f, const char *request, const char *first,
                            const char *part) {
    check_answer(ask_until_answered(f, request), request, first, part);
}

#define GET(path) "GET " path " HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n"

/* ---- tests ---- */

static void test_requests(void **state) {
    fixture f;
    (void)state;
    start(&f, "127.0.0.1:0", NULL, NULL);
    expect(&f, GET("/jobs/a%2Fb?q=x%20y&z") "X-Test: t\r\n\r\n", "HTTP/1.1 200",
           "GET /jobs/a%2Fb id=a/b q=x y x=t body= n=0");
    expect(&f, GET("/jobs/7?q=a+b") "\r\n", "HTTP/1.1 200", "q=a b");
    expect(&f,
           "POST /jobs/7 HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Length: "
           "5\r\n\r\nhello",
           "HTTP/1.1 200", "body=hello n=5");
    expect(&f,
           "POST /jobs/7 HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nTransfer-Encoding: "
           "chunked\r\n"
           "\r\n3\r\nhel\r\n2\r\nlo\r\n0\r\n\r\n",
           "HTTP/1.1 200", "body=hello n=5");
    expect(&f, "DELETE /jobs/7 HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n",
           "HTTP/1.1 200", "DELETE /jobs/7");
    cuzk_buf head = ask(&f, "HEAD / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
    assert_non_null(strstr(head.data, "HTTP/1.1 200"));
    assert_null(strstr(head.data, "doctype"));
    cuzk_buf_free(&head);
    stop(&f);
}

static void test_headers(void **state) {
    fixture f;
    (void)state;
    start(&f, "127.0.0.1:0", NULL, NULL);
    cuzk_buf out = ask(&f, GET("/") "\r\n");
    assert_non_null(strstr(out.data, "<!doctype html>"));
    assert_non_null(strstr(out.data, "Content-Security-Policy: default-src 'none'"));
    assert_non_null(strstr(out.data, "X-Content-Type-Options: nosniff"));
    assert_non_null(strstr(out.data, "X-Frame-Options: DENY"));
    assert_non_null(strstr(out.data, "Cache-Control: no-store"));
    cuzk_buf_free(&out);
    out = ask(&f, GET("/jobs/1") "\r\n");
    assert_non_null(strstr(out.data, "X-Reply: yes"));
    assert_null(strstr(out.data, "Injected"));
    cuzk_buf_free(&out);
    stop(&f);
}

static void test_refusals(void **state) {
    fixture f;
    (void)state;
    const cuzk_http_limits limits = {.timeout_s = 1};
    start(&f, "127.0.0.1:0", NULL, NULL);
    expect(&f, GET("/none") "\r\n", "HTTP/1.1 404", "{\"error\":{\"code\":\"not_found\"");
    expect(&f, GET("/../../etc/passwd") "\r\n", "HTTP/1.1 404", NULL);
    expect(&f, GET("/%2e%2e/etc/passwd") "\r\n", "HTTP/1.1 404", NULL);
    expect(&f, GET("/jobs/a%0") "\r\n", "HTTP/1.1 400", "bad_path");
    expect(&f, GET("/jobs/a?x=%zz") "\r\n", "HTTP/1.1 400", "bad_query");
    expect(&f, "PUT /jobs/1 HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n",
           "HTTP/1.1 405", "Allow: GET, POST, DELETE");
    expect(&f, GET("/nothing") "\r\n", "HTTP/1.1 500", "not answered");
    expect(&f,
           "POST /jobs/1 HTTP/1.1\r\nHost: localhost\r\nOrigin: http://evil.example\r\nConnection: "
           "close\r\n"
           "Content-Length: 0\r\n\r\n",
           "HTTP/1.1 403", "another site");
    expect(&f,
           "POST /jobs/1 HTTP/1.1\r\nHost: localhost\r\nOrigin: http://localhost\r\nConnection: "
           "close\r\n"
           "Content-Length: 0\r\n\r\n",
           "HTTP/1.1 200", NULL);
    static const char *const methods[] = {"POST", "DELETE"}, *const sites[] = {"cross-site",
                                                                               "same-site"};
    for (int i = 0; i < 4; i++) { /* a page that hides its origin */
        char text[256];
        snprintf(text, sizeof text,
                 "%s /jobs/1 HTTP/1.1\r\nHost: localhost\r\nSec-Fetch-Site: %s\r\n"
                 "Connection: close\r\nContent-Length: 0\r\n\r\n",
                 methods[i % 2], sites[i / 2]);
        expect(&f, text, "HTTP/1.1 403", "another site");
    }
    expect(&f, GET("/jobs/1") "Sec-Fetch-Site: cross-site\r\n\r\n", "HTTP/1.1 200", NULL);
    stop(&f);
    start(&f, "127.0.0.1:0", NULL, &limits);
    static const char *const nonsense[] = {"nonsense\r\n\r\n", "GET\r\n\r\n", "\0\1\2\3\r\n\r\n",
                                           "GET / HTTP/1.1\r\n: x\r\n\r\n"};
    for (size_t i = 0; i < 4; i++) { /* refused or closed */
        cuzk_buf out = CUZK_BUF_INIT;
        const int fd = dial(&f);
        say(fd, nonsense[i], i == 2 ? 8 : strlen(nonsense[i]));
        hear(fd, &out, NULL);
        assert_true(!out.data || !strncmp(out.data, "HTTP/1.1 4", 10));
        cuzk_buf_free(&out);
        close(fd);
    }
    expect_of_hasty(&f, GET("/healthz") "\r\n", "HTTP/1.1 200", NULL);
    stop(&f);
}

static void test_bodies(void **state) {
    fixture f;
    const cuzk_http_limits limits = {.body_budget = 200000};
    cuzk_buf request = CUZK_BUF_INIT;
    static char zeros[100000];
    (void)state;
    start(&f, "127.0.0.1:0", NULL, &limits);
    expect(&f,
           "POST /jobs/1 HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Length: "
           "1048577\r\n\r\n",
           "HTTP/1.1 413", "at most 1048576");
    expect(&f,
           "POST /jobs/1 HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Length: "
           "1000000\r\n\r\n",
           "HTTP/1.1 503", "Retry-After");
    expect(&f, GET("/jobs/1") "Content-Length: 1\r\n\r\nx", "HTTP/1.1 413", NULL);
    for (int round = 0; round < 5; round++) { /* what was used is given back */
        request.len = 0;
        cuzk_buf_puts(&request, "POST /jobs/1 HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n"
                                "Content-Length: 100000\r\n\r\n");
        memset(zeros, 'z', sizeof zeros);
        cuzk_buf_append(&request, zeros, sizeof zeros);
        expect(&f, request.data, "HTTP/1.1 200", "n=100000");
    }
    request.len = 0; /* chunked, without a length said: 13 pieces of 100000 */
    cuzk_buf_puts(&request, "POST /jobs/1 HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n"
                            "Transfer-Encoding: chunked\r\n\r\n");
    for (int i = 0; i < 3; i++) {
        cuzk_buf_puts(&request, "186a0\r\n");
        cuzk_buf_append(&request, zeros, sizeof zeros);
        cuzk_buf_puts(&request, "\r\n");
    }
    cuzk_buf_puts(&request, "0\r\n\r\n");
    expect(&f, request.data, "HTTP/1.1 503", NULL);
    cuzk_buf_free(&request);
    stop(&f);
}

static void write_file(const char *path, const char *text) {
    cuzk_err err = {0};
    assert_int_equal(cuzk_write_file(path, text, strlen(text), &err), CUZK_OK);
    assert_int_equal(chmod(path, 0600), 0);
}

static void test_tokens(void **state) {
    fixture f;
    char dir[] = "/tmp/cuzk-http-XXXXXX", path[64], address[80];
    (void)state;
    assert_non_null(mkdtemp(dir));
    snprintf(path, sizeof path, "%s/tokens", dir);
    snprintf(address, sizeof address, "unix://%s/http.sock", dir);
    write_file(path, "# two\n0123456789abcdef\n\nfedcba9876543210\r\n");
    const cuzk_net_security security = {.token_file = path};
    start(&f, address, &security, NULL);
    expect(&f, GET("/jobs/1") "\r\n", "HTTP/1.1 401", "WWW-Authenticate: Bearer");
    expect(&f, GET("/jobs/1") "Authorization: Bearer 0123456789abcdeX\r\n\r\n", "HTTP/1.1 401",
           NULL);
    expect(&f, GET("/jobs/1") "Authorization: Bearer 0123456789abcdef\r\n\r\n", "HTTP/1.1 200",
           NULL);
    expect(&f, GET("/jobs/1") "Authorization: bearer fedcba9876543210\r\n\r\n", "HTTP/1.1 200",
           NULL);
    expect(&f, GET("/healthz") "\r\n", "HTTP/1.1 200", NULL);
    stop(&f);
    assert_int_equal(access(address + strlen("unix://"), F_OK), -1);

    cuzk_net_access *a;
    cuzk_err err = {0};
    write_file(path, "short\n");
    assert_int_equal(cuzk_net_access_new(&a, &security, &err), CUZK_STATUS_BAD_INPUT);
    write_file(path, "# none\n");
    assert_int_equal(cuzk_net_access_new(&a, &security, &err), CUZK_STATUS_BAD_INPUT);
    write_file(path, "0123456789abcdef\n");
    assert_int_equal(chmod(path, 0644), 0);
    assert_int_equal(cuzk_net_access_new(&a, &security, &err), CUZK_STATUS_BAD_INPUT);
    assert_non_null(strstr(err.msg, "chmod 600"));
    unlink(path);
    rmdir(dir);
}

static cuzk_http_stream *await_stream(void) {
    cuzk_http_stream *s;
    for (int i = 0; !(s = atomic_load(&open_stream)) && i < 20000; i++)
        usleep(1000);
    assert_non_null(s);
    atomic_store(&open_stream, NULL);
    return s;
}

static void test_stream(void **state) {
    fixture f;
    cuzk_buf out = CUZK_BUF_INIT;
    (void)state;
    start(&f, "127.0.0.1:0", NULL, NULL);
    const int fd = dial(&f);
    say(fd, GET("/events") "\r\n", strlen(GET("/events") "\r\n"));
    cuzk_http_stream *s = await_stream();
    assert_true(hear(fd, &out, "text/event-stream"));
    for (int i = 0; i < 50; i++) {
        char data[16];
        snprintf(data, sizeof data, "event%d", i);
        assert_true(cuzk_http_stream_event(s, i % 2 ? "odd" : NULL, data));
        if (i % 10 == 0) assert_true(hear(fd, &out, data)); /* while it is asleep, too */
    }
    cuzk_http_stream_close(s);
    hear(fd, &out, NULL);
    assert_non_null(strstr(out.data, "event: odd\ndata: event49\n\n"));
    close(fd);
    cuzk_buf_free(&out);

    /* a client that goes away is noticed by writing */
    const int gone = dial(&f);
    say(gone, GET("/events") "\r\n", strlen(GET("/events") "\r\n"));
    s = await_stream();
    close(gone);
    int writes = 0;
    for (; cuzk_http_stream_write(s, ": \n\n", 4) && writes < 5000; writes++)
        usleep(1000);
    assert_true(writes < 5000);
    cuzk_http_stream_close(s);

    /* one that does not read costs no more than the limit */
    const int lazy = dial(&f);
    say(lazy, GET("/events") "\r\n", strlen(GET("/events") "\r\n"));
    s = await_stream();
    static char block[65536];
    for (writes = 0; cuzk_http_stream_write(s, block, sizeof block) && writes < 5000; writes++) {
    }
    assert_true(writes < 5000);

    /* the server ends while streams are open, asleep and held */
    const int open = dial(&f);
    say(open, GET("/events") "\r\n", strlen(GET("/events") "\r\n"));
    cuzk_http_stream *held = await_stream();
    usleep(20000);
    stop(&f);
    assert_false(cuzk_http_stream_write(held, "x", 1));
    cuzk_http_stream_close(held);
    cuzk_http_stream_close(s);
    close(lazy);
    close(open);
}

/* Headers that come a byte at a time are cut off although there is always something. */
static void test_slow(void **state) {
    fixture f;
    const cuzk_http_limits limits = {.timeout_s = 1};
    (void)state;
    start(&f, "127.0.0.1:0", NULL, &limits);
    const int fd = dial(&f);
    const int64_t before = cuzk_now_ns();
    bool closed = false;
    say(fd, "GET / HTTP/1.1\r\nX: ", 19);
    while (!closed && cuzk_now_ns() - before < (int64_t)20000000000) {
        struct pollfd pfd = {.fd = fd, .events = POLLIN};
        closed = poll(&pfd, 1, 100) == 1;
        if (!closed && send(fd, "x", 1, MSG_NOSIGNAL) < 0) closed = true;
    }
    assert_true(closed);
    close(fd);
    expect_of_hasty(&f, GET("/healthz") "\r\n", "HTTP/1.1 200", NULL);
    stop(&f);
}

#define POST_LONG                                                                                  \
    "POST /jobs/1 HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Length: "            \
    "250000\r\n\r\n"

/* Bodies that are begun and trickle: they hold what they brought, no more, others are answered
 * meanwhile, and they are cut off although there is always something. */
static void test_slow_bodies(void **state) {
    enum { SLOW = 10 };
    fixture f;
    const cuzk_http_limits limits = {.timeout_s = 2, .body_budget = 1200000};
    static char body[250000];
    int fd[SLOW];
    (void)state;
    start(&f, "127.0.0.1:0", NULL, &limits);
    memset(body, 'b', sizeof body);
    for (int i = 0; i < SLOW; i++) {
        fd[i] = dial(&f);
        say(fd[i], POST_LONG, sizeof POST_LONG - 1);
        say(fd[i], body, 1000);
    }
    cuzk_buf request = CUZK_BUF_INIT;
    cuzk_buf_puts(&request, POST_LONG);
    cuzk_buf_append(&request, body, sizeof body);
    expect_of_hasty(&f, request.data, "HTTP/1.1 200", "n=250000");
    cuzk_buf_free(&request);
    for (int i = 0; i < SLOW; i++) {
        const int64_t begun = cuzk_now_ns();
        bool closed = false;
        while (!closed && cuzk_now_ns() - begun < (int64_t)20000000000) {
            struct pollfd pfd = {.fd = fd[i], .events = POLLIN};
            closed = poll(&pfd, 1, 20) == 1;
            for (int k = i; k < SLOW && !closed; k++)
                (void)send(fd[k], "x", 1, MSG_NOSIGNAL);
        }
        assert_true(closed);
        close(fd[i]);
    }
    stop(&f);
}

#define POST_EXPECT                                                                                \
    "POST /jobs/1 HTTP/1.1\r\nHost: localhost\r\nExpect: 100-continue\r\n"                         \
    "Content-Length: 250000\r\n\r\n"

/* Asks whether a long body may come until the answer begins so. False: meanwhile other_fd (-1:
 * none) was closed. */
static bool await_answer(const fixture *f, const char *first, int other_fd) {
    for (int tries = 0; tries < 20000; tries++) {
        struct pollfd pfd = {.fd = other_fd, .events = POLLIN};
        cuzk_buf out = CUZK_BUF_INIT;
        if (poll(&pfd, 1, 0) == 1) return false;
        const int fd = dial(f);
        say(fd, POST_EXPECT, sizeof POST_EXPECT - 1);
        const bool heard = hear(fd, &out, "\r\n");
        close(fd);
        const bool found = heard && !strncmp(out.data, first, strlen(first));
        cuzk_buf_free(&out);
        if (found) return true;
        usleep(1000);
    }
    fail_msg("never answered %s", first);
    return false;
}

/* Large bodies that are half here use up their share; small ones are taken all the same, and the
 * next large one when those that stopped have been cut off. */
static void test_full_budget(void **state) {
    fixture f;
    const cuzk_http_limits limits = {.timeout_s = 4, .body_budget = 600000};
    static char body[250000];
    int fd[2];
    bool full = false;
    cuzk_buf request = CUZK_BUF_INIT, out = CUZK_BUF_INIT;
    (void)state;
    start(&f, "127.0.0.1:0", NULL, &limits);
    memset(body, 'b', sizeof body);
    for (int tries = 0; tries < 10 && !full; tries++) { /* until we are in time */
        for (int i = 0; i < 2; i++) {
            fd[i] = dial(&f);
            say(fd[i], POST_LONG, sizeof POST_LONG - 1);
            say(fd[i], body, 200000);
        }
        full = await_answer(&f, "HTTP/1.1 503", fd[0]); /* what was sent has arrived */
        if (full)
            expect_of_hasty(&f,
                            "POST /jobs/1 HTTP/1.1\r\nHost: localhost\r\nConnection: "
                            "close\r\nContent-Length: 5\r\n\r\nhello",
                            "HTTP/1.1 200", "n=5");
        for (int i = 0; i < 2; i++) {
            hear(fd[i], &out, NULL); /* closed */
            close(fd[i]);
        }
        cuzk_buf_free(&out);
    }
    assert_true(full);
    await_answer(&f, "HTTP/1.1 100", -1); /* their memory is free */
    cuzk_buf_puts(&request, POST_LONG);
    cuzk_buf_append(&request, body, sizeof body);
    expect_of_hasty(&f, request.data, "HTTP/1.1 200", "n=250000");
    cuzk_buf_free(&request);
    stop(&f);
}

/* ---- many ---- */

static int dial_from(const fixture *f, const char *source) {
    struct sockaddr_in from = {.sin_family = AF_INET}, to = {.sin_family = AF_INET};
    to.sin_port = htons((uint16_t)strtoul(strrchr(f->address, ':') + 1, NULL, 10));
    assert_int_equal(inet_pton(AF_INET, "127.0.0.1", &to.sin_addr), 1);
    assert_int_equal(inet_pton(AF_INET, source, &from.sin_addr), 1);
    const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_true(fd >= 0);
    assert_int_equal(bind(fd, (struct sockaddr *)&from, sizeof from), 0);
    assert_int_equal(connect(fd, (struct sockaddr *)&to, sizeof to), 0);
    return fd;
}

static void expect_on(int fd, const char *request, const char *part) {
    cuzk_buf out = CUZK_BUF_INIT;
    say(fd, request, strlen(request));
    if (!hear(fd, &out, part)) fail_msg("no %s in %s", part, out.data ? out.data : "nothing");
    cuzk_buf_free(&out);
}

/* 10,000 connections of one address that say nothing, half a header, or a body's beginning: health
 * is answered to a newcomer of that address, and another address keeps its connection and stream.
 */
static void test_many_connections(void **state) {
#ifdef CUZK_TEST_SANITIZED
    enum { MANY = 1500 };
#else
    enum { MANY = 10000 };
#endif
    static const char *const openings[] = {"", "GET /healthz HTTP/1.1\r\nHost: loc", POST_LONG};
    static int fd[MANY];
    fixture f;
    struct rlimit files;
    (void)state;
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &files), 0);
    files.rlim_cur = files.rlim_max;
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &files), 0);
    const size_t many = files.rlim_cur > MANY + 2000 ? MANY : (size_t)files.rlim_cur / 2;
    start(&f, "127.0.0.1:0", NULL, &(cuzk_http_limits){.timeout_s = 300});
    const int keeps = dial_from(&f, "127.0.0.2"), listens = dial_from(&f, "127.0.0.1");
    expect_on(keeps, "GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n", "GET /healthz");
    expect_on(listens, "GET /events HTTP/1.1\r\nHost: localhost\r\n\r\n", "event-stream");
    cuzk_http_stream *s = await_stream();
    for (size_t i = 0; i < many; i++) {
        fd[i] = dial(&f);
        const char *text = openings[i % 3];
        (void)send(fd[i], text, strlen(text), MSG_NOSIGNAL);
        if (i % 1000 == 999) expect(&f, GET("/healthz") "\r\n", "HTTP/1.1 200", NULL);
    }
    expect(&f, GET("/healthz") "\r\n", "HTTP/1.1 200", NULL);
    expect_on(keeps, "GET /jobs/1 HTTP/1.1\r\nHost: localhost\r\n\r\n", "GET /jobs/1");
    assert_true(cuzk_http_stream_event(s, NULL, "still here"));
    expect_on(listens, "", "still here");
    cuzk_http_stream_close(s);
    for (size_t i = 0; i < many; i++)
        close(fd[i]);
    close(keeps);
    close(listens);
    expect(&f, GET("/healthz") "\r\n", "HTTP/1.1 200", NULL);
    stop(&f);
}

/* Streams take half of all connections; what asks for one more is told, and the rest is served. */
static void test_many_streams(void **state) {
    enum { MOST = 8 };
    fixture f;
    const cuzk_http_limits limits = {.max_connections = 2 * MOST};
    int fd[MOST];
    cuzk_http_stream *s[MOST];
    (void)state;
    start(&f, "127.0.0.1:0", NULL, &limits);
    for (int i = 0; i < MOST; i++) {
        fd[i] = dial(&f);
        expect_on(fd[i], GET("/events") "\r\n", "event-stream");
        s[i] = await_stream();
    }
    expect(&f, GET("/events") "\r\n", "HTTP/1.1 503", "stream");
    expect(&f, GET("/healthz") "\r\n", "HTTP/1.1 200", NULL);
    for (int i = 0; i < MOST; i++) {
        assert_true(cuzk_http_stream_event(s[i], NULL, "x"));
        cuzk_http_stream_close(s[i]);
        close(fd[i]);
    }
    stop(&f);
}

/* ---- a socket's file ---- */

static void test_socket_file(void **state) {
    fixture f, second;
    char dir[] = "/tmp/cuzk-http-XXXXXX", address[80];
    cuzk_err err = {0};
    struct stat sb;
    (void)state;
    assert_non_null(mkdtemp(dir));
    snprintf(address, sizeof address, "unix://%s/s", dir);
    const char *path = address + strlen("unix://");
    start(&f, address, NULL, NULL);
    assert_int_equal(stat(path, &sb), 0);
    assert_int_equal(sb.st_mode & 0777, 0660);
    assert_int_equal(cuzk_http_server_new(&second.server, routes, 1, NULL, &err), CUZK_OK);
    assert_int_equal(cuzk_http_server_listen(second.server, address, NULL, NULL, &err),
                     CUZK_STATUS_IO);
    assert_non_null(strstr(err.msg, "in use"));
    cuzk_http_server_free(second.server);
    expect(&f, GET("/healthz") "\r\n", "HTTP/1.1 200", NULL);
    stop(&f);
    /* a stale one: bound, never listened on again */
    cuzk__listener l;
    assert_int_equal(cuzk__listener_open(&l, address, 0, &err), CUZK_OK);
    close(l.fd);
    l.fd = -1;
    start(&f, address, NULL, NULL);
    expect(&f, GET("/healthz") "\r\n", "HTTP/1.1 200", NULL);
    cuzk__listener_close(&l); /* not its file any more: it stays */
    assert_int_equal(stat(path, &sb), 0);
    stop(&f);
    /* what is no socket stays */
    write_file(path, "precious");
    assert_int_equal(cuzk_http_server_new(&second.server, routes, 1, NULL, &err), CUZK_OK);
    assert_int_equal(cuzk_http_server_listen(second.server, address, NULL, NULL, &err),
                     CUZK_STATUS_IO);
    cuzk_http_server_free(second.server);
    unlink(path);
    rmdir(dir);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_requests),     cmocka_unit_test(test_headers),
        cmocka_unit_test(test_refusals),     cmocka_unit_test(test_bodies),
        cmocka_unit_test(test_tokens),       cmocka_unit_test(test_stream),
        cmocka_unit_test(test_slow),         cmocka_unit_test(test_slow_bodies),
        cmocka_unit_test(test_full_budget),  cmocka_unit_test(test_many_connections),
        cmocka_unit_test(test_many_streams), cmocka_unit_test(test_socket_file),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
