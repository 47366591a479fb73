/* Multi-scalar multiplication: plans and the sequence of stages. DESIGN
 *
 *   sort      scalars to signed digits, whose points adjoin by buckets (msm_sort.cuh)
 *   lists     buckets cut into lists of at most `cap` elements, ordered by length, shared out in
 *             chunks of equal work, and laid out so that the threads of a block read what they add
 *             next side by side
 *   sums      accumulate_lists(): every list to one point. So a bucket that gets half of all points
 *             is as parallel as any other, and few buckets still fill the device.
 *   merge     the points of a bucket that was cut to one
 *   fold      where buckets are many: accumulate_lists() once more, some buckets of a row of the
 *             square below, and some of a column, to one point, at half the products
 *   reduce    sum_b (b+1) B_b = S + sum_k 2^k M_k for the sum S of all B_b and the sums M_k of
 *             those whose number has bit k: a set's buckets are a square, whose rows and columns
 *             are summed, two additions a bucket; from these S and the M_k follow
 *   combine   a few hundred additions and doublings on the host
 *
 * With a table of multiples 2^(period*k) of the bases, window w adds multiple w / sets of its base
 * into bucket set w % sets: fewer sets to reduce, hence wider windows and fewer additions. */
#include "backend/cuda/accumulate_lists.cuh"
#include "backend/cuda/cub_room.h"
#include "backend/cuda/msm_lists.cuh"
#include "backend/cuda/msm_sort.cuh"
#include "backend/cuda/two_steps.cuh"

extern "C" {
#include "backend/cuda/msm_combine.h"
#include "base/clock.h"
#include "base/mem.h"
}

#include <string.h>

using cuzk_gpu::list_args;

enum {
    MSM_LISTS_WANTED = 1,  /* for each thread, where buckets are few */
    MSM_LISTS_ALONE = 80,  /* for each thread, on average: up to so many, a block gets one chunk */
    MSM_LISTS_CHUNK = 48,  /* of a thread in a chunk, on average, otherwise */
    MSM_LISTS_MOST = 96,   /* and at most */
    MSM_LG_PARTS = 4,      /* a list is added up as 2^4 at most */
    MSM_SHORTEST_PART = 4, /* elements of such a part, at least */
    MSM_PARTS_WANTED = 30, /* and parts for each thread, at most */
    MSM_SHORTEST_CAP = 8,
    MSM_STAGGER = 20000, /* nanoseconds between blocks of a multiprocessor */
    MSM_LG_FOLD = 4,     /* 2^4 buckets at most become one before they are added up in XYZZ */
    MSM_FOLD_NS = 40000, /* what that takes whatever there is to fold, nanoseconds */
    MSM_EVENTS = 4
};

/* Sets are sorted together up to this many digits: small sorts are all launch latency. */
static const size_t MSM_BATCH_DIGITS = (size_t)1 << 26;

/* From so many digits on, rounds are long enough for blocks to begin one after another. */
static const size_t MSM_STAGGERED = (size_t)1 << 25;

struct cuzk_cuda_msm {
    cuzk_cuda *dev;
    cuzk_cuda_msm_config config;
    const cuzk__cuda_group_ops *g;
    const cuzk_fr_ops *fr;
    cuzk__msm_shape shape;
    size_t digits;         /* of all sets */
    uint32_t all_buckets;  /* numbers */
    uint32_t used_buckets; /* that digits have */
    uint32_t cap;          /* of a list's length */
    uint32_t most;         /* lists of a thread in a chunk */
    uint32_t waves;        /* chunks for each block */
    uint32_t blocks;       /* that sum lists */
    unsigned share;        /* of those that the device holds; two_steps.cuh */
    int lg_parts;          /* of the lists that a list is added up as */
    int batch;             /* sets sorted together */
    cuzk__msm_square square;
    uint32_t fold_width, fold_chunks; /* lists of a chunk that folds buckets, such chunks */
    const void *points;               /* the table, or the caller's bases */
    void *table;
    uint32_t *index, *first;
    cuzk__msm_lists lists;
    uint32_t *turned; /* the lists as accumulate_lists() reads them */
    uint4 *chunks;
    cuzk__msm_sorter sorter;
    void *sums, *acc, *prefix, *halves, *grid, *result;
    void *host_result;
    size_t result_bytes, table_bytes, scratch_bytes;
    cudaEvent_t events[MSM_EVENTS];
    float combine_ms;
};

