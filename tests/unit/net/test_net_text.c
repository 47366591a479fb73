/* What src/net does with bytes alone: frames, encodings, timeouts, paths, addresses. */
#include "support.h"

#include "net/address.h"
#include "net/grpc.h"
#include "net/grpc_frame.h"
#include "net/grpc_text.h"
#include "net/http_route.h"
#include "net/pb.h"

/* ---- frames ---- */

static size_t put_frame(uint8_t *out, const char *text) {
    const size_t n = strlen(text);
    out[0] = 0;
    cuzk_st_u32be(out + 1, (uint32_t)n);
    memcpy(out + 5, text, n);
    return n + 5;
}

/* Feeds n bytes in pieces of at most `piece`; messages are joined by '|'. */
static void feed(cuzk__grpc_frames *f, const uint8_t *p, size_t n, size_t piece, char *out,
                 size_t first_room) {
    static uint8_t room[64];
    while (n) {
        const size_t some = n < piece ? n : piece;
        const uint8_t *at = p, *end = p + some;
        cuzk__grpc_event ev;
        while ((ev = cuzk__grpc_frames_feed(f, &at, end)) != CUZK__GRPC_MORE) {
            if (ev == CUZK__GRPC_ROOM) {
                f->body = room;
                f->room = f->room ? f->len : first_room < f->len ? first_room : f->len;
                continue;
            }
            assert_int_equal(ev, CUZK__GRPC_MESSAGE);
            const size_t have = strlen(out);
            memcpy(out + have, room, f->len);
            memcpy(out + have + f->len, "|", 2);
            cuzk__grpc_frames_next(f);
            if (at == end) break;
        }
        assert_ptr_equal(at, end);
        p += some;
        n -= some;
    }
}

static void test_frames_cut_anywhere(void **state) {
    uint8_t bytes[128];
    size_t n = put_frame(bytes, "hello");
    n += put_frame(bytes + n, "");
    n += put_frame(bytes + n, "a longer message of some words");
    n += put_frame(bytes + n, "x");
    (void)state;
    for (size_t piece = 1; piece <= n; piece++)
        for (size_t room = 1; room < 40; room += 13) {
            cuzk__grpc_frames f = {0};
            char out[128] = "";
            feed(&f, bytes, n, piece, out, room);
            assert_string_equal(out, "hello||a longer message of some words|x|");
            assert_true(cuzk__grpc_frames_idle(&f));
        }
}

static void test_frames_flag_and_cut_short(void **state) {
    const uint8_t flagged[] = {1, 0, 0, 0, 1, 'x'}, cut[] = {0, 0, 0, 0, 9, 'x'};
    cuzk__grpc_frames f = {0};
    const uint8_t *p = flagged;
    (void)state;
    assert_int_equal(cuzk__grpc_frames_feed(&f, &p, flagged + sizeof flagged), CUZK__GRPC_FLAGGED);
    uint8_t body[9];
    f = (cuzk__grpc_frames){0};
    p = cut;
    assert_int_equal(cuzk__grpc_frames_feed(&f, &p, cut + sizeof cut), CUZK__GRPC_ROOM);
    assert_int_equal(f.len, 9);
    f.body = body;
    f.room = 9;
    assert_int_equal(cuzk__grpc_frames_feed(&f, &p, cut + sizeof cut), CUZK__GRPC_MORE);
    assert_false(cuzk__grpc_frames_idle(&f));
}

/* ---- encodings ---- */

static void check_percent(const char *plain, const char *coded) {
    cuzk_buf b = CUZK_BUF_INIT;
    char back[64];
    cuzk__grpc_percent_encode(&b, plain);
    assert_string_equal(b.data ? b.data : "", coded);
    cuzk__grpc_percent_decode(back, sizeof back, coded, strlen(coded));
    assert_string_equal(back, plain);
    cuzk_buf_free(&b);
}

