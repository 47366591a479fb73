/* Loading a key: bases without infinities, tables of multiples, rows, transform tables. */
#include "backend/cuda/lean.cuh"
#include "backend/cuda/ntt_small.h"

extern "C" {
#include "backend/cuda/base_scan.h"
#include "base/mem.h"
}

#include <string.h>

const cuzk__sum_ops *cuzk__sum_group(cuzk_curve_id curve, cuzk_group group) {
    if (curve == CUZK_BN254) return group == CUZK_G1 ? &cuzk__sum_bn254_g1 : &cuzk__sum_bn254_g2;
    return group == CUZK_G1 ? &cuzk__sum_bls12_381_g1 : &cuzk__sum_bls12_381_g2;
}

/* Combs are made for at most these many bases: above, sorting costs less than the additions of
 * short digits. Of witnesses most values are bits, which cost one addition either way. */
enum { COMB_MOST_WIRES = 1 << 17, COMB_MOST_H = 1 << 16, COMB_WIDEST = 7, COMB_NARROWEST = 3 };
/* Of G1; G2 may take twice that. H, whose values are all full, gains most by wide digits. */
static const size_t COMB_BYTES_WIRES = (size_t)2 << 30, COMB_BYTES_H = (size_t)6 << 30;

/* The largest domain of keys whose sums share the device. */
enum { SHARED_DOMAIN = 19 };

/* Keys of logarithms. */
enum { LOG_WINDOW = 12, LOG_BYTES = 32 };

/* Sends bases through the ring: points, or logarithms that become points. */
struct point_writer {
    cuzk_gpu_backend *b;
    char *device; /* where the next point goes */
    size_t size;  /* bytes of a base as the key has it */
    const cuzk__sum_ops *ops;
    const cuzk__gpu_query *comb; /* of logarithms; NULL: points */
    void *scalars;
};

static size_t base_size(const cuzk_gpu_key *k, const cuzk__gpu_query *q) {
    return k->logs ? (size_t)LOG_BYTES : q->ops->point_bytes;
}

static point_writer writer(cuzk_gpu_backend *b, const cuzk_gpu_key *k, const cuzk__gpu_query *q,
                           void *to) {
    point_writer w = {};
    w.b = b;
    w.device = (char *)to;
    w.ops = q->ops;
    w.size = base_size(k, q);
    if (k->logs) {
        w.comb = &k->logs->comb[q->group == CUZK_G2];
        w.scalars = k->logs->scalars;
    }
    return w;
}

/* The n bases in the ring's part that was taken last. */
static cuzk_status send(point_writer *w, size_t n, cuzk_err *err) {
    if (n == 0) return CUZK_OK;
    CUZK_TRY(cuzk__ring_send(w->b, w->comb ? w->scalars : w->device, n * w->size, err));
    if (w->comb)
        CUZK_TRY(w->ops->fixed_base(w->b->dev, w->comb->points, w->comb->window, w->comb->windows,
                                    w->scalars, w->device, n, err));
    w->device += n * w->ops->point_bytes;
    return CUZK_OK;
}

static cuzk_status send_all(point_writer *w, const void *bases, size_t n, cuzk_err *err) {
    const size_t room = CUZK__RING_BYTES / w->size;
    for (size_t i = 0; i < n; i += room) {
        const size_t k = n - i < room ? n - i : room;
        char *part;
        CUZK_TRY(cuzk__ring_take(w->b, &part, err));
        cuzk__ring_copy(w->b, part, (const char *)bases + i * w->size, k * w->size);
        CUZK_TRY(send(w, k, err));
    }
    return CUZK_OK;
}

static cuzk_status send_finite(point_writer *w, const cuzk__base_scan *s, cuzk_err *err) {
    const uint32_t room = (uint32_t)(CUZK__RING_BYTES / w->size);
    static_assert(CUZK__RING_BYTES / CUZK_POINT_MAX >= CUZK__SCAN_BLOCK,
                  "a block has room in the ring");
    for (size_t first = 0, end; first < s->blocks; first = end) {
        char *part;
        end = cuzk__base_scan_span(s, first, room);
        CUZK_TRY(cuzk__ring_take(w->b, &part, err));
        cuzk__base_scan_copy(s, first, end, part, w->b->pool);
        CUZK_TRY(send(w, s->before[end] - s->before[first], err));
    }
    return CUZK_OK;
}

/* What a query holds once its infinities are left out. */
struct finite_bases {
    cuzk__base_scan full, bits;
    uint32_t *slots;
    uint32_t n_full, n;
};

static void free_finite(finite_bases *f) {
    cuzk__base_scan_fini(&f->full);
    cuzk__base_scan_fini(&f->bits);
    cuzk_free(f->slots);
}

