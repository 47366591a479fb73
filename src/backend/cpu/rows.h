/* The pointwise work of a proof around its transforms. Internal to the backend. Vectors are
 * Montgomery forms of length n (the domain); r1cs/eval.h and r1cs/flat.h evaluate rows. */
#ifndef CUZK_BACKEND_CPU_ROWS_H
#define CUZK_BACKEND_CPU_ROWS_H

#include "base/cpu.h"
#include "curve/curve.h"

#include <stddef.h>

/* One instance per curve and implementation (rows.inl.h). Ranges are half open. */
typedef struct cuzk_rows_ops {
    /* c = a * b */
    void (*product)(cuzk_u256 *c, const cuzk_u256 *a, const cuzk_u256 *b, size_t begin, size_t end);
    /* h = a * b - c, out of Montgomery form. h may be any of the others. */
    void (*quotient_values)(cuzk_u256 *h, const cuzk_u256 *a, const cuzk_u256 *b,
                            const cuzk_u256 *c, size_t begin, size_t end);
    /* h = (p - c) * factor, out of Montgomery form; factor is plain. h may be any of the others. */
    void (*quotient_coefs)(cuzk_u256 *h, const cuzk_u256 *p, const cuzk_u256 *c,
                           const cuzk_u256 *factor, size_t begin, size_t end);
} cuzk_rows_ops;

const cuzk_rows_ops *cuzk__rows_ops(cuzk_curve_id curve, cuzk_cpu_impl impl);

#endif
