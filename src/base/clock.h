/* Time, for figures and progress, never for decisions that a test must repeat. */
#ifndef CUZK_BASE_CLOCK_H
#define CUZK_BASE_CLOCK_H

#include <stdint.h>
#include <time.h>

static inline int64_t cuzk__clock_ns(clockid_t clock) {
    struct timespec t;
    clock_gettime(clock, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

/* Nanoseconds of the monotonic clock. */
static inline int64_t cuzk_now_ns(void) {
    return cuzk__clock_ns(CLOCK_MONOTONIC);
}

/* CPU nanoseconds of this process, all threads. */
static inline int64_t cuzk_cpu_ns(void) {
    return cuzk__clock_ns(CLOCK_PROCESS_CPUTIME_ID);
}

/* CPU nanoseconds of the calling thread. */
static inline int64_t cuzk_thread_cpu_ns(void) {
    return cuzk__clock_ns(CLOCK_THREAD_CPUTIME_ID);
}

#endif
