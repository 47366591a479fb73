/* Settings by a table: one list of {name, type, place, default, range, help} from which a file, the
 * command line and the environment are read, and an annotated example and documentation written. */
#ifndef CUZK_BASE_CFGTAB_H
#define CUZK_BASE_CFGTAB_H

#include "base/buf.h"
#include "base/status.h"
#include "base/units.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum cuzk_cfg_type {
    CUZK_CFG_TEXT,     /* char[most + 1] */
    CUZK_CFG_LIST,     /* cuzk_cfg_list */
    CUZK_CFG_BOOL,     /* bool */
    CUZK_CFG_NUMBER,   /* uint64_t */
    CUZK_CFG_BYTES,    /* uint64_t: "64GiB", "500 MB", a plain number of bytes; and "auto" where the
                          table allows it: CUZK_CFG_AUTO_VALUE */
    CUZK_CFG_DURATION, /* uint64_t nanoseconds: "5m", "250ms", "1h30m"; a plain number: seconds */
} cuzk_cfg_type;

enum { CUZK_CFG_LIST_ITEMS = 32, CUZK_CFG_LIST_TEXT = 64 };

typedef struct cuzk_cfg_list {
    uint32_t n;
    char items[CUZK_CFG_LIST_ITEMS][CUZK_CFG_LIST_TEXT];
} cuzk_cfg_list;

enum {
    CUZK_CFG_AUTO = 1,    /* "auto" is a value */
    CUZK_CFG_RELOAD = 2,  /* may change while the program runs */
    CUZK_CFG_IGNORED = 4, /* of older files: any value is read and dropped; its place is a bool that
                             becomes true when it was given */
};

#define CUZK_CFG_AUTO_VALUE UINT64_MAX

typedef struct cuzk_cfg_entry {
    const char *path; /* "memory.total_budget" */
    cuzk_cfg_type type;
    size_t place;         /* offsetof in the settings */
    uint64_t least, most; /* of numbers, bytes, nanoseconds; of a text its longest length */
    const char *preset;   /* the default, as --set would be given it; of a list "a,b" */
    unsigned flags;
    const char *help; /* one sentence */
} cuzk_cfg_entry;

typedef struct cuzk_cfg_table {
    const cuzk_cfg_entry *entries;
    size_t n;
    const char *env_prefix; /* "CUZK_": memory.total_budget is CUZK_MEMORY_TOTAL_BUDGET */
} cuzk_cfg_table;

/* Every default. BUG when the table itself is wrong. */
cuzk_status cuzk_cfg_defaults(const cuzk_cfg_table *t, void *settings,
                              cuzk_err *err) CUZK_MUST_CHECK;

/* A TOML file over what is there. BAD_INPUT names the line; an unknown key with the nearest known
 * one; a key given twice. settings may be half changed then. */
cuzk_status cuzk_cfg_read(const cuzk_cfg_table *t, void *settings, const char *text, size_t len,
                          cuzk_err *err) CUZK_MUST_CHECK;

/* "memory.total_budget=64GiB" from a command line. */
cuzk_status cuzk_cfg_set(const cuzk_cfg_table *t, void *settings, const char *assignment,
                         cuzk_err *err) CUZK_MUST_CHECK;

/* The environment: get is getenv or a test's. */
cuzk_status cuzk_cfg_env(const cuzk_cfg_table *t, void *settings, char *(*get)(const char *name),
                         cuzk_err *err) CUZK_MUST_CHECK;

/* Calls tell for each name in the environment that begins like that of a setting (CUZK_GPUS_…) and
 * is none: a misspelt one, or another program's. meant: the nearest setting's name, or NULL. Both
 * are gone after the call. */
void cuzk_cfg_env_unknown(const cuzk_cfg_table *t, char *const *environment,
                          void (*tell)(void *ctx, const char *name, const char *meant), void *ctx);

/* The first setting that differs between two and may not change while the program runs; NULL: none.
 */
const char *cuzk_cfg_frozen(const cuzk_cfg_table *t, const void *before, const void *after);

/* A TOML file with every setting as it is now, which reads back to the same. */
void cuzk_cfg_show(cuzk_buf *out, const cuzk_cfg_table *t, const void *settings);

/* An annotated TOML file with every setting at its default; rows of a Markdown table. */
void cuzk_cfg_example(cuzk_buf *out, const cuzk_cfg_table *t);
void cuzk_cfg_markdown(cuzk_buf *out, const cuzk_cfg_table *t);

#endif
