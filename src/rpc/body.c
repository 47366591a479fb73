/* Jobs as HTTP bodies. Whatever form they come in, what matters here is taken out (kind, ids, the
 * proofs), and the other fields go on as a JSON object that the work provider reads and checks. */
#include "base/json_pull.h"
#include "base/mem.h"
#include "rpc/internal.h"
#include "rpc/wire.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

/* The largest vanilla proof, a 32 GiB C1 in its wrapper, is 51 MB. */
enum { MAX_BLOB = 256 << 20 };

enum {
    PROOF_KIND,
    REQUEST_ID,
    PRIORITY,
    DEADLINE,
    VANILLA_PROOF,
    VANILLA_PROOFS,
    WTNS,
    KEY,
    FIELDS, /* the first of those that are only passed on */
};

/* As in a request's JSON; FIELDS and above: what may also come as text. */
static const char *const names[] = {
    [PROOF_KIND] = "proof_kind",
    [REQUEST_ID] = "request_id",
    [PRIORITY] = "priority",
    [DEADLINE] = "deadline_unix_ms",
    [VANILLA_PROOF] = "vanilla_proof",
    [VANILLA_PROOFS] = "vanilla_proofs",
    [WTNS] = "wtns",
    [KEY] = "key",
    [FIELDS] = "sector_size",
    "registered_proof",
    "sector_number",
    "miner_id",
    "randomness",
    "partition_index",
    "comm_r_old",
    "comm_r_new",
    "comm_d_new",
    "comm_r",
    "comm_d",
    "replica_id",
    "seed",
    "ticket",
    "porep_id",
    "sectors",
};
enum { N_NAMES = sizeof names / sizeof names[0] };

typedef struct reader {
    cuzk__rpc_submission *s;
    cuzk_err *err;
    cuzk_buf rest; /* ,"name":value of the fields that are passed on */
    char key[CUZK_ENGINE_KEY_NAME];
    cuzk_engine_bytes one, wtns;
    unsigned seen;
} reader;

static cuzk_status bad(reader *x, const char *field, const char *expected, const char *actual) {
    return cuzk_err_set(x->err, CUZK_STATUS_BAD_INPUT, "%.40s: expected %s, actual %.80s", field,
                        expected, actual);
}

static cuzk_status no_memory(reader *x) {
    return cuzk_err_set(x->err, CUZK_STATUS_NO_MEMORY, "not enough memory for the request");
}

/* "proofKind" to "proof_kind"; what is too long for any name stays so. */
static void snake(const char *name, char out[CUZK_PULL_KEY + 8]) {
    size_t n = 0;
    for (; *name && n + 2 < CUZK_PULL_KEY + 8; name++) {
        if (*name >= 'A' && *name <= 'Z') {
            out[n++] = '_';
            out[n++] = (char)(*name - 'A' + 'a');
        } else {
            out[n++] = *name;
        }
    }
    out[n] = '\0';
}

static unsigned field_of(const char *name) {
    char text[CUZK_PULL_KEY + 8];
    unsigned i = 0;
    snake(name, text);
    while (i < N_NAMES && strcmp(names[i], text) != 0)
        i++;
    return i;
}

static cuzk_status once(reader *x, unsigned i) {
    if (i >= FIELDS) return CUZK_OK; /* the provider looks at those */
    if (x->seen >> i & 1) return bad(x, names[i], "it once", "twice");
    x->seen |= 1u << i;
    return CUZK_OK;
}

/* ---- fields as text: of a query, a form, a JSON string ---- */

static cuzk_status text_field(reader *x, unsigned i, const char *text) {
    uint64_t ms = 0;
    bool good = text[0] != '\0';
    switch (i) {
    case PROOF_KIND:
        x->s->request.payload.kind = cuzk__rpc_kind_of(text);
        if (x->s->request.payload.kind == CUZK_ENGINE_KIND_COUNT)
            return bad(x, names[i],
                       "POREP_SEAL_COMMIT, SNAP_DEALS_UPDATE, WINDOW_POST_PARTITION, WINNING_POST "
                       "or CIRCOM",
                       text);
        return CUZK_OK;
    case REQUEST_ID:
        return cuzk__rpc_set_request_id(x->s, text, strlen(text), x->err);
    case PRIORITY:
        if (cuzk__rpc_priority_of(text, &x->s->request.priority)) return CUZK_OK;
        return bad(x, names[i], "LOW, NORMAL, HIGH or CRITICAL", text);
    case DEADLINE:
        for (const char *p = text; *p && good; p++)
            good = *p >= '0' && *p <= '9' && !__builtin_mul_overflow(ms, 10, &ms) &&
                   !__builtin_add_overflow(ms, (uint64_t)(*p - '0'), &ms);
        if (!good) return bad(x, names[i], "milliseconds since 1970", text);
        return cuzk__rpc_set_deadline(x->s, ms, x->err);
    default: /* KEY */
        if (!text[0] || strlen(text) >= sizeof x->key)
            return bad(x, names[i], "the name of a proving key",
                       text[0] ? "a longer text" : "none");
        snprintf(x->key, sizeof x->key, "%s", text);
        return CUZK_OK;
    }
}

