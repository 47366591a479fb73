/* Devices of this process as the engine's device provider: what a worker process serves, and for
 * tests. A partition's result is its five sums (points.h). */
#ifndef CUZK_JOBS_LOCAL_H
#define CUZK_JOBS_LOCAL_H

#include "backend/backend.h"
#include "jobs/jobs.h"

enum { CUZK_LOCAL_DEVICES = 8, CUZK_LOCAL_SLOTS = 16, CUZK_LOCAL_RESULTS = 64 };

typedef struct cuzk_local_config {
    cuzk_jobs_keys keys;
    uint32_t devices;
    cuzk_pool *pool; /* for loading keys; may be NULL; must outlive the devices */
    /* Opens device number `device`. *own_memory: keys and slots are in memory of the device: then
     * slots are kept between partitions and the host's copy of a key's points is given back; else
     * a slot is made and wiped with its partition. */
    cuzk_status (*open)(void *ctx, uint32_t device, cuzk_backend **out,
                        cuzk_engine_device_info *info, bool *own_memory, cuzk_err *err);
    void *ctx;
} cuzk_local_config;

typedef struct cuzk_local cuzk_local;
cuzk_status cuzk_local_new(cuzk_local **out, const cuzk_local_config *config,
                           cuzk_err *err) CUZK_MUST_CHECK;
/* Closes what is open. NULL is ignored. */
void cuzk_local_free(cuzk_local *l);

/* self is a cuzk_local. Slots are numbered below CUZK_LOCAL_SLOTS, results below
 * CUZK_LOCAL_RESULTS. A witness must stay mapped until its compute has returned. */
extern const cuzk_device_ops cuzk_local_devices;

/* What a key takes on a device that is open, without loading it; on a device without memory of
 * its own with the key's own bytes. */
cuzk_status cuzk_local_plan(cuzk_local *l, uint32_t device, const char *key, cuzk_backend_plan *out,
                            cuzk_err *err) CUZK_MUST_CHECK;

/* cuzk_local_config.open for the CPU; ctx: the cuzk_pool that it computes with, or NULL. */
cuzk_status cuzk_local_open_cpu(void *ctx, uint32_t device, cuzk_backend **out,
                                cuzk_engine_device_info *info, bool *own_memory,
                                cuzk_err *err) CUZK_MUST_CHECK;

#endif
