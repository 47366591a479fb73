/* Internal: a compact system rewritten for evaluation on a device (r1cs_eval.cu). */
#ifndef CUZK_BACKEND_CUDA_R1CS_PACK_H
#define CUZK_BACKEND_CUDA_R1CS_PACK_H

#include "r1cs/r1cs.h"

/* A small row in four words, one a term, of A or B in any order:
 *   bits 31-30  coefficient: 1, -1, 2, -2
 *   bits 29-28  what: nothing, an own bit, a bit behind a port, ONE
 *   bit 27      of B
 *   bits 26-0   the bit's number from the instance's first, or the port's number
 * Rows that do not fit are general; their first word is CUZK__PACK_GENERAL. */
enum { CUZK__PACK_NOTHING, CUZK__PACK_OWN, CUZK__PACK_PORT, CUZK__PACK_ONE };
#define CUZK__PACK_GENERAL 0xffffffffu
#define CUZK__PACK_OF_B 0x08000000u
#define CUZK__PACK_AT 0x07ffffffu

/* A general row's term: what in bits 31-29, and the number of the bit, full value or port. */
enum {
    CUZK__TERM_ONE,
    CUZK__TERM_OWN_BIT,
    CUZK__TERM_OWN_FULL,
    CUZK__TERM_PORT_BIT,
    CUZK__TERM_PORT_FULL
};
#define CUZK__TERM_SHIFT 29
typedef struct cuzk__pack_term {
    uint32_t what;
    uint32_t coef_len; /* coefficient id, length of the run << 16 */
} cuzk__pack_term;

typedef struct cuzk__pack_row {
    uint32_t a, b, c; /* terms [a, b) are A's, [b, c) B's */
    uint32_t row;     /* of the shape */
} cuzk__pack_row;

typedef struct cuzk__pack_inst {
    uint32_t row0, bit0, full0;
    uint32_t port0; /* of its slots among the port slots */
} cuzk__pack_inst;

/* A block's work: rows x instances. Small rows: `rows` of them from small[row0], the first being
 * row `local` of the shape. General rows: entries row0 .. of general. */
typedef struct cuzk__pack_tile {
    uint32_t row0, rows;
    uint32_t local;
    uint32_t inst0, insts;
} cuzk__pack_tile;

enum {
    CUZK__PACK_TILE_ROWS = 256,
    CUZK__PACK_TILE_INSTS = 16,
    /* general tiles: CUZK__PACK_WARPS rows x 32 instances; of shapes with fewer than
     * CUZK__PACK_FEW instances, 32 * CUZK__PACK_WARPS rows x 1 */
    CUZK__PACK_WARPS = 4,
    CUZK__PACK_FEW = 12
};

typedef struct cuzk__pack {
    uint32_t (*small)[4]; /* every row of every shape */
    cuzk__pack_row *general;
    cuzk__pack_term *terms;
    cuzk__pack_inst *insts; /* by shape */
    uint32_t *port_slots;   /* CUZK_SLOT_BIT taken off */
    cuzk__pack_tile *small_tiles, *general_tiles;
    uint32_t *input_slots; /* of inputs 1.., as cuzk_r1cs_wire_slot */
    uint32_t n_small, n_general, n_terms, n_insts, n_port_slots, n_small_tiles, n_general_tiles,
        n_inputs;
} cuzk__pack;

/* NO_MEMORY, or USAGE when an instance has more than 2^27 bits. Freed with cuzk__pack_free. */
cuzk_status cuzk__pack_new(cuzk__pack **out, const cuzk_r1cs *r, cuzk_err *err) CUZK_MUST_CHECK;
void cuzk__pack_free(cuzk__pack *p);

#endif
