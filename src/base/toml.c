#include "base/toml.h"

#include "base/mem.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct reader {
    const char *p, *end;
    unsigned line;
    cuzk_err *err;
    char table[CUZK_TOML_NAME]; /* dotted, "" at the top */
    char *texts;                /* room for the strings of one value */
    size_t used;
    cuzk_toml_value items[CUZK_TOML_ITEMS];
} reader;

#define BAD(r, ...) cuzk_err_set((r)->err, CUZK_STATUS_BAD_INPUT, __VA_ARGS__)

static int peek(const reader *r) {
    return r->p < r->end ? (unsigned char)*r->p : -1;
}

static bool take(reader *r, char c) {
    if (peek(r) != c) return false;
    r->p++;
    return true;
}

static void blanks(reader *r) {
    while (peek(r) == ' ' || peek(r) == '\t')
        r->p++;
}

static void comment(reader *r) {
    blanks(r);
    if (peek(r) == '#')
        while (r->p < r->end && *r->p != '\n')
            r->p++;
}

/* A comment, and the end of the line or of the file. */
static cuzk_status line_end(reader *r) {
    comment(r);
    (void)take(r, '\r');
    if (r->p == r->end) return CUZK_OK;
    if (!take(r, '\n')) return BAD(r, "something follows that does not belong there");
    r->line++;
    return CUZK_OK;
}

/* ---- strings ---- */

static int hex_digit(int c) {
    if (c >= '0' && c <= '9') return c - '0';
    if (c >= 'a' && c <= 'f') return c - 'a' + 10;
    if (c >= 'A' && c <= 'F') return c - 'A' + 10;
    return -1;
}

static size_t utf8(char *out, uint32_t c) {
    if (c < 0x80) {
        out[0] = (char)c;
        return 1;
    }
    const int n = c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;
    static const unsigned char lead[] = {0, 0, 0xc0, 0xe0, 0xf0};
    for (int i = n - 1; i > 0; i--, c >>= 6)
        out[i] = (char)(0x80 | (c & 0x3f));
    out[0] = (char)(lead[n] | c);
    return (size_t)n;
}

static cuzk_status code_point(reader *r, int digits, char *out, size_t *n) {
    uint32_t c = 0;
    for (int i = 0; i < digits; i++, r->p++) {
        const int d = hex_digit(peek(r));
        if (d < 0) return BAD(r, "\\u wants four hexadecimal digits, \\U eight");
        c = c << 4 | (uint32_t)d;
    }
    if (c == 0 || c > 0x10ffff || (c >= 0xd800 && c < 0xe000))
        return BAD(r, "an escape that is no character");
    *n += utf8(out + *n, c);
    return CUZK_OK;
}

static cuzk_status escape(reader *r, char *out, size_t *n) {
    static const char from[] = "btnfr\"\\", to[] = "\b\t\n\f\r\"\\";
    const int c = peek(r);
    const char *at = c > 0 ? strchr(from, c) : NULL;
    if (c == 'u' || c == 'U') {
        r->p++;
        return code_point(r, c == 'u' ? 4 : 8, out, n);
    }
    if (!at) return BAD(r, "an unknown escape in a string");
    out[(*n)++] = to[at - from];
    r->p++;
    return CUZK_OK;
}

/* A string in " or ', to out with its NUL. */
static cuzk_status quoted(reader *r, char *out, size_t room) {
    const char q = *r->p++;
    size_t n = 0;
    if (r->end - r->p >= 2 && r->p[0] == q && r->p[1] == q)
        return BAD(r, "strings of several lines are not supported");
    while (!take(r, q)) {
        const int c = peek(r);
        if (c < 0x20 && c != '\t') return BAD(r, "a string does not end on its line");
        if (n + 5 > room) return BAD(r, "a string is longer than %zu bytes", room - 5);
        r->p++;
        if (c == '\\' && q == '"')
            CUZK_TRY(escape(r, out, &n));
        else
            out[n++] = (char)c;
    }
    out[n] = '\0';
    return CUZK_OK;
}

/* ---- keys ---- */

static bool bare(int c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '-';
}

