/* The HTTP server: one libmicrohttpd daemon an address, and a thread that closes what is too slow.
 */
#include "net/http_internal.h"

#include "base/clock.h"
#include "base/file.h"
#include "base/mem.h"

#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

static void on_connection(void *ctx, struct MHD_Connection *connection, void **socket_context,
                          enum MHD_ConnectionNotificationCode code) {
    cuzk_http_server *s = ((cuzk__http_listener *)ctx)->server;
    if (code == MHD_CONNECTION_NOTIFY_STARTED) {
        const union MHD_ConnectionInfo *fd =
            MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
        const union MHD_ConnectionInfo *from =
            MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CLIENT_ADDRESS);
        if (fd)
            *socket_context =
                cuzk__http_conn_come(s, fd->connect_fd, from ? from->client_addr : NULL);
    } else {
        cuzk__http_conn_go(s, *socket_context);
        *socket_context = NULL;
    }
}

static void *reap(void *ctx) {
    cuzk_http_server *s = ctx;
    pthread_mutex_lock(&s->lock);
    while (!atomic_load(&s->stopping)) {
        cuzk__http_conns_reap(s);
        const int64_t next = cuzk_now_ns() + 250000000;
        const struct timespec at = {(time_t)(next / 1000000000), (long)(next % 1000000000)};
        pthread_cond_timedwait(&s->wake, &s->lock, &at);
    }
    pthread_mutex_unlock(&s->lock);
    return NULL;
}

static cuzk_status start_reaper(cuzk_http_server *s, cuzk_err *err) {
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    const int failed = pthread_create(&s->reaper, NULL, reap, s);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (failed)
        return cuzk_err_set(err, CUZK_STATUS_NO_MEMORY, "no thread for the HTTP server: %s",
                            strerror(failed));
    s->reaping = true;
    return CUZK_OK;
}

/* ---- life ---- */

/* Other files need descriptors too. */
static void fit_descriptors(cuzk_http_limits *l) {
    struct rlimit files;
    if (getrlimit(RLIMIT_NOFILE, &files) == 0 && files.rlim_cur != RLIM_INFINITY &&
        files.rlim_cur / 16 < l->max_connections)
        l->max_connections = (uint32_t)(files.rlim_cur / 16);
    /* MHD wants a connection a thread */
    if (l->max_connections < l->threads) l->max_connections = l->threads;
}

cuzk_status cuzk_http_server_new(cuzk_http_server **out, const cuzk_http_route *routes, size_t n,
                                 const cuzk_http_limits *limits, cuzk_err *err) {
    cuzk_http_server *s;
    pthread_condattr_t attr;
    *out = NULL;
    CUZK_TRY(cuzk_alloc((void **)&s, 1, sizeof *s));
    s->routes = routes;
    s->n_routes = n;
    if (limits) s->limits = *limits;
    if (!s->limits.body_budget) s->limits.body_budget = 512 << 20;
    if (!s->limits.threads) s->limits.threads = 2;
    if (!s->limits.max_connections) s->limits.max_connections = 1024;
    if (!s->limits.timeout_s) s->limits.timeout_s = 30;
    fit_descriptors(&s->limits);
    if (!s->limits.max_per_address) s->limits.max_per_address = (s->limits.max_connections + 1) / 2;
    pthread_mutex_init(&s->lock, NULL);
    pthread_condattr_init(&attr);
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    pthread_cond_init(&s->wake, &attr);
    pthread_condattr_destroy(&attr);
    const cuzk_status st = start_reaper(s, err);
    if (st == CUZK_OK)
        *out = s;
    else
        cuzk_http_server_free(s);
    return st;
}

static void free_served(cuzk__http_served *d) {
    if (!d) return;
    if (d->daemon) MHD_stop_daemon(d->daemon);
    if (d->key) cuzk_wipe(d->key, strlen(d->key));
    cuzk_free(d->cert);
    cuzk_free(d->key);
    cuzk_free(d->trust);
    cuzk_free(d);
}

