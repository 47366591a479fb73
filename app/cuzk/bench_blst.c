/* blst beside ours. The only file of the program that sees blst's header. */
#include "bench.h"

#include "base/clock.h"
#include "base/mem.h"

#include <blst.h>
#include <stdio.h>
#include <string.h>

enum { MULS = 512, MUL_LOG2 = 14 };

/* Points of curve/curve.h are blst's affine points byte for byte (infinity: zeros in both). */
_Static_assert(sizeof(blst_p1_affine) == 96 && sizeof(blst_p2_affine) == 192, "layout of points");

static int64_t blst_muls(const blst_fr *a, const blst_fr *b, blst_fr *r) {
    const int64_t t = cuzk_now_ns();
    for (int k = 0; k < (1 << MUL_LOG2) / MULS; k++)
        for (int i = 0; i < MULS; i++)
            blst_fr_mul(&r[i], &a[i], &b[i]);
    return cuzk_now_ns() - t;
}

static int64_t our_muls(const cuzk_fr_ops *fr, const cuzk_u256 *a, const cuzk_u256 *b,
                        cuzk_u256 *r) {
    const int64_t t = cuzk_now_ns();
    for (int k = 0; k < (1 << MUL_LOG2) / MULS; k++)
        for (int i = 0; i < MULS; i++)
            fr->mul(&r[i], &a[i], &b[i]);
    return cuzk_now_ns() - t;
}

static void factors(const cuzk_fr_ops *fr, cuzk_u256 x[MULS], cuzk_u256 y[MULS]) {
    cuzk_bench_rng rng = {4};
    for (int i = 0; i < MULS; i++) {
        cuzk_bench_element(&rng, fr, &x[i]);
        cuzk_bench_element(&rng, fr, &y[i]);
    }
}

double cuzk_bench_fr_mul_once(const cuzk_fr_ops *fr) {
    cuzk_u256 x[MULS], y[MULS];
    blst_fr bx[MULS], by[MULS], theirs[MULS];
    factors(fr, x, y);
    memcpy(bx, x, sizeof bx);
    memcpy(by, y, sizeof by);
    return (double)blst_muls(bx, by, theirs) / (1 << MUL_LOG2);
}

void cuzk_bench_fr_mul(cuzk_bench *b) {
    const cuzk_fr_ops *fr = b->curve->fr;
    cuzk_u256 x[MULS], y[MULS], ours[MULS];
    blst_fr bx[MULS], by[MULS], theirs[MULS];
    factors(fr, x, y);
    memcpy(bx, x, sizeof bx);
    memcpy(by, y, sizeof by);
    int64_t ns[2][CUZK_BENCH_MAX_RUNS];
    for (unsigned r = 0; r < b->runs; r++) {
        ns[0][r] = our_muls(fr, x, y, ours);
        ns[1][r] = blst_muls(bx, by, theirs);
    }
    const bool same = memcmp(ours, theirs, sizeof ours) == 0;
    for (int k = 0; k < 2; k++) {
        const cuzk_bench_row row = {.op = "fr_mul",
                                    .curve = b->curve->name,
                                    .group = "fr",
                                    .log2n = MUL_LOG2,
                                    .device = k ? "blst" : "cpu",
                                    .threads = 1,
                                    .variant = "independent",
                                    .verified = same,
                                    .ns = ns[k],
                                    .runs = b->runs};
        cuzk_bench_add(b, &row);
    }
}

static void msm_g1(const void *bases, const uint8_t *scalars, size_t n, void *scratch,
                   cuzk_point *out, int64_t *ns) {
    const blst_p1_affine *const points[2] = {bases, NULL};
    const uint8_t *const ks[2] = {scalars, NULL};
    blst_p1 sum;
    blst_p1_affine affine;
    const int64_t t = cuzk_now_ns();
    blst_p1s_mult_pippenger(&sum, points, n, ks, 255, scratch);
    *ns = cuzk_now_ns() - t;
    blst_p1_to_affine(&affine, &sum);
    memcpy(out->b, &affine, sizeof affine);
}

static void msm_g2(const void *bases, const uint8_t *scalars, size_t n, void *scratch,
                   cuzk_point *out, int64_t *ns) {
    const blst_p2_affine *const points[2] = {bases, NULL};
    const uint8_t *const ks[2] = {scalars, NULL};
    blst_p2 sum;
    blst_p2_affine affine;
    const int64_t t = cuzk_now_ns();
    blst_p2s_mult_pippenger(&sum, points, n, ks, 255, scratch);
    *ns = cuzk_now_ns() - t;
    blst_p2_to_affine(&affine, &sum);
    memcpy(out->b, &affine, sizeof affine);
}

cuzk_status cuzk_bench_blst_msm(cuzk_group group, const void *bases, const void *scalars, size_t n,
                                cuzk_point *out, int64_t *ns) {
    const size_t bytes = group == CUZK_G1 ? blst_p1s_mult_pippenger_scratch_sizeof(n)
                                          : blst_p2s_mult_pippenger_scratch_sizeof(n);
    void *scratch;
    CUZK_TRY(cuzk_alloc(&scratch, 1, bytes));
    if (group == CUZK_G1)
        msm_g1(bases, scalars, n, scratch, out, ns);
    else
        msm_g2(bases, scalars, n, scratch, out, ns);
    cuzk_free(scratch);
    return CUZK_OK;
}
