/* Every gRPC method over a connection, with an engine that answers what the test says. */
#include "support.h"

#include "base/clock.h"
#include "base/mem.h"
#include "fake_engine.h"
#include "net/address.h"
#include "net/grpc_client.h"
#include "rpc/embedded.h"
#include "rpc/internal.h"
#include "rpc/wire.h"

#include <cuzk/v1/engine.pb-c.h>
#include <cuzk/v1/proving.pb-c.h>

#include <jansson.h>
#include <poll.h>
#include <strings.h>
#include <sys/socket.h>
#include <unistd.h>

#define PROVING "/cuzk.v1.ProvingEngine/"
#define ENGINE "/cuzk.v1.Engine/"

typedef struct world {
    cuzk_engine engine;
    cuzk_net_loop *loop;
    cuzk_rpc *rpc;
    char address[CUZK_NET_ADDRESS];
    cuzk_grpc_client *client;
    cuzk_grpc_result result; /* of the last call */
    bool freeing;
} world;

static void connect_to(world *w, cuzk_grpc_client **out) {
    cuzk_err err = {0};
    if (cuzk_grpc_client_new(out, w->address, NULL, &err) != CUZK_OK) fail_msg("%s", err.msg);
}

static int setup(void **state) {
    static world the;
    world *w = &the;
    cuzk_err err = {0};
    const cuzk_rpc_config config = {.version = "v", .threads = 3, .slow_threads = 2};
    memset(w, 0, sizeof *w);
    fake_engine_init(&w->engine);
    assert_int_equal(cuzk_net_loop_new(&w->loop, &err), CUZK_OK);
    assert_int_equal(cuzk_rpc_new(&w->rpc, &w->engine, w->loop, &config, &err), CUZK_OK);
    assert_int_equal(cuzk_rpc_listen_grpc(w->rpc, "127.0.0.1:0", NULL, w->address, &err), CUZK_OK);
    assert_int_equal(cuzk_net_loop_start(w->loop, &err), CUZK_OK);
    connect_to(w, &w->client);
    *state = w;
    return 0;
}

static void free_rpc(void *ctx) {
    world *w = ctx;
    cuzk_rpc_free(w->rpc);
    w->rpc = NULL;
}

static int teardown(void **state) {
    world *w = *state;
    cuzk_grpc_client_free(w->client);
    if (!w->freeing) assert_int_equal(cuzk_net_post(w->loop, free_rpc, w), CUZK_OK);
    cuzk_net_loop_free(w->loop);
    assert_null(w->rpc);
    assert_int_equal(fake_engine_watches(&w->engine), 0);
    return 0;
}

/* Calls with a message; the code that came. */
static int call_as(world *w, cuzk_grpc_client *c, const char *path, const void *msg,
                   int64_t timeout_ns, cuzk_buf *reply) {
    uint8_t bytes[4096];
    cuzk_err err = {0};
    const size_t n = protobuf_c_message_get_packed_size(msg);
    assert_true(n <= sizeof bytes);
    protobuf_c_message_pack(msg, bytes);
    const cuzk_status st =
        cuzk_grpc_client_call(c, path, bytes, n, timeout_ns, reply, &w->result, &err);
    if (st != CUZK_OK) fail_msg("%s: %s", path, err.msg);
    return w->result.code;
}

/* A call that must go well; its answer, to be freed with cuzk__rpc_unpacked_free. */
static void *good(world *w, const char *path, const void *msg,
                  const ProtobufCMessageDescriptor *type) {
    cuzk_buf reply = CUZK_BUF_INIT;
    if (call_as(w, w->client, path, msg, 0, &reply) != CUZK_GRPC_OK)
        fail_msg("%s: %d %s", path, w->result.code, w->result.message);
    void *m = cuzk__rpc_unpack(type, (const uint8_t *)reply.data, reply.len);
    assert_non_null(m);
    cuzk_buf_free(&reply);
    return m;
}

static uint64_t calls_heard(const world *w) {
    cuzk_grpc_stats s;
    cuzk_grpc_server_stats(w->rpc->grpc, &s);
    return s.calls_total;
}

/* A call that runs into its deadline, made again when the client was held up so long that it ended
 * it before the server had heard of it. */
static void too_late(world *w, const char *path, const void *msg) {
    const Cuzk__V1__GetMetricsRequest after = CUZK__V1__GET_METRICS_REQUEST__INIT;
    cuzk_buf reply = CUZK_BUF_INIT;
    uint64_t before;
    do {
        before = calls_heard(w);
        assert_int_equal(call_as(w, w->client, path, msg, 50000000, &reply),
                         CUZK_GRPC_DEADLINE_EXCEEDED);
        cuzk__rpc_unpacked_free(
            good(w, PROVING "GetMetrics", &after, &cuzk__v1__get_metrics_response__descriptor));
    } while (calls_heard(w) != before + 2);
    cuzk_buf_free(&reply);
}

