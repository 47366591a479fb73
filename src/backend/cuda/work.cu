/* Work memory: the vectors, lists and scratch in which proofs are computed. DESIGN
 *
 * Kernels of one device run for one proof at a time, so all keys share one piece of memory, as
 * large as the largest of them wants it. Each key divides it in its own way (its view), once, when
 * it is loaded; when the piece must move, all views are made again.
 *
 * The five sums work side by side, each in memory of its own. Those of a small key take half of the
 * device each: a kernel that fills it keeps all that is short waiting to its end. A key whose bases
 * leave too little for that, WindowPoSt's with 125 million full values, has them in turn: one
 * stream, and the same memory for each.
 *
 * Proofs are queued one behind another without waiting for each other's end. Within a stream order
 * is enough; `main`, which writes what the lanes read, waits until they have read it (`read`).
 * Views of different keys overlap anyhow, so there `main` waits for the whole proof before; so it
 * does where H's sum takes the place of b and c, which large keys need. */
#include "backend/cuda/prover.cuh"

#include <string.h>

static cuzk_gpu_backend *backend_of(const cuzk_gpu_key *k) {
    return (cuzk_gpu_backend *)k->base.backend;
}

cuzk_status cuzk__gpu_work_open(cuzk_gpu_backend *b, cuzk_err *err) {
    cuzk__gpu_work *w = &b->work;
    CUZK_TRY(cuzk__cuda_open_lane(&w->main, b->dev, true, err));
    for (cuzk_cuda *&aux : w->aux)
        CUZK_TRY(cuzk__cuda_open_lane(&aux, b->dev, true, err));
    for (int id = 0; id < CUZK__QUERIES; id++)
        CUZK_TRY(cuzk__cuda_open_lane(&w->lane[id], b->dev, id == CUZK__Q_H || id == CUZK__Q_B2,
                                      err)); /* the longest */
    CUZK_TRY(cuzk__cuda_open_lane(&w->end, b->dev, false, err));
    for (cudaEvent_t &e : w->read)
        CUZK_CUDA(cudaEventCreateWithFlags(&e, cudaEventDisableTiming));
    CUZK_CUDA(cudaEventCreateWithFlags(&w->made, cudaEventDisableTiming));
    for (cudaEvent_t &e : w->listed)
        CUZK_CUDA(cudaEventCreateWithFlags(&e, cudaEventDisableTiming));
    for (cudaEvent_t &e : w->done)
        CUZK_CUDA(
            cudaEventCreateWithFlags(&e, b->sleeps ? cudaEventBlockingSync : cudaEventDefault));
    return CUZK_OK;
}

void cuzk__gpu_work_drain(const cuzk__gpu_work *w) {
    if (w->main) (void)cudaStreamSynchronize(w->main->stream);
    for (const cuzk_cuda *aux : w->aux)
        if (aux) (void)cudaStreamSynchronize(aux->stream);
    for (const cuzk_cuda *lane : w->lane)
        if (lane) (void)cudaStreamSynchronize(lane->stream);
    if (w->end) (void)cudaStreamSynchronize(w->end->stream);
}

/* ---- views ---- */

static cuzk_status take(cuzk_cuda *dev, void *pointer, size_t bytes, cuzk_err *err) {
    return cuzk_cuda_alloc(dev, (void **)pointer, bytes, err);
}

static cuzk_cuda_bits_config many_of(const cuzk_gpu_key *k, const cuzk__gpu_query *q) {
    cuzk_cuda_bits_config c = {};
    c.curve = k->base.key->curve->id;
    c.group = q->group;
    c.n = q->n;
    c.bases = q->points;
    c.lists = true;
    return c;
}

static bool has_many(const cuzk_gpu_key *k, int id) {
    return cuzk__gpu_is_listed(id, &k->query[id]) && cuzk__gpu_sums_many(&k->query[id]);
}

