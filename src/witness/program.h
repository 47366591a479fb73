/* A witness plan as tables for a device: what every instance computes, in an order in which it can.
 *
 * A program is a list of steps; the items of a step (instances) do not need one another and are of
 * one kind of work, those of later steps may need them. Poseidon hashes and what follows from them
 * stand in a lane of their own, since they are long and SHA-256 rarely needs them. A work says what
 * every instance of a shape does: SHA-256 on words, a Poseidon hash, and so on, as the shape's
 * filler describes it; a shape without one walks those of its rows that define a wire. Tables are
 * fixed-width and refer to others by index, as those of r1cs/r1cs.h.
 *
 * Free values come first, before any step: value i goes to slot free_slots[i]. Bits must be zero at
 * the beginning. BLS12-381 only. */
#ifndef CUZK_WITNESS_PROGRAM_H
#define CUZK_WITNESS_PROGRAM_H

#include "r1cs/r1cs.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct cuzk_witness_plan cuzk_witness_plan;

typedef enum cuzk_work_kind {
    CUZK_WORK_ROWS,   /* the rows [row0, row0 + n_rows) one after another */
    CUZK_WORK_BITS,   /* the 255 bits of input 0 */
    CUZK_WORK_HASH,   /* all wires of a Poseidon hash of the inputs */
    CUZK_WORK_LEVEL,  /* inputs: node, position's bits, siblings. The picks that put the node among
                         its siblings, then a hash of them; arity 8: before them two bits, nor and
                         and of the lower two position bits */
    CUZK_WORK_SHA256, /* a compression of inputs state (256), message (512); operations op0 .. */
    CUZK_WORK_KINDS
} cuzk_work_kind;

/* Where an item finds a value: what in bits 31-29; CUZK_OPERAND_NOT for the negation of a bit; own
 * values by their number from the item's first, others by the run of ports (bits 27-16) and the
 * place in it (bits 15-0). */
typedef uint32_t cuzk_operand;
enum {
    CUZK_OPERAND_ONE,
    CUZK_OPERAND_OWN_BIT,
    CUZK_OPERAND_OWN_FULL,
    CUZK_OPERAND_PORT_BIT,
    CUZK_OPERAND_PORT_FULL
};
#define CUZK_OPERAND_WHAT 29
#define CUZK_OPERAND_NOT 0x10000000u
#define CUZK_OPERAND_OWN_MOST 0x0fffffffu
#define CUZK_OPERAND_RUN 16
#define CUZK_OPERAND_RUNS_MOST 0xfffu
#define CUZK_OPERAND_PLACE_MOST 0xffffu

/* Partial rounds whose element 0 is u_k = c_k x_k, c_0 = 1, c_(k+1) = c_k^5 / w_0 for a round's
 * sparse matrix w, v: then u_(k+1) = u_k^5 + K_k + sum_b s_b w'_b, and s_b += u_k^5 v'_b for the
 * other elements s_b but for what keys have added to them. A round: w'_b = c_(k+1) w_b and
 * v'_b = v_b / c_k^5 (t - 1 each), K_k, c_k^-1, c_k^-2, c_k^-4, c_k^-5 by which powers of u_k are
 * wires, the key. Behind the last: c_n^-1, and what keys have added to s_b (t - 1). */
#define CUZK_SCALED_ROUND(t) (2 * (t) + 4)
#define CUZK_SCALED_ROUNDS(t, n_partial) ((n_partial)*CUZK_SCALED_ROUND(t) + (t))

typedef struct cuzk_work {
    uint32_t kind;
    uint32_t in0, n_in;         /* inputs */
    uint32_t out_bit, out_full; /* own bits and full values before those that it makes */
    uint32_t n_bits;            /* own bits */
    uint32_t t, n_partial;      /* HASH, LEVEL: width, arity + 1, and partial rounds */
    uint32_t consts;            /* of consts: keys (8 t + n_partial), MDS and pre-sparse matrix (t t
                                   each), sparse ones (2 t - 1 each), as circuit/poseidon.h;
                                   then scaled rounds */
    uint32_t first;             /* of consts: element 0 after the first S-box */
    uint32_t op0;               /* SHA256 */
    uint32_t row0, n_rows;      /* ROWS */
} cuzk_work;

/* One operation of a SHA-256 compression, of CUZK_SHA256_OPS. Round by round in the order in which
 * the circuit allocates: for words 16 to 63 of the schedule the two XORs of sigma0, of sigma1, the
 * sum (34 bits); for each round e (a sum, 35 bits), the two XORs of Sigma1, choice, a (a sum, 35
 * bits), the two XORs of Sigma0, majority; eight sums for the state (35 bits for a and e, else 33).
 * XOR, choice: the bits that mask marks, those of neg inverted. Majority: two wires, majority and b
 * AND c, where mask marks, one (of neg: inverted) where single does. Sums: all bits, or nothing
 * when mask is 0. Rounds 0's sums are the state's own and make no bits. */