const cuzk__cuda_group_ops *cuzk__cuda_group(cuzk_curve_id curve, cuzk_group group) {
    if (curve == CUZK_BN254) return group == CUZK_G1 ? &cuzk__cuda_bn254_g1 : &cuzk__cuda_bn254_g2;
    return group == CUZK_G1 ? &cuzk__cuda_bls12_381_g1 : &cuzk__cuda_bls12_381_g2;
}

static int covered(const cuzk__msm_shape *s) {
    const int top = (s->windows - 1) % s->sets;
    return (s->windows - 1) / s->sets * s->period + cuzk__msm_first_bit(s, top) +
           cuzk__msm_width(s, top);
}

/* The fewest windows of at most `window` bits, and among them the narrowest. */
static void shape_of(size_t n, unsigned bits, unsigned window, unsigned factor,
                     cuzk__msm_shape *s) {
    *s = {};
    s->n = s->stride = n;
    s->windows = (int)((bits + window - 1) / window);
    const int f = (int)factor < s->windows ? (int)factor : s->windows;
    s->sets = (s->windows + f - 1) / f;
    s->factor = (s->windows + s->sets - 1) / s->sets;
    s->window = (int)(bits + (unsigned)s->windows - 1) / s->windows;
    for (s->narrow = s->sets - 1; s->narrow >= 0; s->narrow--) {
        s->period = cuzk__msm_first_bit(s, s->sets);
        if (covered(s) >= (int)bits) break;
    }
    s->buckets = 1u << (s->window - 1);
}

static double used_buckets(const cuzk__msm_shape *s) {
    return ((double)s->sets - 0.5 * s->narrow) * s->buckets;
}

/* What a sum takes of an H200, in nanoseconds: for each digit its sort and addition, for each
 * bucket its share of lists and two additions in XYZZ, for each round of additions an inversion,
 * for each bit of the sets' digits what the host does; the rest does not depend on the shape.
 * Fitted to 74 sums of BN254's G1, 20 of BLS12-381's and 18 of its G2, from 2^18 to 2^26 points in
 * the shapes of bench/results/h200_msm_shapes.json, which they meet within 3 to 4 % (root of the
 * mean square), less 0.008 a digit that sorting has got faster since, and 0.13 that additions in G2
 * have. BN254's G2 is taken to be half of BLS12-381's. */
struct msm_rates {
    double digit, bucket, round, bit;
};
static const msm_rates RATES_BN254[2] = {{0.142, 0.49, 15e3, 0.5e3}, {0.40, 1.85, 20e3, 2e3}};
static const msm_rates RATES_BLS12_381[2] = {{0.279, 0.90, 15e3, 1e3}, {0.77, 3.60, 30e3, 4e3}};

static const msm_rates *rates_of(const cuzk_cuda_msm_config *c) {
    return (c->curve == CUZK_BN254 ? RATES_BN254 : RATES_BLS12_381) + (c->group != CUZK_G1);
}

/* What a shape is chosen by. */
struct msm_chooser {
    const cuzk_cuda_msm_config *config;
    const msm_rates *rates;
    unsigned bits;       /* of a scalar */
    size_t threads;      /* that sum lists at a time */
    size_t block_shared; /* bytes of shared memory of a block */
};

/* The base-2 logarithm of the parts that lists of `average` elements are added up as, of which a
 * thread has `each`. */
static int lg_parts_of(size_t each, size_t average) {
    int lg = 0;
    while (lg < MSM_LG_PARTS && each << (lg + 1) <= MSM_PARTS_WANTED &&
           average >> (lg + 1) >= MSM_SHORTEST_PART)
        lg++;
    return lg;
}

/* A round takes longer where lists are added up as parts: a thread has few of them, so that less
 * goes on beside the inversion. */
static double msm_cost(const msm_chooser *c, const cuzk__msm_shape *s) {
    const double digits = (double)s->n * s->windows, used = used_buckets(s);
    const double lists = used > (double)c->threads ? used : (double)c->threads;
    const size_t each = (size_t)(lists / (double)c->threads);
    const int lg = lg_parts_of(each, (size_t)(digits / lists));
    double rounds = digits / lists / (1 << lg) + lg;
    for (int k = 0; k < lg; k++)
        rounds *= 1.5;
    return digits * c->rates->digit + used * c->rates->bucket + rounds * c->rates->round +
           s->sets * s->window * c->rates->bit;
}

