/* Loading a key that is streamed: its chunks in pinned memory of the host, and on the device what
 * stays there. */
#include "backend/cuda/lean.cuh"
#include "backend/cuda/ntt_small.h"

extern "C" {
#include "backend/cuda/base_scan.h"
#include "base/hostmem.h"
#include "base/mem.h"
}

#include <string.h>

/* ---- where bases come from ---- */

/* An array of bases of the key. */
enum { SOURCES = 2 * CUZK__QUERIES };
struct source {
    const cuzk_gpu_key *k;
    int id;
    cuzk__base_scan scan;  /* of what there are; zeroed: none */
    const uint32_t *slots; /* the value of each; NULL: first_slot + i */
    size_t first_slot, limit;
    uint32_t flag;  /* in the places */
    uint32_t index; /* of the query's finite bases, the number of the first */
    size_t bad;     /* a base without a value; SIZE_MAX: none. Atomic. */
};

/* A query's two sources, and its counts. */
static cuzk_status scan_query(source s[2], cuzk_gpu_key *k, int id, const cuzk_query *q,
                              cuzk_pool *pool, cuzk_err *err) {
    const cuzk_proving_key *key = k->base.key;
    cuzk__gpu_query *to = &k->query[id];
    if (q->n_full + q->n_bits + 1 >= UINT32_MAX / 2)
        return cuzk_err_set(err, CUZK_STATUS_BAD_INPUT, "%s: %zu bases are too many", key->name,
                            q->n_full + q->n_bits);
    const size_t size = key->logs ? sizeof(cuzk_u256) : to->ops->point_bytes;
    for (int i = 0; i < 2; i++) {
        s[i].k = k;
        s[i].id = id;
        s[i].slots = i ? q->bit_slots : q->full_slots;
        s[i].first_slot = q->first_full;
        s[i].limit = i ? key->n_bits : key->n_full;
        s[i].flag = i ? (uint32_t)CUZK__SLOT_BIT : 0;
        s[i].index = i ? cuzk__base_scan_kept(&s[0].scan) : 0;
        s[i].bad = SIZE_MAX;
        CUZK_TRY(cuzk__base_scan_init(&s[i].scan, i ? q->bit_bases : q->full_bases,
                                      i ? q->n_bits : q->n_full, size, false, pool, err));
    }
    const bool one = q->one_base && !cuzk__base_is_infinity(q->one_base, size);
    to->n_full = cuzk__base_scan_kept(&s[0].scan);
    to->n = to->n_full + cuzk__base_scan_kept(&s[1].scan) + one;
    return CUZK_OK;
}

/* H's bases as they are: an infinity does no harm there. */
static cuzk_status scan_h(source *s, cuzk_gpu_key *k, cuzk_pool *pool, cuzk_err *err) {
    const cuzk_proving_key *key = k->base.key;
    const size_t domain = (size_t)1 << key->log2_domain;
    s->k = k;
    s->id = CUZK__Q_H;
    const size_t size = key->logs ? sizeof(cuzk_u256) : k->query[CUZK__Q_H].ops->point_bytes;
    s->limit = s->bad = SIZE_MAX;
    k->query[CUZK__Q_H].n = k->query[CUZK__Q_H].n_full = (uint32_t)domain;
    return cuzk__base_scan_init(&s->scan, key->h, domain - (key->h_form == CUZK_H_COEFFICIENTS),
                                size, true, pool, err);
}

static cuzk_status scan_key(source s[SOURCES], cuzk_gpu_backend *b, cuzk_gpu_key *k,
                            cuzk_err *err) {
    const cuzk_proving_key *key = k->base.key;
    const cuzk_query *from[CUZK__QUERIES] = {&key->a, &key->b1, &key->b2, &key->l, NULL};
    for (int id = 0; id < CUZK__QUERIES; id++) {
        if (from[id])
            CUZK_TRY(scan_query(&s[2 * id], k, id, from[id], b->pool, err));
        else
            CUZK_TRY(scan_h(&s[2 * id], k, b->pool, err));
    }
    return CUZK_OK;
}

