/* DESIGN. One writer for both styles: it puts the separators, so a document's function lists only
 * its contents. In snarkjs's style every element starts a line, indented by one blank a level, and
 * an empty array is "[\n]": that is what snarkjs's printer makes of it. */
#include "format/decimal.h"
#include "format/json_docs.h"

#include <string.h>

typedef struct writer {
    cuzk_buf *out;
    cuzk_json_style style;
    unsigned depth;
    bool first; /* nothing written yet on this level */
} writer;

static void line(writer *w) {
    static const char blanks[] = "                ";
    if (w->style != CUZK_JSON_SNARKJS) return;
    cuzk_buf_puts(w->out, "\n");
    cuzk_buf_append(w->out, blanks, w->depth < sizeof blanks ? w->depth : sizeof blanks - 1);
}

/* Begins an element of an array, or with a name one of an object. */
static void element(writer *w, const char *name) {
    if (w->depth) {
        if (!w->first) cuzk_buf_puts(w->out, ",");
        line(w);
    }
    w->first = false;
    if (!name) return;
    cuzk_buf_puts(w->out, "\"");
    cuzk_buf_puts(w->out, name);
    cuzk_buf_puts(w->out, w->style == CUZK_JSON_SNARKJS ? "\": " : "\":");
}

static void open_level(writer *w, const char *name, const char *bracket) {
    element(w, name);
    cuzk_buf_puts(w->out, bracket);
    w->depth++;
    w->first = true;
}

static void close_level(writer *w, const char *bracket) {
    w->depth--;
    line(w);
    cuzk_buf_puts(w->out, bracket);
    w->first = false;
}

/* text holds nothing that needs an escape: digits and names. */
static void string(writer *w, const char *name, const char *text) {
    element(w, name);
    cuzk_buf_puts(w->out, "\"");
    cuzk_buf_puts(w->out, text);
    cuzk_buf_puts(w->out, "\"");
}

static void plain_number(writer *w, const uint64_t *limbs, unsigned n) {
    char text[CUZK_DECIMAL_MAX];
    cuzk_decimal_from_limbs(text, limbs, n);
    string(w, NULL, text);
}

/* n coordinates of the base field, Montgomery form, from `p`. */
static void coordinates(writer *w, const cuzk_curve *c, const uint8_t *p, unsigned n) {
    for (unsigned i = 0; i < n; i++) {
        uint64_t plain[CUZK_DECIMAL_LIMBS];
        c->fp_from_mont(plain, p + (size_t)i * c->fp_limbs * sizeof *plain);
        plain_number(w, plain, c->fp_limbs);
    }
}

static void point_g1(writer *w, const char *name, const cuzk_curve *c, const void *p) {
    open_level(w, name, "[");
    if (c->g1.is_infinity(p)) {
        string(w, NULL, "0");
        string(w, NULL, "1");
        string(w, NULL, "0");
    } else {
        coordinates(w, c, p, 2);
        string(w, NULL, "1");
    }
    close_level(w, "]");
}

static void pair(writer *w, const char *a, const char *b) {
    open_level(w, NULL, "[");
    string(w, NULL, a);
    string(w, NULL, b);
    close_level(w, "]");
}

static void point_g2(writer *w, const char *name, const cuzk_curve *c, const void *p) {
    const uint8_t *bytes = p;
    open_level(w, name, "[");
    if (c->g2.is_infinity(p)) {
        pair(w, "0", "0");
        pair(w, "1", "0");
        pair(w, "0", "0");
    } else {
        for (unsigned i = 0; i < 2; i++) {
            open_level(w, NULL, "[");
            coordinates(w, c, bytes + i * c->g1.point_size, 2); /* Fp2 is as long as G1 */
            close_level(w, "]");
        }
        pair(w, "1", "0");
    }
    close_level(w, "]");
}

void cuzk_proof_to_json(const cuzk_proof *proof, cuzk_json_style style, cuzk_buf *out) {
    const cuzk_curve *c = proof->curve;
    writer w = {out, style, 0, true};
    open_level(&w, NULL, "{");
    if (style == CUZK_JSON_COMPACT) string(&w, "curve", c->circom);
    point_g1(&w, "pi_a", c, proof->a.b);
    point_g2(&w, "pi_b", c, proof->b.b);
    point_g1(&w, "pi_c", c, proof->c.b);
    string(&w, "protocol", "groth16");
    if (style == CUZK_JSON_SNARKJS) string(&w, "curve", c->circom);
    close_level(&w, "}");
}

void cuzk_public_to_json(const void *values, size_t n, cuzk_json_style style, cuzk_buf *out) {
    const uint8_t *p = values;
    writer w = {out, style, 0, true};
    open_level(&w, NULL, "[");
    for (size_t i = 0; i < n; i++) {
        uint64_t v[4];
        memcpy(v, p + i * sizeof v, sizeof v);
        plain_number(&w, v, 4);
    }
    close_level(&w, "]");
}

/* vk_alphabeta_12 = e(alpha, beta): two Fp6 of three Fp2 each. */
static void alphabeta(writer *w, const cuzk_vk *vk) {
    uint64_t e[12 * CUZK_DECIMAL_LIMBS];
    const uint64_t *p = e;
    vk->curve->pairing(e, vk->alpha1.b, vk->beta2.b);
    open_level(w, "vk_alphabeta_12", "[");
    for (int i = 0; i < 2; i++) {
        open_level(w, NULL, "[");
        for (int j = 0; j < 3; j++) {
            open_level(w, NULL, "[");
            for (int k = 0; k < 2; k++, p += vk->curve->fp_limbs)
                plain_number(w, p, vk->curve->fp_limbs);
            close_level(w, "]");
        }
        close_level(w, "]");
    }
    close_level(w, "]");
}

void cuzk_vk_to_json(const cuzk_vk *vk, cuzk_buf *out) {
    const cuzk_curve *c = vk->curve;
    writer w = {out, CUZK_JSON_SNARKJS, 0, true};
    open_level(&w, NULL, "{");
    string(&w, "protocol", "groth16");
    string(&w, "curve", c->circom);
    element(&w, "nPublic");
    cuzk_buf_printf(out, "%u", (unsigned)vk->n_public);
    point_g1(&w, "vk_alpha_1", c, vk->alpha1.b);
    point_g2(&w, "vk_beta_2", c, vk->beta2.b);
    point_g2(&w, "vk_gamma_2", c, vk->gamma2.b);
    point_g2(&w, "vk_delta_2", c, vk->delta2.b);
    alphabeta(&w, vk);
    open_level(&w, "IC", "[");
    for (size_t i = 0; i <= vk->n_public; i++)
        point_g1(&w, NULL, c, vk->ic + i * c->g1.point_size);
    close_level(&w, "]");
    close_level(&w, "}");
}
