/* Who may come in (TLS, client certificates, tokens), health, reflection. */
#include "certs.h"
#include "grpc_fixture.h"

#include "base/file.h"
#include "base/process.h"
#include "net/http.h"
#include "net/pb.h"

#include <openssl/err.h>
#include <openssl/ssl.h>
#include <pthread.h>
#include <sys/stat.h>

/* ---- files ---- */

enum { PATH = 96 };

typedef struct files {
    char dir[32];
    char ca[PATH], server[PATH], server_key[PATH], client[PATH], client_key[PATH];
    char stranger[PATH], stranger_key[PATH], other_ca[PATH], unused[PATH], tokens[PATH];
} files;

static void make_files(files *d) {
    cuzk_err err = {0};
    snprintf(d->dir, sizeof d->dir, "/tmp/cuzk-tls-XXXXXX");
    assert_non_null(mkdtemp(d->dir));
    pair ca = make_pair("Test Authority", NULL), other = make_pair("Other Authority", NULL);
    pair server = make_pair("server", &ca), client = make_pair("miner-7", &ca);
    pair stranger = make_pair("stranger", &other);
    write_pair(&ca, d->dir, "ca", d->ca, d->unused, PATH);
    write_pair(&other, d->dir, "other", d->other_ca, d->unused, PATH);
    write_pair(&server, d->dir, "server", d->server, d->server_key, PATH);
    write_pair(&client, d->dir, "client", d->client, d->client_key, PATH);
    write_pair(&stranger, d->dir, "stranger", d->stranger, d->stranger_key, PATH);
    free_pair(&ca);
    free_pair(&other);
    free_pair(&server);
    free_pair(&client);
    free_pair(&stranger);
    snprintf(d->tokens, PATH, "%s/tokens", d->dir);
    static const char tokens[] = "0123456789abcdef-one\n0123456789abcdef-two\n";
    check_ok(cuzk_write_file(d->tokens, tokens, sizeof tokens - 1, &err), &err);
    assert_int_equal(chmod(d->tokens, 0600), 0);
}

static void remove_files(const files *d) {
    static const char *const names[] = {"ca",       "other",  "server", "client",
                                        "stranger", "tokens", "broken"};
    char path[PATH];
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        snprintf(path, sizeof path, "%s/%s.pem", d->dir, names[i]);
        unlink(path);
        snprintf(path, sizeof path, "%s/%s.key", d->dir, names[i]);
        unlink(path);
    }
    unlink(d->tokens);
    assert_int_equal(rmdir(d->dir), 0);
}

/* ---- TLS ---- */

static cuzk_status try_dial(const fixture *f, const cuzk_grpc_client_options *o, cuzk_err *err) {
    cuzk_grpc_client *c;
    cuzk_grpc_result r;
    cuzk_buf b = CUZK_BUF_INIT;
    *err = (cuzk_err){0};
    cuzk_status st = cuzk_grpc_client_new(&c, f->address, o, err);
    /* with TLS 1.3 a client that is refused learns it when it reads */
    if (st == CUZK_OK)
        st = cuzk_grpc_client_call(c, ECHO("Echo"), "x", 1, 20 * SECOND, &b, &r, err);
    cuzk_buf_free(&b);
    cuzk_grpc_client_free(c);
    return st;
}

static void test_tls(void **state) {
    const files *d = *state;
    fixture f;
    cuzk_err err;
    cuzk_buf b = CUZK_BUF_INIT;
    const cuzk_net_security security = {.cert_file = d->server, .key_file = d->server_key};
    start(&f, &(setup){.security = &security});
    cuzk_grpc_client *c = dial(&f, &(cuzk_grpc_client_options){.ca_file = d->ca});
    expect_reply(c, ECHO("Echo"), "over TLS", "over TLS");
    static char big[3000000];
    memset(big, 'b', sizeof big - 1);
    expect_reply(c, ECHO("Later"), big, big);
    assert_int_equal(call(c, ECHO("Who"), "", 0, &b).code, CUZK_GRPC_OK);
    assert_non_null(strstr(b.data, "||none")); /* nobody's certificate */
    cuzk_buf_free(&b);
    cuzk_grpc_client_free(c);
    /* not ours; by another name; not TLS at all */
    assert_int_equal(try_dial(&f, &(cuzk_grpc_client_options){.ca_file = d->other_ca}, &err),
                     CUZK_STATUS_IO);
    assert_non_null(strstr(err.msg, "certificate"));
    assert_int_equal(
        try_dial(&f, &(cuzk_grpc_client_options){.ca_file = d->ca, .server_name = "elsewhere"},
                 &err),
        CUZK_STATUS_IO);
    assert_int_equal(try_dial(&f, NULL, &err), CUZK_STATUS_IO);
    c = dial(&f, &(cuzk_grpc_client_options){.ca_file = d->ca, .server_name = "localhost"});
    expect_reply(c, ECHO("Echo"), "x", "x");
    cuzk_grpc_client_free(c);
    stop(&f);
}

