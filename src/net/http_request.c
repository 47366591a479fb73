/* One HTTP request: route, permission, body, handler. */
#include "net/http_internal.h"

#include "base/clock.h"
#include "base/mem.h"

#include <gnutls/gnutls.h>
#include <gnutls/x509.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

enum { BODY_LEAST = 4096, BODY_STEP = 65536, SMALL_BODY = 65536 };

/* ---- what a handler sees ---- */

const char *cuzk_http_request_method(const cuzk_http_request *req) {
    return req->method;
}
const char *cuzk_http_request_path(const cuzk_http_request *req) {
    return req->path;
}
const char *cuzk_http_request_param(const cuzk_http_request *req, const char *name) {
    const char *value = cuzk__http_pairs_get(&req->params, name);
    return value ? value : "";
}
const char *cuzk_http_request_query(const cuzk_http_request *req, const char *name) {
    return cuzk__http_pairs_get(&req->query, name);
}
const char *cuzk_http_request_header(const cuzk_http_request *req, const char *name) {
    return MHD_lookup_connection_value(req->connection, MHD_HEADER_KIND, name);
}
const uint8_t *cuzk_http_request_body(const cuzk_http_request *req, size_t *len) {
    static const uint8_t nothing;
    *len = req->body_len;
    return req->body ? req->body : &nothing;
}
const char *cuzk_http_request_peer(const cuzk_http_request *req) {
    return req->peer;
}

/* ---- the body and its budget ---- */

static void give_body(cuzk_http_request *req) {
    atomic_fetch_sub(&req->listener->server->body_bytes, req->body_cap);
    cuzk_free(req->body);
    req->body = NULL;
    req->body_len = req->body_cap = 0;
}

/* Takes n bytes of the budget; false: it is used up. What is not small leaves a quarter of it. */
static bool take_budget(cuzk_http_request *req, uint64_t n, size_t cap) {
    cuzk_http_server *s = req->listener->server;
    const uint64_t budget = s->limits.body_budget;
    const uint64_t most = cap > SMALL_BODY ? budget - budget / 4 : budget;
    uint64_t used = atomic_load(&s->body_bytes);
    do {
        if (used > most || n > most - used) {
            atomic_store(&s->pressed_until_ns,
                         cuzk_now_ns() + (int64_t)s->limits.timeout_s * 1000000000);
            return false;
        }
    } while (!atomic_compare_exchange_weak(&s->body_bytes, &used, used + n));
    return true;
}

/* The body's memory grows as its bytes arrive: a length that was only said takes none. */
static bool body_room(cuzk_http_request *req, size_t len) {
    uint64_t cap = len + req->body_cap + BODY_LEAST;
    if (len <= req->body_cap) return true;
    if (cap > req->body_most) cap = req->body_most;
    const uint64_t more = cap - req->body_cap;
    if (!take_budget(req, more, (size_t)cap)) return false;
    if (cuzk_realloc((void **)&req->body, (size_t)cap, 1) != CUZK_OK) {
        atomic_fetch_sub(&req->listener->server->body_bytes, more);
        return false;
    }
    req->body_cap = (size_t)cap;
    return true;
}

/* False: too much of what is not wanted; the connection is closed. */
static bool take_body(cuzk_http_request *req, const char *data, size_t n) {
    if (req->conn) cuzk__pace_add(&req->conn->pace, n);
    if (!req->too_large && !req->no_room) {
        if (n > req->body_most - req->body_len)
            req->too_large = true;
        else
            req->no_room = !body_room(req, req->body_len + n);
    }
    if (!req->too_large && !req->no_room) {
        memcpy(req->body + req->body_len, data, n);
        req->body_len += n;
        return true;
    }
    give_body(req);
    req->discarded += n;
    return req->discarded <= req->route->max_body + BODY_STEP;
}

/* ---- who asks ---- */

static bool certificate_holds(const cuzk_http_request *req) {
    const cuzk_net_security *security = cuzk__access_security(req->listener->access);
    if (!security || !security->client_ca_file) return true;
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(req->connection, MHD_CONNECTION_INFO_GNUTLS_SESSION);
    unsigned status = 0;
    return info && info->tls_session &&
           gnutls_certificate_verify_peers2(info->tls_session, &status) == 0 && status == 0;
}

