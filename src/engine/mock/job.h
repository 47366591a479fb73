/* Mock jobs: their settings and what both providers need to know of them. */
#ifndef CUZK_ENGINE_MOCK_JOB_H
#define CUZK_ENGINE_MOCK_JOB_H

#include "mock.h"

#include "base/digest.h"

#include <pthread.h>

enum { MOCK_FAULTS = 8, MOCK_KEYS = 12 };

typedef struct mock_fault {
    cuzk_sched_stage stage;
    cuzk_mock_fault fault;
    uint32_t partition; /* CUZK_MOCK_ANY */
    uint32_t left;      /* UINT32_MAX: always */
} mock_fault;

/* Shared by the engine's handle, witnesses, slots and results. */
typedef struct mock_job {
    atomic_uint refs;
    cuzk_digest digest;
    cuzk_engine_plan plan;
    cuzk_mock_times times;
    bool invalid;
    pthread_mutex_t lock; /* of faults */
    mock_fault faults[MOCK_FAULTS];
    uint32_t n_faults;
} mock_job;

/* A partition on its way: what a witness, a slot and a result hold. */
typedef struct mock_work {
    mock_job *job; /* NULL: empty */
    uint32_t partition;
    bool wrong;
} mock_work;

/* Members of payload->meta and of the first part; digest. BAD_INPUT. */
cuzk_status cuzk__mock_job_parse(mock_job **out, const cuzk_engine_payload *payload,
                                 const cuzk_mock_config *config, cuzk_err *err) CUZK_MUST_CHECK;
mock_job *cuzk__mock_job_ref(mock_job *j);
void cuzk__mock_job_drop(mock_job *j);
/* Takes the job's fault for this stage, if one is due. */
cuzk_mock_fault cuzk__mock_job_fault(mock_job *j, cuzk_sched_stage stage, uint32_t partition);
cuzk_digest cuzk__mock_digest(const cuzk_engine_payload *payload);

/* 64 bytes: what a device gives for a partition, and how a proof of it begins. */
enum { MOCK_RESULT = 64 };
void cuzk__mock_result(const mock_work *w, uint8_t out[MOCK_RESULT]);
bool cuzk__mock_result_ok(cuzk_digest digest, uint32_t partition, const uint8_t *p);

struct cuzk_mock {
    cuzk_mock_config config;
    pthread_mutex_t lock; /* everything below */
    struct mock_key {
        char name[CUZK_ENGINE_KEY_NAME];
        bool away, loaded;
        uint64_t changes; /* of its file */
        uint32_t fail_host, fail_device[CUZK_MOCK_MAX_DEVICES];
    } keys[MOCK_KEYS];
    uint32_t n_keys;
    cuzk_mock_stats stats;
    uint32_t let[CUZK_STAGES]; /* calls that may go on; CUZK_MOCK_ANY: all */
    void (*lost)(void *ctx, uint32_t device, const char *why);
    void *lost_ctx;
    struct mock_device {
        pthread_cond_t wake; /* the device was closed or lost */
        bool open, dead;
        uint32_t generation; /* of opens */
        uint32_t fail_open;
        mock_work slots[64], results[64];
        struct {
            cuzk_mock_fault fault;
            uint32_t times;
        } trouble[CUZK_STAGES];
    } devices[CUZK_MOCK_MAX_DEVICES];
};

extern const cuzk_work_ops cuzk__mock_work;
extern const cuzk_device_ops cuzk__mock_devices;
/* Whether a call of this stage may go on now; if so it has been counted. lock is held. */
bool cuzk__mock_may(cuzk_mock *m, cuzk_sched_stage stage);
/* NULL: no such key. lock is held. */
struct mock_key *cuzk__mock_key(cuzk_mock *m, const char *name);

#endif
