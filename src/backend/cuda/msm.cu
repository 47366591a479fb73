/* Multi-scalar multiplication: plans and the sequence of stages. DESIGN
 *
 *   digits    scalars to signed digits of `window` bits, one set of buckets at a time
 *   sort      CUB's radix sort of (bucket, base number and sign): a bucket's elements adjoin
 *   lists     buckets cut into lists of at most `cap` elements, ordered by length, and laid out so
 *             that the threads of a block read what they add next side by side
 *   sums      accumulate(): every list to one point; again over the partial sums of the buckets
 *             that were cut, until each has one. So a bucket that gets half of all points is as
 *             parallel as any other, and few buckets still fill the device.
 *   fold      many buckets: with b = 2^4 hi + lo, sum_b (b+1) B_b = 2^4 sum_hi hi R_hi +
 *             sum_lo (lo+1) C_lo for the sums R over lo and C over hi, which accumulate() makes
 *             from lists of 16 (C in parts): two batch-affine additions a bucket instead of two in
 *             XYZZ, and reduce is left with 1/8 of the points
 *   reduce    sum_b (b+1) B_b by slices: running sums in slices, then sums over slices selected by
 *             the bits of their number
 *   combine   a few hundred additions and doublings on the host
 *
 * With a table of multiples 2^(window*sets*k) of the bases, window w adds multiple w / sets of its
 * base into bucket set w % sets: fewer sets to reduce, hence wider windows and fewer additions. */
#include "backend/cuda/accumulate.cuh"
#include "backend/cuda/cub_room.h"
#include "backend/cuda/msm_lists.cuh"
#include "backend/cuda/two_steps.cuh"

extern "C" {
#include "backend/cuda/msm_combine.h"
#include "base/clock.h"
#include "base/mem.h"
}

#include <string.h>

using cuzk_gpu::accumulate_args;

enum {
    MSM_FOLD_LEAST = 1 << 19,
    MSM_LISTS_PER_THREAD = 32,
    MSM_EVENTS = 4,
    MSM_MERGE_CAP = 16,
    MSM_REDUCE_PARTS = 16
};

/* Sets are sorted together up to this many digits: small sorts are all launch latency. */
static const size_t MSM_BATCH_DIGITS = (size_t)1 << 26;

struct cuzk_cuda_msm {
    cuzk_cuda *dev;
    cuzk_cuda_msm_config config;
    const cuzk__cuda_group_ops *g;
    const cuzk_fr_ops *fr;
    cuzk__msm_shape shape;
    size_t digits; /* of all sets */
    uint32_t all_buckets;
    uint32_t cap; /* of a list's length, first level */
    int batch;    /* sets sorted together */
    bool fold;
    int lg_slices, lg_slice_len;
    const void *points; /* the table, or the caller's bases */
    void *table;
    uint32_t *index, *first, *offset[3];
    cuzk__msm_lists lists;
    uint32_t *turned; /* the lists as accumulate() reads them */
    uint2 *chunks;
    cuzk__msm_sorter sorter;
    void *sums[3], *acc, *prefix;
    void *slice_acc, *slice_run, *partial, *result;
    void *host_result;
    size_t result_bytes, table_bytes, scratch_bytes;
    cudaEvent_t events[MSM_EVENTS];
    float combine_ms;
};

const cuzk__cuda_group_ops *cuzk__cuda_group(cuzk_curve_id curve, cuzk_group group) {
    if (curve == CUZK_BN254) return group == CUZK_G1 ? &cuzk__cuda_bn254_g1 : &cuzk__cuda_bn254_g2;
    return group == CUZK_G1 ? &cuzk__cuda_bls12_381_g1 : &cuzk__cuda_bls12_381_g2;
}

/* Folding pays where a coordinate is long: BN254's G1 is bound by memory, not by products
 * (measured: 2^24 buckets took 4.5 ms folded, 3.7 in XYZZ; BLS12-381's 7.3 and 7.7). */
static bool msm_folds(const cuzk_cuda_msm_config *c) {
    return !(c->curve == CUZK_BN254 && c->group == CUZK_G1);
}

