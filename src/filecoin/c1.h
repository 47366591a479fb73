/* C1 outputs: the vanilla proof of a sealed sector, input of the PoRep SNARK.
 *
 * Read from the JSON of filecoin-ffi's seal_commit_phase1, bare or as base64 in the wrapper of
 * lotus-bench and Curio ({"SectorNum", "Phase1Out", "SectorSize"}), members in any order; or from
 * bincode 1.x of rust-fil-proofs' SealCommitPhase1Output (docs/filecoin.md has both). In memory it
 * is always the bincode form: a bincode file is used where it is mapped, JSON is translated while
 * it is read and never held.
 *
 * A C1 that was opened has the shape of its sector size in every length, and its commitments are
 * field elements. Whether it is true is vanilla_check.h's matter. Immutable after opening and
 * shareable by threads. */
#ifndef CUZK_FILECOIN_C1_H
#define CUZK_FILECOIN_C1_H

#include "base/file.h"
#include "filecoin/bincode.h"
#include "filecoin/ids.h"

typedef struct cuzk_c1 {
    const char *name;           /* of the file */
    const cuzk_seal_type *type; /* NULL: the file does not say (bincode) */
    bool has_sector;            /* the wrapper says which sector it is */
    uint64_t sector;
    const cuzk_circuit *circuit;
    uint32_t partitions;
    const uint8_t *comm_r, *comm_d, *replica_id, *seed, *ticket; /* 32 bytes each */
    const uint8_t *data;                                         /* the bincode form */
    size_t len;
    size_t proof_bytes; /* of one challenge */
    cuzk_map map;
    uint8_t *owned; /* data, when it was made from JSON */
    char *own_name;
} cuzk_c1;

/* Opens a file of any of the forms. IO, NO_MEMORY, or BAD_INPUT naming file, offset and field. */
cuzk_status cuzk_c1_open(cuzk_c1 **out, const char *path, cuzk_err *err) CUZK_MUST_CHECK;
/* The same from memory, which must outlive the result. */
cuzk_status cuzk_c1_from_memory(cuzk_c1 **out, const uint8_t *data, size_t n, const char *name,
                                cuzk_err *err) CUZK_MUST_CHECK;
void cuzk_c1_free(cuzk_c1 *c);

/* The number of partitions and the size must be those of type; BAD_INPUT when they are not, or
 * when the file itself says another type. */
cuzk_status cuzk_c1_fits(const cuzk_c1 *c, const cuzk_seal_type *type,
                         cuzk_err *err) CUZK_MUST_CHECK;

typedef struct cuzk_c1_column {
    uint32_t index;      /* the node */
    const uint8_t *rows; /* its labels, layer 1 first */
    cuzk_merkle_proof inclusion;
} cuzk_c1_column;

enum { CUZK_C1_LABEL_PARENTS = 37 };
typedef struct cuzk_c1_label {
    const uint8_t *parents; /* 37 values */
    uint32_t layer;
    uint64_t node;
} cuzk_c1_label;

typedef struct cuzk_c1_challenge {
    cuzk_merkle_proof data, replica; /* trees D and R */
    cuzk_c1_column own;              /* "c_x" */
    cuzk_c1_column parents[CUZK_POREP_DRG_PARENTS + CUZK_POREP_EXP_PARENTS];
    cuzk_c1_label labels[CUZK_POREP_MAX_LAYERS], encoding;
} cuzk_c1_challenge;

/* Challenge i of a partition, both in range. Pointers go into c->data. */
void cuzk_c1_challenge_at(const cuzk_c1 *c, uint32_t partition, uint32_t i, cuzk_c1_challenge *out);

/* Free values of a partition's circuit (circuit/values.h), n of them. */
cuzk_status cuzk_c1_free_values(const cuzk_c1 *c, uint32_t partition, cuzk_u256 *out, size_t n,
                                cuzk_err *err) CUZK_MUST_CHECK;

/* ---- internal: the bincode form of one challenge, by offsets ---- */

typedef struct cuzk__c1_layout {
    const cuzk_porep_circuit *c;
    cuzk_tree_shape d; /* tree D */
    size_t proof_d, proof_t, column, label;
    size_t replica, own, drg, exp, labels, encoding; /* where each begins */
    size_t proof;                                    /* bytes of a challenge */
} cuzk__c1_layout;
void cuzk__c1_layout_of(cuzk__c1_layout *l, const cuzk_porep_circuit *c);
/* Bytes of a whole C1 of this many partitions. */
size_t cuzk__c1_bytes(const cuzk__c1_layout *l, uint32_t partitions);
cuzk_status cuzk__c1_read_challenge(cuzk__bin *b, const cuzk__c1_layout *l,
                                    cuzk_c1_challenge *out) CUZK_MUST_CHECK;
/* Fills c from bincode data of len bytes; circuit known (JSON) or NULL. */
cuzk_status cuzk__c1_from_bincode(cuzk_c1 *c, const uint8_t *data, size_t len,
                                  cuzk_err *err) CUZK_MUST_CHECK;
/* Fills c (name set) from JSON. */
cuzk_status cuzk__c1_from_json(cuzk_c1 *c, const uint8_t *data, size_t len,
                               cuzk_err *err) CUZK_MUST_CHECK;
/* Sets the pointers to the five values behind the proofs and checks that comm_r, comm_d and
 * replica_id are field elements. c->data and c->len are set. */
cuzk_status cuzk__c1_commitments(cuzk_c1 *c, cuzk_err *err) CUZK_MUST_CHECK;

#endif
