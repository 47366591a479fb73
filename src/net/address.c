/* DESIGN: a Unix socket's file outlives its process, so an old one must be replaced, and one that
 * somebody serves must not. Whether somebody does is asked by connecting. The new socket is bound
 * beside the old name and renamed over it, so that the name always leads to a socket whose mode is
 * right, and two daemons that start at once cannot remove each other's. */
#include "net/address.h"

#include "base/clock.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

static const char forms[] = "\"unix:///path\", \"host:port\", \"[::1]:port\" or \":port\"";

static bool copy(char *out, size_t cap, const char *p, size_t n) {
    if (n >= cap) return false;
    memcpy(out, p, n);
    out[n] = 0;
    return true;
}

static bool port_ok(const char *p) {
    unsigned v = 0;
    if (!*p || strlen(p) > 5) return false;
    for (; *p; p++) {
        if (*p < '0' || *p > '9') return false;
        v = v * 10 + (unsigned)(*p - '0');
    }
    return v <= 65535;
}

static bool parse_unix(cuzk__address *out, const char *path) {
    out->is_unix = true;
    if (!strncmp(path, "//", 2)) path += 2;
    const size_t n = strlen(path);
    /* room for the temporary name too */
    return n && n + 8 < sizeof(((struct sockaddr_un *)0)->sun_path) &&
           copy(out->host, sizeof out->host, path, n);
}

static bool parse_tcp(cuzk__address *out, const char *text) {
    const char *colon = strrchr(text, ':');
    if (!colon || !port_ok(colon + 1)) return false;
    size_t n = (size_t)(colon - text);
    if (text[0] == '[') {
        if (n < 3 || text[n - 1] != ']') return false;
        text++;
        n -= 2;
    } else if (memchr(text, ':', n)) {
        return false; /* an IPv6 address without brackets */
    }
    return copy(out->host, sizeof out->host, text, n) &&
           copy(out->port, sizeof out->port, colon + 1, strlen(colon + 1));
}

cuzk_status cuzk__address_parse(cuzk__address *out, const char *text, cuzk_err *err) {
    memset(out, 0, sizeof *out);
    const bool ok = !strncmp(text, "unix:", 5) ? parse_unix(out, text + 5) : parse_tcp(out, text);
    if (ok) return CUZK_OK;
    return cuzk_err_set(err, CUZK_STATUS_BAD_INPUT, "\"%s\" is no address: expected %s%s", text,
                        forms, out->is_unix ? "; a socket's path has at most 99 bytes" : "");
}

cuzk_status cuzk_net_address_check(const char *text, cuzk_err *err) {
    cuzk__address a;
    return cuzk__address_parse(&a, text, err);
}

/* ---- text ---- */

void cuzk__address_text(const struct sockaddr_storage *sa, char *out, size_t cap) {
    char ip[INET6_ADDRSTRLEN] = "?";
    if (sa->ss_family == AF_INET) {
        struct sockaddr_in in;
        memcpy(&in, sa, sizeof in);
        inet_ntop(AF_INET, &in.sin_addr, ip, sizeof ip);
        snprintf(out, cap, "%s:%u", ip, ntohs(in.sin_port));
    } else if (sa->ss_family == AF_INET6) {
        struct sockaddr_in6 in6;
        memcpy(&in6, sa, sizeof in6);
        inet_ntop(AF_INET6, &in6.sin6_addr, ip, sizeof ip);
        snprintf(out, cap, "[%s]:%u", ip, ntohs(in6.sin6_port));
    } else {
        snprintf(out, cap, "unix");
    }
}

void cuzk__address_peer(int fd, char *out, size_t cap) {
    struct sockaddr_storage sa = {0};
    struct ucred cred;
    socklen_t n = sizeof sa, m = sizeof cred;
    if (getpeername(fd, (struct sockaddr *)&sa, &n) == 0 && sa.ss_family == AF_UNIX) {
        if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &cred, &m) == 0)
            snprintf(out, cap, "unix:pid=%d,uid=%u", (int)cred.pid, (unsigned)cred.uid);
        else
            snprintf(out, cap, "unix");
        return;
    }
    cuzk__address_text(&sa, out, cap);
}