static void bad(world *w, const char *path, const void *msg, int code, const char *word) {
    cuzk_buf reply = CUZK_BUF_INIT;
    assert_int_equal(call_as(w, w->client, path, msg, 0, &reply), code);
    if (!strstr(w->result.message, word)) fail_msg("'%s' lacks '%s'", w->result.message, word);
    cuzk_buf_free(&reply);
}

static char *text(const char *s) {
    return (char *)(uintptr_t)s;
}

static Cuzk__V1__SubmitProofRequest porep(const char *request_id) {
    static uint8_t c1[] = "{}";
    Cuzk__V1__SubmitProofRequest m = CUZK__V1__SUBMIT_PROOF_REQUEST__INIT;
    m.request_id = text(request_id);
    m.proof_kind = CUZK__V1__PROOF_KIND__POREP_SEAL_COMMIT;
    m.vanilla_proof.data = c1;
    m.vanilla_proof.len = 2;
    return m;
}

/* Submits, and gives the job's id. */
static void submitted(world *w, const char *request_id, char id[64]) {
    const Cuzk__V1__SubmitProofRequest m = porep(request_id);
    Cuzk__V1__SubmitProofResponse *r =
        good(w, PROVING "SubmitProof", &m, &cuzk__v1__submit_proof_response__descriptor);
    snprintf(id, 64, "%s", r->job_id);
    cuzk__rpc_unpacked_free(r);
}

static void test_submit(void **state) {
    world *w = *state;
    const Cuzk__V1__SubmitProofRequest m = porep("once");
    for (int i = 0; i < 2; i++) {
        Cuzk__V1__SubmitProofResponse *r =
            good(w, PROVING "SubmitProof", &m, &cuzk__v1__submit_proof_response__descriptor);
        assert_string_equal(r->job_id, "fake-1");
        assert_int_equal(r->queue_position, 3);
        assert_int_equal(r->queue_depth, 4);
        assert_string_equal(r->assigned_gpu, "GPU-0001"); /* the other one is set aside */
        assert_int_equal(r->existed, i == 1);
        cuzk__rpc_unpacked_free(r);
    }
    assert_int_equal(w->engine.kind, CUZK_ENGINE_POREP);
    assert_int_equal(w->engine.part_len[0], 2);
    assert_true(strstr(w->engine.jobs[0].client, "127.0.0.1:") == w->engine.jobs[0].client);

    static uint8_t wtns[] = "wtns";
    Cuzk__V1__SubmitCircomRequest c = CUZK__V1__SUBMIT_CIRCOM_REQUEST__INIT;
    c.key = text("mul3");
    c.wtns.data = wtns;
    c.wtns.len = 4;
    Cuzk__V1__SubmitProofResponse *r =
        good(w, ENGINE "SubmitCircom", &c, &cuzk__v1__submit_proof_response__descriptor);
    assert_string_equal(r->job_id, "fake-2");
    cuzk__rpc_unpacked_free(r);
    assert_int_equal(w->engine.kind, CUZK_ENGINE_CIRCOM);
    assert_string_equal(w->engine.meta, "{\"key\":\"mul3\"}");
}

static void test_submit_refused(void **state) {
    world *w = *state;
    Cuzk__V1__SubmitProofRequest m = porep("");
    cuzk_engine *e = &w->engine;
    m.vanilla_proof.len = 0;
    bad(w, PROVING "SubmitProof", &m, CUZK_GRPC_INVALID_ARGUMENT, "vanilla_proof: expected");
    m = porep("");
    e->submit_status = CUZK_STATUS_BUSY;
    e->refusal = (cuzk_engine_refusal){CUZK_REASON_QUEUE_FULL, 0, 0, 2500000000, 99};
    bad(w, PROVING "SubmitProof", &m, CUZK_GRPC_RESOURCE_EXHAUSTED, "queue depth 99");
    assert_true(w->result.retry_ns == 2500000000);
    e->refusal.reason = CUZK_REASON_DRAINING;
    bad(w, PROVING "SubmitProof", &m, CUZK_GRPC_UNAVAILABLE, "another engine");
    e->submit_status = CUZK_STATUS_NO_MEMORY;
    e->refusal = (cuzk_engine_refusal){CUZK_REASON_HOST, 1000, 10, 0, 1};
    bad(w, PROVING "SubmitProof", &m, CUZK_GRPC_FAILED_PRECONDITION, "needs 1000 bytes, of 10");
    assert_true(w->result.retry_ns < 0);
    e->submit_status = CUZK_STATUS_CONFLICT;
    e->refusal = (cuzk_engine_refusal){0};
    bad(w, PROVING "SubmitProof", &m, CUZK_GRPC_ALREADY_EXISTS, "told so by the test");
    Cuzk__V1__ProveRequest p = CUZK__V1__PROVE_REQUEST__INIT;
    p.submit = &m;
    bad(w, PROVING "Prove", &p, CUZK_GRPC_ALREADY_EXISTS, "told so by the test");
}

/* ---- waiting ---- */

typedef struct later {
    world *w;
    const char *id;
    cuzk_engine_state state;
    const char *text;
    bool when_watched;
} later;

