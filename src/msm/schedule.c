#include "msm/schedule.h"

#include <stdbool.h>
#include <string.h>

/* DESIGN. Stamps: 0 is an empty slot, 1 a filled one, from 2 on the number of the last batch that
 * uses the slot, so that "used by this batch" is one comparison and nothing is cleared between
 * batches. An empty bucket is filled by a copy at once: no waiting entry can refer to it, since
 * batches are run as soon as they are full. */

void cuzk__sched_start(cuzk__sched *s, uint32_t buckets, uint32_t limit) {
    s->buckets = buckets;
    s->limit = limit;
    s->now = 2;
    s->queued = 0;
    s->batch->n = 0;
    memset(s->pts.stamp, 0, ((size_t)buckets + CUZK__TEMPS) * sizeof *s->pts.stamp);
}

static void run(cuzk__sched *s) {
    s->added += s->batch->n;
    if (s->batch->n) s->adder->run(&s->pts, s->batch);
    s->batch->n = 0;
    s->now++;
}

/* slot += source, in a batch that does not use the slot yet. */
static void append(cuzk__sched *s, uint32_t dst, uint32_t src) {
    cuzk__batch *b = s->batch;
    uint32_t *stamp = &s->pts.stamp[dst];
    if (*stamp == 0) {
        s->adder->copy(&s->pts, dst, src);
        *stamp = 1;
        return;
    }
    *stamp = s->now;
    b->dst[b->n] = dst;
    b->src[b->n] = src;
    b->n++;
}

/* As many queued entries as fit without conflict; leaves room for one more in the batch. */
static void drain(cuzk__sched *s) {
    uint32_t kept = 0, i = 0;
    for (; i < s->queued && s->batch->n + 1 < s->limit; i++) {
        uint32_t dst = s->queue_dst[i], src = s->queue_src[i];
        if (s->pts.stamp[dst] == s->now) {
            s->queue_dst[kept] = dst;
            s->queue_src[kept++] = src;
        } else {
            append(s, dst, src);
        }
    }
    memmove(s->queue_dst + kept, s->queue_dst + i, (s->queued - i) * sizeof *s->queue_dst);
    memmove(s->queue_src + kept, s->queue_src + i, (s->queued - i) * sizeof *s->queue_src);
    s->queued = kept + (s->queued - i);
}

void cuzk__sched_flush(cuzk__sched *s) {
    run(s);
    drain(s);
}

/* ---- pairing ------------------------------------------------------------------------------- */

/* Sorts the queue by bucket: counting sort by 10 bits at a time, as many as buckets need. */
static void sort_queue(cuzk__sched *s) {
    enum { RADIX = 1024 };
    uint32_t *tmp;
    for (unsigned shift = 0; s->buckets >> shift; shift += 10) {
        uint32_t start[RADIX + 1] = {0};
        for (uint32_t i = 0; i < s->queued; i++)
            start[(s->queue_dst[i] >> shift) % RADIX + 1]++;
        for (uint32_t i = 0; i < RADIX; i++)
            start[i + 1] += start[i];
        for (uint32_t i = 0; i < s->queued; i++) {
            uint32_t to = start[(s->queue_dst[i] >> shift) % RADIX]++;
            s->sort_dst[to] = s->queue_dst[i];
            s->sort_src[to] = s->queue_src[i];
        }
        tmp = s->queue_dst, s->queue_dst = s->sort_dst, s->sort_dst = tmp;
        tmp = s->queue_src, s->queue_src = s->sort_src, s->sort_src = tmp;
    }
}

static uint32_t slot_of(uint32_t src) {
    return (src & ~CUZK__SRC_SLOT) >> 1;
}

/* One round over the sorted queue: neighbours of the same bucket become one entry, a temporary.
 * Returns whether there were any. */
static bool pair_round(cuzk__sched *s, uint32_t *temps) {
    uint32_t out = 0;
    bool any = false;
    for (uint32_t i = 0; i < s->queued; out++) {
        uint32_t bucket = s->queue_dst[i], a = s->queue_src[i];
        s->queue_dst[out] = bucket;
        if (i + 1 == s->queued || s->queue_dst[i + 1] != bucket) {
            s->queue_src[out] = a;
            i++;
            continue;
        }
        uint32_t b = s->queue_src[i + 1];
        i += 2;
        any = true;
        if (!(a & CUZK__SRC_SLOT)) {
            uint32_t t = a;
            a = b, b = t;
        }
        if (!(a & CUZK__SRC_SLOT)) {
            uint32_t slot = s->buckets + (*temps)++;
            s->pts.stamp[slot] = 0;
            append(s, slot, a);
            a = CUZK__SRC_SLOT | slot << 1;
        }
        append(s, slot_of(a), b);
        if (s->batch->n == s->limit) run(s);
        s->queue_src[out] = a;
    }
    s->queued = out;
    run(s);
    return any;
}