/* A window that is asked for is taken as it is. */
static void choose_shape(const msm_chooser *by, unsigned factor, cuzk__msm_shape *shape) {
    const cuzk_cuda_msm_config *c = by->config;
    if (c->window) {
        shape_of(c->n, by->bits, c->window, factor, shape);
        return;
    }
    shape_of(c->n, by->bits, 4, factor, shape);
    for (unsigned w = 5; w <= 24; w++) {
        cuzk__msm_shape s;
        shape_of(c->n, by->bits, w, factor, &s);
        if (msm_cost(by, &s) < msm_cost(by, shape) && cuzk__msm_bins_fit(&s, by->block_shared))
            *shape = s;
    }
}

/* The largest table within the limit that still saves 1 % over the next. */
static unsigned choose_factor(const msm_chooser *by, size_t point_bytes, size_t limit) {
    const size_t n = by->config->n;
    unsigned best = 1;
    double best_cost = 0;
    for (unsigned f = 1; f <= 24; f++) {
        if (f > 1 && (n * f * point_bytes > limit || n * f >> 31)) break;
        cuzk__msm_shape s;
        choose_shape(by, f, &s);
        const double cost = msm_cost(by, &s);
        if (f == 1 || cost < best_cost * 0.99) {
            best = f;
            best_cost = cost;
        }
    }
    return best;
}

static bool is_measuring(const cuzk_cuda *dev) {
    return dev->arena && dev->arena->measuring;
}

static cuzk_status take(cuzk_cuda_msm *m, void **p, size_t bytes, cuzk_err *err) {
    m->scratch_bytes += bytes;
    return cuzk_cuda_alloc(m->dev, p, bytes, err);
}

static cuzk_status take_words(cuzk_cuda_msm *m, uint32_t **p, size_t words, cuzk_err *err) {
    void *v;
    CUZK_TRY(take(m, &v, words * 4, err));
    *p = (uint32_t *)v;
    return CUZK_OK;
}

static cuzk_status build_table(cuzk_cuda_msm *m, const void *bases, cuzk_err *err) {
    const size_t bytes = m->shape.n * m->g->point_bytes;
    m->points = bases;
    if (m->shape.factor == 1) return CUZK_OK;
    m->table_bytes = bytes * (size_t)m->shape.factor;
    CUZK_TRY(cuzk_cuda_alloc(m->dev, &m->table, m->table_bytes, err));
    m->points = m->table;
    if (is_measuring(m->dev)) return CUZK_OK;
    CUZK_CUDA(cudaMemcpyAsync(m->table, bases, bytes, cudaMemcpyDeviceToDevice, m->dev->stream));
    for (int k = 1; k < m->shape.factor; k++)
        CUZK_TRY(m->g->shift(m->dev, (char *)m->table + (size_t)(k - 1) * bytes,
                             (char *)m->table + (size_t)k * bytes, m->shape.n, m->shape.period,
                             err));
    return CUZK_OK;
}

static cuzk_status set_cub_room(cuzk_cuda_msm *m, size_t lists, size_t buckets, cuzk_err *err) {
    if (m->dev->ordinal != CUZK__NO_DEVICE)
        return cuzk__msm_temp_bytes(lists, buckets, &m->lists.temp_bytes, err);
    const size_t sort = cuzk__cub_sort_room(lists), scan = cuzk__cub_scan_room(buckets + 1);
    m->lists.temp_bytes = sort > scan ? sort : scan;
    return CUZK_OK;
}

/* Those that sum lists, at most. */
static size_t resident_blocks(const cuzk_cuda_msm *m) {
    const size_t all = (size_t)(m->dev->info.sms * m->g->blocks(m->dev));
    return (all * m->share + CUZK__MSM_SHARES - 1) / CUZK__MSM_SHARES;
}

static cuzk__msm_cut cut_of(const cuzk_cuda_msm *m) {
    return {(uint32_t)m->g->threads, (uint32_t)m->g->threads / CUZK__MSM_WARPS,
            m->blocks * m->waves, m->most, m->lg_parts};
}

