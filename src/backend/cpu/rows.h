/* Constraint rows of a flat system: a = A w, b = B w, and the pointwise work around the transforms.
 * Internal to the backend. Vectors are Montgomery forms of length n (the domain). */
#ifndef CUZK_BACKEND_CPU_ROWS_H
#define CUZK_BACKEND_CPU_ROWS_H

#include "base/cpu.h"
#include "base/thread.h"
#include "curve/curve.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct cuzk_rows_eval {
    const uint8_t *coefs; /* records of CUZK_COEF_RECORD_SIZE bytes, backend/backend.h; checked */
    size_t n_coefs;
    const uint8_t *witness; /* plain, 32 bytes each */
    cuzk_u256 *a, *b;       /* zeroed by the caller */
} cuzk_rows_eval;

/* One instance per curve and implementation (rows.inl.h). Ranges are half open. */
typedef struct cuzk_rows_ops {
    /* Adds the records [begin, end) to a and b; false when their rows are not in ascending order,
     * in which case a and b are half done. */
    bool (*eval_run)(const cuzk_rows_eval *e, size_t begin, size_t end);
    /* Adds the records whose row lies in [row0, row1), whatever their order. */
    void (*eval_row_range)(const cuzk_rows_eval *e, size_t row0, size_t row1);
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

/* Fills e->a and e->b (n rows each, zeroed here), in parallel. */
void cuzk__rows_eval(const cuzk_rows_ops *ops, cuzk_rows_eval *e, size_t n, cuzk_pool *pool);

#endif
