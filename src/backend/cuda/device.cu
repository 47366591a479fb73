/* Device handles, memory and the mapping of CUDA errors. */
#include "backend/cuda/cuda_internal.h"

extern "C" {
#include "base/mem.h"
}

#include <stdio.h>
#include <string.h>

/* "no driver" in place of the runtime's words, which speak of a version of it. */
static const char *text_of(cudaError_t e) {
    int version = 0;
    if (e == cudaErrorInsufficientDriver && cudaDriverGetVersion(&version) == cudaSuccess &&
        version == 0)
        return "there is no NVIDIA driver (libcuda.so.1)";
    return cudaGetErrorString(e);
}

cuzk_status cuzk__cuda_status(cudaError_t e, const char *what, const char *file, int line,
                              cuzk_err *err) {
    if (e == cudaSuccess) return CUZK_OK;
    (void)cudaGetLastError(); /* clear what is not sticky */
    cuzk_status st = CUZK_STATUS_BUG;
    if (e == cudaErrorMemoryAllocation)
        st = CUZK_STATUS_NO_MEMORY;
    else if (e == cudaErrorNoDevice || e == cudaErrorInsufficientDriver ||
             e == cudaErrorInvalidDevice || e == cudaErrorDevicesUnavailable ||
             e == cudaErrorNoKernelImageForDevice)
        st = CUZK_STATUS_NO_DEVICE;
    const char *base = strrchr(file, '/');
    return cuzk_err_set(err, st, "CUDA: %s: %s (%s:%d: %s)", cudaGetErrorName(e), text_of(e),
                        base ? base + 1 : file, line, what);
}

cuzk_status cuzk__cuda_check_stage(const cuzk_cuda *dev, size_t coordinate, cuzk_err *err) {
    const size_t least = cuzk_gpu::STAGE_LEAST * coordinate + cuzk_gpu::BLOCK_ASIDE;
    if (cuzk__cuda_stage(dev, coordinate)) return CUZK_OK;
    return cuzk_err_set(err, CUZK_STATUS_NO_DEVICE,
                        "%s: a block has %zu bytes of shared memory, sums need %zu: use another "
                        "device",
                        dev->info.name, dev->info.block_shared, least);
}

int cuzk_cuda_device_count(void) {
    int n = 0;
    if (cudaGetDeviceCount(&n) != cudaSuccess) {
        (void)cudaGetLastError();
        return 0;
    }
    return n;
}

static cuzk_status not_found(const char *which, cuzk_err *err) {
    int n = 0;
    const cudaError_t e = cudaGetDeviceCount(&n);
    if (e == cudaSuccess)
        return cuzk_err_set(err, CUZK_STATUS_NO_DEVICE, "no CUDA device %s (%d found)", which, n);
    (void)cudaGetLastError();
    return cuzk_err_set(err, CUZK_STATUS_NO_DEVICE, "no CUDA device %s: %s", which, text_of(e));
}

static void uuid_text(char out[48], const cudaDeviceProp *p) {
    char *to = out + snprintf(out, 48, "GPU-");
    for (int i = 0; i < 16; i++) {
        const bool dash = i == 4 || i == 6 || i == 8 || i == 10;
        to += snprintf(to, 4, dash ? "-%02x" : "%02x", (unsigned)(uint8_t)p->uuid.bytes[i]);
    }
}

cuzk_status cuzk_cuda_find(int *ordinal, const char *uuid, cuzk_err *err) {
    const int n = cuzk_cuda_device_count();
    int found = 0;
    char text[48];
    for (int i = 0; i < n; i++) {
        cudaDeviceProp p;
        CUZK_CUDA(cudaGetDeviceProperties(&p, i));
        uuid_text(text, &p);
        if (strncmp(text, uuid, strlen(uuid)) != 0) continue;
        *ordinal = i;
        found++;
    }
    if (found == 1) return CUZK_OK;
    if (found == 0) return not_found(uuid, err);
    return cuzk_err_set(err, CUZK_STATUS_NO_DEVICE, "more than one CUDA device %s (%d found)", uuid,
                        n);
}

static cuzk_status fill_info(cuzk_cuda *dev, cuzk_err *err) {
    cudaDeviceProp p;
    CUZK_CUDA(cudaGetDeviceProperties(&p, dev->ordinal));
    snprintf(dev->info.name, sizeof dev->info.name, "%.*s", (int)sizeof dev->info.name - 1, p.name);
    uuid_text(dev->info.uuid, &p);
    dev->info.sms = p.multiProcessorCount;
    dev->info.sm_threads = p.maxThreadsPerMultiProcessor;
    dev->info.sm_shared = p.sharedMemPerMultiprocessor;
    dev->info.block_shared = p.sharedMemPerBlockOptin;
    dev->info.cc_major = p.major;
    dev->info.cc_minor = p.minor;
    CUZK_CUDA(cudaDriverGetVersion(&dev->info.driver));
    CUZK_CUDA(cudaRuntimeGetVersion(&dev->info.runtime));
    CUZK_CUDA(cudaMemGetInfo(&dev->info.bytes_free, &dev->info.bytes_total));
    return CUZK_OK;
}

