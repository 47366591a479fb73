/* What a client may send to the gRPC server, through its real loop and a socket pair. Input whose
 * first byte is even is sent as it is; else it is a list of steps that make mostly sensible HTTP/2:
 * requests, pieces of messages, resets, other frames. Afterwards nothing of it is left. */
#include "fuzz.h"

#include "net/grpc_internal.h"
#include "net/pb.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

static void echo(void *ctx, cuzk_grpc_call *call) {
    const uint8_t *p;
    size_t n;
    (void)ctx;
    cuzk_grpc_call_request(call, &p, &n);
    fuzz_touch(p, n);
    cuzk_grpc_reply(call, p, n);
}

static void chat(void *ctx, cuzk_grpc_call *call) {
    const uint8_t *p;
    size_t n;
    (void)ctx;
    if (cuzk_grpc_call_request(call, &p, &n))
        cuzk_grpc_send(call, p, n);
    else
        cuzk_grpc_end(call, CUZK_GRPC_OK, NULL, NULL, 0);
}

static void let_go(void *ctx, cuzk_grpc_call *call) {
    (void)ctx;
    cuzk_grpc_call_unref(call);
}

static void hang(void *ctx, cuzk_grpc_call *call) {
    (void)ctx;
    cuzk_grpc_call_on_cancel(call, let_go, NULL);
    cuzk_grpc_call_ref(call);
    cuzk_grpc_send(call, "x", 1);
}

static const cuzk_grpc_method methods[] = {
    {"/t/Echo", CUZK_GRPC_UNARY, echo, NULL},
    {"/t/Chat", CUZK_GRPC_CLIENT_STREAM | CUZK_GRPC_SERVER_STREAM, chat, NULL},
    {"/t/Hang", CUZK_GRPC_SERVER_STREAM, hang, NULL},
};

static cuzk_net_loop *loop;
static cuzk_grpc_server *server;

static void start(void) {
    static cuzk_buf set;
    cuzk_err err = {0};
    const cuzk_grpc_limits limits = {
        .max_message = 200000, .request_budget = 600000, .max_send_queue = 100000};
    cuzk_buf file = CUZK_BUF_INIT;
    cuzk__pb_put_str(&file, 1, "a.proto");
    cuzk__pb_put_bytes(&file, 4, "\x0a\x03Top", 5);
    cuzk__pb_put_bytes(&set, 1, file.data, file.len);
    cuzk_buf_free(&file);
    FUZZ_CHECK(cuzk_net_loop_new(&loop, &err) == CUZK_OK);
    FUZZ_CHECK(cuzk_grpc_server_new(&server, loop, methods, 3, &limits, &err) == CUZK_OK);
    FUZZ_CHECK(cuzk_grpc_server_health(server, &err) == CUZK_OK);
    FUZZ_CHECK(cuzk_grpc_server_reflection(server, (const uint8_t *)set.data, set.len, &err) ==
               CUZK_OK);
}

static void step(int rounds) {
    cuzk_err err = {0};
    for (int i = 0; i < rounds; i++)
        FUZZ_CHECK(cuzk__loop_step(loop, 0, &err) == CUZK_OK);
}

/* ---- steps ---- */

static void put_frame(cuzk_buf *out, uint8_t type, uint8_t flags, uint32_t stream, const void *data,
                      size_t n) {
    uint8_t head[9] = {(uint8_t)(n >> 16), (uint8_t)(n >> 8), (uint8_t)n, type, flags};
    cuzk_st_u32be(head + 5, stream & 0x7fffffff);
    cuzk_buf_append(out, head, sizeof head);
    cuzk_buf_append(out, data, n);
}

static void put_header(cuzk_buf *b, const char *name, const char *value) {
    const uint8_t literal = 0, n = (uint8_t)strlen(name), v = (uint8_t)strlen(value);
    cuzk_buf_append(b, &literal, 1); /* HPACK: literal, not indexed, new name, no Huffman */
    cuzk_buf_append(b, &n, 1);
    cuzk_buf_puts(b, name);
    cuzk_buf_append(b, &v, 1);
    cuzk_buf_puts(b, value);
}

