/* DESIGN. Group commit: one thread takes all requests that wait, writes them in one transaction,
 * and answers them when it is synced; meanwhile new ones gather. The slower the medium, the larger
 * the groups, so throughput does not depend on it. A transaction that fails is tried again request
 * by request, so that one that is too large for the disk does not take the others with it. */
#include "engine/journal/internal.h"

#include "base/clock.h"
#include "base/mem.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <string.h>

enum { MAX_GROUP = 1024, CHECKPOINT_FRAMES = 1000, MAX_TEXT = 4000 };
static const size_t max_group_bytes = 64 << 20;

/* ---- requests ---- */

/* Some texts are for people and may be cut, between characters; names may not. */
static bool may_be_cut(cuzk__op_type type, size_t i) {
    return (type == CUZK__OP_END && i == 1) || (type == CUZK__OP_FAULT && i == 2);
}

static size_t text_len(cuzk__op_type type, size_t i, const char *s) {
    size_t n = s ? strlen(s) : 0;
    if (!may_be_cut(type, i) || n <= MAX_TEXT) return n;
    n = MAX_TEXT;
    while (n && ((unsigned char)s[n] & 0xc0) == 0x80)
        n--;
    return n;
}

cuzk_status cuzk__op_new(cuzk_journal *j, cuzk__op **out, cuzk__op_type type,
                         const char *const *texts, size_t n_texts, const cuzk_journal_part *blobs,
                         size_t n_blobs, cuzk_err *err) {
    size_t bytes = sizeof(cuzk__op);
    *out = NULL;
    for (size_t i = 0; i < n_texts; i++) {
        const size_t n = text_len(type, i, texts[i]);
        if (n > CUZK_JOURNAL_MAX_NAME && !may_be_cut(type, i))
            return cuzk_err_set(err, CUZK_STATUS_BAD_INPUT, "a name of %zu bytes; at most %d", n,
                                CUZK_JOURNAL_MAX_NAME);
        bytes += n + 1;
    }
    for (size_t i = 0; i < n_blobs; i++) {
        if (blobs[i].len > CUZK_JOURNAL_MAX_BLOB)
            return cuzk_err_set(err, CUZK_STATUS_BAD_INPUT, "a field of %zu bytes; at most %d",
                                blobs[i].len, CUZK_JOURNAL_MAX_BLOB);
        bytes += blobs[i].len;
    }
    void *mem;
    if (cuzk_alloc(&mem, bytes, 1) != CUZK_OK)
        return cuzk_err_set(err, CUZK_STATUS_NO_MEMORY, "a request to the journal: out of memory");
    cuzk__op *op = mem;
    char *at = (char *)(op + 1);
    for (size_t i = 0; i < n_texts; i++) {
        const size_t n = text_len(type, i, texts[i]);
        if (n) memcpy(at, texts[i], n);
        at[n] = '\0';
        op->text[i] = at;
        at += n + 1;
    }
    for (size_t i = 0; i < n_blobs; i++) {
        if (blobs[i].len) memcpy(at, blobs[i].data, blobs[i].len);
        op->blob[i] = (cuzk_journal_part){at, blobs[i].len};
        at += blobs[i].len;
    }
    op->type = type;
    op->now = cuzk__wall(j);
    op->clock = cuzk__clock(j);
    *out = op;
    return CUZK_OK;
}

void cuzk__op_free(cuzk_journal *j, cuzk__op *op) {
    if (!op) return;
    if (op->in_spool) cuzk__unpin(j, op->digest);
    cuzk_free(op);
}

void cuzk__op_post(cuzk_journal *j, cuzk__op *op, cuzk_journal_done *done, void *ctx) {
    op->done = done;
    op->ctx = ctx;
    pthread_mutex_lock(&j->queue_lock);
    *j->queue_end = op;
    j->queue_end = &op->next;
    j->stats.waiting++;
    j->posted++;
    pthread_cond_signal(&j->queue_filled);
    pthread_mutex_unlock(&j->queue_lock);
}

typedef struct waiter_t {
    pthread_mutex_t lock;
    pthread_cond_t filled;
    bool done;
    cuzk_status status;
    cuzk_err *err;
} waiter_t;

static void wake(void *ctx, cuzk_status status, const cuzk_err *err) {
    waiter_t *w = ctx;
    pthread_mutex_lock(&w->lock);
    w->status = status;
    if (status != CUZK_OK && w->err) *w->err = *err;
    w->done = true;
    pthread_cond_signal(&w->filled);
    pthread_mutex_unlock(&w->lock);
}

