#include "jobs/points.h"

#include "base/bytes.h"

#include <string.h>

enum { HEAD = 4 };

static size_t put(uint8_t *out, size_t at, const cuzk_group_ops *g, const cuzk_point *p) {
    memcpy(out + at, p->b, g->point_size);
    return at + g->point_size;
}

static void get(cuzk_point *out, const uint8_t **p, const cuzk_group_ops *g) {
    memset(out, 0, sizeof *out);
    memcpy(out->b, *p, g->point_size);
    *p += g->point_size;
}

static cuzk_status head(const cuzk_curve *c, const uint8_t *p, size_t len, size_t want,
                        const char *what, cuzk_err *err) {
    if (len == HEAD + want && cuzk_ld_u32le(p) == (uint32_t)c->id) return CUZK_OK;
    return cuzk_err_set(err, CUZK_STATUS_FALSE, "%s: expected %zu bytes of %s, actual %zu others",
                        what, HEAD + want, c->name, len);
}

size_t cuzk_sums_to_bytes(uint8_t out[CUZK_SUMS_BYTES_MAX], const cuzk_curve *curve,
                          const cuzk_groth16_sums *sums) {
    size_t at = HEAD;
    cuzk_st_u32le(out, (uint32_t)curve->id);
    at = put(out, at, &curve->g1, &sums->a);
    at = put(out, at, &curve->g1, &sums->b1);
    at = put(out, at, &curve->g1, &sums->l);
    at = put(out, at, &curve->g1, &sums->h);
    return put(out, at, &curve->g2, &sums->b2);
}

cuzk_status cuzk_sums_from_bytes(cuzk_groth16_sums *out, const cuzk_curve *curve, const void *bytes,
                                 size_t len, cuzk_err *err) {
    static const char *const names[] = {"A", "B in G1", "L", "H", "B in G2"};
    cuzk_point *to[] = {&out->a, &out->b1, &out->l, &out->h, &out->b2};
    const uint8_t *p = bytes;
    CUZK_TRY(head(curve, p, len, 4 * curve->g1.point_size + curve->g2.point_size,
                  "the device's result", err));
    p += HEAD;
    for (int i = 0; i < 5; i++) {
        const cuzk_group_ops *g = i < 4 ? &curve->g1 : &curve->g2;
        get(to[i], &p, g);
        if (!g->on_curve(to[i]))
            return cuzk_err_set(err, CUZK_STATUS_FALSE,
                                "the device's result is wrong: the sum of %s is no point of %s",
                                names[i], curve->name);
    }
    return CUZK_OK;
}

size_t cuzk_raw_proof_to_bytes(uint8_t out[CUZK_RAW_PROOF_BYTES_MAX], const cuzk_proof *proof) {
    const cuzk_curve *c = proof->curve;
    cuzk_st_u32le(out, (uint32_t)c->id);
    size_t at = put(out, HEAD, &c->g1, &proof->a);
    at = put(out, at, &c->g2, &proof->b);
    return put(out, at, &c->g1, &proof->c);
}

cuzk_status cuzk_raw_proof_from_bytes(cuzk_proof *out, const cuzk_curve *curve, const void *bytes,
                                      size_t len, cuzk_err *err) {
    const uint8_t *p = bytes;
    CUZK_TRY(head(curve, p, len, 2 * curve->g1.point_size + curve->g2.point_size,
                  "a partition's proof", err));
    p += HEAD;
    out->curve = curve;
    get(&out->a, &p, &curve->g1);
    get(&out->b, &p, &curve->g2);
    get(&out->c, &p, &curve->g1);
    if (curve->g1.in_subgroup(&out->a) && curve->g2.in_subgroup(&out->b) &&
        curve->g1.in_subgroup(&out->c))
        return CUZK_OK;
    return cuzk_err_set(err, CUZK_STATUS_FALSE, "a partition's proof has a point of no group of %s",
                        curve->name);
}
