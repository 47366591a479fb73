/* A rank-1 constraint system in compact form: shapes, instances, coefficient dictionary.
 *
 * A shape is a block of rows over its own columns; an instance places a shape in the flat system:
 * where its rows, its wires and its arguments (ports) are. Circuits that repeat themselves are a
 * few shapes and many instances. A row's terms are stored in the order of the flat system, so
 * that expanding an instance needs no sorting (the columns of a shape are numbered in the order of
 * the wires they stand for, and that order is part of a shape's identity).
 *
 * Every table is fixed-width and refers to others by index, so that the same bytes serve the host,
 * a file and a device.
 *
 * Besides the rows, a shape says how its wires get their values (solve, bit decompositions, free
 * wires), which is what makes one witness routine serve every circuit. */
#ifndef CUZK_R1CS_R1CS_H
#define CUZK_R1CS_R1CS_H

#include "base/buf.h"
#include "base/status.h"
#include "field/field.h"

#include <stdint.h>

/* A wire of the flat system: inputs 0.. (0 is the constant ONE), auxiliary wires with bit 31 set.
 * Numeric order is the flat system's order of terms. */
typedef uint32_t cuzk_wire;
#define CUZK_WIRE_ONE 0u
#define CUZK_WIRE_AUX 0x80000000u

/* Where a wire's value lives: bit 31 set: bit number in the bit array (a wire known to be 0 or
 * 1), else index among the full values. */
#define CUZK_SLOT_BIT 0x80000000u

/* Coefficient ids below CUZK_COEF_FIXED are fixed: id 2k is 2^k and 2k+1 is -2^k. */
#define CUZK_COEF_FIXED 512u
#define CUZK_COEF_POW2(k) (2u * (k))
#define CUZK_COEF_ONE 0u
#define CUZK_COEF_MINUS_ONE 1u
#define CUZK_COEF_TWO 2u
#define CUZK_COEF_MINUS_TWO 3u

/* coef * sum of 2^i * column[col + i], i < len. Runs (len > 1, at most CUZK_RUN_MAX) are over bits
 * with consecutive slots, and the dictionary holds every doubling of coef (see coef_next). */
typedef struct cuzk_r1cs_term {
    uint32_t col;
    uint16_t coef;
    uint16_t len;
} cuzk_r1cs_term;

#define CUZK_RUN_MAX 255u

/* Terms [a, b) are A's, [b, c) B's, [c, next row's a) C's, counted from the shape's term0.
 * solve: the column that this row defines, or 0; with the flags below. */
typedef struct cuzk_r1cs_row {
    uint32_t a, b, c;
    uint32_t solve;
} cuzk_r1cs_row;
#define CUZK_ROW_SMALL 0x80000000u /* every wire a bit, every coefficient ±1 or ±2, no runs */
#define CUZK_ROW_NEG 0x40000000u   /* the solved column stands in C with coefficient -1, not +1 */
#define CUZK_ROW_IN_A 0x20000000u  /* A is the solved column alone, B is ONE: its value is C's */
#define CUZK_ROW_COL 0x1fffffffu

/* Before row `row`: columns col .. col+n-1 (bits) become the low bits of a linear combination,
 * terms [term, term + n_terms) from the shape's term0. */
typedef struct cuzk_r1cs_op {
    uint32_t row;
    uint32_t col;
    uint32_t n;
    uint32_t term;
    uint32_t n_terms;
} cuzk_r1cs_op;

/* Rows [row0, row1) of a shape belong to the step `name index` of the circuit. index 0xffffffff:
 * no index. Scopes nest and are stored outer before inner. */
typedef struct cuzk_r1cs_scope {
    uint32_t row0, row1;
    uint32_t name;
    uint32_t index;
} cuzk_r1cs_scope;

/* A node of the tree of steps above the instances. parent 0xffffffff: none. */
typedef struct cuzk_r1cs_path {
    uint32_t parent;
    uint32_t name;
    uint32_t index;
} cuzk_r1cs_path;
#define CUZK_R1CS_NONE 0xffffffffu
#define CUZK_CALL_NOT 0x40000000u

/* Columns of a shape: [ONE | input ports | own inputs | aux ports | own aux wires]. Offsets
 * (…0) are into the tables of cuzk_r1cs. rows has n_rows + 1 entries, the last closes C. */
typedef struct cuzk_r1cs_shape {
    uint32_t name;
    uint32_t row0, n_rows;
    uint32_t term0, n_terms;
    uint32_t n_port_inputs, n_inputs, n_port_aux, n_aux;
    uint32_t port0, n_ports; /* runs of ports: lengths */
    uint32_t slot0;          /* slots of own inputs, then own aux, from the instance's bases */
    uint32_t n_bits, n_full; /* own slots */
    uint32_t free0, n_free;  /* columns whose values are given from outside */
    uint32_t op0, n_ops;
    uint32_t scope0, n_scopes;
    uint32_t call0, n_params, n_args; /* what the block was called with, see `calls` */
    uint32_t max_terms;               /* longest of A, B, C of a row, runs written out */
    uint32_t nnz[3];
} cuzk_r1cs_shape;

/* One run of ports: `len` consecutive columns stand for consecutive wires with consecutive slots.
 */
typedef struct cuzk_r1cs_port {
    uint32_t len;
    uint32_t bit; /* 1: bits, 0: full values */
} cuzk_r1cs_port;

