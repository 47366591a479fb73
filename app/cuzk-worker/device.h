/* The device of a worker process, by the word that names it. */
#ifndef CUZK_WORKER_DEVICE_H
#define CUZK_WORKER_DEVICE_H

#include "backend/backend.h"
#include "base/thread.h"
#include "engine/shell/provider.h"

#include <stdbool.h>

typedef struct worker_device {
    const char *word; /* "cpu", "cuda", "cuda:N", "cuda:GPU-…" */
    unsigned threads;
    size_t memory; /* of a GPU at most; 0: what is free */
    cuzk_pool *pool;
    cuzk_backend *backend; /* once it is open; not owned */
} worker_device;

/* cuzk_local_config.open; ctx: a worker_device. */
cuzk_status worker_device_open(void *ctx, uint32_t device, cuzk_backend **out,
                               cuzk_engine_device_info *info, bool *own_memory,
                               cuzk_err *err) CUZK_MUST_CHECK;
/* cuzk_serve_config.broken. */
bool worker_device_broken(void *ctx);

#endif
