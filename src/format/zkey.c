/* DESIGN. Opening reads the section headers, section 1, 2 and 4 and the verifying key's points:
 * the point sections, three quarters of a key and more, are only measured. That is what a proof
 * needs at once; zkey_check.c walks the rest when asked. */
#include "format/zkey_internal.h"

#include "base/mem.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

cuzk_status cuzk__zkey_bad(const cuzk_zkey *zk, uint32_t section, const void *at, cuzk_err *err,
                           const char *fmt, ...) {
    char text[400];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    return cuzk_err_set(err, CUZK_STATUS_BAD_INPUT,
                        "%s: section %" PRIu32 " (%s) at offset %zu: %s", zk->name, section,
                        cuzk_binfile_section_name(&cuzk_binfile_zkey, section),
                        (size_t)((const uint8_t *)at - zk->data), text);
}

static cuzk_status read_protocol(const cuzk_binfile *f, cuzk_err *err) {
    const cuzk_binfile_section *s;
    CUZK_TRY(cuzk_binfile_need(f, CUZK__ZKEY_PROTOCOL, &s, err));
    CUZK_TRY(cuzk_binfile_expect_len(f, s, 4, "one number", err));
    uint32_t protocol = cuzk_ld_u32le(f->data + s->off);
    if (protocol == 1) return CUZK_OK;
    return cuzk_binfile_bad(f, s, 0, err, "expected protocol 1 (groth16), actual %" PRIu32 "%s",
                            protocol,
                            protocol == 2    ? " (plonk)"
                            : protocol == 10 ? " (fflonk)"
                                             : "");
}

/* nVars, nPublic, domainSize: the values that all sizes follow from. */
static cuzk_status read_counts(const cuzk_binfile *f, const cuzk_binfile_section *s, cuzk_cursor *c,
                               cuzk_zkey *zk, cuzk_err *err) {
    uint64_t at = c->off;
    uint32_t domain;
    if (!cuzk_rd_u32le(c, &zk->n_vars) || !cuzk_rd_u32le(c, &zk->n_public) ||
        !cuzk_rd_u32le(c, &domain))
        return cuzk_binfile_bad(f, s, at, err,
                                "expected 12 bytes with the numbers of wires, public signals and "
                                "the domain size, actual %" PRIu64,
                                s->len - at);
    if (zk->n_public >= zk->n_vars)
        return cuzk_binfile_bad(f, s, at + 4, err,
                                "expected fewer public signals than the %" PRIu32
                                " wires, actual %" PRIu32,
                                zk->n_vars, zk->n_public);
    unsigned most = zk->curve->fr->adicity;
    if (domain < 2 || (domain & (domain - 1)) != 0 ||
        domain > (uint32_t)1 << (most < 31 ? most : 31))
        return cuzk_binfile_bad(f, s, at + 8, err,
                                "expected a domain size that is a power of two from 2 to 2^%u, "
                                "actual %" PRIu32,
                                most < 31 ? most : 31, domain);
    zk->log2_domain = (unsigned)__builtin_ctz(domain);
    /* The last nPublic + 1 rows of the domain's used part bind the public signals. */
    if (zk->n_public >= domain)
        return cuzk_binfile_bad(f, s, at + 4, err,
                                "expected fewer public signals than the domain size %" PRIu32
                                ", actual %" PRIu32,
                                domain, zk->n_public);
    return CUZK_OK;
}