static cuzk_status take_lists(cuzk_cuda_msm *m, cuzk_err *err) {
    const size_t buckets = m->all_buckets, max_lists = m->lists.max_lists;
    CUZK_TRY(take_words(m, &m->index, m->digits, err));
    CUZK_TRY(take_words(m, &m->first, buckets + 1, err));
    CUZK_TRY(take_words(m, &m->lists.offset, buckets + 1, err));
    for (int i = 0; i < 2; i++) {
        CUZK_TRY(take_words(m, &m->lists.key[i], max_lists, err));
        CUZK_TRY(take_words(m, &m->lists.slot[i], max_lists, err));
    }
    uint32_t *ranges;
    CUZK_TRY(take_words(m, &ranges, max_lists * 2, err));
    m->lists.ranges = (uint2 *)ranges;
    CUZK_TRY(take_words(m, &ranges, max_lists * 2, err));
    m->lists.unordered = (uint2 *)ranges;
    const cuzk__msm_cut cut = cut_of(m);
    CUZK_TRY(take_words(m, &m->turned, m->digits + (size_t)m->cap * cut.unit * cut.most, err));
    CUZK_TRY(take_words(m, &ranges, 4 * ((size_t)cut.count + 1), err));
    m->chunks = (uint4 *)ranges;
    CUZK_TRY(set_cub_room(m, max_lists, buckets, err));
    return take(m, &m->lists.temp, m->lists.temp_bytes, err);
}

static cuzk_status take_sorter(cuzk_cuda_msm *m, cuzk_err *err) {
    const cuzk__msm_shape *s = &m->shape;
    const size_t batch_digits = s->n * (size_t)(s->factor * m->batch);
    cuzk__msm_sorter *sorter = &m->sorter;
    uint32_t *words;
    CUZK_TRY(cuzk__msm_plan_sort(m->dev, s, sorter, err));
    const size_t bins = (size_t)s->sets << sorter->lg_bins;
    if (!sorter->again) {
        CUZK_TRY(take_words(m, &sorter->planes, s->n * 9, err));
        CUZK_TRY(take_words(m, &sorter->flips, s->n / 32 + 1, err));
    }
    CUZK_TRY(take_words(m, &sorter->start, bins + 2, err));
    CUZK_TRY(take_words(m, &sorter->cursor, bins, err));
    CUZK_TRY(take_words(m, &sorter->next, (size_t)m->batch * s->buckets, err));
    CUZK_TRY(take_words(m, &sorter->values, batch_digits, err));
    CUZK_TRY(take_words(m, &words, batch_digits / 2 + 1, err));
    sorter->low = (uint16_t *)words;
    return CUZK_OK;
}

static cuzk_status take_points(cuzk_cuda_msm *m, cuzk_err *err) {
    const size_t point = m->g->point_bytes;
    const size_t kept = ((size_t)m->blocks * (size_t)m->g->threads * m->most) << m->lg_parts;
    const size_t lines = ((size_t)1 << m->square.lg_low) + ((size_t)1 << m->square.lg_high);
    CUZK_TRY(take(m, &m->sums, m->lists.max_lists * point, err));
    CUZK_TRY(take(m, &m->acc, kept * point, err));
    CUZK_TRY(take(m, &m->prefix, kept * point / 2, err));
    if (m->lg_parts) CUZK_TRY(take(m, &m->halves, kept / 2 * point, err));
    CUZK_TRY(take(m, &m->grid, (size_t)m->shape.sets * lines * m->g->xyzz_bytes, err));
    return take(m, &m->result, m->result_bytes, err);
}

/* Scratch of a plan whose shape is known, and what goes with it. Measuring (cuzk__arena), only the
 * bytes are counted. */
static cuzk_status take_scratch(cuzk_cuda_msm *m, cuzk_err *err) {
    CUZK_TRY(take_lists(m, err));
    CUZK_TRY(take_sorter(m, err));
    CUZK_TRY(take_points(m, err));
    if (is_measuring(m->dev)) return CUZK_OK;
    CUZK_CUDA(cudaMallocHost(&m->host_result, m->result_bytes));
    for (int i = 0; i < MSM_EVENTS; i++)
        CUZK_CUDA(cudaEventCreate(&m->events[i]));
    return CUZK_OK;
}

/* Chunks of the lists that fold the square; false where what they want is not there: words, room
 * for the points in place of the index, accumulators, chunks. */
static bool cut_fold(cuzk_cuda_msm *m, const cuzk__msm_square *s) {
    const uint32_t points = s->points(), unit = (uint32_t)m->g->threads;
    const uint32_t grain = unit / CUZK__MSM_WARPS, most = m->most << m->lg_parts;
    for (uint32_t waves = 1; waves <= m->waves; waves++) {
        uint32_t width = points / (m->blocks * waves) + 1;
        width = width < unit ? unit : (width + grain - 1) / grain * grain;
        if (width > most * unit) continue;
        m->fold_width = width;
        m->fold_chunks = (points + width - 1) / width;
        return ((size_t)m->fold_chunks * width << s->lg_fold) <= m->digits &&
               points <= m->lists.max_lists && points * m->g->point_bytes <= m->digits * 4;
    }
    return false;
}

