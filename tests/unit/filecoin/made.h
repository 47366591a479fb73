/* Sectors that the tests read: made by the library (test_sector.c holds them, byte for byte,
 * against the reference implementation's). Include after support.h. */
#ifndef CUZK_TESTS_FILECOIN_MADE_H
#define CUZK_TESTS_FILECOIN_MADE_H

#include "filecoin/sector.h"

typedef struct made {
    const char *circuit, *seed;
    uint64_t sector;
    int type; /* registered proof; -1: none */
    cuzk_c1_format format;
    uint32_t sectors;
    bool synthetic;
    const char *witness; /* digest of partition 0, from the reference implementation */
} made;

/* Failure is an assertion's. Free with cuzk_buf_free. */
static inline void make(cuzk_buf *out, const made *m) {
    cuzk_err err = {0};
    cuzk_sector_spec s = {
        .circuit = cuzk_circuit_find(m->circuit),
        .seed = (const uint8_t *)m->seed,
        .seed_len = strlen(m->seed),
        .miner = 1000,
        .sector = m->sector,
        .sectors = m->sectors,
        .synthetic = m->synthetic,
    };
    assert_non_null(s.circuit);
    *out = (cuzk_buf)CUZK_BUF_INIT;
    if (s.circuit->kind == CUZK_CIRCUIT_POREP) {
        s.seal = m->type < 0 ? NULL : cuzk_seal_type_at((uint64_t)m->type);
    } else if (s.circuit->kind == CUZK_CIRCUIT_POST) {
        s.post = cuzk_post_type_at((uint64_t)m->type);
        s.seal = cuzk_seal_type_at(5 + (uint64_t)m->type % 5);
    } else {
        s.update = cuzk_update_type_at((uint64_t)m->type);
        s.seal = cuzk_seal_type_at(5 + (uint64_t)m->type);
    }
    if (cuzk_sector_make(out, &s, m->format, &err) != CUZK_OK) fail_msg("%s", err.msg);
}

static inline const uint8_t *made_bytes(const cuzk_buf *b) {
    return (const uint8_t *)b->data;
}

#endif
