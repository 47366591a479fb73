/* Rows of a flat system (a .zkey's section 4, an .r1cs), evaluated by the routine that evaluates
 * compact ones.
 *
 * A flat system has no shapes that repeat. It is cut into ranges of rows; a range becomes a block
 * in the form of r1cs.h (rows, 8-byte terms, a dictionary of its coefficients) in a small buffer
 * that the next range reuses, and is evaluated from there. So a system of any size takes no memory
 * of its own and is read once, in order, from where it is mapped; and as most values of a circuit
 * are 0 or 1, most terms cost no product: the dictionary holds each coefficient as what is to be
 * added for a 1. Kept as a whole, the compact form would take 8 bytes a term and 16 a row for what
 * a proof needs once. */
#ifndef CUZK_R1CS_FLAT_H
#define CUZK_R1CS_FLAT_H

#include "base/cpu.h"
#include "base/status.h"
#include "base/thread.h"
#include "field/field.h"
#include "r1cs/eval.h"

/* ---- A w and B w of a whole system ---- */

/* Coefficients of A and B as a .zkey holds them: n records of 44 bytes at any alignment, u32 matrix
 * (0 A, 1 B), u32 row, u32 wire, value * R^2 mod r (canonical). In any order, a wire may occur
 * several times in a row; rows are below n_rows. */
enum { CUZK_FLAT_RECORD_SIZE = 44 };
typedef struct cuzk_flat_records {
    const cuzk_fr_ops *fr;
    const uint8_t *records;
    size_t n;
    size_t n_rows;
} cuzk_flat_records;

/* a = A w, b = B w, n_rows Montgomery forms each. witness: plain values, 32 bytes each, any
 * alignment. Records in ascending order of rows, as every known tool writes them, are read once;
 * others are sorted first, which takes 4 bytes a record and a row. pool may be NULL. */
cuzk_status cuzk_flat_eval(const cuzk_flat_records *f, const void *witness, cuzk_u256 *a,
                           cuzk_u256 *b, cuzk_cpu_impl impl, cuzk_pool *pool) CUZK_MUST_CHECK;

/* ---- ranges ---- */

typedef enum cuzk_flat_form {
    CUZK_FLAT_R2,    /* coefficients times R^2, as in a .zkey */
    CUZK_FLAT_PLAIN, /* plain, as in an .r1cs */
} cuzk_flat_form;

/* A range that is filled and evaluated again and again. Fill: open a row, put its terms in the
 * order A, B, C, and so on; evaluate when it is full. Used by one thread at a time. */
typedef struct cuzk_flat_range cuzk_flat_range;
enum { CUZK_FLAT_ROWS = 256 }; /* at most in a range */

/* witness as above; it must outlive the range. */
cuzk_status cuzk_flat_range_new(cuzk_flat_range **out, const cuzk_fr_ops *fr, cuzk_flat_form form,
                                const void *witness, cuzk_cpu_impl impl) CUZK_MUST_CHECK;
void cuzk_flat_range_free(cuzk_flat_range *range); /* wipes */

/* Opens the next row. False when the range is full. */
bool cuzk_flat_row(cuzk_flat_range *range);
/* Adds n terms to matrix m (0 A, 1 B, 2 C) of the open row; no term of a later matrix was added
 * before. at: the first record's u32 wire, which the 32-byte coefficient follows; records are
 * `stride` bytes apart. Returns how many fitted; the others go into a row of the next range, whose
 * values are to be added to this one's. */
size_t cuzk_flat_put(cuzk_flat_range *range, unsigned m, const uint8_t *at, size_t stride,
                     size_t n);
/* Values of the rows that are in the range, out[m][0 ..] (NULL: not wanted), Montgomery forms, at
 * most CUZK_FLAT_ROWS; the range is empty afterwards. Returns the number of rows. */
uint32_t cuzk_flat_range_eval(cuzk_flat_range *range, cuzk_u256 *const out[3]);

#endif
