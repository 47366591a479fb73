/* What was written, read through the second connection, which never waits for the writer. */
#include "engine/journal/internal.h"
#include "engine/journal/schema.h"

#include "base/bytes.h"
#include "base/mem.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* Ends the use of the connection. */
static cuzk_status done_reading(cuzk_journal *j, int rc, cuzk_status st, cuzk_err *err) {
    if (rc != SQLITE_OK)
        st = cuzk__db_error(&j->r, rc, err);
    else if (st == CUZK_STATUS_NO_MEMORY)
        cuzk_err_set(err, st, "%s: out of memory", j->r.path);
    pthread_mutex_unlock(&j->read_lock);
    return st;
}

bool cuzk__blob_known(cuzk_journal *j, const uint8_t digest[CUZK__DIGEST], bool *unknown) {
    pthread_mutex_lock(&j->read_lock);
    cuzk__q q = cuzk__q_begin(&j->r, "SELECT 1 FROM blob WHERE digest=?1 AND data IS NULL");
    cuzk__q_blob(&q, 1, digest, CUZK__DIGEST);
    const bool known = cuzk__q_row(&q);
    *unknown = cuzk__q_end(&q) != SQLITE_OK;
    pthread_mutex_unlock(&j->read_lock);
    return known;
}

/* ---- copies ---- */

static cuzk_status copy_part(cuzk_journal_part *out, cuzk_journal_part p) {
    void *mem;
    *out = (cuzk_journal_part){0};
    if (!p.len) return CUZK_OK;
    CUZK_TRY(cuzk_alloc(&mem, p.len, 1));
    memcpy(mem, p.data, p.len);
    *out = (cuzk_journal_part){mem, p.len};
    return CUZK_OK;
}

static cuzk_status copy_text(char **out, cuzk_journal_part p) {
    void *mem;
    CUZK_TRY(cuzk_alloc(&mem, p.len + 1, 1));
    if (p.len) memcpy(mem, p.data, p.len);
    *out = mem;
    return CUZK_OK;
}

static void free_part(cuzk_journal_part *p) {
    cuzk_free((void *)(uintptr_t)p->data);
}

void cuzk_journal_job_free(cuzk_journal_job *job) {
    cuzk_free(job->request_id);
    cuzk_free(job->client);
    cuzk_free(job->kind);
    cuzk_free(job->stage);
    cuzk_free(job->message);
    free_part(&job->meta);
    free_part(&job->timings);
    for (uint32_t i = 0; job->partitions && i < job->n_partitions; i++) {
        free_part(&job->partitions[i].proof);
        free_part(&job->partitions[i].timings);
    }
    cuzk_free(job->partitions);
    memset(job, 0, sizeof *job);
}

void cuzk_journal_jobs_free(cuzk_journal_job *jobs, size_t n) {
    for (size_t i = 0; jobs && i < n; i++)
        cuzk_journal_job_free(&jobs[i]);
    cuzk_free(jobs);
}

/* ---- jobs ---- */

#define DONE_BITS "(SELECT ifnull(sum(1<<idx),0) FROM partition WHERE job=seq)"
#define BRIEF                                                                                      \
    "SELECT seq,salt,request_id,client,kind,priority,deadline,submitted,ended,n_partitions,"       \
    "payload_bytes,payload IS NOT NULL,fetched,outcome,stage,message,result_bytes," DONE_BITS
#define WHOLE BRIEF ",meta,timings,sum IS NOT cuzk_sum(" CUZK__JOB_COLS ") FROM job "

static void make_id(char out[CUZK_JOURNAL_ID_BYTES], uint64_t seq, cuzk_journal_part salt) {
    char hex[2 * CUZK__SALT + 1] = "";
    if (salt.len == CUZK__SALT) cuzk__hex(hex, salt.data, CUZK__SALT);
    snprintf(out, CUZK_JOURNAL_ID_BYTES, "j-%llu-%s", (unsigned long long)seq, hex);
}

