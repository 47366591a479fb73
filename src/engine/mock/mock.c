#include "mock.h"

#include "base/mem.h"
#include "job.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

void cuzk_mock_config_init(cuzk_mock_config *c) {
    *c = (cuzk_mock_config){
        .devices = 1,
        .device_memory = UINT64_C(16) << 30,
        .times = {300, 40, 100, 20, 10, 1},
        .plan = {.shared_host = 1 << 20,
                 .witness_host = 32 << 20,
                 .witness_pinned = 32 << 20,
                 .slot_device = 1 << 30},
        .key = {.host = 1 << 30, .device = UINT64_C(4) << 30, .size = UINT64_C(4) << 30},
        .key_load_ms = 50,
        .device_key_load_ms = 50,
    };
}

cuzk_status cuzk_mock_new(cuzk_mock **out, const cuzk_mock_config *config) {
    static const char *const names[] = {"mock-a",    "mock-b",   "mock-c",    "mock-d",
                                        "porep-32g", "snap-32g", "wpost-32g", "winning-32g"};
    cuzk_mock *m;
    *out = NULL;
    if (config->devices == 0 || config->devices > CUZK_MOCK_MAX_DEVICES) return CUZK_STATUS_USAGE;
    CUZK_TRY(cuzk_alloc((void **)&m, 1, sizeof *m));
    m->config = *config;
    for (int i = 0; i < CUZK_STAGES; i++)
        m->let[i] = CUZK_MOCK_ANY;
    pthread_mutex_init(&m->lock, NULL);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        snprintf(m->keys[m->n_keys++].name, CUZK_ENGINE_KEY_NAME, "%s", names[i]);
    pthread_condattr_t attr;
    pthread_condattr_init(&attr);
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    for (uint32_t d = 0; d < CUZK_MOCK_MAX_DEVICES; d++)
        pthread_cond_init(&m->devices[d].wake, &attr);
    pthread_condattr_destroy(&attr);
    *out = m;
    return CUZK_OK;
}

void cuzk_mock_free(cuzk_mock *m) {
    if (!m) return;
    for (uint32_t d = 0; d < CUZK_MOCK_MAX_DEVICES; d++) {
        if (d < m->config.devices) cuzk__mock_devices.close(m, d);
        pthread_cond_destroy(&m->devices[d].wake);
    }
    pthread_mutex_destroy(&m->lock);
    cuzk_free(m);
}

cuzk_engine_providers cuzk_mock_providers(cuzk_mock *m) {
    return (cuzk_engine_providers){&cuzk__mock_work, m, &cuzk__mock_devices, m};
}

void cuzk_mock_trouble(cuzk_mock *m, uint32_t device, cuzk_sched_stage stage, cuzk_mock_fault fault,
                       uint32_t times) {
    pthread_mutex_lock(&m->lock);
    for (uint32_t d = 0; d < m->config.devices; d++) {
        if (device != CUZK_MOCK_ANY && device != d) continue;
        m->devices[d].trouble[stage].fault = fault;
        m->devices[d].trouble[stage].times = times;
    }
    pthread_mutex_unlock(&m->lock);
}

void cuzk_mock_let(cuzk_mock *m, cuzk_sched_stage stage, uint32_t calls) {
    pthread_mutex_lock(&m->lock);
    m->let[stage] = calls;
    for (uint32_t d = 0; d < m->config.devices; d++)
        pthread_cond_broadcast(&m->devices[d].wake);
    pthread_mutex_unlock(&m->lock);
}

bool cuzk__mock_may(cuzk_mock *m, cuzk_sched_stage stage) {
    if (m->let[stage] == 0) return false;
    if (m->let[stage] != CUZK_MOCK_ANY) m->let[stage]--;
    return true;
}

void cuzk_mock_fail_open(cuzk_mock *m, uint32_t device, uint32_t times) {
    pthread_mutex_lock(&m->lock);
    m->devices[device].fail_open = times;
    pthread_mutex_unlock(&m->lock);
}

void cuzk_mock_key_present(cuzk_mock *m, const char *key, bool present) {
    pthread_mutex_lock(&m->lock);
    struct mock_key *k = cuzk__mock_key(m, key);
    if (k) k->away = !present;
    pthread_mutex_unlock(&m->lock);
}

void cuzk_mock_key_changed(cuzk_mock *m, const char *key) {
    pthread_mutex_lock(&m->lock);
    struct mock_key *k = cuzk__mock_key(m, key);
    if (k) k->changes++;
    pthread_mutex_unlock(&m->lock);
}

void cuzk_mock_fail_key(cuzk_mock *m, const char *key, uint32_t device, uint32_t times) {
    pthread_mutex_lock(&m->lock);
    struct mock_key *k = cuzk__mock_key(m, key);
    if (k) *(device == CUZK_SCHED_HOST ? &k->fail_host : &k->fail_device[device]) = times;
    pthread_mutex_unlock(&m->lock);
}

void cuzk_mock_get_stats(cuzk_mock *m, cuzk_mock_stats *out) {
    pthread_mutex_lock(&m->lock);
    *out = m->stats;
    pthread_mutex_unlock(&m->lock);
}
