/* A pull reader of JSON that knows what it expects: the caller asks for an object, a key, a number,
 * and gets it or an error that names file, offset, field, what was expected and what is there.
 * Nothing is built; arrays of 32 numbers go straight to bytes.
 *
 * The text lies in memory (a mapped file), or is the base64 text of a JSON string, decoded through
 * a window of 64 KiB. Numbers are integers; keys are at most CUZK_PULL_KEY - 1 bytes; nesting at
 * most CUZK_PULL_DEPTH. The first error stays: later calls return it. Not thread-safe. */
#ifndef CUZK_BASE_JSON_PULL_H
#define CUZK_BASE_JSON_PULL_H

#include "base/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { CUZK_PULL_DEPTH = 32, CUZK_PULL_KEY = 40 };

/* One open object or array. */
typedef struct cuzk_pull_frame {
    char key[CUZK_PULL_KEY]; /* of the member being read; arrays: empty */
    uint64_t index;          /* of the item being read, arrays */
    bool array, any;         /* any: a member was read, so that a comma follows */
} cuzk_pull_frame;

typedef struct cuzk_pull {
    const char *name; /* of the file */
    cuzk_err *err;
    cuzk_status failed;
    const uint8_t *p, *end; /* what is left of the window */
    const uint8_t *window;
    uint64_t window_off; /* where the window begins in the text */
    uint64_t file_off;   /* where the text (its base64) begins in the file */
    const uint8_t *b64, *b64_end;
    uint8_t *buf;
    bool base64;
    unsigned depth;
    cuzk_pull_frame at[CUZK_PULL_DEPTH];
} cuzk_pull;

/* name and err must outlive the reader; err may be NULL. */
void cuzk_pull_init(cuzk_pull *j, const uint8_t *text, size_t n, const char *name, cuzk_err *err);
/* The JSON inside base64 text (standard alphabet, padded) that begins at file_off. */
cuzk_status cuzk_pull_init_base64(cuzk_pull *j, const uint8_t *text, size_t n, uint64_t file_off,
                                  const char *name, cuzk_err *err) CUZK_MUST_CHECK;
void cuzk_pull_fini(cuzk_pull *j);

/* Opens an object; then each call of key gives the next member's name (until the next call) with
 * its value to be read next, or NULL at the end, which closes it. */
cuzk_status cuzk_pull_object(cuzk_pull *j) CUZK_MUST_CHECK;
cuzk_status cuzk_pull_key(cuzk_pull *j, const char **key) CUZK_MUST_CHECK;
/* Opens an array; then item says whether another value follows; false closes it. */
cuzk_status cuzk_pull_array(cuzk_pull *j) CUZK_MUST_CHECK;
cuzk_status cuzk_pull_item(cuzk_pull *j, bool *more) CUZK_MUST_CHECK;

/* Reads a whole object: value(ctx, i) must read the member called names[i]. Members in any order;
 * one that is unknown, twice there, or missing (unless its bit is set in optional) is an error. n
 * at most 32. skip_unknown: unknown members are skipped instead. */
cuzk_status cuzk_pull_fields(cuzk_pull *j, const char *const *names, unsigned n, uint32_t optional,
                             bool skip_unknown, cuzk_status (*value)(void *ctx, unsigned i),
                             void *ctx) CUZK_MUST_CHECK;

/* Scalars. */
cuzk_status cuzk_pull_u64(cuzk_pull *j, uint64_t max, uint64_t *out) CUZK_MUST_CHECK;
cuzk_status cuzk_pull_null(cuzk_pull *j) CUZK_MUST_CHECK;
/* [32 numbers below 256]. */
cuzk_status cuzk_pull_bytes32(cuzk_pull *j, uint8_t out[32]) CUZK_MUST_CHECK;
/* A short string with its escapes resolved, NUL-terminated, at most cap - 1 bytes. */
cuzk_status cuzk_pull_string(cuzk_pull *j, char *out, size_t cap) CUZK_MUST_CHECK;
/* A string of any length as it stands, without its quotes; one with a backslash is refused. Only
 * of a text in memory. *off: where it begins in the file. */
cuzk_status cuzk_pull_raw_string(cuzk_pull *j, const uint8_t **p, size_t *n,
                                 uint64_t *off) CUZK_MUST_CHECK;
/* A string of base64 (standard alphabet, padded) as bytes: at most max, allocated; free with
 * cuzk_free. Only of a text in memory. */
cuzk_status cuzk_pull_base64(cuzk_pull *j, size_t max, uint8_t **out, size_t *n) CUZK_MUST_CHECK;
/* Any value, in JSON's grammar. */
cuzk_status cuzk_pull_skip(cuzk_pull *j) CUZK_MUST_CHECK;

/* The next byte that is no white space, not taken; 0 at the end. */
int cuzk_pull_peek(cuzk_pull *j);
/* Whether a text begins with the byte order mark of UTF-8, which is no JSON. */
bool cuzk_pull_is_bom(const uint8_t *p, size_t n);
/* Nothing but white space is left. */
cuzk_status cuzk_pull_end(cuzk_pull *j) CUZK_MUST_CHECK;

/* Reports "NAME: offset N: field: expected <expected>, actual <what is there>"; actual NULL:
 * described from the text. BAD_INPUT. */
cuzk_status cuzk_pull_fail(cuzk_pull *j, const char *expected, const char *actual);

#endif
