/* DESIGN. One mutex, one list of running loops. A loop lives on its caller's stack: it holds the
 * next index (atomic) and the number of helpers inside it (changed under the mutex). A worker takes
 * the oldest loop that still has indices, counts itself in, works until the indices run out, counts
 * itself out. The caller works too, then unlinks the loop and waits until no helper is inside.
 * An index is a chunk of work, so contention on the counter does not matter.
 *
 * Whoever waits looks on for a moment before it sleeps: a small proof is some sixty loops of tens
 * of microseconds each, and to wake a thread takes as long as one of them, far longer on a virtual
 * processor that has nothing else to run. Not where there are more threads than processors: then
 * looking on would keep from work those that are waited for.
 *
 * A caller that is done before its helpers looks on for longer where its own part took long: they
 * are likely to be nearly done too.
 */
#include "base/thread.h"

#include "base/clock.h"
#include "base/cpu.h"
#include "base/mem.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>

enum {
    LOOK_ON_NS = 100 * 1000,
    LOOK_ON_SHARE = 8, /* of a caller's part in a loop ... */
    LOOK_ON_MOST_NS = 2 * 1000 * 1000,
};

typedef struct loop {
    void (*fn)(void *ctx, size_t i);
    void *ctx;
    size_t n;
    atomic_size_t next;
    atomic_uint helpers; /* changed under the pool's mutex */
    struct loop *later;
} loop;

struct cuzk_pool {
    pthread_mutex_t mu;
    pthread_cond_t work; /* a loop was added, or the pool stops */
    pthread_cond_t done; /* a helper left a loop */
    loop *oldest;
    bool stop;
    bool look_on;
    atomic_uint news; /* counts loops added, and the stop */
    unsigned workers;
    pthread_t thread[];
};

static void work_on(loop *l) {
    for (;;) {
        size_t i = atomic_fetch_add_explicit(&l->next, 1, memory_order_relaxed);
        if (i >= l->n) return;
        l->fn(l->ctx, i);
    }
}

static loop *find_work(cuzk_pool *pool) {
    for (loop *l = pool->oldest; l; l = l->later) {
        if (atomic_load_explicit(&l->next, memory_order_relaxed) < l->n) return l;
    }
    return NULL;
}

/* Waits until *word is no longer `is`; false when it still was after that time. */
static bool look_on(const atomic_uint *word, unsigned is, int64_t ns) {
    enum { LOOKS = 64 };
    const int64_t end = cuzk_now_ns() + ns;
    do {
        for (int i = 0; i < LOOKS; i++) {
            if (atomic_load_explicit(word, memory_order_acquire) != is) return true;
#if defined(__x86_64__)
            __builtin_ia32_pause();
#endif
        }
    } while (cuzk_now_ns() < end);
    return false;
}

/* A worker's part in a loop that has indices left. The mutex is held before and after. */
static void help(cuzk_pool *pool, loop *l) {
    l->helpers++;
    pthread_mutex_unlock(&pool->mu);
    work_on(l);
    cuzk_wipe_stack(); /* loop bodies handle secrets; this thread may live on for hours */
    pthread_mutex_lock(&pool->mu);
    if (--l->helpers == 0) pthread_cond_broadcast(&pool->done);
}

static void *worker_main(void *arg) {
    cuzk_pool *pool = arg;
    bool looked = false;
    pthread_mutex_lock(&pool->mu);
    for (;;) {
        loop *l = find_work(pool);
        if (l) {
            help(pool, l);
            looked = false;
        } else if (pool->stop) {
            break;
        } else if (pool->look_on && !looked) {
            const unsigned news = atomic_load(&pool->news);
            pthread_mutex_unlock(&pool->mu);
            (void)look_on(&pool->news, news, LOOK_ON_NS);
            pthread_mutex_lock(&pool->mu);
            looked = true;
        } else {
            pthread_cond_wait(&pool->work, &pool->mu);
            looked = false;
        }
    }
    pthread_mutex_unlock(&pool->mu);
    return NULL;
}

/* As many of n as can be had. Their stacks do not depend on the limit of the shell that started the
 * program, which may be far too small or far too large. */
static void start_workers(cuzk_pool *pool, unsigned n) {
    enum { STACK = 2 << 20 };
    pthread_attr_t attr;
    if (pthread_attr_init(&attr) != 0) return;
    sigset_t all, old;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &old);
    bool ok = pthread_attr_setstacksize(&attr, STACK) == 0;
    while (ok && pool->workers < n) {
        ok = pthread_create(&pool->thread[pool->workers], &attr, worker_main, pool) == 0;
        if (ok) pool->workers++;
    }
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    pthread_attr_destroy(&attr);
}

