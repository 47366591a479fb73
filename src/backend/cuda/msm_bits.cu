/* Sums of chosen bases: plans and the sequence of launches. DESIGN
 *
 * CUB's select turns the bits into the numbers of the chosen bases, whose count stays on the
 * device; choose() (accumulate_chosen.cuh) adds them in levels, sum_points() the points that are
 * left. Nothing waits for the host, so that the sums of several plans queue one behind another. */
#include "backend/cuda/accumulate_chosen.cuh"
#include "backend/cuda/cub_room.h"
#include "backend/cuda/cuda_internal.h"
#include "backend/cuda/two_steps.cuh"

#include <cub/device/device_select.cuh>
#include <thrust/iterator/counting_iterator.h>

extern "C" {
#include "base/mem.h"
}

using cuzk_gpu::choose_args;

enum { BITS_LEVELS = 3, BITS_STAGGER = 20000 /* nanoseconds */ };
static const size_t BITS_MOST = 32; /* accumulators a thread */

/* Where things are in the scratch, and what a sum of at most n points needs. */
struct bits_layout {
    int grid, levels;
    size_t temp_bytes;
    size_t index, temp, acc, prefix, out[2], counts, partial, result, bytes;
};

struct cuzk_cuda_bits {
    cuzk_cuda *dev;
    const cuzk__cuda_group_ops *g;
    cuzk_cuda_bits_config config;
    bits_layout at;
    char *scratch;
    void *owned;
    void *host_result; /* pinned */
    cudaEvent_t done;
};

namespace {

struct chosen {
    const uint64_t *bits;
    const uint32_t *slots;
    __device__ bool operator()(uint32_t i) const {
        const uint32_t at = slots ? slots[i] : i;
        return bits[at / 64] >> (at % 64) & 1;
    }
};

cudaError_t select(void *temp, size_t *bytes, const chosen &which, uint32_t *out, uint32_t *count,
                   size_t n, cudaStream_t stream) {
    return cub::DeviceSelect::If(temp, *bytes, thrust::counting_iterator<uint32_t>(0), out, count,
                                 (int64_t)n, which, stream);
}

size_t place(bits_layout *l, size_t bytes) {
    const size_t at = l->bytes;
    l->bytes += (bytes + 255) & ~(size_t)255;
    return at;
}

/* A level leaves at most max(n / CHOOSE_ROUNDS, one a thread) points. */
cuzk_status lay_out(const cuzk_cuda *dev, const cuzk__cuda_group_ops *g,
                    const cuzk_cuda_bits_config *c, bits_layout *l, cuzk_err *err) {
    const size_t n = c->n;
    *l = {};
    l->grid = dev->info.sms * g->blocks(dev);
    const size_t threads = (size_t)(l->grid * g->threads), most = threads * BITS_MOST;
    size_t left = n;
    size_t room[2] = {0, 0};
    while (l->levels < BITS_LEVELS && (l->levels == 0 || left > threads)) {
        size_t next = left / cuzk_gpu::CHOOSE_ROUNDS;
        next = next > most ? most : next;
        next = next < threads ? threads : next;
        left = next < left ? next : left;
        if (room[l->levels & 1] < left) room[l->levels & 1] = left;
        l->levels++;
    }
    const size_t each = n / (threads * cuzk_gpu::CHOOSE_ROUNDS);
    const size_t accumulators = threads * (each < 1 ? 1 : each > BITS_MOST ? BITS_MOST : each);
    if (c->lists)
        l->temp_bytes = 0;
    else if (dev->ordinal == CUZK__NO_DEVICE)
        l->temp_bytes = cuzk__cub_scan_room(n);
    else
        CUZK_CUDA(select(NULL, &l->temp_bytes, chosen{}, NULL, NULL, n, 0));
    l->index = place(l, c->lists ? 0 : n * 4);
    l->temp = place(l, l->temp_bytes);
    l->acc = place(l, accumulators * g->point_bytes);
    l->prefix = place(l, accumulators * g->point_bytes / 2);
    for (int i = 0; i < 2; i++)
        l->out[i] = place(l, room[i] * g->point_bytes);
    l->counts = place(l, (BITS_LEVELS + 1) * 4);
    l->partial = place(l, CUZK__SUM_PARTIALS * g->xyzz_bytes);
    l->result = place(l, 2 * g->xyzz_bytes);
    return CUZK_OK;
}

} // namespace

size_t cuzk_cuda_bits_scratch(const cuzk_cuda *dev, const cuzk_cuda_bits_config *c) {
    bits_layout l;
    cuzk_err err = {};
    if (lay_out(dev, cuzk__cuda_group(c->curve, c->group), c, &l, &err) != CUZK_OK) return 0;
    return l.bytes;
}

