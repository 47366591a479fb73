/* Requests as SQL, inside the writer's transaction. */
#include "engine/journal/internal.h"
#include "engine/journal/schema.h"

#include "base/bytes.h"
#include "base/mem.h"

#include <string.h>

#define INSERT(table, cols, values)                                                                \
    "INSERT INTO " table "(" cols ",sum) VALUES(" values ",cuzk_sum(" values "))"
#define RESUM(table, cols, where) "UPDATE " table " SET sum=cuzk_sum(" cols ") WHERE " where

static void refuse(cuzk__op *op, cuzk_status st, const char *what) {
    cuzk_err_set(&op->err, st, "job %llu %s", (unsigned long long)op->job, what);
}

/* ---- stored bytes ---- */

static int insert_blob(cuzk_journal *j, const cuzk__op *op, cuzk__effects *e) {
    cuzk__q q =
        cuzk__q_begin(&j->w, INSERT("blob", CUZK__BLOB_COLS, "?1,?2,?3") " ON CONFLICT DO NOTHING");
    cuzk__q_blob(&q, 1, op->digest, CUZK__DIGEST);
    cuzk__q_int(&q, 2, (int64_t)op->stored_bytes);
    if (op->in_spool)
        cuzk__q_null(&q, 3);
    else
        cuzk__q_blob(&q, 3, op->blob[1].data, op->blob[1].len);
    const int rc = cuzk__q_run(&q);
    if (rc == SQLITE_OK && !op->in_spool && sqlite3_changes(j->w.h))
        e->inline_bytes += (int64_t)op->stored_bytes;
    return rc;
}

/* Forgets a payload or result that no job refers to any more. */
static int drop_blob(cuzk_journal *j, const uint8_t digest[CUZK__DIGEST], cuzk__effects *e) {
    cuzk__q q = cuzk__q_begin(&j->w, "SELECT bytes,data IS NULL FROM blob WHERE digest=?1 "
                                     "AND NOT EXISTS(SELECT 1 FROM job WHERE payload=?1) "
                                     "AND NOT EXISTS(SELECT 1 FROM job WHERE result=?1)");
    cuzk__q_blob(&q, 1, digest, CUZK__DIGEST);
    const bool unused = cuzk__q_row(&q);
    const int64_t bytes = unused ? cuzk__q_col_int(&q, 0) : 0;
    const bool file = unused && cuzk__q_col_int(&q, 1);
    int rc = cuzk__q_end(&q);
    if (rc != SQLITE_OK || !unused) return rc;
    if (file && e->n_dropped == e->cap) {
        void *mem = e->dropped;
        if (cuzk_realloc(&mem, e->cap ? 2 * e->cap : 16, CUZK__DIGEST) != CUZK_OK)
            return SQLITE_NOMEM;
        e->dropped = mem;
        e->cap = e->cap ? 2 * e->cap : 16;
    }
    if (file) memcpy(e->dropped[e->n_dropped++], digest, CUZK__DIGEST);
    if (!file) e->inline_bytes -= bytes;
    q = cuzk__q_begin(&j->w, "DELETE FROM blob WHERE digest=?1");
    cuzk__q_blob(&q, 1, digest, CUZK__DIGEST);
    return cuzk__q_run(&q);
}

/* ---- totals ---- */

static int add_total(cuzk_journal *j, const char *kind, int outcome, int64_t ns) {
    cuzk__q q = cuzk__q_begin(
        &j->w, INSERT("total", CUZK__TOTAL_COLS,
                      "?1,?2,1,?3") " ON CONFLICT DO UPDATE SET jobs=jobs+1, ns=ns+excluded.ns");
    cuzk__q_text(&q, 1, kind);
    cuzk__q_int(&q, 2, outcome);
    cuzk__q_int(&q, 3, ns);
    int rc = cuzk__q_run(&q);
    if (rc != SQLITE_OK) return rc;
    q = cuzk__q_begin(&j->w, RESUM("total", CUZK__TOTAL_COLS, "kind=?1 AND outcome=?2"));
    cuzk__q_text(&q, 1, kind);
    cuzk__q_int(&q, 2, outcome);
    return cuzk__q_run(&q);
}