struct slot_filler {
    const cuzk_proving_key *key;
    const cuzk_query *q;
    const finite_bases *f;
    bool bits;
    size_t bad; /* a base whose slot is none, or SIZE_MAX; any of them */
};

static void fill_block(void *ctx, size_t block) {
    slot_filler *w = (slot_filler *)ctx;
    const cuzk__base_scan *s = w->bits ? &w->f->bits : &w->f->full;
    const size_t limit = w->bits ? w->key->n_bits : w->key->n_full;
    const uint32_t *slots = w->bits ? w->q->bit_slots : w->q->full_slots;
    uint32_t *out = w->f->slots + (w->bits ? w->f->n_full : 0) + s->before[block];
    for (size_t i = block * CUZK__SCAN_BLOCK; i < cuzk__base_scan_end(s, block); i++) {
        if (!cuzk__base_scan_keeps(s, i)) continue;
        const size_t slot = slots ? slots[i] : w->q->first_full + i;
        if (slot >= limit) __atomic_store_n(&w->bad, i, __ATOMIC_RELAXED);
        *out++ = (uint32_t)slot | (w->bits ? (uint32_t)CUZK__SLOT_BIT : 0);
    }
}

static cuzk_status fill_slots(const finite_bases *f, const cuzk_proving_key *key,
                              const cuzk_query *q, bool bits, cuzk_pool *pool, cuzk_err *err) {
    slot_filler w = {key, q, f, bits, SIZE_MAX};
    cuzk_pool_run(pool, bits ? f->bits.blocks : f->full.blocks, fill_block, &w);
    if (w.bad == SIZE_MAX) return CUZK_OK;
    return cuzk_err_set(err, CUZK_STATUS_BAD_INPUT, "%s: base %zu: no such %s", key->name, w.bad,
                        bits ? "bit" : "value");
}

/* The value of each finite base, in the order that put_bases writes them. */
static cuzk_status find_finite(finite_bases *f, const cuzk_proving_key *key, const cuzk_query *q,
                               size_t size, cuzk_pool *pool, cuzk_err *err) {
    void *mem;
    if (q->n_full + q->n_bits + 1 >= UINT32_MAX / 2)
        return cuzk_err_set(err, CUZK_STATUS_BAD_INPUT, "%s: %zu bases are too many", key->name,
                            q->n_full + q->n_bits);
    CUZK_TRY(cuzk__base_scan_init(&f->full, q->full_bases, q->n_full, size, false, pool, err));
    CUZK_TRY(cuzk__base_scan_init(&f->bits, q->bit_bases, q->n_bits, size, false, pool, err));
    f->n_full = cuzk__base_scan_kept(&f->full);
    f->n = f->n_full + cuzk__base_scan_kept(&f->bits);
    if (cuzk_alloc(&mem, (size_t)f->n + 1, 4) != CUZK_OK)
        return cuzk_err_set(err, CUZK_STATUS_NO_MEMORY, "%s: not enough memory", key->name);
    f->slots = (uint32_t *)mem;
    CUZK_TRY(fill_slots(f, key, q, false, pool, err));
    CUZK_TRY(fill_slots(f, key, q, true, pool, err));
    if (q->one_base && !cuzk__base_is_infinity(q->one_base, size))
        f->slots[f->n++] = CUZK__SLOT_ONE;
    return CUZK_OK;
}

/* Full bases to the beginning of query->points, the others `rest` points further on. */
static cuzk_status put_bases(cuzk_gpu_backend *b, const cuzk__gpu_query *query, size_t rest,
                             const cuzk_gpu_key *k, const cuzk_query *q, const finite_bases *f,
                             cuzk_err *err) {
    point_writer w = writer(b, k, query, query->points);
    CUZK_TRY(send_finite(&w, &f->full, err));
    w.device = (char *)query->points + rest * query->ops->point_bytes;
    CUZK_TRY(send_finite(&w, &f->bits, err));
    if (!q->one_base || cuzk__base_is_infinity(q->one_base, w.size)) return CUZK_OK;
    return send_all(&w, q->one_base, 1, err);
}

/* A key that fills the device leaves what it can to H's table, where most of the work is. */
static bool is_large(const cuzk_gpu_key *k) {
    return k->base.key->log2_domain >= 26;
}

/* Device memory that may still be taken. */
static cuzk_status free_bytes(const cuzk_gpu_backend *b, size_t *bytes, cuzk_err *err) {
    cuzk_cuda_info info;
    CUZK_TRY(cuzk_cuda_backend_info(&b->base, &info, err));
    *bytes = info.bytes_free;
    return CUZK_OK;
}

