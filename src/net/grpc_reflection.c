/* grpc.reflection.v1 and v1alpha: what is served, out of a FileDescriptorSet.
 *
 * DESIGN: the set is kept as it is; a question walks it. It has some hundred names and questions
 * are rare, so there is nothing to index. Both versions have the same messages. */
#include "net/grpc_internal.h"
#include "net/pb.h"

#include "base/mem.h"

#include <string.h>

typedef struct file {
    const uint8_t *bytes;
    size_t len;
    const uint8_t *name, *package;
    size_t name_len, package_len;
    bool sent; /* in the answer being made */
} file;

struct cuzk__grpc_reflection {
    file *files;
    size_t n_files;
    cuzk_grpc_method methods[2];
};

typedef struct text {
    const uint8_t *p;
    size_t n;
} text;

static bool same(text a, const uint8_t *p, size_t n) {
    return a.n == n && !memcmp(a.p, p, n);
}

/* What is left of a after "head." or "head" at its end; false when it begins otherwise. */
static bool strip(text *a, const uint8_t *head, size_t n) {
    if (a->n < n || memcmp(a->p, head, n) != 0) return false;
    if (a->n > n && a->p[n] != '.') return false;
    const size_t cut = a->n > n ? n + 1 : n;
    a->p += cut;
    a->n -= cut;
    return true;
}

/* ---- symbols ---- */

/* Field tags of descriptor.proto. */
enum {
    FILE_NAME = 1,
    FILE_PACKAGE = 2,
    FILE_DEPENDENCY = 3,
    FILE_MESSAGE = 4,
    FILE_ENUM = 5,
    FILE_SERVICE = 6,
    FILE_EXTENSION = 7,
    NAME = 1, /* of message, enum, service, field, method */
    MESSAGE_NESTED = 3,
    MESSAGE_ENUM = 4,
    SERVICE_METHOD = 2,
    DEEPEST = 32,
};

static text name_of(const uint8_t *p, size_t n) {
    cuzk_cursor c = cuzk_cursor_init(p, n);
    cuzk__pb_field f;
    while (cuzk__pb_next(&c, &f))
        if (f.tag == NAME && f.wire == 2) return (text){f.data, f.len};
    return (text){(const uint8_t *)"", 0};
}

/* Whether a definition (message, enum or service) is the symbol or holds it. inner, inner2: tags of
 * what may lie in it. */
static bool defines(const cuzk__pb_field *def, text symbol, uint32_t inner, uint32_t inner2,
                    int depth) {
    const text name = name_of(def->data, def->len);
    if (depth > DEEPEST || !name.n || !strip(&symbol, name.p, name.n)) return false;
    if (!symbol.n) return true;
    cuzk_cursor c = cuzk_cursor_init(def->data, def->len);
    cuzk__pb_field f;
    while (cuzk__pb_next(&c, &f)) {
        if (f.wire != 2 || !inner || (f.tag != inner && f.tag != inner2)) continue;
        const bool nests = inner == MESSAGE_NESTED && f.tag == MESSAGE_NESTED;
        if (defines(&f, symbol, nests ? MESSAGE_NESTED : 0, nests ? MESSAGE_ENUM : 0, depth + 1))
            return true;
    }
    return false;
}

static bool file_defines(const file *at, text symbol) {
    if (at->package_len && !strip(&symbol, at->package, at->package_len)) return false;
    if (!symbol.n) return false;
    cuzk_cursor c = cuzk_cursor_init(at->bytes, at->len);
    cuzk__pb_field f;
    while (cuzk__pb_next(&c, &f)) {
        if (f.wire != 2) continue;
        if (f.tag == FILE_MESSAGE && defines(&f, symbol, MESSAGE_NESTED, MESSAGE_ENUM, 0))
            return true;
        if (f.tag == FILE_SERVICE && defines(&f, symbol, SERVICE_METHOD, SERVICE_METHOD, 0))
            return true;
        if ((f.tag == FILE_ENUM || f.tag == FILE_EXTENSION) && defines(&f, symbol, 0, 0, 0))
            return true;
    }
    return false;
}

/* ---- answers ---- */