/* One or more names with dots between, appended to out. */
static cuzk_status dotted(reader *r, char out[CUZK_TOML_NAME]) {
    size_t n = strlen(out);
    do {
        char name[CUZK_TOML_NAME];
        size_t len = 0;
        blanks(r);
        if (peek(r) == '"' || peek(r) == '\'') {
            CUZK_TRY(quoted(r, name, sizeof name));
            len = strlen(name);
        } else {
            while (bare(peek(r)) && len + 1 < sizeof name)
                name[len++] = *r->p++;
            if (len == 0) return BAD(r, "a name is missing");
        }
        if (n + len + 2 > CUZK_TOML_NAME) return BAD(r, "a name is too long");
        if (n) out[n++] = '.';
        memcpy(out + n, name, len);
        n += len;
        out[n] = '\0';
        blanks(r);
    } while (take(r, '.'));
    return CUZK_OK;
}

/* ---- values ---- */

static bool digits_between(const char *s, size_t n, size_t i) {
    return i > 0 && i + 1 < n && s[i - 1] >= '0' && s[i - 1] <= '9' && s[i + 1] >= '0' &&
           s[i + 1] <= '9';
}

/* Digits of a number without its underscores; false where an underscore stands wrong. */
static bool plain_digits(char *out, size_t room, const char *s, size_t n) {
    size_t k = 0;
    if (n + 1 > room) return false;
    for (size_t i = 0; i < n; i++) {
        if (s[i] == '_' && !digits_between(s, n, i)) return false;
        if (s[i] != '_') out[k++] = s[i];
    }
    out[k] = '\0';
    return k > 0;
}

/* Digits of a base, to out; false on another sign and on overflow. */
static bool parse_digits(const char *s, unsigned base, int64_t *out) {
    uint64_t u = 0;
    if (*s == '\0') return false;
    for (; *s; s++) {
        const int d = hex_digit((unsigned char)*s);
        if (d < 0 || (unsigned)d >= base) return false;
        if (__builtin_mul_overflow(u, base, &u)) return false;
        if (__builtin_add_overflow(u, (unsigned)d, &u)) return false;
    }
    *out = (int64_t)u;
    return u <= INT64_MAX;
}

/* A fraction, an exponent or both, after digits. */
static bool parse_real(const char *s, double *out) {
    const char *digits = s + (*s == '+' || *s == '-');
    const char *dot = strchr(digits, '.');
    char *end;
    if (dot && (dot == digits || dot[1] < '0' || dot[1] > '9')) return false;
    if (strspn(digits, "0123456789.eE+-") != strlen(digits)) return false;
    *out = strtod(s, &end);
    return *end == '\0' && isfinite(*out);
}

static unsigned base_of(char letter) {
    return letter == 'x' ? 16 : letter == 'o' ? 8 : letter == 'b' ? 2 : 0;
}

static bool parse_number(cuzk_toml_value *v, const char *s) {
    const bool sign = *s == '+' || *s == '-';
    const char *digits = s + sign;
    const unsigned base = digits[0] == '0' ? base_of(digits[1]) : 0;
    v->type = CUZK_TOML_INT;
    if (base) return !sign && parse_digits(digits + 2, base, &v->integer);
    if (digits[0] < '0' || digits[0] > '9') return false;
    if (digits[0] == '0' && digits[1] >= '0' && digits[1] <= '9') return false;
    if (strpbrk(digits, ".eE")) {
        v->type = CUZK_TOML_FLOAT;
        return parse_real(s, &v->real);
    }
    if (!parse_digits(digits, 10, &v->integer)) return false;
    if (*s == '-') v->integer = -v->integer;
    return true;
}

static cuzk_status word(reader *r, cuzk_toml_value *v) {
    const char *begin = r->p;
    char plain[64];
    while (bare(peek(r)) || peek(r) == '.' || peek(r) == '+' || peek(r) == ':')
        r->p++;
    const size_t n = (size_t)(r->p - begin);
    if (n == 0) return BAD(r, "a value is missing");
    if ((n == 4 && memcmp(begin, "true", 4) == 0) || (n == 5 && memcmp(begin, "false", 5) == 0)) {
        v->type = CUZK_TOML_BOOL;
        v->boolean = n == 4;
        return CUZK_OK;
    }
    if (plain_digits(plain, sizeof plain, begin, n) && parse_number(v, plain)) return CUZK_OK;
    return BAD(r, "`%.*s` is no value; a text stands in quotes", (int)(n < 40 ? n : 40), begin);
}

