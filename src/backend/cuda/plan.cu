/* What a key and its slots will take. DESIGN. A key is loaded from figures alone, by the code that
 * loads keys and lays memory out, on a backend whose handle only measures: nothing is allocated,
 * and no device is needed. */
#include "backend/cuda/cub_room.h"
#include "backend/cuda/lean.cuh"
#include "backend/cuda/ntt_small.h"

extern "C" {
#include "backend/cuda/predict.h"
#include "base/mem.h"
}

#include <string.h>

/* Queries as they would be loaded sorted, without tables. */
static cuzk_status plan_queries(cuzk_gpu_key *k, cuzk_cuda *probe, cuzk_err *err) {
    for (cuzk__gpu_query &q : k->query) {
        k->bytes.points += (size_t)q.n * q.ops->point_bytes;
        if (&q != &k->query[CUZK__Q_H]) k->bytes.points += (size_t)q.n * 4;
        if (q.n_full == 0) continue;
        cuzk_cuda_msm_config c = {};
        c.curve = k->base.key->curve->id;
        c.group = q.group;
        c.n = q.n_full;
        c.factor = 1;
        c.table_only = true;
        CUZK_TRY(cuzk_cuda_msm_new(&q.msm, probe, &c, NULL, err));
    }
    return CUZK_OK;
}

cuzk_status cuzk__gpu_resident_bytes(const cuzk_gpu_key *of, size_t *bytes, cuzk_err *err) {
    const cuzk_gpu_backend *b = (const cuzk_gpu_backend *)of->base.backend;
    cuzk__arena arena = {};
    void *mem;
    CUZK_TRY(cuzk_alloc(&mem, 1, sizeof(cuzk_gpu_key)));
    cuzk_gpu_key *k = (cuzk_gpu_key *)mem;
    k->base = of->base;
    memcpy(k->query, of->query, sizeof k->query);
    k->in_turn = true; /* the least */
    cuzk_cuda probe = *b->dev;
    arena.measuring = true;
    probe.arena = &arena;
    cuzk_status st = plan_queries(k, &probe, err);
    if (st == CUZK_OK) st = cuzk__gpu_work_bytes(k, &k->bytes.work, err);
    const unsigned dirs = cuzk__gpu_transform_dirs(b->dev, of->base.key, false);
    *bytes = k->bytes.points + cuzk__gpu_transform_bytes(of->base.key, dirs) + k->bytes.work +
             CUZK__SLOTS * cuzk__gpu_slot_bytes(of->base.key) + CUZK__ROUNDED;
    for (cuzk__gpu_query &q : k->query)
        cuzk_cuda_msm_free(q.msm);
    cuzk_free(k);
    return st;
}

/* ---- a backend that only measures ---- */

struct simulated {
    cuzk_gpu_backend b;
    cuzk_cuda dev;
    cuzk__arena arena;
};

/* dev: a device's handle, or one that only has `info` (cuzk__no_device). like: whose options. */
static cuzk_status open_simulated(simulated *s, const cuzk_cuda *dev, size_t room,
                                  const cuzk_gpu_backend *like, cuzk_err *err) {
    *s = {};
    s->arena.measuring = true;
    s->dev = *dev;
    s->dev.info.bytes_free = room;
    s->dev.arena = &s->arena;
    s->b.base = like->base;
    s->b.dev = &s->dev;
    s->b.tables = like->tables;
    s->b.in_turn = like->in_turn;
    s->b.memory = room;
    s->b.leave = like->leave;
    s->b.vram = like->vram;
    s->b.chunk = like->chunk;
    s->b.link_copies = 1;
    s->b.link = like->link;
    s->b.share = cuzk__lean_share(like->share);
    if (pthread_mutex_init(&s->b.work.lock, NULL) != 0)
        return cuzk_err_set(err, CUZK_STATUS_NO_MEMORY, "cannot make a lock");
    return CUZK_OK;
}

static void close_simulated(simulated *s) {
    (void)pthread_mutex_destroy(&s->b.work.lock);
}

static cuzk_status load_simulated(simulated *s, cuzk_gpu_key **out, const cuzk_proving_key *key,
                                  cuzk_err *err) {
    void *mem;
    *out = NULL;
    if (key->log2_domain < 1 || key->log2_domain > CUZK__NTT_MAX_LOG)
        return cuzk_err_set(err, CUZK_STATUS_BAD_INPUT, "%s: a domain of 2^%u; 2^1 to 2^%d work",
                            key->name, key->log2_domain, CUZK__NTT_MAX_LOG);
    CUZK_TRY(cuzk_alloc(&mem, 1, sizeof(cuzk_gpu_key)));
    cuzk_gpu_key *k = (cuzk_gpu_key *)mem;
    k->base.backend = &s->b.base;
    k->base.key = key;
    const cuzk_status st = cuzk__gpu_load(&s->b, k, err);
    if (st == CUZK_OK)
        *out = k;
    else
        cuzk__gpu_unload(&s->b, k);
    return st;
}

