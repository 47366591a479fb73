/* One proof on the device: staging, the queueing of all work, and the sums' last additions. */
#include "backend/cuda/lean.cuh"

extern "C" {
#include "base/mem.h"
}

#include <string.h>

/* Witnesses are copied to pinned memory in pieces, each on its way to the device as soon as it is
 * there; the host's threads share the pieces. */
enum { STAGE_PIECE = 256 << 10, STAGE_BIG_PIECE = 1 << 20, SMALL_DOMAIN = 18 };

static cuzk_gpu_backend *backend_of(const cuzk_gpu_slot *s) {
    return (cuzk_gpu_backend *)s->base.key->backend;
}
static const cuzk_gpu_key *key_of(const cuzk_gpu_slot *s) {
    return (const cuzk_gpu_key *)s->base.key;
}
static const cuzk_proving_key *data_of(const cuzk_gpu_slot *s) {
    return s->base.key->key;
}

static size_t full_bytes(const cuzk_proving_key *key) {
    return key->n_full * sizeof(cuzk_u256);
}
/* With the word that readers may look at beyond the end. */
static size_t bit_bytes(const cuzk_proving_key *key) {
    return key->n_bits ? (key->n_bits / 64 + 2) * 8 : 0;
}

/* Of the free values, and behind them what is at fault; 0 for keys that take witnesses. */
static size_t free_bytes(const cuzk_proving_key *key) {
    return key->plan ? (size_t)key->r1cs->n_free * sizeof(cuzk_u256) + 32 : 0;
}

/* Takes the slot's device memory out of its arena. */
static cuzk_status lay_out(cuzk_gpu_slot *s, cuzk_err *err) {
    const cuzk_proving_key *key = data_of(s);
    cuzk_cuda view = *backend_of(s)->dev;
    view.arena = &s->arena;
    CUZK_TRY(cuzk_cuda_alloc(&view, (void **)&s->full, full_bytes(key) + 32, err));
    CUZK_TRY(cuzk_cuda_alloc(&view, (void **)&s->bits, bit_bytes(key) + 16, err));
    if (!key->plan) return CUZK_OK;
    CUZK_TRY(cuzk_cuda_alloc(&view, (void **)&s->frees, free_bytes(key), err));
    s->fault = (cuzk_cuda_witness_fault *)(s->frees + free_bytes(key) - 32);
    return CUZK_OK;
}

size_t cuzk__gpu_slot_bytes(const cuzk_proving_key *key) {
    return ((full_bytes(key) + 32 + 255) & ~(size_t)255) +
           ((bit_bytes(key) + 16 + 255) & ~(size_t)255) + ((free_bytes(key) + 255) & ~(size_t)255);
}

/* Pinned: the witness or what it is made from, then for each sum its counts, the list's last sums,
 * the sorted sum. */
static size_t last_bytes(const cuzk__gpu_query *q) {
    return q->ops ? CUZK__SUM_LAST * q->ops->xyzz_bytes : 0;
}
static size_t result_pinned(const cuzk__gpu_query *q) {
    return 16 + last_bytes(q) + (q->msm ? cuzk__cuda_msm_result_bytes(q->msm) : 0);
}

static size_t witness_pinned(const cuzk_proving_key *key) {
    if (key->plan) return free_bytes(key);
    return (full_bytes(key) + bit_bytes(key) + 15) & ~(size_t)15;
}

size_t cuzk__gpu_slot_pinned(const cuzk_gpu_key *k) {
    size_t bytes = witness_pinned(k->base.key);
    for (const cuzk__gpu_query &q : k->query)
        bytes += result_pinned(&q);
    return k->lean ? ((bytes + 15) & ~(size_t)15) + k->lean->results : bytes;
}

static cuzk_status take_pinned(cuzk_gpu_slot *s, cuzk_err *err) {
    const cuzk_gpu_key *k = key_of(s);
    size_t at = witness_pinned(data_of(s));
    s->pinned_bytes = cuzk__gpu_slot_pinned(k);
    void *mem;
    CUZK_CUDA(cudaMallocHost(&mem, s->pinned_bytes));
    s->pinned = (char *)mem;
    for (int id = 0; id < CUZK__QUERIES; id++) {
        s->result[id].counts = (uint32_t *)(s->pinned + at);
        s->result[id].last = s->pinned + at + 16;
        s->result[id].sorted = s->pinned + at + 16 + last_bytes(&k->query[id]);
        at += result_pinned(&k->query[id]);
    }
    s->lean_results = s->pinned + ((at + 15) & ~(size_t)15);
    return CUZK_OK;
}

