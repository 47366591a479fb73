/* The log of a daemon: one line a message, whole or not at all, as text or as a JSON object. One
 * log a process; any thread may write. Libraries report errors as values and do not log; what runs
 * in the background (the engine, a server) logs what nobody waits for. */
#ifndef CUZK_BASE_LOG_H
#define CUZK_BASE_LOG_H

#include "base/status.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#define CUZK_LOG_LEVELS(X)                                                                         \
    X(ERROR, "error")                                                                              \
    X(WARN, "warn")                                                                                \
    X(INFO, "info")                                                                                \
    X(DEBUG, "debug")                                                                              \
    X(TRACE, "trace")

typedef enum cuzk_log_level {
#define CUZK__LEVEL(name, text) CUZK_LOG_##name,
    CUZK_LOG_LEVELS(CUZK__LEVEL)
#undef CUZK__LEVEL
} cuzk_log_level;

typedef enum cuzk_log_format {
    CUZK_LOG_TEXT, /* 2026-11-30T02:50:21.123Z info  engine: message (job j-17) */
    CUZK_LOG_JSON, /* {"time":"…","level":"info","component":"engine","job":"j-17","message":…} */
    CUZK_LOG_JOURNAL, /* <6>engine: message (job j-17): for systemd, which keeps the time */
} cuzk_log_format;

/* False when text names no level. */
bool cuzk_log_level_parse(const char *text, cuzk_log_level *out);

/* Until the first call: messages of INFO and above as text on standard error. Any thread, any time.
 */
void cuzk_log_setup(int fd, cuzk_log_level level, cuzk_log_format format);

/* Whether messages of this level are written: to save the work of making one. */
bool cuzk_log_on(cuzk_log_level level);

/* component: "engine"; job: an id, or NULL. The message is cut at 2 KiB; control characters in it
 * become spaces. A line that cannot be written, or that nobody takes within 100 ms, is lost and
 * counted. */
void cuzk_log(cuzk_log_level level, const char *component, const char *job, const char *fmt, ...)
    CUZK_PRINTF(4, 5);

/* The same for what may happen again and again: at most five lines a minute for each limit (zeroed,
 * kept by whoever logs); the next one says how many were left out. Any thread. */
typedef struct cuzk_log_limit {
    _Atomic int64_t since_ns; /* the minute's beginning; 0: none yet */
    _Atomic unsigned lines, left_out;
} cuzk_log_limit;
void cuzk_log_limited(cuzk_log_limit *limit, cuzk_log_level level, const char *component,
                      const char *job, const char *fmt, ...) CUZK_PRINTF(5, 6);

/* Lines lost since the start. */
unsigned long cuzk_log_lost(void);

#endif
