/* Providers that sleep: what the engine, its interfaces and `cuzkd --mock` are tested with. A mock
 * job goes through every stage, takes the time and the memory that it is told, fails where it is
 * told, and ends in bytes that can be checked.
 *
 * A job's settings are members of its meta JSON; where the first part of a payload begins with
 * '{', members of that object count too (so that they travel over the wire as vanilla_proof).
 * Others are passed over, so a real request is a mock job as well:
 *
 *   {"key": "mock-a", "partitions": 10, "witness_ms": 300, "compute_ms": 100,
 *    "faults": [{"stage": "compute", "fault": "error", "partition": 3, "times": 1}]}
 *
 *   key                           a name; else by kind: porep-32g, snap-32g, wpost-32g,
 *                                 winning-32g, mock-a
 *   partitions                    else by kind: 10, 16, 1, 1, 1
 *   witness_ms stage_ms compute_ms finish_ms verify_ms assemble_ms
 *   shared witness pinned scratch slot                              bytes, as in the plan
 *   message                       the plan's
 *   invalid                       1: job_open fails with BAD_INPUT
 *   faults                        at most 8
 *     stage       witness stage compute finish verify assemble
 *     fault       error; input (the job's own fault); wrong (a result that does not verify);
 *                 slow (takes ten times as long); of stage, compute and finish also hang (until the
 *                 device is closed) and crash (the device is lost)
 *     partition   else each
 *     times       how often (1); 0: always. Counted per job_open
 *
 * Thread-safe. */
#ifndef CUZK_ENGINE_MOCK_MOCK_H
#define CUZK_ENGINE_MOCK_MOCK_H

#include "base/status.h"
#include "engine/core/sched.h"
#include "engine/shell/provider.h"

#include <stdbool.h>
#include <stdint.h>

enum { CUZK_MOCK_PROOF = 192, CUZK_MOCK_MAX_DEVICES = 8, CUZK_MOCK_ANY = UINT32_MAX };

typedef struct cuzk_mock_times { /* ms */
    uint32_t witness, stage, compute, finish, verify, assemble;
} cuzk_mock_times;

typedef struct cuzk_mock_config {
    uint32_t devices;
    uint64_t device_memory;
    cuzk_mock_times times;    /* of jobs that do not say */
    cuzk_engine_plan plan;    /* memory of jobs that do not say; key and n_partitions are unused */
    cuzk_engine_key_plan key; /* of every key */
    uint32_t key_load_ms, device_key_load_ms, device_key_free_ms;
    uint32_t open_ms;
} cuzk_mock_config;

/* One device of 16 GiB; 300, 40, 100, 20, 10 and 1 ms; a key takes 1 GiB and 4 GiB and 50 ms; a
 * partition 64 MiB, its slot 1 GiB. */
void cuzk_mock_config_init(cuzk_mock_config *c);

typedef struct cuzk_mock cuzk_mock;

cuzk_status cuzk_mock_new(cuzk_mock **out, const cuzk_mock_config *config) CUZK_MUST_CHECK;
/* After the engine that uses it. NULL is ignored. */
void cuzk_mock_free(cuzk_mock *m);
cuzk_engine_providers cuzk_mock_providers(cuzk_mock *m);

/* ---- trouble on demand ---- */

typedef enum cuzk_mock_fault {
    CUZK_MOCK_OK,
    CUZK_MOCK_ERROR,
    CUZK_MOCK_INPUT,
    CUZK_MOCK_WRONG,
    CUZK_MOCK_SLOW,
    CUZK_MOCK_HANG,
    CUZK_MOCK_CRASH,
} cuzk_mock_fault;

/* The next `times` calls of a device (or CUZK_MOCK_ANY) in this stage (STAGE, COMPUTE or FINISH) go
 * wrong, whatever the job. Replaces what was asked for before for this device and stage. */
void cuzk_mock_trouble(cuzk_mock *m, uint32_t device, cuzk_sched_stage stage, cuzk_mock_fault fault,
                       uint32_t times);
/* Calls of this stage wait from now on until they are let: the next `calls` go on, later ones wait
 * again; CUZK_MOCK_ANY: all, as in the beginning. CUZK_STAGE_KEY: frees of a key on a device;
 * CUZK_STAGE_QUEUE: loads of one. What waits ends when it is cancelled, or its device closed or
 * lost; of VERIFY and ASSEMBLE nothing does. So a test need not be quicker than a sleep. */
void cuzk_mock_let(cuzk_mock *m, cuzk_sched_stage stage, uint32_t calls);
/* The device is lost now. */
void cuzk_mock_crash(cuzk_mock *m, uint32_t device);
/* The next `times` opens of the device fail. */
void cuzk_mock_fail_open(cuzk_mock *m, uint32_t device, uint32_t times);
/* A key's file goes and comes back: while it is away, plan and load give NOT_FOUND. */
void cuzk_mock_key_present(cuzk_mock *m, const char *key, bool present);
/* A key's file is replaced by another. */
void cuzk_mock_key_changed(cuzk_mock *m, const char *key);
/* The next `times` loads of the key fail, on the host (device CUZK_SCHED_HOST) or on a device. */
void cuzk_mock_fail_key(cuzk_mock *m, const char *key, uint32_t device, uint32_t times);

/* ---- what happened ---- */

typedef struct cuzk_mock_stats {
    uint32_t jobs_open, jobs_open_peak; /* parsed jobs in memory */
    uint32_t witnesses, witnesses_peak; /* in memory */
    uint64_t job_opens, witness_calls, stage_calls, compute_calls, finish_calls, verify_calls,
        assemble_calls, key_loads, key_frees, device_key_loads, device_key_frees, device_opens;
    uint64_t key_loads_begun; /* key_loads: ended */
} cuzk_mock_stats;
void cuzk_mock_get_stats(cuzk_mock *m, cuzk_mock_stats *out);

/* Whether a job's answer is what this payload gives: a proof of CUZK_MOCK_PROOF bytes for each
 * partition, in order. A proof holds a random number, so a partition that was proved twice shows.
 */
bool cuzk_mock_check(const cuzk_engine_payload *payload, uint32_t partitions, const void *proof,
                     size_t len);

#endif
