#include "device.h"

#include "jobs/local.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifdef CUZK_HAVE_CUDA
#include "backend/cuda/open.h"

static const char cuda[] = "cuda";

/* Of a device's memory: never given out, so that a partition waits where a few bytes more than
 * planned are taken; and what the tables of a large key leave to other keys. */
static const size_t margin = (size_t)512 << 20, leave = (size_t)4 << 30;

/* The ordinal of "cuda", "cuda:N" or "cuda:UUID" (any beginning of one that is unique). */
static cuzk_status find_cuda(const char *word, int *ordinal, cuzk_err *err) {
    const char *name = word + sizeof cuda - 1;
    char *end;
    *ordinal = 0;
    if (!*name) return CUZK_OK;
    const long n = strtol(++name, &end, 10);
    if (*name && !*end && n >= 0 && n < 1024) {
        *ordinal = (int)n;
        return CUZK_OK;
    }
    return cuzk_cuda_find(ordinal, name, err);
}

static cuzk_status open_cuda(worker_device *d, cuzk_backend **out, cuzk_engine_device_info *info,
                             cuzk_err *err) {
    cuzk_cuda_options options = {
        .threads = d->threads, .tables = true, .leave = leave, .sleep = true, .vram = d->memory};
    cuzk_cuda_info i;
    CUZK_TRY(find_cuda(d->word, &options.ordinal, err));
    CUZK_TRY(cuzk_cuda_backend_open(out, &options, err));
    const cuzk_status st = cuzk_cuda_backend_info(*out, &i, err);
    if (st != CUZK_OK) {
        (*out)->ops->close(*out);
        *out = NULL;
        return st;
    }
    snprintf(info->name, sizeof info->name, "%.95s", i.name);
    snprintf(info->uuid, sizeof info->uuid, "%.63s", i.uuid);
    info->memory_total = i.bytes_total;
    info->memory_free = i.bytes_free > margin ? i.bytes_free - margin : 0;
    return CUZK_OK;
}
#endif

static bool is_cuda(const char *word) {
    return strncmp(word, "cuda", 4) == 0 && (word[4] == '\0' || word[4] == ':');
}

cuzk_status worker_device_open(void *ctx, uint32_t device, cuzk_backend **out,
                               cuzk_engine_device_info *info, bool *own_memory, cuzk_err *err) {
    worker_device *d = ctx;
    cuzk_status st;
    *out = NULL;
    *own_memory = is_cuda(d->word);
    if (strcmp(d->word, "cpu") == 0) {
        st = cuzk_local_open_cpu(d->pool, device, out, info, own_memory, err);
    } else if (is_cuda(d->word)) {
#ifdef CUZK_HAVE_CUDA
        st = open_cuda(d, out, info, err);
#else
        st = cuzk_err_set(err, CUZK_STATUS_NO_DEVICE, "this program was built without CUDA");
#endif
    } else {
        st = cuzk_err_set(err, CUZK_STATUS_USAGE,
                          "--device: expected cpu, cuda, cuda:N or cuda:UUID, actual %s", d->word);
    }
    d->backend = *out;
    return st;
}

bool worker_device_broken(void *ctx) {
    const worker_device *d = ctx;
    if (!d->backend) return false;
#ifdef CUZK_HAVE_CUDA
    cuzk_cuda_info i;
    if (is_cuda(d->word)) return cuzk_cuda_backend_info(d->backend, &i, NULL) != CUZK_OK;
#endif
    return false;
}
