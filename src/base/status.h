/* Status codes and error values: the installed definitions (include/cuzk/status.h) and what only
 * the library itself needs to make them.
 *
 * Nothing below main() prints, aborts or exits.
 */
#ifndef CUZK_BASE_STATUS_H
#define CUZK_BASE_STATUS_H

#include "cuzk/status.h"

#include <stdarg.h>
#include <stddef.h>

#define CUZK_PRINTF(fmt, args) __attribute__((format(printf, fmt, args)))

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
