/* Made-up proving keys for tests of a device against the CPU: every base a known multiple of the
 * generator, rows at random, witnesses by pattern. No circuit stands behind them: the five sums of
 * a backend are defined for any rows and values. */
#ifndef CUZK_TESTS_GPU_DEVICE_KEY_H
#define CUZK_TESTS_GPU_DEVICE_KEY_H

#include "backend/backend.h"

typedef struct test_key_shape {
    cuzk_curve_id curve;
    unsigned log2_domain;
    size_t n_full, n_bits;
    cuzk_h_form h_form;
    bool five_bases; /* all bases among five points, so that sums double and vanish */
} test_key_shape;

typedef struct test_key {
    cuzk_proving_key key;
    cuzk_proving_key log_key; /* the same, logarithms in place of points */
    void *owned[48];
    int n_owned;
} test_key;

typedef enum test_pattern {
    TEST_UNIFORM,
    TEST_ZEROS,
    TEST_ONES,
    TEST_MINUS_ONES,
    TEST_EQUAL,
    TEST_WITNESS, /* mostly 0 and 1, some small, few full */
    TEST_PATTERNS
} test_pattern;

typedef struct test_wires {
    cuzk_wires wires;
    void *full, *bits;
} test_wires;

const char *test_pattern_name(test_pattern p);

/* Fail the running test when memory is short. */
void test_key_make(test_key *k, const test_key_shape *shape);
void test_key_free(test_key *k);
void test_wires_make(test_wires *w, const cuzk_proving_key *key, test_pattern p, bool montgomery);
void test_wires_free(test_wires *w);

/* A key on a backend, and a slot of it. */
typedef struct test_device {
    cuzk_backend *backend;
    cuzk_device_key *key;
    cuzk_slot *slot;
} test_device;

void test_device_load(test_device *d, const cuzk_proving_key *key);
void test_device_unload(test_device *d);
void test_device_run(test_device *d, const cuzk_wires *wires, cuzk_groth16_sums *sums,
                     cuzk_sums_stats *stats);

#endif
