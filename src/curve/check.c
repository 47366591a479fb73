/* DESIGN. Testing a point for membership in the subgroup takes some dozen to hundred microseconds,
 * an addition in a batch less than one. So a chunk of points is tested by sums of random subsets
 * first: if a point is outside the subgroup, a random subset's sum is outside with probability
 * 1/2 at least, since taking that point or not changes the coset. SUMS such tests miss it with
 * probability 2^-SUMS. A chunk that fails is halved until few points are left, which are tested one
 * by one. (Bellare, Garay, Rabin,
 * "Fast batch verification for modular exponentiation and digital signatures", Eurocrypt 1998:
 * the random subset test; their bucket test makes its sums the way subset_sums.inl.h does.)
 */
#include "base/cpu.h"
#include "base/mem.h"
#include "base/rand.h"
#include "curve/batch_ifma.h"
#include "curve/curve.h"
#include "curve/groups.h"

#include <stdatomic.h>
#include <string.h>

enum { CUZK__BATCH = 256, MAX_BITS = 11, CHUNK = 1 << 15, SUMS = 64, FEWEST = 128 };

typedef enum { ALL_GOOD, SOME_BAD, UNKNOWN } verdict;

#define BA bn254_g2
#define BA_EC cuzk_bn254_g2
#define BA_F cuzk_bn254_fp2
#include "curve/batch_affine.inl.h"
#define SS bn254_g2_sums
#define SS_EC cuzk_bn254_g2
#define SS_BA bn254_g2
#include "curve/subset_sums.inl.h"

#define BA bls12_381_g1
#define BA_EC cuzk_bls12_381_g1
#define BA_F cuzk_bls12_381_fp
#include "curve/batch_affine.inl.h"
#define SS bls12_381_g1_sums
#define SS_EC cuzk_bls12_381_g1
#define SS_BA bls12_381_g1
#include "curve/subset_sums.inl.h"

#define BA bls12_381_g2
#define BA_EC cuzk_bls12_381_g2
#define BA_F cuzk_bls12_381_fp2
#include "curve/batch_affine.inl.h"
#define SS bls12_381_g2_sums
#define SS_EC cuzk_bls12_381_g2
#define SS_BA bls12_381_g2
#include "curve/subset_sums.inl.h"

typedef verdict (*judge_fn)(const uint8_t *points, size_t n, unsigned bits,
                            bool (*good)(const void *));

/* NULL for BN254's G1, whose cofactor is 1. */
static judge_fn judge_of(const cuzk_curve *c, cuzk_group g) {
    if (c->id == CUZK_BN254) return g == CUZK_G1 ? NULL : bn254_g2_sums_judge;
    return g == CUZK_G1 ? bls12_381_g1_sums_judge : bls12_381_g2_sums_judge;
}

typedef struct {
    const uint8_t *points;
    size_t size, n, chunk;
    judge_fn judge;
    bool (*good)(const void *a);
    atomic_size_t first; /* lowest bad index so far */
} check;

static void check_each(check *c, size_t begin, size_t end) {
    for (size_t i = begin; i < end; i++) {
        if (c->good(c->points + i * c->size)) continue;
        size_t seen = atomic_load(&c->first);
        while (i < seen && !atomic_compare_exchange_weak(&c->first, &seen, i)) {
        }
        return;
    }
}

static void check_range(void *arg, size_t begin, size_t end) {
    check_each(arg, begin, end);
}

/* Buckets cost two additions each when a round ends, points one: an eighth as many. */
static unsigned bits_for(size_t n) {
    unsigned bits = 4;
    while (bits < MAX_BITS && (size_t)16 << bits <= n)
        bits++;
    return bits;
}

/* Halves [begin, end) towards its first bad point. */
static void search_chunk(check *c, size_t begin, size_t end) {
    for (bool known_bad = false; end - begin >= FEWEST;) {
        const size_t n = known_bad ? (end - begin) / 2 : end - begin;
        const verdict v = c->judge(c->points + begin * c->size, n, bits_for(n), c->good);
        if (v == UNKNOWN) break;
        if (v == SOME_BAD) {
            end = begin + n;
            known_bad = true;
        } else if (known_bad) {
            begin += n;
        } else {
            return;
        }
    }
    check_each(c, begin, end);
}

static void check_chunk(void *arg, size_t i) {
    check *c = arg;
    const size_t begin = i * c->chunk;
    size_t end = c->n - begin < c->chunk ? c->n : begin + c->chunk;
    /* only points before the first that is off the curve can be added up, or matter */
    const size_t first = atomic_load(&c->first);
    if (end > first) end = first;
    if (begin >= end) return;
    search_chunk(c, begin, end);
}

size_t cuzk_points_first_bad(const cuzk_curve *c, cuzk_group g, const void *points, size_t n,
                             bool subgroup, cuzk_pool *pool) {
    const cuzk_group_ops *ops = cuzk_curve_group(c, g);
    check job = {.points = points,
                 .size = ops->point_size,
                 .n = n,
                 .judge = judge_of(c, g),
                 .good = ops->on_curve};
    atomic_init(&job.first, n);
    cuzk_pool_run_ranges(pool, n, 256, 8, check_range, &job);
    if (!subgroup || !job.judge) return atomic_load(&job.first);
    job.good = ops->in_subgroup;
    job.n = atomic_load(&job.first);
    job.chunk = job.n / cuzk_pool_threads(pool) + 1;
    if (job.chunk > CHUNK) job.chunk = CHUNK;
    if (job.chunk < FEWEST) job.chunk = FEWEST;
    cuzk_pool_run(pool, (job.n + job.chunk - 1) / job.chunk, check_chunk, &job);
    return atomic_load(&job.first);
}
