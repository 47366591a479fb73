/* What verbs that talk to a daemon share: where it is, how to be let in, signals, messages. */
#ifndef CUZK_REMOTE_H
#define CUZK_REMOTE_H

#include "base/buf.h"
#include "rpc/client.h"
#include "rpc/rpc.h"

#include <getopt.h>
#include <stdbool.h>

enum {
    CUZK_OPT_ADDR = 1000,
    CUZK_OPT_TOKEN,
    CUZK_OPT_TLS,
    CUZK_OPT_CA,
    CUZK_OPT_CERT,
    CUZK_OPT_KEY,
    CUZK_OPT_JSON,
    CUZK_OPT_HELP,
    CUZK_OPT_OWN, /* a verb's own begin here */
};

/* Rows of a verb's table of options. */
#define CUZK_REMOTE_LONGS                                                                          \
    {"addr", required_argument, NULL, CUZK_OPT_ADDR},                                              \
        {"token-file", required_argument, NULL, CUZK_OPT_TOKEN},                                   \
        {"tls", no_argument, NULL, CUZK_OPT_TLS},                                                  \
        {"tls-ca", required_argument, NULL, CUZK_OPT_CA},                                          \
        {"tls-cert", required_argument, NULL, CUZK_OPT_CERT}, {                                    \
        "tls-key", required_argument, NULL, CUZK_OPT_KEY                                           \
    }
#define CUZK_COMMON_LONGS                                                                          \
    {"json", no_argument, NULL, CUZK_OPT_JSON}, {                                                  \
        "help", no_argument, NULL, CUZK_OPT_HELP                                                   \
    }

extern const char cuzk_remote_help[]; /* the options above, for --help */

typedef struct cuzk_remote {
    const char *verb;
    const char *addr; /* NULL: not given */
    const char *token_file;
    cuzk_grpc_client_options options;
    char token[1024];
    bool json;
    cuzk_rpc_client *client;
} cuzk_remote;

/* Takes one of the options above; false: it is another. */
bool cuzk_remote_option(cuzk_remote *r, int c, const char *value);

/* Whether a daemon is meant: --addr or CUZK_ADDR. */
bool cuzk_remote_wanted(const cuzk_remote *r);

/* Connects to --addr, CUZK_ADDR or the daemon of this machine. SIGINT and SIGTERM end the call that
 * runs from then on. Also again, after a lost connection. */
cuzk_status cuzk_remote_open(cuzk_remote *r, cuzk_err *err) CUZK_MUST_CHECK;
void cuzk_remote_close(cuzk_remote *r);
/* Whether such a signal came. */
bool cuzk_remote_stopped(void);

/* "cuzk VERB: message" with what to do; frees the connection; returns the exit code. */
int cuzk_remote_end(cuzk_remote *r, cuzk_status st, const cuzk_err *err);
/* The same when it may have been CUZK_OK: prints out (may be NULL) on stdout and frees it. */
int cuzk_remote_finish(cuzk_remote *r, cuzk_status st, cuzk_buf *out, const cuzk_err *err);

/* "64.0 GiB" */
void cuzk_remote_put_bytes(cuzk_buf *out, uint64_t bytes);
const char *cuzk_remote_kind_name(cuzk_engine_kind kind);
/* One job as a line for people. */
void cuzk_remote_put_job(cuzk_buf *out, const cuzk_engine_job *job);

#endif
