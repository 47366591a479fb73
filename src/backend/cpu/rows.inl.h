/* The scalar-field loops of a proof for one curve: include-template.
 *
 * Parameters: ROWS (prefix to generate), ROWS_FE (prefix of the scalar field). See rows.h for
 * what each function does. */

#define ROWS_CAT2(a, b) a##_##b
#define ROWS_CAT(a, b) ROWS_CAT2(a, b)
#define ROWS_(name) ROWS_CAT(ROWS, name)
#define FE_(name) ROWS_CAT(ROWS_FE, name)

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