/* ---- Unix sockets ---- */

static void unix_name(struct sockaddr_un *un, const char *path) {
    memset(un, 0, sizeof *un);
    un->sun_family = AF_UNIX;
    snprintf(un->sun_path, sizeof un->sun_path, "%s", path); /* parse_unix checked the length */
}

/* What lies under the name: OK when it may be replaced. */
static cuzk_status may_replace(const struct sockaddr_un *un, cuzk_err *err) {
    struct stat sb;
    if (lstat(un->sun_path, &sb) != 0) return CUZK_OK;
    if (!S_ISSOCK(sb.st_mode))
        return cuzk_err_set(err, CUZK_STATUS_IO, "%s exists and is no socket", un->sun_path);
    const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0) return cuzk_err_set(err, CUZK_STATUS_IO, "no socket: %s", strerror(errno));
    const int failed = connect(fd, (const struct sockaddr *)un, sizeof *un);
    const int why = errno;
    close(fd);
    if (failed && (why == ECONNREFUSED || why == ENOENT)) return CUZK_OK;
    return cuzk_err_set(err, CUZK_STATUS_IO,
                        "%s is in use: another process serves it; stop that one or choose another "
                        "address",
                        un->sun_path);
}

static cuzk_status listen_unix(cuzk__listener *l, const cuzk__address *a, mode_t mode,
                               cuzk_err *err) {
    struct sockaddr_un un, tmp;
    struct stat sb;
    unix_name(&un, a->host);
    CUZK_TRY(may_replace(&un, err));
    char path[sizeof tmp.sun_path];
    snprintf(path, sizeof path, "%s.%x", a->host, (unsigned)getpid() & 0xfffff);
    unix_name(&tmp, path);
    const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0) return cuzk_err_set(err, CUZK_STATUS_IO, "no socket: %s", strerror(errno));
    unlink(path);
    if (bind(fd, (struct sockaddr *)&tmp, sizeof tmp) != 0 || chmod(path, mode) != 0 ||
        stat(path, &sb) != 0 || listen(fd, SOMAXCONN) != 0 || rename(path, a->host) != 0) {
        const int why = errno;
        unlink(path);
        close(fd);
        return cuzk_err_set(err, CUZK_STATUS_IO, "listening on %s: %s", a->host, strerror(why));
    }
    snprintf(l->text, sizeof l->text, "unix://%s", a->host);
    l->dev = sb.st_dev;
    l->ino = sb.st_ino;
    l->fd = fd;
    return CUZK_OK;
}

void cuzk__listener_close(cuzk__listener *l) {
    struct stat sb;
    const char *path = l->text + strlen("unix://");
    if (l->ino && lstat(path, &sb) == 0 && sb.st_dev == l->dev && sb.st_ino == l->ino) unlink(path);
    if (l->fd >= 0) close(l->fd);
    l->fd = -1;
    l->ino = 0;
}

/* ---- TCP ---- */

static cuzk_status resolve(struct addrinfo **out, const cuzk__address *a, int flags,
                           cuzk_err *err) {
    struct addrinfo hints = {.ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM};
    hints.ai_flags = AI_NUMERICSERV | flags;
    const int failed = getaddrinfo(a->host[0] ? a->host : NULL, a->port, &hints, out);
    if (!failed) return CUZK_OK;
    return cuzk_err_set(err, CUZK_STATUS_IO, "the host \"%s\" is not known: %s", a->host,
                        failed == EAI_SYSTEM ? strerror(errno) : gai_strerror(failed));
}

/* -1 and errno, or the socket. */
static int listen_on(const struct addrinfo *ai) {
    const int one = 1, zero = 0;
    const int fd = socket(ai->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0) return -1;
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
    if (ai->ai_family == AF_INET6) setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &zero, sizeof zero);
    if (bind(fd, ai->ai_addr, ai->ai_addrlen) == 0 && listen(fd, SOMAXCONN) == 0) return fd;
    const int why = errno;
    close(fd);
    errno = why;
    return -1;
}