static void test_client_certificates(void **state) {
    const files *d = *state;
    fixture f;
    cuzk_err err;
    cuzk_buf b = CUZK_BUF_INIT;
    const cuzk_net_security security = {
        .cert_file = d->server, .key_file = d->server_key, .client_ca_file = d->ca};
    start(&f, &(setup){.security = &security});
    cuzk_grpc_client *c =
        dial(&f, &(cuzk_grpc_client_options){
                     .ca_file = d->ca, .cert_file = d->client, .key_file = d->client_key});
    assert_int_equal(call(c, ECHO("Who"), "", 0, &b).code, CUZK_GRPC_OK);
    assert_non_null(strstr(b.data, "|CN=miner-7|"));
    cuzk_buf_free(&b);
    cuzk_grpc_client_free(c);
    assert_int_equal(try_dial(&f, &(cuzk_grpc_client_options){.ca_file = d->ca}, &err),
                     CUZK_STATUS_IO);
    assert_int_equal(try_dial(&f,
                              &(cuzk_grpc_client_options){.ca_file = d->ca,
                                                          .cert_file = d->stranger,
                                                          .key_file = d->stranger_key},
                              &err),
                     CUZK_STATUS_IO);
    UNTIL(stats_of(&f).connections == 0);
    stop(&f);
}

static void test_tokens(void **state) {
    const files *d = *state;
    fixture f;
    const cuzk_net_security security = {.token_file = d->tokens};
    start(&f, &(setup){.security = &security});
    static const struct {
        const char *token;
        int code;
    } tries[] = {{NULL, CUZK_GRPC_UNAUTHENTICATED},
                 {"0123456789abcdef-onf", CUZK_GRPC_UNAUTHENTICATED},
                 {"0123456789abcdef-one", CUZK_GRPC_OK},
                 {"0123456789abcdef-two", CUZK_GRPC_OK}};
    for (size_t i = 0; i < sizeof tries / sizeof tries[0]; i++) {
        cuzk_grpc_client *c = dial(&f, &(cuzk_grpc_client_options){.token = tries[i].token});
        assert_int_equal(call(c, ECHO("Echo"), "x", 0, NULL).code, tries[i].code);
        /* whether there is such a method is not told to strangers */
        const int unknown = call(c, ECHO("None"), "x", 0, NULL).code;
        assert_int_equal(unknown, tries[i].code ? tries[i].code : CUZK_GRPC_UNIMPLEMENTED);
        cuzk_grpc_client_free(c);
    }
    cuzk_err err;
    assert_int_equal(try_dial(&f, &(cuzk_grpc_client_options){.token = ""}, &err),
                     CUZK_STATUS_BAD_INPUT);
    assert_int_equal(try_dial(&f, &(cuzk_grpc_client_options){.token = "line\n"}, &err),
                     CUZK_STATUS_BAD_INPUT);
    stop(&f);
}

