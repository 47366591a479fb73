/* DESIGN. A version is the SQL that makes it from the one before and the tables that it has.
 * Version n is always made by running 1 .. n, a new database too, so an upgraded one and a new one
 * have the same text in sqlite_schema, and comparing that text with a fresh database in memory
 * shows any flip in it. A version that has been released is never edited. */
#include "engine/journal/schema.h"

#include "base/buf.h"

#include <string.h>

typedef struct table_t {
    const char *name, *cols;
} table_t;

typedef struct version_t {
    const char *make;
    table_t tables[8];
} version_t;

#define SUM " sum INTEGER NOT NULL"
#define RESUM(table, cols) "UPDATE " table " SET sum=cuzk_sum(" cols ");"

static const version_t versions[CUZK__VERSION] = {
    /* 1: jobs, partitions, payloads, totals */
    {
        "CREATE TABLE meta(name TEXT PRIMARY KEY, value BLOB," SUM ") WITHOUT ROWID;"
        "CREATE TABLE job(seq INTEGER PRIMARY KEY, salt BLOB NOT NULL, request_id TEXT,"
        " client TEXT NOT NULL, kind TEXT NOT NULL, priority INTEGER NOT NULL,"
        " deadline INTEGER NOT NULL, submitted INTEGER NOT NULL, submitted_clock INTEGER NOT NULL,"
        " n_partitions INTEGER NOT NULL, meta BLOB NOT NULL, same BLOB NOT NULL, payload BLOB,"
        " payload_bytes INTEGER NOT NULL, secret INTEGER NOT NULL, outcome INTEGER NOT NULL,"
        " ended INTEGER NOT NULL, ended_clock INTEGER NOT NULL, fetched INTEGER NOT NULL,"
        " stage TEXT NOT NULL, message TEXT NOT NULL, result BLOB, result_bytes INTEGER NOT NULL,"
        " timings BLOB NOT NULL," SUM ");"
        "CREATE UNIQUE INDEX job_request ON job(request_id) WHERE request_id IS NOT NULL;"
        "CREATE INDEX job_open ON job(seq) WHERE outcome=0;"
        "CREATE INDEX job_ended ON job(ended_clock) WHERE outcome<>0;"
        "CREATE INDEX job_payload ON job(payload) WHERE payload IS NOT NULL;"
        "CREATE INDEX job_result ON job(result) WHERE result IS NOT NULL;"
        "CREATE TABLE partition(job INTEGER NOT NULL, idx INTEGER NOT NULL, done INTEGER NOT NULL,"
        " proof BLOB NOT NULL, timings BLOB NOT NULL," SUM ", PRIMARY KEY(job, idx)) WITHOUT ROWID;"
        "CREATE TABLE blob(digest BLOB PRIMARY KEY, bytes INTEGER NOT NULL, data BLOB," SUM ");"
        "CREATE TABLE total(kind TEXT NOT NULL, outcome INTEGER NOT NULL, jobs INTEGER NOT "
        "NULL," SUM ", PRIMARY KEY(kind, outcome)) WITHOUT ROWID;",
        {{"meta", CUZK__META_COLS},
         {"job", CUZK__JOB_COLS},
         {"partition", CUZK__PARTITION_COLS},
         {"blob", CUZK__BLOB_COLS},
         {"total", "kind,outcome,jobs"}},
    },
    /* 2: time in the totals; faults and facts */
    {
        "ALTER TABLE total ADD COLUMN ns INTEGER NOT NULL DEFAULT 0;" RESUM(
            "total",
            CUZK__TOTAL_COLS) "CREATE TABLE fault(id INTEGER PRIMARY KEY, job INTEGER NOT NULL, "
                              "idx INTEGER NOT NULL,"
                              " at INTEGER NOT NULL, stage TEXT NOT NULL, device TEXT NOT NULL, "
                              "text TEXT NOT NULL," SUM ");"
                              "CREATE INDEX fault_job ON fault(job);"
                              "CREATE TABLE fact(name TEXT PRIMARY KEY, value BLOB NOT NULL," SUM
                              ") WITHOUT ROWID;",
        {{"meta", CUZK__META_COLS},
         {"job", CUZK__JOB_COLS},
         {"partition", CUZK__PARTITION_COLS},
         {"blob", CUZK__BLOB_COLS},
         {"total", CUZK__TOTAL_COLS},
         {"fault", CUZK__FAULT_COLS},
         {"fact", CUZK__FACT_COLS}},
    },
};