cuzk_status cuzk_cuda_bits_new(cuzk_cuda_bits **out, cuzk_cuda *dev, const cuzk_cuda_bits_config *c,
                               cuzk_err *err) {
    *out = NULL;
    if (c->n == 0 || c->n >> 31)
        return cuzk_err_set(err, CUZK_STATUS_USAGE, "sum of %zu bases", c->n);
    void *mem;
    CUZK_TRY(cuzk_alloc(&mem, 1, sizeof(cuzk_cuda_bits)));
    cuzk_cuda_bits *p = (cuzk_cuda_bits *)mem;
    cuzk_status st;
    p->dev = dev;
    p->g = cuzk__cuda_group(c->curve, c->group);
    p->config = *c;
    CUZK_TRY_GOTO(p->g->prepare(dev, err), fail);
    CUZK_TRY_GOTO(lay_out(dev, p->g, c, &p->at, err), fail);
    if (!c->scratch) CUZK_TRY_GOTO(cuzk_cuda_alloc(dev, &p->owned, p->at.bytes, err), fail);
    p->scratch = (char *)(c->scratch ? c->scratch : p->owned);
    CUZK_CUDA_GOTO(cudaMallocHost(&p->host_result, p->g->xyzz_bytes), fail);
    CUZK_CUDA_GOTO(cudaEventCreateWithFlags(&p->done, cudaEventDisableTiming), fail);
    *out = p;
    return CUZK_OK;
fail:
    cuzk_cuda_bits_free(p);
    return st;
}

void cuzk_cuda_bits_free(cuzk_cuda_bits *p) {
    if (!p) return;
    cuzk_cuda_free(p->dev, p->owned);
    if (p->host_result) (void)cudaFreeHost(p->host_result);
    if (p->done) (void)cudaEventDestroy(p->done);
    cuzk_free(p);
}

cuzk_status cuzk_cuda_bits_queue(cuzk_cuda_bits *p, const uint64_t *bits, cuzk_err *err) {
    if (p->config.lists)
        return cuzk_err_set(err, CUZK_STATUS_USAGE, "a plan for lists does not choose by bits");
    uint32_t *index = (uint32_t *)(p->scratch + p->at.index);
    uint32_t *counts = (uint32_t *)(p->scratch + p->at.counts);
    const chosen which = {bits, p->config.slots};
    size_t temp = p->at.temp_bytes;
    CUZK_CUDA(
        select(p->scratch + p->at.temp, &temp, which, index, counts, p->config.n, p->dev->stream));
    return cuzk_cuda_bits_queue_list(p, index, counts, err);
}

cuzk_status cuzk_cuda_bits_queue_list(cuzk_cuda_bits *p, const uint32_t *index,
                                      const uint32_t *count, cuzk_err *err) {
    return cuzk__cuda_bits_queue_list(p, index, count, p->host_result, err);
}

cuzk_status cuzk__cuda_bits_queue_list(cuzk_cuda_bits *p, const uint32_t *index,
                                       const uint32_t *count, void *result, cuzk_err *err) {
    const cuzk_cuda *dev = p->dev;
    const bits_layout *l = &p->at;
    uint32_t *counts = (uint32_t *)(p->scratch + l->counts);
    CUZK_CUDA(cudaMemsetAsync(dev->counters, 0, BITS_LEVELS * sizeof(unsigned), dev->stream));
    const void *points = p->config.bases;
    for (int i = 0; i < l->levels; i++) {
        choose_args a = {};
        a.points = (const uint4 *)points;
        a.index = i == 0 ? index : NULL;
        a.count = i == 0 ? count : counts + i;
        a.out = (uint4 *)(p->scratch + l->out[i & 1]);
        a.out_count = counts + i + 1;
        a.acc = (uint4 *)(p->scratch + l->acc);
        a.prefix = (uint4 *)(p->scratch + l->prefix);
        a.counter = dev->counters + i;
        a.most = (int)BITS_MOST;
        a.sms = dev->info.sms;
        a.stagger = BITS_STAGGER;
        CUZK_TRY(p->g->choose(dev, &a, l->grid, err));
        points = a.out;
    }
    const size_t threads = (size_t)(l->grid * p->g->threads);
    CUZK_TRY(p->g->sum_points(dev, points, counts + l->levels,
                              p->config.n < threads ? p->config.n : threads,
                              p->scratch + l->partial, p->scratch + l->result, err));
    CUZK_CUDA(cudaMemcpyAsync(result, p->scratch + l->result, p->g->xyzz_bytes,
                              cudaMemcpyDeviceToHost, dev->stream));
    CUZK_CUDA(cudaEventRecord(p->done, dev->stream));
    return CUZK_OK;
}

cuzk_status cuzk_cuda_bits_finish(cuzk_cuda_bits *p, cuzk_point *out, cuzk_err *err) {
    CUZK_CUDA(cudaEventSynchronize(p->done));
    cuzk__cuda_bits_combine(p->g, p->host_result, out);
    return CUZK_OK;
}

void cuzk__cuda_bits_set_bases(cuzk_cuda_bits *p, const void *bases) {
    p->config.bases = bases;
}

void cuzk__cuda_bits_combine(const cuzk__cuda_group_ops *g, const void *result, cuzk_point *out) {
    /* one set, no doublings: the plain sum to affine form */
    g->combine(result, 1, 1, 0, out);
}
