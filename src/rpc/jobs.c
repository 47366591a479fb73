/* The JSON job API, /api/v1. */
#include "base/mem.h"
#include "rpc/internal.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

static const uint64_t max_body = (uint64_t)256 << 20;

void cuzk__rpc_respond_failed(cuzk_http_response *res, cuzk_status st, const cuzk_err *err,
                              const cuzk_engine_refusal *refusal) {
    cuzk__rpc_failure f;
    char seconds[24];
    cuzk__rpc_failed(&f, st, err, refusal);
    if (f.retry_ns > 0) {
        snprintf(seconds, sizeof seconds, "%lld",
                 (long long)((f.retry_ns + 999999999) / 1000000000));
        cuzk_http_header(res, "Retry-After", seconds);
    }
    cuzk_http_respond_error(res, f.http, f.code, "%s", f.message);
}

static void respond_json(cuzk_http_response *res, unsigned status, const cuzk_buf *b) {
    if (cuzk_buf_status(b) == CUZK_OK)
        cuzk_http_respond(res, status, "application/json", b->data, b->len);
    else
        cuzk__rpc_respond_failed(res, CUZK_STATUS_NO_MEMORY, NULL, NULL);
}

/* Refuses what another site's page makes a browser send: such a request bears that site's Origin.
 * Programs send none. */
static bool same_site(const cuzk_http_request *req, cuzk_http_response *res) {
    const char *origin = cuzk_http_request_header(req, "Origin");
    const char *host = cuzk_http_request_header(req, "Host");
    const char *own = origin ? strstr(origin, "://") : NULL;
    if (!origin || (own && host && strcmp(own + 3, host) == 0)) return true;
    cuzk_http_respond_error(res, 403, "other_site",
                            "a page of another site may not do this; use the engine's own page, "
                            "or a client that sends no Origin");
    return false;
}

static bool number(const char *text, uint64_t max, uint64_t *out) {
    uint64_t v = 0;
    bool good = text[0] != '\0';
    for (const char *p = text; *p && good; p++)
        good = *p >= '0' && *p <= '9' && !__builtin_mul_overflow(v, 10, &v) &&
               !__builtin_add_overflow(v, (uint64_t)(*p - '0'), &v);
    *out = v;
    return good && v <= max;
}

bool cuzk__rpc_query_number(const cuzk_http_request *req, cuzk_http_response *res, const char *name,
                            uint64_t max, uint64_t *out) {
    const char *text = cuzk_http_request_query(req, name);
    if (!text || number(text, max, out)) return true;
    cuzk_http_respond_error(res, 400, "invalid_argument",
                            "%s: expected a whole number up to %llu, actual %.40s", name,
                            (unsigned long long)max, text);
    return false;
}

static bool query_flag(const cuzk_http_request *req, const char *name) {
    const char *text = cuzk_http_request_query(req, name);
    return text && strcmp(text, "0") != 0 && strcmp(text, "false") != 0;
}

/* ---- jobs ---- */

static const char *query_of(void *ctx, const char *name) {
    return cuzk_http_request_query(ctx, name);
}

static void respond_accepted(cuzk_rpc *r, cuzk_http_response *res, const cuzk_engine_accepted *a,
                             cuzk_engine_kind kind) {
    cuzk_buf b = CUZK_BUF_INIT;
    char assigned[96], where[CUZK_ENGINE_JOB_ID + 16];
    cuzk__rpc_assigned(r, kind, assigned);
    cuzk_buf_puts(&b, "{\"job_id\":");
    cuzk__rpc_json(&b, a->job_id);
    cuzk_buf_printf(&b,
                    ",\"queue_position\":%u,\"queue_depth\":%u,\"existed\":%s,\"assigned_gpu\":",
                    a->position, a->depth, a->existed ? "true" : "false");
    cuzk__rpc_json(&b, assigned);
    cuzk_buf_puts(&b, "}");
    snprintf(where, sizeof where, "/api/v1/jobs/%s", a->job_id);
    cuzk_http_header(res, "Location", where);
    respond_json(res, a->existed ? 200 : 201, &b);
    cuzk_buf_free(&b);
}

