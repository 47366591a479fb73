#include "msm/work.h"

#include "base/clock.h"
#include "base/mem.h"

enum {
    HUGE_PAGE = 2 << 20,
    BATCH_MIN = 64,
    CHUNK_MIN = 32,
    ROWS_MAX = CUZK__BATCH_MAX / 2,
    LANES_LEFT = 32, /* sums of weight 1 that are added one by one */
    LOG_PARTS = 2,
    LOG_FOLD = 3,
};
_Static_assert(1 << LOG_PARTS == CUZK__PARTS, "parts");
_Static_assert(2 * ROWS_MAX + 3 * (ROWS_MAX / 2) <= CUZK__TEMPS, "rows");

typedef struct {
    const cuzk__work *w;
    unsigned number;
    cuzk__msm_acc *sums;
    cuzk__sched s;
    uint64_t parts_done;    /* of whole windows, in CUZK__PART_DONE a part */
    cuzk__recoded *recoded; /* CUZK__CHUNK_MAX */
    uint32_t *index;        /* CUZK__CHUNK_MAX sources, and what put may read behind */
} thread;

static uint32_t most_buckets(const cuzk__plan *p) {
    return p->group_buckets > p->lane_buckets ? p->group_buckets : p->lane_buckets;
}

/* ---- memory ------------------------------------------------------------------------------ */

/* Hands out parts of one block; with base NULL it only counts. */
typedef struct {
    uint8_t *base;
    size_t used;
} carver;

static void *carve(carver *c, size_t n, size_t size) {
    void *p = c->base ? c->base + c->used : NULL;
    c->used += (n * size + 63) / 64 * 64;
    return p;
}

/* The slots come first: they hold points, everything behind them tells digits. */
static void lay_out(thread *t, carver *c, const cuzk__msm_kernel *k, uint32_t buckets) {
    size_t slots = (size_t)buckets + CUZK__TEMPS + k->pads;
    t->s.pts.slots = carve(c, slots, k->slot_size);
    t->s.pts.stamp = carve(c, slots, sizeof(uint32_t));
    t->s.pts.scratch = carve(c, 1, k->scratch_size);
    t->s.batch = carve(c, 1, sizeof(cuzk__batch));
    t->s.queue_dst = carve(c, CUZK__QUEUE_MAX, sizeof(uint32_t));
    t->s.queue_src = carve(c, CUZK__QUEUE_MAX, sizeof(uint32_t));
    t->s.sort_dst = carve(c, CUZK__QUEUE_MAX, sizeof(uint32_t));
    t->s.sort_src = carve(c, CUZK__QUEUE_MAX, sizeof(uint32_t));
    t->recoded = carve(c, CUZK__CHUNK_MAX, sizeof *t->recoded);
    t->index = carve(c, CUZK__CHUNK_MAX + 8, sizeof *t->index);
}

size_t cuzk__work_bytes(const cuzk__msm_kernel *k, const cuzk__plan *p) {
    thread t;
    carver c = {0};
    lay_out(&t, &c, k, most_buckets(p));
    /* What does not fill a huge page would come page by page, and the faults cost more than sums.
     */
    return (c.used + HUGE_PAGE - 1) / HUGE_PAGE * HUGE_PAGE;
}

/* ---- points of weight 1 ------------------------------------------------------------------ */

static void start(thread *t, uint32_t buckets, uint32_t limit, const uint8_t *bases) {
    t->s.pts.bases = bases;
    t->s.pts.pad = buckets + CUZK__TEMPS;
    t->w->kernel->init_pads(&t->s.pts);
    cuzk__sched_start(&t->s, buckets, limit);
}

static void finish_lanes(thread *t) {
    cuzk__sched_finish(&t->s);
    uint32_t left = cuzk__sched_halve(&t->s, t->w->plan.lane_buckets, LANES_LEFT);
    t->w->kernel->slots_sum(&t->sums[0], &t->s.pts, 0, left);
}

/* Full batches share an inversion between more additions; past a point their slots no longer
 * stay in a core's cache between the two passes, and a batch too large for the buckets meets the
 * same one too often. */
static uint32_t batch_limit(const cuzk__msm_kernel *k, uint32_t buckets) {
    uint32_t limit = k->batch_most;
    if (limit > buckets / 4) limit = buckets / 4;
    if (limit > CUZK__BATCH_MAX) limit = CUZK__BATCH_MAX;
    return limit < BATCH_MIN ? BATCH_MIN : limit / BATCH_MIN * BATCH_MIN;
}

