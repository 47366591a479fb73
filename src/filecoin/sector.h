/* Sectors to prove: vanilla proofs made here, for tests, development and benchmarks.
 *
 * Real: a sector is sealed as the network's software does it (labels of every node, whole trees)
 * and what it writes is equal byte for byte. Synthetic: for sizes that cannot be sealed in seconds.
 * Only what a proof opens exists. All data nodes are equal, so comm_d is known before the
 * challenges; labels of opened parents are pseudorandom and the challenged ones follow from them;
 * trees C and R have the value of an empty node everywhere else. Every constraint of the circuit
 * and every check of a verifier holds, though nobody could have sealed it.
 *
 * Everything that is not given is derived from the seed, whose bytes begin the texts that are
 * hashed: SHA-256(seed, " ticket 7") is the ticket of sector 7. Below, v(text) is that hash, and
 * w(text) the same with byte 31 zero:
 *   ticket, seed           v("ticket S"), v("seed S"), S the sector's number
 *   PoSt randomness        v("post randomness"), top two bits cleared
 *   data of a real one     v("data S" i), i = 0, 1, … as u64 little-endian: the piece, before
 *                          padding; new data of an update: v("update data S" i)
 *   a synthetic one        data nodes w("data S"); labels w("label S NODE LAYER");
 *                          PoSt: w("leaf S NODE"), w("comm_c S");
 *                          update: w("old replica I"), w("new data I") for all nodes whose top h
 *                          bits are I, w("update comm_c") */
#ifndef CUZK_FILECOIN_SECTOR_H
#define CUZK_FILECOIN_SECTOR_H

#include "base/buf.h"
#include "base/progress.h"
#include "base/thread.h"
#include "filecoin/ids.h"

typedef struct cuzk_sector_spec {
    const cuzk_circuit *circuit; /* porep-…, wpost-…, winning-…, snap-… */
    const uint8_t *seed;
    size_t seed_len;
    bool synthetic;
    uint64_t miner, sector;

    /* porep; also how the sector of a real PoSt or update was sealed. seal NULL: a size that has
     * no registered proof (interactive, version 1.1, one partition). NULL values are derived. */
    const cuzk_seal_type *seal;
    const uint8_t *porep_id, *ticket, *challenge_seed; /* 32 bytes each */

    const cuzk_post_type *post; /* wpost, winning */
    const uint8_t *randomness;  /* a field element */
    uint32_t sectors;           /* wpost: this many, with ascending numbers from `sector` */
    uint32_t partition;         /* wpost: its index among the partitions of a deadline */

    const cuzk_update_type *update; /* snap */

    /* Real porep and snap (there the new data): the piece, at most 127/128 of the sector; zeros
     * follow. NULL: derived. */
    const uint8_t *data;
    size_t data_len;

    cuzk_pool *pool;         /* may be NULL */
    cuzk_progress *progress; /* may be NULL; cuzk_sector_work units */
} cuzk_sector_spec;

/* What a C1 is written as. */
typedef enum cuzk_c1_format { CUZK_C1_JSON, CUZK_C1_BINCODE, CUZK_C1_LOTUS } cuzk_c1_format;

/* The largest size that is sealed for real: 8 MiB. */
enum { CUZK_SECTOR_REAL_LOG2_NODES = 18 };

uint64_t cuzk_sector_work(const cuzk_sector_spec *s);

/* Appends the C1 output of a porep, or the request (JSON, the fields of request.h) of the others;
 * format is read for a porep only. USAGE when the specification cannot be met, with what would be
 * possible. Deterministic. */
cuzk_status cuzk_sector_make(cuzk_buf *out, const cuzk_sector_spec *s, cuzk_c1_format format,
                             cuzk_err *err) CUZK_MUST_CHECK;

#endif