/* Of it, what a key's tables may take. */
static cuzk_status room(const cuzk_gpu_backend *b, const cuzk_gpu_key *k, size_t *bytes,
                        cuzk_err *err) {
    const size_t leave = is_large(k) ? b->leave : 0;
    CUZK_TRY(free_bytes(b, bytes, err));
    *bytes = *bytes > leave ? *bytes - leave : 0;
    return CUZK_OK;
}

/* Decides between comb and sorted sums, and takes the memory for the points. */
static cuzk_status take_points(cuzk_gpu_backend *b, cuzk_gpu_key *k, cuzk__gpu_query *q, bool h,
                               cuzk_err *err) {
    const unsigned bits = k->base.key->curve->fr->bits;
    const size_t size = q->ops->point_bytes, others = q->n - q->n_full;
    size_t free;
    CUZK_TRY(room(b, k, &free, err));
    const uint32_t most = h ? COMB_MOST_H : COMB_MOST_WIRES;
    size_t limit = (h ? COMB_BYTES_H : COMB_BYTES_WIRES) * (q->group == CUZK_G1 ? 1 : 2);
    if (limit > free / 8) limit = free / 8;
    q->window = 0;
    if (k->tables && q->n_full > 0 && q->n_full <= most) {
        for (unsigned w = COMB_WIDEST; w >= COMB_NARROWEST && !q->window; w--) {
            const unsigned windows = bits / w + 1; /* the top digit takes a carry */
            const size_t table = (size_t)q->n_full * windows << (w - 1);
            if (table * size > limit || (table + others) >> 31) continue;
            q->window = w;
            q->windows = windows;
            q->table = table;
        }
    }
    const size_t points = (q->window ? q->table : q->n_full) + others;
    k->bytes.points += (size_t)q->n * size;
    if (q->window) k->bytes.tables += (q->table - q->n_full) * size;
    return cuzk_cuda_alloc(b->dev, &q->points, points * size, err);
}

/* The comb's multiples from the bases in its first n_full places. */
static cuzk_status fill_comb(cuzk_gpu_backend *b, cuzk_curve_id curve, const cuzk__gpu_query *q,
                             cuzk_err *err) {
    const cuzk__cuda_group_ops *g = cuzk__cuda_group(curve, q->group);
    const size_t row = (size_t)q->n_full * q->ops->point_bytes;
    const size_t plane = row * q->windows, count = (size_t)q->n_full * q->windows;
    char *t = (char *)q->points;
    CUZK_TRY(g->prepare(b->dev, err));
    for (unsigned w = 1; w < q->windows; w++)
        CUZK_TRY(g->shift(b->dev, t + (w - 1) * row, t + w * row, q->n_full, (int)q->window, err));
    for (unsigned d = 2; d <= 1u << (q->window - 1); d++) {
        char *to = t + (d - 1) * plane;
        if (d % 2 == 0)
            CUZK_TRY(g->shift(b->dev, t + (d / 2 - 1) * plane, to, count, 1, err));
        else
            CUZK_TRY(q->ops->add_multiples(b->dev, t + (d - 2) * plane, t, to, count, err));
    }
    return CUZK_OK;
}

/* Comb or sorted: whatever follows the bases. */
cuzk_status finish_query(cuzk_gpu_backend *b, cuzk_gpu_key *k, cuzk__gpu_query *q, size_t h_limit,
                         cuzk_err *err) {
    const cuzk_curve_id curve = k->base.key->curve->id;
    if (q->window) return cuzk__measures(b->dev) ? CUZK_OK : fill_comb(b, curve, q, err);
    if (q->n_full == 0) return CUZK_OK;
    size_t free;
    CUZK_TRY(room(b, k, &free, err));
    cuzk_cuda_msm_config c = {};
    c.curve = curve;
    c.group = q->group;
    c.n = q->n_full;
    c.factor = k->tables ? q->factor : 1;
    c.table_limit = q == &k->query[CUZK__Q_H] ? h_limit : free / (is_large(k) ? 64 : 8) + 1;
    c.table_only = true;
    CUZK_TRY(cuzk_cuda_msm_new(&q->msm, b->dev, &c, q->points, err));
    cuzk_cuda_msm_info m;
    cuzk_cuda_msm_get_info(q->msm, &m);
    k->bytes.tables += m.table_bytes;
    return CUZK_OK;
}

