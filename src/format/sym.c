#include "format/sym.h"

#include "base/mem.h"
#include "format/binfile.h"

#include <inttypes.h>
#include <string.h>

/* A line being taken apart. */
typedef struct line {
    const char *p, *end;
} line;

/* Digits up to a comma, which is taken too. *minus for "-1". */
static bool number(line *l, uint64_t *v, bool *minus) {
    const char *start = l->p;
    *v = 0;
    *minus = l->p < l->end && *l->p == '-';
    if (*minus) start = ++l->p;
    for (; l->p < l->end && *l->p >= '0' && *l->p <= '9'; l->p++) {
        if (__builtin_mul_overflow(*v, 10, v) ||
            __builtin_add_overflow(*v, (uint64_t)(*l->p - '0'), v))
            return false;
    }
    if (l->p == start || l->p == l->end || *l->p != ',') return false;
    l->p++;
    return !*minus || *v == 1;
}

static cuzk_status bad_line(const cuzk_sym *s, uint64_t no, const char *at, const char *what,
                            cuzk_err *err) {
    return cuzk_err_set(err, CUZK_STATUS_BAD_INPUT, "%s: line %" PRIu64 " at offset %zu: %s",
                        s->file, no, (size_t)(at - s->text), what);
}

static cuzk_status read_line(cuzk_sym *s, uint64_t no, line l, cuzk_err *err) {
    const char *start = l.p;
    uint64_t label, wire, component;
    bool minus, removed;
    if (!number(&l, &label, &minus) || minus)
        return bad_line(s, no, l.p, "expected a label's number and a comma, actual something else",
                        err);
    if (!number(&l, &wire, &removed))
        return bad_line(s, no, l.p,
                        "expected a wire's number or -1, and a comma, actual something else", err);
    if (!number(&l, &component, &minus) || minus)
        return bad_line(s, no, l.p,
                        "expected a component's number and a comma, actual something else", err);
    if (l.p == l.end || l.end - l.p > UINT32_MAX)
        return bad_line(s, no, l.p, "expected a signal's name, actual none", err);
    if (removed) return CUZK_OK;
    if (wire >= s->n_wires)
        return cuzk_err_set(err, CUZK_STATUS_BAD_INPUT,
                            "%s: line %" PRIu64 " at offset %zu: expected a wire below %" PRIu32
                            ", actual %" PRIu64 ": do the files belong to one circuit?",
                            s->file, no, (size_t)(start - s->text), s->n_wires, wire);
    if (s->names[wire].len == 0) {
        s->names[wire].off = (uint64_t)(l.p - s->text);
        s->names[wire].len = (uint32_t)(l.end - l.p);
    }
    return CUZK_OK;
}

static cuzk_status read_all(cuzk_sym *s, const char *text, size_t len, cuzk_err *err) {
    void *mem;
    s->text = text;
    if (cuzk_alloc(&mem, s->n_wires, sizeof *s->names) != CUZK_OK)
        return cuzk_err_set(err, CUZK_STATUS_NO_MEMORY, "%s: out of memory", s->file);
    s->names = mem;
    const char *p = text, *end = text + len;
    for (uint64_t no = 1; p < end; no++) {
        const char *nl = memchr(p, '\n', (size_t)(end - p));
        line l = {p, nl ? nl : end};
        if (l.end > l.p && l.end[-1] == '\r') l.end--;
        CUZK_TRY(read_line(s, no, l, err));
        p = nl ? nl + 1 : end;
    }
    return CUZK_OK;
}

static cuzk_status new_sym(cuzk_sym **out, const char *name, uint32_t n_wires, cuzk_err *err) {
    void *mem;
    *out = NULL;
    if (cuzk_alloc(&mem, 1, sizeof **out) != CUZK_OK)
        return cuzk_err_set(err, CUZK_STATUS_NO_MEMORY, "%s: out of memory", name);
    cuzk_sym *s = mem;
    s->n_wires = n_wires;
    if (cuzk_strdup(&s->file, cuzk_name_tail(name)) != CUZK_OK) {
        cuzk_free(s);
        return cuzk_err_set(err, CUZK_STATUS_NO_MEMORY, "%s: out of memory", name);
    }
    *out = s;
    return CUZK_OK;
}

static cuzk_status finish(cuzk_status st, cuzk_sym *s, cuzk_sym **out) {
    if (st == CUZK_OK)
        *out = s;
    else
        cuzk_sym_free(s);
    return st;
}

cuzk_status cuzk_sym_open(cuzk_sym **out, const char *path, uint32_t n_wires, cuzk_err *err) {
    cuzk_sym *s;
    *out = NULL;
    CUZK_TRY(new_sym(&s, path, n_wires, err));
    cuzk_status st = cuzk_map_file(&s->map, path, err);
    if (st == CUZK_OK) st = read_all(s, (const char *)s->map.data, s->map.len, err);
    return finish(st, s, out);
}

cuzk_status cuzk_sym_from_memory(cuzk_sym **out, const char *text, size_t len, uint32_t n_wires,
                                 const char *name, cuzk_err *err) {
    cuzk_sym *s;
    *out = NULL;
    CUZK_TRY(new_sym(&s, name, n_wires, err));
    return finish(read_all(s, text, len, err), s, out);
}

void cuzk_sym_free(cuzk_sym *s) {
    if (!s) return;
    cuzk_map_close(&s->map);
    cuzk_free(s->names);
    cuzk_free(s->file);
    cuzk_free(s);
}

const char *cuzk_sym_name(const cuzk_sym *s, uint32_t wire, size_t *len) {
    if (!s || wire >= s->n_wires || s->names[wire].len == 0) return NULL;
    *len = s->names[wire].len;
    return s->text + s->names[wire].off;
}
