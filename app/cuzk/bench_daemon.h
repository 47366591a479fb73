/* `cuzk bench daemon`: what its files share. */
#ifndef CUZK_BENCH_DAEMON_H
#define CUZK_BENCH_DAEMON_H

#include "remote.h"

/* ---- a daemon of our own ---- */

typedef struct cuzk_load_daemon {
    int pid; /* 0: none */
    char dir[256], addr[300], log[300];
} cuzk_load_daemon;

/* Starts the cuzkd that lies beside this program, in a directory of its own. args: further words of
 * its command line, NULL at the end. BUSY when it does not come up. */
cuzk_status cuzk_load_daemon_start(cuzk_load_daemon *d, char *const *args,
                                   cuzk_err *err) CUZK_MUST_CHECK;
/* Resident bytes; 0: not known. */
uint64_t cuzk_load_daemon_memory(const cuzk_load_daemon *d);
/* Ends it and removes its directory. IO when it did not end well. */
cuzk_status cuzk_load_daemon_stop(cuzk_load_daemon *d, cuzk_err *err);

int cuzk_bench_daemon(int argc, char **argv);

#endif
