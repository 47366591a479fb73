/* Who may come in: what listeners read of a cuzk_net_access. */
#ifndef CUZK_NET_ACCESS_H
#define CUZK_NET_ACCESS_H

#include "net/tls.h"

/* NULL access: no TLS, everybody. Any thread. */
bool cuzk__access_has_tls(const cuzk_net_access *a);
/* cuzk__io_init of a server's connection, with the certificate as it is now. */
cuzk_status cuzk__access_io(cuzk__io *io, int fd, cuzk_net_access *a,
                            cuzk_err *err) CUZK_MUST_CHECK;
mode_t cuzk__access_mode(const cuzk_net_access *a);
/* The security it was made of, its strings owned by a; NULL for NULL. */
const cuzk_net_security *cuzk__access_security(const cuzk_net_access *a);

/* Whether the value of an Authorization header ("Bearer …", or NULL) opens the door. The time it
 * takes says nothing about the tokens. */
bool cuzk__access_allows(cuzk_net_access *a, const char *authorization);

#endif
