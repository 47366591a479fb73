/* Calls that wait for jobs: AwaitProof, Prove, ProveCircom, WatchJob, WatchEngine. No thread waits
 * with them: the engine tells of changes, the loop of time and of clients that leave.
 *
 * Whoever sets `fired` first (the job's end, the time limit, the call's end, a failure at the
 * start) decides how the call ends, and queues `end`. References: one of each queued task, one of
 * the timer while it is set, one of what the call's cancellation would call. */
#include "base/clock.h"
#include "base/mem.h"
#include "rpc/replies.h"

#include <stdio.h>
#include <string.h>

typedef enum waiter_mode { AWAIT, PROVE, PROVE_CIRCOM, WATCH_JOB, WATCH_ALL } waiter_mode;
typedef enum waiter_cause { ENDED, TIME, GONE } waiter_cause;

/* Unsent bytes above which a watcher is not told of changes but the last. */
enum { ENOUGH_UNSENT = 1 << 20 };

typedef struct cuzk__rpc_waiter {
    cuzk__rpc_task begin, end, tick;
    struct cuzk__rpc_waiter *next, **prev; /* rpc->waiters_lock */
    cuzk_rpc *rpc;
    cuzk_grpc_call *call;
    waiter_mode mode;
    waiter_cause cause;
    atomic_uint refs;
    atomic_bool fired, ticking;
    bool timed;            /* there is, or was, a timer */
    bool cancel_when_gone; /* what the client asked for */
    int64_t interval_ns;   /* WATCH_ALL */
    cuzk_net_timer timer;
    pthread_mutex_t lock; /* begin holds it: id and watch are not there before it is done */
    cuzk_engine_watch *watch;
    char id[CUZK_ENGINE_REQUEST_ID];
    cuzk_engine_job job; /* as it ended */
} cuzk__rpc_waiter;

static cuzk__rpc_waiter *from_task(cuzk__rpc_task *t, size_t offset) {
    return (cuzk__rpc_waiter *)(void *)((char *)t - offset);
}

static void release(cuzk__rpc_waiter *w) {
    if (atomic_fetch_sub(&w->refs, 1) != 1) return;
    if (w->rpc) {
        pthread_mutex_lock(&w->rpc->waiters_lock);
        *w->prev = w->next;
        if (w->next) w->next->prev = w->prev;
        pthread_mutex_unlock(&w->rpc->waiters_lock);
    }
    cuzk_grpc_call_unref(w->call);
    pthread_mutex_destroy(&w->lock);
    cuzk_free(w);
}

static void fire(cuzk__rpc_waiter *w, waiter_cause cause, const cuzk_engine_job *job) {
    if (atomic_exchange(&w->fired, true)) return;
    w->cause = cause;
    if (job) w->job = *job;
    atomic_fetch_add(&w->refs, 1);
    cuzk__rpc_lane_put(&w->rpc->quick, &w->end);
}

/* After an answer that ends the call: taken, its cancellation will call nobody. */
static void answered(cuzk__rpc_waiter *w, cuzk_status taken) {
    if (taken == CUZK_OK) release(w);
}

static void on_cancel(void *ctx, cuzk_grpc_call *call) {
    (void)call;
    fire(ctx, GONE, NULL);
    release(ctx);
}

/* Loop thread. */
static void on_time(void *ctx) {
    cuzk__rpc_waiter *w = ctx;
    if (w->mode != WATCH_ALL) {
        fire(w, TIME, NULL);
        release(w);
        return;
    }
    if (!atomic_load(&w->fired) && !atomic_exchange(&w->ticking, true)) {
        atomic_fetch_add(&w->refs, 1);
        cuzk__rpc_lane_put(&w->rpc->quick, &w->tick);
    }
    if (atomic_load(&w->fired) ||
        cuzk_net_timer_set(w->rpc->loop, &w->timer, cuzk_now_ns() + w->interval_ns, on_time, w) !=
            CUZK_OK)
        release(w);
}

/* Loop thread, or the loop is over. */
static void clear_timer(void *ctx) {
    cuzk__rpc_waiter *w = ctx;
    if (w->timer.place) {
        cuzk_net_timer_clear(w->rpc->loop, &w->timer);
        release(w);
    }
    release(w);
}

static void set_timer(cuzk__rpc_waiter *w, int64_t wait_ns) {
    const int64_t now = cuzk_now_ns();
    const int64_t at = wait_ns < INT64_MAX - now ? now + wait_ns : INT64_MAX;
    w->timed = true;
    atomic_fetch_add(&w->refs, 1);
    if (cuzk_net_timer_set(w->rpc->loop, &w->timer, at, on_time, w) == CUZK_OK) return;
    release(w);
    fire(w, TIME, NULL); /* no memory for a timer: the time is over at once */
}