/* Groups and counts of all queries from figures: no base is taken to be infinite. */
static cuzk_status count_queries(cuzk_gpu_key *k, cuzk_err *err) {
    const cuzk_proving_key *key = k->base.key;
    const cuzk_query *from[CUZK__QUERIES] = {&key->a, &key->b1, &key->b2, &key->l, NULL};
    for (int id = 0; id < CUZK__QUERIES; id++) {
        const cuzk_query *f = from[id];
        cuzk__gpu_query *q = &k->query[id];
        const size_t full = f ? f->n_full : (size_t)1 << key->log2_domain;
        const size_t all = full + (f ? f->n_bits + (f->one_base != NULL) : 0);
        if (all >= UINT32_MAX / 2)
            return cuzk_err_set(err, CUZK_STATUS_BAD_INPUT, "%s: %zu bases are too many", key->name,
                                all);
        q->group = id == CUZK__Q_B2 ? CUZK_G2 : CUZK_G1;
        q->ops = cuzk__sum_group(key->curve->id, q->group);
        q->n_full = (uint32_t)full;
        q->n = (uint32_t)all;
    }
    return CUZK_OK;
}

/* Where nothing is taken: from the counts. */
static cuzk_status plan_query(cuzk_gpu_backend *b, cuzk_gpu_key *k, cuzk__gpu_query *q,
                              cuzk_err *err) {
    void *slots;
    if (q->n == 0) return CUZK_OK;
    CUZK_TRY(take_points(b, k, q, false, err));
    CUZK_TRY(cuzk_cuda_alloc(b->dev, &slots, (size_t)q->n * 4, err));
    k->bytes.points += (size_t)q->n * 4;
    return finish_query(b, k, q, 0, err);
}

static cuzk_status load_query(cuzk_gpu_backend *b, cuzk_gpu_key *k, cuzk__query_id id,
                              const cuzk_query *from, cuzk_err *err) {
    const cuzk_proving_key *key = k->base.key;
    cuzk__gpu_query *q = &k->query[id];
    finite_bases f = {};
    void *mem = NULL;
    cuzk_status st;
    if (cuzk__measures(b->dev)) return plan_query(b, k, q, err);
    st = find_finite(&f, key, from, base_size(k, q), b->pool, err);
    q->n_full = f.n_full;
    q->n = f.n;
    if (st == CUZK_OK && f.n > 0) {
        CUZK_TRY_GOTO(q->ops->prepare(b->dev, err), done);
        CUZK_TRY_GOTO(take_points(b, k, q, false, err), done);
        CUZK_TRY_GOTO(cuzk_cuda_alloc(b->dev, &mem, (size_t)f.n * 4, err), done);
        q->slots = (uint32_t *)mem;
        k->bytes.points += (size_t)f.n * 4;
        CUZK_TRY_GOTO(cuzk__ring_upload(b, q->slots, f.slots, (size_t)f.n * 4, err), done);
        CUZK_TRY_GOTO(put_bases(b, q, q->window ? q->table : q->n_full, k, from, &f, err), done);
        CUZK_TRY_GOTO(finish_query(b, k, q, 0, err), done);
    }
done:
    free_finite(&f);
    return st;
}

/* What H's sum would take with at most so much memory for its table; nothing is taken. */
static cuzk_status measure_h(const cuzk_gpu_backend *b, cuzk_gpu_key *k, size_t limit,
                             cuzk_cuda_msm_info *info, size_t *work, cuzk_err *err) {
    cuzk__gpu_query *q = &k->query[CUZK__Q_H];
    cuzk_cuda probe = *b->dev;
    cuzk__arena arena = {};
    arena.measuring = true;
    probe.arena = &arena;
    cuzk_cuda_msm_config c = {};
    c.curve = k->base.key->curve->id;
    c.group = CUZK_G1;
    c.n = q->n_full;
    c.factor = k->tables ? q->factor : 1;
    c.table_limit = limit;
    c.table_only = true;
    CUZK_TRY(cuzk_cuda_msm_new(&q->msm, &probe, &c, NULL, err));
    cuzk_cuda_msm_get_info(q->msm, info);
    const cuzk_status st = cuzk__gpu_work_bytes(k, work, err);
    cuzk_cuda_msm_free(q->msm);
    q->msm = NULL;
    return st;
}

/* H's table may take what is left, as long as the work memory and slots still fit beside it and its
 * bases, which a table holds too, go when there is one. A large key takes all that fits. */
static cuzk_status choose_h_table(const cuzk_gpu_backend *b, cuzk_gpu_key *k, size_t bases,
                                  size_t *limit, cuzk_err *err) {
    enum { MOST = 8 };
    cuzk__gpu_query *q = &k->query[CUZK__Q_H];
    size_t free;
    CUZK_TRY(room(b, k, &free, err));
    const size_t others = CUZK__SLOTS * k->bytes.slot + CUZK__MARGIN, taken = b->work.arena.size;
    *limit = free + 1;
    q->factor = is_large(k) ? MOST : 0;
    while ((size_t)q->n * q->factor >> 31)
        q->factor--;
    for (;;) {
        cuzk_cuda_msm_info m;
        size_t work;
        CUZK_TRY(measure_h(b, k, *limit, &m, &work, err));
        if (m.factor == 1) break;
        const size_t more = work > taken ? work - taken : 0;
        if (m.table_bytes <= free && m.table_bytes + more + others <= free + bases) break;
        *limit = m.table_bytes - 1;
        if (q->factor) q->factor = m.factor - 1;
    }
    return CUZK_OK;
}