typedef struct cuzk_sha256_op {
    uint32_t mask, single, neg;
    uint32_t bit; /* the first, from the item's out_bit */
} cuzk_sha256_op;
enum {
    CUZK_SHA256_SCHEDULE_OPS = 5,
    CUZK_SHA256_ROUND_OPS = 8,
    CUZK_SHA256_FINAL_OPS = 8,
    CUZK_SHA256_OPS =
        48 * CUZK_SHA256_SCHEDULE_OPS + 64 * CUZK_SHA256_ROUND_OPS + CUZK_SHA256_FINAL_OPS
};
#ifdef __CUDACC__
#define CUZK_WORK_INLINE static __host__ __device__ inline
#else
#define CUZK_WORK_INLINE static inline
#endif
/* What operation i is, the bits of a sum included. */
typedef enum cuzk_sha256_what {
    CUZK_SHA256_XOR,
    CUZK_SHA256_MAJ,
    CUZK_SHA256_SUM
} cuzk_sha256_what;
CUZK_WORK_INLINE cuzk_sha256_what cuzk_sha256_op_what(uint32_t i, uint32_t *sum_bits) {
    const uint32_t schedule = 48 * CUZK_SHA256_SCHEDULE_OPS;
    const uint32_t last = CUZK_SHA256_OPS - CUZK_SHA256_FINAL_OPS;
    if (i >= last) {
        *sum_bits = (i - last) % 4 == 0 ? 35 : 33;
        return CUZK_SHA256_SUM;
    }
    *sum_bits = i < schedule ? 34 : 35;
    if (i < schedule) return i % CUZK_SHA256_SCHEDULE_OPS == 4 ? CUZK_SHA256_SUM : CUZK_SHA256_XOR;
    const uint32_t k = (i - schedule) % CUZK_SHA256_ROUND_OPS;
    return k == 7 ? CUZK_SHA256_MAJ : k % 4 == 0 ? CUZK_SHA256_SUM : CUZK_SHA256_XOR;
}

/* Terms [a, b) are A's, [b, c) B's, [c, end) C's but for the wire `to`, which gets A B - C; with
 * CUZK_WORK_IN_A, C; with CUZK_WORK_NEG the negative of that. With CUZK_WORK_DECOMPOSE the low
 * `flags & 255` bits of A go to the bits from `to` on. row: of the shape, for messages. */
typedef struct cuzk_work_row {
    uint32_t a, b, c, end;
    cuzk_operand to;
    uint32_t flags;
    uint32_t row;
} cuzk_work_row;
#define CUZK_WORK_NEG 0x80000000u
#define CUZK_WORK_IN_A 0x40000000u
#define CUZK_WORK_DECOMPOSE 0x20000000u

/* coef times the value, or times the integer that len bits from there on make. */
typedef struct cuzk_work_term {
    cuzk_operand at;
    uint16_t coef; /* of coefs */
    uint16_t len;
} cuzk_work_term;

typedef struct cuzk_work_item {
    uint32_t work;
    uint32_t bit0, full0; /* its own slots */
    uint32_t arg0;        /* of args: where its runs of ports begin */
    uint32_t row0;        /* of the flat system, for messages */
} cuzk_work_item;

/* Items [item0, item0 + n_items), all of one kind. Steps of one lane are done in their order; those
 * of different lanes may run side by side, but for `after`. */
typedef struct cuzk_work_step {
    uint32_t kind;
    uint32_t item0, n_items;
    uint32_t lane;  /* below CUZK_WORK_LANES */
    uint32_t after; /* an earlier step, of the other lane, that must have ended; CUZK_WORK_NO_STEP:
                       none, or one before which this lane has waited already */
    bool awaited;   /* some step's `after` */
} cuzk_work_step;
enum { CUZK_WORK_LANES = 2 };
#define CUZK_WORK_NO_STEP UINT32_MAX

typedef struct cuzk_witness_program {
    uint32_t *free_slots; /* CUZK_SLOT_BIT for bits */
    cuzk_work *works;
    cuzk_operand *inputs;
    cuzk_u256 *consts, *coefs; /* Montgomery form */
    cuzk_sha256_op *ops;
    cuzk_work_row *rows;
    cuzk_work_term *terms;
    cuzk_work_item *items;
    uint32_t *args; /* slots without CUZK_SLOT_BIT */
    cuzk_work_step *steps;
    uint32_t n_free, n_works, n_inputs, n_consts, n_coefs, n_ops, n_rows, n_terms, n_items, n_args,
        n_steps;
    size_t bits_bytes; /* of the witness's bit array, the words that are only read included */
} cuzk_witness_program;

/* USAGE when a shape does not fit these tables, or for another field. Free with
 * cuzk_witness_program_free; the plan may be freed before. */
cuzk_status cuzk_witness_program_new(cuzk_witness_program **out, const cuzk_witness_plan *plan,
                                     cuzk_err *err) CUZK_MUST_CHECK;
void cuzk_witness_program_free(cuzk_witness_program *p);

/* ---- for fillers (cuzk_filler.describe) ---- */

typedef struct cuzk_work_builder cuzk_work_builder;

/* Appends n inputs by column, CUZK_CALL_NOT for a negated bit. */
cuzk_status cuzk_work_add_inputs(cuzk_work_builder *b, cuzk_work *work, const uint32_t *columns,
                                 uint32_t n) CUZK_MUST_CHECK;
/* Appends n inputs that are consecutive own values of the shape, bits or full ones. */
cuzk_status cuzk_work_add_own(cuzk_work_builder *b, cuzk_work *work, bool bits,
                              uint32_t n) CUZK_MUST_CHECK;
/* Appends constants of n_parts arrays; *at: where they are. Equal ones stand in the table once. */
cuzk_status cuzk_work_add_consts(cuzk_work_builder *b, uint32_t *at, const cuzk_u256 *const *from,
                                 const uint32_t *n, uint32_t n_parts) CUZK_MUST_CHECK;
/* Room for CUZK_SHA256_OPS operations; NULL when memory is exhausted. */
cuzk_sha256_op *cuzk_work_add_sha256(cuzk_work_builder *b, cuzk_work *work);

#endif
