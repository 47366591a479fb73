/* DESIGN. Threads take runs of records that begin and end where the row changes, so that each
 * writes rows that no other touches. The order of records is no part of the format, though: a run
 * that meets a descending row says so, and then the records are sorted by row (their numbers are).
 */
#include "r1cs/flat.h"

#include "base/bytes.h"
#include "base/mem.h"

#include <stdatomic.h>
#include <string.h>

enum {
    TERMS = 2048,
    COEFS = 2048,
    HASH = 2 * COEFS,
    PROBES = 8, /* a coefficient that is not found so near is added once more: a dictionary may
                   hold one twice */
};

struct cuzk_flat_range {
    const cuzk__eval_ops *ops;
    const uint8_t *witness;
    cuzk_flat_form form;
    uint32_t n_rows, n_terms, n_coefs;
    bool full; /* all coefs have been in use */
    cuzk_r1cs_row rows[CUZK_FLAT_ROWS + 1];
    cuzk_r1cs_term terms[TERMS];
    uint16_t hash[HASH];        /* ids + 1 */
    cuzk_u256 coefs[COEFS];     /* Montgomery form */
    cuzk_u256 coefs_r2[COEFS];  /* times R once more */
    cuzk_u256 as_stored[COEFS]; /* of CUZK_FLAT_PLAIN */
};

cuzk_status cuzk_flat_range_new(cuzk_flat_range **out, const cuzk_fr_ops *fr, cuzk_flat_form form,
                                const void *witness, cuzk_cpu_impl impl) {
    void *mem = NULL;
    *out = NULL;
    CUZK_TRY(cuzk_realloc(&mem, 1, sizeof **out)); /* not zeroed: most of it may stay untouched */
    cuzk_flat_range *r = mem;
    r->ops = cuzk__eval_ops_of(fr, impl);
    r->witness = witness;
    r->form = form;
    r->n_rows = r->n_terms = r->n_coefs = 0;
    r->full = false;
    memset(r->hash, 0, sizeof r->hash);
    *out = r;
    return CUZK_OK;
}

void cuzk_flat_range_free(cuzk_flat_range *r) {
    if (!r) return;
    cuzk_wipe(r->terms, sizeof r->terms); /* say which wires are 0 */
    /* A wire may have a constant's value, and then this would be found in a search for it. */
    cuzk_wipe(r->coefs, (r->full ? COEFS : r->n_coefs) * sizeof *r->coefs);
    cuzk_free(r);
}

bool cuzk_flat_row(cuzk_flat_range *r) {
    if (r->n_rows == CUZK_FLAT_ROWS || r->n_terms == TERMS || r->n_coefs == COEFS) return false;
    const uint32_t at = r->n_terms;
    r->rows[r->n_rows++] = (cuzk_r1cs_row){at, at, at, 0};
    return true;
}

static void add_coef(cuzk_flat_range *r, const cuzk_u256 *v) {
    const uint32_t id = r->n_coefs++;
    if (r->form == CUZK_FLAT_R2) {
        r->coefs_r2[id] = *v;
        r->ops->from_mont(&r->coefs[id], v);
    } else {
        r->as_stored[id] = *v;
        r->ops->to_mont(&r->coefs[id], v);
        r->ops->to_mont(&r->coefs_r2[id], &r->coefs[id]);
    }
}

/* Times R^2 every word of a coefficient is as good as random; plain ones are mixed. */
static inline uint32_t hash_of(const cuzk_u256 *v, cuzk_flat_form form) {
    if (form == CUZK_FLAT_R2) return (uint32_t)v->l[0] % HASH;
    const uint64_t mix = v->l[0] * 0x9e3779b97f4a7c15u ^ v->l[1] * 0xc2b2ae3d27d4eb4fu ^
                         v->l[2] * 0x165667b19e3779f9u ^ v->l[3] * 0xd6e8feb86659fd93u;
    return (uint32_t)(mix >> 48) % HASH;
}

static inline bool same(const cuzk_u256 *a, const cuzk_u256 *b) {
    return ((a->l[0] ^ b->l[0]) | (a->l[1] ^ b->l[1]) | (a->l[2] ^ b->l[2]) |
            (a->l[3] ^ b->l[3])) == 0;
}

/* The id of a coefficient, or COEFS when it is new and there is no room. */
static inline uint32_t coef_id(cuzk_flat_range *r, const uint8_t *value) {
    const cuzk_u256 *known = r->form == CUZK_FLAT_R2 ? r->coefs_r2 : r->as_stored;
    cuzk_u256 v;
    memcpy(&v, value, sizeof v);
    uint32_t h = hash_of(&v, r->form);
    for (uint32_t i = 0; i < PROBES; i++, h = (h + 1) % HASH) {
        const uint32_t id = r->hash[h];
        if (id == 0) {
            if (r->n_coefs == COEFS) return COEFS;
            r->hash[h] = (uint16_t)(r->n_coefs + 1);
            break;
        }
        if (same(&known[id - 1], &v)) return id - 1;
    }
    if (r->n_coefs == COEFS) return COEFS;
    add_coef(r, &v);
    return r->n_coefs - 1;
}