static void put_request(cuzk_buf *out, uint8_t what, uint32_t stream) {
    static const char *const paths[] = {"/t/Echo",
                                        "/t/Chat",
                                        "/t/Hang",
                                        "/grpc.health.v1.Health/Check",
                                        "/grpc.health.v1.Health/Watch",
                                        "/grpc.reflection.v1.ServerReflection/ServerReflectionInfo",
                                        "/t/None"};
    cuzk_buf b = CUZK_BUF_INIT;
    put_header(&b, ":method", what & 0x80 ? "GET" : "POST");
    put_header(&b, ":scheme", "http");
    put_header(&b, ":path", paths[what % 7]);
    put_header(&b, "content-type", what & 0x40 ? "text/plain" : "application/grpc");
    if (what & 0x20) put_header(&b, "grpc-timeout", "1n");
    if (what & 0x10) put_header(&b, "grpc-encoding", "gzip");
    put_frame(out, NGHTTP2_HEADERS, NGHTTP2_FLAG_END_HEADERS | (what >> 3 & 1), stream, b.data,
              b.len);
    cuzk_buf_free(&b);
}

static void put_steps(cuzk_buf *out, const uint8_t *p, size_t size) {
    cuzk_cursor c = cuzk_cursor_init(p, size);
    const uint8_t *op, *data;
    uint32_t stream = 1;
    cuzk_buf_puts(out, "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n");
    put_frame(out, NGHTTP2_SETTINGS, 0, 0, NULL, 0);
    while (cuzk_rd_bytes(&c, 2, &op)) {
        size_t n = op[1];
        if (n > cuzk_cursor_left(&c)) n = cuzk_cursor_left(&c);
        switch (op[0] % 8) {
        case 0:
            put_request(out, op[1], stream);
            continue;
        case 1: /* bytes of messages as the input has them */
        case 2:
            FUZZ_CHECK(cuzk_rd_bytes(&c, n, &data));
            put_frame(out, NGHTTP2_DATA, op[0] % 8 == 2, stream, data, n);
            continue;
        case 3: { /* a message in its frame, sometimes a long one without its end */
            static const uint8_t zeros[16384];
            const size_t len = (size_t)op[1] * op[1] * 4;
            uint8_t head[5] = {0};
            cuzk_st_u32be(head + 1, (uint32_t)len);
            put_frame(out, NGHTTP2_DATA, 0, stream, head, 5);
            put_frame(out, NGHTTP2_DATA, op[0] >> 7, stream, zeros,
                      len < sizeof zeros ? len : sizeof zeros);
            continue;
        }
        case 4:
            put_frame(out, NGHTTP2_RST_STREAM, 0, stream, "\0\0\0\x8", 4);
            continue;
        case 5:
            stream = op[1] & 1 ? stream + 2 : op[1];
            continue;
        case 6:
            put_frame(out, NGHTTP2_WINDOW_UPDATE, 0, op[1] & 1 ? stream : 0, "\0\1\0\0", 4);
            continue;
        default:
            FUZZ_CHECK(cuzk_rd_bytes(&c, n, &data));
            put_frame(out, op[0] >> 3 & 15, op[0] >> 4, op[1] & 1 ? stream : 0, data, n);
        }
    }
}

static void feed(int fd, const uint8_t *p, size_t n) {
    uint8_t away[4096];
    const size_t piece = n < 300 ? 13 : n / 20;
    for (size_t at = 0; at < n;) {
        const size_t some = piece < n - at ? piece : n - at;
        const ssize_t k = send(fd, p + at, some, MSG_NOSIGNAL | MSG_DONTWAIT);
        if (k <= 0) return; /* it has hung up, or waits for us to read */
        at += (size_t)k;
        step(2);
        while (recv(fd, away, sizeof away, MSG_DONTWAIT) > 0) {
        }
    }
    step(4);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    int pair[2];
    cuzk_buf out = CUZK_BUF_INIT;
    if (!size) return 0;
    if (!loop) start();
    if (data[0] & 1)
        put_steps(&out, data + 1, size - 1);
    else
        cuzk_buf_append(&out, data + 1, size - 1);
    FUZZ_CHECK(!out.failed);
    FUZZ_CHECK(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, pair) == 0);
    cuzk__conn_new(server, pair[1], NULL);
    feed(pair[0], (const uint8_t *)out.data, out.len);
    close(pair[0]);
    step(8);
    cuzk_buf_free(&out);
    cuzk_grpc_stats stats;
    cuzk_grpc_server_stats(server, &stats);
    FUZZ_CHECK(stats.connections == 0 && stats.calls == 0 && stats.request_bytes == 0);
    FUZZ_CHECK(!server->waiters && server->waiting_bytes == 0);
    return 0;
}