enum {
    ASK_FILE = 3,
    ASK_SYMBOL = 4,
    ASK_EXTENSION = 5,
    ASK_NUMBERS = 6,
    ASK_SERVICES = 7,
    SAY_HOST = 1,
    SAY_REQUEST = 2,
    SAY_FILES = 4,
    SAY_NUMBERS = 5,
    SAY_SERVICES = 6,
    SAY_ERROR = 7,
};

static void say_error(cuzk_buf *out, int code, const char *message) {
    cuzk_buf e = CUZK_BUF_INIT;
    cuzk__pb_put_int(&e, 1, (uint64_t)code);
    cuzk__pb_put_str(&e, 2, message);
    cuzk__pb_put_bytes(out, SAY_ERROR, e.data, e.len);
    cuzk_buf_free(&e);
}

static file *by_name(cuzk__grpc_reflection *r, text name) {
    for (size_t i = 0; i < r->n_files; i++)
        if (same(name, r->files[i].name, r->files[i].name_len)) return &r->files[i];
    return NULL;
}

static file *by_symbol(cuzk__grpc_reflection *r, text symbol) {
    for (size_t i = 0; i < r->n_files; i++)
        if (file_defines(&r->files[i], symbol)) return &r->files[i];
    return NULL;
}

/* The file and what it depends on. */
static void put_file(cuzk__grpc_reflection *r, cuzk_buf *out, file *at, int depth) {
    if (at->sent || depth > DEEPEST) return;
    at->sent = true;
    cuzk__pb_put_bytes(out, 1, at->bytes, at->len);
    cuzk_cursor c = cuzk_cursor_init(at->bytes, at->len);
    cuzk__pb_field f;
    while (cuzk__pb_next(&c, &f)) {
        if (f.tag != FILE_DEPENDENCY || f.wire != 2) continue;
        file *dep = by_name(r, (text){f.data, f.len});
        if (dep) put_file(r, out, dep, depth + 1);
    }
}

static void say_file(cuzk__grpc_reflection *r, cuzk_buf *out, file *found) {
    cuzk_buf files = CUZK_BUF_INIT;
    if (!found) {
        say_error(out, CUZK_GRPC_NOT_FOUND, "no such file or symbol");
        return;
    }
    for (size_t i = 0; i < r->n_files; i++)
        r->files[i].sent = false;
    put_file(r, &files, found, 0);
    cuzk__pb_put_bytes(out, SAY_FILES, files.data, files.len);
    out->failed |= files.failed;
    cuzk_buf_free(&files);
}

static void say_services(const cuzk__grpc_reflection *r, cuzk_buf *out) {
    cuzk_buf list = CUZK_BUF_INIT, full = CUZK_BUF_INIT, one = CUZK_BUF_INIT;
    for (size_t i = 0; i < r->n_files; i++) {
        const file *at = &r->files[i];
        cuzk_cursor c = cuzk_cursor_init(at->bytes, at->len);
        cuzk__pb_field f;
        while (cuzk__pb_next(&c, &f)) {
            if (f.tag != FILE_SERVICE || f.wire != 2) continue;
            const text name = name_of(f.data, f.len);
            full.len = one.len = 0;
            cuzk_buf_append(&full, at->package, at->package_len);
            if (at->package_len) cuzk_buf_puts(&full, ".");
            cuzk_buf_append(&full, name.p, name.n);
            cuzk__pb_put_bytes(&one, 1, full.data, full.len);
            cuzk__pb_put_bytes(&list, 1, one.data, one.len);
        }
    }
    cuzk__pb_put_bytes(out, SAY_SERVICES, list.data, list.len);
    out->failed |= list.failed | full.failed | one.failed;
    cuzk_buf_free(&list);
    cuzk_buf_free(&full);
    cuzk_buf_free(&one);
}

static void say_numbers(cuzk__grpc_reflection *r, cuzk_buf *out, text type) {
    if (!by_symbol(r, type)) {
        say_error(out, CUZK_GRPC_NOT_FOUND, "no such type");
        return;
    }
    cuzk_buf e = CUZK_BUF_INIT; /* nothing here is extended */
    cuzk__pb_put_bytes(&e, 1, type.p, type.n);
    cuzk__pb_put_bytes(out, SAY_NUMBERS, e.data, e.len);
    out->failed |= e.failed;
    cuzk_buf_free(&e);
}