/* Each sum of a small key takes half of the device: B2's its own, the others take turns with the
 * other half, as do rows, transforms, and what comes before and behind the sums of lists. */
static void share_out(cuzk_gpu_key *k, bool shares) {
    k->shares = shares;
    for (const cuzk__gpu_query &q : k->query)
        if (q.msm) cuzk__cuda_msm_set_share(q.msm, CUZK__MSM_SHARES / (shares ? 2 : 1));
}

/* Sums side by side, if there is memory for it. */
static cuzk_status choose_turns(const cuzk_gpu_backend *b, cuzk_gpu_key *k, cuzk_err *err) {
    const cuzk__gpu_query *q = &k->query[CUZK__Q_H];
    cuzk_cuda_msm_info m = {};
    size_t room;
    CUZK_TRY(free_bytes(b, &room, err));
    if (q->msm) cuzk_cuda_msm_get_info(q->msm, &m);
    room += b->work.arena.size;
    if (m.factor > 1) room += (size_t)q->n * q->ops->point_bytes; /* bases that go */
    k->in_turn = b->in_turn || k->bytes.work + CUZK__SLOTS * k->bytes.slot + CUZK__MARGIN > room;
    if (!k->in_turn) return CUZK_OK;
    share_out(k, false);
    return cuzk__gpu_work_bytes(k, &k->bytes.work, err);
}

cuzk_status finish_h(cuzk_gpu_backend *b, cuzk_gpu_key *k, cuzk_err *err) {
    cuzk__gpu_query *q = &k->query[CUZK__Q_H];
    const size_t bases = (size_t)q->n * q->ops->point_bytes;
    size_t limit = 1;
    k->bytes.slot = cuzk__gpu_slot_bytes(k->base.key);
    if (!q->window) CUZK_TRY(choose_h_table(b, k, bases, &limit, err));
    CUZK_TRY(finish_query(b, k, q, limit, err));
    share_out(k, k->base.key->log2_domain <= SHARED_DOMAIN);
    CUZK_TRY(cuzk__gpu_work_bytes(k, &k->bytes.work, err));
    CUZK_TRY(choose_turns(b, k, err));
    if (!q->msm) return CUZK_OK;
    cuzk_cuda_msm_info m;
    cuzk_cuda_msm_get_info(q->msm, &m);
    if (m.factor > 1) {
        cuzk_cuda_free(b->dev, q->points);
        if (cuzk__measures(b->dev)) b->dev->arena->used -= bases;
        q->points = NULL;
        k->bytes.points -= bases;
    }
    return CUZK_OK;
}

/* H: every base, in the order in which the transforms leave the scalars. */
static cuzk_status load_h(cuzk_gpu_backend *b, cuzk_gpu_key *k, cuzk_err *err) {
    const cuzk_proving_key *key = k->base.key;
    const bool values = key->h_form == CUZK_H_COSET_VALUES;
    cuzk__gpu_query *q = &k->query[CUZK__Q_H];
    CUZK_TRY(take_points(b, k, q, true, err));
    if (cuzk__measures(b->dev)) return finish_h(b, k, err);
    CUZK_TRY(q->ops->prepare(b->dev, err));
    const size_t size = q->ops->point_bytes;
    const size_t count = (size_t)q->n - (key->h_form == CUZK_H_COEFFICIENTS ? 1 : 0);
    point_writer w = writer(b, k, q, q->points);
    CUZK_TRY(send_all(&w, key->h, count, err));
    if (count < q->n)
        CUZK_CUDA(cudaMemsetAsync((char *)q->points + count * size, 0, size, b->dev->stream));
    if (!values)
        CUZK_TRY(cuzk__bit_reverse(b->dev, q->points, key->log2_domain, (int)(size / 16), err));
    return finish_h(b, k, err);
}

unsigned cuzk__gpu_transform_dirs(const cuzk_cuda *dev, const cuzk_proving_key *key, bool small) {
    const unsigned dirs = 3 | (small ? CUZK_NTT_SMALL_TABLES : 0);
    return cuzk__cuda_ntt_dirs(key->log2_domain, dirs, dev->info.block_shared);
}

size_t cuzk__gpu_transform_bytes(const cuzk_proving_key *key, unsigned dirs) {
    const unsigned log2n = key->log2_domain, scales = key->h_form == CUZK_H_COSET_VALUES ? 1 : 2;
    return cuzk_cuda_ntt_bytes(log2n, dirs) + scales * cuzk__cuda_ntt_scale_bytes(log2n, dirs);
}

