#include "msm/plan.h"

#include "msm/schedule.h"

/* The model counts in additions. A window of m buckets costs two for each bucket when its sums
 * are reduced, and some more for rows, batches that are not full and copies. */
#define REDUCE_PER_BUCKET 2.4

enum {
    GROUP_BUCKETS = 1 << 14, /* fewer and a batch holds the same bucket too often */
    GROUP_BYTES = 4 << 20,   /* more and buckets come from memory instead of a cache */
    LANES_MIN = 64,
    WINDOW_AUTO_MAX = 19,
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

static size_t visits(const cuzk__scan_block *b, unsigned c, unsigned x) {
    size_t n = 0;
    unsigned from = c * x > 3 ? c * x - 1 : 2;
    for (unsigned i = from; i < CUZK__SCAN_BITS; i++)
        n += b->count[i];
    return n;
}

unsigned cuzk__plan_bits(const cuzk__scan *s) {
    unsigned bits = CUZK__SCAN_BITS - 1;
    while (bits > 1 && s->all.count[bits] == 0)
        bits--;
    return bits;
}

/* Buckets beyond a core's cache: an addition then waits for two of them now and then. */
static double addition_cost(const cuzk__costs *costs, unsigned c) {
    size_t bytes = costs->slot_size << (c - 1);
    return bytes > 8u << 20 ? 1.25 : bytes > 2u << 20 ? 1.08 : bytes > 512u << 10 ? 1.02 : 1.0;
}

static unsigned choose_window(const cuzk__scan *s, const cuzk_u256 *order, const cuzk__costs *costs,
                              unsigned threads) {
    unsigned bits = cuzk__plan_bits(s), best = CUZK__MSM_WINDOW_MIN + 1;
    double best_cost = 0;
    for (unsigned c = best; c <= WINDOW_AUTO_MAX; c++) {
        unsigned windows = cuzk__digits_windows(order, bits, c);
        double adds = 0;
        for (unsigned x = 0; x < windows; x++)
            adds += (double)visits(&s->all, c, x) * addition_cost(costs, c);
        /* a window that two threads share is reduced twice */
        double reductions = windows + (threads - 1);
        double cost = adds + reductions * REDUCE_PER_BUCKET * (double)((size_t)1 << (c - 1));
        if (best_cost == 0 || cost < best_cost) best_cost = cost, best = c;
    }
    return best;
}

static unsigned group_of(const cuzk__costs *costs, uint32_t window_buckets) {
    size_t most = GROUP_BYTES / costs->slot_size;
    if (most > GROUP_BUCKETS) most = GROUP_BUCKETS;
    return most > window_buckets ? (unsigned)(most / window_buckets) : 1;
}

cuzk__plan cuzk__plan_bounds(size_t n, const cuzk__costs *costs, unsigned window,
                             unsigned threads) {
    cuzk__plan p = {.windows = 256, .lane_buckets = CUZK__BATCH_MAX};
    p.threads = threads < CUZK__PLAN_THREADS ? threads : CUZK__PLAN_THREADS;
    /* no more buckets than points: the model would not pay for them */
    unsigned c = window ? window : CUZK__MSM_WINDOW_MIN + 1;
    while (!window && c < WINDOW_AUTO_MAX && (size_t)1 << (c - 1) < n)
        c++;
    p.c = c;
    p.window_buckets = (uint32_t)1 << (c - 1);
    /* a narrower window in a group may have as many buckets as the widest alone */
    p.group = 1;
    size_t most = (size_t)group_of(costs, 1);
    if (most > p.window_buckets) p.window_buckets = (uint32_t)most;
    return p;
}

/* ---- cutting ------------------------------------------------------------------------------- */

typedef struct {
    const cuzk__plan *p;
    const cuzk__scan *s;
    const cuzk__bit_scan *b;
} source;

static size_t seg_block(const source *a, unsigned seg, size_t j) {
    if (seg == CUZK__SEG_ONES) return a->s->block[j].count[1];
    if (seg == CUZK__SEG_BITS) return a->b->count[j];
    return visits(&a->s->block[j], a->p->c, seg - CUZK__SEG_WINDOWS);
}

static size_t seg_adds(const source *a, unsigned seg) {
    if (seg == CUZK__SEG_ONES) return a->s->all.count[1];
    if (seg == CUZK__SEG_BITS) return a->b->total;
    return visits(&a->s->all, a->p->c, seg - CUZK__SEG_WINDOWS);
}

static double seg_fixed(const source *a, unsigned seg) {
    if (seg_adds(a, seg) == 0) return 0;
    if (seg < CUZK__SEG_WINDOWS) return a->p->lane_buckets;
    return REDUCE_PER_BUCKET * a->p->window_buckets;
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
    size_t pos = j * step;
    pos += (size_t)((double)step * adds / (double)seg_block(a, seg, j));
    return pos < n ? pos / 64 * 64 : n;
}

static void cut(cuzk__plan *p, const source *a) {
    double total = 0, share;
    for (unsigned seg = 0; seg < p->segments; seg++)
        total += (double)seg_adds(a, seg) + seg_fixed(a, seg);
    /* each cut inside a window adds a reduction; assume that all are */
    total += (p->threads - 1) * REDUCE_PER_BUCKET * p->window_buckets;
    share = total / p->threads;
    unsigned seg = 0;
    double done = 0; /* additions of seg that earlier threads do */
    p->cut[0].seg = 0;
    p->cut[0].pos = 0;
    for (unsigned t = 1; t < p->threads; t++) {
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
            if (left > 1.5 * fixed) done += left - fixed;
            break;
        }
        p->cut[t].seg = seg;
        p->cut[t].pos = seg < p->segments && done > 0 ? seg_position(a, seg, done) : 0;
    }
    p->cut[p->threads].seg = p->segments;
    p->cut[p->threads].pos = 0;
}

/* ---- all of it ----------------------------------------------------------------------------- */

static uint32_t power_of_two_up_to(size_t n) {
    uint32_t p = 1;
    while (p <= n / 2 && p < 0x40000000u)
        p *= 2;
    return p;
}

void cuzk__plan_make(cuzk__plan *p, const cuzk__scan *s, const cuzk__bit_scan *b,
                     const cuzk_u256 *order, const cuzk__costs *costs, unsigned window,
                     unsigned threads) {
    source a = {p, s, b};
    p->threads = threads < CUZK__PLAN_THREADS ? threads : CUZK__PLAN_THREADS;
    p->c = window ? window : choose_window(s, order, costs, p->threads);
    p->windows = cuzk__digits_windows(order, cuzk__plan_bits(s), p->c);
    p->segments = CUZK__SEG_WINDOWS + p->windows;
    p->window_buckets = (uint32_t)1 << (p->c - 1);
    p->group = group_of(costs, p->window_buckets);
    if (p->group > p->windows) p->group = p->windows;
    /* ones go round so many buckets that a batch meets each once, unless they are few */
    size_t ones = s->all.count[1] > b->total ? s->all.count[1] : b->total;
    p->lane_buckets = power_of_two_up_to(ones / p->threads / 8 + 1);
    if (p->lane_buckets > CUZK__BATCH_MAX) p->lane_buckets = CUZK__BATCH_MAX;
    if (p->lane_buckets < LANES_MIN) p->lane_buckets = LANES_MIN;
    cut(p, &a);
}
