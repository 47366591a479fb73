#include "format/params.h"

#include "base/bytes.h"
#include "base/mem.h"
#include "curve/zcash.h"
#include "format/binfile.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { G1 = CUZK_ZCASH_G1, G2 = CUZK_ZCASH_G2 };

uint64_t cuzk_params_bytes(const cuzk_params_counts *n) {
    return cuzk_params_vk_bytes(n->ic) + 20 + (uint64_t)G1 * ((uint64_t)n->h + n->l + n->a + n->b) +
           (uint64_t)G2 * n->b;
}

void cuzk_params_vk_free(cuzk_params_vk *vk) {
    if (!vk) return;
    cuzk_vk_free(&vk->vk);
    memset(vk, 0, sizeof *vk);
}

/* ---- reading ---- */

typedef struct {
    const char *name, *circuit;
    const uint8_t *data;
    uint64_t len, off;
    cuzk_err *err;
} reader;

static cuzk_status bad(const reader *r, const char *section, uint64_t off, const char *fmt, ...)
    CUZK_PRINTF(4, 5);
static cuzk_status bad(const reader *r, const char *section, uint64_t off, const char *fmt, ...) {
    char text[300];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    return cuzk_err_set(r->err, CUZK_STATUS_BAD_INPUT, "%s: section %s at offset %" PRIu64 ": %s",
                        r->name, section, off, text);
}

static cuzk_status take(reader *r, const char *section, uint64_t n, const char *what,
                        const uint8_t **out) {
    if (n > r->len - r->off)
        return bad(r, section, r->off,
                   "expected %" PRIu64 " bytes (%s), actual %" PRIu64 ": the file is cut short", n,
                   what, r->len - r->off);
    *out = r->data + r->off;
    r->off += n;
    return CUZK_OK;
}

/* A count and the points behind it. want 0: any count. */
static cuzk_status take_points(reader *r, const char *section, size_t size, uint32_t want,
                               uint32_t *n, const uint8_t **out) {
    const uint64_t at = r->off;
    const uint8_t *p = NULL;
    char what[48];
    CUZK_TRY(take(r, section, 4, "the number of points", &p));
    *n = cuzk_ld_u32be(p);
    if (want && *n != want)
        return bad(r, section, at, "expected %" PRIu32 " points, as %s has, actual %" PRIu32, want,
                   r->circuit ? r->circuit : "the circuit", *n);
    snprintf(what, sizeof what, "%" PRIu32 " points of %zu", *n, size);
    return take(r, section, *n * (uint64_t)size, what, out);
}

/* Where the parts of a verifying key are. Sizes come before points: a file that is cut short says
 * so, however much work its points are. */
enum { ALPHA_G1, BETA_G1, BETA_G2, GAMMA_G2, DELTA_G1, DELTA_G2, VK_POINTS };

static const struct {
    const char *name;
    cuzk_group g;
} vk_points[VK_POINTS] = {
    [ALPHA_G1] = {"alpha_g1", CUZK_G1}, [BETA_G1] = {"beta_g1", CUZK_G1},
    [BETA_G2] = {"beta_g2", CUZK_G2},   [GAMMA_G2] = {"gamma_g2", CUZK_G2},
    [DELTA_G1] = {"delta_g1", CUZK_G1}, [DELTA_G2] = {"delta_g2", CUZK_G2},
};

typedef struct {
    const uint8_t *point[VK_POINTS];
    const uint8_t *ic;
    uint32_t n_ic;
} vk_parts;

static cuzk_status locate_vk(reader *r, vk_parts *v, uint32_t want_ic) {
    for (int i = 0; i < VK_POINTS; i++)
        CUZK_TRY(
            take(r, vk_points[i].name, cuzk_zcash_size(vk_points[i].g), "a point", &v->point[i]));
    const uint64_t at = r->off;
    CUZK_TRY(take_points(r, "ic", G1, want_ic, &v->n_ic, &v->ic));
    if (v->n_ic == 0) return bad(r, "ic", at, "expected at least one point, actual none");
    return CUZK_OK;
}

static uint64_t offset_of(const reader *r, const uint8_t *p) {
    return (uint64_t)(p - r->data);
}

static cuzk_status vk_point(const reader *r, int which, const uint8_t *p, cuzk_point *out) {
    const cuzk_group g = vk_points[which].g;
    const cuzk_group_ops *ops = cuzk_curve_group(cuzk_curve_get(CUZK_BLS12_381), g);
    cuzk_zcash_result why;
    if (cuzk_zcash_read(g, out->b, p, 1, &why) != 1)
        return bad(r, vk_points[which].name, offset_of(r, p),
                   "expected %s, actual first byte 0x%02x", cuzk_zcash_expected(why), p[0]);
    if (!ops->in_subgroup(out->b))
        return bad(r, vk_points[which].name, offset_of(r, p),
                   "expected a point of order r, actual one %s",
                   ops->on_curve(out->b) ? "of another order" : "off the curve");
    return CUZK_OK;
}

