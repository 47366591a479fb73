/* The pull reader: values, order, escapes, base64 windows, and what it says of wrong input. */
#include "support.h"

#include "base/json_pull.h"
#include "base/mem.h"

#include <inttypes.h>

static cuzk_pull start(const char *text, cuzk_err *err) {
    cuzk_pull j;
    memset(err, 0, sizeof *err);
    cuzk_pull_init(&j, (const uint8_t *)text, strlen(text), "t.json", err);
    return j;
}

static void numbers(void **state) {
    static const struct {
        const char *text;
        uint64_t max, want;
        bool good;
    } cases[] = {
        {"0", 9, 0, true},
        {" \n\t\r7 ", 9, 7, true},
        {"18446744073709551615", UINT64_MAX, UINT64_MAX, true},
        {"18446744073709551616", UINT64_MAX, 0, false},
        {"255", 254, 0, false},
        {"01", 9, 0, false},
        {"-1", 9, 0, false},
        {"1.5", 9, 0, false},
        {"1e3", 9999, 0, false},
        {"", 9, 0, false},
        {"\"1\"", 9, 0, false},
        {"null", 9, 0, false},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        cuzk_err err;
        uint64_t v;
        cuzk_pull j = start(cases[i].text, &err);
        const cuzk_status st = cuzk_pull_u64(&j, cases[i].max, &v);
        assert_int_equal(st, cases[i].good ? CUZK_OK : CUZK_STATUS_BAD_INPUT);
        if (cases[i].good)
            assert_true(v == cases[i].want);
        else
            assert_true(strstr(err.msg, "expected") && strstr(err.msg, "actual"));
    }
}

static void bytes32(void **state) {
    char text[1024] = "[";
    uint8_t want[32], got[32];
    cuzk_err err;
    (void)state;
    test_rng_start();
    for (int round = 0; round < 200; round++) {
        /* compact, with white space, and at the end of the window all the same */
        const char *comma = round % 3 == 0 ? "," : round % 3 == 1 ? " ,\n " : ",";
        size_t n = 1;
        test_rng_bytes(want, 32);
        if (round < 3) memset(want, round == 0 ? 0 : 255, 32);
        for (int i = 0; i < 32; i++)
            n += (size_t)snprintf(text + n, sizeof text - n, "%s%u", i ? comma : "", want[i]);
        snprintf(text + n, sizeof text - n, "]%600s", round % 2 ? "" : " ");
        cuzk_pull j = start(text, &err);
        if (cuzk_pull_bytes32(&j, got) != CUZK_OK) fail_msg("%s", err.msg);
        assert_memory_equal(got, want, 32);
        assert_int_equal(cuzk_pull_end(&j), CUZK_OK);
    }
    /* 31, 33, a number too large, a leading zero */
    const char *bad[] = {"31", "33", "256", "007"};
    for (int k = 0; k < 4; k++) {
        size_t n = 1;
        for (int i = 0; i < (k == 0 ? 31 : k == 1 ? 33 : 32); i++)
            n += (size_t)snprintf(text + n, sizeof text - n, "%s%s", i ? "," : "",
                                  k >= 2 && i == 9 ? bad[k] : "1");
        snprintf(text + n, sizeof text - n, "]%600s", "");
        cuzk_pull j = start(text, &err);
        assert_int_equal(cuzk_pull_bytes32(&j, got), CUZK_STATUS_BAD_INPUT);
        assert_non_null(strstr(err.msg, "expected"));
    }
}

