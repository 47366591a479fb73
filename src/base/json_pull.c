#include "base/json_pull.h"

#include "base/buf.h"
#include "base/mem.h"

#include <stdio.h>
#include <string.h>

/* A token (a key, a number, 32 numbers without white space) fits into TOKEN bytes; the window is
 * filled up when fewer are left. */
enum { WINDOW = 64 << 10, TOKEN = 512 };

/* ---- base64 ---- */

/* The six bits of a character, and GOOD; 0 for what is no base64. */
enum { GOOD = 0x40 };
static const uint8_t table[256] = {
    ['A'] = 0x40, ['B'] = 0x41, ['C'] = 0x42, ['D'] = 0x43, ['E'] = 0x44, ['F'] = 0x45,
    ['G'] = 0x46, ['H'] = 0x47, ['I'] = 0x48, ['J'] = 0x49, ['K'] = 0x4a, ['L'] = 0x4b,
    ['M'] = 0x4c, ['N'] = 0x4d, ['O'] = 0x4e, ['P'] = 0x4f, ['Q'] = 0x50, ['R'] = 0x51,
    ['S'] = 0x52, ['T'] = 0x53, ['U'] = 0x54, ['V'] = 0x55, ['W'] = 0x56, ['X'] = 0x57,
    ['Y'] = 0x58, ['Z'] = 0x59, ['a'] = 0x5a, ['b'] = 0x5b, ['c'] = 0x5c, ['d'] = 0x5d,
    ['e'] = 0x5e, ['f'] = 0x5f, ['g'] = 0x60, ['h'] = 0x61, ['i'] = 0x62, ['j'] = 0x63,
    ['k'] = 0x64, ['l'] = 0x65, ['m'] = 0x66, ['n'] = 0x67, ['o'] = 0x68, ['p'] = 0x69,
    ['q'] = 0x6a, ['r'] = 0x6b, ['s'] = 0x6c, ['t'] = 0x6d, ['u'] = 0x6e, ['v'] = 0x6f,
    ['w'] = 0x70, ['x'] = 0x71, ['y'] = 0x72, ['z'] = 0x73, ['0'] = 0x74, ['1'] = 0x75,
    ['2'] = 0x76, ['3'] = 0x77, ['4'] = 0x78, ['5'] = 0x79, ['6'] = 0x7a, ['7'] = 0x7b,
    ['8'] = 0x7c, ['9'] = 0x7d, ['+'] = 0x7e, ['/'] = 0x7f,
};

/* Whole groups of four characters to three bytes; returns how many groups were good. */
static size_t decode_groups(uint8_t *out, const uint8_t *in, size_t groups) {
    for (size_t g = 0; g < groups; g++, in += 4, out += 3) {
        const unsigned a = table[in[0]], b = table[in[1]], c = table[in[2]], d = table[in[3]];
        if (!(a & b & c & d & GOOD)) return g;
        out[0] = (uint8_t)(a << 2 | (b & 63) >> 4);
        out[1] = (uint8_t)(b << 4 | (c & 63) >> 2);
        out[2] = (uint8_t)(c << 6 | (d & 63));
    }
    return groups;
}

/* The last group, with one or two '='; returns its bytes, or 0. Unused bits must be zero. */
static size_t decode_last(uint8_t *out, const uint8_t *in) {
    const unsigned a = table[in[0]], b = table[in[1]];
    if (!(a & b & GOOD) || in[3] != '=') return 0;
    out[0] = (uint8_t)(a << 2 | (b & 63) >> 4);
    if (in[2] == '=') return b & 15 ? 0 : 1;
    const unsigned c = table[in[2]];
    if (!(c & GOOD) || (c & 3)) return 0;
    out[1] = (uint8_t)(b << 4 | (c & 63) >> 2);
    return 2;
}

bool cuzk_pull_is_bom(const uint8_t *p, size_t n) {
    return n >= 3 && p[0] == 0xef && p[1] == 0xbb && p[2] == 0xbf;
}

/* ---- where we are ---- */