static void note_peer(cuzk_http_request *req) {
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(req->connection, MHD_CONNECTION_INFO_CLIENT_ADDRESS);
    struct sockaddr_storage sa = {.ss_family = AF_UNIX};
    if (info && info->client_addr) {
        const size_t n = info->client_addr->sa_family == AF_INET    ? sizeof(struct sockaddr_in)
                         : info->client_addr->sa_family == AF_INET6 ? sizeof(struct sockaddr_in6)
                                                                    : 0;
        if (n) memcpy(&sa, info->client_addr, n);
    }
    cuzk__address_text(&sa, req->peer, sizeof req->peer);
}

/* ---- routes ---- */

static bool method_fits(const cuzk_http_route *r, const char *method) {
    return !strcmp(r->method, method) || (!strcmp(r->method, "GET") && !strcmp(method, "HEAD"));
}

static void find_route(cuzk_http_request *req, cuzk_http_response *res) {
    const cuzk_http_server *s = req->listener->server;
    char allow[64] = "";
    for (size_t i = 0; i < s->n_routes; i++) {
        const cuzk_http_route *r = &s->routes[i];
        const cuzk__http_match match = cuzk__http_match_path(r->pattern, req->path, &req->params);
        if (match == CUZK__HTTP_NO) continue;
        if (match == CUZK__HTTP_BAD) {
            cuzk_http_respond_error(res, 400, "bad_path", "the path has a broken escape");
            return;
        }
        if (method_fits(r, req->method)) {
            req->route = r;
            return;
        }
        const size_t n = strlen(allow);
        snprintf(allow + n, sizeof allow - n, "%s%s", n ? ", " : "", r->method);
    }
    if (allow[0]) {
        cuzk_http_header(res, "Allow", allow);
        cuzk_http_respond_error(res, 405, "method_not_allowed", "only %s here", allow);
    } else {
        cuzk_http_respond_error(res, 404, "not_found", "nothing here");
    }
}

static enum MHD_Result add_query(void *ctx, enum MHD_ValueKind kind, const char *name,
                                 const char *value) {
    cuzk_http_request *req = ctx;
    (void)kind;
    if (!value) value = "";
    if (!cuzk__http_pairs_add(&req->query, name, strlen(name), value, strlen(value)))
        req->bad_query = true;
    return MHD_YES;
}

static bool may_enter(cuzk_http_request *req, cuzk_http_response *res) {
    if (!certificate_holds(req)) {
        cuzk_http_respond_error(res, 403, "forbidden", "a client certificate is needed");
        return false;
    }
    if (!(req->route->flags & CUZK_HTTP_OPEN) &&
        !cuzk__access_allows(req->listener->access,
                             cuzk_http_request_header(req, "Authorization"))) {
        cuzk_http_header(res, "WWW-Authenticate", "Bearer");
        cuzk_http_respond_error(res, 401, "unauthorized",
                                "a bearer token is needed: Authorization: Bearer <token>");
        return false;
    }
    /* Nor may one reach us under a name of its own where no token keeps it out. */
    char machine[256] = "";
    (void)gethostname(machine, sizeof machine - 1);
    if (!(req->route->flags & CUZK_HTTP_OPEN) && cuzk__access_allows(req->listener->access, NULL) &&
        !cuzk__http_host_is_own(cuzk_http_request_header(req, "Host"), machine)) {
        cuzk_http_respond_error(res, 421, "other_host",
                                "this name is not the machine's; use its address or its host name, "
                                "or set up a token");
        return false;
    }
    /* A page of another site must not act in this one's name. */
    if (strcmp(req->route->method, "GET") != 0 &&
        !cuzk__http_same_origin(cuzk_http_request_header(req, "Origin"),
                                cuzk_http_request_header(req, "Host"),
                                cuzk_http_request_header(req, "Sec-Fetch-Site"))) {
        cuzk_http_respond_error(res, 403, "forbidden", "not from another site's page");
        return false;
    }
    return true;
}

/* An answer of that many bytes has as long as the time-out and 64 KiB/s. */
static void set_deadline(cuzk_http_request *req, uint64_t bytes) {
    const int64_t seconds =
        (int64_t)req->listener->server->limits.timeout_s + (int64_t)(bytes / CUZK__PACE_FLOOR);
    if (req->conn) atomic_store(&req->conn->deadline_ns, cuzk_now_ns() + seconds * 1000000000);
}

/* False: the request was answered. A body that would find no room now is refused before it is
 * sent. */