cuzk_status cuzk__gpu_load_transforms(cuzk_gpu_backend *b, cuzk_gpu_key *k, unsigned dirs,
                                      cuzk_err *err) {
    const cuzk_proving_key *key = k->base.key;
    const cuzk_fr_ops *fr = key->curve->fr;
    const unsigned log2n = key->log2_domain;
    const unsigned family = key->h_form == CUZK_H_COSET_VALUES ? 5 : 7;
    k->bytes.transforms = cuzk__gpu_transform_bytes(key, dirs);
    if (cuzk__measures(b->dev)) {
        void *tables;
        return cuzk_cuda_alloc(b->dev, &tables, k->bytes.transforms, err);
    }
    CUZK_TRY(cuzk_cuda_ntt_new(&k->ntt, b->dev, key->curve->id, log2n, family, dirs, err));
    /* The odd coset: its generator is the next root, whose n-th power is -1. At the field's last
     * power snarkjs takes the square of the non-residue 5. */
    cuzk_u256 g;
    if (log2n < fr->adicity) {
        cuzk_fr_root(fr, &g, family, log2n + 1);
    } else {
        g = (cuzk_u256){{25, 0, 0, 0}};
        fr->to_mont(&g, &g);
    }
    CUZK_TRY(cuzk_cuda_ntt_scale_new(&k->to_coset, k->ntt, CUZK_NTT_FORWARD, &g, err));
    if (key->h_form == CUZK_H_COSET_VALUES) return CUZK_OK;
    fr->inv(&g, &g);
    return cuzk_cuda_ntt_scale_new(&k->from_coset, k->ntt, CUZK_NTT_INVERSE, &g, err);
}

cuzk_status cuzk__gpu_load_witness(cuzk_gpu_key *k, cuzk_cuda *dev, cuzk_err *err) {
    const cuzk_proving_key *key = k->base.key;
    cuzk_witness_program *program;
    if (!key->plan) return CUZK_OK;
    CUZK_TRY(cuzk_witness_program_new(&program, key->plan, err));
    const cuzk_status st = cuzk_cuda_witness_new(&k->witness, dev, program, err);
    cuzk_witness_program_free(program);
    if (st == CUZK_OK) k->bytes.rows += cuzk_cuda_witness_bytes(k->witness);
    return st;
}

static cuzk_status load_rows(cuzk_gpu_backend *b, cuzk_gpu_key *k, cuzk_err *err) {
    const cuzk_proving_key *key = k->base.key;
    if (key->r1cs) {
        if ((uint64_t)key->r1cs->n_rows + key->r1cs->n_inputs > (uint64_t)1 << key->log2_domain ||
            key->r1cs->n_inputs != key->n_inputs)
            return cuzk_err_set(err, CUZK_STATUS_BAD_INPUT, "%s: %u rows and %u inputs in 2^%u",
                                key->name, key->r1cs->n_rows, key->r1cs->n_inputs,
                                key->log2_domain);
        CUZK_TRY(cuzk_cuda_r1cs_new(&k->r1cs, b->dev, key->r1cs, err));
        k->bytes.rows = cuzk_cuda_r1cs_bytes(k->r1cs);
        return cuzk__gpu_load_witness(k, b->dev, err);
    }
    cuzk_cuda_info info;
    CUZK_TRY(cuzk_cuda_backend_info(&b->base, &info, err));
    if (!cuzk__measures(b->dev) && cuzk__gpu_rows_plan(key) > info.bytes_free)
        return cuzk_err_set(err, CUZK_STATUS_NO_MEMORY,
                            "%s: its rows take %zu bytes of device memory, there are %zu",
                            key->name, cuzk__gpu_rows_plan(key), info.bytes_free);
    CUZK_TRY(cuzk__gpu_rows_load(&k->rows, b, key, err));
    k->bytes.rows = k->rows.bytes;
    return CUZK_OK;
}

static void free_logs(cuzk_gpu_backend *b, cuzk_gpu_key *k) {
    if (!k->logs) return;
    (void)cudaStreamSynchronize(b->dev->stream);
    cuzk_cuda_free(b->dev, k->logs->comb[0].points);
    cuzk_cuda_free(b->dev, k->logs->comb[1].points);
    cuzk_cuda_free(b->dev, k->logs->scalars);
    cuzk_free(k->logs);
    k->logs = NULL;
}