/* Scratch for the longest of the sums of long lists. */
static cuzk_status lay_out_many(const cuzk_gpu_key *k, cuzk__gpu_view *v, cuzk_err *err) {
    cuzk_cuda *dev = v->lane[0].dev;
    size_t most = 0;
    for (int id = 0; id < CUZK__QUERIES; id++) {
        if (!has_many(k, id)) continue;
        const cuzk_cuda_bits_config c = many_of(k, &k->query[id]);
        const size_t bytes = cuzk_cuda_bits_scratch(dev, &c);
        if (bytes == 0) return cuzk_err_set(err, CUZK_STATUS_BUG, "no scratch for %zu points", c.n);
        if (most < bytes) most = bytes;
    }
    return most ? take(dev, &v->many, most, err) : CUZK_OK;
}

/* What sums a lane's list. */
static cuzk_status lay_out_list_sum(const cuzk_gpu_key *k, const cuzk__gpu_query *q, void *many,
                                    cuzk__gpu_lane *lane, cuzk_err *err) {
    cuzk_cuda *dev = lane->dev;
    if (!cuzk__gpu_sums_many(q)) {
        const size_t sums = (size_t)dev->info.sms * CUZK__SUM_BLOCKS;
        CUZK_TRY(take(dev, &lane->partial, sums * q->ops->xyzz_bytes, err));
        return take(dev, &lane->last, CUZK__SUM_LAST * q->ops->xyzz_bytes, err);
    }
    cuzk_cuda_bits_config c = many_of(k, q);
    c.scratch = many;
    if (dev->arena->measuring) return CUZK_OK;
    return cuzk_cuda_bits_new(&lane->many, backend_of(k)->work.end, &c, err);
}

static cuzk_status lay_out_lane(const cuzk_gpu_key *k, int id, cuzk__gpu_view *v, cuzk_err *err) {
    const cuzk__gpu_query *q = &k->query[id];
    cuzk__gpu_lane *lane = &v->lane[id];
    cuzk_cuda *dev = lane->dev;
    CUZK_TRY(take(dev, &lane->counts, 8, err));
    if (cuzk__gpu_is_listed(id, q)) {
        const size_t full = q->window ? (size_t)q->n_full * q->windows : q->n_full;
        CUZK_TRY(take(dev, &lane->list, (full + q->n - q->n_full) * 4, err));
        CUZK_TRY(lay_out_list_sum(k, q, v->many, lane, err));
        if (!q->window && q->n_full) {
            CUZK_TRY(take(dev, &lane->map, (size_t)q->n_full * 4, err));
            CUZK_TRY(take(dev, &lane->rest, (size_t)q->n_full * 32, err));
        }
    }
    return q->msm ? cuzk_cuda_msm_fork(&lane->msm, dev, q->msm, err) : CUZK_OK;
}

/* Large vectors: all but the first are done with when H's sum begins, whose memory begins there. */
static bool h_takes_vectors(const cuzk_proving_key *key) {
    return key->log2_domain >= 24;
}

/* Takes what a key's proofs need out of the arena of the lanes' handles, which may only measure. */
static cuzk_status lay_out(const cuzk_gpu_key *k, cuzk__gpu_view *v, cuzk_err *err) {
    const cuzk_proving_key *key = k->base.key;
    cuzk_cuda *dev = v->lane[0].dev;
    if (key->r1cs) CUZK_TRY(take(dev, &v->plain, key->n_full * sizeof(cuzk_u256) + 32, err));
    CUZK_TRY(lay_out_many(k, v, err));
    const size_t vectors = key->h_form == CUZK_H_FOLDED ? 2 : 3;
    CUZK_TRY(take(dev, &v->abc, 32 * vectors << key->log2_domain, err));
    const size_t begin = dev->arena->used;
    const size_t spare = h_takes_vectors(key) ? 32 * (vectors - 1) << key->log2_domain : 0;
    size_t end = begin;
    dev->arena->used = begin - spare;
    CUZK_TRY(lay_out_lane(k, CUZK__Q_H, v, err));
    if (end < dev->arena->used) end = dev->arena->used;
    for (int id = 0; id < CUZK__Q_H; id++) {
        dev->arena->used = k->in_turn ? begin : end;
        CUZK_TRY(lay_out_lane(k, id, v, err));
        if (end < dev->arena->used) end = dev->arena->used;
    }
    dev->arena->used = end;
    return CUZK_OK;
}

