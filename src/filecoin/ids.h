/* Registered proofs: the numbers and names under which Filecoin knows each kind of proof, and what
 * they mean for the proof library (sector size, rules of which version, circuit, partitions).
 *
 * Numbers are the chain's (go-state-types abi): seal 0..19, PoSt 0..14, Update 0..4. Names are
 * those of rust-filecoin-proofs-api, which C1 outputs carry. */
#ifndef CUZK_FILECOIN_IDS_H
#define CUZK_FILECOIN_IDS_H

#include "base/status.h"
#include "circuit/circuits.h"
#include "filecoin/challenges.h"
#include "filecoin/graph.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct cuzk_seal_type {
    uint32_t number;
    const char *name;    /* "StackedDrg32GiBV1_1" */
    const char *tag;     /* "StackedDrg32GiBV1", the key of vanilla_proofs */
    const char *circuit; /* "porep-32g" */
    uint64_t sector_size;
    uint32_t log2_nodes;
    cuzk_api_version version;
    cuzk_porep_rule rule;
    uint32_t partitions, challenges; /* challenges per partition */
} cuzk_seal_type;

enum { CUZK_SEAL_TYPES = 20, CUZK_POST_TYPES = 15, CUZK_UPDATE_TYPES = 5 };

/* The type of a number, or NULL. */
const cuzk_seal_type *cuzk_seal_type_at(uint64_t number);
/* The type of a name, or NULL. len bytes. */
const cuzk_seal_type *cuzk_seal_type_find(const char *name, size_t len);
/* The first type (V1) with this key of vanilla_proofs, or NULL. */
const cuzk_seal_type *cuzk_seal_type_by_tag(const char *tag, size_t len);
/* The type's own porep_id when the nonce is 0: its number, little-endian, in the first 8 bytes. */
void cuzk_seal_type_porep_id(uint64_t number, uint8_t out[32]);

typedef struct cuzk_post_type {
    uint32_t number;
    const char *name; /* "StackedDrgWindow32GiBV1_2" */
    const char *circuit;
    bool winning;
    uint64_t sector_size;
    uint32_t log2_nodes;
    /* V1_0: challenge indices run on over the sectors of a partition; V1_2: each sector's begin at
     * 0. The chain calls Window V1_2 "V1_1". */
    cuzk_api_version version;
    uint32_t sectors, challenges; /* of a partition; Winning: one sector, 66 challenges */
} cuzk_post_type;

const cuzk_post_type *cuzk_post_type_at(uint64_t number);
const cuzk_post_type *cuzk_post_type_find(const char *name, size_t len);
/* What the chain calls StackedDrgWindow…V1_1, which is no name here; NULL for any other name. For
 * messages. */
const cuzk_post_type *cuzk_post_type_of_chain(const char *name, size_t len);

typedef struct cuzk_update_type {
    uint32_t number;
    const char *name; /* "StackedDrg32GiBV1" */
    const char *circuit;
    uint64_t sector_size;
    uint32_t log2_nodes;
    uint32_t partitions, challenges; /* challenges per partition */
} cuzk_update_type;

const cuzk_update_type *cuzk_update_type_at(uint64_t number);
const cuzk_update_type *cuzk_update_type_find(const char *name, size_t len);

/* The PoRep circuit of a sector of 2^log2_nodes nodes, or NULL; sizes of tests (4, 16, 32 KiB, 16
 * MiB, 1 GiB) that have no registered proof included. */
const cuzk_circuit *cuzk_porep_circuit_of(uint32_t log2_nodes);

#endif