/* ":port" means every interface: the IPv6 wildcard serves IPv4 too, so it is tried first. */
static int listen_any(const struct addrinfo *list, bool wildcard) {
    int fd = -1;
    for (const struct addrinfo *ai = list; wildcard && fd < 0 && ai; ai = ai->ai_next)
        if (ai->ai_family == AF_INET6) fd = listen_on(ai);
    for (const struct addrinfo *ai = list; fd < 0 && ai; ai = ai->ai_next)
        fd = listen_on(ai);
    return fd;
}

cuzk_status cuzk__listener_open(cuzk__listener *l, const char *text, mode_t mode, cuzk_err *err) {
    cuzk__address a;
    struct addrinfo *list = NULL;
    *l = (cuzk__listener){.fd = -1};
    CUZK_TRY(cuzk__address_parse(&a, text, err));
    if (a.is_unix) return listen_unix(l, &a, mode ? mode : 0660, err);
    CUZK_TRY(resolve(&list, &a, AI_PASSIVE, err));
    l->fd = listen_any(list, !a.host[0]);
    const int why = errno;
    freeaddrinfo(list);
    if (l->fd < 0)
        return cuzk_err_set(err, CUZK_STATUS_IO, "listening on %s: %s%s", text, strerror(why),
                            why == EADDRINUSE ? "; another process serves this port" : "");
    struct sockaddr_storage sa = {0};
    socklen_t n = sizeof sa;
    getsockname(l->fd, (struct sockaddr *)&sa, &n);
    cuzk__address_text(&sa, l->text, sizeof l->text);
    return CUZK_OK;
}

/* ---- connecting ---- */

static bool wait_connected(int fd, int64_t until_ns) {
    struct pollfd p = {.fd = fd, .events = POLLOUT};
    for (;;) {
        const int64_t left = until_ns - cuzk_now_ns();
        if (left <= 0) {
            errno = ETIMEDOUT;
            return false;
        }
        const int n = poll(&p, 1, (int)(left / 1000000 + 1 > 60000 ? 60000 : left / 1000000 + 1));
        if (n > 0) break;
        if (n < 0 && errno != EINTR) return false;
    }
    int why = 0;
    socklen_t n = sizeof why;
    if (getsockopt(fd, SOL_SOCKET, SO_ERROR, &why, &n) != 0) return false;
    errno = why;
    return why == 0;
}

static int connect_to(const struct sockaddr *sa, socklen_t n, int64_t until_ns) {
    const int one = 1;
    const int fd = socket(sa->sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0) return -1;
    if (sa->sa_family != AF_UNIX) setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    if (connect(fd, sa, n) == 0 || (errno == EINPROGRESS && wait_connected(fd, until_ns)))
        return fd;
    const int why = errno;
    close(fd);
    errno = why;
    return -1;
}

cuzk_status cuzk__address_connect(int *fd, const cuzk__address *a, int64_t timeout_ns,
                                  cuzk_err *err) {
    const int64_t until = cuzk_now_ns() + timeout_ns;
    struct addrinfo *list = NULL;
    if (a->is_unix) {
        struct sockaddr_un un;
        unix_name(&un, a->host);
        *fd = connect_to((const struct sockaddr *)&un, sizeof un, until);
        if (*fd >= 0) return CUZK_OK;
        return cuzk_err_set(err, CUZK_STATUS_IO,
                            "nobody answers on unix://%s: %s; is the daemon running, and may this "
                            "user reach its socket?",
                            a->host, strerror(errno));
    }
    CUZK_TRY(resolve(&list, a, 0, err));
    *fd = -1;
    int why = ECONNREFUSED;
    for (const struct addrinfo *ai = list; *fd < 0 && ai; ai = ai->ai_next) {
        *fd = connect_to(ai->ai_addr, ai->ai_addrlen, until);
        if (*fd < 0) why = errno;
    }
    freeaddrinfo(list);
    if (*fd >= 0) return CUZK_OK;
    return cuzk_err_set(err, CUZK_STATUS_IO,
                        "nobody answers on %s:%s: %s; is the daemon running there?",
                        a->host[0] ? a->host : "localhost", a->port, strerror(why));
}
