#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "support.h"

#include "base/buf.h"
#include "base/bytes.h"
#include "base/mem.h"
#include "format/decimal.h"
#include "format/json_docs.h"
#include "format/zkey.h"
#include "outside_points.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const cuzk_curve *curve_of(size_t k) {
    return cuzk_curve_get(k ? CUZK_BLS12_381 : CUZK_BN254);
}

static void assert_text(const cuzk_buf *got, const char *want, size_t n) {
    assert_int_equal(cuzk_buf_status(got), CUZK_OK);
    if (got->len == n && memcmp(got->data, want, n) == 0) return;
    fail_msg("wrote %zu bytes:\n%s\ninstead of %zu:\n%.*s", got->len, got->data, n, (int)n, want);
}

static void assert_blob(const cuzk_buf *got, blob want) {
    assert_text(got, (const char *)want.p, want.n);
}

/* a followed by b, c… up to NULL, on the heap. */
static char *concat(const char *a, ...) {
    cuzk_buf b = CUZK_BUF_INIT;
    va_list ap;
    va_start(ap, a);
    for (const char *s = a; s; s = va_arg(ap, const char *))
        cuzk_buf_puts(&b, s);
    va_end(ap);
    assert_int_equal(cuzk_buf_status(&b), CUZK_OK);
    return b.data;
}

static cuzk_status parse_proof(const cuzk_curve *c, const char *text, size_t n, cuzk_err *err) {
    cuzk_proof p;
    blob exact = blob_copy(text, n); /* no NUL behind it */
    *err = (cuzk_err){0};
    cuzk_status st = cuzk_proof_from_json(&p, c, (const char *)exact.p, n, "p.json", err);
    blob_free(&exact);
    if (st != CUZK_OK) assert_has(err->msg, "p.json: ");
    return st;
}

static cuzk_status parse_vk(const char *text, size_t n, cuzk_err *err) {
    cuzk_vk vk;
    blob exact = blob_copy(text, n);
    *err = (cuzk_err){0};
    cuzk_status st = cuzk_vk_from_json(&vk, (const char *)exact.p, n, "vk.json", err);
    blob_free(&exact);
    cuzk_vk_free(&vk);
    if (st != CUZK_OK) assert_has(err->msg, "vk.json: ");
    return st;
}

static cuzk_status parse_public(const cuzk_curve *c, const char *text, size_t len, cuzk_err *err) {
    cuzk_u256 *v;
    size_t n;
    blob exact = blob_copy(text, len);
    *err = (cuzk_err){0};
    cuzk_status st = cuzk_public_from_json(&v, &n, c, (const char *)exact.p, len, "in.json", err);
    blob_free(&exact);
    if (st != CUZK_OK) {
        assert_null(v);
        assert_has(err->msg, "in.json: ");
    }
    cuzk_free(v);
    return st;
}

/* snarkjs's files come out again byte for byte. */
static void snarkjs_proofs_and_signals(void **state) {
    (void)state;
    static const char *const circuit[] = {"mul3", "nopub", "poseidon2"};
    const cuzk_curve *c = curve_of(1);
    for (size_t i = 0; i < 3; i++) {
        char path[128];
        snprintf(path, sizeof path, "bls12381/%s/proof.json", circuit[i]);
        blob b = vector_read(path);
        cuzk_proof p;
        cuzk_err err = {0};
        assert_int_equal(cuzk_proof_from_json(&p, c, (char *)b.p, b.n, path, &err), CUZK_OK);
        cuzk_buf out = CUZK_BUF_INIT;
        cuzk_proof_to_json(&p, CUZK_JSON_SNARKJS, &out);
        assert_blob(&out, b);
        cuzk_buf_free(&out);
        blob_free(&b);

        snprintf(path, sizeof path, "bls12381/%s/public.json", circuit[i]);
        b = vector_read(path);
        cuzk_u256 *v;
        size_t n;
        assert_int_equal(cuzk_public_from_json(&v, &n, c, (char *)b.p, b.n, path, &err), CUZK_OK);
        cuzk_public_to_json(v, n, CUZK_JSON_SNARKJS, &out);
        assert_blob(&out, b);
        cuzk_buf_free(&out);
        cuzk_free(v);
        blob_free(&b);
    }
}