/* ---- jobs ---- */

static int resum_job(cuzk_journal *j, uint64_t job) {
    cuzk__q q = cuzk__q_begin(&j->w, RESUM("job", CUZK__JOB_COLS, "seq=?1"));
    cuzk__q_int(&q, 1, (int64_t)job);
    return cuzk__q_run(&q);
}

static int apply_accept(cuzk_journal *j, cuzk__op *op, cuzk__effects *e) {
    int rc = op->stored ? insert_blob(j, op, e) : SQLITE_OK;
    if (rc != SQLITE_OK) return rc;
    cuzk__q q = cuzk__q_begin(
        &j->w, INSERT("job", CUZK__JOB_COLS,
                      "?1,?2,?3,?4,?5,?6,?7,?8,?9,?10,?11,?12,?13,?14,?15,0,0,0,0,'','',NULL,0,"
                      "x''"));
    cuzk__q_int(&q, 1, (int64_t)op->job);
    cuzk__q_blob(&q, 2, op->salt, CUZK__SALT);
    cuzk__q_text(&q, 3, op->text[0][0] ? op->text[0] : NULL);
    cuzk__q_text(&q, 4, op->text[1]);
    cuzk__q_text(&q, 5, op->text[2]);
    cuzk__q_int(&q, 6, op->priority);
    cuzk__q_int(&q, 7, op->deadline);
    cuzk__q_int(&q, 8, op->now);
    cuzk__q_int(&q, 9, op->clock);
    cuzk__q_int(&q, 10, op->n_partitions);
    cuzk__q_blob(&q, 11, op->blob[0].data, op->blob[0].len);
    cuzk__q_blob(&q, 12, op->same, CUZK__DIGEST);
    if (op->stored)
        cuzk__q_blob(&q, 13, op->digest, CUZK__DIGEST);
    else
        cuzk__q_null(&q, 13);
    cuzk__q_int(&q, 14, (int64_t)op->payload_bytes);
    cuzk__q_int(&q, 15, op->secret);
    rc = cuzk__q_run(&q);
    if (rc == SQLITE_OK) rc = add_total(j, op->text[2], CUZK_JOURNAL_UNFINISHED, 0);
    return rc;
}

/* The row's outcome; refuses op when there is no row, or (open_only) when the job has ended. False:
 * refused, or *rc. */
static bool find_job(cuzk_journal *j, cuzk__op *op, bool open_only, int *outcome, int *rc) {
    cuzk__q q = cuzk__q_begin(&j->w, "SELECT outcome,n_partitions FROM job WHERE seq=?1");
    cuzk__q_int(&q, 1, (int64_t)op->job);
    const bool found = cuzk__q_row(&q);
    *outcome = found ? (int)cuzk__q_col_int(&q, 0) : 0;
    const int64_t n = found ? cuzk__q_col_int(&q, 1) : 0;
    *rc = cuzk__q_end(&q);
    if (*rc != SQLITE_OK) return false;
    if (!found) {
        refuse(op, CUZK_STATUS_NOT_FOUND, "is not in the journal");
        return false;
    }
    if (open_only && *outcome != CUZK_JOURNAL_UNFINISHED) {
        refuse(op, CUZK_STATUS_FALSE, "has ended");
        return false;
    }
    const int64_t last = op->type == CUZK__OP_FAULT ? n : n - 1;
    if ((op->type == CUZK__OP_FAULT || op->type == CUZK__OP_PARTITION) && op->partition > last) {
        refuse(op, CUZK_STATUS_BAD_INPUT, "has no such partition");
        return false;
    }
    return true;
}

static int apply_partition(cuzk_journal *j, cuzk__op *op) {
    int outcome, rc;
    if (!find_job(j, op, true, &outcome, &rc)) return rc;
    cuzk__q q = cuzk__q_begin(&j->w, INSERT("partition", CUZK__PARTITION_COLS,
                                            "?1,?2,?3,?4,?5") " ON CONFLICT DO NOTHING");
    cuzk__q_int(&q, 1, (int64_t)op->job);
    cuzk__q_int(&q, 2, op->partition);
    cuzk__q_int(&q, 3, op->now);
    cuzk__q_blob(&q, 4, op->blob[0].data, op->blob[0].len);
    cuzk__q_blob(&q, 5, op->blob[1].data, op->blob[1].len);
    return cuzk__q_run(&q);
}

