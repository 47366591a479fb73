#include "support.h"

#include "base/apart.h"
#include "base/thread.h"

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/resource.h>

enum { N = 10000 };

typedef struct {
    atomic_int hits[N];
    cuzk_pool *pool;
} counts;

static void hit(void *ctx, size_t i) {
    atomic_fetch_add(&((counts *)ctx)->hits[i], 1);
}

static void hit_range(void *ctx, size_t begin, size_t end) {
    for (size_t i = begin; i < end; i++)
        hit(ctx, i);
}

static void expect_each_once(counts *c, size_t n) {
    for (size_t i = 0; i < N; i++)
        assert_int_equal(atomic_exchange(&c->hits[i], 0), i < n);
}

static counts shared;

static void every_index_runs_once(void **state) {
    (void)state;
    for (unsigned threads = 1; threads <= 7; threads++) {
        cuzk_pool *pool;
        assert_int_equal(cuzk_pool_new(&pool, threads), CUZK_OK);
        assert_int_equal(cuzk_pool_threads(pool), threads);
        for (size_t n = 0; n <= N; n = n * 3 + 1) {
            cuzk_pool_run(pool, n, hit, &shared);
            expect_each_once(&shared, n);
            cuzk_pool_run_ranges(pool, n, 100, 3, hit_range, &shared);
            expect_each_once(&shared, n);
            cuzk_pool_run_ranges(pool, n, 0, 0, hit_range, &shared);
            expect_each_once(&shared, n);
        }
        cuzk_pool_free(pool);
    }
    cuzk_pool_run(NULL, N, hit, &shared);
    expect_each_once(&shared, N);
    assert_int_equal(cuzk_pool_threads(NULL), 1);
    cuzk_pool_free(NULL);
}

static void run_inner(void *ctx, size_t i) {
    counts *c = ctx;
    (void)i;
    cuzk_pool_run(c->pool, N, hit, c);
}

static void loops_nest(void **state) {
    (void)state;
    assert_int_equal(cuzk_pool_new(&shared.pool, 4), CUZK_OK);
    cuzk_pool_run(shared.pool, 8, run_inner, &shared);
    for (size_t i = 0; i < N; i++)
        assert_int_equal(atomic_exchange(&shared.hits[i], 0), 8);
    cuzk_pool_free(shared.pool);
}

static void *caller(void *ctx) {
    counts *c = ctx;
    for (int i = 0; i < 50; i++)
        cuzk_pool_run(c->pool, N, hit, c);
    return NULL;
}

static void many_callers_share_a_pool(void **state) {
    (void)state;
    assert_int_equal(cuzk_pool_new(&shared.pool, 3), CUZK_OK);
    pthread_t t[4];
    for (int i = 0; i < 4; i++)
        assert_int_equal(pthread_create(&t[i], NULL, caller, &shared), 0);
    for (int i = 0; i < 4; i++)
        pthread_join(t[i], NULL);
    for (size_t i = 0; i < N; i++)
        assert_int_equal(atomic_exchange(&shared.hits[i], 0), 200);
    cuzk_pool_free(shared.pool);
}

/* A sanitizer keeps what it knows of a thread at the top of its stack. */
#ifdef CUZK_TEST_SANITIZED
enum { DEEP = 1 << 20 };
#else
enum { DEEP = (2 << 20) - (256 << 10) };
#endif

/* Writes to the end of what the documentation promises. */
static __attribute__((noinline)) void go_deep(void *ctx) {
    volatile unsigned char area[DEEP];
    for (size_t i = 0; i < sizeof area; i += 512)
        area[i] = 1;
    *(bool *)ctx = area[0] == 1;
}

static void apart_has_a_deep_stack(void **state) {
    (void)state;
    bool done = false;
    assert_int_equal(cuzk_run_apart(go_deep, &done), CUZK_OK);
    assert_true(done);
/* Sanitizers want memory of their own for a thread; an emulator does not keep the limit. */
#if !defined(CUZK_TEST_SANITIZED) && !defined(CUZK_TEST_EMULATED)
    /* A limit on memory that leaves no room is an error, and fn is not called. */
    struct rlimit was, lim;
    getrlimit(RLIMIT_AS, &was);
    lim = was;
    lim.rlim_cur = 1 << 20;
    done = false;
    setrlimit(RLIMIT_AS, &lim);
    cuzk_status st = cuzk_run_apart(go_deep, &done);
    setrlimit(RLIMIT_AS, &was);
    assert_int_equal(st, CUZK_STATUS_NO_MEMORY);
    assert_false(done);
#endif
}

typedef struct {
    pthread_t outer, inner;
} where;

static void note_inner(void *ctx) {
    ((where *)ctx)->inner = pthread_self();
}
static void note_outer(void *ctx) {
    ((where *)ctx)->outer = pthread_self();
    assert_int_equal(cuzk_run_apart(note_inner, ctx), CUZK_OK);
}

static void apart_is_not_left_twice(void **state) {
    (void)state;
    where w;
    assert_int_equal(cuzk_run_apart(note_outer, &w), CUZK_OK);
    assert_true(w.outer == w.inner);
    assert_true(w.outer != pthread_self());
    note_outer(&w); /* and not taken for apart afterwards */
    assert_true(w.inner != pthread_self());
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_index_runs_once),     cmocka_unit_test(loops_nest),
        cmocka_unit_test(many_callers_share_a_pool), cmocka_unit_test(apart_has_a_deep_stack),
        cmocka_unit_test(apart_is_not_left_twice),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
