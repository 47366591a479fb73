/* What a key and its slots will take. DESIGN. A key is loaded from figures alone, by the code that
 * loads keys and lays memory out, on a backend whose handle only measures: nothing is allocated,
 * and no device is needed. */
#include "backend/cuda/lean.cuh"

extern "C" {
#include "base/mem.h"
}

static cuzk_status plan_query(cuzk_gpu_backend *b, cuzk_gpu_key *k, cuzk__query_id id,
                              size_t n_full, size_t others, cuzk_err *err) {
    const cuzk_proving_key *key = k->base.key;
    const bool h = id == CUZK__Q_H;
    cuzk__gpu_query *q = &k->query[id];
    if (n_full + others >= UINT32_MAX / 2)
        return cuzk_err_set(err, CUZK_STATUS_BAD_INPUT, "%s: %zu bases are too many", key->name,
                            n_full + others);
    q->group = id == CUZK__Q_B2 ? CUZK_G2 : CUZK_G1;
    q->ops = cuzk__sum_group(key->curve->id, q->group);
    q->n_full = (uint32_t)n_full;
    q->n = (uint32_t)(n_full + others);
    CUZK_TRY(cuzk__gpu_take_points(b, k, q, h, err));
    if (h) return cuzk__gpu_finish_h(b, k, err);
    void *slots;
    k->bytes.points += (size_t)q->n * 4;
    CUZK_TRY(cuzk_cuda_alloc(b->dev, &slots, (size_t)q->n * 4, err));
    return cuzk__gpu_finish_query(b, k, q, 0, err);
}

static cuzk_status plan_queries(cuzk_gpu_backend *b, cuzk_gpu_key *k, cuzk_err *err) {
    const cuzk_proving_key *key = k->base.key;
    const cuzk_query *from[CUZK__QUERIES] = {&key->a, &key->b1, &key->b2, &key->l, NULL};
    for (int id = 0; id < CUZK__QUERIES; id++) {
        const cuzk_query *q = from[id];
        const size_t full = q ? q->n_full : (size_t)1 << key->log2_domain;
        const size_t others = q ? q->n_bits + (q->one_base != NULL) : 0;
        CUZK_TRY(plan_query(b, k, (cuzk__query_id)id, full, others, err));
    }
    return CUZK_OK;
}

static void free_planned(cuzk_gpu_key *k) {
    for (cuzk__gpu_query &q : k->query)
        cuzk_cuda_msm_free(q.msm);
    cuzk_free(k);
}

cuzk_status cuzk__gpu_resident_bytes(const cuzk_gpu_key *of, size_t *bytes, cuzk_err *err) {
    const cuzk_gpu_backend *b = (const cuzk_gpu_backend *)of->base.backend;
    cuzk__arena arena = {};
    void *mem;
    CUZK_TRY(cuzk_alloc(&mem, 1, sizeof(cuzk_gpu_key)));
    cuzk_gpu_key *k = (cuzk_gpu_key *)mem;
    k->base = of->base;
    cuzk_cuda probe = *b->dev;
    arena.measuring = true;
    probe.arena = &arena;
    cuzk_status st = plan_queries(k, &probe, err);
    k->in_turn = true; /* the least */
    if (st == CUZK_OK) st = cuzk__gpu_work_bytes(k, &k->bytes.work, err);
    const unsigned log2n = of->base.key->log2_domain;
    *bytes = k->bytes.points + cuzk_cuda_ntt_bytes(log2n, 3) + k->bytes.work +
             CUZK__SLOTS * cuzk__gpu_slot_bytes(of->base.key);
    free_planned(k);
    return st;
}

/* ---- a backend that only measures ---- */

struct simulated {
    cuzk_gpu_backend b;
    cuzk_cuda dev;
    cuzk__arena arena;
};