static int apply_fault(cuzk_journal *j, cuzk__op *op) {
    int outcome, rc;
    if (!find_job(j, op, false, &outcome, &rc)) return rc;
    int64_t id = 0;
    rc = cuzk__db_int(&j->w, "SELECT ifnull(max(id),0)+1 FROM fault", &id);
    if (rc != SQLITE_OK) return rc;
    cuzk__q q = cuzk__q_begin(&j->w, INSERT("fault", CUZK__FAULT_COLS, "?1,?2,?3,?4,?5,?6,?7"));
    cuzk__q_int(&q, 1, id);
    cuzk__q_int(&q, 2, (int64_t)op->job);
    cuzk__q_int(&q, 3, op->partition);
    cuzk__q_int(&q, 4, op->now);
    for (int i = 0; i < 3; i++)
        cuzk__q_text(&q, 5 + i, op->text[i]);
    rc = cuzk__q_run(&q);
    if (rc != SQLITE_OK) return rc;
    q = cuzk__q_begin(&j->w, "DELETE FROM fault WHERE job=?1 AND id<=(SELECT id FROM fault "
                             "WHERE job=?1 ORDER BY id DESC LIMIT 1 OFFSET ?2)");
    cuzk__q_int(&q, 1, (int64_t)op->job);
    cuzk__q_int(&q, 2, CUZK_JOURNAL_FAULTS);
    return cuzk__q_run(&q);
}

/* What an end needs to know of the job. */
typedef struct ending_t {
    char kind[CUZK_JOURNAL_MAX_NAME + 1];
    int64_t clock;
    bool has_payload;
    uint8_t payload[CUZK__DIGEST];
} ending_t;

static int read_ending(cuzk_journal *j, uint64_t job, ending_t *out) {
    memset(out, 0, sizeof *out);
    cuzk__q q = cuzk__q_begin(&j->w, "SELECT kind,submitted_clock,payload FROM job WHERE seq=?1");
    cuzk__q_int(&q, 1, (int64_t)job);
    if (cuzk__q_row(&q)) {
        const cuzk_journal_part kind = cuzk__q_col(&q, 0), payload = cuzk__q_col(&q, 2);
        if (kind.len < sizeof out->kind && kind.len) memcpy(out->kind, kind.data, kind.len);
        out->clock = cuzk__q_col_int(&q, 1);
        out->has_payload = payload.len == CUZK__DIGEST;
        if (out->has_payload) memcpy(out->payload, payload.data, CUZK__DIGEST);
    }
    return cuzk__q_end(&q);
}

static int update_ended(cuzk_journal *j, const cuzk__op *op) {
    cuzk__q q = cuzk__q_begin(
        &j->w, "UPDATE job SET outcome=?2,ended=?3,ended_clock=?4,stage=?5,message=?6,result=?7,"
               "result_bytes=?8,timings=?9,payload=NULL WHERE seq=?1");
    cuzk__q_int(&q, 1, (int64_t)op->job);
    cuzk__q_int(&q, 2, op->outcome);
    cuzk__q_int(&q, 3, op->now);
    cuzk__q_int(&q, 4, op->clock);
    cuzk__q_text(&q, 5, op->text[0]);
    cuzk__q_text(&q, 6, op->text[1]);
    if (op->stored)
        cuzk__q_blob(&q, 7, op->digest, CUZK__DIGEST);
    else
        cuzk__q_null(&q, 7);
    cuzk__q_int(&q, 8, (int64_t)op->stored_bytes);
    cuzk__q_blob(&q, 9, op->blob[0].data, op->blob[0].len);
    const int rc = cuzk__q_run(&q);
    return rc == SQLITE_OK ? resum_job(j, op->job) : rc;
}

