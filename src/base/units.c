/* Exact: decimal fractions without floating point. */
#include "base/units.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* digits[.digits] times unit, rounded down; false on overflow, or when nothing is left of
 * something: 0 often has a meaning of its own. */
static bool scaled(const char *s, size_t n, uint64_t unit, uint64_t *out) {
    uint64_t whole = 0, part = 0, scale = 1;
    size_t i = 0;
    for (; i < n && s[i] != '.'; i++) {
        if (s[i] < '0' || s[i] > '9') return false;
        if (__builtin_mul_overflow(whole, 10u, &whole)) return false;
        if (__builtin_add_overflow(whole, (uint64_t)(s[i] - '0'), &whole)) return false;
    }
    if (i == 0 || (i < n && i + 1 == n) || n - i > 10) return false;
    for (i++; i < n; i++) {
        if (s[i] < '0' || s[i] > '9') return false;
        part = part * 10 + (uint64_t)(s[i] - '0');
        scale *= 10;
    }
    uint64_t more;
    if (__builtin_mul_overflow(part, unit, &more)) return false;
    return !__builtin_mul_overflow(whole, unit, &whole) &&
           !__builtin_add_overflow(whole, more / scale, out) && (*out > 0 || part == 0);
}

static size_t number_length(const char *s) {
    return strspn(s, "0123456789.");
}

bool cuzk_parse_bytes(const char *text, uint64_t *out) {
    static const struct {
        const char *name;
        uint64_t bytes;
    } units[] = {{"", 1},
                 {"B", 1},
                 {"kB", 1000},
                 {"KB", 1000},
                 {"MB", 1000000},
                 {"GB", 1000000000},
                 {"TB", UINT64_C(1000000000000)},
                 {"KiB", UINT64_C(1) << 10},
                 {"MiB", UINT64_C(1) << 20},
                 {"GiB", UINT64_C(1) << 30},
                 {"TiB", UINT64_C(1) << 40}};
    const size_t n = number_length(text);
    const char *unit = text + n;
    while (*unit == ' ')
        unit++;
    for (size_t i = 0; i < sizeof units / sizeof *units; i++)
        if (strcmp(unit, units[i].name) == 0) return scaled(text, n, units[i].bytes, out);
    return false;
}

bool cuzk_parse_duration(const char *text, uint64_t *out) {
    static const struct {
        const char *name;
        uint64_t ns;
    } units[] = {{"h", UINT64_C(3600000000000)},
                 {"m", UINT64_C(60000000000)},
                 {"s", UINT64_C(1000000000)},
                 {"ms", 1000000},
                 {"us", 1000},
                 {"ns", 1}};
    const size_t count = sizeof units / sizeof *units;
    uint64_t sum = 0;
    size_t next = 0; /* units come from large to small, each once */
    if (number_length(text) == strlen(text)) return scaled(text, strlen(text), units[2].ns, out);
    while (*text) {
        const size_t n = number_length(text);
        const size_t len = strcspn(text + n, "0123456789. ");
        size_t i = next;
        uint64_t part;
        while (i < count &&
               (strlen(units[i].name) != len || strncmp(units[i].name, text + n, len) != 0))
            i++;
        if (i == count || !scaled(text, n, units[i].ns, &part)) return false;
        if (__builtin_add_overflow(sum, part, &sum)) return false;
        next = i + 1;
        text += n + len;
    }
    *out = sum;
    return next > 0;
}

static void exactly(uint64_t v, const uint64_t *sizes, const char *const *names, size_t n,
                    char out[CUZK_UNITS_TEXT]) {
    size_t i = 0;
    while (i + 1 < n && (v == 0 || v % sizes[i] != 0))
        i++;
    snprintf(out, CUZK_UNITS_TEXT, "%" PRIu64 "%s", v / sizes[i], names[i]);
}

void cuzk_format_bytes(uint64_t bytes, char out[CUZK_UNITS_TEXT]) {
    static const uint64_t sizes[] = {UINT64_C(1) << 40, UINT64_C(1) << 30, UINT64_C(1) << 20,
                                     UINT64_C(1) << 10, 1};
    static const char *const names[] = {"TiB", "GiB", "MiB", "KiB", ""};
    exactly(bytes, sizes, names, sizeof sizes / sizeof *sizes, out);
}

void cuzk_format_duration(uint64_t ns, char out[CUZK_UNITS_TEXT]) {
    static const uint64_t sizes[] = {
        UINT64_C(3600000000000), UINT64_C(60000000000), UINT64_C(1000000000), 1000000, 1000, 1};
    static const char *const names[] = {"h", "m", "s", "ms", "us", "ns"};
    if (ns == 0)
        snprintf(out, CUZK_UNITS_TEXT, "0s");
    else
        exactly(ns, sizes, names, sizeof sizes / sizeof *sizes, out);
}
