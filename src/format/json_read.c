/* DESIGN. A document is malformed (BAD_INPUT) or well formed and false (FALSE: a coordinate not
 * below q, a point off its curve, a signal not below r). To keep the two apart whatever comes
 * first, a reader goes through the whole document, notes the first false thing and returns it only
 * when nothing malformed followed. Where a value is refused the message names its path, as
 * jansson does not keep offsets; where the text is no JSON, its offset. */
#include "format/decimal.h"
#include "format/json_docs.h"

#include "base/mem.h"
#include "format/binfile.h"

#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <string.h>

typedef struct reader {
    const char *name;
    cuzk_err *err;
    const cuzk_curve *curve;
    cuzk_err wrong; /* the first false thing; status CUZK_OK: none */
} reader;

enum { PATH = 64, SHOWN = 48 };

static cuzk_status bad(reader *r, const char *path, const char *fmt, ...) CUZK_PRINTF(3, 4);
static cuzk_status bad(reader *r, const char *path, const char *fmt, ...) {
    char text[320];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    return cuzk_err_set(r->err, CUZK_STATUS_BAD_INPUT, "%s: %s: %s", r->name, path, text);
}

static void wrong(reader *r, const char *path, const char *expected, const char *actual) {
    if (r->wrong.status == CUZK_OK)
        (void)cuzk_err_set(&r->wrong, CUZK_STATUS_FALSE, "%s: %s: expected %s, actual %s", r->name,
                           path, expected, actual);
}

/* The verdict once everything was read. */
static cuzk_status settle(reader *r, cuzk_status as) {
    if (r->wrong.status == CUZK_OK) return CUZK_OK;
    return cuzk_err_set(r->err, as, "%s", r->wrong.msg);
}

static const char *type_name(const json_t *v) {
    if (!v) return "nothing";
    switch (json_typeof(v)) {
    case JSON_OBJECT:
        return "an object";
    case JSON_ARRAY:
        return "an array";
    case JSON_STRING:
        return "a string";
    case JSON_INTEGER:
    case JSON_REAL:
        return "a number";
    case JSON_TRUE:
    case JSON_FALSE:
        return "true or false";
    case JSON_NULL:
        break;
    }
    return "null";
}

/* The beginning of a text from a document, fit for one line of a message. */
static const char *shown(char out[SHOWN + 8], const char *text, size_t len) {
    size_t n = len < SHOWN ? len : SHOWN;
    out[0] = '"';
    for (size_t i = 0; i < n; i++)
        out[1 + i] = (char)(text[i] >= ' ' && text[i] <= '~' ? text[i] : '?');
    snprintf(out + 1 + n, 7, len > SHOWN ? "\"…" : "\"");
    return out;
}

static cuzk_status load(reader *r, const char *text, size_t len, json_t **root) {
    json_error_t e;
    *root = json_loadb(text, len, JSON_REJECT_DUPLICATES, &e);
    if (*root) return CUZK_OK;
    if (json_error_code(&e) == json_error_out_of_memory)
        return cuzk_err_set(r->err, CUZK_STATUS_NO_MEMORY, "%s: out of memory", r->name);
    char what[200];
    size_t n = strlen(e.text);
    snprintf(what, sizeof what, "%s", e.text);
    for (size_t i = 0; i < n && i < sizeof what - 1; i++) {
        if (what[i] < ' ' || what[i] > '~') what[i] = '?';
    }
    return cuzk_err_set(r->err, CUZK_STATUS_BAD_INPUT,
                        "%s: offset %d (line %d, column %d): expected a JSON document, actual: %s",
                        r->name, e.position, e.line, e.column, what);
}

static cuzk_status want_array(reader *r, const json_t *v, size_t n, const char *path) {
    if (!json_is_array(v))
        return bad(r, path, "expected an array of %zu, actual %s", n, type_name(v));
    if (json_array_size(v) != n)
        return bad(r, path, "expected %zu elements, actual %zu", n, json_array_size(v));
    return CUZK_OK;
}

