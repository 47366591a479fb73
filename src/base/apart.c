#include "base/apart.h"

#include "base/mem.h"

#include <pthread.h>
#include <stdbool.h>
#include <sys/mman.h>

enum { PAGE = 4096, GUARD = 1 << 20, DEEP = 2 << 20 };

typedef struct {
    void (*fn)(void *ctx);
    void *ctx;
} call;

/* This thread's stack is one of ours. */
static _Thread_local bool apart;

static void *run(void *arg) {
    const call *c = arg;
    apart = true;
    c->fn(c->ctx);
    return NULL;
}

/* Pages that were never touched hold nothing, and touching them would cost more than wiping. */
static void wipe_touched(char *stack) {
    unsigned char resident[DEEP / PAGE];
    if (mincore(stack, DEEP, resident) != 0) {
        cuzk_wipe(stack, DEEP);
        return;
    }
    for (size_t i = 0; i < sizeof resident; i++) {
        if (resident[i] & 1) cuzk_wipe(stack + i * PAGE, PAGE);
    }
}

static bool start(pthread_t *thread, char *stack, call *c) {
    pthread_attr_t attr;
    if (pthread_attr_init(&attr) != 0) return false;
    bool ok = pthread_attr_setstack(&attr, stack, DEEP) == 0 &&
              pthread_create(thread, &attr, run, c) == 0;
    pthread_attr_destroy(&attr);
    return ok;
}

cuzk_status cuzk_run_apart(void (*fn)(void *ctx), void *ctx) {
    if (apart) {
        fn(ctx);
        return CUZK_OK;
    }
    /* The guard is as wide as the largest frame, so that no frame can step over it. */
    char *area =
        mmap(NULL, GUARD + DEEP, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0);
    if (area == MAP_FAILED) return CUZK_STATUS_NO_MEMORY;
    char *stack = area + GUARD;
    call c = {fn, ctx};
    pthread_t thread;
    bool ok = mprotect(stack, DEEP, PROT_READ | PROT_WRITE) == 0 && start(&thread, stack, &c);
    if (ok) {
        pthread_join(thread, NULL);
        wipe_touched(stack);
    }
    munmap(area, GUARD + DEEP);
    return ok ? CUZK_OK : CUZK_STATUS_NO_MEMORY;
}
