#include "net/grpc_text.h"

#include "net/grpc.h"
#include "net/pb.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

static const char hex[] = "0123456789ABCDEF";

void cuzk__grpc_percent_encode(cuzk_buf *out, const char *text) {
    for (const char *p = text; *p;) {
        size_t plain = 0;
        while (p[plain] >= 0x20 && p[plain] <= 0x7e && p[plain] != '%')
            plain++;
        cuzk_buf_append(out, p, plain);
        p += plain;
        if (!*p) break;
        const uint8_t c = (uint8_t)*p++;
        const char code[3] = {'%', hex[c >> 4], hex[c & 15]};
        cuzk_buf_append(out, code, sizeof code);
    }
}

static int nibble(char c) {
    if (c >= '0' && c <= '9') return c - '0';
    if (c >= 'a' && c <= 'f') return c - 'a' + 10;
    if (c >= 'A' && c <= 'F') return c - 'A' + 10;
    return -1;
}

void cuzk__grpc_percent_decode(char *out, size_t cap, const char *text, size_t n) {
    size_t put = 0;
    for (size_t i = 0; i < n && put + 1 < cap; i++) {
        char c = text[i];
        if (c == '%' && i + 2 < n && nibble(text[i + 1]) >= 0 && nibble(text[i + 2]) >= 0) {
            c = (char)(nibble(text[i + 1]) << 4 | nibble(text[i + 2]));
            i += 2;
        }
        if (c) out[put++] = c;
    }
    if (cap) out[put] = 0;
}

/* ---- timeouts ---- */

static const struct {
    char unit;
    int64_t ns;
} units[] = {{'n', 1},          {'u', 1000},        {'m', 1000000},
             {'S', 1000000000}, {'M', 60000000000}, {'H', 3600000000000}};
enum { UNITS = sizeof units / sizeof units[0] };

bool cuzk__grpc_timeout_parse(const char *text, size_t n, int64_t *ns) {
    int64_t v = 0;
    if (n < 2 || n > 9) return false;
    for (size_t i = 0; i + 1 < n; i++) {
        if (text[i] < '0' || text[i] > '9') return false;
        v = v * 10 + (text[i] - '0');
    }
    for (int i = 0; i < UNITS; i++)
        if (text[n - 1] == units[i].unit) {
            if (__builtin_mul_overflow(v, units[i].ns, ns)) *ns = INT64_MAX;
            return true;
        }
    return false;
}

void cuzk__grpc_timeout_format(char *out, size_t cap, int64_t ns) {
    for (int i = 0; i < UNITS; i++) {
        const int64_t v = ns / units[i].ns + (ns % units[i].ns != 0);
        if (v <= 99999999) {
            snprintf(out, cap, "%lld%c", (long long)v, units[i].unit);
            return;
        }
    }
    snprintf(out, cap, "99999999H");
}

/* ---- base64 ---- */

void cuzk__grpc_base64(cuzk_buf *out, const void *data, size_t n) {
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    const uint8_t *p = data;
    for (size_t i = 0; i < n; i += 3) {
        const size_t left = n - i;
        const uint32_t v = (uint32_t)p[i] << 16 | (left > 1 ? (uint32_t)p[i + 1] << 8 : 0) |
                           (left > 2 ? p[i + 2] : 0);
        const char quad[4] = {digits[v >> 18], digits[v >> 12 & 63], digits[v >> 6 & 63],
                              digits[v & 63]};
        cuzk_buf_append(out, quad, left >= 3 ? 4 : left + 1);
    }
}

static int digit(char c) {
    if (c >= 'A' && c <= 'Z') return c - 'A';
    if (c >= 'a' && c <= 'z') return c - 'a' + 26;
    if (c >= '0' && c <= '9') return c - '0' + 52;
    return c == '+' || c == '-' ? 62 : c == '/' || c == '_' ? 63 : -1;
}

bool cuzk__grpc_unbase64(cuzk_buf *out, const char *text, size_t n) {
    while (n && text[n - 1] == '=')
        n--;
    if (n % 4 == 1) return false;
    uint32_t v = 0;
    for (size_t i = 0; i < n; i++) {
        const int d = digit(text[i]);
        if (d < 0) return false;
        v = v << 6 | (uint32_t)d;
        if (i % 4 == 0) continue;
        /* the first digit of a group completes no byte, each further one does */
        const uint8_t byte = (uint8_t)(v >> (i % 4 == 1 ? 4 : i % 4 == 2 ? 2 : 0));
        cuzk_buf_append(out, &byte, 1);
    }
    return !out->failed;
}

