/* What the files of this module share. */
#ifndef CUZK_RPC_INTERNAL_H
#define CUZK_RPC_INTERNAL_H

#include "rpc/rpc.h"

#include "base/buf.h"

#include <pthread.h>
#include <stdatomic.h>

/* ---- threads for what blocks ---- */

typedef struct cuzk__rpc_task {
    struct cuzk__rpc_task *next;
    void (*fn)(struct cuzk__rpc_task *t);
} cuzk__rpc_task;

typedef struct cuzk__rpc_lane {
    pthread_mutex_t lock;
    pthread_cond_t some;
    cuzk__rpc_task *first, **last;
    unsigned waiting, n_threads;
    bool stop, started;
    pthread_t threads[64];
} cuzk__rpc_lane;

cuzk_status cuzk__rpc_lane_start(cuzk__rpc_lane *lane, unsigned threads,
                                 cuzk_err *err) CUZK_MUST_CHECK;
/* Runs what waits, then joins. Also of a lane that was not started. */
void cuzk__rpc_lane_stop(cuzk__rpc_lane *lane);
/* fn(t) on a thread of the lane. Cannot fail; t must stay until fn is called. */
void cuzk__rpc_lane_put(cuzk__rpc_lane *lane, cuzk__rpc_task *t);
unsigned cuzk__rpc_lane_waiting(cuzk__rpc_lane *lane);

/* ---- the whole ---- */

typedef void (*cuzk__rpc_work)(cuzk_rpc *r, cuzk_grpc_call *call);

/* Context of a gRPC method's handler. */
typedef struct cuzk__rpc_method {
    cuzk_rpc *rpc;
    cuzk__rpc_work work;
    bool slow; /* on the slow lane */
} cuzk__rpc_method;

struct cuzk__rpc_waiter;
struct cuzk__rpc_events;

enum { CUZK__RPC_MAX_METHODS = 24, CUZK__RPC_MAX_ROUTES = 32 };

struct cuzk_rpc {
    cuzk_engine *engine;
    cuzk_net_loop *loop;
    cuzk_rpc_config config;
    cuzk_grpc_server *grpc;
    cuzk_http_server *http;
    cuzk__rpc_lane quick, slow;
    atomic_bool ready, stopping;
    pthread_mutex_t health_lock; /* what the health service was told, and whether it still is */
    bool serving, health_told, health_over;
    cuzk__rpc_method contexts[CUZK__RPC_MAX_METHODS];
    cuzk_grpc_method methods[CUZK__RPC_MAX_METHODS];
    size_t n_methods;
    cuzk_http_route routes[CUZK__RPC_MAX_ROUTES];
    size_t n_routes;
    pthread_mutex_t waiters_lock;
    struct cuzk__rpc_waiter *waiters;
    struct cuzk__rpc_events *events; /* of HTTP */
    pthread_mutex_t devices_lock;
    int64_t devices_at; /* when devices was read */
    struct {
        char name[96];
        uint32_t kinds;
    } devices[CUZK_ENGINE_MAX_DEVICES];
    size_t n_devices;
};

/* The UUID, or else the name, of the only device that takes jobs of a kind; else "". May block. */
void cuzk__rpc_assigned(cuzk_rpc *r, cuzk_engine_kind kind, char out[96]);

/* The current metrics; the timeline. Block. */
cuzk_status cuzk__rpc_metrics(cuzk_rpc *r, cuzk_buf *out, cuzk_err *err) CUZK_MUST_CHECK;
typedef enum cuzk__rpc_trace_format {
    CUZK__RPC_TRACE_CSV,
    CUZK__RPC_TRACE_CHROME,
    CUZK__RPC_TRACE_SVG,
} cuzk__rpc_trace_format;
/* since_ns: events from then on, counted from the engine's start. */
cuzk_status cuzk__rpc_trace(cuzk_rpc *r, cuzk__rpc_trace_format format, int64_t since_ns,
                            cuzk_buf *out, cuzk_err *err) CUZK_MUST_CHECK;

/* ---- submissions ---- */

/* A job as it came, by gRPC or HTTP. */
typedef struct cuzk__rpc_submission {
    cuzk_engine_request request; /* points at what follows */
    cuzk_buf meta;
    char request_id[CUZK_ENGINE_REQUEST_ID];
    char client[64];
    cuzk_engine_bytes *parts; /* point into the message, or at owned */
    size_t n_parts, parts_cap;
    uint8_t **owned;
    size_t n_owned, owned_cap;
    bool cancel_on_disconnect;
} cuzk__rpc_submission;

void cuzk__rpc_submission_init(cuzk__rpc_submission *s, const char *client);
void cuzk__rpc_submission_free(cuzk__rpc_submission *s);
cuzk_status cuzk__rpc_add_part(cuzk__rpc_submission *s, const void *data,
                               size_t len) CUZK_MUST_CHECK;
/* Takes over what cuzk_alloc gave; frees it on failure. */
cuzk_status cuzk__rpc_add_owned(cuzk__rpc_submission *s, uint8_t *data, size_t len) CUZK_MUST_CHECK;
/* Checks a request id and stores it. BAD_INPUT. */
cuzk_status cuzk__rpc_set_request_id(cuzk__rpc_submission *s, const char *id, size_t len,
                                     cuzk_err *err) CUZK_MUST_CHECK;