cuzk_status cuzk__op_wait(cuzk_journal *j, cuzk__op *op, cuzk_err *err) {
    waiter_t w = {
        .lock = PTHREAD_MUTEX_INITIALIZER, .filled = PTHREAD_COND_INITIALIZER, .err = err};
    cuzk__op_post(j, op, wake, &w);
    pthread_mutex_lock(&w.lock);
    while (!w.done)
        pthread_cond_wait(&w.filled, &w.lock);
    pthread_mutex_unlock(&w.lock);
    pthread_cond_destroy(&w.filled);
    pthread_mutex_destroy(&w.lock);
    return w.status;
}

/* ---- the thread ---- */

static int on_commit(void *ctx, sqlite3 *h, const char *name, int frames) {
    (void)h;
    (void)name;
    ((cuzk_journal *)ctx)->wal_frames = frames;
    return SQLITE_OK;
}

/* After a sync that failed the kernel may call the lost pages clean, and a later sync would succeed
 * over the loss. */
static bool is_lost_sync(int rc) {
    return rc == SQLITE_IOERR_FSYNC || rc == SQLITE_IOERR_DIR_FSYNC;
}

/* [op, end) in one transaction; SQLite's code. */
static int commit_group(cuzk_journal *j, cuzk__op *op, const cuzk__op *end, cuzk__effects *e) {
    const uint64_t last_job = j->last_job;
    errno = 0;
    int rc = j->log_spoilt ? cuzk__log_begin(j) : SQLITE_OK;
    if (rc == SQLITE_OK) rc = cuzk__db_exec(&j->w, "BEGIN IMMEDIATE");
    if (rc != SQLITE_OK) return rc;
    for (; rc == SQLITE_OK && op != end; op = op->next) {
        if (op->type == CUZK__OP_ACCEPT) j->last_job = op->job;
        rc = cuzk__apply(j, op, e);
    }
    if (rc == SQLITE_OK) rc = cuzk__apply_state(j);
    if (rc == SQLITE_OK) rc = cuzk__db_exec(&j->w, "COMMIT");
    if (rc == SQLITE_OK) return rc;
    cuzk__db_note(&j->w);
    if (!sqlite3_get_autocommit(j->w.h)) cuzk__db_exec(&j->w, "ROLLBACK");
    j->last_job = last_job;
    j->log_spoilt = true;
    return rc;
}

static void lost_sync_error(const cuzk_journal *j, cuzk_err *err) {
    cuzk_err_set(
        err, CUZK_STATUS_IO,
        "%s: the disk failed to keep what was written to it; nothing is accepted until the "
        "daemon is started again, which checks the journal; look at the kernel's log",
        j->w.path);
}

static void gone_error(const cuzk_journal *j, cuzk_err *err) {
    cuzk_err_set(err, CUZK_STATUS_IO,
                 "%s: was removed or replaced while it was in use, so what is written to it is "
                 "lost; nothing is accepted until the daemon is started again",
                 j->w.path);
}

/* Writes [first, end); every op has its answer in op->err afterwards. */
static int write_group(cuzk_journal *j, cuzk__op *first, const cuzk__op *end) {
    cuzk__effects e = {0};
    cuzk_err why = {0};
    int rc = j->broken ? SQLITE_IOERR_FSYNC : commit_group(j, first, end, &e);
    /* looked at after the commit: what is answered was in the directory when it was synced */
    if (rc == SQLITE_OK && !cuzk__files_stand(j)) {
        j->gone = true;
        rc = SQLITE_IOERR_FSYNC;
    }
    if (rc == SQLITE_OK) {
        atomic_fetch_add(&j->inline_bytes, (uint64_t)e.inline_bytes);
        for (size_t i = 0; i < e.n_dropped; i++)
            cuzk__spool_dropped(j, e.dropped[i]);
    } else {
        if (is_lost_sync(rc)) {
            j->broken = true;
            if (j->gone)
                gone_error(j, &why);
            else
                lost_sync_error(j, &why);
        } else {
            cuzk__db_error(&j->w, rc, &why);
        }
        for (cuzk__op *op = first; op != end; op = op->next)
            op->err = why;
    }
    cuzk_free(e.dropped);
    return rc;
}

static void forget_in_flight(cuzk_journal *j, const cuzk__op *first) {
    pthread_mutex_lock(&j->accept_lock);
    for (const cuzk__op *op = first; op; op = op->next) {
        if (op->type != CUZK__OP_ACCEPT) continue;
        cuzk__op **p = &j->in_flight;
        while (*p && *p != op)
            p = &(*p)->in_flight;
        if (*p) *p = op->in_flight;
    }
    pthread_mutex_unlock(&j->accept_lock);
}

static void answer(cuzk_journal *j, cuzk__op *op) {
    while (op) {
        cuzk__op *next = op->next;
        if (op->done) op->done(op->ctx, op->err.status, &op->err);
        cuzk__op_free(j, op);
        op = next;
    }
}

