#include "r1cs/figures.h"

#include "base/mem.h"

static void mark(uint64_t *map, uint32_t i) {
    map[i / 64] |= (uint64_t)1 << (i % 64);
}

static void mark_lc(uint64_t *aux, uint64_t *input, const cuzk_r1cs_term *t, uint32_t n,
                    const cuzk_wire *wires) {
    for (uint32_t i = 0; i < n; i++) {
        for (uint32_t j = 0; j < t[i].len; j++) {
            const cuzk_wire w = wires[t[i].col + j];
            if (w & CUZK_WIRE_AUX)
                mark(aux, w & ~CUZK_WIRE_AUX);
            else if (input)
                mark(input, w);
        }
    }
}

static uint32_t popcount(const uint64_t *map, size_t words) {
    uint32_t n = 0;
    for (size_t i = 0; i < words; i++)
        n += (uint32_t)__builtin_popcountll(map[i]);
    return n;
}

static void mark_inst(cuzk_r1cs_density *seen, const cuzk_r1cs *r, const cuzk_r1cs_inst *inst,
                      cuzk_wire *wires) {
    const cuzk_r1cs_shape *s = &r->shapes[inst->shape];
    const cuzk_r1cs_row *w = r->rows + s->row0;
    const cuzk_r1cs_term *terms = r->terms + s->term0;
    if (s->n_rows == 0) return;
    cuzk_r1cs_inst_wires(r, inst, wires);
    for (uint32_t k = 0; k < s->n_rows; k++, w++) {
        mark_lc(seen->a_aux, NULL, terms + w->a, w->b - w->a, wires);
        mark_lc(seen->b_aux, seen->b_input, terms + w->b, w->c - w->b, wires);
    }
}

/* Sizes of porep.md 4.1: points are 96 (G1) and 192 (G2) bytes, counts 4, the fixed part 868. */
static void file_sizes(cuzk_r1cs_figures *f) {
    const uint64_t m = (uint64_t)1 << f->log2_domain;
    const uint64_t a = f->inputs + f->a_aux, b = f->b_input + f->b_aux;
    f->vk_bytes = 868 + 96 * f->inputs;
    f->params_bytes = f->vk_bytes + 20 + 96 * (m - 1 + f->aux + a + b) + 192 * b;
}

void cuzk_r1cs_density_free(cuzk_r1cs_density *d) {
    cuzk_free(d->a_aux);
    cuzk_free(d->b_aux);
    cuzk_free(d->b_input);
    *d = (cuzk_r1cs_density){0};
}

cuzk_status cuzk_r1cs_density_of(cuzk_r1cs_density *out, const cuzk_r1cs *r) {
    cuzk_status st;
    const size_t aux_words = r->n_aux / 64 + 1, in_words = r->n_inputs / 64 + 1;
    cuzk_wire *wires = NULL;
    *out = (cuzk_r1cs_density){0};
    CUZK_TRY_GOTO(cuzk_alloc((void **)&out->a_aux, aux_words, 8), out);
    CUZK_TRY_GOTO(cuzk_alloc((void **)&out->b_aux, aux_words, 8), out);
    CUZK_TRY_GOTO(cuzk_alloc((void **)&out->b_input, in_words, 8), out);
    CUZK_TRY_GOTO(cuzk_alloc((void **)&wires, cuzk_r1cs_max_cols(r), sizeof *wires), out);
    for (uint32_t i = 0; i < r->n_insts; i++)
        mark_inst(out, r, &r->insts[i], wires);
    out->n_a_aux = popcount(out->a_aux, aux_words);
    out->n_b_aux = popcount(out->b_aux, aux_words);
    out->n_b_input = popcount(out->b_input, in_words);
out:
    cuzk_free(wires);
    if (st != CUZK_OK) cuzk_r1cs_density_free(out);
    return st;
}

cuzk_status cuzk_r1cs_count(cuzk_r1cs_figures *out, const cuzk_r1cs *r) {
    cuzk_r1cs_density seen;
    *out = (cuzk_r1cs_figures){.constraints = r->n_rows, .inputs = r->n_inputs, .aux = r->n_aux};
    CUZK_TRY(cuzk_r1cs_density_of(&seen, r));
    for (uint32_t i = 0; i < r->n_insts; i++) {
        const cuzk_r1cs_shape *s = &r->shapes[r->insts[i].shape];
        for (int m = 0; m < 3; m++)
            out->nnz[m] += s->nnz[m];
        out->bits += s->n_bits;
    }
    out->a_aux = seen.n_a_aux;
    out->b_aux = seen.n_b_aux;
    out->b_input = seen.n_b_input;
    cuzk_r1cs_density_free(&seen);
    while ((uint64_t)1 << out->log2_domain < out->constraints + out->inputs)
        out->log2_domain++;
    file_sizes(out);
    return CUZK_OK;
}