cuzk_status cuzk__gpu_generator_comb(cuzk_gpu_backend *b, cuzk__gpu_query *q,
                                     const cuzk_curve *curve, cuzk_group group, cuzk_err *err) {
    q->group = group;
    q->ops = cuzk__sum_group(curve->id, group);
    q->n = q->n_full = 1;
    q->window = LOG_WINDOW;
    q->windows = curve->fr->bits / LOG_WINDOW + 1;
    q->table = (size_t)q->windows << (LOG_WINDOW - 1);
    CUZK_TRY(q->ops->prepare(b->dev, err));
    CUZK_TRY(cuzk_cuda_alloc(b->dev, &q->points, q->table * q->ops->point_bytes, err));
    CUZK_TRY(cuzk__ring_upload(b, q->points, cuzk_curve_group(curve, group)->generator,
                               q->ops->point_bytes, err));
    return fill_comb(b, curve->id, q, err);
}

static cuzk_status load_logs(cuzk_gpu_backend *b, cuzk_gpu_key *k, cuzk_err *err) {
    const cuzk_curve *curve = k->base.key->curve;
    void *mem;
    CUZK_TRY(cuzk_alloc(&mem, 1, sizeof(cuzk__key_logs)));
    k->logs = (cuzk__key_logs *)mem;
    CUZK_TRY(cuzk_cuda_alloc(b->dev, &k->logs->scalars, CUZK__RING_BYTES, err));
    CUZK_TRY(cuzk__gpu_generator_comb(b, &k->logs->comb[0], curve, CUZK_G1, err));
    return cuzk__gpu_generator_comb(b, &k->logs->comb[1], curve, CUZK_G2, err);
}

size_t cuzk__gpu_own_bytes(const cuzk_gpu_key *k) {
    const cuzk_cuda_key_bytes *n = &k->bytes;
    return n->points + n->tables + n->rows + n->transforms + (k->lean ? n->work : 0);
}

void cuzk__gpu_unload(cuzk_gpu_backend *b, cuzk_gpu_key *k) {
    if (!cuzk__measures(b->dev)) (void)cudaSetDevice(b->dev->ordinal);
    cuzk__gpu_work_detach(k);
    cuzk__lean_free(b, k);
    (void)__atomic_sub_fetch(&b->held, k->held, __ATOMIC_RELAXED);
    for (cuzk__gpu_query &q : k->query) {
        cuzk_cuda_msm_free(q.msm);
        cuzk_cuda_free(b->dev, q.points);
        cuzk_cuda_free(b->dev, q.slots);
    }
    cuzk_cuda_ntt_scale_free(k->to_coset);
    cuzk_cuda_ntt_scale_free(k->from_coset);
    cuzk_cuda_ntt_free(k->ntt);
    cuzk__gpu_rows_free(&k->rows, b);
    if (k->r1cs) cuzk_cuda_r1cs_free(k->r1cs);
    cuzk_cuda_witness_free(k->witness);
    free_logs(b, k);
    cuzk_free(k);
}

/* Whether the key is to be streamed, since it does not fit, and whether its tables of multiples
 * have room: they take shares of what is free, and must leave what the rest wants. Without a limit
 * a key that would fit, were others not there, is not streamed: whoever loads keys frees some.
 * Figures decide where they say that it fits; otherwise bases at infinity are counted first. */
static cuzk_status choose_form(cuzk_gpu_backend *b, cuzk_gpu_key *k, bool *lean, cuzk_err *err) {
    size_t room;
    CUZK_TRY(free_bytes(b, &room, err));
    room += b->work.arena.size;
    if (!b->vram) room = b->memory > k->bytes.rows ? b->memory - k->bytes.rows : 0;
    CUZK_TRY(cuzk__gpu_resident_bytes(k, &k->whole, err));
    if (k->whole > room && !cuzk__measures(b->dev)) {
        CUZK_TRY(cuzk__lean_count(b, k, err));
        CUZK_TRY(cuzk__gpu_resident_bytes(k, &k->whole, err));
    }
    *lean = b->chunk || k->whole > room;
    k->tables = b->tables && (!b->vram || k->whole <= (is_large(k) ? room - room / 8 : room / 2));
    return CUZK_OK;
}

static cuzk_status load_lean(cuzk_gpu_backend *b, cuzk_gpu_key *k, size_t held, cuzk_err *err) {
    cuzk_cuda_info info;
    CUZK_TRY(cuzk_cuda_backend_info(&b->base, &info, err));
    k->bytes.slot = cuzk__gpu_slot_bytes(k->base.key);
    size_t room = info.bytes_free;
    if (!b->vram) room = room > CUZK__MARGIN ? room - CUZK__MARGIN : 0; /* for the driver */
    CUZK_TRY(cuzk__lean_load(b, k, room, held, err));
    free_logs(b, k);
    return CUZK_OK;
}