static void post_job(void *ctx, const cuzk_http_request *req, cuzk_http_response *res) {
    cuzk_rpc *r = ctx;
    cuzk_err err = {0};
    size_t n = 0;
    cuzk__rpc_submission s;
    cuzk_engine_accepted accepted = {0};
    cuzk_engine_refusal refusal = {0};
    if (!same_site(req, res)) return;
    const uint8_t *body = cuzk_http_request_body(req, &n);
    /* the library's callbacks take no const; nothing is changed through it */
    union {
        const cuzk_http_request *in;
        void *out;
    } query = {req};
    cuzk__rpc_submission_init(&s, cuzk_http_request_peer(req));
    cuzk_status st = cuzk__rpc_read_body(&s, cuzk_http_request_header(req, "Content-Type"), body, n,
                                         query_of, query.out, &err);
    if (st != CUZK_OK) {
        cuzk__rpc_respond_failed(res, st, &err, NULL);
    } else if ((st = cuzk_engine_submit(r->engine, &s.request, &accepted, &refusal, &err)) !=
               CUZK_OK) {
        cuzk__rpc_respond_failed(res, st, &err, &refusal);
    } else {
        respond_accepted(r, res, &accepted, s.request.payload.kind);
    }
    cuzk__rpc_submission_free(&s);
}

/* Jobs that a list may have to look through for those of one state. */
enum { MAX_SCAN = 5000, SCAN = 500 };

/* ?state=failed,deadline: whether a job's state is among them. */
static bool state_in(const char *list, const char *state) {
    const size_t n = strlen(state);
    for (const char *p = list; *p;) {
        const size_t len = strcspn(p, ",");
        if (len == n && memcmp(p, state, n) == 0) return true;
        p += len + (p[len] == ',');
    }
    return false;
}

/* Newest first: appends at most limit jobs to the JSON. */
static cuzk_status find_jobs(cuzk_rpc *r, const char *states, size_t limit, int64_t before,
                             cuzk_buf *b, cuzk_err *err) {
    cuzk_engine_job *jobs = NULL;
    const size_t page = states ? SCAN : limit;
    size_t found = 0, seen = 0, n = page;
    CUZK_TRY(cuzk_alloc((void **)&jobs, page, sizeof *jobs));
    cuzk_status st = CUZK_OK;
    while (st == CUZK_OK && n == page && found < limit && seen < MAX_SCAN) {
        st = cuzk_engine_list(r->engine, before, jobs, &n, err);
        for (size_t i = 0; st == CUZK_OK && i < n && found < limit; i++) {
            if (states && !state_in(states, cuzk_engine_state_name(jobs[i].state))) continue;
            if (found++) cuzk_buf_puts(b, ",");
            cuzk_rpc_job_json(b, &jobs[i]);
        }
        if (st == CUZK_OK && n > 0) before = jobs[n - 1].submitted_ns;
        seen += n;
    }
    cuzk_free(jobs);
    return st;
}

static void list_jobs(void *ctx, const cuzk_http_request *req, cuzk_http_response *res) {
    cuzk_err err = {0};
    uint64_t limit = 100, before = 0;
    cuzk_buf b = CUZK_BUF_INIT;
    if (!cuzk__rpc_query_number(req, res, "limit", 1000, &limit)) return;
    if (!cuzk__rpc_query_number(req, res, "before_unix_ms", (uint64_t)INT64_MAX / 1000000, &before))
        return;
    cuzk_buf_puts(&b, "{\"jobs\":[");
    const cuzk_status st =
        find_jobs(ctx, cuzk_http_request_query(req, "state"), limit ? (size_t)limit : 1,
                  (int64_t)before * 1000000, &b, &err);
    cuzk_buf_puts(&b, "]}");
    if (st == CUZK_OK)
        respond_json(res, 200, &b);
    else
        cuzk__rpc_respond_failed(res, st, &err, NULL);
    cuzk_buf_free(&b);
}

static void get_job(void *ctx, const cuzk_http_request *req, cuzk_http_response *res) {
    cuzk_rpc *r = ctx;
    cuzk_err err = {0};
    cuzk_engine_job job;
    cuzk_buf b = CUZK_BUF_INIT;
    const cuzk_status st =
        cuzk_engine_get(r->engine, cuzk_http_request_param(req, "id"), &job, &err);
    if (st == CUZK_OK) {
        cuzk_rpc_job_json(&b, &job);
        respond_json(res, 200, &b);
    } else {
        cuzk__rpc_respond_failed(res, st, &err, NULL);
    }
    cuzk_buf_free(&b);
}

static void put_base64(cuzk_buf *b, const uint8_t *p, size_t n) {
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    for (size_t i = 0; i < n; i += 3) {
        const uint32_t v = (uint32_t)p[i] << 16 | (i + 1 < n ? (uint32_t)p[i + 1] << 8 : 0) |
                           (i + 2 < n ? p[i + 2] : 0);
        const char four[4] = {digits[v >> 18], digits[v >> 12 & 63],
                              i + 1 < n ? digits[v >> 6 & 63] : '=',
                              i + 2 < n ? digits[v & 63] : '='};
        cuzk_buf_append(b, four, 4);
    }
}

