#include "witness/witness.h"

#include "base/mem.h"
#include "r1cs/eval.h"

#include <string.h>

/* Reads of up to 64 bits may touch one word past the last; the first bit may be in the last. */
size_t cuzk_witness_bits_bytes(const cuzk_r1cs *r) {
    return (r->n_bits / 64 + 2) * (size_t)8;
}
size_t cuzk_witness_full_bytes(const cuzk_r1cs *r) {
    return (r->n_full + (size_t)1) * 32;
}

cuzk_status cuzk_witness_new(cuzk_witness **out, const cuzk_r1cs *r) {
    cuzk_status st;
    cuzk_witness *w = NULL;
    *out = NULL;
    CUZK_TRY(cuzk_alloc((void **)&w, 1, sizeof *w));
    w->r1cs = r;
    CUZK_TRY_GOTO(cuzk_big_alloc((void **)&w->bits, cuzk_witness_bits_bytes(r)), fail);
    CUZK_TRY_GOTO(cuzk_big_alloc((void **)&w->full, cuzk_witness_full_bytes(r)), fail);
    *out = w;
    return CUZK_OK;
fail:
    cuzk_witness_free(w);
    return st;
}

void cuzk_witness_free(cuzk_witness *w) {
    if (!w) return;
    if (w->bits) {
        cuzk_wipe(w->bits, cuzk_witness_bits_bytes(w->r1cs));
        cuzk_big_free(w->bits, cuzk_witness_bits_bytes(w->r1cs));
    }
    if (w->full) {
        cuzk_wipe(w->full, cuzk_witness_full_bytes(w->r1cs));
        cuzk_big_free(w->full, cuzk_witness_full_bytes(w->r1cs));
    }
    cuzk_free(w);
}

static void slot_value(cuzk_u256 *out, const cuzk_witness *w, uint32_t slot) {
    if (slot & CUZK_SLOT_BIT)
        *out = (cuzk_u256){{cuzk__bit_get(w->bits, slot & ~CUZK_SLOT_BIT), 0, 0, 0}};
    else
        w->r1cs->fr->from_mont(out, &w->full[slot]);
}

cuzk_status cuzk_witness_get(cuzk_u256 *out, const cuzk_witness *w, cuzk_wire wire) {
    uint32_t slot;
    *out = (cuzk_u256){{1, 0, 0, 0}};
    if (wire == CUZK_WIRE_ONE) return CUZK_OK;
    if (!cuzk_r1cs_wire_slot(w->r1cs, wire, &slot)) return CUZK_STATUS_USAGE;
    slot_value(out, w, slot);
    return CUZK_OK;
}

cuzk_status cuzk_witness_set(cuzk_witness *w, cuzk_wire wire, const cuzk_u256 *plain) {
    uint32_t slot;
    if (!w->r1cs->fr->is_canonical(plain)) return CUZK_STATUS_USAGE;
    if (!cuzk_r1cs_wire_slot(w->r1cs, wire, &slot)) return CUZK_STATUS_USAGE;
    if (!(slot & CUZK_SLOT_BIT)) {
        w->r1cs->fr->to_mont(&w->full[slot], plain);
        return CUZK_OK;
    }
    if ((plain->l[0] | 1) != 1 || plain->l[1] || plain->l[2] || plain->l[3])
        return CUZK_STATUS_USAGE;
    const uint32_t at = slot & ~CUZK_SLOT_BIT;
    w->bits[at / 64] &= ~((uint64_t)1 << (at % 64));
    w->bits[at / 64] |= plain->l[0] << (at % 64);
    return CUZK_OK;
}

cuzk_status cuzk_witness_flatten(const cuzk_witness *w,
                                 void (*put)(void *ctx, const cuzk_u256 *values, size_t n),
                                 void *ctx) {
    enum { CHUNK = 2048 };
    const cuzk_r1cs *r = w->r1cs;
    cuzk_u256 *buf = NULL;
    CUZK_TRY(cuzk_alloc((void **)&buf, CHUNK, sizeof *buf));
    size_t n = 0;
    buf[n++].l[0] = 1;
    for (int aux = 0; aux < 2; aux++) {
        for (uint32_t i = 0; i < r->n_insts; i++) {
            const cuzk_r1cs_inst *inst = &r->insts[i];
            const cuzk_r1cs_shape *s = &r->shapes[inst->shape];
            const uint32_t *own = r->slots + s->slot0 + (aux ? s->n_inputs : 0);
            for (uint32_t k = 0; k < (aux ? s->n_aux : s->n_inputs); k++) {
                if (n == CHUNK) {
                    put(ctx, buf, n);
                    n = 0;
                }
                slot_value(&buf[n++], w,
                           own[k] + (own[k] & CUZK_SLOT_BIT ? inst->bit0 : inst->full0));
            }
        }
    }
    put(ctx, buf, n);
    cuzk_wipe(buf, CHUNK * sizeof *buf);
    cuzk_free(buf);
    return CUZK_OK;
}
