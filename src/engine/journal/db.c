#include "engine/journal/db.h"

#include "base/buf.h"
#include "base/digest.h"
#include "base/mem.h"

#include <errno.h>
#include <string.h>

/* Folds the arguments one after the other, so that no buffer is needed: each one's digest is keyed
 * with what came before. Types and lengths count: NULL, "" and an empty blob differ. */
static void sum_function(sqlite3_context *ctx, int argc, sqlite3_value **argv) {
    uint64_t sum = 0x63757a6b6a726e6cu;
    for (int i = 0; i < argc; i++) {
        const int type = sqlite3_value_type(argv[i]);
        const void *data = NULL;
        size_t len = 0;
        int64_t v;
        if (type == SQLITE_INTEGER) {
            v = sqlite3_value_int64(argv[i]);
            data = &v;
            len = sizeof v;
        } else if (type != SQLITE_NULL) {
            data = sqlite3_value_blob(argv[i]);
            len = (size_t)sqlite3_value_bytes(argv[i]);
        }
        const cuzk_digest d = cuzk_digest_of(data ? data : "", len, sum);
        const uint64_t tail[3] = {d.lo, d.hi, (uint64_t)type << 56 | len};
        sum = cuzk_digest_of(tail, sizeof tail, sum).lo;
    }
    sqlite3_result_int64(ctx, (int64_t)sum);
}

