/* What the targets share. A target calls one reader on the input and then uses what the reader let
 * through as its callers would; what must hold is checked with FUZZ_CHECK. */
#ifndef CUZK_TESTS_FUZZ_H
#define CUZK_TESTS_FUZZ_H

#include "base/status.h"

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define FUZZ_CHECK(cond)                                                                           \
    do {                                                                                           \
        if (!(cond)) {                                                                             \
            fprintf(stderr, "%s:%d: %s does not hold\n", __FILE__, __LINE__, #cond);               \
            abort();                                                                               \
        }                                                                                          \
    } while (0)

/* A reader's answer: done, malformed or false; and a message whenever it is not done. */
static inline int fuzz_refused(cuzk_status st, const cuzk_err *err) {
    FUZZ_CHECK(st == CUZK_OK || st == CUZK_STATUS_BAD_INPUT || st == CUZK_STATUS_FALSE);
    if (st == CUZK_OK) return 0;
    FUZZ_CHECK(err->status == st && strstr(err->msg, "input: ") == err->msg);
    FUZZ_CHECK(strstr(err->msg, "expected") && strstr(err->msg, "actual"));
    return 1;
}

/* Reads every byte, so that a sanitizer sees a range that is not there. */
static inline unsigned fuzz_touch(const uint8_t *p, size_t n) {
    unsigned sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += p[i];
    return sum;
}

#endif
