/* Opening the state directory: lock, checks, upgrade; what is damaged is refused or set aside.
 *
 * DESIGN. A database is made under another name, complete and synced, and then renamed. So an empty
 * or short journal.db is always damage, and so is a missing one beside a log or a filled spool: a
 * journal is never taken for a new one by mistake. */
#include "engine/journal/internal.h"
#include "engine/journal/schema.h"

#include "base/buf.h"
#include "base/bytes.h"
#include "base/clock.h"
#include "base/mem.h"
#include "base/rand.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <time.h>
#include <unistd.h>

#define DB "journal.db"
#define NEW "journal.new"
#define DAY_NS (24 * 3600 * INT64_C(1000000000))

/* ---- clocks ---- */

int64_t cuzk__wall(const cuzk_journal *j) {
    if (j->hooks && j->hooks->wall) return j->hooks->wall(j->hooks->ctx);
    struct timespec t;
    clock_gettime(CLOCK_REALTIME, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static int64_t mono(const cuzk_journal *j) {
    return j->hooks && j->hooks->mono ? j->hooks->mono(j->hooks->ctx) : cuzk_now_ns();
}

int64_t cuzk__clock(const cuzk_journal *j) {
    return j->clock_base + (mono(j) - j->clock_start);
}

/* ---- the directory ---- */

static cuzk_status sys_error(const char *dir, const char *what, int e, cuzk_err *err) {
    const bool room = e == ENOSPC || e == EDQUOT || e == EFBIG;
    return cuzk_err_set(err, CUZK_STATUS_IO, "%s: %s: %s; %s", dir, what, strerror(e),
                        room ? "free some space on its disk"
                             : "the state directory must be a directory that this user may write");
}

static cuzk_status sync_dir(const cuzk_journal *j, cuzk_err *err) {
    const int e = cuzk__step(j, CUZK_JOURNAL_SYNC_DIR, j->dir_fd, NULL);
    return e ? sys_error(j->dir, "cannot sync", e, err) : CUZK_OK;
}

/* The directory that holds dir now has a name that must not be lost. */
static void sync_parent(const char *dir) {
    char *copy = NULL;
    if (cuzk_strdup(&copy, dir) != CUZK_OK) return;
    size_t n = strlen(copy);
    while (n > 1 && copy[n - 1] == '/')
        copy[--n] = '\0';
    char *slash = strrchr(copy, '/');
    if (slash == copy)
        copy[1] = '\0';
    else if (slash)
        *slash = '\0';
    int fd = open(slash ? copy : ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    /* a parent that may not be read is not ours to sync */
    if (fd >= 0) {
        (void)!fsync(fd);
        close(fd);
    }
    cuzk_free(copy);
}

static bool is_network(int fd) {
    static const unsigned long types[] = {0x6969 /* NFS */,      0xff534d42 /* CIFS */,
                                          0xfe534d42 /* SMB2 */, 0x01021997 /* 9p */,
                                          0x00c36400 /* Ceph */, 0x5346414f /* AFS */};
    struct statfs fs;
    if (fstatfs(fd, &fs) != 0) return false;
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if ((unsigned long)fs.f_type == types[i]) return true;
    return false;
}

static cuzk_status open_dir(cuzk_journal *j, cuzk_err *err) {
    const bool made = mkdir(j->dir, 0700) == 0;
    if (!made && errno != EEXIST) return sys_error(j->dir, "cannot create", errno, err);
    j->dir_fd = open(j->dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (j->dir_fd < 0) return sys_error(j->dir, "cannot open", errno, err);
    if (made) sync_parent(j->dir);
    if (is_network(j->dir_fd))
        return cuzk_err_set(err, CUZK_STATUS_IO,
                            "%s: lies on a network file system, where a journal is not safe; put "
                            "the state directory on a local disk",
                            j->dir);
    return CUZK_OK;
}

/* The lock is the open file's, so it goes with the process however that ends; the text in it only
 * tells others whose it is. */
static cuzk_status lock_dir(cuzk_journal *j, cuzk_err *err) {
    char text[32] = "";
    j->lock_fd = openat(j->dir_fd, "lock", O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (j->lock_fd < 0) return sys_error(j->dir, "cannot create the lock", errno, err);
    if (flock(j->lock_fd, LOCK_EX | LOCK_NB) == 0) {
        const int n = snprintf(text, sizeof text, "%ld\n", (long)getpid());
        /* a full disk may refuse the text; the lock holds all the same */
        if (ftruncate(j->lock_fd, 0) == 0) (void)!pwrite(j->lock_fd, text, (size_t)n, 0);
        return CUZK_OK;
    }
    if (errno != EWOULDBLOCK) return sys_error(j->dir, "cannot lock", errno, err);
    const ssize_t n = pread(j->lock_fd, text, sizeof text - 1, 0);
    text[n > 0 ? n : 0] = '\0';
    text[strcspn(text, "\n")] = '\0';
    return cuzk_err_set(err, CUZK_STATUS_IO,
                        "%s: in use by another process (pid %s); stop that one, or give this one a "
                        "state directory of its own",
                        j->dir, text[0] ? text : "unknown");
}

static char *path_of(const cuzk_journal *j, const char *name) {
    cuzk_buf b = CUZK_BUF_INIT;
    cuzk_buf_printf(&b, "%s/%s", j->dir, name);
    if (cuzk_buf_status(&b) == CUZK_OK) return b.data;
    cuzk_buf_free(&b);
    return NULL;
}

static cuzk_status open_db(cuzk_journal *j, cuzk__db *db, const char *name, bool create,
                           cuzk_err *err) {
    char *path = path_of(j, name);
    if (!path) return cuzk_err_set(err, CUZK_STATUS_NO_MEMORY, "%s: out of memory", j->dir);
    cuzk_status st = cuzk__db_open(db, path, j->hooks ? j->hooks->vfs : NULL, create, err);
    cuzk_free(path);
    return st;
}

/* ---- a new journal ---- */

static cuzk_status create_db(cuzk_journal *j, cuzk_err *err) {
    static const char *const leftovers[] = {NEW, NEW "-wal", NEW "-shm", NEW "-journal"};
    for (size_t i = 0; i < sizeof leftovers / sizeof *leftovers; i++)
        if (unlinkat(j->dir_fd, leftovers[i], 0) != 0 && errno != ENOENT)
            return sys_error(j->dir, "cannot remove an unfinished journal", errno, err);
    cuzk__db db;
    CUZK_TRY(open_db(j, &db, NEW, true, err));
    uint8_t key[CUZK__DIGEST];
    int rc = cuzk__schema_settings(&db);
    cuzk_status st = rc == SQLITE_OK ? CUZK_OK : cuzk__db_error(&db, rc, err);
    if (st == CUZK_OK) st = cuzk__schema_create(&db, j->hooks ? j->hooks->version : 0, err);
    if (st == CUZK_OK) st = cuzk_random(key, sizeof key, err);
    if (st == CUZK_OK) {
        cuzk__q q = cuzk__q_begin(&db, "INSERT INTO meta(" CUZK__META_COLS
                                       ",sum) VALUES('key',?1,cuzk_sum('key',?1))");
        cuzk__q_blob(&q, 1, key, sizeof key);
        rc = cuzk__q_run(&q);
        if (rc != SQLITE_OK) st = cuzk__db_error(&db, rc, err);
    }
    cuzk_wipe(key, sizeof key);
    cuzk__db_close(&db); /* without a log yet: the file stands alone */
    /* requests are nobody else's business; the log gets the mode of the database */
    if (st == CUZK_OK && fchmodat(j->dir_fd, NEW, 0600, 0) != 0)
        st = sys_error(j->dir, "cannot set the journal's mode", errno, err);
    if (st == CUZK_OK && renameat(j->dir_fd, NEW, j->dir_fd, DB) != 0)
        st = sys_error(j->dir, "cannot name the journal", errno, err);
    return st == CUZK_OK ? sync_dir(j, err) : st;
}

/* ---- what is there ---- */

static bool spool_is_filled(const cuzk_journal *j) {
    int fd = openat(j->dir_fd, "spool", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *d = fd >= 0 ? fdopendir(fd) : NULL;
    bool filled = false;
    const struct dirent *e;
    while (d && !filled && (e = readdir(d)))
        filled = e->d_name[0] != '.';
    if (d)
        closedir(d);
    else if (fd >= 0)
        close(fd);
    return filled;
}

/* What the files say before SQLite sees them. NULL, or what is damaged; *absent: there is none. */
static const char *look(const cuzk_journal *j, bool *absent) {
    enum { SMALLEST = 512 };
    struct stat sb, wal;
    const bool has_wal = fstatat(j->dir_fd, DB "-wal", &wal, AT_SYMLINK_NOFOLLOW) == 0;
    *absent = fstatat(j->dir_fd, DB, &sb, 0) != 0 && errno == ENOENT;
    if (*absent)
        return has_wal              ? "the database is missing beside its log"
               : spool_is_filled(j) ? "the database is missing beside its spool"
                                    : NULL;
    if (S_ISREG(sb.st_mode) && sb.st_size < SMALLEST) return "the database is cut short";
    if (!has_wal || wal.st_size <= 0) return NULL;
    int fd = openat(j->dir_fd, DB "-wal", O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    if (fd < 0) return NULL; /* SQLite will say why */
    const char *what = cuzk__wal_damage(fd, (uint64_t)wal.st_size);
    close(fd);
    return what;
}

static cuzk_status read_meta(cuzk_journal *j, bool *damaged, cuzk_err *err) {
    uint8_t state[24] = {0};
    bool has_key = false;
    cuzk__q q = cuzk__q_begin(&j->w, "SELECT name,value FROM meta");
    while (cuzk__q_row(&q)) {
        const cuzk_journal_part name = cuzk__q_col(&q, 0), value = cuzk__q_col(&q, 1);
        if (name.len == 3 && !memcmp(name.data, "key", 3) && value.len == CUZK__DIGEST) {
            memcpy(j->secret_key, value.data, CUZK__DIGEST);
            has_key = true;
        }
        if (name.len == 5 && !memcmp(name.data, "state", 5) && value.len == sizeof state)
            memcpy(state, value.data, sizeof state);
    }
    int64_t newest = 0, bytes = 0;
    int rc = cuzk__q_end(&q);
    if (rc == SQLITE_OK) rc = cuzk__db_int(&j->w, "SELECT ifnull(max(seq),0) FROM job", &newest);
    if (rc == SQLITE_OK)
        rc = cuzk__db_int(&j->w, "SELECT ifnull(sum(bytes),0) FROM blob WHERE data IS NOT NULL",
                          &bytes);
    if (rc != SQLITE_OK) return cuzk__db_error(&j->w, rc, err);
    *damaged = !has_key || newest < 0;
    if (*damaged)
        return cuzk_err_set(err, CUZK_STATUS_IO, "%s: damaged: its key is missing", j->w.path);
    j->last_job = cuzk_ld_u64le(state + 16);
    if (j->last_job < (uint64_t)newest) j->last_job = (uint64_t)newest;
    j->next_job = j->last_job + 1;
    atomic_store(&j->inline_bytes, (uint64_t)bytes);
    /* Ages go on by the time that passed, a day at most and nothing backwards: a wrong wall clock
     * at a start must not make all results old. */
    int64_t passed = cuzk__wall(j) - (int64_t)cuzk_ld_u64le(state + 8);
    if (passed < 0 || cuzk_ld_u64le(state + 8) == 0) passed = 0;
    j->clock_base = (int64_t)cuzk_ld_u64le(state) + (passed > DAY_NS ? DAY_NS : passed);
    j->clock_start = mono(j);
    return CUZK_OK;
}

/* j->w on a sound, up-to-date database, and what it holds for this module. */
static cuzk_status open_sound(cuzk_journal *j, bool *damaged, cuzk_err *err) {
    bool absent;
    int from;
    const int version = j->hooks ? j->hooks->version : 0;
    const char *what = look(j, &absent);
    *damaged = what != NULL;
    if (what) return cuzk_err_set(err, CUZK_STATUS_IO, "%s/" DB ": damaged: %s", j->dir, what);
    if (absent) CUZK_TRY(create_db(j, err));
    CUZK_TRY(open_db(j, &j->w, DB, false, err));
    CUZK_TRY(cuzk__schema_check(&j->w, version, damaged, err));
    CUZK_TRY(cuzk__schema_upgrade(&j->w, version, &from, err));
    if (from < (version ? version : CUZK__VERSION))
        CUZK_TRY(cuzk__schema_check(&j->w, version, damaged, err));
    int rc = cuzk__db_exec(&j->w, "PRAGMA journal_mode=WAL");
    if (rc == SQLITE_OK) rc = cuzk__log_begin(j);
    if (rc != SQLITE_OK) return cuzk__db_error(&j->w, rc, err);
    return read_meta(j, damaged, err);
}

/* Moves database and spool to a directory of their own; *path names it. */
static cuzk_status set_aside(cuzk_journal *j, cuzk_err *err) {
    static const char *const names[] = {DB, DB "-wal", DB "-shm", DB "-journal", "spool"};
    enum { MOST = 10000 };
    char name[32];
    int n = 0;
    do
        snprintf(name, sizeof name, "damaged-%d", ++n);
    while (mkdirat(j->dir_fd, name, 0700) != 0 && errno == EEXIST && n < MOST);
    int to = openat(j->dir_fd, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (to < 0) return sys_error(j->dir, "cannot set the damaged journal aside", errno, err);
    int e = 0;
    for (size_t i = 0; !e && i < sizeof names / sizeof *names; i++)
        if (renameat(j->dir_fd, names[i], to, names[i]) != 0 && errno != ENOENT) e = errno;
    if (!e) e = cuzk__step(j, CUZK_JOURNAL_SYNC_DIR, to, NULL);
    close(to);
    if (e) return sys_error(j->dir, "cannot set the damaged journal aside", e, err);
    j->aside = path_of(j, name);
    if (!j->aside) return cuzk_err_set(err, CUZK_STATUS_NO_MEMORY, "%s: out of memory", j->dir);
    return sync_dir(j, err);
}

bool cuzk__files_stand(const cuzk_journal *j) {
    struct stat opened, named;
    if (fstat(j->dir_fd, &opened) != 0 || stat(j->dir, &named) != 0) return false;
    if (opened.st_dev != named.st_dev || opened.st_ino != named.st_ino) return false;
    if (fstat(j->lock_fd, &opened) != 0 || opened.st_nlink == 0) return false;
    return fstatat(j->dir_fd, DB, &named, 0) == 0 && named.st_dev == j->db_dev &&
           named.st_ino == j->db_ino;
}

static cuzk_status open_all(cuzk_journal *j, bool recover, cuzk_err *err) {
    bool damaged = false;
    CUZK_TRY(open_dir(j, err));
    CUZK_TRY(lock_dir(j, err));
    cuzk_status st = open_sound(j, &damaged, err);
    if (st != CUZK_OK && damaged && recover) {
        cuzk__db_close(&j->w);
        CUZK_TRY(set_aside(j, err));
        st = open_sound(j, &damaged, err);
    }
    if (st != CUZK_OK && damaged)
        cuzk_err_prefix(err, st,
                        "nothing was changed: put back a copy, or let `cuzkd --recover` set the "
                        "journal aside and begin an empty one");
    if (st != CUZK_OK) return st;
    CUZK_TRY(open_db(j, &j->r, DB, false, err));
    int rc = cuzk__schema_settings(&j->r);
    if (rc == SQLITE_OK) rc = cuzk__db_exec(&j->r, "PRAGMA query_only=ON");
    if (rc != SQLITE_OK) return cuzk__db_error(&j->r, rc, err);
    struct stat db;
    if (fstatat(j->dir_fd, DB, &db, 0) != 0)
        return sys_error(j->dir, "cannot look at the journal", errno, err);
    j->db_dev = db.st_dev;
    j->db_ino = db.st_ino;
    CUZK_TRY(cuzk__spool_open(j, err));
    CUZK_TRY(cuzk__spool_sweep(j, err));
    return cuzk__writer_start(j, err);
}

void cuzk_journal_options_init(cuzk_journal_options *o) {
    memset(o, 0, sizeof *o);
    o->size = sizeof *o;
}

static void init_locks(cuzk_journal *j) {
    pthread_mutex_init(&j->read_lock, NULL);
    pthread_mutex_init(&j->spool.lock, NULL);
    pthread_mutex_init(&j->accept_lock, NULL);
    pthread_mutex_init(&j->queue_lock, NULL);
    pthread_cond_init(&j->queue_filled, NULL);
    pthread_cond_init(&j->queue_answered, NULL);
    j->queue_end = &j->queue;
}

cuzk_status cuzk_journal_open(cuzk_journal **out, const char *dir,
                              const cuzk_journal_options *options, cuzk_err *err) {
    cuzk_err why = {0};
    void *mem;
    *out = NULL;
    if (cuzk_alloc(&mem, 1, sizeof(cuzk_journal)) != CUZK_OK)
        return cuzk_err_set(err, CUZK_STATUS_NO_MEMORY, "%s: out of memory", dir);
    cuzk_journal *j = mem;
    j->dir_fd = j->lock_fd = j->spool.dir = -1;
    init_locks(j);
    if (options) {
        j->hooks = options->hooks;
        j->max_bytes = options->max_bytes;
    }
    cuzk_status st = cuzk_strdup(&j->dir, dir);
    if (st == CUZK_OK) st = open_all(j, options && options->recover, &why);
    if (st == CUZK_OK) {
        *out = j;
        return CUZK_OK;
    }
    cuzk_journal_close(j);
    return cuzk_err_set(err, st, "%s", why.msg[0] ? why.msg : "the journal: out of memory");
}

const char *cuzk_journal_set_aside(const cuzk_journal *j) {
    return j->aside ? j->aside : "";
}

void cuzk_journal_close(cuzk_journal *j) {
    if (!j) return;
    cuzk__writer_stop(j);
    /* what a failed sync lost must not be copied over what is good */
    if (j->broken) sqlite3_db_config(j->w.h, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, NULL);
    cuzk__db_close(&j->r);
    cuzk__db_close(&j->w); /* the last one: empties and removes the log */
    cuzk__spool_close(j);
    pthread_mutex_destroy(&j->read_lock);
    pthread_mutex_destroy(&j->spool.lock);
    pthread_mutex_destroy(&j->accept_lock);
    pthread_mutex_destroy(&j->queue_lock);
    pthread_cond_destroy(&j->queue_filled);
    pthread_cond_destroy(&j->queue_answered);
    cuzk_wipe(j->secret_key, sizeof j->secret_key);
    if (j->lock_fd >= 0) close(j->lock_fd);
    if (j->dir_fd >= 0) close(j->dir_fd);
    cuzk_free(j->aside);
    cuzk_free(j->dir);
    cuzk_free(j);
}
