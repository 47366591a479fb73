/* A client of the daemon: its calls as functions, without protobuf's types. Blocking, one call at a
 * time, not thread-safe; for command line programs and tests.
 *
 * What comes back, of any call:
 *   BUSY       unreachable, draining, queue full, key in use, no device that takes it is up;
 *              cuzk_rpc_client_retry_ns says when to come back, where the daemon said it
 *   FAILED     timed out, cancelled, or not possible in this state; a result that is not there
 *   NO_MEMORY  this daemon has not what the job needs: it never fits, or its key has no file
 *   BAD_INPUT, NOT_FOUND, CONFLICT
 *   IO         not let in (token, certificate), or an answer that is none
 * After BUSY by a lost connection every call gives BUSY: make a new client. */
#ifndef CUZK_RPC_CLIENT_H
#define CUZK_RPC_CLIENT_H

#include "base/buf.h"
#include "base/status.h"
#include "engine/shell/engine.h"
#include "net/grpc_client.h"

typedef struct cuzk_rpc_client cuzk_rpc_client;

/* Arguments as of cuzk_grpc_client_new; BUSY where nobody answers. */
cuzk_status cuzk_rpc_client_new(cuzk_rpc_client **out, const char *address,
                                const cuzk_grpc_client_options *options,
                                cuzk_err *err) CUZK_MUST_CHECK;
void cuzk_rpc_client_free(cuzk_rpc_client *c);

/* Of the last call that gave BUSY: when to try again; -1: not said. */
int64_t cuzk_rpc_client_retry_ns(const cuzk_rpc_client *c);
/* Whether the connection is gone. */
bool cuzk_rpc_client_lost(const cuzk_rpc_client *c);

/* ---- jobs ---- */

/* Of a Filecoin job: the fields of SubmitProofRequest, bytes NULL where not said. Of CIRCOM: key,
 * and the witness as the only part. */
typedef struct cuzk_rpc_job {
    const char *request_id; /* NULL: none */
    cuzk_engine_kind kind;
    int priority;              /* 0: by kind */
    uint64_t deadline_unix_ms; /* 0: none */
    uint64_t sector_size, registered_proof, sector_number, miner_id;
    uint32_t partition_index;
    const uint8_t *randomness, *comm_r_old, *comm_r_new, *comm_d_new; /* 32 bytes each */
    const cuzk_engine_bytes *parts;
    size_t n_parts;
    const char *key;
} cuzk_rpc_job;

typedef struct cuzk_rpc_submitted {
    char job_id[CUZK_ENGINE_JOB_ID];
    char device[96]; /* "": not known yet */
    uint32_t position, depth;
    bool existed;
} cuzk_rpc_submitted;

cuzk_status cuzk_rpc_submit(cuzk_rpc_client *c, const cuzk_rpc_job *job, cuzk_rpc_submitted *out,
                            cuzk_err *err) CUZK_MUST_CHECK;
/* AwaitProof: until the job's end, at most timeout_ms (0: for ever; FAILED when it passed). OK: the
 * job is done and proof is appended. FAILED as well when the job failed or was cancelled; *state
 * says which. */
cuzk_status cuzk_rpc_await(cuzk_rpc_client *c, const char *job_id, uint64_t timeout_ms,
                           cuzk_engine_state *state, cuzk_engine_times *times, cuzk_buf *proof,
                           cuzk_err *err) CUZK_MUST_CHECK;
cuzk_status cuzk_rpc_get(cuzk_rpc_client *c, const char *job_id, cuzk_engine_job *out,
                         cuzk_err *err) CUZK_MUST_CHECK;
/* Newest first, at most *n; sets *n. */
cuzk_status cuzk_rpc_list(cuzk_rpc_client *c, cuzk_engine_job *out, size_t *n,
                          cuzk_err *err) CUZK_MUST_CHECK;
/* The proof of a job that is done; FAILED otherwise. */
cuzk_status cuzk_rpc_result(cuzk_rpc_client *c, const char *job_id, cuzk_buf *proof,
                            cuzk_err *err) CUZK_MUST_CHECK;
cuzk_status cuzk_rpc_cancel(cuzk_rpc_client *c, const char *job_id, bool *was_running,
                            cuzk_err *err) CUZK_MUST_CHECK;
/* fn for the job now and with every change, until its end (OK) or until fn says false (OK), or
 * timeout_ns (0: none) passed (FAILED). */
