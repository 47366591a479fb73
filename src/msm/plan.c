#include "msm/plan.h"

#include "msm/schedule.h"

/* The model counts in additions. A bucket costs two when its window's sums are reduced, some more
 * for rows and for batches that are not full, and saves one: its first point is copied. */
#define REDUCE_PER_BUCKET 1.4
/* With fast additions the copy costs as much as it saves. */
#define REDUCE_PER_BUCKET_VECTORS 2.0

enum {
    GROUP_BUCKETS = 1 << 14,         /* fewer and a batch meets the same bucket too often */
    GROUP_BUCKETS_VECTORS = 1 << 15, /* and the passes over the points cost more beside the rest */
    LANES_MIN = 64,
    THREAD_ADDS = 8192, /* a thread with less to do costs more to set up */
    WIDTH_AUTO_MAX = 19,
};

void cuzk__bit_scan_run(cuzk__bit_scan *b, const uint64_t *bits, size_t n) {
    memset(b, 0, sizeof *b);
    b->n = n;
    b->step = (n / CUZK__SCAN_BLOCKS / 64 + 1) * 64;
    b->blocks = n / b->step + (n % b->step != 0);
    for (size_t i = 0; i < n; i += 64) {
        uint64_t w = bits[i / 64];
        if (n - i < 64) w &= ((uint64_t)1 << (n - i)) - 1;
        b->count[i / b->step] += (uint32_t)__builtin_popcountll(w);
    }
    for (size_t j = 0; j < b->blocks; j++)
        b->total += b->count[j];
}

/* ---- the width --------------------------------------------------------------------------- */

/* from[b]: points of bit length b or more. Those of bit length 1 are a segment of their own. Added
 * up once: the model asks for each window of each width. */
typedef struct {
    size_t from[CUZK__SCAN_BITS + 1];
} lengths;

static void count_lengths(lengths *l, const cuzk__scan_block *b) {
    l->from[CUZK__SCAN_BITS] = 0;
    for (unsigned bits = CUZK__SCAN_BITS; bits-- > 0;)
        l->from[bits] = l->from[bits + 1] + (bits > 1 ? b->count[bits] : 0);
}

/* Points that window x visits: longer scalars visit all that shorter ones do. */
static size_t visits(const lengths *l, const cuzk__digits *d, unsigned x) {
    return l->from[cuzk__digits_reach(d, x)];
}

static unsigned most_bits(const cuzk__scan *s) {
    unsigned bits = CUZK__SCAN_BITS - 1;
    while (bits > 1 && s->all.count[bits] == 0)
        bits--;
    return bits;
}

/* Buckets beyond a core's cache: an addition then waits for them now and then. */
static double addition_cost(const cuzk__costs *costs, unsigned c) {
    size_t bytes = costs->slot_size << (c - 1);
    if (costs->vectors) {
        const double more = bytes > 3u << 19   ? 0.45
                            : bytes > 3u << 18 ? 0.2
                            : bytes > 3u << 17 ? 0.04
                                               : 0;
        /* over Fp2 an addition takes three times as long */
        return 1 + (costs->slot_size > 128 && bytes > 3u << 18 ? more / 2 : more);
    }
    return bytes > 8u << 20 ? 1.25 : bytes > 2u << 20 ? 1.08 : bytes > 512u << 10 ? 1.02 : 1.0;
}

static double reduction_cost(const cuzk__costs *costs) {
    return costs->vectors ? REDUCE_PER_BUCKET_VECTORS : REDUCE_PER_BUCKET;
}

/* How many of `threads` so many additions keep busy. */
static unsigned threads_for(double additions, unsigned threads) {
    return additions < (double)threads * THREAD_ADDS ? (unsigned)(additions / THREAD_ADDS) + 1
                                                     : threads;
}