static void test_bad_files(void **state) {
    const files *d = *state;
    cuzk_net_access *a;
    cuzk_err err = {0};
    char broken[PATH];
    snprintf(broken, sizeof broken, "%s/broken.pem", d->dir);
    check_ok(cuzk_write_file(broken, "no certificate", 14, &err), &err);
    const struct {
        cuzk_net_security s;
        cuzk_status want;
        const char *part;
    } tries[] = {
        {{.cert_file = broken, .key_file = d->server_key}, CUZK_STATUS_BAD_INPUT, "broken.pem"},
        {{.cert_file = d->server, .key_file = broken}, CUZK_STATUS_BAD_INPUT, "broken.pem"},
        {{.cert_file = d->server, .key_file = d->client_key}, CUZK_STATUS_BAD_INPUT, "client.key"},
        {{.cert_file = d->server}, CUZK_STATUS_USAGE, "key is missing"},
        {{.key_file = d->server_key}, CUZK_STATUS_USAGE, "certificate is missing"},
        {{.client_ca_file = d->ca}, CUZK_STATUS_USAGE, "need TLS"},
        {{.cert_file = d->server, .key_file = d->server_key, .client_ca_file = broken},
         CUZK_STATUS_BAD_INPUT,
         "broken.pem"},
        {{.token_file = "/nonexistent/tokens"}, CUZK_STATUS_IO, "/nonexistent/tokens"},
    };
    for (size_t i = 0; i < sizeof tries / sizeof tries[0]; i++) {
        err = (cuzk_err){0};
        assert_int_equal(cuzk_net_access_new(&a, &tries[i].s, &err), tries[i].want);
        if (!strstr(err.msg, tries[i].part)) fail_msg("%s: %s", tries[i].part, err.msg);
    }
}

/* ---- HTTPS: the same files for the other server ---- */

static void hello(void *ctx, const cuzk_http_request *req, cuzk_http_response *res) {
    (void)ctx;
    (void)req;
    cuzk_http_respond(res, 200, "text/plain", "hello", 5);
}

/* A request over TLS: the answer's first line, or "" when there is none. */
static void https_get(const char *address, const files *d, bool certificate, char out[64]) {
    SSL_CTX *ctx = SSL_CTX_new(TLS_client_method());
    assert_int_equal(SSL_CTX_load_verify_file(ctx, d->ca), 1);
    SSL_CTX_set_verify(ctx, SSL_VERIFY_PEER, NULL);
    if (certificate) {
        assert_int_equal(SSL_CTX_use_certificate_chain_file(ctx, d->client), 1);
        assert_int_equal(SSL_CTX_use_PrivateKey_file(ctx, d->client_key, SSL_FILETYPE_PEM), 1);
    }
    BIO *bio = BIO_new_ssl_connect(ctx);
    char host[CUZK_NET_ADDRESS]; /* OpenSSL's macro drops the const */
    snprintf(host, sizeof host, "%s", address);
    BIO_set_conn_hostname(bio, host);
    static const char request[] = "GET / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";
    int n = -1;
    if (BIO_do_handshake(bio) == 1 && BIO_write(bio, request, sizeof request - 1) > 0)
        n = BIO_read(bio, out, 63);
    out[n > 0 ? n : 0] = 0;
    out[strcspn(out, "\r\n")] = 0;
    BIO_free_all(bio);
    SSL_CTX_free(ctx);
    ERR_clear_error();
}

static void test_https(void **state) {
    const files *d = *state;
    const cuzk_http_route route = {"GET", "/", hello, NULL, 0, 0};
    const cuzk_net_security security = {
        .cert_file = d->server, .key_file = d->server_key, .client_ca_file = d->ca};
    for (int demand = 0; demand < 2; demand++) {
        cuzk_net_security s = security;
        cuzk_http_server *server;
        cuzk_net_access *access;
        cuzk_err err = {0};
        char address[CUZK_NET_ADDRESS], line[64];
        if (!demand) s.client_ca_file = NULL;
        check_ok(cuzk_net_access_new(&access, &s, &err), &err);
        check_ok(cuzk_http_server_new(&server, &route, 1, NULL, &err), &err);
        check_ok(cuzk_http_server_listen(server, "127.0.0.1:0", access, address, &err), &err);
        https_get(address, d, true, line);
        assert_string_equal(line, "HTTP/1.1 200 OK");
        https_get(address, d, false, line);
        assert_string_equal(line, demand ? "HTTP/1.1 403 Forbidden" : "HTTP/1.1 200 OK");
        cuzk_http_server_free(server);
        cuzk_net_access_free(access);
    }
}

/* ---- health ---- */

typedef struct watched {
    const fixture *f;
    _Atomic int last, count;
} watched;

static bool on_health(void *ctx, const uint8_t *msg, size_t len) {
    watched *w = ctx;
    assert_int_equal(len, 2);
    assert_int_equal(msg[0], 8);
    atomic_store(&w->last, msg[1]);
    return atomic_fetch_add(&w->count, 1) < 3;
}