/* Cost model, in nanoseconds of an H200 for BLS12-381 G1; other groups scale alike, so the choice
 * carries over. Per digit 0.28 (measured batch-affine rate) and 0.03 to sort; per bucket two
 * additions and its share of lists and of the reduction's rest: 0.7 folded, 0.9 otherwise. */
static double msm_cost(const cuzk_cuda_msm_config *c, unsigned bits, unsigned window,
                       unsigned factor) {
    const double windows = (bits + window - 1) / window;
    const double sets = (double)((unsigned)(windows + factor - 1) / factor);
    return (double)c->n * windows * 0.31 +
           sets * (double)(1u << (window - 1)) * (msm_folds(c) ? 0.7 : 0.9);
}

static unsigned msm_windows(unsigned bits, unsigned window) {
    return (bits + window - 1) / window;
}

static void choose_shape(const cuzk_cuda_msm_config *c, unsigned bits, unsigned factor,
                         cuzk__msm_shape *shape) {
    unsigned window = c->window;
    if (!window) {
        double best = 0;
        for (unsigned w = 4; w <= 24; w++) {
            const unsigned f = factor < msm_windows(bits, w) ? factor : msm_windows(bits, w);
            const double cost = msm_cost(c, bits, w, f);
            if (!window || cost < best) {
                window = w;
                best = cost;
            }
        }
    }
    shape->n = shape->stride = c->n;
    shape->map = NULL;
    shape->window = (int)window;
    shape->windows = (int)msm_windows(bits, window);
    const int f = (int)factor < shape->windows ? (int)factor : shape->windows;
    shape->sets = (shape->windows + f - 1) / f;
    shape->factor = (shape->windows + shape->sets - 1) / shape->sets;
    shape->buckets = 1u << (window - 1);
}

/* The largest table within the limit that still saves 3 % over the next. */
static unsigned choose_factor(const cuzk_cuda_msm_config *c, unsigned bits, size_t point_bytes,
                              size_t limit) {
    unsigned best = 1;
    double best_cost = 0;
    for (unsigned f = 1; f <= 24; f++) {
        if (f > 1 && (c->n * f * point_bytes > limit || c->n * f >> 31)) break;
        cuzk__msm_shape s;
        choose_shape(c, bits, f, &s);
        const double cost = msm_cost(c, bits, (unsigned)s.window, (unsigned)s.factor);
        if (f == 1 || cost < best_cost * 0.97) {
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
                             (char *)m->table + (size_t)k * bytes, m->shape.n,
                             m->shape.window * m->shape.sets, err));
    return CUZK_OK;
}

static cuzk_status set_cub_room(cuzk_cuda_msm *m, size_t digits, size_t lists, size_t buckets,
                                cuzk_err *err) {
    if (m->dev->ordinal != CUZK__NO_DEVICE)
        return cuzk__msm_temp_bytes(digits, 32, lists, buckets, &m->sorter.temp_bytes, err);
    const size_t sort = cuzk__cub_sort_room(digits > lists ? digits : lists);
    const size_t scan = cuzk__cub_scan_room(buckets + 1);
    m->sorter.temp_bytes = sort > scan ? sort : scan;
    return CUZK_OK;
}

static cuzk_status take_lists(cuzk_cuda_msm *m, cuzk_err *err) {
    const cuzk__msm_shape *s = &m->shape;
    const size_t batch_digits = s->n * (size_t)(s->factor * m->batch), buckets = m->all_buckets;
    const size_t max_lists = m->lists.max_lists;
    CUZK_TRY(take_words(m, &m->index, m->digits, err));
    CUZK_TRY(take_words(m, &m->first, buckets + (size_t)s->sets, err));
    for (int i = 0; i < 3; i++)
        CUZK_TRY(take_words(m, &m->offset[i], buckets + 1, err));
    for (int i = 0; i < 2; i++) {
        CUZK_TRY(take_words(m, &m->lists.key[i], max_lists, err));
        CUZK_TRY(take_words(m, &m->lists.slot[i], max_lists, err));
        CUZK_TRY(take_words(m, &m->sorter.keys[i], batch_digits, err));
    }
    uint32_t *ranges;
    CUZK_TRY(take_words(m, &ranges, max_lists * 2, err));
    m->lists.ranges = (uint2 *)ranges;
    CUZK_TRY(take_words(m, &ranges, max_lists * 2, err));
    m->lists.unordered = (uint2 *)ranges;
    const size_t merge = MSM_MERGE_CAP, longest = m->cap > merge ? m->cap : merge;
    CUZK_TRY(take_words(m, &m->turned,
                        m->digits + longest * MSM_LISTS_PER_THREAD * (size_t)m->g->threads, err));
    CUZK_TRY(take_words(m, &ranges, 2 * (max_lists / (size_t)m->g->threads + 1), err));
    m->chunks = (uint2 *)ranges;
    uint32_t *bias;
    CUZK_TRY(take_words(m, &bias, s->n * 10, err));
    m->sorter.bias = (uint64_t *)bias;
    CUZK_TRY(take_words(m, &m->sorter.flips, s->n / 32 + 1, err));
    CUZK_TRY(take_words(m, &m->sorter.values, batch_digits, err));
    CUZK_TRY(set_cub_room(m, batch_digits, max_lists, buckets, err));
    return take(m, &m->sorter.temp, m->sorter.temp_bytes, err);
}