static cuzk_status open_slot(cuzk_gpu_slot *s, cuzk_err *err) {
    const unsigned flags = backend_of(s)->sleeps ? cudaEventBlockingSync : cudaEventDefault;
    CUZK_CUDA(cudaSetDevice(backend_of(s)->dev->ordinal));
    CUZK_CUDA(cudaStreamCreateWithFlags(&s->copy, cudaStreamNonBlocking));
    for (cudaEvent_t &e : s->ev)
        CUZK_CUDA(cudaEventCreateWithFlags(&e, flags));
    CUZK_TRY(take_pinned(s, err));
    s->arena.size = key_of(s)->bytes.slot;
    cuzk_cuda_info info;
    void *mem;
    CUZK_TRY(cuzk_cuda_backend_info(&backend_of(s)->base, &info, err));
    if (s->arena.size > info.bytes_free)
        return cuzk_err_set(err, CUZK_STATUS_NO_MEMORY,
                            "%s: a proof's witness takes %zu bytes of device memory, %zu are left",
                            data_of(s)->name, s->arena.size, info.bytes_free);
    CUZK_CUDA(cudaMalloc(&mem, s->arena.size));
    s->arena.base = (char *)mem;
    (void)__atomic_add_fetch(&backend_of(s)->held, s->arena.size, __ATOMIC_RELAXED);
    CUZK_TRY(lay_out(s, err));
    /* what is read beyond a witness's end must be the same in every proof */
    CUZK_CUDA(cudaMemsetAsync(s->arena.base, 0, s->arena.size, s->copy));
    CUZK_CUDA(cudaStreamSynchronize(s->copy));
    return CUZK_OK;
}

cuzk_status cuzk__gpu_slot_new(cuzk_device_key *k, cuzk_slot **out, cuzk_err *err) {
    *out = NULL;
    void *mem;
    CUZK_TRY(cuzk_alloc(&mem, 1, sizeof(cuzk_gpu_slot)));
    cuzk_gpu_slot *s = (cuzk_gpu_slot *)mem;
    s->base.key = k;
    const cuzk_status st = open_slot(s, err);
    if (st != CUZK_OK) {
        cuzk__gpu_slot_free(&s->base);
        return st;
    }
    *out = &s->base;
    return CUZK_OK;
}

static cudaEvent_t done_event(const cuzk_gpu_slot *s) {
    return backend_of(s)->work.done[s->number % CUZK__DONE_RING];
}

void cuzk__gpu_slot_free(cuzk_slot *base) {
    cuzk_gpu_slot *s = (cuzk_gpu_slot *)base;
    if (!s) return;
    (void)cudaSetDevice(backend_of(s)->dev->ordinal);
    if (s->lean_waits) cuzk__lean_forget(s);
    if (s->computed) (void)cudaEventSynchronize(done_event(s));
    if (s->arena.base) (void)cudaMemsetAsync(s->arena.base, 0, s->arena.size, s->copy);
    if (s->copy) {
        (void)cudaStreamSynchronize(s->copy);
        (void)cudaStreamDestroy(s->copy);
    }
    for (cudaEvent_t e : s->ev)
        if (e) (void)cudaEventDestroy(e);
    if (s->arena.base) {
        (void)cudaFree(s->arena.base);
        (void)__atomic_sub_fetch(&backend_of(s)->held, s->arena.size, __ATOMIC_RELAXED);
    }
    if (s->pinned) {
        cuzk_wipe(s->pinned, s->pinned_bytes);
        (void)cudaFreeHost(s->pinned);
    }
    (void)cudaGetLastError();
    cuzk_free(s);
}

/* ---- stage ---- */

struct stage_job {
    cuzk_gpu_slot *s;
    char *to;
    const char *from;
    size_t bytes, piece;
    int failed; /* a cudaError_t; written with atomic stores */
};

static void stage_piece(void *ctx, size_t i) {
    stage_job *j = (stage_job *)ctx;
    const size_t at = i * j->piece, n = j->bytes - at < j->piece ? j->bytes - at : j->piece;
    memcpy(j->s->pinned + at, j->from + at, n);
    cudaError_t e = cudaSetDevice(backend_of(j->s)->dev->ordinal);
    if (e == cudaSuccess)
        e = cudaMemcpyAsync(j->to + at, j->s->pinned + at, n, cudaMemcpyHostToDevice, j->s->copy);
    if (e != cudaSuccess) __atomic_store_n(&j->failed, (int)e, __ATOMIC_RELAXED);
}

/* The slot is free, and the upload begins. */
static cuzk_status begin_stage(cuzk_gpu_slot *s, cuzk_err *err) {
    CUZK_CUDA(cudaSetDevice(backend_of(s)->dev->ordinal));
    if (s->lean_waits) cuzk__lean_forget(s);
    if (s->computed) CUZK_CUDA(cudaEventSynchronize(done_event(s)));
    CUZK_CUDA(cudaEventRecord(s->ev[CUZK__EV_STAGED0], s->copy));
    return CUZK_OK;
}

