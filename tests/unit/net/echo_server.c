/* net_echo ADDRESS...: serves echo_methods for clients of other languages (tests/interop).
 *
 * Prints "listening ADDRESS" for each, then "ready". A line on standard input is a command:
 * "drain", "stats"; its end, or "quit", ends the program. Settings come from the environment:
 * ECHO_STALL_MS, ECHO_MAX_MESSAGE, ECHO_BUDGET, ECHO_CONNECTIONS, ECHO_CERT, ECHO_KEY, ECHO_CA,
 * ECHO_TOKENS. */
#include "echo_server.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static uint64_t setting(const char *name) {
    const char *text = getenv(name);
    return text ? strtoull(text, NULL, 10) : 0;
}

static void on_drained(void *ctx) {
    printf("drained\n");
    fflush(stdout);
    cuzk_net_loop_stop(ctx);
}

static void free_server(void *ctx) {
    cuzk_grpc_server_free(ctx);
}

static void print_stats(const cuzk_grpc_server *s) {
    cuzk_grpc_stats st;
    cuzk_grpc_server_stats(s, &st);
    printf("stats {\"connections\":%" PRIu64 ",\"refused\":%" PRIu64 ",\"calls\":%" PRIu64
           ",\"calls_total\":%" PRIu64 ",\"calls_failed\":%" PRIu64 ",\"request_bytes\":%" PRIu64
           ",\"cancelled\":%u,\"hanging\":%u}\n",
           st.connections, st.connections_refused, st.calls, st.calls_total, st.calls_failed,
           st.request_bytes, atomic_load(&echo_cancelled), atomic_load(&echo_hanging));
}

static void commands(cuzk_grpc_server *server, cuzk_net_loop *loop) {
    char line[64];
    while (fgets(line, sizeof line, stdin) && strcmp(line, "quit\n") != 0) {
        if (!strcmp(line, "stats\n")) print_stats(server);
        if (!strcmp(line, "drain\n") &&
            cuzk_grpc_server_drain(server, (int64_t)60000000000, on_drained, loop) != CUZK_OK)
            printf("no memory\n");
        fflush(stdout);
    }
}

static cuzk_status serve(int argc, char **argv, cuzk_err *err) {
    cuzk_net_loop *loop;
    cuzk_grpc_server *server;
    cuzk_net_access *access;
    cuzk_grpc_limits limits = {.max_message = setting("ECHO_MAX_MESSAGE"),
                               .request_budget = setting("ECHO_BUDGET"),
                               .max_connections = (uint32_t)setting("ECHO_CONNECTIONS"),
                               .stall_ns = (int64_t)setting("ECHO_STALL_MS") * 1000000};
    const cuzk_net_security security = {getenv("ECHO_CERT"), getenv("ECHO_KEY"), getenv("ECHO_CA"),
                                        getenv("ECHO_TOKENS"), 0};
    char bound[CUZK_NET_ADDRESS];
    CUZK_TRY(cuzk_net_access_new(&access, &security, err));
    CUZK_TRY(cuzk_net_loop_new(&loop, err));
    CUZK_TRY(cuzk_grpc_server_new(&server, loop, echo_methods, echo_methods_n, &limits, err));
    CUZK_TRY(cuzk_grpc_server_health(server, err));
    for (int i = 1; i < argc; i++) {
        CUZK_TRY(cuzk_grpc_server_listen(server, argv[i], access, bound, err));
        printf("listening %s\n", bound);
    }
    CUZK_TRY(cuzk_net_loop_start(loop, err));
    printf("ready\n");
    fflush(stdout);
    commands(server, loop);
    CUZK_TRY(cuzk_net_post(loop, free_server, server));
    while (atomic_load(&echo_threads))
        usleep(1000);
    cuzk_net_loop_free(loop);
    cuzk_net_access_free(access);
    return CUZK_OK;
}

int main(int argc, char **argv) {
    cuzk_err err = {0};
    const cuzk_status st = serve(argc, argv, &err);
    if (st != CUZK_OK) fprintf(stderr, "net_echo: %s\n", err.msg);
    return st == CUZK_OK ? 0 : 1;
}