static int apply_end(cuzk_journal *j, cuzk__op *op, cuzk__effects *e) {
    int outcome, rc;
    ending_t ending;
    if (!find_job(j, op, true, &outcome, &rc)) return rc;
    rc = read_ending(j, op->job, &ending);
    if (rc == SQLITE_OK && op->stored) rc = insert_blob(j, op, e);
    if (rc == SQLITE_OK) rc = update_ended(j, op);
    if (rc == SQLITE_OK && ending.has_payload) rc = drop_blob(j, ending.payload, e);
    if (rc != SQLITE_OK) return rc;
    cuzk__q q = cuzk__q_begin(&j->w, "UPDATE partition SET proof=x'',"
                                     "sum=cuzk_sum(job,idx,done,x'',timings) WHERE job=?1");
    cuzk__q_int(&q, 1, (int64_t)op->job);
    rc = cuzk__q_run(&q);
    const int64_t took = op->clock - ending.clock;
    if (rc == SQLITE_OK) rc = add_total(j, ending.kind, (int)op->outcome, took > 0 ? took : 0);
    return rc;
}

static int apply_fetched(cuzk_journal *j, cuzk__op *op) {
    int outcome, rc;
    if (!find_job(j, op, false, &outcome, &rc)) return rc;
    if (outcome == CUZK_JOURNAL_UNFINISHED) {
        refuse(op, CUZK_STATUS_FALSE, "has not ended");
        return SQLITE_OK;
    }
    cuzk__q q = cuzk__q_begin(&j->w, "UPDATE job SET fetched=1 WHERE seq=?1");
    cuzk__q_int(&q, 1, (int64_t)op->job);
    rc = cuzk__q_run(&q);
    return rc == SQLITE_OK ? resum_job(j, op->job) : rc;
}

static int apply_fact(cuzk_journal *j, const cuzk__op *op) {
    cuzk__q q;
    if (op->blob[0].len) {
        q = cuzk__q_begin(&j->w, "INSERT OR REPLACE INTO fact(" CUZK__FACT_COLS
                                 ",sum) VALUES(?1,?2,cuzk_sum(?1,?2))");
        cuzk__q_text(&q, 1, op->text[0]);
        cuzk__q_blob(&q, 2, op->blob[0].data, op->blob[0].len);
    } else {
        q = cuzk__q_begin(&j->w, "DELETE FROM fact WHERE name=?1");
        cuzk__q_text(&q, 1, op->text[0]);
    }
    return cuzk__q_run(&q);
}

/* ---- retention ---- */

static int delete_job(cuzk_journal *j, uint64_t job, cuzk__effects *e) {
    uint8_t result[CUZK__DIGEST];
    cuzk__q q = cuzk__q_begin(&j->w, "SELECT result FROM job WHERE seq=?1");
    cuzk__q_int(&q, 1, (int64_t)job);
    bool has_result = false;
    if (cuzk__q_row(&q)) {
        const cuzk_journal_part d = cuzk__q_col(&q, 0);
        has_result = d.len == CUZK__DIGEST;
        if (has_result) memcpy(result, d.data, CUZK__DIGEST);
    }
    int rc = cuzk__q_end(&q);
    /* one literal a statement: its address is its key in the cache */
    static const char partitions[] = "DELETE FROM partition WHERE job=?1";
    static const char faults[] = "DELETE FROM fault WHERE job=?1";
    static const char jobs[] = "DELETE FROM job WHERE seq=?1";
    const char *const sql[] = {partitions, faults, jobs};
    for (size_t i = 0; rc == SQLITE_OK && i < sizeof sql / sizeof *sql; i++) {
        q = cuzk__q_begin(&j->w, sql[i]);
        cuzk__q_int(&q, 1, (int64_t)job);
        rc = cuzk__q_run(&q);
    }
    return rc == SQLITE_OK && has_result ? drop_blob(j, result, e) : rc;
}

