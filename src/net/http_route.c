#include "net/http_route.h"

#include <arpa/inet.h>
#include <string.h>
#include <strings.h>

const char *cuzk__http_pairs_get(const cuzk_buf *pairs, const char *name) {
    const char *p = pairs->data;
    if (!p) return NULL;
    const char *end = p + pairs->len;
    while (p < end) {
        const char *value = p + strlen(p) + 1;
        if (!strcmp(p, name)) return value;
        p = value + strlen(value) + 1;
    }
    return NULL;
}

static int nibble(char c) {
    if (c >= '0' && c <= '9') return c - '0';
    if (c >= 'a' && c <= 'f') return c - 'a' + 10;
    if (c >= 'A' && c <= 'F') return c - 'A' + 10;
    return -1;
}

static bool decode(cuzk_buf *out, const char *p, size_t n) {
    for (size_t i = 0; i < n; i++) {
        char c = p[i];
        if (c == '%') {
            if (i + 2 >= n || nibble(p[i + 1]) < 0 || nibble(p[i + 2]) < 0) return false;
            c = (char)(nibble(p[i + 1]) << 4 | nibble(p[i + 2]));
            i += 2;
        }
        if (!c) return false;
        cuzk_buf_append(out, &c, 1);
    }
    cuzk_buf_append(out, "", 1);
    return true;
}

bool cuzk__http_pairs_add(cuzk_buf *pairs, const char *name, size_t name_len, const char *value,
                          size_t value_len) {
    const size_t before = pairs->len;
    if (decode(pairs, name, name_len) && decode(pairs, value, value_len)) return true;
    if (!pairs->failed) pairs->len = before;
    return false;
}

cuzk__http_match cuzk__http_match_path(const char *pattern, const char *path, cuzk_buf *params) {
    bool bad = false;
    params->len = 0;
    while (*pattern && *path) {
        if (*pattern != '{') {
            if (*pattern++ != *path++) return CUZK__HTTP_NO;
            continue;
        }
        const char *name = pattern + 1;
        const size_t name_len = strcspn(name, "}");
        const size_t n = strcspn(path, "/");
        if (!n || name[name_len] != '}') return CUZK__HTTP_NO;
        bad |= !cuzk__http_pairs_add(params, name, name_len, path, n);
        pattern = name + name_len + 1;
        path += n;
    }
    if (*pattern || *path) return CUZK__HTTP_NO;
    return bad ? CUZK__HTTP_BAD : CUZK__HTTP_YES;
}

bool cuzk__http_host_is_own(const char *host, const char *machine) {
    struct in6_addr ip;
    char name[256];
    if (!host) return true; /* HTTP/1.0: no browser */
    const bool six = host[0] == '[';
    const size_t n = strcspn(host + six, six ? "]" : ":");
    if (n >= sizeof name) return false;
    memcpy(name, host + six, n);
    name[n] = '\0';
    if (six) return inet_pton(AF_INET6, name, &ip) == 1;
    if (inet_pton(AF_INET, name, &ip) == 1) return true;
    const size_t m = strlen(machine);
    return !strcasecmp(name, "localhost") ||
           (m && !strncasecmp(name, machine, m) && (name[m] == '\0' || name[m] == '.'));
}

bool cuzk__http_same_origin(const char *origin, const char *host, const char *fetch_site) {
    if (fetch_site && strcasecmp(fetch_site, "same-origin") != 0 &&
        strcasecmp(fetch_site, "none") != 0)
        return false; /* "cross-site", "same-site": another host or port, or what is not known */
    if (!origin) return true;
    if (!host) return false;
    if (!strncasecmp(origin, "http://", 7))
        origin += 7;
    else if (!strncasecmp(origin, "https://", 8))
        origin += 8;
    else
        return false; /* "null" */
    return !strcasecmp(origin, host);
}
