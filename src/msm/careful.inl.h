/* Part of kernel.inl.h: stored points one at a time, for any implementation: the batches that hold
 * equal or opposite points, and sums. The includer has defined M_(slot_t), M_(source), M_(get),
 * M_(get_source), M_(put) and M_(careful_t). */

/* ---- one by one -------------------------------------------------------------------------- */

typedef enum M_(kind) { M_(KIND_CANCEL), M_(KIND_DOUBLE), M_(KIND_ADD) } M_(kind);

/* Loads entry i; *den is what has to be inverted for it, 1 if nothing. */
static M_(kind) M_(classify)(const cuzk__points *p, const cuzk__batch *b, uint32_t i,
                             M_(affine_t) * a, M_(affine_t) * q, F_(t) * den) {
    F_(t) d;
    M_(get)(a, (const M_(slot_t) *)p->slots + b->dst[i]);
    M_(get_source)(q, p, b->src[i]);
    if (b->src[i] & 1) EC_(affine_neg)(q, q);
    F_(sub)(&d, &q->x, &a->x);
    if (!F_(is_zero)(&d)) {
        *den = d;
        return M_(KIND_ADD);
    }
    F_(add)(&d, &a->y, &q->y);
    if (F_(is_zero)(&d)) {
        F_(set_one)(den);
        return M_(KIND_CANCEL);
    }
    *den = d; /* 2y */
    return M_(KIND_DOUBLE);
}

/* a += q, or a = 2a, with the inverse of den. */
static void M_(finish_add)(M_(affine_t) * a, const M_(affine_t) * q, const F_(t) * inv,
                           M_(kind) kind) {
    F_(t) l, x;
    if (kind == M_(KIND_DOUBLE)) {
        F_(sqr)(&l, &a->x);
        F_(dbl)(&x, &l);
        F_(add)(&l, &l, &x);
    } else {
        F_(sub)(&l, &q->y, &a->y);
    }
    F_(mul)(&l, &l, inv);
    F_(sqr)(&x, &l);
    F_(sub)(&x, &x, &a->x);
    F_(sub)(&x, &x, &q->x);
    F_(sub)(&a->x, &a->x, &x);
    F_(mul)(&l, &l, &a->x);
    a->x = x;
    F_(sub)(&a->y, &l, &a->y);
}

static void M_(run_one_by_one)(cuzk__points *p, const cuzk__batch *b) {
    M_(careful_t) *s = p->scratch;
    M_(affine_t) a, q;
    F_(t) acc, inv, den;
    F_(set_one)(&acc);
    for (uint32_t i = 0; i < b->n; i++) {
        (void)M_(classify)(p, b, i, &a, &q, &s->diff[i]);
        s->prod[i] = acc;
        F_(mul)(&acc, &acc, &s->diff[i]);
    }
    F_(inv)(&acc, &acc);
    for (uint32_t i = b->n; i-- > 0;) {
        M_(kind) kind = M_(classify)(p, b, i, &a, &q, &den);
        F_(mul)(&inv, &acc, &s->prod[i]);
        F_(mul)(&acc, &acc, &s->diff[i]);
        if (kind == M_(KIND_CANCEL)) {
            p->stamp[b->dst[i]] = 0;
            continue;
        }
        M_(finish_add)(&a, &q, &inv, kind);
        M_(put)(p->slots, b->dst[i], &a);
    }
}

/* ---- padding ----------------------------------------------------------------------------- */

/* Fills the last block with additions to the adder's own slots: twice the generator to what began
 * as the generator and so is always another, odd multiple of it. */
static void M_(fill_up)(const cuzk__points *p, cuzk__batch *b) {
    for (uint32_t n = b->n, l = 0; (n + l) % M_(LANES); l++) {
        b->dst[n + l] = p->pad + l;
        b->src[n + l] = CUZK__SRC_SLOT | (p->pad + M_(LANES) + l) << 1;
    }
}

static void M_(init_pads)(cuzk__points *p) {
    M_(affine_t) g = MSM_GENERATOR, g2;
    M_(xyzz_t) d;
    EC_(xyzz_dbl_affine)(&d, &g);
    EC_(xyzz_to_affine)(&g2, &d);
    for (uint32_t l = 0; l < M_(LANES); l++) {
        M_(put)(p->slots, p->pad + l, &g);
        M_(put)(p->slots, p->pad + M_(LANES) + l, &g2);
    }
}

/* ---- sums of slots ----------------------------------------------------------------------- */

/* *acc += the slots [first, first + n) that are not empty. */
static void M_(slots_sum)(cuzk__msm_acc *acc, const cuzk__points *p, uint32_t first, uint32_t n) {
    M_(xyzz_t) sum;
    M_(affine_t) a;
    M_(acc_get)(&sum, acc);
    for (uint32_t i = first; i < first + n; i++) {
        if (!p->stamp[i]) continue;
        M_(get)(&a, (const M_(slot_t) *)p->slots + i);
        EC_(xyzz_add_affine)(&sum, &sum, &a);
    }
    M_(acc_put)(acc, &sum);
}

/* *acc += the sum over q < n of q * slot[first + q]. */
static void M_(slots_weighted)(cuzk__msm_acc *acc, const cuzk__points *p, uint32_t first,
                               uint32_t n) {
    M_(xyzz_t) run, sum;
    M_(affine_t) a;
    M_(acc_get)(&sum, acc);
    EC_(xyzz_set_infinity)(&run);
    for (uint32_t q = n; q-- > 1;) {
        if (p->stamp[first + q]) {
            M_(get)(&a, (const M_(slot_t) *)p->slots + first + q);
            EC_(xyzz_add_affine)(&run, &run, &a);
        }
        EC_(xyzz_add)(&sum, &sum, &run);
    }
    M_(acc_put)(acc, &sum);
}