/* Scalars 1 and -1, round robin over buckets that all have weight 1. */
static void run_ones(thread *t, size_t begin, size_t end) {
    const cuzk__work *w = t->w;
    uint32_t lanes = w->plan.lane_buckets, lane = 0;
    start(t, lanes, batch_limit(w->kernel, 4 * lanes), w->bases + begin * w->kernel->base_size);
    const uint8_t *at = w->scan->bits + begin, *stop = w->scan->bits + end;
    while ((at = memchr(at, 1, (size_t)(stop - at)))) {
        size_t i = (size_t)(at - w->scan->bits);
        uint64_t low;
        memcpy(&low, w->scalars + 32 * i, sizeof low);
        cuzk__sched_put(&t->s, lane, (uint32_t)(i - begin) << 1 | (low != 1));
        lane = (lane + 1) & (lanes - 1);
        at++;
    }
    finish_lanes(t);
}

static void run_bits(thread *t, size_t begin, size_t end) {
    const cuzk__work *w = t->w;
    const size_t size = w->kernel->base_size;
    uint32_t lanes = w->plan.lane_buckets, lane = 0;
    start(t, lanes, batch_limit(w->kernel, 4 * lanes), w->bit_bases + begin * size);
    for (size_t i = begin / 64 * 64; i < end; i += 64) {
        uint64_t word = w->bits[i / 64];
        if (end - i < 64) word &= ((uint64_t)1 << (end - i)) - 1;
        for (; word; word &= word - 1) {
            size_t at = i + (size_t)__builtin_ctzll(word);
            if (cuzk__all_zero(w->bit_bases + at * size, size)) continue;
            cuzk__sched_put(&t->s, lane, (uint32_t)(at - begin) << 1);
            lane = (lane + 1) & (lanes - 1);
        }
    }
    finish_lanes(t);
}

/* ---- windows ----------------------------------------------------------------------------- */

/* The buckets of a group of windows, one after the other. */
typedef struct {
    cuzk__span span;
    uint32_t buckets;
    unsigned log_len;  /* of rows */
    unsigned log_fold; /* rows that are made one before they are added one by one */
    uint32_t chunk;    /* points taken together: few enough that a batch meets many windows */
} layout;

/* With vectors a batch is so much faster than additions one by one that few rows should be left to
 * them. Every window's rows have to come out even. */
static unsigned log_fold(const cuzk__work *w, const layout *l) {
    uint32_t any = 1u << LOG_FOLD;
    for (unsigned x = l->span.first; x < l->span.last; x++)
        any |= cuzk__span_buckets(&l->span, &w->digits, x) >> l->log_len;
    return (unsigned)__builtin_ctz(any);
}

static layout lay_out_windows(const cuzk__work *w, const cuzk__span *span) {
    const cuzk__digits *d = &w->digits;
    layout l = {.span = *span};
    unsigned least = d->c;
    for (unsigned x = span->first; x < span->last; x++) {
        l.buckets += cuzk__span_buckets(span, d, x);
        least = cuzk__digits_width(d, x) < least ? cuzk__digits_width(d, x) : least;
    }
    unsigned log_buckets = 31 - (unsigned)__builtin_clz(l.buckets);
    const unsigned log_set = least - 1; /* of the smallest window */
    /* where a part of it begins, a row does */
    const unsigned log_row = w->shares.whole ? log_set : log_set - LOG_PARTS;
    /* Longer rows leave fewer sums to add one by one, shorter ones fill batches better. */
    while (l.log_len < log_row &&
           (l.buckets >> l.log_len > ROWS_MAX || 2 * l.log_len + 4 < log_buckets))
        l.log_len++;
    if (w->kernel->put) l.log_fold = log_fold(w, &l);
    l.chunk = (uint32_t)1 << (log_set > 2 ? log_set - 2 : 0);
    if (l.chunk < CHUNK_MIN) l.chunk = CHUNK_MIN;
    if (l.chunk > CUZK__CHUNK_MAX) l.chunk = CUZK__CHUNK_MAX;
    return l;
}

/* The points of [begin, end) that have a digit in these windows. */
static uint32_t list_chunk(thread *t, const layout *l, size_t origin, size_t begin, size_t end) {
    const cuzk__work *w = t->w;
    uint32_t n = 0;
    for (size_t i = begin; i < end; i++) {
        t->index[n] = (uint32_t)(i - origin) << 1;
        n += w->scan->bits[i] > 1 &&
             cuzk__digits_touches(&w->digits, w->scan->bits[i], l->span.first);
    }
    for (uint32_t j = n; j % 8; j++)
        t->index[j] = (uint32_t)(begin - origin) << 1;
    return n;
}

