/* A job as it came, and the small things that reading it needs. */
#include "base/mem.h"
#include "rpc/internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const wire_names[CUZK_ENGINE_KIND_COUNT] = {
    [CUZK_ENGINE_UNSPECIFIED] = "PROOF_KIND_UNSPECIFIED",
    [CUZK_ENGINE_POREP] = "POREP_SEAL_COMMIT",
    [CUZK_ENGINE_SNAP] = "SNAP_DEALS_UPDATE",
    [CUZK_ENGINE_WINDOW] = "WINDOW_POST_PARTITION",
    [CUZK_ENGINE_WINNING] = "WINNING_POST",
    [CUZK_ENGINE_CIRCOM] = "CIRCOM",
};

const char *cuzk__rpc_kind_wire_name(cuzk_engine_kind kind) {
    return wire_names[kind];
}

cuzk_engine_kind cuzk__rpc_kind_of(const char *text) {
    static const char *const names[] = {
#define CUZK__NAME(name, text) text,
        CUZK_ENGINE_KINDS(CUZK__NAME)
#undef CUZK__NAME
    };
    static const char prefix[] = "PROOF_KIND_";
    const char *bare = strncmp(text, prefix, sizeof prefix - 1) ? text : text + sizeof prefix - 1;
    int k = 1;
    while (k < CUZK_ENGINE_KIND_COUNT && strcmp(bare, wire_names[k]) != 0 &&
           strcmp(text, names[k]) != 0 && !(text[0] == '0' + k && !text[1]))
        k++;
    return (cuzk_engine_kind)k;
}

bool cuzk__rpc_priority_of(const char *text, int *out) {
    static const char *const names[] = {"PRIORITY_UNSPECIFIED", "LOW", "NORMAL", "HIGH",
                                        "CRITICAL"};
    for (int i = 0; i < 5; i++) {
        if (strcmp(text, names[i]) == 0 || (text[0] == '0' + i && !text[1])) {
            *out = i;
            return true;
        }
    }
    return false;
}

