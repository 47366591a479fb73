#include "filecoin/bincode.h"

#include "base/buf.h"

#include <stdarg.h>
#include <stdio.h>

cuzk_status cuzk__bin_fail(cuzk__bin *b, size_t off, const char *fmt, ...) {
    char text[256];
    cuzk_buf where = CUZK_BUF_INIT;
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    for (unsigned i = 0; i < b->depth && i < CUZK__BIN_DEPTH; i++) {
        cuzk_buf_printf(&where, "%s%s", i ? ", " : "", b->at[i].what);
        if (b->at[i].index >= 0) cuzk_buf_printf(&where, " %lld", (long long)b->at[i].index);
    }
    (void)cuzk_err_set(b->err, CUZK_STATUS_BAD_INPUT, "%s: offset %zu: %s%s%s", b->name, off,
                       where.len ? where.data : "", where.len ? ": " : "", text);
    cuzk_buf_free(&where);
    return CUZK_STATUS_BAD_INPUT;
}

static cuzk_status cut(cuzk__bin *b, uint64_t want, const char *what) {
    return cuzk__bin_fail(b, b->c.off, "expected %llu bytes of %s, actual %zu to the end",
                          (unsigned long long)want, what, cuzk_cursor_left(&b->c));
}

cuzk_status cuzk__bin_hashes(cuzk__bin *b, const uint8_t **out, uint64_t k, const char *what) {
    if (k > cuzk_cursor_left(&b->c) / 32) return cut(b, k > UINT32_MAX ? k : 32 * k, what);
    return cuzk_rd_bytes(&b->c, 32 * (size_t)k, out) ? CUZK_OK : cut(b, 32 * k, what);
}

cuzk_status cuzk__bin_u32(cuzk__bin *b, uint32_t *out, const char *what) {
    return cuzk_rd_u32le(&b->c, out) ? CUZK_OK : cut(b, 4, what);
}

cuzk_status cuzk__bin_u64(cuzk__bin *b, uint64_t *out, const char *what) {
    return cuzk_rd_u64le(&b->c, out) ? CUZK_OK : cut(b, 8, what);
}

cuzk_status cuzk__bin_count(cuzk__bin *b, uint64_t want, const char *what) {
    uint64_t n = 0;
    const size_t off = b->c.off;
    CUZK_TRY(cuzk__bin_u64(b, &n, what));
    if (n == want) return CUZK_OK;
    return cuzk__bin_fail(b, off, "expected %llu %s, actual %llu", (unsigned long long)want, what,
                          (unsigned long long)n);
}

static cuzk_status read_path(cuzk__bin *b, cuzk_path_values *p, uint32_t arity, uint32_t levels) {
    CUZK_TRY(cuzk__bin_count(b, levels, "levels of a path"));
    for (uint32_t i = 0; i < levels; i++) {
        uint64_t index = 0;
        CUZK_TRY(cuzk__bin_count(b, arity - 1, "siblings of a node"));
        CUZK_TRY(cuzk__bin_hashes(b, &p->siblings[p->levels], arity - 1, "siblings"));
        const size_t off = b->c.off;
        CUZK_TRY(cuzk__bin_u64(b, &index, "a position among siblings"));
        if (index >= arity)
            return cuzk__bin_fail(b, off, "expected a position below %u, actual %llu", arity,
                                  (unsigned long long)index);
        p->index[p->levels++] = (uint32_t)index;
    }
    return CUZK_OK;
}

cuzk_status cuzk__bin_proof(cuzk__bin *b, cuzk_merkle_proof *out, const cuzk_tree_shape *t,
                            const char *what) {
    static const char *const kinds[] = {"Single (0)", "Sub (1)", "Top (2)"};
    uint32_t tag = 0;
    const uint32_t want = cuzk__tree_tag(t);
    cuzk__bin_enter(b, what, -1);
    const size_t off = b->c.off;
    out->path.levels = 0;
    CUZK_TRY(cuzk__bin_u32(b, &tag, "a Merkle proof"));
    if (tag != want)
        return cuzk__bin_fail(b, off, "expected a Merkle proof of kind %s, actual %u", kinds[want],
                              tag);
    if (tag == 0) {
        CUZK_TRY(cuzk__bin_hashes(b, &out->root, 1, "a root"));
        CUZK_TRY(cuzk__bin_hashes(b, &out->leaf, 1, "a leaf"));
    }
    CUZK_TRY(read_path(b, &out->path, t->base_arity, t->base));
    if (tag >= 1) CUZK_TRY(read_path(b, &out->path, t->sub, 1));
    if (tag >= 2) CUZK_TRY(read_path(b, &out->path, t->top, 1));
    if (tag != 0) {
        CUZK_TRY(cuzk__bin_hashes(b, &out->root, 1, "a root"));
        CUZK_TRY(cuzk__bin_hashes(b, &out->leaf, 1, "a leaf"));
    }
    cuzk__bin_leave(b);
    return CUZK_OK;
}

cuzk_status cuzk__bin_end(cuzk__bin *b) {
    if (cuzk_cursor_left(&b->c) == 0) return CUZK_OK;
    return cuzk__bin_fail(b, b->c.off, "expected the end, actual %zu bytes more",
                          cuzk_cursor_left(&b->c));
}

size_t cuzk__bin_path_bytes(uint32_t arity, uint32_t levels) {
    return 8 + (size_t)levels * (8 + 32 * (size_t)(arity - 1) + 8);
}

size_t cuzk__bin_proof_bytes(const cuzk_tree_shape *t) {
    size_t n = 4 + 64 + cuzk__bin_path_bytes(t->base_arity, t->base);
    if (t->sub) n += cuzk__bin_path_bytes(t->sub, 1);
    if (t->top) n += cuzk__bin_path_bytes(t->top, 1);
    return n;
}

uint64_t cuzk_path_index(const cuzk_path_values *p, const cuzk_tree_shape *t) {
    uint64_t index = 0;
    for (uint32_t l = p->levels; l-- > 0;)
        index = index * cuzk_tree_arity(t, l) + p->index[l];
    return index;
}
