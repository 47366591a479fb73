/* The backend's table of operations, and the pinned ring through which keys are uploaded. */
#include "backend/cuda/lean.cuh"

extern "C" {
#include "base/mem.h"
}

#include <string.h>

static void close_backend(cuzk_backend *base) {
    cuzk_gpu_backend *b = (cuzk_gpu_backend *)base;
    if (!b) return;
    for (int i = 0; i < CUZK__RING_PARTS; i++) {
        if (b->ring.done[i]) (void)cudaEventDestroy(b->ring.done[i]);
        if (b->ring.part[i]) (void)cudaFreeHost(b->ring.part[i]);
    }
    cuzk__gpu_work_close(b);
    cuzk_cuda_close(b->dev);
    cuzk_pool_free(b->pool);
    (void)pthread_mutex_destroy(&b->loading);
    (void)pthread_mutex_destroy(&b->work.lock);
    cuzk_free(b);
}

static const cuzk_backend_ops ops = {"cuda",
                                     close_backend,
                                     cuzk__gpu_key_load,
                                     cuzk__gpu_key_free,
                                     cuzk__gpu_slot_new,
                                     cuzk__gpu_slot_free,
                                     cuzk__gpu_stage,
                                     cuzk__gpu_stage_inputs,
                                     cuzk__gpu_compute,
                                     cuzk__gpu_finish,
                                     cuzk__gpu_plan,
                                     cuzk__gpu_multiples_new,
                                     cuzk__gpu_multiples_room,
                                     cuzk__gpu_multiples_queue,
                                     cuzk__gpu_multiples_take,
                                     cuzk__gpu_multiples_free};

cuzk_status cuzk_cuda_backend_open(cuzk_backend **out, const cuzk_cuda_options *options,
                                   cuzk_err *err) {
    *out = NULL;
    void *mem;
    CUZK_TRY(cuzk_alloc(&mem, 1, sizeof(cuzk_gpu_backend)));
    cuzk_gpu_backend *b = (cuzk_gpu_backend *)mem;
    cuzk_status st;
    b->base.ops = &ops;
    b->tables = options->tables;
    b->in_turn = options->in_turn;
    b->sleeps = options->sleep;
    b->leave = options->leave;
    if (pthread_mutex_init(&b->loading, NULL) != 0 ||
        pthread_mutex_init(&b->work.lock, NULL) != 0) {
        cuzk_free(b);
        return cuzk_err_set(err, CUZK_STATUS_NO_MEMORY, "cannot make a lock");
    }
    if (options->sleep) {
        CUZK_CUDA_GOTO(cudaSetDevice(options->ordinal), fail);
        CUZK_CUDA_GOTO(cudaSetDeviceFlags(cudaDeviceScheduleBlockingSync), fail);
    }
    b->vram = options->vram;
    b->chunk = options->chunk;
    b->share = cuzk__lean_share(options->share);
    b->link_copies = options->link_copies ? options->link_copies : 1;
    CUZK_TRY_GOTO(cuzk_cuda_open(&b->dev, options->ordinal, err), fail);
    CUZK_TRY_GOTO(cuzk__gpu_work_open(b, err), fail);
    cuzk_cuda_info info;
    CUZK_TRY_GOTO(cuzk_cuda_get_info(b->dev, &info, err), fail);
    b->memory = info.bytes_free;
    st = cuzk_pool_new(&b->pool, options->threads);
    if (st != CUZK_OK) {
        (void)cuzk_err_set(err, st, "cannot start %u threads", options->threads);
        goto fail;
    }
    for (int i = 0; i < CUZK__RING_PARTS; i++) {
        CUZK_CUDA_GOTO(cudaMallocHost(&mem, CUZK__RING_BYTES), fail);
        b->ring.part[i] = (char *)mem;
        CUZK_CUDA_GOTO(cudaEventCreateWithFlags(&b->ring.done[i], cudaEventDisableTiming), fail);
    }
    *out = &b->base;
    return CUZK_OK;
fail:
    close_backend(&b->base);
    return st;
}

cuzk_status cuzk_cuda_backend_info(const cuzk_backend *b, cuzk_cuda_info *out, cuzk_err *err) {
    const cuzk_gpu_backend *gpu = (const cuzk_gpu_backend *)b;
    if (cuzk__measures(gpu->dev)) {
        *out = gpu->dev->info;
        const size_t used = gpu->dev->arena->used;
        out->bytes_free = used < out->bytes_free ? out->bytes_free - used : 0;
        return CUZK_OK;
    }
    CUZK_TRY(cuzk_cuda_get_info(gpu->dev, out, err));
    if (!gpu->vram) return CUZK_OK;
    const size_t usable = cuzk__gpu_usable(gpu->vram);
    const size_t taken = __atomic_load_n(&gpu->held, __ATOMIC_RELAXED) + gpu->work.arena.size +
                         (gpu->filling ? cuzk__gpu_own_bytes(gpu->filling) : 0);
    const size_t left = usable > taken ? usable - taken : 0;
    if (left < out->bytes_free) out->bytes_free = left;
    if (gpu->vram < out->bytes_total) out->bytes_total = gpu->vram;
    return CUZK_OK;
}

size_t cuzk_cuda_backend_used(const cuzk_backend *b) {
    cuzk_cuda_info info;
    if (cuzk_cuda_get_info(((const cuzk_gpu_backend *)b)->dev, &info, NULL) != CUZK_OK) return 0;
    return info.bytes_total - info.bytes_free;
}

cuzk_status cuzk__ring_take(cuzk_gpu_backend *b, char **part, cuzk_err *err) {
    *part = b->ring.part[b->ring.at];
    CUZK_CUDA(cudaEventSynchronize(b->ring.done[b->ring.at]));
    return CUZK_OK;
}

cuzk_status cuzk__ring_send(cuzk_gpu_backend *b, void *device, size_t bytes, cuzk_err *err) {
    cuzk__ring *r = &b->ring;
    CUZK_CUDA(
        cudaMemcpyAsync(device, r->part[r->at], bytes, cudaMemcpyHostToDevice, b->dev->stream));
    CUZK_CUDA(cudaEventRecord(r->done[r->at], b->dev->stream));
    r->at = (r->at + 1) % CUZK__RING_PARTS;
    return CUZK_OK;
}

struct copy_job {
    char *to;
    const char *from;
};

static void copy_range(void *ctx, size_t begin, size_t end) {
    const copy_job *c = (const copy_job *)ctx;
    memcpy(c->to + begin, c->from + begin, end - begin);
}

void cuzk__ring_copy(cuzk_gpu_backend *b, char *part, const void *host, size_t bytes) {
    enum { MIN_LEN = 256 << 10 };
    copy_job c = {part, (const char *)host};
    cuzk_pool_run_ranges(b->pool, bytes, MIN_LEN, 1, copy_range, &c);
}

cuzk_status cuzk__ring_upload(cuzk_gpu_backend *b, void *device, const void *host, size_t bytes,
                              cuzk_err *err) {
    for (size_t at = 0; at < bytes; at += CUZK__RING_BYTES) {
        const size_t most = CUZK__RING_BYTES, n = bytes - at < most ? bytes - at : most;
        char *part;
        CUZK_TRY(cuzk__ring_take(b, &part, err));
        cuzk__ring_copy(b, part, (const char *)host + at, n);
        CUZK_TRY(cuzk__ring_send(b, (char *)device + at, n, err));
    }
    return CUZK_OK;
}
