#include "rpc/rpc.h"

#include "base/clock.h"
#include "base/mem.h"
#include "rpc/embedded.h"
#include "rpc/internal.h"

#include <stdio.h>
#include <string.h>

/* ---- calls that run on a lane ---- */

typedef struct call_task {
    cuzk__rpc_task task;
    cuzk_rpc *rpc;
    cuzk_grpc_call *call;
    cuzk__rpc_work work;
} call_task;

static void run_call(cuzk__rpc_task *task) {
    call_task *t = (call_task *)(void *)task;
    if (!cuzk_grpc_call_over(t->call)) t->work(t->rpc, t->call);
    cuzk_grpc_call_unref(t->call);
    cuzk_free(t);
}

static void on_call(void *ctx, cuzk_grpc_call *call) {
    const cuzk__rpc_method *m = ctx;
    cuzk_rpc *r = m->rpc;
    cuzk__rpc_lane *lane = m->slow ? &r->slow : &r->quick;
    call_task *t = NULL;
    if (cuzk__rpc_lane_waiting(lane) >= r->config.backlog ||
        cuzk_alloc((void **)&t, 1, sizeof *t) != CUZK_OK) {
        cuzk_grpc_fail_retry(call, CUZK_GRPC_RESOURCE_EXHAUSTED, 1000000000,
                             "too many calls at once; try again later");
        return;
    }
    t->task.fn = run_call;
    t->rpc = r;
    t->call = cuzk_grpc_call_ref(call);
    t->work = m->work;
    cuzk__rpc_lane_put(lane, &t->task);
}

void cuzk__rpc_add_method(cuzk_rpc *r, const char *path, unsigned flags, cuzk__rpc_work work,
                          bool slow, cuzk_grpc_handler handler) {
    const size_t i = r->n_methods;
    if (i == CUZK__RPC_MAX_METHODS) return;
    r->contexts[i] = (cuzk__rpc_method){r, work, slow};
    r->methods[i] = (cuzk_grpc_method){path, flags, work ? on_call : handler, &r->contexts[i]};
    r->n_methods++;
}

void cuzk__rpc_add_route(cuzk_rpc *r, const char *method, const char *pattern,
                         cuzk_http_handler handler, unsigned flags, uint64_t max_body) {
    if (r->n_routes == CUZK__RPC_MAX_ROUTES) return;
    r->routes[r->n_routes++] = (cuzk_http_route){method, pattern, handler, r, flags, max_body};
}

/* ---- which device takes what ---- */

/* How long what was read of the devices is good enough for SubmitProofResponse. */
static const int64_t devices_ttl_ns = 2000000000;

static void read_devices(cuzk_rpc *r) {
    cuzk_engine_status *s = NULL;
    if (cuzk_engine_snapshot(r->engine, &s, NULL) != CUZK_OK) return;
    r->n_devices = 0;
    for (size_t i = 0; i < s->n_devices && i < CUZK_ENGINE_MAX_DEVICES; i++) {
        const cuzk_engine_device_status *d = &s->devices[i];
        if (!d->sched.up || d->sched.quarantined) continue;
        snprintf(r->devices[r->n_devices].name, sizeof r->devices[0].name, "%s",
                 d->info.uuid[0] ? d->info.uuid : d->info.name);
        r->devices[r->n_devices++].kinds = d->kinds;
    }
    cuzk_free(s);
}

void cuzk__rpc_assigned(cuzk_rpc *r, cuzk_engine_kind kind, char out[96]) {
    size_t found = 0;
    out[0] = '\0';
    pthread_mutex_lock(&r->devices_lock);
    const int64_t now = cuzk_now_ns();
    if (r->devices_at == 0 || now - r->devices_at > devices_ttl_ns) {
        read_devices(r);
        r->devices_at = now;
    }
    for (size_t i = 0; i < r->n_devices; i++) {
        if (r->devices[i].kinds && !(r->devices[i].kinds >> kind & 1)) continue;
        if (found++ == 0) snprintf(out, 96, "%s", r->devices[i].name);
    }
    pthread_mutex_unlock(&r->devices_lock);
    if (found != 1) out[0] = '\0';
}

/* ---- making and ending it ---- */