cuzk_status cuzk__gpu_plan(cuzk_backend *base, const cuzk_proving_key *key, cuzk_backend_plan *out,
                           cuzk_err *err) {
    cuzk_gpu_backend *b = (cuzk_gpu_backend *)base;
    size_t room = b->memory;
    if (b->vram && cuzk__gpu_usable(b->vram) < room) room = cuzk__gpu_usable(b->vram);
    simulated s;
    cuzk_gpu_key *k;
    CUZK_CUDA(cudaSetDevice(b->dev->ordinal));
    CUZK_TRY(open_simulated(&s, b->dev, room, b, err));
    const cuzk_status st = load_simulated(&s, &k, key, err);
    if (st == CUZK_OK) {
        const cuzk_cuda_key_bytes *n = &k->bytes;
        *out = (cuzk_backend_plan){n->points + n->tables + n->rows + n->transforms + n->work,
                                   n->slot, cuzk__gpu_slot_pinned(k), n->host};
        cuzk__gpu_unload(&s.b, k);
    }
    close_simulated(&s);
    return st;
}

/* ---- for people ---- */

/* An H200, which need not be there. */
static cuzk_cuda absent_device(size_t vram) {
    cuzk_cuda dev = {};
    dev.ordinal = CUZK__NO_DEVICE;
    dev.info.sms = 132;
    dev.info.sm_threads = 2048;
    dev.info.sm_shared = (size_t)228 << 10;
    dev.info.block_shared = (size_t)227 << 10;
    dev.info.bytes_total = vram;
    return dev;
}

static void describe(cuzk_cuda_forecast *f, const cuzk_gpu_key *k) {
    const cuzk_proving_key *key = k->base.key;
    const cuzk__lean *l = k->lean;
    f->bytes = k->bytes;
    f->streamed = l && l->streamed > 0;
    f->vectors = (size_t)(key->h_form == CUZK_H_FOLDED ? 64 : 96) << key->log2_domain;
    if (!l && key->r1cs) f->vectors += key->n_full * sizeof(cuzk_u256) + 32;
    if (l) f->vectors += (size_t)(l->share - 1) * 32 << key->log2_domain;
    f->buffers = l ? l->buffers : 0;
    f->scratch = k->bytes.work - f->vectors - f->buffers;
    f->slots = l ? l->share : 1;
    f->device = k->bytes.points + k->bytes.tables + k->bytes.rows + k->bytes.transforms +
                k->bytes.work + f->slots * k->bytes.slot;
    f->slot_pinned = cuzk__gpu_slot_pinned(k);
    f->ring = CUZK__RING_PARTS * CUZK__RING_BYTES;
    f->pinned = k->bytes.host + f->slots * f->slot_pinned + f->ring;
    cuzk_cuda_backend_key_stream(&k->base, &f->stream);
}

/* What a sum adds. */
static cuzk__predict_sum sum_of(const cuzk_gpu_key *k, int id) {
    const cuzk__gpu_query *q = &k->query[id];
    cuzk__predict_sum s = {};
    s.g2 = q->group == CUZK_G2;
    s.listed = q->n - q->n_full;
    s.many = cuzk__gpu_sums_many(q);
    if (q->window) {
        s.digits = (double)q->n_full * q->windows;
    } else if (q->msm) {
        cuzk_cuda_msm_info m;
        cuzk_cuda_msm_get_info(q->msm, &m);
        /* windows just cover a scalar: the narrow ones are a bit less wide, with half the buckets
         */
        const double narrow = m.window - (double)k->base.key->curve->fr->bits / m.windows;
        s.digits = (double)q->n_full * m.windows;
        s.buckets = m.sets * (1 - 0.5 * narrow) * (double)(1u << (m.window - 1));
    }
    return s;
}

/* A proof's time with a key of which nothing is streamed. */
static void predict_resident(cuzk_cuda_forecast *f, const cuzk_gpu_key *k, const cuzk_cuda *dev,
                             double link) {
    const cuzk_proving_key *key = k->base.key;
    cuzk__predict_key p = {};
    p.log2_domain = key->log2_domain;
    p.transforms = key->h_form == CUZK_H_FOLDED ? 4 : 6;
    p.bn254 = key->curve->id == CUZK_BN254;
    p.small_tables = cuzk__gpu_transform_dirs(dev, key, false) & CUZK_NTT_SMALL_TABLES;
    p.in_turn = k->in_turn;
    p.makes_witness = key->r1cs != NULL;
    p.witness = (double)k->bytes.slot;
    p.sent = key->r1cs ? (double)key->r1cs->n_free * sizeof(cuzk_u256) : p.witness;
    for (int id = 0; id < CUZK__QUERIES; id++)
        p.sum[id] = sum_of(k, id);
    f->ms = cuzk__predict_ms(&p, link);
    f->ms_slow = cuzk__predict_ms(&p, 10 * link);
}

cuzk_status cuzk_cuda_forecast_key(cuzk_cuda_forecast *out, const cuzk_proving_key *key,
                                   const cuzk_cuda_options *options, double link, cuzk_err *err) {
    const cuzk_cuda dev = absent_device(options->vram);
    cuzk_gpu_backend like = {};
    simulated s;
    cuzk_gpu_key *k;
    *out = {};
    like.tables = options->tables;
    like.share = options->share;
    like.leave = options->leave;
    like.vram = options->vram;
    like.link = link > 0 ? 1e9 / link : 0;
    CUZK_TRY(open_simulated(&s, &dev, cuzk__gpu_usable(options->vram), &like, err));
    cuzk_status st = load_simulated(&s, &k, key, err);
    if (st == CUZK_OK) {
        describe(out, k);
        out->ms = out->stream.ms;
        out->ms_slow = out->stream.ms_slow;
        if (!k->lean) predict_resident(out, k, &dev, link > 0 ? 1e9 / link : CUZK__H200_LINK);
        cuzk__gpu_unload(&s.b, k);
    }
    close_simulated(&s);
    return st;
}
