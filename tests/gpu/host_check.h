/* Of tests that run device code on the host: random numbers and failures. One file a program. */
#ifndef CUZK_TESTS_GPU_HOST_CHECK_H
#define CUZK_TESTS_GPU_HOST_CHECK_H

#include <stdint.h>
#include <stdio.h>

static uint64_t state; /* of the numbers: the seed, at first */
static int failures;

static inline uint64_t next_random() {
    uint64_t z = (state += 0x9e3779b97f4a7c15u);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

/* Counts what is not so, and prints the first ten. */
static inline void expect(bool ok, const char *what) {
    if (ok) return;
    if (failures++ < 10) fprintf(stderr, "wrong: %s\n", what);
}

#endif