/* rapidsnark's files come out again, with "curve" in its sorted place. */
static void rapidsnark_proofs_and_signals(void **state) {
    (void)state;
    static const char *const circuit[] = {"mul3", "poseidon2", "semaphore20", "manypub"};
    const cuzk_curve *c = curve_of(0);
    for (size_t i = 0; i < 4; i++) {
        char path[128];
        snprintf(path, sizeof path, "bn128/%s/proof_rapidsnark.json", circuit[i]);
        blob b = vector_read(path);
        cuzk_proof p;
        cuzk_err err = {0};
        assert_int_equal(cuzk_proof_from_json(&p, c, (char *)b.p, b.n, path, &err), CUZK_OK);
        cuzk_buf out = CUZK_BUF_INIT;
        cuzk_proof_to_json(&p, CUZK_JSON_COMPACT, &out);
        static const char curve[] = "\"curve\":\"bn128\",";
        blob with = blob_splice(b, 1, 0, curve, strlen(curve));
        assert_blob(&out, with);
        cuzk_buf_free(&out);
        blob_free(&with);
        blob_free(&b);

        snprintf(path, sizeof path, "bn128/%s/public_rapidsnark.json", circuit[i]);
        b = vector_read(path);
        cuzk_u256 *v;
        size_t n;
        assert_int_equal(cuzk_public_from_json(&v, &n, c, (char *)b.p, b.n, path, &err), CUZK_OK);
        cuzk_public_to_json(v, n, CUZK_JSON_COMPACT, &out);
        assert_blob(&out, b);
        cuzk_buf_free(&out);
        cuzk_free(v);
        blob_free(&b);
    }
}

static void empty_public_signals(void **state) {
    (void)state;
    cuzk_buf out = CUZK_BUF_INIT;
    cuzk_public_to_json(NULL, 0, CUZK_JSON_SNARKJS, &out);
    assert_text(&out, "[\n]", 3);
    cuzk_buf_free(&out);
    cuzk_public_to_json(NULL, 0, CUZK_JSON_COMPACT, &out);
    assert_text(&out, "[]", 2);
    cuzk_buf_free(&out);
    cuzk_err err;
    assert_int_equal(parse_public(curve_of(0), "[]", 2, &err), CUZK_OK);
    assert_int_equal(parse_public(curve_of(0), " [\n] \n", 6, &err), CUZK_OK);
}

/* zkey -> verifying key -> JSON is snarkjs's file, and so is JSON -> key -> JSON. */
static void verification_keys(void **state) {
    (void)state;
    static const char *const dir[] = {"bn128/mul3",        "bn128/nopub",   "bn128/poseidon2",
                                      "bn128/semaphore20", "bls12381/mul3", "bls12381/nopub",
                                      "bls12381/poseidon2"};
    for (size_t i = 0; i < sizeof dir / sizeof dir[0]; i++) {
        char path[128];
        cuzk_err err = {0};
        cuzk_zkey *zk;
        cuzk_vk vk;
        cuzk_buf out = CUZK_BUF_INIT;
        snprintf(path, sizeof path, "%s/verification_key.json", dir[i]);
        blob want = vector_read(path);
        snprintf(path, sizeof path, "%s/circuit_final.zkey", dir[i]);
        blob key = vector_read(path);
        assert_int_equal(
            cuzk_zkey_from_memory(&zk, key.p, key.n, path, CUZK_ZKEY_CHECK_SHAPE, NULL, &err),
            CUZK_OK);
        assert_int_equal(cuzk_zkey_vk(zk, &vk, &err), CUZK_OK);
        cuzk_vk_to_json(&vk, &out);
        assert_blob(&out, want);
        cuzk_buf_free(&out);
        cuzk_vk_free(&vk);
        cuzk_zkey_free(zk);
        cuzk_status st = cuzk_vk_from_json(&vk, (char *)want.p, want.n, path, &err);
        if (st != CUZK_OK) fail_msg("%s", err.msg);
        cuzk_vk_to_json(&vk, &out);
        assert_blob(&out, want);
        cuzk_buf_free(&out);
        cuzk_vk_free(&vk);
        blob_free(&key);
        blob_free(&want);
    }
}

