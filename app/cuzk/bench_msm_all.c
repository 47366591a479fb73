/* `cuzk bench msm --all`: every kind of sum beside its measure, in turns, in one run. */
#include "bench_msm.h"

#include "base/clock.h"
#include "base/mem.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* EACH: a sum of one thread on every thread at the same time, which no way of sharing one sum can
 * beat: what the processors give. */
enum { ONE, ALL, EACH, BLST, SIDES, RUNS_MAX = 400, TURNS = 80 /* times --runs */, EACH_MAX = 256 };

/* Figures are of least times: neighbours only ever add to a time. A least time is believed when a
 * second run confirms it, which turns go on for, one run of each side a turn, for so long: */
static const double confirms = 1.01;
static const int64_t ours_least_ns = 400000000; /* times --runs; all but blst together */
static const int64_t ours_budget_ns = 8000000000;
/* So long a small sum has turns before the next size has. */
static const int64_t while_ns = 200000000;
static const int64_t wake_ns = 2000000;
/* blst's share of a run is kept bearable: few runs where one takes seconds. */
static const int64_t blst_budget_ns = 8000000000;
/* G2 and other patterns than uniform: at even sizes up to this. */
enum { OTHERS_MAX_LOG2 = 18 };

/* One kind of sum at one size, and its times. */
typedef struct cell {
    cuzk_bench_sum *sum;
    cuzk_bench_pattern pattern;
    unsigned log2n;
    cuzk_point want;
    bool side[SIDES], right[SIDES];
    unsigned runs[SIDES];
    int64_t spent[SIDES];
    cuzk_bench_time time[SIDES][RUNS_MAX];
    uint64_t additions; /* of one thread */
} cell;

typedef struct matrix {
    cuzk_bench *b;
    cuzk_bench_sum sum[2][2]; /* [bls12_381][g2] */
    double madd_ns;
} matrix;

typedef struct each {
    const matrix *m;
    cell *c;
    cuzk_status st[EACH_MAX];
    bool right[EACH_MAX];
    cuzk_bench_time time[EACH_MAX];
} each;

static void run_one_of_each(void *ctx, size_t i) {
    each *e = ctx;
    e->st[i] = cuzk_bench_sum_ours(e->c->sum, (size_t)1 << e->c->log2n, e->m->b->impl, NULL,
                                   &e->c->want, &e->right[i], &e->time[i], NULL);
}

typedef struct arrivals {
    atomic_uint here;
    unsigned all;
    int64_t end;
} arrivals;

static void arrive(void *ctx, size_t i) {
    arrivals *a = ctx;
    (void)i;
    atomic_fetch_add(&a->here, 1);
    while (atomic_load(&a->here) < a->all && cuzk_now_ns() < a->end)
        ;
}

/* Threads that sleep would be woken in the time of the sum: beside a virtual processor that has
 * nothing else to do that takes a hundredth of a sum of 2^14 points. In a prover one loop follows
 * another. Where there are more threads than processors it is given up. */
static void wake(const matrix *m) {
    arrivals a = {.all = m->b->threads, .end = cuzk_now_ns() + wake_ns};
    cuzk_pool_run(m->b->pool, m->b->threads, arrive, &a);
}

/* *t: how long all of them together take for one sum. */
static cuzk_status run_each(const matrix *m, cell *c, cuzk_bench_time *t) {
    each e = {.m = m, .c = c};
    double speeds = 0;
    const unsigned n = m->b->threads;
    for (unsigned i = 0; i < n; i++)
        e.right[i] = true;
    cuzk_pool_run(m->b->pool, n, run_one_of_each, &e);
    for (unsigned i = 0; i < n; i++) {
        CUZK_TRY(e.st[i]);
        c->right[EACH] = c->right[EACH] && e.right[i];
        speeds += 1 / (double)(e.time[i].wall > 0 ? e.time[i].wall : 1);
    }
    t->wall = t->cpu = (int64_t)(1 / speeds);
    return CUZK_OK;
}

static cuzk_status run_side(const matrix *m, cell *c, int side) {
    const size_t n = (size_t)1 << c->log2n;
    cuzk_bench_time *t = &c->time[side][c->runs[side]];
    uint64_t *additions = side == ONE ? &c->additions : NULL;
    c->runs[side]++;
    if (side == ALL || side == EACH) wake(m);
    if (side == BLST)
        CUZK_TRY(cuzk_bench_sum_blst(c->sum, n, &c->want, &c->right[side], t));
    else if (side == EACH)
        CUZK_TRY(run_each(m, c, t));
    else
        CUZK_TRY(cuzk_bench_sum_ours(c->sum, n, m->b->impl, side == ALL ? m->b->pool : NULL,
                                     &c->want, &c->right[side], t, additions));
    c->spent[side] += t->wall * (side == EACH ? (int64_t)m->b->threads : 1);
    return CUZK_OK;
}

