/* Proofs with a key that is streamed (lean.cuh): those of one pass. */
#include "backend/cuda/lean.cuh"

extern "C" {
#include "base/mem.h"
}

#include <string.h>

static cuzk_gpu_backend *backend_of(const cuzk_gpu_slot *s) {
    return (cuzk_gpu_backend *)s->base.key->backend;
}
static cuzk_gpu_key *key_of(const cuzk_gpu_slot *s) {
    return (cuzk_gpu_key *)s->base.key;
}

/* A pass over the chunks of one kind, for all proofs that wait. */
struct pass {
    const cuzk_gpu_key *k;
    cuzk__lean_part *part;
    cudaEvent_t left;                  /* when the quotient has left its vectors */
    uint32_t ahead;                    /* chunks whose copies are queued */
    uint32_t streamed;                 /* of those, how many do not stay */
    uint32_t used;                     /* of those, how many are done with */
    uint32_t last[CUZK__LEAN_BUFFERS]; /* of each buffer: the chunk in it, counted from 1 */
};

static bool stays(const pass *p, uint32_t i) {
    return p->part->chunks[i].device != NULL;
}

/* The buffer of a streamed chunk. */
static unsigned buffer_of(const cuzk__lean_part *part, uint32_t n) {
    if (n < part->late_from) return n % part->early;
    return (part->early + (n - part->late_from)) % part->buffers;
}

/* Queues copies while there are buffers whose last use is queued. */
static cuzk_status copy_ahead(pass *p, cuzk_err *err) {
    cuzk__lean_part *part = p->part;
    const unsigned copies = ((const cuzk_gpu_backend *)p->k->base.backend)->link_copies;
    for (; p->ahead < part->n; p->ahead++) {
        const cuzk__lean_chunk *c = &part->chunks[p->ahead];
        if (c->device) continue;
        const unsigned b = buffer_of(part, p->streamed);
        if (p->last[b] > p->used) return CUZK_OK;
        if (p->streamed == part->late_from) CUZK_CUDA(cudaStreamWaitEvent(part->copy, p->left, 0));
        p->last[b] = ++p->streamed;
        CUZK_CUDA(cudaStreamWaitEvent(part->copy, part->free[b], 0));
        for (unsigned n = 0; n < copies; n++)
            CUZK_CUDA(cudaMemcpyAsync(part->buffer[b], p->k->lean->host + c->at, c->bytes,
                                      cudaMemcpyHostToDevice, part->copy));
        CUZK_CUDA(cudaEventRecord(part->ready[b], part->copy));
    }
    return CUZK_OK;
}

/* The chunk on the device, once its copy is done; *buffer: -1 when it stays. */
static cuzk_status begin_chunk(pass *p, uint32_t i, const char **data, int *buffer, cuzk_err *err) {
    cuzk__lean_part *part = p->part;
    *data = part->chunks[i].device;
    *buffer = -1;
    if (stays(p, i)) return CUZK_OK;
    CUZK_TRY(copy_ahead(p, err));
    *buffer = (int)buffer_of(part, p->used);
    *data = part->buffer[*buffer];
    CUZK_CUDA(cudaStreamWaitEvent(part->dev.stream, part->ready[*buffer], 0));
    return CUZK_OK;
}

static cuzk_status end_chunk(pass *p, int buffer, cuzk_err *err) {
    if (buffer < 0) return CUZK_OK;
    CUZK_CUDA(cudaEventRecord(p->part->free[buffer], p->part->dev.stream));
    p->used++;
    return copy_ahead(p, err);
}

/* The ones of a chunk of wires: chosen, summed, on their way to the host. */
static cuzk_status queue_ones(const pass *p, const cuzk_gpu_slot *s, const cuzk__lean_chunk *c,
                              const char *data, cuzk_err *err) {
    const cuzk__lean_part *part = p->part;
    const cuzk__gpu_query *q = &p->k->query[c->id];
    const uint32_t left = q->n_full > c->first ? q->n_full - c->first : 0;
    const cuzk__choice choice = {(const uint4 *)s->full,
                                 (const uint32_t *)s->bits,
                                 (const uint32_t *)(data + c->slots_at),
                                 left < c->n ? left : c->n,
                                 c->n,
                                 part->counts,
                                 part->list};
    CUZK_CUDA(cudaMemsetAsync(part->counts, 0, 8, part->dev.stream));
    CUZK_TRY(cuzk__choose_ones(&part->dev, &choice, (uint4 *)part->rest, part->map, err));
    cuzk__cuda_bits_set_bases(part->many[cuzk__lean_group(q)], data);
    return cuzk__cuda_bits_queue_list(part->many[cuzk__lean_group(q)], part->list, part->counts,
                                      s->lean_results + c->sum, err);
}