static void put_window(thread *t, const cuzk__span *span, unsigned x, uint32_t first, uint32_t n) {
    const cuzk__digits *d = &t->w->digits;
    const uint32_t from = cuzk__span_from(span, x), buckets = cuzk__span_buckets(span, d, x);
    for (uint32_t j = 0; j < n; j++) {
        int32_t digit = cuzk__digit(d, &t->recoded[j], x);
        uint32_t neg = digit < 0;
        /* 0 comes before all buckets, that is behind them */
        uint32_t place = (uint32_t)(neg ? -digit : digit) - 1 - from;
        if (place < buckets) cuzk__sched_put(&t->s, first + place, t->index[j] ^ neg);
    }
}

static void put_one_by_one(thread *t, const layout *l, const uint8_t *scalars, uint32_t n) {
    const cuzk__digits *d = &t->w->digits;
    uint32_t bucket = 0;
    for (uint32_t j = 0; j < n; j++)
        t->index[j] |= cuzk__recode(&t->recoded[j], d, scalars + 32 * (size_t)(t->index[j] >> 1));
    for (unsigned x = l->span.first; x < l->span.last; x++) {
        put_window(t, &l->span, x, bucket, n);
        bucket += cuzk__span_buckets(&l->span, d, x);
    }
}

/* acc += times * (the sum of rows): what rows weigh more for those left out before them. */
static void add_skipped(thread *t, cuzk__msm_acc *acc, uint32_t run, uint32_t rows,
                        uint32_t times) {
    const cuzk__msm_kernel *k = t->w->kernel;
    cuzk__msm_acc all;
    k->acc_zero(&all);
    k->slots_sum(&all, &t->s.pts, run, rows);
    for (; times; times >>= 1) {
        if (times & 1) k->acc_add(acc, &all);
        k->acc_dbl(&all, 1);
    }
}

/* The window's rows, from number `first` on, to its sum. */
static void sum_window(thread *t, const layout *l, unsigned x, uint32_t first) {
    const cuzk__msm_kernel *k = t->w->kernel;
    const unsigned fold = l->log_fold;
    const uint32_t all = l->buckets >> l->log_len, left = all >> fold;
    const uint32_t run = t->s.buckets + (fold ? 2 * all : 0) + (first >> fold), place = run + left;
    const uint32_t sum = fold ? place + left : place;
    const uint32_t rows = cuzk__span_buckets(&l->span, &t->w->digits, x) >> l->log_len >> fold;
    const uint32_t skipped = cuzk__span_from(&l->span, x) >> l->log_len;
    cuzk__msm_acc acc;
    k->acc_zero(&acc);
    k->slots_weighted(&acc, &t->s.pts, run, rows);
    if (fold) {
        k->acc_dbl(&acc, fold);
        k->slots_sum(&acc, &t->s.pts, place, rows);
    }
    if (skipped) add_skipped(t, &acc, run, rows, skipped);
    k->acc_dbl(&acc, l->log_len);
    k->slots_sum(&acc, &t->s.pts, sum, rows);
    k->acc_add(&t->sums[x], &acc);
}

/* Parts of whole windows that are done beside those of earlier portions. */
static void tell_progress(const thread *t, double parts) {
    cuzk__share_progress(&t->w->shares, t->number,
                         t->parts_done + (uint64_t)(parts * CUZK__PART_DONE));
}

/* Adds the digits of the points [begin, end) in the span's windows. `parts` of them, when they are
 * a portion, tell others how far this is: the sums of buckets take about two additions for each. */
static void run_windows(thread *t, const cuzk__span *span, size_t begin, size_t end,
                        uint32_t parts) {
    const cuzk__digits *d = &t->w->digits;
    const layout l = lay_out_windows(t->w, span);
    const double all = (double)(end - begin) + (double)((uint32_t)2 << (d->c - 1));
    start(t, l.buckets, batch_limit(t->w->kernel, l.buckets),
          t->w->bases + begin * t->w->kernel->base_size);
    const uint8_t *scalars = t->w->scalars + 32 * begin;
    for (size_t i = begin; i < end; i += l.chunk) {
        uint32_t n = list_chunk(t, &l, begin, i, end - i < l.chunk ? end : i + l.chunk);
        if (n && t->w->kernel->put)
            t->w->kernel->put(&t->s, d, scalars, t->index, n, span);
        else if (n)
            put_one_by_one(t, &l, scalars, n);
        tell_progress(t, parts * ((double)(i - begin) / all));
    }
    cuzk__sched_finish(&t->s);
    cuzk__sched_reduce_rows(&t->s, l.buckets >> l.log_len, l.log_len);
    if (l.log_fold) cuzk__sched_fold_rows(&t->s, l.buckets >> l.log_len, l.log_fold);
    uint32_t row = 0;
    for (unsigned x = span->first; x < span->last; x++) {
        sum_window(t, &l, x, row);
        row += cuzk__span_buckets(span, d, x) >> l.log_len;
    }
}

