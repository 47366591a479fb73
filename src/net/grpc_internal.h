/* The parts of the gRPC server and how they hang together.
 *
 *   server --- listeners
 *      |  \--- shared (budget, figures; outlives the server while calls do)
 *      +------ connections --- calls (while their stream is open)
 *
 * Everything is the loop thread's but what a comment gives to a lock or makes atomic. */
#ifndef CUZK_NET_GRPC_INTERNAL_H
#define CUZK_NET_GRPC_INTERNAL_H

#include "net/access.h"
#include "net/address.h"
#include "net/grpc.h"
#include "net/grpc_frame.h"
#include "net/loop.h"
#include "net/pace.h"

#include "base/buf.h"

#include <nghttp2/nghttp2.h>
#include <pthread.h>
#include <stdatomic.h>

enum {
    CUZK__SMALL = 65536,         /* messages up to here never wait for the budget */
    CUZK__STREAM_WINDOW = 65535, /* what a stream may send before its message is granted */
    CUZK__GRANTED_WINDOW = 4 << 20,
    CUZK__CONNECTION_WINDOW = 16 << 20,
    CUZK__READ = 65536,
};

/* ---- what calls keep after the server is gone ---- */

typedef struct cuzk__grpc_shared {
    _Atomic unsigned refs;
    cuzk_net_loop *loop;
    cuzk_grpc_server *server; /* NULL once it is freed; loop thread */
    uint64_t budget, max_message, max_send_queue;
    _Atomic uint64_t used; /* of the budget */
    _Atomic bool waiting;  /* somebody waits for it */
    _Atomic bool waking;   /* wake is posted */
    cuzk__task wake;
    _Atomic uint64_t connections, connections_total, connections_refused;
    _Atomic uint64_t calls, calls_total, calls_failed, bytes_in, bytes_out;
} cuzk__grpc_shared;

cuzk__grpc_shared *cuzk__grpc_shared_ref(cuzk__grpc_shared *sh);
void cuzk__grpc_shared_unref(cuzk__grpc_shared *sh);
/* Takes n bytes of the budget, if no more than most are then in use. */
bool cuzk__grpc_budget_take(cuzk__grpc_shared *sh, uint64_t n, uint64_t most);
/* Any thread. */
void cuzk__grpc_budget_give(cuzk__grpc_shared *sh, uint64_t n);

/* ---- a call ---- */

typedef struct cuzk__grpc_out {
    struct cuzk__grpc_out *next;
    size_t len, off;
    uint8_t bytes[];
} cuzk__grpc_out;

typedef struct cuzk__grpc_conn cuzk__grpc_conn;

typedef enum cuzk__grpc_upload {
    CUZK__UPLOAD_NONE,    /* between messages */
    CUZK__UPLOAD_WAITING, /* a large one waits for the budget */
    CUZK__UPLOAD_GRANTED,
    CUZK__UPLOAD_DONE, /* the client has closed its side, or we listen no more */
} cuzk__grpc_upload;

struct cuzk_grpc_call {
    _Atomic unsigned refs;
    cuzk__grpc_shared *shared;
    const cuzk_grpc_method *method;
    int64_t deadline_ns;
    char *peer, *identity;
    cuzk_buf headers; /* name NUL value NUL …; complete before the handler is called */
    void *data;

    /* the answer: under lock */
    pthread_mutex_t lock;
    bool ended;    /* an end was given, by the handler's side or ours; nothing more is taken */
    bool told;     /* task is posted, with a reference */
    bool overflow; /* unsent grew too large, or there was no memory: to be aborted */
    cuzk__grpc_out *out, **out_last;
    size_t unsent;
    int code;
    int64_t retry_ns;
    cuzk_buf message, details; /* encoded */
    cuzk__task task;           /* tells the loop that there is something */

    /* the request: loop thread; body and charged go with drop_request */
    cuzk__grpc_frames frames;
    uint8_t *body; /* a whole message */
    size_t body_len;
    bool have_body, half_closed;
    _Atomic uint64_t charged;
    cuzk__grpc_upload upload;
    size_t unconsumed; /* bytes of the stream's window not given back yet */
    int64_t progress_ns;
    cuzk__pace pace;

    /* loop thread */
    cuzk__grpc_conn *conn;                  /* NULL: the stream is gone */
    cuzk_grpc_call *next, **link;           /* of the connection's calls */
    cuzk_grpc_call *wait_next, **wait_link; /* of those waiting for the budget */
    int32_t stream_id;
    int64_t begun_ns;
    bool begun, headers_too_big, no_memory, responded, trailers;
    cuzk_net_timer timer;
    void (*on_cancel)(void *ctx, cuzk_grpc_call *call);
    void *on_cancel_ctx;
};

/* New, with one reference, for a stream whose headers begin; NULL: no memory. */
cuzk_grpc_call *cuzk__call_new(cuzk__grpc_conn *conn, int32_t stream_id);
/* A header of the request. */
void cuzk__call_header(cuzk_grpc_call *call, const uint8_t *name, size_t name_len,
                       const uint8_t *value, size_t value_len);
