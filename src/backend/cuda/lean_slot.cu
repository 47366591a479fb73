/* One proof with a key that is streamed (lean.cuh). */
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

/* A pass over the chunks of one kind. */
struct pass {
    cuzk_gpu_slot *s;
    const cuzk_gpu_key *k;
    cuzk__lean_part *part;
    uint32_t ahead;    /* chunks whose copies are queued */
    uint32_t streamed; /* of those, how many are not resident: the next one's buffer */
    uint32_t used;     /* buffers that have been given free again */
};

static bool stays(const pass *p, uint32_t i) {
    return p->part->chunks[i].device != NULL;
}

/* Queues copies while there are buffers whose last use is queued. */
static cuzk_status copy_ahead(pass *p, cuzk_err *err) {
    cuzk__lean_part *part = p->part;
    for (; p->ahead < part->n; p->ahead++) {
        const cuzk__lean_chunk *c = &part->chunks[p->ahead];
        if (c->device) continue;
        if (p->streamed - p->used >= part->buffers) return CUZK_OK;
        const unsigned b = p->streamed++ % part->buffers;
        CUZK_CUDA(cudaStreamWaitEvent(part->copy, part->free[b], 0));
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
    *buffer = (int)(p->used % part->buffers);
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
static cuzk_status queue_ones(const pass *p, const cuzk__lean_chunk *c, const char *data,
                              cuzk_err *err) {
    const cuzk__lean_part *part = p->part;
    const cuzk__gpu_query *q = &p->k->query[c->id];
    const uint32_t left = q->n_full > c->first ? q->n_full - c->first : 0;
    const cuzk__choice choice = {(const uint4 *)p->s->full,
                                 (const uint32_t *)p->s->bits,
                                 (const uint32_t *)(data + c->slots_at),
                                 left < c->n ? left : c->n,
                                 c->n,
                                 part->counts,
                                 part->list};
    CUZK_CUDA(cudaMemsetAsync(part->counts, 0, 8, part->dev.stream));
    CUZK_TRY(cuzk__choose_ones(&part->dev, &choice, (uint4 *)part->rest, part->map, err));
    cuzk__cuda_bits_set_bases(part->many[cuzk__lean_group(q)], data);
    return cuzk__cuda_bits_queue_list(part->many[cuzk__lean_group(q)], part->list, part->counts,
                                      p->s->lean_results + c->sum, err);
}

/* Header of a sorted sum's result. */
struct alignas(16) sorted_result {
    uint32_t counts[2]; /* of ones, and of what was sorted */
    uint32_t any;
};

static sorted_result *result_of(const cuzk_gpu_slot *s, const cuzk__lean_chunk *c) {
    return (sorted_result *)(s->lean_results + c->sorted);
}

static cuzk_status queue_full(pass *p, const cuzk__lean_chunk *c, const char *data, cuzk_err *err) {
    const cuzk__lean_part *part = p->part;
    cuzk_cuda_msm *msm = part->msm[cuzk__lean_group(&p->k->query[c->id])];
    sorted_result *r = result_of(p->s, c);
    bool any = false;
    const void *scalars = p->k->lean->abc + (size_t)32 * c->first;
    const uint32_t *map = NULL;
    size_t n = c->n;
    if (c->id != CUZK__Q_H) {
        CUZK_TRY(queue_ones(p, c, data, err));
        CUZK_CUDA(
            cudaMemcpyAsync(r->counts, part->counts, 8, cudaMemcpyDeviceToHost, part->dev.stream));
        CUZK_CUDA(cudaStreamSynchronize(part->dev.stream));
        scalars = part->rest;
        map = part->map;
        n = r->counts[1];
    }
    cuzk__cuda_msm_set_bases(msm, data);
    CUZK_TRY(cuzk__cuda_msm_queue(msm, scalars, map, n, NULL, r + 1, &any, err));
    r->any = any;
    return CUZK_OK;
}

static cudaEvent_t query_event(const cuzk_gpu_slot *s, int id, int which) {
    return s->ev[CUZK__EV_LANE + 3 * id + which];
}

/* Everything of one kind, chunk by chunk. The bits of a query come before or after its full values;
 * its times are those of the kind that has more of it. */
static cuzk_status run_pass(pass *p, int kind, cuzk_err *err) {
    const cuzk__lean *l = p->k->lean;
    cuzk__lean_part *part = p->part;
    CUZK_CUDA(cudaSetDevice(part->dev.ordinal));
    CUZK_TRY(copy_ahead(p, err));
    for (uint32_t i = 0; i < part->n; i++) {
        const cuzk__lean_chunk *c = &part->chunks[i];
        const char *data;
        int buffer;
        const bool timed = l->run[kind][c->id].n >= l->run[!kind][c->id].n;
        CUZK_TRY(begin_chunk(p, i, &data, &buffer, err));
        if (timed && c->first == l->run[kind][c->id].first)
            CUZK_CUDA(cudaEventRecord(query_event(p->s, c->id, 0), part->dev.stream));
        CUZK_TRY(kind == CUZK__LEAN_FULL ? queue_full(p, c, data, err)
                                         : queue_ones(p, c, data, err));
        if (timed) CUZK_CUDA(cudaEventRecord(query_event(p->s, c->id, 2), part->dev.stream));
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

/* Montgomery form for rows of compact systems, plain values for others; then plain for all, with
 * the scalars of H in the order of its bases. */
static cuzk_status queue_rows(cuzk_gpu_slot *s, cuzk_err *err) {
    cuzk_gpu_key *k = key_of(s);
    const cuzk_proving_key *key = k->base.key;
    const cuzk_curve_id curve = key->curve->id;
    const cuzk_cuda *dev = backend_of(s)->work.main;
    CUZK_CUDA(cudaStreamWaitEvent(dev->stream, s->ev[CUZK__EV_STAGED], 0));
    CUZK_TRY(cuzk__gpu_make_witness(s, err));
    CUZK_CUDA(cudaEventRecord(s->ev[CUZK__EV_START], dev->stream));
    CUZK_CUDA(cudaEventRecord(s->ev[CUZK__EV_WIRES], dev->stream));
    if (key->r1cs && !s->montgomery)
        CUZK_TRY(cuzk__vec_to_mont(dev, curve, s->full, s->full, key->n_full, err));
    if (!key->r1cs && s->montgomery)
        CUZK_TRY(cuzk__vec_from_mont(dev, curve, s->full, s->full, key->n_full, err));
    CUZK_TRY(cuzk__gpu_rows_and_quotient(s, err));
    if (key->r1cs) CUZK_TRY(cuzk__vec_from_mont(dev, curve, s->full, s->full, key->n_full, err));
    if (key->h_form != CUZK_H_COSET_VALUES)
        CUZK_TRY(cuzk__bit_reverse(dev, k->lean->abc, key->log2_domain, 2, err));
    CUZK_CUDA(cudaEventRecord(s->ev[CUZK__EV_H], dev->stream));
    return CUZK_OK;
}

cuzk_status cuzk__lean_queue(cuzk_gpu_slot *s, cuzk_err *err) {
    cuzk_gpu_key *k = key_of(s);
    cuzk__lean *l = k->lean;
    cuzk__gpu_work *w = &backend_of(s)->work;
    cuzk__lean_part *full = &l->part[CUZK__LEAN_FULL], *bits = &l->part[CUZK__LEAN_BITS];
    CUZK_CUDA(cudaSetDevice(w->main->ordinal));
    for (int id = 0; id < CUZK__QUERIES; id++) /* of queries without bases */
        for (int i = 0; i < 3; i += 2)
            CUZK_CUDA(cudaEventRecord(query_event(s, id, i), s->copy));
    CUZK_TRY(queue_rows(s, err));
    CUZK_CUDA(cudaStreamWaitEvent(bits->dev.stream, s->ev[CUZK__EV_WIRES], 0));
    passes p = {};
    for (int kind = 0; kind < CUZK__LEAN_KINDS; kind++) {
        p.of[kind].s = s;
        p.of[kind].k = k;
        p.of[kind].part = &l->part[kind];
    }
    cuzk_pool_run(backend_of(s)->pool, CUZK__LEAN_KINDS, pass_task, &p);
    for (int kind = 0; kind < CUZK__LEAN_KINDS; kind++) {
        if (p.st[kind] == CUZK_OK) continue;
        if (err) *err = p.err[kind];
        (void)cudaStreamSynchronize(full->copy);
        (void)cudaStreamSynchronize(bits->copy);
        return p.st[kind];
    }
    s->bytes_in += l->streamed;
    s->bytes_out += l->results;
    const cudaEvent_t ends[2] = {s->ev[CUZK__EV_NTT1], s->ev[CUZK__EV_NTT2]};
    CUZK_CUDA(cudaEventRecord(ends[0], full->dev.stream));
    CUZK_CUDA(cudaEventRecord(ends[1], bits->dev.stream));
    return cuzk__gpu_work_end(w, k, ends, 2, &s->number, err);
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
    CUZK_CUDA(cudaEventSynchronize(s->ev[CUZK__EV_NTT1]));
    CUZK_CUDA(cudaEventSynchronize(s->ev[CUZK__EV_NTT2]));
    for (int id = 0; id < CUZK__QUERIES; id++)
        add_results(s, id, to[id]);
    return CUZK_OK;
}