static void points_at_infinity(void **state) {
    (void)state;
    for (size_t k = 0; k < 2; k++) {
        cuzk_proof p, q;
        cuzk_err err = {0};
        memset(&p, 0, sizeof p);
        p.curve = curve_of(k);
        for (int style = 0; style < 2; style++) {
            cuzk_buf out = CUZK_BUF_INIT;
            cuzk_proof_to_json(&p, style ? CUZK_JSON_COMPACT : CUZK_JSON_SNARKJS, &out);
            if (style) {
                assert_has(out.data, "\"pi_a\":[\"0\",\"1\",\"0\"]");
                assert_has(out.data, "\"pi_b\":[[\"0\",\"0\"],[\"1\",\"0\"],[\"0\",\"0\"]]");
            }
            memset(&q, 0xff, sizeof q);
            assert_int_equal(cuzk_proof_from_json(&q, p.curve, out.data, out.len, "p", &err),
                             CUZK_OK);
            assert_true(p.curve->g1.is_infinity(q.a.b));
            assert_true(p.curve->g2.is_infinity(q.b.b));
            assert_true(p.curve->g1.is_infinity(q.c.b));
            cuzk_buf_free(&out);
        }
    }
}

static void truncation_at_every_offset(void **state) {
    (void)state;
    cuzk_err err;
    for (size_t k = 0; k < 2; k++) {
        blob p = vector_read(k ? "bls12381/mul3/proof.json" : "bn128/mul3/proof_rapidsnark.json");
        for (size_t n = 0; n < p.n; n++) {
            assert_bad_input(parse_proof(curve_of(k), (char *)p.p, n, &err), &err, "offset",
                             "JSON");
        }
        blob_free(&p);
        blob v = vector_read(k ? "bls12381/mul3/verification_key.json"
                               : "bn128/mul3/verification_key.json");
        for (size_t n = 0; n < v.n; n++)
            assert_bad_input(parse_vk((char *)v.p, n, &err), &err, "offset", "JSON");
        blob_free(&v);
    }
    blob s = vector_read("bls12381/poseidon2/public.json");
    for (size_t n = 0; n < s.n; n++)
        assert_bad_input(parse_public(curve_of(1), (char *)s.p, n, &err), &err, "offset", "JSON");
    blob_free(&s);
}

/* The document with the i-th occurrence of `what` replaced; NULL when there are fewer. */
static char *replace(blob doc, const char *what, size_t i, const char *with) {
    size_t m = strlen(what);
    for (size_t at = 0; at + m <= doc.n; at++) {
        if (memcmp(doc.p + at, what, m) != 0 || i--) continue;
        blob r = blob_splice(doc, at, m, with, strlen(with));
        cuzk_buf b = CUZK_BUF_INIT;
        cuzk_buf_append(&b, r.p, r.n);
        blob_free(&r);
        return b.data;
    }
    return NULL;
}

/* Finds the i-th string value of digits (at least 20 long: a coordinate) and replaces it. */
static char *replace_coordinate(blob doc, size_t i, const char *with) {
    for (size_t at = 0; at + 1 < doc.n; at++) {
        if (doc.p[at] != '"' || doc.p[at + 1] < '0' || doc.p[at + 1] > '9') continue;
        size_t end = at + 1;
        while (doc.p[end] != '"')
            end++;
        if (end - at > 20 && i-- == 0) {
            blob r = blob_splice(doc, at, end + 1 - at, with, strlen(with));
            cuzk_buf b = CUZK_BUF_INIT;
            cuzk_buf_append(&b, r.p, r.n);
            blob_free(&r);
            return b.data;
        }
        at = end;
    }
    return NULL;
}

