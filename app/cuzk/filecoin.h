/* `cuzk porep|wpost|winning|snap`: what prove and verify share. */
#ifndef CUZK_FILECOIN_H
#define CUZK_FILECOIN_H

#include "api/device.h"
#include "filecoin/vanilla.h"
#include "groth16/groth16.h"

#include <stdbool.h>

typedef struct cuzk_filecoin_kind {
    const char *verb; /* "porep" */
    const char *what; /* "a proof of replication" */
    cuzk_circuit_kind circuit;
    bool winning;
} cuzk_filecoin_kind;

typedef struct cuzk_filecoin_opts {
    const cuzk_filecoin_kind *kind;
    const char *in, *out;
    const char *params; /* NULL: the default directory */
    cuzk_porep_facts facts;
    uint8_t porep_id[32]; /* facts points here when it was given */
    bool one;             /* only this partition */
    uint32_t partition;
    bool fixed, allow_insecure, json;
    cuzk_u256 r, s;
    unsigned threads;
    cuzk_device device; /* not opened */
    const char *vram;   /* the word of --vram; NULL: none */
} cuzk_filecoin_opts;

/* BAD_INPUT when a file is for another of the four verbs, USAGE when it has no such partition. */
cuzk_status cuzk_filecoin_fits(const cuzk_filecoin_opts *o, const cuzk_circuit *c, bool winning,
                               uint32_t partitions, cuzk_err *err) CUZK_MUST_CHECK;
/* On stderr when a PoRep's replica_id could not be checked. */
void cuzk_filecoin_warn(const cuzk_filecoin_opts *o, const cuzk_porep_statement *s);

cuzk_status cuzk_filecoin_prove(const cuzk_filecoin_opts *o, cuzk_err *err) CUZK_MUST_CHECK;
cuzk_status cuzk_filecoin_verify(const cuzk_filecoin_opts *o, cuzk_err *err) CUZK_MUST_CHECK;

#endif
