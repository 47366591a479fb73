/* DESIGN: level-triggered epoll; an eventfd wakes it for posted work. Timers are a binary heap of
 * pointers whose entries know their place, so that moving and clearing one is O(log n). A watch
 * that goes away while its event waits in the batch at hand is struck from the batch. Timers run
 * after the descriptors that were ready when they became due: what a peer sent in time counts,
 * however long this process was held up since. */
#include "net/loop.h"

#include "base/clock.h"
#include "base/mem.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

enum { BATCH = 128 };

struct cuzk_net_loop {
    int epoll_fd, event_fd;
    cuzk__watch wake;
    _Atomic bool stop;
    _Atomic bool running; /* owner holds the thread that runs it */
    pthread_t owner;
    pthread_t thread; /* to be joined, when own_thread */
    bool own_thread;
    cuzk_err thread_err;

    pthread_mutex_t lock;
    cuzk__task *first, **last; /* posted */

    cuzk_net_timer **heap; /* [1 .. n_timers] */
    size_t n_timers, heap_cap;

    struct epoll_event batch[BATCH];
    int batch_at, batch_n;
};

/* ---- wake-up ---- */

static void poke(cuzk_net_loop *loop) {
    const uint64_t one = 1;
    const int saved = errno;
    /* A full counter means that the loop is about to wake anyway. */
    const ssize_t n = write(loop->event_fd, &one, sizeof one);
    (void)n;
    errno = saved;
}

static void on_poke(void *ctx, uint32_t events) {
    cuzk_net_loop *loop = ctx;
    uint64_t count;
    const ssize_t n = read(loop->event_fd, &count, sizeof count);
    (void)n;
    (void)events;
}

cuzk_status cuzk_net_loop_new(cuzk_net_loop **out, cuzk_err *err) {
    cuzk_status st;
    cuzk_net_loop *loop;
    *out = NULL;
    CUZK_TRY(cuzk_alloc((void **)&loop, 1, sizeof *loop));
    loop->last = &loop->first;
    pthread_mutex_init(&loop->lock, NULL);
    loop->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    loop->event_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (loop->epoll_fd < 0 || loop->event_fd < 0) {
        st = cuzk_err_set(err, CUZK_STATUS_IO, "no descriptors for an event loop: %s",
                          strerror(errno));
        goto out;
    }
    loop->wake = (cuzk__watch){.fd = loop->event_fd, .fn = on_poke, .ctx = loop};
    CUZK_TRY_GOTO(cuzk__loop_watch(loop, &loop->wake, EPOLLIN), out);
    *out = loop;
    return CUZK_OK;
out:
    cuzk_net_loop_free(loop);
    return st;
}

/* ---- descriptors ---- */

cuzk_status cuzk__loop_watch(cuzk_net_loop *loop, cuzk__watch *w, uint32_t events) {
    if (events == w->events) return CUZK_OK;
    struct epoll_event ev = {.events = events, .data.ptr = w};
    const int op = w->events ? EPOLL_CTL_MOD : EPOLL_CTL_ADD;
    if (epoll_ctl(loop->epoll_fd, op, w->fd, &ev) != 0) return CUZK_STATUS_IO;
    w->events = events;
    return CUZK_OK;
}

void cuzk__loop_unwatch(cuzk_net_loop *loop, cuzk__watch *w) {
    if (!w->events) return;
    epoll_ctl(loop->epoll_fd, EPOLL_CTL_DEL, w->fd, NULL);
    w->events = 0;
    for (int i = loop->batch_at; i < loop->batch_n; i++)
        if (loop->batch[i].data.ptr == w) loop->batch[i].data.ptr = NULL;
}

/* ---- posted work ---- */

void cuzk__loop_post_task(cuzk_net_loop *loop, cuzk__task *t) {
    pthread_mutex_lock(&loop->lock);
    const bool was_empty = !loop->first;
    if (!t->queued) {
        t->queued = true;
        t->next = NULL;
        *loop->last = t;
        loop->last = &t->next;
    }
    pthread_mutex_unlock(&loop->lock);
    if (was_empty) poke(loop);
}

cuzk_status cuzk_net_post(cuzk_net_loop *loop, void (*fn)(void *ctx), void *ctx) {
    cuzk__task *t;
    CUZK_TRY(cuzk_alloc((void **)&t, 1, sizeof *t));
    t->fn = fn;
    t->ctx = ctx;
    t->allocated = true;
    cuzk__loop_post_task(loop, t);
    return CUZK_OK;
}

/* What was posted before this call; what that posts in turn waits for the next round, so that tasks
 * cannot keep descriptors from their turn. */
static void run_posted(cuzk_net_loop *loop) {
    pthread_mutex_lock(&loop->lock);
    cuzk__task *t = loop->first;
    loop->first = NULL;
    loop->last = &loop->first;
    pthread_mutex_unlock(&loop->lock);
    while (t) {
        pthread_mutex_lock(&loop->lock);
        cuzk__task *next = t->next;
        void (*fn)(void *) = t->fn;
        void *ctx = t->ctx;
        t->queued = false;
        pthread_mutex_unlock(&loop->lock);
        if (t->allocated) cuzk_free(t);
        fn(ctx);
        t = next;
    }
}

static bool anything_posted(cuzk_net_loop *loop) {
    pthread_mutex_lock(&loop->lock);
    const bool any = loop->first != NULL;
    pthread_mutex_unlock(&loop->lock);
    return any;
}

/* ---- timers ---- */

static void place(cuzk_net_loop *loop, size_t at, cuzk_net_timer *t) {
    loop->heap[at] = t;
    t->place = at;
}