/* Full or free values, by way of the pinned memory's beginning; then the upload ends. */
static cuzk_status stage_values(cuzk_gpu_slot *s, char *to, const void *from, size_t bytes,
                                cuzk_err *err) {
    const size_t piece = bytes < (size_t)8 * STAGE_BIG_PIECE ? STAGE_PIECE : STAGE_BIG_PIECE;
    stage_job job = {s, to, (const char *)from, bytes, piece, 0};
    cuzk_pool_run(backend_of(s)->pool, (bytes + piece - 1) / piece, stage_piece, &job);
    CUZK_CUDA((cudaError_t)job.failed);
    CUZK_CUDA(cudaEventRecord(s->ev[CUZK__EV_STAGED], s->copy));
    s->staged = true;
    s->computed = false;
    s->bytes_in = bytes;
    s->bytes_out = 0;
    return CUZK_OK;
}

cuzk_status cuzk__gpu_stage_inputs(cuzk_slot *base, const cuzk_u256 *frees, size_t n,
                                   cuzk_err *err) {
    cuzk_gpu_slot *s = (cuzk_gpu_slot *)base;
    const cuzk_proving_key *key = data_of(s);
    if (!key->plan)
        return cuzk_err_set(err, CUZK_STATUS_USAGE, "%s: a key without a witness plan", key->name);
    if (n != key->r1cs->n_free)
        return cuzk_err_set(err, CUZK_STATUS_USAGE, "the circuit takes %u free values, not %zu",
                            key->r1cs->n_free, n);
    CUZK_TRY(begin_stage(s, err));
    CUZK_TRY(stage_values(s, s->frees, frees, n * sizeof *frees, err));
    s->montgomery = true;
    return CUZK_OK;
}

cuzk_status cuzk__gpu_stage(cuzk_slot *base, const cuzk_wires *wires, cuzk_err *err) {
    cuzk_gpu_slot *s = (cuzk_gpu_slot *)base;
    const cuzk_proving_key *key = data_of(s);
    const size_t full = full_bytes(key), bits = bit_bytes(key);
    if (key->plan)
        return cuzk_err_set(err, CUZK_STATUS_USAGE, "%s: slots of this key take free values",
                            key->name);
    CUZK_TRY(begin_stage(s, err));
    if (bits) {
        memcpy(s->pinned + full, wires->bits, bits - 8);
        memset(s->pinned + full + bits - 8, 0, 8);
        CUZK_CUDA(
            cudaMemcpyAsync(s->bits, s->pinned + full, bits, cudaMemcpyHostToDevice, s->copy));
    }
    CUZK_TRY(stage_values(s, s->full, wires->full, full, err));
    s->montgomery = wires->montgomery;
    s->bytes_in += bits;
    return CUZK_OK;
}

/* ---- compute ---- */

static cudaEvent_t lane_event(const cuzk_gpu_slot *s, cuzk__query_id id, int which) {
    return s->ev[CUZK__EV_LANE + 3 * id + which];
}
enum { LANE_BEGIN, LANE_COUNTED, LANE_END };

static cuzk__gpu_work *work_of(const cuzk_gpu_slot *s) {
    return &backend_of(s)->work;
}
static const cuzk__gpu_view *view_of(const cuzk_gpu_slot *s) {
    return &key_of(s)->view;
}
/* The full values as plain scalars. */
static const char *plain_of(const cuzk_gpu_slot *s) {
    return view_of(s)->plain ? view_of(s)->plain : s->full;
}

/* The sum of a long list, beside its lane, on the stream where all of them follow one another. */
static cuzk_status queue_many(cuzk_gpu_slot *s, cuzk__query_id id, cuzk_err *err) {
    const cuzk__gpu_lane *lane = &view_of(s)->lane[id];
    const cuzk__gpu_work *w = work_of(s);
    CUZK_CUDA(cudaStreamWaitEvent(w->end->stream, lane_event(s, id, LANE_COUNTED), 0));
    CUZK_TRY(
        cuzk__cuda_bits_queue_list(lane->many, lane->list, lane->counts, s->result[id].last, err));
    CUZK_CUDA(cudaEventRecord(w->listed[id], w->end->stream));
    return CUZK_OK;
}

/* The sum of listed points, on its way to the host: on the lane's stream, or that of dev. */
static cuzk_status queue_list_sum(cuzk_gpu_slot *s, cuzk__query_id id, const cuzk_cuda *dev,
                                  cuzk_err *err) {
    const cuzk__gpu_query *q = &key_of(s)->query[id];
    const cuzk__gpu_lane *lane = &view_of(s)->lane[id];
    const cuzk__gpu_result *to = &s->result[id];
    CUZK_TRY(q->ops->sum(dev, q->points, lane->list, lane->counts, lane->partial, lane->last, err));
    CUZK_CUDA(
        cudaMemcpyAsync(to->last, lane->last, last_bytes(q), cudaMemcpyDeviceToHost, dev->stream));
    return CUZK_OK;
}

/* Chooses the points of a list, and queues their sum: a short one's not if a sorted sum goes first,
 * which takes longer, and much of it leaves the device room for others. */
