/* SQLite, as much of it as the journal needs: a connection with its prepared statements, one
 * statement in use, and its errors as ours. Internal to the journal. */
#ifndef CUZK_ENGINE_JOURNAL_DB_H
#define CUZK_ENGINE_JOURNAL_DB_H

#include "engine/journal/journal.h"

#include <sqlite3.h>

enum { CUZK__STATEMENTS = 64 };

/* A connection. Used by one thread at a time. */
typedef struct cuzk__db {
    sqlite3 *h;
    char *path;
    int sys_errno; /* of what failed, as cuzk__db_note found it; 0: not noted */
    struct {
        const char *sql; /* by address: literals */
        sqlite3_stmt *s;
    } cache[CUZK__STATEMENTS];
} cuzk__db;

/* Opens an existing file (create: or makes one) and registers cuzk_sum(…), a 64-bit sum of its
 * arguments' types and bytes, which every row carries. */
cuzk_status cuzk__db_open(cuzk__db *db, const char *path, const char *vfs, bool create,
                          cuzk_err *err) CUZK_MUST_CHECK;
/* Zeroed or failed: nothing. */
void cuzk__db_close(cuzk__db *db);

/* Statements without parameters; rows are ignored. SQLite's code. */
int cuzk__db_exec(cuzk__db *db, const char *sql);

/* A statement in use. Calls after one that failed do nothing. */
typedef struct cuzk__q {
    cuzk__db *db;
    sqlite3_stmt *s;
    int rc; /* SQLITE_OK, ROW, DONE, or what failed */
} cuzk__q;

/* sql must be a literal (its address is the key of the cache). */
cuzk__q cuzk__q_begin(cuzk__db *db, const char *sql);
void cuzk__q_int(cuzk__q *q, int i, int64_t v);
void cuzk__q_text(cuzk__q *q, int i, const char *s);              /* NULL: SQL's NULL. Not copied */
void cuzk__q_blob(cuzk__q *q, int i, const void *data, size_t n); /* data NULL and n 0: empty */
void cuzk__q_null(cuzk__q *q, int i);
/* True: there is a row. */
bool cuzk__q_row(cuzk__q *q);
int64_t cuzk__q_col_int(cuzk__q *q, int i);
/* Bytes of a column, valid until the next step. */
cuzk_journal_part cuzk__q_col(cuzk__q *q, int i);
/* The statement can be used again. SQLITE_OK, or what failed since begin. */
int cuzk__q_end(cuzk__q *q);
/* Steps to the end; as cuzk__q_end. */
int cuzk__q_run(cuzk__q *q);

/* One integer of a statement without parameters; SQLite's code. */
int cuzk__db_int(cuzk__db *db, const char *sql, int64_t *out);

/* Remembers the system's reason for the call that failed just now, for a cuzk__db_error that comes
 * after other calls. */
void cuzk__db_note(cuzk__db *db);
/* Our status and sentence for what failed on this connection. */
cuzk_status cuzk__db_error(cuzk__db *db, int rc, cuzk_err *err);
/* The code says that the file is not a sound database. */
bool cuzk__db_damaged(int rc);

#endif
