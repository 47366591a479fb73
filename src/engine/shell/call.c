/* Threads that ask the owner for something and wait. A request outlives a caller that waits no
 * longer, so it has two references. */
#include "state.h"

#include "base/clock.h"
#include "base/mem.h"

#include <stdio.h>
#include <time.h>

cuzk_status cuzk__shell_enter(cuzk_engine *e, cuzk_err *err) {
    pthread_mutex_lock(&e->lock);
    const bool closing = e->closing;
    if (!closing) {
        pthread_mutex_lock(&e->calls_lock);
        e->inside++;
        pthread_mutex_unlock(&e->calls_lock);
    }
    pthread_mutex_unlock(&e->lock);
    return closing ? cuzk_err_set(err, CUZK_STATUS_BUSY, "the engine is stopping") : CUZK_OK;
}

void cuzk__shell_leave(cuzk_engine *e) {
    pthread_mutex_lock(&e->calls_lock);
    if (--e->inside == 0) pthread_cond_broadcast(&e->outside);
    pthread_mutex_unlock(&e->calls_lock);
}

static void drop_note(note *n) {
    cuzk__shell_call_drop((call *)n);
}

cuzk_status cuzk__shell_call_new(cuzk_engine *e, call **out,
                                 void (*handle)(cuzk_engine *e, note *n), cuzk_err *err) {
    call *c;
    if (cuzk_alloc((void **)&c, 1, sizeof *c) != CUZK_OK)
        return cuzk_err_set(err, CUZK_STATUS_NO_MEMORY, "not enough memory for a request");
    c->e = e;
    c->note.handle = handle;
    c->note.drop = drop_note;
    atomic_init(&c->refs, 2);
    pthread_condattr_t attr;
    pthread_condattr_init(&attr);
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    pthread_cond_init(&c->wake, &attr);
    pthread_condattr_destroy(&attr);
    pthread_mutex_lock(&e->calls_lock);
    c->next_all = e->calls;
    if (e->calls) e->calls->prev_all = c;
    e->calls = c;
    pthread_mutex_unlock(&e->calls_lock);
    *out = c;
    return CUZK_OK;
}

void cuzk__shell_call_drop(call *c) {
    if (atomic_fetch_sub(&c->refs, 1) != 1) return;
    pthread_cond_destroy(&c->wake);
    cuzk_free(c);
}

/* Lock held. */
static void unlink_call(cuzk_engine *e, call *c) {
    if (c->next_all) c->next_all->prev_all = c->prev_all;
    if (c->prev_all)
        c->prev_all->next_all = c->next_all;
    else if (e->calls == c)
        e->calls = c->next_all;
    c->next_all = c->prev_all = NULL;
}

cuzk_status cuzk__shell_call_wait(cuzk_engine *e, call *c, int64_t timeout, const char *what,
                                  cuzk_err *err) {
    const int64_t end = timeout > 0 ? cuzk_now_ns() + timeout : INT64_MAX;
    const struct timespec t = {end / 1000000000, end % 1000000000};
    cuzk_status st = CUZK_STATUS_BUSY;
    pthread_mutex_lock(&e->calls_lock);
    while (!c->done && !e->calls_ended && cuzk_now_ns() < end) {
        if (timeout > 0)
            pthread_cond_timedwait(&c->wake, &e->calls_lock, &t);
        else
            pthread_cond_wait(&c->wake, &e->calls_lock);
    }
    unlink_call(e, c);
    c->left = true;
    if (c->done)
        st = c->status == CUZK_OK ? CUZK_OK : cuzk_err_set(err, c->status, "%s", c->err.msg);
    else if (e->calls_ended)
        st = cuzk_err_set(err, CUZK_STATUS_BUSY, "%s: the engine is stopping", what);
    else
        st = cuzk_err_set(err, CUZK_STATUS_BUSY, "%s: not yet after %.1f s", what,
                          (double)timeout * 1e-9);
    pthread_mutex_unlock(&e->calls_lock);
    return st;
}

bool cuzk__shell_answer(cuzk_engine *e, call *c, cuzk_status st, const char *fmt, ...) {
    pthread_mutex_lock(&e->calls_lock);
    const bool waits = !c->left;
    if (!c->done) {
        va_list ap;
        va_start(ap, fmt);
        vsnprintf(c->err.msg, sizeof c->err.msg, fmt, ap);
        va_end(ap);
        c->status = st;
        c->done = true;
        pthread_cond_signal(&c->wake);
    }
    pthread_mutex_unlock(&e->calls_lock);
    cuzk__shell_call_drop(c);
    return waits;
}

/* The owner has stopped, so nobody else will answer. */
void cuzk__shell_calls_end(cuzk_engine *e) {
    pthread_mutex_lock(&e->calls_lock);
    e->calls_ended = true;
    for (call *c = e->calls; c; c = c->next_all)
        pthread_cond_signal(&c->wake);
    while (e->inside > 0)
        pthread_cond_wait(&e->outside, &e->calls_lock);
    pthread_mutex_unlock(&e->calls_lock);
}
