#include "net/http_internal.h"

#include "base/mem.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

static const char default_csp[] = "default-src 'none'; script-src 'self'; style-src 'self'; "
                                  "img-src 'self' data:; connect-src 'self'; base-uri 'none'; "
                                  "form-action 'none'; frame-ancestors 'none'";

static bool printable(const char *s) {
    for (; *s; s++)
        if ((unsigned char)*s < 0x20 || *s == 0x7f) return false;
    return true;
}

void cuzk_http_header(cuzk_http_response *res, const char *name, const char *value) {
    cuzk__http_header *h;
    if (!printable(name) || !printable(value)) return;
    if (cuzk_alloc((void **)&h, 1, sizeof *h) != CUZK_OK) return;
    if (cuzk_strdup(&h->name, name) == CUZK_OK && cuzk_strdup(&h->value, value) == CUZK_OK) {
        h->next = res->headers;
        res->headers = h;
        return;
    }
    cuzk_free(h->name);
    cuzk_free(h);
}

static bool has_header(const cuzk_http_response *res, const char *name) {
    for (const cuzk__http_header *h = res->headers; h; h = h->next)
        if (!strcasecmp(h->name, name)) return true;
    return false;
}

static void respond(cuzk_http_response *res, unsigned status, const char *content_type,
                    const void *body, size_t len, enum MHD_ResponseMemoryMode mode) {
    if (res->made) return; /* the first answer stands */
    /* MHD does not write to it; its parameter lacks the const */
    res->made = MHD_create_response_from_buffer(len, (void *)(uintptr_t)body, mode);
    if (!res->made) return;
    res->status = status;
    res->len = len;
    MHD_add_response_header(res->made, "Content-Type", content_type);
}

void cuzk_http_respond(cuzk_http_response *res, unsigned status, const char *content_type,
                       const void *body, size_t len) {
    respond(res, status, content_type, body, len, MHD_RESPMEM_MUST_COPY);
}

void cuzk_http_respond_static(cuzk_http_response *res, unsigned status, const char *content_type,
                              const void *body, size_t len) {
    respond(res, status, content_type, body, len, MHD_RESPMEM_PERSISTENT);
}

void cuzk_http_respond_error(cuzk_http_response *res, unsigned status, const char *code,
                             const char *fmt, ...) {
    char message[1024];
    cuzk_buf json = CUZK_BUF_INIT;
    va_list args;
    va_start(args, fmt);
    vsnprintf(message, sizeof message, fmt, args);
    va_end(args);
    cuzk_buf_puts(&json, "{\"error\":{\"code\":");
    cuzk_buf_json_str(&json, code);
    cuzk_buf_puts(&json, ",\"message\":");
    cuzk_buf_json_str(&json, message);
    cuzk_buf_puts(&json, "}}\n");
    if (!json.failed) cuzk_http_respond(res, status, "application/json", json.data, json.len);
    cuzk_buf_free(&json);
}

static void add_standing_headers(cuzk_http_response *res) {
    const char *csp = res->server->limits.csp;
    MHD_add_response_header(res->made, "Content-Security-Policy", csp ? csp : default_csp);
    MHD_add_response_header(res->made, "X-Content-Type-Options", "nosniff");
    MHD_add_response_header(res->made, "X-Frame-Options", "DENY");
    MHD_add_response_header(res->made, "Referrer-Policy", "no-referrer");
    MHD_add_response_header(res->made, "Cross-Origin-Resource-Policy", "same-origin");
    if (!has_header(res, "Cache-Control"))
        MHD_add_response_header(res->made, "Cache-Control", "no-store");
}

enum MHD_Result cuzk__http_send(cuzk_http_response *res) {
    enum MHD_Result done = MHD_NO; /* closes the connection */
    if (!res->made) cuzk_http_respond_error(res, 500, "internal", "the request was not answered");
    if (res->made) {
        add_standing_headers(res);
        for (const cuzk__http_header *h = res->headers; h; h = h->next)
            MHD_add_response_header(res->made, h->name, h->value);
        done = MHD_queue_response(res->connection, res->status, res->made);
        MHD_destroy_response(res->made);
        res->made = NULL;
    }
    while (res->headers) {
        cuzk__http_header *h = res->headers;
        res->headers = h->next;
        cuzk_free(h->name);
        cuzk_free(h->value);
        cuzk_free(h);
    }
    return done;
}
