/* Paths and queries of HTTP requests. Pure. */
#ifndef CUZK_NET_HTTP_ROUTE_H
#define CUZK_NET_HTTP_ROUTE_H

#include "base/buf.h"
#include "net/http.h"

/* A list of names and values, "name NUL value NUL …". */
const char *cuzk__http_pairs_get(const cuzk_buf *pairs, const char *name);
/* Adds a pair of which value is percent-encoded; false when it holds a zero byte or a broken
 * escape. A failed allocation shows in the buffer. */
bool cuzk__http_pairs_add(cuzk_buf *pairs, const char *name, size_t name_len, const char *value,
                          size_t value_len);

typedef enum cuzk__http_match {
    CUZK__HTTP_NO,
    CUZK__HTTP_YES,
    CUZK__HTTP_BAD, /* fits but for a broken escape */
} cuzk__http_match;

/* Whether a path fits a pattern; params takes what stands for {name}. The path is as it came: an
 * encoded slash is part of its segment, and "..", decoded or not, is a segment like any other. */
cuzk__http_match cuzk__http_match_path(const char *pattern, const char *path, cuzk_buf *params);

/* Whether a Host header names this machine: an address, localhost, its name alone or with a domain.
 * A name of somebody else's that leads here is how a page of another site would reach us (DNS
 * rebinding). */
bool cuzk__http_host_is_own(const char *host, const char *machine);

/* Whether a request that changes something may come from the page that sent it: origin (NULL: no
 * page, or a browser that was told to keep it to itself) is of the host itself, and so is what the
 * browser says in Sec-Fetch-Site (NULL: no browser, or an old one; "none": typed by the user). */
bool cuzk__http_same_origin(const char *origin, const char *host, const char *fetch_site);

#endif
