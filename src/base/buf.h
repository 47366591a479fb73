/* A growable byte buffer for building text and files. A failed append makes the buffer sticky
 * `failed`, so that a writer appends freely and checks once at the end. Not thread-safe. */
#ifndef CUZK_BASE_BUF_H
#define CUZK_BASE_BUF_H

#include "base/status.h"

#include <stdbool.h>
#include <stddef.h>

typedef struct cuzk_buf {
    char *data; /* NUL-terminated after every append; the NUL is not counted */
    size_t len;
    size_t cap;
    bool failed;
} cuzk_buf;

#define CUZK_BUF_INIT                                                                              \
    { NULL, 0, 0, false }

void cuzk_buf_append(cuzk_buf *b, const void *data, size_t n);
void cuzk_buf_puts(cuzk_buf *b, const char *s);
void cuzk_buf_printf(cuzk_buf *b, const char *fmt, ...) CUZK_PRINTF(2, 3);

/* s as a JSON string with its quotes, control characters and non-UTF-8 bytes escaped. */
void cuzk_buf_json_str(cuzk_buf *b, const char *s);

/* CUZK_OK, or CUZK_STATUS_NO_MEMORY when any append failed. */
cuzk_status cuzk_buf_status(const cuzk_buf *b) CUZK_MUST_CHECK;
void cuzk_buf_free(cuzk_buf *b);

#endif