/* Buckets are folded where it takes less than to add them up in XYZZ: rounds of additions with an
 * inversion each. */
static void choose_fold(cuzk_cuda_msm *m) {
    const msm_rates *rates = rates_of(&m->config);
    const double threads = (double)m->blocks * m->g->threads;
    const int low = m->shape.window / 2, high = m->shape.window - 1 - low;
    m->square = {(uint32_t)m->shape.sets, (uint32_t)m->shape.narrow, high, low, 0};
    double least = m->square.points() * rates->bucket / 2;
    int best = 0;
    for (int lg = 1; lg <= MSM_LG_FOLD && lg < high && lg <= low; lg++) {
        m->square.lg_fold = lg;
        if (!cut_fold(m, &m->square)) continue;
        const double points = m->square.points(), at_once = points > threads ? points : threads;
        const double cost = ((1 << lg) - 1) * (at_once * rates->digit + rates->round) +
                            points * rates->bucket / 2 + MSM_FOLD_NS;
        if (cost < least) {
            least = cost;
            best = lg;
        }
    }
    m->square.lg_fold = best;
    if (best)
        (void)cut_fold(m, &m->square);
    else
        m->square.narrow = 0; /* all rows are looked at */
}

/* Lists: a bucket of uniform scalars is one list (nearly always: it is not longer than eight
 * standard deviations above the average), unless there are too few buckets: then each is cut into
 * `parts` lists, of at most 1 / (parts - 1/2) of the average, so that most buckets have just
 * `parts` and none of them one less that is much longer. Buckets of a narrow set hold twice the
 * average of the others, and those of the top window up to a third more, as no scalar reaches its
 * last digits.
 * Chunks: of a single one for each block the longest lists share a multiprocessor with average
 * ones, which measured better than two; many are taken as blocks get ready. */
static void choose_cuts(cuzk_cuda_msm *m) {
    const cuzk__msm_shape *s = &m->shape;
    const size_t threads = resident_blocks(m) * (size_t)m->g->threads;
    const size_t average = s->n * (size_t)s->factor / s->buckets + 1;
    const size_t longest = s->narrow ? 2 * average : average + average / 3;
    size_t root = 1;
    while (root * root < longest)
        root++;
    const size_t used = (size_t)used_buckets(s);
    const size_t parts = (threads * MSM_LISTS_WANTED + used - 1) / used;
    size_t cap = parts < 2 ? longest + 8 * root + 1 : 2 * average / (2 * parts - 1) + 1;
    if (cap < MSM_SHORTEST_CAP) cap = MSM_SHORTEST_CAP;
    m->cap = (uint32_t)cap;
    m->used_buckets = (uint32_t)used;
    m->lists.max_lists = used + m->digits / cap + 1;
    const size_t units = m->lists.max_lists / (size_t)m->g->threads + 1;
    m->blocks = (uint32_t)(units < resident_blocks(m) ? units : resident_blocks(m));
    const size_t lists = parts < 2 ? used : m->digits * parts / average;
    const size_t each = lists / threads, all = (units + m->blocks - 1) / m->blocks;
    size_t waves = 1, most = 2 * each + 8;
    if (each > MSM_LISTS_ALONE) {
        waves = (each + MSM_LISTS_CHUNK - 1) / MSM_LISTS_CHUNK;
        if (waves < 3) waves = 3;
        most = MSM_LISTS_MOST;
    }
    if (most * waves < all) most = (all + waves - 1) / waves;
    if (most > units) most = units;
    m->waves = (uint32_t)waves;
    m->most = (uint32_t)most;
    m->lg_parts = lg_parts_of(each, m->digits / lists);
    m->batch = 1;
    while (m->batch < m->shape.sets &&
           cuzk__msm_digits_of(&m->shape, 0, m->batch + 1) <= MSM_BATCH_DIGITS)
        m->batch++;
    m->result_bytes = (size_t)m->shape.sets * (size_t)m->shape.window * m->g->xyzz_bytes;
    choose_fold(m);
}

