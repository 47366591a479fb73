#include "base/log.h"

#include "base/buf.h"
#include "base/clock.h"

#include <errno.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { LINES_A_MINUTE = 5 };

static _Atomic int log_fd = STDERR_FILENO, log_level = CUZK_LOG_INFO, log_format = CUZK_LOG_TEXT;

static _Atomic unsigned long lost;

static const char *const names[] = {
#define CUZK__LEVEL(name, text) text,
    CUZK_LOG_LEVELS(CUZK__LEVEL)
#undef CUZK__LEVEL
};

bool cuzk_log_level_parse(const char *text, cuzk_log_level *out) {
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        if (strcmp(text, names[i]) != 0) continue;
        *out = (cuzk_log_level)i;
        return true;
    }
    return false;
}

void cuzk_log_setup(int fd, cuzk_log_level level, cuzk_log_format format) {
    atomic_store(&log_fd, fd);
    atomic_store(&log_level, (int)level);
    atomic_store(&log_format, (int)format);
}

bool cuzk_log_on(cuzk_log_level level) {
    return (int)level <= atomic_load(&log_level);
}

static void put_time(cuzk_buf *b) {
    struct timespec now;
    struct tm t;
    char text[32];
    clock_gettime(CLOCK_REALTIME, &now);
    gmtime_r(&now.tv_sec, &t);
    strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%S", &t);
    cuzk_buf_printf(b, "%s.%03dZ", text, (int)(now.tv_nsec / 1000000));
}

static void put_json(cuzk_buf *b, cuzk_log_level level, const char *component, const char *job,
                     const char *message) {
    cuzk_buf_puts(b, "{\"time\":\"");
    put_time(b);
    cuzk_buf_printf(b, "\",\"level\":\"%s\",\"component\":", names[level]);
    cuzk_buf_json_str(b, component);
    if (job) {
        cuzk_buf_puts(b, ",\"job\":");
        cuzk_buf_json_str(b, job);
    }
    cuzk_buf_puts(b, ",\"message\":");
    cuzk_buf_json_str(b, message);
    cuzk_buf_puts(b, "}\n");
}

static void put_text(cuzk_buf *b, const char *component, const char *job, const char *message) {
    cuzk_buf_printf(b, "%s: %s", component, message);
    if (job) cuzk_buf_printf(b, " (job %s)", job);
    cuzk_buf_puts(b, "\n");
}

/* One write, so that lines of several threads do not mix. A reader that does not read must not hold
 * up whoever has something to say: a pipe that says it is ready takes PIPE_BUF bytes at once. */
static void put_line(int fd, const cuzk_buf *line) {
    struct pollfd p = {.fd = fd, .events = POLLOUT};
    if (poll(&p, 1, 100) == 0 || write(fd, line->data, line->len) < 0) atomic_fetch_add(&lost, 1);
}

unsigned long cuzk_log_lost(void) {
    return atomic_load(&lost);
}

/* left_out: lines of the kind before this one. */
static CUZK_PRINTF(5, 0) void put(cuzk_log_level level, const char *component, const char *job,
                                  unsigned left_out, const char *fmt, va_list ap) {
    static const int severity[] = {3, 4, 6, 7, 7}; /* syslog's */
    const int before = errno;
    char message[2048 + 64];
    vsnprintf(message, 2048, fmt, ap);
    if (left_out)
        snprintf(message + strlen(message), 64, " (%u such lines before it were left out)",
                 left_out);
    for (char *p = message; *p; p++)
        if ((unsigned char)*p < ' ' || *p == 0x7f) *p = ' ';
    cuzk_buf b = CUZK_BUF_INIT;
    switch ((cuzk_log_format)atomic_load(&log_format)) {
    case CUZK_LOG_JSON:
        put_json(&b, level, component, job, message);
        break;
    case CUZK_LOG_JOURNAL:
        cuzk_buf_printf(&b, "<%d>", severity[level]);
        put_text(&b, component, job, message);
        break;
    case CUZK_LOG_TEXT:
        put_time(&b);
        cuzk_buf_printf(&b, " %-5s ", names[level]);
        put_text(&b, component, job, message);
        break;
    }
    if (cuzk_buf_status(&b) == CUZK_OK) put_line(atomic_load(&log_fd), &b);
    cuzk_buf_free(&b);
    errno = before;
}

void cuzk_log(cuzk_log_level level, const char *component, const char *job, const char *fmt, ...) {
    if (!cuzk_log_on(level)) return;
    va_list ap;
    va_start(ap, fmt);
    put(level, component, job, 0, fmt, ap);
    va_end(ap);
}

void cuzk_log_limited(cuzk_log_limit *limit, cuzk_log_level level, const char *component,
                      const char *job, const char *fmt, ...) {
    const int64_t minute = INT64_C(60000000000), now = cuzk_now_ns();
    int64_t since = atomic_load(&limit->since_ns);
    if (!cuzk_log_on(level)) return;
    if ((!since || now - since >= minute) &&
        atomic_compare_exchange_strong(&limit->since_ns, &since, now))
        atomic_store(&limit->lines, 0);
    if (atomic_fetch_add(&limit->lines, 1) >= LINES_A_MINUTE) {
        atomic_fetch_add(&limit->left_out, 1);
        return;
    }
    va_list ap;
    va_start(ap, fmt);
    put(level, component, job, atomic_exchange(&limit->left_out, 0), fmt, ap);
    va_end(ap);
}