static void free_listener(cuzk__http_listener *l) {
    while (l->served) {
        cuzk__http_served *d = l->served;
        l->served = d->older;
        free_served(d);
    }
    cuzk__listener_close(&l->at);
    cuzk_free(l);
}

void cuzk_http_server_free(cuzk_http_server *s) {
    if (!s) return;
    pthread_mutex_lock(&s->lock);
    atomic_store(&s->stopping, true);
    pthread_cond_signal(&s->wake);
    pthread_mutex_unlock(&s->lock);
    if (s->reaping) pthread_join(s->reaper, NULL);
    cuzk__http_streams_stop(s);
    while (s->listeners) {
        cuzk__http_listener *l = s->listeners;
        s->listeners = l->next;
        free_listener(l);
    }
    pthread_cond_destroy(&s->wake);
    pthread_mutex_destroy(&s->lock);
    cuzk_free(s);
}

/* ---- listening ---- */

/* A file as a text; NULL path: NULL. */
static cuzk_status read_text(char **out, const char *path, cuzk_err *err) {
    cuzk_map map;
    *out = NULL;
    if (!path) return CUZK_OK;
    CUZK_TRY(cuzk_map_file(&map, path, err));
    const cuzk_status st = cuzk_alloc((void **)out, map.len + 1, 1);
    if (st == CUZK_OK) memcpy(*out, map.data, map.len);
    cuzk_map_close(&map);
    return st;
}

/* Escapes are resolved by http_route.c, segment by segment. */
static size_t leave_escapes(void *ctx, struct MHD_Connection *connection, char *text) {
    (void)ctx;
    (void)connection;
    return strlen(text);
}

static void no_log(void *ctx, const char *fmt, va_list args) {
    (void)ctx;
    (void)fmt;
    (void)args;
}

/* fd is the daemon's from now on; on failure the caller's. */
static cuzk_status start_daemon(cuzk__http_served *d, cuzk__http_listener *l, int fd,
                                cuzk_err *err) {
    const cuzk_http_limits *limits = &l->server->limits;
    /* beside those that are served, those shut down to make room, which it has not closed yet */
    struct MHD_OptionItem tls[4];
    size_t n = 0;
    unsigned flags = MHD_USE_EPOLL_INTERNAL_THREAD | MHD_ALLOW_SUSPEND_RESUME | MHD_USE_ERROR_LOG;
    if (d->cert) {
        flags |= MHD_USE_TLS;
        tls[n++] = (struct MHD_OptionItem){MHD_OPTION_HTTPS_MEM_CERT, 0, d->cert};
        tls[n++] = (struct MHD_OptionItem){MHD_OPTION_HTTPS_MEM_KEY, 0, d->key};
        if (d->trust) tls[n++] = (struct MHD_OptionItem){MHD_OPTION_HTTPS_MEM_TRUST, 0, d->trust};
    }
    tls[n] = (struct MHD_OptionItem){MHD_OPTION_END, 0, NULL};
    /* its threads take no signals */
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    d->daemon = MHD_start_daemon(
        flags, 0, NULL, NULL, cuzk__http_access, l, MHD_OPTION_EXTERNAL_LOGGER, no_log, NULL,
        MHD_OPTION_LISTEN_SOCKET, fd, MHD_OPTION_THREAD_POOL_SIZE, (unsigned)limits->threads,
        MHD_OPTION_CONNECTION_LIMIT,
        (unsigned)(limits->max_connections + limits->max_connections / 4 + limits->threads),
        MHD_OPTION_CONNECTION_TIMEOUT, (unsigned)limits->timeout_s,
        MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)32768, MHD_OPTION_STRICT_FOR_CLIENT, 1,
        MHD_OPTION_SIGPIPE_HANDLED_BY_APP, 1, MHD_OPTION_UNESCAPE_CALLBACK, leave_escapes, NULL,
        MHD_OPTION_NOTIFY_COMPLETED, cuzk__http_completed, l, MHD_OPTION_NOTIFY_CONNECTION,
        on_connection, l, MHD_OPTION_ARRAY, tls, MHD_OPTION_END);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (!d->daemon)
        return cuzk_err_set(err, CUZK_STATUS_IO, "serving HTTP on %s: %s", l->at.text,
                            d->cert ? "the certificate and key are not usable, or no thread"
                                    : "no thread or no descriptor");
    return CUZK_OK;
}