/* A decimal string into n limbs; *fits is false when it needs more. */
static cuzk_status want_number(reader *r, const json_t *v, const char *path, uint64_t *limbs,
                               unsigned n, bool *fits) {
    char show[SHOWN + 8];
    if (!json_is_string(v))
        return bad(r, path, "expected a string of decimal digits, actual %s", type_name(v));
    const char *text = json_string_value(v);
    size_t len = json_string_length(v);
    cuzk_decimal_result d = cuzk_decimal_to_limbs(limbs, n, text, len);
    if (d == CUZK_DECIMAL_MALFORMED)
        return bad(r, path, "expected decimal digits without leading zeros, actual %s",
                   shown(show, text, len));
    *fits = d == CUZK_DECIMAL_OK;
    return CUZK_OK;
}

/* n field elements of the array v to out, in Montgomery form; *fits as above, not below q. */
static cuzk_status want_coordinates(reader *r, const json_t *v, size_t n, const char *path,
                                    uint8_t *out, bool *fits) {
    const cuzk_curve *c = r->curve;
    for (size_t i = 0; i < n; i++) {
        uint64_t plain[CUZK_DECIMAL_LIMBS];
        char at[PATH];
        bool ok = false;
        snprintf(at, sizeof at, "%s[%zu]", path, i);
        CUZK_TRY(want_number(r, json_array_get(v, i), at, plain, c->fp_limbs, &ok));
        if (ok && c->fp_is_canonical(plain)) {
            c->fp_to_mont(out + i * c->fp_limbs * sizeof *plain, plain);
        } else {
            wrong(r, at, "a coordinate below the prime q", "one that is q or more");
            *fits = false;
        }
    }
    return CUZK_OK;
}

static bool is_text(const json_t *v, const char *text) {
    return json_is_string(v) && strcmp(json_string_value(v), text) == 0;
}
static bool is_pair(const json_t *v, const char *a, const char *b) {
    return json_array_size(v) == 2 && is_text(json_array_get(v, 0), a) &&
           is_text(json_array_get(v, 1), b);
}

/* Is v the last coordinate z = 1 or 0 of a point? */
static bool is_z(const json_t *v, cuzk_group g, const char *text) {
    return g == CUZK_G1 ? is_text(v, text) : is_pair(v, text, "0");
}

static void judge_point(reader *r, cuzk_group group, const char *path, const cuzk_point *p) {
    const cuzk_group_ops *g = cuzk_curve_group(r->curve, group);
    const char *where = group == CUZK_G1 ? "a point of G1" : "a point of G2";
    if (g->is_infinity(p->b) || !g->on_curve(p->b))
        wrong(r, path, where, "coordinates that are not on the curve");
    else if (!g->in_subgroup(p->b))
        wrong(r, path, where, "a point of the curve outside that group");
}

/* [x, y, z], z = 1 or, for infinity [0, 1, 0], 0. */
static cuzk_status want_point(reader *r, const json_t *v, cuzk_group group, const char *path,
                              void *out) {
    const cuzk_curve *c = r->curve;
    bool g2 = group == CUZK_G2;
    cuzk_point p;
    CUZK_TRY(want_array(r, v, 3, path));
    const json_t *z = json_array_get(v, 2);
    bool infinity = is_z(z, group, "0"), fits = true;
    if (!infinity && !is_z(z, group, "1"))
        return bad(r, path, "expected %s as its last element, actual something else",
                   g2 ? "[\"1\", \"0\"] or [\"0\", \"0\"]" : "\"1\" or \"0\"");
    memset(&p, 0, sizeof p);
    if (!g2) {
        CUZK_TRY(want_coordinates(r, v, 2, path, p.b, &fits));
    } else {
        for (size_t i = 0; i < 2; i++) {
            char at[PATH];
            snprintf(at, sizeof at, "%s[%zu]", path, i);
            CUZK_TRY(want_array(r, json_array_get(v, i), 2, at));
            CUZK_TRY(want_coordinates(r, json_array_get(v, i), 2, at, p.b + i * c->g1.point_size,
                                      &fits));
        }
    }
    if (infinity) {
        if (!is_z(json_array_get(v, 0), group, "0") || !is_z(json_array_get(v, 1), group, "1"))
            return bad(r, path,
                       "expected infinity as (0, 1, 0), actual other coordinates with "
                       "z = 0");
        memset(&p, 0, sizeof p);
    } else if (fits) {
        judge_point(r, group, path, &p);
    }
    memcpy(out, p.b, cuzk_curve_group(c, group)->point_size);
    return CUZK_OK;
}