cuzk_status cuzk_rpc_watch(cuzk_rpc_client *c, const char *job_id, int64_t timeout_ns,
                           bool (*fn)(void *ctx, const cuzk_engine_job *job), void *ctx,
                           cuzk_err *err) CUZK_MUST_CHECK;

/* ---- the whole ---- */

typedef struct cuzk_rpc_device {
    uint32_t ordinal, restarts;
    char name[96], uuid[64], job_id[CUZK_ENGINE_JOB_ID], kind[32], trouble[768];
    uint64_t total, free, lent, busy_ms; /* bytes; of its gate */
    bool up, quarantined;
} cuzk_rpc_device;

typedef struct cuzk_rpc_key {
    char name[CUZK_ENGINE_KEY_NAME];
    int tier; /* 0 on a device, 1 in memory, 2 on disk */
    uint64_t size;
    uint32_t users;
} cuzk_rpc_key;

typedef struct cuzk_rpc_queue {
    char kind[32];
    uint32_t pending, running;
} cuzk_rpc_queue;

typedef struct cuzk_rpc_status {
    char version[48];
    uint64_t completed, failed, uptime_s, pinned, pinned_limit, host, host_limit;
    uint32_t depth;
    bool draining;
    size_t n_devices, n_keys, n_queues;
    cuzk_rpc_device devices[CUZK_ENGINE_MAX_DEVICES];
    cuzk_rpc_queue queues[CUZK_ENGINE_KIND_COUNT];
    cuzk_rpc_key keys[256];
} cuzk_rpc_status;

/* Large: not for a stack. */
cuzk_status cuzk_rpc_get_status(cuzk_rpc_client *c, cuzk_rpc_status *out,
                                cuzk_err *err) CUZK_MUST_CHECK;
/* fn for changes of jobs (job) and now and then the whole (status); one of both is NULL. Until fn
 * says false or the options' stop is set (OK). */
cuzk_status cuzk_rpc_watch_all(cuzk_rpc_client *c, uint32_t interval_ms,
                               bool (*fn)(void *ctx, const cuzk_engine_job *job,
                                          const cuzk_rpc_status *status),
                               void *ctx, cuzk_err *err) CUZK_MUST_CHECK;
/* Prometheus' text. */
cuzk_status cuzk_rpc_metrics(cuzk_rpc_client *c, cuzk_buf *out, cuzk_err *err) CUZK_MUST_CHECK;

typedef enum cuzk_rpc_trace_format {
    CUZK_RPC_TRACE_CSV,
    CUZK_RPC_TRACE_CHROME,
    CUZK_RPC_TRACE_SVG,
} cuzk_rpc_trace_format;
/* The timeline of the last minutes. */
cuzk_status cuzk_rpc_trace(cuzk_rpc_client *c, cuzk_rpc_trace_format format, cuzk_buf *out,
                           cuzk_err *err) CUZK_MUST_CHECK;

/* ---- operating it ---- */

cuzk_status cuzk_rpc_preload(cuzk_rpc_client *c, const char *key, bool *already, uint64_t *took_ms,
                             cuzk_err *err) CUZK_MUST_CHECK;
cuzk_status cuzk_rpc_evict(cuzk_rpc_client *c, const char *key, bool *was_loaded, uint64_t *freed,
                           cuzk_err *err) CUZK_MUST_CHECK;
/* timeout_ms 0: none. FAILED: not all jobs ended in time; it goes on draining. */
cuzk_status cuzk_rpc_drain_engine(cuzk_rpc_client *c, bool checkpoint, uint64_t timeout_ms,
                                  cuzk_err *err) CUZK_MUST_CHECK;
cuzk_status cuzk_rpc_resume(cuzk_rpc_client *c, cuzk_err *err) CUZK_MUST_CHECK;
cuzk_status cuzk_rpc_lend(cuzk_rpc_client *c, uint32_t device, uint64_t bytes, uint64_t timeout_ms,
                          cuzk_err *err) CUZK_MUST_CHECK;
/* bytes 0: all that is lent. */
cuzk_status cuzk_rpc_take_back(cuzk_rpc_client *c, uint32_t device, uint64_t bytes,
                               cuzk_err *err) CUZK_MUST_CHECK;
cuzk_status cuzk_rpc_restore(cuzk_rpc_client *c, uint32_t device, cuzk_err *err) CUZK_MUST_CHECK;

#endif
