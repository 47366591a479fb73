#include "base/file.h"

#include "base/buf.h"
#include "base/mem.h"
#include "base/rand.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* Bytes of files that are mapped page by page before they are read: they will be, and a fault for
 * every few pages costs more. */
enum { AT_ONCE = 16 << 20 };

cuzk_status cuzk_map_file(cuzk_map *out, const char *path, cuzk_err *err) {
    static const uint8_t empty[1];
    memset(out, 0, sizeof *out);
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0) return cuzk_err_set(err, CUZK_STATUS_IO, "%s: %s", path, strerror(errno));
    struct stat sb;
    cuzk_status st = CUZK_OK;
    if (fstat(fd, &sb) != 0) {
        st = cuzk_err_set(err, CUZK_STATUS_IO, "%s: %s", path, strerror(errno));
    } else if (!S_ISREG(sb.st_mode)) {
        st = cuzk_err_set(
            err, CUZK_STATUS_IO,
            "%s: not a regular file (pipes and devices cannot be mapped; save it first)", path);
    } else {
        out->len = (size_t)sb.st_size;
        out->dev = (uint64_t)sb.st_dev;
        out->ino = (uint64_t)sb.st_ino;
        out->mtime_ns = (int64_t)sb.st_mtim.tv_sec * 1000000000 + sb.st_mtim.tv_nsec;
        out->ctime_ns = (int64_t)sb.st_ctim.tv_sec * 1000000000 + sb.st_ctim.tv_nsec;
        out->data = empty;
        if (out->len) {
            const int now = out->len <= AT_ONCE ? MAP_POPULATE : 0;
            void *p = mmap(NULL, out->len, PROT_READ, MAP_SHARED | now, fd, 0);
            if (p == MAP_FAILED)
                st = cuzk_err_set(err, errno == ENOMEM ? CUZK_STATUS_NO_MEMORY : CUZK_STATUS_IO,
                                  "%s: cannot map: %s", path, strerror(errno));
            else
                out->data = p;
        }
    }
    close(fd);
    if (st != CUZK_OK) memset(out, 0, sizeof *out);
    return st;
}

void cuzk_map_close(cuzk_map *m) {
    if (m->data && m->len) munmap((void *)(uintptr_t)m->data, m->len);
    memset(m, 0, sizeof *m);
}

void cuzk_map_drop(const cuzk_map *m, size_t off, size_t n) {
    const size_t page = 4096, from = off & ~(page - 1);
    if (off >= m->len || n == 0) return;
    if (n > m->len - off) n = m->len - off;
    madvise((void *)(uintptr_t)(m->data + from), n + (off - from), MADV_DONTNEED);
}

static cuzk_status io_error(cuzk_out *o, const char *what, cuzk_err *err) {
    return cuzk_err_set(err, CUZK_STATUS_IO, "%s: %s: %s", o->path, what, strerror(errno));
}

/* A pipe, terminal or device (/dev/null) is written in place: renaming a file over it would replace
 * the device. So is a file that is open already, as /dev/stdout is, at the place it is open at. */
static cuzk_status open_in_place(cuzk_out *o, int open_already, cuzk_err *err) {
    o->in_place = true;
    o->fd = open_already >= 0 ? fcntl(open_already, F_DUPFD_CLOEXEC, 3)
                              : open(o->path, O_WRONLY | O_CLOEXEC);
    return o->fd >= 0 ? CUZK_OK : io_error(o, "cannot open for writing", err);
}

/* A descriptor of this process that is open for writing on the file, or -1. */
static int find_open(const struct stat *file) {
    enum { FDS = 64 };
    for (int fd = 1; fd < FDS; fd++) {
        struct stat sb;
        if (fstat(fd, &sb) != 0 || sb.st_dev != file->st_dev || sb.st_ino != file->st_ino) continue;
        int flags = fcntl(fd, F_GETFL);
        if (flags >= 0 && (flags & O_ACCMODE) != O_RDONLY) return fd;
    }
    return -1;
}

static cuzk_status no_memory(const char *path, cuzk_err *err) {
    return cuzk_err_set(err, CUZK_STATUS_NO_MEMORY, "%s: out of memory", path);
}

/* Everything of path up to its last slash, with it; "./" when there is none. */
static cuzk_status directory_of(char **dir, const char *path) {
    const char *slash = strrchr(path, '/');
    CUZK_TRY(cuzk_strdup(dir, slash ? path : "./"));
    if (slash) (*dir)[slash - path + 1] = '\0';
    return CUZK_OK;
}

