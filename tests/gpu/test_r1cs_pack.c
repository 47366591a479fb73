/* The packed form of a compact system, without a device: its tiles cover every row of every
 * instance once, and what its rows say, worked out here one at a time, is what cuzk_r1cs_eval
 * gives. */
#include "backend/cuda/r1cs_pack.h"

#include "base/mem.h"
#include "circuit/circuits.h"
#include "r1cs/eval.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

struct wires {
    const cuzk_r1cs *r;
    const cuzk__pack *p;
    uint64_t *bits;
    cuzk_u256 *full;
};

static uint64_t next(uint64_t *s) {
    uint64_t z = (*s += 0x9e3779b97f4a7c15u);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

static void small_row(const struct wires *w, const uint32_t t[4], const cuzk__pack_inst *inst,
                      cuzk_u256 out[2]) {
    static const uint32_t coefs[4] = {CUZK_COEF_ONE, CUZK_COEF_MINUS_ONE, CUZK_COEF_TWO,
                                      CUZK_COEF_MINUS_TWO};
    memset(out, 0, 2 * sizeof *out);
    for (int k = 0; k < 4; k++) {
        const uint32_t what = t[k] >> 28 & 3, at = t[k] & CUZK__PACK_AT;
        cuzk_u256 *sum = &out[t[k] & CUZK__PACK_OF_B ? 1 : 0];
        uint32_t bit = inst->bit0 + at;
        if (what == CUZK__PACK_PORT) bit = w->p->port_slots[inst->port0 + at];
        if (what == CUZK__PACK_ONE || (what != CUZK__PACK_NOTHING && cuzk__bit_get(w->bits, bit)))
            w->r->fr->add(sum, sum, &w->r->coefs[coefs[t[k] >> 30]]);
    }
}

static void general_part(const struct wires *w, uint32_t from, uint32_t to,
                         const cuzk__pack_inst *inst, cuzk_u256 *sum) {
    memset(sum, 0, sizeof *sum);
    for (uint32_t i = from; i < to; i++) {
        const cuzk__pack_term *t = &w->p->terms[i];
        const uint32_t what = t->what >> CUZK__TERM_SHIFT, len = t->coef_len >> 16;
        uint32_t at = t->what & ((1u << CUZK__TERM_SHIFT) - 1), coef = t->coef_len & 0xffff;
        cuzk_u256 x;
        if (what >= CUZK__TERM_PORT_BIT)
            at = w->p->port_slots[inst->port0 + at];
        else
            at += what == CUZK__TERM_OWN_BIT ? inst->bit0 : inst->full0;
        if (what == CUZK__TERM_OWN_FULL || what == CUZK__TERM_PORT_FULL) {
            w->r->fr->mul(&x, &w->r->coefs[coef], &w->full[at]);
            w->r->fr->add(sum, sum, &x);
            continue;
        }
        for (uint32_t j = 0; j < len; j++, coef = w->r->coef_next[coef])
            if (what == CUZK__TERM_ONE || cuzk__bit_get(w->bits, at + j))
                w->r->fr->add(sum, sum, &w->r->coefs[coef]);
    }
}

/* Works out the tiles into a, b; every row must come once. */
static void work_out(const struct wires *w, cuzk_u256 *a, cuzk_u256 *b, uint8_t *seen) {
    const cuzk__pack *p = w->p;
    cuzk_u256 out[2];
    for (uint32_t n = 0; n < p->n_small_tiles; n++) {
        const cuzk__pack_tile *t = &p->small_tiles[n];
        assert_true(t->rows <= CUZK__PACK_TILE_ROWS && t->insts <= CUZK__PACK_TILE_INSTS);
        for (uint32_t i = t->inst0; i < t->inst0 + t->insts; i++)
            for (uint32_t k = 0; k < t->rows; k++) {
                const uint32_t at = p->insts[i].row0 + t->local + k;
                if (p->small[t->row0 + k][0] == CUZK__PACK_GENERAL) continue;
                small_row(w, p->small[t->row0 + k], &p->insts[i], out);
                a[at] = out[0], b[at] = out[1];
                seen[at]++;
            }
    }
    for (uint32_t n = 0; n < p->n_general_tiles; n++) {
        const cuzk__pack_tile *t = &p->general_tiles[n];
        assert_true(t->rows <= CUZK__PACK_WARPS
                        ? t->insts <= 32
                        : t->rows <= 32 * CUZK__PACK_WARPS && t->insts == 1);
        for (uint32_t i = t->inst0; i < t->inst0 + t->insts; i++)
            for (uint32_t k = 0; k < t->rows; k++) {
                const cuzk__pack_row *g = &p->general[t->row0 + k];
                const uint32_t at = p->insts[i].row0 + g->row;
                general_part(w, g->a, g->b, &p->insts[i], &a[at]);
                general_part(w, g->b, g->c, &p->insts[i], &b[at]);
                seen[at]++;
            }
    }
}

static void check_circuit(const char *name) {
    cuzk_err err = {0};
    cuzk_r1cs *r;
    cuzk__pack *p;
    const char *env = getenv("CUZK_TEST_SEED");
    uint64_t seed = env ? strtoull(env, NULL, 10) : 20261129;
    printf("%s: seed %llu\n", name, (unsigned long long)seed);
    assert_int_equal(cuzk_circuit_compact(&r, cuzk_circuit_find(name), &err), CUZK_OK);
    assert_int_equal(cuzk__pack_new(&p, r, &err), CUZK_OK);
    struct wires w = {r, p, NULL, NULL};
    const size_t words = r->n_bits / 64 + 2, n = r->n_rows;
    cuzk_u256 *v[4];
    uint8_t *seen;
    assert_int_equal(cuzk_alloc((void **)&w.bits, words, 8), CUZK_OK);
    assert_int_equal(cuzk_alloc((void **)&w.full, (size_t)r->n_full + 1, 32), CUZK_OK);
    assert_int_equal(cuzk_alloc((void **)&seen, n, 1), CUZK_OK);
    for (int k = 0; k < 4; k++)
        assert_int_equal(cuzk_alloc((void **)&v[k], n, 32), CUZK_OK);
    for (size_t i = 0; i < words; i++)
        w.bits[i] = next(&seed);
    for (size_t i = 0; i < r->n_full; i++) {
        for (int k = 0; k < 4; k++)
            w.full[i].l[k] = next(&seed);
        w.full[i].l[3] %= r->fr->modulus.l[3];
    }
    assert_int_equal(cuzk_r1cs_eval(r, w.bits, w.full, 0, r->n_rows, v[0], v[1], NULL, NULL),
                     CUZK_OK);
    work_out(&w, v[2], v[3], seen);
    for (size_t i = 0; i < n; i++)
        if (seen[i] != 1 || memcmp(&v[0][i], &v[2][i], 32) || memcmp(&v[1][i], &v[3][i], 32))
            fail_msg("%s: row %zu, worked out %u times, differs", name, i, seen[i]);
    for (uint32_t i = 1; i < r->n_inputs; i++) {
        uint32_t slot;
        assert_true(cuzk_r1cs_wire_slot(r, i, &slot));
        assert_int_equal(p->input_slots[i], slot);
    }
    for (int k = 0; k < 4; k++)
        cuzk_free(v[k]);
    cuzk_free(w.bits);
    cuzk_free(w.full);
    cuzk_free(seen);
    cuzk__pack_free(p);
    cuzk_r1cs_free(r);
}

static void packs_bits(void **state) {
    (void)state;
    check_circuit("snap-2k");
}

static void packs_numbers(void **state) {
    (void)state;
    check_circuit("winning-2k");
    check_circuit("wpost-2k");
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(packs_bits),
                                       cmocka_unit_test(packs_numbers)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