/* Header of a sorted sum's result. */
struct alignas(16) sorted_result {
    uint32_t counts[2]; /* of ones, and of what was sorted */
    uint32_t any;
};

static sorted_result *result_of(const cuzk_gpu_slot *s, const cuzk__lean_chunk *c) {
    return (sorted_result *)(s->lean_results + c->sorted);
}

/* h: the scalars of H. */
static cuzk_status queue_full(const pass *p, cuzk_gpu_slot *s, const char *h,
                              const cuzk__lean_chunk *c, const char *data, cuzk_err *err) {
    const cuzk__lean_part *part = p->part;
    cuzk_cuda_msm *msm = part->msm[cuzk__lean_group(&p->k->query[c->id])];
    sorted_result *r = result_of(s, c);
    bool any = false;
    const void *scalars = h + (size_t)32 * c->first;
    const uint32_t *map = NULL;
    size_t n = c->n;
    if (c->id != CUZK__Q_H) {
        CUZK_TRY(queue_ones(p, s, c, data, err));
        CUZK_CUDA(
            cudaMemcpyAsync(r->counts, part->counts, 8, cudaMemcpyDeviceToHost, part->dev.stream));
        CUZK_CUDA(cudaStreamSynchronize(part->dev.stream));
        scalars = part->rest;
        map = part->map;
        n = r->counts[1];
    }
    cuzk__cuda_msm_set_bases(msm, data);
    CUZK_TRY(cuzk__cuda_msm_queue(msm, scalars, map, n, NULL, NULL, r + 1, &any, err));
    r->any = any;
    return CUZK_OK;
}

static cudaEvent_t query_event(const cuzk_gpu_slot *s, int id, int which) {
    return s->ev[CUZK__EV_LANE + 3 * id + which];
}

/* One chunk, for one proof. The bits of a query come before or after its full values; its times are
 * those of the kind that has more of it. */
static cuzk_status run_chunk(const pass *p, int kind, unsigned i, const cuzk__lean_chunk *c,
                             const char *data, cuzk_err *err) {
    const cuzk__lean *l = p->k->lean;
    cuzk_gpu_slot *s = l->waiting[i];
    const cudaStream_t stream = p->part->dev.stream;
    const bool timed = l->run[kind][c->id].n >= l->run[!kind][c->id].n;
    if (timed && c->first == l->run[kind][c->id].first)
        CUZK_CUDA(cudaEventRecord(query_event(s, c->id, 0), stream));
    CUZK_TRY(kind == CUZK__LEAN_FULL ? queue_full(p, s, l->scalars[i], c, data, err)
                                     : queue_ones(p, s, c, data, err));
    if (timed) CUZK_CUDA(cudaEventRecord(query_event(s, c->id, 2), stream));
    return CUZK_OK;
}

static cuzk_status run_pass(pass *p, int kind, cuzk_err *err) {
    cuzk__lean_part *part = p->part;
    CUZK_CUDA(cudaSetDevice(part->dev.ordinal));
    CUZK_TRY(copy_ahead(p, err));
    for (uint32_t i = 0; i < part->n; i++) {
        const char *data;
        int buffer;
        CUZK_TRY(begin_chunk(p, i, &data, &buffer, err));
        for (unsigned n = 0; n < p->k->lean->n_waiting; n++)
            CUZK_TRY(run_chunk(p, kind, n, &part->chunks[i], data, err));
        CUZK_TRY(end_chunk(p, buffer, err));
    }
    return CUZK_OK;
}

struct passes {
    pass of[CUZK__LEAN_KINDS];
    cuzk_status st[CUZK__LEAN_KINDS];
    cuzk_err err[CUZK__LEAN_KINDS];
};

/* Bits first: they never wait, so one thread can queue both. */
static void pass_task(void *ctx, size_t i) {
    passes *p = (passes *)ctx;
    const int kind = i == 0 ? CUZK__LEAN_BITS : CUZK__LEAN_FULL;
    p->st[kind] = run_pass(&p->of[kind], kind, &p->err[kind]);
}

/* The witness, as soon as it is there. */
static cuzk_status queue_witness(cuzk_gpu_slot *s, cuzk_err *err) {
    const cuzk_cuda *dev = backend_of(s)->work.main;
    CUZK_CUDA(cudaSetDevice(dev->ordinal));
    CUZK_CUDA(cudaStreamWaitEvent(dev->stream, s->ev[CUZK__EV_STAGED], 0));
    CUZK_TRY(cuzk__gpu_make_witness(s, err));
    CUZK_CUDA(cudaEventRecord(s->ev[CUZK__EV_WIRES], dev->stream));
    for (int id = 0; id < CUZK__QUERIES; id++) /* of queries without bases */
        for (int i = 0; i < 3; i += 2)
            CUZK_CUDA(cudaEventRecord(query_event(s, id, i), s->copy));
    return CUZK_OK;
}