cuzk_status cuzk_cuda_msm_new(cuzk_cuda_msm **out, cuzk_cuda *dev, const cuzk_cuda_msm_config *c,
                              const void *bases, cuzk_err *err) {
    *out = NULL;
    if (c->n == 0 || c->n >> 31 || (c->window && (c->window < 4 || c->window > 24)))
        return cuzk_err_set(err, CUZK_STATUS_USAGE, "MSM of %zu points, window %u", c->n,
                            c->window);
    void *mem;
    CUZK_TRY(cuzk_alloc(&mem, 1, sizeof(cuzk_cuda_msm)));
    cuzk_cuda_msm *m = (cuzk_cuda_msm *)mem;
    cuzk_status st;
    m->dev = dev;
    m->config = *c;
    m->share = CUZK__MSM_SHARES;
    m->g = cuzk__cuda_group(c->curve, c->group);
    m->fr = c->curve == CUZK_BN254 ? &cuzk_bn254_fr_ops : &cuzk_bls12_381_fr_ops;
    const bool measuring = is_measuring(dev);
    unsigned factor = c->factor;
    const msm_chooser by = {c, rates_of(c), m->fr->bits, resident_blocks(m) * (size_t)m->g->threads,
                            dev->info.block_shared};
    if (!factor) {
        cuzk_cuda_info info = dev->info;
        if (!c->table_limit) CUZK_TRY_GOTO(cuzk_cuda_get_info(dev, &info, err), fail);
        factor = choose_factor(&by, m->g->point_bytes,
                               c->table_limit ? c->table_limit : info.bytes_free / 2);
    }
    choose_shape(&by, factor, &m->shape);
    if (!cuzk__msm_bins_fit(&m->shape, dev->info.block_shared)) {
        st = cuzk_err_set(err, CUZK_STATUS_USAGE,
                          "windows of %u bits: %s has %zu bytes of shared memory in a block, too "
                          "few to count their digits; take narrower ones",
                          c->window, dev->info.name, dev->info.block_shared);
        goto fail;
    }
    m->digits = c->n * (size_t)m->shape.windows;
    m->all_buckets = m->shape.buckets * (uint32_t)m->shape.sets;
    if (c->n * (size_t)m->shape.factor >> 31 || m->digits + m->digits / 64 >> 32) {
        st = cuzk_err_set(err, CUZK_STATUS_USAGE, "MSM of %zu points, factor %d: too large", c->n,
                          m->shape.factor);
        goto fail;
    }
    choose_cuts(m);
    if (!measuring) CUZK_TRY_GOTO(m->g->prepare(dev, err), fail);
    CUZK_TRY_GOTO(build_table(m, bases, err), fail);
    if (!c->table_only) CUZK_TRY_GOTO(take_scratch(m, err), fail);
    if (!measuring) CUZK_TRY_GOTO(cuzk_cuda_sync(dev, err), fail);
    *out = m;
    return CUZK_OK;
fail:
    cuzk_cuda_msm_free(m);
    return st;
}

cuzk_status cuzk_cuda_msm_fork(cuzk_cuda_msm **out, cuzk_cuda *dev, const cuzk_cuda_msm *of,
                               cuzk_err *err) {
    *out = NULL;
    void *mem;
    CUZK_TRY(cuzk_alloc(&mem, 1, sizeof(cuzk_cuda_msm)));
    cuzk_cuda_msm *m = (cuzk_cuda_msm *)mem;
    m->dev = dev;
    m->config = of->config;
    m->share = of->share;
    m->g = of->g;
    m->fr = of->fr;
    m->shape = of->shape;
    m->digits = of->digits;
    m->all_buckets = of->all_buckets;
    m->points = of->points;
    m->table_bytes = of->table_bytes;
    choose_cuts(m);
    const cuzk_status st = take_scratch(m, err);
    if (st != CUZK_OK) {
        cuzk_cuda_msm_free(m);
        return st;
    }
    *out = m;
    return CUZK_OK;
}

