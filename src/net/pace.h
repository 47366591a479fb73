/* How fast an upload comes, held against a floor window by window: a fast beginning buys no slow
 * end. start and is_slow belong to whoever watches, or to one thread at a time; add is any
 * thread's. */
#ifndef CUZK_NET_PACE_H
#define CUZK_NET_PACE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

enum {
    CUZK__PACE_FLOOR = 65536,   /* bytes a second that every upload must bring */
    CUZK__PACE_PRESSED = 262144 /* the same while others lack the memory that it holds */
};

typedef struct cuzk__pace {
    _Atomic int64_t since_ns; /* of this window; 0: nothing is coming */
    _Atomic uint64_t bytes;   /* in this window */
} cuzk__pace;

static inline void cuzk__pace_start(cuzk__pace *p, int64_t now) {
    atomic_store(&p->bytes, 0);
    atomic_store(&p->since_ns, now);
}

static inline void cuzk__pace_stop(cuzk__pace *p) {
    atomic_store(&p->since_ns, 0);
}

static inline void cuzk__pace_add(cuzk__pace *p, uint64_t bytes) {
    atomic_fetch_add(&p->bytes, bytes);
}

/* True: fewer than floor bytes a second came in the window that began at least window_ns ago.
 * Else, where that window is over, the next one begins. */
static inline bool cuzk__pace_is_slow(cuzk__pace *p, int64_t now, int64_t window_ns,
                                      uint64_t floor) {
    const int64_t since = atomic_load(&p->since_ns), ms = (now - since) / 1000000;
    if (!since || now - since < window_ns) return false;
    if (atomic_load(&p->bytes) < floor * (uint64_t)ms / 1000) return true;
    cuzk__pace_start(p, now);
    return false;
}

#endif