static cuzk_status want_object(reader *r, const json_t *root) {
    if (json_is_object(root)) return CUZK_OK;
    return bad(r, "offset 0", "expected an object, actual %s", type_name(root));
}

/* "protocol": "groth16"; a proof may leave it out. */
static cuzk_status want_protocol(reader *r, const json_t *root, bool required) {
    const json_t *v = json_object_get(root, "protocol");
    char show[SHOWN + 8];
    if ((!v && !required) || is_text(v, "groth16")) return CUZK_OK;
    return bad(r, "protocol", "expected \"groth16\", actual %s",
               json_is_string(v) ? shown(show, json_string_value(v), json_string_length(v))
                                 : type_name(v));
}

static cuzk_status read_proof(reader *r, const json_t *root, cuzk_proof *out) {
    CUZK_TRY(want_object(r, root));
    CUZK_TRY(want_protocol(r, root, false));
    const json_t *curve = json_object_get(root, "curve");
    if (!r->curve) {
        r->curve = curve && json_is_string(curve) ? cuzk_curve_by_name(json_string_value(curve))
                                                  : cuzk_curve_get(CUZK_BN254);
        if (!r->curve) return bad(r, "curve", "expected \"bn128\" or \"bls12381\", actual another");
    }
    out->curve = r->curve;
    if (curve &&
        !(json_is_string(curve) && cuzk_curve_by_name(json_string_value(curve)) == r->curve)) {
        char show[SHOWN + 8];
        return bad(r, "curve", "expected \"%s\", as the key says, actual %s", r->curve->circom,
                   json_is_string(curve)
                       ? shown(show, json_string_value(curve), json_string_length(curve))
                       : type_name(curve));
    }
    CUZK_TRY(want_point(r, json_object_get(root, "pi_a"), CUZK_G1, "pi_a", out->a.b));
    CUZK_TRY(want_point(r, json_object_get(root, "pi_b"), CUZK_G2, "pi_b", out->b.b));
    CUZK_TRY(want_point(r, json_object_get(root, "pi_c"), CUZK_G1, "pi_c", out->c.b));
    return settle(r, CUZK_STATUS_FALSE);
}

cuzk_status cuzk_proof_from_json(cuzk_proof *out, const cuzk_curve *curve, const char *text,
                                 size_t len, const char *name, cuzk_err *err) {
    reader r = {.name = cuzk_name_tail(name), .err = err, .curve = curve};
    json_t *root;
    memset(out, 0, sizeof *out);
    CUZK_TRY(load(&r, text, len, &root));
    cuzk_status st = read_proof(&r, root, out);
    json_decref(root);
    return st;
}

static cuzk_status read_public(reader *r, const json_t *root, cuzk_u256 *values) {
    for (size_t i = 0; i < json_array_size(root); i++) {
        char at[PATH];
        bool fits = false;
        snprintf(at, sizeof at, "signal [%zu]", i);
        CUZK_TRY(want_number(r, json_array_get(root, i), at, values[i].l, 4, &fits));
        if (!fits || !cuzk_scalar_is_canonical(r->curve->fr, &values[i]))
            wrong(r, at, "a value below the prime r", "one that is r or more");
    }
    return settle(r, CUZK_STATUS_FALSE);
}

cuzk_status cuzk_public_from_json(cuzk_u256 **values, size_t *n, const cuzk_curve *curve,
                                  const char *text, size_t len, const char *name, cuzk_err *err) {
    reader r = {.name = cuzk_name_tail(name), .err = err, .curve = curve};
    json_t *root;
    void *mem = NULL;
    *values = NULL;
    *n = 0;
    CUZK_TRY(load(&r, text, len, &root));
    cuzk_status st = CUZK_OK;
    if (!json_is_array(root))
        st = bad(&r, "offset 0", "expected an array, actual %s", type_name(root));
    else if (cuzk_alloc(&mem, json_array_size(root), sizeof(cuzk_u256)) != CUZK_OK)
        st = cuzk_err_set(err, CUZK_STATUS_NO_MEMORY, "%s: out of memory", name);
    else
        st = read_public(&r, root, mem);
    if (st == CUZK_OK) {
        *values = mem;
        *n = json_array_size(root);
    } else {
        cuzk_free(mem);
    }
    json_decref(root);
    return st;
}

