/* DESIGN: libmicrohttpd's own time-out counts from the last byte, so a client that sends one now
 * and then would keep its connection for ever. Each connection has a deadline instead: for its
 * headers, for its answer by its length, for the next request; none while its request is answered.
 * A body has a pace to keep (pace.h). Those that are late or slow are shut down.
 *
 * When there are too many, of one address or in all, a new one takes the place of that which has
 * waited longest for headers, or, when fewer than half wait for them, of the oldest that has a
 * request. So a new one has time until as many others have come as half of those there are: whoever
 * asks at once, a monitor or an operator, is answered, however many others connect. Streams are not
 * shut down but limited to half of all. */
#include "net/http_internal.h"

#include "base/clock.h"
#include "base/mem.h"

#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>

static void put(cuzk__http_conns *list, cuzk__http_conn *c) {
    c->list = list;
    c->newer = NULL;
    c->older = list->newest;
    *(c->older ? &c->older->newer : &list->oldest) = c;
    list->newest = c;
}

static void take(cuzk__http_conn *c) {
    *(c->older ? &c->older->newer : &c->list->oldest) = c->newer;
    *(c->newer ? &c->newer->older : &c->list->newest) = c->older;
}

/* ---- room ---- */

/* One who has a whole IPv6 network counts as one. */
static void read_from(cuzk__http_conn *c, const struct sockaddr *from) {
    if (from && from->sa_family == AF_INET) {
        const struct sockaddr_in *in = (const void *)from;
        memcpy(c->from + 12, &in->sin_addr, 4);
        c->from[0] = 4;
    } else if (from && from->sa_family == AF_INET6) {
        const struct sockaddr_in6 *in6 = (const void *)from;
        memcpy(c->from, &in6->sin6_addr, 8);
        c->from[15] = 6;
    }
}

static bool same(const cuzk__http_conn *a, const uint8_t from[16]) {
    return !from || memcmp(a->from, from, 16) == 0;
}

static size_t count(const cuzk__http_conns *list, const uint8_t from[16]) {
    size_t n = 0;
    for (const cuzk__http_conn *c = list->oldest; c; c = c->newer)
        n += !c->gone && same(c, from);
    return n;
}

static cuzk__http_conn *oldest(const cuzk__http_conns *list, const uint8_t from[16]) {
    cuzk__http_conn *c = list->oldest;
    while (c && (c->gone || c->streams || !same(c, from)))
        c = c->newer;
    return c;
}

/* from NULL: of anyone. A connection leaves its list before MHD closes its socket, so the numbers
 * here are its own. */
static void shut_oldest(cuzk_http_server *s, const uint8_t from[16]) {
    const bool many_wait = count(&s->idle, from) >= count(&s->busy, from);
    cuzk__http_conn *c = oldest(many_wait ? &s->idle : &s->busy, from);
    if (!c) c = oldest(many_wait ? &s->busy : &s->idle, from);
    if (!c) return;
    shutdown(c->fd, SHUT_RDWR);
    c->gone = true;
    s->n_conns--;
    take(c); /* those that are gone are not walked over again */
    put(&s->leaving, c);
}

static void make_room(cuzk_http_server *s, const uint8_t from[16]) {
    static const uint8_t unix_socket[16];
    const size_t most = s->limits.max_per_address;
    if (s->n_conns >= most && memcmp(from, unix_socket, 16) != 0 &&
        count(&s->idle, from) + count(&s->busy, from) >= most)
        shut_oldest(s, from);
    if (s->n_conns >= s->limits.max_connections) shut_oldest(s, NULL);
}

/* ---- come and go ---- */

cuzk__http_conn *cuzk__http_conn_come(cuzk_http_server *s, int fd, const struct sockaddr *from) {
    cuzk__http_conn *c;
    if (cuzk_alloc((void **)&c, 1, sizeof *c) != CUZK_OK) return NULL;
    c->fd = fd;
    atomic_init(&c->deadline_ns, cuzk_now_ns() + (int64_t)s->limits.timeout_s * 1000000000);
    read_from(c, from);
    pthread_mutex_lock(&s->lock);
    make_room(s, c->from);
    put(&s->idle, c);
    s->n_conns++;
    pthread_mutex_unlock(&s->lock);
    return c;
}

void cuzk__http_conn_go(cuzk_http_server *s, cuzk__http_conn *c) {
    if (!c) return;
    pthread_mutex_lock(&s->lock);
    take(c);
    if (!c->gone) s->n_conns--;
    pthread_mutex_unlock(&s->lock);
    cuzk_free(c);
}

void cuzk__http_conn_busy(cuzk_http_server *s, cuzk__http_conn *c, bool busy) {
    if (!c) return;
    pthread_mutex_lock(&s->lock);
    if (!c->gone) {
        take(c);
        put(busy ? &s->busy : &s->idle, c);
    }
    c->streams = false;
    pthread_mutex_unlock(&s->lock);
}

/* ---- late and slow ones ---- */

static void reap(cuzk_http_server *s, cuzk__http_conns *list, int64_t now) {
    const int64_t whole = (int64_t)s->limits.timeout_s * 1000000000;
    const bool pressed = now < atomic_load(&s->pressed_until_ns);
    for (cuzk__http_conn *c = list->oldest; c; c = c->newer)
        if (now >= atomic_load(&c->deadline_ns) ||
            cuzk__pace_is_slow(&c->pace, now, pressed ? whole / 4 : whole,
                               pressed ? CUZK__PACE_PRESSED : CUZK__PACE_FLOOR))
            shutdown(c->fd, SHUT_RDWR);
}

void cuzk__http_conns_reap(cuzk_http_server *s) {
    const int64_t now = cuzk_now_ns();
    reap(s, &s->idle, now);
    reap(s, &s->busy, now);
}
