/* The work provider: parses, sleeps, checks. */
#include "job.h"

#include "base/clock.h"
#include "base/mem.h"

#include <string.h>
#include <time.h>

enum { SLOW = 10, POLL_MS = 4 };

static void sleep_ns(int64_t ns) {
    const struct timespec t = {ns / 1000000000, ns % 1000000000};
    if (ns > 0) nanosleep(&t, NULL);
}

/* Until the test lets it, or it is cancelled. */
static void wait_to_be_let(cuzk_mock *m, cuzk_sched_stage stage, const atomic_bool *cancel) {
    for (;;) {
        pthread_mutex_lock(&m->lock);
        const bool may = cuzk__mock_may(m, stage);
        pthread_mutex_unlock(&m->lock);
        if (may || (cancel && atomic_load(cancel))) return;
        sleep_ns(POLL_MS * 1000000);
    }
}

/* cancel: NULL when nothing ends it. */
static void spend(uint32_t ms, cuzk_mock_fault fault, const atomic_bool *cancel) {
    const int64_t end =
        cuzk_now_ns() + (int64_t)ms * (fault == CUZK_MOCK_SLOW ? SLOW : 1) * 1000000;
    for (;;) {
        const int64_t left = end - cuzk_now_ns();
        if (left <= 0 || (cancel && atomic_load(cancel))) return;
        sleep_ns(cancel && left > POLL_MS * 1000000 ? POLL_MS * 1000000 : left);
    }
}

static void count(cuzk_mock *m, uint64_t *counter) {
    pthread_mutex_lock(&m->lock);
    ++*counter;
    pthread_mutex_unlock(&m->lock);
}

static cuzk_status outcome(cuzk_mock_fault fault, const char *what, cuzk_err *err) {
    if (fault == CUZK_MOCK_ERROR)
        return cuzk_err_set(err, CUZK_STATUS_IO, "%s: an error was asked for", what);
    if (fault == CUZK_MOCK_INPUT)
        return cuzk_err_set(err, CUZK_STATUS_BAD_INPUT, "%s: the job is at fault, as asked for",
                            what);
    return CUZK_OK;
}

/* ---- keys ---- */

struct mock_key *cuzk__mock_key(cuzk_mock *m, const char *name) {
    for (uint32_t i = 0; i < m->n_keys; i++)
        if (strcmp(m->keys[i].name, name) == 0) return &m->keys[i];
    return NULL;
}

static cuzk_status
mock_keys(void *self, void (*put)(void *ctx, const char *name, const char *file, bool present),
          void *ctx, cuzk_err *err) {
    cuzk_mock *m = self;
    (void)err;
    for (uint32_t i = 0; i < m->n_keys; i++) {
        pthread_mutex_lock(&m->lock);
        const bool present = !m->keys[i].away;
        pthread_mutex_unlock(&m->lock);
        put(ctx, m->keys[i].name, "(mock)", present);
    }
    return CUZK_OK;
}

static cuzk_status no_key(const char *key, cuzk_err *err) {
    return cuzk_err_set(err, CUZK_STATUS_NOT_FOUND,
                        "key %s: its file is not there; put it back, or name another", key);
}

static cuzk_status mock_key_plan(void *self, const char *key, cuzk_engine_key_plan *out,
                                 cuzk_err *err) {
    cuzk_mock *m = self;
    pthread_mutex_lock(&m->lock);
    const struct mock_key *k = cuzk__mock_key(m, key);
    const bool present = k && !k->away;
    const uint64_t changes = k ? k->changes : 0;
    pthread_mutex_unlock(&m->lock);
    if (!present) return no_key(key, err);
    *out = m->config.key;
    out->identity = changes;
    return CUZK_OK;
}

static cuzk_status mock_key_load(void *self, const char *key, cuzk_err *err) {
    cuzk_mock *m = self;
    count(m, &m->stats.key_loads_begun);
    spend(m->config.key_load_ms, CUZK_MOCK_OK, NULL);
    pthread_mutex_lock(&m->lock);
    struct mock_key *k = cuzk__mock_key(m, key);
    const bool present = k && !k->away, fails = k && k->fail_host > 0;
    if (fails) k->fail_host--;
    m->stats.key_loads++;
    if (present && !fails) k->loaded = true;
    pthread_mutex_unlock(&m->lock);
    if (!present) return no_key(key, err);
    if (fails) return cuzk_err_set(err, CUZK_STATUS_IO, "key %s: cannot be read", key);
    return CUZK_OK;
}

static void mock_key_free(void *self, const char *key) {
    cuzk_mock *m = self;
    pthread_mutex_lock(&m->lock);
    struct mock_key *k = cuzk__mock_key(m, key);
    if (k) k->loaded = false;
    m->stats.key_frees++;
    pthread_mutex_unlock(&m->lock);
}

/* ---- jobs ---- */

static cuzk_status mock_job_open(void *self, const cuzk_engine_payload *payload, void **job,
                                 cuzk_engine_plan *plan, cuzk_err *err) {
    cuzk_mock *m = self;
    mock_job *j;
    count(m, &m->stats.job_opens);
    CUZK_TRY(cuzk__mock_job_parse(&j, payload, &m->config, err));
    pthread_mutex_lock(&m->lock);
    if (++m->stats.jobs_open > m->stats.jobs_open_peak) m->stats.jobs_open_peak++;
    pthread_mutex_unlock(&m->lock);
    *plan = j->plan;
    *job = j;
    return CUZK_OK;
}