static cuzk_status take_points(cuzk_cuda_msm *m, cuzk_err *err) {
    const size_t point = m->g->point_bytes, xyzz = m->g->xyzz_bytes;
    const size_t resident = (size_t)(m->dev->info.sms * m->g->min_blocks * m->g->threads);
    /* one more than lists: the point at infinity, for buckets without digits in folds */
    CUZK_TRY(take(m, &m->sums[0], (m->lists.max_lists + 1) * point, err));
    const size_t merged = m->lists.max_lists / MSM_MERGE_CAP + m->lists.max_lists / 2 + 1;
    CUZK_TRY(take(m, &m->sums[1], merged * point, err));
    CUZK_TRY(take(m, &m->sums[2], merged * point, err));
    CUZK_TRY(take(m, &m->acc, resident * MSM_LISTS_PER_THREAD * point, err));
    CUZK_TRY(take(m, &m->prefix, resident * MSM_LISTS_PER_THREAD * point / 2, err));
    const size_t sets = (size_t)m->shape.sets * (m->fold ? 2 : 1);
    const size_t slices = sets << m->lg_slices, modes = m->result_bytes / xyzz;
    CUZK_TRY(take(m, &m->slice_acc, slices * xyzz, err));
    CUZK_TRY(take(m, &m->slice_run, slices * xyzz, err));
    CUZK_TRY(take(m, &m->partial, modes * (((size_t)1 << m->lg_slices) / 256 + 1) * xyzz, err));
    return take(m, &m->result, m->result_bytes, err);
}

/* Scratch of a plan whose shape is known, and what goes with it. Measuring (cuzk__arena), only the
 * bytes are counted. */
static cuzk_status take_scratch(cuzk_cuda_msm *m, cuzk_err *err) {
    CUZK_TRY(take_lists(m, err));
    CUZK_TRY(take_points(m, err));
    if (is_measuring(m->dev)) return CUZK_OK;
    CUZK_CUDA(cudaMallocHost(&m->host_result, m->result_bytes));
    for (int i = 0; i < MSM_EVENTS; i++)
        CUZK_CUDA(cudaEventCreate(&m->events[i]));
    return CUZK_OK;
}

/* Lists: a bucket of uniform scalars is one list, or few enough to give every thread 24, if that
 * leaves lists of 16 or more. The longest list decides how long its block works: one list is not
 * longer than uniform scalars make (four standard deviations above the average); of `parts` lists
 * each is at most 1 / (parts - 1/2) of the average, so that most buckets have just `parts` and none
 * of them one less that is much longer (2^22 points: 77 rounds in two chunks instead of 64).
 * Slices: 4 to 64 buckets, about 2^16 threads. */