static inline bool is_zero_value(const uint8_t *v) {
    return (cuzk_ld_u64le(v) | cuzk_ld_u64le(v + 8) | cuzk_ld_u64le(v + 16) |
            cuzk_ld_u64le(v + 24)) == 0;
}

size_t cuzk_flat_put(cuzk_flat_range *r, unsigned m, const uint8_t *at, size_t stride, size_t n) {
    cuzk_r1cs_row *row = &r->rows[r->n_rows - 1];
    uint32_t t = r->n_terms;
    size_t i = 0;
    for (; i < n; i++, at += stride) {
        const uint32_t wire = cuzk_ld_u32le(at);
        if (is_zero_value(r->witness + (size_t)32 * wire)) continue;
        if (t == TERMS) break;
        const uint32_t id = coef_id(r, at + 4);
        if (id == COEFS) break;
        r->terms[t++] = (cuzk_r1cs_term){wire, (uint16_t)id, 1};
    }
    r->n_terms = t;
    if (m == 0) row->b = t;
    if (m <= 1) row->c = t;
    return i;
}

uint32_t cuzk_flat_range_eval(cuzk_flat_range *r, cuzk_u256 *const out[3]) {
    const uint32_t n = r->n_rows;
    const cuzk__block b = {.rows = r->rows,
                           .terms = r->terms,
                           .coefs = r->coefs,
                           .coefs_r2 = r->coefs_r2,
                           .plain = r->witness};
    r->rows[n] = (cuzk_r1cs_row){r->n_terms, r->n_terms, r->n_terms, 0};
    r->ops->rows(&b, 0, n, out, NULL);
    if (r->n_coefs == COEFS) {
        r->full = true;
        r->n_coefs = 0;
        memset(r->hash, 0, sizeof r->hash);
    }
    r->n_rows = r->n_terms = 0;
    return n;
}

/* ---- whole systems ---- */

typedef struct {
    const cuzk_flat_records *f;
    const uint8_t *witness;
    cuzk_u256 *to[2];
    cuzk_cpu_impl impl;
    size_t pieces;
    const uint32_t *order; /* of the records; NULL: as they are */
    atomic_bool disorder;
    _Atomic int failed; /* cuzk_status */
} job;

/* A range being filled by one thread, and where its rows belong. */
typedef struct {
    cuzk_flat_range *range;
    uint32_t n, row[CUZK_FLAT_ROWS];
    cuzk_u256 value[2][CUZK_FLAT_ROWS];
    uint32_t last; /* the row that the range before ended with, or UINT32_MAX */
} filling;

static const uint8_t *record(const job *j, size_t i) {
    return j->f->records + (j->order ? j->order[i] : i) * CUZK_FLAT_RECORD_SIZE;
}
static uint32_t row_of(const job *j, size_t i) {
    return cuzk_ld_u32le(record(j, i) + 4);
}

/* Rows that continue the one before them are added to it. */
static void flush(const job *j, filling *x) {
    cuzk_u256 *const out[3] = {x->value[0], x->value[1], NULL};
    const cuzk__eval_ops *ops = x->range->ops;
    const uint32_t n = cuzk_flat_range_eval(x->range, out);
    for (uint32_t k = 0; k < n; k++) {
        const uint32_t row = x->row[k];
        for (int m = 0; m < 2; m++) {
            cuzk_u256 *to = &j->to[m][row];
            if (row == x->last)
                ops->add(to, to, &x->value[m][k]);
            else
                *to = x->value[m][k];
        }
        x->last = row;
    }
    x->n = 0;
}

static void open_row(const job *j, filling *x, uint32_t row) {
    if (!cuzk_flat_row(x->range)) {
        flush(j, x);
        (void)cuzk_flat_row(x->range); /* an empty range has room */
    }
    x->row[x->n++] = row;
}

/* Records [i, end) of one row and one matrix; neighbours in the file unless they were sorted. */
static void put_run(const job *j, filling *x, size_t i, size_t end, unsigned m, uint32_t row) {
    while (i < end) {
        const size_t n = j->order ? 1 : end - i;
        const size_t done = cuzk_flat_put(x->range, m, record(j, i) + 8, CUZK_FLAT_RECORD_SIZE, n);
        i += done;
        if (done == n) continue;
        flush(j, x);
        open_row(j, x, row);
    }
}

/* False when the rows of [begin, end) do not ascend, or reach those of the next piece. */
static bool put_records(const job *j, filling *x, size_t begin, size_t end) {
    const uint32_t limit = end < j->f->n ? row_of(j, end) : UINT32_MAX;
    uint32_t last = UINT32_MAX;
    unsigned last_m = 0;
    for (size_t i = begin, e; i < end; i = e) {
        const uint32_t row = row_of(j, i);
        const unsigned m = cuzk_ld_u32le(record(j, i)) != 0;
        for (e = i + 1; e < end; e++) {
            const uint8_t *r = record(j, e);
            if (cuzk_ld_u32le(r + 4) != row || (cuzk_ld_u32le(r) != 0) != (m != 0)) break;
        }
        if ((last != UINT32_MAX && row < last) || row >= limit) return false;
        if (row != last || m < last_m) open_row(j, x, row);
        put_run(j, x, i, e, m, row);
        last = row;
        last_m = m;
    }
    return true;
}