static cuzk_status serve(cuzk__http_served **out, cuzk__http_listener *l, int fd, cuzk_err *err) {
    const cuzk_net_security *security = cuzk__access_security(l->access);
    cuzk__http_served *d;
    cuzk_status st;
    CUZK_TRY(cuzk_alloc((void **)&d, 1, sizeof *d));
    if (security) {
        CUZK_TRY_GOTO(read_text(&d->cert, security->cert_file, err), out);
        CUZK_TRY_GOTO(read_text(&d->key, security->key_file, err), out);
        CUZK_TRY_GOTO(read_text(&d->trust, security->client_ca_file, err), out);
    }
    CUZK_TRY_GOTO(start_daemon(d, l, fd, err), out);
    *out = d;
    return CUZK_OK;
out:
    free_served(d);
    return st;
}

cuzk_status cuzk_http_server_listen(cuzk_http_server *s, const char *address,
                                    cuzk_net_access *access, char *bound, cuzk_err *err) {
    cuzk__http_listener *l;
    cuzk_status st;
    CUZK_TRY(cuzk_alloc((void **)&l, 1, sizeof *l));
    l->at.fd = -1;
    l->server = s;
    l->access = access;
    CUZK_TRY_GOTO(cuzk__listener_open(&l->at, address, cuzk__access_mode(access), err), out);
    CUZK_TRY_GOTO(serve(&l->served, l, l->at.fd, err), out);
    l->at.fd = -1; /* MHD closes it */
    if (bound) memcpy(bound, l->at.text, sizeof l->at.text);
    l->next = s->listeners;
    s->listeners = l;
    return CUZK_OK;
out:
    free_listener(l);
    return st;
}

/* ---- new certificates ---- */

/* Daemons that serve no connection any more end. */
static void free_idle(cuzk__http_served **at) {
    while (*at) {
        cuzk__http_served *d = *at;
        const union MHD_DaemonInfo *info =
            MHD_get_daemon_info(d->daemon, MHD_DAEMON_INFO_CURRENT_CONNECTIONS);
        if (!info || info->num_connections) {
            at = &d->older;
            continue;
        }
        *at = d->older;
        free_served(d);
    }
}

/* A daemon has its certificate for life: another takes over the socket, and the first one goes on
 * with its connections. */
static cuzk_status renew(cuzk__http_listener *l, cuzk_err *err) {
    const union MHD_DaemonInfo *info =
        MHD_get_daemon_info(l->served->daemon, MHD_DAEMON_INFO_LISTEN_FD);
    cuzk__http_served *d;
    free_idle(&l->served->older);
    const int fd = info ? fcntl(info->listen_fd, F_DUPFD_CLOEXEC, 3) : -1;
    if (fd < 0)
        return cuzk_err_set(err, CUZK_STATUS_IO, "serving HTTP on %s: no descriptor", l->at.text);
    CUZK_TRY(serve(&d, l, fd, err)); /* MHD may have closed fd: it is left, not closed twice */
    const int old = MHD_quiesce_daemon(l->served->daemon);
    if (old >= 0) close(old);
    d->older = l->served;
    l->served = d;
    return CUZK_OK;
}

cuzk_status cuzk_http_server_reload(cuzk_http_server *s, cuzk_err *err) {
    for (cuzk__http_listener *l = s->listeners; l; l = l->next)
        if (cuzk__access_has_tls(l->access)) CUZK_TRY(renew(l, err));
    return CUZK_OK;
}
