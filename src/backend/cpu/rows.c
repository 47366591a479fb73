/* DESIGN. snarkjs writes coefficients in ascending row order, so the records are cut into ranges
 * at row changes and each range adds to rows that no other range touches. The order is not part
 * of the format, though: a range that meets a descending row says so, and then every worker walks
 * all records and keeps those of its own rows. */
#include "backend/cpu/rows.h"

#include "backend/backend.h"
#include "base/bytes.h"

#include <stdatomic.h>
#include <string.h>

extern const cuzk_rows_ops cuzk__rows_bn254_ops_asm, cuzk__rows_bn254_ops_portable;
extern const cuzk_rows_ops cuzk__rows_bls12_381_ops_asm, cuzk__rows_bls12_381_ops_portable;

const cuzk_rows_ops *cuzk__rows_ops(cuzk_curve_id curve, cuzk_cpu_impl impl) {
    bool portable = impl == CUZK_CPU_PORTABLE;
    if (curve == CUZK_BN254)
        return portable ? &cuzk__rows_bn254_ops_portable : &cuzk__rows_bn254_ops_asm;
    return portable ? &cuzk__rows_bls12_381_ops_portable : &cuzk__rows_bls12_381_ops_asm;
}

typedef struct {
    const cuzk_rows_ops *ops;
    cuzk_rows_eval *e;
    size_t pieces, rows;
    atomic_bool disorder;
} job;

static uint32_t row_of(const cuzk_rows_eval *e, size_t i) {
    return cuzk_ld_u32le(e->coefs + i * CUZK_COEF_RECORD_SIZE + 4);
}

/* First record of piece k, moved up to the next record whose row differs from its predecessor's.
 * A predecessor with a greater row is disorder, found by the piece that holds both. */
static size_t piece_start(const job *j, size_t k) {
    size_t n = j->e->n_coefs, i = n / j->pieces * k;
    if (k == 0) return 0;
    if (k >= j->pieces) return n;
    while (i < n && i > 0 && row_of(j->e, i) == row_of(j->e, i - 1))
        i++;
    return i;
}

static void run_piece(void *ctx, size_t k) {
    job *j = ctx;
    size_t begin = piece_start(j, k), end = piece_start(j, k + 1);
    if (begin >= end) return;
    if (begin > 0 && row_of(j->e, begin) < row_of(j->e, begin - 1))
        atomic_store(&j->disorder, true);
    if (!j->ops->eval_run(j->e, begin, end)) atomic_store(&j->disorder, true);
}

static void clear_rows(void *ctx, size_t begin, size_t end) {
    job *j = ctx;
    memset(j->e->a + begin, 0, (end - begin) * sizeof *j->e->a);
    memset(j->e->b + begin, 0, (end - begin) * sizeof *j->e->b);
}

static void run_row_range(void *ctx, size_t begin, size_t end) {
    job *j = ctx;
    clear_rows(j, begin, end);
    j->ops->eval_row_range(j->e, begin, end);
}

void cuzk__rows_eval(const cuzk_rows_ops *ops, cuzk_rows_eval *e, size_t n, cuzk_pool *pool) {
    enum { MIN_RECORDS = 4096 };
    job j = {.ops = ops, .e = e, .rows = n};
    atomic_init(&j.disorder, false);
    j.pieces = (size_t)cuzk_pool_threads(pool) * 8;
    if (j.pieces > e->n_coefs / MIN_RECORDS) j.pieces = e->n_coefs / MIN_RECORDS;
    if (j.pieces == 0) j.pieces = 1;
    cuzk_pool_run_ranges(pool, n, MIN_RECORDS, 4, clear_rows, &j);
    cuzk_pool_run(pool, j.pieces, run_piece, &j);
    if (atomic_load(&j.disorder)) cuzk_pool_run_ranges(pool, n, 1, 1, run_row_range, &j);
}