static cuzk_status scalar(reader *r, cuzk_toml_value *v) {
    *v = (cuzk_toml_value){0};
    if (peek(r) == '{') return BAD(r, "inline tables are not supported");
    if (peek(r) == '[') return BAD(r, "arrays of arrays are not supported");
    if (peek(r) != '"' && peek(r) != '\'') return word(r, v);
    v->type = CUZK_TOML_STRING;
    char *at = r->texts + r->used;
    CUZK_TRY(quoted(r, at, CUZK_TOML_TEXT));
    r->used += strlen(at) + 1;
    v->text = at;
    return CUZK_OK;
}

/* Blanks, comments and ends of lines, which may stand anywhere in an array. */
static cuzk_status lines(reader *r) {
    for (;;) {
        comment(r);
        if (peek(r) != '\n' && peek(r) != '\r') return CUZK_OK;
        CUZK_TRY(line_end(r));
    }
}

static cuzk_status value(reader *r, cuzk_toml_value *v) {
    r->used = 0;
    if (!take(r, '[')) return scalar(r, v);
    *v = (cuzk_toml_value){.type = CUZK_TOML_ARRAY, .items = r->items};
    CUZK_TRY(lines(r));
    while (!take(r, ']')) {
        if (v->n == CUZK_TOML_ITEMS)
            return BAD(r, "an array has more than %d items", CUZK_TOML_ITEMS);
        CUZK_TRY(scalar(r, &r->items[v->n++]));
        CUZK_TRY(lines(r));
        if (!take(r, ',') && peek(r) != ']') return BAD(r, "an array wants , or ]");
        CUZK_TRY(lines(r));
    }
    return CUZK_OK;
}

/* ---- lines ---- */

static cuzk_status table(reader *r) {
    if (take(r, '[')) return BAD(r, "arrays of tables ([[...]]) are not supported");
    r->table[0] = '\0';
    CUZK_TRY(dotted(r, r->table));
    if (!take(r, ']')) return BAD(r, "a table's name wants a ]");
    return CUZK_OK;
}

static cuzk_status assignment(reader *r, cuzk_toml_fn fn, void *ctx) {
    char path[CUZK_TOML_NAME];
    cuzk_toml_value v;
    memcpy(path, r->table, sizeof path);
    CUZK_TRY(dotted(r, path));
    if (!take(r, '=')) return BAD(r, "`%s` wants = and a value", path);
    blanks(r);
    CUZK_TRY(value(r, &v));
    return fn(ctx, path, &v, r->err);
}

static cuzk_status one_line(reader *r, cuzk_toml_fn fn, void *ctx) {
    const unsigned line = r->line;
    blanks(r);
    cuzk_status st = CUZK_OK;
    if (take(r, '['))
        st = table(r);
    else if (r->p < r->end && !strchr("#\r\n", *r->p))
        st = assignment(r, fn, ctx);
    if (st == CUZK_OK) st = line_end(r);
    return st == CUZK_OK ? st : cuzk_err_prefix(r->err, st, "line %u", line);
}

cuzk_status cuzk_toml_read(const char *text, size_t len, cuzk_toml_fn fn, void *ctx,
                           cuzk_err *err) {
    cuzk_err own = {0};
    reader r = {.p = text, .end = text + len, .line = 1, .err = err ? err : &own};
    if (len > 0 && memchr(text, '\0', len)) return BAD(&r, "the file holds a zero byte");
    CUZK_TRY(cuzk_alloc((void **)&r.texts, CUZK_TOML_ITEMS + 1, CUZK_TOML_TEXT));
    cuzk_status st = CUZK_OK;
    while (st == CUZK_OK && r.p < r.end)
        st = one_line(&r, fn, ctx);
    cuzk_free(r.texts);
    return st;
}