/* A field that is passed on: as a string, or as JSON when it begins like an array or object. */
static cuzk_status pass_text(reader *x, const char *name, const char *text) {
    cuzk_buf_printf(&x->rest, ",\"%s\":", name);
    if (text[0] == '[' || text[0] == '{') {
        cuzk_pull j;
        cuzk_pull_init(&j, (const uint8_t *)text, strlen(text), name, x->err);
        CUZK_TRY(cuzk_pull_skip(&j));
        CUZK_TRY(cuzk_pull_end(&j));
        cuzk_buf_puts(&x->rest, text);
    } else {
        cuzk__rpc_json(&x->rest, text);
    }
    return CUZK_OK;
}

static cuzk_status form_field(reader *x, const char *name, const char *text) {
    const unsigned i = field_of(name);
    if (i == N_NAMES) return bad(x, name, "a field of SubmitProofRequest", "an unknown one");
    CUZK_TRY(once(x, i));
    if (i >= FIELDS) return pass_text(x, names[i], text);
    return text_field(x, i, text);
}

/* ---- JSON ---- */

/* A string, or a number as its digits. */
static cuzk_status scalar(cuzk_pull *j, char *out, size_t cap) {
    uint64_t v;
    if (cuzk_pull_peek(j) == '"') return cuzk_pull_string(j, out, cap);
    CUZK_TRY(cuzk_pull_u64(j, UINT64_MAX, &v));
    snprintf(out, cap, "%llu", (unsigned long long)v);
    return CUZK_OK;
}

static cuzk_status owned_blob(reader *x, cuzk_pull *j, cuzk_engine_bytes *out) {
    uint8_t *data = NULL;
    size_t n = 0;
    CUZK_TRY(cuzk_pull_base64(j, MAX_BLOB, &data, &n));
    if (cuzk__rpc_add_owned(x->s, data, n) != CUZK_OK) return no_memory(x);
    if (out) {
        *out = (cuzk_engine_bytes){data, n};
        x->s->n_parts--; /* not one of vanilla_proofs */
    }
    return CUZK_OK;
}

static cuzk_status json_proofs(reader *x, cuzk_pull *j) {
    bool more;
    CUZK_TRY(cuzk_pull_array(j));
    for (;;) {
        CUZK_TRY(cuzk_pull_item(j, &more));
        if (!more) return CUZK_OK;
        if (x->s->n_parts == CUZK__RPC_MAX_PARTS) return cuzk_pull_fail(j, "fewer proofs", "more");
        CUZK_TRY(owned_blob(x, j, NULL));
    }
}

static cuzk_status json_field(reader *x, cuzk_pull *j, const char *name) {
    char text[CUZK_ENGINE_REQUEST_ID];
    const unsigned i = field_of(name);
    if (i == N_NAMES) return cuzk_pull_fail(j, "a field of SubmitProofRequest", "an unknown one");
    CUZK_TRY(once(x, i));
    if (i == VANILLA_PROOF) return owned_blob(x, j, &x->one);
    if (i == WTNS) return owned_blob(x, j, &x->wtns);
    if (i == VANILLA_PROOFS) return json_proofs(x, j);
    if (i < FIELDS) {
        CUZK_TRY(scalar(j, text, sizeof text));
        return text_field(x, i, text);
    }
    (void)cuzk_pull_peek(j);
    const uint8_t *from = j->p;
    CUZK_TRY(cuzk_pull_skip(j));
    cuzk_buf_printf(&x->rest, ",\"%s\":", names[i]);
    cuzk_buf_append(&x->rest, from, (size_t)(j->p - from));
    return CUZK_OK;
}

