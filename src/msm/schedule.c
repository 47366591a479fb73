#include "msm/schedule.h"

#include <string.h>

/* DESIGN. Stamps: 0 is an empty slot, 1 a filled one, from 2 on the number of the last batch that
 * uses the slot. Batches are numbered as they are filled. While batch k + 1 is being filled, batch
 * k waits. When k then turns a slot into infinity, k + 1 may already hold an addition to it, or
 * read it: k + 1 is then marked careful, and the stamp 0 that k left lets later entries start the
 * slot afresh by a copy, which k + 1 finds there. */

void cuzk__sched_start(cuzk__sched *s, uint32_t buckets, uint32_t limit) {
    s->buckets = buckets;
    s->limit = limit;
    s->now = 2;
    s->queued = 0;
    s->fill->n = s->ready->n = 0;
    s->fill->careful = s->ready->careful = false;
    s->pts.cancelled = false;
    memset(s->pts.stamp, 0, (buckets + CUZK__TEMPS) * sizeof *s->pts.stamp);
}

/* The batch that waits is run, the one being filled waits. */
static void advance(cuzk__sched *s) {
    cuzk__batch *done = s->ready;
    if (done->n) s->adder->run(&s->pts, done, s->fill);
    if (s->pts.cancelled) s->fill->careful = true;
    s->pts.cancelled = false;
    done->n = 0;
    done->careful = false;
    s->ready = s->fill;
    s->fill = done;
    s->now++;
}

/* Both are run. */
static void settle(cuzk__sched *s) {
    if (s->fill->n) advance(s);
    if (s->ready->n) advance(s);
}

static void append(cuzk__sched *s, uint32_t dst, uint32_t src) {
    cuzk__batch *b = s->fill;
    b->dst[b->n] = dst;
    b->src[b->n] = src;
    b->n++;
}

/* The slot `from` is added to the slot `to`, one or both of which may be infinity. */
static void append_to(cuzk__sched *s, uint32_t to, uint32_t from) {
    if (!s->pts.stamp[to] || !s->pts.stamp[from]) s->fill->careful = true;
    s->pts.stamp[to] = 1; /* from this batch on, unless the adder says otherwise */
    append(s, to, CUZK__SRC_SLOT | from << 1);
}

/* As many queued entries as fit without conflict; leaves room for one more in the batch. */
static void drain(cuzk__sched *s) {
    uint32_t kept = 0, i = 0;
    for (; i < s->queued && s->fill->n + 1 < s->limit; i++) {
        uint32_t dst = s->queue_dst[i], src = s->queue_src[i], *stamp = &s->pts.stamp[dst];
        if (*stamp == s->now) {
            s->queue_dst[kept] = dst;
            s->queue_src[kept++] = src;
        } else if (*stamp == 0) {
            s->adder->copy(&s->pts, dst, src);
            *stamp = 1;
        } else {
            *stamp = s->now;
            append(s, dst, src);
        }
    }
    memmove(s->queue_dst + kept, s->queue_dst + i, (s->queued - i) * sizeof *s->queue_dst);
    memmove(s->queue_src + kept, s->queue_src + i, (s->queued - i) * sizeof *s->queue_src);
    s->queued = kept + (s->queued - i);
}

void cuzk__sched_flush(cuzk__sched *s) {
    advance(s);
    drain(s);
}

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

/* One round: neighbours of the same bucket become one entry, a temporary. Returns whether there
 * were any. */
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
        uint32_t b = s->queue_src[i + 1], slot;
        i += 2;
        any = true;
        if (!(a & CUZK__SRC_SLOT)) {
            uint32_t t = a;
            a = b, b = t;
        }
        if (a & CUZK__SRC_SLOT) {
            slot = (a & ~CUZK__SRC_SLOT) >> 1;
        } else {
            slot = s->buckets + (*temps)++;
            s->adder->copy(&s->pts, slot, a);
            s->pts.stamp[slot] = 1;
        }
        append(s, slot, b);
        if (s->fill->n == s->limit) advance(s);
        s->queue_src[out] = CUZK__SRC_SLOT | slot << 1;
    }
    s->queued = out;
    settle(s);
    return any;
}