/* Ends a job soon, from another thread, as the engine does. */
static void *end_soon(void *ctx) {
    const later *l = ctx;
    for (int i = 0; l->when_watched && i < 60000 && fake_engine_watches(&l->w->engine) == 0; i++)
        usleep(1000);
    fake_engine_end(&l->w->engine, l->id, l->state, l->text);
    return NULL;
}

static Cuzk__V1__AwaitProofResponse *await(world *w, const char *id, uint64_t timeout_ms) {
    Cuzk__V1__AwaitProofRequest m = CUZK__V1__AWAIT_PROOF_REQUEST__INIT;
    m.job_id = text(id);
    m.timeout_ms = timeout_ms;
    return good(w, PROVING "AwaitProof", &m, &cuzk__v1__await_proof_response__descriptor);
}

static void test_await(void **state) {
    static const struct {
        cuzk_engine_state end;
        int status;
    } cases[] = {
        {CUZK_ENGINE_DONE, CUZK__V1__AWAIT_PROOF_RESPONSE__STATUS__COMPLETED},
        {CUZK_ENGINE_FAILED, CUZK__V1__AWAIT_PROOF_RESPONSE__STATUS__FAILED},
        {CUZK_ENGINE_CANCELLED, CUZK__V1__AWAIT_PROOF_RESPONSE__STATUS__CANCELLED},
        {CUZK_ENGINE_DEADLINE, CUZK__V1__AWAIT_PROOF_RESPONSE__STATUS__FAILED},
    };
    world *w = *state;
    for (size_t i = 0; i < 4; i++) {
        char id[64];
        pthread_t thread;
        submitted(w, "", id);
        later l = {w, id, cases[i].end, "words", true};
        pthread_create(&thread, NULL, end_soon, &l);
        Cuzk__V1__AwaitProofResponse *r = await(w, id, i % 2 ? 60000 : 0);
        pthread_join(thread, NULL);
        assert_string_equal(r->job_id, id);
        assert_int_equal(r->status, cases[i].status);
        assert_int_equal(r->deadline_passed, cases[i].end == CUZK_ENGINE_DEADLINE);
        if (i == 0) {
            assert_int_equal(r->proof.len, 5);
            assert_memory_equal(r->proof.data, "words", 5);
        } else {
            assert_int_equal(r->proof.len, 0);
            assert_string_equal(r->error_message, "words");
        }
        assert_int_equal(r->queue_wait_ms, 1);
        assert_int_equal(r->srs_load_ms, 2);
        assert_int_equal(r->synthesis_ms, 3);
        assert_int_equal(r->gpu_compute_ms, 4);
        assert_int_equal(r->total_ms, 5000);
        cuzk__rpc_unpacked_free(r);
        /* and once more, of a job that has ended */
        r = await(w, id, 0);
        assert_int_equal(r->status, cases[i].status);
        cuzk__rpc_unpacked_free(r);
    }
    assert_int_equal(w->engine.fetches, 2);
}

static void test_await_limits(void **state) {
    world *w = *state;
    char id[64];
    submitted(w, "", id);
    Cuzk__V1__AwaitProofResponse *r = await(w, id, 30);
    assert_int_equal(r->status, CUZK__V1__AWAIT_PROOF_RESPONSE__STATUS__TIMEOUT);
    assert_non_null(strstr(r->error_message, "call AwaitProof again"));
    cuzk__rpc_unpacked_free(r);
    assert_int_equal(w->engine.cancels, 0);

    Cuzk__V1__AwaitProofRequest m = CUZK__V1__AWAIT_PROOF_REQUEST__INIT;
    m.job_id = text("nobody");
    bad(w, PROVING "AwaitProof", &m, CUZK_GRPC_NOT_FOUND, "no job nobody");
    m.job_id = text("");
    bad(w, PROVING "AwaitProof", &m, CUZK_GRPC_INVALID_ARGUMENT, "job_id: expected the id");
}

static int64_t deadline(world *w) {
    pthread_mutex_lock(&w->engine.lock);
    const int64_t ns = w->engine.deadline_ns;
    pthread_mutex_unlock(&w->engine.lock);
    return ns;
}

static unsigned cancels(world *w) {
    pthread_mutex_lock(&w->engine.lock);
    const unsigned n = w->engine.cancels;
    pthread_mutex_unlock(&w->engine.lock);
    return n;
}

/* A call that ends before its job cancels it only when it said so. */
static void test_disconnect(void **state) {
    world *w = *state;
    char id[64];
    submitted(w, "", id);
    Cuzk__V1__AwaitProofRequest m = CUZK__V1__AWAIT_PROOF_REQUEST__INIT;
    m.job_id = id;
    too_late(w, PROVING "AwaitProof", &m);
    for (int i = 0; i < 20000 && fake_engine_watches(&w->engine) > 0; i++)
        usleep(1000);
    assert_int_equal(fake_engine_watches(&w->engine), 0);
    assert_int_equal(cancels(w), 0);

    m.cancel_on_disconnect = true;
    too_late(w, PROVING "AwaitProof", &m);
    for (int i = 0; i < 20000 && cancels(w) == 0; i++)
        usleep(1000);
    assert_int_equal(cancels(w), 1);
}