/* Montgomery form for rows of compact systems, plain values for others; then plain for all, with
 * the scalars of H in the order of its bases, in their place. */
static cuzk_status queue_rows(cuzk_gpu_slot *s, char *scalars, cuzk_err *err) {
    cuzk_gpu_key *k = key_of(s);
    const cuzk_proving_key *key = k->base.key;
    const cuzk_curve_id curve = key->curve->id;
    const cuzk_cuda *dev = backend_of(s)->work.main;
    CUZK_CUDA(cudaEventRecord(s->ev[CUZK__EV_START], dev->stream));
    if (key->r1cs && !s->montgomery)
        CUZK_TRY(cuzk__vec_to_mont(dev, curve, s->full, s->full, key->n_full, err));
    if (!key->r1cs && s->montgomery)
        CUZK_TRY(cuzk__vec_from_mont(dev, curve, s->full, s->full, key->n_full, err));
    CUZK_TRY(cuzk__gpu_rows_and_quotient(s, err));
    if (key->r1cs) CUZK_TRY(cuzk__vec_from_mont(dev, curve, s->full, s->full, key->n_full, err));
    if (key->h_form != CUZK_H_COSET_VALUES)
        CUZK_TRY(cuzk__bit_reverse(dev, k->lean->abc, key->log2_domain, 2, err));
    if (scalars != k->lean->abc)
        CUZK_CUDA(cudaMemcpyAsync(scalars, k->lean->abc, (size_t)32 << key->log2_domain,
                                  cudaMemcpyDeviceToDevice, dev->stream));
    CUZK_CUDA(cudaEventRecord(s->ev[CUZK__EV_H], dev->stream));
    return CUZK_OK;
}

/* Rows of every proof that waits, then the pass. */
static cuzk_status queue_pass(cuzk_gpu_backend *b, cuzk_gpu_key *k, cuzk_err *err) {
    cuzk__lean *l = k->lean;
    cuzk__lean_part *full = &l->part[CUZK__LEAN_FULL], *bits = &l->part[CUZK__LEAN_BITS];
    CUZK_CUDA(cudaSetDevice(b->work.main->ordinal));
    /* the pass before still works where the vectors are */
    for (const cuzk__lean_part &part : l->part)
        CUZK_CUDA(cudaStreamWaitEvent(b->work.main->stream, part.end, 0));
    for (unsigned i = 0; i < l->n_waiting; i++) {
        CUZK_CUDA(cudaStreamWaitEvent(bits->dev.stream, l->waiting[i]->ev[CUZK__EV_WIRES], 0));
        CUZK_TRY(queue_rows(l->waiting[i], l->scalars[i], err));
        CUZK_CUDA(cudaStreamWaitEvent(full->dev.stream, l->waiting[i]->ev[CUZK__EV_H], 0));
    }
    passes p = {};
    for (int kind = 0; kind < CUZK__LEAN_KINDS; kind++) {
        p.of[kind].k = k;
        p.of[kind].part = &l->part[kind];
        p.of[kind].left = l->waiting[l->n_waiting - 1]->ev[CUZK__EV_H];
    }
    cuzk_pool_run(b->pool, CUZK__LEAN_KINDS, pass_task, &p);
    for (int kind = 0; kind < CUZK__LEAN_KINDS; kind++) {
        if (p.st[kind] == CUZK_OK) continue;
        if (err) *err = p.err[kind];
        return p.st[kind];
    }
    for (const cuzk__lean_part &part : l->part)
        CUZK_CUDA(cudaEventRecord(part.end, part.dev.stream));
    for (unsigned i = 0; i < l->n_waiting; i++) {
        cuzk_gpu_slot *s = l->waiting[i];
        const cudaEvent_t ends[2] = {s->ev[CUZK__EV_NTT1], s->ev[CUZK__EV_NTT2]};
        s->bytes_in += l->streamed / l->n_waiting + (i < l->streamed % l->n_waiting);
        s->bytes_out += l->results;
        CUZK_CUDA(cudaEventRecord(ends[0], full->dev.stream));
        CUZK_CUDA(cudaEventRecord(ends[1], bits->dev.stream));
        CUZK_TRY(cuzk__gpu_work_end(&b->work, k, ends, 2, &s->number, err));
    }
    return CUZK_OK;
}

