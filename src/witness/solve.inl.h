/* Witness of one instance from its rows, and the check of its rows: include-template over a
 * scalar field. Parameters: SV and SV_FR, the EV and EV_FR that r1cs/eval.inl.h was included with
 * before. */

#define SV_CAT2(a, b) a##_##b
#define SV_CAT(a, b) SV_CAT2(a, b)
#define SV_(name) SV_CAT(SV, name)
#define FR_(name) SV_CAT(SV_FR, name)

/* A, B and C of one row. */
static void SV_(row)(cuzk_u256 v[3], const cuzk__block *b, const cuzk_r1cs_row *w) {
    SV_(lc)(&v[0], b, b->terms + w->a, w->b - w->a);
    SV_(lc)(&v[1], b, b->terms + w->b, w->c - w->b);
    SV_(lc)(&v[2], b, b->terms + w->c, w[1].a - w->c);
}

/* The free values of an instance. *bad: the one that does not fit. */
static bool SV_(load_free)(cuzk_witness *w, const cuzk_r1cs_shape *s, const cuzk_u256 *frees,
                           const uint32_t *slots, uint32_t *bad) {
    const uint32_t *cols = s->n_free ? w->r1cs->frees + s->free0 : NULL;
    for (uint32_t i = 0; i < s->n_free; i++) {
        const uint32_t slot = slots[cols[i]];
        const cuzk_u256 *v = &frees[i];
        *bad = i;
        if (!FR_(is_canonical)(v)) return false;
        if (!(slot & CUZK_SLOT_BIT)) {
            FR_(to_mont)(&w->full[slot], v);
            continue;
        }
        if (v->l[0] > 1 || v->l[1] || v->l[2] || v->l[3]) return false;
        set_bit(w->bits, slot & ~CUZK_SLOT_BIT, v->l[0]);
    }
    return true;
}

static void SV_(decompose)(cuzk_witness *w, const cuzk_r1cs_op *op, const cuzk__block *b) {
    cuzk_u256 v;
    SV_(lc)(&v, b, b->terms + op->term, op->n_terms);
    FR_(from_mont)(&v, &v);
    const uint32_t at = b->slots[op->col] & ~CUZK_SLOT_BIT;
    for (uint32_t i = 0; 64 * i < op->n; i++) {
        const uint32_t left = op->n - 64 * i;
        put_bits(w->bits, at + 64 * i, v.l[i], left < 64 ? left : 64);
    }
}

/* Gives the solved column of a row its value. False: it must be a bit and is none. */
static bool SV_(solve_row)(cuzk_witness *w, const cuzk_r1cs_row *row, const cuzk__block *b) {
    const uint32_t slot = b->slots[row->solve & CUZK_ROW_COL];
    cuzk_u256 v[3], x;
    SV_(row)(v, b, row);
    if (row->solve & CUZK_ROW_IN_A) {
        x = v[2];
    } else {
        /* the solved wire itself is still 0, so v[2] is the rest of C */
        FR_(mul)(&x, &v[0], &v[1]);
        FR_(sub)(&x, &x, &v[2]);
        if (row->solve & CUZK_ROW_NEG) FR_(neg)(&x, &x);
    }
    if (!(slot & CUZK_SLOT_BIT)) {
        w->full[slot] = x;
        return true;
    }
    FR_(from_mont)(&x, &x);
    if (x.l[0] > 1 || x.l[1] || x.l[2] || x.l[3]) return false;
    set_bit(w->bits, slot & ~CUZK_SLOT_BIT, x.l[0]);
    return true;
}

/* Returns CUZK_R1CS_NONE, or the row whose solved wire is no bit. */
static uint32_t SV_(solve_rows)(cuzk_witness *w, const cuzk_r1cs_shape *s, const uint32_t *slots) {
    const cuzk_r1cs *r = w->r1cs;
    const cuzk__block of = block_of(w, s, slots);
    const cuzk_r1cs_term *terms = of.terms;
    /* A system without operations or free values has no such arrays. */
    const cuzk_r1cs_op *op = s->n_ops ? r->ops + s->op0 : r->ops;
    const cuzk_r1cs_op *ops_end = s->n_ops ? op + s->n_ops : op;
    const cuzk_r1cs_row *row = of.rows;
    for (uint32_t k = 0; k < s->n_rows; k++, row++) {
        for (; op < ops_end && op->row == k; op++)
            SV_(decompose)(w, op, &of);
        if ((row->solve & CUZK_ROW_COL) == 0) continue;
        if (!(row->solve & CUZK_ROW_SMALL)) {
            if (!SV_(solve_row)(w, row, &of)) return k;
            continue;
        }
        const int a = cuzk__lc_small(terms + row->a, row->b - row->a, slots, w->bits);
        const int b = cuzk__lc_small(terms + row->b, row->c - row->b, slots, w->bits);
        const int c = cuzk__lc_small(terms + row->c, row[1].a - row->c, slots, w->bits);
        int v = row->solve & CUZK_ROW_IN_A ? c : a * b - c;
        if (row->solve & CUZK_ROW_NEG) v = -v;
        if (v & ~1) return k;
        set_bit(w->bits, slots[row->solve & CUZK_ROW_COL] & ~CUZK_SLOT_BIT, (uint64_t)v);
    }
    return CUZK_R1CS_NONE;
}

/* Returns CUZK_R1CS_NONE, or the first row that does not hold, with its values. */
static uint32_t SV_(check_rows)(const cuzk_witness *w, const cuzk_r1cs_shape *s,
                                const uint32_t *slots, cuzk_u256 v[3]) {
    const cuzk__block of = block_of(w, s, slots);
    const cuzk_r1cs_term *terms = of.terms;
    const cuzk_r1cs_row *row = of.rows;
    for (uint32_t k = 0; k < s->n_rows; k++, row++) {
        if (row->solve & CUZK_ROW_SMALL) {
            const int a = cuzk__lc_small(terms + row->a, row->b - row->a, slots, w->bits);
            const int b = cuzk__lc_small(terms + row->b, row->c - row->b, slots, w->bits);
            const int c = cuzk__lc_small(terms + row->c, row[1].a - row->c, slots, w->bits);
            if (a * b == c) continue;
        }
        cuzk_u256 x;
        SV_(row)(v, &of, row);
        FR_(mul)(&x, &v[0], &v[1]);
        if (!FR_(eq)(&x, &v[2])) return k;
    }
    return CUZK_R1CS_NONE;
}

#undef SV_
#undef FR_
#undef SV_CAT
#undef SV_CAT2
#undef SV
#undef SV_FR
