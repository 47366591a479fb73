#include "base/log.h"

#include "base/buf.h"

#include <errno.h>
#include <poll.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

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

void cuzk_log(cuzk_log_level level, const char *component, const char *job, const char *fmt, ...) {
    static const int severity[] = {3, 4, 6, 7, 7}; /* syslog's */
    if (!cuzk_log_on(level)) return;
    const int before = errno;
    char message[2048];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(message, sizeof message, fmt, ap);
    va_end(ap);
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