static void strings(void **state) {
    static const struct {
        const char *text, *want; /* NULL: refused */
    } cases[] = {
        {"\"\"", ""},
        {"\"abc\"", "abc"},
        {"\"a\\\"b\\\\c\\/\\u0041\"", "a\"b\\c/A"},
        {"\"\\u0000\"", NULL},
        {"\"\\n\"", NULL},
        {"\"\\u00e9\"", NULL},
        {"\"\\x\"", NULL},
        {"\"abc", NULL},
        {"\"a\nb\"", NULL},
        {"\"too long for it\"", NULL},
        {"7", NULL},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        cuzk_err err;
        char out[12];
        cuzk_pull j = start(cases[i].text, &err);
        const cuzk_status st = cuzk_pull_string(&j, out, sizeof out);
        assert_int_equal(st, cases[i].want ? CUZK_OK : CUZK_STATUS_BAD_INPUT);
        if (cases[i].want) assert_string_equal(out, cases[i].want);
    }
}

/* Walks {"a":[…],"b":{…}} while skipping; every prefix of the text is an error. */
static cuzk_status walk(cuzk_pull *j) {
    const char *key;
    bool more;
    uint64_t v;
    CUZK_TRY(cuzk_pull_object(j));
    for (;;) {
        CUZK_TRY(cuzk_pull_key(j, &key));
        if (!key) break;
        if (strcmp(key, "a") != 0) {
            CUZK_TRY(cuzk_pull_skip(j));
            continue;
        }
        CUZK_TRY(cuzk_pull_array(j));
        for (;;) {
            CUZK_TRY(cuzk_pull_item(j, &more));
            if (!more) break;
            CUZK_TRY(cuzk_pull_u64(j, 99, &v));
        }
    }
    return cuzk_pull_end(j);
}

static void prefixes(void **state) {
    static const char text[] = "{ \"x\" : {\"y\":[1.5e-3,{},[],\"q\\\"}\",true],\"z\":null},"
                               "\"a\":[1, 2,3],\"b\":\"s\"}";
    cuzk_err err;
    (void)state;
    cuzk_pull j = start(text, &err);
    if (walk(&j) != CUZK_OK) fail_msg("%s", err.msg);
    for (size_t n = 0; n + 1 < sizeof text; n++) {
        memset(&err, 0, sizeof err);
        uint8_t *copy = malloc(n ? n : 1); /* exactly n bytes, for sanitizers */
        memcpy(copy, text, n);
        cuzk_pull_init(&j, copy, n, "t.json", &err);
        assert_int_equal(walk(&j), CUZK_STATUS_BAD_INPUT);
        assert_true(strstr(err.msg, "t.json: offset ") == err.msg);
        free(copy);
    }
}

/* What is skipped is JSON too. */
static void skipped(void **state) {
    static const struct {
        const char *text;
        bool good;
    } cases[] = {
        {"0", true},
        {"-0", true},
        {"-12.50e+07", true},
        {"1E9", true},
        {"00", false},
        {"01", false},
        {"-", false},
        {"+1", false},
        {"1.", false},
        {".5", false},
        {"1e", false},
        {"1e+", false},
        {"00-.e", false},
        {"1-2", false},
        {"1.2.3", false},
        {"truee", false},
        {"nul", false},
        {"\"a\\u00e9\"", true},
        {"\"\\\"\\/\"", true},
        {"\"\\x\"", false},
        {"\"\\u12g4\"", false},
        {"\"\\u12\"", false},
        {"\"\\\"", false},
        {"\"a\tb\"", false},
        {"{\"a\\q\":1}", false},
        {"[1,02]", false},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        cuzk_err err;
        cuzk_pull j = start(cases[i].text, &err);
        cuzk_status st = cuzk_pull_skip(&j);
        if (st == CUZK_OK) st = cuzk_pull_end(&j);
        if (st != (cases[i].good ? CUZK_OK : CUZK_STATUS_BAD_INPUT))
            fail_msg("%s: %d", cases[i].text, st);
    }
}