static const char *const not_a_number[] = {
    "1",       "null",   "\"\"",      "\"0x12\"",      "\"-1\"",  "\"1.0\"",
    "\"007\"", "\" 1\"", "\"1 \"",    "\"1e9\"",       "[\"1\"]", "{}",
    "true",    "1.5",    "\"12\\n\"", "\"1\\u00002\"", "\"٣\"",
};

static char *quoted(const uint64_t *limbs, unsigned n) {
    char text[CUZK_DECIMAL_MAX];
    cuzk_decimal_from_limbs(text, limbs, n);
    return concat("\"", text, "\"", NULL);
}

static void proof_coordinates(void **state) {
    (void)state;
    static const char *const path[] = {"pi_a[0]",    "pi_a[1]",    "pi_b[0][0]", "pi_b[0][1]",
                                       "pi_b[1][0]", "pi_b[1][1]", "pi_c[0]",    "pi_c[1]"};
    cuzk_err err;
    for (size_t k = 0; k < 2; k++) {
        const cuzk_curve *c = curve_of(k);
        blob p = vector_read(k ? "bls12381/mul3/proof.json" : "bn128/mul3/proof_rapidsnark.json");
        for (size_t i = 0; i < 8; i++) {
            for (size_t j = 0; j < sizeof not_a_number / sizeof not_a_number[0]; j++) {
                char *t = replace_coordinate(p, i, not_a_number[j]);
                cuzk_status st = parse_proof(c, t, strlen(t), &err);
                assert_int_equal(st, CUZK_STATUS_BAD_INPUT);
                if (!strstr(not_a_number[j], "u0000")) assert_bad_input(st, &err, path[i], NULL);
                cuzk_free(t);
            }
            /* q, q + 1, 2^384: well formed, but no coordinates */
            uint64_t q[6];
            memcpy(q, c->fp_modulus, 8 * c->fp_limbs);
            for (int plus = 0; plus < 3; plus++) {
                char *num = plus < 2 ? quoted(q, c->fp_limbs)
                                     : concat("\"3940200619639447921227904010014361380507973927046"
                                              "544666794829340424572177149687032904726608825893800"
                                              "1861606973112320\"",
                                              NULL);
                char *t = replace_coordinate(p, i, num);
                assert_int_equal(parse_proof(c, t, strlen(t), &err), CUZK_STATUS_FALSE);
                assert_has(err.msg, path[i]);
                assert_has(err.msg, "below the prime q");
                cuzk_free(t);
                cuzk_free(num);
                q[0]++;
            }
            /* another x or y: off the curve */
            char *t = replace_coordinate(p, i, "\"12345\"");
            assert_int_equal(parse_proof(c, t, strlen(t), &err), CUZK_STATUS_FALSE);
            assert_has(err.msg, "not on the curve");
            cuzk_free(t);
        }
        blob_free(&p);
    }
}

/* A point of the curve outside its group, as text. */
static char *point_text(const cuzk_curve *c, bool g2) {
    unsigned n = c->fp_limbs;
    const uint64_t *p = !g2                   ? outside_bls12_381_g1
                        : c->id == CUZK_BN254 ? outside_bn254_g2
                                              : outside_bls12_381_g2;
    char *v[4];
    for (unsigned i = 0; i < (g2 ? 4u : 2u); i++)
        v[i] = quoted(p + i * n, n);
    char *t = g2 ? concat("[[", v[0], ",", v[1], "],[", v[2], ",", v[3], "],[\"1\",\"0\"]]", NULL)
                 : concat("[", v[0], ",", v[1], ",\"1\"]", NULL);
    for (unsigned i = 0; i < (g2 ? 4u : 2u); i++)
        cuzk_free(v[i]);
    return t;
}

