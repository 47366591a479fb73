/* `cuzk bench msm --all`: every kind of sum beside its measure, in turns, in one run. */
#include "bench_msm.h"

#include <stdio.h>
#include <string.h>

enum { ONE, ALL, BLST, SIDES, RUNS_MAX = 25 };

/* blst's share of a run is kept bearable: few runs where one takes seconds. */
static const int64_t blst_budget_ns = 8000000000;
/* Short sums are repeated for so long, that one of them may find the machine to itself. */
static const int64_t more_ns = 2000000000;
/* G2 and other patterns than uniform: at even sizes up to this. */
enum { OTHERS_MAX_LOG2 = 18 };

/* One kind of sum at one size, and its times. */
typedef struct cell {
    cuzk_bench_sum *sum;
    cuzk_bench_pattern pattern;
    cuzk_point want;
    bool side[SIDES], right[SIDES];
    unsigned runs[SIDES];
    cuzk_bench_time time[SIDES][RUNS_MAX];
    uint64_t additions; /* of one thread */
} cell;

typedef struct matrix {
    cuzk_bench *b;
    cuzk_bench_sum sum[2][2]; /* [bls12_381][g2] */
    unsigned log2n;
    double madd_ns;
} matrix;

static cuzk_status run_side(const matrix *m, cell *c, int side) {
    const size_t n = (size_t)1 << m->log2n;
    cuzk_bench_time *t = &c->time[side][c->runs[side]];
    uint64_t *additions = side == ONE ? &c->additions : NULL;
    c->runs[side]++;
    if (side == BLST) return cuzk_bench_sum_blst(c->sum, n, &c->want, &c->right[side], t);
    return cuzk_bench_sum_ours(c->sum, n, m->b->impl, side == ALL ? m->b->pool : NULL, &c->want,
                               &c->right[side], t, additions);
}

static bool has_turn(const cell *c, int side, unsigned runs) {
    const unsigned done = c->runs[side];
    if (!c->side[side]) return false;
    if (done == 0) return true;
    const int64_t next = (done + 1) * c->time[side][0].wall;
    return side == BLST ? done < runs && next < blst_budget_ns : done < runs || next < more_ns;
}

static cuzk_status run_cells(const matrix *m, cell *cells, size_t n) {
    for (unsigned r = 0; r < RUNS_MAX; r++)
        for (size_t i = 0; i < n; i++)
            for (int side = 0; side < SIDES; side++)
                if (has_turn(&cells[i], side, m->b->runs)) CUZK_TRY(run_side(m, &cells[i], side));
    return CUZK_OK;
}

/* The least time in nanoseconds: processor time where one thread works, which other processes do
 * not add to; 0 when the side had no run. */
static double least(const cell *c, int side, bool wall) {
    int64_t best = INT64_MAX;
    for (unsigned r = 0; r < c->runs[side]; r++) {
        const int64_t t = wall ? c->time[side][r].wall : c->time[side][r].cpu;
        best = t < best ? t : best;
    }
    return c->runs[side] ? (double)best : 0;
}

static void add_ratio(cuzk_buf *extra, cuzk_buf *note, const char *name, const char *words,
                      double ratio) {
    cuzk_buf_printf(extra, ",\"%s\":%.4f", name, ratio);
    cuzk_buf_printf(note, "%s%s %.3f", note->len ? ", " : "", words, ratio);
}

/* Multiply-adds of eight additions: five products and a square. Products and squares as
 * field/vec_fp_ifma.inl.h and vec_fp2_ifma.inl.h make them. */
static unsigned madds_of_additions(const cuzk_curve *curve, cuzk_group group) {
    static const unsigned product[2][2] = {{101, 252}, {257, 642}},
                          square[2][2] = {{81, 202}, {201, 514}};
    const int c = curve->id == CUZK_BLS12_381, g = group == CUZK_G2;
    return 5 * product[c][g] + square[c][g];
}