/* An engine thread, or the one that began to watch. */
static void changed(void *ctx, const cuzk_engine_job *job) {
    cuzk__rpc_waiter *w = ctx;
    const bool over = cuzk__rpc_ended(job->state) && w->mode != WATCH_ALL;
    if (w->mode >= WATCH_JOB && (over || cuzk_grpc_call_unsent(w->call) < ENOUGH_UNSENT)) {
        cuzk_engine_job copy = *job;
        Cuzk__V1__Job m;
        cuzk__rpc_job_message(&m, &copy);
        if (w->mode == WATCH_JOB) {
            (void)cuzk__rpc_send(w->call, &m);
        } else {
            Cuzk__V1__EngineEvent event;
            cuzk__v1__engine_event__init(&event);
            event.event_case = CUZK__V1__ENGINE_EVENT__EVENT_JOB;
            event.job = &m;
            (void)cuzk__rpc_send(w->call, &event);
        }
    }
    if (over) fire(w, ENDED, job);
}

static void send_status(cuzk__rpc_task *t) {
    cuzk__rpc_waiter *w = from_task(t, offsetof(cuzk__rpc_waiter, tick));
    cuzk_engine_status *s = NULL;
    cuzk__rpc_status_message m;
    if (!atomic_load(&w->fired) && cuzk_grpc_call_unsent(w->call) < ENOUGH_UNSENT &&
        cuzk_engine_snapshot(w->rpc->engine, &s, NULL) == CUZK_OK &&
        cuzk__rpc_make_status(&m, s, w->rpc->config.version) == CUZK_OK) {
        Cuzk__V1__EngineEvent event;
        cuzk__v1__engine_event__init(&event);
        event.event_case = CUZK__V1__ENGINE_EVENT__EVENT_STATUS;
        event.status = &m.m;
        (void)cuzk__rpc_send(w->call, &event);
        cuzk__rpc_free_status(&m);
    }
    cuzk_free(s);
    atomic_store(&w->ticking, false);
    release(w);
}

/* Answers with the job as it ended. */
static void answer_ended(cuzk__rpc_waiter *w, cuzk_engine_job *job) {
    cuzk_engine *e = w->rpc->engine;
    cuzk_err err = {0};
    cuzk_buf proof = CUZK_BUF_INIT;
    Cuzk__V1__AwaitProofResponse m;
    cuzk_status st = CUZK_OK, taken;
    if (w->mode == WATCH_JOB) {
        answered(w, cuzk_grpc_end(w->call, CUZK_GRPC_OK, NULL, NULL, 0));
        return;
    }
    if (job->state == CUZK_ENGINE_DONE) st = cuzk_engine_result(e, job->id, false, &proof, &err);
    if (st != CUZK_OK) {
        taken = cuzk__rpc_fail(w->call, st, &err, NULL);
    } else {
        cuzk__rpc_await_message(&m, job, &proof);
        if (w->mode == AWAIT) {
            taken = cuzk__rpc_reply(w->call, &m);
        } else {
            Cuzk__V1__ProveResponse p;
            cuzk__v1__prove_response__init(&p);
            p.result = &m;
            taken = cuzk__rpc_reply(w->call, &p);
        }
        /* The client has it only now; whether it arrived nobody tells, so retention still runs. */
        if (taken == CUZK_OK && job->state == CUZK_ENGINE_DONE) {
            proof.len = 0;
            if (cuzk_engine_result(e, job->id, true, &proof, NULL) != CUZK_OK) proof.len = 0;
        }
    }
    answered(w, taken);
    cuzk_buf_free(&proof);
}

static void end(cuzk__rpc_task *t) {
    cuzk__rpc_waiter *w = from_task(t, offsetof(cuzk__rpc_waiter, end));
    pthread_mutex_lock(&w->lock);
    cuzk_engine_watch *watch = w->watch;
    w->watch = NULL;
    pthread_mutex_unlock(&w->lock);
    if (watch) cuzk_engine_unwatch(watch);

    if (w->cause == ENDED) {
        answer_ended(w, &w->job);
    } else if (w->cause == GONE) {
        if (w->cancel_when_gone && w->id[0] && !atomic_load(&w->rpc->stopping)) {
            bool running;
            if (cuzk_engine_cancel(w->rpc->engine, w->id, &running, NULL) != CUZK_OK)
                w->cancel_when_gone = false; /* it ended meanwhile */
        }
    } else {
        cuzk_err err = {0};
        const cuzk_status st = cuzk_engine_get(w->rpc->engine, w->id, &w->job, &err);
        if (st == CUZK_OK)
            answer_ended(w, &w->job); /* or goes on: then the answer says so */
        else
            answered(w, cuzk__rpc_fail(w->call, st, &err, NULL));
    }
    if (w->timed) {
        atomic_fetch_add(&w->refs, 1);
        /* without memory for it, the timer finds that it is late */
        if (cuzk_net_post(w->rpc->loop, clear_timer, w) != CUZK_OK) release(w);
    }
    release(w);
}