static double time_of(const cell *c, int side, unsigned run, bool wall) {
    return (double)(wall ? c->time[side][run].wall : c->time[side][run].cpu);
}

/* The least time in nanoseconds: processor time where one thread works, which other processes do
 * not add to; 0 when the side had no run. */
static double least(const cell *c, int side, bool wall) {
    double best = c->runs[side] ? time_of(c, side, 0, wall) : 0;
    for (unsigned r = 1; r < c->runs[side]; r++) {
        const double t = time_of(c, side, r, wall);
        best = t < best ? t : best;
    }
    return best;
}

static bool confirmed_as(const cell *c, int side, bool wall) {
    const double most = confirms * least(c, side, wall);
    unsigned near = 0;
    for (unsigned r = 0; r < c->runs[side]; r++)
        near += time_of(c, side, r, wall) <= most;
    return near > 1;
}

/* In all times that a figure is made of. */
static bool confirmed(const cell *c, int side) {
    return (side == ALL || side == EACH || confirmed_as(c, side, false)) &&
           (side == BLST || confirmed_as(c, side, true));
}

/* One thread, all of them and each have as many runs, whichever needs more. */
static bool has_turn(const cell *c, int side, unsigned runs) {
    if (!c->side[side]) return false;
    if (c->runs[side] == 0) return true;
    if (side == BLST)
        return c->spent[BLST] + c->time[BLST][0].wall < blst_budget_ns &&
               (c->runs[BLST] < runs || !confirmed(c, BLST));
    if (side != ONE) return c->runs[side] < c->runs[ONE];
    if (c->runs[ONE] < runs) return true;
    bool enough = true;
    for (int s = ONE; s <= EACH; s++)
        enough = enough && (!c->side[s] || confirmed(c, s));
    return c->spent[ONE] + c->spent[ALL] + c->spent[EACH] <
           (enough ? runs * ours_least_ns : ours_budget_ns);
}

static int64_t spent(const cell *c) {
    int64_t all = 0;
    for (int side = 0; side < SIDES; side++)
        all += c->spent[side];
    return all;
}

/* Turns of one kind and size for a while; false when it had none. */
static cuzk_status some_turns(const matrix *m, cell *c, bool *any) {
    const unsigned turns = TURNS * m->b->runs < RUNS_MAX ? TURNS * m->b->runs : RUNS_MAX;
    const int64_t end = spent(c) + while_ns;
    bool more = true;
    while (more && spent(c) < end) {
        more = false;
        for (int side = 0; side < SIDES; side++) {
            if (c->runs[side] >= turns || !has_turn(c, side, m->b->runs)) continue;
            CUZK_TRY(run_side(m, c, side));
            more = *any = true;
        }
    }
    return CUZK_OK;
}

/* All sizes in turns as well: a neighbour stays for seconds or minutes, and each size should meet
 * it and miss it as often as the others. */
static cuzk_status run_cells(const matrix *m, cell *cells, size_t n) {
    bool any = true;
    while (any) {
        any = false;
        for (size_t i = 0; i < n; i++)
            CUZK_TRY(some_turns(m, &cells[i], &any));
    }
    return CUZK_OK;
}