static bool expect_body(cuzk_http_request *req, cuzk_http_response *res) {
    cuzk_http_server *s = req->listener->server;
    const char *text = cuzk_http_request_header(req, "Content-Length");
    const uint64_t n = text ? strtoull(text, NULL, 10) : 0; /* MHD has checked its form */
    if (n > req->route->max_body) {
        cuzk_http_respond_error(res, 413, "too_large", "a body of %llu bytes; at most %llu here",
                                (unsigned long long)n, (unsigned long long)req->route->max_body);
        return false;
    }
    if (n && !take_budget(req, n, (size_t)n)) {
        cuzk_http_header(res, "Retry-After", "5");
        cuzk_http_respond_error(res, 503, "busy", "no memory for this body now");
        return false;
    }
    atomic_fetch_sub(&s->body_bytes, n);
    req->body_most = text ? n : req->route->max_body;
    if (req->conn) {
        atomic_store(&req->conn->deadline_ns, INT64_MAX);
        cuzk__pace_start(&req->conn->pace, cuzk_now_ns());
    }
    return true;
}

static void begin(cuzk_http_request *req, cuzk_http_response *res) {
    note_peer(req);
    find_route(req, res);
    if (!req->route) return;
    MHD_get_connection_values(req->connection, MHD_GET_ARGUMENT_KIND, add_query, req);
    if (req->bad_query) {
        cuzk_http_respond_error(res, 400, "bad_query", "the query has a broken escape");
        req->route = NULL;
        return;
    }
    if (!may_enter(req, res) || !expect_body(req, res)) req->route = NULL;
}

static void finish(cuzk_http_request *req, cuzk_http_response *res) {
    if (req->conn) cuzk__pace_stop(&req->conn->pace);
    if (req->too_large) {
        cuzk_http_respond_error(res, 413, "too_large", "at most %llu bytes of body here",
                                (unsigned long long)req->route->max_body);
    } else if (req->no_room || req->params.failed || req->query.failed) {
        cuzk_http_header(res, "Retry-After", "5");
        cuzk_http_respond_error(res, 503, "busy", "no memory for this request now");
    } else {
        req->route->handler(req->route->ctx, req, res);
    }
}

/* ---- MHD's side ---- */

static void free_request(cuzk_http_request *req) {
    if (!req) return;
    give_body(req);
    cuzk_buf_free(&req->params);
    cuzk_buf_free(&req->query);
    cuzk_free(req);
}

static cuzk__http_conn *conn_of(struct MHD_Connection *connection) {
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
    return info ? info->socket_context : NULL;
}

enum MHD_Result cuzk__http_access(void *ctx, struct MHD_Connection *connection, const char *url,
                                  const char *method, const char *version, const char *data,
                                  size_t *data_len, void **request) {
    cuzk__http_listener *l = ctx;
    cuzk_http_request *req = *request;
    cuzk_http_response res = {
        .connection = connection, .server = l->server, .conn = conn_of(connection)};
    (void)version;
    if (!req) {
        if (cuzk_alloc((void **)&req, 1, sizeof *req) != CUZK_OK) return MHD_NO;
        *request = req;
        req->listener = l;
        req->connection = connection;
        req->conn = res.conn;
        cuzk__http_conn_busy(l->server, req->conn, true);
        req->method = method;
        req->path = url;
        begin(req, &res);
        return req->route ? MHD_YES : cuzk__http_send(&res);
    }
    if (!req->route) { /* answered already; what still comes is dropped */
        *data_len = 0;
        return MHD_YES;
    }
    if (*data_len) {
        const bool go_on = take_body(req, data, *data_len);
        *data_len = 0;
        return go_on ? MHD_YES : MHD_NO;
    }
    finish(req, &res);
    if (!res.streams) set_deadline(req, res.len);
    return cuzk__http_send(&res);
}

void cuzk__http_completed(void *ctx, struct MHD_Connection *connection, void **request,
                          enum MHD_RequestTerminationCode code) {
    const cuzk__http_listener *l = ctx;
    cuzk__http_conn *conn = conn_of(connection);
    (void)code;
    free_request(*request);
    *request = NULL;
    if (!conn) return;
    cuzk__pace_stop(&conn->pace);
    atomic_store(&conn->deadline_ns,
                 cuzk_now_ns() + (int64_t)l->server->limits.timeout_s * 1000000000);
    cuzk__http_conn_busy(l->server, conn, false);
}
