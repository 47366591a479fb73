/* What a gadget sees: a constraint system that hands out wires and takes rows.
 *
 * A gadget is a function that allocates wires and emits rows, in the reference implementation's
 * order, and never knows who listens. Listeners: a flat stream of rows (circuit/flat.h), the
 * recorder that finds repeated blocks (circuit/record.h). Everything else (digest, figures,
 * witness, row check) works on what the recorder made.
 *
 * A gadget does not compute values either. It says how a wire gets its value: given from outside
 * (free), the bits of a linear combination, or by default the first row that holds the wire in C
 * (or as the whole of A against ONE).
 *
 * Failures are sticky: after one, calls have no effect, wires are meaningless, and cs->status
 * tells at the end. So gadgets carry no error handling. Not thread-safe. */
#ifndef CUZK_CIRCUIT_CS_H
#define CUZK_CIRCUIT_CS_H

#include "r1cs/r1cs.h"
#include "r1cs/vec.h"

#include "circuit/coefs.h"

/* A Boolean operand: a wire, with CUZK_NOT its negation. Wire ONE is true, its negation false. */
typedef uint32_t cuzk_bit;
#define CUZK_NOT 0x40000000u
#define CUZK_BIT_TRUE CUZK_WIRE_ONE
#define CUZK_BIT_FALSE (CUZK_WIRE_ONE | CUZK_NOT)

static inline bool cuzk_bit_is_const(cuzk_bit b) {
    return (b & ~CUZK_NOT) == CUZK_WIRE_ONE;
}
static inline bool cuzk_bit_is_not(cuzk_bit b) {
    return (b & CUZK_NOT) != 0;
}
static inline cuzk_wire cuzk_bit_wire(cuzk_bit b) {
    return b & ~CUZK_NOT;
}
static inline cuzk_bit cuzk_bit_not(cuzk_bit b) {
    return b ^ CUZK_NOT;
}
static inline cuzk_bit cuzk_bit_const(bool v) {
    return v ? CUZK_BIT_TRUE : CUZK_BIT_FALSE;
}

typedef enum { CUZK_ALLOC_AUX, CUZK_ALLOC_INPUT } cuzk_alloc_kind;
/* FULL: any field element; BIT: 0 or 1. FREE is or-ed in for values given from outside. */
typedef enum { CUZK_CLASS_FULL = 0, CUZK_CLASS_BIT = 1, CUZK_CLASS_FREE = 2 } cuzk_class;

typedef struct cuzk_cs cuzk_cs;

/* A block that may repeat. body gets the same arguments and must use no other wires than these
 * and its own, and depend on nothing but params, the constants and negations among `in`, and
 * cs->shared. params is a multiple of 4 bytes, without padding. */
typedef struct cuzk_gadget {
    const char *name;
    void (*body)(cuzk_cs *cs, const void *params, const uint32_t *in, uint32_t *out);
} cuzk_gadget;

typedef struct cuzk_cs_ops {
    cuzk_wire (*alloc)(cuzk_cs *cs, cuzk_alloc_kind kind, unsigned cls);
    /* terms are sorted, merged and free of zero coefficients */
    void (*row)(cuzk_cs *cs, const cuzk_flat_term *t, const uint32_t n[3]);
    void (*bits)(cuzk_cs *cs, uint32_t n_bits, const cuzk_flat_term *t, uint32_t n);
    void (*call)(cuzk_cs *cs, const cuzk_gadget *g, const void *params, size_t params_len,
                 const uint32_t *in, uint32_t n_in, uint32_t *out, uint32_t n_out);
    void (*push)(cuzk_cs *cs, const char *name, uint32_t index);
    void (*pop)(cuzk_cs *cs);
} cuzk_cs_ops;

struct cuzk_cs {
    const cuzk_cs_ops *ops;
    cuzk_status status;
    cuzk_err err;
    cuzk_coefs coefs;
    cuzk_vec scratch;  /* of cuzk_flat_term: the row being normalised */
    uint32_t n_inputs; /* so far, with ONE */
    uint32_t n_aux;
    uint32_t n_rows;
    const void *shared; /* read-only tables of the circuit (Poseidon constants) */
};

/* For listeners: ops first, then this. */
cuzk_status cuzk_cs_init(cuzk_cs *cs, const cuzk_cs_ops *ops) CUZK_MUST_CHECK;
void cuzk_cs_fini(cuzk_cs *cs);

/* Records the first failure. */
void cuzk_cs_fail(cuzk_cs *cs, cuzk_status st, const char *what);

cuzk_wire cuzk_cs_alloc(cuzk_cs *cs, unsigned cls);
cuzk_wire cuzk_cs_alloc_input(cuzk_cs *cs);

/* A·B = C. Terms in any order, repeated wires allowed. */
void cuzk_cs_row(cuzk_cs *cs, const cuzk_flat_term *a, uint32_t na, const cuzk_flat_term *b,
                 uint32_t nb, const cuzk_flat_term *c, uint32_t nc);

/* The next n aux wires, which the caller allocates as bits right after this, are the low n bits
 * of the linear combination (as an integer below r), least significant first. */
void cuzk_cs_bits_of(cuzk_cs *cs, uint32_t n_bits, const cuzk_flat_term *t, uint32_t n);

/* Runs a gadget, or takes a repetition of one that ran before. */
void cuzk_cs_call(cuzk_cs *cs, const cuzk_gadget *g, const void *params, size_t params_len,
                  const uint32_t *in, uint32_t n_in, uint32_t *out, uint32_t n_out);

/* Steps of the path that names a row. name must outlive the constraint system. index may be
 * CUZK_R1CS_NONE. */
void cuzk_cs_push(cuzk_cs *cs, const char *name, uint32_t index);
void cuzk_cs_pop(cuzk_cs *cs);

/* Writes b times a fixed coefficient (id below CUZK_COEF_FIXED) as one or two terms; returns how
 * many. */
static inline uint32_t cuzk_bit_terms(cuzk_flat_term *t, cuzk_bit b, uint32_t coef) {
    if (!cuzk_bit_is_not(b)) {
        t[0] = (cuzk_flat_term){b, coef};
        return 1;
    }
    t[0] = (cuzk_flat_term){CUZK_WIRE_ONE, coef};
    t[1] = (cuzk_flat_term){cuzk_bit_wire(b), coef ^ 1u};
    return 2;
}

/* Sorts by wire, adds up equal wires, drops zeros; returns the new length. */
uint32_t cuzk_cs_normalise(cuzk_cs *cs, cuzk_flat_term *t, uint32_t n);

#endif
