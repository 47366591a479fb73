/* The digest of the flat system. DESIGN: a term is 41 bytes, of which 32 are the coefficient, so
 * the work is copying from a table of big-endian coefficients into a buffer that stays in the
 * second-level cache and hashing it; BLAKE2s dominates. */
#include "r1cs/figures.h"

#include "base/bytes.h"
#include "base/hash.h"
#include "base/mem.h"

#include <string.h>

enum { BUF_BYTES = 1 << 18, TERM_BYTES = 41 };

struct cuzk_r1cs_hasher {
    cuzk_hash *hash;
    const cuzk_fr_ops *fr;
    uint8_t *buf;
    size_t len;
    uint8_t (*be)[32]; /* coefficients, big-endian */
    uint32_t n_be, cap_be;
};

static void flush(cuzk_r1cs_hasher *h) {
    cuzk_hash_update(h->hash, h->buf, h->len);
    h->len = 0;
}

static void put_u64(cuzk_r1cs_hasher *h, uint64_t v) {
    if (BUF_BYTES - h->len < 8) flush(h);
    cuzk_st_u64be(h->buf + h->len, v);
    h->len += 8;
}

static inline void put_term(cuzk_r1cs_hasher *h, cuzk_wire w, uint32_t coef) {
    if (BUF_BYTES - h->len < TERM_BYTES) flush(h);
    uint8_t *p = h->buf + h->len;
    p[0] = w & CUZK_WIRE_AUX ? 'A' : 'I';
    cuzk_st_u64be(p + 1, w & ~CUZK_WIRE_AUX);
    memcpy(p + 9, h->be[coef], 32);
    h->len += TERM_BYTES;
}

/* Makes the table cover n coefficients. */
static cuzk_status need_coefs(cuzk_r1cs_hasher *h, const cuzk_u256 *coefs, uint32_t n) {
    if (n > h->cap_be) {
        const uint32_t cap = n + n / 2;
        CUZK_TRY(cuzk_realloc((void **)&h->be, cap, sizeof *h->be));
        h->cap_be = cap;
    }
    for (; h->n_be < n; h->n_be++) {
        cuzk_u256 plain;
        h->fr->from_mont(&plain, &coefs[h->n_be]);
        for (int i = 0; i < 4; i++)
            cuzk_st_u64be(h->be[h->n_be] + 8 * i, plain.l[3 - i]);
    }
    return CUZK_OK;
}

cuzk_status cuzk_r1cs_hasher_new(cuzk_r1cs_hasher **out, const cuzk_fr_ops *fr, uint64_t inputs,
                                 uint64_t aux, uint64_t rows) {
    cuzk_status st;
    cuzk_r1cs_hasher *h = NULL;
    *out = NULL;
    CUZK_TRY(cuzk_alloc((void **)&h, 1, sizeof *h));
    h->fr = fr;
    CUZK_TRY_GOTO(cuzk_alloc((void **)&h->buf, BUF_BYTES, 1), fail);
    CUZK_TRY_GOTO(cuzk_hash_new(&h->hash, CUZK_HASH_BLAKE2S_256), fail);
    put_u64(h, inputs);
    put_u64(h, aux);
    put_u64(h, rows);
    *out = h;
    return CUZK_OK;
fail:
    cuzk_r1cs_hasher_free(h);
    return st;
}

static cuzk_status hash_row(void *ctx, const cuzk_flat_term *t, const uint32_t n[3],
                            const cuzk_u256 *coefs) {
    cuzk_r1cs_hasher *h = ctx;
    uint32_t top = 0;
    for (uint32_t i = 0; i < n[0] + n[1] + n[2]; i++)
        if (t[i].coef >= top) top = t[i].coef + 1;
    CUZK_TRY(need_coefs(h, coefs, top));
    for (int m = 0; m < 3; t += n[m++]) {
        put_u64(h, n[m]);
        for (uint32_t i = 0; i < n[m]; i++)
            put_term(h, t[i].wire, t[i].coef);
    }
    return CUZK_OK;
}

cuzk_row_sink cuzk_r1cs_hasher_sink(cuzk_r1cs_hasher *h) {
    return (cuzk_row_sink){hash_row, h};
}

void cuzk_r1cs_hasher_free(cuzk_r1cs_hasher *h) {
    if (!h) return;
    cuzk_hash_free(h->hash);
    cuzk_free(h->buf);
    cuzk_free(h->be);
    cuzk_free(h);
}

cuzk_status cuzk_r1cs_hasher_final(cuzk_r1cs_hasher *h, uint8_t out[32]) {
    flush(h);
    cuzk_hash *hash = h->hash;
    h->hash = NULL;
    const cuzk_status st = cuzk_hash_final(hash, out);
    cuzk_r1cs_hasher_free(h);
    return st;
}

static void hash_lc(cuzk_r1cs_hasher *h, const cuzk_r1cs_term *t, uint32_t n,
                    const cuzk_wire *wires, const uint32_t *next) {
    uint64_t k = 0;
    for (uint32_t i = 0; i < n; i++)
        k += t[i].len;
    put_u64(h, k);
    for (uint32_t i = 0; i < n; i++) {
        uint32_t coef = t[i].coef;
        for (uint32_t j = 0; j < t[i].len; j++, coef = next[coef])
            put_term(h, wires[t[i].col + j], coef);
    }
}

cuzk_status cuzk_r1cs_digest(uint8_t out[32], const cuzk_r1cs *r, cuzk_progress *progress) {
    cuzk_status st;
    cuzk_r1cs_hasher *h = NULL;
    cuzk_wire *wires = NULL;
    CUZK_TRY_GOTO(cuzk_r1cs_hasher_new(&h, r->fr, r->n_inputs, r->n_aux, r->n_rows), out);
    CUZK_TRY_GOTO(need_coefs(h, r->coefs, r->n_coefs), out);
    CUZK_TRY_GOTO(cuzk_alloc((void **)&wires, cuzk_r1cs_max_cols(r), sizeof *wires), out);
    for (uint32_t i = 0; i < r->n_insts; i++) {
        const cuzk_r1cs_inst *inst = &r->insts[i];
        const cuzk_r1cs_shape *s = &r->shapes[inst->shape];
        const cuzk_r1cs_row *w = r->rows + s->row0;
        const cuzk_r1cs_term *terms = r->terms + s->term0;
        if (s->n_rows == 0) continue;
        cuzk_r1cs_inst_wires(r, inst, wires);
        for (uint32_t k = 0; k < s->n_rows; k++, w++) {
            hash_lc(h, terms + w->a, w->b - w->a, wires, r->coef_next);
            hash_lc(h, terms + w->b, w->c - w->b, wires, r->coef_next);
            hash_lc(h, terms + w->c, w[1].a - w->c, wires, r->coef_next);
        }
        if (progress) cuzk_progress_add(progress, s->n_rows);
    }
    cuzk_r1cs_hasher *done = h;
    h = NULL;
    st = cuzk_r1cs_hasher_final(done, out);
out:
    cuzk_r1cs_hasher_free(h);
    cuzk_free(wires);
    return st;
}