cuzk_status cuzk__db_open(cuzk__db *db, const char *path, const char *vfs, bool create,
                          cuzk_err *err) {
    memset(db, 0, sizeof *db);
    if (cuzk_strdup(&db->path, path) != CUZK_OK)
        return cuzk_err_set(err, CUZK_STATUS_NO_MEMORY, "%s: out of memory", path);
    int rc = sqlite3_open_v2(path, &db->h,
                             SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE |
                                 (create ? SQLITE_OPEN_CREATE : 0),
                             vfs);
    if (rc == SQLITE_OK)
        rc = sqlite3_create_function(db->h, "cuzk_sum", -1, SQLITE_UTF8 | SQLITE_DETERMINISTIC,
                                     NULL, sum_function, NULL, NULL);
    if (rc == SQLITE_OK) rc = sqlite3_busy_timeout(db->h, 5000);
    if (rc == SQLITE_OK) rc = sqlite3_db_config(db->h, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
    if (rc == SQLITE_OK) rc = sqlite3_db_config(db->h, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, NULL);
    /* A checkpoint is made by hand, when the answers to a transaction are out. */
    if (rc == SQLITE_OK) rc = sqlite3_wal_autocheckpoint(db->h, 0);
    if (rc == SQLITE_OK) return CUZK_OK;
    cuzk_status st = cuzk__db_error(db, rc, err);
    cuzk__db_close(db);
    return st;
}

void cuzk__db_close(cuzk__db *db) {
    for (int i = 0; i < CUZK__STATEMENTS; i++)
        sqlite3_finalize(db->cache[i].s);
    sqlite3_close(db->h);
    cuzk_free(db->path);
    memset(db, 0, sizeof *db);
}

int cuzk__db_exec(cuzk__db *db, const char *sql) {
    return sqlite3_exec(db->h, sql, NULL, NULL, NULL);
}

cuzk__q cuzk__q_begin(cuzk__db *db, const char *sql) {
    cuzk__q q = {db, NULL, SQLITE_OK};
    for (int i = 0; i < CUZK__STATEMENTS; i++) {
        if (!db->cache[i].sql) {
            q.rc = sqlite3_prepare_v3(db->h, sql, -1, SQLITE_PREPARE_PERSISTENT, &q.s, NULL);
            if (q.rc == SQLITE_OK) {
                db->cache[i].sql = sql;
                db->cache[i].s = q.s;
            }
            return q;
        }
        if (db->cache[i].sql == sql) {
            q.s = db->cache[i].s;
            return q;
        }
    }
    q.rc = SQLITE_INTERNAL; /* more statements than CUZK__STATEMENTS */
    return q;
}

void cuzk__q_int(cuzk__q *q, int i, int64_t v) {
    if (q->rc == SQLITE_OK) q->rc = sqlite3_bind_int64(q->s, i, v);
}

void cuzk__q_text(cuzk__q *q, int i, const char *s) {
    if (q->rc == SQLITE_OK) q->rc = sqlite3_bind_text(q->s, i, s, -1, SQLITE_STATIC);
}

void cuzk__q_blob(cuzk__q *q, int i, const void *data, size_t n) {
    if (q->rc == SQLITE_OK)
        q->rc = sqlite3_bind_blob64(q->s, i, data ? data : "", n, SQLITE_STATIC);
}

void cuzk__q_null(cuzk__q *q, int i) {
    if (q->rc == SQLITE_OK) q->rc = sqlite3_bind_null(q->s, i);
}

bool cuzk__q_row(cuzk__q *q) {
    if (q->rc != SQLITE_OK && q->rc != SQLITE_ROW) return false;
    q->rc = sqlite3_step(q->s);
    return q->rc == SQLITE_ROW;
}

int64_t cuzk__q_col_int(cuzk__q *q, int i) {
    return sqlite3_column_int64(q->s, i);
}

cuzk_journal_part cuzk__q_col(cuzk__q *q, int i) {
    /* the pointer first: it may convert, and an allocation that fails there leaves NULL */
    const void *data = sqlite3_column_blob(q->s, i);
    cuzk_journal_part p = {data, (size_t)sqlite3_column_bytes(q->s, i)};
    if (p.len && !data) {
        q->rc = SQLITE_NOMEM;
        p.len = 0;
    }
    return p;
}

int cuzk__q_end(cuzk__q *q) {
    const int rc = q->rc;
    if (q->s) {
        sqlite3_reset(q->s);
        sqlite3_clear_bindings(q->s);
    }
    q->s = NULL;
    return rc == SQLITE_ROW || rc == SQLITE_DONE ? SQLITE_OK : rc;
}

int cuzk__q_run(cuzk__q *q) {
    while (cuzk__q_row(q)) {
    }
    return cuzk__q_end(q);
}

int cuzk__db_int(cuzk__db *db, const char *sql, int64_t *out) {
    cuzk__q q = cuzk__q_begin(db, sql);
    *out = 0;
    if (cuzk__q_row(&q)) *out = cuzk__q_col_int(&q, 0);
    return cuzk__q_end(&q);
}

bool cuzk__db_damaged(int rc) {
    return (rc & 0xff) == SQLITE_CORRUPT || (rc & 0xff) == SQLITE_NOTADB;
}

static bool no_room(int rc, int sys) {
    return rc == SQLITE_FULL ||
           (rc == SQLITE_IOERR && (sys == ENOSPC || sys == EDQUOT || sys == EFBIG));
}

void cuzk__db_note(cuzk__db *db) {
    const int e = errno; /* SQLite does not keep it where a commit fails */
    db->sys_errno = db->h ? sqlite3_system_errno(db->h) : 0;
    if (!db->sys_errno) db->sys_errno = e;
}

cuzk_status cuzk__db_error(cuzk__db *db, int rc, cuzk_err *err) {
    if (!db->sys_errno) cuzk__db_note(db);
    const int sys = db->sys_errno;
    db->sys_errno = 0;
    const char *path = db->path ? db->path : "journal";
    const int primary = rc & 0xff;
    if (no_room(primary, sys))
        return cuzk_err_set(err, CUZK_STATUS_IO,
                            "%s: cannot write: %s; free some space on its disk (or raise the limit "
                            "on file sizes), nothing that was confirmed is lost",
                            path, strerror(primary == SQLITE_IOERR ? sys : ENOSPC));
    switch (primary) {
    case SQLITE_NOMEM:
        return cuzk_err_set(err, CUZK_STATUS_NO_MEMORY, "%s: out of memory", path);
    case SQLITE_READONLY:
    case SQLITE_CANTOPEN:
    case SQLITE_PERM:
        return cuzk_err_set(err, CUZK_STATUS_IO,
                            "%s: cannot be opened for writing: %s; make the state directory and "
                            "its files writable for this user",
                            path, sys ? strerror(sys) : sqlite3_errstr(rc));
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
        return cuzk_err_set(err, CUZK_STATUS_IO,
                            "%s: another program holds a lock on it; close that program", path);
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
        return cuzk_err_set(err, CUZK_STATUS_IO,
                            "%s: damaged: %s; start the daemon again, which checks it", path,
                            sqlite3_errstr(rc));
    case SQLITE_IOERR:
        return cuzk_err_set(err, CUZK_STATUS_IO, "%s: %s (SQLite %d): %s", path, sqlite3_errstr(rc),
                            rc, sys ? strerror(sys) : "no reason is known");
    default:
        return cuzk_err_set(err, CUZK_STATUS_BUG, "%s: %s (SQLite %d)", path, sqlite3_errstr(rc),
                            rc);
    }
}