static cuzk_status read_vk_points(reader *r, const json_t *root, cuzk_vk *vk) {
    const struct {
        const char *name;
        cuzk_group group;
        uint8_t *to;
    } point[] = {{"vk_alpha_1", CUZK_G1, vk->alpha1.b},
                 {"vk_beta_2", CUZK_G2, vk->beta2.b},
                 {"vk_gamma_2", CUZK_G2, vk->gamma2.b},
                 {"vk_delta_2", CUZK_G2, vk->delta2.b}};
    for (size_t i = 0; i < sizeof point / sizeof point[0]; i++) {
        CUZK_TRY(want_point(r, json_object_get(root, point[i].name), point[i].group, point[i].name,
                            point[i].to));
        if (is_z(json_array_get(json_object_get(root, point[i].name), 2), point[i].group, "0"))
            return bad(r, point[i].name, "expected a point other than infinity, actual infinity");
    }
    size_t size = r->curve->g1.point_size, n = (size_t)vk->n_public + 1;
    const json_t *ic = json_object_get(root, "IC");
    void *mem;
    CUZK_TRY(want_array(r, ic, n, "IC")); /* before the allocation: n is only claimed */
    if (cuzk_alloc(&mem, n, size) != CUZK_OK)
        return cuzk_err_set(r->err, CUZK_STATUS_NO_MEMORY, "%s: out of memory", r->name);
    vk->ic = mem;
    for (size_t i = 0; i < n; i++) {
        char at[PATH];
        snprintf(at, sizeof at, "IC[%zu]", i);
        CUZK_TRY(want_point(r, json_array_get(ic, i), CUZK_G1, at, vk->ic + i * size));
    }
    return settle(r, CUZK_STATUS_BAD_INPUT);
}

static cuzk_status read_vk(reader *r, const json_t *root, cuzk_vk *vk) {
    char show[SHOWN + 8];
    CUZK_TRY(want_object(r, root));
    CUZK_TRY(want_protocol(r, root, true));
    const json_t *curve = json_object_get(root, "curve");
    if (!json_is_string(curve))
        return bad(r, "curve", "expected \"bn128\" or \"bls12381\", actual %s", type_name(curve));
    r->curve = vk->curve = cuzk_curve_by_name(json_string_value(curve));
    if (!r->curve)
        return bad(r, "curve", "expected \"bn128\" or \"bls12381\", actual %s",
                   shown(show, json_string_value(curve), json_string_length(curve)));
    const json_t *n = json_object_get(root, "nPublic");
    if (!json_is_integer(n))
        return bad(r, "nPublic", "expected a whole number, actual %s", type_name(n));
    json_int_t v = json_integer_value(n);
    if (v < 0 || v >= UINT32_MAX)
        return bad(r, "nPublic",
                   "expected a number from 0 to 4294967294, actual %" JSON_INTEGER_FORMAT, v);
    vk->n_public = (uint32_t)v;
    return read_vk_points(r, root, vk);
}

cuzk_status cuzk_vk_from_json(cuzk_vk *out, const char *text, size_t len, const char *name,
                              cuzk_err *err) {
    reader r = {.name = cuzk_name_tail(name), .err = err};
    json_t *root;
    memset(out, 0, sizeof *out);
    CUZK_TRY(load(&r, text, len, &root));
    cuzk_status st = read_vk(&r, root, out);
    if (st != CUZK_OK) cuzk_vk_free(out);
    json_decref(root);
    return st;
}

cuzk_json_kind cuzk_json_kind_of(const char *text, size_t len) {
    json_t *root = json_loadb(text, len, 0, NULL);
    cuzk_json_kind kind = CUZK_JSON_UNKNOWN;
    if (json_is_array(root))
        kind = CUZK_JSON_PUBLIC;
    else if (json_object_get(root, "vk_alpha_1") || json_object_get(root, "IC"))
        kind = CUZK_JSON_VK;
    else if (json_object_get(root, "pi_a") || json_object_get(root, "pi_b"))
        kind = CUZK_JSON_PROOF;
    json_decref(root);
    return kind;
}