static void test_prove(void **state) {
    world *w = *state;
    pthread_t thread;
    cuzk_buf reply = CUZK_BUF_INIT;
    Cuzk__V1__SubmitProofRequest m = porep("p");
    Cuzk__V1__ProveRequest p = CUZK__V1__PROVE_REQUEST__INIT;
    p.submit = &m;
    later l = {w, "p", CUZK_ENGINE_DONE, "proof", true};
    pthread_create(&thread, NULL, end_soon, &l);
    const int64_t before = cuzk__rpc_wall_ns();
    assert_int_equal(call_as(w, w->client, PROVING "Prove", &p, 3600000000000, &reply),
                     CUZK_GRPC_OK);
    pthread_join(thread, NULL);
    Cuzk__V1__ProveResponse *r = cuzk__rpc_unpack(&cuzk__v1__prove_response__descriptor,
                                                  (const uint8_t *)reply.data, reply.len);
    assert_non_null(r->result);
    assert_memory_equal(r->result->proof.data, "proof", 5);
    cuzk__rpc_unpacked_free(r);
    /* the call's deadline became the job's */
    const int64_t off = deadline(w) - before - 3600000000000;
    assert_true(off > -5000000000 && off < 60000000000);

    /* unless the job has an earlier one */
    m.request_id = text("");
    m.deadline_unix_ms = 123;
    for (int i = 0; i < 50 && deadline(w) != 123000000;
         i++) /* a held-up server takes it too late */
        too_late(w, PROVING "Prove", &p);
    assert_true(deadline(w) == 123000000);
    cuzk_buf_free(&reply);
    bad(w, PROVING "Prove", &m, CUZK_GRPC_INVALID_ARGUMENT, "submit: expected the job");
}

/* ---- streams ---- */

typedef struct seen {
    world *w;
    unsigned jobs, statuses, done;
    bool events;
} seen;

static bool on_message(void *ctx, const uint8_t *msg, size_t len) {
    seen *s = ctx;
    if (s->events) {
        Cuzk__V1__EngineEvent *e = cuzk__rpc_unpack(&cuzk__v1__engine_event__descriptor, msg, len);
        assert_non_null(e);
        if (e->event_case == CUZK__V1__ENGINE_EVENT__EVENT_STATUS) {
            s->statuses++;
            assert_int_equal(e->status->n_gpus, 2);
        } else {
            s->jobs++;
        }
        cuzk__rpc_unpacked_free(e);
        return s->statuses < 2 || s->jobs < 1;
    }
    Cuzk__V1__Job *job = cuzk__rpc_unpack(&cuzk__v1__job__descriptor, msg, len);
    assert_non_null(job);
    s->jobs++;
    if (job->state == CUZK__V1__JOB_STATE__DONE) s->done++;
    if (s->jobs == 1) fake_engine_end(&s->w->engine, job->job_id, CUZK_ENGINE_DONE, "x");
    cuzk__rpc_unpacked_free(job);
    return true;
}

static void stream(world *w, const char *path, const void *msg, seen *s) {
    uint8_t bytes[256];
    cuzk_err err = {0};
    const size_t n = protobuf_c_message_pack(msg, bytes);
    assert_int_equal(cuzk_grpc_client_stream(w->client, path, bytes, n, 20000000000, on_message, s,
                                             &w->result, &err),
                     CUZK_OK);
}

static void test_watch(void **state) {
    world *w = *state;
    char id[64];
    submitted(w, "", id);
    Cuzk__V1__WatchJobRequest m = CUZK__V1__WATCH_JOB_REQUEST__INIT;
    m.job_id = id;
    seen s = {.w = w};
    stream(w, ENGINE "WatchJob", &m, &s);
    assert_int_equal(w->result.code, CUZK_GRPC_OK);
    assert_int_equal(s.jobs, 2);
    assert_int_equal(s.done, 1);
    m.job_id = text("nobody");
    stream(w, ENGINE "WatchJob", &m, &s);
    assert_int_equal(w->result.code, CUZK_GRPC_NOT_FOUND);

    Cuzk__V1__WatchEngineRequest all = CUZK__V1__WATCH_ENGINE_REQUEST__INIT;
    all.interval_ms = 1; /* 200 is the least */
    seen t = {.w = w, .events = true};
    stream(w, ENGINE "WatchEngine", &all, &t);
    assert_int_equal(w->result.code, CUZK_GRPC_CANCELLED); /* by us, having seen enough */
    assert_true(t.statuses >= 2 && t.jobs >= 1);
}

/* ---- the others ---- */

