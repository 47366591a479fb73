/* Addresses as text, and sockets for them. */
#ifndef CUZK_NET_ADDRESS_H
#define CUZK_NET_ADDRESS_H

#include "net/net.h"

#include <sys/socket.h>
#include <sys/types.h>

typedef struct cuzk__address {
    bool is_unix;
    char host[CUZK_NET_ADDRESS]; /* or the path; empty: every interface */
    char port[8];
} cuzk__address;

cuzk_status cuzk__address_parse(cuzk__address *out, const char *text,
                                cuzk_err *err) CUZK_MUST_CHECK;

/* A listening socket, non-blocking. */
typedef struct cuzk__listener {
    int fd;
    char text[CUZK_NET_ADDRESS]; /* the address, with the port that was chosen */
    dev_t dev;                   /* of a Unix socket's file; ino 0: TCP */
    ino_t ino;
} cuzk__listener;

/* A name that stands for several addresses gives the first that works. mode: of a Unix socket's
 * file; 0: 0660. */
cuzk_status cuzk__listener_open(cuzk__listener *l, const char *text, mode_t mode,
                                cuzk_err *err) CUZK_MUST_CHECK;
/* Closes the socket unless the fd is -1, and removes a Unix socket's file if it is still this
 * one's. */
void cuzk__listener_close(cuzk__listener *l);

/* A connected socket, non-blocking, within timeout_ns. */
cuzk_status cuzk__address_connect(int *fd, const cuzk__address *a, int64_t timeout_ns,
                                  cuzk_err *err) CUZK_MUST_CHECK;

/* "127.0.0.1:4711", "[::1]:4711". */
void cuzk__address_text(const struct sockaddr_storage *sa, char *out, size_t cap);
/* Of an accepted socket: as above, or "unix:pid=12,uid=1000". */
void cuzk__address_peer(int fd, char *out, size_t cap);

#endif