static unsigned choose_width(const cuzk__scan *s, const lengths *l, const cuzk_u256 *order,
                             const cuzk__costs *costs, unsigned threads) {
    unsigned best = CUZK__WIDTH_MIN;
    double best_cost = 0;
    for (unsigned c = best; c <= WIDTH_AUTO_MAX; c++) {
        cuzk__digits d;
        cuzk__digits_init(&d, order, most_bits(s), c);
        if (d.c < c) continue; /* fewer bits do for as many windows */
        double cost = 0;
        for (unsigned x = 0; x < d.windows; x++)
            cost += (double)visits(l, &d, x) * addition_cost(costs, c);
        /* a window that two threads share is reduced twice, and none is where they come out even */
        size_t buckets = cuzk__digits_buckets(&d, 0, d.windows);
        const unsigned used = threads_for(cost, threads);
        if (d.windows % used) buckets += (size_t)(used - 1) << (c - 1);
        cost += reduction_cost(costs) * (double)buckets;
        if (best_cost == 0 || cost < best_cost) best_cost = cost, best = c;
    }
    return best;
}

/* ---- cutting ------------------------------------------------------------------------------- */

typedef struct {
    const cuzk__plan *p;
    const cuzk__digits *d;
    const cuzk__scan *s;
    const cuzk__bit_scan *b;
    const cuzk__costs *costs;
    const lengths *all;
} source;

static size_t seg_block(const source *a, unsigned seg, size_t j) {
    if (seg == CUZK__SEG_ONES) return a->s->block[j].count[1];
    if (seg == CUZK__SEG_BITS) return a->b->count[j];
    size_t n = 0;
    for (unsigned bits = cuzk__digits_reach(a->d, seg - CUZK__SEG_WINDOWS); bits < CUZK__SCAN_BITS;
         bits++)
        n += bits > 1 ? a->s->block[j].count[bits] : 0;
    return n;
}

static size_t seg_adds(const source *a, unsigned seg) {
    if (seg == CUZK__SEG_ONES) return a->s->all.count[1];
    if (seg == CUZK__SEG_BITS) return a->b->total;
    return visits(a->all, a->d, seg - CUZK__SEG_WINDOWS);
}

/* What a segment costs once more when it is split. */
static double seg_fixed(const source *a, unsigned seg) {
    if (seg_adds(a, seg) == 0) return 0;
    if (seg < CUZK__SEG_WINDOWS) return a->p->lane_buckets;
    unsigned x = seg - CUZK__SEG_WINDOWS;
    return reduction_cost(a->costs) * (double)cuzk__digits_buckets(a->d, x, x + 1);
}

/* The position in the segment before which about `adds` additions lie. */
static size_t seg_position(const source *a, unsigned seg, double adds) {
    bool bits = seg == CUZK__SEG_BITS;
    size_t step = bits ? a->b->step : a->s->step, blocks = bits ? a->b->blocks : a->s->blocks;
    size_t n = bits ? a->b->n : a->s->n, j = 0;
    for (; j < blocks; j++) {
        double here = (double)seg_block(a, seg, j);
        if (here >= adds && here > 0) break;
        adds -= here;
    }
    if (j == blocks) return n;
    size_t pos = j * step + (size_t)((double)step * adds / (double)seg_block(a, seg, j));
    return pos < n ? pos / 64 * 64 : n;
}