/* Prove's first half: the job's id, or an answer. */
static bool submit(cuzk__rpc_waiter *w) {
    const uint8_t *msg = NULL;
    size_t n = 0;
    cuzk_err err = {0};
    cuzk__rpc_submission s;
    cuzk_engine_accepted accepted = {0};
    cuzk_engine_refusal refusal = {0};
    const int64_t deadline = cuzk_grpc_call_deadline_ns(w->call);
    (void)cuzk_grpc_call_request(w->call, &msg, &n);
    const char *who = cuzk_grpc_call_identity(w->call);
    cuzk__rpc_submission_init(&s, who ? who : cuzk_grpc_call_peer(w->call));
    cuzk_status st = w->mode == PROVE ? cuzk__rpc_read_submit(&s, msg, n, true, &err)
                                      : cuzk__rpc_read_circom(&s, msg, n, &err);
    const bool bad = st != CUZK_OK;
    if (!bad) {
        if (deadline != INT64_MAX) {
            const int64_t wall = cuzk__rpc_wall_ns() + (deadline - cuzk_now_ns());
            if (!s.request.deadline_ns || wall < s.request.deadline_ns)
                s.request.deadline_ns = wall;
        }
        w->cancel_when_gone = s.cancel_on_disconnect;
        st = cuzk_engine_submit(w->rpc->engine, &s.request, &accepted, &refusal, &err);
    }
    cuzk__rpc_submission_free(&s);
    if (st == CUZK_OK) {
        snprintf(w->id, sizeof w->id, "%s", accepted.job_id);
        cuzk_grpc_call_drop_request(w->call);
        return true;
    }
    if (!atomic_exchange(&w->fired, true))
        answered(w, cuzk__rpc_fail(w->call, st, &err, bad ? NULL : &refusal));
    return false;
}

static void begin(cuzk__rpc_task *t) {
    cuzk__rpc_waiter *w = from_task(t, offsetof(cuzk__rpc_waiter, begin));
    cuzk_err err = {0};
    pthread_mutex_lock(&w->lock);
    bool go = !atomic_load(&w->fired);
    if (go && (w->mode == PROVE || w->mode == PROVE_CIRCOM)) go = submit(w);
    if (go && !atomic_load(&w->fired)) {
        const cuzk_status st =
            cuzk_engine_watch_new(w->rpc->engine, w->id, changed, w, &w->watch, &err);
        if (st != CUZK_OK && !atomic_exchange(&w->fired, true))
            answered(w, cuzk__rpc_fail(w->call, st, &err, NULL));
    }
    pthread_mutex_unlock(&w->lock);
    release(w);
}

static cuzk__rpc_waiter *new_waiter(cuzk_rpc *r, cuzk_grpc_call *call, waiter_mode mode) {
    cuzk__rpc_waiter *w = NULL;
    if (cuzk__rpc_lane_waiting(&r->quick) >= r->config.backlog) {
        cuzk_grpc_fail_retry(call, CUZK_GRPC_RESOURCE_EXHAUSTED, 1000000000,
                             "too many calls at once; try again later");
        return NULL;
    }
    if (cuzk_alloc((void **)&w, 1, sizeof *w) != CUZK_OK) {
        cuzk_grpc_fail_retry(call, CUZK_GRPC_RESOURCE_EXHAUSTED, 1000000000,
                             "not enough memory for the call; try again later");
        return NULL;
    }
    w->rpc = r;
    w->call = cuzk_grpc_call_ref(call);
    w->mode = mode;
    w->begin.fn = begin;
    w->end.fn = end;
    w->tick.fn = send_status;
    pthread_mutex_init(&w->lock, NULL);
    atomic_init(&w->refs, 2); /* begin, on_cancel */
    pthread_mutex_lock(&r->waiters_lock);
    w->next = r->waiters;
    w->prev = &r->waiters;
    if (w->next) w->next->prev = &w->next;
    r->waiters = w;
    pthread_mutex_unlock(&r->waiters_lock);
    cuzk_grpc_call_on_cancel(call, on_cancel, w);
    return w;
}

/* A call that names a job: id at most so long as ids and request ids are. */
static bool take_id(cuzk_grpc_call *call, const char *id, char out[CUZK_ENGINE_REQUEST_ID]) {
    const size_t n = strlen(id);
    if (n > 0 && n < CUZK_ENGINE_REQUEST_ID) {
        memcpy(out, id, n + 1);
        return true;
    }
    cuzk_grpc_fail(call, CUZK_GRPC_INVALID_ARGUMENT,
                   "job_id: expected the id that SubmitProof gave, actual %s",
                   n ? "a longer text" : "none");
    return false;
}