static cuzk_status read_json(reader *x, const uint8_t *body, size_t n) {
    cuzk_pull j;
    const char *name;
    cuzk_pull_init(&j, body, n, "body", x->err);
    CUZK_TRY(cuzk_pull_object(&j));
    for (;;) {
        CUZK_TRY(cuzk_pull_key(&j, &name));
        if (!name) return cuzk_pull_end(&j);
        CUZK_TRY(json_field(x, &j, name));
    }
}

/* ---- forms and raw bytes ---- */

/* A copy of a short text without NUL; BAD_INPUT for others. */
static cuzk_status form_text(reader *x, const char *name, const uint8_t *data, size_t n) {
    char *text = NULL;
    if (n > 1 << 20 || memchr(data, 0, n) || !cuzk__rpc_is_utf8(data, n))
        return bad(x, name, "a text", n > 1 << 20 ? "one of more than 1 MiB" : "other bytes");
    if (cuzk_alloc((void **)&text, n + 1, 1) != CUZK_OK) return no_memory(x);
    memcpy(text, data, n);
    const cuzk_status st = form_field(x, name, text);
    cuzk_free(text);
    return st;
}

static cuzk_status form_part(reader *x, const char *name, const uint8_t *data, size_t n) {
    const unsigned i = field_of(name);
    if (i == N_NAMES && strcmp(name, "request") == 0) return read_json(x, data, n);
    if (i == VANILLA_PROOFS) {
        if (x->s->n_parts == CUZK__RPC_MAX_PARTS) return bad(x, name, "fewer proofs", "more");
        return cuzk__rpc_add_part(x->s, data, n) == CUZK_OK ? CUZK_OK : no_memory(x);
    }
    if (i != VANILLA_PROOF && i != WTNS) return form_text(x, name, data, n);
    CUZK_TRY(once(x, i));
    *(i == WTNS ? &x->wtns : &x->one) = (cuzk_engine_bytes){data, n};
    return CUZK_OK;
}

/* name="…" of a part's headers. */
static bool part_name(const uint8_t *head, size_t n, char out[CUZK_PULL_KEY]) {
    const uint8_t *p = memmem(head, n, " name=\"", 7);
    if (!p) p = memmem(head, n, ";name=\"", 7);
    if (!p) return false;
    p += 7;
    const uint8_t *end = memchr(p, '"', n - (size_t)(p - head));
    if (!end || (size_t)(end - p) >= CUZK_PULL_KEY) return false;
    memcpy(out, p, (size_t)(end - p));
    out[end - p] = '\0';
    return true;
}

static cuzk_status read_multipart(reader *x, const char *content_type, const uint8_t *body,
                                  size_t n) {
    char mark[4 + 72], name[CUZK_PULL_KEY];
    const char *b = strcasestr(content_type, "boundary=");
    if (b) b += strlen("boundary=");
    if (b && *b == '"') b++;
    const size_t len = b ? strcspn(b, "\";, \t") : 0;
    if (len == 0 || len > 70)
        return bad(x, "Content-Type", "multipart/form-data with a boundary", "none");
    const int mark_len = snprintf(mark, sizeof mark, "\r\n--%.*s", (int)len, b);
    const size_t m = (size_t)mark_len;
    const uint8_t *p = body, *end = body + n;
    if (n < m - 2 || memcmp(p, mark + 2, m - 2) != 0)
        return bad(x, "body", "the first boundary", "other bytes");
    p += m - 2;
    for (;;) {
        if (end - p >= 2 && memcmp(p, "--", 2) == 0) return CUZK_OK;
        const uint8_t *head = memmem(p, (size_t)(end - p), "\r\n", 2);
        const uint8_t *data = head ? memmem(head, (size_t)(end - head), "\r\n\r\n", 4) : NULL;
        const uint8_t *next = data ? memmem(data + 2, (size_t)(end - data - 2), mark, m) : NULL;
        if (!next || (size_t)(next - data) < 4 || !part_name(head, (size_t)(data - head), name))
            return bad(x, "body", "parts with names, each ended by the boundary", "others");
        data += 4;
        CUZK_TRY(form_part(x, name, data, (size_t)(next - data)));
        p = next + m;
    }
}