static void test_cancel(void **state) {
    world *w = *state;
    char id[64];
    submitted(w, "", id);
    w->engine.jobs[0].state = CUZK_ENGINE_RUNNING;
    Cuzk__V1__CancelProofRequest m = CUZK__V1__CANCEL_PROOF_REQUEST__INIT;
    m.job_id = id;
    for (int i = 0; i < 2; i++) {
        Cuzk__V1__CancelProofResponse *r =
            good(w, PROVING "CancelProof", &m, &cuzk__v1__cancel_proof_response__descriptor);
        assert_int_equal(r->was_running, i == 0);
        cuzk__rpc_unpacked_free(r);
    }
    m.job_id = text("nobody");
    bad(w, PROVING "CancelProof", &m, CUZK_GRPC_NOT_FOUND, "nobody");
}

static void test_status_and_metrics(void **state) {
    world *w = *state;
    const Cuzk__V1__GetStatusRequest m = CUZK__V1__GET_STATUS_REQUEST__INIT;
    Cuzk__V1__GetStatusResponse *r =
        good(w, PROVING "GetStatus", &m, &cuzk__v1__get_status_response__descriptor);
    assert_int_equal(r->n_gpus, 2);
    assert_string_equal(r->gpus[0]->uuid, "GPU-0001");
    assert_true(r->gpus[0]->vram_total_bytes == 16ull << 30);
    assert_true(r->gpus[0]->vram_free_bytes == 11ull << 30);
    assert_string_equal(r->gpus[0]->current_job_id, "job-1");
    assert_string_equal(r->gpus[0]->current_proof_kind, "porep_c2");
    assert_true(r->gpus[1]->quarantined);
    assert_int_equal(r->n_loaded_srs, 2); /* the third has no file */
    assert_string_equal(r->loaded_srs[0]->circuit_id, "porep-32g");
    assert_int_equal(r->loaded_srs[0]->tier, CUZK__V1__SRSSTATUS__TIER__HOT);
    assert_true(r->loaded_srs[0]->size_bytes == 47373896256);
    assert_int_equal(r->loaded_srs[0]->ref_count, 2);
    assert_int_equal(r->loaded_srs[1]->tier, CUZK__V1__SRSSTATUS__TIER__COLD);
    assert_int_equal(r->n_queues, 5);
    assert_string_equal(r->queues[2]->proof_kind, "window_post");
    assert_int_equal(r->queues[2]->pending, 4);
    assert_int_equal(r->queues[0]->in_progress, 1);
    assert_int_equal(r->total_proofs_completed, 9);
    assert_int_equal(r->total_proofs_failed, 1);
    assert_int_equal(r->uptime_seconds, 60);
    assert_int_equal(r->pinned_memory_bytes, 1 << 20);
    assert_int_equal(r->pinned_memory_limit_bytes, 1 << 30);
    assert_string_equal(r->version, "v");
    cuzk__rpc_unpacked_free(r);

    const Cuzk__V1__GetMetricsRequest g = CUZK__V1__GET_METRICS_REQUEST__INIT;
    Cuzk__V1__GetMetricsResponse *t =
        good(w, PROVING "GetMetrics", &g, &cuzk__v1__get_metrics_response__descriptor);
    assert_non_null(strstr(t->prometheus_text, "\ncuzk_proofs_failed_total 1\n"));
    assert_non_null(strstr(t->prometheus_text, "\ncuzk_grpc_connections 1\n"));
    cuzk__rpc_unpacked_free(t);
}

static void test_keys(void **state) {
    world *w = *state;
    Cuzk__V1__PreloadSrsRequest p = CUZK__V1__PRELOAD_SRS_REQUEST__INIT;
    Cuzk__V1__EvictSrsRequest v = CUZK__V1__EVICT_SRS_REQUEST__INIT;
    p.circuit_id = text("porep-32g");
    Cuzk__V1__PreloadSrsResponse *r =
        good(w, PROVING "PreloadSRS", &p, &cuzk__v1__preload_srs_response__descriptor);
    assert_false(r->already_loaded);
    assert_int_equal(r->load_time_ms, 7);
    cuzk__rpc_unpacked_free(r);
    v.circuit_id = p.circuit_id = text("loaded");
    r = good(w, PROVING "PreloadSRS", &p, &cuzk__v1__preload_srs_response__descriptor);
    assert_true(r->already_loaded);
    assert_int_equal(r->load_time_ms, 0);
    cuzk__rpc_unpacked_free(r);
    Cuzk__V1__EvictSrsResponse *e =
        good(w, PROVING "EvictSRS", &v, &cuzk__v1__evict_srs_response__descriptor);
    assert_true(e->was_loaded);
    assert_int_equal(e->freed_bytes, 4096);
    cuzk__rpc_unpacked_free(e);
    w->engine.preload_status = CUZK_STATUS_NOT_FOUND;
    bad(w, PROVING "PreloadSRS", &p, CUZK_GRPC_NOT_FOUND, "told so");
    w->engine.evict_status = CUZK_STATUS_BUSY;
    bad(w, PROVING "EvictSRS", &v, CUZK_GRPC_FAILED_PRECONDITION, "wait for its jobs");
}