static cuzk__portion whole_window(unsigned x) {
    return (cuzk__portion){x * CUZK__PARTS, (x + 1) * CUZK__PARTS};
}

/* A window's first bucket of part `part`, or of the next window. */
static uint32_t part_bucket(const cuzk__digits *d, uint32_t part) {
    return (part % CUZK__PARTS << (cuzk__digits_width(d, part / CUZK__PARTS) - 1)) / CUZK__PARTS;
}

static cuzk__span span_of(const cuzk__digits *d, cuzk__portion p) {
    cuzk__span s = {.first = p.first / CUZK__PARTS,
                    .last = (p.last + CUZK__PARTS - 1) / CUZK__PARTS,
                    .skip = part_bucket(d, p.first)};
    s.stop = p.last % CUZK__PARTS ? part_bucket(d, p.last)
                                  : (uint32_t)1 << (cuzk__digits_width(d, s.last - 1) - 1);
    return s;
}

static void run_portion(thread *t, cuzk__portion p) {
    const cuzk__span span = span_of(&t->w->digits, p);
    run_windows(t, &span, 0, t->w->scan->n, p.last - p.first);
    t->parts_done += (uint64_t)CUZK__PART_DONE * (p.last - p.first);
    tell_progress(t, 0);
}

/* ---- a stretch --------------------------------------------------------------------------- */

cuzk__portion cuzk__work_whole(const cuzk__plan *p, unsigned number) {
    unsigned first = p->cut[number].seg + (p->cut[number].pos > 0), last = p->cut[number + 1].seg;
    if (first < CUZK__SEG_WINDOWS) first = CUZK__SEG_WINDOWS;
    if (last < first) last = first;
    return (cuzk__portion){(first - CUZK__SEG_WINDOWS) * CUZK__PARTS,
                           (last - CUZK__SEG_WINDOWS) * CUZK__PARTS};
}

static size_t seg_points(const cuzk__work *w, unsigned seg) {
    return seg == CUZK__SEG_BITS ? w->n_bits : w->scan->n;
}

static void run_segment(thread *t, unsigned seg, size_t begin, size_t end) {
    if (begin >= end) return;
    if (seg == CUZK__SEG_ONES) {
        run_ones(t, begin, end);
    } else if (seg == CUZK__SEG_BITS) {
        run_bits(t, begin, end);
    } else {
        const cuzk__span span = span_of(&t->w->digits, whole_window(seg - CUZK__SEG_WINDOWS));
        run_windows(t, &span, begin, end, 0);
    }
}

/* Whole windows come last, so that what the others do of them is what remains. */
static void run_stretch(thread *t) {
    const cuzk__plan *p = &t->w->plan;
    const unsigned first = p->cut[t->number].seg, last = p->cut[t->number + 1].seg;
    const size_t begin = p->cut[t->number].pos, last_pos = p->cut[t->number + 1].pos;
    const cuzk__portion whole = cuzk__work_whole(p, t->number);
    for (unsigned seg = first; seg <= last && seg < p->segments; seg++) {
        const unsigned part = (seg - CUZK__SEG_WINDOWS) * CUZK__PARTS;
        if (seg >= CUZK__SEG_WINDOWS && part >= whole.first && part < whole.last) continue;
        run_segment(t, seg, seg == first ? begin : 0,
                    seg == last ? last_pos : seg_points(t->w, seg));
    }
    const cuzk__shares *s = &t->w->shares;
    for (;;) {
        cuzk__portion next = cuzk__share_own(s, t->number, cuzk_now_ns());
        if (next.first == next.last) next = cuzk__share_other(s, t->number, cuzk_now_ns());
        if (next.first == next.last) return;
        run_portion(t, next);
    }
}

uint64_t cuzk__work_run(const cuzk__work *w, unsigned number, cuzk__msm_acc *sums, void *memory) {
    carver c = {.base = memory};
    thread t = {.w = w, .number = number, .sums = sums};
    lay_out(&t, &c, w->kernel, most_buckets(&w->plan));
    t.s.adder = &w->kernel->adder;
    run_stretch(&t);
    cuzk_wipe(t.s.pts.stamp, (size_t)(c.base + c.used - (uint8_t *)t.s.pts.stamp));
    return t.s.added;
}