static cuzk_status read_brief(cuzk_journal_job *job, cuzk__q *q) {
    memset(job, 0, sizeof *job);
    job->job = (uint64_t)cuzk__q_col_int(q, 0);
    make_id(job->id, job->job, cuzk__q_col(q, 1));
    job->priority = (int)cuzk__q_col_int(q, 5);
    job->deadline_ns = cuzk__q_col_int(q, 6);
    job->submitted_ns = cuzk__q_col_int(q, 7);
    job->ended_ns = cuzk__q_col_int(q, 8);
    job->n_partitions = (uint32_t)cuzk__q_col_int(q, 9);
    job->payload_bytes = (uint64_t)cuzk__q_col_int(q, 10);
    job->has_payload = cuzk__q_col_int(q, 11) != 0;
    job->fetched = cuzk__q_col_int(q, 12) != 0;
    job->outcome = (cuzk_journal_outcome)cuzk__q_col_int(q, 13);
    job->result_bytes = (uint64_t)cuzk__q_col_int(q, 16);
    job->partitions_done = (uint64_t)cuzk__q_col_int(q, 17);
    CUZK_TRY(copy_text(&job->request_id, cuzk__q_col(q, 2)));
    CUZK_TRY(copy_text(&job->client, cuzk__q_col(q, 3)));
    CUZK_TRY(copy_text(&job->kind, cuzk__q_col(q, 4)));
    CUZK_TRY(copy_text(&job->stage, cuzk__q_col(q, 14)));
    return copy_text(&job->message, cuzk__q_col(q, 15));
}

static int read_partitions(cuzk_journal *j, cuzk_journal_job *job, cuzk_status *st) {
    void *mem;
    *st = cuzk_alloc(&mem, job->n_partitions, sizeof *job->partitions);
    if (*st != CUZK_OK) return SQLITE_OK;
    job->partitions = mem;
    cuzk__q q =
        cuzk__q_begin(&j->r, "SELECT idx,proof,timings,sum IS NOT cuzk_sum(" CUZK__PARTITION_COLS
                             ") FROM partition WHERE job=?1");
    cuzk__q_int(&q, 1, (int64_t)job->job);
    while (*st == CUZK_OK && cuzk__q_row(&q)) {
        const int64_t i = cuzk__q_col_int(&q, 0);
        if (i < 0 || i >= job->n_partitions || cuzk__q_col_int(&q, 3)) {
            q.rc = SQLITE_CORRUPT;
            break;
        }
        job->partitions[i].done = true;
        *st = copy_part(&job->partitions[i].proof, cuzk__q_col(&q, 1));
        if (*st == CUZK_OK) *st = copy_part(&job->partitions[i].timings, cuzk__q_col(&q, 2));
    }
    return cuzk__q_end(&q);
}

/* q selects WHOLE; takes its first row. Both reads see one moment. */
static cuzk_status read_whole(cuzk_journal *j, cuzk_journal_job *out, cuzk__q *q, cuzk_err *err) {
    cuzk_status st = CUZK_STATUS_NOT_FOUND;
    memset(out, 0, sizeof *out);
    if (cuzk__q_row(q)) {
        st = read_brief(out, q);
        if (st == CUZK_OK) st = copy_part(&out->meta, cuzk__q_col(q, 18));
        if (st == CUZK_OK) st = copy_part(&out->timings, cuzk__q_col(q, 19));
        if (cuzk__q_col_int(q, 20) || out->n_partitions > CUZK_JOURNAL_MAX_PARTITIONS)
            q->rc = SQLITE_CORRUPT;
        /* before the statement ends, and with it the moment */
        if (st == CUZK_OK && q->rc == SQLITE_ROW) {
            const int rc = read_partitions(j, out, &st);
            if (rc != SQLITE_OK) q->rc = rc;
        }
    }
    const int rc = cuzk__q_end(q);
    if (rc != SQLITE_OK || st != CUZK_OK) cuzk_journal_job_free(out);
    return done_reading(j, rc, st, err);
}

cuzk_status cuzk_journal_next(cuzk_journal *j, cuzk_journal_job *out, uint64_t after,
                              cuzk_err *err) {
    pthread_mutex_lock(&j->read_lock);
    cuzk__q q = cuzk__q_begin(&j->r, WHOLE "WHERE outcome=0 AND seq>?1 ORDER BY seq LIMIT 1");
    cuzk__q_int(&q, 1, after > INT64_MAX ? INT64_MAX : (int64_t)after);
    cuzk_status st = read_whole(j, out, &q, err);
    if (st == CUZK_STATUS_NOT_FOUND) cuzk_err_set(err, st, "no unfinished job is left");
    return st;
}