static void test_jobs(void **state) {
    world *w = *state;
    char id[64], second[64];
    submitted(w, "req", id);
    submitted(w, "", second);
    Cuzk__V1__GetJobRequest g = CUZK__V1__GET_JOB_REQUEST__INIT;
    g.job_id = text("req");
    Cuzk__V1__Job *job = good(w, ENGINE "GetJob", &g, &cuzk__v1__job__descriptor);
    assert_string_equal(job->job_id, id);
    assert_string_equal(job->proof_kind, "porep_c2");
    assert_true(job->submitted_unix_ms == 1700000000000);
    cuzk__rpc_unpacked_free(job);

    Cuzk__V1__ListJobsRequest l = CUZK__V1__LIST_JOBS_REQUEST__INIT;
    Cuzk__V1__ListJobsResponse *list =
        good(w, ENGINE "ListJobs", &l, &cuzk__v1__list_jobs_response__descriptor);
    assert_int_equal(list->n_jobs, 2);
    assert_string_equal(list->jobs[0]->job_id, second);
    cuzk__rpc_unpacked_free(list);

    Cuzk__V1__GetResultRequest r = CUZK__V1__GET_RESULT_REQUEST__INIT;
    r.job_id = id;
    bad(w, ENGINE "GetResult", &r, CUZK_GRPC_FAILED_PRECONDITION, "AwaitProof waits");
    fake_engine_end(&w->engine, id, CUZK_ENGINE_DONE, "proof");
    r.keep = true;
    Cuzk__V1__GetResultResponse *got =
        good(w, ENGINE "GetResult", &r, &cuzk__v1__get_result_response__descriptor);
    assert_memory_equal(got->proof.data, "proof", 5);
    assert_int_equal(got->job->state, CUZK__V1__JOB_STATE__DONE);
    cuzk__rpc_unpacked_free(got);
    assert_int_equal(w->engine.fetches, 0);
    fake_engine_end(&w->engine, second, CUZK_ENGINE_FAILED, "because");
    r.job_id = second;
    bad(w, ENGINE "GetResult", &r, CUZK_GRPC_FAILED_PRECONDITION, "failed: because; submit it");
}

static void test_operator(void **state) {
    world *w = *state;
    Cuzk__V1__DrainRequest d = CUZK__V1__DRAIN_REQUEST__INIT;
    d.checkpoint = true;
    cuzk__rpc_unpacked_free(good(w, ENGINE "Drain", &d, &cuzk__v1__drain_response__descriptor));
    assert_true(w->engine.checkpoint);
    w->engine.drain_status = CUZK_STATUS_BUSY;
    d.timeout_ms = 20;
    bad(w, ENGINE "Drain", &d, CUZK_GRPC_DEADLINE_EXCEEDED, "goes on draining");
    Cuzk__V1__ResumeRequest m = CUZK__V1__RESUME_REQUEST__INIT;
    cuzk__rpc_unpacked_free(good(w, ENGINE "Resume", &m, &cuzk__v1__resume_response__descriptor));
    assert_int_equal(w->engine.resumes, 1);

    Cuzk__V1__LendMemoryRequest l = CUZK__V1__LEND_MEMORY_REQUEST__INIT;
    cuzk__rpc_unpacked_free(
        good(w, ENGINE "LendMemory", &l, &cuzk__v1__lend_memory_response__descriptor));
    w->engine.lend_status = CUZK_STATUS_BUSY;
    l.timeout_ms = 20;
    bad(w, ENGINE "LendMemory", &l, CUZK_GRPC_DEADLINE_EXCEEDED, "still in use");
    w->engine.lend_status = CUZK_STATUS_NO_MEMORY;
    bad(w, ENGINE "LendMemory", &l, CUZK_GRPC_RESOURCE_EXHAUSTED, "told so");
    Cuzk__V1__TakeBackMemoryRequest t = CUZK__V1__TAKE_BACK_MEMORY_REQUEST__INIT;
    cuzk__rpc_unpacked_free(
        good(w, ENGINE "TakeBackMemory", &t, &cuzk__v1__take_back_memory_response__descriptor));
    assert_int_equal(w->engine.take_backs, 1);
    Cuzk__V1__RestoreDeviceRequest r = CUZK__V1__RESTORE_DEVICE_REQUEST__INIT;
    cuzk__rpc_unpacked_free(
        good(w, ENGINE "RestoreDevice", &r, &cuzk__v1__restore_device_response__descriptor));
    r.device = 7;
    bad(w, ENGINE "RestoreDevice", &r, CUZK_GRPC_NOT_FOUND, "no device 7");
}

static void test_trace(void **state) {
    world *w = *state;
    static const char *const begins[] = {"TIMELINE,1,SYNTH_START,job-1,", "{\"displayTimeUnit\"",
                                         "<svg"};
    for (int i = 0; i < 3; i++) {
        Cuzk__V1__GetTraceRequest m = CUZK__V1__GET_TRACE_REQUEST__INIT;
        m.format = (Cuzk__V1__GetTraceRequest__Format)i;
        Cuzk__V1__GetTraceResponse *r =
            good(w, ENGINE "GetTrace", &m, &cuzk__v1__get_trace_response__descriptor);
        assert_true(r->text.len > strlen(begins[i]));
        assert_memory_equal(r->text.data, begins[i], strlen(begins[i]));
        cuzk__rpc_unpacked_free(r);
    }
}

