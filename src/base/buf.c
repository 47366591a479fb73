#include "base/buf.h"

#include "base/mem.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static bool reserve(cuzk_buf *b, size_t extra) {
    size_t need;
    if (b->failed || !cuzk_add_size(b->len, extra, &need) || !cuzk_add_size(need, 1, &need)) {
        b->failed = true;
        return false;
    }
    if (need <= b->cap) return true;
    size_t cap = b->cap ? b->cap : 256;
    while (cap < need) {
        if (!cuzk_mul_size(cap, 2, &cap)) cap = need;
    }
    void *p = b->data;
    if (cuzk_realloc(&p, cap, 1) != CUZK_OK) {
        b->failed = true;
        return false;
    }
    b->data = p;
    b->cap = cap;
    return true;
}

void cuzk_buf_append(cuzk_buf *b, const void *data, size_t n) {
    if (!reserve(b, n)) return;
    if (n) memcpy(b->data + b->len, data, n);
    b->len += n;
    b->data[b->len] = '\0';
}

void cuzk_buf_puts(cuzk_buf *b, const char *s) {
    cuzk_buf_append(b, s, strlen(s));
}

void cuzk_buf_printf(cuzk_buf *b, const char *fmt, ...) {
    va_list ap, ap2;
    va_start(ap, fmt);
    va_copy(ap2, ap);
    int n = vsnprintf(NULL, 0, fmt, ap);
    va_end(ap);
    if (n < 0) {
        b->failed = true;
    } else if (reserve(b, (size_t)n)) {
        vsnprintf(b->data + b->len, (size_t)n + 1, fmt, ap2);
        b->len += (size_t)n;
    }
    va_end(ap2);
}

void cuzk_buf_json_str(cuzk_buf *b, const char *s) {
    cuzk_buf_puts(b, "\"");
    for (const unsigned char *p = (const unsigned char *)s; *p; p++) {
        if (*p == '"' || *p == '\\') {
            cuzk_buf_printf(b, "\\%c", *p);
        } else if (*p < 0x20 || *p >= 0x7f) {
            /* Bytes beyond ASCII are escaped one by one: the document stays valid JSON whatever
             * a file name holds. */
            cuzk_buf_printf(b, "\\u%04x", *p);
        } else {
            cuzk_buf_append(b, p, 1);
        }
    }
    cuzk_buf_puts(b, "\"");
}

cuzk_status cuzk_buf_status(const cuzk_buf *b) {
    return b->failed ? CUZK_STATUS_NO_MEMORY : CUZK_OK;
}

void cuzk_buf_free(cuzk_buf *b) {
    cuzk_free(b->data);
    *b = (cuzk_buf)CUZK_BUF_INIT;
}
