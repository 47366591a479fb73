/* Files: read-only mappings and atomic replacement. */
#ifndef CUZK_BASE_FILE_H
#define CUZK_BASE_FILE_H

#include "base/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* A whole file mapped read-only. The mapping owns nothing else: the descriptor is closed after
 * mapping. dev, ino, size and mtime_ns identify the version that was mapped. */
typedef struct cuzk_map {
    const uint8_t *data; /* never NULL after success, also for an empty file */
    size_t len;
    uint64_t dev, ino;
    int64_t mtime_ns, ctime_ns;
} cuzk_map;

/* Maps path. IO with the system's reason when it cannot be opened or is no regular file. Reading
 * a mapped file that another process truncates raises SIGBUS; replace files by rename. */
cuzk_status cuzk_map_file(cuzk_map *out, const char *path, cuzk_err *err) CUZK_MUST_CHECK;
void cuzk_map_close(cuzk_map *m);
/* Bytes [off, off + n) of a mapping are not needed for now: they no longer count as this process's
 * memory, and are there again when read. */
void cuzk_map_drop(const cuzk_map *m, size_t off, size_t n);

/* Whether two names lead to one regular file, or would once created. */
bool cuzk_same_file(const char *a, const char *b);

/* Writes data to path so that a reader sees the old file or the whole new one: temporary file in
 * the same directory, fsync, rename. (The directory is not synced: after a power loss the old
 * file may be back, whole.) On failure nothing is left behind and the old file is untouched; when
 * the process ends by a signal nothing is left either, where the file system has files without
 * names (O_TMPFILE). A symbolic link stays, what it leads to is replaced; a file that is replaced
 * hands on its mode, and one that may not be written stays. */
cuzk_status cuzk_write_file(const char *path, const void *data, size_t n,
                            cuzk_err *err) CUZK_MUST_CHECK;

/* The same in pieces, for outputs too large to build in memory, or for several files that must
 * appear together: open all, write all, commit all. */
typedef struct cuzk_out {
    int fd;
    char *path;
    char *tmp; /* temporary name; NULL: has none, empty: renamed */
    uint64_t written;
    bool synced;   /* everything written is on the medium */
    bool in_place; /* a pipe, terminal, device, or /dev/stdout: no temporary file, no pwrite */
} cuzk_out;

cuzk_status cuzk_out_open(cuzk_out *o, const char *path, cuzk_err *err) CUZK_MUST_CHECK;
cuzk_status cuzk_out_write(cuzk_out *o, const void *data, size_t n, cuzk_err *err) CUZK_MUST_CHECK;
/* Writes at a byte offset (for headers whose figures are known last); does not move the end. */
cuzk_status cuzk_out_pwrite(cuzk_out *o, uint64_t off, const void *data, size_t n,
                            cuzk_err *err) CUZK_MUST_CHECK;
/* Flushes to the medium without making the file visible; commit after every sibling has synced. */
cuzk_status cuzk_out_sync(cuzk_out *o, cuzk_err *err) CUZK_MUST_CHECK;
cuzk_status cuzk_out_commit(cuzk_out *o, cuzk_err *err) CUZK_MUST_CHECK;
/* Removes the temporary file; a no-op after commit or on a zeroed object (fd = -1 or path NULL). */
void cuzk_out_abort(cuzk_out *o);

#endif