static cuzk_rpc *rpc_of(void *ctx) {
    return ((cuzk__rpc_method *)ctx)->rpc;
}

static void await_proof(void *ctx, cuzk_grpc_call *call) {
    char id[CUZK_ENGINE_REQUEST_ID];
    cuzk__rpc_waiter *w;
    Cuzk__V1__AwaitProofRequest *req =
        cuzk__rpc_request(call, &cuzk__v1__await_proof_request__descriptor);
    if (!req) return;
    if (take_id(call, req->job_id, id) && (w = new_waiter(rpc_of(ctx), call, AWAIT))) {
        memcpy(w->id, id, sizeof id);
        w->cancel_when_gone = req->cancel_on_disconnect;
        if (req->timeout_ms)
            set_timer(w, req->timeout_ms < INT64_MAX / 1000000 ? (int64_t)req->timeout_ms * 1000000
                                                               : INT64_MAX);
        cuzk__rpc_lane_put(&w->rpc->quick, &w->begin);
    }
    cuzk__rpc_unpacked_free(req);
}

static void prove(void *ctx, cuzk_grpc_call *call) {
    cuzk__rpc_waiter *w = new_waiter(rpc_of(ctx), call, PROVE);
    if (w) cuzk__rpc_lane_put(&w->rpc->quick, &w->begin);
}

static void prove_circom(void *ctx, cuzk_grpc_call *call) {
    cuzk__rpc_waiter *w = new_waiter(rpc_of(ctx), call, PROVE_CIRCOM);
    if (w) cuzk__rpc_lane_put(&w->rpc->quick, &w->begin);
}

static void watch_job(void *ctx, cuzk_grpc_call *call) {
    char id[CUZK_ENGINE_REQUEST_ID];
    cuzk__rpc_waiter *w;
    Cuzk__V1__WatchJobRequest *req =
        cuzk__rpc_request(call, &cuzk__v1__watch_job_request__descriptor);
    if (!req) return;
    if (take_id(call, req->job_id, id) && (w = new_waiter(rpc_of(ctx), call, WATCH_JOB))) {
        memcpy(w->id, id, sizeof id);
        cuzk__rpc_lane_put(&w->rpc->quick, &w->begin);
    }
    cuzk__rpc_unpacked_free(req);
}

static void watch_engine(void *ctx, cuzk_grpc_call *call) {
    Cuzk__V1__WatchEngineRequest *req =
        cuzk__rpc_request(call, &cuzk__v1__watch_engine_request__descriptor);
    if (!req) return;
    cuzk__rpc_waiter *w = new_waiter(rpc_of(ctx), call, WATCH_ALL);
    if (w) {
        const uint32_t ms = req->interval_ms == 0 ? 1000 : req->interval_ms;
        w->interval_ns = (int64_t)(ms < 200 ? 200 : ms) * 1000000;
        set_timer(w, 0);
        cuzk__rpc_lane_put(&w->rpc->quick, &w->begin);
    }
    cuzk__rpc_unpacked_free(req);
}

void cuzk__rpc_waiting_methods(cuzk_rpc *r) {
    cuzk__rpc_add_method(r, "/cuzk.v1.ProvingEngine/AwaitProof", CUZK_GRPC_UNARY, NULL, false,
                         await_proof);
    cuzk__rpc_add_method(r, "/cuzk.v1.ProvingEngine/Prove", CUZK_GRPC_UNARY, NULL, false, prove);
    cuzk__rpc_add_method(r, "/cuzk.v1.Engine/ProveCircom", CUZK_GRPC_UNARY, NULL, false,
                         prove_circom);
    cuzk__rpc_add_method(r, "/cuzk.v1.Engine/WatchJob", CUZK_GRPC_SERVER_STREAM, NULL, false,
                         watch_job);
    cuzk__rpc_add_method(r, "/cuzk.v1.Engine/WatchEngine",
                         CUZK_GRPC_SERVER_STREAM | CUZK_GRPC_WATCH, NULL, false, watch_engine);
}

void cuzk__rpc_waiters_free(cuzk_rpc *r) {
    pthread_mutex_lock(&r->waiters_lock);
    cuzk__rpc_waiter *w = r->waiters;
    r->waiters = NULL;
    pthread_mutex_unlock(&r->waiters_lock);
    while (w) {
        cuzk__rpc_waiter *next = w->next;
        const bool set = w->timer.place != 0;
        if (set) cuzk_net_timer_clear(r->loop, &w->timer);
        w->rpc = NULL; /* a clear_timer that is posted may outlive us */
        if (set) release(w);
        w = next;
    }
}
