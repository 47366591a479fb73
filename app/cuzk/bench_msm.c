#include "bench_msm.h"

#include "base/clock.h"
#include "base/mem.h"
#include "msm/msm.h"

#include <stdio.h>
#include <string.h>

/* ---- sums that are known ------------------------------------------------------------------- */

static cuzk_status make_bases(cuzk_bench_sum *s, cuzk_pool *pool) {
    const cuzk_fr_ops *fr = s->curve->fr;
    cuzk_bench_rng rng = {3};
    cuzk_bench_element(&rng, fr, &s->first);
    cuzk_u256 log = s->first;
    for (size_t i = 0; i < s->most; i++) {
        fr->from_mont(&s->scalars[i], &log);
        fr->add(&log, &log, &fr->one);
    }
    return cuzk_fixed_base_mul(s->curve, s->group, s->bases, s->ops->generator, s->scalars, s->most,
                               pool);
}

cuzk_status cuzk_bench_sum_new(cuzk_bench_sum *s, const cuzk_curve *curve, cuzk_group group,
                               size_t most, cuzk_pool *pool) {
    void *scalars;
    *s = (cuzk_bench_sum){
        .curve = curve, .group = group, .ops = cuzk_curve_group(curve, group), .most = most};
    CUZK_TRY(cuzk_msm_room_new(&s->room));
    CUZK_TRY(cuzk_big_alloc(&s->bases, most * s->ops->point_size));
    CUZK_TRY(cuzk_big_alloc(&scalars, most * sizeof(cuzk_u256)));
    s->scalars = scalars;
    return make_bases(s, pool);
}

void cuzk_bench_sum_free(cuzk_bench_sum *s) {
    if (s->bases) cuzk_big_free(s->bases, s->most * s->ops->point_size);
    if (s->scalars) cuzk_big_free(s->scalars, s->most * sizeof(cuzk_u256));
    cuzk_msm_room_free(s->room);
    s->bases = s->scalars = NULL;
    s->room = NULL;
}

static cuzk_point known_sum(const cuzk_bench_sum *s, size_t n) {
    const cuzk_fr_ops *fr = s->curve->fr;
    cuzk_u256 sum = {{0}}, k, log = s->first;
    for (size_t i = 0; i < n; i++) {
        fr->to_mont(&k, &s->scalars[i]);
        fr->mul(&k, &k, &log);
        fr->add(&sum, &sum, &k);
        fr->add(&log, &log, &fr->one);
    }
    fr->from_mont(&sum, &sum);
    cuzk_point out = {{0}};
    s->ops->mul(out.b, s->ops->generator, &sum);
    return out;
}

cuzk_point cuzk_bench_sum_fill(cuzk_bench_sum *s, cuzk_bench_pattern p, size_t n) {
    const cuzk_fr_ops *fr = s->curve->fr;
    cuzk_bench_rng rng = {2};
    cuzk_u256 same;
    cuzk_bench_element(&rng, fr, &same);
    for (size_t i = 0; i < n; i++) {
        cuzk_u256 v = same;
        const uint64_t coin = cuzk_bench_random(&rng);
        if (p != CUZK_BENCH_EQUAL) cuzk_bench_element(&rng, fr, &v);
        fr->from_mont(&v, &v);
        if (p == CUZK_BENCH_U64) v = (cuzk_u256){{v.l[0], 0, 0, 0}};
        if (p == CUZK_BENCH_01 || (p == CUZK_BENCH_HALF01 && (coin & 2)))
            v = (cuzk_u256){{coin & 1, 0, 0, 0}};
        s->scalars[i] = v;
    }
    return known_sum(s, n);
}

/* A pool's threads look on for a while after their last loop, which is not this sum's time. */
static int64_t cpu_of(const cuzk_pool *pool) {
    return pool ? cuzk_cpu_ns() : cuzk_thread_cpu_ns();
}

