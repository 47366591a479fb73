/* TOML, as far as configuration files need it: tables, bare, quoted and dotted keys, strings on one
 * line, integers, floats, booleans, arrays of those. What it leaves out it refuses by name:
 * multi-line strings, dates, inline tables, arrays of tables and of arrays. */
#ifndef CUZK_BASE_TOML_H
#define CUZK_BASE_TOML_H

#include "base/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum cuzk_toml_type {
    CUZK_TOML_STRING,
    CUZK_TOML_INT,
    CUZK_TOML_FLOAT,
    CUZK_TOML_BOOL,
    CUZK_TOML_ARRAY,
} cuzk_toml_type;

enum { CUZK_TOML_NAME = 128, CUZK_TOML_TEXT = 1024, CUZK_TOML_ITEMS = 64 };

typedef struct cuzk_toml_value {
    cuzk_toml_type type;
    const char *text; /* of a string: NUL-terminated, without a zero byte in it */
    int64_t integer;
    double real;
    bool boolean;
    const struct cuzk_toml_value *items; /* of an array */
    size_t n;
} cuzk_toml_value;

/* Called for every value, in the order of the file. path is "table.key", dotted throughout; both
 * live for the call alone. What it returns other than OK ends the reading. */
typedef cuzk_status (*cuzk_toml_fn)(void *ctx, const char *path, const cuzk_toml_value *value,
                                    cuzk_err *err);

/* BAD_INPUT names the line and what is wrong; so does an error of fn ("line N: " is put before it).
 * That a key is given twice is for fn to notice. */
cuzk_status cuzk_toml_read(const char *text, size_t len, cuzk_toml_fn fn, void *ctx,
                           cuzk_err *err) CUZK_MUST_CHECK;

#endif