static void test_percent(void **state) {
    char out[8];
    (void)state;
    check_percent("", "");
    check_percent("plain ~ text", "plain ~ text");
    check_percent("100 %\n", "100 %25%0A");
    check_percent("\xc3\xbc", "%C3%BC");
    cuzk__grpc_percent_decode(out, sizeof out, "%zz%4", 5); /* no escapes: stay */
    assert_string_equal(out, "%zz%4");
    cuzk__grpc_percent_decode(out, sizeof out, "0123456789", 10);
    assert_string_equal(out, "0123456");
}

static void test_timeouts(void **state) {
    int64_t ns;
    char out[16];
    (void)state;
    static const struct {
        const char *text;
        int64_t ns;
    } good[] = {{"1n", 1},          {"250u", 250000},        {"100m", 100000000},
                {"5S", 5000000000}, {"2M", 120000000000},    {"1H", 3600000000000},
                {"0S", 0},          {"99999999H", INT64_MAX}};
    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++) {
        assert_true(cuzk__grpc_timeout_parse(good[i].text, strlen(good[i].text), &ns));
        assert_int_equal(ns, good[i].ns);
    }
    static const char *const bad[] = {"",    "5",          "S",   "5s",  "-5S",
                                      "5 S", "123456789S", "5SS", "1.5S"};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        assert_false(cuzk__grpc_timeout_parse(bad[i], strlen(bad[i]), &ns));
    test_rng_start();
    for (int i = 0; i < 1000; i++) {
        const int64_t want = (int64_t)(test_rng() >> (1 + test_rng() % 63));
        cuzk__grpc_timeout_format(out, sizeof out, want);
        assert_true(cuzk__grpc_timeout_parse(out, strlen(out), &ns));
        /* never earlier, and later by little: a microsecond in a tenth of a second */
        assert_true(ns >= want && (ns == INT64_MAX || ns - want <= want / 90000));
    }
}

static void test_base64(void **state) {
    uint8_t data[40];
    (void)state;
    test_rng_start();
    for (size_t n = 0; n < sizeof data; n++) {
        cuzk_buf text = CUZK_BUF_INIT, back = CUZK_BUF_INIT;
        test_rng_bytes(data, n);
        cuzk__grpc_base64(&text, data, n);
        assert_int_equal(text.len, (n * 4 + 2) / 3);
        if (n % 2) /* padded, as some send it */
            while (text.len % 4)
                cuzk_buf_puts(&text, "=");
        assert_true(cuzk__grpc_unbase64(&back, text.data ? text.data : "", text.len));
        assert_int_equal(back.len, n);
        if (n) assert_memory_equal(back.data, data, n);
        cuzk_buf_free(&text);
        cuzk_buf_free(&back);
    }
    cuzk_buf b = CUZK_BUF_INIT;
    assert_false(cuzk__grpc_unbase64(&b, "abcde", 5));
    assert_false(cuzk__grpc_unbase64(&b, "ab*d", 4));
    cuzk_buf_free(&b);
}

static void test_content_types(void **state) {
    (void)state;
    assert_true(cuzk__grpc_content_type("application/grpc"));
    assert_true(cuzk__grpc_content_type("Application/GRPC+proto"));
    assert_true(cuzk__grpc_content_type("application/grpc; charset=utf-8"));
    assert_false(cuzk__grpc_content_type("application/grpc-web"));
    assert_false(cuzk__grpc_content_type("application/grpc+json"));
    assert_false(cuzk__grpc_content_type("application/json"));
    assert_false(cuzk__grpc_content_type(""));
}

static void test_retry_details(void **state) {
    (void)state;
    static const int64_t waits[] = {0, 1, 1500000000, 86400000000000};
    for (int i = 0; i < 4; i++) {
        cuzk_buf b = CUZK_BUF_INIT;
        cuzk__grpc_retry_details(&b, CUZK_GRPC_UNAVAILABLE, "come back", waits[i]);
        assert_int_equal(cuzk__grpc_retry_of(b.data, b.len), waits[i]);
        for (size_t n = 0; n < b.len; n++) /* cut anywhere: no crash, no invented wait */
            assert_true(cuzk__grpc_retry_of(b.data, n) <= waits[i]);
        cuzk_buf_free(&b);
    }
    assert_int_equal(cuzk__grpc_retry_of("", 0), -1);
}