static void report_side(const matrix *m, const cell *c, int side, const cell *bls) {
    cuzk_bench *b = m->b;
    int64_t ns[RUNS_MAX];
    cuzk_buf extra = CUZK_BUF_INIT, note = CUZK_BUF_INIT;
    for (unsigned r = 0; r < c->runs[side]; r++)
        ns[r] = c->time[side][r].wall;
    const double cpu = least(c, side, false), points = (double)((size_t)1 << m->log2n);
    cuzk_buf_printf(&extra, ",\"cpu_ms\":%.4f", cpu * 1e-6);
    if (side == ONE) {
        cuzk_buf_printf(&extra, ",\"us_a_point\":%.4f,\"additions\":%llu", cpu * 1e-3 / points,
                        (unsigned long long)c->additions);
        if (c->runs[BLST])
            add_ratio(&extra, &note, "times_blst", "times blst", least(c, BLST, false) / cpu);
        if (bls && bls != c)
            add_ratio(&extra, &note, "of_bls12_381", "of bls12_381", cpu / least(bls, ONE, false));
        if (m->madd_ns > 0)
            add_ratio(&extra, &note, "port_share", "of the port bound",
                      (double)c->additions / 8 * m->madd_ns *
                          madds_of_additions(c->sum->curve, c->sum->group) / cpu);
    }
    if (side == ALL)
        add_ratio(&extra, &note, "times_one_thread", "times one thread",
                  least(c, ONE, true) / least(c, ALL, true));
    const cuzk_bench_row row = {.op = "msm",
                                .curve = c->sum->curve->name,
                                .group = cuzk_bench_group_name(c->sum->group),
                                .log2n = m->log2n,
                                .device = side == BLST ? "blst" : "cpu",
                                .threads = side == ALL ? b->threads : 1,
                                .variant = cuzk_bench_pattern_name(c->pattern),
                                .verified = c->right[side],
                                .ns = ns,
                                .runs = c->runs[side],
                                .extra = extra.data,
                                .note = note.data};
    if (extra.failed || note.failed) b->rows.failed = true;
    cuzk_bench_add(b, &row);
    cuzk_buf_free(&extra);
    cuzk_buf_free(&note);
}

/* Runs both curves' sums of a kind in turns; with `both` false only those of BLS12-381. */
static cuzk_status one_kind(matrix *m, cuzk_group group, cuzk_bench_pattern pattern, bool both) {
    cell cells[2] = {{.pattern = pattern}, {.pattern = pattern}};
    const size_t n = both ? 2 : 1;
    for (size_t i = 0; i < n; i++) {
        cell *c = &cells[i];
        c->sum = &m->sum[i == 0][group == CUZK_G2];
        c->want = cuzk_bench_sum_fill(c->sum, pattern, (size_t)1 << m->log2n);
        c->side[ONE] = true;
        c->side[ALL] = m->b->threads > 1;
        c->side[BLST] = i == 0;
        c->right[ONE] = c->right[ALL] = c->right[BLST] = true;
    }
    CUZK_TRY(run_cells(m, cells, n));
    for (size_t i = 0; i < n; i++)
        for (int side = 0; side < SIDES; side++)
            if (cells[i].runs[side]) report_side(m, &cells[i], side, &cells[0]);
    return CUZK_OK;
}

static cuzk_status one_size(matrix *m) {
    const bool vectors = m->b->impl == CUZK_CPU_AUTO || m->b->impl == CUZK_CPU_IFMA;
    if (vectors && cuzk_cpu_has_avx512_ifma()) {
        const double madd = cuzk_bench_madd_ns();
        if (m->madd_ns == 0 || madd < m->madd_ns) m->madd_ns = madd;
    }
    CUZK_TRY(one_kind(m, CUZK_G1, CUZK_BENCH_UNIFORM, true));
    if (m->log2n % 2 || m->log2n > OTHERS_MAX_LOG2) return CUZK_OK;
    for (int p = CUZK_BENCH_UNIFORM + 1; p <= CUZK_BENCH_U64; p++)
        CUZK_TRY(one_kind(m, CUZK_G1, (cuzk_bench_pattern)p, false));
    return one_kind(m, CUZK_G2, CUZK_BENCH_UNIFORM, true);
}

static cuzk_status new_sums(matrix *m) {
    for (int c = 0; c < 2; c++)
        for (int g = 0; g < 2; g++) {
            unsigned most = m->b->log2_hi;
            if (g && most > OTHERS_MAX_LOG2) most = OTHERS_MAX_LOG2;
            CUZK_TRY(cuzk_bench_sum_new(&m->sum[c][g],
                                        cuzk_curve_get(c ? CUZK_BLS12_381 : CUZK_BN254),
                                        g ? CUZK_G2 : CUZK_G1, (size_t)1 << most, m->b->pool));
        }
    return CUZK_OK;
}

cuzk_status cuzk_bench_msm_all(cuzk_bench *b, cuzk_err *err) {
    matrix m = {.b = b};
    if (b->runs > RUNS_MAX) b->runs = RUNS_MAX;
    cuzk_status st = new_sums(&m);
    for (m.log2n = b->log2_lo; m.log2n <= b->log2_hi && st == CUZK_OK; m.log2n++)
        st = one_size(&m);
    for (int i = 0; i < 4; i++)
        cuzk_bench_sum_free(&m.sum[i / 2][i % 2]);
    if (st != CUZK_OK) cuzk_err_set(err, st, "%s (2^%u points)", cuzk_status_text(st), b->log2_hi);
    return st;
}