static cuzk_status run_waiting(cuzk_gpu_backend *b, cuzk_gpu_key *k, cuzk_err *err) {
    cuzk__lean *l = k->lean;
    const cuzk_status st = queue_pass(b, k, err);
    for (unsigned i = 0; i < l->n_waiting; i++) {
        l->waiting[i]->lean_waits = false;
        l->waiting[i]->lean_failed = st != CUZK_OK;
    }
    l->n_waiting = 0;
    if (st == CUZK_OK) return CUZK_OK;
    for (const cuzk__lean_part &part : l->part) {
        (void)cudaStreamSynchronize(part.copy);
        (void)cudaStreamSynchronize(part.dev.stream);
    }
    (void)cudaStreamSynchronize(b->work.main->stream);
    return st;
}

cuzk_status cuzk__lean_queue(cuzk_gpu_slot *s, cuzk_err *err) {
    cuzk_gpu_key *k = key_of(s);
    cuzk__lean *l = k->lean;
    CUZK_TRY(queue_witness(s, err));
    s->lean_waits = true;
    s->lean_failed = false;
    l->waiting[l->n_waiting++] = s;
    return l->n_waiting == l->share ? run_waiting(backend_of(s), k, err) : CUZK_OK;
}

void cuzk__lean_forget(cuzk_gpu_slot *s) {
    cuzk__gpu_work *w = &backend_of(s)->work;
    cuzk__lean *l = key_of(s)->lean;
    (void)pthread_mutex_lock(&w->lock);
    if (s->lean_waits) {
        unsigned n = 0;
        for (unsigned i = 0; i < l->n_waiting; i++)
            if (l->waiting[i] != s) l->waiting[n++] = l->waiting[i];
        l->n_waiting = n;
        s->lean_waits = false;
        s->computed = false;
        (void)cudaEventSynchronize(s->ev[CUZK__EV_WIRES]);
    }
    (void)pthread_mutex_unlock(&w->lock);
}

/* Of one query: lists' sums lie side by side, sorted ones are added one by one. */
static void add_results(const cuzk_gpu_slot *s, int id, cuzk_point *out) {
    const cuzk_gpu_key *k = key_of(s);
    const cuzk__gpu_query *q = &k->query[id];
    const cuzk_group_ops *g = cuzk_curve_group(k->base.key->curve, q->group);
    cuzk_point more;
    memset(out, 0, sizeof *out);
    for (int kind = 0; kind < CUZK__LEAN_KINDS; kind++) {
        const cuzk__lean_part *part = &k->lean->part[kind];
        const cuzk__lean_run *r = &k->lean->run[kind][id];
        if (r->n == 0) continue;
        const uint32_t n = r->n / r->each + (r->n % r->each != 0);
        const cuzk__lean_chunk *c = &part->chunks[r->chunk];
        if (id != CUZK__Q_H) {
            q->ops->add_up(s->lean_results + c->sum, n, &more);
            g->add(out->b, out->b, more.b);
        }
        for (uint32_t i = 0; i < n && kind == CUZK__LEAN_FULL; i++) {
            const sorted_result *res = result_of(s, &c[i]);
            if (!res->any) continue;
            cuzk__cuda_msm_combine(part->msm[cuzk__lean_group(q)], res + 1, &more);
            g->add(out->b, out->b, more.b);
        }
    }
    cuzk_wipe(&more, sizeof more);
}

cuzk_status cuzk__lean_finish(cuzk_gpu_slot *s, cuzk_groth16_sums *out, cuzk_err *err) {
    cuzk_point *to[CUZK__QUERIES] = {&out->a, &out->b1, &out->b2, &out->l, &out->h};
    cuzk_gpu_backend *b = backend_of(s);
    cuzk_status st = CUZK_OK;
    (void)pthread_mutex_lock(&b->work.lock);
    if (s->lean_waits) st = run_waiting(b, key_of(s), err);
    (void)pthread_mutex_unlock(&b->work.lock);
    CUZK_TRY(st);
    if (s->lean_failed)
        return cuzk_err_set(err, CUZK_STATUS_BUG, "%s: the pass that this proof shared failed",
                            s->base.key->key->name);
    CUZK_CUDA(cudaEventSynchronize(s->ev[CUZK__EV_NTT1]));
    CUZK_CUDA(cudaEventSynchronize(s->ev[CUZK__EV_NTT2]));
    for (int id = 0; id < CUZK__QUERIES; id++)
        add_results(s, id, to[id]);
    return CUZK_OK;
}
