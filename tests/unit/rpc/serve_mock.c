/* The interfaces over an engine whose work is sleeping, for clients in other languages: prints
 * "grpc ADDRESS" and "http ADDRESS", and runs until its standard input ends.
 * usage: rpc_serve_mock STATE_DIR [TOKEN_FILE] */
#include "base/mem.h"
#include "engine/mock/mock.h"
#include "rpc/rpc.h"

#include <stdio.h>
#include <unistd.h>

typedef struct server {
    cuzk_net_loop *loop;
    cuzk_mock *mock;
    cuzk_engine *engine;
    cuzk_rpc *rpc;
    cuzk_net_access *access;
} server;

static cuzk_status start(server *s, const char *dir, const char *tokens, cuzk_err *err) {
    char bound[CUZK_NET_ADDRESS];
    cuzk_mock_config mock;
    cuzk_engine_config config;
    const cuzk_net_security security = {.token_file = tokens};
    const cuzk_rpc_config rpc = {.version = "test"};
    cuzk_mock_config_init(&mock);
    mock.devices = 2;
    mock.key.host = 64 << 20;
    cuzk_engine_config_init(&config);
    config.state_dir = dir;
    config.host_memory = (uint64_t)4 << 30;
    config.pinned_memory = (uint64_t)1 << 30;
    config.witness_workers = 4;
    config.max_jobs = 64;
    CUZK_TRY(cuzk_net_loop_new(&s->loop, err));
    CUZK_TRY(cuzk_mock_new(&s->mock, &mock));
    static cuzk_engine_providers providers;
    providers = cuzk_mock_providers(s->mock);
    CUZK_TRY(cuzk_engine_open(&s->engine, &config, &providers, err));
    CUZK_TRY(cuzk_rpc_new(&s->rpc, s->engine, s->loop, &rpc, err));
    if (tokens) CUZK_TRY(cuzk_net_access_new(&s->access, &security, err));
    CUZK_TRY(cuzk_rpc_listen_grpc(s->rpc, "127.0.0.1:0", s->access, bound, err));
    printf("grpc %s\n", bound);
    CUZK_TRY(cuzk_rpc_listen_http(s->rpc, "127.0.0.1:0", s->access, bound, err));
    printf("http %s\n", bound);
    fflush(stdout);
    cuzk_rpc_set_ready(s->rpc, true);
    return cuzk_net_loop_start(s->loop, err);
}

int main(int argc, char **argv) {
    cuzk_err err = {0};
    server s = {0};
    char c;
    if (argc < 2) return 2;
    const cuzk_status st = start(&s, argv[1], argc > 2 ? argv[2] : NULL, &err);
    if (st == CUZK_OK) {
        while (read(STDIN_FILENO, &c, 1) > 0)
            ;
    } else {
        fprintf(stderr, "%s\n", err.msg);
    }
    if (s.loop) cuzk_net_loop_stop(s.loop);
    usleep(100000); /* the loop's own thread returns */
    cuzk_rpc_free(s.rpc);
    cuzk_engine_close(s.engine);
    cuzk_net_loop_free(s.loop);
    cuzk_net_access_free(s.access);
    cuzk_mock_free(s.mock);
    return st == CUZK_OK ? 0 : 1;
}