static void messages(void **state) {
    static const struct {
        const char *text, *want;
    } cases[] = {
        {"{\"a\":[1,2,300]}", "t.json: offset 10: a[2]: expected a number up to 99, actual a "
                              "greater one"},
        {"{\"a\":[1 2]}", "t.json: offset 8: a[0]: expected `,` or `]`, actual `2`"},
        {"[]", "t.json: offset 0: expected an object, actual an array"},
        {"{\"a\":7}", "t.json: offset 5: a: expected an array, actual `7`"},
        {"{}x", "t.json: offset 2: expected nothing more, actual `x`"},
        {"{\"b\":}", "t.json: offset 5: b: expected a value, actual `}`"},
        {"", "t.json: offset 0: expected an object, actual the end of the file"},
        {"\xef\xbb\xbf{}", "t.json: offset 0: expected an object, actual a byte order mark"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        cuzk_err err;
        cuzk_pull j = start(cases[i].text, &err);
        assert_int_equal(walk(&j), CUZK_STATUS_BAD_INPUT);
        assert_string_equal(err.msg, cases[i].want);
    }
}

static void depth(void **state) {
    char text[2 * CUZK_PULL_DEPTH + 3] = {0};
    cuzk_err err;
    (void)state;
    memset(text, '[', CUZK_PULL_DEPTH);
    memset(text + CUZK_PULL_DEPTH, ']', CUZK_PULL_DEPTH);
    cuzk_pull j = start(text, &err);
    assert_int_equal(cuzk_pull_skip(&j), CUZK_OK);
    memset(text, '[', CUZK_PULL_DEPTH + 1);
    memset(text + CUZK_PULL_DEPTH + 1, ']', CUZK_PULL_DEPTH + 1);
    j = start(text, &err);
    assert_int_equal(cuzk_pull_skip(&j), CUZK_STATUS_BAD_INPUT);
    assert_non_null(strstr(err.msg, "nesting"));
}

/* ---- fields ---- */

struct point {
    cuzk_pull *j;
    uint64_t v[3];
};

static cuzk_status coordinate(void *ctx, unsigned i) {
    struct point *p = ctx;
    return cuzk_pull_u64(p->j, 99, &p->v[i]);
}

static cuzk_status read_point(const char *text, bool skip, struct point *p, cuzk_err *err) {
    static const char *const names[] = {"x", "y", "z"};
    cuzk_pull j = start(text, err);
    *p = (struct point){.j = &j};
    return cuzk_pull_fields(&j, names, 3, 4, skip, coordinate, p);
}

static void fields(void **state) {
    struct point p;
    cuzk_err err;
    (void)state;
    assert_int_equal(read_point("{\"y\":2,\"x\":1}", false, &p, &err), CUZK_OK);
    assert_true(p.v[0] == 1 && p.v[1] == 2 && p.v[2] == 0);
    assert_int_equal(read_point("{\"y\":2,\"q\":[],\"z\":3,\"x\":1}", true, &p, &err), CUZK_OK);
    assert_true(p.v[2] == 3);
    assert_int_equal(read_point("{\"x\":1}", false, &p, &err), CUZK_STATUS_BAD_INPUT);
    assert_non_null(strstr(err.msg, "a field `y`"));
    assert_int_equal(read_point("{\"x\":1,\"y\":2,\"x\":1}", false, &p, &err),
                     CUZK_STATUS_BAD_INPUT);
    assert_non_null(strstr(err.msg, "each field once"));
    assert_int_equal(read_point("{\"x\":1,\"y\":2,\"q\":1}", false, &p, &err),
                     CUZK_STATUS_BAD_INPUT);
    assert_non_null(strstr(err.msg, "q: expected a field of this object"));
}

/* ---- base64 ---- */

static size_t encode(char *out, const uint8_t *in, size_t n) {
    static const char al[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    size_t k = 0;
    for (size_t i = 0; i < n; i += 3) {
        const uint32_t v = (uint32_t)in[i] << 16 | (i + 1 < n ? (uint32_t)in[i + 1] << 8 : 0) |
                           (i + 2 < n ? in[i + 2] : 0);
        out[k++] = al[v >> 18];
        out[k++] = al[v >> 12 & 63];
        out[k++] = i + 1 < n ? al[v >> 6 & 63] : '=';
        out[k++] = i + 2 < n ? al[v & 63] : '=';
    }
    return k;
}

static void base64_bytes(void **state) {
    uint8_t in[64], *out;
    char text[128] = "\"";
    size_t n;
    cuzk_err err;
    (void)state;
    test_rng_start();
    for (size_t len = 0; len < 64; len++) {
        test_rng_bytes(in, sizeof in);
        const size_t k = encode(text + 1, in, len);
        text[1 + k] = '"';
        text[2 + k] = '\0';
        cuzk_pull j = start(text, &err);
        if (cuzk_pull_base64(&j, len, &out, &n) != CUZK_OK) fail_msg("%s", err.msg);
        assert_int_equal(n, len);
        assert_memory_equal(out, in, len);
        cuzk_free(out);
        if (len == 0) continue;
        j = start(text, &err); /* longer than allowed */
        assert_int_equal(cuzk_pull_base64(&j, len - 1, &out, &n), CUZK_STATUS_BAD_INPUT);
        assert_null(out);
    }
    const char *bad[] = {"\"A\"",    "\"AAA\"",  "\"AA=A\"", "\"=AAA\"",     "\"A===\"",
                         "\"AB==\"", "\"AAB=\"", "\"A-AA\"", "\"AA==AAAA\"", "\"AAAA"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        cuzk_pull j = start(bad[i], &err);
        if (cuzk_pull_base64(&j, 99, &out, &n) != CUZK_STATUS_BAD_INPUT)
            fail_msg("%s was taken", bad[i]);
        assert_null(out);
    }
}

/* A document over several windows: numbers cut anywhere come out whole. */
static void base64_windows(void **state) {
    enum { N = 60000 };
    char *text = malloc(8 * N), *b64 = malloc(16 * N);
    size_t n = 0;
    uint64_t v;
    bool more;
    cuzk_err err = {0};
    cuzk_pull j;
    (void)state;
    assert_true(text && b64);
    for (unsigned i = 0; i < N; i++)
        n += (size_t)snprintf(text + n, 8 * N - n, "%s%u", i ? "," : "[", i);
    text[n++] = ']';
    const size_t k = encode(b64, (const uint8_t *)text, n);
    assert_int_equal(cuzk_pull_init_base64(&j, (const uint8_t *)b64, k, 1000, "t.json", &err),
                     CUZK_OK);
    assert_int_equal(cuzk_pull_array(&j), CUZK_OK);
    for (unsigned i = 0;; i++) {
        if (cuzk_pull_item(&j, &more) != CUZK_OK) fail_msg("%s", err.msg);
        if (!more) {
            assert_int_equal(i, N);
            break;
        }
        if (cuzk_pull_u64(&j, N, &v) != CUZK_OK) fail_msg("%s", err.msg);
        assert_true(v == i);
    }
    assert_int_equal(cuzk_pull_end(&j), CUZK_OK);
    cuzk_pull_fini(&j);

    /* a wrong character in the middle: the offset is that of the file */
    const size_t at = k / 2;
    b64[at] = '!';
    assert_int_equal(cuzk_pull_init_base64(&j, (const uint8_t *)b64, k, 1000, "t.json", &err),
                     CUZK_OK);
    assert_int_equal(cuzk_pull_skip(&j), CUZK_STATUS_BAD_INPUT);
    const char *offset = strstr(err.msg, "offset ");
    assert_non_null(offset);
    const uint64_t said = strtoull(offset + 7, NULL, 10);
    assert_true(said >= 1000 + at - 4 && said <= 1000 + at);
    cuzk_pull_fini(&j);
    free(text);
    free(b64);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers),        cmocka_unit_test(bytes32),
        cmocka_unit_test(strings),        cmocka_unit_test(prefixes),
        cmocka_unit_test(messages),       cmocka_unit_test(depth),
        cmocka_unit_test(fields),         cmocka_unit_test(base64_bytes),
        cmocka_unit_test(base64_windows), cmocka_unit_test(skipped),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
