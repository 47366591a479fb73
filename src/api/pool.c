/* DESIGN. One pool behind one mutex, with a count of holders. Only the forking thread survives a
 * fork: the child's copy of the pool has no workers, and its mutex may be in any state. So the
 * process id is kept beside the pool, and whoever finds another one abandons the copy (its few
 * hundred bytes leak, once per fork) and starts a pool of its own on behalf of all holders. */
#include "api/pool.h"

#include <pthread.h>
#include <unistd.h>

static struct {
    pthread_mutex_t mu;
    cuzk_pool *pool;
    size_t holders;
    pid_t owner;
} shared = {.mu = PTHREAD_MUTEX_INITIALIZER};

/* Under the mutex. */
static cuzk_status ensure(void) {
    if (shared.pool && shared.owner == getpid()) return CUZK_OK;
    CUZK_TRY(cuzk_pool_new(&shared.pool, 0));
    shared.owner = getpid();
    return CUZK_OK;
}

cuzk_status cuzk__shared_pool_get(cuzk_pool **out) {
    pthread_mutex_lock(&shared.mu);
    cuzk_status st = ensure();
    if (st == CUZK_OK) shared.holders++;
    *out = st == CUZK_OK ? shared.pool : NULL;
    pthread_mutex_unlock(&shared.mu);
    return st;
}

cuzk_status cuzk__shared_pool_current(cuzk_pool **out) {
    pthread_mutex_lock(&shared.mu);
    cuzk_status st = ensure();
    *out = st == CUZK_OK ? shared.pool : NULL;
    pthread_mutex_unlock(&shared.mu);
    return st;
}

void cuzk__shared_pool_put(void) {
    pthread_mutex_lock(&shared.mu);
    cuzk_pool *last = NULL;
    if (--shared.holders == 0) {
        if (shared.owner == getpid()) last = shared.pool;
        shared.pool = NULL;
    }
    pthread_mutex_unlock(&shared.mu);
    cuzk_pool_free(last);
}