cuzk_status cuzk_bench_sum_ours(const cuzk_bench_sum *s, size_t n, cuzk_cpu_impl impl,
                                cuzk_pool *pool, const cuzk_point *want, bool *right,
                                cuzk_bench_time *time, uint64_t *additions) {
    const cuzk_msm_args args = {.curve = s->curve->id,
                                .group = s->group,
                                .n = n,
                                .bases = s->bases,
                                .scalars = s->scalars,
                                .impl = impl,
                                .pool = pool,
                                .room = s->room,
                                .additions = additions};
    cuzk_point got = {{0}};
    const int64_t wall = cuzk_now_ns(), cpu = cpu_of(pool);
    CUZK_TRY(cuzk_msm(&args, &got));
    *time = (cuzk_bench_time){cuzk_now_ns() - wall, cpu_of(pool) - cpu};
    cuzk_bench_disturb(&got);
    *right = *right && s->ops->eq(got.b, want->b);
    return CUZK_OK;
}

cuzk_status cuzk_bench_sum_blst(const cuzk_bench_sum *s, size_t n, const cuzk_point *want,
                                bool *right, cuzk_bench_time *time) {
    cuzk_point got = {{0}};
    const int64_t cpu = cpu_of(NULL);
    CUZK_TRY(cuzk_bench_blst_msm(s->group, s->bases, s->scalars, n, &got, &time->wall));
    time->cpu = cpu_of(NULL) - cpu;
    *right = *right && s->ops->eq(got.b, want->b);
    return CUZK_OK;
}

/* ---- one kind of sum ----------------------------------------------------------------------- */

static cuzk_bench_row row_of(const cuzk_bench *b, unsigned log2n, int64_t *ns) {
    return (cuzk_bench_row){.op = "msm",
                            .curve = b->curve->name,
                            .group = cuzk_bench_group_name(b->group),
                            .log2n = log2n,
                            .device = "cpu",
                            .threads = b->threads,
                            .variant = cuzk_bench_pattern_name(b->pattern),
                            .verified = true,
                            .ns = ns,
                            .runs = b->runs};
}

static cuzk_status one_size(cuzk_bench *b, cuzk_bench_sum *s, unsigned log2n) {
    const size_t n = (size_t)1 << log2n;
    const cuzk_point want = cuzk_bench_sum_fill(s, b->pattern, n);
    int64_t ours[CUZK_BENCH_MAX_RUNS], theirs[CUZK_BENCH_MAX_RUNS];
    cuzk_bench_row row = row_of(b, log2n, ours), beside = row_of(b, log2n, theirs);
    char note[64];
    for (unsigned r = 0; r < b->runs; r++) {
        cuzk_bench_time t;
        CUZK_TRY(cuzk_bench_sum_ours(s, n, b->impl, b->pool, &want, &row.verified, &t, NULL));
        ours[r] = t.wall;
        if (b->vs_blst) CUZK_TRY(cuzk_bench_sum_blst(s, n, &want, &beside.verified, &t));
        theirs[r] = t.wall;
    }
    cuzk_bench_add(b, &row);
    if (!b->vs_blst) return CUZK_OK;
    int64_t least = theirs[0];
    for (unsigned r = 1; r < b->runs; r++)
        least = theirs[r] < least ? theirs[r] : least;
    snprintf(note, sizeof note, "ours is %.2f times as fast", (double)least / (double)ours[0]);
    beside.device = "blst";
    beside.threads = 1;
    beside.note = note;
    cuzk_bench_add(b, &beside);
    return CUZK_OK;
}

cuzk_status cuzk_bench_msm(cuzk_bench *b, cuzk_err *err) {
    if (b->all) return cuzk_bench_msm_all(b, err);
    cuzk_bench_sum s;
    cuzk_status st = cuzk_bench_sum_new(&s, b->curve, b->group, (size_t)1 << b->log2_hi, b->pool);
    for (unsigned k = b->log2_lo; k <= b->log2_hi && st == CUZK_OK; k++)
        st = one_size(b, &s, k);
    cuzk_bench_sum_free(&s);
    if (st != CUZK_OK) cuzk_err_set(err, st, "%s (2^%u points)", cuzk_status_text(st), b->log2_hi);
    return st;
}