/* Entries whose temporary turned out to be infinity. */
static void drop_cancelled(cuzk__sched *s) {
    uint32_t out = 0;
    for (uint32_t i = 0; i < s->queued; i++) {
        uint32_t src = s->queue_src[i];
        if (src & CUZK__SRC_SLOT && s->pts.stamp[slot_of(src)] == 0) continue;
        s->queue_dst[out] = s->queue_dst[i];
        s->queue_src[out++] = src;
    }
    s->queued = out;
}

/* Empties the queue whatever it holds. */
static void empty_queue(cuzk__sched *s) {
    uint32_t temps = 0;
    run(s);
    sort_queue(s);
    while (pair_round(s, &temps))
        drop_cancelled(s);
    /* every bucket occurs once now, and no batch uses it */
    for (uint32_t i = 0; i < s->queued; i++) {
        append(s, s->queue_dst[i], s->queue_src[i]);
        if (s->batch->n == s->limit) run(s);
    }
    s->queued = 0;
    run(s); /* the temporaries are free again */
}

void cuzk__sched_defer(cuzk__sched *s, uint32_t bucket, uint32_t src) {
    s->queue_dst[s->queued] = bucket;
    s->queue_src[s->queued] = src;
    if (++s->queued == CUZK__QUEUE_MAX) empty_queue(s);
}

void cuzk__sched_finish(cuzk__sched *s) {
    while (s->queued) {
        if (s->batch->n >= s->limit / 2)
            cuzk__sched_flush(s);
        else
            empty_queue(s);
    }
    run(s);
}

/* ---- sums of buckets ----------------------------------------------------------------------- */

/* DESIGN. Position by position from the last: run += bucket, sum += run, for all rows at once,
 * with the second addition one step behind so that both are in one batch: it reads run before the
 * first one writes it. */
void cuzk__sched_reduce_rows(cuzk__sched *s, uint32_t rows, unsigned log_len) {
    const uint32_t len = (uint32_t)1 << log_len, run_at = s->buckets, sum_at = run_at + rows;
    uint32_t *stamp = s->pts.stamp, late[CUZK__BATCH_MAX / 2];
    memset(stamp + run_at, 0, 2 * (size_t)rows * sizeof *stamp);
    for (uint32_t step = 0; step <= len; step++) {
        uint32_t n_late = 0;
        for (uint32_t r = 0; r < rows; r++) {
            if (stamp[run_at + r] && stamp[sum_at + r])
                late[n_late++] = r;
            else if (stamp[run_at + r])
                append(s, sum_at + r, CUZK__SRC_SLOT | (run_at + r) << 1);
            if (step == len) continue;
            uint32_t bucket = (r << log_len) + (len - 1 - step);
            if (stamp[bucket]) append(s, run_at + r, CUZK__SRC_SLOT | bucket << 1);
        }
        for (uint32_t i = 0; i < n_late; i++)
            append(s, sum_at + late[i], CUZK__SRC_SLOT | (run_at + late[i]) << 1);
        run(s);
    }
}

/* As above, but the weights begin at 0, so that there is no last step, and the rows' weighted sums
 * are in the same batches. */
void cuzk__sched_fold_rows(cuzk__sched *s, uint32_t rows, unsigned log_fold) {
    const uint32_t len = (uint32_t)1 << log_fold, m = rows >> log_fold;
    const uint32_t run_from = s->buckets, sum_from = run_from + rows, run_at = sum_from + rows,
                   place_at = run_at + m, sum_at = place_at + m;
    uint32_t *stamp = s->pts.stamp, late[CUZK__BATCH_MAX / 2];
    memset(stamp + run_at, 0, 3 * (size_t)m * sizeof *stamp);
    for (uint32_t step = 0; step < len; step++) {
        uint32_t n_late = 0;
        for (uint32_t j = 0; j < m; j++) {
            const uint32_t row = (j << log_fold) + (len - 1 - step);
            if (stamp[run_at + j] && stamp[place_at + j])
                late[n_late++] = j;
            else if (stamp[run_at + j])
                append(s, place_at + j, CUZK__SRC_SLOT | (run_at + j) << 1);
            if (stamp[run_from + row])
                append(s, run_at + j, CUZK__SRC_SLOT | (run_from + row) << 1);
            if (stamp[sum_from + row])
                append(s, sum_at + j, CUZK__SRC_SLOT | (sum_from + row) << 1);
        }
        for (uint32_t i = 0; i < n_late; i++)
            append(s, place_at + late[i], CUZK__SRC_SLOT | (run_at + late[i]) << 1);
        run(s);
    }
}

uint32_t cuzk__sched_halve(cuzk__sched *s, uint32_t n, uint32_t most) {
    while (n > most) {
        n /= 2;
        for (uint32_t i = 0; i < n; i++) {
            if (s->pts.stamp[i + n]) append(s, i, CUZK__SRC_SLOT | (i + n) << 1);
            if (s->batch->n == s->limit) run(s);
        }
        run(s);
    }
    return n;
}