/* Unix milliseconds to the request's deadline. BAD_INPUT beyond what fits. */
cuzk_status cuzk__rpc_set_deadline(cuzk__rpc_submission *s, uint64_t unix_ms,
                                   cuzk_err *err) CUZK_MUST_CHECK;
/* Completes request.payload; BAD_INPUT says what is missing. */
cuzk_status cuzk__rpc_seal_submission(cuzk__rpc_submission *s, cuzk_err *err) CUZK_MUST_CHECK;

/* From a serialised SubmitProofRequest, or ProveRequest; SubmitCircomRequest. Vanilla proofs are
 * not copied: the message must outlive the submission. BAD_INPUT names the field. */
cuzk_status cuzk__rpc_read_submit(cuzk__rpc_submission *s, const uint8_t *msg, size_t n, bool prove,
                                  cuzk_err *err) CUZK_MUST_CHECK;
cuzk_status cuzk__rpc_read_circom(cuzk__rpc_submission *s, const uint8_t *msg, size_t n,
                                  cuzk_err *err) CUZK_MUST_CHECK;
/* From HTTP: application/json, multipart/form-data, or raw bytes (application/octet-stream) with
 * the fields in the query (query(ctx, name): a value or NULL). What is not base64 is not copied. */
cuzk_status cuzk__rpc_read_body(cuzk__rpc_submission *s, const char *content_type,
                                const uint8_t *body, size_t n,
                                const char *(*query)(void *ctx, const char *name), void *ctx,
                                cuzk_err *err) CUZK_MUST_CHECK;

/* ---- what an error becomes ---- */

typedef struct cuzk__rpc_failure {
    int grpc;         /* cuzk_grpc_code */
    unsigned http;    /* status */
    const char *code; /* of the JSON error */
    int64_t retry_ns; /* 0: no use in trying again */
    char message[900];
} cuzk__rpc_failure;

/* refusal: of cuzk_engine_submit, else NULL. */
void cuzk__rpc_failed(cuzk__rpc_failure *out, cuzk_status st, const cuzk_err *err,
                      const cuzk_engine_refusal *refusal);
cuzk_status cuzk__rpc_fail(cuzk_grpc_call *call, cuzk_status st, const cuzk_err *err,
                           const cuzk_engine_refusal *refusal);

/* ---- whether jobs are taken ---- */

/* NULL: they are; else why not, in a line. May block. */
const char *cuzk__rpc_not_ready(cuzk_rpc *r);
/* Tells the health service. May block. Not at all after health_end, which comes before the server
 * is freed. */
void cuzk__rpc_health_refresh(cuzk_rpc *r);
void cuzk__rpc_health_end(cuzk_rpc *r);

/* ---- small things ---- */

/* "lane" or "worker" numbers and the like stay out of these: text as JSON, UTF-8 kept, what is
 * none replaced. */
void cuzk__rpc_json(cuzk_buf *out, const char *text);
bool cuzk__rpc_is_utf8(const uint8_t *p, size_t n);
int64_t cuzk__rpc_wall_ns(void);
const char *cuzk__rpc_kind_wire_name(cuzk_engine_kind kind); /* "POREP_SEAL_COMMIT" */
/* Either name of a kind, or its number; CUZK_ENGINE_KIND_COUNT: none. */
cuzk_engine_kind cuzk__rpc_kind_of(const char *text);
bool cuzk__rpc_priority_of(const char *text, int *out);
static inline bool cuzk__rpc_ended(cuzk_engine_state s) {
    return s != CUZK_ENGINE_QUEUED && s != CUZK_ENGINE_RUNNING;
}

/* ---- parts of the interface ---- */

/* Adds a method whose work runs on a lane, or (work NULL) whose handler is called on the loop. */
void cuzk__rpc_add_method(cuzk_rpc *r, const char *path, unsigned flags, cuzk__rpc_work work,
                          bool slow, cuzk_grpc_handler handler);
void cuzk__rpc_add_route(cuzk_rpc *r, const char *method, const char *pattern,
                         cuzk_http_handler handler, unsigned flags, uint64_t max_body);
void cuzk__rpc_proving_methods(cuzk_rpc *r);
void cuzk__rpc_waiting_methods(cuzk_rpc *r); /* those that wait for jobs */
void cuzk__rpc_control_methods(cuzk_rpc *r);
/* When no call and no thread is left: clears the timers of waiters. */
void cuzk__rpc_waiters_free(cuzk_rpc *r);

void cuzk__rpc_page_routes(cuzk_rpc *r); /* metrics, status, health, trace, page */
void cuzk__rpc_job_routes(cuzk_rpc *r);
/* A query parameter that is a number up to max, if it is there; false when it is none, and that is
 * answered. */
bool cuzk__rpc_query_number(const cuzk_http_request *req, cuzk_http_response *res, const char *name,
                            uint64_t max, uint64_t *out);
/* An error of the engine as an HTTP answer. */
void cuzk__rpc_respond_failed(cuzk_http_response *res, cuzk_status st, const cuzk_err *err,
                              const cuzk_engine_refusal *refusal);

cuzk_status cuzk__rpc_events_new(cuzk_rpc *r, cuzk_err *err) CUZK_MUST_CHECK;
/* Loop thread or loop stopped: no more ticks; then, when no thread is left, the rest. */
void cuzk__rpc_events_stop(cuzk_rpc *r);
void cuzk__rpc_events_free(cuzk_rpc *r);
void cuzk__rpc_events(void *ctx, const cuzk_http_request *req, cuzk_http_response *res);

#endif
