#include "cli.h"

#include "base/file.h"
#include "base/units.h"
#include "format/decimal.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

int cuzk_cli_fail(const char *verb, cuzk_status st, const cuzk_err *err) {
    const char *msg = err && err->msg[0] ? err->msg : cuzk_status_text(st);
    fprintf(stderr, "cuzk %s: %s\n", verb, msg);
    return cuzk_status_exit_code(st);
}

int cuzk_cli_usage(const char *verb, const char *fmt, ...) {
    va_list ap;
    fprintf(stderr, "cuzk %s: ", verb);
    va_start(ap, fmt);
    vfprintf(stderr, fmt, ap);
    va_end(ap);
    fprintf(stderr, "\nTry `cuzk %s --help`.\n", verb);
    return cuzk_status_exit_code(CUZK_STATUS_USAGE);
}

int cuzk_cli_bad_option(const char *verb, int c, char **argv) {
    /* Inside a word of several letters, -abc, optind still points at the word. */
    const char *inside = argv[optind];
    if (c == '?' && optopt && inside && inside[0] == '-' && strchr(inside + 1, optopt))
        return cuzk_cli_usage(verb, "unknown option -%c", optopt);
    const char *word = argv[optind - 1];
    if (c == ':') return cuzk_cli_usage(verb, "%s needs a value", word);
    return cuzk_cli_usage(verb, "unknown option %s", word);
}

int cuzk_cli_flush(const char *verb, int code) {
    const bool before = ferror(stdout); /* errno is another's by now */
    if (!before && fflush(stdout) == 0) return code;
    fprintf(stderr, "cuzk %s: cannot write to standard output%s%s\n", verb, before ? "" : ": ",
            before ? "" : strerror(errno));
    return cuzk_status_exit_code(CUZK_STATUS_IO);
}

int cuzk_cli_help(const char *verb, const char *text) {
    fputs(text, stdout);
    return cuzk_cli_flush(verb, 0);
}

bool cuzk_cli_addr_given(int argc, char **argv) {
    for (int i = 1; i < argc && strcmp(argv[i], "--") != 0; i++)
        if (strcmp(argv[i], "--addr") == 0 || strncmp(argv[i], "--addr=", 7) == 0) return true;
    return false;
}

int cuzk_cli_distinct(const char *verb, const char *const *in, size_t n_in, const char *const *out,
                      size_t n_out) {
    for (size_t i = 0; i < n_out; i++) {
        for (size_t k = 0; k < n_in; k++) {
            if (cuzk_same_file(out[i], in[k]))
                return cuzk_cli_usage(verb, "%s would be overwritten: it is an input as well",
                                      in[k]);
        }
        for (size_t k = 0; k < i; k++) {
            if (cuzk_same_file(out[i], out[k]))
                return cuzk_cli_usage(
                    verb, "%s and %s are the same file: each output needs its own", out[k], out[i]);
        }
    }
    return 0;
}

bool cuzk_cli_number(const char *text, uint64_t lo, uint64_t hi, uint64_t *out) {
    uint64_t v = 0;
    if (!*text) return false;
    for (const char *p = text; *p; p++) {
        if (*p < '0' || *p > '9') return false;
        if (__builtin_mul_overflow(v, 10, &v)) return false;
        if (__builtin_add_overflow(v, (uint64_t)(*p - '0'), &v)) return false;
    }
    *out = v;
    return v >= lo && v <= hi;
}

bool cuzk_cli_scalar(const char *text, size_t len, uint64_t out[4]) {
    /* Documents may not have leading zeros; a person may type them. */
    for (; len > 1 && *text == '0'; len--)
        text++;
    return cuzk_decimal_to_limbs(out, 4, text, len) == CUZK_DECIMAL_OK;
}

bool cuzk_cli_threads(const char *text, unsigned *out) {
    uint64_t v;
    if (!cuzk_cli_number(text, 0, 4096, &v)) return false;
    *out = (unsigned)v;
    return true;
}

bool cuzk_cli_impl(const char *text, cuzk_cpu_impl *out) {
    static const char *const names[] = {"auto", "portable", "asm", "ifma"};
    static const cuzk_cpu_impl values[] = {CUZK_CPU_AUTO, CUZK_CPU_PORTABLE, CUZK_CPU_ASM,
                                           CUZK_CPU_IFMA};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        if (strcmp(text, names[i]) != 0) continue;
        *out = values[i];
        return true;
    }
    return false;
}

int cuzk_cli_vram(const char *verb, const char *text, bool cuda, uint64_t *out) {
    if (!text) return -1;
    if (!cuda) return cuzk_cli_usage(verb, "--vram goes with --device cuda");
    if (!cuzk_parse_bytes(text, out) || *out == 0)
        return cuzk_cli_usage(verb, "--vram %s: a size such as 16GiB", text);
    return -1;
}
