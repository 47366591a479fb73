#include "base/status.h"

#include <stdio.h>
#include <string.h>

const char *cuzk_status_text(cuzk_status st) {
    switch (st) {
#define CUZK__STATUS_CASE(name, value, exit_code, text)                                            \
    case CUZK_STATUS_##name:                                                                       \
        return text;
        CUZK_STATUS_MAP(CUZK__STATUS_CASE)
#undef CUZK__STATUS_CASE
    }
    return "unknown status";
}

int cuzk_status_exit_code(cuzk_status st) {
    switch (st) {
#define CUZK__STATUS_CASE(name, value, exit_code, text)                                            \
    case CUZK_STATUS_##name:                                                                       \
        return exit_code;
        CUZK_STATUS_MAP(CUZK__STATUS_CASE)
#undef CUZK__STATUS_CASE
    }
    return 70;
}

/* File names and texts of other programs get into messages: whatever they hold, a message stays one
 * line and says nothing to a terminal. */
static void make_printable(char *msg) {
    for (; *msg; msg++) {
        if ((unsigned char)*msg < ' ' || *msg == 127) *msg = '?';
    }
}

cuzk_status cuzk_err_set(cuzk_err *err, cuzk_status st, const char *fmt, ...) {
    if (!err) return st;
    err->status = st;
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(err->msg, sizeof err->msg, fmt, ap);
    va_end(ap);
    make_printable(err->msg);
    return st;
}

cuzk_status cuzk_err_prefix(cuzk_err *err, cuzk_status st, const char *fmt, ...) {
    if (!err) return st;
    char old[sizeof err->msg];
    memcpy(old, err->msg, sizeof old);
    va_list ap;
    va_start(ap, fmt);
    int n = vsnprintf(err->msg, sizeof err->msg, fmt, ap);
    va_end(ap);
    size_t used = n < 0 ? 0 : (size_t)n;
    if (used < sizeof err->msg) snprintf(err->msg + used, sizeof err->msg - used, ": %s", old);
    make_printable(err->msg);
    err->status = st;
    return st;
}