void cuzk_cuda_msm_free(cuzk_cuda_msm *m) {
    if (!m) return;
    cuzk__msm_lists *l = &m->lists;
    cuzk__msm_sorter *sorter = &m->sorter;
    void *owned[] = {m->table,     m->index,       m->first,      l->offset,     l->key[0],
                     l->key[1],    l->slot[0],     l->slot[1],    l->ranges,     l->unordered,
                     l->temp,      sorter->planes, sorter->flips, sorter->start, sorter->cursor,
                     sorter->next, sorter->values, sorter->low,   m->turned,     m->chunks,
                     m->sums,      m->acc,         m->prefix,     m->halves,     m->grid,
                     m->result};
    for (void *p : owned)
        cuzk_cuda_free(m->dev, p);
    for (int i = 0; i < MSM_EVENTS; i++)
        if (m->events[i]) (void)cudaEventDestroy(m->events[i]);
    if (m->host_result) (void)cudaFreeHost(m->host_result);
    cuzk_free(m);
}

void cuzk_cuda_msm_get_info(const cuzk_cuda_msm *m, cuzk_cuda_msm_info *out) {
    out->window = (unsigned)m->shape.window;
    out->windows = (unsigned)m->shape.windows;
    out->sets = (unsigned)m->shape.sets;
    out->factor = (unsigned)m->shape.factor;
    out->table_bytes = m->table_bytes;
    out->scratch_bytes = m->scratch_bytes;
}

static cuzk_status sort_digits(cuzk_cuda_msm *m, const cuzk__msm_shape *s, const void *scalars,
                               cudaEvent_t read, cuzk_err *err) {
    const cuzk_u256 *modulus = &m->fr->modulus;
    CUZK_TRY(cuzk__msm_prepare_scalars(m->dev, s, modulus, scalars, &m->sorter, err));
    if (read && !m->sorter.again) CUZK_CUDA(cudaEventRecord(read, m->dev->stream));
    for (int set = 0; set < s->sets; set += m->batch) {
        const int count = s->sets - set < m->batch ? s->sets - set : m->batch;
        CUZK_TRY(cuzk__msm_sort_sets(m->dev, s, modulus, scalars, set, count, &m->sorter, m->index,
                                     m->first, err));
    }
    if (read && m->sorter.again) CUZK_CUDA(cudaEventRecord(read, m->dev->stream));
    return CUZK_OK;
}

static list_args lists_of(const cuzk_cuda_msm *m) {
    list_args a = {};
    a.index = m->turned;
    a.chunks = m->chunks;
    a.acc = (uint4 *)m->acc;
    a.prefix = (uint4 *)m->prefix;
    a.halves = (uint4 *)m->halves;
    a.most = m->most << m->lg_parts;
    a.sms = m->dev->info.sms;
    return a;
}

/* Leaves the sum of each bucket with digits in sums, at its first list's number. */
static cuzk_status sum_buckets(cuzk_cuda_msm *m, size_t digits, const cuzk__msm_turn *turn,
                               cuzk_err *err) {
    const cuzk__msm_lists *l = &m->lists;
    size_t bound = m->used_buckets + digits / m->cap + 1;
    if (bound > digits) bound = digits;
    const cuzk__msm_cut cut = cut_of(m);
    CUZK_TRY(cuzk__msm_make_lists(m->dev, m->first, m->all_buckets, m->cap, bound, l, err));
    CUZK_TRY(cuzk__msm_turn_lists(m->dev, m->index, l, l->offset + m->all_buckets, bound, &cut,
                                  m->turned, m->chunks, err));
    list_args a = lists_of(m);
    a.points = (const uint4 *)m->points;
    a.slot = l->slot[1];
    a.out = (uint4 *)m->sums;
    a.counter = m->dev->counters;
    a.count = cut.count;
    a.lg_parts = cut.lg_parts;
    a.stagger = digits >= MSM_STAGGERED ? MSM_STAGGER : 0;
    if (turn && turn->made) CUZK_CUDA(cudaEventRecord(turn->made, m->dev->stream));
    if (turn && turn->after) CUZK_CUDA(cudaStreamWaitEvent(m->dev->stream, turn->after, 0));
    CUZK_TRY(m->g->accumulate(m->dev, &a, (int)m->blocks, err));
    return m->g->merge(m->dev, m->sums, l->offset, m->all_buckets, err);
}

/* The square's points, in place of the index, whose lists are done with. */
static cuzk_status fold_buckets(cuzk_cuda_msm *m, cuzk_err *err) {
    const cuzk__msm_lists *l = &m->lists;
    CUZK_TRY(cuzk__msm_fold_lists(m->dev, l->offset, &m->square, m->fold_width, m->turned,
                                  l->key[0], m->chunks, err));
    list_args a = lists_of(m);
    a.points = (const uint4 *)m->sums;
    a.slot = l->key[0];
    a.out = (uint4 *)m->index;
    a.counter = m->dev->counters + CUZK__FOLDED;
    a.count = m->fold_chunks;
    return m->g->accumulate(m->dev, &a, (int)m->blocks, err);
}