static void clear_view(cuzk__gpu_view *v) {
    for (cuzk__gpu_lane &lane : v->lane) {
        cuzk_cuda_msm_free(lane.msm);
        cuzk_cuda_bits_free(lane.many);
    }
    *v = {};
}

static cuzk_status make_view(cuzk_gpu_key *k, cuzk_err *err) {
    cuzk__gpu_work *w = &backend_of(k)->work;
    cuzk__gpu_view *v = &k->view;
    clear_view(v);
    w->arena.used = 0;
    for (int id = 0; id < CUZK__QUERIES; id++) {
        v->lane[id].dev = w->lane[k->in_turn ? (int)CUZK__Q_H : id];
        w->lane[id]->arena = &w->arena;
    }
    const cuzk_status st = lay_out(k, v, err);
    v->ready = st == CUZK_OK;
    if (st != CUZK_OK) clear_view(v);
    return st;
}

cuzk_status cuzk__gpu_work_bytes(const cuzk_gpu_key *k, size_t *bytes, cuzk_err *err) {
    cuzk_cuda probe = *backend_of(k)->dev;
    cuzk__arena arena = {};
    cuzk__gpu_view v = {};
    arena.measuring = true;
    probe.arena = &arena;
    for (cuzk__gpu_lane &lane : v.lane)
        lane.dev = &probe;
    const cuzk_status st = lay_out(k, &v, err);
    clear_view(&v);
    *bytes = (arena.used + 255) & ~(size_t)255;
    return st;
}

/* ---- the memory ---- */

static void give_back(cuzk__gpu_work *w) {
    cuzk__gpu_work_drain(w);
    w->last = NULL;
    for (cuzk_gpu_key *k = w->keys; k; k = k->next)
        clear_view(&k->view);
    if (w->arena.base) {
        (void)cudaMemsetAsync(w->arena.base, 0, w->arena.size, w->main->stream);
        (void)cudaStreamSynchronize(w->main->stream);
        (void)cudaFree(w->arena.base);
    }
    w->arena = {};
}

static cuzk_status take_memory(cuzk__gpu_work *w, size_t bytes, cuzk_err *err) {
    void *mem;
    if (bytes == 0) return CUZK_OK;
    CUZK_CUDA(cudaMalloc(&mem, bytes));
    w->arena.base = (char *)mem;
    w->arena.size = bytes;
    CUZK_CUDA(cudaMemsetAsync(mem, 0, bytes, w->main->stream));
    for (cuzk_gpu_key *k = w->keys; k; k = k->next)
        CUZK_TRY(make_view(k, err));
    CUZK_CUDA(cudaStreamSynchronize(w->main->stream));
    return CUZK_OK;
}

/* The memory moves. Where there is too little of it, it stays. */
static cuzk_status resize(cuzk_gpu_backend *b, size_t bytes, cuzk_err *err) {
    cuzk__gpu_work *w = &b->work;
    cuzk_cuda_info info;
    const size_t before = w->arena.size;
    CUZK_TRY(cuzk_cuda_backend_info(&b->base, &info, err));
    if (bytes > before && bytes - before > info.bytes_free)
        return cuzk_err_set(err, CUZK_STATUS_NO_MEMORY,
                            "device: work memory must grow from %zu to %zu bytes, %zu are free",
                            before, bytes, info.bytes_free);
    give_back(w);
    cuzk_status st = take_memory(w, bytes, err);
    if (st == CUZK_OK || before == 0) return st;
    give_back(w);
    return take_memory(w, before, NULL) == CUZK_OK ? st : CUZK_STATUS_NO_MEMORY;
}

