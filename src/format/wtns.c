#include "format/wtns.h"

#include "base/mem.h"
#include "format/binfile.h"

#include <inttypes.h>
#include <stdio.h>

enum { HEADER = 1, VALUES = 2, SCALAR = 32 };

/* A bad value is told by its place only: values may be secret, messages end in logs. */
static cuzk_status check_values(const cuzk_binfile *f, const cuzk_binfile_section *s,
                                const cuzk_wtns *w, cuzk_err *err) {
    static const uint8_t one[SCALAR] = {1};
    const uint8_t *p = w->values;
    for (uint32_t i = 0; i < w->n; i++, p += SCALAR) {
        if (!cuzk_scalar_is_canonical(w->curve->fr, p))
            return cuzk_binfile_bad(
                f, s, (uint64_t)i * SCALAR, err,
                "wire %" PRIu32 ": expected a value below r, actual one that is r or more", i);
    }
    if (memcmp(w->values, one, SCALAR) != 0)
        return cuzk_binfile_bad(f, s, 0, err, "wire 0: expected the constant 1, actual %s%" PRIu64,
                                cuzk_ld_u64le(w->values + 8) | cuzk_ld_u64le(w->values + 16) |
                                        cuzk_ld_u64le(w->values + 24)
                                    ? "more than 2^64, ending in "
                                    : "",
                                cuzk_ld_u64le(w->values));
    return CUZK_OK;
}

static cuzk_status read_all(cuzk_wtns *w, const void *data, uint64_t len, cuzk_err *err) {
    cuzk_binfile f;
    const cuzk_binfile_section *head, *vals;
    CUZK_TRY(cuzk_binfile_parse(&f, &cuzk_binfile_wtns, data, len, w->name, err));
    CUZK_TRY(cuzk_binfile_need(&f, HEADER, &head, err));
    cuzk_cursor c = cuzk_binfile_cursor(&f, head);
    CUZK_TRY(cuzk_binfile_scalar_prime(&f, head, &c, &w->curve, err));
    CUZK_TRY(cuzk_binfile_expect_len(&f, head, 4 + SCALAR + 4, "prime and number of wires", err));
    w->n = cuzk_ld_u32le(f.data + head->off + c.off);
    if (w->n == 0)
        return cuzk_binfile_bad(&f, head, c.off, err,
                                "expected at least the constant wire, actual 0 wires");
    CUZK_TRY(cuzk_binfile_need(&f, VALUES, &vals, err));
    char why[64];
    snprintf(why, sizeof why, "%" PRIu32 " wires of %d bytes", w->n, SCALAR);
    CUZK_TRY(cuzk_binfile_expect_len(&f, vals, (uint64_t)w->n * SCALAR, why, err));
    w->values = f.data + vals->off;
    return check_values(&f, vals, w, err);
}

static cuzk_status new_wtns(cuzk_wtns **out, const char *name, cuzk_err *err) {
    void *mem;
    *out = NULL;
    if (cuzk_alloc(&mem, 1, sizeof **out) != CUZK_OK)
        return cuzk_err_set(err, CUZK_STATUS_NO_MEMORY, "%s: out of memory", name);
    cuzk_wtns *w = mem;
    if (cuzk_strdup(&w->name, cuzk_name_tail(name)) != CUZK_OK) {
        cuzk_free(w);
        return cuzk_err_set(err, CUZK_STATUS_NO_MEMORY, "%s: out of memory", name);
    }
    *out = w;
    return CUZK_OK;
}

static cuzk_status finish(cuzk_status st, cuzk_wtns *w, cuzk_wtns **out) {
    if (st == CUZK_OK)
        *out = w;
    else
        cuzk_wtns_free(w);
    return st;
}

cuzk_status cuzk_wtns_open(cuzk_wtns **out, const char *path, cuzk_err *err) {
    cuzk_wtns *w;
    *out = NULL;
    CUZK_TRY(new_wtns(&w, path, err));
    cuzk_status st = cuzk_map_file(&w->map, path, err);
    if (st == CUZK_OK) st = read_all(w, w->map.data, w->map.len, err);
    return finish(st, w, out);
}

cuzk_status cuzk_wtns_from_memory(cuzk_wtns **out, const void *data, size_t len, const char *name,
                                  cuzk_err *err) {
    cuzk_wtns *w;
    *out = NULL;
    CUZK_TRY(new_wtns(&w, name, err));
    return finish(read_all(w, data, len, err), w, out);
}

void cuzk_wtns_free(cuzk_wtns *w) {
    if (!w) return;
    cuzk_map_close(&w->map);
    cuzk_free(w->name);
    cuzk_free(w);
}