static char *proof_text(const cuzk_curve *c, const char *a, const char *b, const char *more) {
    cuzk_proof p = {.curve = c};
    memcpy(p.a.b, c->g1.generator, c->g1.point_size);
    memcpy(p.b.b, c->g2.generator, c->g2.point_size);
    memcpy(p.c.b, c->g1.generator, c->g1.point_size);
    cuzk_buf out = CUZK_BUF_INIT;
    cuzk_proof_to_json(&p, CUZK_JSON_COMPACT, &out);
    char *pa = strstr(out.data, "\"pi_a\":"), *pb = strstr(out.data, ",\"pi_b\":"),
         *pc = strstr(out.data, ",\"pi_c\":"), *pr = strstr(out.data, ",\"protocol\"");
    assert_true(pa && pb && pc && pr);
    *pb = *pc = *pr = '\0';
    char *t = concat("{\"pi_a\":", a ? a : pa + 7, ",\"pi_b\":", b ? b : pb + 8,
                     ",\"pi_c\":", pc + 8, more, "}", NULL);
    cuzk_buf_free(&out);
    return t;
}

static void proof_points(void **state) {
    (void)state;
    cuzk_err err;
    for (size_t k = 0; k < 2; k++) {
        const cuzk_curve *c = curve_of(k);
        const struct {
            const char *a, *b, *more;
            cuzk_status st;
            const char *part;
        } row[] = {
            {NULL, NULL, "", CUZK_OK, NULL},
            {NULL, NULL, ",\"protocol\":\"groth16\",\"other\":[1]", CUZK_OK, NULL},
            {"[\"0\",\"1\",\"0\"]", NULL, "", CUZK_OK, NULL},
            {NULL, "[[\"0\",\"0\"],[\"1\",\"0\"],[\"0\",\"0\"]]", "", CUZK_OK, NULL},
            /* rapidsnark's infinity: z should be 0 */
            {"[\"0\",\"0\",\"1\"]", NULL, "", CUZK_STATUS_FALSE, "pi_a"},
            {NULL, "[[\"0\",\"0\"],[\"0\",\"0\"],[\"1\",\"0\"]]", "", CUZK_STATUS_FALSE, "pi_b"},
            {"[\"0\",\"0\",\"0\"]", NULL, "", CUZK_STATUS_BAD_INPUT, "pi_a"},
            {"[\"5\",\"1\",\"0\"]", NULL, "", CUZK_STATUS_BAD_INPUT, "pi_a"},
            {"[\"0\",\"1\",\"2\"]", NULL, "", CUZK_STATUS_BAD_INPUT, "pi_a"},
            {"[\"0\",\"1\",1]", NULL, "", CUZK_STATUS_BAD_INPUT, "pi_a"},
            {"[\"0\",\"1\"]", NULL, "", CUZK_STATUS_BAD_INPUT, "actual 2"},
            {"[\"0\",\"1\",\"0\",\"0\"]", NULL, "", CUZK_STATUS_BAD_INPUT, "actual 4"},
            {"[]", NULL, "", CUZK_STATUS_BAD_INPUT, "pi_a"},
            {"{}", NULL, "", CUZK_STATUS_BAD_INPUT, "an object"},
            {"null", NULL, "", CUZK_STATUS_BAD_INPUT, "null"},
            {NULL, "[[\"0\"],[\"1\",\"0\"],[\"0\",\"0\"]]", "", CUZK_STATUS_BAD_INPUT, "pi_b[0]"},
            {NULL, "[[\"0\",\"0\"],\"1\",[\"0\",\"0\"]]", "", CUZK_STATUS_BAD_INPUT, "pi_b[1]"},
            {NULL, "[[\"0\",\"0\"],[\"1\",\"0\"],[\"0\",\"1\"]]", "", CUZK_STATUS_BAD_INPUT,
             "pi_b"},
            {NULL, "[[\"0\",\"0\"],[\"1\",\"0\"],\"0\"]", "", CUZK_STATUS_BAD_INPUT, "pi_b"},
            {NULL, NULL, ",\"protocol\":\"plonk\"", CUZK_STATUS_BAD_INPUT, "plonk"},
            {NULL, NULL, ",\"protocol\":1", CUZK_STATUS_BAD_INPUT, "protocol"},
            {NULL, NULL, ",\"curve\":\"bn129\"", CUZK_STATUS_BAD_INPUT, "curve"},
            {NULL, NULL, ",\"curve\":null", CUZK_STATUS_BAD_INPUT, "curve"},
            {NULL, NULL, ",\"pi_a\":[\"0\",\"1\",\"0\"]", CUZK_STATUS_BAD_INPUT, "offset"},
            {NULL, NULL, "} {", CUZK_STATUS_BAD_INPUT, "offset"},
            /* malformed beats false, whichever comes first */
            {"[\"0\",\"0\",\"1\"]", "[]", "", CUZK_STATUS_BAD_INPUT, "pi_b"},
        };
        for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
            char *t = proof_text(c, row[i].a, row[i].b, row[i].more);
            cuzk_status st = parse_proof(c, t, strlen(t), &err);
            if (st != row[i].st) fail_msg("status %d, %s, for %s", (int)st, err.msg, t);
            if (st == CUZK_STATUS_BAD_INPUT)
                assert_bad_input(st, &err, row[i].part, NULL);
            else if (st != CUZK_OK)
                assert_has(err.msg, row[i].part);
            cuzk_free(t);
        }
        for (int g2 = k ? 0 : 1; g2 < 2; g2++) {
            char *point = point_text(c, g2),
                 *t = proof_text(c, g2 ? NULL : point, g2 ? point : NULL, "");
            assert_int_equal(parse_proof(c, t, strlen(t), &err), CUZK_STATUS_FALSE);
            assert_has(err.msg, g2 ? "pi_b" : "pi_a");
            assert_has(err.msg, "outside that group");
            cuzk_free(t);
            cuzk_free(point);
        }
        blob p = vector_read(k ? "bls12381/mul3/proof.json" : "bn128/mul3/proof_rapidsnark.json");
        assert_int_equal(parse_proof(c, (char *)p.p, p.n, &err), CUZK_OK);
        if (k)
            assert_bad_input(parse_proof(curve_of(0), (char *)p.p, p.n, &err), &err, "curve",
                             "bls12381");
        blob_free(&p);
    }
}