static void choose_cuts(cuzk_cuda_msm *m) {
    const size_t want = (size_t)(m->dev->info.sms * m->g->min_blocks * m->g->threads) * 24;
    const size_t average = m->digits / m->all_buckets + 1;
    size_t root = 1;
    while (root * root < average)
        root++;
    size_t parts = (want + m->all_buckets - 1) / m->all_buckets;
    if (parts < 2 && average > 64) parts = 2;
    size_t cap = parts < 2 ? average + 4 * root + 1 : 2 * average / (2 * parts - 1) + 1;
    if (cap < 16) cap = 16;
    m->cap = (uint32_t)cap;
    m->lists.max_lists = m->all_buckets + m->digits / cap + 1;
    m->batch = 1;
    while (m->batch < m->shape.sets &&
           cuzk__msm_digits_of(&m->shape, 0, m->batch + 1) <= MSM_BATCH_DIGITS)
        m->batch++;
    int lg_buckets = m->shape.window - 1;
    uint32_t points = m->all_buckets;
    m->fold = msm_folds(&m->config) && m->all_buckets >= MSM_FOLD_LEAST &&
              lg_buckets >= 2 * MSM_FOLD_BITS + 2 && m->digits >= 2 * (size_t)m->all_buckets;
    if (m->fold) {
        lg_buckets -= MSM_FOLD_BITS;
        points = 2 * (m->all_buckets >> MSM_FOLD_BITS);
    }
    int lg_len = 2;
    while (lg_len < 6 && points >> (lg_len + 1) >= 60000)
        lg_len++;
    const int most = m->fold ? lg_buckets - MSM_FOLD_BITS : lg_buckets;
    if (lg_len > most) lg_len = most; /* a slice of columns belongs to one column */
    m->lg_slice_len = lg_len;
    m->lg_slices = lg_buckets - lg_len;
    const size_t sets = (size_t)m->shape.sets * (m->fold ? 2 : 1);
    m->result_bytes = sets * (2 + (size_t)m->lg_slices) * m->g->xyzz_bytes;
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
    m->g = cuzk__cuda_group(c->curve, c->group);
    m->fr = c->curve == CUZK_BN254 ? &cuzk_bn254_fr_ops : &cuzk_bls12_381_fr_ops;
    const bool measuring = is_measuring(dev);
    unsigned factor = c->factor;
    if (!factor) {
        cuzk_cuda_info info = dev->info;
        if (!c->table_limit) CUZK_TRY_GOTO(cuzk_cuda_get_info(dev, &info, err), fail);
        factor = choose_factor(c, m->fr->bits, m->g->point_bytes,
                               c->table_limit ? c->table_limit : info.bytes_free / 2);
    }
    choose_shape(c, m->fr->bits, factor, &m->shape);
    m->digits = c->n * (size_t)m->shape.windows;
    m->all_buckets = m->shape.buckets * (uint32_t)m->shape.sets;
    if (c->n * (size_t)m->shape.factor >> 31 || m->digits + m->digits / 64 >> 32) {
        st = cuzk_err_set(err, CUZK_STATUS_USAGE, "MSM of %zu points, factor %d: too large", c->n,
                          m->shape.factor);
        goto fail;
    }
    choose_cuts(m);
    if (!measuring) CUZK_TRY_GOTO(m->g->prepare(err), fail);
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
    void *owned[] = {m->table,         m->index,         m->first,          m->offset[0],
                     m->offset[1],     m->offset[2],     m->lists.key[0],   m->lists.key[1],
                     m->lists.slot[0], m->lists.slot[1], m->lists.ranges,   m->lists.unordered,
                     m->sorter.bias,   m->sorter.flips,  m->sorter.keys[0], m->sorter.keys[1],
                     m->sorter.values, m->sorter.temp,   m->sums[0],        m->sums[1],
                     m->sums[2],       m->acc,           m->prefix,         m->slice_acc,
                     m->slice_run,     m->partial,       m->result,         m->turned,
                     m->chunks};
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

/* Sums the lists of one level into sums; `equal`: they have the same length. */
static cuzk_status sum_lists(cuzk_cuda_msm *m, const void *points, const uint32_t *index,
                             const cuzk__msm_lists *l, uint32_t lists, void *sums, int level,
                             bool equal, cuzk_err *err) {
    const uint32_t resident = (uint32_t)(m->dev->info.sms * m->g->min_blocks);
    const uint32_t threads = resident * (uint32_t)m->g->threads;
    /* Equal shares: a multiple of the resident blocks, so that none is left over. Several chunks a
     * block, where that leaves threads enough lists to share an inversion: a block that began with
     * long lists then ends with short ones. */
    const uint32_t full = threads * MSM_LISTS_PER_THREAD, each = lists / threads;
    uint32_t waves = (lists + full - 1) / full;
    if (!equal && waves < 3) waves = each >= 40 ? 3 : each >= 16 ? 2 : 1;
    const uint32_t per_thread = (lists + threads * waves - 1) / (threads * waves);
    const uint32_t chunk = per_thread * (uint32_t)m->g->threads;
    const uint32_t chunks = (lists + chunk - 1) / chunk;
    CUZK_TRY(
        cuzk__msm_turn_lists(m->dev, index, l->ranges, lists, chunk, m->turned, m->chunks, err));
    accumulate_args a = {};
    a.points = (const uint4 *)points;
    a.index = m->turned;
    a.chunks = m->chunks;
    a.slot = l->slot[1];
    a.out = (uint4 *)sums;
    a.acc = (uint4 *)m->acc;
    a.prefix = (uint4 *)m->prefix;
    a.counter = m->dev->counters + level;
    a.lists = lists;
    a.m = (int)per_thread;
    a.sms = m->dev->info.sms;
    return m->g->accumulate(m->dev, &a, (int)(chunks < resident ? chunks : resident), err);
}

static cuzk_status sort_digits(cuzk_cuda_msm *m, const cuzk__msm_shape *s, const void *scalars,
                               cudaEvent_t read, cuzk_err *err) {
    CUZK_TRY(cuzk__msm_prepare_scalars(m->dev, s, &m->fr->modulus, scalars, &m->sorter, err));
    if (read) CUZK_CUDA(cudaEventRecord(read, m->dev->stream));
    size_t origin = 0;
    uint32_t *first = m->first;
    for (int set = 0; set < s->sets; set += m->batch) {
        const int count = s->sets - set < m->batch ? s->sets - set : m->batch;
        CUZK_TRY(cuzk__msm_sort_sets(m->dev, s, set, count, &m->sorter, m->index, (uint32_t)origin,
                                     first, err));
        origin += cuzk__msm_digits_of(s, set, count);
        first += (size_t)count * s->buckets + 1;
    }
    return CUZK_OK;
}

/* Leaves the sum of each bucket with digits in sums[0], at its first list's number offset[0].
 * *any: whether there is one. *parts: some buckets' lists are left to be added, few enough that
 * reduce does it faster than another level here. The buckets of the top window, which has fewer
 * bits and so fewer, larger buckets, have the most: 14 for 2^20 points of BN254, whose rounds here
 * took 0.9 ms. */
static cuzk_status sum_buckets(cuzk_cuda_msm *m, bool *any, bool *parts, cuzk_err *err) {
    cuzk__msm_lists l = m->lists;
    uint32_t lists, most;
    l.offset = m->offset[0];
    CUZK_TRY(cuzk__msm_make_lists(m->dev, m->first, m->shape.buckets * (uint32_t)m->batch,
                                  m->all_buckets, m->cap, 1, &l, &m->sorter, &lists, &most, err));
    *any = lists != 0;
    if (lists) CUZK_TRY(sum_lists(m, m->points, m->index, &l, lists, m->sums[0], 0, false, err));
    *parts = !m->fold && most > 1 && most <= MSM_REDUCE_PARTS;
    if (*parts) return CUZK_OK;
    /* the partial sums of divided buckets, level by level */
    int from = 0;
    for (int level = 1; most > 1 && level < CUZK__CUDA_COUNTERS - 2; level++) {
        const int to = from == 1 ? 2 : 1;
        l.offset = m->offset[to];
        CUZK_TRY(cuzk__msm_make_lists(m->dev, m->offset[from], UINT32_MAX, m->all_buckets,
                                      MSM_MERGE_CAP, 2, &l, &m->sorter, &lists, &most, err));
        CUZK_TRY(sum_lists(m, m->sums[from], NULL, &l, lists, m->sums[to], level, false, err));
        CUZK_TRY(cuzk__msm_settle(m->dev, m->sums[0], m->offset[0], m->sums[to], m->offset[to],
                                  m->all_buckets, m->g->point_bytes, err));
        from = to;
    }
    return CUZK_OK;
}

/* Leaves the sums that combine needs in result. */
static cuzk_status reduce_buckets(cuzk_cuda_msm *m, bool parts, cuzk_err *err) {
    const cuzk__msm_shape *s = &m->shape;
    if (!m->fold)
        return m->g->reduce(m->dev, m->sums[0], m->offset[0], parts, s->buckets, (uint32_t)s->sets,
                            m->lg_slices, m->slice_acc, m->slice_run, m->partial, m->result, err);
    CUZK_TRY(cuzk__msm_fold_lists(m->dev, m->offset[0], m->all_buckets, s->window - 1,
                                  MSM_FOLD_BITS, (uint32_t)m->lists.max_lists, m->index, &m->lists,
                                  err));
    /* every time: other plans may have the same scratch */
    const size_t point = m->g->point_bytes;
    CUZK_CUDA(
        cudaMemsetAsync((char *)m->sums[0] + m->lists.max_lists * point, 0, point, m->dev->stream));
    const uint32_t lists = 2 * (m->all_buckets >> MSM_FOLD_BITS);
    CUZK_TRY(sum_lists(m, m->sums[0], m->index, &m->lists, lists, m->sums[1],
                       CUZK__CUDA_COUNTERS - 2, true, err));
    return m->g->reduce(m->dev, m->sums[1], NULL, false, s->buckets >> MSM_FOLD_BITS,
                        2 * (uint32_t)s->sets, m->lg_slices, m->slice_acc, m->slice_run, m->partial,
                        m->result, err);
}

cuzk_status cuzk_cuda_msm_run(cuzk_cuda_msm *m, const void *scalars, cuzk_point *out,
                              cuzk_err *err) {
    return cuzk_cuda_msm_run_some(m, scalars, NULL, m->shape.n, out, err);
}

void cuzk__cuda_msm_set_bases(cuzk_cuda_msm *m, const void *bases) {
    m->points = bases;
}

size_t cuzk__cuda_msm_result_bytes(const cuzk_cuda_msm *m) {
    return m->result_bytes;
}

cuzk_status cuzk__cuda_msm_queue(cuzk_cuda_msm *m, const void *scalars, const uint32_t *map,
                                 size_t n, cudaEvent_t read, void *result, bool *any,
                                 cuzk_err *err) {
    const cuzk_cuda *dev = m->dev;
    cuzk__msm_shape run = m->shape;
    run.n = n;
    run.map = map;
    *any = false;
    if (n == 0) {
        if (read) CUZK_CUDA(cudaEventRecord(read, dev->stream));
        return CUZK_OK;
    }
    if (n > m->shape.n || !m->host_result)
        return cuzk_err_set(err, CUZK_STATUS_USAGE, "%zu scalars for a plan of %zu", n, m->shape.n);
    CUZK_CUDA(
        cudaMemsetAsync(dev->counters, 0, CUZK__CUDA_COUNTERS * sizeof(unsigned), dev->stream));
    CUZK_CUDA(cudaEventRecord(m->events[0], dev->stream));
    CUZK_TRY(sort_digits(m, &run, scalars, read, err));
    CUZK_CUDA(cudaEventRecord(m->events[1], dev->stream));
    bool parts;
    CUZK_TRY(sum_buckets(m, any, &parts, err));
    CUZK_CUDA(cudaEventRecord(m->events[2], dev->stream));
    if (*any) {
        CUZK_TRY(reduce_buckets(m, parts, err));
        CUZK_CUDA(cudaMemcpyAsync(result, m->result, m->result_bytes, cudaMemcpyDeviceToHost,
                                  dev->stream));
    }
    CUZK_CUDA(cudaEventRecord(m->events[3], dev->stream));
    return CUZK_OK;
}

void cuzk__cuda_msm_combine(const cuzk_cuda_msm *m, const void *result, cuzk_point *out) {
    m->g->combine(result, (uint32_t)m->shape.sets, m->shape.window, m->lg_slices, m->lg_slice_len,
                  m->fold ? m->shape.window - 1 - 2 * MSM_FOLD_BITS : -1, out);
}

cuzk_status cuzk_cuda_msm_run_some(cuzk_cuda_msm *m, const void *scalars, const uint32_t *map,
                                   size_t n, cuzk_point *out, cuzk_err *err) {
    bool any;
    memset(out, 0, sizeof *out);
    CUZK_TRY(cuzk__cuda_msm_queue(m, scalars, map, n, NULL, m->host_result, &any, err));
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