static void sift(cuzk_net_loop *loop, size_t at, cuzk_net_timer *t) {
    while (at > 1 && loop->heap[at / 2]->at_ns > t->at_ns) {
        place(loop, at, loop->heap[at / 2]);
        at /= 2;
    }
    for (;;) {
        size_t child = 2 * at;
        if (child > loop->n_timers) break;
        if (child < loop->n_timers && loop->heap[child + 1]->at_ns < loop->heap[child]->at_ns)
            child++;
        if (loop->heap[child]->at_ns >= t->at_ns) break;
        place(loop, at, loop->heap[child]);
        at = child;
    }
    place(loop, at, t);
}

cuzk_status cuzk_net_timer_set(cuzk_net_loop *loop, cuzk_net_timer *t, int64_t at_ns,
                               void (*fn)(void *ctx), void *ctx) {
    size_t at = t->place;
    if (!at) {
        if (loop->n_timers + 2 > loop->heap_cap) {
            const size_t cap = loop->heap_cap ? 2 * loop->heap_cap : 64;
            CUZK_TRY(cuzk_realloc((void **)&loop->heap, cap, sizeof *loop->heap));
            loop->heap_cap = cap;
        }
        at = ++loop->n_timers;
    }
    t->at_ns = at_ns;
    t->fn = fn;
    t->ctx = ctx;
    sift(loop, at, t);
    return CUZK_OK;
}

void cuzk_net_timer_clear(cuzk_net_loop *loop, cuzk_net_timer *t) {
    const size_t at = t->place;
    if (!at) return;
    t->place = 0;
    cuzk_net_timer *last = loop->heap[loop->n_timers--];
    if (last != t) sift(loop, at, last);
}

/* Those due at a time before the last look at the descriptors. */
static void run_timers(cuzk_net_loop *loop, int64_t now) {
    while (loop->n_timers && loop->heap[1]->at_ns <= now) {
        cuzk_net_timer *t = loop->heap[1];
        cuzk_net_timer_clear(loop, t);
        t->fn(t->ctx);
    }
}

/* How long to sleep, in milliseconds rounded up; at most most (-1: no limit). */
static int sleep_ms(const cuzk_net_loop *loop, int most) {
    if (!loop->n_timers) return most;
    const int64_t left = loop->heap[1]->at_ns - cuzk_now_ns();
    if (left <= 0) return 0;
    const int64_t ms = left / 1000000 + 1;
    if (most >= 0 && ms > most) return most;
    return ms > 3600000 ? 3600000 : (int)ms;
}

/* ---- running ---- */

cuzk_status cuzk__loop_step(cuzk_net_loop *loop, int timeout_ms, cuzk_err *err) {
    run_posted(loop);
    const int wait =
        anything_posted(loop) || atomic_load(&loop->stop) ? 0 : sleep_ms(loop, timeout_ms);
    const int64_t looked = cuzk_now_ns();
    const int n = epoll_wait(loop->epoll_fd, loop->batch, BATCH, wait);
    if (n < 0 && errno != EINTR)
        return cuzk_err_set(err, CUZK_STATUS_IO, "waiting for events: %s", strerror(errno));
    loop->batch_n = n > 0 ? n : 0;
    for (loop->batch_at = 0; loop->batch_at < loop->batch_n; loop->batch_at++) {
        const struct epoll_event ev = loop->batch[loop->batch_at];
        cuzk__watch *w = ev.data.ptr;
        if (w) w->fn(w->ctx, ev.events);
    }
    loop->batch_n = 0;
    run_timers(loop, looked);
    return CUZK_OK;
}

cuzk_status cuzk_net_loop_run(cuzk_net_loop *loop, cuzk_err *err) {
    loop->owner = pthread_self();
    atomic_store(&loop->running, true);
    cuzk_status st = CUZK_OK;
    while (st == CUZK_OK && !atomic_load(&loop->stop))
        st = cuzk__loop_step(loop, -1, err);
    atomic_store(&loop->running, false);
    return st;
}

static void *loop_thread(void *ctx) {
    cuzk_net_loop *loop = ctx;
    const cuzk_status st = cuzk_net_loop_run(loop, &loop->thread_err);
    (void)st; /* kept in thread_err */
    return NULL;
}

cuzk_status cuzk_net_loop_start(cuzk_net_loop *loop, cuzk_err *err) {
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    const int failed = pthread_create(&loop->thread, NULL, loop_thread, loop);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (failed)
        return cuzk_err_set(err, CUZK_STATUS_NO_MEMORY, "no thread for the event loop: %s",
                            strerror(failed));
    loop->own_thread = true;
    return CUZK_OK;
}

void cuzk_net_loop_stop(cuzk_net_loop *loop) {
    atomic_store(&loop->stop, true);
    poke(loop);
}

bool cuzk_net_on_loop(const cuzk_net_loop *loop) {
    return atomic_load(&loop->running) && pthread_equal(loop->owner, pthread_self());
}

void cuzk_net_loop_free(cuzk_net_loop *loop) {
    if (!loop) return;
    if (loop->own_thread) {
        cuzk_net_loop_stop(loop);
        pthread_join(loop->thread, NULL);
    }
    while (anything_posted(loop))
        run_posted(loop);
    if (loop->event_fd >= 0) close(loop->event_fd);
    if (loop->epoll_fd >= 0) close(loop->epoll_fd);
    pthread_mutex_destroy(&loop->lock);
    cuzk_free(loop->heap);
    cuzk_free(loop);
}