static cuzk_status vk_ic(const reader *r, const vk_parts *v, cuzk_vk *vk, cuzk_pool *pool) {
    const uint32_t n = v->n_ic;
    void *ic;
    cuzk_zcash_result why;
    if (cuzk_alloc(&ic, n, G1) != CUZK_OK)
        return cuzk_err_set(r->err, CUZK_STATUS_NO_MEMORY,
                            "%s: not enough memory for %" PRIu32 " points of ic", r->name, n);
    vk->ic = ic;
    vk->n_public = n - 1;
    size_t i = cuzk_zcash_read(CUZK_G1, ic, v->ic, n, &why);
    if (i < n)
        return bad(r, "ic", offset_of(r, v->ic + G1 * i),
                   "point %zu: expected %s, actual first byte 0x%02x", i, cuzk_zcash_expected(why),
                   v->ic[G1 * i]);
    i = cuzk_points_first_bad(vk->curve, CUZK_G1, ic, n, true, pool);
    if (i < n)
        return bad(r, "ic", offset_of(r, v->ic + G1 * i),
                   "point %zu: expected a point of order r, actual one off the curve or of "
                   "another order",
                   i);
    return CUZK_OK;
}

/* g1 and g2 are the same multiple of the generators. */
static bool same_multiple(const cuzk_curve *c, const void *g1, const void *g2) {
    cuzk_point minus;
    c->g1.neg(&minus, g1);
    const void *p[2] = {&minus, c->g1.generator}, *q[2] = {c->g2.generator, g2};
    return c->pairing_product_is_one(p, q, 2);
}

/* Fills out, which the caller frees whatever comes out. */
static cuzk_status check_vk(const reader *r, const vk_parts *v, cuzk_params_vk *out,
                            cuzk_pool *pool) {
    cuzk_vk *vk = &out->vk;
    cuzk_point *to[VK_POINTS] = {&vk->alpha1, &out->beta1,  &vk->beta2,
                                 &vk->gamma2, &out->delta1, &vk->delta2};
    vk->curve = cuzk_curve_get(CUZK_BLS12_381);
    for (int i = 0; i < VK_POINTS; i++)
        CUZK_TRY(vk_point(r, i, v->point[i], to[i]));
    for (int i = BETA_G1; i <= DELTA_G1; i += DELTA_G1 - BETA_G1) {
        const int other = i == BETA_G1 ? BETA_G2 : DELTA_G2;
        if (!same_multiple(vk->curve, to[i], to[other]))
            return bad(r, vk_points[other].name, offset_of(r, v->point[other]),
                       "expected the multiple of the generator that %s is, actual another",
                       vk_points[i].name);
    }
    return vk_ic(r, v, vk, pool);
}

static cuzk_status at_end(const reader *r) {
    if (r->off == r->len) return CUZK_OK;
    return bad(r, "end", r->off, "expected the file to end, actual %" PRIu64 " bytes more",
               r->len - r->off);
}

cuzk_status cuzk_params_vk_from_bytes(cuzk_params_vk *out, const void *data, size_t len,
                                      const char *name, uint32_t want_ic, const char *circuit,
                                      cuzk_err *err) {
    reader r = {cuzk_name_tail(name), circuit, data, len, 0, err};
    vk_parts parts;
    memset(out, 0, sizeof *out);
    cuzk_status st = locate_vk(&r, &parts, want_ic);
    if (st == CUZK_OK) st = at_end(&r);
    if (st == CUZK_OK) st = check_vk(&r, &parts, out, NULL);
    if (st != CUZK_OK) cuzk_params_vk_free(out);
    return st;
}

