#include "listen.h"

#include <stdlib.h>
#include <string.h>

#define LOG(level, ...) cuzk_log(CUZK_LOG_##level, "listen", NULL, __VA_ARGS__)

typedef struct listening {
    cuzkd_listeners *l;
    const cuzkd_settings *s;
    bool http;
} listening;

static const char *given(const char *text) {
    return *text ? text : NULL;
}

static bool is_local(const char *address) {
    static const char *const prefixes[] = {"unix:", "127.", "localhost:", "[::1]:"};
    for (size_t i = 0; i < sizeof prefixes / sizeof *prefixes; i++)
        if (strncmp(address, prefixes[i], strlen(prefixes[i])) == 0) return true;
    return false;
}

static cuzk_status listen_one(void *ctx, const char *address, cuzk_err *err) {
    const listening *on = ctx;
    const bool local = strncmp(address, "unix:", 5) == 0;
    cuzk_net_access *access = local ? on->l->local : on->l->tcp;
    char bound[CUZK_NET_ADDRESS];
    const cuzk_status st = on->http ? cuzk_rpc_listen_http(on->l->rpc, address, access, bound, err)
                                    : cuzk_rpc_listen_grpc(on->l->rpc, address, access, bound, err);
    if (st != CUZK_OK)
        return cuzk_err_prefix(err, st, "%s", on->http ? "daemon.status_listen" : "daemon.listen");
    LOG(INFO, "%s on %s%s", on->http ? "HTTP" : "gRPC", bound,
        !local && *on->s->tls_cert ? " (TLS)" : "");
    if (!is_local(address) && !*on->s->token_file && !*on->s->tls_client_ca)
        LOG(WARN,
            "whoever reaches %s may use it: auth.token_file or tls.client_ca would ask who "
            "they are",
            bound);
    return CUZK_OK;
}

static cuzk_status open_access(cuzkd_listeners *l, const cuzkd_settings *s, cuzk_err *err) {
    const cuzk_net_security tcp = {.cert_file = given(s->tls_cert),
                                   .key_file = given(s->tls_key),
                                   .client_ca_file = given(s->tls_client_ca),
                                   .token_file = given(s->token_file)};
    const cuzk_net_security local = {.socket_mode = (mode_t)strtoul(s->socket_mode, NULL, 8)};
    CUZK_TRY(cuzk_net_access_new(&l->tcp, &tcp, err));
    return cuzk_net_access_new(&l->local, &local, err);
}

cuzk_status cuzkd_listen(cuzkd_listeners *l, const cuzkd_settings *s, cuzk_engine *engine,
                         cuzk_net_loop *loop, const char *version, cuzk_err *err) {
    const cuzk_rpc_config config = {
        .version = version,
        .grpc = {.max_message = s->max_message,
                 .request_budget = s->request_memory,
                 .max_connections = (uint32_t)s->max_connections},
        .http = {.max_connections = (uint32_t)s->max_http_connections},
    };
    listening on = {.l = l, .s = s};
    CUZK_TRY(open_access(l, s, err));
    CUZK_TRY(cuzk_rpc_new(&l->rpc, engine, loop, &config, err));
    CUZK_TRY(cuzkd_each_address(s->listen, listen_one, &on, err));
    on.http = true;
    return cuzkd_each_address(s->status_listen, listen_one, &on, err);
}

cuzk_status cuzkd_listeners_reload(cuzkd_listeners *l, cuzk_err *err) {
    CUZK_TRY(cuzk_net_access_reload(l->tcp, err));
    return cuzk_rpc_reload(l->rpc, err);
}

void cuzkd_listeners_close(cuzkd_listeners *l) {
    cuzk_rpc_free(l->rpc);
    cuzk_net_access_free(l->tcp);
    cuzk_net_access_free(l->local);
}
