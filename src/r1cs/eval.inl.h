/* Values of linear combinations: include-template, one instance per scalar field. The one place
 * where a row of any system is evaluated.
 *
 * Parameters (undefined again at the end): EV, the prefix to generate; EV_FR, the prefix of the
 * field. Values: one bit per bit slot, Montgomery form per full slot; plain numbers in a flat
 * system. See cuzk__block. */

#define EV_CAT2(a, b) a##_##b
#define EV_CAT(a, b) EV_CAT2(a, b)
#define EV_(name) EV_CAT(EV, name)
#define FR_(name) EV_CAT(EV_FR, name)

/* coef * (the integer of `len` consecutive bits from bit `at`). */
static inline void EV_(add_run)(cuzk_u256 *acc, const cuzk_u256 *coef, const uint64_t *bits,
                                uint32_t at, uint32_t len) {
    cuzk_u256 v, x;
    uint64_t any = 0;
    for (uint32_t i = 0; i < 4; i++) {
        v.l[i] = 64 * i < len
                     ? cuzk__bits_get(bits, at + 64 * i, len - 64 * i < 64 ? len - 64 * i : 64)
                     : 0;
        any |= v.l[i];
    }
    if (!any) return;
    FR_(reduce_once)(&v, &v); /* below 2^255, which is less than 2 r or r itself */
    FR_(to_mont)(&x, &v);
    FR_(mul)(&x, &x, coef);
    FR_(add)(acc, acc, &x);
}

/* coef * a plain value, most of which are 0 or 1. */
static inline void EV_(add_plain)(cuzk_u256 *acc, const cuzk__block *b, uint32_t coef,
                                  uint32_t wire) {
    cuzk_u256 v, x;
    memcpy(&v, b->plain + (size_t)32 * wire, sizeof v);
    if ((v.l[0] >> 1 | v.l[1] | v.l[2] | v.l[3]) == 0) {
        if (v.l[0]) FR_(add)(acc, acc, &b->coefs[coef]);
        return;
    }
    FR_(mul)(&x, &b->coefs_r2[coef], &v);
    FR_(add)(acc, acc, &x);
}

/* The value of terms t[0..n) of a block with slots. */
static inline void EV_(lc)(cuzk_u256 *out, const cuzk__block *b, const cuzk_r1cs_term *t,
                           uint32_t n) {
    cuzk_u256 acc, x;
    FR_(set_zero)(&acc);
    for (uint32_t i = 0; i < n; i++) {
        if (!b->slots) {
            EV_(add_plain)(&acc, b, t[i].coef, t[i].col);
            continue;
        }
        const cuzk_u256 *coef = &b->coefs[t[i].coef];
        const uint32_t slot = b->slots[t[i].col];
        if (t[i].col == 0) {
            FR_(add)(&acc, &acc, coef);
        } else if (!(slot & CUZK_SLOT_BIT)) {
            if (t[i].coef == CUZK_COEF_ONE) {
                FR_(add)(&acc, &acc, &b->full[slot]);
            } else if (t[i].coef == CUZK_COEF_MINUS_ONE) {
                FR_(sub)(&acc, &acc, &b->full[slot]);
            } else {
                FR_(mul)(&x, coef, &b->full[slot]);
                FR_(add)(&acc, &acc, &x);
            }
        } else if (t[i].len > 1) {
            EV_(add_run)(&acc, coef, b->bits, slot & ~CUZK_SLOT_BIT, t[i].len);
        } else if (cuzk__bit_get(b->bits, slot & ~CUZK_SLOT_BIT)) {
            FR_(add)(&acc, &acc, coef);
        }
    }
    *out = acc;
}

#undef EV_
#undef FR_
#undef EV_CAT
#undef EV_CAT2
#undef EV
#undef EV_FR
