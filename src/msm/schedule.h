/* Which additions may share an inversion: the part of the algorithm that needs no coordinates.
 * docs/msm.md describes the whole.
 *
 * Points live in numbered slots: buckets first, then temporaries. A batch is a list of additions
 * slot += source whose slots are all different; an adder executes it with one inversion. The
 * scheduler takes (bucket, source) pairs in any order and fills batches. A bucket that the batch
 * being filled already uses sends its entry to a queue, which is looked at again after the batch.
 * A queue that grows is emptied by adding entries of the same bucket pairwise, so that no
 * distribution of buckets is slow.
 *
 * The code knows points only through cuzk__adder, which a test replaces by integers.
 */
#ifndef CUZK_MSM_SCHEDULE_H
#define CUZK_MSM_SCHEDULE_H

#include <stddef.h>
#include <stdint.h>

enum {
    CUZK__BATCH_MAX = 1024,
    CUZK__BATCH_PAD = 64, /* room behind a batch for an adder that fills its lanes up */
    CUZK__QUEUE_MAX = 8 * CUZK__BATCH_MAX,
    /* temporaries: half a queue of pairs, or two sums for each row of a reduction */
    CUZK__TEMPS = CUZK__QUEUE_MAX / 2,
};

/* A source: base or slot `index` << 1, bit 0 set to subtract it. */
#define CUZK__SRC_SLOT 0x80000000u
#define CUZK__SRC_INDEX_MAX 0x3fffffffu

typedef struct cuzk__batch {
    uint32_t n;
    uint32_t dst[CUZK__BATCH_MAX + CUZK__BATCH_PAD];
    uint32_t src[CUZK__BATCH_MAX + CUZK__BATCH_PAD];
} cuzk__batch;

/* The points an adder works on. A slot is empty, that is infinity, when its stamp is 0, whatever
 * it holds. */
typedef struct cuzk__points {
    const uint8_t *bases; /* stored form, slot_size apart, any alignment */
    void *slots;
    void *scratch;
    uint32_t *stamp; /* one for each slot */
    uint32_t pad;    /* first of the adder's own slots behind the temporaries */
} cuzk__points;

typedef struct cuzk__adder {
    /* Executes a batch of at least one entry. No slot or source is infinity, but they may be equal
     * or opposite; a slot whose sum is infinity gets stamp 0. A source may be the slot of an
     * earlier entry, and is read before that one is written. May write behind n. */
    void (*run)(cuzk__points *p, cuzk__batch *b);
    /* slot = source */
    void (*copy)(cuzk__points *p, uint32_t slot, uint32_t src);
} cuzk__adder;

typedef struct cuzk__sched {
    cuzk__points pts;
    const cuzk__adder *adder;
    uint32_t buckets; /* slots [0, buckets); temporaries follow */
    uint32_t limit;   /* entries of a full batch, at most BATCH_MAX */
    uint32_t now;     /* number of the batch being filled: stamps of its buckets */
    uint32_t queued;
    uint64_t added; /* entries of all batches so far; cuzk__sched_start does not forget them */
    cuzk__batch *batch;
    uint32_t *queue_dst, *queue_src, *sort_dst, *sort_src; /* QUEUE_MAX each */
} cuzk__sched;

/* Forgets everything and declares slots [0, buckets) empty. stamp has buckets + TEMPS entries. */
void cuzk__sched_start(cuzk__sched *s, uint32_t buckets, uint32_t limit);

/* Runs the batch, moves what the queue holds into the next one. */
void cuzk__sched_flush(cuzk__sched *s);

/* Puts an entry aside whose bucket the batch already uses. */
void cuzk__sched_defer(cuzk__sched *s, uint32_t bucket, uint32_t src);

/* bucket += source, some time before cuzk__sched_finish returns. The source must not be
 * infinity. */
static inline void cuzk__sched_put(cuzk__sched *s, uint32_t bucket, uint32_t src) {
    uint32_t stamp = s->pts.stamp[bucket];
    if (__builtin_expect(stamp == s->now, 0)) {
        cuzk__sched_defer(s, bucket, src);
        return;
    }
    if (__builtin_expect(stamp == 0, 0)) {
        s->adder->copy(&s->pts, bucket, src);
        s->pts.stamp[bucket] = 1;
        return;
    }
    s->pts.stamp[bucket] = s->now;
    cuzk__batch *b = s->batch;
    b->dst[b->n] = bucket;
    b->src[b->n] = src;
    if (++b->n == s->limit) cuzk__sched_flush(s);
}

/* Executes everything put so far. */
void cuzk__sched_finish(cuzk__sched *s);

/* For each of `rows` rows of 2^log_len buckets from slot 0 on: temporary row = sum of its
 * buckets, temporary rows + row = sum of (position + 1) * bucket, with positions from 0.
 * 2 * rows <= BATCH_MAX. After finish. */
void cuzk__sched_reduce_rows(cuzk__sched *s, uint32_t rows, unsigned log_len);

/* What reduce_rows left for so many rows, once more: of each 2^log_fold rows of a window,
 * 2^log_fold
 * >= 2 a divisor of their number, one is made. With m = rows >> log_fold, temporary 2 rows + j is
 * the sum of the rows' buckets, 2 rows + m + j the sum of position * (sum of a row's buckets), with
 * positions from 0, and 2 rows + 2 m + j the sum of what the rows have weighted. */
void cuzk__sched_fold_rows(cuzk__sched *s, uint32_t rows, unsigned log_fold);

/* Adds slots [0, n) pairwise until at most `most` remain at the front; n a power of two. Returns
 * how many remain. After finish. */
uint32_t cuzk__sched_halve(cuzk__sched *s, uint32_t n, uint32_t most);

#endif