static void cut(cuzk__plan *p, const source *a) {
    double total = 0;
    for (unsigned seg = 0; seg < p->segments; seg++)
        total += (double)seg_adds(a, seg) + seg_fixed(a, seg);
    p->threads = threads_for(total, p->threads);
    /* a cut inside a window adds a reduction; each is taken for one until it is made */
    const double more = reduction_cost(a->costs) * (double)(1u << (a->d->c - 1));
    total += (p->threads - 1) * more;
    unsigned seg = 0;
    double done = 0; /* additions of seg that earlier threads do */
    p->cut[0].seg = 0;
    p->cut[0].pos = 0;
    for (unsigned t = 1; t < p->threads; t++) {
        const double share = total / (p->threads - t + 1); /* of what is left */
        double left = share;
        while (seg < p->segments) {
            double fixed = seg_fixed(a, seg), adds = (double)seg_adds(a, seg) - done;
            if (adds + fixed <= left + 0.02 * share) {
                left -= adds + fixed;
                done = 0;
                seg++;
                continue;
            }
            /* a stretch worth less than its own reduction is left to the next thread */
            if (left > 1.5 * fixed) {
                done += left - fixed;
                left = 0;
            }
            break;
        }
        total -= share - left + more - (done > 0 ? seg_fixed(a, seg) : 0);
        p->cut[t].seg = seg;
        p->cut[t].pos = seg < p->segments && done > 0 ? seg_position(a, seg, done) : 0;
    }
    p->cut[p->threads].seg = p->segments;
    p->cut[p->threads].pos = 0;
}

/* ---- all of it ----------------------------------------------------------------------------- */

static uint32_t power_of_two_up_to(size_t n) {
    uint32_t p = 1;
    while (p <= n / 2 && p < CUZK__BATCH_MAX)
        p *= 2;
    return p;
}

static size_t group_most(const cuzk__costs *costs) {
    const size_t most = costs->group_bytes / costs->slot_size,
                 enough = costs->vectors ? GROUP_BUCKETS_VECTORS : GROUP_BUCKETS;
    return most < enough ? most : enough;
}

void cuzk__plan_make(cuzk__plan *p, cuzk__digits *d, const cuzk__scan *s, const cuzk__bit_scan *b,
                     const cuzk_u256 *order, const cuzk__costs *costs, unsigned width,
                     unsigned threads) {
    lengths all;
    source a = {p, d, s, b, costs, &all};
    count_lengths(&all, &s->all);
    p->threads = threads < CUZK__PLAN_THREADS ? threads : CUZK__PLAN_THREADS;
    if (width == 0) width = choose_width(s, &all, order, costs, p->threads);
    if (width < CUZK__WIDTH_MIN) width = CUZK__WIDTH_MIN;
    if (width > CUZK__WIDTH_MAX) width = CUZK__WIDTH_MAX;
    cuzk__digits_init(d, order, most_bits(s), width);
    p->segments = CUZK__SEG_WINDOWS + d->windows;
    p->group = (unsigned)(group_most(costs) >> (d->c - 1));
    if (p->group > d->windows) p->group = d->windows;
    if (p->group < 1) p->group = 1;
    p->group_buckets = p->group << (d->c - 1);
    /* ones go round so many buckets that a batch meets each once, unless they are few */
    size_t ones = s->all.count[1] > b->total ? s->all.count[1] : b->total;
    p->lane_buckets = power_of_two_up_to(ones / p->threads / 8 + 1);
    if (p->lane_buckets < LANES_MIN) p->lane_buckets = LANES_MIN;
    cut(p, &a);
}

cuzk__plan cuzk__plan_bounds(size_t n, const cuzk__costs *costs, unsigned width, unsigned threads) {
    cuzk__plan p = {.lane_buckets = CUZK__BATCH_MAX};
    p.threads = threads < CUZK__PLAN_THREADS ? threads : CUZK__PLAN_THREADS;
    /* no more buckets than points: the model would not pay for them, except for one bit more where
     * that makes one window of two, which have as many */
    unsigned c = width ? width : CUZK__WIDTH_MIN + 1;
    while (!width && c < WIDTH_AUTO_MAX && (size_t)1 << (c - 1) < n)
        c++;
    if (c > CUZK__WIDTH_MAX) c = CUZK__WIDTH_MAX;
    p.group_buckets = (uint32_t)1 << (c - 1);
    /* narrower windows make groups */
    if (p.group_buckets < group_most(costs)) p.group_buckets = (uint32_t)group_most(costs);
    return p;
}