static void *watch(void *ctx) {
    watched *w = ctx;
    cuzk_grpc_result r;
    cuzk_err err = {0};
    cuzk_grpc_client *c = dial(w->f, NULL);
    check_ok(cuzk_grpc_client_stream(c, "/grpc.health.v1.Health/Watch", "\x0a\x01s", 3, 30 * SECOND,
                                     on_health, w, &r, &err),
             &err);
    assert_int_equal(r.code, CUZK_GRPC_CANCELLED);
    cuzk_grpc_client_free(c);
    return NULL;
}

static void test_health(void **state) {
    fixture f;
    pthread_t t;
    static const char check[] = "/grpc.health.v1.Health/Check";
    (void)state;
    start(&f, &(setup){0});
    cuzk_grpc_client *c = dial(&f, NULL);
    expect_reply(c, check, "", "\x08\x01");
    assert_int_equal(call(c, check, "\x0a\x01s", 0, NULL).code, CUZK_GRPC_NOT_FOUND);
    assert_int_equal(call(c, check, "\x0a\x09s", 0, NULL).code, CUZK_GRPC_INVALID_ARGUMENT);
    watched w = {.f = &f};
    assert_int_equal(pthread_create(&t, NULL, watch, &w), 0);
    UNTIL(atomic_load(&w.last) == 3); /* SERVICE_UNKNOWN */
    assert_int_equal(cuzk_grpc_health_set(f.server, "s", true), CUZK_OK);
    UNTIL(atomic_load(&w.last) == 1);
    expect_reply(c, check, "\x0a\x01s", "\x08\x01");
    assert_int_equal(cuzk_grpc_health_set(f.server, "s", true), CUZK_OK); /* nothing new */
    assert_int_equal(cuzk_grpc_health_set(f.server, "s", false), CUZK_OK);
    UNTIL(atomic_load(&w.last) == 2);
    expect_reply(c, check, "\x0a\x01s", "\x08\x02");
    assert_int_equal(cuzk_grpc_health_set(f.server, "s", true), CUZK_OK);
    pthread_join(t, NULL);
    assert_int_equal(atomic_load(&w.count), 4);
    UNTIL(stats_of(&f).calls == 0);
    cuzk_grpc_client_free(c);
    stop(&f);
}

/* ---- reflection ---- */

/* Two files: b.proto (package p.q; message M { N }, enum E, service S { Run }) that needs a.proto.
 */
static void make_set(cuzk_buf *set) {
    cuzk_buf a = CUZK_BUF_INIT, b = CUZK_BUF_INIT, m = CUZK_BUF_INIT, s = CUZK_BUF_INIT;
    cuzk__pb_put_str(&a, 1, "a.proto");
    cuzk__pb_put_bytes(&a, 4, "\x0a\x03Top", 5);
    cuzk__pb_put_str(&b, 1, "b.proto");
    cuzk__pb_put_str(&b, 2, "p.q");
    cuzk__pb_put_str(&b, 3, "a.proto");
    cuzk__pb_put_str(&m, 1, "M");
    cuzk__pb_put_bytes(&m, 3, "\x0a\x01N", 3);
    cuzk__pb_put_bytes(&b, 4, m.data, m.len);
    cuzk__pb_put_bytes(&b, 5,
                       "\x0a\x01"
                       "E",
                       3);
    cuzk__pb_put_str(&s, 1, "S");
    cuzk__pb_put_bytes(&s, 2, "\x0a\x03Run", 5);
    cuzk__pb_put_bytes(&b, 6, s.data, s.len);
    cuzk__pb_put_bytes(set, 1, a.data, a.len);
    cuzk__pb_put_bytes(set, 1, b.data, b.len);
    cuzk_buf_free(&a);
    cuzk_buf_free(&b);
    cuzk_buf_free(&m);
    cuzk_buf_free(&s);
}

/* Asks with one field; the answer's fields 4 (files, counted), 5, 6, 7: which it is, and its bytes.
 */
typedef struct answer {
    uint32_t tag;
    unsigned files;
    cuzk_buf bytes;
} answer;