static void missing_members(void **state) {
    (void)state;
    static const char *const proof_member[] = {"pi_a", "pi_b", "pi_c"};
    static const char *const vk_member[] = {"protocol",  "curve",      "nPublic",    "vk_alpha_1",
                                            "vk_beta_2", "vk_gamma_2", "vk_delta_2", "IC"};
    cuzk_err err;
    char name[32];
    blob p = vector_read("bls12381/mul3/proof.json");
    for (size_t i = 0; i < 3; i++) {
        snprintf(name, sizeof name, "\"%s\"", proof_member[i]);
        char *t = replace(p, name, 0, "\"x\"");
        assert_bad_input(parse_proof(curve_of(1), t, strlen(t), &err), &err, proof_member[i],
                         "nothing");
        cuzk_free(t);
    }
    blob_free(&p);
    blob v = vector_read("bls12381/mul3/verification_key.json");
    for (size_t i = 0; i < sizeof vk_member / sizeof vk_member[0]; i++) {
        snprintf(name, sizeof name, "\"%s\"", vk_member[i]);
        char *t = replace(v, name, 0, "\"x\"");
        assert_bad_input(parse_vk(t, strlen(t), &err), &err, vk_member[i], "nothing");
        cuzk_free(t);
    }
    char *t = replace(v, "\"vk_alphabeta_12\"", 0, "\"x\""); /* follows from alpha and beta */
    assert_int_equal(parse_vk(t, strlen(t), &err), CUZK_OK);
    cuzk_free(t);
    blob_free(&v);
}

