/* The device provider: sleeps that end when the device is closed or lost. */
#include "job.h"

#include "base/clock.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

enum { SLOW = 10 };

static cuzk_status gone(uint32_t device, cuzk_err *err) {
    return cuzk_err_set(err, CUZK_STATUS_NO_DEVICE, "device %u: its worker is gone", device);
}

static void drop(mock_work *w) {
    cuzk__mock_job_drop(w->job);
    *w = (mock_work){NULL, 0, false};
}

/* Waits to be let and then for ms, lock held; false: the device was closed or lost meanwhile. ms
 * UINT32_MAX: for that. */
static bool wait_on(cuzk_mock *m, struct mock_device *d, uint32_t generation,
                    cuzk_sched_stage stage, uint64_t ms) {
    while (d->open && !d->dead && d->generation == generation && !cuzk__mock_may(m, stage))
        pthread_cond_wait(&d->wake, &m->lock);
    const int64_t end = ms == UINT32_MAX ? INT64_MAX : cuzk_now_ns() + (int64_t)ms * 1000000;
    while (d->open && !d->dead && d->generation == generation) {
        if (cuzk_now_ns() >= end) return true;
        const struct timespec t = {end / 1000000000, end % 1000000000};
        if (end == INT64_MAX)
            pthread_cond_wait(&d->wake, &m->lock);
        else
            pthread_cond_timedwait(&d->wake, &m->lock, &t);
    }
    return false;
}

static void lose(cuzk_mock *m, struct mock_device *d) {
    d->dead = true;
    pthread_cond_broadcast(&d->wake);
    (void)m;
}

/* What goes wrong this time, lock held: what the test asked of the device, else of the job. */
static cuzk_mock_fault trouble(struct mock_device *d, cuzk_sched_stage stage, const mock_work *w) {
    if (d->trouble[stage].times > 0) {
        d->trouble[stage].times--;
        return d->trouble[stage].fault;
    }
    return w->job ? cuzk__mock_job_fault(w->job, stage, w->partition) : CUZK_MOCK_OK;
}

/* One call, lock held: takes its time and fails as it is told. */
static cuzk_status act(cuzk_mock *m, uint32_t device, cuzk_sched_stage stage, uint32_t ms,
                       mock_work *w, cuzk_err *err) {
    struct mock_device *d = &m->devices[device];
    const uint32_t generation = d->generation;
    if (!d->open || d->dead) return gone(device, err);
    const cuzk_mock_fault fault = trouble(d, stage, w);
    if (fault == CUZK_MOCK_CRASH) {
        lose(m, d);
        void (*lost)(void *, uint32_t, const char *) = m->lost;
        void *ctx = m->lost_ctx;
        pthread_mutex_unlock(&m->lock);
        if (lost) lost(ctx, device, "crashed, as was asked for");
        pthread_mutex_lock(&m->lock);
        return gone(device, err);
    }
    const uint64_t time = fault == CUZK_MOCK_HANG   ? UINT32_MAX
                          : fault == CUZK_MOCK_SLOW ? (uint64_t)ms * SLOW
                                                    : ms;
    if (!wait_on(m, d, generation, stage, time)) return gone(device, err);
    const char *name = cuzk_sched_stage_name(stage);
    if (fault == CUZK_MOCK_ERROR)
        return cuzk_err_set(err, CUZK_STATUS_IO, "%s: an error was asked for", name);
    if (fault == CUZK_MOCK_INPUT)
        return cuzk_err_set(err, CUZK_STATUS_BAD_INPUT, "%s: the job is at fault, as asked for",
                            name);
    if (fault == CUZK_MOCK_WRONG) w->wrong = true;
    return CUZK_OK;
}

static uint32_t device_count(void *self) {
    return ((cuzk_mock *)self)->config.devices;
}

static cuzk_status device_open(void *self, uint32_t device, cuzk_engine_device_info *out,
                               cuzk_err *err) {
    cuzk_mock *m = self;
    struct mock_device *d = &m->devices[device];
    const struct timespec t = {m->config.open_ms / 1000, m->config.open_ms % 1000 * 1000000};
    nanosleep(&t, NULL);
    pthread_mutex_lock(&m->lock);
    m->stats.device_opens++;
    const bool fails = d->fail_open > 0;
    if (fails) d->fail_open--;
    if (!fails) {
        d->open = true;
        d->dead = false;
        d->generation++;
    }
    pthread_mutex_unlock(&m->lock);
    if (fails)
        return cuzk_err_set(err, CUZK_STATUS_NO_DEVICE, "device %u: cannot be opened", device);
    *out = (cuzk_engine_device_info){.memory_total = m->config.device_memory,
                                     .memory_free = m->config.device_memory};
    snprintf(out->name, sizeof out->name, "Mock device %u", device);
    snprintf(out->uuid, sizeof out->uuid, "MOCK-%08x", device);
    return CUZK_OK;
}

static void device_close(void *self, uint32_t device) {
    cuzk_mock *m = self;
    struct mock_device *d = &m->devices[device];
    pthread_mutex_lock(&m->lock);
    d->open = false;
    pthread_cond_broadcast(&d->wake);
    for (size_t i = 0; i < sizeof d->slots / sizeof *d->slots; i++) {
        drop(&d->slots[i]);
        drop(&d->results[i]);
    }
    pthread_mutex_unlock(&m->lock);
}

static void device_on_lost(void *self, void (*lost)(void *ctx, uint32_t device, const char *why),
                           void *ctx) {
    cuzk_mock *m = self;
    pthread_mutex_lock(&m->lock);
    m->lost = lost;
    m->lost_ctx = ctx;
    pthread_mutex_unlock(&m->lock);
}