static cuzk_status read_all(cuzk_params *p, const cuzk_params_counts *want, const char *circuit,
                            cuzk_pool *pool, cuzk_err *err) {
    static const cuzk_params_counts any;
    reader r = {p->name, circuit, p->data, p->len, 0, err};
    vk_parts parts;
    uint32_t b2;
    if (!want) want = &any;
    CUZK_TRY(locate_vk(&r, &parts, want->ic));
    p->n.ic = parts.n_ic;
    const uint64_t h = r.off;
    CUZK_TRY(take_points(&r, "h", G1, want->h, &p->n.h, &p->h));
    if (p->n.h == UINT32_MAX || (p->n.h & (p->n.h + 1)) != 0)
        return bad(&r, "h", h, "expected one point less than a power of two, actual %" PRIu32,
                   p->n.h);
    CUZK_TRY(take_points(&r, "l", G1, want->l, &p->n.l, &p->l));
    CUZK_TRY(take_points(&r, "a", G1, want->a, &p->n.a, &p->a));
    CUZK_TRY(take_points(&r, "b_g1", G1, want->b, &p->n.b, &p->b1));
    const uint64_t at = r.off;
    CUZK_TRY(take_points(&r, "b_g2", G2, want->b, &b2, &p->b2));
    if (b2 != p->n.b)
        return bad(&r, "b_g2", at, "expected %" PRIu32 " points, as in b_g1, actual %" PRIu32,
                   p->n.b, b2);
    CUZK_TRY(at_end(&r));
    return check_vk(&r, &parts, &p->vk, pool);
}

static cuzk_status new_params(cuzk_params **out, const char *name, cuzk_err *err) {
    void *mem;
    *out = NULL;
    if (cuzk_alloc(&mem, 1, sizeof **out) != CUZK_OK)
        return cuzk_err_set(err, CUZK_STATUS_NO_MEMORY, "%s: out of memory", name);
    *out = mem;
    if (cuzk_strdup(&(*out)->name, cuzk_name_tail(name)) == CUZK_OK) return CUZK_OK;
    cuzk_params_free(*out);
    *out = NULL;
    return cuzk_err_set(err, CUZK_STATUS_NO_MEMORY, "%s: out of memory", name);
}

static cuzk_status give(cuzk_status st, cuzk_params *p, cuzk_params **out) {
    *out = st == CUZK_OK ? p : NULL;
    if (st != CUZK_OK) cuzk_params_free(p);
    return st;
}

cuzk_status cuzk_params_open(cuzk_params **out, const char *path, const cuzk_params_counts *want,
                             const char *circuit, cuzk_pool *pool, cuzk_err *err) {
    cuzk_params *p;
    CUZK_TRY(new_params(&p, path, err));
    *out = NULL;
    cuzk_status st = cuzk_map_file(&p->map, path, err);
    p->data = p->map.data;
    p->len = p->map.len;
    if (st == CUZK_OK) st = read_all(p, want, circuit, pool, err);
    return give(st, p, out);
}

cuzk_status cuzk_params_from_memory(cuzk_params **out, const void *data, size_t len,
                                    const char *name, const cuzk_params_counts *want,
                                    const char *circuit, cuzk_pool *pool, cuzk_err *err) {
    cuzk_params *p;
    CUZK_TRY(new_params(&p, name, err));
    p->data = data;
    p->len = len;
    return give(read_all(p, want, circuit, pool, err), p, out);
}

void cuzk_params_free(cuzk_params *p) {
    if (!p) return;
    cuzk_map_close(&p->map);
    cuzk_params_vk_free(&p->vk);
    cuzk_free(p->name);
    cuzk_free(p);
}

cuzk_status cuzk_params_bad_point(const cuzk_params *p, const char *section, const uint8_t *points,
                                  size_t point_size, size_t index, const char *expected,
                                  cuzk_err *err) {
    const uint8_t *at = points + point_size * index;
    const reader r = {.name = p->name, .err = err};
    return bad(&r, section, (uint64_t)(at - p->data),
               "point %zu: expected %s, actual first byte 0x%02x", index, expected, at[0]);
}

/* ---- writing ---- */

static void put_point(cuzk_buf *out, cuzk_group g, const void *point) {
    uint8_t bytes[CUZK_POINT_MAX];
    cuzk_zcash_write(g, bytes, point, 1);
    cuzk_buf_append(out, bytes, cuzk_zcash_size(g));
}

void cuzk_params_vk_to_bytes(const cuzk_params_vk *v, cuzk_buf *out) {
    uint8_t n[4];
    put_point(out, CUZK_G1, &v->vk.alpha1);
    put_point(out, CUZK_G1, &v->beta1);
    put_point(out, CUZK_G2, &v->vk.beta2);
    put_point(out, CUZK_G2, &v->vk.gamma2);
    put_point(out, CUZK_G1, &v->delta1);
    put_point(out, CUZK_G2, &v->vk.delta2);
    cuzk_st_u32be(n, v->vk.n_public + 1);
    cuzk_buf_append(out, n, sizeof n);
    for (size_t i = 0; i <= v->vk.n_public; i++)
        put_point(out, CUZK_G1, v->vk.ic + i * G1);
}

void cuzk_params_meta(uint64_t sector_size, cuzk_buf *out) {
    cuzk_buf_printf(out, "{\"sector_size\":%" PRIu64 "}", sector_size);
}