static cuzk_status queue_list(cuzk_gpu_slot *s, cuzk__query_id id, const void *scalars,
                              cuzk_err *err) {
    const cuzk__gpu_query *q = &key_of(s)->query[id];
    const cuzk__gpu_lane *lane = &view_of(s)->lane[id];
    const cuzk__gpu_result *to = &s->result[id];
    const cuzk_cuda *dev = lane->dev;
    const cuzk__choice c = {(const uint4 *)scalars,
                            (const uint32_t *)s->bits,
                            q->slots,
                            q->n_full,
                            q->n,
                            lane->counts,
                            lane->list};
    CUZK_CUDA(cudaMemsetAsync(lane->counts, 0, 8, dev->stream));
    if (q->window) {
        CUZK_TRY(cuzk__choose_digits(dev, &c, q->window, q->windows, err));
    } else {
        CUZK_TRY(cuzk__choose_ones(dev, &c, (uint4 *)lane->rest, lane->map, err));
        if (!key_of(s)->shares) {
            CUZK_CUDA(
                cudaMemcpyAsync(to->counts, lane->counts, 8, cudaMemcpyDeviceToHost, dev->stream));
            s->bytes_out += 8;
        }
        CUZK_CUDA(cudaEventRecord(lane_event(s, id, LANE_COUNTED), dev->stream));
    }
    CUZK_CUDA(cudaEventRecord(work_of(s)->read[id], dev->stream));
    s->bytes_out += lane->many ? q->ops->xyzz_bytes : last_bytes(q);
    if (lane->many) return queue_many(s, id, err);
    return lane->msm ? CUZK_OK : queue_list_sum(s, id, dev, err);
}

/* The sum's end, once that of its list has come if it is made aside. */
static cuzk_status end_lane(const cuzk_gpu_slot *s, cuzk__query_id id, bool aside, cuzk_err *err) {
    const cudaStream_t stream = view_of(s)->lane[id].dev->stream;
    if (aside) CUZK_CUDA(cudaStreamWaitEvent(stream, work_of(s)->listed[id], 0));
    CUZK_CUDA(cudaEventRecord(lane_event(s, id, LANE_END), stream));
    return CUZK_OK;
}

/* One sum after `after`; a sorted one is driven later. */
static cuzk_status queue_sum(cuzk_gpu_slot *s, cuzk__query_id id, cudaEvent_t after,
                             const void *scalars, cuzk_err *err) {
    const cuzk__gpu_query *q = &key_of(s)->query[id];
    const cuzk__gpu_lane *lane = &view_of(s)->lane[id];
    const cudaStream_t stream = lane->dev->stream;
    CUZK_CUDA(cudaStreamWaitEvent(stream, after, 0));
    CUZK_CUDA(cudaEventRecord(lane_event(s, id, LANE_BEGIN), stream));
    if (key_of(s)->shares && lane->rest)
        CUZK_CUDA(cudaMemsetAsync(lane->rest, 0, (size_t)q->n_full * 32, stream));
    if (cuzk__gpu_is_listed(id, q)) CUZK_TRY(queue_list(s, id, scalars, err));
    return q->msm ? CUZK_OK : end_lane(s, id, lane->many, err);
}

/* The witness from its free values. It is the slot's, so the proof before need not have ended. */
cuzk_status cuzk__gpu_make_witness(cuzk_gpu_slot *s, cuzk_err *err) {
    const cuzk_proving_key *key = data_of(s);
    const cuzk_cuda *dev = work_of(s)->main;
    if (!key->plan) return CUZK_OK;
    CUZK_CUDA(cudaEventRecord(s->ev[CUZK__EV_MAKE], dev->stream));
    CUZK_TRY(cuzk_cuda_witness_make(key_of(s)->witness, dev, work_of(s)->aux[0], s->frees, s->bits,
                                    s->full, s->fault, err));
    CUZK_CUDA(cudaMemcpyAsync(s->pinned + free_bytes(key) - 32, s->fault, sizeof *s->fault,
                              cudaMemcpyDeviceToHost, dev->stream));
    CUZK_CUDA(cudaEventRecord(s->ev[CUZK__EV_MADE], dev->stream));
    s->bytes_out += sizeof *s->fault;
    return CUZK_OK;
}

/* Plain values for the sums and for flat rows, Montgomery forms for compact ones. */
static cuzk_status start(cuzk_gpu_slot *s, cuzk_err *err) {
    const cuzk_proving_key *key = data_of(s);
    const cuzk_curve_id curve = key->curve->id;
    const cuzk_cuda *dev = work_of(s)->main;
    char *plain = view_of(s)->plain ? view_of(s)->plain : s->full;
    CUZK_CUDA(cudaStreamWaitEvent(dev->stream, s->ev[CUZK__EV_STAGED], 0));
    CUZK_TRY(cuzk__gpu_make_witness(s, err));
    CUZK_TRY(cuzk__gpu_work_begin(work_of(s), key_of(s), err));
    CUZK_CUDA(cudaEventRecord(s->ev[CUZK__EV_START], dev->stream));
    if (key->r1cs && !s->montgomery) {
        CUZK_CUDA(cudaMemcpyAsync(plain, s->full, full_bytes(key), cudaMemcpyDeviceToDevice,
                                  dev->stream));
        CUZK_TRY(cuzk__vec_to_mont(dev, curve, s->full, s->full, key->n_full, err));
    } else if (s->montgomery) {
        CUZK_TRY(cuzk__vec_from_mont(dev, curve, plain, s->full, key->n_full, err));
    }
    CUZK_CUDA(cudaEventRecord(s->ev[CUZK__EV_WIRES], dev->stream));
    return CUZK_OK;
}

