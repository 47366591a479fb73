/* Number-theoretic transforms over the scalar fields, on the CPU.
 *
 * A plan holds the tables for one field, size and family of roots; it is immutable after creation
 * and shared by any number of threads. Data are n = 2^log2n elements in Montgomery form, canonical
 * in and out, in place. No bit-reversal pass exists: the transforms come in two orders, natural to
 * bit-reversed (NR) and bit-reversed to natural (RN), and products are taken in either order.
 */
#ifndef CUZK_NTT_NTT_H
#define CUZK_NTT_NTT_H

#include "base/cpu.h"
#include "base/status.h"
#include "base/thread.h"
#include "curve/curve.h"

typedef struct cuzk_ntt_plan cuzk_ntt_plan;

/* family: 5 (snarkjs) or 7 (bellman, Filecoin); the root is cuzk_fr_root(fr, family, log2n).
 * BAD_INPUT when log2n exceeds the field's adicity. */
cuzk_status cuzk_ntt_plan_new(cuzk_ntt_plan **out, cuzk_curve_id curve, unsigned log2n,
                              unsigned family, cuzk_cpu_impl impl, cuzk_pool *pool) CUZK_MUST_CHECK;
void cuzk_ntt_plan_free(cuzk_ntt_plan *plan);
/* Bytes of a plan's tables. */
size_t cuzk_ntt_plan_bytes(cuzk_curve_id curve, unsigned log2n, cuzk_cpu_impl impl);

/* Coefficients (natural) to evaluations at w^i (bit-reversed): x[rev(i)] = sum_j c[j] w^(ij). */
void cuzk_ntt_forward_nr(const cuzk_ntt_plan *plan, cuzk_u256 *x, cuzk_pool *pool);
/* Bit-reversed coefficients to natural-order evaluations. */
void cuzk_ntt_forward_rn(const cuzk_ntt_plan *plan, cuzk_u256 *x, cuzk_pool *pool);
/* The inverses, 1/n included. nr: natural evaluations to bit-reversed coefficients. */
void cuzk_ntt_inverse_nr(const cuzk_ntt_plan *plan, cuzk_u256 *x, cuzk_pool *pool);
void cuzk_ntt_inverse_rn(const cuzk_ntt_plan *plan, cuzk_u256 *x, cuzk_pool *pool);

/* Natural evaluations on the domain {w^i} to natural evaluations on the coset {g w^i}: an inverse
 * transform, multiplication of coefficient j by g^j / n, a forward transform, fused. g in
 * Montgomery form, not zero. */
void cuzk_ntt_to_coset(const cuzk_ntt_plan *plan, cuzk_u256 *x, const cuzk_u256 *g,
                       cuzk_pool *pool);

/* Natural evaluations on the coset {g w^i} to natural-order coefficients (one transform in each
 * half of the Filecoin H pipeline). */
cuzk_status cuzk_ntt_from_coset(const cuzk_ntt_plan *plan, cuzk_u256 *x, const cuzk_u256 *g,
                                cuzk_pool *pool) CUZK_MUST_CHECK;

#endif
