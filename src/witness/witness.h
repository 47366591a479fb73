/* The values of a constraint system's wires: one bit for wires known to be 0 or 1, a field
 * element for the others, each at the slot the compact form gives it. */
#ifndef CUZK_WITNESS_WITNESS_H
#define CUZK_WITNESS_WITNESS_H

#include "base/progress.h"
#include "base/thread.h"
#include "r1cs/r1cs.h"

typedef struct cuzk_witness {
    const cuzk_r1cs *r1cs; /* not owned */
    uint64_t *bits;        /* r1cs->n_bits, one word more at the end */
    cuzk_u256 *full;       /* r1cs->n_full, Montgomery form */
} cuzk_witness;

/* All values zero. The constraint system must outlive the witness. */
cuzk_status cuzk_witness_new(cuzk_witness **out, const cuzk_r1cs *r) CUZK_MUST_CHECK;
/* Bytes of its two arrays, for witnesses in memory of one's own (zeroed, aligned to 8 bytes). */
size_t cuzk_witness_bits_bytes(const cuzk_r1cs *r);
size_t cuzk_witness_full_bytes(const cuzk_r1cs *r);
/* Wipes and frees. NULL is ignored. */
void cuzk_witness_free(cuzk_witness *w);

struct cuzk_work;
struct cuzk_work_builder;

/* A faster way to fill the own wires of one kind of block (a gadget's) than walking its rows: a
 * second description of the gadget, tested wire for wire against the first. Own bits are at bit
 * inst->bit0 on, own full values at inst->full0 on, each in order of allocation; both are zero. */
typedef struct cuzk_filler {
    const char *gadget;
    /* Makes what fill needs to know of a shape. *state may stay NULL; NULL prepare: nothing. */
    cuzk_status (*prepare)(void **state, const cuzk_r1cs *r, const cuzk_r1cs_shape *s,
                           const void *shared);
    /* slots: by column, of the ports; of the own columns too when the shape has free wires, which
     * are filled already. Thread-safe for different instances. */
    void (*fill)(const void *state, cuzk_witness *w, const cuzk_r1cs_inst *inst,
                 const uint32_t *slots);
    void (*release)(void *state);
    /* The same for n instances of one shape that do not need one another, 2 to CUZK_FILL_MANY;
     * NULL: one by one. */
    void (*fill_many)(const void *state, cuzk_witness *w, const cuzk_r1cs_inst *const *inst,
                      const uint32_t *const *slots, uint32_t n);
    /* Says to a device what fill does (witness/program.h); NULL: it walks the rows. */
    cuzk_status (*describe)(const void *state, struct cuzk_work_builder *b, struct cuzk_work *work);
} cuzk_filler;
enum { CUZK_FILL_MANY = 8 };

/* How to make witnesses of one constraint system: which filler serves which shape, and which parts
 * can be computed at the same time. Immutable. Everything given must outlive it. n_fillers may be
 * 0: every wire through the rows. */
typedef struct cuzk_witness_plan cuzk_witness_plan;
cuzk_status cuzk_witness_plan_new(cuzk_witness_plan **out, const cuzk_r1cs *r,
                                  const cuzk_filler *const *fillers, size_t n_fillers,
                                  const void *shared) CUZK_MUST_CHECK;
void cuzk_witness_plan_free(cuzk_witness_plan *p);
/* Bytes of a plan of this system, what fillers keep (some kilobytes) not counted. */
uint64_t cuzk_witness_plan_bytes(const cuzk_r1cs *r);

/* Computes every wire from the free values (plain integers below the modulus, r1cs->n_free of
 * them, in order of allocation). Does not check what the values do not define (cuzk_witness_check
 * does). w must be fresh. pool may be NULL. BAD_INPUT when a free value is no field element, or a
 * wire that must be a bit gets another value; the message names the row's path. */
cuzk_status cuzk_witness_solve(cuzk_witness *w, const cuzk_witness_plan *plan,
                               const cuzk_u256 *frees, size_t n_frees, cuzk_pool *pool,
                               cuzk_err *err) CUZK_MUST_CHECK;

/* Whether every row holds. FALSE when one does not; the message names the first such row, its path
 * and the values of A, B and C. progress counts rows; may be NULL. */
cuzk_status cuzk_witness_check(const cuzk_witness *w, cuzk_progress *progress,
                               cuzk_err *err) CUZK_MUST_CHECK;

/* One wire, as a plain integer. */
cuzk_status cuzk_witness_get(cuzk_u256 *out, const cuzk_witness *w, cuzk_wire wire) CUZK_MUST_CHECK;
/* Sets one wire (tests). A bit wire takes 0 or 1 only. */
cuzk_status cuzk_witness_set(cuzk_witness *w, cuzk_wire wire,
                             const cuzk_u256 *plain) CUZK_MUST_CHECK;

/* BLAKE2s-256 over all inputs (ONE first), then all aux wires, 32 bytes little-endian each. */
cuzk_status cuzk_witness_digest(uint8_t out[32], const cuzk_witness *w) CUZK_MUST_CHECK;

/* Calls put(ctx, values, n) with consecutive wires of the flat order as plain integers: inputs,
 * then aux. */
cuzk_status cuzk_witness_flatten(const cuzk_witness *w,
                                 void (*put)(void *ctx, const cuzk_u256 *values, size_t n),
                                 void *ctx) CUZK_MUST_CHECK;

#endif