/* The file that a symbolic link leads to is replaced, not the link: follows path one step. *path is
 * owned. False when it is no link. */
static cuzk_status follow_link(char **path, bool *followed, cuzk_err *err) {
    char target[PATH_MAX];
    ssize_t n = readlink(*path, target, sizeof target);
    *followed = n > 0 && n < (ssize_t)sizeof target;
    if (!*followed) return CUZK_OK;
    char *dir = NULL;
    cuzk_buf next = CUZK_BUF_INIT;
    cuzk_status st = directory_of(&dir, *path);
    if (st == CUZK_OK) {
        cuzk_buf_printf(&next, "%s%.*s", target[0] == '/' ? "" : dir, (int)n, target);
        st = cuzk_buf_status(&next);
    }
    cuzk_free(dir);
    if (st != CUZK_OK) {
        cuzk_buf_free(&next);
        return no_memory(*path, err);
    }
    cuzk_free(*path);
    *path = next.data;
    return CUZK_OK;
}

static cuzk_status follow_links(cuzk_out *o, cuzk_err *err) {
    enum { MAX_LINKS = 40 }; /* as the kernel */
    bool followed = true;
    for (int i = 0; i < MAX_LINKS && followed; i++)
        CUZK_TRY(follow_link(&o->path, &followed, err));
    return followed ? cuzk_err_set(err, CUZK_STATUS_IO, "%s: %s", o->path, strerror(ELOOP))
                    : CUZK_OK;
}

/* A file without a name, which is gone with the process however that ends; where the file system
 * has none, or /proc is not there to name it later, one with a temporary name. mode: of the file
 * that will be replaced, or 0666. */
static cuzk_status open_temporary(cuzk_out *o, mode_t mode, bool exact, cuzk_err *err) {
    char *dir = NULL;
    if (directory_of(&dir, o->path) != CUZK_OK) return no_memory(o->path, err);
    if (access("/proc/self/fd", X_OK) == 0)
        o->fd = open(dir, O_TMPFILE | O_WRONLY | O_CLOEXEC, mode);
    cuzk_status st = CUZK_OK;
    if (o->fd < 0) {
        cuzk_buf name = CUZK_BUF_INIT;
        cuzk_buf_printf(&name, "%s.cuzk.XXXXXX", dir);
        st = cuzk_buf_status(&name) == CUZK_OK ? CUZK_OK : no_memory(o->path, err);
        if (st == CUZK_OK) {
            o->tmp = name.data; /* ownership moves */
            o->fd = mkostemp(o->tmp, O_CLOEXEC);
            if (o->fd < 0) {
                st = io_error(o, "cannot create a file in its directory", err);
                o->tmp[0] = '\0';
            }
            exact = true;
            mode_t mask = umask(0);
            umask(mask);
            mode &= ~mask;
        } else {
            cuzk_buf_free(&name);
        }
    }
    cuzk_free(dir);
    if (st == CUZK_OK && exact && fchmod(o->fd, mode) != 0)
        st = io_error(o, "cannot set its mode", err);
    return st;
}

static cuzk_status open_path(cuzk_out *o, cuzk_err *err) {
    struct stat sb;
    if (!o->path[0]) return cuzk_err_set(err, CUZK_STATUS_IO, "an empty name is no file");
    const bool there = stat(o->path, &sb) == 0;
    if (there && !S_ISREG(sb.st_mode)) return open_in_place(o, -1, err);
    struct stat link;
    if (there && lstat(o->path, &link) == 0 && S_ISLNK(link.st_mode)) {
        int fd = find_open(&sb);
        if (fd >= 0) return open_in_place(o, fd, err);
    }
    CUZK_TRY(follow_links(o, err));
    if (there && access(o->path, W_OK) != 0) return io_error(o, "cannot be replaced", err);
    return open_temporary(o, there ? sb.st_mode & 07777 : 0666, there, err);
}

cuzk_status cuzk_out_open(cuzk_out *o, const char *path, cuzk_err *err) {
    memset(o, 0, sizeof *o);
    o->fd = -1;
    if (cuzk_strdup(&o->path, path) != CUZK_OK) return no_memory(path, err);
    cuzk_status st = open_path(o, err);
    if (st != CUZK_OK) cuzk_out_abort(o);
    return st;
}