bool cuzk__grpc_content_type(const char *value) {
    static const char name[] = "application/grpc";
    if (strncasecmp(value, name, sizeof name - 1) != 0) return false;
    value += sizeof name - 1;
    if (!strncasecmp(value, "+proto", 6)) value += 6;
    return *value == 0 || *value == ';' || *value == ' ';
}

/* ---- google.rpc.Status ---- */

void cuzk__grpc_retry_details(cuzk_buf *out, int code, const char *message, int64_t retry_ns) {
    cuzk_buf delay = CUZK_BUF_INIT, info = CUZK_BUF_INIT, any = CUZK_BUF_INIT;
    cuzk__pb_put_int(&delay, 1, (uint64_t)(retry_ns / 1000000000));
    cuzk__pb_put_int(&delay, 2, (uint64_t)(retry_ns % 1000000000));
    cuzk__pb_put_bytes(&info, 1, delay.data, delay.len);
    cuzk__pb_put_str(&any, 1, "type.googleapis.com/google.rpc.RetryInfo");
    cuzk__pb_put_bytes(&any, 2, info.data, info.len);
    cuzk__pb_put_int(out, 1, (uint64_t)code);
    cuzk__pb_put_str(out, 2, message);
    cuzk__pb_put_bytes(out, 3, any.data, any.len);
    out->failed |= delay.failed | info.failed | any.failed;
    cuzk_buf_free(&delay);
    cuzk_buf_free(&info);
    cuzk_buf_free(&any);
}

static int64_t duration_ns(const uint8_t *p, size_t n) {
    cuzk_cursor c = cuzk_cursor_init(p, n);
    cuzk__pb_field f;
    int64_t ns = 0;
    while (cuzk__pb_next(&c, &f)) {
        if (f.wire != 0 || f.value > (uint64_t)INT64_MAX / 1000000000 / 2) continue;
        if (f.tag == 1) ns += (int64_t)f.value * 1000000000;
        if (f.tag == 2 && f.value < 1000000000) ns += (int64_t)f.value;
    }
    return ns;
}

/* Of a google.protobuf.Any. */
static int64_t retry_of_any(const uint8_t *p, size_t n) {
    cuzk_cursor c = cuzk_cursor_init(p, n);
    cuzk__pb_field f;
    bool is_retry = false;
    int64_t ns = -1;
    while (cuzk__pb_next(&c, &f)) {
        static const char type[] = "/google.rpc.RetryInfo";
        if (f.tag == 1 && f.wire == 2)
            is_retry = f.len >= sizeof type - 1 &&
                       !memcmp(f.data + f.len - (sizeof type - 1), type, sizeof type - 1);
        if (f.tag != 2 || f.wire != 2) continue;
        cuzk_cursor inner = cuzk_cursor_init(f.data, f.len);
        cuzk__pb_field d;
        while (cuzk__pb_next(&inner, &d))
            if (d.tag == 1 && d.wire == 2) ns = duration_ns(d.data, d.len);
    }
    return is_retry ? ns : -1;
}

int64_t cuzk__grpc_retry_of(const void *details, size_t n) {
    cuzk_cursor c = cuzk_cursor_init(details, n);
    cuzk__pb_field f;
    while (cuzk__pb_next(&c, &f)) {
        if (f.tag != 3 || f.wire != 2) continue;
        const int64_t ns = retry_of_any(f.data, f.len);
        if (ns >= 0) return ns;
    }
    return -1;
}

const char *cuzk_grpc_code_name(int code) {
    static const char *const names[] = {"OK",
                                        "CANCELLED",
                                        "UNKNOWN",
                                        "INVALID_ARGUMENT",
                                        "DEADLINE_EXCEEDED",
                                        "NOT_FOUND",
                                        "ALREADY_EXISTS",
                                        "PERMISSION_DENIED",
                                        "RESOURCE_EXHAUSTED",
                                        "FAILED_PRECONDITION",
                                        "ABORTED",
                                        "OUT_OF_RANGE",
                                        "UNIMPLEMENTED",
                                        "INTERNAL",
                                        "UNAVAILABLE",
                                        "DATA_LOSS",
                                        "UNAUTHENTICATED"};
    return code >= 0 && code <= 16 ? names[code] : "UNKNOWN";
}
