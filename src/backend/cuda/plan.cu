/* What a key and its slots will take. DESIGN. A key is made of figures alone, on a copy of the
 * device's handle whose arena only measures, by the code that loads and lays out; nothing is
 * allocated on the device. Tables of multiples, which take what memory there is, are left out: what
 * is planned is what a key needs. */
#include "backend/cuda/prover.cuh"

extern "C" {
#include "base/mem.h"
}

/* A query as it would be loaded sorted. */
static cuzk_status plan_query(cuzk_gpu_key *k, cuzk_cuda *probe, cuzk__query_id id, size_t n_full,
                              size_t others, cuzk_err *err) {
    const cuzk_proving_key *key = k->base.key;
    cuzk__gpu_query *q = &k->query[id];
    if (n_full + others >= UINT32_MAX / 2)
        return cuzk_err_set(err, CUZK_STATUS_BAD_INPUT, "%s: %zu bases are too many", key->name,
                            n_full + others);
    q->group = id == CUZK__Q_B2 ? CUZK_G2 : CUZK_G1;
    q->ops = cuzk__sum_group(key->curve->id, q->group);
    q->n_full = (uint32_t)n_full;
    q->n = (uint32_t)(n_full + others);
    k->bytes.points += (size_t)q->n * q->ops->point_bytes;
    if (id != CUZK__Q_H) k->bytes.points += (size_t)q->n * 4;
    if (n_full == 0) return CUZK_OK;
    cuzk_cuda_msm_config c = {};
    c.curve = key->curve->id;
    c.group = q->group;
    c.n = n_full;
    c.factor = 1;
    c.table_only = true;
    return cuzk_cuda_msm_new(&q->msm, probe, &c, NULL, err);
}

static cuzk_status plan_queries(cuzk_gpu_key *k, cuzk_cuda *probe, cuzk_err *err) {
    const cuzk_proving_key *key = k->base.key;
    const cuzk_query *from[CUZK__QUERIES] = {&key->a, &key->b1, &key->b2, &key->l, NULL};
    for (int id = 0; id < CUZK__QUERIES; id++) {
        const cuzk_query *q = from[id];
        const size_t full = q ? q->n_full : (size_t)1 << key->log2_domain;
        const size_t others = q ? q->n_bits + (q->one_base != NULL) : 0;
        CUZK_TRY(plan_query(k, probe, (cuzk__query_id)id, full, others, err));
    }
    return CUZK_OK;
}

static cuzk_status plan_rows(cuzk_gpu_key *k, cuzk_cuda *probe, cuzk_err *err) {
    const cuzk_proving_key *key = k->base.key;
    if (!key->r1cs) {
        k->bytes.rows = cuzk__gpu_rows_plan(key);
        return CUZK_OK;
    }
    CUZK_TRY(cuzk_cuda_r1cs_new(&k->r1cs, probe, key->r1cs, err));
    k->bytes.rows = cuzk_cuda_r1cs_bytes(k->r1cs);
    return cuzk__gpu_load_witness(k, probe, err);
}

static void free_planned(cuzk_gpu_key *k) {
    for (cuzk__gpu_query &q : k->query)
        cuzk_cuda_msm_free(q.msm);
    if (k->r1cs) cuzk_cuda_r1cs_free(k->r1cs);
    cuzk_cuda_witness_free(k->witness);
    cuzk_free(k);
}

/* As key.cu chooses it, with the whole device free. */
static cuzk_status plan_work(cuzk_gpu_backend *b, cuzk_gpu_key *k, cuzk_err *err) {
    const cuzk_proving_key *key = k->base.key;
    k->bytes.transforms = cuzk_cuda_ntt_bytes(key->log2_domain, 3);
    k->bytes.slot = cuzk__gpu_slot_bytes(key);
    CUZK_TRY(cuzk__gpu_work_bytes(k, &k->bytes.work, err));
    const size_t all = k->bytes.points + k->bytes.rows + k->bytes.transforms + k->bytes.work +
                       CUZK__SLOTS * k->bytes.slot + CUZK__MARGIN;
    k->in_turn = b->in_turn || all > b->dev->info.bytes_total;
    return k->in_turn ? cuzk__gpu_work_bytes(k, &k->bytes.work, err) : CUZK_OK;
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
    k->base.backend = base;
    k->base.key = key;
    (void)pthread_mutex_lock(&b->loading);
    cuzk_cuda probe = *b->dev;
    arena.measuring = true;
    probe.arena = &arena;
    cuzk_status st = plan_queries(k, &probe, err);
    if (st == CUZK_OK) st = plan_rows(k, &probe, err);
    if (st == CUZK_OK) st = plan_work(b, k, err);
    if (st == CUZK_OK) {
        *out = (cuzk_backend_plan){k->bytes.points + k->bytes.rows + k->bytes.transforms +
                                       k->bytes.work,
                                   k->bytes.slot, cuzk__gpu_slot_pinned(k)};
    }
    free_planned(k);
    (void)pthread_mutex_unlock(&b->loading);
    return st;
}