static void answer(cuzk__grpc_reflection *r, cuzk_buf *out, const uint8_t *req, size_t n) {
    cuzk_cursor c = cuzk_cursor_init(req, n);
    cuzk__pb_field f, ask = {0};
    text host = {(const uint8_t *)"", 0};
    while (cuzk__pb_next(&c, &f)) {
        if (f.wire != 2) continue;
        if (f.tag == 1) host = (text){f.data, f.len};
        if (f.tag >= ASK_FILE && f.tag <= ASK_SERVICES) ask = f;
    }
    cuzk__pb_put_bytes(out, SAY_HOST, host.p, host.n);
    cuzk__pb_put_bytes(out, SAY_REQUEST, req, n);
    const text what = {ask.data, ask.len};
    switch (ask.tag) {
    case ASK_FILE:
        say_file(r, out, by_name(r, what));
        break;
    case ASK_SYMBOL:
        say_file(r, out, by_symbol(r, what));
        break;
    case ASK_NUMBERS:
        say_numbers(r, out, what);
        break;
    case ASK_SERVICES:
        say_services(r, out);
        break;
    case ASK_EXTENSION:
        say_error(out, CUZK_GRPC_NOT_FOUND, "no such extension");
        break;
    default:
        say_error(out, CUZK_GRPC_INVALID_ARGUMENT, "a question that is not known here");
    }
}

static void handle(void *ctx, cuzk_grpc_call *call) {
    const uint8_t *req;
    size_t n;
    if (!cuzk_grpc_call_request(call, &req, &n)) {
        cuzk_grpc_end(call, CUZK_GRPC_OK, NULL, NULL, 0);
        return;
    }
    cuzk_buf out = CUZK_BUF_INIT;
    answer(ctx, &out, req, n);
    if (out.failed)
        cuzk_grpc_fail(call, CUZK_GRPC_RESOURCE_EXHAUSTED, "the server is out of memory");
    else
        cuzk_grpc_send(call, out.data, out.len);
    cuzk_buf_free(&out);
}

/* ---- making ---- */

static cuzk_status add_file(cuzk__grpc_reflection *r, const uint8_t *p, size_t n, cuzk_err *err) {
    cuzk_cursor c = cuzk_cursor_init(p, n);
    cuzk__pb_field f;
    CUZK_TRY(cuzk_realloc((void **)&r->files, r->n_files + 1, sizeof *r->files));
    file *at = &r->files[r->n_files++];
    *at = (file){.bytes = p, .len = n};
    while (cuzk__pb_next(&c, &f)) {
        if (f.wire != 2) continue;
        if (f.tag == FILE_NAME) at->name = f.data, at->name_len = f.len;
        if (f.tag == FILE_PACKAGE) at->package = f.data, at->package_len = f.len;
    }
    if (cuzk_cursor_left(&c) || !at->name)
        return cuzk_err_set(err, CUZK_STATUS_BAD_INPUT,
                            "file %zu of the descriptor set is no FileDescriptorProto", r->n_files);
    return CUZK_OK;
}

cuzk_status cuzk_grpc_server_reflection(cuzk_grpc_server *s, const uint8_t *set, size_t n,
                                        cuzk_err *err) {
    cuzk__grpc_reflection *r;
    cuzk_cursor c = cuzk_cursor_init(set, n);
    cuzk__pb_field f;
    CUZK_TRY(cuzk_alloc((void **)&r, 1, sizeof *r));
    s->reflection = r;
    while (cuzk__pb_next(&c, &f))
        if (f.tag == 1 && f.wire == 2) CUZK_TRY(add_file(r, f.data, f.len, err));
    if (cuzk_cursor_left(&c) || !r->n_files)
        return cuzk_err_set(err, CUZK_STATUS_BAD_INPUT, "this is no FileDescriptorSet");
    static const char *const paths[] = {
        "/grpc.reflection.v1.ServerReflection/ServerReflectionInfo",
        "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo"};
    for (int i = 0; i < 2; i++)
        r->methods[i] = (cuzk_grpc_method){
            paths[i], CUZK_GRPC_CLIENT_STREAM | CUZK_GRPC_SERVER_STREAM | CUZK_GRPC_WATCH, handle,
            r};
    return cuzk__grpc_add_methods(s, r->methods, 2, err);
}

void cuzk__grpc_reflection_free(cuzk__grpc_reflection *r) {
    if (!r) return;
    cuzk_free(r->files);
    cuzk_free(r);
}