/* A transform on the stream of `dev`. */
static cuzk_status transform(const cuzk_gpu_slot *s, cuzk_cuda *dev, void *x, cuzk_ntt_dir dir,
                             cuzk_ntt_order order, const cuzk_cuda_ntt_scale *scale,
                             cuzk_err *err) {
    cuzk_cuda_ntt view = *key_of(s)->ntt;
    view.dev = dev;
    return cuzk_cuda_ntt_run(&view, x, dir, order, scale, err);
}

static cuzk_status to_coset(const cuzk_gpu_slot *s, cuzk_cuda *dev, void *x, cuzk_err *err) {
    CUZK_TRY(transform(s, dev, x, CUZK_NTT_INVERSE, CUZK_NTT_NR, NULL, err));
    return transform(s, dev, x, CUZK_NTT_FORWARD, CUZK_NTT_RN, key_of(s)->to_coset, err);
}

/* a, b and c to the scalars of H, which take a's place. Small transforms leave most of the device
 * idle, so they run side by side. */
static cuzk_status quotient(cuzk_gpu_slot *s, cuzk_err *err) {
    const cuzk_proving_key *key = data_of(s);
    const cuzk_curve_id curve = key->curve->id;
    const bool values = key->h_form == CUZK_H_COSET_VALUES;
    const size_t n = (size_t)1 << key->log2_domain;
    char *a = view_of(s)->abc, *b = a + 32 * n, *c = b + 32 * n;
    const bool small = key->log2_domain <= SMALL_DOMAIN;
    cuzk_cuda *main = work_of(s)->main, *dev[3] = {main, main, main};
    for (int i = 1; i < 3 && small; i++) {
        dev[i] = work_of(s)->aux[i - 1];
        CUZK_CUDA(cudaStreamWaitEvent(dev[i]->stream, s->ev[CUZK__EV_EVAL], 0));
    }
    CUZK_TRY(to_coset(s, dev[1], b, err));
    if (values)
        CUZK_TRY(to_coset(s, dev[2], c, err));
    else if (key->h_form == CUZK_H_COEFFICIENTS)
        CUZK_TRY(transform(s, dev[2], c, CUZK_NTT_INVERSE, CUZK_NTT_NR, NULL, err));
    CUZK_TRY(to_coset(s, dev[0], a, err));
    for (int i = 1; i < 3 && small; i++) {
        const cudaEvent_t e = s->ev[i == 1 ? CUZK__EV_NTT1 : CUZK__EV_NTT2];
        CUZK_CUDA(cudaEventRecord(e, dev[i]->stream));
        CUZK_CUDA(cudaStreamWaitEvent(main->stream, e, 0));
    }
    if (values) return cuzk__vec_quotient(main, curve, a, a, b, c, n, err);
    /* On the coset x^n = -1, so the polynomial D of degree below n with the values a b there is
     * C - 2 H, for a b = C + H (x^n - 1). Folded keys have C in L. */
    CUZK_TRY(cuzk__vec_product(main, curve, a, a, b, n, err));
    CUZK_TRY(transform(s, main, a, CUZK_NTT_INVERSE, CUZK_NTT_NR, key_of(s)->from_coset, err));
    if (key->h_form == CUZK_H_FOLDED) c = NULL;
    return cuzk__vec_half_difference(main, curve, a, c, a, n, err);
}

/* a, and b behind it; what a compact system's rows leave of the domain is zero. */
static cuzk_status rows(cuzk_gpu_slot *s, cuzk_err *err) {
    const cuzk_proving_key *key = data_of(s);
    const cuzk_r1cs *r = key->r1cs;
    const size_t n = (size_t)1 << key->log2_domain;
    char *a = view_of(s)->abc, *b = a + 32 * n;
    const cuzk_cuda *main = work_of(s)->main;
    if (!r) return cuzk__gpu_rows_eval(&key_of(s)->rows, main, key->curve->id, plain_of(s), a, err);
    const size_t used = (size_t)r->n_rows + r->n_inputs;
    CUZK_CUDA(cudaMemsetAsync(a + 32 * used, 0, 32 * (n - used), main->stream));
    CUZK_CUDA(cudaMemsetAsync(b + 32 * used, 0, 32 * (n - used), main->stream));
    return cuzk_cuda_r1cs_eval(key_of(s)->r1cs, main, s->bits, s->full, a, b, err);
}

