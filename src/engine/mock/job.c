/* Settings of a mock job, from JSON. */
#include "job.h"

#include "base/bytes.h"
#include "base/json_pull.h"
#include "base/mem.h"
#include "base/rand.h"

#include <string.h>

typedef struct reader {
    cuzk_pull pull;
    mock_job *job;
    mock_fault *fault; /* being read */
} reader;

static const char *const stages[] = {"witness", "stage", "compute", "finish", "verify", "assemble"};
static const char *const faults[] = {"ok", "error", "input", "wrong", "slow", "hang", "crash"};

/* The index of the string that follows. */
static cuzk_status choice(reader *r, const char *const *names, uint32_t n, const char *what,
                          uint32_t *out) {
    char text[24];
    CUZK_TRY(cuzk_pull_string(&r->pull, text, sizeof text));
    for (*out = 0; *out < n; ++*out)
        if (strcmp(text, names[*out]) == 0) return CUZK_OK;
    return cuzk_pull_fail(&r->pull, what, text);
}

static cuzk_status number32(reader *r, uint32_t max, uint32_t *out) {
    uint64_t v;
    CUZK_TRY(cuzk_pull_u64(&r->pull, max, &v));
    *out = (uint32_t)v;
    return CUZK_OK;
}

static cuzk_status read_fault_field(void *ctx, unsigned i) {
    reader *r = ctx;
    mock_fault *f = r->fault;
    uint32_t v = 0;
    switch (i) {
    case 0:
        CUZK_TRY(choice(r, stages, 6, "a stage", &v));
        f->stage = (cuzk_sched_stage)v;
        return CUZK_OK;
    case 1:
        CUZK_TRY(choice(r, faults, 7, "a fault", &v));
        f->fault = (cuzk_mock_fault)v;
        return CUZK_OK;
    case 2:
        return number32(r, CUZK_SCHED_MAX_PARTITIONS, &f->partition);
    default:
        CUZK_TRY(number32(r, 1000000, &v));
        f->left = v ? v : UINT32_MAX;
        return CUZK_OK;
    }
}

static cuzk_status read_faults(reader *r) {
    static const char *const names[] = {"stage", "fault", "partition", "times"};
    bool more;
    CUZK_TRY(cuzk_pull_array(&r->pull));
    for (;;) {
        CUZK_TRY(cuzk_pull_item(&r->pull, &more));
        if (!more) return CUZK_OK;
        if (r->job->n_faults == MOCK_FAULTS)
            return cuzk_pull_fail(&r->pull, "at most 8 faults", "more");
        r->fault = &r->job->faults[r->job->n_faults];
        *r->fault = (mock_fault){.partition = CUZK_MOCK_ANY, .left = 1};
        CUZK_TRY(cuzk_pull_fields(&r->pull, names, 4, 4 | 8, false, read_fault_field, r));
        const bool on_device =
            r->fault->stage >= CUZK_STAGE_STAGE && r->fault->stage <= CUZK_STAGE_FINISH;
        if (r->fault->fault >= CUZK_MOCK_HANG && !on_device)
            return cuzk_pull_fail(&r->pull, "hang or crash in stage, compute or finish", NULL);
        r->job->n_faults++;
    }
}

static cuzk_status read_field(void *ctx, unsigned i) {
    reader *r = ctx;
    cuzk_engine_plan *plan = &r->job->plan;
    cuzk_mock_times *t = &r->job->times;
    uint32_t *const times[] = {&t->witness, &t->stage,  &t->compute,
                               &t->finish,  &t->verify, &t->assemble};
    uint64_t *const sizes[] = {&plan->shared_host, &plan->witness_host, &plan->witness_pinned,
                               &plan->scratch_host, &plan->slot_device};
    if (i == 0) return cuzk_pull_string(&r->pull, plan->key, sizeof plan->key);
    if (i == 1) return number32(r, CUZK_SCHED_MAX_PARTITIONS, &plan->n_partitions);
    if (i < 8) return number32(r, 3600000, times[i - 2]);
    if (i < 13) return cuzk_pull_u64(&r->pull, UINT64_C(1) << 50, sizes[i - 8]);
    if (i == 14) return read_faults(r);
    if (i == 15) return cuzk_pull_string(&r->pull, plan->message, sizeof plan->message);
    uint32_t invalid;
    CUZK_TRY(number32(r, 1, &invalid));
    r->job->invalid = invalid;
    return CUZK_OK;
}

static cuzk_status read_settings(mock_job *j, cuzk_engine_bytes text, const char *name,
                                 cuzk_err *err) {
    static const char *const names[] = {"key",        "partitions", "witness_ms", "stage_ms",
                                        "compute_ms", "finish_ms",  "verify_ms",  "assemble_ms",
                                        "shared",     "witness",    "pinned",     "scratch",
                                        "slot",       "invalid",    "faults",     "message"};
    reader r = {.job = j};
    cuzk_pull_init(&r.pull, text.data, text.len, name, err);
    cuzk_status st = cuzk_pull_fields(&r.pull, names, 16, UINT32_MAX, true, read_field, &r);
    if (st == CUZK_OK) st = cuzk_pull_end(&r.pull);
    cuzk_pull_fini(&r.pull);
    return st;
}