cuzk_status cuzk_journal_get(cuzk_journal *j, cuzk_journal_job *out, uint64_t job, cuzk_err *err) {
    pthread_mutex_lock(&j->read_lock);
    cuzk__q q = cuzk__q_begin(&j->r, WHOLE "WHERE seq=?1");
    cuzk__q_int(&q, 1, job > INT64_MAX ? 0 : (int64_t)job);
    cuzk_status st = read_whole(j, out, &q, err);
    if (st == CUZK_STATUS_NOT_FOUND)
        cuzk_err_set(err, st, "job %llu is not known (any more)", (unsigned long long)job);
    return st;
}

cuzk_status cuzk_journal_find(cuzk_journal *j, cuzk_journal_job *out, const char *id,
                              cuzk_err *err) {
    uint64_t job = 0;
    const char *c = id;
    memset(out, 0, sizeof *out);
    if (c[0] == 'j' && c[1] == '-')
        for (c += 2; *c >= '0' && *c <= '9' && job < UINT64_MAX / 20; c++)
            job = 10 * job + (uint64_t)(*c - '0');
    cuzk_status st = CUZK_STATUS_NOT_FOUND;
    if (*c == '-' && job) st = cuzk_journal_get(j, out, job, err);
    if (st == CUZK_OK && strcmp(out->id, id)) {
        cuzk_journal_job_free(out);
        st = CUZK_STATUS_NOT_FOUND;
    }
    if (st == CUZK_STATUS_NOT_FOUND)
        cuzk_err_set(err, st, "job \"%.64s\" is not known (any more)", id);
    return st;
}

cuzk_status cuzk_journal_find_request(cuzk_journal *j, cuzk_journal_job *out,
                                      const char *request_id, cuzk_err *err) {
    pthread_mutex_lock(&j->read_lock);
    cuzk__q q = cuzk__q_begin(&j->r, WHOLE "WHERE request_id=?1");
    cuzk__q_text(&q, 1, request_id);
    cuzk_status st = read_whole(j, out, &q, err);
    if (st == CUZK_STATUS_NOT_FOUND)
        cuzk_err_set(err, st, "no job of request \"%.200s\" is known (any more)", request_id);
    return st;
}

cuzk_status cuzk_journal_list(cuzk_journal *j, cuzk_journal_job **out, size_t *n,
                              const cuzk_journal_filter *filter, cuzk_err *err) {
    enum { MOST = 1000, USUAL = 100 };
    const cuzk_journal_filter none = {0}, *f = filter ? filter : &none;
    const uint32_t limit = f->limit == 0 ? USUAL : f->limit > MOST ? MOST : f->limit;
    void *mem = NULL;
    *out = NULL;
    *n = 0;
    if (cuzk_alloc(&mem, limit, sizeof **out) != CUZK_OK)
        return cuzk_err_set(err, CUZK_STATUS_NO_MEMORY, "a list of %u jobs: out of memory", limit);
    cuzk_journal_job *jobs = mem;
    cuzk_status st = CUZK_OK;
    pthread_mutex_lock(&j->read_lock);
    cuzk__q q = cuzk__q_begin(&j->r, BRIEF
                              " FROM job WHERE (?1=0 OR seq<?1) AND (?2=0 OR (1<<outcome)&?2) AND "
                              "(?3 IS NULL OR kind=?3) AND (?4 IS NULL OR client=?4) AND "
                              "(?5=0 OR submitted<?5) ORDER BY seq DESC LIMIT ?6");
    cuzk__q_int(&q, 1, f->before > INT64_MAX ? INT64_MAX : (int64_t)f->before);
    cuzk__q_int(&q, 2, f->outcomes);
    cuzk__q_text(&q, 3, f->kind);
    cuzk__q_text(&q, 4, f->client);
    cuzk__q_int(&q, 5, f->submitted_before_ns);
    cuzk__q_int(&q, 6, limit);
    while (st == CUZK_OK && *n < limit && cuzk__q_row(&q)) {
        st = read_brief(&jobs[*n], &q);
        ++*n;
    }
    st = done_reading(j, cuzk__q_end(&q), st, err);
    if (st == CUZK_OK) {
        *out = jobs;
    } else {
        cuzk_journal_jobs_free(jobs, *n);
        *n = 0;
    }
    return st;
}

/* ---- results ---- */