cuzk_status cuzk_pool_new(cuzk_pool **out, unsigned threads) {
    *out = NULL;
    if (threads == 0) threads = cuzk_cpu_count();
    if (threads > 4096) threads = 4096;
    void *mem;
    CUZK_TRY(cuzk_alloc(&mem, 1, sizeof(cuzk_pool) + (threads - 1) * sizeof(pthread_t)));
    cuzk_pool *pool = mem;
    pthread_mutex_init(&pool->mu, NULL);
    pthread_cond_init(&pool->work, NULL);
    pthread_cond_init(&pool->done, NULL);
    atomic_init(&pool->news, 0);
    pool->look_on = threads <= cuzk_cpu_count();
    start_workers(pool, threads - 1);
    if (pool->workers < threads - 1) {
        cuzk_pool_free(pool);
        return CUZK_STATUS_NO_MEMORY;
    }
    *out = pool;
    return CUZK_OK;
}

/* News are told without the mutex, so that who looks on finds it free. */
static void tell(cuzk_pool *pool) {
    atomic_fetch_add(&pool->news, 1);
    pthread_cond_broadcast(&pool->work);
}

void cuzk_pool_free(cuzk_pool *pool) {
    if (!pool) return;
    pthread_mutex_lock(&pool->mu);
    pool->stop = true;
    pthread_mutex_unlock(&pool->mu);
    tell(pool);
    for (unsigned i = 0; i < pool->workers; i++)
        pthread_join(pool->thread[i], NULL);
    pthread_cond_destroy(&pool->done);
    pthread_cond_destroy(&pool->work);
    pthread_mutex_destroy(&pool->mu);
    cuzk_free(pool);
}

unsigned cuzk_pool_threads(const cuzk_pool *pool) {
    return pool ? pool->workers + 1 : 1;
}

/* Of a loop that no list has any more, on which the caller worked so long. The mutex is held before
 * and after. */
static void wait_for_helpers(cuzk_pool *pool, loop *l, int64_t worked_ns) {
    if (l->helpers && pool->look_on) {
        int64_t ns = worked_ns / LOOK_ON_SHARE;
        unsigned n;
        ns = ns < LOOK_ON_NS ? LOOK_ON_NS : ns > LOOK_ON_MOST_NS ? LOOK_ON_MOST_NS : ns;
        pthread_mutex_unlock(&pool->mu);
        while ((n = atomic_load(&l->helpers)) != 0 && look_on(&l->helpers, n, ns))
            ;
        pthread_mutex_lock(&pool->mu);
    }
    while (l->helpers)
        pthread_cond_wait(&pool->done, &pool->mu);
}

void cuzk_pool_run(cuzk_pool *pool, size_t n, void (*fn)(void *ctx, size_t i), void *ctx) {
    if (!pool || pool->workers == 0 || n <= 1) {
        for (size_t i = 0; i < n; i++)
            fn(ctx, i);
        return;
    }
    loop l = {.fn = fn, .ctx = ctx, .n = n};
    atomic_init(&l.next, 0);
    atomic_init(&l.helpers, 0);
    pthread_mutex_lock(&pool->mu);
    loop **tail = &pool->oldest;
    while (*tail)
        tail = &(*tail)->later;
    *tail = &l;
    pthread_mutex_unlock(&pool->mu);
    tell(pool);
    const int64_t begun = cuzk_now_ns();
    work_on(&l);
    const int64_t worked = cuzk_now_ns() - begun;
    pthread_mutex_lock(&pool->mu);
    loop **link = &pool->oldest;
    while (*link != &l)
        link = &(*link)->later;
    *link = l.later;
    wait_for_helpers(pool, &l, worked);
    pthread_mutex_unlock(&pool->mu);
}

typedef struct {
    void (*fn)(void *ctx, size_t begin, size_t end);
    void *ctx;
    size_t n, pieces;
} ranges;

static void run_range(void *arg, size_t i) {
    const ranges *r = arg;
    size_t q = r->n / r->pieces, rest = r->n % r->pieces;
    size_t begin = i * q + (i < rest ? i : rest);
    r->fn(r->ctx, begin, begin + q + (i < rest));
}

void cuzk_pool_run_ranges(cuzk_pool *pool, size_t n, size_t min_len, unsigned per_thread,
                          void (*fn)(void *ctx, size_t begin, size_t end), void *ctx) {
    if (n == 0) return;
    size_t pieces = (size_t)cuzk_pool_threads(pool) * (per_thread ? per_thread : 1);
    size_t most = min_len ? n / min_len : n;
    if (pieces > most) pieces = most;
    if (pieces == 0) pieces = 1;
    ranges r = {fn, ctx, n, pieces};
    cuzk_pool_run(pool, pieces, run_range, &r);
}
