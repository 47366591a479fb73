/* Providers that prove: Filecoin's and circom's jobs, and devices in worker processes. */
#include "providers.h"

#include "base/mem.h"
#include "base/process.h"
#include "base/thread.h"
#include "devices.h"
#include "engine/remote/remote.h"
#include "jobs/jobs.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifdef CUZK_HAVE_CUDA
enum { HAVE_CUDA = 1 };
#else
enum { HAVE_CUDA = 0 };
#endif
enum { WORDS = 16 };

typedef struct real {
    cuzk_pool *pool;
    cuzk_jobs *jobs;
    cuzk_remote *remote;
    char program[1024], threads[16], memory[24];
    uint32_t n;
    char devices[CUZK_REMOTE_DEVICES][CUZKD_DEVICE_WORD];
    const char *argv[CUZK_REMOTE_DEVICES][WORDS];
    const char *const *commands[CUZK_REMOTE_DEVICES];
} real;

static void free_real(void *self) {
    real *r = self;
    cuzk_remote_free(r->remote);
    cuzk_jobs_free(r->jobs);
    cuzk_pool_free(r->pool);
    cuzk_free(r);
}

static void make_command(real *r, uint32_t i, const cuzkd_settings *s) {
    const char **w = r->argv[i];
    size_t n = 0;
    w[n++] = r->program;
    w[n++] = "--device";
    w[n++] = r->devices[i];
    w[n++] = "--threads";
    w[n++] = r->threads;
    if (s->device_memory) {
        w[n++] = "--memory";
        w[n++] = r->memory;
    }
    if (*s->param_cache) {
        w[n++] = "--params";
        w[n++] = s->param_cache;
    }
    if (*s->zkey_dir) {
        w[n++] = "--zkeys";
        w[n++] = s->zkey_dir;
    }
    if (s->allow_insecure) w[n++] = "--allow-insecure-keys";
    if (*s->insecure_seed) {
        w[n++] = "--insecure-seed";
        w[n++] = s->insecure_seed;
    }
    r->commands[i] = w;
}

static cuzk_status open_remote(real *r, const cuzkd_settings *s, cuzk_err *err) {
    CUZK_TRY(cuzkd_devices(&s->devices, "/proc", HAVE_CUDA, r->devices, CUZK_REMOTE_DEVICES, &r->n,
                           err));
    if (*s->worker_path)
        snprintf(r->program, sizeof r->program, "%s", s->worker_path);
    else if (!cuzk_process_beside(r->program, sizeof r->program, "cuzk-worker"))
        return cuzk_err_set(err, CUZK_STATUS_IO,
                            "cuzk-worker is not beside this program: set gpus.worker_path");
    snprintf(r->threads, sizeof r->threads, "%" PRIu64, s->gpu_threads);
    snprintf(r->memory, sizeof r->memory, "%" PRIu64, s->device_memory);
    for (uint32_t i = 0; i < r->n; i++)
        make_command(r, i, s);
    /* for tests of what happens when a device fails */
    const cuzk_remote_config config = {.n_devices = r->n,
                                       .commands = r->commands,
                                       .inject = getenv("CUZKD_TEST_INJECT"),
                                       .inject_starts = 1};
    return cuzk_remote_new(&r->remote, &config, err);
}

/* Figures from the first worker that can give them: on a GPU they depend on the device. What a key
 * pins, each worker pins. */
static cuzk_status plan_on_worker(void *ctx, const char *key, cuzk_backend_plan *out,
                                  cuzk_err *err) {
    real *r = ctx;
    cuzk_device_plan plan;
    cuzk_status st = CUZK_STATUS_NO_DEVICE;
    for (uint32_t i = 0; i < r->n && st == CUZK_STATUS_NO_DEVICE; i++)
        st = cuzk_remote_plan(r->remote, i, key, &plan, err);
    if (st == CUZK_OK)
        *out = (cuzk_backend_plan){plan.key, plan.slot, plan.slot_pinned, plan.key_pinned * r->n};
    return st;
}

static cuzk_status open_jobs(real *r, const cuzkd_settings *s, cuzk_err *err) {
    cuzk_jobs_config config = {.keys = {.params_dir = *s->param_cache ? s->param_cache : NULL,
                                        .zkey_dir = *s->zkey_dir ? s->zkey_dir : NULL,
                                        .allow_insecure = s->allow_insecure,
                                        .seed = *s->insecure_seed ? s->insecure_seed : NULL},
                               .device_threads = (unsigned)s->gpu_threads};
    if (cuzk_pool_new(&r->pool, (unsigned)s->witness_threads) != CUZK_OK)
        return cuzk_err_set(err, CUZK_STATUS_NO_MEMORY, "cannot start threads");
    config.pool = r->pool;
    if (r->n && strncmp(r->devices[0], "cuda", 4) == 0) {
        config.device_plan = plan_on_worker;
        config.device_plan_ctx = r;
    }
    return cuzk_jobs_new(&r->jobs, &config, err);
}

cuzk_status cuzkd_real_open(cuzkd_providers *out, const cuzkd_settings *s, cuzk_err *err) {
    real *r;
    if (cuzk_alloc((void **)&r, 1, sizeof *r) != CUZK_OK)
        return cuzk_err_set(err, CUZK_STATUS_NO_MEMORY, "not enough memory");
    out->free = free_real;
    out->self = r;
    CUZK_TRY(open_remote(r, s, err));
    CUZK_TRY(open_jobs(r, s, err));
    out->ops = (cuzk_engine_providers){.work = &cuzk_jobs_work,
                                       .work_self = r->jobs,
                                       .devices = &cuzk_remote_devices,
                                       .devices_self = r->remote};
    out->cpu = s->devices.n == 0 && strcmp(r->devices[0], "cpu") == 0;
    int n = snprintf(out->what, sizeof out->what, "devices:");
    for (uint32_t i = 0; i < r->n && n > 0 && (size_t)n < sizeof out->what; i++)
        n += snprintf(out->what + n, sizeof out->what - (size_t)n, " %s", r->devices[i]);
    return CUZK_OK;
}
