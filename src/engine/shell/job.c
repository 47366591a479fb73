/* Records of jobs: tables, the provider's object, figures kept in the journal. */
#include "state.h"

#include "base/clock.h"
#include "base/digest.h"
#include "base/json_pull.h"
#include "base/mem.h"

#include <stdio.h>
#include <string.h>

cuzk_status cuzk__shell_job_new(cuzk_engine *e, job **out, const cuzk_engine_plan *plan,
                                cuzk_engine_kind kind, int priority, int64_t deadline,
                                cuzk_err *err) {
    job *j;
    const size_t bytes = sizeof *j + plan->n_partitions * sizeof j->parts[0];
    if (cuzk_alloc((void **)&j, 1, bytes) != CUZK_OK)
        return cuzk_err_set(err, CUZK_STATUS_NO_MEMORY, "not enough memory for a job");
    static const int by_kind[CUZK_ENGINE_KIND_COUNT] = {
        [CUZK_ENGINE_WINDOW] = 3, [CUZK_ENGINE_WINNING] = 4};
    (void)e;
    atomic_init(&j->refs, 2); /* the caller's, and that of those who use its data */
    atomic_init(&j->work, 1); /* the scheduler's */
    pthread_mutex_init(&j->open_lock, NULL);
    j->plan = *plan;
    j->submitted = cuzk_now_ns();
    j->view.kind = kind;
    j->view.priority = priority > 0 ? priority : by_kind[kind] ? by_kind[kind] : 2;
    j->view.deadline_ns = deadline;
    j->view.n_partitions = plan->n_partitions;
    snprintf(j->view.key, sizeof j->view.key, "%s", plan->key);
    snprintf(j->view.message, sizeof j->view.message, "%s", plan->message);
    for (uint32_t i = 0; i < plan->n_partitions; i++) {
        part *p = &j->parts[i];
        p->device = p->result = NONE;
        p->stage = CUZK_STAGE_QUEUE;
        atomic_init(&p->cancel, false);
    }
    *out = j;
    return CUZK_OK;
}

void cuzk__shell_job_free_proofs(job *j) {
    for (uint32_t i = 0; i < j->plan.n_partitions; i++) {
        cuzk_free(j->parts[i].proof);
        j->parts[i].proof = NULL;
    }
}

void cuzk__shell_job_drop(job *j) {
    if (atomic_fetch_sub(&j->refs, 1) != 1) return;
    for (uint32_t i = 0; i < j->plan.n_partitions; i++)
        cuzk_free(j->parts[i].bytes);
    cuzk__shell_job_free_proofs(j);
    cuzk_buf_free(&j->result);
    pthread_mutex_destroy(&j->open_lock);
    cuzk_free(j);
}

