/* Requests: a JSON object with the field names of cuzk.v1.SubmitProofRequest (snake_case, or the
 * camelCase of protobuf's JSON), bytes as base64, 64-bit numbers also as strings, proof_kind by
 * name (with or without PROOF_KIND_) or number, registered_proof by number or name.
 *
 * The same object without vanilla proofs states what is to be verified; it may have comm_r, comm_d,
 * replica_id, seed, ticket, porep_id (PoRep) and sectors, a list of {"sector_number", "comm_r"}
 * (PoSt) beside the others. A 32-byte value may also be 64 hexadecimal digits.
 *
 * Beside vanilla proofs the same values may stand, and whatever the proof says too is compared with
 * it; a field that another kind of proof has is refused. Of what is written as protobuf's default:
 *   "" and [] of bytes and lists, proof_kind 0, sector_size 0     say nothing
 *   sector_number 0 of a PoSt, partition_index 0 of all but Window say nothing
 *   every other 0 is a value: miners, sectors, partitions and registered proofs begin at 0
 * since SubmitProofRequest is of proto3 without `optional`, where a client that writes every field
 * cannot leave one out. What no proof of a kind says cannot be compared: miner_id of PoSt and
 * update, sector_number of an update, partition_index of Window V1_2, and miner_id of a PoRep when
 * its sector number is not known. */
#ifndef CUZK_FILECOIN_REQUEST_H
#define CUZK_FILECOIN_REQUEST_H

#include "base/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum cuzk_proof_kind {
    CUZK_KIND_UNSPECIFIED,
    CUZK_KIND_POREP,
    CUZK_KIND_UPDATE,
    CUZK_KIND_WINDOW,
    CUZK_KIND_WINNING,
} cuzk_proof_kind;
/* "POREP_SEAL_COMMIT", … */
const char *cuzk_proof_kind_name(cuzk_proof_kind k);

typedef struct cuzk_blob {
    uint8_t *data;
    size_t len;
} cuzk_blob;

typedef struct cuzk_request_sector {
    uint64_t number;
    uint8_t comm_r[32];
} cuzk_request_sector;

typedef enum cuzk_request_field {
    CUZK_REQ_REQUEST_ID,
    CUZK_REQ_PROOF_KIND,
    CUZK_REQ_SECTOR_SIZE,
    CUZK_REQ_REGISTERED_PROOF,
    CUZK_REQ_PRIORITY,
    CUZK_REQ_VANILLA_PROOF,
    CUZK_REQ_VANILLA_PROOFS,
    CUZK_REQ_SECTOR_NUMBER,
    CUZK_REQ_MINER_ID,
    CUZK_REQ_RANDOMNESS,
    CUZK_REQ_PARTITION_INDEX,
    CUZK_REQ_COMM_R_OLD,
    CUZK_REQ_COMM_R_NEW,
    CUZK_REQ_COMM_D_NEW,
    CUZK_REQ_COMM_R,
    CUZK_REQ_COMM_D,
    CUZK_REQ_REPLICA_ID,
    CUZK_REQ_SEED,
    CUZK_REQ_TICKET,
    CUZK_REQ_POREP_ID,
    CUZK_REQ_SECTORS,
    CUZK_REQ_FIELDS
} cuzk_request_field;

typedef struct cuzk_request {
    char *name; /* of the file */
    char request_id[128];
    cuzk_proof_kind kind;
    uint32_t seen; /* bit i: field i was there */
    uint64_t sector_size, registered_proof, sector_number, miner_id, partition_index;
    char registered_name[64]; /* when it was given by name; then the number is not set */
    cuzk_blob vanilla_proof;
    cuzk_blob *vanilla_proofs;
    size_t n_vanilla;
    /* by field, CUZK_REQ_RANDOMNESS to CUZK_REQ_POREP_ID */
    uint8_t value[CUZK_REQ_FIELDS][32];
    cuzk_request_sector *sectors;
    size_t n_sectors;
    bool attached; /* the bytes of the proofs are somebody else's */
} cuzk_request;

static inline bool cuzk_request_has(const cuzk_request *r, cuzk_request_field f) {
    return r->seen >> f & 1;
}

/* The field of a member's name, in either spelling; CUZK_REQ_FIELDS when there is none. */
cuzk_request_field cuzk_request_field_of(const char *key);

/* Reads a file, or memory. IO, NO_MEMORY, or BAD_INPUT naming file, offset and field. A field that
 * SubmitProofRequest and the list above do not have is an error. Free with cuzk_request_free. */
cuzk_status cuzk_request_open(cuzk_request **out, const char *path, cuzk_err *err) CUZK_MUST_CHECK;
cuzk_status cuzk_request_from_memory(cuzk_request **out, const uint8_t *data, size_t n,
                                     const char *name, cuzk_err *err) CUZK_MUST_CHECK;
void cuzk_request_free(cuzk_request *r);

/* Gives a request that was read without proofs its proofs, n of them, borrowed: they must outlive
 * it. BAD_INPUT when it has some already, when a PoRep's are not one, or when there are none or too
 * many. */
cuzk_status cuzk_request_attach(cuzk_request *r, cuzk_proof_kind kind, const cuzk_blob *proofs,
                                size_t n, cuzk_err *err) CUZK_MUST_CHECK;

/* A field that must be there; *out points into r. Only of the fields with 32 bytes. */
cuzk_status cuzk_request_need(const cuzk_request *r, cuzk_request_field f, const uint8_t **out,
                              cuzk_err *err) CUZK_MUST_CHECK;

/* BAD_INPUT naming the field when the request says another kind, or has a field that kind (not
 * UNSPECIFIED) does not have. */
cuzk_status cuzk_request_fits(const cuzk_request *r, cuzk_proof_kind kind,
                              cuzk_err *err) CUZK_MUST_CHECK;
/* Of a field with 32 bytes, when it is there: FALSE naming both values unless it is `have`, the
 * vanilla proof's. */
cuzk_status cuzk_request_agrees(const cuzk_request *r, cuzk_request_field f, const uint8_t have[32],
                                cuzk_err *err) CUZK_MUST_CHECK;
/* 64 hexadecimal digits, terminated. */
void cuzk__hex32(char out[65], const uint8_t bytes[32]);
/* BAD_INPUT when a sector size is there and another than that of `what`. */
cuzk_status cuzk_request_sized(const cuzk_request *r, uint64_t bytes, const char *what,
                               cuzk_err *err) CUZK_MUST_CHECK;

#endif