static cuzk_status start(cuzk_rpc *r, cuzk_err *err) {
    CUZK_TRY(cuzk__rpc_lane_start(&r->quick, r->config.threads, err));
    CUZK_TRY(cuzk__rpc_lane_start(&r->slow, r->config.slow_threads, err));
    CUZK_TRY(cuzk__rpc_events_new(r, err));
    cuzk__rpc_proving_methods(r);
    cuzk__rpc_waiting_methods(r);
    cuzk__rpc_control_methods(r);
    CUZK_TRY(
        cuzk_grpc_server_new(&r->grpc, r->loop, r->methods, r->n_methods, &r->config.grpc, err));
    CUZK_TRY(cuzk_grpc_server_health(r->grpc, err));
    cuzk__rpc_health_refresh(r); /* known, and not serving yet */
    CUZK_TRY(cuzk_grpc_server_reflection(r->grpc, cuzk__rpc_descriptors.data,
                                         cuzk__rpc_descriptors.len, err));
    cuzk__rpc_page_routes(r);
    cuzk__rpc_job_routes(r);
    return cuzk_http_server_new(&r->http, r->routes, r->n_routes, &r->config.http, err);
}

cuzk_status cuzk_rpc_new(cuzk_rpc **out, cuzk_engine *engine, cuzk_net_loop *loop,
                         const cuzk_rpc_config *config, cuzk_err *err) {
    cuzk_rpc *r = NULL;
    *out = NULL;
    if (cuzk_alloc((void **)&r, 1, sizeof *r) != CUZK_OK)
        return cuzk_err_set(err, CUZK_STATUS_NO_MEMORY, "not enough memory for the interfaces");
    r->engine = engine;
    r->loop = loop;
    if (config) r->config = *config;
    if (!r->config.version) r->config.version = "";
    if (!r->config.threads) r->config.threads = 8;
    if (!r->config.slow_threads) r->config.slow_threads = 8;
    if (!r->config.backlog) r->config.backlog = 1024;
    pthread_mutex_init(&r->waiters_lock, NULL);
    pthread_mutex_init(&r->devices_lock, NULL);
    pthread_mutex_init(&r->health_lock, NULL);
    const cuzk_status st = start(r, err);
    if (st == CUZK_OK)
        *out = r;
    else
        cuzk_rpc_free(r);
    return st;
}

cuzk_status cuzk_rpc_listen_grpc(cuzk_rpc *r, const char *address, cuzk_net_access *access,
                                 char *bound, cuzk_err *err) {
    return cuzk_grpc_server_listen(r->grpc, address, access, bound, err);
}

cuzk_status cuzk_rpc_listen_http(cuzk_rpc *r, const char *address, cuzk_net_access *access,
                                 char *bound, cuzk_err *err) {
    return cuzk_http_server_listen(r->http, address, access, bound, err);
}

cuzk_status cuzk_rpc_reload(cuzk_rpc *r, cuzk_err *err) {
    return cuzk_http_server_reload(r->http, err);
}

void cuzk_rpc_set_ready(cuzk_rpc *r, bool ready) {
    atomic_store(&r->ready, ready);
    cuzk__rpc_health_refresh(r);
}

cuzk_status cuzk_rpc_drain(cuzk_rpc *r, int64_t grace_ns, void (*done)(void *ctx), void *ctx) {
    /* From now on a connection that ends is our doing: it cancels no job. */
    atomic_store(&r->stopping, true);
    atomic_store(&r->ready, false);
    return cuzk_grpc_server_drain(r->grpc, grace_ns, done, ctx);
}

void cuzk_rpc_free(cuzk_rpc *r) {
    if (!r) return;
    atomic_store(&r->stopping, true);
    cuzk__rpc_health_end(r);
    cuzk_http_server_free(r->http);
    cuzk_grpc_server_free(r->grpc); /* waiters hear of it and queue their ends */
    cuzk__rpc_events_stop(r);
    cuzk__rpc_lane_stop(&r->slow);
    cuzk__rpc_lane_stop(&r->quick);
    cuzk__rpc_events_free(r);
    cuzk__rpc_waiters_free(r);
    pthread_mutex_destroy(&r->waiters_lock);
    pthread_mutex_destroy(&r->devices_lock);
    pthread_mutex_destroy(&r->health_lock);
    cuzk_free(r);
}