static uint64_t text_offset(const cuzk_pull *j) {
    return j->window_off + (uint64_t)(j->p - j->window);
}

static uint64_t file_offset(const cuzk_pull *j) {
    const uint64_t o = text_offset(j);
    return j->file_off + (j->base64 ? o / 3 * 4 + o % 3 : o);
}

static void describe(const cuzk_pull *j, char *out, size_t cap) {
    if (j->p == j->end)
        snprintf(out, cap, "the end of the %s", j->base64 ? "base64 text" : "file");
    else if (*j->p == '{' || *j->p == '[')
        snprintf(out, cap, "%s", *j->p == '{' ? "an object" : "an array");
    else if (*j->p == '"')
        snprintf(out, cap, "a string");
    else if (*j->p > ' ' && *j->p <= '~')
        snprintf(out, cap, "`%c`", *j->p);
    else if (cuzk_pull_is_bom(j->p, (size_t)(j->end - j->p)))
        snprintf(out, cap, "a byte order mark");
    else
        snprintf(out, cap, "byte 0x%02x", *j->p);
}

static void append_path(const cuzk_pull *j, cuzk_buf *b) {
    for (unsigned i = 0; i < j->depth; i++) {
        const cuzk_pull_frame *f = &j->at[i];
        if (f->array)
            cuzk_buf_printf(b, "[%llu]", (unsigned long long)f->index);
        else if (f->key[0])
            cuzk_buf_printf(b, "%s%s", b->len ? "." : "", f->key);
    }
}

cuzk_status cuzk_pull_fail(cuzk_pull *j, const char *expected, const char *actual) {
    char there[48];
    cuzk_buf path = CUZK_BUF_INIT;
    if (j->failed) return j->failed;
    if (!actual) {
        describe(j, there, sizeof there);
        actual = there;
    }
    append_path(j, &path);
    j->failed = CUZK_STATUS_BAD_INPUT;
    (void)cuzk_err_set(j->err, j->failed, "%s: offset %llu: %s%sexpected %s, actual %s", j->name,
                       (unsigned long long)file_offset(j), path.len ? path.data : "",
                       path.len ? ": " : "", expected, actual);
    cuzk_buf_free(&path);
    return j->failed;
}

/* ---- the window ---- */

void cuzk_pull_init(cuzk_pull *j, const uint8_t *text, size_t n, const char *name, cuzk_err *err) {
    *j = (cuzk_pull){.name = name, .err = err, .p = text, .end = text + n, .window = text};
}

cuzk_status cuzk_pull_init_base64(cuzk_pull *j, const uint8_t *text, size_t n, uint64_t file_off,
                                  const char *name, cuzk_err *err) {
    *j = (cuzk_pull){.name = name, .err = err, .file_off = file_off, .base64 = true};
    const cuzk_status st = cuzk_alloc((void **)&j->buf, WINDOW, 1);
    if (st != CUZK_OK) return cuzk_err_set(err, st, "%s: not enough memory to read it", name);
    j->b64 = text;
    j->b64_end = text + n;
    j->p = j->end = j->window = j->buf;
    if (n % 4 != 0) return cuzk_pull_fail(j, "base64 of whole groups of four", "another length");
    return CUZK_OK;
}

void cuzk_pull_fini(cuzk_pull *j) {
    cuzk_free(j->buf);
    j->buf = NULL;
}

static void fill(cuzk_pull *j) {
    const size_t keep = (size_t)(j->end - j->p);
    size_t groups = (WINDOW - keep) / 3, left = (size_t)(j->b64_end - j->b64) / 4;
    if (groups > left) groups = left;
    j->window_off += (uint64_t)(j->p - j->window);
    memmove(j->buf, j->p, keep);
    j->p = j->window = j->buf;
    const size_t good = decode_groups(j->buf + keep, j->b64, groups);
    size_t got = 3 * good;
    j->b64 += 4 * good;
    if (good < groups) { /* the last group, or something else than base64 */
        const size_t tail = good + 1 == left ? decode_last(j->buf + keep + got, j->b64) : 0;
        got += tail;
        if (tail == 0) {
            j->p = j->end = j->buf + keep + got;
            (void)cuzk_pull_fail(j, "base64", "something else");
        }
        j->b64 = j->b64_end;
    }
    j->end = j->buf + keep + got;
}