static void test_code_names(void **state) {
    (void)state;
    assert_string_equal(cuzk_grpc_code_name(0), "OK");
    assert_string_equal(cuzk_grpc_code_name(8), "RESOURCE_EXHAUSTED");
    assert_string_equal(cuzk_grpc_code_name(16), "UNAUTHENTICATED");
    assert_string_equal(cuzk_grpc_code_name(99), "UNKNOWN");
    assert_string_equal(cuzk_grpc_code_name(-1), "UNKNOWN");
}

static void test_protobuf_fields(void **state) {
    cuzk_buf b = CUZK_BUF_INIT;
    cuzk__pb_field f;
    (void)state;
    cuzk__pb_put_int(&b, 1, UINT64_MAX);
    cuzk__pb_put_str(&b, 300, "text");
    cuzk_cursor c = cuzk_cursor_init(b.data, b.len);
    assert_true(cuzk__pb_next(&c, &f));
    assert_true(f.tag == 1 && f.wire == 0 && f.value == UINT64_MAX);
    assert_true(cuzk__pb_next(&c, &f));
    assert_true(f.tag == 300 && f.len == 4 && !memcmp(f.data, "text", 4));
    assert_false(cuzk__pb_next(&c, &f));
    assert_int_equal(cuzk_cursor_left(&c), 0);
    for (size_t n = 1; n < b.len; n++) { /* cut short: noticed, unless between two fields */
        c = cuzk_cursor_init(b.data, n);
        while (cuzk__pb_next(&c, &f)) {
        }
        assert_true(cuzk_cursor_left(&c) > 0 || n == 11);
    }
    static const uint8_t zero_tag[] = {0, 0}, group[] = {0x0b};
    c = cuzk_cursor_init(zero_tag, 2);
    assert_false(cuzk__pb_next(&c, &f));
    c = cuzk_cursor_init(group, 1);
    assert_false(cuzk__pb_next(&c, &f));
    cuzk_buf_free(&b);
}

/* ---- HTTP ---- */

static void check_path(const char *pattern, const char *path, cuzk__http_match want,
                       const char *id) {
    cuzk_buf params = CUZK_BUF_INIT;
    assert_int_equal(cuzk__http_match_path(pattern, path, &params), want);
    if (id) assert_string_equal(cuzk__http_pairs_get(&params, "id"), id);
    cuzk_buf_free(&params);
}

static void test_paths(void **state) {
    (void)state;
    check_path("/", "/", CUZK__HTTP_YES, NULL);
    check_path("/a", "/a/", CUZK__HTTP_NO, NULL);
    check_path("/jobs/{id}", "/jobs/17", CUZK__HTTP_YES, "17");
    check_path("/jobs/{id}", "/jobs/", CUZK__HTTP_NO, NULL);
    check_path("/jobs/{id}", "/jobs/1/2", CUZK__HTTP_NO, NULL);
    check_path("/jobs/{id}/trace", "/jobs/a%2Fb/trace", CUZK__HTTP_YES, "a/b");
    check_path("/jobs/{id}", "/jobs/..", CUZK__HTTP_YES, "..");
    check_path("/jobs/{id}", "/jobs/%2e%2e%2fetc", CUZK__HTTP_YES, "../etc");
    check_path("/jobs/{id}", "/jobs/a%0", CUZK__HTTP_BAD, NULL);
    check_path("/jobs/{id}", "/jobs/a%00b", CUZK__HTTP_BAD, NULL);
    check_path("/static", "/static/../secret", CUZK__HTTP_NO, NULL);
}