cuzk_status cuzk__gpu_rows_and_quotient(cuzk_gpu_slot *s, cuzk_err *err) {
    const cuzk_proving_key *key = data_of(s);
    const size_t n = (size_t)1 << key->log2_domain;
    char *a = view_of(s)->abc, *b = a + 32 * n, *c = b + 32 * n;
    const cuzk_cuda *main = work_of(s)->main;
    CUZK_TRY(rows(s, err));
    if (key->h_form != CUZK_H_FOLDED)
        CUZK_TRY(cuzk__vec_product(main, key->curve->id, c, a, b, n, err));
    CUZK_CUDA(cudaEventRecord(s->ev[CUZK__EV_EVAL], main->stream));
    CUZK_TRY(quotient(s, err));
    CUZK_CUDA(cudaEventRecord(s->ev[CUZK__EV_H], main->stream));
    return CUZK_OK;
}

/* Queues the rest of one sorted sum. A large one waits for its count on the way; the sums of a
 * small key, which share the device, take all values instead, with 0 for those that are in the
 * list: waiting for counts and then queueing a hundred kernels would take longer than the kernels.
 */
struct drive_job {
    cuzk_gpu_slot *s;
    cuzk_status st[CUZK__QUERIES];
    cuzk_err err[CUZK__QUERIES];
};

/* The sum of a short list beside the sorted one. */
static cuzk_status queue_list_aside(cuzk_gpu_slot *s, cuzk__query_id id, cuzk_err *err) {
    const cuzk__gpu_work *w = work_of(s);
    cuzk_cuda aside = *view_of(s)->lane[id].dev;
    aside.stream = w->end->stream;
    CUZK_CUDA(cudaStreamWaitEvent(aside.stream, lane_event(s, id, LANE_COUNTED), 0));
    CUZK_TRY(queue_list_sum(s, id, &aside, err));
    CUZK_CUDA(cudaEventRecord(w->listed[id], aside.stream));
    return CUZK_OK;
}

/* Where sums share the device, those of the wires in G1 wait for H's lists, which could not be made
 * beside them; G2's, which takes longest, leaves half of the device to all that. */
static const cuzk__msm_turn *turn_of(const cuzk_gpu_slot *s, cuzk__query_id id, cuzk__msm_turn *t) {
    const cuzk__gpu_work *w = work_of(s);
    if (!key_of(s)->shares) return NULL;
    const bool waits = id != CUZK__Q_H && id != CUZK__Q_B2 && view_of(s)->lane[CUZK__Q_H].msm;
    *t = {id == CUZK__Q_H ? w->made : NULL, waits ? w->made : NULL};
    return t;
}

static cuzk_status drive_sum(cuzk_gpu_slot *s, cuzk__query_id id, cuzk_err *err) {
    const cuzk__gpu_lane *lane = &view_of(s)->lane[id];
    cuzk__gpu_result *to = &s->result[id];
    cuzk__msm_turn turns;
    const cuzk__msm_turn *turn = turn_of(s, id, &turns);
    bool aside = false;
    CUZK_CUDA(cudaSetDevice(lane->dev->ordinal));
    if (id == CUZK__Q_H) {
        CUZK_TRY(cuzk__cuda_msm_queue(lane->msm, view_of(s)->abc, NULL,
                                      (size_t)1 << data_of(s)->log2_domain, work_of(s)->read[id],
                                      turn, to->sorted, &to->any, err));
    } else {
        size_t n = key_of(s)->query[id].n_full;
        aside = turn || lane->many;
        if (aside && !lane->many) CUZK_TRY(queue_list_aside(s, id, err));
        if (!turn) {
            CUZK_CUDA(cudaEventSynchronize(lane_event(s, id, LANE_COUNTED)));
            n = to->counts[1];
        }
        CUZK_TRY(cuzk__cuda_msm_queue(lane->msm, lane->rest, lane->map, n, NULL, turn, to->sorted,
                                      &to->any, err));
        if (!aside) CUZK_TRY(queue_list_sum(s, id, lane->dev, err));
    }
    return end_lane(s, id, aside, err);
}

/* The longest first, and H before those that wait for it (turn_of). */
static const cuzk__query_id order[CUZK__QUERIES] = {CUZK__Q_H, CUZK__Q_B2, CUZK__Q_A, CUZK__Q_B1,
                                                    CUZK__Q_L};

static void drive_task(void *ctx, size_t i) {
    drive_job *j = (drive_job *)ctx;
    const cuzk__query_id id = order[i];
    if (view_of(j->s)->lane[id].msm) j->st[id] = drive_sum(j->s, id, &j->err[id]);
}

static cuzk_status drive(cuzk_gpu_slot *s, cuzk_err *err) {
    bool any = false;
    for (const cuzk__gpu_lane &lane : view_of(s)->lane)
        any = any || lane.msm;
    if (!any) return CUZK_OK;
    drive_job job = {};
    job.s = s;
    cuzk_pool *pool = key_of(s)->shares ? NULL : backend_of(s)->pool;
    cuzk_pool_run(pool, CUZK__QUERIES, drive_task, &job);
    for (int id = 0; id < CUZK__QUERIES; id++) {
        if (job.st[id] == CUZK_OK) continue;
        if (err) *err = job.err[id];
        return job.st[id];
    }
    return CUZK_OK;
}

