/* Lagrange values at a known point. Internal to groth16. */
#ifndef CUZK_GROTH16_LAGRANGE_H
#define CUZK_GROTH16_LAGRANGE_H

#include "base/status.h"
#include "base/thread.h"
#include "field/field.h"

#include <stddef.h>

/* x[i] = scale * u_i / (tau - u_i) for u_i = first * step^i, i < n; Montgomery forms. With u over
 * the m-th roots of unity and scale = (tau^m - 1) / m these are Lagrange values at tau. USAGE when
 * tau is one of the u_i. pool may be NULL. */
cuzk_status cuzk__lagrange(const cuzk_fr_ops *fr, cuzk_u256 *x, size_t n, const cuzk_u256 *tau,
                           const cuzk_u256 *first, const cuzk_u256 *step, const cuzk_u256 *scale,
                           cuzk_pool *pool, cuzk_err *err) CUZK_MUST_CHECK;

/* *scale = (tau^(2^log2m) - 1) / 2^log2m */
void cuzk__lagrange_scale(const cuzk_fr_ops *fr, const cuzk_u256 *tau, unsigned log2m,
                          cuzk_u256 *scale);

#endif
