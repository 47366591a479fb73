/* The engine's interfaces: gRPC (cuzk.v1.ProvingEngine, cuzk.v1.Engine), HTTP (metrics, status,
 * JSON jobs, timeline, status page). docs/api.md is their reference.
 *
 * Calls are taken on a net loop; what blocks runs on threads of this module; waiting for a job
 * holds no thread. */
#ifndef CUZK_RPC_RPC_H
#define CUZK_RPC_RPC_H

#include "engine/shell/engine.h"
#include "net/grpc.h"
#include "net/http.h"
#include "net/net.h"

typedef struct cuzk_rpc cuzk_rpc;

/* Zero and NULL: the default. */
typedef struct cuzk_rpc_config {
    const char *version;   /* shown; "" */
    unsigned threads;      /* for calls that take milliseconds: 8 */
    unsigned slow_threads; /* for those that take longer (loading keys, draining): 8 */
    unsigned backlog;      /* calls that may wait for a thread, further ones are refused: 1024 */
    cuzk_grpc_limits grpc;
    cuzk_http_limits http;
} cuzk_rpc_config;

/* engine and loop must outlive it; config (may be NULL) is copied, version not. Before the loop
 * runs or on its thread. */
cuzk_status cuzk_rpc_new(cuzk_rpc **out, cuzk_engine *engine, cuzk_net_loop *loop,
                         const cuzk_rpc_config *config, cuzk_err *err) CUZK_MUST_CHECK;

/* Listens on one more address; serving begins at once. On the loop's thread, or before it runs.
 * Arguments as of cuzk_grpc_server_listen. */
cuzk_status cuzk_rpc_listen_grpc(cuzk_rpc *r, const char *address, cuzk_net_access *access,
                                 char *bound, cuzk_err *err) CUZK_MUST_CHECK;
cuzk_status cuzk_rpc_listen_http(cuzk_rpc *r, const char *address, cuzk_net_access *access,
                                 char *bound, cuzk_err *err) CUZK_MUST_CHECK;

/* cuzk_http_server_reload of its server. */
cuzk_status cuzk_rpc_reload(cuzk_rpc *r, cuzk_err *err) CUZK_MUST_CHECK;

/* Whether the daemon has started and is not ending; false at first. /readyz and the health service
 * (within a second) say that jobs are taken when it is so, the engine does not drain, a device is
 * up and the journal can be written. Any thread but the loop's. */
void cuzk_rpc_set_ready(cuzk_rpc *r, bool ready);

/* cuzk_grpc_server_drain of its server: running calls get grace_ns, then done. */
cuzk_status cuzk_rpc_drain(cuzk_rpc *r, int64_t grace_ns, void (*done)(void *ctx),
                           void *ctx) CUZK_MUST_CHECK;

/* Ends all calls, joins its threads, frees. On the loop's thread or after the loop returned; the
 * engine must still be there. May wait for a key that is being loaded. NULL is ignored. */
void cuzk_rpc_free(cuzk_rpc *r);

/* ---- texts of a snapshot ---- */

/* Prometheus' text format. grpc may be NULL. */
void cuzk_rpc_metrics_text(cuzk_buf *out, const cuzk_engine_status *s, const cuzk_grpc_stats *grpc,
                           const char *version);
/* The JSON of GET /status. */
void cuzk_rpc_status_json(cuzk_buf *out, const cuzk_engine_status *s, const char *version);
/* The JSON of a job: GET /api/v1/jobs/{id}. */
void cuzk_rpc_job_json(cuzk_buf *out, const cuzk_engine_job *job);

#endif
