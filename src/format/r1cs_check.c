/* DESIGN. The rows of an .r1cs have no index, so one pass finds where every piece begins (it reads
 * the three counts of each constraint), and threads evaluate the pieces as ranges of a flat system
 * (r1cs/flat.h). The first constraint that fails is the answer, whoever finds one first. */
#include "format/r1cs_check.h"

#include "base/bytes.h"
#include "base/mem.h"
#include "r1cs/flat.h"

#include <inttypes.h>
#include <stdatomic.h>
#include <string.h>

enum { PIECE = 4096 }; /* constraints */

typedef struct {
    const cuzk_circom_r1cs *r;
    const uint8_t *witness;
    const cuzk_circom_r1cs_iter *starts; /* of the pieces */
    _Atomic uint32_t first;              /* the first constraint known to fail, or UINT32_MAX */
    _Atomic int failed;                  /* cuzk_status */
} job;

/* A range being filled, and the constraints in it. */
typedef struct {
    cuzk_flat_range *range;
    uint32_t n, index[CUZK_FLAT_ROWS];
    cuzk_u256 value[3][CUZK_FLAT_ROWS];
    cuzk_u256 sum[3]; /* of the parts of one constraint that is longer than a range */
    bool parts;
} filling;

static bool holds(const cuzk_fr_ops *fr, const cuzk_u256 *a, const cuzk_u256 *b,
                  const cuzk_u256 *c) {
    cuzk_u256 ab;
    fr->mul(&ab, a, b);
    return memcmp(&ab, c, sizeof ab) == 0;
}

static void note(job *j, uint32_t index) {
    uint32_t first = atomic_load(&j->first);
    while (index < first && !atomic_compare_exchange_weak(&j->first, &first, index)) {
    }
}

/* unfinished: the last row goes on in the next range. */
static void flush(job *j, filling *x, bool unfinished) {
    cuzk_u256 *const out[3] = {x->value[0], x->value[1], x->value[2]};
    const cuzk_fr_ops *fr = j->r->curve->fr;
    const uint32_t n = cuzk_flat_range_eval(x->range, out);
    for (uint32_t k = 0; k < n; k++) {
        const bool open = unfinished && k == n - 1;
        if (x->parts || open) {
            for (int m = 0; m < 3; m++) {
                if (!x->parts) memset(&x->sum[m], 0, sizeof x->sum[m]);
                fr->add(&x->sum[m], &x->sum[m], &x->value[m][k]);
                x->value[m][k] = x->sum[m];
            }
            x->parts = open;
        }
        if (!open && !holds(fr, &x->value[0][k], &x->value[1][k], &x->value[2][k]))
            note(j, x->index[k]);
    }
    x->n = 0;
}

static void open_row(job *j, filling *x, uint32_t index) {
    if (!cuzk_flat_row(x->range)) {
        flush(j, x, false);
        (void)cuzk_flat_row(x->range); /* an empty range has room */
    }
    x->index[x->n++] = index;
}

static void put_row(job *j, filling *x, const cuzk_circom_r1cs_row *row, uint32_t index) {
    open_row(j, x, index);
    for (unsigned m = 0; m < 3; m++) {
        const uint8_t *t = row->lc[m].terms;
        for (size_t left = row->lc[m].n; left;) {
            const size_t done = cuzk_flat_put(x->range, m, t, CUZK_R1CS_TERM_SIZE, left);
            left -= done;
            t += done * CUZK_R1CS_TERM_SIZE;
            if (left == 0) break;
            flush(j, x, true);
            open_row(j, x, index);
        }
    }
}

static void check_piece(void *ctx, size_t k) {
    job *j = ctx;
    cuzk_circom_r1cs_iter it = j->starts[k];
    cuzk_circom_r1cs_row row;
    const uint32_t end = it.index + PIECE;
    void *mem = NULL;
    if (atomic_load(&j->first) < it.index) return; /* an earlier one fails */
    cuzk_status st = cuzk_alloc(&mem, 1, sizeof(filling));
    filling *x = mem;
    if (st == CUZK_OK)
        st = cuzk_flat_range_new(&x->range, j->r->curve->fr, CUZK_FLAT_PLAIN, j->witness,
                                 CUZK_CPU_AUTO);
    if (st == CUZK_OK) {
        while (it.index < end && cuzk_circom_r1cs_next(&it, &row))
            put_row(j, x, &row, it.index - 1);
        flush(j, x, false);
        cuzk_flat_range_free(x->range);
        cuzk_wipe(x, sizeof *x);
    } else {
        atomic_store(&j->failed, (int)st);
    }
    cuzk_free(x);
}