/* In a verification key every bad point is bad input. */
static void vk_coordinates(void **state) {
    (void)state;
    cuzk_err err;
    for (size_t k = 0; k < 2; k++) {
        const cuzk_curve *c = curve_of(k);
        blob v = vector_read(k ? "bls12381/mul3/verification_key.json"
                               : "bn128/mul3/verification_key.json");
        char *q = quoted(c->fp_modulus, c->fp_limbs);
        for (size_t i = 0; i < 30; i++) {
            bool in_alphabeta = i >= 14 && i < 26;
            const char *with[] = {q, "\"12345\"", "\"x\"", "7"};
            for (size_t j = 0; j < 4; j++) {
                char *t = replace_coordinate(v, i, with[j]);
                assert_non_null(t);
                if (in_alphabeta)
                    assert_int_equal(parse_vk(t, strlen(t), &err), CUZK_OK);
                else
                    assert_bad_input(parse_vk(t, strlen(t), &err), &err, i < 14 ? "vk_" : "IC[",
                                     NULL);
                cuzk_free(t);
            }
        }
        assert_null(replace_coordinate(v, 30, ""));
        cuzk_free(q);
        blob_free(&v);
    }
}

/* Infinity and points outside the groups, in every member. */
static void vk_special_points(const cuzk_curve *c) {
    static const char *const member[] = {"vk_alpha_1", "vk_beta_2", "vk_gamma_2", "vk_delta_2"};
    cuzk_err err;
    cuzk_point ic;
    cuzk_vk vk = {.curve = c, .ic = ic.b};
    memcpy(ic.b, c->g1.generator, c->g1.point_size);
    memcpy(vk.alpha1.b, c->g1.generator, c->g1.point_size);
    memcpy(vk.beta2.b, c->g2.generator, c->g2.point_size);
    memcpy(vk.gamma2.b, c->g2.generator, c->g2.point_size);
    memcpy(vk.delta2.b, c->g2.generator, c->g2.point_size);
    cuzk_buf out = CUZK_BUF_INIT;
    cuzk_vk_to_json(&vk, &out);
    assert_int_equal(parse_vk(out.data, out.len, &err), CUZK_OK);
    for (int i = 0; i < 4; i++) {
        for (int kind = 0; kind < 2; kind++) {
            if (kind && !i && c->id == CUZK_BN254) continue; /* BN254's G1 is the whole curve */
            char *point = kind ? point_text(c, i > 0)
                               : concat(i ? "[[\"0\",\"0\"],[\"1\",\"0\"],[\"0\",\"0\"]]"
                                          : "[\"0\",\"1\",\"0\"]",
                                        NULL);
            char *old = strstr(out.data, member[i]), *next = strstr(old, "\"vk_"), *end;
            for (end = next; *end != ']'; end--) {
            }
            old[strlen(member[i]) + 2] = '\0'; /* the blank after the colon */
            char *t = concat(out.data, point, end + 1, NULL);
            old[strlen(member[i]) + 2] = ' ';
            assert_bad_input(parse_vk(t, strlen(t), &err), &err, member[i],
                             kind ? "outside" : "infinity");
            cuzk_free(t);
            cuzk_free(point);
        }
    }
    cuzk_buf_free(&out);
}

static void vk_fields(void **state) {
    (void)state;
    static const struct {
        const char *what, *with, *part;
    } row[] = {
        {"\"nPublic\": 1", "\"nPublic\": 0", "IC"},
        {"\"nPublic\": 1", "\"nPublic\": 2", "IC"},
        {"\"nPublic\": 1", "\"nPublic\": -1", "nPublic"},
        {"\"nPublic\": 1", "\"nPublic\": 4294967294", "IC"},
        {"\"nPublic\": 1", "\"nPublic\": 4294967295", "nPublic"},
        {"\"nPublic\": 1", "\"nPublic\": 9223372036854775807", "nPublic"},
        {"\"nPublic\": 1", "\"nPublic\": 9223372036854775808", "offset"},
        {"\"nPublic\": 1", "\"nPublic\": 1.0", "nPublic"},
        {"\"nPublic\": 1", "\"nPublic\": \"1\"", "nPublic"},
        {"\"groth16\"", "\"fflonk\"", "protocol"},
        {"\"bls12381\"", "\"secp256k1\"", "curve"},
        {"\"bls12381\"", "\"bn128\"", "vk_alpha_1"},
        {"\"bls12381\"", "7", "curve"},
        {"\"curve\"", "\"protocol\"", "offset"},
    };
    cuzk_err err;
    blob v = vector_read("bls12381/mul3/verification_key.json");
    for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
        char *t = replace(v, row[i].what, 0, row[i].with);
        assert_non_null(t);
        assert_bad_input(parse_vk(t, strlen(t), &err), &err, row[i].part, NULL);
        cuzk_free(t);
    }
    blob_free(&v);
    for (size_t k = 0; k < 2; k++)
        vk_special_points(curve_of(k));
}