static int64_t wall_ns(void) {
    struct timespec t;
    clock_gettime(CLOCK_REALTIME, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

void cuzk__shell_job_spec(const job *j, cuzk_sched_job_spec *out) {
    const cuzk_engine_plan *plan = &j->plan;
    /* The wall clock is asked once; if it jumps afterwards the deadline does not. */
    int64_t deadline = CUZK_SCHED_NEVER, left;
    if (j->view.deadline_ns > 0) {
        left = j->view.deadline_ns - wall_ns();
        if (__builtin_add_overflow(cuzk_now_ns(), left, &deadline)) deadline = CUZK_SCHED_NEVER - 1;
    }
    *out = (cuzk_sched_job_spec){.cookie = (uint64_t)(uintptr_t)j,
                                 .kind = j->view.kind,
                                 .key = j->key ? j->key->index : NONE,
                                 .priority = j->view.priority,
                                 .deadline = deadline,
                                 .reserved = j->view.kind == CUZK_ENGINE_WINNING,
                                 .n_partitions = plan->n_partitions,
                                 .shared = {plan->shared_host, 0},
                                 .witness = {plan->witness_host, plan->witness_pinned},
                                 .scratch = {plan->scratch_host, 0},
                                 .slot = plan->slot_device};
    for (uint32_t i = 0; i < plan->n_partitions; i++)
        if (j->parts[i].stage == CUZK_STAGES) out->done |= UINT64_C(1) << i;
}

/* ---- tables ---- */

static job **bucket(job **table, const char *name) {
    return &table[cuzk_digest_of(name, strlen(name), 0).lo % SHELL_BUCKETS];
}

void cuzk__shell_job_list(cuzk_engine *e, job *j) {
    j->prev = e->jobs_last;
    *(e->jobs_last ? &e->jobs_last->next : &e->jobs) = j;
    e->jobs_last = j;
    j->listed = true;
    e->n_jobs++;
    e->n_live++;
    atomic_fetch_add(&j->refs, 1);
}

void cuzk__shell_job_register(cuzk_engine *e, job *j) {
    job **b = bucket(e->by_number, j->view.id);
    j->next_number = *b;
    *b = j;
    if (!j->view.request_id[0]) return;
    b = bucket(e->by_request, j->view.request_id);
    j->next_request = *b;
    *b = j;
}

void cuzk__shell_job_unlist(cuzk_engine *e, job *j) {
    if (!j->listed) return;
    *(j->prev ? &j->prev->next : &e->jobs) = j->next;
    *(j->next ? &j->next->prev : &e->jobs_last) = j->prev;
    j->listed = false;
    e->n_jobs--;
    for (job **b = bucket(e->by_number, j->view.id); *b; b = &(*b)->next_number)
        if (*b == j) {
            *b = j->next_number;
            break;
        }
    for (job **b = bucket(e->by_request, j->view.request_id); *b; b = &(*b)->next_request)
        if (*b == j) {
            *b = j->next_request;
            break;
        }
    cuzk__shell_job_drop(j);
}

job *cuzk__shell_job_find(cuzk_engine *e, const char *id) {
    if (!id[0]) return NULL;
    for (job *j = *bucket(e->by_number, id); j; j = j->next_number)
        if (strcmp(j->view.id, id) == 0) return j;
    for (job *j = *bucket(e->by_request, id); j; j = j->next_request)
        if (strcmp(j->view.request_id, id) == 0) return j;
    return NULL;
}

/* ---- data ---- */

/* The journal's copy of the payload as the provider takes it. */
static cuzk_status load_payload(cuzk_engine *e, job *j, cuzk_engine_payload *out, cuzk_err *err) {
    cuzk_engine_plan plan;
    uint32_t n;
    size_t skip;
    CUZK_TRY(cuzk_journal_get(e->journal, &j->record, j->number, err));
    CUZK_TRY(cuzk__shell_plan_read(&plan, &n, &skip, j->record.meta, err));
    if (n > 0) CUZK_TRY(cuzk_journal_payload(e->journal, &j->payload, j->number, err));
    if (j->payload && cuzk_payload_parts(j->payload) != n)
        return cuzk_err_set(err, CUZK_STATUS_BAD_INPUT, "the payload in the journal is not whole");
    if (cuzk_alloc((void **)&j->payload_parts, n, sizeof *j->payload_parts) != CUZK_OK)
        return cuzk_err_set(err, CUZK_STATUS_NO_MEMORY, "not enough memory for a payload");
    for (uint32_t i = 0; i < n; i++) {
        const cuzk_journal_part p = cuzk_payload_part(j->payload, i);
        j->payload_parts[i] = (cuzk_engine_bytes){p.data, p.len};
    }
    *out = (cuzk_engine_payload){
        .kind = j->view.kind,
        .meta = {(const char *)j->record.meta.data + skip, j->record.meta.len - skip},
        .parts = j->payload_parts,
        .n_parts = n};
    return CUZK_OK;
}

static cuzk_status open_job(cuzk_engine *e, job *j, cuzk_err *err) {
    cuzk_engine_payload payload;
    cuzk_engine_plan plan;
    void *object = NULL;
    cuzk_status st = load_payload(e, j, &payload, err);
    /* Its payload is gone or damaged: it will not come back. */
    if (st == CUZK_STATUS_NOT_FOUND)
        st = cuzk_err_set(err, CUZK_STATUS_BAD_INPUT, "the job's payload is lost; submit it again");
    if (st == CUZK_OK) st = e->work->job_open(e->work_self, &payload, &object, &plan, err);
    if (st == CUZK_OK &&
        (plan.n_partitions != j->plan.n_partitions || strcmp(plan.key, j->plan.key) != 0)) {
        e->work->job_free(e->work_self, object);
        st = cuzk_err_set(err, CUZK_STATUS_BAD_INPUT,
                          "accepted as %u partitions with key %s, and is now %u with %s; submit it "
                          "again",
                          j->plan.n_partitions, j->plan.key, plan.n_partitions, plan.key);
    }
    if (st == CUZK_OK)
        j->object = object;
    else
        cuzk__shell_job_close(e, j);
    return st;
}

cuzk_status cuzk__shell_job_open(cuzk_engine *e, job *j, cuzk_err *err) {
    pthread_mutex_lock(&j->open_lock);
    const cuzk_status st = j->object ? CUZK_OK : open_job(e, j, err);
    pthread_mutex_unlock(&j->open_lock);
    return st;
}

void cuzk__shell_job_close(cuzk_engine *e, job *j) {
    if (j->object) e->work->job_free(e->work_self, j->object);
    j->object = NULL;
    cuzk_free(j->payload_parts);
    j->payload_parts = NULL;
    cuzk_payload_free(j->payload);
    j->payload = NULL;
    cuzk_journal_job_free(&j->record);
}

void cuzk__shell_job_unuse(cuzk_engine *e, job *j) {
    if (atomic_fetch_sub(&j->work, 1) == 1) cuzk__shell_reap_job(e, j);
}

void cuzk__shell_witness_drop(cuzk_engine *e, witness *w) {
    if (w && atomic_fetch_sub(&w->refs, 1) == 1) cuzk__shell_reap_witness(e, w);
}

void cuzk__shell_part_free_witness(cuzk_engine *e, part *p) {
    if (!p->witness) return;
    e->work->witness_free(e->work_self, &p->witness->w);
    cuzk_free(p->witness);
    p->witness = NULL;
}

void cuzk__shell_part_release(cuzk_engine *e, part *p) {
    cuzk__shell_witness_drop(e, p->witness);
    p->witness = NULL;
    cuzk_free(p->bytes);
    p->bytes = NULL;
    if (p->result != NONE && p->device != NONE)
        e->devices[p->device].results &= ~(UINT64_C(1) << p->result);
    p->result = NONE;
    p->on_device = false;
}

/* ---- figures ---- */

void cuzk__shell_plan_write(cuzk_buf *out, const cuzk_engine_plan *plan, uint32_t n_parts) {
    cuzk_buf_puts(out, "{\"key\":");
    cuzk_buf_json_str(out, plan->key);
    if (plan->message[0]) {
        cuzk_buf_puts(out, ",\"message\":");
        cuzk_buf_json_str(out, plan->message);
    }
    cuzk_buf_printf(out,
                    ",\"partitions\":%u,\"parts\":%u,\"shared\":%llu,\"witness\":%llu,"
                    "\"pinned\":%llu,\"scratch\":%llu,\"slot\":%llu}\n",
                    plan->n_partitions, n_parts, (unsigned long long)plan->shared_host,
                    (unsigned long long)plan->witness_host,
                    (unsigned long long)plan->witness_pinned,
                    (unsigned long long)plan->scratch_host, (unsigned long long)plan->slot_device);
}

typedef struct plan_reader {
    cuzk_pull pull;
    cuzk_engine_plan *plan;
    uint64_t partitions, parts;
} plan_reader;

static cuzk_status read_plan_field(void *ctx, unsigned i) {
    plan_reader *r = ctx;
    uint64_t *const numbers[] = {&r->partitions,           &r->parts,
                                 &r->plan->shared_host,    &r->plan->witness_host,
                                 &r->plan->witness_pinned, &r->plan->scratch_host,
                                 &r->plan->slot_device};
    if (i == 0) return cuzk_pull_string(&r->pull, r->plan->key, sizeof r->plan->key);
    if (i == 8) return cuzk_pull_string(&r->pull, r->plan->message, sizeof r->plan->message);
    return cuzk_pull_u64(&r->pull, i == 1 ? CUZK_SCHED_MAX_PARTITIONS : UINT64_MAX, numbers[i - 1]);
}

cuzk_status cuzk__shell_plan_read(cuzk_engine_plan *plan, uint32_t *n_parts, size_t *skip,
                                  cuzk_journal_part meta, cuzk_err *err) {
    static const char *const names[] = {"key",    "partitions", "parts", "shared", "witness",
                                        "pinned", "scratch",    "slot",  "message"};
    plan_reader r = {.plan = plan};
    const char *end = meta.len ? memchr(meta.data, '\n', meta.len) : NULL;
    if (!end)
        return cuzk_err_set(err, CUZK_STATUS_BAD_INPUT, "the job's figures are not in the journal");
    *plan = (cuzk_engine_plan){.n_partitions = 0};
    *skip = (size_t)(end - (const char *)meta.data) + 1;
    cuzk_pull_init(&r.pull, meta.data, *skip, "journal", err);
    cuzk_status st = cuzk_pull_fields(&r.pull, names, 9, 1 << 8, true, read_plan_field, &r);
    if (st == CUZK_OK) st = cuzk_pull_end(&r.pull);
    cuzk_pull_fini(&r.pull);
    plan->n_partitions = (uint32_t)r.partitions;
    *n_parts = (uint32_t)r.parts;
    if (st == CUZK_OK && plan->n_partitions == 0)
        st = cuzk_err_set(err, CUZK_STATUS_BAD_INPUT, "journal: a job without partitions");
    return st;
}