/* The proof's bytes, or with ?encoding=base64 a JSON object. */
static void get_proof(void *ctx, const cuzk_http_request *req, cuzk_http_response *res) {
    cuzk_rpc *r = ctx;
    cuzk_err err = {0};
    cuzk_engine_job job;
    cuzk_buf proof = CUZK_BUF_INIT, b = CUZK_BUF_INIT;
    const char *encoding = cuzk_http_request_query(req, "encoding");
    cuzk_status st = cuzk_engine_get(r->engine, cuzk_http_request_param(req, "id"), &job, &err);
    if (st == CUZK_OK && job.state != CUZK_ENGINE_DONE) {
        cuzk_http_respond_error(res, 409, "no_proof", "the job is %s%s%s",
                                cuzk_engine_state_name(job.state), job.message[0] ? ": " : "",
                                job.message);
        return;
    }
    if (st == CUZK_OK) st = cuzk_engine_result(r->engine, job.id, true, &proof, &err);
    if (st != CUZK_OK) {
        cuzk__rpc_respond_failed(res, st, &err, NULL);
    } else if (encoding && strcmp(encoding, "base64") == 0) {
        cuzk_buf_puts(&b, "{\"job_id\":");
        cuzk__rpc_json(&b, job.id);
        cuzk_buf_puts(&b, ",\"proof\":\"");
        put_base64(&b, (const uint8_t *)proof.data, proof.len);
        cuzk_buf_puts(&b, "\"}");
        respond_json(res, 200, &b);
    } else {
        cuzk_http_respond(res, 200, "application/octet-stream", proof.data ? proof.data : "",
                          proof.len);
    }
    cuzk_buf_free(&b);
    cuzk_buf_free(&proof);
}

static void delete_job(void *ctx, const cuzk_http_request *req, cuzk_http_response *res) {
    cuzk_rpc *r = ctx;
    cuzk_err err = {0};
    bool running = false;
    cuzk_buf b = CUZK_BUF_INIT;
    if (!same_site(req, res)) return;
    const cuzk_status st =
        cuzk_engine_cancel(r->engine, cuzk_http_request_param(req, "id"), &running, &err);
    if (st == CUZK_OK) {
        cuzk_buf_printf(&b, "{\"was_running\":%s}", running ? "true" : "false");
        respond_json(res, 200, &b);
    } else {
        cuzk__rpc_respond_failed(res, st, &err, NULL);
    }
    cuzk_buf_free(&b);
}

/* ---- keys and the whole: what takes long is begun, and /status shows how it goes ---- */

typedef struct errand {
    cuzk__rpc_task task;
    cuzk_rpc *rpc;
    bool checkpoint;
    char key[CUZK_ENGINE_KEY_NAME];
} errand;

static void run_preload(cuzk__rpc_task *t) {
    errand *e = (errand *)(void *)t;
    bool already;
    int64_t took;
    /* how it went is in the key's state */
    if (!atomic_load(&e->rpc->stopping))
        (void)!cuzk_engine_preload(e->rpc->engine, e->key, &already, &took, NULL);
    cuzk_free(e);
}

static void run_drain(cuzk__rpc_task *t) {
    errand *e = (errand *)(void *)t;
    /* the engine refuses jobs from the call on; nobody waits for the end here */
    (void)!cuzk_engine_drain(e->rpc->engine, e->checkpoint, 1, NULL);
    cuzk__rpc_health_refresh(e->rpc);
    cuzk_free(e);
}

static bool send_errand(cuzk_rpc *r, cuzk_http_response *res, void (*fn)(cuzk__rpc_task *t),
                        const char *key, bool checkpoint) {
    errand *e = NULL;
    if (cuzk__rpc_lane_waiting(&r->slow) >= 64 ||
        cuzk_alloc((void **)&e, 1, sizeof *e) != CUZK_OK) {
        cuzk_http_header(res, "Retry-After", "5");
        cuzk_http_respond_error(res, 503, "busy", "too much waits already; try again later");
        return false;
    }
    e->task.fn = fn;
    e->rpc = r;
    e->checkpoint = checkpoint;
    snprintf(e->key, sizeof e->key, "%s", key ? key : "");
    cuzk__rpc_lane_put(&r->slow, &e->task);
    return true;
}

static bool key_exists(cuzk_rpc *r, const char *name) {
    cuzk_engine_status *s = NULL;
    bool found = false;
    if (cuzk_engine_snapshot(r->engine, &s, NULL) != CUZK_OK) return true;
    for (size_t i = 0; i < s->n_keys && !found; i++)
        found = strcmp(s->keys[i].name, name) == 0 && s->keys[i].present;
    cuzk_free(s);
    return found;
}