static void free_sources(source s[SOURCES]) {
    for (int i = 0; i < SOURCES; i++)
        cuzk__base_scan_fini(&s[i].scan);
}

cuzk_status cuzk__lean_count(cuzk_gpu_backend *b, cuzk_gpu_key *k, cuzk_err *err) {
    source s[SOURCES] = {};
    const cuzk_status st = scan_key(s, b, k, err);
    free_sources(s);
    return st;
}

/* ---- to the host's chunks ---- */

/* Places, and points where the key has points. */
static void place_block(void *ctx, size_t block) {
    source *s = (source *)ctx;
    const cuzk__base_scan *c = &s->scan;
    uint32_t index = s->index + c->before[block];
    for (size_t i = block * CUZK__SCAN_BLOCK; i < cuzk__base_scan_end(c, block); i++) {
        if (!cuzk__base_scan_keeps(c, i)) continue;
        if (!s->k->base.key->logs)
            memcpy(cuzk__lean_point(s->k, s->id, index, NULL), c->bases + i * c->size, c->size);
        if (s->id != CUZK__Q_H) {
            const size_t slot = s->slots ? s->slots[i] : s->first_slot + i;
            if (slot >= s->limit) __atomic_store_n(&s->bad, i, __ATOMIC_RELAXED);
            *cuzk__lean_slot(s->k, s->id, index) = (uint32_t)slot | s->flag;
        }
        index++;
    }
}

/* Where logarithms are multiplied out. */
struct multiplier {
    cuzk_gpu_backend *b;
    const cuzk_gpu_key *k;
    void *points; /* device: as many as a part of the ring holds scalars */
};

/* n logarithms in the ring's part that was taken last, to the chunks from base `index` on. */
static cuzk_status multiply(const multiplier *m, int id, uint32_t index, uint32_t n,
                            cuzk_err *err) {
    const cuzk__gpu_query *q = &m->k->query[id], *comb = &m->k->logs->comb[cuzk__lean_group(q)];
    const cuzk_cuda *dev = m->b->dev;
    const size_t size = q->ops->point_bytes;
    CUZK_TRY(cuzk__ring_send(m->b, m->k->logs->scalars, n * sizeof(cuzk_u256), err));
    CUZK_TRY(q->ops->fixed_base(dev, comb->points, comb->window, comb->windows, m->k->logs->scalars,
                                m->points, n, err));
    for (uint32_t done = 0, run; done < n; done += run) {
        char *to = cuzk__lean_point(m->k, id, index + done, &run);
        if (run > n - done) run = n - done;
        CUZK_CUDA(cudaMemcpyAsync(to, (const char *)m->points + done * size, run * size,
                                  cudaMemcpyDeviceToHost, dev->stream));
    }
    return CUZK_OK;
}

static cuzk_status multiply_source(const multiplier *m, const source *s, cuzk_err *err) {
    const cuzk__base_scan *c = &s->scan;
    const uint32_t room = CUZK__RING_BYTES / sizeof(cuzk_u256);
    static_assert(CUZK__RING_BYTES / sizeof(cuzk_u256) >= CUZK__SCAN_BLOCK,
                  "a block has room in the ring");
    for (size_t first = 0, end; first < c->blocks; first = end) {
        char *part;
        end = cuzk__base_scan_span(c, first, room);
        CUZK_TRY(cuzk__ring_take(m->b, &part, err));
        cuzk__base_scan_copy(c, first, end, part, m->b->pool);
        const uint32_t n = c->before[end] - c->before[first];
        if (n) CUZK_TRY(multiply(m, s->id, s->index + c->before[first], n, err));
    }
    return CUZK_OK;
}

