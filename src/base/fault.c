#include "base/fault.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

static pthread_once_t once = PTHREAD_ONCE_INIT;
static char armed[64];
static unsigned long only; /* 0: every time */
static atomic_ulong seen;

static void read_env(void) {
    const char *v = getenv("CUZK_FAULT");
    if (!v || strlen(v) >= sizeof armed) return;
    memcpy(armed, v, strlen(v) + 1);
    char *colon = strchr(armed, ':');
    if (!colon) return;
    *colon = '\0';
    only = strtoul(colon + 1, NULL, 10);
}

bool cuzk_fault(const char *name) {
    pthread_once(&once, read_env);
    if (!armed[0] || strcmp(armed, name) != 0) return false;
    unsigned long k = atomic_fetch_add(&seen, 1) + 1;
    return only == 0 || k == only;
}
