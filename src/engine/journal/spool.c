/* DESIGN. A file is written without a name, synced, named by its content's digest, and then the
 * directory is synced: whatever moment the power goes, a name leads to the whole content. Only
 * after that a transaction may refer to it. A file is removed only after the transaction that took
 * away the last reference is durable, so a crash leaves files too many, never too few; they go at
 * the next open. What is about to be referred to is pinned meanwhile, so that it is not removed. */
#include "engine/journal/internal.h"

#include "base/buf.h"
#include "base/hash.h"
#include "base/mem.h"
#include "base/rand.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define TMP_PREFIX ".tmp-"

void cuzk__hex(char *out, const uint8_t *bytes, size_t n) {
    static const char digits[] = "0123456789abcdef";
    for (size_t i = 0; i < n; i++) {
        out[2 * i] = digits[bytes[i] >> 4];
        out[2 * i + 1] = digits[bytes[i] & 15];
    }
    out[2 * n] = '\0';
}

int cuzk__step(const cuzk_journal *j, cuzk_journal_step step, int fd, const char *name) {
    if (j->hooks && j->hooks->step) return j->hooks->step(j->hooks->ctx, step, fd, name);
    if (step != CUZK_JOURNAL_SYNC_FILE && step != CUZK_JOURNAL_SYNC_DIR) return 0;
    return fsync(fd) == 0 ? 0 : errno;
}

static cuzk_status spool_error(const cuzk_journal *j, const char *name, int e, cuzk_err *err) {
    const bool room = e == ENOSPC || e == EDQUOT || e == EFBIG;
    return cuzk_err_set(err, room ? CUZK_STATUS_BUSY : CUZK_STATUS_IO,
                        "%s/%s: cannot write: %s; %s", j->spool.path, name, strerror(e),
                        room ? "free some space on its disk (or raise the limit on file sizes)"
                             : "check the state directory and its disk");
}