static void mock_job_free(void *self, void *job) {
    cuzk_mock *m = self;
    pthread_mutex_lock(&m->lock);
    m->stats.jobs_open--;
    pthread_mutex_unlock(&m->lock);
    cuzk__mock_job_drop(job);
}

static cuzk_status mock_witness(void *self, void *job, uint32_t partition,
                                const atomic_bool *cancel, cuzk_engine_witness *out,
                                cuzk_err *err) {
    cuzk_mock *m = self;
    mock_job *j = job;
    const cuzk_mock_fault fault = cuzk__mock_job_fault(j, CUZK_STAGE_WITNESS, partition);
    count(m, &m->stats.witness_calls);
    wait_to_be_let(m, CUZK_STAGE_WITNESS, cancel);
    spend(j->times.witness, fault, cancel);
    if (atomic_load(cancel)) return cuzk_err_set(err, CUZK_STATUS_FAILED, "stopped");
    CUZK_TRY(outcome(fault, "witness", err));
    pthread_mutex_lock(&m->lock);
    const struct mock_key *k = cuzk__mock_key(m, j->plan.key);
    const bool loaded = k && k->loaded;
    if (loaded && ++m->stats.witnesses > m->stats.witnesses_peak) m->stats.witnesses_peak++;
    pthread_mutex_unlock(&m->lock);
    if (!loaded)
        return cuzk_err_set(err, CUZK_STATUS_BUG, "key %s is used and not loaded", j->plan.key);
    mock_work *w;
    if (cuzk_alloc((void **)&w, 1, sizeof *w) != CUZK_OK)
        return cuzk_err_set(err, CUZK_STATUS_NO_MEMORY, "not enough memory for a witness");
    *w = (mock_work){cuzk__mock_job_ref(j), partition, fault == CUZK_MOCK_WRONG};
    *out = (cuzk_engine_witness){-1, sizeof *w, w};
    return CUZK_OK;
}

static void mock_witness_free(void *self, cuzk_engine_witness *w) {
    cuzk_mock *m = self;
    mock_work *work = w->data;
    if (!work) return;
    pthread_mutex_lock(&m->lock);
    m->stats.witnesses--;
    pthread_mutex_unlock(&m->lock);
    cuzk__mock_job_drop(work->job);
    cuzk_wipe(work, sizeof *work);
    cuzk_free(work);
    *w = (cuzk_engine_witness){-1, 0, NULL};
}

static cuzk_status mock_verify(void *self, void *job, uint32_t partition, const void *result,
                               size_t result_len, void *proof, size_t *proof_len, cuzk_err *err) {
    cuzk_mock *m = self;
    mock_job *j = job;
    const cuzk_mock_fault fault = cuzk__mock_job_fault(j, CUZK_STAGE_VERIFY, partition);
    count(m, &m->stats.verify_calls);
    wait_to_be_let(m, CUZK_STAGE_VERIFY, NULL);
    spend(j->times.verify, fault, NULL);
    CUZK_TRY(outcome(fault, "verify", err));
    if (fault == CUZK_MOCK_WRONG || result_len != MOCK_RESULT ||
        !cuzk__mock_result_ok(j->digest, partition, result))
        return cuzk_err_set(err, CUZK_STATUS_FALSE, "the proof does not verify");
    memset(proof, 0, CUZK_MOCK_PROOF);
    memcpy(proof, result, MOCK_RESULT);
    *proof_len = CUZK_MOCK_PROOF;
    return CUZK_OK;
}

static cuzk_status mock_assemble(void *self, void *job, const cuzk_engine_bytes *proofs,
                                 cuzk_buf *out, cuzk_err *err) {
    cuzk_mock *m = self;
    mock_job *j = job;
    const cuzk_mock_fault fault =
        cuzk__mock_job_fault(j, CUZK_STAGE_ASSEMBLE, j->plan.n_partitions);
    count(m, &m->stats.assemble_calls);
    wait_to_be_let(m, CUZK_STAGE_ASSEMBLE, NULL);
    spend(j->times.assemble, fault, NULL);
    CUZK_TRY(outcome(fault, "assemble", err));
    for (uint32_t i = 0; i < j->plan.n_partitions; i++) {
        if (proofs[i].len != CUZK_MOCK_PROOF || !cuzk__mock_result_ok(j->digest, i, proofs[i].data))
            return cuzk_err_set(err, CUZK_STATUS_BUG, "proof %u is not of this partition", i);
        cuzk_buf_append(out, proofs[i].data, proofs[i].len);
    }
    if (fault == CUZK_MOCK_WRONG)
        return cuzk_err_set(err, CUZK_STATUS_FALSE, "the whole does not verify");
    return cuzk_buf_status(out);
}

bool cuzk_mock_check(const cuzk_engine_payload *payload, uint32_t partitions, const void *proof,
                     size_t len) {
    const cuzk_digest d = cuzk__mock_digest(payload);
    if (len != (size_t)partitions * CUZK_MOCK_PROOF) return false;
    for (uint32_t i = 0; i < partitions; i++)
        if (!cuzk__mock_result_ok(d, i, (const uint8_t *)proof + (size_t)i * CUZK_MOCK_PROOF))
            return false;
    return true;
}

const cuzk_work_ops cuzk__mock_work = {
    .keys = mock_keys,
    .key_plan = mock_key_plan,
    .key_load = mock_key_load,
    .key_free = mock_key_free,
    .job_open = mock_job_open,
    .job_free = mock_job_free,
    .witness = mock_witness,
    .witness_free = mock_witness_free,
    .verify = mock_verify,
    .assemble = mock_assemble,
};