static cuzk_status put_one(cuzk_gpu_key *k, const multiplier *m, int id, const cuzk_query *q,
                           const source *bits, cuzk_err *err) {
    const uint32_t index = bits->index + cuzk__base_scan_kept(&bits->scan);
    char *part;
    if (index == k->query[id].n) return CUZK_OK;
    *cuzk__lean_slot(k, id, index) = CUZK__SLOT_ONE;
    if (!k->base.key->logs) {
        memcpy(cuzk__lean_point(k, id, index, NULL), q->one_base, bits->scan.size);
        return CUZK_OK;
    }
    CUZK_TRY(cuzk__ring_take(m->b, &part, err));
    memcpy(part, q->one_base, bits->scan.size);
    return multiply(m, id, index, 1, err);
}

static cuzk_status fill(source s[SOURCES], const multiplier *m, cuzk_gpu_key *k, cuzk_err *err) {
    const cuzk_proving_key *key = k->base.key;
    const cuzk_query *from[CUZK__QUERIES] = {&key->a, &key->b1, &key->b2, &key->l, NULL};
    for (int i = 0; i < SOURCES; i++) {
        if (!s[i].scan.before) continue; /* H has one */
        cuzk_pool_run(m->b->pool, s[i].scan.blocks, place_block, &s[i]);
        if (s[i].bad != SIZE_MAX)
            return cuzk_err_set(err, CUZK_STATUS_BAD_INPUT, "%s: base %zu: no such %s", key->name,
                                s[i].bad, s[i].flag ? "bit" : "value");
        if (key->logs) CUZK_TRY(multiply_source(m, &s[i], err));
        if (i % 2 == 1 && from[i / 2]) CUZK_TRY(put_one(k, m, i / 2, from[i / 2], &s[i], err));
    }
    return cuzk_cuda_sync(m->b->dev, err);
}

/* ---- memory ---- */

static void touch(void *ctx, size_t begin, size_t end) {
    char *p = (char *)ctx;
    for (size_t i = begin; i < end; i += 4096)
        *(volatile char *)(p + i) = 0;
}

/* Pages first, by all threads: to register memory that is there takes little. */
static cuzk_status take_host(cuzk_gpu_backend *b, cuzk__lean *l, const char *name, cuzk_err *err) {
    enum { SHARE = 16 << 20 };
    void *mem;
    char why[CUZK_HOSTMEM_WHY];
    uint64_t limit;
    CUZK_TRY(cuzk_hostmem_limit("/", &limit, why, err));
    if (l->host_bytes > limit || cuzk_big_alloc(&mem, l->host_bytes ? l->host_bytes : 1) != CUZK_OK)
        return cuzk_err_set(err, CUZK_STATUS_NO_MEMORY,
                            "%s: the host needs %zu bytes for bases that are streamed (%s)", name,
                            l->host_bytes, why);
    l->host = (char *)mem;
    cuzk_pool_run_ranges(b->pool, l->host_bytes, SHARE, 64, touch, l->host);
    const cudaError_t e =
        cudaHostRegister(l->host, l->host_bytes ? l->host_bytes : 1, cudaHostRegisterDefault);
    l->registered = e == cudaSuccess;
    CUZK_CUDA(e);
    return CUZK_OK;
}

static void give_back_host(cuzk__lean *l) {
    if (l->registered) (void)cudaHostUnregister(l->host);
    if (l->host) cuzk_big_free(l->host, l->host_bytes ? l->host_bytes : 1);
    l->registered = false;
    l->host = NULL;
}

static cuzk_status open_part(cuzk__lean_part *part, const cuzk_cuda *dev, cuzk__arena *arena,
                             cuzk_err *err) {
    part->dev = *dev;
    part->dev.arena = arena;
    CUZK_CUDA(cudaStreamCreateWithFlags(&part->copy, cudaStreamNonBlocking));
    for (unsigned i = 0; i < CUZK__LEAN_BUFFERS; i++) {
        CUZK_CUDA(cudaEventCreateWithFlags(&part->ready[i], cudaEventDisableTiming));
        CUZK_CUDA(cudaEventCreateWithFlags(&part->free[i], cudaEventDisableTiming));
    }
    CUZK_CUDA(cudaEventCreateWithFlags(&part->end, cudaEventDisableTiming));
    return CUZK_OK;
}

