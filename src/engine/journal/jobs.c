/* The requests that others make: checked and copied here, written by the writer. */
#include "engine/journal/internal.h"

#include "base/mem.h"
#include "base/rand.h"

#include <stdio.h>
#include <string.h>

/* What two requests of one id must share, as a digest. */
static cuzk_status identity(uint8_t out[CUZK__DIGEST], const cuzk_journal_spec *s) {
    const uint64_t lens[3] = {strlen(s->kind), s->same.len,
                              s->payload ? 1u + s->payload->secret : 0};
    const cuzk_journal_part pieces[] = {
        {lens, sizeof lens},
        {s->kind, lens[0]},
        s->same,
        {s->payload ? s->payload->digest : NULL, s->payload ? CUZK__DIGEST : 0},
    };
    return cuzk__digest(out, pieces, sizeof pieces / sizeof *pieces);
}

static void write_id(cuzk_journal_accepted *out, uint64_t job, const uint8_t *salt) {
    char hex[2 * CUZK__SALT + 1];
    cuzk__hex(hex, salt, CUZK__SALT);
    out->job = job;
    snprintf(out->id, sizeof out->id, "j-%llu-%s", (unsigned long long)job, hex);
}

/* A job with this request id, asked for and not durable yet, or durable. Under accept_lock. */
static cuzk_status find_same(cuzk_journal *j, const char *request_id, cuzk_journal_accepted *out,
                             uint8_t same[CUZK__DIGEST], cuzk_err *err) {
    for (const cuzk__op *op = j->in_flight; op; op = op->in_flight)
        if (!strcmp(op->text[0], request_id)) {
            write_id(out, op->job, op->salt);
            memcpy(same, op->same, CUZK__DIGEST);
            return CUZK_OK;
        }
    cuzk_status st = CUZK_STATUS_NOT_FOUND;
    pthread_mutex_lock(&j->read_lock);
    cuzk__q q = cuzk__q_begin(&j->r, "SELECT seq,salt,same FROM job WHERE request_id=?1");
    cuzk__q_text(&q, 1, request_id);
    if (cuzk__q_row(&q)) {
        const cuzk_journal_part salt = cuzk__q_col(&q, 1), digest = cuzk__q_col(&q, 2);
        if (salt.len == CUZK__SALT && digest.len == CUZK__DIGEST) {
            write_id(out, (uint64_t)cuzk__q_col_int(&q, 0), salt.data);
            memcpy(same, digest.data, CUZK__DIGEST);
            st = CUZK_OK;
        }
    }
    const int rc = cuzk__q_end(&q);
    if (rc != SQLITE_OK) st = cuzk__db_error(&j->r, rc, err);
    pthread_mutex_unlock(&j->read_lock);
    return st;
}

static cuzk_status make_accept(cuzk_journal *j, cuzk__op **out, const cuzk_journal_spec *s,
                               cuzk_err *err) {
    const cuzk_payload *p = s->payload;
    const char *const texts[] = {s->request_id, s->client, s->kind};
    const bool stored = p && !p->secret;
    const cuzk_journal_part blobs[] = {
        s->meta, {stored && !p->pinned ? p->form : NULL, stored && !p->pinned ? p->form_bytes : 0}};
    CUZK_TRY(cuzk__op_new(j, out, CUZK__OP_ACCEPT, texts, 3, blobs, 2, err));
    cuzk__op *op = *out;
    CUZK_TRY(identity(op->same, s));
    CUZK_TRY(cuzk_random(op->salt, sizeof op->salt, err));
    op->priority = s->priority;
    op->deadline = s->deadline_ns;
    op->n_partitions = s->n_partitions;
    if (s->submitted_ns) op->now = s->submitted_ns;
    if (!p) return CUZK_OK;
    op->payload_bytes = p->bytes;
    op->secret = p->secret;
    if (!stored) return CUZK_OK;
    memcpy(op->digest, p->digest, CUZK__DIGEST);
    op->stored = true;
    op->stored_bytes = p->form_bytes;
    if (!p->pinned) return CUZK_OK;
    CUZK_TRY(cuzk__pin(j, op->digest));
    op->in_spool = true;
    return CUZK_OK;
}

