/* What a key and its slots will take. DESIGN. A key is made of figures alone, on a copy of the
 * backend whose handle has an arena that only measures, by the code that loads and lays out;
 * nothing is allocated on the device. Tables of multiples are those of a device that holds nothing
 * else: beside other keys they may come out smaller, never larger. */
#include "backend/cuda/prover.cuh"

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

/* Rows and transforms. */
static cuzk_status plan_others(const cuzk_gpu_backend *b, cuzk_gpu_key *k, cuzk_err *err) {
    const cuzk_proving_key *key = k->base.key;
    void *p;
    k->bytes.transforms = cuzk_cuda_ntt_bytes(key->log2_domain, 3);
    CUZK_TRY(cuzk_cuda_alloc(b->dev, &p, k->bytes.transforms, err));
    if (!key->r1cs) {
        k->bytes.rows = cuzk__gpu_rows_plan(key);
        return cuzk_cuda_alloc(b->dev, &p, k->bytes.rows, err);
    }
    CUZK_TRY(cuzk_cuda_r1cs_new(&k->r1cs, b->dev, key->r1cs, err));
    k->bytes.rows = cuzk_cuda_r1cs_bytes(k->r1cs);
    return cuzk__gpu_load_witness(k, b->dev, err);
}

static void free_planned(cuzk_gpu_key *k) {
    for (cuzk__gpu_query &q : k->query)
        cuzk_cuda_msm_free(q.msm);
    if (k->r1cs) cuzk_cuda_r1cs_free(k->r1cs);
    cuzk_cuda_witness_free(k->witness);
    cuzk_free(k);
}

cuzk_status cuzk__gpu_plan(cuzk_backend *base, const cuzk_proving_key *key, cuzk_backend_plan *out,
                           cuzk_err *err) {
    cuzk_gpu_backend *b = (cuzk_gpu_backend *)base;
    cuzk__arena arena = {};
    void *mem;
    if (key->log2_domain < 1 || key->log2_domain > CUZK__NTT_MAX_LOG)
        return cuzk_err_set(err, CUZK_STATUS_BAD_INPUT, "%s: a domain of 2^%u; 2^1 to 2^%d work",
                            key->name, key->log2_domain, CUZK__NTT_MAX_LOG);
    CUZK_TRY(cuzk_alloc(&mem, 1, sizeof(cuzk_gpu_key)));
    cuzk_gpu_key *k = (cuzk_gpu_key *)mem;
    (void)pthread_mutex_lock(&b->loading);
    cuzk_cuda probe = *b->dev;
    cuzk_gpu_backend alone = {};
    alone.base = b->base;
    alone.dev = &probe;
    alone.tables = b->tables;
    alone.memory = b->memory;
    alone.leave = b->leave;
    alone.in_turn = b->in_turn;
    arena.measuring = true;
    probe.arena = &arena;
    k->base.backend = &alone.base;
    k->base.key = key;
    cuzk_status st = plan_others(&alone, k, err);
    if (st == CUZK_OK) st = plan_queries(&alone, k, err);
    if (st == CUZK_OK) {
        const cuzk_cuda_key_bytes *n = &k->bytes;
        *out = (cuzk_backend_plan){n->points + n->tables + n->rows + n->transforms + n->work,
                                   n->slot, cuzk__gpu_slot_pinned(k)};
    }
    free_planned(k);
    (void)pthread_mutex_unlock(&b->loading);
    return st;
}