static void test_origins(void **state) {
    (void)state;
    static const char *const own[] = {"127.0.0.1:9821", "[::1]:9821",   "localhost",
                                      "Box:1",          "box.lan:9821", "10.0.0.7"};
    static const char *const other[] = {"evil.example:9821",      "boxer", "127.0.0.1.evil.example",
                                        "localhost.evil.example", "",      "[box]"};
    for (size_t i = 0; i < 6; i++) {
        assert_true(cuzk__http_host_is_own(own[i], "box"));
        assert_false(cuzk__http_host_is_own(other[i], "box"));
    }
    assert_true(cuzk__http_host_is_own(NULL, "box"));
    assert_true(cuzk__http_same_origin(NULL, "localhost:9821", NULL));
    assert_true(cuzk__http_same_origin("http://localhost:9821", "localhost:9821", NULL));
    assert_true(cuzk__http_same_origin("https://Prover.example", "prover.example", NULL));
    assert_false(cuzk__http_same_origin("http://evil.example", "localhost:9821", NULL));
    assert_false(cuzk__http_same_origin("null", "localhost:9821", NULL));
    assert_false(cuzk__http_same_origin("http://localhost:1", "localhost:9821", NULL));
    assert_false(cuzk__http_same_origin("http://x", NULL, NULL));
    static const struct {
        const char *site;
        bool fine;
    } sites[] = {{"same-origin", true}, {"none", true},       {"Same-Origin", true},
                 {"cross-site", false}, {"same-site", false}, {"", false},
                 {"anything", false}};
    for (size_t i = 0; i < sizeof sites / sizeof sites[0]; i++) {
        assert_int_equal(cuzk__http_same_origin(NULL, "localhost:1", sites[i].site), sites[i].fine);
        assert_int_equal(cuzk__http_same_origin("http://localhost:1", "localhost:1", sites[i].site),
                         sites[i].fine);
        assert_false(cuzk__http_same_origin("http://evil.example", "localhost:1", sites[i].site));
    }
}

/* ---- addresses ---- */

static void test_addresses(void **state) {
    cuzk__address a;
    cuzk_err err = {0};
    (void)state;
    assert_int_equal(cuzk__address_parse(&a, "unix:///run/x.sock", &err), CUZK_OK);
    assert_true(a.is_unix);
    assert_string_equal(a.host, "/run/x.sock");
    assert_int_equal(cuzk__address_parse(&a, "unix:x.sock", &err), CUZK_OK);
    assert_string_equal(a.host, "x.sock");
    assert_int_equal(cuzk__address_parse(&a, "[::1]:9820", &err), CUZK_OK);
    assert_string_equal(a.host, "::1");
    assert_string_equal(a.port, "9820");
    assert_int_equal(cuzk__address_parse(&a, ":0", &err), CUZK_OK);
    assert_string_equal(a.host, "");
    static const char *const bad[] = {
        "",         "unix://", "host",  "host:",   "host:65536",  "host:http",
        "::1:9820", "[]:1",    "[::1]", "host:-1", "host:000001", "[::1:5"};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        err = (cuzk_err){0};
        assert_int_equal(cuzk_net_address_check(bad[i], &err), CUZK_STATUS_BAD_INPUT);
        assert_non_null(strstr(err.msg, "unix:///path"));
    }
    char longest[200];
    memset(longest, 'x', sizeof longest);
    memcpy(longest, "unix:///", 8);
    longest[sizeof longest - 1] = 0;
    assert_int_equal(cuzk_net_address_check(longest, &err), CUZK_STATUS_BAD_INPUT);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_frames_cut_anywhere),
        cmocka_unit_test(test_frames_flag_and_cut_short),
        cmocka_unit_test(test_percent),
        cmocka_unit_test(test_timeouts),
        cmocka_unit_test(test_base64),
        cmocka_unit_test(test_content_types),
        cmocka_unit_test(test_retry_details),
        cmocka_unit_test(test_code_names),
        cmocka_unit_test(test_protobuf_fields),
        cmocka_unit_test(test_paths),
        cmocka_unit_test(test_origins),
        cmocka_unit_test(test_addresses),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
