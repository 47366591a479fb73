/* Metrics, status, health, timeline, and the status page. */
#include "base/mem.h"
#include "rpc/embedded.h"
#include "rpc/internal.h"

#include <string.h>

static void respond_buf(cuzk_http_response *res, unsigned status, const char *type,
                        const cuzk_buf *b) {
    if (cuzk_buf_status(b) == CUZK_OK)
        cuzk_http_respond(res, status, type, b->data ? b->data : "", b->len);
    else
        cuzk__rpc_respond_failed(res, CUZK_STATUS_NO_MEMORY, NULL, NULL);
}

static void get_metrics(void *ctx, const cuzk_http_request *req, cuzk_http_response *res) {
    cuzk_err err = {0};
    cuzk_buf b = CUZK_BUF_INIT;
    (void)req;
    const cuzk_status st = cuzk__rpc_metrics(ctx, &b, &err);
    if (st == CUZK_OK)
        respond_buf(res, 200, "text/plain; version=0.0.4; charset=utf-8", &b);
    else
        cuzk__rpc_respond_failed(res, st, &err, NULL);
    cuzk_buf_free(&b);
}

/* ?pipelines=N: of the jobs only the first so many, which are those that run. */
static void get_status(void *ctx, const cuzk_http_request *req, cuzk_http_response *res) {
    cuzk_rpc *r = ctx;
    cuzk_err err = {0};
    uint64_t most = UINT32_MAX;
    cuzk_engine_status *s = NULL;
    cuzk_buf b = CUZK_BUF_INIT;
    if (!cuzk__rpc_query_number(req, res, "pipelines", UINT32_MAX, &most)) return;
    const cuzk_status st = cuzk_engine_snapshot(r->engine, &s, &err);
    if (st == CUZK_OK) {
        if (s->n_jobs > most) s->n_jobs = (size_t)most;
        cuzk_rpc_status_json(&b, s, r->config.version);
        respond_buf(res, 200, "application/json", &b);
    } else {
        cuzk__rpc_respond_failed(res, st, &err, NULL);
    }
    cuzk_free(s);
    cuzk_buf_free(&b);
}

static void get_health(void *ctx, const cuzk_http_request *req, cuzk_http_response *res) {
    (void)ctx;
    (void)req;
    cuzk_http_respond(res, 200, "text/plain; charset=utf-8", "ok\n", 3);
}

static void get_ready(void *ctx, const cuzk_http_request *req, cuzk_http_response *res) {
    const char *why = cuzk__rpc_not_ready(ctx);
    (void)req;
    if (why)
        cuzk_http_respond(res, 503, "text/plain; charset=utf-8", why, strlen(why));
    else
        cuzk_http_respond(res, 200, "text/plain; charset=utf-8", "ready\n", 6);
}

static void get_trace(void *ctx, const cuzk_http_request *req, cuzk_http_response *res) {
    static const struct {
        const char *name, *type;
        cuzk__rpc_trace_format format;
    } formats[] = {
        {"json", "application/json", CUZK__RPC_TRACE_CHROME},
        {"csv", "text/csv; charset=utf-8", CUZK__RPC_TRACE_CSV},
        {"svg", "image/svg+xml", CUZK__RPC_TRACE_SVG},
    };
    cuzk_err err = {0};
    cuzk_buf b = CUZK_BUF_INIT;
    const char *name = cuzk_http_request_query(req, "format");
    size_t i = 0;
    while (name && i < 3 && strcmp(name, formats[i].name) != 0)
        i++;
    if (i == 3) {
        cuzk_http_respond_error(res, 400, "invalid_argument",
                                "format: expected json, csv or svg, actual %.40s", name);
        return;
    }
    uint64_t since = 0;
    if (!cuzk__rpc_query_number(req, res, "since_ms", (uint64_t)INT64_MAX / 1000000, &since))
        return;
    const cuzk_status st =
        cuzk__rpc_trace(ctx, formats[i].format, (int64_t)since * 1000000, &b, &err);
    if (st == CUZK_OK)
        respond_buf(res, 200, formats[i].type, &b);
    else
        cuzk__rpc_respond_failed(res, st, &err, NULL);
    cuzk_buf_free(&b);
}

/* ---- files ---- */

static void respond_file(cuzk_http_response *res, const char *type, const cuzk__rpc_file *f) {
    cuzk_http_header(res, "Cache-Control", "no-cache");
    cuzk_http_respond_static(res, 200, type, f->data, f->len);
}

static void get_page(void *ctx, const cuzk_http_request *req, cuzk_http_response *res) {
    (void)ctx;
    (void)req;
    respond_file(res, "text/html; charset=utf-8", &cuzk__rpc_page_html);
}

static void get_css(void *ctx, const cuzk_http_request *req, cuzk_http_response *res) {
    (void)ctx;
    (void)req;
    respond_file(res, "text/css; charset=utf-8", &cuzk__rpc_page_css);
}

static void get_js(void *ctx, const cuzk_http_request *req, cuzk_http_response *res) {
    (void)ctx;
    (void)req;
    respond_file(res, "text/javascript; charset=utf-8", &cuzk__rpc_page_js);
}

static void get_icon(void *ctx, const cuzk_http_request *req, cuzk_http_response *res) {
    (void)ctx;
    (void)req;
    respond_file(res, "image/svg+xml", &cuzk__rpc_page_icon);
}

static void get_openapi(void *ctx, const cuzk_http_request *req, cuzk_http_response *res) {
    (void)ctx;
    (void)req;
    respond_file(res, "application/json", &cuzk__rpc_openapi);
}

void cuzk__rpc_page_routes(cuzk_rpc *r) {
    /* The page's own files hold no secret; what they show is asked for with the token. */
    cuzk__rpc_add_route(r, "GET", "/", get_page, CUZK_HTTP_OPEN, 0);
    cuzk__rpc_add_route(r, "GET", "/page.css", get_css, CUZK_HTTP_OPEN, 0);
    cuzk__rpc_add_route(r, "GET", "/page.js", get_js, CUZK_HTTP_OPEN, 0);
    cuzk__rpc_add_route(r, "GET", "/icon.svg", get_icon, CUZK_HTTP_OPEN, 0);
    cuzk__rpc_add_route(r, "GET", "/favicon.ico", get_icon, CUZK_HTTP_OPEN, 0);
    cuzk__rpc_add_route(r, "GET", "/healthz", get_health, CUZK_HTTP_OPEN, 0);
    cuzk__rpc_add_route(r, "GET", "/readyz", get_ready, CUZK_HTTP_OPEN, 0);
    cuzk__rpc_add_route(r, "GET", "/metrics", get_metrics, 0, 0);
    cuzk__rpc_add_route(r, "GET", "/status", get_status, 0, 0);
    cuzk__rpc_add_route(r, "GET", "/trace", get_trace, 0, 0);
    cuzk__rpc_add_route(r, "GET", "/api/v1/status", get_status, 0, 0);
    cuzk__rpc_add_route(r, "GET", "/api/v1/openapi.json", get_openapi, 0, 0);
}