static cuzk_status read_header(const cuzk_binfile *f, cuzk_zkey *zk, cuzk_err *err) {
    const cuzk_binfile_section *s;
    CUZK_TRY(cuzk_binfile_need(f, CUZK__ZKEY_HEADER, &s, err));
    cuzk_cursor c = cuzk_binfile_cursor(f, s);
    const cuzk_curve *of_r;
    CUZK_TRY(cuzk_binfile_base_prime(f, s, &c, &zk->curve, err));
    uint64_t at = c.off;
    CUZK_TRY(cuzk_binfile_scalar_prime(f, s, &c, &of_r, err));
    if (of_r != zk->curve)
        return cuzk_binfile_bad(f, s, at, err,
                                "expected the prime r of %s, as q is that curve's, actual r of %s",
                                zk->curve->circom, of_r->circom);
    CUZK_TRY(read_counts(f, s, &c, zk, err));
    size_t g1 = zk->curve->g1.point_size, g2 = zk->curve->g2.point_size;
    CUZK_TRY(cuzk_binfile_expect_len(f, s, c.off + 3 * g1 + 3 * g2, zk->curve->circom, err));
    /* The order of the file, not that of the comment in snarkjs. */
    struct {
        const uint8_t **to;
        size_t size;
    } field[] = {{&zk->alpha1, g1}, {&zk->beta1, g1},  {&zk->beta2, g2},
                 {&zk->gamma2, g2}, {&zk->delta1, g1}, {&zk->delta2, g2}};
    for (size_t i = 0; i < sizeof field / sizeof field[0]; i++) {
        if (!cuzk_rd_bytes(&c, field[i].size, field[i].to))
            return cuzk_err_set(err, CUZK_STATUS_BUG, "%s: header measured wrongly", f->name);
    }
    return CUZK_OK;
}

static cuzk_status locate_points(const cuzk_binfile *f, cuzk_zkey *zk, cuzk_err *err) {
    uint64_t g1 = zk->curve->g1.point_size, g2 = zk->curve->g2.point_size;
    uint64_t vars = zk->n_vars, publics = zk->n_public;
    const struct {
        uint32_t type;
        const uint8_t **to;
        uint64_t n, size;
        const char *what;
    } want[] = {
        {CUZK__ZKEY_IC, &zk->ic, publics + 1, g1, "public signals and the constant"},
        {CUZK__ZKEY_A, &zk->a, vars, g1, "wires"},
        {CUZK__ZKEY_B1, &zk->b1, vars, g1, "wires"},
        {CUZK__ZKEY_B2, &zk->b2, vars, g2, "wires"},
        {CUZK__ZKEY_C, &zk->c, vars - publics - 1, g1, "private wires"},
        {CUZK__ZKEY_H, &zk->h, (uint64_t)1 << zk->log2_domain, g1, "the domain size"},
    };
    for (size_t i = 0; i < sizeof want / sizeof want[0]; i++) {
        const cuzk_binfile_section *s;
        char why[96];
        CUZK_TRY(cuzk_binfile_need(f, want[i].type, &s, err));
        snprintf(why, sizeof why, "%" PRIu64 " points of %" PRIu64 " for the %s", want[i].n,
                 want[i].size, want[i].what);
        CUZK_TRY(cuzk_binfile_expect_len(f, s, want[i].n * want[i].size, why, err));
        *want[i].to = f->data + s->off;
    }
    return CUZK_OK;
}

static cuzk_status locate_coefs(const cuzk_binfile *f, cuzk_zkey *zk, cuzk_err *err) {
    const cuzk_binfile_section *s;
    CUZK_TRY(cuzk_binfile_need(f, CUZK__ZKEY_COEFS, &s, err));
    if (s->len < 4)
        return cuzk_binfile_bad(f, s, 0, err,
                                "expected 4 bytes with the number of coefficients, actual %" PRIu64,
                                s->len);
    zk->n_coefs = cuzk_ld_u32le(f->data + s->off);
    uint64_t expected = 4 + zk->n_coefs * CUZK_ZKEY_COEF_SIZE;
    if (s->len != expected)
        return cuzk_binfile_bad(f, s, 0, err,
                                "expected %" PRIu64 " bytes, as the section counts %" PRIu64
                                " coefficients of %d, actual %" PRIu64 " bytes: room for %" PRIu64,
                                expected, zk->n_coefs, CUZK_ZKEY_COEF_SIZE, s->len,
                                (s->len - 4) / CUZK_ZKEY_COEF_SIZE);
    zk->coefs = f->data + s->off + 4;
    return CUZK_OK;
}

