/* The parts of the HTTP server. MHD is libmicrohttpd's prefix. */
#ifndef CUZK_NET_HTTP_INTERNAL_H
#define CUZK_NET_HTTP_INTERNAL_H

#include "net/access.h"
#include "net/address.h"
#include "net/http.h"
#include "net/http_route.h"
#include "net/pace.h"

#include <microhttpd.h>
#include <pthread.h>
#include <stdatomic.h>

/* One of libmicrohttpd's daemons, with its certificate. */
typedef struct cuzk__http_served {
    struct cuzk__http_served *older;
    struct MHD_Daemon *daemon;
    char *cert, *key, *trust; /* PEM texts, as long as the daemon */
} cuzk__http_served;

/* One address. */
typedef struct cuzk__http_listener {
    struct cuzk__http_listener *next;
    cuzk_http_server *server;
    cuzk__listener at;
    cuzk_net_access *access;
    cuzk__http_served *served; /* the newest takes connections, the others end theirs */
} cuzk__http_listener;

/* One connection, for its clock and its turn to go. All but the atomics under the server's lock. */
typedef struct cuzk__http_conn {
    struct cuzk__http_conn *older, *newer; /* in its list */
    struct cuzk__http_conns *list;
    int fd;
    bool gone;    /* shut down to make room: counts no more */
    bool streams; /* never shut down to make room; the number of streams is limited */
    uint8_t
        from[16]; /* whom it counts for: an IPv4 address, an IPv6 network; zeros: a Unix socket */
    _Atomic int64_t deadline_ns; /* shut down then: headers, answers, idleness */
    cuzk__pace pace;             /* of the body that is coming */
} cuzk__http_conn;

typedef struct cuzk__http_conns {
    cuzk__http_conn *oldest, *newest;
} cuzk__http_conns;

struct cuzk_http_server {
    const cuzk_http_route *routes;
    size_t n_routes;
    cuzk_http_limits limits;
    cuzk__http_listener *listeners;
    _Atomic uint64_t body_bytes;
    _Atomic int64_t pressed_until_ns; /* a body was refused for want of memory not long before */
    _Atomic bool stopping;
    pthread_mutex_t lock; /* of all lists, and of the reaper's sleep */
    pthread_cond_t wake;
    pthread_t reaper;
    bool reaping;
    cuzk__http_conns idle, busy; /* waiting for headers; with a request */
    cuzk__http_conns leaving;    /* those that are gone */
    size_t n_conns;              /* those that are not gone */
    cuzk_http_stream *streams;
    size_t n_streams;
};

typedef struct cuzk__http_header {
    struct cuzk__http_header *next;
    char *name, *value;
} cuzk__http_header;

struct cuzk_http_response {
    struct MHD_Connection *connection;
    cuzk_http_server *server;
    cuzk__http_conn *conn; /* NULL: there was no memory for it */
    cuzk__http_header *headers;
    unsigned status;
    struct MHD_Response *made; /* queued when the handler returns */
    uint64_t len;              /* of its body */
    bool streams;
};

struct cuzk_http_request {
    cuzk__http_listener *listener;
    struct MHD_Connection *connection;
    cuzk__http_conn *conn;
    const cuzk_http_route *route; /* NULL: an error was answered */
    const char *method, *path;
    cuzk_buf params, query;
    uint8_t *body;
    size_t body_len, body_cap;
    uint64_t body_most; /* its length where the client said it, else what the route allows */
    uint64_t discarded;
    bool too_large, no_room, bad_query;
    char peer[96];
};

/* MHD's access handler and its companions (http_request.c). */
enum MHD_Result cuzk__http_access(void *ctx, struct MHD_Connection *connection, const char *url,
                                  const char *method, const char *version, const char *data,
                                  size_t *data_len, void **request);
void cuzk__http_completed(void *ctx, struct MHD_Connection *connection, void **request,
                          enum MHD_RequestTerminationCode code);
/* Queues what was made, with all headers; frees it. (http_response.c) */
enum MHD_Result cuzk__http_send(cuzk_http_response *res);

/* In http_conns.c: a connection of an address (of that family; NULL: none) comes, perhaps in the
 * place of another; goes; has a request or waits for the next. NULL conn is ignored, but by come:
 * NULL, no memory. */
cuzk__http_conn *cuzk__http_conn_come(cuzk_http_server *s, int fd, const struct sockaddr *from);
void cuzk__http_conn_go(cuzk_http_server *s, cuzk__http_conn *c);
void cuzk__http_conn_busy(cuzk_http_server *s, cuzk__http_conn *c, bool busy);
/* Shuts down those that are late or slow. Under the lock. */
void cuzk__http_conns_reap(cuzk_http_server *s);

/* A stream is listed (http_stream.c). */
void cuzk__http_streams_stop(cuzk_http_server *s);

#endif
