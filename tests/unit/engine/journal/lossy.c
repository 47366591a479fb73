#include "lossy.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sqlite3.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MAX_FILES = 512, SECTOR = 512, NAME = 96 };

typedef struct bytes_t {
    uint8_t *data;
    size_t len;
} bytes_t;

typedef enum op_type { WRITE, TRUNCATE, DELETE } op_type;

typedef struct op_t {
    struct op_t *next;
    op_type type;
    uint64_t off;
    bytes_t bytes;
} op_t;

/* A name in the state directory ("journal.db-wal") or in its spool ("spool/…"). */
typedef struct file_t {
    char name[NAME];
    bool synced_there, there; /* the name, on the medium and now */
    bytes_t synced;
    op_t *ops, **end; /* since the last sync */
    bool image_there;
    bytes_t image;
} file_t;

static struct {
    pthread_mutex_t lock;
    char dir[256];
    file_t files[MAX_FILES];
    int n;
    uint64_t random, operations, at;
    bool off;
    int failing_syncs;
    sqlite3_vfs vfs, *real;
} disk = {.lock = PTHREAD_MUTEX_INITIALIZER};

static void die(const char *what) {
    fprintf(stderr, "lossy disk: %s: %s\n", what, strerror(errno));
    abort();
}

static uint64_t next_random(void) { /* splitmix64 */
    uint64_t z = (disk.random += 0x9e3779b97f4a7c15u);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

static void bytes_set(bytes_t *b, uint64_t off, const void *data, size_t n) {
    if (off + n > b->len) {
        b->data = realloc(b->data, off + n);
        if (!b->data) die("memory");
        memset(b->data + b->len, 0, off + n - b->len);
        b->len = off + n;
    }
    if (n) memcpy(b->data + off, data, n);
}

static void bytes_free(bytes_t *b) {
    free(b->data);
    *b = (bytes_t){NULL, 0};
}

static file_t *find(const char *name) {
    for (int i = 0; i < disk.n; i++)
        if (!strcmp(disk.files[i].name, name)) return &disk.files[i];
    if (disk.n == MAX_FILES) die("too many files");
    file_t *f = &disk.files[disk.n++];
    memset(f, 0, sizeof *f);
    snprintf(f->name, sizeof f->name, "%s", name);
    f->end = &f->ops;
    return f;
}

static void drop_ops(file_t *f) {
    while (f->ops) {
        op_t *next = f->ops->next;
        bytes_free(&f->ops->bytes);
        free(f->ops);
        f->ops = next;
    }
    f->end = &f->ops;
}

static void add_op(file_t *f, op_type type, uint64_t off, const void *data, size_t n) {
    op_t *op = calloc(1, sizeof *op);
    if (!op) die("memory");
    op->type = type;
    op->off = off;
    if (n) bytes_set(&op->bytes, 0, data, n);
    *f->end = op;
    f->end = &op->next;
    if (type == DELETE)
        f->there = false;
    else
        f->there = true;
}

static void apply_whole(bytes_t *b, const op_t *op) {
    if (op->type == DELETE)
        bytes_free(b);
    else if (op->type == TRUNCATE)
        b->len = op->off < b->len ? op->off : b->len;
    else
        bytes_set(b, op->off, op->bytes.data, op->bytes.len);
}

static void sync_file(file_t *f) {
    for (const op_t *op = f->ops; op; op = op->next)
        apply_whole(&f->synced, op);
    drop_ops(f);
    f->synced_there = f->there;
}

/* ---- the power goes ---- */

/* What of a write reaches the medium: its sectors, each or not. */
static void apply_torn(bytes_t *b, const op_t *op) {
    for (uint64_t at = op->off; at < op->off + op->bytes.len;) {
        uint64_t end = (at / SECTOR + 1) * SECTOR;
        if (end > op->off + op->bytes.len) end = op->off + op->bytes.len;
        if (next_random() & 1) bytes_set(b, at, op->bytes.data + (at - op->off), end - at);
        at = end;
    }
}

static void make_image(file_t *f) {
    const uint64_t mode = next_random() % 4; /* all, none, some, torn */
    bytes_set(&f->image, 0, f->synced.data, f->synced.len);
    f->image_there = f->synced_there;
    for (const op_t *op = f->ops; op; op = op->next) {
        if (mode == 1 || (mode >= 2 && op->type != WRITE && next_random() & 1)) {
            /* a removal that is lost leaves the old file; what came after was in another one */
            if (op->type == DELETE) break;
            continue;
        }
        if (mode == 3 && op->type == WRITE)
            apply_torn(&f->image, op);
        else if (mode != 2 || op->type != WRITE || next_random() & 1)
            apply_whole(&f->image, op);
        f->image_there = op->type != DELETE;
    }
    if (!f->ops && f->there != f->synced_there) f->image_there = next_random() & 1;
    if (f->ops && f->image_there && !f->synced_there) f->image_there = next_random() & 1;
}

static void power_off(void) {
    disk.off = true;
    for (int i = 0; i < disk.n; i++)
        make_image(&disk.files[i]);
}

/* One operation; false: the power is off. Under the lock. */
static bool operate(void) {
    disk.operations++;
    return !disk.off;
}

/* After the operation is noted as under way. */
static bool survives(void) {
    if (disk.at && disk.operations == disk.at) power_off();
    return !disk.off;
}

/* ---- SQLite's files ---- */

typedef struct lossy_file_t {
    sqlite3_file base;
    file_t *f; /* NULL: not followed */
    sqlite3_file *real;
} lossy_file_t;

static sqlite3_file *real_of(sqlite3_file *p) {
    return ((lossy_file_t *)p)->real;
}

static int x_close(sqlite3_file *p) {
    return real_of(p)->pMethods->xClose(real_of(p));
}
static int x_read(sqlite3_file *p, void *out, int n, sqlite3_int64 off) {
    return real_of(p)->pMethods->xRead(real_of(p), out, n, off);
}
static int x_size(sqlite3_file *p, sqlite3_int64 *out) {
    return real_of(p)->pMethods->xFileSize(real_of(p), out);
}
static int x_lock(sqlite3_file *p, int l) {
    return real_of(p)->pMethods->xLock(real_of(p), l);
}
static int x_unlock(sqlite3_file *p, int l) {
    return real_of(p)->pMethods->xUnlock(real_of(p), l);
}
static int x_reserved(sqlite3_file *p, int *out) {
    return real_of(p)->pMethods->xCheckReservedLock(real_of(p), out);
}
static int x_control(sqlite3_file *p, int op, void *arg) {
    return real_of(p)->pMethods->xFileControl(real_of(p), op, arg);
}
static int x_sector(sqlite3_file *p) {
    return real_of(p)->pMethods->xSectorSize(real_of(p));
}
static int x_device(sqlite3_file *p) {
    return real_of(p)->pMethods->xDeviceCharacteristics(real_of(p));
}
static int x_shm_map(sqlite3_file *p, int page, int size, int extend, void volatile **out) {
    return real_of(p)->pMethods->xShmMap(real_of(p), page, size, extend, out);
}
static int x_shm_lock(sqlite3_file *p, int off, int n, int flags) {
    return real_of(p)->pMethods->xShmLock(real_of(p), off, n, flags);
}
static void x_shm_barrier(sqlite3_file *p) {
    real_of(p)->pMethods->xShmBarrier(real_of(p));
}
static int x_shm_unmap(sqlite3_file *p, int remove_it) {
    return real_of(p)->pMethods->xShmUnmap(real_of(p), remove_it);
}

static int x_write(sqlite3_file *p, const void *data, int n, sqlite3_int64 off) {
    file_t *f = ((lossy_file_t *)p)->f;
    if (f) {
        pthread_mutex_lock(&disk.lock);
        bool on = operate();
        if (on) {
            add_op(f, WRITE, (uint64_t)off, data, (size_t)n);
            on = survives();
        }
        pthread_mutex_unlock(&disk.lock);
        if (!on) return SQLITE_IOERR_WRITE;
    }
    return real_of(p)->pMethods->xWrite(real_of(p), data, n, off);
}

static int x_truncate(sqlite3_file *p, sqlite3_int64 size) {
    file_t *f = ((lossy_file_t *)p)->f;
    if (f) {
        pthread_mutex_lock(&disk.lock);
        bool on = operate();
        if (on) {
            add_op(f, TRUNCATE, (uint64_t)size, NULL, 0);
            on = survives();
        }
        pthread_mutex_unlock(&disk.lock);
        if (!on) return SQLITE_IOERR_TRUNCATE;
    }
    return real_of(p)->pMethods->xTruncate(real_of(p), size);
}

static int x_sync(sqlite3_file *p, int flags) {
    file_t *f = ((lossy_file_t *)p)->f;
    (void)flags;
    if (!f) return SQLITE_OK;
    pthread_mutex_lock(&disk.lock);
    bool on = operate() && survives();
    if (on && disk.failing_syncs) {
        disk.failing_syncs--;
        on = false;
    }
    if (on) sync_file(f);
    pthread_mutex_unlock(&disk.lock);
    return on ? SQLITE_OK : SQLITE_IOERR_FSYNC;
}

static const sqlite3_io_methods methods = {
    2,          x_close,       x_read,      x_write,   x_truncate, x_sync,   x_size,
    x_lock,     x_unlock,      x_reserved,  x_control, x_sector,   x_device, x_shm_map,
    x_shm_lock, x_shm_barrier, x_shm_unmap, NULL,      NULL,
};

/* The part of a path below the directory; NULL: elsewhere. */
static const char *below(const char *path) {
    const size_t n = strlen(disk.dir);
    return path && !strncmp(path, disk.dir, n) && path[n] == '/' ? path + n + 1 : NULL;
}

static int x_open(sqlite3_vfs *v, const char *name, sqlite3_file *p, int flags, int *out) {
    lossy_file_t *l = (lossy_file_t *)p;
    (void)v;
    memset(l, 0, sizeof *l);
    l->real = (sqlite3_file *)(l + 1);
    int rc = disk.real->xOpen(disk.real, name, l->real, flags, out);
    if (rc != SQLITE_OK) return rc;
    p->pMethods = &methods;
    const char *local = below(name);
    if (!local) return SQLITE_OK;
    pthread_mutex_lock(&disk.lock);
    l->f = find(local);
    l->f->there = true;
    pthread_mutex_unlock(&disk.lock);
    return SQLITE_OK;
}

static int x_delete(sqlite3_vfs *v, const char *name, int sync_dir) {
    const char *local = below(name);
    (void)v;
    if (local) {
        pthread_mutex_lock(&disk.lock);
        file_t *f = find(local);
        bool on = operate();
        if (on && f->there) {
            add_op(f, DELETE, 0, NULL, 0);
            on = survives();
            if (on && sync_dir) sync_file(f);
        }
        pthread_mutex_unlock(&disk.lock);
        if (!on) return SQLITE_IOERR_DELETE;
    }
    return disk.real->xDelete(disk.real, name, 0);
}

static int x_access(sqlite3_vfs *v, const char *name, int flags, int *out) {
    (void)v;
    return disk.real->xAccess(disk.real, name, flags, out);
}
static int x_full(sqlite3_vfs *v, const char *name, int n, char *out) {
    (void)v;
    return disk.real->xFullPathname(disk.real, name, n, out);
}

/* ---- the spool ---- */

static bool is_spool(int fd) {
    char path[300];
    struct stat a, b;
    snprintf(path, sizeof path, "%s/spool", disk.dir);
    return fstat(fd, &a) == 0 && stat(path, &b) == 0 && a.st_ino == b.st_ino;
}

/* The content of a file that may have no name yet. */
static void read_fd(bytes_t *out, int fd) {
    char path[64];
    struct stat sb;
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    int in = open(path, O_RDONLY);
    if (in < 0 || fstat(in, &sb) != 0) die("a spool file");
    out->len = 0;
    bytes_set(out, (uint64_t)sb.st_size, "", 0);
    if (read(in, out->data, (size_t)sb.st_size) != sb.st_size) die("a spool file");
    close(in);
}

static void spool_step(cuzk_journal_step step, int fd, const char *name) {
    char local[NAME];
    snprintf(local, sizeof local, "spool/%s", name ? name : "");
    file_t *f = name ? find(local) : NULL;
    bytes_t content = {NULL, 0};
    switch (step) {
    case CUZK_JOURNAL_WRITE:
        break;
    case CUZK_JOURNAL_SYNC_FILE: /* not named yet, but its bytes are on the medium */
        read_fd(&f->synced, fd);
        break;
    case CUZK_JOURNAL_NAME:
        /* without a sync before it the bytes would still be on their way */
        if (!f->synced.len) {
            read_fd(&content, fd);
            add_op(f, WRITE, 0, content.data, content.len);
            bytes_free(&content);
        }
        f->there = true;
        break;
    case CUZK_JOURNAL_REMOVE:
        f->there = false;
        break;
    case CUZK_JOURNAL_SYNC_DIR:
        if (!is_spool(fd)) break;
        for (int i = 0; i < disk.n; i++)
            if (!strncmp(disk.files[i].name, "spool/", 6))
                disk.files[i].synced_there = disk.files[i].there;
        break;
    }
}

static int on_step(void *ctx, cuzk_journal_step step, int fd, const char *name) {
    (void)ctx;
    pthread_mutex_lock(&disk.lock);
    const bool on = operate() && survives();
    if (on) spool_step(step, fd, name);
    pthread_mutex_unlock(&disk.lock);
    return on ? 0 : EIO;
}

/* ---- from outside ---- */

static void forget(void) {
    for (int i = 0; i < disk.n; i++) {
        drop_ops(&disk.files[i]);
        bytes_free(&disk.files[i].synced);
        bytes_free(&disk.files[i].image);
    }
    disk.n = 0;
}

void lossy_start(const char *dir, cuzk_journal_hooks *hooks) {
    snprintf(disk.dir, sizeof disk.dir, "%s", dir);
    disk.real = sqlite3_vfs_find(NULL);
    disk.vfs = *disk.real;
    disk.vfs.zName = "lossy";
    disk.vfs.pNext = NULL;
    disk.vfs.szOsFile = (int)sizeof(lossy_file_t) + disk.real->szOsFile;
    disk.vfs.xOpen = x_open;
    disk.vfs.xDelete = x_delete;
    disk.vfs.xAccess = x_access;
    disk.vfs.xFullPathname = x_full;
    if (sqlite3_vfs_register(&disk.vfs, 0) != SQLITE_OK) die("register");
    forget();
    disk.at = 0;
    disk.off = false;
    disk.failing_syncs = 0;
    memset(hooks, 0, sizeof *hooks);
    hooks->vfs = "lossy";
    hooks->step = on_step;
}

static void load(const char *prefix) {
    char path[300];
    snprintf(path, sizeof path, "%s/%s", disk.dir, prefix);
    DIR *d = opendir(path);
    if (!d) return;
    for (struct dirent *e = readdir(d); e; e = readdir(d)) {
        char local[300], full[600];
        struct stat sb;
        snprintf(local, sizeof local, "%s%.90s", prefix, e->d_name);
        snprintf(full, sizeof full, "%s/%s", disk.dir, local);
        const size_t n = strlen(local);
        if (stat(full, &sb) != 0 || !S_ISREG(sb.st_mode) || !strcmp(local, "lock") ||
            (n > 4 && !strcmp(local + n - 4, "-shm")))
            continue;
        file_t *f = find(local);
        f->there = f->synced_there = true;
        int fd = open(full, O_RDONLY);
        if (fd < 0) die(full);
        read_fd(&f->synced, fd);
        close(fd);
    }
    closedir(d);
}

void lossy_arm(uint64_t at, uint64_t seed) {
    forget();
    load("");
    load("spool/");
    disk.random = seed;
    disk.operations = 0;
    disk.at = at;
    disk.off = false;
}

void lossy_fail_syncs(int n) {
    pthread_mutex_lock(&disk.lock);
    disk.failing_syncs = n;
    pthread_mutex_unlock(&disk.lock);
}

int lossy_is_off(void) {
    pthread_mutex_lock(&disk.lock);
    const int off = disk.off;
    pthread_mutex_unlock(&disk.lock);
    return off;
}

uint64_t lossy_operations(void) {
    return disk.operations;
}

static void clear(const char *prefix) {
    char path[300];
    snprintf(path, sizeof path, "%s/%s", disk.dir, prefix);
    DIR *d = opendir(path);
    if (!d) return;
    for (struct dirent *e = readdir(d); e; e = readdir(d)) {
        char full[600];
        struct stat sb;
        snprintf(full, sizeof full, "%s/%s", path, e->d_name);
        if (stat(full, &sb) == 0 && S_ISREG(sb.st_mode)) unlink(full);
    }
    closedir(d);
}

void lossy_cut(void) {
    pthread_mutex_lock(&disk.lock);
    if (!disk.off) power_off();
    pthread_mutex_unlock(&disk.lock);
}

void lossy_restore(void) {
    lossy_cut();
    clear("");
    clear("spool/");
    for (int i = 0; i < disk.n; i++) {
        const file_t *f = &disk.files[i];
        char full[600];
        if (!f->image_there) continue;
        snprintf(full, sizeof full, "%s/%s", disk.dir, f->name);
        int fd = open(full, O_CREAT | O_WRONLY | O_TRUNC, 0600);
        if (fd < 0) die(full);
        for (size_t at = 0; at < f->image.len;) {
            const ssize_t n = write(fd, f->image.data + at, f->image.len - at);
            if (n <= 0) die(full);
            at += (size_t)n;
        }
        close(fd);
    }
}

void lossy_stop(void) {
    forget();
    sqlite3_vfs_unregister(&disk.vfs);
}