/* Makes at least TOKEN bytes available, or all that is left. */
static inline void need(cuzk_pull *j) {
    if (j->end - j->p < TOKEN && j->b64 != j->b64_end) fill(j);
}

int cuzk_pull_peek(cuzk_pull *j) {
    for (;;) {
        need(j);
        if (j->p == j->end) return 0;
        if (*j->p > ' ') return *j->p;
        if (*j->p != ' ' && *j->p != '\n' && *j->p != '\r' && *j->p != '\t') return *j->p;
        j->p++;
    }
}

static bool take(cuzk_pull *j, uint8_t c) {
    if (cuzk_pull_peek(j) != c || j->failed) return false;
    j->p++;
    return true;
}

/* ---- objects and arrays ---- */

static cuzk_status open_frame(cuzk_pull *j, bool array) {
    if (j->failed) return j->failed;
    if (j->depth == CUZK_PULL_DEPTH)
        return cuzk_pull_fail(j, "less deep nesting", "too many levels");
    if (!take(j, array ? '[' : '{'))
        return cuzk_pull_fail(j, array ? "an array" : "an object", NULL);
    j->at[j->depth++] = (cuzk_pull_frame){.array = array};
    return CUZK_OK;
}

cuzk_status cuzk_pull_object(cuzk_pull *j) {
    return open_frame(j, false);
}

cuzk_status cuzk_pull_array(cuzk_pull *j) {
    return open_frame(j, true);
}

/* Past a comma or the closing bracket; *more says which. */
static cuzk_status next_member(cuzk_pull *j, char close, bool *more) {
    cuzk_pull_frame *f = &j->at[j->depth - 1];
    *more = false;
    if (j->failed) return j->failed;
    if (take(j, (uint8_t)close)) {
        j->depth--;
        return CUZK_OK;
    }
    if (f->any && !take(j, ','))
        return cuzk_pull_fail(j, close == ']' ? "`,` or `]`" : "`,` or `}`", NULL);
    if (f->any && f->array) f->index++;
    f->any = true;
    *more = true;
    return CUZK_OK;
}

cuzk_status cuzk_pull_item(cuzk_pull *j, bool *more) {
    return next_member(j, ']', more);
}

cuzk_status cuzk_pull_key(cuzk_pull *j, const char **key) {
    bool more;
    cuzk_pull_frame *f = &j->at[j->depth - 1];
    char name[CUZK_PULL_KEY];
    *key = NULL;
    CUZK_TRY(next_member(j, '}', &more));
    if (!more) return CUZK_OK;
    f->key[0] = '\0';
    CUZK_TRY(cuzk_pull_string(j, name, sizeof name));
    memcpy(f->key, name, sizeof name);
    if (!take(j, ':')) return cuzk_pull_fail(j, "`:`", NULL);
    *key = f->key;
    return CUZK_OK;
}

cuzk_status cuzk_pull_fields(cuzk_pull *j, const char *const *names, unsigned n, uint32_t optional,
                             bool skip_unknown, cuzk_status (*value)(void *ctx, unsigned i),
                             void *ctx) {
    uint32_t seen = 0;
    const char *key;
    char text[CUZK_PULL_KEY + 16];
    CUZK_TRY(cuzk_pull_object(j));
    for (;;) {
        CUZK_TRY(cuzk_pull_key(j, &key));
        if (!key) break;
        unsigned i = 0;
        while (i < n && strcmp(names[i], key) != 0)
            i++;
        if (i == n && skip_unknown) {
            CUZK_TRY(cuzk_pull_skip(j));
            continue;
        }
        if (i == n) return cuzk_pull_fail(j, "a field of this object", "an unknown one");
        if (seen >> i & 1) return cuzk_pull_fail(j, "each field once", "a second one");
        seen |= (uint32_t)1 << i;
        CUZK_TRY(value(ctx, i));
    }
    for (unsigned i = 0; i < n; i++) {
        if ((seen | optional) >> i & 1) continue;
        snprintf(text, sizeof text, "a field `%s`", names[i]);
        return cuzk_pull_fail(j, text, "an object without it");
    }
    return CUZK_OK;
}

