/* The recorder: turns what gadgets emit into shapes and instances (r1cs/r1cs.h).
 *
 * A call of a gadget outside any other is a block. Its identity is the gadget, its parameters and
 * the pattern of its arguments: which are constant, negated, equal to one another, in which order
 * their wires lie, and where these are consecutive. A block seen before is not run again. Rows
 * between calls are collected into loose blocks, cut at every step of the path, and compared by
 * content. */
#ifndef CUZK_CIRCUIT_RECORD_H
#define CUZK_CIRCUIT_RECORD_H

#include "circuit/cs.h"

typedef struct cuzk_recorder cuzk_recorder;

/* shared: cs->shared of the gadgets, must outlive the recorder. */
cuzk_status cuzk_recorder_new(cuzk_recorder **out, const void *shared) CUZK_MUST_CHECK;

/* What gadgets are given. */
cuzk_cs *cuzk_recorder_cs(cuzk_recorder *r);

/* Ends the recording. The caller frees *out with cuzk_r1cs_free; the recorder is left to
 * cuzk_recorder_free only. */
cuzk_status cuzk_recorder_finish(cuzk_recorder *r, cuzk_r1cs **out, cuzk_err *err) CUZK_MUST_CHECK;
void cuzk_recorder_free(cuzk_recorder *r);

#endif