/* Gives a file without a name a temporary one. Its life is the time between two system calls. */
static cuzk_status name_temporary(cuzk_out *o, cuzk_err *err) {
    enum { TRIES = 100 };
    char *dir = NULL, from[32];
    if (directory_of(&dir, o->path) != CUZK_OK) return no_memory(o->path, err);
    snprintf(from, sizeof from, "/proc/self/fd/%d", o->fd);
    cuzk_status st = CUZK_OK;
    for (int i = 0; i < TRIES; i++) {
        uint32_t salt;
        st = cuzk_random(&salt, sizeof salt, err);
        cuzk_buf name = CUZK_BUF_INIT;
        cuzk_buf_printf(&name, "%s.cuzk.%08x", dir, salt);
        if (st == CUZK_OK && cuzk_buf_status(&name) != CUZK_OK) st = no_memory(o->path, err);
        if (st == CUZK_OK && linkat(AT_FDCWD, from, AT_FDCWD, name.data, AT_SYMLINK_FOLLOW) == 0) {
            o->tmp = name.data; /* ownership moves */
            break;
        }
        if (st == CUZK_OK && (errno != EEXIST || i + 1 == TRIES))
            st = io_error(o, "cannot create a file in its directory", err);
        cuzk_buf_free(&name);
        if (st != CUZK_OK) break;
    }
    cuzk_free(dir);
    return st;
}

cuzk_status cuzk_out_write(cuzk_out *o, const void *data, size_t n, cuzk_err *err) {
    cuzk_status st = cuzk_out_pwrite(o, o->written, data, n, err);
    if (st == CUZK_OK) o->written += n;
    return st;
}

cuzk_status cuzk_out_pwrite(cuzk_out *o, uint64_t off, const void *data, size_t n, cuzk_err *err) {
    const char *p = data;
    o->synced = false;
    while (n) {
        ssize_t w = o->in_place ? write(o->fd, p, n) : pwrite(o->fd, p, n, (off_t)off);
        if (w < 0 && errno == EINTR) continue;
        if (w <= 0) return io_error(o, "cannot write", err);
        p += w;
        off += (uint64_t)w;
        n -= (size_t)w;
    }
    return CUZK_OK;
}

cuzk_status cuzk_out_sync(cuzk_out *o, cuzk_err *err) {
    if (o->in_place || o->synced) return CUZK_OK;
    if (fsync(o->fd) != 0) return io_error(o, "cannot flush to disk", err);
    o->synced = true;
    return CUZK_OK;
}

cuzk_status cuzk_out_commit(cuzk_out *o, cuzk_err *err) {
    cuzk_status st = cuzk_out_sync(o, err);
    if (!o->in_place) {
        if (st == CUZK_OK && !o->tmp) st = name_temporary(o, err);
        if (st == CUZK_OK && rename(o->tmp, o->path) != 0) st = io_error(o, "cannot rename", err);
        if (st == CUZK_OK) o->tmp[0] = '\0';
    }
    cuzk_out_abort(o);
    return st;
}

void cuzk_out_abort(cuzk_out *o) {
    if (!o->path) return;
    if (o->fd >= 0) close(o->fd);
    if (o->tmp && o->tmp[0]) unlink(o->tmp);
    cuzk_free(o->path);
    cuzk_free(o->tmp);
    memset(o, 0, sizeof *o);
    o->fd = -1;
}

cuzk_status cuzk_write_file(const char *path, const void *data, size_t n, cuzk_err *err) {
    cuzk_out o;
    CUZK_TRY(cuzk_out_open(&o, path, err));
    cuzk_status st = cuzk_out_write(&o, data, n, err);
    if (st == CUZK_OK) return cuzk_out_commit(&o, err);
    cuzk_out_abort(&o);
    return st;
}

/* Identity of the file at path, or of the place where it would be created. */
static bool place_of(const char *path, struct stat *sb, const char **name) {
    *name = "";
    if (stat(path, sb) == 0) return true;
    const char *slash = strrchr(path, '/');
    *name = slash ? slash + 1 : path;
    char *dir = NULL;
    if (directory_of(&dir, path) != CUZK_OK) return false;
    bool ok = stat(dir, sb) == 0;
    cuzk_free(dir);
    return ok;
}

bool cuzk_same_file(const char *a, const char *b) {
    struct stat sa, sb;
    const char *name_a, *name_b;
    if (!place_of(a, &sa, &name_a) || !place_of(b, &sb, &name_b)) return strcmp(a, b) == 0;
    if (!*name_a && !S_ISREG(sa.st_mode)) return false;
    return sa.st_dev == sb.st_dev && sa.st_ino == sb.st_ino && strcmp(name_a, name_b) == 0;
}
