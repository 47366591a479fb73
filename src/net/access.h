/* Who may come in: what listeners read of a cuzk_net_access. */
#ifndef CUZK_NET_ACCESS_H
#define CUZK_NET_ACCESS_H

#include "net/tls.h"

/* NULL access: no TLS, everybody. */
const cuzk__tls *cuzk__access_tls(const cuzk_net_access *a);
mode_t cuzk__access_mode(const cuzk_net_access *a);
/* The security it was made of, its strings owned by a; NULL for NULL. */
const cuzk_net_security *cuzk__access_security(const cuzk_net_access *a);

/* Whether the value of an Authorization header ("Bearer …", or NULL) opens the door. The time it
 * takes says nothing about the tokens. */
bool cuzk__access_allows(const cuzk_net_access *a, const char *authorization);

#endif
