/* TLS by OpenSSL, and reading and writing with or without it. Only tls.c sees OpenSSL. */
#ifndef CUZK_NET_TLS_H
#define CUZK_NET_TLS_H

#include "net/net.h"

#include <sys/types.h>

/* Certificates and what to demand of the other side. Thread-safe once made. */
typedef struct cuzk__tls cuzk__tls;

cuzk_status cuzk__tls_server(cuzk__tls **out, const cuzk_net_security *s,
                             cuzk_err *err) CUZK_MUST_CHECK;
/* ca_file NULL: the system's authorities; cert_file may be NULL. */
cuzk_status cuzk__tls_client(cuzk__tls **out, const char *ca_file, const char *cert_file,
                             const char *key_file, cuzk_err *err) CUZK_MUST_CHECK;
void cuzk__tls_free(cuzk__tls *t);

/* A socket with or without TLS. Owns the descriptor. */
typedef struct cuzk__io {
    int fd;
    void *ssl;      /* NULL: plain */
    bool shaking;   /* the handshake is not done */
    uint32_t wants; /* after WAIT: EPOLLIN or EPOLLOUT, what must happen first */
} cuzk__io;

enum { CUZK__IO_END = 0, CUZK__IO_WAIT = -1, CUZK__IO_BROKEN = -2 };

/* tls NULL: plain. host: of a client, the name to verify; NULL for a server. On failure fd stays
 * the caller's. */
cuzk_status cuzk__io_init(cuzk__io *io, int fd, const cuzk__tls *tls, const char *host,
                          cuzk_err *err) CUZK_MUST_CHECK;
void cuzk__io_close(cuzk__io *io);

/* 1 when the handshake is done and HTTP/2 was agreed, WAIT, or BROKEN (err says why). */
int cuzk__io_shake(cuzk__io *io, cuzk_err *err);
/* Bytes moved, END, WAIT or BROKEN. n > 0. */
ssize_t cuzk__io_read(cuzk__io *io, void *buf, size_t n);
ssize_t cuzk__io_write(cuzk__io *io, const void *buf, size_t n);
/* The subject of the other side's certificate, one line; false when it showed none. */
bool cuzk__io_identity(const cuzk__io *io, char *out, size_t cap);

#endif