/* Bytes that are no message are refused by every method, and do no harm. */
static void test_malformed(void **state) {
    world *w = *state;
    static const uint8_t junk[] = {0x0a, 0xff, 0xff, 0xff, 0x7f, 'x'};
    cuzk_err err = {0};
    cuzk_buf reply = CUZK_BUF_INIT;
    for (size_t i = 0; i < w->rpc->n_methods; i++) {
        const char *path = w->rpc->methods[i].path;
        /* these two ask nothing and read nothing */
        if (strstr(path, "GetStatus") || strstr(path, "GetMetrics")) continue;
        seen s = {.w = w};
        const cuzk_status st =
            w->rpc->methods[i].flags & CUZK_GRPC_SERVER_STREAM
                ? cuzk_grpc_client_stream(w->client, path, junk, sizeof junk, 20000000000,
                                          on_message, &s, &w->result, &err)
                : cuzk_grpc_client_call(w->client, path, junk, sizeof junk, 20000000000, &reply,
                                        &w->result, &err);
        assert_int_equal(st, CUZK_OK);
        if (w->result.code != CUZK_GRPC_INVALID_ARGUMENT || !strstr(w->result.message, "decode"))
            fail_msg("%s: %d %s", path, w->result.code, w->result.message);
    }
    assert_int_equal(w->engine.submits, 0);
    cuzk_buf_free(&reply);
}

/* The OpenAPI file and the routes name the same paths and methods. */
static void test_openapi(void **state) {
    world *w = *state;
    json_error_t error;
    size_t documented = 0;
    const char *path, *method;
    json_t *item, *operation;
    json_t *j = json_loadb((const char *)cuzk__rpc_openapi.data, cuzk__rpc_openapi.len,
                           JSON_REJECT_DUPLICATES, &error);
    if (!j) fail_msg("line %d: %s", error.line, error.text);
    json_t *paths = json_object_get(j, "paths");
    json_object_foreach(paths, path, item) {
        json_object_foreach(item, method, operation) {
            size_t i = 0;
            documented++;
            while (i < w->rpc->n_routes && (strcmp(w->rpc->routes[i].pattern, path) != 0 ||
                                            strcasecmp(w->rpc->routes[i].method, method) != 0))
                i++;
            if (i == w->rpc->n_routes) fail_msg("%s %s is no route", method, path);
            /* what needs no token says so */
            const bool open = w->rpc->routes[i].flags & CUZK_HTTP_OPEN;
            assert_int_equal(json_object_get(operation, "security") != NULL, open);
            assert_true(json_object_size(json_object_get(operation, "responses")) > 0);
        }
    }
    assert_int_equal(documented, w->rpc->n_routes);
    json_decref(j);
}

/* Ends with calls under way: they are told, and nothing of theirs stays. */
static void *call_until_the_end(void *ctx) {
    world *w = ctx;
    cuzk_err err = {0};
    cuzk_buf reply = CUZK_BUF_INIT;
    cuzk_grpc_result result = {0};
    cuzk_grpc_client *c;
    Cuzk__V1__AwaitProofRequest m = CUZK__V1__AWAIT_PROOF_REQUEST__INIT;
    uint8_t bytes[64];
    m.job_id = text("fake-1");
    m.timeout_ms = 3600000;
    m.cancel_on_disconnect = true;
    const size_t n = protobuf_c_message_pack(&m.base, bytes);
    if (cuzk_grpc_client_new(&c, w->address, NULL, &err) != CUZK_OK) return NULL;
    (void)!cuzk_grpc_client_call(c, PROVING "AwaitProof", bytes, n, 0, &reply, &result, &err);
    cuzk_grpc_client_free(c);
    cuzk_buf_free(&reply);
    return NULL;
}

static void test_end_under_load(void **state) {
    world *w = *state;
    pthread_t threads[6];
    char id[64];
    submitted(w, "", id);
    for (int i = 0; i < 6; i++)
        pthread_create(&threads[i], NULL, call_until_the_end, w);
    for (int i = 0; i < 20000 && fake_engine_watches(&w->engine) < 6; i++)
        usleep(1000);
    assert_int_equal(fake_engine_watches(&w->engine), 6);
    w->freeing = true;
    assert_int_equal(cuzk_net_post(w->loop, free_rpc, w), CUZK_OK);
    for (int i = 0; i < 6; i++)
        pthread_join(threads[i], NULL);
    for (int i = 0; i < 20000 && fake_engine_watches(&w->engine) > 0; i++)
        usleep(1000);
    assert_int_equal(cancels(w), 0); /* our own end is no client's wish */
}

/* ---- readiness ---- */