static bool begins_object(const cuzk_engine_bytes *b) {
    return b->len > 0 && *(const char *)b->data == '{';
}

static void defaults(mock_job *j, cuzk_engine_kind kind, const cuzk_mock_config *config) {
    static const struct {
        const char *key;
        uint32_t partitions;
    } rows[CUZK_ENGINE_KIND_COUNT] = {
        [CUZK_ENGINE_UNSPECIFIED] = {"mock-a", 1},  [CUZK_ENGINE_POREP] = {"porep-32g", 10},
        [CUZK_ENGINE_SNAP] = {"snap-32g", 16},      [CUZK_ENGINE_WINDOW] = {"wpost-32g", 1},
        [CUZK_ENGINE_WINNING] = {"winning-32g", 1}, [CUZK_ENGINE_CIRCOM] = {"mock-a", 1},
    };
    j->plan = config->plan;
    j->plan.n_partitions = rows[kind].partitions;
    memcpy(j->plan.key, rows[kind].key, strlen(rows[kind].key) + 1);
    j->times = config->times;
}

static cuzk_status parse(mock_job *j, const cuzk_engine_payload *payload, cuzk_err *err) {
    if (begins_object(&payload->meta)) CUZK_TRY(read_settings(j, payload->meta, "meta", err));
    if (payload->n_parts > 0 && begins_object(&payload->parts[0]))
        CUZK_TRY(read_settings(j, payload->parts[0], "payload", err));
    if (j->invalid)
        return cuzk_err_set(err, CUZK_STATUS_BAD_INPUT,
                            "payload: the job says that it is invalid; send one that is not");
    if (j->plan.n_partitions == 0)
        return cuzk_err_set(err, CUZK_STATUS_BAD_INPUT, "payload: partitions: expected 1 to 64");
    return CUZK_OK;
}

cuzk_status cuzk__mock_job_parse(mock_job **out, const cuzk_engine_payload *payload,
                                 const cuzk_mock_config *config, cuzk_err *err) {
    *out = NULL;
    if ((unsigned)payload->kind >= CUZK_ENGINE_KIND_COUNT)
        return cuzk_err_set(err, CUZK_STATUS_BAD_INPUT, "no such kind of job");
    mock_job *j;
    if (cuzk_alloc((void **)&j, 1, sizeof *j) != CUZK_OK)
        return cuzk_err_set(err, CUZK_STATUS_NO_MEMORY, "not enough memory for a job");
    atomic_init(&j->refs, 1);
    pthread_mutex_init(&j->lock, NULL);
    defaults(j, payload->kind, config);
    j->digest = cuzk__mock_digest(payload);
    const cuzk_status st = parse(j, payload, err);
    if (st == CUZK_OK)
        *out = j;
    else
        cuzk__mock_job_drop(j);
    return st;
}

mock_job *cuzk__mock_job_ref(mock_job *j) {
    atomic_fetch_add(&j->refs, 1);
    return j;
}

void cuzk__mock_job_drop(mock_job *j) {
    if (!j || atomic_fetch_sub(&j->refs, 1) != 1) return;
    pthread_mutex_destroy(&j->lock);
    cuzk_free(j);
}

cuzk_mock_fault cuzk__mock_job_fault(mock_job *j, cuzk_sched_stage stage, uint32_t partition) {
    cuzk_mock_fault found = CUZK_MOCK_OK;
    pthread_mutex_lock(&j->lock);
    for (uint32_t i = 0; i < j->n_faults && found == CUZK_MOCK_OK; i++) {
        mock_fault *f = &j->faults[i];
        if (f->stage != stage || f->left == 0) continue;
        if (f->partition != CUZK_MOCK_ANY && f->partition != partition) continue;
        if (f->left != UINT32_MAX) f->left--;
        found = f->fault;
    }
    pthread_mutex_unlock(&j->lock);
    return found;
}

cuzk_digest cuzk__mock_digest(const cuzk_engine_payload *payload) {
    cuzk_digest d = cuzk_digest_of(payload->meta.data, payload->meta.len, payload->kind);
    for (size_t i = 0; i < payload->n_parts; i++)
        d = cuzk_digest_of(payload->parts[i].data, payload->parts[i].len, d.lo ^ d.hi);
    return d;
}

void cuzk__mock_result(const mock_work *w, uint8_t out[MOCK_RESULT]) {
    static const char magic[8] = {'m', 'o', 'c', 'k', 'e', 'd', '0', '1'};
    memset(out, 0, MOCK_RESULT);
    memcpy(out, magic, 8);
    cuzk_st_u64le(out + 8, w->job->digest.lo);
    cuzk_st_u64le(out + 16, w->job->digest.hi);
    cuzk_st_u32le(out + 24, w->partition);
    if (cuzk_random(out + 32, 32, NULL) != CUZK_OK) memset(out + 32, 1, 32);
    if (w->wrong) out[9] ^= 0x20;
}

bool cuzk__mock_result_ok(cuzk_digest digest, uint32_t partition, const uint8_t *p) {
    return memcmp(p, "mocked01", 8) == 0 && cuzk_ld_u64le(p + 8) == digest.lo &&
           cuzk_ld_u64le(p + 16) == digest.hi && cuzk_ld_u32le(p + 24) == partition;
}
