#include "rpc/internal.h"

#include <signal.h>

static void *lane_main(void *ctx) {
    cuzk__rpc_lane *lane = ctx;
    pthread_mutex_lock(&lane->lock);
    for (;;) {
        while (!lane->first && !lane->stop)
            pthread_cond_wait(&lane->some, &lane->lock);
        cuzk__rpc_task *t = lane->first;
        if (!t) break;
        lane->first = t->next;
        if (!lane->first) lane->last = &lane->first;
        lane->waiting--;
        pthread_mutex_unlock(&lane->lock);
        t->fn(t);
        pthread_mutex_lock(&lane->lock);
    }
    pthread_mutex_unlock(&lane->lock);
    return NULL;
}

cuzk_status cuzk__rpc_lane_start(cuzk__rpc_lane *lane, unsigned threads, cuzk_err *err) {
    sigset_t all, old;
    const unsigned room = (unsigned)(sizeof lane->threads / sizeof lane->threads[0]);
    pthread_mutex_init(&lane->lock, NULL);
    pthread_cond_init(&lane->some, NULL);
    lane->last = &lane->first;
    lane->started = true;
    if (threads > room) threads = room;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &old);
    while (lane->n_threads < threads &&
           pthread_create(&lane->threads[lane->n_threads], NULL, lane_main, lane) == 0)
        lane->n_threads++;
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    if (lane->n_threads == threads) return CUZK_OK;
    return cuzk_err_set(err, CUZK_STATUS_IO, "cannot start %u threads for the interfaces", threads);
}

void cuzk__rpc_lane_stop(cuzk__rpc_lane *lane) {
    if (!lane->started) return;
    pthread_mutex_lock(&lane->lock);
    lane->stop = true;
    pthread_cond_broadcast(&lane->some);
    pthread_mutex_unlock(&lane->lock);
    for (unsigned i = 0; i < lane->n_threads; i++)
        pthread_join(lane->threads[i], NULL);
    pthread_cond_destroy(&lane->some);
    pthread_mutex_destroy(&lane->lock);
    lane->started = false;
}

void cuzk__rpc_lane_put(cuzk__rpc_lane *lane, cuzk__rpc_task *t) {
    pthread_mutex_lock(&lane->lock);
    t->next = NULL;
    *lane->last = t;
    lane->last = &t->next;
    lane->waiting++;
    pthread_cond_signal(&lane->some);
    pthread_mutex_unlock(&lane->lock);
}

unsigned cuzk__rpc_lane_waiting(cuzk__rpc_lane *lane) {
    pthread_mutex_lock(&lane->lock);
    const unsigned n = lane->waiting;
    pthread_mutex_unlock(&lane->lock);
    return n;
}