/* A stream before all others. */
static cuzk_status open_bits(cuzk__lean *l, const cuzk_cuda *dev, cuzk_err *err) {
    int least, greatest;
    CUZK_TRY(cuzk__cuda_open_lane(&l->bits, dev, true, err));
    CUZK_CUDA(cudaDeviceGetStreamPriorityRange(&least, &greatest));
    CUZK_CUDA(cudaStreamDestroy(l->bits->stream));
    l->bits->stream = NULL;
    CUZK_CUDA(cudaStreamCreateWithPriority(&l->bits->stream, cudaStreamNonBlocking, greatest));
    return CUZK_OK;
}

static cuzk_status take_device(cuzk_gpu_backend *b, cuzk_gpu_key *k, cuzk_err *err) {
    cuzk__lean *l = k->lean;
    const cudaStream_t stream = b->dev->stream;
    CUZK_TRY(open_bits(l, b->dev, err));
    CUZK_TRY(open_part(&l->part[CUZK__LEAN_FULL], b->work.lane[CUZK__Q_H], &l->arena, err));
    CUZK_TRY(open_part(&l->part[CUZK__LEAN_BITS], l->bits, &l->arena, err));
    void *mem;
    CUZK_TRY(cuzk_cuda_alloc(b->dev, &mem, l->arena.size, err));
    l->arena.base = (char *)mem;
    CUZK_CUDA(cudaMemsetAsync(mem, 0, l->arena.size, stream));
    CUZK_TRY(cuzk_cuda_sync(b->dev, err));
    CUZK_TRY(cuzk__lean_lay_out(k, err));
    for (const cuzk__lean_part &part : l->part) {
        for (uint32_t i = 0; i < part.n; i++) {
            const cuzk__lean_chunk *c = &part.chunks[i];
            if (!c->device) continue;
            CUZK_CUDA(cudaMemcpyAsync(c->device, l->host + c->at, c->bytes, cudaMemcpyHostToDevice,
                                      stream));
        }
    }
    CUZK_TRY(cuzk_cuda_sync(b->dev, err));
    if (l->streamed == 0) give_back_host(l);
    return CUZK_OK;
}

static cuzk_status load_transforms(cuzk_gpu_backend *b, cuzk_gpu_key *k, cuzk_err *err) {
    return cuzk__gpu_load_transforms(
        b, k, cuzk__gpu_transform_dirs(b->dev, k->base.key, k->lean->small), err);
}

/* Where nothing is taken: from the counts. */
static cuzk_status plan(cuzk_gpu_backend *b, cuzk_gpu_key *k, size_t room, size_t held,
                        cuzk_err *err) {
    void *mem;
    k->lean->link = b->link;
    CUZK_TRY(cuzk__lean_plan(k, b->dev, room, held, b->chunk, b->share, err));
    CUZK_TRY(load_transforms(b, k, err));
    return cuzk_cuda_alloc(b->dev, &mem, k->lean->arena.size, err);
}

static void note_bytes(cuzk_gpu_key *k) {
    const cuzk__lean *l = k->lean;
    k->bytes.points = l->resident;
    k->bytes.work = l->arena.size - l->resident;
    k->bytes.streamed = l->streamed;
    k->bytes.host = l->streamed ? l->host_bytes : 0;
}

