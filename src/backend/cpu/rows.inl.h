/* The scalar-field loops of a proof for one curve: include-template.
 *
 * Parameters: ROWS (prefix to generate), ROWS_FE (prefix of the scalar field). See rows.h for
 * what each function does. */

#define ROWS_CAT2(a, b) a##_##b
#define ROWS_CAT(a, b) ROWS_CAT2(a, b)
#define ROWS_(name) ROWS_CAT(ROWS, name)
#define FE_(name) ROWS_CAT(ROWS_FE, name)

/* A key stores coef * R^2, so that a Montgomery product with a plain witness value gives
 * coef * w * R: the Montgomery form of the term. */
static void ROWS_(add_term)(cuzk_u256 *acc, const uint8_t *rec, const uint8_t *witness) {
    cuzk_u256 w, k;
    memcpy(&w, witness + 32 * (size_t)cuzk_ld_u32le(rec + 8), sizeof w);
    if (FE_(is_zero)(&w)) return;
    memcpy(&k, rec + 12, sizeof k);
    FE_(mul)(&k, &k, &w);
    FE_(add)(acc, acc, &k);
}

static bool ROWS_(eval_run)(const cuzk_rows_eval *e, size_t begin, size_t end) {
    uint32_t last = 0;
    for (size_t i = begin; i < end; i++) {
        const uint8_t *rec = e->coefs + i * CUZK_COEF_RECORD_SIZE;
        const uint32_t row = cuzk_ld_u32le(rec + 4);
        if (row < last) return false;
        last = row;
        ROWS_(add_term)((cuzk_ld_u32le(rec) ? e->b : e->a) + row, rec, e->witness);
    }
    return true;
}

static void ROWS_(eval_row_range)(const cuzk_rows_eval *e, size_t row0, size_t row1) {
    for (size_t i = 0; i < e->n_coefs; i++) {
        const uint8_t *rec = e->coefs + i * CUZK_COEF_RECORD_SIZE;
        const uint32_t row = cuzk_ld_u32le(rec + 4);
        if (row < row0 || row >= row1) continue;
        ROWS_(add_term)((cuzk_ld_u32le(rec) ? e->b : e->a) + row, rec, e->witness);
    }
}

static void ROWS_(product)(cuzk_u256 *c, const cuzk_u256 *a, const cuzk_u256 *b, size_t begin,
                           size_t end) {
    for (size_t i = begin; i < end; i++)
        FE_(mul)(&c[i], &a[i], &b[i]);
}

static void ROWS_(quotient_values)(cuzk_u256 *h, const cuzk_u256 *a, const cuzk_u256 *b,
                                   const cuzk_u256 *c, size_t begin, size_t end) {
    for (size_t i = begin; i < end; i++) {
        cuzk_u256 t;
        FE_(mul)(&t, &a[i], &b[i]);
        FE_(sub)(&t, &t, &c[i]);
        FE_(from_mont)(&h[i], &t);
    }
}

static void ROWS_(quotient_coefs)(cuzk_u256 *h, const cuzk_u256 *p, const cuzk_u256 *c,
                                  const cuzk_u256 *factor, size_t begin, size_t end) {
    for (size_t i = begin; i < end; i++) {
        cuzk_u256 t;
        FE_(sub)(&t, &p[i], &c[i]);
        FE_(mul)(&h[i], &t, factor);
    }
}

const cuzk_rows_ops CUZK_ROWS_TABLE(ROWS) = {
    .eval_run = ROWS_(eval_run),
    .eval_row_range = ROWS_(eval_row_range),
    .product = ROWS_(product),
    .quotient_values = ROWS_(quotient_values),
    .quotient_coefs = ROWS_(quotient_coefs),
};

#undef ROWS_
#undef FE_
#undef ROWS_CAT
#undef ROWS_CAT2
#undef ROWS
#undef ROWS_FE