static void public_signals(void **state) {
    (void)state;
    cuzk_err err;
    for (size_t k = 0; k < 2; k++) {
        const cuzk_curve *c = curve_of(k);
        for (size_t j = 0; j < sizeof not_a_number / sizeof not_a_number[0]; j++) {
            char *t = concat("[\"1\", ", not_a_number[j], "]", NULL);
            cuzk_status st = parse_public(c, t, strlen(t), &err);
            assert_int_equal(st, CUZK_STATUS_BAD_INPUT);
            if (!strstr(not_a_number[j], "u0000")) assert_bad_input(st, &err, "signal [1]", NULL);
            cuzk_free(t);
        }
        uint64_t r[4];
        memcpy(r, c->fr->modulus.l, 32);
        r[0]--;
        for (int i = 0; i < 3; i++, r[0]++) {
            char *num = quoted(r, 4), *t = concat("[\"1\",", num, "]", NULL);
            cuzk_status st = parse_public(c, t, strlen(t), &err);
            assert_int_equal(st, i ? CUZK_STATUS_FALSE : CUZK_OK);
            if (i) assert_has(err.msg, "signal [1]: expected a value below the prime r");
            cuzk_free(t);
            cuzk_free(num);
        }
        static const char *const big[] = {
            "[\"115792089237316195423570985008687907853269984665640564039457584007913129639936\"]",
            "[\"99999999999999999999999999999999999999999999999999999999999999999999999999999999999"
            "99999999999999999999999999999999999999999999999999999999999999999999999999999999\"]"};
        for (size_t i = 0; i < 2; i++)
            assert_int_equal(parse_public(c, big[i], strlen(big[i]), &err), CUZK_STATUS_FALSE);
        static const char *const malformed[] = {
            "",    "null",      "{}",   "\"1\"",          "[\"1\",]",  "[\"1\"",
            "[1]", "[\"1\"] x", "[[]]", "\xef\xbb\xbf[]", "[\"\xff\"]"};
        for (size_t i = 0; i < sizeof malformed / sizeof malformed[0]; i++)
            assert_bad_input(parse_public(c, malformed[i], strlen(malformed[i]), &err), &err,
                             "in.json", NULL);
    }
    /* deep nesting ends in an error, not in the stack */
    blob deep = blob_copy("", 0);
    deep.p = realloc(deep.p, 100000);
    assert_non_null(deep.p);
    deep.n = 100000;
    memset(deep.p, '[', deep.n);
    assert_bad_input(parse_public(curve_of(0), (char *)deep.p, deep.n, &err), &err, "offset", NULL);
    blob_free(&deep);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(snarkjs_proofs_and_signals),
        cmocka_unit_test(rapidsnark_proofs_and_signals),
        cmocka_unit_test(empty_public_signals),
        cmocka_unit_test(verification_keys),
        cmocka_unit_test(points_at_infinity),
        cmocka_unit_test(truncation_at_every_offset),
        cmocka_unit_test(proof_coordinates),
        cmocka_unit_test(proof_points),
        cmocka_unit_test(missing_members),
        cmocka_unit_test(vk_coordinates),
        cmocka_unit_test(vk_fields),
        cmocka_unit_test(public_signals),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