/* Nanoseconds a byte from pinned memory, through the ring. */
static cuzk_status measure_link(cuzk_gpu_backend *b, double *ns, cuzk_err *err) {
    enum { RUNS = 32 };
    cuzk_status st;
    float ms;
    void *to;
    CUZK_TRY(cuzk_cuda_sync(b->dev, err));
    CUZK_TRY(cuzk_cuda_alloc(b->dev, &to, CUZK__RING_BYTES, err));
    for (int i = -1; i < RUNS; i++) {
        if (i == 0) CUZK_TRY_GOTO(cuzk_cuda_mark(b->dev, 0, err), done);
        CUZK_CUDA_GOTO(cudaMemcpyAsync(to, b->ring.part[0], CUZK__RING_BYTES,
                                       cudaMemcpyHostToDevice, b->dev->stream),
                       done);
    }
    CUZK_TRY_GOTO(cuzk_cuda_mark(b->dev, 1, err), done);
    CUZK_TRY_GOTO(cuzk_cuda_elapsed(b->dev, 0, 1, &ms, err), done);
    *ns = 1e6 * (double)ms * b->link_copies / ((double)RUNS * CUZK__RING_BYTES);
done:
    (void)cudaStreamSynchronize(b->dev->stream);
    cuzk_cuda_free(b->dev, to);
    return st;
}

static cuzk_status load(source s[SOURCES], cuzk_gpu_backend *b, cuzk_gpu_key *k, size_t room,
                        size_t held, cuzk_err *err) {
    cuzk__lean *l = k->lean;
    multiplier m = {b, k, NULL};
    cuzk_status st;
    CUZK_TRY(scan_key(s, b, k, err));
    for (const cuzk__gpu_query &q : k->query)
        CUZK_TRY(q.ops->prepare(b->dev, err));
    CUZK_TRY(measure_link(b, &l->link, err));
    CUZK_TRY(cuzk__lean_plan(k, b->dev, room, held, b->chunk, b->share, err));
    CUZK_TRY(take_host(b, l, k->base.key->name, err));
    if (k->base.key->logs) {
        const size_t most = CUZK__RING_BYTES / sizeof(cuzk_u256) * CUZK_POINT_MAX;
        CUZK_TRY(cuzk_cuda_alloc(b->dev, &m.points, most, err));
    }
    st = fill(s, &m, k, err);
    if (st != CUZK_OK) (void)cudaStreamSynchronize(b->dev->stream);
    cuzk_cuda_free(b->dev, m.points);
    CUZK_TRY(st);
    CUZK_TRY(load_transforms(b, k, err));
    CUZK_TRY(take_device(b, k, err));
    k->view.abc = l->abc;
    k->view.ready = true;
    return CUZK_OK;
}

cuzk_status cuzk__lean_load(cuzk_gpu_backend *b, cuzk_gpu_key *k, size_t room, size_t held,
                            cuzk_err *err) {
    source s[SOURCES] = {};
    void *mem;
    CUZK_TRY(cuzk_alloc(&mem, 1, sizeof(cuzk__lean)));
    k->lean = (cuzk__lean *)mem;
    const cuzk_status st =
        cuzk__measures(b->dev) ? plan(b, k, room, held, err) : load(s, b, k, room, held, err);
    if (st == CUZK_OK) note_bytes(k);
    free_sources(s);
    return st;
}

void cuzk__lean_free(cuzk_gpu_backend *b, cuzk_gpu_key *k) {
    cuzk__lean *l = k->lean;
    if (!l) return;
    for (cuzk__lean_part &part : l->part) {
        if (!part.copy) continue;
        (void)cudaStreamSynchronize(part.copy);
        (void)cudaStreamSynchronize(part.dev.stream);
    }
    cuzk__lean_clear(l);
    for (cuzk__lean_part &part : l->part) {
        for (unsigned i = 0; i < CUZK__LEAN_BUFFERS; i++) {
            if (part.ready[i]) (void)cudaEventDestroy(part.ready[i]);
            if (part.free[i]) (void)cudaEventDestroy(part.free[i]);
        }
        if (part.end) (void)cudaEventDestroy(part.end);
        if (part.copy) (void)cudaStreamDestroy(part.copy);
    }
    cuzk_cuda_close(l->bits);
    if (l->arena.base) {
        (void)cudaMemsetAsync(l->arena.base, 0, l->arena.size, b->dev->stream);
        (void)cudaStreamSynchronize(b->dev->stream);
        cuzk_cuda_free(b->dev, l->arena.base);
    }
    give_back_host(l);
    cuzk_free(l);
    k->lean = NULL;
}