static void checkpoint(cuzk_journal *j) {
    if (j->wal_frames < CHECKPOINT_FRAMES || j->broken) return;
    const int rc = sqlite3_wal_checkpoint_v2(j->w.h, NULL, SQLITE_CHECKPOINT_PASSIVE, NULL, NULL);
    if (is_lost_sync(rc)) j->broken = true;
    /* anything else (a full disk): the log goes on growing, and the next commit tries again */
}

/* Writing begins to fail, or works again. Only this thread changes what is compared. */
static void log_change(cuzk_journal *j, int rc, const cuzk__op *group, uint64_t failed) {
    const bool failing = rc != SQLITE_OK;
    if (failing) j->failed_since += failed;
    if (failing == j->failing) return;
    j->failing = failing;
    while (failing && group->next && group->err.status == CUZK_OK)
        group = group->next;
    if (failing)
        cuzk_log_limited(&j->log_fails, CUZK_LOG_ERROR, "journal", NULL,
                         "%s cannot be written, so no job is accepted: %s", j->dir,
                         group->err.status ? group->err.msg : sqlite3_errstr(rc));
    else
        cuzk_log_limited(&j->log_works, CUZK_LOG_INFO, "journal", NULL,
                         "%s can be written again; %" PRIu64 " requests had failed", j->dir,
                         j->failed_since);
    if (!failing) j->failed_since = 0;
}

static void serve_group(cuzk_journal *j, cuzk__op *group, uint64_t n) {
    const int64_t start = cuzk_now_ns();
    uint64_t failed = 0, commits = 1;
    int rc = write_group(j, group, NULL);
    if (rc != SQLITE_OK && n > 1 && !j->broken) {
        for (cuzk__op *op = group; op; op = op->next, commits++)
            rc = write_group(j, op, op->next);
    }
    for (cuzk__op *op = group; op; op = op->next)
        failed += op->err.status == CUZK_STATUS_IO || op->err.status == CUZK_STATUS_NO_MEMORY;
    forget_in_flight(j, group);
    log_change(j, rc, group, failed);
    pthread_mutex_lock(&j->queue_lock);
    j->stats.waiting -= n;
    j->stats.requests += n;
    j->stats.commits += commits;
    j->stats.failed += failed;
    j->stats.last_commit_ns = cuzk_now_ns() - start;
    j->stats.last_status = rc == SQLITE_OK ? CUZK_OK : CUZK_STATUS_IO;
    pthread_mutex_unlock(&j->queue_lock);
    answer(j, group);
    pthread_mutex_lock(&j->queue_lock);
    j->answered += n;
    pthread_cond_broadcast(&j->queue_answered);
    pthread_mutex_unlock(&j->queue_lock);
    checkpoint(j);
}

static size_t op_bytes(const cuzk__op *op) {
    size_t n = sizeof *op;
    for (int i = 0; i < CUZK__BLOBS; i++)
        n += op->blob[i].len;
    return n;
}

/* The queue's first requests as a list of their own; under the lock. */
static cuzk__op *take_group(cuzk_journal *j, uint64_t *n) {
    cuzk__op *first = j->queue, *last = first;
    size_t bytes = op_bytes(first);
    *n = 1;
    while (last->next && *n < MAX_GROUP && bytes < max_group_bytes) {
        last = last->next;
        bytes += op_bytes(last);
        ++*n;
    }
    j->queue = last->next;
    if (!j->queue) j->queue_end = &j->queue;
    last->next = NULL;
    return first;
}

static void *writer(void *ctx) {
    cuzk_journal *j = ctx;
    pthread_mutex_lock(&j->queue_lock);
    for (;;) {
        while (!j->queue && !j->stop)
            pthread_cond_wait(&j->queue_filled, &j->queue_lock);
        if (!j->queue) break;
        uint64_t n;
        cuzk__op *group = take_group(j, &n);
        pthread_mutex_unlock(&j->queue_lock);
        serve_group(j, group, n);
        pthread_mutex_lock(&j->queue_lock);
    }
    pthread_mutex_unlock(&j->queue_lock);
    return NULL;
}

cuzk_status cuzk__writer_start(cuzk_journal *j, cuzk_err *err) {
    sigset_t all, before;
    sigfillset(&all);
    sqlite3_wal_hook(j->w.h, on_commit, j);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    j->thread_runs = pthread_create(&j->thread, NULL, writer, j) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (j->thread_runs) return CUZK_OK;
    return cuzk_err_set(err, CUZK_STATUS_NO_MEMORY, "%s: no thread for the journal", j->dir);
}

void cuzk__writer_stop(cuzk_journal *j) {
    if (!j->thread_runs) return;
    pthread_mutex_lock(&j->queue_lock);
    j->stop = true;
    pthread_cond_signal(&j->queue_filled);
    pthread_mutex_unlock(&j->queue_lock);
    pthread_join(j->thread, NULL);
    j->thread_runs = false;
}
