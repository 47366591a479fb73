/* What tests of the journal put in place of clocks, file system and SQLite's own file layer. */
#ifndef CUZK_ENGINE_JOURNAL_HOOKS_H
#define CUZK_ENGINE_JOURNAL_HOOKS_H

#include <stdint.h>

/* What the spool does to its files, in the order in which it does it. */
typedef enum cuzk_journal_step {
    CUZK_JOURNAL_WRITE,     /* before bytes are written to the file fd, which has no name yet */
    CUZK_JOURNAL_SYNC_FILE, /* instead of fsync(fd) */
    CUZK_JOURNAL_NAME,      /* before fd gets its name */
    CUZK_JOURNAL_REMOVE,    /* before the name goes */
    CUZK_JOURNAL_SYNC_DIR,  /* instead of fsync of the directory fd */
} cuzk_journal_step;

typedef struct cuzk_journal_hooks {
    const char *vfs; /* SQLite's file layer by name; NULL: its default */
    void *ctx;
    int64_t (*wall)(void *ctx); /* nanoseconds since 1970; NULL: CLOCK_REALTIME */
    int64_t (*mono)(void *ctx); /* NULL: CLOCK_MONOTONIC */
    /* 0, or an errno with which the step fails. NULL: fsync really. From any thread. */
    int (*step)(void *ctx, cuzk_journal_step step, int fd, const char *name);
    int version; /* make and expect a journal of this older version; 0: of the newest */
} cuzk_journal_hooks;

#endif
