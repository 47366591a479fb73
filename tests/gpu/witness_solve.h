/* Witnesses by the CPU, and the programs of their plans, for tests in C++ of what a device does. */
#ifndef CUZK_TESTS_GPU_WITNESS_SOLVE_H
#define CUZK_TESTS_GPU_WITNESS_SOLVE_H

#include "witness/program.h"

typedef struct test_solved {
    void *inside;
    const void *bits, *full; /* of the last witness */
    size_t bits_bytes, full_bytes;
    uint32_t items, steps; /* of the program */
    uint32_t row;          /* open_bit_row: the row that may be at fault */
} test_solved;

/* A circuit by name, its plan with fillers, and the plan's program. False when one fails. */
bool test_solved_open(test_solved *s, cuzk_witness_program **program, const char *circuit);
/* One free value whose row says that it is a bit. */
bool test_solved_open_bit_row(test_solved *s, cuzk_witness_program **program);
void test_solved_close(test_solved *s);
/* frees: plain values, 4 words each. False when they do not fit. */
bool test_solved_solve(test_solved *s, const uint64_t *frees);

#endif