static bool serves(world *w, const char *service) {
    uint8_t request[64] = {1 << 3 | 2, (uint8_t)strlen(service)};
    cuzk_buf reply = CUZK_BUF_INIT;
    cuzk_err err = {0};
    memcpy(request + 2, service, strlen(service));
    assert_int_equal(cuzk_grpc_client_call(w->client, "/grpc.health.v1.Health/Check", request,
                                           2 + strlen(service), 0, &reply, &w->result, &err),
                     CUZK_OK);
    assert_int_equal(w->result.code, CUZK_GRPC_OK);
    assert_int_equal(reply.len, 2);
    const bool serving = reply.data[1] == 1;
    cuzk_buf_free(&reply);
    return serving;
}

/* What /readyz answers holds that. */
static void readyz_says(world *w, const char *http, const char *status, const char *why) {
    static const char request[] =
        "GET /readyz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";
    char answer[2048];
    size_t n = 0;
    cuzk__address a;
    cuzk_err err = {0};
    int fd;
    (void)w;
    assert_int_equal(cuzk__address_parse(&a, http, &err), CUZK_OK);
    assert_int_equal(cuzk__address_connect(&fd, &a, 10000000000, &err), CUZK_OK);
    assert_int_equal(send(fd, request, sizeof request - 1, MSG_NOSIGNAL), sizeof request - 1);
    for (struct pollfd p = {.fd = fd, .events = POLLIN}; poll(&p, 1, 20000) == 1;) {
        const ssize_t k = recv(fd, answer + n, sizeof answer - 1 - n, 0);
        if (k <= 0) break;
        n += (size_t)k;
    }
    close(fd);
    answer[n] = '\0';
    if (strncmp(answer, status, strlen(status)) != 0 || !strstr(answer, why))
        fail_msg("%s, %s: %s", status, why, answer);
}

/* The health service follows within a second; a test waits longer. */
static void await_serving(world *w, bool serving) {
    for (int i = 0; i < 20000 && serves(w, "cuzk.v1.ProvingEngine") != serving; i++)
        usleep(1000);
    assert_int_equal(serves(w, "cuzk.v1.ProvingEngine"), serving);
    assert_int_equal(serves(w, "cuzk.v1.Engine"), serving);
    assert_true(serves(w, "")); /* the server itself */
}

static void test_readiness(void **state) {
    world *w = *state;
    char http[CUZK_NET_ADDRESS];
    cuzk_err err = {0};
    Cuzk__V1__DrainRequest drain = CUZK__V1__DRAIN_REQUEST__INIT;
    Cuzk__V1__ResumeRequest resume = CUZK__V1__RESUME_REQUEST__INIT;
    assert_int_equal(cuzk_rpc_listen_http(w->rpc, "127.0.0.1:0", NULL, http, &err), CUZK_OK);
    readyz_says(w, http, "HTTP/1.1 503", "starting\n");
    await_serving(w, false);
    cuzk_rpc_set_ready(w->rpc, true);
    readyz_says(w, http, "HTTP/1.1 200", "ready\n");
    await_serving(w, true);
    struct {
        atomic_bool *flag;
        const char *why;
    } causes[] = {{&w->engine.draining, "draining\n"},
                  {&w->engine.no_device, "no device is up\n"},
                  {&w->engine.no_journal, "the journal cannot be written\n"}};
    for (size_t i = 0; i < 3; i++) {
        atomic_store(causes[i].flag, true);
        readyz_says(w, http, "HTTP/1.1 503", causes[i].why);
        await_serving(w, false);
        atomic_store(causes[i].flag, false);
        readyz_says(w, http, "HTTP/1.1 200", "ready\n");
        await_serving(w, true);
    }
    cuzk__rpc_unpacked_free(good(w, ENGINE "Drain", &drain, &cuzk__v1__drain_response__descriptor));
    assert_false(serves(w, "cuzk.v1.ProvingEngine")); /* at once */
    cuzk__rpc_unpacked_free(
        good(w, ENGINE "Resume", &resume, &cuzk__v1__resume_response__descriptor));
    assert_true(serves(w, "cuzk.v1.ProvingEngine"));
    cuzk_rpc_set_ready(w->rpc, false);
    await_serving(w, false);
}

#define CALL_TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void) {
    const struct CMUnitTest tests[] = {
        CALL_TEST(test_submit),
        CALL_TEST(test_submit_refused),
        CALL_TEST(test_await),
        CALL_TEST(test_await_limits),
        CALL_TEST(test_disconnect),
        CALL_TEST(test_prove),
        CALL_TEST(test_watch),
        CALL_TEST(test_cancel),
        CALL_TEST(test_status_and_metrics),
        CALL_TEST(test_keys),
        CALL_TEST(test_jobs),
        CALL_TEST(test_operator),
        CALL_TEST(test_trace),
        CALL_TEST(test_malformed),
        CALL_TEST(test_end_under_load),
        CALL_TEST(test_openapi),
        CALL_TEST(test_readiness),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