/* What is told of the constraint that fails. */
static void describe(const job *j, const cuzk_circom_r1cs_iter *start,
                     cuzk_circom_r1cs_failure *failure) {
    const cuzk_fr_ops *fr = j->r->curve->fr;
    cuzk_circom_r1cs_iter it = *start;
    failure->index = atomic_load(&j->first);
    while (it.index <= failure->index && cuzk_circom_r1cs_next(&it, &failure->row)) {
    }
    for (int k = 0; k < 3; k++) {
        const cuzk_circom_r1cs_lc *lc = &failure->row.lc[k];
        cuzk_u256 *sum = &failure->value[k];
        memset(sum, 0, sizeof *sum);
        for (uint32_t i = 0; i < lc->n; i++) {
            const uint8_t *t = lc->terms + (size_t)i * CUZK_R1CS_TERM_SIZE;
            cuzk_u256 coef, value;
            memcpy(&coef, t + 4, sizeof coef);
            memcpy(&value, j->witness + (size_t)cuzk_ld_u32le(t) * sizeof value, sizeof value);
            fr->to_mont(&coef, &coef);
            fr->mul(&coef, &coef, &value);
            fr->add(sum, sum, &coef);
        }
    }
}

static cuzk_status check_rows(job *j, cuzk_circom_r1cs_failure *failure, cuzk_pool *pool) {
    const size_t pieces = (j->r->n_constraints + (size_t)PIECE - 1) / PIECE;
    cuzk_circom_r1cs_iter *starts = NULL, it;
    cuzk_circom_r1cs_row row;
    CUZK_TRY(cuzk_alloc((void **)&starts, pieces + 1, sizeof *starts));
    cuzk_circom_r1cs_iter_init(&it, j->r);
    do {
        if (it.index % PIECE == 0) starts[it.index / PIECE] = it;
    } while (cuzk_circom_r1cs_next(&it, &row));
    j->starts = starts;
    cuzk_pool_run(pool, pieces, check_piece, j);
    const uint32_t first = atomic_load(&j->first);
    cuzk_status st = (cuzk_status)j->failed;
    if (st == CUZK_OK && first != UINT32_MAX) {
        describe(j, &starts[first / PIECE], failure);
        st = CUZK_STATUS_FALSE;
    }
    cuzk_free(starts);
    return st;
}

cuzk_status cuzk_circom_r1cs_check(const cuzk_circom_r1cs *r, const cuzk_wtns *w, cuzk_pool *pool,
                                   cuzk_circom_r1cs_failure *failure, cuzk_err *err) {
    if (r->curve != w->curve)
        return cuzk_err_set(err, CUZK_STATUS_BAD_INPUT,
                            "%s: section 1 (header): expected the prime of %s, as %s has it, "
                            "actual that of %s",
                            w->name, r->curve->circom, r->name, w->curve->circom);
    if (r->n_wires != w->n)
        return cuzk_err_set(err, CUZK_STATUS_BAD_INPUT,
                            "%s: section 1 (header): expected %" PRIu32
                            " wires, as %s has, actual %" PRIu32
                            ": are both from one compilation of the circuit?",
                            w->name, r->n_wires, r->name, w->n);
    job j = {.r = r, .witness = w->values};
    atomic_init(&j.first, UINT32_MAX);
    const cuzk_status st = check_rows(&j, failure, pool);
    if (st == CUZK_OK) return CUZK_OK;
    if (st != CUZK_STATUS_FALSE) return cuzk_err_set(err, st, "not enough memory to check rows");
    return cuzk_err_set(err, CUZK_STATUS_FALSE,
                        "%s does not satisfy constraint %" PRIu32 " of the %" PRIu32 " of %s",
                        w->name, failure->index, r->n_constraints, r->name);
}
