/* Included first by every cmocka test: the headers cmocka needs, and a seeded generator. */
#ifndef CUZK_TESTS_SUPPORT_H
#define CUZK_TESTS_SUPPORT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* xoshiro-free and simple: SplitMix64. Prints its seed once; CUZK_TEST_SEED repeats a run. */
static uint64_t test_rng_state;

static inline void test_rng_start(void) {
    const char *env = getenv("CUZK_TEST_SEED");
    test_rng_state = env ? strtoull(env, NULL, 0) : 0x9e3779b97f4a7c15u;
    fprintf(stderr, "CUZK_TEST_SEED=0x%llx\n", (unsigned long long)test_rng_state);
}

static inline uint64_t test_rng(void) {
    uint64_t z = (test_rng_state += 0x9e3779b97f4a7c15u);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

static inline void test_rng_bytes(void *out, size_t n) {
    uint8_t *p = out;
    for (size_t i = 0; i < n; i++)
        p[i] = (uint8_t)test_rng();
}

#endif