/* Up to CUZK__RETAIN_STEP jobs that the rules name. */
static int choose(cuzk_journal *j, const cuzk__op *op, uint64_t *jobs, size_t *n) {
    const cuzk_journal_retention *r = &op->rules;
    int64_t excess = 0;
    *n = 0;
    if (r->max_jobs) {
        int rc = cuzk__db_int(&j->w, "SELECT count(*) FROM job WHERE outcome<>0", &excess);
        if (rc != SQLITE_OK) return rc;
        excess = (uint64_t)excess > r->max_jobs ? excess - (int64_t)r->max_jobs : 0;
    }
    cuzk__q q = cuzk__q_begin(
        &j->w, "SELECT seq FROM job WHERE outcome<>0 AND "
               "((?1 AND ended_clock<=?2) OR (?3 AND fetched AND ended_clock<=?4)) LIMIT ?5");
    cuzk__q_int(&q, 1, r->ended_ns > 0);
    cuzk__q_int(&q, 2, op->clock - r->ended_ns);
    cuzk__q_int(&q, 3, r->fetched_ns > 0);
    cuzk__q_int(&q, 4, op->clock - r->fetched_ns);
    cuzk__q_int(&q, 5, CUZK__RETAIN_STEP);
    while (*n < CUZK__RETAIN_STEP && cuzk__q_row(&q))
        jobs[(*n)++] = (uint64_t)cuzk__q_col_int(&q, 0);
    int rc = cuzk__q_end(&q);
    if (rc != SQLITE_OK || *n || excess <= 0) return rc;
    q = cuzk__q_begin(&j->w,
                      "SELECT seq FROM job WHERE outcome<>0 ORDER BY fetched DESC,seq LIMIT ?1");
    cuzk__q_int(&q, 1, excess < CUZK__RETAIN_STEP ? excess : CUZK__RETAIN_STEP);
    while (*n < CUZK__RETAIN_STEP && cuzk__q_row(&q))
        jobs[(*n)++] = (uint64_t)cuzk__q_col_int(&q, 0);
    return cuzk__q_end(&q);
}

static int apply_retain(cuzk_journal *j, cuzk__op *op, cuzk__effects *e) {
    uint64_t jobs[CUZK__RETAIN_STEP];
    size_t n;
    int rc = choose(j, op, jobs, &n);
    for (size_t i = 0; rc == SQLITE_OK && i < n; i++)
        rc = delete_job(j, jobs[i], e);
    *op->removed = n;
    return rc;
}

int cuzk__apply(cuzk_journal *j, cuzk__op *op, cuzk__effects *e) {
    int outcome, rc = SQLITE_OK;
    op->err.status = CUZK_OK;
    switch (op->type) {
    case CUZK__OP_ACCEPT:
        return apply_accept(j, op, e);
    case CUZK__OP_SAME:
        if (!find_job(j, op, false, &outcome, &rc) && rc == SQLITE_OK)
            refuse(op, CUZK_STATUS_IO, "could not be written to the journal; try again");
        return rc;
    case CUZK__OP_PARTITION:
        return apply_partition(j, op);
    case CUZK__OP_FAULT:
        return apply_fault(j, op);
    case CUZK__OP_END:
        return apply_end(j, op, e);
    case CUZK__OP_FETCHED:
        return apply_fetched(j, op);
    case CUZK__OP_FACT:
        return apply_fact(j, op);
    case CUZK__OP_RETAIN:
        return apply_retain(j, op, e);
    case CUZK__OP_SHRINK:
        return cuzk__db_exec(&j->w, "PRAGMA incremental_vacuum(4096)");
    }
    return rc;
}

int cuzk__apply_state(cuzk_journal *j) {
    uint8_t state[24];
    cuzk_st_u64le(state, (uint64_t)cuzk__clock(j));
    cuzk_st_u64le(state + 8, (uint64_t)cuzk__wall(j));
    cuzk_st_u64le(state + 16, j->last_job);
    cuzk__q q = cuzk__q_begin(&j->w, "INSERT OR REPLACE INTO meta(" CUZK__META_COLS
                                     ",sum) VALUES('state',?1,cuzk_sum('state',?1))");
    cuzk__q_blob(&q, 1, state, sizeof state);
    return cuzk__q_run(&q);
}
