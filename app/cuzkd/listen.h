/* Where the daemon listens, and whom it lets in. */
#ifndef CUZK_CUZKD_LISTEN_H
#define CUZK_CUZKD_LISTEN_H

#include "settings.h"

#include "net/net.h"
#include "rpc/rpc.h"

typedef struct cuzkd_listeners {
    cuzk_net_access *tcp, *local; /* NULL: everybody who gets there */
    cuzk_rpc *rpc;
} cuzkd_listeners;

/* Before the loop runs. Every address is logged as it was bound. On failure close it as well. */
cuzk_status cuzkd_listen(cuzkd_listeners *l, const cuzkd_settings *s, cuzk_engine *engine,
                         cuzk_net_loop *loop, const char *version, cuzk_err *err) CUZK_MUST_CHECK;
/* Reads the files of certificates and tokens again; an error leaves them as they were. */
cuzk_status cuzkd_listeners_reload(cuzkd_listeners *l, cuzk_err *err) CUZK_MUST_CHECK;
/* After the loop returned. */
void cuzkd_listeners_close(cuzkd_listeners *l);

#endif