/* The headers are complete; bytes of the body; the end of the client's side. */
void cuzk__call_begin(cuzk_grpc_call *call);
void cuzk__call_bytes(cuzk_grpc_call *call, const uint8_t *p, size_t n);
void cuzk__call_half_close(cuzk_grpc_call *call);
/* The stream is gone: cancels when it was not finished; gives the stream's reference back. */
void cuzk__call_stream_closed(cuzk_grpc_call *call);
/* Ends it from our side, calling on_cancel unless an end was accepted before. */
void cuzk__call_abort(cuzk_grpc_call *call, int code, const char *fmt, ...) CUZK_PRINTF(3, 4);
/* The budget has room for the rest of a waiting message. */
void cuzk__call_granted(cuzk_grpc_call *call);
/* Holds the call's clocks against now; the earliest next look into *next. */
void cuzk__call_check(cuzk_grpc_call *call, int64_t now, int64_t *next);
/* An HTTP-level refusal: status alone, without gRPC's trailers. */
void cuzk__call_refuse_http(cuzk_grpc_call *call, const char *status);

/* In grpc_answer.c: moves what was answered into the session. */
void cuzk__call_push(cuzk_grpc_call *call);
void cuzk__call_drop_out(cuzk_grpc_call *call); /* under lock */
void cuzk__call_task(void *ctx);

/* In grpc_upload.c: listens no more; an unfinished message's memory goes. */
void cuzk__upload_stop(cuzk_grpc_call *call);

/* ---- a connection ---- */

/* Connections without a call, in the order in which they got so. */
typedef struct cuzk__grpc_queue {
    cuzk__grpc_conn *oldest, *newest;
} cuzk__grpc_queue;

struct cuzk__grpc_conn {
    cuzk_grpc_server *server;
    cuzk__grpc_conn *next, **link;
    cuzk__grpc_conn *older, *newer; /* in that queue; */
    cuzk__grpc_queue *queue;        /* NULL: there are calls */
    bool used;                      /* a call of it was let in */
    cuzk__io io;
    cuzk__watch watch;
    nghttp2_session *session;
    cuzk_net_access *access;
    cuzk_net_timer timer;
    cuzk_grpc_call *calls;
    uint32_t n_calls;
    char peer[96], identity[256];
    cuzk_buf out; /* frames not written yet, from out_off */
    size_t out_off;
    int64_t born_ns, last_read_ns, blocked_ns, empty_ns, ping_ns; /* blocked, ping: 0: not */
    bool ready;                                                   /* the client's SETTINGS came */
    bool leaving;    /* GOAWAY sent: closed when the last call is gone */
    bool in_session; /* nghttp2 may be calling us */
    bool dead;       /* to be freed when it has done */
    bool lingering;  /* our side is shut; the rest of the client's is read away */
};

/* Adopts an accepted socket. */
void cuzk__conn_new(cuzk_grpc_server *s, int fd, cuzk_net_access *access);
/* Cancels its calls, frees it. */
void cuzk__conn_free(cuzk__grpc_conn *c);
/* Writes what the session has to say; may free the connection. Not while in_session. */
void cuzk__conn_flush(cuzk__grpc_conn *c);
/* GOAWAY; closed when its calls are done. May free it. */
void cuzk__conn_leave(cuzk__grpc_conn *c);
/* Whether it has calls has changed. */
void cuzk__conn_requeue(cuzk__grpc_conn *c);
/* The timer looks again at at_ns or before. */
void cuzk__conn_look_at(cuzk__grpc_conn *c, int64_t at_ns);
/* nghttp2's callbacks, made once a server. */
cuzk_status cuzk__conn_callbacks(nghttp2_session_callbacks **out) CUZK_MUST_CHECK;

/* ---- the server ---- */

typedef struct cuzk__grpc_listener {
    struct cuzk__grpc_listener *next;
    cuzk_grpc_server *server;
    cuzk__listener at;
    cuzk__watch watch;
    cuzk_net_timer pause; /* out of descriptors: looks again later */
    cuzk_net_access *access;
} cuzk__grpc_listener;

typedef struct cuzk__grpc_health cuzk__grpc_health;
typedef struct cuzk__grpc_reflection cuzk__grpc_reflection;

struct cuzk_grpc_server {
    cuzk_net_loop *loop;
    cuzk__grpc_shared *shared;
    cuzk_grpc_limits limits;
    const cuzk_grpc_method **methods; /* sorted by path */
    size_t n_methods;
    nghttp2_session_callbacks *callbacks;
    nghttp2_option *options;
    uint8_t *scratch; /* CUZK__READ bytes */
    cuzk__grpc_listener *listeners;
    cuzk__grpc_conn *conns;
    cuzk__grpc_queue unused, idle; /* without a call now: none was ever let in; the others */
    cuzk_grpc_call *waiters, **waiters_last;
    uint64_t waiting_bytes; /* of the budget, held by waiters */
    bool draining;
    cuzk_net_timer grace;
    void (*drained)(void *ctx);
    void *drained_ctx;
    cuzk__grpc_health *health;
    cuzk__grpc_reflection *reflection;
};

cuzk_status cuzk__grpc_add_methods(cuzk_grpc_server *s, const cuzk_grpc_method *methods, size_t n,
                                   cuzk_err *err) CUZK_MUST_CHECK;
const cuzk_grpc_method *cuzk__grpc_find(const cuzk_grpc_server *s, const char *path);
/* A connection is gone. */
void cuzk__grpc_conn_gone(cuzk_grpc_server *s);
/* Gives the budget to those who wait, in their order. */
void cuzk__grpc_serve_waiters(cuzk_grpc_server *s);

void cuzk__grpc_health_drain(cuzk__grpc_health *h);
void cuzk__grpc_health_free(cuzk__grpc_health *h);
void cuzk__grpc_reflection_free(cuzk__grpc_reflection *r);

#endif