cuzk_status cuzk__spool_open(cuzk_journal *j, cuzk_err *err) {
    cuzk__spool *s = &j->spool;
    cuzk_buf path = CUZK_BUF_INIT;
    cuzk_buf_printf(&path, "%s/spool", j->dir);
    if (cuzk_buf_status(&path) != CUZK_OK)
        return cuzk_err_set(err, CUZK_STATUS_NO_MEMORY, "%s: out of memory", j->dir);
    s->path = path.data; /* ownership moves */
    const bool made = mkdirat(j->dir_fd, "spool", 0700) == 0;
    if (!made && errno != EEXIST)
        return cuzk_err_set(
            err, CUZK_STATUS_IO,
            "%s: cannot create: %s; make the state directory writable for this user", s->path,
            strerror(errno));
    s->dir = openat(j->dir_fd, "spool", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (s->dir < 0) return cuzk_err_set(err, CUZK_STATUS_IO, "%s: %s", s->path, strerror(errno));
    const int e = made ? cuzk__step(j, CUZK_JOURNAL_SYNC_DIR, j->dir_fd, NULL) : 0;
    return e ? spool_error(j, "", e, err) : CUZK_OK;
}

void cuzk__spool_close(cuzk_journal *j) {
    for (int i = 0; i < CUZK__PIN_LISTS; i++)
        while (j->spool.pins[i]) {
            cuzk__pinned *next = j->spool.pins[i]->next;
            cuzk_free(j->spool.pins[i]);
            j->spool.pins[i] = next;
        }
    if (j->spool.dir >= 0) close(j->spool.dir);
    j->spool.dir = -1;
    cuzk_free(j->spool.path);
    j->spool.path = NULL;
}

static int digit(char c) {
    if (c >= '0' && c <= '9') return c - '0';
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static bool digest_of_name(uint8_t out[CUZK__DIGEST], const char *name) {
    if (strlen(name) != CUZK__NAME - 1) return false;
    for (int i = 0; i < CUZK__DIGEST; i++) {
        const int hi = digit(name[2 * i]), lo = digit(name[2 * i + 1]);
        if (hi < 0 || lo < 0) return false;
        out[i] = (uint8_t)(hi << 4 | lo);
    }
    return true;
}

/* One name of the directory, which may belong to others. */
static cuzk_status sweep_one(cuzk_journal *j, const char *name, cuzk_err *err) {
    uint8_t digest[CUZK__DIGEST];
    struct stat sb;
    bool unknown = false;
    const bool ours = digest_of_name(digest, name);
    if (!ours && strncmp(name, TMP_PREFIX, strlen(TMP_PREFIX))) return CUZK_OK;
    if (fstatat(j->spool.dir, name, &sb, AT_SYMLINK_NOFOLLOW) != 0 || !S_ISREG(sb.st_mode))
        return CUZK_OK;
    if (ours && cuzk__blob_known(j, digest, &unknown)) {
        j->spool.bytes += (uint64_t)sb.st_size;
        j->spool.files++;
        return CUZK_OK;
    }
    if (unknown) return cuzk__db_error(&j->r, SQLITE_IOERR, err);
    int e = cuzk__step(j, CUZK_JOURNAL_REMOVE, -1, name);
    if (!e && unlinkat(j->spool.dir, name, 0) != 0 && errno != ENOENT) e = errno;
    return e ? spool_error(j, name, e, err) : CUZK_OK;
}

cuzk_status cuzk__spool_sweep(cuzk_journal *j, cuzk_err *err) {
    int fd = openat(j->spool.dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *d = fd >= 0 ? fdopendir(fd) : NULL;
    if (!d) {
        const int e = errno;
        if (fd >= 0) close(fd);
        return cuzk_err_set(err, CUZK_STATUS_IO, "%s: %s", j->spool.path, strerror(e));
    }
    cuzk_status st = CUZK_OK;
    const struct dirent *entry;
    while (st == CUZK_OK && (entry = readdir(d)))
        st = sweep_one(j, entry->d_name, err);
    closedir(d);
    return st;
}

static cuzk__pinned **find_pin(cuzk_journal *j, const uint8_t *digest) {
    cuzk__pinned **p = &j->spool.pins[digest[0]];
    while (*p && memcmp((*p)->digest, digest, CUZK__DIGEST))
        p = &(*p)->next;
    return p;
}

cuzk_status cuzk__pin(cuzk_journal *j, const uint8_t digest[CUZK__DIGEST]) {
    void *mem = NULL;
    cuzk_status st = CUZK_OK;
    pthread_mutex_lock(&j->spool.lock);
    cuzk__pinned **p = find_pin(j, digest);
    if (!*p) {
        st = cuzk_alloc(&mem, 1, sizeof(cuzk__pinned));
        if (st == CUZK_OK) {
            *p = mem;
            memcpy((*p)->digest, digest, CUZK__DIGEST);
        }
    }
    if (*p) (*p)->count++;
    pthread_mutex_unlock(&j->spool.lock);
    return st;
}

/* Under the lock. A file that cannot be removed stays until the next open. */
static void remove_file(cuzk_journal *j, const uint8_t *digest) {
    char name[CUZK__NAME];
    struct stat sb;
    cuzk__hex(name, digest, CUZK__DIGEST);
    if (fstatat(j->spool.dir, name, &sb, AT_SYMLINK_NOFOLLOW) != 0) return;
    if (cuzk__step(j, CUZK_JOURNAL_REMOVE, -1, name) || unlinkat(j->spool.dir, name, 0) != 0)
        return;
    j->spool.bytes -= (uint64_t)sb.st_size;
    j->spool.files--;
}

void cuzk__unpin(cuzk_journal *j, const uint8_t digest[CUZK__DIGEST]) {
    pthread_mutex_lock(&j->spool.lock);
    cuzk__pinned **p = find_pin(j, digest), *pin = *p;
    if (pin && --pin->count == 0) {
        *p = pin->next;
        cuzk_free(pin);
        bool unknown = false;
        if (!cuzk__blob_known(j, digest, &unknown) && !unknown) remove_file(j, digest);
    }
    pthread_mutex_unlock(&j->spool.lock);
}

void cuzk__spool_dropped(cuzk_journal *j, const uint8_t digest[CUZK__DIGEST]) {
    pthread_mutex_lock(&j->spool.lock);
    if (!*find_pin(j, digest)) remove_file(j, digest);
    pthread_mutex_unlock(&j->spool.lock);
}

/* Whether the named file holds exactly pieces. */
static bool holds(cuzk_journal *j, const char *name, const cuzk_journal_part *pieces, size_t n,
                  uint64_t bytes) {
    struct stat sb;
    int fd = openat(j->spool.dir, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    if (fd < 0) return false;
    bool same = fstat(fd, &sb) == 0 && S_ISREG(sb.st_mode) && (uint64_t)sb.st_size == bytes;
    void *map = same && bytes ? mmap(NULL, bytes, PROT_READ, MAP_SHARED, fd, 0) : MAP_FAILED;
    close(fd);
    if (!same || !bytes) return same;
    if (map == MAP_FAILED) return false;
    const uint8_t *at = map;
    for (size_t i = 0; same && i < n; at += pieces[i].len, i++)
        same = !pieces[i].len || memcmp(at, pieces[i].data, pieces[i].len) == 0;
    munmap(map, bytes);
    return same;
}

static int write_all(int fd, const uint8_t *data, size_t n) {
    while (n) {
        const ssize_t w = write(fd, data, n);
        if (w < 0 && errno == EINTR) continue;
        if (w <= 0) return w < 0 ? errno : EIO;
        data += w;
        n -= (size_t)w;
    }
    return 0;
}

/* Small pieces are collected, so that thousands of them are not thousands of system calls. */
static int write_pieces(int fd, const cuzk_journal_part *pieces, size_t n) {
    enum { COLLECT = 256 << 10 };
    void *mem;
    if (cuzk_alloc(&mem, COLLECT, 1) != CUZK_OK) return ENOMEM;
    uint8_t *buf = mem;
    size_t used = 0;
    int e = 0;
    for (size_t i = 0; !e && i < n; i++) {
        if (!pieces[i].len) continue;
        if (used + pieces[i].len > COLLECT) {
            e = write_all(fd, buf, used);
            used = 0;
        }
        if (e) break;
        if (pieces[i].len > COLLECT) {
            e = write_all(fd, pieces[i].data, pieces[i].len);
        } else {
            memcpy(buf + used, pieces[i].data, pieces[i].len);
            used += pieces[i].len;
        }
    }
    if (!e) e = write_all(fd, buf, used);
    cuzk_free(mem);
    return e;
}

/* A file without a name where the file system has them and /proc can name it; *tmp is "" then. */
static int open_temporary(cuzk_journal *j, char *tmp, size_t n) {
    tmp[0] = '\0';
    int fd = -1;
    if (access("/proc/self/fd", X_OK) == 0)
        fd = openat(j->spool.dir, ".", O_TMPFILE | O_WRONLY | O_CLOEXEC, 0600);
    if (fd >= 0) return fd;
    uint64_t salt;
    if (cuzk_random(&salt, sizeof salt, NULL) != CUZK_OK) return -1;
    snprintf(tmp, n, TMP_PREFIX "%016llx", (unsigned long long)salt);
    return openat(j->spool.dir, tmp, O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0600);
}

static int name_file(cuzk_journal *j, int fd, const char *tmp, const char *name) {
    if (tmp[0]) return renameat(j->spool.dir, tmp, j->spool.dir, name) == 0 ? 0 : errno;
    char from[32];
    snprintf(from, sizeof from, "/proc/self/fd/%d", fd);
    return linkat(AT_FDCWD, from, j->spool.dir, name, AT_SYMLINK_FOLLOW) == 0 ? 0 : errno;
}

/* Writes, syncs and names the file. *added: it was not there before. */
static int store(cuzk_journal *j, const char *name, const cuzk_journal_part *pieces, size_t n,
                 uint64_t bytes, bool *added) {
    char tmp[40];
    int fd = open_temporary(j, tmp, sizeof tmp);
    if (fd < 0) return errno;
    int e = cuzk__step(j, CUZK_JOURNAL_WRITE, fd, name);
    if (!e) e = write_pieces(fd, pieces, n);
    if (!e) e = cuzk__step(j, CUZK_JOURNAL_SYNC_FILE, fd, name);
    if (!e) e = cuzk__step(j, CUZK_JOURNAL_NAME, fd, name);
    if (!e) {
        pthread_mutex_lock(&j->spool.lock);
        struct stat sb;
        bool there = fstatat(j->spool.dir, name, &sb, AT_SYMLINK_NOFOLLOW) == 0;
        /* one that is not what its name says is replaced; what is equal stays */
        if (there && !holds(j, name, pieces, n, bytes)) {
            if (unlinkat(j->spool.dir, name, 0) == 0) {
                j->spool.bytes -= (uint64_t)sb.st_size;
                j->spool.files--;
                there = false;
            } else {
                e = errno;
            }
        }
        if (!e && !there) e = name_file(j, fd, tmp, name);
        *added = !e && !there;
        pthread_mutex_unlock(&j->spool.lock);
    }
    close(fd);
    if (tmp[0] && !*added) unlinkat(j->spool.dir, tmp, 0);
    return e;
}

/* Under the lock. */
static cuzk_status room(cuzk_journal *j, uint64_t bytes, cuzk_err *err) {
    const uint64_t used = j->spool.bytes + atomic_load(&j->inline_bytes);
    if (!j->max_bytes || (bytes <= j->max_bytes && used <= j->max_bytes - bytes)) return CUZK_OK;
    return cuzk_err_set(err, CUZK_STATUS_BUSY,
                        "%s: no room for %llu bytes: %llu of %llu are in use; try again when jobs "
                        "have ended, or raise the limit on the spool",
                        j->spool.path, (unsigned long long)bytes, (unsigned long long)used,
                        (unsigned long long)j->max_bytes);
}

cuzk_status cuzk__spool_room(cuzk_journal *j, uint64_t bytes, cuzk_err *err) {
    pthread_mutex_lock(&j->spool.lock);
    cuzk_status st = room(j, bytes, err);
    pthread_mutex_unlock(&j->spool.lock);
    return st;
}

static cuzk_status reserve(cuzk_journal *j, uint64_t bytes, bool limited, cuzk_err *err) {
    pthread_mutex_lock(&j->spool.lock);
    cuzk_status st = limited ? room(j, bytes, err) : CUZK_OK;
    if (st == CUZK_OK) {
        j->spool.bytes += bytes;
        j->spool.files++;
    }
    pthread_mutex_unlock(&j->spool.lock);
    return st;
}

cuzk_status cuzk__spool_store(cuzk_journal *j, const uint8_t digest[CUZK__DIGEST],
                              const cuzk_journal_part *pieces, size_t n, uint64_t bytes,
                              bool limited, cuzk_err *err) {
    char name[CUZK__NAME];
    cuzk__hex(name, digest, CUZK__DIGEST);
    int e = 0;
    if (!holds(j, name, pieces, n, bytes)) {
        CUZK_TRY(reserve(j, bytes, limited, err));
        bool added = false;
        e = store(j, name, pieces, n, bytes, &added);
        if (!added) {
            pthread_mutex_lock(&j->spool.lock);
            j->spool.bytes -= bytes;
            j->spool.files--;
            pthread_mutex_unlock(&j->spool.lock);
        }
    }
    /* also of a file that was there: another thread may have named it a moment ago */
    if (!e) e = cuzk__step(j, CUZK_JOURNAL_SYNC_DIR, j->spool.dir, NULL);
    if (!e) return CUZK_OK;
    cuzk_err why = {0};
    const cuzk_status st = spool_error(j, name, e, &why);
    cuzk_log_limited(&j->log_spool, CUZK_LOG_ERROR, "journal", NULL, "not stored: %s", why.msg);
    return cuzk_err_set(err, st, "%s", why.msg);
}