static const cuzk__query_id wires[] = {CUZK__Q_B2, CUZK__Q_A, CUZK__Q_B1, CUZK__Q_L};

static cuzk_status queue_sums(cuzk_gpu_slot *s, cuzk_err *err) {
    for (const cuzk__query_id id : wires)
        CUZK_TRY(queue_sum(s, id, s->ev[CUZK__EV_WIRES], plain_of(s), err));
    CUZK_TRY(queue_sum(s, CUZK__Q_H, s->ev[CUZK__EV_H], view_of(s)->abc, err));
    return drive(s, err);
}

/* Each to its end before the next, which writes the same memory; behind the transforms where it is
 * asked for, beside them where memory is short. */
static cuzk_status queue_in_turn(cuzk_gpu_slot *s, cuzk_err *err) {
    const cudaEvent_t after = s->ev[backend_of(s)->in_turn ? CUZK__EV_H : CUZK__EV_WIRES];
    for (const cuzk__query_id id : wires) {
        CUZK_TRY(queue_sum(s, id, after, plain_of(s), err));
        if (view_of(s)->lane[id].msm) CUZK_TRY(drive_sum(s, id, err));
    }
    CUZK_TRY(queue_sum(s, CUZK__Q_H, s->ev[CUZK__EV_H], view_of(s)->abc, err));
    return view_of(s)->lane[CUZK__Q_H].msm ? drive_sum(s, CUZK__Q_H, err) : CUZK_OK;
}

static cuzk_status queue_all(cuzk_gpu_slot *s, cuzk_err *err) {
    cuzk__gpu_work *w = work_of(s);
    cudaEvent_t ends[CUZK__QUERIES];
    for (int id = 0; id < CUZK__QUERIES; id++) {
        ends[id] = lane_event(s, (cuzk__query_id)id, LANE_END);
        s->result[id].any = false;
    }
    CUZK_CUDA(cudaSetDevice(w->main->ordinal));
    CUZK_TRY(start(s, err));
    CUZK_TRY(cuzk__gpu_rows_and_quotient(s, err));
    CUZK_TRY(key_of(s)->in_turn ? queue_in_turn(s, err) : queue_sums(s, err));
    return cuzk__gpu_work_end(w, key_of(s), ends, CUZK__QUERIES, &s->number, err);
}

cuzk_status cuzk__gpu_compute(cuzk_slot *base, cuzk_err *err) {
    cuzk_gpu_slot *s = (cuzk_gpu_slot *)base;
    cuzk__gpu_work *w = work_of(s);
    if (!s->staged) return cuzk_err_set(err, CUZK_STATUS_USAGE, "a slot computes before it stages");
    (void)pthread_mutex_lock(&w->lock);
    cuzk_status st;
    if (view_of(s)->ready)
        st = key_of(s)->lean ? cuzk__lean_queue(s, err) : queue_all(s, err);
    else
        st = cuzk_err_set(err, CUZK_STATUS_NO_MEMORY, "%s: its work memory is gone",
                          data_of(s)->name);
    if (st != CUZK_OK) {
        cuzk__gpu_work_drain(w);
        w->last = NULL;
    }
    (void)pthread_mutex_unlock(&w->lock);
    s->staged = false;
    s->computed = st == CUZK_OK;
    return st;
}

/* ---- finish ---- */

/* What the witness's kernels found, once the proof has ended. */
static cuzk_status check_fault(const cuzk_gpu_slot *s, cuzk_err *err) {
    const cuzk_proving_key *key = data_of(s);
    cuzk_cuda_witness_fault fault;
    if (!key->plan) return CUZK_OK;
    memcpy(&fault, s->pinned + free_bytes(key) - 32, sizeof fault);
    if (fault.free_value != UINT32_MAX)
        return cuzk_err_set(err, CUZK_STATUS_BAD_INPUT,
                            "free value %u is no field element, or no bit where one is needed",
                            fault.free_value);
    if (fault.row == UINT32_MAX) return CUZK_OK;
    cuzk_buf path = CUZK_BUF_INIT;
    cuzk_r1cs_row_path(key->r1cs, fault.row, &path);
    (void)cuzk_err_set(err, CUZK_STATUS_BAD_INPUT,
                       "row %u (%s): a wire that must be 0 or 1 is neither", fault.row,
                       path.len ? path.data : "");
    cuzk_buf_free(&path);
    return CUZK_STATUS_BAD_INPUT;
}