static cuzk_status device_key_load(void *self, uint32_t device, const char *key, cuzk_err *err) {
    cuzk_mock *m = self;
    struct mock_device *d = &m->devices[device];
    cuzk_status st = CUZK_OK;
    pthread_mutex_lock(&m->lock);
    m->stats.device_key_loads++;
    const uint32_t generation = d->generation;
    if (!d->open || d->dead ||
        !wait_on(m, d, generation, CUZK_STAGE_QUEUE, m->config.device_key_load_ms))
        st = gone(device, err);
    struct mock_key *k = cuzk__mock_key(m, key);
    if (st == CUZK_OK && k && k->fail_device[device] > 0) {
        k->fail_device[device]--;
        st = cuzk_err_set(err, CUZK_STATUS_IO, "device %u: key %s cannot be loaded", device, key);
    }
    pthread_mutex_unlock(&m->lock);
    return st;
}

static cuzk_status device_key_free(void *self, uint32_t device, const char *key, cuzk_err *err) {
    cuzk_mock *m = self;
    struct mock_device *d = &m->devices[device];
    (void)key;
    pthread_mutex_lock(&m->lock);
    m->stats.device_key_frees++;
    const bool done = wait_on(m, d, d->generation, CUZK_STAGE_KEY, m->config.device_key_free_ms);
    pthread_mutex_unlock(&m->lock);
    return done ? CUZK_OK : gone(device, err);
}

static cuzk_status device_stage(void *self, uint32_t device, uint32_t slot, const char *key,
                                const cuzk_engine_witness *w, cuzk_err *err) {
    cuzk_mock *m = self;
    struct mock_device *d = &m->devices[device];
    const mock_work *from = w->data;
    (void)key;
    pthread_mutex_lock(&m->lock);
    m->stats.stage_calls++;
    mock_work work = {cuzk__mock_job_ref(from->job), from->partition, from->wrong};
    cuzk_status st = act(m, device, CUZK_STAGE_STAGE, work.job->times.stage, &work, err);
    if (st == CUZK_OK && (!d->open || slot >= 64)) st = gone(device, err);
    if (st == CUZK_OK) {
        drop(&d->slots[slot]);
        d->slots[slot] = work;
    } else {
        drop(&work);
    }
    pthread_mutex_unlock(&m->lock);
    return st;
}

static cuzk_status device_compute(void *self, uint32_t device, uint32_t slot, uint32_t result,
                                  cuzk_engine_moved *moved, cuzk_err *err) {
    cuzk_mock *m = self;
    struct mock_device *d = &m->devices[device];
    const int64_t begin = cuzk_now_ns();
    pthread_mutex_lock(&m->lock);
    m->stats.compute_calls++;
    cuzk_status st = CUZK_OK;
    if (slot >= 64 || result >= 64 || !d->slots[slot].job)
        st = !d->open || d->dead
                 ? gone(device, err)
                 : cuzk_err_set(err, CUZK_STATUS_BUG, "device %u: slot %u is empty", device, slot);
    if (st == CUZK_OK) {
        mock_work work = d->slots[slot];
        d->slots[slot].job = NULL;
        st = act(m, device, CUZK_STAGE_COMPUTE, work.job->times.compute, &work, err);
        if (st == CUZK_OK) {
            drop(&d->results[result]);
            d->results[result] = work;
        } else {
            drop(&work);
        }
    }
    pthread_mutex_unlock(&m->lock);
    *moved = (cuzk_engine_moved){.in_pinned = m->config.plan.slot_device,
                                 .out_pinned = MOCK_RESULT,
                                 .in_gate = MOCK_RESULT,
                                 .device_ns = cuzk_now_ns() - begin};
    return st;
}

static cuzk_status device_finish(void *self, uint32_t device, uint32_t result, void *out,
                                 size_t *out_len, cuzk_err *err) {
    cuzk_mock *m = self;
    struct mock_device *d = &m->devices[device];
    pthread_mutex_lock(&m->lock);
    m->stats.finish_calls++;
    cuzk_status st = CUZK_OK;
    if (result >= 64 || !d->results[result].job)
        st = !d->open || d->dead
                 ? gone(device, err)
                 : cuzk_err_set(err, CUZK_STATUS_BUG, "device %u: no result %u", device, result);
    if (st == CUZK_OK) {
        mock_work work = d->results[result];
        d->results[result].job = NULL;
        st = act(m, device, CUZK_STAGE_FINISH, work.job->times.finish, &work, err);
        if (st == CUZK_OK) {
            cuzk__mock_result(&work, out);
            *out_len = MOCK_RESULT;
        }
        drop(&work);
    }
    pthread_mutex_unlock(&m->lock);
    return st;
}

const cuzk_device_ops cuzk__mock_devices = {
    .count = device_count,
    .open = device_open,
    .close = device_close,
    .on_lost = device_on_lost,
    .key_load = device_key_load,
    .key_free = device_key_free,
    .stage = device_stage,
    .compute = device_compute,
    .finish = device_finish,
};

void cuzk_mock_crash(cuzk_mock *m, uint32_t device) {
    pthread_mutex_lock(&m->lock);
    lose(m, &m->devices[device]);
    void (*lost)(void *, uint32_t, const char *) = m->lost;
    void *ctx = m->lost_ctx;
    pthread_mutex_unlock(&m->lock);
    if (lost) lost(ctx, device, "crashed, as was asked for");
}