static cuzk_status open_simulated(simulated *s, const cuzk_cuda_info *info, size_t room,
                                  bool tables, uint32_t chunk, cuzk_err *err) {
    *s = {};
    s->arena.measuring = true;
    s->dev.info = *info;
    s->dev.info.bytes_free = room;
    s->dev.arena = &s->arena;
    s->b.dev = &s->dev;
    s->b.tables = tables;
    s->b.vram = room;
    s->b.chunk = chunk;
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
    cuzk_cuda_info info;
    simulated s;
    cuzk_gpu_key *k;
    CUZK_TRY(cuzk_cuda_backend_info(base, &info, err));
    CUZK_TRY(open_simulated(&s, &info, info.bytes_total, false, b->chunk, err));
    s.b.in_turn = b->in_turn;
    cuzk_status st = load_simulated(&s, &k, key, err);
    if (st == CUZK_OK) {
        const cuzk_cuda_key_bytes *n = &k->bytes;
        *out = (cuzk_backend_plan){n->points + n->rows + n->transforms + n->work, n->slot,
                                   cuzk__gpu_slot_pinned(k)};
        cuzk__gpu_unload(&s.b, k);
    }
    close_simulated(&s);
    return st;
}

/* ---- for people ---- */

/* An H200. */
enum { MULTIPROCESSORS = 132 };

static void describe(cuzk_cuda_forecast *f, const cuzk_gpu_key *k) {
    const cuzk_proving_key *key = k->base.key;
    const cuzk__lean *l = k->lean;
    f->bytes = k->bytes;
    f->streamed = l && l->streamed > 0;
    f->vectors = (size_t)(key->h_form == CUZK_H_FOLDED ? 64 : 96) << key->log2_domain;
    if (!l && key->r1cs) f->vectors += key->n_full * sizeof(cuzk_u256) + 32;
    f->buffers = l ? l->buffers : 0;
    f->scratch = k->bytes.work - f->vectors - f->buffers;
    f->slots = 1;
    f->device = k->bytes.points + k->bytes.tables + k->bytes.rows + k->bytes.transforms +
                k->bytes.work + f->slots * k->bytes.slot;
    f->slot_pinned = cuzk__gpu_slot_pinned(k);
    f->ring = CUZK__RING_PARTS * CUZK__RING_BYTES;
    f->pinned = k->bytes.host + f->slots * f->slot_pinned + f->ring;
    for (int i = 0; l && i < CUZK__LEAN_KINDS; i++) {
        f->chunks[i] = l->part[i].n;
        f->chunk_bases[i] = l->part[i].points;
    }
}

/* The device's time as if everything were cut into large chunks, and the witness's way there. */
static cuzk_status predict_resident(cuzk_cuda_forecast *f, const cuzk_proving_key *key,
                                    const cuzk_cuda_info *info, cuzk_err *err) {
    simulated s;
    cuzk_gpu_key *k;
    CUZK_TRY(open_simulated(&s, info, SIZE_MAX / 2, false, 1u << 24, err));
    const cuzk_status st = load_simulated(&s, &k, key, err);
    if (st == CUZK_OK) {
        f->ms = f->ms_slow = k->lean->compute_ms;
        cuzk__gpu_unload(&s.b, k);
    }
    close_simulated(&s);
    return st;
}

cuzk_status cuzk_cuda_forecast_key(cuzk_cuda_forecast *out, const cuzk_proving_key *key,
                                   size_t vram, bool tables, cuzk_err *err) {
    cuzk_cuda_info info = {};
    simulated s;
    cuzk_gpu_key *k;
    *out = {};
    info.sms = MULTIPROCESSORS;
    info.bytes_total = vram;
    CUZK_TRY(open_simulated(&s, &info, vram, tables, 0, err));
    cuzk_status st = load_simulated(&s, &k, key, err);
    if (st == CUZK_OK) {
        describe(out, k);
        if (k->lean) {
            out->ms = k->lean->ms[0];
            out->ms_slow = k->lean->ms[1];
        }
        const bool lean = k->lean != NULL;
        cuzk__gpu_unload(&s.b, k);
        if (!lean) st = predict_resident(out, key, &info, err);
    }
    close_simulated(&s);
    return st;
}