/* Where an instance's port run begins. */
typedef struct cuzk_r1cs_arg {
    cuzk_wire wire;
    uint32_t slot;
} cuzk_r1cs_arg;

typedef struct cuzk_r1cs_inst {
    uint32_t shape;
    uint32_t row0;
    uint32_t aux0, input0; /* first own wires */
    uint32_t bit0, full0;  /* first own slots; bit0 is a multiple of 64 */
    uint32_t free0;        /* first own free value */
    uint32_t arg0;
    uint32_t path;
    uint32_t zero;
} cuzk_r1cs_inst;

typedef struct cuzk_r1cs {
    const cuzk_fr_ops *fr;
    uint32_t n_rows;   /* without the input rows that Groth16 adds */
    uint32_t n_inputs; /* with ONE */
    uint32_t n_aux;
    uint32_t n_bits; /* slots in the bit array, the gaps between instances counted */
    uint32_t n_full, n_free;
    cuzk_u256 *coefs;    /* Montgomery form */
    uint32_t *coef_next; /* id of twice the coefficient, or CUZK_R1CS_NONE */
    cuzk_r1cs_term *terms;
    cuzk_r1cs_row *rows;
    cuzk_r1cs_op *ops;
    cuzk_r1cs_scope *scopes;
    cuzk_r1cs_path *paths;
    cuzk_r1cs_shape *shapes;
    cuzk_r1cs_port *ports;
    uint32_t *slots;
    uint32_t *frees;
    /* Of shapes that are calls of a gadget: its parameters as words, then its arguments as columns,
     * CUZK_CALL_NOT for a negated one. */
    uint32_t *calls;
    cuzk_r1cs_inst *insts;
    cuzk_r1cs_arg *args;
    char *names;         /* NUL-terminated strings, one after another */
    uint32_t *name_offs; /* where string i begins in names */
    uint32_t n_coefs, n_terms, n_shape_rows, n_ops, n_scopes, n_paths, n_shapes, n_ports, n_slots,
        n_frees, n_calls, n_insts, n_args, n_names_bytes, n_names;
} cuzk_r1cs;

void cuzk_r1cs_free(cuzk_r1cs *r);

/* Bytes of all tables. */
uint64_t cuzk_r1cs_bytes(const cuzk_r1cs *r);

static inline uint32_t cuzk_r1cs_shape_cols(const cuzk_r1cs_shape *s) {
    return 1 + s->n_port_inputs + s->n_inputs + s->n_port_aux + s->n_aux;
}
static inline uint32_t cuzk_r1cs_first_input_col(const cuzk_r1cs_shape *s) {
    return 1 + s->n_port_inputs;
}
static inline uint32_t cuzk_r1cs_first_aux_col(const cuzk_r1cs_shape *s) {
    return 1 + s->n_port_inputs + s->n_inputs + s->n_port_aux;
}

/* The wire (the slot) of every column of an instance; out holds cuzk_r1cs_shape_cols entries.
 * The slot of ONE is undefined. */
void cuzk_r1cs_inst_wires(const cuzk_r1cs *r, const cuzk_r1cs_inst *inst, cuzk_wire *out);
void cuzk_r1cs_inst_slots(const cuzk_r1cs *r, const cuzk_r1cs_inst *inst, uint32_t *out);

/* Whether a column other than ONE (col < cuzk_r1cs_shape_cols) holds a bit. */
bool cuzk_r1cs_col_is_bit(const cuzk_r1cs *r, const cuzk_r1cs_shape *s, uint32_t col);

/* The slots of the ports alone, by column: out[c] for every port column c; entries of other
 * columns are left alone. */
void cuzk_r1cs_inst_port_slots(const cuzk_r1cs *r, const cuzk_r1cs_inst *inst, uint32_t *out);

/* The most columns any shape has: size for the scratch of the two functions above. */
uint32_t cuzk_r1cs_max_cols(const cuzk_r1cs *r);

/* The slot of a wire (not ONE). False when there is no such wire. */
bool cuzk_r1cs_wire_slot(const cuzk_r1cs *r, cuzk_wire w, uint32_t *slot);

/* The instance that holds row `row` of the flat system (row < n_rows). */
uint32_t cuzk_r1cs_find_row(const cuzk_r1cs *r, uint32_t row);

/* Appends the path of a row, `challenge 3/label 7/sha256 block 12/round 4`. */
void cuzk_r1cs_row_path(const cuzk_r1cs *r, uint32_t row, cuzk_buf *out);

/* One term of the flat system. */
typedef struct cuzk_flat_term {
    cuzk_wire wire;
    uint32_t coef; /* id */
} cuzk_flat_term;

/* Receives rows in order: n[0] terms of A, n[1] of B, n[2] of C, one after another in t; each
 * sorted by wire, no wire twice, no zero coefficient. coefs: the dictionary (Montgomery form),
 * at least as long as the ids in t need. */
typedef struct cuzk_row_sink {
    cuzk_status (*row)(void *ctx, const cuzk_flat_term *t, const uint32_t n[3],
                       const cuzk_u256 *coefs);
    void *ctx;
} cuzk_row_sink;

/* Gives rows [row0, row1) of the flat system to the sink. */
cuzk_status cuzk_r1cs_expand(const cuzk_r1cs *r, uint32_t row0, uint32_t row1,
                             const cuzk_row_sink *sink) CUZK_MUST_CHECK;

#endif
