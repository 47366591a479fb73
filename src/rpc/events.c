/* GET /api/v1/events: changes of jobs as they happen and the status every second, as Server-Sent
 * Events. With the same beat the health service hears how the engine is. */
#include "base/clock.h"
#include "base/mem.h"
#include "rpc/internal.h"

enum { MAX_SUBSCRIBERS = 64 };

typedef struct subscriber {
    struct subscriber *next;
    cuzk_http_stream *stream;
    cuzk_engine_watch *watch;
} subscriber;

typedef struct cuzk__rpc_events {
    cuzk_rpc *rpc;
    cuzk_net_timer timer;
    cuzk__rpc_task tick;
    atomic_bool ticking;
    pthread_mutex_t lock; /* list and count */
    subscriber *list;
    unsigned n;
} cuzk__rpc_events_hub;

static const int64_t period_ns = 1000000000;

/* An engine thread. A client that is gone is noticed by the next tick. */
static void changed(void *ctx, const cuzk_engine_job *job) {
    subscriber *s = ctx;
    cuzk_buf b = CUZK_BUF_INIT;
    cuzk_rpc_job_json(&b, job);
    if (cuzk_buf_status(&b) == CUZK_OK) (void)cuzk_http_stream_event(s->stream, "job", b.data);
    cuzk_buf_free(&b);
}

static void drop(subscriber *s) {
    cuzk_engine_unwatch(s->watch);
    cuzk_http_stream_close(s->stream);
    cuzk_free(s);
}

static void send_status(cuzk__rpc_events_hub *h, const char *json) {
    pthread_mutex_lock(&h->lock);
    for (subscriber **at = &h->list; *at;) {
        subscriber *s = *at;
        if (cuzk_http_stream_event(s->stream, "status", json)) {
            at = &s->next;
        } else {
            *at = s->next;
            h->n--;
            drop(s);
        }
    }
    pthread_mutex_unlock(&h->lock);
}

static void tick(cuzk__rpc_task *t) {
    cuzk__rpc_events_hub *h =
        (cuzk__rpc_events_hub *)(void *)((char *)t - offsetof(cuzk__rpc_events_hub, tick));
    cuzk_buf b = CUZK_BUF_INIT;
    cuzk_engine_status *s = NULL;
    cuzk__rpc_health_refresh(h->rpc);
    pthread_mutex_lock(&h->lock);
    const bool some = h->n > 0;
    pthread_mutex_unlock(&h->lock);
    if (some && cuzk_engine_snapshot(h->rpc->engine, &s, NULL) == CUZK_OK) {
        cuzk_rpc_status_json(&b, s, h->rpc->config.version);
        cuzk_free(s);
        if (cuzk_buf_status(&b) == CUZK_OK) send_status(h, b.data);
    }
    cuzk_buf_free(&b);
    atomic_store(&h->ticking, false);
}

/* Loop thread. */
static void on_time(void *ctx) {
    cuzk__rpc_events_hub *h = ctx;
    if (!atomic_exchange(&h->ticking, true)) cuzk__rpc_lane_put(&h->rpc->quick, &h->tick);
    /* it was set a moment ago, so that there is room for it */
    if (cuzk_net_timer_set(h->rpc->loop, &h->timer, cuzk_now_ns() + period_ns, on_time, h) !=
        CUZK_OK)
        return;
}

cuzk_status cuzk__rpc_events_new(cuzk_rpc *r, cuzk_err *err) {
    cuzk__rpc_events_hub *h = NULL;
    if (cuzk_alloc((void **)&h, 1, sizeof *h) != CUZK_OK)
        return cuzk_err_set(err, CUZK_STATUS_NO_MEMORY, "not enough memory for the interfaces");
    h->rpc = r;
    h->tick.fn = tick;
    pthread_mutex_init(&h->lock, NULL);
    r->events = h;
    if (cuzk_net_timer_set(r->loop, &h->timer, cuzk_now_ns() + period_ns, on_time, h) == CUZK_OK)
        return CUZK_OK;
    return cuzk_err_set(err, CUZK_STATUS_NO_MEMORY, "not enough memory for the interfaces");
}

void cuzk__rpc_events_stop(cuzk_rpc *r) {
    if (r->events) cuzk_net_timer_clear(r->loop, &r->events->timer);
}

void cuzk__rpc_events_free(cuzk_rpc *r) {
    cuzk__rpc_events_hub *h = r->events;
    if (!h) return;
    while (h->list) {
        subscriber *s = h->list;
        h->list = s->next;
        drop(s);
    }
    pthread_mutex_destroy(&h->lock);
    cuzk_free(h);
    r->events = NULL;
}

void cuzk__rpc_events(void *ctx, const cuzk_http_request *req, cuzk_http_response *res) {
    cuzk_rpc *r = ctx;
    cuzk__rpc_events_hub *h = r->events;
    cuzk_err err = {0};
    subscriber *s = NULL;
    (void)req;
    pthread_mutex_lock(&h->lock);
    const bool full = h->n >= MAX_SUBSCRIBERS;
    if (!full) h->n++;
    pthread_mutex_unlock(&h->lock);
    if (full) {
        cuzk_http_respond_error(res, 503, "busy", "%d clients watch already; poll /status instead",
                                (int)MAX_SUBSCRIBERS);
        return;
    }
    cuzk_status st = cuzk_alloc((void **)&s, 1, sizeof *s);
    if (st == CUZK_OK) {
        s->stream = cuzk_http_stream_new(res, 200, "text/event-stream");
        if (s->stream) {
            /* tells of all jobs that live; the first status comes with the next tick */
            st = cuzk_engine_watch_new(r->engine, "", changed, s, &s->watch, &err);
            if (st == CUZK_OK) {
                pthread_mutex_lock(&h->lock);
                s->next = h->list;
                h->list = s;
                pthread_mutex_unlock(&h->lock);
                return;
            }
            cuzk_http_stream_close(s->stream);
        }
    } else {
        cuzk__rpc_respond_failed(res, st, NULL, NULL);
    }
    cuzk_free(s);
    pthread_mutex_lock(&h->lock);
    h->n--;
    pthread_mutex_unlock(&h->lock);
}