int cuzk__schema_settings(cuzk__db *db) {
    return cuzk__db_exec(db, "PRAGMA cell_size_check=ON; PRAGMA temp_store=MEMORY;"
                             "PRAGMA synchronous=FULL; PRAGMA journal_size_limit=67108864;");
}

/* Runs versions from+1 .. to inside a transaction of the caller's. */
static int make(cuzk__db *db, int from, int to) {
    int rc = SQLITE_OK;
    for (int v = from; rc == SQLITE_OK && v < to; v++)
        rc = cuzk__db_exec(db, versions[v].make);
    char set[48];
    sqlite3_snprintf(sizeof set, set, "PRAGMA user_version=%d", to);
    return rc == SQLITE_OK ? cuzk__db_exec(db, set) : rc;
}

static int transaction(cuzk__db *db, int from, int to) {
    int rc = cuzk__db_exec(db, "BEGIN IMMEDIATE");
    if (rc != SQLITE_OK) return rc;
    rc = make(db, from, to);
    if (rc == SQLITE_OK) rc = cuzk__db_exec(db, "COMMIT");
    if (rc != SQLITE_OK && !sqlite3_get_autocommit(db->h)) cuzk__db_exec(db, "ROLLBACK");
    return rc;
}

cuzk_status cuzk__schema_create(cuzk__db *db, int version, cuzk_err *err) {
    char set[128];
    sqlite3_snprintf(sizeof set, set, "PRAGMA auto_vacuum=INCREMENTAL; PRAGMA application_id=%d",
                     CUZK__APPLICATION_ID);
    int rc = cuzk__db_exec(db, set);
    if (rc == SQLITE_OK) rc = transaction(db, 0, version ? version : CUZK__VERSION);
    return rc == SQLITE_OK ? CUZK_OK : cuzk__db_error(db, rc, err);
}

static cuzk_status damage(cuzk__db *db, bool *damaged, cuzk_err *err, const char *what) {
    *damaged = true;
    return cuzk_err_set(err, CUZK_STATUS_IO, "%s: damaged: %s", db->path, what);
}

/* What failed: the file's content, or the reading of it. */
static cuzk_status failed(cuzk__db *db, int rc, bool *damaged, cuzk_err *err) {
    *damaged = cuzk__db_damaged(rc) || rc == SQLITE_ERROR || rc == SQLITE_SCHEMA;
    return *damaged ? damage(db, damaged, err, sqlite3_errmsg(db->h)) : cuzk__db_error(db, rc, err);
}

/* Appends a statement's first column, a line a row. */
static int dump(cuzk__db *db, const char *sql, cuzk_buf *out) {
    cuzk__q q = cuzk__q_begin(db, sql);
    while (cuzk__q_row(&q)) {
        const cuzk_journal_part text = cuzk__q_col(&q, 0);
        cuzk_buf_append(out, text.data, text.len);
        cuzk_buf_puts(out, "\n");
    }
    const int rc = cuzk__q_end(&q);
    return rc == SQLITE_OK && cuzk_buf_status(out) != CUZK_OK ? SQLITE_NOMEM : rc;
}

static const char schema_sql[] =
    "SELECT type||' '||name||' '||tbl_name||' '||ifnull(sql,'') FROM sqlite_schema ORDER BY 1";

static cuzk_status check_schema(cuzk__db *db, int version, bool *damaged, cuzk_err *err) {
    cuzk_buf found = CUZK_BUF_INIT, expected = CUZK_BUF_INIT;
    cuzk__db fresh = {0};
    cuzk_status st = cuzk__db_open(&fresh, ":memory:", NULL, true, err);
    if (st != CUZK_OK) goto out;
    int rc = make(&fresh, 0, version);
    if (rc == SQLITE_OK) rc = dump(&fresh, schema_sql, &expected);
    if (rc != SQLITE_OK) {
        st = cuzk__db_error(&fresh, rc, err);
        goto out;
    }
    rc = dump(db, schema_sql, &found);
    if (rc != SQLITE_OK)
        st = failed(db, rc, damaged, err);
    else if (found.len != expected.len || memcmp(found.data, expected.data, found.len))
        st = damage(db, damaged, err, "its tables are not those of its version");
out:
    cuzk__db_close(&fresh);
    cuzk_buf_free(&found);
    cuzk_buf_free(&expected);
    return st;
}