/* What of a device or a limit is not there for this key; info: from before it was loaded. */
static size_t held_by_others(const cuzk_gpu_backend *b, const cuzk_cuda_info *info) {
    if (!b->vram) return info->bytes_total - info->bytes_free;
    return CUZK__DRIVER_BEYOND + __atomic_load_n(&b->held, __ATOMIC_RELAXED) + b->work.arena.size;
}

static cuzk_status load_all(cuzk_gpu_backend *b, cuzk_gpu_key *k, cuzk_err *err) {
    const cuzk_proving_key *key = k->base.key;
    const bool measures = cuzk__measures(b->dev);
    if (!measures) CUZK_CUDA(cudaSetDevice(b->dev->ordinal));
    cuzk_cuda_info info;
    CUZK_TRY(cuzk_cuda_backend_info(&b->base, &info, err));
    if (key->logs && !measures) CUZK_TRY(load_logs(b, k, err));
    CUZK_TRY(load_rows(b, k, err));
    bool lean;
    CUZK_TRY(count_queries(k, err));
    CUZK_TRY(choose_form(b, k, &lean, err));
    if (lean) return load_lean(b, k, held_by_others(b, &info), err);
    CUZK_TRY(cuzk__gpu_load_transforms(b, k, cuzk__gpu_transform_dirs(b->dev, key, false), err));
    CUZK_TRY(load_query(b, k, CUZK__Q_A, &key->a, err));
    CUZK_TRY(load_query(b, k, CUZK__Q_B1, &key->b1, err));
    CUZK_TRY(load_query(b, k, CUZK__Q_B2, &key->b2, err));
    CUZK_TRY(load_query(b, k, CUZK__Q_L, &key->l, err));
    CUZK_TRY(load_h(b, k, err));
    if (measures) return CUZK_OK;
    CUZK_TRY(cuzk_cuda_sync(b->dev, err));
    free_logs(b, k);
    return cuzk__gpu_work_attach(k, err);
}

cuzk_status cuzk__gpu_load(cuzk_gpu_backend *b, cuzk_gpu_key *k, cuzk_err *err) {
    b->filling = k;
    const cuzk_status st = load_all(b, k, err);
    b->filling = NULL;
    if (st != CUZK_OK) return st;
    k->held = cuzk__gpu_own_bytes(k);
    (void)__atomic_add_fetch(&b->held, k->held, __ATOMIC_RELAXED);
    return CUZK_OK;
}

cuzk_status cuzk__gpu_key_load(cuzk_backend *base, cuzk_device_key **out,
                               const cuzk_proving_key *key, cuzk_err *err) {
    cuzk_gpu_backend *b = (cuzk_gpu_backend *)base;
    *out = NULL;
    if (key->log2_domain < 1 || key->log2_domain > CUZK__NTT_MAX_LOG)
        return cuzk_err_set(err, CUZK_STATUS_BAD_INPUT, "%s: a domain of 2^%u; 2^1 to 2^%d work",
                            key->name, key->log2_domain, CUZK__NTT_MAX_LOG);
    void *mem;
    CUZK_TRY(cuzk_alloc(&mem, 1, sizeof(cuzk_gpu_key)));
    cuzk_gpu_key *k = (cuzk_gpu_key *)mem;
    k->base.backend = base;
    k->base.key = key;
    (void)pthread_mutex_lock(&b->loading);
    const cuzk_status st = cuzk__gpu_load(b, k, err);
    if (st != CUZK_OK) {
        (void)cudaStreamSynchronize(b->dev->stream);
        cuzk__gpu_unload(b, k);
    }
    (void)pthread_mutex_unlock(&b->loading);
    if (st == CUZK_OK) *out = &k->base;
    return st;
}

void cuzk__gpu_key_free(cuzk_device_key *base) {
    cuzk_gpu_key *k = (cuzk_gpu_key *)base;
    if (!k) return;
    cuzk_gpu_backend *b = (cuzk_gpu_backend *)k->base.backend;
    (void)pthread_mutex_lock(&b->loading);
    cuzk__gpu_unload(b, k);
    (void)pthread_mutex_unlock(&b->loading);
}

void cuzk_cuda_backend_key_bytes(const cuzk_device_key *k, cuzk_cuda_key_bytes *out) {
    *out = ((const cuzk_gpu_key *)k)->bytes;
}

void cuzk_cuda_backend_key_stream(const cuzk_device_key *base, cuzk_cuda_stream *out) {
    const cuzk__lean *l = ((const cuzk_gpu_key *)base)->lean;
    *out = {};
    if (!l) return;
    for (int i = 0; i < CUZK__LEAN_KINDS; i++) {
        out->chunks[i] = l->part[i].n;
        out->chunk_bases[i] = l->part[i].points;
    }
    out->share = l->share;
    out->link = 1e9 / l->link;
    out->ms = l->ms[0];
    out->ms_slow = l->ms[1];
}