/* info: what is known of the device already, or NULL. */
static cuzk_status open_handle(cuzk_cuda **out, int ordinal, const cuzk_cuda_info *info, bool high,
                               cuzk_err *err) {
    *out = NULL;
    void *mem;
    CUZK_TRY(cuzk_alloc(&mem, 1, sizeof(cuzk_cuda)));
    cuzk_cuda *dev = (cuzk_cuda *)mem;
    dev->ordinal = ordinal;
    cuzk_status st;
    int least, greatest;
    const size_t counters = CUZK__CUDA_COUNTERS + CUZK__NTT_MAX_PASSES;
    CUZK_CUDA_GOTO(cudaSetDevice(ordinal), fail);
    if (info)
        dev->info = *info;
    else
        CUZK_TRY_GOTO(fill_info(dev, err), fail);
    CUZK_CUDA_GOTO(cudaDeviceGetStreamPriorityRange(&least, &greatest), fail);
    if (greatest + 1 < least) greatest++; /* the very first is for what the link waits for */
    CUZK_CUDA_GOTO(
        cudaStreamCreateWithPriority(&dev->stream, cudaStreamNonBlocking, high ? greatest : least),
        fail);
    for (int i = 0; i < CUZK__CUDA_MARKS; i++)
        CUZK_CUDA_GOTO(cudaEventCreate(&dev->marks[i]), fail);
    mem = NULL;
    CUZK_CUDA_GOTO(cudaMalloc(&mem, counters * sizeof(unsigned)), fail);
    dev->counters = (unsigned *)mem;
    CUZK_CUDA_GOTO(cudaMemsetAsync(mem, 0, counters * sizeof(unsigned), dev->stream), fail);
    CUZK_CUDA_GOTO(cudaMallocHost(&dev->pinned, 4096), fail);
    *out = dev;
    return CUZK_OK;
fail:
    cuzk_cuda_close(dev);
    return st;
}

cuzk_status cuzk_cuda_open(cuzk_cuda **out, int ordinal, cuzk_err *err) {
    *out = NULL;
    char which[16];
    snprintf(which, sizeof which, "%d", ordinal);
    if (ordinal < 0 || ordinal >= cuzk_cuda_device_count()) return not_found(which, err);
    return open_handle(out, ordinal, NULL, false, err);
}

cuzk_status cuzk__cuda_open_lane(cuzk_cuda **out, const cuzk_cuda *dev, bool high, cuzk_err *err) {
    return open_handle(out, dev->ordinal, &dev->info, high, err);
}

void cuzk_cuda_close(cuzk_cuda *dev) {
    if (!dev) return;
    for (int i = 0; i < CUZK__CUDA_MARKS; i++)
        if (dev->marks[i]) (void)cudaEventDestroy(dev->marks[i]);
    if (dev->stream) (void)cudaStreamDestroy(dev->stream);
    (void)cudaFree(dev->counters);
    if (dev->pinned) (void)cudaFreeHost(dev->pinned);
    (void)cudaGetLastError();
    cuzk_free(dev);
}

cuzk_status cuzk_cuda_get_info(const cuzk_cuda *dev, cuzk_cuda_info *out, cuzk_err *err) {
    *out = dev->info;
    CUZK_CUDA(cudaMemGetInfo(&out->bytes_free, &out->bytes_total));
    return CUZK_OK;
}

cuzk_status cuzk_cuda_alloc(cuzk_cuda *dev, void **device, size_t bytes, cuzk_err *err) {
    *device = NULL;
    cuzk__arena *a = dev->arena;
    if (!a) {
        CUZK_CUDA(cudaMalloc(device, bytes ? bytes : 16));
        return CUZK_OK;
    }
    const size_t at = (a->used + 255) & ~(size_t)255;
    if (!a->measuring && (at > a->size || bytes > a->size - at))
        return cuzk_err_set(err, CUZK_STATUS_BUG, "device arena of %zu bytes: %zu more at %zu",
                            a->size, bytes, at);
    a->used = at + bytes;
    *device = a->measuring ? (void *)256 : a->base + at;
    return CUZK_OK;
}

void cuzk_cuda_free(cuzk_cuda *dev, void *device) {
    if (device && !dev->arena && cudaFree(device) != cudaSuccess) (void)cudaGetLastError();
}

cuzk_status cuzk_cuda_upload(cuzk_cuda *dev, void *device, const void *host, size_t bytes,
                             cuzk_err *err) {
    CUZK_CUDA(cudaMemcpyAsync(device, host, bytes, cudaMemcpyHostToDevice, dev->stream));
    CUZK_CUDA(cudaStreamSynchronize(dev->stream));
    return CUZK_OK;
}

cuzk_status cuzk_cuda_download(cuzk_cuda *dev, void *host, const void *device, size_t bytes,
                               cuzk_err *err) {
    CUZK_CUDA(cudaMemcpyAsync(host, device, bytes, cudaMemcpyDeviceToHost, dev->stream));
    CUZK_CUDA(cudaStreamSynchronize(dev->stream));
    return CUZK_OK;
}

cuzk_status cuzk_cuda_sync(cuzk_cuda *dev, cuzk_err *err) {
    CUZK_CUDA(cudaStreamSynchronize(dev->stream));
    return CUZK_OK;
}

cuzk_status cuzk_cuda_mark(cuzk_cuda *dev, int slot, cuzk_err *err) {
    CUZK_CUDA(cudaEventRecord(dev->marks[slot], dev->stream));
    return CUZK_OK;
}

cuzk_status cuzk_cuda_elapsed(cuzk_cuda *dev, int from, int to, float *ms, cuzk_err *err) {
    CUZK_CUDA(cudaEventSynchronize(dev->marks[to]));
    CUZK_CUDA(cudaEventElapsedTime(ms, dev->marks[from], dev->marks[to]));
    return CUZK_OK;
}
