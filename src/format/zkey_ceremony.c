#include "format/zkey_ceremony.h"

#include "format/zkey_internal.h"

#include <inttypes.h>
#include <string.h>

enum { HASH = 64, PARAM_NAME = 1, PARAM_ITERATIONS = 2, PARAM_BEACON = 3 };

cuzk_status cuzk_zkey_ceremony_begin(cuzk_zkey_ceremony *c, const cuzk_zkey *zk, cuzk_err *err) {
    memset(c, 0, sizeof *c);
    cuzk_binfile f;
    CUZK_TRY(cuzk_binfile_parse(&f, &cuzk_binfile_zkey, zk->data, zk->len, zk->name, err));
    const cuzk_binfile_section *s = cuzk_binfile_find(&f, CUZK__ZKEY_CONTRIBUTIONS);
    if (!s) return CUZK_OK;
    if (s->len < HASH + 4)
        return cuzk_binfile_bad(&f, s, 0, err,
                                "expected at least %d bytes with the circuit's hash and the number "
                                "of contributions, actual %" PRIu64,
                                HASH + 4, s->len);
    c->present = true;
    c->p = f.data + s->off;
    c->len = (size_t)s->len;
    c->cs_hash = c->p;
    c->n = cuzk_ld_u32le(c->p + HASH);
    c->off = HASH + 4;
    return CUZK_OK;
}

static cuzk_status cut(const cuzk_zkey_ceremony *c, const cuzk_zkey *zk, size_t expected,
                       cuzk_err *err) {
    return cuzk__zkey_bad(zk, CUZK__ZKEY_CONTRIBUTIONS, c->p + c->off, err,
                          "contribution %" PRIu32 " of %" PRIu32
                          ": expected %zu bytes, actual %zu up to the end of the section",
                          c->next, c->n, expected, c->len - c->off);
}

/* Parameters are one byte of kind, then a byte of length and a text, or a number. */
static cuzk_status read_params(const cuzk_zkey *zk, const uint8_t *p, size_t n,
                               cuzk_zkey_contribution *out, cuzk_err *err) {
    cuzk_cursor c = cuzk_cursor_init(p, n);
    const uint8_t *kind, *len, *text;
    while (cuzk_cursor_left(&c)) {
        const uint8_t *at = p + c.off;
        bool ok = cuzk_rd_bytes(&c, 1, &kind) && cuzk_rd_bytes(&c, 1, &len);
        if (ok && *kind == PARAM_ITERATIONS) {
            out->has_iterations = true;
            out->iterations_log2 = *len;
            continue;
        }
        ok = ok && (*kind == PARAM_NAME || *kind == PARAM_BEACON) && cuzk_rd_bytes(&c, *len, &text);
        if (!ok)
            return cuzk__zkey_bad(zk, CUZK__ZKEY_CONTRIBUTIONS, at, err,
                                  "expected a parameter (1 name, 2 iterations, 3 beacon) within "
                                  "%zu bytes, actual kind %u",
                                  n, (unsigned)*at);
        if (*kind == PARAM_NAME) {
            out->contributor = (const char *)text;
            out->contributor_len = *len;
        } else {
            out->beacon = text;
            out->beacon_len = *len;
        }
    }
    return CUZK_OK;
}

cuzk_status cuzk_zkey_ceremony_next(cuzk_zkey_ceremony *c, const cuzk_zkey *zk,
                                    cuzk_zkey_contribution *out, cuzk_err *err) {
    size_t g1 = zk->curve->g1.point_size, g2 = zk->curve->g2.point_size;
    size_t fixed = 3 * g1 + g2 + HASH + 8;
    memset(out, 0, sizeof *out);
    if (c->next >= c->n)
        return cuzk_err_set(err, CUZK_STATUS_BUG, "%s: no more contributions", zk->name);
    if (c->len - c->off < fixed) return cut(c, zk, fixed, err);
    const uint8_t *p = c->p + c->off;
    out->delta_after = p;
    out->transcript = p + 3 * g1 + g2;
    out->type = cuzk_ld_u32le(p + fixed - 8);
    size_t params = cuzk_ld_u32le(p + fixed - 4);
    c->off += fixed;
    if (c->len - c->off < params) return cut(c, zk, params, err);
    c->off += params;
    c->next++;
    return read_params(zk, p + fixed, params, out, err);
}
