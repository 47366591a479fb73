/* Section 10 of a zkey: who contributed to its delta. Proving does not need it. */
#ifndef CUZK_FORMAT_ZKEY_CEREMONY_H
#define CUZK_FORMAT_ZKEY_CEREMONY_H

#include "format/zkey.h"

typedef struct cuzk_zkey_contribution {
    const uint8_t *delta_after; /* G1 */
    const uint8_t *transcript;  /* 64 bytes */
    uint32_t type;              /* 0 contribution, 1 beacon */
    const char *contributor;    /* its name, contributor_len bytes; NULL when there is none */
    size_t contributor_len;
    bool has_iterations;
    unsigned iterations_log2; /* of a beacon */
    const uint8_t *beacon;    /* beacon_len bytes, or NULL */
    size_t beacon_len;
} cuzk_zkey_contribution;

/* A walk over the section, which the mapping keeps. */
typedef struct cuzk_zkey_ceremony {
    bool present;
    const uint8_t *cs_hash; /* 64 bytes: BLAKE2b-512 of the circuit's part of the key */
    uint32_t n;
    uint32_t next;
    const uint8_t *p;
    size_t len, off;
} cuzk_zkey_ceremony;

/* Without a section 10, OK and present is false. */
cuzk_status cuzk_zkey_ceremony_begin(cuzk_zkey_ceremony *c, const cuzk_zkey *zk,
                                     cuzk_err *err) CUZK_MUST_CHECK;
/* The next contribution; call it n times. BAD_INPUT when it is cut off or malformed. */
cuzk_status cuzk_zkey_ceremony_next(cuzk_zkey_ceremony *c, const cuzk_zkey *zk,
                                    cuzk_zkey_contribution *out, cuzk_err *err) CUZK_MUST_CHECK;

#endif
