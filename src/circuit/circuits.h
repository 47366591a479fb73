/* The circuits of Filecoin's proofs and their names. */
#ifndef CUZK_CIRCUIT_CIRCUITS_H
#define CUZK_CIRCUIT_CIRCUITS_H

#include "circuit/gadgets.h"

/* StackedDRG proof of replication, one partition. */
typedef struct cuzk_porep_circuit {
    uint32_t log2_nodes;  /* levels of tree D */
    cuzk_tree_shape tree; /* trees C and R */
    uint32_t layers;      /* 2 or 11 */
    uint32_t challenges;
} cuzk_porep_circuit;
enum { CUZK_POREP_DRG_PARENTS = 6, CUZK_POREP_EXP_PARENTS = 8, CUZK_POREP_MAX_LAYERS = 11 };

/* Free values, in order: replica_id, comm_d, comm_r, comm_r_last, comm_c; per challenge: the data
 * leaf and its tree D path (per level: index bit, sibling); for each drg parent, then each exp
 * parent: its column (layer 1 first) and tree C path (per level: index bits from the least
 * significant, siblings); the 64 bits of the challenge, least significant first; the tree R path;
 * the tree C path of the challenge's own column. */
void cuzk_porep_build(cuzk_cs *cs, const cuzk_porep_circuit *c);

/* FallbackPoSt, one partition: Window (many sectors) and Winning (66 copies of one, one challenge
 * each). Free values per sector: comm_r_last, comm_c, comm_r; per challenge the leaf and its tree
 * R path. */
typedef struct cuzk_post_circuit {
    cuzk_tree_shape tree;
    uint32_t sectors;
    uint32_t challenges; /* per sector */
} cuzk_post_circuit;
void cuzk_post_build(cuzk_cs *cs, const cuzk_post_circuit *c);

/* EmptySectorUpdate (SnapDeals), one partition, and its Poseidon variant. Free values, in order
 * of allocation: k_and_h_select, comm_r_old, comm_d_new, comm_r_new, comm_c, root_r_old,
 * root_r_new, then apex leaves and siblings of the partition path (Poseidon variant: one number
 * that stands for the partition, 0); per challenge leaf_r_old, leaf_d_new, siblings of the paths
 * in tree R old, R new, and D (below the apex). */
typedef struct cuzk_update_circuit {
    uint32_t log2_nodes;
    cuzk_tree_shape tree;
    uint32_t log2_partitions; /* bits of k */
    uint32_t challenges;      /* in this partition */
    uint32_t log2_apex;       /* leaves of the apex tree */
    uint32_t h[6];            /* choices of h, in bits */
    bool poseidon;            /* tree D is a Poseidon tree of tree R's shape; no apex */
} cuzk_update_circuit;
void cuzk_update_build(cuzk_cs *cs, const cuzk_update_circuit *c);

typedef enum { CUZK_CIRCUIT_POREP, CUZK_CIRCUIT_POST, CUZK_CIRCUIT_UPDATE } cuzk_circuit_kind;

typedef struct cuzk_circuit {
    const char *name; /* "porep-32g" */
    const char *what; /* one line for a person */
    cuzk_circuit_kind kind;
    union {
        cuzk_porep_circuit porep;
        cuzk_post_circuit post;
        cuzk_update_circuit update;
    } u;
} cuzk_circuit;

/* The i-th circuit known by name, or NULL past the last; the one called `name`, or NULL. */
const cuzk_circuit *cuzk_circuit_at(size_t i);
const cuzk_circuit *cuzk_circuit_find(const char *name);

/* Emits the circuit. cs->shared is a cuzk_poseidon_set. */
void cuzk_circuit_build(cuzk_cs *cs, const cuzk_circuit *c);

/* The compact form of a circuit; free with cuzk_r1cs_free. */
cuzk_status cuzk_circuit_compact(cuzk_r1cs **out, const cuzk_circuit *c,
                                 cuzk_err *err) CUZK_MUST_CHECK;

#endif
