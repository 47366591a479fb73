/* gRPC's and HTTP's small encodings: the first byte chooses which. */
#include "fuzz.h"

#include "net/address.h"
#include "net/grpc_frame.h"
#include "net/grpc_text.h"
#include "net/http_route.h"
#include "net/pb.h"

/* Messages cut by pieces of the input's choosing are those of the whole. */
static void frames(const uint8_t *p, size_t n) {
    cuzk__grpc_frames f = {0};
    uint8_t room[256];
    size_t whole = 0, at = 0;
    while (at + 5 <= n && !p[at]) { /* what a plain reading finds */
        const uint32_t len = cuzk_ld_u32be(p + at + 1);
        if (len > n - at - 5 || len > sizeof room) break;
        at += 5 + len;
        whole++;
    }
    size_t found = 0;
    for (size_t i = 0; i < n;) {
        const size_t piece = 1 + p[i] % 7, some = piece < n - i ? piece : n - i;
        const uint8_t *from = p + i, *end = from + some;
        for (;;) {
            const cuzk__grpc_event ev = cuzk__grpc_frames_feed(&f, &from, end);
            if (ev == CUZK__GRPC_MORE) break;
            if (ev == CUZK__GRPC_FLAGGED || (ev == CUZK__GRPC_ROOM && f.len > sizeof room)) {
                FUZZ_CHECK(found == whole);
                return;
            }
            if (ev == CUZK__GRPC_ROOM) {
                f.body = room;
                f.room = f.room ? f.len : 1 + f.len / 2;
                continue;
            }
            fuzz_touch(f.body, f.len);
            found++;
            cuzk__grpc_frames_next(&f);
            if (from == end) break;
        }
        i += some;
    }
    FUZZ_CHECK(found == whole);
}

static void texts(const char *text, size_t n) {
    cuzk_buf b = CUZK_BUF_INIT;
    char plain[64], back[256];
    cuzk__grpc_percent_decode(plain, sizeof plain, text, n);
    FUZZ_CHECK(strlen(plain) < sizeof plain);
    cuzk__grpc_percent_encode(&b, plain);
    cuzk__grpc_percent_decode(back, sizeof back, b.data ? b.data : "", b.len);
    FUZZ_CHECK(!strcmp(plain, back));
    cuzk_buf_free(&b);
    int64_t ns, again;
    if (!cuzk__grpc_timeout_parse(text, n, &ns)) return;
    FUZZ_CHECK(ns >= 0);
    cuzk__grpc_timeout_format(plain, sizeof plain, ns);
    FUZZ_CHECK(cuzk__grpc_timeout_parse(plain, strlen(plain), &again) && again >= ns);
}

static void base64(const char *text, size_t n) {
    cuzk_buf bytes = CUZK_BUF_INIT, again = CUZK_BUF_INIT, back = CUZK_BUF_INIT;
    if (cuzk__grpc_unbase64(&bytes, text, n)) {
        cuzk__grpc_base64(&again, bytes.data, bytes.len);
        FUZZ_CHECK(cuzk__grpc_unbase64(&back, again.data ? again.data : "", again.len));
        FUZZ_CHECK(back.len == bytes.len);
        FUZZ_CHECK(!bytes.len || !memcmp(back.data, bytes.data, bytes.len));
    }
    cuzk_buf_free(&bytes);
    cuzk_buf_free(&again);
    cuzk_buf_free(&back);
}

static void paths(const char *path) {
    static const char *const patterns[] = {"/", "/a/{x}", "/a/{x}/b/{y}", "/{x}"};
    cuzk_buf params = CUZK_BUF_INIT;
    for (int i = 0; i < 4; i++) {
        if (cuzk__http_match_path(patterns[i], path, &params) != CUZK__HTTP_YES) continue;
        const char *x = cuzk__http_pairs_get(&params, "x");
        FUZZ_CHECK(!strchr(patterns[i], '{') || (x && strlen(x) <= strlen(path)));
    }
    cuzk_buf_free(&params);
    cuzk__http_same_origin(path, "localhost:9821", NULL);
    cuzk__http_same_origin(NULL, NULL, path);
    cuzk__grpc_content_type(path);
    cuzk_err err = {0};
    cuzk__address a;
    const cuzk_status st = cuzk__address_parse(&a, path, &err);
    FUZZ_CHECK(st == CUZK_OK ? strlen(a.host) < sizeof a.host : err.msg[0] != 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (!size) return 0;
    const uint8_t *p = data + 1;
    const size_t n = size - 1;
    char *text = malloc(n + 1);
    FUZZ_CHECK(text);
    if (n) memcpy(text, p, n);
    text[n] = 0;
    switch (data[0] % 5) {
    case 0:
        frames(p, n);
        break;
    case 1:
        texts(text, n);
        break;
    case 2:
        base64(text, n);
        break;
    case 3:
        paths(text);
        break;
    default:
        FUZZ_CHECK(cuzk__grpc_retry_of(p, n) >= -1);
    }
    free(text);
    return 0;
}