cuzk_status cuzk_journal_accept(cuzk_journal *j, cuzk_journal_accepted *out,
                                const cuzk_journal_spec *spec, cuzk_journal_done *done, void *ctx,
                                cuzk_err *err) {
    cuzk__op *op = NULL, *same_op = NULL;
    uint8_t same[CUZK__DIGEST];
    memset(out, 0, sizeof *out);
    if (!spec->kind || !spec->n_partitions || spec->n_partitions > CUZK_JOURNAL_MAX_PARTITIONS)
        return cuzk_err_set(err, CUZK_STATUS_BAD_INPUT, "a job of %u partitions, or of no kind",
                            spec->n_partitions);
    cuzk_status st = make_accept(j, &op, spec, err);
    const bool named = st == CUZK_OK && op->text[0][0];
    if (named) st = cuzk__op_new(j, &same_op, CUZK__OP_SAME, NULL, 0, NULL, 0, err);
    if (st != CUZK_OK) {
        cuzk__op_free(j, op);
        if (st == CUZK_STATUS_NO_MEMORY) cuzk_err_set(err, st, "a job: out of memory");
        return st;
    }
    pthread_mutex_lock(&j->accept_lock);
    st = named ? find_same(j, op->text[0], out, same, err) : CUZK_STATUS_NOT_FOUND;
    if (st == CUZK_OK) {
        if (memcmp(same, op->same, CUZK__DIGEST)) {
            st = cuzk_err_set(err, CUZK_STATUS_CONFLICT,
                              "request \"%.200s\" is job %s, with another content; use a new "
                              "request id",
                              op->text[0], out->id);
        } else {
            out->existing = true;
            same_op->job = out->job;
            cuzk__op_post(j, same_op, done, ctx);
            same_op = NULL;
        }
    } else if (st == CUZK_STATUS_NOT_FOUND) {
        st = CUZK_OK;
        op->job = j->next_job++;
        write_id(out, op->job, op->salt);
        op->in_flight = j->in_flight;
        j->in_flight = op;
        cuzk__op_post(j, op, done, ctx);
        op = NULL;
    }
    pthread_mutex_unlock(&j->accept_lock);
    cuzk__op_free(j, op);
    cuzk__op_free(j, same_op);
    return st;
}

cuzk_status cuzk_journal_partition_done(cuzk_journal *j, uint64_t job, uint32_t partition,
                                        cuzk_journal_part proof, cuzk_journal_part timings,
                                        cuzk_journal_done *done, void *ctx, cuzk_err *err) {
    const cuzk_journal_part blobs[] = {proof, timings};
    cuzk__op *op;
    CUZK_TRY(cuzk__op_new(j, &op, CUZK__OP_PARTITION, NULL, 0, blobs, 2, err));
    op->job = job;
    op->partition = partition;
    cuzk__op_post(j, op, done, ctx);
    return CUZK_OK;
}

cuzk_status cuzk_journal_fault(cuzk_journal *j, uint64_t job, uint32_t partition, const char *stage,
                               const char *device, const char *text, cuzk_journal_done *done,
                               void *ctx, cuzk_err *err) {
    const char *const texts[] = {stage, device, text};
    cuzk__op *op;
    CUZK_TRY(cuzk__op_new(j, &op, CUZK__OP_FAULT, texts, 3, NULL, 0, err));
    op->job = job;
    op->partition = partition;
    cuzk__op_post(j, op, done, ctx);
    return CUZK_OK;
}