cuzk_status cuzk_cuda_msm_run(cuzk_cuda_msm *m, const void *scalars, cuzk_point *out,
                              cuzk_err *err) {
    return cuzk_cuda_msm_run_some(m, scalars, NULL, m->shape.n, out, err);
}

void cuzk__cuda_msm_set_share(cuzk_cuda_msm *m, unsigned share) {
    m->share = share;
}

void cuzk__cuda_msm_set_bases(cuzk_cuda_msm *m, const void *bases) {
    m->points = bases;
}

size_t cuzk__cuda_msm_result_bytes(const cuzk_cuda_msm *m) {
    return m->result_bytes;
}

cuzk_status cuzk__cuda_msm_queue(cuzk_cuda_msm *m, const void *scalars, const uint32_t *map,
                                 size_t n, cudaEvent_t read, const cuzk__msm_turn *turn,
                                 void *result, bool *any, cuzk_err *err) {
    const cuzk_cuda *dev = m->dev;
    cuzk__msm_shape run = m->shape;
    run.n = n;
    run.map = map;
    *any = false;
    if (n == 0) {
        if (read) CUZK_CUDA(cudaEventRecord(read, dev->stream));
        if (turn && turn->made) CUZK_CUDA(cudaEventRecord(turn->made, dev->stream));
        return CUZK_OK;
    }
    if (n > m->shape.n || !m->host_result)
        return cuzk_err_set(err, CUZK_STATUS_USAGE, "%zu scalars for a plan of %zu", n, m->shape.n);
    CUZK_CUDA(
        cudaMemsetAsync(dev->counters, 0, CUZK__CUDA_COUNTERS * sizeof(unsigned), dev->stream));
    CUZK_CUDA(cudaEventRecord(m->events[0], dev->stream));
    CUZK_TRY(sort_digits(m, &run, scalars, read, err));
    CUZK_CUDA(cudaEventRecord(m->events[1], dev->stream));
    CUZK_TRY(sum_buckets(m, n * (size_t)run.windows, turn, err));
    CUZK_CUDA(cudaEventRecord(m->events[2], dev->stream));
    if (m->square.lg_fold) CUZK_TRY(fold_buckets(m, err));
    CUZK_TRY(
        m->g->reduce(dev, m->sums, m->index, m->lists.offset, &m->square, m->grid, m->result, err));
    CUZK_CUDA(
        cudaMemcpyAsync(result, m->result, m->result_bytes, cudaMemcpyDeviceToHost, dev->stream));
    CUZK_CUDA(cudaEventRecord(m->events[3], dev->stream));
    *any = true;
    return CUZK_OK;
}

void cuzk__cuda_msm_combine(const cuzk_cuda_msm *m, const void *result, cuzk_point *out) {
    m->g->combine(result, (uint32_t)m->shape.sets, m->shape.window, (uint32_t)m->shape.narrow, out);
}

cuzk_status cuzk_cuda_msm_run_some(cuzk_cuda_msm *m, const void *scalars, const uint32_t *map,
                                   size_t n, cuzk_point *out, cuzk_err *err) {
    bool any;
    memset(out, 0, sizeof *out);
    CUZK_TRY(cuzk__cuda_msm_queue(m, scalars, map, n, NULL, NULL, m->host_result, &any, err));
    CUZK_CUDA(cudaStreamSynchronize(m->dev->stream));
    const int64_t t0 = cuzk_now_ns();
    m->combine_ms = 0;
    if (!any) return CUZK_OK;
    cuzk__cuda_msm_combine(m, m->host_result, out);
    m->combine_ms = (float)(cuzk_now_ns() - t0) * 1e-6f;
    return CUZK_OK;
}

cuzk_status cuzk_cuda_msm_get_times(const cuzk_cuda_msm *m, cuzk_cuda_msm_times *out,
                                    cuzk_err *err) {
    CUZK_CUDA(cudaEventElapsedTime(&out->sort, m->events[0], m->events[1]));
    CUZK_CUDA(cudaEventElapsedTime(&out->accumulate, m->events[1], m->events[2]));
    CUZK_CUDA(cudaEventElapsedTime(&out->reduce, m->events[2], m->events[3]));
    out->combine = m->combine_ms;
    return CUZK_OK;
}