/* ---- scalars ---- */

cuzk_status cuzk_pull_u64(cuzk_pull *j, uint64_t max, uint64_t *out) {
    uint64_t v = 0;
    char text[64];
    const int c = cuzk_pull_peek(j);
    const uint8_t *start = j->p, *p = start;
    *out = 0;
    if (j->failed) return j->failed;
    if (c < '0' || c > '9') return cuzk_pull_fail(j, "a whole number", NULL);
    bool over = false;
    for (; p < j->end && *p >= '0' && *p <= '9'; p++)
        over = over || __builtin_mul_overflow(v, 10, &v) ||
               __builtin_add_overflow(v, (uint64_t)(*p - '0'), &v);
    if (p - start > 1 && *start == '0')
        return cuzk_pull_fail(j, "a number", "one with a leading zero");
    if (over || v > max) {
        snprintf(text, sizeof text, "a number up to %llu", (unsigned long long)max);
        return cuzk_pull_fail(j, text, "a greater one");
    }
    j->p = p;
    if (p < j->end && (*p == '.' || *p == 'e' || *p == 'E'))
        return cuzk_pull_fail(j, "a whole number", NULL);
    *out = v;
    return CUZK_OK;
}

/* true, false or null, whole. */
static bool take_word(cuzk_pull *j, const char *word) {
    const size_t n = strlen(word);
    cuzk_pull_peek(j);
    if (j->failed || (size_t)(j->end - j->p) < n || memcmp(j->p, word, n) != 0) return false;
    j->p += n;
    return true;
}

cuzk_status cuzk_pull_null(cuzk_pull *j) {
    return take_word(j, "null") ? CUZK_OK : cuzk_pull_fail(j, "null", NULL);
}

/* 32 numbers with nothing between them but commas, after the bracket; NULL when it is not so. At
 * least TOKEN bytes are readable. */
static const uint8_t *compact32(const uint8_t *p, uint8_t out[32]) {
    for (int i = 0; i < 32; i++) {
        unsigned v = p[0] - (unsigned)'0', d = p[1] - (unsigned)'0';
        if (v > 9) return NULL;
        p++;
        if (d <= 9) {
            if (v == 0) return NULL;
            v = 10 * v + d;
            d = p[1] - (unsigned)'0';
            p++;
            if (d <= 9) {
                v = 10 * v + d;
                p++;
                if (v > 255) return NULL;
            }
        }
        out[i] = (uint8_t)v;
        if (*p++ != (i < 31 ? ',' : ']')) return NULL;
    }
    return p;
}

cuzk_status cuzk_pull_bytes32(cuzk_pull *j, uint8_t out[32]) {
    uint64_t v;
    bool more;
    if (cuzk_pull_peek(j) == '[' && j->end - j->p >= TOKEN) {
        const uint8_t *after = compact32(j->p + 1, out);
        if (after) {
            j->p = after;
            return CUZK_OK;
        }
    }
    CUZK_TRY(cuzk_pull_array(j));
    for (int i = 0;; i++) {
        CUZK_TRY(cuzk_pull_item(j, &more));
        if (!more && i == 32) return CUZK_OK;
        if (!more) return cuzk_pull_fail(j, "32 numbers", "fewer");
        if (i == 32) return cuzk_pull_fail(j, "32 numbers", "more");
        CUZK_TRY(cuzk_pull_u64(j, 255, &v));
        out[i] = (uint8_t)v;
    }
}