static cuzk_status read_file(cuzk_journal *j, const uint8_t *digest, uint8_t **out, size_t len,
                             cuzk_err *err) {
    char name[CUZK__NAME];
    void *mem = NULL;
    cuzk__hex(name, digest, CUZK__DIGEST);
    cuzk_status st = cuzk_alloc(&mem, len, 1);
    int fd = openat(j->spool.dir, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    size_t got = 0;
    while (st == CUZK_OK && fd >= 0 && got < len) {
        const ssize_t r = read(fd, (char *)mem + got, len - got);
        if (r < 0 && errno == EINTR) continue;
        if (r <= 0) break;
        got += (size_t)r;
    }
    if (st == CUZK_OK && got < len)
        st = cuzk_err_set(err, CUZK_STATUS_BAD_INPUT, "%s/%s: a result's file is gone or cut short",
                          j->spool.path, name);
    if (fd >= 0) close(fd);
    if (st == CUZK_OK)
        *out = mem;
    else
        cuzk_free(mem);
    return st;
}

/* What a job's row says of its result; in the database: *out too. */
static cuzk_status read_result_row(cuzk_journal *j, uint64_t job, uint8_t digest[CUZK__DIGEST],
                                   uint8_t **out, size_t *len, bool *in_spool, cuzk_err *err) {
    cuzk_status st = CUZK_STATUS_NOT_FOUND;
    cuzk_journal_part copy = {0};
    *in_spool = false;
    pthread_mutex_lock(&j->read_lock);
    cuzk__q q = cuzk__q_begin(&j->r, "SELECT outcome,digest,bytes,data,digest IS NOT NULL,data IS "
                                     "NULL FROM job LEFT JOIN blob ON digest=result WHERE seq=?1");
    cuzk__q_int(&q, 1, job > INT64_MAX ? 0 : (int64_t)job);
    if (cuzk__q_row(&q)) {
        st = cuzk__q_col_int(&q, 0) == CUZK_JOURNAL_UNFINISHED ? CUZK_STATUS_FALSE : CUZK_OK;
        const cuzk_journal_part d = cuzk__q_col(&q, 1);
        if (st == CUZK_OK && d.len == CUZK__DIGEST) {
            memcpy(digest, d.data, CUZK__DIGEST);
            *len = (size_t)cuzk__q_col_int(&q, 2);
            *in_spool = cuzk__q_col_int(&q, 5) != 0;
            if (!*in_spool) st = copy_part(&copy, cuzk__q_col(&q, 3));
        }
    }
    const int rc = cuzk__q_end(&q);
    if (rc == SQLITE_OK && st == CUZK_OK && copy.data) {
        *out = (uint8_t *)(uintptr_t)copy.data;
        *len = copy.len;
    } else {
        free_part(&copy);
    }
    st = done_reading(j, rc, st, err);
    if (st == CUZK_STATUS_NOT_FOUND)
        cuzk_err_set(err, st, "job %llu is not known (any more)", (unsigned long long)job);
    if (st == CUZK_STATUS_FALSE)
        cuzk_err_set(err, st, "job %llu has not ended", (unsigned long long)job);
    return st;
}

cuzk_status cuzk_journal_result(cuzk_journal *j, uint8_t **out, size_t *len, uint64_t job,
                                cuzk_err *err) {
    uint8_t digest[CUZK__DIGEST], found[CUZK__DIGEST];
    bool in_spool;
    *out = NULL;
    *len = 0;
    cuzk_status st = read_result_row(j, job, digest, out, len, &in_spool, err);
    if (st == CUZK_OK && in_spool) st = read_file(j, digest, out, *len, err);
    if (st == CUZK_OK && *out) {
        const cuzk_journal_part whole = {*out, *len};
        st = cuzk__digest(found, &whole, 1);
        if (st == CUZK_OK && memcmp(found, digest, CUZK__DIGEST))
            st = cuzk_err_set(err, CUZK_STATUS_BAD_INPUT,
                              "%s: the result of job %llu is not what was stored: it was damaged",
                              j->dir, (unsigned long long)job);
    }
    if (st != CUZK_OK) {
        cuzk_free(*out);
        *out = NULL;
        *len = 0;
    }
    return st;
}

/* ---- faults, totals, facts ---- */

void cuzk_journal_faults_free(cuzk_journal_fault_record *records, size_t n) {
    for (size_t i = 0; records && i < n; i++) {
        cuzk_free(records[i].stage);
        cuzk_free(records[i].device);
        cuzk_free(records[i].text);
    }
    cuzk_free(records);
}

cuzk_status cuzk_journal_faults(cuzk_journal *j, cuzk_journal_fault_record **out, size_t *n,
                                uint64_t job, uint32_t limit, cuzk_err *err) {
    enum { MOST = 10000 };
    if (limit > MOST) limit = MOST;
    void *mem = NULL;
    *out = NULL;
    *n = 0;
    if (cuzk_alloc(&mem, limit, sizeof **out) != CUZK_OK)
        return cuzk_err_set(err, CUZK_STATUS_NO_MEMORY, "a list of faults: out of memory");
    cuzk_journal_fault_record *f = mem;
    cuzk_status st = CUZK_OK;
    pthread_mutex_lock(&j->read_lock);
    cuzk__q q = cuzk__q_begin(&j->r, "SELECT job,idx,at,stage,device,text FROM fault "
                                     "WHERE ?1=0 OR job=?1 ORDER BY id DESC LIMIT ?2");
    cuzk__q_int(&q, 1, job > INT64_MAX ? INT64_MAX : (int64_t)job);
    cuzk__q_int(&q, 2, limit);
    while (st == CUZK_OK && *n < limit && cuzk__q_row(&q)) {
        cuzk_journal_fault_record *r = &f[(*n)++];
        r->job = (uint64_t)cuzk__q_col_int(&q, 0);
        r->partition = (uint32_t)cuzk__q_col_int(&q, 1);
        r->at_ns = cuzk__q_col_int(&q, 2);
        st = copy_text(&r->stage, cuzk__q_col(&q, 3));
        if (st == CUZK_OK) st = copy_text(&r->device, cuzk__q_col(&q, 4));
        if (st == CUZK_OK) st = copy_text(&r->text, cuzk__q_col(&q, 5));
    }
    st = done_reading(j, cuzk__q_end(&q), st, err);
    if (st == CUZK_OK) {
        *out = f;
    } else {
        cuzk_journal_faults_free(f, *n);
        *n = 0;
    }
    return st;
}

cuzk_status cuzk_journal_totals(cuzk_journal *j, cuzk_journal_total **out, size_t *n,
                                cuzk_err *err) {
    size_t cap = 0;
    cuzk_status st = CUZK_OK;
    void *mem = NULL;
    *out = NULL;
    *n = 0;
    pthread_mutex_lock(&j->read_lock);
    cuzk__q q = cuzk__q_begin(&j->r, "SELECT kind,outcome,jobs,ns FROM total ORDER BY 1,2");
    while (cuzk__q_row(&q)) {
        if (*n == cap) st = cuzk_realloc(&mem, cap = cap ? 2 * cap : 16, sizeof **out);
        if (st != CUZK_OK) break;
        cuzk_journal_total *t = (cuzk_journal_total *)mem + (*n)++;
        const cuzk_journal_part kind = cuzk__q_col(&q, 0);
        memset(t, 0, sizeof *t);
        if (kind.len && kind.len < sizeof t->kind) memcpy(t->kind, kind.data, kind.len);
        t->outcome = (cuzk_journal_outcome)cuzk__q_col_int(&q, 1);
        t->jobs = (uint64_t)cuzk__q_col_int(&q, 2);
        t->seconds = (double)cuzk__q_col_int(&q, 3) * 1e-9;
    }
    st = done_reading(j, cuzk__q_end(&q), st, err);
    if (st == CUZK_OK) {
        *out = mem;
    } else {
        cuzk_free(mem);
        *n = 0;
    }
    return st;
}

cuzk_status cuzk_journal_get_fact(cuzk_journal *j, uint8_t **out, size_t *len, const char *name,
                                  cuzk_err *err) {
    cuzk_status st = CUZK_STATUS_NOT_FOUND;
    cuzk_journal_part copy = {0};
    *out = NULL;
    *len = 0;
    pthread_mutex_lock(&j->read_lock);
    cuzk__q q = cuzk__q_begin(&j->r, "SELECT value,sum IS NOT cuzk_sum(" CUZK__FACT_COLS
                                     ") FROM fact WHERE name=?1");
    cuzk__q_text(&q, 1, name);
    if (cuzk__q_row(&q)) {
        st = copy_part(&copy, cuzk__q_col(&q, 0));
        if (cuzk__q_col_int(&q, 1)) q.rc = SQLITE_CORRUPT;
    }
    st = done_reading(j, cuzk__q_end(&q), st, err);
    if (st == CUZK_OK) {
        *out = (uint8_t *)(uintptr_t)copy.data;
        *len = copy.len;
        return st;
    }
    free_part(&copy);
    if (st == CUZK_STATUS_NOT_FOUND) cuzk_err_set(err, st, "no fact \"%.200s\"", name);
    return st;
}
