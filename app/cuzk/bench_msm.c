#include "bench.h"

#include "base/clock.h"
#include "base/mem.h"
#include "msm/msm.h"

#include <stdio.h>
#include <string.h>

/* The bases are (first + i) G, so that every sum is known: (sum k_i (first + i)) G. */
typedef struct msm_case {
    cuzk_bench *b;
    const cuzk_fr_ops *fr;
    const cuzk_group_ops *group;
    cuzk_u256 first; /* Montgomery */
    void *bases;
    cuzk_u256 *scalars; /* plain */
    int64_t ns[CUZK_BENCH_MAX_RUNS];
} msm_case;

static void fill_scalars(msm_case *c, size_t n) {
    cuzk_bench_rng rng = {2};
    const cuzk_bench_pattern p = c->b->pattern;
    cuzk_u256 same;
    cuzk_bench_element(&rng, c->fr, &same);
    for (size_t i = 0; i < n; i++) {
        cuzk_u256 v = same;
        const uint64_t coin = cuzk_bench_random(&rng);
        if (p != CUZK_BENCH_EQUAL) cuzk_bench_element(&rng, c->fr, &v);
        c->fr->from_mont(&v, &v);
        if (p == CUZK_BENCH_U64) v = (cuzk_u256){{v.l[0], 0, 0, 0}};
        if (p == CUZK_BENCH_01 || (p == CUZK_BENCH_HALF01 && (coin & 2)))
            v = (cuzk_u256){{coin & 1, 0, 0, 0}};
        c->scalars[i] = v;
    }
}

/* The sum from the discrete logarithms. */
static cuzk_point expected(const msm_case *c, size_t n) {
    const cuzk_fr_ops *fr = c->fr;
    cuzk_u256 sum = {{0}}, k, log = c->first;
    for (size_t i = 0; i < n; i++) {
        fr->to_mont(&k, &c->scalars[i]);
        fr->mul(&k, &k, &log);
        fr->add(&sum, &sum, &k);
        fr->add(&log, &log, &fr->one);
    }
    fr->from_mont(&sum, &sum);
    cuzk_point out = {{0}};
    c->group->mul(out.b, c->group->generator, &sum);
    return out;
}

static cuzk_status ours(msm_case *c, unsigned log2n, const cuzk_point *want) {
    cuzk_bench *b = c->b;
    const cuzk_msm_args args = {.curve = b->curve->id,
                                .group = b->group,
                                .n = (size_t)1 << log2n,
                                .bases = c->bases,
                                .scalars = c->scalars,
                                .impl = b->impl,
                                .pool = b->pool};
    bool ok = true;
    for (unsigned r = 0; r < b->runs; r++) {
        cuzk_point got = {{0}};
        const int64_t t = cuzk_now_ns();
        CUZK_TRY(cuzk_msm(&args, &got));
        c->ns[r] = cuzk_now_ns() - t;
        cuzk_bench_disturb(&got);
        ok = ok && c->group->eq(got.b, want->b);
    }
    cuzk_bench_row row = {.op = "msm",
                          .curve = b->curve->name,
                          .group = cuzk_bench_group_name(b->group),
                          .log2n = log2n,
                          .device = "cpu",
                          .threads = b->threads,
                          .variant = cuzk_bench_pattern_name(b->pattern),
                          .verified = ok,
                          .ns = c->ns,
                          .runs = b->runs};
    cuzk_bench_add(b, &row);
    return CUZK_OK;
}

static cuzk_status theirs(msm_case *c, unsigned log2n, const cuzk_point *want, int64_t our_ns) {
    cuzk_bench *b = c->b;
    bool ok = true;
    for (unsigned r = 0; r < b->runs; r++) {
        cuzk_point got = {{0}};
        CUZK_TRY(cuzk_bench_blst_msm(b->group, c->bases, c->scalars, (size_t)1 << log2n, &got,
                                     &c->ns[r]));
        ok = ok && c->group->eq(got.b, want->b);
    }
    char note[64];
    cuzk_bench_row row = {.op = "msm",
                          .curve = b->curve->name,
                          .group = cuzk_bench_group_name(b->group),
                          .log2n = log2n,
                          .device = "blst",
                          .threads = 1,
                          .variant = cuzk_bench_pattern_name(b->pattern),
                          .verified = ok,
                          .ns = c->ns,
                          .runs = b->runs,
                          .note = note};
    int64_t least = c->ns[0];
    for (unsigned r = 1; r < b->runs; r++)
        least = c->ns[r] < least ? c->ns[r] : least;
    snprintf(note, sizeof note, "ours is %.2f times as fast", (double)least / (double)our_ns);
    cuzk_bench_add(b, &row);
    return CUZK_OK;
}

static cuzk_status one_size(msm_case *c, unsigned log2n) {
    fill_scalars(c, (size_t)1 << log2n);
    const cuzk_point want = expected(c, (size_t)1 << log2n);
    CUZK_TRY(ours(c, log2n, &want));
    const int64_t our_ns = c->ns[0]; /* sorted: the least */
    return c->b->vs_blst ? theirs(c, log2n, &want, our_ns) : CUZK_OK;
}

static cuzk_status make_bases(msm_case *c, size_t n) {
    cuzk_bench *b = c->b;
    cuzk_bench_rng rng = {3};
    cuzk_bench_element(&rng, c->fr, &c->first);
    cuzk_u256 log = c->first;
    for (size_t i = 0; i < n; i++) {
        c->fr->from_mont(&c->scalars[i], &log);
        c->fr->add(&log, &log, &c->fr->one);
    }
    return cuzk_fixed_base_mul(b->curve, b->group, c->bases, c->group->generator, c->scalars, n,
                               b->pool);
}

cuzk_status cuzk_bench_msm(cuzk_bench *b, cuzk_err *err) {
    msm_case c;
    const size_t n = (size_t)1 << b->log2_hi;
    c = (msm_case){.b = b, .fr = b->curve->fr, .group = cuzk_curve_group(b->curve, b->group)};
    const size_t base_bytes = n * c.group->point_size, scalar_bytes = n * sizeof(cuzk_u256);
    void *scalars = NULL;
    cuzk_status st = cuzk_big_alloc(&c.bases, base_bytes);
    if (st == CUZK_OK) st = cuzk_big_alloc(&scalars, scalar_bytes);
    c.scalars = scalars;
    if (st == CUZK_OK) st = make_bases(&c, n);
    for (unsigned k = b->log2_lo; k <= b->log2_hi && st == CUZK_OK; k++)
        st = one_size(&c, k);
    cuzk_big_free(c.bases, base_bytes);
    cuzk_big_free(scalars, scalar_bytes);
    if (st != CUZK_OK) cuzk_err_set(err, st, "%s (2^%u points)", cuzk_status_text(st), b->log2_hi);
    return st;
}
