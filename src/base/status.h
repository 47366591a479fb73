/* Status codes and error values.
 *
 * Every function that can fail returns cuzk_status; CUZK_OK is 0. At module borders a last
 * argument `cuzk_err *err` (may be NULL) receives a sentence for a person: what was wrong, where
 * (file, section, offset), expected against actual, and the remedy. Nothing below main() prints,
 * aborts or exits.
 */
#ifndef CUZK_BASE_STATUS_H
#define CUZK_BASE_STATUS_H

#include <stdarg.h>
#include <stddef.h>

/* name, value, exit code of the command line, text. The values are part of the installed ABI
 * (include/cuzk/status.h repeats them and a test compares). */
#define CUZK_STATUS_MAP(X)                                                                         \
    X(OK, 0, 0, "success")                                                                         \
    X(FALSE, 1, 1, "the thing checked is false")                                                   \
    X(USAGE, 2, 2, "wrong use of a function or command")                                           \
    X(BAD_INPUT, 3, 3, "malformed input")                                                          \
    X(IO, 4, 4, "cannot read or write")                                                            \
    X(NO_MEMORY, 5, 5, "not enough memory")                                                        \
    X(NO_DEVICE, 6, 5, "no such device")                                                           \
    X(BUG, 70, 70, "internal error")

typedef enum cuzk_status {
#define CUZK__STATUS_ENUM(name, value, exit_code, text) CUZK_STATUS_##name = (value),
    CUZK_STATUS_MAP(CUZK__STATUS_ENUM)
#undef CUZK__STATUS_ENUM
} cuzk_status;

#define CUZK_OK CUZK_STATUS_OK

#define CUZK_MUST_CHECK __attribute__((warn_unused_result))
#define CUZK_PRINTF(fmt, args) __attribute__((format(printf, fmt, args)))

/* A message for a person. Zero-initialise before use (`cuzk_err err = {0};`). */
typedef struct cuzk_err {
    cuzk_status status;
    char msg[640];
} cuzk_err;

/* The constant's lower-case text; "unknown status" for values not in the map. Thread-safe. */
const char *cuzk_status_text(cuzk_status st);

/* The exit code every program of the project uses for this status. */
int cuzk_status_exit_code(cuzk_status st);

/* Stores status and message (truncated to fit) and returns status, so that
 * `return cuzk_err_set(err, CUZK_STATUS_IO, "…")` is one line. err may be NULL. */
cuzk_status cuzk_err_set(cuzk_err *err, cuzk_status st, const char *fmt, ...) CUZK_PRINTF(3, 4);

/* Puts "<text>: " in front of the stored message (context added on the way up); returns
 * err's status, or st when err is NULL. */
cuzk_status cuzk_err_prefix(cuzk_err *err, cuzk_status st, const char *fmt, ...) CUZK_PRINTF(3, 4);

/* Returns from the calling function when expr fails. */
#define CUZK_TRY(expr)                                                                             \
    do {                                                                                           \
        cuzk_status cuzk__st = (expr);                                                             \
        if (cuzk__st != CUZK_OK) return cuzk__st;                                                  \
    } while (0)

/* Stores the status in the local `st` and jumps to `label` when expr fails. */
#define CUZK_TRY_GOTO(expr, label)                                                                 \
    do {                                                                                           \
        st = (expr);                                                                               \
        if (st != CUZK_OK) goto label;                                                             \
    } while (0)

#endif