static int compare_doubles(const void *a, const void *b) {
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Of a side's wall time by that of all threads on one sum, turn by turn. */
static double median_of_turns(const cell *c, int side) {
    double ratio[RUNS_MAX];
    const unsigned n = c->runs[ALL];
    for (unsigned r = 0; r < n; r++)
        ratio[r] = time_of(c, side, r, true) / time_of(c, ALL, r, true);
    qsort(ratio, n, sizeof *ratio, compare_doubles);
    return ratio[n / 2];
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
    const double cpu = least(c, side, false), points = (double)((size_t)1 << c->log2n);
    cuzk_buf_printf(&extra, ",\"statistic\":\"least\",\"confirmed\":%s,\"cpu_ms\":%.4f",
                    confirmed(c, side) ? "true" : "false", cpu * 1e-6);
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
    if (side == ALL) {
        add_ratio(&extra, &note, "times_one_thread", "times one thread",
                  least(c, ONE, true) / least(c, ALL, true));
        add_ratio(&extra, &note, "median_times_one_thread", "median of turns",
                  median_of_turns(c, ONE));
    }
    if (side == ALL && c->runs[EACH]) {
        add_ratio(&extra, &note, "processors_times_one_thread", "the processors give",
                  least(c, ONE, true) / least(c, EACH, true));
        add_ratio(&extra, &note, "median_share_of_processors", "median share of that",
                  median_of_turns(c, EACH));
    }
    if (!confirmed(c, side)) cuzk_buf_printf(&note, "%sunconfirmed", note.len ? ", " : "");
    const cuzk_bench_row row = {.op = "msm",
                                .curve = c->sum->curve->name,
                                .group = cuzk_bench_group_name(c->sum->group),
                                .log2n = c->log2n,
                                .device = side == BLST ? "blst" : "cpu",
                                .threads = side == ALL ? b->threads : 1,
                                .variant = cuzk_bench_pattern_name(c->pattern),
                                .verified = c->right[side] && (side != ALL || c->right[EACH]),
                                .ns = ns,
                                .runs = c->runs[side],
                                .extra = extra.data,
                                .note = note.data};
    if (extra.failed || note.failed) b->rows.failed = true;
    cuzk_bench_add(b, &row);
    cuzk_buf_free(&extra);
    cuzk_buf_free(&note);
}

static void start_cell(const matrix *m, cell *c, cuzk_bench_sum *sum, cuzk_bench_pattern pattern,
                       unsigned log2n) {
    *c = (cell){.sum = sum, .pattern = pattern, .log2n = log2n};
    /* the scalars of a larger sum begin with those of a smaller one */
    c->want = cuzk_bench_sum_fill(sum, pattern, (size_t)1 << log2n);
    c->side[ONE] = true;
    c->side[ALL] = m->b->threads > 1;
    c->side[EACH] = c->side[ALL] && m->b->threads <= EACH_MAX;
    c->side[BLST] = sum->curve->id == CUZK_BLS12_381;
    c->right[ONE] = c->right[ALL] = c->right[EACH] = c->right[BLST] = true;
}

static void measure_madd(matrix *m) {
    const bool vectors = m->b->impl == CUZK_CPU_AUTO || m->b->impl == CUZK_CPU_IFMA;
    if (!vectors || !cuzk_cpu_has_avx512_ifma()) return;
    const double madd = cuzk_bench_madd_ns();
    if (m->madd_ns == 0 || madd < m->madd_ns) m->madd_ns = madd;
}

typedef struct kind {
    cuzk_group group;
    cuzk_bench_pattern pattern;
    unsigned curves; /* 1: only BLS12-381 */
    bool every_size;
} kind;

static bool has_size(const kind *k, unsigned log2n) {
    return k->every_size || (log2n % 2 == 0 && log2n <= OTHERS_MAX_LOG2);
}

/* Both curves' sums of a kind at all its sizes, in turns. */
static cuzk_status one_kind(matrix *m, const kind *k) {
    void *mem;
    size_t n = 0;
    CUZK_TRY(
        cuzk_alloc(&mem, (size_t)k->curves * (m->b->log2_hi - m->b->log2_lo + 1), sizeof(cell)));
    cell *cells = mem;
    for (unsigned log2n = m->b->log2_lo; log2n <= m->b->log2_hi; log2n++)
        for (unsigned c = 0; c < k->curves && has_size(k, log2n); c++)
            start_cell(m, &cells[n++], &m->sum[c == 0][k->group == CUZK_G2], k->pattern, log2n);
    measure_madd(m);
    const cuzk_status st = run_cells(m, cells, n);
    for (size_t i = 0; i < n && st == CUZK_OK; i++)
        for (int side = 0; side < SIDES; side++)
            if (side != EACH && cells[i].runs[side])
                report_side(m, &cells[i], side, &cells[i / k->curves * k->curves]);
    cuzk_free(mem);
    return st;
}

static cuzk_status all_kinds(matrix *m) {
    static const kind uniform = {CUZK_G1, CUZK_BENCH_UNIFORM, 2, true},
                      g2 = {CUZK_G2, CUZK_BENCH_UNIFORM, 2, false};
    CUZK_TRY(one_kind(m, &uniform));
    for (int p = CUZK_BENCH_UNIFORM + 1; p <= CUZK_BENCH_U64; p++)
        CUZK_TRY(one_kind(m, &(kind){CUZK_G1, (cuzk_bench_pattern)p, 1, false}));
    return one_kind(m, &g2);
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
    if (st == CUZK_OK) st = all_kinds(&m);
    for (int i = 0; i < 4; i++)
        cuzk_bench_sum_free(&m.sum[i / 2][i % 2]);
    if (st != CUZK_OK) cuzk_err_set(err, st, "%s (2^%u points)", cuzk_status_text(st), b->log2_hi);
    return st;
}