int64_t cuzk__rpc_wall_ns(void) {
    struct timespec t;
    clock_gettime(CLOCK_REALTIME, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

/* Bytes of the character at p, 0 when it is none. */
static size_t utf8_char(const uint8_t *p, size_t n) {
    const unsigned c = p[0];
    const size_t len = c < 0x80 ? 1 : c >> 5 == 6 ? 2 : c >> 4 == 14 ? 3 : c >> 3 == 30 ? 4 : 0;
    static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
    if (len == 0 || len > n) return 0;
    uint32_t v = len == 1 ? c : c & (0x7fu >> len);
    for (size_t i = 1; i < len; i++) {
        if (p[i] >> 6 != 2) return 0;
        v = v << 6 | (p[i] & 0x3f);
    }
    return v < least[len] || v > 0x10ffff || (v >= 0xd800 && v < 0xe000) ? 0 : len;
}

bool cuzk__rpc_is_utf8(const uint8_t *p, size_t n) {
    for (size_t i = 0; i < n;) {
        const size_t len = utf8_char(p + i, n - i);
        if (len == 0) return false;
        i += len;
    }
    return true;
}

void cuzk__rpc_json(cuzk_buf *out, const char *text) {
    const uint8_t *p = (const uint8_t *)text;
    const size_t n = strlen(text);
    cuzk_buf_puts(out, "\"");
    for (size_t i = 0; i < n;) {
        const size_t len = utf8_char(p + i, n - i);
        if (len == 0)
            cuzk_buf_puts(out, "\\ufffd");
        else if (p[i] == '"' || p[i] == '\\')
            cuzk_buf_printf(out, "\\%c", p[i]);
        else if (p[i] < 0x20 || p[i] == 0x7f)
            cuzk_buf_printf(out, "\\u%04x", p[i]);
        else
            cuzk_buf_append(out, p + i, len);
        i += len ? len : 1;
    }
    cuzk_buf_puts(out, "\"");
}

void cuzk__rpc_submission_init(cuzk__rpc_submission *s, const char *client) {
    memset(s, 0, sizeof *s);
    snprintf(s->client, sizeof s->client, "%s", client ? client : "");
    s->request.request_id = s->request_id;
    s->request.client = s->client;
}

void cuzk__rpc_submission_free(cuzk__rpc_submission *s) {
    for (size_t i = 0; i < s->n_owned; i++)
        cuzk_free(s->owned[i]);
    cuzk_free(s->owned);
    cuzk_free(s->parts);
    cuzk_buf_free(&s->meta);
    s->owned = NULL;
    s->parts = NULL;
    s->n_owned = s->owned_cap = s->n_parts = s->parts_cap = 0;
}

static cuzk_status grow(void **p, size_t n, size_t *cap, size_t size) {
    if (n < *cap) return CUZK_OK;
    const size_t more = *cap ? 2 * *cap : 8;
    CUZK_TRY(cuzk_realloc(p, more, size));
    *cap = more;
    return CUZK_OK;
}

cuzk_status cuzk__rpc_add_part(cuzk__rpc_submission *s, const void *data, size_t len) {
    void *p = s->parts;
    CUZK_TRY(grow(&p, s->n_parts, &s->parts_cap, sizeof *s->parts));
    s->parts = p;
    s->parts[s->n_parts++] = (cuzk_engine_bytes){data, len};
    return CUZK_OK;
}

cuzk_status cuzk__rpc_add_owned(cuzk__rpc_submission *s, uint8_t *data, size_t len) {
    void *p = s->owned;
    const cuzk_status st = grow(&p, s->n_owned, &s->owned_cap, sizeof *s->owned);
    if (st != CUZK_OK) {
        cuzk_free(data);
        return st;
    }
    s->owned = p;
    s->owned[s->n_owned++] = data;
    return cuzk__rpc_add_part(s, data, len);
}

cuzk_status cuzk__rpc_set_request_id(cuzk__rpc_submission *s, const char *id, size_t len,
                                     cuzk_err *err) {
    if (len >= sizeof s->request_id)
        return cuzk_err_set(err, CUZK_STATUS_BAD_INPUT,
                            "request_id: expected at most %zu bytes, actual %zu",
                            sizeof s->request_id - 1, len);
    if (!cuzk__rpc_is_utf8((const uint8_t *)id, len) || memchr(id, 0, len))
        return cuzk_err_set(err, CUZK_STATUS_BAD_INPUT,
                            "request_id: expected UTF-8 without NUL, actual other bytes");
    memcpy(s->request_id, id, len);
    s->request_id[len] = '\0';
    return CUZK_OK;
}

cuzk_status cuzk__rpc_set_deadline(cuzk__rpc_submission *s, uint64_t unix_ms, cuzk_err *err) {
    int64_t ns;
    if (unix_ms > INT64_MAX || __builtin_mul_overflow((int64_t)unix_ms, 1000000, &ns))
        return cuzk_err_set(err, CUZK_STATUS_BAD_INPUT,
                            "deadline_unix_ms: expected milliseconds since 1970, actual %llu",
                            (unsigned long long)unix_ms);
    s->request.deadline_ns = ns;
    return CUZK_OK;
}

/* What a kind's job must have. */
static const char *missing(const cuzk__rpc_submission *s, cuzk_engine_kind kind) {
    if (kind == CUZK_ENGINE_UNSPECIFIED)
        return "proof_kind: expected POREP_SEAL_COMMIT (1), SNAP_DEALS_UPDATE (2), "
               "WINDOW_POST_PARTITION (3) or WINNING_POST (4), actual none";
    if (kind == CUZK_ENGINE_POREP && s->n_parts != 1)
        return "vanilla_proof: expected the output of commit phase 1, actual none";
    if (kind == CUZK_ENGINE_CIRCOM && s->n_parts != 1)
        return "wtns: expected a witness as snarkjs writes it, actual none";
    if (s->n_parts == 0)
        return kind == CUZK_ENGINE_SNAP
                   ? "vanilla_proofs: expected one a partition, actual none"
                   : "vanilla_proofs: expected one a challenged sector, actual none";
    return NULL;
}

cuzk_status cuzk__rpc_seal_submission(cuzk__rpc_submission *s, cuzk_err *err) {
    cuzk_engine_payload *p = &s->request.payload;
    const char *what = missing(s, p->kind);
    if (what) return cuzk_err_set(err, CUZK_STATUS_BAD_INPUT, "%s", what);
    if (cuzk_buf_status(&s->meta) != CUZK_OK)
        return cuzk_err_set(err, CUZK_STATUS_NO_MEMORY, "not enough memory for the request");
    p->meta = (cuzk_engine_bytes){s->meta.data, s->meta.len};
    p->parts = s->parts;
    p->n_parts = s->n_parts;
    return CUZK_OK;
}