/* Entries whose temporary turned out to be infinity. */
static void drop_cancelled(cuzk__sched *s) {
    uint32_t out = 0;
    for (uint32_t i = 0; i < s->queued; i++) {
        uint32_t src = s->queue_src[i];
        if (src & CUZK__SRC_SLOT && s->pts.stamp[(src & ~CUZK__SRC_SLOT) >> 1] == 0) continue;
        s->queue_dst[out] = s->queue_dst[i];
        s->queue_src[out++] = src;
    }
    s->queued = out;
}

/* Empties the queue whatever it holds. */
static void empty_queue(cuzk__sched *s) {
    uint32_t temps = 0;
    settle(s);
    sort_queue(s);
    while (pair_round(s, &temps))
        drop_cancelled(s);
    /* every bucket occurs once now, and no batch uses it */
    uint32_t n = s->queued;
    s->queued = 0;
    for (uint32_t i = 0; i < n; i++) {
        uint32_t dst = s->queue_dst[i], *stamp = &s->pts.stamp[dst];
        if (*stamp == 0) {
            s->adder->copy(&s->pts, dst, s->queue_src[i]);
            *stamp = 1;
        } else {
            append(s, dst, s->queue_src[i]);
            if (s->fill->n == s->limit) advance(s);
        }
    }
    settle(s); /* the temporaries are free again */
}

void cuzk__sched_defer(cuzk__sched *s, uint32_t bucket, uint32_t src) {
    s->queue_dst[s->queued] = bucket;
    s->queue_src[s->queued] = src;
    if (++s->queued == CUZK__QUEUE_MAX) empty_queue(s);
}

void cuzk__sched_finish(cuzk__sched *s) {
    while (s->queued) {
        if (s->fill->n >= s->limit / 2)
            cuzk__sched_flush(s);
        else
            empty_queue(s);
    }
    settle(s);
}

/* DESIGN. Position by position from the last: run += bucket, sum += run, for all rows at once,
 * with the second addition one step behind so that both are in one batch: it reads run before the
 * first one writes it, because adders work backwards. A row has started once its run was not
 * empty; from then on it is added whatever its stamp, since the batch that waits may fill it. */
void cuzk__sched_reduce_rows(cuzk__sched *s, uint32_t rows, unsigned log_len) {
    const uint32_t len = (uint32_t)1 << log_len, run = s->buckets, sum = run + rows;
    uint32_t *stamp = s->pts.stamp, late[CUZK__BATCH_MAX / 2];
    uint8_t started[CUZK__BATCH_MAX / 2] = {0};
    for (uint32_t i = 0; i < 2 * rows; i++) {
        stamp[run + i] = 0;
        s->adder->clear(&s->pts, run + i);
    }
    for (uint32_t step = 0; step <= len; step++) {
        uint32_t n_late = 0;
        for (uint32_t r = 0; r < rows; r++) {
            if (started[r]) late[n_late++] = r;
            if (step == len) continue;
            uint32_t bucket = (r << log_len) + (len - 1 - step);
            if (stamp[bucket]) append_to(s, run + r, bucket), started[r] = 1;
        }
        for (uint32_t i = 0; i < n_late; i++)
            append_to(s, sum + late[i], run + late[i]);
        advance(s);
    }
    settle(s);
}

uint32_t cuzk__sched_halve(cuzk__sched *s, uint32_t n, uint32_t most) {
    uint32_t *stamp = s->pts.stamp;
    while (n > most) {
        n /= 2;
        for (uint32_t i = 0; i < n; i++) {
            if (!stamp[i + n]) continue;
            if (!stamp[i]) s->adder->clear(&s->pts, i);
            append_to(s, i, i + n);
            if (s->fill->n == s->limit) advance(s);
        }
        settle(s);
    }
    return n;
}
