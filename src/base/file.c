#include "base/file.h"

#include "base/buf.h"
#include "base/mem.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

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
        st = cuzk_err_set(err, CUZK_STATUS_IO, "%s: not a regular file", path);
    } else {
        out->len = (size_t)sb.st_size;
        out->dev = (uint64_t)sb.st_dev;
        out->ino = (uint64_t)sb.st_ino;
        out->mtime_ns = (int64_t)sb.st_mtim.tv_sec * 1000000000 + sb.st_mtim.tv_nsec;
        out->ctime_ns = (int64_t)sb.st_ctim.tv_sec * 1000000000 + sb.st_ctim.tv_nsec;
        out->data = empty;
        if (out->len) {
            void *p = mmap(NULL, out->len, PROT_READ, MAP_SHARED, fd, 0);
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

static cuzk_status io_error(cuzk_out *o, const char *what, cuzk_err *err) {
    return cuzk_err_set(err, CUZK_STATUS_IO, "%s: %s: %s", o->path, what, strerror(errno));
}

/* A pipe, terminal or device (/dev/stdout, /dev/null) is written in place: renaming a file over
 * it would replace the device. */
static cuzk_status open_in_place(cuzk_out *o, const char *path, cuzk_err *err) {
    if (cuzk_strdup(&o->path, path) != CUZK_OK)
        return cuzk_err_set(err, CUZK_STATUS_NO_MEMORY, "%s: out of memory", path);
    o->in_place = true;
    o->fd = open(path, O_WRONLY | O_CLOEXEC);
    if (o->fd >= 0) return CUZK_OK;
    cuzk_status st = io_error(o, "cannot open for writing", err);
    cuzk_out_abort(o);
    return st;
}

cuzk_status cuzk_out_open(cuzk_out *o, const char *path, cuzk_err *err) {
    memset(o, 0, sizeof *o);
    o->fd = -1;
    struct stat sb;
    if (stat(path, &sb) == 0 && !S_ISREG(sb.st_mode)) return open_in_place(o, path, err);
    cuzk_buf tmp = CUZK_BUF_INIT;
    cuzk_buf_printf(&tmp, "%s.tmp.XXXXXX", path);
    if (cuzk_buf_status(&tmp) != CUZK_OK || cuzk_strdup(&o->path, path) != CUZK_OK) {
        cuzk_buf_free(&tmp);
        return cuzk_err_set(err, CUZK_STATUS_NO_MEMORY, "%s: out of memory", path);
    }
    o->tmp = tmp.data; /* ownership moves */
    o->fd = mkostemp(o->tmp, O_CLOEXEC);
    if (o->fd < 0) {
        cuzk_status st = io_error(o, "cannot create a file beside it", err);
        o->tmp[0] = '\0';
        cuzk_out_abort(o);
        return st;
    }
    /* mkstemp makes the file 0600; give it what an ordinary open would. */
    mode_t mask = umask(0);
    umask(mask);
    fchmod(o->fd, 0666 & ~mask);
    return CUZK_OK;
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
    if (st == CUZK_OK && !o->in_place && rename(o->tmp, o->path) != 0)
        st = io_error(o, "cannot rename", err);
    if (st == CUZK_OK && !o->in_place) o->tmp[0] = '\0';
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