static int hex_digit(uint8_t c) {
    if (c >= '0' && c <= '9') return c - '0';
    if (c >= 'a' && c <= 'f') return c - 'a' + 10;
    return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

/* The character after a backslash; \u only of ASCII, which is all that names and numbers need. -1:
 * no such escape. *used: bytes after the backslash. */
static int escape(const uint8_t *p, size_t left, size_t *used) {
    static const char from[] = "\"\\/bfnrt", to[] = "\"\\/\b\f\n\r\t";
    if (left == 0) return -1;
    *used = 1;
    const char *at = *p ? strchr(from, *p) : NULL;
    if (at) return to[at - from];
    if (*p != 'u' || left < 5) return -1;
    int v = 0;
    for (int i = 1; i <= 4; i++) {
        const int d = hex_digit(p[i]);
        if (d < 0) return -1;
        v = v * 16 + d;
    }
    *used = 5;
    return v > 0 && v < 128 ? v : -1;
}

cuzk_status cuzk_pull_string(cuzk_pull *j, char *out, size_t cap) {
    size_t n = 0, used;
    out[0] = '\0';
    if (j->failed) return j->failed;
    if (!take(j, '"')) return cuzk_pull_fail(j, "a string", NULL);
    for (;;) {
        need(j);
        if (j->failed) return j->failed;
        if (j->p == j->end || *j->p < ' ') return cuzk_pull_fail(j, "the end of a string", NULL);
        int c = *j->p;
        if (c == '"') break;
        if (c == '\\') {
            c = escape(j->p + 1, (size_t)(j->end - j->p - 1), &used);
            if (c < 0) return cuzk_pull_fail(j, "an escape of ASCII", NULL);
            j->p += used;
        }
        if (c < ' ' || c == 127) return cuzk_pull_fail(j, "a printable string", NULL);
        if (n + 1 >= cap) return cuzk_pull_fail(j, "a shorter string", "a longer one");
        out[n++] = (char)c;
        j->p++;
    }
    j->p++;
    out[n] = '\0';
    return CUZK_OK;
}

cuzk_status cuzk_pull_raw_string(cuzk_pull *j, const uint8_t **p, size_t *n, uint64_t *off) {
    if (j->failed) return j->failed;
    if (!take(j, '"')) return cuzk_pull_fail(j, "a string", NULL);
    const uint8_t *quote = memchr(j->p, '"', (size_t)(j->end - j->p));
    *p = j->p;
    *off = file_offset(j);
    if (!quote) {
        j->p = j->end;
        return cuzk_pull_fail(j, "the end of a string", NULL);
    }
    *n = (size_t)(quote - j->p);
    const uint8_t *slash = memchr(j->p, '\\', *n);
    if (slash) {
        j->p = slash;
        return cuzk_pull_fail(j, "a string without escapes", NULL);
    }
    j->p = quote + 1;
    return CUZK_OK;
}

cuzk_status cuzk_pull_base64(cuzk_pull *j, size_t max, uint8_t **out, size_t *n) {
    const uint8_t *text = NULL;
    size_t len = 0;
    uint64_t off;
    char limit[48];
    *out = NULL;
    *n = 0;
    CUZK_TRY(cuzk_pull_raw_string(j, &text, &len, &off));
    const uint8_t *after = j->p;
    j->p = text;
    if (len % 4 != 0) return cuzk_pull_fail(j, "base64 of whole groups of four", "another length");
    if (len / 4 > max / 3 + 1) {
        snprintf(limit, sizeof limit, "at most %zu bytes", max);
        return cuzk_pull_fail(j, limit, "more");
    }
    const cuzk_status st = cuzk_alloc((void **)out, len / 4 * 3 + 1, 1);
    if (st != CUZK_OK) {
        j->failed = st;
        return cuzk_err_set(j->err, st, "%s: not enough memory to read it", j->name);
    }
    const size_t good = decode_groups(*out, text, len / 4);
    *n = 3 * good;
    if (good < len / 4) {
        const size_t tail = good + 1 == len / 4 ? decode_last(*out + 3 * good, text + 4 * good) : 0;
        if (tail == 0) {
            j->p = text + 4 * good;
            cuzk_free(*out);
            *out = NULL;
            return cuzk_pull_fail(j, "base64", "something else");
        }
        *n += tail;
    }
    if (*n > max) {
        cuzk_free(*out);
        *out = NULL;
        return cuzk_pull_fail(j, "fewer bytes", "more");
    }
    j->p = after;
    return CUZK_OK;
}

/* Bytes of the escape at a backslash, any that JSON has; 0: none. */
static size_t escape_bytes(const uint8_t *p, size_t left) {
    if (left < 2 || p[1] == '\0') return 0;
    if (strchr("\"\\/bfnrt", p[1])) return 2;
    if (p[1] != 'u' || left < 6) return 0;
    for (int i = 2; i < 6; i++)
        if (hex_digit(p[i]) < 0) return 0;
    return 6;
}

static cuzk_status skip_string(cuzk_pull *j) {
    if (!take(j, '"')) return cuzk_pull_fail(j, "a string", NULL);
    for (;;) {
        need(j);
        if (j->failed) return j->failed;
        if (j->p == j->end || *j->p < ' ') return cuzk_pull_fail(j, "the end of a string", NULL);
        if (*j->p == '"') break;
        const size_t n = *j->p == '\\' ? escape_bytes(j->p, (size_t)(j->end - j->p)) : 1;
        if (n == 0) return cuzk_pull_fail(j, "an escape of JSON", "another");
        j->p += n;
    }
    j->p++;
    return CUZK_OK;
}

static const uint8_t *digits(const uint8_t *p, const uint8_t *end) {
    while (p < end && *p >= '0' && *p <= '9')
        p++;
    return p;
}

/* Past a number in JSON's grammar, or NULL. */
static const uint8_t *number_end(const uint8_t *p, const uint8_t *end) {
    if (p < end && *p == '-') p++;
    const uint8_t *q = digits(p, end);
    if (q == p || (*p == '0' && q - p > 1)) return NULL;
    p = q;
    if (p < end && *p == '.') {
        q = digits(++p, end);
        if (q == p) return NULL;
        p = q;
    }
    if (p < end && (*p == 'e' || *p == 'E')) {
        p++;
        if (p < end && (*p == '+' || *p == '-')) p++;
        q = digits(p, end);
        if (q == p) return NULL;
        p = q;
    }
    return p;
}

/* A number of any form, or a word. */
static cuzk_status skip_scalar(cuzk_pull *j) {
    if (take_word(j, "true") || take_word(j, "false") || take_word(j, "null")) return CUZK_OK;
    if (j->p == j->end || !((*j->p >= '0' && *j->p <= '9') || *j->p == '-'))
        return cuzk_pull_fail(j, "a value", NULL);
    const uint8_t *after = number_end(j->p, j->end);
    if (!after) return cuzk_pull_fail(j, "a number as JSON writes it", "another");
    j->p = after;
    return CUZK_OK;
}

cuzk_status cuzk_pull_skip(cuzk_pull *j) {
    const unsigned outer = j->depth;
    do {
        if (j->depth > outer) { /* inside: the next member, or the end of what is open */
            const bool array = j->at[j->depth - 1].array;
            bool more;
            CUZK_TRY(next_member(j, array ? ']' : '}', &more));
            if (!more) continue;
            if (!array) {
                CUZK_TRY(skip_string(j));
                if (!take(j, ':')) return cuzk_pull_fail(j, "`:`", NULL);
            }
        }
        const int c = cuzk_pull_peek(j);
        if (c == '{' || c == '[')
            CUZK_TRY(open_frame(j, c == '['));
        else if (c == '"')
            CUZK_TRY(skip_string(j));
        else
            CUZK_TRY(skip_scalar(j));
    } while (j->depth > outer);
    return CUZK_OK;
}

cuzk_status cuzk_pull_end(cuzk_pull *j) {
    if (cuzk_pull_peek(j) != 0 || j->p != j->end) return cuzk_pull_fail(j, "nothing more", NULL);
    return j->failed;
}
