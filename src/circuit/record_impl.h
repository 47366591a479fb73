/* Inside of the recorder, shared by record.c (what gadgets call) and shape.c (closing a block). */
#ifndef CUZK_CIRCUIT_RECORD_IMPL_H
#define CUZK_CIRCUIT_RECORD_IMPL_H

#include "circuit/record.h"

/* How a wire of the open block gets its value. */
typedef enum {
    CUZK__PENDING, /* nothing defines it yet */
    CUZK__DEFINED,
    CUZK__GIVEN, /* free */
} cuzk__wire_state;

typedef struct cuzk__own {
    uint8_t state;
    uint8_t bit; /* class */
} cuzk__own;

typedef struct cuzk__seg_row {
    uint32_t term0, n[3]; /* in the block's flat terms */
    cuzk_wire solve;      /* CUZK_WIRE_ONE: none */
    uint32_t flags;       /* CUZK_ROW_NEG, CUZK_ROW_IN_A */
} cuzk__seg_row;

typedef struct cuzk__seg_op {
    uint32_t row;
    cuzk_wire wire;
    uint32_t n_bits;
    uint32_t term0, n_terms;
} cuzk__seg_op;

/* A block known by its key: the shape, and the results of the gadget as columns (with CUZK_NOT). */
typedef struct cuzk__known {
    uint8_t key[32];
    uint32_t shape;
    uint32_t out0;
    uint32_t used;
} cuzk__known;

struct cuzk_recorder {
    cuzk_cs cs;
    /* the tables of cuzk_r1cs */
    cuzk_vec terms, rows, ops, scopes, paths, shapes, ports, slots, frees, calls, insts, args,
        names, name_offs;
    cuzk_r1cs view; /* totals, and the tables above while a look-up needs them */
    /* the open block */
    bool in_call;
    uint32_t aux0, input0, row0;
    uint32_t bits_left; /* aux wires still to come that an op defines */
    cuzk_vec seg_terms, seg_rows, seg_ops, seg_scopes, open_scopes, own_aux, own_inputs;
    /* the wires of its arguments, sorted, and where they are */
    cuzk_vec port_wires; /* cuzk_wire */
    cuzk_vec port_runs;  /* uint32_t: run of each */
    cuzk_vec run_args;   /* cuzk_r1cs_arg of each run */
    cuzk_vec run_lens;   /* cuzk_r1cs_port of each run */
    /* the path */
    uint32_t path;
    /* blocks by key, open addressing */
    cuzk__known *known;
    uint32_t n_known, known_size;
    cuzk_vec outs; /* uint32_t */
    cuzk_vec key;  /* bytes being hashed */
};

#define CUZK__AT(type, vec, i) (((type *)(vec).data)[i])

void cuzk__rec_oom(cuzk_recorder *r);

/* Sorts port_wires, drops repetitions, finds runs and their slots. */
void cuzk__rec_sort_ports(cuzk_recorder *r);
/* The column of a wire in the open block, given its sorted ports. False: not a wire of it. */
bool cuzk__rec_col(const cuzk_recorder *r, cuzk_wire w, uint32_t *col);
/* Turns the open block into a shape at the end of the tables; returns its number. */
uint32_t cuzk__rec_make_shape(cuzk_recorder *r, uint32_t name);
/* The known block with this key, or the free place for it. NULL after a failure. */
cuzk__known *cuzk__rec_find(cuzk_recorder *r, const uint8_t key[32]);
/* Hash of the last shape's content. */
void cuzk__rec_shape_key(cuzk_recorder *r, uint32_t shape, uint8_t key[32]);
/* Removes the last shape from the tables. */
void cuzk__rec_drop_shape(cuzk_recorder *r, uint32_t shape);
uint32_t cuzk__rec_name(cuzk_recorder *r, const char *name);
void cuzk__rec_hash(cuzk_recorder *r, uint8_t key[32]);
void cuzk__rec_key_put(cuzk_recorder *r, const void *data, size_t n);

#endif
