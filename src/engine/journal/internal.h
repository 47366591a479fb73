/* The journal's parts. Locks, in the order in which they may be taken: accept, spool, read, queue.
 */
#ifndef CUZK_ENGINE_JOURNAL_INTERNAL_H
#define CUZK_ENGINE_JOURNAL_INTERNAL_H

#include "base/log.h"
#include "engine/journal/db.h"
#include "engine/journal/hooks.h"
#include "engine/journal/journal.h"

#include <pthread.h>
#include <stdatomic.h>
#include <sys/types.h>

enum {
    CUZK__DIGEST = 32,
    CUZK__SALT = 8,
    CUZK__INLINE = 64 << 10, /* payloads and results up to this are in the database */
    CUZK__NAME = 2 * CUZK__DIGEST + 1,
    CUZK__PIN_LISTS = 256,
    CUZK__RETAIN_STEP = 100, /* jobs deleted in one transaction at most */
};

/* A digest that is in use here, whatever the database says. */
typedef struct cuzk__pinned {
    struct cuzk__pinned *next;
    uint8_t digest[CUZK__DIGEST];
    uint32_t count;
} cuzk__pinned;

/* Files by digest. */
typedef struct cuzk__spool {
    pthread_mutex_t lock;
    char *path;
    int dir; /* descriptor */
    cuzk__pinned *pins[CUZK__PIN_LISTS];
    uint64_t bytes, files;
} cuzk__spool;

typedef enum cuzk__op_type {
    CUZK__OP_ACCEPT,
    CUZK__OP_SAME, /* as ACCEPT of a job that was asked for before */
    CUZK__OP_PARTITION,
    CUZK__OP_FAULT,
    CUZK__OP_END,
    CUZK__OP_FETCHED,
    CUZK__OP_FACT,
    CUZK__OP_RETAIN,
    CUZK__OP_SHRINK,
} cuzk__op_type;

enum { CUZK__TEXTS = 3, CUZK__BLOBS = 3 };

/* A request in the queue: one allocation that holds its texts and blobs too. */
typedef struct cuzk__op {
    struct cuzk__op *next;
    cuzk__op_type type;
    cuzk_journal_done *done;
    void *ctx;
    cuzk_err err; /* what it came to */
    uint64_t job;
    uint32_t partition;
    int64_t now; /* wall clock of the call */
    int64_t clock;
    const char *text[CUZK__TEXTS];
    cuzk_journal_part blob[CUZK__BLOBS];
    /* ACCEPT */
    uint8_t salt[CUZK__SALT], same[CUZK__DIGEST];
    int priority;
    int64_t deadline;
    uint32_t n_partitions;
    uint64_t payload_bytes;
    bool secret;
    struct cuzk__op *in_flight; /* the list of accepts that are not durable yet */
    /* a payload's form, or END's result */
    bool stored;   /* there is one */
    bool in_spool; /* there, and the pin on its digest is the op's; else blob[1] */
    uint8_t digest[CUZK__DIGEST];
    uint64_t stored_bytes;
    cuzk_journal_outcome outcome;
    cuzk_journal_retention rules;
    uint64_t *removed; /* RETAIN: how many; the waiting caller's */
} cuzk__op;

struct cuzk_journal {
    char *dir, *aside;
    int dir_fd, lock_fd;
    const struct cuzk_journal_hooks *hooks;
    uint64_t max_bytes;
    uint8_t secret_key[CUZK__DIGEST];
    int64_t clock_base, clock_start; /* the clock that ages are counted with */

    /* the writer's own, once it runs */
    cuzk__db w;
    int wal_frames;
    bool log_spoilt;   /* a transaction failed: frames of it may be left in the log */
    uint64_t last_job; /* in the database */
    bool broken;       /* a sync failed, or gone: nothing can be promised any more */
    bool gone;         /* the files that are written to are not those of the directory any more */
    dev_t db_dev;      /* the database's file, as opened */
    ino_t db_ino;

    cuzk__db r;
    pthread_mutex_t read_lock;

    cuzk__spool spool;
    atomic_uint_fast64_t inline_bytes; /* payloads and results in the database */

    pthread_mutex_t accept_lock; /* next_job, in_flight */
    uint64_t next_job;
    cuzk__op *in_flight;

    pthread_mutex_t queue_lock; /* what follows */
    pthread_cond_t queue_filled, queue_answered;
    uint64_t posted, answered; /* since open */
    cuzk__op *queue, **queue_end;
    bool stop;
    cuzk_journal_stats stats;
    bool failing; /* what was logged last; the writer's, like the next two */
    uint64_t failed_since;
    cuzk_log_limit log_fails, log_works, log_spool;
    pthread_t thread;
    bool thread_runs;
};

/* clock.c part of open.c */
int64_t cuzk__wall(const cuzk_journal *j);
int64_t cuzk__clock(const cuzk_journal *j);

/* ---- spool.c ---- */

