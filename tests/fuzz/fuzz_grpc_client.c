/* What a server may send to the gRPC client: the first byte chooses a unary call or a stream, and
 * whether SETTINGS go before the rest. */
#include "fuzz.h"

#include "net/grpc_client.h"

#include <sys/socket.h>
#include <unistd.h>

static bool on_message(void *ctx, const uint8_t *msg, size_t len) {
    unsigned *left = ctx;
    fuzz_touch(msg, len);
    return (*left)-- > 0;
}

static void check(cuzk_status st, const cuzk_grpc_result *r, const cuzk_err *err) {
    FUZZ_CHECK(st == CUZK_OK || st == CUZK_STATUS_IO);
    FUZZ_CHECK(r->code >= 0 && r->code <= 16 && strlen(r->message) < sizeof r->message);
    FUZZ_CHECK(r->retry_ns >= -1);
    FUZZ_CHECK(st == CUZK_OK || (err->msg[0] && r->code == CUZK_GRPC_UNAVAILABLE));
}

static void use(cuzk_grpc_client *c, uint8_t how) {
    cuzk_buf reply = CUZK_BUF_INIT;
    cuzk_grpc_result r;
    cuzk_err err = {0};
    unsigned left = how >> 4;
    cuzk_status st;
    if (how & 2)
        st = cuzk_grpc_client_stream(c, "/t/S", "request", 7, 2000000, on_message, &left, &r, &err);
    else
        st = cuzk_grpc_client_call(c, "/t/U", "request", 7, 2000000, &reply, &r, &err);
    check(st, &r, &err);
    if (st == CUZK_OK && r.code == CUZK_GRPC_OK && !(how & 2))
        fuzz_touch((const uint8_t *)reply.data, reply.len);
    if (st == CUZK_OK) { /* one more on the same connection */
        err = (cuzk_err){0};
        st = cuzk_grpc_client_call(c, "/t/U", "", 0, 1000000, &reply, &r, &err);
        check(st, &r, &err);
    }
    cuzk_buf_free(&reply);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static const char settings[9] = {0, 0, 0, 4};
    int pair[2];
    cuzk_grpc_client *c;
    if (size < 1 || size > 60000) return 0; /* fits the socket's buffer */
    FUZZ_CHECK(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, pair) == 0);
    FUZZ_CHECK(cuzk__grpc_client_adopt(&c, pair[0], 100000) == CUZK_OK);
    if (data[0] & 1) FUZZ_CHECK(send(pair[1], settings, 9, MSG_NOSIGNAL) == 9);
    if (size > 1)
        FUZZ_CHECK(send(pair[1], data + 1, size - 1, MSG_NOSIGNAL) == (ssize_t)(size - 1));
    shutdown(pair[1], SHUT_WR);
    use(c, data[0]);
    cuzk_grpc_client_free(c);
    close(pair[1]);
    return 0;
}