cuzk_status cuzk_journal_end(cuzk_journal *j, uint64_t job, const cuzk_journal_end_spec *spec,
                             cuzk_journal_done *done, void *ctx, cuzk_err *err) {
    const char *const texts[] = {spec->stage, spec->message};
    const bool large = spec->result.len > CUZK__INLINE;
    const cuzk_journal_part none = {0};
    const cuzk_journal_part blobs[] = {spec->timings, large ? none : spec->result};
    if (spec->outcome <= CUZK_JOURNAL_UNFINISHED || spec->outcome >= CUZK_JOURNAL_OUTCOMES)
        return cuzk_err_set(err, CUZK_STATUS_BAD_INPUT, "%d is no way to end", spec->outcome);
    cuzk__op *op;
    CUZK_TRY(cuzk__op_new(j, &op, CUZK__OP_END, texts, 2, blobs, 2, err));
    op->job = job;
    op->outcome = spec->outcome;
    cuzk_status st = CUZK_OK;
    if (spec->result.len) {
        st = cuzk__digest(op->digest, &spec->result, 1);
        op->stored = true;
        op->stored_bytes = spec->result.len;
    }
    if (st == CUZK_OK && large) {
        st = cuzk__pin(j, op->digest);
        op->in_spool = st == CUZK_OK;
        if (st == CUZK_OK)
            st = cuzk__spool_store(j, op->digest, &spec->result, 1, spec->result.len, false, err);
    }
    if (st != CUZK_OK) {
        cuzk__op_free(j, op);
        if (st == CUZK_STATUS_NO_MEMORY) cuzk_err_set(err, st, "a job's end: out of memory");
        return st;
    }
    cuzk__op_post(j, op, done, ctx);
    return CUZK_OK;
}

cuzk_status cuzk_journal_fetched(cuzk_journal *j, uint64_t job, cuzk_journal_done *done, void *ctx,
                                 cuzk_err *err) {
    cuzk__op *op;
    CUZK_TRY(cuzk__op_new(j, &op, CUZK__OP_FETCHED, NULL, 0, NULL, 0, err));
    op->job = job;
    cuzk__op_post(j, op, done, ctx);
    return CUZK_OK;
}

cuzk_status cuzk_journal_set_fact(cuzk_journal *j, const char *name, cuzk_journal_part value,
                                  cuzk_journal_done *done, void *ctx, cuzk_err *err) {
    cuzk__op *op;
    CUZK_TRY(cuzk__op_new(j, &op, CUZK__OP_FACT, &name, 1, &value, 1, err));
    cuzk__op_post(j, op, done, ctx);
    return CUZK_OK;
}

cuzk_status cuzk_journal_retain(cuzk_journal *j, uint64_t *removed,
                                const cuzk_journal_retention *rules, cuzk_err *err) {
    uint64_t step = CUZK__RETAIN_STEP;
    cuzk__op *op;
    *removed = 0;
    while (step > 0) {
        CUZK_TRY(cuzk__op_new(j, &op, CUZK__OP_RETAIN, NULL, 0, NULL, 0, err));
        op->rules = *rules;
        op->removed = &step;
        CUZK_TRY(cuzk__op_wait(j, op, err));
        *removed += step;
    }
    if (!*removed) return CUZK_OK;
    CUZK_TRY(cuzk__op_new(j, &op, CUZK__OP_SHRINK, NULL, 0, NULL, 0, err));
    return cuzk__op_wait(j, op, err);
}

void cuzk_journal_sync(cuzk_journal *j) {
    pthread_mutex_lock(&j->queue_lock);
    const uint64_t until = j->posted;
    while (j->answered < until)
        pthread_cond_wait(&j->queue_answered, &j->queue_lock);
    pthread_mutex_unlock(&j->queue_lock);
}

void cuzk_journal_get_stats(cuzk_journal *j, cuzk_journal_stats *out) {
    pthread_mutex_lock(&j->spool.lock);
    const uint64_t bytes = j->spool.bytes, files = j->spool.files;
    pthread_mutex_unlock(&j->spool.lock);
    pthread_mutex_lock(&j->queue_lock);
    *out = j->stats;
    pthread_mutex_unlock(&j->queue_lock);
    out->spool_bytes = bytes;
    out->spool_files = files;
    out->stored_bytes = bytes + atomic_load(&j->inline_bytes);
}
