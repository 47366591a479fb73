/* The gadgets of the Filecoin circuits: allocations and rows in the order of the reference
 * implementation (bellpepper, bellperson, neptune's first circuit, storage-proofs). Each is
 * documented by its rows; wires are allocated in the order of the rows unless said.
 *
 * Thread-safety: as the constraint system they are given. */
#ifndef CUZK_CIRCUIT_GADGETS_H
#define CUZK_CIRCUIT_GADGETS_H

#include "circuit/cs.h"
#include "circuit/poseidon.h"

/* ---- Booleans (gadget/boolean.c) ---- */

/* A new bit: (ONE - v) v = 0. cls 0 or CUZK_CLASS_FREE. */
cuzk_bit cuzk_gadget_alloc_bit(cuzk_cs *cs, unsigned cls);
/* (2a) b = a + b - c, or nothing when an operand is constant. */
cuzk_bit cuzk_gadget_xor(cuzk_cs *cs, cuzk_bit a, cuzk_bit b);
/* a b = c, with negated operands written as ONE - v. */
cuzk_bit cuzk_gadget_and(cuzk_cs *cs, cuzk_bit a, cuzk_bit b);
/* a ? b : c: (b - c) a = ch - c. */
cuzk_bit cuzk_gadget_ch(cuzk_cs *cs, cuzk_bit a, cuzk_bit b, cuzk_bit c);
/* Majority; maj is allocated before bc: b c = bc, (2bc - b - c) a = bc - maj. */
cuzk_bit cuzk_gadget_maj(cuzk_cs *cs, cuzk_bit a, cuzk_bit b, cuzk_bit c);

/* ---- numbers (gadget/num.c) ---- */

/* Bits of a number, not strict: 255 new bits, then 0·0 = sum 2^i b_i - n. A block of its own. */
void cuzk_gadget_to_bits(cuzk_cs *cs, cuzk_wire n, cuzk_bit bits[255]);
/* (sum 2^i b_i) ONE = new number, n at most 254. */
cuzk_wire cuzk_gadget_pack(cuzk_cs *cs, const cuzk_bit *bits, uint32_t n);
/* The same to new public inputs, 254 bits each. */
void cuzk_gadget_pack_inputs(cuzk_cs *cs, const cuzk_bit *bits, uint32_t n);
/* new input · ONE = n. */
void cuzk_gadget_inputize(cuzk_cs *cs, cuzk_wire n);
/* a ONE = b. */
void cuzk_gadget_equal(cuzk_cs *cs, cuzk_wire a, cuzk_wire b);
/* (a + b) ONE = new. */
cuzk_wire cuzk_gadget_add(cuzk_cs *cs, cuzk_wire a, cuzk_wire b);
/* a b = new. */
cuzk_wire cuzk_gadget_mul(cuzk_cs *cs, cuzk_wire a, cuzk_wire b);
/* cond ? a : b: (b - a) cond = b - new. */
cuzk_wire cuzk_gadget_pick(cuzk_cs *cs, cuzk_bit cond, cuzk_wire a, cuzk_wire b);
/* Reverses the bits inside each byte; n is a multiple of 8. In place allowed. */
void cuzk_gadget_reverse_bytes(cuzk_bit *out, const cuzk_bit *in, uint32_t n);

/* ---- SHA-256 (gadget/sha256.c) ---- */

/* n bits, a multiple of 8, most significant first in each byte; the digest likewise. Every
 * compression is a block of its own. */
void cuzk_gadget_sha256(cuzk_cs *cs, const cuzk_bit *msg, uint32_t n, cuzk_bit out[256]);

/* ---- Poseidon (gadget/poseidon.c); cs->shared is a cuzk_poseidon_set ---- */

/* neptune's first ("legacy") circuit. A block of its own. */
cuzk_wire cuzk_gadget_poseidon(cuzk_cs *cs, uint32_t arity, uint64_t tag, const cuzk_wire *in);

/* ---- Merkle trees (gadget/merkle.c) ---- */

/* The arity values of a node's children: `cur` put among the siblings at the position the bits
 * say (least significant first), by picks. arity 2, 4 or 8; out has arity entries. */
void cuzk_gadget_insert(cuzk_cs *cs, uint32_t arity, cuzk_wire cur, const cuzk_wire *siblings,
                        const cuzk_bit *bits, cuzk_wire *out);

/* SHA-256 node of tree D: 254-bit digest of two children. */
cuzk_wire cuzk_gadget_sha_node(cuzk_cs *cs, cuzk_wire left, cuzk_wire right);

/* One level of a Poseidon tree: log2(arity) free bits, arity - 1 free siblings, insert, hash. A
 * block of its own. */
cuzk_wire cuzk_gadget_level(cuzk_cs *cs, uint32_t arity, cuzk_wire cur, cuzk_bit *bits);
/* The same with bits and siblings that exist already. A block of its own. */
cuzk_wire cuzk_gadget_level_with(cuzk_cs *cs, uint32_t arity, cuzk_wire cur, const cuzk_bit *bits,
                                 const cuzk_wire *siblings);

/* A Poseidon tree from leaf to root: `base` levels of base_arity, then one of arity sub, one of
 * arity top (0: none). */
typedef struct cuzk_tree_shape {
    uint32_t base_arity, base, sub, top;
} cuzk_tree_shape;
uint32_t cuzk_tree_levels(const cuzk_tree_shape *t);
uint32_t cuzk_tree_arity(const cuzk_tree_shape *t, uint32_t level);

/* Proofs of retrievability with a private root: leaf to root, then the index packed into one
 * public input, then equality. */
void cuzk_gadget_por_poseidon(cuzk_cs *cs, const cuzk_tree_shape *t, cuzk_wire leaf,
                              cuzk_wire root);
void cuzk_gadget_por_sha(cuzk_cs *cs, uint32_t levels, cuzk_wire leaf, cuzk_wire root);

#endif