cuzk_status cuzk__gpu_work_attach(cuzk_gpu_key *k, cuzk_err *err) {
    cuzk_gpu_backend *b = backend_of(k);
    cuzk__gpu_work *w = &b->work;
    (void)pthread_mutex_lock(&w->lock);
    cuzk_status st = CUZK_OK;
    if (k->bytes.work > w->arena.size) st = resize(b, k->bytes.work, err);
    if (st == CUZK_OK) st = make_view(k, err);
    if (st == CUZK_OK) {
        k->next = w->keys;
        w->keys = k;
    }
    (void)pthread_mutex_unlock(&w->lock);
    return st;
}

void cuzk__gpu_work_detach(cuzk_gpu_key *k) {
    cuzk_gpu_backend *b = backend_of(k);
    cuzk__gpu_work *w = &b->work;
    (void)pthread_mutex_lock(&w->lock);
    size_t most = 0;
    bool attached = false;
    for (cuzk_gpu_key **at = &w->keys; *at;) {
        if (*at == k) {
            *at = k->next;
            attached = true;
            continue;
        }
        if ((*at)->bytes.work > most) most = (*at)->bytes.work;
        at = &(*at)->next;
    }
    if (attached) cuzk__gpu_work_drain(w);
    if (w->last == k) w->last = NULL;
    clear_view(&k->view);
    if (most < w->arena.size) (void)resize(b, most, NULL);
    (void)pthread_mutex_unlock(&w->lock);
}

void cuzk__gpu_work_close(cuzk_gpu_backend *b) {
    cuzk__gpu_work *w = &b->work;
    if (w->main) give_back(w);
    cuzk_cuda_close(w->main);
    for (cuzk_cuda *aux : w->aux)
        cuzk_cuda_close(aux);
    for (cuzk_cuda *lane : w->lane)
        cuzk_cuda_close(lane);
    cuzk_cuda_close(w->end);
    for (cudaEvent_t e : w->read)
        if (e) (void)cudaEventDestroy(e);
    if (w->made) (void)cudaEventDestroy(w->made);
    for (cudaEvent_t e : w->listed)
        if (e) (void)cudaEventDestroy(e);
    for (cudaEvent_t e : w->done)
        if (e) (void)cudaEventDestroy(e);
}

/* ---- the order of proofs ---- */

cuzk_status cuzk__gpu_work_begin(cuzk__gpu_work *w, const cuzk_gpu_key *k, cuzk_err *err) {
    const cudaStream_t stream = w->main->stream;
    if (w->last == k && !h_takes_vectors(k->base.key)) {
        for (int id = 0; id < CUZK__QUERIES; id++)
            CUZK_CUDA(cudaStreamWaitEvent(stream, w->read[id], 0));
    } else if (w->last) {
        CUZK_CUDA(cudaStreamWaitEvent(stream, w->done[(w->proofs - 1) % CUZK__DONE_RING], 0));
    }
    return CUZK_OK;
}

cuzk_status cuzk__gpu_work_end(cuzk__gpu_work *w, const cuzk_gpu_key *k, const cudaEvent_t *ends,
                               int n, uint64_t *number, cuzk_err *err) {
    for (int i = 0; i < n; i++)
        CUZK_CUDA(cudaStreamWaitEvent(w->end->stream, ends[i], 0));
    CUZK_CUDA(cudaEventRecord(w->done[w->proofs % CUZK__DONE_RING], w->end->stream));
    *number = w->proofs;
    w->last = k;
    __atomic_store_n(&w->proofs, w->proofs + 1, __ATOMIC_RELEASE);
    return CUZK_OK;
}
