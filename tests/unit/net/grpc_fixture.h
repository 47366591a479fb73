/* A server of echo_methods on a loop of its own, and clients of it. */
#ifndef CUZK_TESTS_GRPC_FIXTURE_H
#define CUZK_TESTS_GRPC_FIXTURE_H

#include "support.h"

#include "base/clock.h"
#include "echo_server.h"
#include "net/grpc_client.h"

#include <unistd.h>

#define SECOND ((int64_t)1000000000)

typedef struct fixture {
    cuzk_net_loop *loop;
    cuzk_grpc_server *server;
    cuzk_net_access *access;
    char address[CUZK_NET_ADDRESS];
} fixture;

typedef struct setup {
    const char *address; /* NULL: TCP */
    cuzk_grpc_limits limits;
    const cuzk_net_security *security;
    const uint8_t *descriptors;
    size_t n_descriptors;
} setup;

static inline void check_ok(cuzk_status st, const cuzk_err *err) {
    if (st != CUZK_OK) fail_msg("status %d: %s", (int)st, err->msg);
}

static inline void start(fixture *f, const setup *how) {
    cuzk_err err = {0};
    *f = (fixture){0};
    check_ok(cuzk_net_access_new(&f->access, how->security, &err), &err);
    check_ok(cuzk_net_loop_new(&f->loop, &err), &err);
    check_ok(
        cuzk_grpc_server_new(&f->server, f->loop, echo_methods, echo_methods_n, &how->limits, &err),
        &err);
    check_ok(cuzk_grpc_server_health(f->server, &err), &err);
    if (how->descriptors)
        check_ok(cuzk_grpc_server_reflection(f->server, how->descriptors, how->n_descriptors, &err),
                 &err);
    check_ok(cuzk_grpc_server_listen(f->server, how->address ? how->address : "127.0.0.1:0",
                                     f->access, f->address, &err),
             &err);
    check_ok(cuzk_net_loop_start(f->loop, &err), &err);
    atomic_store(&echo_cancelled, 0);
}

static inline void free_server(void *ctx) {
    cuzk_grpc_server_free(ctx);
}

/* Waits (20 s at most) until the expression holds. */
#define UNTIL(cond)                                                                                \
    do {                                                                                           \
        int rounds = 0;                                                                            \
        while (!(cond) && rounds++ < 20000)                                                        \
            usleep(1000);                                                                          \
        assert_true(cond);                                                                         \
    } while (0)

static inline void stop(fixture *f) {
    assert_int_equal(cuzk_net_post(f->loop, free_server, f->server), CUZK_OK);
    UNTIL(atomic_load(&echo_threads) == 0);
    cuzk_net_loop_free(f->loop);
    cuzk_net_access_free(f->access);
}

static inline cuzk_grpc_stats stats_of(const fixture *f) {
    cuzk_grpc_stats s;
    cuzk_grpc_server_stats(f->server, &s);
    return s;
}

static inline cuzk_grpc_client *dial(const fixture *f, const cuzk_grpc_client_options *o) {
    cuzk_grpc_client *c;
    cuzk_err err = {0};
    check_ok(cuzk_grpc_client_new(&c, f->address, o, &err), &err);
    return c;
}

#define ECHO(name) "/cuzk.test.Echo/" name

/* A call that must be made; how it ended. The reply is a text in *reply (free it), or dropped. */
static inline cuzk_grpc_result call(cuzk_grpc_client *c, const char *path, const char *req,
                                    int64_t timeout_ns, cuzk_buf *reply) {
    cuzk_grpc_result r;
    cuzk_err err = {0};
    cuzk_buf own = CUZK_BUF_INIT;
    check_ok(cuzk_grpc_client_call(c, path, req, strlen(req), timeout_ns, reply ? reply : &own, &r,
                                   &err),
             &err);
    cuzk_buf_free(&own);
    return r;
}

/* The reply must come; false when the server had closed the connection, or was about to. */
static inline bool replies(cuzk_grpc_client *c, const char *path, const char *req,
                           const char *reply) {
    cuzk_buf b = CUZK_BUF_INIT;
    cuzk_grpc_result r;
    cuzk_err err = {0};
    const cuzk_status st =
        cuzk_grpc_client_call(c, path, req, strlen(req), 30 * SECOND, &b, &r, &err);
    const bool closed = r.code == CUZK_GRPC_UNAVAILABLE;
    if (st == CUZK_OK && !closed) {
        if (r.code) fail_msg("%s: %s: %s", path, cuzk_grpc_code_name(r.code), r.message);
        assert_int_equal(b.len, strlen(reply));
        if (b.len) assert_memory_equal(b.data, reply, b.len);
    } else {
        assert_true(closed);
    }
    cuzk_buf_free(&b);
    return !closed;
}

static inline void expect_reply(cuzk_grpc_client *c, const char *path, const char *req,
                                const char *reply) {
    if (!replies(c, path, req, reply)) fail_msg("%s: the connection was lost", path);
}

/* A client that is held up may end a call at its deadline before the server has heard of it.
 * Whether the server has heard of one more than `before`, asked on the same connection. */
static inline bool was_heard(const fixture *f, cuzk_grpc_client *c, uint64_t before) {
    expect_reply(c, ECHO("Echo"), "after it", "after it");
    return stats_of(f).calls_total == before + 2;
}

#endif
