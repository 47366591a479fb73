/* Values of linear combinations of an instance: include-template, one instance per scalar field.
 *
 * Parameters (undefined again at the end): EV, the prefix to generate; EV_FR, the prefix of the
 * field. Values: one bit per bit slot, Montgomery form per full slot.
 *
 * slots: of every column of the instance (cuzk_r1cs_inst_slots). */

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

/* The value of terms t[0..n). */
static void EV_(lc)(cuzk_u256 *out, const cuzk_r1cs *r, const cuzk_r1cs_term *t, uint32_t n,
                    const uint32_t *slots, const uint64_t *bits, const cuzk_u256 *full) {
    cuzk_u256 acc, x;
    FR_(set_zero)(&acc);
    for (uint32_t i = 0; i < n; i++) {
        const cuzk_u256 *coef = &r->coefs[t[i].coef];
        const uint32_t slot = slots[t[i].col];
        if (t[i].col == 0) {
            FR_(add)(&acc, &acc, coef);
        } else if (!(slot & CUZK_SLOT_BIT)) {
            if (t[i].coef == CUZK_COEF_ONE) {
                FR_(add)(&acc, &acc, &full[slot]);
            } else if (t[i].coef == CUZK_COEF_MINUS_ONE) {
                FR_(sub)(&acc, &acc, &full[slot]);
            } else {
                FR_(mul)(&x, coef, &full[slot]);
                FR_(add)(&acc, &acc, &x);
            }
        } else if (t[i].len > 1) {
            EV_(add_run)(&acc, coef, bits, slot & ~CUZK_SLOT_BIT, t[i].len);
        } else if (cuzk__bit_get(bits, slot & ~CUZK_SLOT_BIT)) {
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