static cuzk_status finish_sum(cuzk_gpu_slot *s, cuzk__query_id id, cuzk_point *out, cuzk_err *err) {
    const cuzk__gpu_query *q = &key_of(s)->query[id];
    const cuzk_curve *curve = data_of(s)->curve;
    const cuzk__gpu_result *from = &s->result[id];
    CUZK_CUDA(cudaEventSynchronize(lane_event(s, id, LANE_END)));
    memset(out, 0, sizeof *out);
    if (cuzk__gpu_is_listed(id, q)) {
        if (cuzk__gpu_sums_many(q))
            cuzk__cuda_bits_combine(cuzk__cuda_group(curve->id, q->group), from->last, out);
        else
            q->ops->add_up(from->last, CUZK__SUM_LAST, out);
    }
    if (from->any) {
        cuzk_point sorted;
        cuzk__cuda_msm_combine(q->msm, from->sorted, &sorted);
        cuzk_curve_group(curve, q->group)->add(out->b, out->b, sorted.b);
        cuzk_wipe(&sorted, sizeof sorted);
    }
    return CUZK_OK;
}

static cuzk_status stage_time(const cuzk_gpu_slot *s, cuzk_sums_stats *stats, cuzk_sums_stage stage,
                              cudaEvent_t from, cudaEvent_t to, cuzk_err *err) {
    float ms;
    (void)s;
    CUZK_CUDA(cudaEventElapsedTime(&ms, from, to));
    stats->ns[stage] = (int64_t)((double)ms * 1e6);
    return CUZK_OK;
}

/* From the upload's begin, or the end of the proof before if that came later: what the device spent
 * on this one. Old ends have been overwritten: then nobody waited for anybody. */
static cuzk_status read_device_time(const cuzk_gpu_slot *s, int64_t *ns, cuzk_err *err) {
    const cuzk__gpu_work *w = work_of(s);
    float all, since = 0;
    CUZK_CUDA(cudaEventSynchronize(done_event(s)));
    CUZK_CUDA(cudaEventElapsedTime(&all, s->ev[CUZK__EV_STAGED0], done_event(s)));
    const uint64_t queued = __atomic_load_n(&w->proofs, __ATOMIC_ACQUIRE);
    if (s->number > 0 && queued - s->number + 2 < CUZK__DONE_RING) {
        const cudaEvent_t before = w->done[(s->number - 1) % CUZK__DONE_RING];
        CUZK_CUDA(cudaEventElapsedTime(&since, s->ev[CUZK__EV_STAGED0], before));
    }
    *ns = (int64_t)((double)(since > 0 ? all - since : all) * 1e6);
    return CUZK_OK;
}

static cuzk_status read_times(const cuzk_gpu_slot *s, cuzk_sums_stats *stats, cuzk_err *err) {
    const cudaEvent_t *ev = s->ev;
    CUZK_TRY(
        stage_time(s, stats, CUZK_SUMS_UPLOAD, ev[CUZK__EV_STAGED0], ev[CUZK__EV_STAGED], err));
    stats->ns[CUZK_SUMS_WITNESS] = 0;
    if (data_of(s)->plan)
        CUZK_TRY(
            stage_time(s, stats, CUZK_SUMS_WITNESS, ev[CUZK__EV_MAKE], ev[CUZK__EV_MADE], err));
    CUZK_TRY(stage_time(s, stats, CUZK_SUMS_EVAL, ev[CUZK__EV_START], ev[CUZK__EV_EVAL], err));
    CUZK_TRY(stage_time(s, stats, CUZK_SUMS_NTT, ev[CUZK__EV_EVAL], ev[CUZK__EV_H], err));
    for (int id = 0; id < CUZK__QUERIES; id++)
        CUZK_TRY(stage_time(s, stats, (cuzk_sums_stage)(CUZK_SUMS_MSM_A + id),
                            lane_event(s, (cuzk__query_id)id, LANE_BEGIN),
                            lane_event(s, (cuzk__query_id)id, LANE_END), err));
    CUZK_TRY(read_device_time(s, &stats->device_ns, err));
    stats->bytes_in = s->bytes_in;
    stats->bytes_out = s->bytes_out;
    return CUZK_OK;
}

cuzk_status cuzk__gpu_finish(cuzk_slot *base, cuzk_groth16_sums *out, cuzk_sums_stats *stats,
                             cuzk_err *err) {
    cuzk_gpu_slot *s = (cuzk_gpu_slot *)base;
    cuzk_point *to[CUZK__QUERIES] = {&out->a, &out->b1, &out->b2, &out->l, &out->h};
    if (!s->computed)
        return cuzk_err_set(err, CUZK_STATUS_USAGE, "a slot finishes what it computed");
    CUZK_CUDA(cudaSetDevice(backend_of(s)->dev->ordinal));
    s->computed = false;
    if (key_of(s)->lean) {
        CUZK_TRY(cuzk__lean_finish(s, out, err));
    } else {
        for (int id = 0; id < CUZK__QUERIES; id++)
            CUZK_TRY(finish_sum(s, (cuzk__query_id)id, to[id], err));
    }
    CUZK_TRY(check_fault(s, err));
    return stats ? read_times(s, stats, err) : CUZK_OK;
}