/* First record of piece k, moved up to the next record whose row differs from its predecessor's.
 * A predecessor with a greater row is disorder, found by the piece that holds both. */
static size_t piece_start(const job *j, size_t k) {
    const size_t n = j->f->n;
    size_t i = n / j->pieces * k;
    if (k == 0) return 0;
    if (k >= j->pieces) return n;
    while (i < n && i > 0 && row_of(j, i) == row_of(j, i - 1))
        i++;
    return i;
}

/* Whether no two pieces can have a row in common, as long as each keeps below the next. */
static bool starts_ascend(const job *j) {
    size_t at = 0;
    for (size_t k = 1; k < j->pieces; k++) {
        const size_t i = piece_start(j, k);
        if (i >= j->f->n) break;
        if (i == at) continue;
        if (row_of(j, i) <= row_of(j, at)) return false;
        at = i;
    }
    return true;
}

static void run_piece(void *ctx, size_t k) {
    job *j = ctx;
    const size_t begin = piece_start(j, k), end = piece_start(j, k + 1);
    void *mem = NULL;
    if (begin >= end) return;
    cuzk_status st = cuzk_realloc(&mem, 1, sizeof(filling));
    filling *x = mem;
    if (st == CUZK_OK)
        st = cuzk_flat_range_new(&x->range, j->f->fr, CUZK_FLAT_R2, j->witness, j->impl);
    if (st == CUZK_OK) {
        x->n = 0;
        x->last = UINT32_MAX;
        if ((begin > 0 && row_of(j, begin) < row_of(j, begin - 1)) ||
            !put_records(j, x, begin, end))
            atomic_store(&j->disorder, true);
        flush(j, x);
        cuzk_wipe(x->value, sizeof x->value);
        cuzk_flat_range_free(x->range);
    } else {
        atomic_store(&j->failed, (int)st);
    }
    cuzk_free(x);
}

static void clear_rows(void *ctx, size_t begin, size_t end) {
    job *j = ctx;
    for (int m = 0; m < 2; m++)
        memset(j->to[m] + begin, 0, (end - begin) * sizeof *j->to[m]);
}

/* Numbers of the records in the order of their rows, those of a row as they were. */
static cuzk_status sort_records(const job *j, uint32_t **out) {
    const size_t n = j->f->n, rows = j->f->n_rows;
    uint32_t *start = NULL;
    *out = NULL;
    if (n > UINT32_MAX) return CUZK_STATUS_BAD_INPUT; /* a .zkey counts them in 32 bits */
    CUZK_TRY(cuzk_alloc((void **)&start, rows + 1, sizeof *start));
    const cuzk_status st = cuzk_alloc((void **)out, n, sizeof **out);
    if (st == CUZK_OK) {
        for (size_t i = 0; i < n; i++)
            start[row_of(j, i) + 1]++;
        for (size_t k = 0; k < rows; k++)
            start[k + 1] += start[k];
        for (size_t i = 0; i < n; i++)
            (*out)[start[row_of(j, i)]++] = (uint32_t)i;
    }
    cuzk_free(start);
    return st;
}

cuzk_status cuzk_flat_eval(const cuzk_flat_records *f, const void *witness, cuzk_u256 *a,
                           cuzk_u256 *b, cuzk_cpu_impl impl, cuzk_pool *pool) {
    enum { MIN_RECORDS = 4096, ENOUGH = 16384 }; /* of a piece */
    const size_t threads = cuzk_pool_threads(pool);
    uint32_t *order = NULL;
    cuzk_status st = CUZK_OK;
    job j = {.f = f, .witness = witness, .to = {a, b}, .impl = impl};
    /* each has a dictionary of its own to fill: several for a thread only where they are long */
    j.pieces = f->n / ENOUGH > threads ? f->n / ENOUGH : threads;
    if (j.pieces > 8 * threads) j.pieces = 8 * threads;
    if (j.pieces > f->n / MIN_RECORDS) j.pieces = f->n / MIN_RECORDS;
    if (j.pieces == 0) j.pieces = 1;
    atomic_init(&j.disorder, !starts_ascend(&j));
    cuzk_pool_run_ranges(pool, f->n_rows, MIN_RECORDS, 4, clear_rows, &j);
    if (!atomic_load(&j.disorder)) cuzk_pool_run(pool, j.pieces, run_piece, &j);
    if (j.failed == 0 && atomic_load(&j.disorder)) {
        CUZK_TRY(sort_records(&j, &order));
        j.order = order;
        cuzk_pool_run_ranges(pool, f->n_rows, MIN_RECORDS, 4, clear_rows, &j);
        cuzk_pool_run(pool, j.pieces, run_piece, &j);
        cuzk_free(order);
    }
    if (j.failed) st = (cuzk_status)j.failed;
    return st;
}
