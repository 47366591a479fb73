/* The event loop, addresses, and who may come in.
 *
 * One thread runs a loop and owns everything that hangs on it: connections, calls, timers. Other
 * threads reach it with cuzk_net_post and with the functions that say "any thread". Nothing that
 * runs on the loop may wait. src/net knows nothing of what it serves. Programs that use it ignore
 * SIGPIPE (cuzk_process_init). */
#ifndef CUZK_NET_NET_H
#define CUZK_NET_NET_H

#include "base/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* ---- loop ---- */

typedef struct cuzk_net_loop cuzk_net_loop;

/* IO when the system gives no more descriptors. */
cuzk_status cuzk_net_loop_new(cuzk_net_loop **out, cuzk_err *err) CUZK_MUST_CHECK;

/* Runs the loop on the calling thread until cuzk_net_loop_stop. */
cuzk_status cuzk_net_loop_run(cuzk_net_loop *loop, cuzk_err *err) CUZK_MUST_CHECK;

/* Runs the loop on a thread of its own (signals blocked); cuzk_net_loop_free joins it. */
cuzk_status cuzk_net_loop_start(cuzk_net_loop *loop, cuzk_err *err) CUZK_MUST_CHECK;

/* The loop returns after the work at hand. Any thread, also a signal handler; may be called before
 * the loop runs, and more than once. */
void cuzk_net_loop_stop(cuzk_net_loop *loop);

/* Stops, joins the loop's own thread, runs what was posted and not run yet, frees. Free the servers
 * on it first (cuzk_grpc_server_free). Not from the loop's thread; NULL is ignored. */
void cuzk_net_loop_free(cuzk_net_loop *loop);

/* fn(ctx) on the loop's thread, soon, in the order of posting. Any thread. What was posted is run
 * once whatever happens, at the latest by cuzk_net_loop_free. NO_MEMORY: fn will not be called. */
cuzk_status cuzk_net_post(cuzk_net_loop *loop, void (*fn)(void *ctx), void *ctx) CUZK_MUST_CHECK;

/* True on the thread that runs the loop. */
bool cuzk_net_on_loop(const cuzk_net_loop *loop);

/* A timer, caller-owned and zeroed before its first use. Loop thread only (or before the loop
 * runs). set: fn(ctx) once when the monotonic clock (base/clock.h) reaches at_ns; a timer that is
 * set already is moved. NO_MEMORY leaves it as it was. clear: also of one that is not set. */
typedef struct cuzk_net_timer {
    int64_t at_ns;
    size_t place; /* in the loop's heap, from 1; 0: not set */
    void (*fn)(void *ctx);
    void *ctx;
} cuzk_net_timer;

cuzk_status cuzk_net_timer_set(cuzk_net_loop *loop, cuzk_net_timer *t, int64_t at_ns,
                               void (*fn)(void *ctx), void *ctx) CUZK_MUST_CHECK;
void cuzk_net_timer_clear(cuzk_net_loop *loop, cuzk_net_timer *t);

/* ---- addresses ----
 * "unix:///run/cuzk/cuzk.sock" (or "unix:path"), "127.0.0.1:9820", "[::1]:9820", "localhost:9820",
 * ":9820" and "0.0.0.0:9820" (every interface). Port 0: the system chooses. */

enum { CUZK_NET_ADDRESS = 160 }; /* bytes of an address as text, with the NUL */

/* Whether text is an address; BAD_INPUT says what is wrong and shows the forms. Resolves nothing.
 */
cuzk_status cuzk_net_address_check(const char *text, cuzk_err *err) CUZK_MUST_CHECK;

/* ---- who may come in ---- */

/* What a listener demands. Paths of PEM files; NULL where not wanted. */
typedef struct cuzk_net_security {
    const char *cert_file;      /* the server's certificate with its chain: TLS */
    const char *key_file;       /* its key; goes with cert_file */
    const char *client_ca_file; /* client certificates are required, signed by these; needs TLS */
    const char *token_file;     /* bearer tokens, one a line ('#' comments); at least one */
    mode_t socket_mode;         /* of a Unix socket; 0: 0660 */
} cuzk_net_security;

/* A security read and checked: certificates loaded, tokens hashed. Reference-free: the listeners
 * that were given it must be gone before it is freed. Any thread may use it. */
typedef struct cuzk_net_access cuzk_net_access;

/* IO and BAD_INPUT name the file. s may be NULL: everybody, without TLS. A token file that others
 * than owner and group may read is refused (BAD_INPUT). */
cuzk_status cuzk_net_access_new(cuzk_net_access **out, const cuzk_net_security *s,
                                cuzk_err *err) CUZK_MUST_CHECK;
/* Reads the same files again: new gRPC connections show the new certificate and are held against
 * the new authorities, every call and request against the new tokens. An error changes nothing.
 * HTTP listeners follow with cuzk_http_server_reload. NULL is ignored. */
cuzk_status cuzk_net_access_reload(cuzk_net_access *a, cuzk_err *err) CUZK_MUST_CHECK;
void cuzk_net_access_free(cuzk_net_access *a);

#endif
