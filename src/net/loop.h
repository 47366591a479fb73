/* What the rest of this module needs of the loop: descriptors to watch, tasks without allocation,
 * single steps. */
#ifndef CUZK_NET_LOOP_H
#define CUZK_NET_LOOP_H

#include "net/net.h"

#include <sys/epoll.h>

/* A descriptor on the loop. Caller-owned; fn is called with the epoll events that came. Loop thread
 * only, like the functions below. */
typedef struct cuzk__watch {
    int fd;
    uint32_t events; /* asked for now; 0: not watched */
    void (*fn)(void *ctx, uint32_t events);
    void *ctx;
} cuzk__watch;

/* Begins, or changes what is asked for. IO when the system refuses. */
cuzk_status cuzk__loop_watch(cuzk_net_loop *loop, cuzk__watch *w, uint32_t events) CUZK_MUST_CHECK;
/* After this fn is not called again, also not for events already fetched. */
void cuzk__loop_unwatch(cuzk_net_loop *loop, cuzk__watch *w);

/* A posted function whose node is the caller's: cannot fail. A task that is queued already is
 * queued once. Any thread; the node must live until fn has begun. */
typedef struct cuzk__task {
    struct cuzk__task *next;
    void (*fn)(void *ctx);
    void *ctx;
    bool queued;    /* under the loop's lock */
    bool allocated; /* by cuzk_net_post */
} cuzk__task;

void cuzk__loop_post_task(cuzk_net_loop *loop, cuzk__task *t);

/* One round: posted tasks, what descriptors report within timeout_ms (-1: until something happens),
 * and the timers that were due before that. For the loop itself and for tests. */
cuzk_status cuzk__loop_step(cuzk_net_loop *loop, int timeout_ms, cuzk_err *err) CUZK_MUST_CHECK;

#endif