static void ask(cuzk_grpc_client *c, const char *version, uint32_t tag, const char *what,
                answer *out) {
    char path[96];
    cuzk_buf req = CUZK_BUF_INIT;
    cuzk_grpc_result r;
    cuzk_err err = {0};
    cuzk__pb_field f, inner;
    *out = (answer){0};
    snprintf(path, sizeof path, "/grpc.reflection.%s.ServerReflection/ServerReflectionInfo",
             version);
    cuzk__pb_put_str(&req, tag, what);
    check_ok(cuzk_grpc_client_call(c, path, req.data, req.len, 30 * SECOND, &out->bytes, &r, &err),
             &err);
    assert_int_equal(r.code, CUZK_GRPC_OK);
    cuzk_cursor cur = cuzk_cursor_init(out->bytes.data, out->bytes.len);
    while (cuzk__pb_next(&cur, &f)) {
        if (f.tag == 2) {
            assert_int_equal(f.len, req.len);
            assert_memory_equal(f.data, req.data, req.len);
        }
        if (f.tag < 4) continue;
        out->tag = f.tag;
        cuzk_cursor in = cuzk_cursor_init(f.data, f.len);
        while (f.tag == 4 && cuzk__pb_next(&in, &inner))
            out->files++;
    }
    assert_int_equal(cuzk_cursor_left(&cur), 0);
    cuzk_buf_free(&req);
}

static void check_answer(cuzk_grpc_client *c, uint32_t tag, const char *what, uint32_t want,
                         unsigned n_files) {
    answer a;
    ask(c, "v1", tag, what, &a);
    if (a.tag != want || a.files != n_files)
        fail_msg("%u %s: tag %u with %u files", tag, what, a.tag, a.files);
    cuzk_buf_free(&a.bytes);
}

static void test_reflection(void **state) {
    fixture f;
    cuzk_buf set = CUZK_BUF_INIT;
    answer a;
    (void)state;
    make_set(&set);
    start(&f, &(setup){.descriptors = (const uint8_t *)set.data, .n_descriptors = set.len});
    cuzk_grpc_client *c = dial(&f, NULL);
    static const char *const versions[] = {"v1", "v1alpha"};
    for (int i = 0; i < 2; i++) {
        ask(c, versions[i], 7, "", &a);
        assert_int_equal(a.tag, 6);
        assert_non_null(memmem(a.bytes.data, a.bytes.len, "p.q.S", 5));
        cuzk_buf_free(&a.bytes);
    }
    check_answer(c, 3, "a.proto", 4, 1);
    check_answer(c, 3, "b.proto", 4, 2); /* with what it needs */
    check_answer(c, 3, "c.proto", 7, 0);
    static const char *const known[] = {"p.q.M", "p.q.M.N", "p.q.E", "p.q.S", "p.q.S.Run"};
    static const char *const unknown[] = {"", "p.q", "p.q.M.X", "p.q.SX", "M", "p.q.S.Run.x", "."};
    for (int i = 0; i < 5; i++)
        check_answer(c, 4, known[i], 4, 2);
    check_answer(c, 4, "Top", 4, 1);
    for (int i = 0; i < 7; i++)
        check_answer(c, 4, unknown[i], 7, 0);
    check_answer(c, 5, "", 7, 0);
    check_answer(c, 6, "p.q.M", 5, 0);
    check_answer(c, 6, "p.q.X", 7, 0);
    check_answer(c, 9, "", 7, 0);
    cuzk_grpc_client_free(c);
    stop(&f);

    cuzk_net_loop *loop;
    cuzk_err err = {0};
    check_ok(cuzk_net_loop_new(&loop, &err), &err);
    for (size_t n = 0; n < set.len; n += 7) { /* cut short: refused, or fewer files */
        cuzk_grpc_server *s;
        check_ok(cuzk_grpc_server_new(&s, loop, echo_methods, 1, NULL, &err), &err);
        const cuzk_status st = cuzk_grpc_server_reflection(s, (const uint8_t *)set.data, n, &err);
        assert_true(st == CUZK_STATUS_BAD_INPUT || n >= 16);
        cuzk_grpc_server_free(s);
    }
    cuzk_net_loop_free(loop);
    cuzk_buf_free(&set);
}

int main(void) {
    static files d;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_prestate(test_tls, &d),
        cmocka_unit_test_prestate(test_client_certificates, &d),
        cmocka_unit_test_prestate(test_tokens, &d),
        cmocka_unit_test_prestate(test_bad_files, &d),
        cmocka_unit_test_prestate(test_https, &d),
        cmocka_unit_test(test_health),
        cmocka_unit_test(test_reflection),
    };
    cuzk_process_init();
    make_files(&d);
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    remove_files(&d);
    return failed;
}