void cuzk__hex(char *out, const uint8_t *bytes, size_t n); /* 2n characters and a NUL */
/* Opens (creates) DIR/spool; files are not looked at. */
cuzk_status cuzk__spool_open(cuzk_journal *j, cuzk_err *err) CUZK_MUST_CHECK;
/* Removes files that no row of blob names, adds up the others. With j->r open. */
cuzk_status cuzk__spool_sweep(cuzk_journal *j, cuzk_err *err) CUZK_MUST_CHECK;
void cuzk__spool_close(cuzk_journal *j);
/* A step that tests may forbid, fsync included: 0 or an errno. */
int cuzk__step(const cuzk_journal *j, cuzk_journal_step step, int fd, const char *name);

/* Keeps digest's file from being removed until unpin. */
cuzk_status cuzk__pin(cuzk_journal *j, const uint8_t digest[CUZK__DIGEST]) CUZK_MUST_CHECK;
/* Removes the file when this was the last pin and the database does not name it. */
void cuzk__unpin(cuzk_journal *j, const uint8_t digest[CUZK__DIGEST]);
/* The database does not name it any more (committed): removes it unless pinned. */
void cuzk__spool_dropped(cuzk_journal *j, const uint8_t digest[CUZK__DIGEST]);
/* BUSY when so many bytes more are above the limit. */
cuzk_status cuzk__spool_room(cuzk_journal *j, uint64_t bytes, cuzk_err *err) CUZK_MUST_CHECK;
/* Stores pieces, whose SHA-256 together is digest, which is pinned. Durable when it returns.
 * limited: BUSY when max_bytes would be exceeded. */
cuzk_status cuzk__spool_store(cuzk_journal *j, const uint8_t digest[CUZK__DIGEST],
                              const cuzk_journal_part *pieces, size_t n, uint64_t bytes,
                              bool limited, cuzk_err *err) CUZK_MUST_CHECK;

/* ---- payload.c ---- */

/* SHA-256 of pieces one after the other. */
cuzk_status cuzk__digest(uint8_t out[CUZK__DIGEST], const cuzk_journal_part *pieces,
                         size_t n) CUZK_MUST_CHECK;

struct cuzk_payload {
    cuzk_journal *j;
    uint8_t digest[CUZK__DIGEST];
    bool secret, pinned;
    uint64_t bytes;      /* of the parts */
    uint64_t form_bytes; /* of the stored form */
    uint8_t *form;       /* the stored form: allocated, or mapped */
    bool mapped;
    size_t n;
    cuzk_journal_part *parts;
};

/* open.c: whether the directory's path and the database in it still name what was opened. */
bool cuzk__files_stand(const cuzk_journal *j);

/* ---- writer.c ---- */

cuzk_status cuzk__writer_start(cuzk_journal *j, cuzk_err *err) CUZK_MUST_CHECK;
void cuzk__writer_stop(cuzk_journal *j);
/* An op with copies of so many texts and blobs. Lengths are checked: BAD_INPUT. Times are set. */
cuzk_status cuzk__op_new(cuzk_journal *j, cuzk__op **out, cuzk__op_type type,
                         const char *const *texts, size_t n_texts, const cuzk_journal_part *blobs,
                         size_t n_blobs, cuzk_err *err) CUZK_MUST_CHECK;
/* Into the queue, which owns it from here. */
void cuzk__op_post(cuzk_journal *j, cuzk__op *op, cuzk_journal_done *done, void *ctx);
/* The same, and waits. */
cuzk_status cuzk__op_wait(cuzk_journal *j, cuzk__op *op, cuzk_err *err) CUZK_MUST_CHECK;
void cuzk__op_free(cuzk_journal *j, cuzk__op *op);

/* ---- apply.c ---- */

/* What a transaction changes outside of the database, once it is durable. */
typedef struct cuzk__effects {
    uint8_t (*dropped)[CUZK__DIGEST]; /* files that nothing refers to any more */
    size_t n_dropped, cap;
    int64_t inline_bytes; /* more or fewer */
} cuzk__effects;

/* Carries out op inside a transaction of j->w. SQLite's code; a request that cannot be met (no such
 * job) is no failure of the transaction: op->err says it. */
int cuzk__apply(cuzk_journal *j, cuzk__op *op, cuzk__effects *e);
/* What every transaction writes at its end: clock and last job. */
int cuzk__apply_state(cuzk_journal *j);

/* ---- read.c ---- */

/* Whether blob names a file with this digest; false too when it cannot be read and *unknown. */
bool cuzk__blob_known(cuzk_journal *j, const uint8_t digest[CUZK__DIGEST], bool *unknown);

/* ---- wal.c ---- */

/* Copies the log's content to the database and empties the log. wal.c says why. SQLite's code. */
int cuzk__log_begin(cuzk_journal *j);
/* NULL, or what shows that synced transactions of a write-ahead log are gone. Reads the file. */
const char *cuzk__wal_damage(int fd, uint64_t size);

#endif