static void post_preload(void *ctx, const cuzk_http_request *req, cuzk_http_response *res) {
    const char *name = cuzk_http_request_param(req, "name");
    if (!same_site(req, res)) return;
    if (!key_exists(ctx, name))
        cuzk_http_respond_error(res, 404, "not_found",
                                "no key %.95s here; /status lists those there are", name);
    else if (send_errand(ctx, res, run_preload, name, false))
        cuzk_http_respond(res, 202, "application/json", "{\"started\":true}", 16);
}

static void post_evict(void *ctx, const cuzk_http_request *req, cuzk_http_response *res) {
    cuzk_rpc *r = ctx;
    cuzk_err err = {0};
    bool was_loaded = false;
    uint64_t freed = 0;
    cuzk_buf b = CUZK_BUF_INIT;
    if (!same_site(req, res)) return;
    const cuzk_status st = cuzk_engine_evict(r->engine, cuzk_http_request_param(req, "name"),
                                             &was_loaded, &freed, &err);
    if (st == CUZK_OK) {
        cuzk_buf_printf(&b, "{\"was_loaded\":%s,\"freed_bytes\":%llu}",
                        was_loaded ? "true" : "false", (unsigned long long)freed);
        respond_json(res, 200, &b);
    } else if (st == CUZK_STATUS_BUSY) {
        cuzk_http_respond_error(res, 409, "in_use", "%s; wait for its jobs, or cancel them",
                                err.msg);
    } else {
        cuzk__rpc_respond_failed(res, st, &err, NULL);
    }
    cuzk_buf_free(&b);
}

static void post_drain(void *ctx, const cuzk_http_request *req, cuzk_http_response *res) {
    if (!same_site(req, res)) return;
    if (send_errand(ctx, res, run_drain, NULL, query_flag(req, "checkpoint")))
        cuzk_http_respond(res, 202, "application/json", "{\"draining\":true}", 17);
}

static void post_resume(void *ctx, const cuzk_http_request *req, cuzk_http_response *res) {
    cuzk_rpc *r = ctx;
    cuzk_err err = {0};
    if (!same_site(req, res)) return;
    const cuzk_status st = cuzk_engine_resume(r->engine, &err);
    cuzk__rpc_health_refresh(r);
    if (st == CUZK_OK)
        cuzk_http_respond(res, 200, "application/json", "{\"draining\":false}", 18);
    else
        cuzk__rpc_respond_failed(res, st, &err, NULL);
}

static void post_restore(void *ctx, const cuzk_http_request *req, cuzk_http_response *res) {
    cuzk_rpc *r = ctx;
    cuzk_err err = {0};
    uint64_t device = 0;
    if (!same_site(req, res)) return;
    if (!number(cuzk_http_request_param(req, "ordinal"), UINT32_MAX, &device)) {
        cuzk_http_respond_error(res, 400, "invalid_argument",
                                "expected the number of a device; /status lists them");
        return;
    }
    const cuzk_status st = cuzk_engine_restore(r->engine, (uint32_t)device, &err);
    if (st == CUZK_OK)
        cuzk_http_respond(res, 200, "application/json", "{\"restored\":true}", 17);
    else
        cuzk__rpc_respond_failed(res, st, &err, NULL);
}

void cuzk__rpc_job_routes(cuzk_rpc *r) {
    cuzk__rpc_add_route(r, "POST", "/api/v1/jobs", post_job, 0, max_body);
    cuzk__rpc_add_route(r, "GET", "/api/v1/jobs", list_jobs, 0, 0);
    cuzk__rpc_add_route(r, "GET", "/api/v1/jobs/{id}", get_job, 0, 0);
    cuzk__rpc_add_route(r, "GET", "/api/v1/jobs/{id}/proof", get_proof, 0, 0);
    cuzk__rpc_add_route(r, "DELETE", "/api/v1/jobs/{id}", delete_job, 0, 0);
    cuzk__rpc_add_route(r, "POST", "/api/v1/keys/{name}/preload", post_preload, 0, 0);
    cuzk__rpc_add_route(r, "POST", "/api/v1/keys/{name}/evict", post_evict, 0, 0);
    cuzk__rpc_add_route(r, "POST", "/api/v1/drain", post_drain, 0, 0);
    cuzk__rpc_add_route(r, "POST", "/api/v1/resume", post_resume, 0, 0);
    cuzk__rpc_add_route(r, "POST", "/api/v1/devices/{ordinal}/restore", post_restore, 0, 0);
    cuzk__rpc_add_route(r, "GET", "/api/v1/events", cuzk__rpc_events, 0, 0);
}