static cuzk_status read_raw(reader *x, const uint8_t *body, size_t n,
                            const char *(*query)(void *ctx, const char *name), void *ctx) {
    for (unsigned i = 0; i < N_NAMES; i++) {
        const char *text = query ? query(ctx, names[i]) : NULL;
        if (!text) continue;
        if (i == VANILLA_PROOF || i == VANILLA_PROOFS || i == WTNS)
            return bad(x, names[i], "it as the body", "a query parameter");
        CUZK_TRY(form_field(x, names[i], text));
    }
    if (n == 0) return CUZK_OK;
    if (x->s->request.payload.kind == CUZK_ENGINE_POREP)
        x->one = (cuzk_engine_bytes){body, n};
    else if (x->s->request.payload.kind == CUZK_ENGINE_CIRCOM)
        x->wtns = (cuzk_engine_bytes){body, n};
    else if (cuzk__rpc_add_part(x->s, body, n) != CUZK_OK)
        return no_memory(x);
    return CUZK_OK;
}

/* ---- the end of each ---- */

/* Which of the proofs' fields belongs to the kind. */
static cuzk_status choose_parts(reader *x) {
    cuzk__rpc_submission *s = x->s;
    const cuzk_engine_kind kind = s->request.payload.kind;
    const bool one = kind == CUZK_ENGINE_POREP, wtns = kind == CUZK_ENGINE_CIRCOM;
    if (kind == CUZK_ENGINE_UNSPECIFIED) return cuzk__rpc_seal_submission(s, x->err);
    if (x->one.len && !one)
        return bad(x, "vanilla_proof", "vanilla_proofs", "the field of a PoRep");
    if (x->wtns.len && !wtns) return bad(x, "wtns", "fields of the kind", "one of CIRCOM");
    if (s->n_parts && (one || wtns))
        return bad(x, "vanilla_proofs", one ? "vanilla_proof" : "wtns", "the field of a PoSt");
    if ((x->key[0] != '\0') != wtns)
        return bad(x, "key", wtns ? "the name of a proving key" : "fields of the kind",
                   wtns ? "none" : "one of CIRCOM");
    if (wtns && x->rest.len) return bad(x, "proof_kind", "CIRCOM alone", "fields of other kinds");
    const cuzk_engine_bytes *part = one ? &x->one : &x->wtns;
    if (part->len && cuzk__rpc_add_part(s, part->data, part->len) != CUZK_OK) return no_memory(x);
    return CUZK_OK;
}

static cuzk_status finish(reader *x) {
    cuzk__rpc_submission *s = x->s;
    CUZK_TRY(choose_parts(x));
    if (cuzk_buf_status(&x->rest) != CUZK_OK) return no_memory(x);
    if (s->request.payload.kind == CUZK_ENGINE_CIRCOM) {
        cuzk_buf_puts(&s->meta, "{\"key\":");
        cuzk__rpc_json(&s->meta, x->key);
    } else {
        cuzk_buf_printf(&s->meta, "{\"proof_kind\":\"%s\"",
                        cuzk__rpc_kind_wire_name(s->request.payload.kind));
        cuzk_buf_append(&s->meta, x->rest.len ? x->rest.data : "", x->rest.len);
    }
    cuzk_buf_puts(&s->meta, "}");
    return cuzk__rpc_seal_submission(s, x->err);
}

static bool is_type(const char *content_type, const char *type) {
    const size_t n = strlen(type);
    return strncasecmp(content_type, type, n) == 0 &&
           (content_type[n] == '\0' || strchr("; \t", content_type[n]));
}

cuzk_status cuzk__rpc_read_body(cuzk__rpc_submission *s, const char *content_type,
                                const uint8_t *body, size_t n,
                                const char *(*query)(void *ctx, const char *name), void *ctx,
                                cuzk_err *err) {
    reader x = {.s = s, .err = err};
    cuzk_status st;
    if (!content_type) content_type = "application/json";
    if (is_type(content_type, "multipart/form-data"))
        st = read_multipart(&x, content_type, body, n);
    else if (is_type(content_type, "application/octet-stream"))
        st = read_raw(&x, body, n, query, ctx);
    else if (is_type(content_type, "application/json"))
        st = read_json(&x, body, n);
    else
        st = bad(&x, "Content-Type",
                 "application/json, multipart/form-data or application/octet-stream", content_type);
    if (st == CUZK_OK) st = finish(&x);
    cuzk_buf_free(&x.rest);
    return st;
}