/* One row, or none, of a statement made here. */
static int first_text(cuzk__db *db, const char *sql, char *out, size_t n, bool *any) {
    sqlite3_stmt *s = NULL;
    int rc = sqlite3_prepare_v2(db->h, sql, -1, &s, NULL);
    *any = false;
    if (rc == SQLITE_OK) rc = sqlite3_step(s);
    if (rc == SQLITE_ROW) {
        const unsigned char *text = sqlite3_column_text(s, 0);
        sqlite3_snprintf((int)n, out, "%s", text ? (const char *)text : "");
        *any = true;
        rc = SQLITE_OK;
    }
    sqlite3_finalize(s);
    return rc == SQLITE_DONE ? SQLITE_OK : rc;
}

static cuzk_status check_sums(cuzk__db *db, const version_t *v, bool *damaged, cuzk_err *err) {
    for (const table_t *t = v->tables; t->name; t++) {
        char sql[600], text[64];
        bool any;
        sqlite3_snprintf(sizeof sql, sql, "SELECT 1 FROM %s WHERE sum IS NOT cuzk_sum(%s) LIMIT 1",
                         t->name, t->cols);
        const int rc = first_text(db, sql, text, sizeof text, &any);
        if (rc != SQLITE_OK) return failed(db, rc, damaged, err);
        if (!any) continue;
        sqlite3_snprintf(sizeof text, text, "a row of table %s is not what was written", t->name);
        return damage(db, damaged, err, text);
    }
    return CUZK_OK;
}

cuzk_status cuzk__schema_check(cuzk__db *db, int newest, bool *damaged, cuzk_err *err) {
    if (newest == 0) newest = CUZK__VERSION;
    *damaged = false;
    int rc = cuzk__schema_settings(db);
    int64_t id = 0, version = 0;
    char text[256];
    bool any = false;
    if (rc == SQLITE_OK) rc = cuzk__db_int(db, "PRAGMA application_id", &id);
    if (rc == SQLITE_OK && id != CUZK__APPLICATION_ID)
        return damage(db, damaged, err, "its header is not a journal's");
    if (rc == SQLITE_OK) rc = first_text(db, "PRAGMA integrity_check(1)", text, sizeof text, &any);
    if (rc == SQLITE_OK && (!any || strcmp(text, "ok"))) return damage(db, damaged, err, text);
    if (rc == SQLITE_OK) rc = cuzk__db_int(db, "PRAGMA user_version", &version);
    if (rc != SQLITE_OK) return failed(db, rc, damaged, err);
    if (version < 1) return damage(db, damaged, err, "it has no version");
    if (version > newest)
        return cuzk_err_set(err, CUZK_STATUS_IO,
                            "%s: made by a newer cuzkd: its version is %lld, this program knows up "
                            "to %d; use the newer program, or another state directory",
                            db->path, (long long)version, newest);
    CUZK_TRY(check_schema(db, (int)version, damaged, err));
    return check_sums(db, &versions[version - 1], damaged, err);
}

cuzk_status cuzk__schema_upgrade(cuzk__db *db, int version, int *from, cuzk_err *err) {
    if (version == 0) version = CUZK__VERSION;
    int64_t found;
    int rc = cuzk__db_int(db, "PRAGMA user_version", &found);
    *from = (int)found;
    if (rc == SQLITE_OK && *from < version) rc = transaction(db, *from, version);
    if (rc == SQLITE_OK) return CUZK_OK;
    cuzk__db_error(db, rc, err);
    return cuzk_err_prefix(err, CUZK_STATUS_IO, "upgrading the journal from version %d to %d",
                           *from, version);
}