static cuzk_status read_all(cuzk_zkey *zk, cuzk_zkey_check check, cuzk_pool *pool, cuzk_err *err) {
    cuzk_binfile f;
    CUZK_TRY(cuzk_binfile_parse(&f, &cuzk_binfile_zkey, zk->data, zk->len, zk->name, err));
    CUZK_TRY(read_protocol(&f, err));
    CUZK_TRY(read_header(&f, zk, err));
    CUZK_TRY(locate_points(&f, zk, err));
    CUZK_TRY(locate_coefs(&f, zk, err));
    if (check == CUZK_ZKEY_CHECK_SIZES) return CUZK_OK;
    CUZK_TRY(cuzk__zkey_check_coefs(zk, pool, err));
    CUZK_TRY(cuzk__zkey_check_vk(zk, pool, err));
    if (check == CUZK_ZKEY_CHECK_SHAPE) return CUZK_OK;
    return cuzk_zkey_check_points(zk, check == CUZK_ZKEY_CHECK_FULL, pool, err);
}

static cuzk_status new_zkey(cuzk_zkey **out, const char *name, cuzk_err *err) {
    void *mem;
    *out = NULL;
    if (cuzk_alloc(&mem, 1, sizeof **out) != CUZK_OK)
        return cuzk_err_set(err, CUZK_STATUS_NO_MEMORY, "%s: out of memory", name);
    cuzk_zkey *zk = mem;
    if (cuzk_strdup(&zk->name, cuzk_name_tail(name)) != CUZK_OK) {
        cuzk_free(zk);
        return cuzk_err_set(err, CUZK_STATUS_NO_MEMORY, "%s: out of memory", name);
    }
    *out = zk;
    return CUZK_OK;
}

/* Gives the key out, or frees it. */
static cuzk_status finish(cuzk_status st, cuzk_zkey *zk, cuzk_zkey **out) {
    if (st == CUZK_OK)
        *out = zk;
    else
        cuzk_zkey_free(zk);
    return st;
}

cuzk_status cuzk_zkey_open(cuzk_zkey **out, const char *path, cuzk_zkey_check check,
                           cuzk_pool *pool, cuzk_err *err) {
    cuzk_zkey *zk;
    *out = NULL;
    CUZK_TRY(new_zkey(&zk, path, err));
    cuzk_status st = cuzk_map_file(&zk->map, path, err);
    zk->data = zk->map.data;
    zk->len = zk->map.len;
    if (st == CUZK_OK) st = read_all(zk, check, pool, err);
    return finish(st, zk, out);
}

cuzk_status cuzk_zkey_from_memory(cuzk_zkey **out, const void *data, size_t len, const char *name,
                                  cuzk_zkey_check check, cuzk_pool *pool, cuzk_err *err) {
    cuzk_zkey *zk;
    *out = NULL;
    CUZK_TRY(new_zkey(&zk, name, err));
    zk->data = data;
    zk->len = len;
    return finish(read_all(zk, check, pool, err), zk, out);
}

void cuzk_zkey_free(cuzk_zkey *zk) {
    if (!zk) return;
    cuzk_map_close(&zk->map);
    cuzk_free(zk->name);
    cuzk_free(zk);
}

cuzk_status cuzk_zkey_vk(const cuzk_zkey *zk, cuzk_vk *out, cuzk_err *err) {
    size_t g1 = zk->curve->g1.point_size, g2 = zk->curve->g2.point_size;
    memset(out, 0, sizeof *out);
    void *ic;
    if (cuzk_alloc(&ic, (size_t)zk->n_public + 1, g1) != CUZK_OK)
        return cuzk_err_set(err, CUZK_STATUS_NO_MEMORY, "%s: out of memory", zk->name);
    memcpy(ic, zk->ic, ((size_t)zk->n_public + 1) * g1);
    out->curve = zk->curve;
    out->n_public = zk->n_public;
    out->ic = ic;
    memcpy(out->alpha1.b, zk->alpha1, g1);
    memcpy(out->beta2.b, zk->beta2, g2);
    memcpy(out->gamma2.b, zk->gamma2, g2);
    memcpy(out->delta2.b, zk->delta2, g2);
    return CUZK_OK;
}
