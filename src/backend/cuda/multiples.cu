/* Multiples of a generator: batches take turns on two streams, so that one's copies run beside the
 * other's additions. */
#include "backend/cuda/prover.cuh"

extern "C" {
#include "base/mem.h"
}

#include <string.h>

namespace {

enum { DEPTH = 2 };

struct turn {
    cuzk_cuda *dev;
    cudaEvent_t begin, end;
    cuzk_u256 *scalars; /* pinned */
    char *points;       /* pinned */
    void *d_scalars, *d_points;
};

struct multiples {
    cuzk_multiples base;
    cuzk_gpu_backend *b;
    cuzk__gpu_query comb;
    turn of[DEPTH];
    size_t batch;
    unsigned queued, taken; /* batches */
};

cuzk_status take_memory(multiples *m, turn *t, cuzk_err *err) {
    const size_t point = m->comb.ops->point_bytes;
    void *mem;
    CUZK_TRY(cuzk__cuda_open_lane(&t->dev, m->b->dev, false, err));
    CUZK_CUDA(cudaEventCreate(&t->begin));
    CUZK_CUDA(cudaEventCreate(&t->end));
    CUZK_CUDA(cudaMallocHost(&mem, m->batch * sizeof(cuzk_u256)));
    t->scalars = (cuzk_u256 *)mem;
    CUZK_CUDA(cudaMallocHost(&mem, m->batch * point));
    t->points = (char *)mem;
    CUZK_TRY(cuzk_cuda_alloc(t->dev, &t->d_scalars, m->batch * sizeof(cuzk_u256), err));
    return cuzk_cuda_alloc(t->dev, &t->d_points, m->batch * point, err);
}

void give_back(multiples *m, turn *t) {
    if (!t->dev) return;
    const size_t scalars = m->batch * sizeof(cuzk_u256);
    (void)cudaStreamSynchronize(t->dev->stream);
    if (t->scalars) cuzk_wipe(t->scalars, scalars);
    if (t->d_scalars) {
        (void)cudaMemsetAsync(t->d_scalars, 0, scalars, t->dev->stream);
        (void)cudaStreamSynchronize(t->dev->stream);
    }
    cuzk_cuda_free(t->dev, t->d_scalars);
    cuzk_cuda_free(t->dev, t->d_points);
    if (t->scalars) (void)cudaFreeHost(t->scalars);
    if (t->points) (void)cudaFreeHost(t->points);
    if (t->begin) (void)cudaEventDestroy(t->begin);
    if (t->end) (void)cudaEventDestroy(t->end);
    cuzk_cuda_close(t->dev);
}

cuzk_status open_all(multiples *m, const cuzk_curve *curve, cuzk_group group, cuzk_err *err) {
    CUZK_CUDA(cudaSetDevice(m->b->dev->ordinal));
    CUZK_TRY(cuzk__gpu_generator_comb(m->b, &m->comb, curve, group, err));
    for (turn &t : m->of)
        CUZK_TRY(take_memory(m, &t, err));
    return cuzk_cuda_sync(m->b->dev, err);
}

} // namespace

cuzk_status cuzk__gpu_multiples_new(cuzk_backend *b, cuzk_multiples **out, const cuzk_curve *curve,
                                    cuzk_group group, size_t batch, uint64_t total, cuzk_err *err) {
    (void)total; /* a comb for few would save little */
    *out = NULL;
    void *mem;
    CUZK_TRY(cuzk_alloc(&mem, 1, sizeof(multiples)));
    multiples *m = (multiples *)mem;
    m->base.backend = b;
    m->base.depth = DEPTH;
    m->b = (cuzk_gpu_backend *)b;
    m->batch = batch;
    (void)pthread_mutex_lock(&m->b->loading);
    const cuzk_status st = open_all(m, curve, group, err);
    (void)pthread_mutex_unlock(&m->b->loading);
    if (st == CUZK_OK)
        *out = &m->base;
    else
        cuzk__gpu_multiples_free(&m->base);
    return st;
}

void cuzk__gpu_multiples_free(cuzk_multiples *base) {
    multiples *m = (multiples *)base;
    if (!m) return;
    (void)cudaSetDevice(m->b->dev->ordinal);
    for (turn &t : m->of)
        give_back(m, &t);
    (void)pthread_mutex_lock(&m->b->loading);
    (void)cudaStreamSynchronize(m->b->dev->stream);
    cuzk_cuda_free(m->b->dev, m->comb.points);
    (void)pthread_mutex_unlock(&m->b->loading);
    (void)cudaGetLastError();
    cuzk_free(m);
}

cuzk_u256 *cuzk__gpu_multiples_room(cuzk_multiples *base) {
    multiples *m = (multiples *)base;
    return m->of[m->queued % DEPTH].scalars;
}

cuzk_status cuzk__gpu_multiples_queue(cuzk_multiples *base, size_t n, cuzk_err *err) {
    multiples *m = (multiples *)base;
    turn *t = &m->of[m->queued % DEPTH];
    const cudaStream_t stream = t->dev->stream;
    const size_t in = n * sizeof(cuzk_u256), out = n * m->comb.ops->point_bytes;
    if (n == 0 || n > m->batch || m->queued - m->taken == DEPTH)
        return cuzk_err_set(err, CUZK_STATUS_BUG, "a batch of %zu of %zu, %u under way", n,
                            m->batch, m->queued - m->taken);
    CUZK_CUDA(cudaSetDevice(t->dev->ordinal));
    CUZK_CUDA(cudaEventRecord(t->begin, stream));
    CUZK_CUDA(cudaMemcpyAsync(t->d_scalars, t->scalars, in, cudaMemcpyHostToDevice, stream));
    CUZK_TRY(m->comb.ops->fixed_base(t->dev, m->comb.points, m->comb.window, m->comb.windows,
                                     t->d_scalars, t->d_points, n, err));
    CUZK_CUDA(cudaMemcpyAsync(t->points, t->d_points, out, cudaMemcpyDeviceToHost, stream));
    CUZK_CUDA(cudaEventRecord(t->end, stream));
    m->base.stats.bytes_in += in;
    m->base.stats.bytes_out += out;
    m->queued++;
    return CUZK_OK;
}

cuzk_status cuzk__gpu_multiples_take(cuzk_multiples *base, const void **points, cuzk_err *err) {
    multiples *m = (multiples *)base;
    turn *t = &m->of[m->taken % DEPTH];
    float ms;
    if (m->queued == m->taken) return cuzk_err_set(err, CUZK_STATUS_BUG, "no batch is under way");
    CUZK_CUDA(cudaEventSynchronize(t->end));
    CUZK_CUDA(cudaEventElapsedTime(&ms, t->begin, t->end));
    m->base.stats.device_ns += (int64_t)((double)ms * 1e6);
    m->taken++;
    *points = t->points;
    return CUZK_OK;
}
